"""spdl.DataLoader in the place of torch's, by one word: on data sets of the program's own whose __getitem__ goes through frames by PyAV, batches are torch's to the bit, and files of which they are not are refused."""

import pathlib

import numpy as np
import pytest
from own_videos import FILES, MADE, PILLOWS, SMALL, Videos, same, spdl, torch, write

av = pytest.importorskip("av", reason="PyAV is not installed (requirements-bench.txt)")
import cv2  # noqa: E402
from PIL import Image  # noqa: E402
from torch.utils.data import Dataset  # noqa: E402

from spdl._torch import containers  # noqa: E402


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Videos of 40 to 52 frames, also of open groups and in AVI, of MPEG-4."""
    at = tmp_path_factory.mktemp("videos")
    for i, (name, options) in enumerate(MADE.items()):
        write(at / name, i, 40 + 4 * i, "mpeg4" if name.endswith("avi") else "libx264", **{"g": 10, **options})
    return at


def read_video_pyav(container, indices):
    """As Hugging Face's guides have it."""
    frames = []
    container.seek(0)
    start_index = indices[0]
    end_index = indices[-1]
    for i, frame in enumerate(container.decode(video=0)):
        if i > end_index:
            break
        if i >= start_index and i in indices:
            frames.append(frame)
    return np.stack([x.to_ndarray(format="rgb24") for x in frames])


class ByAFunction(Videos):
    def __getitem__(self, i):
        container = av.open(self.files[i])
        indices = np.linspace(0, 35, self.n).astype(int)
        return read_video_pyav(container, indices), container.streams.video[0].width


class Inline(Videos):
    def __getitem__(self, i):
        container = av.open(self.files[i])
        frames, wanted = [], set(range(3, 39, 7))
        for k, frame in enumerate(container.decode(video=0)):
            if k in wanted:
                frames.append(frame)
        video = torch.from_numpy(np.stack([frame.to_ndarray(format="rgb24") for frame in frames])).permute(0, 3, 1, 2)
        return self.transform(video), i


class All(Videos):
    def __getitem__(self, i):
        container = av.open(self.files[i])
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
        indices = np.linspace(0, len(frames) - 1, 6).astype(int)
        frames = [frames[k] for k in indices]
        container.close()
        return torch.from_numpy(np.stack(frames)).permute(3, 0, 1, 2), torch.from_numpy(indices)


class InTheLoop(Videos):
    def __getitem__(self, i):
        frames = []
        with av.open(self.files[i]) as container:
            stream = container.streams.video[0]
            stream.thread_type = "AUTO"
            for frame in container.decode(stream):
                if len(frames) >= 5:
                    break
                picture = frame.to_image()
                frames.append(self.transform(picture))
        return torch.stack(frames), i


class UpToATime(Videos):
    def __getitem__(self, i):
        frames = []
        container = av.open(self.files[i])
        for frame in container.decode(video=0):
            if frame.time > 0.2:
                break
            frames.append(frame.to_image())
        while len(frames) < 8:
            frames.append(frames[-1])
        frames = frames[:8]
        return torch.stack([self.transform(frame) for frame in frames], dim=1), self.files[i]


class AComprehension(Videos):
    def __getitem__(self, i):
        container = av.open(self.files[i])
        video = np.stack([frame.to_rgb().to_ndarray(format="rgb24") for k, frame in enumerate(container.decode(video=0)) if k in (3, 5, 20)])
        return self.transform(torch.from_numpy(video).permute(0, 3, 1, 2)), i


def load(path, n):
    container = av.open(path)
    frames = []
    for frame in container.decode(video=0):
        frames.append(frame.to_ndarray(format="rgb24"))
    indices = np.linspace(0, len(frames) - 1, n).astype(int)
    return np.array([frames[i] for i in indices])


class Loaded(Videos):
    def __getitem__(self, i):
        video = load(self.files[i], self.n)
        return np.stack([cv2.resize(frame, (40, 32)) for frame in video]), i


