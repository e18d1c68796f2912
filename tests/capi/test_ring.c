/* test_ring.c - claim, done, release, leases, the end of an epoch, redelivery. */
#include "test.h"

#include <string.h>
#include <unistd.h>

static const int64_t soon = 30 * 1000 * 1000; /* ns */

static void publish_n(standin *s, int n, uint64_t epoch, bool last) {
    for (int i = 0; i < n; i++) CHECK(standin_publish(s, epoch, last && i == n - 1) >= 0);
}

TEST(consumer_sees_nothing_before_publish) {
    standin *s;
    spdl_reader *r = join(&s, 0, 0);
    spdl_batch b = SPDL_BATCH_INIT;
    CHECK_STATUS(spdl_acquire(r, 0, &b), SPDL_TIMEOUT);
    CHECK_STATUS(spdl_acquire(r, soon, &b), SPDL_TIMEOUT);
    CHECK(b.token == 0 && b.data == NULL);
    leave(s, r);
}

TEST(batches_come_in_ticket_order_with_their_payload) {
    standin *s;
    spdl_reader *r = join(&s, 0, 0);
    for (uint64_t t = 0; t < 100; t++) {
        publish_n(s, 1, 0, false);
        spdl_batch b = SPDL_BATCH_INIT;
        CHECK_STATUS(spdl_acquire(r, SPDL_FOREVER, &b), SPDL_OK);
        CHECK(b.ticket == t && b.epoch == 0 && b.step == t && b.rows == 4 && b.attempts == 1 &&
              b.published_ns == 1 + t);
        CHECK(b.data_bytes == 8192 && standin_image_is(b.data, b.rows, t));
        CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    }
    leave(s, r);
}

TEST(positions_go_past_32_bits) {
    standin *s = standin_make((standin_opts)STANDIN_OPTS);
    standin_queue(s, 0)->tail = (1ull << 32) - 5;
    standin_lane(s, 0)->head = (1ull << 32) - 5;
    standin_serve(s, -1);
    spdl_reader *r = attach_with(s, 0, 0);
    for (uint64_t t = 0; t < 20; t++) {
        publish_n(s, 1, 0, false);
        spdl_batch b = SPDL_BATCH_INIT;
        CHECK_STATUS(spdl_acquire(r, 0, &b), SPDL_OK);
        CHECK(b.ticket == t);
        CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    }
    leave(s, r);
}

TEST(batches_are_released_in_any_order) {
    standin *s;
    spdl_reader *r = join(&s, 4, 0);
    spdl_batch b[4] = {SPDL_BATCH_INIT, SPDL_BATCH_INIT, SPDL_BATCH_INIT, SPDL_BATCH_INIT};
    publish_n(s, 4, 0, false);
    for (int i = 0; i < 4; i++) CHECK_STATUS(spdl_acquire(r, 0, &b[i]), SPDL_OK);
    const int order[] = {2, 0, 3, 1};
    for (int i = 0; i < 4; i++) {
        CHECK_STATUS(spdl_release(r, &b[order[i]]), SPDL_OK);
        CHECK(SPDL_L_STATE(standin_word(s, b[order[i]].slot)->word) == SPDL_L_FREE);
    }
    leave(s, r);
}

TEST(a_lease_ends_once) {
    standin *s;
    spdl_reader *r = join(&s, 0, 0);
    spdl_batch b = SPDL_BATCH_INIT, never = SPDL_BATCH_INIT;
    publish_n(s, 1, 0, false);
    CHECK_STATUS(spdl_acquire(r, 0, &b), SPDL_OK);
    CHECK_STATUS(spdl_done(r, &b), SPDL_OK);
    CHECK_STATUS(spdl_done(r, &b), SPDL_OK);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    CHECK_STATUS(spdl_release(r, &b), SPDL_E_STALE);
    CHECK_STATUS(spdl_done(r, &b), SPDL_E_STALE);
    CHECK_STATUS(spdl_release(r, &never), SPDL_E_STALE);
    never.token = ~0ull, never.slot = ~0u;
    CHECK_STATUS(spdl_release(r, &never), SPDL_E_STALE);
    CHECK_STATUS(spdl_done(r, &never), SPDL_E_STALE);
    spdl_reader_info info = SPDL_READER_INFO_INIT;
    CHECK_STATUS(spdl_get_reader_info(r, &info), SPDL_OK);
    CHECK(info.acquired == 1 && info.completed == 1 && info.leases == 0);
    leave(s, r);
}

