"""A Compose, or what stands in its place, as a transform list; and descriptions that hold such."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, Optional, Union

from .._errors import SpecError
from . import albumentations, arrays, cropped, extents, functions, joint, libraries, picture, prepared, processors, steps, timm, torchvision
from .annotated import Unknown
from .given import BYTES, ERASED, FLOATS, IN_HAND, NORMALIZED, PIL, RESIZERS, Given, Operation, Rule, refusal, shown, whole

Place = tuple[str, Any]  # where a transform stands, and the transform

_RULES: dict[str, dict[str, Rule]] = {"torchvision": torchvision.RULES, "timm": timm.RULES, "torch": {"Identity": torchvision.RULES["Identity"]}, "albumentations": albumentations.RULES}
_REMEDIES = {"torchvision": torchvision.REMEDIES, "timm": timm.REMEDIES, "torch": {}, "albumentations": albumentations.REMEDIES}
_LIBRARIES = {"torchvision.transforms": "torchvision", "timm.data": "timm", "torch.nn.modules": "torch", "albumentations": "albumentations"}
_BEHAVIOUR = ("__call__", "forward", "transform", "_transform", "make_params", "get_params", "_get_params", "_call_kernel", "apply", "apply_to_mask", "get_params_dependent_on_data")
_ENDINGS = {"normalize": NORMALIZED, "random_erasing": ERASED}

# Operations with a probability that they happen, and what it is where none is said. The others have nothing between always and never.
_HAPPENS = {"crop": 1, "random_crop_from_borders": 1, "crop_and_pad": 1, "bbox_safe_random_crop": 1, "at_least_one_bbox_random_crop": 1, "resized_crop": 1, "random_scale": 0.5, "color_jitter": 1, "gaussian_blur": 1, "gaussian_noise": 1, "jpeg": 1, "elastic_transform": 1, "solarize": 0.5, "posterize": 0.5,
            "adjust_sharpness": 0.5, "random_perspective": 0.5, "random_zoom_out": 0.5, "random_erasing": 0.5, "random_brightness_contrast": 0.5, "random_gamma": 0.5,
            "cv2_affine": 0.5, "hue_saturation_value": 0.5, "rgb_shift": 0.5, "cv2_color_jitter": 0.5, "box_blur": 0.5, "median_blur": 0.5, "cv2_gaussian_blur": 0.5, "motion_blur": 0.5, "coarse_dropout": 0.5, "clahe": 0.5,
            "sharpen": 0.5, "unsharp_mask": 0.5, "emboss": 0.5, "random_tone_curve": 0.5, "channel_dropout": 0.5, "grid_dropout": 0.5, "pixel_dropout": 0.5, "downscale": 0.5, "multiplicative_noise": 0.5, "iso_noise": 0.5, "cv2_autocontrast": 0.5, "salt_and_pepper": 0.5, "planckian_jitter": 0.5, "erasing": 0.5, "random_shadow": 0.5, "advanced_blur": 0.5, "defocus": 0.5, "ringing_overshoot": 0.5, "glass_blur": 0.5, "zoom_blur": 0.5, "random_fog": 0.5, "random_rain": 0.5, "random_snow": 0.5, "random_sun_flare": 0.5, "shot_noise": 0.5, "fancy_pca": 0.5, "morphological": 0.5, "cv2_perspective": 0.5, "optical_distortion": 0.5, "grid_distortion": 0.5, "piecewise_affine": 0.5, "cv2_elastic_transform": 0.5, "random_grid_shuffle": 0.5}
_GROUPED = (*cropped.PARTS, "horizontal_flip", "vertical_flip", "random_rotate90", "transpose", "random_rotation", "random_affine", "random_perspective", "cv2_affine", "cv2_perspective", "elastic_transform", "cv2_elastic_transform", "optical_distortion", "grid_distortion", "piecewise_affine", "random_grid_shuffle", "rand_augment",
            "trivial_augment_wide", "auto_augment", "timm_rand_augment", "aug_mix", "color_jitter", "random_photometric_distort", "random_channel_permutation", "grayscale", "gaussian_blur", "solarize",
            "posterize", "invert", "adjust_sharpness", "autocontrast", "equalize", "gaussian_noise", "jpeg", "random_brightness_contrast", "random_gamma", "hue_saturation_value", "rgb_shift",
            "cv2_color_jitter", "box_blur", "median_blur", "cv2_gaussian_blur", "motion_blur", "coarse_dropout", "clahe", "grid_dropout", "pixel_dropout", "downscale", "multiplicative_noise", "iso_noise", "cv2_autocontrast", "salt_and_pepper", "planckian_jitter", "erasing", "random_shadow", "advanced_blur", "defocus", "ringing_overshoot", "glass_blur", "zoom_blur", "random_fog", "random_rain", "random_snow", "random_sun_flare", "shot_noise", "fancy_pca", "morphological", "sharpen", "unsharp_mask", "emboss", "to_sepia", "random_tone_curve", "channel_dropout", "cv2_equalize", "cv2_grayscale")  # those that random_apply and its kin hold
SIZED = ("resize", "center_crop", "random_crop", "random_resized_crop", "random_resize", "random_shortest_size", "scale_jitter")  # what says a size
_IS_PROBABILITY = ("horizontal_flip", "vertical_flip", "grayscale", "invert", "autocontrast", "equalize", "random_channel_permutation", "random_rotate90",
                   "cv2_grayscale", "transpose", "to_sepia", "cv2_equalize")
_MASKS = "got one of several of which some leave a mask as it is, want all to move pixels, or none: a mask's section has the same as its picture's"


class Told(NamedTuple):
    """What transforms say of a section: its transform, and what follows from ToTensor and its kin."""

    operations: list[Operation]
    places: list[Place]  # of each operation
    section: dict[str, Any]  # layout, dtype, mode, boxes, points, tiles and patches, as far as they follow
    last: Optional[Place]  # the last transform
    tv_image: bool  # whether it leaves v2's own kind of tensor
    pure: bool  # whether it has made plain tensors of v2's kinds
    prepared: Optional[prepared.Prepared]  # what a batch has of pictures that an image processor has made
    tensor: bool = False  # whether it makes a tensor, and not a PIL image, or an array of albumentations'
    array: bool = False  # whether it makes that


def is_plain(transform: Any) -> bool:
    """Whether this is a list of operations as a file has it, or nothing that could be transforms."""
    if isinstance(transform, Sequence) and not isinstance(transform, (str, bytes)):
        return all(isinstance(one, (Mapping, str)) for one in transform)
    return transform is None or isinstance(transform, (Mapping, str, bytes, int, float))


def told(transform: Any, place: str, channels: int = 3, size: Optional[list[int]] = None, beside: Union[joint.Boxes, joint.Mask, None] = None, is_mask: bool = False) -> Told:
    """The operations of a Compose, of a transform, or of a list of such and of operations, on pictures of so many channels and of one size, where that
    is known, or on their masks, and on what goes through them beside the picture. Raises SpecError with what has none."""
    walk = _Walk(channels, size, beside)
    walk.is_mask = is_mask
    walk.add(transform, place)
    walk.check_end()
    walk.close()
    section: dict[str, Any] = dict(walk.follows)
    if walk.in_hand != PIL:
        section["dtype"] = "f32" if walk.floats else "u8"
        if not walk.rows_last:
            section.setdefault("layout", "NCHW")
    if walk.channels != channels:
        section["mode"] = "gray" if walk.channels == 1 else "rgb"
    both = walk.steps + walk.endings
    return Told([operation for operation, _ in both], [at for _, at in both], section, walk.last, walk.tv_image, walk.pure, walk.prepared, walk.tensor or "layout" in section,
                not walk.tensor and walk.last is not None and (_home(walk.last[1]) or ("", ""))[0] == "albumentations")


class _Walk:
    """Through transforms, one after the other."""

    def __init__(self, channels: int, size: Optional[list[int]], beside: Union[joint.Boxes, joint.Mask, None]) -> None:
        self.steps: list[tuple[Operation, Place]] = []
        self.endings: list[tuple[Operation, Place]] = []  # what ends a list here, and behind which flips may stand there
        self.in_hand, self.floats, self.channels, self.tv_image, self.pure = PIL, False, channels, False, False
        self.rows_last, self.is_mask = False, False  # whether floats are an array still, channels last; whether masks are in hand
        self.tensor = False  # whether albumentations has made one
        self.forced = False  # whether the next transform happens, whatever its p
        self.pending: Optional[arrays.Pending] = None
        self.closing: Optional[tuple[int, list[int], Place]] = None  # behind which step pictures have a size that nothing has given rows yet
        self.follows: dict[str, Any] = {}  # boxes, points, tiles and patches
        self.last: Optional[Place] = None
        self.prepared: Optional[prepared.Prepared] = None
        self._channels, self._size, self._beside = channels, size, beside
        self._depth = 0  # of groups that may not happen

    def add(self, one: Any, place: str) -> None:
        if isinstance(one, Mapping):
            self._keep(dict(one), (place, one))
        elif isinstance(one, Sequence) and not isinstance(one, (str, bytes)):
            for i, child in enumerate(one):
                self.add(child, f"{place}[{i}]")
        elif processors.is_processor(one):
            self._processor(one, place)
        elif (home := _home(one)) is None or home == ("torchvision", "Lambda"):
            self._function(one, place)
        elif home[0] == "albumentations":
            self._array(home[1], one, place)
        elif self.rows_last:
            raise refusal(place, one, "works on a tensor, and an array of floats is in hand; put ToTensorV2() in front of it")
        elif home[1] in ("Compose", "Sequential"):
            self.add(_children(one), f"{place}.transforms" if home[1] == "Compose" else place)
        elif home == ("torchvision", "RandomApply"):
            self.apply(_children(one), float(one.p), one, place)
        elif home == ("torchvision", "RandomChoice"):
            self._choice(one, place)
        elif home == ("torchvision", "RandomOrder"):
            self.order(one, place)
        elif home == ("torchvision", "ImageClassification"):
            self._classification(one, place)
        elif isinstance(self._beside, joint.Boxes) and home[0] == "torchvision" and home[1] in joint.RULES:
            self._of_boxes(self._beside, home[1], one, place)
        elif isinstance(self._beside, joint.Boxes) and home == ("torchvision", "RandomIoUCrop"):
            self._rule(Rule(joint.iou_crop, BYTES), one, place)
        elif home[1] in _RULES[home[0]]:
            self._rule(_RULES[home[0]][home[1]], one, place)
        else:
            refuse_unknown(one, place)

    def _keep(self, operation: Operation, at: Place) -> None:
        self.check_end()
        self.last = at
        self._pass(operation, at)
        ends = [_ENDINGS[name] for name in operation if name in _ENDINGS]
        (self.endings if ends else self.steps).append((operation, at))
        if self.in_hand != PIL:
            self.in_hand = max([self.in_hand, *ends])
            self.floats = self.floats or NORMALIZED in ends

    def _pass(self, operation: Optional[Operation], at: Place) -> None:
        """Tell what is beside the picture, of a group when all of it is known."""
        if self._beside is not None and not self._depth:
            self._beside.passed(operation, *at)

    def _of_boxes(self, beside: joint.Boxes, name: str, one: Any, place: str) -> None:
        """A transform that is of boxes alone."""
        if self._depth:
            raise refusal(place, one, "stands among what may not happen, want it outside, where it always does")
        joint.RULES[name](beside, Given(one, place, [], self.in_hand))
        self.last = (place, one)

    def _rule(self, rule: Rule, one: Any, place: str) -> None:
        if not rule.since <= self.in_hand <= rule.upto:
            _refuse_place(rule, self.in_hand, one, place)
        self._tell(rule, Given(one, place, [operation for operation, _ in self.steps], self.in_hand))

    def _tell(self, rule: Rule, given: Given) -> None:
        given.channels, given.channels_of_pictures, given.tv_image, given.rows_last = self.channels, self._channels, self.tv_image, self.rows_last
        given.pictures = None if any(name in ("pad", *SIZED, *cropped.PARTS) for operation in given.before for name in operation) else self._size
        if given.pictures is not None and given.pictures[0] != given.pictures[-1] and extents.sideways(given.before):
            given.pictures = None
        operation = rule.tell(given)
        self.last = at = given.place, given.transform
        if operation is not None:
            self._keep(operation, at)
        else:
            self._pass(None, at)
        self.in_hand, self.channels, self.tv_image, self.rows_last = given.in_hand, given.channels, given.tv_image, given.rows_last
        self.floats = self.floats or self.in_hand in (FLOATS, NORMALIZED)
        self.pure = self.pure or rule is torchvision.RULES["ToPureTensor"]

    def _processor(self, one: Any, place: str) -> None:
        """An image processor of transformers'."""
        if self.in_hand != PIL:
            raise refusal(place, one, f"makes tensors of PIL images, and {IN_HAND[self.in_hand]} is in hand, want it in the place of what makes that")
        if not self.is_mask and self.channels != 3:
            raise refusal(place, one, "makes pictures of three channels, want RGB (mode: rgb, or dataset.cast_column(NAME, Image(mode=\"RGB\"))); of maps of classes, its segmentation_maps, want mode: index")
        if self._depth or self._beside is not None:
            raise refusal(place, one, "makes a tensor of a picture alone, always, want it outside of what may not happen, and no boxes or masks that go through it; a description says what becomes of these")
        if self.is_mask:
            for operation in processors.told_of_maps(one, place, [operation for operation, _ in self.steps]):
                self._keep(operation, (place, one))
            self.in_hand, self.prepared = BYTES, prepared.MAPS
        elif processors.of_timm(one):
            self.add(one.val_transforms, f"{place}.val_transforms")
            self.prepared = prepared.PLAIN
        else:
            said = processors.told(one, place, [operation for operation, _ in self.steps])
            for operation in said.operations:
                self._keep(operation, (place, one))
            self.in_hand, self.floats = said.in_hand, said.in_hand != BYTES
            self.follows.update(said.section)
            self.prepared = said.prepared
        self.last = (place, one)

    def _function(self, one: Any, place: str) -> None:
        """A function of one's own, alone or in a Lambda, whose code says what it does."""
        function = getattr(one, "lambd", one)
        alone = self._beside is None and not self.is_mask
        if functions.does(function, functions.IDENTITY):
            return
        if alone and self.in_hand == PIL and functions.does(function, functions.TO_RGB):
            self._rule(torchvision.RULES["RGB"], one, place)
        elif alone and self.in_hand == FLOATS and not self.rows_last and functions.does(function, functions.AROUND_ZERO):
            self._keep({"normalize": {"mean": [0.5] * self.channels, "std": [0.5] * self.channels}}, (place, one))
            self.tv_image = False
        else:
            self._own(one, function, place, alone)

    def _own(self, one: Any, function: Any, place: str, alone: bool) -> None:
        """A function or an object of one's own, whose code calls other transforms."""
        mode = "tensor" if self.in_hand != PIL else "L" if self.channels == 1 else "RGB"
        if not alone or not steps.has_code(function):
            refuse_unknown(one, place)
        try:
            made = steps.through(function, picture.Picture(mode=mode))
        except Unknown as error:
            refuse_unknown(one, place, f"{error}")
        if not isinstance(made, picture.Picture):
            raise refusal(place, one, "makes several pictures of one, want it alone, in the place of the Compose, or several fields of a description, each with draw: own (docs/images.md#several-views-of-one-sample)")
        if made.mode != mode or made.array:
            refuse_unknown(one, place)
        for each in made.transforms:
            self.add(each, place)

    def _array(self, name: str, one: Any, place: str) -> None:
        """A transform of albumentations."""
        if name == "ToTensorV2":
            self.tensor = True
            self.in_hand, self.rows_last, self.last = max(self.in_hand, BYTES) if not self.is_mask else PIL, False, (place, one)
            return
        if self.in_hand != PIL and not self.rows_last:
            raise refusal(place, one, "works on an array, and a tensor is in hand, want it in front of what makes that")
        if name not in ("RandomCrop", "CenterCrop", "NoOp", "Compose", "Sequential"):
            self.check_end()
        if name in albumentations.GROUPS:
            albumentations.GROUPS[name](self, one, place)
            return
        if name not in albumentations.RULES:
            refuse_unknown(one, place)
        given = arrays.Array(one, place, [operation for operation, _ in self.steps], self.in_hand)
        given.p, given.is_mask, given.pending, given.followed = albumentations.happens(self, one), self.is_mask, self.pending, bool(self.follows)
        given.grouped = self._depth > 0
        rule = albumentations.RULES[name]
        if given.p == 0 or self.is_mask and name in albumentations.OF_COLOURS:
            return
        if self.in_hand > rule.upto:
            given.refuse(f"works on {arrays.IN_HAND[self.in_hand]}, where {name} computes in other numbers than on {arrays.IN_HAND[rule.upto]}; put it in front of ToFloat and Normalize")
        self.pending = None
        self._tell(rule, given)
        self.pending = given.pending
        if given.closing is not None:
            self.closing = len(self.steps), given.closing, (place, one)

    def close(self) -> None:
        """Pictures that have a size behind a step are rows from there on, where nothing further on gives them one."""
        if self.closing is None:
            return
        i, size, at = self.closing
        if not any(name in ("pad", *SIZED) for operation, _ in self.steps[i:] for name in operation):
            self.steps.insert(i, (cropped.sized("center_crop", {"size": size}), at))

    def check_end(self) -> None:
        """Refuse a PadIfNeeded that no crop follows."""
        if self.pending is not None:
            raise refusal(self.pending.place, self.pending.transform, f"leaves pictures that are larger as they are, and rows are of one size; put RandomCrop or CenterCrop of {self.pending.size} "
                                                                      f"right behind it, or LongestMaxSize({min(self.pending.size)}) in front")

    def follow(self, key: str, says: Operation, one: Any, place: str) -> None:
        """What a Compose says of boxes or points."""
        if self.follows.get(key, says) != says:
            raise refusal(place, one, f"says other things of {key} than the Compose around it, want the same, or none")
        self.follows[key] = says

    def apply(self, transforms: list[Any], p: float, one: Any, place: str) -> None:
        """RandomApply: of one operation that has a probability it becomes that one's, of another, and of several, it is random_apply's."""
        steps, endings = len(self.steps), len(self.endings)
        if p == 0:
            return
        if p == 1:
            self.add(transforms, f"{place}.transforms")
            return
        self._grouped(transforms, one, f"{place}.transforms", f"p={p:g}", "want 1")
        new = self.steps[steps:] + self.endings[endings:]
        if len(new) > 1 or any(name not in _IS_PROBABILITY and name not in _HAPPENS and name in _GROUPED for operation, _ in new for name in operation):
            self._together("random_apply", new, {"p": p}, steps, (place, one))
            return
        self._times(p, new, (place, one))

    def _times(self, p: float, new: list[tuple[Operation, Place]], at: Place) -> None:
        """Operations happen by p times the probability that they have."""
        for operation, one in new:
            (name, value), = operation.items()
            if isinstance(value, Mapping) and (name in _HAPPENS or name in _IS_PROBABILITY):
                operation[name] = {**value, "p": value.get("p", _HAPPENS.get(name)) * p}
            elif name in _IS_PROBABILITY:
                operation[name] = value * p
            else:
                raise refusal(*at, f"got p={p:g} of {name}, which has no probability, want 1; those that have one are "
                                   f"{', '.join(sorted([*_HAPPENS, *_IS_PROBABILITY]))}")
            self._pass(operation, one)

    def choose(self, children: list[tuple[float, Any, str]], p: float, one: Any, place: str, forced: bool = True) -> None:
        """OneOf: with probability p one of the children, by their weights, whatever their own probability is; those that are no operation are none."""
        steps, new, weights = len(self.steps), [], []
        sizes, unlike = (self.in_hand, self.channels), False
        children = [child for child in children if child[0] > 0]
        for weight, child, at in children:
            before = len(self.steps), len(self.endings)
            self.forced = forced
            self._grouped(child, one, at, "one of several", "want none among them")
            self.forced = False
            made = self.steps[before[0]:] + self.endings[before[1]:]
            if len(made) > 1:
                raise refusal(at, child, f"got {len(made)} operations in the place of one, want one of each")
            unlike = unlike or not made and type(child).__qualname__ not in ("NoOp", "PadIfNeeded")  # which are none of the picture either
            new += made
            weights += [whole(weight)] * len(made)
        self.in_hand, self.channels = sizes
        if self.is_mask and new and unlike:
            raise refusal(place, one, _MASKS)
        p *= sum(weights) / sum(weight for weight, _, _ in children) if new else 0
        if not new or p == 0:
            del self.steps[steps:]
        elif p < 1:
            self._times(p, new, (place, one))
        if p > 0 and len(new) > 1:
            self._together("random_choice", new, {"p": weights} if len(set(weights)) > 1 else {}, steps, (place, one))

    def order(self, one: Any, place: str) -> None:
        """RandomOrder: each of its transforms is one operation."""
        steps = len(self.steps)
        self._together("random_order", self._each(one, place, "in an order by chance"), {}, steps, (place, one))

    def some(self, n: int, one: Any, place: str) -> None:
        """SomeOf: n of its transforms, in their order. Those that leave a mask as it is are none of its own."""
        steps, children = len(self.steps), _children(one)
        left = [child for child in children if type(child).__qualname__ in albumentations.OF_COLOURS] if self.is_mask else []
        if left and len(left) == len(children):
            return
        if left:
            raise refusal(place, one, _MASKS)
        self._together("random_choice", self._each(one, place, f"{n} of several"), {"n": n}, steps, (place, one))

    def _choice(self, one: Any, place: str) -> None:
        """RandomChoice: each of its transforms is one operation."""
        steps = len(self.steps)
        new = self._each(one, place, "one of several")
        weights = [whole(float(w)) for w in one.p] if getattr(one, "p", None) is not None else []
        self._together("random_choice", new, {"p": weights} if len(set(weights)) > 1 else {}, steps, (place, one))

    def _each(self, one: Any, place: str, got: str) -> list[tuple[Operation, Place]]:
        """The operation of each of a group's transforms."""
        new = []
        for i, child in enumerate(_children(one)):
            before = len(self.steps), len(self.endings)
            at = f"{place}.transforms[{i}]"
            self._grouped(child, one, at, got, "want none among them")
            made = self.steps[before[0]:] + self.endings[before[1]:]
            if len(made) != 1:
                raise refusal(at, child, f"got {len(made)} operations in the place of one, want one of each")
            new += made
        return new

    def _grouped(self, transforms: Any, group: Any, place: str, got: str, want: str) -> None:
        """Transforms that may not happen, which must leave in hand what was."""
        in_hand, channels = self.in_hand, self.channels
        self._depth += 1
        self.add(transforms, place)
        self._depth -= 1
        if self.channels != channels or self.in_hand != in_hand and self.in_hand in (BYTES, FLOATS):
            raise refusal(place, group, f"got {got} of what makes another kind of picture, {want}: all rows of a batch are of one kind")

    def _together(self, name: str, new: list[tuple[Operation, Place]], says: Operation, steps: int, at: Place) -> None:
        """Operations from the one of this number on become a group."""
        names = [name for operation, _ in new for name in operation]
        for other in names:
            if other not in _GROUPED:
                raise refusal(*at, f"got {other} among several, want operations of a row, such as flips, turns and colours (docs/transforms.md#one-of-several-or-several-together); give it a probability of its own, outside")
        operations = [operation for operation, _ in new]
        group = {name: {"transforms": operations, **says} if says else operations}
        self.steps[steps:] = [(group, at)]
        if self.closing is not None and self.closing[0] > steps:
            self.closing = len(self.steps), *self.closing[1:]
        self._pass(group, at)

    def _classification(self, one: Any, place: str) -> None:
        """What weights.transforms() gives."""
        if self.in_hand != PIL:
            raise refusal(place, one, f"stands behind what makes a tensor, and works on {IN_HAND[self.in_hand]}; leave that out")
        given = Given(one, place, [], FLOATS)
        resized = given.size("resize_size")
        size = resized[0] if len(resized) == 1 else resized
        filter = given.filter(RESIZERS)
        self._keep({"resize": size if filter == "bilinear" else {"size": size, "interpolation": filter}}, (place, one))
        self._keep({"center_crop": given.extent("crop_size")}, (place, one))
        self._keep(torchvision.normalize(given), (place, one))
        self.in_hand, self.floats = NORMALIZED, True


