"""albumentations' transforms that crop, pad and resize."""

from __future__ import annotations

from typing import Any, Optional

from . import extents
from .arrays import Array, Pending
from .given import NORMALIZED, Operation, Rule, short, whole, without


def sized(name: str, operation: Operation) -> Operation:
    size = operation["size"]
    if isinstance(size, list) and size[0] == size[-1] and name != "resize":
        operation = {**operation, "size": size[0]}
    return {name: short("size", operation)}


def resize(g: Array) -> Operation:
    g.always_happens()
    return {"resize": {"size": g.extent_of(), "interpolation": g.cv2_filter()}}


def max_size(g: Array, key: str) -> Operation:
    g.always_happens()
    if g.get("max_size") is None:
        g.refuse(f"max_size_hw: got {g.get('max_size_hw')}, want max_size, one number")
    return {"resize": {key: g.side("max_size"), "rounding": "nearest", "interpolation": g.cv2_filter()}}


def center_crop(g: Array) -> Operation:
    g.always_happens()
    return sized("center_crop", {"size": g.extent_of(), "rounding": "down", **padded(g)})


def random_crop(g: Array) -> Operation:
    g.always_happens()
    return sized("random_crop", {"size": g.extent_of(), **padded(g)})


def padded(g: Array) -> Operation:
    """What lies around a smaller picture, which is in the middle. Without pad_if_needed there is none: albumentations stops at it."""
    border = g.take_pending(g.extent_of())
    if not g.get("pad_if_needed"):
        return border
    if g.get("pad_position") != "center":
        g.refuse(f"pad_position: got {g.get('pad_position')!r}, want 'center'")
    return border or g.border_of()


def pad_if_needed(g: Array) -> Optional[Operation]:
    g.always_happens()
    if g.get("min_height") is None or g.get("min_width") is None:
        g.refuse("pad_height_divisor, pad_width_divisor: got one, where rows are of many sizes, want min_height and min_width")
    size, position, border = g.extent_of("min_height", "min_width"), g.get("position"), g.border_of()
    if (there := brought_to(g.before)) is not None and there[0] >= size[0] and there[1] >= size[1]:
        return None
    if fits_within(g.before, size):
        if position == "random":
            g.refuse("position: got 'random', want 'center' or a corner")
        return sized("center_crop", {"size": size, **({"rounding": "down"} if position == "center" else {"position": position}), **border})
    if position != "center":
        g.refuse(f"position: got {position!r} where pictures may be larger, want 'center', or LongestMaxSize({min(size)}) or Resize in front")
    g.pending = Pending(size, border, g.place, g.transform)
    return None


def fits_within(before: list[Operation], size: list[int]) -> bool:
    """Whether what is in hand is no larger."""
    for i in reversed(range(len(before))):
        made = before[i].get("resize")
        if isinstance(made, dict):
            largest = made.get("size", made.get("max_size"))
            if not isinstance(largest, (int, list)):  # a bucket's size, or one by pixels
                return False
            h, w = largest if isinstance(largest, list) else (largest, largest)
            if extents.sideways(before[i + 1:]):
                h = w = max(h, w)
            return (isinstance(largest, list) or "size" not in made) and h <= size[0] and w <= size[1]
    return False


def pad(g: Array) -> Operation:
    g.always_happens()
    padding = g.get("padding")
    return {"pad": short("padding", {"padding": padding, **g.border_of()})}


def random_resized_crop(g: Array) -> Operation:
    return parted(g, without({"size": g.size(), "scale": g.pair("scale"), "ratio": g.pair("ratio"), "interpolation": g.cv2_filter()}, scale=[0.08, 1], ratio=[3 / 4, 4 / 3]))


def random_sized_crop(g: Array) -> Operation:
    ratio = g.number("w2h_ratio")
    return parted(g, without({"size": g.size(), "height": g.pair("min_max_height"), "ratio": [ratio, ratio], "interpolation": g.cv2_filter()}, ratio=[1, 1]))


def parted(g: Array, says: Operation) -> Operation:
    """A part of the picture that is resized: what gives rows their size, or, where that may not happen or something has done so already, a step of its own."""
    if g.happens and not any(name in SIZERS for operation in g.before for name in operation):
        return sized("random_resized_crop", says)
    return closed(g, says["size"], {"resized_crop": without({**says, "p": whole(g.p)}, p=1, interpolation="cv2_linear")})


def closed(g: Array, size: list[int], operation: Operation) -> Operation:
    """An operation behind which pictures are of this size, or, where it may not happen, as before, which may be the same."""
    size = [size[0], size[-1]]
    if g.happens or brought_to(g.before) == size:
        g.closing = size
    return operation


def brought_to(before: list[Operation]) -> Optional[list[int]]:
    """The size that all pictures have, if they have one."""
    for i in reversed(range(len(before))):
        (name, value), = before[i].items()
        if name in ("random_apply", "random_choice", "random_order"):
            members = value["transforms"] if isinstance(value, dict) else value
            if any(brought_to([*before[:i], one]) != brought_to(before[:i]) for one in members):
                return None
            continue
        said: Operation = value if isinstance(value, dict) else {"size": value}
        if name == "crop_and_pad" and said.get("keep_size", True):
            continue
        if name in ("resized_crop", BOX_SAFE) and said.get("p", 1) < 1 and brought_to(before[:i]) == both(said.get("size")):
            continue
        if name in (*PARTS, *SIZERS):
            size = both(said.get("size")) if name in ("center_crop", "random_crop", "random_resized_crop") or name in PARTS and said.get("p", 1) == 1 or isinstance(said.get("size"), list) else None
            return None if size and size[0] != size[1] and extents.sideways(before[i + 1:]) else size
    return None


