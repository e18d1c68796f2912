"""Loader: epochs, the batch in hand, state, life."""

from __future__ import annotations

import gc
import json
import pickle
import sys
import threading
import time
from collections import UserList
from pathlib import Path
from types import MappingProxyType, ModuleType, SimpleNamespace

import pytest
import spdl
from spdl import _c, _dlpack, _reader


def tickets(batches):
    return [batch.ticket for batch in batches]


# ---- epochs


def test_a_for_loop_is_one_epoch(loader):
    assert len(loader) == 5
    assert tickets(loader) == [0, 1, 2, 3, 4]
    assert tickets(loader) == [5, 6, 7, 8, 9]
    assert loader.epoch == 2


def test_a_loader_is_not_made_of_a_spec():
    with pytest.raises(TypeError, match=r"got str; spdl\.open\(spec\) and spdl\.attach\(name\) make loaders"):
        spdl.Loader("spec.yaml")


def test_after_the_last_epoch_every_loop_is_empty_and_warns(mock):
    mock.lib.mock_set_epochs(2)
    with spdl.open("x") as loader:
        assert [tickets(epoch) for epoch in loader.epochs()] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
        with pytest.warns(RuntimeWarning, match="empty, as its 2 epochs are over; more come without order.epochs") as warned:
            assert tickets(loader) == []
        assert warned[0].filename == __file__
        assert list(loader.epochs()) == [] and loader.acquire() is None


def test_an_iterator_at_its_end_stays_there(loader):
    epoch = iter(loader)
    assert len(tickets(epoch)) == 5
    assert tickets(epoch) == [] and loader.epoch == 1
    with pytest.raises(StopIteration):
        next(epoch)


def test_after_the_last_batch_the_next_loop_is_the_next_epoch(loader):
    """Also where nobody asked what comes behind it; a loop that is there already ends all the same."""
    for epoch in range(3):
        assert [batch.ticket for _, batch in zip(range(len(loader)), loader)] == list(range(5 * epoch, 5 * epoch + 5))
    kept = iter(loader)
    assert [next(kept)["label"][0] for _ in range(5)][-1] == 3 * 19, "with a view of it in hand"
    view = loader._shelf.hands.mine.batch["label"]
    assert next(iter(loader)).ticket == 20 and view[0] == 3 * 19 and tickets(kept) == []


def test_after_a_break_the_next_loop_goes_on(mock, loader):
    for batch in loader:
        if batch.ticket == 1:
            break
    assert batch["label"].tolist() == [3, 4, 5], "the batch in hand is still there"
    assert tickets(loader) == [2, 3, 4]
    assert batch.ended


def test_the_next_batch_ends_the_one_before(mock, loader):
    epoch = iter(loader)
    first = next(epoch)
    assert mock.counts.leases == 1
    second = next(epoch)
    assert first.ended and not second.ended and mock.counts.leases == 1
    with pytest.raises(spdl.Stale):
        first["image"]


def test_the_next_batch_marks_the_one_before_done_while_views_of_it_live(mock, loader):
    epoch = iter(loader)
    view = next(epoch)["image"]
    next(epoch)
    assert (mock.counts.done, mock.counts.leases) == (1, 2)
    assert view[0, 0, 0, 0] == 0


def test_the_loop_of_a_temporary_loader_keeps_it_open(mock):
    assert tickets(spdl.open("x")) == [0, 1, 2, 3, 4]
    assert mock.counts.readers == 0


def test_each_thread_has_a_batch_in_hand_of_its_own(loader):
    mine = next(iter(loader))
    seen = []
    thread = threading.Thread(target=lambda: seen.append(next(iter(loader)).ticket))
    thread.start()
    thread.join()
    assert seen == [1] and not mine.ended and mine["label"].tolist() == [0, 1, 2]


# ---- acquire


def test_acquire_hands_out_batches_that_last(mock, loader):
    first, second = loader.acquire(), loader.acquire()
    assert first["label"].tolist() == [0, 1, 2] and second["label"].tolist() == [3, 4, 5]
    first.release()
    second.release()
    while loader.acquire() is not None:
        pass
    assert loader.epoch == 1


