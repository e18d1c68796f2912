"""Classes of one's own that load sounds with librosa: spdl.DataLoader in the place of torch's, by one word, has the same samples to the bit, and its spectra within what float32 leaves uncertain."""

import linecache

import numpy as np
import pytest

from own_sounds import Files, equal, listed, logarithms, mixed, root, same, torch  # noqa: F401

librosa = pytest.importorskip("librosa", reason="librosa is not installed")
sf = pytest.importorskip("soundfile", reason="soundfile is not installed")
import spdl  # noqa: E402


class Loaded(Files):
    def __getitem__(self, i):
        y, sr = librosa.load(self.root / self.names[i])
        y = librosa.util.fix_length(y, size=self.n)
        return y, sr, self.labels[i]


class At16k(Files):
    def __getitem__(self, i):
        y, _ = librosa.load(self.root / self.names[i], sr=16000, mono=True)
        if len(y) > self.n:
            y = y[:self.n]
        else:
            y = np.pad(y, (0, self.n - len(y)), mode="constant")
        return torch.tensor(y), self.labels[i]


class Part(Files):
    def __getitem__(self, i):
        y, sr = librosa.load(self.root / self.names[i], sr=16000, offset=0.1, duration=0.5)
        return torch.from_numpy(y).unsqueeze(0), self.labels[i]


class Resampled(Files):
    def __getitem__(self, i):
        y, sr = librosa.load(self.root / self.names[i], sr=None)
        if sr != 22050:
            y = librosa.resample(y, orig_sr=sr, target_sr=22050)
        return librosa.util.fix_length(y, size=self.n), self.labels[i]


class BySoundfile(Files):
    def __getitem__(self, i):
        y, sr = sf.read(self.root / self.names[i], always_2d=True)
        y = librosa.to_mono(y.T)
        y = librosa.resample(y, orig_sr=sr, target_sr=8000)
        return librosa.util.fix_length(y, size=self.n), self.labels[i]


@pytest.mark.parametrize("cls", [Loaded, At16k, Part, Resampled])
def test_samples_by_librosa(mixed, cls):
    same(cls(mixed), batch_size=4)


def test_doubles_by_librosa(mixed):
    same(BySoundfile(mixed), batch_size=4, within=1e-6)


def test_sounds_of_lengths_of_their_own(mixed):
    class Whole(Files):
        def __getitem__(self, i):
            y, _ = librosa.load(self.root / self.names[i], sr=48000)
            return torch.from_numpy(y), self.labels[i]

    same(Whole(mixed), batch_size=4, collate_fn=listed)


def test_a_crop_that_is_drawn_is_of_the_sound_resampled(mixed):
    import random

    class Cropped(Files):
        def __getitem__(self, i):
            y, _ = librosa.load(self.root / self.names[i], sr=16000)
            start = random.randint(0, len(y) - self.n)
            return y[start:start + self.n], i

    data = Cropped(mixed)
    seen = set()
    with spdl.DataLoader(data, batch_size=3, copy=True) as loader:
        for rows, numbers in loader:
            for row, i in zip(rows, numbers):
                y, _ = librosa.load(data.root / data.names[i], sr=16000)
                places = [at for at in np.flatnonzero(y[:len(y) - data.n + 1] == row[0].item()) if np.array_equal(y[at:at + data.n], row.numpy())]
                assert places
                seen.add((int(i), int(places[0])))
    assert len({place for _, place in seen}) > 3


def powers(got, want):
    np.testing.assert_allclose(got, want, rtol=0, atol=5e-7 * np.abs(want).max())


def mfcc(got, want):
    assert np.abs(got - want).max() <= 1e-3


class Spectra(Files):
    """Of a sound of one length, what the method makes of it."""

    def __init__(self, root, n=12000):
        super().__init__(root, n=n)
        self.settings = {"n_mels": 64, "n_fft": 1024, "hop_length": 256}

    def wave(self, i):
        y, sr = librosa.load(self.root / self.names[i])
        return librosa.util.fix_length(y, size=self.n), sr


