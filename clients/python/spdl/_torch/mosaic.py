"""MosaicML's StreamingDataset: where its shards lie, and what its columns are in a batch."""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, Optional

from . import addresses, columns, datasets, extents, libraries
from .made import TEXT, Made, Streamed
from .transforms import Places, told

_BEHAVIOUR = ("__getitem__", "__iter__", "get_item")
_NUMBERS = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
_NAME = re.compile("[A-Za-z0-9_-]{1,44}")
_KINDS = {"jpeg": "picture", "png": "picture", "int": "i64", "str_int": "i64", "str_float": "f64", "str": "text", "ndarray": "npy", **dict.fromkeys(_NUMBERS, "npy")}
_REMEDIES = {
    "bytes": "a description says what they are: a picture, a sound, an .npy (docs/formats.md#mds)", "json": "a description takes values of it: from: \"NAME[a.b]\" (docs/formats.md#mds)",
    "str_decimal": "a description has it as text", "pil": "write it as jpeg or png, of which transform= makes tensors",
}


class _Column(NamedTuple):
    """A column of the shards, as a field of a batch."""

    field: str
    number: bool  # whether it is one of Python's in a sample
    cast: Optional[str] = None  # what its numbers are as torch has them, where that is another type than the field's


def is_dataset(one: Any) -> bool:
    """Whether this is MosaicML's, or derived of it."""
    return libraries.derives(one, "streaming", "StreamingDataset")


def streamed(dataset: Any, said: Any, transform: Any = None, fields: Any = None) -> Streamed:
    """A data set as parts of a description."""
    return described(Mosaic(dataset), said, int(dataset.shuffle_seed), transform, fields)


def described(of: Shards, said: Any, seed: int, transform: Any, fields: Any) -> Streamed:
    """Shards as parts of a description, shuffled by a seed where their data set shuffles."""
    form, wanted = columns.wanted(of, fields)
    form = of.form if fields is None else form
    collate = said.collate()
    trees = {key: of.tree(name) for key, name in wanted.items()}
    read = of.read(list(dict.fromkeys(leaf for tree in trees.values() for leaf in columns.leaves(tree))), transform, collate is not None)
    numbers = {name: number for number, name in enumerate(read)}
    finish = columns.Finish({key: columns.mapped(tree, numbers) for key, tree in trees.items()}, [column.cast for column in read.values()], [column.number for column in read.values()], form, collate)
    source: dict[str, Any] = {"shards": of.places, **({"label": of.label} if of.label else {"labels": "none"}), **({"columns": of.described} if of.described else {})}
    order: dict[str, Any] = {"shuffle": bool(of.dataset.shuffle), "seed": seed, "last": "drop" if said.flag("drop_last") else "cover"}
    made = Made(of.samples, source, of.sections, None, [column.field for column in read.values()], finish, collate is not None, None, {}, Places())
    return Streamed(made, said.batch_size(), order, {"policy": "fail"})


