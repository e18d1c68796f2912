"""Write media.h5, packed.h5 and small_texts.h5 of this folder: python make_media.py, with h5py 3.16, hdf5plugin 7.1, numpy 2.4 and Pillow 11.

media.h5 has pictures, texts and lists of any length; element k of a list of numbers, and of a dataset of /packed, is what make.value() makes of it.
"""

import io
import pathlib

import h5py
import hdf5plugin
import numpy as np
from make import value
from PIL import Image

HERE = pathlib.Path(__file__).parent
TEXTS = ["", "a cat", "zwei Hunde", "ein Bär und drei Äpfel", "x" * 5000, "end"]


def picture(k, format):
    """16 x 12 pixels that are all of one grey: 40 k + 20."""
    out = io.BytesIO()
    Image.new("RGB", (16, 12), (40 * k + 20,) * 3).save(out, format, **({"quality": 95} if format == "JPEG" else {}))
    return out.getvalue()


def media(file):
    jpegs, pngs = [picture(k, "JPEG") for k in range(6)], [picture(k, "PNG") for k in range(6)]
    lists = file.create_dataset("vlen", shape=(6,), dtype=h5py.vlen_dtype("u1"))
    signed = file.create_dataset("vlen_i8", shape=(6, 1), dtype=h5py.vlen_dtype("i1"), chunks=(4, 1), compression="gzip")
    for k, jpeg in enumerate(jpegs):
        lists[k] = np.frombuffer(jpeg, "u1")
        signed[k, 0] = np.frombuffer(jpeg, "i1")
    longest = max(map(len, jpegs))
    padded = np.zeros((6, longest + 9), "u1")
    for k, jpeg in enumerate(jpegs):
        padded[k, :len(jpeg)] = np.frombuffer(jpeg, "u1")
    file.create_dataset("observations/images/top", data=padded, chunks=(1, longest + 9))
    file.create_dataset("gap", data=padded * (np.arange(6) != 2)[:, None].astype("u1"))
    file.create_dataset("opaque", data=np.array([jpeg.ljust(longest, b"\0") for jpeg in jpegs], f"V{longest}"))
    file.create_dataset("fixed", data=np.array(pngs), chunks=(2,), compression="gzip")  # S, whose zeros at the end numpy drops
    file.create_dataset("pixels", data=value((6, 4, 4, 3), "u1"))
    some = file.create_dataset("some", shape=(6,), dtype=h5py.vlen_dtype("u1"))
    for k in (0, 1, 3):
        some[k] = np.frombuffer(jpegs[k], "u1")
    file.create_dataset("observations/qpos", data=value((6, 3), "<f4"))
    file.create_dataset("action", data=value((6, 2), "<f4"))
    file.create_dataset("label", data=np.arange(6))


def texts(file):
    file.create_dataset("texts/utf8", data=TEXTS, dtype=h5py.string_dtype())
    file.create_dataset("texts/ascii", data=[t.encode() for t in TEXTS], dtype=h5py.string_dtype("ascii"), chunks=(4,), compression="gzip", shuffle=True)
    file.create_dataset("texts/zeros", data=np.array([t[:40].encode() for t in TEXTS]))
    for name, pad in (("terminated", h5py.h5t.STR_NULLTERM), ("spaces", h5py.h5t.STR_SPACEPAD)):
        kind = h5py.h5t.C_S1.copy()
        kind.set_size(48)
        kind.set_strpad(pad)
        made = h5py.h5d.create(file["texts"].id, name.encode(), kind, h5py.h5s.create_simple((6,)))
        raw = [t[:40].encode().ljust(48, b" ") if pad == h5py.h5t.STR_SPACEPAD else (t[:40].encode() + b"\0junk").ljust(48, b"\0") for t in TEXTS]
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array(raw, "S48"), kind)
    file.create_dataset("texts/unwritten", shape=(6,), dtype=h5py.string_dtype())
    file.create_dataset("texts/table", data=[["a", "b"]] * 6, dtype=h5py.string_dtype())


