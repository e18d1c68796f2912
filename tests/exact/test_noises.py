"""albumentations' noises, unsharp masks, ellipses and crops by a height, for any number, and on our draws against its own functions of the same numbers, on
opencv-python-headless 4.11.0.86."""

import json

import numpy as np
import pytest
from PIL import Image

from conftest import picture
from test_distort import LATER, normals, words
from test_jpeg import philox, uniforms

A = pytest.importorskip("albumentations", reason="needs albumentations: pip install albumentations==2.0.8 opencv-python-headless==4.11.0.86")
cv2 = pytest.importorskip("cv2")
spdl = pytest.importorskip("spdl")
from test_albumentations import pictures, ramp, row, theirs, without_ipp  # noqa: E402, F401

CV2_LINEAR, CROP = 6, 1  # a filter of core/media's, and the operation of draws of a random crop
MULTIPLY, ISO = 256, 264  # blocks of draws


def test_unsharp_masks_have_albumentations_bytes_for_any_number(pictures, ramp):
    rng = np.random.default_rng(16)
    for i in range(120):
        path, pixels = [*pictures, ramp][i % (len(pictures) + 1)]
        size, alpha, threshold = int(rng.integers(1, 9)) * 2 + 1, float(rng.uniform(0, 1)), int(rng.integers(0, [256, 30][i % 2]))
        sigma = float(rng.uniform(0, 3)) if i % 3 else 0.0
        one = A.UnsharpMask((size, size), (sigma, sigma), (alpha, alpha), threshold, p=1)
        transform = A.Compose([A.CenterCrop(min(pixels.shape[0], 64), min(pixels.shape[1], 61 - i % 30)), one])
        assert np.array_equal(row(path, transform), theirs(transform, pixels)), transform
        assert np.array_equal(row(path, transform, layout="NCHW").transpose(1, 2, 0), theirs(transform, pixels)), transform
        grey = row(path, A.Compose([*transform.transforms[:1]]), mode="luma")[..., 0]
        assert np.array_equal(row(path, transform, mode="luma")[..., 0], one(image=grey)["image"]), transform


