"""Transforms of torchvision's v2 that take pictures together with boxes or with masks: what becomes of these."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Callable, Optional

from .given import Given, Operation, refusal, without

# Operations that move nothing, of which a mask knows nothing.
_STILL = ("grayscale", "invert", "autocontrast", "equalize", "color_jitter", "random_photometric_distort", "random_channel_permutation", "gaussian_blur", "gaussian_noise",
          "jpeg", "solarize", "posterize", "adjust_sharpness", "normalize", "random_erasing")
_FLIPS = ("horizontal_flip", "vertical_flip")
_COLOURS = ("random_brightness_contrast", "random_gamma", "hue_saturation_value", "rgb_shift", "cv2_color_jitter", "box_blur", "median_blur", "cv2_gaussian_blur", "motion_blur", "clahe", "downscale",
            "sharpen", "unsharp_mask", "emboss", "to_sepia", "random_tone_curve", "channel_dropout", "cv2_equalize", "cv2_grayscale", "multiplicative_noise", "iso_noise", "cv2_autocontrast", "planckian_jitter", "random_shadow", "salt_and_pepper",
            "advanced_blur", "defocus", "ringing_overshoot", "glass_blur", "zoom_blur", "random_fog", "random_rain", "random_snow", "random_sun_flare", "shot_noise", "fancy_pca")  # albumentations'
_GROUPS = ("random_apply", "random_choice", "random_order")
_RESIZE = {"resize": "size", "random_resized_crop": "size", "random_resize": "min_size", "random_shortest_size": "min_size", "scale_jitter": "target_size"}  # and the main key of each
_FILL = {"center_crop": "size", "random_crop": "size", "pad": "padding", "random_rotation": "degrees", "random_affine": "degrees", "random_perspective": "distortion_scale",
         "random_zoom_out": "side_range"}
_MASK = "torchvision.tv_tensors._mask.Mask"
_EXACT = "nearest-exact"


class Boxes:
    """Boxes that go through transforms, and what their objects have besides."""

    def __init__(self, keys: Collection[str], form: str = "XYXY") -> None:
        self.form = form  # the format that they come out in
        self._labels, self._masks = "labels" in keys, "masks" in keys  # whether there are any
        self._sanitized: Optional[dict[str, Any]] = None
        self._marked: Optional[tuple[str, Any]] = None  # RandomIoUCrop, while nothing has taken away what it leaves out

    def passed(self, operation: Optional[Operation], place: str, one: Any) -> None:
        """Told of each transform, and of its operation."""
        if self._masks:
            _check_masks(operation or {}, Given(one, place, [], 0))
        for name in operation or ():
            if name == "random_iou_crop":
                self._marked = (place, one)
            if self._sanitized is not None and not _is_still(operation or {}, (*_STILL, *_FLIPS)):
                raise refusal(place, one, f"stands behind SanitizeBoundingBoxes, and {name} moves boxes or cuts them, want it in front: boxes are sanitized once, at the end")

    def sanitize(self, g: Given) -> None:
        getter = g.transform.labels_getter
        if getter != "default" or not self._labels:
            g.refuse(f"labels_getter: got {getter!r:.60}{'' if self._labels else ' and target_keys without labels'}, want \"default\": labels are dropped with their boxes")
        self._sanitized = {"min_size": g.number("min_size"), "min_area": g.number("min_area")}
        self._marked = None

    def convert(self, g: Given) -> None:
        form = str(g.get("format")).rpartition(".")[2].upper()
        if form not in ("XYXY", "XYWH", "CXCYWH"):
            g.refuse(f"format: got {form}, want XYXY, XYWH or CXCYWH: boxes that are turned have none here")
        self.form = form

    @property
    def sanitizes(self) -> bool:
        return self._sanitized is not None

    def section(self) -> dict[str, Any]:
        """As the picture's section says them. Raises SpecError where boxes would stay that torch only marks."""
        if self._marked is not None:
            raise refusal(*self._marked, "leaves boxes out, want SanitizeBoundingBoxes() behind it, which takes them away")
        return without({"column": "boxes", "format": self.form.lower(), "with": ["labels"] if self._labels else None, "masks": "masks" if self._masks else None, **(self._sanitized or {"min_size": 0, "min_area": 0})},
                       min_size=1, min_area=1)


