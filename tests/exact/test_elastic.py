"""elastic_transform on our draws against numpy, which goes torchvision's way in floats of 32 bits. Against torchvision itself it is held in
test_torchvision.py."""

import numpy as np
import pytest
from PIL import Image

from conftest import picture
from tools import RowError
from test_augment import INDEX, NCHW, RGB, as_array, some
from test_distort import LATER, words
from test_jpeg import BICUBIC, BILINEAR, GRAY, NEAREST, uniforms

WHETHER, KEY = 16, 17
F32 = np.float32
SIZES = [(64, 64), (31, 50), (50, 31), (90, 44)]


def numbers(index, axis, size):
    """What is drawn for an axis of a row of seed 5, from 0 to 1."""
    low, high = (int(w[0]) for w in words(5, np.array([index], np.uint64), np.array([0], np.uint64), LATER, KEY)[:2])
    n = size[0] * size[1]
    blocks = np.arange((n + 3) // 4, dtype=np.uint64)
    drawn = np.stack(words(high << 32 | low, blocks, np.full_like(blocks, axis), 0, 0), -1).ravel()[:n]
    return ((drawn >> np.uint64(8)).astype(F32) * F32(2**-24)).reshape(size)


def blurred(plane, sigma):
    """Along x and then y, the middle first and then from the outermost inwards, each step rounded."""
    taps = int(8 * sigma + 1) | 1
    if sigma == 0 or taps == 1:
        return plane
    r = taps // 2
    weights = np.exp(-0.5 * (np.arange(-r, r + 1) / sigma) ** 2)
    weights = (weights / weights.sum()).astype(F32)
    for axis in (1, 0):
        wide = np.pad(plane, [(r, r) if a == axis else (0, 0) for a in (0, 1)], mode="reflect")
        at = [np.take(wide, np.arange(t, t + plane.shape[axis]), axis) for t in range(taps)]
        plane = at[r] * weights[r]
        for t in range(r):
            plane = plane + (at[t] + at[taps - 1 - t]) * weights[t]
    return plane


def displacement(index, size, alpha, sigma):
    """ElasticTransform.get_params: [H, W, 2], on the grid from -1 to 1."""
    ways = [blurred(numbers(index, axis, size) * F32(2) - F32(1), sigma) * F32(alpha[axis]) / F32(size[1 - axis]) for axis in (0, 1)]
    return np.stack(ways, -1)


def linspace(n):
    first, last = F32((1 - n) / n), F32((n - 1) / n)
    step = (last - first) / F32(n - 1)
    i = np.arange(n)
    return np.where(i < n // 2, first + step * i.astype(F32), last - step * (n - 1 - i).astype(F32)).astype(F32)


def sampled(image, ways, filter, fill):
    """functional.elastic_transform of a picture [H, W, C]."""
    h, w, channels = image.shape
    x = (linspace(w)[None, :] + ways[..., 0] + F32(1)) * F32(w / 2) - F32(0.5)
    y = (linspace(h)[:, None] + ways[..., 1] + F32(1)) * F32(h / 2) - F32(0.5)
    if filter == NEAREST:
        corners = [(np.rint(x), np.rint(y), np.ones_like(x))]
    else:
        left, top = np.floor(x), np.floor(y)
        east, south = x - left, y - top
        west, north = F32(1) - east, F32(1) - south
        corners = [(left, top, north * west), (left + 1, top, north * east), (left, top + 1, south * west), (left + 1, top + 1, south * east)]
    out, there = np.zeros((h, w, channels), F32), np.zeros((h, w, 1), F32)
    for px, py, share in corners:
        inside = ((px >= 0) & (px < w) & (py >= 0) & (py < h))[..., None]
        values = image[np.clip(py, 0, h - 1).astype(int), np.clip(px, 0, w - 1).astype(int)]
        share = np.where(inside, share[..., None], F32(0)).astype(F32)
        out, there = out + values * share, there + share
    return np.rint(out * there + (F32(1) - there) * np.array(fill, F32)).astype(np.uint8)


@pytest.mark.parametrize("mode", [RGB, GRAY, INDEX])
@pytest.mark.parametrize("sigma", [0, 0.1, 1.5, 3.5])
def test_an_elastic_map_is_torchvisions_formula_on_our_draws(rows, tmp_path, mode, sigma):
    rng, happened = np.random.default_rng(1), 0
    for i in range(40):
        size, filter = SIZES[i % len(SIZES)], NEAREST if mode == INDEX else (NEAREST, BILINEAR)[i & 1]
        alpha, fill = [(50, 50), (200, 10), (0, 90)][i % 3], [(0, 0, 0), (120, 7, 201)][i // 3 & 1]
        im = some(rng, size, 3 if mode == RGB else 1)
        im.save(tmp_path / "a.png")
        want = as_array(im)
        want = want if want.ndim == 3 else want[..., None]
        if uniforms(5, 0, i, LATER, WHETHER)[0] < 0.7:
            happened += 1
            want = sampled(want, displacement(i, size, alpha, sigma), filter, fill[:want.shape[-1]])
        layout = NCHW if i & 2 else 0
        got = rows.row(tmp_path / "a.png", Out=size, Mode=mode, Layout=layout, draw=dict(Seed=5, Index=i),
                       Elastic=dict(P=0.7, Alpha=alpha, Sigma=sigma, Interpolation=filter, Fill=fill))
        assert np.array_equal(got.reshape(want.transpose(2, 0, 1).shape if layout else want.shape), want.transpose(2, 0, 1) if layout else want), (i, size, filter)
    assert 20 < happened < 36


def test_a_mask_moves_with_its_picture(rows, tmp_path):
    """Where the picture is white the mask is 1; by the nearest pixel both stay that."""
    shape = picture(np.random.default_rng(2), 60, 60, 1) > 127
    Image.fromarray(np.where(shape, 255, 0).astype(np.uint8)).convert("RGB").save(tmp_path / "a.png")
    Image.fromarray(shape.astype(np.uint8)).save(tmp_path / "b.png")
    ours = dict(P=1, Alpha=[120, 120], Sigma=3, Interpolation=NEAREST)
    for i in range(10):
        a = rows.row(tmp_path / "a.png", Out=(60, 60), Elastic=ours, draw=dict(Seed=5, Index=i))
        b = rows.row(tmp_path / "b.png", Out=(60, 60), Elastic=ours, draw=dict(Seed=5, Index=i), Mode=INDEX)
        assert np.array_equal(a[..., 0] == 255, b.reshape(60, 60) == 1) and not np.array_equal(b.reshape(60, 60) == 1, shape)


def test_points_are_not_told_of_it_and_the_frames_of_a_video_move_alike(rows, tmp_path):
    Image.fromarray(picture(np.random.default_rng(3), 40, 30)).save(tmp_path / "a.png")
    ours = dict(P=1, Alpha=[90, 90], Sigma=2, Interpolation=BILINEAR)
    first, second = (rows.row(tmp_path / "a.png", Out=(30, 40), Elastic=ours, draw=dict(Seed=5, Index=1, Frame=frame)) for frame in (0, 7))
    assert np.array_equal(first, second)
    assert rows.info["affine"] == [[0, 0, 0], [0, 0, 0]]


def test_a_row_of_one_pixel_is_itself(rows, tmp_path):
    Image.new("RGB", (1, 1), (9, 99, 199)).save(tmp_path / "a.png")
    got = rows.row(tmp_path / "a.png", Out=(1, 1), Elastic=dict(P=1, Alpha=[0, 0], Sigma=0, Interpolation=BILINEAR))
    assert got.ravel().tolist() == [9, 99, 199]


def test_what_is_no_elastic_map_is_refused(rows, tmp_path):
    Image.fromarray(picture(np.random.default_rng(5), 50, 40)).save(tmp_path / "a.png")
    good = dict(P=1, Alpha=[50, 50], Sigma=3)
    for wrong, why in ((dict(P=2), "elastic: got probability 2"), (dict(Alpha=[-1, 5]), "elastic: got alpha"), (dict(Alpha=[1e5, 5]), "elastic: got alpha .*, want 0 to 10000"),
                       (dict(Sigma=-1), "elastic: got sigma -1, want 0 to 31.75"), (dict(Sigma=32), "elastic: got sigma 32"), (dict(Sigma=10), "elastic: got sigma 10 for a row of 40 x 50"),
                       (dict(Interpolation=BICUBIC), "elastic: want interpolation nearest or bilinear"), (dict(Interpolation=3), "elastic: want interpolation nearest")):
        with pytest.raises(RowError, match=why):
            rows.row(tmp_path / "a.png", Out=(40, 50), Elastic={**good, **wrong})
    with pytest.raises(RowError, match="elastic: want interpolation nearest with mode index"):
        rows.row(tmp_path / "a.png", Out=(40, 50), Mode=INDEX, Elastic=good)
