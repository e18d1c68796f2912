/* consumer.c - a consumer to be killed. NAME GROUP LOG: attach, take batches until the data end, check every byte of
 * the pattern, and write to LOG what happened, each line in one write:
 *
 *     A TICKET ATTEMPTS     before the batch is looked at
 *     D TICKET              after it was done
 *
 * SPDL_FAULT names the point at which libspdl (its fault build) kills or fails this process. With SPDL_TEST_POLL it sleeps on the
 * event descriptor alone, and fails if nothing wakes it in a minute. */
#define _GNU_SOURCE
#include <spdl.h>

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fail(const char *what) {
    fprintf(stderr, "consumer: %s: %s\n", what, spdl_last_error());
    exit(1);
}

static void note(int log, char kind, uint64_t ticket, uint32_t attempts) {
    char line[64];
    int n = snprintf(line, sizeof line, "%c %" PRIu64 " %u\n", kind, ticket, attempts);
    if (write(log, line, (size_t)n) != n) fail("log");
}

/* Every 8 bytes of tensor x are the ticket. */
static int pattern_holds(const spdl_tensor *t, uint64_t ticket) {
    for (uint64_t i = 0; i + 8 <= t->bytes; i += 8)
        if (memcmp((const char *)t->data + i, &ticket, 8) != 0) return 0;
    return t->bytes > 0;
}

static spdl_status polled(spdl_reader *r, spdl_batch *out) {
    for (;;) {
        spdl_status s = spdl_acquire(r, 0, out);
        if (s != SPDL_TIMEOUT) return s;
        struct pollfd p = {spdl_event_fd(r), POLLIN, 0};
        if (poll(&p, 1, 60000) != 1) fail("nothing woke it");
    }
}

int main(int argc, char **argv) {
    bool polls = getenv("SPDL_TEST_POLL") != NULL;
    if (argc != 4) return 2;
    int log = open(argv[3], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    spdl_attach_opts opts = SPDL_ATTACH_OPTS_INIT;
    opts.group = argv[2];
    opts.max_leases = 2;
    spdl_reader *reader;
    spdl_status s;
    do s = spdl_attach(argv[1], &opts, &reader);
    while (s == SPDL_E_ENGINE_LOST);     /* it died before it had answered */
    if (s == SPDL_E_NOT_FOUND) return 3; /* too late: the others had everything */
    if (log < 0 || s != SPDL_OK) fail("attach");
    spdl_batch batch = SPDL_BATCH_INIT;
    for (;;) {
        s = polls ? polled(reader, &batch) : spdl_acquire(reader, SPDL_FOREVER, &batch);
        if (s == SPDL_END_EPOCH) continue;
        if (s != SPDL_OK) break;
        note(log, 'A', batch.ticket, batch.attempts);
        spdl_tensor x = SPDL_TENSOR_INIT;
        if (spdl_batch_tensor(reader, &batch, 0, &x) != SPDL_OK || !pattern_holds(&x, batch.ticket))
            fail("pattern");
        if (batch.ticket % 3 != 0 && spdl_done(reader, &batch) != SPDL_OK) fail("done");
        if (spdl_release(reader, &batch) != SPDL_OK) fail("release");
        note(log, 'D', batch.ticket, batch.attempts);
    }
    if (s != SPDL_END_DATA) fail("acquire");
    spdl_detach(reader);
    return 0;
}
