"""Loader: a running or attached engine, iterated epoch by epoch."""

from __future__ import annotations

import ctypes
import functools
import json
import warnings
import weakref
from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Collection, Iterator, Mapping, NamedTuple, Optional, TypeVar, cast

from . import _c, _dlpack, _torchrun
from ._epoch import Epoch
from ._errors import ArgumentError, NotFound, StateError, Timeout, Unsupported
from ._feed import Feed
from ._foreign import TORCH, own_arguments, torchs
from ._hands import Shelf
from ._reader import Lease, Reader, nanoseconds
from ._spelling import lacks
from ._stream import Stream
from .batch import Batch
from .schema import Field, Schema

if TYPE_CHECKING:
    from ._aio import AsyncEpoch
    from ._gpu import PinInfo

_STATES = {_c.STARTING: "starting", _c.RUNNING: "running", _c.ENDED: "ended", _c.FAILED: "failed",
           _c.STOPPED: "stopped", _c.LOST: "lost"}


_Init = TypeVar("_Init", bound=Callable[..., None])


def _made_by_calls(init: _Init) -> _Init:
    """Have a Loader's __init__ tell who calls it with what spdl.open takes, or whatever else, how loaders are made."""

    @functools.wraps(init)
    def made(self: Loader, *given: Any, **named: Any) -> None:
        if not given or not isinstance(given[0], Reader) or len(given) + len(named) > 2 or named.keys() - {"recipe"}:
            got = [type(one).__name__ for one in given] + list(named)
            raise TypeError(f"spdl: Loader: got {', '.join(got) or 'nothing'}; spdl.open(spec) and spdl.attach(name) make loaders")
        init(self, *given, **named)

    return cast(_Init, made)


class Info(NamedTuple):
    """What a loader reads from, and where it is. Times in seconds."""

    name: str
    text: dict[str, Any]  # facts the engine gives: {"classes": [...], ...}
    access: str  # "private" or "shared"
    slots: int
    batch_rows: int  # capacity of the batch dimension
    lanes: int
    world_size: int
    samples: int
    global_batch: int  # rows of a global step over all ranks, at most
    steps_per_epoch: int  # batches per lane and epoch
    epochs: int  # 0: endless
    seed: int
    data_bytes: int
    engine_pid: int
    owner: int  # this consumer's number, never reused within its ring
    group: str
    lane: int
    rank: int
    max_leases: int
    leases: int  # held now
    epoch: int
    acquired: int
    completed: int
    waited: float
    stage: bool  # a member of a stage: it has batches before consumers do, and may write them


_NEXT = "leave it out: each loop over a loader is the next epoch, in an order of its own, and load_state_dict() goes on where another ended"
_ASKED = {  # of other libraries' loaders
    "set_epoch": _NEXT, "reset": _NEXT, "batch_size": "write loader.info.batch_rows", "next": "write loader.acquire(), or next of iter(loader)",
    "dataset": "loader.info has its number of samples, loader.classes the names of its labels", "stop": "write loader.close()", "shutdown": "write loader.close()",
}


