"""Write zarr.zip beside this file, a directory that tests unpack, and store.zarr.zip and store_deflated.zarr.zip: python make_zarr.py, with zarr 3.1, numcodecs 0.16 and numpy 2.4.

Element k of an array, in C's order, is what value() of make.py makes of it; the last row of those under fill is 9, and the others, never written, 7.
"""

import pathlib
import shutil
import tempfile
import zipfile

import numcodecs
import numpy as np
import zarr
from make import value
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec

HERE = pathlib.Path(tempfile.mkdtemp())
TYPES = ("u1", "i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8", "<f2", "<f4", "<f8", "?")
BLOSC = numcodecs.Blosc
V2 = {"none": None, "zlib": numcodecs.Zlib(), "gzip": numcodecs.GZip(), "zstd": numcodecs.Zstd(), "lz4": numcodecs.LZ4(), "blosc_lz4": BLOSC("lz4"), "blosc_lz4hc": BLOSC("lz4hc", shuffle=0), "blosc_zstd": BLOSC("zstd"),
      "blosc_zlib": BLOSC("zlib"), "blosc_bits": BLOSC("lz4", shuffle=2), "blosc_bits_zstd": BLOSC("zstd", shuffle=2), "blosc_stored": BLOSC("lz4", clevel=0), "blosc_blocks": BLOSC("lz4", blocksize=512)}
V3 = {"none": [], "gzip": [GzipCodec()], "zstd": [ZstdCodec()], "zstd_checksum": [ZstdCodec(checksum=True)], "crc32c": [Crc32cCodec()], "gzip_crc32c": [GzipCodec(), Crc32cCodec()], "blosc": [BloscCodec(cname="lz4")],
      "blosc_bits": [BloscCodec(cname="zstd", shuffle="bitshuffle")]}


def make(name, data, version, chunks, **how):
    array = zarr.create_array(HERE / name, shape=data.shape, dtype=data.dtype, chunks=chunks, zarr_format=version, fill_value=how.pop("fill", 0), **how)
    array[...] = data


def shards(name, version, chunks, whole, **how):
    """An array whose files have several chunks each."""
    make(name, value((13, 7), "<i4"), version, whole, compressors=[], serializer=ShardingCodec(chunk_shape=chunks, **how))


def store(name, groups):
    """A zip beside this file, as ZipStore makes them: stored, or deflated, and of members written twice the last counts."""
    for deflated in (False, True):
        path = pathlib.Path(__file__).parent / (name + ("_deflated" if deflated else "") + ".zarr.zip")
        path.unlink(missing_ok=True)
        into = zarr.storage.ZipStore(path, mode="w", compression=zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED)
        for at, (version, data, how) in groups.items():
            if deflated and "shards" in how:
                continue
            array = zarr.create_array(into, name=at, shape=data.shape, dtype=data.dtype, zarr_format=version, fill_value=0, **how)
            array[...] = np.zeros_like(data) + 1
            array[...] = data
        into.close()


