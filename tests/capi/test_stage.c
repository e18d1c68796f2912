/* test_stage.c - members of a stage: writing, handing on, batches that fail. */
#include "test.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static standin *make_stage(void) {
    standin_opts o = STANDIN_OPTS;
    o.stage = true;
    return make_served(o);
}

static spdl_batch next(spdl_reader *r) {
    spdl_batch b = SPDL_BATCH_INIT;
    CHECK_STATUS(spdl_acquire(r, SPDL_FOREVER, &b), SPDL_OK);
    return b;
}

/* A stage whose one worker holds its first batch. */
static spdl_batch begin(standin **s, spdl_reader **r) {
    *s = make_stage();
    *r = attach_with(*s, 1, 0);
    standin_publish(*s, 0, false);
    return next(*r);
}

static uint64_t word_of(standin *s, const spdl_batch *b) {
    return __atomic_load_n(&standin_word(s, b->slot)->word, __ATOMIC_ACQUIRE);
}

TEST(stage_writes_into_the_slot_on_a_shared_ring) {
    standin *s = make_stage();
    spdl_reader *r = attach_with(s, 1, 0);
    spdl_reader_info info = SPDL_READER_INFO_INIT;
    CHECK_STATUS(spdl_get_reader_info(r, &info), SPDL_OK);
    CHECK(info.flags == (SPDL_READER_WRITES | SPDL_READER_STAGE));
    int slot = standin_publish(s, 0, false);
    spdl_batch b = next(r);
    spdl_tensor image = SPDL_TENSOR_INIT;
    CHECK_STATUS(spdl_batch_tensor(r, &b, STANDIN_IMAGE, &image), SPDL_OK);
    memset(image.data, 0xab, image.bytes);
    CHECK(standin_slot(s, (uint32_t)slot)[image.bytes - 1] == 0xab);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    leave(s, r);
}

