/* program.h - a program on a device: what the driver refuses ends it. _GNU_SOURCE is set. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "../../capi/cuda/driver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static cuda_driver d;

static void must(cu_result e, const char *what) {
    char text[256];
    if (e == CU_OK) return;
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
            sp_cuda_error(&d, e, text, sizeof text));
    exit(1);
}
#define MUST(call) must(d.call, #call)

/* What is allocated to export so many bytes. */
static inline size_t whole_pieces(size_t bytes) {
    return (bytes + CUDA_SHAREABLE - 1) / CUDA_SHAREABLE * CUDA_SHAREABLE;
}

/* Start the driver, and make the primary context of this device current. */
static void start_driver(int ordinal) {
    char why[256];
    cu_context context;
    cu_device device;
    if (sp_cuda_load(&d, why, sizeof why) != CUDA_LOADED) {
        fprintf(stderr, "%s: %s\n", program_invocation_short_name, why);
        exit(3);
    }
    MUST(Init(0));
    MUST(DeviceGet(&device, ordinal));
    MUST(DevicePrimaryCtxRetain(&context, device));
    MUST(CtxSetCurrent(context));
}

#endif
