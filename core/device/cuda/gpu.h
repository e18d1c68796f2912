/* gpu.h - one GPU through the driver's own library, for Go: memory and events that other processes may open, streams, copies, and
 * kernels that finish pictures. Every function makes the device's context current on the calling thread, so any thread may call
 * any of them; each returns the driver's result, and leaves its words in the caller's buffer.
 */
#ifndef SPDL_DEVICE_GPU_H
#define SPDL_DEVICE_GPU_H

#include "../../../capi/cuda/driver.h"
#include "place.h"

enum { GPU_WORDS = 256, GPU_CHANNELS = 4 };

/* What gpu_open returns beside the driver's results. */
enum { GPU_NO_LIBRARY = -1, GPU_TOO_OLD = -2, GPU_NO_SUCH = -3, GPU_NOT_SHARED = -4 };

typedef struct gpu {
    cuda_driver d;
    cu_device device;
    cu_context context;
    uint8_t uuid[16];
} gpu;

typedef struct finish {
    cu_function kernel;
    uint32_t channels;
    float scale[GPU_CHANNELS], bias[GPU_CHANNELS];
} finish;

int gpu_open(gpu *g, int ordinal, char *words);
int gpu_close(gpu *g, char *words);
/* Make the device's context this thread's, for calls of other libraries. */
int gpu_current(gpu *g, char *words);
int gpu_alloc(gpu *g, uint64_t bytes, cu_address *at, char *words);
/* Pinned memory of the host. */
int gpu_host_alloc(gpu *g, uint64_t bytes, void **at, char *words);
int gpu_export(gpu *g, cu_address at, uint8_t handle[64], char *words);
int gpu_pin(gpu *g, void *host, uint64_t bytes, char *words);
int gpu_unpin(gpu *g, void *host, char *words);
int gpu_stream(gpu *g, cu_stream *out, char *words);
/* An event that other processes may wait for; waiting for it here sleeps. */
int gpu_event(gpu *g, cu_event *out, uint8_t handle[64], char *words);
int gpu_module(gpu *g, const char *image, cu_module *out, char *words);
int gpu_kernel(gpu *g, cu_module m, const char *entry, cu_function *out, char *words);

int gpu_copy(gpu *g, cu_address to, const void *from, uint64_t bytes, cu_stream s, char *words);
/* rows pictures of plane pixels: [rows, plane, channels] of bytes at from, [rows, channels, plane] at to. */
int gpu_finish(gpu *g, const finish *f, cu_address to, cu_address from, uint32_t rows, uint32_t plane,
               cu_stream s, char *words);
int gpu_clear(gpu *g, cu_address to, uint64_t bytes, cu_stream s, char *words); /* zeros */

/* Rows of decoded pictures: see resize.cu. */
typedef struct resize {
    cu_function weights, rows;
    int w, h, bicubic;
} resize;

/* n places at `places` on the device become rows of to, [rows, h, w, 3]; table has room for gpu_table_bytes(). */
int gpu_resize(gpu *g, const resize *z, cu_address to, cu_address places, cu_address table, uint32_t n,
               int taps, cu_stream s, char *words);
uint64_t gpu_table_bytes(const resize *z, uint32_t n, int taps);

int gpu_record(gpu *g, cu_event e, cu_stream s, char *words);
int gpu_wait(gpu *g, cu_event e, char *words);
/* Sleep until all of the stream is done. */
int gpu_drain(gpu *g, cu_stream s, char *words);

#endif
