"""A running pipeline: the engine's handle, the objects in flight, and the threads that do its works.

The threads hold the Core, never the Pipeline in front of it, so that a Pipeline which nobody refers to any more is
stopped by its finaliser.
"""

from __future__ import annotations

import asyncio
import atexit
import itertools
import logging
import os
import threading
import time
import weakref
from contextlib import AsyncExitStack
from typing import Any, Callable, Optional, Sequence

from .._errors import Forked
from .._lock import Lock
from . import defs
from ._desk import HostStage
from ._failure import PipelineFailure, failure, log_failure
from ._hooks import TaskHook
from ._host import TIMEOUT, Host
from ._info import StageInfo
from ._loop import Loop
from ._queues import AsyncQueue, StatsQueue
from ._map import MapStage, records, timed_only
from ._tasks import BackgroundTask
from ._worker import end_live

log = logging.getLogger("spdl.pipeline")

STOP_PATIENCE = 10.0  # seconds that stop() waits for ops to return, unless told otherwise
EXIT_PATIENCE = 1.0  # the same at the interpreter's exit

_live: weakref.WeakValueDictionary[int, Core] = weakref.WeakValueDictionary()  # by id


class QueuePlan:
    """A queue object beside the engine's queue behind a stage: the stage's name in the engine, and how to make it."""

    def __init__(self, name: str, info: StageInfo, make: Callable[[], AsyncQueue]) -> None:
        self.name = name
        self.info = info
        self.make = make


class Plan:
    """What a Core runs: the engine's description, the host stages in it, and what stands beside them."""

    def __init__(self, name: str, description: dict[str, Any], stages: Sequence[HostStage]) -> None:
        self.name = name
        self.description = description
        self.stages = stages
        self.queues: Sequence[QueuePlan] = ()
        self.background: Sequence[Callable[[], BackgroundTask]] = ()
        self.inner: Sequence[Any] = ()  # with halt() and close(): what feeds the source

    @property
    def continuous(self) -> bool:
        return bool(self.description.get("continuous"))

    @property
    def needs_loop(self) -> bool:
        """Whether anything of it runs coroutines."""
        return bool(self.queues or self.background or any(stage.needs_loop for stage in self.stages))


