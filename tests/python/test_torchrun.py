"""Under torchrun: one engine per node, or one per rank."""

from __future__ import annotations

import collections
import errno
import os
import socket
import struct
import subprocess
import sys
import threading
import types
import warnings
import zlib

import pytest
import spdl
from conftest import ROOT, built
from spdl import _c, _siblings, _torchrun


@pytest.fixture
def torchrun(monkeypatch):
    monkeypatch.setattr(_torchrun, "LEAVE_S", 0)  # no other rank comes

    def be(rank, world, local, size, run="job-7"):
        monkeypatch.setattr(_torchrun, "_opened", collections.Counter())  # another rank is another process
        for name, value in [("RANK", rank), ("WORLD_SIZE", world), ("LOCAL_RANK", local), ("LOCAL_WORLD_SIZE", size),
                            ("TORCHELASTIC_RUN_ID", run)]:
            monkeypatch.setenv(name, str(value))

    yield be
    while _torchrun._closed:
        _torchrun._hush("closed", _torchrun._closed.popleft())


def test_local_rank_0_starts_a_named_engine_and_the_others_attach_to_their_lane(mock, torchrun):
    torchrun(4, 8, 0, 4)
    with spdl.open({"batch": 8}):
        arguments = mock.request.args.decode().split()
        assert (mock.request.group, mock.request.lane) == (b"train", 0)
        torchrun(6, 8, 2, 4)
        with spdl.open({"batch": 8}):
            assert (mock.request.name.decode(), mock.request.group, mock.request.lane) == (arguments[arguments.index("--name") + 1], b"train", 2)
    assert "--listen" in arguments and arguments[arguments.index("--group") + 1] == "train:lanes=4"
    assert arguments[arguments.index("--rank") + 1] == "4" and arguments[arguments.index("--world-size") + 1] == "8"


def test_names_tell_runs_and_descriptions_and_nodes_apart(torchrun, tmp_path):
    spec = tmp_path / "spec.yaml"
    spec.write_text("batch: 1")

    def name(rank=1, local=1, run="a", text=str(spec)):
        torchrun(rank, 4, local, 2, run)
        return _torchrun.name(_torchrun.ranks(), text)

    assert name() == name(0, 0), "every rank of a node computes the same"
    names = {name(), name(run="b"), name(rank=3), name(text="{}")}
    spec.write_text("batch: 2")
    assert len(names | {name()}) == 5


def test_names_are_valid_whatever_the_run_is_called(torchrun):
    torchrun(0, 2, 0, 2, run="a b/c" * 30)
    name = _torchrun.name(_torchrun.ranks(), "{}")
    assert len(name) <= 63 and set("/ ").isdisjoint(name)


def test_a_run_without_an_id_is_told_apart_by_its_port(torchrun, monkeypatch):
    torchrun(0, 2, 0, 2)
    monkeypatch.delenv("TORCHELASTIC_RUN_ID")  # as Ray's Train has it
    monkeypatch.setenv("MASTER_PORT", "29501")
    assert _torchrun.ranks().run_id == "run-29501"


def test_torchruns_default_run_id_is_told_apart_by_its_port(torchrun, monkeypatch):
    torchrun(0, 2, 0, 2, run="none")
    monkeypatch.setenv("MASTER_PORT", "29501")
    assert _torchrun.name(_torchrun.ranks(), "{}").startswith("run-29501-")


def test_share_false_starts_an_engine_per_rank_with_its_share_of_the_cpus(mock, torchrun, monkeypatch):
    torchrun(3, 4, 1, 2)
    monkeypatch.setattr(_torchrun.os, "sched_getaffinity", lambda _: set(range(6)))
    with spdl.open("x", share=False, args=["--more"]):
        assert mock.request.args == b"--more --world-size 4 --rank 3 --cpus 3 "
        assert mock.request.group == b"(null)"


def test_a_single_rank_needs_no_arrangement(mock, torchrun):
    torchrun(0, 1, 0, 1)
    with spdl.open("x"):
        assert mock.request.args == b""