def _home(one: Any) -> Optional[tuple[str, str]]:
    """The library and the name of the class that says how a transform behaves; None of one's own."""
    home = libraries.home(one, _LIBRARIES, _BEHAVIOUR)
    return (_LIBRARIES[home.module], home.name) if home.module else None


def makes_rgb(one: Any) -> bool:
    """Whether a transform begins with what makes a PIL image of any mode one in RGB."""
    while isinstance(one, (list, tuple)) or (_home(one) or ("", ""))[1] in ("Compose", "Sequential"):
        children = _children(one)
        if not children:
            return False
        one = children[0]
    return (_home(one) or ("", ""))[1] == "RGB" or functions.does(getattr(one, "lambd", one), functions.TO_RGB)


def _children(one: Any) -> list[Any]:
    return list(one.transforms if hasattr(one, "transforms") else one)


def refuse_unknown(one: Any, place: str, why: str = "") -> NoReturn:
    library, name = _home(one) or ("", type(one).__qualname__)
    remedy = _REMEDIES[library].get(name, "") if library else torchvision.OF_REFERENCES.get(name, "")
    if not library and not remedy and hasattr(one, "transforms"):
        remedy = f"give its transforms: {place}.transforms"
    elif not remedy:
        remedy = ("write what it does as an operation of a description (docs/equivalents.md), map whole batches (spdl.DataLoader(..., transform=)), "
                  "or keep torch's DataLoader for it; several views of a picture are fields of a description, each with draw: own (docs/images.md#several-views-of-one-sample)")
    got = f"{library}'s {name}" if library else f"a {name} of {type(one).__module__}"
    raise refusal(place, one, f"got {got}, want a transform of torchvision, timm or albumentations, or an image processor of transformers, that has an operation here{' (' * bool(why)}{why}{')' * bool(why)}; {remedy}")


