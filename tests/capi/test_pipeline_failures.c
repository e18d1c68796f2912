/* test_pipeline_failures.c - works that fail, and calls that make no sense. */
#include "pipeline.h"

#include "../../capi/client/internal.h"
#include "../../capi/engine/table.h"

/* ---- failures --------------------------------------------------------------------------------------------- */

static char traceback[20000];

static void fail_with_traceback(bench *b, const spdl_work *w, spdl_give *give, uint64_t *items) {
    (void)b, (void)w, (void)items;
    give->error = traceback;
}

TEST(a_failure_keeps_the_hosts_text_whole_and_names_the_stage) {
    bench b;
    char whole[sizeof traceback + 100];
    size_t need = 0;
    memset(traceback, 'x', sizeof traceback - 1);
    begin(&b, SOURCE ", " MAP("decode", ""));
    b.count = 10;
    put_to_work(&b, "in", 1, count_up);
    put_to_work(&b, "decode", 1, fail_with_traceback);
    spdl_work w = SPDL_WORK_INIT;
    CHECK_STATUS(get(&b, &w), SPDL_E_PIPELINE);
    CHECK(strstr(spdl_last_error(), "stage \"decode\": xxx"));
    join_threads(&b);
    CHECK_STATUS(spdl_pipeline_wait(b.p, SPDL_FOREVER), SPDL_E_PIPELINE);
    CHECK_STATUS(spdl_pipeline_error(b.p, NULL, 0, &need), SPDL_E_ARGUMENT);
    CHECK(need > sizeof traceback && need < sizeof whole);
    CHECK_STATUS(spdl_pipeline_error(b.p, whole, sizeof whole, NULL), SPDL_OK);
    CHECK(strcmp(whole + need - sizeof traceback, traceback) == 0);
    end(&b);
}

static void fail_odd(bench *b, const spdl_work *w, spdl_give *give, uint64_t *items) {
    pass(b, w, give, items);
    if (w->items[0] % 2 == 1) give->n_items = 0, give->error = "odd", give->flags = 0;
}

static void fail_some(bench *b, const spdl_work *w, spdl_give *give, uint64_t *items) {
    pass(b, w, give, items);
    if (w->items[0] % 4 == 0) give->n_items = 0, give->error = "a fourth", give->flags = 0;
}

TEST(a_failure_budget_forgives_and_the_failed_items_are_reclaimed) {
    bench b;
    begin(&b, SOURCE ", " MAP("even", ", \"failures\": {\"max_count\": 5}"));
    b.count = 10;
    put_to_work(&b, "in", 1, count_up);
    put_to_work(&b, "even", 1, fail_odd);
    CHECK(strcmp(results(&b), "0 2 4 6 8") == 0);
    CHECK_STATUS(spdl_pipeline_wait(b.p, SPDL_FOREVER), SPDL_OK);
    uint64_t items[10], total = 0;
    uint32_t got;
    got = 1;
    CHECK_STATUS(spdl_pipeline_reclaim(b.p, NULL, 0, &got), SPDL_OK);
    CHECK(got == 0);
    CHECK_STATUS(spdl_pipeline_reclaim(b.p, NULL, 1, &got), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_pipeline_reclaim(b.p, items, 10, &got), SPDL_OK);
    for (uint32_t i = 0; i < got; i++) total += items[i];
    CHECK(got == 5 && total == 25);
    end(&b);
    begin(&b, SOURCE ", " MAP("even", ", \"failures\": {\"max_count\": 4}"));
    b.count = 10;
    put_to_work(&b, "in", 1, count_up);
    put_to_work(&b, "even", 1, fail_odd);
    CHECK_STATUS(spdl_pipeline_wait(b.p, 100000000), SPDL_TIMEOUT); /* nobody gets its results */
    spdl_work w = SPDL_WORK_INIT;
    spdl_status s;
    while ((s = get(&b, &w)) == SPDL_OK) continue;
    CHECK_STATUS(s, SPDL_E_PIPELINE);
    CHECK(strstr(spdl_last_error(), "at most 4; the last: odd"));
    end(&b);
}

/* Each stage forgives all its own; the pipeline's budget counts both. */
TEST(a_failure_budget_of_the_whole_pipeline_counts_all_stages) {
    bench b;
    for (int allowed = 8; allowed >= 7; allowed--) {
        char whole[64];
        snprintf(whole, sizeof whole, ", \"failures\": {\"max_count\": %d}", allowed);
        begin_with(&b, whole,
                   SOURCE ", " MAP("even", ", \"failures\": {\"max_count\": -1}") ", " MAP(
                       "fourth", ", \"failures\": {\"max_count\": -1}"));
        b.count = 10;
        put_to_work(&b, "in", 1, count_up);
        put_to_work(&b, "even", 1, fail_odd);    /* 1 3 5 7 9 */
        put_to_work(&b, "fourth", 1, fail_some); /* 0 4 8 */
        spdl_work w = SPDL_WORK_INIT;
        spdl_status s;
        int n = 0;
        while ((s = get(&b, &w)) == SPDL_OK) n++;
        CHECK_STATUS(s, allowed == 8 ? SPDL_END_DATA : SPDL_E_PIPELINE);
        CHECK(allowed == 8 ? n == 2 : strstr(spdl_last_error(), "at most 7") != NULL);
        end(&b);
    }
}