TEST(next_releases_the_batch_in_hand_and_acquires_the_next) {
    standin *s;
    spdl_reader *r = join(&s, 1, 0);
    spdl_batch b = SPDL_BATCH_INIT, old;
    publish_n(s, 3, 0, true);
    for (uint64_t ticket = 0; ticket < 3; ticket++) {
        CHECK_STATUS(spdl_next(r, 0, &b, &b), SPDL_OK); /* one lease is enough */
        CHECK(b.ticket == ticket);
    }
    old = b;
    CHECK_STATUS(spdl_next(r, 0, &b, &b), SPDL_END_EPOCH);
    CHECK(b.token == 0);
    CHECK_STATUS(spdl_release(r, &old), SPDL_E_STALE);
    CHECK_STATUS(spdl_next(r, 0, &b, &b), SPDL_TIMEOUT); /* a struct that holds nothing */
    CHECK_STATUS(spdl_next(r, 0, NULL, &b), SPDL_TIMEOUT);
    publish_n(s, 2, 1, false);
    CHECK_STATUS(spdl_next(r, 0, &old, &b), SPDL_OK); /* released long ago: no news */
    CHECK_STATUS(spdl_next(NULL, 0, &b, &b), SPDL_E_ARGUMENT);
    old.struct_size = 4, old.token = 1;
    CHECK_STATUS(spdl_next(r, 0, &old, &b), SPDL_E_ARGUMENT);
    CHECK(old.token == 1);
    spdl_reader_info info = SPDL_READER_INFO_INIT;
    CHECK_STATUS(spdl_get_reader_info(r, &info), SPDL_OK);
    CHECK(info.acquired == 4 && info.completed == 3 && info.leases == 1);
    CHECK_STATUS(spdl_detach(r), SPDL_OK);
    CHECK_STATUS(spdl_next(r, 0, &b, &b), SPDL_E_DETACHED); /* released, and with it the reader */
    CHECK(b.token == 0);
    standin_free(s);
}

