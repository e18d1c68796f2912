"""Batch: a leased batch, as a mapping from field names to arrays."""

from __future__ import annotations

import difflib
import sys
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Iterator, NamedTuple, Optional, Union

from . import _c
from ._errors import NotFound, Stale
from ._reader import Lease, Reader
from .arrays import Array, DType, Ragged, view

if TYPE_CHECKING:
    import numpy

_ROLES = {_c.ROLE_FIELD: "field", _c.ROLE_INDEX: "index", _c.ROLE_KEY: "key", _c.ROLE_STATUS: "status",
          _c.ROLE_LABEL: "label"}
_AXES = {_c.AXES_NHWC: "NHWC", _c.AXES_NCHW: "NCHW"}
_OFFSETS = DType(_c.INT, 64)


class Field(NamedTuple):
    """What every batch has under one name. `shape` is the capacity, the batch dimension included."""

    name: str
    kind: str  # "dense" or "ragged"
    role: str  # "field", "label", or a column of the engine: "index", "key", "status"
    dtype: DType
    shape: tuple[int, ...]
    axes: Optional[str]  # "NHWC", "NCHW" or None
    position: int


class Schema:
    """The fields of a ring, constant for a loader's life."""

    __slots__ = ("fields", "readonly", "key")

    def __init__(self, reader: Reader, readonly: bool) -> None:
        self.readonly = readonly
        fields = [_field(reader, i) for i in range(reader.ask(reader.api.held.n_tensors))]
        self.fields = {field.name: field for field in fields}
        self.key = next((field.name for field in fields if field.role == "key"), None)

    def __getitem__(self, name: str) -> Field:
        try:
            return self.fields[name]
        except KeyError:
            raise FieldNotFound(self._no_field(name)) from None

    def _no_field(self, name: object) -> str:
        near = difflib.get_close_matches(str(name), self.fields, 1)
        remedy = f'did you mean "{near[0]}"?' if near else f"there are {', '.join(self.fields)}"
        return f'spdl: batch: no field "{name}"; {remedy}'


class FieldNotFound(NotFound, KeyError):
    """A batch has no field of this name; the text names the nearest one."""

    __str__ = Exception.__str__  # KeyError would print the text's repr


def _field(reader: Reader, position: int) -> Field:
    raw = _c.Tensor()
    raw.struct_size = _c.ctypes.sizeof(_c.Tensor)
    reader.ask(reader.api.held.schema_tensor, position, raw)
    return Field(
        name=raw.name.decode(),
        kind="ragged" if raw.kind == _c.RAGGED else "dense",
        role=_ROLES.get(raw.role, "field"),
        dtype=DType(raw.dtype_code, raw.dtype_bits, raw.dtype_lanes),
        shape=tuple(raw.shape[:raw.ndim]),
        axes=_AXES.get(raw.axes),
        position=position,
    )