def test_ellipses_have_opencv_bytes_for_any_size(pictures, tmp_path):
    """Of pictures, and of their masks."""
    rng = np.random.default_rng(17)
    for i in range(90):
        path, pixels = pictures[i % len(pictures)]
        size = tuple(int(n) for n in rng.integers(1, [6, 30][i % 2], 2))
        transform = A.Compose([A.CenterCrop(min(pixels.shape[0], 64), min(pixels.shape[1], 61)), A.Morphological(size, ["dilation", "erosion"][i // 2 % 2], p=1)])
        assert np.array_equal(row(path, transform), theirs(transform, pixels)), transform
        mask = rng.integers(0, 20, pixels.shape[:2]).astype(np.uint8)
        Image.fromarray(mask).save(tmp_path / "a.png")
        assert np.array_equal(row(tmp_path / "a.png", transform, mode="index")[..., 0], transform(image=pixels, mask=mask)["mask"]), transform


def test_masks_grow_with_their_pictures(tmp_path):
    """By one chance in the field of each: where the picture is white the mask is 1."""
    shape = picture(np.random.default_rng(2), 40, 40, 1) > 150
    Image.fromarray(np.where(shape, 255, 0).astype(np.uint8)).convert("RGB").save(tmp_path / "a.png")
    Image.fromarray(shape.astype(np.uint8)).save(tmp_path / "b.png")
    lines = "".join(json.dumps({"path": str(tmp_path / "a.png"), "mask": str(tmp_path / "b.png")}) + "\n" for _ in range(40))
    (tmp_path / "t.jsonl").write_text(lines)
    grown = [{"center_crop": 40}, {"random_apply": [{"invert": 1}]}, {"random_apply": [{"morphological": {"kernel_size": 5, "p": 1}}]}]
    spec = {"source": {"list": str(tmp_path / "t.jsonl")}, "batch": 40, "order": {"shuffle": False, "seed": 3},
            "fields": {"image": {"image": {"from": "path", "transform": [grown[0], grown[2], {"sharpen": {"alpha": 0, "p": 1}}]}}, "mask": {"image": {"from": "mask", "mode": "index", "transform": [grown[0], grown[2]]}},
                       "other": {"image": {"from": "path", "transform": grown}}}}
    with spdl.open(spec) as loader:
        batch = next(iter(loader))
        a, b = np.array(batch["image"])[..., 0] == 255, np.array(batch["mask"])[..., 0] == 1
    more = (b != shape).any((1, 2))
    assert np.array_equal(a, b) and 8 < more.sum() < 32
    with pytest.raises(spdl.SpecError, match="random_apply, which puts pixels elsewhere, beside fields.mask.image, whose rows are drawn alike and would not follow"):
        spdl.open({**spec, "fields": {**spec["fields"], "mask": {"image": {"from": "mask", "mode": "index", "transform": grown[:1]}}}})


def words_of(index, block, channel, n):
    """Numbers from 0 to 1 of the counters (i / 4, channel, 0, 0), under the key of a block."""
    key = [int(w[0]) for w in words(5, np.array([index], np.uint64), np.array([0], np.uint64), LATER, block)[:2]]
    return np.array([word for i in range((n + 3) // 4) for word in philox(key, (i, channel, 0, 0))][:n]) / 2**32


def test_multipliers_are_drawn_and_multiply_as_albumentations_has_it(rows, ramp):
    """Of our numbers: apply() of theirs, in colour and in grey."""
    path, pixels = ramp
    for i in range(24):
        each, elements, mode = i % 2 == 1, i // 2 % 2 == 1, 2 * (i // 4 % 2)
        low, high = [(0.5, 2), (0, 0.3), (0.9, 1.1)][i % 3]
        got = rows.row(path, Out=(31, 27), Mode=mode, Multiply={"P": 1, "By": [low, high], "Each": each, "Elements": elements}, draw={"Seed": 5, "Index": i})
        part = rows.row(path, Out=(31, 27), Mode=mode)
        channels = part.shape[-1]
        u = [uniforms(5, 0, i, LATER, MULTIPLY)[1], *uniforms(5, 0, i, LATER, MULTIPLY + 1)]
        drawn = np.array(u[:channels] if each else u[:1] * channels)
        if elements:
            drawn = np.stack([words_of(i, MULTIPLY + 1, channel if each else 0, 31 * 27) for channel in range(channels)], 1).reshape(31, 27, channels)
        multiplier = (low + drawn * (high - low)).astype(np.float32)
        want = A.MultiplicativeNoise().apply(part, multiplier.reshape(part.shape) if elements else multiplier)
        assert np.array_equal(got.reshape(want.shape), want), (i, each, elements, mode)
        assert not np.array_equal(got, part)


class Given:
    """A generator whose numbers are known: normal ones, and from 0 to 1 those by which Poisson's are found."""

    def __init__(self, normals, uniforms):
        self.normals, self.uniforms = normals, uniforms

    def normal(self, mean, scale, size):
        return mean + scale * self.normals.reshape(size).astype(np.float64)

    def poisson(self, mean, size):
        (mean,), (p, k, made) = mean, (np.exp(-mean[0]), 0, np.zeros(self.uniforms.shape, np.int64))
        upto = p
        while (more := self.uniforms >= upto).any():
            k += 1
            p *= mean / k
            upto += p
            made += more
        return made.reshape(size)


def test_a_cameras_noise_is_albumentations_of_our_numbers(rows, pictures, ramp):
    from albumentations.augmentations.pixel.functional import iso_noise

    changed = 0
    for i in range(44):
        path, pixels = [*pictures, ramp][i % (len(pictures) + 1)]
        h, w = min(pixels.shape[0], 64), min(pixels.shape[1], 61 - i % 30)
        shift, intensity = [(0.01, 0.05), (0.5, 1), (0, 0.3)][i % 3], [(0.1, 0.5), (0.5, 3), (1, 10)][i // 3 % 3]
        part = rows.row(path, Out=(h, w))
        got = rows.row(path, Out=(h, w), Layout=i % 2, ISO={"P": 1, "Shift": shift, "Intensity": intensity}, draw={"Seed": 5, "Index": i})
        got = got.transpose(1, 2, 0) if i % 2 else got
        u = uniforms(5, 0, i, LATER, ISO + 1)
        by_shift, by_intensity = (low + v * (high - low) for v, (low, high) in zip(u, (shift, intensity)))
        key = [int(word[0]) for word in words(5, np.array([i], np.uint64), np.array([0], np.uint64), LATER, ISO + 2)[:2]]
        numbers = Given(normals(key[0] | key[1] << 32, 0, h * w), words_of(i, ISO + 2, 1, h * w))
        want = iso_noise(part, by_shift, by_intensity, numbers)
        assert np.array_equal(got, want), (i, shift, intensity)
        changed += (got != part).mean() > 0.1
    assert changed > 25


def test_a_random_sized_crop_has_albumentations_bytes(rows, tmp_path):
    """Of our numbers: a part by theirs of a height and of where it begins, by cv2.resize."""
    from albumentations.augmentations.crops.functional import crop, get_crop_coords

    rng, seen = np.random.default_rng(15), set()
    for i in range(60):
        pixels = picture(rng, int(rng.integers(8, 90)), int(rng.integers(8, 90)))
        Image.fromarray(pixels).save(tmp_path / "a.png")
        low, high, ratio = *sorted(int(n) for n in rng.integers(1, 60, 2)), float(rng.choice([1, 0.7, 2.3]))
        got = rows.row(tmp_path / "a.png", Random={"Height": [low, high], "Ratio": [ratio, ratio]}, Out=(17, 19), Interpolation=CV2_LINEAR, draw={"Seed": 5, "Index": i})
        (of_height, _), at = (uniforms(5, 0, i, CROP, block) for block in (0, 1))
        height = low + int(of_height * (high - low + 1))
        part = crop(pixels, *get_crop_coords(pixels.shape, (height, max(1, int(height * ratio))), *at))
        assert np.array_equal(got, cv2.resize(part, (19, 17), interpolation=cv2.INTER_LINEAR)), (i, pixels.shape, part.shape)
        seen.add(part.shape)
    assert len(seen) > 40


def test_masks_are_cropped_by_their_height_as_their_pictures(tmp_path):
    """Where the picture is white the mask is 1: both are of the nearest pixels."""
    shape = picture(np.random.default_rng(2), 60, 50, 1) > 127
    Image.fromarray(np.where(shape, 255, 0).astype(np.uint8)).convert("RGB").save(tmp_path / "a.png")
    Image.fromarray(shape.astype(np.uint8)).save(tmp_path / "b.png")
    transform = A.Compose([A.RandomSizedCrop((20, 40), (16, 18), 1.2, interpolation=cv2.INTER_NEAREST)])
    (tmp_path / "t.jsonl").write_text(json.dumps({"path": str(tmp_path / "a.png"), "mask": str(tmp_path / "b.png")}) + "\n")
    made = set()
    spec = {"source": {"list": str(tmp_path / "t.jsonl")}, "batch": 1, "order": {"shuffle": False, "seed": 3, "epochs": 12},
            "fields": {"image": {"image": {"from": "path", "transform": transform}}, "mask": {"image": {"from": "mask", "mode": "index", "transform": transform}}}}
    with spdl.open(spec) as loader:
        for _ in range(12):
            for batch in loader:
                a, b = np.array(batch["image"][0]), np.array(batch["mask"][0])
                assert np.array_equal(a[..., 0] == 255, b[..., 0] == 1)
                made.add(a.tobytes())
    assert len(made) > 8
