"""Hugging Face's data sets: where their samples lie, and which of them there are."""

from __future__ import annotations

import copy
import io
import json
import os
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, Optional, Union

from . import beside, datasets, features, libraries
from .called import Called
from .features import Leaf

ONLY, ROWS, LINES = "only.npy", "data.arrow", "table.jsonl"
_MODULES = ("datasets.arrow_dataset", "datasets.iterable_dataset", "datasets.dataset_dict")
_KINDS = ("Dataset", "IterableDataset", "DatasetDict", "IterableDatasetDict")
_BEHAVIOUR = ("__getitem__", "__getitems__", "__len__", "_getitem")
ENDLESS = 1 << 62  # of rows up to the last, where nobody has counted them
_AT_ONCE = 1000  # rows that are written at a time


def is_dataset(one: Any) -> bool:
    """Whether this is one of theirs, or a part (Subset) of one."""
    return _kind(_innermost(one)) is not None


def _innermost(one: Any) -> Any:
    while type(one).__qualname__ == "Subset" and type(one).__module__.startswith("torch.utils.data"):
        one = one.dataset
    return one


def _kind(one: Any) -> Optional[str]:
    return next((cls.__qualname__ for cls in type(one).__mro__ if cls.__module__ in _MODULES and cls.__qualname__ in _KINDS), None)


def samples(dataset: Any, place: str = "dataset") -> Samples:
    """What a data set is of. Raises ArgumentError with what does it here where it cannot be told."""
    if _kind(dataset) is None:
        return samples(dataset.dataset, f"{place}.dataset").part(dataset.indices)
    _check(dataset, place)
    indices = getattr(dataset, "_indices", None)
    return Samples(dataset, place, None if indices is None else indices.column(0).to_numpy())


def is_streamed(one: Any) -> bool:
    return _kind(one) == "IterableDataset"


def joined(dataset: Any, parts: Sequence[Any], place: str, names: Names, torch: bool, columns: Mapping[str, Any]) -> Samples:
    """What a streamed data set is of, that was made of some on a disk, under those names, with these features."""
    chosen = [part.select_columns(list(dict.fromkeys(names.values()))) for part in parts]
    of = samples(chosen[0] if len(chosen) == 1 else sys.modules["datasets"].concatenate_datasets(chosen), place)
    of.dataset, of.features, of.columns_of, of.torch, of.named = dataset, columns, list(columns), torch, names
    return of


def _check(dataset: Any, place: str) -> None:
    """Refuse what changes samples, and what is no data set of rows."""
    kind = _kind(dataset)
    if kind in ("DatasetDict", "IterableDatasetDict"):
        splits = list(dataset)
        datasets.refuse(place, dataset, f"has the splits {', '.join(map(str, splits)):.120}, want one of them: dataset[{splits[0] if splits else 'train'!r}]")
    if kind == "IterableDataset":
        datasets.refuse(place, dataset, "is streamed, whose samples have no numbers, want it without a Subset: dataset.take(n) and dataset.skip(n)")
    check_class(dataset, place, _BEHAVIOUR)
    form = dataset.format
    if form["type"] == "custom":  # a function's, which formats.py reads
        return
    if form["type"] not in (None, "torch"):
        datasets.refuse(place, dataset, f'has the format {form["type"]}, want none or torch: dataset.with_format("torch"); spdl.DataLoader(..., tensors="numpy") gives NumPy\'s arrays')
    if form.get("format_kwargs"):
        datasets.refuse(place, dataset, f"has a format with {', '.join(form['format_kwargs'])}, want one without: dataset.with_format(\"torch\"); numbers are i64 and f32, as of that")


def check_class(dataset: Any, place: str, behaviour: Sequence[str]) -> None:
    """Refuse a class of one's own that reads by itself."""
    own = libraries.home(dataset, _MODULES, behaviour).own
    if own:
        datasets.refuse(place, dataset, f"is a class of its own, which reads by its {own}, want datasets.{_kind(dataset)} itself")


class Located(NamedTuple):
    """Where samples lie."""

    files: Union[str, list[str]]
    names: dict[str, str]  # of the files' columns, by the data set's
    only: Any  # which rows of the files they are: None, all; a range; or NumPy's numbers
    beside: beside.Files = {}


