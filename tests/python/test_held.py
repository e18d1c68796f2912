"""Samples in memory in the place of a description, where there is no torch: arrays of NumPy's and lists of samples with such. tests/exact/test_held.py holds torch's own data sets against torch's DataLoader."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import spdl
from conftest import built

np = pytest.importorskip("numpy")


@pytest.fixture
def loading(library: Path, runtime: str):
    return lambda dataset, **given: spdl.DataLoader(dataset, engine=built("spdl"), tensors="numpy", copy=True, **given)


def test_samples_of_a_list_come_in_batches(loading):
    samples = [{"x": np.full((2, 2), n, "f2"), "even": n % 2 == 0, "status": n} for n in range(5)]
    with loading(samples, batch_size=3) as loader:
        first, last = loader
    assert list(first) == ["x", "even", "status"] and first["x"].dtype == np.float16 and first["even"].dtype == bool and first["status"].dtype == np.int64
    assert last["x"][:, 1, 1].tolist() == [3, 4] and last["even"].tolist() == [False, True] and last["status"].tolist() == [3, 4]


def test_rows_of_an_array_are_samples(loading):
    rows = np.arange(12, dtype=">u4").reshape(6, 2)[::-1]
    with loading(rows, batch_size=4, drop_last=True) as loader:
        (batch,) = loader
    assert batch.dtype == np.uint32 and batch.tolist() == rows[:4].tolist()


def test_a_collate_fn_gets_samples_as_the_list_has_them(loading):
    with loading([(np.arange(n, n + 2), n / 2) for n in range(3)], batch_size=2, collate_fn=lambda samples: samples) as loader:
        assert [[(x.tolist(), y, type(y)) for x, y in batch] for batch in loader] == [[([0, 1], 0.0, float), ([1, 2], 0.5, float)], [([2, 3], 1.0, float)]]


def test_rows_are_in_sealed_memory_that_the_engine_maps(loading):
    with loading(np.arange(6), batch_size=3) as loader:
        next(iter(loader))
        (held,) = [int(fd.name) for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink() and os.readlink(fd).startswith("/memfd:data.")]
        with pytest.raises(PermissionError):
            os.pwrite(held, b"x", 0)
        assert "memfd:data." in Path(f"/proc/{loader.loader.stats()['pid']}/maps").read_text()


def test_more_than_memory_has_is_refused(loading):
    before = os.listdir("/proc/self/fd")
    with pytest.raises(spdl.ArgumentError, match=r"dataset: has 268435456.0 MiB, of which the engine gets a copy in memory, and .* MiB of memory are available; want arrays in files .*source: \{arrays"):
        loading(np.broadcast_to(np.float32(0), (1 << 46,)))
    assert os.listdir("/proc/self/fd") == before


@pytest.mark.parametrize("dataset, message", [
    ([(np.zeros(2), 1), (np.zeros(3), 1)], r"dataset\[1\]\[0\]: got \[3\] of float64 \(array\), want \[2\] of float64 \(array\), as dataset\[0\] has"),
    ([(np.zeros(2), None)], r"dataset\[0\]\[1\]: got a NoneType, want tensors"),
    ([np.zeros(2), 1], r"dataset\[1\]: got \[\] of int64 \(number\), want \[2\] of float64"),
    (np.array(1), "ndarray got a scalar, want a first axis that counts samples"),
    (np.zeros((0, 2)), "ndarray has no samples"),
    (np.zeros(2, "c16"), "got complex128, want one of bool, .*float64"),
    (np.zeros(2, "M8[s]"), r"got datetime64\[s\], want one of bool"),
])
def test_what_cannot_be_told_is_refused(loading, dataset, message):
    with pytest.raises(spdl.ArgumentError, match=message):
        loading(dataset)


_LEFT = json.loads((Path(__file__).parents[2] / "core/engine/testdata/memory.json").read_text(encoding="utf-8"))  # the engine's table


@pytest.mark.parametrize("case", _LEFT, ids=[case["name"] for case in _LEFT])
def test_memory_that_is_left_is_what_the_engine_says(tmp_path, case):
    from spdl._torch.memory import available

    for path, text in case["files"].items():
        at = tmp_path / path
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text(text, encoding="utf-8")
    assert available(tmp_path) == case["left"]
