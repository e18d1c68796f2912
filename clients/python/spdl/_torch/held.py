"""Data sets that a program holds in memory: tensors and arrays whose rows are samples, and lists of samples."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, Optional

from .._errors import ArgumentError
from . import beside, datasets, libraries
from .made import Made
from .transforms import Places

_TORCHS = ("TensorDataset", "StackDataset")
TYPES = ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "bfloat16", "float32", "float64")
_NUMBERS: dict[type, str] = {bool: "bool", int: "int64", float: "float64"}  # Python's, as torch makes tensors of them
_NAME = re.compile("[A-Za-z0-9_-]{1,44}")
TAKEN = ("label", "index", "key", "status")  # fields that batches have of themselves
_AT_ONCE = 16 << 20  # bytes that are written at a time


def is_held(one: Any) -> bool:
    """Whether the samples of this are in memory: or of parts of it, or of what it is joined of."""
    while datasets.is_dataset(one) and type(one).__qualname__ in ("Subset", "ConcatDataset"):
        one = one.dataset if type(one).__qualname__ == "Subset" else next(iter(one.datasets), None)
    return is_rows(one) or libraries.derives(one, "torch.utils.data", *_TORCHS) and libraries.home(one, ("torch.utils.data",), ("__getitem__",)).own == ""


def is_rows(one: Any) -> bool:
    """Whether this is an array whose rows are samples, or a list of samples with arrays."""
    if isinstance(one, (list, tuple)):
        return bool(one) and any(_is_array(value) for value in _values(one[0]))
    return _is_array(one)


def _is_array(one: Any) -> bool:
    return _is_tensor(one) or type(one).__module__ == "numpy" and hasattr(one, "shape") and hasattr(one, "strides")


def _is_tensor(one: Any) -> bool:
    return all(hasattr(one, name) for name in ("detach", "layout", "requires_grad"))


def _values(sample: Any) -> Sequence[Any]:
    """What is in a sample, in its order."""
    return list(sample.values()) if isinstance(sample, Mapping) else sample if isinstance(sample, (list, tuple)) else [sample]


class Kind(NamedTuple):
    """What a value of a sample is."""

    type: str  # as torch and NumPy call it
    shape: tuple[int, ...]
    of: str  # "tensor", "array" of NumPy's, or "number" of Python's

    def __str__(self) -> str:
        return f"{list(self.shape)} of {self.type} ({self.of})"


class Column(NamedTuple):
    """A value of every sample."""

    kind: Kind
    take: Callable[[Any], Any]  # those of a range or of an array of numbers, as an array

    @property
    def stored(self) -> str:
        return _stored(self.kind.type)

    @property
    def row_bytes(self) -> int:
        count = 1
        for side in self.kind.shape:
            count *= side
        return count * (int(re.sub("[^0-9]", "", self.stored)) // 8)


Form = Callable[[Sequence[Any]], Any]


class Tensors:
    """Samples, by their numbers."""

    def __init__(self, columns: Sequence[Column], form: Form, keys: Optional[Sequence[str]], count: int, numbers: Any = None) -> None:
        self.columns = columns
        self.form = form  # a sample or a batch of the values
        self.keys = keys  # of a dict's values; None: they have places
        self._count, self._numbers = count, numbers  # NumPy's, of those that are chosen; None: all

    def __len__(self) -> int:
        return self._count if self._numbers is None else len(self._numbers)

    def part(self, chosen: Sequence[int]) -> Tensors:
        import numpy

        at = numpy.asarray(chosen, "int64")
        return Tensors(self.columns, self.form, self.keys, self._count, numpy.arange(len(self), dtype="int64")[at] if self._numbers is None else self._numbers[at])

    def taken(self, column: Column, first: int, last: int) -> Any:
        """Values of some samples, one behind the other."""
        return column.take(range(first, last) if self._numbers is None else self._numbers[first:last])


def held(dataset: Any, place: str = "dataset") -> Tensors:
    """What a data set is of. Raises ArgumentError with what does it here where it cannot be told."""
    if is_rows(dataset):
        return _listed(dataset, place) if isinstance(dataset, (list, tuple)) else _stacked([dataset], _form(type(dataset), None), None, dataset, place)
    name = _torchs_class(dataset, place)
    if name == "Subset":
        return held(dataset.dataset, f"{place}.dataset").part(dataset.indices)
    if name == "ConcatDataset":
        return _joined([held(one, f"{place}.datasets[{i}]") for i, one in enumerate(dataset.datasets)], dataset, place)
    if name == "TensorDataset":
        return _stacked(dataset.tensors, _form(tuple, None), None, dataset, place, ".tensors")
    if name != "StackDataset":
        datasets.refuse(place, dataset, "stands beside tensors or lists of samples, want data sets of one kind in a ConcatDataset")
    parts = dataset.datasets
    values = _values(parts)
    for i, one in enumerate(values):
        if not _is_array(one):
            datasets.refuse(place, dataset, f"datasets[{i}]: got a {type(one).__qualname__}, want tensors or arrays alone, as TensorDataset has them: columns of one table otherwise (docs/tables.md)")
    keys = list(parts) if isinstance(parts, Mapping) else None
    return _stacked(values, _form(tuple, keys), keys, dataset, place, ".datasets")


def _torchs_class(dataset: Any, place: str) -> str:
    home = libraries.home(dataset, ("torch.utils.data",), datasets.BEHAVIOUR)
    if home.own and is_held(dataset):
        datasets.refuse(place, dataset, f"is a class of its own, which reads by its {home.own}, want TensorDataset itself: what changes samples works on whole batches in the loop")
    return home.name


def _form(cls: type, keys: Optional[Sequence[Any]]) -> Form:
    """What samples are: dicts, tuples, named ones, lists, or values alone."""
    if keys is not None:
        return lambda values: dict(zip(keys, values))
    if issubclass(cls, (tuple, list)):
        return (lambda values: cls(*values)) if hasattr(cls, "_fields") else lambda values: list(values) if issubclass(cls, list) else tuple(values)
    return lambda values: values[0]


# ---- arrays whose rows are samples


def _stacked(arrays: Sequence[Any], form: Form, keys: Optional[Sequence[str]], dataset: Any, place: str, where: str = "") -> Tensors:
    columns = []
    for i, one in enumerate(arrays):
        at = f"{where.lstrip('.')}[{repr(keys[i]) if keys else i}]: " if where else ""
        kind = checked(one, lambda what: datasets.refuse(place, dataset, at + what))
        if not kind.shape:
            datasets.refuse(place, dataset, f"{at}got a scalar, want a first axis that counts samples")
        columns.append(Column(kind._replace(shape=kind.shape[1:]), _rows_of(one)))
    if not columns:
        datasets.refuse(place, dataset, "has no tensors, want one at least")
    counts = [len(one) for one in arrays]
    if len(set(counts)) > 1:
        datasets.refuse(place, dataset, f"{where.lstrip('.')}: got {', '.join(map(str, counts))} rows, want as many of each")
    return Tensors(columns, form, keys, counts[0])


def checked(one: Any, refuse: Callable[[str], NoReturn]) -> Kind:
    """What an array or a number is. Refuses what no file holds."""
    if type(one) in _NUMBERS:
        if type(one) is int and not -1 << 63 <= one < 1 << 63:
            refuse(f"got {one}, want a number of 64 bits")
        return Kind(_NUMBERS[type(one)], (), "number")
    if not _is_array(one):
        refuse(f"got a {type(one).__qualname__}, want tensors, NumPy's arrays and numbers; texts, and values of any length, are columns of a table (docs/tables.md)")
    kind = Kind(str(one.dtype).rpartition(".")[2], tuple(map(int, one.shape)), "tensor" if _is_tensor(one) else "array")
    if kind.of == "tensor":
        _check_tensor(one, refuse)
    else:
        kind = kind._replace(type=one.dtype.name)
    if kind.type not in TYPES:
        remedy = {"complex": "; torch.view_as_real makes pairs of floats", "float8": "; .view(torch.uint8) has the same bytes, and the loop views them back"}.get(re.sub("(_.*|64|128)$", "", kind.type), "")
        refuse(f"got {kind.type}, want one of {', '.join(TYPES)}{remedy}")
    return kind


def _check_tensor(one: Any, refuse: Callable[[str], NoReturn]) -> None:
    if one.device.type != "cpu":
        refuse(f"got a tensor on {one.device}, want it in the machine's memory, .cpu(): a data set that is on a device already is indexed there")
    if str(one.layout) != "torch.strided" or getattr(one, "is_quantized", False):
        refuse(f"got a tensor of layout {one.layout}{' that is quantized' if getattr(one, 'is_quantized', False) else ''}, want a dense one: .to_dense(), .dequantize()")
    if one.requires_grad:
        refuse("got a tensor that requires grad, which batches would not hand on, want it without: .detach()")


def _rows_of(one: Any) -> Callable[[Any], Any]:
    array = numpys(one)
    return lambda numbers: array[numbers.start:numbers.stop] if isinstance(numbers, range) else array[numbers]


def numpys(one: Any) -> Any:
    """The same memory as an array of NumPy's; of bfloat16 its bits."""
    if not _is_tensor(one):
        return one
    import torch

    return (one.detach().view(torch.int16) if str(one.dtype) == "torch.bfloat16" else one.detach()).numpy()


