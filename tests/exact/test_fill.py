"""What lies where a row has no pixel, against Pillow's own fills, as torchvision hands them on (`fill` of RandomCrop, RandomRotation, RandomAffine
and the augmentations): the same bytes, on our draws."""

import numpy as np
import pytest
from PIL import Image, ImageOps

from conftest import picture
from test_augment import AFFINE, AUTO, FILTERS, INDEX, NCHW, RAND, RGB, ROTATION, SIZES, WIDE, affine, as_array, between, done, drawn, some
from test_jpeg import BICUBIC, BILINEAR, F32, GRAY, MEAN, NEAREST, STD, resize_short, uniforms

PURPLE = (120, 7, 201)
FILLS = {RGB: [PURPLE, (255, 255, 255), (0, 0, 1), (9, 0, 0)], GRAY: [(77,), (255,)], INDEX: [(255,), (1,)]}


def colour(fill):
    return fill[0] if len(fill) == 1 else fill


def ours(fill):
    return list(fill) if len(fill) == 3 else [fill[0], 0, 0]  # of one channel the first counts


def padded_crop(im, size, fill, top=None, left=None):
    """A window that may lie beside the picture: Image.new with the colour, the picture pasted."""
    h, w = size
    out = Image.new(im.mode, (w, h), colour(fill))
    out.paste(im, (-left, -top))
    return out


