"""albumentations' transforms, on pictures as arrays, by the names of their classes. Pixels are OpenCV's; what is random has the same distribution and draws other numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Callable, Protocol

from . import coloured, cropped, holes, warped
from .arrays import Array
from .given import FLOATS, NORMALIZED, PIL, Operation, Rule, refusal, whole, without
from .torchvision import IMAGENET

_FORMATS: dict[str, Operation] = {"pascal_voc": {"format": "xyxy"}, "coco": {"format": "xywh"}, "yolo": {"format": "cxcywh", "normalized": True}, "albumentations": {"format": "xyxy", "normalized": True}}
_ANY_AREA = 1e-7  # of a box, in pixels: less is none


class Walk(Protocol):
    """What groups tell of their transforms, which is what transforms.py does."""

    forced: bool
    steps: list[tuple[Operation, Any]]
    is_mask: bool

    def add(self, one: Any, place: str) -> None: ...
    def apply(self, transforms: Any, p: float, one: Any, place: str) -> None: ...
    def choose(self, children: list[tuple[float, Any, str]], p: float, one: Any, place: str, forced: bool = True) -> None: ...
    def order(self, one: Any, place: str) -> None: ...
    def some(self, n: int, one: Any, place: str) -> None: ...
    def follow(self, key: str, says: Operation, one: Any, place: str) -> None: ...


# ---- what makes floats and tensors


def to_float(g: Array) -> None:
    g.always_happens("all rows of a batch are of one type")
    if g.get("max_value") not in (None, 255):
        g.refuse(f"max_value: got {g.get('max_value'):g}, want 255: a row of floats is x/255; Normalize(mean=0, std=1, max_pixel_value=...) divides by another")
    if g.in_hand == PIL:
        g.in_hand, g.rows_last = FLOATS, True


def normalize(g: Array) -> Operation:
    g.always_happens("all rows of a batch are of one type")
    if g.get("normalization") != "standard":
        g.refuse(f"normalization: got {g.get('normalization')!r}, which goes by each picture's own numbers, want 'standard'")
    by = g.number("max_pixel_value") * (255 if g.in_hand == FLOATS else 1) / 255
    said: dict[str, list[Any]] = {}
    for key in ("mean", "std"):
        value = g.get(key)
        value = value if isinstance(value, list) else [value]
        said[key] = [whole(v * by) for v in (value * g.channels if len(value) == 1 else value)]
    g.rows_last = g.rows_last or g.in_hand == PIL
    g.in_hand = NORMALIZED
    return {"normalize": "imagenet" if said == IMAGENET else said}


def nothing(g: Array) -> None:
    pass


RULES: dict[str, Rule] = {
    **cropped.RULES,
    **coloured.RULES,
    **holes.RULES,
    **warped.RULES,
    "ToFloat": Rule(to_float, FLOATS),
    "Normalize": Rule(normalize, FLOATS),
    "NoOp": Rule(nothing, NORMALIZED),
}

# What leaves a mask as it is.
OF_COLOURS = (*coloured.RULES, "ToFloat", "Normalize")

# What is known and cannot be told, and what does it here.
REMEDIES = {
    "ToTensor3D": "volumes have no operation here; ToTensorV2() is for pictures",
    "Lambda": "a function of one's own has no operation; map whole batches: spdl.DataLoader(..., transform=)",
    "SelectiveChannelTransform": "operations are of all channels here",
    "RandomCropNearBBox": "it goes by a box that each call brings; at_least_one_bbox_random_crop goes by those of bbox_params",
    "CropNonEmptyMaskIfExists": "masks do not say where their pictures are cropped; at_least_one_bbox_random_crop goes by boxes",
    "ChromaticAberration": "all channels are seen through one lens here: optical_distortion",
    **dict.fromkeys(("RandomGravel", "Spatter"), "drops and gravel are not drawn here; random_rain, random_fog, random_shadow and coarse_dropout change light, or cover parts"),
    **dict.fromkeys(("Illumination", "PlasmaBrightnessContrast", "PlasmaShadow"), "light is that of all of a picture here: random_brightness_contrast, random_gamma, random_tone_curve"),
    **dict.fromkeys(("ThinPlateSpline", "GridElasticDeform"), "cv2_elastic_transform, piecewise_affine, grid_distortion and optical_distortion bend pictures"),
    **dict.fromkeys(("MaskDropout", "ConstrainedCoarseDropout"), "coarse_dropout, grid_dropout and erasing make holes"),
    **dict.fromkeys(("HEStain", "HistogramMatching", "FDA", "PixelDistributionAdaptation"), "it goes by other pictures, or by each picture's own statistics; want it done to the files before"),
}


# ---- what holds others


def compose(walk: Walk, one: Any, place: str) -> None:
    if getattr(one, "additional_targets", None):
        raise refusal(place, one, f"additional_targets: got {', '.join(one.additional_targets)}, want none: each of a sample's pictures is one of fields, with this transform (docs/media.md)")
    if one.save_applied_params:
        raise refusal(place, one, "save_applied_params: got True, want False; image: {affine: true} tells where points went")
    for name, of in one.processors.items():
        if not walk.is_mask:
            key, says = (boxes if name == "bboxes" else points)(of.params, one, place)
            walk.follow(key, says, one, place)
    sequence(walk, one, place)
    if "bboxes" in one.processors and not walk.is_mask:
        check_areas(walk, one, place)


def boxes(params: Any, one: Any, place: str) -> tuple[str, Operation]:
    """bbox_params as image.boxes. The column is that of this name unless the section says another."""
    def refuse(what: str) -> None:
        raise refusal(place, one, f"bbox_params: {what}")

    if params.min_width != params.min_height:
        refuse(f"got min_width {params.min_width:g} and min_height {params.min_height:g}, want the same of both")
    if params.max_accept_ratio is not None:
        refuse(f"max_accept_ratio: got {params.max_accept_ratio:g}, want None")
    return "boxes", without({"column": "bboxes", **_FORMATS[params.format], "min_size": whole(params.min_width), "min_area": whole(max(params.min_area, _ANY_AREA)),
                             "min_visibility": whole(params.min_visibility), "with": list(params.label_fields or [])}, min_visibility=0, **{"with": []})


def check_areas(walk: Walk, one: Any, place: str) -> None:
    """Refuse least sizes that albumentations also asks of pictures of another size than the row's."""
    params = one.processors["bboxes"].params
    sized = [i for i, (operation, _) in enumerate(walk.steps) for name, value in operation.items()
             if name in ("resize", "random_resized_crop", "resized_crop", "random_scale") or name == "bbox_safe_random_crop" and isinstance(value, dict) and "size" in value]
    if not sized or not params.check_each_transform or not (params.min_area > 0 or params.min_width > 0):
        return
    last = sized[-1]
    if any(at is not walk.steps[last][1] for _, at in walk.steps[:last]):
        first, name = (next(iter(walk.steps[i][0])) for i in (0, last))
        raise refusal(place, one, f"bbox_params: min_area, min_width and min_height count behind each transform, of which {first} is ahead of {name}: of pictures of another size than the row's; put {name} first")


