"""What code does to the numbers of a sound: to each of them, or by what is measured of all, its peak, its mean. The loop does it, by the same calls, with rows of a batch."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

_COMPARED: dict[str, Callable[[Any, Any], Any]] = {"==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}


@dataclass(frozen=True)
class Each:
    """What is done to a batch's rows. Two are alike that say the same."""

    said: Any
    of: Callable[[Any], Any] = field(compare=False)
    by_row: bool = False  # whether it goes by what is measured of a whole sound
    along: bool = False  # whether that is along an axis, by its number
    peak: bool = False  # whether it divides by the largest of these, without their signs

    def __call__(self, rows: Any) -> Any:
        return self.of(rows)


class Measured(NamedTuple):
    """A number of a sound, such as its peak."""

    of: Any  # the Sound, without what is done to its numbers
    said: Any
    told: Callable[[Any], Any]  # of a row of that
    peak: bool = False
    along: bool = False


def through(then: Sequence[Each], row: Any) -> Any:
    """What becomes of one row."""
    rows = row[None]
    for each in then:
        rows = each(rows)
    return rows[0]


def by_row(said: Any, of: Callable[[Any], Any], along: bool = False, peak: bool = False) -> Each:
    """What is done to each row by itself."""
    def rows_of(rows: Any) -> Any:
        made = [of(row) for row in rows]
        return sys.modules["torch"].stack(made) if hasattr(made[0], "new_zeros") else sys.modules["numpy"].stack(made)

    return Each(said, rows_of, True, along, peak)


def measured(base: Any, then: Sequence[Each], said: Any, of: Callable[[Any], Any], along: bool = False) -> Measured:
    """What is measured of a sound, to whose numbers this was done."""
    largest = said in (("max",), ("amax",)) and tuple([each.said for each in then]) == (("abs",),)
    return Measured(base, (said, tuple(then)), lambda row: of(through(then, row)), largest, along)


def changed(one: Any, said: Any, of: Callable[..., Any], *more: Any) -> Measured:
    """A number of one that was measured, or of several: one + 1e-8, max(one, 1e-8)."""
    several = [each for each in (one, *more) if isinstance(each, Measured)]
    tiny = len(several) == 1 and said in ("+", "max", "clamp", "item", "float") and all(isinstance(each, (Measured, float)) and (isinstance(each, Measured) or 0 < each <= 1e-6) for each in (one, *more))
    return Measured(several[0].of, (said, *[each.said if isinstance(each, Measured) else each for each in (one, *more)]),
                    lambda row: of(*[each.told(row) if isinstance(each, Measured) else each for each in (one, *more)]), bool(several[0].peak and tiny), any(each.along for each in several))


def put(then: Sequence[Each], said: Any, by: Callable[[Any, Any], Any], other: Measured) -> Each:
    """What is done to a sound's numbers by one that was measured: w / peak."""
    return by_row((said, tuple(then), other.said), lambda row: by(through(then, row), other.told(row)), other.along or any(each.along for each in then), other.peak and not then and said == "/")


def holds(fact_by: str, than: Any, of: Measured, row: Any) -> bool:
    return bool(_COMPARED[fact_by](of.told(row), than))


def either(of: Measured, fact_by: str, than: Any, yes: Sequence[Each], no: Sequence[Each]) -> Each:
    """One of two things, by a number that was measured: w / peak if peak > 0 else w."""
    peak = of.peak and not no and [each.peak for each in yes] == [True] and fact_by == ">" and than == 0
    return by_row((of.said, fact_by, than, tuple(yes), tuple(no)), lambda row: through(yes if holds(fact_by, than, of, row) else no, row), any(each.along for each in (*yes, *no)) or of.along, peak)


def of_either(of: Measured, fact_by: str, than: Any, yes: Any, no: Any) -> Measured:
    """One of two numbers."""
    def told(row: Any) -> Any:
        one = yes if holds(fact_by, than, of, row) else no
        return one.told(row) if isinstance(one, Measured) else one

    return Measured(of.of, (of.said, fact_by, than, *[one.said if isinstance(one, Measured) else one for one in (yes, no)]), told, False, of.along)
