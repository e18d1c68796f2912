"""Arguments of open that say a little of a description by themselves: the flags of `spdl serve`."""

from __future__ import annotations

import operator
from typing import Any

_NUMBERS, _WORDS = ("batch", "size", "seed", "epochs"), ("dtype", "layout")


def flags(**said: Any) -> list[str]:
    """As the command takes them; None is nothing said. What a value may be is the engine's to say. Raises TypeError of another kind of one."""
    return [flag for name, value in said.items() if value is not None for flag in _flag(name, value)]


def _flag(name: str, value: Any) -> list[str]:
    if name == "shuffle":
        if not isinstance(value, bool):
            raise TypeError(f"spdl: open: shuffle is {value!r:.60}, want True or False")
        return ["--shuffle" if value else "--no-shuffle"]
    if name in _WORDS:
        if not isinstance(value, str):
            raise TypeError(f"spdl: open: {name} is {value!r:.60}, want text, such as {name}={'f32' if name == 'dtype' else 'NCHW'!r}")
        return [f"--{name}", value]
    try:
        number = operator.index(value)  # numpy's, too
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        sides = "; other sizes are the description's: image: {transform: [{resize: [H, W]}]}" if name == "size" else ""
        raise TypeError(f"spdl: open: {name} is {value!r:.60}, want a whole number{sides}")
    return [f"--{name}", str(number)]
