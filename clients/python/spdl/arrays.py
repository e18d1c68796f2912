"""Array and Ragged: what a field of a batch looks like, whoever wants to read it.

Both are views: they copy nothing, and the batch's slot stays leased until the last of them, and of whatever was
made from them, has died. numpy, torch and jax take an Array through `__array_interface__` or DLPack.

Nothing here imports numpy or torch before it is asked for one of theirs.
"""

from __future__ import annotations

import ctypes
import operator
import pickle
import struct
import warnings
from typing import TYPE_CHECKING, Any, Iterator, Optional, SupportsIndex, Union, overload

from . import _dlpack
from ._errors import ArgumentError, Unsupported

if TYPE_CHECKING:
    import builtins

    import jax
    import torch
    from numpy.typing import NDArray


_DEFAULT_STREAM = 1  # the legacy default stream, as DLPack and the CUDA array interface number it


class DType:
    """A type of elements: `name` as numpy spells it, `itemsize` in bytes, `dlpack` as (code, bits, lanes).

    `typestr` is numpy's `__array_interface__` code and `format` the memoryview one; None where there is none.
    """

    __slots__ = ("name", "itemsize", "dlpack", "typestr", "format")

    _NAMES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex"}
    _KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}
    _FORMATS = {"int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I",
                "int64": "q", "uint64": "Q", "float32": "f", "float64": "d", "bool": "?"}

    def __init__(self, code: int, bits: int, lanes: int = 1) -> None:
        name = "bool" if (code, bits) == (6, 8) else f"{self._NAMES.get(code, f'code{code}_')}{bits}"
        self.name = name if lanes == 1 else f"{name}x{lanes}"
        self.itemsize = (bits * lanes + 7) // 8
        self.dlpack = (code, bits, lanes)
        plain = lanes == 1 and bits % 8 == 0 and code in self._KINDS
        self.typestr = f"{'|' if bits == 8 else '<'}{self._KINDS[code]}{bits // 8}" if plain else None
        self.format = self._FORMATS.get(self.name)

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self.dlpack == other.dlpack
        return NotImplemented if not isinstance(other, str) else self.name == other

    def __hash__(self) -> int:
        return hash(self.name)


BOOL = DType(6, 8)


