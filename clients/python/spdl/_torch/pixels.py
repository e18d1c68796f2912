"""Pictures that a data set holds as pixels, and how the engine gets these."""

from __future__ import annotations

import struct
import zlib
from typing import Any, NamedTuple


class Held(NamedTuple):
    """A picture that its data set holds: its pixels, u8 [H, W] or [H, W, C] of NumPy's, and its name."""

    pixels: Any
    name: str

    def png(self) -> bytes:
        """A PNG of it without compression: the same pixels, at the cost of a copy and two checksums."""
        height, width, *channels = self.pixels.shape
        rows = bytearray(height * (1 + width * (channels[0] if channels else 1)))  # each has a 0 in front: it is stored as it is
        memory = memoryview(rows)
        for y, row in enumerate(self.pixels):
            at, bytes_of_it = y * (len(rows) // height) + 1, row.tobytes()
            memory[at:at + len(bytes_of_it)] = bytes_of_it
        header = struct.pack(">IIBBBBB", width, height, 8, 2 if channels else 0, 0, 0, 0)
        return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(memory, 0)) + _chunk(b"IEND", b"")


def is_pixels(one: Any) -> bool:
    """Whether this is such an array."""
    shape: Any = getattr(one, "shape", ())
    return type(one).__module__ == "numpy" and str(getattr(one, "dtype", "")) == "uint8" and 0 not in shape and (len(shape) == 2 or len(shape) == 3 and shape[2] == 3)


def is_map_of_classes(path: str, palettes: bool) -> bool:
    """Whether a file is a PNG whose pixels Pillow hands out as they are stored, 8 bits of grey, or numbers of a palette. One that is not there is found out when it is read."""
    try:
        with open(path, "rb") as file:
            head = file.read(26)
    except OSError:
        return True
    return head.startswith(b"\x89PNG\r\n\x1a\n") and len(head) == 26 and (head[24:26] == b"\x08\x00" or palettes and head[25] == 3)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
