"""What the threads that loop over a loader have in hand.

A thread's loop marks its batch done when it asks for the next one. But some loops wander: a generator that a framework (tf.data,
Keras) takes from with threads of its own, which Python may take for a new one at each call, goes on in another thread than it was in
before. What that one has in hand nobody would ever mark done, and the epoch would have no end. So a thread may also let go of what is
in others' hands: of what its own loop had there, and of what nobody can use any more.
"""

from __future__ import annotations

import sys
import threading
import weakref
from typing import Optional

from ._lock import Lock
from ._reader import FREE_THREADED
from .batch import ALONE, Batch


class Hand:
    """What one thread's loop has in hand."""

    __slots__ = ("batch", "refused", "thread", "__weakref__")

    def __init__(self) -> None:
        self.batch: Optional[Batch] = None
        self.refused: Optional[int] = None  # the epoch whose end a loop did not come to, for a batch that this thread holds elsewhere
        self.thread = threading.get_ident()

    def names(self) -> int:
        """How many names the batch has; interpreters count differently."""
        return sys.getrefcount(self.batch)

    def retire(self) -> None:
        """Mark the batch done and let go of it."""
        batch, self.batch = self.batch, None
        if batch is not None:
            batch._retire()


def _measure_unnamed() -> int:
    hand = Hand()
    hand.batch = Batch.__new__(Batch)
    hand.batch._lease = None
    return hand.names()


UNNAMED = _measure_unnamed()  # what Hand.names says of a batch that the hand alone has


class Hands(threading.local):
    """The hands of a loader's threads. `mine` is this thread's, and ends with it, unless a loop holds it that was in it last."""

    def __init__(self, all_: set[weakref.ref[Hand]]) -> None:  # in each thread, when it comes here first
        self.mine = Hand()
        all_.add(weakref.ref(self.mine, all_.discard))


class Shelf:
    """Where one thread finds what others have in hand.

    wander  whether a thread has looked at others' hands. Until then each uses its own without the lock. It asks for this after it has
            given its batch a name, and who sets it counts names after that: so one of the two sees the other. Without an interpreter
            lock there is no such order, and all take the lock.
    """

    def __init__(self, stage: bool) -> None:
        self._all: set[weakref.ref[Hand]] = set()  # copied at once by list(): other threads come and go
        self._lock = Lock()
        self._stage = stage
        self.hands = Hands(self._all)
        self.wander = FREE_THREADED

    def reset_in_child(self) -> None:
        """After a fork another thread may hold the lock, which has none here."""
        self._lock = Lock()

    def _others(self) -> list[tuple[Hand, Batch]]:
        """What other threads have in hand."""
        hands = [(hand, hand.batch) for ref in list(self._all) if (hand := ref()) is not None and hand is not self.hands.mine]
        return [(hand, batch) for hand, batch in hands if batch is not None]

    def drop(self, mine: Hand) -> None:
        """Mark done what this thread has in hand."""
        if self.wander:
            with self._lock:
                mine.retire()
        else:
            mine.retire()

    def tidy(self, last: Optional[Hand] = None, goes_on: bool = False) -> None:
        """Mark done what other threads have in hand and nobody can use: no name has the batch, and no view of it lives. Of `last`, whose
        loop this thread shares, views may live, but in a stage, where they may be written; and all of it is done where the loop goes on here."""
        others = [hand for hand, _ in self._others()]
        if not others:
            return
        self.wander = True
        with self._lock:
            for hand in others:
                if hand is last and goes_on or hand.names() == UNNAMED and (hand is last and not self._stage or hand.batch._holders() == ALONE):  # type: ignore[union-attr]  # UNNAMED: it has one
                    hand.retire()

    def held(self) -> list[str]:
        """What other threads have in hand, in words."""
        names = {thread.ident: f'thread "{thread.name}"' for thread in threading.enumerate()}
        return [f"{names.get(hand.thread, f'thread {hand.thread}')} has ticket {batch.ticket} in hand" for hand, batch in self._others()]
