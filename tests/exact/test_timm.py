"""timm_rand_augment against Pillow's own calls, as timm makes them, on our draws, which are computed here once more: the same bytes. And where timm is
there (`make exact` brings it), against its own operations."""

import importlib.util
import math
import types

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageOps

from tools import RowError
from test_augment import AUGMENT, FILTERS, INDEX, NCHW, RGB, SIZES, as_array, some
from test_jpeg import BICUBIC, BILINEAR, GRAY, NEAREST, uniforms

TIMM = 4
OPERATIONS = ("AutoContrast", "Equalize", "Invert", "Rotate", "Posterize", "Solarize", "SolarizeAdd", "Color", "Contrast", "Brightness", "Sharpness",
              "ShearX", "ShearY", "TranslateXRel", "TranslateYRel")
FILL = (124, 116, 104)


class Draws:
    """What a row of seed 5 draws for its n-th operation."""

    def __init__(self, index, n):
        (self.which, self.happens), (self.u, self.v), (self.sign, self.filter) = (uniforms(5, 0, index, AUGMENT, 3 * n + k) for k in range(3))

    def name(self):
        return OPERATIONS[int(self.which * 15)]

    def gauss(self, mean, deviation):
        return mean + deviation * (math.sqrt(-2 * math.log(1 - self.u)) * math.cos(2 * 3.141592653589793 * self.v))

    def negated(self, x):
        return -x if self.sign > 0.5 else x


def levels(m=10, p=0.5, std=0.0, most=10.0, uniform=False, increasing=False):
    return dict(P=p, Std=std, Max=most, Uniform=uniform, Increasing=increasing), m


def done(im, draws, m, timm, filter, fill):
    """One operation on a PIL image, from timm's definitions."""
    level = m * draws.u if timm["Uniform"] else draws.gauss(m, timm["Std"]) if timm["Std"] > 0 else m
    share = max(0, min(level, timm["Max"])) / 10
    more = timm["Increasing"]
    factor = max(0.1, 1 + draws.negated(share * 0.9)) if more else share * 1.8 + 0.1
    posterized = 4 - int(share * 4) if more else int(share * 4)
    solarized = min(256, int(share * 256))
    solarized = 256 - solarized if more else solarized
    w, h = im.size
    added = [min(255, i + min(128, int(share * 110))) if i < 128 else i for i in range(256)]
    if filter is None:
        filter = Image.BILINEAR if draws.filter < 0.5 else Image.BICUBIC

    def moved(*matrix):
        return im.transform(im.size, Image.AFFINE, matrix, filter, fillcolor=fill)

    return {
        "AutoContrast": lambda: ImageOps.autocontrast(im),
        "Equalize": lambda: ImageOps.equalize(im),
        "Invert": lambda: ImageOps.invert(im),
        "Rotate": lambda: im.rotate(draws.negated(share * 30), filter, fillcolor=fill),
        "Posterize": lambda: im if posterized >= 8 else ImageOps.posterize(im, max(0, posterized)),
        "Solarize": lambda: ImageOps.solarize(im, solarized),
        "SolarizeAdd": lambda: im.point(added * len(im.getbands())),
        "Color": lambda: ImageEnhance.Color(im).enhance(factor),
        "Contrast": lambda: ImageEnhance.Contrast(im).enhance(factor),
        "Brightness": lambda: ImageEnhance.Brightness(im).enhance(factor),
        "Sharpness": lambda: ImageEnhance.Sharpness(im).enhance(factor),
        "ShearX": lambda: moved(1, draws.negated(share * 0.3), 0, 0, 1, 0),
        "ShearY": lambda: moved(1, 0, 0, draws.negated(share * 0.3), 1, 0),
        "TranslateXRel": lambda: moved(1, 0, draws.negated(share * 0.45) * w, 0, 1, 0),
        "TranslateYRel": lambda: moved(1, 0, 0, 0, 1, draws.negated(share * 0.45) * h),
    }[draws.name()]()


def ours(timm, m, ops, filter, fill):
    return dict(Kind=TIMM, Ops=ops, Magnitude=m, Interpolation=BILINEAR if filter is None else filter, Fill=(*fill, 0, 0)[:3], Timm=timm | dict(AnyFilter=filter is None))


