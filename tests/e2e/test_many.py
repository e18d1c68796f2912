"""Several pictures a sample, or none, through the real command: beside Pillow, out of tables and archives, with ranks, states and bad ones."""

import io
import itertools
import json
import tarfile

import numpy as np
import pytest
import spdl
from PIL import Image

COUNTS = [0, 1, 3, 2, 0, 4, 1, 2]


def pixels(i, j):
    return np.random.default_rng([i, j]).integers(0, 256, (30 + 3 * i, 40 + 5 * j, 3), np.uint8)


def png(i, j):
    data = io.BytesIO()
    Image.fromarray(pixels(i, j)).save(data, "png")
    return data.getvalue()


def expected(i):
    """The pictures of sample i as Pillow has them."""
    return [np.asarray(Image.fromarray(pixels(i, j)).resize((24, 16), Image.Resampling.BILINEAR)) for j in range(COUNTS[i])]


def table(folder):
    """JSON as LLaVA-NeXT-Interleave's: a list, a text for one, and nothing for none."""
    rows = []
    for i, n in enumerate(COUNTS):
        names = [f"{i}_{j}.png" for j in range(n)]
        for j, name in enumerate(names):
            (folder / name).write_bytes(png(i, j))
        rows.append({"id": i, **({"image": names if n > 1 else names[0]} if n else {})})
    (folder / "t.json").write_text(json.dumps(rows))
    return {"list": str(folder / "t.json"), "path": "image", "columns": [{"name": "id", "type": "i64"}]}


def archive(folder):
    """A tar of parts by number, as an interleaved data set has them."""
    with tarfile.open(folder / "a.tar", "w") as tar:
        for i, n in enumerate(COUNTS):
            for name, data in [("id", str(i).encode()), *((f"{j}.png", png(i, j)) for j in range(n))]:
                entry = tarfile.TarInfo(f"{i}.{name}")
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
    return {"shards": str(folder / "a.tar"), "columns": [{"name": "id", "type": "i64"}]}


def spec(source, many, **more):
    return {"source": source, "batch": 4, "order": {"shuffle": False, "epochs": 1}, "image": {"many": many, "transform": [{"resize": [16, 24]}]}, **more}


@pytest.mark.parametrize("shape", ["fixed", "padded", "ragged"])
@pytest.mark.parametrize("kind", [table, archive])
def test_pictures_of_a_sample_are_pillows(tmp_path, open_, kind, shape):
    loader = open_(spec(kind(tmp_path), {"most": 4, "shape": shape}))
    seen = 0
    for batch in loader:
        counts, images = batch["count"].tolist(), batch["image"]
        assert counts == [COUNTS[i] for i in batch["id"]]
        if shape == "ragged":
            assert images.steps.shape == (sum(counts), 16, 24, 3) and images.offsets.tolist() == [16 * 24 * 3 * n for n in itertools.accumulate([0, *counts])]
            np.testing.assert_array_equal(images.steps.numpy(), np.concatenate([np.zeros((0, 16, 24, 3), np.uint8), *([p] for i in batch["id"] for p in expected(i))]))
        else:
            assert images.shape == (4, 4 if shape == "fixed" else max(counts), 16, 24, 3)
        for row, i in enumerate(batch["id"]):
            for j, picture in enumerate(expected(i)):
                np.testing.assert_array_equal(images[row][j], picture)
            assert not images[row][COUNTS[i]:].any()
            seen += 1
    assert seen == 8


