"""What augmentations cost a core: core/media's rows of 224 x 224 beside Pillow doing the same operations on the same draws, in one run.

    .venv/bin/python bench/augment.py [--rounds 5] [--rows 1000]

Pillow's calls are those of torchvision (tests/exact/test_augment.py), without its tables of magnitudes, which it makes anew for every
picture; with torchvision installed its own transforms are measured, too. Rounds alternate; the least of each counts. What a row costs
without augmentation is taken off core/media's figures.
"""

import argparse
import io
import pathlib
import re
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


def ours():
    """Milliseconds of a processor of every benchmark, without those of a row as such."""
    text = subprocess.run(["go", "test", "-run", "-", "-bench", "Augment", "-benchtime", "0.3s", "./core/media"], cwd=ROOT, check=True, capture_output=True,
                          text=True).stdout
    made = {name: float(ns) / 1e6 for name, ns in re.findall(r"BenchmarkAugment/(\w+?)(?:-\d+)?\s.*?([\d.]+) cpu-ns/op", text)}
    return {name: ms - made["none"] for name, ms in made.items() if name != "none"}


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
                     "jpeg": recoded}.items():
        made[name] = timed(lambda i, op=op: op(im), rows)
    return made


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
        "rand_augment": T.RandAugment(), "trivial_augment_wide": T.TrivialAugmentWide(), "auto_augment": T.AutoAugment(), "gaussian_blur": T.GaussianBlur(23),
        "random_photometric_distort": v2.RandomPhotometricDistort(),
        "elastic_transform": T.ElasticTransform(),
    }.items()}
    tensor = v2.functional.pil_to_tensor(im)
    return made | {name: timed(lambda i, t=t: t(tensor), rows) for name, t in {
        "random_channel_permutation": v2.RandomChannelPermutation(), "gaussian_noise": v2.GaussianNoise(), "jpeg": v2.JPEG((30, 95)),
    }.items()}


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--rounds", type=int, default=5)
    args.add_argument("--rows", type=int, default=1000)
    a = args.parse_args()
    im = Image.fromarray(picture(np.random.default_rng(1), *SIZE))
    rounds = [(ours(), pillow(im, a.rows), torchvision(im, a.rows)) for _ in range(a.rounds)]
    mine, pil, tv = ({name: min(r[k][name] for r in rounds) for name in rounds[0][k]} for k in range(3))
    print(f"{'ms a row':24}{'ours':>8}{'Pillow':>8}{'ratio':>7}{'torchvision':>13}{'ratio':>7}")
    for name, ms in mine.items():
        cells = "".join(f"{other[name]:{w}.2f}{other[name] / ms:7.1f}" if name in other else " " * (w + 7) for other, w in ((pil, 8), (tv, 13)))
        print(f"{name:24}{ms:8.2f}{cells}")


if __name__ == "__main__":
    main()
