"""The event loop thread of a pipeline: async ops, hooks and background tasks run on it."""

from __future__ import annotations

import asyncio
import functools
import queue
import threading
from concurrent.futures import CancelledError
from typing import Any, Awaitable, Callable, Coroutine, Generic, Optional, TypeVar

from .._lock import Lock

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
        self._lock = Lock()
        self._handed: set[Running] = set()  # what somebody waits for, under the lock
        self._over: Optional[Callable[[], BaseException]] = None  # under the lock: why nothing will run any more
        self._finished = False  # whether the end was asked for; written on the loop's thread
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)
        self._thread.start()

    def _main(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            while not self._finished:  # an op's loop.stop() is not the end
                try:
                    self.loop.run_forever()
                except (SystemExit, KeyboardInterrupt):
                    pass  # asyncio lets these two through, but the task has them, too, for whoever waits for it
            self._tell(CancelledError)
        except BaseException as error:  # noqa: B036 - nobody may wait for a thread that is gone
            self._tell(functools.partial(_thread_ended, error))
            raise
        finally:
            self.loop.close()

    def _tell(self, over: Callable[[], BaseException]) -> None:
        """Tell everyone who waits, and who will, that nothing runs any more."""
        with self._lock:
            self._over = over
            handed, self._handed = self._handed, set()
        for running in handed:
            running.lost(over())

    def run(self, coro: Coroutine[Any, Any, T]) -> T:
        """Run coro on the loop and wait until it has ended. Raises CancelledError once cancel() was called."""
        running = Running(self, coro)

        def begin() -> None:
            task = running.begin()
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            if self._cancelled:
                task.cancel()

        self._hand_over(running, begin)
        return running.result()

    def cancel(self) -> None:
        """Cancel what run() waits for, and whatever it is asked to run from now on."""
        self._cancelled = True
        self.post(lambda: [task.cancel() for task in list(self._tasks)])

    def finish(self, coro: Coroutine[Any, Any, Any], timeout: float = 1.0) -> None:
        """Run the clean-up coro, even after cancel(); give it up after timeout seconds."""
        if self._over is not None:
            coro.close()
            return
        try:
            self.start(coro).result(timeout)
        except (CancelledError, TimeoutError):
            pass

    def start(self, coro: Coroutine[Any, Any, T]) -> Running[T]:
        """Run coro on the loop."""
        running = Running(self, coro)
        self._hand_over(running, running.begin)
        return running

    def _hand_over(self, running: Running, begin: Callable[[], Any]) -> None:
        with self._lock:
            over = self._over
            if over is None:
                self._handed.add(running)
                self.loop.call_soon_threadsafe(begin)
        if over is not None:
            running.lost(over())

    def forget(self, running: Running) -> None:
        """Nobody has to be told of it any more: it has ended."""
        with self._lock:
            self._handed.discard(running)

    def post(self, function: Any, *args: Any) -> None:
        """Call function on the loop; nothing happens after close()."""
        try:
            self.loop.call_soon_threadsafe(function, *args)
        except RuntimeError:
            if not self.loop.is_closed():
                raise

    def close(self, timeout: float) -> bool:
        """Cancel what still runs and end the thread; whether it ended in time. Call from another thread."""
        if threading.current_thread() is not self._thread:
            self.post(lambda: asyncio.ensure_future(self._finish()))
            self._thread.join(timeout)
        return not self._thread.is_alive()

    async def _finish(self) -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.loop.shutdown_asyncgens()
        self._finished = True
        self.loop.stop()


def _thread_ended(why: BaseException) -> RuntimeError:
    told = RuntimeError(f"spdl: pipeline: the event loop's thread has ended, and nothing async runs any more: "
                        f"{type(why).__name__}: {why}")
    told.__cause__ = why
    return told


class Running(Generic[T]):
    """A coroutine that was handed to the loop. Not a concurrent.futures.Future, whose lock a Ctrl-C in result() leaves taken: the
    loop would wait for it."""

    def __init__(self, loop: Loop, coro: Coroutine[Any, Any, T]) -> None:
        self._loop = loop
        self._coro = coro
        self._task: Optional[asyncio.Task] = None
        self._ended: queue.SimpleQueue = queue.SimpleQueue()  # the task, once it has, or why it never will

    def begin(self) -> asyncio.Task:
        """Called once, on the loop's thread."""
        task = self._task = self._loop.loop.create_task(self._coro)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: asyncio.Task) -> None:
        self._task = None  # its error has a traceback, and that has us
        self._loop.forget(self)
        self._ended.put(task)

    def lost(self, error: BaseException) -> None:
        """The loop is gone before it has ended."""
        if self._task is None:
            self._coro.close()  # never begun
        self._ended.put(error)

    def result(self, timeout: Optional[float] = None) -> T:
        """Wait for what it returns, and raise what it raises. For one caller, once. Raises TimeoutError, CancelledError."""
        try:
            task = self._ended.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError from None
        if isinstance(task, BaseException):
            raise task
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
