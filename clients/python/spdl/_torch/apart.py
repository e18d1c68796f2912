"""Several pictures in a sample: which of them draw alike, and which each for itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Optional

from .._errors import SpecError
from .given import Operation, refusal
from .own import is_map
from .picture import Picture
from .transforms import told

_STILL = ("resize", "center_crop", "pad", "normalize")  # without a draw
_PROBABLY = ("grayscale", "invert", "autocontrast", "equalize", "horizontal_flip", "vertical_flip")  # where they always happen


def own_draws(views: Sequence[Picture], place: str) -> list[bool]:
    """Of each picture whether it draws for itself. Those of several files that went through one transform together do not. Raises SpecError of what draws for some of its steps alone."""
    groups = {view.calls[shared] for i, view in enumerate(views) for other in views[:i] for shared in [_shared(view, other, place)] if shared is not None}
    if len(groups) > 1:
        view = next(view for view in views if groups & set(view.calls))
        raise refusal(place, view.transforms[-1], "is one of two transforms that pictures went through together, want one: all fields that do not draw for themselves draw alike")
    return [not groups & set(view.calls) for view in views]


def check_numbers(first: Sequence[Callable[[Any], Any]], transform: object, place: str) -> None:
    """Refuse what is done to a map of classes ahead of its transform, where that would be another thing behind it."""
    made: Any = sys.modules["numpy"].zeros((1, 2, 2), "uint8")
    for each in first:
        made = each(made)
    if getattr(made, "shape", ()) != (1, 2, 2) or made.any():
        raise refusal(place, transform, "has a mask whose numbers are changed ahead of it, so that 0, which it puts where no picture is, is another than 0 in the mask, want that behind it")


def _shared(view: Picture, other: Picture, place: str) -> Optional[int]:
    """Where the transform stands that draws for two of several files."""
    common = set(view.calls) & set(other.calls)
    alone = [(one, where) for where in (view, other) for one, call in zip(where.transforms, where.calls) if (call in common) == (view.file == other.file)]
    for one, where in alone if common else ():
        if not _is_still(one, place, where):
            if view.file == other.file:
                raise refusal(place, one, "is ahead of several pictures that are made of one, which all have what it draws, and then go through transforms of their own; want it in each of these, where it "
                                          "draws for each by itself: T.Compose([it, transform])")
            raise refusal(place, one, "is of one of two pictures that go through a transform together, and draws, want it in that, which leaves the other as it is")
    return None if view.file == other.file or not common else next(i for i, call in enumerate(view.calls) if call in common)


def _is_still(one: object, place: str, of: Picture) -> bool:
    try:
        operations = told(one, place, 1 if of.mode == "L" else 3, is_mask=is_map(of)).operations
    except SpecError:  # such as one that is told behind others alone
        return False
    return are_still(operations)


def are_still(operations: Sequence[Operation]) -> bool:
    """Whether they draw nothing."""
    return all(name in _STILL or name in _PROBABLY and (value.get("p") if isinstance(value, dict) else value) == 1 for operation in operations for name, value in operation.items())
