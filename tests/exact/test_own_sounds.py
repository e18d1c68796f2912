"""spdl.DataLoader in the place of torch's, by one word: on data sets of the program's own whose __getitem__ opens a sound, batches are torch's: samples to the bit, but for what is
resampled, and spectra as near as docs/audio.md says."""

import io
import os
import pathlib
import random

import numpy as np
import pytest

from audio import signal
from own_sounds import RATE, Files, clips, coefficients, linear, listed, logarithms, mixed, natural, padded, root, same, torch, torchaudio  # noqa: F401

import spdl.io
import torch.nn.functional as F
import torchaudio.functional as AF
import torchaudio.transforms as T
from torch.utils.data import ConcatDataset, DataLoader, random_split
from torchcodec.decoders import AudioDecoder

# ---- as programs and guides have them, in words of ours


class Plain(Files):
    def __getitem__(self, i):
        waveform, sample_rate = torchaudio.load(os.path.join(self.root, self.names[i]))
        return waveform, self.labels[i]


class WithRate(Files):
    def __getitem__(self, i):
        waveform, sr = torchaudio.load(self.root / self.names[i])
        return waveform, sr, self.names[i], self.labels[i]


class Named(Files):
    def __getitem__(self, i):
        path = os.path.join(self.root, self.names[i])
        audio, rate = torchaudio.load(path)
        seconds = float(i) / rate
        sample = {"audio": audio[:, :self.n], "rate": rate, "path": os.path.basename(path), "seconds": seconds}
        return sample


class CutAndPadded(Files):
    """As the series on UrbanSound has it."""

    def __init__(self, root, transform=None, n=12000):
        super().__init__(root, transform, n)
        self.target_sample_rate, self.num_samples = RATE, n

    def __getitem__(self, index):
        path = self._path(index)
        label = self.labels[index]
        signal, sr = torchaudio.load(path)
        signal = self._resample_if_necessary(signal, sr)
        signal = self._mix_down_if_necessary(signal)
        signal = self._cut_if_necessary(signal)
        signal = self._right_pad_if_necessary(signal)
        if self.transform:
            signal = self.transform(signal)
        return signal, label

    def _path(self, index):
        return os.path.join(self.root, self.names[index])

    def _cut_if_necessary(self, signal):
        if signal.shape[1] > self.num_samples:
            signal = signal[:, :self.num_samples]
        return signal

    def _right_pad_if_necessary(self, signal):
        length_signal = signal.shape[1]
        if length_signal < self.num_samples:
            num_missing_samples = self.num_samples - length_signal
            last_dim_padding = (0, num_missing_samples)
            signal = torch.nn.functional.pad(signal, last_dim_padding)
        return signal

    def _resample_if_necessary(self, signal, sr):
        if sr != self.target_sample_rate:
            resampler = torchaudio.transforms.Resample(sr, self.target_sample_rate)
            signal = resampler(signal)
        return signal

    def _mix_down_if_necessary(self, signal):
        if signal.shape[0] > 1:
            signal = torch.mean(signal, dim=0, keepdim=True)
        return signal


class Even(Files):
    def __getitem__(self, i):
        wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]))
        wave = wave.mean(0, keepdim=True)
        return F.pad(wave, (0, self.n - wave.shape[1])), self.labels[i]


class EitherWay(Files):
    def __getitem__(self, i):
        wave, _ = torchaudio.load(os.path.join(self.root, self.names[i]))
        wave = wave[0]
        length = wave.size(0)
        if length >= self.n:
            wave = wave[:self.n]
        else:
            wave = F.pad(wave, (0, self.n - length), mode="constant", value=0)
        return wave.unsqueeze(0), self.labels[i]


class Chained(Files):
    def __getitem__(self, i):
        wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]))
        n = int(self.rate * 0.75)
        if wave.shape[-1] < n:
            wave = F.pad(wave, (0, n - wave.shape[-1]))
        elif wave.shape[-1] > n:
            wave = wave[..., :n]
        return wave.squeeze(0), torch.tensor(self.labels[i])


