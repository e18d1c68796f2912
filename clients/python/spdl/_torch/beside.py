"""Files that stand beside a description and say of the samples what it has no place for."""

from __future__ import annotations

import os
import shutil
import struct
import sys
import tempfile
import weakref
import zipfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Union

WEIGHTS, GROUPS = "weights.npy", "groups.npy"

Files = dict[str, Callable[[], Iterable[bytes]]]  # what is in each, by its name in the description


def npy(numbers: array[Any]) -> Callable[[], Iterable[bytes]]:
    """An .npy file of f64 or i64."""
    return lambda: (_header(numbers.typecode, (len(numbers),)), numbers.tobytes())


def _header(typecode: str, shape: Sequence[int]) -> bytes:
    """What an .npy file has ahead of its elements."""
    order, kind = "<" if sys.byteorder == "little" else ">", {"d": "f8", "f": "f4", "q": "i8", "B": "u1"}[typecode]
    header = f"{{'descr': '{order if kind != 'u1' else '|'}{kind}', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"  # elements begin at a multiple of 64
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()


class Numbers(NamedTuple):
    """An array, whose elements are made when they are written."""

    typecode: str  # as array has it
    shape: Sequence[int]
    parts: Callable[[], Iterable[bytes]]  # the elements


class _Sink:
    """What is written to it, until it is taken."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        pass

    def taken(self) -> list[bytes]:
        parts, self._parts = self._parts, []
        return parts


def npz(arrays: Mapping[str, Numbers]) -> Callable[[], Iterable[bytes]]:
    """An .npz file of these, as numpy.savez writes one."""
    return lambda: _npz(arrays)


def _npz(arrays: Mapping[str, Numbers]) -> Iterator[bytes]:
    sink = _Sink()
    with zipfile.ZipFile(sink, "w") as archive:  # type: ignore[call-overload]  # a file that is written from its beginning to its end
        for name, one in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                member.write(_header(one.typecode, one.shape))
                for part in one.parts():
                    member.write(part)
                    yield from sink.taken()
    yield from sink.taken()


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
