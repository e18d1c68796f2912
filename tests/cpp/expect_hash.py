"""Print the lines that `train --hash` must print for one epoch of the mock, from the two definitions alone: of the hash
(examples/README.md) and of the mock's batches (mock.c)."""
import struct
import zlib


def batch(ticket: int, rows: int = 3) -> bytes:
    samples = range(ticket * rows, ticket * rows + rows)
    keys = [str(s).encode() for s in samples]
    offsets = [sum(map(len, keys[:i])) for i in range(rows + 1)]
    data = struct.pack("<I", rows)
    for s in samples:  # image: float32 [rows, 2, 2, 3]
        data += struct.pack("<12f", *(s + i for i in range(12)))
    data += struct.pack("<3q", *samples)  # label
    data += struct.pack("<6H", *[0x3C00] * 6)  # half
    for s in samples:  # padded: two rows of two floats in strides of 16 bytes, 64 a sample
        data += struct.pack("<2f8x2f8x32x", *(s + i for i in range(4)))
    data += struct.pack("<3q", *samples)  # index
    data += b"".join(keys) + struct.pack("<4q", *offsets)  # key: values, then offsets
    data += bytes(rows)  # status
    return data + struct.pack("<6q", *(side for r in range(rows) for side in (2, 2 - r % 2)))  # extent


for t in range(5):
    print(t, f"{zlib.crc32(batch(t)):08x}")
