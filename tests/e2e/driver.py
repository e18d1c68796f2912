"""The CUDA driver that tests read device memory through: the stand-in of tests/cuda, or with SPDL_TEST_GPU=1 the machine's own."""

import ctypes
import functools
import importlib
import os

import numpy as np
import pytest
from engines import BUILD, processes_of

GPU = os.environ.get("SPDL_TEST_GPU") == "1"
needs_stand_in = pytest.mark.skipif(GPU, reason="it has the stand-in for the driver fail; SPDL_TEST_GPU=1 asks for the machine's own")
needs_gpu = pytest.mark.skipif(not GPU, reason="needs a GPU: SPDL_TEST_GPU=1 (make gpu-test)")


def environment():
    """What engines, uploaders and libspdl find their driver and nvJPEG by."""
    if GPU:
        return {"SPDL_DEVICE": str(BUILD / "spdl-device")}
    return {
        "SPDL_DEVICE": str(BUILD / "spdl-device"), "SPDL_CUDA_LIBRARY": str(BUILD / "cuda/libcuda.so.1"),
        "SPDL_NVJPEG_LIBRARY": str(BUILD / "cuda/libnvjpeg.so"),
    }


@functools.lru_cache(maxsize=None)
def library():
    """The driver, begun; its context stays until the process ends."""
    if not GPU:
        lib = ctypes.CDLL(environment()["SPDL_CUDA_LIBRARY"])
        lib.fake_cuda_reset()
    else:
        lib = ctypes.CDLL(os.environ.get("SPDL_CUDA_LIBRARY", "libcuda.so.1"))
    assert lib.cuInit(0) == 0
    return lib


BEGUN = {  # consumers, by what has each make its context, and whatever it opens with that
    "torch": lambda torch: torch.cuda.is_available() and torch.zeros(1, device="cuda"),
    "jax": lambda jax: jax.numpy.zeros(1).block_until_ready(),
    "cupy": lambda cupy: cupy.zeros(1),
}


def begin():
    """On a GPU: what the driver and consumers make once for the whole process is there before a test looks what it left. The context is kept, which
    would be made and destroyed with every copy otherwise."""
    if not GPU:
        return
    assert library().cuDevicePrimaryCtxRetain(ctypes.byref(ctypes.c_void_p()), 0) == 0
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX takes three quarters of the device else, and uploaders none
    for name, first in BEGUN.items():
        try:
            consumer = importlib.import_module(name)
        except ImportError:
            continue
        first(consumer)


def install(monkeypatch):
    """Have engines and libspdl find the driver."""
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    library()


def uploaders(mark):
    """The processes that upload for the engines of a test."""
    return [pid for pid, command in processes_of(mark) if "spdl-device" in command.split(" ")[0]]


def bytes_of(array):
    """A copy of an array in device memory, which the caller's process has open."""
    lib, context = library(), ctypes.c_void_p()
    assert lib.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert lib.cuCtxPushCurrent_v2(context) == 0
    out = np.empty(array.nbytes, np.uint8)
    copied = lib.cuMemcpyDtoHAsync_v2(ctypes.c_void_p(out.ctypes.data), ctypes.c_uint64(array._address), ctypes.c_size_t(array.nbytes), None)
    waited = lib.cuStreamSynchronize(None)
    assert lib.cuCtxPopCurrent_v2(ctypes.byref(context)) == 0 and lib.cuDevicePrimaryCtxRelease_v2(0) == 0
    assert (copied, waited) == (0, 0)
    return out


def alike(got, want):
    """Decoded pictures: of the stand-in to the byte, of nvJPEG nearly, as torchvision's tests have it."""
    got, want = got.reshape(want.shape), np.asarray(want)
    return abs(got.astype(np.int16) - want.astype(np.int16)).mean() < 2 if GPU else np.array_equal(got, want)
