"""Executors with priorities, profiling, cached iterators."""

from __future__ import annotations

import pickle
import threading
import time
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from itertools import islice

import pytest

from spdl.pipeline import (
    PipelineBuilder,
    PriorityInterpreterPoolExecutor,
    PriorityProcessPoolExecutor,
    PriorityThreadPoolExecutor,
    ProfileHook,
    cache_iterator,
    config,
    profile_pipeline,
)
from spdl.pipeline.defs import Pipe

from .conftest import run


def double(x):
    return 2 * x


def fail(x):
    raise ValueError(x)


def test_the_call_of_the_highest_priority_goes_first():
    """One worker, busy: what waits is taken by priority, the later executor first, the oldest of equals."""
    pool, go, order = PriorityThreadPoolExecutor(1), threading.Event(), []
    early, late, low = pool.get_executor(), pool.get_executor(), pool.get_executor(priority=-5)
    futures = [early.submit(go.wait)]
    futures += [one.submit(order.append, what) for what, one in
                (("low", low), ("early 1", early), ("early 2", early), ("late 1", late), ("late 2", late))]
    go.set()
    for future in futures:
        future.result(10)
    pool.shutdown()
    assert order == ["late 1", "late 2", "early 1", "early 2", "low"]


@pytest.mark.parametrize("kind", [PriorityThreadPoolExecutor, PriorityProcessPoolExecutor])
def test_stages_share_a_priority_pool(kind):
    """As executors of several pipes; failures arrive as from any executor."""
    pool = kind(2)
    pipeline = (PipelineBuilder().add_source(range(10)).pipe(double, executor=pool.get_executor(), concurrency=2)
                .pipe(double, executor=pool.get_executor(), concurrency=2).add_sink(3).build(num_threads=1))
    with pipeline.auto_stop():
        assert sorted(pipeline) == [4 * x for x in range(10)]
    with pytest.raises(ValueError):
        pool.get_executor().submit(fail, 1).result(20)
    pool.shutdown()
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.get_executor().submit(double, 1)


def test_a_priority_pool_travels_as_its_arguments():
    pool = PriorityThreadPoolExecutor(3, "mine")
    entry = pickle.loads(pickle.dumps(pool.get_executor(priority=4)))
    assert entry.submit(double, 4).result(60) == 8
    entry._owner.shutdown()
    with pytest.raises(ValueError, match="max_workers -1"):
        PriorityThreadPoolExecutor(-1)
    with pytest.raises(RuntimeError, match="cannot import"):
        PriorityInterpreterPoolExecutor(2)


def test_a_shut_down_pool_cancels_what_has_not_begun():
    pool, go = PriorityThreadPoolExecutor(1), threading.Event()
    executor = pool.get_executor()
    running, waiting = [executor.submit(go.wait) for _ in range(2)]
    while not running.running():
        time.sleep(0.001)
    pool.shutdown(wait=False, cancel_futures=True)
    go.set()
    assert running.result(60) and waiting.cancelled()
    pool.shutdown()


def wrong():
    raise ValueError("no")


@pytest.mark.parametrize("kind", [PriorityThreadPoolExecutor, PriorityProcessPoolExecutor])
def test_a_pool_whose_initializer_fails_is_broken_for_all(kind):
    """As those of concurrent.futures: what waits and what comes is told, and a pipeline of which every item fails ends."""
    with kind(2, initializer=wrong) as pool:
        executor = pool.get_executor()
        pipeline = (PipelineBuilder().add_source(range(10)).pipe(double, executor=executor, concurrency=2)
                    .add_sink(3).build(num_threads=1))
        with pipeline.auto_stop():
            assert list(pipeline) == []
        with pytest.raises(BrokenExecutor):
            executor.submit(double, 1).result(60)
    with pytest.raises(ValueError, match="max_workers 0"):
        kind(0)


