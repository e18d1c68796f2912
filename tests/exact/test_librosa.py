"""What librosa (0.11, with soxr 1.1.0 and soundfile 0.13.1) makes of sounds: its resampling to the bit, its spectra, bands, decibels and MFCC within what float32 leaves uncertain (docs/audio.md)."""

import warnings

import numpy as np
import pytest

from audio import signal, write_wav

librosa = pytest.importorskip("librosa", reason="librosa is not installed")
sf = pytest.importorskip("soundfile", reason="soundfile is not installed")
spdl = pytest.importorskip("spdl")
import spdl.io  # noqa: E402

SOXR = {"method": "soxr_hq"}
RATES = (8000, 11025, 16000, 22050, 32000, 44100, 48000, 96000)


def pcm(path, x, rate):
    return write_wav(path, x, rate, tag=1, bits=16, data=(np.ascontiguousarray(x.T) * 32767).round().astype("<i2").tobytes())


def loaded(path, rate, **section):
    return spdl.io.load_audio(path, sample_rate=rate, num_channels=1, resample=SOXR, **section).numpy()[0]


@pytest.mark.parametrize("rate", [22050, 16000, 48000])
@pytest.mark.parametrize("stored", RATES)
def test_samples_are_librosas(tmp_path, stored, rate):
    for channels, frames in ((1, stored + 7), (2, stored // 2 + 1), (1, 147), (2, 5), (1, 1)):
        path = pcm(tmp_path / "a.wav", signal(channels, frames, stored), stored)
        want, _ = librosa.load(path, sr=rate)
        np.testing.assert_array_equal(loaded(path, rate), want)
        whole = np.asarray(spdl.io.load_audio(path, sample_rate=rate, resample=SOXR).numpy())
        np.testing.assert_array_equal(whole, librosa.load(path, sr=rate, mono=False)[0].reshape(channels, -1))


@pytest.mark.parametrize("name, subtype, within", [("a.flac", "PCM_16", 0), ("a.wav", "PCM_24", 0), ("a.wav", "FLOAT", 0), ("a.ogg", "VORBIS", 1e-6), ("a.mp3", "MPEG_LAYER_III", 5e-6)])
def test_files_are_librosas(tmp_path, name, subtype, within):
    for channels in (1, 2):
        sf.write(tmp_path / name, signal(channels, 60000, 44100).T, 44100, subtype=subtype)
        want, _ = librosa.load(tmp_path / name)
        got = loaded(tmp_path / name, 22050)
        assert got.shape == want.shape and np.abs(got - want).max() <= within


@pytest.mark.parametrize("offset, duration", [(0.25, 0.5), (0, 0.1), (0.75, None), (0.9, 5)])
def test_parts_are_librosas(tmp_path, offset, duration):
    path = pcm(tmp_path / "a.wav", signal(2, 44100, 44100), 44100)
    want, _ = librosa.load(path, sr=16000, offset=offset, duration=duration)
    np.testing.assert_array_equal(loaded(path, 16000, timestamp=(offset, None if duration is None else offset + duration)), want)


def test_a_ring_has_librosas_rows(tmp_path):
    for i, rate in enumerate((44100, 8000, 22050, 48000)):
        pcm(tmp_path / f"{i}.wav", signal(1 + i % 2, rate + 100 * i, rate, i), rate)
    features = dict(kind="mel", n_fft=2048, hop_length=512, pad_mode="constant", mel_scale="slaney", norm="slaney", filters="f64", log="db", ref="max", top_db=80, padding="silence")
    audio = {"rate": 22050, "length": 24000, "crop": "start", "resample": SOXR}
    for more in ({}, {"features": features}):
        with spdl.open({"source": {"folder": str(tmp_path), "labels": "none"}, "batch": 4, "order": {"shuffle": False}, "audio": {**audio, **more}}) as loader:
            batch = next(iter(loader))
            for i, row in enumerate(batch["audio"]):
                y = librosa.util.fix_length(librosa.load(tmp_path / f"{i}.wav")[0], size=24000)
                if more:
                    near(row, librosa.power_to_db(librosa.feature.melspectrogram(y=y), ref=np.max))
                else:
                    np.testing.assert_array_equal(row[0], y)


def near(got, want):
    """Decibels of powers are as near as float32 is: an FFT's roundings are as large as the loudest bin of a step makes them, of which those of a sound's louder bins matter alone."""
    gap = want.max(axis=-2, keepdims=True) - want
    assert got.shape == want.shape and (np.abs(got - want) <= 6e-5 + 1e-6 * 10 ** (gap / 20)).all(), (np.abs(got - want) - 1e-6 * 10 ** (gap / 20)).max()


SPECTRA = [
    (dict(), {"n_fft": 2048, "hop_length": 512}),
    (dict(n_fft=1024, hop_length=256), {"n_fft": 1024, "hop_length": 256}),
    (dict(n_fft=512, win_length=400, hop_length=160), {"n_fft": 512, "win_length": 400, "hop_length": 160}),
    (dict(n_fft=1024, hop_length=200, center=False), {"n_fft": 1024, "hop_length": 200, "center": False}),
    (dict(n_fft=600, hop_length=100, pad_mode="reflect"), {"n_fft": 600, "hop_length": 100, "pad_mode": "reflect"}),
]
BANDS = [
    (dict(), {"mel_scale": "slaney", "norm": "slaney"}),
    (dict(n_mels=64, fmin=20, fmax=8000), {"n_mels": 64, "f_min": 20, "f_max": 8000, "mel_scale": "slaney", "norm": "slaney"}),
    (dict(n_mels=40, htk=True, norm=None), {"n_mels": 40}),
]


@pytest.fixture(scope="module", params=[(22050, 1), (16000, 2)], ids=["22050", "16000"])
def sound(request, tmp_path_factory):
    """A path, its samples and their rate."""
    rate, channels = request.param
    path = pcm(tmp_path_factory.mktemp("sound") / "a.wav", signal(channels, 2 * rate + 123, rate), rate)
    return path, librosa.load(path, sr=None)[0], rate


def featured(path, **features):
    return spdl.io.load_audio(path, num_channels=1, features={**({} if features.get("center") is False else {"pad_mode": "constant"}), **features}).numpy()


@pytest.mark.parametrize("arguments, keys", SPECTRA, ids=range(len(SPECTRA)))
def test_spectra_are_librosas(sound, arguments, keys):
    path, y, rate = sound
    want = np.abs(librosa.stft(y, **arguments))
    assert np.abs(featured(path, kind="spectrogram", power=1, **keys) - want).max() <= 5e-7 * want.max()
    assert np.abs(featured(path, kind="spectrogram", **keys) - want**2).max() <= 5e-7 * want.max() ** 2
    near(featured(path, kind="spectrogram", power=1, log="db", ref="max", amin=1e-5, top_db=80, **keys), librosa.amplitude_to_db(want, ref=np.max))
    near(featured(path, kind="spectrogram", log="db", ref=0.5, amin=1e-8, **keys), librosa.power_to_db(want**2, ref=0.5, amin=1e-8, top_db=None))


@pytest.mark.parametrize("of_bands, bands", BANDS, ids=range(len(BANDS)))
@pytest.mark.parametrize("arguments, keys", SPECTRA, ids=range(len(SPECTRA)))
def test_bands_are_librosas(sound, arguments, keys, of_bands, bands):
    path, y, rate = sound
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of bands without a bin
        want = librosa.feature.melspectrogram(y=y, sr=rate, **{"hop_length": 512, **arguments}, **of_bands)
        mfcc = librosa.feature.mfcc(y=y, sr=rate, n_mfcc=20, **{"hop_length": 512, **arguments}, **{"mel_norm" if key == "norm" else key: value for key, value in of_bands.items()})
    said = {"filters": "f64", **keys, **bands}
    assert np.abs(featured(path, kind="mel", **said) - want).max() <= 5e-7 * want.max()
    near(featured(path, kind="mel", log="db", ref="max", top_db=80, **said), librosa.power_to_db(want, ref=np.max))
    assert np.abs(featured(path, kind="mfcc", n_mfcc=20, **said) - mfcc).max() <= 1e-3


def test_no_sound_is_too_short_for_zeros(tmp_path):
    for frames in (1, 2, 100, 1023):
        path = pcm(tmp_path / "a.wav", signal(1, frames, 16000), 16000)
        y, _ = librosa.load(path, sr=None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want = np.abs(librosa.stft(y, n_fft=1024, hop_length=100))
        got = featured(path, kind="spectrogram", power=1, n_fft=1024, hop_length=100)
        assert got.shape == want.shape and np.abs(got - want).max() <= 5e-7 * want.max()
