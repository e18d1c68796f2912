"""Samples of a data set of one's own: the engine has their pictures, this program what its code hands out beside these, and a loop gets both together."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Optional

from .._errors import ArgumentError
from .._lock import Lock
from .targets import of_torchvision, together


@dataclass(frozen=True)
class View:
    """A picture in a sample, by its number among those that it has."""

    number: int


@dataclass(frozen=True)
class Value:
    """What a sample has beside its pictures, by its number."""

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


class Samples(NamedTuple):
    """How a batch's fields become what torch's loop gets."""

    tree: Any  # Views, Values and LABEL in tuples, lists and dicts
    kept: Kept
    collate: Optional[Callable[[list[Any]], Any]]  # the program's, of a list of samples; None: torch's own
    images: Sequence[bool]  # of each picture whether it is torchvision's own kind of tensor at the end

    def __call__(self, picked: Sequence[Any]) -> Any:
        *views, numbers = picked
        rows = self.kept.taken(numbers.tolist()) if has_values(self.tree) else [()] * len(numbers)
        if self.collate is None:
            return self._batch(self.tree, views, numbers, rows, tuple)
        labels = numbers.tolist()
        return self.collate([self._sample(self.tree, [view[i] for view in views], labels[i], row) for i, row in enumerate(rows)])

    def _sample(self, one: Any, views: Sequence[Any], label: int, row: Sequence[Any]) -> Any:
        if isinstance(one, View):
            view = views[one.number]
            return of_torchvision("Image", view) if self.images[one.number] else view
        if isinstance(one, Value):
            return row[one.number]
        if isinstance(one, dict):
            return {key: self._sample(each, views, label, row) for key, each in one.items()}
        return label if one is LABEL else type(one)([self._sample(each, views, label, row) for each in one])

    def _batch(self, one: Any, views: Sequence[Any], labels: Any, rows: Sequence[Sequence[Any]], of: Callable[[list[Any]], Any]) -> Any:
        """As torch's collate makes one: of texts a tuple or a list, as those that they are taken of."""
        if isinstance(one, View):
            return together(views[one.number])
        if isinstance(one, Value):
            return self._collated(of([row[one.number] for row in rows]), hasattr(views[0], "new_zeros"))
        if isinstance(one, dict):
            return {key: self._batch(each, views, labels, rows, list) for key, each in one.items()}
        if one is LABEL:
            return labels
        made = [self._batch(each, views, labels, rows, tuple) for each in one]
        return tuple(made) if one is self.tree and isinstance(one, tuple) else made

    def _collated(self, values: Any, tensors: bool) -> Any:
        torch = sys.modules["torch"]  # whose data set this is
        try:
            made = torch.utils.data.default_collate(values)
        except (TypeError, RuntimeError) as error:
            raise ArgumentError(f"spdl: DataLoader: dataset: has samples of {', '.join(f'{one!r:.60}' for one in values[:2])} beside pictures, of which torch's own collate makes no batch, "
                                f"want a collate_fn, which gets a list of samples: {error}") from None
        return made if tensors else _arrays(made)


def has_values(one: Any) -> bool:
    """Whether there is a Value in it."""
    if isinstance(one, (View, Value)) or one is LABEL:
        return isinstance(one, Value)
    return any(map(has_values, one.values() if isinstance(one, dict) else one))


def _arrays(made: Any) -> Any:
    """A batch of torch's, with arrays in the place of tensors."""
    if isinstance(made, dict):
        return {key: _arrays(one) for key, one in made.items()}
    if isinstance(made, (list, tuple)):
        return type(made)([_arrays(one) for one in made])
    return made.numpy() if hasattr(made, "numpy") else made