static void third_time(bench *b, const spdl_work *w, spdl_give *give, uint64_t *items) {
    pass(b, w, give, items);
    if (w->attempt < 3) give->n_items = 0, give->error = "not yet";
}

static void never_again(bench *b, const spdl_work *w, spdl_give *give, uint64_t *items) {
    (void)b, (void)items;
    CHECK(w->attempt == 1);
    give->error = "no use", give->error_flags = SPDL_ERROR_FINAL;
}

TEST(a_failed_work_is_offered_again_unless_it_is_final) {
    bench b;
    begin(&b, SOURCE ", " MAP("a", ", \"retries\": {\"max\": 2, \"backoff_ms\": 1}"));
    b.count = 5;
    put_to_work(&b, "in", 1, count_up);
    put_to_work(&b, "a", 1, third_time);
    CHECK(strcmp(results(&b), "0 1 2 3 4") == 0);
    CHECK(b.seen == 15);
    end(&b);
    begin(&b, SOURCE
          ", " MAP("a", ", \"retries\": {\"max\": 9, \"backoff_ms\": 1}, \"failures\": {\"max_count\": -1}"));
    b.count = 5;
    put_to_work(&b, "in", 1, count_up);
    put_to_work(&b, "a", 1, never_again);
    CHECK(strcmp(results(&b), "") == 0);
    end(&b);
}

TEST(a_work_past_its_deadline_has_failed_and_its_give_says_so) {
    bench b;
    begin(&b, SOURCE ", " MAP("slow", ", \"deadline_ms\": 20"));
    spdl_work w = SPDL_WORK_INIT;
    spdl_give give = SPDL_GIVE_INIT;
    uint64_t item = 7, back;
    uint32_t got;
    give.items = &item, give.n_items = 1;
    CHECK_STATUS(spdl_stage_take(b.p, 0, SPDL_FOREVER, &w), SPDL_OK);
    CHECK_STATUS(spdl_stage_give(b.p, 0, &w, &give), SPDL_OK);
    CHECK_STATUS(spdl_stage_take(b.p, 1, SPDL_FOREVER, &w), SPDL_OK);
    CHECK_STATUS(get(&b, &w), SPDL_E_PIPELINE);
    CHECK(strstr(spdl_last_error(), "stage \"slow\": no result within the deadline of 20ms"));
    item = 8;
    CHECK_STATUS(spdl_stage_give(b.p, 1, &w, &give), SPDL_TIMEOUT);
    CHECK_STATUS(spdl_pipeline_reclaim(b.p, &back, 1, &got), SPDL_OK);
    CHECK(got == 1 && back == 8); /* what was given too late; 7 is ours again */
    end(&b);
}

/* ---- misuse ----------------------------------------------------------------------------------------------- */

TEST(a_work_that_is_not_out_cannot_be_given) {
    bench b, other;
    begin(&b, SOURCE ", " MAP("a", ""));
    begin(&other, SOURCE);
    spdl_work w = SPDL_WORK_INIT;
    spdl_give give = SPDL_GIVE_INIT;
    uint64_t item = 7;
    give.items = &item, give.n_items = 1;
    CHECK_STATUS(spdl_stage_take(b.p, 0, SPDL_FOREVER, &w), SPDL_OK);
    CHECK_STATUS(spdl_stage_give(b.p, 1, &w, &give), SPDL_E_STAGE);
    CHECK_STATUS(spdl_stage_give(b.p, 2, &w, &give), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_stage_give(b.p, -1, &w, &give), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_stage_give(other.p, 0, &w, &give), SPDL_E_STAGE);
    CHECK_STATUS(spdl_stage_give(b.p, 0, &w, &give), SPDL_OK);
    CHECK_STATUS(spdl_stage_give(b.p, 0, &w, &give), SPDL_E_STAGE);
    CHECK(strstr(spdl_last_error(), "pipeline: \"test\": stage \"in\": work"));
    end(&other);
    end(&b);
}

