"""A whole number that follows from a sample's: where its rows begin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Optional

_MOST = 1 << 27  # samples whose numbers are held, 8 bytes each
_LARGE = 1 << 62


class Large(ValueError):
    """Of too many samples, or of numbers beyond 64 bits."""


class Number:
    """Of each of so many samples a number: a factor times the sample's own and another, or one of a table."""

    def __init__(self, count: int, factor: int, first: int, table: Any = None) -> None:
        self.count, self.factor, self.first = count, factor, first
        self._table = table  # of NumPy's, int64; None: it is by the factor
        if table is None and max(abs(first), abs(first + factor * (count - 1))) >= _LARGE:
            raise Large("numbers beyond 64 bits")

    @property
    def is_even(self) -> bool:
        """Whether it is by a factor."""
        return self._table is None

    def of(self, samples: Any) -> Any:
        """Those of some samples, as an array."""
        import numpy

        at = numpy.asarray(samples, "int64")
        return at * self.factor + self.first if self._table is None else self._table[at]

    def all(self) -> Any:
        import numpy

        if self.count > _MOST:
            raise Large(f"numbers of {self.count} samples, want {_MOST} at most, or a number times the sample's own and another")
        return self.of(numpy.arange(self.count)) if self._table is None else self._table

    def ends(self) -> tuple[int, int]:
        """The least and the largest."""
        if self._table is None:
            both = self.first, self.first + self.factor * (self.count - 1)
            return min(both), max(both)
        return int(self._table.min()), int(self._table.max())

    def plus(self, other: int) -> Number:
        return Number(self.count, self.factor, self.first + other) if self._table is None else self._made(lambda table: table + other, other)

    def times(self, other: int) -> Number:
        return Number(self.count, self.factor * other, self.first * other) if self._table is None else self._made(lambda table: table * other, other)

    def through(self, function: Callable[[Any], Any]) -> Number:
        """What a function makes of the array of all."""
        return Number(self.count, 0, 0, function(self.all()))

    def _made(self, function: Callable[[Any], Any], other: int) -> Number:
        if max(map(abs, self.ends())) * max(1, abs(other)) + abs(other) >= _LARGE:
            raise Large("numbers beyond 64 bits")
        return self.through(function)

    def joined(self, other: Number, sign: int) -> Number:
        """The sum of both, or their difference."""
        if self._table is None and other._table is None:
            return Number(self.count, self.factor + sign * other.factor, self.first + sign * other.first)
        if max(*map(abs, self.ends()), *map(abs, other.ends())) >= _LARGE // 2:
            raise Large("numbers beyond 64 bits")
        return self.through(lambda table: table + sign * other.all())

    def ahead_of(self, other: Number) -> Optional[int]:
        """By how much another is larger, where that is the same for all samples; None: it is not."""
        if self._table is None and other._table is None:
            return other.first - self.first if self.factor == other.factor or self.count == 1 else None
        by = other.all() - self.all()
        return int(by[0]) if (by == by[0]).all() else None
