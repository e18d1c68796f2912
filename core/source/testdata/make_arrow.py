"""Writes the files of arrow/ with pyarrow (26.0.1), Hugging Face's datasets (5.2.0), Polars (2.1.0) and Pillow, and what is in them, as the script itself knows it, into arrow/want.json:
python3 make_arrow.py. saved is what save_to_disk writes, splits that of several splits; types.arrow has a column of every type, once as a stream and once as a file."""
import base64
import datetime
import decimal
import io
import json
import pathlib
import shutil

import datasets
import numpy as np
import polars
import pyarrow as pa
import pyarrow.feather
from PIL import Image

HERE = pathlib.Path(__file__).parent / "arrow"
N = 5
WHOLE = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def picture(i):
    """A file that has the same bytes whenever it is written."""
    pixels = (np.arange(4 * 6 * 3).reshape(4, 6, 3) * 3 + i).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "png")
    return file.getvalue()


def saved():
    features = datasets.Features({
        "image": datasets.Image(), "caption": datasets.Value("string"), "label": datasets.ClassLabel(names=["cat", "dog", "owl"]), "score": datasets.Value("float32"),
        "flag": datasets.Value("bool"), "ids": datasets.Sequence(datasets.Value("int32")), "fixed": datasets.Sequence(datasets.Value("float32"), length=3),
        "matrix": datasets.Array2D((2, 3), "float32"), "tags": datasets.Sequence(datasets.Value("string")), "boxes": datasets.Sequence(datasets.Sequence(datasets.Value("float64"), length=4))})
    rows = [{
        "image": {"bytes": picture(i), "path": f"{i}.png"}, "caption": f"caption {i} \u00e9", "label": (2 * i) % 3, "score": i / 4, "flag": i % 2 == 1, "ids": list(range(100, 100 + i)),
        "fixed": [i, i + 0.5, -i], "matrix": (np.arange(6).reshape(2, 3) * i).tolist(), "tags": ["a"] * i, "boxes": [[i, 1, 2, k] for k in range(i)]} for i in range(N)]
    data = datasets.Dataset.from_list(rows, features=features)
    data.save_to_disk(str(HERE / "saved"), num_shards=2)
    few = data.select_columns(["image", "label"])
    datasets.DatasetDict(train=few, test=few.select(range(2))).save_to_disk(str(HERE / "splits"))
    want = [{
        "photo": row["image"]["bytes"], "path": row["image"]["path"], **{key: row[key] for key in ("caption", "label", "score", "ids", "fixed")}, "flag": int(row["flag"]),
        "matrix": np.ravel(row["matrix"]).tolist(), "boxes": np.ravel(row["boxes"]).tolist()} for row in rows]
    return want


