"""Boxes and points by pictures that are painted: in a row, of one size for all or of the picture's own, whatever has moved it, a box's colour lies within the box, and its middle has that colour.
By random chains of operations: --seeds N tries as many."""

import json
import random

import numpy as np
import pytest
from PIL import Image, ImageOps

N = 10  # pictures, of up to three boxes, each of a colour of its own on black
SIZE = (90, 80)  # of rows that all have one
STORED = {2: Image.FLIP_LEFT_RIGHT, 3: Image.ROTATE_180, 4: Image.FLIP_TOP_BOTTOM, 5: Image.TRANSPOSE, 6: Image.ROTATE_90, 7: Image.TRANSVERSE, 8: Image.ROTATE_270}  # how EXIF's orientations undo it
GROUPS = ("random_apply", "random_choice", "random_order")
FORMATS = {"xyxy": lambda b: b, "xywh": lambda b: [b[0], b[1], b[2] - b[0], b[3] - b[1]], "cxcywh": lambda b: [(b[0] + b[2]) / 2, (b[1] + b[3]) / 2, b[2] - b[0], b[3] - b[1]]}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """The pictures, stored turned in every way that EXIF knows, and a line of each: its boxes in each format, which they are, and their middles."""
    folder, rng = tmp_path_factory.mktemp("painted"), np.random.default_rng(7)
    with open(folder / "t.jsonl", "w") as lines:
        for i in range(N):
            height, width = (int(n) for n in rng.integers(60, 200, 2))
            pixels, boxes = np.zeros((height, width, 3), np.uint8), []
            for k in range(int(rng.integers(0, 4))):  # each in a third of the picture
                left, top = int(rng.integers(k * width // 3, (k + 1) * width // 3 - 12)), int(rng.integers(0, height - 20))
                right, bottom = int(rng.integers(left + 12, (k + 1) * width // 3 + 1)), int(rng.integers(top + 20, height + 1))
                pixels[top:bottom, left:right, k] = 255
                boxes.append([left, top, right, bottom])
            orientation, exif = 1 + i % 8, Image.Exif()
            exif[0x112] = orientation
            image = Image.fromarray(pixels)
            (image.transpose(STORED[orientation]) if orientation in STORED else image).save(folder / f"{i}.png", exif=exif)
            assert np.array_equal(ImageOps.exif_transpose(Image.open(folder / f"{i}.png")), pixels)
            line = {"path": f"{i}.png", "which": list(range(len(boxes))), "middles": [[[(b[0] + b[2]) / 2, (b[1] + b[3]) / 2, 2]] for b in boxes]}
            for name, of in FORMATS.items():
                line[name] = [of(b) for b in boxes]
                line[f"{name} shares"] = [of([v / side for v, side in zip(b, (width, height) * 2)]) for b in boxes]
            lines.write(json.dumps(line) + "\n")
    return folder / "t.jsonl"


def mover(r):
    """An operation that moves pixels, of a row and of a whole picture."""
    return r.choice([{"horizontal_flip": 0.5}, {"vertical_flip": 0.5}, {"random_rotation": r.choice([20, 90, [30, 60]])}, {"random_perspective": 0.4},
                     {"random_affine": {"degrees": r.choice([0, 25]), "translate": [0.1, 0.1], "scale": [0.7, 1.2], "shear": r.choice([10, [0, 0, 5, 15]])}}])


def group(r):
    several = list({next(iter(m)): m for m in (mover(r) for _ in range(3))}.values())
    kind = r.choice(GROUPS) if len(several) > 1 else "random_apply"
    return {kind: {"transforms": several, "p": 0.6} if kind == "random_apply" else several}


def names(operations):
    for operation in operations:
        (name, value), = operation.items()
        yield name
        if name in GROUPS:
            yield from names(value["transforms"] if isinstance(value, dict) else value)


class Chain:
    """Operations, each of which stands in it once."""

    def __init__(self, r, sized=True):
        self.r, self.operations, self.names = r, [], set()
        self.shape = r.choice(["fixed", "fixed", "padded", "ragged"] if sized else ["padded", "ragged"])
        self.ahead()
        if sized:
            self.size()
        for _ in range(r.randint(0, 3)):
            self.add(group(r) if r.random() < 0.2 else mover(r))

    def size(self):
        """What brings rows to SIZE, or to sizes of their own."""
        r, nearest = self.r, {"interpolation": "nearest"}  # colours stay what they are
        whole = [{"resize": {"size": SIZE, **nearest}}, {"random_resized_crop": {"size": SIZE, "scale": [0.3, 1], **nearest}},
                 {"resize": {"size": SIZE, "fit": r.choice(["contain", "letterbox"]), "place": r.choice(["center", "top_left"]), "upscale": r.choice([True, False]), **nearest}}]
        if self.shape != "fixed":
            self.add(r.choice([{"resize": {"size": 70, "max_size": 100, **nearest}}, {"resize": {"max_size": 90, "rounding": "nearest", **nearest}}, {"resize": {"size": 60, **nearest}},
                               {"resize": {"min_pixels": 4000, "max_pixels": 9000, "multiple_of": 14, **nearest}}, {"random_shortest_size": {"min_size": [50, 60, 80], "max_size": 120, **nearest}},
                               {"scale_jitter": {"target_size": 100, "scale_range": [0.8, 1.5], **nearest}}]))
        elif r.random() < 0.5:
            self.add(r.choice(whole))
        else:
            sized = [{"resize": {"size": 70, "max_size": 90, **nearest}}, {"random_resize": {"min_size": 60, "max_size": 110, **nearest}}, {"scale_jitter": {"target_size": 100, "scale_range": [0.8, 1.5], **nearest}}]
            if r.random() < 0.7:
                self.add(r.choice(sized))
                self.ahead()
            self.add(r.choice([{"center_crop": {"size": SIZE, "position": r.choice(["center", "top_left", "bottom_right"])}}, {"random_crop": {"size": SIZE, "padding": r.choice([0, 5, [1, 9]])}}]))

    def ahead(self):
        """What stands ahead of a crop or a resize alone, and other things there."""
        for _ in range(self.r.randint(0, 2)):
            self.add(self.r.choice([{"random_zoom_out": {"side_range": [1, 1.5]}}, {"random_iou_crop": {"min_scale": 0.5}}, {"random_rotation": {"degrees": 40, "expand": True}}, group(self.r), mover(self.r)]))

    def add(self, operation):
        new = set(names([operation]))
        if not new & self.names:
            self.names |= new
            self.operations.append(operation)


def corners(boxes, form, sides):
    """Of boxes in this form; sides: height and width that they are shares of, or None."""
    x, y, z, w = (boxes * (tuple(sides[::-1]) * 2 if sides else (1,) * 4)).T
    return np.stack({"xyxy": (x, y, z, w), "xywh": (x, y, x + z, y + w), "cxcywh": (x - z / 2, y - w / 2, x + z / 2, y + w / 2)}[form], 1)


def check(row, boxes, which, middles, cropped):
    """A row against its boxes, [n, 4] by their corners. Whatever takes nearest pixels may be 3 beside the place."""
    assert (boxes >= -1e-3).all() and (boxes <= np.tile(row.shape[1::-1], 2) + 1e-3).all()
    for box, k, (x, y, visible) in zip(boxes, which, middles[:, 0]):
        ys, xs = np.nonzero(row[..., k])
        if len(xs):
            assert xs.min() >= box[0] - 3 and ys.min() >= box[1] - 3 and xs.max() + 1 <= box[2] + 3 and ys.max() + 1 <= box[3] + 3
        if visible and min(box[2] - box[0], box[3] - box[1]) > 5:
            assert row[max(0, int(y) - 2):int(y) + 3, max(0, int(x) - 2):int(x) + 3, k].any()
    for k in set(range(3)) - set(which.tolist()):
        ys, xs = np.nonzero(row[..., k])
        assert len(xs) == 0 or cropped or min(np.ptp(xs), np.ptp(ys)) < 5, "a box was dropped that is there"


def described(table, r, drawn, chain, form, shares):
    return {
        "source": {"list": str(table), "columns": [
            {"name": "boxes", "from": f"{form} shares" if shares else form, "type": "list", "dtype": r.choice(["f32", "f64"]), "shape": [-1, 4], "max_length": 3},
            {"name": "which", "type": "list", "dtype": "u8", "max_length": 3}, {"name": "middles", "type": "list", "dtype": "f64", "shape": [-1, 1, 3], "max_length": 3}]},
        "batch": N, "order": {"seed": drawn, "epochs": 2}, "bad_sample": {"policy": "fail"},
        "image": {"orientation": "apply", "transform": chain.operations, "points": "middles", **({} if chain.shape == "fixed" else {"shape": chain.shape, "room": 800}),
                  "boxes": {"column": "boxes", "format": form, "normalized": shares, "with": ["which", "middles"], "min_area": r.choice([0, 1])}},
    }


@pytest.mark.parametrize("sized", [True, False], ids=["resized", "as large as it is"])
def test_what_is_painted_in_a_box_stays_in_it(table, open_, drawn, sized):
    r = random.Random(drawn)
    chain, form, shares = Chain(r, sized), r.choice(list(FORMATS)), r.random() < 0.4
    loader, seen = open_(described(table, r, drawn, chain, form, shares)), 0
    for _ in range(2):
        for batch in loader:
            extents = batch["extent"].tolist() if "extent" in batch else [SIZE] * N
            for row, (height, width), boxes, which, middles in zip(batch["image"], extents, batch["boxes"], batch["which"], batch["middles"]):
                row = row[:height, :width]
                assert row.shape[:2] == (height, width)
                check(row, corners(boxes, form, (height, width) if shares else None), which, middles, "random_iou_crop" in chain.names)
                seen += 1
    assert seen == 2 * N, chain.operations
