"""What is turned, moved and mirrored ahead of the crop, against the same calls of Pillow in the same order, on our draws: the same bytes. The
picture is decoded whole, or decoded and resized, then warped, and what comes out is resized and cropped as any picture is."""

import itertools

import numpy as np
import pytest
from PIL import Image, ImageOps

from tools import RowError
from test_augment import AFFINE, FILTERS, INDEX, RGB, ROTATION, affine, as_array, between, some
from test_jpeg import BICUBIC, BILINEAR, GRAY, NEAREST, centre_crop, random_jpeg, random_resized_crop, resize_short, uniforms
from test_perspective import moved

FLIP, VFLIP, QUARTERS, TURN, MAP, TILT = "Flip", "VFlip", "Quarters", "Rotation", "Affine", "Perspective"
ZOOM = "ZoomOut"
LATER, ZOOMED, ZOOMED_TO = 15, 18, 19  # of the draws
SIZES = [(1, 1), (1, 40), (40, 1), (2, 3), (5, 4), (33, 20), (20, 33), (64, 64), (71, 53)]  # (h, w)
ANGLES = [(-30, 30), (0, 360), (90, 90), (180, 180), (-90, -90), (0, 0), (270, 270), (45, 45)]
COLOUR = {RGB: (9, 99, 199), GRAY: (77, 0, 0), INDEX: (255, 0, 0)}


def fill_of(mode):
    return COLOUR[mode] if mode == RGB else COLOUR[mode][0]


class Drawn:
    """The steps as torchvision does them on a PIL image, with the draws of a row of seed 5."""

    def __init__(self, index, mode, resample, angles=(-30, 30), expand=False, center=None):
        self.index, self.mode, self.resample, self.angles, self.expand, self.center = index, mode, resample, angles, expand, center
        self.sides = (1.0, 3.7)
        self.translate, self.scale, self.shear = (0.1, 0.3), (0.6, 1.3), (-20, 20, -9, 9)

    def config(self, *steps):
        at = dict(X=self.center[0], Y=self.center[1]) if self.center else None
        common = dict(Interpolation=self.resample, Fill=COLOUR[self.mode])
        has = {
            TURN: dict(Rotation=dict(Degrees=self.angles, Expand=self.expand, **common, **(dict(Center=at) if at else {}))),
            MAP: dict(Affine=dict(Degrees=self.angles, Translate=self.translate, Scale=self.scale, ShearX=self.shear[:2], ShearY=self.shear[2:], **common)),
            TILT: dict(Perspective=dict(P=1, Scale=0.5, **common)),
            FLIP: dict(Flip=1), VFLIP: dict(VFlip=1), ZOOM: dict(ZoomOut=dict(P=0.8, Sides=self.sides, Fill=COLOUR[self.mode])),
        }
        return {k: v for step in steps for k, v in has[step].items()} | dict(Order=steps)

    def done(self, im, *steps):
        for step in steps:
            im = getattr(self, {TURN: "turn", MAP: "map", TILT: "tilt", FLIP: "flip", VFLIP: "vflip", ZOOM: "zoom"}[step])(im)
        return im

    def turn(self, im):
        angle = between(*self.angles, uniforms(5, 0, self.index, ROTATION, 0)[0])
        return im.rotate(angle, FILTERS[self.resample], expand=self.expand, center=self.center, fillcolor=fill_of(self.mode))

    def map(self, im):
        (turn, x), (y, big), (sx, sy) = (uniforms(5, 0, self.index, AFFINE, block) for block in range(3))
        w, h = im.size
        most = self.translate[0] * w, self.translate[1] * h
        return affine(im, FILTERS[self.resample], angle=between(*self.angles, turn), scale=between(*self.scale, big), center=(w * 0.5, h * 0.5),
                      translate=(round(between(-most[0], most[0], x)), round(between(-most[1], most[1], y))),
                      shear=(between(*self.shear[:2], sx), between(*self.shear[2:], sy)), fill=fill_of(self.mode))

    def tilt(self, im):
        return moved(im, 0.5, self.index, self.resample, COLOUR[self.mode] if self.mode == RGB else COLOUR[self.mode][:1])

    def zoom(self, im):
        """RandomZoomOut.make_params in torch's floats, and Pad."""
        whether, times = uniforms(5, 0, self.index, LATER, ZOOMED)
        if whether >= 0.8:
            return im
        f, low, high = np.float32, *self.sides
        times = f(low) + f(times) * f(high - low)
        sides = [int(f(n) * times) for n in im.size]
        out = Image.new(im.mode, sides, fill_of(self.mode))
        out.paste(im, tuple(int(f(new - old) * f(u)) for new, old, u in zip(sides, im.size, uniforms(5, 0, self.index, LATER, ZOOMED_TO))))
        return out

    def flip(self, im):
        return ImageOps.mirror(im)

    def vflip(self, im):
        return ImageOps.flip(im)