if __name__ == "__main__":
    for dtype in TYPES:
        name = np.dtype(dtype).name
        make(f"types2/{name}", value((5, 3), dtype), 2, (2, 2))
        make(f"types3/{name}", value((5, 3), dtype), 3, (2, 2))
    for dtype in (">i2", ">f4", ">f8"):
        make(f"types2/{np.dtype(dtype).name}_big", value((5, 3), dtype), 2, (5, 2))
        make(f"types3/{np.dtype(dtype).name}_big", value((5, 3), dtype), 3, (5, 2), serializer=BytesCodec(endian="big"))
    for name, codec in V2.items():
        make(f"codecs2/{name}", value((150, 11), "<i4"), 2, (70, 11), compressors=codec)
    make("codecs2/odd", value((130, 3), "<i2"), 2, (65, 3), compressors=BLOSC("lz4", shuffle=2))
    make("codecs2/filter", value((50, 3), "<i2"), 2, (20, 3), compressors=numcodecs.Zlib(), filters=[numcodecs.Shuffle(2)])
    for name, codecs in V3.items():
        make(f"codecs3/{name}", value((150, 11), "<i4"), 3, (70, 11), compressors=codecs)
    make("names2/slash", value((5, 3, 2), "<i4"), 2, (2, 2, 1), chunk_key_encoding={"name": "v2", "separator": "/"})
    make("names3/dot", value((5, 3, 2), "<i4"), 3, (2, 2, 1), chunk_key_encoding={"name": "default", "separator": "."})
    make("names3/v2", value((5, 3, 2), "<i4"), 3, (2, 2, 1), chunk_key_encoding={"name": "v2", "separator": "."})
    for version in (2, 3):
        for dtype in ("u1", "<i8", "<f2", "<f4", "<f8"):
            array = zarr.create_array(HERE / f"fill{version}/{np.dtype(dtype).name}", shape=(7, 3), dtype=dtype, chunks=(2, 2), zarr_format=version, fill_value=7)
            array[6:] = 9
    make("refused/text", np.array(["a", "b"]), 2, (1,), fill="")
    make("refused/complex", np.zeros(3, "c8"), 3, (2,))
    make("order2/fortran", value((7, 5, 3), "<i4"), 2, (3, 2, 2), order="F")
    make("order2/fortran_zlib", value((7, 5, 3), "<i2"), 2, (3, 2, 2), order="F", compressors=numcodecs.Zlib())
    make("order2/line", value((7,), "<i2"), 2, (3,), order="F")
    make("order3/transpose", value((7, 5, 3), "<i4"), 3, (3, 2, 2), filters=[TransposeCodec(order=(2, 0, 1))])
    make("codecs2/bz2", value((150, 11), "<i4"), 2, (70, 11), compressors=numcodecs.BZ2())
    for dtype in ("u1", "<i2", "<i8"):
        make(f"codecs2/delta_{np.dtype(dtype).name}", value((50, 3), dtype), 2, (20, 3), compressors=numcodecs.Zlib(), filters=[numcodecs.Delta(dtype)])
    shards("shards/end", 3, (2, 3), (6, 6))
    shards("shards/start", 3, (2, 3), (6, 6), index_location="start")
    shards("shards/row", 3, (1, 7), (8, 7), codecs=[BytesCodec(), ZstdCodec()])
    shards("shards/big", 3, (2, 2), (4, 4), codecs=[BytesCodec(endian="big"), GzipCodec(), Crc32cCodec()], index_codecs=[BytesCodec(endian="big")])
    shards("shards/transposed", 3, (2, 3), (6, 6), codecs=[TransposeCodec(order=(1, 0)), BytesCodec()])
    for dtype in ("<i4", "<f8"):
        array = zarr.create_array(HERE / f"fill3/shards_{np.dtype(dtype).name}", shape=(7, 3), dtype=dtype, chunks=(1, 2), shards=(4, 2), fill_value=7)
        array[6:] = 9
    make("refused/shards_packed", value((4, 3), "<i4"), 3, (4, 3), compressors=[ZstdCodec()], serializer=ShardingCodec(chunk_shape=(2, 3)))
    make("refused/shards_twice", value((4, 3), "<i4"), 3, (4, 3), compressors=[], serializer=ShardingCodec(chunk_shape=(4, 3), codecs=[ShardingCodec(chunk_shape=(2, 3))]))
    make("refused/lzma", value((4, 3), "<i4"), 2, (2, 2), compressors=numcodecs.LZMA())
    make("refused/delta", value((4, 3), "<f4"), 2, (2, 2), filters=[numcodecs.Delta("<f4")])
    make("refused/blosclz", value((900, 3), "<i4"), 2, (900, 3), compressors=BLOSC("blosclz"))
    zarr.create_array(HERE / "refused/scalar", shape=(), dtype="f4", zarr_format=2)
    zarr.create_group(HERE / "refused/group", zarr_format=3)
    zarr.create_group(HERE / "group2", zarr_format=2).create_array("x", shape=(3,), dtype="u1")
    shutil.make_archive(str(pathlib.Path(__file__).parent / "zarr"), "zip", HERE)
    shutil.rmtree(HERE)
    ends = np.array([5, 9, 13], "<i8")
    store("store", {
        "data/action": (2, value((13, 7), "<f4"), {"chunks": (4, 7)}),
        "data/plain": (2, value((13, 7), "<i4"), {"chunks": (4, 7), "compressors": None}),
        "data3/action": (3, value((13, 7), "<i2"), {"chunks": (4, 3)}),
        "data3/shards": (3, value((13, 7), "<i4"), {"chunks": (1, 7), "shards": (8, 7)}),
        "meta/episode_ends": (2, ends, {"chunks": (2,)}),
    })
