"""Masks of objects go where their boxes go, through the real command."""

import json

import numpy as np
import pytest
from PIL import Image
from proof import prove

N = 12


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Pictures of several sizes with i % 4 boxes of whole pixels, of which the outlines are polygons and runs by turns."""
    folder, rng = tmp_path_factory.mktemp("masks"), np.random.default_rng(3)
    lines = []
    for i in range(N):
        height, width = (int(n) for n in rng.integers(60, 120, 2))
        Image.fromarray(rng.integers(0, 256, (height, width, 3), np.uint8)).save(folder / f"{i:02}.png")
        boxes, outlines = [], []
        for k in range(i % 4):
            x, y = (int(n) for n in rng.integers(0, 50, 2))
            w, h = int(rng.integers(2, width - x)), int(rng.integers(2, height - y))
            boxes.append([x, y, x + w, y + h])
            runs = [x * height + y, *[h, height - h] * (w - 1), h]
            outlines.append({"size": [height, width], "counts": [*runs, height * width - sum(runs)]} if k % 2 else [[x, y, x + w, y, x + w, y + h, x, y + h]])
        lines.append({"path": f"{i:02}.png", "boxes": boxes, "classes": list(range(len(boxes))), "segmentation": outlines})
    (folder / "train.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder / "train.jsonl"


def described(table, image, **more):
    return {
        "source": {"list": str(table), "columns": [
            {"name": "boxes", "type": "list", "dtype": "f32", "shape": [-1, 4], "max_length": 4}, {"name": "classes", "type": "list", "dtype": "i64", "max_length": 4},
            {"name": "masks", "from": "segmentation", "type": "text", "max_bytes": "64KiB"}]},
        "batch": 4, "order": {"epochs": 2, "seed": 5},
        "image": {"boxes": {"column": "boxes", "with": ["classes"], "masks": "masks"}, **image},
    } | more


def of_boxes(boxes, height, width):
    """The pixels in each box."""
    y, x = np.mgrid[:height, :width]
    return np.stack([(x >= x1) & (x < x2) & (y >= y1) & (y < y2) for x1, y1, x2, y2 in boxes] or [np.zeros((height, width), bool)])[:len(boxes)].astype(np.uint8)


@pytest.mark.parametrize("image", [
    {"transform": [{"random_crop": 48}, {"horizontal_flip": 0.5}]},
    {"transform": [{"random_iou_crop": {}}, {"random_crop": [40, 56]}, {"vertical_flip": 0.5}, {"color_jitter": {"brightness": 0.4}}], "layout": "NCHW", "dtype": "f32"},
    {"transform": [{"horizontal_flip": 0.5}], "shape": "ragged", "room": [120, 120]},
    {"transform": [{"random_iou_crop": {}}, {"horizontal_flip": 0.5}], "shape": "padded", "room": [120, 120]},
])
def test_masks_are_where_their_boxes_are(table, open_, image):
    loader, seen = open_(described(table, image)), 0
    for _ in range(2):
        for batch in loader:
            for i in range(batch.rows):
                boxes, masks = batch["boxes"][i], batch["masks"][i]
                size = batch["extent"][i].tolist() if "shape" in image else [40, 56] if "layout" in image else [48, 48]
                assert masks.dtype == np.uint8 and masks.shape == (len(boxes), *size) and len(batch["classes"][i]) == len(boxes)
                np.testing.assert_array_equal(masks, of_boxes(boxes, *size))
                seen += len(masks)
    assert seen > 10


def test_a_mask_is_no_text(table, open_):
    batch = next(iter(open_(described(table, {"transform": [{"center_crop": 48}]}))))
    with pytest.raises(TypeError, match="got no bytes; want a field of text"):
        batch.text("masks")
    assert len(batch["masks"].copy()[0]) == len(batch["boxes"][0])


def test_batches_with_masks_are_verified_and_replayed(table, open_, tmp_path):
    spec = described(table, {"transform": [{"random_crop": 48}, {"horizontal_flip": 0.5}]}, ring={"hash": "xxh3"}, order={"seed": 5}, batch=3)
    loader = open_(spec)
    assert f"{2 * len(loader)} batches, {2 * N} rows" in prove(loader, spec, tmp_path)
