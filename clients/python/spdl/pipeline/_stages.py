"""A pipeline's host stages: what their threads do between taking a work from the engine and giving its results."""

from __future__ import annotations

import asyncio
import inspect
import queue
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import AsyncExitStack
from ctypes import c_int32, c_uint64
from time import perf_counter
from typing import TYPE_CHECKING, Any, Callable, Iterator, Optional

from .._errors import SpdlError
from . import defs
from ._failure import log, log_failure, traceback_text
from ._hooks import TaskHook, TaskStatsHook
from ._host import (
    E_STAGE,
    GIVE_END,
    GIVE_LIST,
    GIVE_MORE,
    GIVE_SKIP,
    OK,
    TIMEOUT,
    WORK_FLUSH,
    WORK_LIST,
    Give,
    Work,
)
from ._info import StageInfo

if TYPE_CHECKING:
    from ._core import Core


class HostStage:
    """A stage whose works this process does. `name` is the engine's, `info` the user's."""

    threads = 1
    needs_loop = False  # whether it runs coroutines

    def __init__(self, name: str, info: StageInfo, budget: Optional[Budget] = None) -> None:
        self.name = name
        self.info = info
        self.hooks: list[TaskHook] = []
        self.budget = budget or Budget(0)
        self.condemned = False  # whether the pipeline has failed in this stage, or behind it
        self.number = -1
        self.desks: list[Desk] = []  # of its threads, under the core's lock
        self.alive = 0  # threads of it, under the core's lock

    def bind(self, core: Core) -> None:
        """Called once, before the first thread."""
        self.core = core
        self.number = core.host.stage(self.name)

    def run(self) -> None:
        """What each of its threads does until take says that nothing will come any more."""
        desk = Desk(self)
        with self.core.lock:
            self.desks.append(desk)
        while desk.take():
            if self.condemned:
                desk.end()
                continue
            try:
                self.work(desk)
            except BaseException as error:  # noqa: B036 - a SystemExit must not end the thread with its work
                desk.fail(error)

    def work(self, desk: Desk) -> None:
        """Do the work on the desk; what it raises is the work's failure."""
        raise NotImplementedError


class Budget:
    """How many failures a stage may have. Kept here and not in the engine, which ends a pipeline at once: SPDL's
    meaning is that what was ready, and what is behind the stage, still arrives."""

    def __init__(self, limit: defs.MaxFailures, retries: int = 0) -> None:
        self.limit = limit
        self.retries = retries  # failures of one item that are not its last
        self.failures = 0
        self.items = 0

    def exceeded(self) -> bool:
        """Whether one failure more is too many. Under the core's lock."""
        self.failures += 1
        if isinstance(self.limit, int):
            return 0 <= self.limit < self.failures
        return self.items >= PROBATION and self.failures > self.limit * self.items


PROBATION = 100  # items after which a rate of failures is first judged