class Shards:
    """What a data set has read of its index.json."""

    kinds: Mapping[str, str]  # what columns are by their encodings: pictures, or as a description has them
    whole: Sequence[str] = ("int", "int64")  # those that may be a label
    want: str  # all that are read, in words
    remedies: Mapping[str, str]  # for others
    places: Sequence[str]
    samples: int
    columns: Sequence[str]
    form = "dict"  # of a sample

    def __init__(self, dataset: Any, encodings: Mapping[str, str]) -> None:
        self.dataset, self._encodings = dataset, encodings
        self.label: Optional[str] = None
        self.sections: dict[str, Any] = {}
        self.described: list[dict[str, Any]] = []

    def refuse(self, what: str) -> NoReturn:
        datasets.refuse("dataset", self.dataset, what)

    def tree(self, column: str) -> Any:
        """A column's leaves, which are what shards have: its own name, or dicts and lists of such."""
        return column

    def read(self, names: Sequence[str], transform: Any, listed: bool) -> dict[str, _Column]:
        """The fields of some leaves."""
        pictures = [name for name in names if self._kind(name) == "picture"]
        if transform is not None and not pictures:
            self.refuse("transform: got one, and no column that is asked for is a picture (jpeg or png), want none; map whole batches in the loop")
        if len(pictures) > 1:
            self.refuse(f"has the pictures {', '.join(pictures)}, want one: fields=[...] names columns; several pictures are fields: of a description (docs/images.md#several-views-of-one-sample)")
        whole = [name for name in names if name == "label" and self._encodings[name] in self.whole]
        self.label = whole[0] if whole and len(names) > 1 else None  # alone it is a column: a ring has one, or a medium
        others = (f"column_{n}" for n in itertools.count() if f"column_{n}" not in names)
        return {name: self._column(name, others, transform, listed) for name in names}

    def _kind(self, name: str) -> Optional[str]:
        return self.kinds.get(self._encodings[name].partition(":")[0])

    def _column(self, name: str, others: Any, transform: Any, listed: bool) -> _Column:
        encoding, kind = self._encodings[name].partition(":")[0], self._kind(name)
        if kind == "picture":
            self.sections["image"] = self._picture(name, transform, listed)
            return _Column("image", False)
        if name == self.label:
            return _Column("label", encoding == "int")
        if kind is None:
            self.refuse(f"columns[{name!r}]: got {self._encodings[name]}, want {self.want}; {self.remedies.get(encoding, 'it is not read')}; fields=[...] leaves it out")
        field = name if _NAME.fullmatch(name) and name not in ("label", "index", "key", "status", "image") else next(others)
        self.described.append({"name": field, **({} if field == name else {"from": name}), "type": kind, **({"max_bytes": TEXT} if kind == "text" else {})})
        return _Column(field, kind in ("i64", "f64"), "bool" if encoding == "bool" else None)

    def _picture(self, name: str, transform: Any, listed: bool) -> dict[str, Any]:
        if transform is None:
            self.refuse(f"has no transform for {name!r}, and pictures have to become tensors; give one, such as transform=Compose([Resize(256), CenterCrop(224), ToTensor()])")
        said = told(transform, "transform")
        if "layout" not in said.section:
            self.refuse("transform: ends with a picture of PIL's or an array, which no batch of tensors can be made of; add ToTensor() for floats, PILToTensor() for bytes")
        return {"from": [name], **extents.shape(transform, "transform", said.operations, listed), "transform": transform}


class Mosaic(Shards):
    """MosaicML's."""

    kinds, remedies = _KINDS, _REMEDIES
    want = "int, numbers of NumPy's, str, str_int, str_float, ndarray, jpeg or png"

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self._check()
        self.places = [addresses.address(posixpath.join(one.remote or one.local, one.split or "", "index.json"), "dataset") for one in dataset.streams]
        shards = dataset.shards
        self.samples = sum(int(one.samples) for one in shards)
        encodings = [dict(zip(one.column_names, one.column_encodings)) for one in shards]
        other = next((n for n, one in enumerate(encodings) if one != encodings[0]), None)
        if other is not None:
            self.refuse(f"has columns {encodings[other]} in shard {other}, and {encodings[0]} in shard 0, want the same in all")
        self.columns = list(encodings[0])
        super().__init__(dataset, encodings[0])

    def _check(self) -> None:
        dataset = self.dataset
        own = libraries.home(dataset, ("streaming",), _BEHAVIOUR).own
        if own:
            datasets.refuse_shards(dataset, "dataset", f"is a class of its own, which reads by its {own}, and the engine the same shards: want streaming.StreamingDataset itself, of which transform= is its pictures' and fields= its columns, or ")
        if dataset.batching_method != "random" or dataset.replication is not None:
            self.refuse(f"has batching_method={dataset.batching_method!r} and replication={dataset.replication!r}, want \"random\" and None: several data sets in proportions are source: {{mix: [...]}} of a description "
                        "(docs/sources.md#several-data-sets)")
        chosen, have = [int(one.choose) for one in dataset.streams], [int(n) for n in dataset.samples_per_stream]
        if chosen != have:
            self.refuse(f"draws {', '.join(map(str, chosen))} samples an epoch (proportion, repeat, choose, epoch_size) of {', '.join(map(str, have))}, want each once: several data sets with weights are source: {{mix: [...]}} of a "
                        "description (docs/sources.md#several-data-sets)")
        if any(type(one).__qualname__ != "MDSReader" for one in dataset.shards):
            self.refuse(f"has shards of {type(dataset.shards[0]).__qualname__}, want MDS: a table of JSON or CSV is source: {{list: FILE}} of a description (docs/tables.md)")
