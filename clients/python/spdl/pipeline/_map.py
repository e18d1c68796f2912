"""Pipes: an op of any shape, called for each item, with hooks and statistics around it."""

from __future__ import annotations

import asyncio
import inspect
import queue
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import AsyncExitStack
from time import perf_counter
from typing import TYPE_CHECKING, Any, Callable, Iterator, Optional

from . import defs
from ._desk import Budget, Desk, HostStage
from ._hooks import TaskHook, TaskStatsHook
from ._host import GIVE_LIST, GIVE_MORE, WORK_LIST
from ._info import StageInfo
from ._loop import awaiting

if TYPE_CHECKING:
    from ._core import Core



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
            call = on_loop(call, core.loop)
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
            self.core.loop.finish(awaiting(generator.aclose))
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
    except StopAsyncIteration as error:
        raise RuntimeError("generator raised StopAsyncIteration") from error


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


def on_loop(call: Callable[..., Any], loop: Any) -> Callable[..., Any]:
    return lambda item: loop.run(call(item))


def timed_only(hook: TaskHook) -> bool:
    """Whether all that the hook does around a task is to time it, which needs no event loop."""
    return isinstance(hook, TaskStatsHook) and type(hook).task_hook is TaskStatsHook.task_hook


def records(hook: TaskHook) -> bool:
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
    """Run each call inside the hooks' task_hook. What the call raises is its failure, or its end, also where a hook swallows it."""
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
            loop.run(stack.__aexit__(type(error), error, error.__traceback__))
            raise
        loop.run(stack.__aexit__(None, None, None))
        return result

    async def hooked_async(item: Any) -> Any:
        stack = AsyncExitStack()
        await enter(stack, item)
        try:
            result = await call(item)
        except BaseException as error:
            await stack.__aexit__(type(error), error, error.__traceback__)
            raise
        await stack.__aexit__(None, None, None)
        return result

    return hooked_async if is_async else hooked


def _task_hook(hook: TaskHook, item: Any) -> Any:
    """hook.task_hook(item); an override may leave the argument out."""
    if isinstance(item, _Step):
        item = item.item
    if inspect.signature(hook.task_hook).parameters:
        return hook.task_hook(item)
    return hook.task_hook()


class PathMapStage(MapStage):
    """A pipe inside a batched path. Its item is the list of a part, which the engine sees as a list of one item; it
    makes one list of it. Nothing is an empty list here, as a part must not vanish unless it failed."""

    def work(self, desk: Desk) -> None:
        (key,) = desk.keys
        results = list(self._results(self.core.items[key]))
        whole = results[0] if len(results) == 1 else [element for result in results for element in result]
        answer = desk.key()
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
