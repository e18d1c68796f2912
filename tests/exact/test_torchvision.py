"""Rows against torchvision itself, as a torch user builds his transforms: the same bits. Skips where torch is not installed
(`make exact-torch` brings Debian's; bench/ brings a current one)."""

import itertools

import numpy as np
import pytest
from PIL import Image, ImageFile

from conftest import picture
from test_jpeg import BICUBIC, BILINEAR, F32, MEAN, STD, random_jpeg

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
from torchvision import transforms as T  # noqa: E402
from torchvision.datasets.folder import default_loader  # noqa: E402
from torchvision.transforms import functional as F  # noqa: E402

MODES = {BILINEAR: T.InterpolationMode.BILINEAR, BICUBIC: T.InterpolationMode.BICUBIC}
NCHW = 1
ImageFile.MAXBLOCK = 1 << 22  # Pillow 9's writer of progressive files needs the room
# ImageNet's most frequent sizes, and some that are smaller than the crop or far from square.
SIZES = [(500, 375), (375, 500), (500, 333), (640, 480), (224, 224), (256, 256), (257, 255), (90, 120), (1024, 61), (31, 700)]


def bits(x):
    return np.ascontiguousarray(x).tobytes()


@pytest.mark.parametrize("interpolation", [BILINEAR, BICUBIC])
@pytest.mark.parametrize("size", SIZES)
def test_the_evaluation_transform_gives_the_same_bits(rows, tmp_path, size, interpolation):
    path = tmp_path / "a.jpg"
    transform = T.Compose([T.Resize(256, MODES[interpolation]), T.CenterCrop(224), T.ToTensor(), T.Normalize(MEAN, STD)])
    for seed in range(4):
        random_jpeg(np.random.default_rng(seed), path, *size)
        want = transform(default_loader(str(path))).numpy()
        got = rows.row(path, ResizeShort=256, Out=(224, 224), Interpolation=interpolation, DType=F32, Layout=NCHW,
                       Normalize=dict(Mean=MEAN, Std=STD))
        assert bits(got) == bits(want)


def test_random_sizes_of_resize_and_crop_give_the_same_bytes(rows, tmp_path):
    rng = np.random.default_rng(21)
    path = tmp_path / "a.jpg"
    for i in range(120):
        im = random_jpeg(rng, path)
        if max(im.size) / min(im.size) > 20:
            continue
        short, out = int(rng.integers(1, 320)), tuple(int(v) for v in rng.integers(1, 300, 2))
        interpolation = int(rng.integers(2))
        want = T.Compose([T.Resize(short, MODES[interpolation]), T.CenterCrop(out), T.PILToTensor()])(default_loader(str(path)))
        got = rows.row(path, ResizeShort=short, Out=out, Interpolation=interpolation, Layout=NCHW)
        assert bits(got) == bits(want.numpy()), (i, im.size, short, out)