def both(size: Any) -> Optional[list[int]]:
    return size if isinstance(size, list) and len(size) == 2 else size * 2 if isinstance(size, list) else None if size is None else [size, size]


def random_scale(g: Array) -> Operation:
    scale = [whole(1 + v) for v in g.pair("scale_limit")]
    return {"random_scale": without({"scale": scale, "p": whole(g.p), "interpolation": g.cv2_filter()}, interpolation="cv2_linear")}


def crop(g: Array) -> Operation:
    box = [g.side(name) for name in ("x_min", "y_min", "x_max", "y_max")]
    if g.get("pad_if_needed"):
        g.refuse("pad_if_needed: got True, want False: a part by its place ends where the picture does; PadIfNeeded and CenterCrop or RandomCrop have a size")
    if g.happens:
        g.closing = [box[3] - box[1], box[2] - box[0]]
    return {"crop": short("box", without({"box": box, "p": whole(g.p)}, p=1))}


def crop_from_borders(g: Array) -> Operation:
    says = {name: g.number(f"crop_{name}") for name in ("left", "right", "top", "bottom")}
    return {"random_crop_from_borders": without({**says, "p": whole(g.p)}, left=0.1, right=0.1, top=0.1, bottom=0.1, p=1)}


def crop_and_pad(g: Array) -> Operation:
    key = "px" if g.get("px") is not None else "percent"
    by = g.get(key)
    if isinstance(by, list) and len(by) == 4:
        by = [sides_of(g, key, one) for one in by]
    elif isinstance(by, list):
        by = sides_of(g, key, by)
    for name in ("fill_mask",) if g.is_mask else ("fill",):
        if isinstance(g.get(name), list):
            g.refuse(f"{name}: got {g.get(name)}, of which one is drawn for each picture, want a number")
    border = g.border_of()
    if border.get("padding_mode") not in (None, "edge"):
        g.refuse(f"border_mode: got cv2's {g.get('border_mode')}, want BORDER_CONSTANT or BORDER_REPLICATE: a part of the picture may be gone that would be mirrored")
    keeps, apart = bool(g.get("keep_size")), bool(g.get("sample_independently"))
    before = brought_to(g.before) if keeps else None
    if before is not None:
        g.closing = before
    says = {key: by, "sample_independently": apart if isinstance(by, list) and len(by) == 2 else None, "keep_size": keeps, "p": whole(g.p), "interpolation": g.cv2_filter() if keeps else None, **border}
    return {"crop_and_pad": without(says, sample_independently=True, keep_size=True, p=1, interpolation="cv2_linear")}


def sides_of(g: Array, key: str, by: Any) -> Any:
    """A range, of pixels without its last number, or a number."""
    if not isinstance(by, list):
        return whole(by)
    if len(by) != 2:
        g.refuse(f"{key}: got {by!r:.60}, of which one is drawn, want a number, a range, or four of these")
    return [by[0], max(by[0], by[1] - 1)] if key == "px" else [whole(v) for v in by]


def box_safe(g: Array) -> Operation:
    erosion = g.number("erosion_rate")
    return {BOX_SAFE: short("erosion_rate", without({"erosion_rate": erosion, "p": whole(g.p)}, p=1))}


def sized_box_safe(g: Array) -> Operation:
    size = g.extent_of()
    says = {"erosion_rate": g.number("erosion_rate"), "size": size, "p": whole(g.p), "interpolation": g.cv2_filter()}
    return closed(g, size, {BOX_SAFE: without(says, erosion_rate=0, p=1, interpolation="cv2_linear")})


def around_a_box(g: Array) -> Operation:
    size = g.extent_of()
    return closed(g, size, {"at_least_one_bbox_random_crop": without({"size": size, "erosion_factor": g.number("erosion_factor"), "p": whole(g.p)}, erosion_factor=0, p=1)})


BOX_SAFE = "bbox_safe_random_crop"
SIZERS = ("resize", "center_crop", "random_crop", "random_resized_crop", "random_resize", "random_shortest_size", "scale_jitter", "pad")  # what says a size of rows
PARTS = ("crop", "random_crop_from_borders", "crop_and_pad", BOX_SAFE, "at_least_one_bbox_random_crop", "resized_crop", "random_scale")  # what changes that of a picture, ahead of them

RULES: dict[str, Rule] = {
    "Resize": Rule(resize),
    "SmallestMaxSize": Rule(lambda g: max_size(g, "size")),
    "LongestMaxSize": Rule(lambda g: max_size(g, "max_size")),
    "PadIfNeeded": Rule(pad_if_needed, NORMALIZED),
    "Pad": Rule(pad, NORMALIZED),
    "CenterCrop": Rule(center_crop, NORMALIZED),
    "RandomCrop": Rule(random_crop, NORMALIZED),
    "RandomResizedCrop": Rule(random_resized_crop),
    "RandomSizedCrop": Rule(random_sized_crop),
    "RandomScale": Rule(random_scale),
    "Crop": Rule(crop, NORMALIZED),
    "RandomCropFromBorders": Rule(crop_from_borders, NORMALIZED),
    "CropAndPad": Rule(crop_and_pad),
    "BBoxSafeRandomCrop": Rule(box_safe, NORMALIZED),
    "RandomSizedBBoxSafeCrop": Rule(sized_box_safe),
    "AtLeastOneBBoxRandomCrop": Rule(around_a_box, NORMALIZED),
}
