"""What lies beyond a picture where it is not fill: np.pad, by which torchvision pads PIL images (functional.pad with padding_mode edge, reflect and
symmetric), then the part that was drawn. The same bytes, on our draws."""

import numpy as np
import pytest
from PIL import Image, ImageOps

from conftest import picture
from tools import RowError
from test_augment import INDEX, NCHW, RGB, TONES, WIDE, as_array, done, drawn, some
from test_fill import FILTERS, middle
from test_jpeg import BILINEAR, GRAY, NEAREST, resize_short, uniforms

MODES = {1: "edge", 2: "reflect", 3: "symmetric"}
SIZES = [(1, 1), (1, 9), (9, 1), (2, 3), (17, 12), (32, 32), (33, 20), (64, 50)]  # (h, w)


def padded(x, sides, mode):
    """functional.pad on a PIL image; None: constant black."""
    left, top, right, bottom = sides
    widths = ((top, bottom), (left, right)) + ((0, 0),) * (x.ndim - 2)
    return np.pad(x, widths, mode) if mode else np.pad(x, widths)


def around(size, n, before, behind, u=None):
    """Where the window begins in the padded picture: drawn, or in its middle."""
    room = size + before + behind - n
    return middle(size + before + behind, n) if u is None or room < 0 else int(u * (room + 1))


def window(x, sides, size, mode, u=(None, None)):
    """The part of the padded picture; where that does not fit, it is padded further by the same rule."""
    left, top, right, bottom = sides
    y, x0 = around(x.shape[0], size[0], top, bottom, u[0]), around(x.shape[1], size[1], left, right, u[1])
    more = 100  # on each side, so that every window lies within
    wide = padded(x, [n + more for n in sides], mode)
    return wide[y + more:, x0 + more:][:size[0], :size[1]]


