/* test_pipeline_life.c - how pipelines end: stopped, drained, forked, a thousand times. Items are pointers to counted memory
 * where leaks are looked for. */
#include "pipeline.h"

#include <sys/wait.h>

/* ---- stop, fork, many times -------------------------------------------------------------------------------- */

static void *wait_for_result(void *arg) {
    spdl_work w = SPDL_WORK_INIT;
    CHECK_STATUS(spdl_pipeline_get(arg, SPDL_FOREVER, &w), SPDL_END_DATA);
    return NULL;
}

TEST(stop_ends_every_wait) {
    for (int i = 0; i < 30; i++) {
        bench b;
        pthread_t getter;
        begin(&b, SOURCE ", " MAP("a", "") ", " MAP("idle", ""));
        b.count = 1u << 30;
        put_to_work(&b, "in", 1,
                    count_up); /* blocks in give once the queues are full: nobody takes from idle */
        put_to_work(&b, "a", 1, pass);
        CHECK(pthread_create(&getter, NULL, wait_for_result, b.p) == 0);
        usleep((useconds_t)(i * 300));
        CHECK_STATUS(spdl_pipeline_stop(b.p), SPDL_OK);
        pthread_join(getter, NULL);
        end(&b);
    }
}

TEST(drain_finishes_what_is_in_flight) {
    bench b;
    begin(&b, SOURCE ", " MAP("a", ", \"concurrency\": 2"));
    b.count = 1u << 30;
    put_to_work(&b, "in", 1, count_up);
    put_to_work(&b, "a", 2, pass);
    spdl_work w = SPDL_WORK_INIT;
    for (int i = 0; i < 20; i++) CHECK_STATUS(get(&b, &w), SPDL_OK);
    CHECK_STATUS(spdl_pipeline_drain(b.p), SPDL_OK);
    uint64_t n = 20;
    while (get(&b, &w) == SPDL_OK) n++;
    join_threads(&b);
    CHECK(n == b.seen); /* every item that was taken came out */
    CHECK_STATUS(spdl_pipeline_wait(b.p, SPDL_FOREVER), SPDL_OK);
    end(&b);
}

TEST(a_get_that_times_out_has_taken_nothing) {
    bench b;
    begin(&b, SOURCE);
    spdl_work w = SPDL_WORK_INIT;
    for (int i = 0; i < 100; i++) CHECK_STATUS(spdl_pipeline_get(b.p, i * 1000, &w), SPDL_TIMEOUT);
    b.count = 5;
    put_to_work(&b, "in", 1, count_up);
    CHECK(strcmp(results(&b), "0 1 2 3 4") == 0);
    end(&b);
}

TEST(a_forked_child_is_refused_and_the_parent_goes_on) {
    bench b;
    begin(&b, SOURCE);
    pid_t child = fork();
    if (child == 0) {
        spdl_work w = SPDL_WORK_INIT;
        spdl_give give = SPDL_GIVE_INIT;
        spdl_pipeline *p;
        uint64_t item;
        uint32_t got;
        size_t need;
        bool ok = spdl_stage_take(b.p, 0, SPDL_FOREVER, &w) == SPDL_E_FORKED &&
                  spdl_stage_give(b.p, 0, &w, &give) == SPDL_E_FORKED &&
                  spdl_pipeline_get(b.p, SPDL_FOREVER, &w) == SPDL_E_FORKED &&
                  spdl_pipeline_stop(b.p) == SPDL_E_FORKED && spdl_pipeline_drain(b.p) == SPDL_E_FORKED &&
                  spdl_pipeline_wait(b.p, SPDL_FOREVER) == SPDL_E_FORKED &&
                  spdl_pipeline_start(b.p) == SPDL_E_FORKED &&
                  spdl_pipeline_stage(b.p, "in") == SPDL_E_FORKED &&
                  spdl_pipeline_reclaim(b.p, &item, 1, &got) == SPDL_E_FORKED &&
                  spdl_pipeline_error(b.p, NULL, 0, &need) == SPDL_E_FORKED &&
                  spdl_pipeline_stats(b.p, NULL, 0, &need) == SPDL_E_FORKED &&
                  spdl_pipeline_free(b.p) == SPDL_E_FORKED &&
                  spdl_pipeline_create("{}", &p) == SPDL_E_FORKED && strstr(spdl_last_error(), "fork");
        _exit(ok ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    b.count = 3;
    put_to_work(&b, "in", 1, count_up);
    CHECK(strcmp(results(&b), "0 1 2") == 0);
    end(&b);
}

static void make_counted(bench *b, const spdl_work *w, spdl_give *give, uint64_t *items) {
    (void)w;
    atomic_fetch_add(&b->alive, 1);
    items[0] = (uint64_t)(uintptr_t)malloc(16);
    give->n_items = 1;
}

static void free_counted(bench *b, uint64_t item) {
    atomic_fetch_sub(&b->alive, 1);
    free((void *)(uintptr_t)item);
}

static void sometimes_fail(bench *b, const spdl_work *w, spdl_give *give, uint64_t *items) {
    pass(b, w, give, items);
    if (atomic_load(&b->seen) % 5 == 0) give->n_items = 0, give->flags = 0, give->error = "a fifth";
}

/* Everything that was made is got or reclaimed, once each, wherever the stop comes. */
TEST(no_item_is_lost_and_nothing_stays_over_a_thousand_starts_and_stops) {
    int cycles = getenv("SPDL_FAULT_LONG") ? 10000 : 1000;
    int fds = 0, maps = 0;
    for (int i = 0; i < cycles; i++) {
        bench b;
        begin(
            &b,
            SOURCE ", " MAP(
                "a",
                ", \"concurrency\": 2, \"failures\": {\"max_count\": -1}, \"retries\": {\"max\": 1, \"backoff_ms\": 1}") ", {\"name\": \"three\", \"kind\": \"aggregate\", \"n\": 3}");
        put_to_work(&b, "in", 1, make_counted);
        put_to_work(&b, "a", 2, sometimes_fail);
        spdl_work w = SPDL_WORK_INIT;
        for (int n = 0; n < i % 7; n++) {
            CHECK_STATUS(get(&b, &w), SPDL_OK);
            for (uint32_t k = 0; k < w.n_items; k++) free_counted(&b, w.items[k]);
        }
        end_with(&b, free_counted);
        CHECK(b.alive == 0);
        if (i == 100) fds = test_open_fds(), maps = test_maps();
    }
    CHECK(test_open_fds() == fds);
    CHECK(test_maps() < maps + 40); /* Go's heap and malloc's arenas move a little */
}
