"""Epochs, path variants and merges."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from spdl.pipeline import PipelineBuilder, PipelineFailure, build_pipeline, is_eof, is_epoch_end
from spdl.pipeline.defs import (
    Aggregate,
    Aggregator,
    Disaggregate,
    Merge,
    PathVariants,
    Pipe,
    PipelineConfig,
    SinkConfig,
    SourceConfig,
)

from .conftest import build, run


def negate(x):
    return -x


def same(x):
    return x


# ---- epochs


@pytest.mark.parametrize("order", ["completion", "input"])
def test_a_continuous_source_gives_epoch_after_epoch(order):
    """Each iterator is one epoch: complete, none of another, in order where that is asked for."""
    pipeline = build(range(20), same, negate, continuous=True, pipe={"concurrency": 4, "output_order": order})
    with pipeline.auto_stop():
        for _ in range(10):
            epoch = list(pipeline)
            assert sorted(epoch) == sorted(-x for x in range(20))
            assert order == "completion" or epoch == [-x for x in range(20)]


def test_an_iterator_is_for_one_epoch():
    """One that has ended stays so; get_item says the end of each epoch once."""
    pipeline = build([1, 2], continuous=True)
    with pipeline.auto_stop():
        iterator = pipeline.get_iterator()
        assert (list(iterator), list(iterator)) == ([1, 2], [])
        for _ in range(3):
            assert [pipeline.get_item(), pipeline.get_item()] == [1, 2]
            with pytest.raises(EOFError):
                pipeline.get_item()


def test_leaving_an_epoch_early_leaves_the_rest_of_it():
    """After a break the next iterator goes on in the same epoch, as in SPDL."""
    pipeline = build(range(4), continuous=True)
    with pipeline.auto_stop():
        for item in pipeline:
            if item == 1:
                break
        assert list(pipeline) == [2, 3]
        assert list(pipeline) == [0, 1, 2, 3]


def test_lists_do_not_cross_the_end_of_an_epoch():
    """Aggregates are flushed, or dropped, at each end."""
    for drop_last, want in ((False, [[0, 1, 2], [3, 4]]), (True, [[0, 1, 2]])):
        pipeline = (PipelineBuilder().add_source(range(5), continuous=True).aggregate(3, drop_last=drop_last)
                    .add_sink(3).build(num_threads=1))
        with pipeline.auto_stop():
            assert [list(pipeline) for _ in range(3)] == [want] * 3


def test_what_an_aggregator_of_the_users_drops_is_not_the_next_epochs():
    class Threes(Aggregator):
        def __init__(self):
            self.items = []

        def accumulate(self, item):
            self.items.append(item)
            return self.flush() if len(self.items) == 3 else None

        def flush(self):
            items, self.items = self.items, []
            return items

    pipeline = (PipelineBuilder().add_source(range(5), continuous=True).aggregate(Threes(), drop_last=True)
                .add_sink(3).build(num_threads=1))
    with pipeline.auto_stop():
        assert [list(pipeline) for _ in range(3)] == [[[0, 1, 2]]] * 3


def test_an_aggregator_of_the_users_is_flushed_at_each_epoch():
    class All(Aggregator):
        def __init__(self):
            self.items = []

        def accumulate(self, item):
            self.items.append(item)

        def flush(self):
            items, self.items = self.items, []
            return items

    pipeline = PipelineBuilder().add_source(range(5), continuous=True).aggregate(All()).add_sink(3).build(num_threads=1)
    with pipeline.auto_stop():
        assert [list(pipeline) for _ in range(3)] == [[[0, 1, 2, 3, 4]]] * 3


def test_the_end_of_an_epoch_holds_nothing_back():
    """Items of the next epoch are in work while the last of this one still is: there is no barrier."""
    seen, release = threading.Event(), threading.Event()

    class Epochs:
        count = 0

        def __iter__(self):
            self.count += 1
            yield from ((self.count, i) for i in range(3))

    def op(item):
        if item == (1, 2):
            assert seen.wait(20), "the second epoch waits for the first"
        if item[0] == 2:
            seen.set()
        return item

    pipeline = build(Epochs(), op, continuous=True, pipe={"concurrency": 3})
    with pipeline.auto_stop():
        assert sorted(pipeline) == [(1, 0), (1, 1), (1, 2)]
        assert sorted(pipeline) == [(2, 0), (2, 1), (2, 2)]
    release.set()


def test_a_generator_as_continuous_source_is_refused_by_name():
    """It cannot be iterated twice; spinning over empty epochs for ever would be the other answer."""
    pipeline = build((x for x in range(3)), continuous=True)
    assert list(pipeline) == [0, 1, 2]
    with pytest.raises(PipelineFailure, match="iterable again"):
        for _ in range(10):
            list(pipeline)
    pipeline.stop()


# ---- path variants


def test_each_item_goes_its_way():
    """The router's number decides; paths may have several stages and variants in them."""
    inner = PathVariants(lambda x: 0 if x < 3 else 1, [[Pipe(negate)], [Pipe(same), Pipe(str)]])
    pipeline = (PipelineBuilder().add_source(range(6)).path_variants(lambda x: x % 2, [[Pipe(negate)], [inner]])
                .add_sink(3).build(num_threads=2))
    with pipeline.auto_stop():
        assert Counter(pipeline) == Counter([0, -2, -4, -1, "3", "5"])


