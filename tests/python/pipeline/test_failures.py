"""What a failing op, source, aggregator or thread brings about."""

from __future__ import annotations

import asyncio
import sys
import threading
from contextlib import asynccontextmanager
from fractions import Fraction

import pytest

from spdl.pipeline import PipelineBuilder, PipelineFailure, TaskHook, build_pipeline, config
from spdl.pipeline._loop import Loop
from spdl.pipeline.defs import Aggregator, Merge, Pipe, PipelineConfig, SinkConfig

from .conftest import build, run, wait_for


def failing(*bad):
    def op(x):
        if x in bad:
            raise ValueError(f"boom {x}")
        return x

    return op


def consume(pipeline):
    """What arrives, and what iteration raises at its end."""
    got = []
    try:
        for item in pipeline:
            got.append(item)
    except PipelineFailure as error:
        return got, error
    return got, None


@pytest.mark.parametrize("shape", ["function", "coroutine", "generator", "async generator"])
def test_a_failed_item_is_dropped_logged_and_counted(shape, caplog):
    """By default no number of failures ends the pipeline; each is logged with its traceback."""
    plain = failing(3, 4)

    async def acall(x):
        return plain(x)

    def gen(x):
        yield plain(x)

    async def agen(x):
        yield plain(x)

    op = {"function": plain, "coroutine": acall, "generator": gen, "async generator": agen}[shape]
    assert run(range(6), op) == [0, 1, 2, 5]
    text = caplog.text
    assert "ValueError: boom 3" in text and "in op" in text and "boom 4" in text


@pytest.mark.parametrize("limit, ends", [(0, True), (1, True), (2, False), (-1, False)])
def test_more_failures_than_max_failures_end_the_pipeline(limit, ends):
    """max_failures is the number that is forgiven; the failure names stage, count and limit, and has the cause."""
    pipeline = build(range(8), failing(3, 4), pipe={"max_failures": limit})
    got, error = consume(pipeline)
    pipeline.stop()
    assert (error is not None) == ends
    if not ends:
        assert got == [0, 1, 2, 5, 6, 7]
        return
    (cause,) = error.exceptions
    assert "1:failing" not in str(cause) and "op) failed" in str(cause) and f"threshold ({limit})" in str(cause)
    assert isinstance(cause.__cause__, ValueError)
    assert "stage" in str(error) and "op" in str(error)


def test_what_was_ready_before_the_failure_still_arrives():
    """Results in front of the failing stage's item are delivered before the failure is raised, every time."""
    for _ in range(30):
        pipeline = build(range(100), failing(50), lambda x: x, pipe={"max_failures": 0})
        got, error = consume(pipeline)
        assert got == list(range(50)) and error is not None
        pipeline.stop()


def test_a_source_that_is_stuck_does_not_hold_up_the_failure():
    """The stages before the failing one are not waited for before the failure is raised."""
    go = threading.Event()

    def source():
        yield 1
        assert go.wait(60)

    pipeline = build(source(), failing(1), pipe={"max_failures": 0})
    got, error = consume(pipeline)
    assert got == [] and error is not None and not go.is_set()
    go.set()
    pipeline.stop()


def test_build_sets_the_limit_of_stages_that_have_none_of_their_own():
    """Each stage counts its own failures; SPDL 0.6 compared the sum over all stages with each limit."""
    def two(x):
        return failing(1)(x)

    three = failing(2)
    assert run(range(5), two, three, failing(3), max_failures=1) == [0, 4]
    pipeline = build(range(5), failing(1, 2), max_failures=1)
    assert consume(pipeline)[1] is not None
    pipeline.stop()
    own = (PipelineBuilder().add_source(range(5)).pipe(failing(1, 2), max_failures=2).add_sink(3)
           .build(num_threads=1, max_failures=0))
    with own.auto_stop():
        assert list(own) == [0, 3, 4]


@pytest.mark.parametrize("every, ends", [(5, True), (20, False)])
def test_a_rate_of_failures_is_judged_from_the_hundredth_item_on(every, ends):
    """A Fraction is a share of the stage's items."""
    def op(x):
        if x % every == 0:
            raise ValueError(x)
        return x

    pipeline = build(range(400), op, pipe={"max_failures": Fraction(1, 10)})
    got, error = consume(pipeline)
    pipeline.stop()
    assert (error is not None) == ends
    assert len(got) >= 75 if ends else len(got) == 380


