"""Data sets of one's own whose samples are rows and windows of arrays."""

from __future__ import annotations

import itertools
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, Optional, Union

from .._errors import ArgumentError
from . import datasets, held, indexing, laid, libraries, loaded, media
from .batchwise import Item, Load, Other, Program, bits, kind_of
from .kept import without_tensors
from .made import Made
from .numbered import Large, Number
from .texts import Known
from .transforms import Places

_PAGE = "docs/own-datasets.md#rows-and-windows"
_OTHERS = ("code that makes samples by itself, in Python, is torch's own DataLoader's to run in its worker processes, or a pipeline's (spdl.pipeline); samples in files, an .npy each, are read by a description "
           "(docs/arrays.md#samples-without-media), and what is encoded, or arrays of any kind, may be brought by spdl.DataLoader(spec, source=dataset) (docs/sources.md#samples-that-your-program-brings)")
WANT = f"want rows self.x[i] and windows self.x[a * i:a * i + n] of arrays, and what is done to each of their numbers alike ({_PAGE}); {_OTHERS}"
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_-]{0,43}")


class Rows:
    """Samples, by their numbers."""

    def __init__(self, dataset: Any, place: str, program: Program, tree: Any, seen: Sequence[indexing.Seen], chosen: Optional[Sequence[int]] = None) -> None:
        self.dataset, self.place, self.program, self.tree, self.seen = dataset, place, program, tree, seen
        self.chosen = chosen  # None: all
        self.written = [(one.name, one.source, version) for one in program.steps if isinstance(one, Load) and (version := _version(one.source)) is not None]  # how often each tensor was

    def __len__(self) -> int:
        return self.program.count if self.chosen is None else len(self.chosen)

    def part(self, chosen: Sequence[int]) -> Rows:
        numbers = [int(one) for one in chosen]
        wrong = next((one for one in numbers if not 0 <= one < len(self)), None)
        if wrong is not None:
            datasets.refuse(self.place, self.dataset, f"is asked for sample {wrong} by a sampler or a Subset, want numbers from 0 to {len(self) - 1}: what it makes of others its code says, which is not run")
        return Rows(self.dataset, self.place, self.program, self.tree, self.seen, numbers if self.chosen is None else [self.chosen[one] for one in numbers])


def read(dataset: Any, place: str = "dataset") -> Optional[Rows]:
    """What a data set is of; None: it is none of one's own without pictures, sounds and videos. Raises ArgumentError where it cannot be told."""
    if libraries.derives(dataset, "torch.utils.data", "Subset") and not _is_own(dataset):
        of = read(dataset.dataset, f"{place}.dataset")
        return None if of is None else of.part(dataset.indices)
    if libraries.derives(dataset, "torch.utils.data", "ConcatDataset") and not _is_own(dataset):
        parts = [read(one, f"{place}.datasets[{i}]") for i, one in enumerate(dataset.datasets)]
        if parts and parts[0] is not None:
            datasets.refuse(place, dataset, f"is of classes of one's own whose samples are rows of arrays, want one such data set, whose arrays are joined: numpy.concatenate, torch.cat; {_OTHERS}")
        return None
    if not _is_own(dataset) or media.opens(dataset):
        return None
    return _read(dataset, place)


def _version(tensor: Any) -> Optional[int]:
    """How often a tensor was written to, where torch counts it."""
    try:
        return int(tensor._version)
    except (AttributeError, RuntimeError):
        return None


def _is_own(dataset: Any) -> bool:
    """Whether samples are made by a __getitem__ of the program's own."""
    cls = next((cls for cls in type(dataset).__mro__ if "__getitem__" in vars(cls)), object)
    iterated = libraries.derives(dataset, "torch.utils.data", "IterableDataset")
    return datasets.is_dataset(dataset) and cls is not object and not iterated and not libraries.is_of(cls, "torch", "torchvision", "torchaudio", "timm", "datasets", "streaming", "litdata", "webdataset", "transformers")


