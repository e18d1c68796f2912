"""Many threads over one loader: none leans on an interpreter lock that others may have, or may not."""

from __future__ import annotations

import collections
import gc
import itertools
import sys
import threading
import time

import pytest
import spdl
from conftest import check, together
from spdl import _dlpack

THREADS = 8


@pytest.fixture(autouse=True)
def eager():
    """With an interpreter lock threads change places as often as they can; without one this is nothing."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def leases(loader: spdl.Loader) -> int:
    """What is held, once the interpreter has let go of what nobody has."""
    gc.collect()
    return loader.info.leases


def test_threads_iterate_one_loader_and_views_die_in_others(engine):
    """Every batch goes to one thread, whole; a view keeps its slot until it dies, wherever that is."""
    one = engine("--batches", "2000", "--slots", "64", "--bytes", "64")
    seen, views = collections.deque(), [collections.deque(maxlen=1) for _ in range(THREADS)]
    with spdl.attach(one.name, max_leases=48) as loader:

        def consume(mine: int) -> None:
            kept = collections.deque()
            for batch in loader:
                ticket = check(batch)
                seen.append(ticket)
                kept.append((ticket, batch.array("x").memoryview()))
                while len(kept) > 2:
                    views[ticket % THREADS].append(kept.popleft())
                while views[mine]:
                    ticket, view = views[mine].popleft()
                    assert view.tobytes() == ticket.to_bytes(8, "little") * (view.nbytes // 8)
                    del view

        together(*[lambda mine=mine: consume(mine) for mine in range(THREADS)])
        for left in views:
            left.clear()
        assert leases(loader) == 0
    assert sorted(seen) == list(range(2000))
    group, = one.stop()
    assert (group["completed"], group["redelivered"], group["violations"]) == (2000, 0, 0)


def test_a_loader_is_closed_while_threads_are_in_all_its_calls(engine):
    """Each call works or says Detached; what is leased stays as it is; the last lease lets go of the handle."""
    one = engine("--batches", "100000", "--epochs", "0", "--slots", "64", "--bytes", "64", "--groups", "train")
    for _ in range(20):
        loader = spdl.attach(one.name, "train", max_leases=32)
        begun, kept = threading.Barrier(THREADS + 1), collections.deque(maxlen=8)

        def use(number: int) -> None:
            begun.wait(60)
            try:
                for count in itertools.count():
                    batch = next(iter(loader)) if number % 2 else loader.acquire()
                    kept.append((batch.ticket, batch.array("x").memoryview()))
                    if number % 2 == 0:
                        batch.done()
                    if count % 16 == number:
                        loader.info, loader.state
            except (spdl.Detached, spdl.LeasesExhausted, StopIteration):
                pass

        def close() -> None:
            begun.wait(60)
            while not kept:
                time.sleep(0.001)
            loader.close()

        together(close, *[lambda number=number: use(number) for number in range(THREADS)])
        assert loader.closed
        for ticket, view in kept:
            assert view.tobytes() == ticket.to_bytes(8, "little") * (view.nbytes // 8)
        kept.clear()
        del loader, use, close, view
        gc.collect()
    group, = one.stop()
    assert group["violations"] == 0


def test_a_batch_that_one_thread_took_is_released_by_another_at_once(engine):
    """No view lives, so release() finds none: not even those that the other thread has made and dropped."""
    one = engine("--slots", "8")
    with spdl.attach(one.name) as loader:
        held, taken, released = [], threading.Event(), threading.Event()

        def take() -> None:
            held.append(loader.acquire())
            held[0].array("x").memoryview()
            taken.set()
            assert released.wait(60)

        def release() -> None:
            assert taken.wait(60)
            view = held[0].array("x").memoryview()
            with pytest.raises(BufferError, match="views of it are alive"):
                held[0].release()
            del view
            held[0].release()
            assert loader.info.leases == 0
            released.set()

        together(take, release)


def test_what_others_drop_comes_back_though_the_thread_that_took_it_does_not_run(engine):
    """A thread may take every batch it can, hand them on and wait for those who use them: they take further ones."""
    one = engine("--slots", "8", "--batches", "100")
    with spdl.attach(one.name, max_leases=3, handoff=True) as loader:
        taken, worker_done, go_on = [], threading.Event(), threading.Event()

        def take() -> None:
            taken.extend(loader.acquire() for _ in range(3))
            go_on.set()
            assert worker_done.wait(60), "the worker waits for what it has dropped itself"

        def work() -> None:
            assert go_on.wait(60)
            while taken:
                check(taken.pop())
            for ticket in range(3, 12):
                assert check(loader.acquire()) == ticket
            worker_done.set()

        together(take, work)


def test_tensors_die_in_other_threads_than_they_were_made_in(engine):
    """Capsules, consumed and not, swept by every thread: none is let go of while its tensor lives, and all are after it."""
    numpy = pytest.importorskip("numpy")
    one = engine("--batches", "800", "--slots", "64", "--bytes", "64", "--access", "private")
    passed = [collections.deque(maxlen=2) for _ in range(THREADS)]
    with spdl.attach(one.name, max_leases=48) as loader:

        def consume(mine: int) -> None:
            for batch in loader:
                array, ticket = batch.array("x"), batch.ticket
                passed[ticket % THREADS].append((ticket, numpy.from_dlpack(array)))
                array.__dlpack__()  # nobody consumes this one
                while len(passed[mine]) > 1:
                    ticket, tensor = passed[mine].popleft()
                    assert tensor.tobytes() == ticket.to_bytes(8, "little") * (tensor.nbytes // 8)
                    del tensor

        together(*[lambda mine=mine: consume(mine) for mine in range(THREADS)])
        for left in passed:
            left.clear()
        assert leases(loader) == 0
    _dlpack.sweep()
    assert not _dlpack.live
