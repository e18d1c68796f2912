// jpeg_declarations.cpp - core/device/cuda/nvjpeg_calls.h says what NVIDIA's nvjpeg.h says: compiling this is the test.
//
// As declarations.cpp for the driver. Needs nvjpeg.h, the headers of CUDA's runtime and C++17.
#include <nvjpeg.h>

#include "same.hpp"

namespace ours {
extern "C" {
#include "nvjpeg_calls.h"
}
} // namespace ours

namespace calls {
using namespace ours;
#define X(name, symbol, parameters) \
    static_assert(same(&::symbol, static_cast<nvjpeg_result(*) parameters>(nullptr)), #symbol);
NVJPEG_CALLS(X)
#undef X
} // namespace calls

static_assert(sizeof(ours::nvjpeg_image) == sizeof(nvjpegImage_t));
static_assert(offsetof(ours::nvjpeg_image, pitch) == offsetof(nvjpegImage_t, pitch));

SAME(NVJPEG_OK, NVJPEG_STATUS_SUCCESS);
SAME(NVJPEG_E_NOT_INITIALIZED, NVJPEG_STATUS_NOT_INITIALIZED);
SAME(NVJPEG_E_INVALID_PARAMETER, NVJPEG_STATUS_INVALID_PARAMETER);
SAME(NVJPEG_E_BAD_JPEG, NVJPEG_STATUS_BAD_JPEG);
SAME(NVJPEG_E_NOT_SUPPORTED, NVJPEG_STATUS_JPEG_NOT_SUPPORTED);
SAME(NVJPEG_E_ALLOCATOR, NVJPEG_STATUS_ALLOCATOR_FAILURE);
SAME(NVJPEG_E_EXECUTION, NVJPEG_STATUS_EXECUTION_FAILED);
SAME(NVJPEG_E_ARCH_MISMATCH, NVJPEG_STATUS_ARCH_MISMATCH);
SAME(NVJPEG_E_INTERNAL, NVJPEG_STATUS_INTERNAL_ERROR);
SAME(NVJPEG_E_IMPLEMENTATION, NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED);
SAME(NVJPEG_E_INCOMPLETE, NVJPEG_STATUS_INCOMPLETE_BITSTREAM);
SAME(NVJPEG_DEFAULT, NVJPEG_BACKEND_DEFAULT);
SAME(NVJPEG_GPU_HYBRID, NVJPEG_BACKEND_GPU_HYBRID);
SAME(NVJPEG_HARDWARE, NVJPEG_BACKEND_HARDWARE);
SAME(NVJPEG_RGBI, NVJPEG_OUTPUT_RGBI);
SAME(NVJPEG_INTERPOLATE_CHROMA, NVJPEG_FLAGS_UPSAMPLING_WITH_INTERPOLATION);