def _read(dataset: Any, place: str) -> Rows:
    def refuse(what: str) -> NoReturn:
        datasets.refuse(place, dataset, f"is a class of its own, which reads by its __getitem__, in which nothing is a picture, a sound or a video: {what}")
    if any("__getitems__" in vars(cls) for cls in type(dataset).__mro__):
        refuse("it has a __getitems__, which makes batches by itself; want its __getitem__ alone")
    try:
        count = len(dataset)
    except TypeError:
        refuse("it has no __len__, want how many samples there are")
    if not count:
        return Rows(dataset, place, Program(count), None, [])
    try:
        program, tree, seen = _indexed(dataset, count)
    except indexing.Unread as error:
        refuse(f"{error}, {WANT}")
    tree = _checked(tree, program, refuse)
    of = Rows(dataset, place, program, tree, seen)
    _tried(of, refuse)
    return of


def _indexed(dataset: Any, count: int) -> tuple[Program, Any, list[indexing.Seen]]:
    """What its __getitem__ takes. One that opens its arrays when the first sample is asked for has been asked for it. Raises indexing.Unread."""
    program = Program(count)
    try:
        return program, *indexing.read(dataset, program)
    except indexing.Unread as error:
        if not error.stores:
            raise
        try:
            dataset[0]
        except Exception:
            raise error from None
    program = Program(count)
    return program, *indexing.read(dataset, program)


def _checked(tree: Any, program: Program, refuse: Callable[[str], NoReturn], at: str = "a sample") -> Any:
    """Items in tuples, lists and dicts. What else a sample has is refused."""
    if isinstance(tree, dict) and tree:
        return {key: _checked(one, program, refuse, f"{at}[{key!r}]") for key, one in tree.items()}
    if type(tree) in (tuple, list) and tree:
        return type(tree)([_checked(one, program, refuse, f"{at}[{i}]") for i, one in enumerate(tree)])
    if isinstance(tree, (Number, Known)):
        try:
            tree = loaded.number(program, tree) if isinstance(tree, Number) else loaded.constant(program, tree.value)
        except (Other, Large) as error:
            refuse(f"{at} is {'a number of its own' if isinstance(tree, Number) else ' '.join(repr(tree.value).split())[:60]}, {error}; {WANT}")
    if isinstance(tree, Item) and tree.kind != "list":
        if 0 in tree.shape:
            refuse(f"{at} is {list(tree.shape)} of {bits(tree.ones[0])[0]}, without an element, want one at least")
        return tree
    got = "a list of numbers, of which torch makes no tensor: torch.tensor(...)" if isinstance(tree, Item) else "empty"
    refuse(f"{at} is {got}; {WANT}")


def _tried(of: Rows, refuse: Callable[[str], NoReturn]) -> None:
    """Hold what is made of some samples against what the data set itself makes of them."""
    found = _tried_values(of)
    for row, number in enumerate(of.program.tried):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                sample = of.dataset[number]
        except Exception as error:
            refuse(f"{type(of.dataset).__qualname__}[{number}]: {type(error).__name__}: {error}")
        wrong = _difference(sample, formed(of.tree, lambda item: one_of(item, found[item.at], row)))
        if wrong:
            refuse(f"{type(of.dataset).__qualname__}[{number}]{wrong}, which its code does not say, {WANT}")


def _tried_values(of: Rows) -> dict[int, Any]:
    """What the steps make of the samples that are tried."""
    program = of.program
    return program.values({at: _tried_rows(program, load) for at, load in program.loads(leaves(of.tree)).items()}, leaves(of.tree))


def _tried_rows(program: Program, load: Load) -> Any:
    import numpy

    if isinstance(load.source, laid.Listed):
        values = load.source.values[numpy.asarray(program.tried)]
        return _tensor(values) if load.source.kind == "tensor" else values
    numbers = load.number.of(program.tried)
    rows = numbers if load.length is None else numbers[:, None] + numpy.arange(load.length)
    return load.source[sys.modules["torch"].from_numpy(rows) if kind_of(load.source) == "tensor" else rows]


