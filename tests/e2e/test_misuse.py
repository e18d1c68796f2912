"""Wrong use from Python on a real ring: named errors, never a crash, and the batches of others are not touched."""

import ctypes
import gc
import threading

import numpy as np
import pytest
import spdl
from engines import PATIENCE, batches_of, describe, eventually, groups, python, reader
from spdl import _c


def raw(loader):
    """libspdl itself, and the loader's handle, for the calls that the package would not make."""
    reader_ = loader._reader
    return reader_.api.free, reader_.handle


def test_releasing_twice_is_stale_and_changes_nothing(serve, attach, pictures):
    """The second release raises Stale; the slot that is meanwhile somebody else's batch stays leased and whole."""
    engine = serve(describe(pictures.path, ring=groups("g")))
    loader = attach(engine.name, "g")
    first = loader.acquire(timeout=PATIENCE)
    first.release()
    others = [loader.acquire(timeout=PATIENCE) for _ in range(4)]
    before = [other["index"].tolist() for other in others]
    with pytest.raises(spdl.Stale, match="given back already"):
        first.release()
    assert [other["index"].tolist() for other in others] == before and loader.info.leases == 4
    for other in others:
        other.release()


def test_a_stale_token_is_refused_by_libspdl_itself(serve, attach, pictures):
    """ctypes, past the package: release with the token of a lease that has ended, and with one that never was."""
    engine = serve(describe(pictures.path, ring=groups("g")))
    loader = attach(engine.name, "g")
    api, handle = raw(loader)
    out = _c.Batch()
    out.struct_size = ctypes.sizeof(_c.Batch)
    assert api.next_in_epoch(handle, _c.ANY_EPOCH, 30 * 10**9, None, ctypes.byref(out)) == _c.OK
    assert api.release(handle, ctypes.byref(out)) == _c.OK
    for _ in range(3):
        assert api.release(handle, ctypes.byref(out)) == spdl.Stale.status
        assert api.done(handle, ctypes.byref(out)) == spdl.Stale.status
    for token, slot in ((0, 0), (2**64 - 1, 0), (out.token, 2**32 - 1), (out.token ^ 1 << 40, out.slot)):
        out.token, out.slot = token, slot
        assert api.release(handle, ctypes.byref(out)) == spdl.Stale.status
    assert sum(batch.rows for batch in loader) == 49


def test_null_and_structs_without_a_size_are_arguments(serve, attach, pictures):
    """ctypes: NULL for every pointer, struct_size 0."""
    engine = serve(describe(pictures.path, ring=groups("g")))
    loader = attach(engine.name, "g")
    api, handle = raw(loader)
    assert api.next_in_epoch(handle, _c.ANY_EPOCH, 0, None, None) == spdl.ArgumentError.status
    assert api.next_in_epoch(None, _c.ANY_EPOCH, 0, None, ctypes.byref(_c.Batch())) < 0
    assert api.next_in_epoch(handle, _c.ANY_EPOCH, 0, None, ctypes.byref(_c.Batch())) == spdl.ArgumentError.status
    assert api.release(handle, None) == spdl.ArgumentError.status
    assert api.attach(None, None, None) == spdl.ArgumentError.status
    assert sum(batch.rows for batch in loader) == 53


def test_use_after_close_is_detached(serve, attach, pictures):
    """Every call on a closed loader raises Detached; what was copied before is fine; closing twice is fine."""
    engine = serve(describe(pictures.path, ring=groups("g")))
    loader = attach(engine.name, "g")
    batch = loader.acquire(timeout=PATIENCE)
    image, kept = batch["image"], batch["image"].copy()
    loader.close()
    loader.close()
    for call in (lambda: loader.acquire(timeout=1), lambda: next(iter(loader)), loader.restart, loader.state_dict, loader.stats,
                 lambda: loader.info, lambda: loader.epoch):
        with pytest.raises(spdl.Detached):
            call()
    np.testing.assert_array_equal(image, kept)  # a view keeps its slot
    del image, batch
    gc.collect()
    assert sorted(b["ticket"] for b in batches_of(reader(engine.name, group="g"))) == list(range(14))


def test_holding_every_batch_is_an_error_with_the_numbers_and_not_a_wait(serve, attach, pictures):
    """LeasesExhausted at once; after one release it goes on."""
    engine = serve(describe(pictures.path, ring=groups("g")))
    loader = attach(engine.name, "g", max_leases=3)
    held = [loader.acquire(timeout=PATIENCE) for _ in range(3)]
    with pytest.raises(spdl.LeasesExhausted, match="3"):
        loader.acquire()
    held.pop().release()
    held.append(loader.acquire(timeout=PATIENCE))
    for batch in held:
        batch.release()


def test_waiting_for_the_end_with_a_batch_in_hand_is_an_error_and_not_a_wait(serve, attach, pictures):
    """Undone at once: the epoch waits for what this thread holds; after release it ends."""
    engine = serve(describe(pictures.path, batch=53, ring=groups("g")))
    loader = attach(engine.name, "g")
    batch = loader.acquire(timeout=PATIENCE)
    with pytest.raises(spdl.Undone):
        loader.acquire()
    batch.release()
    assert loader.acquire(timeout=PATIENCE) is None


