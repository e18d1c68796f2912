"""Several rings of one engine: a program has all of them, over the connection of any."""

import json
import pickle
import shutil
import warnings

import pytest
import spdl
from engines import PATIENCE, describe, ended, eventually, python


def two_rings(folder, **sections):
    return describe(folder, rings={"train": {"order": {"epochs": 2}}, "val": {"batch": 8}}, **sections)


def samples(loader):
    return sorted(i for epoch in loader.epochs() for batch in epoch for i in batch["index"].tolist())


def test_a_program_has_every_ring_of_the_engine_that_it_opened(open_, loaders, pictures):
    """train is the first; val comes over its connection; the engine ends with the last loader, not with the first."""
    train = open_(two_rings(pictures.path))
    val = loaders(train.ring("val"))
    assert (train.info.name.split("/")[1], val.info.name.split("/")[1]) == ("train", "val")
    assert val.info.engine_pid == train.info.engine_pid
    n = train.info.samples
    assert samples(train) == sorted(2 * list(range(n)))
    train.close()
    assert samples(val) == list(range(n)) and val.info.batch_rows == 8
    engine = val.info.engine_pid
    with pytest.raises(spdl.NotFound, match='no ring "test" here'):
        val.ring("test")
    with pytest.raises(spdl.Unsupported, match="pickle"):
        pickle.dumps(val)
    val.close()
    eventually("the engine's end", lambda: ended(engine))
    with pytest.raises(spdl.Detached):
        val.ring("train")


def test_rings_of_other_classes_are_told(open_, loaders, pictures, tmp_path):
    """A validation set without pictures of one class numbers the others anew, and its labels are wrong in silence."""
    shutil.copytree(pictures.path, tmp_path / "val")
    whole = open_(describe(pictures.path, rings={"train": {}, "val": {"source": {"folder": str(tmp_path / "val")}}}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert loaders(whole.ring("val")).classes == whole.classes == ["a", "b", "c"]
    shutil.rmtree(tmp_path / "val" / "b")
    lacking = open_(describe(pictures.path, rings={"train": {}, "val": {"source": {"folder": str(tmp_path / "val")}}}))
    with pytest.warns(RuntimeWarning, match="so a label means another class there: 1 are here alone, 0 there alone, such as 'b'") as warned:
        assert loaders(lacking.ring("val")).classes == ["a", "c"]
    assert warned[0].filename == __file__


def test_a_state_is_of_the_first_ring_and_the_others_begin(open_, loaders, pictures):
    spec = two_rings(pictures.path)
    train = open_(spec)
    val = loaders(train.ring("val"))
    seen = [next(iter(loader))["index"].tolist() for loader in (train, train, val)]
    state = train.state_dict()
    train.close(), val.close()
    train = open_(spec, state=state)
    assert next(iter(train)).ticket == 2
    assert next(iter(loaders(train.ring("val"))))["index"].tolist() == seen[2]


def test_a_private_ring_has_one_consumer_whichever_way_it_comes(open_, loaders, pictures):
    """Busy, naming who has it; a shared one takes a second group."""
    train = open_(two_rings(pictures.path))
    with pytest.raises(spdl.Busy, match="a private ring has one consumer"):
        train.ring("train")
    shared = open_(two_rings(pictures.path, ring={"access": "shared"}))
    again = loaders(shared.ring("train", group="other", max_leases=2))
    assert again.info.group == "other" and again.info.max_leases == 2


SCRIPT = """
import sys, spdl
train = spdl.open(sys.argv[1], in_process=sys.argv[2] == "True")
val = train.ring("val")
del train
print(sum(batch.rows for batch in val))
"""


@pytest.mark.parametrize("in_process", [False, True])
def test_a_program_that_just_ends_leaves_no_engine(surroundings, pictures, tmp_path, in_process):
    """No close, no with: the loaders' ends are the engine's. The surroundings look for what is left."""
    path = tmp_path / "two.json"
    path.write_text(json.dumps(two_rings(pictures.path)))
    done = python(SCRIPT, str(path), str(in_process))
    assert done.returncode == 0 and done.stdout == "53\n", done.stderr


URGENT = """
import ctypes
event = (ctypes.c_int * 16)(0, 0, 23)        # struct sigevent: SIGURG, which Go interrupts its own threads with
timer, every = ctypes.c_void_p(), (ctypes.c_long * 4)(0, 50_000, 0, 50_000)
libc = ctypes.CDLL(None)
assert libc.timer_create(1, event, ctypes.byref(timer)) == 0 and libc.timer_settime(timer, 0, every, None) == 0
"""


def test_signals_at_the_end_of_a_program_find_a_stack(surroundings, pictures, tmp_path):
    """Python's faulthandler takes the main thread's signal stack away before exit() comes to what ends the engine, and so does Rust. A signal
    to a thread that is in Go and has none ended the program."""
    path = tmp_path / "two.json"
    path.write_text(json.dumps(two_rings(pictures.path)))
    done = python(SCRIPT + URGENT, str(path), "True")
    assert done.returncode == 0 and done.stdout == "53\n", done.stderr


def test_a_ring_over_an_attached_loader_is_named_and_finds_its_next_engine(serve, attach, loaders, pictures):
    """It can be pickled, as what it was attached from; and it goes on when the engine is killed and started again."""
    description = two_rings(pictures.path, ring={"backing": "posix", "access": "shared", "reconnect": f"{PATIENCE}s", "groups": [{"name": "g"}]})
    engine = serve(description)
    train = attach(f"{engine.name}/train", group="g")
    val = loaders(train.ring("val", group="g", max_leases=2))
    copy = loaders(pickle.loads(pickle.dumps(val)))
    assert copy.info.name == val.info.name == f"{engine.name}/val"
    copy.close()
    with val.acquire() as batch:
        got = [batch["index"].tolist()]
    engine.kill()
    serve(description, name=engine.name)
    got += [batch["index"].tolist() for batch in val]
    assert sorted(sum(got, [])) == list(range(53))
    assert sum(batch.rows for batch in train) == 53