class Inline(Files):
    def __getitem__(self, i):
        wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]))
        wave = wave[:, :self.n] if wave.shape[1] > self.n else F.pad(wave, (0, self.n - wave.shape[1]))
        return wave, self.labels[i]


class Middle(Files):
    def __getitem__(self, i):
        wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]))
        if wave.shape[1] > self.n:
            start = (wave.shape[1] - self.n) // 2
            wave = wave[:, start:start + self.n]
        else:
            wave = F.pad(wave, (0, self.n - wave.shape[1]))
        return wave, self.labels[i]


class Part(Files):
    def __getitem__(self, i):
        wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]), frame_offset=1001, num_frames=4321)
        return wave, self.labels[i]


class BySeconds(Files):
    def __getitem__(self, i):
        wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]))
        n = int(sr * 0.5)
        return wave[:, :n], self.labels[i]


class First(Files):
    def __getitem__(self, i):
        wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]))
        return wave[1:2], self.labels[i]


class Both(Files):
    def __getitem__(self, i):
        wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]), channels_first=False)
        return wave, self.labels[i]


class Stereo(Files):
    def __getitem__(self, i):
        wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]))
        if wave.shape[0] == 1:
            wave = wave.repeat(2, 1)
        return wave[:, :self.n], self.labels[i]


def load_mono(path, rate=RATE):
    waveform, sr = torchaudio.load(path)
    if sr != rate:
        waveform = AF.resample(waveform, sr, rate)
    return waveform.mean(dim=0)


class ByAFunction(Files):
    def __getitem__(self, i):
        wave = load_mono(os.path.join(self.root, self.names[i]))
        return wave, self.names[i], self.labels[i]


class ByAnItem(Files):
    """As torchaudio's own have it."""

    def _load_item(self, name, root):
        labels = [int(one) for one in name.split(".")[0].split("-")]
        path = os.path.join(root, name)
        waveform, sample_rate = torchaudio.load(path)
        return waveform, sample_rate, labels

    def __getitem__(self, n):
        name = self.names[n]
        item = self._load_item(name, self.root)
        return item


class ByADecoder(Files):
    def __getitem__(self, i):
        samples = AudioDecoder(os.path.join(self.root, self.names[i])).get_all_samples()
        return samples.data, samples.sample_rate, self.labels[i]


class ByADecoderAt(Files):
    def __getitem__(self, i):
        decoder = AudioDecoder(os.path.join(self.root, self.names[i]), sample_rate=self.rate)
        wave = decoder.get_all_samples().data
        return wave.mean(dim=0, keepdim=True), self.labels[i]


class ByADecoderWithin(Files):
    def __getitem__(self, i):
        decoder = AudioDecoder(os.path.join(self.root, self.names[i]))
        return decoder.get_samples_played_in_range(0.1, 0.4).data, self.labels[i]


class Transformed(Files):
    def __getitem__(self, i):
        wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]))
        wave = wave[:, :8000]
        if self.transform is not None:
            wave = self.transform(wave)
        return wave, self.labels[i]


class Logged(Files):
    def __getitem__(self, i):
        wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]))
        mel = self.transform(wave[:, :8000])
        mel = torch.log(mel + 1e-6)
        return {"mel": mel.squeeze(0).transpose(0, 1), "label": self.labels[i]}


class LoggedOtherwise(Files):
    def __getitem__(self, i):
        wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]))
        mel = (self.transform(wave[:, :8000]) + 1e-5).log()
        mel = (mel - (-4.5)) / 2.25
        return mel.permute(0, 2, 1), self.labels[i]


class MadeThere(Files):
    def __getitem__(self, i):
        wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]))
        mel = T.MelSpectrogram(sample_rate=sr, n_fft=512, n_mels=32)(wave[:, :8000])
        return T.AmplitudeToDB(top_db=80)(mel), self.labels[i]


class Kaldi(Files):
    def __getitem__(self, i):
        wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]))
        wave = wave * (1 << 15)
        feats = torchaudio.compliance.kaldi.fbank(wave[:, :8000], num_mel_bins=80, sample_frequency=sr, frame_length=25, frame_shift=10, dither=0.0)
        return feats, self.labels[i]


