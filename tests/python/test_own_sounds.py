"""Sounds and videos in classes of one's own, where there is no torch: what is refused, by stand-ins with the names of torchaudio's, torchcodec's and other libraries' functions.
tests/exact/test_own_sounds.py, test_own_sounds_libraries.py and test_own_videos.py hold what is taken against the libraries' own."""

from __future__ import annotations

import importlib.util
import itertools
import random
import sys
import types
import wave
from pathlib import Path
from typing import Any

import pytest
import spdl

np = pytest.importorskip("numpy")

Dataset = type("Dataset", (), {"__module__": "torch.utils.data.dataset"})
numbers = itertools.count()

TEXT = """
import random

import librosa
import numpy as np
import soundfile
import torch
import torch.nn.functional as F
import torchaudio
import torchaudio.transforms as T
from scipy.io import wavfile
from torchcodec.decoders import AudioDecoder, VideoDecoder
from torchcodec.samplers import clips_at_regular_timestamps


class Own(Dataset):
    n, rates, flag = 5000, [16000] * 9, True

    def __init__(self, files):
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        path = self.files[i]
{}
        return w, i
"""


def function(name: str, module: str) -> Any:
    """A stand-in for a function, which nobody calls."""
    def stands_in(*args: Any, **named: Any) -> Any:
        raise AssertionError(name)

    stands_in.__name__, stands_in.__qualname__, stands_in.__module__ = name, name, module
    return stands_in


def transform(name: str) -> type:
    return type(name, (), {"__module__": "torchaudio.transforms._transforms", "__init__": lambda self, *args, **named: vars(self).update(named), "__call__": print, "__repr__": lambda self: f"{name}()"})


@pytest.fixture(scope="module", autouse=True)
def engine_in_process(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What Go opens once for the whole process is there before a test counts descriptors."""
    import spdl.io

    spdl.io.load_audio(sound(tmp_path_factory.mktemp("warm") / "a.wav"))
    spdl.io.probe_audio(sound(tmp_path_factory.mktemp("warm") / "a.wav"))


@pytest.fixture(autouse=True)
def libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The names of libraries that are not there."""
    known = {
        "torch": dict(mean=function("mean", "torch"), cat=function("cat", "torch"), randint=function("randint", "torch"), log=function("log", "torch"), abs=function("abs", "torch"), initial_seed=lambda: 0, get_rng_state=lambda: types.SimpleNamespace(numpy=lambda: b""), as_tensor=lambda one: one, Tensor=type("Tensor", (), {})),
        "torch.nn": {}, "torch.nn.functional": dict(pad=function("pad", "torch.nn.functional")),
        "torchaudio": dict(load=function("load", "torchaudio"), info=function("info", "torchaudio")), "torchaudio.functional": dict(resample=function("resample", "torchaudio.functional")),
        "torchaudio.transforms": {name: transform(name) for name in ("Resample", "Vol", "MelSpectrogram", "AmplitudeToDB")},
        "soundfile": dict(read=function("read", "soundfile")), "librosa": dict(load=function("load", "librosa.core.audio"), feature=types.SimpleNamespace(mfcc=function("mfcc", "librosa.feature.spectral"))),
        "scipy": {}, "scipy.io": {}, "scipy.io.wavfile": dict(read=function("read", "scipy.io.wavfile")),
        "torchcodec": {}, "torchcodec.decoders": {name: type(name, (), {"__module__": "torchcodec.decoders._decoder"}) for name in ("AudioDecoder", "VideoDecoder")},
        "torchcodec.samplers": dict(clips_at_regular_timestamps=function("clips_at_regular_timestamps", "torchcodec.samplers._time_based")),
    }
    for name, holds in known.items():
        module = types.ModuleType(name)
        vars(module).update(holds)
        monkeypatch.setitem(sys.modules, name, module)
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)


def sound(path: Path, frames: int = 8000, rate: int = 16000, channels: int = 1, width: int = 2) -> str:
    with wave.open(str(path), "wb") as file:
        file.setparams((channels, width, rate, 0, "NONE", ""))
        file.writeframes(random.Random(frames).randbytes(frames * channels * width))
    return str(path)


