/* test_view.c - schema, views of a batch, information, event descriptor, requests. */
#include "test.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(schema_and_ring_are_described) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    spdl_reader *r = attach_with(s, 0, 0);
    CHECK(spdl_n_tensors(r) == 4 && spdl_tensor_index(r, "image") == 0 &&
          spdl_tensor_index(r, "status") == 3);
    spdl_tensor t = SPDL_TENSOR_INIT;
    CHECK_STATUS(spdl_schema_tensor(r, 0, &t), SPDL_OK);
    CHECK(strcmp(t.name, "image") == 0 && t.kind == SPDL_DENSE && t.data == NULL && t.ndim == 2 &&
          t.shape[0] == 4 && t.shape[1] == STANDIN_ROW_BYTES && t.strides[0] == STANDIN_ROW_BYTES &&
          t.dtype_code == SPDL_UINT && t.dtype_bits == 8 && t.device_type == 1);
    spdl_ring_info info = SPDL_RING_INFO_INIT;
    CHECK_STATUS(spdl_get_ring_info(r, &info), SPDL_OK);
    CHECK(strcmp(info.name, "standin") == 0 && strcmp(info.text, "{\"classes\":[]}") == 0 &&
          info.n_slots == 8 && info.batch_rows == 4 && info.n_samples == 1000 && info.seed == 42 &&
          info.access == SPDL_ACCESS_SHARED && info.engine_pid == getpid());
    spdl_reader_info who = SPDL_READER_INFO_INIT;
    CHECK_STATUS(spdl_get_reader_info(r, &who), SPDL_OK);
    CHECK(who.owner == 1 && strcmp(who.group, "g") == 0 && who.max_leases == 4 && who.lane == 0 &&
          who.mode_lanes == 0);
    CHECK(spdl_engine_state(r) == SPDL_RUNNING);
    spdl_detach(r);
    standin_free(s);
}

TEST(tensors_of_a_batch_are_views_of_its_slot) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    spdl_reader *r = attach_with(s, 0, 0);
    spdl_batch b = SPDL_BATCH_INIT;
    spdl_tensor image = SPDL_TENSOR_INIT, index = SPDL_TENSOR_INIT, key = SPDL_TENSOR_INIT;
    CHECK(standin_publish(s, 0, false) == 0 && standin_publish(s, 0, false) == 1);
    CHECK_STATUS(spdl_acquire(r, 0, &b), SPDL_OK);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    CHECK_STATUS(spdl_acquire(r, 0, &b), SPDL_OK);
    CHECK_STATUS(spdl_batch_tensor(r, &b, 0, &image), SPDL_OK);
    CHECK_STATUS(spdl_batch_tensor(r, &b, 1, &index), SPDL_OK);
    CHECK_STATUS(spdl_batch_tensor(r, &b, 2, &key), SPDL_OK);
    CHECK(image.data == b.data && standin_image_is(image.data, 4, 1) && image.bytes == 4 * STANDIN_ROW_BYTES);
    CHECK(((int64_t *)index.data)[3] == 7 && index.dtype_bits == 64);
    CHECK(key.kind == SPDL_RAGGED && key.shape[0] == 12 && key.offsets[4] == 12 &&
          memcmp(key.data, "keykeykeykey", 12) == 0);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    CHECK_STATUS(spdl_batch_tensor(r, &b, 0, &image), SPDL_E_STALE);
    spdl_detach(r);
    standin_free(s);
}

TEST(a_descriptor_that_points_outside_its_slot_is_refused) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    spdl_reader *r = attach_with(s, 0, 0);
    spdl_batch b = SPDL_BATCH_INIT;
    spdl_tensor t = SPDL_TENSOR_INIT;
    int slot = standin_publish(s, 0, false);
    CHECK_STATUS(spdl_acquire(r, 0, &b), SPDL_OK);
    spdl_l_desc_tensor *d = standin_desc_tensor(s, (uint32_t)slot, 0), good = *d;
    const struct {
        int64_t rows, stride;
        uint64_t bytes;
    } bad[] = {{5, 96, 10},        {INT64_MAX, 96, 10}, {-1, 96, 10},        {4, -96, 10},
               {4, INT64_MAX, 10}, {4, 1 << 20, 10},    {4, 96, 4 * 96 + 1}, {4, 96, ~0ull}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        d->shape[0] = bad[i].rows, d->strides[0] = bad[i].stride, d->bytes = bad[i].bytes;
        CHECK_STATUS(spdl_batch_tensor(r, &b, 0, &t), SPDL_E_FORMAT);
        *d = good;
    }
    CHECK_STATUS(spdl_batch_tensor(r, &b, 0, &t), SPDL_OK);
    int64_t *offsets = (int64_t *)(void *)(standin_slot(s, (uint32_t)slot) + 5632);
    const int64_t wrong[] = {-1, 1 << 20, INT64_MAX, 2};
    for (size_t i = 0; i < 4; i++) {
        offsets[2] = wrong[i];
        CHECK_STATUS(spdl_batch_tensor(r, &b, STANDIN_KEY, &t), SPDL_E_FORMAT);
    }
    offsets[2] = 6;
    standin_desc(s, (uint32_t)slot)->rows = 100000;
    CHECK_STATUS(spdl_batch_tensor(r, &b, STANDIN_KEY, &t), SPDL_E_FORMAT);
    spdl_release(r, &b);
    spdl_detach(r);
    standin_free(s);
}

