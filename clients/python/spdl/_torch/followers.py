"""What lies in the pictures of a data set of one's own, boxes, points and masks, as columns that the engine moves, and its samples of what has become of them."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Optional

from . import boxed, joint
from .annotated import Unknown
from .given import refusal
from .kept import Row, collated, without_tensors
from .targets import of_torchvision

_FORMS = ("XYXY", "XYWH", "CXCYWH")
_BOX = (0.1, 0.1, 0.9, 0.9)  # one that albumentations leaves as it is
_SIDE = 10  # of a picture for it
_ANY = 1e-6  # of a map's numbers: less is none


class Sample(NamedTuple):
    """What the code of a data set has said of one."""

    reader: boxed.Reader
    names: Any  # what it goes on with behind the transform
    given: Any  # what the transform is called with; of albumentations Converted

    def shares(self) -> bool:
        """Whether boxes are in shares of their picture's sides."""
        return isinstance(self.given, Converted) and "bboxes" in self.given.lists and self.reader.transform.processors["bboxes"].params.format in ("yolo", "albumentations")

    def made(self, row: Sequence[Any], kind: Kind, affine: Any = None) -> Any:
        """The sample, of what has become of a picture and its columns."""
        through = self.given.made(row, affine) if isinstance(self.given, Converted) else kind.filled(self.given, row)
        return self.reader.finish(_fresh(self.names), through)


# ---- torchvision's


class Kind(NamedTuple):
    """What torchvision's transforms are called with, in all samples."""

    form: str = ""  # of boxes
    keys: tuple[str, ...] = ()  # the columns: boxes, labels, whose numbers say which are left, and masks
    out: str = ""  # the form in which boxes come out
    sanitized: bool = False  # whether labels are dropped with their boxes
    image: bool = False  # whether pictures are tv_tensors.Image
    pure: bool = False  # whether all are plain tensors
    pillow: bool = False  # whether pictures are Pillow's

    def filled(self, given: tuple[Any, ...], row: Sequence[Any]) -> Any:
        """What a transform has made of this."""
        image, columns = row[0], dict(zip(self.keys, row[1:]))
        sides = tuple(image.shape[:2] if self.pillow else image.shape[-2:])
        labels: Any = _labels(given) if self.sanitized else None

        def one(leaf: Any) -> Any:
            if leaf is boxed.HERE:
                return _pillows(image) if self.pillow else of_torchvision("Image", image) if self.image else image
            name = type(leaf).__name__
            if name == "BoundingBoxes":
                boxes = columns["boxes"].to(leaf.dtype)
                return boxes if self.pure else of_torchvision(name, boxes, format=self.out, canvas_size=sides)
            if name == "Mask":
                masks = columns["masks"].to(leaf.dtype)
                return masks if self.pure else of_torchvision(name, masks)
            return _fresh(leaf[columns["labels"]] if leaf is labels else leaf)

        made = tuple([_mapped(each, one) for each in given])
        return made[0] if len(made) == 1 else made


def of_torchvisions(reader: boxed.Reader, found: Sequence[tuple[Any, Any]], of: str) -> tuple[list[dict[str, Any]], Kind]:
    """Of each sample what the table holds, and what they are. Raises Unknown."""
    kinds: list[Kind] = []
    entries = []
    for number, (given, names) in enumerate(found):
        try:
            entry, kind = _entry(given)
        except ValueError as error:
            raise Unknown(f"{of}[{number}]: {error}") from None
        if kinds and kind != kinds[0]:
            raise Unknown(f"{of}[{number}]: gives {reader.called} {', '.join(kind.keys)} of {kind.form}, and {of}[0] {', '.join(kinds[0].keys)} of {kinds[0].form}, want the same of all")
        kinds.append(kind)
        entries.append({**entry, "sample": Sample(reader, names, tuple([_mapped(one, _without_masks) for one in given]))})
    return entries, kinds[0] if kinds else Kind("XYXY", ("boxes",))


