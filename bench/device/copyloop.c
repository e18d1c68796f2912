/* copyloop.c - the limit of uploads: copies of BYTES from pinned memory to the device, one after the other on each of STREAMS streams, for
 * COPIES copies. Prints bytes a second. What spdl-device does besides is what it is compared with this for.
 *
 *   copyloop BYTES STREAMS COPIES [DEVICE]
 */
#define _GNU_SOURCE
#include "../../tests/cuda/program.h"

#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { MAX_STREAMS = 16 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: copyloop BYTES STREAMS COPIES [DEVICE]\n");
        return 2;
    }
    size_t bytes = strtoull(argv[1], NULL, 10);
    int streams = atoi(argv[2]), copies = atoi(argv[3]);
    if (bytes == 0 || streams < 1 || streams > MAX_STREAMS || copies < streams) {
        fprintf(stderr, "copyloop: want bytes above 0, 1 to %d streams and at least as many copies\n",
                MAX_STREAMS);
        return 2;
    }
    start_driver(argc > 4 ? atoi(argv[4]) : 0);

    size_t all = bytes * (size_t)streams;
    void *host = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (host == MAP_FAILED) return 1;
    memset(host, 1, all);
    MUST(MemHostRegister(host, all, CU_REGISTER_PORTABLE));
    cu_address on_device;
    cu_stream stream[MAX_STREAMS];
    MUST(MemAlloc(&on_device, all));
    for (int i = 0; i < streams; i++) MUST(StreamCreate(&stream[i], CU_STREAM_NON_BLOCKING));

    double began = 0;
    for (int i = -streams; i < copies; i++) { /* one of each stream to warm up */
        if (i == 0) {
            for (int k = 0; k < streams; k++) MUST(StreamSynchronize(stream[k]));
            began = now();
        }
        size_t k = (size_t)((i + streams) % streams);
        MUST(MemcpyHtoDAsync(on_device + k * bytes, (char *)host + k * bytes, bytes, stream[k]));
    }
    for (int k = 0; k < streams; k++) MUST(StreamSynchronize(stream[k]));
    double took = now() - began;
    printf("{\"bytes\": %zu, \"streams\": %d, \"copies\": %d, \"seconds\": %.6f, \"bytes_per_s\": %.0f}\n",
           bytes, streams, copies, took, (double)bytes * copies / took);
    return 0;
}