def test_a_router_may_be_async_and_paths_may_aggregate():
    async def router(x):
        await asyncio.sleep(0)
        return x % 2

    paths = [[Aggregate(2), Disaggregate()], [Pipe(negate, concurrency=3)]]
    for continuous in (False, True):
        pipeline = (PipelineBuilder().add_source(range(9), continuous=continuous).path_variants(router, paths)
                    .add_sink(3).build(num_threads=2))
        with pipeline.auto_stop():
            for _ in range(3 if continuous else 1):
                assert Counter(pipeline) == Counter([0, 2, 4, 6, 8, -1, -3, -5, -7])


@pytest.mark.parametrize("answer", [2, -1, None, "0", 0.5])
def test_a_router_that_names_no_path_ends_the_pipeline(answer):
    """IndexError with the number and the number of paths; also for what is no number."""
    pipeline = (PipelineBuilder().add_source([1]).path_variants(lambda x: answer, [[Pipe(same)], [Pipe(same)]])
                .add_sink(3).build(num_threads=1))
    with pytest.raises(PipelineFailure) as caught:
        list(pipeline)
    pipeline.stop()
    assert isinstance(caught.value.exceptions[0], IndexError) and "want 0 to 1" in str(caught.value)


def test_a_router_may_answer_yes_or_no():
    """As in SPDL: False is path 0, True is path 1."""
    paths = [[Pipe(same)], [Pipe(str)]]
    builder = PipelineBuilder().add_source([4, 5]).path_variants(lambda x: x > 4, paths)
    with (pipeline := builder.add_sink(3).build(num_threads=1)).auto_stop():
        assert set(pipeline) == {4, "5"}
    builder = PipelineBuilder().add_source([[5, 4]]).path_variants(lambda batch: [x > 4 for x in batch], [[Pipe(same)]] * 2, batched=True)
    with (pipeline := builder.add_sink(3).build(num_threads=1)).auto_stop():
        assert list(pipeline) == [[4, 5]]