class Twice(Videos):
    def __getitem__(self, i):
        container = av.open(self.files[i])
        frames = list(container.decode(video=0))
        count = len(frames)
        container.seek(0)
        first = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
        first = first[count // 2:count // 2 + 2]
        return torch.from_numpy(np.stack(first)), count


@pytest.mark.parametrize("cls, transform, within", [
    (ByAFunction, None, 0), (Inline, SMALL, 2e-6), (All, None, 0), (InTheLoop, PILLOWS, 1e-6), (UpToATime, PILLOWS, 1e-6), (AComprehension, SMALL, 2e-6), (Loaded, None, 0), (Twice, None, 0),
])
def test_batches_are_torchs(root, cls, transform, within):
    same(cls(root, transform), within, batch_size=2)


class Named(Dataset):
    def __init__(self, *files):
        self.files = [str(FILES / name) for name in files]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        container = av.open(self.files[i])
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
        return np.stack(frames), i


EQUAL = ["bframes.mp4", "bt709.mp4", "cropped.mp4", "edit.mp4", "fragments.mp4", "full.mp4", "grey.mp4", "irregular.mkv", "irregular.mp4", "planar422.mp4", "planar444.mp4", "wide_pixels.mp4",
         "opengroup.mkv", "opengroup_hevc.mp4", "refresh.mkv", "av1.mp4", "grain.mkv"]
OTHERS = {"interlaced.mp4": "frames of fields", "field_pairs.mkv": "frames of fields", "late.ts": "it is of mpegts", "ten_bits.mp4": "pixels of yuv420p10le", "odd.webm": "frames of 63x47", "turned90.mp4": "are to be turned",
          "mirrored.mp4": "are to be turned", "motion.mov": "it is of mjpeg", "hole.mp4": "packets without pictures"}


@pytest.mark.parametrize("name", EQUAL)
def test_frames_of_a_file_are_pyavs(name):
    same(Named(name), batch_size=1)


@pytest.mark.parametrize("name", OTHERS)
def test_a_file_whose_frames_pyav_has_otherwise_is_refused(name):
    with pytest.raises(spdl.ArgumentError, match=rf"Named\[0\]: .*{name}: it.*{OTHERS[name].split()[-1]}.*, want .*"):
        spdl.DataLoader(Named(name), batch_size=1)


class Blue(Videos):
    def __getitem__(self, i):
        container = av.open(self.files[i])
        frames = [frame.to_ndarray(format="bgr24") for frame in container.decode(video=0)]
        return np.stack(frames), i


class Demuxed(Videos):
    def __getitem__(self, i):
        container = av.open(self.files[i])
        frames = []
        for packet in container.demux(video=0):
            for frame in packet.decode():
                frames.append(frame.to_ndarray(format="rgb24"))
        return np.stack(frames), i


class Sought(Videos):
    def __getitem__(self, i):
        container = av.open(self.files[i])
        container.seek(500000)
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
        return np.stack(frames[:2]), i


class GoingOn(Videos):
    def __getitem__(self, i):
        container = av.open(self.files[i])
        for frame in container.decode(video=0):
            if frame.pts >= 0:
                break
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
        return np.stack(frames[:2]), i


class Mean(Videos):
    def __getitem__(self, i):
        container = av.open(self.files[i])
        frames = []
        total = 0.0
        for frame in container.decode(video=0):
            total += frame.to_ndarray(format="rgb24").mean()
            frames.append(frame)
        return np.stack([frame.to_ndarray(format="rgb24") for frame in frames[:3]]), total


class KeysAlone(Videos):
    def __getitem__(self, i):
        container = av.open(self.files[i])
        container.streams.video[0].codec_context.skip_frame = "NONKEY"
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
        return np.stack(frames[:2]), i


class Mixed(Videos):
    def __getitem__(self, i):
        container = av.open(self.files[i])
        frames = []
        for k, frame in enumerate(container.decode(video=0)):
            if k == 0:
                frames.append(frame.to_image())
            else:
                frames.append(frame)
        return torch.stack([self.transform(frame) for frame in frames[:3]]), i


@pytest.mark.parametrize("cls, transform, message", [
    (Blue, None, r"test_own_pyav.py:\d+: got \"frame.to_ndarray\(format='bgr24'\)\", want frame.to_ndarray\(format=\"rgb24\"\) or frame.to_image\(\)"),
    (Demuxed, None, r"test_own_pyav.py:\d+: got 'av.open\(self.files\[i\]\)', a video, want torchcodec's VideoDecoder, decord's VideoReader, PyAV's container or OpenCV's VideoCapture"),
    (Sought, None, r"Sought\[0\]: Misplaced: container.seek\(500000\), want container.seek\(0\), and frames by their numbers"),
    (GoingOn, None, r"GoingOn\[0\]: Misplaced: container.decode goes on behind what was decoded before, want container.seek\(0\) ahead of it"),
    (Mean, None, r"test_own_pyav.py:\d+: got \"total \+= frame.to_ndarray\(format='rgb24'\).mean\(\)\", want a loop over container.decode\(video=0\), or with capture.read\(\), that puts frames"),
    (KeysAlone, None, r"Misplaced: codec_context.skip_frame or options are set, by which a decoder gives other frames"),
    (Mixed, PILLOWS, r"test_own_pyav.py:\d+: got 'frames.append\(frame\)', want a loop over container.decode"),
])
def test_what_is_refused(root, cls, transform, message):
    with pytest.raises((spdl.ArgumentError, spdl.SpecError), match=message):
        spdl.DataLoader(cls(root, transform), batch_size=2)


def test_avi_with_b_frames(tmp_path):
    """Which says when packets are decoded and no more."""
    frames = np.random.default_rng(0).integers(0, 256, (20, 48, 64, 3), dtype=np.uint8)
    spdl.io.save_video(tmp_path / "0.avi", frames, 25, codec="mpeg4", stored="yuv420p", options={"bf": 2})
    same(All(tmp_path), batch_size=1)
    same(UpToATime(tmp_path, PILLOWS), 1e-6, batch_size=1)


def test_the_times_of_packets_without_them_are_refused(root):
    container = containers.Container(av.open, str(root / "0.mp4"))
    container._pts = [-1, *container._times()[1:]]
    with pytest.raises(TypeError, match="a frame's pts is asked for, of a file whose packets do not all have one"):
        containers.Still(container, 0).time


def test_the_pages_block_runs(root):
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/own-datasets.md").read_text(encoding="utf-8")
    block = page.split("### decord, PyAV and OpenCV\n")[1].split("```")[3].removeprefix("python")
    script = root / "script.py"
    script.write_text(block)
    names = {"Dataset": Dataset, "av": av, "np": np, "torch": torch, "Image": Image, "__name__": "script"}
    exec(compile(block, str(script), "exec"), names)

    class Own(Videos):
        pass

    Own.__getitem__ = names["__getitem__"]
    same(Own(root, PILLOWS), 1e-6, batch_size=2)
