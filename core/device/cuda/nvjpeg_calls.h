/* nvjpeg_calls.h - the calls of nvJPEG that we make, found at run time, as the driver's are (capi/cuda/driver.h).
 *
 * Types, names and numbers are those of the library's binary interface; a test compares them with NVIDIA's nvjpeg.h where there is one
 * (tests/cuda/jpeg_declarations.cpp).
 */
#ifndef SPDL_DEVICE_NVJPEG_CALLS_H
#define SPDL_DEVICE_NVJPEG_CALLS_H

#include <stddef.h>

typedef int nvjpeg_result;
typedef void *nvjpeg_handle, *nvjpeg_state;
typedef void *nvjpeg_stream; /* the driver's */

typedef struct nvjpeg_image {
    unsigned char *channel[4];
    size_t pitch[4];
} nvjpeg_image;

enum {
    NVJPEG_OK = 0,
    NVJPEG_E_NOT_INITIALIZED = 1,
    NVJPEG_E_INVALID_PARAMETER = 2,
    NVJPEG_E_BAD_JPEG = 3,
    NVJPEG_E_NOT_SUPPORTED = 4,
    NVJPEG_E_ALLOCATOR = 5,
    NVJPEG_E_EXECUTION = 6,
    NVJPEG_E_ARCH_MISMATCH = 7, /* the device has no decoder of its own */
    NVJPEG_E_INTERNAL = 8,
    NVJPEG_E_IMPLEMENTATION = 9,
    NVJPEG_E_INCOMPLETE = 10
};
enum { NVJPEG_DEFAULT = 0, NVJPEG_GPU_HYBRID = 2, NVJPEG_HARDWARE = 3 }; /* who decodes */
enum { NVJPEG_RGBI = 5 };
enum { NVJPEG_INTERPOLATE_CHROMA = 32 };

#define NVJPEG_NAMES "libnvjpeg.so.13, .12 and .11"
#define NVJPEG_LIBRARIES \
    { "libnvjpeg.so.13", "libnvjpeg.so.12", "libnvjpeg.so.11", "/usr/local/cuda/lib64/libnvjpeg.so" }

/* X(name in nvjpeg_calls, symbol, parameters), each returning nvjpeg_result. */
#define NVJPEG_CALLS(X)                                                                                     \
    X(CreateEx, nvjpegCreateEx,                                                                             \
      (int backend, void *device_allocator, void *pinned_allocator, unsigned flags, nvjpeg_handle *handle)) \
    X(Destroy, nvjpegDestroy, (nvjpeg_handle handle))                                                       \
    X(StateCreate, nvjpegJpegStateCreate, (nvjpeg_handle handle, nvjpeg_state * state))                     \
    X(StateDestroy, nvjpegJpegStateDestroy, (nvjpeg_state state))                                           \
    X(GetImageInfo, nvjpegGetImageInfo,                                                                     \
      (nvjpeg_handle handle, const unsigned char *data, size_t bytes, int *components, int *subsampling,    \
       int *widths, int *heights))                                                                          \
    X(Decode, nvjpegDecode,                                                                                 \
      (nvjpeg_handle handle, nvjpeg_state state, const unsigned char *data, size_t bytes, int format,       \
       nvjpeg_image *out, nvjpeg_stream stream))                                                            \
    X(BatchInitialize, nvjpegDecodeBatchedInitialize,                                                       \
      (nvjpeg_handle handle, nvjpeg_state state, int pictures, int threads, int format))                    \
    X(DecodeBatch, nvjpegDecodeBatched,                                                                     \
      (nvjpeg_handle handle, nvjpeg_state state, const unsigned char *const *data, const size_t *bytes,     \
       nvjpeg_image *out, nvjpeg_stream stream))

typedef struct nvjpeg_calls {
    void *library; /* of dlopen; never closed */
    /* NULL in libraries before that of CUDA 11.8. */
    nvjpeg_result (*GetHardwareDecoderInfo)(nvjpeg_handle handle, unsigned *decoders, unsigned *cores);
#define X(name, symbol, parameters) nvjpeg_result(*name) parameters;
    NVJPEG_CALLS(X)
#undef X
} nvjpeg_calls;

#endif
