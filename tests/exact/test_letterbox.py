"""Pictures that keep their shape: fit: contain and cover against Pillow's ImageOps.pad, contain and cover, max_size against torchvision's rule
(_compute_resized_output_size) with Pillow's resize. The same bytes."""

import numpy as np
import pytest
from PIL import Image, ImageFile, ImageOps

from conftest import picture
from test_augment import INDEX, NCHW, RGB, as_array
from test_fill import FILLS, colour, middle, ours, padded_crop
from test_jpeg import BICUBIC, BILINEAR, F32, GRAY, NEAREST, random_jpeg, uniforms

FILTERS = {NEAREST: Image.NEAREST, BILINEAR: Image.BILINEAR, BICUBIC: Image.BICUBIC}
ImageFile.MAXBLOCK = 1 << 22  # progressive files need the room
SHORT, SCALE = 13, 14  # the operations that draw the shorter side, and a jitter's scale
SHAPES = [(1, 1), (40, 40), (3, 50), (50, 3), (64, 48), (48, 64), (63, 49), (31, 97), (200, 133)]  # (h, w)


def moderate(rng):
    w = int(rng.integers(1, 200))
    return w, int(rng.integers(max(1, w // 8), 8 * w + 1)) % 300 + 1


@pytest.mark.parametrize("mode", [RGB, GRAY, INDEX])
@pytest.mark.parametrize("readers", ["rows", "rows_without_ffmpeg"])
def test_contain_is_pillows_pad(request, readers, tmp_path, mode):
    rows, rng, odd = request.getfixturevalue(readers), np.random.default_rng(1), set()
    for i in range(250):
        (w, h), size, fill = moderate(rng), SHAPES[i % len(SHAPES)], FILLS[mode][i % len(FILLS[mode])]
        f = NEAREST if mode == INDEX else (BILINEAR, BICUBIC, NEAREST)[i % 3]
        im = Image.fromarray(picture(rng, w, h, 3 if mode == RGB else 1))
        im.save(tmp_path / "a.png")
        corner, flip, vflip, layout = i % 4 == 3, i & 1, i >> 1 & 1, i >> 2 & 1 if mode == RGB else 0
        try:
            want = ImageOps.pad(im, size[::-1], FILTERS[f], color=colour(fill), centering=(0, 0) if corner else (0.5, 0.5))
        except ValueError:  # a side of no pixel
            continue
        inside = ImageOps.contain(im, size[::-1], FILTERS[f])
        odd.add((size[1] - inside.size[0], size[0] - inside.size[1]))
        want = ImageOps.mirror(want) if flip else want
        want = as_array(ImageOps.flip(want) if vflip else want)
        got = rows.row(tmp_path / "a.png", Contain=dict(Corner=corner), Out=size, Interpolation=f, Mode=mode, Layout=layout, Fill=ours(fill), Flip=flip, VFlip=vflip)
        assert np.array_equal(got, want.transpose(2, 0, 1) if layout == NCHW else want), (i, im.size, size, corner)
    assert {1, 3, 5} <= {x for pair in odd for x in pair}  # halves, of which Pillow takes the even side


def test_cover_is_pillows_cover(rows, tmp_path):
    """As small as no side is less than the size's; a crop takes its middle."""
    rng, longer = np.random.default_rng(5), set()
    for i in range(250):
        (w, h), size = moderate(rng), SHAPES[i % len(SHAPES)]
        f = (BILINEAR, BICUBIC, NEAREST)[i % 3]
        im = Image.fromarray(picture(rng, w, h))
        im.save(tmp_path / "a.png")
        big = ImageOps.cover(im, size[::-1], FILTERS[f])
        assert big.height >= size[0] and big.width >= size[1] and size in ((big.height, size[1]), (size[0], big.width))
        longer |= {(big.height - size[0]) % 2, 2 * (big.width > size[1])}
        top, left = round((big.height - size[0]) / 2), round((big.width - size[1]) / 2)
        want = as_array(big.crop((left, top, left + size[1], top + size[0])))
        got = rows.row(tmp_path / "a.png", Resize=size, Cover=True, Out=size, Interpolation=f)
        assert np.array_equal(got, want), (i, im.size, size)
    assert {0, 1, 2} <= longer


def test_a_side_of_no_pixel_has_one(rows, tmp_path):
    Image.fromarray(np.full((2, 500, 3), 9, np.uint8)).save(tmp_path / "a.png")
    row = rows.row(tmp_path / "a.png", Contain={}, Out=(41, 50), Fill=(1, 2, 3))
    assert (row == 9).all(2).sum() == 50 and (row[20] == 9).all()


@pytest.mark.parametrize("corner", [False, True])
def test_small_pictures_keep_their_size_without_upscale(rows, tmp_path, corner):
    rng = np.random.default_rng(2)
    for i in range(120):
        w, h = moderate(rng)
        im = Image.fromarray(picture(rng, w, h))
        im.save(tmp_path / "a.png")
        size = (int(rng.integers(20, 200)), int(rng.integers(20, 200)))
        try:
            made = im if w <= size[1] and h <= size[0] else ImageOps.contain(im, size[::-1], Image.BILINEAR)
        except ValueError:
            continue
        at = (0, 0) if corner else (round((size[0] - made.size[1]) * 0.5), round((size[1] - made.size[0]) * 0.5))
        want = as_array(padded_crop(made, size, (114, 114, 114), -at[0], -at[1]))
        got = rows.row(tmp_path / "a.png", Contain=dict(Corner=corner, Shrink=True), Out=size, Fill=(114, 114, 114))
        assert np.array_equal(got, want), (i, im.size, size)


def test_jpegs_are_contained(rows, tmp_path):
    rng = np.random.default_rng(3)
    for i in range(60):
        im = random_jpeg(rng, tmp_path / "a.jpg")
        if max(im.size) > 15 * min(im.size):
            continue
        size = SHAPES[2 + i % (len(SHAPES) - 2)]
        want = as_array(ImageOps.pad(im.convert("RGB"), size[::-1], Image.BILINEAR, color=(124, 116, 104)))
        assert np.array_equal(rows.row(tmp_path / "a.jpg", Contain={}, Out=size, Fill=(124, 116, 104)), want), (i, im.size, size)


def test_turned_jpegs_are_contained_as_they_are_seen(rows, tmp_path):
    exif = Image.Exif()
    for orientation in range(1, 9):
        exif[0x0112] = orientation
        Image.fromarray(picture(np.random.default_rng(4), 90, 50)).save(tmp_path / "a.jpg", quality=95, exif=exif)
        seen = ImageOps.exif_transpose(Image.open(tmp_path / "a.jpg"))
        want = as_array(ImageOps.pad(seen, (64, 40), Image.BILINEAR, color=(5, 6, 7)))
        assert np.array_equal(rows.row(tmp_path / "a.jpg", Contain={}, Out=(40, 64), Fill=(5, 6, 7), Orient=True), want), orientation


def test_affine_says_where_points_of_a_contained_picture_lie(rows, tmp_path):
    """A white square in a black picture: its corners, mapped, are the square's in the row."""
    x = np.zeros((100, 200, 3), np.uint8)
    x[20:60, 40:120] = 255
    Image.fromarray(x).save(tmp_path / "a.png")
    for corner, flip in ((False, 0), (False, 1), (True, 0), (True, 1)):
        row = rows.row(tmp_path / "a.png", Contain=dict(Corner=corner), Out=(80, 50), Flip=flip, Interpolation=NEAREST, Fill=(9, 9, 9))
        ys, xs = np.nonzero((row == 255).all(2))
        a = np.array(rows.info["affine"])
        (x0, y0), (x1, y1) = a[:, :2] @ (40, 20) + a[:, 2], a[:, :2] @ (120, 60) + a[:, 2]
        assert (min(x0, x1), max(x0, x1), y0, y1) == (xs.min(), xs.max() + 1, ys.min(), ys.max() + 1), (corner, flip)


def torchvisions(w, h, size, max_size):
    short, long = (w, h) if w <= h else (h, w)
    new_short, new_long = size, int(size * long / short)
    if max_size is not None and new_long > max_size:
        new_short, new_long = int(max_size * new_short / new_long), max_size
    return (new_short, new_long) if w <= h else (new_long, new_short)


def test_the_longer_side_is_bounded_as_torchvision_bounds_it(rows, tmp_path):
    rng, bounded = np.random.default_rng(5), 0
    for i in range(200):
        w, h = moderate(rng)
        im = Image.fromarray(picture(rng, w, h))
        im.save(tmp_path / "a.png")
        short = int(rng.integers(1, 80))
        most, f = short + int(rng.integers(1, 80)), (BILINEAR, BICUBIC)[i % 2]
        new = torchvisions(w, h, short, most)
        if min(new) < 1:
            continue
        bounded += max(new) == most
        made = im.resize(new, FILTERS[f])
        want = as_array(padded_crop(made, (most, most), (7, 8, 9), middle(new[1], most), middle(new[0], most)))
        got = rows.row(tmp_path / "a.png", ResizeShort=short, Longest=most, Out=(most, most), Interpolation=f, Fill=(7, 8, 9))
        assert np.array_equal(got, want), (i, im.size, short, most, new)
    assert 30 < bounded < 170


def test_a_letterbox_is_normalised(rows, tmp_path):
    Image.fromarray(np.full((10, 20, 3), 255, np.uint8)).save(tmp_path / "a.png")
    row = rows.row(tmp_path / "a.png", Contain={}, Out=(20, 20), DType=F32, Fill=(51, 102, 0))
    assert np.array_equal(row[0, 3], np.float32([51, 102, 0]) / np.float32(255)) and (row[10] == 1).all()


@pytest.mark.parametrize("mode", [RGB, INDEX])
def test_random_resize_is_torchvisions_on_our_draw(rows, tmp_path, mode):
    """The shorter side is randint(min, max), the largest never; then a random crop on fill."""
    rng, drawn = np.random.default_rng(6), set()
    for i in range(200):
        w, h = moderate(rng)
        im = Image.fromarray(picture(rng, w, h, 3 if mode == RGB else 1))
        im.save(tmp_path / "a.png")
        least, most = [(8, 9), (8, 12), (5, 90)][i % 3]
        short = least + int(uniforms(5, 0, i, SHORT, 0)[0] * (most - least))
        drawn.add((least, most, short))
        f, fill, size = NEAREST if mode == INDEX else BILINEAR, FILLS[mode][i % len(FILLS[mode])], (24, 31)
        made = im.resize(torchvisions(w, h, short, None), FILTERS[f])
        at = []
        for have, n, u in zip(made.size[::-1], size, uniforms(5, 0, i, 6, 0)):
            at.append(middle(have, n) if have < n else int(u * (have - n + 1)))
        want = as_array(padded_crop(made, size, fill, *at))
        got = rows.row(tmp_path / "a.png", RandomResize=dict(Min=least, Max=most), Out=size, Anywhere=True, Interpolation=f, Mode=mode, Fill=ours(fill), draw=dict(Seed=5, Index=i))
        assert np.array_equal(got, want), (i, im.size, short)
        again = rows.row(tmp_path / "a.png", RandomResize=dict(Min=least, Max=most), Out=size, Anywhere=True, Interpolation=f, Mode=mode, Fill=ours(fill),
                         draw=dict(Seed=5, Index=i, Replay=True))
        assert np.array_equal(again, got)
    assert {s for a, b, s in drawn if (a, b) == (8, 12)} == {8, 9, 10, 11} and {s for a, b, s in drawn if b == 9} == {8}


@pytest.mark.parametrize("mode", [RGB, INDEX])
def test_scale_jitter_is_torchvisions_on_our_draw(rows, tmp_path, mode):
    """In float32, as torch computes; then a random crop on fill."""
    rng, sizes = np.random.default_rng(8), set()
    for i in range(200):
        w, h = moderate(rng)
        im = Image.fromarray(picture(rng, w, h, 3 if mode == RGB else 1))
        im.save(tmp_path / "a.png")
        (low, high), target = [(0.1, 2.0), (1, 1), (0.3, 1.7)][i % 3], [(40, 40), (33, 60), (90, 17)][i // 3 % 3]
        scale = np.float32(low) + np.float32(uniforms(5, 0, i, SCALE, 0)[0]) * np.float32(high - low)
        r = np.float32(min(target[0] / h, target[1] / w)) * scale
        new = int(np.float32(w) * r), int(np.float32(h) * r)
        if min(new) < 1:
            continue
        sizes.add(new)
        f, fill, size = NEAREST if mode == INDEX else BICUBIC, FILLS[mode][i % len(FILLS[mode])], (24, 31)
        made = im.resize(new, FILTERS[f])
        at = [middle(have, n) if have < n else int(u * (have - n + 1)) for have, n, u in zip(made.size[::-1], size, uniforms(5, 0, i, 6, 0))]
        want = as_array(padded_crop(made, size, fill, *at))
        got = rows.row(tmp_path / "a.png", ScaleJitter=dict(Size=dict(H=target[0], W=target[1]), Scale=[low, high]), Out=size, Anywhere=True, Interpolation=f, Mode=mode, Fill=ours(fill),
                       draw=dict(Seed=5, Index=i))
        assert np.array_equal(got, want), (i, im.size, new)
    assert len(sizes) > 100


def test_a_mask_is_resized_and_cropped_with_its_picture(rows, tmp_path):
    """The mask holds the picture's own grey, so both rows are the same where both have the nearest pixel."""
    rng = np.random.default_rng(7)
    x = picture(rng, 70, 50, 1)
    Image.fromarray(x).save(tmp_path / "mask.png")
    Image.fromarray(np.repeat(x[..., None], 3, 2)).save(tmp_path / "a.png")
    for i in range(20):
        config = dict(RandomResize=dict(Min=20, Max=90), Out=(40, 40), Anywhere=True, Pad=3, Flip=0.5, Interpolation=NEAREST, draw=dict(Seed=5, Index=i))
        image, mask = rows.row(tmp_path / "a.png", **config), rows.row(tmp_path / "mask.png", Mode=INDEX, **config)
        assert np.array_equal(image[..., :1], mask), i