class Mask:
    """A mask that goes through transforms."""

    def __init__(self) -> None:
        self.wide = False  # of 64 bits
        self.operations: list[Operation] = []

    def passed(self, operation: Optional[Operation], place: str, one: Any) -> None:
        if type(one).__qualname__ == "ToDtype":
            self._to(one, place)
        if operation is None or _is_still(operation, _STILL):
            return
        (name, value), = operation.items()
        g = Given(one, place, [], 0)
        if name in _FLIPS:
            self.operations.append(operation)
        elif name in _RESIZE:
            if g.get("interpolation") == _EXACT:
                g.refuse(f"interpolation: got {_EXACT} beside masks, of which torchvision's versions make two things, want another")
            self.operations.append({name: {**_long(value, _RESIZE[name]), "interpolation": "torch_nearest"}})
        elif name in _FILL:
            long = {key: v for key, v in _long(value, _FILL[name]).items() if key not in ("fill", "interpolation")}
            fill = _fill_of_mask(g) if hasattr(one, "fill") and "padding_mode" not in long else None
            made = without({**long, "fill": fill, "interpolation": "nearest" if name == "random_perspective" else None})
            self.operations.append({name: made if made.keys() != {_FILL[name]} else made[_FILL[name]]})
        else:
            raise refusal(place, one, f"got {name} of a picture and its mask, want resizes, crops, pads, flips, turns and what changes colours alone: a mask cannot follow it")

    def _to(self, one: Any, place: str) -> None:
        dtype = _dtype_of_masks(one)
        if dtype not in ("None", "uint8", "int64"):
            raise refusal(place, one, f"dtype: got {dtype} of masks, want torch.int64, or nothing, which leaves torch.uint8")
        self.wide = dtype == "int64" or self.wide and dtype == "None"


def _dtype_of_masks(one: Any) -> str:
    """What ToDtype makes of them; "None": they stay."""
    if not isinstance(one.dtype, dict):
        return "None"  # it is of pictures alone
    said = {getattr(kind, "__name__", kind): dtype for kind, dtype in one.dtype.items()}
    return str(said.get("Mask", said.get("others"))).replace("torch.", "")


def _check_masks(operation: Operation, g: Given) -> None:
    """Refuse what a transform says of the masks of objects that is said otherwise here."""
    if type(g.transform).__qualname__ == "ToDtype" and _dtype_of_masks(g.transform) not in ("None", "uint8"):
        g.refuse(f"dtype: got {_dtype_of_masks(g.transform)} of masks, and those of objects stay torch.uint8; convert them in the loop")
    for name in operation:
        if name in _GROUPS and not _is_still(operation, (*_STILL, *_FLIPS)):
            g.refuse("moves a picture and its masks, or does not, want what moves them outside of it, by a probability of its own: only flips and what changes colours go here")
        if name in _RESIZE and g.get("interpolation") == _EXACT:
            g.refuse(f"interpolation: got {_EXACT} beside masks, of which torchvision's versions make two things, want another")
        if name in _FILL and hasattr(g.transform, "fill") and getattr(g.transform, "padding_mode", "constant") == "constant" and (fill := _fill_of_mask(g)) is not None:
            g.refuse(f'fill: got {fill} of masks, which are 0 where no picture is, want fill={{tv_tensors.Mask: 0, "others": {fill}}}')


def is_still(operation: Operation) -> bool:
    """Whether it leaves pixels where they are, so that a map of classes knows nothing of it."""
    return _is_still(operation, _STILL)


def stays(operation: Operation) -> bool:
    """Whether it leaves boxes where they are."""
    return _is_still(operation, (*_STILL, *_COLOURS))


def only_flips(operation: Operation) -> bool:
    """Whether it does no more to boxes than to flip them with their picture."""
    return _is_still(operation, (*_STILL, *_FLIPS, *_COLOURS))


def _is_still(operation: Operation, still: tuple[str, ...]) -> bool:
    """Whether an operation, and each of a group, is one of these."""
    for name, value in operation.items():
        if name in _GROUPS:
            if not all(_is_still(one, still) for one in (value["transforms"] if isinstance(value, dict) else value)):
                return False
        elif name not in still:
            return False
    return True


def _long(value: Any, key: str) -> Operation:
    return dict(value) if isinstance(value, dict) else {key: value}


def _fill_of_mask(g: Given) -> Optional[int]:
    """None where it is 0."""
    said = g.get("fill")
    value = said.get(_MASK, said.get("others", 0)) if isinstance(said, dict) else said
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    if value is None:
        return None
    if isinstance(value, (list, bool)) or value != int(value) or not 0 <= value <= 255:
        g.refuse(f"fill: got {value!r:.60} of masks, want a whole number from 0 to 255, such as fill={{tv_tensors.Mask: 255, \"others\": 0}}")
    return int(value) or None


RULES: dict[str, Callable[[Boxes, Given], None]] = {
    "SanitizeBoundingBoxes": Boxes.sanitize,
    "ConvertBoundingBoxFormat": Boxes.convert,
    "ClampBoundingBoxes": lambda boxes, g: None,  # they never reach beyond what they lie in
}


def iou_crop(g: Given) -> Operation:
    """RandomIoUCrop, which boxes alone can follow."""
    return {"random_iou_crop": without(
        {"min_scale": g.number("min_scale"), "max_scale": g.number("max_scale"), "min_aspect_ratio": g.number("min_aspect_ratio"), "max_aspect_ratio": g.number("max_aspect_ratio"),
         "sampler_options": g.get("options"), "trials": g.get("trials")},
        min_scale=0.3, max_scale=1, min_aspect_ratio=0.5, max_aspect_ratio=2, sampler_options=[0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0], trials=40)}
