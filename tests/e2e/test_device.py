"""Uploads to a device: the engine and its uploader on one side, libspdl's half of the GPU on the other, a driver without a GPU
(tests/cuda) under both, or with SPDL_TEST_GPU=1 the machine's own."""

import json
import os
import re
import signal
import sys
import urllib.request

import driver
import numpy as np
import pytest
import spdl
from driver import alike, needs_stand_in, uploaders
from driver import bytes_of as on_device
from engines import SPDL, Consumer, describe, eventually, run

pytestmark = pytest.mark.usefixtures("cuda")


def same_bytes(batch, name):
    return np.array_equal(on_device(batch.cuda[name]), np.ascontiguousarray(batch[name]).view(np.uint8).ravel())


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


@pytest.mark.parametrize("ahead", [[], [{"random_rotation": {"degrees": 40, "expand": True}}]], ids=["plain", "turned"])
def test_pictures_are_finished_on_the_device(pictures, ahead):
    finish = {"dtype": "f32", "normalize": "imagenet"}
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    with spdl.open(describe(pictures.path, image={"transform": [*ahead, {"resize": [8, 8]}]}, device={"finish": finish})) as loader:
        for batch in loader:
            got = on_device(batch.cuda["image"]).view(np.float32).reshape(batch.rows, 3, 8, 8)
            want = ((batch["image"] / 255 - mean) / std).transpose(0, 3, 1, 2)
            assert np.abs(got - want).max() < 1e-6, batch.ticket


def test_pictures_are_decoded_on_the_device(pictures):
    """Files of every kind: what the device does not decode the engine does. The stand-in for nvJPEG decodes as the engine does, so every byte is the
    same; host memory has the files."""
    order = {"shuffle": True, "seed": 5, "epochs": 2}
    image = {"transform": [{"random_resized_crop": 24}, {"horizontal_flip": 0.5}]}
    with spdl.open(describe(pictures.path, order=order, image=image)) as loader:
        want = [(batch["index"].copy(), batch["image"].copy()) for epoch in loader.epochs() for batch in epoch]
    files = {sample.path.read_bytes() for sample in pictures.samples}
    tickets, decoded = [], 0
    with spdl.open(describe(pictures.path, order=order, image=image, device={"decode": "nvjpeg", "jpeg_bytes": 65536})) as loader:
        for epoch in loader.epochs():
            for batch in epoch:
                index, pixels = want[batch.ticket]
                array = batch.cuda["image"]
                assert array.shape == pixels.shape and np.array_equal(batch["index"], index)
                assert alike(on_device(array), pixels), batch.ticket
                decoded += sum(row.tobytes() in files for row in batch["image"])
                tickets.append(batch.ticket)
        upload = loader.stats()["rings"][0]["upload"]
    plain = sum(sample.path.suffix == ".jpg" for sample in pictures.samples)
    assert tickets == list(range(2 * 14)) and upload["refused"] == 0
    assert 0.8 * 2 * plain < decoded <= 2 * plain  # but those that are far larger than their row


def test_decoded_pictures_are_finished_on_the_device(pictures):
    finish = {"dtype": "f32", "normalize": {"mean": [0.5, 0.5, 0.5], "std": [0.25, 0.5, 1.0]}}
    with spdl.open(describe(pictures.path)) as loader:
        want = [(batch["image"] / 255 - 0.5) / np.array([0.25, 0.5, 1.0]) for batch in loader]
    with spdl.open(describe(pictures.path, device={"decode": "nvjpeg", "finish": finish})) as loader:
        for batch in loader:
            got = on_device(batch.cuda["image"]).view(np.float32).reshape(batch.rows, 3, 8, 8)
            difference = np.abs(got - want[batch.ticket].transpose(0, 3, 1, 2))
            assert difference.mean() < 2 / 255 / 0.25 if driver.GPU else difference.max() < 1e-6, batch.ticket


@pytest.mark.parametrize("transform", [[{"resize": 30}, {"center_crop": [20, 44]}, {"horizontal_flip": 1}], [{"resize": [24, 36]}]])
def test_a_running_ring_of_files_is_shown(transform, serve, pictures, tmp_path):
    """The sheet of its batch is that of the description decoded by the processor: files, pixels in their place, and what is around a small picture."""
    from PIL import Image

    finish = {"dtype": "f16"} if len(transform) == 1 else None
    description = describe(pictures.path, batch=64, image={"transform": transform}, order={"shuffle": False, "epochs": 0})
    coded = {**description, "device": {"decode": "nvjpeg", **({"finish": finish} if finish else {})}}
    engine, sheets = serve(coded, "--http", "127.0.0.1:0", "--group", "running,slow=drop"), []  # view takes nothing of a ring that nobody reads
    for what in ([engine.name], ["--spec-json", json.dumps(description), "--name", "shown"]):
        done = run([SPDL, "view", *what, "--out", tmp_path / f"{len(sheets)}.png"])
        assert done.returncode == 0, done.stderr
        sheets.append(np.asarray(Image.open(tmp_path / f"{len(sheets)}.png").convert("RGB")))
    heading = 40  # pixels, with the ring's name
    assert sheets[0].shape == sheets[1].shape and sheets[0][heading:].std() > 40
    assert np.array_equal(sheets[0][heading:], sheets[1][heading:])
    page = re.search(r"page at (http://\S+)", engine.said())[1].rstrip("/")
    with urllib.request.urlopen(page + "/sheet.png", timeout=60) as answer:
        assert np.asarray(Image.open(answer).convert("RGB"))[heading:].std() > 40


@needs_stand_in
def test_refused_files_are_told(pictures, monkeypatch, capfd):
    """Files of one width are refused; their batches come all the same, and the log and the statistics say so."""
    from PIL import Image

    sizes = [Image.open(sample.path).size for sample in pictures.samples if sample.path.suffix == ".jpg"]
    width = next(w for w, h in sizes if max(w, h) < 100)
    monkeypatch.setenv("FAKE_NVJPEG_REFUSES", f" {width} ")
    with spdl.open(describe(pictures.path)) as loader:
        want = [batch["image"].copy() for batch in loader]
    with spdl.open(describe(pictures.path, device={"decode": "nvjpeg"})) as loader:
        for batch in loader:
            assert alike(on_device(batch.cuda["image"]), want[batch.ticket]), batch.ticket
        assert loader.stats()["rings"][0]["upload"]["refused"] == sum(w == width and h <= 128 for w, h in sizes)
    assert "the device does not decode sample" in capfd.readouterr().err


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
