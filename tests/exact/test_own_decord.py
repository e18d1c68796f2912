"""spdl.DataLoader in the place of torch's, by one word: on data sets of the program's own whose __getitem__ takes frames of a video by decord, batches are torch's to the bit, and files of which they are not are refused."""

import json
import pathlib
import random

import numpy as np
import pytest
from own_videos import FILES, PILLOWS, SMALL, Videos, equal, same, spdl, torch, write

decord = pytest.importorskip("decord", reason="decord is not installed (requirements-bench.txt)")
import cv2  # noqa: E402
from decord import VideoReader, cpu  # noqa: E402
from PIL import Image  # noqa: E402
from torch.utils.data import ConcatDataset, Dataset, RandomSampler, Sampler, Subset  # noqa: E402
from torchvision import transforms as T  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

N = 5
decord.logging.set_level(decord.logging.QUIET)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Videos of 40 to 56 frames with B-frames, all of one size."""
    at = tmp_path_factory.mktemp("videos")
    for i in range(N):
        write(at / f"{i}.mp4", i, 40 + 4 * i, g=11 + i)
    return at


class Evenly(Videos):
    def __getitem__(self, i):
        vr = VideoReader(self.files[i], ctx=cpu(0), num_threads=1)
        indices = np.linspace(0, len(vr) - 1, self.n).astype(int)
        frames = torch.from_numpy(vr.get_batch(indices).asnumpy()).permute(0, 3, 1, 2)
        return self.transform(frames), i


class Arrays(Videos):
    def __getitem__(self, i):
        vr = VideoReader(self.files[i])
        step = max(1, round(vr.get_avg_fps() / 4))
        return vr.get_batch(list(range(0, len(vr), step))[:4]).asnumpy(), self.files[i]


class Floats(Videos):
    def __getitem__(self, i):
        vr = VideoReader(self.files[i], num_threads=2)
        frames = torch.tensor(vr.get_batch([0, 5, -1, 5]).asnumpy()).permute(3, 0, 1, 2).float() / 255.0
        return frames, i


class FloatsThroughTransforms(Videos):
    def __getitem__(self, i):
        vr = VideoReader(self.files[i])
        frames = torch.from_numpy(vr.get_batch([0, 4]).asnumpy())
        frames = frames.permute(0, 3, 1, 2).float() / 255
        return v2.functional.normalize(v2.functional.center_crop(frames, [64, 64]), [0.4, 0.4, 0.4], [0.2, 0.2, 0.2]), i


class Sliced(Videos):
    def __getitem__(self, i):
        vr = VideoReader(self.files[i])
        frames = torch.from_numpy(vr[2:20:3].asnumpy())
        frames = frames.float() / 127.5 - 1
        return {"frames": frames, "length": len(vr), "seconds": len(vr) / vr.get_avg_fps()}


def load_video(path, n):
    vr = VideoReader(path, ctx=cpu(0))
    if len(vr) < n:
        indices = np.arange(len(vr))
    else:
        indices = np.linspace(0, len(vr) - 1, n)
    indices = indices.astype(np.int64)
    return vr.get_batch(indices).asnumpy(), indices


class ByAFunction(Videos):
    def __getitem__(self, i):
        frames, indices = load_video(self.files[i], self.n)
        made = []
        for frame in frames:
            made.append(self.transform(Image.fromarray(frame)))
        return torch.stack(made), torch.from_numpy(indices), i


class ByAMethod(Videos):
    def _load(self, path):
        vr = VideoReader(path)
        part = float(len(vr) - 1) / self.n
        indices = np.array([int(part * (k + 0.5)) for k in range(self.n)])
        return vr.get_batch(indices).asnumpy()

    def __getitem__(self, i):
        try:
            video = self._load(self.files[i])
        except Exception as error:
            print(error)
        video = np.stack([cv2.resize(frame, (40, 32)) for frame in video], axis=0)
        return video.transpose(3, 0, 1, 2), i


class Bridged(Videos):
    def __getitem__(self, i):
        decord.bridge.set_bridge("torch")
        vr = VideoReader(self.files[i])
        frames = vr.get_batch(np.arange(8) * 3)
        decord.bridge.set_bridge("native")
        return self.transform(frames.permute(0, 3, 1, 2)), i


class PicturesOfPillow(Videos):
    def __getitem__(self, i):
        vr = VideoReader(self.files[i])
        vr.seek(0)
        indices = np.linspace(0, len(vr) - 1, 4).round().astype(int).tolist()
        frames = [Image.fromarray(frame) for frame in vr.get_batch(indices).asnumpy()]
        del vr
        frames = torch.stack([self.transform(frame) for frame in frames], dim=1)
        return {"pixel_values": frames, "indices": torch.tensor(indices)}


class OneByOne(Videos):
    def __getitem__(self, i):
        vr = VideoReader(self.files[i])
        frames = [Image.fromarray(vr[k].asnumpy()).convert("RGB") for k in range(0, 40, 10)]
        return torch.stack([self.transform(frame) for frame in frames]), i


class Apart(Videos):
    def __getitem__(self, i):
        vr = VideoReader(self.files[i])
        frames = []
        for k in [3, 1, 2]:
            frames.append(self.transform(Image.fromarray(vr[int(k)].asnumpy())))
        return torch.stack(frames, 0), i


class Resized(Videos):
    def __getitem__(self, i):
        vr = VideoReader(self.files[i])
        frames = np.stack([np.array(Image.fromarray(frame).resize((40, 32), Image.BICUBIC)) for frame in vr.get_batch([1, 2, 3]).asnumpy()])
        frames = frames.astype(np.float32) / 255.0
        return torch.from_numpy(frames).permute(3, 0, 1, 2), i


class Asked(Videos):
    def __getitem__(self, i):
        vr = VideoReader(self.files[i])
        frames = vr.get_batch([1, 5]).asnumpy()
        t, h, w, c = frames.shape
        tensor = torch.from_numpy(frames).permute(0, 3, 1, 2)
        return tensor, (t, h, w, c), len(frames), list(tensor.shape)


class Timed(Videos):
    def __getitem__(self, i):
        vr = VideoReader(self.files[i])
        times = vr.get_frame_timestamp(list(range(len(vr))))[:, 0]
        return vr.get_batch(np.searchsorted(times, [0.1, 0.5, 0.9])).asnumpy(), vr.get_key_indices()[1]


class Single(Videos):
    """A frame of a video as a picture."""

    def __getitem__(self, i):
        vr = VideoReader(self.files[i])
        frame = vr[len(vr) // 2].asnumpy()
        return self.transform(Image.fromarray(frame)), frame, torch.from_numpy(vr[3].asnumpy()).permute(2, 0, 1).float() / 255


class SlowAndFast(Videos):
    def __getitem__(self, i):
        vr = VideoReader(self.files[i])
        slow = torch.from_numpy(vr.get_batch([0, 8, 16]).asnumpy()).permute(0, 3, 1, 2)
        fast = torch.from_numpy(vr.get_batch(range(0, 24, 2)).asnumpy()).permute(0, 3, 1, 2)
        return [self.transform(slow), self.transform(fast)], i


def spread(reader, n):
    return np.arange(n) * (len(reader) // n)


class Lent(Videos):
    """A function of its own has the reader, and takes nothing of it."""

    def __getitem__(self, i):
        vr = VideoReader(self.files[i])
        return torch.from_numpy(vr.get_batch(spread(vr, 4)).asnumpy()), i


@pytest.mark.parametrize("cls, transform, within", [
    (Evenly, SMALL, 2e-6), (Arrays, None, 0), (Floats, None, 0), (FloatsThroughTransforms, None, 1e-6), (Sliced, None, 0), (ByAFunction, PILLOWS, 1e-6), (ByAMethod, None, 0), (Bridged, SMALL, 2e-6),
    (PicturesOfPillow, PILLOWS, 1e-6), (OneByOne, PILLOWS, 1e-6), (Apart, PILLOWS, 1e-6), (Resized, None, 0), (Asked, None, 0), (Timed, None, 0), (SlowAndFast, SMALL, 2e-6), (Single, PILLOWS, 1e-6), (Lent, None, 0),
])
def test_batches_are_torchs(root, cls, transform, within):
    same(cls(root, transform), within, batch_size=2)


class Backwards(Sampler):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __iter__(self):
        return iter(range(self.n - 1, -1, -1))


def test_in_any_order_and_in_parts(root):
    dataset = Evenly(root, SMALL)
    same(dataset, 2e-6, batch_size=2, sampler=Backwards(N))
    same(Subset(dataset, [3, 1]), 2e-6, batch_size=2)
    same(ConcatDataset([dataset, Evenly(root, SMALL)]), 2e-6, batch_size=4, drop_last=True)
    same(Arrays(root), batch_size=3, collate_fn=lambda samples: [(torch.from_numpy(np.asarray(frames)), name) for frames, name in samples])
    with spdl.DataLoader(dataset, batch_size=2, sampler=RandomSampler(dataset), copy=True) as loader:
        seen = [(clip, number) for clips, numbers in loader for clip, number in zip(clips, numbers.tolist())]
    assert sorted(number for _, number in seen) == list(range(N))
    for clip, number in seen:
        equal(clip, dataset[number][0], 2e-6)


class Drawn(Videos):
    def __getitem__(self, i):
        vr = VideoReader(self.files[i])
        start = random.randint(0, len(vr) - 2 * self.n)
        clip = vr.get_batch(range(start, start + 2 * self.n, 2)).asnumpy()
        return torch.from_numpy(clip), start, i


def test_what_code_draws_it_draws_anew_in_each_epoch(root):
    dataset, seen = Drawn(root), set()
    with spdl.DataLoader(dataset, batch_size=2, copy=True) as loader:
        for _ in range(4):
            for clips, starts, numbers in loader:
                for clip, start, number in zip(clips, starts.tolist(), numbers.tolist()):
                    want = VideoReader(dataset.files[number]).get_batch(range(start, start + 16, 2)).asnumpy()
                    np.testing.assert_array_equal(clip.numpy(), want)
                    seen.add((number, start))
    assert len(seen) > N


def test_frames_go_through_draws_of_v2_together(root):
    class Still(Videos):
        def __getitem__(self, i):
            vr = VideoReader(self.files[i])
            return self.transform(torch.from_numpy(vr.get_batch([5, 5, 5, 5]).asnumpy()).permute(0, 3, 1, 2)), i

    augment = v2.Compose([v2.RandomResizedCrop((24, 32), antialias=True), v2.RandomHorizontalFlip()])
    with spdl.DataLoader(Still(root, augment), batch_size=2, copy=True) as loader:
        clips = torch.cat([clips for clips, _ in loader])
    assert all(torch.equal(clip[0], frame) for clip in clips for frame in clip) and not torch.equal(clips[0, 0], clips[1, 0])


class Named(Dataset):
    """Of files that tests name."""

    def __init__(self, *files, root=FILES):
        self.files = [str(root / name) for name in files]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        vr = VideoReader(self.files[i])
        return torch.from_numpy(vr.get_batch([len(vr) - 1, 0, len(vr) // 2, len(vr) // 3]).asnumpy()), len(vr), vr.get_avg_fps()


EQUAL = ["bframes.mp4", "bt709.mp4", "cropped.mp4", "edit.mp4", "fragments.mp4", "full.mp4", "grey.mp4", "interlaced.mp4", "irregular.mkv", "irregular.mp4", "planar422.mp4", "planar444.mp4", "wide_pixels.mp4"]
OTHERS = {
    "opengroup.mkv": "open groups of pictures", "opengroup_hevc.mp4": "open groups of pictures", "refresh.mkv": "open groups of pictures", "cut.mkv": "open groups of pictures", "x.avi": "it is of avi, of which decord has other", "late.ts": "it is of mpegts",
    "ten_bits.mp4": "pixels of yuv420p10le", "rgb.mp4": "pixels of gbrp", "odd.webm": "frames of 63x47", "turned180.mp4": "are to be turned", "mirrored.mp4": "are to be turned", "motion.mov": "it is of mjpeg", "hole.mp4": "it is of mpeg4",
}


@pytest.mark.parametrize("name", EQUAL)
def test_frames_of_a_file_are_decords(name):
    """B-frames, edit lists, fragments, frames at any times, full range and BT.709: the bytes, how many, and the rate."""
    same(Named(name), batch_size=1)
    vr = VideoReader(str(FILES / name))
    np.testing.assert_array_equal(spdl.io.load(str(FILES / name), {"video": {}})["video"].numpy(), vr.get_batch(range(len(vr))).asnumpy())


@pytest.mark.parametrize("name", OTHERS)
def test_a_file_whose_frames_decord_has_otherwise_is_refused(root, tmp_path, name):
    if name == "x.avi":
        spdl.io.save_video(tmp_path / name, np.zeros((9, 16, 32, 3), np.uint8), 25, codec="libx264", stored="yuv420p", options={"bf": 0})
        (tmp_path / "0.mp4").write_bytes((root / "0.mp4").read_bytes())
    dataset = Named(name, root=tmp_path if name == "x.avi" else FILES)
    with pytest.raises(spdl.ArgumentError, match=rf"Named\[0\]: .*{name}: it.* {OTHERS[name].split()[-1]}.*, want .*"):
        spdl.DataLoader(dataset, batch_size=1)
    later = Named("bframes.mp4", name) if name != "x.avi" else Named("0.mp4", name, root=tmp_path)
    with spdl.DataLoader(later, batch_size=1) as loader, pytest.raises(spdl.EngineFailed, match=rf"Named\[1\]: .*{name}: .*{OTHERS[name].split()[-1]}"):
        list(loader)


class Wide(Videos):
    def __getitem__(self, i):
        vr = VideoReader(self.files[i], width=64, height=48)
        return vr.get_batch([1, 2]).asnumpy(), i


class OnAGpu(Videos):
    def __getitem__(self, i):
        vr = VideoReader(self.files[i], ctx=decord.gpu(0))
        return vr.get_batch([1, 2]).asnumpy(), i


class Next(Videos):
    def __getitem__(self, i):
        vr = VideoReader(self.files[i])
        return vr.next().asnumpy(), i


class Measured(Videos):
    def __getitem__(self, i):
        vr = VideoReader(self.files[i])
        frames = vr.get_batch([1, 2]).asnumpy()
        return frames, frames.mean()


class Listed(Videos):
    def __getitem__(self, i):
        vr = VideoReader(self.files[i])
        return [self.transform(Image.fromarray(frame)) for frame in vr.get_batch([1, 2]).asnumpy()]


class WholeToPillow(Videos):
    def __getitem__(self, i):
        vr = VideoReader(self.files[i])
        return self.transform(torch.from_numpy(vr.get_batch([1, 2]).asnumpy())), i


def mean_of(reader):
    return float(reader.get_batch([0, 1]).asnumpy().mean())


class Escaped(Videos):
    def __getitem__(self, i):
        vr = VideoReader(self.files[i])
        return vr.get_batch([1]).asnumpy(), mean_of(vr)


class Aliased(Videos):
    def __getitem__(self, i):
        vr = VideoReader(self.files[i])
        other = vr
        return vr.get_batch([1]).asnumpy(), float(other[0].asnumpy().mean())


class Two(Videos):
    def __getitem__(self, i):
        first, second = self.files[i], self.files[0]
        a = VideoReader(first)
        b = VideoReader(second)
        return a.get_batch([1]).asnumpy(), b.get_batch([1]).asnumpy()


class Beyond(Videos):
    def __getitem__(self, i):
        vr = VideoReader(self.files[i])
        return vr.get_batch([1, 4000]).asnumpy(), i


class None_(Videos):
    def __getitem__(self, i):
        vr = VideoReader(self.files[i])
        return vr.get_batch([]).asnumpy(), i


DRAWS = T.Compose([T.Resize(40), T.RandomHorizontalFlip(), T.CenterCrop(32), T.ToTensor()])


@pytest.mark.parametrize("cls, transform, message", [
    (Wide, None, r"test_own_decord.py:\d+: got 'VideoReader\(self.files\[i\], width=64, height=48\)', want it without width and height, by which decord scales with numbers of its own, and a transform behind it: v2.Resize"),
    (OnAGpu, None, r"test_own_decord.py:\d+: got 'VideoReader\(self.files\[i\], ctx=decord.gpu\(0\)\)', want ctx=cpu\(0\)"),
    (Next, None, r"got 'vr.next\(\)', frames of a VideoReader one by one, want all of a sample by one reader.get_batch\(indices\)"),
    (Measured, None, r"test_own_decord.py:\d+: got 'frames.mean\(\)'"),
    (Listed, PILLOWS, r"hands out a list of frames, want frames that go through a transform one by one in one tensor again: torch.stack"),
    (WholeToPillow, SMALL, r"got 'self.transform\(torch.from_numpy\(vr.get_batch\(\[1, 2\]\).asnumpy\(\)\)\)' of a tensor \['T', 'H', 'W', 'C'\], want tensors of bytes \[T, C, H, W\]"),
    (Escaped, None, r"Escaped\[0\]: Misplaced: a VideoReader's get_batch is asked for where the method that opens it does not say so, want frames by reader.get_batch\(indices\) in the function that opens it"),
    (Aliased, None, r"Misplaced: a VideoReader's frames are taken where the method that opens it does not say so"),
    (Two, None, r"has 2 pictures, sounds or videos in a sample, and frames of one that code names, want frames of one video alone"),
    (Beyond, None, r"Beyond\[0\]: IndexError: .*0.mp4: frames \[1, 4000\], want numbers below 40"),
    (None_, None, r"None_\[0\] takes 0 frames, want one or more"),
    (OneByOne, DRAWS, r"draws, for each frame by itself where these go through it one by one, and the engine draws once for all frames; want a transform of v2 for all at once"),
])
def test_what_is_refused(root, cls, transform, message):
    with pytest.raises((spdl.ArgumentError, spdl.SpecError), match=message):
        spdl.DataLoader(cls(root, transform), batch_size=2)


class Every(Videos):
    def __getitem__(self, i):
        vr = VideoReader(self.files[i])
        return torch.from_numpy(vr.get_batch(range(0, len(vr), 10)).asnumpy()), i


def test_samples_have_as_many_frames_as_the_first(root):
    with spdl.DataLoader(Every(root), batch_size=1) as loader, pytest.raises(spdl.EngineFailed, match=r"Every\[1\] takes 5 frames, want 4, as the first sample does: rows of a batch are of one size"):
        list(loader)


def test_frames_without_a_transform_are_of_one_size(root):
    small = Named("bframes.mp4")
    small.files.append(str(root / "0.mp4"))
    with spdl.DataLoader(small, batch_size=1) as loader, pytest.raises(spdl.EngineFailed, match=r"Named\[1\] has frames of 96x72, want 64x48, as the first sample has them, or a transform that makes all one size"):
        list(loader)


def test_a_file_that_is_written_anew_is_looked_at_again(root, tmp_path):
    path = tmp_path / "a.mp4"
    path.write_bytes((root / "0.mp4").read_bytes())
    dataset = Named("a.mp4", root=tmp_path)
    same(dataset, batch_size=1)
    path.write_bytes((root / "3.mp4").read_bytes())
    same(dataset, batch_size=1)


def test_columns_stand_beside_media_that_a_program_brings(root):
    """Which is what brings the frames that code names to the engine."""
    class Brought:
        def __len__(self):
            return N

        def __getitem__(self, i):
            at = {"at": np.array([3, 0, 2 + i])}
            return str(root / f"{i}.mp4"), i, f"key{i}", at if i % 2 else json.dumps({"at": at["at"].tolist()}).encode()

    spec = {"batch": 2, "source": {"columns": [{"name": "at", "from": "json[at]", "type": "list", "dtype": "i64", "shape": [3]}]}, "order": {"shuffle": False},
            "video": {"select": {"kind": "indices", "column": "at"}, "transform": [{"center_crop": [72, 96]}]}}
    with spdl.open(spec, source=Brought()) as loader:
        for batch in loader:
            for frames, label, at, key in zip(batch["video"], batch["label"].tolist(), batch["at"].tolist(), batch.sample_keys):
                assert at == [3, 0, 2 + label] and key == f"key{label}"
                np.testing.assert_array_equal(frames, VideoReader(str(root / f"{label}.mp4")).get_batch(at).asnumpy())
    with pytest.raises(spdl.EngineFailed, match="want path, of the medium, and bytes, of its columns|with columns beside it, want a path"), spdl.open(spec, source=[(b"bytes", 0, "k", {"at": [1, 2, 3]})] * 4) as loader:
        list(loader)


def test_the_pages_block_runs(root):
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/own-datasets.md").read_text(encoding="utf-8")
    block = page.split("### decord, PyAV and OpenCV\n")[1].split("```")[1].removeprefix("python")
    script = root / "script.py"
    script.write_text(block)
    names = {"Dataset": Dataset, "VideoReader": VideoReader, "cpu": cpu, "np": np, "torch": torch, "v2": v2, "random": random, "spdl": spdl, "files": sorted(map(str, root.glob("*.mp4"))), "labels": list(range(N)), "__name__": "script"}
    exec(compile(block, str(script), "exec"), names)
    with names["loader"] as loader:
        assert [tuple(frames.shape) for frames, _ in loader] == [(4, 3, 16, 112, 112), (1, 3, 16, 112, 112)]
