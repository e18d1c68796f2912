/* ffmpeg.c - calls that FFmpeg looks for when it opens the driver, and never makes to decode. */
#include "fake.h"

#define UNUSED(X)                            \
    X(cuDeviceComputeCapability)             \
    X(cuDevicePrimaryCtxRelease)             \
    X(cuDevicePrimaryCtxSetFlags)            \
    X(cuDevicePrimaryCtxGetState)            \
    X(cuDevicePrimaryCtxReset)               \
    X(cuCtxSetLimit)                         \
    X(cuMemAllocPitch_v2)                    \
    X(cuMemAllocManaged)                     \
    X(cuMemcpy)                              \
    X(cuMemcpyAsync)                         \
    X(cuMemcpy2D_v2)                         \
    X(cuMemcpyHtoD_v2)                       \
    X(cuMemcpyDtoH_v2)                       \
    X(cuMemcpyDtoD_v2)                       \
    X(cuStreamAddCallback)                   \
    X(cuLinkCreate)                          \
    X(cuLinkAddData)                         \
    X(cuLinkComplete)                        \
    X(cuLinkDestroy)                         \
    X(cuModuleGetGlobal)                     \
    X(cuTexObjectCreate)                     \
    X(cuTexObjectDestroy)                    \
    X(cuGLGetDevices_v2)                     \
    X(cuGraphicsGLRegisterImage)             \
    X(cuGraphicsUnregisterResource)          \
    X(cuGraphicsMapResources)                \
    X(cuGraphicsUnmapResources)              \
    X(cuGraphicsSubResourceGetMappedArray)   \
    X(cuGraphicsResourceGetMappedPointer_v2) \
    X(cuArray3DCreate_v2)                    \
    X(cuArrayDestroy)

#define X(name) \
    FAKE_API cu_result name(void) { return CU_E_NOT_SUPPORTED; }
UNUSED(X)
#undef X