def test_one_rank_a_node_has_its_part_of_the_samples(mock, torchrun):
    torchrun(1, 2, 0, 1)
    with spdl.open("x"):
        assert mock.request.args.decode().split() == ["--world-size", "2", "--rank", "1"]
        assert mock.request.group == b"(null)"
    assert _torchrun.own_arguments(_torchrun.ranks(), world=False) == [], "an iterable is each rank's own"


def test_one_rank_a_node_that_says_its_world_has_that(mock, torchrun, tmp_path):
    torchrun(1, 2, 0, 1)
    (tmp_path / "spec.yaml").write_text("batch: 8\nworld: {size: 1}\n")
    for spec in ({"world": {"size": 1}}, str(tmp_path / "spec.yaml")):
        with spdl.open(spec):
            assert mock.request.args == b""
    with spdl.open("x", args=["--world-size", "1"]):
        assert mock.request.args == b"--world-size 1 "


@pytest.mark.parametrize("text, says", [
    ('{"batch": 8, "world": {"size": 1}, "order": {}}', True),  # as json.dump writes it, in one line
    ('{"batch": 8, "fields": {"world": {}}}', False),
    ("batch: 8\nfields:\n  world: {image: {}}\n", False),  # a field of that name: the part is the rank's all the same
    ("# of a run\n---\n{batch: 8,\n world: auto}\n", True),
    ("  batch: 8\n  world: auto\n", True),
    ("batch: 8\n'world': auto\n", True),
    ("batch: 8\n# world: auto\n", False),
    ("", False),
])
def test_a_files_own_world_is_that_at_its_top(mock, torchrun, tmp_path, text, says):
    torchrun(1, 2, 0, 1)
    (tmp_path / "spec").write_text(text)
    with spdl.open(tmp_path / "spec"):
        assert mock.request.args.decode().split() == ([] if says else ["--world-size", "2", "--rank", "1"])


def test_an_open_that_failed_is_not_counted(torchrun):
    torchrun(1, 2, 1, 2)
    ranks = _torchrun.ranks()
    first = _torchrun.next_name(ranks, "{}")
    second = _torchrun.next_name(ranks, "{}")
    _torchrun.take_back(second)
    assert _torchrun.next_name(ranks, "{}") == second != first
    _torchrun.take_back(second)
    _torchrun.take_back(first)
    assert _torchrun.next_name(ranks, "{}") == first


def test_half_of_torchruns_environment_takes_no_lane(monkeypatch):
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    monkeypatch.delenv("RANK", raising=False)
    assert _torchrun.lane() is None


