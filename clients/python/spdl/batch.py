"""Batch: a leased batch, as a mapping from field names to arrays."""

from __future__ import annotations

import gc
import sys
import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Iterator, NoReturn, Optional, Union

from . import _c, _dlpack
from ._errors import Stale, Unsupported
from ._reader import FREE_THREADED, Lease
from ._spelling import lacks, nearest
from .arrays import Array, DType, Ragged, view
from .schema import Field, FieldNotFound, Layout, Schema

_OFFSETS = DType(_c.INT, 64)
_TENSORS = {"to", "cpu", "numpy", "torch", "tensor", "float", "half", "shape", "size", "dim", "dtype", "device"}  # what one asks a tensor


class Batch(Mapping[str, Any]):
    """N samples, leased: `batch["image"]` is a view of shared memory, not a copy.

    A field comes as a numpy array where numpy is installed, as a spdl.Array otherwise and for bfloat16, and as a
    spdl.Ragged if its rows differ in length; array() gives the spdl.Array in any case. On a ring of shared access
    views are read-only, on a private one and in a stage they may be written. A view stays valid as long as it lives,
    and so long the batch's slot stays leased.

    In a stage the batch goes to the next group when it ends or is done: a view then shows what others make of that
    memory, and must not be written. A batch whose with-block ends in an exception has failed, see fail().

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

    def __getitem__(self, name: str) -> Any:
        """A view of one field; of which kind the description decides, so to a type checker it is Any. Raises KeyError (as spdl.NotFound), and Stale once the batch has ended."""
        lease, field = self._lease, self._schema[name]
        if lease is None:
            raise self._ended(f'take "{name}" of')
        address, raw = lease.tensor(field.position)
        layout = field.layout(raw)
        if layout.numpy_dtype is not None and field.kind == "dense":
            return layout.numpy(lease, address, self._schema.readonly)
        return view(self._array(field, lease, address, layout))

    def array(self, name: str) -> Any:
        """One field as spdl.Array, or spdl.Ragged where its rows differ in length, with numpy or without."""
        lease, field = self._lease, self._schema[name]
        if lease is None:
            raise self._ended(f'take "{name}" of')
        address, raw = lease.tensor(field.position)
        return self._array(field, lease, address, field.layout(raw))

    if not TYPE_CHECKING:  # to a type checker it would say that every name is there
        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise lacks("'Batch' object", name, ())
            remedy, field = "", nearest(name, self)
            if field:
                remedy = f'write batch["{field}"]' if field == name else f'did you mean batch["{field}"]?'
            elif name in _TENSORS:
                remedy = 'it is a mapping: batch["image"] is a numpy view of one field, batch.array("image").torch() a tensor'
            raise lacks("'Batch' object", name, dir(type(self)), remedy)

    @property
    def cuda(self) -> DeviceFields:
        """The fields that the engine uploads (`device` in the description): `batch.cuda["image"]` is a spdl.Array in device
        memory, for torch(), `__dlpack__` or `__cuda_array_interface__`. Empty where there is no such key."""
        return DeviceFields(self)

    def _array(self, field: Field, lease: Lease, address: int, layout: Layout) -> Union[Array, Ragged]:
        readonly = self._schema.readonly
        values = Array(lease, address, layout.shape, layout.strides, field.dtype, readonly, layout.device)
        if field.kind == "dense":
            return values
        extents = self.array(field.extent) if field.extent else None
        return Ragged(values, Array(lease, layout.offsets, (self.rows + 1,), (8,), _OFFSETS, readonly), field.step, extents, field.axes == "NCHW")

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
        return self.text(self._schema.key)

    def text(self, name: str, errors: str = "surrogateescape") -> list[str]:
        """A field of text, such as captions, as one str a sample, copied; see Ragged.text."""
        field = self.array(name)
        if not isinstance(field, Ragged):
            raise TypeError(f'spdl: text of field "{name}": got {field!r}, want ragged bytes, such as a column of type text')
        return field.text(errors)

    def copy(self) -> dict[str, Any]:
        """All fields in memory of their own, free of the slot, by name."""
        return {name: view(self.array(name).copy()) for name in self}

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise Unsupported(
            "spdl: pickle or copy batch: it is leased to this process, whose memory its views are of; "
            "pass batch.copy() on, or attach the other process to the ring"
        )

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
        """The lane that it came by; 0 in a group without lanes."""
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
        """Samples that were skipped, masked or substituted, or are without some of their documents (source.packing)."""
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
        return f"<spdl.Batch ticket {raw.ticket} epoch {raw.epoch} step {raw.step} rows {raw.rows} of {', '.join(self)}{ended}>"

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
        if self._lease is None:
            raise self._ended("release")
        if not self._lease.reader.closed:  # a closed loader completes nothing any more: the slot goes back all the same
            self._lease.done()
        if not self._unviewed():
            raise BufferError(
                f"spdl: release batch of ticket {self.ticket}: views of it are alive; delete them first, or go on "
                "without release(): the slot goes back with the last of them"
            )
        lease, self._lease = self._lease, None
        lease.end()

    def release_after(self, stream: Any = None) -> None:
        """Give the slot back when what is in the stream so far has ended: copies of this batch to a GPU, above all.

        stream: of torch, CuPy, numba or cuda.core, or its handle as an int; a torch.cuda.Event; None: the default stream. The batch
        ends here and counts as used; no call waits, and no slot is filled under a running copy. Close() waits for it.

        Raises BufferError while views are alive, Stale if it was given back before, DeviceError if the driver refuses; the
        batch is as it was then.
        """
        from . import _gpu

        if self._lease is None:
            raise self._ended("release")
        if not self._unviewed():
            raise BufferError(
                f"spdl: release_after batch of ticket {self.ticket}: views of it are alive; delete them first, the copies "
                "that run do not need them"
            )
        _gpu.release_after(self._lease, stream)
        self._lease = None

    def _holders(self) -> int:
        return sys.getrefcount(self._lease)

    def _unviewed(self) -> bool:
        """Whether no view of it lives. Views that live nowhere but in the interpreter's books do not count."""
        if _dlpack.live:
            _dlpack.sweep()
        if self._holders() != ALONE and FREE_THREADED:
            gc.collect()  # another thread dropped it last, perhaps
        return self._holders() == ALONE

    def _swap(self, epoch: int) -> Batch | int:
        """End, and return the next batch of the epoch in the same lease, or the news; for a batch whose lease nobody else holds."""
        lease: Lease = self._lease  # type: ignore[assignment]  # who asks has seen that it has one
        status = lease.reader.swap(lease, epoch)
        self._lease = None
        return status if status else Batch(lease, self._schema)

    def fail(self, why: str) -> None:
        """In a stage, say that it cannot be transformed, and why. It ends here.

        The engine goes on by the description's bad_sample, as if every sample of it were bad: a batch without rows,
        one of masked rows, or the end. Asks the engine: up to 10 s. Raises ArgumentError outside a stage.
        """
        lease = self._lease
        if lease is None:
            raise self._ended("fail")
        lease.fail(why)
        self._lease = None

    def _retire(self) -> None:
        """Mark it done and let go of it: the slot goes back now, or with the last view of it."""
        if self._lease is None:
            return
        viewed = self._holders() != ALONE
        lease, self._lease = self._lease, None
        if lease.spare is not None:
            lease.reader.rescue(lease)
        if viewed or lease.reader.stage:  # else the release implies done
            lease.reader.done(lease.raw)
            lease.passed = True
        if not viewed:
            lease.end()

    def _leave(self, error: Optional[BaseException]) -> None:
        """End a block that used it. In a stage an exception means that it is not transformed."""
        if self._lease is None or error is None or not self._lease.reader.stage:
            self._retire()
        elif isinstance(error, Exception):
            self.fail("".join(traceback.format_exception_only(type(error), error)).strip())

    def _ended(self, what: str) -> Stale:
        return Stale(
            f"spdl: {what} batch of ticket {self.ticket}: it was given back already, by release() or when the loop "
            "asked for the next one; take views or copy() before that"
        )

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, kind: object, error: Optional[BaseException], trace: object) -> None:
        self._leave(error)


class DeviceFields(Mapping[str, Array]):
    """The fields of a batch that lie in device memory, by name."""

    __slots__ = ("_batch",)

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    def __getitem__(self, name: str) -> Array:
        """A view of one field in device memory. Raises KeyError (as spdl.NotFound), PoolLost, Stale once the batch has ended."""
        batch = self._batch
        lease, field = batch._lease, batch._schema.on_device(name)
        if lease is None:
            raise batch._ended(f'take "{name}" of')
        address, raw = lease.tensor(field.position)
        layout = field.layout(raw)
        return Array(lease, address, layout.shape, layout.strides, field.dtype, batch._schema.readonly, layout.device)

    def __iter__(self) -> Iterator[str]:
        return iter(self._batch._schema.device)

    def __len__(self) -> int:
        return len(self._batch._schema.device)


def _measure_alone() -> int:
    """What Batch._holders says of a lease without views; interpreters count differently."""
    lease: Any = Lease.__new__(Lease)
    lease.raw = lease.spare = lease.reader = None
    lease.passed = True
    batch = Batch.__new__(Batch)
    batch._lease = lease
    del lease
    return batch._holders()


ALONE = _measure_alone()