def test_fewer_than_a_hundred_items_are_never_too_many_by_rate():
    assert run(range(50), failing(*range(50)), pipe={"max_failures": Fraction(1, 100)}) == []


def test_a_failing_source_ends_the_pipeline_after_its_items():
    """What the source gave before arrives; then its own exception, whole."""
    def source():
        yield 1
        yield 2
        raise KeyError("gone")

    pipeline = build(source(), lambda x: x)
    got, error = consume(pipeline)
    pipeline.stop()
    assert got == [1, 2] and isinstance(error.exceptions[0], KeyError) and "src" in str(error)


def test_a_failing_async_source_ends_the_pipeline():
    async def source():
        yield 1
        raise KeyError("gone")

    pipeline = build(source())
    got, error = consume(pipeline)
    pipeline.stop()
    assert got == [1] and isinstance(error.exceptions[0], KeyError)


def test_a_failure_is_raised_by_every_read_and_by_one_stop():
    """Reads go on raising the same failure; stop raises it only if no read did."""
    pipeline = build(range(3), failing(1), pipe={"max_failures": 0})
    _, first = consume(pipeline)
    for _ in range(2):
        with pytest.raises(PipelineFailure) as again:
            pipeline.get_item()
        assert again.value is first
    pipeline.stop()
    pipeline.stop()

    unread = build(range(3), failing(0), pipe={"max_failures": 0})
    unread.start()
    wait_for(lambda: unread._core.failure() is not None, "the pipeline fails")
    with pytest.raises(PipelineFailure):
        unread.stop()
    unread.stop()


def test_the_failure_is_an_exception_group_where_there_are_such():
    """except* works on it from Python 3.11 on; before, it is a RuntimeError with its cause."""
    pipeline = build(range(3), failing(1), pipe={"max_failures": 0})
    error = consume(pipeline)[1]
    pipeline.stop()
    if sys.version_info >= (3, 11):
        matched, rest = error.split(RuntimeError)
        assert isinstance(matched, PipelineFailure) and rest is None
        assert any("Pipeline stage" in note for note in matched.exceptions[0].__notes__)
    else:
        assert isinstance(error, RuntimeError) and error.__cause__ is error.exceptions[0]


class Picky(Aggregator):
    def __init__(self):
        self.items = []

    def accumulate(self, item):
        if item == 2:
            raise ValueError("not this one")
        self.items.append(item)
        return None

    def flush(self):
        return self.items


def test_a_failing_aggregator_drops_the_item_and_counts():
    """In SPDL an exception of accumulate ends the stage at once; here it is a failure like a pipe's."""
    def made(limit):
        return (PipelineBuilder().add_source(range(4)).aggregate(Picky()).add_sink(1)
                .build(num_threads=1, max_failures=limit))

    with (pipeline := made(-1)).auto_stop():
        assert list(pipeline) == [[0, 1, 3]]
    pipeline = made(0)
    assert isinstance(consume(pipeline)[1].exceptions[0].__cause__, ValueError)
    pipeline.stop()


@pytest.mark.parametrize("kind", [ValueError, SystemExit])
def test_a_flush_that_fails_counts_as_its_stages(kind, caplog):
    class Leaky(Picky):
        def flush(self):
            raise kind("clogged")

    def made(limit):
        return (PipelineBuilder().add_source(range(2)).aggregate(Leaky()).disaggregate().add_sink(1)
                .build(num_threads=1, max_failures=limit))

    if kind is ValueError:
        with (pipeline := made(-1)).auto_stop():
            assert list(pipeline) == []
        assert "clogged" in caplog.text and "tried again" not in caplog.text
    pipeline = made(0)
    _, error = consume(pipeline)
    pipeline.stop()
    (cause,) = error.exceptions
    assert "stage" in str(error) and "aggregate" in str(error) and isinstance(cause.__cause__, kind)


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_an_op_that_would_end_its_thread_ends_the_pipeline(kind):
    """SystemExit and its like are no failure of an item: they end the pipeline, with a name, and no thread dies."""
    def op(x):
        if x == 2:
            raise kind("out")
        return x

    pipeline = build(range(5), op)
    got, error = consume(pipeline)
    pipeline.stop()
    assert got == [0, 1] and kind.__name__ in str(error)


