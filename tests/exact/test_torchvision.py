"""Rows against torchvision itself, as a torch user builds his transforms: the same bits. Skips where torch is not installed
(`make exact-torch` brings Debian's; bench/ brings a current one)."""

import inspect
import itertools

import numpy as np
import pytest
from PIL import Image, ImageFile

from conftest import picture
from test_augment import AFFINE, AUGMENT, AUTO, BLUR, OPERATIONS, RAND, ROTATION, SIGNED, WIDE, between, linspace, magnitudes
from test_elastic import displacement, numbers
from test_jpeg import BICUBIC, BILINEAR, F16, F32, MEAN, NEAREST, STD, random_jpeg, uniforms
from test_perspective import corners

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


def defined(monkeypatch):
    """Have torchvision's magnitudes be those of the definition (docs/transforms.md): the last bit of torch.linspace depends on torch's build and on the
    processor, and with it a factor, or the pixels that a picture moves."""
    monkeypatch.setattr(torch, "linspace", lambda *of: torch.tensor(linspace(*of), dtype=torch.float32))


class Draws:
    """torch's draws in torchvision's augmentations, replaced by ours of one row."""

    def __init__(self, index):
        self.index, self.block, self.op = index, 0, None

    def randint(self, high, size, **_):
        if high == len(OPERATIONS):
            self.op, self.block = uniforms(5, 0, self.index, AUGMENT, self.block), self.block + 1
            return torch.tensor([int(self.op[0] * high)])
        if high == 2:
            return torch.tensor([int(self.op[1] < 0.5)])
        return torch.tensor([int(uniforms(5, 0, self.index, AUGMENT, 1)[0] * high)])

    def policy(self, number):
        chances = [uniforms(5, 0, self.index, AUGMENT, n + 1) for n in range(2)]
        signs = torch.tensor([int(u[1] >= 0.5) for u in chances])
        return int(uniforms(5, 0, self.index, AUGMENT, 0)[0] * number), torch.tensor([u[0] for u in chances], dtype=torch.float64), signs


@pytest.mark.parametrize("kind,bins,transform", [(RAND, 31, T.RandAugment), (WIDE, 31, T.TrivialAugmentWide), (RAND, 10, T.AutoAugment)])
def test_magnitudes_are_torchvisions(kind, bins, transform, monkeypatch):
    """Each of torchvision's formulas, to the bit; with torch's own linspace within one last bit of a float."""
    for size in [(1, 1), (32, 32), (90, 120), (224, 224), (500, 333)]:
        build = transform()._augmentation_space(bins, *([] if kind == WIDE else [size]))
        with monkeypatch.context() as patch:
            defined(patch)
            space = transform()._augmentation_space(bins, *([] if kind == WIDE else [size]))
        assert set(space) | {"Identity", "Invert"} == set(OPERATIONS) | {"Invert"}
        for name, (theirs, signed) in space.items():
            assert signed == (name in SIGNED)
            if theirs.ndim:
                ours, of_build = np.array(magnitudes(kind, name, bins, size), np.float32), build[name][0].numpy().astype(np.float32)
                assert np.array_equal(ours, theirs.numpy().astype(np.float32)), (name, size)
                assert np.all(np.abs(ours - of_build) <= np.spacing(np.maximum(ours, of_build))), (name, ours, of_build)


