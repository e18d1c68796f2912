"""Hooks around tasks and stages, and the statistics they make."""

from __future__ import annotations

import logging
import time
from abc import ABC
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, AsyncIterator

from .._lock import Lock
from ._info import StageInfo
from ._reporter import Reporter
from ._times import Times

log = logging.getLogger("spdl.pipeline")


class TaskHook(ABC):
    """Runs with every task and every stage of a pipe; both methods are async context managers on the event loop.

    A hook costs each item two hops to the event loop and back. One that only wants times derives from
    TaskStatsHook and overrides interval_stats_callback: that costs none.
    """

    @asynccontextmanager
    async def stage_hook(self) -> AsyncIterator[None]:
        """Entered before the stage's first task, left after its last. What it raises ends the pipeline."""
        yield

    @asynccontextmanager
    async def task_hook(self, input_item: Any = None) -> AsyncIterator[None]:
        """Around each call of the op, and each step of a generator. What it raises drops the item, as a failure.

        What the op raises is a failure whether the hook lets it through or not; StopAsyncIteration is the end of a generator.
        """
        yield


@dataclass
class TaskPerfStats:
    """Tasks of an interval; times in seconds, of those that succeeded."""

    num_tasks: int
    num_failures: int
    ave_time: float
    p90_time: float
    p99_time: float


class TaskStatsHook(Reporter, TaskHook):
    """Counts and times the tasks of a stage; reports every `interval` seconds (-1: never) and at the end."""

    def __init__(self, info: StageInfo, interval: float = -1) -> None:
        self.info = info
        self.interval = interval
        self._times = Times()
        self._counting = Lock()  # guards the failures, of all the stage's threads
        self._failures = 0

    def record(self, seconds: float, failed: bool) -> None:
        """One task more. The pipeline calls this itself where task_hook is not overridden."""
        if failed:
            with self._counting:
                self._failures += 1
        else:
            self._times.add(seconds)

    @asynccontextmanager
    async def task_hook(self, input_item: Any = None) -> AsyncIterator[None]:
        begun = time.perf_counter()
        try:
            yield
        except StopAsyncIteration:
            raise
        except BaseException:
            self.record(0.0, True)
            raise
        self.record(time.perf_counter() - begun, False)

    async def interval_stats_callback(self, stats: TaskPerfStats) -> None:
        """Called with the statistics of each interval, and of the last one at the end. Logs them."""
        log.info("[%s]\tCompleted %5d tasks (%3d failed). Ave: %.3f ms, p90: %.3f ms, p99: %.3f ms", self.info,
                 stats.num_tasks, stats.num_failures, stats.ave_time * 1e3, stats.p90_time * 1e3,
                 stats.p99_time * 1e3)

    def _interval_stats(self) -> TaskPerfStats:
        with self._counting:
            failures, self._failures = self._failures, 0
        count, mean, p90, p99 = self._times.take()
        return TaskPerfStats(count + failures, failures, mean, p90, p99)
