/* handoff.c - what acquire + release of a ready batch cost, on one core, against the stand-in engine.
 *
 * Each round publishes 62 batches (not timed), then times the 62 pairs. Prints the median and quartiles
 * over the rounds, in nanoseconds per pair, beside two reads of the clock, which every pair contains. */
#include "../tests/capi/standin.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 2001
#define PAIRS 62

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const char *what, double *ns) {
    qsort(ns, ROUNDS, sizeof *ns, compare);
    printf("%-18s median %6.1f ns, quartiles %6.1f %6.1f\n", what, ns[ROUNDS / 2], ns[ROUNDS / 4],
           ns[3 * ROUNDS / 4]);
}

int main(void) {
    static double pair[ROUNDS], clock_[ROUNDS];
    standin_opts o = STANDIN_OPTS;
    o.slots = 64;
    standin *s = standin_make(o);
    standin_serve(s, -1);
    spdl_reader *r;
    if (spdl_attach(s->path, NULL, &r) != SPDL_OK) {
        fprintf(stderr, "%s\n", spdl_last_error());
        return 1;
    }
    spdl_batch b = SPDL_BATCH_INIT;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < PAIRS; i++) standin_publish(s, 0, false);
        double start = now_ns();
        for (int i = 0; i < PAIRS; i++)
            if (spdl_acquire(r, 0, &b) != SPDL_OK || spdl_release(r, &b) != SPDL_OK) return 1;
        pair[round] = (now_ns() - start) / PAIRS;
        start = now_ns();
        for (int i = 0; i < PAIRS; i++) (void)(now_ns() + now_ns());
        clock_[round] = (now_ns() - start) / PAIRS;
    }
    report("acquire + release", pair);
    report("two clock reads", clock_);
    spdl_detach(r);
    standin_free(s);
    return 0;
}
