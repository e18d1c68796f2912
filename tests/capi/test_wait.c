/* test_wait.c - how a wait sleeps: when it looks, and how often it asks after the engine. */
#include "test.h"

#include "../../capi/client/internal.h"

#include <unistd.h>

#define MS 1000000ull

/* The forecast after n batches, gap_ns apart. */
static forecast after(int n, uint64_t gap_ns) {
    forecast f = {0};
    for (int i = 1; i <= n; i++) forecast_note(&f, (uint64_t)i * gap_ns);
    return f;
}

TEST(a_wait_looks_shortly_before_a_batch_is_due) {
    forecast f = after(5, 8 * MS);
    CHECK(forecast_look(&f).look_ns == 6 * 8 * MS - MS);
    CHECK(forecast_look(&f).until_ns == 0);
    f = after(5, 800 * MS);
    CHECK(forecast_look(&f).look_ns == 6 * 800 * MS - FORECAST_EARLY_NS);
}

TEST(batches_that_come_regularly_are_watched_for_around_the_time_they_are_due) {
    forecast f = after(80, 80 * MS);
    CHECK(f.off_ns < 10);
    CHECK(forecast_look(&f).look_ns == 81 * 80 * MS - 2 * f.off_ns - FORECAST_WAKE_NS);
    CHECK(forecast_look(&f).until_ns == 81 * 80 * MS + 2 * f.off_ns);
    f.off_ns = FORECAST_WATCH_NS / 2;
    CHECK(forecast_look(&f).until_ns == 81 * 80 * MS + FORECAST_WATCH_NS);
    f.off_ns++;
    CHECK(forecast_look(&f).until_ns == 0);
}

TEST(no_more_than_an_eighth_of_a_wait_is_watched) {
    forecast f = after(60, 4 * MS);
    f.off_ns = MS / 8;
    CHECK(forecast_look(&f).until_ns - forecast_look(&f).look_ns == FORECAST_WAKE_NS + 4 * MS / 8);
    f.off_ns++;
    CHECK(forecast_look(&f).until_ns == 0);
}

TEST(batches_that_come_now_and_then_are_not_watched_for) {
    forecast f = {0};
    uint64_t at = 8 * MS;
    for (int i = 0; i < 60; i++) forecast_note(&f, at += i % 2 ? 7 * MS : 9 * MS);
    CHECK(f.gap_ns > 7 * MS && f.gap_ns < 9 * MS);
    CHECK(f.off_ns > MS / 2);
    CHECK(forecast_look(&f).until_ns == 0);
}

/* How often a wait of 20 ms for what does not come offers its core, if it is due in 10 ms and has been off_ns off of late. */
static long yields_of_a_wait(spdl_reader *r, uint64_t off_ns) {
    spdl_batch b = SPDL_BATCH_INIT;
    r->forecast = (forecast){sp_now_ns() + 2 * MS, 8 * MS, off_ns};
    test_yields = 0;
    CHECK_STATUS(spdl_acquire(r, 20 * (int64_t)MS, &b), SPDL_TIMEOUT);
    return test_yields;
}

/* A thread may be kept from its core for all of the time that it would watch: then the next wait tells. */
TEST(a_watch_offers_its_core_and_ends_when_somebody_takes_it) {
    standin *s;
    spdl_reader *r = join(&s, 0, 0);
    long yields = 0;
    r->spin = true; /* also on a machine of one core */
    for (int i = 0; i < 1000 && yields < 2; i++) yields = yields_of_a_wait(r, MS / 8);
    CHECK(yields > 1);
    test_yield_us = 1000;
    yields = 0;
    for (int i = 0; i < 1000 && yields == 0; i++) yields = yields_of_a_wait(r, MS / 8);
    CHECK(yields == 1);
    test_yield_us = 0;
    CHECK(yields_of_a_wait(r, MS / 4 + 1) == 0);
    leave(s, r);
}

/* As `deadline - now` comes to a moment too late. */
TEST(a_time_that_is_over_does_not_wait) {
    const int64_t over[] = {-2, -5000000000, INT64_MIN};
    standin *s;
    spdl_reader *r = join(&s, 0, 0);
    spdl_batch b = SPDL_BATCH_INIT;
    spdl_attach_opts o = SPDL_ATTACH_OPTS_INIT;
    spdl_reader *nobody;
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(spdl_acquire(r, over[i], &b), SPDL_TIMEOUT);
        CHECK_STATUS(spdl_next(r, over[i], &b, &b), SPDL_TIMEOUT);
        o.timeout_ns = over[i];
        CHECK_STATUS(spdl_attach("/tmp/spdl-no-such.sock", &o, &nobody), SPDL_E_NOT_FOUND);
    }
    CHECK(standin_publish(s, 0, false) >= 0);
    CHECK_STATUS(spdl_acquire(r, INT64_MIN, &b), SPDL_OK); /* what is ready is given */
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    leave(s, r);
}

