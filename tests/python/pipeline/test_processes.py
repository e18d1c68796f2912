"""Iterables, pipelines and regions in processes of their own."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import random
import signal
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest

from spdl.pipeline import (
    PipelineBuilder,
    PipelineFailure,
    SharedMemoryRingBuffer,
    SharedMemorySegmentPool,
    WorkerDied,
    WorkerError,
    iterate_in_subinterpreter,
    iterate_in_subprocess,
    run_pipeline_in_subinterpreter,
    run_pipeline_in_subprocess,
)
from spdl.pipeline import _pipeline, _worker
from spdl.pipeline.defs import MAIN_PROCESS, InterpreterPoolExecutorConfig, ProcessPoolExecutorConfig

from .conftest import wait_for

np = pytest.importorskip("numpy")


class Numbers:
    def __init__(self, n=5):
        self.n = n

    def __iter__(self):
        yield from range(self.n)


class Arrays:
    def __iter__(self):
        for i in range(5):
            yield {"image": np.full((200, 300), i, np.float32), "text": b"t" * 5000, "number": i,
                   "empty": np.zeros((0, 3)), "slice": np.arange(20000)[::2] + i, "bytes": bytearray(b"b" * 5000)}


class Large:
    def __iter__(self):
        for i in range(12):
            yield np.full(1 << 20, i, np.uint8)


def generator():
    yield from range(3)


def failing():
    yield 1
    raise KeyError("in the worker")


def unpicklable():
    yield lambda: None


def silent():
    yield 1
    time.sleep(3600)


def leaving():
    yield 1
    sys.exit()


def interrupted():
    yield 1
    raise KeyboardInterrupt


def leave(*_):
    sys.exit(3)


def stuck(channel):
    time.sleep(3600)


def die_after_two():
    yield 1
    yield 2
    os.kill(os.getpid(), signal.SIGKILL)


def refuse():
    raise ValueError("not today")


def double(x):
    return 2 * x


def array(x):
    return np.full(10000, x)


def pid(x):
    time.sleep(0.002)
    return os.getpid()


def kill_at_seven(x):
    if x == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return x


def fail_at_seven(x):
    if x == 7:
        raise ValueError("seven")
    return x


def fail_late_at_the_last(x):
    """In a worker that has far more patience with its stop than the test has."""
    _pipeline.STOP_PATIENCE = 200
    if x == 19:
        time.sleep(1)
        raise ValueError("the last")
    return x


# ---- iterables


@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
def test_an_iterable_is_iterated_again_and_again_in_one_process(context):
    """With every start method: the items, in order, from one process, however often."""
    iterable = iterate_in_subprocess(Numbers, mp_context=context)
    process = iterable._worker.process.pid
    assert [list(iterable) for _ in range(3)] == [[0, 1, 2, 3, 4]] * 3
    assert iterable._worker.process.pid == process


def test_arrays_come_as_writeable_views_of_shared_memory():
    """Whole, of any layout; their memory is not used again before the last of them is gone."""
    iterable = iterate_in_subprocess(Arrays)
    for _ in range(4):
        items = list(iterable)
        for i, item in enumerate(items):
            assert (item["image"] == i).all() and item["image"].shape == (200, 300) and item["image"].flags.writeable
            assert not item["image"].flags.owndata
            assert item["text"] == b"t" * 5000 and item["bytes"] == bytearray(b"b" * 5000)
            assert item["empty"].shape == (0, 3) and (item["slice"] == np.arange(20000)[::2] + i).all()
            item["image"][:] = -1


def test_shared_memory_is_used_again():
    """A consumer that lets go of each item keeps the memory file as small as what is in flight."""
    iterable = iterate_in_subprocess(Large, buffer_size=2)
    for _ in range(5):
        for i, item in enumerate(iterable):
            assert (item == i).all()
            del item
        gc.collect()
    assert os.fstat(iterable._worker.channel._receiver._file.fd).st_size <= 6 << 20


@pytest.mark.parametrize("arena", [SharedMemoryRingBuffer(3 << 20), SharedMemorySegmentPool(1 << 20, 2)])
def test_a_small_arena_does_not_stop_a_consumer_that_keeps_items(arena):
    """What does not fit travels pickled: nothing waits for memory that the consumer holds."""
    items = list(iterate_in_subprocess(Large, arena=arena))
    assert [int(item[0]) for item in items] == list(range(12)) and all((item == item[0]).all() for item in items)


def test_a_generator_function_is_called_again_for_each_iteration():
    """In SPDL the second iteration of a generator is silently empty."""
    iterable = iterate_in_subprocess(generator)
    assert [list(iterable), list(iterable)] == [[0, 1, 2], [0, 1, 2]]


def test_leaving_an_iteration_early_keeps_the_process():
    iterable = iterate_in_subprocess(Numbers)
    for item in iterable:
        if item == 1:
            break
    assert list(iterable) == [0, 1, 2, 3, 4]
    first, second = iter(iterable), None
    assert next(first) == 0
    second = iter(iterable)
    assert list(second) == [0, 1, 2, 3, 4]


def test_an_exception_of_the_iteration_is_raised_here_and_the_process_stays():
    """The exception itself, with the other process's traceback as its cause. In SPDL it ends the worker."""
    iterable = iterate_in_subprocess(failing)
    for _ in range(2):
        got = []
        with pytest.raises(KeyError, match="in the worker") as caught:
            got.extend(iterable)
        assert "in failing" in str(caught.value.__cause__)


