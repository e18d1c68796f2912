"""What augmentations cost a core: core/media's rows of 224 x 224 beside Pillow doing the same operations on the same draws, in one run.

    .venv/bin/python bench/augment.py [--rounds 5] [--rows 1000]

Pillow's calls are those of torchvision (tests/exact/test_augment.py), without its tables of magnitudes, which it makes anew for every
picture; with torchvision installed its own transforms are measured, too, and with albumentations (.venv-bench) its own, of one thread. Rounds alternate; the least of each counts. What a row costs
without augmentation is taken off core/media's figures. --only 'crop_and_pad|random_.*' measures these alone, beside albumentations; --median takes the rounds' medians, for a machine that
does other work, too.
"""

import argparse
import io
import pathlib
import re
import statistics
import subprocess
import sys
import time

import numpy as np
from PIL import Image, ImageEnhance, ImageOps

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "exact"))
from conftest import picture  # noqa: E402
from test_augment import RAND, WIDE, done, drawn  # noqa: E402

SIZE = (224, 224)


def ours(only):
    """Milliseconds of a processor of every benchmark, without those of a row as such."""
    text = subprocess.run(["go", "test", "-run", "-", "-bench", f"Augment/^(none|{only})$" if only else "Augment|Resize", "-benchtime", "0.3s", "./core/media"], cwd=ROOT, check=True, capture_output=True,
                          text=True).stdout
    made = {name: float(ns) / 1e6 for name, ns in re.findall(r"Benchmark(?:Augment|Resize)/(\w+?)(?:-\d+)?\s.*?([\d.]+) cpu-ns/op", text)}
    return {name: ms - (0 if name.startswith("resize") else made["none"]) for name, ms in made.items() if name != "none"}


def timed(do, rows):
    began = time.process_time()
    for i in range(rows):
        do(i)
    return (time.process_time() - began) * 1e3 / rows


def pillow(im, rows):
    """The draws are made before."""
    recipes = {"rand_augment": (RAND, Image.NEAREST), "trivial_augment_wide": (WIDE, Image.NEAREST), "rand_augment_bilinear": (RAND, Image.BILINEAR)}
    made = {}
    for name, (kind, resample) in recipes.items():
        plans = [drawn(kind, i, SIZE) for i in range(rows)]

        def apply(i):
            x = im
            for op, m, _ in plans[i]:
                x = done(x, op, m, resample)
            return x
        made[name] = timed(apply, rows)
    for name, op in {"solarize": lambda x: ImageOps.solarize(x, 128), "adjust_sharpness": lambda x: ImageEnhance.Sharpness(x).enhance(2),
                     "autocontrast": ImageOps.autocontrast, "equalize": ImageOps.equalize, "random_rotate90": lambda x: x.transpose(Image.ROTATE_90),
                     "jpeg": recoded, "grayscale": lambda x: x.convert("L").convert("RGB")}.items():
        made[name] = timed(lambda i, op=op: op(im), rows)
    for name, filter in {"random_rotation": Image.NEAREST, "random_rotation_bilinear": Image.BILINEAR, "random_rotation_bicubic": Image.BICUBIC}.items():
        made[name] = timed(lambda i, filter=filter: im.rotate(i * 7 % 60 - 30, filter), rows)
    whole = im.resize(WHOLE)
    for name, filter in {"resize_bilinear": Image.BILINEAR, "resize_bicubic": Image.BICUBIC}.items():
        made[name] = timed(lambda i, filter=filter: whole.crop(CROP).resize(SIZE, filter), rows)
    return made


CROP, WHOLE = (12, 9, 487, 365), (500, 375)  # 95 of 100, as core/media's is on average


def recoded(im):
    file = io.BytesIO()
    im.save(file, "JPEG", quality=62)
    return Image.open(file).convert("RGB")


def torchvision(im, rows):
    try:
        import torch
        from torchvision import transforms as T
        from torchvision.transforms import v2
    except ImportError:
        return {}
    torch.set_num_threads(1)
    made = {name: timed(lambda i, t=t: t(im), rows) for name, t in {
        "rand_augment": T.RandAugment(), "trivial_augment_wide": T.TrivialAugmentWide(), "auto_augment": T.AutoAugment(), "gaussian_blur": T.GaussianBlur(23), "random_rotation": T.RandomRotation(30), "random_rotation_bilinear": T.RandomRotation(30, T.InterpolationMode.BILINEAR),
        "random_photometric_distort": v2.RandomPhotometricDistort(), "color_jitter": T.ColorJitter(0.4, 0.4, 0.4, 0.1),
        "elastic_transform": T.ElasticTransform(),
    }.items()}
    tensor, whole = v2.functional.pil_to_tensor(im), v2.functional.to_image(im.resize(WHOLE))
    left, top, right, bottom = CROP
    for mode in ("bilinear", "bicubic"):
        made[f"resize_torch_{mode}"] = timed(lambda i, mode=mode: v2.functional.resized_crop(whole, top, left, bottom - top, right - left, SIZE, mode), rows)
    return made | {name: timed(lambda i, t=t: t(tensor), rows) for name, t in {
        "random_channel_permutation": v2.RandomChannelPermutation(), "gaussian_noise": v2.GaussianNoise(), "jpeg": v2.JPEG((30, 95)),
        "color_jitter_of_tensors": v2.ColorJitter(0.4, 0.4, 0.4, 0.1), "grayscale_of_tensors": v2.RandomGrayscale(1), "adjust_sharpness_of_tensors": v2.RandomAdjustSharpness(2, 1),
        "rand_augment_of_tensors": v2.RandAugment(), "trivial_augment_wide_of_tensors": v2.TrivialAugmentWide(),
        "random_rotation_of_tensors": v2.RandomRotation(30), "random_rotation_bilinear_of_tensors": v2.RandomRotation(30, T.InterpolationMode.BILINEAR),
    }.items()}


