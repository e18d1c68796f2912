"""ArrayRecords that their own library has written, as TFDS names them: by their directory, from a store, in any order, packed, damaged."""

import gzip
import subprocess
from pathlib import Path

import numpy as np
import pytest
import spdl
from engines import PATIENCE, SPDL, environment
from test_mds import own_cache, server  # noqa: F401

pytestmark = pytest.mark.usefixtures("own_cache")
WRITTEN = Path(__file__).parents[2] / "core/source/testdata/arrayrecord"
N = 24  # pictures of the training split, in two shards: of the grey 10 * i each, labelled i % 5
SPEC = {"image": {"transform": [{"resize": [8, 8]}]}, "batch": 5, "order": {"seed": 3, "epochs": 1}}


def written(pattern, directory):
    directory.mkdir(parents=True, exist_ok=True)
    for packed in WRITTEN.glob(f"{pattern}.gz"):
        (directory / packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))
    return directory


@pytest.fixture
def greys(tmp_path):
    directory = written("greys-*", tmp_path / "greys/1.0.0")
    for name in ("features.json", "dataset_info.json"):
        (directory / name).write_text("{}")
    return directory


def check(loader, n=N, first=0):
    seen = []
    for batch in loader:
        with batch:
            for image, label, index in zip(np.asarray(batch["image"]), np.asarray(batch["label"]), np.asarray(batch["index"])):
                assert (image == 10 * (first + index)).all() and label == (first + index) % 5
                seen.append(int(index))
    assert sorted(seen) == list(range(n))
    return seen


def test_shards_are_read_in_any_order(greys, open_):
    assert check(open_({"source": {"shards": f"{greys}/greys-train.array_record*"}, **SPEC})) != list(range(N))


def test_serve_takes_a_split_of_the_directory(greys, serve, attach, name):
    """A directory of TFDS has several splits, none of which is chosen; a directory of one is it."""
    run = subprocess.run([SPDL, "check", str(greys)], env=environment(), capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 2 and "greys-train*.array_record*' (2 files)" in run.stderr and "greys-test.array_record-00000-of-00001' (1 file)" in run.stderr
    (greys / "greys-test.array_record-00000-of-00001").unlink()
    serve(str(greys), "--size", "8", "--epochs", "1", "--batch", "5")
    check(attach(name))


def test_a_store_is_read_by_ranges(greys, server, open_):
    url, directory, _ = server
    written("greys-train*", directory / "greys")
    check(open_({"source": {"shards": f"{url}/greys/greys-train.array_record-{{00000..00001}}-of-00002", "label": "label"}, **SPEC}))


def test_pack_makes_archives_of_them(greys, tmp_path, open_):
    run = subprocess.run([SPDL, "pack", f"{greys}/greys-test.array_record-00000-of-00001", "--out", f"{tmp_path}/packed-%02d.tar", "--no-shuffle"], env=environment(), capture_output=True, text=True,
                         timeout=PATIENCE)
    assert run.returncode == 0, run.stderr
    check(open_({"source": {"shards": f"{tmp_path}/packed-*.tar"}, **SPEC}), n=1, first=24)


def test_columns_and_records_of_other_kinds(greys, tmp_path, open_):
    """Without labels no record is read but those that are wanted. Records that are no Examples are one part."""
    spec = {"source": {"shards": f"{greys}/greys-train.array_record*", "labels": "none", "columns": [{"name": "caption"}]}, "batch": 6, "order": {"seed": 1, "epochs": 1}}
    captions = [caption for batch in open_(spec) for caption in batch.text("caption")]
    assert sorted(captions, key=lambda c: int(c.split()[1])) == [f"grey {i}" for i in range(N)]
    written("raw.*", tmp_path)
    spec = {"source": {"shards": f"{tmp_path}/raw.array_record", "columns": [{"name": "n", "from": "record[n]", "type": "i64"}]}, "batch": 4, "bad_sample": {"max_rate": 1.0}, "order": {"shuffle": False, "epochs": 1}}
    assert [int(n) for batch in open_(spec) for n in np.asarray(batch["n"])] == [7]


@pytest.mark.parametrize("spoil, said", [
    (lambda data: data[:-5], "want a multiple of 65536, as ArrayRecords have"), (lambda data: data[:65536] * 2, "no postscript of ArrayRecord's")])
def test_damaged_files_are_refused_by_name(greys, open_, spoil, said):
    path = greys / "greys-train.array_record-00001-of-00002"
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(spdl.SpdlError, match=f"greys-train.array_record-00001-of-00002.*{said}"):
        open_({"source": {"shards": f"{greys}/greys-train.array_record*"}, **SPEC})


def test_a_damaged_chunk_is_a_bad_sample(greys, open_):
    path = greys / "greys-train.array_record-00001-of-00002"
    data = bytearray(path.read_bytes())
    data[200] ^= 1  # of the first record
    path.write_bytes(data)
    bad, seen = 0, []
    for batch in open_({"source": {"shards": f"{greys}/greys-train.array_record*"}, **SPEC, "bad_sample": {"max_rate": 1.0}}):
        bad += batch.n_bad
        seen += np.asarray(batch["index"]).tolist()
    assert bad == 1 and sorted(seen) == [i for i in range(N) if i != 13]


def test_transposed_records_are_refused(tmp_path, open_):
    written("transposed.*", tmp_path)
    with pytest.raises(spdl.SpdlError, match="its records are transposed, which is not read; write the file without transpose"):
        open_({"source": {"shards": f"{tmp_path}/transposed.array_record"}, **SPEC})