class Centred(Files):
    """As AST's code has it."""

    def __getitem__(self, i):
        wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]))
        wave = wave - wave.mean()
        feats = torchaudio.compliance.kaldi.fbank(wave, htk_compat=True, sample_frequency=sr, use_energy=False, window_type="hanning", num_mel_bins=128, dither=0.0, frame_shift=10)
        return feats, self.labels[i]


class Returning(Files):
    def __getitem__(self, i):
        wave, _ = torchaudio.load(self.root / self.names[i])
        wave = self.fixed(wave)
        return {"wave": wave, "label": torch.tensor(self.labels[i])}

    def fixed(self, wave, n=10000):
        length = wave.shape[1]
        if length == n:
            return wave
        if length > n:
            return wave[:, :n]
        return F.pad(wave, (0, n - length))


class Unpacked(Files):
    def __getitem__(self, i):
        with open(self.root / self.names[i], "rb") as file:
            data = file.read()
        wave, sr = torchaudio.load(io.BytesIO(data))
        _, length = wave.shape
        if length > self.n:
            wave = wave[:, :self.n]
        elif length < self.n:
            wave = F.pad(wave, (0, self.n - length))
        wave *= 0.5
        return wave, self.labels[i]


def opened(path, rate=RATE, mono=True):
    wave, sr = torchaudio.load(path)
    if mono:
        wave = wave.mean(0, keepdim=True)
    return wave if sr == rate else AF.resample(wave, sr, rate)


class Twice(Files):
    def __getitem__(self, i):
        path = self.root / self.names[i]
        return {"high": opened(path, mono=False), "low": opened(path, 8000), "label": self.labels[i]}


class AsUtilities(Files):
    """As guides to classification have it, tuples that go through static methods."""

    @staticmethod
    def open(path):
        sig, sr = torchaudio.load(path)
        return (sig, sr)

    @staticmethod
    def rechannel(aud, new_channel):
        sig, sr = aud
        if sig.shape[0] == new_channel:
            return aud
        if new_channel == 1:
            resig = sig[:1, :]
        else:
            resig = torch.cat([sig, sig])
        return (resig, sr)

    @staticmethod
    def resample(aud, newsr):
        sig, sr = aud
        if sr == newsr:
            return aud
        resig = T.Resample(sr, newsr)(sig)
        return (resig, newsr)

    def __getitem__(self, i):
        aud = self.open(self.root / self.names[i])
        aud = self.resample(aud, 22050)
        sig, sr = self.rechannel(aud, 2)
        return sig, sr, self.labels[i]


PLAIN = [
    (lambda root: CutAndPadded(root), dict(batch_size=4)),
    (lambda root: Even(root), dict(batch_size=4)),
    (lambda root: EitherWay(root), dict(batch_size=3)),
    (lambda root: Chained(root), dict(batch_size=3)),
    (lambda root: Inline(root), dict(batch_size=3)),
    (lambda root: Middle(root), dict(batch_size=3)),
    (lambda root: Part(root), dict(batch_size=4)),
    (lambda root: BySeconds(root), dict(batch_size=4)),
    (lambda root: Named(root, n=8000), dict(batch_size=4)),
    (lambda root: Plain(root), dict(batch_size=1)),
    (lambda root: Plain(root), dict(batch_size=4, collate_fn=padded)),
    (lambda root: WithRate(root), dict(batch_size=4, collate_fn=listed)),
    (lambda root: Named(root), dict(batch_size=4, collate_fn=listed)),
    (lambda root: ByAFunction(root), dict(batch_size=4, collate_fn=listed)),
    (lambda root: ByAnItem(root), dict(batch_size=4, collate_fn=listed)),
    (lambda root: ByADecoder(root), dict(batch_size=4, collate_fn=listed)),
    (lambda root: ByADecoderWithin(root), dict(batch_size=4)),
    (lambda root: ByADecoderAt(root), dict(batch_size=4, collate_fn=listed)),
    (lambda root: Returning(root), dict(batch_size=4)),
    (lambda root: Unpacked(root), dict(batch_size=4)),
    (lambda root: ConcatDataset([Even(root), Even(root)]), dict(batch_size=4)),
    (lambda root: random_split(Plain(root), [4, 5], torch.Generator().manual_seed(3))[1], dict(batch_size=2, collate_fn=listed)),
]