class Samples:
    """Rows of a data set, by their numbers in its table."""

    def __init__(self, dataset: Any, place: str, numbers: Any) -> None:
        self.dataset, self.place, self.features = dataset, place, dataset.features
        self.table = dataset.data
        self._numbers = numbers  # NumPy's; None: all
        self.columns_of: Optional[list[str]] = None  # of what is streamed its own; None: those of its format
        self.torch = dataset.format["type"] == "torch"
        self.calls: dict[str, Called] = {}  # functions of columns that the loop calls
        self.transforms: dict[str, Any] = {}  # of pictures, which the data set says itself
        self.asked: dict[str, tuple[str, Any]] = {}  # columns that a filter asks, as streamed.Files
        self.named: Names = {}  # the table's columns, by the data set's, where these are other names

    def __len__(self) -> int:
        return self.table.num_rows if self._numbers is None else len(self._numbers)

    @property
    def number(self) -> int:
        return len(self)

    def part(self, chosen: Sequence[int]) -> Samples:
        import numpy  # Hugging Face's datasets have it

        at = numpy.asarray(chosen, "int64")
        part = copy.copy(self)
        part._numbers = numpy.arange(len(self), dtype="int64")[at] if self._numbers is None else self._numbers[at]
        return part

    @property
    def columns(self) -> list[str]:
        """Those that the data set gives."""
        if self.columns_of is not None:
            return self.columns_of
        form = self.dataset.format
        all = list(self.features)
        return all if form.get("output_all_columns") or form["columns"] is None else [name for name in all if name in form["columns"]]

    def refuse(self, what: str) -> NoReturn:
        datasets.refuse(self.place, self.dataset, what)

    def _stored(self, leaf: Leaf) -> str:
        """The table's name of a leaf's column."""
        return self.named.get(leaf.column, leaf.column)

    # ---- what Arrow tells of columns

    def nulls(self, leaf: Leaf) -> int:
        """How many rows have no text."""
        return features.nulls(self.table.column(self._stored(leaf)), leaf, self._numbers)

    def longest_text(self, leaf: Leaf) -> int:
        return features.longest_text(self.table.column(self._stored(leaf)), leaf)

    def lengths(self, leaf: Leaf) -> list[tuple[int, int]]:
        return features.lengths(self.table.column(self._stored(leaf)), leaf, self._numbers)

    def are_files(self, leaf: Leaf) -> bool:
        """Whether a medium is the paths of files, and not their bytes."""
        have = features.has_bytes(self.table.column(self._stored(leaf)), leaf, self._numbers)
        if have.any() and not have.all():
            self.refuse(f"features[{leaf.shown!r}]: has bytes in {int(have.sum())} of {len(have)} rows and a path, or nothing, in the others, want bytes or paths in all: save_to_disk writes the files into "
                        "it, and filter leaves rows out that have none")
        return not have.all()

    # ---- where they lie

    def located(self, leaves: Sequence[Leaf]) -> Located:
        """In the files that the data set has, or, where a column is not there as it is now, in one that is written."""
        columns = list(dict.fromkeys(map(self._stored, leaves)))
        found = self._in_files(columns) or Located(ROWS, {name: name for name in columns}, None, {ROWS: lambda: self._written(columns)})
        return found._replace(names={leaf.column: found.names[self._stored(leaf)] for leaf in leaves})

    def _in_files(self, columns: list[str]) -> Optional[Located]:
        import numpy

        blocks = _blocks(self.table)
        if blocks is None:
            return None
        parts: list[_Part] = []
        rows: dict[str, int] = {}
        for block in blocks:
            part = _part(block, columns, self.table.schema)
            if part is None or parts and part.names != parts[0].names:
                return None
            parts.append(part)
            rows[part.path] = part.of
        if not parts:
            return None
        begin = dict(zip(rows, numpy.cumsum([0, *rows.values()]).tolist()))
        spans = [range(begin[part.path] + part.first, begin[part.path] + part.first + part.rows) for part in parts if part.rows]
        together = all(one.stop == next.start for one, next in zip(spans, spans[1:]))
        if self._numbers is None and together:
            whole = range(spans[0].start, spans[-1].stop)
            return Located(list(rows), parts[0].names, None if len(whole) == sum(rows.values()) else whole)
        numbers = numpy.concatenate([numpy.arange(one.start, one.stop) for one in spans])
        return Located(list(rows), parts[0].names, _only(numbers if self._numbers is None else numbers[self._numbers], sum(rows.values())))

    def _written(self, columns: list[str]) -> Iterator[bytes]:
        """The chosen rows of some columns as a file of Arrow's."""
        import pyarrow.ipc  # which whoever has such a table has loaded

        sink = io.BytesIO()

        def taken() -> bytes:
            data = sink.getvalue()
            sink.seek(0)
            sink.truncate()
            return data

        table = self.table.table.select(columns)
        with pyarrow.ipc.new_stream(sink, table.schema) as out:
            for part in self._batches(table):
                out.write_table(part)
                yield taken()
        yield taken()

    def _batches(self, table: Any) -> Iterator[Any]:
        for first in range(0, len(self), _AT_ONCE):
            if self._numbers is None:
                yield table.slice(first, _AT_ONCE)
            else:
                yield table.take(self._numbers[first:first + _AT_ONCE])

    def lines(self, leaves: Sequence[tuple[str, Leaf]]) -> Callable[[], Iterable[bytes]]:
        """A line of JSON for each sample, with paths of media, by the names that leaves have there."""
        return lambda: self._lines(leaves)

    def _lines(self, leaves: Sequence[tuple[str, Leaf]]) -> Iterator[bytes]:
        table = self.table.table.select(list(dict.fromkeys(self._stored(leaf) for _, leaf in leaves)))
        for part in self._batches(table):
            for row in part.to_pylist():
                yield json.dumps({name: self._value(row, leaf) for name, leaf in leaves}).encode() + b"\n"

    def _value(self, row: dict[str, Any], leaf: Leaf) -> Any:
        value = features.member(row, (self._stored(leaf), *leaf.path[1:]))
        if leaf.kind not in ("image", "audio"):
            return _numbered(value)
        path = None if value is None else value["path"]
        if not path:
            self.refuse(f"features[{leaf.shown!r}]: has neither bytes nor a path in a row, want one of them; filter leaves such rows out")
        return path if "://" in path else os.path.abspath(path)


