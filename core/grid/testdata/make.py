"""Write the HDF5 files of this folder: python make.py, with h5py 3.16 and numpy 2.4.

Element k of a dataset, in C's order, is what value() makes of it. The names say what a dataset is; what is under /fill has elements that were
never written, and they are 7.
"""

import pathlib

import h5py
import numpy as np

HERE = pathlib.Path(__file__).parent
TYPES = {"u8": "u1", "i8": "i1", "u16": "<u2", "i16": "<i2", "u32": "<u4", "i32": "<i4", "u64": "<u8", "i64": "<i8", "f16": "<f2", "f32": "<f4", "f64": "<f8",
         "i16_big": ">i2", "u32_big": ">u4", "i64_big": ">i8", "f16_big": ">f2", "f32_big": ">f4", "f64_big": ">f8", "bool": "?"}
FILTERS = {"none": {}, "gzip": {"compression": "gzip"}, "lzf": {"compression": "lzf"}, "shuffle_gzip": {"shuffle": True, "compression": "gzip"}, "shuffle_lzf": {"shuffle": True, "compression": "lzf"},
           "fletcher": {"fletcher32": True}, "all": {"shuffle": True, "compression": "gzip", "compression_opts": 9, "fletcher32": True}}


def value(shape, dtype):
    n = (np.arange(np.prod(shape), dtype=np.int64) * 37 + 11) % 101
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        n = n % 2
    if dtype.kind in "if":
        n = n - 50
    return (n / 4 if dtype.kind == "f" else n).astype(dtype).reshape(shape)


def types(file):
    for name, dtype in TYPES.items():
        file.create_dataset(f"types/contiguous/{name}", data=value((5, 3), dtype))
        file.create_dataset(f"types/chunked/{name}", data=value((5, 3), dtype), chunks=(2, 3), compression="gzip")


def filters(file):
    for name, how in FILTERS.items():
        file.create_dataset(f"filters/{name}", data=value((7, 5, 6), "<i4"), chunks=(3, 5, 4), **how)
    file.create_dataset("filters/incompressible", data=value((40, 4), "u1"), chunks=(4, 4), compression="lzf")


def layouts(file):
    low = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    low.set_layout(h5py.h5d.COMPACT)
    write(file, "layouts/compact", (6, 4), "<f4", low)
    low = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    low.set_chunk((2, 4))
    low.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    write(file, "layouts/implicit", (7, 6), "<f4", low)
    write(file, "layouts/implicit_grown", (7, 6), "<f4", low, most=(20, 9))
    file.create_dataset("layouts/single", data=value((7, 6), "<f4"), chunks=(7, 6))
    file.create_dataset("layouts/single_gzip", data=value((7, 6), "<f4"), chunks=(7, 6), compression="gzip")
    file.create_dataset("layouts/fixed", data=value((7, 6), "<f4"), chunks=(2, 4))
    file.create_dataset("layouts/fixed_pages", data=value((1100, 2), "u1"), chunks=(1, 2), compression="gzip")
    file.create_dataset("layouts/fixed_grown", data=value((7, 6), "<f4"), chunks=(2, 4), maxshape=(30, 11), compression="lzf")
    file.create_dataset("layouts/extensible", data=value((50, 3), "<i2"), chunks=(1, 3), maxshape=(None, 3))
    file.create_dataset("layouts/extensible_gzip", data=value((300, 2), "<i2"), chunks=(1, 2), maxshape=(None, 2), compression="gzip")
    file.create_dataset("layouts/extensible_second", data=value((4, 90), "<i2"), chunks=(2, 1), maxshape=(4, None), compression="lzf")
    file.create_dataset("layouts/extensible_many", data=value((600, 1), "u1"), chunks=(1, 1), maxshape=(None, 1))
    file.create_dataset("layouts/endless", data=value((30, 20), "<i2"), chunks=(3, 7), maxshape=(None, None))
    file.create_dataset("layouts/endless_gzip", data=value((300, 4), "<i2"), chunks=(1, 2), maxshape=(None, None), compression="gzip")
    file.create_dataset("layouts/wide", data=value((4, 5, 3, 2), "<i2"), chunks=(3, 2, 2, 2), compression="gzip")
    file.create_dataset("layouts/arrays", shape=(6,), dtype=np.dtype(("<i2", (2, 3))), chunks=(4,), compression="gzip")[...] = value((6, 2, 3), "<i2")
    shrunk = file.create_dataset("layouts/shrunk", data=value((20, 3), "<i2"), chunks=(2, 2), maxshape=(None, 3), compression="gzip")
    shrunk.resize(9, axis=0)
    edges = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    edges.set_chunk((2, 4))
    edges.set_deflate(4)
    if hasattr(edges, "set_chunk_opts"):
        edges.set_chunk_opts(2)
    write(file, "layouts/edges", (7, 6), "<f4", edges)


