/* consumer.c - a consumer that a test kills: consume PATH until the epoch ends, one line per completed
 * ticket: "ticket attempts". Linked with the fault points. */
#include "standin.h"

#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    spdl_reader *r;
    spdl_batch b = SPDL_BATCH_INIT;
    spdl_attach_opts o = SPDL_ATTACH_OPTS_INIT;
    o.max_leases = 2;
    if (argc < 2 || spdl_attach(argv[1], &o, &r) != SPDL_OK) return 1;
    spdl_status s;
    while ((s = spdl_acquire(r, SPDL_FOREVER, &b)) == SPDL_OK) {
        spdl_tensor t = SPDL_TENSOR_INIT;
        if (spdl_batch_tensor(r, &b, 0, &t) != SPDL_OK || !standin_image_is(t.data, b.rows, b.ticket))
            return 3;
        char line[64];
        int n = snprintf(line, sizeof line, "%llu %u\n", (unsigned long long)b.ticket, b.attempts);
        if (b.ticket % 2 && spdl_done(r, &b) != SPDL_OK) return 4;
        if (spdl_release(r, &b) != SPDL_OK) return 5;
        if (write(1, line, (size_t)n) != n) return 6;
    }
    spdl_detach(r);
    return s == SPDL_END_EPOCH ? 0 : 7;
}
