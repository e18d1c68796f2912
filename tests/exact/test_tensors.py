"""torchvision's v2 on tensors of bytes: the same bytes as torch 2.15's interpolate(antialias=True) and torchvision 0.29's resize and resized_crop of u8, and as what changes their
colours, which make test has not (make exact has; the digests of core/media/testdata/torch.tsv are looked at without it)."""

import itertools

import numpy as np
import pytest
from PIL import Image, ImageFile

from conftest import picture
from tools import RowError
from shapes import made, shapes
from test_jpeg import GRAY, random_jpeg
from test_augment import NCHW, RGB

torch = pytest.importorskip("torch")
v2 = pytest.importorskip("torchvision.transforms.v2")
from torch.nn.functional import interpolate  # noqa: E402
from torchvision.transforms.v2 import functional as F  # noqa: E402

ImageFile.MAXBLOCK = 1 << 22  # Pillow's writer of progressive files needs the room
BILINEAR, BICUBIC, LANCZOS = 12, 13, 14
PICKED = {"nearest": 11, "nearest-exact": 15}
FILTERS = {BILINEAR: "bilinear", BICUBIC: "bicubic", LANCZOS: "lanczos"}


def tensor(pixels):
    """[C, H, W] u8 of [H, W, C] or [H, W]."""
    return torch.from_numpy(np.ascontiguousarray(pixels.reshape(*pixels.shape[:2], -1).transpose(2, 0, 1)))


def channels_last(image):
    return image[None].contiguous(memory_format=torch.channels_last)[0]


