"""Arrays that lie whole in files: rows and windows of them as samples, through the real command."""

import numpy as np
import pytest

import spdl


def tokens(path, n=20_011):
    all_tokens = np.random.default_rng(1).integers(0, 50_257, n).astype(np.uint16)
    all_tokens.tofile(path)
    return all_tokens


def test_rows_of_arrays_are_samples(tmp_path, open_):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(101, 3, 5)).astype(np.float32), rng.integers(-9, 9, 101)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y.astype(">i2"))
    source = {"arrays": [{"name": "x", "file": str(tmp_path / "x.npy")}, {"name": "y", "file": str(tmp_path / "y.npy")}], "label": "y"}
    loader = open_({"source": source, "batch": 16, "order": {"seed": 3}})
    for _ in range(2):
        seen = []
        for batch in loader:
            i = batch["index"]
            np.testing.assert_array_equal(batch["x"], x[i])
            np.testing.assert_array_equal(batch["y"], y[i])
            np.testing.assert_array_equal(batch["label"], y[i])
            assert batch["y"].dtype == np.int16
            seen += i.tolist()
        assert sorted(seen) == list(range(101))


@pytest.mark.parametrize("world", [1, 2])
def test_windows_of_tokens_go_on_where_a_state_was_saved(tmp_path, open_, world):
    """Each window comes once, with the token behind it as the next one's first, at any world size and through a resume."""
    all_tokens = tokens(tmp_path / "tokens.bin")
    spec = {
        "source": {"arrays": [{"name": "tokens", "file": str(tmp_path / "tokens.bin"), "dtype": "u16", "window": 65, "step": 64}]},
        "batch": 8, "order": {"seed": 7, "epochs": 1},
    }
    seen, state = [], None
    loader = open_(spec)
    for step, batch in enumerate(loader):
        assert batch["tokens"].shape == (batch.rows, 65)
        for row, i in zip(batch["tokens"], batch["index"]):
            np.testing.assert_array_equal(row, all_tokens[64 * i:64 * i + 65])
        seen += batch["index"].tolist()
        if step == 11:
            state = loader.state_dict()
            break
    loader.close()
    for rank in range(world):
        rest = open_({**spec, "batch": 8 // world, "world": {"size": world, "rank": rank}}, state=state)
        for batch in rest:
            seen += batch["index"].tolist()
        rest.close()
    assert sorted(seen) == list(range((20_011 - 65) // 64 + 1))


def test_keys_name_the_file_and_the_row(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(40, dtype=np.float32).reshape(10, 4))
    spec = {"source": {"arrays": [{"name": "x", "file": str(tmp_path / "x.npy")}]}, "batch": 5, "order": {"shuffle": False}}
    with spdl.open(spec) as loader:
        first = next(iter(loader))
        assert list(first)[0] == "x" and first.sample_keys == [f"x.npy:{i}" for i in range(5)]
        np.testing.assert_array_equal(first["x"], np.arange(20).reshape(5, 4))


def test_arrays_that_do_not_go_together_are_refused_by_name(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((5, 2)))
    np.save(tmp_path / "y.npy", np.zeros(4))
    np.save(tmp_path / "f.npy", np.asfortranarray(np.zeros((5, 2))))
    arrays = lambda *names: {"source": {"arrays": [{"name": n, "file": str(tmp_path / f"{n}.npy")} for n in names]}}  # noqa: E731
    for spec, message in (
        (arrays("x", "y"), 'array "y": got 4 samples, want 5, as array "x" has'), (arrays("f"), "in Fortran's order"), (arrays("none"), "no such file"),
    ):
        with pytest.raises(spdl.EngineStartError, match=message):
            spdl.open(spec)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_table_that_numpy_wrote(tmp_path, open_, save):
    """The columns of docs/arrays.md, with rows of any length and of one, in the order of the rows."""
    rng = np.random.default_rng(2)
    boxes = [rng.normal(size=(n % 4, 4)).astype(np.float32) for n in range(30)]
    texts = [f"picture {n} ü".encode() * (n % 3) for n in range(30)]
    pairs = np.asfortranarray(rng.normal(size=(30, 2, 3)).astype(">f8"))
    save(tmp_path / "train.npz", label=np.arange(30, dtype=np.uint8) % 5, score=rng.normal(size=30).astype(np.float32), pairs=pairs,
         **{"text": np.frombuffer(b"".join(texts), np.uint8), "text.offsets": np.cumsum([0, *map(len, texts)]), "boxes": np.concatenate(boxes), "boxes.offsets": np.cumsum([0, *map(len, boxes)])})
    columns = [{"name": "boxes", "type": "list", "dtype": "f32", "shape": [-1, 4], "max_length": 3}, {"name": "pairs", "type": "list", "dtype": "f64", "shape": [2, 3]}, {"name": "score", "type": "f64"}, "text"]
    with open_({"source": {"list": str(tmp_path / "train.npz"), "columns": columns}, "batch": 8, "order": {"shuffle": False}}) as loader:
        rows = 0
        for batch in loader:
            for row, i in enumerate(batch["index"].tolist()):
                np.testing.assert_array_equal(batch["boxes"][row], boxes[i])
                np.testing.assert_array_equal(batch["pairs"][row], pairs[i])
                assert batch["score"][row] == np.load(tmp_path / "train.npz")["score"][i] and batch.text("text")[row].encode() == texts[i] and batch["label"][row] == i % 5
                rows += 1
        assert rows == 30