class Leaving(TaskHook):
    """A hook that raises in one place."""

    def __init__(self, place, kind):
        self.place, self.kind = place, kind

    def pass_by(self, place):
        if place == self.place:
            raise self.kind("out")

    @asynccontextmanager
    async def stage_hook(self):
        self.pass_by("stage hook")
        yield
        self.pass_by("end of a stage hook")

    @asynccontextmanager
    async def task_hook(self, input_item=None):
        self.pass_by("task hook")
        yield


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("place", ["op", "generator", "source", "router", "merge", "stage hook", "end of a stage hook",
                                   "task hook"])
def test_what_would_end_the_event_loops_thread_ends_the_pipeline(place, kind):
    """Anywhere in async code, as in an op of a thread: asyncio lets SystemExit and KeyboardInterrupt out of its loop, for which all
    would wait for ever."""
    async def op(x):
        raise kind("out")

    async def generator(x):
        yield x
        raise kind("out")

    async def source():
        yield 1
        raise kind("out")

    async def merge(info, inputs, output):
        raise kind("out")

    builder = PipelineBuilder().add_source(source() if place == "source" else range(3))
    if place == "router":
        builder.path_variants(op, [[Pipe(lambda x: x)]])
    else:
        builder.pipe({"op": op, "generator": generator}.get(place, lambda x: x))
    cfg = builder.add_sink(1).get_config()
    if place == "merge":
        cfg = PipelineConfig(Merge([cfg], merge), [], SinkConfig(1))
    hooks = {"task_hook_factory": lambda info: [Leaving(place, kind)]} if "hook" in place else {}
    pipeline = build_pipeline(cfg, num_threads=1, **hooks)
    with pytest.raises(PipelineFailure, match=f"an op raised {kind.__name__}"):
        pipeline.start()
        list(pipeline.get_iterator(timeout=60))
        pipeline.stop()
    pipeline.stop()


def test_an_op_that_stops_the_event_loop_stops_nothing():
    async def op(x):
        asyncio.get_running_loop().stop()
        await asyncio.sleep(0)
        return x

    assert run(range(3), op) == [0, 1, 2]


def test_an_event_loop_that_dies_is_told_to_all_who_wait():
    """Whatever it died of: who waits, and who comes later, gets an error with the reason."""
    loop = Loop("spdl-test-loop")
    excepthook, threading.excepthook = threading.excepthook, lambda args: None
    try:
        begun = threading.Event()

        async def wait():
            begun.set()
            await asyncio.sleep(3600)

        def die():
            raise MemoryError("none left")

        waiting = loop.start(wait())
        assert begun.wait(60)
        loop.post(setattr, loop.loop, "_run_once", die)
        with pytest.raises(RuntimeError, match="thread has ended.*MemoryError: none left"):
            waiting.result(60)
        with pytest.raises(RuntimeError, match="thread has ended"):
            loop.run(asyncio.sleep(0))
        loop.finish(asyncio.sleep(0))
        assert loop.close(60)
    finally:
        threading.excepthook = excepthook


def test_the_end_of_a_loop_is_that_of_its_thread():
    """Also where the loop is closed and its thread not yet over."""
    loop, closed, ends = Loop("spdl-test-loop"), threading.Event(), threading.Event()
    close = loop.loop.close

    def close_and_wait():
        close()
        closed.set()
        ends.wait(60)

    loop.loop.close = close_and_wait
    loop.post(lambda: asyncio.ensure_future(loop._finish()))
    assert closed.wait(60)
    assert not loop.close(0)
    threading.Timer(0.1, ends.set).start()
    assert loop.close(60)


def test_an_op_with_wrong_arity_fails_by_name(caplog):
    """Each item fails with Python's own message, and the stage's name."""
    pipeline = build(range(2), lambda a, b: a, pipe={"max_failures": 0, "name": "pair"})
    error = consume(pipeline)[1]
    pipeline.stop()
    assert isinstance(error.exceptions[0].__cause__, TypeError) and "pair" in str(error)


