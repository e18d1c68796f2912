"""Uploads to a device: the engine and its uploader on one side, libspdl's half of the GPU on the other, a driver without a GPU
(tests/cuda) under both. Device memory there is host memory, so what lies in it can be looked at."""

import ctypes
import json
import os
import signal
import sys

import numpy as np
import pytest
import spdl
from engines import BUILD, Consumer, describe, eventually, processes_of

FAKE = BUILD / "cuda/libcuda.so.1"


@pytest.fixture(autouse=True)
def driver(monkeypatch):
    monkeypatch.setenv("SPDL_CUDA_LIBRARY", str(FAKE))
    monkeypatch.setenv("SPDL_DEVICE", str(BUILD / "spdl-device"))
    lib = ctypes.CDLL(str(FAKE))
    lib.fake_cuda_reset()
    assert lib.cuInit(0) == 0


def on_device(array):
    """A copy of an array in device memory."""
    return np.frombuffer(ctypes.string_at(array._address, array.nbytes), np.uint8)


def same_bytes(batch, name):
    return np.array_equal(on_device(batch.cuda[name]), np.ascontiguousarray(batch[name]).view(np.uint8).ravel())


def uploaders(mark):
    return [pid for pid, command in processes_of(mark) if "spdl-device" in command.split(" ")[0]]


@pytest.mark.parametrize("form", ["child", "service"])
def test_every_batch_is_on_the_device_as_in_host_memory(form, serve, pictures):
    description = describe(pictures.path, device={"slots": 3}, order={"shuffle": True, "seed": 3, "epochs": 2})
    if form == "child":
        loader = spdl.open(description)
    else:
        loader = spdl.attach(serve(description).name)
    tickets = []
    with loader:
        for epoch in loader.epochs():
            for batch in epoch:
                assert same_bytes(batch, "image") and same_bytes(batch, "label"), batch.ticket
                tickets.append(batch.ticket)
    assert tickets == list(range(2 * 14))


def test_pictures_are_finished_on_the_device(pictures):
    finish = {"dtype": "f32", "normalize": "imagenet"}
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    with spdl.open(describe(pictures.path, device={"finish": finish})) as loader:
        for batch in loader:
            got = on_device(batch.cuda["image"]).view(np.float32).reshape(batch.rows, 3, 8, 8)
            want = ((batch["image"] / 255 - mean) / std).transpose(0, 3, 1, 2)
            assert np.abs(got - want).max() < 1e-6, batch.ticket


def test_copies_leave_device_fields_out(pictures):
    with spdl.open(describe(pictures.path, device={})) as loader:
        batch = next(iter(loader))
        assert not [name for name in batch if "@" in name]
        assert "image" in batch.copy()


def test_killed_uploader_costs_no_batch(pictures, surroundings):
    """It is killed while a batch is leased and others are ready: the leased one's device tensor is lost by name, its host memory
    is not, and every other batch comes once, on the device."""
    with spdl.open(describe(pictures.path, device={"slots": 3})) as loader:
        batches = iter(loader)
        first = next(batches)
        assert same_bytes(first, "image")
        [pid] = uploaders(surroundings.mark)
        os.kill(pid, signal.SIGKILL)

        def lost():
            try:
                first.cuda["image"]
            except spdl.PoolLost:
                return True
            return False

        eventually("the device tensors of the lease to be lost", lost)
        assert first["image"].any()
        first.release()
        tickets = []
        for batch in batches:
            assert same_bytes(batch, "image"), batch.ticket
            tickets.append(batch.ticket)
        assert tickets == list(range(1, 14))
        assert uploaders(surroundings.mark) not in ([], [pid])


def test_killed_consumer_leaves_its_device_slot_to_the_next(serve, pictures, tmp_path):
    engine = serve(describe(pictures.path, device={"slots": 2}, ring={"groups": [{"name": "train"}]}))
    code = (
        "import spdl, sys, time\n"
        "loader = spdl.attach(sys.argv[1], group='train', max_leases=2)\n"
        "held = loader.acquire()\n"
        "held.cuda['image']\n"
        "print(held.ticket, flush=True)\n"
        "time.sleep(600)\n"
    )
    victim = Consumer([sys.executable, "-c", code, engine.name])
    assert victim.process.stdout.readline().strip() == "0"
    victim.process.kill()
    victim.process.wait()
    tickets = []
    with spdl.attach(engine.name, group="train", max_leases=2) as loader:
        for batch in loader:
            assert same_bytes(batch, "image"), batch.ticket
            tickets.append((batch.ticket, batch.attempts > 1))
    assert sorted(tickets) == [(0, True)] + [(ticket, False) for ticket in range(1, 14)]


def test_state_resumes_at_what_was_completed(pictures):
    description = describe(pictures.path, device={}, order={"shuffle": True, "seed": 1, "epochs": 1})
    with spdl.open(description) as loader:
        seen = []
        for batch in loader:
            seen.append(batch["index"].tolist())
            if len(seen) == 5:
                state = loader.state_dict()
                break
    with spdl.open(description) as loader:
        loader.load_state_dict(state)
        rest = [batch["index"].tolist() for batch in loader if same_bytes(batch, "image")]
    assert sorted(sum(seen + rest, [])) == list(range(53)) and len(seen + rest) == 14


@pytest.mark.parametrize("otherwise", ["fail", "host"])
def test_without_a_driver(otherwise, pictures, monkeypatch):
    monkeypatch.setenv("SPDL_CUDA_LIBRARY", "/nonexistent/libcuda.so.1")
    description = describe(pictures.path, device={"otherwise": otherwise})
    with spdl.open(description) as loader:
        if otherwise == "host":
            assert [batch.ticket for batch in loader] == list(range(14))
            return
        with pytest.raises(spdl.EngineFailed, match="no CUDA driver.*device.otherwise: host"):
            next(iter(loader))


def test_statistics_tell_of_the_device(pictures):
    with spdl.open(describe(pictures.path, device={"slots": 3})) as loader:
        for _ in loader:
            pass
        ring = json.loads(json.dumps(loader.stats()))["rings"][0]
        assert ring["ring"]["device"]["uploaded"] == 14 and ring["upload"]["ended"] == 0