TEST(who_asks_for_an_epochs_batches_gets_no_others_and_hears_of_its_end_each_time) {
    standin *s;
    spdl_reader *r = join(&s, 2, 0);
    spdl_batch b = SPDL_BATCH_INIT, other = SPDL_BATCH_INIT;
    publish_n(s, 2, 0, true);
    publish_n(s, 2, 1, false);
    for (uint64_t ticket = 0; ticket < 2; ticket++) {
        CHECK_STATUS(spdl_next_in_epoch(r, 0, 0, &b, &b), SPDL_OK);
        CHECK(b.ticket == ticket && b.epoch == 0);
    }
    CHECK_STATUS(spdl_next_in_epoch(r, 1, 0, NULL, &other), SPDL_END_EPOCH); /* not yet, and not waited for */
    for (int i = 0; i < 3; i++) CHECK_STATUS(spdl_next_in_epoch(r, 0, SPDL_FOREVER, &b, &b), SPDL_END_EPOCH);
    CHECK(b.token == 0);
    CHECK_STATUS(spdl_next_in_epoch(r, 1, 0, &b, &b), SPDL_OK);
    CHECK(b.ticket == 2 && b.epoch == 1);
    CHECK_STATUS(spdl_next_in_epoch(r, 0, 0, NULL, &other), SPDL_END_EPOCH);
    CHECK_STATUS(spdl_next_in_epoch(r, SPDL_ANY_EPOCH, 0, NULL, &other), SPDL_OK);
    CHECK(other.ticket == 3);
    CHECK_STATUS(spdl_next_in_epoch(NULL, 1, 0, NULL, &b), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_next_in_epoch(r, 1, 0, NULL, NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    CHECK_STATUS(spdl_release(r, &other), SPDL_OK);
    leave(s, r);
}

TEST(a_slot_refilled_since_is_not_released_by_a_stale_batch) {
    standin *s = make_served((standin_opts){1 + 2, 1, SPDL_L_MODE_SHARED, SPDL_L_ACCESS_SHARED,
                                            SPDL_L_BACKING_MEMFD, 4, 0, true, false, false, 0});
    spdl_reader *r = attach_with(s, 1, 0);
    spdl_batch old = SPDL_BATCH_INIT, now = SPDL_BATCH_INIT;
    publish_n(s, 1, 0, false);
    CHECK_STATUS(spdl_acquire(r, 0, &old), SPDL_OK);
    CHECK_STATUS(spdl_release(r, &old), SPDL_OK);
    publish_n(s, 1, 0, false);
    CHECK_STATUS(spdl_acquire(r, 0, &now), SPDL_OK);
    CHECK(now.slot == old.slot);
    CHECK_STATUS(spdl_release(r, &old), SPDL_E_STALE);
    CHECK_STATUS(spdl_release(r, &now), SPDL_OK);
    leave(s, r);
}

TEST(a_lease_taken_back_by_the_engine_is_stale) {
    standin *s;
    spdl_reader *r = join(&s, 0, 0);
    spdl_batch b = SPDL_BATCH_INIT;
    publish_n(s, 1, 0, false);
    CHECK_STATUS(spdl_acquire(r, 0, &b), SPDL_OK);
    spdl_l_word *w = standin_word(s, b.slot);
    uint64_t taken = SPDL_L_WORD(SPDL_L_READY, 0, SPDL_L_SEQ_REDO | 99);
    __atomic_store_n(&w->word, taken, __ATOMIC_RELEASE);
    CHECK_STATUS(spdl_done(r, &b), SPDL_E_STALE);
    CHECK_STATUS(spdl_release(r, &b), SPDL_E_STALE);
    CHECK(w->word == taken);
    leave(s, r);
}

TEST(end_of_epoch_is_said_once_and_only_when_all_is_done) {
    standin_opts o = STANDIN_OPTS;
    o.n_epochs = 2;
    standin *s = make_served(o);
    spdl_reader *a = attach_with(s, 2, 0), *b = attach_with(s, 2, 0);
    spdl_batch x = SPDL_BATCH_INIT, y = SPDL_BATCH_INIT;
    publish_n(s, 2, 0, true);
    CHECK_STATUS(spdl_acquire(a, 0, &x), SPDL_OK);
    CHECK_STATUS(spdl_acquire(b, 0, &y), SPDL_OK);
    CHECK((y.flags & SPDL_BATCH_LAST) != 0);
    CHECK_STATUS(spdl_done(a, &x), SPDL_OK);
    CHECK_STATUS(spdl_acquire(a, 0, &x), SPDL_TIMEOUT);
    CHECK_STATUS(spdl_done(b, &y), SPDL_OK);
    CHECK_STATUS(spdl_acquire(a, 0, &x), SPDL_END_EPOCH);
    CHECK_STATUS(spdl_acquire(a, 0, &x), SPDL_TIMEOUT);
    CHECK_STATUS(spdl_acquire(b, 0, &y), SPDL_END_EPOCH);
    spdl_release(a, &x);
    publish_n(s, 1, 1, true);
    spdl_batch z = SPDL_BATCH_INIT;
    CHECK_STATUS(spdl_acquire(b, 0, &z), SPDL_OK);
    CHECK(z.epoch == 1);
    CHECK_STATUS(spdl_release(b, &z), SPDL_OK);
    CHECK_STATUS(spdl_acquire(a, 0, &z), SPDL_END_EPOCH);
    CHECK_STATUS(spdl_acquire(a, SPDL_FOREVER, &z), SPDL_END_DATA);
    CHECK_STATUS(spdl_acquire(a, SPDL_FOREVER, &z), SPDL_END_DATA);
    spdl_release(b, &y);
    spdl_detach(a), spdl_detach(b);
    standin_free(s);
}

TEST(next_epochs_batches_wait_for_the_end_of_this_one) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    spdl_reader *a = attach_with(s, 2, 0), *b = attach_with(s, 2, 0);
    spdl_batch x = SPDL_BATCH_INIT, y = SPDL_BATCH_INIT;
    publish_n(s, 1, 0, true);
    publish_n(s, 1, 1, false);
    CHECK_STATUS(spdl_acquire(a, 0, &x), SPDL_OK);
    CHECK_STATUS(spdl_acquire(b, 0, &y), SPDL_TIMEOUT);
    CHECK_STATUS(spdl_release(a, &x), SPDL_OK);
    CHECK_STATUS(spdl_acquire(b, 0, &y), SPDL_END_EPOCH);
    CHECK_STATUS(spdl_acquire(b, 0, &y), SPDL_OK);
    CHECK(y.epoch == 1 && y.ticket == 1);
    CHECK_STATUS(spdl_release(b, &y), SPDL_OK);
    spdl_detach(a), spdl_detach(b);
    standin_free(s);
}

TEST(waiting_for_ones_own_batch_is_an_error_not_a_deadlock) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    spdl_reader *a = attach_with(s, 2, 0), *b = attach_with(s, 2, 0);
    spdl_batch x = SPDL_BATCH_INIT, y = SPDL_BATCH_INIT, none = SPDL_BATCH_INIT;
    publish_n(s, 2, 0, true);
    CHECK_STATUS(spdl_acquire(a, 0, &x), SPDL_OK);
    CHECK_STATUS(spdl_acquire(b, 0, &y), SPDL_OK);
    /* Both hold one: neither may wait for the other. */
    CHECK_STATUS(spdl_acquire(a, SPDL_FOREVER, &none), SPDL_E_UNDONE);
    CHECK_STATUS(spdl_acquire(b, SPDL_FOREVER, &none), SPDL_E_UNDONE);
    CHECK_STATUS(spdl_done(a, &x), SPDL_OK);
    CHECK_STATUS(spdl_acquire(a, soon, &none), SPDL_TIMEOUT);
    CHECK_STATUS(spdl_done(b, &y), SPDL_OK);
    CHECK_STATUS(spdl_acquire(a, SPDL_FOREVER, &none), SPDL_END_EPOCH);
    spdl_release(a, &x), spdl_release(b, &y);
    spdl_detach(a), spdl_detach(b);
    standin_free(s);
}

