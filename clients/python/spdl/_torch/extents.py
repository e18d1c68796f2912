"""Pictures that keep sizes of their own: whether transforms leave them these, and what a row has to have room for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from .given import Operation, refusal

Extent = tuple[int, int]  # height and width

_CROPS = ("center_crop", "random_crop", "random_resized_crop")
_GROUPS = ("random_apply", "random_choice", "random_order")
_MOST = 16384  # that a side may have


def differ(operations: list[Operation]) -> bool:
    """Whether the pictures that they make have sizes of their own."""
    for name, value in _each(operations):
        size = value.get("size") if isinstance(value, dict) else value
        if name in _CROPS or name == "resize" and isinstance(size, (list, tuple, str)) and not (isinstance(value, dict) and value.get("fit") == "cover"):
            return False
    return True


def bounded(operations: list[Operation]) -> bool:
    """Whether they themselves say how large a picture becomes at most, so that a description needs no room."""
    return any(name == "scale_jitter" or isinstance(value, dict) and (name in ("resize", "random_shortest_size") and value.get("max_size") is not None or "max_pixels" in value)
               for name, value in _each(operations))


def shape(given: Any, place: str, operations: list[Operation], listed: bool) -> dict[str, Any]:
    """What a section says of the shape of its rows where nobody says how large the pictures are: as the loop has them in a list of samples, they may keep sizes of their own."""
    if not differ(operations):
        return {}
    if not listed:
        raise refusal(place, given, "leaves the size of each picture open, and torch's own collate makes batches of one size, want one: Resize((H, W)), or a crop behind what is there; or a collate_fn, "
                                    "which has pictures of any size in a list of samples")
    if not bounded(operations):
        raise refusal(place, given, "leaves the size of each picture open, and nobody says how large the pictures are, want what bounds it: Resize(N, max_size=M) or RandomShortestSize(N, max_size=M)")
    return {"shape": "ragged"}


def room(extents: Iterable[Extent], operations: list[Operation]) -> list[int]:
    """Sides of a picture of as many pixels as the largest that they make of pictures of these sizes."""
    most = max((_reached(min(one), max(one), operations) for one in set(extents)), key=lambda reach: reach.short * reach.long)
    return [min(most.short, _MOST), min(most.long, _MOST)]


class _Reach(NamedTuple):
    """What the sides of a picture may be at most, and how many times as long as the other one of them."""

    short: int
    long: int
    ratio: float


def _reached(short: int, long: int, operations: list[Operation]) -> _Reach:
    reach = _Reach(short, long, long / short)
    for name, value in _each(operations):
        if name in _RULES:
            reach = _RULES[name](reach, value)
    return reach


def sideways(operations: list[Operation]) -> bool:
    """Whether one of them may turn the sides of a picture into each other."""
    return any(name in ("random_rotate90", "transpose") for name, _ in _each(operations))


def _each(operations: list[Operation]) -> Iterable[tuple[str, Any]]:
    """The operations by their names, those of groups as well."""
    for operation in operations:
        for name, value in operation.items():
            if name in _GROUPS:
                yield from _each(value["transforms"] if isinstance(value, dict) else value)
            else:
                yield name, value


def _zoomed_out(reach: _Reach, value: Any) -> _Reach:
    by = value[1] if isinstance(value, list) else value.get("side_range", [1, 4])[1]
    return _Reach(math.ceil(reach.short * by), math.ceil(reach.long * by), reach.ratio * (1 + 1 / reach.short))  # sides are cut off to whole pixels


def _cropped(reach: _Reach, value: Any) -> _Reach:
    """By boxes."""
    return reach._replace(ratio=max(reach.ratio, value.get("max_aspect_ratio", 2), 1 / value.get("min_aspect_ratio", 0.5)))


def _parted(reach: _Reach, value: Any) -> _Reach:
    """A part of the picture, of any shape, or of a size."""
    size = value.get("size") if isinstance(value, dict) else None
    sides = size if isinstance(size, list) else [reach.long if size is None else size]
    return _Reach(max(reach.short, *sides), max(reach.long, *sides), _MOST)


def _moved(reach: _Reach, value: Any) -> _Reach:
    """Sides that move outwards, of which no more than all of the picture is added."""
    if not isinstance(value, dict) or value.get("keep_size", True):
        return reach
    if "px" not in value:
        return _Reach(3 * reach.short, 3 * reach.long, _MOST)
    most = 2 * max(0, _highest(value["px"]))
    return _Reach(reach.short + most, reach.long + most, _MOST)


def _highest(value: Any) -> int:
    return max(map(_highest, value)) if isinstance(value, list) else value


def _scaled(reach: _Reach, value: Any) -> _Reach:
    by = value.get("scale", [0.9, 1.1]) if isinstance(value, dict) else value
    by = max(1, *by) if isinstance(by, list) else max(1, by)
    return _Reach(math.ceil(reach.short * by), math.ceil(reach.long * by), reach.ratio * (1 + 1 / reach.short))


def _turned(reach: _Reach, value: Any) -> _Reach:
    if not isinstance(value, dict) or not value.get("expand"):
        return reach
    side = math.ceil(math.hypot(reach.short, reach.long)) + 2
    return _Reach(side, side, reach.ratio * (1 + 2 / reach.short))


def _shorter(reach: _Reach, side: int) -> _Reach:
    """The shorter side becomes this."""
    return _Reach(side, math.ceil(side * reach.ratio), reach.ratio)


def _largest(value: Any, key: str) -> int:
    sizes = value[key] if isinstance(value, dict) else value
    return max(sizes) if isinstance(sizes, (list, tuple)) else sizes


_RULES: dict[str, Callable[[_Reach, Any], _Reach]] = {
    "random_zoom_out": _zoomed_out,
    "random_iou_crop": _cropped,
    "crop": _parted,
    "random_crop_from_borders": _parted,
    "bbox_safe_random_crop": _parted,
    "at_least_one_bbox_random_crop": _parted,
    "resized_crop": _parted,
    "crop_and_pad": _moved,
    "random_scale": _scaled,
    "random_rotation": _turned,
    "resize": lambda reach, value: _shorter(reach, _largest(value, "size")),
    "random_resize": lambda reach, value: _shorter(reach, value["max_size"] - 1),
    "random_shortest_size": lambda reach, value: _shorter(reach, _largest(value, "min_size")),
}