TEST(a_wait_without_experience_or_a_short_one_does_not_look) {
    for (int n = 0; n < 2; n++) {
        forecast f = after(n, 8 * MS);
        CHECK(forecast_look(&f).look_ns == UINT64_MAX);
    }
    forecast f = after(5, FORECAST_LEAST_NS - 1);
    CHECK(forecast_look(&f).look_ns == UINT64_MAX);
}

TEST(one_late_batch_moves_the_forecast_little_and_a_new_pace_is_learned) {
    forecast f = after(20, 8 * MS);
    uint64_t at = 20 * 8 * MS + 1000 * MS;
    forecast_note(&f, at);
    CHECK(f.gap_ns >= 8 * MS && f.gap_ns < 8 * MS + MS / 8);
    for (int i = 0; i < 40; i++) forecast_note(&f, at += 40 * MS);
    CHECK(f.gap_ns > 39 * MS && f.gap_ns <= 40 * MS);
    for (int i = 0; i < 40; i++) forecast_note(&f, at += 4 * MS);
    CHECK(f.gap_ns >= 4 * MS && f.gap_ns < 5 * MS);
}

TEST(times_that_do_not_rise_are_no_experience) {
    forecast f = after(5, 8 * MS);
    forecast_note(&f, 3);
    forecast_note(&f, 3);
    CHECK(f.gap_ns == 8 * MS);
}

/* In 20 ms no slice ends: the engine is asked after once, before the wait gives up. */
TEST(a_wait_that_times_out_has_asked_after_the_engine_once) {
    standin *s;
    spdl_reader *r = join(&s, 0, 0);
    spdl_batch b = SPDL_BATCH_INIT;
    test_polls = 0;
    CHECK_STATUS(spdl_acquire(r, 20 * (int64_t)MS, &b), SPDL_TIMEOUT);
    CHECK(test_polls == 1);
    leave(s, r);
}

static void *publish_soon(void *s) {
    usleep(3000);
    CHECK(standin_publish(s, 0, false) >= 0);
    return NULL;
}

TEST(a_wait_asks_after_the_engine_at_most_once_a_slice) {
    standin *s;
    spdl_reader *r = join(&s, 0, 0);
    spdl_batch b = SPDL_BATCH_INIT;
    for (int i = 0; i < 5; i++) {
        pthread_t publisher;
        test_polls = 0;
        double begun = test_seconds();
        CHECK(pthread_create(&publisher, NULL, publish_soon, s) == 0);
        CHECK_STATUS(spdl_acquire(r, SPDL_FOREVER, &b), SPDL_OK);
        CHECK(test_polls <= (test_seconds() - begun) / 0.025);
        CHECK(pthread_join(publisher, NULL) == 0);
        CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    }
    leave(s, r);
}

/* Waits of one who polls, and waits for the descriptor: from the poll that finds nothing to the one that finds a batch. */
TEST(waiting_for_the_event_descriptor_is_counted_as_waiting) {
    standin *s;
    spdl_reader *r = join(&s, 2, 0);
    spdl_batch b = SPDL_BATCH_INIT;
    spdl_reader_info info = SPDL_READER_INFO_INIT;
    CHECK_STATUS(spdl_acquire(r, 0, &b), SPDL_TIMEOUT); /* nobody waits after it: there is no descriptor */
    CHECK(__atomic_load_n(&standin_member(s, 0)->waiting_since, __ATOMIC_RELAXED) == 0);
    CHECK(spdl_event_fd(r) >= 0);
    CHECK_STATUS(spdl_acquire(r, 0, &b), SPDL_TIMEOUT);
    uint64_t since = __atomic_load_n(&standin_member(s, 0)->waiting_since, __ATOMIC_RELAXED);
    CHECK(since != 0);
    CHECK_STATUS(spdl_acquire(r, 0, &b), SPDL_TIMEOUT); /* the same wait */
    CHECK(__atomic_load_n(&standin_member(s, 0)->waiting_since, __ATOMIC_RELAXED) == since);
    usleep(20000);
    CHECK(standin_publish(s, 0, false) >= 0);
    CHECK_STATUS(spdl_acquire(r, 0, &b), SPDL_OK);
    CHECK_STATUS(spdl_get_reader_info(r, &info), SPDL_OK);
    CHECK(info.wait_ns >= 20000000 &&
          __atomic_load_n(&standin_member(s, 0)->waiting_since, __ATOMIC_RELAXED) == 0);
    uint64_t waited = info.wait_ns;
    usleep(20000); /* with the batch in hand */
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    CHECK_STATUS(spdl_acquire(r, 0, &b), SPDL_TIMEOUT);
    usleep(5000);
    CHECK_STATUS(spdl_acquire(r, 1000000, &b), SPDL_TIMEOUT); /* the poll's wait, and its own */
    CHECK_STATUS(spdl_get_reader_info(r, &info), SPDL_OK);
    CHECK(info.wait_ns - waited >= 6000000 && info.wait_ns - waited < 15000000000ull);
    CHECK(__atomic_load_n(&standin_member(s, 0)->waiting_since, __ATOMIC_RELAXED) == 0);
    leave(s, r);
}
