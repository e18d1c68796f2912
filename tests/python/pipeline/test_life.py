"""Starting, stopping, waiting, and the ways a program can end with a pipeline alive."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
import types
import warnings
import weakref
from collections import Counter
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager

import pytest

from spdl.pipeline import PipelineBuilder, PipelineFailure, TaskHook, _core

from spdl.pipeline._info import StageInfo
from spdl.pipeline._loop import Loop
from spdl.pipeline._stages import SourceStage
from spdl.pipeline.defs import SourceConfig

from .conftest import ROOT, build, run, wait_for


def test_iterating_starts_and_the_end_is_the_end():
    """start and stop may be left out; after the data every read says so."""
    pipeline = build(range(3))
    assert list(pipeline) == [0, 1, 2]
    assert list(pipeline.get_iterator()) == []
    with pytest.raises(EOFError):
        pipeline.get_item(timeout=1)
    pipeline.stop()
    with pytest.raises(EOFError):
        pipeline.get_item(timeout=1)


def test_a_pipeline_starts_once():
    pipeline = build(range(3))
    pipeline.start()
    with pytest.raises(RuntimeError, match="already started"):
        pipeline.start()
    pipeline.stop()
    with pytest.raises(RuntimeError, match="already started"):
        pipeline.start()
    stopped = build(range(3))
    stopped.stop()
    with pytest.raises(RuntimeError, match="was stopped"):
        stopped.start()


def test_stop_in_the_middle_is_prompt_and_drops_the_rest():
    """Queues full, source endless, workers waiting: stop returns, and no object is left."""
    def endless():
        while True:
            yield object()

    pipeline = build(endless(), lambda x: x, lambda x: x, pipe={"concurrency": 3})
    with pipeline.auto_stop():
        for _ in range(5):
            pipeline.get_item(timeout=10)
    assert not pipeline._core.items
    pipeline.stop()


def test_a_generator_source_is_closed_when_the_pipeline_is_stopped():
    closed = threading.Event()

    def source():
        try:
            while True:
                yield 1
        finally:
            closed.set()

    with (pipeline := build(source())).auto_stop():
        pipeline.get_item()
    assert closed.is_set()


def test_an_async_source_is_closed_when_the_pipeline_is_stopped():
    closed = threading.Event()

    async def source():
        try:
            while True:
                yield 1
                await asyncio.sleep(0)
        finally:
            closed.set()

    with (pipeline := build(source())).auto_stop():
        pipeline.get_item()
    assert closed.is_set()


def test_a_timeout_takes_nothing():
    """get_item that times out has lost no item: the next ones come, in order. (SPDL 0.6 lost one each time.)"""
    timeouts = 0

    def slow():
        for i in range(5):
            wait_for(lambda: timeouts >= 3 * (i + 1), "a few timeouts")
            yield i

    got = []
    with (pipeline := build(slow())).auto_stop():
        while True:
            try:
                got.append(pipeline.get_item(timeout=0.01))
            except TimeoutError:
                timeouts += 1
            except EOFError:
                break
    assert got == [0, 1, 2, 3, 4] and timeouts >= 15


def test_several_threads_may_take_results():
    """Each result goes to exactly one of them."""
    got: list = []
    with (pipeline := build(range(500), lambda x: x)).auto_stop():
        threads = [threading.Thread(target=lambda: got.extend(pipeline)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert sorted(got) == list(range(500))


def test_a_forgotten_pipeline_is_stopped_when_it_is_collected():
    """The last reference stops threads and engine; nothing needs to be called."""
    pipeline = build(iter(int, 1), lambda x: x)
    pipeline.get_item()
    core = weakref.ref(pipeline._core)
    del pipeline
    gc.collect()
    wait_for(lambda: core() is None or core().closed, "the core is closed")


def test_a_pipeline_that_was_never_started_leaves_nothing():
    for _ in range(20):
        build(range(3), lambda x: x)
    gc.collect()


def descriptors():
    """How many descriptors there are of each kind, such as pipes."""
    kinds = Counter()
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # listdir's own
            kinds[re.sub(r"\d+", "N", os.readlink(f"/proc/self/fd/{number}"))] += 1
    return kinds


CYCLES = int(os.environ.get("SPDL_CYCLES", "300"))  # `make cycles` sets 10,000
ROUNDS = 5


def test_runs_that_are_stopped_at_any_moment_leave_nothing_behind(caplog):
    """Start, take some, stop: no thread, descriptor, object or memory stays, whatever the moment."""
    caplog.set_level(logging.WARNING, "spdl.pipeline")  # pytest keeps what is logged

    async def aop(x):
        return x

    def cycles(first, last):
        for number in range(first, last):
            ops = [(), (str,), (str, aop), (aop,)][number % 4]
            with (pipeline := build(range(50), *ops, pipe={"concurrency": 2} if ops else None)).auto_stop():
                for _ in range(number % 7):
                    pipeline.get_item(timeout=30)

    cycles(0, 100)  # Go's and asyncio's own pools are filled
    files, threads, tasks, growth = descriptors(), threading.active_count(), len(os.listdir("/proc/self/task")), []
    for _ in range(ROUNDS):
        memory = resident()
        cycles(0, CYCLES // ROUNDS)
        gc.collect()
        growth.append(resident() - memory)
    wait_for(lambda: threading.active_count() <= threads, "threads have ended")
    wait_for(lambda: not descriptors() - files, "descriptors are closed")
    # Go's own threads grow in number with the machine's processors; a thread lost in each cycle would be more.
    assert len(os.listdir("/proc/self/task")) < tasks + 50 + 2 * os.cpu_count()
    assert not _core._live
    assert min(growth) < 1 << 20, growth  # a leak grows in every round; allocators and huge pages, in some


def resident():
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_stage_that_never_returns_is_named():
    """stop says which stage has how many threads in which op, in place of waiting for ever."""
    begun, go = threading.Event(), threading.Event()

    def sleepy(x):
        begun.set()
        go.wait(600)

    pipeline = build(range(5), sleepy)
    pipeline.start()
    assert begun.wait(60)
    with pytest.raises(TimeoutError) as caught:
        pipeline.stop(timeout=0.2)
    assert "sleepy" in str(caught.value) and f"{__file__}:" in str(caught.value) and "after 0.2 s" in str(caught.value)
    go.set()
    pipeline.stop()


def test_an_async_op_is_cancelled_by_stop():
    """Coroutines can be interrupted, so stop does not wait for them."""
    begun, cancelled = threading.Event(), threading.Event()

    async def sleepy(x):
        begun.set()
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    pipeline = build(range(5), sleepy)
    pipeline.start()
    assert begun.wait(60)
    pipeline.stop(timeout=60)
    assert cancelled.is_set()


def test_auto_stop_lets_the_blocks_own_error_through():
    """What the with-block raises is what arrives, also when the pipeline has failed meanwhile."""
    def bad(x):
        raise ValueError

    with pytest.raises(KeyError):
        with (pipeline := build(range(3), bad, pipe={"max_failures": 0})).auto_stop():
            wait_for(lambda: pipeline._core.failure() is not None, "the pipeline fails")
            raise KeyError


def test_start_refuses_arguments_it_does_not_know():
    with pytest.raises(TypeError, match="unexpected demon"):
        build(range(3)).start(demon=True)
    pipeline = build(range(3))
    pipeline.start(daemon=True)
    pipeline.stop()


def test_a_pipeline_may_feed_another():
    """A pipeline is an iterable, so it can be a source; the failure of the inner one arrives outside."""
    assert run(build(range(5), lambda x: x + 1), lambda x: x * 2) == [2, 4, 6, 8, 10]

    def bad(x):
        raise ValueError("inner")

    inner = build(range(5), bad, pipe={"max_failures": 0})
    outer = build(inner)
    with pytest.raises(PipelineFailure) as caught:
        list(outer)
    assert isinstance(caught.value.exceptions[0], PipelineFailure)
    outer.stop()
    inner.stop()


def test_a_forked_child_gets_a_named_error(script):
    """A pipeline does not survive a fork: the child is told, and can end; the parent's goes on."""
    done = script("""
        import os, sys
        from spdl.pipeline import PipelineBuilder
        pipeline = PipelineBuilder().add_source(range(5)).pipe(str).add_sink(1).build(num_threads=1)
        pipeline.get_item()
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            for call in (pipeline.get_item, pipeline.stop):
                try:
                    call()
                except Exception as error:
                    print(type(error).__name__, "run_pipeline_in_subprocess" in str(error))
            sys.exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        print(list(pipeline))
    """)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Forked True\nForked True\n['1', '2', '3', '4']\n"


