"""The event loop thread of a pipeline: async ops, hooks and background tasks run on it."""

from __future__ import annotations

import asyncio
import queue
import threading
from concurrent.futures import CancelledError
from typing import Any, Awaitable, Callable, Coroutine, Generic, Optional, TypeVar

T = TypeVar("T")


async def awaiting(method: Callable[[], Awaitable[T]]) -> T:
    """Await what method returns. It is called on the loop only: what is made and then not awaited, because the task was
    cancelled before its first step, is a RuntimeWarning."""
    return await method()


class Loop:
    """An asyncio loop on a thread of its own."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task] = set()  # of run(); touched on the loop's thread only
        self._cancelled = False
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)
        self._thread.start()

    def _main(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            self.loop.close()

    def run(self, coro: Coroutine[Any, Any, T]) -> T:
        """Run coro on the loop and wait until it has ended. Raises CancelledError once cancel() was called."""
        running = Running(self, coro)

        def begin() -> None:
            task = running.begin()
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            if self._cancelled:
                task.cancel()

        self.loop.call_soon_threadsafe(begin)
        return running.result()

    def cancel(self) -> None:
        """Cancel what run() waits for, and whatever it is asked to run from now on."""
        self._cancelled = True
        self.post(lambda: [task.cancel() for task in list(self._tasks)])

    def finish(self, coro: Coroutine[Any, Any, Any], timeout: float = 1.0) -> None:
        """Run the clean-up coro, even after cancel(); give it up after timeout seconds."""
        if self.loop.is_closed():
            coro.close()
            return
        try:
            self.start(coro).result(timeout)
        except (CancelledError, TimeoutError):
            pass

    def start(self, coro: Coroutine[Any, Any, T]) -> Running[T]:
        """Run coro on the loop."""
        running = Running(self, coro)
        self.loop.call_soon_threadsafe(running.begin)
        return running

    def post(self, function: Any, *args: Any) -> None:
        """Call function on the loop; nothing happens after close()."""
        try:
            self.loop.call_soon_threadsafe(function, *args)
        except RuntimeError:
            if not self.loop.is_closed():
                raise

    def close(self, timeout: float) -> bool:
        """Cancel what still runs and end the thread; whether it ended in time. Call from another thread."""
        if threading.current_thread() is not self._thread and not self.loop.is_closed():
            self.post(lambda: asyncio.ensure_future(self._finish()))
            self._thread.join(timeout)
        return not self._thread.is_alive()

    async def _finish(self) -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.loop.shutdown_asyncgens()
        self.loop.stop()


class Running(Generic[T]):
    """A coroutine that was handed to the loop. Not a concurrent.futures.Future, whose lock a Ctrl-C in result() leaves taken: the
    loop would wait for it."""

    def __init__(self, loop: Loop, coro: Coroutine[Any, Any, T]) -> None:
        self._loop = loop
        self._coro = coro
        self._task: Optional[asyncio.Task] = None
        self._ended: queue.SimpleQueue = queue.SimpleQueue()  # the task, once it has

    def begin(self) -> asyncio.Task:
        """Called once, on the loop's thread."""
        task = self._task = self._loop.loop.create_task(self._coro)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: asyncio.Task) -> None:
        self._task = None  # its error has a traceback, and that has us
        self._ended.put(task)

    def result(self, timeout: Optional[float] = None) -> T:
        """Wait for what it returns, and raise what it raises. For one caller, once. Raises TimeoutError, CancelledError."""
        try:
            task = self._ended.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError from None
        try:
            if task.cancelled():
                raise CancelledError
            return task.result()
        finally:
            del task

    def cancel(self) -> None:
        """Cancel it behind its first step: what was handed over begins, however soon its pipeline ends."""
        self._loop.post(lambda: self._loop.loop.call_soon(self._cancel))

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
