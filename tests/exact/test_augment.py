"""Augmentations against Pillow's own calls, as torchvision makes them, on our draws: the same bytes. The draws are computed here once
more, from the addresses in core/media's files."""

import math

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageOps

from conftest import picture
from tools import RowError
from test_colours import ADJUST, fixed, to_gray
from test_jpeg import BICUBIC, BILINEAR, GRAY, LUMA, NEAREST, uniforms

RGB, NCHW = 0, 1
RAND, WIDE, AUTO = 1, 2, 3
AUGMENT, BLUR, TONES, ROTATION, AFFINE = 8, 9, 10, 11, 12
INDEX = 3
FILTERS = {NEAREST: Image.NEAREST, BILINEAR: Image.BILINEAR, BICUBIC: Image.BICUBIC}
OPERATIONS = ("Identity", "ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Color", "Contrast", "Sharpness", "Posterize",
              "Solarize", "AutoContrast", "Equalize")
SIGNED = OPERATIONS[1:10]
SIZES = [(1, 1), (1, 40), (40, 1), (2, 3), (3, 2), (3, 3), (33, 20), (20, 33), (64, 64), (71, 53), (224, 224)]  # (h, w)


def linspace(first, last, n):
    """torch.linspace in float32, from both ends, each step rounded."""
    first, last = np.float32(first), np.float32(last)
    step = (last - first) / np.float32(n - 1)
    return [float(first + step * np.float32(i) if i < n // 2 else last - step * np.float32(n - 1 - i)) for i in range(n)]


def magnitudes(kind, name, bins, size):
    h, w = size
    wide = kind == WIDE
    if name.startswith("Shear"):
        return linspace(0, 0.99 if wide else 0.3, bins)
    if name.startswith("Translate"):
        return linspace(0, 32 if wide else 150 / 331 * (w if name[-1] == "X" else h), bins)
    if name == "Rotate":
        return linspace(0, 135 if wide else 30, bins)
    if name == "Posterize":
        return [8 - int(np.rint(np.float32(i) / np.float32((bins - 1) / (6 if wide else 4)))) for i in range(bins)]
    if name == "Solarize":
        return linspace(255, 0, bins)
    return linspace(0, 0.99 if wide else 0.9, bins)


def affine(im, resample, *, angle=0.0, translate=(0, 0), scale=1.0, shear=(0.0, 0.0), center, fill=None):
    """torchvision's functional.affine on PIL images."""
    turn, (sx, sy) = math.radians(angle), (math.radians(s) for s in shear)
    a, b = math.cos(turn - sy) / math.cos(sy), -math.cos(turn - sy) * math.tan(sx) / math.cos(sy) - math.sin(turn)
    c, d = math.sin(turn - sy) / math.cos(sy), -math.sin(turn - sy) * math.tan(sx) / math.cos(sy) + math.cos(turn)
    m = [x / scale for x in (d, -b, 0.0, -c, a, 0.0)]
    for i, middle in ((0, center[0]), (3, center[1])):
        m[i + 2] = m[i] * (-center[0] - translate[0]) + m[i + 1] * (-center[1] - translate[1]) + middle
    return im.transform(im.size, Image.AFFINE, m, resample, fillcolor=fill)


def done(im, name, m, resample=Image.NEAREST):
    """One operation as torchvision does it on a PIL image."""
    middle = (im.size[0] * 0.5, im.size[1] * 0.5)
    return {
        "Identity": lambda: im,
        "ShearX": lambda: affine(im, resample, shear=(math.degrees(math.atan(m)), 0.0), center=(0, 0)),
        "ShearY": lambda: affine(im, resample, shear=(0.0, math.degrees(math.atan(m))), center=(0, 0)),
        "TranslateX": lambda: affine(im, resample, translate=(int(m), 0), center=middle),
        "TranslateY": lambda: affine(im, resample, translate=(0, int(m)), center=middle),
        "Rotate": lambda: im.rotate(m, resample),
        "Brightness": lambda: ImageEnhance.Brightness(im).enhance(1.0 + m),
        "Color": lambda: ImageEnhance.Color(im).enhance(1.0 + m),
        "Contrast": lambda: ImageEnhance.Contrast(im).enhance(1.0 + m),
        "Sharpness": lambda: ImageEnhance.Sharpness(im).enhance(1.0 + m),
        "Posterize": lambda: ImageOps.posterize(im, int(m)),
        "Solarize": lambda: ImageOps.solarize(im, m),
        "AutoContrast": lambda: ImageOps.autocontrast(im),
        "Equalize": lambda: ImageOps.equalize(im),
        "Invert": lambda: ImageOps.invert(im),
    }[name]()


def drawn(kind, index, size, *, ops=2, magnitude=9, bins=31):
    """The operations of a row of seed 5 and their magnitudes."""
    made = []
    for n in range(ops if kind == RAND else 1):
        which, sign = uniforms(5, 0, index, AUGMENT, n)
        name = OPERATIONS[int(which * 14)]
        at = magnitude if kind == RAND else int(uniforms(5, 0, index, AUGMENT, 1)[0] * bins)
        m = magnitudes(kind, name, bins, size)[at]
        made.append((name, -m if name in SIGNED and sign < 0.5 else m, at))
    return made


def some(rng, size, channels=3):
    """Pictures with an even spread of values, with few of them, and of one alone."""
    h, w = size
    what = rng.integers(5)
    x = picture(rng, w, h, channels)
    if what == 0:
        x = rng.integers(0, 256, x.shape, np.uint8)
    elif what == 1:
        x = (x // 4 + 90).astype(np.uint8)
    elif what == 2:
        x[...] = rng.integers(0, 256)
    return Image.fromarray(x)


def as_array(im):
    return np.asarray(im).reshape(im.size[1], im.size[0], -1)


@pytest.mark.parametrize("readers", ["rows", "rows_without_ffmpeg"])
def test_every_operation_at_every_magnitude_is_pillows(request, readers, tmp_path):
    """TrivialAugmentWide draws one operation, one of 31 magnitudes and a sign; all of them come."""
    rows, rng, seen = request.getfixturevalue(readers), np.random.default_rng(1), set()
    im, every = {}, 14 * 31 + 9 * 31
    for i in range(9000 if readers == "rows" else 600):
        size = SIZES[i // 7 % (len(SIZES) - 1)]  # of the largest a few in the next test
        (name, m, at), = drawn(WIDE, i, size)
        if (name, at, m < 0) in seen and i % 7:
            continue
        seen.add((name, at, m < 0))
        if size not in im or i % 50 == 0:
            im[size] = some(rng, size)
        path = tmp_path / f"{size[0]}.{size[1]}.png"
        im[size].save(path)
        got = rows.row(path, Out=size, Augment=dict(Kind=WIDE, Bins=31, Interpolation=NEAREST), draw=dict(Seed=5, Index=i))
        assert np.array_equal(got, as_array(done(im[size], name, m))), (i, size, name, m)
    assert readers != "rows" or len(seen) > 0.97 * every, f"{len(seen)} of {every}"


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("resample", FILTERS)
def test_each_operation_is_pillows_at_each_size(rows, tmp_path, size, resample):
    rng, seen = np.random.default_rng(2), {}
    for i in range(400):
        (name, m, _), = drawn(WIDE, i, size, bins=100)
        if seen.setdefault(name, 0) == 12:
            continue
        seen[name] += 1
        im = some(rng, size)
        im.save(tmp_path / "a.png")
        layout = i & 1
        got = rows.row(tmp_path / "a.png", Out=size, Layout=layout, Augment=dict(Kind=WIDE, Bins=100, Interpolation=resample), draw=dict(Seed=5, Index=i))
        want = as_array(done(im, name, m, FILTERS[resample]))
        assert np.array_equal(got, want.transpose(2, 0, 1) if layout == NCHW else want), (i, name, m)
    assert len(seen) == 14 and min(seen.values()) == 12


def test_quarters_of_a_turn_are_pillows(rows, tmp_path):
    """Pillow has shortcuts for them. Of 4 magnitudes from 0 to 135 degrees there are 45, 90 and 135."""
    rng, seen = np.random.default_rng(3), set()
    for i in range(1200):
        size = [(40, 40), (41, 41), (40, 30)][i % 3]
        (name, m, _), = drawn(WIDE, i, size, bins=4)
        if name != "Rotate":
            continue
        im = some(rng, size)
        im.save(tmp_path / "a.png")
        for resample in FILTERS:
            got = rows.row(tmp_path / "a.png", Out=size, Augment=dict(Kind=WIDE, Bins=4, Interpolation=resample), draw=dict(Seed=5, Index=i))
            assert np.array_equal(got, as_array(im.rotate(m, FILTERS[resample]))), (i, size, m)
        seen.add((size, m))
    assert {m for _, m in seen} == {0, -0.0, 45, 90, 135, -45, -90, -135} and len(seen) > 15


def test_rand_augment_is_torchvisions_recipe(rows, tmp_path):
    rng, used = np.random.default_rng(4), set()
    for i in range(500):
        size, bins = SIZES[i % len(SIZES)], (31, 11, 2)[i % 3]
        ops, magnitude = 1 + i % 4, min(bins - 1, (9, 15, 30)[i // 3 % 3])
        want = im = some(rng, size)
        im.save(tmp_path / "a.png")
        for name, m, _ in drawn(RAND, i, size, ops=ops, magnitude=magnitude, bins=bins):
            want = done(want, name, m)
            used.add(name)
        got = rows.row(tmp_path / "a.png", Out=size, draw=dict(Seed=5, Index=i),
                       Augment=dict(Kind=RAND, Ops=ops, Magnitude=magnitude, Bins=bins, Interpolation=NEAREST))
        assert np.array_equal(got, as_array(want)), (i, size, ops, magnitude, bins)
    assert used == set(OPERATIONS)


@pytest.mark.parametrize("mode", [GRAY, LUMA])
def test_pictures_of_grey_have_every_operation(rows, tmp_path, mode):
    rng, used = np.random.default_rng(5), set()
    for i in range(300):
        size = SIZES[i % len(SIZES)]
        (name, m, _), = drawn(WIDE, i, size)
        im = some(rng, size, 1)
        im.save(tmp_path / "a.png")
        got = rows.row(tmp_path / "a.png", Out=size, Mode=mode, Augment=dict(Kind=WIDE, Bins=31, Interpolation=i % 3), draw=dict(Seed=5, Index=i))
        assert np.array_equal(got, as_array(done(im, name, m, FILTERS[i % 3]))), (i, size, name, m)
        used.add(name)
    assert used == set(OPERATIONS)


def test_operations_follow_the_flips_and_come_before_the_jitter(rows, tmp_path):
    rng = np.random.default_rng(6)
    im = Image.fromarray(picture(rng, 50, 40))
    im.save(tmp_path / "a.png")
    for i in range(60):
        (name, m, _), = drawn(WIDE, i, (40, 50))
        flip, vflip = i & 1, i >> 1 & 1
        want = im.transpose(Image.FLIP_LEFT_RIGHT) if flip else im
        want = want.transpose(Image.FLIP_TOP_BOTTOM) if vflip else want
        want = ImageEnhance.Contrast(done(want, name, m)).enhance(0.6)
        got = rows.row(tmp_path / "a.png", Out=(40, 50), Flip=flip, VFlip=vflip, Augment=dict(Kind=WIDE, Bins=31, Interpolation=NEAREST),
                       Jitter=dict(P=1, Contrast=[0.6, 0.6]), draw=dict(Seed=5, Index=i))
        assert np.array_equal(got, as_array(want)), (i, name, m)


TONE_OPS = [  # in the order of their blocks: the config that always does it, and what Pillow does
    ("Solarize", lambda v: dict(Threshold=v), lambda im, v: ImageOps.solarize(im, v), [0, 0.5, 1, 127.5, 128, 255, 256]),
    ("Posterize", lambda v: dict(Bits=v), ImageOps.posterize, list(range(9))),
    ("Invert", None, lambda im, v: ImageOps.invert(im), [None]),
    ("Sharpness", lambda v: dict(Factor=v), lambda im, v: ImageEnhance.Sharpness(im).enhance(v), [0, 0.1, 1 / 3, 1, 1.5, 2, 9.7, 1000]),
    ("Autocontrast", None, lambda im, v: ImageOps.autocontrast(im), [None]),
    ("Equalize", None, lambda im, v: ImageOps.equalize(im), [None]),
]


def asked(name, config, value, p):
    return {name: p if config is None else dict(P=p, **config(value))}


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("name,config,pillow,values", TONE_OPS, ids=[t[0] for t in TONE_OPS])
def test_tones_and_sharpness_are_pillows(rows, tmp_path, name, config, pillow, values, channels):
    rng = np.random.default_rng(7)
    for i in range(60):
        size = SIZES[i % len(SIZES)]
        im, value = some(rng, size, channels), values[i % len(values)]
        im.save(tmp_path / "a.png")
        layout = i & 1 if channels == 3 else 0
        got = rows.row(tmp_path / "a.png", Out=size, Layout=layout, Mode=RGB if channels == 3 else GRAY, **asked(name, config, value, 1))
        want = as_array(pillow(im, value))
        assert np.array_equal(got, want.transpose(2, 0, 1) if layout else want), (i, size, value)


def test_what_happens_by_chance_has_its_draw_and_its_place(rows, tmp_path):
    """All six with a chance of a half: Pillow's calls in this order where the draws say so."""
    rng, happened = np.random.default_rng(8), [0] * 6
    for i in range(200):
        im = want = Image.fromarray(picture(rng, 30, 20))
        im.save(tmp_path / "a.png")
        config = {}
        for block, (name, make, pillow, values) in enumerate(TONE_OPS):
            value = values[i % len(values)]
            config.update(asked(name, make, value, 0.5))
            if uniforms(5, 0, i, TONES, block)[0] < 0.5:
                want = pillow(want, value)
                happened[block] += 1
        got = rows.row(tmp_path / "a.png", Out=(20, 30), draw=dict(Seed=5, Index=i), **config)
        assert np.array_equal(got, as_array(want)), i
    assert all(60 < n < 140 for n in happened), happened


def blurred(x, size, sigma):
    """torchvision's gaussian_blur in doubles."""
    k = np.exp(-0.5 * ((np.arange(size) - size // 2) / sigma) ** 2)
    k /= k.sum()
    r = size // 2
    x = np.pad(x.astype(np.float64), ((r, r), (r, r), (0, 0)), "reflect")
    x = sum(k[t] * x[:, t:x.shape[1] - size + 1 + t] for t in range(size))
    return sum(k[t] * x[t:x.shape[0] - size + 1 + t] for t in range(size))


@pytest.mark.parametrize("channels", [1, 3])
def test_a_blur_is_the_gaussian_rounded(rows, tmp_path, channels):
    """Within half of the sum in doubles, but for what a float's last bits do to it."""
    rng = np.random.default_rng(9)
    for i in range(120):
        size = [(12, 17), (64, 64), (71, 53), (1, 30), (224, 224)][i % 5]
        taps = 1 if size[0] == 1 else int(rng.choice([1, 3, 5, 9, 23]))
        low = float(rng.uniform(0.1, 3))
        im = some(rng, size, channels)
        im.save(tmp_path / "a.png")
        layout = i & 1 if channels == 3 else 0
        got = rows.row(tmp_path / "a.png", Out=size, Layout=layout, Mode=RGB if channels == 3 else GRAY, draw=dict(Seed=5, Index=i),
                       Blur=dict(P=0.7, Size=taps, Sigma=[low, low + 2]))
        got = got.transpose(1, 2, 0) if layout else got
        chance, share = uniforms(5, 0, i, BLUR, 0)
        want = blurred(as_array(im), taps, low + share * 2) if chance < 0.7 else as_array(im)
        assert np.abs(got - want).max() <= 0.5001, (i, size, taps)


def test_all_at_once_are_pillows_one_after_the_other(rows, tmp_path):
    """As many as there may be, each of them always; the blur by one pixel, which changes nothing."""
    rng, most = np.random.default_rng(14), 0
    jitter = {"Brightness": 1.2, "Contrast": 0.7, "Saturation": 1.5, "Hue": 0.1}
    for i in range(40):
        im = Image.fromarray(picture(rng, 50, 40))
        im.save(tmp_path / "a.png")
        want = affine(im.rotate(7), Image.NEAREST, angle=4, center=(25, 20))
        plan = drawn(RAND, i, (40, 50), ops=16)
        most = max(most, sum(name != "Identity" for name, _, _ in plan))
        for name, m, _ in plan:
            want = done(want, name, m)
        order, left = int(uniforms(5, 0, i, 4, 0)[1] * 24), list(jitter)
        for n in range(4, 0, -1):
            order, at = divmod(order, n)
            name = left.pop(at)
            want = ADJUST[name](want, jitter[name])
        want = to_gray(want)
        config = dict(Rotation=dict(Degrees=[7, 7], Interpolation=NEAREST), Affine=dict(Degrees=[4, 4], Interpolation=NEAREST), Blur=dict(P=1, Size=1, Sigma=[1, 1]),
                      Augment=dict(Kind=RAND, Ops=16, Magnitude=9, Bins=31, Interpolation=NEAREST), Jitter=fixed(**jitter), Grayscale=1)
        for name, make, pillow, values in TONE_OPS:
            value = values[i % len(values)]
            config.update(asked(name, make, value, 1))
            want = pillow(want, value)
        got = rows.row(tmp_path / "a.png", Out=(40, 50), draw=dict(Seed=5, Index=i), **config)
        assert np.array_equal(got, as_array(want)), i
    assert most == 16


def test_numbers_of_classes_are_refused(rows, tmp_path):
    Image.fromarray(np.zeros((8, 8), np.uint8)).save(tmp_path / "a.png")
    for config in (dict(Augment=dict(Kind=WIDE, Bins=31, Interpolation=NEAREST)), dict(Equalize=0.5), dict(Blur=dict(P=1, Size=3, Sigma=[1, 1])),
                   *(asked(name, make, values[0], 0.5) for name, make, _, values in TONE_OPS)):
        with pytest.raises(RowError, match="mode index: want no"):
            rows.row(tmp_path / "a.png", Out=(8, 8), Mode=3, **config)
    with pytest.raises(RowError, match="want interpolation nearest, bilinear or bicubic"):
        rows.row(tmp_path / "a.png", Out=(8, 8), Augment=dict(Kind=WIDE, Bins=31, Interpolation=3))


def between(low, high, u):
    return low + u * (high - low)


@pytest.mark.parametrize("mode", [RGB, GRAY, INDEX])
def test_random_rotation_is_pillows_on_our_draws(rows, tmp_path, mode):
    rng = np.random.default_rng(10)
    for i in range(200):
        size, resample = SIZES[i % len(SIZES)], NEAREST if mode == INDEX else (NEAREST, BILINEAR, BICUBIC)[i % 3]
        low, high = [(-30, 30), (0, 360), (90, 90), (180, 180), (-90, -90), (10.5, 11)][i // 7 % 6]
        im = some(rng, size, 3 if mode == RGB else 1)
        im.save(tmp_path / "a.png")
        got = rows.row(tmp_path / "a.png", Out=size, Mode=mode, Rotation=dict(Degrees=[low, high], Interpolation=resample), draw=dict(Seed=5, Index=i))
        angle = between(low, high, uniforms(5, 0, i, ROTATION, 0)[0])
        assert np.array_equal(got, as_array(im.rotate(angle, FILTERS[resample]))), (i, size, angle)


@pytest.mark.parametrize("mode", [RGB, GRAY, INDEX])
def test_random_affine_is_torchvisions_recipe_on_our_draws(rows, tmp_path, mode):
    """Scales of which some places are beyond 16.16 fixed point, too."""
    rng = np.random.default_rng(11)
    for i in range(400):
        size, resample = SIZES[i % len(SIZES)], NEAREST if mode == INDEX else (NEAREST, BILINEAR, BICUBIC)[i % 3]
        degrees, translate = [(-30, 30), (0, 0), (-180, 180)][i % 3], [(0, 0), (0.1, 0.3), (1, 1)][i // 3 % 3]
        scale, shear = [(1, 1), (0.5, 2), (0.01, 0.012), (90, 100)][i // 9 % 4], [(0, 0, 0, 0), (-20, 20, 0, 0), (-80, 80, -45, 60)][i // 5 % 3]
        im = some(rng, size, 3 if mode == RGB else 1)
        im.save(tmp_path / "a.png")
        (turn, x), (y, big), (sx, sy) = (uniforms(5, 0, i, AFFINE, block) for block in range(3))
        h, w = size
        want = affine(im, FILTERS[resample], angle=between(*degrees, turn), scale=between(*scale, big), center=(w * 0.5, h * 0.5),
                      translate=(round(between(-translate[0] * w, translate[0] * w, x)), round(between(-translate[1] * h, translate[1] * h, y))),
                      shear=(between(*shear[:2], sx), between(*shear[2:], sy)))
        got = rows.row(tmp_path / "a.png", Out=size, Mode=mode, draw=dict(Seed=5, Index=i),
                       Affine=dict(Degrees=degrees, Translate=translate, Scale=scale, ShearX=shear[:2], ShearY=shear[2:], Interpolation=resample))
        assert np.array_equal(got, as_array(want)), (i, size, degrees, translate, scale, shear)


@pytest.mark.parametrize("mode", [RGB, GRAY, INDEX])
def test_turns_around_a_center_are_pillows_and_torchvisions(rows, tmp_path, mode):
    """Also quarters of a turn, whose shortcuts Pillow does not take there, and centers beyond the picture."""
    rng = np.random.default_rng(15)
    for i in range(120):
        size, resample = SIZES[i % len(SIZES)], NEAREST if mode == INDEX else (NEAREST, BILINEAR, BICUBIC)[i % 3]
        low, high = [(-30, 30), (90, 90), (180, 180), (0, 0)][i // 7 % 4]
        center = [(0, 0), (size[1], 0), (3.5, -7.25), (size[1] / 2, size[0] / 2)][i // 3 % 4]
        im = some(rng, size, 3 if mode == RGB else 1)
        im.save(tmp_path / "a.png")
        common = dict(Degrees=[low, high], Center=dict(X=center[0], Y=center[1]), Interpolation=resample)
        got = rows.row(tmp_path / "a.png", Out=size, Mode=mode, Rotation=common, draw=dict(Seed=5, Index=i))
        angle = between(low, high, uniforms(5, 0, i, ROTATION, 0)[0])
        assert np.array_equal(got, as_array(im.rotate(angle, FILTERS[resample], center=center))), (i, size, angle, center)
        got = rows.row(tmp_path / "a.png", Out=size, Mode=mode, Affine=common, draw=dict(Seed=5, Index=i))
        want = affine(im, FILTERS[resample], angle=between(low, high, uniforms(5, 0, i, AFFINE, 0)[0]), center=center)
        assert np.array_equal(got, as_array(want)), (i, size, center)
    with pytest.raises(RowError, match="rotation: got a center at 20000, 0, want -16384 to 16384"):
        rows.row(tmp_path / "a.png", Out=(3, 3), Rotation=dict(Degrees=[0, 1], Center=dict(X=20000), Interpolation=NEAREST))


def test_a_large_row_has_places_beyond_fixed_point(rows, tmp_path):
    im = Image.fromarray(picture(np.random.default_rng(12), 700, 500))
    im.save(tmp_path / "a.png")
    for i in range(12):
        angle = between(-30, 30, uniforms(5, 0, i, AFFINE, 0)[0])
        want = affine(im, Image.NEAREST, angle=angle, scale=0.011, center=(350, 250))
        got = rows.row(tmp_path / "a.png", Out=(500, 700), draw=dict(Seed=5, Index=i), Affine=dict(Degrees=[-30, 30], Scale=[0.011, 0.011], Interpolation=NEAREST))
        assert np.array_equal(got, as_array(want)), i


def test_rotation_and_affine_come_between_the_flips_and_the_augmentation(rows, tmp_path):
    im = Image.fromarray(picture(np.random.default_rng(13), 50, 40))
    im.save(tmp_path / "a.png")
    for i in range(30):
        (name, m, _), = drawn(WIDE, i, (40, 50))
        want = im.transpose(Image.FLIP_TOP_BOTTOM).rotate(between(-30, 30, uniforms(5, 0, i, ROTATION, 0)[0]))
        want = affine(want, Image.NEAREST, angle=between(-10, 10, uniforms(5, 0, i, AFFINE, 0)[0]), center=(25, 20))
        got = rows.row(tmp_path / "a.png", Out=(40, 50), VFlip=1, Rotation=dict(Degrees=[-30, 30], Interpolation=NEAREST),
                       Affine=dict(Degrees=[-10, 10], Interpolation=NEAREST), Augment=dict(Kind=WIDE, Bins=31, Interpolation=NEAREST), draw=dict(Seed=5, Index=i))
        assert np.array_equal(got, as_array(done(want, name, m))), (i, name)


@pytest.mark.parametrize("mode,layout", [(RGB, 0), (RGB, 1), (GRAY, 0)])
def test_what_has_an_order_of_its_own_is_pillows_in_that_order(rows, tmp_path, mode, layout):
    """Flips after a turn and after colours, tones before them: each in the place that it is given."""
    rng = np.random.default_rng(14)
    channels = 3 if mode == RGB else 1
    for i in range(100):
        size = SIZES[i % len(SIZES)]
        im = want = some(rng, size, channels)
        im.save(tmp_path / "a.png")
        config, calls = {}, {
            "Flip": lambda im: im.transpose(Image.FLIP_LEFT_RIGHT), "VFlip": lambda im: im.transpose(Image.FLIP_TOP_BOTTOM),
            "Rotation": lambda im: im.rotate(between(-30, 30, uniforms(5, 0, i, ROTATION, 0)[0])),
        }
        for name, make, pillow, values in TONE_OPS:
            value = values[i % len(values)]
            config.update(asked(name, make, value, 1))
            calls[name] = lambda im, pillow=pillow, value=value: pillow(im, value)
        order = [str(step) for step in rng.permutation(list(calls))]
        for step in order:
            want = calls[step](want)
        got = rows.row(tmp_path / "a.png", Out=size, Mode=mode, Layout=layout, Order=order, Flip=1, VFlip=1, draw=dict(Seed=5, Index=i),
                       Rotation=dict(Degrees=[-30, 30], Interpolation=NEAREST), **config)
        want = as_array(want)
        assert np.array_equal(got, want.transpose(2, 0, 1) if layout else want), (i, size, order)