@pytest.mark.parametrize("how", ["running", "in a global", "waiting source", "op asleep", "async op asleep", "exception",
                                 "from a thread"])
def test_the_interpreter_exits_with_a_pipeline_running(how, script):
    """No stop, no with-block: the exit is prompt, the code is the program's own, nothing is printed."""
    done = script("""
        import asyncio, sys, threading, time
        from spdl.pipeline import PipelineBuilder
        how = sys.argv[1]
        def source():
            yield 1
            if how == "waiting source":
                time.sleep(3600)
            while True:
                yield 1
        def op(x):
            if how == "op asleep" and x is None:
                time.sleep(3600)
            return x
        async def aop(x):
            if how == "async op asleep":
                await asyncio.sleep(3600)
            return x
        pipeline = PipelineBuilder().add_source(source()).pipe(op, concurrency=2).pipe(aop).add_sink(2).build(num_threads=2)
        pipeline.start()
        if how == "from a thread":
            threading.Thread(target=lambda: [x for x in pipeline], daemon=True).start()
        elif how != "async op asleep":
            pipeline.get_item()
        if how == "exception":
            raise KeyError("the program's own")
    """, how)
    assert done.returncode == (1 if how == "exception" else 0), done.stderr
    assert ("KeyError" in done.stderr) == (how == "exception")
    assert "Fatal" not in done.stderr and "daemon" not in done.stderr


