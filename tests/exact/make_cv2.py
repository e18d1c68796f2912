"""Write core/media/testdata/cv2.tsv: what cv2.resize makes of pictures that both sides can make, as digests, which cv2_test.go reads.

Run with opencv-python-headless 4.11.0.86 and numpy: python tests/exact/make_cv2.py. Intel's IPP, which x86's wheels have for INTER_CUBIC alone
of these and whose bytes differ by 1, is turned off."""

import hashlib
import pathlib
import sys

import cv2
import numpy as np

HERE = pathlib.Path(__file__).resolve()
TABLE = HERE.parents[2] / "core" / "media" / "testdata" / "cv2.tsv"
FILTERS = {"cv2_linear": cv2.INTER_LINEAR, "cv2_nearest": cv2.INTER_NEAREST, "cv2_area": cv2.INTER_AREA, "cv2_cubic": cv2.INTER_CUBIC, "cv2_lanczos4": cv2.INTER_LANCZOS4}


def made(seed, w, h, channels):
    """Bytes of splitmix64; of every third picture only 0 and 255, the largest over- and undershoots."""
    with np.errstate(over="ignore"):
        z = (np.arange(w * h * channels, dtype=np.uint64) + np.uint64(seed << 32)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    out = (z >> np.uint64(56)).astype(np.uint8)
    if seed % 3 == 0:
        out = (out >> 7) * np.uint8(255)
    return out.reshape((h, w, channels) if channels > 1 else (h, w))


def shape(rng, kind):
    """(w, h) in and out: any, by whole numbers, by two, grown by whole numbers, along one side, of one pixel, and of extreme ratios."""
    n = lambda low, high: int(rng.integers(low, high))
    if kind == 0:
        return n(1, 200), n(1, 200), n(1, 200), n(1, 200)
    if kind == 1:
        w, h = n(1, 40), n(1, 40)
        return w * n(1, 7), h * n(1, 7), w, h
    if kind == 2:
        w, h = n(1, 90), n(1, 90)
        return 2 * w, 2 * h, w, h
    if kind == 3:
        w, h = n(1, 40), n(1, 40)
        return w, h, w * n(1, 6), h * n(1, 6)
    if kind == 4:
        w, h = n(1, 150), n(1, 150)
        return (w, h, w, n(1, 150)) if n(0, 2) else (w, h, n(1, 150), h)
    if kind == 5:
        return (1 if n(0, 2) else n(1, 9)), n(1, 150), n(1, 150), (1 if n(0, 2) else n(1, 9))
    return (n(900, 2500), n(1, 20), n(1, 30), n(1, 300)) if n(0, 2) else (n(1, 20), n(900, 2500), n(1, 300), n(1, 30))


def shapes(count, seed):
    rng = np.random.default_rng(seed)
    return [shape(rng, i % 7) for i in range(count)]


def main():
    cv2.ipp.setUseIPP(False)
    lines = [f"# by tests/exact/{HERE.name} with OpenCV {cv2.__version__}: filter, seed, channels, w and h in, w and h out, sha256 of the bytes, its first 16 digits"]
    for seed, (w, h, ow, oh) in enumerate(shapes(105, 1)):
        channels = 1 + 2 * (seed // 7 % 2)
        for name, f in FILTERS.items():
            out = cv2.resize(made(seed, w, h, channels), (ow, oh), interpolation=f)
            lines.append("\t".join(map(str, (name, seed, channels, w, h, ow, oh, hashlib.sha256(out.tobytes()).hexdigest()[:16]))))
    TABLE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
