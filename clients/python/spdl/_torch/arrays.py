"""A transform of albumentations' that somebody gave, on pictures as arrays: what it says of filters, borders and sizes."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

from .given import PIL, Given, Number, Operation, refusal, whole

_FILTERS = {0: "cv2_nearest", 1: "cv2_linear", 2: "cv2_cubic", 3: "cv2_area", 4: "cv2_lanczos4"}  # by OpenCV's numbers
_BORDERS = {1: "edge", 2: "symmetric", 4: "reflect"}
_CONSTANT = 0

IN_HAND = ("an array of u8", "a tensor of u8", "an array of floats", "a normalized array", "what was erased")


class Pending(NamedTuple):
    """A PadIfNeeded behind which pictures may still be larger, so that a crop has to follow."""

    size: list[int]
    border: Operation
    place: str
    transform: Any


class Array(Given):
    """A transform of arrays, and its place."""

    p: float = 1  # that it happens
    grouped = False  # whether it is in a group that may not happen
    is_mask = False  # of numbers of classes
    followed = False  # by boxes or points
    pending: Optional[Pending] = None
    closing: Optional[list[int]] = None  # the size that pictures have behind it

    @property
    def happens(self) -> bool:
        """Whether it always does."""
        return self.p == 1 and not self.grouped

    def always_happens(self, why: str = "all rows of a batch are of one size") -> None:
        if self.p != 1:
            self.refuse(f"p: got {self.p:g}, want 1: {why}")

    def side(self, name: str) -> int:
        value = self.get(name)
        if not isinstance(value, int):
            self.refuse(f"{name}: got {value!r:.60}, want a whole number of pixels; a size that is drawn is random_resize's or scale_jitter's (docs/transforms.md)")
        return value

    def extent_of(self, height: str = "height", width: str = "width") -> list[int]:
        return [self.side(height), self.side(width)]

    def cv2_filter(self) -> str:
        number = self.get("mask_interpolation" if self.is_mask else "interpolation")
        name = _FILTERS.get(number)
        if name is None:
            self.refuse(f"interpolation: got cv2's {number}, want one of {', '.join(_FILTERS.values())}; INTER_LINEAR is within 1 of INTER_LINEAR_EXACT")
        down = getattr(self.transform, "area_for_downscale", None)
        if down is not None and name != "cv2_area" and not (self.is_mask and down == "image"):
            self.refuse(f"area_for_downscale: got {down!r}, which goes by each picture's size, want None; interpolation=cv2.INTER_AREA is for pictures that are larger, "
                        "and a kind of linear for others")
        return name

    def border_of(self, fill: str = "fill") -> Operation:
        """What lies beyond the picture."""
        mode = self.get("border_mode")
        if mode != _CONSTANT:
            if mode not in _BORDERS:
                self.refuse(f"border_mode: got cv2's {mode}, want BORDER_CONSTANT, BORDER_REPLICATE, BORDER_REFLECT or BORDER_REFLECT_101")
            return {"padding_mode": _BORDERS[mode]}
        if self.in_hand != PIL:
            self.refuse(f"{fill}: is of {IN_HAND[self.in_hand]}, want this in front of ToFloat and Normalize, where 255 is white")
        value = self.fill("fill_mask" if self.is_mask else fill)
        return {} if value is None else {"fill": value}

    def warped_border(self) -> Operation:
        """What lies beyond the picture where it is turned and moved. What is mirrored there has boxes and points of its own."""
        border = self.border_of()
        if self.followed and border.get("padding_mode") in ("reflect", "symmetric"):
            self.refuse(f"border_mode: got cv2's {self.get('border_mode')} beside bbox_params or keypoint_params, want BORDER_CONSTANT or BORDER_REPLICATE: boxes and points of what is mirrored are not added here")
        return border

    def axes(self, name: str) -> list[Number]:
        """Ranges along x and y: two numbers where they are the same."""
        value = self.get(name)
        both = [[whole(v) for v in value[axis]] for axis in "xy"]
        return both[0] if both[0] == both[1] else both[0] + both[1]

    def take_pending(self, size: list[int]) -> Operation:
        """The border of a PadIfNeeded that stands right in front."""
        pending, self.pending = self.pending, None
        if pending is None:
            return {}
        if pending.size != size:
            raise refusal(pending.place, pending.transform, f"got {pending.size} in front of a crop of {size}, want the same size of both: where a part of what was padded is taken, "
                                                            "a smaller picture lies elsewhere")
        return pending.border
