"""Masks of objects, drawn from COCO's polygons and runs, against pycocotools' frPyObjects, merge and decode, to the pixel."""

import json

import numpy as np
import pytest
from PIL import Image

spdl = pytest.importorskip("spdl")
coco = pytest.importorskip("pycocotools.mask")

SIZES = [(1, 1), (5, 1), (1, 7), (33, 20), (40, 64), (64, 64), (97, 51), (120, 200)]  # height and width
EACH = 120  # objects of a picture


def masks(folder, segmentations):
    """What a ring has of pictures of SIZES with these segmentations: of each [n, height, width], as large as the picture is."""
    lines = []
    for i, ((height, width), all_) in enumerate(zip(SIZES, segmentations, strict=True)):
        Image.new("L", (width, height)).save(folder / f"{i}.png")
        lines.append(json.dumps({"path": f"{i}.png", "boxes": [[0, 0, 1, 1]] * len(all_), "segmentation": all_}) + "\n")
    (folder / "t.jsonl").write_text("".join(lines))
    spec = {
        "source": {"list": str(folder / "t.jsonl"), "columns": [
            {"name": "boxes", "type": "list", "dtype": "f32", "shape": [-1, 4], "max_length": EACH}, {"name": "masks", "from": "segmentation", "type": "text", "max_bytes": "4MiB"}]},
        "batch": len(SIZES), "order": {"shuffle": False}, "bad_sample": {"policy": "fail"}, "ring": {"slots": 3},
        "image": {"shape": "ragged", "room": [120, 200], "boxes": {"column": "boxes", "min_size": 0, "min_area": 0, "masks": "masks"}},
    }
    with spdl.open(spec) as loader:
        batch = next(iter(loader))
        assert batch["extent"].tolist() == [list(size) for size in SIZES]
        return [batch["masks"][i].copy() for i in range(len(SIZES))]


def theirs(segmentation, height, width):
    """torchvision's segmentation_to_mask."""
    if isinstance(segmentation, list):
        return coco.decode(coco.merge(coco.frPyObjects(segmentation, height, width)))
    return coco.decode(segmentation if isinstance(segmentation["counts"], str) else coco.frPyObjects(segmentation, height, width))


def same(folder, segmentations):
    drawn = 0
    for ours, all_, (height, width) in zip(masks(folder, segmentations), segmentations, SIZES, strict=True):
        assert ours.shape == (len(all_), height, width) and ours.dtype == np.uint8
        for mask, one in zip(ours, all_):
            want = theirs(one, height, width)
            assert np.array_equal(mask, want), (one, height, width)
            drawn += int(want.sum())
    assert drawn > 0


def around(rng, height, width):
    """An outline as annotators draw them: points around a middle, of two decimals."""
    n = int(rng.integers(3, 60))
    at = np.sort(rng.uniform(0, 2 * np.pi, n))
    far = rng.uniform(0.1, 0.6) * rng.uniform(0.5, 1, n)
    points = np.stack([rng.uniform(0, width) + far * width * np.cos(at), rng.uniform(0, height) + far * height * np.sin(at)], 1)
    return points.round(2).ravel().tolist()


def anywhere(rng, height, width):
    """Points anywhere, so that sides cross, on pixels, on their middles, on fifths or between all of them."""
    points = rng.uniform(-0.2, 1.2, (int(rng.integers(3, 12)), 2)) * [width, height]
    grid = rng.choice([1, 2, 5, 10, 1000])
    return ((points * grid).round() / grid).ravel().tolist()


def far_away(rng, height, width):
    return (rng.normal(0, 3, (int(rng.integers(3, 9)), 2)) * [width, height]).ravel().tolist()


def degenerate(rng, height, width):
    """Of points that are one, in a line, upright or flat, or that come twice."""
    x, y, u, v = (rng.integers(-2, 2 * max(height, width) + 1, 4) / 2).tolist()
    return [[x, y] * 3, [x, y, u, v, x, y], [x, y, x, v, x, y], [x, y, u, y, u, y], [x, y, x, y, u, v, u, y], [x, y, u, y, u, v, x, v]][int(rng.integers(6))]


DRAWN = {"around": around, "anywhere": anywhere, "far away": far_away, "degenerate": degenerate}


@pytest.mark.parametrize("kind", DRAWN)
@pytest.mark.parametrize("seed", range(3))
def test_polygons_are_pycocotools(tmp_path, kind, seed):
    rng = np.random.default_rng(seed)
    same(tmp_path, [[[DRAWN[kind](rng, *size) for _ in range(int(rng.integers(1, 4)))] for _ in range(EACH)] for size in SIZES])


def runs_of(mask):
    """COCO's uncompressed runs: down the columns, zeros first."""
    flat = mask.T.ravel()
    at = np.flatnonzero(np.diff(flat)) + 1
    runs = np.diff([0, *at, len(flat)]).tolist()
    return runs if flat[0] == 0 else [0, *runs]


@pytest.mark.parametrize("packed", [False, True])
def test_runs_are_pycocotools(tmp_path, packed):
    rng, said = np.random.default_rng(5), []
    for height, width in SIZES:
        all_ = []
        for k in range(EACH):
            mask = (rng.random((height, width)) < [0, 1, 0.5, 0.02, 0.98][k % 5]).astype(np.uint8)
            if k % 2:
                mask = np.repeat(np.repeat(mask, 7, 0), 5, 1)[:height, :width]
            if packed:
                one = coco.encode(np.asfortranarray(mask))
                all_.append({"size": one["size"], "counts": one["counts"].decode()})
            else:
                all_.append({"size": [height, width], "counts": runs_of(mask)})
        said.append(all_)
    same(tmp_path, said)