def _entry(given: tuple[Any, ...]) -> tuple[dict[str, Any], Kind]:
    """Raises ValueError."""
    leaves = [leaf for one in given for leaf in _leaves(one)]
    others = [type(leaf).__name__ for leaf in leaves if type(leaf).__name__ in ("Image", "Video", "KeyPoints", "ndarray") and type(leaf).__name__ != "ndarray" or _is_pillows(leaf)]
    boxes, masks = ([leaf for leaf in leaves if type(leaf).__name__ == name] for name in ("BoundingBoxes", "Mask"))
    if len(boxes) != 1 or len(masks) > 1 or others:
        raise ValueError(f"gives its transform {len(boxes)} BoundingBoxes, {len(masks)} Mask{''.join(f', {one}' for one in others)} beside the picture, want one of BoundingBoxes, and of Mask, if there are any, the masks of these objects")
    box, form = boxes[0], str(getattr(boxes[0].format, "value", boxes[0].format))
    if form not in _FORMS:
        raise ValueError(f"has boxes of format {form}, want {', '.join(_FORMS)}: boxes that are turned have none here")
    if not box.dtype.is_floating_point:
        raise ValueError(f"has BoundingBoxes of {box.dtype}, which torch cuts to whole numbers after each transform, want dtype=torch.float32 for them")
    labels = _labels(given)
    count = len(box)
    if labels is not None and len(labels) != count:
        raise ValueError(f"has {count} boxes and {len(labels)} labels, want as many")
    if not bool(box.isfinite().all()):
        raise ValueError("has boxes with numbers that are none (NaN, inf)")
    keys = ("boxes", *(("labels",) if labels is not None else ()), *(("masks",) if masks else ()))
    entry: dict[str, Any] = {"boxes": array("f", box.reshape(-1).float().tolist()), "labels": array("q", range(count))}
    if masks:
        entry["masks"] = _runs(masks[0], count)
    return entry, Kind(form, keys)


def _without_masks(leaf: Any) -> Any:
    """The table has masks, so none of them need be held: what stays says of which type they are."""
    return of_torchvision("Mask", leaf[:0].clone()) if type(leaf).__name__ == "Mask" else leaf


def _labels(given: tuple[Any, ...]) -> Any:
    """The labels that SanitizeBoundingBoxes takes by itself: of a dict that is all, or the second of two."""
    of = given[0] if len(given) == 1 else given[1]
    of = of[1] if isinstance(of, (tuple, list)) and len(of) > 1 else of
    if not isinstance(of, Mapping):
        return None
    key = next((key for key in of if str(key).lower() == "labels"), None) or next((key for key in of if "label" in str(key).lower()), None)
    return None if key is None or not hasattr(of[key], "new_zeros") else of[key]


def _runs(masks: Any, count: int) -> list[dict[str, Any]]:
    """Masks as COCO's runs down the columns. Raises ValueError."""
    numpy = sys.modules["numpy"]
    if masks.ndim != 3 or len(masks) != count:
        raise ValueError(f"has a Mask of shape {list(masks.shape)} beside {count} boxes, want [{count}, H, W], one of each object: a map of classes beside boxes is a field of a description (docs/recipes.md)")
    pixels = masks.numpy().transpose(0, 2, 1).reshape(count, masks.shape[1] * masks.shape[2])
    if pixels.dtype != bool and count and pixels.max(initial=0) > 1:
        raise ValueError(f"has a Mask with {pixels.max()} in it, want 0 and 1, masks of objects")
    made = []
    for one in pixels:
        changes = numpy.flatnonzero(numpy.diff(one.astype(numpy.int8), prepend=numpy.int8(0)))
        made.append({"size": list(masks.shape[1:]), "counts": array("q", numpy.diff(changes, prepend=0, append=len(one)).astype("int64").tobytes())})
    return made


# ---- albumentations'


