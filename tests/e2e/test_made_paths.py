"""Tables without a column of paths: `path` says what these are made of."""

import csv
import json

import numpy as np
import pytest
import spdl
from PIL import Image

ORDER = {"shuffle": False, "epochs": 1}
ROWS = [(i * 7, ("cat", "dog")[i % 2]) for i in range(6)]
TRANSFORM = [{"resize": [8, 8]}]


@pytest.fixture
def pets(tmp_path):
    """Pictures by id with their masks and arrays, as competitions have them, and tables of the ids in two forms."""
    for name in ("train", "masks", "depth"):
        (tmp_path / name).mkdir()
    for number, _ in ROWS:
        Image.fromarray(np.full((8, 8, 3), number, np.uint8)).save(tmp_path / f"train/{number:05d}.png")
        Image.fromarray(np.full((8, 8), number + 1, np.uint8)).save(tmp_path / f"masks/{number}_mask.png")
        np.save(tmp_path / f"depth/{number}.npy", np.full(3, number, np.int16))
    with open(tmp_path / "train.csv", "w", newline="") as file:
        csv.writer(file).writerows([["image_id", "breed"], *ROWS])
    (tmp_path / "train.jsonl").write_text("".join(json.dumps({"image_id": number, "breed": breed}) + "\n" for number, breed in ROWS))
    return tmp_path


@pytest.mark.parametrize("table", ["train.csv", "train.jsonl"])
def test_every_path_of_a_row_is_made_of_its_columns(pets, open_, table):
    spec = {"source": {"list": str(pets / table), "path": "train/{image_id:05d}.png", "label": "breed", "labels": "names",
                       "columns": [{"name": "id", "from": "image_id", "type": "i64"}, {"name": "depth", "from": "depth/{image_id}.npy", "type": "npy"}]},
            "fields": {"image": {"image": {"transform": TRANSFORM}},
                       "mask": {"image": {"from": "masks/{image_id}_mask.png", "mode": "gray", "transform": TRANSFORM}}},
            "batch": 6, "order": ORDER}
    loader = open_(spec)
    assert loader.classes == ["cat", "dog"]
    batch = next(iter(loader))
    numbers = np.array([number for number, _ in ROWS])
    assert batch.sample_keys == [f"train/{number:05d}.png" for number in numbers]
    np.testing.assert_array_equal(batch["id"], numbers)
    np.testing.assert_array_equal(batch["label"], [0, 1] * 3)
    np.testing.assert_array_equal(batch["image"], np.broadcast_to(numbers[:, None, None, None], (6, 8, 8, 3)))
    np.testing.assert_array_equal(batch["mask"][..., 0], np.broadcast_to(numbers[:, None, None] + 1, (6, 8, 8)))
    np.testing.assert_array_equal(batch["depth"], np.broadcast_to(numbers[:, None], (6, 3)))


@pytest.mark.parametrize("path, want", [
    ("train/{imageid}.png", 'no column "imageid"; the columns are image_id, breed; path "train/{imageid}.png" is made of it; did you mean {image_id}?'),
    ("train/{breed:05d}.png", 'line 2: path "train/{breed:05d}.png": column "breed": got "cat", want a whole number'),
    ("../{image_id}.png", 'line 2: path "../0.png": got ".."'),
    ("image", 'no column "image"; the columns are image_id, breed; the first line is the heading, and source.path says which column holds the paths, or what they are made of'),
    ("train/{image_id.png", 'source.path: "train/{image_id.png": got a { without its }'),
])
def test_what_makes_no_path_is_refused(pets, open_, path, want):
    spec = {"source": {"list": str(pets / "train.csv"), "path": path, "labels": "none"}, "image": {"transform": TRANSFORM}, "batch": 6, "order": ORDER}
    with pytest.raises((spdl.SpecError, spdl.EngineFailed, spdl.EngineStartError)) as refused:
        open_(spec)
    assert want in str(refused.value)
