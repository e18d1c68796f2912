"""torchvision's data sets of pictures with boxes or with masks, behind wrap_dataset_for_transforms_v2."""

from __future__ import annotations

import os
import struct
import xml.etree.ElementTree
from collections.abc import Iterator
from typing import Any

from .targets import MASK, Target

WRAPPER = "VisionDatasetTVTensorWrapper"
BOXED = ("CocoDetection", "VOCDetection")
MASKED = ("VOCSegmentation", "Cityscapes", "OxfordIIITPet")

# The numbers that the wrapper gives to the classes of VOC.
_VOC = ("__background__", "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog", "horse", "motorbike", "person",
        "pottedplant", "sheep", "sofa", "train", "tvmonitor")
_KEYS = {"CocoDetection": ("image_id", "boxes", "labels"), "VOCDetection": ("boxes", "labels")}


class Unknown(Exception):
    """What a data set has that cannot be told, and the remedy."""


def annotated(dataset: Any, name: str, keys: Any) -> tuple[list[str], list[Any], Target]:
    """The pictures of a data set of this kind, their targets, and what these are. Raises Unknown."""
    if name in BOXED:
        target = Target("boxes", _chosen(_KEYS[name], keys))
        samples = list(_coco(dataset, target) if name == "CocoDetection" else _voc(dataset))
    else:
        target = MASK
        samples = list(_masks(dataset, name))
    return [os.path.abspath(path) for path, _ in samples], [one for _, one in samples], target


def _chosen(usual: tuple[str, ...], keys: Any) -> tuple[str, ...]:
    if keys is None:
        return usual
    others = [keys] if isinstance(keys, str) else sorted(set(keys) - set(usual))
    if others or "boxes" not in keys:
        raise Unknown(f"target_keys: got {keys!r:.80}, want None, or some of {', '.join(usual)} with boxes: other keys come with a description, as columns beside its boxes "
                      "(docs/recipes.md)")
    return tuple(key for key in usual if key in keys)


def _coco(dataset: Any, target: Target) -> Iterator[tuple[str, dict[str, Any]]]:
    """Of the annotations that pycocotools has read."""
    coco = dataset.coco
    for number in dataset.ids:
        annotations = coco.imgToAnns.get(number, ())
        if "image_id" in target.keys and not isinstance(number, int):
            raise Unknown(f"image ids: got {number!r:.60}, want whole numbers; leave image_id out of target_keys")
        path = os.path.join(dataset.root, coco.imgs[number]["file_name"])
        yield path, {"image_id": number, "boxes": [_corners(one["bbox"]) for one in annotations], "labels": [one["category_id"] for one in annotations]}


def _corners(box: list[float]) -> list[float]:
    """x, y, width and height as the corners that they are among floats of 32 bits."""
    x, y, w, h = struct.unpack("4f", struct.pack("4f", *box))
    return list(struct.unpack("4f", struct.pack("4f", x, y, x + w, y + h)))


def _voc(dataset: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, annotation in zip(dataset.images, dataset.annotations):
        boxes, labels = [], []
        for one in xml.etree.ElementTree.parse(annotation).getroot().findall("object"):
            name = (one.findtext("name") or "").strip()
            if name not in _VOC:
                raise Unknown(f"{annotation}: got an object of class {name!r:.60}, want one of VOC's: {', '.join(_VOC[1:])}")
            try:
                boxes.append([int(one.findtext(f"bndbox/{side}") or "") for side in ("xmin", "ymin", "xmax", "ymax")])
            except ValueError as error:
                raise Unknown(f"{annotation}: bndbox: {error}, want whole numbers, as wrap_dataset_for_transforms_v2 does") from None
            labels.append(_VOC.index(name))
        yield path, {"boxes": boxes, "labels": labels}


def _masks(dataset: Any, name: str) -> Iterator[tuple[str, str]]:
    if name == "VOCSegmentation":
        pairs = zip(dataset.images, dataset.masks)
    elif name == "Cityscapes":
        _want("target_type", dataset.target_type, "semantic")
        pairs = ((path, targets[0]) for path, targets in zip(dataset.images, dataset.targets))
    else:
        _want("target_types", dataset._target_types, "segmentation")
        pairs = zip(dataset._images, dataset._segs)
    return ((path, os.path.abspath(mask)) for path, mask in pairs)


def _want(name: str, got: Any, want: str) -> None:
    if list(got) != [want]:
        raise Unknown(f'{name}: got {got}, want "{want}", one of class numbers; several targets are fields of a description (docs/recipes.md)')