class Core:
    """One run of a pipeline."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.host = Host(plan.description)
        self.lock = Lock()
        self.items: dict[int, Any] = {}  # what the engine's item numbers stand for
        self._ranges = 0  # of item numbers that were given away, under the lock
        self.stopping = False
        self.closed = False  # the handle is gone
        self._blamed: list[tuple[StageInfo, BaseException]] = []
        self._causes: list[tuple[str, Exception]] = []  # why it failed, once somebody has asked
        # what they are raised as. Weak: the traceback of what was raised has the frames of those who read the pipeline, and with them
        # the Pipeline, whose finaliser has us
        self._failure: Callable[[], Optional[PipelineFailure]] = _none
        self._loop: Optional[Loop] = None
        self._threads: list[threading.Thread] = []
        self._scopes: dict[str, _Scope] = {}
        self._background: list[Any] = []
        self._closing = Lock()

    @property
    def loop(self) -> Loop:
        assert self._loop is not None
        return self._loop

    # ---- start

    def start(self, timeout: Optional[float]) -> None:
        """Enter the hooks, start the engine's pipeline and the threads."""
        self.check_process()
        if self.plan.needs_loop:
            self._loop = Loop(f"spdl-{self.plan.name}-loop")
        _live[id(self)] = self
        try:
            for stage in self.plan.stages:
                stage.bind(self)
            self._enter_hooks(timeout)
            with self._closing:  # who feeds another may be closed from there meanwhile: it joins threads, and those run
                self.host.start()
                for stage in self.plan.stages:
                    self._start_threads(stage)
        except BaseException:
            self.close(STOP_PATIENCE)
            raise
        for factory in self.plan.background:
            self._background.append(self.loop.start(_background(factory)))

    def _enter_hooks(self, timeout: Optional[float]) -> None:
        """Enter stage_hook of every hook and queue, each stage's in a task of its own."""
        hosts = {stage.name: stage for stage in self.plan.stages}
        queues = {queue.name: queue for queue in self.plan.queues}
        for name in dict.fromkeys([*hosts, *queues]):
            stage, queue = hosts.get(name), queues.get(name)
            hooks = [hook for hook in stage.hooks if not timed_only(hook) or records(hook)] if stage else []
            if not hooks and queue is None:
                continue
            scope = _Scope((hosts.get(name) or queues[name]).info, hooks, queue, self)
            opened = self.loop.start(scope.open())
            try:
                opened.result(timeout)
            except Exception as error:
                opened.cancel()
                if isinstance(error, TimeoutError):
                    raise TimeoutError(f"spdl: pipeline {self.plan.name}: start: the hooks of stage {scope.info} "
                                       f"were not entered within {timeout:g} s") from None
                self.blame(scope.info, error)
                raise self.failure() from None  # type: ignore[misc]  # of what was blamed
            self._scopes[name] = scope

    def _start_threads(self, stage: HostStage) -> None:
        stage.alive = stage.threads
        for number in range(stage.threads):
            thread = threading.Thread(target=self._main, args=(stage,), name=f"spdl {stage.info} {number}",
                                      daemon=True)
            self._threads.append(thread)
            thread.start()

    def _main(self, stage: HostStage) -> None:
        try:
            stage.run()
        except BaseException as error:  # noqa: B036 - a broken stage must not leave the others waiting
            if not self.closed:
                log_failure(f"stage {stage.info}", error)
                self.fail(stage.info, error)
        finally:
            with self.lock:
                stage.alive -= 1
                last = stage.alive == 0
            if last and stage.name in self._scopes:
                self.loop.post(self._scopes[stage.name].over.set)

    # ---- failures

    def condemn(self, stage: HostStage, error: BaseException) -> None:
        """The pipeline has failed in this stage: end it and all before it, and let what is behind it run out."""
        self.blame(stage.info, error)
        before = self.plan.stages[:list(self.plan.stages).index(stage) + 1]
        for one in before:
            one.condemned = True
        self.host.drain()
        for one in before:
            for desk in list(one.desks):
                desk.take_away()
        for one in self.plan.inner:
            one.halt()

    def blame(self, stage: StageInfo, error: BaseException) -> None:
        """Remember what ended the pipeline."""
        with self.lock:
            self._blamed.append((stage, error))

    def fail(self, stage: StageInfo, error: BaseException) -> None:
        """End the pipeline for an error that belongs to no work."""
        self.blame(stage, error)
        self.halt()

    def failure(self) -> Optional[PipelineFailure]:
        """Why the pipeline failed, or None; the same object each time, for as long as anybody keeps it."""
        with self.lock:
            if not self._causes:
                causes = [(str(info), _as_exception(error)) for info, error in self._blamed]
                self._causes = causes or self._engines_word()
            told = self._failure()
            if told is None and self._causes:
                told = failure(self._causes)
                self._failure = weakref.ref(told)
            return told

    def _engines_word(self) -> list[tuple[str, Exception]]:
        """What the engine itself ended the pipeline for, such as a thread that ended with a work."""
        text = self.host.error()
        return [(self.plan.name, RuntimeError(text))] if text else []

    # ---- while it runs

    def keys(self) -> Callable[[], int]:
        """Item numbers for one thread: without the interpreter lock several cannot count together."""
        with self.lock:
            self._ranges += 1
            return itertools.count(self._ranges << 40).__next__

    def check_process(self) -> None:
        if os.getpid() != self.host.pid:
            raise Forked(f"spdl: pipeline {self.plan.name}: made in process {self.host.pid}, this is a forked child; "
                         "build the pipeline in the child, or use run_pipeline_in_subprocess")

    def reclaim(self) -> None:
        """Let go of the objects that the engine will not hand out any more."""
        for key in self.host.reclaim():
            self.items.pop(key, None)

    def queue_stats(self, name: str) -> Optional[dict[str, Any]]:
        """The counters of the queue behind a stage; None when the pipeline is over."""
        stats = self.host.stats()
        for one in stats.get("queues", ()):
            if one["name"] == name:
                return {**one, "elapsed_ns": stats["elapsed_ns"]}
        return None

    # ---- end

    def over(self) -> None:
        """The last result was taken: leave the hooks of the engine's own stages, which have no thread to say so."""
        hosts = {stage.name for stage in self.plan.stages}
        for name, scope in self._scopes.items():
            if name not in hosts:
                self.loop.post(scope.over.set)

    def halt(self) -> None:
        """Stop without waiting."""
        self.stopping = True
        self.host.stop()
        if self._loop is not None:
            self._loop.cancel()
        for one in self.plan.inner:
            one.halt()

    def close(self, timeout: float) -> None:
        """Stop, and wait for the threads. Raises TimeoutError that names the stages whose ops do not return."""
        if os.getpid() != self.host.pid:
            return
        with self._closing:
            if self.closed:
                return
            deadline = time.monotonic() + timeout
            self.failure()
            self.halt()
            stuck = [thread for thread in self._threads if not _joined(thread, deadline)]
            for one in self.plan.inner:
                one.close(_left(deadline))
            if stuck:
                raise TimeoutError(self._stuck_text(timeout))
            if self.host.wait(int(_left(deadline) * 1e9)) == TIMEOUT:
                raise TimeoutError(f"spdl: pipeline {self.plan.name}: stop: the engine's part has not ended after "
                                   f"{timeout:g} s: {self.host.stats()}")
            self._leave_hooks(deadline)
            self._log_stats()
            self.failure()
            self.closed = True
            self.items.clear()
            self._threads.clear()
            _live.pop(id(self), None)

    def _leave_hooks(self, deadline: float) -> None:
        if self._loop is None:
            return
        for task in self._background:
            task.cancel()
        for scope in self._scopes.values():
            self._loop.finish(scope.close(), _left(deadline))
        if not self._loop.close(_left(deadline)):
            raise TimeoutError(f"spdl: pipeline {self.plan.name}: stop: the event loop is still busy; "
                               "a coroutine must not block: run what does with asyncio.to_thread")

    def _stuck_text(self, timeout: float) -> str:
        names = [f"{stage.info} ({stage.alive} of {stage.threads} threads, op {defs.describe(stage.op)})"
                 if isinstance(stage, MapStage) else f"{stage.info}"
                 for stage in self.plan.stages if stage.alive]
        return (f"spdl: pipeline {self.plan.name}: stop: after {timeout:g} s there is still work in stage "
                f"{', '.join(names)}; an op that runs cannot be interrupted: let it return, or give it a timeout")

    def _log_stats(self) -> None:
        if not log.isEnabledFor(logging.INFO):
            return
        for stage in self.host.stats().get("stages", ()):
            op = stage.get("op", {})
            log.info("[%s]\tCompleted %5d tasks (%3d failed). Ave: %.3f ms, p90: %.3f ms, p99: %.3f ms", stage["name"],
                     stage.get("items", 0), stage.get("failures", 0),
                     *(op.get(name, 0) / 1e6 for name in ("mean_ns", "p90_ns", "p99_ns")))


