"""Small videos and sounds as files, written from their definition: nothing but Python is needed to make or to check them."""

import wave

import numpy as np


def y4m(path, levels, size=16, rate=10):
    """An uncompressed video of grey frames of these full-range levels."""
    with open(path, "wb") as file:
        file.write(f"YUV4MPEG2 W{size} H{size} F{rate}:1 Ip A1:1 C420jpeg XCOLORRANGE=FULL\n".encode())
        for level in levels:
            file.write(b"FRAME\n" + bytes([level]) * size * size + bytes([128]) * (size * size // 2))


def videos(folder, lengths):
    """One video for each length; frame k of video i has level 20 + 10 k + i. Returns the frames' levels."""
    folder.mkdir(exist_ok=True)
    all_levels = [[20 + 10 * k + i for k in range(n)] for i, n in enumerate(lengths)]
    for i, levels in enumerate(all_levels):
        y4m(folder / f"{i:03}.y4m", levels)
    return all_levels


def sounds(folder, lengths, rate=8000, channels=1):
    """One WAV of s16 noise for each length. Returns the samples as float32 [channels, length]."""
    folder.mkdir(exist_ok=True)
    all_samples = []
    for i, n in enumerate(lengths):
        samples = np.random.default_rng(i).integers(-32768, 32768, (n, channels), dtype=np.int16)
        with wave.open(str(folder / f"{i:03}.wav"), "wb") as file:
            file.setnchannels(channels)
            file.setsampwidth(2)
            file.setframerate(rate)
            file.writeframes(samples.tobytes())
        all_samples.append((samples.T / np.float32(32768)).astype(np.float32))
    return all_samples