def test_an_item_that_cannot_be_sent_is_named():
    with pytest.raises(Exception, match="pickle|lambda"):
        list(iterate_in_subprocess(unpicklable))


def test_the_death_of_the_worker_is_noticed_at_once():
    """A SIGKILL, as by the memory killer, is an error with its name. In SPDL the consumer waits for ever."""
    iterable = iterate_in_subprocess(die_after_two)
    got = []
    with pytest.raises(WorkerDied, match="SIGKILL"):
        for item in iterable:
            got.append(item)
    assert got == [1, 2]
    with pytest.raises(WorkerDied, match="make another"):
        list(iterable)


def test_what_a_worker_said_before_it_died_comes_first():
    """Also where this process was slow, and the worker is gone before it is asked for anything or told of anything."""
    refusing = iterate_in_subprocess(refuse)
    refusing._worker.process.join(60)
    with pytest.raises(ValueError, match="not today"):
        list(refusing)
    dying = iterate_in_subprocess(die_after_two)
    items = iter(dying)
    assert next(items) == 1
    dying._worker.process.join(60)
    assert next(items) == 2
    with pytest.raises(WorkerDied, match="SIGKILL"):
        next(items)


def test_a_silent_worker_is_ended_after_the_timeout():
    iterable = iterate_in_subprocess(silent, timeout=0.3)
    process = iterable._worker.process
    with pytest.raises(TimeoutError, match="timeout"):
        list(iterable)
    assert process._closed or not process.is_alive()


@pytest.mark.parametrize("options", [{"initializer": refuse}, {"initializer": [generator, refuse]}])
def test_an_initializer_that_raises_is_raised_here(options):
    with pytest.raises(ValueError, match="not today"):
        list(iterate_in_subprocess(Numbers, **options))


def test_a_function_that_raises_is_raised_here():
    with pytest.raises(ValueError, match="not today"):
        list(iterate_in_subprocess(refuse))


@pytest.mark.parametrize("function, what", [(leaving, "SystemExit"), (interrupted, "KeyboardInterrupt")])
def test_what_would_end_the_worker_does_not_end_this_process(function, what):
    """A trainer that ends in the middle of its data with exit code 0 has not told anyone."""
    iterable = iterate_in_subprocess(function)
    for _ in range(2):
        with pytest.raises(WorkerError, match=what):
            list(iterable)
    with pytest.raises(WorkerError, match="SystemExit: 3"):
        list(iterate_in_subprocess(Numbers, initializer=leave))


@pytest.mark.parametrize("begin", [lambda i: list(zip(i, i)), lambda i: [next(a := iter(i)), list(i), list(a)]])
def test_an_iteration_that_another_has_overtaken_is_refused(begin):
    """The worker does one at a time: the first of two would wait for ever."""
    iterable = iterate_in_subprocess(Numbers, timeout=60)
    with pytest.raises(RuntimeError, match="another iteration of the same object has begun"):
        begin(iterable)
    first, second = iter(iterable), iter(iterable)
    assert list(second) == list(first) == [0, 1, 2, 3, 4]


def test_the_worker_ends_with_its_iterable():
    iterable = iterate_in_subprocess(silent)
    next(iter(iterable))
    process = iterable._worker.process.pid
    del iterable
    gc.collect()
    wait_for(lambda: not os.path.exists(f"/proc/{process}"), "the worker ends")


