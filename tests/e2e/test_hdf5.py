"""HDF5's datasets as whole arrays, through the real command: compared with what h5py reads of the same file."""

import itertools
import pathlib

import numpy as np
import pytest

import spdl

GRID = pathlib.Path(__file__).parents[2] / "core/grid/testdata"
TYPES = ("u1", "i1", "<u2", ">i2", "<u4", ">i4", "<i8", ">u8", "<f2", ">f4", "<f8", "?")
FILTERS = ({}, {"compression": "gzip"}, {"compression": "lzf"}, {"shuffle": True, "compression": "gzip", "fletcher32": True})
# Shapes of an array and of its chunks, and to what it may grow.
CHUNKS = (((23, 5), None, None), ((23, 5), (1, 5), None), ((23, 5), (4, 5), None), ((23, 5), (7, 2), None), ((23, 5), (23, 5), None), ((23, 5), (3, 5), (None, 5)),
          ((23, 5), (2, 2), (None, None)), ((23, 5), (5, 2), (23, None)), ((23,), (4,), (None,)), ((23, 3, 2, 4), (5, 2, 2, 3), (40, 3, 9, 4)))


def read(open_, path, names, **more):
    """All samples of datasets, in the order of the files."""
    loader = open_({"source": {"arrays": [{"name": f"a{k}", "file": str(path), "dataset": name, **more} for k, name in enumerate(names)]}, "batch": 5, "order": {"shuffle": False, "epochs": 1}})
    batches = [{key: batch[key].copy() for key in (f"a{k}" for k in range(len(names)))} for batch in loader]
    loader.close()
    return [np.concatenate([batch[f"a{k}"] for batch in batches]) for k in range(len(names))]


@pytest.mark.parametrize("libver", ["earliest", "v108", "v110", "latest"])
def test_every_kind_of_dataset_is_what_h5py_reads(tmp_path, open_, libver):
    """480 datasets a version of the format: types, chunks, filters; rows, and windows of 6."""
    h5py = pytest.importorskip("h5py")
    rng, wants = np.random.default_rng(3), {}
    with h5py.File(tmp_path / "x.h5", "w", libver=(libver, libver) if libver != "earliest" else libver) as file:
        for k, (dtype, how, (shape, chunks, most)) in enumerate(itertools.product(TYPES, FILTERS, CHUNKS)):
            if chunks is None and how:
                chunks = True  # as h5py likes
            values = rng.integers(0, 2 if dtype == "?" else 100, shape).astype(dtype)
            data = file.create_dataset(f"g{k % 7}/d{k}", shape=shape, dtype=dtype, chunks=chunks, maxshape=most, fillvalue=True if dtype == "?" else 5, **how)
            if k % 3:
                data[...] = values
            else:
                data[3:17] = values[3:17]  # chunks are missing before and behind
            wants[f"/g{k % 7}/d{k}"] = None
    with h5py.File(tmp_path / "x.h5") as file:
        wants = {name: file[name][...] for name in wants}
    for some in (list(wants)[at:at + 24] for at in range(0, len(wants), 24)):
        for name, got in zip(some, read(open_, tmp_path / "x.h5", some)):
            want = wants[name].astype(wants[name].dtype.newbyteorder("="))
            np.testing.assert_array_equal(got, want.view("u1") if want.dtype == bool else want, name)
        for name, got in zip(some, read(open_, tmp_path / "x.h5", some, window=6, step=4)):
            want = np.stack([wants[name][at:at + 6] for at in range(0, 18, 4)])
            np.testing.assert_array_equal(got, want.astype(want.dtype.newbyteorder("=")), name)


def test_chunks_that_a_filter_would_make_larger_are_what_h5py_reads(tmp_path, open_):
    """HDF5 leaves the filter out of such a chunk, and not those before and behind it."""
    h5py = pytest.importorskip("h5py")
    noise = np.frombuffer(np.random.default_rng(1).bytes(16 * 2048), "<f8").reshape(16, -1)
    values = np.where(np.arange(16)[:, None] % 3 > 0, noise, 1.5)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        data = file.create_dataset("x", data=values, chunks=(1, 256), shuffle=True, compression="lzf", fletcher32=True)
        assert {data.id.get_chunk_info(i).filter_mask for i in range(16)} == {0, 2}
    np.testing.assert_array_equal(read(open_, tmp_path / "x.h5", ["/x"])[0].view("u8"), values.view("u8"))


