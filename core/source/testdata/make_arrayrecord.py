"""Make the ArrayRecords of testdata/arrayrecord, packed with gzip, as they end with much padding, and want.json, the SHA-256 of the records in them. Needs
array_record and Pillow: pip install array_record pillow, python3 make_arrayrecord.py. The files named as TFDS names its own have pictures of one grey each."""

import gzip
import hashlib
import io
import json
import pathlib
import random

from array_record.python.array_record_module import ArrayRecordReader, ArrayRecordWriter
from PIL import Image

HERE = pathlib.Path(__file__).parent / "arrayrecord"
some = random.Random(35)


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def example(**features):
    """A tf.train.Example: bytes, whole numbers and lists of them."""
    entries = b""
    for name, value in features.items():
        name = name.replace("__", "/")
        if isinstance(value, bytes):
            feature = field(1, field(1, value))
        else:
            value = value if isinstance(value, list) else [value]
            feature = field(3, field(1, b"".join(map(varint, value))))
        entries += field(1, field(1, name.encode()) + field(2, feature))
    return field(1, entries)


def picture(size):
    return b"\xff\xd8" + some.randbytes(size) + b"\xff\xd9"


def greys(numbers):
    """Pictures of the greys 10 * i, with the labels i % 5 and the captions "grey i"."""
    for i in numbers:
        png = io.BytesIO()
        Image.new("RGB", (20, 16), (10 * i,) * 3).save(png, "png")
        yield example(image=png.getvalue(), label=i % 5, caption=f"grey {i}".encode())


def examples(n, large=()):
    return [
        example(image=picture(80_000 if i in large else 300 + 37 * i), label=(i * i) % 10 - (i == 3), text=b"a text, and a text " * (i % 4), ids=list(range(i % 5)))
        for i in range(n)
    ]


SMALL = [b"", picture(700), b"x" * 5000, b"\x80\x04K\x07.", some.randbytes(33), b'{"n": 7}'] + [some.randbytes(size) for size in (1, 23, 24, 25)]
RAW = SMALL + [some.randbytes(130_000), some.randbytes(70_000)]
LONG = [some.randbytes(100) * 1300, b"y" * 65_000, b"z" * 65_472, b"a" * 65_536]  # over the bounds of blocks
FILES = {
    "default": ("", examples(12)),
    "one": ("group_size:1", examples(12, large=(2,))),
    "zstd": ("group_size:8,zstd:9", examples(20, large=(5,))),
    "brotli": ("group_size:8,brotli:6", examples(20)),
    "snappy": ("group_size:8,snappy", examples(20)),
    "plain": ("group_size:8,uncompressed", examples(20) + [example(label=4, text=text) for text in LONG]),
    "single": ("group_size:1,uncompressed", SMALL + LONG),
    "raw": ("group_size:3", RAW),
    "rawbrotli": ("group_size:1,brotli", SMALL),
    "rawsnappy": ("group_size:1,snappy", SMALL),
    "padded": ("group_size:2,pad_to_block_boundary:true", examples(5)),
    "many": ("group_size:1", [example(label=i, n=-i) for i in range(600)]),
    "empty": ("group_size:1", []),
    "greys-train.array_record-00000-of-00002": ("group_size:1", list(greys(range(13)))),
    "greys-train.array_record-00001-of-00002": ("group_size:1", list(greys(range(13, 24)))),
    "greys-test.array_record-00000-of-00001": ("group_size:1", list(greys([24]))),
    "transposed": ("group_size:4,transpose", examples(8)),
}
HERE.mkdir(exist_ok=True)
want = {}
for name, (options, records) in FILES.items():
    path = HERE / (name if "." in name else f"{name}.array_record")
    writer = ArrayRecordWriter(str(path), options)
    for record in records:
        writer.write(record)
    writer.close()
    reader = ArrayRecordReader(str(path))
    read = reader.read_all() if records else []
    assert read == records, name
    (HERE / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))
    path.unlink()
    if "." not in name and name not in ("many", "transposed"):
        want[name] = [hashlib.sha256(record).hexdigest() for record in read]
(HERE / "want.json").write_text(json.dumps(want, indent=0) + "\n")
