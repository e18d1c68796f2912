/* gpu.c - see gpu.h. */
#include "gpu.h"

#include <stdio.h>
#include <string.h>

static int said(gpu *g, const char *call, cu_result r, char *words) {
    char text[GPU_WORDS - 40];
    if (r != CU_OK) snprintf(words, GPU_WORDS, "%s: %s", call, sp_cuda_error(&g->d, r, text, sizeof text));
    return r;
}

#define TRY(call, ...)                                          \
    do {                                                        \
        cu_result r_ = g->d.call(__VA_ARGS__);                  \
        if (r_ != CU_OK) return said(g, "cu" #call, r_, words); \
    } while (0)

static int find(gpu *g, int ordinal, char *words) {
    int version = 0, devices = 0;
    TRY(DriverGetVersion, &version);
    if (version < CUDA_OLDEST) {
        snprintf(words, GPU_WORDS, "the driver knows CUDA %d.%d, want %d.%d or newer; update the driver",
                 version / 1000, version % 1000 / 10, CUDA_OLDEST / 1000, CUDA_OLDEST % 1000 / 10);
        return GPU_TOO_OLD;
    }
    TRY(DeviceGetCount, &devices);
    if (ordinal < 0 || ordinal >= devices) {
        snprintf(words, GPU_WORDS, "no device %d: %d are here; see nvidia-smi and CUDA_VISIBLE_DEVICES",
                 ordinal, devices);
        return GPU_NO_SUCH;
    }
    TRY(DeviceGet, &g->device, ordinal);
    return CU_OK;
}

/* A device for one process at a time would be ours, and no trainer's: better that we do without. Drivers that do not know about MPS may have it. */
static int check_shared(const gpu *g, int ordinal, char *words) {
    int mode = CU_COMPUTE_DEFAULT, shared = 1;
    if (g->d.DeviceGetAttribute(&mode, CU_ATTR_COMPUTE_MODE, g->device) != CU_OK) return CU_OK;
    if (mode == CU_COMPUTE_EXCLUSIVE && g->d.DeviceGetAttribute(&shared, CU_ATTR_MPS, g->device) != CU_OK)
        shared = 1;
    if (mode == CU_COMPUTE_PROHIBITED) shared = 0;
    if (shared) return CU_OK;
    snprintf(
        words, GPU_WORDS,
        "device %d is for %s (its compute mode), and uploads are a process of their own; nvidia-smi -c DEFAULT, or start MPS",
        ordinal, mode == CU_COMPUTE_PROHIBITED ? "nobody" : "one process at a time");
    return GPU_NOT_SHARED;
}

int gpu_open(gpu *g, int ordinal, char *words) {
    char why[GPU_WORDS - 64];
    cu_uuid uuid;
    memset(g, 0, sizeof *g);
    switch (sp_cuda_load(&g->d, why, sizeof why)) {
    case CUDA_NO_LIBRARY:
        snprintf(words, GPU_WORDS, "no CUDA driver: %s; install NVIDIA's driver", why);
        return GPU_NO_LIBRARY;
    case CUDA_TOO_OLD:
        snprintf(words, GPU_WORDS, "the driver is too old: %s; update it", why);
        return GPU_TOO_OLD;
    }
    TRY(Init, 0);
    int r = find(g, ordinal, words);
    if (r == CU_OK) r = check_shared(g, ordinal, words);
    if (r != CU_OK) return r;
    TRY(DeviceGetUuid, &uuid, g->device);
    memcpy(g->uuid, uuid.bytes, sizeof g->uuid);
    TRY(DevicePrimaryCtxSetFlags, g->device, CU_CTX_BLOCKING_SYNC); /* the processors are for decoding */
    TRY(DevicePrimaryCtxRetain, &g->context, g->device);
    TRY(CtxSetCurrent, g->context);
    return CU_OK;
}

/* The context goes, and with it whatever was made in it. */
int gpu_close(gpu *g, char *words) {
    if (!g->context) return CU_OK;
    g->context = NULL;
    TRY(DevicePrimaryCtxRelease, g->device);
    return CU_OK;
}

int gpu_current(gpu *g, char *words) {
    TRY(CtxSetCurrent, g->context);
    return CU_OK;
}

int gpu_alloc(gpu *g, uint64_t bytes, cu_address *at, char *words) {
    TRY(CtxSetCurrent, g->context);
    TRY(MemAlloc, at, bytes);
    return CU_OK;
}

int gpu_host_alloc(gpu *g, uint64_t bytes, void **at, char *words) {
    TRY(CtxSetCurrent, g->context);
    TRY(MemHostAlloc, at, bytes, CU_HOST_PORTABLE);
    return CU_OK;
}

int gpu_export(gpu *g, cu_address at, uint8_t handle[64], char *words) {
    cu_handle h;
    TRY(CtxSetCurrent, g->context);
    TRY(IpcGetMemHandle, &h, at);
    memcpy(handle, h.bytes, sizeof h.bytes);
    return CU_OK;
}

int gpu_pin(gpu *g, void *host, uint64_t bytes, char *words) {
    TRY(CtxSetCurrent, g->context);
    TRY(MemHostRegister, host, bytes, CU_REGISTER_PORTABLE);
    return CU_OK;
}

int gpu_unpin(gpu *g, void *host, char *words) {
    TRY(CtxSetCurrent, g->context);
    TRY(MemHostUnregister, host);
    return CU_OK;
}

int gpu_stream(gpu *g, cu_stream *out, char *words) {
    TRY(CtxSetCurrent, g->context);
    TRY(StreamCreate, out, CU_STREAM_NON_BLOCKING);
    return CU_OK;
}

int gpu_event(gpu *g, cu_event *out, uint8_t handle[64], char *words) {
    cu_handle h;
    TRY(CtxSetCurrent, g->context);
    TRY(EventCreate, out, CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
    TRY(IpcGetEventHandle, &h, *out);
    memcpy(handle, h.bytes, sizeof h.bytes);
    return CU_OK;
}

int gpu_module(gpu *g, const char *image, cu_module *out, char *words) {
    TRY(CtxSetCurrent, g->context);
    TRY(ModuleLoadData, out, image);
    return CU_OK;
}

int gpu_kernel(gpu *g, cu_module m, const char *entry, cu_function *out, char *words) {
    TRY(CtxSetCurrent, g->context);
    TRY(ModuleGetFunction, out, m, entry);
    return CU_OK;
}

int gpu_copy(gpu *g, cu_address to, const void *from, uint64_t bytes, cu_stream s, char *words) {
    TRY(CtxSetCurrent, g->context);
    TRY(MemcpyHtoDAsync, to, from, bytes, s);
    return CU_OK;
}

int gpu_finish(gpu *g, const finish *f, cu_address to, cu_address from, uint32_t rows, uint32_t plane,
               cu_stream s, char *words) {
    enum { BLOCK = 256 };
    finish mine = *f;
    void *params[] = {&to,
                      &from,
                      &plane,
                      &mine.channels,
                      &mine.scale[0],
                      &mine.scale[1],
                      &mine.scale[2],
                      &mine.scale[3],
                      &mine.bias[0],
                      &mine.bias[1],
                      &mine.bias[2],
                      &mine.bias[3]};
    TRY(CtxSetCurrent, g->context);
    TRY(LaunchKernel, mine.kernel, (plane + BLOCK - 1) / BLOCK, rows, 1, BLOCK, 1, 1, 0, s, params, NULL);
    return CU_OK;
}

int gpu_clear(gpu *g, cu_address to, uint64_t bytes, cu_stream s, char *words) {
    TRY(CtxSetCurrent, g->context);
    TRY(MemsetD8Async, to, 0, bytes, s);
    return CU_OK;
}

uint64_t gpu_table_bytes(const resize *z, uint32_t n, int taps) {
    return (uint64_t)n * (uint64_t)(z->w + z->h) * (uint64_t)(2 + taps) * sizeof(int);
}

int gpu_resize(gpu *g, const resize *z, cu_address to, cu_address places, cu_address table, uint32_t n,
               int taps, cu_stream s, char *words) {
    enum { BLOCK = 128 };
    resize mine = *z;
    unsigned axes = (unsigned)(z->w + z->h), pixels = (unsigned)(z->w * z->h);
    void *weights[] = {&places, &table, &mine.w, &mine.h, &taps, &mine.bicubic};
    void *rows[] = {&places, &table, &to, &mine.w, &mine.h, &taps};
    TRY(CtxSetCurrent, g->context);
    TRY(LaunchKernel, mine.weights, (axes + BLOCK - 1) / BLOCK, n, 1, BLOCK, 1, 1, 0, s, weights, NULL);
    TRY(LaunchKernel, mine.rows, (pixels + BLOCK - 1) / BLOCK, n, 1, BLOCK, 1, 1, 0, s, rows, NULL);
    return CU_OK;
}

int gpu_record(gpu *g, cu_event e, cu_stream s, char *words) {
    TRY(CtxSetCurrent, g->context);
    TRY(EventRecord, e, s);
    return CU_OK;
}

int gpu_wait(gpu *g, cu_event e, char *words) {
    TRY(CtxSetCurrent, g->context);
    TRY(EventSynchronize, e);
    return CU_OK;
}

int gpu_drain(gpu *g, cu_stream s, char *words) {
    TRY(CtxSetCurrent, g->context);
    TRY(StreamSynchronize, s);
    return CU_OK;
}
