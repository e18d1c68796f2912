"""clip.py OUT.mp4: ten seconds of 640x480 at 30 frames a second, H.264 as x264 makes it by default: moving textures with
grain, so that its bit rate (about 2 Mbit/s) and its mix of B-frames are those of real footage."""

import sys

import av
import numpy as np

W, H, N = 640, 480, 300


def main(out):
    rng = np.random.default_rng(1)
    texture = rng.integers(0, 256, (H // 8 + 40, W // 8 + 80, 3)).astype(np.float32)
    big = np.kron(texture, np.ones((8, 8, 1), np.float32))
    grain = [rng.normal(0, 4, (H, W, 1)).astype(np.float32) for _ in range(7)]
    with av.open(out, "w") as f:
        s = f.add_stream("libx264", rate=30, options={"crf": "26", "threads": "1"})
        s.width, s.height, s.pix_fmt = W, H, "yuv420p"
        for i in range(N):
            x, y = int(40 + 39 * np.sin(i / 31) * 8) % 600, int(150 + 140 * np.cos(i / 47))
            p = big[y : y + H, x : x + W].copy()
            p[(i * 2) % 300 : (i * 2) % 300 + 120, (i * 3) % 400 : (i * 3) % 400 + 160] = 255 - p[(i * 2) % 300 : (i * 2) % 300 + 120, (i * 3) % 400 : (i * 3) % 400 + 160]
            p = np.clip(p * 0.7 + 30 + grain[i % 7], 0, 255).astype(np.uint8)
            for packet in s.encode(av.VideoFrame.from_ndarray(p, format="rgb24")):
                f.mux(packet)
        for packet in s.encode(None):
            f.mux(packet)


main(sys.argv[1])
