/* test_wait.c - how a wait sleeps: when it looks, and how often it asks after the engine. */
#include "test.h"

#include "../../capi/client/forecast.h"

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
    CHECK(forecast_look(&f) == 6 * 8 * MS - MS);
    f = after(5, 800 * MS);
    CHECK(forecast_look(&f) == 6 * 800 * MS - FORECAST_EARLY_NS);
}

TEST(a_wait_without_experience_or_a_short_one_does_not_look) {
    for (int n = 0; n < 2; n++) {
        forecast f = after(n, 8 * MS);
        CHECK(forecast_look(&f) == UINT64_MAX);
    }
    forecast f = after(5, FORECAST_LEAST_NS - 1);
    CHECK(forecast_look(&f) == UINT64_MAX);
}

TEST(one_late_batch_moves_the_forecast_little_and_a_new_pace_is_learned) {
    forecast f = after(20, 8 * MS);
    uint64_t at = 20 * 8 * MS + 1000 * MS;
    forecast_note(&f, at);
    CHECK(f.gap_ns == 9 * MS);
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