def test_arrays_with_many_chunks_are_what_h5py_reads(tmp_path, open_):
    """So many that an index has pages, or several levels."""
    h5py = pytest.importorskip("h5py")
    values = np.random.default_rng(0).integers(0, 256, (140_000, 1), dtype=np.uint8)
    for libver in ("earliest", "latest"):
        with h5py.File(tmp_path / f"{libver}.h5", "w", libver=libver) as file:
            for name, most in (("fixed", None), ("grows", (None, 1)), ("endless", (None, None))):
                file.create_dataset(name, data=values, chunks=(1, 1), maxshape=most)
        loader = open_({"source": {"arrays": [{"name": name, "file": str(tmp_path / f"{libver}.h5"), "dataset": name} for name in ("fixed", "grows", "endless")]},
                        "batch": 4000, "order": {"seed": 5, "epochs": 1}})
        for batch in loader:
            for name in ("fixed", "grows", "endless"):
                np.testing.assert_array_equal(batch[name], values[batch["index"]])
        loader.close()


DEMOS = {"demo": GRID / "robomimic.h5"}


def demonstrations(**more):
    seen = {"file": str(DEMOS["demo"]), "window": 2, "step": 1, "within": 16}
    return {
        "source": {"arrays": [{"name": "image", "dataset": "/data/demo_*/obs/agentview_image", **seen},
                              {"name": "actions", "file": str(DEMOS["demo"]), "dataset": "/data/demo_{0..2}/actions", "window": 16, "step": 1}]},
        "batch": 2, **more,
    }


