"""Where an array lies whose memory is a file's."""

from __future__ import annotations

import os
import re
import sys
from typing import Any, NamedTuple, Optional

_TOLD_APART = 16  # bytes of an .npy file's beginning at least
_KINDS = {"bool": "u8", "uint8": "u8", "int8": "i8", "uint16": "u16", "int16": "i16", "uint32": "u32", "int32": "i32", "uint64": "u64", "int64": "i64", "float16": "f16", "float32": "f32", "float64": "f64"}


class Lies(NamedTuple):
    """Rows of a file, of which an array's first is one."""

    path: str
    first: int  # the array's first row among the file's
    rows: int  # that the file has
    dtype: str  # as the engine calls it, of elements without a header; "": the file says it


def of(array: Any) -> Optional[Lies]:
    """Of an array of NumPy's that is a memmap, or a part of one, in the order of its file; None: its memory is none, or the engine cannot read it there."""
    name = str(array.dtype)
    if sys.byteorder != "little" or not array.flags.c_contiguous or array.ndim < 1 or name not in _KINDS or not array.size or not _is_mapped(array):
        return None
    address = array.__array_interface__["data"][0]
    found = _mapping(address, array.nbytes)
    if found is None:
        return None
    path, at = found
    row = array.nbytes // len(array)
    head = _header(path, array)
    if head is None:
        return None
    begins, dtype = head
    size = os.stat(path).st_size
    if at < begins or (at - begins) % row or (size - begins) % row and dtype:
        return None
    return Lies(path, (at - begins) // row, (size - begins) // row, dtype)


def _is_mapped(array: Any) -> bool:
    """Whether it is of a file that is mapped; what was written to that is in it then."""
    import numpy

    one, mapped = array, None
    while isinstance(one, numpy.ndarray):
        mapped = one if isinstance(one, numpy.memmap) else mapped
        one = one.base
    if mapped is None or getattr(mapped, "_mmap", None) is None or mapped.mode == "c":
        return False
    if mapped.mode != "r":
        mapped.flush()
    return True


def _mapping(address: int, size: int) -> Optional[tuple[str, int]]:
    """The path of the file that is mapped there, and where in it that is; None: it has no path any more, or is another's by now."""
    with open("/proc/self/maps", "rb") as maps:
        for line in maps:
            bounds, how, offset, _, inode, *path = line.rstrip(b"\n").split(None, 5)
            begin, end = (int(one, 16) for one in bounds.split(b"-"))
            if begin <= address < end:
                break
        else:
            return None
    if address + size > end or not how.endswith(b"s") or not path:
        return None
    name = os.fsdecode(path[0])
    if not name.isprintable() or re.search(r"[\\{}*?\[\]]|://", name) or not os.path.isabs(name):
        return None
    try:
        if os.stat(name).st_ino != int(inode):
            return None
    except OSError:
        return None
    return name, int(offset, 16) + address - begin


def _header(path: str, array: Any) -> Optional[tuple[int, str]]:
    """Where in the file rows begin, and of what type the engine has to be told that they are; None: the file is of a kind that the engine reads otherwise."""
    import numpy

    with open(path, "rb") as file:
        begin = file.read(_TOLD_APART)
        if begin[:8] == b"\x89HDF\r\n\x1a\n":
            return None
        if begin[:6] != b"\x93NUMPY":
            return 0, _KINDS[str(array.dtype)]
        file.seek(0)
        try:
            version = numpy.lib.format.read_magic(file)
            read = {(1, 0): numpy.lib.format.read_array_header_1_0, (2, 0): numpy.lib.format.read_array_header_2_0}[version]
            shape, fortran, dtype = read(file)
        except (ValueError, KeyError):
            return None
        same = dtype == array.dtype and tuple(shape[1:]) == array.shape[1:] and len(shape) == array.ndim and (not fortran or len(shape) == 1)
        return (file.tell(), "") if same else None
