"""An iterable as a data set: its items in order, and where they end."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any, Optional

from ._errors import ArgumentError, SpecError
from ._lock import Lock

KEPT = 4096  # items that were passed over are kept: far more than the engine asks for at a time


class End(Exception):
    """The iterable has no item of this index."""


class Raised:
    """In the place of an item: what the iterable raised there."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def is_stream(source: Any) -> bool:
    return isinstance(source, Iterable) and (not hasattr(source, "__getitem__") or _is_torchs(source))


def _is_torchs(source: Any) -> bool:
    """torch's iterable data sets have a __getitem__ that raises. Who has made one has imported torch."""
    torchs = getattr(sys.modules.get("torch.utils.data"), "IterableDataset", None)
    return torchs is not None and isinstance(source, torchs)


def describe_stream(spec: Any, source: Any) -> Any:
    """The description with what an iterable needs in it, where it is a dict. What an iterable cannot do is refused."""
    if not isinstance(spec, dict):
        return spec
    said, order = said_of_host(spec), spec.get("order", {})
    if "samples" in said["host"]:
        raise SpecError("spdl: open: source.host.samples is given, and source= is an iterable, of which nobody knows how many it has; leave samples out")
    if "timeout" in said["host"]:
        raise SpecError("spdl: open: source.host.timeout is given, and source= is an iterable: nothing of it is late, however long it takes; leave timeout out")
    if isinstance(order, Mapping) and order.get("shuffle"):
        raise SpecError("spdl: open: order.shuffle: an iterable comes in its own order; shuffle it yourself, or give source= as an object "
                        "with __len__ and __getitem__(index)")
    if iter(source) is source and isinstance(order, Mapping):
        order = once("source", source, order)
    order = {"shuffle": False, **order} if isinstance(order, Mapping) else order
    return {**spec, "source": {**said, "host": {**said["host"], "stream": True}}, "order": order}


def once(name: str, iterator: Any, order: Mapping[str, Any]) -> dict[str, Any]:
    """The order of what can be gone through once."""
    if order.get("epochs", 1) != 1:
        raise ArgumentError(f"spdl: open: {name} is a {type(iterator).__name__}, which can be gone through once, and order.epochs is {order['epochs']}; "
                            "give an object whose __iter__ begins anew, or say epochs: 1")
    return {**order, "epochs": 1}


def said_of_host(spec: dict) -> dict:
    """What a description says of a source that comes as source=: host, how addresses among its paths are read, and columns."""
    said = spec.get("source", {})
    host = said.get("host", {}) if isinstance(said, Mapping) else None
    if not isinstance(host, Mapping) or set(said) - {"host", "remote", "columns"}:
        raise SpecError('spdl: open: the description has a source, and source= was given, too; leave one out, or say {"host": {...}}, {"remote": {...}} or {"columns": [...]}')
    if spec.get("rings"):
        raise SpecError("spdl: open: the description has several rings, and source= feeds the one ring that it opens; leave rings out, or open a loader for each")
    return {**said, "host": dict(host)}


class Stream:
    """Items by epoch and index. Indices are wanted nearly in order; an earlier one, as after a load, goes through the iterable anew.

    get() and close() are one thread's, as what an iterable holds may be bound to the thread that it began in (a cursor of sqlite3).
    """

    def __init__(self, iterable: Any) -> None:
        self._iterable = iterable
        self._epoch: Optional[int] = None
        self._since = 0  # token of the want that began this pass
        self._iterator: Any = None
        self._next = 0  # index of the item that the iterator gives next
        self._waiting: dict[int, Any] = {}  # items passed over
        self._over = False  # it gives no more: it has ended or raised
        self._error: Optional[BaseException] = None  # what it raised last; for the loader to tell
        self._telling = Lock()  # guards it

    def get(self, epoch: int, index: int, token: int) -> Any:
        """The item, which is given once. Raises End, and in the place of an item what the iterable raised there. Tokens ascend: a want that
        is older than this pass and of another, taken before a restart or the end of an epoch, begins none: items would be lost to it."""
        if epoch != self._epoch or index < self._next and index not in self._waiting:
            if token < self._since:
                raise LookupError(f"item {index} of epoch {epoch} is not wanted any more")
            self._begin(epoch)
            self._since = token
        while self._next <= index:
            self._pull()
        item = self._waiting.pop(index)
        if isinstance(item, Raised):
            raise item.error
        return item

    def close(self) -> None:
        """Let go of the iterator, so that a generator that is left in the middle ends in its own thread."""
        self._over, self._iterator, self._iterable = True, None, None
        self._waiting.clear()

    def begin(self, epoch: int) -> None:
        """Told in a loop's thread that it begins an epoch."""

    def batches(self) -> int:
        """Of an epoch. Raises TypeError where nobody knows."""
        raise TypeError("spdl: len: the source is an iterable, and only its end tells how many batches it makes")

    def saved(self, state: dict[str, Any]) -> dict[str, Any]:
        """A state with what this has to say of it."""
        return state

    def loaded(self, state: Mapping[str, Any]) -> Mapping[str, Any]:
        """The state as the engine takes it."""
        return state

    def end(self) -> None:
        """Told that nothing is wanted any more, which one who waits in get() has to know."""

    def take_error(self) -> Optional[BaseException]:
        """What the iterable raised, to one who asks."""
        with self._telling:
            error, self._error = self._error, None
        return error

    def _begin(self, epoch: int) -> None:
        self._epoch, self._next, self._over = epoch, 0, False
        self._waiting.clear()
        try:
            self._iterator = iter(self._iterable)
        except BaseException as error:
            self._keep(self._failed(error))

    def _pull(self) -> None:
        if self._over:
            raise End
        try:
            item = next(self._iterator)
        except StopIteration:
            self._over = True
            raise End from None
        except BaseException as error:
            item = self._failed(error)
        self._keep(item)

    def _failed(self, error: BaseException) -> Raised:
        with self._telling:
            self._over, self._error = True, error
        return Raised(error)

    def _keep(self, item: Any) -> None:
        self._waiting[self._next] = item
        self._waiting.pop(self._next - KEPT, None)
        self._next += 1