class Mel(Spectra):
    def __getitem__(self, i):
        y, sr = self.wave(i)
        return librosa.feature.melspectrogram(y=y, sr=sr, n_fft=1024, hop_length=256, fmin=20, fmax=sr // 2), self.labels[i]


class Settings(Spectra):
    def __getitem__(self, i):
        y, sr = self.wave(i)
        mel = librosa.feature.melspectrogram(y=y, sr=sr, **self.settings)
        return torch.from_numpy(mel.astype(np.float32)[np.newaxis, ...]), self.labels[i]


class Htk(Spectra):
    def __getitem__(self, i):
        y, sr = self.wave(i)
        return librosa.feature.melspectrogram(y=y, sr=sr, htk=True, norm=None, power=1.0, n_fft=2048, win_length=1000, hop_length=int(sr * 0.01)).T, self.labels[i]


class Power(Spectra):
    def __getitem__(self, i):
        y, sr = self.wave(i)
        return np.abs(librosa.stft(y)) ** 2, abs(librosa.stft(y, n_fft=512, hop_length=100, center=False)), self.labels[i]


class OfPowers(Spectra):
    def __getitem__(self, i):
        y, sr = self.wave(i)
        return librosa.feature.melspectrogram(S=np.square(np.abs(librosa.stft(y, n_fft=1024))), sr=sr), self.labels[i]


class ByPeak(Spectra):
    def __getitem__(self, i):
        y, sr = self.wave(i)
        return librosa.feature.melspectrogram(y=librosa.util.normalize(y), sr=sr), self.labels[i]


@pytest.mark.parametrize("cls", [Mel, Settings, Htk, Power, OfPowers, ByPeak])
def test_spectra_by_librosa(mixed, cls):
    same(cls(mixed), batch_size=4, within=powers)


class Decibels(Spectra):
    def __getitem__(self, i):
        y, sr = self.wave(i)
        mel = librosa.feature.melspectrogram(y=y, sr=sr)
        return torch.tensor(librosa.power_to_db(mel, ref=np.max)).unsqueeze(0), self.labels[i]


class Plain(Spectra):
    def __getitem__(self, i):
        y, sr = self.wave(i)
        return librosa.power_to_db(librosa.feature.melspectrogram(y=y, sr=sr), top_db=None), librosa.power_to_db(librosa.feature.melspectrogram(y=y, sr=sr), ref=1e-3, amin=1e-6, top_db=40.0)


class Amplitudes(Spectra):
    def __getitem__(self, i):
        y, sr = self.wave(i)
        return librosa.amplitude_to_db(np.abs(librosa.stft(y, n_fft=1024)), ref=np.max), self.labels[i]


class Stacked(Spectra):
    def __getitem__(self, i):
        y, sr = self.wave(i)
        mel = librosa.power_to_db(librosa.feature.melspectrogram(y=y, sr=sr), ref=np.max)
        return np.stack([mel] * 3), torch.tensor(mel).unsqueeze(0).repeat(3, 1, 1), np.repeat(np.expand_dims(mel, 0), 3, axis=0), np.transpose(mel), self.labels[i]


class Others(Spectra):
    """What the engine has no equal for, the library makes of its spectra."""

    def __getitem__(self, i):
        y, sr = self.wave(i)
        mel = librosa.feature.melspectrogram(y=y, sr=sr)
        return librosa.amplitude_to_db(mel, ref=np.max), librosa.power_to_db(mel, ref=np.median), self.labels[i]


@pytest.mark.parametrize("cls", [Decibels, Plain, Amplitudes, Stacked, Others])
def test_decibels_by_librosa(mixed, cls):
    def near(got, want):
        axis = -1 if want.shape[-2] < 100 else -2  # of bands
        gap = want.max(axis=axis, keepdims=True) - want
        assert (np.abs(got - want) <= 1e-4 + 2e-6 * 10 ** (gap / 20)).all()

    same(cls(mixed), batch_size=4, within=near)


class Scaled(Spectra):
    def __getitem__(self, i):
        y, sr = self.wave(i)
        mel = librosa.power_to_db(librosa.feature.melspectrogram(y=y, sr=sr), ref=np.max)
        x = torch.tensor(mel).unsqueeze(0)
        return (mel - mel.mean()) / (mel.std() + 1e-6), (mel - mel.min()) / (mel.max() - mel.min()), (x - x.mean()) / x.std(), mel / np.max(np.abs(mel)), (np.clip(mel, -80, 0) + 80) / 80


def test_scaled_spectra(mixed):
    def near(got, want):
        assert np.abs(got - want).max() <= 1e-4

    same(Scaled(mixed), batch_size=4, within=near)


class MFCC(Spectra):
    def __getitem__(self, i):
        y, sr = self.wave(i)
        return librosa.feature.mfcc(y=y, sr=sr, n_mfcc=40), librosa.feature.mfcc(S=librosa.power_to_db(librosa.feature.melspectrogram(y=y, sr=sr, n_mels=64)), n_mfcc=13).T, self.labels[i]


class Deltas(Spectra):
    def __getitem__(self, i):
        y, sr = self.wave(i)
        return librosa.feature.delta(librosa.feature.mfcc(y=y, sr=sr, n_mfcc=13, htk=True, n_mels=40, mel_norm=None)), self.labels[i]


@pytest.mark.parametrize("cls", [MFCC, Deltas])
def test_mfcc_by_librosa(mixed, cls):
    same(cls(mixed), batch_size=4, within=mfcc)


def test_spectra_at_the_rate_of_the_files(root):
    class Native(Files):
        def __getitem__(self, i):
            y, sr = librosa.load(self.root / self.names[i], sr=None)
            return librosa.feature.melspectrogram(y=y[:8000], sr=sr), self.labels[i]

    same(Native(root), batch_size=4, within=powers)


def test_spectra_of_lengths_of_their_own(mixed):
    class Whole(Files):
        def __getitem__(self, i):
            y, sr = librosa.load(self.root / self.names[i])
            mel = librosa.feature.melspectrogram(y=y, sr=sr)
            return torch.from_numpy(mel), self.labels[i]

    same(Whole(mixed), batch_size=4, within=powers, collate_fn=listed)
    same(Whole(mixed), batch_size=1, within=powers)


class Steps(Files):
    """Of sounds of several lengths, spectra that are brought to one."""

    def mfcc(self, i):
        y, sr = librosa.load(self.root / self.names[i])
        return librosa.feature.mfcc(y=y, sr=sr, n_mfcc=20)


class OnAnyLength(Steps):
    def __getitem__(self, i):
        x = self.mfcc(i)
        if x.shape[1] < self.n:
            x = np.pad(x, ((0, 0), (0, self.n - x.shape[1])), mode="constant")
        else:
            x = x[:, :self.n]
        return torch.tensor(x).unsqueeze(0), self.labels[i]


class ByRoom(Steps):
    def __getitem__(self, i):
        x = self.mfcc(i)
        room = self.n - x.shape[1]
        if room > 0:
            x = np.pad(x, pad_width=((0, 0), (0, room)))
        return x[:, :self.n][np.newaxis], self.labels[i]


class Middle(Steps):
    def __getitem__(self, i):
        x = self.mfcc(i)
        if x.shape[-1] > self.n:
            start = (x.shape[-1] - self.n) // 2
            x = x[..., start:start + self.n]
        else:
            x = librosa.util.fix_length(x, size=self.n, axis=1)
        return x, self.labels[i]


class ByTorch(Steps):
    def __getitem__(self, i):
        x = torch.from_numpy(self.mfcc(i))
        return torch.nn.functional.pad(x, (0, self.n - x.shape[1])), self.labels[i]


class Normed(Steps):
    def __getitem__(self, i):
        x = self.mfcc(i)
        x = (x - x.mean(axis=1, keepdims=True)) / (x.std(axis=1, keepdims=True) + 1e-6)
        x = librosa.util.fix_length(x, size=self.n, axis=1)
        return np.stack([x, x, x]), self.labels[i]


class NormedBehind(Steps):
    def __getitem__(self, i):
        x = librosa.util.fix_length(self.mfcc(i), size=self.n, axis=1)
        return (x - x.mean()) / x.std(), self.labels[i]


class DecibelsBehind(Steps):
    def __getitem__(self, i):
        y, sr = librosa.load(self.root / self.names[i])
        x = librosa.feature.melspectrogram(y=y, sr=sr)
        steps = x.shape[1]
        y = librosa.util.fix_length(y, size=20000)
        x = librosa.power_to_db(x, ref=np.max)
        x = np.pad(x, ((0, 0), (0, self.n - steps))) if steps < self.n else x[:, :self.n]
        return y, x, self.labels[i]


class Means(Steps):
    def __getitem__(self, i):
        x = self.mfcc(i)
        return np.mean(x.T, axis=0), torch.tensor(x.mean(axis=1)) / 100, np.mean(x, axis=-1), self.labels[i]


@pytest.mark.parametrize("n", [30, 60, 120])  # steps: all sounds have more, or some, or fewer
@pytest.mark.parametrize("cls", [OnAnyLength, ByRoom, Middle, ByTorch, Normed, NormedBehind, DecibelsBehind, Means])
def test_spectra_of_one_length(mixed, cls, n):
    same(cls(mixed, n=n), batch_size=4, within=mfcc)


@pytest.mark.parametrize("cls", [OnAnyLength, Normed, Means])
def test_spectra_of_one_length_for_a_function(mixed, cls):
    same(cls(mixed, n=60), batch_size=4, within=mfcc, collate_fn=listed)


class Crop(Steps):
    """Sounds of one length, whose spectra are."""

    def __getitem__(self, i):
        y, sr = librosa.load(self.root / self.names[i])
        x = librosa.feature.mfcc(y=librosa.util.fix_length(y, size=12000), sr=sr, n_mfcc=20)
        z = (x - x.mean(axis=1, keepdims=True))[:, :20]
        return z, librosa.util.fix_length(x, size=self.n, axis=1), x.mean(axis=1), x.mean(axis=0), self.labels[i]


def test_spectra_of_sounds_of_one_length(mixed):
    same(Crop(mixed, n=50), batch_size=4, within=mfcc)


def refused(root, body, message, **more):
    """A data set whose method has these statements, behind y and sr, is refused with where and what."""
    names = {"librosa": librosa, "np": np, "torch": torch, "sf": sf, "Files": Files}
    text = "class Own(Files):\n    def __getitem__(self, i):\n        path = self.root / self.names[i]\n" + "".join(f"        {line}\n" for line in body.split("\n")) + "        return x, self.labels[i]\n"
    name = f"<{hash(text)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), names)
    with pytest.raises((spdl.ArgumentError, spdl.SpecError), match=message):
        with spdl.DataLoader(names["Own"](root), batch_size=4, **more):
            pass


LOAD = "y, sr = librosa.load(path)\ny = librosa.util.fix_length(y, size=9000)\n"


STEPS = LOAD + "m = librosa.feature.melspectrogram(y=y, sr=sr)\n"


@pytest.mark.parametrize("body, message", [
    (STEPS + "x = librosa.util.fix_length(np.stack([m, m]), size=9, axis=2)", "want crops and zeros of a spectrum in front of copies"),
    (STEPS + "import random\ns = random.randint(0, m.shape[1] - 9)\nx = m[:, s:s + 9]", "want a crop that is drawn of the samples, in front of what is made of them"),
    (STEPS + "x = m[:13]", r"got 'm\[:13\]'"),
    (STEPS + "x = m[:, 5:]", r"got 'm\[:, 5:\]'"),
    (STEPS + "x = np.pad(m, ((0, 0), (0, 90 - m.shape[1])), constant_values=-80)", r"got 'np.pad\("),
    (STEPS + "x = np.pad(m, ((0, 90 - m.shape[1]), (0, 0)))", "want zeros behind a sound"),
    (STEPS + "x = np.pad(m, ((0, 0), (9, 0)))", "want zeros behind a sound"),
    (STEPS + "x = m.mean()", "want sounds, frames"),
    (STEPS + "x = m.mean(axis=1)[:4]", r"got 'm.mean\(axis=1\)\[:4\]'"),
    (STEPS + "x = librosa.feature.mfcc(S=librosa.util.fix_length(m, size=9, axis=1))", "want y="),
    (STEPS + "x = librosa.resample(m, orig_sr=sr, target_sr=8000)", "want it of an array of .samples."),
    (STEPS + "x = m.mean(axis=0, keepdims=True)", "want sounds, frames"),
    ("x, sr = librosa.load(path, sr=8000, res_type='soxr_vhq')", "which librosa resamples to 8000 by another res_type, want 8000: res_type=\"soxr_hq\""),
    ("y, sr = librosa.load(path, sr=None)\nx = librosa.resample(y, orig_sr=sr, target_sr=8000, res_type='polyphase')", 'whose res_type is "soxr_hq"'),
    ("y, sr = librosa.load(path, sr=None)\nx = librosa.resample(y, orig_sr=sr, target_sr=8000, scale=True)", 'whose res_type is "soxr_hq"'),
    ("y, sr = librosa.load(path, sr=None)\nx = librosa.resample(y, orig_sr=44100, target_sr=8000)", "has 16000 samples a second, want 44100, as its code says"),
    ("y, sr = librosa.load(path)\nx = librosa.resample(y, orig_sr=sr, target_sr=8000)", "want resampling once"),
    (LOAD + "x = librosa.stft(y)", r"got 'x'"),
    (LOAD + "x = librosa.stft(y).real", r"librosa.stft\(y\).real', want what is done to a sound"),
    (LOAD + "x = librosa.stft(y) * 2", r"librosa.stft\(y\) \* 2', want what is done to a sound"),
    (LOAD + "x = np.angle(librosa.stft(y))", r"want magnitudes of it: np.abs\(librosa.stft\(y\)\)"),
    (LOAD + "x = librosa.feature.melspectrogram(y=y, sr=16000)", "got sr=16000 of sounds of 22050 samples a second, want sr=22050"),
    (LOAD + "x = librosa.feature.melspectrogram(y=y, sr=sr, window='hamming')", "got window='hamming', want 'hann'"),
    (LOAD + "x = librosa.feature.melspectrogram(y=y, sr=sr, pad_mode='edge')", "got pad_mode='edge', want 'constant' or 'reflect'"),
    (LOAD + "x = librosa.feature.melspectrogram(y=y, sr=sr, power=1.5)", "got power=1.5, want 1.0 or 2.0"),
    (LOAD + "x = librosa.feature.melspectrogram(y=y, sr=sr, norm=1)", "got norm=1, want 'slaney' or None"),
    (LOAD + "x = librosa.feature.melspectrogram(y=y, sr=sr, n_fft=134)", "67 is a prime factor"),
    (LOAD + "x = librosa.feature.melspectrogram(y=y, sr=sr, n_mels=10 + i)", "want arguments that are known when the loader is made"),
    (LOAD + "x = librosa.feature.melspectrogram(S=y, sr=sr)", "want y="),
    (LOAD + "x = librosa.feature.mfcc(y=y, sr=sr, lifter=22)", "got lifter=22, want 0"),
    (LOAD + "x = librosa.feature.mfcc(y=y, sr=sr, n_mfcc=50, n_mels=40)", "got n_mfcc=50 of 40 bands, want 40 at most"),
    (LOAD + "x = librosa.feature.mfcc(S=librosa.feature.melspectrogram(y=y, sr=sr))", "want S=librosa.power_to_db"),
    (LOAD + "x = librosa.feature.chroma_stft(y=y, sr=sr)", r"got 'librosa.feature.chroma_stft\(y=y, sr=sr\)', want what is done to a sound"),
    (LOAD + "x = librosa.feature.melspectrogram(y=y * 2, sr=sr)", "want it of samples as their files have them"),
    (LOAD + "x = librosa.feature.melspectrogram(y=torch.tensor(y), sr=sr)", "want it of an array"),
    (LOAD + "m = librosa.feature.melspectrogram(y=y, sr=sr)\nx = np.stack([m, m * 2])", "want several times one spectrum"),
    (LOAD + "m = librosa.feature.melspectrogram(y=y, sr=sr)\nx = np.stack([m, m, m], -1).transpose(2, 0, 1)", "want axes as they are"),
    (LOAD + "m = librosa.feature.melspectrogram(y=y, sr=sr)\nx = torch.cat([torch.tensor(m), torch.tensor(m)])", "want copies along an axis of one"),
])
def test_what_has_no_equal_is_refused(root, body, message):
    refused(root, body, message)


def test_a_part_that_other_rates_cut_elsewhere_is_refused(mixed):
    class Own(Files):
        def __getitem__(self, i):
            y, _ = librosa.load(self.root / self.names[i], sr=16000, duration=0.29)
            return y, self.labels[i]

    with pytest.raises(spdl.SpdlError, match="at which the part that its code takes of it begins or ends beside a sample"):
        with spdl.DataLoader(Own(mixed), batch_size=4) as loader:
            list(loader)


def test_an_axis_behind_all_others(root):
    """x[..., None] is an axis at the end, whatever stands ahead of it."""
    class Own(Files):
        def __getitem__(self, i):
            y, _ = librosa.load(self.root / self.names[i])
            y = librosa.util.fix_length(y, size=9000)
            return y[..., None], y[None, ...], y[None, :], self.labels[i]

    same(Own(root), batch_size=4)
