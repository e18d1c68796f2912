"""Executors shared by stages, in which the later stages go first."""

from __future__ import annotations

import heapq
import itertools
import os
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.thread import BrokenThreadPool
from typing import Any, Callable, Optional

from .._lock import Lock


class PriorityExecutorEntrypoint(Executor):
    """One stage's way into a shared pool."""

    def __init__(self, owner: _PriorityPool, priority: int) -> None:
        self._owner = owner
        self._priority = priority

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        return self._owner._submit(self._priority, fn, args, kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Nothing: the pool belongs to all its stages; shut that down."""


class _PriorityPool:
    """Threads that take the waiting call of the highest priority, the oldest of several."""

    def __init__(self, max_workers: int, thread_name_prefix: str, initializer: Optional[Callable[..., object]],
                 initargs: tuple) -> None:
        if max_workers < 1:
            raise ValueError(f"spdl: pipeline: {type(self).__name__}: max_workers {max_workers}, want 1 or more")
        self._max_workers = max_workers
        self._prefix = thread_name_prefix or "spdl-priority"
        self._initializer = initializer
        self._initargs = initargs
        self._priorities = itertools.count()
        self._order = itertools.count()
        self._calls: list[tuple[int, int, Future, Callable[[], Any]]] = []
        self._lock = Lock()  # guards the rest; taken itself, as the condition enters and leaves in Python
        self._ready = threading.Condition(self._lock)
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._closed = False
        self._broken: Optional[BrokenThreadPool] = None

    def get_executor(self, *, priority: Optional[int] = None) -> PriorityExecutorEntrypoint:
        """An executor for a stage. Higher priority goes first; None: higher than those made before."""
        return PriorityExecutorEntrypoint(self, next(self._priorities) if priority is None else priority)

    def _submit(self, priority: int, fn: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Future:
        future: Future = Future()
        with self._lock:
            if self._broken:
                raise self._broken
            if self._closed:
                raise RuntimeError(f"spdl: pipeline: {type(self).__name__}: submit after shutdown")
            heapq.heappush(self._calls, (-priority, next(self._order), future, lambda: self._call(fn, args, kwargs)))
            if self._idle:
                self._ready.notify()
            elif len(self._threads) < self._max_workers:
                thread = threading.Thread(target=self._work, name=f"{self._prefix}-{len(self._threads)}", daemon=True)
                self._threads.append(thread)
                thread.start()
        return future

    def _call(self, fn: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
        return fn(*args, **kwargs)

    def _work(self) -> None:
        if self._initializer is not None:
            try:
                self._initializer(*self._initargs)
            except BaseException as error:  # noqa: B036 - as concurrent.futures has it: nobody can rely on this pool any more
                self._fail(error)
                return
        while True:
            with self._lock:
                self._idle += 1
                while not self._calls and not self._closed:
                    self._ready.wait()
                self._idle -= 1
                if not self._calls:
                    return
                _, _, future, call = heapq.heappop(self._calls)
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = call()
            except BaseException as error:  # noqa: B036 - the caller's to handle
                future.set_exception(error)
            else:
                future.set_result(result)
            del future, call

    def _fail(self, error: BaseException) -> None:
        """Tell all who wait, and all who come, that a thread could not begin."""
        broken = BrokenThreadPool(f"spdl: pipeline: {type(self).__name__}: the initializer failed: {error!r}")
        broken.__cause__ = error
        with self._lock:
            self._broken = self._broken or broken
            calls, self._calls = self._calls, []
            self._closed = True
            self._ready.notify_all()
        for _, _, future, _ in calls:
            if future.set_running_or_notify_cancel():
                future.set_exception(broken)

    def __enter__(self) -> _PriorityPool:
        return self

    def __exit__(self, *exception: object) -> None:
        self.shutdown()

    def shutdown(self, wait: bool = True, cancel_futures: bool = False) -> None:
        """Take no more calls; wait for those that were taken, or cancel those that have not begun."""
        with self._lock:
            self._closed = True
            if cancel_futures:
                for _, _, future, _ in self._calls:
                    future.cancel()
            self._ready.notify_all()
        if wait:
            for thread in self._threads:
                thread.join()


class PriorityThreadPoolExecutor(_PriorityPool):
    """Threads shared by stages: each takes get_executor() as its executor, and what is further on goes first.

    Pickles as its arguments: in another process it is a pool of its own.
    """

    def __init__(self, max_workers: Optional[int] = None, thread_name_prefix: str = "",
                 initializer: Optional[Callable[..., object]] = None, initargs: tuple = ()) -> None:
        super().__init__(min(32, (os.cpu_count() or 1) + 4) if max_workers is None else max_workers, thread_name_prefix, initializer, initargs)

    def __reduce__(self) -> Any:
        return type(self), (self._max_workers, self._prefix, self._initializer, self._initargs)


class PriorityProcessPoolExecutor(_PriorityPool):
    """Processes shared by stages, in the same way; arguments as for concurrent.futures.ProcessPoolExecutor."""

    def __init__(self, max_workers: Optional[int] = None, **kwargs: Any) -> None:
        super().__init__((os.cpu_count() or 1) if max_workers is None else max_workers, "spdl-priority-process", None, ())
        self._arguments = kwargs
        self._pool = ProcessPoolExecutor(self._max_workers, **kwargs)

    def _call(self, fn: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
        return self._pool.submit(fn, *args, **kwargs).result()

    def shutdown(self, wait: bool = True, cancel_futures: bool = False) -> None:
        super().shutdown(wait, cancel_futures)
        self._pool.shutdown(wait)

    def __reduce__(self) -> Any:
        return _process_pool, (self._max_workers, self._arguments)


def _process_pool(max_workers: int, arguments: dict[str, Any]) -> PriorityProcessPoolExecutor:
    return PriorityProcessPoolExecutor(max_workers, **arguments)


class PriorityInterpreterPoolExecutor:
    """Refused: a pool of subinterpreters, which cannot import numpy, torch or ctypes."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("spdl: pipeline: PriorityInterpreterPoolExecutor needs Python 3.14, and its subinterpreters "
                           "cannot import numpy, torch or ctypes; use PriorityThreadPoolExecutor or "
                           "PriorityProcessPoolExecutor")
