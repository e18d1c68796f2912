"""albumentations' transforms that turn, move and bend pictures."""

from __future__ import annotations

from .arrays import Array
from .given import NORMALIZED, Operation, Rule, chance, whole, without


def affine(g: Array) -> Operation:
    for name, remedy in (("fit_output", "all rows of a batch are of one size"), ("balanced_scale", "scale=(low, high) draws from all of it alike")):
        if g.get(name):
            g.refuse(f"{name}: got True, want False: {remedy}")
    translate = "translate_px" if g.get("translate_px") is not None else "translate_percent"
    return warped(g, {"degrees": g.pair("rotate"), translate.replace("_percent", ""): g.axes(translate), "scale": g.axes("scale"), "shear": g.axes("shear"), "keep_ratio": g.get("keep_ratio")})


def rotate(g: Array) -> Operation:
    if g.get("crop_border"):
        g.refuse("crop_border: got True, want False: all rows of a batch are of one size")
    return warped(g, {"degrees": g.pair("limit")})


def safe_rotate(g: Array) -> Operation:
    return warped(g, {"degrees": g.pair("limit"), "fit": True})


def picked(g: Array) -> Operation:
    """How pixels are taken from where a map has them."""
    name = "mask_interpolation" if g.is_mask else "interpolation"
    filter = {0: "cv2_nearest", 1: "cv2_linear"}.get(g.get(name))
    if filter is None:
        g.refuse(f"{name}: got cv2's {g.get(name)}, want INTER_NEAREST or INTER_LINEAR")
    return without({"interpolation": filter}, interpolation="cv2_linear")


def warped(g: Array, says: Operation) -> Operation:
    if g.get("rotate_method") != "largest_box":
        g.refuse(f"rotate_method: got {g.get('rotate_method')!r}, want 'largest_box'")
    said = without(says, translate=[0, 0], translate_px=[0, 0], scale=[1, 1], shear=[0, 0], keep_ratio=False)
    return {"cv2_affine": {**said, "p": whole(g.p), **picked(g), **g.warped_border()}}


def alone(g: Array) -> None:
    """Refuse what boxes and points cannot follow."""
    if g.followed:
        g.refuse("beside bbox_params or keypoint_params, which nothing can follow here; leave one of them out, or take Affine or ShiftScaleRotate")


def grid_shuffle(g: Array) -> Operation:
    alone(g)
    return {"random_grid_shuffle": without({"grid": g.get("grid"), "p": whole(g.p)}, grid=[3, 3])}


def bent(g: Array, name: str, says: Operation) -> Operation:
    alone(g)
    return {name: {"limit": g.pair("distort_limit"), **says, "p": whole(g.p), **picked(g), **g.border_of()}}


def perspective(g: Array) -> Operation:
    if not g.get("keep_size") or g.get("fit_output"):
        g.refuse(f"keep_size, fit_output: got {g.get('keep_size')} and {g.get('fit_output')}, want True and False: all rows of a batch are of one size")
    return {"cv2_perspective": {"scale": g.pair("scale"), "p": whole(g.p), **picked(g), **g.warped_border()}}


def optical_distortion(g: Array) -> Operation:
    if g.get("mode") != "camera":
        g.refuse(f"mode: got {g.get('mode')!r}, whose map of floats depends on the build of numpy, want 'camera'")
    return bent(g, "optical_distortion", {})


def elastic_transform(g: Array) -> Operation:
    alone(g)
    says = without({"sigma": g.get("sigma"), "approximate": g.get("approximate"), "same_dxdy": g.get("same_dxdy"), "noise_distribution": g.get("noise_distribution")},
                   sigma=50, approximate=False, same_dxdy=False, noise_distribution="gaussian")
    return {"cv2_elastic_transform": {"alpha": whole(g.get("alpha")), **says, "p": whole(g.p), **picked(g), **g.border_of()}}


def grid_distortion(g: Array) -> Operation:
    return bent(g, "grid_distortion", without({"num_steps": g.get("num_steps"), "normalized": g.get("normalized")}, num_steps=5, normalized=True))


def morphological(g: Array) -> Operation:
    if g.followed:
        g.refuse('beside bbox_params or keypoint_params it makes boxes larger or smaller, which nothing does here; leave one of them out, or take {"morphological": {...}}, by which boxes stay as they are')
    said = None if g.get("operation") == "dilation" else g.get("operation")
    return {"morphological": without({"kernel_size": g.pair("scale"), "operation": said, "p": whole(g.p)})}


def piecewise(g: Array) -> Operation:
    alone(g)
    says = {"scale": g.pair("scale"), "rows": g.pair("nb_rows"), "columns": g.pair("nb_cols"), "pixels": g.get("absolute_scale"), "p": whole(g.p)}
    return {"piecewise_affine": without({**says, **picked(g)}, rows=[4, 4], columns=[4, 4], pixels=False)}


RULES: dict[str, Rule] = {
    "Morphological": Rule(morphological),
    "HorizontalFlip": chance("horizontal_flip", NORMALIZED),
    "TimeReverse": chance("horizontal_flip", NORMALIZED),
    "VerticalFlip": chance("vertical_flip", NORMALIZED),
    "RandomRotate90": chance("random_rotate90", NORMALIZED),
    "Transpose": chance("transpose", NORMALIZED),
    "Perspective": Rule(perspective),
    "OpticalDistortion": Rule(optical_distortion),
    "GridDistortion": Rule(grid_distortion),
    "ElasticTransform": Rule(elastic_transform),
    "PiecewiseAffine": Rule(piecewise),
    "RandomGridShuffle": Rule(grid_shuffle, NORMALIZED),
    "Affine": Rule(affine),
    "ShiftScaleRotate": Rule(affine),
    "Rotate": Rule(rotate),
    "SafeRotate": Rule(safe_rotate),
}
