"""Rotations, affine maps, perspectives and policies of tensors of bytes, against torchvision's v2 on our draws, to the bit. Needs torch and torchvision: make exact brings both."""

import numpy as np
import pytest
from PIL import Image

from conftest import picture
from tools import RowError
from test_augment import AFFINE, AUTO, INDEX, NCHW, OPERATIONS, RAND, RGB, SIZES, WIDE, some
from test_augmix import Draws, Told, ours as mix
from test_jpeg import BICUBIC, BILINEAR, GRAY, NEAREST, uniforms
from test_perspective import corners
from test_tensors import channels_last, tensor

torch = pytest.importorskip("torch")
v2 = pytest.importorskip("torchvision.transforms.v2")
from torchvision.transforms.v2 import functional as F  # noqa: E402

ROTATION, AFFINES, PERSPECTIVE, AUGMENTS = "Rotation", "Affine", "Perspective", "Augment"
FILTERS = {NEAREST: "nearest", BILINEAR: "bilinear"}
LARGE = [(224, 224), (375, 500), (1, 700), (3, 2000)]


def cases(count, seed, mode=RGB):
    """Pictures of all sizes, filters, and fills, of which one is v2's None."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        size = LARGE[i // 40 % len(LARGE)] if i % 40 == 11 else SIZES[i % (len(SIZES) - 1)]
        channels = 3 if mode == RGB else 1
        fill = [None, [0] * channels, [int(v) for v in rng.integers(1, 256, channels)]][i // 2 % 3]
        filter = NEAREST if mode == INDEX else (NEAREST, BILINEAR)[i % 2]
        yield i, rng, some(rng, size, channels), filter, fill


def rest(filter, fill):
    """What a map has beside the map."""
    return dict(Interpolation=filter, **(dict(Bare=True) if fill is None else dict(Fill=(fill * 3)[:3])))


def made(rows, path, im, mode, i, **config):
    """[C, H, W] of a row of seed 5."""
    im.save(path)
    size = im.size[::-1]
    layout = i & 1 if mode == RGB else 0
    got = rows.row(path, **{"Out": size, **config}, Mode=mode, Layout=layout, draw=dict(Seed=5, Index=i))
    return got if layout == NCHW else got.transpose(2, 0, 1)


def given(im, i):
    image = tensor(np.array(im))
    return channels_last(image) if i % 3 == 0 else image


@pytest.mark.parametrize("mode", [RGB, GRAY, INDEX])
def test_rotations_are_torchvisions(rows, tmp_path, mode):
    """About the middle and elsewhere, by whole quarters, and in a picture that grows."""
    for i, rng, im, filter, fill in cases(240, 1, mode):
        w, h = im.size
        degrees = float(rng.integers(-4, 5) * 90) if i % 9 == 0 else float(rng.integers(-360, 361)) if i % 9 == 1 else float(rng.uniform(-360, 360))
        center = [float(rng.uniform(0, w)), float(rng.integers(0, h + 1))] if i % 4 == 3 else None
        expand = i % 3 == 1
        want = F.rotate(given(im, i), degrees, FILTERS[filter], expand=expand, center=center, fill=fill).numpy()
        turn = dict(Degrees=[degrees, degrees], Expand=expand, Center=center and dict(X=center[0], Y=center[1]), **rest(filter, fill))
        ahead = dict(Order=[ROTATION], Ahead=1, Out=want.shape[1:]) if expand else {}
        got = made(rows, tmp_path / "a.png", im, mode, i, Rotation=turn, ByTorch=[ROTATION], **ahead)
        assert np.array_equal(got, want), (i, im.size, degrees, center, filter, fill, (got != want).mean())


@pytest.mark.parametrize("mode", [RGB, GRAY, INDEX])
def test_affine_maps_are_torchvisions(rows, tmp_path, mode):
    for i, rng, im, filter, fill in cases(240, 2, mode):
        w, h = im.size
        degrees, scale, shear = float(rng.uniform(-360, 360)), float(rng.uniform(0.3, 3)), [float(v) for v in rng.uniform(-60, 60, 2)]
        degrees, scale, shear = (0.0 if i % 5 == 0 else degrees), (1.0 if i % 3 == 0 else scale), ([0.0, 0.0] if i % 7 < 2 else shear)
        center = [float(rng.uniform(0, w)), float(rng.integers(0, h + 1))] if i % 4 == 3 else None
        share = [0.0, 0.0] if i % 11 == 0 else [0.4, 0.7]
        (_, right), (down, _) = uniforms(5, 0, i, AFFINE, 0), uniforms(5, 0, i, AFFINE, 1)
        moved = [float(round(-most + u * (most + most))) for most, u in ((share[0] * w, right), (share[1] * h, down))]
        want = F.affine(given(im, i), degrees, moved, scale, shear, FILTERS[filter], fill=fill, center=center).numpy()
        got = made(rows, tmp_path / "a.png", im, mode, i, ByTorch=[AFFINES], Affine=dict(
            Degrees=[degrees] * 2, Translate=share, Scale=[scale] * 2, ShearX=[shear[0]] * 2, ShearY=[shear[1]] * 2, Center=center and dict(X=center[0], Y=center[1]), **rest(filter, fill)))
        assert np.array_equal(got, want), (i, im.size, degrees, moved, scale, shear, center, filter, fill, (got != want).mean())


@pytest.mark.parametrize("mode", [RGB, GRAY, INDEX])
def test_perspectives_are_torchvisions(rows, tmp_path, mode):
    """But for the last bits of the map, which torch finds by least squares: a pixel in 4000."""
    off = total = 0
    for i, rng, im, filter, fill in cases(240, 3, mode):
        w, h = im.size
        if min(w, h) < 20:
            continue
        scale = (0.2, 0.5, 0.8)[i % 3]
        starts = [[0, 0], [w - 1, 0], [w - 1, h - 1], [0, h - 1]]
        want = F.perspective(given(im, i), starts, [list(p) for p in corners((h, w), scale, i)], FILTERS[filter], fill=fill).numpy()
        got = made(rows, tmp_path / "a.png", im, mode, i, Perspective=dict(P=1, Scale=scale, **rest(filter, fill)), ByTorch=[PERSPECTIVE])
        off += (got != want).any(0).sum()
        total += w * h
    assert off < total / 4000 and total > 1e5


# Of contrast torch rounds some of the last values otherwise: test_tensors.py.
KINDS = {RAND: v2.RandAugment, WIDE: v2.TrivialAugmentWide}


def operations(kind, index, *, ops=2, magnitude=9, bins=31):
    """The operations of a row of seed 5, which of the magnitudes, and their signs."""
    for n in range(ops if kind == RAND else 1):
        which, sign = uniforms(5, 0, index, 8, n)
        yield OPERATIONS[int(which * 14)], magnitude if kind == RAND else int(uniforms(5, 0, index, 8, 1)[0] * bins), sign < 0.5


def done(policy, image, space, bins, name, at, minus, filter, fill):
    """One operation as v2 does it."""
    of, signed = space[name]
    all = of(bins, *image.shape[-2:])
    m = 0.0 if all is None else float(all[at])
    return policy._apply_image_or_video_transform(image, name, -m if signed and minus else m, FILTERS[filter], {torch.Tensor: fill})


@pytest.mark.parametrize("mode", [RGB, GRAY])
@pytest.mark.parametrize("kind", KINDS)
def test_policies_are_torchvisions(rows, tmp_path, kind, mode):
    policy, seen, exact = KINDS[kind](), set(), 0
    for i, rng, im, filter, fill in cases(500 if mode == RGB else 150, 4, mode):
        ops, bins = 1 + i % 3, (31, 11, 31)[i % 3]
        magnitude = min(bins - 1, (9, 15, 30)[i // 3 % 3])
        want, names = given(im, i), []
        for name, at, minus in operations(kind, i, ops=ops, magnitude=magnitude, bins=bins):
            want = done(policy, want, policy._AUGMENTATION_SPACE, bins, name, at, minus, filter, fill)
            names.append(name)
            seen.add((name, at))
        got = made(rows, tmp_path / "a.png", im, mode, i, ByTorch=[AUGMENTS], Augment=dict(Kind=kind, Ops=ops, Magnitude=magnitude, Bins=bins, **rest(filter, fill)))
        differ = np.flatnonzero(got != want.numpy())
        exact += not differ.size
        assert not differ.size or "Contrast" in names, (i, im.size, names, filter, fill, differ.size)
        if names[-1] == "Contrast" and names.count("Contrast") == 1:
            assert not differ.size or differ[0] >= want.numel() // 16 * 16, (i, im.size, names)
    assert {name for name, _ in seen} == set(OPERATIONS) and exact > 120


@pytest.mark.parametrize("number,name", enumerate(["imagenet", "cifar10", "svhn"]))
def test_auto_augment_is_torchvisions(rows, tmp_path, number, name):
    policy, seen = v2.AutoAugment(v2.AutoAugmentPolicy(name)), set()
    for i, rng, im, filter, fill in cases(150, 5):
        at = int(uniforms(5, 0, i, 8, 0)[0] * 25)
        want, names = given(im, i), []
        for n, (operation, p, bin) in enumerate(policy._policies[at]):
            u, sign = uniforms(5, 0, i, 8, n + 1)
            if u < p:
                want = done(policy, want, policy._AUGMENTATION_SPACE, 10, operation, bin, sign < 0.5, filter, fill)
                names.append(operation)
        seen.add(at)
        got = made(rows, tmp_path / "a.png", im, RGB, i, ByTorch=[AUGMENTS], Augment=dict(Kind=AUTO, Policy=number, **rest(filter, fill)))
        assert "Contrast" in names or np.array_equal(got, want), (i, im.size, names, filter, fill)
    assert len(seen) == 25


def test_aug_mix_is_torchvisions(rows, tmp_path, monkeypatch):
    """Of PIL images, too, of which it makes tensors first."""
    exact = 0
    for i, rng, im, filter, fill in cases(90, 6):
        size, severity, depth = im.size[::-1], 1 + i % 10, i % 3
        draws = Draws(i, size, severity=severity, depth=depth)
        theirs = v2.AugMix(severity=severity, chain_depth=depth or -1, interpolation=FILTERS[filter], fill=fill)
        shares = iter([draws.m, draws.shares])
        theirs._sample_dirichlet = lambda params, shares=shares: torch.tensor(next(shares))[None]
        with monkeypatch.context() as patched:
            told = Told(torch, draws, severity, depth, patched)
            patched.setattr(torch, "rand", lambda size, told=told: torch.tensor(1 - next(told.asked)))  # v2's signs
            want = theirs(im if i & 1 else given(im, i))
        want = F.pil_to_tensor(want) if i & 1 else want
        got = made(rows, tmp_path / "a.png", im, RGB, i, ByTorch=[AUGMENTS], Augment={**mix(filter, severity=severity, depth=depth), **rest(filter, fill)})
        same = np.array_equal(got, want)
        assert same or any(name == "Contrast" for chain in draws.chains for name, *_ in chain), (i, size, draws.chains)
        exact += same
    assert exact > 60


def test_where_points_go_is_told_as_of_a_pil_image(rows, tmp_path):
    im = Image.fromarray(picture(np.random.default_rng(7), 61, 40))
    im.save(tmp_path / "a.png")
    for config in (dict(Rotation=dict(Degrees=[33, 33])), dict(Rotation=dict(Degrees=[-70, -70], Center=dict(X=7, Y=11))),
                   dict(Affine=dict(Degrees=[20, 20], Scale=[1.3, 1.3], ShearX=[10, 10], ShearY=[-9, -9]))):
        told = []
        for by in ([], [ROTATION, AFFINES]):
            rows.row(tmp_path / "a.png", Out=(40, 61), Resize=(40, 61), ByTorch=by, **{k: dict(Interpolation=NEAREST, **v) for k, v in config.items()})
            told.append(np.array(rows.info["affine"]))
        assert np.allclose(told[0], told[1], atol=1e-9) and not np.allclose(told[0], np.eye(2, 3))


def test_what_torch_has_not_is_refused(rows, tmp_path):
    Image.new("RGB", (9, 9)).save(tmp_path / "a.png")
    for config, why in ((dict(Rotation=dict(Degrees=[0, 9], Interpolation=BICUBIC), ByTorch=[ROTATION]), "rotation: by torch: got interpolation bicubic, want nearest or bilinear"),
                        (dict(Affine=dict(Degrees=[0, 9], Interpolation=BICUBIC), ByTorch=[AFFINES]), "affine: by torch: got interpolation bicubic"),
                        (dict(Perspective=dict(P=1, Scale=0.5, Interpolation=BICUBIC), ByTorch=[PERSPECTIVE]), "perspective: by torch: got interpolation bicubic"),
                        (dict(Augment=dict(Kind=WIDE, Bins=31, Interpolation=BICUBIC), ByTorch=[AUGMENTS]), "augment: by torch: got interpolation bicubic"),
                        (dict(Augment=dict(Kind=4, Ops=2, Magnitude=9, Interpolation=NEAREST, Timm=dict(P=0.5, Max=10)), ByTorch=[AUGMENTS]), "by torch: got timm's augmentation")):
        with pytest.raises(RowError, match=why):
            rows.row(tmp_path / "a.png", Out=(9, 9), **config)