def test_a_resumed_run_draws_as_the_first(tmp_path, open_):
    """What a picture draws follows from the seed, the epoch, the sample and its number, whoever decodes it and from where on; the first as a single picture does."""
    source = archive(tmp_path)
    crops = {"transform": [{"random_resized_crop": 16}, {"horizontal_flip": 0.5}]}

    def run(state=None, most=4, **limits):
        loader = open_({"source": source, "batch": 2, "order": {"seed": 3, "epochs": 2}, "image": {"many": {"most": most, "shape": "ragged", "over": "cut"}, **crops}, **limits}, state=state)
        batches = []
        for epoch in range(loader.epoch, 2):
            for batch in loader:
                batches.append((epoch, batch["id"].tolist(), [row.tobytes() for row in batch["image"]], loader.state_dict() if len(batches) == 2 else None))
        return batches

    first = run()
    assert len(first) == 8
    again = run(first[2][3], limits={"cpus": 1})
    assert [batch[:3] for batch in again] == [batch[:3] for batch in first[3:]]
    size = 16 * 16 * 3
    assert [[row[:size] for row in rows] for _, _, rows, _ in first] == [rows for _, _, rows, _ in run(most=1)], "more pictures change nothing in the first"
    singles = {}
    one = open_({"source": {**source, "image": "0.png"}, "batch": 1, "order": {"seed": 3, "epochs": 2}, "image": crops})
    for epoch in range(2):
        for batch in one:
            if batch.rows:
                singles[epoch, int(batch["id"][0])] = batch["image"][0].tobytes()
    for epoch, ids, rows, _ in first:
        for i, row in zip(ids, rows):
            assert row[:size] == singles.get((epoch, i), b"")
    row = next(row for _, ids, rows, _ in first for i, row in zip(ids, rows) if i == 5)
    assert len({row[size * j:size * (j + 1)] for j in range(4)}) == 4


@pytest.mark.parametrize("shape", ["fixed", "padded", "ragged"])
@pytest.mark.parametrize("policy", ["skip", "mask", "substitute"])
def test_one_bad_picture_makes_a_bad_sample(tmp_path, open_, shape, policy):
    source = table(tmp_path)
    (tmp_path / "2_1.png").write_bytes(b"no picture")
    (tmp_path / "3_0.png").unlink()
    batch = next(iter(open_(spec(source, {"most": 3, "shape": shape}, bad_sample={"policy": policy}))))
    rows = {"skip": [0, 1], "mask": [0, 1, None, None], "substitute": [0, 1, 1, 1]}[policy]
    assert batch.n_bad == 2 and batch["count"].tolist() == [COUNTS[i] if i is not None else 0 for i in rows]
    for row, i in enumerate(rows):
        for j, picture in enumerate(expected(i) if i is not None else []):
            np.testing.assert_array_equal(batch["image"][row][j], picture)


def test_what_is_wrong_is_told_by_number_and_room(tmp_path, open_):
    source = table(tmp_path)
    (tmp_path / "2_1.png").write_bytes(b"no picture")
    with pytest.raises(spdl.SpdlError, match=r'sample 2 "t.json:2": picture 2 of 3: .*not an image'):
        list(open_(spec(source, 3, bad_sample={"policy": "fail"})))
    (tmp_path / "2_1.png").write_bytes(png(2, 1))
    with pytest.raises(spdl.SpdlError, match=r"too_large: image: got 4 pictures, want at most 3; raise many"):
        list(open_(spec(source, 3, bad_sample={"policy": "fail"})))


def test_ranks_and_caches_have_the_same_pictures(tmp_path, open_):
    source = archive(tmp_path)

    def rows(**more):
        loader = open_(spec(source, {"most": 4, "shape": "ragged"}, **more))
        return {int(i): row.tobytes() for batch in loader for i, row in zip(batch["id"], batch["image"])}

    whole = rows()
    assert sorted(whole) == list(range(8))
    ranks = [rows(world={"size": 2, "rank": rank}, batch=2) for rank in range(2)]
    assert not set(ranks[0]) & set(ranks[1]) and {**ranks[0], **ranks[1]} == whole
    for cache in {"dir": str(tmp_path / "files"), "max_bytes": "1MiB"}, {"rows_bytes": "1MiB"}, {"rows_bytes": "1MiB", "rows_dir": str(tmp_path / "rows")}:
        assert rows(cache=cache) == whole == rows(cache=cache)


def test_a_dataloader_has_a_tensor_a_row(tmp_path):
    with spdl.DataLoader(spec(table(tmp_path), {"most": 4, "shape": "ragged"}), fields=["image", "count", "id"], tensors="numpy", copy=True) as loader:
        for images, counts, ids in loader:
            assert [len(row) for row in images] == counts.tolist()
            for row, i in zip(images, ids):
                for got, want in zip(row, expected(i)):
                    np.testing.assert_array_equal(got, want)
