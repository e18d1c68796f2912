"""Pillow's other filters of a resize, antialiased: the same bytes, of every size, in parts and whole, in vector code and without."""

import numpy as np
import pytest
from PIL import Image

from conftest import picture
from tools import RowError
from test_augment import NCHW, RGB, as_array
from test_jpeg import GRAY

LANCZOS, BOX, HAMMING = 3, 4, 5
FILTERS = {LANCZOS: Image.LANCZOS, BOX: Image.BOX, HAMMING: Image.HAMMING}
SIZES = [(1, 1), (1, 9), (7, 5), (32, 32), (33, 80), (224, 224), (300, 31)]  # (h, w)


@pytest.mark.parametrize("f", FILTERS)
@pytest.mark.parametrize("mode", [RGB, GRAY])
def test_resizing_is_pillows(rows, tmp_path, f, mode):
    rng = np.random.default_rng(1)
    for i in range(120):
        w, h = (int(v) for v in rng.integers(1, 260, 2))
        im = Image.fromarray(picture(rng, w, h, 3 if mode == RGB else 1))
        if i % 5 == 0:  # the largest over- and undershoots
            im = Image.fromarray((rng.integers(0, 2, np.asarray(im).shape) * 255).astype(np.uint8))
        im.save(tmp_path / "a.png")
        size, layout = SIZES[i % len(SIZES)], i & 1 if mode == RGB else 0
        want = as_array(im.resize(size[::-1], FILTERS[f]))
        got = rows.row(tmp_path / "a.png", Resize=size, Interpolation=f, Mode=mode, Layout=layout)
        assert np.array_equal(got, want.transpose(2, 0, 1) if layout == NCHW else want), (i, im.size, size)


@pytest.mark.parametrize("f", FILTERS)
def test_random_resized_crops_of_jpegs_are_pillows(rows, tmp_path, f):
    rng = np.random.default_rng(2)
    for i in range(40):
        Image.fromarray(picture(rng, int(rng.integers(60, 400)), int(rng.integers(60, 400)))).save(tmp_path / "a.jpg", quality=90)
        im = Image.open(tmp_path / "a.jpg")
        got = rows.row(tmp_path / "a.jpg", Random={}, Out=(96, 112), Interpolation=f, draw=dict(Seed=5, Index=i))
        box = rows.info["box"]
        part = im.crop((box["x"], box["y"], box["x"] + box["w"], box["y"] + box["h"]))
        assert np.array_equal(got, as_array(part.resize((112, 96), FILTERS[f]))), (i, im.size, box)


def test_they_are_of_what_resizes_alone(rows, tmp_path):
    Image.fromarray(picture(np.random.default_rng(3), 9, 9)).save(tmp_path / "a.png")
    with pytest.raises(RowError, match="want interpolation nearest, bilinear or bicubic"):
        rows.row(tmp_path / "a.png", Out=(9, 9), Rotation=dict(Degrees=[1, 1], Interpolation=LANCZOS))
    with pytest.raises(RowError, match="want interpolation nearest"):
        rows.row(tmp_path / "a.png", Resize=(4, 4), Mode=3, Interpolation=BOX)
    with pytest.raises(RowError, match="is not one of the named values"):
        rows.row(tmp_path / "a.png", Resize=(4, 4), Interpolation=16)
