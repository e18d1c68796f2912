"""Arrays from arrays: convert_frames, convert_array, to_numpy, to_torch."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Sequence, Union

from .._errors import ArgumentError
from ..arrays import Array, DType, _dense_strides
from ._memory import memory_of

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "bool": 6}


def _new(shape: tuple[int, ...], dtype: DType) -> Array:
    """Zeroed memory, aligned to 64 bytes."""
    size = dtype.itemsize
    for extent in shape:
        size *= extent
    memory = bytearray(size + 63)
    pinned = ctypes.c_char.from_buffer(memory)  # keeps the bytearray where it is
    return Array(pinned, (ctypes.addressof(pinned) + 63) & ~63, shape, _dense_strides(shape, dtype.itemsize), dtype, False)


def convert_frames(frames: Union[Array, Sequence[Array]]) -> Array:
    """What was decoded, as one array: itself, or several of one shape as [B, ...], copied once."""
    if isinstance(frames, Array):
        return frames
    arrays = list(frames)
    if not arrays or not all(isinstance(a, Array) for a in arrays):
        raise ArgumentError(f"spdl: io: convert_frames: got {type(frames).__name__} of {len(arrays)}, want an array of spdl.io's or several")
    first = arrays[0]
    for i, array in enumerate(arrays):
        if array.shape != first.shape or array.dtype != first.dtype:
            raise ArgumentError(f"spdl: io: convert_frames: array {i} is {array!r}, array 0 is {first!r}; want one shape and type")
    out = _new((len(arrays), *first.shape), first.dtype)
    for i, array in enumerate(arrays):
        memory = memory_of(array, "convert_frames")
        ctypes.memmove(out._address + i * first.nbytes, memory.address, first.nbytes)
    return out


def convert_array(vals: Any) -> Array:
    """An array's numbers, such as labels, copied into memory of their own, aligned to 64 bytes."""
    memory = memory_of(vals, "convert_array")
    name = memory.dtype.rstrip("0123456789")
    if name not in _CODES:
        raise ArgumentError(f"spdl: io: convert_array: elements of {memory.dtype}, want integers, floats or booleans")
    out = _new(memory.shape, DType(_CODES[name], 8 * memory.itemsize))
    ctypes.memmove(out._address, memory.address, memory.nbytes)
    return out


def to_numpy(buffer: Array) -> NDArray[Any]:
    """A numpy view, as buffer.numpy()."""
    return buffer.numpy()


def to_torch(buffer: Array) -> torch.Tensor:
    """A torch tensor of the same memory, as buffer.torch()."""
    return buffer.torch()