@pytest.mark.parametrize("mode", [RGB, GRAY, INDEX])
@pytest.mark.parametrize("readers", ["rows", "rows_without_ffmpeg"])
def test_random_crops_lie_on_their_padding(request, readers, tmp_path, mode):
    """Paddings far larger than the picture, too, in which it is mirrored again and again; and parts that lie beside it."""
    rows, rng, beside = request.getfixturevalue(readers), np.random.default_rng(1), 0
    for i in range(300):
        size, padding = (int(rng.integers(1, 45)), int(rng.integers(1, 45))), 1 + i % 3
        sides = [(4, 4, 4, 4), (0, 0, 0, 0), (30, 30, 30, 30), (1, 2, 3, 4), (0, 20, 0, 1)][i // 3 % 5]
        im = some(rng, SIZES[i % len(SIZES)], 3 if mode == RGB else 1)
        im.save(tmp_path / "a.png")
        flip, vflip, layout = i & 1, i >> 1 & 1, i >> 2 & 1 if mode == RGB else 0
        short = 1 + i % 40 if i % 4 == 3 and max(im.size) < 8 * min(im.size) else None
        f = NEAREST if mode == INDEX else BILINEAR
        made = as_array(resize_short(im, short, FILTERS[f]) if short else im)
        u = uniforms(5, 0, i, 6, 0)
        want = window(made, sides, size, MODES[padding], u)[::-1 if vflip else 1, ::-1 if flip else 1]
        beside += sides[0] > size[1] and made.shape[1] < 9
        got = rows.row(tmp_path / "a.png", Out=size, Mode=mode, Layout=layout, ResizeShort=short, Interpolation=f, Anywhere=True, Padding=padding, Flip=flip, VFlip=vflip,
                       Pad=dict(zip(("Left", "Top", "Right", "Bottom"), sides)), draw=dict(Seed=5, Index=i))
        assert np.array_equal(got, want.transpose(2, 0, 1) if layout == NCHW else want), (i, size, im.size, sides, MODES[padding], short)
    assert beside > 3


def test_cifars_crop_is_torchvisions(rows, tmp_path):
    """RandomCrop(32, padding=4, padding_mode="reflect"): every place of the 9 x 9 comes."""
    rng, places = np.random.default_rng(2), set()
    x = picture(rng, 32, 32)
    Image.fromarray(x).save(tmp_path / "a.png")
    wide = np.pad(x, ((4, 4), (4, 4), (0, 0)), "reflect")
    for i in range(700):
        y, x0 = (int(u * 9) for u in uniforms(5, 0, i, 6, 0))
        got = rows.row(tmp_path / "a.png", Out=(32, 32), Anywhere=True, Pad=4, Padding=2, draw=dict(Seed=5, Index=i))
        assert np.array_equal(got, wide[y:y + 32, x0:x0 + 32]), i
        places.add((y, x0))
    assert len(places) == 81


@pytest.mark.parametrize("padding", [0, *MODES])
def test_pad_is_torchvisions(rows, tmp_path, padding):
    """Of a picture that is resized to [H, W], whose row is larger by the padding."""
    rng = np.random.default_rng(3)
    for i in range(60):
        im = some(rng, SIZES[i % len(SIZES)])
        im.save(tmp_path / "a.png")
        h, w = (int(v) for v in rng.integers(2, 30, 2))
        sides = [int(v) for v in rng.integers(0, min(h, w), 4)]
        want = padded(as_array(im.resize((w, h), Image.BILINEAR)), sides, MODES.get(padding))
        got = rows.row(tmp_path / "a.png", Resize=(h, w), Out=want.shape[:2], Padding=padding, Pad=dict(zip(("Left", "Top", "Right", "Bottom"), sides)))
        assert np.array_equal(got, want), (i, h, w, sides)


@pytest.mark.parametrize("padding", MODES)
def test_jpegs_are_decoded_as_far_as_their_padding_reaches(rows, tmp_path, padding):
    rng = np.random.default_rng(4)
    for i in range(60):
        Image.fromarray(picture(rng, int(rng.integers(20, 300)), int(rng.integers(20, 300)))).save(tmp_path / "a.jpg", quality=90)
        x = np.asarray(Image.open(tmp_path / "a.jpg"))
        size, pad = (int(rng.integers(8, 330)), int(rng.integers(8, 330))), int(rng.choice([4, 19, 90]))
        got = rows.row(tmp_path / "a.jpg", Out=size, Anywhere=True, Pad=pad, Padding=padding, draw=dict(Seed=5, Index=i))
        wide = np.pad(x, ((400, 400), (400, 400), (0, 0)), MODES[padding])
        y, x0 = (around(n, m, pad, pad, u) - pad + 400 for n, m, u in zip(x.shape, size, uniforms(5, 0, i, 6, 0)))
        assert np.array_equal(got, wide[y:, x0:][:size[0], :size[1]]), (i, x.shape, size, pad)


def test_a_turned_jpegs_border_is_of_the_picture_as_it_is_seen(rows, tmp_path):
    exif = Image.Exif()
    for orientation in range(1, 9):
        exif[0x0112] = orientation
        Image.fromarray(picture(np.random.default_rng(5), 40, 30)).save(tmp_path / "a.jpg", quality=95, exif=exif)
        seen = np.asarray(ImageOps.exif_transpose(Image.open(tmp_path / "a.jpg")))
        got = rows.row(tmp_path / "a.jpg", Out=(50, 50), Padding=2, Orient=True)
        assert np.array_equal(got, window(seen, (0, 0, 0, 0), (50, 50), "reflect")), orientation


def test_what_comes_behind_takes_the_border_for_pixels(rows, tmp_path):
    """An augmentation, then an equalisation by chance, of the padded row."""
    rng = np.random.default_rng(6)
    im = Image.fromarray(picture(rng, 30, 20))
    im.save(tmp_path / "a.png")
    for i in range(60):
        size = (32, 40)
        want = Image.fromarray(window(np.asarray(im), (6, 6, 6, 6), size, "symmetric", uniforms(5, 0, i, 6, 0)))
        (name, m, _), = drawn(WIDE, i, size)
        want = done(want, name, m)
        want = ImageOps.equalize(want) if uniforms(5, 0, i, TONES, 5)[0] < 0.5 else want
        got = rows.row(tmp_path / "a.png", Out=size, Anywhere=True, Pad=6, Padding=3, Augment=dict(Kind=WIDE, Bins=31, Interpolation=NEAREST), Equalize=0.5, draw=dict(Seed=5, Index=i))
        assert np.array_equal(got, as_array(want)), (i, name)


def test_points_go_where_they_go_on_black(rows, tmp_path):
    Image.fromarray(picture(np.random.default_rng(7), 20, 10)).save(tmp_path / "a.png")
    for i in range(20):
        config = dict(Out=(30, 30), Flip=1, Anywhere=True, Pad=(8), Rotation=dict(Degrees=[10, 20], Interpolation=NEAREST), draw=dict(Seed=5, Index=i))
        rows.row(tmp_path / "a.png", **config)
        before = rows.info
        rows.row(tmp_path / "a.png", Padding=2, **config)
        assert rows.info == before


def test_they_are_of_crops_alone(rows, tmp_path):
    Image.fromarray(picture(np.random.default_rng(8), 9, 9)).save(tmp_path / "a.png")
    for config in dict(Contain={}, Padding=1), dict(Random={}, Pad=3), dict(Random={}, Padding=2):
        with pytest.raises(RowError, match="anywhere and padding are of a crop to Out"):
            rows.row(tmp_path / "a.png", Out=(8, 8), **config)
    with pytest.raises(RowError, match="padding: 4 is not one of the named values"):
        rows.row(tmp_path / "a.png", Out=(8, 8), Padding=4)