def middle(size, n):
    """Where torchvision's CenterCrop has its window."""
    return -((n - size) // 2) if size < n else int(round((size - n) / 2.0))


@pytest.mark.parametrize("mode", [RGB, GRAY, INDEX])
@pytest.mark.parametrize("readers", ["rows", "rows_without_ffmpeg"])
def test_the_border_of_a_centre_crop_is_fill(request, readers, tmp_path, mode):
    rows, rng = request.getfixturevalue(readers), np.random.default_rng(1)
    for i in range(150):
        size, fill = (int(rng.integers(1, 90)), int(rng.integers(1, 90))), FILLS[mode][i % len(FILLS[mode])]
        im = some(rng, SIZES[i % (len(SIZES) - 1)], 3 if mode == RGB else 1)
        im.save(tmp_path / "a.png")
        flip, vflip, layout = i & 1, i >> 1 & 1, i >> 2 & 1 if mode == RGB else 0
        short = 1 + i % 70 if i % 3 and max(im.size) < 8 * min(im.size) else None
        made = resize_short(im, short, FILTERS[NEAREST if mode == INDEX else BILINEAR]) if short else im
        want = padded_crop(made, size, fill, middle(made.size[1], size[0]), middle(made.size[0], size[1]))
        want = ImageOps.mirror(want) if flip else want
        want = as_array(ImageOps.flip(want) if vflip else want)
        got = rows.row(tmp_path / "a.png", Out=size, ResizeShort=short, Interpolation=NEAREST if mode == INDEX else BILINEAR, Mode=mode, Layout=layout,
                       Fill=ours(fill), Flip=flip, VFlip=vflip)
        assert np.array_equal(got, want.transpose(2, 0, 1) if layout == NCHW else want), (i, size, im.size, short, fill)


def test_a_jpeg_that_is_decoded_in_parts_has_its_border(rows, tmp_path):
    rng = np.random.default_rng(2)
    for i in range(60):
        Image.fromarray(picture(rng, int(rng.integers(20, 300)), int(rng.integers(20, 300)))).save(tmp_path / "a.jpg", quality=90)
        im = Image.open(tmp_path / "a.jpg")
        size = (int(rng.integers(8, 400)), int(rng.integers(8, 400)))
        want = padded_crop(im, size, PURPLE, middle(im.size[1], size[0]), middle(im.size[0], size[1]))
        assert np.array_equal(rows.row(tmp_path / "a.jpg", Out=size, Fill=PURPLE), as_array(want)), (i, im.size, size)


@pytest.mark.parametrize("mode", [RGB, GRAY, INDEX])
def test_random_crops_lie_on_their_padding(rows, tmp_path, mode):
    """ImageOps.expand by the padding, as torchvision pads, then the part that was drawn; also one that lies in the padding alone."""
    rng, beside = np.random.default_rng(3), 0
    for i in range(200):
        size, pad, fill = (int(rng.integers(1, 40)), int(rng.integers(1, 40))), int(rng.choice([0, 1, 4, 50])), FILLS[mode][i % len(FILLS[mode])]
        im = some(rng, SIZES[i % (len(SIZES) - 1)], 3 if mode == RGB else 1)
        im.save(tmp_path / "a.png")
        u = uniforms(5, 0, i, 6, 0)
        at = []
        for have, n, v in zip(im.size[::-1], size, u):
            room = have + 2 * pad - n
            at.append(middle(have, n) if room < 0 else int(v * (room + 1)) - pad)
        wide = ImageOps.expand(im, 100, colour(fill))
        want = wide.crop((at[1] + 100, at[0] + 100, at[1] + 100 + size[1], at[0] + 100 + size[0]))
        beside += at[0] <= -size[0] or at[1] <= -size[1] or at[0] >= im.size[1] or at[1] >= im.size[0]
        got = rows.row(tmp_path / "a.png", Out=size, Mode=mode, Anywhere=True, Pad=pad, Fill=ours(fill), draw=dict(Seed=5, Index=i),
                       Interpolation=NEAREST if mode == INDEX else BILINEAR)
        assert np.array_equal(got, as_array(want)), (i, size, im.size, pad, at)
    assert beside > 3


def turned(im, name, m, resample, fill):
    """done() with torchvision's fill, which only what shears, moves and turns has."""
    center = (im.size[0] * 0.5, im.size[1] * 0.5)
    kinds = {"ShearX": dict(shear=(np.degrees(np.arctan(m)), 0.0), center=(0, 0)), "ShearY": dict(shear=(0.0, np.degrees(np.arctan(m))), center=(0, 0)),
             "TranslateX": dict(translate=(int(m), 0), center=center), "TranslateY": dict(translate=(0, int(m)), center=center)}
    if name == "Rotate":
        return im.rotate(m, resample, fillcolor=colour(fill))
    return affine(im, resample, **kinds[name], fill=colour(fill)) if name in kinds else done(im, name, m, resample)


@pytest.mark.parametrize("mode", [RGB, GRAY, INDEX])
def test_what_turns_and_shears_leaves_fill(rows, tmp_path, mode):
    rng = np.random.default_rng(4)
    for i in range(240):
        size, fill, resample = SIZES[i % len(SIZES)], FILLS[mode][i % len(FILLS[mode])], NEAREST if mode == INDEX else (NEAREST, BILINEAR, BICUBIC)[i % 3]
        im = some(rng, size, 3 if mode == RGB else 1)
        im.save(tmp_path / "a.png")
        layout = i & 1 if mode == RGB else 0
        low, high = [(-30, 30), (0, 360), (90, 90), (180, 180)][i // 7 % 4]
        scale = [(1, 1), (0.5, 2), (0.01, 0.012)][i // 5 % 3]
        common = dict(Out=size, Mode=mode, Layout=layout, draw=dict(Seed=5, Index=i))
        got = rows.row(tmp_path / "a.png", Rotation=dict(Degrees=[low, high], Interpolation=resample, Fill=ours(fill)), **common)
        want = as_array(im.rotate(between(low, high, uniforms(5, 0, i, ROTATION, 0)[0]), FILTERS[resample], fillcolor=colour(fill)))
        assert np.array_equal(got, want.transpose(2, 0, 1) if layout else want), (i, size, "rotation")
        (turn, x), (y, big), (sx, sy) = (uniforms(5, 0, i, AFFINE, block) for block in range(3))
        h, w = size
        want = as_array(affine(im, FILTERS[resample], angle=between(low, high, turn), scale=between(*scale, big), center=(w * 0.5, h * 0.5), fill=colour(fill),
                               translate=(round(between(-0.2 * w, 0.2 * w, x)), round(between(-0.1 * h, 0.1 * h, y))), shear=(between(-9, 9, sx), between(0, 5, sy))))
        got = rows.row(tmp_path / "a.png", Affine=dict(Degrees=[low, high], Translate=[0.2, 0.1], Scale=scale, ShearX=[-9, 9], ShearY=[0, 5], Interpolation=resample,
                                                       Fill=ours(fill)), **common)
        assert np.array_equal(got, want.transpose(2, 0, 1) if layout else want), (i, size, "affine")


@pytest.mark.parametrize("mode", [RGB, GRAY])
def test_augmentations_leave_fill(rows, tmp_path, mode):
    rng = np.random.default_rng(5)
    for i in range(300):
        size, fill, resample = SIZES[i % len(SIZES)], FILLS[mode][i % len(FILLS[mode])], (NEAREST, BILINEAR, BICUBIC)[i % 3]
        want = im = some(rng, size, 3 if mode == RGB else 1)
        im.save(tmp_path / "a.png")
        kind = (RAND, WIDE)[i // 2 % 2]
        for name, m, _ in drawn(kind, i, size):
            want = turned(want, name, m, FILTERS[resample], fill)
        got = rows.row(tmp_path / "a.png", Out=size, Mode=mode, draw=dict(Seed=5, Index=i),
                       Augment=dict(Kind=kind, Ops=2, Magnitude=9, Bins=31, Interpolation=resample, Fill=ours(fill)))
        assert np.array_equal(got, as_array(want)), (i, size, kind)
    assert any((rows.row(tmp_path / "a.png", Out=size, Mode=mode, draw=dict(Seed=5, Index=i), Augment=dict(Kind=AUTO, Interpolation=NEAREST, Fill=ours(fill)))
                != rows.row(tmp_path / "a.png", Out=size, Mode=mode, draw=dict(Seed=5, Index=i), Augment=dict(Kind=AUTO, Interpolation=NEAREST))).any() for i in range(40))


def test_fill_is_normalised_as_pixels_are(rows, tmp_path):
    Image.fromarray(picture(np.random.default_rng(6), 20, 10)).save(tmp_path / "a.png")
    for dtype in (F32, 1):
        row = rows.row(tmp_path / "a.png", Out=(30, 30), DType=dtype, Fill=PURPLE, Normalize=dict(Mean=MEAN, Std=STD))
        want = (np.float32(PURPLE) / np.float32(255) - np.float32(MEAN)) / np.float32(STD)
        assert np.array_equal(row[0, 0], want.astype(row.dtype)) and np.array_equal(row[15, 2], row[0, 0])


def test_points_go_where_they_go_without_fill(rows, tmp_path):
    Image.fromarray(picture(np.random.default_rng(7), 20, 10)).save(tmp_path / "a.png")
    config = dict(Out=(30, 30), Flip=1, draw=dict(Seed=5, Index=3))
    rows.row(tmp_path / "a.png", Rotation=dict(Degrees=[10, 20], Interpolation=NEAREST), **config)
    before = rows.info
    rows.row(tmp_path / "a.png", Rotation=dict(Degrees=[10, 20], Interpolation=NEAREST, Fill=PURPLE), Fill=PURPLE, **config)
    assert rows.info == before
