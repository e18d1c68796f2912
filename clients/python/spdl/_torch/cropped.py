"""albumentations' transforms that crop, pad and resize."""

from __future__ import annotations

from typing import Optional

from . import extents
from .arrays import Array, Pending
from .given import NORMALIZED, Operation, Rule, short, without


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
    g.always_happens()
    return sized("random_resized_crop", without(
        {"size": g.size(), "scale": g.pair("scale"), "ratio": g.pair("ratio"), "interpolation": g.cv2_filter()}, scale=[0.08, 1], ratio=[3 / 4, 4 / 3]))


def random_sized_crop(g: Array) -> Operation:
    g.always_happens()
    ratio = g.number("w2h_ratio")
    return sized("random_resized_crop", without({"size": g.size(), "height": g.pair("min_max_height"), "ratio": [ratio, ratio], "interpolation": g.cv2_filter()}, ratio=[1, 1]))


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
}