def _difference(sample: Any, made: Any) -> str:
    """Where they are not of the same kinds and bits; "": they are."""
    if type(made) in (tuple, list, dict):
        if type(sample) is not type(made) or len(sample) != len(made) or isinstance(made, dict) and list(sample) != list(made):
            return f" is a {type(sample).__qualname__} of {len(sample) if hasattr(sample, '__len__') else 1}, and a {type(made).__qualname__} of {len(made)} is read"
        keys = list(made) if isinstance(made, dict) else range(len(made))
        return next((f"[{key!r}]{wrong}" for key in keys if (wrong := _difference(sample[key], made[key]))), "")
    if kind_of(sample) != kind_of(made) or not kind_of(made) or bits(sample) != bits(made) or kind_of(made) == "number" and type(sample) is not type(made):
        return f" is another {type(sample).__qualname__}"
    return ""


def leaves(tree: Any) -> list[int]:
    """The steps of its Items."""
    if isinstance(tree, Item):
        return [tree.at]
    return [at for one in (tree.values() if isinstance(tree, dict) else tree) for at in leaves(one)]


def formed(tree: Any, made: Callable[[Item], Any]) -> Any:
    if isinstance(tree, Item):
        return made(tree)
    return {key: formed(one, made) for key, one in tree.items()} if isinstance(tree, dict) else type(tree)([formed(one, made) for one in tree])


def one_of(item: Item, rows: Any, row: int) -> Any:
    """A sample's value, of those of a batch."""
    kind, one = item.kind, rows[row]
    if kind == "number":
        return one.item()
    return rows[row:row + 1].reshape(()) if kind == "array" and not item.shape else one


# ---- as a description


def made(of: Rows, collate: Optional[Callable[[list[Any]], Any]]) -> Made:
    """Arrays of the engine's, and what becomes of their fields: samples for a collate_fn or, where it is None, batches."""
    loads = of.program.loads(leaves(of.tree))
    said = laid.laid(loads, of.program.count, of.chosen, _named)
    if collate is None:
        _check_batch(of)
    kinds = {at: _kind(load) for at, load in loads.items()}
    return Made(len(of), said.source, {}, None, said.fields, Finish(of, said.cuts, kinds, collate), collate is not None, None, said.files, Places(), backwards=False)


def _check_batch(of: Rows) -> None:
    """Hold what is made of a batch against what torch's own collate makes of it."""
    torch = sys.modules["torch"]
    samples = [of.dataset[n] for n in of.program.tried]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want = torch.utils.data.default_collate(samples)
    except Exception as error:
        datasets.refuse(of.place, of.dataset, f"has samples of which torch's own collate makes no batch: {type(error).__name__}: {error}")
    found = _tried_values(of)
    got = formed(of.tree, lambda item: _tensor(found[item.at]))
    if _difference(_as_lists(want), _as_lists(got)):
        datasets.refuse(of.place, of.dataset, f"has samples of which torch's own collate makes other batches than are made here; {WANT}")


def _as_lists(made: Any) -> Any:
    if isinstance(made, Mapping):
        return {key: _as_lists(one) for key, one in made.items()}
    return [_as_lists(one) for one in made] if isinstance(made, (list, tuple)) else made


def _tensor(rows: Any) -> Any:
    return rows if kind_of(rows) == "tensor" else sys.modules["torch"].from_numpy(rows)


def _kind(load: Load) -> tuple[str, str]:
    """Whether its rows are arrays or tensors, and their type."""
    source = load.source
    if isinstance(source, laid.Listed):
        return source.kind, str(source.values.dtype)
    return kind_of(source), str(source.dtype).rpartition(".")[2]


def _named(names: Sequence[str]) -> list[str]:
    """Fields, by the names that code has for their arrays."""
    found: list[str] = []
    for name in names:
        words = [one for one in re.findall("[A-Za-z_][A-Za-z0-9_]*", name) if one != "self"]
        word = words[-1] if words and _NAME.fullmatch(words[-1]) and words[-1] not in held.TAKEN else "rows"
        found.append(next(one for one in itertools.chain([word], (f"{word}_{i}" for i in itertools.count(1))) if one not in found and one not in held.TAKEN))
    return found


