"""What an op may be, and on which threads it runs."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import pytest

from spdl.pipeline import PipelineBuilder
from spdl.pipeline.defs import Aggregate, Aggregator, Pipe

from .conftest import build, run, wait_for


def double(x):
    return 2 * x


def both(x):
    yield x
    yield -x


async def adouble(x):
    await asyncio.sleep(0)
    return 2 * x


async def aboth(x):
    yield x
    await asyncio.sleep(0)
    yield -x


class Callable:
    def __call__(self, x):
        return 2 * x


class AsyncCallable:
    async def __call__(self, x):
        return 2 * x


OPS = {
    "function": (double, [0, 2, 4]), "coroutine": (adouble, [0, 2, 4]), "generator": (both, [0, 0, 1, -1, 2, -2]),
    "async generator": (aboth, [0, 0, 1, -1, 2, -2]), "object": (Callable(), [0, 2, 4]),
    "async object": (AsyncCallable(), [0, 2, 4]), "dict": ({0: "a", 1: "b", 2: "c"}, ["a", "b", "c"]),
    "list": (["a", "b", "c"], ["a", "b", "c"]), "partial": (partial(pow, 2), [1, 2, 4]), "type": (str, ["0", "1", "2"]),
    "bound method": ("abc".__getitem__, ["a", "b", "c"]), "partial of a coroutine": (partial(adouble), [0, 2, 4]),
}


@pytest.mark.parametrize("kind", OPS)
def test_an_op_may_be(kind):
    """Functions, coroutines, generators, objects and containers, each with its meaning, and without a failure."""
    op, want = OPS[kind]
    assert run(range(3), op, max_failures=0) == want


@pytest.mark.parametrize("accepted", [False, True])
def test_use_thread_output_queue_changes_nothing(accepted):
    """SPDL's switch is taken: items, their order and the end are the same with it."""
    pipeline = build(range(9), double, use_thread_output_queue=accepted)
    with pipeline.auto_stop():
        assert [pipeline.get_item(timeout=10) for _ in range(9)] == [2 * x for x in range(9)]
        with pytest.raises(EOFError):
            pipeline.get_item(timeout=10)


@pytest.mark.parametrize("op", [lambda x: x if x % 2 else None, {0: None, 1: 1, 2: None, 3: 3}])
def test_none_drops_the_item(op):
    """None as a result means that nothing is passed on, and it is no failure."""
    assert run(range(4), op, max_failures=0) == [1, 3]


def test_false_values_are_passed_on():
    """0, "" and [] are results; only None is not."""
    assert run([0, "", [], False], lambda x: x) == [0, "", [], False]


def test_none_from_a_generator_is_not_passed_on():
    def some(x):
        yield None
        yield x

    assert run([1, 2], some) == [1, 2]


@pytest.mark.parametrize("op", [double, adouble, both])
def test_input_order_is_kept_by_many_workers(op):
    """With output_order "input" results leave in the order of their items, generators' too."""
    barrier = iter(range(10**6))

    def jittered(x):
        time.sleep(0.002 if next(barrier) % 3 == 0 else 0)
        return x

    got = (PipelineBuilder().add_source(range(100)).pipe(jittered, concurrency=8, output_order="input")
           .pipe(op, concurrency=8, output_order="input").add_sink(3).build(num_threads=16))
    with got.auto_stop():
        want = [y for x in range(100) for y in (both(x) if op is both else [2 * x])]
        assert list(got) == want


@pytest.mark.parametrize("op", [double, adouble, both, aboth])
def test_completion_order_loses_and_doubles_nothing(op):
    """With several workers every result arrives once."""
    want = Counter(y for x in range(300) for y in (both(x) if op in (both, aboth) else [2 * x]))
    assert Counter(run(range(300), op, pipe={"concurrency": 6}, num_threads=6)) == want


def test_a_slow_item_does_not_hold_up_completion_order():
    """In completion order later items overtake one that is slow."""
    release = threading.Event()

    def op(x):
        if x == 0:
            assert release.wait(30)
        if x == 5:
            release.set()
        return x

    got = run(range(6), op, pipe={"concurrency": 2}, num_threads=2)
    assert sorted(got) == list(range(6)) and got.index(0) >= 4


def test_thread_locals_of_a_stage_survive_from_item_to_item():
    """A stage's threads are its own and live as long as it does."""
    local = threading.local()

    def op(x):
        local.count = getattr(local, "count", 0) + 1
        return threading.get_ident(), local.count

    got = run(range(50), op, pipe={"concurrency": 2}, num_threads=2)
    per_thread = Counter(thread for thread, _ in got)
    assert len(per_thread) <= 2
    assert all(max(count for thread, count in got if thread == one) == per_thread[one] for one in per_thread)


def test_async_ops_share_one_event_loop():
    """All coroutines of a pipeline run on one loop, on one thread that is not the caller's."""
    async def op(x):
        return id(asyncio.get_running_loop()), threading.get_ident()

    async def op2(x):
        return x, await op(x)

    got = run(range(10), op, op2, pipe={"concurrency": 3})
    assert len({pair for both in got for pair in both}) == 1
    assert got[0][0][1] != threading.get_ident()


def test_num_threads_bounds_the_sync_ops_that_run_at_once():
    """Over all stages at most num_threads ops run at the same time, whatever their concurrency."""
    running, peak, lock = 0, 0, threading.Lock()

    def op(x):
        nonlocal running, peak
        with lock:
            running += 1
            peak = max(peak, running)
        wait_for(lambda: peak >= 2, "two ops at once")
        time.sleep(0.001)
        with lock:
            running -= 1
        return x

    assert len(run(range(60), op, op, op, pipe={"concurrency": 4}, num_threads=3)) == 60
    assert 2 <= peak <= 3