TEST(holding_every_lease_is_an_error_at_once) {
    standin *s;
    spdl_reader *r = join(&s, 2, 0);
    spdl_batch x = SPDL_BATCH_INIT, y = SPDL_BATCH_INIT, none = SPDL_BATCH_INIT;
    publish_n(s, 3, 0, false);
    CHECK_STATUS(spdl_acquire(r, 0, &x), SPDL_OK);
    CHECK_STATUS(spdl_acquire(r, 0, &y), SPDL_OK);
    CHECK_STATUS(spdl_acquire(r, SPDL_FOREVER, &none), SPDL_E_LEASES);
    CHECK_STATUS(spdl_done(r, &x), SPDL_OK); /* done is not release: the memory is still leased */
    CHECK_STATUS(spdl_acquire(r, 0, &none), SPDL_E_LEASES);
    CHECK_STATUS(spdl_release(r, &x), SPDL_OK);
    CHECK_STATUS(spdl_acquire(r, 0, &x), SPDL_OK);
    CHECK(x.ticket == 2);
    spdl_release(r, &x), spdl_release(r, &y);
    leave(s, r);
}

TEST(handoff_waits_where_others_may_complete) {
    standin *s;
    spdl_reader *r = join(&s, 1, SPDL_ATTACH_HANDOFF);
    spdl_batch x = SPDL_BATCH_INIT, none = SPDL_BATCH_INIT;
    publish_n(s, 1, 0, true);
    CHECK_STATUS(spdl_acquire(r, 0, &x), SPDL_OK);
    CHECK_STATUS(spdl_acquire(r, soon, &none), SPDL_TIMEOUT);
    CHECK_STATUS(spdl_release(r, &x), SPDL_OK);
    CHECK_STATUS(spdl_acquire(r, 0, &none), SPDL_END_EPOCH);
    leave(s, r);
}

