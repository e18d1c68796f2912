"""Small functions of one's own whose code says all that they do: x, x["a"]["b"], int(x["a"]), x.convert("RGB")."""

from __future__ import annotations

import dis
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple, Optional

_SKIPPED = {"RESUME", "CACHE", "PUSH_NULL", "PRECALL", "NOP", "COPY_FREE_VARS", "NOT_TAKEN"}
_CASTS = {"int": int, "float": float, "str": str}


def _rgb(x: Any) -> Any:
    if x.mode != "RGB":
        x = x.convert("RGB")
    return x


def _rgb_early(x: Any) -> Any:
    if x.mode == "RGB":
        return x
    return x.convert("RGB")


# What such functions are written as, each in the ways that programs have for it.
IDENTITY: tuple[Callable[[Any], Any], ...] = (lambda x: x,)
TO_RGB: tuple[Callable[[Any], Any], ...] = (
    lambda x: x.convert("RGB"), lambda x: x.convert(mode="RGB"), lambda x: x.convert("RGB") if x.mode != "RGB" else x, lambda x: x if x.mode == "RGB" else x.convert("RGB"), _rgb, _rgb_early)
AROUND_ZERO: tuple[Callable[[Any], Any], ...] = (  # of numbers from 0 to 1, to the bit what (x - 0.5) / 0.5 is
    lambda x: x * 2 - 1, lambda x: 2 * x - 1, lambda x: x * 2.0 - 1.0, lambda x: 2.0 * x - 1.0, lambda x: (x - 0.5) * 2, lambda x: (x - 0.5) * 2.0, lambda x: (x - 0.5) / 0.5, lambda x: 2 * (x - 0.5))


def does(function: Any, written: tuple[Callable[[Any], Any], ...]) -> bool:
    """Whether a function is written in one of these ways, whatever its argument is called."""
    if not isinstance(function, FunctionType) or function.__code__.co_argcount != 1 or function.__code__.co_flags & 0x0C or function.__code__.co_kwonlyargcount:
        return False
    steps = _steps(function)
    return any(_steps(one) == steps for one in written)


def _steps(function: Any) -> list[tuple[str, Any]]:
    argument = function.__code__.co_varnames[0]

    def named(value: Any) -> Any:
        return tuple(map(named, value)) if isinstance(value, tuple) else "x" if value == argument else value  # two are loaded at once

    return [(step.opname, named(step.argval)) for step in dis.get_instructions(function) if step.opname not in _SKIPPED]


class Member(NamedTuple):
    """What a function takes of its argument."""

    path: tuple[Any, ...]  # keys and numbers, one in the other
    cast: str  # "int", "float", "str", or "": as it is


def member(function: Any) -> Optional[Member]:
    """What a function takes, None: it does more than that, or nobody can tell."""
    named = next((name for name, cast in _CASTS.items() if function is cast), None)
    if named is not None:
        return Member((), named)
    if getattr(function, "__name__", "") == "identity" and (getattr(function, "__module__", None) or "").startswith("webdataset"):
        return Member((), "")
    if not isinstance(function, FunctionType) or function.__code__.co_argcount != 1 or function.__code__.co_flags & 0x0C or function.__code__.co_kwonlyargcount:
        return None
    return _followed(function)


def is_identity(function: Any) -> bool:
    return member(function) == Member((), "")


def _followed(function: FunctionType) -> Optional[Member]:
    """Goes through its code with its argument in hand."""
    argument, casts = function.__code__.co_varnames[0], _Casts(function)
    stack: list[Any] = []
    for step in dis.get_instructions(function):
        name, value = step.opname, step.argval
        if name in _SKIPPED:
            continue
        if name.startswith("LOAD_FAST") and value == argument:
            stack.append(Member((), ""))
        elif name.startswith("LOAD_CONST") or name == "LOAD_SMALL_INT":
            stack.append(value)
        elif name.startswith("LOAD_GLOBAL") and value in casts:
            stack.append(_CASTS[value])
        elif (name == "BINARY_SUBSCR" or name == "BINARY_OP" and step.argrepr == "[]") and len(stack) > 1:
            key, of = stack.pop(), stack.pop()
            if not isinstance(of, Member) or of.cast or type(key) not in (str, int):
                return None
            stack.append(Member((*of.path, key), ""))
        elif name in ("CALL", "CALL_FUNCTION") and step.arg == 1 and len(stack) > 1:
            of, cast = stack.pop(), stack.pop()
            if not isinstance(of, Member) or of.cast or cast not in _CASTS.values():
                return None
            stack.append(of._replace(cast=cast.__name__))
        elif name.startswith("RETURN_VALUE"):
            return stack[-1] if len(stack) == 1 and isinstance(stack[-1], Member) else None
        else:
            return None
    return None


class _Casts:
    """The names of Python's own types that a function has not given another meaning."""

    def __init__(self, function: FunctionType) -> None:
        self._globals: dict[str, Any] = function.__globals__

    def __contains__(self, name: str) -> bool:
        return name in _CASTS and self._globals.get(name, _CASTS[name]) is _CASTS[name]
