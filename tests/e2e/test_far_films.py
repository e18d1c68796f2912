"""Large videos and sounds in a store: the rows of the files, of which no more crosses the network than they need."""

import shutil

import numpy as np
import pytest
import spdl
import spdl.io
from hub import hub

RATE, FPS, FRAMES, SAMPLES = 16000, 24, 96, 16000 * 60 * 9 * 2
PIXELS = [{"resize": [24, 24]}]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A film of 37 MB with a group of pictures of 8 frames, 0.44 MB a frame, and a sound of 9 minutes in 35 MB."""
    root = tmp_path_factory.mktemp("far") / "n"
    (root / "films").mkdir(parents=True)
    rng = np.random.default_rng(7)
    frames = rng.integers(0, 256, (FRAMES, 480, 640, 3), np.uint8)
    options = {"qp": "6", "g": "8", "bf": "0", "sc_threshold": "0", "preset": "ultrafast"}
    spdl.io.save_video(root / "films/a.mp4", frames, FPS, codec="libx264", options=options)
    spdl.io.save_audio(root / "films/a.wav", rng.integers(-9000, 9000, (2, SAMPLES // 2), np.int16), RATE)
    assert min(f.stat().st_size for f in (root / "films").iterdir()) > 32 << 20
    yield root
    shutil.rmtree(root)


@pytest.fixture
def server(root, monkeypatch, tmp_path):
    monkeypatch.setenv("SPDL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    with hub(root) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def rows(open_, spec):
    loader = open_(spec)
    all_ = [(np.array(b["video"][i]), np.array(b["audio"][i]), b["pts"][i].tolist()) for b in loader for i in range(len(b["video"]))]
    return all_, loader.stats()["rings"][0]


def test_a_ring_reads_what_it_needs(server, root, open_):
    table = root / "clips.csv"
    table.write_text("path,sound,start\n" + "".join(f"films/a.mp4,films/a.wav,{k}\n" for k in (0, 1, 2, 3, 2, 1)))
    window = {"start_column": "start", "duration": "250ms"}
    spec = {"source": {"list": str(table), "labels": "none", "columns": [{"name": "start", "type": "f64"}]}, "batch": 2, "order": {"shuffle": False, "epochs": 1},
            "video": {"frames": 4, "select": {"kind": "uniform"}, "window": window, "transform": PIXELS},
            "audio": {"from": "sound", "rate": RATE, "length": 4000, "window": window}}
    want, _ = rows(open_, spec)
    spec["source"]["root"] = "hf://datasets/u/n"
    got, stats = rows(open_, spec)
    assert len(got) == len(want) == 6
    for (frames, sound, pts), (frames_there, sound_there, pts_there) in zip(got, want):
        assert np.array_equal(frames, frames_there) and np.array_equal(sound, sound_there) and pts == pts_there
    there = sum(f.stat().st_size for f in (root / "films").iterdir())
    remote = stats["source"]["remote"]
    assert remote["bytes"] < 0.6 * there, f"{remote} of {there} bytes"
    assert stats["video"]["index_made"] + stats["video"]["index_read"] == 6 and stats["video"]["index_made"] <= 2


def test_a_single_clip_reads_what_it_needs(server, root):
    film, sound = "hf://datasets/u/n/films/a.mp4", "hf://datasets/u/n/films/a.wav"
    for source, near, load in ((film, root / "films/a.mp4", spdl.io.load_video), (sound, root / "films/a.wav", spdl.io.load_audio)):
        window = {"start": "2s", "duration": "100ms"}
        asked = len(server.asked)
        assert np.array_equal(load(source, window=window).numpy(), load(str(near), window=window).numpy())
        assert len(server.asked) - asked < 20
    assert spdl.io.probe_video(film) == spdl.io.probe_video(str(root / "films/a.mp4"))


def test_an_object_that_is_gone_is_named(server, root, tmp_path, open_):
    moved = root / "films/a.mp4"
    with pytest.raises(spdl.SampleError) as refused:
        spdl.io.load_video("hf://datasets/u/n/films/b.mp4")
    assert "b.mp4" in str(refused.value) and "404" in str(refused.value) and moved.exists()