@pytest.mark.parametrize("world", [1, 2])
def test_demonstrations_go_on_where_a_state_was_saved(open_, world):
    """Windows of episodes of 20, 13 and 17 steps: 5, 0 and 2, each once, at any world size and through a resume."""
    order = {"order": {"seed": 3, "epochs": 1}}
    loader, seen = open_(demonstrations(**order)), []
    for batch in loader:
        first = batch["actions"][:, 0, 0]
        assert (batch["actions"] == first[:, None, None] + np.arange(16)[:, None]).all()
        assert (batch["image"] == (first[:, None] + np.arange(2))[:, :, None, None, None]).all()
        seen += first.tolist()
        state = loader.state_dict()
        break
    loader.close()
    for rank in range(world):
        rest = open_({**demonstrations(**order), "batch": 2 // world, "world": {"size": world, "rank": rank}}, state=state)
        for batch in rest:
            seen += batch["actions"][:, 0, 0].tolist()
        rest.close()
    assert sorted(seen) == [0, 1, 2, 3, 4, 100, 101]


def test_chunks_are_shuffled_as_shards_and_rows_are_kept_on_a_local_disk(tmp_path, open_):
    """A window of one chunk has all of its samples before another's; rows_dir, which plain arrays on a disk have no use for, is taken."""
    spec = {"source": {"arrays": [{"name": "y", "file": str(GRID / "latest.h5"), "dataset": "labels"}], "label": "y"}, "batch": 5}
    want = (np.arange(465) * 37 + 11) % 101 - 50
    loader = open_({**spec, "order": {"seed": 1, "epochs": 1, "window": 1}})
    seen = []
    for batch in loader:
        np.testing.assert_array_equal(batch["label"], want[batch["index"]])
        seen += batch["index"].tolist()
    loader.close()
    chunks = [i // 50 for i in seen]
    assert sorted(seen) == list(range(465)) and len(list(itertools.groupby(chunks))) == 10 and chunks != sorted(chunks)
    for _ in range(2):
        loader = open_({**spec, "order": {"seed": 1, "epochs": 1}, "cache": {"rows_dir": str(tmp_path / "rows"), "rows_bytes": "1MiB"}})
        for batch in loader:
            np.testing.assert_array_equal(batch["y"], want[batch["index"]])
        loader.close()


MEDIA = GRID / "media.h5"  # as make_media.py there wrote it: picture k is all of one grey, 40 k + 20
TEXTS = ["", "a cat", "zwei Hunde", "ein Bär und drei Äpfel", "x" * 5000, "end"]


@pytest.mark.parametrize("dataset", ["vlen", "vlen_i8", "observations/images/top", "opaque", "fixed"])
def test_pictures_in_a_dataset_are_decoded_beside_texts_lists_and_numbers(open_, dataset):
    """In any order, and on after a state was saved."""
    arrays = {"picture": dataset, "caption": "texts/utf8", "short": "texts/zeros", "ids": "lists/i64", "padded": "lists/i16_big", "y": "label"}
    more = {"caption": {"max_bytes": 5000}, "ids": {"max_length": 5}, "padded": {"max_length": 5, "padded": True}}
    spec = {"source": {"arrays": [{"name": name, "file": str(MEDIA), "dataset": at, **more.get(name, {})} for name, at in arrays.items()], "label": "y"},
            "image": {"from": "picture", "transform": [{"resize": [12, 16]}]}, "batch": 2, "order": {"seed": 2, "epochs": 1}}
    seen, state = [], None
    for take in (1, 9):
        loader = open_(spec, state=state)
        for batch in loader:
            captions, short = batch.text("caption"), batch.text("short")
            for row, k in enumerate(batch["label"].tolist()):
                assert abs(batch["image"][row].astype(int) - (40 * k + 20)).max() <= 1
                want = (np.arange(k) * 37 + 11) % 101 - 50
                assert captions[row] == TEXTS[k] and short[row] == TEXTS[k][:40]
                np.testing.assert_array_equal(batch["ids"][row], want)
                assert batch["padded.length"][row] == k
                np.testing.assert_array_equal(batch["padded"][row][:k], want)
                seen.append(k)
            state = loader.state_dict()
            if (take := take - 1) == 0:
                break
        loader.close()
    assert sorted(seen) == list(range(6)) != seen


def test_what_h5py_writes_as_texts_and_lists_is_read(tmp_path, open_):
    """In every version of the format, in chunks that are packed and in none, in heaps that grow."""
    h5py = pytest.importorskip("h5py")
    rng, n = np.random.default_rng(5), 300
    texts = ["é" * int(k) for k in rng.integers(0, 400, n)]
    lists = [rng.integers(0, 256, k, dtype=np.uint8) for k in rng.integers(0, 9000, n)]
    for libver in ("earliest", "v108", "v110", "latest"):
        for how in ({}, {"chunks": (7,), "compression": "gzip", "shuffle": True}, {"chunks": (50,), "maxshape": (None,)}):
            with h5py.File(tmp_path / "x.h5", "w", libver=libver if libver in ("earliest", "latest") else (libver, libver)) as file:
                file.create_dataset("text", data=texts, dtype=h5py.string_dtype(), **how)
                data = file.create_dataset("list", shape=(n,), dtype=h5py.vlen_dtype(np.uint8), **how)
                for k in range(n):
                    data[k] = lists[k]
            arrays = [{"name": "text", "file": str(tmp_path / "x.h5"), "dataset": "text", "max_bytes": 800}, {"name": "list", "file": str(tmp_path / "x.h5"), "dataset": "list", "max_length": 9000}]
            loader = open_({"source": {"arrays": arrays}, "batch": 50, "order": {"seed": 3, "epochs": 1}})
            for batch in loader:
                said = batch.text("text")
                for row, k in enumerate(batch["index"].tolist()):
                    assert said[row] == texts[k]
                    np.testing.assert_array_equal(batch["list"][row], lists[k])
            loader.close()


def test_samples_of_a_dataset_may_be_bad(open_):
    """An element without a picture is skipped and counted, and the others are delivered."""
    spec = {"source": {"arrays": [{"name": "x", "file": str(MEDIA), "dataset": "gap"}, {"name": "y", "file": str(MEDIA), "dataset": "label"}], "label": "y"},
            "image": {"from": "x", "transform": [{"resize": [12, 16]}]}, "batch": 3, "order": {"shuffle": False, "epochs": 1}, "bad_sample": {"policy": "skip"}}
    loader = open_(spec)
    assert [k for batch in loader for k in batch["label"].tolist()] == [0, 1, 3, 4, 5]
    loader.close()


def test_datasets_that_are_no_samples_are_refused_by_name(open_):
    for dataset, message in (("refused/compound", "got compounds"), ("refused/lists", "whose max_length is missing.*image: {from: x}"), ("none", "there is no such dataset; there are /data/demo_0/actions, "), ("refused/scaleoffset", "packed by the filter scaleoffset")):
        with pytest.raises(spdl.EngineStartError, match=message):
            spdl.open({"source": {"arrays": [{"name": "x", "file": str(GRID / "latest.h5"), "dataset": dataset}]}})
    with pytest.raises(spdl.EngineStartError, match="got an HDF5 file; say which of its arrays with dataset"):
        spdl.open({"source": {"arrays": [{"name": "x", "file": str(GRID / "latest.h5")}]}})
