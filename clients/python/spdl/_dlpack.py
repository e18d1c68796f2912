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
the deleter is spdl_dlpack_deleter, a C function whose effect is to store all ones over the first 8 bytes of
the struct: `data` in the one, the version in the other, neither of which anyone reads by then. `sweep` finds
blocks marked that way and lets their memory go. Every call that asks for a batch sweeps, so a slot whose last
tensor died comes back with the next call into the loader. Into a loader that is closed there is none: then the deleter also has the
interpreter's main thread sweep, by Py_AddPendingCall, which needs no lock of its caller. The blocks themselves are used again.

A capsule has no destructor for the same reason. One that nobody consumed is found by its reference count.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from ctypes import c_char_p, c_int, c_size_t, c_uint8, c_uint64, c_void_p
from typing import Any, Callable, Optional

from . import _c
from ._lock import Lock

CPU, CUDA = 1, 2  # DLDeviceType
READ_ONLY, IS_COPIED = 1, 2  # DLPACK_FLAG_BITMASK_*
_MAX_NDIM = 8

_NAME, _NAME_VERSIONED = b"dltensor", b"dltensor_versioned"  # a capsule keeps the pointer: never freed


_TENSOR = "QiiiBBHQQQ"  # data, device type and id, ndim, dtype code, bits, lanes, shape, strides, byte_offset
_PLAIN = struct.Struct(f"<{_TENSOR}QQ{_MAX_NDIM}q{_MAX_NDIM}q")  # manager_ctx, deleter
_VERSIONED = struct.Struct(f"<IIQQQ{_TENSOR}{_MAX_NDIM}q{_MAX_NDIM}q")  # major, minor, manager_ctx, deleter, flags
_PLAIN_SHAPE, _VERSIONED_SHAPE = 64, 80
_BLOCK_BYTES = _VERSIONED.size  # the larger one
_ENDED = 2**64 - 1  # the first 8 bytes after the deleter
_PAD = tuple((0,) * n for n in range(_MAX_NDIM + 1))


def _function(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    function: Any = ctypes.pythonapi[name]  # a private copy: attributes of pythonapi are shared by everyone
    function.restype, function.argtypes = result, arguments
    return function


_new_capsule = _function("PyCapsule_New", ctypes.py_object, c_void_p, c_char_p, c_void_p)
_is_capsule = _function("PyCapsule_IsValid", c_int, ctypes.py_object, c_char_p)
_allocate = _function("PyMem_RawMalloc", c_void_p, c_size_t)  # malloc: outlives the interpreter


class _Block:
    """Memory for one struct of either kind. Never freed, but used again once its tensor has ended."""

    __slots__ = ("address", "memory", "first")

    def __init__(self) -> None:
        self.address = _allocate(_BLOCK_BYTES)
        if not self.address:
            raise MemoryError
        self.memory = (c_uint8 * _BLOCK_BYTES).from_address(self.address)
        self.first = c_uint64.from_address(self.address)


class _Export:
    """One capsule and the block behind it; `owner` is what keeps the tensor's memory in place."""

    __slots__ = ("block", "capsule", "name", "owner")

    def __init__(self, block: _Block, capsule: object, name: bytes, owner: object) -> None:
        self.block = block
        self.capsule = capsule  # None once somebody took it over
        self.name = name
        self.owner = owner

    def ended(self) -> bool:
        """Whether nobody can reach the block any more."""
        if self.block.first.value == _ENDED:
            return True
        if self.capsule is None:
            return False
        lonely = sys.getrefcount(self.capsule) == _LONELY  # before the name: from then on nobody can consume it
        if not _is_capsule(self.capsule, self.name):  # renamed: consumed
            self.capsule = None
            return False
        return lonely

    def late(self) -> bool:
        """Whether it is of a loader that is closed."""
        reader = getattr(self.owner, "reader", None)
        return reader is not None and reader.closed


_idle: list[_Block] = []  # as many as tensors were ever alive at once
live: list[_Export] = []  # of every loader: a tensor may outlive its loader. Empty: there is nothing to sweep


def sweep() -> None:
    """Let go of the memory of every exported tensor that has died. Does not block: several may sweep, and who removes it has it."""
    for export in [export for export in live if export.ended()]:
        try:
            live.remove(export)
        except ValueError:  # another was first
            continue
        _idle.append(export.block)


def watch() -> None:
    """Sweep, and have it done again soon after a tensor of a closed loader died, until none is left."""
    while True:
        _listen(_schedule, _is_true, id(_sweeper))
        sweep()
        if any(export.late() for export in live):
            return
        unwatch()
        if not any(export.late() for export in live):  # another thread, or a finaliser, has closed a loader in between
            return


def unwatch() -> None:
    _listen(None, None, None)


class _Sweeper:
    """Sweeps when it is asked whether it is true. PyObject_IsTrue is what the main thread calls: what is raised within, as by a
    Ctrl-C, is raised in the program then, and is not lost as in a callback of ctypes."""

    def __bool__(self) -> bool:
        watch()
        return False


_sweeper = _Sweeper()
_schedule = ctypes.cast(ctypes.pythonapi.Py_AddPendingCall, c_void_p).value
_is_true = ctypes.cast(ctypes.pythonapi.PyObject_IsTrue, c_void_p).value
_listening = Lock()


def _listen(*arguments: Optional[int]) -> None:
    with _listening:
        _c.library().held.dlpack_listen(*arguments)


def _block() -> _Block:
    try:
        return _idle.pop()
    except IndexError:  # not asked before: another thread may take the last
        return _Block()


def _deleter() -> int:
    global _deleter_address
    if not _deleter_address:
        _deleter_address = ctypes.cast(_c.library().held.dlpack_deleter, c_void_p).value or 0
    return _deleter_address


_deleter_address = 0


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
    block = _block()
    pad = _PAD[_MAX_NDIM - len(shape)]
    place = block.address + (_VERSIONED_SHAPE if versioned else _PLAIN_SHAPE)
    tensor = (address, *device, len(shape), *dtype, place, place + 8 * _MAX_NDIM, 0)
    if versioned:
        name = _NAME_VERSIONED
        _VERSIONED.pack_into(block.memory, 0, 1, 0, 0, _deleter(), flags, *tensor, *shape, *pad, *strides, *pad)
    else:
        name = _NAME
        _PLAIN.pack_into(block.memory, 0, *tensor, 0, _deleter(), *shape, *pad, *strides, *pad)
    made = _new_capsule(block.address, name, None)
    live.append(_Export(block, made, name, owner))
    return made
