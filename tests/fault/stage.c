/* stage.c - a stage's worker to be killed. NAME GROUP LOG [HALF]: attach and transform every batch's images by a step that
 * may not be left out, done by half or done twice: byte i becomes 3 * itself + i + 1. In the group "first" the batches whose
 * ticket is 6 modulo 7 fail. Each line of LOG is one write:
 *
 *     A GROUP TICKET ATTEMPTS     before the batch is touched
 *     D GROUP TICKET ATTEMPTS     after it was handed on, or failed
 *
 * SPDL_FAULT names the point at which libspdl (its fault build) kills this process; with HALF it kills itself in the
 * middle of its HALF-th batch. After LIMIT batches it detaches in the middle of another; without either it works to the end. An
 * engine that dies before it has answered is asked again. */
#define _GNU_SOURCE
#include <spdl.h>

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIMIT = 25 };

static void die(const char *what) {
    fprintf(stderr, "stage: %s: %s\n", what, spdl_last_error());
    exit(1);
}

static void note(int log, char kind, const char *group, const spdl_batch *b) {
    char line[128];
    int n = snprintf(line, sizeof line, "%c %s %" PRIu64 " %u\n", kind, group, b->ticket, b->attempts);
    if (write(log, line, (size_t)n) != n) die("log");
}

static void transform(uint8_t *pixels, uint64_t from, uint64_t to) {
    for (uint64_t i = from; i < to; i++) pixels[i] = (uint8_t)(3 * pixels[i] + i + 1);
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    const char *group = argv[2];
    int log = open(argv[3], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    long half = argc > 4 ? strtol(argv[4], NULL, 10) : 0, limited = argc > 4 || getenv("SPDL_FAULT");
    spdl_attach_opts opts = SPDL_ATTACH_OPTS_INIT;
    opts.group = group;
    opts.max_leases = 1;
    opts.timeout_ns = 120 * (int64_t)1000000000; /* the engine may be dead, and another one start */
    spdl_reader *reader;
    spdl_status s;
    do s = spdl_attach(argv[1], &opts, &reader);
    while (s == SPDL_E_ENGINE_LOST);
    if (log < 0 || s != SPDL_OK) die("attach");
    spdl_batch batch = SPDL_BATCH_INIT;
    int held = 0;
    for (long n = 1;;) {
        s = spdl_acquire(reader, SPDL_FOREVER, &batch);
        if (s == SPDL_END_EPOCH) continue;
        if (s == SPDL_E_ENGINE_STOPPED) break;
        if (s != SPDL_OK) die("acquire");
        note(log, 'A', group, &batch);
        spdl_tensor image = SPDL_TENSOR_INIT;
        if (spdl_batch_tensor(reader, &batch, 0, &image) != SPDL_OK) die("image");
        transform(image.data, 0, image.bytes / 2);
        if (n == half) raise(SIGKILL);
        if (limited && n++ > LIMIT) {
            held = 1;
            break;
        }
        if (batch.ticket % 7 == 6 && strcmp(group, "first") == 0) {
            if (spdl_fail(reader, &batch, "its number") != SPDL_OK) die("fail");
        } else {
            transform(image.data, image.bytes / 2, image.bytes);
            if (batch.ticket % 3 != 0 && spdl_done(reader, &batch) != SPDL_OK) die("done");
            if (spdl_release(reader, &batch) != SPDL_OK) die("release");
        }
        note(log, 'D', group, &batch);
    }
    spdl_detach(reader);
    if (held && spdl_release(reader, &batch) != SPDL_OK)
        die("release after detach"); /* it is not handed on */
    return 0;
}
