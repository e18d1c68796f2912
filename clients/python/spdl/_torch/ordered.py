"""A sampler of the program's own: it is asked for its order at the beginning of each loop, and the samples are brought in that."""

from __future__ import annotations

import copy
import hashlib
import itertools
import operator
import sys
import threading
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Optional

from .._errors import ArgumentError, SpecError, StateError
from .._lock import Lock
from .._stream import End, Stream, once
from . import libraries

_AHEAD = 1 << 20  # numbers that are asked for at once, where there are so many
_LOOKED_AT = 1 << 16  # batches at most of which the largest is looked for
_OF_ENDLESS = 1 << 10  # where there is no length
_TOLD = 1 << 12  # numbers that an engine is told at once
_KEY = "sampler"  # in a state


class Asked(NamedTuple):
    """What is asked for an order."""

    sampler: Any
    name: str  # of the argument: sampler, whose numbers are samples, or batch_sampler, whose are lists of them
    batch: int  # rows of a batch, of batch_sampler at most
    drop_last: bool
    call: str = "open"  # whose argument it is: "DataLoader" for torch's
    backwards: bool = True  # whether numbers below 0 count from the end
    generator: Any = None  # torch's, of which its DataLoader draws a seed before a loop

    def batches(self) -> int:
        """Batches of a loop. Raises TypeError where the sampler does not say it."""
        count = len(self.sampler)
        return count if self.name == "batch_sampler" else count // self.batch if self.drop_last else -(-count // self.batch)

    def refuse(self, what: str) -> ArgumentError:
        return ArgumentError(f"spdl: {self.call}: {self.name}: {type(self.sampler).__qualname__} {what}")


class _Epoch:
    """The order of one, as far as it is known."""

    def __init__(self, rows: Iterator[Any]) -> None:
        self.rows = rows
        self.numbers = array("q")
        self.sizes = array("q")  # of batches that the sampler makes, in rows
        self.over = False