TEST(a_tensor_of_unknown_kind_is_skipped) {
    standin *s = standin_make((standin_opts)STANDIN_OPTS);
    standin_tensor(s, 1)->kind = 77;
    standin_serve(s, -1);
    spdl_reader *r = attach_with(s, 0, 0);
    CHECK(spdl_n_tensors(r) == 3 && spdl_tensor_index(r, "index") == SPDL_E_NOT_FOUND &&
          spdl_tensor_index(r, "key") == 1);
    spdl_batch b = SPDL_BATCH_INIT;
    spdl_tensor key = SPDL_TENSOR_INIT;
    CHECK(standin_publish(s, 0, false) >= 0);
    CHECK_STATUS(spdl_acquire(r, 0, &b), SPDL_OK);
    CHECK_STATUS(spdl_batch_tensor(r, &b, 1, &key), SPDL_OK);
    CHECK(key.shape[0] == 12 && memcmp(key.data, "key", 3) == 0);
    spdl_release(r, &b);
    spdl_detach(r);
    standin_free(s);
}

#ifndef SHARE_MAPPINGS
static int store_in_child(const void *data) {
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* a sanitizer would report what we expect */
        *(volatile uint8_t *)(uintptr_t)data = 1;
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

TEST(shared_rings_are_read_only_and_private_ones_writable) {
    for (uint32_t access = SPDL_L_ACCESS_PRIVATE; access <= SPDL_L_ACCESS_SHARED; access++) {
        standin_opts o = STANDIN_OPTS;
        o.access = access;
        standin *s = make_served(o);
        spdl_reader *r = attach_with(s, 0, 0);
        spdl_batch b = SPDL_BATCH_INIT;
        CHECK(standin_publish(s, 0, false) >= 0);
        CHECK_STATUS(spdl_acquire(r, 0, &b), SPDL_OK);
        CHECK((store_in_child(b.data) == 0) == (access == SPDL_L_ACCESS_PRIVATE));
        spdl_release(r, &b);
        spdl_detach(r);
        standin_free(s);
    }
}
#endif

static bool readable(int fd, int ms) {
    struct pollfd p = {fd, POLLIN, 0};
    return poll(&p, 1, ms) == 1;
}

TEST(the_event_descriptor_says_when_a_poll_is_worth_making) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    spdl_reader *a = attach_with(s, 3, 0), *b = attach_with(s, 3, 0);
    spdl_batch x = SPDL_BATCH_INIT, y = SPDL_BATCH_INIT;
    int fd = spdl_event_fd(a);
    CHECK(fd >= 0 && spdl_event_fd(a) == fd);
    CHECK(readable(fd, 0)); /* nothing was polled yet */
    CHECK_STATUS(spdl_acquire(a, 0, &x), SPDL_TIMEOUT);
    CHECK(!readable(fd, 0));
    CHECK(standin_publish(s, 0, false) >= 0);
    CHECK(readable(fd, 20000));
    CHECK_STATUS(spdl_acquire(a, 0, &x), SPDL_OK);
    CHECK_STATUS(spdl_release(a, &x), SPDL_OK);
    /* The end of an epoch that another member's done brings is news too. */
    CHECK(standin_publish(s, 0, true) >= 0);
    CHECK_STATUS(spdl_acquire(b, 0, &y), SPDL_OK);
    CHECK_STATUS(spdl_acquire(a, 0, &x), SPDL_TIMEOUT);
    CHECK(!readable(fd, 0));
    CHECK_STATUS(spdl_done(b, &y), SPDL_OK);
    CHECK(readable(fd, 20000));
    CHECK_STATUS(spdl_acquire(a, 0, &x), SPDL_END_EPOCH);
    spdl_release(b, &y);
    spdl_detach(a), spdl_detach(b);
    standin_free(s);
}

