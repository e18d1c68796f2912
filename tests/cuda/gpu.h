/* gpu.h - what the tests of the consumer's GPU half share: the fake driver beside the one that libspdl loaded, a ring of the stand-in, a gate
 * that holds streams up, and a process of one's own for what must come before the driver is loaded.
 */
#ifndef TEST_GPU_H
#define TEST_GPU_H

#include "../capi/test.h"
#include "fake.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern cuda_driver cu;

/* Start the fake with these settings, "NAME=VALUE" separated by spaces, on top of the defaults. */
void gpu_start(const char *settings);
/* Shut and open the gate: while it is shut, streams stand still. */
void gpu_shut(void);
void gpu_open(void);
/* A stream, and device memory, of device 0's primary context, which is current from here to gpu_end. */
cu_stream gpu_begin(size_t bytes, cu_address *memory);
void gpu_end(cu_stream stream, cu_address memory);
/* Begin to capture a stream into a graph, CU_CAPTURE_*; and end it: what the driver says then. */
void gpu_capture(cu_stream stream, int mode);
cu_result gpu_end_capture(cu_stream stream);
/* The driver has ended, and the process is about to: for a process of its own. */
void gpu_deinit(void);
/* What the fake counts now. */
const fake_stats *gpu_stats(void);
/* True in a process of its own with these settings. False in the caller, once that process has passed. */
bool gpu_alone(const char *test, const char *settings);

static inline spdl_batch next_batch(spdl_reader *r) {
    spdl_batch b = SPDL_BATCH_INIT;
    CHECK_STATUS(spdl_acquire(r, SPDL_FOREVER, &b), SPDL_OK);
    return b;
}

/* One that is published for it. */
static inline spdl_batch new_batch(standin *s, spdl_reader *r) {
    CHECK(standin_publish(s, 0, false) >= 0);
    return next_batch(r);
}

static inline spdl_tensor tensor_of(spdl_reader *r, const spdl_batch *b, uint32_t i) {
    spdl_tensor t = SPDL_TENSOR_INIT;
    CHECK_STATUS(spdl_batch_tensor(r, b, i, &t), SPDL_OK);
    return t;
}

static inline uint32_t state_of(standin *s, uint32_t slot) {
    return SPDL_L_STATE(__atomic_load_n(&standin_word(s, slot)->word, __ATOMIC_ACQUIRE));
}

#endif