class Desk:
    """What one thread works with: the work it took, and the form to give results with."""

    def __init__(self, stage: HostStage) -> None:
        self.stage = stage
        self.core = stage.core
        self.host = stage.core.host
        self.number = stage.number
        self.items = stage.core.items
        self.key = stage.core.key
        self.raw = Work()
        self._slot = (c_uint64 * 1)()
        self._give = Give()
        self._give.items = self._slot
        self._skip = Give()
        self._nothing = Give()
        self._nothing.flags = GIVE_SKIP
        self.out = False  # whether the work taken has to be given yet

    def take(self) -> bool:
        """Wait for the next work; False when the thread may end."""
        self.out = self.host.take(self.number, self.raw) == OK
        return self.out

    @property
    def keys(self) -> list[int]:
        return self.raw.items[:self.raw.n_items]

    def item(self) -> Any:
        """The object of the work: one, or a list."""
        raw = self.raw
        if raw.flags & WORK_LIST:
            return [self.items[key] for key in self.keys]
        return self.items[raw.items[0]]

    def give(self, result: Any, flags: int = 0) -> bool:
        """Give one result; False when nobody wants more. Without MORE it ends the work and lets go of its item."""
        give = self._give
        give.flags = flags
        give.n_items = 1
        key = self._slot[0] = self.key()
        self.items[key] = result
        return self._hand_over(give)

    def end(self, flags: int = GIVE_SKIP) -> bool:
        """End the work; nothing more comes of it."""
        give = self._skip
        give.flags = flags
        return self._hand_over(give)

    def give_keys(self, keys: list[int], flags: int, path: int = 0, paths: Optional[list[int]] = None) -> bool:
        """Give items that are in the table already; the work's own among them stay there."""
        give = Give()
        give.flags, give.n_items, give.path = flags, len(keys), path
        give.items = (c_uint64 * max(1, len(keys)))(*keys)
        if paths is not None:
            give.paths = (c_int32 * max(1, len(paths)))(*paths)
        return self._hand_over(give, keep=set(keys))

    def _hand_over(self, give: Give, keep: set[int] = frozenset()) -> bool:  # type: ignore[assignment]
        last = not give.flags & GIVE_MORE
        raw = self.raw
        if last:
            self.out = False
            keys = (raw.items[0],) if raw.n_items == 1 else self.keys
        status = self.host.give(self.number, raw, give)
        if status == OK:
            if last:
                for key in keys:
                    if key not in keep:
                        self.items.pop(key, None)
            return True
        self.out = False
        self.core.reclaim()
        if status == TIMEOUT:
            self._count(TimeoutError(f"spdl: pipeline: stage {self.stage.info}: the item took longer than its deadline"))
        elif status == E_STAGE and not self.stage.condemned:
            raise StageError(f"spdl: pipeline: stage {self.stage.info}: the engine does not know the work")
        return False

    def fail(self, error: BaseException) -> None:
        """Report the work as failed. The engine offers it again, or drops it; beyond the budget it is the end."""
        stage, core = self.stage, self.core
        if core.stopping or stage.condemned:  # what the end itself brought about
            if self.out:
                self.end()
            return
        if not self.out:  # given already, or not the work's fault
            core.fail(stage.info, error)
            return
        if self.raw.attempt > stage.budget.retries or not isinstance(error, Exception):
            self._count(error)  # beyond the budget, it has taken the work away: the give below finds none
        else:
            log.warning("stage %s: attempt %d failed, tried again: %s: %s", stage.info, self.raw.attempt,
                        type(error).__name__, error)
        self.out = False
        give = Give()
        give.error = traceback_text(error)
        self.host.give(self.number, self.raw, give)
        core.reclaim()

    def _count(self, error: BaseException) -> None:
        """Count a failure; if it is one too many, end what leads here and let the rest run out."""
        stage, core = self.stage, self.core
        log_failure(f"stage {stage.info}", error)
        budget = stage.budget
        with core.lock:
            beyond = budget.exceeded() or not isinstance(error, Exception)
        if not beyond:
            return
        if isinstance(stage, (SourceStage, RouterStage)) or not isinstance(error, Exception):
            core.condemn(stage, error)
            return
        told = RuntimeError(f"The pipeline stage ({stage.info}) failed {budget.failures} times, which exceeds the "
                            f"threshold ({budget.limit}).")
        told.__cause__ = error
        core.condemn(stage, told)

    def take_away(self) -> None:
        """End the work in hand for its thread, which may be busy with it for long; called by another thread."""
        raw = Work.from_buffer_copy(self.raw)
        if self.out:
            self.host.give(self.number, raw, self._nothing)


class StageError(SpdlError):
    """The engine and this package disagree; a bug."""

    status = E_STAGE


# ---- source ------------------------------------------------------------------------------------


class EndOfSource(Exception):
    """Raised by a source of ours that knows its epochs: here ends the data, not just an epoch."""


class SourceStage(HostStage):
    """Iterates the source, on a thread of its own. Its first failure is one too many."""

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
        if hasattr(self.source, "__iter__"):
            return iter(self.source)
        return self._iterate_async(self.source.__aiter__())

    def _iterate_async(self, iterator: Any) -> Iterator[Any]:
        loop = self.core.loop
        try:
            while True:
                try:
                    yield loop.run(_awaited(iterator.__anext__()))
                except StopAsyncIteration:
                    return
        finally:
            close = getattr(iterator, "aclose", None)
            if close is not None:
                loop.finish(_awaited(close()))

    def _refuse_barren(self, count: int) -> None:
        """End a continuous pipeline whose source cannot be iterated again, in place of spinning for ever."""
        self._barren = 0 if count else self._barren + 1
        if self.continuous and self._barren > 1 and not self.core.stopping:
            raise RuntimeError(
                f"spdl: pipeline: source {type(self.source).__name__}: {self._barren} epochs in a row without an item; "
                "a continuous source must be iterable again, so give a sequence or an object with __iter__, "
                "not a generator")


async def _awaited(awaitable: Any) -> Any:
    return await awaitable


# ---- map ---------------------------------------------------------------------------------------


