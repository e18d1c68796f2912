"""Writes the Parquet files of this directory with pyarrow, and sees that pyarrow reads them as they are meant: python3 make.py."""
import math
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq

N = 50
HERE = pathlib.Path(__file__).parent
schema = pa.schema({
    "ids": pa.list_(pa.int64()), "emb": pa.list_(pa.float32(), 3), "boxes": pa.large_list(pa.list_(pa.float64(), 4)), "yes": pa.list_(pa.bool_()),
    "objects": pa.struct({"area": pa.list_(pa.uint64()), "name": pa.list_(pa.string())}), "image": pa.struct({"bytes": pa.binary(), "path": pa.string()}),
    "tags": pa.list_(pa.string()), "maybe": pa.list_(pa.int32()), "pairs": pa.map_(pa.string(), pa.int64()),
    "parts": pa.list_(pa.struct({"x": pa.int16(), "name": pa.string()})), "half": pa.list_(pa.float16()), "cents": pa.list_(pa.decimal128(9, 2))})
rows = [{
    "ids": [i * j for j in range(i % 5)], "emb": [i + 0.5, -i, math.nan if i == 7 else 1e30], "boxes": [[i, j, i + j, 0.25] for j in range(i % 3)],
    "yes": [j % 3 == 0 for j in range(i % 4)], "objects": {"area": [i] * (i % 2), "name": ["x"]}, "image": {"bytes": b"%d" % i, "path": f"{i}.jpg"},
    "tags": ["a"], "maybe": [[1, 2], None, [], [None], [3]][min(i, 4)], "pairs": [("k", 1)],
    "parts": [{"x": j, "name": "p"} for j in range(i % 3)], "half": [i / 2], "cents": [i, i + 0.25]} for i in range(N)]
cents = pa.array([row["cents"] for row in rows], pa.list_(pa.float64())).cast(schema.field("cents").type)
table = pa.table([cents if field.name == "cents" else pa.array([row[field.name] for row in rows], field.type) for field in schema], schema=schema)
always = {"store_schema": False, "write_statistics": False, "data_page_size": 64}
for name, options in {
    "v1": {"row_group_size": 30, "write_batch_size": 3, "compression": "snappy"},
    "v2": {"write_batch_size": 7, "compression": "zstd", "data_page_version": "2.0", "use_dictionary": False,
           "column_encoding": {"ids.list.element": "DELTA_BINARY_PACKED", "emb.list.element": "BYTE_STREAM_SPLIT"}},
    "dictionary": {"write_batch_size": 1, "compression": "none", "data_page_version": "2.0", "use_compliant_nested_type": False},
}.items():
    file = HERE / f"arrow_lists_{name}.parquet"
    pq.write_table(table, file, **always, **options)
    read = pq.read_table(file)
    for name in schema.names:
        assert str(read[name].to_pylist()) == str(table[name].to_pylist()), (file, name)
