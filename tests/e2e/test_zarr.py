"""Zarr's arrays as whole arrays, through the real command: compared with what zarr itself reads."""

import subprocess
import sys

import numpy as np
import pytest

import spdl

# zarr keeps a loop and its descriptors as long as its process lives, so it has one of its own.
WRITE = """
import itertools
import sys

import numcodecs
import numpy as np
import zarr
from numcodecs import Blosc
from zarr import codecs

TYPES = ("u1", ">i2", "<i4", "<f8")
CHUNKS = (((23, 5), (1, 5)), ((23, 5), (4, 5)), ((23, 5), (7, 2)), ((23, 5), (23, 5)), ((23,), (4,)), ((23, 3, 2, 4), (5, 2, 2, 3)))
CODECS = {
    2: (None, numcodecs.BZ2(), numcodecs.Zlib(), numcodecs.GZip(), numcodecs.Zstd(), numcodecs.LZ4(), *(Blosc(name, shuffle=shuffle, blocksize=size) for name in ("lz4", "zstd", "zlib") for shuffle in (0, 1, 2) for size in (0, 256))),
    3: ([], codecs.GzipCodec(), codecs.ZstdCodec(), [codecs.ZstdCodec(), codecs.Crc32cCodec()], *(codecs.BloscCodec(cname=name, shuffle=shuffle) for name in ("lz4", "zstd") for shuffle in ("noshuffle", "shuffle", "bitshuffle"))),
}
version, rng, wants = int(sys.argv[2]), np.random.default_rng(3), {}
store = zarr.storage.ZipStore(sys.argv[1] + "/x.zarr.zip", mode="w") if sys.argv[3] == "zip" else sys.argv[1] + "/x.zarr"
group = zarr.create_group(store, zarr_format=version)
for k, (dtype, how, (shape, chunks)) in enumerate(itertools.product(TYPES, CODECS[version], CHUNKS)):
    endian = {"serializer": codecs.BytesCodec(endian="big")} if version == 3 and dtype[0] == ">" else {}
    if version == 3 and k % 2:
        endian["shards"] = tuple(2 * n for n in chunks)
    if version == 2 and k % 4 == 1:
        endian["order"] = "F"
    if version == 3 and k % 4 == 2:
        endian["filters"] = [codecs.TransposeCodec(order=tuple(range(len(shape)))[::-1])]
    data = group.create_array(f"d{k}", shape=shape, dtype=dtype, chunks=chunks, fill_value=5, compressors=how, **endian)
    first, last = (3, 17) if k % 3 == 0 else (0, 23)
    data[first:last] = rng.integers(0, 100, (last - first, *shape[1:])).astype(dtype)
    wants[f"d{k}"] = data[...].astype(np.dtype(dtype).newbyteorder("="))
np.savez(sys.argv[1] + "/want.npz", **wants)
if sys.argv[3] == "zip":
    store.close()
"""


@pytest.mark.parametrize("store", ["directory", "zip"])
@pytest.mark.parametrize("version, many", [(2, 576), (3, 240)])
def test_every_kind_of_array_is_what_zarr_reads(tmp_path, open_, version, many, store):
    """Types, chunks, shards, orders and codecs, with chunks that are not there; rows, and windows of 6."""
    pytest.importorskip("zarr", minversion="3")
    subprocess.run([sys.executable, "-W", "ignore", "-c", WRITE, tmp_path, str(version), store], check=True, timeout=300)
    with np.load(tmp_path / "want.npz") as file:
        wants = dict(file)
    assert len(wants) == many
    for names in (list(wants)[at:at + 24] for at in range(0, len(wants), 24)):
        for more in ({}, {"window": 6, "step": 4}):
            arrays = [{"name": name, "file": str(tmp_path / ("x.zarr.zip" if store == "zip" else "x.zarr") / name), **more} for name in names]
            loader = open_({"source": {"arrays": arrays}, "batch": 23, "order": {"seed": 1, "epochs": 1}})
            for batch in loader:
                for name in names:
                    want = np.stack([wants[name][4 * i:4 * i + 6] if more else wants[name][i] for i in batch["index"]])
                    np.testing.assert_array_equal(batch[name], want, name)
            loader.close()


def test_arrays_of_zarr_take_windows_and_a_local_cache(tmp_path, open_):
    """What a description of numbers in a directory needs, without zarr: an array written by hand."""
    want = np.arange(40, dtype=">i4").reshape(10, 4)
    (tmp_path / "x").mkdir()
    (tmp_path / "x/.zarray").write_text('{"zarr_format": 2, "shape": [10, 4], "chunks": [4, 4], "dtype": ">i4", "order": "C", "compressor": null, "filters": null, "fill_value": -1}')
    for k in range(2):
        (tmp_path / f"x/{k}.0").write_bytes(want[4 * k:4 * k + 4].tobytes())
    want = np.concatenate([want[:8].astype("i4"), np.full((2, 4), -1, "i4")])
    spec = {"source": {"arrays": [{"name": "x", "file": str(tmp_path / "x"), "window": 3, "step": 1}]}, "batch": 4, "order": {"seed": 1, "epochs": 1}, "cache": {"rows_dir": str(tmp_path / "rows"), "rows_bytes": "1MiB"}}
    for _ in range(2):
        loader = open_(spec)
        seen = []
        for batch in loader:
            seen += batch["index"].tolist()
            np.testing.assert_array_equal(batch["x"], np.stack([want[i:i + 3] for i in batch["index"]]))
        loader.close()
        assert sorted(seen) == list(range(8))


def test_what_is_no_array_of_zarr_is_refused_by_name(tmp_path):
    with pytest.raises(spdl.SpecError, match="got a directory, want a regular file, or an array of Zarr"):
        spdl.open({"source": {"arrays": [{"name": "x", "file": str(tmp_path)}]}})