@pytest.mark.parametrize("mode", [RGB, GRAY, INDEX])
@pytest.mark.parametrize("expand", [False, True])
def test_a_turn_of_the_picture_is_pillows_rotate_and_then_its_crop(rows, tmp_path, mode, expand):
    """Also quarters of a turn, which expand by Pillow's shortcut, sides of odd length, and centers beyond the picture."""
    rng = np.random.default_rng(1)
    for i in range(216):
        size, resample = SIZES[i % len(SIZES)], NEAREST if mode == INDEX else (NEAREST, BILINEAR, BICUBIC)[i // 2 % 3]
        drawn = Drawn(i, mode, resample, ANGLES[i // 9 % 8], expand, [None, None, (0, 0), (3.5, -7.25)][i // 5 % 4])
        im = some(rng, size, 3 if mode == RGB else 1)
        im.save(tmp_path / "a.png")
        want = drawn.turn(im)
        out = (max(1, want.size[1] - 3), want.size[0] + 2)
        got = rows.row(tmp_path / "a.png", Out=out, Mode=mode, Layout=i & 1 if mode == RGB else 0, Ahead=1, draw=dict(Seed=5, Index=i), **drawn.config(TURN))
        want = as_array(centre_crop(want, *out))
        assert np.array_equal(got, want.transpose(2, 0, 1) if mode == RGB and i & 1 else want), (i, size, resample, drawn.angles, drawn.center)


@pytest.mark.parametrize("mode", [RGB, GRAY, INDEX])
def test_a_picture_in_a_larger_one_is_pasted_there(rows, tmp_path, mode):
    """The map of points leads to where it lies, in the middle of which the row is."""
    rng, grown = np.random.default_rng(7), 0
    for i in range(90):
        size, drawn = SIZES[i % len(SIZES)], Drawn(i, mode, NEAREST)
        drawn.sides = [(1, 4), (1.5, 1.5), (3.3, 16)][i // 9 % 3]
        im = some(rng, size, 3 if mode == RGB else 1)
        im.save(tmp_path / "a.png")
        want = drawn.zoom(im)
        grown += want.size != im.size
        got = rows.row(tmp_path / "a.png", Out=want.size[::-1], Mode=mode, Layout=i & 1 if mode == RGB else 0, Ahead=1, draw=dict(Seed=5, Index=i), **drawn.config(ZOOM))
        want = as_array(want)
        assert np.array_equal(got, want.transpose(2, 0, 1) if mode == RGB and i & 1 else want), (i, size)
        (a, b, x), (c, d, y) = rows.info["affine"]
        assert (a, b, c, d) == (1, 0, 0, 1)
        assert np.array_equal(want[int(y) : int(y) + size[0], int(x) : int(x) + size[1]], as_array(im))
    assert grown > 45


@pytest.mark.parametrize("expand", [False, True])
def test_turned_then_resized_and_cropped(rows, tmp_path, expand):
    """[RandomRotation, Resize, CenterCrop] and [RandomRotation, Resize to a size] of JPEGs, which are then decoded whole."""
    rng = np.random.default_rng(2)
    for i in range(60):
        im = random_jpeg(rng, tmp_path / "a.jpg", progressive=False)
        drawn = Drawn(i, RGB, (NEAREST, BILINEAR, BICUBIC)[i % 3], ANGLES[i // 3 % 8], expand)
        turned = drawn.turn(im)
        got = rows.row(tmp_path / "a.jpg", ResizeShort=40, Out=(32, 36), Ahead=1, draw=dict(Seed=5, Index=i), **drawn.config(TURN))
        assert np.array_equal(got, as_array(centre_crop(resize_short(turned, 40, Image.BILINEAR), 32, 36))), (i, im.size)
        got = rows.row(tmp_path / "a.jpg", Resize=(50, 30), Interpolation=BICUBIC, Ahead=1, draw=dict(Seed=5, Index=i), **drawn.config(TURN))
        assert np.array_equal(got, as_array(turned.resize((30, 50), Image.BICUBIC))), (i, im.size)


@pytest.mark.parametrize("expand", [False, True])
def test_resized_then_turned_and_cropped(rows, tmp_path, expand):
    """[Resize, RandomRotation, CenterCrop], and the crop of a random place."""
    rng = np.random.default_rng(3)
    for i in range(60):
        im = random_jpeg(rng, tmp_path / "a.jpg", progressive=False)
        drawn = Drawn(i, RGB, (NEAREST, BILINEAR, BICUBIC)[i % 3], ANGLES[i // 3 % 8], expand)
        turned = drawn.turn(resize_short(im, 40, Image.BILINEAR))
        zoomed = drawn.zoom(resize_short(im, 40, Image.BILINEAR))
        got = rows.row(tmp_path / "a.jpg", ResizeShort=40, Out=(32, 36), Resized=1, draw=dict(Seed=5, Index=i), **drawn.config(ZOOM))
        assert np.array_equal(got, as_array(centre_crop(zoomed, 32, 36))), (i, im.size)
        config = dict(ResizeShort=40, Resized=1, draw=dict(Seed=5, Index=i), **drawn.config(TURN))
        got = rows.row(tmp_path / "a.jpg", Out=(32, 36), **config)
        assert np.array_equal(got, as_array(centre_crop(turned, 32, 36))), (i, im.size)
        got = rows.row(tmp_path / "a.jpg", Out=(32, 36), Anywhere=True, **config)
        y, x = (int(u * (n + 1)) for u, n in zip(uniforms(5, 0, i, 6, 0), (turned.size[1] - 32, turned.size[0] - 36)))
        assert np.array_equal(got, as_array(turned)[y : y + 32, x : x + 36]), (i, im.size)
        got = rows.row(tmp_path / "a.jpg", Resize=(50, 30), Out=(32, 36), Resized=1, draw=dict(Seed=5, Index=i), **drawn.config(TURN))
        assert np.array_equal(got, as_array(centre_crop(drawn.turn(im.resize((30, 50), Image.BILINEAR)), 32, 36))), (i, im.size)


@pytest.mark.parametrize("mode", [RGB, GRAY, INDEX])
def test_steps_ahead_in_any_order_then_a_random_resized_crop(rows, tmp_path, mode):
    """Each pair of them, on the picture as the one before left it: a mask's nearest pixels, too."""
    rng = np.random.default_rng(4)
    for i, steps in enumerate(itertools.permutations([FLIP, VFLIP, TURN, MAP, TILT, ZOOM], 2)):
        resample = NEAREST if mode == INDEX else (NEAREST, BILINEAR, BICUBIC)[i % 3]
        drawn = Drawn(i, mode, resample, expand=i % 2 == 1 and TURN in steps)
        im = some(rng, (71, 53), 3 if mode == RGB else 1)
        im.save(tmp_path / "a.png")
        want = drawn.done(im, *steps)
        (y, x, h, w), _ = random_resized_crop(*want.size, (0.3, 1), (3 / 4, 4 / 3), 5, 0, i)
        filter = NEAREST if mode == INDEX else BILINEAR
        got = rows.row(tmp_path / "a.png", Random=dict(Scale=[0.3, 1]), Out=(24, 24), Mode=mode, Ahead=2, Interpolation=filter, draw=dict(Seed=5, Index=i), **drawn.config(*steps))
        assert np.array_equal(got, as_array(want.crop((x, y, x + w, y + h)).resize((24, 24), FILTERS[filter]))), (i, steps)
        assert rows.info["box"] == dict(y=y, x=x, h=h, w=w)


def test_ahead_and_behind_a_resize_and_after_the_crop(rows, tmp_path):
    """Three places in one list: a turn that expands, a resize, a map, a crop, and a perspective and a flip of the row."""
    rng = np.random.default_rng(5)
    for i in range(40):
        im = some(rng, SIZES[i % len(SIZES)])
        im.save(tmp_path / "a.png")
        drawn = Drawn(i, RGB, (NEAREST, BILINEAR, BICUBIC)[i % 3], expand=True)
        want = drawn.map(resize_short(drawn.turn(im), 40, Image.BILINEAR))
        want = drawn.done(centre_crop(want, 36, 36), TILT, FLIP)
        got = rows.row(tmp_path / "a.png", ResizeShort=40, Out=(36, 36), Ahead=1, Resized=1, draw=dict(Seed=5, Index=i), **drawn.config(TURN, MAP, TILT, FLIP))
        assert np.array_equal(got, as_array(want)), i


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_comes_first(rows, tmp_path, orientation):
    rng = np.random.default_rng(6)
    exif = Image.Exif()
    exif[0x0112] = orientation
    drawn = Drawn(3, RGB, BILINEAR, expand=True)
    random_jpeg(rng, tmp_path / "a.jpg", 61, 40, exif=exif)
    im = ImageOps.exif_transpose(Image.open(tmp_path / "a.jpg"))
    got = rows.row(tmp_path / "a.jpg", ResizeShort=40, Out=(36, 36), Ahead=1, Orient=True, draw=dict(Seed=5, Index=3), **drawn.config(TURN))
    assert np.array_equal(got, as_array(centre_crop(resize_short(drawn.turn(im), 40, Image.BILINEAR), 36, 36)))


@pytest.mark.parametrize("format", ["webp", "gif", "tiff", "bmp"])
def test_other_formats(rows, tmp_path, format):
    im = some(np.random.default_rng(7), (61, 40))
    im.save(tmp_path / f"a.{format}")
    im = Image.open(tmp_path / f"a.{format}").convert("RGB")
    drawn = Drawn(3, RGB, BILINEAR, expand=True)
    got = rows.row(tmp_path / f"a.{format}", ResizeShort=40, Out=(36, 36), Ahead=1, draw=dict(Seed=5, Index=3), **drawn.config(TURN))
    assert np.array_equal(got, as_array(centre_crop(resize_short(drawn.turn(im), 40, Image.BILINEAR), 36, 36)))


def test_a_point_is_where_the_row_has_it(rows, tmp_path):
    """A dot of 5 x 5 pixels is found again at the point that the map gives, whatever was done and where."""
    found = 0
    for i in range(40):
        at = np.random.default_rng(i).integers(50, 150, 2)
        x = np.zeros((200, 240, 3), np.uint8)
        x[at[1] - 2 : at[1] + 3, at[0] - 2 : at[0] + 3] = 255
        Image.fromarray(x).save(tmp_path / "a.png")
        d = Drawn(i, RGB, BILINEAR, ANGLES[i % 2], expand=i % 3 > 0)
        config = d.config(TURN, FLIP, MAP) | dict(Rotation=dict(Degrees=ANGLES[i % 2], Expand=i % 3 > 0, Interpolation=BILINEAR))
        config["Affine"]["Fill"] = (0, 0, 0)
        got = rows.row(tmp_path / "a.png", ResizeShort=150, Out=(140, 140), Ahead=2, Resized=1, draw=dict(Seed=5, Index=i), **config)[..., 0].astype(float)
        a = np.array(rows.info["affine"])
        want = a[:, :2] @ (at + 0.5) + a[:, 2]
        if not (5 < want[0] < 135 and 5 < want[1] < 135):
            continue
        ys, xs = np.mgrid[0:140, 0:140] + 0.5
        seen = (got * xs).sum() / got.sum(), (got * ys).sum() / got.sum()
        assert np.abs(np.array(seen) - want).max() < 0.6, (i, seen, want)
        found += 1
    assert found > 20
    drawn = Drawn(3, RGB, BILINEAR)
    rows.row(tmp_path / "a.png", ResizeShort=150, Out=(140, 140), Ahead=1, Resized=1, draw=dict(Seed=5, Index=3), **drawn.config(TILT, MAP))
    assert rows.info["affine"] == [[0, 0, 0], [0, 0, 0]], "a perspective is no such map, whatever comes behind it"


def test_what_becomes_too_large_is_refused_before_it_is_made(rows, tmp_path):
    Image.fromarray(np.zeros((100, 100), np.uint8)).save(tmp_path / "a.png")
    turn = Drawn(0, RGB, NEAREST, (45, 45), expand=True).config(TURN)
    assert rows.row(tmp_path / "a.png", Out=(142, 142), Ahead=1, MaxPixels=142 * 142, **turn).any()
    with pytest.raises(RowError, match="png 100x100: too many pixels: ahead of its crop it is 142 x 142: sides of at most 16384, want at most 20163 pixels; raise image.max_pixels") as e:
        rows.row(tmp_path / "a.png", Out=(8, 8), Ahead=1, MaxPixels=142 * 142 - 1, **turn)
    assert e.value.cause == "too_many_pixels"
    zoom = dict(Ahead=1, Order=[ZOOM], ZoomOut=dict(P=1, Sides=[5, 5]))
    with pytest.raises(RowError, match="ahead of its crop it is 500 x 500"):
        rows.row(tmp_path / "a.png", Out=(8, 8), MaxPixels=100_000, **zoom)
    Image.fromarray(np.zeros((1, 16385), np.uint8)).save(tmp_path / "a.png")
    with pytest.raises(RowError, match="ahead of its crop it is 16385 x 1:"):
        rows.row(tmp_path / "a.png", Out=(8, 8), Ahead=1, **turn)
    with pytest.raises(RowError, match="ahead of its crop it is 163850 x 10:"):
        rows.row(tmp_path / "a.png", ResizeShort=10, Out=(8, 8), Resized=1, **turn)
    assert rows.row(tmp_path / "a.png", ResizeShort=10, Out=(8, 8)).shape == (8, 8, 3)