def test_acquire_raises_timeout_when_nothing_is_ready(mock, loader):
    mock.fail("spdl_acquire", _c.TIMEOUT)
    with pytest.raises(spdl.Timeout, match="no batch was ready within 0 s"):
        loader.acquire(timeout=0)
    mock.fail("spdl_acquire", _c.TIMEOUT)
    assert loader.acquire(timeout=10).ticket == 0, "a positive timeout waits for the next"


def test_holding_every_batch_is_refused_with_the_remedy(loader):
    held = [loader.acquire() for _ in range(4)]
    with pytest.raises(spdl.LeasesExhausted, match=r"; arrays and tensors of a batch hold it: drop them, or keep copies \(batch.copy"):
        loader.acquire()
    held.pop().release()
    assert loader.acquire().ticket == 4


def test_what_jax_still_computes_with_is_waited_for(loader, monkeypatch):
    """It lets go of arrays on threads of its own, after the calls that took them; nothing else does, so nobody else waits."""
    monkeypatch.setitem(sys.modules, "jax", ModuleType("jax"))
    held = [loader.acquire() for _ in range(4)]
    computing = threading.Timer(0.2, held.clear)
    computing.start()
    assert loader.acquire().ticket == 4
    computing.join()


def test_what_jax_never_lets_go_of_is_refused_in_the_end(loader, monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", ModuleType("jax"))
    held = [loader.acquire() for _ in range(4)]
    with pytest.raises(spdl.LeasesExhausted):
        loader.acquire(timeout=0.05)
    monkeypatch.setattr(_reader, "JAX_PATIENCE_NS", 0)
    with pytest.raises(spdl.LeasesExhausted):
        loader.acquire()
    assert [batch.ticket for batch in held] == [0, 1, 2, 3]


def test_views_in_reference_cycles_do_not_exhaust_the_leases(mock, loader):
    """The collector is asked before a refusal."""
    gc.disable()
    try:
        for _ in range(4):
            cycle = [loader.acquire()["image"]]
            cycle.append(cycle)
            del cycle
        assert mock.counts.leases == 4
        assert loader.acquire().ticket == 4
    finally:
        gc.enable()


@pytest.mark.parametrize("take", [lambda loader: loader.acquire().ticket, lambda loader: next(iter(loader)).ticket])
def test_leases_that_came_back_meanwhile_are_no_end_of_the_epoch(loader, take):
    """Every lease was held, then one was not, and no batch is ready: that is a wait like any other."""
    answers, acquire = iter([_c.E_LEASES, _c.TIMEOUT]), loader._reader._next
    loader._reader._next = lambda *arguments: next(answers, None) or acquire(*arguments)
    assert take(loader) == 0 and next(answers, None) is None


def test_waiting_for_an_own_undone_batch_is_refused(loader):
    held = loader.acquire()
    with pytest.raises(spdl.Undone):
        tickets(loader)
    held.done()
    assert tickets(loader) == [] and loader.epoch == 1


def test_a_batch_claimed_by_an_interrupted_call_is_not_lost(mock, loader):
    """Ctrl-C may be raised right after the claim, before Python has a name for the batch."""
    acquire = loader._reader._next

    def interrupted(*arguments):
        acquire(*arguments)
        raise KeyboardInterrupt

    loader._reader._next = interrupted
    with pytest.raises(KeyboardInterrupt):
        loader.acquire()
    loader._reader._next = acquire
    assert mock.counts.leases == 1
    assert loader.acquire().ticket == 0 and loader.acquire().ticket == 1


def test_a_batch_claimed_by_an_interrupted_call_is_given_back_at_close(mock):
    loader = spdl.open("x")
    acquire = loader._reader._next

    def interrupted(*arguments):
        acquire(*arguments)
        raise KeyboardInterrupt

    loader._reader._next = interrupted
    with pytest.raises(KeyboardInterrupt):
        loader.acquire()
    loader.close()
    assert (mock.counts.readers, mock.counts.leases) == (0, 0)


def test_a_batch_swapped_in_by_an_interrupted_call_is_not_lost(mock, loader):
    epoch = iter(loader)
    next(epoch)
    swap = loader._reader._next
    loader._reader._next = interrupted_after(swap)
    with pytest.raises(KeyboardInterrupt):
        next(epoch)
    loader._reader._next = swap
    assert mock.counts.acquired == 2 and mock.counts.released == 1
    assert tickets(epoch) == [1, 2, 3, 4]
    assert mock.counts.leases == 0


def test_a_batch_swapped_in_by_an_interrupted_call_is_given_back_at_close(mock):
    with spdl.open("x") as loader:
        epoch = iter(loader)
        next(epoch)
        loader._reader._next = interrupted_after(loader._reader._next)
        with pytest.raises(KeyboardInterrupt):
            next(epoch)
    del epoch
    assert mock.counts.leases == 0 and mock.counts.readers == 0


def interrupted_after(function):
    def call(*arguments):
        function(*arguments)
        raise KeyboardInterrupt

    return call


def test_a_batch_whose_views_live_is_not_swapped_away(mock, loader):
    epoch = iter(loader)
    views = [next(epoch)["label"] for _ in range(3)]
    assert mock.counts.leases == 3
    assert [view.tolist() for view in views] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    del views
    assert mock.counts.leases == 1, "the batch in hand"


def test_what_is_known_of_a_batch_outlives_it(loader):
    epoch = iter(loader)
    first, second = next(epoch), next(epoch)
    assert first.ended and (first.ticket, second.ticket) == (0, 1)


@pytest.mark.parametrize("status", [-40, -41, -42, -44])
def test_the_engines_end_is_raised_by_name_and_the_loop_can_be_tried_again(mock, loader, status):
    epoch = iter(loader)
    next(epoch)
    mock.fail("spdl_acquire", status, "shm: the engine is gone")
    with pytest.raises(spdl.SpdlError, match="the engine is gone") as caught:
        next(epoch)
    assert caught.value.status == status
    assert next(epoch).ticket == 1, "an error does not look like the end of the epoch"


# ---- state and information


def test_state_in_a_loop_body_counts_the_batch_in_hand(mock, loader):
    for batch in loader:
        if batch.ticket == 2:
            break
    assert loader.state_dict() == {"completed": 3}
    assert loader.state_dict(count_held=False) == {"completed": 2}


def test_a_state_is_loaded_and_the_loop_goes_on_there(loader):
    loader.load_state_dict({"completed": 7})
    assert tickets(loader) == [7, 8, 9] and loader.epoch == 2


def test_what_is_no_state_is_refused(mock, loader):
    with pytest.raises(spdl.StateError, match="not JSON serializable; pass what state_dict"):
        loader.load_state_dict({"completed": object()})
    with pytest.raises(spdl.StateError, match="mock: not a state"):
        loader.load_state_dict({"epoch": 1})


def test_texts_longer_than_the_buffer_are_asked_for_again(mock, loader):
    calls = []

    def long(handle, buffer, size, need):
        calls.append(size)
        text = b'{"x": "' + b"y" * 9000 + b'"}'
        need.value = len(text) + 1
        if size < need.value:
            return _c.E_ARGUMENT
        buffer.value = text
        return _c.OK

    loader._reader.api.free.stats = long
    assert len(loader.stats()["x"]) == 9000 and len(calls) == 2


def test_an_error_while_saving_is_raised(mock, loader):
    mock.fail("spdl_state_save", -40, "shm: the engine died")
    with pytest.raises(spdl.EngineLost):
        loader.state_dict()
    mock.fail("spdl_stats", -1, "mock: no")
    with pytest.raises(spdl.ArgumentError, match="mock: no"):
        loader.stats()


def test_restart_leaves_the_rest_of_the_epoch(loader):
    for batch in loader:
        break
    loader.restart()
    assert batch.ended and tickets(loader) == [5, 6, 7, 8, 9]


def test_a_loader_describes_itself(loader):
    info = loader.info
    assert (info.name, info.access, info.slots, info.steps_per_epoch, info.group, info.max_leases) == \
        ("mock", "private", 16, 5, "mock", 4)
    assert loader.state == "running" and loader.classes is None and loader.stats() == {"images": 1}
    image = loader.schema["image"]
    assert (image.kind, image.role, image.dtype.name, image.shape) == ("dense", "field", "float32", (3, 2, 2, 3))
    assert [(f.name, f.role) for f in loader.fields if f.role != "field"] == \
        [("label", "label"), ("index", "index"), ("key", "key"), ("status", "status")]
    assert repr(loader) == '<spdl.Loader "mock" group "mock" lane 0 epoch 0 of 5 steps>'


# ---- open and attach


def test_attach_passes_what_it_was_given(mock):
    with spdl.attach("imagenet/val", group="g", lane=2, max_leases=7, handoff=True, timeout=1.5):
        request = mock.request
        assert (request.name, request.group, request.lane, request.max_leases) == (b"imagenet/val", b"g", 2, 7)
        assert (request.flags, request.timeout_ns) == (_c.ATTACH_HANDOFF, 1_500_000_000)
        assert request.client.startswith(b"python 3.")
    with spdl.attach("x"):
        request = mock.request
        assert (request.group, request.lane, request.max_leases, request.flags, request.timeout_ns) == (b"(null)", -1, 0, 0, 0)


def test_ring_passes_what_it_was_given_and_closes_with_what_fails(mock):
    with spdl.attach("imagenet/train") as train:
        with train.ring("val", group="g", lane=2, max_leases=7, handoff=True, timeout=1.5):
            request = mock.request
            assert (request.name, request.group, request.lane, request.max_leases) == (b"val", b"g", 2, 7)
            assert (request.flags, request.timeout_ns) == (_c.ATTACH_HANDOFF, 1_500_000_000)
        mock.fail("spdl_attach_ring", _c.E_NOT_FOUND, "no such ring")
        with pytest.raises(spdl.NotFound, match="no such ring"):
            train.ring("test")
        for wrong in {"name": 3}, {"name": "a\0b"}, {"name": "a", "lane": -1}, {"name": "a", "max_leases": 0}:
            with pytest.raises((TypeError, spdl.ArgumentError)):
                train.ring(**wrong)
        assert next(iter(train)).rows
    with pytest.raises(spdl.Detached):
        train.ring("val")


def test_open_passes_what_it_was_given(mock, tmp_path):
    with spdl.open(tmp_path, engine=tmp_path / "spdl", args=["--cpus", "2"], state={"completed": 3}, max_leases=2):
        request = mock.request
        assert request.name == str(tmp_path).encode() and request.engine == str(tmp_path / "spdl").encode()
        assert (request.args, request.state, request.max_leases) == (b"--cpus 2 ", b'{"completed": 3}', 2)


def test_open_says_to_the_engine_what_it_is_told_beside_the_description(mock):
    numpy = pytest.importorskip("numpy")
    with spdl.open("photos", batch=numpy.int64(64), size=224, shuffle=False, seed=7, epochs=2, dtype="f32", layout="NCHW", args=["--cpus", "2"]):
        assert mock.request.args == b"--batch 64 --size 224 --no-shuffle --seed 7 --epochs 2 --dtype f32 --layout NCHW --cpus 2 "
    with spdl.open({"batch": 8}, shuffle=True):
        assert mock.request.args == b"--shuffle "


def test_open_takes_a_description_as_a_dict(mock):
    with spdl.open({"source": {"folder": "/data"}, "batch": 8}):
        assert mock.request.name == b'{"source": {"folder": "/data"}, "batch": 8}'
    with spdl.open("{odd}.yaml"):
        assert mock.request.name == b"./{odd}.yaml", "a path is never taken for a description"


def test_a_description_may_hold_what_is_as_good_as_plain_data(mock):
    numpy = pytest.importorskip("numpy")
    with spdl.open(MappingProxyType({"source": {"folder": Path("/data")}, "batch": numpy.int64(8), "rate": numpy.float32(0.5),
                                     "x": UserList([MappingProxyType({})]), "mean": numpy.zeros(2)})):
        assert mock.request.name == b'{"source": {"folder": "/data"}, "batch": 8, "rate": 0.5, "x": [{}], "mean": [0.0, 0.0]}'


def test_wrong_arguments_are_refused(mock):
    for arguments, text in [({"lane": -2}, "lane -2, want 0 or more"), ({"max_leases": 0}, "max_leases 0, want 1 or more")]:
        with pytest.raises(spdl.ArgumentError, match=text):
            spdl.attach("x", **arguments)
    ring: list = [3]
    ring.append(ring)
    loop: dict = {"folder": "/data"}
    loop["remote"] = {"region": loop}
    for description, place in [({"batch": object()}, "batch: the description is not plain data: got an object of type object"), ({"source": {"columns": [{"name": "a"}, {"type": int}]}},
                               r"source.columns\[1\].type: the description is not plain data: got an object of type type"), ({(1, 2): 3}, "open: the description is not plain data: keys must be"),
                               ({"source": {"folder": b"x"}}, "source.folder: the"), ({"source": {"only": ring}}, "source: the description is not plain data: Circular reference"),
                               ({"source": loop}, "source.remote.region: the description is not plain data: it is in itself, without end"), (loop, "remote.region: the description is not")]:
        with pytest.raises(spdl.SpecError, match=place):
            spdl.open(description)
    for text in ('{"batch": 3}', "batch: 3\nimage: {}\n"):
        with pytest.raises(spdl.SpecError, match=r"the description is text, want a dict, such as json.loads\(text\) or yaml"):
            spdl.open(text)
    for timeout in (float("nan"), "soon", "3", b"3", []):
        with pytest.raises(spdl.ArgumentError, match="attach: the timeout is no number, want seconds, or None"):
            spdl.attach("x", timeout=timeout)


def test_arguments_of_a_wrong_type_are_refused_by_name(mock):
    for call, text in [
        (lambda: spdl.open(None), "the description is of type NoneType, want a dict, or the path of a file or folder$"),
        (lambda: spdl.open([b"jpeg"]), "of type list, want .*; a data set of yours comes as source=, behind a description of the rest$"),
        (lambda: spdl.open([]), "the description is of type list, want a dict"),
        (lambda: spdl.open("x", args="--cpus 2"), r"args is the text '--cpus 2', want a list of arguments, such as args=\['--cpus', '2'\]"),
        (lambda: spdl.open("x", args=[2]), "open: args is of type int, want text"),
        (lambda: spdl.attach(None), "attach: name is of type NoneType, want text"),
        (lambda: spdl.attach("x", group=3), "attach: group is of type int, want text"),
    ]:
        with pytest.raises(TypeError, match=text):
            call()


def test_text_with_a_zero_byte_is_refused_and_never_cut(mock):
    for call in (lambda: spdl.open("data\0train"), lambda: spdl.attach("a\0b"), lambda: spdl.attach("a", group="g\0"),
                 lambda: spdl.open("data", args=["--name\0"]), lambda: spdl.open("data", engine="/bin/spdl\0")):
        with pytest.raises(spdl.ArgumentError, match="has a zero byte in it"):
            call()


def test_a_wait_without_end_may_be_said_as_infinity(mock, loader):
    assert loader.acquire(float("inf")).ticket == 0
    with spdl.attach("x", timeout=float("inf")):
        assert mock.request.timeout_ns == 9 * 10**18
    with spdl.attach("x", timeout=0):
        assert mock.request.timeout_ns == 1, "0 would be the library's own"


# ---- life


def test_a_closed_loader_says_so(mock):
    loader = spdl.open("x")
    loader.close()
    loader.close()
    assert loader.closed and repr(loader) == "<spdl.Loader closed>"
    for use in (loader.acquire, loader.state_dict, loader.restart, loader.stats, lambda: loader.info,
                lambda: next(iter(loader))):
        with pytest.raises(spdl.Detached, match="this loader is closed; open or attach again"):
            use()


def test_views_outlive_their_loader(mock):
    loader = spdl.open("x")
    batch = loader.acquire()
    view = batch["image"]
    loader.close()
    assert mock.counts.readers == 1 and view[0, 0, 0, 0] == 0 and batch["label"].tolist() == [0, 1, 2]
    del batch, view
    assert mock.counts.readers == 0


def test_a_tensor_outlives_its_loader(mock):
    numpy = pytest.importorskip("numpy")
    loader = spdl.open("x")
    tensor = numpy.from_dlpack(next(iter(loader)).array("image"))
    del loader
    gc.collect()
    assert mock.counts.readers == 1 and tensor[1, 0, 0, 0] == 1
    del tensor
    assert mock.counts.readers == 0


def lane_0_is_free(one):
    try:
        spdl.attach(one.name, "train", lane=0).close()
    except spdl.Busy:
        return False
    return True


class AsForTorch:
    """An array that is handed out read-only or not, as torch() does; numpy before 2.1 takes no read-only memory."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        return self.array._capsule(versioned=False)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def tensor_of(loader):
    return pytest.importorskip("numpy").from_dlpack(AsForTorch(loader.acquire().array("x")))


def lanes(engine):
    return engine("--groups", "train:lanes", "--lanes", "2", "--slots", "12")


def test_close_ends_the_membership_if_every_tensor_is_dead(engine):
    """Also where nobody has noticed their death before: the place is free at once."""
    one = lanes(engine)
    with spdl.attach(one.name, "train", lane=0) as loader:
        for _ in range(3):
            tensor = tensor_of(loader)
        del tensor
    assert lane_0_is_free(one)


@pytest.mark.parametrize("where", ["here", "in another thread"])
def test_the_last_tensor_that_dies_after_close_ends_the_membership(engine, where):
    """Without another call into spdl, soon after; until then the memory stays, and the place is taken. Then nothing listens any more."""
    one = lanes(engine)
    loader = spdl.attach(one.name, "train", lane=0)
    other = spdl.attach(one.name, "train", lane=1)
    kept = [tensor_of(of) for of in (loader, loader, other)]
    first = kept[0].copy()
    loader.close()
    assert not lane_0_is_free(one) and (kept[0] == first).all() and len(_dlpack.live) == 3
    if where == "here":
        del kept[:2]
    else:
        thread = threading.Thread(target=lambda: kept.__delitem__(slice(0, 2)))
        thread.start()
        thread.join()
    deadline = time.monotonic() + 60
    while len(_dlpack.live) > 1:  # the interpreter looks between two lines of this
        assert time.monotonic() < deadline
    assert lane_0_is_free(one)
    del kept[0]  # of a loader that is open: its next call will see to it
    assert len(_dlpack.live) == 1
    other.close()
    assert not _dlpack.live


def test_a_ctrl_c_is_not_lost_where_tensors_of_a_closed_loader_die(engine, monkeypatch):
    """What is raised while the main thread sweeps for them is raised in the program."""
    loader = spdl.attach(engine().name)
    kept = tensor_of(loader)
    loader.close()
    watch = _dlpack.watch

    def interrupted():
        watch()
        raise KeyboardInterrupt

    monkeypatch.setattr(_dlpack, "watch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        del kept
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            pass
    assert not _dlpack.live


def test_a_loader_that_is_dropped_is_closed(mock):
    spdl.open("x")
    gc.collect()
    assert mock.counts.readers == 0


def test_leaving_the_block_in_good_order_completes_the_batch_in_hand_and_an_error_does_not(mock):
    with spdl.open("x") as loader:
        view = next(iter(loader))["image"]
    assert mock.counts.done == 1
    with pytest.raises(ZeroDivisionError), spdl.open("x") as loader:
        view = next(iter(loader))["image"]
        1 / 0
    assert mock.counts.done == 1
    del view, loader


def test_closing_waits_for_calls_in_other_threads(mock):
    """spdl_detach must not race with other calls: the last of them detaches."""
    loader = spdl.open("x")
    inside, go_on = threading.Event(), threading.Event()

    def slow(*_):
        inside.set()
        go_on.wait(10)
        return _c.OK

    thread = threading.Thread(target=lambda: loader._reader.call(slow))
    thread.start()
    inside.wait(10)
    loader.close()
    assert mock.counts.readers == 1
    go_on.set()
    thread.join()
    assert mock.counts.readers == 0


def test_an_attached_loader_pickles_as_its_name_group_and_lane(mock):
    with spdl.attach("imagenet", group="g", lane=1) as loader:
        text = pickle.dumps(loader)
    with pickle.loads(text) as again:
        request = mock.request
        assert (request.name, request.group, request.lane) == (b"imagenet", b"g", 1)
        assert again.acquire().ticket == 0


def test_a_loader_of_a_child_engine_refuses_to_be_pickled(loader):
    with pytest.raises(spdl.Unsupported, match="its engine is a child of this process"):
        pickle.dumps(loader)


def test_a_wait_first_sleeps_until_shortly_before_waits_of_late_have_ended():
    reader = _reader.Reader.__new__(_reader.Reader)
    reader._last_wait, reader._usual_ns, reader._off_ns = (None, 0), 0, 0
    raw, begun = _c.Batch(), 10**9
    assert reader._nap(raw, begun) == _reader.SLICE_NS  # nothing is known yet
    for i in range(50):
        raw.published_ns, begun = begun + 8_000_000 + (-1) ** i * 1_000_000, begun + 20_000_000
        nap = reader._nap(raw, begun)
    assert 6_600_000 < nap < 7_300_000  # an eighth before; they come a millisecond early or late
    for _ in range(60):
        raw.published_ns, begun = begun + 8_000_000, begun + 20_000_000
        nap = reader._nap(raw, begun)
    assert 7_740_000 < nap <= 7_750_000  # they come regularly
    raw.published_ns = begun - 1  # a batch that was ready, or none
    assert reader._nap(raw, begun) == nap
    raw.published_ns, begun = begun + 1_000_000_000, begun + 2_000_000_000
    assert 7_700_000 < reader._nap(raw, begun) < 7_900_000  # one that came late by accident
    for _ in range(50):
        raw.published_ns, begun = begun + 100_000, begun + 200_000
        nap = reader._nap(raw, begun)
    assert nap == _reader.SLICE_NS  # short waits are not interrupted


def test_a_batch_is_logged_though_asking_for_the_next_one_fails(tmp_path):
    """Asking has completed it."""
    batch = SimpleNamespace(ticket=3, epoch=0, step=3, lane=0, attempts=1, n_bad=0, hash=7, array=lambda name: SimpleNamespace(tolist=lambda: [5]))

    class Stopping:
        info = SimpleNamespace(world_size=1, rank=0, lane=0)

        def __iter__(self):
            yield batch
            raise spdl.EngineStopped("it stopped")

    with pytest.raises(spdl.EngineStopped):
        for _ in spdl.delivery_log(Stopping(), tmp_path / "log"):
            pass
    assert [json.loads(line)["step"] for line in (tmp_path / "log").read_text().splitlines()] == [3]


def test_a_loader_that_was_closed_needs_nothing_when_the_interpreter_takes_its_modules_apart(loader, monkeypatch):
    """As one that a framework's cycle of objects keeps to the very end, with tensors alive."""
    loader.close()
    with monkeypatch.context() as end:
        end.setattr(_reader, "exports", ["a tensor"])
        end.setattr(_dlpack, "sweep", None)
        loader.__del__()
