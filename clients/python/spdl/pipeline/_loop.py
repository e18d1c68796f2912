"""The event loop thread of a pipeline: async ops, hooks and background tasks run on it."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as TimeoutError_
from typing import Any, Awaitable, Callable, Coroutine, TypeVar

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
        done: Future = Future()

        def ended(task: asyncio.Task) -> None:
            self._tasks.discard(task)
            if task.cancelled():
                done.set_exception(CancelledError())
            elif task.exception() is not None:
                done.set_exception(task.exception())
            else:
                done.set_result(task.result())

        def begin() -> None:
            task = self.loop.create_task(coro)
            self._tasks.add(task)
            task.add_done_callback(ended)
            if self._cancelled:
                task.cancel()

        self.loop.call_soon_threadsafe(begin)
        return done.result()

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
            asyncio.run_coroutine_threadsafe(coro, self.loop).result(timeout)
        except (CancelledError, TimeoutError_):
            pass

    def start(self, coro: Coroutine[Any, Any, T]) -> Any:
        """Run coro on the loop; its concurrent.futures.Future."""
        return asyncio.run_coroutine_threadsafe(coro, self.loop)

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
