"""spdl.DataLoader in the place of torch's, by one word: what code measures of a sound, and does to its numbers by that, in front of crops and zeros or behind, is torch's to the bit."""

import os
import random

import numpy as np
import pytest

from audio import signal
from own_sounds import RATE, Files, clips, linear, listed, of_16_bits, root, same, torch, torchaudio  # noqa: F401

import soundfile as sf
import spdl
import torch.nn.functional as F
import torchaudio.transforms as T
from torch.utils.data import ConcatDataset, DataLoader


class Loaded(Files):
    gain, eps, silent = 0.7, 1e-8, False

    def __getitem__(self, i):
        wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]))
        return self.made(wave), self.labels[i]

    def fixed(self, wave):
        if wave.shape[1] > self.n:
            return wave[:, :self.n]
        return F.pad(wave, (0, self.n - wave.shape[1]))


class Peak(Loaded):
    def made(self, wave):
        return wave / wave.abs().max()


class PeakAhead(Loaded):
    """Of the whole sound, of which a part is left."""

    def made(self, wave):
        wave = wave / torch.max(torch.abs(wave))
        return self.fixed(wave)


class PeakBehind(Loaded):
    def made(self, wave):
        wave = self.fixed(wave)
        wave /= wave.abs().max() + self.eps
        return wave


class PeakIfAny(Loaded):
    def made(self, wave):
        peak = wave.abs().max()
        if peak > 0:
            wave = wave / peak
        if wave.shape[1] < self.n:
            wave = F.pad(wave, (0, self.n - wave.shape[1]))
        else:
            wave = wave[:, :self.n]
        return wave


class PeakOr(Loaded):
    def made(self, wave):
        largest = torch.max(torch.abs(wave)).item()
        wave = 0.9 * wave / max(largest, 1e-5) if largest > 0 else wave
        return self.fixed(wave)


class PeakOrOne(Loaded):
    def made(self, wave):
        peak = wave.abs().max().clamp(min=1e-3)
        peak = peak if peak > 0.1 else 1.0
        return self.fixed(wave / peak)


class Standard(Loaded):
    """In front of zeros, which are none of its samples."""

    def made(self, wave):
        wave = (wave - wave.mean()) / (wave.std() + 1e-7)
        return F.pad(wave, (0, 20000 - wave.shape[1]))


class StandardBehind(Loaded):
    def made(self, wave):
        wave = self.fixed(wave)
        mean, std = wave.mean(), wave.std(unbiased=False)
        return (wave - mean) / std


class StandardInSteps(Loaded):
    def made(self, wave):
        wave = self.fixed(wave)
        wave = wave - wave.mean()
        wave = wave / torch.sqrt(wave.var() + 1e-7)
        return wave.squeeze(0)


class AlongTime(Loaded):
    def made(self, wave):
        wave = wave - wave.mean(dim=-1, keepdim=True)
        return wave / wave.std(dim=1, keepdim=True)


class Loudness(Loaded):
    def made(self, wave):
        rms = wave.pow(2).mean().sqrt()
        wave = wave * (0.1 / (rms + 1e-9)) if self.silent else wave * 10 ** (-20 / 20) / rms
        return self.fixed(wave)


class Gained(Loaded):
    def made(self, wave):
        return self.fixed(wave * self.gain)


class Shifted(Loaded):
    """Where zeros behind stay zeros."""

    def made(self, wave):
        return self.fixed(wave + self.gain)


class Centred(Loaded):
    def made(self, wave):
        return self.fixed(wave - wave.mean())


class Middle(Loaded):
    def made(self, wave):
        wave = wave / wave.abs().max()
        start = (wave.shape[1] - self.n) // 2
        return wave[:, start:start + self.n]


class Array(Files):
    def __getitem__(self, i):
        data, rate = sf.read(self.root / self.names[i], dtype="float32")
        data = data / np.max(np.abs(data))
        data = data[:self.n] if len(data) > self.n else np.pad(data, (0, self.n - len(data)))
        return torch.from_numpy(data).unsqueeze(0), self.labels[i]