TEST(what_a_dead_consumer_held_comes_again_first_and_flagged) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    spdl_reader *dead = attach_with(s, 2, 0), *r = attach_with(s, 4, 0);
    spdl_batch x = SPDL_BATCH_INIT, y = SPDL_BATCH_INIT, b = SPDL_BATCH_INIT;
    publish_n(s, 3, 0, true);
    CHECK_STATUS(spdl_acquire(dead, 0, &x), SPDL_OK);
    CHECK_STATUS(spdl_acquire(dead, 0, &y), SPDL_OK);
    CHECK_STATUS(spdl_done(dead, &y), SPDL_OK);
    spdl_reader_info info = SPDL_READER_INFO_INIT;
    CHECK_STATUS(spdl_get_reader_info(dead, &info), SPDL_OK);
    standin_reap(s, info.owner);
    CHECK_STATUS(spdl_acquire(r, 0, &b), SPDL_OK);
    CHECK(b.ticket == 0 && b.attempts == 2 && standin_image_is(b.data, b.rows, 0));
    CHECK_STATUS(spdl_release(dead, &x), SPDL_E_STALE);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    CHECK_STATUS(spdl_acquire(r, 0, &b), SPDL_OK);
    CHECK(b.ticket == 2 && b.attempts == 1);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    CHECK_STATUS(spdl_acquire(r, 0, &b), SPDL_END_EPOCH);
    spdl_detach(r), spdl_detach(dead);
    spdl_release(dead, &y);
    standin_free(s);
}

TEST(a_lane_gets_its_own_slice_in_order) {
    standin_opts o = STANDIN_OPTS;
    o.mode = SPDL_L_MODE_LANES, o.lanes = 3, o.slots = 16;
    standin *s = make_served(o);
    spdl_attach_opts a = SPDL_ATTACH_OPTS_INIT;
    spdl_reader *r[3];
    for (int lane = 2; lane >= 0; lane--) {
        a.lane = lane;
        CHECK_STATUS(spdl_attach(s->path, &a, &r[lane]), SPDL_OK);
    }
    for (int t = 0; t < 9; t++) CHECK(standin_publish(s, 0, t >= 6) >= 0);
    for (uint64_t lane = 0; lane < 3; lane++) {
        spdl_batch b = SPDL_BATCH_INIT;
        for (uint64_t i = 0; i < 3; i++) {
            CHECK_STATUS(spdl_acquire(r[lane], 0, &b), SPDL_OK);
            CHECK(b.ticket == i * 3 + lane && b.lane == lane);
            CHECK_STATUS(spdl_release(r[lane], &b), SPDL_OK);
        }
        /* Its own slice decides about its end, not the other lanes'. */
        CHECK_STATUS(spdl_acquire(r[lane], 0, &b), SPDL_END_EPOCH);
        spdl_reader_info info = SPDL_READER_INFO_INIT;
        CHECK_STATUS(spdl_get_reader_info(r[lane], &info), SPDL_OK);
        CHECK(info.lane == lane && info.rank == lane && info.mode_lanes == 1);
    }
    for (int lane = 0; lane < 3; lane++) spdl_detach(r[lane]);
    standin_free(s);
}

TEST(what_was_published_before_the_engines_end_is_taken_first) {
    const struct {
        uint32_t state;
        spdl_status want;
    } ends[] = {{SPDL_L_FAILED, SPDL_E_ENGINE_FAILED}, {SPDL_L_STOPPED, SPDL_E_ENGINE_STOPPED}};
    for (int i = 0; i < 2; i++) {
        standin *s;
        spdl_reader *r = join(&s, 0, 0);
        spdl_batch b = SPDL_BATCH_INIT;
        publish_n(s, 2, 0, false);
        standin_set_state(s, ends[i].state, "source: folder \"x\" vanished");
        for (int n = 0; n < 2; n++) {
            CHECK_STATUS(spdl_acquire(r, SPDL_FOREVER, &b), SPDL_OK);
            CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
        }
        CHECK_STATUS(spdl_acquire(r, SPDL_FOREVER, &b), ends[i].want);
        if (i == 0) CHECK(strstr(spdl_last_error(), "folder \"x\" vanished"));
        CHECK(spdl_engine_state(r) == (int32_t)ends[i].state);
        leave(s, r);
    }
}

TEST(a_closed_group_is_named) {
    const uint32_t states[] = {SPDL_L_GROUP_CLOSED, SPDL_L_GROUP_BROKEN, SPDL_L_GROUP_ABSENT};
    for (int i = 0; i < 3; i++) {
        standin *s;
        spdl_reader *r = join(&s, 0, 0);
        spdl_batch b = SPDL_BATCH_INIT;
        publish_n(s, 1, 0, false);
        standin_close_group(s, states[i]);
        CHECK_STATUS(spdl_acquire(r, SPDL_FOREVER, &b), SPDL_E_GROUP_CLOSED);
        leave(s, r);
    }
}

