"""Schema, Field and Layout: what every batch of a ring has, and how its tensors lie."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Optional

from . import _c, _dlpack
from ._errors import NotFound
from ._reader import Reader
from ._spelling import nearest
from .arrays import DType, is_dense, numpy_if_installed

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROLES = {_c.ROLE_FIELD: "field", _c.ROLE_INDEX: "index", _c.ROLE_KEY: "key", _c.ROLE_STATUS: "status",
          _c.ROLE_LABEL: "label"}
_AXES = {_c.AXES_NHWC: "NHWC", _c.AXES_NCHW: "NCHW"}


class FieldNotFound(NotFound, KeyError):
    """A batch has no field of this name; the text names the nearest one."""

    __str__ = Exception.__str__  # KeyError would print the text's repr


class Field:
    """What every batch has under one name.

    kind   "dense" or "ragged"
    role   "field", "label", or a column of the engine: "index", "key", "status"
    shape  the capacity, the batch dimension included; a batch may have less, or rows of another shape within its bytes
    axes   "NHWC", "NCHW" or None
    step   of a ragged field: the shape of one step of a row, () for a number; of ragged pictures (channels,)
    extent of ragged pictures: the field that says how high and how wide each is; else None
    """

    __slots__ = ("name", "kind", "role", "dtype", "shape", "axes", "step", "extent", "position", "_layouts")

    _MANY = 64  # layouts worth keeping: one, a short last batch's, some widths of padded fields

    def __init__(self, raw: _c.Tensor, position: int, steps: Mapping[str, list[int]], extents: Mapping[str, str]) -> None:
        self.name: str = raw.name.decode()
        self.step = tuple(steps.get(self.name, ()))
        self.extent: Optional[str] = extents.get(self.name)
        self.kind = "ragged" if raw.kind == _c.RAGGED else "dense"
        self.role = _ROLES.get(raw.role, "field")
        self.dtype = DType(raw.dtype_code, raw.dtype_bits, raw.dtype_lanes)
        self.shape = tuple(raw.shape[:raw.ndim])
        self.axes: Optional[str] = _AXES.get(raw.axes)
        self.position = position
        self._layouts: dict[bytes, Layout] = {}

    def layout(self, raw: bytes) -> Layout:
        """The layout that Lease.tensor gave as raw bytes."""
        layout = self._layouts.get(raw)
        if layout is None:
            layout = Layout(self.dtype, len(self.shape), raw)
            if self.kind == "dense":
                if len(self._layouts) >= self._MANY:
                    self._layouts.clear()
                self._layouts[raw] = layout
        return layout

    def __repr__(self) -> str:
        return f"<spdl.Field {self.name!r} {self.role} {self.kind} {self.dtype}{list(self.shape)}>"


class Layout:
    """How the tensors of a field lie in some batches: shape, strides (bytes), device, and where offsets begin."""

    __slots__ = ("shape", "strides", "offsets", "device", "numpy_dtype", "_memory", "_numpy")

    _RAW = struct.Struct(f"<{_c.MAX_NDIM}q{_c.MAX_NDIM}qQ2i")  # the end of spdl_tensor, from shape on

    def __init__(self, dtype: DType, ndim: int, raw: bytes) -> None:
        values = self._RAW.unpack(raw)
        self.shape: tuple[int, ...] = values[:ndim]
        self.strides: tuple[int, ...] = values[_c.MAX_NDIM:_c.MAX_NDIM + ndim]
        self.offsets: int = values[-3]
        self.device: tuple[int, int] = values[-2:]
        self.numpy_dtype: Any = None  # None: numpy() is not for this layout
        numpy = numpy_if_installed()
        on_host = self.device[0] == _dlpack.CPU
        size = dtype.itemsize
        for extent in self.shape:
            size *= extent
        if numpy and on_host and size and dtype.typestr and is_dense(self.shape, self.strides, dtype.itemsize):
            self.numpy_dtype = numpy.dtype(dtype.typestr)
            self._numpy = numpy
            self._memory: Any = ctypes.c_uint8 * size

    def numpy(self, owner: object, address: int, readonly: bool) -> NDArray[Any]:
        """A numpy view of memory that owner keeps in place; half the cost of the array interface."""
        memory = self._memory.from_address(address)
        memory.owner = owner
        if not readonly:
            return self._numpy.ndarray(self.shape, self.numpy_dtype, memory)
        # not through ndarray(): it looks behind the memoryview and would let `flags.writeable` be set
        return self._numpy.frombuffer(memoryview(memory).toreadonly(), self.numpy_dtype).reshape(self.shape)


class Schema:
    """The fields of a ring by name, in their order; constant for a loader's life.

    device   those in device memory, by the name of the field that they are a copy of
    """

    __slots__ = ("fields", "device", "readonly", "key")

    def __init__(self, reader: Reader, readonly: bool, steps: Mapping[str, list[int]], extents: Mapping[str, str]) -> None:
        self.readonly = readonly
        self.fields: dict[str, Field] = {}
        self.device: dict[str, Field] = {}
        for position in range(reader.ask(reader.api.held.n_tensors)):
            raw = _c.Tensor(ctypes.sizeof(_c.Tensor))
            reader.ask(reader.api.held.schema_tensor, position, raw)
            field = Field(raw, position, steps, extents)
            if raw.device_type == _dlpack.CPU:
                self.fields[field.name] = field
            else:
                self.device[field.name.rpartition("@")[0] or field.name] = field
        self.key = next((field.name for field in self.fields.values() if field.role == "key"), None)

    def __getitem__(self, name: str) -> Field:
        try:
            return self.fields[name]
        except KeyError:
            raise FieldNotFound(self._no_field(name)) from None

    def on_device(self, name: str) -> Field:
        try:
            return self.device[name]
        except KeyError:
            text = self._no_field(name, self.device) if self.device else (
                f'spdl: batch: no field "{name}" in device memory: the engine uploads none; add the key `device` to its description'
            )
            raise FieldNotFound(text) from None

    def _no_field(self, name: object, among: Optional[Mapping[str, Field]] = None) -> str:
        fields = self.fields if among is None else among
        near = nearest(str(name), fields)
        remedy = f'did you mean "{near}"?' if near else f"there are {', '.join(fields)}"
        return f'spdl: batch: no field "{name}"; {remedy}'
