"""Several pictures that are made of one: which of their draws are the same."""

from __future__ import annotations

from collections.abc import Sequence

from .._errors import SpecError
from .given import refusal
from .steps import Picture
from .transforms import told

_STILL = ("resize", "center_crop", "pad", "normalize", "grayscale", "invert", "autocontrast", "equalize", "horizontal_flip", "vertical_flip")  # without a draw, where they always happen
_ALWAYS = (1, 1.0)


def check(view: Picture, before: Sequence[Picture], place: str) -> None:
    """Refuse a picture that goes with another through transforms that draw, and then through some of its own: here each draws for itself, from its first transform on."""
    for other in before:
        shared = next((i for i, (a, b) in enumerate(zip(view.calls, other.calls)) if a != b), min(len(view.calls), len(other.calls)))
        for at, one in enumerate(view.transforms[:shared]):
            if not _is_still(one, place, 1 if view.mode == "L" else 3):
                raise refusal(place, one, f"is ahead of several pictures that are made of one, which all have what it draws, and then go through transforms of their own, at {at}; want it in "
                                          "each of these, where it draws for each by itself: T.Compose([it, transform])")


def _is_still(one: object, place: str, channels: int) -> bool:
    try:
        operations = told(one, place, channels).operations
    except SpecError:  # such as one that is told behind others alone
        return False
    return all(_never_drawn(name, value) for operation in operations for name, value in operation.items())


def _never_drawn(name: str, value: object) -> bool:
    if name not in _STILL:
        return False
    if name in ("resize", "center_crop", "pad", "normalize"):
        return True
    return (value.get("p") if isinstance(value, dict) else value) in _ALWAYS
