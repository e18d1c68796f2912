/* fake.h - a CUDA driver without a GPU, for tests: the calls of capi/cuda/driver.h, answered in host memory.
 *
 * build/cuda/libcuda.so.1 stands in for the driver's library: name it in SPDL_CUDA_LIBRARY, or have its directory in
 * LD_LIBRARY_PATH. It has no behaviour of its own beyond what programs may rely on, and is stricter than a real driver where that finds
 * mistakes: registering memory twice, copying outside an allocation, unregistering memory that is not mapped any more, opening one's own IPC handle, one in two contexts, exporting memory whose piece has other memory in it, any call in a forked child, calls without a current context, launches into a stream of another, asking an event while a graph is captured are errors; a copy from memory that is not pinned is
 * counted.
 *
 *   device.c   start, devices, contexts, errors, faults
 *   memory.c   device memory, pinned host memory, handles for other processes
 *   stream.c   streams, events, copies, launches: one thread per stream; streams that are captured into a graph
 *   kernels.c  what our kernels do, in C
 *   ffmpeg.c   what FFmpeg asks of the driver besides, for its decoders on the device
 *   nvcuvid.c, parameters.c, software.c
 *              build/cuda/libnvcuvid.so.1, the library of those decoders: FFmpeg's own decoders stand in for the device's
 *   nvjpeg.c   build/cuda/libnvjpeg.so, nvJPEG: libjpeg stands in for it
 *
 * Device memory is a memfd; a handle of it names the process and the descriptor, so nothing is left in any directory when a process is killed, and
 * memory of a dead process can no longer be opened.
 *
 * Environment, read by the first cuInit and by fake_cuda_reset():
 *
 *   FAKE_CUDA_DEVICES     1; 0: cuInit finds no device
 *   FAKE_CUDA_PART        0; of the device (MIG), which this process sees: another's memory cannot be opened
 *   FAKE_CUDA_MEMORY      bytes of each device, 1 GiB
 *   FAKE_CUDA_VERSION     12040
 *   FAKE_CUDA_READ_ONLY   1; 0: the device cannot pin memory that is mapped read-only
 *   FAKE_CUDA_COMPUTE_MODE, FAKE_CUDA_MPS
 *                         0, 0; what the device says of these attributes: 3 is for one process alone, 2 for none
 *   FAKE_CUDA_LATENCY_US  of every copy and launch, 0
 *   FAKE_CUDA_GATE        a file: as long as it exists, streams stand still
 *   FAKE_CUDA_FAULT       CALL:NTH:RESULT[:sticky], separated by commas: the nth call of CALL (a name of CUDA_CALLS) from now fails; with sticky
 *                         every later call in that context does, too, and its streams stop: the device is lost. CALL may be one of
 *                         libnvcuvid's, too: GetDecoderCaps, CreateDecoder, DecodePicture, MapVideoFrame
 *   FAKE_CUDA_DECODES     codecs that the device decodes, FFmpeg's names with a space around each: " h264 mjpeg vp8 vp9 "
 *   FAKE_CUDA_STATS       a file that the counters are mapped from, for another process to see
 */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include "../../capi/cuda/driver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_API __attribute__((visibility("default")))
#define FAKE_DEVICES 8
#define FAKE_CONTEXTS 16 /* the devices' primary ones are the first */

/* Each is changed under the lock and may be read at any time. The first line counts what is there now, the second what was done. */
typedef struct fake_stats {
    _Atomic uint64_t contexts, streams, events, registered, registered_bytes, allocated, host_allocated,
        imports, in_flight;
    _Atomic uint64_t copies, pageable, launches, host_functions, waits, registrations, read_only;
    _Atomic uint64_t decoders, mapped; /* there now */
    _Atomic uint64_t opened,
        pictures;           /* done: contexts that are not a device's primary one, pictures decoded */
    _Atomic uint64_t spins; /* done: waits that keep a processor busy */
} fake_stats;

/* Read the environment again, with a lost device as new, and count calls for FAKE_CUDA_FAULT from here. */
FAKE_API void fake_cuda_reset(void);
FAKE_API fake_stats *fake_cuda_stats(void);
/* As when the process ends and the driver has already: what was under way is not done, and no call does anything. */
FAKE_API void fake_cuda_end(void);

/* What FAKE_CUDA_FAULT has for this call of libnvcuvid's. */
FAKE_API cu_result fake_cuda_fault(const char *call);

/* ---- between the files; everything below is under `fake_lock` ------------------------------------ */

extern pthread_mutex_t fake_lock;
extern fake_stats *fake_counts;
extern _Thread_local bool fake_in_host_function; /* which must not call the driver */

typedef struct context context;
typedef struct stream stream;

struct context { /* a device's primary one, or one that cuCtxCreate made */
    int device, refs;
    unsigned flags; /* CU_CTX_BLOCKING_SYNC */
    cu_result lost; /* what every call says since the device was lost; CU_OK */
    stream *null_stream;
    uint64_t used; /* bytes of the device */
};

typedef struct settings {
    int devices, part, version, latency_us;
    bool read_only;
    uint64_t memory;
    char gate[256], fault[256];
} settings;
extern settings fake_settings;

/* Begins a call: takes the lock, and returns from it with what FAKE_CUDA_FAULT has for it. */
#define ENTER(call)                           \
    do {                                      \
        cu_result fault_ = fake_enter(#call); \
        if (fault_ != CU_OK) return fault_;   \
    } while (0)
/* Ends it. */
#define LEAVE(result) return fake_leave(result)

cu_result fake_enter(const char *call); /* on CU_OK the lock is held */
cu_result fake_leave(cu_result result);
/* The current context of this thread, NULL without; *why is what the call must say then, or if the device is lost. */
context *fake_current(cu_result *why);
/* All bytes of the range are in device memory that this process has, its own or imported. */
bool fake_is_device(cu_address at, size_t bytes);
bool fake_is_pinned(const void *at, size_t bytes);
void fake_end_streams(context *c);
void fake_pass(void); /* let others have the lock for a moment */
/* What a call that is not safe while a graph is captured must say: CU_OK, or an error, and then the captures in its way are void. */
cu_result fake_unsafe(void);

/* A copy of rows, as cuMemcpy2D takes it. */
enum { FAKE_ON_HOST = 1, FAKE_ON_DEVICE = 2 };
typedef struct fake_copy_2d {
    size_t from_x, from_y;
    int from_kind;
    const void *from_host;
    cu_address from_address;
    void *from_array;
    size_t from_pitch, to_x, to_y;
    int to_kind;
    void *to_host;
    cu_address to_address;
    void *to_array;
    size_t to_pitch, width, height;
} fake_copy_2d;

/* One kernel of ours, in C. sizes has the bytes of each parameter, a digit each. */
typedef struct fake_kernel {
    const char *name, *sizes;
    void (*run)(void **params, const unsigned grid[3], const unsigned block[3]);
} fake_kernel;
const fake_kernel *fake_find_kernel(const char *name);

#endif