@pytest.mark.parametrize("f", FILTERS)
def test_resizing_is_torchs(rows, tmp_path, f):
    for i, (w, h, ow, oh) in enumerate(shapes(700, 2)):
        channels = 1 + 2 * (i // 7 % 2)
        pixels = made(i, w, h, channels)
        Image.fromarray(pixels).save(tmp_path / "a.png")
        got = rows.row(tmp_path / "a.png", Resize=(oh, ow), Interpolation=f, Mode=RGB if channels == 3 else GRAY, Layout=NCHW)
        image = tensor(pixels)
        for of in (image, channels_last(image)):
            want = interpolate(of[None], (oh, ow), mode=FILTERS[f], antialias=True)[0]
            assert np.array_equal(got, want), (i, (w, h), (ow, oh), channels)
            assert torch.equal(F.resize(of, [oh, ow], FILTERS[f]), want)


@pytest.mark.parametrize("f", FILTERS)
def test_resized_crops_of_jpegs_are_torchvisions(rows, tmp_path, f):
    """On torchvision's own draws, mirrored, which is done to the whole."""
    rng, crop = np.random.default_rng(3), v2.RandomResizedCrop((96, 112))
    torch.manual_seed(3)
    for i in range(150):
        image = F.pil_to_tensor(random_jpeg(rng, tmp_path / "a.jpg").convert("RGB"))
        y, x, h, w = crop.make_params([image]).values()
        want = F.resized_crop(image, y, x, h, w, [96, 112], FILTERS[f])
        got = rows.row(tmp_path / "a.jpg", Random={}, Out=(96, 112), Interpolation=f, Layout=NCHW, draw=dict(Replay=True, Flip=i % 2 == 1, Box=dict(Y=y, X=x, H=h, W=w)))
        assert np.array_equal(got, F.horizontal_flip(want) if i % 2 else want), (i, image.shape, (y, x, h, w))


@pytest.mark.parametrize("f", FILTERS)
def test_a_crop_of_what_was_resized_is_torchvisions(rows, tmp_path, f):
    """The coefficients are as fine as those of the whole picture, whatever of it is wanted."""
    rng = np.random.default_rng(4)
    for i in range(150):
        im = random_jpeg(rng, tmp_path / "a.jpg").convert("RGB")
        if max(im.size) / min(im.size) > 20:
            continue
        short, out = int(rng.integers(1, 320)), [int(v) for v in rng.integers(1, 300, 2)]
        want = F.center_crop(F.resize(F.pil_to_tensor(im), [short], FILTERS[f]), out)
        got = rows.row(tmp_path / "a.jpg", ResizeShort=short, Out=tuple(out), Interpolation=f, Layout=NCHW)
        assert np.array_equal(got, want), (i, im.size, short, out)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_the_nearest_is_torchs(rows, tmp_path, mode):
    """Which of two pixels is the nearest where one is half way is said by floats of 32 bits."""
    for i, (w, h, ow, oh) in enumerate(shapes(700, 6)):
        channels = 1 + 2 * (i // 7 % 2)
        pixels = made(i, w, h, channels)
        Image.fromarray(pixels).save(tmp_path / "a.png")
        got = rows.row(tmp_path / "a.png", Resize=(oh, ow), Interpolation=PICKED[mode], Mode=RGB if channels == 3 else GRAY, Layout=NCHW)
        image = tensor(pixels)
        for of in (image, channels_last(image)):
            assert np.array_equal(got, F.resize(of, [oh, ow], mode)), (i, (w, h), (ow, oh), channels)


def test_they_differ_from_pillows(rows, tmp_path):
    """By 1 for the most part, or there would be no use in them."""
    Image.fromarray(picture(np.random.default_rng(5), 301, 200)).save(tmp_path / "a.png")
    for f, pillows in ((BILINEAR, 0), (BICUBIC, 1), (LANCZOS, 3)):
        ours, theirs = (rows.row(tmp_path / "a.png", Resize=(128, 128), Interpolation=k).astype(int) for k in (f, pillows))
        assert (ours != theirs).any() and np.abs(ours - theirs).max() <= 1


def hue(f):
    return f % 1 - 0.5


def drawn(f):
    """torchvision's factors are floats of 32 bits."""
    return float(np.float32(f))


JITTER, DISTORT, GRAYSCALE, SHARPNESS, AUTOCONTRAST = "Jitter", "Distort", "Grayscale", "Sharpness", "Autocontrast"
FACTORS = (0.0, 0.001, 0.25, 0.4999, 0.6, 1 / 3, 0.9, 0.999, 1.0, 1.001, 1.1, 1.3, 1.7, 2.0, 2.5, 5.0, 17.3, 999.0)
COLOURS = {
    "brightness": (F.adjust_brightness, lambda f: dict(Jitter=dict(P=1, Brightness=[f, f]), ByTorch=[JITTER])),
    "contrast": (lambda image, f: F.adjust_contrast(image, drawn(f)), lambda f: dict(Jitter=dict(P=1, Contrast=[f, f]), ByTorch=[JITTER])),
    "saturation": (lambda image, f: F.adjust_saturation(image, drawn(f)), lambda f: dict(Jitter=dict(P=1, Saturation=[f, f]), ByTorch=[JITTER])),
    "hue": (lambda image, f: F.adjust_hue(image, hue(f)), lambda f: dict(Jitter=dict(P=1, Hue=[hue(f), hue(f)]), ByTorch=[JITTER])),
    "sharpness": (F.adjust_sharpness, lambda f: dict(Sharpness=dict(P=1, Factor=f), ByTorch=[SHARPNESS])),
    "autocontrast": (lambda image, f: F.autocontrast(image), lambda f: dict(Autocontrast=1, ByTorch=[AUTOCONTRAST])),
    "grayscale": (lambda image, f: F.rgb_to_grayscale(image, 3), lambda f: dict(Grayscale=1, ByTorch=[GRAYSCALE])),
    "equalize": (lambda image, f: F.equalize(image), lambda f: dict(Equalize=1)),
}


def pictures_of_colours(rng):
    """Any colours, greys, few values, smooth ones, and of all sizes from one pixel on."""
    for i in range(90):
        w, h = [(int(rng.integers(1, 90)), int(rng.integers(1, 90))), (200, 300), (int(rng.integers(1, 5)), int(rng.integers(1, 5)))][i % 3]
        pixels = rng.integers(0, 256, (h, w, 3), np.uint8)
        yield [pixels, pixels // 40 * 40, picture(rng, w, h), pixels[..., :1].repeat(3, -1), (pixels >> 7) * 255, pixels // 3 + 50][i % 6]


# Of contrast torch multiplies and adds in one step, but for some of the last values, which are less than two vectors: by 1.
@pytest.mark.parametrize("name", COLOURS)
@pytest.mark.parametrize("channels", [3, 1])
def test_colours_are_torchvisions(rows, tmp_path, name, channels):
    if channels == 1 and name in ("saturation", "hue", "grayscale"):
        pytest.skip("no colours")
    theirs, ours = COLOURS[name]
    for i, pixels in enumerate(pictures_of_colours(np.random.default_rng(6))):
        pixels = pixels if channels == 3 else np.ascontiguousarray(pixels[..., 0])
        Image.fromarray(pixels).save(tmp_path / "a.png")
        for k in range(3):
            f = FACTORS[(3 * i + k) % len(FACTORS)]
            got = rows.row(tmp_path / "a.png", Out=pixels.shape[:2], Mode=RGB if channels == 3 else GRAY, Layout=(i + k) % 2, **ours(f))
            want = theirs(tensor(pixels), f).numpy()
            differ = np.flatnonzero((got if (i + k) % 2 == NCHW else got.transpose(2, 0, 1)) != want)
            assert not differ.size or name == "contrast" and differ[0] >= want.size // 16 * 16, (i, pixels.shape, f)


def test_a_distortion_is_torchvisions(rows, tmp_path):
    """But for the order of contrast and saturation, and the channels' places, which are drawn."""
    seen = set()
    for i in range(60):
        pixels = picture(np.random.default_rng(i), 70, 50)
        Image.fromarray(pixels).save(tmp_path / "a.png")
        got = rows.row(tmp_path / "a.png", Out=(50, 70), Layout=NCHW, draw=dict(Seed=2, Index=i), ByTorch=[DISTORT],
                       Distort=dict(P=1, Brightness=[1.1, 1.1], Contrast=[0.6, 0.6], Saturation=[1.4, 1.4], Hue=[0.04, 0.04]))
        image = F.adjust_brightness(tensor(pixels), 1.1)
        first = F.adjust_hue(F.adjust_saturation(F.adjust_contrast(image, drawn(0.6)), drawn(1.4)), 0.04)
        last = F.adjust_contrast(F.adjust_hue(F.adjust_saturation(image, drawn(1.4)), 0.04), drawn(0.6))
        found = [(made is last, order) for made in (first, last) for order in itertools.permutations(range(3)) if np.array_equal(got, made[list(order)])]
        assert found, i
        seen.update(found)
    assert len(seen) == 12


def test_what_a_pil_image_has_is_another(rows, tmp_path):
    """But for brightness and equalize, of which both have the same numbers."""
    pixels = picture(np.random.default_rng(9), 301, 200)
    less = pixels // 5 * 2 + 50
    less[0, :2] = [[50] * 3, [152] * 3]  # 102 apart: autocontrast differs where that is whole fifths of 255
    Image.fromarray(pixels).save(tmp_path / "0.png")
    Image.fromarray(less).save(tmp_path / "1.png")
    for name, (_, ours) in COLOURS.items():
        same = True
        for i, f in itertools.product(range(2), FACTORS):
            config = ours(f)
            of_pillow = rows.row(tmp_path / f"{i}.png", Out=(200, 301), **{k: v for k, v in config.items() if k != "ByTorch"})
            same = same and np.array_equal(rows.row(tmp_path / f"{i}.png", Out=(200, 301), **config), of_pillow)
        assert same == (name in ("brightness", "equalize")), name
    with pytest.raises(RowError, match="equalize: by torch: want a step whose numbers on a tensor are not those on a picture"):
        rows.row(tmp_path / "0.png", Out=(8, 8), Equalize=1, ByTorch=["Equalize"])