def own(directory: Path, body: str, files: list[str]) -> Any:
    """A data set whose __getitem__ has these statements."""
    lines = "".join(f"        {line}\n" for line in body.split("\n"))
    path = directory / f"own{next(numbers)}.py"
    path.write_text(TEXT.format(lines.rstrip("\n")))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    vars(module)["Dataset"] = Dataset
    spec.loader.exec_module(module)
    return module.Own(files)


LOAD = "w, sr = torchaudio.load(path)\n"
TWO = LOAD + "x, rate = torchaudio.load(self.files[-1 - i])\n"
REFUSED = [
    (LOAD + "w = w[:, -self.n:]", r"own\d+.py:\d+: got 'w\[:, -self.n:\]', want what is done to a sound to be a mean of channels, .*docs/own-datasets.md#sounds"),
    (LOAD + "w = w / w.abs().median()", r"got 'w.abs\(\).median\(\)'"),
    (LOAD + "w = T.MelSpectrogram()(w - w.mean())", r"want that ahead of torchaudio.compliance.kaldi.fbank alone"),
    (LOAD + "w = F.pad(w, (100, 0))", r"want zeros behind a sound alone: F.pad\(waveform, \(0, n - waveform.shape\[1\]\)\)"),
    (LOAD + "w = F.pad(w, (0, 100))", r"want zeros behind a sound up to a length"),
    (LOAD + "w = w[:, :100][:, :50]", r"want one length that sounds are brought to"),
    (LOAD + "w = w.mean(dim=1)", r"want sounds, frames and what does not look at them handed out"),
    (LOAD + "w = w[-1]", r"want a channel of its file, counted from 0"),
    (LOAD + "w = torchaudio.functional.resample(w[:, :self.n], sr, 8000)", r"want resampling ahead of what crops or pads"),
    (LOAD + "w = torchaudio.functional.resample(w, sr, self.rates[i])", r"got 'torchaudio.functional.resample\(w, sr, self.rates\[i\]\)'"),
    (LOAD + "w = torchaudio.functional.resample(w, 44100, 8000)", r"0.wav has 16000 samples a second, want 44100, as its code says: torchaudio.functional.resample"),
    (LOAD + "w = T.Vol(gain=2)(w)", r"Vol has no equal here"),
    (LOAD + "w = T.AmplitudeToDB()(w)", r"want it right behind a spectrum"),
    (LOAD + "w = T.MelSpectrogram()(w.mean(0) * 2)", r"want it of a tensor of samples from -1 to 1"),
    (LOAD + "k = 1\nif w.shape[1] > self.n:\n    k = 0\nw = w[:, k:]", r"got 'k = 0', want what is done to a sound"),
    (LOAD + "if w.shape[1] > self.n:\n    start = random.randint(0, w.shape[1] - self.n)\nelse:\n    start = 1\nw = w[:, start:start + self.n]", r"got 'start = 1', want what is done to a sound"),
    (LOAD + "if w.shape[1] > self.n:\n    w = w[:, :self.n - 1]", r"want a crop, or zeros behind, to the length that the condition is on"),
    (LOAD + "if w.shape[1] > self.n:\n    w = w.mean(0, keepdim=True)", r"want crops and zeros behind alone, on a condition on the length"),
    (LOAD + "if w.shape[0] > 1:\n    w = w[:, :self.n]", r"want the mean of several channels, or one of them, or copies of one"),
    (LOAD + "if w.shape[1] > self.n:\n    return w, i", r"got 'return \(?w, i\)?', want what is done to a sound"),
    (LOAD + "if random.random() < 0.5:\n    w = w[:, :self.n]", r"got 'random.random\(\) < 0.5'"),
    (LOAD + "start = random.randint(0, 5)\nw = w[:, start:start + self.n]", r"its code draws numbers, and all samples with parts of sounds are found when the loader is made"),
    (LOAD + "start = random.randint(1, w.shape[1] - self.n)\nw = w[:, start:start + self.n]", r"want a place from 0 to waveform.shape\[1\] - n"),
    (LOAD + "w = w[:, :w.shape[1] // 2]", r"got 'w\[:, :w.shape\[1\] // 2\]'"),
    (LOAD + "w = (w, w.shape[1])", r"how long a row is is what a collate_fn sees"),
    (LOAD + "w = w.tolist()", r"got 'w.tolist\(\)'"),
    (LOAD + "try:\n    w = w[0]\nexcept Exception:\n    w = w[:1]", r"got 'try:.*want what is done to a sound"),
    (LOAD + "w = w.mean(0, keepdim=True).repeat(2, 1)", r"want copies of the only channel of a file"),
    (LOAD + "x = w\nw *= 0.5", r"got 'w \*= 0.5', want another name for what it makes, as what else has these samples would be changed, too"),
    (TWO + "x = x[:, :int(sr * 0.1)]", r"got 'x\[:, :int\(sr \* 0.1\)\]', want a length by the rate of its own file"),
    (TWO + "x = T.MelSpectrogram(sample_rate=sr)(x)", r"want it of the rate of the sound's own file"),
    (TWO + "x = torchaudio.functional.resample(x, sr, 8000)", r"got 'torchaudio.functional.resample\(x, sr, 8000\)'"),
    (TWO + "if w.shape[1] > self.n:\n    x = x[:, :self.n]", r"want a condition on the length of the sound itself"),
    (TWO + "if w.shape[0] > 1:\n    x = x.mean(0, keepdim=True)", r"want a condition on the sound itself"),
    (TWO + "if sr != 8000:\n    x = torchaudio.functional.resample(x, rate, 8000)", r"want the same whatever it says, but for what crops, pads, resamples"),
    (LOAD + "length = w.shape[1]\nw = torchaudio.functional.resample(w, sr, 8000)\nif length > self.n:\n    w = w[:, :self.n]", r"want a condition on the length of the sound itself, as it is there"),
    (LOAD + "n = 100\nif i % 2:\n    n = 200\nw = w[:, :n]", r"got 'n', want what is done to a sound"),
    (LOAD + "if i % 2:\n    sr = 8000\nw = torchaudio.functional.resample(w, sr, 8000)", r"got 'torchaudio.functional.resample\(w, sr, 8000\)'"),
    (LOAD + "sr = self.rates[i]\nw = torchaudio.functional.resample(w, sr, 8000)", r"got 'torchaudio.functional.resample\(w, sr, 8000\)'"),
    (LOAD + "c, n = w.mean(0, keepdim=True).shape\nif i % 2:\n    c = 200\nw = w[:, :c]", r"got 'c', want what is done to a sound"),
    ("w, sr = torchaudio.load(path, normalize=False)", r"want normalize=True"),
    ("w, sr = torchaudio.load(path, format=self.rates[i])", r"want a path, and arguments that are known when the loader is made"),
    ("w, sr = torchaudio.load(path, frame_offset=self.rates[0] - 16001 + i)", r"Own\[0\]: .*0.wav: takes None samples from sample -1 on, want one at least, from 0 on"),
    ("w, sr = torchaudio.load(path, frame_offset=i / 2)", r"Own\[0\]: .*0.wav: has 0.0 for where its sound begins or how long it is, want a whole number of samples"),
    (LOAD + "w = w[:, i:self.n * i]", r"Own\[0\]: .*0.wav: takes 0 samples from sample 0 on, want one at least"),
    (LOAD + "start = i\nif i % 2:\n    start = 5\nw = w[:, start:start + self.n]", r"got 'w\[:, start:start \+ self.n\]'"),
    ("start = random.randint(0, 5)\nw, sr = torchaudio.load(path, frame_offset=start, num_frames=9)", r"its code draws numbers, and all samples with parts of sounds are found when the loader is made"),
    ("k = torchaudio.info(path).num_frames\nstart = random.randint(0, max(0, k - 100))\nw, sr = torchaudio.load(path, frame_offset=start, num_frames=99)", r"want a part of n samples from a place on that is drawn from 0 to num_frames - n, of that file"),
    ("k = torchaudio.info(path).num_frames\nstart = random.randint(0, k - 100)\nw, sr = torchaudio.load(self.files[-1 - i], frame_offset=start, num_frames=100)", r"want a part of n samples from a place on that is drawn"),
    ("k = torchaudio.info(path).num_frames\nw, sr = torchaudio.load(path, num_frames=k - 100)", r"want a part that is known, one that code says for each sample, or a place that is drawn"),
    ("k = torchaudio.info(open(path))\nw, sr = torchaudio.load(path)", r"want it of a path that is opened behind it, by the same expression"),
    ("w, sr = soundfile.read(path, dtype=\"int32\")", r"want dtype=\"float32\", \"float64\" or \"int16\""),
    ("w, sr = librosa.load(path, res_type=\"kaiser_best\")", r"0.wav has 16000 samples a second, which librosa resamples to 22050 by another res_type, want 22050: res_type=\"soxr_hq\", which is librosa's default, is the same here"),
    ("w, sr = librosa.load(path, mono=False)", r"want mono=True"),
    ("y, sr = librosa.load(path, sr=16000)\nw = librosa.feature.mfcc(y=y, sr=sr, lifter=22)", r"own\d+.py:\d+: got lifter=22, want 0"),
    ("sr, w = wavfile.read(path)\nif w.ndim > 1:\n    w = w.mean(axis=1)", r"want samples in floats ahead of the mean"),
    ("w = AudioDecoder(path, sample_rate=8000).get_all_samples().data", r"which torchcodec resamples to 8000 by FFmpeg's swresample, which ends elsewhere, want 8000"),
    ("w = AudioDecoder(path, stream_index=1).get_all_samples().data", r"want the first sound of a file"),
    ("w = torchaudio.info(path)", r"want sounds, frames and what does not look at them handed out"),
    ("w = VideoDecoder(path).get_all_frames().data", r"got 'VideoDecoder\(path\).get_all_frames\(\)', want frames of a video by decoder.get_frames_at\(indices\)"),
    ("d = VideoDecoder(path)\nw = d.get_frames_at([0, i]).data", r"got 'd.get_frames_at\(\[0, i\]\)', want frames of a video by"),
    ("d = VideoDecoder(path)\nw = d.get_frames_at(np.linspace(0, len(d) - 1, 8)).data", r"want whole numbers of this video: np.linspace\(0, len\(decoder\) - 1, n\).astype\(int\)"),
    ("d = VideoDecoder(path)\nw = d.get_frames_at(np.linspace(0, len(d) - 1, 8).round().astype(int)).data", r"round\(\)', want frames of a video by"),
    ("d = VideoDecoder(path)\nw = d.get_frames_in_range(0, len(d)).data", r"got 'd.get_frames_in_range\(0, len\(d\)\)', want frames of a video by"),
    ("d = VideoDecoder(path)\nw = clips_at_regular_timestamps(d, seconds_between_clip_starts=1).data", r"want clips of which their number is known"),
    ("w = VideoDecoder(path, dimension_order=\"NHWC\").get_frames_at([0]).data", r"want VideoDecoder\(path\), with seek_mode or num_ffmpeg_threads at most"),
    ("w = VideoDecoder(path).get_frames_at([0, 1]).data", r"got frames of a video, and no transforms of torchvision's, want Resize\(\(H, W\)\)"),
    ("d = VideoDecoder(path)\nif len(d) > 3:\n    k = 3\nw = d.get_frames_at([0, k])", r"got 'k = 3', want frames of a video by"),
]


