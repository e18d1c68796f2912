/* pipeline.h - a pipeline of the host's stages and its threads, for the tests of those: test_pipeline*.c. */
#ifndef SPDL_TEST_PIPELINE_H
#define SPDL_TEST_PIPELINE_H

#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_THREADS 16

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

static inline void *work(void *arg) {
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

static inline void put_to_work(bench *b, const char *stage, int threads, op op) {
    for (int i = 0; i < threads; i++) {
        worker *w = malloc(sizeof *w);
        *w = (worker){b, spdl_pipeline_stage(b->p, stage), op};
        CHECK(w->stage >= 0 && b->n_threads < MAX_THREADS);
        CHECK(pthread_create(&b->threads[b->n_threads++], NULL, work, w) == 0);
    }
}

/* A pipeline of these stages; more: further keys of the whole. */
static inline void begin_with(bench *b, const char *more, const char *stages) {
    char text[4096];
    memset(b, 0, sizeof *b);
    snprintf(text, sizeof text, "{\"name\": \"test\"%s, \"stages\": [%s]}", more, stages);
    CHECK_STATUS(spdl_pipeline_create(text, &b->p), SPDL_OK);
    CHECK_STATUS(spdl_pipeline_start(b->p), SPDL_OK);
}

static inline void begin(bench *b, const char *stages) { begin_with(b, "", stages); }

static inline void join_threads(bench *b) {
    for (int i = 0; i < b->n_threads; i++) pthread_join(b->threads[i], NULL);
    b->n_threads = 0;
}

/* End it, whatever state it is in; what it drops is handed to drop, which may be NULL. */
static inline void end_with(bench *b, void (*drop)(bench *, uint64_t)) {
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

static inline void end(bench *b) { end_with(b, NULL); }

static inline spdl_status get(bench *b, spdl_work *w) { return spdl_pipeline_get(b->p, 20000000000, w); }

/* Write the results to the end of the data as text: "1 2 [3 4]". */
static inline const char *results(bench *b) {
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
static inline void count_up(bench *b, const spdl_work *w, spdl_give *give, uint64_t *items) {
    CHECK(w->kind == SPDL_WORK_SOURCE && w->n_items == 0);
    items[0] = atomic_fetch_add(&b->next, 1);
    give->n_items = items[0] < b->count;
    if (items[0] >= b->count) give->flags = SPDL_GIVE_END;
}

static inline void pass(bench *b, const spdl_work *w, spdl_give *give, uint64_t *items) {
    (void)items;
    atomic_fetch_add(&b->seen, 1);
    give->items = w->items, give->n_items = w->n_items;
    if (w->flags & SPDL_WORK_LIST) give->flags = SPDL_GIVE_LIST;
}

static inline void square(bench *b, const spdl_work *w, spdl_give *give, uint64_t *items) {
    (void)b;
    usleep((useconds_t)(w->items[0] * 7919 % 200)); /* so that they overtake each other */
    items[0] = w->items[0] * w->items[0];
    give->n_items = 1;
}

#define SOURCE "{\"name\": \"in\", \"kind\": \"source\"}"
#define MAP(name, more) "{\"name\": \"" name "\", \"kind\": \"map\"" more "}"

#endif
