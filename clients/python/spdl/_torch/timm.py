"""timm's transforms, as create_transform() makes them, by the names of their classes."""

from __future__ import annotations

import math

from .given import ERASED, FLOATS, NORMALIZED, BYTES, WARPERS, Given, Operation, Rule, without
from .torchvision import fits, random_resized_crop, sized, to_bytes, to_floats

_OPERATIONS = ("AutoContrast", "Equalize", "Invert", "Rotate", "Posterize", "Solarize", "SolarizeAdd", "Color", "Contrast", "Brightness", "Sharpness",
               "ShearX", "ShearY", "TranslateXRel", "TranslateYRel")
_INCREASING = ("Posterize", "Solarize", "Color", "Contrast", "Brightness", "Sharpness")
_MORE = tuple(f"{name}Increasing" if name in _INCREASING else name for name in _OPERATIONS)


def crop_or_pad(g: Given) -> Operation:
    return sized(g, "center_crop", {"size": g.extent(), **g.border()})


def random_crop_or_pad(g: Given) -> Operation:
    fits(g, "puts a smaller picture anywhere into what is padded")
    return sized(g, "random_crop", {"size": g.extent()})


def random_resized_crop_by_any(g: Given) -> Operation:
    drawn = g.get("interpolation")
    return random_resized_crop(g, "random" if isinstance(drawn, list) and set(drawn) == {"bilinear", "bicubic"} else "")


def rand_augment(g: Given) -> Operation:
    """Its name for itself again, out of what was made of it."""
    ops = g.transform.ops
    names = tuple(op.name for op in ops)
    if g.transform.choice_weights is not None or names not in (_OPERATIONS, _MORE):
        weighted = "" if g.transform.choice_weights is None else ", by weights"
        g.refuse(f"draws among {', '.join(names)}{weighted}; want timm's usual ones, evenly: a name without -t")
    one = ops[0]
    of = [(op.prob, op.magnitude, op.magnitude_std, op.magnitude_max, op.kwargs.get("fillcolor"), op.kwargs.get("resample"), op.hparams) for op in ops]
    if any(o != of[0] for o in of) or one.hparams.get("translate_pct", 0.45) != 0.45:
        g.refuse("has operations that differ in more than their names, or another translate_pct than 0.45; want what rand_augment_transform() makes of a name")
    name = f"rand-m{one.magnitude:g}-n{g.transform.num_layers}-p{one.prob:.15g}"
    if one.magnitude_std:
        name += "-mstd101" if math.isinf(one.magnitude_std) else f"-mstd{one.magnitude_std:.15g}"
    if one.magnitude_max:
        name += f"-mmax{one.magnitude_max:g}"
    name += "-inc1" if names == _MORE else ""
    filters = one.kwargs["resample"]
    if isinstance(filters, (list, tuple)):
        if {int(f) for f in filters} != {2, 3}:
            g.refuse(f"interpolation: got {filters}, want bilinear or bicubic by chance, or one of {', '.join(WARPERS)}")
        interpolation = "random"
    else:
        interpolation = {0: "nearest", 2: "bilinear", 3: "bicubic"}.get(int(filters), "")
        if not interpolation:
            g.refuse(f"interpolation: got {filters!r}, want one of {', '.join(WARPERS)}; with Lanczos timm's rand_augment has no operation here")
    fill = [int(v) for v in one.kwargs["fillcolor"]]
    return {"timm_rand_augment": without({"config": name, "interpolation": interpolation, "fill": fill}, interpolation="random")}


def random_erasing(g: Given) -> Operation:
    t = g.transform
    if (t.min_count, t.max_count) != (1, 1):
        g.refuse(f"count: got {t.min_count} to {t.max_count}, want 1: one part of a row is erased")
    if t.rand_color:
        g.refuse("mode: got rand, one colour by chance, want const or pixel")
    if t.per_pixel and g.in_hand == BYTES:
        g.refuse("mode: got pixel for rows of u8, want it behind Normalize")
    ratio = [float(f"{math.exp(v):.12g}") for v in t.log_aspect_ratio]
    g.in_hand = ERASED
    return {"random_erasing": without({"p": t.probability, "scale": [t.min_area, t.max_area], "ratio": ratio, "value": "random" if t.per_pixel else 0}, value=0)}


def unscaled(g: Given) -> None:
    g.refuse("makes floats from 0 to 255, want x/255 or bytes: MaybeToTensor(), or ToNumpy()")


RULES: dict[str, Rule] = {
    "RandomResizedCropAndInterpolation": Rule(random_resized_crop_by_any),
    "CenterCropOrPad": Rule(crop_or_pad, FLOATS),
    "RandomCropOrPad": Rule(random_crop_or_pad, FLOATS),
    "RandAugment": Rule(rand_augment),
    "RandomErasing": Rule(random_erasing, NORMALIZED, BYTES),
    "MaybeToTensor": Rule(to_floats, ERASED),
    "MaybePILToTensor": Rule(to_bytes, ERASED),
    "ToNumpy": Rule(to_bytes),
    "ToTensor": Rule(unscaled),
}

REMEDIES = {
    "ResizeKeepRatio": "its sides are rounded to the nearest, where no operation's are; torchvision's Resize(N) is near, with "
                       'create_transform(crop_mode="center") of a square size',
    "AutoAugment": "timm's policies have no operation here; rand-... has (timm_rand_augment), and torchvision's AutoAugment (auto_augment)",
    "AugMixAugment": "timm's augmix has no operation here; torchvision's AugMix has (aug_mix), and rand-... (timm_rand_augment)",
    "TrimBorder": "it has no operation here; leave crop_border_pixels out",
    "RandomPad": "it has no operation here; CenterCropOrPad has",
}