@pytest.mark.parametrize("body, message", REFUSED, ids=[str(i) for i in range(len(REFUSED))])
def test_what_has_no_equal_is_refused_with_its_place(tmp_path: Path, body: str, message: str) -> None:
    with pytest.raises((spdl.ArgumentError, spdl.SpecError), match=message):
        spdl.DataLoader(own(tmp_path, body, [sound(tmp_path / "0.wav")]), batch_size=2)


def test_files_of_other_rates_and_channels_than_the_first_end_the_loop(tmp_path: Path) -> None:
    files = [sound(tmp_path / "0.wav"), sound(tmp_path / "1.wav"), sound(tmp_path / "2.wav", rate=22050)]
    with spdl.DataLoader(own(tmp_path, LOAD + "w = w[:, :5000]", files), tensors="numpy") as loader, pytest.raises(
            spdl.EngineFailed, match=r"Own\[2\]: .*2.wav has 22050 samples a second, want 16000, as the first sample has it: torchaudio.functional.resample"):
        for _ in loader:
            pass
    files[2] = sound(tmp_path / "2.wav", channels=2)
    with spdl.DataLoader(own(tmp_path, LOAD + "w = w[:, :5000]", files), tensors="numpy") as loader, pytest.raises(
            spdl.EngineFailed, match=r"Own\[2\]: .*2.wav has 2 channels, want 1: waveform.mean\(0, keepdim=True\)"):
        for _ in loader:
            pass