@pytest.fixture
def exit_codes(monkeypatch):
    """Those of the processes that were ended."""
    codes = []
    close = multiprocessing.process.BaseProcess.close

    def closed(process):
        codes.append(process.exitcode)
        close(process)

    monkeypatch.setattr(multiprocessing.process.BaseProcess, "close", closed)
    monkeypatch.setattr(_worker, "PATIENCE", 60)
    return codes


@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
def test_a_worker_that_is_not_wanted_any_more_ends_by_itself(context, exit_codes):
    """At once, and not by a signal, whoever else was forked meanwhile and has its connections, too."""
    first, second = (iterate_in_subprocess(Numbers, mp_context=context) for _ in range(2))
    assert list(first) == list(second) == [0, 1, 2, 3, 4]
    other = multiprocessing.get_context("fork").Process(target=time.sleep, args=(3600,))
    other.start()
    try:
        del first, second
        gc.collect()
        assert exit_codes == [0, 0]
    finally:
        other.kill()
        other.join(60)


def test_what_cannot_be_pickled_for_a_worker_is_refused_with_the_remedy():
    remedy = "made by {}.*<lambda>.*a module defines, no lambdas"
    with pytest.raises(pickle.PicklingError, match=remedy.format("spawn")):
        iterate_in_subprocess(lambda: [1], mp_context="spawn")
    pipeline = region(lambda x: x)
    with pytest.raises(PipelineFailure, match=remedy.format("forkserver")), pipeline.auto_stop():
        next(iter(pipeline))


def test_the_workers_of_a_region_end_by_themselves(exit_codes):
    with (pipeline := region(double)).auto_stop():
        next(iter(pipeline))
    assert exit_codes == [0, 0]


def test_workers_that_do_not_end_are_made_to_at_the_same_time(monkeypatch):
    """Stuck ones cost the patience of one, however many there are."""
    workers = [_worker.Worker(f"stuck-{number}", stuck, ()) for number in range(3)]
    processes = [worker.process for worker in workers]
    monkeypatch.setattr(_worker, "PATIENCE", 0.1)
    asked = []
    terminate = multiprocessing.process.BaseProcess.terminate

    def terminated(process):
        asked.append((process, [one._closed for one in processes]))
        monkeypatch.setattr(_worker, "PATIENCE", 60)
        terminate(process)

    monkeypatch.setattr(multiprocessing.process.BaseProcess, "terminate", terminated)
    _worker.end_all(workers)
    assert asked == [(process, [False, False, False]) for process in processes]
    assert all(process._closed for process in processes)


AT_WORK = {
    "iterate_in_subprocess": "iterate_in_subprocess(itertools.count)",
    "run_pipeline_in_subprocess": "run_pipeline_in_subprocess(numbers().add_sink(1).get_config(), num_threads=1)",
    "region": "numbers().to(ProcessPoolExecutorConfig(2)).pipe(abs).to(MAIN_PROCESS).add_sink(1).build(num_threads=1)",
}


@pytest.mark.parametrize("before", ["", "weakref.finalize(weakref.finalize, print)"])
@pytest.mark.parametrize("what", AT_WORK)
def test_the_interpreter_exits_with_workers_running(script, what, before):
    """Without a word, whoever has registered what for the exit before: no failure of a stage is told that the end itself brought
    about, and multiprocessing, which waits for its processes, does not wait for them for ever."""
    ended = script(f"""
        import itertools, weakref
        {before}
        from spdl.pipeline import PipelineBuilder, iterate_in_subprocess, run_pipeline_in_subprocess
        from spdl.pipeline.defs import MAIN_PROCESS, ProcessPoolExecutorConfig

        def numbers():
            return PipelineBuilder().add_source(range(10**9))

        at_work = {AT_WORK[what]}
        items = iter(at_work)
        for _ in range(10):
            next(items)
    """, timeout=120)
    assert (ended.returncode, ended.stdout.strip(), ended.stderr) == (0, "", "")


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_the_worker_ends_when_its_parent_is_killed(script, context):
    """No orphan stays behind a trainer that was killed, whatever the worker is doing."""
    done = script("""
        import os, signal, sys, time
        from spdl.pipeline import iterate_in_subprocess
        import orphan
        if __name__ == "__main__":
            iterable = iterate_in_subprocess(orphan.silent, mp_context=sys.argv[1])
            next(iter(iterable))
            print(iterable._worker.process.pid, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
    """.replace("import orphan", f"sys.path.insert(0, {os.path.dirname(os.path.dirname(__file__))!r})\n"
                "        import pipeline.orphan as orphan"), context)
    assert done.returncode == -signal.SIGKILL, done.stderr
    worker = int(done.stdout)
    wait_for(lambda: not os.path.exists(f"/proc/{worker}") or
             open(f"/proc/{worker}/stat").read().rpartition(")")[2].split()[0] == "Z", "the worker ends")


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="buffer_size 0"):
        iterate_in_subprocess(Numbers, buffer_size=0)
    with pytest.raises(ValueError, match="capacity 0"):
        SharedMemoryRingBuffer(0)
    with pytest.raises(ValueError, match="count 0"):
        SharedMemorySegmentPool(1, 0)