def npy(numbers: Any) -> Callable[[], Iterable[bytes]]:
    return beside.npy(array("q", numbers.astype("int64").tobytes()))


def _numbered(value: Any) -> Any:
    """Truths as numbers, which a table of JSON has for them."""
    if isinstance(value, list):
        return [_numbered(one) for one in value]
    return int(value) if isinstance(value, bool) else value


def _only(numbers: Any, rows: int) -> Any:
    """Which of so many rows these are: None, all; a range; or the numbers."""
    import numpy

    first, n = int(numbers[0]), len(numbers)
    if not numpy.array_equal(numbers, numpy.arange(first, first + n)):
        return numbers
    return None if n == rows else range(first, first + n)


class _Part(NamedTuple):
    """Rows of a file that are one behind the other."""

    path: str
    names: dict[str, str]  # of the file's columns, by the table's
    first: int
    rows: int
    of: int  # rows of the file


def _blocks(table: Any) -> Optional[list[Any]]:
    """The tables that one is made of, one behind the other, if each is of a file."""
    rows = getattr(table, "blocks", None)
    blocks = [table] if rows is None else [row[0] for row in rows if len(row) == 1]
    if rows is not None and len(blocks) < len(rows) or not all(hasattr(block, "path") and hasattr(block, "replays") for block in blocks):
        return None
    return blocks


def _part(block: Any, columns: list[str], schema: Any) -> Optional[_Part]:
    """Where a table lies in its file, after all that was done to it since it was opened; None where a column is not there as it is now."""
    import pyarrow.ipc

    with pyarrow.memory_map(block.path) as file, pyarrow.ipc.open_stream(file) as stream:
        stored = stream.schema
        names = {name: name for name in stored.names}
        first, cut = 0, False
        for name, args, kwargs in block.replays:
            if name == "slice":
                first, cut = first + (args[0] if args else kwargs.get("offset", 0)), True
            elif name not in _RENAMES:
                return None
            else:
                names = _RENAMES[name](names, *args, **kwargs)
        if any(name not in names or not _alike(stored.field(names[name]).type, schema.field(name).type) for name in columns):
            return None
        of = stream.read_all().num_rows if cut else block.num_rows
    return _Part(block.path, {name: names[name] for name in columns}, first, block.num_rows, of)


Names = dict[str, str]


def _without(names: Names, gone: Iterable[str]) -> Names:
    gone = set(gone)
    return {name: of for name, of in names.items() if name not in gone}


# What is done to a table that leaves its rows and values as they are.
_RENAMES: dict[str, Callable[..., Names]] = {
    "rename_columns": lambda names, new: dict(zip(new, names.values())),
    "drop": _without, "drop_columns": _without,
    "select": lambda names, columns: {name: names[name] for name in columns},
    "remove_column": lambda names, i: _without(names, [list(names)[i]]),
    "cast": lambda names, target_schema, *_, **__: {name: names[name] for name in target_schema.names if name in names},
    "replace_schema_metadata": lambda names, *_, **__: names,
    "combine_chunks": lambda names, *_, **__: names,
}
_ALIKE = (set(features.WHOLE), set(features.TEXTS))


def _alike(stored: Any, shown: Any) -> bool:
    """Whether what a file has of a column is what its table has, but for the width of whole numbers."""
    return stored.equals(shown) or any({str(stored), str(shown)} <= kind for kind in _ALIKE)