TEST(a_give_that_makes_no_sense_is_refused_and_the_work_stays_out) {
    bench b;
    begin(&b, SOURCE ", " MAP("a", ""));
    spdl_work w = SPDL_WORK_INIT;
    uint64_t item = 7;
    int32_t path = 0;
    const spdl_give good = {sizeof good, 0, &item, 1, 0, NULL, NULL, 0, 0};
    CHECK_STATUS(spdl_stage_take(b.p, 0, SPDL_FOREVER, &w), SPDL_OK);
    CHECK_STATUS(spdl_stage_give(b.p, 0, &w, &good), SPDL_OK);
    CHECK_STATUS(spdl_stage_take(b.p, 1, SPDL_FOREVER, &w), SPDL_OK);
    spdl_give bad[] = {good, good, good, good, good, good, good, good, good, good};
    bad[0].struct_size = 8;
    bad[1].flags = 64;
    bad[2].items = NULL;
    bad[3].error_flags = 64;
    bad[4].n_items = 0;
    bad[5].flags = SPDL_GIVE_END;
    bad[6].flags = SPDL_GIVE_SKIP;
    bad[7].error = "x";
    bad[8].path = 1;
    bad[9].paths = &path;
    for (int i = 0; i < 10; i++)
        CHECK_STATUS(spdl_stage_give(b.p, 1, &w, &bad[i]), i < 4 ? SPDL_E_ARGUMENT : SPDL_E_STAGE);
    CHECK_STATUS(spdl_stage_give(b.p, 1, &w, &good), SPDL_OK);
    w.struct_size = 8;
    CHECK_STATUS(spdl_stage_give(b.p, 1, &w, &good), SPDL_E_ARGUMENT);
    CHECK_SAYS("stage_give: work.struct_size is 8");
    CHECK_STATUS(spdl_stage_take(b.p, 0, 0, &w), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_pipeline_get(b.p, 0, &w), SPDL_E_ARGUMENT);
    CHECK(spdl_pipeline_stage(b.p, "b") == SPDL_E_NOT_FOUND);
    CHECK(spdl_pipeline_stage(b.p, NULL) == SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_pipeline_start(b.p), SPDL_E_BUSY);
    CHECK_STATUS(spdl_pipeline_free(b.p), SPDL_E_BUSY);
    end(&b);
}

TEST(a_refused_free_leaves_the_pipeline_running) {
    bench b;
    begin(&b, SOURCE ", " MAP("a", ", \"output\": \"input\""));
    b.count = 5;
    CHECK_STATUS(spdl_pipeline_free(b.p), SPDL_E_BUSY);
    CHECK(strstr(spdl_last_error(), "it still runs: it is running and no work is out"));
    put_to_work(&b, "in", 1, count_up);
    put_to_work(&b, "a", 1, square);
    CHECK(strcmp(results(&b), "0 1 4 9 16") == 0);
    end(&b);
}

static void *take_and_die(void *arg) {
    bench *b = arg;
    spdl_work w = SPDL_WORK_INIT;
    CHECK_STATUS(spdl_stage_take(b->p, spdl_pipeline_stage(b->p, "decode"), SPDL_FOREVER, &w), SPDL_OK);
    pthread_exit(NULL);
}

TEST(a_thread_that_ends_with_a_work_in_hand_ends_the_pipeline_by_name) {
    for (int i = 0; i < 50; i++) {
        bench b;
        begin(&b, SOURCE ", " MAP("decode", ", \"concurrency\": 2"));
        b.count = 10;
        CHECK(pthread_create(&b.threads[b.n_threads++], NULL, take_and_die, &b) == 0);
        put_to_work(&b, "in", 1, count_up);
        spdl_work w = SPDL_WORK_INIT;
        CHECK_STATUS(get(&b, &w), SPDL_E_PIPELINE);
        CHECK(strstr(spdl_last_error(), "stage \"decode\": thread "));
        CHECK(strstr(spdl_last_error(), "ended with a work in hand"));
        end(&b);
    }
}