CONFIGS = {
    "rand-m9-mstd0.5-inc1": levels(9, std=0.5, increasing=True), "rand-m10-n3": levels(10), "rand-m7-p1-mstd101": levels(7, p=1.0, uniform=True),
    "rand-m20-mmax30-mstd5-inc1": levels(20, std=5.0, most=30.0, increasing=True), "rand-m25-mmax30-p1": levels(25, p=1.0, most=30.0), "rand-m0-p0.3": levels(0, p=0.3),
}


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("mode", [RGB, GRAY])
def test_every_operation_is_pillows_on_our_draws(rows, tmp_path, config, mode):
    (timm, m), rng, seen = CONFIGS[config], np.random.default_rng(1), set()
    fill = FILL if mode == RGB else FILL[:1]
    for i in range(240 if mode == RGB else 80):
        size, ops, filter = SIZES[i % (len(SIZES) - 1)], 1 + i % 3, (None, NEAREST, BILINEAR, BICUBIC)[i // 5 % 4]
        im = want = some(rng, size, 3 if mode == RGB else 1)
        im.save(tmp_path / "a.png")
        for n in range(ops):
            draws = Draws(i, n)
            if draws.happens <= timm["P"]:
                want = done(want, draws, m, timm, None if filter is None else FILTERS[filter], fill if mode == RGB else fill[0])
                seen.add(draws.name())
        layout = i & 1 if mode == RGB else 0
        got = rows.row(tmp_path / "a.png", Out=size, Mode=mode, Layout=layout, draw=dict(Seed=5, Index=i), Augment=ours(timm, m, ops, filter, fill))
        want = as_array(want)
        assert np.array_equal(got, want.transpose(2, 0, 1) if layout == NCHW else want), (i, size, ops, filter, [Draws(i, n).name() for n in range(ops)])
    assert mode != RGB or len(seen) == 15, seen


def test_a_crop_is_resized_by_either_filter_as_it_is_drawn(rows, tmp_path):
    """RandomResizedCropAndInterpolation(interpolation="random"): one of two by chance, for the whole picture, and the crop is what it is without."""
    rng, seen = np.random.default_rng(3), []
    im = some(rng, (71, 90))
    im.save(tmp_path / "a.png")
    for i in range(200):
        got = rows.row(tmp_path / "a.png", Out=(40, 36), Flip=0.5, Random=dict(AnyFilter=True), draw=dict(Seed=5, Index=i))
        box, flip = rows.info["box"], rows.info["flip"]
        part = (box["x"], box["y"], box["x"] + box["w"], box["y"] + box["h"])
        seen.append(uniforms(5, 0, i, 15, 40)[0] < 0.5)
        want = im.crop(part).resize((36, 40), Image.BILINEAR if seen[-1] else Image.BICUBIC)
        assert np.array_equal(got, as_array(want.transpose(Image.FLIP_LEFT_RIGHT) if flip else want)), i
        rows.row(tmp_path / "a.png", Out=(40, 36), Flip=0.5, Random={}, draw=dict(Seed=5, Index=i))
        assert (rows.info["box"], rows.info["flip"]) == (box, flip)
    assert 70 < sum(seen) < 130


def test_points_follow_its_shears_and_its_moves(rows, tmp_path):
    """A dot of 5 x 5 pixels is found again at the point that the map gives."""
    x, found = np.zeros((200, 200, 3), np.uint8), 0
    x[78:83, 118:123] = 255
    Image.fromarray(x).save(tmp_path / "a.png")
    timm, m = levels(9, p=1.0, std=0.5, increasing=True)
    for i in range(60):
        if Draws(i, 0).name() not in ("Rotate", "ShearX", "ShearY", "TranslateXRel", "TranslateYRel"):
            continue
        got = rows.row(tmp_path / "a.png", Out=(200, 200), draw=dict(Seed=5, Index=i), Augment=ours(timm, m, 1, None, (0, 0, 0)))[..., 0].astype(float)
        a = np.array(rows.info["affine"])
        want = a[:, :2] @ (120.5, 80.5) + a[:, 2]
        if 5 < want.min() and want.max() < 195:
            ys, xs = np.mgrid[0:200, 0:200] + 0.5
            assert np.abs(np.array([(got * xs).sum(), (got * ys).sum()]) / got.sum() - want).max() < 0.6, (i, Draws(i, 0).name())
            found += 1
    assert found > 8


def test_what_is_no_level_is_refused(rows, tmp_path):
    Image.fromarray(np.zeros((9, 9, 3), np.uint8)).save(tmp_path / "a.png")
    good, m = levels()
    for wrong, most, why in ((dict(Magnitude=31), {}, "got magnitude 31"), (dict(Magnitude=-1), {}, "got magnitude -1"), (dict(Ops=0), {}, "got 0 operations, want 1 to 16"),
                             ({}, dict(Max=31), "of at most 31, want 0 to 30"), ({}, dict(P=1.5), "got probability 1.5"), ({}, dict(Std=101), "deviation 101")):
        with pytest.raises(RowError, match="augment: .*" + why):
            rows.row(tmp_path / "a.png", Out=(9, 9), Augment=ours(good | most, m, 2, NEAREST, FILL) | wrong)
    with pytest.raises(RowError, match="mode index: want no augmentation"):
        rows.row(tmp_path / "a.png", Out=(9, 9), Mode=INDEX, Augment=ours(good, m, 2, NEAREST, FILL))


@pytest.mark.parametrize("config", CONFIGS)
def test_it_is_timms_own_on_our_draws(rows, tmp_path, monkeypatch, config):
    """timm.data.auto_augment, by itself, with our draws in the place of random's and numpy's."""
    package = importlib.util.find_spec("timm")
    if package is None:
        pytest.skip("timm is not here; make exact brings it")
    file = package.submodule_search_locations[0] + "/data/auto_augment.py"
    spec = importlib.util.spec_from_file_location("auto_augment", file)
    theirs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(theirs)
    (timm, m), rng = CONFIGS[config], np.random.default_rng(2)
    made = theirs.rand_augment_transform(config, dict(img_mean=FILL))
    assert made.num_layers == (3 if "-n3" in config else 2)
    for i in range(150):
        im = want = some(rng, SIZES[4 + i % 6])
        im.save(tmp_path / "a.png")
        for n in range(made.num_layers):
            draws = Draws(i, n)
            drawn = iter([draws.happens, draws.sign] if timm["P"] < 1 else [draws.sign])
            monkeypatch.setattr(theirs, "random", types.SimpleNamespace(
                random=lambda drawn=drawn: next(drawn), gauss=draws.gauss, uniform=lambda low, high, u=draws.u: low + (high - low) * u,
                choice=lambda of, u=draws.filter: of[0] if u < 0.5 else of[1]))
            want = made.ops[int(draws.which * 15)](want)
        got = rows.row(tmp_path / "a.png", Out=im.size[::-1], draw=dict(Seed=5, Index=i), Augment=ours(timm, m, made.num_layers, None, FILL))
        assert np.array_equal(got, as_array(want)), (i, [Draws(i, n).name() for n in range(made.num_layers)])