# ---- lists of samples


def _listed(samples: Sequence[Any], place: str) -> Tensors:
    first = samples[0]
    keys: Optional[list[Any]] = list(first) if isinstance(first, Mapping) else None
    single = keys is None and not isinstance(first, (list, tuple))
    kinds: list[Kind] = []
    for number, sample in enumerate(samples):
        at = f"{place}[{number}]"
        if type(sample) is not type(first) and not single or keys is not None and list(sample) != keys or not single and len(sample) != len(first):
            _refuse(at, f"got a {_shown(sample)}, want a {_shown(first)}, as {place}[0] is: torch makes batches of samples that are alike")
        for i, value in enumerate(_values(sample)):
            where = at if single else f"{at}[{repr(keys[i]) if keys else i}]"
            kind = checked(value, lambda what: _refuse(where, what))
            if number == 0:
                kinds.append(kind)
            elif kind != kinds[i]:
                _refuse(where, f"got {kind}, want {kinds[i]}, as {place}[0] has: torch's own collate makes batches of one shape; lists of any length are columns of a table, with max_length (docs/tables.md)")
    form = _form(type(first), keys)
    columns = [Column(kind, _values_of(samples, keys[i] if keys else i, single)) for i, kind in enumerate(kinds)]
    return Tensors(columns, form, keys, len(samples))


