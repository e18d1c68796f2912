"""Samples of a data set of one's own: the engine has their pictures, this program what its code hands out beside these, and a loop gets both together."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Optional, Union

from .._errors import ArgumentError
from .._lock import Lock
from .targets import of_torchvision, together


@dataclass(frozen=True)
class View:
    """A picture in a sample, by its number among those that it has."""

    number: int


@dataclass(frozen=True)
class Stacked:
    """Several pictures of a sample in one tensor."""

    views: tuple[View, ...]


@dataclass(frozen=True)
class Value:
    """What a sample has beside its pictures, by its number."""

    number: int


@dataclass(frozen=True)
class Keys:
    """A dict that code makes, with pictures that are put into it, by its number among what a sample has beside its pictures."""

    number: int
    put: Mapping[str, Any]  # the places of pictures, by their keys


@dataclass(frozen=True)
class More:
    """What code adds to a tuple that has pictures, by its number among what a sample has beside these."""

    number: int


LABEL = "label"  # in the place of a value: a whole number, which goes with the picture
PLAIN = (View(0), LABEL)  # as torchvision's data sets have samples


class Kept:
    """What samples have beside their pictures, from when the engine has asked for them until the loop has them."""

    def __init__(self) -> None:
        self.ahead = 1 << 20  # samples that may be asked for before the loop has one
        self._held: dict[int, Sequence[Any]] = {}
        self._numbers = itertools.count()
        self._lock = Lock()

    def keep(self, values: Sequence[Any]) -> int:
        """The number by which they are taken."""
        with self._lock:
            number = next(self._numbers)
            self._held[number] = values
        return number

    def taken(self, numbers: Sequence[int]) -> list[Sequence[Any]]:
        """Those of a batch, once. What a loop has left by a break is let go of then."""
        with self._lock:
            taken = [self._held.pop(number) for number in numbers]
            while self._held and (oldest := next(iter(self._held))) < min(numbers) - self.ahead:
                del self._held[oldest]
        return taken


class Listed:
    """What samples have beside their pictures, of a data set whose samples all are known."""

    ahead = 0

    def __init__(self, values: Sequence[Sequence[Any]]) -> None:
        self._values = values

    def taken(self, numbers: Sequence[int]) -> list[Sequence[Any]]:
        """Those of a batch, by their places in the data set."""
        return [self._values[number] for number in numbers]


class Row(NamedTuple):
    """What becomes of a picture's row."""

    kind: str = ""  # of torchvision's own kinds of tensors the one that it is at the end; "": none
    is_map: bool = False  # of class numbers, [H, W]
    array: bool = False  # whether it is an array of NumPy's where `then` begins
    first: Sequence[Callable[[Any], Any]] = ()  # what is done to it as an array
    then: Sequence[Callable[[Any], Any]] = ()

    def __call__(self, rows: Any) -> Any:
        """Of a batch's rows."""
        if isinstance(rows, list):
            return [self(one[None])[0] for one in rows]
        if self.is_map:
            rows = rows[..., 0]
        if self.first or self.then or self.array:
            rows = rows.numpy() if hasattr(rows, "numpy") else rows
            for each in self.first:
                rows = each(rows)
            if not self.array:
                rows = sys.modules["torch"].from_numpy(rows)
            for each in self.then:
                rows = each(rows)
        return rows


