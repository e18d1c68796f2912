"""FFmpeg is loaded by the first picture that needs it, and not by an engine that meets none."""

import pathlib
import subprocess

import pytest
from PIL import Image
from engines import SPDL, describe, environment, eventually


def lazily_linked():
    linked = subprocess.run(["readelf", "-d", str(SPDL)], capture_output=True, text=True, check=True).stdout
    return "libav" not in linked and "FFmpeg" in subprocess.run([str(SPDL), "version"], capture_output=True, text=True).stdout


pytestmark = pytest.mark.skipif(not lazily_linked(), reason="the engine under test is linked against FFmpeg itself, or built without it")


def mapped(engine):
    return "libavcodec" in pathlib.Path(f"/proc/{engine.pid}/maps").read_text()


@pytest.fixture
def jpeg_then_bmp(tmp_path):
    """Eight JPEGs, in order, then eight BMPs: two batches of each."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    for i in range(16):
        Image.new("RGB", (20 + i, 30), (i, 0, 0)).save(folder / f"{i:02}.{'jpg' if i < 8 else 'bmp'}")
    return folder


def test_an_engine_of_jpegs_runs_without_ffmpeg(serve, name, attach, jpeg_then_bmp):
    for bmp in jpeg_then_bmp.glob("*.bmp"):
        bmp.unlink()
    engine = serve(describe(jpeg_then_bmp), name=name)
    assert sum(batch.rows for batch in attach(name)) == 8
    assert not mapped(engine)


def test_the_first_bmp_loads_ffmpeg(serve, name, attach, jpeg_then_bmp):
    engine = serve(describe(jpeg_then_bmp), name=name)
    assert sum(batch.rows for batch in attach(name)) == 16
    assert mapped(engine)


def test_without_its_libraries_ffmpegs_pictures_are_unsupported_samples_and_jpegs_go_on(serve, name, attach, jpeg_then_bmp, tmp_path):
    broken = tmp_path / "libraries"
    broken.mkdir()
    needed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, env=environment(PATH="/sbin:/usr/sbin:/bin:/usr/bin")).stdout
    for soname in {word for word in needed.split() if word.startswith("libswscale.so.")}:
        (broken / soname).write_bytes(b"")
    assert list(broken.iterdir()), "no libswscale known to ldconfig"
    engine = serve(describe(jpeg_then_bmp), name=name, env={"LD_LIBRARY_PATH": str(broken)})
    loader = attach(name)
    assert sum(batch.rows for batch in loader) == 8
    assert loader.stats()["rings"][0]["bad_samples"]["causes"] == {"unsupported": 8}
    eventually("the log to say why", lambda: "FFmpeg does not load" in engine.said() and "libswscale" in engine.said())
