"""Pipeline: what a user holds."""

from __future__ import annotations

import threading
import time
import weakref
from contextlib import contextmanager
from typing import Any, Generic, Iterator, Optional

from .._lock import Lock
from ._core import STOP_PATIENCE, Core, Plan, abandon
from ._failure import PipelineFailure
from ._host import END_EPOCH, OK, TIMEOUT, WORK_LIST, Work
from ._variables import T

EPOCH_ENDS, DATA_ENDS = object(), object()

SLICE = 0.04  # seconds; the main thread waits no longer at once, so that a Ctrl-C is seen


class Pipeline(Generic[T]):
    """A running or ready pipeline. Made by PipelineBuilder.build() or build_pipeline().

        with pipeline.auto_stop():
            for item in pipeline:           # one epoch
                use(item)

    start() and stop() may be left out: the first item starts it; the last reference, or the interpreter's exit,
    stops it. It runs once. Threads may share it: each result goes to one of them.
    """

    def __init__(self, plan: Plan) -> None:
        self._core = Core(plan)
        self._lock = Lock()
        self._started = False
        self._stopped = False
        self._told = False  # whether the failure was raised
        self._local = threading.local()
        self._finaliser = weakref.finalize(self, abandon, self._core)
        self._finaliser.atexit = False  # the core's own exit handler waits, too

    def __repr__(self) -> str:
        state = "stopped" if self._stopped else "started" if self._started else "ready"
        return f"<spdl.pipeline.Pipeline {self._core.plan.name!r} {state}: {', '.join(stage.name for stage in self._core.plan.stages)}>"

    # ---- life

    def start(self, *, timeout: Optional[float] = None, **kwargs: Any) -> None:
        """Start it, once. timeout: seconds for the hooks to be entered. What else SPDL takes (daemon) has no
        meaning here: no thread of a pipeline holds up the interpreter's exit."""
        if set(kwargs) - {"daemon"}:
            raise TypeError(f"spdl: pipeline: start: unexpected {', '.join(sorted(kwargs))}")
        with self._lock:
            if self._started:
                raise RuntimeError("spdl: pipeline: start: the pipeline was already started; build another one")
            if self._stopped:
                raise RuntimeError("spdl: pipeline: start: the pipeline was stopped; build another one")
            self._started = True
            try:
                self._core.start(timeout)
            except PipelineFailure:
                self._told = True
                self._forget()
                raise

    def stop(self, *, timeout: Optional[float] = None) -> None:
        """Stop it and wait for its threads; results not taken are dropped. A second call does nothing.

        timeout  seconds for ops to return; None: 10
        Raises PipelineFailure if it failed and nobody was told yet; TimeoutError that names the stages whose ops
        have not returned: their threads stay, as a thread cannot be ended from outside.
        """
        self._core.check_process()
        with self._lock:
            self._stopped = True
        self._core.close(STOP_PATIENCE if timeout is None else timeout)
        self._forget()
        if not self._told:
            self.raise_failure()

    def _forget(self) -> None:
        """A closed core needs no finaliser, which keeps it. Its errors may have our frames: those of a start do."""
        if self._core.closed:
            self._finaliser.detach()

    @contextmanager
    def auto_stop(self, *, timeout: Optional[float] = None) -> Iterator[None]:
        """Start it here, stop it at the end of the block."""
        self.start(timeout=timeout)
        try:
            yield
        except BaseException:
            self._told = True  # the block's own error is the news
            self.stop(timeout=timeout)
            raise
        self.stop(timeout=timeout)

    # ---- results

    def get_item(self, *, timeout: Optional[float] = None) -> T:
        """The next result.

        timeout  seconds, None: as long as it takes. A call that times out has taken nothing
        Raises TimeoutError; EOFError at the end of the data and of each epoch; PipelineFailure, after everything
        that was ready before the failure.
        """
        item = self.next(timeout)
        if item is EPOCH_ENDS or item is DATA_ENDS:
            raise EOFError("spdl: pipeline: the end of the data, or of the epoch, is reached")
        return item

    def get_iterator(self, *, timeout: Optional[float] = None) -> Iterator[T]:
        """The results of one epoch, or of all the data. timeout: seconds for each."""
        while True:
            item = self.next(timeout)
            if item is EPOCH_ENDS or item is DATA_ENDS:
                return
            yield item

    def __iter__(self) -> Iterator[T]:
        return self.get_iterator()

    def next(self, timeout: Optional[float] = None) -> Any:
        """The next result, or EPOCH_ENDS or DATA_ENDS. get_item is this with exceptions; this is for pipelines
        that feed another."""
        core = self._core
        if not self._started:
            self._ensure_started()
        core.check_process()
        work = getattr(self._local, "work", None)
        if work is None:
            work = self._local.work = Work()
        if (work.n_items or work.flags) and not core.closed:  # a Ctrl-C came between the last result and its caller
            status = OK
        else:
            status = self._wait(work, timeout)
        if status == OK:
            try:
                return self._taken(work)
            except KeyError:
                if not core.closed:
                    raise
                work.n_items = work.flags = 0  # another thread has stopped it since: the result is dropped, as others
                return self._ended()
        if status == END_EPOCH:
            return EPOCH_ENDS
        if status == TIMEOUT:
            raise TimeoutError(f"spdl: pipeline {core.plan.name}: no result for {timeout:g} s")
        return self._ended()

    def _taken(self, work: Work) -> Any:
        """The result in work, which is empty then. Of a single item nothing is lost to a Ctrl-C: Python looks for signals
        at no line here that comes after its `del`."""
        items = self._core.items
        if work.flags & WORK_LIST:
            keys = work.items[:work.n_items]
            work.n_items = work.flags = 0
            return [items.pop(key) for key in keys]
        key = work.items[0]
        item = items[key]
        del items[key]
        work.n_items = 0
        return item

    def _wait(self, work: Work, timeout: Optional[float]) -> int:
        host = self._core.host
        if threading.current_thread() is not threading.main_thread():
            return host.get(-1 if timeout is None else int(timeout * 1e9), work)
        if timeout is not None and timeout <= SLICE:
            return host.get(int(timeout * 1e9), work)
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            left = SLICE if until is None else min(SLICE, until - time.monotonic())
            status = host.get(max(0, int(left * 1e9)), work)
            if status != TIMEOUT or (until is not None and left <= 0):
                return status

    def _ended(self) -> Any:
        self._core.over()
        self.raise_failure()
        return DATA_ENDS

    def _ensure_started(self) -> None:
        try:
            self.start()
        except RuntimeError:
            if not self._started and not self._stopped:  # another thread may have been first
                raise

    # ---- insight

    def stats(self) -> dict[str, Any]:
        """Counters of every stage and queue now, as the engine has them. Not in Meta's SPDL.

        `["verdict"]["text"]` says in a sentence what is slow, `["verdict"]["what_if"]` what a change would bring at most: since the last
        call of a second ago or more; at first, and when the run has ended, since the start.
        """
        return self._core.host.stats()

    # ---- as the source of another pipeline

    @property
    def continuous(self) -> bool:
        """Whether its source goes on epoch after epoch."""
        return self._core.plan.continuous

    def raise_failure(self) -> None:
        """Raise why the pipeline failed, if it has."""
        failed = self._core.failure()
        if failed is not None:
            self._told = True
            try:
                raise failed
            finally:
                del failed  # its traceback has this frame

    def halt(self) -> None:
        """Stop without waiting."""
        self._core.halt()

    def close(self, timeout: float) -> None:
        """Stop and wait, for the pipeline that this one feeds, which reports the failure."""
        self._core.close(timeout)
