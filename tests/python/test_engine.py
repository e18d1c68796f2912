"""The package over the real library, against the pattern engine in another process."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import spdl
from conftest import ROOT, check, together


# ---- delivery


@pytest.mark.parametrize("backing", ["memfd", "posix"])
@pytest.mark.parametrize("access", ["shared", "private"])
def test_every_batch_of_every_epoch_arrives_whole_and_in_order(engine, backing, access):
    one = engine("--backing", backing, "--access", access, "--batches", "40", "--epochs", "3", "--bytes", "4096")
    with spdl.attach(one.name) as loader:
        assert len(loader) == 40 and loader.info.access == access and loader.classes == ["a", "b"]
        epochs = [[check(batch) for batch in epoch] for epoch in loader.epochs()]
    assert epochs == [list(range(e * 40, e * 40 + 40)) for e in range(3)]
    group, = one.stop()
    assert (group["completed"], group["redelivered"], group["violations"]) == (120, 0, 0)


def test_views_are_read_only_on_a_shared_ring_and_writable_on_a_private_one(engine):
    pytest.importorskip("numpy")
    shared, private = engine("--access", "shared"), engine("--access", "private")
    with spdl.attach(shared.name) as loader, loader.acquire() as batch:
        with pytest.raises(ValueError):
            batch["x"].flags.writeable = True
        with pytest.raises(BufferError, match="read-only"):  # to a consumer older than DLPack 1.0
            batch.array("x").__dlpack__()
    with spdl.attach(private.name) as loader, loader.acquire() as batch:
        batch["x"][:] = 5
        assert batch["x"].sum() == 5 * batch["x"].size


def test_batches_pass_while_views_of_earlier_ones_live(engine):
    """A view keeps its own slot and no other; the epoch ends although views of it live."""
    pytest.importorskip("numpy")
    one = engine("--batches", "30", "--slots", "8")
    with spdl.attach(one.name, max_leases=4) as loader:
        kept = []
        for batch in loader:
            kept = [*kept, batch["x"]][-2:]
            assert loader.info.leases <= 3
        assert [int(x.view("u8")[0, 0]) for x in kept] == [28, 29] and loader.epoch == 1
        assert loader.info.leases == 2
        kept.clear()
        assert loader.info.leases == 0


def test_keeping_too_many_views_is_refused_with_the_numbers(engine):
    one = engine("--slots", "8")
    with spdl.attach(one.name, max_leases=3) as loader:
        kept = []
        with pytest.raises(spdl.LeasesExhausted, match="all 3 batches .* raise max_leases"):
            for batch in loader:
                kept.append(batch.array("x"))
        kept.clear()
        assert next(iter(loader)).ticket == 3


def test_waiting_for_an_own_undone_batch_is_refused(engine):
    one = engine("--batches", "3", "--epochs", "2")
    with spdl.attach(one.name) as loader:
        held = loader.acquire()
        with pytest.raises(spdl.Undone):
            for batch in loader:
                pass
        held.done()
        assert list(loader) == [] and loader.epoch == 1


def test_the_next_epoch_goes_on_after_a_break_and_restart_begins_it_afresh(child):
    with child("--batches", "10", "--epochs", "0") as loader:
        for batch in loader:
            if batch.ticket == 3:
                break
        assert [batch.ticket for batch in loader] == [4, 5, 6, 7, 8, 9]
        next(iter(loader))
        loader.restart()
        assert [batch.ticket for batch in loader] == list(range(20, 30))


def test_a_resumed_loader_delivers_what_was_not_completed(child):
    with child("--batches", "10", "--epochs", "2") as loader:
        for batch in loader:
            if batch.ticket == 6:
                break
        state = loader.state_dict()
        uncounted = loader.state_dict(count_held=False)
    for resumed, first in [(state, 7), (uncounted, 6)]:
        with child("--batches", "10", "--epochs", "2", state=resumed) as loader:
            assert [[b.ticket for b in epoch] for epoch in loader.epochs()] == [list(range(first, 10)), list(range(10, 20))]
    with child("--batches", "10", "--epochs", "2") as loader:
        next(iter(loader))
        loader.load_state_dict(state)
        assert [batch.ticket for batch in loader] == [7, 8, 9]


@pytest.mark.parametrize("state", ["", "{}", [], 3])
def test_what_is_no_state_does_not_begin_at_the_start(state):
    with pytest.raises(spdl.StateError, match="open: state is .*, want the dict that state_dict"):
        spdl.open("/no/such", state=state)


# ---- children


def test_a_child_engine_ends_with_its_loader(child):
    with child("--batches", "5") as loader:
        pid = loader.info.engine_pid
        assert [check(batch) for batch in loader] == [0, 1, 2, 3, 4]
        os.kill(pid, 0)
    deadline = time.monotonic() + 60
    while os.path.exists(f"/proc/{pid}"):
        assert time.monotonic() < deadline, "the engine is still there"
        time.sleep(0.01)


def test_a_refused_description_raises_the_engines_reason(child):
    with pytest.raises(spdl.SpecError, match='"refuse.yaml": refused, as its name asks'):
        child(spec="refuse.yaml")


def test_an_engine_that_cannot_start_is_named(library, tmp_path):
    with pytest.raises(spdl.EngineStartError, match=str(tmp_path)):
        spdl.open("x", engine=tmp_path / "nothing")
    with pytest.raises(spdl.EngineStartError):
        spdl.open("x", engine="/bin/true")


def test_a_loader_dropped_in_the_middle_leaves_no_engine(child):
    for batch in child("--batches", "50"):
        break
    batch.release()


# ---- refusals


def test_attach_refuses_by_name(engine):
    one = engine("--groups", "train:lanes", "--lanes", "2", "--slots", "8")
    with pytest.raises(spdl.NotFound, match="nobody"):
        spdl.attach("nobody", timeout=0.05)
    with pytest.raises(spdl.NotFound):
        spdl.attach(f"{one.name}/val")
    with pytest.raises(spdl.SpdlError) as caught:
        spdl.attach(one.name, lane=9)
    assert type(caught.value) in (spdl.NotFound, spdl.ArgumentError, spdl.Busy)
    with spdl.attach(one.name, lane=1):
        with pytest.raises(spdl.Busy, match="lane 1"):
            spdl.attach(one.name, lane=1, max_leases=1)
        with pytest.raises(spdl.Busy, match="7 leases asked for, 2 of 6 free"):
            spdl.attach(one.name, lane=0, max_leases=7)


def test_lanes_of_a_group_are_disjoint(engine):
    one = engine("--groups", "train:lanes", "--lanes", "2", "--batches", "20", "--slots", "12")
    seen = {}

    def consume(lane):
        with spdl.attach(one.name, group="train", lane=lane) as loader:
            assert loader.info.rank == lane and len(loader) == 20
            seen[lane] = [check(batch) for batch in loader]

    together(lambda: consume(0), lambda: consume(1))
    assert seen == {0: list(range(0, 40, 2)), 1: list(range(1, 40, 2))}


# ---- threads


def test_threads_share_a_loader_and_each_batch_goes_to_one(engine):
    one = engine("--batches", "300", "--slots", "10")
    seen, lock = [], threading.Lock()
    with spdl.attach(one.name, max_leases=8) as loader:

        def consume():
            while (batch := loader.acquire()) is not None:
                with batch:
                    ticket = check(batch)
                with lock:
                    seen.append(ticket)

        together(*[consume] * 4)  # one is told of the end of the epoch, the others of the end of the data
    assert sorted(seen) == list(range(300))


@pytest.mark.parametrize("shared", [False, True])
def test_loops_of_threads_over_an_epoch_all_end_with_it(engine, shared):
    """Each thread has a loop of its own, or all share one iterator. Another epoch is ready behind."""
    one = engine("--batches", "200", "--slots", "10", "--epochs", "2")
    seen, in_the_epoch = [], threading.Barrier(4)
    with spdl.attach(one.name, max_leases=8) as loader:
        epoch = iter(loader)

        def consume():
            loop = epoch if shared else iter(loader)
            seen.append(check(next(loop)))  # the first batch settles which epoch a loop is of
            in_the_epoch.wait()
            seen.extend(check(batch) for batch in loop)

        together(*[consume] * 4)
        assert sorted(seen) == list(range(200)) and loader.epoch == 1
        assert not shared or list(epoch) == []
        assert next(iter(loader)).ticket == 200


def test_a_loop_ends_where_its_epoch_is_left(engine):
    one = engine("--batches", "10", "--epochs", "2")
    with spdl.attach(one.name) as loader:
        for batch in loader:
            if batch.ticket == 3:
                loader.restart()
        assert batch.ticket == 3 and loader.epoch == 1
        assert [batch.ticket for batch in loader] == list(range(10, 20))


def test_another_thread_may_give_back_what_one_acquires(engine):
    """With handoff, acquire waits for the other thread instead of refusing."""
    import queue

    one = engine("--batches", "200", "--slots", "8")
    done, seen = queue.Queue(), []

    def acquire():
        while (batch := loader.acquire()) is not None:
            done.put(batch)
            del batch
        done.put(None)

    def give_back():
        while (batch := done.get()) is not None:
            seen.append(check(batch))
            batch.release()

    with spdl.attach(one.name, max_leases=2, handoff=True) as loader:
        together(acquire, give_back)
    assert seen == list(range(200))


def test_closing_ends_the_wait_of_another_thread(engine):
    one = engine("--rate", "0.01")
    loader = spdl.attach(one.name)

    def wait():
        with pytest.raises(spdl.Detached):
            loader.acquire()

    def close():
        while not loader._reader._calls:  # until the other waits
            time.sleep(0.01)
        loader.close()

    together(wait, close)


# ---- the engine's end


def test_the_engines_death_is_raised_and_leased_batches_stay_readable(engine):
    one = engine("--rate", "20", "--batches", "1000")
    with spdl.attach(one.name) as loader:
        batch = loader.acquire()
        one.kill()
        with pytest.raises(spdl.EngineLost, match="died; leased batches stay readable"):
            while loader.acquire() is not None:
                pass
        assert check(batch) == 0 and loader.state == "lost"
        batch.release()


def test_an_engine_that_was_stopped_says_so(engine):
    one = engine("--rate", "1")
    with spdl.attach(one.name) as loader:
        threading.Timer(0.1, one.process.terminate).start()
        with pytest.raises(spdl.EngineStopped, match="was stopped"):
            for batch in loader:
                pass


def test_what_a_killed_consumer_held_is_delivered_again(engine):
    one = engine("--groups", "train", "--batches", "20")
    script = f"""