def test_subinterpreters_are_refused_with_the_reason():
    for refused in (lambda: iterate_in_subinterpreter(Numbers), lambda: run_pipeline_in_subinterpreter(None, num_threads=1),
                    lambda: PipelineBuilder().add_source([]).to(InterpreterPoolExecutorConfig()).pipe(double)
                    .to(MAIN_PROCESS).add_sink(1).build(num_threads=1)):
        with pytest.raises(RuntimeError, match="cannot import"):
            refused()


def test_torch_tensors_come_through_shared_memory():
    torch = pytest.importorskip("torch")
    from . import orphan

    for item in iterate_in_subprocess(orphan.tensors):
        assert isinstance(item, torch.Tensor) and item.dtype in (torch.float32, torch.bfloat16)


# ---- pipelines


def config(*ops, source=range(6), continuous=False, executor=None):
    builder = PipelineBuilder().add_source(source, continuous=continuous)
    for op in ops:
        builder.pipe(op, executor=executor)
    return builder.add_sink(3).get_config()


@pytest.mark.parametrize("continuous", [False, True])
def test_a_pipeline_runs_in_a_process_of_its_own(continuous):
    """An epoch per iteration; a continuous one runs on there, in the same process."""
    iterable = run_pipeline_in_subprocess(config(double, array, continuous=continuous), num_threads=2)
    for _ in range(3):
        assert [int(item[0]) for item in iterable] == [0, 2, 4, 6, 8, 10]


def test_a_builder_is_taken_too():
    builder = PipelineBuilder().add_source(range(3)).pipe(double).add_sink(1)
    assert list(run_pipeline_in_subprocess(builder, num_threads=1)) == [0, 2, 4]


def test_the_failure_of_the_pipeline_there_is_raised_here():
    iterable = run_pipeline_in_subprocess(config(fail_at_seven, source=range(10)), num_threads=1, max_failures=0)
    with pytest.raises(PipelineFailure, match="fail_at_seven"):
        list(iterable)


def test_the_process_begins_with_this_ones_random_state():
    """Seeding here decides what is drawn there, with any start method."""
    draws = []
    for _ in range(2):
        random.seed(7)
        iterable = run_pipeline_in_subprocess(config(double, source=orphan_random()), num_threads=1)
        draws.append(list(iterable))
    random.seed(7)
    assert draws[0] == draws[1] == [2 * random.random() for _ in range(3)]


def orphan_random():
    from . import orphan

    return orphan.Random()


@pytest.mark.parametrize("make", [lambda: ThreadPoolExecutor(2), lambda: ProcessPoolExecutor(1)])
def test_executors_of_the_config_are_made_anew_there(make):
    assert list(run_pipeline_in_subprocess(config(double, executor=make()), num_threads=1)) == [0, 2, 4, 6, 8, 10]


class Begun:
    factor = 1

    @classmethod
    def begin(cls, factor):
        cls.factor = factor

    @classmethod
    def times(cls, x):
        return cls.factor * x


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_the_initializer_of_an_executor_runs_there_with_its_arguments(kind):
    executor = kind(1, initializer=Begun.begin, initargs=(3,))
    assert list(run_pipeline_in_subprocess(config(Begun.times, executor=executor), num_threads=1)) == [0, 3, 6, 9, 12, 15]
    assert Begun.factor == 1


def test_an_executor_that_was_used_is_refused():
    executor = ThreadPoolExecutor(1)
    executor.submit(int).result()
    with pytest.raises(ValueError, match="fresh executor"):
        run_pipeline_in_subprocess(config(double, executor=executor), num_threads=1)
    executor.shutdown()