class Converted(NamedTuple):
    """What albumentations makes of labels, and in what it hands out boxes and points, before any of them are dropped."""

    named: Mapping[str, Any]  # all that its transform is called with but the picture
    lists: Mapping[str, Any]  # of bboxes, keypoints and label fields, as they come out
    of: Mapping[str, str]  # of each of these the column whose numbers say what is left of it
    keys: tuple[str, ...]  # the columns behind the picture
    removes: bool = False  # whether points beyond the picture are dropped

    def made(self, row: Sequence[Any], affine: Any = None) -> dict[str, Any]:
        """What a transform has made of this. Where the map of the picture is given, points are as albumentations counts them."""
        image, columns = row[0], dict(zip(self.keys, row[1:]))
        if affine is not None:
            columns.update(_mirrored(columns["points"], affine, image, self.removes))
        made = {"image": image}
        for name, value in self.named.items():
            if name not in self.of:
                made[name] = _fresh(value)
                continue
            left = columns[self.of[name]].tolist() if self.of[name] in columns else range(len(self.lists[name]))
            made[name] = _placed(self.lists[name], left, columns.get({"bboxes": "boxes", "keypoints": "points"}.get(name, "")))
        return made


def _mirrored(points: Any, affine: Any, image: Any, removes: bool) -> dict[str, Any]:
    """Points of which all are there, as albumentations has them: where a side is mirrored, x becomes width - 1 - x, and not width - x. Those beyond the picture are dropped."""
    torch = sys.modules["torch"]
    points = points - (-affine[:, :2]).clamp(min=0).sum(1)
    high, wide = image.shape[:2] if not hasattr(image, "new_zeros") else image.shape[-2:]
    left = torch.arange(len(points))
    if removes:
        left = left[((points >= 0) & (points < torch.tensor([wide, high]))).all(1)]
    return {"points": points[left], "places": left}


def _placed(rows: Any, left: Sequence[int], numbers: Any) -> Any:
    """Of rows those that are left, with other numbers at the beginning of each, where there are any."""
    if numbers is None:
        return rows[left] if hasattr(rows, "dtype") else [rows[i] for i in left]
    if not hasattr(rows, "dtype"):
        return [[*new, *rows[i][len(new):]] for i, new in zip(left, numbers.tolist())]
    if len(rows) and not len(left):
        return sys.modules["numpy"].zeros((0, numbers.shape[-1]), "float32")
    made = rows[list(left)].copy()
    made[:, :numbers.shape[-1]] = numbers.numpy()
    return made


