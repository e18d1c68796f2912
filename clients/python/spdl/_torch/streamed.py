"""Hugging Face's data sets that are streamed: which files they read, what was done to their columns and rows, and in what order they come."""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn, Optional

from .. import _torchrun
from . import addresses, datasets, huggingface
from .features import Leaf
from .huggingface import Located
from .made import TEXT, WINDOW

_THROUGH = ("RebatchedArrowExamplesIterable", "FormattedExamplesIterable", "SelectColumnsIterable", "InterleavedShardsExamplesIterable", "ShuffledDataSourcesExamplesIterable",
            "ShuffledDataSourcesArrowExamplesIterable", "StepExamplesIterable")  # what changes no sample, or what the engine does in its own way
_REMEDIES = {
    "FilteredExamplesIterable": "want no filter: over columns it is order: {filter: ...} of a description, and in the loop it works on whole batches",
    "VerticallyConcatenatedMultiSourcesExamplesIterable": "want one list of files: load_dataset(..., data_files=[...])",
    "RandomlyCyclingMultiSourcesExamplesIterable": "several data sets with probabilities are source: {mix: [...]} of a description (docs/sources.md#several-data-sets)",
    "CyclingMultiSourcesExamplesIterable": "several data sets are source: {mix: [...]} of a description (docs/sources.md#several-data-sets)",
    "RepeatExamplesIterable": "want no repeat: each loop is an epoch",
}
_READERS = ("Parquet", "Arrow")
_OTHERS = {  # of builders whose files are read another way
    "WebDataset": 'want the shards themselves: wds.WebDataset(urls, shardshuffle=100).decode("pil").to_tuple("jpg", "cls"), which spdl.DataLoader takes, or source: {shards: ...} of a description',
    "ImageFolder": "want source: {folder: DIR} of a description, or load_dataset without streaming=True", "AudioFolder": "want source: {folder: DIR} of a description, or load_dataset without streaming=True",
    **{name: "want source: {list: FILE} of a description (docs/tables.md), or load_dataset without streaming=True" for name in ("Json", "Csv", "Text")},
}


class Order(NamedTuple):
    """In what order samples come."""

    shuffled: bool
    seed: Optional[int]
    window: Optional[int]
    world: Optional[dict[str, int]]


class Files:
    """Rows of files, of which nobody knows how many there are, as huggingface.Samples."""

    number: Optional[int] = None  # of samples

    def __init__(self, dataset: Any, place: str, files: list[str], names: dict[str, str], only: Optional[range]) -> None:
        self.dataset, self.place = dataset, place
        self._files, self._names, self._only = files, names, only
        self.features, self.torch = dataset.features, _form(dataset) == "torch"

    @property
    def columns(self) -> list[str]:
        return list(self.features)

    def refuse(self, what: str) -> NoReturn:
        datasets.refuse(self.place, self.dataset, what)

    def longest_text(self, leaf: Leaf) -> int:
        return TEXT

    def lengths(self, leaf: Leaf) -> list[tuple[int, int]]:
        if leaf.shape is None or None in leaf.shape:
            self.refuse(f"features[{leaf.shown!r}]: has lists of any length, and nobody says the longest before all are read, want List(..., length=N) or Array2D where they are of one length, load_dataset without "
                        "streaming=True, or a column with max_length of a description; or leave it out (fields=)")
        return [(n, n) for n in leaf.shape if n is not None]

    def are_files(self, leaf: Leaf) -> bool:
        return False

    def located(self, leaves: Sequence[Leaf]) -> Located:
        return Located(self._files, {leaf.column: self._names[leaf.column] for leaf in leaves}, self._only)

    def lines(self, leaves: Any) -> NoReturn:
        raise AssertionError("no medium of these is a path")


def samples(dataset: Any, place: str) -> tuple[Any, Order]:
    """What a streamed data set is of, and in what order."""
    huggingface.check_class(dataset, place, ("__iter__", "_ex_iterable"))
    form = _form(dataset)
    if form not in (None, "torch"):
        datasets.refuse(place, dataset, f'has the format {form}, want none or torch: dataset.with_format("torch")')
    if getattr(dataset, "_starting_state_dict", None) is not None:
        datasets.refuse(place, dataset, "goes on from a state of its own, want one without: state= of spdl.DataLoader goes on at any batch")
    if int(getattr(dataset, "_epoch", 0) or 0) != 0:
        datasets.refuse(place, dataset, "has an epoch that was set, want one without: loader.set_epoch(n)")
    walk = _Walk(dataset, place)
    walk.read()
    order = Order(walk.shuffled, walk.seed, WINDOW if walk.shuffled and walk.numbered is None else None, _ranks(dataset, place))
    if walk.numbered is not None:
        return walk.numbered, order
    return Files(dataset, place, walk.files, walk.names, walk.only), order


def _form(dataset: Any) -> Optional[str]:
    formatting = getattr(dataset, "_formatting", None)
    return None if formatting is None else formatting.format_type