class Doubles(Files):
    def __getitem__(self, i):
        data, rate = sf.read(self.root / self.names[i])
        data = (data - np.mean(data)) / np.std(data)
        if len(data) < self.n:
            data = np.pad(data, (0, self.n - len(data)))
        return data[:self.n].astype(np.float32), self.labels[i]


class Wholes(Files):
    def __getitem__(self, i):
        data, rate = sf.read(self.root / self.names[i], dtype="int16")
        data = data.astype(np.float32) / abs(data.astype(np.float32)).max()
        return data[:8000], self.labels[i]


PLAIN = [
    (Peak, dict(batch_size=4, collate_fn=listed)), (Peak, dict(batch_size=1)), *[(cls, dict(batch_size=4)) for cls in (
        PeakAhead, PeakBehind, PeakIfAny, PeakOr, PeakOrOne, Standard, StandardBehind, StandardInSteps, Loudness, Gained, Shifted, Centred, Array, Doubles)],
    *[(cls, dict(batch_size=3, collate_fn=listed)) for cls in (PeakAhead, PeakIfAny, Standard, Centred, Array, Shifted)], (AlongTime, dict(batch_size=1)), (AlongTime, dict(batch_size=4, collate_fn=listed)),
]


@pytest.mark.parametrize("cls, arguments", PLAIN, ids=[f"{cls.__name__} {i}" for i, (cls, _) in enumerate(PLAIN)])
def test_what_is_measured_of_a_sound_is_torchs(root, cls, arguments):
    same(cls(root), **arguments)


@pytest.mark.parametrize("cls", [Peak, PeakAhead, PeakBehind, PeakIfAny, Standard, StandardBehind, AlongTime, Loudness, Centred])
def test_of_two_channels(clips, cls):
    same(cls(clips), batch_size=4)


def test_a_crop_from_the_middle_of_what_was_measured(root):
    same(Middle(root, n=7000), batch_size=4)


def test_whole_numbers_by_their_peak(root):
    same(Wholes(root), batch_size=4)


def test_silence(tmp_path):
    """Which has no peak: torch's 0 / 0 is no number."""
    for i in range(3):
        of_16_bits(tmp_path / f"{i}-{i % 3}.wav", signal(1, 8000, RATE, i) * (i != 1), RATE)

    def equal(dataset):
        theirs = [dataset[i][0] for i in range(3)]
        with spdl.DataLoader(dataset, batch_size=3, copy=True) as loader:
            waves, _ = next(iter(loader))
        for got, want in zip(waves, theirs):
            assert torch.equal(got.isnan(), want.isnan()) and torch.equal(got.nan_to_num(), want.nan_to_num())

    equal(PeakAhead(tmp_path))
    equal(PeakIfAny(tmp_path))
    equal(PeakBehind(tmp_path))
    equal(Standard(tmp_path))


def test_spectra_of_what_was_divided_by_its_peak(root):
    mel = T.MelSpectrogram(RATE, n_fft=400, hop_length=160, n_mels=40)

    class Mel(Loaded):
        def made(self, wave):
            wave = self.fixed(wave)
            return self.transform(wave / wave.abs().max())

    class Early(Loaded):
        def made(self, wave):
            peak = torch.abs(wave).max()
            if peak > 0:
                wave = wave / peak
            return self.transform(F.pad(wave, (0, max(0, 30000 - wave.shape[1]))))

    same(Mel(root, mel), linear, batch_size=4)
    same(Early(root, mel), linear, batch_size=4)
    assert spdl.describe(Early(root, mel))["audio"]["normalize"] == {"to": "peak"}


class Both(Loaded):
    def __getitem__(self, i):
        wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]))
        wave = F.pad(wave / wave.abs().max(), (0, max(0, 30000 - wave.shape[1])))
        other, _ = torchaudio.load(os.path.join(self.root, self.names[i - 1]))
        other = other - other.mean()
        return {"wave": wave, "mel": self.transform(wave), "other": F.pad(other[:, :5000] / 2, (0, max(0, 5000 - other.shape[1]))), "label": self.labels[i]}


