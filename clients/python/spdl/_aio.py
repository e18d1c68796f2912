"""asyncio: wait for batches on the loader's event descriptor."""

from __future__ import annotations

import asyncio
import time
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, Coroutine, Iterable, Optional

from . import _c
from ._errors import LeasesExhausted, SpdlError, Undone
from ._reader import JAX_NAP_S, jax_patience_ns
from ._torchrun import refuse_late_ranks
from .batch import Batch

if TYPE_CHECKING:
    from ._reader import Lease, Reader
    from .loader import Loader

_NET_S = 0.1  # the descriptor is the mechanism; this bounds what a lost wake-up costs


class AsyncEpoch:
    """The rest of one epoch. Each task has a batch in hand of its own."""

    __slots__ = ("_loader", "_number", "_over")

    def __init__(self, loader: Loader) -> None:
        if loader._for_one:
            refuse_late_ranks()
        self._loader = loader
        self._number: Optional[int] = None
        self._over = False

    def __aiter__(self) -> AsyncEpoch:
        return self

    def __anext__(self) -> Coroutine[Any, Any, Batch]:
        """The next batch, for the task that asks here (asyncio.wait_for awaits it in a task of its own before Python 3.12). Asking gives back what
        the task has in hand; what it asks for several times before one has come, it has in hand together."""
        loader, task = self._loader, asyncio.current_task()
        if task is None:
            raise RuntimeError("spdl: async for: asked by a callback of the event loop, want a task, which has the batch in hand; ask in a coroutine")
        if task not in loader._tasks:
            task.add_done_callback(partial(_task_over, weakref.ref(loader)))
        _retire(loader, loader._tasks.get(task, ()))
        loader._tasks[task] = []
        return self._next(task)

    async def _next(self, task: asyncio.Task) -> Batch:
        loader, number = self._loader, self._number
        if number is None:
            number = loader._settle_on(self)
            loader._shelf.drop(loader._shelf.hands.mine)  # of a loop without async before this one
        if self._over:
            raise StopAsyncIteration
        lease = await _acquire(loader, number, task)
        if isinstance(lease, int):
            self._over = True
            _wake(loader._reader.waiting.get(asyncio.get_running_loop(), set()))  # the others' loops over it end, too
            raise StopAsyncIteration
        batch = Batch(lease, loader.schema)
        loader._tasks.setdefault(task, []).append(batch)
        return batch


def _retire(loader: Loader, batches: Iterable[Batch]) -> None:
    for batch in batches:
        batch._retire()
        _tell_others(loader)


def leave(loader: Loader) -> None:
    """Let go of what this task has in hand of a loop that it has left: another begins, without async."""
    try:
        _retire(loader, loader._tasks.pop(asyncio.current_task(), ()))
    except RuntimeError:  # no event loop runs in this thread
        pass


def _task_over(loader_ref: weakref.ref[Loader], task: asyncio.Task) -> None:
    """Let go of what a task that is over had in hand. One that has returned may have returned the batch: it is its holder's then. An
    error's traceback has the frames that had it, for as long as somebody keeps the task: then it is given back here."""
    loader: Optional[Loader] = loader_ref()
    if loader is None:  # and with it what any task had in hand
        return
    batches = loader._tasks.pop(task, ())
    error = asyncio.CancelledError() if task.cancelled() else task._exception  # exception() would count as having looked
    if error is None:
        return
    if not loader._reader.stage:
        _retire(loader, batches)
        return
    for batch in batches:
        if batch._lease is None:
            continue
        try:
            batch.fail(f"its task ended by {type(error).__name__}: {error}")
        except SpdlError:
            pass  # the engine is gone, or has taken it back


async def _acquire(loader: Loader, epoch: int, task: asyncio.Task) -> Lease | int:
    """The next lease of the epoch for a task, or the news that the epoch or the data is over. What other tasks have in hand they give back: it is waited for.
    So is what JAX may still compute with, as without async."""
    reader = loader._reader
    refused_ns = 0  # since when leases are refused that no task has in hand; 0: they are not
    while True:
        begun_ns = time.monotonic_ns()
        try:
            lease = reader.acquire(0, epoch)
            if lease != _c.TIMEOUT:
                return lease
        except (LeasesExhausted, Undone) as error:  # this thread holds what it waits for, but it has many tasks
            if not _others_hold(loader, task):
                refused_ns = refused_ns or begun_ns
                if isinstance(error, Undone) or begun_ns - refused_ns >= jax_patience_ns():
                    raise
                await asyncio.sleep(max(JAX_NAP_S, 4e-9 * (time.monotonic_ns() - begun_ns)))  # a look collects garbage: most of the time is the loop's
                continue
            loader._held_up = True
        refused_ns = 0
        await _readable(reader)


def _others_hold(loader: Loader, this: asyncio.Task) -> bool:
    """Whether another task of this loop has a batch in hand."""
    loop = asyncio.get_running_loop()
    return any(task is not this and not task.done() and task.get_loop() is loop and any(batch._lease is not None for batch in batches)
               for task, batches in list(loader._tasks.items()))


def _tell_others(loader: Loader) -> None:
    """Wake the tasks that wait for what this one has given back; the descriptor does not tell of it."""
    if loader._held_up:
        loader._held_up = False
        _wake(loader._reader.waiting.get(asyncio.get_running_loop(), set()))


async def _readable(reader: Reader) -> None:
    """Wait until another try is worthwhile."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    futures = reader.waiting.setdefault(loop, set())
    fd = reader.ask(reader.api.held.event_fd)
    if not futures:
        loop.add_reader(fd, _wake, futures)
    futures.add(future)
    net = loop.call_later(_NET_S, _wake, {future})
    try:
        await future
    finally:
        net.cancel()
        futures.discard(future)
        if not futures:
            loop.remove_reader(fd)
            reader.waiting.pop(loop, None)


def _wake(futures: set[asyncio.Future]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
