"""Distortions of colour, quarters of a turn, noise and JPEG's losses against Pillow, numpy and torchvision's own functions, on our draws. The
draws are computed here once more, from the addresses in core/media's files."""

import io

import numpy as np
import pytest
from PIL import Image

from conftest import picture
from test_augment import as_array, some
from test_colours import ADJUST, BRIGHTNESS, CONTRAST, HUE, SATURATION
from test_jpeg import GRAY, NEAREST, uniforms

RGB, NCHW, F32, INDEX = 0, 1, 3, 3
TRANSPOSE = 233  # a block of draws
LATER, WHEN, CHANNELS, PERMUTE, NOISE, NOISE_KEY, QUARTERS, JPEG = 15, 4, 5, 6, 7, 8, 9, 10
PERMUTATIONS = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
SSD = dict(Brightness=[0.875, 1.125], Contrast=[0.5, 1.5], Saturation=[0.5, 1.5], Hue=[-0.05, 0.05])


def later(i, block):
    return uniforms(5, 0, i, LATER, block)


def distorted(im, i, p):
    """RandomPhotometricDistort as torchvision orders it, by Pillow's calls."""
    kinds = [BRIGHTNESS, SATURATION, HUE]
    kinds.insert(1 if later(i, WHEN)[0] < 0.5 else 3, CONTRAST)
    names = {BRIGHTNESS: "Brightness", CONTRAST: "Contrast", SATURATION: "Saturation", HUE: "Hue"}
    for kind in kinds:
        happens, at = later(i, list(names).index(kind))
        if happens < p:
            low, high = SSD[names[kind]]
            im = ADJUST[kind](im, low + at * (high - low))
    happens, which = later(i, CHANNELS)
    return as_array(im)[..., PERMUTATIONS[int(which * 6)]] if happens < p else as_array(im)


def test_a_photometric_distortion_is_pillows_calls_in_torchvisions_order(rows, tmp_path):
    rng = np.random.default_rng(40)
    for i in range(150):
        size = [(20, 33), (64, 64), (1, 40)][i % 3]
        im = some(rng, size)
        im.save(tmp_path / "a.png")
        layout = i & 1
        got = rows.row(tmp_path / "a.png", Out=size, Layout=layout, Distort=dict(P=0.5, **SSD), draw=dict(Seed=5, Index=i))
        want = distorted(im, i, 0.5)
        assert np.array_equal(got, want.transpose(2, 0, 1) if layout else want), i


def test_a_distortion_is_torchvisions_with_its_draws_replaced(rows, tmp_path):
    """v2.RandomPhotometricDistort's own transform(), of parameters that are ours."""
    v2 = pytest.importorskip("torchvision.transforms.v2")
    if not hasattr(v2.RandomPhotometricDistort, "make_params"):
        pytest.skip("this torchvision draws elsewhere")
    rng, of = np.random.default_rng(41), v2.RandomPhotometricDistort()
    for i in range(60):
        im = Image.fromarray(picture(rng, 40, 30))
        im.save(tmp_path / "a.png")
        params = {"contrast_before": later(i, WHEN)[0] < 0.5, "channel_permutation": None}
        for block, (name, (low, high)) in enumerate(SSD.items()):
            happens, at = later(i, block)
            params[f"{name.lower()}_factor"] = low + at * (high - low) if happens < 0.5 else None
        happens, which = later(i, CHANNELS)
        if happens < 0.5:
            params["channel_permutation"] = list(PERMUTATIONS[int(which * 6)])
        want = np.asarray(of.transform(im, params))
        assert np.array_equal(rows.row(tmp_path / "a.png", Out=(30, 40), Distort=dict(P=0.5, **SSD), draw=dict(Seed=5, Index=i)), want), (i, params)


@pytest.mark.parametrize("mode", [RGB, GRAY, 3])
def test_quarters_are_numpys_rot90(rows, tmp_path, mode):
    rng, seen = np.random.default_rng(42), set()
    for i in range(40):
        im = some(rng, (33, 33), 3 if mode == RGB else 1)
        im.save(tmp_path / "a.png")
        happens, which = later(i, QUARTERS)
        quarters = int(which * 4) if happens < 0.75 else 0
        seen.add(quarters)
        got = rows.row(tmp_path / "a.png", Out=(33, 33), Mode=mode, Quarters=0.75, draw=dict(Seed=5, Index=i))
        assert np.array_equal(got, np.rot90(as_array(im), quarters)), (i, quarters)
    assert seen == {0, 1, 2, 3}


