/* waiter.c - NAME GROUP: attach, say "waiting", take what comes, and when the wait ends in an error print the status's name and
 * the CLOCK_MONOTONIC time in nanoseconds. A batch taken before stays leased and is read once more at the end. */
#define _GNU_SOURCE
#include <spdl.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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
    printf("%s %" PRId64 " %s\n", spdl_status_name(s), (int64_t)t.tv_sec * 1000000000 + t.tv_nsec,
           readable ? "readable" : "gone");
    spdl_release(reader, &batch);
    spdl_detach(reader);
    return 0;
}
