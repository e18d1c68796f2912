"""Write core/media/testdata/torch.tsv: what torch's interpolate makes of bytes, antialiased, of pictures that both sides can make, as digests, which
cv2_test.go reads.

Run with torch 2.15 and numpy: python tests/exact/make_torch.py."""

import pathlib
import sys

import torch
from torch.nn.functional import interpolate

from shapes import digests

HERE = pathlib.Path(__file__).resolve()
TABLE = HERE.parents[2] / "core" / "media" / "testdata" / "torch.tsv"


def resized(pixels, size, mode):
    """[H, W, C] or [H, W] as interpolate makes it of [1, C, H, W]."""
    planes = torch.from_numpy(pixels.reshape(*pixels.shape[:2], -1)).permute(2, 0, 1)[None].contiguous()
    return interpolate(planes, size[::-1], mode=mode, antialias=True)[0].permute(1, 2, 0).numpy()


def main():
    head = f"# by tests/exact/{HERE.name} with torch {torch.__version__}: filter, seed, channels, w and h in, w and h out, sha256 of the bytes, its first 16 digits"
    by = {f"torch_{mode}": lambda pixels, size, mode=mode: resized(pixels, size, mode) for mode in ("bilinear", "bicubic", "lanczos")}
    TABLE.write_text("\n".join([head, *digests(105, 1, by)]) + "\n")


if __name__ == "__main__":
    sys.exit(main())