def of_albumentations(reader: boxed.Reader, found: Sequence[tuple[Any, Any]], of: str) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Of each sample what the table holds, and the columns. Raises Unknown."""
    processors = reader.transform.processors
    fields = {name: list(processors[name].params.label_fields or []) for name in processors}
    numbers = {"bboxes": "labels", "keypoints": "places"}
    drops = [name for name in processors if name == "bboxes" or processors[name].params.remove_invisible]
    keys = tuple([one for name in processors for one in ({"bboxes": "boxes", "keypoints": "points"}[name], *([numbers[name]] if name in drops else []))])
    column = {field: numbers[name] for name in processors for field in (name, *fields[name])}
    given = []
    for number, (one, _) in enumerate(found):
        one = {name: value for name, value in one.items() if value is not boxed.HERE}
        other = next((name for name in ("mask", "masks", "image", "images", "volume") if name in one), None)
        lacks = next((name for name in processors if name not in one), None) or next((name for name in numbers if name in one and name not in processors), None)
        if other or lacks:
            raise Unknown(f"{of}[{number}]: gives {reader.called} " + (f"{other}= beside boxes or points, want none, or masks of objects by torchvision's v2" if other else
                          f"{'no ' if lacks in processors else ''}{lacks}, and it has {'' if lacks in processors else 'no '}{'bbox_params' if lacks == 'bboxes' else 'keypoint_params'}, want both"))
        given.append(one)
    lists = _converted(reader.transform, given, fields, of)
    entries = []
    for number, ((_, names), one, rows) in enumerate(zip(found, given, lists)):
        entry: dict[str, Any] = {"sample": Sample(reader, names, Converted(one, rows, column, keys, "places" in keys))}
        for name, (key, wide) in {"bboxes": ("boxes", 4), "keypoints": ("points", 2)}.items():
            if name in processors:
                entry[key] = array("f", [float(v) for row in one[name] for v in row[:wide]])
                entry[numbers[name]] = array("q", range(len(one[name])))
                uneven = next((field for field in fields[name] if len(rows[field]) != len(one[name])), None)
                if uneven or len(entry[key]) != wide * len(one[name]) or len(rows[name]) != len(one[name]):
                    raise Unknown(f"{of}[{number}]: has {len(one[name])} {name}{f' and {len(rows[uneven])} {uneven}' if uneven else ''}, want {wide} numbers of each{', and as many labels' if uneven else ''}")
        entries.append(entry)
    return entries, keys


def _converted(transform: Any, given: Sequence[Mapping[str, Any]], fields: Mapping[str, Sequence[str]], of: str) -> list[dict[str, Any]]:
    """What comes out of a transform that does nothing, of each sample: samples of one kind go through it together. Raises Unknown."""
    library = sys.modules["albumentations"]
    says = {name: transform.processors[name].params for name in fields}
    still = library.Compose([library.NoOp()], **{{"bboxes": "bbox_params", "keypoints": "keypoint_params"}[name]: type(params)(
        format={"bboxes": "albumentations", "keypoints": "xy"}[name], label_fields=list(fields[name]) or None) for name, params in says.items()})
    picture = sys.modules["numpy"].zeros((_SIDE, _SIDE, 3), "uint8")
    wanted = [name for name in fields] + [field for name in fields for field in fields[name]]
    groups: dict[Any, list[int]] = {}
    for number, one in enumerate(given):
        groups.setdefault(tuple([_sort(one.get(name), name in fields) for name in wanted]), []).append(number)
    made: list[dict[str, Any]] = [{}] * len(given)
    for numbers in groups.values():
        try:
            out = still(image=picture, **_all([{name: _still(one[name], name) if name in fields else one[name] for name in wanted if name in one} for one in [given[i] for i in numbers]], fields))
        except Exception as error:
            raise Unknown(f"{of}[{numbers[0]}]: {type(error).__name__}: {error}") from None
        at = dict.fromkeys(wanted, 0)
        for i in numbers:
            made[i] = {}
            for name in wanted:
                count = len(given[i][name])
                made[i][name] = out[name][at[name]:at[name] + count]
                at[name] += count
    return made


def _sort(rows: Any, are_rows: bool) -> Any:
    """By which samples go together: the types of what they give, and whether it is nothing."""
    inner = str(rows.dtype) if hasattr(rows, "dtype") else tuple(sorted({type(one).__name__ for one in rows})) if hasattr(rows, "__iter__") else ""
    widths = tuple(sorted({len(one) for one in rows})) if are_rows and len(rows) else ()
    return type(rows).__name__, inner, widths, rows is not None and len(rows) == 0


def _still(rows: Any, name: str) -> Any:
    """Boxes or points that such a transform leaves as they are, in what those are."""
    first: tuple[float, ...] = _BOX if name == "bboxes" else (1.0, 1.0)
    if not hasattr(rows, "dtype"):
        return [[*first, *row[len(first):]] for row in rows]
    numpy = sys.modules["numpy"]
    made = numpy.array(rows, "float32" if str(rows.dtype).endswith("float32") else "float64")
    if made.ndim == 2:
        made[:, :len(first)] = first
    return made


def _all(given: Sequence[Mapping[str, Any]], fields: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Of many samples one with all that they have."""
    if len(given) == 1:
        return dict(given[0])
    numpy = sys.modules["numpy"]
    made: dict[str, Any] = {}
    for name in given[0]:
        parts = [one[name] for one in given]
        made[name] = numpy.concatenate(parts) if isinstance(parts[0], numpy.ndarray) else [row for part in parts for row in part]
    return made


def check_resized(sizes: Sequence[Any], keys: Sequence[str]) -> None:
    """Refuse what cannot be told of a picture that was resized ahead of its transform. Raises Unknown."""
    if len(sizes) > 1 or "masks" in keys:
        raise Unknown(f"resizes its picture {'twice' if len(sizes) > 1 else 'beside masks'} ahead of the transform, want the resize among the transforms")


def scale(entry: dict[str, Any], x: float, y: float) -> None:
    """Boxes and points as they are in a picture so many times as wide and as high. Shares of its sides stay."""
    for key in ("boxes", "points"):
        if key in entry and not (key == "boxes" and entry["sample"].shares()):
            numbers = entry[key]
            for at in range(0, len(numbers), 2):
                numbers[at] *= x
                numbers[at + 1] *= y