def _ranks(dataset: Any, place: str) -> Optional[dict[str, int]]:
    """The part of a rank, where open is told of none: the data set says it."""
    ranks, split = _torchrun.ranks(), getattr(dataset, "_distributed", None)
    if split is None:
        if ranks is not None and ranks.world_size > 1:
            datasets.refuse(place, dataset, f"is not split in a run of {ranks.world_size} ranks, where each would have all samples, want split_dataset_by_node(dataset, rank, world_size), which is each rank's part of every step here")
        return None
    if ranks is not None and (split.rank, split.world_size) != (ranks.rank, ranks.world_size):
        datasets.refuse(place, dataset, f"is split for rank {split.rank} of {split.world_size}, and this process is rank {ranks.rank} of {ranks.world_size}, want split_dataset_by_node(dataset, {ranks.rank}, {ranks.world_size})")
    return {"size": split.world_size, "rank": split.rank} if ranks is None else None


class _Walk:
    """From what a data set gives to what it reads, and back."""

    def __init__(self, dataset: Any, place: str) -> None:
        self._dataset, self._place = dataset, place
        self.shuffled = False
        self.seed: Optional[int] = None
        self.files: list[str] = []
        self.only: Optional[range] = None
        self.numbered: Any = None  # of a data set that was on a disk
        self.names = {name: name for name in dataset.features or ()}  # of what is in hand, by the data set's
        self._taken: list[Any] = []  # what takes a part of the rows, the outermost first

    def _refuse(self, what: str) -> NoReturn:
        datasets.refuse(self._place, self._dataset, what)

    def read(self) -> None:
        one = self._dataset._ex_iterable
        while (name := type(one).__name__) not in ("ArrowExamplesIterable", "ExamplesIterable"):
            if name == "MappedExamplesIterable":
                self._mapped(one)
            elif name == "BufferShuffledExamplesIterable":
                self.shuffled, self.seed = True, int(copy.deepcopy(one.generator).integers(1 << 63))
                if self._taken:
                    self._refuse("takes or skips some of the samples behind a shuffle, which are those of its own numbers, want take and skip in front of it")
            elif name in ("TakeExamplesIterable", "SkipExamplesIterable"):
                self._taken.append(one)
            elif name not in _THROUGH:
                self._refuse(f"has a {name} in it, which has no equal here; {_REMEDIES.get(name, 'want load_dataset(..., streaming=True) with select_columns, rename_column, shuffle, take and skip alone')}")
            one = one.ex_iterable
        self._rows()
        if self._dataset.features is None and not hasattr(one, "generate_examples_fn"):
            self._refuse("has no features, so nobody says what its columns are, want load_dataset(..., features=Features({...}))")
        self._base(one)

    def _mapped(self, one: Any) -> None:
        function, mapping = one.function, {}
        if isinstance(function, functools.partial) and getattr(function.func, "__name__", "") == "_rename_columns_fn":
            mapping, function = function.keywords["column_mapping"], function.func
        if not (getattr(function, "__module__", None) or "").startswith("datasets.") or getattr(function, "__name__", "") not in ("identity_func", "_rename_columns_fn"):
            self._refuse(f"has a map of {function!r:.80}, of which nobody knows what it does, want none: transform= of spdl.DataLoader is its pictures', batch_size= makes batches, and in the loop it works on whole batches")
        back = {new: old for old, new in mapping.items()}
        self.names = {name: back.get(of, of) for name, of in self.names.items()}

    def _rows(self) -> None:
        """Which rows are left, the innermost take or skip first."""
        for one in reversed(self._taken):
            rows = self.only or range(huggingface.ENDLESS)
            self.only = rows[:one.n] if type(one).__name__.startswith("Take") else rows[one.n:]
        if self.only is not None and not self.only:
            self._refuse("has no samples")

    def _base(self, one: Any) -> None:
        if hasattr(one, "generate_examples_fn"):
            reader = type(getattr(one.generate_examples_fn, "__self__", None)).__name__
            self._refuse(f"reads by {reader if reader in _OTHERS else 'a program of its own'}, {_OTHERS.get(reader, 'want samples that your program brings: spdl.DataLoader(spec, source=dataset) (docs/sources.md#samples-that-your-program-brings)')}")
        function = one.generate_tables_fn
        if getattr(function, "__name__", "") == "_generate_tables_from_shards":
            if self.only is not None:
                self._refuse("takes or skips some of a data set's samples, want them of that: dataset.select(range(...)).to_iterable_dataset()")
            self.numbered = huggingface.joined(self._dataset, one.kwargs["shards"], self._place, self.names, _form(self._dataset) == "torch")
            return
        builder: Any = getattr(function, "__self__", None)
        reader = type(builder).__name__
        if reader not in _READERS:
            self._refuse(f"reads by {reader}, {_OTHERS.get(reader, 'want Parquet or Arrow')}")
        if getattr(builder.config, "filters", None) is not None or any(groups is not None for groups in one.kwargs.get("row_groups_list") or []):
            self._refuse("reads some of the rows of its files (filters, reshard), want all; over columns it is order: {filter: ...} of a description")
        self.files = [addresses.address(file, f"{self._place}, file {i}") for i, file in enumerate(one.kwargs["files"])]