class Order(Stream):
    """Samples by their places in the order of a sampler. One loop's thread begins an epoch, which asks the sampler; one thread of the engine's source gets samples."""

    def __init__(self, asked: Asked, samples: Sequence[Any] = ()) -> None:
        super().__init__(())
        self._samples, self.asked, self._count = samples, asked, len(samples)
        self._changed = threading.Condition(Lock())  # guards the rest
        self._drawn: dict[int, _Epoch] = {}
        self._begun = 0  # how many epochs were
        self._closed = False
        self._wanted: Optional[Mapping[str, Any]] = None  # what a state says of its epoch

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def batches(self) -> int:
        """Of a loop. Raises TypeError where the sampler does not say it."""
        return self.asked.batches()

    # ---- the loop's thread

    def begin(self, epoch: int) -> None:
        """Ask the sampler for an epoch's order, unless it was. Raises what the sampler raises, and ArgumentError of what is no order, StateError of another one than a state's."""
        with self._changed:
            if epoch in self._drawn:
                return
            one = _Epoch(self._rows())
            self._draw(one, max(self.asked.batch, min(_AHEAD, self._said())))
            if not one.numbers:
                raise self.asked.refuse(f"gave nothing in epoch {epoch}, want one sample at least")
            self._check(epoch, one)
            for old in sorted(self._drawn)[:-1]:
                del self._drawn[old]
            self._drawn[epoch] = one
            self._begun += 1
            self._changed.notify_all()

    def _rows(self) -> Iterator[Any]:
        """As torch's loader goes through it, which draws a seed for its workers first; samplers that draw from the same generator go on from there."""
        of = self.asked
        batches = iter(of.sampler) if of.name == "batch_sampler" else None
        torch = sys.modules.get("torch")
        if torch is not None and of.call == "DataLoader":
            torch.empty((), dtype=torch.int64).random_(generator=of.generator)
        return iter(of.sampler) if batches is None else batches

    def _said(self) -> int:
        try:
            return int(self.asked.batches() * self.asked.batch)
        except TypeError:
            return 0

    def _draw(self, one: _Epoch, upto: int) -> None:
        """Ask for numbers until there are so many, or no more."""
        while len(one.numbers) < upto and not one.over:
            wanted = upto - len(one.numbers) if self.asked.name == "sampler" else 1
            rows: list[Any] = []
            try:
                rows.extend(itertools.islice(one.rows, wanted))
            finally:  # where it raises, too, behind those that it gave
                one.over = len(rows) < wanted
                if self.asked.name == "sampler":
                    self._extend(one, rows)
                else:
                    for row in rows:
                        self._append(one, row)

    def _extend(self, one: _Epoch, rows: list[Any]) -> None:
        """Numbers of samples: as a rule plain ones, which are looked at together."""
        try:
            numbers = array("q", rows)
            if numbers and 0 <= min(numbers) and max(numbers) < self._count and bool not in set(map(type, rows)):
                one.numbers.extend(numbers)
                return
        except (TypeError, OverflowError):
            pass
        for row in rows:
            one.numbers.append(self._number(row, len(one.numbers)))

    def _append(self, one: _Epoch, row: Any) -> None:
        """A batch. One that is short is filled up with its last sample again when another follows."""
        try:
            numbers = [self._number(each, place) for place, each in enumerate(row)]
        except TypeError:
            raise self.asked.refuse(f"gave {row!r:.60} as batch {len(one.sizes)}, want a list of numbers of samples") from None
        if not 0 < len(numbers) <= self.asked.batch:
            raise self.asked.refuse(f"gave {len(numbers)} samples as batch {len(one.sizes)}, want 1 to {self.asked.batch}, as many as its batch_size says, or its largest batch had when the loader was made; "
                                     "say batch_size in it, self.batch_size = N")
        lacks = len(one.sizes) * self.asked.batch - len(one.numbers)
        one.numbers.extend([one.numbers[-1]] * lacks if lacks else [])
        one.numbers.extend(numbers)
        one.sizes.append(len(numbers))

    def _number(self, row: Any, place: int) -> int:
        row = row.tolist() if hasattr(row, "tolist") else row
        try:
            number = -1 if isinstance(row, bool) else operator.index(row)
        except TypeError:
            number = self._count
        if not (-self._count if self.asked.backwards else 0) <= number < self._count or isinstance(row, bool):
            raise self.asked.refuse(f"gave {row!r:.60} at {place}, want numbers of samples, whole ones from 0 to {self._count - 1}")
        return number % self._count

    # ---- the source's thread

    def get(self, epoch: int, index: int, token: int) -> Any:
        return self._samples[self._from(epoch, index, 1)[0]]

    def _from(self, epoch: int, index: int, most: int) -> array[int]:
        """The numbers from a place on, as far as they are known, one at least. Raises End behind the last."""
        with self._changed:
            begun = self._begun
            while True:
                one = self._drawn.get(epoch)
                if self._closed:
                    raise End
                if one is not None:
                    break
                if self._begun != begun:
                    raise LookupError(f"sample {index} of epoch {epoch} is not wanted any more")
                self._changed.wait()
            try:
                self._draw(one, index + 1)
            except BaseException as error:
                with self._telling:
                    self._error = error
            if index >= len(one.numbers):
                raise End
            return one.numbers[index:index + most]

    def end(self) -> None:
        """Nothing is wanted any more: whoever waits for an order is told."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    # ---- batches

    def size(self, epoch: int, step: int) -> Optional[int]:
        """Rows of a batch that are the sampler's; None: all."""
        with self._changed:
            one = self._drawn.get(epoch)
            return one.sizes[step] if one is not None and step < len(one.sizes) else None

    def set_epoch(self, epoch: int) -> None:
        """As its program calls it on a DistributedSampler: of the sampler, and of the one that a batch sampler has."""
        for one in (self.asked.sampler, getattr(self.asked.sampler, "sampler", None)):
            if callable(told := getattr(one, "set_epoch", None)):
                told(epoch)

    # ---- states

    def saved(self, state: dict[str, Any]) -> dict[str, Any]:
        """A state with what the order was up to it, by which another program knows it again."""
        epoch, done = int(state["epoch"]), (int(state["step"]) + len(state.get("done", ()))) * self.asked.batch
        with self._changed:
            one = self._drawn.get(epoch)
            if one is not None and one.over and done >= len(one.numbers):  # all of it: a state of the next one
                return {**state, "epoch": epoch + 1, "step": 0, "done": []}
            return state if one is None or not done else {**state, _KEY: {"samples": done, "order": _digest(one.numbers[:done])}}

    def loaded(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """The state as the engine takes it. The order of its epoch has to be what it was up to it."""
        with self._changed:
            said = state.get(_KEY)
            self._wanted = {**said, "epoch": state.get("epoch")} if isinstance(said, Mapping) else None
            self._drawn.clear()
        return without(state)

    def _check(self, epoch: int, one: _Epoch) -> None:
        wanted, self._wanted = self._wanted, None
        if wanted is None or wanted["epoch"] != epoch:
            return
        self._draw(one, int(wanted["samples"]))
        if _digest(one.numbers[:int(wanted["samples"])]) != wanted["order"]:
            raise StateError(f"spdl: {self.asked.call}: state: {type(self.asked.sampler).__qualname__} gives another order of the first {wanted['samples']} samples of epoch {epoch} than when the state was saved, and it can "
                             f"only go on in the same one; want it to draw from a seed and the epoch, torch.Generator().manual_seed(self.seed + self.epoch), and {'loader' if self.asked.call == 'DataLoader' else 'sampler'}.set_epoch(epoch) before the loop")


def without(state: Mapping[str, Any]) -> dict[str, Any]:
    """A state without what the order was."""
    return {key: value for key, value in state.items() if key != _KEY}


def describe(spec: Any, sampler: Any, source: Any) -> tuple[Any, Numbers]:
    """The description with what an order of the program's own needs in it, where it is a dict, and the order."""
    if isinstance(sampler, Numbers):
        return spec, sampler
    if isinstance(sampler, (str, bytes, Mapping)) or not hasattr(sampler, "__iter__"):
        raise ArgumentError(f"spdl: open: sampler is a {type(sampler).__name__}, want an object whose __iter__ gives numbers of samples, as torch's samplers do")
    if source is not None:
        raise ArgumentError("spdl: open: got sampler= beside source=, whose samples are yours; bring them in that order, as an iterable")
    order = Numbers(Asked(sampler, "sampler", 0, False))
    said = spec.get("order", {}) if isinstance(spec, Mapping) else None
    if not isinstance(said, Mapping):
        return spec, order
    if spec.get("rings"):
        raise SpecError("spdl: open: the description has several rings, and sampler= is the order of the one that it opens; leave rings out, or open a loader for each")
    if said.get("shuffle") or said.get("asked") is False:
        raise SpecError(f"spdl: open: order.{'shuffle' if said.get('shuffle') else 'asked'}: the order is the sampler's; leave it out")
    if hasattr(sampler, "__next__"):
        said = once("sampler", sampler, said)
    return {**spec, "order": {"shuffle": False, **said, "asked": True}}, order


class Numbers(Order):
    """An order of samples that an engine has by itself, and is told the numbers of."""

    def belong(self, samples: int, batch: int, drop_last: bool) -> None:
        """To an engine that has so many."""
        self._count, self.asked = samples, self.asked._replace(batch=batch, drop_last=drop_last)

    def get(self, epoch: int, index: int, token: int) -> Any:
        return self._from(epoch, index, _TOLD).tobytes()


def _digest(numbers: array[int]) -> str:
    return hashlib.blake2b(numbers.tobytes(), digest_size=16).hexdigest()


def largest(batches: Any, dataset: Any) -> Optional[int]:
    """How many samples a batch of a batch sampler has at most: as it says itself, or as a copy of it gives. None: neither is known."""
    said = getattr(batches, "batch_size", None)
    if type(said) is int and said > 0:
        return said
    if type(batches) in (list, tuple):
        return max((len(one) for one in batches if hasattr(one, "__len__")), default=None)
    with _drawing_nothing():
        try:
            looked_at = copy.deepcopy(batches, {id(one): one for one in _data(batches, dataset)})
            return max((len(one) for _, one in zip(range(_LOOKED_AT if hasattr(batches, "__len__") else _OF_ENDLESS), looked_at)), default=None)
        except Exception:  # it cannot be copied, or gives no lists
            return None


def _data(batches: Any, dataset: Any) -> Sequence[Any]:
    """Data sets that a sampler has, and the samplers in it: they are not copied."""
    inside = [batches, *[one for one in getattr(batches, "__dict__", {}).values() if hasattr(one, "__iter__") and hasattr(one, "__dict__")]]
    return [dataset, *[one for of in inside for one in getattr(of, "__dict__", {}).values() if libraries.derives(one, "torch.utils.data", "Dataset")]]


class _drawing_nothing:
    """What is drawn within is drawn again behind: the generators that all have are as they were."""

    def __enter__(self) -> None:
        import random

        torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
        self._before = random.getstate(), torch and torch.get_rng_state(), numpy and numpy.random.get_state()

    def __exit__(self, *_: object) -> None:
        import random

        torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
        random.setstate(self._before[0])
        if torch is not None:
            torch.set_rng_state(self._before[1])
        if numpy is not None:
            numpy.random.set_state(self._before[2])
