"""albumentations' Compose as it is: where nothing is drawn, rows have its pixels, on opencv-python-headless 4.11.0.86; and what its chances become."""

import itertools
import json

import numpy as np
import pytest
from PIL import Image

from conftest import picture

A = pytest.importorskip("albumentations", reason="needs albumentations: pip install albumentations==2.0.8 opencv-python-headless==4.11.0.86")
cv2 = pytest.importorskip("cv2")
spdl = pytest.importorskip("spdl")
import spdl.io  # noqa: E402
from spdl._torch import albumentations, joint  # noqa: E402
from spdl._torch.transforms import told  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
SIZES = [(90, 60), (60, 90), (64, 64), (40, 33), (200, 31), (71, 71), (37, 120), (81, 80), (33, 40), (51, 47)]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Paths of PNGs, and their pixels."""
    at, rng, made = tmp_path_factory.mktemp("albumentations"), np.random.default_rng(7), []
    for i, (w, h) in enumerate(SIZES):
        pixels = picture(rng, w, h)
        Image.fromarray(pixels).save(at / f"{i}.png")
        made.append((at / f"{i}.png", pixels))
    return made


@pytest.fixture(autouse=True)
def without_ipp():
    """Which x86's wheels have for INTER_CUBIC alone, and whose bytes lie within 1."""
    cv2.ipp.setUseIPP(False)
    yield
    cv2.ipp.setUseIPP(True)


def row(path, transform, **section):
    return np.array(spdl.io._load.load(path, {"image": {"transform": transform, **section}})["image"])


def theirs(transform, pixels, key="image"):
    made = transform(**{"image": pixels, key: pixels})[key]
    return np.asarray(made)


EXACT = {
    "Resize": lambda: [A.Resize(40, 36)],
    "Resize, area": lambda: [A.Resize(20, 26, cv2.INTER_AREA)],
    "Resize, area for less": lambda: [A.Resize(20, 26, cv2.INTER_AREA, area_for_downscale="image")],
    "Resize, cubic": lambda: [A.Resize(40, 36, cv2.INTER_CUBIC)],
    "Resize, nearest": lambda: [A.Resize(40, 36, cv2.INTER_NEAREST)],
    "Resize, Lanczos": lambda: [A.Resize(40, 36, cv2.INTER_LANCZOS4)],
    "evaluation": lambda: [A.SmallestMaxSize(33), A.CenterCrop(28, 24)],
    "evaluation, odd": lambda: [A.SmallestMaxSize(40), A.CenterCrop(27, 31)],
    "letterbox": lambda: [A.LongestMaxSize(48), A.PadIfNeeded(48, 48, fill=114)],
    "letterbox, at the top left": lambda: [A.LongestMaxSize(48), A.PadIfNeeded(48, 48, position="top_left", fill=(1, 2, 3))],
    "letterbox, at the bottom right": lambda: [A.LongestMaxSize(48), A.PadIfNeeded(50, 53, position="bottom_right")],
    "letterbox, wider": lambda: [A.LongestMaxSize(48), A.PadIfNeeded(51, 60, border_mode=cv2.BORDER_REPLICATE)],
    "padded": lambda: [A.Resize(30, 26), A.Pad((1, 2, 3, 4), fill=(10, 20, 30))],
    "mirrored": lambda: [A.Resize(30, 26), A.Pad(5, border_mode=cv2.BORDER_REFLECT_101)],
    "mirrored, with the outermost": lambda: [A.Resize(30, 26), A.PadIfNeeded(41, 40, border_mode=cv2.BORDER_REFLECT)],
    "crop of what is padded": lambda: [A.PadIfNeeded(70, 70, fill=9), A.CenterCrop(70, 70)],
    "crop that pads": lambda: [A.CenterCrop(70, 71, pad_if_needed=True, fill=9)],
    "RandomCrop of all": lambda: [A.Resize(40, 36), A.RandomCrop(40, 36)],
    "RandomSizedCrop of all": lambda: [A.RandomSizedCrop((300, 400), (24, 20), 2)],
    "RandomSizedCrop of all, area": lambda: [A.RandomSizedCrop((300, 300), (11, 12), interpolation=cv2.INTER_AREA)],
    "RandomResizedCrop of all": lambda: [A.Resize(40, 40), A.CenterCrop(40, 40), A.HorizontalFlip(p=1)],
    "flips": lambda: [A.Resize(40, 36), A.HorizontalFlip(p=1), A.VerticalFlip(p=1)],
    "colours": lambda: [A.Resize(40, 36), A.Solarize((0.3, 0.3), p=1), A.Posterize(3, p=1), A.InvertImg(p=1)],
    "Solarize at a half": lambda: [A.Resize(40, 36), A.Solarize(p=1)],
    "ToGray": lambda: [A.Resize(40, 36), A.ToGray(p=1)],
    "brighter": lambda: [A.Resize(40, 36), A.RandomBrightnessContrast((0.13, 0.13), (-0.17, -0.17), p=1)],
    "darker": lambda: [A.Resize(40, 36), A.RandomBrightnessContrast((-0.21, -0.21), (0.37, 0.37), p=1), A.RandomGamma((77, 77), p=1)],
    "gamma": lambda: [A.Resize(40, 36), A.RandomGamma((123.4, 123.4), p=1)],
    "gamma of 1": lambda: [A.Resize(40, 36), A.RandomGamma((100, 100), p=1)],
    "HueSaturationValue": lambda: [A.Resize(40, 36), A.HueSaturationValue((17.6, 17.6), (-31.2, -31.2), (12.9, 12.9), p=1)],
    "a hue alone": lambda: [A.Resize(40, 67), A.HueSaturationValue((-77, -77), (0, 0), (0, 0), p=1)],
    "no hue": lambda: [A.Resize(40, 67), A.HueSaturationValue((0, 0), (50, 50), (-9.5, -9.5), p=1)],
    "nothing of HSV": lambda: [A.Resize(40, 67), A.HueSaturationValue((0, 0), (0, 0), (0, 0), p=1)],
    "RGBShift": lambda: [A.Resize(40, 36), A.RGBShift((20, 20), (-17.5, -17.5), (0.3, 0.3), p=1)],
    "Blur": lambda: [A.Resize(40, 36), A.Blur((5, 5), p=1)],
    "Blur, larger than the picture": lambda: [A.Resize(7, 9), A.Blur((31, 31), p=1)],
    "MedianBlur": lambda: [A.Resize(40, 36), A.MedianBlur((3, 3), p=1), A.MedianBlur((7, 7), p=0)],
    "GaussianBlur": lambda: [A.Resize(40, 36), A.GaussianBlur(sigma_limit=(1.3, 1.3), p=1)],
    "GaussianBlur of hardly any sigma": lambda: [A.Resize(40, 36), A.GaussianBlur(sigma_limit=(0.2, 0.2), p=1)],
    "GaussianBlur of a size": lambda: [A.Resize(40, 36), A.GaussianBlur(8, sigma_limit=(2, 2), p=0), A.GaussianBlur((9, 9), sigma_limit=(2, 2), p=1)],
    "ImageCompression": lambda: [A.Resize(40, 37), A.ImageCompression(quality_range=(35, 35), p=1), A.ImageCompression(quality_range=(95, 95), p=0)],
    "CLAHE": lambda: [A.Resize(40, 48), A.CLAHE((2.5, 2.5), p=1)],
    "CLAHE of a row that is no whole number of tiles": lambda: [A.Resize(40, 37), A.CLAHE((3, 3), (5, 3), p=1)],
    "Transpose": lambda: [A.Resize(40, 40), A.Transpose(p=1)],
    "Transpose ahead of a resize": lambda: [A.Transpose(p=1), A.Resize(40, 31)],
    "Transpose ahead of a crop": lambda: [A.Transpose(p=1), A.HorizontalFlip(p=1), A.CenterCrop(28, 30, pad_if_needed=True)],
    "Transpose and padded": lambda: [A.Resize(20, 40), A.Transpose(p=1), A.PadIfNeeded(40, 44, fill=7)],
    "Transpose between": lambda: [A.SmallestMaxSize(40), A.Transpose(p=1), A.CenterCrop(28, 33)],
    "Transpose, flips and turns": lambda: [A.Resize(40, 40), A.HorizontalFlip(p=1), A.Transpose(p=1), A.VerticalFlip(p=1), A.Transpose(p=0)],
    "Sharpen": lambda: [A.Resize(40, 37), A.Sharpen((0.3, 0.3), (0.7, 0.7), p=1)],
    "Emboss": lambda: [A.Resize(40, 37), A.Emboss((0.3, 0.3), (0.6, 0.6), p=1)],
    "Sharpen of one pixel": lambda: [A.Resize(1, 1), A.Sharpen((0.3, 0.3), (0.7, 0.7), p=1)],
    "UnsharpMask": lambda: [A.Resize(40, 37), A.UnsharpMask((3, 3), alpha=(0.4, 0.4), p=1)],
    "UnsharpMask of a sigma": lambda: [A.Resize(40, 37), A.UnsharpMask((11, 11), (1.7, 1.7), (1, 1), 0, p=1)],
    "UnsharpMask, larger than the picture": lambda: [A.Resize(5, 7), A.UnsharpMask((31, 31), alpha=(0.9, 0.9), p=1)],
    "RandomGridShuffle of one tile": lambda: [A.Resize(40, 37), A.RandomGridShuffle((1, 1), p=1)],
    "Morphological": lambda: [A.Resize(40, 37), A.Morphological(p=1)],
    "Morphological, erosion": lambda: [A.Resize(40, 37), A.Morphological((7, 4), "erosion", p=1)],
    "Morphological, larger than the picture": lambda: [A.Resize(5, 7), A.Morphological((20, 31), p=1)],
    "ISONoise of none": lambda: [A.Resize(40, 37), A.ISONoise((0.1, 0.1), (0, 0), p=1)],
    "Downscale": lambda: [A.Resize(40, 37), A.Downscale((0.3, 0.3), p=1)],
    "Downscale by hardly anything": lambda: [A.Resize(40, 37), A.Downscale((0.99, 0.99), p=1)],
    "Downscale of one pixel": lambda: [A.Resize(3, 3), A.Downscale((0.25, 0.25), p=1)],
    "MultiplicativeNoise of one number": lambda: [A.Resize(40, 37), A.MultiplicativeNoise((1.37, 1.37), p=1)],
    "MultiplicativeNoise of one number, of channels": lambda: [A.Resize(40, 37), A.MultiplicativeNoise((0.73, 0.73), per_channel=True, p=1)],
    "MultiplicativeNoise of one number, of pixels": lambda: [A.Resize(40, 37), A.MultiplicativeNoise((1.1, 1.1), elementwise=True, p=1)],
    "MultiplicativeNoise of one number, of values": lambda: [A.Resize(40, 37), A.MultiplicativeNoise((0.3, 0.3), True, True, p=1)],
    "MultiplicativeNoise by nothing": lambda: [A.Resize(40, 37), A.MultiplicativeNoise((0, 0), p=1)],
    "PixelDropout of all": lambda: [A.Resize(40, 37), A.PixelDropout(1, drop_value=(1, 2, 3), p=1)],
    "GridDropout without a chance": lambda: [A.Resize(40, 30), A.GridDropout(0.37, False, holes_number_xy=(4, 6), shift_xy=(2, 3), fill=(1, 2, 3), p=1)],
    "GridDropout of a unit": lambda: [A.Resize(40, 30), A.GridDropout(0.6, False, unit_size_range=(5, 6), shift_xy=(9, 0), p=1)],
    "GridDropout of tenths": lambda: [A.Resize(40, 30), A.GridDropout(0.9, False, p=1)],
    "ToSepia": lambda: [A.Resize(40, 37), A.ToSepia(p=1)],
    "a tone curve that is none": lambda: [A.Resize(40, 37), A.RandomToneCurve(0, p=1)],
    "tone curves that are none": lambda: [A.Resize(40, 37), A.RandomToneCurve(0, True, p=1)],
    "Equalize": lambda: [A.Resize(40, 37), A.Equalize(p=1)],
    "GaussNoise of its mean": lambda: [A.Resize(40, 36), A.GaussNoise(std_range=(0, 0), mean_range=(-0.3, -0.3), p=1)],
    "all of a normalized array a hole": lambda: [A.Resize(40, 36), A.Normalize(), A.CoarseDropout((3, 3), (40, 99), (36, 36), fill=(0.25, -2, 3), p=1)],
    "all holes": lambda: [A.Resize(40, 36), A.CoarseDropout(hole_height_range=(1, 1.0), hole_width_range=(1, 1), p=0), A.CoarseDropout((3, 3), (40, 99), (36, 36), fill=(1, 2, 3), p=1)],
    "OpticalDistortion": lambda: [A.Resize(40, 37), A.OpticalDistortion((0.4, 0.4), p=1)],
    "OpticalDistortion, mirrored": lambda: [A.Resize(41, 36), A.OpticalDistortion((-0.9, -0.9), border_mode=cv2.BORDER_REFLECT_101, p=1)],
    "ElasticTransform that moves nothing": lambda: [A.Resize(40, 37), A.ElasticTransform(0, 6, p=1)],
    "GridDistortion of no distortion": lambda: [A.Resize(40, 37), A.GridDistortion(distort_limit=(0, 0), p=1)],
    "GridDistortion, further in": lambda: [A.Resize(40, 37), A.GridDistortion(7, distort_limit=(0.2, 0.2), normalized=False, fill=(1, 2, 3), interpolation=cv2.INTER_NEAREST, p=1)],
    "Perspective of corners that stay": lambda: [A.Resize(40, 37), A.Perspective((0, 0), p=1)],
    "Rotate": lambda: [A.Resize(40, 36), A.Rotate((33.3, 33.3), p=1)],
    "Rotate, mirrored": lambda: [A.Resize(40, 36), A.Rotate((-70, -70), border_mode=cv2.BORDER_REFLECT_101, p=1)],
    "Rotate by 90": lambda: [A.Resize(41, 36), A.Rotate((90, 90), fill=(1, 2, 3), p=1)],
    "Rotate by 0": lambda: [A.Resize(41, 36), A.Rotate((0, 0), p=1)],
    "SafeRotate": lambda: [A.Resize(40, 36), A.SafeRotate((33.3, 33.3), fill=7, p=1)],
    "SafeRotate, oblong": lambda: [A.Resize(20, 61), A.SafeRotate((-100, -100), border_mode=cv2.BORDER_REFLECT_101, p=1)],
    "Affine": lambda: [A.Resize(40, 36), A.Affine(scale={"x": 0.8, "y": 1.3}, translate_percent={"x": 0.13, "y": -0.2}, rotate=-21, shear={"x": 9, "y": -4}, fill=114, p=1)],
    "Affine, pixels": lambda: [A.Resize(40, 36), A.Affine(translate_px={"x": 5, "y": -3}, p=1)],
    "Affine, whole pixels": lambda: [A.Resize(40, 36), A.Affine(translate_px={"x": -7, "y": 4}, interpolation=cv2.INTER_NEAREST, fill=(1, 2, 3), p=1)],
    "Affine, whole pixels and a border": lambda: [A.Resize(40, 36), A.Affine(translate_px={"x": 9, "y": -2}, interpolation=cv2.INTER_NEAREST, border_mode=cv2.BORDER_REFLECT, p=1)],
    "Affine, out of sight": lambda: [A.Resize(40, 36), A.Affine(translate_px={"x": -50, "y": 60}, interpolation=cv2.INTER_NEAREST, border_mode=cv2.BORDER_REFLECT_101, p=1)],
    "Affine, nearest": lambda: [A.Resize(40, 36), A.Affine(rotate=21, interpolation=cv2.INTER_NEAREST, border_mode=cv2.BORDER_REPLICATE, p=1)],
    "Affine ahead of a crop": lambda: [A.Affine(rotate=21, border_mode=cv2.BORDER_REFLECT, p=1), A.CenterCrop(28, 30)],
    "Affine between": lambda: [A.SmallestMaxSize(40), A.ShiftScaleRotate((0.1, 0.1), (0.2, 0.2), (45, 45), border_mode=cv2.BORDER_REFLECT_101, p=1), A.CenterCrop(28, 30)],
    "never": lambda: [A.Resize(40, 36), A.InvertImg(p=0), A.OneOf([A.HorizontalFlip()], p=0), A.D4(p=0)],
    "nested": lambda: [A.Compose([A.SmallestMaxSize(48), A.CenterCrop(40, 40)]), A.Sequential([A.InvertImg(p=1), A.NoOp()], p=1)],
    "one of one": lambda: [A.Resize(40, 36), A.OneOf([A.InvertImg(p=0.3)], p=1), A.OneOrOther(A.HorizontalFlip(p=0.1), A.NoOp(), p=1)],
    "coloured ahead of a resize": lambda: [A.RandomBrightnessContrast((0.2, 0.2), (0.1, 0.1), p=1), A.CLAHE((2, 2), p=1), A.HueSaturationValue((11, 11), (-9, -9), (5, 5), p=1), A.Affine(rotate=21, p=1), A.MedianBlur((5, 5), p=1),
                                           A.Sharpen((0.3, 0.3), (1, 1), p=1), A.ToSepia(p=1), A.Resize(40, 36)],
    "coloured between": lambda: [A.SmallestMaxSize(40), A.RandomGamma((70, 70), p=1), A.Blur((3, 3), p=1), A.RGBShift((9, 9), (-9, -9), (3, 3), p=1), A.CenterCrop(28, 30)],
    "again and again": lambda: [A.Affine(rotate=21, p=1), A.Resize(40, 36), A.InvertImg(p=1), A.Posterize(4, p=1), A.Blur((3, 3), p=1), A.Affine(rotate=-9, p=1), A.OneOf([A.Blur((5, 5), p=1)], p=1), A.Posterize(2, p=1), A.InvertImg(p=1)],
    "all of some": lambda: [A.Resize(40, 36), A.SomeOf([A.InvertImg(p=1), A.Posterize(2, p=1)], n=2)],
}