def test_files_of_other_samples_than_their_code_reads_are_refused(tmp_path: Path) -> None:
    with pytest.raises(spdl.ArgumentError, match=r"0.wav is of pcm_u8, want samples of 16 bits, of which scipy.io.wavfile makes int16|0.wav is of pcm_u8, and its code reads samples as its file has them, want 16 bits"):
        spdl.DataLoader(own(tmp_path, "sr, w = wavfile.read(path)", [sound(tmp_path / "0.wav", width=1)]))
    with pytest.raises(spdl.ArgumentError, match=r"0.wav is of pcm_s32le, whose samples are of 64 bits in its code, want dtype=\"float32\""):
        spdl.DataLoader(own(tmp_path, "w, sr = soundfile.read(path)", [sound(tmp_path / "0.wav", width=4)]))
    with pytest.raises(spdl.ArgumentError, match=r"Own\[0\]: .*nowhere.wav cannot be read as a sound, and the first says the rate and the channels of all"):
        spdl.DataLoader(own(tmp_path, LOAD, ["nowhere.wav"]))


def test_opus_is_another_decoders(tmp_path: Path) -> None:
    import spdl.io

    try:
        spdl.io.save_audio(tmp_path / "0.opus", np.zeros((1, 48000), "f4"), 48000, codec="libopus")
    except spdl.SpdlError as error:
        pytest.skip(f"no encoder: {error}")
    with pytest.raises(spdl.ArgumentError, match=r"0.opus is of Opus, which torchaudio decodes by FFmpeg's decoder and the engine by libopus"):
        spdl.DataLoader(own(tmp_path, LOAD, [str(tmp_path / "0.opus")]))


