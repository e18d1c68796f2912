"""Videos that a device decodes: FFmpeg finds a driver without a GPU and its decoders (tests/cuda), in whose place FFmpeg's own decode, so that
rows are equal byte by byte to the processor's."""

import hashlib
import json
import shutil
import struct

import pytest
from engines import BUILD, ROOT, SPDL, environment, python, run

DRIVER = BUILD / "cuda"
FILES = ROOT / "core/media/video/testdata"
DECODED = ["odd.webm", "bframes.mp4", "cropped.mp4", "full.mp4", "turned90.mp4", "ten_bits.webm"]
REFUSED = ["av1.mp4", "ten_bits.mp4"]
COUNTS = 21  # of fake_stats in tests/cuda/fake.h


@pytest.fixture
def device(tmp_path):
    """The environment of a process that has the device, and what is on it."""

    class Device:
        environment = {"LD_LIBRARY_PATH": str(DRIVER), "FAKE_CUDA_STATS": str(tmp_path / "stats")}

        @staticmethod
        def holds():
            """Contexts, pieces of memory, decoders, mapped frames."""
            counts = struct.unpack(f"{COUNTS}Q", (tmp_path / "stats").read_bytes())
            return counts[0], counts[5], counts[16], counts[17]

    if not (DRIVER / "libnvcuvid.so.1").exists():
        pytest.fail(f"{DRIVER}/libnvcuvid.so.1 is missing; run `make fake-nvcuvid`")
    knows = python("import spdl.io; print(spdl.io.utils.built_with_nvcodec())", env=environment())
    if knows.stdout.strip() != "True" or "noffmpeg" in run([SPDL, "version"]).stdout:
        pytest.skip("the engine was built without FFmpeg, or with one that knows no device of CUDA")
    return Device


def videos(folder, names):
    folder.mkdir()
    for name in names:
        shutil.copy(FILES / name, folder / name)
    return folder


def describe(folder, **section):
    return {"source": {"folder": str(folder)}, "batch": 2, "order": {"shuffle": False, "epochs": 2},
            "video": {"frames": 4, "select": {"kind": "uniform"}, "transform": [{"resize": [24, 32]}], **section}}


def rows(loader):
    """A hash of each row of every epoch."""
    return [[hashlib.sha256(batch["video"][row].tobytes()).hexdigest() for batch in epoch for row in range(batch.rows)] for epoch in loader.epochs()]


def test_an_engine_gives_the_processors_rows_from_the_device_and_counts_them(tmp_path, device, serve, attach, open_):
    folder = videos(tmp_path / "videos", DECODED)
    want = rows(open_(describe(folder)))
    loader = attach(serve(describe(folder, hardware="cuda"), env=device.environment).name)
    assert rows(loader) == want and len(want[0]) == len(DECODED)
    counts = loader.stats()["rings"][0]["video"]
    assert (counts["on_device"], counts["on_processor"]) == (2 * len(DECODED), 0)
    assert device.holds() == (1, 0, 0, 0)


def test_what_the_device_does_not_decode_is_unsupported_or_the_processors(tmp_path, device, serve, attach, open_):
    folder = videos(tmp_path / "videos", DECODED + REFUSED)
    want = rows(open_(describe(folder)))
    loader = attach(serve(describe(folder, hardware="auto"), env=device.environment).name)
    assert rows(loader) == want
    counts = loader.stats()["rings"][0]["video"]
    assert (counts["on_device"], counts["on_processor"]) == (2 * len(DECODED), 2 * len(REFUSED))
    alone = attach(serve(describe(folder, hardware="cuda"), env=device.environment).name)
    assert [len(epoch) for epoch in rows(alone)] == [len(DECODED)] * 2
    assert alone.stats()["rings"][0]["bad_samples"]["causes"] == {"unsupported": 2 * len(REFUSED)}


def test_a_picture_that_the_device_cannot_decode_costs_its_sample_alone(tmp_path, device, serve, attach, open_):
    folder = videos(tmp_path / "videos", ["odd.webm", "ten_bits.webm"])
    want = rows(open_(describe(folder)))
    faulty = {**device.environment, "FAKE_CUDA_FAULT": "DecodePicture:2:719"}
    loader = attach(serve(describe(folder, hardware="cuda"), env=faulty).name)
    got = rows(loader)
    assert sum(map(len, got)) == 3 and set(sum(got, [])) == set(sum(want, []))
    ring = loader.stats()["rings"][0]
    assert ring["bad_samples"]["causes"] == {"device": 1} and ring["video"]["device_failed"] == 1
    loader = attach(serve(describe(folder, hardware="auto"), env=faulty).name)
    assert rows(loader) == want
    video = loader.stats()["rings"][0]["video"]
    assert (video["device_failed"], video["on_device"], video["on_processor"]) == (1, 3, 1)


LOAD = """
import json, sys
import numpy as np
import spdl.io

def array(name, **how):
    return spdl.io.load_video(name, **how).numpy()

for name in json.loads(sys.argv[1]):
    assert np.array_equal(array(name, hardware="cuda"), array(name)), name
    some = {"select": {"kind": "indices", "indices": [-1, 2, 0]}}
    assert np.array_equal(array(name, hardware="cuda", **some), array(name, **some)), name
    chunks = [chunk["video"].numpy() for chunk in spdl.io.streaming_load_video(name, 3, hardware="cuda")]
    assert np.array_equal(np.concatenate(chunks), array(name)), name
for name in json.loads(sys.argv[2]):
    try:
        array(name, hardware="cuda")
    except spdl.SampleError as error:
        assert "the device does not decode" in str(error), error
    else:
        raise AssertionError(name)
    assert np.array_equal(array(name, hardware="auto"), array(name)), name
print("as on the processor")
"""


def test_load_video_gives_the_processors_frames_from_the_device(device):
    done = python(LOAD, *(json.dumps([str(FILES / name) for name in names]) for names in (DECODED, REFUSED)), env=environment(**device.environment))
    assert done.stdout == "as on the processor\n", done.stderr
    assert device.holds() == (1, 0, 0, 0)


FAILING = """
import sys
import numpy as np
import spdl.io

name, want = sys.argv[1], spdl.io.load_video(sys.argv[1]).numpy()
if sys.argv[2] == "chunks":
    got = np.concatenate([chunk["video"].numpy() for chunk in spdl.io.streaming_load_video(name, 3, hardware="auto")])
else:
    got = spdl.io.load_video(name, hardware="auto").numpy()
assert np.array_equal(got, want)
print("as on the processor")
"""


@pytest.mark.parametrize("form", ["whole", "chunks"])
def test_the_processor_goes_on_with_a_video_at_which_the_device_fails(form, device):
    done = python(FAILING, str(FILES / "odd.webm"), form, env=environment(**device.environment, FAKE_CUDA_FAULT="DecodePicture:5:719"))
    assert done.stdout == "as on the processor\n", done.stderr
    assert device.holds() == (1, 0, 0, 0)