class Array:
    """A dense tensor in memory that something else owns: `shape`, `strides` (bytes), `dtype`, `nbytes`, `readonly`.

    Of a batch it is a view of the batch's slot, read-only on a ring of shared access. `numpy()`, `torch()`, `jax()`
    and `memoryview()` give the same memory to others, `copy()` and `bytes()` an own one, and so do copy.copy, copy.deepcopy and pickle (with
    protocol 5 out of band, where that is asked for). It is no buffer itself: numpy would prefer that to the array interface, and buffers
    know neither half floats nor empty shapes.
    """

    __slots__ = ("_owner", "_address", "shape", "strides", "dtype", "readonly", "_device", "_copied", "__weakref__")

    def __init__(self, owner: object, address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType,
                 readonly: bool, device: tuple[int, int] = (_dlpack.CPU, 0), copied: bool = False) -> None:
        self._owner: Any = owner  # of device memory the lease
        self._address = address
        self.shape = shape
        self.strides = strides
        self.dtype = dtype
        self.readonly = readonly
        self._device = device
        self._copied = copied

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Elements."""
        return _size(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of its elements, without gaps that strides leave between them."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        """A numpy view's. Raises what numpy() raises where there is none; tolist() and memoryview() need no numpy."""
        return self.numpy()[key]

    def __repr__(self) -> str:
        return f"<spdl.Array {self.dtype}{list(self.shape)}{' read-only' if self.readonly else ''}>"

    def copy(self) -> Array:
        """The same elements, dense, in memory of their own: writable, and free of the batch."""
        self._need_cpu("copy")
        memory, address = _aligned(self.nbytes)
        if is_dense(self.shape, self.strides, self.dtype.itemsize):
            ctypes.memmove(address, self._address, self.nbytes)
            strides = self.strides
        else:
            strides = _dense_strides(self.shape, self.dtype.itemsize)
            _copy_strided(address, strides, self._address, self.strides, self.shape, self.dtype.itemsize)
        return Array(memory, address, self.shape, strides, self.dtype, False, copied=True)

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        """The elements, and what a subclass adds to them; never the address. Raises Unsupported for memory of a device."""
        self._need_cpu("pickle or copy")
        if operator.index(protocol) >= 5 and self.nbytes:
            data: Any = pickle.PickleBuffer(self._dense()._flat())
        else:
            data = bytes(self)
        state: Any = object.__reduce_ex__(self, 2)[2]
        attributes, slots = state
        slots = {name: value for name, value in slots.items() if name not in Array.__slots__}
        return _unpickled, (type(self), data, self.shape, self.dtype.dlpack), (attributes, slots)

    # ---- numpy

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if self.dtype.typestr is None or self._device[0] != _dlpack.CPU:
            raise self._no_numpy()
        return {"version": 3, "shape": self.shape, "typestr": self.dtype.typestr, "strides": self.strides,
                "data": (self._address, self.readonly)}

    def numpy(self) -> NDArray[Any]:
        """A numpy view. Raises Unsupported for bfloat16, which numpy has not, and ImportError without numpy."""
        import numpy

        if self.dtype.typestr is None or self._device[0] != _dlpack.CPU:
            raise self._no_numpy()
        return numpy.asarray(self)

    def _no_numpy(self) -> Unsupported:
        self._need_cpu("numpy view")
        return Unsupported(f"spdl: numpy view of {self!r}: numpy has no {self.dtype}; use torch() or __dlpack__")

    def _need_cpu(self, what: str) -> None:
        if self._device[0] != _dlpack.CPU:
            raise Unsupported(f"spdl: {what} of {self!r}: it lies on device {self._device}; use __dlpack__")

    # ---- DLPack

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device

    def __dlpack__(self, *, stream: Optional[int] = None, max_version: Optional[tuple[int, int]] = None,
                   dl_device: Optional[tuple[int, int]] = None, copy: Optional[bool] = None) -> object:
        """A capsule for from_dlpack. Read-only memory needs a consumer that speaks DLPack 1.0 or takes a copy;
        for others it raises BufferError."""
        if stream is not None and self._device[0] == _dlpack.CPU:
            raise ArgumentError(f"spdl: dlpack of {self!r}: stream {stream!r} for memory of the CPU, want None")
        if stream == 0:
            raise ArgumentError(f"spdl: dlpack of {self!r}: stream 0, want 1 (the default one), 2, -1 or a handle")
        if dl_device is not None and tuple(dl_device) != self._device:
            raise BufferError(f"spdl: dlpack of {self!r}: it lies on device {self._device}, got {tuple(dl_device)}")
        if copy:
            return self.copy().__dlpack__(max_version=max_version)
        if stream != -1:
            self._wait(stream)
        versioned = max_version is not None and max_version[0] >= 1
        if self.readonly and not versioned:
            raise BufferError(
                f"spdl: dlpack of {self!r}: the consumer cannot mark memory read-only (it asks for DLPack {max_version}, "
                "want 1.0 or newer); jax() and torch() take it, or pass a copy(), or use a ring of private access"
            )
        return self._capsule(versioned)

    def _capsule(self, versioned: bool) -> object:
        flags = (_dlpack.READ_ONLY if self.readonly else 0) | (_dlpack.IS_COPIED if self._copied else 0)
        size = self.dtype.itemsize
        strides = tuple(stride // size for stride in self.strides)
        return _dlpack.capsule(self._owner, self._address, self.dtype.dlpack, self._device, self.shape, strides,
                               versioned, flags)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3. A reader in another stream waits for the default one, which waits for the copy to the device."""
        if self._device[0] != _dlpack.CUDA or self.dtype.typestr is None:
            raise AttributeError(f"spdl: cuda_array_interface of {self!r}: it lies on device {self._device} and is {self.dtype}")
        self._wait(_DEFAULT_STREAM)
        dense = is_dense(self.shape, self.strides, self.dtype.itemsize)
        return {"version": 3, "shape": self.shape, "typestr": self.dtype.typestr, "strides": None if dense else self.strides,
                "data": (self._address, self.readonly), "stream": _DEFAULT_STREAM}

    def _wait(self, stream: Optional[int]) -> None:
        """Have a stream wait until the memory is complete; None: the default one."""
        if self._device[0] == _dlpack.CUDA:
            from . import _gpu

            _gpu.stream_wait(self._owner, _DEFAULT_STREAM if stream is None else stream)

    def torch(self, copy: bool = False) -> torch.Tensor:
        """A torch tensor of the same memory, or with copy=True of its own.

        torch has no read-only tensors. On a ring of shared access this says so once, as a warning: a write into
        such a tensor ends the process (SIGSEGV). Copy what you want to change, or open the ring private. Of a view of bytes
        (spdl.io) a warning says that a write changes them.
        """
        import torch.utils.dlpack

        array = self.copy() if copy else self
        if array._device[0] == _dlpack.CUDA:
            array._wait(torch.cuda.current_stream(array._device[1]).cuda_stream or None)
        if array.readonly:
            _warn_read_only(array._owner)
        return torch.utils.dlpack.from_dlpack(array._capsule(versioned=False))

    def jax(self, copy: bool = False) -> jax.Array:
        """A jax array of the same memory, where that lies, or with copy=True of its own.

        jax speaks DLPack as it was before 1.0, which cannot mark memory read-only. Its arrays are never written, so it is given read-only memory, too,
        with one rule: donate no such array (donate_argnums), as what is donated is written.
        """
        import jax.dlpack
        import jax.numpy

        taken = jax.dlpack.from_dlpack(_Unmarked(self))
        return jax.numpy.array(taken, copy=True) if copy else taken

    # ---- without numpy

    def memoryview(self) -> builtins.memoryview:
        """The elements as a memoryview of this shape; flat bytes for types that memoryview has not.

        Raises BufferError where rows are padded: numpy() has those, or copy().
        """
        self._need_cpu("memoryview")
        if not is_dense(self.shape, self.strides, self.dtype.itemsize):
            raise BufferError(f"spdl: memoryview of {self!r}: its rows are padded; use numpy() or copy().memoryview()")
        view: Any = self._flat()
        if self.dtype.format is not None and self.nbytes:
            view = view.cast(self.dtype.format, self.shape)
        return view

    def _flat(self) -> builtins.memoryview:
        """The bytes of a dense array, a view."""
        memory: Any = (ctypes.c_uint8 * self.nbytes).from_address(self._address)
        memory.owner = self._owner
        view = memoryview(memory).cast("B")
        return view.toreadonly() if self.readonly else view

    def tolist(self) -> list[Any]:
        """The elements as nested lists of Python numbers. Raises Unsupported for types that Python has no numbers for."""
        if self.size and self.dtype.format is not None:
            return self._dense().memoryview().tolist()
        return _nested(_floats(self), self.shape)

    def __bytes__(self) -> bytes:
        """The elements in C order, as they are in memory."""
        return self._dense().memoryview().tobytes()

    def _dense(self) -> Array:
        return self if is_dense(self.shape, self.strides, self.dtype.itemsize) else self.copy()


class _Unmarked:
    """An array for a consumer that cannot be told that memory is read-only, and writes into none."""

    __slots__ = ("_array",)

    def __init__(self, array: Array) -> None:
        self._array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()

    def __dlpack__(self, *, stream: Optional[int] = None, **unread: Any) -> object:
        if stream != -1:
            self._array._wait(stream)
        return self._array._capsule(versioned=False)


class Ragged:
    """Rows of different lengths: row i is `values[offsets[i]:offsets[i + 1]]`, in the shape [length, *step].

    `values` and `offsets` ([rows + 1] int64) are Arrays; `ragged[i]` is a view of row i, a numpy one where numpy
    is installed, and `ragged[i:j]` a list of such views. `step` is the shape of one step of a row, such as (height, width, channels) of a video's frames; () where
    a step is a number. A copy, also by the module copy or by pickle, has memory of its own.

    Pictures, each of its own size, have `extents` ([rows, 2] int64), the height and the width of each: row i is [height, width, channels], or
    [channels, height, width] where they are `planar` (layout: NCHW), whose channels, where step does not say them, are as many as the row has, as of
    masks of objects. Of others extents are None.
    """

    __slots__ = ("values", "offsets", "step", "extents", "planar")

    def __init__(self, values: Array, offsets: Array, step: tuple[int, ...] = (), extents: Optional[Array] = None, planar: bool = False) -> None:
        self.values = values
        self.offsets = offsets
        self.step = step
        self.extents = extents
        self.planar = planar

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def steps(self) -> Array:
        """The steps of all rows, one behind the other, [steps, *step], such as the pictures of a batch; a view."""
        values = self.values
        shape = (len(values) // _size(self.step), *self.step)
        return Array(values._owner, values._address, shape, _dense_strides(shape, values.dtype.itemsize), values.dtype, values.readonly, values._device)

    @overload
    def __getitem__(self, row: int) -> Union[NDArray[Any], Array]: ...
    @overload
    def __getitem__(self, row: slice) -> list[Union[NDArray[Any], Array]]: ...

    def __getitem__(self, row: Union[int, slice]) -> Any:
        if isinstance(row, slice):
            return [self[number] for number in range(*row.indices(len(self)))]
        return view(self._row(self._number(row)))

    def __iter__(self) -> Iterator[Union[NDArray[Any], Array]]:
        return (self[row] for row in range(len(self)))

    def __repr__(self) -> str:
        return f"<spdl.Ragged {len(self)} rows of {self.values.dtype}{list(self.step) if self.step else ''}>"

    def copy(self) -> Ragged:
        """The same rows in memory of their own."""
        return Ragged(self.values.copy(), self.offsets.copy(), self.step, None if self.extents is None else self.extents.copy(), self.planar)

    __copy__ = copy

    def __reduce__(self) -> tuple[Any, ...]:
        return Ragged, (self.values, self.offsets, self.step, self.extents, self.planar)

    def bytes_of(self, row: int) -> bytes:
        """The bytes of one row, copied; -1 is the last. Raises IndexError for a row that there is not."""
        array = self._row(self._number(row))
        return ctypes.string_at(array._address, array.nbytes)

    def text(self, errors: str = "surrogateescape") -> list[str]:
        """The rows as text, copied: captions, JSON, keys. They are read as UTF-8; errors is str's, and by itself what is
        none comes back with encode("utf-8", "surrogateescape"). Raises TypeError for rows that are no bytes."""
        if self.values.dtype != "uint8" or self.step:
            raise TypeError(f"spdl: text of {self!r}: got no bytes; want a field of text, such as a column of type text")
        return [self.bytes_of(row).decode("utf-8", errors) for row in range(len(self))]

    def _number(self, row: int) -> int:
        """A row's number from 0, of one that may count from the end."""
        try:
            number = operator.index(row)
        except TypeError:
            raise TypeError(f"spdl: row {row!r:.60} of {self!r}: got {type(row).__name__}, want a whole number; of several rows [ragged[i] for i in rows]") from None
        if not -len(self) <= number < len(self):
            raise IndexError(f"spdl: row {number} of a ragged field of {len(self)} rows")
        return number % len(self)

    def _row(self, row: int) -> Array:
        values = self.values
        limits = (ctypes.c_int64 * 2).from_address(self.offsets._address + 8 * row)
        start, end = limits
        if not 0 <= start <= end <= len(values):
            raise IndexError(f"spdl: row {row} lies at [{start}, {end}) of {len(values)} values: the batch is damaged")
        shape = self._shape(row, end - start)
        return Array(values._owner, values._address + start * values.strides[0], shape,
                     _dense_strides(shape, values.dtype.itemsize), values.dtype, values.readonly, values._device)

    def _shape(self, row: int, size: int) -> tuple[int, ...]:
        """That of a row of so many values."""
        if self.extents is None:
            return (size // _size(self.step), *self.step)
        height, width = (ctypes.c_int64 * 2).from_address(self.extents._address + 16 * row)
        step = self.step or (size // max(height * width, 1),) * self.planar
        shape = (*step, height, width) if self.planar else (height, width, *step)
        if min(shape) < 0 or _size(shape) != size:
            raise IndexError(f"spdl: row {row} is a picture of {height} x {width} and has {size} values: the batch is damaged")
        return shape


def _aligned(n: int) -> tuple[ctypes.c_char, int]:
    """New memory of n bytes at a multiple of 64: what owns it, and its address."""
    owner = ctypes.c_char.from_buffer(bytearray(n + 63))  # which keeps the bytearray where it is
    return owner, (ctypes.addressof(owner) + 63) & ~63


def _unpickled(kind: type[Array], data: Any, shape: tuple[int, ...], dtype: tuple[int, int, int]) -> Array:
    """An array over what a pickle has: the buffer that came out of band, or else memory of its own."""
    memory, of = memoryview(data).cast("B"), DType(*dtype)
    if memory.nbytes != _size(shape) * of.itemsize:
        raise ArgumentError(f"spdl: unpickle array: got {memory.nbytes} bytes, want those of {of}{list(shape)}: the pickle is damaged")
    owner: Any = None
    if not memory.readonly and memory.nbytes:
        owner = (ctypes.c_char * memory.nbytes).from_buffer(memory)
        address = ctypes.addressof(owner)
    if owner is None or address % of.itemsize:
        owner, address = _aligned(memory.nbytes)
        ctypes.memmove(address, memory.tobytes(), memory.nbytes)
    array = kind.__new__(kind)
    Array.__init__(array, owner, address, shape, _dense_strides(shape, of.itemsize), of, False)
    return array


_NOT_TRIED = object()
_numpy: Any = _NOT_TRIED


def numpy_if_installed() -> Any:
    """numpy, imported on the first call; None without it."""
    global _numpy
    if _numpy is _NOT_TRIED:
        try:
            import numpy as _numpy
        except ImportError:
            _numpy = None
    return _numpy


@overload
def view(array: Array) -> Union[NDArray[Any], Array]: ...
@overload
def view(array: Union[Array, Ragged]) -> Union[NDArray[Any], Array, Ragged]: ...


def view(array: Union[Array, Ragged]) -> Union[NDArray[Any], Array, Ragged]:
    """What a field is handed out as: a numpy view, or the Array itself without numpy and for bfloat16."""
    numpy = numpy_if_installed()
    if numpy is None or isinstance(array, Ragged) or array.dtype.typestr is None or array._device[0] != _dlpack.CPU:
        return array
    return numpy.asarray(array)


_RING = ("this ring is shared, so its memory is read-only, which torch cannot express: a write into the tensor ends the process; "
         "use torch(copy=True) for what you change, or a ring of private access")
_warned: set[str] = set()


def _warn_read_only(owner: object) -> None:
    """Once of rings, and once of what else has memory that is read-only."""
    text = getattr(owner, "read_only", _RING)
    if text not in _warned:
        _warned.add(text)
        warnings.warn(f"spdl: {text}", stacklevel=3)


def _floats(array: Array) -> list[Any]:
    """The elements, one after the other, of types that memoryview has not; none of an empty array."""
    data = bytes(array)
    if array.dtype == "float16":
        return list(struct.unpack(f"<{array.size}e", data))
    if array.dtype == "bfloat16":  # the upper half of a float32
        wide = bytearray(2 * len(data))
        wide[2::4], wide[3::4] = data[0::2], data[1::2]
        return list(struct.unpack(f"<{array.size}f", wide))
    if data:
        raise Unsupported(f"spdl: tolist of {array!r}: Python has no numbers of {array.dtype}; use bytes() or __dlpack__")
    return []


def _nested(flat: list[Any], shape: tuple[int, ...]) -> Any:
    """The elements as lists in lists."""
    if not shape:
        return flat[0]
    if len(shape) == 1:
        return flat
    part = _size(shape[1:])
    return [_nested(flat[i * part:(i + 1) * part], shape[1:]) for i in range(shape[0])]


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for extent in shape:
        size *= extent
    return size


def _dense_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    strides, stride = [], itemsize
    for extent in reversed(shape):
        strides.append(stride)
        stride *= extent
    return tuple(reversed(strides))


def is_dense(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    """Whether the elements lie one after the other, the last dimension first."""
    return strides == _dense_strides(shape, itemsize) or 0 in shape


def _copy_strided(target: int, target_strides: tuple[int, ...], source: int, source_strides: tuple[int, ...],
                  shape: tuple[int, ...], itemsize: int) -> None:
    """Copy what padded fields have: outer dimensions that skip, an inner one that is dense."""
    if is_dense(shape, source_strides, itemsize):
        ctypes.memmove(target, source, itemsize * _size(shape))
        return
    if len(shape) == 1:
        for i in range(shape[0]):
            ctypes.memmove(target + i * target_strides[0], source + i * source_strides[0], itemsize)
        return
    for i in range(shape[0]):
        _copy_strided(target + i * target_strides[0], target_strides[1:], source + i * source_strides[0],
                      source_strides[1:], shape[1:], itemsize)
