/* test_pipeline.c - pipelines of the host's stages, through the real libspdl_engine: a program of its own, because Go
 * stays in a process. Items are numbers, or pointers to counted memory where leaks are looked for. */
#include "test.h"

#include "../../capi/client/internal.h"
#include "../../capi/engine/table.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_THREADS 16

/* ---- a pipeline and its threads ---------------------------------------------------------------------------- */

typedef struct bench {
    spdl_pipeline *p;
    pthread_t threads[MAX_THREADS];
    int n_threads;
    _Atomic uint64_t next; /* of the counting source */
    uint64_t count;        /* where it ends */
    _Atomic uint64_t seen; /* works that a stage has taken */
    _Atomic int64_t alive; /* counted items */
} bench;

/* What a thread does with a work: fill in the answer. `items` is room for results. */
typedef void (*op)(bench *b, const spdl_work *w, spdl_give *give, uint64_t *items);

typedef struct worker {
    bench *b;
    int32_t stage;
    op op;
} worker;

static void *work(void *arg) {
    worker w = *(worker *)arg;
    free(arg);
    spdl_work taken = SPDL_WORK_INIT;
    spdl_status s;
    uint64_t items[64];
    while ((s = spdl_stage_take(w.b->p, w.stage, SPDL_FOREVER, &taken)) == SPDL_OK) {
        spdl_give give = SPDL_GIVE_INIT;
        give.items = items;
        w.op(w.b, &taken, &give, items);
        s = spdl_stage_give(w.b->p, w.stage, &taken, &give);
        if (s < 0) break;
    }
    if (s != SPDL_END_DATA) CHECK_STATUS(s, SPDL_END_DATA);
    return NULL;
}

static void put_to_work(bench *b, const char *stage, int threads, op op) {
    for (int i = 0; i < threads; i++) {
        worker *w = malloc(sizeof *w);
        *w = (worker){b, spdl_pipeline_stage(b->p, stage), op};
        CHECK(w->stage >= 0 && b->n_threads < MAX_THREADS);
        CHECK(pthread_create(&b->threads[b->n_threads++], NULL, work, w) == 0);
    }
}

/* A pipeline of these stages; more: further keys of the whole. */
static void begin_with(bench *b, const char *more, const char *stages) {
    char text[4096];
    memset(b, 0, sizeof *b);
    snprintf(text, sizeof text, "{\"name\": \"test\"%s, \"stages\": [%s]}", more, stages);
    CHECK_STATUS(spdl_pipeline_create(text, &b->p), SPDL_OK);
    CHECK_STATUS(spdl_pipeline_start(b->p), SPDL_OK);
}

static void begin(bench *b, const char *stages) { begin_with(b, "", stages); }

static void join_threads(bench *b) {
    for (int i = 0; i < b->n_threads; i++) pthread_join(b->threads[i], NULL);
    b->n_threads = 0;
}

/* End it, whatever state it is in; what it drops is handed to drop, which may be NULL. */
static void end_with(bench *b, void (*drop)(bench *, uint64_t)) {
    uint64_t items[7];
    uint32_t got = 0;
    CHECK_STATUS(spdl_pipeline_stop(b->p), SPDL_OK);
    join_threads(b);
    spdl_status s = spdl_pipeline_wait(b->p, SPDL_FOREVER);
    CHECK(s == SPDL_OK || s == SPDL_E_PIPELINE);
    do {
        CHECK_STATUS(spdl_pipeline_reclaim(b->p, items, 7, &got), SPDL_OK);
        for (uint32_t i = 0; i < got && drop; i++) drop(b, items[i]);
    } while (got > 0);
    CHECK_STATUS(spdl_pipeline_free(b->p), SPDL_OK);
}

static void end(bench *b) { end_with(b, NULL); }

static spdl_status get(bench *b, spdl_work *w) { return spdl_pipeline_get(b->p, 20000000000, w); }

