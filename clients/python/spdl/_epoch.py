"""Epoch: a loop over one epoch of a loader."""

from __future__ import annotations

import inspect
import sys
from types import FrameType
from typing import TYPE_CHECKING, NoReturn, Optional

from . import _c
from ._errors import Undone
from ._hands import Hand
from ._reader import EMPTY, Lease
from ._torchrun import refuse_late_ranks
from .batch import ALONE, Batch

if TYPE_CHECKING:
    from .loader import Loader


class Epoch:
    """The rest of the epoch that the loader is in when the first batch is asked for, as an iterator. Threads may share it. Once at its
    end it stays there."""

    __slots__ = ("_loader", "_reader", "_shelf", "_hands", "_schema", "_number", "_over", "_last", "_generator")

    def __init__(self, loader: Loader) -> None:
        if loader._for_one:
            refuse_late_ranks()
        self._loader = loader  # keeps it open: for batch in spdl.open(...)
        self._reader = loader._reader
        self._shelf = loader._shelf
        self._hands = loader._shelf.hands
        self._schema = loader.schema
        self._number: Optional[int] = None
        self._over = False
        self._last: Optional[Hand] = None  # of the thread that asked last, which may be over
        self._generator = 0  # the frame of the generator whose loop this is, where it is one's

    def __iter__(self) -> Epoch:
        return self

    def __next__(self) -> Batch:
        hand, number, nothing_left = self._hands.mine, self._number, False
        if self._last is not hand:
            self._enter(hand, sys._getframe(1))
        batch = hand.batch
        if number is None:
            number = self._loader._settle_on(self)
            nothing_left = batch is not None and batch.last and batch.epoch == number != hand.refused
            if self._loader._tasks:
                from . import _aio

                _aio.leave(self._loader)
        if batch is not None:
            if not self._over and not self._shelf.wander and batch._holders() == ALONE and batch._lease.spare is None:  # type: ignore[union-attr]  # of an ended one it is not ALONE
                try:
                    news = batch._swap(number)
                except Undone:
                    hand.refused = number
                    raise
                if type(news) is Batch:
                    hand.batch = news
                    return news
                hand.batch = None
                if news != _c.TIMEOUT:
                    return self._go_on() if nothing_left else self._end()
            else:
                self._shelf.drop(hand)
        if self._over:
            raise StopIteration
        lease = Lease(self._reader, EMPTY)
        batch = Batch(lease, self._schema)
        if self._reader.fill(lease, -1, number):
            return self._go_on() if nothing_left else self._end()
        batch._raw = lease.raw
        hand.batch = batch
        return batch

    def _enter(self, hand: Hand, frame: FrameType) -> None:
        """Another thread asks than did before, or the first one does. Where a generator asks it is the same loop."""
        generator = id(frame) if frame.f_code.co_flags & inspect.CO_GENERATOR else 0
        if self._last is None:
            self._generator = generator
        else:
            self._shelf.tidy(self._last, generator != 0 and generator == self._generator)
        self._last = hand

    def _go_on(self) -> Batch:
        """The loop before took the epoch's last batch and did not ask for more, as zip(range(len(loader)), loader) does: this one is over the next."""
        self._loader._raise_of_source()
        self._number = None
        return self.__next__()

    def _end(self) -> NoReturn:
        self._over = True
        self._loader._raise_of_source()
        raise StopIteration


class Stretch:
    """Batches up to the next multiple of a number, however many epochs of the loader they are of, as an iterator: an epoch of webdataset's with_epoch."""

    def __init__(self, loader: Loader, length: int) -> None:
        self._loader, self._length = loader, length
        self._batches = iter(loader)
        self._over = False

    def __iter__(self) -> Stretch:
        return self

    def __next__(self) -> Batch:
        if self._over:
            raise StopIteration
        try:
            batch = next(self._batches)
        except StopIteration:
            self._batches = iter(self._loader)
            batch = next(self._batches)
        self._over = self.ends(batch)
        return batch

    def ends(self, batch: Batch) -> bool:
        return (batch.step + 1) % self._length == 0