TEST(state_and_statistics_come_as_text_of_a_stated_length) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    spdl_reader *r = attach_with(s, 0, 0);
    char text[64] = "untouched";
    size_t need = 0;
    CHECK_STATUS(spdl_state_save(r, 0, NULL, 0, &need), SPDL_E_ARGUMENT);
    CHECK(need == 11);
    CHECK_STATUS(spdl_state_save(r, 0, text, 10, &need), SPDL_E_ARGUMENT);
    CHECK(strstr(spdl_last_error(), "spdl: state_save: the buffer has 10 bytes, the text needs ") != NULL);
    CHECK(strcmp(text, "untouched") == 0);
    CHECK_STATUS(spdl_state_save(r, 0, text, need, NULL), SPDL_OK);
    CHECK(strcmp(text, "{\"held\":0}") == 0);
    CHECK_STATUS(spdl_state_save(r, SPDL_STATE_COUNT_HELD, text, sizeof text, &need), SPDL_OK);
    CHECK(strcmp(text, "{\"held\":1}") == 0);
    CHECK_STATUS(spdl_stats(r, text, sizeof text, &need), SPDL_OK);
    CHECK(strcmp(text, "{\"stats\":1}") == 0 && need == 12);
    spdl_detach(r);
    standin_free(s);
}

TEST(restart_and_load_move_the_reader_to_the_engines_epoch) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    spdl_reader *r = attach_with(s, 0, 0);
    spdl_reader_info info = SPDL_READER_INFO_INIT;
    CHECK_STATUS(spdl_restart(r), SPDL_OK);
    CHECK_STATUS(spdl_get_reader_info(r, &info), SPDL_OK);
    CHECK(info.epoch == 3 && standin_member(s, 0)->epoch == 3);
    CHECK_STATUS(spdl_state_load(r, "{\"epoch\":5}"), SPDL_OK);
    CHECK_STATUS(spdl_get_reader_info(r, &info), SPDL_OK);
    CHECK(info.epoch == 5);
    CHECK_STATUS(spdl_state_load(r, "{}"), SPDL_E_STATE);
    CHECK(strstr(spdl_last_error(), "not a state of this ring"));
    spdl_batch b = SPDL_BATCH_INIT;
    CHECK(standin_publish(s, 5, false) >= 0);
    CHECK_STATUS(spdl_acquire(r, 0, &b), SPDL_OK);
    CHECK_STATUS(spdl_state_load(r, "{\"epoch\":6}"), SPDL_E_BUSY);
    spdl_release(r, &b);
    static char huge[70000];
    memset(huge, ' ', sizeof huge - 1);
    CHECK_STATUS(spdl_state_load(r, huge), SPDL_E_STATE);
    spdl_detach(r);
    standin_free(s);
}

static int asked, runs;
static int refuse_once(int (*call)(void *), void *argument) {
    if (asked++ == 0) return -1;
    return call(argument);
}
static int count(void *by) {
    runs += *(int *)by;
    return 0;
}

TEST(the_end_of_a_dlpack_tensor_is_told_once_to_who_listens) {
    uint64_t tensors[5] = {0};
    int by = 7;
    spdl_dlpack_deleter(&tensors[0]);
    CHECK(tensors[0] == UINT64_MAX && asked == 0);
    spdl_dlpack_listen(refuse_once, count, &by);
    for (int i = 1; i < 4; i++) spdl_dlpack_deleter(&tensors[i]);
    CHECK(asked == 2 && runs == 7); /* the first had no room, the third is on the way already */
    spdl_dlpack_listen(refuse_once, count, &by);
    spdl_dlpack_deleter(&tensors[4]);
    CHECK(asked == 3 && runs == 14);
    spdl_dlpack_listen(NULL, NULL, NULL);
    spdl_dlpack_deleter(&tensors[4]);
    CHECK(asked == 3 && tensors[4] == UINT64_MAX);
}

TEST(the_end_of_no_dlpack_tensor_is_nothing_and_nobody_is_told) {
    int by = 7, before = asked;
    spdl_dlpack_listen(refuse_once, count, &by);
    spdl_dlpack_deleter(NULL);
    CHECK(asked == before);
    spdl_dlpack_listen(NULL, NULL, NULL);
}
