"""Hooks, statistics, background tasks and the process's defaults."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, suppress

import pytest

from spdl.pipeline import (
    AsyncQueue,
    BackgroundTask,
    PipelineBuilder,
    PipelineFailure,
    ProcessGroupStatsMonitor,
    StageInfo,
    StatsQueue,
    TaskHook,
    TaskStatsHook,
    build_pipeline,
    config,
    create_task,
)
from spdl.pipeline._loop import Loop

from .conftest import build, run, wait_for


class Recorder(TaskHook):
    def __init__(self, swallow=False):
        self.events = []
        self.swallow = swallow

    @asynccontextmanager
    async def stage_hook(self):
        self.events.append("enter")
        yield
        self.events.append("leave")

    @asynccontextmanager
    async def task_hook(self, input_item=None):
        self.events.append(("in", input_item))
        try:
            yield
        except ValueError:
            self.events.append(("failed", input_item))
            if not self.swallow:
                raise
        else:
            self.events.append(("out", input_item))


def same(x):
    if x == 9:
        raise ValueError(x)
    return x


async def asame(x):
    return same(x)


def gsame(x):
    yield same(x)


async def agsame(x):
    yield same(x)


@pytest.mark.parametrize("op", [same, asame])
@pytest.mark.parametrize("swallow", [False, True])
def test_task_hooks_are_around_each_task_and_see_its_item(op, swallow):
    """Entered before the op, left after it, told of its failure, which stays one where a hook swallows it."""
    hook = Recorder(swallow)
    assert run([1, 9, 2], op, num_threads=1, task_hook_factory=lambda info: [hook]) == [1, 2]
    assert hook.events == ["enter", ("in", 1), ("out", 1), ("in", 9), ("failed", 9), ("in", 2), ("out", 2), "leave"]
    with pytest.raises(PipelineFailure, match="failed 1 times"):
        run([1, 9, 2], op, task_hook_factory=lambda info: [hook], max_failures=0)


@pytest.mark.parametrize("op", [gsame, agsame])
def test_a_hook_that_swallows_everything_does_not_keep_a_generator_from_its_end(op):
    class Swallowing(TaskHook):
        @asynccontextmanager
        async def task_hook(self, input_item=None):
            with suppress(Exception):
                yield

    results = build([1, 9, 2], op, task_hook_factory=lambda info: [Swallowing()])
    with results.auto_stop():
        assert list(results.get_iterator(timeout=60)) == [1, 2]


@pytest.mark.parametrize("op", [gsame, agsame])
def test_task_hooks_are_around_each_step_of_a_generator(op):
    """The step in which a generator ends is seen too, as StopAsyncIteration."""
    hook = Recorder()
    assert run([1, 2], op, task_hook_factory=lambda info: [hook]) == [1, 2]
    assert [event for event in hook.events if event[0] == "out"] == [("out", 1), ("out", 2)]
    assert len([event for event in hook.events if event[0] == "in"]) == 4


def test_several_hooks_are_nested_and_made_per_pipe():
    seen = []

    class Named(TaskHook):
        def __init__(self, name):
            self.name = name

        @asynccontextmanager
        async def task_hook(self, input_item=None):
            seen.append(f"+{self.name}")
            yield
            seen.append(f"-{self.name}")

    infos = []

    def factory(info):
        infos.append(str(info))
        return [Named("a"), Named("b")]

    assert run([1], same, asame, task_hook_factory=factory) == [1]
    assert seen == ["+a", "+b", "-b", "-a"] * 2
    assert [text.split(":", 1)[1] for text in infos] == ["1:same", "2:asame"]


def test_a_task_hook_that_raises_drops_the_item():
    class Bad(TaskHook):
        @asynccontextmanager
        async def task_hook(self, input_item=None):
            if input_item == 2:
                raise RuntimeError("hook")
            yield

    for op in (same, asame):
        assert run([1, 2, 3], op, task_hook_factory=lambda info: [Bad()]) == [1, 3]


@pytest.mark.parametrize("when", ["enter", "leave"])
def test_a_stage_hook_that_raises_ends_the_pipeline(when):
    """Entering: start raises; leaving: whoever reads or stops next."""
    class Bad(TaskHook):
        @asynccontextmanager
        async def stage_hook(self):
            if when == "enter":
                raise KeyError("hook")
            yield
            raise KeyError("hook")

    pipeline = build([1], same, task_hook_factory=lambda info: [Bad()])
    with pytest.raises(PipelineFailure, match="hook"):
        pipeline.start()
        list(pipeline)
        pipeline.stop()
    pipeline.stop()


def test_the_start_can_be_bounded():
    """A stage hook that does not come up in time is named."""
    class Slow(TaskHook):
        @asynccontextmanager
        async def stage_hook(self):
            await asyncio.sleep(60)
            yield

    pipeline = build([1], same, task_hook_factory=lambda info: [Slow()])
    with pytest.raises(TimeoutError, match="1:same"):
        pipeline.start(timeout=0.1)
    pipeline.stop()


def test_statistics_reach_the_hooks_callback_without_a_task_hook():
    """A hook class that overrides interval_stats_callback only gets counts and times, intervals and a last one."""
    got = []

    class Mine(TaskStatsHook):
        async def interval_stats_callback(self, stats):
            got.append((str(self.info), stats))

    def op(x):
        time.sleep(0.002)
        if x == 49:
            wait_for(lambda: got, "an interval's statistics")
        return same(x)

    run([*range(9), 9, *range(20, 50)], op, task_hook_factory=lambda info: [Mine(info, 0.03)])
    assert len(got) >= 2 and all(name.endswith(":op") for name, _ in got)
    assert sum(stats.num_tasks for _, stats in got) == 40 and sum(stats.num_failures for _, stats in got) == 1
    busy = [stats for _, stats in got if stats.num_tasks > 1]
    assert all(0.002 <= stats.ave_time <= stats.p99_time * 1.1 and stats.p90_time <= stats.p99_time for stats in busy)


@pytest.mark.parametrize("op", [same, asame, gsame, agsame])
def test_statistics_count_every_shape_of_op(op):
    got = []

    class Mine(TaskStatsHook):
        async def interval_stats_callback(self, stats):
            got.append(stats)

    run([1, 2, 9], op, task_hook_factory=lambda info: [Mine(info)])
    assert (sum(one.num_tasks for one in got), sum(one.num_failures for one in got)) == (3, 1)


def test_an_override_of_task_hook_may_use_the_statistics_too():
    got = []

    class Mine(TaskStatsHook):
        @asynccontextmanager
        async def task_hook(self, input_item=None):
            async with super().task_hook(input_item):
                yield

        async def interval_stats_callback(self, stats):
            got.append(stats)

    run([1, 2, 9], same, task_hook_factory=lambda info: [Mine(info)])
    assert (sum(one.num_tasks for one in got), sum(one.num_failures for one in got)) == (3, 1)


def test_queue_statistics_reach_the_queues_callback():
    """A StatsQueue subclass stands beside every queue of the engine and gets its numbers."""
    got = {}

    class Mine(StatsQueue):
        async def interval_stats_callback(self, stats):
            got.setdefault(self.info.stage_name, []).append(stats)

    pipeline = (PipelineBuilder().add_source(range(40)).pipe(same).aggregate(4).add_sink(2)
                .build(num_threads=1, queue_class=Mine))
    with pipeline.auto_stop():
        assert len(list(pipeline)) == 10
    assert set(got) == {"src", "same", "aggregate(op=collate(4), drop_last=False)"}
    (src,) = got["src"]
    assert src.num_items == 40 and src.elapsed > 0 and src.qps == src.num_items / src.elapsed
    assert 0 <= src.occupancy_rate <= 1 and src.ave_put_time >= 0


def test_a_queue_class_has_its_stage_hook_run():
    events = []

    class Mine(AsyncQueue):
        @asynccontextmanager
        async def stage_hook(self):
            events.append(("enter", self.info.stage_name))
            yield
            events.append(("leave", self.info.stage_name))

    run([1], same, queue_class=Mine)
    assert sorted(events) == sorted((what, name) for what in ("enter", "leave") for name in ("src", "same"))


def test_a_queue_used_by_python_code_measures_itself():
    """In custom merges StatsQueue objects are real queues."""
    async def use():
        queue = StatsQueue(StageInfo(0, "0", "q"), buffer_size=2)
        for _ in range(5):
            await queue.put(1)
            await asyncio.sleep(0.002)
            assert await queue.get() == 1
        return queue._meter()

    stats = asyncio.run(use())
    assert stats.num_items == 5 and 0 < stats.occupancy_rate < 1


def test_report_stats_interval_logs_each_stage_and_queue(caplog):
    def lines(word):
        return [record for record in list(caplog.records) if "1:op" in record.getMessage() and word in record.getMessage()]

    def op(x):
        if x == 19:  # the pipeline runs on until it has told of itself three times
            wait_for(lambda: len(lines("Completed")) >= 3 and len(lines("occupancy")) >= 3, "three reports")
        return x

    run(range(20), op, report_stats_interval=0.02)


def test_background_tasks_run_beside_the_pipeline_and_end_with_it(caplog):
    """They are cancelled at the end; one that raises is logged and changes nothing."""
    events = []

    class Good(BackgroundTask):
        async def run(self):
            events.append("begun")
            try:
                await asyncio.sleep(60)
            finally:
                events.append("ended")

    class Bad(BackgroundTask):
        async def run(self):
            raise ValueError("background")

    class Leaving(BackgroundTask):
        async def run(self):
            sys.exit("on leave")

    cfg = PipelineBuilder().add_source(range(3)).pipe(same).add_sink(3).get_config()
    pipeline = build_pipeline(cfg, num_threads=1, background_tasks=[Good, Bad, Leaving])
    with pipeline.auto_stop():
        assert list(pipeline) == [0, 1, 2]
        wait_for(lambda: events and "background" in caplog.text and "on leave" in caplog.text, "the tasks have run")
    assert events == ["begun", "ended"]


def test_defaults_of_the_process_are_used_and_can_be_put_back():
    """Hook class, queue class, build callback and background tasks of every pipeline that is built."""
    hooks, queues, built, ran = [], [], [], threading.Event()

    class Hook(TaskStatsHook):
        def __init__(self, info, interval=-1):
            super().__init__(info, interval)
            hooks.append(info.stage_name)

    class Queue(StatsQueue):
        def __init__(self, info, *, buffer_size=1, interval=-1):
            super().__init__(info, buffer_size=buffer_size, interval=interval)
            queues.append(info.stage_name)

    class Task(BackgroundTask):
        async def run(self):
            ran.set()

    config.set_default_hook_class(Hook)
    config.set_default_queue_class(Queue)
    config.set_default_build_callback(built.append)
    config.set_default_background_tasks([Task])
    try:
        assert run([1], same) == [1]
        assert ran.wait(10)
    finally:
        config.set_default_hook_class()
        config.set_default_queue_class()
        config.set_default_build_callback(None)
        config.set_default_background_tasks(None)
    assert (hooks, sorted(queues), len(built)) == (["same"], ["same", "src"], 1)
    assert config.get_default_hook_class() is TaskStatsHook and config.get_default_queue_class() is StatsQueue
    assert config.get_default_build_callback() is None and config.get_default_background_tasks() is None
    config.set_default_hook_class(None)
    try:
        assert run([1], same) == [1]
    finally:
        config.set_default_hook_class()


def test_a_background_task_begins_however_soon_its_pipeline_ends():
    """Handed over and cancelled while the loop is busy: it takes its first step all the same."""
    loop, held, began = Loop("spdl-test-loop"), threading.Event(), []

    async def task():
        began.append(True)
        await asyncio.sleep(60)

    loop.post(held.wait, 60)
    running = loop.start(task())
    running.cancel()
    held.set()
    with pytest.raises(CancelledError):
        running.result(60)
    assert began and loop.close(60)


def test_create_task_logs_what_its_coroutine_raises(caplog):
    async def bad():
        raise ValueError("in task")

    async def main():
        for _ in range(3):
            await asyncio.wait([create_task(bad(), "mine")])
        task = create_task(asyncio.sleep(60), "slept", log_cancelled=True)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(main())
    assert caplog.text.count("ValueError: in task") == 3 and "task slept was cancelled" in caplog.text


def test_the_process_group_monitor_reports_what_the_group_uses():
    """CPU, memory, processes and network, from /proc, without a process of its own."""
    got = []

    async def callback(usage):
        got.append(usage)

    def busy(x):
        until = time.thread_time() + 0.1
        while time.thread_time() < until:
            pass
        return x

    cfg = PipelineBuilder().add_source(range(3)).pipe(busy).add_sink(3).get_config()
    pipeline = build_pipeline(cfg, num_threads=1, background_tasks=[lambda: ProcessGroupStatsMonitor(callback, 0.1)])
    with pipeline.auto_stop():
        list(pipeline)
        wait_for(lambda: len(got) >= 2, "two reports")
    assert all(one.num_procs >= 1 and one.rss_bytes > 1 << 20 and one.net_rx_bytes >= 0 for one in got)
    assert max(one.cpu_percent for one in got) > 0
    with pytest.raises(ValueError, match="interval 0"):
        ProcessGroupStatsMonitor(callback, 0)