class MapStage(HostStage):
    """Applies an op to each item."""

    def __init__(self, name: str, info: StageInfo, config: defs.PipeConfig, budget: Budget, num_threads: int) -> None:
        super().__init__(name, info, budget)
        args = config._args
        self.op = args.op if callable(args.op) else args.op.__getitem__
        self.shape = defs.shape_of(self.op)
        self.executor: Optional[Executor] = args.executor
        self.own_threads = self.executor is None and not self.shape.is_async
        self.threads = min(args.concurrency, num_threads) if self.own_threads else args.concurrency
        self._counts = not isinstance(budget.limit, int)
        self.permits: Optional[queue.SimpleQueue] = None  # tokens: whoever holds one may run an op

    @property
    def needs_loop(self) -> bool:  # type: ignore[override]
        return self.shape.is_async or any(not timed_only(hook) or records(hook) for hook in self.hooks)

    def bind(self, core: Core) -> None:
        super().bind(core)
        call = self._caller()
        if self.permits is not None and self.own_threads:
            call = _permitted(call, self.permits)
        around = [hook for hook in self.hooks if not timed_only(hook)]
        timers = [hook for hook in self.hooks if timed_only(hook) and records(hook)]
        if around:
            call = _hooked(call, self.hooks, core.loop, self.shape.is_async)
        elif timers:
            call = _timed(call, timers, core.loop if self.shape.is_async else None)
        if self.shape.is_async:
            call = _on_loop(call, core.loop)
        self._call = call
        self._many = self.shape in (defs.Shape.GENERATOR, defs.Shape.ASYNC_GENERATOR)

    def _caller(self) -> Callable[..., Any]:
        """op, or for a generator its next step; on its executor, if it has one."""
        op, executor = self.op, self.executor
        if self.shape is defs.Shape.GENERATOR:
            op = _next
        elif self.shape is defs.Shape.ASYNC_GENERATOR:
            return _anext
        if executor is None:
            return op
        return lambda item: executor.submit(op, item).result()

    def work(self, desk: Desk) -> None:
        item = desk.item()
        if self._counts:
            with self.core.lock:
                self.budget.items += 1
        if self._many:
            return self._steps(desk, item)
        result = self._call(item)
        if result is None:
            desk.end()
        else:
            desk.give(result)

    def _steps(self, desk: Desk, item: Any) -> None:
        """Give each result of a generator as it comes."""
        if isinstance(self.executor, ProcessPoolExecutor):
            generator = _Step(iter(self.executor.submit(_exhaust, self.op, item).result()), item)
            step: Callable[..., Any] = _next
        else:
            generator = _Step(self.op(item), item)
            step = self._call
        try:
            while True:
                try:
                    result = step(generator)
                except StopAsyncIteration:
                    break
                if result is not None and not desk.give(result, GIVE_MORE):
                    return
        finally:
            self._close(generator)
        desk.end()

    def _close(self, step: _Step) -> None:
        generator = step.generator
        if self.shape is defs.Shape.ASYNC_GENERATOR:
            self.core.loop.finish(_awaited(generator.aclose()))
        elif hasattr(generator, "close"):
            generator.close()


class _Step:
    """A generator at work, and the item it was made for."""

    __slots__ = ("generator", "item")

    def __init__(self, generator: Any, item: Any) -> None:
        self.generator = generator
        self.item = item


def _exhaust(op: Callable[..., Any], item: Any) -> list[Any]:
    return list(op(item))


def _next(step: _Step) -> Any:
    """The generator's next result. Its end is StopAsyncIteration, which futures and hooks can carry."""
    try:
        return next(step.generator)
    except StopIteration:
        raise StopAsyncIteration from None


async def _anext(step: _Step) -> Any:
    return await step.generator.__anext__()


def _permitted(call: Callable[..., Any], permits: queue.SimpleQueue) -> Callable[..., Any]:
    """Run ops only while holding one of num_threads permits."""
    take, put_back = permits.get, permits.put

    def permitted(item: Any) -> Any:
        take()
        try:
            return call(item)
        finally:
            put_back(None)

    return permitted


def _on_loop(call: Callable[..., Any], loop: Any) -> Callable[..., Any]:
    return lambda item: loop.run(call(item))


def timed_only(hook: TaskHook) -> bool:
    """Whether all that the hook does around a task is to time it, which needs no event loop."""
    return isinstance(hook, TaskStatsHook) and type(hook).task_hook is TaskStatsHook.task_hook


def records(hook: TaskStatsHook) -> bool:
    """Whether somebody will see what the hook counts; else the engine's own statistics are logged at the end."""
    return type(hook) is not TaskStatsHook or hook.interval > 0