def _refuse_place(rule: Rule, in_hand: int, one: Any, place: str) -> NoReturn:
    name = type(one).__qualname__
    if in_hand < rule.since:
        need = "ToTensor()" if rule.since == BYTES else "ToTensor(), or ToDtype(torch.float32, scale=True),"
        raise refusal(place, one, f"works on {IN_HAND[in_hand]}, want {IN_HAND[rule.since]}; put {need} in front of it")
    if in_hand == ERASED:
        raise refusal(place, one, "stands behind RandomErasing, want that last; of Normalize(mean, std) behind it the value is (value - mean) / std")
    if in_hand == NORMALIZED:
        raise refusal(place, one, f"stands behind Normalize, want it in front: what {name} does to normalized numbers is another thing")
    front = "the transforms that make a tensor" if rule.upto == PIL else "what makes floats"
    raise refusal(place, one, f"works on {IN_HAND[in_hand]}, where {name} computes in other numbers than on {IN_HAND[rule.upto]}; put it in front of {front}")


# ---- descriptions


class Places(dict[str, list[Place]]):
    """Transforms by the lists that were made of them, as the engine calls these."""

    def explained(self, error: SpecError) -> SpecError:
        """The engine's refusal of an operation, with the transform that it was made of."""
        for found in re.finditer(r"([\w.-]+\.transform|\btransform)\[(\d+)\]", str(error)):
            made = self.get(found[1])
            if made and int(found[2]) < len(made):
                place, one = made[int(found[2])]
                if isinstance(one, Mapping):
                    continue
                made_of = f"{found[0]} is of {'' if place == found[0] else f'{place}, '}{shown(one)}"
                explained = SpecError(f"{error} ({made_of})")
                explained.status = error.status
                return explained
        return error


