"""A data set's targets as a table that the engine reads: an array for each column, and of rows of any length where each of them begins."""

from __future__ import annotations

import itertools
import os
import struct
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from .._errors import ArgumentError
from .beside import Numbers, npz
from .targets import Target

TABLE = "table.npz"

_AT_ONCE = 256  # samples whose numbers are in hand when they are written

_FORMS: dict[str, Callable[[float, float, float, float], tuple[float, float, float, float]]] = {
    "xywh": lambda x1, y1, x2, y2: (x1, y1, x2 - x1, y2 - y1),
    "cxcywh": lambda x1, y1, x2, y2: ((x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1),
}
_CORNERS: dict[str, Callable[[float, float, float, float], tuple[float, float, float, float]]] = {
    "xywh": lambda x, y, w, h: (x, y, x + w, y + h),
    "cxcywh": lambda x, y, w, h: (x - w / 2, y - h / 2, x + w / 2, y + h / 2),
}


def table(target: Target, paths: Sequence[str], targets: Sequence[Any], form: str, given: str = "xyxy") -> tuple[list[dict[str, Any]], Callable[[], Iterable[bytes]]]:
    """The columns that hold targets, as a description has them, with boxes in this form, of boxes in the one that is given, and what is in the file."""
    columns, arrays = [], _texts("path", [os.fsencode(path) for path in paths])
    if target.kind == "values":
        columns.append({"name": "target", "type": "list", "dtype": "i64", "shape": [target.length]})
        arrays["target"] = Numbers("q", (len(targets), target.length), lambda: (array("q", one).tobytes() for one in targets))
    elif target.kind == "mask":
        arrays.update(_texts("mask", [os.fsencode(one) for one in targets]))
    else:
        for key in target.keys:
            column, more = _COLUMNS[key](paths, targets, (given, form))
            columns.append({"name": key, **column})
            arrays.update(more)
    return columns, npz(arrays)


def files(paths: Sequence[Sequence[str]], names: Sequence[str], parts: Sequence[Mapping[str, float]]) -> Callable[[], Iterable[bytes]]:
    """A file that names those of each sample, a column for each, and has numbers of theirs."""
    arrays: dict[str, Numbers] = {}
    for name in parts[0]:
        arrays[name] = _floats([one[name] for one in parts])
    for i, name in enumerate(names):
        arrays.update(_texts(name, [os.fsencode(one[i]) for one in paths]))
    return npz(arrays)


Column = tuple[dict[str, Any], dict[str, Numbers]]
Forms = tuple[str, str]  # of boxes, the one in which they are given, and that which the table has


def _image_id(_: Sequence[str], targets: Sequence[Any], __: Forms) -> Column:
    return {"type": "i64"}, {"image_id": _whole([one["image_id"] for one in targets])}


def _boxes(_: Sequence[str], targets: Sequence[Any], forms: Forms) -> Column:
    ends = list(itertools.accumulate(len(one["boxes"]) // 4 for one in targets))
    given, form = forms
    taken, formed = (None, None) if given == form else (_CORNERS.get(given), _FORMS.get(form))

    def parts() -> Iterator[bytes]:
        for few in _few(targets):
            corners = array("f", b"".join([one["boxes"].tobytes() for one in few]))
            if taken is not None:
                corners = array("f", [v for at in range(0, len(corners), 4) for v in taken(*corners[at:at + 4])])
            if formed is not None:
                corners = array("f", [v for at in range(0, len(corners), 4) for v in formed(*corners[at:at + 4])])
            yield corners.tobytes()

    return {"type": "list", "dtype": "f32", "shape": [-1, 4], "max_length": _most(ends)}, _ragged("boxes", Numbers("f", (_last(ends), 4), parts), ends)


def _points(_: Sequence[str], targets: Sequence[Any], __: Forms) -> Column:
    ends = list(itertools.accumulate(len(one["points"]) // 2 for one in targets))
    numbers = Numbers("f", (_last(ends), 2), lambda: (b"".join([one["points"].tobytes() for one in few]) for few in _few(targets)))
    return {"type": "list", "dtype": "f32", "shape": [-1, 2], "max_length": _most(ends)}, _ragged("points", numbers, ends)


def _labels(_: Sequence[str], targets: Sequence[Any], __: Forms) -> Column:
    return _numbered("labels", targets)


def _places(_: Sequence[str], targets: Sequence[Any], __: Forms) -> Column:
    return _numbered("places", targets)


def _numbered(name: str, targets: Sequence[Any]) -> Column:
    ends = list(itertools.accumulate(len(one[name]) for one in targets))
    numbers = Numbers("q", (_last(ends),), lambda: (b"".join([one[name].tobytes() for one in few]) for few in _few(targets)))
    return {"type": "list", "dtype": "i64", "max_length": _most(ends)}, _ragged(name, numbers, ends)


def _areas(_: Sequence[str], targets: Sequence[Any], __: Forms) -> Column:
    ends = list(itertools.accumulate(len(one["areas"]) for one in targets))
    numbers = Numbers("f", (_last(ends),), lambda: (b"".join([one["areas"].tobytes() for one in few]) for few in _few(targets)))
    return {"type": "list", "dtype": "f32", "max_length": _most(ends)}, _ragged("areas", numbers, ends)


def _masks(paths: Sequence[str], targets: Sequence[Any], _: Forms) -> Column:
    """Outlines as numbers (docs/transforms.md)."""
    ends = list(itertools.accumulate(_counted(one["masks"]) for one in targets))

    def parts() -> Iterator[bytes]:
        for few, names in zip(_few(targets), _few(paths)):
            numbers: list[float] = []
            for one in few:
                _outlined(one["masks"], numbers)
            try:
                yield struct.pack(f"={len(numbers)}d", *numbers)
            except struct.error:
                raise _wrong(few, names) from None

    return {"type": "list", "dtype": "f64", "max_length": _most(ends)}, _ragged("masks", Numbers("d", (_last(ends),), parts), ends)


_COLUMNS: dict[str, Callable[[Sequence[str], Sequence[Any], Forms], Column]] = {
    "image_id": _image_id, "boxes": _boxes, "labels": _labels, "areas": _areas, "masks": _masks, "points": _points, "places": _places,
}


def _counted(outlines: Sequence[Any]) -> int:
    """How many numbers outlines are."""
    return sum([4 + len(one["counts"]) if isinstance(one, dict) else 1 + len(one) + sum(map(len, one)) for one in outlines])


def _outlined(outlines: Sequence[Any], numbers: list[Any]) -> None:
    """Appends the numbers of a picture's outlines."""
    for one in outlines:
        if isinstance(one, dict):
            counts = one["counts"]
            packed = isinstance(counts, str)
            numbers += (0, *one["size"], -len(counts) if packed else len(counts))
            numbers += counts.encode() if packed else counts
            continue
        numbers.append(len(one))
        for polygon in one:
            numbers.append(len(polygon))
            numbers += polygon


def _wrong(few: Sequence[Any], paths: Sequence[str]) -> ArgumentError:
    """Says which outline has what is no number."""
    for target, path in zip(few, paths):
        for at, one in enumerate(target["masks"]):
            numbers: list[Any] = []
            _outlined([one], numbers)
            other = next((v for v in numbers if not isinstance(v, (int, float))), None)
            if other is not None:
                return ArgumentError(f"spdl: DataLoader: dataset: {path}: segmentation of object {at}: got {other!r:.60} in it, want numbers: polygons [[x, y, x, y, x, y]], or size and counts of runs")
    return ArgumentError(f"spdl: DataLoader: dataset: {paths[0]}: segmentation: got numbers that no float of 64 bits holds")


def _texts(name: str, values: Sequence[bytes]) -> dict[str, Numbers]:
    ends = list(itertools.accumulate(map(len, values)))
    return _ragged(name, Numbers("B", (_last(ends),), lambda: (b"".join(few) for few in _few(values))), ends)


def _ragged(name: str, numbers: Numbers, ends: Sequence[int]) -> dict[str, Numbers]:
    """Rows one behind the other, and where each begins."""
    return {name: numbers, f"{name}.offsets": _whole([0, *ends])}


def _whole(values: Sequence[int]) -> Numbers:
    numbers = array("q", values)
    return Numbers("q", (len(numbers),), lambda: [numbers.tobytes()])


def _floats(values: Sequence[float]) -> Numbers:
    numbers = array("d", values)
    return Numbers("d", (len(numbers),), lambda: [numbers.tobytes()])


def _few(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (values[at:at + _AT_ONCE] for at in range(0, len(values), _AT_ONCE))


def _last(ends: Sequence[int]) -> int:
    return ends[-1] if ends else 0


def _most(ends: Sequence[int]) -> int:
    """The longest row, 1 at least."""
    return max(1, max((end - begin for begin, end in zip([0, *ends], ends)), default=1))
