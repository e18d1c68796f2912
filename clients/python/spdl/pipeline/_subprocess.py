"""An iterable, or a whole pipeline, in a process of its own."""

from __future__ import annotations

import collections
import contextlib
import functools
import random
import sys
import time
from typing import Any, Callable, Generic, Iterable, Iterator, Optional, Sequence, TypeVar, Union

from . import _host, defs
from ._arena import BUDGET, SharedMemoryRingBuffer, SharedMemorySegmentPool
from ._builder import PipelineBuilder
from ._hooks import TaskHook
from ._info import StageInfo
from ._portable import portable
from ._queues import AsyncQueue
from ._tasks import BackgroundTaskFactory
from ._variables import U
from ._worker import Channel, Worker, WorkerDied, received_error, send_error

T = TypeVar("T")

Initializer = Union[Callable[[], None], Sequence[Callable[[], None]], None]


def iterate_in_subprocess(fn: Callable[[], Iterable[T]], *, buffer_size: int = 3, initializer: Initializer = None,
                          mp_context: Optional[str] = None, timeout: Optional[float] = None, daemon: bool = False,
                          arena: Union[SharedMemorySegmentPool, SharedMemoryRingBuffer, None] = None) -> Iterable[T]:
    """Iterate fn() in a process of its own, which lives as long as what is returned; iterate that again and again.

    fn           called there; where it returns a generator, it is called again for each further iteration
    buffer_size  items that the process may be ahead
    initializer  called there before, one function or several
    mp_context   "fork", "spawn", "forkserver"; None: the platform's own
    timeout      seconds without an item after which the process is ended and TimeoutError raised
    daemon       whether the process may have no children of its own, and ends with this one; it does so anyway
    arena        SharedMemorySegmentPool or SharedMemoryRingBuffer: how much shared memory it may hold; None: 1 GiB

    Arrays (numpy, torch on the CPU) and bytes come through shared memory: arrays without a copy on this side, as
    views whose memory is used again when the last is gone.
    Raises WorkerDied at once when the process is killed; what the iteration raises is raised here (a SystemExit as
    WorkerError), and the process stays: the next iteration begins anew. One iteration at a time: where another begins,
    the one before raises RuntimeError if it is asked for more.
    """
    buffer_size = defs.at_least_one("pipeline: iterate_in_subprocess: buffer_size", buffer_size)
    if initializer is None:
        initializers: tuple[Callable[[], None], ...] = ()
    else:
        initializers = (initializer,) if callable(initializer) else tuple(initializer)
    budget = BUDGET if arena is None else arena.budget
    worker = Worker(f"spdl-iterate-{getattr(fn, '__name__', type(fn).__name__)}", _serve,
                    (fn, buffer_size, initializers), mp_context=mp_context, daemon=daemon, budget=budget)
    return _Iterable(worker, timeout)


class _Iterable(Generic[T]):
    """The worker's iterable, seen from here."""

    def __init__(self, worker: Worker, timeout: Optional[float]) -> None:
        self._worker = worker
        self._timeout = timeout
        self._number = 0  # of the iteration that the worker does
        self._ready = False
        self._broken: Optional[BaseException] = None

    def __iter__(self) -> Iterator[T]:
        if self._broken is not None:
            raise WorkerDied(f"spdl: pipeline: iterate_in_subprocess: the worker is gone: {self._broken}; make another")
        return self._iterate()

    def _iterate(self) -> Iterator[T]:
        worker, ended = self._worker, False
        self._number += 1
        number = self._number
        try:
            worker.send("iterate", number)
            while True:
                kind, value = self._next(number)
                if kind == "end":
                    ended = True
                    return
                if kind == "error":
                    ended = True
                    raise received_error(value, worker.process.name)
                worker.send("taken", number)
                yield value
                del value  # its block may be used again while the next is waited for
        except (WorkerDied, TimeoutError) as error:
            ended = True
            if self._broken is None and (isinstance(error, WorkerDied) or error.args == (_SILENT,)):
                self._broken = error
                worker.close()
            raise
        finally:
            if not ended:
                with contextlib.suppress(WorkerDied):  # nobody waits for it any more
                    worker.send("leave", number)

    def _next(self, number: int) -> tuple[str, Any]:
        """The next message of this iteration; what is left of earlier ones is dropped. Raises RuntimeError if a later one has begun."""
        worker = self._worker
        until = None if self._timeout is None else time.monotonic() + self._timeout
        while True:
            if number != self._number:
                raise RuntimeError(_OVERTAKEN)
            left = None if until is None else max(0.0, until - time.monotonic())
            if not worker.wait(left):
                raise TimeoutError(_SILENT)
            kind, at, packed = worker.receive()
            if at == number or kind == "failed":
                value = worker.channel.unpack(packed)
                if kind == "failed":
                    self._broken = received_error(value, worker.process.name)
                    raise self._broken
                return kind, value
            worker.channel.discard(packed)


_SILENT = "spdl: pipeline: iterate_in_subprocess: the worker gave nothing within its timeout, and was ended"

_OVERTAKEN = ("spdl: pipeline: iterate_in_subprocess: another iteration of the same object has begun, and its worker does one at a "
              "time; end this one before, or make another object for it")


# ---- in the worker -----------------------------------------------------------------------------


