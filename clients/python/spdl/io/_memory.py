"""Arrays of whoever made them, as C takes them."""

from __future__ import annotations

import ctypes
import struct
from ctypes import c_char_p, c_void_p
from typing import Any, NamedTuple, Optional

from .. import _dlpack
from .._errors import ArgumentError
from ..arrays import Array, DType, is_dense, numpy_if_installed


class Memory(NamedTuple):
    """An array as C takes it: dense, row-major, on the CPU."""

    address: int
    shape: tuple[int, ...]
    dtype: str  # as numpy spells it
    itemsize: int
    keep: object

    @property
    def nbytes(self) -> int:
        size = self.itemsize
        for extent in self.shape:
            size *= extent
        return size


_FORMATS = {"b": "int8", "B": "uint8", "c": "uint8", "h": "int16", "H": "uint16", "i": "int32", "I": "uint32", "q": "int64",
            "l": "int64", "Q": "uint64", "L": "uint64", "e": "float16", "f": "float32", "d": "float64", "?": "bool"}
_COMPLEX = {"Zf": "complex64", "Zd": "complex128", "Zg": "complex256"}
_TENSOR = struct.Struct("=QiiiBBHQQQ")  # DLTensor: data, device, its number, ndim, code, bits, lanes, shape, strides, byte_offset
_capsule_pointer = ctypes.PYFUNCTYPE(c_void_p, ctypes.py_object, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


def memory_of(data: Any, what: str) -> Memory:
    """Where the elements of an array lie: spdl's, anything with a buffer (numpy), anything that speaks DLPack (torch, jax). One that
    is not dense is copied."""
    if isinstance(data, Array):
        data._need_cpu(what)
        data = data if is_dense(data.shape, data.strides, data.dtype.itemsize) else data.copy()
        return Memory(data._address, data.shape, data.dtype.name, data.dtype.itemsize, data)
    try:
        view = memoryview(data)
    except (TypeError, ValueError, BufferError):
        return _of_dlpack(data, what)
    element = view.format.lstrip("@=<")
    if element in _COMPLEX:
        raise ArgumentError(f"spdl: io: {what}: elements of {_COMPLEX[element]}, want real numbers; give an array of their parts (.real, .imag)")
    if element not in _FORMATS:
        raise ArgumentError(f"spdl: io: {what}: elements of the format {view.format!r}, want numbers in this machine's order")
    numpy, shape, size = numpy_if_installed(), view.shape or (), view.itemsize
    if not view.c_contiguous:
        view = memoryview(view.tobytes())
    flat = view.cast("B") if view.nbytes else view
    if not view.readonly and view.nbytes:
        keep: Any = (ctypes.c_char * view.nbytes).from_buffer(flat)
        address = ctypes.addressof(keep)
    elif numpy is not None and view.nbytes:
        keep = numpy.frombuffer(flat, "u1")
        address = keep.ctypes.data
    else:
        keep = flat.tobytes()
        address = ctypes.cast(c_char_p(keep), c_void_p).value or 0
    return Memory(address, shape, _FORMATS[element], size, keep)


def _of_dlpack(data: Any, what: str) -> Memory:
    if not hasattr(data, "__dlpack__"):
        raise ArgumentError(f"spdl: io: {what}: got {type(data).__name__}, want an array: numpy's, torch's, spdl's or one that speaks DLPack")
    device = tuple(data.__dlpack_device__())
    if device[0] != _dlpack.CPU:
        raise ArgumentError(f"spdl: io: {what}: the array is on device {device}, want the CPU's memory; copy it there, as torch's cpu() does")
    data = data.contiguous() if hasattr(data, "contiguous") else data
    try:
        capsule = data.__dlpack__()
    except BufferError as error:  # numpy's of its dates
        raise ArgumentError(f"spdl: io: {what}: {error}") from error
    address = _capsule_pointer(capsule, b"dltensor")
    pointer, _, _, ndim, code, bits, lanes, shape_at, strides_at, offset = _TENSOR.unpack(ctypes.string_at(address, _TENSOR.size))
    shape = tuple((ctypes.c_int64 * ndim).from_address(shape_at)) if ndim else ()
    dtype = DType(code, bits, lanes)
    itemsize = dtype.itemsize
    strides = tuple(s * itemsize for s in (ctypes.c_int64 * ndim).from_address(strides_at)) if strides_at and ndim else None
    if strides is not None and not is_dense(shape, strides, itemsize):
        raise ArgumentError(f"spdl: io: {what}: the array is not dense; make it contiguous")
    return Memory(pointer + offset, shape, dtype.name, itemsize, (capsule, data))


def pictures_in(shape: tuple[int, ...], one: tuple[int, ...]) -> Optional[int]:
    """How many pictures of the shape `one` an array has; a first or last axis of 1 may be left out. None: it is of another shape."""
    for picture in (one, one[:-1] if one[-1] == 1 else one, one[1:] if one[0] == 1 else one):
        if shape == picture:
            return 1
        if shape[1:] == picture:
            return shape[0]
    return None


def samples_of(data: Any, what: str) -> Memory:
    """float32 samples of -1 to 1; those of other types become that, where numpy is installed."""
    memory = memory_of(data, what)
    if memory.dtype == "float32":
        return memory
    scales = {"uint8": 128, "int16": 1 << 15, "int32": 1 << 31, "float64": 1}
    numpy = numpy_if_installed()
    if memory.dtype not in scales or numpy is None:
        want = "float32" if numpy is None else "float32, float64, int16, int32 or uint8"
        raise ArgumentError(f"spdl: io: {what}: samples of {memory.dtype}, want {want}")
    bytes_ = (ctypes.c_char * memory.nbytes).from_address(memory.address)
    values = numpy.frombuffer(bytes_, memory.dtype).reshape(memory.shape).astype("f8")
    values = (values - (128 if memory.dtype == "uint8" else 0)) / scales[memory.dtype]
    return memory_of(values.astype("f4"), what)
