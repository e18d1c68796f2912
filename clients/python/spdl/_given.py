"""What callers give, as C takes it: plain data, texts without a zero byte, whole numbers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Union

from ._errors import ArgumentError


def plain(value: Any) -> Any:
    """What a description holds beside plain data, for json.dumps(default=): paths, arrays and their numbers, mappings and lists of a
    configuration's kind."""
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if hasattr(value, "tolist") and not isinstance(value, (type, memoryview)):
        return value.tolist()
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray, memoryview)):
        return list(value)
    raise TypeError(f"got an object of type {type(value).__name__}, want numbers, text, lists and mappings")


def odd_place(value: Any, at: str = "") -> str:
    """Where in a description something is that json.dumps(default=plain) refuses, with a colon behind: "source.columns[0].type: "; "" where it is
    none of its values."""
    within: list[tuple[str, Any]] = []
    if isinstance(value, Mapping):
        within = [(f"{at}.{key}" if at else str(key), one) for key, one in value.items()]
    elif isinstance(value, (list, tuple)):
        within = [(f"{at}[{i}]", one) for i, one in enumerate(value)]
    for place, one in within:
        try:
            json.dumps(one, default=plain)
        except TypeError:
            return odd_place(one, place)
        except ValueError:  # it holds itself
            return f"{place}: "
    return f"{at}: " if at else ""


def c_text(what: str, text: Union[str, bytes, os.PathLike[str]]) -> bytes:
    """What C takes of a name or a path."""
    if not isinstance(text, (str, bytes, os.PathLike)):
        raise TypeError(f"spdl: {what} is of type {type(text).__name__}, want text")
    text = os.fsencode(text)
    if b"\0" in text:
        raise ArgumentError(f"spdl: {what} {text!r} has a zero byte in it, where C would end it")
    return text


def shown(text: str) -> str:
    """Any text as the engine can say it: names of files that are not UTF-8 carry halves of characters, and C ends a text at its first
    zero byte."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")


def whole(what: str, value: Any) -> int:
    """A whole number, numpy's and 16000.0 among them. Raises ArgumentError for what would have to be cut."""
    try:
        number = int(value)
        if number == value and not isinstance(value, bool):
            return number
    except (TypeError, ValueError, OverflowError):
        pass
    raise ArgumentError(f"spdl: {what}={value!r:.60}, want a whole number")
