"""Made-up data in the shapes that docs/recipes.md reads: made(directory) writes all of it, in a second."""

from __future__ import annotations

import io
import json
import sqlite3
import struct
import tarfile
import zlib
from pathlib import Path

import numpy as np
import spdl.io
from PIL import Image

rng = np.random.default_rng(0)


def made(directory: Path) -> None:
    for kind in (imagenet, tars, voc, coco, kinetics, speech, parquet, tokens, llava, database, replay, sdxl):
        kind(directory)


def picture() -> Image.Image:
    w, h = (int(side) for side in rng.integers(60, 120, 2))
    y, x = np.mgrid[0:h, 0:w]
    return Image.fromarray(np.stack([x * 2 % 256, y * 2 % 256, (x + y) % 256], axis=-1).astype(np.uint8))


def jpeg() -> bytes:
    out = io.BytesIO()
    picture().save(out, "jpeg")
    return out.getvalue()


def imagenet(to: Path) -> None:
    """Names with blanks and letters beyond ASCII, as they are in the wild."""
    for split, n in (("train", 16), ("val", 9)):
        for name in ("cat", "dog", "Zebra finch", "ünïcode"):
            folder = to / "imagenet" / split / name
            folder.mkdir(parents=True)
            for i in range(n):
                (folder / f"{i}.jpg").write_bytes(jpeg())


def tars(to: Path) -> None:
    for name, shards in (("cc3m", 2), ("laion", 3)):
        (to / name).mkdir()
        for shard in range(shards):
            with tarfile.open(to / name / f"{name}-{shard:04}.tar", "w") as tar:
                for i in range(10):
                    said = {"similarity": 0.25} if i % 2 else {}
                    parts = {"jpg": jpeg(), "txt": f"{name}: a picture, the {i}th".encode(), "json": json.dumps(said).encode()}
                    for part, data in parts.items():
                        member = tarfile.TarInfo(f"{shard:04}{i:05}.{part}")
                        member.size = len(data)
                        tar.addfile(member, io.BytesIO(data))


def voc(to: Path) -> None:
    for folder in ("JPEGImages", "SegmentationClass", "ImageSets/Segmentation"):
        (to / "voc" / folder).mkdir(parents=True)
    names = [f"2007_{i:06}" for i in range(8)]
    for name in names:
        image = picture()
        image.save(to / "voc/JPEGImages" / f"{name}.jpg")
        mask = Image.fromarray(rng.integers(0, 21, (image.height, image.width), dtype=np.uint8), "P")
        mask.putpalette(list(range(256)) * 3)
        mask.save(to / "voc/SegmentationClass" / f"{name}.png")
    (to / "voc/ImageSets/Segmentation/train.txt").write_text("\n".join(names) + "\n")


def coco(to: Path) -> None:
    """Picture i has i % 4 boxes."""
    (to / "coco/train2017").mkdir(parents=True)
    images, annotations = [], []
    for i in range(8):
        image = picture()
        image.save(to / "coco/train2017" / f"{i:012}.jpg")
        images.append({"id": i, "file_name": f"{i:012}.jpg", "width": image.width, "height": image.height})
        w, h = image.size
        outlines = [[[1, 2, w - 1, 2, w - 1, 32, 1, 32]], {"size": [h, w], "counts": [h, h * (w - 2), h]}]
        annotations += [{"image_id": i, "category_id": 7 + k, "bbox": [1.0, 2.0, w - 2.0, 30.0], "segmentation": outlines[k % 2]} for k in range(i % 4)]
    (to / "coco/annotations.json").write_text(json.dumps({"images": images, "annotations": annotations}))


def kinetics(to: Path) -> None:
    for split, n in (("train", 8), ("val", 5)):
        (to / "kinetics" / split).mkdir(parents=True)
        lines = ["path,label"]
        for i in range(n):
            frames = np.stack([np.full((72, 96, 3), 40 + 3 * k, np.uint8) for k in range(36 + i)])
            spdl.io.save_video(str(to / f"kinetics/{split}/{i}.mp4"), frames, 25, codec="mpeg4")
            lines.append(f"{split}/{i}.mp4,{i % 3}")
        (to / f"kinetics/{split}.csv").write_text("\n".join(lines) + "\n")