class Loader:
    """Batches of one ring of an engine, for one lane of one group. Made by spdl.open, spdl.attach and Loader.ring.

    A for loop is one epoch. It marks a batch done when it asks for the next one, and the batch's slot goes back as
    soon as no view of it lives. After `break`, the next loop goes on in the same epoch; after a `break` at its last
    batch, in the next. `async for` is the same in asyncio.

    In a stage, `attach(name, group="augment")`, the arrays may be written, and done hands the batch on: to the next
    stage, or to the consumers. A worker that ends with a batch in hand has it decoded again for another.

    Threads may share a loader: each call yields another batch, and each thread's loop has a batch in hand of its
    own, but that a generator's loop is one in whatever threads it goes on; all loops over an epoch end with it. Waiting threads let others run. In a forked child every call raises Forked, while views stay readable;
    attach again there. An attached loader can be pickled: it attaches anew, under the same name, group and lane.
    """

    @_made_by_calls
    def __init__(self, reader: Reader, recipe: Optional[tuple] = None) -> None:
        self._reader = reader
        self._recipe = recipe  # arguments of spdl.attach; None: this engine is our child
        self._feed: Optional[Feed] = None  # threads that bring its samples, or their numbers
        self._stream: Optional[Stream] = None  # what they come from, where it is one after the other
        self._tasks: weakref.WeakKeyDictionary[Any, list[Batch]] = weakref.WeakKeyDictionary()  # what each has in hand
        self._host: Optional[_torchrun.Host] = None  # of the other ranks that attach to its engine, and are to be waited for at its end
        self._visit: Optional[weakref.finalize] = None  # what tells local rank 0, whose engine it is, that this rank has left
        self._for_one = False  # opened for all samples, where nothing was known of ranks
        self._held_up = False  # whether a task waits for what others have in hand
        ring = self._ring()
        self._steps = ring.steps_per_epoch
        self._epochs = ring.n_epochs
        self._text = json.loads(ring.text.decode() or "{}") if ring.text else {}
        flags = self._place().flags
        reader.stage = bool(flags & _c.READER_STAGE)
        self._shelf = Shelf(reader.stage)
        reader.shelf = weakref.ref(self._shelf)
        self.schema = Schema(reader, not flags & _c.READER_WRITES, self._text.get("ragged", {}), self._text.get("extents", {}))

    # ---- batches

    def __iter__(self) -> Epoch:
        """Iterate over the rest of the current epoch. Once the data are over, every loop is empty, and warns of it."""
        return Epoch(self)

    def __aiter__(self) -> AsyncIterator[Batch]:
        """The same for `async for`; needs a running asyncio loop. Cancelling a wait loses nothing."""
        from . import _aio  # asyncio costs 40 ms to import

        return _aio.AsyncEpoch(self)

    def __len__(self) -> int:
        """Batches per epoch, in this loader's lane. Of an iterable, and of a sampler without a length, nobody knows: TypeError."""
        return self._steps if self._stream is None else self._stream.batches()

    def epochs(self) -> Iterator[Epoch]:
        """Iterate over the epochs that are left: `for epoch in loader.epochs(): for batch in epoch: ...`"""
        while not self._epochs or self.epoch < self._epochs:
            yield Epoch(self)

    @own_arguments("Loader.ring")
    def ring(self, name: str, *, group: Optional[str] = None, lane: Optional[int] = None, max_leases: Optional[int] = None,
             handoff: bool = False, timeout: Optional[float] = None) -> Loader:
        """Attach to another ring of this loader's engine, where several share one (`rings:` in the description):
        `val = train.ring("val")`. Also of an engine that spdl.open started, which ends with the last of its loaders then.

        name    the ring's, within the engine; "": the first
        lane    None: of another ring this loader's, where it has one and the group there has it, too; else any that is free
        others  as for spdl.attach

        Raises what spdl.attach does, Detached, and Unsupported with an engine of an older release.
        """
        from ._start import attach_ring

        place = self._place()
        if lane is None and place.mode_lanes and name != self._ring().name.decode().partition("/")[2]:
            try:
                return self.ring(name, group=group, lane=place.lane, max_leases=max_leases, handoff=handoff, timeout=timeout)
            except (ArgumentError, NotFound):
                pass  # the group there has no lanes, or not as many, or something else is wrong
        engine = self._recipe[0].partition("/")[0] if self._recipe else ""  # "": of a path, or a child: nothing that pickle could name
        recipe = (f"{engine}/{name}" if name else engine, group, lane, max_leases, handoff, timeout) if engine else None
        other = attach_ring(self, name, recipe, group=group, lane=lane, max_leases=max_leases, handoff=handoff, timeout=timeout)
        ours, theirs = set(self.classes or ()), set(other.classes or ())
        if ours and theirs and ours != theirs:
            warnings.warn(f"spdl: ring {name!r}: its classes are not those of {self.info.name!r}, so a label means another class there: "
                          f"{len(ours - theirs)} are here alone, {len(theirs - ours)} there alone, such as {min(ours ^ theirs)!r}", RuntimeWarning, stacklevel=3)
        return other

    def acquire(self, timeout: Optional[float] = None) -> Optional[Batch]:
        """Lease the next batch, waiting up to timeout seconds; None after the epoch's last.

        The batch is the caller's until its release(), the end of its with-block, or the last reference to it; it
        counts as used then. 0 polls, None waits without limit; other threads run meanwhile, and Ctrl-C is heard.

        After the last epoch it returns None at once. Raises Timeout; LeasesExhausted or Undone where it would wait for
        this very thread; EngineLost, EngineFailed, EngineStopped once nothing published is left; GroupClosed.
        """
        if self._stream is not None:
            self._stream.begin(self.epoch)
        lease = self._reader.acquire(-1 if timeout is None else nanoseconds("acquire", timeout))
        if isinstance(lease, Lease):
            return Batch(lease, self.schema)
        if lease == _c.TIMEOUT:
            raise Timeout(f"spdl: acquire: no batch was ready within {timeout} s")
        return None

    def restart(self) -> None:
        """Leave the rest of this epoch and begin the next. Only for a group with one consumer. Where an epoch has just ended, this is the
        one that comes next: a restart skips the whole of it. Loops over the epoch that is left end."""
        self._let_go()
        self._reader.ask_engine(self._reader.api.free.restart)

    # ---- GPUs

    @own_arguments("Loader.pin")
    def pin(self, device: Optional[int] = None, stage: bool = False) -> PinInfo:
        """Pin the ring's memory, so that `batch.array("image").torch().to("cuda", non_blocking=True)` is a true asynchronous
        copy. Returns what came of it. End such a batch with its release_after(stream).

        device: an ordinal; None: that of the current context, without one 0. stage: where the memory itself cannot be pinned, have
        fields copied to pinned memory when they are taken. Raises Unsupported without a driver, or where the ring is
        shared and the device cannot pin memory that is mapped read-only; NotFound; Busy; OutOfMemory; DeviceError.
        """
        from . import _gpu

        return _gpu.pin(self._reader, device, stage)

    def unpin(self) -> None:
        """Undo pin(), when the batches of release_after() have been given back. close() does it, too."""
        from . import _gpu

        _gpu.unpin(self._reader)

    @property
    def pin_info(self) -> PinInfo:
        """What is pinned now, and how many batches wait for a GPU."""
        from . import _gpu

        return _gpu.info(self._reader)

    # ---- state

    @own_arguments("Loader.state_dict")
    def state_dict(self, count_held: bool = True) -> dict[str, Any]:
        """Which batches are completed, for a checkpoint: small, and plain Python.

        Batches held by this loader count as completed, above all the one in hand of a loop body; with
        count_held=False they do not. Asks the engine: up to 10 s.
        """
        state = self._engine_state(count_held)
        return state if self._stream is None else self._stream.saved(state)

    def _engine_state(self, count_held: bool = True) -> dict[str, Any]:
        return self._json(self._reader.api.free.state_save, _c.STATE_COUNT_HELD if count_held else 0)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved position. Only for the single consumer of a ring, with no batch held but the one in hand. A loop over
        another epoch than the state's ends.

        Raises StateError with what differs.
        """
        try:
            text = json.dumps(state if self._stream is None or not isinstance(state, Mapping) else self._stream.loaded(state))
        except (TypeError, ValueError) as error:
            raise StateError(f"spdl: load state: {error}; pass what state_dict() returned") from None
        self._let_go()
        self._reader.ask_engine(self._reader.api.free.state_load, text.encode())

    # ---- information

    @property
    def classes(self) -> Optional[list[str]]:
        """Names of the labels, by number; None if the source has none."""
        return self._text.get("classes")

    @property
    def epoch(self) -> int:
        """The epoch this loader is in, from 0."""
        return self._place().epoch

    @property
    def state(self) -> str:
        """What the engine does: "starting", "running", "ended", "failed", "stopped" or "lost"."""
        return _STATES[self._reader.ask(self._reader.api.held.engine_state)]

    @property
    def info(self) -> Info:
        """The ring and this loader's place in it, as they are now."""
        ring, place = self._ring(), self._place()
        return Info(
            name=ring.name.decode(), text=self._text,
            access="shared" if ring.access == _c.ACCESS_SHARED else "private",
            slots=ring.n_slots, batch_rows=ring.batch_rows, lanes=ring.n_lanes, world_size=ring.world_size,
            samples=ring.n_samples, global_batch=ring.global_batch, steps_per_epoch=ring.steps_per_epoch,
            epochs=ring.n_epochs, seed=ring.seed, data_bytes=ring.data_bytes, engine_pid=ring.engine_pid,
            owner=place.owner, group=place.group.decode(), lane=place.lane, rank=place.rank,
            max_leases=place.max_leases, leases=place.leases, epoch=place.epoch, acquired=place.acquired,
            completed=place.completed, waited=place.wait_ns / 1e9, stage=self._reader.stage,
        )

    @property
    def fields(self) -> tuple[Field, ...]:
        """What every batch holds, in the order of the schema."""
        return tuple(self.schema.fields.values())

    if not TYPE_CHECKING:  # to a type checker it would say that every name is there
        def __getattr__(self, name: str) -> Any:
            remedy = _ASKED.get(name) or (f"write loader.info.{name}" if name in Info._fields else torchs(name, "loader") if name in TORCH else "")
            raise lacks("'Loader' object", name, dir(type(self)), remedy)

    def stats(self) -> dict[str, Any]:
        """The engine's counters. Asks the engine: up to 10 s."""
        return self._json(self._reader.api.free.stats)

    def _ring(self) -> _c.RingInfo:
        out = _c.RingInfo(ctypes.sizeof(_c.RingInfo))
        self._reader.ask(self._reader.api.held.get_ring_info, out)
        return out

    def _settle_on(self, epoch: Epoch | AsyncEpoch) -> int:
        """The number of the epoch that a loop is over, which its first batch decides."""
        place = self._place()  # not under the lock: it lets go of tensors, which may be another loader's, and take that one's
        if self._epochs and place.epoch >= self._epochs and place.acquired:  # one that comes late to a group that others read is no surprise
            warnings.warn(f"spdl: loop over {self!r}: empty, as its {self._epochs} epochs are over; more come without order.epochs in the description, "
                          "and of an iterable whose __iter__ begins anew", RuntimeWarning, stacklevel=3)
        if self._stream is not None:
            self._stream.begin(place.epoch)
        with self._reader.lock:
            if epoch._number is None:
                epoch._number = place.epoch
            return epoch._number

    def _place(self) -> _c.ReaderInfo:
        _dlpack.sweep()
        out = _c.ReaderInfo(ctypes.sizeof(_c.ReaderInfo))
        self._reader.ask(self._reader.api.held.get_reader_info, out)
        return out

    def _json(self, function: Callable[..., int], *arguments: object) -> dict[str, Any]:
        """Call a function that fills a buffer, with a larger one until the text fits."""
        bytes_, need = 4096, ctypes.c_size_t()
        while True:
            buffer = ctypes.create_string_buffer(bytes_)
            need.value = 0
            status = self._reader.ask_engine(function, *arguments, buffer, bytes_, need, accept=_c.E_ARGUMENT, twice=True)
            if status == _c.OK:
                return json.loads(buffer.value)
            if need.value <= bytes_:
                raise self._reader.error(status)
            bytes_ = need.value + 256  # the text may have grown by the next call

    # ---- life

    @property
    def closed(self) -> bool:
        """Whether close() was called, or the with-block has ended."""
        return self._reader.closed

    def close(self) -> None:
        """Leave the ring, and stop the engine if open() started it. The batch in hand counts as done; others that
        were not done go to the group again. Views of leased batches stay readable: with the last of them, tensors too, the
        membership ends. Waits up to 5 s for an engine that it stops, whose name is free then, and as long for calls of the data set that
        open() was given as source; under torchrun local rank 0, whose engine it is, before that as long for the other ranks
        whose processes have not ended to come and to leave."""
        self._let_go()
        try:
            if not self.closed:
                _torchrun.see_off(self)
        finally:
            self._leave()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, kind: object, error: Optional[BaseException], trace: object) -> None:
        if kind is None:
            self.close()
        else:
            batch = self._shelf.hands.mine.batch
            if self._reader.stage and batch is not None:
                batch._leave(error)
            self._leave()  # the batch in hand was not used: it goes to the group again

    @property
    def _shared_by_ranks(self) -> bool:
        """Whether it is over an engine that local rank 0 opened for its node."""
        return self._host is not None or self._visit is not None

    def _streamed(self) -> bool:
        """Whether its description says that the program's samples come one after the other, or their numbers."""
        return any(source.get("stream", False) for source in self._sources()) or self._is_asked()

    def _is_asked(self) -> bool:
        """Whether its description says that the order is the program's."""
        return any(ring["order"].get("asked", False) for ring in self._rings())

    def _rings(self) -> Collection[dict[str, Any]]:
        """The ring, as the engine took the description; none where no engine serves it."""
        return self._text.get("spec", {}).get("rings", {}).values()

    def _sources(self) -> list[dict[str, Any]]:
        """The ring's source."""
        return [ring["source"] for ring in self._rings()]

    def _text_fields(self) -> frozenset[str]:
        """Fields of text: the key, and the columns that the description calls so, but for outlines, of which a batch has masks."""
        named = {column["name"] for source in self._sources() for column in source.get("columns") or () if column["type"] == "text"}
        return frozenset(name for name, field in self.schema.fields.items()
                         if name == self.schema.key or name in named and field.kind == "ragged" and not field.step and field.extent is None)

    def _takes_arrays(self) -> bool:
        """Whether its description makes columns of arrays of the program's samples, and nothing else."""
        return any(not ring.keys() & {"image", "video", "audio", "fields"} and any(c["type"] == "npy" for c in ring["source"].get("columns", ()))
                   for ring in self._rings())

    def _raise_of_source(self) -> None:
        """An iterable that raised has ended its epoch by it. Whoever comes to that end is told, once."""
        error = self._stream.take_error() if self._stream is not None else None
        if error is not None:
            raise error

    def _leave(self) -> None:
        try:
            self._reader.close()
        finally:
            if self._visit is not None:
                self._visit()
            _torchrun.leave(self)
        if self._feed is not None:
            self._feed.join()

    def __del__(self) -> None:
        reader = getattr(self, "_reader", None)
        if reader is not None:
            if getattr(self, "_host", None) is not None and not reader.closed:
                _torchrun.see_off(self)
            if not reader.detached:  # else it was at the interpreter's end, which takes apart what close() needs
                reader.close()
        stream = getattr(self, "_stream", None)
        if stream is not None:
            stream.end()

    def __repr__(self) -> str:
        if self.closed:
            return "<spdl.Loader closed>"
        info = self.info
        steps = "in an order of one's own" if self._is_asked() else "of an iterable" if self._streamed() else f"of {self._steps} steps"
        return f'<spdl.Loader "{info.name}" group "{info.group}" lane {info.lane} epoch {info.epoch} {steps}>'

    def __reduce__(self) -> tuple:
        if self._recipe is None:
            raise Unsupported(
                "spdl: pickle loader: its engine is a child of this process, which no other can attach to; "
                "run `spdl serve` and use spdl.attach(name)"
            )
        from ._start import attach

        return attach, self._recipe

    def _let_go(self) -> None:
        """Mark the batch in hand done, as asking for the next one would: this thread's, and every asyncio task's."""
        self._shelf.drop(self._shelf.hands.mine)
        tasks = [task() for task in self._tasks.keyrefs()]  # their own list: a loop of another thread may go on meanwhile
        for batches in [self._tasks.pop(task, ()) for task in tasks if task is not None]:
            for batch in batches:
                batch._retire()