def test_a_router_that_raises_ends_the_pipeline():
    pipeline = (PipelineBuilder().add_source([1]).path_variants(lambda x: 1 // 0, [[Pipe(same)]]).add_sink(3)
                .build(num_threads=1))
    with pytest.raises(PipelineFailure) as caught:
        list(pipeline)
    pipeline.stop()
    assert isinstance(caught.value.exceptions[0], ZeroDivisionError)


def batched(paths, source=range(12), n=4, **options):
    return (PipelineBuilder().add_source(source).aggregate(n)
            .path_variants(lambda batch: [x % 2 for x in batch], paths, batched=True).add_sink(3)
            .build(num_threads=4, **options))


def negate_all(batch):
    return [-x for x in batch]


def test_a_batch_is_split_over_the_paths_and_joined_in_their_order():
    with (pipeline := batched([[Pipe(same)], [Pipe(negate_all, concurrency=3), Pipe(same)]])).auto_stop():
        assert list(pipeline) == [[0, 2, -1, -3], [4, 6, -5, -7], [8, 10, -9, -11]]


def test_a_failing_path_costs_its_own_elements_only():
    """The batch goes on without them, and no batch is mixed with another. (SPDL 0.8 joins parts of different batches
    from then on, and loses the last.)"""
    def bad(batch):
        if 4 in batch:
            raise ValueError("this part")
        return batch

    for concurrency in (1, 3):
        paths = [[Pipe(bad, concurrency=concurrency)], [Pipe(negate_all, concurrency=concurrency)]]
        with (pipeline := batched(paths)).auto_stop():
            assert list(pipeline) == [[0, 2, -1, -3], [-5, -7], [8, 10, -9, -11]]


def test_a_path_that_drops_its_part_costs_its_own_elements_only():
    """None for a part is as for an item: nothing of it goes on."""
    with (pipeline := batched([[Pipe(lambda b: None if 4 in b else b)], [Pipe(same)]])).auto_stop():
        assert list(pipeline) == [[0, 2, 1, 3], [5, 7], [8, 10, 9, 11]]


def test_a_path_without_elements_is_not_called():
    """No op gets an empty list."""
    def never(batch):
        raise AssertionError(batch)

    with (pipeline := batched([[Pipe(same)], [Pipe(never)]], range(0, 8, 2), max_failures=0)).auto_stop():
        assert list(pipeline) == [[0, 2, 4, 6]]


def test_a_batched_router_must_answer_for_each_element():
    pipeline = (PipelineBuilder().add_source(range(4)).aggregate(4)
                .path_variants(lambda batch: [0], [[Pipe(same)]], batched=True).add_sink(3).build(num_threads=1))
    with pytest.raises(PipelineFailure, match="1 paths for a batch of 4"):
        list(pipeline)
    pipeline.stop()


# ---- merges


def several(op=None, *, n=2, continuous=False, pipes=(), sources=None):
    """Inputs 0..4, 10..14, ... merged."""
    configs = [PipelineConfig(SourceConfig(source, continuous), list(pipes), SinkConfig(2))
               for source in (sources or [range(10 * i, 10 * i + 5) for i in range(n)])]
    return build_pipeline(PipelineConfig(Merge(configs, op), [Pipe(same)], SinkConfig(3)), num_threads=4)


def test_a_merge_passes_on_what_arrives():
    """All items of all inputs, each input's in its order, behind its own stages."""
    with (pipeline := several(n=3, pipes=[Pipe(negate)])).auto_stop():
        got = list(pipeline)
    assert Counter(got) == Counter(-(10 * i + j) for i in range(3) for j in range(5))
    assert all([-x for x in got if -x // 10 == i] == list(range(10 * i, 10 * i + 5)) for i in range(3))


def test_epochs_of_a_merge_end_when_all_inputs_have_ended_theirs():
    with (pipeline := several(continuous=True)).auto_stop():
        for _ in range(5):
            assert sorted(pipeline) == [0, 1, 2, 3, 4, 10, 11, 12, 13, 14]


def test_inputs_that_do_not_agree_on_epochs_are_refused():
    configs = [PipelineConfig(SourceConfig([1], continuous), [], SinkConfig(1)) for continuous in (False, True)]
    with pytest.raises(ValueError, match="same `continuous`"):
        build_pipeline(PipelineConfig(Merge(configs), [], SinkConfig(1)), num_threads=1)


def test_merges_may_be_nested():
    inner = PipelineConfig(Merge([PipelineConfig(SourceConfig([i]), [], SinkConfig(1)) for i in range(3)]), [Pipe(negate)],
                           SinkConfig(2))
    outer = Merge([inner, PipelineConfig(SourceConfig([7]), [], SinkConfig(1))])
    with (pipeline := build_pipeline(PipelineConfig(outer, [], SinkConfig(3)), num_threads=2)).auto_stop():
        assert sorted(pipeline) == [-2, -1, 0, 7]


async def in_turn(info, inputs, output):
    active = list(inputs)
    while active:
        for queue in list(active):
            item = await queue.get()
            if is_eof(item):
                active.remove(queue)
            else:
                await output.put(item)


def test_a_merge_of_the_users_decides_the_order():
    """An async function between queues; the end of an input is a mark in its queue."""
    with (pipeline := several(in_turn)).auto_stop():
        assert list(pipeline) == [0, 10, 1, 11, 2, 12, 3, 13, 4, 14]


def test_a_merge_of_the_users_sees_the_ends_of_epochs():
    async def until_all(info, inputs, output):
        while True:
            for queue in inputs:
                while not is_epoch_end(item := await queue.get()):
                    if is_eof(item):
                        return
                    await output.put(item)
            await output.put(item)

    with (pipeline := several(until_all, continuous=True)).auto_stop():
        for _ in range(3):
            assert list(pipeline) == [0, 1, 2, 3, 4, 10, 11, 12, 13, 14]


def test_a_merge_that_returns_early_stops_its_inputs():
    async def first(info, inputs, output):
        await output.put(await inputs[0].get())

    endless = [iter(int, 1), iter(int, 1)]
    with (pipeline := several(first, sources=endless)).auto_stop():
        assert list(pipeline) == [0]


def test_a_merge_that_raises_ends_the_pipeline():
    async def bad(info, inputs, output):
        raise ValueError("no way")

    pipeline = several(bad)
    with pytest.raises(PipelineFailure, match="no way"):
        list(pipeline)
    pipeline.stop()


def test_what_a_merge_has_put_arrives_before_its_failure():
    async def three(info, inputs, output):
        for _ in range(3):
            await output.put(await inputs[0].get())
        raise ValueError("no more")

    for _ in range(5):
        pipeline = several(three)
        got = []
        with pytest.raises(PipelineFailure, match="no more"):
            for item in pipeline:
                got.append(item)
        pipeline.stop()
        assert got == [0, 1, 2]


def test_an_input_that_fails_ends_the_merge():
    def source():
        yield 1
        raise KeyError("input")

    for op in (None, in_turn):
        pipeline = several(op, sources=[source(), [5]])
        with pytest.raises(PipelineFailure, match="input"):
            list(pipeline)
        pipeline.stop()


def test_an_input_that_fails_ends_the_merge_though_another_goes_on():
    """The function forwards each queue in a task of its own, so that the output is never empty."""
    def source():
        yield 1
        raise KeyError("input")

    async def forwards(info, inputs, output):
        async def forward(queue):
            while not is_eof(item := await queue.get()):
                await output.put(item)

        await asyncio.gather(*map(forward, inputs))

    for _ in range(5):
        pipeline = several(forwards, sources=[source(), range(1_000_000)])
        got = []
        with pytest.raises(PipelineFailure, match="input"):
            for item in pipeline:
                got.append(item)
                assert len(got) < 100_000
        pipeline.stop()


def test_a_pipeline_can_be_stopped_in_the_middle_of_a_merge():
    for op in (None, in_turn):
        with (pipeline := several(op, sources=[iter(int, 1), iter(int, 1)])).auto_stop():
            assert pipeline.get_item(timeout=10) == 0


def test_an_input_of_a_merge_may_be_closed_while_it_starts(monkeypatch):
    """The merge starts it on one thread, and its stop comes from another: that waits until there is something to end."""
    pipeline = PipelineBuilder().add_source(iter(int, 1)).add_sink(1).build(num_threads=1)
    start, closers = threading.Thread.start, []

    def interrupted(thread):
        if thread.name.startswith("spdl") and not closers:
            closers.append(pool.submit(pipeline.close, 60))
            wait([closers[0]], timeout=0.3)
        start(thread)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        monkeypatch.setattr(threading.Thread, "start", interrupted)
        pipeline.start()
        closers[0].result(60)


def test_many_items_through_everything_at_once():
    """Variants, generators, lists and epochs together lose and double nothing."""
    def twice(x):
        yield x
        yield x

    builder = (PipelineBuilder().add_source(range(200), continuous=True).pipe(twice, concurrency=3)
               .path_variants(lambda x: x % 3, [[Pipe(same, concurrency=2)], [Pipe(negate)], [Aggregate(3), Disaggregate()]])
               .aggregate(7).disaggregate().pipe(same, concurrency=4))
    want = Counter(-x if x % 3 == 1 else x for x in range(200) for _ in range(2))
    with (pipeline := builder.add_sink(3).build(num_threads=8)).auto_stop():
        for _ in range(4):
            assert Counter(pipeline) == want
    assert run([]) == []
