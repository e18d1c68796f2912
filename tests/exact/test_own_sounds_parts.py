"""spdl.DataLoader in the place of torch's, by one word: parts of sounds whose beginning and length a data set says for each sample are torch's to the bit, and those that are drawn of what a file says of itself lie somewhere in it."""

import os
import random

import numpy as np
import pytest

from own_sounds import RATE, Files, clips, linear, listed, mixed, root, same, torch, torchaudio  # noqa: F401

import soundfile as sf
import spdl
import torch.nn.functional as F
import torchaudio.functional as AF
import torchaudio.transforms as T
from torch.utils.data import ConcatDataset, Subset


class Parts(Files):
    def __init__(self, root, transform=None, n=4000):
        super().__init__(root, transform, n)
        rng = np.random.default_rng(7)
        self.starts = [int(one) for one in rng.integers(0, 3000, len(self.names))]
        self.frames = [int(one) for one in rng.integers(1, 5000, len(self.names))]
        self.table = [{"file": name, "onset": start / 7919, "offset": (start + n) / 7919} for name, start in zip(self.names, self.starts)]


class FromATable(Parts):
    def __getitem__(self, i):
        path = os.path.join(self.root, self.names[i])
        wave, sr = torchaudio.load(path, frame_offset=self.starts[i], num_frames=self.n)
        return wave, self.labels[i]


class BothFromATable(Parts):
    def __getitem__(self, i):
        wave, sr = torchaudio.load(self.root / self.names[i], self.starts[i], self.frames[i])
        return wave, self.labels[i], self.starts[i]


class ToTheEnd(Parts):
    def __getitem__(self, i):
        frames = -1 if i % 2 else self.n
        wave, sr = torchaudio.load(self.root / self.names[i], frame_offset=self.starts[i], num_frames=frames)
        return wave, self.labels[i]


class Sliced(Parts):
    """As sound event detection has it, by seconds."""

    def __getitem__(self, i):
        row = self.table[i]
        wave, sr = torchaudio.load(os.path.join(self.root, row["file"]))
        wave = wave.mean(0, keepdim=True)
        start, stop = int(row["onset"] * sr), int(row["offset"] * sr)
        wave = wave[:, start:stop]
        return wave, self.labels[i]


class SlicedFrom(Parts):
    def __getitem__(self, i):
        wave, sr = torchaudio.load(self.root / self.names[i])
        start = self.starts[i]
        return wave[0, start:start + self.n], self.labels[i]


class Beyond(Parts):
    """Where files end earlier, and zeros are behind."""

    def __getitem__(self, i):
        wave, sr = torchaudio.load(self.root / self.names[i], frame_offset=2 * self.starts[i], num_frames=12000)
        if wave.shape[1] < 12000:
            wave = F.pad(wave, (0, 12000 - wave.shape[1]))
        return wave, self.labels[i]


class Resampled(Parts):
    def __getitem__(self, i):
        wave, sr = torchaudio.load(self.root / self.names[i], frame_offset=self.starts[i], num_frames=self.frames[i])
        return AF.resample(wave.mean(0, keepdim=True), sr, 8000), self.labels[i]


def load(path, start, n):
    data, rate = sf.read(path, start=start, frames=n, dtype="float32")
    return torch.from_numpy(data), rate


class ByAFunction(Parts):
    def __getitem__(self, i):
        wave, rate = load(self.root / self.names[i], self.starts[i], self.n)
        return wave, rate, self.labels[i]


class Stopped(Parts):
    def __getitem__(self, i):
        start = self.starts[i]
        data, rate = sf.read(str(self.root / self.names[i]), start=start, stop=start + self.n)
        return data.astype(np.float32), self.labels[i]


class Spectrum(Parts):
    def __getitem__(self, i):
        wave, sr = torchaudio.load(self.root / self.names[i], frame_offset=self.starts[i], num_frames=self.n)
        return {"wave": wave, "mel": self.transform(wave), "label": self.labels[i]}


class Two(Parts):
    def __getitem__(self, i):
        a, _ = torchaudio.load(self.root / self.names[i], frame_offset=self.starts[i], num_frames=self.n)
        b, _ = torchaudio.load(self.root / self.names[i - 1], frame_offset=self.starts[i - 1], num_frames=self.n)
        return a, b / b.abs().max(), self.labels[i]


@pytest.mark.parametrize("cls, arguments", [
    (FromATable, dict(batch_size=4)), (BothFromATable, dict(batch_size=4, collate_fn=listed)), (ToTheEnd, dict(batch_size=1)), (ToTheEnd, dict(batch_size=3, collate_fn=listed)), (Sliced, dict(batch_size=4, collate_fn=listed)),
    (SlicedFrom, dict(batch_size=4)), (Beyond, dict(batch_size=4)), (ByAFunction, dict(batch_size=4)), (Stopped, dict(batch_size=4)), (Two, dict(batch_size=4))])
