"""The same by soundfile, librosa and SciPy, and torchaudio's own data sets: spdl.DataLoader in the place of torch's, by one word, has the same samples, to the bit."""

import importlib

import numpy as np
import pytest

from audio import signal
from own_sounds import RATE, Files, clips, listed, of_16_bits, root, same, torch, torchaudio  # noqa: F401

import spdl.io


class Missing:
    """In the place of a library that is not installed: who asks for something of it skips."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        if name in ("load", "read"):
            pytest.skip(f"{self._name} is not installed")
        raise AttributeError(name)


def library(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return Missing(name)


sf, librosa, wavfile = library("soundfile"), library("librosa"), library("scipy.io.wavfile")


class ByLibrosa(Files):
    def __getitem__(self, i):
        y, sr = librosa.load(self.root / self.names[i], sr=self.rate, offset=0.1, duration=0.25)
        return torch.from_numpy(y).unsqueeze(0), sr, self.labels[i]


class Fixed(Files):
    def __getitem__(self, i):
        y, _ = librosa.load(self.root / self.names[i], sr=None)
        return librosa.util.fix_length(y, size=self.n), self.labels[i]


class Normalized(Files):
    def __getitem__(self, i):
        y, _ = librosa.load(self.root / self.names[i], sr=None)
        y = librosa.util.normalize(y)
        return librosa.util.fix_length(y, size=self.n), self.labels[i]


@pytest.mark.parametrize("cls", [ByLibrosa, Fixed, Normalized])
def test_sounds_by_librosa(root, cls):
    same(cls(root), batch_size=4)


class BySoundfile(Files):
    def __getitem__(self, i):
        data, samplerate = sf.read(self.root / self.names[i])
        data = data.astype(np.float32)
        data = data[:self.n] if len(data) >= self.n else np.pad(data, (0, self.n - len(data)))
        return data, samplerate, self.labels[i]


class Doubles(Files):
    def __getitem__(self, i):
        data, _ = sf.read(str(self.root / self.names[i]))
        return data[:8000], self.labels[i]


class Wholes(Files):
    def __getitem__(self, i):
        data, _ = sf.read(self.root / self.names[i], dtype="int16", start=100, stop=5100)
        return data, self.labels[i]


class Mixed(Files):
    def __getitem__(self, i):
        with open(self.root / self.names[i], "rb") as file:
            data, _ = sf.read(file, dtype="float32")
        if data.ndim > 1:
            data = data.mean(axis=1)
        return torch.tensor(data)[:8000], self.labels[i]


class Columns(Files):
    def __getitem__(self, i):
        data, _ = sf.read(self.root / self.names[i], always_2d=True)
        return torch.from_numpy(data.T).float(), self.labels[i]


@pytest.mark.parametrize("cls", [BySoundfile, Doubles, Wholes, Mixed])
def test_sounds_by_soundfile(root, cls):
    same(cls(root), batch_size=4)


@pytest.mark.parametrize("cls", [Doubles, Mixed, Columns])
def test_sounds_of_two_channels_by_soundfile(clips, cls):
    same(cls(clips), batch_size=4)


class BySciPy(Files):
    def __getitem__(self, i):
        rate, data = wavfile.read(self.root / self.names[i])
        return data[:8000], rate, self.labels[i]


class Scaled(Files):
    def __getitem__(self, i):
        _, data = wavfile.read(self.root / self.names[i])
        x = data.astype(np.float32) / 32768.0
        return torch.from_numpy(x[:8000]), self.labels[i]


class Halves(Files):
    def __getitem__(self, i):
        _, data = wavfile.read(self.root / self.names[i])
        return data[:8000] / 2, self.labels[i]


class Unscaled(Files):
    def __getitem__(self, i):
        _, data = wavfile.read(self.root / self.names[i])
        x = torch.FloatTensor(data[:8000])
        return x, self.labels[i]


@pytest.mark.parametrize("cls", [BySciPy, Scaled, Halves, Unscaled])
def test_sounds_by_scipy(root, cls):
    same(cls(root), batch_size=4)


def test_channels_by_scipy(clips):
    class One(Files):
        def __getitem__(self, i):
            _, data = wavfile.read(self.root / self.names[i])
            if len(data.shape) > 1:
                data = data[:, 1]
            return data, self.labels[i]

    same(One(clips), batch_size=4)
    same(BySciPy(clips), batch_size=4)


# ---- torchaudio's own data sets


def test_data_sets_of_torchaudio_are_read_as_ones_own_are(tmp_path):
    at = tmp_path / "SpeechCommands" / "speech_commands_v0.02"
    for k, word in enumerate(("yes", "no")):
        (at / word).mkdir(parents=True)
        for i in range(3):
            of_16_bits(at / word / f"{i:08x}_nohash_{k}.wav", signal(1, 16000 - 1000 * i, RATE, i), RATE)
    (at / "validation_list.txt").write_text("yes/00000000_nohash_0.wav\n")
    (at / "testing_list.txt").write_text("no/00000001_nohash_1.wav\n")
    same(torchaudio.datasets.SPEECHCOMMANDS(tmp_path), batch_size=3, collate_fn=listed)

    class Some(torchaudio.datasets.SPEECHCOMMANDS):
        """As torchaudio's guide to it has it."""

        def __init__(self, root, subset):
            super().__init__(root, download=False)
            self._walker = [one for one in self._walker if subset in one]

    same(Some(tmp_path, "yes"), batch_size=2, collate_fn=listed)
    (tmp_path / "waves_yesno").mkdir()
    for i in range(3):
        of_16_bits(tmp_path / "waves_yesno" / f"{i % 2}_1_0_0_1_0_1_{i // 2}.wav", signal(1, 8000 + 100 * i, 8000, i), 8000)
    same(torchaudio.datasets.YESNO(tmp_path), batch_size=2, collate_fn=listed)
    chapter = tmp_path / "LibriSpeech" / "test-clean" / "61" / "70968"
    chapter.mkdir(parents=True)
    for i in range(3):
        spdl.io.save_audio(chapter / f"61-70968-{i:04}.flac", signal(1, 16000 + 1000 * i, RATE, i), RATE)
    (chapter / "61-70968.trans.txt").write_text("".join(f"61-70968-{i:04} WORDS {i}\n" for i in range(3)))
    same(torchaudio.datasets.LIBRISPEECH(tmp_path, url="test-clean"), batch_size=2, collate_fn=listed)
    (tmp_path / "LJSpeech-1.1" / "wavs").mkdir(parents=True)
    for i in range(3):
        of_16_bits(tmp_path / "LJSpeech-1.1" / "wavs" / f"LJ{i}.wav", signal(1, 22050 + 1000 * i, 22050, i), 22050)
    (tmp_path / "LJSpeech-1.1" / "metadata.csv").write_text("".join(f"LJ{i}|text {i}|words {i}\n" for i in range(3)))
    same(torchaudio.datasets.LJSPEECH(tmp_path), batch_size=2, collate_fn=listed)
    for genre in ("blues", "rock"):
        (tmp_path / "genres" / genre).mkdir(parents=True)
        for i in range(2):
            of_16_bits(tmp_path / "genres" / genre / f"{genre}.{i:05}.wav", signal(1, 22050, 22050, i), 22050)
    same(torchaudio.datasets.GTZAN(tmp_path), batch_size=3)
