"""Writes rec/ with MXNet (1.9.1, which NumPy 1.23.5 still suits) and Pillow (11.1.0), and what is in it, as the script itself knows it, into rec/want.json:
python3 make_rec.py. faces.rec is laid out as InsightFace's are; in parts.rec the magic number is in pictures, labels and headers."""
import base64
import io
import json
import pathlib
import struct

import numpy as np
from mxnet import recordio
from PIL import Image

HERE = pathlib.Path(__file__).parent / "rec"
MAGIC = struct.pack("<I", 0xCED7230A)


def picture(i, kind="jpeg", comment=b""):
    image = Image.fromarray((np.arange(6 * 8 * 3).reshape(6, 8, 3) + i).astype(np.uint8))
    file = io.BytesIO()
    image.save(file, kind, **({"comment": comment} if comment else {}))
    return file.getvalue()


def with_magic(i, places):
    """A JPEG with the magic number in its comment, so many times, where a record would be split."""
    files = (picture(i, comment=b"." * ahead + MAGIC * places) for ahead in range(4))
    return next(file for file in files if file.find(MAGIC) % 4 == 0)


def write(name, records, indexed=True):
    """A file of records (label, id, bytes), read back by MXNet; the records, with their numbers in the file."""
    path = HERE / f"{name}.rec"
    out = recordio.MXIndexedRecordIO(str(path.with_suffix(".idx")), str(path), "w") if indexed else recordio.MXRecordIO(str(path), "w")
    samples = []
    for n, (label, number, data) in enumerate(records):
        packed = recordio.pack(recordio.IRHeader(0, label, number, 0), data)
        out.write_idx(n, packed) if indexed else out.write(packed)
        samples.append({"key": str(n), "label": np.atleast_1d(np.float32(label)).tolist(), "picture": base64.b64encode(data).decode()})
    out.close()
    read = recordio.MXRecordIO(str(path), "r")
    for sample in samples:
        header, data = recordio.unpack(read.read())
        assert base64.b64encode(data).decode() == sample["picture"] and np.array_equal(np.atleast_1d(np.float32(header.label)), np.float32(sample["label"]))
    return samples


HERE.mkdir(exist_ok=True)
magic_float = struct.unpack("<f", MAGIC)[0]
faces = write("faces", [([6, 9], 0, b""), *((float(i // 2), i, picture(i, "png" if i == 3 else "jpeg")) for i in range(1, 6)), *(([1 + 2 * k, 3 + 2 * k], 6 + k, b"") for k in range(3))])
labels = write("labels", [(2.5, 0, picture(0)), ([1, 0.25, 0.5], 1, picture(1)), ([7.0], 2, picture(2)), (-3, 3, picture(3)), ([0.5, 9], 4, picture(4))], indexed=False)
parts = write("parts", [(1, 0, picture(0)), (2, 1, with_magic(1, 1)), (3, 2, with_magic(2, 3)), ([4, 5, magic_float, 6], 3, picture(3)), (magic_float, 4, with_magic(4, 1)),
                        (5, 0xCED7230A, picture(5)), ([6, magic_float], 6, with_magic(6, 2)), (7, 7, MAGIC + b"x" + MAGIC + MAGIC), (8, 8, MAGIC), (9, 9, picture(9))], indexed=False)
assert (HERE / "parts.rec").read_bytes().count(MAGIC) > 10 + 12
want = {"faces": [s for s in faces if s["picture"]], "labels": labels, "parts": parts}
(HERE / "want.json").write_text(json.dumps(want, indent=0) + "\n")
