"""aug_mix against Pillow's own calls and torch's sum, as torchvision's AugMix has them, on our draws, which are computed here once more: the same bytes. And where
torchvision is there, against its own AugMix, whose operations are made to be those on PIL images: by itself it makes tensors of these first."""

import math

import numpy as np
import pytest
from PIL import Image

from tools import RowError
from test_augment import AUGMENT, FILTERS, INDEX, NCHW, RGB, SIZES, as_array, done, linspace, some
from test_jpeg import BICUBIC, BILINEAR, GRAY, LUMA, NEAREST, uniforms

MIX = 5
OPERATIONS = ("ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Posterize", "Solarize", "AutoContrast", "Equalize", "Brightness", "Color", "Contrast", "Sharpness")
SIGNED = OPERATIONS[:5] + OPERATIONS[9:]


def gamma(index, alpha, j):
    """Marsaglia and Tsang's."""
    shape, first = (alpha + 1 if alpha < 1 else alpha), 4096 + 256 * j
    d = shape - 1 / 3
    for t in range(128):
        (n, angle), (u, _) = (uniforms(5, 0, index, AUGMENT, first + 2 * t + k) for k in range(2))
        x = math.sqrt(-2 * math.log(1 - n)) * math.cos(2 * 3.141592653589793 * angle)
        root = 1 + 1 / math.sqrt(9 * d) * x
        v = root * root * root
        if root > 0 and math.log(1 - u) < 0.5 * x * x + d * (1 - v + math.log(v)):
            break
    return d * v * (math.pow(1 - uniforms(5, 0, index, AUGMENT, first + 1)[1], 1 / alpha) if alpha < 1 else 1)


class Draws:
    """What a row of seed 5 draws."""

    def __init__(self, index, size, *, severity=3, width=3, depth=0, alpha=1.0, fewer=False):
        own, others, *chains = (gamma(index, alpha, j) for j in range(2 + width))
        total = 0.0
        for c in chains:
            total += c
        self.m = np.float32([own / (own + others), others / (own + others)])
        self.shares = np.float32([c / total for c in chains])
        self.chains = []
        for i in range(width):
            n = depth or 1 + int(uniforms(5, 0, index, AUGMENT, 256 + i)[0] * 3)
            self.chains.append([self.operation(index, size, i, k, severity, OPERATIONS[:9] if fewer else OPERATIONS) for k in range(n)])

    @staticmethod
    def operation(index, size, i, n, severity, among):
        block = 512 + 2 * (8 * i + n)
        (which, at), (sign, _) = (uniforms(5, 0, index, AUGMENT, block + k) for k in range(2))
        name, bin = among[int(which * len(among))], int(at * severity)
        if name in ("AutoContrast", "Equalize"):
            return name, 0.0, bin
        most = {"ShearX": 0.3, "ShearY": 0.3, "TranslateX": size[1] / 3, "TranslateY": size[0] / 3, "Rotate": 30}.get(name, 0.9)
        m = 4 - round(bin / 2.25) if name == "Posterize" else linspace(255, 0, 10)[bin] if name == "Solarize" else linspace(0, most, 10)[bin]
        return name, -m if name in SIGNED and sign < 0.5 else m, bin


def mixed(im, draws, filter):
    x = as_array(im)
    total = draws.m[0] * x.astype(np.float32)
    for share, chain in zip(draws.shares * draws.m[1], draws.chains):
        made = im
        for name, m, _ in chain:
            if name != "Color" or im.mode == "RGB":
                made = done(made, name, m, filter)
        total = total + share * as_array(made).astype(np.float32)
    return np.minimum(total, np.float32(255)).astype(np.uint8)


def ours(filter=BILINEAR, fill=(0, 0, 0), *, severity=3, width=3, depth=0, alpha=1.0, fewer=False):
    return dict(Kind=MIX, Magnitude=severity, Interpolation=filter, Fill=fill, Mix=dict(Width=width, Depth=depth, Alpha=alpha, Fewer=fewer))


SETTINGS = [{}, dict(severity=10), dict(severity=1, width=1), dict(width=8, depth=8, severity=10), dict(alpha=0.1, fewer=True), dict(alpha=7.5, depth=2), dict(alpha=0.5, width=2, severity=7)]


@pytest.mark.parametrize("mode", [RGB, GRAY, LUMA])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_operations_and_sums_are_pillows_and_torchs_on_our_draws(rows, tmp_path, settings, mode):
    rng, seen = np.random.default_rng(1), set()
    for i in range(60 if mode == RGB else 20):
        size, filter = SIZES[i % (len(SIZES) - 1)], (BILINEAR, NEAREST, BICUBIC)[i // 3 % 3]
        draws = Draws(i, size, **settings)
        im = some(rng, size, 3 if mode == RGB else 1)
        im.save(tmp_path / "a.png")
        layout = i & 1 if mode == RGB else 0
        got = rows.row(tmp_path / "a.png", Out=size, Mode=mode, Layout=layout, draw=dict(Seed=5, Index=i), Augment=ours(filter, **settings))
        want = mixed(im, draws, FILTERS[filter])
        assert np.array_equal(got, want.transpose(2, 0, 1) if layout == NCHW else want), (i, size, draws.chains)
        seen |= {name for chain in draws.chains for name, _, _ in chain}
        assert not any(any(row) for row in rows.info["affine"]), "its points lie in several places"
    assert mode != RGB or settings.get("width", 3) < 3 or seen == set(OPERATIONS[:9] if settings.get("fewer") else OPERATIONS)


def test_all_frames_of_a_sample_have_the_same(rows, tmp_path):
    im = some(np.random.default_rng(2), (33, 20))
    im.save(tmp_path / "a.png")
    one, other = (rows.row(tmp_path / "a.png", Out=(33, 20), Augment=ours(), draw=dict(Seed=5, Index=3, Frame=f)) for f in (0, 9))
    assert np.array_equal(one, other)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 1.0, 3.0])
