"""spdl.DataLoader in the place of torch's, by one word: data sets around others of sounds, torchaudio's and the program's own, have torch's batches."""

import os

import pytest

from audio import signal
from own_sounds import RATE, Files, linear, listed, mixed, of_16_bits, root, same, torch, torchaudio  # noqa: F401

import spdl
import torch.nn.functional as F
import torchaudio.functional as AF
import torchaudio.transforms as T
from torch.utils.data import ConcatDataset, Dataset, Subset, random_split


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    at = tmp_path_factory.mktemp("commands")
    for k, word in enumerate(("yes", "no")):
        (at / "SpeechCommands" / "speech_commands_v0.02" / word).mkdir(parents=True)
        for i in range(4):
            of_16_bits(at / "SpeechCommands" / "speech_commands_v0.02" / word / f"{i:08x}_nohash_{k}.wav", signal(1, 16000 - 1000 * i, RATE, i + 7 * k), RATE)
    return torchaudio.datasets.SPEECHCOMMANDS(at)


class Around(Dataset):
    """As programs train on SPEECHCOMMANDS."""

    def __init__(self, dataset, transform=None, n=16000):
        self.dataset, self.transform, self.n = dataset, transform, n
        self.classes = ["no", "yes"]
        self.chosen = list(range(len(dataset) - 1, -1, -2))

    def __len__(self):
        return len(self.dataset)


class Words(Around):
    def __getitem__(self, i):
        waveform, sample_rate, label, speaker, number = self.dataset[i]
        if waveform.shape[1] < self.n:
            waveform = F.pad(waveform, (0, self.n - waveform.shape[1]))
        if self.transform:
            waveform = self.transform(waveform)
        return waveform, self.classes.index(label), speaker


class Starred(Around):
    def __getitem__(self, i):
        waveform, sr, label, *rest = self.dataset[i]
        return F.pad(waveform, (0, self.n - waveform.shape[1])), sr, label, rest[0], len(rest)


class Held(Around):
    def __getitem__(self, i):
        item = self.dataset[i]
        wave, label = item[0], item[2]
        return {"wave": AF.resample(wave, item[1], 8000)[:, :4000], "label": label}


class Resampled(Around):
    def __getitem__(self, i):
        wave, sample_rate, label, *rest = self.dataset[i]
        if sample_rate != 8000:
            wave = AF.resample(wave, sample_rate, 8000)
        return F.pad(wave, (0, 8000 - wave.shape[1])), sample_rate, label, rest


class Some(Around):
    def __len__(self):
        return len(self.chosen)

    def __getitem__(self, i):
        wave, *_ = self.dataset[self.chosen[i]]
        return wave, i


class Below(torchaudio.datasets.SPEECHCOMMANDS):
    def __getitem__(self, n):
        waveform, sample_rate, label, *_ = super().__getitem__(n)
        waveform = waveform[:, :9000] / waveform[:, :9000].abs().max()
        return waveform, label


@pytest.mark.parametrize("cls, arguments", [(Words, dict(batch_size=3)), (Starred, dict(batch_size=3)), (Held, dict(batch_size=3)), (Resampled, dict(batch_size=3)), (Some, dict(batch_size=2, collate_fn=listed))])
def test_around_one_of_torchaudios(commands, cls, arguments):
    same(cls(commands), 1e-6 if cls in (Held, Resampled) else 0.0, **arguments)


def test_around_parts_of_one(commands):
    part = random_split(commands, [5, 3], torch.Generator().manual_seed(1))[0]
    same(Words(part), batch_size=3)
    same(Words(Subset(part, [4, 0, 2])), batch_size=3)
    same(Subset(Words(part), [4, 0, 2]), batch_size=3)
    same(ConcatDataset([Words(part), Words(part)]), batch_size=3)


def test_below_one_of_torchaudios(commands):
    dataset = Below.__new__(Below)
    vars(dataset).update(vars(commands))
    same(dataset, batch_size=3)


def test_spectra_around_one(commands):
    same(Words(commands, T.MelSpectrogram(RATE, n_fft=400, n_mels=32)), linear, batch_size=4)


class Own(Files):
    def __getitem__(self, i):
        wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]))
        if sr != RATE:
            wave = AF.resample(wave, sr, RATE)
        return wave.mean(0, keepdim=True), self.labels[i]


class Normalised(Around):
    def __getitem__(self, i):
        wave, label = self.dataset[i]
        peak = wave.abs().max()
        if peak > 0:
            wave = wave / peak
        wave = wave[:, :self.n] if wave.shape[1] > self.n else F.pad(wave, (0, self.n - wave.shape[1]))
        return wave, label, i


class Twice(Around):
    """Around one that is around another."""

    def __getitem__(self, i):
        wave, label, number = self.dataset[i]
        return wave.squeeze(0) * 0.5, label + number


class Pairs(Around):
    def __getitem__(self, i):
        one, label = self.dataset[i]
        other, same_label = self.dataset[(i + 1) % len(self.dataset)]
        return one[:, :5000], other[:, :6000], int(label == same_label)


def test_around_ones_own(mixed, root):
    same(Normalised(Own(mixed)), 1e-6, batch_size=4)
    same(Normalised(Own(root)), batch_size=4)
    same(Twice(Normalised(Own(root))), batch_size=4)
    same(Pairs(Own(root)), batch_size=4)


class Odd(Files):
    def __getitem__(self, i):
        wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]))
        return wave.flip(1), self.labels[i]


class OfItsLength(Around):
    def __getitem__(self, i):
        wave, label = self.dataset[i]
        return wave, label[wave.shape[1] - wave.shape[1]:]


def test_what_has_no_equal_is_refused_where_it_stands(root):
    with pytest.raises(spdl.ArgumentError, match=r"test_own_sounds_around.py:\d+: got 'wave.flip\(1\)', want what is done to a sound"):
        spdl.DataLoader(Normalised(Odd(root)))
    with pytest.raises(spdl.ArgumentError, match=r"test_own_sounds_around.py:\d+: got .*wave.shape\[1\]"):
        spdl.DataLoader(OfItsLength(Own(root)))
    with pytest.raises(spdl.ArgumentError, match=r"dataset: has sounds, want what becomes of them in its own __getitem__|test_own_sounds_around.py:\d+: got"):
        spdl.DataLoader(Normalised(ConcatDataset([Own(root), Own(root)])))