# ---- regions


def region(*ops, source=range(20), workers=2, inward=1, outward=1, continuous=False, **options):
    builder = PipelineBuilder().add_source(source, continuous=continuous)
    builder.to(ProcessPoolExecutorConfig(max_workers=workers, mp_context="forkserver"), buffer_size=inward)
    for op in ops:
        builder.pipe(op)
    return builder.to(MAIN_PROCESS, buffer_size=outward).add_sink(3).build(num_threads=2, **options)


@pytest.mark.parametrize("inward, outward", [(1, 1), (3, 2), (64, 64)])
def test_a_region_runs_its_stages_in_worker_processes(inward, outward):
    """Every item once, whatever the size of transfers; values between its stages are not sent anywhere."""
    with (pipeline := region(double, array, inward=inward, outward=outward)).auto_stop():
        assert sorted(int(item[0]) for item in pipeline) == list(range(0, 40, 2))


def test_the_workers_of_a_region_share_the_items():
    with (pipeline := region(pid, source=range(100))).auto_stop():
        pids = list(pipeline)
    assert len(pids) == 100 and len(set(pids)) == 2 and os.getpid() not in pids


def test_epochs_of_a_region_do_not_mix():
    with (pipeline := region(double, continuous=True, inward=3)).auto_stop():
        for _ in range(5):
            assert sorted(pipeline) == list(range(0, 40, 2))


def test_two_regions_and_stages_around_them():
    target = ProcessPoolExecutorConfig(max_workers=1, mp_context="forkserver")
    pipeline = (PipelineBuilder().add_source(range(10)).pipe(double).to(target).pipe(double).aggregate(3)
                .to(MAIN_PROCESS).disaggregate().to(target).pipe(double).to(MAIN_PROCESS).pipe(double).add_sink(3)
                .build(num_threads=2))
    with pipeline.auto_stop():
        assert sorted(pipeline) == list(range(0, 160, 16))


def test_a_killed_worker_of_a_region_ends_the_pipeline_by_name():
    """At once; SPDL's region waits 15 minutes."""
    pipeline = region(kill_at_seven)
    with pytest.raises(PipelineFailure, match="SIGKILL"):
        list(pipeline)
    pipeline.stop()


def test_failures_in_a_region_follow_the_same_rules():
    with (pipeline := region(fail_at_seven)).auto_stop():
        assert sorted(pipeline) == [x for x in range(20) if x != 7]
    pipeline = region(fail_at_seven, max_failures=0)
    try:
        with pytest.raises(PipelineFailure, match="fail_at_seven"):
            list(pipeline)
    finally:
        pipeline.stop()


def test_a_failure_behind_the_last_transfer_is_told_at_once():
    """The worker's source waits for the parent then, who sends nothing more: ending it first would take as long as patience lasts."""
    pipeline = region(fail_late_at_the_last, max_failures=0)
    began = time.monotonic()
    try:
        with pytest.raises(PipelineFailure, match="fail_late_at_the_last"):
            list(pipeline)
        assert time.monotonic() - began < 100
    finally:
        pipeline.stop()


def test_a_region_can_be_stopped_in_the_middle():
    with (pipeline := region(double, source=range(10**9))).auto_stop():
        pipeline.get_item(timeout=30)


def test_who_is_in_the_main_process_may_come_back_to_it():
    """`to(MAIN_PROCESS if debug else pool)`."""
    builder = PipelineBuilder().add_source(range(3)).to(MAIN_PROCESS).pipe(double).to(MAIN_PROCESS)
    pipeline = builder.pipe(double).add_sink(1).build(num_threads=1)
    with pipeline.auto_stop():
        assert list(pipeline) == [0, 4, 8]


@pytest.mark.parametrize("build, text", [
    (lambda b, t: b.to(t).pipe(double), "close it"), (lambda b, t: b.to(t).to(MAIN_PROCESS), "no stage"),
    (lambda b, t: b.to(t).pipe(double, output_order="input").to(MAIN_PROCESS), "output_order")])
def test_a_region_that_cannot_be_is_refused(build, text):
    builder = build(PipelineBuilder().add_source([1]), ProcessPoolExecutorConfig(max_workers=1))
    with pytest.raises(ValueError, match=text):
        builder.add_sink(1).build(num_threads=1)
