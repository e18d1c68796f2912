"""Files that stand beside a description and say of the samples what it has no place for, or are the samples."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import struct
import sys
import tempfile
import weakref
import zipfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Union

from .._errors import ArgumentError
from . import memory

WEIGHTS, GROUPS = "weights.npy", "groups.npy"
_KINDS = {"d": "f8", "f": "f4", "q": "i8", "B": "u1"}  # NumPy's types, by array's

Files = dict[str, Callable[[], Iterable[bytes]]]  # what is in each, by its name in the description


class Large:
    """What is in a file of samples themselves, which may be large and whose ending the engine need not know."""

    def __init__(self, size_bytes: int, parts: Callable[[], Iterable[bytes]]) -> None:
        self.size_bytes, self._parts = size_bytes, parts

    def __call__(self) -> Iterable[bytes]:
        return self._parts()


def npy(numbers: array[Any]) -> Callable[[], Iterable[bytes]]:
    """An .npy file of f64 or i64."""
    return lambda: (_header(numbers.typecode, (len(numbers),)), numbers.tobytes())


def _header(typecode: str, shape: Sequence[int]) -> bytes:
    kind = _KINDS[typecode]
    return header(f"{'<' if sys.byteorder == 'little' else '>'}{kind}" if kind != "u1" else "|u1", shape)


def header(descr: str, shape: Sequence[int]) -> bytes:
    """What an .npy file has ahead of its elements, which are of a type that NumPy calls so."""
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}"
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"  # elements begin at a multiple of 64
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


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


def named(value: Any, at: Mapping[str, str]) -> Any:
    """A description, or what is in one, with the paths of its files."""
    if isinstance(value, Mapping):
        return {key: named(one, at) for key, one in value.items()}
    if isinstance(value, list):
        return [named(one, at) for one in value]
    return at.get(value, value) if isinstance(value, str) else value


def write(files: Files, directory: Union[str, os.PathLike[str]]) -> dict[str, str]:
    """Writes them into a directory, and returns their paths."""
    at = {name: os.path.join(os.path.abspath(directory), name) for name in files}
    for name, parts in files.items():
        with open(at[name], "wb") as file:
            file.writelines(parts())
    return at


class Beside:
    """The files until close(), or until their owner or this program has ended. Large ones are in memory and have no name, so that nothing stays of them however the program ends; the
    others, which the engine knows by their endings, are in a directory.
    """

    def __init__(self, files: Files, owner: Any) -> None:
        held = self._held = contextlib.ExitStack()
        self.close = weakref.finalize(owner, held.close)
        large = {name: parts for name, parts in files.items() if isinstance(parts, Large)}
        try:
            self.at = _in_memory(large, held)
            if len(large) < len(files):
                directory = tempfile.mkdtemp(prefix="spdl-")
                held.callback(_remove, directory, os.getpid())
                self.at.update(write({name: parts for name, parts in files.items() if name not in large}, directory))
        except BaseException:
            self.close()
            raise

    def belong(self, owner: Any, leave: Callable[[], Any]) -> None:
        """To another owner, whose engine reads them: it has ended, by `leave`, before they go."""
        self.close.detach()
        self._held.callback(leave)
        self.close = weakref.finalize(owner, self._held.close)


def _in_memory(files: Mapping[str, Large], held: contextlib.ExitStack) -> dict[str, str]:
    """The paths by which this program's descriptors are opened."""
    need, room = sum(parts.size_bytes for parts in files.values()), memory.available()
    if room is not None and need > room:
        raise ArgumentError(f"spdl: DataLoader: dataset: has {need / (1 << 20):.1f} MiB, of which the engine gets a copy in memory, and {room / (1 << 20):.1f} MiB of memory are available; want arrays in "
                            "files (numpy.save), and source: {arrays: [{name: x, file: x.npy}]} of a description, which are read where they lie (docs/arrays.md#whole-arrays)")
    at = {}
    for name, parts in files.items():
        descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        held.callback(os.close, descriptor)
        with open(descriptor, "wb", closefd=False) as file:
            file.writelines(parts())
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE)  # so the engine maps it
        at[name] = f"/proc/{os.getpid()}/fd/{descriptor}"
    return at


def _remove(directory: str, pid: int) -> None:
    if os.getpid() == pid:  # not of a forked child, whose end is not its parent's
        shutil.rmtree(directory, ignore_errors=True)