class Finish(NamedTuple):
    """How a batch's fields become what torch's loop gets."""

    of: Rows
    cuts: Mapping[int, laid.Cut]
    kinds: Mapping[int, tuple[str, str]]  # of loads: what they are, and their types
    collate: Optional[Callable[[list[Any]], Any]]  # the program's, of a list of samples

    def __call__(self, picked: Sequence[Any]) -> Any:
        self._check_same()
        program, tree = self.of.program, self.of.tree
        tensors = hasattr(picked[0], "new_zeros")
        loaded = {at: self._loaded(at, picked[cut.field]) for at, cut in self.cuts.items()}
        made = program.values(loaded, leaves(tree))
        apart = _Apart()
        if self.collate is not None:
            alone: dict[int, list[Any]] = {}
            for at in leaves(tree):
                alone.setdefault(at, []).append(apart(made[at]))
            left = {at: iter(several) for at, several in alone.items()}
            both = formed(tree, lambda item: _Pair(item, next(left[item.at])))
            return self.collate([_formed_pairs(both, row) for row in range(len(picked[0]))])
        batch = _batch(tree, lambda item: apart(_tensor(_writable(made[item.at]))), top=True)
        return batch if tensors else without_tensors(batch)

    def _loaded(self, at: int, field: Any) -> Any:
        kind, name = self.kinds[at]
        rows = self.cuts[at](field)
        if name == "bool":
            rows = rows.astype("bool") if kind_of(rows) == "array" else rows.bool()
        if kind == "tensor":
            return _tensor(rows)
        return rows.numpy() if kind_of(rows) == "tensor" else rows

    def _check_same(self) -> None:
        """Refuse a data set that says something else by now."""
        of = self.of
        other = next((one for one in of.seen if not one.is_same()), None)
        if other is not None:
            raise ArgumentError(f"spdl: DataLoader: {of.place}: {type(of.dataset).__qualname__}: {other.name} is another than when the loader was made, which has read it then; make a loader of what the data set has now")
        written = next((name for name, tensor, version in of.written if _version(tensor) != version), None)
        if written is not None:
            raise ArgumentError(f"spdl: DataLoader: {of.place}: {type(of.dataset).__qualname__}: {written} was written to since the loader was made, which has copied it then; make a loader of what it has now")
        if len(of.dataset) != of.program.count:
            raise ArgumentError(f"spdl: DataLoader: {of.place}: {type(of.dataset).__qualname__} has {len(of.dataset)} samples, and had {of.program.count} when the loader was made; make a loader of what it has now")


class _Pair(NamedTuple):
    item: Item
    rows: Any


def _formed_pairs(both: Any, row: int) -> Any:
    if isinstance(both, _Pair):
        return one_of(both.item, both.rows, row)
    return {key: _formed_pairs(one, row) for key, one in both.items()} if isinstance(both, dict) else type(both)([_formed_pairs(one, row) for one in both])


def _batch(tree: Any, made: Callable[[Item], Any], top: bool = False) -> Any:
    """As torch's collate makes one: a list of a tuple, but for a sample's own."""
    if isinstance(tree, Item):
        return made(tree)
    if isinstance(tree, dict):
        return {key: _batch(one, made) for key, one in tree.items()}
    several = [_batch(one, made) for one in tree]
    return tuple(several) if top and isinstance(tree, tuple) else several


def _writable(rows: Any) -> Any:
    return rows if kind_of(rows) == "tensor" or rows.flags.writeable else rows.copy()


class _Apart:
    """Gives each value memory of its own, without gaps, as torch's collate does."""

    def __init__(self) -> None:
        self._seen: set[Union[int, Any]] = set()

    def __call__(self, rows: Any) -> Any:
        if kind_of(rows) == "tensor":
            if not rows.is_contiguous():
                rows = rows.contiguous()
            at = rows.untyped_storage().data_ptr() if hasattr(rows, "untyped_storage") else rows.storage().data_ptr()
            if at in self._seen:
                rows = rows.clone()
                return rows
        else:
            import numpy

            if not rows.flags.c_contiguous:
                rows = numpy.ascontiguousarray(rows)
            base = rows
            while isinstance(base.base, numpy.ndarray):
                base = base.base
            at = base.__array_interface__["data"][0]
            if at in self._seen:
                return rows.copy()
        self._seen.add(at)
        return rows
