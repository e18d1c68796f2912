"""DLPack capsules, made with ctypes alone.

    struct DLManagedTensor           struct DLManagedTensorVersioned
    +-------------------+ 0          +-------------------+ 0
    | DLTensor          |            | version           |  major 1, minor 0
    +-------------------+ 48         | manager_ctx       |
    | manager_ctx       |            | deleter           |
    | deleter           |            | flags             |
    +-------------------+ 64         | DLTensor          |
                                     +-------------------+ 80
    followed here by shape[8] and strides[8], int64

A deleter must not run Python. Its caller may be without the interpreter lock, on a thread Python never saw,
inside the unwinding of an exception (a ctypes callback would swallow it), or after the interpreter is gone. So
the deleter is time(2), a plain C function whose whole effect is to store the seconds through its argument: over
`data` in the one struct, over `version` in the other, neither of which anyone reads by then. `sweep` finds
blocks marked that way and lets their memory go. Every call that asks for a batch sweeps, so a slot whose last
tensor died comes back with the next call into the loader.

A capsule has no destructor for the same reason. One that nobody consumed is found by its reference count.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from ctypes import c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

CPU = 1
READ_ONLY, IS_COPIED = 1, 2  # DLPACK_FLAG_BITMASK_*
_MAX_NDIM = 8

_NAME, _NAME_VERSIONED = b"dltensor", b"dltensor_versioned"  # a capsule keeps the pointer: never freed


class _Tensor(ctypes.Structure):  # DLTensor
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", c_void_p),
        ("strides", c_void_p),
        ("byte_offset", c_uint64),
    ]


_Sizes = c_int64 * _MAX_NDIM


class _Plain(ctypes.Structure):  # DLManagedTensor
    _fields_ = [
        ("tensor", _Tensor),
        ("manager_ctx", c_void_p),
        ("deleter", c_void_p),
        ("shape", _Sizes),
        ("strides", _Sizes),
    ]


class _Versioned(ctypes.Structure):  # DLManagedTensorVersioned
    _fields_ = [
        ("major", c_uint32),
        ("minor", c_uint32),
        ("manager_ctx", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", _Tensor),
        ("shape", _Sizes),
        ("strides", _Sizes),
    ]


def _function(name: str, result: object, *arguments: object) -> ctypes._FuncPointer:
    function = ctypes.pythonapi[name]  # a private copy: attributes of pythonapi are shared by everyone
    function.restype, function.argtypes = result, arguments
    return function


_new_capsule = _function("PyCapsule_New", ctypes.py_object, c_void_p, c_char_p, c_void_p)
_is_capsule = _function("PyCapsule_IsValid", c_int, ctypes.py_object, c_char_p)
_allocate = _function("PyMem_RawMalloc", c_void_p, c_size_t)  # malloc: outlives the interpreter
_free = _function("PyMem_RawFree", None, c_void_p)
_time = ctypes.cast(ctypes.CDLL(None).time, c_void_p).value


class _Export:
    """One capsule and the block behind it; `owner` is what keeps the tensor's memory in place."""

    __slots__ = ("address", "capsule", "name", "owner", "unmarked")

    def __init__(self, address: int, capsule: object, name: bytes, owner: object) -> None:
        self.address = address
        self.capsule = capsule  # None once somebody took it over
        self.name = name
        self.owner = owner
        self.unmarked = c_uint64.from_address(address).value

    def ended(self) -> bool:
        """Whether nobody can reach the block any more."""
        if c_uint64.from_address(self.address).value != self.unmarked:
            return True
        if self.capsule is None:
            return False
        if not _is_capsule(self.capsule, self.name):  # renamed: consumed
            self.capsule = None
            return False
        return sys.getrefcount(self.capsule) == _LONELY


live: list[_Export] = []  # of every loader: a tensor may outlive its loader. Empty: there is nothing to sweep
_sweeping = threading.Lock()


def sweep() -> None:
    """Let go of the memory of every exported tensor that has died. Does not block."""
    if not _sweeping.acquire(blocking=False):
        return
    try:
        ended = [export for export in live if export.ended()]
        for export in ended:
            live.remove(export)
            _free(export.address)
    finally:
        _sweeping.release()


def _measure_lonely() -> int:
    """The reference count that `ended` sees of a capsule which only its _Export holds."""

    class Probe:
        def __init__(self) -> None:
            self.capsule = object()

        def count(self) -> int:
            return sys.getrefcount(self.capsule)

    return Probe().count()


_LONELY = _measure_lonely()


def capsule(owner: object, address: int, dtype: tuple[int, int, int], device: tuple[int, int], shape: tuple[int, ...],
            strides: tuple[int, ...], versioned: bool, flags: int) -> object:
    """A capsule over memory at address, which owner keeps in place until the consumer's deleter ran.

    strides are in elements. flags (READ_ONLY, IS_COPIED) reach the consumer in a versioned capsule only.
    """
    if live:
        sweep()
    kind = _Versioned if versioned else _Plain
    block = _allocate(ctypes.sizeof(kind))
    if not block:
        raise MemoryError
    managed = kind.from_address(block)
    ctypes.memset(block, 0, ctypes.sizeof(kind))
    if versioned:
        managed.major, managed.minor, managed.flags = 1, 0, flags
    managed.deleter = _time
    managed.shape[:len(shape)] = shape
    managed.strides[:len(strides)] = strides
    tensor = managed.tensor
    tensor.data = address
    tensor.device_type, tensor.device_id = device
    tensor.ndim = len(shape)
    tensor.code, tensor.bits, tensor.lanes = dtype
    tensor.shape = block + kind.shape.offset
    tensor.strides = block + kind.strides.offset
    name = _NAME_VERSIONED if versioned else _NAME
    made = _new_capsule(block, name, None)
    live.append(_Export(block, made, name, owner))
    return made


def _reset_in_child() -> None:
    global _sweeping
    _sweeping = threading.Lock()


os.register_at_fork(after_in_child=_reset_in_child)