@pytest.mark.parametrize("interpolation", [NEAREST, BILINEAR])
def test_augmentations_are_torchvisions_on_our_draws(rows, tmp_path, monkeypatch, interpolation):
    rng, filters = np.random.default_rng(27), {NEAREST: T.InterpolationMode.NEAREST, BILINEAR: T.InterpolationMode.BILINEAR}
    path = tmp_path / "a.png"
    for i in range(600):
        im = Image.fromarray(picture(rng, *[(60, 50), (64, 64), (224, 224)][i % 3]))
        im.save(path)
        draws = Draws(i)
        defined(monkeypatch)
        monkeypatch.setattr(torch, "randint", draws.randint)
        monkeypatch.setattr(T.AutoAugment, "get_params", staticmethod(draws.policy))
        policies = list(T.AutoAugmentPolicy)
        transform, config = [
            (T.RandAugment(2, 9, 31, filters[interpolation]), dict(Kind=RAND, Ops=2, Magnitude=9, Bins=31)),
            (T.TrivialAugmentWide(31, filters[interpolation]), dict(Kind=WIDE, Bins=31)),
            (T.AutoAugment(policies[i // 4 % 3], filters[interpolation]), dict(Kind=AUTO, Policy=i // 4 % 3)),
            (T.RandAugment(3, 27, 31, filters[interpolation]), dict(Kind=RAND, Ops=3, Magnitude=27, Bins=31)),
        ][i % 4]
        made = transform(im)
        monkeypatch.undo()
        asked = dict(Layout=NCHW, Augment=dict(config, Interpolation=interpolation), draw=dict(Seed=5, Index=i))
        assert bits(rows.row(path, Out=im.size[::-1], **asked)) == bits(F.pil_to_tensor(made).numpy()), (i, config)
        if i % 5 == 0:  # ahead of a crop, and of a resize
            want = F.pil_to_tensor(T.CenterCrop(40)(T.Resize(48)(made)))
            assert bits(rows.row(path, ResizeShort=48, Out=(40, 40), Order=["Augment"], Ahead=1, **asked)) == bits(want.numpy()), (i, config)


def test_policies_are_torchvisions(rows, tmp_path, monkeypatch):
    """Every pair of operations of every policy, each operation alone and both."""
    rng = np.random.default_rng(28)
    path, seen = tmp_path / "a.png", set()
    for i in range(3 * 400):
        policy = i % 3
        draws = Draws(i)
        which, chances, signs = draws.policy(25)
        pairs = T.AutoAugment(list(T.AutoAugmentPolicy)[policy]).policies[which]
        what = (policy, which, *(bool(c < p) for c, (_, p, _) in zip(chances, pairs)))
        if what in seen:
            continue
        seen.add(what)
        im = Image.fromarray(picture(rng, 40, 30))
        im.save(path)
        defined(monkeypatch)
        monkeypatch.setattr(T.AutoAugment, "get_params", staticmethod(draws.policy))
        want = F.pil_to_tensor(T.AutoAugment(list(T.AutoAugmentPolicy)[policy])(im))
        monkeypatch.undo()
        got = rows.row(path, Out=(30, 40), Layout=NCHW, Augment=dict(Kind=AUTO, Policy=policy, Interpolation=NEAREST), draw=dict(Seed=5, Index=i))
        assert bits(got) == bits(want.numpy()), (what, pairs, signs)
    assert len({s[:2] for s in seen}) == 75


def test_blur_is_torchvisions_within_1(rows, tmp_path):
    rng = np.random.default_rng(29)
    path, off, of = tmp_path / "a.png", 0, 0
    for i in range(60):
        size, taps = [(60, 50), (64, 64), (224, 224)][i % 3], int(rng.choice([3, 5, 9, 23]))
        im = Image.fromarray(picture(rng, *size))
        im.save(path)
        sigma = 0.1 + uniforms(5, 0, i, BLUR, 0)[1] * 1.9
        want = F.pil_to_tensor(F.gaussian_blur(im, [taps, taps], [sigma, sigma])).numpy().astype(int)
        got = rows.row(path, Out=size[::-1], Layout=NCHW, Blur=dict(P=1, Size=taps, Sigma=[0.1, 2]), draw=dict(Seed=5, Index=i))
        assert np.abs(got - want).max() <= 1, (i, taps, sigma)
        off, of = off + int((got != want).sum()), of + got.size
    assert off < of / 10000, f"{off} of {of} values are 1 off"


def test_tones_and_sharpness_are_torchvisions(rows, tmp_path):
    rng = np.random.default_rng(30)
    path = tmp_path / "a.png"
    for i in range(40):
        im = Image.fromarray(picture(rng, 60, 50))
        im.save(path)
        threshold, bits_left, factor = float(rng.integers(0, 257)), int(rng.integers(1, 9)), float(rng.uniform(0, 4))
        for transform, config in (
            (T.RandomSolarize(threshold, p=1), dict(Solarize=dict(P=1, Threshold=threshold))),
            (T.RandomPosterize(bits_left, p=1), dict(Posterize=dict(P=1, Bits=bits_left))),
            (T.RandomAdjustSharpness(factor, p=1), dict(Sharpness=dict(P=1, Factor=factor))),
            (T.RandomInvert(1), dict(Invert=1)), (T.RandomAutocontrast(1), dict(Autocontrast=1)), (T.RandomEqualize(1), dict(Equalize=1)),
        ):
            assert bits(rows.row(path, Out=(50, 60), Layout=NCHW, **config)) == bits(F.pil_to_tensor(transform(im)).numpy()), (i, config)


def test_random_rotation_and_random_affine_are_torchvisions_on_our_draws(rows, tmp_path, monkeypatch):
    rng, filters = np.random.default_rng(31), {NEAREST: T.InterpolationMode.NEAREST, BILINEAR: T.InterpolationMode.BILINEAR}
    path = tmp_path / "a.png"
    for i in range(120):
        im = Image.fromarray(picture(rng, *[(60, 50), (64, 64), (224, 224)][i % 3]))
        im.save(path)
        (w, h), interpolation = im.size, NEAREST if i % 2 else BILINEAR
        degrees, translate, scale, shear = (-30, 60), (0.2, 0.1), (0.5, 1.5), (-10, 20, 0, 15)
        u = [uniforms(5, 0, i, AFFINE, block) for block in range(3)]
        drawn = (between(*degrees, u[0][0]), (round(between(-0.2 * w, 0.2 * w, u[0][1])), round(between(-0.1 * h, 0.1 * h, u[1][0]))), between(*scale, u[1][1]),
                 (between(*shear[:2], u[2][0]), between(*shear[2:], u[2][1])))
        monkeypatch.setattr(T.RandomAffine, "get_params", staticmethod(lambda *_, drawn=drawn: drawn))
        monkeypatch.setattr(T.RandomRotation, "get_params", staticmethod(lambda *_, i=i: between(*degrees, uniforms(5, 0, i, ROTATION, 0)[0])))
        both = T.Compose([T.RandomRotation(degrees, filters[interpolation]), T.RandomAffine(degrees, translate, scale, shear, filters[interpolation])])
        want = F.pil_to_tensor(both(im))
        monkeypatch.undo()
        got = rows.row(path, Out=(h, w), Layout=NCHW, draw=dict(Seed=5, Index=i), Rotation=dict(Degrees=degrees, Interpolation=interpolation),
                       Affine=dict(Degrees=degrees, Translate=translate, Scale=scale, ShearX=shear[:2], ShearY=shear[2:], Interpolation=interpolation))
        assert bits(got) == bits(want.numpy()), (i, drawn)


@pytest.mark.parametrize("expand", [False, True])
def test_what_is_turned_ahead_of_the_crop_is_torchvisions_on_our_draws(rows, tmp_path, monkeypatch, expand):
    """The lists that are often written: rotations and affine maps ahead of a resize, behind it, and ahead of a random crop; by v2's classes, where there are any."""
    try:
        from torchvision.transforms import v2 as V
    except ImportError:
        V = T
    draws = "make_params" if hasattr(V.RandomRotation, "make_params") else None
    rng, path = np.random.default_rng(33), tmp_path / "a.jpg"
    degrees, fill = (-40, 60), (9, 99, 199)
    for i in range(60):
        im = random_jpeg(rng, path, *[(140, 100), (90, 121), (64, 64)][i % 3]).convert("RGB")
        interpolation = NEAREST if i % 2 else BILINEAR
        mode = {NEAREST: T.InterpolationMode.NEAREST, BILINEAR: T.InterpolationMode.BILINEAR}[interpolation]
        angle = between(*degrees, uniforms(5, 0, i, ROTATION, 0)[0])
        (turn, _), (_, scale), _ = (uniforms(5, 0, i, AFFINE, block) for block in range(3))
        turned, moved = V.RandomRotation(degrees, mode, expand=expand, fill=fill), V.RandomAffine(degrees, scale=(0.5, 1.5), interpolation=mode, fill=fill)
        of_affine = between(*degrees, turn), (0, 0), between(0.5, 1.5, scale), (0.0, 0.0)
        if draws:
            monkeypatch.setattr(turned, draws, lambda _, angle=angle: dict(angle=angle))
            monkeypatch.setattr(moved, draws, lambda _, of=of_affine: dict(zip(("angle", "translate", "scale", "shear"), of)))
        else:
            monkeypatch.setattr(turned, "get_params", lambda *_, angle=angle: angle)
            monkeypatch.setattr(moved, "get_params", lambda *_, of=of_affine: of)
        common = dict(Interpolation=interpolation, Fill=fill)
        ours = dict(Rotation=dict(Degrees=degrees, Expand=expand, **common), Affine=dict(Degrees=degrees, Scale=[0.5, 1.5], **common), Order=["Rotation", "Affine"])
        resize, crop = V.Resize(72), V.CenterCrop(64)
        for steps, config in (
            ([turned, resize, crop], dict(Ahead=1, Order=["Rotation"])), ([resize, turned, crop], dict(Resized=1, Order=["Rotation"])), ([turned, moved, resize, crop], dict(Ahead=2)),
            ([resize, turned, moved, crop], dict(Resized=2)), ([turned, resize, moved, crop], dict(Ahead=1, Resized=1)),
        ):
            left = {key: value for key, value in ours.items() if key != "Affine" or moved in steps}
            want = F.pil_to_tensor(T.Compose(steps)(im)).numpy()
            got = rows.row(path, ResizeShort=72, Out=(64, 64), Layout=NCHW, draw=dict(Seed=5, Index=i), **left | config)
            assert bits(got) == bits(want), (i, im.size, config)


def test_scale_jitter_has_the_sizes_of_torchvisions_own_draws(rows, tmp_path, monkeypatch):
    """v2.ScaleJitter with our uniform in the place of torch.rand's; it takes [W, H]. The row is the middle of what it makes."""
    v2 = pytest.importorskip("torchvision.transforms.v2")
    rng, path = np.random.default_rng(32), tmp_path / "a.png"
    for i in range(80):
        w, h = (int(v) for v in rng.integers(20, 200, 2))
        im = Image.fromarray(picture(rng, w, h))
        im.save(path)
        (low, high), (th, tw) = [(0.1, 2.0), (0.3, 1.7), (0.8, 1.25)][i % 3], [(64, 64), (50, 91), (120, 33)][i // 3 % 3]
        u = uniforms(5, 0, i, 14, 0)[0]
        monkeypatch.setattr(torch, "rand", lambda *_: torch.tensor([u], dtype=torch.float32))
        made = v2.ScaleJitter((tw, th), (low, high))(im)
        monkeypatch.undo()
        want = F.pil_to_tensor(T.CenterCrop((20, 24))(made))
        got = rows.row(path, ScaleJitter=dict(Size=dict(H=th, W=tw), Scale=[low, high]), Out=(20, 24), Layout=NCHW, draw=dict(Seed=5, Index=i))
        assert bits(got) == bits(want.numpy()), (i, im.size, made.size)


@pytest.mark.parametrize("value", [0, 0.5, (-1.5, 2.25, 7.1)])
def test_erasing_gives_the_same_bits_as_random_erasing_on_our_draws(rows, tmp_path, value):
    """T.RandomErasing.get_params with our uniforms in the place of torch's, then functional.erase of the normalised tensor, in each type of float."""
    rng, path, erased = np.random.default_rng(31), tmp_path / "a.jpg", 0
    scale, ratio, types = (0.02, 0.4), (0.3, 3.3), {F32: torch.float32, F16: torch.float16}
    finish = T.Compose([T.ToTensor(), T.Normalize(MEAN, STD)])
    for i in range(60):
        h, w = SIZES[i % len(SIZES)][::-1] if i % 2 else (int(rng.integers(2, 60)), int(rng.integers(2, 60)))
        im = random_jpeg(rng, path, w, h)
        want = finish(default_loader(str(path)))
        draws = iter([uniforms(5, 0, i, 7, block) for block in range(21)])
        part = None
        if next(draws)[0] < 0.6:
            for share, shape in draws:
                place = next(draws)
                area, aspect = h * w * between(*scale, share), np.exp(between(*np.log(ratio), shape))
                eh, ew = round((area * aspect) ** 0.5), round((area / aspect) ** 0.5)
                if eh < h and ew < w:
                    part = int(place[0] * (h - eh + 1)), int(place[1] * (w - ew + 1)), eh, ew
                    break
        if part:
            want = F.erase(want, *part, torch.tensor(value if isinstance(value, tuple) else (value,))[:, None, None])
            erased += 1
        for dtype in types:
            got = rows.row(path, Out=(h, w), DType=dtype, Layout=NCHW, Normalize=dict(Mean=MEAN, Std=STD), draw=dict(Seed=5, Index=i),
                           Erase=dict(P=0.6, Scale=scale, Ratio=ratio, Value=value if isinstance(value, tuple) else [value]))
            assert bits(got) == bits(want.to(types[dtype]).numpy()), (i, im.size, part)
    assert 20 < erased < 50


def test_a_perspective_is_random_perspectives(rows, tmp_path):
    """On our corners. torchvision's least squares end one float beside the exact map now and then, which moves some pixel of a few rows."""
    if "float64" not in inspect.getsource(F._get_perspective_coeffs):
        pytest.skip("this torchvision solves for the map in floats; newer ones do in doubles")
    path, rng, unlike = tmp_path / "a.jpg", np.random.default_rng(41), 0
    for i in range(120):
        size = [(224, 224), (71, 53), (60, 200)][i % 3]
        h, w = size
        mode = [T.InterpolationMode.NEAREST, T.InterpolationMode.BILINEAR, T.InterpolationMode.BICUBIC][i // 3 % 3]
        im = T.CenterCrop(size)(random_jpeg(rng, path, 260, 250).convert("RGB"))
        ends = corners(size, 0.5, i)
        want = F.pil_to_tensor(F.perspective(im, [[0, 0], [w - 1, 0], [w - 1, h - 1], [0, h - 1]], [list(at) for at in ends], mode, [9, 99, 199])).numpy()
        ours = dict(P=1, Scale=0.5, Interpolation=[NEAREST, BILINEAR, BICUBIC][i // 3 % 3], Fill=[9, 99, 199])
        got = rows.row(path, Out=size, Layout=NCHW, draw=dict(Seed=5, Index=i), Perspective=ours)
        unlike += bits(got) != bits(want)
        assert np.count_nonzero(got != want) <= 0.001 * want.size, (i, size)
    assert unlike <= 12, unlike


def test_our_corners_are_where_random_perspective_has_them():
    """The least and the most of each coordinate, over many draws of both."""
    torch.manual_seed(42)
    for h, w in ((224, 224), (71, 53)):
        theirs = np.array([T.RandomPerspective.get_params(w, h, 0.3)[1] for _ in range(3000)])
        ours = np.array([corners((h, w), 0.3, i) for i in range(3000)])
        assert np.array_equal(theirs.min(0), ours.min(0)) and np.array_equal(theirs.max(0), ours.max(0))


def test_a_zoom_out_is_random_zoom_outs_on_our_draws(rows, tmp_path, monkeypatch):
    v2 = pytest.importorskip("torchvision.transforms.v2")
    rng, path = np.random.default_rng(52), tmp_path / "a.png"
    for i in range(60):
        w, h = (int(v) for v in rng.integers(1, 120, 2))
        im = Image.fromarray(picture(rng, w, h))
        im.save(path)
        low, high = [(1.0, 4.0), (1.3, 1.3), (2.0, 7.5)][i % 3]
        (whether, times), place = uniforms(5, 0, i, 15, 18), uniforms(5, 0, i, 15, 19)
        drawn = iter([[whether], [times], place])
        monkeypatch.setattr(torch, "rand", lambda *_, **__: torch.tensor(next(drawn), dtype=torch.float32))
        made = v2.RandomZoomOut((9, 99, 199), (low, high), 0.6)(im)
        monkeypatch.undo()
        got = rows.row(path, Out=made.size[::-1], Layout=NCHW, draw=dict(Seed=5, Index=i), Ahead=1, Order=["ZoomOut"], ZoomOut=dict(P=0.6, Sides=[low, high], Fill=[9, 99, 199]))
        assert bits(got) == bits(F.pil_to_tensor(made).numpy()), (i, im.size, made.size)


def test_an_elastic_map_is_elastic_transforms(rows, tmp_path):
    """On our map. torch may add products without rounding them first, which moves a place or a sum that is half way between two."""
    path, rng, unlike, pixels = tmp_path / "a.jpg", np.random.default_rng(51), 0, 0
    for i in range(40):
        size, alpha, sigma = [(224, 224), (71, 53), (60, 200)][i % 3], [(50.0, 50.0), (300.0, 120.0)][i // 3 % 2], [4.0, 0.0, 6.3][i % 3]
        nearest = i % 5 == 0
        im = T.CenterCrop(size)(random_jpeg(rng, path, 260, 250).convert("RGB"))
        ways = torch.from_numpy(displacement(i, size, alpha, sigma))[None]
        want = F.pil_to_tensor(F.elastic_transform(im, ways, T.InterpolationMode.NEAREST if nearest else T.InterpolationMode.BILINEAR, 99)).numpy()
        got = rows.row(path, Out=size, Layout=NCHW, draw=dict(Seed=5, Index=i),
                       Elastic=dict(P=1, Alpha=alpha, Sigma=sigma, Interpolation=NEAREST if nearest else BILINEAR, Fill=[99, 99, 99]))
        off = got != want
        unlike, pixels = unlike + off.sum(), pixels + off.size
        assert nearest or (np.abs(got.astype(int) - want) <= 1).all(), (i, size)
    assert unlike <= 5e-4 * pixels, (unlike, pixels)


def test_our_elastic_map_is_that_of_get_params(monkeypatch):
    """On our numbers, within 1e-3 of a pixel. Older releases divide what goes along x by the height, and along y by the width: there only square rows agree."""
    new = "size[1]" in inspect.getsource(T.ElasticTransform.get_params).split("dx * alpha[0]")[1].split("\n")[0]
    for i, (size, alpha, sigma) in enumerate([([64, 64], [50.0, 50.0], 5.0), ([71, 53], [300.0, 120.0], 2.5), ([40, 90], [10.0, 99.0], 0.0)]):
        if not new and size[0] != size[1]:
            continue
        drawn = iter(numbers(i, axis, tuple(size))[None, None] for axis in (0, 1))
        monkeypatch.setattr(torch, "rand", lambda shape: torch.from_numpy(next(drawn)).reshape(shape))
        theirs = T.ElasticTransform.get_params(alpha, [sigma, sigma], size)[0].numpy()
        monkeypatch.undo()
        assert np.abs((theirs - displacement(i, tuple(size), alpha, sigma)) * [size[1] / 2, size[0] / 2]).max() < 1e-3
