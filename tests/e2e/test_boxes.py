"""Boxes, points and what goes with them follow their picture through the real command."""

import json

import numpy as np
import pytest
import spdl
from PIL import Image
from proof import prove

N = 12


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table of N pictures with i % 4 boxes of COCO's, their classes, and two joints of each."""
    folder, rng = tmp_path_factory.mktemp("boxes"), np.random.default_rng(7)
    lines = []
    for i in range(N):
        height, width = (int(n) for n in rng.integers(60, 120, 2))
        Image.fromarray(rng.integers(0, 256, (height, width, 3), np.uint8)).save(folder / f"{i:02}.png")
        boxes, joints = [], []
        for _ in range(i % 4):
            x, y = (int(n) for n in rng.integers(0, 50, 2))
            boxes.append([x, y, int(rng.integers(1, width - x + 1)), int(rng.integers(1, height - y + 1))])
            joints.append([[x, y, 2], [x + 1, y + 1, 0]])
        lines.append({"path": f"{i:02}.png", "boxes": boxes, "classes": [10 * i + k for k in range(len(boxes))], "joints": joints})
    (folder / "train.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder / "train.jsonl"


def columns(**more):
    return [
        {"name": "boxes", "type": "list", "dtype": "i32", "shape": [-1, 4], "max_length": 4, **more},
        {"name": "classes", "type": "list", "dtype": "i64", "max_length": 4, **more},
        {"name": "joints", "type": "list", "dtype": "f32", "shape": [-1, 2, 3], "max_length": 4, **more},
        {"name": "raw", "from": "boxes", "type": "list", "dtype": "f64", "shape": [-1, 4], "max_length": 4},
    ]


def described(table, **more):
    return {
        "source": {"list": str(table), "columns": columns()}, "batch": 4, "order": {"epochs": 3, "seed": 5},
        "image": {
            "affine": True, "transform": [{"random_resized_crop": {"size": [48, 40], "scale": [0.3, 1]}}, {"horizontal_flip": 0.5}],
            "boxes": {"column": "boxes", "format": "xywh", "with": ["classes", "joints"]}, "points": "joints",
        },
    } | more


def by_hand(raw, a, size=(40, 48)):
    """COCO's boxes as the map leads them, and which of them are at least a pixel wide and high."""
    corners = np.concatenate([raw[:, :2], raw[:, :2] + raw[:, 2:]], 1)[:, [0, 1, 2, 3]].reshape(-1, 2, 2) @ a[:, :2].T.astype("f8") + a[:, 2]
    low, high = corners.min(1).clip(0, size), corners.max(1).clip(0, size)
    sides = high - low
    return np.concatenate([low, sides], 1), (sides >= 1).all(1)


def rows_of(batch):
    return [(int(batch["index"][i]), batch["boxes"][i].copy(), batch["classes"][i].copy(), batch["joints"][i].copy()) for i in range(batch.rows)]


def test_boxes_come_moved_and_with_what_is_theirs(table, open_):
    loader, dropped = open_(described(table)), 0
    for _ in range(3):
        for batch in loader:
            for i, (index, boxes, classes, joints) in enumerate(rows_of(batch)):
                want, kept = by_hand(batch["raw"][i], batch["affine"][i])
                assert boxes.dtype == np.float32 and boxes.shape[1:] == (4,) and joints.shape == (len(boxes), 2, 3)
                np.testing.assert_allclose(boxes, want[kept], atol=1e-3)
                assert classes.tolist() == [10 * index + k for k in np.flatnonzero(kept)]
                dropped += int((~kept).sum())
                for joint, raw in zip(joints, batch["raw"][i][kept]):
                    x, y = batch["affine"][i][:, :2] @ raw[:2] + batch["affine"][i][:, 2]
                    inside = 0 <= x < 40 and 0 <= y < 48
                    if min(abs(x), abs(x - 40), abs(y), abs(y - 48)) < 1e-3:
                        continue  # the map is rounded to f32
                    np.testing.assert_allclose(joint, [[x, y, 2] if inside else [0, 0, 0], [0, 0, 0]], atol=1e-3)
    assert dropped > 3


def test_padded_boxes_say_how_many_they_are(table, open_):
    spec = described(table, source={"list": str(table), "columns": columns(padded=True)})
    ragged = [row for batch in open_(described(table, order={"shuffle": False, "epochs": 1})) for row in rows_of(batch)]
    at = 0
    for batch in open_(spec | {"order": {"shuffle": False, "epochs": 1}}):
        lengths = batch["boxes.length"].tolist()
        assert lengths == batch["classes.length"].tolist() == batch["joints.length"].tolist() and batch["boxes"].shape == (4, max(lengths), 4)
        for i, n in enumerate(lengths):
            _, boxes, classes, joints = ragged[at]
            at += 1
            np.testing.assert_array_equal(batch["boxes"][i][:n], boxes)
            np.testing.assert_array_equal(batch["classes"][i][:n], classes)
            np.testing.assert_array_equal(batch["joints"][i][:n], joints)
            assert not batch["boxes"][i][n:].any()
    assert at == N


def test_a_resumed_run_has_the_same_boxes(table, open_):
    first = open_(described(table))
    seen, state = [], None
    for batch in first:
        seen += rows_of(batch)
        if len(seen) == 8:
            state = first.state_dict()
            break
    rest = [row for batch in open_(described(table), state=state) for row in rows_of(batch)]
    again = [row for batch in open_(described(table)) for row in rows_of(batch)]
    assert len(seen + rest) == len(again) == N
    for got, want in zip(seen + rest, again):
        assert got[0] == want[0] and all(np.array_equal(a, b) for a, b in zip(got[1:], want[1:]))


def test_batches_with_boxes_are_verified_and_replayed(table, open_, tmp_path):
    """Hashes are of the boxes, too: what is made again is what was delivered."""
    spec = described(table, ring={"hash": "xxh3"}, order={"seed": 5}, batch=3)
    loader = open_(spec)
    assert f"{2 * len(loader)} batches, {2 * N} rows" in prove(loader, spec, tmp_path)


def test_what_does_not_go_with_its_boxes_is_a_bad_sample(table, open_, tmp_path):
    lines = [json.loads(line) for line in table.read_text().splitlines()]
    lines[3]["classes"].pop()
    for line in lines:
        line["path"] = str(table.parent / line["path"])
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    spec = described(tmp_path / "train.jsonl", bad_sample={"policy": "fail"})
    with pytest.raises(spdl.SpdlError, match='column "classes": got 2 lines, want 3, one for each of "boxes"'):
        for _ in open_(spec):
            pass
    with pytest.raises(spdl.SpdlError, match="image.boxes.column: got \"bboxes\", want the name of one of source.columns"):
        open_(spec | {"image": spec["image"] | {"boxes": "bboxes"}})
