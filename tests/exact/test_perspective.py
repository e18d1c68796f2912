"""random_perspective against Pillow's Image.transform on our draws, with the map that torchvision's RandomPerspective asks for, here solved in fractions:
the same bytes. Against torchvision itself it is held in test_torchvision.py."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from PIL import Image

from conftest import picture
from tools import RowError
from test_augment import FILTERS, INDEX, NCHW, RGB, SIZES, as_array, some
from test_jpeg import BICUBIC, BILINEAR, GRAY, NEAREST, uniforms

LATER, FIRST = 15, 11
FILLS = {RGB: [None, (120, 7, 201)], GRAY: [None, (77,)], INDEX: [None, (255,)]}


def corners(size, scale, index):
    """RandomPerspective.get_params on the draws of a row of seed 5: where the corners' pixels go."""
    h, w = size
    x, y = int(scale * (w // 2)), int(scale * (h // 2))
    ends = []
    for i, (right, low) in enumerate([(0, 0), (1, 0), (1, 1), (0, 1)]):
        u, v = uniforms(5, 0, index, LATER, FIRST + 1 + i)
        ends.append((int(u * (x + 1)) + right * (w - x - 1), int(v * (y + 1)) + low * (h - y - 1)))
    return ends


def solved(size, ends):
    """The eight numbers of the map back, as floats; None where three corners lie in a line, or the map has no such form."""
    if any((b[0] - a[0]) * (c[1] - a[1]) == (b[1] - a[1]) * (c[0] - a[0]) for a, b, c in itertools.combinations(ends, 3)):
        return None
    h, w = size
    starts = [(0, 0), (w - 1, 0), (w - 1, h - 1), (0, h - 1)]
    rows = []
    for (x, y), (sx, sy) in zip(ends, starts):
        rows.append([Fraction(v) for v in (x, y, 1, 0, 0, 0, -sx * x, -sx * y, sx)])
        rows.append([Fraction(v) for v in (0, 0, 0, x, y, 1, -sy * x, -sy * y, sy)])
    for i in range(8):
        at = next((r for r in range(i, 8) if rows[r][i] != 0), None)
        if at is None:
            return None
        rows[i], rows[at] = rows[at], [v / rows[at][i] for v in rows[at]] if at == i else rows[i]
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for r in range(8):
            if r != i and rows[r][i] != 0:
                rows[r] = [a - rows[r][i] * b for a, b in zip(rows[r], rows[i])]
    return [float(np.float32(float(r[8]))) for r in rows]


def moved(im, scale, index, resample, fill=None):
    m = solved(im.size[::-1], corners(im.size[::-1], scale, index))
    if m is None:
        return im
    return im.transform(im.size, Image.PERSPECTIVE, m, FILTERS[resample], fillcolor=fill and (fill[0] if len(fill) == 1 else fill))


@pytest.mark.parametrize("mode", [RGB, GRAY, INDEX])
@pytest.mark.parametrize("scale", [0, 0.2, 0.5, 1])
def test_a_perspective_is_pillows_on_our_draws(rows, tmp_path, mode, scale):
    rng, happened = np.random.default_rng(1), 0
    for i in range(100):
        size, resample, fill = SIZES[i % len(SIZES)], NEAREST if mode == INDEX else (NEAREST, BILINEAR, BICUBIC)[i % 3], FILLS[mode][i // 3 % 2]
        im = want = some(rng, size, 3 if mode == RGB else 1)
        im.save(tmp_path / "a.png")
        layout = i & 1 if mode == RGB else 0
        if uniforms(5, 0, i, LATER, FIRST)[0] < 0.7:
            happened += 1
            want = moved(im, scale, i, resample, fill)
        ours = dict(P=0.7, Scale=scale, Interpolation=resample)
        if fill:
            ours["Fill"] = (*fill, 0, 0)[:3]
        got = rows.row(tmp_path / "a.png", Out=size, Mode=mode, Layout=layout, draw=dict(Seed=5, Index=i), Perspective=ours)
        want = as_array(want)
        assert np.array_equal(got, want.transpose(2, 0, 1) if layout == NCHW else want), (i, size, resample, fill)
    assert 50 < happened < 90


def test_a_large_row_is_moved_as_exactly(rows, tmp_path):
    """Whole numbers of 100 bits are behind its map."""
    im = Image.new("L", (16000, 40))
    im.paste(Image.fromarray(picture(np.random.default_rng(2), 2000, 40, 1)), (9000, 0))
    im.save(tmp_path / "a.png")
    for i in range(8):
        got = rows.row(tmp_path / "a.png", Out=(40, 16000), Mode=GRAY, draw=dict(Seed=5, Index=i), Perspective=dict(P=1, Scale=0.9, Interpolation=BICUBIC))
        assert np.array_equal(got, as_array(moved(im, 0.9, i, BICUBIC))), i


def test_it_comes_behind_the_affine_map_and_before_the_augmentation(rows, tmp_path):
    im = Image.fromarray(picture(np.random.default_rng(3), 50, 40))
    im.save(tmp_path / "a.png")
    config = dict(Out=(40, 50), Rotation=dict(Degrees=[20, 20], Interpolation=NEAREST), Invert=1, Perspective=dict(P=1, Scale=0.5, Interpolation=BILINEAR))
    for i in range(20):
        want = 255 - as_array(moved(im.rotate(20), 0.5, i, BILINEAR))
        assert np.array_equal(rows.row(tmp_path / "a.png", draw=dict(Seed=5, Index=i), **config), want), i


def test_points_are_not_told_of_a_perspective(rows, tmp_path):
    Image.fromarray(picture(np.random.default_rng(4), 20, 10)).save(tmp_path / "a.png")
    for scale, told in ((0.5, [[0, 0, 0], [0, 0, 0]]), (None, [[1, 0, 0], [0, 1, 0]])):
        rows.row(tmp_path / "a.png", Out=(10, 20), Perspective=scale and dict(P=1, Scale=scale, Interpolation=NEAREST))
        assert rows.info["affine"] == told


def test_what_is_no_perspective_is_refused(rows, tmp_path):
    Image.fromarray(picture(np.random.default_rng(5), 20, 10)).save(tmp_path / "a.png")
    for wrong, why in ((dict(P=2, Scale=0.5), "perspective: got probability 2"), (dict(P=1, Scale=1.5), "perspective: got scale 1.5, want 0 to 1"),
                       (dict(P=1, Scale=0.5, Interpolation=3), "perspective: want interpolation nearest")):
        with pytest.raises(RowError, match=why):
            rows.row(tmp_path / "a.png", Out=(10, 20), Perspective=wrong)
    with pytest.raises(RowError, match="perspective: want interpolation nearest with mode index"):
        rows.row(tmp_path / "a.png", Out=(10, 20), Mode=INDEX, Perspective=dict(P=1, Scale=0.5))
