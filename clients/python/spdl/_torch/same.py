"""Whether two data sets do the same with their samples, so that they may be joined to one: of objects their text says it, and of functions their code and what that has from outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import FunctionType
from typing import Any


def transforms(one: Any, other: Any) -> bool:
    """Whether two transforms are the same. Text shows no functions, such as a Lambda's."""
    return one is other or repr(one) == repr(other) and list(map(said, _unshown(one))) == list(map(said, _unshown(other)))


def said(function: Any) -> Any:
    """What a function does, as two that do the same have it."""
    if not isinstance(function, FunctionType):
        return (type(function), function.tolist()) if hasattr(function, "tolist") and not isinstance(function, type) else function
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    return function.__module__, function.__code__, function.__defaults__, list(map(said, cells))


def _unshown(one: Any) -> Iterator[Any]:
    """Functions, and what else their text does not show, in a transform and in those that it has in it."""
    if isinstance(one, FunctionType):
        yield one
        return
    if isinstance(one, (list, tuple)):
        inside: list[Any] = list(one)
    elif isinstance(one, Mapping):
        inside = list(one.values())
    else:
        inside = [getattr(one, name) for name in ("transforms", "lambd", "transform") if hasattr(one, name)]
        inside += list(one.children()) if hasattr(one, "children") and "transforms" not in vars(one) else []
        if isinstance(dtypes := getattr(one, "dtype", None), Mapping):  # of ToDtype
            yield list(dtypes.items())
    for each in inside:
        yield from _unshown(each)