def test_an_exit_does_not_wait_for_an_op_that_never_returns(script):
    """It is named in the log, after a second, and the program ends."""
    done = script("""
        import logging, threading, time
        logging.basicConfig()
        from spdl.pipeline import PipelineBuilder
        begun = threading.Event()
        def forever(x):
            begun.set()
            time.sleep(3600)
        pipeline = PipelineBuilder().add_source(range(3)).pipe(forever).add_sink(2).build(num_threads=2)
        pipeline.start()
        begun.wait()
    """)
    assert done.returncode == 0, done.stderr
    assert "forever" in done.stderr


class _EarlyOut:
    """An async iterator whose steps are plain coroutines, which every Python misses if they are made and not awaited."""

    def __aiter__(self):
        return self

    async def __anext__(self):
        return 1

    async def aclose(self):
        pass


async def _numbers():
    while True:
        yield 1


@pytest.mark.parametrize("source", [_EarlyOut, _numbers])
def test_an_async_source_that_is_stopped_before_a_step_leaves_no_coroutine_unawaited(source):
    """A step is cancelled before it begins: nothing was made that nobody awaits, which Python would warn of."""
    loop = Loop("test")
    stage = SourceStage("s", StageInfo(0, "0", "s"), SourceConfig(source()))
    stage.core = types.SimpleNamespace(loop=loop)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        steps = stage._iterate()
        assert next(steps) == 1
        loop.cancel()
        with pytest.raises(CancelledError):
            next(steps)
        steps.close()
        assert loop.close(10)
        gc.collect()
    assert [str(one.message) for one in told] == []


def test_a_ctrl_c_ends_a_wait():
    """A SIGINT while get_item waits without limit raises KeyboardInterrupt, and the program ends."""
    program = ("import time\nfrom spdl.pipeline import PipelineBuilder\n"
               "def never():\n    time.sleep(3600)\n    yield 1\n"
               "p = PipelineBuilder().add_source(never()).add_sink(1).build(num_threads=1)\n"
               "p.start()\n"
               "try:\n    print('waiting', flush=True)\n    p.get_item()\nexcept KeyboardInterrupt:\n    print('interrupted', flush=True)\n")
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONPATH": str(ROOT / "clients" / "python")})
    assert process.stdout.readline() == "waiting\n"
    time.sleep(0.2)  # let it fall asleep; one that is still busy is interrupted all the same
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (0, "interrupted\n"), err


def test_without_an_engine_the_error_says_what_to_do(script):
    """A libspdl without its engine library beside it is named, with the remedy."""
    done = script("""
        from spdl.pipeline import PipelineBuilder
        PipelineBuilder().add_source([1]).add_sink(1).build(num_threads=1)
    """, SPDL_ENGINE_LIBRARY="/nonexistent/libspdl_engine.so")
    assert done.returncode == 1
    assert "Unsupported" in done.stderr and "/nonexistent/libspdl_engine.so" in done.stderr


