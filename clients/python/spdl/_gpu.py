"""The GPU half of spdl.h: pinned memory, releases that wait for a stream, tensors in device memory.

Nothing here is loaded before it is asked for, and no CUDA package is needed: libspdl finds the driver.
"""

from __future__ import annotations

import ctypes
import functools
from ctypes import POINTER, Structure, c_char, c_int, c_int32, c_uint32, c_uint64, c_void_p
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

from . import _c
from ._errors import ArgumentError

if TYPE_CHECKING:
    from ._reader import Lease, Reader

CURRENT_DEVICE = -1
AFTER_STREAM, AFTER_EVENT = 1, 2
PIN_STAGE = 1
PIN_NONE, PIN_WRITABLE, PIN_READ_ONLY, PIN_STAGED = 0, 1, 2, 3
_MODES = {PIN_NONE: None, PIN_WRITABLE: "writable", PIN_READ_ONLY: "read-only", PIN_STAGED: "staged"}


class PinOpts(Structure):  # spdl_pin_opts
    _fields_ = [("struct_size", c_uint32), ("flags", c_uint32), ("device", c_int32), ("reserved", c_uint32)]


class RawPinInfo(Structure):  # spdl_pin_info
    _fields_ = [
        ("struct_size", c_uint32),
        ("mode", c_uint32),
        ("device", c_int32),
        ("driver_version", c_int32),
        ("bytes", c_uint64),
        ("pending", c_uint32),
        ("imports", c_uint32),
        ("device_error", c_int32),
        ("reserved", c_uint32),
        ("device_name", c_char * 64),
    ]


FUNCTIONS = {
    # spdl_status spdl_pin(spdl_reader *reader, const spdl_pin_opts *opts, spdl_pin_info *info);
    "spdl_pin": (c_int, c_void_p, POINTER(PinOpts), POINTER(RawPinInfo)),
    # spdl_status spdl_unpin(spdl_reader *reader);
    "spdl_unpin": (c_int, c_void_p),
    # spdl_status spdl_get_pin_info(spdl_reader *reader, spdl_pin_info *out);
    "spdl_get_pin_info": (c_int, c_void_p, POINTER(RawPinInfo)),
    # spdl_status spdl_release_after(spdl_reader *reader, const spdl_batch *batch, uint32_t kind, void *handle);
    "spdl_release_after": (c_int, c_void_p, POINTER(_c.Batch), c_uint32, c_void_p),
    # spdl_status spdl_stream_wait(spdl_reader *reader, const spdl_batch *batch, void *stream);
    "spdl_stream_wait": (c_int, c_void_p, POINTER(_c.Batch), c_void_p),
}


class PinInfo(NamedTuple):
    """What is pinned: `mode` "writable", "read-only", "staged", or None."""

    mode: Optional[str]
    device: int  # ordinal in this process; -1: not pinned
    device_name: str
    driver: tuple[int, int]  # the CUDA version that the driver speaks
    nbytes: int
    pending: int  # batches of release_after that wait
    imports: int  # pools of device memory that are open
    device_error: int  # what the driver said when the device was lost; 0


@functools.lru_cache(maxsize=None)
def _function(path: str, name: str) -> Any:
    function = getattr(ctypes.CDLL(path), name)
    function.restype, *function.argtypes = FUNCTIONS[name]
    return function


def _bound(reader: Reader, name: str) -> Any:
    """One function of libspdl, which keeps no interpreter lock: the driver may take its time."""
    return _function(reader.api.path, name)


def _said(raw: RawPinInfo) -> PinInfo:
    return PinInfo(
        mode=_MODES.get(raw.mode), device=raw.device, device_name=raw.device_name.decode("utf-8", "replace"),
        driver=(raw.driver_version // 1000, raw.driver_version % 1000 // 10), nbytes=raw.bytes, pending=raw.pending,
        imports=raw.imports, device_error=raw.device_error,
    )


def pin(reader: Reader, device: Optional[int], stage: bool) -> PinInfo:
    if device is not None and (not isinstance(device, Integral) or not 0 <= device < 2**31):
        raise ArgumentError(f"spdl: pin: device {device!r}, want an ordinal from 0, or None for that of the current context")
    options = PinOpts(ctypes.sizeof(PinOpts), PIN_STAGE if stage else 0, CURRENT_DEVICE if device is None else int(device))
    raw = RawPinInfo(ctypes.sizeof(RawPinInfo))
    reader.call(_bound(reader, "spdl_pin"), options, raw)
    return _said(raw)


def unpin(reader: Reader) -> None:
    reader.call(_bound(reader, "spdl_unpin"))


def info(reader: Reader) -> PinInfo:
    raw = RawPinInfo(ctypes.sizeof(RawPinInfo))
    reader.call(_bound(reader, "spdl_get_pin_info"), raw)
    return _said(raw)


def handle_of(work: Any) -> tuple[int, Optional[int]]:
    """The kind and the driver's handle of a stream or an event of torch, CuPy, numba or cuda.core; an int is a stream's."""
    if work is None or isinstance(work, int):
        return AFTER_STREAM, work
    if hasattr(work, "__cuda_stream__"):
        protocol = work.__cuda_stream__
        return AFTER_STREAM, (protocol() if callable(protocol) else protocol)[1]
    classes = [one.__name__ for one in type(work).__mro__]
    unnamed = AFTER_EVENT if "Event" in classes else AFTER_STREAM if any(name.endswith("Stream") for name in classes) else None
    for kind, name in ((AFTER_STREAM, "cuda_stream"), (AFTER_EVENT, "cuda_event"), (unnamed, "ptr"), (unnamed, "handle")):
        handle = getattr(work, name, None)
        if kind is not None and handle is not None:
            return kind, int(getattr(handle, "value", handle) or 0)
    raise ArgumentError(
        f"spdl: release_after: {type(work).__name__} is no stream or event, want one of torch, CuPy, numba or cuda.core, or its "
        "handle as an int"
    )


def release_after(lease: Lease, work: Any) -> None:
    """End the lease when the work has ended. On failure the lease is as it was."""
    kind, handle = handle_of(work)
    reader = lease.reader
    with reader.lock:
        reader.check(_bound(reader, "spdl_release_after")(reader.handle, lease.raw, kind, handle))
        lease.raw.token = 0
        lease.passed = True


def stream_wait(lease: Lease, stream: Optional[int]) -> None:
    """Have a stream wait until the lease's device tensors are complete."""
    reader = lease.reader
    reader.check(_bound(reader, "spdl_stream_wait")(reader.handle, lease.raw, stream))
