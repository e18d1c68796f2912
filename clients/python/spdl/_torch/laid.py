"""Rows and windows of samples as arrays of the engine's: read where they lie in their files, or copied once into memory."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Optional

from . import beside, held, lies
from .batchwise import Load, kind_of
from .loaded import Listed

ONLY = "only.npy"
_FAR = 64  # rows at most that are read ahead of a window, beside four times its own
_WIDE = 4  # times what is taken, at most, that is read for several windows of one array


class Group:
    """What is taken of one array, by one number or such as are as far ahead of it in all samples."""

    def __init__(self, load: Load) -> None:
        self.source, self.number, self.name = load.source, load.number, load.name
        self.least, self.most = 0, load.length or 1  # rows from the number on
        self.taken = self.most
        self.single = load.length is None  # whether it is rows without their axis
        self.first = 0  # rows ahead of these that are read as well
        self.field = ""

    def takes(self, load: Load) -> bool:
        """Whether this is of the same rows or of such as lie near, which are read with them then."""
        if load.source is not self.source or isinstance(load.source, Listed):
            return False
        by = self.number.ahead_of(load.number)
        if by is None:
            return False
        least, most, taken = min(self.least, by), max(self.most, by + (load.length or 1)), self.taken + (load.length or 1)
        if most - least > _WIDE * taken + _FAR:
            return False
        self.single = self.single and most - least == 1 and load.length is None
        self.least, self.most, self.taken = least, most, taken
        return True

    @property
    def span(self) -> int:
        return self.most - self.least

    @property
    def array(self) -> Any:
        """Its memory, as NumPy has it."""
        return self.source.values if isinstance(self.source, Listed) else held.numpys(self.source)

    @property
    def type(self) -> str:
        return str(self.source.values.dtype if isinstance(self.source, Listed) else self.source.dtype).rpartition(".")[2]


class Cut(NamedTuple):
    """Where in a field a load's rows are."""

    field: int
    first: int
    length: Optional[int]
    whole: bool  # whether the field is rows without an axis of them

    def __call__(self, rows: Any) -> Any:
        if self.whole:
            return rows if self.length is None else rows[:, None]
        return rows[:, self.first] if self.length is None else rows[:, self.first:self.first + self.length]


class Laid(NamedTuple):
    """The engine's arrays."""

    source: dict[str, Any]
    files: beside.Files
    fields: list[str]
    cuts: dict[int, Cut]  # of loads, by their steps


def laid(loads: Mapping[int, Load], count: int, chosen: Optional[Sequence[int]], names: Callable[[Sequence[str]], list[str]]) -> Laid:
    """Of these steps, of so many samples of which some are chosen, in their order; None: all."""
    import numpy

    groups: list[Group] = []
    owner: dict[int, Group] = {}
    for at, load in loads.items():
        owner[at] = next((one for one in groups if one.takes(load)), None) or Group(load)
        if owner[at] not in groups:
            groups.append(owner[at])
    for group, name in zip(groups, names([one.name for one in groups])):
        group.field = name
    some = None if chosen is None else numpy.asarray(chosen, "int64")
    files: beside.Files = {}
    source = _where_they_lie(groups, count, some, files)
    if source is None:
        source = {"arrays": [_written(group, files, count if some is None else len(some), _gathering(group, some)) for group in groups]}
    cuts = {at: Cut(groups.index(one), by - one.least + one.first, loads[at].length, one.single) for at, one in owner.items() if (by := one.number.ahead_of(loads[at].number)) is not None}
    return Laid(source, files, [one.field for one in groups], cuts)


def _where_they_lie(groups: Sequence[Group], count: int, chosen: Any, files: beside.Files) -> Optional[dict[str, Any]]:
    """Arrays in files, and windows of those in memory; None: all rows are copied, sample by sample."""
    known = {group: None if isinstance(group.source, Listed) or kind_of(group.source) == "tensor" else lies.of(group.source) for group in groups}
    if all(one is None for one in known.values()) and all(group.span == 1 for group in groups):
        return None
    even = [group for group in groups if group.number.is_even and group.number.factor > 0]
    if any(known[group] is not None or group.span > 1 for group in even):
        ahead = _begin(even, {group: group.number.factor for group in even}, {group: group.number.first for group in even}, known)
        arrays = [_array(group, files, known[group], group.number.factor, ahead + count, ahead, group.number.first) if group in even else
                  _written(group, files, ahead + count, _gathering(group, None, ahead)) for group in groups]
        if chosen is None:
            return {"arrays": arrays, **({"only": f"{ahead}:{ahead + count}"} if ahead else {})}
        return {"arrays": arrays, "only": _only(files, chosen + ahead)}
    return _by_table(groups, chosen, files, known)


