"""Writes the data sets of litdata/ with litData (0.2.76), PyTorch (2.15) and Pillow (12.1.0), and what is in them, as the script itself knows it, into
litdata/want.json: python3 make_litdata.py."""
import base64
import io
import json
import pathlib
import shutil
import tempfile

import litdata
import numpy as np
import torch
from litdata.streaming.writer import BinaryWriter
from PIL import Image

HERE = pathlib.Path(__file__).parent / "litdata"
N = 5


def picture(i, kind):
    """A picture whose file has the same bytes whenever it is written."""
    pixels = (np.arange(4 * 6 * 3).reshape(4, 6, 3) * 3 + i).astype(np.uint8)
    image = Image.fromarray(pixels)
    file = io.BytesIO()
    image.save(file, kind)
    return image, file.getvalue()


def sample(i):
    """The sample, and its values as numbers, texts, lists and, in base64, bytes."""
    image, jpeg = picture(i, "jpeg")
    _, png = picture(i, "png")
    arrays = {
        "tensor": torch.arange(2 * (i + 1), dtype=torch.float32).reshape(2, -1) / 2, "tokens": torch.arange(i + 1, dtype=torch.int64) * 7, "half": torch.tensor([[i / 2]], dtype=torch.float16),
        "bools": torch.tensor([[i % 2 == 0, True]]), "bytes": torch.tensor([[i]], dtype=torch.uint8),
        "numpy": np.arange(6, dtype=np.int16).reshape(2, 3) - i, "line": np.arange(i + 1, dtype=np.uint16), "flags": np.array([[True, i == 1]])}
    values = {"label": i - 1, "score": i / 3, "yes": i % 2 == 1, "text": f"text {i} \u00e9", "raw": b"\0%d\xff" % i}
    raw = {**values, **arrays, "photo": litdata.types.Jpeg(bytes=jpeg), "icon": litdata.types.Image(bytes=png), "file": litdata.types.File(bytes=png, path="x.png"), "pixels": image,
           "nested": {"deep": {"n": i}, "list": [i, f"{i}"], "ids": [i] * (i + 1), "yes": [i == 1] * 2}, "many": litdata.types.JpegArray(images=[jpeg] * 2), "pickled": {1, i}}
    want = {**{k: np.asarray(v).astype(np.float64).ravel().tolist() for k, v in arrays.items()}, **values, "yes": int(values["yes"]), "photo": jpeg, "icon": png, "file": png, "pixels": image.tobytes(),
            "nested.deep.n": i, "nested.ids": [i] * (i + 1), "nested.yes": [int(i == 1)] * 2}
    return raw, {k: base64.b64encode(v).decode() if isinstance(v, bytes) else v for k, v in want.items()}


def write(name, samples, **options):
    """A data set as litdata.optimize lays it out: the files of one writer and their merged index."""
    with tempfile.TemporaryDirectory() as scratch:
        writer = BinaryWriter(scratch, **options)
        for i, one in enumerate(samples):
            writer[i] = one
        writer.done()
        writer.merge()
        (HERE / name).mkdir(parents=True)
        for file in pathlib.Path(scratch).iterdir():
            shutil.copy(file, HERE / name)


shutil.rmtree(HERE, ignore_errors=True)
few = [{key: value for key, value in sample(i)[0].items() if key in ("label", "photo", "text")} for i in range(N)]
write("all", [sample(i)[0] for i in range(N)], chunk_size=3)
write("zstd", few, chunk_size=3, compression="zstd", compression_level="chunk")
write("batch", few, chunk_size=3, compression="zstd", compression_batch_size=2)
write("sample", few, chunk_size=3, compression="zstd", compression_level="sample")
write("tuple", [(sample(i)[0]["photo"], i) for i in range(N)], chunk_size=9)
(HERE / "want.json").write_text(json.dumps([sample(i)[1] for i in range(N)], indent=None, separators=(",", ":")) + "\n")
