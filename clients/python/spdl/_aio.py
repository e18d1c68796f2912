"""asyncio: wait for batches on the loader's event descriptor."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from . import _c
from .batch import Batch

if TYPE_CHECKING:
    from ._reader import Lease, Reader
    from .loader import Loader

_NET_S = 0.1  # the descriptor is the mechanism; this bounds what a lost wake-up costs


class AsyncEpoch:
    """The rest of one epoch. Each task has a batch in hand of its own."""

    __slots__ = ("_loader", "_over")

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._over = False

    def __aiter__(self) -> AsyncEpoch:
        return self

    async def __anext__(self) -> Batch:
        loader = self._loader
        task = asyncio.current_task()
        batch = loader._tasks.pop(task, None)
        if batch is not None:
            batch._retire()
        if self._over:
            raise StopAsyncIteration
        lease = await _acquire(loader._reader)
        if type(lease) is int:
            self._over = True
            raise StopAsyncIteration
        batch = loader._tasks[task] = Batch(lease, loader.schema)
        return batch


async def _acquire(reader: Reader) -> Lease | int:
    """The next lease, or the news that the epoch or the data is over."""
    while True:
        lease = reader.acquire(0)
        if lease != _c.TIMEOUT:
            return lease
        await _readable(reader)


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