def test_profile_runs_every_pipe_alone_at_each_concurrency():
    """As many calls overlap as the concurrency says, at most; outputs feed the next pipe."""
    now, most, calls, events = 0, {}, [], []
    lock = threading.Lock()

    def sleepy(x):
        nonlocal now
        with lock:
            now += 1
            most[events[-1]] = max(most.get(events[-1], 0), now)
        time.sleep(0.002)
        with lock:
            now -= 1
        return x + 1

    class Hook(ProfileHook):
        @contextmanager
        def pipeline_profile_hook(self):
            events.append("begin")
            yield
            events.append("end")

        @contextmanager
        def stage_profile_hook(self, stage, concurrency):
            events.append((stage, concurrency))
            yield

    cfg = (PipelineBuilder().add_source(range(1000)).pipe(sleepy).aggregate(4)
           .path_variants(lambda batch: 0, [[Pipe(lambda b: b)]]).pipe(sum, name="sum").add_sink(3).get_config())
    results = profile_pipeline(cfg, 40, callback=calls.append, hook=Hook())
    assert [result.name for result in results] == ["sleepy", "sum"] and calls == list(results)
    by_concurrency = {one.concurrency: one.qps for one in results[0].stats}
    assert list(by_concurrency) == [32, 16, 8, 4, 1]
    assert by_concurrency[1] <= 500 and most["sleepy", 1] == 1
    assert all(1 < most["sleepy", n] <= n for n in (4, 8, 16, 32))
    assert all(0 <= one.occupancy_rate <= 1 for one in results[0].stats)
    assert events[0] == "begin" and events[-1] == "end" and ("sum", 32) in events


def test_profile_is_done_by_local_rank_0_only(monkeypatch):
    cfg = PipelineBuilder().add_source(range(10)).pipe(double).add_sink(3).get_config()
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert list(profile_pipeline(cfg, 5)) == []
    with pytest.raises(ValueError, match="num_inputs 0"):
        profile_pipeline(cfg, 0)


def test_default_profile_hook_and_callback():
    got = []
    config.set_default_profile_callback(got.append)
    try:
        cfg = PipelineBuilder().add_source(range(5)).pipe(double).add_sink(3).get_config()
        profile_pipeline(cfg, 5)
    finally:
        config.set_default_profile_callback()
    assert [result.name for result in got] == ["double"]
    assert config.get_default_profile_callback() is None and config.get_default_profile_hook() is None


def test_diagnostic_mode_profiles_and_exits(script):
    """With the variable set, any build becomes a profile, and the program ends with 0."""
    done = script("""
        import logging
        logging.basicConfig(level=logging.INFO)
        from spdl.pipeline import PipelineBuilder
        PipelineBuilder().add_source(range(100)).pipe(str).add_sink(3).build(num_threads=1)
        print("not reached")
    """, SPDL_PIPELINE_DIAGNOSTIC_MODE="1", SPDL_PIPELINE_DIAGNOSTIC_MODE_NUM_ITEMS="10")
    assert (done.returncode, done.stdout) == (0, "") and "stage str" in done.stderr
    refused = script("""
        from spdl.pipeline import PipelineBuilder
        PipelineBuilder().add_source(range(100)).add_sink(3).build(num_threads=1)
    """, SPDL_PIPELINE_DIAGNOSTIC_MODE="1", SPDL_PIPELINE_DIAGNOSTIC_MODE_NUM_ITEMS="some")
    assert refused.returncode == 1 and "want 1 or more" in refused.stderr


@pytest.mark.parametrize("arguments, want", [
    ({"stop_after": 7}, [0, 1, 0, 1, 0, 1, 0]), ({"return_caches_after": 4, "stop_after": 9}, [0, 1, 2, 3, 0, 1, 0, 1, 0]),
    ({"stop_after": 1}, [0]), ({"stop_after": 0}, [])])
def test_cached_items_come_again(arguments, want):
    assert list(cache_iterator(range(10), 2, **arguments)) == want


def test_a_cached_iterator_goes_on_for_ever_and_ends_with_an_empty_source():
    assert list(islice(cache_iterator(range(3), 5), 8)) == [0, 1, 2, 0, 1, 2, 0, 1]
    assert list(cache_iterator([], 2)) == []
    with pytest.raises(ValueError, match="num_caches 0"):
        list(cache_iterator([1], 0))


def test_a_cached_pipeline_is_let_go_of_when_the_repeating_begins():
    assert list(cache_iterator(iter(run(range(5))), 2, stop_after=5)) == [0, 1, 0, 1, 0]
