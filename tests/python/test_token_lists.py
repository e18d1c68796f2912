"""Lists of Parquet that are more than an engine holds in memory: they lie on a disk, and are the same."""

from __future__ import annotations

import pytest
import spdl

np = pytest.importorskip("numpy")
pytest.importorskip("PIL")
recipe_data = pytest.importorskip("recipe_data")

HELD = 64 << 20  # bytes of lists in memory, as docs/tables.md says
FILES, ROWS, LENGTH = 5, 100, 1 << 15


def row(file: int, number: int) -> np.ndarray:
    return np.arange(LENGTH, dtype=np.int32) * (file + 1) + number


def test_lists_beyond_memory_are_read_from_a_disk_in_any_order(library, runtime, tmp_path, monkeypatch):
    """The first files' rows are held in memory and the others' are not; the second engine finds these on the disk."""
    assert FILES * ROWS * LENGTH * 8 > HELD > 2 * ROWS * LENGTH * 8
    monkeypatch.setenv("SPDL_CACHE_DIR", str(tmp_path / "cache"))
    for file in range(FILES):
        (tmp_path / f"{file:02}.parquet").write_bytes(recipe_data.parquet_of({"ids": [row(file, i) for i in range(ROWS)]}))
    spec = {"source": {"shards": str(tmp_path / "*.parquet"), "columns": [{"name": "ids", "type": "list", "dtype": "i64", "shape": [LENGTH]}]},
            "batch": 20, "order": {"seed": 3, "epochs": 1}}
    kept: list = []
    for _ in range(2):
        with spdl.open(spec) as loader:
            seen = []
            for batch in loader:
                for index, ids in zip(batch["index"], batch["ids"]):
                    assert np.array_equal(ids, row(index // ROWS, index % ROWS))
                    seen.append(int(index))
            assert sorted(seen) == list(range(FILES * ROWS)) != seen
        files = sorted((tmp_path / "cache/lists").iterdir())
        assert 0 < len(files) < FILES and kept in ([], [(f.name, f.stat().st_ino) for f in files])
        kept = [(f.name, f.stat().st_ino) for f in files]
