/* waiter.c - NAME GROUP: attach, say "waiting", take what comes, and when the wait ends in an error print the status's name,
 * the CLOCK_MONOTONIC time in nanoseconds, whether a batch that was taken before and stays leased is still readable, and the
 * longest time in nanoseconds that libspdl asked to sleep at once. */
#define _GNU_SOURCE
#include <spdl.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

static int64_t longest;

static int64_t nanoseconds(const struct timespec *t) { return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec; }

/* Stands before libc's for libspdl's calls of it: its sleeps are futex calls. */
long syscall(long number, ...) {
    static long (*real)(long, ...);
    va_list more;
    va_start(more, number);
    long a = va_arg(more, long), b = va_arg(more, long), c = va_arg(more, long);
    long d = va_arg(more, long), e = va_arg(more, long), f = va_arg(more, long);
    va_end(more);
    if (!real) real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    if (number == SYS_futex && (b & FUTEX_CMD_MASK) == FUTEX_WAIT) {
        int64_t ns = d ? nanoseconds((const struct timespec *)d) : INT64_MAX;
        if (ns > longest) longest = ns;
    }
    return real(number, a, b, c, d, e, f);
}

int main(int argc, char **argv) {
    spdl_attach_opts opts = SPDL_ATTACH_OPTS_INIT;
    opts.group = argc > 2 ? argv[2] : NULL;
    opts.flags = SPDL_ATTACH_HANDOFF; /* one batch stays held while this thread waits */
    spdl_reader *reader;
    if (argc < 2 || spdl_attach(argv[1], &opts, &reader) != SPDL_OK) {
        fprintf(stderr, "waiter: %s\n", spdl_last_error());
        return 1;
    }
    spdl_batch batch = SPDL_BATCH_INIT, next = SPDL_BATCH_INIT;
    if (spdl_acquire(reader, SPDL_FOREVER, &batch) != SPDL_OK) return 1;
    puts("waiting");
    fflush(stdout);
    spdl_status s;
    while ((s = spdl_acquire(reader, SPDL_FOREVER, &next)) >= SPDL_OK)
        if (s == SPDL_OK) spdl_release(reader, &next);
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    spdl_tensor x = SPDL_TENSOR_INIT;
    int readable =
        spdl_batch_tensor(reader, &batch, 0, &x) == SPDL_OK && memcmp(x.data, &batch.ticket, 8) == 0;
    printf("%s %" PRId64 " %s %" PRId64 "\n", spdl_status_name(s), nanoseconds(&t),
           readable ? "readable" : "gone", longest);
    spdl_release(reader, &batch);
    spdl_detach(reader);
    return 0;
}
