"""spdl.DataLoader in the place of torch's, by one word: on data sets of the program's own whose __getitem__ reads frames by OpenCV's VideoCapture, batches are torch's to the bit, and files of which they are not are refused."""

import pathlib

import numpy as np
import pytest
from own_videos import FILES, MADE, PILLOWS, Videos, same, spdl, torch, write

cv2 = pytest.importorskip("cv2", reason="OpenCV is not installed (requirements-bench.txt)")
from PIL import Image  # noqa: E402
from torch.utils.data import Dataset  # noqa: E402
from torchvision.transforms import v2  # noqa: E402


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Videos of 40 to 52 frames, also of open groups and in AVI."""
    at = tmp_path_factory.mktemp("videos")
    for i, (name, options) in enumerate(MADE.items()):
        write(at / name, i, 40 + 4 * i, **{"g": 10, **options})
    return at


class Evenly(Videos):
    def __getitem__(self, i):
        cap = cv2.VideoCapture(self.files[i])
        total = int(cap.get(cv2.CAP_PROP_FRAME_COUNT))
        indices = np.linspace(0, total - 1, self.n).astype(int)
        frames = []
        for k in range(total):
            ret, frame = cap.read()
            if not ret:
                break
            if k in indices:
                frame = cv2.cvtColor(frame, cv2.COLOR_BGR2RGB)
                frame = cv2.resize(frame, (48, 32))
                frames.append(frame)
        cap.release()
        frames = np.array(frames)
        return torch.from_numpy(frames).permute(3, 0, 1, 2).float() / 255.0, i


class Transformed(Videos):
    def __getitem__(self, i):
        frames = []
        cap = cv2.VideoCapture(self.files[i])
        while cap.isOpened():
            ret, frame = cap.read()
            if not ret or len(frames) >= 6:
                break
            frame = cv2.cvtColor(frame, cv2.COLOR_BGR2RGB)
            frames.append(self.transform(Image.fromarray(frame)))
        cap.release()
        return torch.stack(frames), i


class ChosenBehind(Videos):
    def __getitem__(self, i):
        cap, frames = cv2.VideoCapture(self.files[i]), []
        try:
            while True:
                ret, frame = cap.read()
                if not ret:
                    break
                frames.append(frame[:, :, ::-1])
        finally:
            cap.release()
        indices = np.linspace(0, len(frames) - 1, 5).astype(int)
        return np.stack([frames[k] for k in indices]), len(frames)


def load_video(path, max_frames=10, resize=(40, 32)):
    cap = cv2.VideoCapture(path)
    frames = []
    try:
        while True:
            ret, frame = cap.read()
            if not ret:
                break
            frame = cv2.resize(frame, resize)
            frame = cv2.cvtColor(frame, cv2.COLOR_BGR2RGB)
            frames.append(frame)
            if len(frames) == max_frames:
                break
    finally:
        cap.release()
    return np.array(frames)


class ByAFunction(Videos):
    def __getitem__(self, i):
        frames = torch.from_numpy(load_video(self.files[i])).permute(0, 3, 1, 2)
        return frames / 255.0, i


class AllAtOnce(Videos):
    def __getitem__(self, i):
        cap = cv2.VideoCapture(self.files[i])
        frames = []
        while True:
            ret, frame = cap.read()
            if not ret:
                break
            frames.append(frame)
        while len(frames) < 60:
            frames.append(frames[-1])
        video = np.array(frames[2:60:7])[..., ::-1]
        return self.transform(torch.from_numpy(np.ascontiguousarray(video)).permute(0, 3, 1, 2)), i


@pytest.mark.parametrize("cls, transform, within", [(Evenly, None, 0), (Transformed, PILLOWS, 1e-6), (ChosenBehind, None, 0), (ByAFunction, None, 0), (AllAtOnce, v2.Resize((24, 32)), 0)])
def test_batches_are_torchs(root, cls, transform, within):
    same(cls(root, transform), within, batch_size=2)


class Named(Dataset):
    def __init__(self, *files):
        self.files = [str(FILES / name) for name in files]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        cap = cv2.VideoCapture(self.files[i])
        frames = []
        while True:
            ret, frame = cap.read()
            if not ret:
                break
            frames.append(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB))
        return np.stack(frames), i


EQUAL = ["bframes.mp4", "cropped.mp4", "edit.mp4", "fragments.mp4", "grey.mp4", "interlaced.mp4", "irregular.mkv", "irregular.mp4", "planar422.mp4", "planar444.mp4", "wide_pixels.mp4", "opengroup.mkv", "opengroup_hevc.mp4", "refresh.mkv"]
OTHERS = {"bt709.mp4": "colours are of bt709, which OpenCV takes for", "full.mp4": "in full range, which OpenCV takes for", "late.ts": "it is of mpegts", "ten_bits.mp4": "pixels of yuv420p10le", "odd.webm": "frames of 63x47", "turned90.mp4": "are to be turned",
          "motion.mov": "it is of mjpeg", "hole.mp4": "it is of mpeg4", "av1.mp4": "it is of av1"}


@pytest.mark.parametrize("name", EQUAL)
def test_frames_of_a_file_are_opencvs(name):
    same(Named(name), batch_size=1)


@pytest.mark.parametrize("name", OTHERS)
def test_a_file_whose_frames_opencv_has_otherwise_is_refused(name):
    if name == "av1.mp4" and not cv2.VideoCapture(str(FILES / name)).isOpened():
        pytest.skip("this OpenCV opens no AV1")
    with pytest.raises(spdl.ArgumentError, match=rf"Named\[0\]: .*{name}: .*{OTHERS[name]}.*, want |Named\[0\]: .*{name}: {OTHERS[name]}"):
        spdl.DataLoader(Named(name), batch_size=1)


class Blue(Videos):
    def __getitem__(self, i):
        cap, frames = cv2.VideoCapture(self.files[i]), []
        while True:
            ret, frame = cap.read()
            if not ret:
                break
            frames.append(frame)
        return np.stack(frames[:4]), i


class Sought(Videos):
    def __getitem__(self, i):
        cap, frames = cv2.VideoCapture(self.files[i]), []
        for k in (3, 9):
            cap.set(cv2.CAP_PROP_POS_FRAMES, k)
            ret, frame = cap.read()
            frames.append(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB))
        return np.stack(frames), i


class Sometimes(Videos):
    def __getitem__(self, i):
        cap, frames = cv2.VideoCapture(self.files[i]), []
        for k in range(9):
            ret, frame = cap.read()
            if k % 2:
                frame = cv2.cvtColor(frame, cv2.COLOR_BGR2RGB)
            frames.append(frame)
        return np.stack(frames), i


class TurnsBefore(Videos):
    def __getitem__(self, i):
        cap, frames, before = cv2.VideoCapture(self.files[i]), [], None
        for k in range(9):
            ret, frame = cap.read()
            if k:
                frames.append(before)
            before = frame
            frame = cv2.cvtColor(frame, cv2.COLOR_BGR2RGB)
            frames.append(frame)
        return np.stack(frames), i


class Two(Videos):
    def __getitem__(self, i):
        cap, frames = cv2.VideoCapture(self.files[i]), []
        for k in range(9):
            ret, frame = cap.read()
            if k % 2:
                frames.append(frame)
            else:
                frames.append(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB))
        return np.stack(frames), i


class Grey(Videos):
    def __getitem__(self, i):
        cap, frames = cv2.VideoCapture(self.files[i]), []
        while True:
            ret, frame = cap.read()
            if not ret:
                break
            frames.append(cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY))
        return np.stack(frames), i


class First(Videos):
    def __getitem__(self, i):
        cap = cv2.VideoCapture(self.files[i])
        ret, frame = cap.read()
        return cv2.cvtColor(frame, cv2.COLOR_BGR2RGB), i


class Mirrored(Videos):
    def __getitem__(self, i):
        cap, frames = cv2.VideoCapture(self.files[i]), []
        while True:
            ret, frame = cap.read()
            if not ret:
                break
            frames.append(frame)
        return np.ascontiguousarray(np.array(frames[:3])[:, :, ::-1]), i


class Bright(Videos):
    def __getitem__(self, i):
        cap, frames = cv2.VideoCapture(self.files[i]), []
        while True:
            ret, frame = cap.read()
            if not ret:
                break
            if frame.mean() > 10:
                frames.append(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB))
        return np.stack(frames[:4]), i


@pytest.mark.parametrize("cls, message", [
    (Blue, r"test_own_captures.py:\d+: got 'return \(np.stack"),
    (Sought, r"Sought\[0\]: Misplaced: VideoCapture.set\(1, 3\), by which OpenCV seeks to near frames, want frames read one after the other from the first one on"),
    (Sometimes, r"test_own_captures.py:\d+: got 'frame', of a frame of which conditions make different things"),
    (TurnsBefore, r"test_own_captures.py:\d+: got 'frames.append\(before\)', of the frame of the turn before"),
    (Two, r"test_own_captures.py:\d+: got 'frames.append\(cv2.cvtColor\(frame, cv2.COLOR_BGR2RGB\)\)', want a loop"),
    (Grey, r"of a picture whose blue comes first"),
    (First, r"test_own_captures.py:\d+: got 'cap.read\(\)'"),
    (Mirrored, r"test_own_captures.py:\d+: got 'np.array\(_spdl_frames\d+_0\)\[:, :, ::-1\]'"),
    (Bright, r"test_own_captures.py:\d+: got 'frame.mean\(\) > 10', want a loop"),
])
def test_what_is_refused(root, cls, message):
    with pytest.raises(spdl.ArgumentError, match=message):
        spdl.DataLoader(cls(root), batch_size=2)


def test_the_pages_block_runs(root):
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/own-datasets.md").read_text(encoding="utf-8")
    block = page.split("### decord, PyAV and OpenCV\n")[1].split("```")[5].removeprefix("python")
    script = root / "script.py"
    script.write_text(block)
    names = {"cv2": cv2, "np": np, "torch": torch, "__name__": "script"}
    exec(compile(block, str(script), "exec"), names)

    class Own(Videos):
        pass

    Own.__getitem__ = names["__getitem__"]
    same(Own(root, v2.Resize((24, 32))), batch_size=2)
