"""Iterables made of iterables: merged, shuffled anew in each epoch, repeated."""

from __future__ import annotations

import logging
import math
import random
import time
from typing import Any, Iterable, Iterator, Optional, Sequence, TypeVar, overload

from ._protocols import IterableWithShuffle, SizedIterable, SizedIterableWithShuffle

__all__ = ["embed_shuffle", "MergeIterator", "repeat_source"]

T = TypeVar("T")

log = logging.getLogger("spdl.source")

SLOW_SHUFFLE = 3.0  # seconds; a shuffle that takes longer is worth a warning


class MergeIterator(Iterable[T]):
    """Several iterables as one: in turn, or at random by weight.

    weights     chance of each iterable to be asked next; one of weight 0 is never asked. None: in turn
    stop_after  0: until all are exhausted; n: after n items; -1: when the first is exhausted
    seed        of the choice by weight; each iteration of this object chooses anew
    """

    def __init__(self, iterables: Sequence[Iterable[T]], *, weights: Optional[Sequence[float]] = None,
                 stop_after: int = 0, seed: int = 0) -> None:
        if not iterables:
            raise ValueError("spdl: source: MergeIterator: no iterables, want at least one")
        if weights is not None and len(weights) != len(iterables):
            raise ValueError(f"spdl: source: MergeIterator: {len(weights)} weights for {len(iterables)} iterables, "
                             "want one each")
        if weights is not None and not (all(weight >= 0 for weight in weights) and 0 < math.fsum(weights) < math.inf):
            raise ValueError(f"spdl: source: MergeIterator: weights {list(weights)}, "
                             "want none below 0, and a sum above")
        if stop_after < -1:
            raise ValueError(f"spdl: source: MergeIterator: stop_after {stop_after}, want -1, 0 or more")
        self._iterables = iterables
        self._weights = weights
        self._stop_after = stop_after
        self._seed = seed
        self._iteration = 0

    def __iter__(self) -> Iterator[T]:
        chooser = random.Random(f"{self._seed}/{self._iteration}")
        self._iteration += 1
        items = self._in_turn() if self._weights is None else self._by_weight(chooser)
        for count, item in enumerate(items, 1):
            yield item
            if count == self._stop_after:
                return

    def _in_turn(self) -> Iterator[T]:
        iterators = [iter(iterable) for iterable in self._iterables]
        while iterators:
            left = []
            for iterator in iterators:
                try:
                    item = next(iterator)
                except StopIteration:
                    if self._stop_after == -1:
                        return
                    continue
                yield item
                left.append(iterator)
            iterators = left

    def _by_weight(self, chooser: random.Random) -> Iterator[T]:
        assert self._weights is not None
        pairs = [(iter(iterable), weight) for iterable, weight in zip(self._iterables, self._weights) if weight > 0]
        while pairs:
            place = chooser.choices(range(len(pairs)), [weight for _, weight in pairs])[0]
            try:
                item = next(pairs[place][0])
            except StopIteration:
                if self._stop_after == -1:
                    return
                del pairs[place]
                continue
            yield item


class _EmbedShuffle(Iterable[T]):
    """Calls shuffle() with the number of the epoch around every iteration."""

    def __init__(self, src: Any, shuffle_last: bool, epoch: int) -> None:
        self._src = src
        self._shuffle_last = shuffle_last
        self._epoch = epoch

    def _shuffle(self) -> None:
        begun = time.monotonic()
        self._src.shuffle(seed=self._epoch)
        self._epoch += 1
        took = time.monotonic() - begun
        if took > SLOW_SHUFFLE:
            log.warning("%s.shuffle() took %.1f s; the pipeline waits for it between epochs",
                        type(self._src).__name__, took)

    def __iter__(self) -> Iterator[T]:
        if not self._shuffle_last:
            self._shuffle()
        yield from self._src
        if self._shuffle_last:
            self._shuffle()


class _SizedEmbedShuffle(_EmbedShuffle[T]):
    """One of a source that knows its length."""

    def __len__(self) -> int:
        return len(self._src)


@overload
def embed_shuffle(src: SizedIterableWithShuffle[T], /, *, shuffle_last: bool = False, epoch: int = 0) -> SizedIterable[T]: ...
@overload
def embed_shuffle(src: IterableWithShuffle[T], /, *, shuffle_last: bool = False, epoch: int = 0) -> Iterable[T]: ...


def embed_shuffle(src: Any, /, *, shuffle_last: bool = False, epoch: int = 0) -> Iterable[Any]:
    """src, shuffled by itself with the seeds epoch, epoch + 1, ... before each iteration.

    shuffle_last  shuffle after the iteration instead, while the consumer is busy with the last items
    """
    if not callable(getattr(src, "shuffle", None)):
        raise ValueError(f"spdl: source: embed_shuffle: {type(src).__name__} has no shuffle(seed)")
    kind = _SizedEmbedShuffle if hasattr(src, "__len__") else _EmbedShuffle
    return kind(src, shuffle_last, epoch)


class _Repeat(Iterator[T]):
    """Epoch after epoch of a source. Can be pickled until its first item was taken."""

    def __init__(self, src: Iterable[T], epoch: int) -> None:
        self._src = src
        self._epoch = epoch
        self._items: Optional[Iterator[T]] = None

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        if self._items is None:
            self._items = self._repeat()
        return next(self._items)

    def __getstate__(self) -> dict[str, Any]:
        if self._items is not None:
            raise ValueError("spdl: source: repeat_source: it has begun, so it cannot be pickled any more; "
                             "pass the source and make the iterator in the other process")
        return self.__dict__

    def _repeat(self) -> Iterator[T]:
        while True:
            if hasattr(self._src, "shuffle"):
                self._src.shuffle(seed=self._epoch)
            begun, count = time.monotonic(), 0
            for item in self._src:
                yield item
                count += 1
            if count == 0:
                raise ValueError(f"spdl: source: repeat_source: epoch {self._epoch} of {type(self._src).__name__} is "
                                 "empty; the source must have items, and be iterable more than once")
            took = time.monotonic() - begun
            log.info("epoch %d of the source: %d items in %.1f s (%.1f/s)", self._epoch, count, took,
                     count / max(took, 1e-9))
            self._epoch += 1


def repeat_source(src: Iterable[T], /, epoch: int = 0) -> Iterator[T]:
    """The items of src for ever; where it has shuffle(seed), shuffled by the number of the epoch, from `epoch` on.

    Raises ValueError where src has nothing to repeat.
    """
    return _Repeat(src, epoch)