class Samples(NamedTuple):
    """How a batch's fields become what torch's loop gets."""

    tree: Any  # Views, Values and LABEL in tuples, lists and dicts
    kept: Union[Kept, Listed]
    collate: Optional[Callable[[list[Any]], Any]]  # the program's, of a list of samples; None: torch's own
    rows: Sequence[Any]  # a Row of each picture, or of a sound
    lengths: Sequence[int] = ()  # the views whose rows' lengths are asked for

    def __call__(self, picked: Sequence[Any]) -> Any:
        views, numbers = picked[:len(self.rows)], picked[len(self.rows)]
        asked = {number: lengths.tolist() for number, lengths in zip(self.lengths, picked[len(self.rows) + 1:])}
        for number, lengths in asked.items():
            self._check_lengths(number, self.rows[number].ends(lengths) if self.collate is None else [])
        tensors = hasattr(views[0][0], "new_zeros")
        views = [row(view, asked[i]) if i in asked else row(view) for i, (row, view) in enumerate(zip(self.rows, views))]
        values = self.kept.taken(numbers.tolist()) if has_values(self.tree) else [()] * len(numbers)
        if self.collate is None:
            made = self._batch(self.tree, views, numbers, values, tuple)
            return made if tensors else without_tensors(made)
        labels = numbers.tolist()
        return self.collate([self._sample(self.tree, [view[i] for view in views], labels[i], row) for i, row in enumerate(values)])

    def _check_lengths(self, number: int, lengths: list[int]) -> None:
        if len(set(lengths)) > 1:
            one, other = sorted(set(lengths))[:2]
            what = "steps" if self.rows[number].engines.endswith("T") else "samples"
            raise ArgumentError(f"spdl: DataLoader: dataset: has sounds of {one} and {other} {what} in a batch, of which torch's own collate makes none, want one length, by a crop and zeros behind, waveform[:, :n] and "
                                "F.pad(waveform, (0, n - waveform.shape[1])), or a collate_fn, which gets a list of samples")

    def _sample(self, one: Any, views: Sequence[Any], label: int, row: Sequence[Any]) -> Any:
        if isinstance(one, View):
            view = views[one.number]
            kind = self.rows[one.number].kind
            return of_torchvision(kind, view) if kind else view
        if isinstance(one, Stacked):
            return sys.modules["torch"].stack([self._sample(each, views, label, row) for each in one.views])
        if isinstance(one, Value):
            return row[one.number]
        if isinstance(one, dict):
            return {key: self._sample(each, views, label, row) for key, each in one.items()}
        return label if one is LABEL else type(one)([self._sample(each, views, label, row) for each in one])

    def _batch(self, one: Any, views: Sequence[Any], labels: Any, rows: Sequence[Sequence[Any]], of: Callable[[list[Any]], Any]) -> Any:
        """As torch's collate makes one: of texts a tuple or a list, as those that they are taken of."""
        if isinstance(one, View):
            made = together(views[one.number])
            return made if hasattr(made, "new_zeros") or "torch" not in sys.modules else sys.modules["torch"].as_tensor(made)
        if isinstance(one, Stacked):
            return sys.modules["torch"].stack([self._batch(each, views, labels, rows, list) for each in one.views], 1)
        if isinstance(one, Value):
            return collated(of([row[one.number] for row in rows]))
        if isinstance(one, dict):
            return {key: self._batch(each, views, labels, rows, list) for key, each in one.items()}
        if one is LABEL:
            return labels
        made = [self._batch(each, views, labels, rows, tuple) for each in one]
        return tuple(made) if one is self.tree and isinstance(one, tuple) else made


def collated(values: Any) -> Any:
    torch = sys.modules["torch"]  # whose data set this is
    try:
        return torch.utils.data.default_collate(values)
    except (TypeError, RuntimeError) as error:
        raise ArgumentError(f"spdl: DataLoader: dataset: has samples of {', '.join(f'{one!r:.60}' for one in values[:2])} beside pictures, of which torch's own collate makes no batch, "
                            f"want a collate_fn, which gets a list of samples: {error}") from None


def has_values(one: Any) -> bool:
    """Whether there is a Value in it."""
    if isinstance(one, (View, Stacked, Value)) or one is LABEL:
        return isinstance(one, Value)
    return any(map(has_values, one.values() if isinstance(one, dict) else one))


def without_tensors(made: Any) -> Any:
    """A batch of torch's, with arrays in the place of tensors."""
    if isinstance(made, dict):
        return {key: without_tensors(one) for key, one in made.items()}
    if isinstance(made, (list, tuple)):
        return type(made)([without_tensors(one) for one in made])
    return made.numpy() if hasattr(made, "numpy") else made