def speech(to: Path) -> None:
    (to / "speech/wavs").mkdir(parents=True)
    lines = ["path,transcript,duration"]
    for i in range(9):
        n = 4000 + 3000 * i
        wave = 0.3 * np.sin(np.arange(n, dtype=np.float32) * (0.05 + 0.01 * i))[None]
        spdl.io.save_audio(str(to / f"speech/wavs/{i}.wav"), wave, sample_rate=16000)
        lines.append(f'wavs/{i}.wav,"well, {i}",{n / 16000}')
    (to / "speech/metadata.csv").write_text("\n".join(lines) + "\n")


def llava(to: Path) -> None:
    """Of the mixture each row has as many pictures as its number says, modulo 4: none, a name, or a list."""
    (to / "llava/images").mkdir(parents=True)
    for i in range(9):
        (to / f"llava/images/{i}.jpg").write_bytes(jpeg())

    def row(i, image):
        return {"id": str(i), **image, "conversations": [{"from": "human", "value": "<image>\nWhat is it?"}, {"from": "gpt", "value": f'It is "{i}".'}]}

    (to / "llava/pretrain.json").write_text(json.dumps([row(i, {"image": f"{i}.jpg"}) for i in range(9)], indent=2))
    several = [{}, {"image": "1.jpg"}, {"image": ["2.jpg", "3.jpg"]}, {"image": ["4.jpg", "5.jpg", "6.jpg"]}]
    (to / "llava/mixture.json").write_text(json.dumps([row(i, several[i % 4]) for i in range(8)]))


def database(to: Path) -> None:
    database = sqlite3.connect(to / "pictures.sqlite")
    with database:
        database.execute("CREATE TABLE pictures (id INTEGER PRIMARY KEY, jpeg BLOB, label INTEGER, name TEXT)")
        database.executemany("INSERT INTO pictures VALUES (?, ?, ?, ?)", [(10 * i, jpeg(), i % 4, f"picture {i}") for i in range(10)])
    database.close()