def _values_of(samples: Sequence[Any], key: Any, single: bool) -> Callable[[Any], Any]:
    def take(numbers: Any) -> Any:
        import numpy

        return numpy.stack([numpy.asarray(numpys(samples[n] if single else samples[n][key])) for n in map(int, numbers)])
    return take


def _shown(sample: Any) -> str:
    if isinstance(sample, Mapping):
        return f"{type(sample).__qualname__} of {', '.join(map(str, sample)):.120}"
    return f"{type(sample).__qualname__} of {len(sample)}" if isinstance(sample, (list, tuple)) else type(sample).__qualname__


def _refuse(place: str, what: str) -> NoReturn:
    raise ArgumentError(f"spdl: DataLoader: {place}: {what}")


# ---- several


def _joined(parts: Sequence[Tensors], dataset: Any, place: str) -> Tensors:
    first = parts[0]
    for i, one in enumerate(parts):
        if one.keys != first.keys or [column.kind for column in one.columns] != [column.kind for column in first.columns]:
            datasets.refuse(place, dataset, f"datasets[{i}]: got {_contents(one)}, and datasets[0] has {_contents(first)}, want one kind")
    ends = list(itertools.accumulate(map(len, parts)))
    columns = [Column(column.kind, _of_parts(parts, i, ends)) for i, column in enumerate(first.columns)]
    return Tensors(columns, first.form, first.keys, ends[-1])


def _contents(of: Tensors) -> str:
    shown = [str(column.kind) for column in of.columns]
    return ", ".join(f"{key}: {one}" for key, one in zip(of.keys, shown)) if of.keys else ", ".join(shown)


