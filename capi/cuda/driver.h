/* driver.h - the calls of the CUDA driver that we make, found at run time.
 *
 * Nothing here is linked and no header of CUDA is needed: the library is opened when somebody first asks for a GPU. libspdl and
 * spdl-device both use this file; tests/cuda has a driver of our own that answers the same calls without a GPU.
 *
 * Types, names and numbers are those of the driver's binary interface. Handles are opaque pointers, but for the device, which is its
 * ordinal, and for device memory, which is an address.
 */
#ifndef SPDL_CUDA_DRIVER_H
#define SPDL_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef int cu_result;
typedef int cu_device;
typedef uint64_t cu_address;
typedef void *cu_context, *cu_stream, *cu_event, *cu_module, *cu_function;
typedef struct cu_handle { /* of memory or of an event, for another process */
    uint8_t bytes[64];
} cu_handle;
typedef struct cu_uuid {
    uint8_t bytes[16];
} cu_uuid;
typedef void (*cu_host_function)(void *data);

enum {
    CU_OK = 0,
    CU_E_INVALID_VALUE = 1,
    CU_E_OUT_OF_MEMORY = 2,
    CU_E_NOT_INITIALIZED = 3,
    CU_E_DEINITIALIZED = 4, /* the process is ending */
    CU_E_STUB_LIBRARY = 34,
    CU_E_UNAVAILABLE = 46, /* another process has the device for itself */
    CU_E_NO_DEVICE = 100,
    CU_E_INVALID_DEVICE = 101,
    CU_E_INVALID_IMAGE = 200,
    CU_E_INVALID_CONTEXT = 201,
    CU_E_MAP_FAILED = 205,
    CU_E_NO_BINARY = 209, /* for this device: it is older than the kernels */
    CU_E_INVALID_PTX = 218,
    CU_E_NO_JIT_COMPILER = 221,
    CU_E_UNSUPPORTED_PTX = 222,
    CU_E_JIT_DISABLED = 223,
    CU_E_INVALID_HANDLE = 400,
    CU_E_NOT_FOUND = 500,
    CU_E_NOT_READY = 600,
    CU_E_ILLEGAL_ADDRESS = 700,
    CU_E_ALREADY_REGISTERED = 712,
    CU_E_NOT_REGISTERED = 713,
    CU_E_LAUNCH_FAILED = 719,
    CU_E_NOT_PERMITTED = 800,
    CU_E_NOT_SUPPORTED = 801,
    CU_E_DRIVER_MISMATCH = 803, /* the library is of another version than the kernel's module */
    CU_E_COMPAT_NOT_SUPPORTED = 804,
    CU_E_CAPTURE_UNSUPPORTED = 900, /* from here to the last: not while a graph is captured */
    CU_E_CAPTURE_INVALIDATED = 901,
    CU_E_CAPTURE_ISOLATION = 905,
    CU_E_CAPTURE_IMPLICIT = 906,
    CU_E_CAPTURED_EVENT = 907,
    CU_E_CAPTURE_WRONG_THREAD = 908
};

enum {                            /* of a device */
       CU_ATTR_COMPUTE_MODE = 20, /* CU_COMPUTE_* */
       CU_ATTR_UNIFIED_ADDRESSING = 41,
       CU_ATTR_MAJOR = 75,
       CU_ATTR_MINOR = 76,
       CU_ATTR_HOST_REGISTER = 99,
       CU_ATTR_READ_ONLY_REGISTER = 113, /* of drivers from 11.1 on */
       CU_ATTR_MPS = 133 /* of newer ones: NVIDIA's server for several processes shares the device */
};
enum { CU_COMPUTE_DEFAULT = 0, CU_COMPUTE_PROHIBITED = 2, CU_COMPUTE_EXCLUSIVE = 3 };

enum {
    CU_REGISTER_PORTABLE = 1, /* pinned for every context */
    CU_REGISTER_READ_ONLY = 8
};
enum { CU_HOST_PORTABLE = 1 };
enum { CU_CTX_BLOCKING_SYNC = 4 }; /* who waits sleeps, and does not spin */
enum { CU_STREAM_NON_BLOCKING = 1 };
enum { CU_EVENT_BLOCKING_SYNC = 1, CU_EVENT_DISABLE_TIMING = 2, CU_EVENT_INTERPROCESS = 4 };
enum { CU_IPC_LAZY_PEER_ACCESS = 1 }; /* must be given */
/* What the driver may cut device memory from: a handle of it opens all of the piece it is in, so what is exported is a multiple of this. */
#define CUDA_SHAREABLE ((size_t)2 << 20)
enum { CU_CAPTURE_NONE = 0, CU_CAPTURE_ACTIVE = 1, CU_CAPTURE_INVALIDATED = 2 }; /* of a stream */
enum { CU_CAPTURE_GLOBAL = 0, CU_CAPTURE_THREAD_LOCAL = 1, CU_CAPTURE_RELAXED = 2 };

#define CUDA_LIBRARY "libcuda.so.1"
#define CUDA_OLDEST 11010 /* what cuDriverGetVersion must say: 1000 * major + 10 * minor */