# ---- what a loop gets


_WHOLE, _RESIZES = ("center_crop", "random_crop", "pad"), ("resize", "random_resized_crop")
_MOVED = ("horizontal_flip", "vertical_flip", "random_rotate90", "transpose")  # pixels that stay what they are


def mirrors(operations: Sequence[Mapping[str, Any]]) -> str:
    """Whether the map of a picture says how albumentations counts its points: it is mirrored and turned by whole pixels, "behind" or "ahead" of all that resizes it; "": it does not."""
    names = [name for operation in operations for name in operation if not joint.stays({name: operation[name]})]
    moved, resized = ([at for at, name in enumerate(names) if name in among] for among in (_MOVED, _RESIZES))
    if any(name not in (*_MOVED, *_WHOLE, *_RESIZES) for name in names):
        return ""
    return "behind" if max(resized, default=-1) < min(moved, default=len(names)) else "ahead" if max(moved) < min(resized) else ""


def check_ahead(after: Sequence[Any], operations: Sequence[Mapping[str, Any]], transform: Any, place: str) -> None:
    """Refuse what is done to a picture's numbers ahead of its transform, where that would be another thing behind it."""
    other = next((name for operation in operations for name in operation if name not in _MOVED), None)
    if after and other is not None:
        raise refusal(place, transform, f"has a picture whose numbers are changed ahead of it, and {other} computes with them, want bytes in front, and A.ToFloat(255), A.Normalize() or v2.ToDtype(torch.float32, scale=True) among the transforms")


class Finish(NamedTuple):
    """How a batch's fields become what torch's loop gets."""

    samples: Sequence[Sample]  # by their places in the data set
    kind: Kind
    row: Row
    collate: Optional[Callable[[list[Any]], Any]]  # the program's, of a list of samples; None: torch's own
    mirrors: str = ""  # whether points are counted by the picture's map, and how

    @property
    def known(self) -> tuple[str, ...]:
        """What is picked of a batch behind the columns and the places of samples."""
        return ("affine",) if self.mirrors else ()

    def __call__(self, picked: Sequence[Any]) -> Any:
        tensors = hasattr(picked[0][0], "new_zeros")
        if not tensors:
            picked = [_tensors(one) for one in picked]
        fields, maps = picked[:len(picked) - len(self.known)], picked[-1] if self.known else None
        if maps is not None and self.mirrors == "behind":  # a mirrored side is one of the row's pixels less
            maps = (maps > _ANY).float() - (maps < -_ANY).float()
        images, *columns, numbers = fields
        images = self.row(images)
        made = [self.samples[number].made(row, self.kind, None if maps is None else maps[i]) for i, (number, *row) in enumerate(zip(numbers.tolist(), images, *columns))]
        if self.collate is not None:
            return self.collate(made)
        batch = collated(made)
        return batch if tensors else without_tensors(batch)


def _tensors(field: Any) -> Any:
    if isinstance(field, list):
        return [_tensors(one) for one in field]
    return sys.modules["torch"].from_numpy(field.copy())


# ---- trees


def _leaves(tree: Any) -> Iterator[Any]:
    if isinstance(tree, (dict, list, tuple)):
        for one in tree.values() if isinstance(tree, dict) else tree:
            yield from _leaves(one)
    else:
        yield tree


def _mapped(tree: Any, one: Callable[[Any], Any]) -> Any:
    if isinstance(tree, dict):
        return {key: _mapped(value, one) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        values = [_mapped(value, one) for value in tree]
        return type(tree)(*values) if hasattr(tree, "_fields") else type(tree)(values)
    return one(tree)


def _fresh(tree: Any) -> Any:
    """What a program may change without another sample's being another: lists, dicts, tensors and arrays are copies."""
    return _mapped(tree, lambda leaf: leaf.clone() if hasattr(leaf, "new_zeros") else leaf.copy() if type(leaf).__module__ == "numpy" and hasattr(leaf, "copy") else leaf)


def _pillows(pixels: Any) -> Any:
    return sys.modules["PIL.Image"].fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)


def _is_pillows(leaf: Any) -> bool:
    return any(cls.__module__ == "PIL.Image" for cls in type(leaf).__mro__)