@pytest.mark.parametrize("make, arguments", PLAIN, ids=[str(i) for i in range(len(PLAIN))])
def test_samples_are_torchaudios_to_the_bit(root, make, arguments):
    same(make(root), **arguments)


MEL = dict(n_fft=400, hop_length=160, n_mels=40)


def mel(**more):
    return T.MelSpectrogram(RATE, **{**MEL, **more})


@pytest.mark.parametrize("make, arguments", [
    (lambda root: CutAndPadded(root), dict(batch_size=4)),
    (lambda root: ByAFunction(root), dict(batch_size=4, collate_fn=listed)),
    (lambda root: AsUtilities(root), dict(batch_size=4, collate_fn=listed)),
], ids=["transforms", "functional", "tuples"])
def test_sounds_of_other_rates_are_resampled(mixed, make, arguments):
    same(make(mixed), 1e-6, **arguments)


class PartResampled(Files):
    def __getitem__(self, i):
        wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]), frame_offset=1001, num_frames=4321)
        return AF.resample(wave, sr, 8000), self.labels[i]


def test_a_part_in_samples_is_of_files_of_one_rate(root, mixed):
    """Whose times it is told in."""
    same(PartResampled(root), 1e-6, batch_size=4)
    with spdl.DataLoader(PartResampled(mixed), batch_size=4, collate_fn=listed) as loader, pytest.raises(spdl.EngineFailed, match=r"1-1.wav has 44100 samples a second, want 16000, as the first sample has it"):
        list(loader)


@pytest.mark.parametrize("make", [Plain, Stereo, First, Both, Even, lambda root: Stereo(root, n=9000), lambda root: Plain(root, n=22050)])
def test_channels_are_torchaudios_to_the_bit(clips, make):
    same(make(clips), batch_size=4)


def test_a_function_that_opens_one_sound_twice(clips):
    same(Twice(clips), 1e-6, batch_size=3)


def test_copies_of_a_channel(root):
    same(Stereo(root, n=8000), batch_size=4)


