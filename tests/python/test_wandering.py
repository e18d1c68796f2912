"""Loops that go on in other threads: what a thread has in hand and nobody can use any more holds no epoch's end back."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import spdl
from conftest import check, together
from spdl import _reader

BATCHES = 40


@pytest.fixture
def threads():
    """Eight threads, each behind a function that runs another in it and returns what that does: more of them than a loader may hold batches."""
    pools = [ThreadPoolExecutor(1) for _ in range(8)]
    yield [lambda function, *arguments, pool=pool: pool.submit(function, *arguments).result(60) for pool in pools]
    for pool in pools:
        pool.shutdown()


def batches(loader):
    for batch in loader:
        yield check(batch)


def numbered(loader):
    for number, batch in enumerate(loader):
        assert number == check(batch) % BATCHES
        yield batch.ticket


def views(loader):
    for batch in loader:
        yield batch["x"]


def through_data_loader(loader):
    for x in spdl.DataLoader(loader, "x", tensors="numpy"):
        yield x


@pytest.mark.parametrize("loop", [batches, numbered, views, through_data_loader])
def test_a_generator_goes_on_in_other_threads(engine, threads, loop):
    """As tf.data takes from it, and Keras, whose main thread looks at the first batch. The last view is held over the question for more."""
    pytest.importorskip("numpy")
    one = engine("--batches", str(BATCHES), "--slots", "8", "--epochs", "3")
    with spdl.attach(one.name, max_leases=3) as loader:
        for epoch in range(3):
            generator, seen = loop(loader), []
            for step in range(BATCHES):
                got = threads[step % 8](next, generator)
                seen.append(got if isinstance(got, int) else int(got.view("<i8").flat[0]))
            assert seen == list(range(BATCHES * epoch, BATCHES * (epoch + 1)))
            assert threads[3](next, generator, "the end") == "the end"
        del got
    group, = one.stop()
    assert (group["completed"], group["redelivered"], group["violations"]) == (3 * BATCHES, 0, 0)


def test_an_iterator_goes_on_in_other_threads(engine, threads):
    one = engine("--batches", str(BATCHES), "--slots", "8", "--epochs", "1")
    with spdl.attach(one.name, max_leases=3) as loader:
        epoch = iter(loader)
        assert [threads[step % 8](lambda: check(next(epoch))) for step in range(BATCHES)] == list(range(BATCHES))
        assert threads[0](next, epoch, None) is None


def test_a_generator_that_was_dropped_in_another_thread_holds_nothing_back(engine, threads):
    one = engine("--batches", str(BATCHES), "--slots", "8", "--epochs", "1")
    with spdl.attach(one.name, max_leases=3) as loader:
        for thread in range(5):
            generator = batches(loader)
            assert threads[thread](next, generator) == thread
            generator.close()
        assert [check(batch) for batch in loader] == list(range(5, BATCHES))


def test_what_another_thread_can_still_use_stays_in_its_hand(engine, threads):
    one = engine("--batches", str(BATCHES), "--slots", "8", "--epochs", "1")
    with spdl.attach(one.name, max_leases=4) as loader:
        epoch, kept = iter(loader), {}
        for thread in range(3):
            threads[thread](lambda mine=thread: kept.update({mine: next(epoch)}))
        assert [check(kept[thread]) for thread in range(3)] == [0, 1, 2], "none has ended"
        rest = [check(batch) for batch in (threads[3](next, epoch) for _ in range(BATCHES - 4))]
        last = threads[3](next, epoch)
        ended = []
        asking = threading.Thread(target=lambda: ended.append(threads[3](next, epoch, None)))
        asking.start()
        asking.join(0.5)
        assert not ended, "three batches are in use"
        del kept[0]
        kept.pop(1).release()
        assert threads[2](next, epoch, None) is None and kept[2].ended
        asking.join(60)
        assert ended == [None] and last.ended and rest == list(range(3, BATCHES - 1))
    group, = one.stop()
    assert (group["completed"], group["redelivered"]) == (BATCHES, 0)


def test_a_view_of_another_loop_keeps_its_batch_in_hand(mock, threads):
    """What that thread computes with it is not completed yet."""
    with spdl.open("x") as loader:
        kept = {}
        threads[0](lambda: kept.update(view=next(iter(loader)).array("image")))
        loader._shelf.tidy()
        assert mock.counts.done == 0
        kept.clear()
        loader._shelf.tidy()
        assert (mock.counts.done + mock.counts.released, mock.counts.leases) == (1, 0)


def test_a_view_that_a_stage_may_write_stays_in_its_threads_hand(mock, threads):
    mock.lib.mock_set_stage(1)
    with spdl.open("x") as worker:
        epoch, kept = iter(worker), {}
        threads[0](lambda: kept.update(view=next(epoch).array("image")))
        threads[1](lambda: next(epoch).ticket)
        threads[2](lambda: next(epoch).ticket)
        assert (mock.counts.done, mock.counts.leases) == (1, 2), "the second is handed on, the first may be written"
        kept.clear()
        threads[1](lambda: next(epoch).ticket)
        assert (mock.counts.done, mock.counts.leases) == (3, 1)


def test_threads_with_loops_of_their_own_and_one_that_wanders(engine, threads):
    """Every batch comes once, though each thread also lets go of what the others' wandering loops left."""
    one = engine("--batches", "2000", "--slots", "32", "--bytes", "64", "--epochs", "1")
    with spdl.attach(one.name, max_leases=16) as loader:
        seen, shared, turn = [], iter(loader), threading.Lock()

        def own():
            seen.extend(check(batch) for batch in loader)

        def share():
            while True:
                with turn:
                    ticket = next((check(batch) for batch in shared), None)
                if ticket is None:
                    return
                seen.append(ticket)

        together(own, own, share, share, share)
        assert sorted(seen) == list(range(2000))
    group, = one.stop()
    assert (group["completed"], group["redelivered"], group["violations"]) == (2000, 0, 0)


def test_who_waits_for_another_threads_batch_is_told(engine, threads, monkeypatch):
    monkeypatch.setattr(_reader, "WARN_NS", 200_000_000)
    one = engine("--batches", "2", "--slots", "6", "--epochs", "1")
    with spdl.attach(one.name, max_leases=3) as loader:
        epoch, kept = iter(loader), []
        threads[0](lambda: kept.append(next(epoch)))
        threading.Timer(1, lambda: kept[0].release()).start()
        with pytest.warns(RuntimeWarning, match=r'has waited for \d+ s for a batch; thread "ThreadPool\S+" has ticket 0 in hand\. A batch is done') as said:
            assert [check(batch) for batch in epoch] == [1]
        assert [warning.filename for warning in said] == [__file__]


def test_who_waits_while_others_hold_all_is_told(engine, threads, monkeypatch):
    monkeypatch.setattr(_reader, "WARN_NS", 200_000_000)
    one = engine("--batches", "4", "--slots", "6", "--epochs", "1")
    with spdl.attach(one.name, max_leases=2) as loader:
        kept = [threads[0](lambda: loader.acquire().array("x")) for _ in range(2)]
        threading.Timer(1, kept.clear).start()
        with pytest.warns(RuntimeWarning, match=r"; all 2 that may be held at a time \(max_leases\) are, by views or by other threads; copy\(\) what is kept"):
            assert loader.acquire().ticket == 2