def resolved(description: Mapping[str, Any]) -> tuple[dict[str, Any], Places]:
    """A description with operations in the place of transforms, and with the layout, dtype and mode that follow from these."""
    places = Places()
    return _resolved(description, "", places, ()), places


def _resolved(section: Mapping[str, Any], at: str, places: Places, above: tuple[int, ...]) -> dict[str, Any]:
    if id(section) in above:
        raise SpecError(f"spdl: open: {at}: the description is not plain data: it is in itself, without end; give each section a dict of its own")
    above += (id(section),)
    out = dict(section)
    for key, value in section.items():
        if not isinstance(value, Mapping):
            continue
        inside = f"{at}.{key}" if at else str(key)
        out[key] = _resolved(value, inside, places, above)
        if key in ("image", "video") and not is_plain(value.get("transform")):
            mode = value.get("mode", "rgb")
            said = told(value["transform"], f"{inside}.transform", 3 if mode == "rgb" else 1, is_mask=mode == "index")
            out[key] = _with(out[key], said, key == "video", inside)
            places[f"{inside}.transform"] = said.places
    return out


def _with(section: dict[str, Any], said: Told, video: bool, at: str) -> dict[str, Any]:
    section["transform"] = said.operations
    last = shown(said.last[1]) if said.last else "none"
    for key, value in said.section.items():
        if key in _FOLLOWING:
            section[key] = _following(section.get(key), value, f"{at}.{key}", _FOLLOWING[key])
            continue
        value = f"NT{value[1:]}" if video and key == "layout" else value
        same = (value, "NCTHW") if video and key == "layout" else (value,)
        if section.setdefault(key, value) not in same:
            raise SpecError(f"spdl: {at}.{key}: got {section[key]!r}, and the transform, whose last is {last}, makes {value}; leave {key} out, or take what "
                            "makes that out of the transform")
    return section


_FOLLOWING = {"boxes": "column", "points": "column", "tiles": "size", "patches": "size"}  # and what one says who says one thing


def _following(given: Any, value: Operation, at: str, short: str) -> Operation:
    """What a section says of boxes, points, tiles or patches, with what a transform says of them."""
    given = {} if given is None else dict(given) if isinstance(given, Mapping) else {short: given}
    for key, said in value.items():
        if key != "column" and given.setdefault(key, said) != said:
            raise SpecError(f"spdl: {at}.{key}: got {given[key]!r}, and the transform says {said!r}; leave {key} out")
    return {**value, **given}
