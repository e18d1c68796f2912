"""What changes a row's colours against Pillow's own calls, as torchvision makes them: the same bytes, for every colour."""

import itertools

import numpy as np
import pytest
from PIL import Image, ImageEnhance

from conftest import picture
from tools import RowError
from test_jpeg import F32, FILTERS, GRAY, LUMA, MEAN, RGB, STD

NHWC, NCHW = 0, 1
BRIGHTNESS, CONTRAST, SATURATION, HUE = "Brightness", "Contrast", "Saturation", "Hue"
FACTORS = [0, 1e-3, 0.1, 1 / 3, 0.5, 0.7, 0.999, 1, 1.001, 1.2, 4 / 3, 1.8, 2.5, 7, 255, 1000]


def adjust_hue(im, factor):
    """torchvision's, on PIL images."""
    h, s, v = im.convert("HSV").split()
    turned = np.array(h, np.uint8) + np.array(int(factor * 255) % 256, np.uint8)
    return Image.merge("HSV", (Image.fromarray(turned, "L"), s, v)).convert("RGB")


ADJUST = {
    BRIGHTNESS: lambda im, f: ImageEnhance.Brightness(im).enhance(f),
    CONTRAST: lambda im, f: ImageEnhance.Contrast(im).enhance(f),
    SATURATION: lambda im, f: ImageEnhance.Color(im).enhance(f),
    HUE: adjust_hue,
}


def to_gray(im):
    return Image.merge("RGB", [im.convert("L")] * 3)


def fixed(**factors):
    """A jitter whose factors are no chance; the order of several is."""
    return dict(P=1, **{name: [f, f] for name, f in factors.items()})


def test_every_colour_becomes_pillows(rows, tmp_path):
    every = np.arange(1 << 24)
    im = Image.fromarray(np.stack([every >> 16, every >> 8, every], -1).astype(np.uint8).reshape(4096, 4096, 3))
    im.save(tmp_path / "a.png", compress_level=1)
    for name, f in ((SATURATION, 1.7), (HUE, 0.1)):
        got = rows.row(tmp_path / "a.png", Out=im.size, Jitter=fixed(**{name: f}), portable_too=False)
        assert np.array_equal(got, np.asarray(ADJUST[name](im, f))), name
    assert np.array_equal(rows.row(tmp_path / "a.png", Out=im.size, Grayscale=1, portable_too=False), np.asarray(to_gray(im)))


@pytest.mark.parametrize("readers", ["rows", "rows_without_ffmpeg"])
def test_brightness_contrast_and_saturation_equal_pillow_for_many_factors(request, readers, tmp_path):
    rows, rng = request.getfixturevalue(readers), np.random.default_rng(1)
    for i, f in enumerate(FACTORS + list(rng.uniform(0, 3, 60))):
        im = Image.fromarray(picture(rng, *(int(v) for v in rng.integers(1, 90, 2))))
        im.save(tmp_path / "a.png")
        for name in (BRIGHTNESS, CONTRAST, SATURATION):
            got = rows.row(tmp_path / "a.png", Out=im.size[::-1], Jitter=fixed(**{name: float(f)}))
            assert np.array_equal(got, np.asarray(ADJUST[name](im, float(f)))), (i, name, f)


def test_a_blend_equals_pillow_for_every_pair_of_bytes(rows, tmp_path):
    """Contrast blends with the mean: of a picture whose mean is m, every value with m."""
    for mean in range(0, 256, 5):
        line = np.arange(256, dtype=np.uint8)
        im = Image.fromarray(np.vstack([line] + [np.full((1, 256), mean, np.uint8)] * 700))
        im.save(tmp_path / "a.png")
        for f in (0.37, 1.63, 12.5):
            got = rows.row(tmp_path / "a.png", Out=im.size[::-1], Mode=GRAY, Jitter=fixed(Contrast=f))
            assert np.array_equal(got[..., 0], np.asarray(ADJUST[CONTRAST](im, f))), (mean, f)


def test_hue_equals_pillow_for_every_turn(rows, tmp_path):
    rng = np.random.default_rng(2)
    im = Image.fromarray(rng.integers(0, 256, (60, 80, 3), np.uint8))
    im.save(tmp_path / "a.png")
    for f in np.concatenate([np.arange(-127, 128) / 255, rng.uniform(-0.5, 0.5, 60), [-0.5, 0.5]]):
        got = rows.row(tmp_path / "a.png", Out=(60, 80), Jitter=fixed(Hue=float(f)))
        assert np.array_equal(got, np.asarray(adjust_hue(im, float(f)))), f