@pytest.fixture
def alone(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def distributed(rank, size):
    """torch.distributed in a process that is this rank."""
    return types.SimpleNamespace(is_available=lambda: True, is_initialized=lambda: True, get_world_size=lambda: size, get_rank=lambda: rank)


def test_a_rank_that_torchrun_did_not_start_is_warned(mock, alone):
    """It would read what all others read, and no figure would show it."""
    alone.setenv("WORLD_SIZE", "4")
    with pytest.warns(RuntimeWarning, match=r"world: \{size: 4, rank: ...\}, and torchrun did not start it: each rank reads all samples") as warned:
        spdl.open({"batch": 8}).close()
    assert warned[0].filename == __file__
    alone.setenv("RANK", "3")
    with pytest.warns(RuntimeWarning, match=r"open behind init_process_group, or say world: \{size: 4, rank: 3\} in the description"):
        spdl.open({"batch": 8}).close()


def test_a_rank_of_torch_distributed_has_its_part_of_the_samples(mock, alone):
    alone.setenv("LOCAL_RANK", "1")  # as Lightning's own launcher leaves it, with WORLD_SIZE and without RANK
    alone.setenv("WORLD_SIZE", "2")
    alone.setitem(sys.modules, "torch.distributed", distributed(1, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with spdl.open("x") as loader:
            assert mock.request.args.decode().split() == ["--world-size", "2", "--rank", "1"]
            assert mock.request.group == b"(null)" and not loader._shared_by_ranks
        with spdl.open({"world": {"size": 1}}) as loader:
            assert mock.request.args == b""
            iter(loader)
    with pytest.raises(spdl.ArgumentError, match="run under torchrun"):
        spdl.open("x", share=True)


@pytest.mark.parametrize("loops", [iter, lambda loader: loader.__aiter__(), lambda loader: next(loader.epochs()), lambda loader: iter(loader.ring("val"))],
                         ids=["for", "async for", "epochs", "another ring"])
def test_a_loader_that_was_opened_before_its_ranks_were_known_is_refused_by_its_loops(mock, alone, loops):
    """A process that has loaders already when it becomes rank 0, as that which starts Lightning's others."""
    with spdl.open({"batch": 8}) as loader, spdl.open({"batch": 8, "world": {"size": 1}}) as told:
        alone.setitem(sys.modules, "torch.distributed", distributed(0, 2))
        with pytest.raises(spdl.ArgumentError, match=r"spdl: loop: got a loader that was opened before this process was rank 0 of 2, .* behind init_process_group .* say world: \{size: 2, rank: 0\}"):
            loops(loader)
        loops(told)
        alone.setitem(sys.modules, "torch.distributed", distributed(0, 1))
        loops(loader)


def test_a_rank_that_is_told_or_is_alone_is_not_warned(mock, alone):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spdl.open({"batch": 8}).close()
        alone.setenv("WORLD_SIZE", "1")
        spdl.open({"batch": 8}).close()
        alone.setenv("WORLD_SIZE", "4")
        spdl.open({"batch": 8, "world": {"size": 4, "rank": 1}}).close()
        spdl.open({"batch": 8}, args=["--rank", "2"]).close()


def test_share_outside_torchrun_is_refused(mock):
    with pytest.raises(spdl.ArgumentError, match="run under torchrun"):
        spdl.open("x", share=True)


def test_a_broken_environment_is_refused(mock, torchrun):
    torchrun("one", 4, 0, 2)
    with pytest.raises(spdl.ArgumentError, match="not whole numbers: RANK=one"):
        spdl.open("x")
    torchrun(0, 4, 3, 2)
    with pytest.raises(spdl.ArgumentError, match="contradicts itself"):
        spdl.open("x")


RANK = """
import sys, spdl
with spdl.open({"source": {"folder": sys.argv[1]}, "batch": 2, "order": {"epochs": 1, "shuffle": False},
                "image": {"transform": [{"resize": [4, 4]}]}}, engine=sys.argv[2], timeout=30) as loader:
    print(loader.info.rank, loader.info.group, [key for batch in loader for key in batch.sample_keys], flush=True)
    sys.stdin.read()  # rank 0 is the parent of the engine: it stays until all have read
"""


def png(level: int) -> bytes:
    """A gray picture of 4 x 4."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress((b"\0" + bytes([level]) * 4) * 4)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 4, 4, 8, 0, 0, 0, 0)) + chunk(b"IDAT", rows) + \
        chunk(b"IEND", b"")


@pytest.fixture
def two_ranks(runtime, library, tmp_path):
    """Start a script as ranks 1 and 0 of two, which is given a folder of 8 pictures and the engine's path."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    for i in range(8):
        (folder / f"{i}.png").write_bytes(png(i))
    ranks = []

    def start(script):
        for rank in (1, 0):  # the one that attaches may come first
            env = {**os.environ, "PYTHONPATH": str(ROOT / "clients/python"), "SPDL_LIBRARY": str(library), "RANK": str(rank),
                   "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "two"}
            ranks.append(subprocess.Popen([sys.executable, "-c", script, str(folder), str(built("spdl"))], env=env, text=True,
                                          stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        return ranks

    yield start
    for process in ranks:
        process.communicate(timeout=60)


def said(process):
    return process.stdout.readline().strip()


def go_on(process):
    process.stdin.write("\n")
    process.stdin.flush()


def test_two_ranks_share_one_engine_and_slice_every_step(two_ranks):
    """Over the real command: ranks 0 and 1 of 2 read disjoint halves of each global batch, from one child of rank 0."""
    assert [said(process) for process in two_ranks(RANK)] == [
        "1 train ['2.png', '3.png', '6.png', '7.png']", "0 train ['0.png', '1.png', '4.png', '5.png']"]


SPEC = """
import sys, spdl
spec = {"source": {"folder": sys.argv[1]}, "batch": 2, "order": {"epochs": 1, "shuffle": False}, "image": {"transform": [{"resize": [4, 4]}]}}
def keys(loader):
    return "".join(key[0] for batch in loader for key in batch.sample_keys)
"""


def test_every_rank_has_its_slice_of_a_second_ring_whoever_comes_first(two_ranks):
    """Rank 1 is first at the validation set, and has rank 1's part of it; a ring that was asked for once more is another lane's to give."""
    later, first = two_ranks(SPEC + """
with spdl.open({**spec, "rings": {"train": {}, "val": {}}}, engine=sys.argv[2], timeout=30) as train:
    if train.info.lane == 0:
        sys.stdin.readline()
    val = train.ring("val")
    print(train.info.lane, val.info.lane, val.info.rank, keys(val), flush=True)
    try:
        train.ring("train", max_leases=1)
    except spdl.Busy as error:
        print("lanes are taken" in str(error), flush=True)
    sys.stdin.read()
""")
    assert [said(later), said(later)] == ["1 1 1 2367", "True"]
    go_on(first)
    assert [said(first), said(first)] == ["0 0 0 0145", "True"]


def test_the_same_description_is_opened_again_and_again(two_ranks):
    """The rank that is ahead closes and opens before rank 0 has closed: it waits for the next engine, and does not join the last."""
    ahead, first = two_ranks(SPEC + """
for trial in range(4):
    with spdl.open(spec, engine=sys.argv[2], timeout=30) as loader:
        print(trial, keys(loader), flush=True)
        sys.stdin.readline()
""")
    for trial in range(4):
        assert (said(ahead), said(first)) == (f"{trial} 2367", f"{trial} 0145")
        go_on(ahead)
        go_on(first)


def test_the_same_description_is_opened_twice_at_once(two_ranks):
    """Each has an engine of its own, and every rank the same two."""
    later, first = two_ranks(SPEC + """
one, other = (spdl.open(spec, engine=sys.argv[2], timeout=30) for _ in range(2))
print(one.info.name != other.info.name, keys(one), keys(other), flush=True)
sys.stdin.read()
""")
    assert (said(later), said(first)) == ("True 2367 2367", "True 0145 0145")


def test_ranks_that_share_an_engine_load_a_state_each(two_ranks):
    """As a trainer that resumes has every rank do, and as set_epoch does to an epoch far away. None of them may move the others on the ring they have."""
    later, first = two_ranks(SPEC + """
with spdl.DataLoader({**spec, "order": {"shuffle": False}}, "key", tensors="numpy", engine=sys.argv[2], timeout=30) as loader:
    def rest():
        return "".join(key[0] for batch in loader for key in batch)
    next(iter(loader))
    loader.load_state_dict({**loader.state_dict(), "epoch": 1, "step": 1, "done": []})
    print(rest(), loader.loader.epoch, rest(), flush=True)
    loader.set_epoch(7)
    print(loader.loader.epoch, rest(), flush=True)
""")
    assert (said(first), said(later)) == ("45 2 0145", "67 2 2367")
    assert (said(first), said(later)) == ("7 0145", "7 2367")


@pytest.mark.parametrize("end", ["loader.close()", "del loader", "pass"])
def test_rank_0_stays_until_the_others_have_read(two_ranks, end):
    """Rank 0 is the engine's parent, and the first at its end, by close(), by the end of a function or of the program: no other rank loses a batch by it."""
    behind, first = two_ranks(SPEC + f"""
import time
loader = spdl.open({{**spec, "batch": 1, "order": {{"shuffle": False, "repeat": 6}}, "ring": {{"slots": 4}}}}, engine=sys.argv[2], timeout=30, max_leases=1)
print("here", flush=True)
if loader.info.rank == 1:
    print("".join(time.sleep(0.03) or batch.sample_keys[0][0] for batch in loader), flush=True)
else:
    sys.stdin.readline()  # as a collective operation has all ranks meet
    print(keys(loader), flush=True)
{end}
""")
    assert said(behind) == said(first) == "here"
    go_on(first)
    assert said(first) == said(behind) == "000111222333444555666777"
    assert (first.wait(30), behind.wait(30)) == (0, 0)


@pytest.mark.parametrize("opens", ["open", "DataLoader"])
def test_rank_0_waits_for_no_rank_that_stays(two_ranks, opens):
    """Nor where it ends by an exception, as then the others may wait for it."""
    behind, first = two_ranks(SPEC + f"opens = {opens!r}" + """
import time
from spdl import _c, _torchrun
_torchrun.LEAVE_S = 0.2
for error in (None, ValueError):
    try:
        with getattr(spdl, opens)(spec, engine=sys.argv[2], timeout=30) as opened:
            loader = getattr(opened, "loader", opened)
            lane, _ = loader.info.lane, keys(loader)
            if lane == 0:
                sys.stdin.readline()  # until rank 1 has it, too
                _torchrun.LEAVE_S = 0.2 if error is None else 30
                begun = time.monotonic()
            else:
                print("here", flush=True)
                sys.stdin.readline()
            if error is not None:
                raise error
    except ValueError:
        pass
    print("waited" if lane == 0 and time.monotonic() - begun > 25 else "left", flush=True)
""")
    for _ in range(2):
        assert said(behind) == "here"
        go_on(first)
        assert said(first) == "left"
        go_on(behind)
        assert said(behind) == "left"


def test_a_rank_waits_for_as_long_as_rank_0_opens_the_engine(torchrun, monkeypatch):
    """An index of many shards takes longer than anybody waits for an engine; with a timeout the wait is as long as that."""
    torchrun(1, 2, 1, 2)
    monkeypatch.setattr(_torchrun, "BEGIN_S", 0.05)
    name = _torchrun.name(_torchrun.ranks(), '{"batch": 8}')
    came = []
    with _torchrun.opening(name):
        waiting = threading.Thread(target=lambda: came.append(_torchrun.meet(name, None)))
        waiting.start()
        assert _torchrun.meet(name, 0.1) is None, "this one is as patient as its timeout"
        assert waiting.is_alive()
    waiting.join(30)
    assert came[0] is not None
    came[0].close()
    _torchrun._hush("opened", name)
    with pytest.raises(spdl.NotFound, match="within 10 s"):
        spdl.open({"batch": 8})


@pytest.mark.parametrize("late", [False, True])
def test_every_rank_is_told_why_rank_0_has_no_engine(two_ranks, late):
    """The same exception in each, at once: to one that waits already, and to one that comes when rank 0 has gone on."""
    behind, first = two_ranks(f"late = {late}" + """
import os, sys, time, spdl
from spdl import _torchrun
_torchrun.BEGIN_S = 100
if late and os.environ["RANK"] == "1":
    sys.stdin.readline()
begun = time.monotonic()
try:
    spdl.open({"source": {"folder": sys.argv[1]}, "batch": "many"}, engine=sys.argv[2])
except spdl.SpecError as error:
    print("batch" in str(error), "local rank 0" in str(error), flush=True)
print(time.monotonic() - begun < 50, flush=True)
sys.stdin.readline()
""")
    assert (said(first), said(first)) == ("True False", "True")
    if late:
        go_on(behind)
    assert (said(behind), said(behind)) == ("True True", "True")


def test_an_open_that_failed_may_be_tried_again(two_ranks):
    """What was told of it is told no more: the others have the engine of the second try."""
    behind, first = two_ranks(SPEC + """
import os
good, bad = sys.argv[1], sys.argv[1] + "-later"
spec["source"]["folder"] = bad
for trial in range(2):
    try:
        with spdl.open(spec, engine=sys.argv[2]) as loader:
            print(keys(loader), flush=True)
            sys.stdin.readline()
    except spdl.EngineStartError as error:
        print("no such directory" in str(error), flush=True)
        sys.stdin.readline()
        if os.environ["RANK"] == "0":
            os.symlink(good, bad)
""")
    assert said(behind) == said(first) == "True"
    go_on(first)
    assert said(first) == "0145"
    go_on(behind)
    assert said(behind) == "2367"


def test_every_rank_is_told_of_an_argument_that_rank_0_refuses(two_ranks):
    """And what they open next is one engine again."""
    behind, first = two_ranks(SPEC + """
for state in ("none", None):
    try:
        with spdl.open(spec, engine=sys.argv[2], state=state) as loader:
            print(keys(loader), flush=True)
            sys.stdin.readline()
    except spdl.StateError as error:
        print("state is 'none'" in str(error), flush=True)
        sys.stdin.readline()
""")
    assert said(behind) == said(first) == "True"
    go_on(first)
    assert said(first) == "0145"
    go_on(behind)
    assert said(behind) == "2367"


def test_rank_0_waits_for_a_rank_that_is_yet_to_come(two_ranks):
    """A data set of two batches is over before the other rank has so much as opened it."""
    late, first = two_ranks(SPEC + """
import os
if os.environ["RANK"] == "1":
    sys.stdin.readline()
with spdl.open(spec, engine=sys.argv[2]) as loader:
    print(keys(loader), flush=True)
print("left", flush=True)
""")
    assert said(first) == "0145"
    go_on(late)
    assert (said(late), said(late), said(first)) == ("2367", "left", "left")


@pytest.mark.parametrize("rank_0_ends", [False, True])
def test_a_rank_that_comes_when_local_rank_0_has_left_is_told_so(two_ranks, rank_0_ends):
    """However long it would wait for rank 0 to begin: rank 0 says it while it lives, and its end was seen by who loaded the package before."""
    late, first = two_ranks(SPEC + f"rank_0_ends = {rank_0_ends}" + """
import os
from spdl import _torchrun
_torchrun.BEGIN_S, _torchrun.LEAVE_S = 100, 0
print("here", flush=True)
sys.stdin.readline()
try:
    with spdl.open(spec, engine=sys.argv[2]):
        pass
    print("left", flush=True)
except spdl.NotFound as error:
    print(error, flush=True)
if not rank_0_ends:
    sys.stdin.readline()
""")
    assert said(late) == said(first) == "here"
    go_on(first)
    assert said(first) == "left"
    if rank_0_ends:
        assert first.wait(60) == 0
    go_on(late)
    why = f"ended (process {first.pid})" if rank_0_ends else "closed its loader"
    assert said(late).startswith(f"spdl: open: local rank 0 has {why} before this rank came, and no engine of this description comes any more; every rank")
    if not rank_0_ends:
        go_on(late)
        go_on(first)


def test_rank_0_waits_for_no_rank_that_has_ended(two_ranks):
    """Nobody is to come who could still open what rank 0 closes, however long it would wait."""
    other, first = two_ranks(SPEC + """
import os, time
from spdl import _torchrun
_torchrun.LEAVE_S = 100
if os.environ["RANK"] == "1":
    sys.stdin.readline()
    sys.exit()
with spdl.open(spec, engine=sys.argv[2]) as loader:
    print("here", flush=True)
    sys.stdin.readline()
    begun = time.monotonic()
print("left" if time.monotonic() - begun < 50 else "waited", flush=True)
""")
    assert said(first) == "here"
    go_on(other)
    assert other.wait(60) == 0
    go_on(first)
    assert said(first) == "left"


@pytest.fixture
def launched(monkeypatch, torchrun):
    """A child of this process with the environment of a rank of its run, and more of it; ended with the test."""
    torchrun(0, 4, 0, 4)
    monkeypatch.setattr(_siblings.os, "getppid", os.getpid)  # this process is the launcher
    started = []

    def start(**environ):
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **environ})
        started.append(child)
        child.stdin.write(b"exec is over\n")
        child.stdin.flush()
        child.stdout.readline()
        return child

    yield start
    for child in started:
        child.communicate()


def test_siblings_are_the_ranks_of_this_run(launched):
    """Neither another run's, nor what says no rank, nor a rank that two say to be."""
    two = launched(LOCAL_RANK="2")
    launched(LOCAL_RANK="1", TORCHELASTIC_RUN_ID="another")
    launched(LOCAL_RANK="all")
    launched(LOCAL_RANK="3")
    launched(LOCAL_RANK="3")
    seen = _siblings.siblings(lambda local_rank: local_rank > 0)
    assert [(one.local_rank, one.pid, _siblings.has_ended(one.fd)) for one in seen] == [(2, two.pid, False)]
    two.communicate()
    assert _siblings.has_ended(seen[0].fd)
    os.close(seen[0].fd)
    assert _siblings.siblings(lambda local_rank: local_rank == 2) == []


@pytest.mark.parametrize("without", ["pidfd_open", "pidfds", "children", "environments"])
def test_no_siblings_are_seen_where_the_system_tells_nothing(launched, monkeypatch, without):
    def refuse(*_):
        raise PermissionError(errno.EPERM, "refused")

    launched(LOCAL_RANK="2")
    if without == "pidfd_open":
        monkeypatch.delattr(os, "pidfd_open")
    elif without == "pidfds":
        monkeypatch.setattr(os, "pidfd_open", refuse)
    else:
        monkeypatch.setattr(_siblings.Path, "read_text" if without == "children" else "read_bytes", refuse)
    assert _siblings.siblings(lambda local_rank: True) == []


def test_only_the_last_closed_engines_cost_a_descriptor(mock, torchrun, monkeypatch):
    monkeypatch.setattr(_torchrun, "CLOSED", 2)
    torchrun(0, 2, 0, 2)
    for _ in range(5):
        spdl.open({"batch": 8}).close()
    assert len(_torchrun._listening) == 2


@pytest.fixture
def refused(monkeypatch):
    """Have abstract sockets refused, by the error it is given."""
    monkeypatch.setattr(_torchrun, "_warned", False)

    def refuse(error):
        class Refusing(socket.socket):
            def bind(self, _):
                raise OSError(error, os.strerror(error))

            connect = bind

        monkeypatch.setattr(_torchrun.socket, "socket", Refusing)

    return refuse


def test_local_rank_0_opens_where_ranks_cannot_meet_and_says_so_once(mock, torchrun, refused):
    """As in a sandbox without abstract sockets."""
    torchrun(0, 2, 0, 2)
    refused(errno.EACCES)
    with pytest.warns(RuntimeWarning, match="come to: .*Permission denied: they wait up to 10 s .*; let this program bind abstract sockets"):
        spdl.open({"batch": 8}).close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spdl.open({"batch": 8}).close()
        mock.fail("spdl_open", _c.E_SPEC, "batch: forced")
        with pytest.raises(spdl.SpecError, match="batch: forced"):
            spdl.open({"batch": 8})


def test_another_rank_that_cannot_meet_local_rank_0_looks_for_the_engine_at_once(mock, torchrun, refused):
    torchrun(1, 2, 1, 2)
    refused(errno.EPERM)
    with spdl.open({"batch": 8}):
        assert (mock.request.timeout_ns, mock.request.lane) == (0, 1)
    with spdl.open({"batch": 8}, timeout=3):
        assert mock.request.timeout_ns == 3_000_000_000


def test_a_name_that_another_run_has_is_refused(mock, torchrun, refused):
    torchrun(0, 2, 0, 2)
    refused(errno.EADDRINUSE)
    with pytest.raises(spdl.SystemCallError, match="another run on this node has its name; give each a --rdzv-id of its own"):
        spdl.open({"batch": 8})


def test_a_rank_that_opens_more_often_than_rank_0_is_told_so(runtime, library, torchrun):
    torchrun(1, 2, 1, 2)
    with pytest.raises(spdl.NotFound, match="local rank 0 has started no engine of this description within 0.05 s; every rank opens the same"):
        spdl.open({"batch": 8}, timeout=0.05)


def test_attach_takes_this_ranks_lane_where_there_are_lanes(engine, torchrun):
    """Rank 1 comes first, and has lane 1. A group without lanes has any rank."""
    lanes, plain = engine("--groups", "train:lanes", "--lanes", "2", "--slots", "8"), engine()
    torchrun(1, 2, 1, 2)
    with spdl.attach(lanes.name, "train") as ours:
        assert ours.info.lane == 1
        with spdl.attach(lanes.name, "train", lane=0) as other:
            assert other.info.lane == 0
        with pytest.raises(spdl.Busy, match="lane 1 is taken"):
            spdl.attach(lanes.name, "train")
    with spdl.attach(plain.name) as loader:
        assert loader.info.lane == 0
