"""What a source may be able to do."""

from __future__ import annotations

from typing import Iterable, Protocol, Sized, TypeVar, runtime_checkable

T_co = TypeVar("T_co", covariant=True)


@runtime_checkable
class IterableWithShuffle(Iterable[T_co], Protocol[T_co]):
    """An iterable whose order depends on a seed."""

    def shuffle(self, seed: int) -> None:
        """Take the order that belongs to seed, from the next iteration on."""
        ...


@runtime_checkable
class SizedIterable(Sized, Iterable[T_co], Protocol[T_co]):
    """An iterable that knows how many items it yields."""


@runtime_checkable
class SizedIterableWithShuffle(SizedIterable[T_co], Protocol[T_co]):
    """Both."""

    def shuffle(self, seed: int) -> None:
        """Take the order that belongs to seed, from the next iteration on."""
        ...