@pytest.mark.parametrize("name", EXACT)
def test_rows_have_albumentations_bytes(pictures, name):
    for path, pixels in pictures:
        transform = A.Compose(EXACT[name]())
        assert np.array_equal(row(path, transform), theirs(transform, pixels)), (name, pixels.shape)


@pytest.fixture(scope="module")
def ramp(tmp_path_factory):
    """Every value, and as many colours."""
    pixels = np.random.default_rng(5).integers(0, 256, (256, 256, 3)).astype(np.uint8)
    pixels[0] = np.arange(256)[:, None]
    Image.fromarray(pixels).save(path := tmp_path_factory.mktemp("ramp") / "a.png")
    return path, pixels


def test_tables_are_albumentations_for_any_number(ramp):
    path, pixels = ramp
    rng = np.random.default_rng(6)
    for i in range(60):
        brightness, contrast, gamma = rng.uniform(-0.5, 0.5), rng.uniform(-0.9, 1), rng.uniform(20, 300)
        for one in (A.RandomBrightnessContrast((brightness, brightness), (contrast, contrast), p=1), A.RandomGamma((gamma, gamma), p=1)):
            transform = A.Compose([A.CenterCrop(256, 256), one])
            assert np.array_equal(row(path, transform), theirs(transform, pixels)), one
    transform = A.Compose([A.CenterCrop(256, 256), A.ToGray(p=1)])
    assert np.array_equal(row(path, transform), theirs(transform, pixels))


def test_shifts_and_jitters_are_albumentations_for_any_number(ramp):
    """Every colour there is comes to HSV and back; lines are of whole vectors and of what is left of these."""
    path, pixels = ramp
    rng = np.random.default_rng(8)
    for i in range(60):
        h, s, v = (float(f) for f in rng.uniform(-90, 90, 3))
        width = int(rng.integers(190, 257))
        factor = {key: (float(f),) * 2 for key, f in zip(("brightness", "contrast", "saturation", "hue"), rng.uniform(0, 2, 4))}
        one = ("brightness", "contrast", "saturation", "hue")[i % 4]
        factor["hue"] = (factor["hue"][0] / 4 - 0.25,) * 2
        alone = {key: factor[key] if key == one else (0, 0) if key == "hue" else (1, 1) for key in factor}
        for transform in (A.HueSaturationValue((h, h), (s, s), (v, v), p=1), A.RGBShift((h, h), (s, s), (v, v), p=1), A.ColorJitter(**alone, p=1)):
            transform = A.Compose([A.CenterCrop(256, width), transform])
            assert np.array_equal(row(path, transform), theirs(transform, pixels)), transform
    for factor in (0, 0.1, 0.3, 0.5, 0.7, 1.3, 1.5, 1.9, 2, 3.5):  # halves are not drawn, and may be said
        for key in ("brightness", "contrast", "saturation"):
            alone = {"brightness": (1, 1), "contrast": (1, 1), "saturation": (1, 1), "hue": (0, 0), key: (factor, factor)}
            transform = A.Compose([A.CenterCrop(256, 251), A.ColorJitter(**alone, p=1)])
            assert np.array_equal(row(path, transform), theirs(transform, pixels)), transform


@pytest.fixture(scope="module")
def colours(tmp_path_factory):
    """All 16,777,216."""
    pixels = np.arange(1 << 24, dtype=np.uint32)
    pixels = np.stack([pixels >> 16, pixels >> 8, pixels], -1).astype(np.uint8).reshape(4096, 4096, 3)
    Image.fromarray(pixels).save(path := tmp_path_factory.mktemp("colours") / "a.png", compress_level=1)
    return path, pixels


def test_every_colour_comes_to_hsv_and_back_as_opencv_has_it(colours):
    path, pixels = colours
    transform = A.Compose([A.CenterCrop(4096, 4095), A.HueSaturationValue((31, 31), (-3, -3), (2, 2), p=1)])
    assert np.array_equal(row(path, transform), theirs(transform, pixels))


def test_clahe_has_opencv_bytes_for_any_number(pictures, ramp, colours):
    rng = np.random.default_rng(11)
    for i in range(60):
        path, pixels = [*pictures, ramp][i % (len(pictures) + 1)]
        limit, tiles, size = float(rng.uniform(1, 8)), tuple(int(n) for n in rng.integers(1, 12, 2)), rng.integers(12, 90, 2)
        transform = A.Compose([A.Resize(int(size[0]), int(size[1])), A.CLAHE((limit, limit), tiles, p=1)])
        assert np.array_equal(row(path, transform), theirs(transform, pixels)), (transform, size)
        grey = row(path, A.Compose([A.Resize(int(size[0]), int(size[1]))]), mode="luma")[..., 0]
        assert np.array_equal(row(path, transform, mode="luma")[..., 0], cv2.createCLAHE(limit, tiles).apply(grey))
    path, pixels = colours
    transform = A.Compose([A.CenterCrop(4096, 4096), A.CLAHE((2, 2), p=1)])
    assert np.array_equal(row(path, transform), theirs(transform, pixels)), "of all colours"