def lists(file):
    for name, dtype in {"i64": "<i8", "i16_big": ">i2", "f32": "<f4"}.items():
        data = file.create_dataset(f"lists/{name}", shape=(6,), dtype=h5py.vlen_dtype(np.dtype(dtype)))
        for k in range(6):
            data[k] = value((k,), dtype)
    pairs = h5py.h5t.vlen_create(h5py.h5t.array_create(h5py.h5t.NATIVE_INT32, (2,)))
    h5py.h5d.create(file["lists"].id, b"pairs", pairs, h5py.h5s.create_simple((6,)))
    nested = h5py.h5t.vlen_create(h5py.h5t.vlen_create(h5py.h5t.NATIVE_INT32))
    h5py.h5d.create(file["lists"].id, b"nested", nested, h5py.h5s.create_simple((6,)))
    # A heap with many objects, the smallest first.
    many = file.create_dataset("lists/many", shape=(700,), dtype=h5py.vlen_dtype("u1"))
    for k in range(700):
        many[k] = np.full(k % 97, k % 251, "u1")


def packed(file):
    Blosc, Shuffle = hdf5plugin.Blosc, hdf5plugin.Bitshuffle
    ways = {"zstd": hdf5plugin.Zstd(), "lz4": hdf5plugin.LZ4(), "lz4_blocks": hdf5plugin.LZ4(nbytes=64), "bits_lz4": Shuffle(cname="lz4"), "bits_none": Shuffle(cname="none"), "bits_zstd": Shuffle(cname="zstd"),
            "bits_blocks": Shuffle(nelems=16, cname="lz4")}
    for codec in ("blosclz", "lz4", "lz4hc", "zlib", "zstd"):
        ways[f"blosc_{codec}"] = Blosc(cname=codec, shuffle=Blosc.SHUFFLE)
    ways["blosc_bits"] = Blosc(cname="lz4", shuffle=Blosc.BITSHUFFLE)
    ways["blosc_plain"] = Blosc(cname="blosclz", clevel=9, shuffle=Blosc.NOSHUFFLE)
    for name, how in ways.items():
        for dtype in ("u1", "<i4", ">f8"):
            file.create_dataset(f"packed/{name}/{np.dtype(dtype).name}_{dtype[0]}", data=value((7, 5, 6), dtype), chunks=(3, 5, 4), **how)
    # Of 0 to 100 in turn a few thousand, so that matches are near and far, long and short.
    for name in ("blosc_blosclz", "bits_lz4", "bits_none", "lz4"):
        file.create_dataset(f"packed/{name}/long", data=value((9, 3011), "<i2"), chunks=(4, 3011), **ways[name])
    far = np.tile(np.repeat(np.random.default_rng(1).integers(0, 256, 900, np.uint8), 10), (6, 1))  # the same again, 9000 bytes ahead
    file.create_dataset("far", data=far, chunks=far.shape, **ways["blosc_plain"])
    file.create_dataset("far_plain", data=far[:1], chunks=(1, 9000), compression="gzip")
    for name, how in {"blosc2": hdf5plugin.Blosc2(), "bzip2": hdf5plugin.BZip2(), "zfp": hdf5plugin.Zfp(reversible=True)}.items():
        file.create_dataset(f"refused/{name}", data=value((6, 4), "<f4"), chunks=(2, 4), **how)
    file.create_dataset("refused/snappy", data=value((600, 4), "<f4"), chunks=(600, 4), **Blosc(cname="snappy"))


def small(file):
    """Of a few kilobytes, to make broken files of."""
    file.create_dataset("a", data=["one", "", "three"], dtype=h5py.string_dtype())
    lists = file.create_dataset("b", shape=(4,), dtype=h5py.vlen_dtype("<i2"), chunks=(2,), compression="gzip")
    for k in range(4):
        lists[k] = value((3 * k,), "<i2")
    file.create_dataset("c/d", data=np.array([b"ab", b"cde"]))
    file.create_dataset("c/e", data=np.array([b"ab\0", b"cde"], "V3"))


if __name__ == "__main__":
    with h5py.File(HERE / "media.h5", "w") as file:
        for part in (media, texts, lists):
            part(file)
    with h5py.File(HERE / "packed.h5", "w", libver="latest") as file:
        packed(file)
    with h5py.File(HERE / "small_texts.h5", "w") as file:
        small(file)
