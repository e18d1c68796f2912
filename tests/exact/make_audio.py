"""Make core/media/audio/testdata: `.venv-bench/bin/python tests/exact/make_audio.py` (needs torchaudio and PyAV).

A signal as WAV, what torchaudio makes of it as raw float32, and the signal through each codec with the number of frames
that PyAV decodes. The Go tests read these, so that what torchaudio and FFmpeg say is checked where neither is installed.
"""

import fractions
import json
import pathlib
import warnings

import av
import numpy as np
import torch

from audio import decoded, write_wav

torch.version.cuda = "13.0"  # torchaudio refuses a torch built for another CUDA; nothing here runs on one
import torchaudio  # noqa: E402, F401

OUT = pathlib.Path(__file__).resolve().parents[2] / "core/media/audio/testdata"
RATE, FRAMES = 8000, 3999


def tones(frames, rate, channels):
    t = np.arange(frames) / rate
    x = [sum(np.sin(2 * np.pi * f * (1 + 0.3 * c) * t * (1 + 0.2 * t)) * 0.2 for f in (220, 450, 1210)) for c in range(channels)]
    noise = np.random.default_rng(1).standard_normal((channels, frames)) * 0.03
    return np.round((np.array(x) + noise) * 32768).clip(-32768, 32767).astype(np.int16)


CODED = {  # file: codec, rate, channels, sample format
    "lame.mp3": ("libmp3lame", 44100, 1, "s16p"),
    "mono.m4a": ("aac", 44100, 1, "fltp"),
    "opus.ogg": ("libopus", 48000, 2, "s16"),
    "music.ogg": ("libopus", 48000, 2, "s16"),
    "speech.webm": ("libopus", 16000, 1, "s16"),  # decoded at 48 kHz
    "mono.flac": ("flac", 16000, 1, "s16"),
    "deep.flac": ("flac", 16000, 1, "s32"),
    "delay.mka": ("aac", 44100, 1, "fltp"),
    "adpcm.wav": ("adpcm_ms", 16000, 1, "s16"),
}


def encode(path, codec, rate, channels, sample_format, frames):
    x = tones(frames, rate, channels)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate, layout="mono" if channels == 1 else "stereo")
        stream.codec_context.format = sample_format
        stream.codec_context.time_base = fractions.Fraction(1, rate)
        if codec in ("libmp3lame", "aac", "libopus"):
            stream.bit_rate = 96000 if path.stem == "music" else 48000
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(x.T).reshape(1, -1), "s16", "mono" if channels == 1 else "stereo")
        frame.sample_rate = rate
        frame.pts = 0
        for packet in stream.encode(frame):
            container.mux(packet)
        for packet in stream.encode(None):
            container.mux(packet)


def decode(path):
    """[channels, frames] float32 of what PyAV decodes."""
    with av.open(str(path)) as container:
        parts = []
        for frame in decoded(container):
            a = frame.to_ndarray()
            if not frame.format.is_planar:
                a = a.reshape(-1, frame.layout.nb_channels).T
            if a.dtype != np.float32:
                a = a.astype(np.float32) / np.float32(np.iinfo(a.dtype).max + 1)
            parts.append(a)
        return np.concatenate(parts, axis=1)


def torchaudios(x):
    from torchaudio import functional as F, transforms as T
    mono = x[:1]
    yield "resample_11025", F.resample(mono, RATE, 11025)
    yield "resample_2999", F.resample(mono, RATE, 2999)
    yield "kaiser_16000", F.resample(mono[:, :900], RATE, 16000, lowpass_filter_width=64, rolloff=0.9475937167399596, resampling_method="sinc_interp_kaiser", beta=14.769656459379492)
    yield "loudness", torch.stack([F.loudness(x[:1] * 0.3, RATE), F.loudness(x * 0.3, RATE)])
    yield "spectrogram", T.Spectrogram(n_fft=120)(mono)
    yield "mel_slaney", T.MelSpectrogram(RATE, n_fft=200, hop_length=80, n_mels=24, mel_scale="slaney", norm="slaney")(mono)
    yield "mel_htk_db", T.AmplitudeToDB(top_db=80)(T.MelSpectrogram(RATE, n_fft=256, n_mels=40)(mono))
    yield "mfcc", T.MFCC(RATE, n_mfcc=13, melkwargs=dict(n_fft=256, hop_length=160, n_mels=40))(mono)


def main():
    OUT.mkdir(exist_ok=True)
    ints = tones(FRAMES, RATE, 2)
    write_wav(OUT / "signal.wav", ints, RATE, tag=1, bits=16, data=np.ascontiguousarray(ints.T).tobytes())
    x = torch.from_numpy(ints.astype(np.float32) / 32768)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, y in torchaudios(x):
            y.numpy().astype("<f4").tofile(OUT / f"{name}.f32")
    lengths = {}
    for name, (codec, rate, channels, sample_format) in CODED.items():
        frames = rate // 2 + 77
        encode(OUT / name, codec, rate, channels, sample_format, frames)
        got = decode(OUT / name)
        lengths[name] = dict(encoded=frames, frames=got.shape[1], channels=got.shape[0], rate=48000 if codec == "libopus" else rate,
                             rms=float(np.sqrt((got.astype(np.float64) ** 2).mean())))
    (OUT / "lengths.json").write_text(json.dumps(lengths, indent=1) + "\n")
    print(json.dumps(lengths, indent=1))


if __name__ == "__main__":
    main()