def _timed(call: Callable[..., Any], hooks: list[Any], loop: Any) -> Callable[..., Any]:
    """Time each call for the hooks."""
    def record(begun: float, failed: bool) -> None:
        seconds = perf_counter() - begun
        for hook in hooks:
            hook.record(seconds, failed)

    def timed(item: Any) -> Any:
        begun = perf_counter()
        try:
            result = call(item)
        except StopAsyncIteration:
            raise
        except BaseException:
            record(begun, True)
            raise
        record(begun, False)
        return result

    async def timed_async(item: Any) -> Any:
        begun = perf_counter()
        try:
            result = await call(item)
        except (StopAsyncIteration, asyncio.CancelledError):
            raise
        except BaseException:
            record(begun, True)
            raise
        record(begun, False)
        return result

    return timed if loop is None else timed_async


def _hooked(call: Callable[..., Any], hooks: list[TaskHook], loop: Any, is_async: bool) -> Callable[..., Any]:
    """Run each call inside the hooks' task_hook."""
    async def enter(stack: AsyncExitStack, item: Any) -> None:
        try:
            for hook in hooks:
                await stack.enter_async_context(_task_hook(hook, item))
        except BaseException:
            await stack.aclose()
            raise

    def hooked(item: Any) -> Any:
        stack = AsyncExitStack()
        loop.run(enter(stack, item))
        try:
            result = call(item)
        except BaseException as error:
            if loop.run(stack.__aexit__(type(error), error, error.__traceback__)):
                return None
            raise
        loop.run(stack.__aexit__(None, None, None))
        return result

    async def hooked_async(item: Any) -> Any:
        result = None
        async with AsyncExitStack() as stack:
            for hook in hooks:
                await stack.enter_async_context(_task_hook(hook, item))
            result = await call(item)
        return result

    return hooked_async if is_async else hooked


def _task_hook(hook: TaskHook, item: Any) -> Any:
    """hook.task_hook(item); an override may leave the argument out."""
    if isinstance(item, _Step):
        item = item.item
    if inspect.signature(hook.task_hook).parameters:
        return hook.task_hook(item)
    return hook.task_hook()  # type: ignore[call-arg]


# ---- aggregators, routers ----------------------------------------------------------------------


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
            result = None if self.drop_last else self.op.flush()
        else:
            result = self.op.accumulate(desk.item())
        if result is None:
            desk.end()
        else:
            desk.give(result)


class RouterStage(HostStage):
    """Says the path of each item, which goes on as it is. Its first failure is one too many."""

    def __init__(self, name: str, info: StageInfo, config: defs.PathVariantsConfig) -> None:
        super().__init__(name, info)
        self.router = config.router
        self.needs_loop = defs.shape_of(config.router) is defs.Shape.COROUTINE
        self.n_paths = len(config.paths)

    def bind(self, core: Core) -> None:
        super().bind(core)
        self._route = _on_loop(self.router, core.loop) if self.needs_loop else self.router

    def work(self, desk: Desk) -> None:
        path = self.checked(self._route(desk.item()))
        desk.give_keys(desk.keys, desk.raw.flags & WORK_LIST and GIVE_LIST, path)

    def checked(self, path: Any) -> int:
        if isinstance(path, bool) or not hasattr(path, "__index__") or not 0 <= path < self.n_paths:
            raise IndexError(f"spdl: pipeline: path variants {self.info}: the router says path {path!r}, "
                             f"want 0 to {self.n_paths - 1}")
        return path.__index__()


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
            key = self.core.key()
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


class PathMapStage(MapStage):
    """A pipe inside a batched path. Its item is the list of a part, which the engine sees as a list of one item; it
    makes one list of it. Nothing is an empty list here, as a part must not vanish unless it failed."""

    def work(self, desk: Desk) -> None:
        (key,) = desk.keys
        results = list(self._results(self.core.items[key]))
        whole = results[0] if len(results) == 1 else [element for result in results for element in result]
        answer = self.core.key()
        self.core.items[answer] = whole
        desk.give_keys([answer], desk.raw.flags & WORK_LIST and GIVE_LIST)

    def _results(self, item: Any) -> Iterator[Any]:
        if not self._many:
            result = self._call(item)
            if result is not None:
                yield result
            return
        generator = _Step(self.op(item), item)
        try:
            while True:
                try:
                    result = self._call(generator)
                except StopAsyncIteration:
                    return
                if result is not None:
                    yield result
        finally:
            self._close(generator)


class JoinStage(HostStage):
    """Batched variants, last part: one list of those that came back."""

    def work(self, desk: Desk) -> None:
        joined = [element for part in desk.item() for element in part]
        if joined:
            desk.give(joined)
        else:
            desk.end()
