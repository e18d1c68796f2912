"""torchvision's data sets of pictures with boxes or with masks, behind wrap_dataset_for_transforms_v2."""

from __future__ import annotations

import os
import struct
import xml.etree.ElementTree
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Optional

from .targets import MASK, Target

WRAPPER = "VisionDatasetTVTensorWrapper"
BOXED = ("CocoDetection", "VOCDetection")
MASKED = ("VOCSegmentation", "Cityscapes", "OxfordIIITPet")

# The numbers that the wrapper gives to the classes of VOC.
_VOC = ("__background__", "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog", "horse", "motorbike", "person",
        "pottedplant", "sheep", "sofa", "train", "tvmonitor")
_KEYS = {"CocoDetection": ("image_id", "boxes", "masks", "labels"), "VOCDetection": ("boxes", "labels")}  # in the wrapper's order
_ASKED = ("masks",)  # of these those that come only where target_keys name them


class Unknown(Exception):
    """What a data set has that cannot be told, and the remedy."""


def annotated(dataset: Any, name: str, keys: Any) -> tuple[list[str], list[Any], Target]:
    """The pictures of a data set of this kind, their targets, and what these are. Raises Unknown."""
    if name in BOXED:
        target = Target("boxes", _chosen(_KEYS[name], keys))
        samples: list[tuple[str, Any]] = list(_coco(dataset, target) if name == "CocoDetection" else _voc(dataset))
    else:
        target = MASK
        samples = list(_masks(dataset, name))
    return [os.path.abspath(path) for path, _ in samples], [one for _, one in samples], target


def objects(dataset: Any) -> tuple[list[str], list[Any]]:
    """The pictures of a CocoDetection and their objects, as image processors of transformers' take these: without groups of them (iscrowd). Raises Unknown."""
    paths, targets = [], []
    for number in dataset.ids:
        _check_number(number, "want whole numbers, as transformers' labels have them")
        annotations = [one for one in dataset.coco.imgToAnns.get(number, ()) if one.get("iscrowd", 0) == 0]
        other = next((one for one in annotations if "keypoints" in one), None)
        if other is not None:
            raise Unknown(f"annotation {other.get('id')}: has keypoints, which come into labels, want annotations without: a description has points that follow their picture (docs/transforms.md)")
        paths.append(os.path.abspath(os.path.join(dataset.root, dataset.coco.imgs[number]["file_name"])))
        targets.append({"image_id": number, "boxes": _numbers(annotations, "bbox", 4), "labels": _classes(annotations), "areas": _numbers(annotations, "area", 1)})
    return paths, targets


def _numbers(annotations: Iterable[Mapping[str, Any]], key: str, count: int) -> array[float]:
    """So many numbers of each annotation, one behind the other, as they are among floats of 32 bits."""
    numbers = array("f")
    for one in annotations:
        value = one.get(key)
        try:
            many = [value] if count == 1 else list(value)  # type: ignore[arg-type]
            if len(many) != count:
                raise TypeError
            numbers.extend(many)  # type: ignore[arg-type]
        except TypeError:
            raise Unknown(f"annotation {one.get('id')}: {key}: got {value!r:.80}, want {'a number' if count == 1 else 'x, y, width and height'}, which the labels of objects have") from None
    return numbers


def _check_number(number: Any, want: str) -> None:
    if not (isinstance(number, int) and -1 << 63 <= number < 1 << 63):
        raise Unknown(f"image ids: got {number!r:.60}, {want}")


