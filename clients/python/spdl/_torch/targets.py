"""What samples have beside their picture: a label, numbers, boxes or a mask, and what a loop gets of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional


class Own(NamedTuple):
    """How a class of the program's own gives a picture and what lies in it to a transform."""

    called: str  # the attribute that is the transform
    kind: Any  # of torchvision's what they are called with (followers.Kind); None: it is albumentations'


class Target(NamedTuple):
    """What a sample has."""

    kind: str  # "label", a number; "values", several; "boxes", a dict of boxes, the corners of all in one array, and more by keys, of masks COCO's segmentations; "objects", the same with x, y, width and height; "mask", a picture of class numbers; "own", what a class of the program's own has in its pictures (followers)
    keys: tuple[str, ...] = ()  # of boxes, as they are handed out, and of objects
    length: int = 0  # of values
    sample: Any = None  # of objects what their data set makes of a picture and them (methods.Sample); of one's own its Own

    def fields(self) -> tuple[str, ...]:
        """What is picked of a batch."""
        if self.kind == "own":
            return "image", *self.keys, "index"
        return ("image", *self.keys) if self.kind in ("boxes", "objects") else ("image", {"label": "label", "values": "target", "mask": "mask"}[self.kind])

    def transformed(self) -> str:
        """The attribute of its data set by which pictures are changed: with what lies in them, or alone."""
        if self.kind == "objects":
            return str(self.sample.processor)
        if self.kind == "own":
            return str(self.sample.called)
        return "transforms" if self.kind in ("boxes", "mask") else "transform"


LABEL = Target("label")
MASK = Target("mask")
OBJECTS = ("image_id", "boxes", "labels", "areas")  # the keys of objects


class Finish(NamedTuple):
    """How a batch's fields become what torch's loop gets."""

    target: Target
    collate: Optional[Callable[[list[tuple[Any, Any]]], Any]]  # the program's, of a list of samples; None: images in one tensor, and targets
    form: str = ""  # of boxes, as torchvision calls it; "": they are plain tensors at the end
    image: bool = False  # whether pictures are torchvision's own kind of tensor at the end
    wide: bool = False  # whether masks are of 64 bits

    def __call__(self, picked: Sequence[Any]) -> Any:
        images, *rest = picked
        targets = self._boxes(images, rest) if self.target.kind == "boxes" else self._wide(rest[0])
        if self.collate is None:
            return together(images), targets if self.target.kind == "boxes" else together(targets)
        return self.collate([(self._picture(image), self._own(target)) for image, target in zip(images, targets)])

    def _picture(self, image: Any) -> Any:
        return of_torchvision("Image", image) if self.image else image

    def _boxes(self, images: Any, rest: list[Any]) -> list[dict[str, Any]]:
        columns = dict(zip(self.target.keys, rest))
        if "image_id" in columns:
            columns["image_id"] = columns["image_id"].tolist()
        if self.form:
            columns["boxes"] = [of_torchvision("BoundingBoxes", one, format=self.form, canvas_size=tuple(image.shape[-2:])) for image, one in zip(images, columns["boxes"])]
            if "masks" in columns:
                columns["masks"] = [of_torchvision("Mask", one) for one in columns["masks"]]
        return [dict(zip(columns, row)) for row in zip(*columns.values())]

    def _wide(self, targets: Any) -> Any:
        if not self.wide:
            return targets
        if isinstance(targets, list):
            return [self._wide(one) for one in targets]
        return targets.long() if hasattr(targets, "long") else targets.astype("int64")

    def _own(self, target: Any) -> Any:
        """A sample's target, as its data set has it."""
        if self.target.kind == "label":
            return int(target)
        return of_torchvision("Mask", target) if self.form and self.target.kind == "mask" else target


def together(rows: Any) -> Any:
    """A batch's pictures in one tensor. Those of sizes of their own are a list, of one picture then."""
    return rows[0][None] if isinstance(rows, list) else rows


def of_torchvision(name: str, one: Any, **says: Any) -> Any:
    """One of torch's tensors as torchvision's of this kind, where the program has imported them; NumPy's as it is."""
    kinds = sys.modules.get("torchvision.tv_tensors")
    return one if kinds is None or not hasattr(one, "as_subclass") else getattr(kinds, name)(one, **says)