def test_items_to_take_apart_must_be_iterable():
    pipeline = (PipelineBuilder().add_source([[1, 2], 3, [4]]).disaggregate().add_sink(3)
                .build(num_threads=1, max_failures=0))
    got, error = consume(pipeline)
    pipeline.stop()
    assert got == [1, 2] and isinstance(error.exceptions[0].__cause__, TypeError)


def test_a_container_without_the_key_fails_the_item():
    assert run([1, 2, 3], {1: "a", 3: "c"}) == ["a", "c"]


def test_a_failed_item_is_tried_again():
    """retries=n: n further attempts; only the last failure counts."""
    tries = {}

    def op(x):
        tries[x] = tries.get(x, 0) + 1
        if x == 1 and tries[x] < 3:
            raise ConnectionError("try again")
        if x == 2:
            raise ValueError("never")
        return x

    assert run(range(4), op, pipe={"retries": 2, "backoff": 0.001, "output_order": "input", "max_failures": 1}) == [
        0, 1, 3]
    assert tries == {0: 1, 1: 3, 2: 3, 3: 1}


def test_an_item_past_its_deadline_is_dropped_and_counted():
    """deadline: the item counts as failed, though its op runs on; with the budget used up that is the end."""
    def failures():
        return next(stage["failures"] for stage in pipeline.stats()["stages"] if stage["name"].endswith(":op"))

    async def op(x):
        while x == 1 and failures() == 0:
            await asyncio.sleep(0.01)
        return x

    pipeline = build(range(4), op, pipe={"deadline": 1, "concurrency": 2})
    with pipeline.auto_stop():
        assert list(pipeline) == [0, 2, 3] and failures() == 1


def test_many_failures_in_one_place_are_logged_a_few_times(caplog):
    """A data set of broken items does not fill the disk with tracebacks."""
    def always(x):
        raise ValueError("the same")

    assert run(range(150), always) == []
    assert caplog.text.count("Traceback") == 5
    assert "failed 105 times in the same place" in caplog.text


def test_compact_log_is_one_line_a_failure(caplog):
    config.set_compact_log(True)
    try:
        run(range(2), failing(1))
    finally:
        config.set_compact_log(None)
    assert "Traceback" not in caplog.text and "ValueError: boom 1" in caplog.text


def test_a_failing_item_leaves_no_object_behind():
    """Dropped items are let go of while the pipeline runs."""
    pipeline = build(range(200), failing(*range(0, 200, 2)))
    with pipeline.auto_stop():
        for _ in pipeline:
            assert len(pipeline._core.items) <= 20


def test_an_op_that_forks_does_not_hang(script):
    """A child forked inside an op ends as it likes; the pipeline goes on."""
    done = script("""
        import os
        from spdl.pipeline import PipelineBuilder
        def op(x):
            pid = os.fork()
            if pid == 0:
                os._exit(0)
            os.waitpid(pid, 0)
            return x
        pipeline = PipelineBuilder().add_source(range(5)).pipe(op).add_sink(3).build(num_threads=1)
        with pipeline.auto_stop():
            print(list(pipeline))
    """)
    assert (done.returncode, done.stdout) == (0, "[0, 1, 2, 3, 4]\n"), done.stderr


def test_a_generator_that_raises_stop_async_iteration_has_failed():
    """It is no end of its results."""
    def op(item):
        yield item
        if item == 2:
            raise StopAsyncIteration
        yield -item

    pipeline = build(range(5), op, pipe={"max_failures": 0})
    with pytest.raises(PipelineFailure, match="1:op.* failed 1 times"), pipeline.auto_stop():
        list(pipeline)


def test_a_failure_and_a_stage_may_be_named_by_what_no_text_holds():
    """Names of files that are not UTF-8, and zero bytes."""

    def op(x):
        if x == 1:
            raise ValueError("/data/\udcff\0.jpg")
        return x

    assert run(range(3), op, pipe={"name": "decode \udcff\0"}) == [0, 2]
