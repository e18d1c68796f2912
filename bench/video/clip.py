"""clip.py OUT CLIP: one clip of the corpus, as run.py describes it in JSON: moving textures with grain, so that bit rates and the
mix of B-frames are those of real footage."""

import json
import sys

import av
import numpy as np

CELL = 8


def main(out, codec, width, height, frames, options):
    rng = np.random.default_rng(1)
    texture = rng.integers(0, 256, (height // CELL + 40, width // CELL + 80, 3)).astype(np.float32)
    big = np.kron(texture, np.ones((CELL, CELL, 1), np.float32))
    grain = [rng.normal(0, 4, (height, width, 1)).astype(np.float32) for _ in range(7)]
    with av.open(out, "w") as f:
        s = f.add_stream(codec, rate=30, options=options)
        s.width, s.height, s.pix_fmt = width, height, "yuv420p"
        for i in range(frames):
            x, y = int(40 + 39 * np.sin(i / 31) * 8) % 600, int(150 + 140 * np.cos(i / 47))
            p = big[y : y + height, x : x + width].copy()
            top, left = (i * 2) % 300, (i * 3) % 400
            p[top : top + 120, left : left + 160] = 255 - p[top : top + 120, left : left + 160]
            p = np.clip(p * 0.7 + 30 + grain[i % 7], 0, 255).astype(np.uint8)
            for packet in s.encode(av.VideoFrame.from_ndarray(p, format="rgb24")):
                f.mux(packet)
        for packet in s.encode(None):
            f.mux(packet)


main(sys.argv[1], **json.loads(sys.argv[2]))
