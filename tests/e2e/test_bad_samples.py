"""Files that are no good pictures: counted by cause, named in the log, and nothing else of the epoch is lost."""

import json
import os
import shutil
import struct
import zlib

import numpy as np
import pytest
import spdl
from PIL import Image
from engines import FAILED, LANGUAGES, WATCHDOG, describe, eventually, example, groups, python
from pictures import Folder, folder_of, make_folder

BAD = 4  # the sample that is spoiled, of 12


def giant_png(path):
    """A PNG whose header promises 100,000 x 100,000 pixels."""
    ihdr = b"IHDR" + struct.pack(">IIBBBBB", 100000, 100000, 8, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + ihdr + struct.pack(">I", zlib.crc32(ihdr)) + bytes(64))


def giant_jpeg(path):
    """A JPEG whose header promises 65,000 x 65,000 pixels, all that the format can say."""
    data = bytearray(path.read_bytes())
    at = 2
    while data[at + 1] not in (0xC0, 0xC2):
        at += 2 + struct.unpack(">H", data[at + 2:at + 4])[0]
    data[at + 5:at + 9] = struct.pack(">HH", 65000, 65000)
    path.write_bytes(data)


def truncate(path):
    os.truncate(path, path.stat().st_size // 2)


SPOILERS = {  # cause: what makes it
    "empty": lambda path: path.write_bytes(b""),
    "truncated": truncate,
    "not_an_image": lambda path: path.write_text("this is a text, whatever its name says\n"),
    "too_many_pixels (png)": giant_png,
    "too_many_pixels (jpeg)": giant_jpeg,
    "corrupt": lambda path: path.write_bytes(b"\xff\xd8\xff\xc4\x00\x05" + bytes(64)),
    "missing": lambda path: (path.unlink(), path.symlink_to("nowhere.jpg")),
}


@pytest.fixture
def twelve(tmp_path):
    """A dozen JPEGs, in order, to spoil."""
    (tmp_path / "of").mkdir()
    made = make_folder(tmp_path / "of", 12, seed=2)
    paths = []
    for i, sample in enumerate(made.samples):
        paths.append(made.path / "a" / f"{i:02}.jpg")
        paths[-1].parent.mkdir(exist_ok=True)
        if sample.path.suffix == ".png":
            Image.open(sample.path).convert("RGB").save(paths[-1])
            sample.path.unlink()
        else:
            sample.path.rename(paths[-1])
    return folder_of(made.path, paths)


def spoil(folder: Folder, how):
    path = folder.samples[BAD].path
    SPOILERS[how](path)
    return path


def bad_of(loader):
    return loader.stats()["rings"][0]["bad_samples"]


@pytest.mark.parametrize("how", SPOILERS)
def test_a_bad_sample_is_left_out_counted_and_named(open_, twelve, how, capfd):
    """skip, the default: delivered + bad = planned; the hole closes in order; the log names file and cause."""
    path, cause = spoil(twelve, how), how.split()[0]
    loader = open_(describe(twelve.path))
    batches = [(b.rows, b.n_bad, b["index"].tolist(), b.sample_keys) for b in loader]
    assert [i for *_, index, _ in batches for i in index] == [i for i in range(12) if i != BAD]
    assert [(rows, bad) for rows, bad, *_ in batches] == [(4, 0), (3, 1), (4, 0)]
    assert f"a/{path.name}" not in [key for *_, keys in batches for key in keys]
    counted = bad_of(loader)
    assert counted["total"] == 1 and counted["causes"] == {cause: 1}, counted
    assert any(f"a/{path.name}" in text for text in counted["last"])
    loader.close()
    told = [line for line in capfd.readouterr().err.splitlines() if path.name in line]
    assert len(told) == 1 and cause in told[0] and " warn " in told[0], told


def test_a_giant_header_costs_no_memory(open_, twelve):
    """The pixel limit is judged from the header: the engine does not reserve 30 GB, and says which key raises the limit."""
    spoil(twelve, "too_many_pixels (png)")
    loader = open_(describe(twelve.path))
    assert sum(b.rows for b in loader) == 11
    text = bad_of(loader)["last"][0]
    assert "100000" in text and "max_pixels" in text, text
    assert loader.stats()["memory"]["rss"] < 4 << 30


@pytest.mark.skipif(shutil.which("setpriv") is None and os.geteuid() == 0, reason="root may read everything; needs setpriv")
def test_an_unreadable_file_is_a_bad_sample(twelve, place):
    """Mode 0000: cause permission, and the other pictures come."""
    for path in (twelve.path, *twelve.path.parents[:3], *twelve.path.rglob("*")):  # whatever the umask is
        os.chmod(path, os.stat(path).st_mode | 0o055)
    os.chmod(twelve.samples[BAD].path, 0)
    script = """if 1:
        import json, os, sys, spdl
        if os.geteuid() == 0:
            os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
        with spdl.open(json.loads(sys.argv[1])) as loader:
            print(sum(batch.rows for batch in loader), loader.stats()["rings"][0]["bad_samples"]["causes"])
    """
    ours = {"PYTHONPATH": str(place / "python"), "SPDL_LIBRARY": str(place / "libspdl.so.0"), "SPDL_ENGINE": str(place / "spdl"),
            "SPDL_ENGINE_LIBRARY": str(place / "libspdl_engine.so")}
    read = python(script, json.dumps(describe(twelve.path)), env={**os.environ, **ours}, cwd="/")
    assert read.stdout == "11 {'permission': 1}\n", read.stderr


def test_mask_keeps_the_row_and_says_so(open_, twelve):
    """The row is zero, status 1, the index stays; every language sees the same bytes."""
    spoil(twelve, "truncated")
    loader = open_(describe(twelve.path, bad_sample={"policy": "mask"}))
    for batch in loader:
        assert batch["index"].tolist() == list(range(4 * batch.step, 4 * batch.step + 4))
        bad = [i == BAD for i in batch["index"].tolist()]
        assert batch["status"].tolist() == [int(b) for b in bad] and batch.n_bad == sum(bad)
        assert [not picture.any() for picture in batch["image"]] == bad


def test_substitute_puts_the_nearest_good_row_before_it(open_, twelve):
    """Cyclically: the first row of the batch takes the last one's place; status 2, and the substitute's index."""
    spoil(twelve, "truncated")
    loader = open_(describe(twelve.path, bad_sample={"policy": "substitute"}))
    for batch in loader:
        if batch.step == 1:
            assert batch["index"].tolist() == [7, 5, 6, 7] and batch["status"].tolist() == [2, 0, 0, 0]
            np.testing.assert_array_equal(batch["image"][0], batch["image"][3])
            assert batch.sample_keys[0] == batch.sample_keys[3]


@pytest.mark.parametrize("language", LANGUAGES)
def test_fail_ends_every_consumer_with_the_reason(serve, twelve, language):
    """What was published before may be read; then the consumer is told which file it was and why, and ends with 1."""
    path = spoil(twelve, "truncated")
    engine = serve(describe(twelve.path, bad_sample={"policy": "fail"}, ring=groups("g")))
    code, out, err = example(language, engine.name, "g").end()
    assert code == 1 and f"a/{path.name}" in err and "the data stop early" in err, err
    assert path.name in engine.said()
    assert engine.stop() == FAILED


def test_the_budget_of_bad_samples_is_judged_in_order(open_, twelve):
    """max_count: 2 passes two bad samples and fails at the third, wherever the threads are."""
    for sample in twelve.samples[5:8]:
        sample.path.write_bytes(b"")
    loader = open_(describe(twelve.path, batch=1, bad_sample={"max_count": 2}))
    steps = []
    with pytest.raises(spdl.EngineFailed, match="a/07.jpg"):
        for batch in loader:
            steps.append(batch.step)
    assert steps == list(range(7))


def test_an_epoch_of_bad_samples_alone_ends_the_loop(open_, twelve):
    """With the number, the cause of most and one of them; where all may be bad, batches without rows keep the count of steps."""
    for sample in twelve.samples:
        sample.path.write_bytes(b"")
    loader = open_(describe(twelve.path, order={"epochs": 2}))
    with pytest.raises(spdl.EngineFailed, match=r"epoch 0: none of its 12 samples is good; 12 are bad by cause empty, such as: source: sample \d+ \"./.*max_rate: 1"):
        list(loader)
    loader = open_(describe(twelve.path, order={"epochs": 2}, bad_sample={"max_rate": 1}))
    assert [[(b.rows, b.n_bad) for b in loader] for _ in range(2)] == [[(0, 4)] * 3] * 2
    assert bad_of(loader)["total"] == 24


def test_a_thousand_bad_samples_do_not_flood_the_log(serve, attach, tmp_path):
    """The first ones are named one by one; what follows is summed up; the counters have them all."""
    (tmp_path / "bad").mkdir()
    for i in range(1000):
        (tmp_path / "bad" / f"{i:04}.jpg").write_bytes(b"")
    engine = serve(describe(tmp_path / "bad", batch=50, ring=groups("g"), bad_sample={"max_rate": 1}))
    loader = attach(engine.name, "g")
    assert sum(b.n_bad for b in loader) == 1000
    eventually("the counters", lambda: bad_of(loader)["total"] == 1000, WATCHDOG)
    named = [line for line in engine.said().splitlines() if "bad sample, empty" in line or "bad samples" in line]
    assert 10 <= len(named) <= 60, len(named)