def _serve(channel: Channel, fn: Callable[[], Iterable[Any]], buffer_size: int,
           initializers: Sequence[Callable[[], None]]) -> None:
    try:
        for initialize in initializers:
            initialize()
        iterable = fn()
    except BaseException as error:  # noqa: B036 - whatever it is, the parent must hear of it
        send_error(channel, "failed", 0, error)
        return
    used = False
    wanted: collections.deque[int] = collections.deque()
    while True:
        number = wanted.popleft() if wanted else _wait_for_iterate(channel)
        try:
            if used and iter(iterable) is iterable:  # a generator is exhausted for good
                iterable = fn()
            used = True
            _send_all(channel, iter(iterable), number, buffer_size, wanted)
        except (EOFError, BrokenPipeError, ConnectionResetError):
            raise
        except BaseException as error:  # noqa: B036
            send_error(channel, "error", number, error)


def _wait_for_iterate(channel: Channel) -> int:
    while True:
        kind, number, _ = channel.receive()
        if kind == "iterate":
            return number


def _send_all(channel: Channel, iterator: Iterator[Any], number: int, buffer_size: int,
              wanted: collections.deque[int]) -> None:
    """Send the items of one iteration, at most buffer_size ahead, until the parent wants no more."""
    ahead = 0
    try:
        for item in iterator:
            channel.send("item", number, item)
            ahead += 1
            while ahead >= buffer_size or channel.connection.poll(0):
                kind, at, _ = channel.receive()
                if kind == "iterate":
                    wanted.append(at)
                    return
                if at == number and kind == "leave":
                    return
                if at == number and kind == "taken":
                    ahead -= 1
    finally:
        close = getattr(iterator, "close", None)
        if close is not None:
            close()
    channel.send("end", number)


# ---- a pipeline there --------------------------------------------------------------------------


def run_pipeline_in_subprocess(config_or_builder: Union[defs.PipelineConfig[U], PipelineBuilder[Any, U]], /, *, num_threads: int, max_failures: defs.MaxFailures = -1,
                               report_stats_interval: float = -1, queue_class: Optional[type[AsyncQueue]] = None,
                               task_hook_factory: Optional[Callable[[StageInfo], Iterable[TaskHook]]] = None,
                               background_tasks: Optional[list[BackgroundTaskFactory]] = None, use_thread_output_queue: bool = False,
                               **kwargs: Any) -> Iterable[U]:
    """Run a pipeline in a process of its own and iterate over its results here, an epoch at a time.

    The process stays between iterations; a continuous pipeline also runs on there. It begins with this process's
    states of random, numpy.random and torch (CPU). Executors in the config are made anew there; they must not have
    been used. kwargs go to iterate_in_subprocess, the others to build_pipeline. mp_context None means the
    platform's own, but "spawn" where this process has run a pipeline before: the engine does not survive a fork.
    """
    given: Any = config_or_builder
    config = given.get_config() if hasattr(given, "get_config") else given
    options = {"num_threads": num_threads, "max_failures": max_failures, "report_stats_interval": report_stats_interval,
               "queue_class": queue_class, "task_hook_factory": task_hook_factory,
               "background_tasks": background_tasks, "use_thread_output_queue": use_thread_output_queue}
    if kwargs.get("mp_context") is None and _host.loaded():
        kwargs["mp_context"] = "spawn"
    before = kwargs.pop("initializer", None)
    initializers = () if before is None else (before,) if callable(before) else tuple(before)
    kwargs["initializer"] = (functools.partial(_set_random_states, _random_states()), *initializers)
    return iterate_in_subprocess(functools.partial(_Epochs, portable(config), options), **kwargs)


class _Epochs:
    """The epochs of a pipeline: each iteration is one, by a pipeline built anew unless its source is continuous."""

    def __init__(self, config: Any, options: dict[str, Any]) -> None:
        self._config = config
        self._options = options
        self._running: Any = None

    def __iter__(self) -> Iterator[Any]:
        from ._build import build_pipeline

        pipeline = self._running or build_pipeline(self._config.restore(), **self._options)
        if pipeline.continuous:
            self._running = pipeline
            yield from pipeline.get_iterator()
            return
        with pipeline.auto_stop():
            yield from pipeline.get_iterator()


def _random_states() -> dict[str, Any]:
    states: dict[str, Any] = {"random": random.getstate()}
    if "numpy" in sys.modules:
        states["numpy"] = sys.modules["numpy"].random.get_state()
    if "torch" in sys.modules:
        states["torch"] = sys.modules["torch"].get_rng_state()
    return states


def _set_random_states(states: dict[str, Any]) -> None:
    random.setstate(states["random"])
    if "numpy" in states:
        import numpy

        numpy.random.set_state(states["numpy"])
    if "torch" in states:
        import torch

        torch.set_rng_state(states["torch"])


# ---- subinterpreters ---------------------------------------------------------------------------


def iterate_in_subinterpreter(fn: Callable[[], Iterable[T]], *, buffer_size: int = 3, initializer: Initializer = None,
                              timeout: Optional[float] = None) -> Iterable[T]:
    """Refused on every interpreter: see the text of the error."""
    raise RuntimeError(_NO_SUBINTERPRETER.format("iterate_in_subinterpreter", "iterate_in_subprocess"))


def run_pipeline_in_subinterpreter(config: Any, /, *, num_threads: int, **kwargs: Any) -> Iterable[Any]:
    """Refused on every interpreter: see the text of the error."""
    raise RuntimeError(_NO_SUBINTERPRETER.format("run_pipeline_in_subinterpreter", "run_pipeline_in_subprocess"))


_NO_SUBINTERPRETER = ("spdl: pipeline: {} needs Python 3.14, and its subinterpreters cannot import ctypes, numpy or "
                      "torch; the engine works outside the interpreter lock already: use a pipeline's threads, or {}")