def test_parts_are_torchaudios_to_the_bit(root, cls, arguments):
    same(cls(root), **arguments)


def test_parts_of_parts_of_data_sets(root):
    same(ConcatDataset([FromATable(root), Subset(FromATable(root), [5, 1, 1])]), batch_size=5)


def test_parts_of_files_of_several_rates(mixed, clips):
    same(Resampled(mixed), 1e-6, batch_size=4, collate_fn=listed)
    same(Sliced(clips), batch_size=4, collate_fn=listed)


def test_spectra_of_parts(root):
    same(Spectrum(root, T.MelSpectrogram(RATE, n_fft=400, hop_length=160, n_mels=40)), linear, batch_size=4)


def test_parts_are_shuffled_with_their_samples(root):
    dataset = FromATable(root)
    want = {float(wave.sum()): label for wave, label in (dataset[i] for i in range(len(dataset)))}
    with spdl.DataLoader(dataset, batch_size=4, shuffle=True, generator=torch.Generator().manual_seed(1), copy=True) as loader:
        got = [(float(wave.sum()), int(label)) for waves, labels in loader for wave, label in zip(waves, labels)]
    assert dict(got) == want and [one for one, _ in got] != list(want)


# ---- parts that are drawn, of what a file says of itself


class Drawn(Files):
    def __getitem__(self, i):
        path = str(self.root / self.names[i])
        info = sf.info(path)
        start = random.randint(0, max(0, info.frames - self.n))
        data, rate = sf.read(path, start=start, frames=self.n, dtype="float32")
        wave = torch.from_numpy(data).unsqueeze(0)
        if wave.shape[1] < self.n:
            wave = F.pad(wave, (0, self.n - wave.shape[1]))
        return wave, i


class DrawnIfRoom(Files):
    def __getitem__(self, i):
        path = self.root / self.names[i]
        frames = sf.info(path).frames
        start = np.random.randint(0, frames - self.n + 1) if frames > self.n else 0
        wave, sr = torchaudio.load(path, frame_offset=start, num_frames=self.n)
        return F.pad(wave, (0, self.n - wave.shape[1])), i


class DrawnInABranch(Files):
    def __getitem__(self, i):
        path = os.path.join(self.root, self.names[i])
        info = sf.info(path)
        if info.frames > self.n:
            start = torch.randint(0, info.frames - self.n + 1, (1,)).item()
            wave, sr = torchaudio.load(path, frame_offset=start, num_frames=self.n)
        else:
            wave, sr = torchaudio.load(path)
            wave = F.pad(wave, (0, self.n - wave.shape[1]))
        return wave, i


class DrawnSeconds(Files):
    def __getitem__(self, i):
        path = self.root / self.names[i]
        info = sf.info(path)
        n = int(info.samplerate * 0.75)
        start = random.randint(0, max(0, info.frames - n))
        data, rate = sf.read(path, start=start, stop=start + n, dtype="float32")
        return np.pad(data, (0, max(0, n - len(data))))[None], i


class DrawnOrFirst(Files):
    """Where a name has a number first, and one that is drawn in a branch."""

    def __getitem__(self, i):
        wave, sr = torchaudio.load(self.root / self.names[i])
        start = 0
        if wave.shape[1] > self.n:
            start = random.randint(0, wave.shape[1] - self.n)
        wave = wave[:, start:start + self.n]
        return F.pad(wave, (0, self.n - wave.shape[1])), i


class DrawnOrZero(Files):
    def __getitem__(self, i):
        wave, sr = torchaudio.load(self.root / self.names[i])
        if wave.shape[1] >= self.n:
            start = torch.randint(0, wave.shape[1] - self.n + 1, (1,)).item()
        else:
            start = 0
        return F.pad(wave[:, start:start + self.n], (0, max(0, self.n - wave.shape[1]))), i


@pytest.mark.parametrize("cls", [Drawn, DrawnIfRoom, DrawnInABranch, DrawnSeconds, DrawnOrFirst, DrawnOrZero])
def test_parts_that_are_drawn_are_somewhere_in_their_file(root, cls):
    dataset, starts, n = cls(root, n=12000), set(), 12000
    with spdl.DataLoader(dataset, batch_size=3, copy=True) as loader:
        for _ in range(4):
            for waves, numbers in loader:
                assert waves.shape[1:] == (1, n)
                for wave, number in zip(waves, numbers.tolist()):
                    whole, _ = torchaudio.load(root / dataset.names[number])
                    if whole.shape[1] <= n:
                        assert torch.equal(wave, F.pad(whole, (0, n - whole.shape[1])))
                        continue
                    places = [at for at in range(whole.shape[1] - n + 1) if whole[0, at] == wave[0, 0] and torch.equal(whole[:, at:at + n], wave)]
                    assert len(places) == 1
                    starts.add((number, places[0]))
    assert len(starts) > 2 * len({number for number, _ in starts})
