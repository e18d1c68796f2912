"""Merges written by the user: an async function between queues."""

from __future__ import annotations

import asyncio
import collections
from concurrent.futures import ThreadPoolExecutor
from typing import Any, AsyncIterator, Optional, Sequence

from . import defs
from ._info import EOF, EPOCH_END, StageInfo, is_eof, is_epoch_end
from ._pipeline import DATA_ENDS, EPOCH_ENDS, Pipeline
from ._queues import AsyncQueue
from ._stages import EndOfSource


class CustomMerge:
    """The results of several pipelines, merged by the user's function; the source of the pipeline behind."""

    def __init__(self, config: defs.MergeConfig, inputs: Sequence[Pipeline]) -> None:
        self._op = config.op or _arrival
        self._inputs = inputs
        self._info = StageInfo(0, "0", "merge")
        self._run: Optional[_Run] = None

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._epoch()

    async def _epoch(self) -> AsyncIterator[Any]:
        if self._run is None:
            self._run = _Run(self._op, self._info, self._inputs)
        run = self._run
        while True:
            item = await run.next()
            if is_epoch_end(item):
                return
            if is_eof(item):
                if run.continuous:
                    raise EndOfSource
                return
            yield item

    def halt(self) -> None:
        for one in self._inputs:
            one.halt()

    def close(self, timeout: float) -> None:
        for one in self._inputs:
            one.close(timeout)


class _Run:
    """The function at work, with a queue from each input."""

    def __init__(self, op: Any, info: StageInfo, inputs: Sequence[Pipeline]) -> None:
        self.continuous = any(one.continuous for one in inputs)
        self._queues = [AsyncQueue(info, buffer_size=2) for _ in inputs]
        self._output = AsyncQueue(info, buffer_size=2)
        self._pool = ThreadPoolExecutor(len(inputs), thread_name_prefix="spdl-merge")
        self._feeders = [asyncio.ensure_future(self._feed(one, queue)) for one, queue in zip(inputs, self._queues)]
        self._inputs = inputs
        self._main = asyncio.ensure_future(self._merge(op, info))
        self._failure: Optional[BaseException] = None
        self._left: collections.deque = collections.deque()  # put before it

    async def next(self) -> Any:
        """The next item, EPOCH_END, or EOF; raises what the function or an input raised, after what was put before."""
        if self._failure is not None:
            return self._next_left(self._failure)
        getting = asyncio.ensure_future(self._output.get())
        waiting = {getting, self._main, *self._feeders}
        while True:
            _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            failed = next((task.exception() for task in (self._main, *self._feeders) if task.done() and task.exception()), None)
            if failed is not None:
                await self._fail(failed, getting)
                return self._next_left(failed)
            if getting.done():
                return getting.result()
            if self._main.done() and self._output.empty():
                getting.cancel()
                await self._stop()
                return EOF

    async def _fail(self, why: BaseException, getting: asyncio.Task) -> None:
        """Keep what was put, and let nothing follow it: the other inputs may go on for long."""
        self._main.cancel()
        if getting.done():
            self._left.append(getting.result())
        getting.cancel()
        while not self._output.empty():
            self._left.append(self._output.get_nowait())
        self._failure = why
        await self._stop()

    def _next_left(self, why: BaseException) -> Any:
        if self._left:
            return self._left.popleft()
        raise why

    async def _merge(self, op: Any, info: StageInfo) -> None:
        await op(info, self._queues, self._output)

    async def _feed(self, one: Pipeline, queue: AsyncQueue) -> None:
        loop = asyncio.get_running_loop()
        while True:
            item = await loop.run_in_executor(self._pool, one.next)
            await queue.put(EPOCH_END if item is EPOCH_ENDS else EOF if item is DATA_ENDS else item)
            if item is DATA_ENDS:
                return

    async def _stop(self) -> None:
        """The function has returned, maybe early: stop the inputs."""
        for one in self._inputs:
            one.halt()
        for feeder in self._feeders:
            feeder.cancel()
        await asyncio.gather(*self._feeders, return_exceptions=True)
        self._pool.shutdown(wait=False)


async def _arrival(info: StageInfo, inputs: Sequence[AsyncQueue], output: AsyncQueue) -> None:
    """Pass items on as they arrive; an epoch ends when it has ended in every input."""
    ended = 0

    async def forward(queue: AsyncQueue) -> None:
        nonlocal ended
        while not is_eof(item := await queue.get()):
            if not is_epoch_end(item):
                await output.put(item)
                continue
            ended += 1
            if ended == len(inputs):
                ended = 0
                await output.put(item)
                turn.set()
                turn.clear()
            else:
                await turn.wait()

    turn = asyncio.Event()
    await asyncio.gather(*(forward(queue) for queue in inputs))