@pytest.mark.parametrize("mode", [RGB, GRAY, INDEX])
def test_pictures_of_any_shape_are_turned_ahead_of_a_resize_and_a_crop(rows, tmp_path, mode):
    """Quarters, then the transpose: ahead of all, and between a resize and a crop, which go by the sides that there are then. A point goes along."""
    rng, seen = np.random.default_rng(44), set()
    for i in range(60):
        h, w = [(33, 20), (20, 33), (1, 9), (14, 14)][i % 4]
        im = some(rng, (h, w), 3 if mode == RGB else 1)
        im.save(tmp_path / "a.png")
        quarters, across = (int(later(i, QUARTERS)[1] * 4) if later(i, QUARTERS)[0] < 0.75 else 0), later(i, TRANSPOSE)[0] < 0.5
        turned = np.rot90(as_array(im), quarters)
        turned = turned.swapaxes(0, 1) if across else turned
        config = dict(Mode=mode, Interpolation=NEAREST, Order=["Quarters", "Transpose"], Quarters=0.75, Transpose=0.5, draw=dict(Seed=5, Index=i))
        whole = rows.row(tmp_path / "a.png", Ahead=2, Out=turned.shape[:2], **config)
        assert np.array_equal(whole.reshape(turned.shape), turned), (i, quarters, across)
        (a, b, c), (d, e, f) = rows.info["affine"]
        x, y = int(rng.integers(w)), int(rng.integers(h))
        at = [int(v) for v in (a * (x + 0.5) + b * (y + 0.5) + c, d * (x + 0.5) + e * (y + 0.5) + f)]
        assert np.array_equal(turned[at[1], at[0]], as_array(im)[y, x])
        resized = rows.row(tmp_path / "a.png", Ahead=2, Resize=(7, 12), **config)
        of = np.ascontiguousarray(turned if mode == RGB else turned[..., 0])
        want = np.asarray(Image.fromarray(of).resize((12, 7), Image.NEAREST))
        assert np.array_equal(resized.reshape(want.shape), want), (i, quarters, across)
        between = rows.row(tmp_path / "a.png", Resized=2, Resize=(9, 15), Out=(8, 8), **config)
        small = np.rot90(np.asarray(im.resize((15, 9), Image.NEAREST)), quarters)
        small = small.swapaxes(0, 1) if across else small
        top, left = round((small.shape[0] - 8) / 2), round((small.shape[1] - 8) / 2)
        want = small[top : top + 8, left : left + 8]
        assert np.array_equal(between.reshape(want.shape), want), (i, quarters, across)
        seen.add((quarters, across))
    assert len(seen) == 8


def test_a_quarter_follows_a_flip(rows, tmp_path):
    rng = np.random.default_rng(43)
    for i in range(20):
        im = some(rng, (20, 20))
        im.save(tmp_path / "a.png")
        quarters = int(later(i, QUARTERS)[1] * 4)
        got = rows.row(tmp_path / "a.png", Out=(20, 20), Quarters=1, Flip=1, draw=dict(Seed=5, Index=i))
        assert np.array_equal(got, np.rot90(as_array(im)[:, ::-1], quarters)), i


def recoded(im, quality):
    file = io.BytesIO()
    im.save(file, "JPEG", quality=quality)
    return as_array(Image.open(file))


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("readers", ["rows", "rows_without_ffmpeg"])
def test_losses_are_those_of_pillows_jpeg(request, readers, tmp_path, channels):
    rows, rng = request.getfixturevalue(readers), np.random.default_rng(44)
    for i in range(60 if readers == "rows" else 12):
        size = [(1, 1), (1, 40), (33, 20), (64, 64), (71, 53), (224, 224)][i % 6]
        im = some(rng, size, channels)
        im.save(tmp_path / "a.png")
        low, high = [(1, 100), (30, 95), (100, 100), (1, 1)][i % 4]
        happens, at = later(i, JPEG)
        want = recoded(im, low + int(at * (high - low + 1))) if happens < 0.8 else as_array(im)
        layout = i & 1 if channels == 3 else 0
        got = rows.row(tmp_path / "a.png", Out=size, Layout=layout, Mode=RGB if channels == 3 else GRAY, JPEG=dict(P=0.8, Quality=[low, high]), draw=dict(Seed=5, Index=i))
        assert np.array_equal(got, want.transpose(2, 0, 1) if layout else want), (i, size, low, high)