def test_turns_have_opencv_bytes_for_any_number(pictures):
    rng = np.random.default_rng(9)
    borders = (cv2.BORDER_CONSTANT, cv2.BORDER_REPLICATE, cv2.BORDER_REFLECT, cv2.BORDER_REFLECT_101)
    for i in range(80):
        path, pixels = pictures[i % len(pictures)]
        one = lambda a, b: (float(v := rng.uniform(a, b)), float(v))  # noqa: E731
        transform = A.Compose([A.Affine(scale={"x": one(0.3, 3), "y": one(0.3, 3)}, translate_percent={"x": one(-0.5, 0.5), "y": one(-0.5, 0.5)}, rotate=one(-180, 180),
                                        shear={"x": one(-40, 40), "y": one(-40, 40)}, border_mode=borders[i // 2 % 4], fill=(1, 99, 200), interpolation=i % 2, p=1), A.CenterCrop(31, 33)])
        assert np.array_equal(row(path, transform), theirs(transform, pixels)), transform


def test_blurs_have_opencv_bytes_for_any_number(pictures, ramp):
    rng = np.random.default_rng(10)
    for i in range(60):
        path, pixels = [*pictures, ramp][i % (len(pictures) + 1)]
        k, sigma, angle, direction = int(rng.integers(1, 9)) * 2 + 1, float(rng.uniform(0.1, 5)), float(rng.uniform(0, 360)), float(rng.uniform(-1, 1))
        motion = min(k, 11)  # beyond it filter2D goes another way
        for one in (A.Blur((k, k), p=1), A.MedianBlur((k, k), p=1), A.GaussianBlur(sigma_limit=(sigma, sigma), p=1), A.GaussianBlur((k, k), (sigma, sigma), p=1),
                    A.MotionBlur((motion, motion), allow_shifted=False, angle_range=(angle, angle), direction_range=(direction, direction), p=1),
                    A.MotionBlur((motion, motion), allow_shifted=False, angle_range=(45 * (i % 8),) * 2, direction_range=(i % 3 - 1,) * 2, p=1)):
            transform = A.Compose([A.CenterCrop(min(pixels.shape[0], 64), min(pixels.shape[1], 61)), one])
            assert np.array_equal(row(path, transform), theirs(transform, pixels)), transform
    big = A.MotionBlur((21, 21), allow_shifted=False, angle_range=(30, 30), direction_range=(0, 0), p=1)
    transform = A.Compose([A.CenterCrop(200, 201), big])
    assert np.abs(row(ramp[0], transform).astype(int) - theirs(transform, ramp[1])).max() <= 1


def test_kernels_and_tables_have_opencv_bytes_for_any_number(pictures, ramp, colours):
    rng = np.random.default_rng(13)
    for i in range(60):
        path, pixels = [*pictures, ramp][i % (len(pictures) + 1)]
        alpha, by = (float(f) for f in rng.uniform(0, (1, 4)))
        for one in (A.Sharpen((alpha, alpha), (by, by), p=1), A.Emboss((alpha, alpha), (by, by), p=1), A.Equalize(p=1), A.ToSepia(p=1)):
            transform = A.Compose([A.CenterCrop(min(pixels.shape[0], 64), min(pixels.shape[1], 61 - i % 40)), one])
            assert np.array_equal(row(path, transform), theirs(transform, pixels)), transform
    path, pixels = colours
    for width in (4096, 4095):
        transform = A.Compose([A.CenterCrop(4095, width), A.ToSepia(p=1)])
        assert np.array_equal(row(path, transform), theirs(transform, pixels)), "of all colours"
    assert "to_sepia" not in str(spdl.describe({"image": {"mode": "gray", "transform": A.Compose([A.Resize(8, 8), A.ToSepia(p=1)])}}))


def rows_of(tmp_path, lines, spec):
    """Batches of samples that a table lists."""
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    spec = {**spec, "source": {"list": str(tmp_path / "t.jsonl"), **spec.get("source", {})}, "batch": len(lines), "order": {"shuffle": False, "seed": 3}}
    with spdl.open(spec) as loader:
        return {name: [np.array(row) for row in column] for name, column in next(iter(loader)).items() if name in ("image", "bboxes", "keypoints")}


def test_holes_have_sides_of_their_range_and_lie_anywhere(ramp, tmp_path):
    path, pixels = ramp
    seen = set()
    spec = {"image": {"transform": [{"center_crop": [30, 40]}, {"coarse_dropout": {"holes": 1, "height": [0.1, 0.35], "width": [0.2, 0.5], "fill": [1, 2, 3], "p": 1}}]}}
    whole = pixels[113:143, 108:148]
    for got in rows_of(tmp_path, [{"path": str(path)}] * 400, spec)["image"]:
        covered = (got == (1, 2, 3)).all(-1)
        assert np.array_equal(got[~covered], whole[~covered])
        y, x = np.nonzero(covered)
        h, w = int(np.ptp(y)) + 1, int(np.ptp(x)) + 1
        assert covered.sum() == h * w
        seen.add((h, w, int(y.min()), int(x.min())))
    heights, widths, tops, lefts = (sorted({s[i] for s in seen}) for i in range(4))
    assert heights == list(range(3, 11)) and widths == list(range(8, 20)), "int(30 u) and int(40 u)"
    assert tops[0] == 0 and lefts[0] == 0 and max(s[0] + s[2] for s in seen) == 30 and max(s[1] + s[3] for s in seen) == 40


def test_downscaled_rows_have_opencv_bytes_for_any_number(pictures, ramp):
    rng = np.random.default_rng(14)
    for i in range(150):
        path, pixels = [*pictures, ramp][i % (len(pictures) + 1)]
        scale = float([rng.uniform(0.05, 1), 1 / rng.integers(1, 9), 0.1 * rng.integers(1, 10)][i % 3])
        if min(pixels.shape[:2]) * scale < 0.51:
            continue
        transform = A.Compose([A.CenterCrop(min(pixels.shape[0], 64), min(pixels.shape[1], 61)), A.Downscale((scale, scale), p=1)])
        assert np.array_equal(row(path, transform), theirs(transform, pixels)), (transform, pixels.shape)


def test_holes_of_a_grid_lie_anywhere_in_their_cells(ramp, tmp_path):
    """Of 30 x 40 in 4 x 7 cells, of which some are a pixel larger: each has one hole, of half of its sides."""
    path, pixels = ramp
    whole, tops, lefts, sizes = pixels[113:143, 108:148], set(), set(), {}
    spec = {"image": {"transform": [{"center_crop": [30, 40]}, {"grid_dropout": {"ratio": 0.5, "grid": [4, 7], "fill": [1, 2, 3], "p": 1}}]}}
    for got in rows_of(tmp_path, [{"path": str(path)}] * 300, spec)["image"]:
        covered = (got == (1, 2, 3)).all(-1)
        assert np.array_equal(got[~covered], whole[~covered])
        sizes[int(covered.sum())] = sizes.get(int(covered.sum()), 0) + 1
        y, x = np.nonzero(covered[:8, :6])  # the first cell, which has 7 or 8 lines and 5 or 6 columns
        tops.add(int(y.min()))
        lefts.add(int(x.min()))
    assert tops == {0, 1, 2, 3, 4} and lefts >= {0, 1, 2, 3}
    # of 4 parts of 30 two have 8 lines and two 7, and holes of 4 and 3; of 7 parts of 40 five have 6 columns and two 5, and holes of 3 and 2
    assert sizes == {(2 * 4 + 2 * 3) * (5 * 3 + 2 * 2): 300}


def test_pixels_are_dropped_by_their_chance(ramp, tmp_path):
    path, pixels = ramp
    whole = pixels[96:160, 96:160]
    for each in (False, True):
        spec = {"image": {"transform": [{"center_crop": 64}, {"pixel_dropout": {"share": 0.2, "per_channel": each, "fill": [3, 2, 1], "p": 1}}]}}
        dropped = np.stack([got != whole for got in rows_of(tmp_path, [{"path": str(path)}] * 100, spec)["image"]])
        assert np.abs(dropped.mean((0, 1, 2)) - 0.2 * 255 / 256).max() < 0.005, "one value in 256 is what it becomes"
        both = (dropped[..., 0] & dropped[..., 1]).mean()
        assert abs(both - (0.04 if each else 0.2)) < 0.006, "channels by themselves, or together"
        assert abs(np.corrcoef(dropped[:, :, 1:, 0].ravel(), dropped[:, :, :-1, 0].ravel())[0, 1]) < 0.01 and abs(np.corrcoef(dropped[1:, ..., 0].ravel(), dropped[:-1, ..., 0].ravel())[0, 1]) < 0.01


def test_tone_curves_are_albumentations_and_moved_by_normal_numbers(tmp_path):
    """Each row is by a curve of theirs: at the two points that three of its values tell. These lie around theirs as normal numbers do."""
    from albumentations.augmentations.pixel.functional import move_tone_curve

    many = 400
    curve = lambda low, high: move_tone_curve(np.arange(256, dtype=np.uint8)[:, None, None], low, high)[:, 0, 0].astype(int)  # noqa: E731
    t = np.arange(256) / 255
    for each in (False, True):
        spec = {"image": {"transform": [{"center_crop": [1, 256]}, {"random_tone_curve": {"scale": 0.1, "per_channel": each, "p": 1}}]}}
        gray = np.repeat(np.arange(256, dtype=np.uint8)[None, :, None], 3, 2)
        Image.fromarray(gray).save(tmp_path / "gray.png")
        points = []
        for got in rows_of(tmp_path, [{"path": str(tmp_path / "gray.png")}] * many, spec)["image"]:
            assert each or (got[..., :1] == got).all()
            for ch in range(3 if each else 1):
                values = got[0, :, ch].astype(int)
                inside = (values > 0) & (values < 255)  # which are not cut
                basis = np.stack([3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2], 1)[inside] * 255
                low, high = np.linalg.lstsq(basis, (values - t**3 * 255)[inside], rcond=None)[0]
                assert np.abs(curve(low, high) - values).max() <= 1
                points.append((low, high))
        points = np.array(points)
        free = points[(points > 0.01).all(1) & (points < 0.99).all(1)]
        assert np.abs(free.mean(0) - (0.25, 0.75)).max() < 0.02 and np.abs(free.std(0) - 0.1).max() < 0.015 and abs(np.corrcoef(free.T)[0, 1]) < 0.15
        normal = (free - (0.25, 0.75)) / 0.1
        assert np.abs((np.abs(normal) < 0.6745).mean(0) - 0.5).max() < 0.08, "half of them within two thirds of the deviation"


def test_so_many_of_several_are_picked_alike_and_done_in_their_order(ramp, tmp_path):
    """Of SomeOf(n=3) of five each of the ten sets comes as often, and makes what theirs makes of it."""
    path, pixels = ramp
    some = [A.HorizontalFlip(p=1), A.InvertImg(p=1), A.VerticalFlip(p=1), A.Posterize(3, p=1), A.Sharpen((0.3, 0.3), (1, 1), p=1)]
    crop, made, seen = A.CenterCrop(32, 32), {}, {}
    for chosen in itertools.combinations(range(5), 3):
        made[theirs(A.Compose([crop, *(some[i] for i in chosen)]), pixels).tobytes()] = chosen
    spec = {"image": {"transform": A.Compose([crop, A.SomeOf(some, n=3)])}}
    for got in rows_of(tmp_path, [{"path": str(path)}] * 1000, spec)["image"]:
        chosen = made[got.tobytes()]
        seen[chosen] = seen.get(chosen, 0) + 1
    assert len(made) == len(seen) == 10 and all(abs(n - 100) < 45 for n in seen.values()), seen


def test_channels_are_dropped_alike(ramp, tmp_path):
    path, pixels = ramp
    whole, seen = pixels[96:160, 96:160], {}
    spec = {"image": {"transform": [{"center_crop": 64}, {"channel_dropout": {"channels": [1, 2], "fill": 7, "p": 0.75}}]}}
    for got in rows_of(tmp_path, [{"path": str(path)}] * 800, spec)["image"]:
        dropped = tuple(bool((got[..., ch] == 7).all()) for ch in range(3))
        for ch in range(3):
            assert dropped[ch] or np.array_equal(got[..., ch], whole[..., ch])
        seen[dropped] = seen.get(dropped, 0) + 1
    assert len(seen) == 7 and abs(seen.pop((False, False, False)) - 200) < 50 and all(abs(n - 100) < 40 for n in seen.values()), seen


def test_boxes_and_points_turn_with_their_pictures(pictures, tmp_path):
    """Boxes as theirs do. Points as theirs do that are pixels: half a pixel lies between the middle of a pixel and its place."""
    rng = np.random.default_rng(12)
    for transform in (A.Affine(scale=0.8, translate_percent=0.1, rotate=21, shear=5, p=1), A.Rotate((-130, -130), border_mode=cv2.BORDER_REPLICATE, p=1)):
        compose = A.Compose([A.Resize(40, 50), transform], bbox_params=A.BboxParams("pascal_voc", label_fields=["ids"]), keypoint_params=A.KeypointParams("xy", remove_invisible=False))
        lines, wanted = [], []
        for path, pixels in pictures:
            h, w = pixels.shape[:2]
            low, size = rng.uniform(0, 0.6, (5, 2)) * (w, h), rng.uniform(0.1, 0.4, (5, 2)) * (w, h)
            boxes, points = np.concatenate([low, low + size], 1), rng.uniform(0, 1, (3, 2)) * (w, h)
            scale = np.array([50 / w, 40 / h])
            lines.append({"path": str(path), "bboxes": boxes.tolist(), "keypoints": points.tolist()})
            made = compose(image=pixels, bboxes=boxes, ids=list(range(5)), keypoints=(points * scale - 0.5) / scale)
            wanted.append((made["bboxes"], made["keypoints"] + 0.5))
        columns = [{"name": name, "type": "list", "dtype": "f32", "shape": [-1, n], "max_length": 8} for name, n in (("bboxes", 4), ("keypoints", 2))]
        columns.append({"name": "ids", "type": "list", "dtype": "i64", "max_length": 8})
        got = rows_of(tmp_path, [{**line, "ids": list(range(5))} for line in lines], {"source": {"columns": columns}, "image": {"transform": compose}})
        for i, (boxes, points) in enumerate(wanted):
            np.testing.assert_allclose(got["bboxes"][i], boxes, atol=2e-4)
            np.testing.assert_allclose(got["keypoints"][i], points, atol=2e-4)


def test_all_eight_positions_of_a_picture_come_alike_ahead_of_a_resize_and_boxes_follow(tmp_path):
    pixels = np.zeros((20, 30, 3), np.uint8)
    pixels[2:8, 3:15] = 255
    Image.fromarray(pixels).save(tmp_path / "a.png")
    columns = [{"name": "bboxes", "type": "list", "dtype": "f32", "shape": [-1, 4], "max_length": 8}]
    compose = A.Compose([A.D4(p=1), A.Resize(60, 60, cv2.INTER_NEAREST)], bbox_params=A.BboxParams("pascal_voc"))
    whole, seen = [np.rot90(side, k) for side in (pixels, pixels[:, ::-1]) for k in range(4)], {}
    spec = {"source": {"columns": columns}, "image": {"transform": compose}}
    got = rows_of(tmp_path, [{"path": str(tmp_path / "a.png"), "bboxes": [[3, 2, 15, 8]]}] * 400, spec)
    for row, (box,) in zip(got["image"], got["bboxes"]):
        (k,) = [k for k, one in enumerate(whole) if np.array_equal(row, cv2.resize(np.ascontiguousarray(one), (60, 60), interpolation=cv2.INTER_NEAREST))]
        y, x = np.nonzero(row[..., 0])
        np.testing.assert_allclose(box, [x.min(), y.min(), x.max() + 1, y.max() + 1], atol=1e-3)
        seen[k] = seen.get(k, 0) + 1
    assert len(seen) == 8 and all(abs(n - 50) < 30 for n in seen.values()), seen


def test_boxes_and_points_follow_a_perspective(tmp_path):
    """Around what they were around: a bright part of a dark picture."""
    pixels = np.zeros((60, 80, 3), np.uint8)
    pixels[20:44, 24:64] = 255
    Image.fromarray(pixels).save(tmp_path / "a.png")
    columns = [{"name": name, "type": "list", "dtype": "f32", "shape": [-1, n], "max_length": 8} for name, n in (("bboxes", 4), ("keypoints", 2))]
    seen = 0
    for ahead in (False, True):
        transform = [{"cv2_perspective": {"scale": 0.15, "p": 1}}]
        transform = [*transform, {"center_crop": [60, 80]}] if ahead else [{"center_crop": [60, 80]}, *transform]
        image = {"transform": transform, "boxes": {"column": "bboxes", "format": "xyxy"}, "points": {"column": "keypoints", "remove_invisible": False}}
        corners = [[24, 20], [64, 20], [64, 44], [24, 44]]
        got = rows_of(tmp_path, [{"path": str(tmp_path / "a.png"), "bboxes": [[24, 20, 64, 44]], "keypoints": corners}] * 40, {"source": {"columns": columns}, "image": image})
        for pixels, (box,), points in zip(got["image"], got["bboxes"], got["keypoints"]):
            y, x = np.nonzero(pixels[..., 0] > 127)
            inside = [max(float(points[:, 0].min()), 0), max(float(points[:, 1].min()), 0), min(float(points[:, 0].max()), 80), min(float(points[:, 1].max()), 60)]
            np.testing.assert_allclose(box, inside, atol=1e-3)
            if (points >= 0).all() and (points <= (80, 60)).all():  # else the box is around corners that are not there to be seen
                np.testing.assert_allclose(box, [x.min(), y.min(), x.max() + 1, y.max() + 1], atol=1.5)
                seen += 1
    assert seen > 10


def test_masks_turn_with_their_pictures(tmp_path):
    rng = np.random.default_rng(4)
    for i, (w, h) in enumerate(SIZES):
        mask = rng.integers(0, 20, (h, w)).astype(np.uint8)
        Image.fromarray(mask).save(tmp_path / "a.png")
        transform = A.Compose([A.Resize(40, 36, mask_interpolation=cv2.INTER_NEAREST), A.HueSaturationValue(p=1), A.Affine(rotate=21 + i, scale=0.8, fill=3, fill_mask=255, p=1)])
        want = transform(image=np.zeros((h, w, 3), np.uint8), mask=mask)["mask"]
        assert np.array_equal(row(tmp_path / "a.png", transform, mode="index")[..., 0], want), i


FLOATS = {
    "Normalize": lambda: [A.Resize(40, 36), A.Normalize()],
    "Normalize, other numbers": lambda: [A.Resize(40, 36), A.Normalize(0.5, 0.25), A.HorizontalFlip(p=1)],
    "Normalize, of another range": lambda: [A.Resize(40, 36), A.Normalize((1, 2, 3), (4, 5, 6), max_pixel_value=1)],
    "ToFloat": lambda: [A.Resize(40, 36), A.ToFloat()],
    "ToFloat, Normalize": lambda: [A.Resize(40, 36), A.ToFloat(255), A.Normalize((0.4, 0.5, 0.6), (0.2, 0.3, 0.4), max_pixel_value=1), A.CenterCrop(30, 30)],
}


@pytest.mark.parametrize("name", FLOATS)
def test_floats_lie_within_the_rounding_of_32_bits(pictures, name):
    """Their tables multiply by one over std where ours divides by it: the last two bits."""
    for path, pixels in pictures:
        transform = A.Compose(FLOATS[name]())
        ours, want = row(path, transform), theirs(transform, pixels)
        assert ours.dtype == want.dtype == np.float32 and ours.shape == want.shape
        np.testing.assert_allclose(ours, want, rtol=3e-7, atol=6e-7 * max(1, np.abs(want).max()))


def test_tensors_have_channels_first(pictures):
    torch = pytest.importorskip("torch")
    from albumentations.pytorch import ToTensorV2

    for more, dtype in (([], np.uint8), ([A.Normalize()], np.float32)):
        for path, pixels in pictures[:3]:
            transform = A.Compose([A.Resize(40, 36), *more, ToTensorV2()])
            ours, want = row(path, transform), transform(image=pixels)["image"]
            assert isinstance(want, torch.Tensor) and ours.dtype == dtype and ours.shape == tuple(want.shape)
            assert np.abs(ours.astype(np.float64) - want.numpy()).max() <= (0 if dtype == np.uint8 else 2e-6)
    with pytest.raises(spdl.SpecError, match=r"transforms\[2\]: HorizontalFlip.*works on an array, and a tensor is in hand"):
        spdl.describe(A.Compose([A.Resize(8, 8), ToTensorV2(), A.HorizontalFlip()]))


def test_masks_are_told_by_what_a_compose_does_to_masks(tmp_path):
    """mask_interpolation, fill_mask, and nothing of what changes colours."""
    rng = np.random.default_rng(3)
    for i, (w, h) in enumerate(SIZES):
        mask = rng.integers(0, 20, (h, w)).astype(np.uint8)
        Image.fromarray(mask).save(tmp_path / "a.png")
        for transform in (
            A.Compose([A.Resize(40, 36, mask_interpolation=cv2.INTER_NEAREST), A.OpticalDistortion((0.3, 0.3), fill=3, fill_mask=255, p=1), A.GridDistortion(distort_limit=(-0.2, -0.2), normalized=False, p=1)]),
            A.Compose([A.Resize(40, 40, mask_interpolation=cv2.INTER_NEAREST), A.Transpose(p=1), A.Sharpen(p=1), A.UnsharpMask(p=1), A.Emboss(p=1), A.ToSepia(p=1), A.RandomToneCurve(p=1), A.ChannelDropout(p=1), A.Equalize(p=1),
                       A.GridDropout(p=1), A.PixelDropout(p=1), A.Downscale(p=1), A.MultiplicativeNoise(p=1), A.ISONoise(p=1)]),
            A.Compose([A.Resize(40, 36, mask_interpolation=cv2.INTER_NEAREST), A.InvertImg(p=1), A.HorizontalFlip(p=1), A.Normalize()]),
            A.Compose([A.LongestMaxSize(48), A.PadIfNeeded(48, 50, fill=114, fill_mask=255), A.OneOf([A.InvertImg(), A.Solarize()], p=1), A.VerticalFlip(p=1)]),
        ):
            want = transform(image=np.zeros((h, w, 3), np.uint8), mask=mask)["mask"]
            assert np.array_equal(row(tmp_path / "a.png", transform, mode="index")[..., 0], want), (i, transform)
    picked = A.Compose([A.Resize(8, 8), A.SomeOf([A.InvertImg(), A.Solarize(), A.Sharpen()], n=2)])
    assert "random_choice" in str(spdl.describe({"image": {"transform": picked}})) and "random_choice" not in str(spdl.describe({"image": {"mode": "index", "transform": picked}}))
    with pytest.raises(spdl.SpecError, match="SomeOf.*got one of several of which some leave a mask as it is"):
        spdl.describe({"image": {"mode": "index", "transform": A.Compose([A.Resize(8, 8), A.SomeOf([A.InvertImg(), A.HorizontalFlip(), A.VerticalFlip()], n=2)])}})
    with pytest.raises(spdl.SpecError, match="OneOf.*got one of several of which some leave a mask as it is"):
        spdl.describe({"image": {"mode": "index", "transform": A.Compose([A.Resize(8, 8), A.OneOf([A.InvertImg(), A.HorizontalFlip()])])}})


def test_random_crops_are_parts_of_what_albumentations_resizes(pictures):
    """Wherever the crop lies, it is of the same pixels; and a RandomResizedCrop is cv2.resize of what it took."""
    for path, pixels in pictures:
        transform = A.Compose([A.SmallestMaxSize(40), A.RandomCrop(32, 30)])
        whole, part = theirs(A.SmallestMaxSize(40), pixels), row(path, transform)
        assert any(np.array_equal(part, whole[y : y + 32, x : x + 30]) for y in range(whole.shape[0] - 31) for x in range(whole.shape[1] - 29))
        at_most = A.Compose([A.RandomResizedCrop((24, 20), scale=(1, 1), ratio=(pixels.shape[1] / pixels.shape[0],) * 2)])
        assert np.array_equal(row(path, at_most), theirs(at_most, pixels))


ROOM = [{"resize": {"size": [16, 16], "interpolation": "cv2_linear"}}]
DESCRIBED = {
    "evaluation": (lambda: A.Compose([A.SmallestMaxSize(256), A.CenterCrop(224, 224), A.Normalize()]),
                   {"transform": [{"resize": {"size": 256, "rounding": "nearest", "interpolation": "cv2_linear"}}, {"center_crop": {"size": 224, "rounding": "down"}}, {"normalize": "imagenet"}],
                    "dtype": "f32"}),
    "training": (lambda: A.Compose([A.RandomResizedCrop((64, 64), (0.2, 1)), A.HorizontalFlip(), A.RandomRotate90(p=0.3), A.ChannelShuffle(p=0.1), A.ToFloat()]),
                 {"transform": [{"random_resized_crop": {"size": 64, "scale": [0.2, 1], "interpolation": "cv2_linear"}}, {"horizontal_flip": 0.5}, {"random_rotate90": 0.3},
                                {"random_channel_permutation": 0.1}], "dtype": "f32"}),
    "RandomSizedCrop": (lambda: [A.RandomSizedCrop((128, 256), (64, 64))], {"transform": [{"random_resized_crop": {"size": 64, "height": [128, 256], "interpolation": "cv2_linear"}}]}),
    "RandomSizedCrop of a ratio": (lambda: [A.RandomSizedCrop((128, 128), (64, 32), 0.5, cv2.INTER_AREA)],
                                   {"transform": [{"random_resized_crop": {"size": [64, 32], "height": [128, 128], "ratio": [0.5, 0.5], "interpolation": "cv2_area"}}]}),
    "light": (lambda: [A.Resize(16, 16), A.RandomBrightnessContrast(), A.RandomGamma(p=0.25), A.ToGray(p=0.1)],
              {"transform": [*ROOM, {"random_brightness_contrast": {"brightness": [-0.2, 0.2], "contrast": [0.8, 1.2], "p": 0.5}}, {"random_gamma": {"gamma": [0.8, 1.2], "p": 0.25}}, {"cv2_grayscale": 0.1}]}),
    "one of light": (lambda: [A.Resize(16, 16), A.OneOf([A.RandomBrightnessContrast(p=1), A.RandomGamma(p=1), A.ToGray(p=1)], p=0.5)],
                     {"transform": [*ROOM, {"random_choice": [{"random_brightness_contrast": {"brightness": [-0.2, 0.2], "contrast": [0.8, 1.2], "p": 0.5}},
                                                              {"random_gamma": {"gamma": [0.8, 1.2], "p": 0.5}}, {"cv2_grayscale": 0.5}]}]}),
    "colours": (lambda: [A.Resize(16, 16), A.HueSaturationValue(), A.RGBShift(r_shift_limit=(-51, 51), p=0.25), A.ColorJitter(hue=0.25, p=1)],
                {"transform": [*ROOM, {"hue_saturation_value": {"hue": [-20, 20], "saturation": [-30, 30], "value": [-20, 20], "p": 0.5}},
                               {"rgb_shift": {"red": [-51, 51], "green": [-20, 20], "blue": [-20, 20], "p": 0.25}},
                               {"cv2_color_jitter": {"brightness": [0.8, 1.2], "contrast": [0.8, 1.2], "saturation": [0.8, 1.2], "hue": [-0.25, 0.25], "p": 1}}]}),
    "blurs": (lambda: [A.Resize(16, 16), A.Blur(), A.MedianBlur(5), A.GaussianBlur(), A.GaussianBlur((3, 7), (0, 2), p=0), A.MotionBlur(allow_shifted=False, angle_range=(0, 90), p=0.1)],
              {"transform": [*ROOM, {"box_blur": {"kernel_size": [3, 7], "p": 0.5}}, {"median_blur": {"kernel_size": [3, 5], "p": 0.5}}, {"cv2_gaussian_blur": {"sigma": [0.5, 3], "p": 0.5}},
                             {"motion_blur": {"kernel_size": [3, 7], "angle": [0, 90], "shifted": False, "p": 0.1}}]}),
    "a blur of a size": (lambda: [A.Resize(16, 16), A.GaussianBlur((3, 7), (0, 2))], {"transform": [*ROOM, {"cv2_gaussian_blur": {"sigma": [0.001, 2], "kernel_size": [3, 7], "p": 0.5}}]}),
    "one of blurs": (lambda: [A.Resize(16, 16), A.OneOf([A.MotionBlur(p=0.2), A.MedianBlur(3, p=0.1), A.GaussNoise(p=0.1)], p=0.2)],
                     {"transform": [*ROOM, {"random_choice": {"transforms": [{"motion_blur": {"kernel_size": [3, 7], "p": 0.2}}, {"median_blur": {"kernel_size": [3, 3], "p": 0.2}},
                                                                             {"gaussian_noise": {"sigma": [0.2, 0.44], "p": 0.2}}], "p": [0.2, 0.1, 0.1]}}]}),
    "compression": (lambda: [A.Resize(16, 16), A.ImageCompression(quality_range=(60, 90))], {"transform": [*ROOM, {"jpeg": {"quality": [60, 90], "channels": "bgr", "p": 0.5}}]}),
    "CLAHE": (lambda: [A.Resize(16, 16), A.CLAHE(), A.CLAHE((2, 3), (4, 5), p=0)], {"transform": [*ROOM, {"clahe": {"clip_limit": [1, 4], "p": 0.5}}]}),
    "CLAHE of other tiles": (lambda: [A.Resize(16, 16), A.CLAHE((2, 3), (4, 5), p=1)], {"transform": [*ROOM, {"clahe": {"clip_limit": [2, 3], "tiles": [4, 5], "p": 1}}]}),
    "holes": (lambda: [A.Resize(16, 16), A.CoarseDropout(), A.InvertImg(p=0.5)],
              {"transform": [*ROOM, {"coarse_dropout": {"holes": [1, 2], "height": [0.1, 0.2], "width": [0.1, 0.2], "p": 0.5}}, {"invert": 0.5}]}),
    "holes behind Normalize": (lambda: [A.Resize(16, 16), A.Normalize(), A.CoarseDropout(p=0.5)],
                               {"transform": [*ROOM, {"normalize": "imagenet"}, {"random_erasing": {"holes": [1, 2], "height": [0.1, 0.2], "width": [0.1, 0.2], "p": 0.5}}], "dtype": "f32"}),
    "holes in floats": (lambda: [A.Resize(16, 16), A.ToFloat(), A.CoarseDropout((1, 8), (2, 5), (1, 9), fill=(0.5, 0, 1), p=1)],
                        {"transform": [*ROOM, {"random_erasing": {"holes": [1, 8], "height": [2, 5], "width": [1, 9], "pixels": True, "p": 1, "value": [0.5, 0, 1]}}], "dtype": "f32"}),
    "holes of pixels": (lambda: [A.Resize(16, 16), A.CoarseDropout((1, 8), (2, 5.5), (1, 9), fill=128)],
                        {"transform": [*ROOM, {"coarse_dropout": {"holes": [1, 8], "height": [2, 5], "width": [1, 9], "pixels": True, "p": 0.5, "fill": 128}}]}),
    "ShiftScaleRotate": (lambda: [A.Resize(16, 16), A.ShiftScaleRotate(p=0.7)],
                         {"transform": [*ROOM, {"cv2_affine": {"degrees": [-45, 45], "translate": [-0.0625, 0.0625], "scale": [0.9, 1.1], "p": 0.7}}]}),
    "Affine": (lambda: [A.Resize(16, 16), A.Affine(scale=(0.5, 2), translate_px={"x": (-3, 4), "y": 0}, rotate=(-9, 9), shear={"x": 5, "y": (1, 2)}, keep_ratio=True, border_mode=cv2.BORDER_REFLECT_101)],
               {"transform": [*ROOM, {"cv2_affine": {"degrees": [-9, 9], "translate_px": [-3, 4, 0, 0], "scale": [0.5, 2], "shear": [5, 5, 1, 2], "keep_ratio": True, "p": 0.5, "padding_mode": "reflect"}}]}),
    "Perspective": (lambda: [A.Perspective((0, 0.2), fill=9, p=0.3), A.Resize(16, 16)],
                    {"transform": [{"cv2_perspective": {"scale": [0, 0.2], "p": 0.3, "fill": 9}}, *ROOM]}),
    "bent": (lambda: [A.Resize(16, 16), A.OneOf([A.OpticalDistortion(p=0.3), A.GridDistortion(p=0.1)], p=0.2)],
             {"transform": [*ROOM, {"random_choice": {"transforms": [{"optical_distortion": {"limit": [-0.05, 0.05], "p": 0.2}}, {"grid_distortion": {"limit": [-0.3, 0.3], "p": 0.2}}], "p": [0.3, 0.1]}}]}),
    "bent otherwise": (lambda: [A.Resize(16, 16), A.OpticalDistortion(0.5, fill=9), A.GridDistortion(3, (0, 0.5), cv2.INTER_NEAREST, False, border_mode=cv2.BORDER_REPLICATE, p=1)],
                       {"transform": [*ROOM, {"optical_distortion": {"limit": [-0.5, 0.5], "p": 0.5, "fill": 9}},
                                      {"grid_distortion": {"limit": [0, 0.5], "num_steps": 3, "normalized": False, "p": 1, "interpolation": "cv2_nearest", "padding_mode": "edge"}}]}),
    "SafeRotate": (lambda: [A.Resize(16, 16), A.SafeRotate(30, p=1)], {"transform": [*ROOM, {"cv2_affine": {"degrees": [-30, 30], "fit": True, "p": 1}}]}),
    "Rotate": (lambda: [A.Resize(16, 16), A.Rotate(fill=9)], {"transform": [*ROOM, {"cv2_affine": {"degrees": [-90, 90], "p": 0.5, "fill": 9}}]}),
    "several of several": (lambda: [A.Resize(16, 16), A.OneOf([A.HorizontalFlip(p=1), A.Rotate(p=1)], p=1), A.OneOf([A.RandomGamma(p=1), A.ToGray(p=1)], p=1), A.OneOf([A.InvertImg(p=1), A.RGBShift(p=1)], p=0.5)],
                           {"transform": [*ROOM, {"random_choice": [{"horizontal_flip": 1}, {"cv2_affine": {"degrees": [-90, 90], "p": 1}}]},
                                          {"random_choice": [{"random_gamma": {"gamma": [0.8, 1.2], "p": 1}}, {"cv2_grayscale": 1}]},
                                          {"random_choice": [{"invert": 0.5}, {"rgb_shift": {"red": [-20, 20], "green": [-20, 20], "blue": [-20, 20], "p": 0.5}}]}]}),
    "effects": (lambda: [A.Resize(16, 16), A.Transpose(), A.Sharpen(p=0.2), A.Emboss((0.1, 0.3)), A.ToSepia(p=0.1), A.RandomToneCurve(p=0.3), A.ChannelDropout((1, 2), 128), A.Equalize(p=0.1)],
                {"transform": [*ROOM, {"transpose": 0.5}, {"sharpen": {"alpha": [0.2, 0.5], "lightness": [0.5, 1], "p": 0.2}}, {"emboss": {"alpha": [0.1, 0.3], "strength": [0.2, 0.7], "p": 0.5}},
                               {"to_sepia": 0.1}, {"random_tone_curve": {"scale": 0.1, "p": 0.3}}, {"channel_dropout": {"channels": [1, 2], "p": 0.5, "fill": 128}}, {"cv2_equalize": 0.1}]}),
    "holes of a grid": (lambda: [A.Resize(16, 16), A.GridDropout(0.4, unit_size_range=(3, 6), fill=9), A.PixelDropout(0.1, True, 255, p=1), A.Downscale((0.25, 0.5))],
                        {"transform": [*ROOM, {"grid_dropout": {"ratio": 0.4, "unit_size": [3, 5], "p": 0.5, "fill": 9}}, {"pixel_dropout": {"share": 0.1, "per_channel": True, "p": 1, "fill": 255}},
                                       {"downscale": {"scale": [0.25, 0.5], "p": 0.5}}]}),
    "holes in rows": (lambda: [A.Resize(16, 16), A.GridDropout(random_offset=False, holes_number_xy=(3, 4), shift_xy=(1, 2))],
                      {"transform": [*ROOM, {"grid_dropout": {"ratio": 0.5, "grid": [3, 4], "random_offset": False, "shift": [1, 2], "p": 0.5}}]}),
    "unsharp masks": (lambda: [A.Resize(16, 16), A.UnsharpMask(), A.UnsharpMask(5, p=0)], {"transform": [*ROOM, {"unsharp_mask": {"alpha": [0.2, 0.5], "p": 0.5}}]}),
    "unsharp masks of a sigma": (lambda: [A.Resize(16, 16), A.UnsharpMask((5, 9), (0.5, 2), (0.1, 0.3), 3, p=1)],
                                 {"transform": [*ROOM, {"unsharp_mask": {"alpha": [0.1, 0.3], "kernel_size": [5, 9], "sigma": [0.5, 2], "threshold": 3, "p": 1}}]}),
    "stripes": (lambda: [A.Resize(16, 16), A.XYMasking((2, 4), (1, 2), (3, 5), (1, 2), fill=(1, 2, 3), p=0.3), A.OneOf([A.XYMasking(num_masks_x=(1, 3), mask_x_length=(2, 3), p=1), A.HorizontalFlip(p=1)], p=0.5)],
                {"transform": [*ROOM, {"random_apply": {"transforms": [{"coarse_dropout": {"holes": [2, 4], "width": [3, 5], "height": [16384, 16384], "pixels": True, "p": 1, "fill": [1, 2, 3]}},
                                                                      {"coarse_dropout": {"holes": [1, 2], "height": [1, 2], "width": [16384, 16384], "pixels": True, "p": 1, "fill": [1, 2, 3]}}], "p": 0.3}},
                               {"random_choice": [{"coarse_dropout": {"holes": [1, 3], "width": [2, 3], "height": [16384, 16384], "pixels": True, "p": 0.5}}, {"horizontal_flip": 0.5}]}]}),
    "points that pull": (lambda: [A.Resize(16, 16), A.PiecewiseAffine(), A.OneOf([A.PiecewiseAffine((0.1, 0.2), 5, (2, 7), cv2.INTER_NEAREST, p=1), A.OpticalDistortion(p=0.3), A.GridDistortion(p=0.1)], p=0.2)],
                         {"transform": [*ROOM, {"piecewise_affine": {"scale": [0.03, 0.05], "p": 0.5}},
                                        {"random_choice": {"transforms": [{"piecewise_affine": {"scale": [0.1, 0.2], "rows": [5, 5], "columns": [2, 7], "p": 0.2, "interpolation": "cv2_nearest"}},
                                                                          {"optical_distortion": {"limit": [-0.05, 0.05], "p": 0.2}}, {"grid_distortion": {"limit": [-0.3, 0.3], "p": 0.2}}], "p": [1, 0.3, 0.1]}}]}),
    "points that pull by pixels": (lambda: [A.Resize(16, 16), A.PiecewiseAffine(3, absolute_scale=True, p=1)], {"transform": [*ROOM, {"piecewise_affine": {"scale": [0, 3], "pixels": True, "p": 1}}]}),
    "of spectrograms": (lambda: [A.Resize(16, 16), A.TimeMasking(9, p=1), A.FrequencyMasking(7), A.TimeReverse(p=0.25)],
                        {"transform": [*ROOM, {"coarse_dropout": {"holes": [0, 1], "width": [0, 9], "height": [16384, 16384], "pixels": True, "p": 1}},
                                       {"coarse_dropout": {"holes": [0, 1], "height": [0, 7], "width": [16384, 16384], "pixels": True, "p": 0.5}}, {"horizontal_flip": 0.25}]}),
    "shuffled tiles": (lambda: [A.Resize(16, 16), A.RandomGridShuffle(), A.Normalize()], {"transform": [*ROOM, {"random_grid_shuffle": {"p": 0.5}}, {"normalize": "imagenet"}], "dtype": "f32"}),
    "rubber": (lambda: [A.Resize(16, 16), A.ElasticTransform(p=0.5), A.ElasticTransform(120, 6, cv2.INTER_NEAREST, True, True, noise_distribution="uniform", border_mode=cv2.BORDER_REFLECT, p=1)],
               {"transform": [*ROOM, {"cv2_elastic_transform": {"alpha": 1, "p": 0.5}},
                              {"cv2_elastic_transform": {"alpha": 120, "sigma": 6, "approximate": True, "same_dxdy": True, "noise_distribution": "uniform", "p": 1, "interpolation": "cv2_nearest", "padding_mode": "symmetric"}}]}),
    "shuffled tiles or bent": (lambda: [A.Resize(16, 16), A.OneOf([A.RandomGridShuffle((2, 5), p=1), A.GridDistortion(p=1)], p=0.5)],
                               {"transform": [*ROOM, {"random_choice": [{"random_grid_shuffle": {"grid": [2, 5], "p": 0.5}}, {"grid_distortion": {"limit": [-0.3, 0.3], "p": 0.5}}]}]}),
    "ellipses": (lambda: [A.Resize(16, 16), A.Morphological(), A.OneOf([A.Morphological(5, "erosion", p=1)], p=0)], {"transform": [*ROOM, {"morphological": {"kernel_size": [2, 3], "p": 0.5}}]}),
    "one ellipse": (lambda: [A.Resize(16, 16), A.Morphological(5, "erosion", p=1)], {"transform": [*ROOM, {"morphological": {"kernel_size": [1, 5], "operation": "erosion", "p": 1}}]}),
    "a camera's noise": (lambda: [A.Resize(16, 16), A.ISONoise(), A.ISONoise((0.1, 0.2), (1, 2), p=0)], {"transform": [*ROOM, {"iso_noise": {"intensity": [0.1, 0.5], "color_shift": [0.01, 0.05], "p": 0.5}}]}),
    "multipliers": (lambda: [A.Resize(16, 16), A.MultiplicativeNoise()], {"transform": [*ROOM, {"multiplicative_noise": {"multiplier": [0.9, 1.1], "p": 0.5}}]}),
    "multipliers of values": (lambda: [A.Resize(16, 16), A.OneOf([A.MultiplicativeNoise((0.5, 2), True, True, p=1), A.Sharpen(p=1)], p=0.5)],
                              {"transform": [*ROOM, {"random_choice": [{"multiplicative_noise": {"multiplier": [0.5, 2], "per_channel": True, "elementwise": True, "p": 0.5}},
                                                                       {"sharpen": {"alpha": [0.2, 0.5], "lightness": [0.5, 1], "p": 0.5}}]}]}),
    "one of effects": (lambda: [A.Resize(16, 16), A.OneOf([A.CLAHE(p=1), A.Sharpen(p=1), A.Emboss(p=1), A.RandomBrightnessContrast(p=1)], p=0.5)],
                       {"transform": [*ROOM, {"random_choice": [{"clahe": {"clip_limit": [1, 4], "p": 0.5}}, {"sharpen": {"alpha": [0.2, 0.5], "lightness": [0.5, 1], "p": 0.5}},
                                                                {"emboss": {"alpha": [0.2, 0.5], "strength": [0.2, 0.7], "p": 0.5}},
                                                                {"random_brightness_contrast": {"brightness": [-0.2, 0.2], "contrast": [0.8, 1.2], "p": 0.5}}]}]}),
    "curves of channels": (lambda: [A.Resize(16, 16), A.RandomToneCurve(0.2, True, p=1)], {"transform": [*ROOM, {"random_tone_curve": {"scale": 0.2, "per_channel": True, "p": 1}}]}),
    "D4": (lambda: [A.Resize(16, 16), A.D4()], {"transform": [*ROOM, {"horizontal_flip": 0.5}, {"random_rotate90": 1}]}),
    "D4 ahead": (lambda: [A.D4(), A.RandomRotate90(p=0), A.Resize(16, 16)], {"transform": [{"horizontal_flip": 0.5}, {"random_rotate90": 1}, *ROOM]}),
    "D4 at times": (lambda: [A.Resize(16, 16), A.SquareSymmetry(p=0.25)], {"transform": [*ROOM, {"random_apply": {"transforms": [{"horizontal_flip": 0.5}, {"random_rotate90": 1}], "p": 0.25}}]}),
    "OneOf": (lambda: [A.Resize(16, 16), A.OneOf([A.InvertImg(p=0.5), A.HorizontalFlip(p=0.25)], p=1)],
              {"transform": [*ROOM, {"random_choice": {"transforms": [{"invert": 1}, {"horizontal_flip": 1}], "p": [0.5, 0.25]}}]}),
    "OneOf, at times": (lambda: [A.Resize(16, 16), A.OneOf([A.InvertImg(), A.Solarize(), A.NoOp(p=1)], p=0.5)],
                        {"transform": [*ROOM, {"random_choice": [{"invert": 0.25}, {"solarize": {"threshold": 127.5, "p": 0.25}}]}]}),
    "OneOf of OneOf": (lambda: [A.Resize(16, 16), A.OneOf([A.OneOf([A.InvertImg(), A.HorizontalFlip()], p=0.5), A.VerticalFlip(p=0.5)], p=1)],
                       {"transform": [*ROOM, {"random_choice": {"transforms": [{"invert": 1}, {"horizontal_flip": 1}, {"vertical_flip": 1}], "p": [0.25, 0.25, 0.5]}}]}),
    "OneOrOther": (lambda: [A.Resize(16, 16), A.OneOrOther(A.InvertImg(), A.HorizontalFlip(), p=0.25)],
                   {"transform": [*ROOM, {"random_choice": {"transforms": [{"invert": 1}, {"horizontal_flip": 1}], "p": [0.25, 0.75]}}]}),
    "SomeOf": (lambda: [A.Resize(16, 16), A.SomeOf([A.InvertImg(p=0.25), A.HorizontalFlip()], n=1)], {"transform": [*ROOM, {"random_choice": [{"invert": 0.25}, {"horizontal_flip": 0.5}]}]}),
    "SomeOf several": (lambda: [A.Resize(16, 16), A.SomeOf([A.InvertImg(p=0.25), A.HorizontalFlip(), A.Sharpen(p=1)], n=2)],
                       {"transform": [*ROOM, {"random_choice": {"transforms": [{"invert": 0.25}, {"horizontal_flip": 0.5}, {"sharpen": {"alpha": [0.2, 0.5], "lightness": [0.5, 1], "p": 1}}], "n": 2}}]}),
    "RandomOrder": (lambda: [A.Resize(16, 16), A.RandomOrder([A.InvertImg(p=0.25), A.HorizontalFlip()], n=2)], {"transform": [*ROOM, {"random_order": [{"invert": 0.25}, {"horizontal_flip": 0.5}]}]}),
    "Sequential": (lambda: [A.Resize(16, 16), A.Sequential([A.InvertImg(p=1), A.Posterize(p=0.5)], p=0.5)],
                   {"transform": [*ROOM, {"random_apply": {"transforms": [{"invert": 1}, {"posterize": {"bits": 4, "p": 0.5}}], "p": 0.5}}]}),
    "padded crops": (lambda: [A.PadIfNeeded(32, 32, border_mode=cv2.BORDER_REFLECT_101), A.RandomCrop(32, 32)], {"transform": [{"random_crop": {"size": 32, "padding_mode": "reflect"}}]}),
    "boxes": (lambda: A.Compose([A.Resize(16, 16)], bbox_params=A.BboxParams("coco", label_fields=["labels"], min_area=4, min_visibility=0.2)),
              {"transform": ROOM, "boxes": {"column": "bboxes", "format": "xywh", "min_size": 0, "min_area": 4, "min_visibility": 0.2, "with": ["labels"]}}),
    "boxes of YOLO": (lambda: A.Compose([A.Resize(16, 16)], bbox_params=A.BboxParams("yolo", min_width=2, min_height=2)),
                      {"transform": ROOM, "boxes": {"column": "bboxes", "format": "cxcywh", "normalized": True, "min_size": 2, "min_area": 1e-7}}),
    "points": (lambda: A.Compose([A.Resize(16, 16)], keypoint_params=A.KeypointParams("xy", label_fields=["names"])),
               {"transform": ROOM, "points": {"column": "keypoints", "remove_invisible": True, "with": ["names"]}}),
}


@pytest.mark.parametrize("name", DESCRIBED)
def test_a_compose_is_this_description(name):
    make, want = DESCRIBED[name]
    assert json.loads(json.dumps(spdl.describe(make()))) == want
    spdl.io._load.load(_any(), {"image": {k: v for k, v in want.items() if k in ("transform", "dtype")}})  # the engine takes it


def _any():
    import io

    out = io.BytesIO()
    Image.new("RGB", (300, 280)).save(out, "PNG")
    return out.getvalue()


def test_a_section_says_which_columns_boxes_and_points_are_in():
    compose = A.Compose([A.Resize(16, 16)], bbox_params=A.BboxParams("pascal_voc", label_fields=["classes"]), keypoint_params=A.KeypointParams("xy"))
    said = spdl.describe({"image": {"transform": compose, "boxes": "regions", "points": {"column": "joints"}}})["image"]
    assert said["boxes"] == {"column": "regions", "format": "xyxy", "min_size": 0, "min_area": 1e-7, "with": ["classes"]} and said["points"] == {"column": "joints", "remove_invisible": True}
    with pytest.raises(spdl.SpecError, match="image.boxes.format: got 'xywh', and the transform says 'xyxy'; leave format out"):
        spdl.describe({"image": {"transform": compose, "boxes": {"column": "regions", "format": "xywh"}}})
    assert "boxes" not in spdl.describe({"image": {"mode": "index", "transform": compose}})["image"], "a mask has none"


REFUSED = [
    ([A.Resize(8, 8), A.Spatter()], r"transform\[1\]: Spatter.*got albumentations's Spatter, want .*drops and gravel are not drawn here; random_rain, random_fog"),
    ([A.Resize(8, 8), A.PlasmaShadow()], r"transform\[1\]: PlasmaShadow.*light is that of all of a picture here"),
    ([A.Resize(8, 8), A.ThinPlateSpline()], r"transform\[1\]: ThinPlateSpline.*cv2_elastic_transform, piecewise_affine, grid_distortion and optical_distortion bend pictures"),
    ([A.Resize(8, 8), A.MaskDropout()], r"transform\[1\]: MaskDropout.*coarse_dropout, grid_dropout and erasing make holes"),
    ([A.Resize(8, 8), A.HEStain()], r"transform\[1\]: HEStain.*goes by other pictures, or by each picture's own statistics"),
    ([A.CropNonEmptyMaskIfExists(8, 8)], "masks do not say where their pictures are cropped"),
    ([A.RandomCropNearBBox()], "goes by a box that each call brings"),
    ([A.Resize(8, 8), A.ChromaticAberration()], "all channels are seen through one lens here"),
    ([A.Resize(8, 8), A.Equalize("pil")], "mode: got 'pil', want 'cv': equalize is Pillow's"),
    ([A.Resize(8, 8), A.Equalize(by_channels=False)], "by_channels: got False, want True"),
    ([A.Resize(8, 8), A.Equalize(mask=lambda image: image)], "mask: got .*, want None"),
    ([A.Resize(8, 8), A.OpticalDistortion(mode="fisheye")], "mode: got 'fisheye', whose map of floats depends on the build of numpy, want 'camera'"),
    ([A.Resize(8, 8), A.OpticalDistortion(interpolation=cv2.INTER_CUBIC)], "interpolation: got cv2's 2, want INTER_NEAREST or INTER_LINEAR"),
    ([A.Resize(8, 8), A.GridDistortion(border_mode=cv2.BORDER_WRAP)], "border_mode: got cv2's 3, want BORDER_CONSTANT"),
    (A.Compose([A.Resize(8, 8), A.GridDistortion()], bbox_params=A.BboxParams("coco")), "GridDistortion.*beside bbox_params or keypoint_params, which nothing can follow here"),
    (A.Compose([A.Resize(8, 8), A.RandomGridShuffle()], bbox_params=A.BboxParams("coco")), "RandomGridShuffle.*beside bbox_params or keypoint_params, which nothing can follow here"),
    (A.Compose([A.Resize(8, 8), A.Morphological()], bbox_params=A.BboxParams("coco")), "Morphological.*beside bbox_params or keypoint_params it makes boxes larger or smaller"),
    ([A.Resize(8, 8), A.Downscale(interpolation_pair={"downscale": cv2.INTER_AREA, "upscale": cv2.INTER_NEAREST})], "interpolation_pair: got cv2's 3 and 0, want INTER_NEAREST of both"),
    ([A.Resize(8, 8), A.PixelDropout(drop_value=None)], "drop_value: got None, drawn for each picture"),
    ([A.Resize(8, 8), A.PixelDropout(mask_drop_value=1)], "mask_drop_value: got 1.*, want None"),
    ([A.Resize(8, 8), A.GridDropout(fill="inpaint_ns")], "fill: got 'inpaint_ns', want a whole number"),
    ([A.Resize(8, 8), A.GridDropout(fill_mask=0)], "fill_mask: got 0.*, want None"),
    (A.Compose([A.Resize(8, 8), A.GridDropout()], bbox_params=A.BboxParams("coco")), "GridDropout.*beside bbox_params or keypoint_params it drops and cuts what holes cover"),
    ([A.Resize(8, 8), A.Sharpen(method="gaussian")], "method: got 'gaussian', whose differences of bytes wrap around, want 'kernel'"),
    ([A.Resize(8, 8), A.ChannelDropout(fill=0.5)], "fill: got 0.5, want a whole number"),
    ([A.Resize(8, 8), A.ElasticTransform(border_mode=cv2.BORDER_WRAP)], "border_mode: got cv2's 3, want BORDER_CONSTANT"),
    (A.Compose([A.Resize(8, 8), A.ElasticTransform()], keypoint_params=A.KeypointParams("xy")), "ElasticTransform.*beside bbox_params or keypoint_params, which nothing can follow here"),
    ([A.Resize(8, 8), A.Perspective(keep_size=False)], "keep_size, fit_output: got False and False, want True and False"),
    ([A.Resize(8, 8), A.Perspective(fit_output=True)], "keep_size, fit_output: got True and True, want True and False"),
    ([A.Resize(8, 8), A.Perspective(interpolation=cv2.INTER_CUBIC)], "interpolation: got cv2's 2, want INTER_NEAREST or INTER_LINEAR"),
    (A.Compose([A.Resize(8, 8), A.Perspective(border_mode=cv2.BORDER_REFLECT)], bbox_params=A.BboxParams("coco")), "border_mode: got cv2's 2 beside bbox_params"),
    ([A.Resize(8, 8), A.GaussNoise(mean_range=(0, 0.1))], "mean_range: got 0 to 0.1, want one mean"),
    ([A.Resize(8, 8), A.GaussNoise(per_channel=False)], "per_channel: got False, want True"),
    ([A.Resize(8, 8), A.GaussNoise(noise_scale_factor=0.5)], "noise_scale_factor: got 0.5, want 1"),
    ([A.Resize(8, 8), A.ImageCompression("webp")], "compression_type: got 'webp', want 'jpeg'"),
    ([A.Resize(8, 8), A.GaussianBlur(sigma_limit=(0, 0))], "sigma_limit: got 0 to 0, want a sigma above 0"),
    ([A.Resize(8, 8), A.CoarseDropout(fill="random")], "fill: got 'random', want a whole number"),
    ([A.Resize(8, 8), A.Normalize(), A.CoarseDropout(fill="random")], "fill: got 'random' behind ToFloat or Normalize, want a number"),
    ([A.Resize(8, 8), A.Normalize(), A.CoarseDropout(), A.HorizontalFlip()], "works on what was erased"),
    ([A.Resize(8, 8), A.Normalize(), A.CoarseDropout(), A.CoarseDropout()], "works on what was erased"),
    ([A.Resize(8, 8), A.CoarseDropout(fill_mask=0)], "fill_mask: got 0.*, want None"),
    (A.Compose([A.Resize(8, 8), A.CoarseDropout()], bbox_params=A.BboxParams("coco")), "CoarseDropout.*beside bbox_params or keypoint_params it drops and cuts what holes cover"),
    ([A.Resize(8, 8), A.Affine(fit_output=True)], "fit_output: got True, want False: all rows of a batch are of one size"),
    ([A.Resize(8, 8), A.Affine(balanced_scale=True)], "balanced_scale: got True, want False"),
    ([A.Resize(8, 8), A.Affine(rotate_method="ellipse")], "rotate_method: got 'ellipse', want 'largest_box'"),
    ([A.Resize(8, 8), A.Affine(interpolation=cv2.INTER_CUBIC)], "interpolation: got cv2's 2, want INTER_NEAREST or INTER_LINEAR"),
    ([A.Resize(8, 8), A.Rotate(border_mode=cv2.BORDER_WRAP)], "border_mode: got cv2's 3, want BORDER_CONSTANT"),
    ([A.Resize(8, 8), A.Rotate(crop_border=True)], "crop_border: got True, want False"),
    (A.Compose([A.Resize(8, 8), A.Rotate(border_mode=cv2.BORDER_REFLECT_101)], bbox_params=A.BboxParams("coco")), "border_mode: got cv2's 4 beside bbox_params or keypoint_params, want BORDER_CONSTANT"),
    ([A.Resize(8, 8), A.Normalize(), A.Rotate()], "Rotate.*works on a normalized array.*put it in front of ToFloat and Normalize"),
    ([A.Resize(8, 8), A.Superpixels()], r"Superpixels.*write what it does as an operation"),
    ([A.Resize(8, 8, p=0.5)], "p: got 0.5, want 1: all rows of a batch are of one size"),
    ([A.Resize(8, 8), A.Normalize(p=0.5)], "p: got 0.5, want 1: all rows of a batch are of one type"),
    ([A.Resize(8, 8, cv2.INTER_LINEAR_EXACT)], "interpolation: got cv2's 5, want one of cv2_nearest"),
    ([A.Resize(8, 8, area_for_downscale="image")], "area_for_downscale: got 'image', .*want None"),
    ([A.RandomSizedCrop((8, 16), (8, 8), area_for_downscale="image_mask")], "area_for_downscale: got 'image_mask', .*want None"),
    ([A.SmallestMaxSize([8, 16]), A.CenterCrop(8, 8)], r"max_size: got \[8, 16\], want a whole number"),
    ([A.SmallestMaxSize(max_size_hw=(8, 16)), A.CenterCrop(8, 8)], r"max_size_hw: got \[8, 16\], want max_size"),
    ([A.CenterCrop(8, 8, pad_if_needed=True, pad_position="top_left")], "pad_position: got 'top_left', want 'center'"),
    ([A.CenterCrop(8, 8, pad_if_needed=True, border_mode=cv2.BORDER_WRAP)], "border_mode: got cv2's 3, want BORDER_CONSTANT"),
    ([A.Resize(8, 8), A.Normalize(), A.Pad(2)], "fill: is of a normalized array, want this in front of"),
    ([A.Resize(8, 8), A.Pad(2, fill=0.5)], "fill: got 0.5, want a whole number"),
    ([A.PadIfNeeded(8, 8)], r"PadIfNeeded.*leaves pictures that are larger as they are.*put RandomCrop or CenterCrop of \[8, 8\] right behind it, or LongestMaxSize\(8\)"),
    ([A.Resize(8, 16), A.Transpose(), A.PadIfNeeded(8, 16)], "PadIfNeeded.*leaves pictures that are larger"),
    ([A.PadIfNeeded(8, 8), A.HorizontalFlip(), A.RandomCrop(8, 8)], "PadIfNeeded.*leaves pictures that are larger"),
    ([A.PadIfNeeded(8, 8), {"random_crop": 8}], "PadIfNeeded.*leaves pictures that are larger"),
    ([{"resize": {"min_pixels": 64, "max_pixels": 256, "multiple_of": 4}}, A.PadIfNeeded(8, 8)], "PadIfNeeded.*leaves pictures that are larger"),
    ([A.PadIfNeeded(16, 16), A.RandomCrop(8, 8)], r"PadIfNeeded.*got \[16, 16\] in front of a crop of \[8, 8\]"),
    ([A.PadIfNeeded(16, 16, position="top_left"), A.RandomCrop(16, 16)], "position: got 'top_left' where pictures may be larger"),
    ([A.LongestMaxSize(8), A.PadIfNeeded(8, 8, position="random")], "position: got 'random', want 'center' or a corner"),
    ([A.PadIfNeeded(None, None, 32, 32)], "pad_height_divisor, pad_width_divisor: got one"),
    ([A.Resize(8, 8), A.Posterize((2, 4))], r"num_bits: got \[2, 4\], drawn"),
    ([A.Resize(8, 8), A.Solarize((0.2, 0.4))], "threshold_range: got 0.2 to 0.4"),
    ([A.Resize(8, 8), A.ToGray(method="max")], "method: got 'max', want 'weighted_average'"),
    ([A.Resize(8, 8), A.ToGray(num_output_channels=1)], "num_output_channels: got 1, want 3"),
    ([A.Resize(8, 8), A.RandomBrightnessContrast(brightness_by_max=False)], "brightness_by_max: got False"),
    ([A.Resize(8, 8), A.RandomBrightnessContrast(ensure_safe_range=True)], "ensure_safe_range: got True"),
    ([A.Resize(8, 8), A.ToFloat(1000)], "max_value: got 1000, want 255"),
    ([A.Resize(8, 8), A.Normalize(normalization="image")], "normalization: got 'image', .*want 'standard'"),
    ([A.Resize(8, 8), A.Normalize(), A.InvertImg()], "InvertImg.*works on a normalized array.*put it in front of ToFloat and Normalize"),
    ([A.Resize(8, 8), A.OneOf([A.D4(), A.InvertImg()])], r"D4.*got 2 operations in the place of one"),
    ([A.OneOf([A.Resize(8, 8), A.CenterCrop(8, 8)])], "OneOf.*got p=0.5 of resize, which has no probability"),
    ([A.OneOf([A.Resize(8, 8), A.CenterCrop(8, 8)], p=1)], "OneOf.*got resize among several"),
    ([A.Resize(8, 8), A.SomeOf([A.InvertImg(), A.Solarize(), A.Posterize()], n=2, replace=True)], "n: got 2 of 3 with replacement, want 1, or all of them without"),
    ([A.Resize(8, 8), A.RandomOrder([A.InvertImg(), A.Solarize(), A.Posterize()], n=2)], "n: got 2 of 3 in an order by chance, want 1, or all of them"),
    ([A.Resize(8, 8), A.SomeOf([A.InvertImg(), A.Solarize(), A.Posterize()], n=2, p=0.5)], "p: got 0.5, want 1 of 2 that are picked"),
    ([A.Resize(8, 8), A.SomeOf([A.InvertImg(), A.NoOp(), A.Posterize()], n=2)], "NoOp.*got 0 operations in the place of one"),
    ([A.Resize(8, 8), A.RandomOrder([A.InvertImg(), A.Solarize()], n=2, p=0.5)], "RandomOrder.*p: got 0.5, want 1"),
    (A.Compose([A.Resize(8, 8)], additional_targets={"other": "image"}), "additional_targets: got other, want none: each .* is one of fields"),
    (A.Compose([A.Resize(8, 8)], save_applied_params=True), "save_applied_params: got True, want False"),
    (A.Compose([A.Resize(8, 8)], bbox_params=A.BboxParams("coco", min_width=2)), "bbox_params: got min_width 2 and min_height 0"),
    (A.Compose([A.Resize(8, 8)], bbox_params=A.BboxParams("coco", max_accept_ratio=2)), "max_accept_ratio: got 2, want None"),
    (A.Compose([A.HorizontalFlip(), A.Resize(8, 8)], bbox_params=A.BboxParams("coco", min_area=2)), "min_area, min_width and min_height count behind each transform, of which horizontal_flip is ahead of resize"),
    (A.Compose([A.Resize(8, 8)], keypoint_params=A.KeypointParams("xya")), "keypoint_params: format: got 'xya', want 'xy'"),
]


def test_stripes_are_as_wide_or_high_as_a_row_and_lie_anywhere(tmp_path):
    """As XYMasking's: of a number and a length each, from one edge to the other."""
    Image.new("RGB", (40, 30), (255, 255, 255)).save(tmp_path / "a.png")
    (tmp_path / "list.csv").write_text("path\n" + "a.png\n" * 400)
    transform = [A.Resize(30, 40), A.XYMasking((1, 1), (1, 1), (5, 7), (4, 4), fill=9, p=1)]
    with spdl.open({"source": {"list": str(tmp_path / "list.csv")}, "batch": 100, "order": {"shuffle": False, "epochs": 1, "seed": 3}, "image": {"transform": transform}}) as loader:
        rows = np.concatenate([np.array(batch["image"]) for batch in loader])
    of = A.Compose(transform, seed=5)
    white = np.full((30, 40, 3), 255, "u1")
    theirs = np.array([of(image=white)["image"] for _ in range(400)])
    found = []
    for made in (rows, theirs):
        hidden = (made == 9).all(-1)
        assert ((made == 9) | (made == 255)).all()
        columns, lines = hidden.all(1), hidden.all(2)
        assert (hidden == (columns[:, None, :] | lines[:, :, None])).all(), "stripes alone, from edge to edge"
        assert (lines.sum(1) == 4).all() and set(columns.sum(1)) == {5, 6, 7} and set(lines.argmax(1)) == set(range(27))
        assert set(columns.argmax(1)) == set(range(36)) and (np.diff(columns.astype(int), axis=1, prepend=0, append=0) == 1).sum(1).max() == 1
        found.append((columns.sum(1).mean(), columns.argmax(1).mean(), lines.argmax(1).mean()))
    assert np.allclose(*found, rtol=0.08)


@pytest.mark.parametrize("transform, message", [
    (A.XYMasking((1, 1), (1, 1), (5, 7), (4, 4), fill="random"), "fill: got 'random', want a whole number"),
    (A.OneOf([A.XYMasking((1, 1), (1, 1), (5, 7), (4, 4), p=1), A.HorizontalFlip(p=1)], p=1), "got random_apply among several"),
    (A.OneOf([A.XYMasking((1, 1), (1, 1), (5, 7), (4, 4)), A.HorizontalFlip()]), "got p=0.5 of random_apply"),
    (A.Compose([A.TimeMasking(9)], bbox_params=A.BboxParams("coco")), 'TimeMasking.*beside bbox_params or keypoint_params .*{"coarse_dropout": {...}}'),
])
def test_stripes_that_cannot_be_told_are_refused(transform, message):
    with pytest.raises(spdl.SpecError, match=message):
        spdl.describe([A.Resize(30, 40), transform] if not isinstance(transform, A.Compose) else transform)


def test_a_cameras_noise_is_of_colours():
    with pytest.raises(spdl.SpecError, match="ISONoise.*works on pictures of three channels, and one is in hand"):
        spdl.describe({"image": {"mode": "gray", "transform": A.Compose([A.Resize(8, 8), A.ISONoise()])}})


@pytest.mark.parametrize("transform, message", REFUSED)
def test_what_cannot_be_told_is_refused_by_its_place(transform, message):
    with pytest.raises(spdl.SpecError, match=message):
        spdl.describe(transform)


NEEDED = {  # arguments without which a class is not made
    "Resize": (8, 8), "CenterCrop": (8, 8), "RandomCrop": (8, 8), "RandomResizedCrop": ((8, 8),), "RandomSizedCrop": ((4, 8), (8, 8)), "SmallestMaxSize": (8,), "LongestMaxSize": (8,), "CropAndPad": (3,),
    "RandomSizedBBoxSafeCrop": (8, 8), "AtLeastOneBBoxRandomCrop": (8, 8), "XYMasking": ((1, 1), (1, 1), (2, 2), (2, 2)), "Crop": (0, 0, 8, 8), "GaussNoise": (), "Pad": (3,), "TimeMasking": (9,), "FrequencyMasking": (9,),
}


@pytest.mark.parametrize("name", sorted(set(albumentations.RULES) - {"NoOp", "PadIfNeeded", "ToFloat"}))
def test_what_changes_colours_alone_leaves_boxes_where_they_are(name):
    """The adapter knows of each operation that a transform becomes whether it moves pixels: boxes and masks follow by that."""
    boxes = {"bbox_params": A.BboxParams("coco")} if "BBox" in name or "Bbox" in name else {}
    made = told(A.Compose([getattr(A, name)(*NEEDED.get(name, ()), p=1)], **boxes), "transform").operations
    still = all(map(joint.stays, made))
    assert made and still == (name in albumentations.OF_COLOURS), f"{made}: joint._COLOURS"


def test_each_operation_that_leaves_boxes_is_one_of_these():
    found = {operation for name in albumentations.OF_COLOURS if name != "ToFloat" for one in told(getattr(A, name)(p=1), "transform").operations for operation in one}
    assert set(joint._COLOURS) <= found, "the others are no transform's"


def test_a_class_with_a_method_of_its_own_is_ones_own():
    class Mine(A.HorizontalFlip):
        def apply(self, img, **params):
            return img

    with pytest.raises(spdl.SpecError, match="Mine.*got a .*Mine of test_albumentations"):
        spdl.describe([A.Resize(8, 8), Mine()])


def test_a_tensor_is_made_before_torchvision_goes_on():
    T = pytest.importorskip("torchvision.transforms")
    with pytest.raises(spdl.SpecError, match=r"RandomErasing.*an array of floats is in hand; put ToTensorV2\(\) in front of it"):
        spdl.describe([A.Resize(8, 8), A.Normalize(), T.RandomErasing()])