def _by_table(groups: Sequence[Group], chosen: Any, files: beside.Files, known: dict[Group, Optional[lies.Lies]]) -> Optional[dict[str, Any]]:
    """Windows that begin anywhere, in the same places of all arrays, which all lie in files, or none of them; None: they are others."""
    first = groups[0].number
    by = [first.ahead_of(group.number) for group in groups]
    filed = {known[group] is not None for group in groups}
    if len(filed) > 1 or any(one is None for one in by) or any(isinstance(group.source, Listed) for group in groups):
        return None
    least, most = first.ends()
    wanted = first.all() if chosen is None else first.of(chosen)
    begins = {group: one for group, one in zip(groups, by) if one is not None}
    if filed == {False}:
        arrays = [_array(group, files, None, 1, most - least + 1, 0, least + begins[group]) for group in groups]
        return {"arrays": arrays, "only": _only(files, wanted - least)}
    ahead = _begin(groups, dict.fromkeys(groups, 1), begins, known)
    if any(one is None for one in known.values()):
        return None
    return {"arrays": [_array(group, files, known[group], 1, ahead + most + 1, ahead, 0) for group in groups], "only": _only(files, wanted + ahead)}


def _only(files: beside.Files, numbers: Any) -> str:
    files[ONLY] = beside.npy(array("q", numbers.astype("int64").tobytes()))
    return ONLY


def _begin(groups: Sequence[Group], steps: Mapping[Group, int], begins: Mapping[Group, int], known: dict[Group, Optional[lies.Lies]]) -> int:
    """How many samples there are in files ahead of the first one. A file whose rows begin too far behind these is none of those that are read."""
    rows = {group: where.first + begins[group] + group.least for group in groups if (where := known[group]) is not None}
    ahead = min((row // steps[group] for group, row in rows.items()), default=0)
    for group, row in rows.items():
        group.first = row - ahead * steps[group]
        if group.first > _WIDE * group.span + _FAR:
            group.first, known[group] = 0, None
    return ahead


def _array(group: Group, files: beside.Files, where: Optional[lies.Lies], step: int, samples: int, ahead: int, begin: int) -> dict[str, Any]:
    """Of so many samples, of which some are ahead of the first one, whose row in memory is `begin`."""
    span = group.span + group.first
    window = {} if group.single and span == 1 else {"window": span}
    group.single = not window
    if where is not None:
        shape = list(group.array.shape[1:])
        headless = {"dtype": where.dtype, **({"shape": shape} if shape else {})} if where.dtype else {}
        return {"name": group.field, "file": where.path, **headless, **window, "step": step, "within": where.rows - (samples - 1) * step}
    at, lead = begin + group.least, ahead * step
    written = _written(group, files, (samples - 1) * step + span, lambda a, b: _stretch(group, a, b, at - lead, lead), of_rows=True)
    return {**written, **window, "step": step}


def _gathering(group: Group, chosen: Any, ahead: int = 0) -> Callable[[int, int], Any]:
    """What takes the rows of some samples, of all or of those that are chosen, behind so many that are nobody's."""
    import numpy

    def taken(first: int, last: int) -> Any:
        real = numpy.arange(max(first - ahead, 0), max(last - ahead, 0)) if chosen is None else chosen[first:last]
        rows = _gathered(group, real)
        return rows if len(real) == last - first else numpy.concatenate([numpy.zeros((last - first - len(real), *rows.shape[1:]), rows.dtype), rows])
    return taken


def _gathered(group: Group, real: Any) -> Any:
    """What some samples take, one behind the other."""
    import numpy

    if isinstance(group.source, Listed):
        return group.source.values[real]
    at = group.number.of(real) + group.least
    return group.array[at] if group.single else group.array[at[:, None] + numpy.arange(group.span)]


def _stretch(group: Group, first: int, last: int, begin: int, lead: int) -> Any:
    """Rows of an array, of which the first ones are nobody's."""
    import numpy

    rows = group.array[max(first, lead) + begin:last + begin] if last > lead else group.array[:0]
    return rows if first >= lead else numpy.concatenate([numpy.zeros((min(last, lead) - first, *rows.shape[1:]), rows.dtype), rows])


def _written(group: Group, files: beside.Files, count: int, rows: Callable[[int, int], Any], of_rows: bool = False) -> dict[str, Any]:
    """An array in memory: of what samples take, or of rows as they lie."""
    shape = group.array.shape[1:] if of_rows or group.single else (group.span, *group.array.shape[1:])
    return held.written(files, group.field, group.type, shape, count, rows)