import spdl, time
loader = spdl.attach({one.name!r}, group="train", max_leases=1)
batch = loader.acquire()
print(batch.ticket, flush=True)
time.sleep(100)
"""
    holder = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "PYTHONPATH": str(ROOT / "clients/python")})
    held = int(holder.stdout.readline())
    holder.kill()
    holder.wait()
    holder.stdout.close()
    with spdl.attach(one.name, group="train", max_leases=1) as loader:
        attempts = {check(batch): batch.attempts for batch in loader}
    assert sorted(attempts) == list(range(20))
    assert {t for t, n in attempts.items() if n > 1} == {held}


# ---- signals


@pytest.mark.parametrize("timeout", [None, 3600])
@pytest.mark.parametrize("usual_ns", [0, 10_000_000_000])
def test_ctrl_c_during_a_wait_is_raised_after_one_slice(engine, timeout, usual_ns):
    """No call into the library waits for longer than 50 ms at once: a Ctrl-C is seen within 100 ms on any machine that runs us,
    however long batches have taken of late."""
    one = engine("--rate", "0.01")
    asked = []
    with spdl.attach(one.name) as loader:
        reader = loader._reader
        following = reader._next_waiting

        def waits(handle, epoch, timeout_ns, used, raw):
            asked.append(timeout_ns)
            return following(handle, epoch, timeout_ns, used, raw)

        reader._next_waiting = waits
        reader._usual_ns = usual_ns

        def interrupt(before):
            while len(asked) == before:  # until the other waits
                time.sleep(0.001)
            os.kill(os.getpid(), signal.SIGINT)

        for _ in range(15):
            thread = threading.Thread(target=interrupt, args=(len(asked),))
            thread.start()
            with pytest.raises(KeyboardInterrupt):
                loader.acquire(timeout=timeout)
            thread.join()
    assert len(asked) >= 15 and 0 < min(asked) <= max(asked) <= 50_000_000


def test_ctrl_c_during_a_wait_loses_no_batch(engine):
    """Signals that arrive together with batches: every ticket is still handed out, in order."""
    one = engine("--rate", "200", "--batches", "150")
    seen, interrupts = [], 0

    def interrupt(_, frame):
        if frame.f_code.co_name in ("_wait", "call") and frame.f_code.co_filename.endswith("_reader.py"):
            raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.004, 0.0051)
    try:
        with spdl.attach(one.name) as loader:
            while True:
                try:
                    batch = loader.acquire()
                except KeyboardInterrupt:
                    interrupts += 1
                    continue
                if batch is None:
                    break
                seen.append(batch.ticket)
                batch.release()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert interrupts > 5 and seen == list(range(150))


# ---- leaks


def test_attaching_and_leaving_100_times_leaves_nothing(engine):
    one = engine("--epochs", "0", "--backing", "posix", "--slots", "16")

    def turn():
        with spdl.attach(one.name) as loader:
            next(iter(loader)).array("x")

    for _ in itertools.repeat(None, 10):
        turn()
    maps = len(open("/proc/self/maps").readlines())
    for _ in itertools.repeat(None, 100):
        turn()
    assert len(open("/proc/self/maps").readlines()) <= maps + 5