def types():
    """A table with a column of every type; None is null."""
    day, moment = datetime.date(2020, 1, 31), datetime.datetime(2020, 1, 31, 13, 45, 0, 250000)
    clock = datetime.time(13, 45, 0, 250000)

    def none(i, v):
        return None if i == 3 else v

    columns = {"label": pa.array([i - 1 for i in range(N)], pa.int64())}
    for name in WHOLE:
        least, most = int(np.iinfo(name).min), int(np.iinfo(name).max)
        columns[name] = pa.array([0, least, most, 3, 4], name)
    columns |= {
        "halffloat": pa.array(np.array([i / 2 for i in range(N)], np.float16)), "float": pa.array([-i / 4 for i in range(N)], pa.float32()), "double": pa.array([i / 3 for i in range(N)]),
        "bool": pa.array([i % 2 == 0 for i in range(N)]), "number": pa.array([none(i, i) for i in range(N)], pa.int32()),
        "string": pa.array([none(i, f"text {i}") for i in range(N)]), "large_string": pa.array([f"large {i}" for i in range(N)], pa.large_string()),
        "view": pa.array([none(i, "v" * (i * 6)) for i in range(N)], pa.string_view()), "binary": pa.array([b"\0%d\xff" % i for i in range(N)]),
        "large_binary": pa.array([b"%d" % i for i in range(N)], pa.large_binary()), "fixed_binary": pa.array([b"abc%d" % i for i in range(N)], pa.binary(4)),
        "date32": pa.array([day] * N, pa.date32()), "date64": pa.array([day] * N, pa.date64()), "time32": pa.array([clock] * N, pa.time32("s")), "time64": pa.array([clock] * N, pa.time64("us")),
        "timestamp_s": pa.array([moment] * N, pa.timestamp("s")), "timestamp_ms": pa.array([moment] * N, pa.timestamp("ms")),
        "timestamp_us": pa.array([moment] * N, pa.timestamp("us", tz="UTC")), "timestamp_ns": pa.array([moment] * N, pa.timestamp("ns")),
        "duration": pa.array([datetime.timedelta(seconds=i) for i in range(N)], pa.duration("ms")), "decimal": pa.array([decimal.Decimal(i) / 4 - 1 for i in range(N)], pa.decimal128(10, 2)),
        "decimal256": pa.array([decimal.Decimal(i) for i in range(N)], pa.decimal256(40, 1)),
        "words": pa.array(["red", "green", None, "red", "blue"]).dictionary_encode(), "places": pa.DictionaryArray.from_arrays(pa.array([1, 0, 1, 2, 2], pa.int8()), pa.array([70, 80, 90])),
        "list": pa.array([[1] * i if i != 2 else None for i in range(N)], pa.list_(pa.int16())), "large_list": pa.array([[i, 2**40] for i in range(N)], pa.large_list(pa.int64())),
        "holes": pa.array([[1, None] if i == 1 else [i] for i in range(N)], pa.list_(pa.int32())), "uneven": pa.array([[[1] * (1 + i)] * 2 + [[]] for i in range(N)]),
        "cube": pa.array([[[[i, 1], [2, 3]]] * i for i in range(N)], pa.list_(pa.list_(pa.list_(pa.float32(), 2)))),
        "nested": pa.array([{"a": {"b": i}, "c": "x"} if i != 1 else None for i in range(N)]), "objects": pa.array([[{"area": i + k / 2, "box": [k, i], "name": "x"} for k in range(i)] for i in range(N)]), "null": pa.nulls(N), "map": pa.array([[("k", i)] for i in range(N)], pa.map_(pa.string(), pa.int32())),
        "union": pa.UnionArray.from_sparse(pa.array([0] * N, pa.int8()), [pa.array(range(N))]), "flags": pa.array([[k % 3 == 0 for k in range(5 * i)] for i in range(N)], pa.list_(pa.bool_())), "ends": pa.array(range(N))}
    want = []
    for i in range(N):
        row = {key: c[i].as_py() for key, c in columns.items() if key in (*WHOLE, "label", "halffloat", "float", "double", "large_string", "binary", "large_binary", "fixed_binary", "places", "ends")}
        row |= {"bool": int(i % 2 == 0), "string": "" if i == 3 else f"text {i}", "view": "" if i == 3 else "v" * (6 * i), "date32": "2020-01-31", "date64": "2020-01-31", "time32": "13:45:00",
                "time64": "13:45:00.25", "timestamp_s": "2020-01-31T13:45:00", "timestamp_ms": "2020-01-31T13:45:00.25", "timestamp_us": "2020-01-31T13:45:00.25Z",
                "timestamp_ns": "2020-01-31T13:45:00.25", "duration": str(1000 * i), "decimal": ["-1.00", "-0.75", "-0.50", "-0.25", "0.00"][i], "decimal256": f"{i}.0",
                "words": ["red", "green", "", "red", "blue"][i], "large_list": [i, 2**40], "cube": [i, 1, 2, 3] * i,
                "flags": [int(k % 3 == 0) for k in range(5 * i)], "objects.area": [i + k / 2 for k in range(i)], "objects.box": [v for k in range(i) for v in (k, i)]}
        want.append(row)
    table = pa.table(columns)
    with pa.OSFile(str(HERE / "types.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as out:
        for begin, end in ((0, 1), (1, 4), (4, 5)):
            out.write_table(table.slice(begin, end - begin).combine_chunks())
    with pa.OSFile(str(HERE / "types_file.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as out:
        out.write_table(table)
    return want


def few(n, compression, kind):
    """A file whose buffers are compressed, and some too short for it."""
    table = pa.table({"label": pa.array(range(n)), "text": pa.array(["word " * 20 + str(i) for i in range(n)]), "ids": pa.array([list(range(i)) for i in range(n)], pa.list_(pa.int32()))})
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.OSFile(str(HERE / kind), "wb") as sink, (pa.ipc.new_stream if "stream" in kind else pa.ipc.new_file)(sink, table.schema, options=options) as out:
        out.write_table(table, max_chunksize=20)


def deltas():
    """A stream whose dictionary grows, and then is another."""
    schema = pa.schema([("words", pa.dictionary(pa.int8(), pa.string()))])
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    with pa.OSFile(str(HERE / "deltas.arrow"), "wb") as sink, pa.ipc.new_stream(sink, schema, options=options) as out:
        for words in (["a", "b"], ["a", "b", "c"], ["z"]):
            array = pa.DictionaryArray.from_arrays(pa.array(range(len(words)), pa.int8()), pa.array(words))
            out.write_batch(pa.record_batch([array], schema=schema))


def of_polars(compression, name):
    """A file without a message before its batches, and with its dictionaries behind them: only the footer tells."""
    polars.DataFrame({
        "label": range(N), "text": ["text " * (4 * i) for i in range(N)], "ids": [list(range(i)) for i in range(N)], "words": polars.Series(["red", "green", "red", "blue", "green"], dtype=polars.Categorical)
    }).write_ipc(HERE / name, compression=compression)


shutil.rmtree(HERE, ignore_errors=True)
HERE.mkdir()
of_polars("uncompressed", "polars.arrow")
of_polars("zstd", "polars_zstd.arrow")
of_polars("lz4", "polars_lz4.arrow")
want = {"saved": saved(), "types": types()}
few(50, "lz4", "lz4.feather")
few(50, "zstd", "zstd_stream.arrows")
deltas()
pa.feather.write_feather(pa.table({"label": [1]}), str(HERE / "old.feather"), version=1)


def based(v):
    return base64.b64encode(v).decode() if isinstance(v, bytes) else v


(HERE / "want.json").write_text(json.dumps({k: [{key: based(v) for key, v in row.items()} for row in rows] for k, rows in want.items()}, separators=(",", ":")) + "\n")
for split in (HERE / "splits").iterdir():
    if split.is_dir():
        (split / "dataset_info.json").unlink()