def test_shares_are_of_dirichlets_distribution(alpha):
    """Of 3000 samples: mean, variance, and for alpha 1 the whole distribution of the picture's own share, which is even then."""
    n, k = 3000, 3
    all = [Draws(i, (8, 8), alpha=alpha, width=k, depth=1) for i in range(n)]
    own, chains = np.array([d.m[0] for d in all], float), np.array([d.shares for d in all], float)
    assert np.abs(np.array([d.m.sum() for d in all]) - 1).max() < 1e-6 and np.abs(chains.sum(1) - 1).max() < 1e-6
    for x, of in ((own, 2), *((chains[:, j], k) for j in range(k))):
        mean, variance = 1 / of, (of - 1) / (of * of * (of * alpha + 1))
        assert abs(x.mean() - mean) < 4 * math.sqrt(variance / n) and 0.9 < x.var() / variance < 1.1
    if alpha == 1:
        assert np.abs(np.sort(own) - (np.arange(n) + 0.5) / n).max() < 1.63 / math.sqrt(n)
    assert abs(np.corrcoef(own, chains[:, 0])[0, 1]) < 0.06


def test_what_is_no_mix_is_refused(rows, tmp_path):
    Image.fromarray(np.zeros((9, 9, 3), np.uint8)).save(tmp_path / "a.png")
    for wrong, why in ((dict(severity=0), "got severity 0, want 1 to 10"), (dict(severity=11), "got severity 11"), (dict(width=0), "got a mix of 0 chains"), (dict(width=9), "got a mix of 9 chains"),
                       (dict(depth=9), "of 9 operations, want 1 to 8 chains of 0, by chance, to 8"), (dict(alpha=0.05), "got alpha 0.05, want 0.1 to 1000"), (dict(filter=3), "want interpolation nearest")):
        with pytest.raises(RowError, match="augment: .*" + why):
            rows.row(tmp_path / "a.png", Out=(9, 9), Augment=ours(**wrong))
    with pytest.raises(RowError, match="mode index: want no augmentation"):
        rows.row(tmp_path / "a.png", Out=(9, 9), Mode=INDEX, Augment=ours())


class Told:
    """torch's random numbers, in the order in which torchvision asks for them."""

    def __init__(self, torch, draws, severity, depth, monkeypatch):
        self.torch, asked = torch, []
        for chain in draws.chains:
            asked += [] if depth else [len(chain)]
            for name, m, bin in chain:
                asked += [OPERATIONS.index(name)] + ([] if name in ("AutoContrast", "Equalize") else [bin]) + ([int(m < 0 or str(m) == "-0.0")] if name in SIGNED else [])
        self.asked = iter(asked)
        monkeypatch.setattr(torch, "randint", lambda *a, **k: torch.tensor([next(self.asked)]))


@pytest.mark.parametrize("of", ["PIL images", "tensors"])
def test_it_is_torchvisions_own_on_our_draws(rows, tmp_path, monkeypatch, of):
    """Of PIL images' operations to the bit. Of tensors', which it takes by itself, most values are within 2: what it shears and turns is mixed with black at the picture's edges,
    and equalize and autocontrast make more of a small difference."""
    torch = pytest.importorskip("torch")
    autoaugment = pytest.importorskip("torchvision.transforms.autoaugment")
    functional, transforms = autoaugment.F, pytest.importorskip("torchvision.transforms")
    if not hasattr(autoaugment, "AugMix"):
        pytest.skip("this torchvision has no AugMix")
    apply, rng, off = autoaugment._apply_op, np.random.default_rng(3), []

    def of_pil(img, name, magnitude, interpolation, fill):
        im = functional.to_pil_image(img[0])
        return functional.pil_to_tensor(apply(im, name, magnitude, interpolation, fill))[None]

    if of == "PIL images":
        monkeypatch.setattr(autoaugment, "_apply_op", of_pil)
    for i in range(60):
        size, severity, depth = SIZES[4 + i % 6], 1 + i % 10, i % 3
        draws = Draws(i, size, severity=severity, depth=depth)
        im = some(rng, size)
        im.save(tmp_path / "a.png")
        theirs = autoaugment.AugMix(severity=severity, chain_depth=depth or -1, interpolation=transforms.InterpolationMode.BILINEAR)
        shares = iter([draws.m, draws.shares])
        theirs._sample_dirichlet = lambda params, shares=shares: torch.tensor(next(shares))[None]
        with monkeypatch.context() as patched:
            Told(torch, draws, severity, depth, patched)
            want = np.asarray(theirs(im))
        got = rows.row(tmp_path / "a.png", Out=size, Augment=ours(severity=severity, depth=depth), draw=dict(Seed=5, Index=i))
        difference = np.abs(got.astype(int) - want.astype(int))
        if of == "PIL images":
            assert difference.max() == 0, (i, draws.chains)
        off.append((difference > 2).mean())
    assert np.median(off) < 0.05, off
