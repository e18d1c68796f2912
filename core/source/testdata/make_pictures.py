"""Writes the Parquet files of this directory whose rows have several pictures, and sees that pyarrow reads them as they are meant: python3 make_pictures.py."""
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq

N = 50
HERE = pathlib.Path(__file__).parent
image = pa.struct({"bytes": pa.binary(), "path": pa.string()})
schema = pa.schema({
    "images": pa.list_(image), "blobs": pa.large_list(pa.binary()), "image_1": image, "image_2": image, "image_10": pa.binary(),
    "paths": pa.list_(pa.string()), "holed": pa.list_(image), "half": image, "label": pa.int64()})


def one(i, j):
    return {"bytes": b"%d.%d:" % (i, j) + b"x" * (40 * j), "path": f"{i}.{j}.jpg"}


rows = [{
    "images": [None, [], [one(i, 0)], [one(i, j) for j in range(3)]][i % 4], "blobs": [one(i, j)["bytes"] for j in range(i % 3)],
    "image_1": one(i, 1), "image_2": None if i % 2 else one(i, 2), "image_10": None if i % 5 else b"%d.10:" % i, "paths": [f"{i}/{j}.jpg" for j in range(i % 3)],
    "holed": [one(i, 0), None if i == 2 else {"bytes": None, "path": "y.jpg"} if i == 3 else one(i, 1)],
    "half": None if i % 3 == 0 else {"bytes": None, "path": "z.jpg"} if i == 1 else one(i, 1), "label": i} for i in range(N)]
table = pa.Table.from_pylist(rows, schema)
for name, options in {
    "v1": {"row_group_size": 30, "write_batch_size": 2, "compression": "snappy", "use_dictionary": False},
    "v2": {"write_batch_size": 7, "compression": "zstd", "data_page_version": "2.0", "use_dictionary": False},
    "dictionary": {"write_batch_size": 1, "compression": "none"},
    "index": {"row_group_size": 20, "write_batch_size": 2, "write_page_index": True, "use_dictionary": False},
}.items():
    file = HERE / f"arrow_pictures_{name}.parquet"
    pq.write_table(table, file, store_schema=False, write_statistics=False, data_page_size=64, **options)
    assert pq.read_table(file).to_pylist() == table.to_pylist(), file

# The same in Arrow's two formats, of several batches, the first of which begins in the middle of its buffers.
table = table.drop_columns(["paths"]).append_column("large", pa.array([[one(i, j)["bytes"] for j in range(i % 3)] for i in range(N)], pa.large_list(pa.large_binary())))
batches = [table.slice(at, n).combine_chunks().to_batches()[0] for at, n in ((0, 21), (21, 19), (40, 10))]
batches[1] = table.combine_chunks().to_batches()[0].slice(21, 19)
for name, new in ("arrow_pictures.arrow", pa.ipc.new_stream), ("arrow_pictures_file.arrow", pa.ipc.new_file):
    with new(HERE / name, table.schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
with pa.ipc.open_stream(HERE / "arrow_pictures.arrow") as reader:
    assert reader.read_all().to_pylist() == table.to_pylist()