def test_concurrency_bounds_the_items_of_a_stage_in_work():
    """A stage with concurrency n has at most n items in its op."""
    running, peak = 0, 0

    async def op(x):
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        while peak < 2:  # a second one comes
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.001)
        running -= 1
        return x

    assert len(run(range(60), op, pipe={"concurrency": 5})) == 60
    assert 2 <= peak <= 5


@pytest.mark.parametrize("op, want", [(double, [0, 2, 4]), (both, [0, 0, 1, -1, 2, -2])])
def test_an_executor_of_the_users_runs_the_op(op, want):
    """With executor=, sync ops and generator steps run there."""
    threads = set()

    def seen(x):
        threads.add(threading.current_thread().name)
        return op(x)

    with ThreadPoolExecutor(2, thread_name_prefix="mine") as executor:
        builder = PipelineBuilder().add_source(range(3)).pipe(seen if op is double else op, executor=executor)
        with (pipeline := builder.add_sink(3).build(num_threads=1)).auto_stop():
            assert list(pipeline) == want
    assert op is both or all(name.startswith("mine") for name in threads)


@pytest.mark.parametrize("op, want", [(double, [0, 2, 4]), (both, [0, 0, 1, -1, 2, -2])])
def test_a_process_pool_runs_the_op(op, want):
    """As an executor a process pool takes functions and generators, too."""
    import multiprocessing

    with ProcessPoolExecutor(1, multiprocessing.get_context("forkserver")) as executor:
        pipeline = PipelineBuilder().add_source(range(3)).pipe(op, executor=executor).add_sink(3).build(num_threads=1)
        with pipeline.auto_stop():
            assert list(pipeline) == want


@pytest.mark.parametrize("kind", ["list", "iterator", "generator", "async generator", "slow async"])
def test_a_source_may_be(kind):
    """Sync and async iterables, read on the source's own thread or on the loop."""
    async def agen():
        for i in range(5):
            if kind == "slow async":
                await asyncio.sleep(0.005)
            yield i

    class Async:
        def __aiter__(self):
            return agen()

    source = {"list": [0, 1, 2, 3, 4], "iterator": iter(range(5)), "generator": (i for i in range(5)),
              "async generator": agen(), "slow async": Async()}[kind]
    assert run(source) == [0, 1, 2, 3, 4]


def test_a_blocking_source_does_not_block_async_stages():
    """The source has a thread of its own: coroutines run on while it waits."""
    go = threading.Event()

    def source():
        yield 1
        assert go.wait(30)
        yield 2

    async def op(x):
        await asyncio.sleep(0.01)
        go.set()
        return x

    assert run(source(), op) == [1, 2]


def test_lists_are_made_and_taken_apart():
    """aggregate and disaggregate, with the last list shorter or dropped."""
    def lists(drop_last):
        return (PipelineBuilder().add_source(range(7)).aggregate(3, drop_last=drop_last).add_sink(3)
                .build(num_threads=1))

    for drop_last, want in ((False, [[0, 1, 2], [3, 4, 5], [6]]), (True, [[0, 1, 2], [3, 4, 5]])):
        with (pipeline := lists(drop_last)).auto_stop():
            assert list(pipeline) == want
    apart = (PipelineBuilder().add_source([[1, 2], (3,), "ab", []]).disaggregate().aggregate(2).disaggregate()
             .pipe(lambda x: [x]).disaggregate().add_sink(3).build(num_threads=1))
    with apart.auto_stop():
        assert list(apart) == [1, 2, 3, "a", "b"]


def test_lists_are_made_of_lists_wherever_these_come_from():
    def built(builder, n=2, **how):
        return builder.aggregate(n, **how).add_sink(3).build(num_threads=1)

    lists = PipelineBuilder().add_source(range(7)).aggregate(2)
    with (pipeline := built(lists)).auto_stop():
        assert list(pipeline) == [[[0, 1], [2, 3]], [[4, 5], [6]]]
    with (pipeline := built(PipelineBuilder().add_source(range(7)).aggregate(2).aggregate(3, drop_last=True), 1)).auto_stop():
        assert list(pipeline) == [[[[0, 1], [2, 3], [4, 5]]]]
    through = PipelineBuilder().add_source(range(4)).path_variants(lambda x: 0, [[Aggregate(1)], [Pipe(list)]])
    with (pipeline := built(through)).auto_stop():
        assert list(pipeline) == [[[0], [1]], [[2], [3]]]


class Sum(Aggregator):
    def __init__(self):
        self.parts = []

    def accumulate(self, item):
        self.parts.append(item)
        return self.flush() if sum(self.parts) >= 5 else None

    def flush(self):
        parts, self.parts = self.parts, []
        return parts or None


@pytest.mark.parametrize("drop_last, want", [(False, [[0, 1, 2, 3], [4, 5], [1]]), (True, [[0, 1, 2, 3], [4, 5]])])
def test_an_aggregator_of_the_users_decides_what_belongs_together(drop_last, want):
    """accumulate sees all items in order; flush is called at the end, unless the last is dropped."""
    pipeline = (PipelineBuilder().add_source([0, 1, 2, 3, 4, 5, 1]).aggregate(Sum(), drop_last=drop_last)
                .add_sink(3).build(num_threads=1))
    with pipeline.auto_stop():
        assert list(pipeline) == want


def test_results_are_let_go_of_as_they_are_taken():
    """The pipeline holds no more objects than are in flight."""
    pipeline = run_one = PipelineBuilder().add_source(range(500)).pipe(lambda x: [x]).add_sink(3).build(num_threads=1)
    with run_one.auto_stop():
        for _ in pipeline:
            assert len(pipeline._core.items) <= 20
    assert not pipeline._core.items
