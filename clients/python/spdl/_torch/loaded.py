"""Rows and windows of arrays and lists that a __getitem__ takes by numbers of its samples."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Optional

from . import held
from .batchwise import Item, Load, Other, Program, kind_of
from .numbered import Number

_LONGEST = 1 << 22  # numbers in a row of a list


def constant(program: Program, value: Any) -> Item:
    """A value that all samples have. Raises Other."""
    import numpy

    if kind_of(value) not in ("number", "scalar", "array", "tensor") or program.first is None:
        raise Other("which comes of no array of the data set's")
    if is_array(value) or kind_of(value) == "number":
        held.checked(value, _refuse_constant)

    def many(rows: Any) -> Any:
        if kind_of(value) == "tensor":
            return value[None].repeat(len(rows), *[1] * len(value.shape))
        return numpy.stack([numpy.asarray(value)] * len(rows))
    return program.step([program.first], lambda _: value, many, own=False)


def _refuse_constant(what: str) -> Any:
    raise Other(what)


def is_array(one: Any) -> bool:
    """Whether it is a tensor, or an array of NumPy's, as they are."""
    import numpy

    return type(one) in (numpy.ndarray, numpy.memmap) or kind_of(one) == "tensor"


def taken(program: Program, source: Any, number: Number, length: Optional[int], name: str) -> Any:
    """source[number], or source[number:number + length], as Items. Raises Other."""
    _check_range(program, source, number, length, name)
    if is_array(source):
        return _of_array(program, source, number, length, name)
    if isinstance(source, (list, range)) and length is not None:
        return _of_numbers(program, source, number, length, name)
    if isinstance(source, (list, tuple, range)) and length is None:
        return _of_list(program, source, number, name, (), [source[n] for n in number.of(program.tried)])
    raise Other(f"of a {type(source).__qualname__}, want a tensor, an array of NumPy's or a list")


def _check_range(program: Program, source: Any, number: Number, length: Optional[int], name: str) -> None:
    if not is_array(source) and not isinstance(source, (list, tuple, range)):
        return
    if is_array(source) and not source.shape:
        raise Other("of a number, want an array")
    if length is not None and length < 1:
        raise Other(f"of {length} rows, want one at least")
    least, most = number.ends()
    if least >= 0 and most + (length or 1) <= len(source):
        return
    wrong = next(n for n in _bounds(number) if not 0 <= (at := int(number.of([n])[0])) or at + (length or 1) > len(source))
    at = int(number.of([wrong])[0])
    rows = f"row {at}" if length is None else f"rows {at} to {at + length - 1}"
    why = ", which Python counts from the end" if at < 0 else ", which ends there: a __len__ that says more samples than there are, or a window that is cut short, of which torch makes no batch" if length is not None else ""
    raise Other(f"of which sample {wrong} of {number.count} asks for {rows}, and {name} has {len(source)}{why}")


def _bounds(number: Number) -> list[int]:
    """The samples whose numbers are the least and the largest."""
    if number.is_even:
        return [0, number.count - 1]
    table = number.all()
    return sorted({int(table.argmin()), int(table.argmax())})


def _of_array(program: Program, source: Any, number: Number, length: Optional[int], name: str) -> Item:
    import numpy

    problems: list[str] = []

    def refuse(what: str) -> Any:
        problems.append(what)
        raise Other(f"{name}: {what}")
    if kind_of(source) == "tensor" and type(source) is not sys.modules["torch"].Tensor:
        refuse(f"got a {type(source).__qualname__}, want a tensor")
    held.checked(source, refuse)
    if kind_of(source) == "array" and not source.dtype.isnative:
        refuse(f"got {source.dtype}, whose bytes are in another order than this machine's, of which torch makes no tensors; want {name}.astype({name}.dtype.newbyteorder(\"=\"))")
    rows = number.of(program.tried)
    if length is None:
        ones = [source[int(n)] for n in rows]
    else:
        ones = [source[int(n):int(n) + length] for n in rows]
    whole = numpy.stack([numpy.asarray(one) for one in ones]) if kind_of(source) == "array" else sys.modules["torch"].stack(ones)
    whole_number = length is None and len(source.shape) == 1 and str(source.dtype).rpartition(".")[2].lstrip("u") in ("int8", "int16", "int32", "int64") and "uint64" not in str(source.dtype)
    return program.load(Load(source, (), number, length, name), ones, whole, _looked_up(source, number) if whole_number else None, 0)


def _looked_up(source: Any, number: Number) -> Optional[Number]:
    """The numbers of an array, where they may be numbers of rows."""
    import numpy

    array = source.numpy() if kind_of(source) == "tensor" else source
    try:
        return number.through(lambda table: numpy.asarray(array[table], "int64"))
    except ValueError:
        return None


def _of_numbers(program: Program, source: Any, number: Number, length: int, name: str) -> Item:
    """Windows of a list of numbers."""
    import numpy

    kinds = set(map(type, source))
    if len(kinds) != 1 or not kinds <= {int, float}:
        raise Other(f"{name}: got a list of {', '.join(sorted(one.__name__ for one in kinds))}, want one of numbers of one type, or an array")
    try:
        array = program.arrays.setdefault(id(source), numpy.array(source, "int64" if kinds == {int} else "float64"))
    except OverflowError:
        raise Other(f"{name}: has whole numbers of more than 64 bits") from None
    program.kept.append(source)
    at = [int(n) for n in number.of(program.tried)]
    return program.load(Load(array, (), number, length, name), [list(source[n:n + length]) for n in at], numpy.stack([array[n:n + length] for n in at]), None, 0)


