"""The other stages that this process does: sources, aggregators, routers."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Iterator

from . import defs
from ._desk import Budget, Desk, HostStage
from ._host import GIVE_END, GIVE_LIST, GIVE_MORE, WORK_FLUSH, WORK_LIST
from ._info import StageInfo
from ._loop import awaiting
from ._map import on_loop

if TYPE_CHECKING:
    from ._core import Core


class EndOfSource(Exception):
    """Raised by a source of ours that knows its epochs: here ends the data, not just an epoch."""


class SourceStage(HostStage):
    """Iterates the source, on a thread of its own. Its first failure is one too many."""

    tells_itself = True

    def __init__(self, name: str, info: StageInfo, config: defs.SourceConfig) -> None:
        super().__init__(name, info)
        self.source = config.source
        self.needs_loop = not hasattr(config.source, "__iter__")
        self.continuous = config.continuous
        self._barren = 0  # epochs without an item, in a row

    def work(self, desk: Desk) -> None:
        """One epoch, or all the data."""
        count = 0
        iterator = self._iterate()
        try:
            for item in iterator:
                count += 1
                if not desk.give(item, GIVE_MORE):
                    return
        except EndOfSource:
            self.core.host.drain()
        finally:
            close = getattr(iterator, "close", None)
            if close is not None:
                close()
        self._refuse_barren(count)
        desk.end(GIVE_END)

    def _iterate(self) -> Iterator[Any]:
        source: Any = self.source
        if hasattr(source, "__iter__"):
            return iter(source)
        return self._iterate_async(source.__aiter__())

    def _iterate_async(self, iterator: Any) -> Iterator[Any]:
        loop = self.core.loop
        try:
            while True:
                try:
                    yield loop.run(awaiting(iterator.__anext__))
                except StopAsyncIteration:
                    return
        finally:
            close = getattr(iterator, "aclose", None)
            if close is not None:
                loop.finish(awaiting(close))

    def _refuse_barren(self, count: int) -> None:
        """End a continuous pipeline whose source cannot be iterated again, in place of spinning for ever."""
        self._barren = 0 if count else self._barren + 1
        if self.continuous and self._barren > 1 and not self.core.stopping:
            raise RuntimeError(
                f"spdl: pipeline: source {type(self.source).__name__}: {self._barren} epochs in a row without an item; "
                "a continuous source must be iterable again, so give a sequence or an object with __iter__, "
                "not a generator")


class AggregatorStage(HostStage):
    """Runs an Aggregator of the user's."""

    def __init__(self, name: str, info: StageInfo, config: defs.AggregateConfig, budget: Budget) -> None:
        super().__init__(name, info, budget)
        self.op = config.op
        self.drop_last = config.drop_last

    def work(self, desk: Desk) -> None:
        with self.core.lock:
            self.budget.items += 1
        if desk.raw.kind == WORK_FLUSH:
            result = self.op.flush()  # also where it is dropped: the next epoch begins with nothing
            result = None if self.drop_last else result
        else:
            result = self.op.accumulate(desk.item())
        if result is None:
            desk.end()
        else:
            desk.give(result)


class RouterStage(HostStage):
    """Says the path of each item, which goes on as it is. Its first failure is one too many."""

    tells_itself = True

    def __init__(self, name: str, info: StageInfo, config: defs.PathVariantsConfig) -> None:
        super().__init__(name, info)
        self.router = config.router
        self.needs_loop = defs.shape_of(config.router) is defs.Shape.COROUTINE
        self.n_paths = len(config.paths)

    def bind(self, core: Core) -> None:
        super().bind(core)
        self._route = on_loop(self.router, core.loop) if self.needs_loop else self.router

    def work(self, desk: Desk) -> None:
        path = self.checked(self._route(desk.item()))
        desk.give_keys(desk.keys, desk.raw.flags & WORK_LIST and GIVE_LIST, path)

    def checked(self, path: Any) -> int:
        try:
            number = operator.index(path)
        except TypeError:
            number = -1
        if not 0 <= number < self.n_paths:
            raise IndexError(f"spdl: pipeline: path variants {self.info}: the router says path {path!r}, "
                             f"want 0 to {self.n_paths - 1}, as an int")
        return number


class SplitStage(RouterStage):
    """Batched variants, first part: makes of a batch one list per path that has elements of it."""

    def work(self, desk: Desk) -> None:
        batch = list(desk.item())
        paths = [self.checked(path) for path in self._route(batch)]
        if len(paths) != len(batch):
            raise ValueError(f"spdl: pipeline: path variants {self.info}: the router says {len(paths)} paths for a "
                             f"batch of {len(batch)}, want one for each element")
        parts: dict[int, list[Any]] = {path: [] for path in sorted(set(paths))}
        for element, path in zip(batch, paths):
            parts[path].append(element)
        keys = []
        for path, elements in parts.items():
            key = desk.key()
            self.core.items[key] = Part(path, elements)
            keys.append(key)
        desk.give_keys(keys, GIVE_LIST)


class Part:
    """The elements of a batch that go one way."""

    __slots__ = ("path", "elements")

    def __init__(self, path: int, elements: list[Any]) -> None:
        self.path = path
        self.elements = elements


class PartRouterStage(HostStage):
    """Batched variants, second part: sends each list its way, as a plain list from here on."""

    def work(self, desk: Desk) -> None:
        keys, items = desk.keys, self.core.items
        paths = []
        for key in keys:
            part = items[key]
            paths.append(part.path)
            items[key] = part.elements
        desk.give_keys(keys, GIVE_LIST, paths=paths)


class JoinStage(HostStage):
    """Batched variants, last part: one list of those that came back."""

    def work(self, desk: Desk) -> None:
        joined = [element for part in desk.item() for element in part]
        if joined:
            desk.give(joined)
        else:
            desk.end()
