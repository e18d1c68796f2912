"""Whose class says how an object behaves: a library's, or one that a program has derived of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple


class Home(NamedTuple):
    """The class by which an object behaves."""

    module: str  # of those that are known; "": none of them has it
    name: str  # of the class there
    own: str  # the method by which a class of the program's own behaves otherwise; "": there is none


def home(one: Any, modules: Iterable[str], methods: Sequence[str]) -> Home:
    """The first class of these modules, or of those below them, ahead of which no class of the program's own has one of the methods."""
    for cls in type(one).__mro__:
        module = next((module for module in modules if _is_of(cls, module)), "")
        if module:
            return Home(module, cls.__qualname__, "")
        own = next((method for method in methods if method in vars(cls)), "")
        if own:
            return Home("", "", own)
    return Home("", "", "")


def derives(one: Any, module: str, *names: str) -> bool:
    """Whether an object is of one of these classes of a module's, or of one below it, or of a class that is derived of them."""
    return any(cls.__qualname__ in names and _is_of(cls, module) for cls in type(one).__mro__)


def is_of(cls: type, *modules: str) -> bool:
    """Whether a class is of one of these modules, or of one below them."""
    return any(_is_of(cls, module) for module in modules)


def _is_of(cls: type, module: str) -> bool:
    return f"{cls.__module__}.".startswith(f"{module}.")