def replay(to: Path) -> None:
    """A replay buffer of 206 demonstrations of 9 or 8 steps, an array of Zarr each: of 16 steps with 8 beyond the edges that is 2 or 1 windows. Step i's numbers are all i."""
    lengths = 9 - np.arange(206) % 2
    steps = np.arange(lengths.sum(), dtype="<f4")
    for name, values in {"data/img": np.broadcast_to(steps[:, None, None, None] % 256, (len(steps), 96, 96, 3)), "data/state": steps[:, None].repeat(5, 1), "data/action": steps[:, None].repeat(2, 1),
                         "meta/episode_ends": np.cumsum(lengths)}.items():
        array = to / "pusht_cchi_v7_replay.zarr" / name
        array.mkdir(parents=True)
        chunks = [161, *values.shape[1:]]
        head = {"zarr_format": 2, "shape": values.shape, "chunks": chunks, "dtype": values.dtype.str, "order": "C", "compressor": {"id": "zlib", "level": 1}, "filters": None, "fill_value": 0}
        (array / ".zarray").write_text(json.dumps(head))
        for k in range(0, len(values), 161):
            chunk = np.zeros(chunks, values.dtype)
            chunk[:len(values[k:k + 161])] = values[k:k + 161]
            (array / ".".join(map(str, [k // 161] + [0] * (values.ndim - 1)))).write_bytes(zlib.compress(chunk.tobytes(), 1))


def parquet(to: Path) -> None:
    (to / "laion-art").mkdir()
    for shard in range(2):
        rows = range(7)
        columns = {"image": [jpeg() for _ in rows], "caption": [f"painting {i}".encode() for i in rows], "aesthetic": [i / 2 for i in rows]}
        (to / f"laion-art/{shard:04}.parquet").write_bytes(parquet_of(columns))


def sdxl(to: Path) -> None:
    (to / "sdxl").mkdir()
    for shard in range(2):
        pictures = [picture().resize((w, h)) for w, h in [(120, 80), (80, 120), (100, 100), (122, 80), (160, 60)] * 3]
        columns = {"image": [], "caption": [f"painting {i}".encode() for i in range(len(pictures))],
                   "width": [float(p.width) for p in pictures], "height": [float(p.height) for p in pictures]}
        for p in pictures:
            out = io.BytesIO()
            p.save(out, "jpeg")
            columns["image"].append(out.getvalue())
        (to / f"sdxl/{shard:04}.parquet").write_bytes(parquet_of(columns))


def tokens(to: Path) -> None:
    (to / "tokens").mkdir()
    for shard in range(2):
        documents = [list(range(10 * shard + i, 10 * shard + 4 * i, 1)) for i in range(1, 8)]
        (to / f"tokens/train-{shard:05}.parquet").write_bytes(parquet_of({"input_ids": documents}))


# ---- Parquet, as little of it as a file needs: one row group of plain, uncompressed columns without nulls: bytes, numbers, or lists of whole ones


def parquet_of(columns: dict) -> bytes:
    out, chunks, schema, rows = bytearray(b"PAR1"), [], [{4: b"schema", 5: len(columns)}], 0
    for name, values in columns.items():
        rows, n, path = len(values), len(values), [name.encode()]
        if isinstance(values[0], bytes):
            kind, plain = 6, b"".join(struct.pack("<I", len(v)) + v for v in values)  # BYTE_ARRAY
        elif isinstance(values[0], float):
            kind, plain = 5, b"".join(struct.pack("<d", v) for v in values)  # DOUBLE
        else:
            kind, (n, plain) = 1, lists(values)  # INT32
        if kind == 1:
            path += [b"list", b"element"]
            schema += [{3: 0, 4: path[0], 5: 1, 6: 3}, {3: 2, 4: path[1], 5: 1}, {1: kind, 3: 0, 4: path[2]}]
        else:
            schema.append({1: kind, 3: 0, 4: path[0]})
        at = len(out)
        out += thrift({1: 0, 2: len(plain), 3: len(plain), 5: {1: n, 2: 0, 3: 3, 4: 3}}) + plain
        about = {1: kind, 2: [0], 3: path, 4: 0, 5: Long(n), 6: Long(len(out) - at), 7: Long(len(out) - at), 9: Long(at)}
        chunks.append({2: Long(at), 3: about})
    footer = thrift({1: 1, 2: schema, 3: Long(rows), 4: [{1: chunks, 2: Long(len(out)), 3: Long(rows)}]})
    return bytes(out + footer + struct.pack("<I", len(footer)) + b"PAR1")


def lists(values: list) -> tuple[int, bytes]:
    """How many values a page of lists has, an empty list being one, and the page: repetition levels, definition levels, and the numbers."""
    repeats, defined, numbers = bytearray(), bytearray(), bytearray()
    n = 0
    for value in values:
        count = max(len(value), 1)
        n += count
        repeats += b"\2\0" + (varint(count - 1 << 1) + b"\1" if count > 1 else b"")  # runs of one that begins a list, and of those that go on
        defined += varint(count << 1) + (b"\1" if len(value) else b"\0")
        numbers += np.asarray(value, "<i4").tobytes()
    return n, b"".join(struct.pack("<I", len(levels)) + levels for levels in (repeats, defined)) + bytes(numbers)


class Long(int):
    """An i64 where a plain int is an i32."""


def thrift(value: object) -> bytes:
    """A struct (a dict by field number), list, number or text in Thrift's compact protocol."""
    if isinstance(value, bytes):
        return varint(len(value)) + value
    if isinstance(value, int):
        return varint(value << 1)  # none is negative
    if isinstance(value, list):
        return bytes([len(value) << 4 | kind_of(value[0])]) + b"".join(map(thrift, value))
    out, last = b"", 0
    for number, field in value.items():
        out += bytes([(number - last) << 4 | kind_of(field)]) + thrift(field)
        last = number
    return out + b"\0"


def kind_of(value: object) -> int:
    return {dict: 12, list: 9, bytes: 8, int: 5, Long: 6}[type(value)]


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