def test_sounds_of_several_lengths_in_a_batch_end_the_loop(tmp_path: Path) -> None:
    files = [sound(tmp_path / f"{i}.wav", 8000 + (i == 3)) for i in range(4)]
    with spdl.DataLoader(own(tmp_path, LOAD, files), batch_size=2, tensors="numpy") as loader, pytest.raises(spdl.ArgumentError, match="has sounds of 8000 and 8001 samples in a batch, of which torch's own collate makes none, want one length"):
        for _ in loader:
            pass


def test_a_data_set_around_one_of_sounds_that_is_refused_says_why(tmp_path: Path) -> None:
    inner = own(tmp_path, LOAD + "w = w.flip(1)", [sound(tmp_path / "0.wav")])
    outer = own(tmp_path, "w, label = self.inner[i]", ["0"])
    outer.inner = inner
    with pytest.raises(spdl.ArgumentError, match=r"own\d+.py:\d+: got 'w.flip\(1\)', want what is done to a sound"):
        spdl.DataLoader(outer)
    outer.inner = type("ConcatDataset", (), {"__module__": "torch.utils.data.dataset", "__getitem__": lambda self, i: None, "__len__": lambda self: 1, "datasets": [own(tmp_path, LOAD, inner.files)]})()
    with pytest.raises(spdl.ArgumentError, match=r"own\d+.py:\d+: got .*want"):
        spdl.DataLoader(outer)