/* Write the results to the end of the data as text: "1 2 [3 4]". */
static const char *results(bench *b) {
    static char text[4096];
    size_t n = 0;
    spdl_work w = SPDL_WORK_INIT;
    text[0] = 0;
    for (spdl_status s = get(b, &w); s != SPDL_END_DATA; s = get(b, &w)) {
        CHECK_STATUS(s, SPDL_OK);
        bool list = w.flags & SPDL_WORK_LIST;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? " " : "", list ? "[" : "");
        for (uint32_t i = 0; i < w.n_items; i++)
            n +=
                (size_t)snprintf(text + n, sizeof text - n, "%s%lu", i ? " " : "", (unsigned long)w.items[i]);
        if (list) n += (size_t)snprintf(text + n, sizeof text - n, "]");
        CHECK(n < sizeof text - 100);
    }
    return text;
}

/* ---- ops -------------------------------------------------------------------------------------------------- */

/* 0, 1, ... count - 1. */
static void count_up(bench *b, const spdl_work *w, spdl_give *give, uint64_t *items) {
    CHECK(w->kind == SPDL_WORK_SOURCE && w->n_items == 0);
    items[0] = atomic_fetch_add(&b->next, 1);
    give->n_items = items[0] < b->count;
    if (items[0] >= b->count) give->flags = SPDL_GIVE_END;
}

static void pass(bench *b, const spdl_work *w, spdl_give *give, uint64_t *items) {
    (void)items;
    atomic_fetch_add(&b->seen, 1);
    give->items = w->items, give->n_items = w->n_items;
    if (w->flags & SPDL_WORK_LIST) give->flags = SPDL_GIVE_LIST;
}

static void square(bench *b, const spdl_work *w, spdl_give *give, uint64_t *items) {
    (void)b;
    usleep((useconds_t)(w->items[0] * 7919 % 200)); /* so that they overtake each other */
    items[0] = w->items[0] * w->items[0];
    give->n_items = 1;
}

#define SOURCE "{\"name\": \"in\", \"kind\": \"source\"}"
#define MAP(name, more) "{\"name\": \"" name "\", \"kind\": \"map\"" more "}"

/* ---- what comes out --------------------------------------------------------------------------------------- */

TEST(results_come_in_the_order_of_the_input_whoever_was_faster) {
    bench b;
    begin(&b, SOURCE ", " MAP("square", ", \"concurrency\": 4, \"output\": \"input\""));
    b.count = 1000;
    put_to_work(&b, "in", 1, count_up);
    put_to_work(&b, "square", 4, square);
    spdl_work w = SPDL_WORK_INIT;
    for (uint64_t i = 0; i < b.count; i++) {
        CHECK_STATUS(get(&b, &w), SPDL_OK);
        CHECK(w.n_items == 1 && w.items[0] == i * i);
    }
    CHECK_STATUS(get(&b, &w), SPDL_END_DATA);
    CHECK_STATUS(spdl_pipeline_wait(b.p, SPDL_FOREVER), SPDL_OK);
    end(&b);
}

TEST(several_sources_and_workers_deliver_every_item_once) {
    bench b;
    uint8_t seen[2000] = {0};
    begin(&b,
          "{\"name\": \"in\", \"kind\": \"source\", \"concurrency\": 3}, " MAP("a", ", \"concurrency\": 4"));
    b.count = sizeof seen;
    put_to_work(&b, "in", 3, count_up);
    put_to_work(&b, "a", 4, pass);
    spdl_work w = SPDL_WORK_INIT;
    while (get(&b, &w) == SPDL_OK) CHECK(w.items[0] < sizeof seen && !seen[w.items[0]]++);
    for (size_t i = 0; i < sizeof seen; i++) CHECK(seen[i] == 1);
    end(&b);
}

static void sum(bench *b, const spdl_work *w, spdl_give *give, uint64_t *items) {
    if (w->kind == SPDL_WORK_FLUSH) {
        items[0] = atomic_load(&b->seen), give->n_items = 1;
        return;
    }
    CHECK(w->flags & SPDL_WORK_LIST);
    for (uint32_t i = 0; i < w->n_items; i++) atomic_fetch_add(&b->seen, w->items[i]);
    give->flags = SPDL_GIVE_SKIP;
}

