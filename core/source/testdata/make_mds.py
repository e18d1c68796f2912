"""Writes the data sets of mds/ with MosaicML's Streaming (0.13.0) and Pillow (12.1.0), and what is in them, as the script itself knows it, into mds/want.json:
python3 make_mds.py. Every encoding that MDSWriter takes is a column; the second data set is written once for each compression."""
import base64
import decimal
import io
import json
import pathlib
import shutil

import numpy as np
from PIL import Image
from streaming import MDSWriter, StreamingDataset

HERE = pathlib.Path(__file__).parent / "mds"
N = 5
WHOLE = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def picture(i, kind, mode="RGB"):
    """A picture whose file has the same bytes whenever it is written."""
    pixels = (np.arange(4 * 6 * 3).reshape(4, 6, 3) * 3 + i).astype(np.uint8)
    image = Image.fromarray(pixels).convert(mode)
    file = io.BytesIO()
    image.save(file, kind)
    return image, file.getvalue()


def sample(i):
    """The sample, and its values as numbers, texts, lists and, in base64, bytes."""
    jpeg, jpeg_file = picture(i, "jpeg")
    png, png_file = picture(i, "png")
    arrays = {
        "array": np.arange(i + 1, dtype=np.float32).reshape(1, -1) / 2, "array_long": np.full((300, 1), i, np.uint8), "array_typed": np.arange(i + 2, dtype=np.int16) - 1,
        "array_shaped": (np.arange(6).reshape(2, 3) * i).astype(np.float16), "array_wide": np.array([i, 2**63 + i], np.uint64)}
    extreme = {name: int(np.iinfo(name).min if i == 1 else np.iinfo(name).max if i == 2 else i) for name in WHOLE}
    values = {
        "label": i - 1, "x": b"\0%d\xff" % i, "none": b"", "text": f"text {i} \u00e9", **extreme, "float16": i / 2, "float32": -i / 4, "float64": i / 3, "digits": -i * 10**12,
        "decimal": i + 0.25, "float": i * 1e30, "meta": {"a": {"b": i}, "list": [i, i + 1]}}
    raw = {**values, **arrays, "photo": jpeg, "mask": png, "pixels": jpeg, "grey": jpeg.convert("L"), "decimal": decimal.Decimal(values["decimal"]), "pickle": {"a": i}, "many": [jpeg_file] * 2,
           "list": [jpeg, jpeg]}
    want = {**{k: v.ravel().tolist() for k, v in arrays.items()}, **values, "photo": jpeg_file, "mask": png_file, "pixels": jpeg.tobytes(), "grey": jpeg.convert("L").tobytes()}
    return raw, {k: base64.b64encode(v).decode() if isinstance(v, bytes) else v for k, v in want.items()}


COLUMNS = {
    "label": "int", "x": "bytes", "none": "bytes", "text": "str", **{name: name for name in WHOLE}, "float16": "float16", "float32": "float32", "float64": "float64", "digits": "str_int",
    "decimal": "str_decimal", "float": "str_float", "meta": "json", "array": "ndarray", "array_long": "ndarray", "array_typed": "ndarray:int16", "array_shaped": "ndarray:float16:2,3",
    "array_wide": "ndarray:uint64", "photo": "jpeg", "mask": "png", "pixels": "pil", "grey": "pil", "pickle": "pkl", "many": "jpeg_array", "list": "list[jpeg]"}
FEW = ["label", "photo", "text"]

shutil.rmtree(HERE, ignore_errors=True)
for name, compression in {"all": None, "gz": "gz", "bz2": "bz2", "br": "br", "snappy": "snappy", "zstd": "zstd:7"}.items():
    columns = {key: COLUMNS[key] for key in (FEW if compression else COLUMNS)}
    with MDSWriter(out=str(HERE / name), columns=columns, compression=compression, hashes=["sha1"], size_limit=2_500 if compression else 14_000) as out:
        for i in range(N):
            out.write({key: value for key, value in sample(i)[0].items() if key in columns})
(HERE / "want.json").write_text(json.dumps([sample(i)[1] for i in range(N)], indent=None, separators=(",", ":")) + "\n")
read = StreamingDataset(local=str(HERE / "all"), shuffle=False, batch_size=1, allow_unsafe_types=True)
assert len(read) == N and read[3]["label"] == 2 and read[4]["array_long"].shape == (300, 1)