/* X(name in cuda_driver, symbol, parameters), each returning cu_result. */
#define CUDA_CALLS(X)                                                                                       \
    X(Init, cuInit, (unsigned flags))                                                                       \
    X(DriverGetVersion, cuDriverGetVersion, (int *version))                                                 \
    X(GetErrorName, cuGetErrorName, (cu_result error, const char **name))                                   \
    X(GetErrorString, cuGetErrorString, (cu_result error, const char **text))                               \
    X(DeviceGet, cuDeviceGet, (cu_device * device, int ordinal))                                            \
    X(DeviceGetCount, cuDeviceGetCount, (int *count))                                                       \
    X(DeviceGetName, cuDeviceGetName, (char *name, int bytes, cu_device device))                            \
    X(DeviceGetAttribute, cuDeviceGetAttribute, (int *value, int attribute, cu_device device))              \
    X(DeviceGetUuid, cuDeviceGetUuid, (cu_uuid * uuid, cu_device device))                                   \
    X(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (cu_context * context, cu_device device))           \
    X(DevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2, (cu_device device, unsigned flags))          \
    X(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (cu_device device))                            \
    X(CtxGetCurrent, cuCtxGetCurrent, (cu_context * context))                                               \
    X(CtxSetCurrent, cuCtxSetCurrent, (cu_context context))                                                 \
    X(CtxPushCurrent, cuCtxPushCurrent_v2, (cu_context context))                                            \
    X(CtxPopCurrent, cuCtxPopCurrent_v2, (cu_context * context))                                            \
    X(CtxGetDevice, cuCtxGetDevice, (cu_device * device))                                                   \
    X(CtxSynchronize, cuCtxSynchronize, (void))                                                             \
    X(MemGetInfo, cuMemGetInfo_v2, (size_t * free, size_t * total))                                         \
    X(MemAlloc, cuMemAlloc_v2, (cu_address * memory, size_t bytes))                                         \
    X(MemFree, cuMemFree_v2, (cu_address memory))                                                           \
    X(MemHostAlloc, cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags))                          \
    X(MemFreeHost, cuMemFreeHost, (void *memory))                                                           \
    X(MemHostRegister, cuMemHostRegister_v2, (void *memory, size_t bytes, unsigned flags))                  \
    X(MemHostUnregister, cuMemHostUnregister, (void *memory))                                               \
    X(MemHostGetDevicePointer, cuMemHostGetDevicePointer_v2,                                                \
      (cu_address * out, void *memory, unsigned flags))                                                     \
    X(MemcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                                                \
      (cu_address to, const void *from, size_t bytes, cu_stream stream))                                    \
    X(MemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void *to, cu_address from, size_t bytes, cu_stream stream))   \
    X(MemcpyDtoDAsync, cuMemcpyDtoDAsync_v2,                                                                \
      (cu_address to, cu_address from, size_t bytes, cu_stream stream))                                     \
    X(MemsetD8Async, cuMemsetD8Async, (cu_address to, unsigned char value, size_t bytes, cu_stream stream)) \
    X(StreamCreate, cuStreamCreate, (cu_stream * stream, unsigned flags))                                   \
    X(StreamDestroy, cuStreamDestroy_v2, (cu_stream stream))                                                \
    X(StreamQuery, cuStreamQuery, (cu_stream stream))                                                       \
    X(StreamSynchronize, cuStreamSynchronize, (cu_stream stream))                                           \
    X(StreamWaitEvent, cuStreamWaitEvent, (cu_stream stream, cu_event event, unsigned flags))               \
    X(StreamGetCtx, cuStreamGetCtx, (cu_stream stream, cu_context * context))                               \
    X(StreamIsCapturing, cuStreamIsCapturing, (cu_stream stream, int *status))                              \
    X(ThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, (int *mode))                      \
    X(EventCreate, cuEventCreate, (cu_event * event, unsigned flags))                                       \
    X(EventDestroy, cuEventDestroy_v2, (cu_event event))                                                    \
    X(EventRecord, cuEventRecord, (cu_event event, cu_stream stream))                                       \
    X(EventQuery, cuEventQuery, (cu_event event))                                                           \
    X(EventSynchronize, cuEventSynchronize, (cu_event event))                                               \
    X(LaunchHostFunc, cuLaunchHostFunc, (cu_stream stream, cu_host_function function, void *data))          \
    X(IpcGetMemHandle, cuIpcGetMemHandle, (cu_handle * handle, cu_address memory))                          \
    X(IpcOpenMemHandle, cuIpcOpenMemHandle_v2, (cu_address * memory, cu_handle handle, unsigned flags))     \
    X(IpcCloseMemHandle, cuIpcCloseMemHandle, (cu_address memory))                                          \
    X(IpcGetEventHandle, cuIpcGetEventHandle, (cu_handle * handle, cu_event event))                         \
    X(IpcOpenEventHandle, cuIpcOpenEventHandle, (cu_event * event, cu_handle handle))                       \
    X(ModuleLoadData, cuModuleLoadData, (cu_module * module, const void *image))                            \
    X(ModuleUnload, cuModuleUnload, (cu_module module))                                                     \
    X(ModuleGetFunction, cuModuleGetFunction, (cu_function * function, cu_module module, const char *name)) \
    X(LaunchKernel, cuLaunchKernel,                                                                         \
      (cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,           \
       unsigned block_y, unsigned block_z, unsigned shared_bytes, cu_stream stream, void **params,          \
       void **extra))

typedef struct cuda_driver {
    void *library; /* of dlopen; never closed: the driver has threads of its own */
#define X(name, symbol, parameters) cu_result(*name) parameters;
    CUDA_CALLS(X)
#undef X
} cuda_driver;

enum { CUDA_LOADED = 0, CUDA_NO_LIBRARY = -1, CUDA_TOO_OLD = -2 };

/* Open $SPDL_CUDA_LIBRARY, else libcuda.so.1, and find every call. cuInit is not called. On CUDA_NO_LIBRARY and CUDA_TOO_OLD (a call is
 * missing) `why` says what, in at most `bytes`. */
int sp_cuda_load(cuda_driver *d, char *why, size_t bytes);

/* The driver's own name and words for a result, such as "CUDA_ERROR_OUT_OF_MEMORY (out of memory)", into text. Returns text. */
const char *sp_cuda_error(const cuda_driver *d, cu_result error, char *text, size_t bytes);

#endif