TEST(lists_are_made_and_an_aggregator_of_the_host_is_flushed) {
    bench b;
    begin(
        &b, SOURCE
        ", {\"name\": \"four\", \"kind\": \"aggregate\", \"n\": 4}, {\"name\": \"sum\", \"kind\": \"aggregator\"}");
    b.count = 10;
    put_to_work(&b, "in", 1, count_up);
    put_to_work(&b, "sum", 1, sum);
    CHECK(strcmp(results(&b), "45") == 0);
    end(&b);
}

TEST(lists_are_taken_apart_again) {
    bench b;
    begin(&b, SOURCE ", {\"name\": \"four\", \"kind\": \"aggregate\", \"n\": 4}, " MAP(
                  "a", "") ", {\"name\": \"one\", \"kind\": \"disaggregate\"}");
    b.count = 10;
    put_to_work(&b, "in", 1, count_up);
    put_to_work(&b, "a", 1, pass);
    CHECK(strcmp(results(&b), "0 1 2 3 4 5 6 7 8 9") == 0);
    end(&b);
}

TEST(the_last_short_list_is_kept_or_dropped) {
    bench b;
    begin(&b, SOURCE ", {\"name\": \"four\", \"kind\": \"aggregate\", \"n\": 4}");
    b.count = 6;
    put_to_work(&b, "in", 1, count_up);
    CHECK(strcmp(results(&b), "[0 1 2 3] [4 5]") == 0);
    end(&b);
    begin(&b, SOURCE ", {\"name\": \"four\", \"kind\": \"aggregate\", \"n\": 4, \"drop_last\": true}");
    b.count = 6;
    put_to_work(&b, "in", 1, count_up);
    CHECK(strcmp(results(&b), "[0 1 2 3]") == 0);
    end(&b);
}

/* Item n becomes n results, given one by one, and a last word that gives nothing. */
static void *generate(void *arg) {
    bench *b = arg;
    int32_t stage = spdl_pipeline_stage(b->p, "many");
    spdl_work w = SPDL_WORK_INIT;
    while (spdl_stage_take(b->p, stage, SPDL_FOREVER, &w) == SPDL_OK) {
        spdl_give give = SPDL_GIVE_INIT;
        uint64_t item = w.items[0];
        give.items = &item, give.n_items = 1, give.flags = SPDL_GIVE_MORE;
        for (uint64_t i = 0; i < w.items[0]; i++)
            CHECK_STATUS(spdl_stage_give(b->p, stage, &w, &give), SPDL_OK);
        give.n_items = 0, give.flags = SPDL_GIVE_SKIP;
        CHECK_STATUS(spdl_stage_give(b->p, stage, &w, &give), SPDL_OK);
    }
    return NULL;
}

TEST(a_generator_gives_until_it_says_that_no_more_follows) {
    bench b;
    begin(&b, SOURCE ", " MAP("many", ", \"output\": \"input\", \"concurrency\": 2"));
    b.count = 5;
    put_to_work(&b, "in", 1, count_up);
    for (int i = 0; i < 2; i++) CHECK(pthread_create(&b.threads[b.n_threads++], NULL, generate, &b) == 0);
    CHECK(strcmp(results(&b), "1 2 2 3 3 3 4 4 4 4") == 0);
    end(&b);
}

static void epochs(bench *b, const spdl_work *w, spdl_give *give, uint64_t *items) {
    items[0] = atomic_fetch_add(&b->next, 1);
    give->n_items = 1;
    CHECK(w->epoch == items[0] / 3);
    if (items[0] % 3 == 2) give->flags = SPDL_GIVE_END;
}

TEST(a_continuous_pipeline_says_the_end_of_each_epoch_in_its_place) {
    bench b;
    memset(&b, 0, sizeof b);
    CHECK_STATUS(
        spdl_pipeline_create(
            "{\"continuous\": true, \"stages\": [" SOURCE ", " MAP(
                "a",
                ", \"concurrency\": 3, \"output\": \"input\"") ", {\"name\": \"two\", \"kind\": \"aggregate\", \"n\": 2}]}",
            &b.p),
        SPDL_OK);
    CHECK_STATUS(spdl_pipeline_start(b.p), SPDL_OK);
    put_to_work(&b, "in", 1, epochs);
    put_to_work(&b, "a", 3, pass);
    spdl_work w = SPDL_WORK_INIT;
    for (uint64_t e = 0; e < 50; e++) {
        CHECK_STATUS(get(&b, &w), SPDL_OK);
        CHECK(w.epoch == e && w.n_items == 2 && w.items[0] == 3 * e && w.items[1] == 3 * e + 1);
        CHECK_STATUS(get(&b, &w), SPDL_OK);
        CHECK(w.epoch == e && w.n_items == 1 && w.items[0] == 3 * e + 2);
        CHECK_STATUS(get(&b, &w), SPDL_END_EPOCH);
    }
    end(&b);
}

