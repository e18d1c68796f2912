"""What sounds become, beside its definition in numpy."""

import struct

import numpy as np
import pytest

import spdl
import spdl.io


@pytest.fixture(scope="module", autouse=True)
def engine():
    """What Go opens once for the whole process is there before a test counts descriptors."""
    spdl.io.load_audio(wav(speech(0.1)))


def speech(seconds, rate=16000, seed=0):
    """Gliding harmonics, noise and a pause, in (-1, 1)."""
    t = np.arange(int(seconds * rate)) / rate
    x = 0.2 * sum(np.sin(2 * np.pi * h * 110 * t * (1 + 0.1 * t)) / h for h in range(1, 12)) * (0.55 + 0.45 * np.sin(6 * np.pi * t))
    x += 0.02 * np.random.default_rng(seed).standard_normal(len(t))
    x[len(x) // 2 : len(x) // 2 + len(x) // 20] *= 1e-3
    return np.clip(x, -0.99, 0.99).astype(np.float32)


def wav(x, rate=16000):
    """A WAV of floats, one channel."""
    data = np.ascontiguousarray(x, np.float32).tobytes()
    return struct.pack("<4sI8sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVEfmt ", 16, 3, 1, rate, 4 * rate, 4, 32, b"data", len(data)) + data


def slaney_bands(rate, n_fft, n_mels):
    """librosa.filters.mel(norm="slaney"), by its definition: [n_mels, n_fft // 2 + 1]."""
    top = 15 + 27 * np.log(rate / 2 / 1000) / np.log(6.4)
    mels = np.linspace(0, top, n_mels + 2)
    hz = np.where(mels < 15, mels * 200 / 3, 1000 * np.exp((mels - 15) * np.log(6.4) / 27))
    f = np.arange(n_fft // 2 + 1) * rate / n_fft
    up, down = (f - hz[:-2, None]) / np.diff(hz)[:-1, None], (hz[2:, None] - f) / np.diff(hz)[1:, None]
    return np.maximum(0, np.minimum(up, down)) * 2 / (hz[2:] - hz[:-2])[:, None]


def whisper(x, n_mels, n_samples=480000):
    """The log-mel spectrogram of Whisper's repository, in doubles, and the loudest band of each step on that scale."""
    x = np.pad(np.float64(x), (0, n_samples - len(x)))
    x = np.pad(x, 200, mode="reflect")
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 400)
    frames = np.lib.stride_tricks.sliding_window_view(x, 400)[::160] * window
    power = np.abs(np.fft.rfft(frames)[:-1]) ** 2
    log = np.log10(np.maximum(slaney_bands(16000, 400, n_mels) @ power.T, 1e-10))
    return (np.maximum(log, log.max() - 8) + 4) / 4, (log.max(0) + 4) / 4


@pytest.mark.parametrize("n_mels", [80, 128])
@pytest.mark.parametrize("seconds", [0.01, 4.3, 30])
def test_whispers_features_are_its_definition(seconds, n_mels):
    x = speech(seconds)
    got = spdl.io.load_audio(wav(x), sample_rate=16000, num_channels=1, length="30s", features={"kind": "whisper", "n_mels": n_mels}).numpy()
    assert got.shape == (n_mels, 3000) and got.dtype == np.float32
    want, loudest = whisper(x, n_mels)
    off = np.abs(got - want)
    near = want > loudest - 70 / 40  # 70 dB; further down float32's noise is seen (docs/audio.md, "How near to torchaudio")
    assert off[near].max() <= 1e-4 and off.max() <= 4e-4 and near.mean() > 0.1


def test_features_are_normalised_over_their_own_steps():
    mel = {"kind": "mel", "n_fft": 400, "hop_length": 160, "n_mels": 40, "log": "ln"}
    x = wav(speech(2.5))
    plain = np.float64(spdl.io.load_audio(x, sample_rate=16000, num_channels=1, features=mel).numpy())
    got = spdl.io.load_audio(x, sample_rate=16000, num_channels=1, features={**mel, "cmvn": "mean_variance"}).numpy()
    np.testing.assert_allclose(got, (plain - plain.mean(1, keepdims=True)) / plain.std(1, keepdims=True), rtol=0, atol=1e-5)
    mean, std = plain.mean(1), plain.std(1)
    got = spdl.io.load_audio(x, sample_rate=16000, num_channels=1, features={**mel, "normalize": {"mean": mean.tolist(), "std": std.tolist()}}).numpy()
    np.testing.assert_allclose(got, (plain - mean[:, None]) / std[:, None], rtol=0, atol=1e-5)


def test_waveforms_are_standardised_as_wav2vec2_takes_them():
    x = speech(1.7) + np.float32(0.1)
    got = spdl.io.load_audio(wav(x), normalize={"to": "zero_mean_unit_var"}).numpy()[0]
    np.testing.assert_allclose(got, (x - np.float64(x).mean()) / np.sqrt(np.float64(x).var() + 1e-7), rtol=0, atol=1e-5)


@pytest.mark.parametrize("color", ["white", "pink", "brown"])
def test_noise_has_its_ratio_to_the_signal(color):
    x = speech(3)
    got = spdl.io.load_audio(wav(x), noise={"snr_db": [12, 12], "color": color}).numpy()[0]
    noise = np.float64(got) - x
    assert 10 * np.log10((np.float64(x) ** 2).sum() / (noise**2).sum()) == pytest.approx(12, abs=1e-3)


def test_pre_emphasis_and_gain_are_torchaudios():
    x = speech(0.5)
    got = spdl.io.load_audio(wav(x), pre_emphasis=0.97, gain={"db": [6, 6]}, polarity_inversion=1).numpy()[0]
    y = -x * np.float32(10 ** (6 / 20))
    np.testing.assert_allclose(got, np.concatenate([y[:1], y[1:] - np.float32(0.97) * y[:-1]]), rtol=0, atol=1e-6)


@pytest.mark.parametrize("factor, frames", [(0.9, 5556), (1.1, 4546), (1.0, 5000)])
def test_speed_changes_how_long_a_sound_is(factor, frames):
    assert spdl.io.load_audio(wav(speech(5000 / 16000)), speed={"factors": [factor]}).shape == (1, frames)


def test_masks_hide_whole_steps_and_bands_of_a_sound():
    mel = {"kind": "mel", "n_fft": 400, "hop_length": 160, "n_mels": 40, "log": "ln"}
    x = wav(speech(1.2))
    plain = spdl.io.load_audio(x, sample_rate=16000, num_channels=1, features=mel).numpy()
    masks = {"frequency_mask": {"freq_mask_param": 20, "count": 2}, "time_mask": {"time_mask_param": 300, "p": 0.9, "count": 2}, "mask_value": "mean"}
    got = spdl.io.load_audio(x, sample_rate=16000, num_channels=1, features={**mel, **masks}).numpy()
    hidden = got != plain
    steps, bands = hidden.all(0), hidden.all(1)
    assert 0 < steps.sum() < 109 and 0 < bands.sum() < 38
    np.testing.assert_array_equal(hidden, steps[None, :] | bands[:, None])
    np.testing.assert_allclose(got[hidden], plain.mean(), rtol=0, atol=1e-5)


@pytest.mark.parametrize("channels, filling", [(1, 2), (2, 4)])
def test_wave64_that_is_filled_up_is_read_through_ffmpeg_too(channels, filling):
    """FFmpeg counts the bytes that fill up the chunk of 24-bit samples as sound: less than a frame, behind the last."""
    samples = (np.round(np.random.default_rng(4).uniform(-0.5, 0.5, (channels, 4410)) * 2**23) / 2**23).astype(np.float32)
    data = spdl.io.save_audio(None, samples, 44100, codec="pcm_s24le", format="w64")
    assert len(data) == 40 + 64 + 24 + samples.size * 3 + filling
    np.testing.assert_array_equal(spdl.io.load_audio(data).numpy(), samples)
    np.testing.assert_array_equal(spdl.io.load_audio(data, filter_desc="anull").numpy(), samples)
    np.testing.assert_array_equal(spdl.io.decode_packets(spdl.io.demux_audio(data)).numpy(), samples)