def write(file, name, shape, dtype, how, most=None):
    group, name = name.split("/")
    parent = file.require_group(group)
    made = h5py.h5d.create(parent.id, name.encode(), h5py.h5t.py_create(np.dtype(dtype)), h5py.h5s.create_simple(shape, most or shape), how)
    made.write(h5py.h5s.ALL, h5py.h5s.ALL, value(shape, dtype))


def fills(file):
    file.create_dataset("fill/contiguous", shape=(4, 3), dtype="<i4", fillvalue=7)
    file.create_dataset("fill/chunked", shape=(4, 3), dtype=">i4", fillvalue=7, chunks=(2, 2), compression="gzip")
    file.create_dataset("fill/fixed_pages", shape=(2100, 1), dtype="u1", fillvalue=7, chunks=(1, 1), compression="gzip")
    file.create_dataset("fill/endless", shape=(9, 1), dtype="<f8", fillvalue=7, chunks=(1, 1), maxshape=(None, None))
    file.create_dataset("fill/extensible", shape=(500, 1), dtype="<f8", fillvalue=7, chunks=(1, 1), maxshape=(None, 1))
    for name in ("chunked", "fixed_pages", "endless", "extensible"):
        data = file[f"fill/{name}"]
        data[-1:] = 9


def links(file):
    for k in range(30):
        file.create_dataset(f"data/demo_{k}/actions", data=value((k + 1, 2), "<f4"))
    file.create_dataset("labels", data=value((465,), ">i2"), chunks=(50,), compression="gzip", fletcher32=True)
    file["soft"] = h5py.SoftLink("/data/demo_3/actions")
    file["data/demo_0/back"] = h5py.SoftLink("../nowhere")
    file["loop"] = h5py.SoftLink("/loop")
    file["outside"] = h5py.ExternalLink("other.h5", "/x")
    file["kind"] = np.dtype(">i2")
    file.create_dataset("named_type", data=value((5, 2), ">i2"), dtype=file["kind"])


def refused(file):
    file["refused/text"] = ["a", "b"]
    file["refused/fixed_text"] = np.array([b"ab", b"cd"])
    file["refused/compound"] = np.zeros(3, [("a", "i4"), ("b", "f4")])
    file["refused/complex"] = np.zeros(3, "c8")
    file.create_dataset("refused/lists", shape=(3,), dtype=h5py.vlen_dtype("u1"))
    file.create_dataset("refused/references", shape=(3,), dtype=h5py.ref_dtype)
    file["refused/opaque"] = np.zeros(3, "V5")
    file["refused/scalar"] = 3
    file["refused/null"] = h5py.Empty("f4")
    file.create_dataset("refused/scaleoffset", data=value((6, 2), "<i4"), chunks=(2, 2), scaleoffset=7)
    layout = h5py.VirtualLayout((5, 3), "<i4")
    layout[...] = h5py.VirtualSource("x.h5", "y", (5, 3))
    file.create_virtual_dataset("refused/virtual", layout)
    file.create_dataset("refused/external", shape=(4,), dtype="u1", external=[("other.bin", 0, 4)])


def small(file):
    """Of a few kilobytes, to make broken files of."""
    file.create_dataset("a", data=value((6, 2), "<i4"), chunks=(2, 2), shuffle=True, compression="gzip", fletcher32=True)
    file.create_dataset("b", data=value((9, 2), ">f4"), chunks=(2, 1), maxshape=(None, 2), compression="lzf")
    file.create_dataset("c/d", data=value((5, 3), "<f8"))
    file.create_dataset("c/e", data=value((4, 4), "u1"), chunks=(2, 3), maxshape=(None, None), fillvalue=3)
    file["c/f"] = h5py.SoftLink("/c/d")


def robomimic(file):
    """Demonstrations of 20, 13 and 17 steps; step k of demonstration d has them in all of its values."""
    for d, steps in enumerate((20, 13, 17)):
        k = np.arange(steps)
        for name, shape, dtype, how in (("actions", (7,), "f8", {}), ("obs/robot0_eef_pos", (3,), "f8", {}), ("obs/agentview_image", (84, 84, 3), "u1", {"chunks": (1, 84, 84, 3), "compression": "gzip"})):
            values = np.empty((steps, *shape), dtype)
            values[:] = (50 * d + k).reshape(-1, *[1] * len(shape))
            file.create_dataset(f"data/demo_{d}/{name}", data=values, **how)


if __name__ == "__main__":
    for name, how in {"earliest": {"libver": "earliest"}, "v110": {"libver": ("v110", "v110")}, "latest": {"libver": "latest"}, "userblock": {"libver": "earliest", "userblock_size": 1024}}.items():
        with h5py.File(HERE / f"{name}.h5", "w", **how) as file:
            for part in (types, filters, layouts, fills, links, refused) if name != "userblock" else (types, links):
                part(file)
    for name in ("earliest", "latest"):
        with h5py.File(HERE / f"small_{name}.h5", "w", libver=name) as file:
            small(file)
    with h5py.File(HERE / "robomimic.h5", "w") as file:
        robomimic(file)