def points(params: Any, one: Any, place: str) -> tuple[str, Operation]:
    if params.format != "xy":
        raise refusal(place, one, f"keypoint_params: format: got {params.format!r}, want 'xy': points have no angle and no scale here")
    return "points", without({"column": "keypoints", "remove_invisible": bool(params.remove_invisible), "with": list(params.label_fields or [])}, remove_invisible=False, **{"with": []})


def sequence(walk: Walk, one: Any, place: str) -> None:
    p = happens(walk, one)
    if p == 1:
        walk.add(list(one.transforms), f"{place}.transforms")
    else:
        walk.apply(list(one.transforms), p, one, place)


def happens(walk: Walk, one: Any) -> float:
    """Its probability, which is 1 where a group around it has decided already."""
    forced, walk.forced = walk.forced, False
    return 1.0 if forced else float(one.p)


def one_of(walk: Walk, one: Any, place: str) -> None:
    """The probabilities of its transforms are weights."""
    p = happens(walk, one)
    walk.choose([*weighted(one, place, 1.0)], p, one, place)


def weighted(one: Any, place: str, by: float) -> Iterable[tuple[float, Any, str]]:
    for i, child in enumerate(one.transforms):
        at = f"{place}.transforms[{i}]"
        if type(child).__qualname__ == "OneOf":
            total = sum(t.p for t in child.transforms)
            yield from weighted(child, at, by * child.p / total)
        else:
            yield by * child.p, child, at


def one_or_other(walk: Walk, one: Any, place: str) -> None:
    p = float(one.p)
    walk.forced = False
    children = [one.transforms[0], one.transforms[-1]]
    walk.choose([(w, child, f"{place}.transforms[{i}]") for i, (w, child) in enumerate(zip((p, 1 - p), children))], 1.0, one, place)


def some_of(walk: Walk, one: Any, place: str) -> None:
    """All of its transforms, or some, each of which then has its own probability."""
    p, name = float(one.p), type(one).__qualname__
    walk.forced = False
    if not one.replace and one.n == len(one.transforms):
        if name == "SomeOf":
            sequence(walk, one, place)
        elif p != 1:
            raise refusal(place, one, f"p: got {p:g}, want 1: an order by chance is of all of them, always; each may have a p of its own")
        else:
            walk.order(one, place)
    elif one.n == 1:
        walk.choose([(1.0, child, f"{place}.transforms[{i}]") for i, child in enumerate(one.transforms)], p, one, place, forced=False)
    elif one.replace or name != "SomeOf":
        raise refusal(place, one, f"n: got {one.n} of {len(one.transforms)}{' with replacement' if one.replace else ' in an order by chance'}, want 1, or all of them without replacement")
    elif p != 1:
        raise refusal(place, one, f"p: got {p:g}, want 1 of {one.n} that are picked: each may have a p of its own")
    else:
        walk.some(one.n, one, place)


def d4(walk: Walk, one: Any, place: str) -> None:
    """Eight positions, evenly: a flip or none, and a number of quarters."""
    p = happens(walk, one)
    both = [{"horizontal_flip": 0.5}, {"random_rotate90": 1}]
    if p == 1:
        walk.add(both, place)
    elif p > 0:
        walk.apply(both, p, one, place)


GROUPS: dict[str, Callable[[Walk, Any, str], None]] = {
    "Compose": compose, "ReplayCompose": compose, "Sequential": sequence, "OneOf": one_of, "OneOrOther": one_or_other, "SomeOf": some_of, "RandomOrder": some_of, "D4": d4, "SquareSymmetry": d4,
}
