"""Write core/media/testdata/cv2.tsv: what cv2.resize makes of pictures that both sides can make, as digests, which cv2_test.go reads.

Run with opencv-python-headless 4.11.0.86 and numpy: python tests/exact/make_cv2.py. Intel's IPP, which x86's wheels have for INTER_CUBIC alone
of these and whose bytes differ by 1, is turned off."""

import pathlib
import sys

import cv2

from shapes import digests

HERE = pathlib.Path(__file__).resolve()
TABLE = HERE.parents[2] / "core" / "media" / "testdata" / "cv2.tsv"
FILTERS = {"cv2_linear": cv2.INTER_LINEAR, "cv2_nearest": cv2.INTER_NEAREST, "cv2_area": cv2.INTER_AREA, "cv2_cubic": cv2.INTER_CUBIC, "cv2_lanczos4": cv2.INTER_LANCZOS4}


def main():
    cv2.ipp.setUseIPP(False)
    head = f"# by tests/exact/{HERE.name} with OpenCV {cv2.__version__}: filter, seed, channels, w and h in, w and h out, sha256 of the bytes, its first 16 digits"
    by = {name: lambda pixels, size, f=f: cv2.resize(pixels, size, interpolation=f) for name, f in FILTERS.items()}
    TABLE.write_text("\n".join([head, *digests(105, 1, by)]) + "\n")


if __name__ == "__main__":
    sys.exit(main())