def _of_list(program: Program, source: Any, number: Number, name: str, path: tuple[Any, ...], found: list[Any]) -> Any:
    """What a list's samples are: numbers, arrays, lists of numbers, or several of them in tuples, lists and dicts."""
    import numpy

    first, shown = found[0], "".join([name, "[i]", *[f"[{key!r}]" for key in path]])
    other = next((one for one in found if type(one) is not type(first)), None)
    if other is not None:
        raise Other(f"{shown}: has {type(first).__qualname__} and {type(other).__qualname__}, want one type in all samples")
    if isinstance(first, (dict, tuple)) or isinstance(first, list) and not _is_of_numbers(first):
        if type(first) not in (dict, tuple, list) or not first:
            raise Other(f"{shown}: got a {type(first).__qualname__}, want a tuple, a list or a dict of values")
        keys = list(first) if isinstance(first, dict) else list(range(len(first)))
        if any((list(one) if isinstance(one, dict) else list(range(len(one)))) != keys for one in found):
            raise Other(f"{shown}: has samples of other keys, or of other lengths, want them alike")
        each = {key: _of_list(program, source, number, name, (*path, key), [one[key] for one in found]) for key in keys}
        return each if isinstance(first, dict) else type(first)(each.values())
    kind = kind_of(first)
    if not kind or kind == "list" and len(first) > _LONGEST or kind in ("array", "tensor") and not is_array(first):
        raise Other(f"{shown}: got a {type(first).__qualname__}, want numbers, arrays, or lists of numbers")
    load = Load(source, path, number, None, name)
    values = column(load, number.all().tolist())
    rows = values[numpy.asarray(program.tried)]
    tensor = kind == "tensor"
    whole = type(first) is int or isinstance(first, numpy.integer) and values.dtype != "uint64"
    most = int(max(abs(int(values.min())), abs(int(values.max())))) if type(first) is int else 0
    return program.load(load._replace(source=Listed(values, kind)), found, sys.modules["torch"].from_numpy(rows) if tensor else rows, number.through(lambda _: values.astype("int64")) if whole else None, most)


class Listed:
    """Values of a list, as an array: those of all samples, in their order."""

    def __init__(self, values: Any, kind: str) -> None:
        self.values, self.kind = values, kind


def number(program: Program, of: Number) -> Item:
    """A number that follows from a sample's, as a value of it."""
    import numpy

    values = of.all()
    least, most = of.ends()
    rows = values[numpy.asarray(program.tried)]
    return program.load(Load(Listed(values, "number"), (), of, None, "number"), rows.tolist(), rows, of, max(abs(least), abs(most)))


def _is_of_numbers(one: Sequence[Any]) -> bool:
    return bool(one) and all(type(each) in (int, float) for each in one) and type(one) is list


def column(load: Load, numbers: Sequence[int]) -> Any:
    """The values of a list's samples in an array. Raises Other where they are of several types or shapes."""
    import numpy

    found = [load.source[n] for n in numbers]
    for key in load.path:
        for n, one in zip(numbers, found):
            if not isinstance(one, (dict, list, tuple)) or (key not in one if isinstance(one, dict) else key >= len(one)):
                raise Other(f"{load.name}[{n}]: has no {key!r}, want samples alike")
        found = [one[key] for one in found]
    if set(map(type, found)) not in ({int}, {float}, {bool}):
        _check_alike(load, numbers, found)
    try:
        made = numpy.stack([numpy.asarray(held.numpys(one)) for one in found]) if is_array(found[0]) else numpy.array(found)
    except (ValueError, OverflowError) as error:
        raise Other(f"{load.name}: {error}") from None
    if made.dtype.kind not in "biuf" or made.dtype.name not in held.TYPES or type(found[0]) is int and made.dtype != "int64":
        raise Other(f"{load.name}: got {made.dtype}, want numbers of 64 bits at most")
    return made


def _check_alike(load: Load, numbers: Sequence[int], found: Sequence[Any]) -> None:
    kind: Any = None
    for n, one in zip(numbers, found):
        said = _said(one)
        if kind is None:
            kind = said
            if isinstance(one, list) and len(said) != 3:
                raise Other(f"{load.name}[{n}]: got a list of {', '.join(said[2:]) or 'nothing'}, want numbers of one type")
            held.checked(one[0] if isinstance(one, list) else one.item() if not is_array(one) and hasattr(one, "item") else one, _refuse_column(load, n))
        elif said != kind:
            raise Other(f"{load.name}[{n}]: got {_told(said)}, want {_told(kind)}, as the first sample has it; lists of any length are columns of a table, with max_length (docs/tables.md)")
    if "bfloat16" in str(kind):
        raise Other(f"{load.name}: got a list of tensors of bfloat16, want them in one tensor: torch.stack")


def _said(one: Any) -> tuple[Any, ...]:
    if isinstance(one, list):
        return (list, len(one), *sorted({type(each).__name__ for each in one}))
    return (type(one), tuple(one.shape), str(one.dtype)) if is_array(one) else (type(one),)


def _refuse_column(load: Load, n: int) -> Any:
    def refuse(what: str) -> Any:
        raise Other(f"{load.name}[{n}]: {what}")
    return refuse


def _told(said: Any) -> str:
    if said[0] is list:
        return f"a list of {said[1]} of {', '.join(said[2:])}"
    return f"{list(said[1])} of {said[2]}" if len(said) == 3 else f"a {said[0].__qualname__}"