TEST(a_wait_in_vain_names_stage_and_thread_of_the_work_that_is_out) {
    bench b;
    char mine[64], stats[8192];
    begin(&b, SOURCE);
    spdl_work w = SPDL_WORK_INIT;
    CHECK_STATUS(spdl_stage_take(b.p, 0, SPDL_FOREVER, &w), SPDL_OK);
    CHECK_STATUS(spdl_pipeline_stop(b.p), SPDL_OK);
    CHECK_STATUS(spdl_pipeline_wait(b.p, 1000000), SPDL_TIMEOUT);
    snprintf(mine, sizeof mine, "taken by thread %d", gettid());
    CHECK(strstr(spdl_last_error(), "stage \"in\": a work is out for") && strstr(spdl_last_error(), mine));
    CHECK_STATUS(spdl_pipeline_stats(b.p, stats, 10, NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_pipeline_stats(b.p, stats, sizeof stats, NULL), SPDL_OK);
    snprintf(mine, sizeof mine, "\"thread\":%d", gettid());
    CHECK(strstr(stats, mine) && strstr(stats, "\"name\":\"in\""));
    CHECK_STATUS(spdl_pipeline_free(b.p), SPDL_E_BUSY);
    spdl_give give = SPDL_GIVE_INIT;
    give.flags = SPDL_GIVE_SKIP;
    CHECK_STATUS(spdl_stage_give(b.p, 0, &w, &give), SPDL_END_DATA);
    CHECK_STATUS(spdl_pipeline_wait(b.p, SPDL_FOREVER), SPDL_OK);
    end(&b);
}

TEST(a_time_that_is_over_does_not_wait) {
    bench b;
    begin(&b, SOURCE);
    spdl_work w = SPDL_WORK_INIT, other = SPDL_WORK_INIT;
    CHECK_STATUS(spdl_stage_take(b.p, 0, SPDL_FOREVER, &w), SPDL_OK);
    CHECK_STATUS(spdl_stage_take(b.p, 0, -2, &other), SPDL_TIMEOUT);
    CHECK_STATUS(spdl_pipeline_get(b.p, INT64_MIN, &other), SPDL_TIMEOUT);
    CHECK_STATUS(spdl_pipeline_stop(b.p), SPDL_OK);
    CHECK_STATUS(spdl_pipeline_wait(b.p, -5000000000), SPDL_TIMEOUT);
    spdl_give give = SPDL_GIVE_INIT;
    give.flags = SPDL_GIVE_SKIP;
    CHECK_STATUS(spdl_stage_give(b.p, 0, &w, &give), SPDL_END_DATA);
    end(&b);
}

TEST(a_description_is_refused_with_place_and_remedy) {
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "description:1:1: not JSON: it ends too early"},
        {"{]", "description:1:2: not JSON"},
        {"[]", "got a list, want an object with name, stages"},
        {"{}", "description:1:1: key \"stages\" is missing"},
        {"{\"stages\": []}", "description:1:12: stages: got a list of 0"},
        {"{\"stages\": [" SOURCE "]} x", "got more after the description"},
        {"{\"stages\": [" SOURCE "], \"stages\": 1}", "stages: given twice"},
        {"{\n \"stags\": 1}", "description:2:2: stags: unknown key; did you mean \"stages\"?"},
        {"{\"stages\": [{\"name\": \"x\", \"kind\": \"sauce\"}]}",
         "kind is \"sauce\", want one of source, map"},
        {"{\"stages\": [" MAP("x", "") "]}", "stages[0]: the first stage is a map, want a source or a merge"},
        {"{\"stages\": [" SOURCE "," SOURCE "]}", "the name \"in\" is taken"},
        {"{\"stages\": [" SOURCE "," MAP("x", ", \"concurency\": 2") "]}",
         "stages[1].concurency: unknown key; did you mean \"concurrency\"?"},
        {"{\"stages\": [" SOURCE "," MAP("x", ", \"concurrency\": 0") "]}",
         "stages[1].concurrency: got 0, want a whole number, 1 to"},
        {"{\"stages\": [" SOURCE "," MAP("x", ", \"output\": \"inptu\"") "]}",
         "want completion, input; did you mean \"input\"?"},
        {"{\"stages\": [" SOURCE "," MAP("x", ", \"failures\": {\"max_rate\": 2}") "]}",
         "failures.max_rate: got 2, want a number, 0 to 1"},
        {"{\"stages\": [" SOURCE ", {\"name\": \"x\", \"kind\": \"aggregate\"}]}", "key \"n\" is missing"},
        {"{\"stages\": [" SOURCE ", {\"name\": \"x\", \"kind\": \"sink\"}, " MAP("y", "") "]}",
         "a sink, want it last"},
        {"{\"stages\": [{\"name\": \"m\", \"kind\": \"merge\", \"inputs\": [[" SOURCE
         "]], \"policy\": \"weighted\"}]}",
         "weights and policy weighted come together"},
    };
    spdl_pipeline *p;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_STATUS(spdl_pipeline_create(cases[i].text, &p), SPDL_E_SPEC);
        CHECK(p == NULL);
        if (!strstr(spdl_last_error(), cases[i].says)) test_fail(__FILE__, __LINE__, spdl_last_error());
    }
}

TEST(a_panic_in_the_engine_is_a_status_with_its_stack) {
    const spdl_engine_table *engine;
    spdl_engine_error e;
    CHECK_STATUS(sp_engine(&engine), SPDL_OK);
    CHECK_STATUS(engine->start(1 << 30, &e), SPDL_E_ENGINE_FAILED); /* libspdl never passes such a handle */
    CHECK(strstr(e.text, "panicked") && strstr(e.text, "was freed") && strstr(e.text, "goroutine"));
    CHECK(engine->stage(1 << 30, "x", &e) == SPDL_E_ENGINE_FAILED);
}