@pytest.mark.parametrize("mode", [GRAY, LUMA])
def test_pictures_of_grey_have_brightness_and_contrast(rows, tmp_path, mode):
    rng = np.random.default_rng(3)
    im = Image.fromarray(picture(rng, 70, 50, 1))
    im.save(tmp_path / "a.png")
    for name, f in itertools.product((BRIGHTNESS, CONTRAST), FACTORS):
        got = rows.row(tmp_path / "a.png", Out=(50, 70), Mode=mode, Jitter=fixed(**{name: f}))
        assert np.array_equal(got[..., 0], np.asarray(ADJUST[name](im, f))), (name, f)
    for refused in (dict(Jitter=fixed(Hue=0.1)), dict(Jitter=fixed(Saturation=0.1)), dict(Grayscale=0.5)):
        with pytest.raises(RowError, match="want mode RGB"):
            rows.row(tmp_path / "a.png", Out=(50, 70), Mode=mode, **refused)


@pytest.mark.parametrize("readers", ["rows", "rows_without_ffmpeg"])
def test_all_four_are_applied_in_one_of_24_orders_and_every_order_is_drawn(request, readers, tmp_path):
    rows = request.getfixturevalue(readers)
    im = Image.fromarray(picture(np.random.default_rng(4), 40, 30))
    im.save(tmp_path / "a.png")
    factors = {BRIGHTNESS: 1.3, CONTRAST: 0.6, SATURATION: 1.7, HUE: 0.2}
    results = {}
    for order in itertools.permutations(factors):
        made = im
        for name in order:
            made = ADJUST[name](made, factors[name])
        results.setdefault(np.asarray(made).tobytes(), []).append(order)
    assert len(results) == 24, "the picture does not tell the orders apart"
    seen = set()
    for index in range(200):
        got = rows.row(tmp_path / "a.png", Out=(30, 40), Jitter=fixed(**factors), draw=dict(Seed=5, Index=index))
        seen.add(results[got.tobytes()][0])
    assert len(seen) == 24


def test_colours_change_after_the_resize_and_before_numbers(rows, tmp_path):
    rng = np.random.default_rng(6)
    im = Image.fromarray(picture(rng, 150, 110))
    im.save(tmp_path / "a.png")
    unit = np.float32(255)
    for i, (f, layout, dtype) in enumerate(itertools.product(FILTERS, (NHWC, NCHW), (0, F32))):
        flip, vflip, factor = bool(i & 1), bool(i & 2), 0.5 + i / 7
        want = to_gray(ADJUST[CONTRAST](im.resize((56, 40), FILTERS[f]), factor)) if i % 3 == 0 else ADJUST[HUE](
            im.resize((56, 40), FILTERS[f]), factor / 10)
        want = want.transpose(Image.FLIP_LEFT_RIGHT) if flip else want
        want = np.asarray(want.transpose(Image.FLIP_TOP_BOTTOM) if vflip else want)
        if dtype == F32:
            want = (want / unit - np.asarray(MEAN, np.float32)) / np.asarray(STD, np.float32)
        got = rows.row(tmp_path / "a.png", Resize=(40, 56), Interpolation=f, Layout=layout, DType=dtype, Flip=int(flip), VFlip=int(vflip),
                       Jitter=fixed(Contrast=factor) if i % 3 == 0 else fixed(Hue=factor / 10), Grayscale=1 - min(1, i % 3),
                       Normalize=dict(Mean=MEAN, Std=STD) if dtype == F32 else None)
        assert np.array_equal(got, want.transpose(2, 0, 1) if layout == NCHW else want), i


def test_the_border_around_a_smaller_picture_is_black_before_colours_change(rows, tmp_path):
    im = Image.fromarray(picture(np.random.default_rng(8), 20, 10))
    im.save(tmp_path / "a.png")
    padded = Image.new("RGB", (40, 30))
    padded.paste(im, (10, 10))
    got = rows.row(tmp_path / "a.png", Out=(30, 40), Jitter=fixed(Contrast=0.5))
    assert np.array_equal(got, np.asarray(ADJUST[CONTRAST](padded, 0.5)))


@pytest.mark.parametrize("mode", [RGB, GRAY])
@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "GIF"])
def test_a_vertical_flip_is_pillows(rows, tmp_path, form, mode):
    im = Image.fromarray(picture(np.random.default_rng(9), 61, 47))
    im.save(tmp_path / "a", form, **(dict(lossless=True) if form == "WEBP" else {}))
    config = dict(ResizeShort=40, Out=(33, 50), Mode=mode)
    plain, turned = rows.row(tmp_path / "a", **config), rows.row(tmp_path / "a", VFlip=1, **config)
    assert rows.info["vflip"] and np.array_equal(turned, plain[::-1])
    assert np.array_equal(rows.row(tmp_path / "a", draw=dict(Replay=True, VFlip=True), **config), turned)