def test_several_of_them_and_arrays_in_the_place_of_tensors(root):
    mel = T.MelSpectrogram(RATE, n_fft=400, hop_length=160, n_mels=40)
    theirs = list(DataLoader(Both(root, mel), batch_size=4))
    for tensors in ("torch", "numpy"):
        with spdl.DataLoader(Both(root, mel), batch_size=4, tensors=tensors, copy=True) as loader:
            for got, want in zip(loader, theirs):
                for key in ("wave", "other", "label"):
                    assert isinstance(got[key], np.ndarray) == (tensors == "numpy") and np.array_equal(np.asarray(got[key]), want[key].numpy())
                linear(np.asarray(got["mel"]), want["mel"].numpy())


class Joined(Loaded):
    def made(self, wave):
        return self.fixed(wave * self.gain)


def test_data_sets_that_do_other_things_are_not_joined(root):
    one, other = Joined(root), Joined(root)
    same(ConcatDataset([one, other]), batch_size=4)
    other.gain = 2.0
    with pytest.raises(spdl.ArgumentError, match=r"datasets\[1\]: has samples of another form"):
        spdl.DataLoader(ConcatDataset([one, other]))


def drawn(self, wave):
    wave = wave / wave.abs().max()
    start = random.randint(0, wave.shape[1] - self.n)
    return wave[:, start:start + self.n]


def in_decibels(self, wave):
    return T.AmplitudeToDB()(wave / wave.std())


def of_another(self, wave):
    return wave[:, :100] / wave.abs().max()


def resampled(self, wave):
    return T.Resample(RATE, 8000)(wave / wave.abs().max())


def in_front(self, wave):
    wave = wave / wave.abs().max()
    wave = wave[:, :self.n] if wave.shape[1] > self.n else wave
    return T.MelSpectrogram(RATE)(wave)


REFUSED = {
    "a crop that is drawn behind": (drawn, "want a crop that is drawn in front of what is measured of the whole sound"),
    "spectra of another": (in_decibels, r"want it right behind a spectrum"),
    "a part by the whole's": (of_another, r"got 'wave\[:, :100\] / wave.abs\(\).max\(\)', want what is measured of a sound to be put to its own samples"),
    "resampling": (resampled, r"want resampling in front of what is made of the samples"),
    "spectra of a part": (in_front, r"or divided by their peak behind a crop, in front of torchaudio's spectra alone"),
    "what has no number": (lambda self, wave: wave / wave.quantile(0.9), r"got 'wave.quantile\(0.9\)'"),
    "along an axis that is none": (lambda self, wave: (wave / wave.std(dim=1, keepdim=True)).squeeze(0), r"want axes as they are behind what is measured along one of them"),
    "by a condition on another": (lambda self, wave: wave[:, :100] if wave.abs().max() > 0.5 else wave, "want a condition on what is measured of the sound itself, under which its numbers are changed, no more"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_equal_is_refused(root, name):
    made, message = REFUSED[name]
    cls = type("Refused", (Loaded,), {"made": made})
    with pytest.raises(spdl.ArgumentError, match=rf"test_own_sounds_levels.py:\d+: .*{message}"):
        spdl.DataLoader(cls(root))


class OfSteps(Files):
    """What is done to the steps of torchaudio's spectra, of sounds of several lengths."""

    def __init__(self, root):
        super().__init__(root, n=60)
        self.mel = torchaudio.transforms.MelSpectrogram(RATE, n_fft=400, hop_length=160, n_mels=40)

    def __getitem__(self, i):
        w, _ = torchaudio.load(self.root / self.names[i])
        x = self.mel(w)
        x = x / x.max()
        size = x.size(-1)
        if size < self.n:
            x = F.pad(x, (0, self.n - size))
        x = x[..., :self.n]
        return x, x.repeat(3, 1, 1), x.squeeze(0).transpose(0, 1), self.labels[i]


class Averaged(OfSteps):
    def __getitem__(self, i):
        w, _ = torchaudio.load(self.root / self.names[i])
        m = self.mel(w)
        return m.mean(dim=-1), m.squeeze(0).mean(dim=1) / 100, (m / (m.mean(dim=-1, keepdim=True) + 1e-3))[:, :, :40], self.labels[i]


@pytest.mark.parametrize("cls", [OfSteps, Averaged])
def test_steps_of_spectra(root, cls):
    same(cls(root), batch_size=4, within=linear)
