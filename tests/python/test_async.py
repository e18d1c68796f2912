"""async for, over the real library."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from types import ModuleType

import pytest
import spdl
from conftest import check
from spdl import _reader

SLOTS = 8  # of a pattern engine


def paused(engine, *args):
    """An engine that is stopped when it has filled its slots at most, and a loader attached to it."""
    one = engine("--groups", "train", *args)
    loader = spdl.attach(one.name, group="train")
    one.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, one.process.pid, os.WSTOPPED | os.WNOWAIT)
    return one, loader


def test_async_for_is_one_epoch(engine):
    one = engine("--batches", "50", "--epochs", "2")

    async def consume(loader):
        first = [check(batch) async for batch in loader]
        second = [check(batch) async for batch in loader]
        return first, second, [batch async for batch in loader]

    with spdl.attach(one.name) as loader, pytest.warns(RuntimeWarning, match="2 epochs are over"):
        assert asyncio.run(consume(loader)) == (list(range(50)), list(range(50, 100)), [])


def test_the_event_loop_runs_while_a_task_waits(engine):
    """While an engine pauses the other task gets its turns; what it makes after the pause is brought by the descriptor."""
    one, loader = paused(engine, "--batches", "30")
    turns = 0

    async def tick():
        nonlocal turns
        for turns in range(1, 51):
            await asyncio.sleep(0.001)
        one.process.send_signal(signal.SIGCONT)

    async def consume():
        ticking, seen = asyncio.ensure_future(tick()), []
        async for batch in loader:
            seen.append(check(batch))
            assert len(seen) <= SLOTS or turns == 50, "a batch came out of a paused engine"
        await ticking
        return seen

    with loader:
        assert asyncio.run(consume()) == list(range(30))


@pytest.mark.parametrize("handoff", [False, True])
@pytest.mark.parametrize("leases", [2, 6])
def test_tasks_share_a_loader_and_each_batch_goes_to_one(engine, leases, handoff):
    """With fewer leases than tasks, too, and at the end of an epoch, which waits for what the other tasks have in hand."""
    one = engine("--batches", "100", "--rate", "1000", "--slots", "10", "--epochs", "2")

    async def consume(loader, seen):
        async for batch in loader:
            seen.append(check(batch))
            await asyncio.sleep(0)

    async def run(loader):
        seen = []
        await asyncio.gather(*[consume(loader, seen) for _ in range(3)])
        return seen

    with spdl.attach(one.name, max_leases=leases, handoff=handoff) as loader:
        assert sorted(asyncio.run(run(loader))) == list(range(100)) and loader.epoch == 1


def test_after_a_break_the_next_loop_goes_on(engine):
    one = engine("--batches", "10")

    async def run(loader):
        async for batch in loader:
            if batch.ticket == 4:
                break
        assert check(batch) == 4
        return [batch.ticket async for batch in loader]

    with spdl.attach(one.name) as loader:
        assert asyncio.run(run(loader)) == [5, 6, 7, 8, 9]


@pytest.mark.parametrize("first", ["async", "plain"])
def test_loops_with_and_without_async_follow_each_other(engine, first):
    """A loop that was left by break lets go of its batch when another begins in the same task, of whichever kind."""
    async def plain(loader):
        for batch in loader:
            return batch.ticket

    async def with_async(loader):
        async for batch in loader:
            return batch.ticket

    async def run(loader):
        loops = [with_async, plain] if first == "async" else [plain, with_async]
        return [await loops[i % 2](loader) for i in range(6)]

    with spdl.attach(engine("--slots", "4", "--batches", "6").name, max_leases=1) as loader:
        assert asyncio.run(asyncio.wait_for(run(loader), 20)) == list(range(6))


def test_cancelling_a_wait_loses_nothing(engine):
    """Waits that are cancelled while the engine pauses, and while it goes on."""
    one, loader = paused(engine, "--batches", "60", "--rate", "300")

    async def run():
        seen, cancelled = [], 0
        epoch = loader.__aiter__()
        while True:
            try:
                batch = await asyncio.wait_for(epoch.__anext__(), 0.002)
            except asyncio.TimeoutError:
                cancelled += 1
                if cancelled == 5:
                    one.process.send_signal(signal.SIGCONT)
            except StopAsyncIteration:
                return seen
            else:
                seen.append(batch.ticket)
                batch.release()

    with loader:
        assert asyncio.run(run()) == list(range(60))


def test_the_engines_death_is_raised_in_the_waiting_task(engine):
    one = engine("--rate", "0.01")

    async def run(loader):
        asyncio.get_running_loop().call_later(0.1, one.kill)
        async for batch in loader:
            pass

    with spdl.attach(one.name) as loader, pytest.raises(spdl.EngineLost):
        asyncio.run(run(loader))


def test_closing_ends_the_wait_of_a_task(engine):
    one = engine("--rate", "0.01")

    async def run(loader):
        asyncio.get_running_loop().call_later(0.1, loader.close)
        async for batch in loader:
            pass

    with spdl.attach(one.name) as loader, pytest.raises(spdl.Detached):
        asyncio.run(run(loader))


@pytest.mark.parametrize("how", ["cancelled", "raised", "returned"])
def test_a_task_that_is_over_gives_back_what_it_had_in_hand(engine, how):
    """Also while somebody keeps the task, and with it the traceback that has its frames."""
    one = engine("--batches", "8")

    async def leave(loader):
        async for batch in loader:
            check(batch)
            if how == "raised":
                raise ValueError("enough")
            if how == "returned":
                return
            await asyncio.sleep(60)

    async def run(loader):
        task = asyncio.ensure_future(leave(loader))
        while not loader.info.acquired:
            await asyncio.sleep(0.001)
        if how == "cancelled":
            task.cancel()
        await asyncio.wait([task])
        await asyncio.sleep(0)  # a turn for its callbacks
        assert loader.info.leases == 0
        return task, len([batch async for batch in loader])

    with spdl.attach(one.name, handoff=True) as loader:
        task, left = asyncio.run(asyncio.wait_for(run(loader), 20))
        assert left == 7
        if how == "raised":
            assert isinstance(task.exception(), ValueError)


def test_a_task_that_fails_when_its_loader_is_gone_ends_in_its_own_error_alone(engine):
    """A loop over a loader that nobody else has ends by break, and the loader with it; its batch stays in hand."""
    name, told = engine("--batches", "3").name, []

    async def leave():
        async for batch in spdl.attach(name):
            break
        assert batch.ticket == 0
        raise ValueError("enough")

    async def run():
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(repr(context.get("exception"))))
        await asyncio.wait([task := asyncio.ensure_future(leave())])
        await asyncio.sleep(0)  # a turn for its callbacks
        return task.exception()

    assert isinstance(asyncio.run(asyncio.wait_for(run(), 20)), ValueError)
    assert told == []


def test_a_callback_that_asks_for_a_batch_is_told(engine):
    """It is no task, which a batch could be in hand of."""
    async def run(loader):
        told = asyncio.get_running_loop().create_future()

        def ask():
            try:
                loader.__aiter__().__anext__()
            except BaseException as error:
                told.set_result(error)

        asyncio.get_running_loop().call_soon(ask)
        return await told

    with spdl.attach(engine("--batches", "3").name) as loader:
        error = asyncio.run(asyncio.wait_for(run(loader), 20))
    assert isinstance(error, RuntimeError) and "spdl: async for" in str(error) and "want a task" in str(error)


@pytest.mark.parametrize("leases", [1, 4])
def test_a_batch_that_was_awaited_in_another_task_is_in_hand_of_the_one_that_asked(engine, leases):
    """As asyncio.wait_for does before Python 3.12, for each call."""
    one = engine("--batches", "9", "--epochs", "2")

    async def run(loader):
        epoch, seen = loader.__aiter__(), []
        while True:
            try:
                batch = await asyncio.ensure_future(epoch.__anext__())
            except StopAsyncIteration:
                return seen
            seen.append(check(batch))

    with spdl.attach(one.name, max_leases=leases) as loader:
        assert asyncio.run(asyncio.wait_for(run(loader), 20)) == list(range(9))


def test_batches_that_a_task_asks_for_together_it_has_in_hand_together(engine):
    async def run(loader):
        epoch = loader.__aiter__()
        got = []
        for _ in range(3):
            pair = await asyncio.gather(epoch.__anext__(), epoch.__anext__())
            got += sorted(batch.ticket for batch in pair if len(batch["x"]))  # either may be first where none is ready yet
        return got

    with spdl.attach(engine("--slots", "5", "--batches", "6").name, max_leases=2) as loader:
        assert asyncio.run(asyncio.wait_for(run(loader), 20)) == list(range(6))


def test_a_batch_that_a_task_returns_is_its_callers(engine):
    one = engine("--batches", "3")

    async def run(loader):
        batch = await asyncio.ensure_future(loader.__aiter__().__anext__())
        await asyncio.sleep(0.01)
        assert check(batch) == 0 and loader.info.leases == 1
        batch.release()

    with spdl.attach(one.name) as loader:
        asyncio.run(run(loader))


def test_a_task_that_holds_all_itself_is_told(engine):
    one = engine("--batches", "9")

    async def run(loader):
        kept = []
        async for batch in loader:
            kept.append(batch)
            loader._tasks.clear()  # so that the loop does not give it back

    with spdl.attach(one.name, max_leases=3) as loader, pytest.raises(spdl.LeasesExhausted):
        asyncio.run(asyncio.wait_for(run(loader), 20))


def test_what_jax_still_computes_with_is_waited_for_beside_other_tasks(engine, monkeypatch):
    """The event loop runs meanwhile: another task of it lets go of what holds the leases."""
    monkeypatch.setitem(sys.modules, "jax", ModuleType("jax"))
    one = engine("--batches", "9")

    async def run(loader):
        computing, seen = [], []

        async def compute():
            while len(computing) < 3:
                await asyncio.sleep(0)
            await asyncio.sleep(0.05)
            computing.clear()

        ahead = asyncio.ensure_future(compute())
        async for batch in loader:
            seen.append(check(batch))
            if not ahead.done():
                computing.append(batch["x"])
        return seen

    with spdl.attach(one.name, max_leases=3) as loader:
        assert asyncio.run(asyncio.wait_for(run(loader), 20)) == list(range(9))


def test_what_jax_never_lets_go_of_is_refused_in_the_end_of_a_task_too(engine, monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", ModuleType("jax"))
    monkeypatch.setattr(_reader, "JAX_PATIENCE_NS", 50_000_000)
    one, computing = engine("--batches", "9"), []

    async def run(loader):
        async for batch in loader:
            computing.append(batch["x"])

    with spdl.attach(one.name, max_leases=3) as loader:
        with pytest.raises(spdl.LeasesExhausted, match="arrays and tensors of a batch hold it"):
            asyncio.run(asyncio.wait_for(run(loader), 20))
        computing.clear()
