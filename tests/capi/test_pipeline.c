/* test_pipeline.c - pipelines of the host's stages, through the real libspdl_engine: a program of its own, because Go
 * stays in a process. Items are numbers. */
#include "pipeline.h"

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