TRANSFORMS = {
    "mel": (mel(), linear),
    "mel, slaney": (mel(mel_scale="slaney", norm="slaney", f_min=50.0, f_max=7000.0), linear),
    "magnitudes": (mel(power=1.0, center=False), linear),
    "spectrogram": (T.Spectrogram(n_fft=512, win_length=400, hop_length=100, normalized=True), linear),
    "decibels": (torch.nn.Sequential(mel(), T.AmplitudeToDB(top_db=80)), logarithms),
    "decibels without a bound": (torch.nn.Sequential(mel(), T.AmplitudeToDB()), logarithms),
    "decibels of magnitudes": (torch.nn.Sequential(mel(power=1.0), T.AmplitudeToDB("magnitude", 80)), logarithms),
    "mfcc": (T.MFCC(RATE, n_mfcc=20, melkwargs=MEL), coefficients),
    "mfcc of ln": (T.MFCC(RATE, n_mfcc=20, log_mels=True, melkwargs=MEL), coefficients),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_spectra_are_torchaudios(root, name):
    transform, within = TRANSFORMS[name]
    same(Transformed(root, transform), within, batch_size=4)


def test_spectra_of_several_channels(clips):
    same(Transformed(clips, T.MelSpectrogram(22050, **MEL)), linear, batch_size=4)


@pytest.mark.parametrize("make, within", [
    (lambda root: Logged(root, mel()), logarithms), (lambda root: LoggedOtherwise(root, mel()), logarithms), (MadeThere, logarithms), (Kaldi, natural),
    (lambda root: CutAndPadded(root, mel()), linear), (lambda root: CutAndPadded(root, torch.nn.Sequential(mel(), T.AmplitudeToDB(top_db=80))), lambda got, want: np.testing.assert_allclose(got, want, atol=0.5)),
], ids=["ln", "ln of another", "made there", "kaldi", "zeros ahead", "zeros ahead, in decibels"])
def test_what_is_done_to_spectra(root, make, within):
    same(make(root), within, batch_size=4)


def test_the_mean_is_what_kaldis_frames_lose_anyway(root):
    same(Centred(root), natural, batch_size=1)


def test_files_of_other_codecs(tmp_path):
    """FLAC to the bit, MP3 and AAC as near as docs/audio.md says."""
    for ending, codec, within in (("flac", "flac", 0.0), ("mp3", "libmp3lame", 5e-6), ("m4a", "aac", 2e-6)):
        at = tmp_path / ending
        at.mkdir()
        for i in range(3):
            spdl.io.save_audio(at / f"{i}-{i}.{ending}", signal(2, 12000 + 500 * i, 44100, i), 44100, codec=codec)
        same(Plain(at), within, batch_size=2, collate_fn=listed)


def test_arrays_in_the_place_of_tensors_and_a_description(root):
    with spdl.DataLoader(CutAndPadded(root, mel()), batch_size=4, tensors="numpy", copy=True) as loader:
        for (got, labels), (want, numbers) in zip(loader, DataLoader(CutAndPadded(root, mel()), batch_size=4)):
            assert isinstance(got, np.ndarray) and labels.tolist() == numbers.tolist()
            linear(got, want.numpy())
    said = spdl.describe(CutAndPadded(root, mel()), batch_size=4)
    assert said["audio"] == {"rate": RATE, "resample": {"method": "sinc_interp_hann", "filters": "f64"}, "length": 12000, "crop": "start",
                             "features": {"kind": "mel", "n_fft": 400, "hop_length": 160, "n_mels": 40, "f_max": 8000.0, "padding": "silence"}}


def test_spectra_of_their_own_length_are_a_list(root):
    class Spectra(Files):
        def __getitem__(self, i):
            wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]))
            return self.transform(wave).squeeze(0), self.labels[i]

    same(Spectra(root, mel()), linear, batch_size=4, collate_fn=listed)
    same(Spectra(root, mel()), linear, batch_size=1)


class Random(Files):
    """A crop that is drawn, where there is room for one."""

    def __getitem__(self, i):
        wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]))
        if wave.shape[1] > self.n:
            start = random.randint(0, wave.shape[1] - self.n)
            wave = wave[:, start:start + self.n]
        else:
            wave = F.pad(wave, (0, self.n - wave.shape[1]))
        return wave, i


class RandomByTorch(Files):
    def __getitem__(self, i):
        wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]))
        length = wave.shape[1]
        pad = max(0, self.n - length)
        wave = F.pad(wave, (0, pad))
        if length > self.n:
            at = torch.randint(0, length - self.n + 1, (1,)).item()
            wave = wave[:, at:at + self.n]
        return wave, i


class RandomByNumPy(Files):
    def __getitem__(self, i):
        wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]))
        max_start = wave.size(1) - self.n
        if max_start > 0:
            s = np.random.randint(0, max_start)
            wave = wave[:, s:s + self.n]
        return wave, i


@pytest.mark.parametrize("cls, n", [(Random, 12000), (RandomByTorch, 12000), (RandomByNumPy, 7000)])
def test_crops_that_are_drawn_are_somewhere_in_their_sound(root, cls, n):
    dataset, starts = cls(root, n=n), set()
    with spdl.DataLoader(dataset, batch_size=3, copy=True) as loader:
        for _ in range(3):
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


class WaveAndMel(Files):
    def __getitem__(self, i):
        wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]))
        start = random.randint(0, wave.shape[1] - self.n)
        wave = wave[:, start:start + self.n]
        return {"wave": wave, "mel": self.transform(wave), "again": wave, "label": self.labels[i]}


def test_what_is_made_of_one_crop_is_of_the_same(root):
    with spdl.DataLoader(WaveAndMel(root, mel(), n=6000), batch_size=3, copy=True) as loader:
        for batch in loader:
            linear(batch["mel"].numpy(), mel()(batch["wave"]).numpy())
            assert torch.equal(batch["wave"], batch["again"]) and list(batch) == ["wave", "mel", "again", "label"]


