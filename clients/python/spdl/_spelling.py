"""Which name was meant, for errors that ask "did you mean"."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Optional


def nearest(written: str, names: Iterable[str]) -> Optional[str]:
    """The name that is near enough to what was written, in any case, to be meant; None where none is. Of two that differ in case the first."""
    among: dict[str, str] = {}
    for name in names:
        among.setdefault(name.lower(), name)
    near = difflib.get_close_matches(written.lower(), among, 1)
    return among[near[0]] if near else None


def no_attribute(module: str, written: str, names: Iterable[str], remedy: str = "") -> AttributeError:
    """What a module's __getattr__ raises for a name that it has not. Without a remedy the nearest of its names is one."""
    return lacks(f"module {module!r}", written, names, remedy)


def lacks(what: str, written: str, names: Iterable[str], remedy: str = "") -> AttributeError:
    """What the __getattr__ of `what`, as Python calls it, raises for a name that it has not. Without a remedy the nearest of its names is one."""
    if not remedy and not written.startswith("_"):  # those are asked for by programs
        near = nearest(written, names)
        remedy = f"did you mean {near}?" if near else ""
    error = AttributeError(f"{what} has no attribute {written!r}{'; ' if remedy else ''}{remedy}")
    error.name = written  # with a name and no object a traceback adds no second "Did you mean"
    return error