TEST(consumer_behind_a_stage_may_not_write_although_no_seal_forbids_it) {
    standin_opts o = STANDIN_OPTS;
    o.stage = true;
    standin *s = standin_make(o);
    s->group->kind = SPDL_L_KIND_CONSUMER;
    standin_serve(s, -1);
    spdl_reader *r = attach_with(s, 1, 0);
    spdl_reader_info info = SPDL_READER_INFO_INIT;
    CHECK_STATUS(spdl_get_reader_info(r, &info), SPDL_OK);
    CHECK(info.flags == 0);
    standin_publish(s, 0, false);
    spdl_batch b = next(r);
#ifndef SHARE_MAPPINGS /* there libspdl is given the stand-in's own mapping */
    int ends[2];
    CHECK(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
    CHECK(read(ends[0], (void *)(uintptr_t)b.data, 1) == -1 && errno == EFAULT); /* as a store would fault */
    close(ends[0]), close(ends[1]);
#endif
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    leave(s, r);
}

TEST(shared_ring_without_stages_must_be_sealed_against_writing) {
    standin_opts o = STANDIN_OPTS;
    o.stage = true;
    standin *s = standin_make(o);
    s->group->kind = SPDL_L_KIND_CONSUMER;
    s->header->features_required = 0;
    standin_serve(s, -1);
    spdl_reader *r = NULL;
    CHECK_STATUS(spdl_attach(s->path, NULL, &r), SPDL_E_FORMAT);
    CHECK(strstr(spdl_last_error(), "one against writing"));
    standin_free(s);
}

TEST(done_in_a_stage_gives_the_slot_away_and_tells_the_engine) {
    standin *s;
    spdl_reader *r;
    spdl_batch b = begin(&s, &r);
    CHECK_STATUS(spdl_done(r, &b), SPDL_OK);
    CHECK(SPDL_L_STATE(word_of(s, &b)) == SPDL_L_FREE);
    WAIT_UNTIL(__atomic_load_n(&s->kicks, __ATOMIC_ACQUIRE) == 1);
    CHECK_STATUS(spdl_done(r, &b), SPDL_OK);
    spdl_tensor image = SPDL_TENSOR_INIT;
    CHECK_STATUS(spdl_batch_tensor(r, &b, STANDIN_IMAGE, &image), SPDL_E_STALE);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    CHECK_STATUS(spdl_release(r, &b), SPDL_E_STALE);
    CHECK_STATUS(spdl_done(r, &b), SPDL_E_STALE);
    leave(s, r);
}

TEST(slot_may_come_back_before_the_batch_that_was_done_is_released) {
    standin *s = make_stage();
    spdl_reader *r = attach_with(s, 1, 0);
    enum { N = 40 };
    spdl_batch b[N];
    for (int i = 0; i < N; i++) {
        CHECK(standin_publish(s, 0, false) == 0); /* always the first slot */
        b[i] = next(r);
        CHECK(b[i].slot == 0 && b[i].ticket == (uint64_t)i &&
              standin_image_is(b[i].data, b[i].rows, b[i].ticket));
        spdl_reader_info info = SPDL_READER_INFO_INIT;
        CHECK_STATUS(spdl_get_reader_info(r, &info), SPDL_OK);
        CHECK(info.leases == 1);
        CHECK_STATUS(spdl_done(r, &b[i]), SPDL_OK);
    }
    for (int i = 0; i < N; i += 2) CHECK_STATUS(spdl_release(r, &b[i]), SPDL_OK);
    standin_publish(s, 0, false);
    spdl_batch last = next(r);
    for (int i = 1; i < N; i += 2) CHECK_STATUS(spdl_release(r, &b[i]), SPDL_OK);
    CHECK_STATUS(spdl_release(r, &b[0]), SPDL_E_STALE);
    CHECK_STATUS(spdl_acquire(r, 0, &b[0]), SPDL_E_LEASES); /* the one lease is in use, not one too few */
    CHECK_STATUS(spdl_release(r, &last), SPDL_OK);
    leave(s, r);
}

TEST(waiting_with_a_batch_undone_is_an_error_in_a_stage_not_a_deadlock) {
    standin *s = make_stage();
    spdl_reader *r = attach_with(s, 2, 0);
    standin_publish(s, 0, false);
    spdl_batch b = next(r), other = SPDL_BATCH_INIT;
    CHECK_STATUS(spdl_acquire(r, 0, &other), SPDL_TIMEOUT); /* asking is no waiting */
    CHECK_STATUS(spdl_acquire(r, SPDL_FOREVER, &other), SPDL_E_UNDONE);
    standin_publish(s, 0, false);
    other = next(r); /* nor is taking what is there */
    CHECK_STATUS(spdl_release(r, &other), SPDL_OK);
    CHECK_STATUS(spdl_done(r, &b), SPDL_OK);
    CHECK_STATUS(spdl_acquire(r, 1000000, &other), SPDL_TIMEOUT);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    spdl_detach(r);
    r = attach_with(s, 2, SPDL_ATTACH_HANDOFF);
    standin_publish(s, 0, false);
    b = next(r);
    CHECK_STATUS(spdl_acquire(r, 1000000, &other), SPDL_TIMEOUT); /* another thread will let go of it */
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    leave(s, r);
}

TEST(memory_of_a_batch_that_was_done_stays_mapped_until_its_release) {
    standin *s;
    spdl_reader *r;
    spdl_batch b = begin(&s, &r);
    CHECK_STATUS(spdl_done(r, &b), SPDL_OK);
    spdl_detach(r);
    CHECK(standin_image_is(b.data, b.rows, 0));
    CHECK(__atomic_load_n(&s->detaches, __ATOMIC_ACQUIRE) == 0);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    WAIT_UNTIL(__atomic_load_n(&s->detaches, __ATOMIC_ACQUIRE) == 1);
    standin_free(s);
}

TEST(batch_released_after_detach_is_not_handed_on) {
    standin *s;
    spdl_reader *r;
    spdl_batch b = begin(&s, &r);
    spdl_detach(r);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    WAIT_UNTIL(__atomic_load_n(&s->detaches, __ATOMIC_ACQUIRE) == 1);
    CHECK(SPDL_L_STATE(word_of(s, &b)) == SPDL_L_READY); /* the stand-in redelivers it */
    standin_free(s);
}

TEST(failed_batch_ends_its_lease_and_tells_why) {
    standin *s;
    spdl_reader *r;
    spdl_batch b = begin(&s, &r);
    CHECK_STATUS(spdl_fail(r, &b, "no such crop"), SPDL_OK);
    CHECK(strcmp(s->why, "no such crop") == 0 && SPDL_L_STATE(word_of(s, &b)) == SPDL_L_FREE);
    CHECK_STATUS(spdl_fail(r, &b, "again"), SPDL_E_STALE);
    CHECK_STATUS(spdl_release(r, &b), SPDL_E_STALE);
    standin_publish(s, 0, false);
    b = next(r); /* the one lease is free */
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    leave(s, r);
}

TEST(failure_of_a_batch_that_was_taken_back_is_stale_and_frees_the_lease) {
    standin *s;
    spdl_reader *r;
    spdl_batch b = begin(&s, &r);
    __atomic_store_n(&standin_word(s, b.slot)->word, SPDL_L_WORD(SPDL_L_FREE, 0, 0), __ATOMIC_RELEASE);
    CHECK_STATUS(spdl_fail(r, &b, "late"), SPDL_E_STALE);
    standin_publish(s, 0, false);
    b = next(r);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    leave(s, r);
}

TEST(failure_makes_sense_in_a_stage_only) {
    standin *s;
    spdl_reader *r = join(&s, 1, 0);
    standin_publish(s, 0, false);
    spdl_batch b = next(r), none = SPDL_BATCH_INIT;
    CHECK_STATUS(spdl_fail(r, &b, "x"), SPDL_E_ARGUMENT);
    CHECK(strstr(spdl_last_error(), "no stage"));
    CHECK_STATUS(spdl_fail(NULL, &b, "x"), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_fail(r, NULL, "x"), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_fail(r, &b, NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    leave(s, r);
    s = make_stage();
    r = attach_with(s, 1, 0);
    CHECK_STATUS(spdl_fail(r, &none, "x"), SPDL_E_STALE);
    leave(s, r);
}

TEST(reason_of_any_length_is_cut) {
    static char why[100000];
    memset(why, 'x', sizeof why - 1);
    standin *s;
    spdl_reader *r;
    spdl_batch b = begin(&s, &r);
    CHECK_STATUS(spdl_fail(r, &b, why), SPDL_OK);
    CHECK(strlen(s->why) == sizeof s->why - 1);
    leave(s, r);
}

TEST(done_without_memory_for_its_record_hands_nothing_on) {
    standin *s;
    spdl_reader *r;
    spdl_batch b = begin(&s, &r);
    test_allocations = 0, test_fail_at = 1;
    spdl_status got = spdl_done(r, &b);
    test_fail_at = 0;
    CHECK_STATUS(got, SPDL_E_NOMEM);
    CHECK(SPDL_L_STATE(word_of(s, &b)) == SPDL_L_HELD);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    leave(s, r);
}