def albumentations(im, rows, only):
    try:
        import albumentations as A
        import cv2
    except ImportError:
        return {}
    cv2.setNumThreads(1)
    pixels = np.asarray(im)
    wanted = re.compile(only or ".*")
    return {name: timed(lambda i, t=t: t(image=pixels), rows) for name, t in {
        "cv2_affine": A.Rotate((-45, 45), border_mode=cv2.BORDER_REFLECT_101, p=1), "hue_saturation_value": A.HueSaturationValue(p=1), "rgb_shift": A.RGBShift(p=1),
        "cv2_affine_of_fill": A.Rotate((-45, 45), p=1), "random_brightness_contrast": A.RandomBrightnessContrast(p=1), "random_gamma": A.RandomGamma(p=1), "cv2_grayscale": A.ToGray(p=1),
        "cv2_color_jitter": A.ColorJitter(p=1), "box_blur": A.Blur(p=1), "box_blur_31": A.Blur((31, 31), p=1), "median_blur": A.MedianBlur(p=1),
        **{f"median_blur_{n}": A.MedianBlur((n, n), p=1) for n in (3, 5, 7, 11, 15, 31)},
        "cv2_gaussian_blur": A.GaussianBlur(p=1), "motion_blur": A.MotionBlur(p=1),
        "transpose": A.Transpose(p=1), "sharpen": A.Sharpen(p=1), "unsharp_mask": A.UnsharpMask(p=1), "emboss": A.Emboss(p=1), "to_sepia": A.ToSepia(p=1), "random_tone_curve": A.RandomToneCurve(p=1), "channel_dropout": A.ChannelDropout(p=1),
        "cv2_equalize": A.Equalize(p=1), "cv2_perspective": A.Perspective(p=1), "grid_dropout": A.GridDropout(p=1), "pixel_dropout": A.PixelDropout(p=1), "downscale": A.Downscale(p=1), "multiplicative_noise": A.MultiplicativeNoise(p=1), "multiplicative_noise_of_elements": A.MultiplicativeNoise(elementwise=True, p=1), "cv2_elastic_transform": A.ElasticTransform(120, 6, p=1), "optical_distortion": A.OpticalDistortion(p=1), "grid_distortion": A.GridDistortion(p=1), "random_grid_shuffle": A.RandomGridShuffle(p=1), "iso_noise": A.ISONoise(p=1), "morphological": A.Morphological(p=1), "morphological_9": A.Morphological((9, 9), p=1),
        "cv2_autocontrast": A.AutoContrast(p=1), "salt_and_pepper": A.SaltAndPepper(p=1), "planckian_jitter": A.PlanckianJitter(p=1), "erasing": A.Erasing(p=1), "random_shadow": A.RandomShadow(p=1),
        "advanced_blur": A.AdvancedBlur(p=1), "defocus": A.Defocus(p=1), "ringing_overshoot": A.RingingOvershoot(p=1), "glass_blur": A.GlassBlur(p=1), "zoom_blur": A.ZoomBlur(p=1), "random_fog": A.RandomFog(p=1), "random_rain": A.RandomRain(p=1), "random_snow": A.RandomSnow(p=1), "random_sun_flare": A.RandomSunFlare(p=1), "shot_noise": A.ShotNoise(p=1), "fancy_pca": A.FancyPCA(p=1),
        "crop_and_pad": A.CropAndPad(px=(-9, 10)), "resized_crop": A.RandomResizedCrop(SIZE), "random_scale": A.RandomScale(p=1),
        "clahe": A.CLAHE(p=1), "coarse_dropout": A.CoarseDropout(p=1), "jpeg": A.ImageCompression(quality_range=(30, 95), p=1), "gaussian_noise": A.GaussNoise((0.1, 0.1), p=1),
    }.items() if wanted.fullmatch(name)}


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--rounds", type=int, default=5)
    args.add_argument("--rows", type=int, default=1000)
    args.add_argument("--only", default="")
    args.add_argument("--median", action="store_true")
    a = args.parse_args()
    im = Image.fromarray(picture(np.random.default_rng(1), *SIZE))
    rounds = [(ours(a.only), {} if a.only else pillow(im, a.rows), {} if a.only else torchvision(im, a.rows), albumentations(im, a.rows, a.only)) for _ in range(a.rounds)]
    of_rounds = statistics.median if a.median else min
    mine, pil, tv, albu = ({name: of_rounds(r[k][name] for r in rounds) for name in rounds[0][k]} for k in range(4))
    print(f"{'ms a row':36}{'ours':>8}{'Pillow':>8}{'ratio':>7}{'torchvision':>13}{'ratio':>7}{'albumentations':>16}{'ratio':>7}")
    for name, ms in mine.items():
        cells = "".join(f"{other[name]:{w}.2f}{other[name] / ms:7.1f}" if name in other else " " * (w + 7) for other, w in ((pil, 8), (tv, 13), (albu, 16)))
        print(f"{name:36}{ms:8.2f}{cells}")


if __name__ == "__main__":
    main()
