"""Hugging Face's data sets that are streamed: which files they read, what was done to their columns and rows, and in what order they come."""

from __future__ import annotations

import copy
import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, Optional

from .. import _torchrun
from . import addresses, datasets, examples, huggingface
from .annotated import Unknown
from .called import Called
from .features import Leaf
from .huggingface import Located
from .made import TEXT, WINDOW

_THROUGH = ("RebatchedArrowExamplesIterable", "FormattedExamplesIterable", "SelectColumnsIterable", "InterleavedShardsExamplesIterable", "ShuffledDataSourcesExamplesIterable",
            "ShuffledDataSourcesArrowExamplesIterable", "StepExamplesIterable")  # what changes no sample, or what the engine does in its own way
_REMEDIES = {
    "VerticallyConcatenatedMultiSourcesExamplesIterable": "want one list of files: load_dataset(..., data_files=[...])",
    "RandomlyCyclingMultiSourcesExamplesIterable": "several data sets with probabilities are source: {mix: [...]} of a description (docs/sources.md#several-data-sets)",
    "CyclingMultiSourcesExamplesIterable": "several data sets are source: {mix: [...]} of a description (docs/sources.md#several-data-sets)",
    "RepeatExamplesIterable": "want no repeat: each loop is an epoch",
    "_batch_fn": "want no batch: batch_size= of spdl.DataLoader",
    "add_column_fn": "want none: the column is written into the files, or load_dataset without streaming=True",
}
_FILTER = "FilteredExamplesIterable"
_REMEDY = "want load_dataset(..., streaming=True) with map, select_columns, rename_column, shuffle, take and skip alone"
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
    filter: str = ""  # as order.filter has it


class Files:
    """Rows of files, of which nobody knows how many there are, as huggingface.Samples."""

    number: Optional[int] = None  # of samples
    files_are_parquet = False

    def __init__(self, dataset: Any, place: str, files: list[str], names: dict[str, str], only: Optional[range], columns: Mapping[str, Any]) -> None:
        self.dataset, self.place = dataset, place
        self._files, self._names, self._only = files, names, only
        self.features, self.torch = columns, _form(dataset) == "torch"
        self.calls: dict[str, Called] = {}  # functions of columns that the loop calls
        self.transforms: dict[str, Any] = {}  # of pictures, which the data set says itself
        self.asked: dict[str, tuple[str, Any]] = {}  # columns that a filter asks, by their names in it, as the files call them, and their features

    @property
    def columns(self) -> list[str]:
        return list(self.features)

    def refuse(self, what: str) -> NoReturn:
        datasets.refuse(self.place, self.dataset, what)

    def nulls(self, leaf: Leaf) -> int:
        """How many rows have no text, as far as the files say that: Parquet's do."""
        if not self.files_are_parquet or any("://" in file for file in self._files):
            return 0
        import pyarrow.parquet  # which the library has loaded

        found = 0
        for file in self._files:
            about = pyarrow.parquet.read_metadata(file)
            at = [i for i in range(about.num_columns) if about.schema.column(i).path == ".".join((self._names[leaf.column], *leaf.path[1:]))]
            chunks = [about.row_group(group).column(i).statistics for group in range(about.num_row_groups) for i in at]
            found += sum(one.null_count or 0 for one in chunks if one is not None)
        return found

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
    of = walk.numbered if walk.numbered is not None else Files(dataset, place, walk.files, walk.names, walk.only, walk.features)
    if isinstance(of, Files):
        of.files_are_parquet = walk.reader == "Parquet"
    if walk.columns is not None:
        of.calls, of.transforms = {name: call._replace(functions=[*call.functions, *([_tensors()] if form == "torch" else [])]) for name, call in walk.columns.calls.items()}, walk.columns.transforms
        of.asked = {name: (walk.names[name], walk.base[column]) for name, column in walk.columns.asked.items()}
        order = order._replace(filter=walk.columns.filter)
    return of, order


def _tensors() -> Callable[[Any], Any]:
    """What with_format("torch") makes of a value."""
    return sys.modules["datasets"].formatting.get_formatter("torch").recursive_tensorize


def _is_theirs(one: Any) -> bool:
    """Whether a map is by a function of the library's own, which names columns anew or leaves some out."""
    function = one.function.func if isinstance(one.function, functools.partial) else one.function
    return (getattr(function, "__module__", None) or "").startswith("datasets.") and getattr(function, "__name__", "") in ("identity_func", "_rename_columns_fn")


