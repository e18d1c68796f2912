"""torchvision's v2 on tensors of bytes: the same bytes as torch 2.15's interpolate(antialias=True) and torchvision 0.29's resize and resized_crop of u8, which make test has not
(make exact has; the digests of core/media/testdata/torch.tsv are looked at without it)."""

import numpy as np
import pytest
from PIL import Image

from conftest import picture
from shapes import made, shapes
from test_jpeg import GRAY, random_jpeg
from test_augment import NCHW, RGB

torch = pytest.importorskip("torch")
v2 = pytest.importorskip("torchvision.transforms.v2")
from torch.nn.functional import interpolate  # noqa: E402
from torchvision.transforms.v2 import functional as F  # noqa: E402

BILINEAR, BICUBIC, LANCZOS = 12, 13, 14
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


def test_they_differ_from_pillows(rows, tmp_path):
    """By 1 for the most part, or there would be no use in them."""
    Image.fromarray(picture(np.random.default_rng(5), 301, 200)).save(tmp_path / "a.png")
    for f, pillows in ((BILINEAR, 0), (BICUBIC, 1), (LANCZOS, 3)):
        ours, theirs = (rows.row(tmp_path / "a.png", Resize=(128, 128), Interpolation=k).astype(int) for k in (f, pillows))
        assert (ours != theirs).any() and np.abs(ours - theirs).max() <= 1
