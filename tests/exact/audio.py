"""What the comparisons of sound share: a process that makes rows, and WAV files."""

import pathlib
import struct

import numpy as np

from tools import Tool

F32, I16 = 2 | 32 << 8 | 1 << 16, 16 << 8 | 1 << 16  # core/tensor's words
SINC_HANN, SINC_KAISER, SWRESAMPLE = 0, 1, 2
REFUSE, START, CENTRE, RANDOM = 0, 1, 2, 3
SPECTROGRAM, MEL, MFCC, FBANK = 0, 1, 2, 4
LINEAR, DECIBEL, NATURAL = 0, 1, 2
PEAK, INTEGRATED = 1, 2


def decoded(container):
    """PyAV's frames; of Opus those of the reference decoder, which FFmpeg's own differs from."""
    import av

    stream = container.streams.audio[0]
    if stream.codec_context.name != "opus":
        yield from container.decode(audio=0)
        return
    decoder = av.CodecContext.create("libopus", "r")
    decoder.extradata, decoder.layout, decoder.sample_rate = stream.codec_context.extradata, stream.codec_context.layout, 48000
    for packet in container.demux(stream):
        if packet.size:
            yield from decoder.decode(packet)


class Audio(Tool):
    """Every row is also made by the portable C and compared there."""

    def row(self, path, *, draw=None, file=False, **config):
        answer, data = self.ask(path, config, draw, file=file)
        self.info = answer["info"]
        return np.frombuffer(data, np.int16 if config.get("DType") == I16 else np.float32).reshape(answer["shape"])


def write_wav(path, x, rate, tag=3, bits=32, data=None):
    """x is [channels, frames]; floats unless data has the bytes."""
    channels = len(x)
    data = np.ascontiguousarray(x.T, np.float32).tobytes() if data is None else data
    block = channels * bits // 8
    head = struct.pack("<4sI8sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVEfmt ", 16, tag, channels, rate, rate * block, block,
                       bits, b"data", len(data))
    pathlib.Path(path).write_bytes(head + data)
    return path


def signal(channels, frames, rate, seed=0):
    """Speech-like enough: gliding harmonics, noise and a pause, in (-1, 1)."""
    rng = np.random.default_rng(seed)
    t = np.arange(frames) / rate
    out = []
    for c in range(channels):
        x = sum(np.sin(2 * np.pi * h * (110 + 30 * c) * t * (1 + 0.1 * t)) / h for h in range(1, 12))
        x = 0.2 * x * (0.55 + 0.45 * np.sin(2 * np.pi * 3 * t)) + 0.05 * rng.standard_normal(frames)
        x[frames // 2 : frames // 2 + frames // 20] *= 1e-3
        out.append(x)
    return np.clip(np.array(out, np.float32), -0.99, 0.99)