def _renamed(one: Any) -> dict[str, str]:
    """The new names of columns, by the old ones."""
    return dict(one.function.keywords["column_mapping"]) if isinstance(one.function, functools.partial) else {}


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
        self.reader = ""  # of these
        self.only: Optional[range] = None
        self.numbered: Any = None  # of a data set that was on a disk
        self.features: Any = dataset.features
        self.names = {name: name for name in dataset.features or ()}  # of what is in hand, by the data set's
        self.columns: Optional[examples.Columns] = None  # behind functions of its own
        self.base: Any = None  # features in front of these
        self._taken: list[Any] = []  # what takes a part of the rows, the outermost first

    def _refuse(self, what: str) -> NoReturn:
        datasets.refuse(self._place, self._dataset, what)

    def read(self) -> None:
        one, stages = self._dataset._ex_iterable, []
        while type(one).__name__ not in ("ArrowExamplesIterable", "ExamplesIterable"):
            stages.append(one)
            one = getattr(one, "ex_iterable", None) or self._check(one)
        last = max([at for at, each in enumerate(stages) if type(each).__name__ == "MappedExamplesIterable" and not _is_theirs(each) or type(each).__name__ == _FILTER], default=-1)
        filters = [at for at, each in enumerate(stages) if type(each).__name__ == _FILTER]
        if filters and any(type(each).__name__ in ("TakeExamplesIterable", "SkipExamplesIterable") for each in stages[:filters[-1]]):
            self._refuse("takes or skips some of the samples that a filter has left, want take and skip in front of it")
        if last >= 0:
            self._examples(stages[:last + 1], stages[last + 1:])
        for at, stage in enumerate(stages):
            if at > last or type(stage).__name__ not in ("MappedExamplesIterable", _FILTER):
                self._stage(stage)
        self._rows()
        if self.features is None and not hasattr(one, "generate_examples_fn"):
            self._refuse("has no features, so nobody says what its columns are, want load_dataset(..., features=Features({...}))")
        self._base(one)

    def _check(self, one: Any) -> NoReturn:
        name = type(one).__name__
        self._refuse(f"has a {name} in it, which has no equal here; {_REMEDIES.get(name, _REMEDY)}")

    def _stage(self, one: Any) -> None:
        name = type(one).__name__
        if name == "MappedExamplesIterable":
            self._mapped(one)
        elif name == "BufferShuffledExamplesIterable":
            self.shuffled, self.seed = True, int(copy.deepcopy(one.generator).integers(1 << 63))
            if self._taken:
                self._refuse("takes or skips some of the samples behind a shuffle, which are those of its own numbers, want take and skip in front of it")
        elif name in ("TakeExamplesIterable", "SkipExamplesIterable"):
            self._taken.append(one)
        elif name not in _THROUGH:
            self._check(one)

    def _examples(self, stages: list[Any], inner: list[Any]) -> None:
        """Goes through maps by functions of its own, the innermost first, and what changes columns between them and the loop."""
        self.base = self.features = next((each._features for each in inner[:1] if type(each).__name__ == "FormattedExamplesIterable"), None)
        if self.features is None:
            self._refuse("has a map or a filter, and no features in front of it, so nobody says what its columns are, want load_dataset(..., features=Features({...}))")
        of = examples.Examples(self.features)
        for one in reversed(stages):
            name = type(one).__name__
            if name == "SelectColumnsIterable":
                of.select(one.column_names)
            elif name == "MappedExamplesIterable" and _is_theirs(one):
                of.rename(_renamed(one))
                of.remove(one.remove_columns)
            elif name in ("MappedExamplesIterable", _FILTER):
                self._of_own(of, one, name == _FILTER)
        try:
            self.columns = of.columns()
        except Unknown as error:
            self._refuse(f"has a map, which {error}{self._of_sounds()}")
        self.features, self.names = self.columns.features, {**self.columns.names, **self.columns.asked}

    def _of_own(self, of: examples.Examples, one: Any, filters: bool) -> None:
        what, function = ("filter", one.mask_function) if filters else ("map", one.function)
        own = function.func if isinstance(function, functools.partial) else function
        if getattr(own, "__module__", "") == "datasets.iterable_dataset":
            self._refuse(f"has a {what} of the library's own {own.__name__}, {_REMEDIES.get(own.__name__, _REMEDY)}")
        if getattr(one, "formatting", None) is not None:
            self._refuse(f"has a {what} of {function!r:.80} behind with_format, whose function gets tensors, want with_format behind it, or none: torch's own collate makes tensors of numbers")
        for name, usual, want in (("with_indices", False, "want none: examples have no numbers here"), ("drop_last_batch", False, "want none: drop_last= of spdl.DataLoader"), ("_features", None, "want none: features=None")):
            if getattr(one, name, usual) != usual and not (filters and name == "_features"):
                self._refuse(f"has a {what} of {function!r:.80} with {name.lstrip('_')}, {want}")
        if filters and one.batched:
            self._refuse(f"has a filter of {function!r:.80} with batched, want it of one example: lambda example: example[\"label\"] == 1")
        alone = [one.input_columns] if isinstance(one.input_columns, str) else one.input_columns
        try:
            if filters:
                of.filter(function, one.fn_kwargs, alone)
            else:
                (of.map_batches if one.batched else of.map)(function, one.fn_kwargs, one.remove_columns, alone)
        except Unknown as error:
            self._refuse(f"has a {what} of {function!r:.80}, {error}{self._of_sounds()}")

    def _of_sounds(self) -> str:
        sound = next((name for name, one in self.base.items() if type(one).__name__ == "Audio"), "")
        return f"; of sounds none, and transform={{{sound!r}: {{\"length\": \"10s\", \"shape\": \"padded\"}}}}, the section of a description (docs/audio.md)" if sound else ""

    def _mapped(self, one: Any) -> None:
        back = {new: old for old, new in _renamed(one).items()}
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
            if self.columns is not None and self.columns.filter:
                self._refuse("has a filter, want it of the data set that it is made of: dataset.filter(...).to_iterable_dataset()")
            self.numbered = huggingface.joined(self._dataset, one.kwargs["shards"], self._place, self.names, _form(self._dataset) == "torch", self.features)
            if self.only is not None:
                self.numbered = self.numbered.part(range(len(self.numbered))[self.only.start:self.only.stop])
            return
        builder: Any = getattr(function, "__self__", None)
        reader = type(builder).__name__
        if reader not in _READERS:
            self._refuse(f"reads by {reader}, {_OTHERS.get(reader, 'want Parquet or Arrow')}")
        if getattr(builder.config, "filters", None) is not None or any(groups is not None for groups in one.kwargs.get("row_groups_list") or []):
            self._refuse("reads some of the rows of its files (filters, reshard), want all; over columns it is order: {filter: ...} of a description")
        self.reader = reader
        self.files = [addresses.address(file, f"{self._place}, file {i}") for i, file in enumerate(one.kwargs["files"])]