static void choose(bench *b, const spdl_work *w, spdl_give *give, uint64_t *items) {
    pass(b, w, give, items);
    give->path = (int32_t)(w->items[0] % 2);
}

static void choose_each(bench *b, const spdl_work *w, spdl_give *give, uint64_t *items) {
    pass(b, w, give, items);
    int32_t *paths = (int32_t *)items; /* of the caller's room: the items given are the work's own */
    for (uint32_t i = 0; i < w->n_items; i++) paths[i] = (int32_t)(w->items[i] % 2);
    give->paths = paths;
}

static void hundreds(bench *b, const spdl_work *w, spdl_give *give, uint64_t *items) {
    pass(b, w, give, items);
    for (uint32_t i = 0; i < w->n_items; i++) items[i] = w->items[i] * 100;
    give->items = items;
}

#define PATHS "\"paths\": [[" MAP("even", "") "], [" MAP("odd", ", \"concurrency\": 2") "]]}"

TEST(a_router_sends_each_item_down_its_path) {
    bench b;
    begin(&b, SOURCE ", {\"name\": \"router\", \"kind\": \"variants\", \"output\": \"input\", " PATHS);
    b.count = 7;
    put_to_work(&b, "in", 1, count_up);
    put_to_work(&b, "router", 1, choose);
    put_to_work(&b, "even", 1, pass);
    put_to_work(&b, "odd", 2, hundreds);
    CHECK(strcmp(results(&b), "0 100 2 300 4 500 6") == 0);
    end(&b);
}

TEST(a_router_of_lists_sends_each_element_down_its_path_and_the_list_comes_back) {
    bench b;
    begin(&b, SOURCE ", {\"name\": \"four\", \"kind\": \"aggregate\", \"n\": 4}, "
                     "{\"name\": \"router\", \"kind\": \"variants\", \"batched\": true, " PATHS);
    b.count = 10;
    put_to_work(&b, "in", 1, count_up);
    put_to_work(&b, "router", 1, choose_each);
    put_to_work(&b, "even", 1, pass);
    put_to_work(&b, "odd", 2, hundreds);
    CHECK(strcmp(results(&b), "[0 100 2 300] [4 500 6 700] [8 900]") == 0);
    end(&b);
}

TEST(inputs_are_merged_by_turns) {
    bench b;
    begin(&b, "{\"name\": \"both\", \"kind\": \"merge\", \"policy\": \"round_robin\", \"inputs\": "
              "[[" SOURCE "], [{\"name\": \"in2\", \"kind\": \"source\"}, " MAP("odd", "") "]]}");
    b.count = 100;
    put_to_work(&b, "in", 1, count_up);
    put_to_work(&b, "in2", 1, count_up); /* the two share one count */
    put_to_work(&b, "odd", 1, pass);
    spdl_work w = SPDL_WORK_INIT;
    uint64_t n = 0, sum = 0;
    for (; get(&b, &w) == SPDL_OK; n++) sum += w.items[0];
    CHECK(n == 100 && sum == 4950);
    end(&b);
}

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

/* Go's own descriptors come with its first timer, and stay: before the first test counts. */
__attribute__((constructor)) static void load_engine(void) {
    spdl_pipeline *p;
    spdl_work w = SPDL_WORK_INIT;
    if (spdl_pipeline_create("{\"stages\": [" SOURCE "]}", &p) != SPDL_OK) {
        fprintf(stderr, "%s\n", spdl_last_error());
        exit(1);
    }
    spdl_pipeline_start(p);
    spdl_pipeline_get(p, 10000000, &w);
    spdl_pipeline_stop(p);
    spdl_pipeline_wait(p, SPDL_FOREVER);
    spdl_pipeline_free(p);
}
