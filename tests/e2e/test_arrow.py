"""Arrow's files, as Hugging Face's datasets saves and caches them: every sample is what the library itself reads, in any order. Without the library, what it once wrote is compared with what was
noted then."""

import base64
import json
import pathlib
import subprocess

import numpy as np
import pytest
import spdl
from engines import PATIENCE, SPDL, environment
from test_sources import TRANSFORM, check

pytestmark = pytest.mark.usefixtures("own_cache")
SAVED = pathlib.Path(__file__).parents[2] / "core/source/testdata/arrow"
COLUMNS = [
    {"name": "caption"}, {"name": "score", "type": "f64"}, {"name": "flag", "type": "i64"}, {"name": "ids", "type": "list", "dtype": "i32", "max_length": 8},
    {"name": "matrix", "type": "list", "dtype": "f32", "shape": [2, 3]}, {"name": "boxes", "type": "list", "dtype": "f64", "shape": [-1, 4], "max_length": 8}, {"name": "fixed", "type": "npy"}]


@pytest.fixture
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("SPDL_CACHE_DIR", str(tmp_path / "cache"))


def equal(batch, row, want):
    """A row's columns are what is wanted."""
    assert bytes(batch["caption"][row]).decode() == want["caption"]
    assert (batch["score"][row], batch["flag"][row], batch["label"][row]) == (want["score"], want["flag"], want["label"])
    assert np.asarray(batch["ids"][row]).tolist() == want["ids"]
    assert np.asarray(batch["matrix"])[row].ravel().tolist() == want["matrix"]
    assert np.asarray(batch["boxes"][row]).ravel().tolist() == want["boxes"]
    assert np.asarray(batch["fixed"])[row].tolist() == want["fixed"]


def check_rows(loader, want):
    """Two epochs in any order."""
    for _ in range(2):
        seen = []
        for batch in loader:
            with batch:
                for row, i in enumerate(np.asarray(batch["index"]).tolist()):
                    equal(batch, row, want[i])
                    seen.append(i)
        assert sorted(seen) == list(range(len(want)))


@pytest.mark.parametrize("shards", ["saved", "saved/state.json", "saved/data-*.arrow"])
def test_what_datasets_saved_is_what_was_noted(open_, shards):
    want = json.loads((SAVED / "want.json").read_text())["saved"]
    source = {"shards": str(SAVED / shards), "columns": COLUMNS}
    loader = open_({"source": source, "batch": 2, "order": {"seed": 3, "epochs": 2}})
    check_rows(loader, want)
    assert loader.classes == ["cat", "dog", "owl"]
    loader = open_({"source": source, "batch": 1, "image": {"transform": [{"resize": [4, 6]}]}, "order": {"shuffle": False, "epochs": 1}})
    assert [batch["image"].shape for batch in loader] == [(1, 4, 6, 3)] * len(want)
    assert all(base64.b64decode(row["photo"]).startswith(b"\x89PNG") for row in want)


def test_orders_know_columns_without_reading(open_):
    source = {"shards": str(SAVED / "saved"), "columns": COLUMNS}
    for order, indices in ({"filter": "score >= 0.5"}, [2, 3, 4]), ({"filter": "label == 1"}, [2]), ({"filter": 'caption == "caption 4 é"'}, [4]), ({"filter": "flag == 1"}, [1, 3]):
        loader = open_({"source": source, "batch": 5, "order": {"shuffle": False, "epochs": 1, **order}})
        assert [i for batch in loader for i in np.asarray(batch["index"]).tolist()] == indices
    packed = {"shards": str(SAVED / "saved"), "columns": [{"name": "ids", "type": "list", "dtype": "i32"}], "packing": {"length": 6}}
    loader = open_({"source": packed, "batch": 1, "order": {"shuffle": False, "epochs": 1}})
    rows = [np.asarray(batch["ids"])[0] for batch in loader]
    assert sorted(int(x) for row in rows for x in row if x) == sorted(100 + k for i in range(5) for k in range(i))


def test_check_tells_a_saved_data_set_and_its_splits():
    run = subprocess.run([SPDL, "check", str(SAVED / "saved"), "--size", "24", "--batches", "1"], env=environment(), capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 0, run.stderr
    assert f"shards {SAVED}/saved (Arrow): 5 samples, 3 classes (cat, dog, owl)" in run.stdout
    run = subprocess.run([SPDL, "check", str(SAVED / "splits")], env=environment(), capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode != 0 and f"spdl check '{SAVED}/splits/train/state.json'" in run.stderr


def test_what_is_wrong_is_refused_by_name(tmp_path, open_):
    whole = (SAVED / "saved/data-00000-of-00002.arrow").read_bytes()
    (tmp_path / "cut.arrow").write_bytes(whole[:-100])
    with pytest.raises(spdl.SpdlError, match='cut.arrow": message at .* truncated: it ends after'):
        open_({"source": {"shards": str(tmp_path / "cut.arrow")}, **TRANSFORM})
    with pytest.raises(spdl.SpdlError, match="it is a data set of 2 splits; want source.split: one of train, test, or"):
        open_({"source": {"shards": str(SAVED / "splits")}, **TRANSFORM})
    with pytest.raises(spdl.SpdlError, match='column "tags" of .* it is list<string>, which is not read here'):
        open_({"source": {"shards": str(SAVED / "saved"), "columns": [{"name": "tags"}]}, "batch": 1})


def test_datasets_own_files_give_what_it_reads(pictures, tmp_path, open_):
    datasets = pytest.importorskip("datasets", reason="Hugging Face's datasets is not installed")
    rows = [{"image": {"bytes": sample.path.read_bytes(), "path": sample.path.name}, "label": sample.label, "caption": f"sample {i}", "ids": list(range(i % 7))} for i, sample in enumerate(pictures.samples)]
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(num_classes=100), "caption": datasets.Value("string"), "ids": datasets.Sequence(datasets.Value("int64"))})
    data = datasets.Dataset.from_list(rows, features=features).shuffle(seed=1)
    data.save_to_disk(str(tmp_path / "saved"), num_shards=3)
    read = datasets.load_from_disk(str(tmp_path / "saved")).cast_column("image", datasets.Image(decode=False))
    columns = [{"name": "caption"}, {"name": "ids", "type": "list", "dtype": "i64", "max_length": 8}, {"name": "jpg", "from": "image.bytes", "max_bytes": 1 << 20}]
    loader = open_({"source": {"shards": str(tmp_path / "saved"), "columns": columns}, "batch": 8, "order": {"seed": 3, "epochs": 2}})
    for _ in range(2):
        for batch in loader:
            with batch:
                for row, i in enumerate(np.asarray(batch["index"]).tolist()):
                    assert (bytes(batch["jpg"][row]), bytes(batch["caption"][row]).decode(), np.asarray(batch["ids"][row]).tolist(), batch["label"][row]) == (
                        read[i]["image"]["bytes"], read[i]["caption"], read[i]["ids"], read[i]["label"])
    order = {name: k for k, name in enumerate(read["caption"])}
    samples = sorted(pictures.samples, key=lambda s: order[f"sample {pictures.samples.index(s)}"])
    keys = [k for shard in range(3) for k in range(len(read.shard(3, shard, contiguous=True)))]
    check(open_({"source": {"shards": str(tmp_path / "saved")}, **TRANSFORM}), samples, lambda i, sample: str(keys[i]))
