"""Labels of a picture's objects, as DETR's kin of transformers' image processors makes them of COCO's annotations."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .._errors import ArgumentError
from .methods import Sample
from .prepared import Prepared

KNOWN = ("affine", "size")  # the fields beside a picture's, in whose section affine is, that labels are made of


class Objects(NamedTuple):
    """A picture's annotations, what was done to it, and how large it was and has become, by a batch's fields, or a row's."""

    image: Any
    image_id: Any
    boxes: Any  # [n, 4], x, y, width and height in pixels of the picture as it is seen
    classes: Any  # [n]
    areas: Any  # [n]
    affine: Any  # [2, 3], where a point of the picture lies in the row
    size: Any  # [2], the picture's height and width
    extent: Any = None  # [2], what it has become; None: the row is all of it
    crowds: Any = None  # [n], 1 of a group of objects, which is none of the labels; None: there are no groups

    def rows(self) -> list[Objects]:
        """Those of a batch, one by one."""
        fields = [[None] * len(self.size) if field is None else field for field in self]
        return [Objects(*row) for row in zip(*fields)]


class Labels(NamedTuple):
    """What a processor makes of them: to the bit, in floats of 32 bits, of which NumPy's and torch's are alike."""

    normalized: bool  # boxes are a middle, a width and a height, in shares of the picture, or of the batch's where it is padded (do_convert_annotations); False: corners in its pixels
    wide: bool  # whether the share of a padded picture is one of 64 bits, as NumPy's arrays have it, or of 32, as torch's tensors

    def __call__(self, objects: Objects) -> Any:
        """Of a batch a list, of a row one."""
        finish = _tensors if hasattr(objects.image, "numpy") else dict
        arrays = Objects(*(_array(field) for field in objects))
        return finish(self._one(arrays)) if len(objects.image.shape) == 3 else [finish(self._one(row)) for row in arrays.rows()]

    def _one(self, of: Objects) -> dict[str, Any]:
        import numpy  # which whoever has such data sets has

        if not len(of.boxes) == len(of.classes) == len(of.areas) or of.crowds is not None and len(of.crowds) != len(of.boxes):
            raise ArgumentError(f"spdl: DataLoader: annotations of image_id {int(of.image_id)}: got {len(of.boxes)} boxes, {len(of.classes)} categories and {len(of.areas)} areas"
                                f"{'' if of.crowds is None else f' and {len(of.crowds)} of iscrowd'}, want as many of each")
        (high, wide), padded = of.size.tolist(), list(of.image.shape[-2:])
        made = padded if of.extent is None else of.extent.tolist()
        boxes = _corners(of, high, wide)
        keep = (boxes[:, 3] > boxes[:, 1]) & (boxes[:, 2] > boxes[:, 0])
        if of.crowds is not None:
            keep &= of.crowds == 0
        by = made[0] / high, made[1] / wide
        boxes, classes = boxes[keep] * _twice(by), of.classes.astype("int64", copy=False)[keep]
        return {"size": numpy.asarray(padded, "int64"), "image_id": numpy.asarray([int(of.image_id)], "int64"), "class_labels": classes, "boxes": self._shares(boxes, made, padded) if self.normalized else boxes,
                "area": of.areas.astype("float32", copy=False)[keep] * (by[0] * by[1]), "iscrowd": numpy.zeros_like(classes), "orig_size": numpy.asarray([high, wide], "int64")}

    def _shares(self, boxes: Any, made: Sequence[int], padded: Sequence[int]) -> Any:
        import numpy

        x0, y0, x1, y1 = boxes.T
        shares = numpy.stack([(x0 + x1) / 2, (y0 + y1) / 2, x1 - x0, y1 - y0], -1) / _twice(made)
        of = _twice((made[0] / padded[0], made[1] / padded[1]), "float64" if self.wide else "float32")
        return shares if made == padded else (shares * of).astype("float32", copy=False)


def _corners(of: Objects, high: int, wide: int) -> Any:
    """Those of boxes in the picture as it was flipped, cut at its edges."""
    import numpy

    boxes, begins, ends = of.boxes.astype("float32", copy=False).reshape(-1, 4), [], []
    for axis, n in enumerate((wide, high)):
        begin, side = boxes[:, axis], boxes[:, axis + 2]
        begins.append(n - (begin + side) if of.affine[axis, axis] < 0 else begin)
        ends.append(begins[-1] + side)
    return numpy.minimum(numpy.stack([*begins, *ends], -1).clip(0), _twice((high, wide)))


class Sampled(NamedTuple):
    """How a batch's fields become samples as a data set's own __getitem__ makes them."""

    sample: Sample
    prepared: Prepared
    labels: Labels
    collate: Callable[[list[Any]], Any]  # the program's, of a list of samples

    @property
    def known(self) -> tuple[str, ...]:
        """What is picked of a batch behind the picture and its objects."""
        return (*KNOWN, *self.prepared.known)

    def __call__(self, picked: Sequence[Any]) -> Any:
        return self.collate([self._one(*row) for row in zip(*picked)])

    def _one(self, image: Any, image_id: Any, boxes: Any, classes: Any, areas: Any, affine: Any, size: Any, *known: Any) -> Any:
        pictures = dict(zip(self.prepared.names, self.prepared.outputs(image, *known)))
        return self.sample.made({**pictures, "labels": self.labels(Objects(image, image_id, boxes, classes, areas, affine, size, *known))})


def _twice(sides: Sequence[float], dtype: str = "float32") -> Any:
    """[x, y, x, y] of what is of y and of x."""
    import numpy

    return numpy.asarray([sides[1], sides[0]] * 2, dtype)


def _array(field: Any) -> Any:
    """NumPy's of a field, or of each row of a list."""
    if isinstance(field, list):
        return [_array(row) for row in field]
    return field.numpy() if hasattr(field, "numpy") else field


def _tensors(made: dict[str, Any]) -> Any:
    """torch's, in transformers' own kind of dict where the program has it."""
    import torch  # which whoever has its tensors has

    tensors, of = {key: torch.from_numpy(one) for key, one in made.items()}, sys.modules.get("transformers.image_processing_base")
    return tensors if of is None else of.BatchFeature(tensors)