def test_statistics_say_what_is_slow():
    """The verdict names the stage that everybody waits for, while running and after, and what a worker more would bring."""

    def slow(x):
        time.sleep(0.005)
        return x

    pipeline = build(range(40), slow, pipe={"name": "slow"})
    with pipeline.auto_stop():
        assert pipeline.stats()["verdict"]["limit"] in ("stage", "none", "idle")
        for _ in range(40):
            pipeline.get_item(timeout=60)
        running = pipeline.stats()["verdict"]
    for verdict in (running, pipeline.stats()["verdict"]):
        assert verdict["limit"] == "stage" and verdict["stage"].endswith(":slow"), verdict
        assert "is the limit: its worker" in verdict["text"] and "for each result" in verdict["text"], verdict
        assert any(one["change"] == f"2 workers for {verdict['stage']}" and one["gain"] > 0 for one in verdict["what_if"]), verdict


def test_statistics_can_be_read_at_any_time():
    """stats() has every stage and queue by name, while running and after."""
    pipeline = build(range(20), lambda x: x, pipe={"name": "same"})
    with pipeline.auto_stop():
        list(pipeline)
        running = pipeline.stats()
    after = pipeline.stats()
    for stats in (running, after):
        stage = next(one for one in stats["stages"] if one["name"].endswith(":same"))
        assert stage["items"] == 20
        assert any(queue["name"] == stage["name"] for queue in stats["queues"])


@pytest.mark.parametrize("lists", [False, True])
def test_a_loop_ends_whose_pipeline_is_stopped_as_a_result_comes(lists):
    """Another thread stops it between the engine's answer and the lookup of what that stands for."""
    builder = PipelineBuilder().add_source(range(1000))
    pipeline = (builder.aggregate(3) if lists else builder).add_sink(2).build(num_threads=1)
    host, taken = pipeline._core.host, []
    get = host.get

    def get_and_stop(*arguments):
        status = get(*arguments)
        if len(taken) == 5:
            stopper = threading.Thread(target=pipeline.stop)
            stopper.start()
            stopper.join()
        return status

    host.get = get_and_stop
    for item in pipeline:
        taken.append(item)
    assert len(taken) == 5 and list(pipeline) == []


def fail(*_):
    raise ValueError("no")


class FailingHook(TaskHook):
    @asynccontextmanager
    async def stage_hook(self):
        fail()
        yield


def read_to_its_failure(how):
    """References to a pipeline that has failed, was read, and is no longer needed."""
    hooks = (lambda _: [FailingHook()]) if how == "hook" else None
    pipeline = PipelineBuilder().add_source(range(9)).pipe(fail, max_failures=0).add_sink(2).build(num_threads=1, task_hook_factory=hooks)
    try:
        if how == "stop":
            pipeline.start()
            wait_for(lambda: pipeline._core.failure() is not None, "the pipeline fails")
            pipeline.stop()
        list(pipeline)
    except PipelineFailure as failure:
        error = failure.exceptions[0]
        assert (error.__cause__ or error).__traceback__ is not None
        return weakref.ref(pipeline), weakref.ref(pipeline._core)


@pytest.mark.parametrize("how", ["loop", "stop", "hook"])
def test_a_pipeline_that_failed_is_collected_like_any(how):
    """The failure that was raised has in its traceback the frames of its reader: the threads' side does not keep it."""
    pipeline, core = read_to_its_failure(how)
    gc.collect()
    assert pipeline() is None
    wait_for(lambda: core() is None or core().closed, "the core is closed")


def test_what_it_is_made_of_can_be_seen():
    builder = PipelineBuilder().pipe(int, concurrency=4)
    assert repr(builder) == "<spdl.pipeline.PipelineBuilder no source, int(concurrency=4, op=int), no sink>"
    builder.add_source(["1", "2"]).add_sink(3)
    assert repr(builder) == "<spdl.pipeline.PipelineBuilder source, int(concurrency=4, op=int), sink(3)>"
    pipeline = builder.build(num_threads=1)
    name = pipeline.stats()["name"]
    assert repr(pipeline) == f"<spdl.pipeline.Pipeline {name!r} ready: 0:src, 1:int>"
    with pipeline.auto_stop():
        assert list(pipeline) == [1, 2] and " started: " in repr(pipeline)
    assert " stopped: " in repr(pipeline)
