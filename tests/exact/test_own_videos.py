"""spdl.DataLoader in the place of torch's, by one word: on data sets of the program's own whose __getitem__ takes frames of a video by torchcodec, batches are torch's to the bit."""

import pathlib
import random

import numpy as np
import pytest
from own_videos import SMALL, same, spdl, torch, write

decoders = pytest.importorskip("torchcodec.decoders", reason="torchcodec is not installed (requirements-bench.txt)")
from torch.utils.data import ConcatDataset, Dataset, Subset  # noqa: E402
from torchcodec import samplers  # noqa: E402
from torchcodec.decoders import AudioDecoder, VideoDecoder  # noqa: E402
from torchcodec.samplers import clips_at_random_indices, clips_at_regular_indices  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

N = 5
NEAR = 2e-7  # ToDtype(scale=True) multiplies by 1/255, where the engine divides


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Videos of 20 to 36 frames, of several sizes, with sounds of their own beside them."""
    at = tmp_path_factory.mktemp("videos")
    for i in range(N):
        write(at / f"{i}-{i % 2}.mp4", i, 20 + 4 * i, height=72 - 8 * (i % 2), g=7)
    return at


class Labelled(Dataset):
    def __init__(self, root, transform=None, n=8):
        self.files = sorted(pathlib.Path(root).glob("*.mp4"))
        self.transform, self.n = transform or v2.Resize((24, 32)), n

    def __len__(self):
        return len(self.files)

    def label(self, i):
        return int(self.files[i].stem[-1])


class Evenly(Labelled):
    """As guides to action recognition have it."""

    def __getitem__(self, i):
        decoder = VideoDecoder(str(self.files[i]))
        indices = np.linspace(0, len(decoder) - 1, self.n).astype(int)
        frames = decoder.get_frames_at(indices.tolist()).data
        if self.transform:
            frames = self.transform(frames)
        return frames, self.label(i)


class Channels(Labelled):
    """[C, T, H, W], as 3D convolutions take it."""

    def __getitem__(self, i):
        vd = VideoDecoder(self.files[i], seek_mode="approximate")
        num_frames = vd.metadata.num_frames
        idx = np.linspace(0, num_frames - 1, num=self.n, dtype=int)
        clip = vd.get_frames_at(indices=[int(k) for k in idx]).data
        clip = self.transform(clip).permute(1, 0, 2, 3)
        return {"pixel_values": clip, "labels": torch.tensor(self.label(i)), "name": self.files[i].name}


class Ranged(Labelled):
    def __getitem__(self, i):
        video = VideoDecoder(self.files[i])
        clip = video.get_frames_in_range(start=2, stop=18, step=3)
        return self.transform(clip.data), i


class Sliced(Labelled):
    def __getitem__(self, i):
        video = VideoDecoder(self.files[i])
        return self.transform(video[1:17:2]).float() / 255, i


def test_data_sets_of_other_frames_are_not_joined(root):
    same(ConcatDataset([Evenly(root), Evenly(root)]), batch_size=4)
    with pytest.raises(spdl.ArgumentError, match=r"datasets\[1\]: has samples of another form"):
        spdl.DataLoader(ConcatDataset([Evenly(root), Evenly(root, n=4)]))


class Numbered(Labelled):
    def __getitem__(self, i):
        return self.transform(VideoDecoder(self.files[i]).get_frames_at([3, 0, 7, -1]).data), self.label(i)


class Listed(Labelled):
    def __getitem__(self, i):
        return self.transform(VideoDecoder(self.files[i]).get_frames_at(list(range(0, 16, 4))).data), self.label(i)


class Clips(Labelled):
    def __getitem__(self, i):
        decoder = VideoDecoder(self.files[i])
        clips = clips_at_regular_indices(decoder, num_clips=3, num_frames_per_clip=4, num_indices_between_frames=2)
        return self.transform(clips.data), self.label(i)


class FirstClip(Labelled):
    def __getitem__(self, i):
        decoder = VideoDecoder(self.files[i])
        clip = samplers.clips_at_regular_indices(decoder, num_clips=1, num_frames_per_clip=self.n)[0]
        return self.transform(clip.data), self.label(i)


def open_video(path, n):
    decoder = VideoDecoder(path)
    return decoder.get_frames_at(np.linspace(0, len(decoder) - 1, n).astype(np.int64)).data


class ByAFunction(Labelled):
    def __getitem__(self, i):
        return self.transform(open_video(self.files[i], 6)), self.label(i)


class Two(Labelled):
    """Slow and fast frames of one video."""

    def __getitem__(self, i):
        decoder = VideoDecoder(self.files[i])
        slow = decoder.get_frames_at(np.linspace(0, len(decoder) - 1, 3).astype(int).tolist()).data
        fast = decoder.get_frames_in_range(0, 12).data
        return [self.transform(slow), self.transform(fast)], self.label(i)


@pytest.mark.parametrize("cls", [Evenly, Channels, Ranged, Sliced, Numbered, Listed, Clips, FirstClip, ByAFunction, Two])
def test_frames_are_torchcodecs_to_the_bit(root, cls):
    same(cls(root), batch_size=2)


def test_transforms_of_clips(root):
    same(Evenly(root, SMALL), 2e-6, batch_size=2)
    same(Channels(root, v2.Compose([v2.Resize(40), v2.CenterCrop(32), v2.ToDtype(torch.float32, scale=True)])), 2e-6, batch_size=3)
    same(Subset(Evenly(root), [3, 1]), batch_size=2)
    same(ConcatDataset([Evenly(root), Evenly(root)]), batch_size=4, collate_fn=lambda samples: samples)


class Random(Labelled):
    def __getitem__(self, i):
        decoder = VideoDecoder(self.files[i])
        clip = clips_at_random_indices(decoder, num_clips=1, num_frames_per_clip=self.n, num_indices_between_frames=2)
        return self.transform(clip.data[0]), i


class RandomRange(Labelled):
    def __getitem__(self, i):
        decoder = VideoDecoder(self.files[i])
        start = random.randint(0, len(decoder) - self.n)
        return self.transform(decoder.get_frames_in_range(start, start + self.n).data), i


class RandomTimes(Labelled):
    def __getitem__(self, i):
        decoder = VideoDecoder(self.files[i])
        clip = samplers.clips_at_random_timestamps(decoder, num_frames_per_clip=self.n, seconds_between_frames=0.08)
        return self.transform(clip.data[0]), i


@pytest.mark.parametrize("cls, step", [(Random, 2), (RandomRange, 1), (RandomTimes, 2)])
def test_a_clip_that_is_drawn_is_one_of_its_video(root, cls, step):
    dataset, seen, span = cls(root, n=4), set(), 3 * step + 1
    with spdl.DataLoader(dataset, batch_size=2, copy=True) as loader:
        for _ in range(4):
            for clips, numbers in loader:
                for clip, number in zip(clips, numbers.tolist()):
                    whole = dataset.transform(VideoDecoder(dataset.files[number])[:])
                    places = [at for at in range(len(whole) - span + 1) if torch.equal(whole[at:at + span:step], clip)]
                    assert len(places) == 1
                    seen.add((number, places[0]))
    assert len(seen) > N


def test_a_clip_that_is_drawn_is_handed_out_once(root):
    class Twice(Labelled):
        def __getitem__(self, i):
            clip = clips_at_random_indices(VideoDecoder(self.files[i]), num_frames_per_clip=4).data[0]
            return self.transform(clip), self.transform(clip), i

    class Each(Labelled):
        def __getitem__(self, i):
            decoder = VideoDecoder(self.files[i])
            first = clips_at_random_indices(decoder, num_frames_per_clip=2)[0]
            second = clips_at_random_indices(decoder, num_frames_per_clip=2)[0]
            return self.transform(first.data), self.transform(second.data), i

    with pytest.raises(spdl.ArgumentError, match="hands out one clip that is drawn several times, want it once"):
        spdl.DataLoader(Twice(root), batch_size=2)
    with spdl.DataLoader(Each(root), batch_size=5, copy=True) as loader:
        first, second, _ = next(iter(loader))
    assert sum(not torch.equal(one, other) for one, other in zip(first, second)) > 1


def test_what_is_drawn_is_one_for_all_frames(root):
    class Still(Labelled):
        def __getitem__(self, i):
            return self.transform(VideoDecoder(self.files[i]).get_frames_at([5, 5, 5, 5, 5, 5]).data), i

    augment = v2.Compose([v2.RandomResizedCrop((24, 32), antialias=True), v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True)])
    with spdl.DataLoader(Still(root, augment), batch_size=2, copy=True) as loader:
        clips = torch.cat([clips for clips, _ in loader])
    assert all(torch.equal(clip[0], frame) for clip in clips for frame in clip) and not torch.equal(clips[0, 0], clips[1, 0])


class WithSound(Labelled):
    """Frames, and the sound of another file."""

    def __init__(self, root, sounds):
        super().__init__(root)
        self.sounds = sounds

    def __getitem__(self, i):
        frames = self.transform(VideoDecoder(self.files[i]).get_frames_in_range(0, 8).data)
        samples = AudioDecoder(self.sounds[i]).get_all_samples()
        return {"frames": frames, "sound": samples.data[:, :4000], "rate": samples.sample_rate, "label": self.label(i)}


def test_frames_and_a_sound(root, tmp_path):
    rng = np.random.default_rng(1)
    for i in range(N):
        spdl.io.save_audio(tmp_path / f"{i}.wav", rng.uniform(-0.5, 0.5, (1, 5000 + i)).astype("f4"), 8000)
    same(WithSound(root, [str(tmp_path / f"{i}.wav") for i in range(N)]), batch_size=2)


def test_the_pages_block_runs(root):
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/own-datasets.md").read_text(encoding="utf-8")
    block = page.split("## Videos\n")[1].split("```")[1].removeprefix("python")
    script = root / "script.py"
    script.write_text(block)
    files = sorted(root.glob("*.mp4"))
    names = {"Dataset": Dataset, "VideoDecoder": VideoDecoder, "np": np, "torch": torch, "v2": v2, "spdl": spdl, "files": files, "labels": list(range(N)), "__name__": "script"}
    exec(compile(block, str(script), "exec"), names)
    with names["loader"] as loader:
        assert [tuple(frames.shape) for frames, _ in loader] == [(4, 3, 16, 112, 112), (1, 3, 16, 112, 112)]
    same(names["clips"], 2e-6, batch_size=2)
