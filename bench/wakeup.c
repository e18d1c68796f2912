/* wakeup.c - how long after its publication a sleeping consumer of another process has its batch, beside the bare futex.
 *
 *     wakeup NAME N GAP_US [PRODUCER_CPU CONSUMER_CPU]
 *
 * Takes N batches that it had to wait for from the ring NAME, whose producer leaves GAP_US between them, and prints the time from
 * the descriptor's published_ns, which the engine reads from the clock before it makes the batch visible, to spdl_acquire's return.
 * Then a child process sleeps N times in FUTEX_WAIT on shared memory while its parent leaves the same gap, stamps the clock, changes
 * the word and calls FUTEX_WAKE: the floor of any such hand-off on this machine now. Both times begin in the waker, before the first
 * store that the sleeper looks for, and end in the sleeper, back from its call.
 *
 * With CPUs the sleepers of both stay on the one and the bare waker on the other, where the ring's producer is to be put too. Where
 * waker and sleeper share a CPU, as the kernel likes to have them, a hand-off costs a third of one between CPUs: a comparison of
 * two that were placed differently says nothing. */
#define _GNU_SOURCE
#include <spdl.h>

#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct shared {
    _Atomic uint32_t word;
    _Atomic uint32_t ready; /* 1 + the round the child is about to wait for */
    _Atomic uint64_t stamp_ns;
    double delay_us[1 << 16];
} shared;

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void stay_on(int cpu) {
    cpu_set_t set;
    if (cpu < 0) return;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) == 0) return;
    perror("wakeup: sched_setaffinity");
    exit(1);
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const char *what, double *delays, int n) {
    qsort(delays, (size_t)n, sizeof *delays, compare);
    printf("%-22s p50 %8.2f us, p90 %8.2f us, p99 %8.2f us of %d\n", what, delays[n / 2], delays[n * 9 / 10],
           delays[n * 99 / 100], n);
}

static int ring(const char *name, double *delays, int n) {
    spdl_attach_opts opts = SPDL_ATTACH_OPTS_INIT;
    opts.max_leases = 1;
    spdl_reader *reader;
    if (spdl_attach(name, &opts, &reader) != SPDL_OK) return 1;
    spdl_batch batch = SPDL_BATCH_INIT;
    int seen = 0, warm = 20;
    while (seen < n) {
        uint64_t asked = now_ns();
        spdl_status status = spdl_acquire(reader, SPDL_FOREVER, &batch);
        if (status == SPDL_END_EPOCH) continue;
        if (status != SPDL_OK) break;
        double us = (double)(now_ns() - batch.published_ns) / 1000;
        spdl_release(reader, &batch);
        if (batch.published_ns < asked) continue; /* it lay ready */
        if (warm > 0)
            warm--;
        else
            delays[seen++] = us;
    }
    spdl_detach(reader);
    return seen < n;
}

static void sleeper(shared *s, int n) {
    for (int i = 0; i < n; i++) {
        atomic_store(&s->ready, (uint32_t)i + 1);
        while (atomic_load(&s->word) == (uint32_t)i)
            syscall(SYS_futex, &s->word, FUTEX_WAIT, (uint32_t)i, NULL, NULL, 0);
        s->delay_us[i] = (double)(now_ns() - atomic_load(&s->stamp_ns)) / 1000;
    }
    _exit(0);
}

static int bare_futex(shared *s, int n, long gap_us, int waker_cpu) {
    pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) sleeper(s, n); /* where this process has stayed so far */
    stay_on(waker_cpu);
    for (int i = 0; i < n; i++) {
        while (atomic_load(&s->ready) != (uint32_t)i + 1)
            if (gap_us > 0) usleep(50);
        if (gap_us > 0) nanosleep(&(struct timespec){0, gap_us * 1000}, NULL);
        atomic_store(&s->stamp_ns, now_ns());
        atomic_store(&s->word, (uint32_t)i + 1);
        syscall(SYS_futex, &s->word, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
    int status;
    return waitpid(child, &status, 0) != child || status != 0;
}

int main(int argc, char **argv) {
    int n = argc == 4 || argc == 6 ? atoi(argv[2]) : 0;
    long gap_us = n > 0 ? atol(argv[3]) : -1;
    int waker_cpu = argc == 6 ? atoi(argv[4]) : -1, sleeper_cpu = argc == 6 ? atoi(argv[5]) : -1;
    shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (n < 1 || n > 1 << 16 || gap_us < 0 || gap_us > 900000 || s == MAP_FAILED) {
        fprintf(
            stderr,
            "usage: wakeup NAME N GAP_US [PRODUCER_CPU CONSUMER_CPU]   (N at most 65536, GAP_US at most 900000)\n");
        return 2;
    }
    double *delays = malloc((size_t)n * sizeof *delays);
    if (!delays) return 1;
    stay_on(sleeper_cpu);
    if (ring(argv[1], delays, n) != 0) {
        fprintf(stderr, "wakeup: %s\n", spdl_last_error());
        return 1;
    }
    report("publish to acquire", delays, n);
    if (bare_futex(s, n, gap_us, waker_cpu) != 0) return 1;
    report("bare futex", s->delay_us, n);
    free(delays);
    return 0;
}