def test_a_view_keeps_its_slot_while_the_loop_goes_on(serve, attach, pictures):
    """Views kept over two epochs still show their own pictures; the loop ends in good time all the same."""
    engine = serve(describe(pictures.path, order={"epochs": 2}, ring=groups("g")))
    loader, kept = attach(engine.name, "g", max_leases=4), []
    for _ in range(2):
        for batch in loader:
            if batch.step in (0, 5, 16):
                kept.append((batch["index"], batch["index"].copy(), batch["image"], batch["image"].copy()))
    for index, index_copy, image, image_copy in kept:
        np.testing.assert_array_equal(index, index_copy)
        np.testing.assert_array_equal(image, image_copy)
    del index, image
    kept.clear()
    gc.collect()
    assert loader.info.leases == 0


def test_shared_memory_cannot_be_written_and_private_can(serve, attach, open_, pictures):
    """A service's views are read-only; a child engine's may be changed, as torch users do."""
    engine = serve(describe(pictures.path, ring=groups("g")))
    for batch in attach(engine.name, "g"):
        assert not batch["image"].flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            batch["image"][0] = 0
        with pytest.raises(ValueError):
            batch["image"].flags.writeable = True
    for batch in open_(describe(pictures.path)):
        batch["image"][:] = 7
        assert (batch["image"] == 7).all()


def test_closing_in_another_thread_ends_a_wait(serve, attach, pictures):
    """close() while a thread waits in acquire: that thread gets a named error or a batch, and nothing crashes."""
    engine = serve(describe(pictures.path, ring=groups("a", "b")))
    loader, ended = attach(engine.name, "a"), []

    def wait():
        try:
            while True:
                loader.acquire(timeout=60).release()
        except spdl.SpdlError as error:
            ended.append(type(error))

    thread = threading.Thread(target=wait)
    thread.start()
    while loader.info.waited == 0 and thread.is_alive():
        pass
    loader.close()
    thread.join(30)
    assert ended == [spdl.Detached]


def test_a_loader_that_closed_is_not_taken_for_dead_where_tensors_were_made(serve, pictures):
    """Tensors that died before the close, and after it: when the program ends the engine hears neither of a hang-up nor of a death."""
    engine = serve(describe(pictures.path, order={"shuffle": False}), "--access", "private")
    for before, after in (("batch = tensor = None", ""), ("", "batch = tensor = None")):
        got = python(f"""if 1:
            import numpy, spdl
            loader = spdl.attach({engine.name!r})
            for batch in loader:
                tensor = numpy.from_dlpack(batch.array("image"))
            {before}
            loader.close()
            {after}
        """)
        assert (got.returncode, got.stderr) == (0, "")
    eventually("both to have left", lambda: engine.said().count("detach of consumer") == 2)
    assert "hang-up" not in engine.said() and "death" not in engine.said()


def test_a_consumer_whose_socket_is_closed_loses_no_batch_and_asks_in_vain(serve, pictures):
    """A hang-up is no death: the consumer goes on with batches, keeps what it holds, and is told when it asks the engine for something. What it
    held comes again when its process is dead."""
    engine = serve(describe(pictures.path, ring=groups("g")))
    ended = python("""if 1:
        import os, socket, sys, spdl
        loader = spdl.attach(sys.argv[1], "g")
        held = loader.acquire()
        before = held["index"].tolist()
        for fd in os.listdir("/proc/self/fd"):
            if os.path.exists(f"/proc/self/fd/{fd}") and os.readlink(f"/proc/self/fd/{fd}").startswith("socket:"):
                with socket.socket(fileno=os.dup(int(fd))) as control:
                    control.shutdown(socket.SHUT_RDWR)
        for _ in range(3):
            loader.acquire(timeout=60).release()
        try:
            loader.stats()
        except spdl.EngineLost as error:
            print(error)
        print(held.ticket, held["index"].tolist() == before, flush=True)
        os._exit(0)
    """, engine.name)
    said, held = ended.stdout.splitlines()
    assert "lives and hung up on this reader; attach again" in said and held == "0 True", ended.stderr
    assert "hang-up of consumer 1" in engine.said()
    got = batches_of(reader(engine.name, group="g"))
    assert sorted((b["ticket"], b["attempts"]) for b in got) == [(0, 2)] + [(ticket, 1) for ticket in range(4, 14)]


def test_an_interpreter_that_ends_with_views_alive_does_not_crash(serve, pictures):
    """Loader, batch, views and a DLPack consumer alive at exit: exit code 0, and the engine has its slots back."""
    engine = serve(describe(pictures.path, ring=groups("g", access="private")))
    script = """if 1:
        import sys, numpy, spdl
        loader = spdl.attach(sys.argv[1], "g")
        batches = [loader.acquire() for _ in range(3)]
        views = [batch["image"] for batch in batches]
        other = numpy.from_dlpack(batches[0].array("index"))
        sys.view = views[1][0, :, 0]
    """
    ended = python(script, engine.name)
    assert (ended.returncode, ended.stderr) == (0, "")
    got = batches_of(reader(engine.name, group="g"))
    assert sorted(b["ticket"] for b in got) == list(range(14))
