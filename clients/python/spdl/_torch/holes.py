"""albumentations' transforms that make holes in pictures."""

from __future__ import annotations

from typing import Any, Optional

from .arrays import Array
from .given import ERASED, NORMALIZED, PIL, Operation, Rule, whole, without

_ALL = 16384  # pixels at least of a row's sides

def holes_alone(g: Array, name: str, of_mask: str) -> None:
    """Refuse what follows holes: boxes and points that these cover, and masks."""
    if g.followed:
        g.refuse(f'beside bbox_params or keypoint_params it drops and cuts what holes cover, which nothing does here; leave one of them out, or take {{"{name}": {{...}}}}, by which boxes stay as they are')
    if g.get(of_mask) is not None:
        g.refuse(f"{of_mask}: got {g.get(of_mask)}, want None: masks keep what is beneath holes")


def grid_dropout(g: Array) -> Optional[Operation]:
    holes_alone(g, "grid_dropout", "fill_mask")
    if g.is_mask:
        return None
    units, anywhere = g.get("unit_size_range"), g.get("random_offset")
    if units is not None and g.get("holes_number_xy") is None:
        units = [units[0], max(units[0], units[1] - 1)]  # theirs leaves out the last
    else:
        units = None
    return {"grid_dropout": without({"ratio": g.number("ratio"), "grid": g.get("holes_number_xy"), "unit_size": units, "random_offset": anywhere, "shift": None if anywhere else g.get("shift_xy"), "p": whole(g.p),
                                     "fill": g.fill()}, random_offset=True, shift=[0, 0], grid=None, unit_size=None)}


def pixel_dropout(g: Array) -> Optional[Operation]:
    holes_alone(g, "pixel_dropout", "mask_drop_value")
    if g.get("drop_value") is None:
        g.refuse("drop_value: got None, drawn for each picture, want a number, or one a channel")
    return None if g.is_mask else {"pixel_dropout": without({"share": g.number("dropout_prob"), "per_channel": g.get("per_channel"), "p": whole(g.p), "fill": g.fill("drop_value")}, per_channel=False)}


def coarse_dropout(g: Array) -> Optional[Operation]:
    holes_alone(g, "coarse_dropout", "fill_mask")
    if g.is_mask:
        return None
    height, width = g.pair("hole_height_range"), g.pair("hole_width_range")
    pixels = height[1] >= 1
    if pixels:
        height[:], width[:] = ([int(low), int(high + 1) - 1] for low, high in (height, width))
    holes = {"holes": g.pair("num_holes_range"), "height": height, "width": width, "pixels": pixels, "p": whole(g.p)}
    if g.in_hand == PIL:
        return {"coarse_dropout": without({**holes, "fill": g.fill()}, pixels=False)}
    g.in_hand = ERASED
    return {"random_erasing": without({**holes, "value": erased(g)}, pixels=False, value=0)}


def erasing(g: Array) -> Optional[Operation]:
    holes_alone(g, "erasing", "fill_mask")
    return None if g.is_mask else {"erasing": without({"scale": g.pair("scale"), "ratio": g.pair("ratio"), "p": whole(g.p), "fill": g.fill()})}


def erased(g: Array) -> Any:
    """What holes in floats become."""
    value = g.get("fill")
    some = value if isinstance(value, list) else [value]
    if not all(isinstance(one, (int, float)) for one in some):
        g.refuse(f"fill: got {value!r:.60} behind ToFloat or Normalize, want a number, or one for each channel")
    return [whole(one) for one in value] if isinstance(value, list) else whole(value)


def stripes(g: Array) -> Optional[Operation]:
    """XYMasking and, of a spectrogram, TimeMasking and FrequencyMasking: holes as wide, or as high, as the row."""
    if g.followed or g.is_mask:
        holes_alone(g, "coarse_dropout", "fill_mask")
    made = []
    for axis, along, across in (("x", "width", "height"), ("y", "height", "width")):
        number, length = (span(g, name) for name in (f"num_masks_{axis}", f"mask_{axis}_length"))
        if number[1] > 0 and length[1] > 0:
            made.append({"coarse_dropout": without({"holes": number, along: length, across: [_ALL, _ALL], "pixels": True, "p": 1, "fill": g.fill()})})
    if g.is_mask or not made:
        return None
    if len(made) == 1:
        made[0]["coarse_dropout"]["p"] = whole(g.p)
        return made[0]
    return {"random_apply": {"transforms": made, "p": whole(g.p)}}


def span(g: Array, name: str) -> list[Any]:
    """Two whole numbers, of one, of two or of none."""
    value = g.get(name)
    return list(value) if isinstance(value, (list, tuple)) else [value or 0, value or 0]


RULES: dict[str, Rule] = {
    **dict.fromkeys(("XYMasking", "TimeMasking", "FrequencyMasking"), Rule(stripes)),
    "CoarseDropout": Rule(coarse_dropout, NORMALIZED),
    "GridDropout": Rule(grid_dropout),
    "PixelDropout": Rule(pixel_dropout),
    "Erasing": Rule(erasing),
}