def words(seed, index, epoch, op, block):
    """Philox4x32-10, vectorised over index and epoch, which are arrays of 32 bits."""
    c = [np.asarray(index, np.uint64), np.zeros_like(index, np.uint64), np.asarray(epoch, np.uint64), np.full_like(index, op << 24 | block, np.uint64)]
    k0, k1, low = seed & 0xFFFFFFFF, seed >> 32, np.uint64(0xFFFFFFFF)
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), p1 & low, (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), p0 & low]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c


def normals(key, channel, n):
    """Box and Muller's numbers in doubles, four a block."""
    blocks = np.arange((n + 3) // 4, dtype=np.uint64)
    c = [w.astype(np.float64) // 256 for w in words(key, blocks, np.full_like(blocks, channel), 0, 0)]
    out = []
    for v, turn in ((c[0], c[1]), (c[2], c[3])):
        r, t = np.sqrt(-2 * np.log((v + 1) / 2**24)), 2 * np.pi * turn / 2**24
        out += [r * np.cos(t), r * np.sin(t)]
    return np.stack(out, -1).ravel()[:n]


@pytest.mark.parametrize("channels", [1, 3])
def test_noise_is_torchvisions_formula_on_our_normals(rows, tmp_path, channels):
    """(mean * 255 + normal * sigma * 255), cut to a whole number, added and clamped. Where the sum in doubles is within 1e-3 of a whole number,
    either is right."""
    rng, differ = np.random.default_rng(45), 0
    for i in range(40):
        size = [(20, 33), (64, 64), (7, 1)][i % 3]
        im, mean, frame = some(rng, size, channels), [0, 0.1, -0.2][i // 3 % 3], i % 4
        im.save(tmp_path / "a.png")
        happens, at = later(i, NOISE)
        sigma = 0.05 + at * 0.25
        low, high = (int(w[0]) for w in words(5, np.array([i], np.uint64), np.array([0], np.uint64), LATER, NOISE_KEY)[:2])
        got = rows.row(tmp_path / "a.png", Out=size, Mode=RGB if channels == 3 else GRAY, Noise=dict(P=0.8, Mean=mean, Sigma=[0.05, 0.3]), draw=dict(Seed=5, Index=i, Frame=frame))
        want = as_array(im).astype(int)
        if happens >= 0.8:
            assert np.array_equal(got, want)
            continue
        for ch in range(channels):
            v = mean * 255 + normals(high << 32 | low, 3 * frame + ch, size[0] * size[1]).reshape(size) * sigma * 255
            expected = np.clip(want[..., ch] + np.trunc(v), 0, 255)
            off = got[..., ch] != expected
            differ += off.sum()
            assert (np.abs(v[off] - np.round(v[off])) < 1e-3).all(), i
            assert (np.abs(got[..., ch] - expected) <= 1).all(), i
    assert differ < 100


def test_noise_is_the_same_in_every_layout_and_type(rows, tmp_path):
    Image.fromarray(picture(np.random.default_rng(46), 40, 30)).save(tmp_path / "a.png")
    config = dict(Out=(30, 40), Noise=dict(P=1, Mean=0, Sigma=[0.1, 0.1]), draw=dict(Seed=5, Index=2))
    u8 = rows.row(tmp_path / "a.png", **config)
    assert np.array_equal(rows.row(tmp_path / "a.png", Layout=NCHW, **config).transpose(1, 2, 0), u8)
    assert np.array_equal(rows.row(tmp_path / "a.png", DType=F32, **config), (u8 / np.float32(255)).astype(np.float32))
