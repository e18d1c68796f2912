// declarations.cpp - capi/cuda/driver.h says what NVIDIA's cuda.h says: compiling this is the test.
//
// Every call has as many parameters, of the same sizes and kinds; every number is the same. Needs cuda.h and C++17.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <type_traits>

namespace ours {
extern "C" {
#include "driver.h"
}
} // namespace ours

template <class T>
constexpr int kind = std::is_pointer_v<T>                         ? 1
                     : std::is_integral_v<T> || std::is_enum_v<T> ? 2
                                                                  : 3;

template <class... Theirs, class... Ours>
constexpr bool same(CUresult (*)(Theirs...), ours::cu_result (*)(Ours...)) {
    if constexpr (sizeof...(Theirs) != sizeof...(Ours))
        return false;
    else
        return ((sizeof(Theirs) == sizeof(Ours) && kind<Theirs> == kind<Ours>)&&...);
}

namespace calls {
using namespace ours;
#define X(name, symbol, parameters) \
    static_assert(same(&::symbol, static_cast<cu_result(*) parameters>(nullptr)), #symbol);
CUDA_CALLS(X)
#undef X
} // namespace calls

#define SAME(here, there) static_assert(int(ours::here) == int(there), #here)
SAME(CU_OK, CUDA_SUCCESS);
SAME(CU_E_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
SAME(CU_E_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME(CU_E_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED);
SAME(CU_E_DEINITIALIZED, CUDA_ERROR_DEINITIALIZED);
SAME(CU_E_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME(CU_E_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE);
SAME(CU_E_INVALID_IMAGE, CUDA_ERROR_INVALID_IMAGE);
SAME(CU_E_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT);
SAME(CU_E_MAP_FAILED, CUDA_ERROR_MAP_FAILED);
SAME(CU_E_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE);
SAME(CU_E_NOT_FOUND, CUDA_ERROR_NOT_FOUND);
SAME(CU_E_NOT_READY, CUDA_ERROR_NOT_READY);
SAME(CU_E_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(CU_E_ALREADY_REGISTERED, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
SAME(CU_E_NOT_REGISTERED, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
SAME(CU_E_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_FAILED);
SAME(CU_E_NOT_PERMITTED, CUDA_ERROR_NOT_PERMITTED);
SAME(CU_E_NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED);
SAME(CU_ATTR_UNIFIED_ADDRESSING, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
SAME(CU_ATTR_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(CU_ATTR_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(CU_ATTR_HOST_REGISTER, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
SAME(CU_ATTR_READ_ONLY_REGISTER, CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED);
SAME(CU_REGISTER_PORTABLE, CU_MEMHOSTREGISTER_PORTABLE);
SAME(CU_REGISTER_READ_ONLY, CU_MEMHOSTREGISTER_READ_ONLY);
SAME(CU_HOST_PORTABLE, CU_MEMHOSTALLOC_PORTABLE);
SAME(CU_STREAM_NON_BLOCKING, ::CU_STREAM_NON_BLOCKING);
SAME(CU_EVENT_BLOCKING_SYNC, ::CU_EVENT_BLOCKING_SYNC);
SAME(CU_EVENT_DISABLE_TIMING, ::CU_EVENT_DISABLE_TIMING);
SAME(CU_EVENT_INTERPROCESS, ::CU_EVENT_INTERPROCESS);
SAME(CU_IPC_LAZY_PEER_ACCESS, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