def _of_parts(parts: Sequence[Tensors], column: int, ends: Sequence[int]) -> Callable[[Any], Any]:
    def take(numbers: Any) -> Any:
        import numpy

        numbers = numpy.asarray(numbers)
        owners = numpy.searchsorted(ends, numbers, side="right")
        found: Any = None
        for owner in numpy.unique(owners):
            here = owners == owner
            part = parts[owner].part(numbers[here] - (ends[owner - 1] if owner else 0))
            rows = part.taken(part.columns[column], 0, len(part))
            found = numpy.empty((len(numbers), *rows.shape[1:]), rows.dtype) if found is None else found
            found[here] = rows
        return found
    return take


# ---- as a description


def made(of: Tensors, dataset: Any, collate: Optional[Callable[[list[Any]], Any]]) -> Made:
    """The samples as files of the engine's, and their fields, in samples for a collate_fn or, where it is None, in batches."""
    files: beside.Files = {}
    arrays, fields = [], _fields(of)
    for name, column in zip(fields, of.columns):
        if column.row_bytes == 0:
            datasets.refuse("dataset", dataset, f"{name}: got samples of {column.kind}, without an element, want one at least, or the tensor left out")
        arrays.append(written(files, name, column.kind.type, column.kind.shape, len(of), functools.partial(of.taken, column)))
    finish = Finish([column.kind for column in of.columns], of.form, collate)
    return Made(len(of), {"arrays": arrays}, {}, None, fields, finish, collate is not None, None, files, Places())


def _fields(of: Tensors) -> list[str]:
    """A field's name for each value: a dict's key, where it may be one."""
    taken = {*TAKEN, *(of.keys or ())}
    others = (name for name in (f"tensor_{n}" for n in itertools.count()) if name not in taken)
    keys: Sequence[Any] = of.keys or [None] * len(of.columns)
    return [key if isinstance(key, str) and _NAME.fullmatch(key) and key not in TAKEN else next(others) for key in keys]


def written(files: beside.Files, name: str, type: str, shape: Sequence[int], count: int, rows: Callable[[int, int], Any]) -> dict[str, Any]:
    """An array of so many rows in a file of the engine's, of what takes those of a range; and what a description says of it. NumPy has no word for bfloat16."""
    import numpy

    headed, stored = type != "bfloat16", numpy.dtype(_stored(type)).newbyteorder("<")
    file, row_bytes = f"data.{name}.{'npy' if headed else 'bin'}", stored.itemsize * math.prod(shape)

    def parts() -> Iterator[bytes]:
        if headed:
            yield beside.header(stored.str, (count, *shape))
        at_once = max(1, _AT_ONCE // row_bytes)
        for first in range(0, count, at_once):
            part: Any = numpy.ascontiguousarray(rows(first, min(first + at_once, count)))
            yield memoryview(part.astype(part.dtype.newbyteorder("<"), copy=False).reshape(-1).view("uint8"))  # type: ignore[misc]  # what is written as bytes are
    files[file] = beside.Large(count * row_bytes, parts)
    return {"name": name, "file": file, **({} if headed else {"dtype": "bf16", **({"shape": list(shape)} if shape else {})})}


def _stored(type: str) -> str:
    """The type in the file: truths are bytes, and NumPy has no bfloat16."""
    return {"bool": "uint8", "bfloat16": "uint16"}.get(type, type)


class Finish(NamedTuple):
    """How a batch's fields become what torch's loop gets."""

    kinds: Sequence[Kind]
    form: Form
    collate: Optional[Callable[[list[Any]], Any]]  # the program's, of a list of samples

    def __call__(self, picked: Sequence[Any]) -> Any:
        fields = [_truths(one) if kind.type == "bool" else one for one, kind in zip(picked, self.kinds)]
        if self.collate is None:
            return self.form(fields)
        return self.collate([self.form([_own(value, kind) for value, kind in zip(row, self.kinds)]) for row in zip(*fields)])


def _truths(field: Any) -> Any:
    return field.astype("bool") if hasattr(field, "astype") else field.bool()


def _own(value: Any, kind: Kind) -> Any:
    """A sample's value, as its data set has it."""
    if kind.of == "number":
        return value.item()
    return value.numpy()[()] if kind.of == "array" and hasattr(value, "numpy") else value
