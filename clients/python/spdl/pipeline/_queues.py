"""The queues' public face: what a custom merge gets and puts, and where queue statistics arrive.

Items between stages travel in the engine, not in these. A queue object stands beside each of the engine's queues:
its stage_hook runs with the stage in front of it, its interval_stats_callback gets that queue's statistics.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, AsyncIterator, Callable, Optional

from ._info import StageInfo
from ._reporter import Reporter
from ._times import Times

log = logging.getLogger("spdl.pipeline")


class AsyncQueue(asyncio.Queue[Any]):
    """A queue that belongs to a stage."""

    def __init__(self, info: StageInfo, *, buffer_size: int = 1) -> None:
        super().__init__(buffer_size)
        self.info = info

    @asynccontextmanager
    async def stage_hook(self) -> AsyncIterator[None]:
        """Entered before the stage in front of the queue begins, left after it has ended."""
        yield


@dataclass
class QueuePerfStats:
    """A queue in an interval; times in seconds.

    occupancy_rate  share of the time in which an item was ready: near 0 the stage before is the limit, near 1
                    the one behind. The quantiles are those since the start.
    """

    elapsed: float
    num_items: int
    ave_put_time: float
    ave_get_time: float
    p90_put_time: float
    p99_put_time: float
    p90_get_time: float
    p99_get_time: float
    occupancy_rate: float

    @property
    def qps(self) -> float:
        """Items per second."""
        return self.num_items / self.elapsed if self.elapsed > 0 else 0.0


class StatsQueue(Reporter, AsyncQueue):
    """Reports its statistics every `interval` seconds (-1: never) and at the end."""

    def __init__(self, info: StageInfo, *, buffer_size: int = 1, interval: float = -1) -> None:
        super().__init__(info, buffer_size=buffer_size)
        self.interval = interval
        self._meter: Callable[[], QueuePerfStats] = _OwnMeter()

    async def put(self, item: object) -> None:
        begun = time.perf_counter()
        await super().put(item)
        if isinstance(self._meter, _OwnMeter):
            self._meter.put(time.perf_counter() - begun, self.empty())

    async def get(self) -> Any:
        begun = time.perf_counter()
        item = await super().get()
        if isinstance(self._meter, _OwnMeter):
            self._meter.get(time.perf_counter() - begun, self.empty())
        return item

    def follow(self, read: Callable[[], Optional[dict[str, Any]]]) -> None:
        """Report the statistics of one of the engine's queues in place of its own."""
        self._meter = _EngineMeter(read)

    async def interval_stats_callback(self, stats: QueuePerfStats) -> None:
        """Called with the statistics of each interval, and of the last one at the end. Logs them."""
        log.info("[%s]\tProcessed %5d items in %.3f s (%.1f/s). Put: %.3f ms (p90 %.3f, p99 %.3f), "
                 "get: %.3f ms (p90 %.3f, p99 %.3f), occupancy %.0f %%", self.info, stats.num_items, stats.elapsed,
                 stats.qps, *(1e3 * seconds for seconds in (stats.ave_put_time, stats.p90_put_time, stats.p99_put_time,
                                                            stats.ave_get_time, stats.p90_get_time,
                                                            stats.p99_get_time)), 100 * stats.occupancy_rate)

    def _interval_stats(self) -> QueuePerfStats:
        return self._meter()


class _OwnMeter:
    """Times of a queue that Python code uses itself."""

    def __init__(self) -> None:
        self._puts, self._gets = Times(), Times()
        self._since = self._turned = time.perf_counter()
        self._empty, self._filled = True, 0.0

    def put(self, seconds: float, empty: bool) -> None:
        self._puts.add(seconds)
        self._turn(empty)

    def get(self, seconds: float, empty: bool) -> None:
        self._gets.add(seconds)
        self._turn(empty)

    def _turn(self, empty: bool) -> None:
        now = time.perf_counter()
        if not self._empty:
            self._filled += now - self._turned
        self._empty, self._turned = empty, now

    def __call__(self) -> QueuePerfStats:
        self._turn(self._empty)
        now = time.perf_counter()
        elapsed, filled = now - self._since, self._filled
        self._since, self._filled = now, 0.0
        _, put, put90, put99 = self._puts.take()
        count, get, get90, get99 = self._gets.take()
        return QueuePerfStats(elapsed, count, put, get, put90, put99, get90, get99,
                              filled / elapsed if elapsed > 0 else 0.0)


class _EngineMeter:
    """Intervals of the counters of an engine's queue, which count from the start."""

    def __init__(self, read: Callable[[], Optional[dict[str, Any]]]) -> None:
        self._read = read
        self._before: dict[str, Any] = {}

    def __call__(self) -> QueuePerfStats:
        now = self._read()
        if now is None:  # the pipeline is over: nothing since
            return QueuePerfStats(0.0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        before, self._before = self._before, now
        elapsed = (now["elapsed_ns"] - before.get("elapsed_ns", 0)) / 1e9
        filled = (_filled(now) - _filled(before)) / 1e9
        put, get = now["put_wait"], now["get_wait"]
        return QueuePerfStats(elapsed, now["puts"] - before.get("puts", 0), _mean(put, before.get("put_wait", {})),
                              _mean(get, before.get("get_wait", {})), put["p90_ns"] / 1e9, put["p99_ns"] / 1e9,
                              get["p90_ns"] / 1e9, get["p99_ns"] / 1e9, filled / elapsed if elapsed > 0 else 0.0)


def _filled(queue: dict[str, Any]) -> float:
    return queue.get("occupancy", 0.0) * queue.get("elapsed_ns", 0)


def _mean(now: dict[str, Any], before: dict[str, Any]) -> float:
    count = now["count"] - before.get("count", 0)
    return (now["sum_ns"] - before.get("sum_ns", 0)) / count / 1e9 if count else 0.0