def extents(target: Target, paths: Sequence[str], targets: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """Height and width of each picture, as its annotation or its mask says. Raises Unknown."""
    for path, one in zip(paths, targets):
        if target == MASK:
            yield _extent_of_png(one)
        elif one["extent"] is not None:
            yield one["extent"]
        else:
            raise Unknown(f"{path}: got no width and height in its annotation, want both")


def _extent_of_png(path: str) -> tuple[int, int]:
    """A mask is as large as its picture."""
    with open(path, "rb") as file:
        head = file.read(24)
    if len(head) < 24 or not head.startswith(b"\x89PNG\r\n\x1a\n"):
        raise Unknown(f"{path}: got a mask that is no PNG, whose beginning says how large it is")
    width, height = struct.unpack(">II", head[16:])
    return height, width


def _chosen(usual: tuple[str, ...], keys: Any) -> tuple[str, ...]:
    if keys is None:
        return tuple(key for key in usual if key not in _ASKED)
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
        if "image_id" in target.keys:
            _check_number(number, "want whole numbers; leave image_id out of target_keys")
        image = coco.imgs[number]
        yield os.path.join(dataset.root, image["file_name"]), {
            "image_id": number, "boxes": _corners(annotations), "labels": _classes(annotations),
            "extent": _extent(image.get("height"), image.get("width")), **({"masks": [_outline(one) for one in annotations]} if "masks" in target.keys else {}),
        }


def _outline(one: Mapping[str, Any]) -> Any:
    """The polygons of an object, or its runs, as its annotation has them."""
    outline = one.get("segmentation")
    if isinstance(outline, list) and outline:
        return outline
    if isinstance(outline, dict) and isinstance(outline.get("counts"), (str, list)) and isinstance(outline.get("size"), (list, tuple)) and len(outline["size"]) == 2:
        return outline
    raise Unknown(f"annotation {one.get('id')}: segmentation: got {outline!r:.80}, want a list of polygons, or a dict of size and counts, as pycocotools takes them; leave masks out of "
                  "target_keys, or objects without an outline out of the annotations")


def _extent(height: Any, width: Any) -> Optional[tuple[int, int]]:
    """None where an annotation does not say them."""
    sides = [int(side) if str(side).strip().isdecimal() else 0 for side in (height, width)]
    return (sides[0], sides[1]) if min(sides) > 0 else None


def _corners(annotations: Iterable[Mapping[str, Any]]) -> array[float]:
    """The corners of boxes, one behind the other, as they are among floats of 32 bits, of x, y, width and height."""
    corners = array("f")
    for one in annotations:
        box = one["bbox"]
        if len(box) != 4:
            raise Unknown(f"annotation {one.get('id')}: bbox: got {box!r:.80}, want x, y, width and height")
        corners.extend(box)
        corners[-2] += corners[-4]
        corners[-1] += corners[-3]
    return corners


def _classes(annotations: Iterable[Mapping[str, Any]]) -> array[int]:
    labels = array("q")
    for one in annotations:
        try:
            labels.append(one.get("category_id"))  # type: ignore[arg-type]
        except (TypeError, OverflowError):
            raise Unknown(f"annotation {one.get('id')}: category_id: got {one.get('category_id')!r:.60}, want a whole number") from None
    return labels


def _voc(dataset: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, annotation in zip(dataset.images, dataset.annotations):
        boxes, labels = array("f"), array("q")
        root = xml.etree.ElementTree.parse(annotation).getroot()
        for one in root.findall("object"):
            name = (one.findtext("name") or "").strip()
            if name not in _VOC:
                raise Unknown(f"{annotation}: got an object of class {name!r:.60}, want one of VOC's: {', '.join(_VOC[1:])}")
            try:
                boxes.extend([int(one.findtext(f"bndbox/{side}") or "") for side in ("xmin", "ymin", "xmax", "ymax")])
            except ValueError as error:
                raise Unknown(f"{annotation}: bndbox: {error}, want whole numbers, as wrap_dataset_for_transforms_v2 does") from None
            labels.append(_VOC.index(name))
        yield path, {"boxes": boxes, "labels": labels, "extent": _extent(root.findtext("size/height"), root.findtext("size/width"))}


def _masks(dataset: Any, name: str) -> Iterator[tuple[str, str]]:
    if name == "VOCSegmentation":
        pairs: Iterable[tuple[str, str]] = zip(dataset.images, dataset.masks)
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