class Batch(Mapping):
    """N samples, leased: `batch["image"]` is a view of shared memory, not a copy.

    A field comes as a numpy array where numpy is installed, as a spdl.Array otherwise and for bfloat16, and as a
    spdl.Ragged if its rows differ in length; array() gives the spdl.Array in any case. On a ring of shared access
    views are read-only, on a private one they may be written. A view stays valid as long as it lives, and so
    long the batch's slot stays leased.

    In a for loop a batch ends when the next one is asked for; only views and copies taken before remain. A batch of
    Loader.acquire() ends with its with-block, with release(), or with the last reference to it.

    One batch is for one thread at a time; its views may go anywhere.
    """

    __slots__ = ("_lease", "_raw", "_schema", "__weakref__")

    def __init__(self, lease: Lease, schema: Schema) -> None:
        self._lease: Optional[Lease] = lease
        self._raw = lease.raw
        self._schema = schema

    # ---- fields

    def __getitem__(self, name: str) -> Union[numpy.ndarray, Array, Ragged]:
        """A view of one field. Raises KeyError (as spdl.NotFound), and Stale once the batch has ended."""
        return view(self.array(name))

    def array(self, name: str) -> Union[Array, Ragged]:
        """One field as spdl.Array or spdl.Ragged, with numpy or without."""
        field = self._schema[name]
        lease = self._lease
        if lease is None:
            raise self._ended(f'take "{name}" of')
        raw = lease.tensor(field.position)
        ndim = raw.ndim
        values = Array(lease, raw.data, tuple(raw.shape[:ndim]), tuple(raw.strides[:ndim]), field.dtype,
                       self._schema.readonly, (raw.device_type, raw.device_id))
        if field.kind == "dense":
            return values
        offsets = Array(lease, raw.offsets, (self.rows + 1,), (8,), _OFFSETS, self._schema.readonly)
        return Ragged(values, offsets)

    def __iter__(self) -> Iterator[str]:
        return iter(self._schema.fields)

    def __len__(self) -> int:
        """The number of fields; the number of samples is `rows`."""
        return len(self._schema.fields)

    def __contains__(self, name: object) -> bool:
        return name in self._schema.fields

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def sample_keys(self) -> list[str]:
        """The samples' names, as the source gives them (a path within the folder, say). Copied."""
        if self._schema.key is None:
            raise FieldNotFound("spdl: batch: this ring has no keys")
        keys = self.array(self._schema.key)
        return [keys.bytes_of(row).decode("utf-8", "surrogateescape") for row in range(self.rows)]

    def copy(self) -> dict[str, Any]:
        """All fields in memory of their own, free of the slot, by name."""
        return {name: view(self.array(name).copy()) for name in self}

    # ---- what is known of it; valid after its end, too

    @property
    def ticket(self) -> int:
        """Its place in the delivery order, never reused."""
        return self._raw.ticket

    @property
    def epoch(self) -> int:
        """From 0."""
        return self._raw.epoch

    @property
    def step(self) -> int:
        """The global step since the start of training, from 0."""
        return self._raw.step

    @property
    def rows(self) -> int:
        """Samples in it; 0 if every one was bad and skipped."""
        return self._raw.rows

    @property
    def lane(self) -> int:
        return self._raw.lane

    @property
    def attempts(self) -> int:
        """1 for a first delivery; more if earlier holders died."""
        return self._raw.attempts

    @property
    def flags(self) -> int:
        """spdl.BATCH_LAST, BATCH_SHORT, BATCH_BAD, BATCH_PADDED, BATCH_KEY_CUT."""
        return self._raw.flags

    @property
    def last(self) -> bool:
        """Whether it is the last of its epoch in its lane."""
        return bool(self._raw.flags & _c.BATCH_LAST)

    @property
    def n_bad(self) -> int:
        """Samples that were skipped, masked or substituted."""
        return self._raw.n_bad

    @property
    def hash(self) -> int:
        """0 if not computed."""
        return self._raw.hash

    @property
    def fetched_ns(self) -> int:
        """When its last byte was read, on CLOCK_MONOTONIC (time.monotonic_ns)."""
        return self._raw.fetched_ns

    @property
    def decoded_ns(self) -> int:
        """When its last row was written, on CLOCK_MONOTONIC."""
        return self._raw.decoded_ns

    @property
    def published_ns(self) -> int:
        """When consumers could first see it, on CLOCK_MONOTONIC."""
        return self._raw.published_ns

    @property
    def ended(self) -> bool:
        """Whether it was given back; fields can no longer be taken then."""
        return self._lease is None

    def __repr__(self) -> str:
        raw = self._raw
        ended = " ended" if self.ended else ""
        return f"<spdl.Batch ticket {raw.ticket} epoch {raw.epoch} step {raw.step} rows {raw.rows}{ended}>"

    # ---- its end

    def done(self) -> None:
        """Say that it was used: it will not be delivered again, whatever happens. It stays readable."""
        if self._lease is None:
            raise self._ended("mark")
        self._lease.done()

    def release(self) -> None:
        """Give the slot back now; implies done().

        Raises BufferError while views are alive, since their memory would be filled with another batch under them:
        the batch is done then, and its slot goes back with the last view. Raises Stale if it was given back before.
        """
        lease = self._lease
        if lease is None:
            raise self._ended("release")
        if not lease.reader.closed:  # a closed loader completes nothing any more: the slot goes back all the same
            lease.done()
        alive = weakref.ref(lease)
        self._lease = lease = None
        lease = alive()
        if lease is not None:
            self._lease = lease
            raise BufferError(
                f"spdl: release batch of ticket {self.ticket}: views of it are alive; delete them first, or go on "
                "without release(): the slot goes back with the last of them"
            )

    def _retire(self) -> None:
        """Mark it done and let go of it: the slot goes back now, or with the last view of it."""
        lease = self._lease
        if lease is not None:
            self._lease = None
            if sys.getrefcount(lease) > 2:  # views hold it, too; without any, the release that follows implies done
                lease.reader.done(lease.raw)

    def _ended(self, what: str) -> Stale:
        return Stale(
            f"spdl: {what} batch of ticket {self.ticket}: it was given back already, by release() or when the loop "
            "asked for the next one; take views or copy() before that"
        )

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, *exception: object) -> None:
        self._retire()