def test_masks_are_drawn(root):
    augment = torch.nn.Sequential(mel(), T.AmplitudeToDB(top_db=80), T.FrequencyMasking(12), T.TimeMasking(20), T.TimeMasking(20))
    plain = [batch for batch, _ in DataLoader(Transformed(root, torch.nn.Sequential(mel(), T.AmplitudeToDB(top_db=80))), batch_size=3)]
    hidden = 0
    with spdl.DataLoader(Transformed(root, augment), batch_size=3, copy=True) as loader:
        for (got, _), want in zip(loader, plain):
            masked = got == 0
            hidden += int(masked.sum())
            near = ~masked & (want >= want.amax(dim=2, keepdim=True) - 40)
            assert (got - want)[near].abs().max() <= 2e-4
    assert 0 < hidden < 0.8 * sum(one.numel() for one in plain)


class Crops(Files):
    """Two crops of a sound, as contrastive learning takes them."""

    def crop(self, wave):
        start = torch.randint(0, wave.shape[1] - self.n + 1, (1,)).item()
        return wave[:, start:start + self.n]

    def __getitem__(self, i):
        wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]))
        return [self.crop(wave) for _ in range(2)], i


class Masks(Files):
    def __getitem__(self, i):
        wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]))
        spectrum = self.transform(wave[:, :8000])
        mask = T.FrequencyMasking(20)
        return [mask(spectrum) for _ in range(2)], i


def test_what_is_drawn_twice_is_two_draws(root):
    for dataset in (Crops(root, n=4000), Masks(root, mel())):
        with spdl.DataLoader(dataset, batch_size=9, copy=True) as loader:
            (first, second), _ = next(iter(loader))
        assert sum(not torch.equal(one, other) for one, other in zip(first, second)) > 4


class Two(Files):
    """A sound and another of the same speaker."""

    def __getitem__(self, i):
        a, _ = torchaudio.load(os.path.join(self.root, self.names[i]))
        b, _ = torchaudio.load(os.path.join(self.root, self.names[(i + 1) % len(self.names)]))
        return a[:, :8000], b[:, :7000], self.labels[i]


def test_several_files(root):
    same(Two(root), batch_size=4)


class Added(Files):
    """As torchaudio's data sets of speech have it."""

    def __getitem__(self, n):
        metadata = self.names[n], RATE, "text " * n, n
        waveform = load_of(self.root, metadata[0], metadata[1])
        return (waveform,) + metadata[1:]


def load_of(root, filename, exp_sample_rate):
    path = os.path.join(root, filename)
    waveform, sample_rate = torchaudio.load(path)
    if exp_sample_rate != sample_rate:
        raise ValueError(f"sample rate should be {exp_sample_rate}, but got {sample_rate}")
    return waveform


def test_a_tuple_is_added_to(root, mixed):
    same(Added(root), batch_size=4, collate_fn=listed)


def test_the_pages_block_runs(root, tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/own-datasets.md").read_text(encoding="utf-8")
    block = page.split("## Sounds\n")[1].split("```")[1].removeprefix("python")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train").symlink_to(root)
    (tmp_path / "train.csv").write_text("filename,label\n" + "".join(f"{name},{i % 3}\n" for i, name in enumerate(sorted(os.listdir(root)))))
    (tmp_path / "script.py").write_text(block)
    seen = []
    script = {"train": lambda features, labels: seen.append((features.clone(), labels.tolist())), "__name__": "script"}
    exec(compile(block, str(tmp_path / "script.py"), "exec"), script)
    script["loader"].close()  # its files' names are of this directory
    assert [tuple(features.shape) for features, _ in seen] == [(4, 1, 64, 101), (4, 1, 64, 101), (1, 1, 64, 101)]
    whole = {float(features.sum()): features for features, _ in DataLoader(script["loader"].dataset)}
    for features, _ in seen:
        for one in features:
            near = min(whole.values(), key=lambda other: (other[0] - one).abs().max())
            assert (near[0] - one).abs().max() < 0.5