TEST(release_kicks_an_engine_parked_for_a_slot) {
    standin *s;
    spdl_reader *r = join(&s, 0, 0);
    spdl_batch b = SPDL_BATCH_INIT;
    publish_n(s, 2, 0, false);
    CHECK_STATUS(spdl_acquire(r, 0, &b), SPDL_OK);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    CHECK(__atomic_load_n(&s->kicks, __ATOMIC_ACQUIRE) == 0);
    __atomic_store_n(&s->state->parked, 1, __ATOMIC_SEQ_CST);
    CHECK_STATUS(spdl_acquire(r, 0, &b), SPDL_OK);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    WAIT_UNTIL(__atomic_load_n(&s->kicks, __ATOMIC_ACQUIRE) == 1);
    leave(s, r);
}

TEST(completing_a_batch_wakes_sleepers_and_leaves_the_clearing_to_the_engine) {
    standin *s;
    spdl_reader *r = join(&s, 0, 0);
    spdl_l_lane *lane = standin_lane(s, 0);
    spdl_batch b = SPDL_BATCH_INIT;
    publish_n(s, 2, 0, false);
    for (int use_done = 0; use_done < 2; use_done++) {
        CHECK_STATUS(spdl_acquire(r, 0, &b), SPDL_OK);
        uint32_t wake = lane->wake;
        lane->sleepers = 1;
        if (use_done)
            CHECK_STATUS(spdl_done(r, &b), SPDL_OK);
        else
            CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
        CHECK(lane->wake == wake + 1 && lane->sleepers == 1);
    }
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    lane->sleepers = 0;
    uint32_t wake = lane->wake;
    publish_n(s, 1, 0, false);
    CHECK_STATUS(spdl_acquire(r, 0, &b), SPDL_OK);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    CHECK(lane->wake == wake + 1); /* the publish's: with nobody asleep a release wakes nobody */
    leave(s, r);
}

TEST(bad_arguments_are_named) {
    standin *s;
    spdl_reader *r = join(&s, 0, 0);
    spdl_batch b = SPDL_BATCH_INIT, unsized_ = {0};
    spdl_tensor t = SPDL_TENSOR_INIT, no_size = {0};
    CHECK_STATUS(spdl_acquire(NULL, 0, &b), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_acquire(r, 0, NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_acquire(r, 0, &unsized_), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_done(NULL, &b), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_done(r, NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_release(r, &unsized_), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_release(NULL, &b), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_batch_tensor(r, NULL, 0, &t), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_batch_tensor(r, &(spdl_batch){.struct_size = 4}, 0, &t), SPDL_E_ARGUMENT);
    CHECK_SAYS("batch_tensor: batch.struct_size is 4");
    CHECK_STATUS(spdl_batch_tensor(r, &b, 99, &t), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_batch_tensor(r, &b, 0, &t), SPDL_E_STALE);
    CHECK_STATUS(spdl_schema_tensor(r, 0, &no_size), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_schema_tensor(r, STANDIN_TENSORS, &t), SPDL_E_ARGUMENT);
    CHECK(strstr(spdl_last_error(), "has 4"));
    CHECK_STATUS(spdl_tensor_index(r, NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_tensor_index(r, "nope"), SPDL_E_NOT_FOUND);
    CHECK(strstr(spdl_last_error(), "it has no tensor \"nope\"; there are image, index, ") != NULL);
    CHECK_STATUS(spdl_tensor_index(NULL, "image"), SPDL_E_ARGUMENT);
    CHECK(spdl_n_tensors(NULL) == 0);
    CHECK_STATUS(spdl_get_ring_info(r, NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_get_reader_info(NULL, NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_engine_state(NULL), SPDL_E_ARGUMENT);
    CHECK(spdl_event_fd(NULL) == -1);
    CHECK_STATUS(spdl_state_save(NULL, 0, NULL, 0, NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_state_save(r, 8, NULL, 0, NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_state_load(r, NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_restart(NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_stats(NULL, NULL, 0, NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_detach(NULL), SPDL_OK);
    CHECK(strcmp(spdl_status_name(-12345), "SPDL_UNKNOWN") == 0);
    CHECK(strcmp(spdl_version(), "0.1.0") == 0 && spdl_layout_version() == 1006);
    leave(s, r);
}
