"""Files that stand beside a description and say of the samples what it has no place for."""

from __future__ import annotations

import os
import shutil
import struct
import sys
import tempfile
import weakref
from array import array
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Union

WEIGHTS = "weights.npy"

Files = dict[str, Callable[[], Iterable[bytes]]]  # what is in each, by its name in the description


def npy(numbers: array[Any]) -> Callable[[], Iterable[bytes]]:
    """An .npy file of f64 or i64."""
    order, kind = "<" if sys.byteorder == "little" else ">", {"d": "f8", "q": "i8"}[numbers.typecode]
    header = f"{{'descr': '{order}{kind}', 'fortran_order': False, 'shape': ({len(numbers)},), }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"  # elements begin at a multiple of 64
    return lambda: (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode(), numbers.tobytes())


def named(description: Mapping[str, Any], files: Files, directory: Union[str, os.PathLike[str]]) -> dict[str, Any]:
    """The description with the paths that its files have in a directory."""
    at = {name: os.path.join(os.path.abspath(directory), name) for name in files}
    return {key: named(value, files, directory) if isinstance(value, Mapping) else at.get(value, value) if isinstance(value, str) else value
            for key, value in description.items()}


def write(files: Files, directory: Union[str, os.PathLike[str]]) -> None:
    for name, parts in files.items():
        with open(Path(directory) / name, "wb") as file:
            file.writelines(parts())


class Beside:
    """A directory with the files, until close(), or until its owner and this program have ended."""

    def __init__(self, files: Files, owner: Any) -> None:
        self.directory = tempfile.mkdtemp(prefix="spdl-")
        self.close = weakref.finalize(owner, _remove, self.directory, os.getpid())
        write(files, self.directory)


def _remove(directory: str, pid: int) -> None:
    if os.getpid() == pid:  # not of a forked child, whose end is not its parent's
        shutil.rmtree(directory, ignore_errors=True)