def test_random_resized_crop_gives_the_same_bytes_on_torchs_own_draws(rows, tmp_path):
    """torchvision draws box and flip; ours replays them (Draw.Replay)."""
    rng = np.random.default_rng(22)
    path = tmp_path / "a.jpg"
    torch.manual_seed(22)
    for i in range(150):
        if i % 10 == 0:
            random_jpeg(rng, path, *SIZES[i // 10 % len(SIZES)])
        im = default_loader(str(path))
        y, x, h, w = T.RandomResizedCrop.get_params(im, (0.08, 1.0), (3 / 4, 4 / 3))
        flip, interpolation = bool(torch.rand(1) < 0.5), int(rng.integers(2))
        want = F.resized_crop(im, y, x, h, w, (224, 224), MODES[interpolation])
        want = F.pil_to_tensor(F.hflip(want) if flip else want)
        got = rows.row(path, Random={}, Out=(224, 224), Interpolation=interpolation, Layout=NCHW,
                       draw=dict(Replay=True, Flip=flip, Box=dict(Y=y, X=x, H=h, W=w)))
        assert bits(got) == bits(want.numpy()), (i, im.size, (y, x, h, w), flip)


def test_the_training_transform_in_f32_gives_the_same_bits(rows, tmp_path):
    rng = np.random.default_rng(23)
    path = tmp_path / "a.jpg"
    torch.manual_seed(23)
    finish = T.Compose([T.ToTensor(), T.Normalize(MEAN, STD)])
    for _ in range(20):
        random_jpeg(rng, path, 500, 375)
        im = default_loader(str(path))
        y, x, h, w = T.RandomResizedCrop.get_params(im, (0.08, 1.0), (3 / 4, 4 / 3))
        want = finish(F.resized_crop(im, y, x, h, w, (224, 224), MODES[BILINEAR])).numpy()
        got = rows.row(path, Random={}, Out=(224, 224), DType=F32, Layout=NCHW, Normalize=dict(Mean=MEAN, Std=STD),
                       draw=dict(Replay=True, Box=dict(Y=y, X=x, H=h, W=w)))
        assert bits(got) == bits(want)


def test_decode_jpeg_of_torchvision_gives_the_same_bytes(rows, tmp_path):
    from torchvision.io import ImageReadMode, read_image
    rng = np.random.default_rng(24)
    path = tmp_path / "a.jpg"
    for i in range(40):
        im = random_jpeg(rng, path)
        want = read_image(str(path), ImageReadMode.RGB).numpy()
        got = rows.row(path, Resize=(im.size[1], im.size[0]), Layout=NCHW)
        assert bits(got) == bits(want), (i, im.size)


def test_cmyk_follows_torchvisions_loader(rows, tmp_path):
    """The loader's conversion is Pillow's."""
    rng = np.random.default_rng(25)
    path = tmp_path / "a.jpg"
    for _ in range(5):
        Image.fromarray(picture(rng, 300, 200, 4), "CMYK").save(path, "JPEG", quality=90)
        want = F.pil_to_tensor(T.CenterCrop(96)(T.Resize(128)(default_loader(str(path)))))
        assert bits(rows.row(path, ResizeShort=128, Out=(96, 96), Layout=NCHW)) == bits(want.numpy())


def test_colours_give_the_same_bytes_as_color_jitter_and_random_grayscale(rows, tmp_path):
    """ColorJitter with ranges of one factor each: what is random is the order, and the row is one of its 24 results."""
    rng = np.random.default_rng(26)
    path = tmp_path / "a.jpg"
    adjust = [F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue]
    names = ["Brightness", "Contrast", "Saturation", "Hue"]
    for i in range(30):
        im = T.CenterCrop((90, 120))(random_jpeg(rng, path, 150, 110).convert("RGB"))
        factors = [float(f) for f in (*rng.uniform(0, 2.5, 3), rng.uniform(-0.5, 0.5))]
        for one, (name, f) in enumerate(zip(names, factors)):
            jitter = [(1, 1), (1, 1), (1, 1), (0, 0)]
            jitter[one] = (f, f)
            torch.manual_seed(0)
            want = F.pil_to_tensor(T.ColorJitter(*jitter)(im)).numpy()
            drawn = float(torch.empty(1).uniform_(f, f))  # torch's factors are floats of 32 bits
            got = rows.row(path, Out=(90, 120), Layout=NCHW, Jitter={"P": 1, name: [drawn, drawn]})
            assert bits(got) == bits(want), (i, name, f)
        results = set()
        for order in itertools.permutations(range(4)):
            made = im
            for at in order:
                made = adjust[at](made, factors[at])
            results.add(bits(F.pil_to_tensor(made).numpy()))
        both = rows.row(path, Out=(90, 120), Layout=NCHW, draw=dict(Seed=1, Index=i), Jitter=dict(P=1, **{n: [f, f] for n, f in zip(names, factors)}))
        assert bits(both) in results, i
        assert bits(rows.row(path, Out=(90, 120), Layout=NCHW, Grayscale=1)) == bits(F.pil_to_tensor(T.RandomGrayscale(1)(im)).numpy())
        assert bits(rows.row(path, Out=(90, 120), Layout=NCHW, VFlip=1)) == bits(F.pil_to_tensor(T.RandomVerticalFlip(1)(im)).numpy())
