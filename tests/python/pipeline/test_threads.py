"""Stages on many threads: what they count together is counted whole, with an interpreter lock and without."""

from __future__ import annotations

import collections
import sys
import threading

import pytest

from spdl.pipeline import TaskStatsHook

from .conftest import build, run

THREADS = 8


@pytest.fixture(autouse=True)
def eager():
    """With an interpreter lock threads change places as often as they can; without one this is nothing."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def test_many_threads_of_many_stages_lose_and_double_nothing():
    """Each result has a number of its own, whichever thread gave it and whichever took it."""
    pipeline = build(range(2000), lambda x: x + 1, lambda x: [x, -x], lambda pair: pair[0], num_threads=3 * THREADS,
                     pipe={"concurrency": THREADS})
    results = collections.deque()
    with pipeline.auto_stop():
        def take() -> None:
            results.extend(pipeline)

        takers = [threading.Thread(target=take) for _ in range(THREADS)]
        for taker in takers:
            taker.start()
        for taker in takers:
            taker.join(60)
        assert not any(taker.is_alive() for taker in takers)
    assert sorted(results) == list(range(1, 2001))


def test_generators_on_many_threads_lose_and_double_nothing():
    def both(x):
        yield x
        yield -x

    results = run(range(1, 1001), both, num_threads=THREADS, pipe={"concurrency": THREADS})
    assert sorted(results) == [x for x in range(-1000, 1001) if x]


def test_failures_of_many_threads_are_all_counted():
    """By the hook, for its report, and by the stage, for its limit."""
    reports = []

    class Hook(TaskStatsHook):
        async def interval_stats_callback(self, stats):
            reports.append(stats)

    def fail(x):
        raise ValueError("as asked")

    assert run(range(500), fail, num_threads=THREADS, pipe={"concurrency": THREADS},
               task_hook_factory=lambda info: [Hook(info)]) == []
    assert (sum(report.num_tasks for report in reports), sum(report.num_failures for report in reports)) == (500, 500)


def test_a_pipeline_is_stopped_while_its_threads_give_and_others_take():
    """At whatever moment: every thread ends, and what was taken is right."""
    for count in range(20):
        pipeline = build(range(1, 10**9), lambda x: 2 * x, num_threads=THREADS, pipe={"concurrency": THREADS})
        results, enough = collections.deque(), threading.Event()

        def take() -> None:
            for item in pipeline:
                results.append(item)
                if len(results) > 10 * count:
                    enough.set()

        pipeline.start()
        takers = [threading.Thread(target=take) for _ in range(4)]
        for taker in takers:
            taker.start()
        assert enough.wait(60)
        pipeline.stop(timeout=60)
        for taker in takers:
            taker.join(60)
        assert not any(taker.is_alive() for taker in takers)
        assert len(set(results)) == len(results) and all(item % 2 == 0 for item in results)
