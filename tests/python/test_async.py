"""async for, over the real library."""

from __future__ import annotations

import asyncio

import pytest
import spdl
from conftest import check


def test_async_for_is_one_epoch(engine):
    one = engine("--batches", "50", "--epochs", "2")

    async def consume(loader):
        first = [check(batch) async for batch in loader]
        second = [check(batch) async for batch in loader]
        return first, second, [batch async for batch in loader]

    with spdl.attach(one.name) as loader:
        assert asyncio.run(consume(loader)) == (list(range(50)), list(range(50, 100)), [])


def test_the_event_loop_runs_while_a_task_waits(engine):
    """A slow engine: the other task gets its turns, and the descriptor, not polling, brings the batches."""
    one = engine("--batches", "10", "--rate", "50")
    turns = 0

    async def tick():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.005)

    async def consume(loader):
        ticking = asyncio.ensure_future(tick())
        seen = [check(batch) async for batch in loader]
        ticking.cancel()
        return seen

    with spdl.attach(one.name) as loader:
        assert asyncio.run(consume(loader)) == list(range(10))
    assert turns > 10


def test_tasks_share_a_loader_and_each_batch_goes_to_one(engine):
    one = engine("--batches", "100", "--rate", "1000", "--slots", "10")

    async def consume(loader, seen):
        async for batch in loader:
            seen.append(check(batch))
            await asyncio.sleep(0)

    async def run(loader):
        seen = []
        await asyncio.gather(*[consume(loader, seen) for _ in range(3)])
        return seen

    with spdl.attach(one.name, max_leases=6, handoff=True) as loader:
        assert sorted(asyncio.run(run(loader))) == list(range(100))


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


def test_cancelling_a_wait_loses_nothing(engine):
    one = engine("--batches", "60", "--rate", "300")

    async def run(loader):
        seen, cancelled = [], 0
        epoch = loader.__aiter__()
        while True:
            try:
                batch = await asyncio.wait_for(epoch.__anext__(), 0.002)
            except asyncio.TimeoutError:
                cancelled += 1
            except StopAsyncIteration:
                return seen, cancelled
            else:
                seen.append(batch.ticket)
                batch.release()

    with spdl.attach(one.name) as loader:
        seen, cancelled = asyncio.run(run(loader))
    assert seen == list(range(60)) and cancelled > 0


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