class _Scope:
    """Holds the hooks of a stage open, entered and left in one task, as async context managers want it."""

    def __init__(self, info: StageInfo, hooks: Sequence[TaskHook], queue: Optional[QueuePlan], core: Core) -> None:
        self.info = info
        self._hooks = hooks
        self._queue = queue
        self._core = core

    async def open(self) -> None:
        """Enter the hooks; raises what they raise."""
        self.over = asyncio.Event()
        opened = asyncio.get_running_loop().create_future()
        self._task = asyncio.ensure_future(self._hold(opened))
        await opened

    async def close(self) -> None:
        """Leave the hooks."""
        self.over.set()
        await self._task

    async def _hold(self, opened: asyncio.Future) -> None:
        try:
            async with AsyncExitStack() as stack:
                for hook in self._hooks:
                    await stack.enter_async_context(hook.stage_hook())
                plan = self._queue
                if plan is not None:
                    queue = plan.make()
                    if isinstance(queue, StatsQueue):
                        queue.follow(lambda: self._core.queue_stats(plan.name))
                    await stack.enter_async_context(queue.stage_hook())
                opened.set_result(None)
                await self.over.wait()
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            if opened.done():
                self._core.fail(self.info, error)
            else:
                opened.set_exception(_as_exception(error))


def _none() -> None:
    """A weak reference to nothing."""


def _left(deadline: float) -> float:
    """Seconds to the deadline, a moment at least."""
    return max(0.1, deadline - time.monotonic())


def _joined(thread: threading.Thread, deadline: float) -> bool:
    if thread is not threading.current_thread():
        thread.join(max(0.0, deadline - time.monotonic()))
        return not thread.is_alive()
    return True


def _as_exception(error: BaseException) -> Exception:
    """ExceptionGroup takes Exceptions only; a SystemExit of an op becomes one that says so."""
    if isinstance(error, Exception):
        return error
    wrapped = RuntimeError(f"an op raised {type(error).__name__}({error}), which would end a thread")
    wrapped.__cause__ = error
    return wrapped


async def _background(factory: Callable[[], BackgroundTask]) -> None:
    try:
        await factory().run()
    except asyncio.CancelledError:
        raise
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        log_failure(f"background task {getattr(factory, '__name__', factory)}", error)


def abandon(core: Core) -> None:
    """Stop a core whose Pipeline is gone; never waits, as a finaliser runs on any thread."""
    if core.closed or os.getpid() != core.host.pid:
        return
    core.halt()
    threading.Thread(target=_close_quietly, args=(core, STOP_PATIENCE), name="spdl-close", daemon=True).start()


def _close_quietly(core: Core, timeout: float) -> None:
    try:
        core.close(timeout)
    except TimeoutError as error:
        log.warning("%s", error)


@atexit.register
def _at_exit() -> None:
    """Stop what still runs: the threads are daemons, so that an op that never returns holds no exit up. The workers end behind the
    pipelines that use them; multiprocessing's handler, registered when _worker was imported, comes after this one."""
    running = [core() for core in _live.valuerefs()]  # a list of its own: other threads may still start one
    cores = [core for core in running if core is not None and core.host.pid == os.getpid()]
    for core in cores:
        core.halt()
    for core in cores:
        _close_quietly(core, EXIT_PATIENCE)
    end_live()
