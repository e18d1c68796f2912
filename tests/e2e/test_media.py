"""Samples of several media: pictures, sounds and texts of one key, through the real command, from archives and from files."""

import io
import tarfile

import numpy as np
import pytest
from media_files import sounds
from PIL import Image

LENGTHS = [800, 300, 555]
CAPTIONS = ["", "wörd", "猫 " * 20]


def make(folder):
    """Pictures of one colour, sounds and captions of the same names; the sounds."""
    waves = sounds(folder, LENGTHS)
    for k, wav in enumerate(sorted(folder.glob("*.wav"))):
        Image.new("RGB", (20, 10), (60 * k, 10, 200)).save(wav.with_suffix(".png"))
        wav.with_suffix(".txt").write_text(CAPTIONS[k], "utf-8")
    return waves


def pack(folder, path):
    with tarfile.open(path, "w") as archive:
        for file in sorted(folder.iterdir()):
            archive.add(file, file.name)


@pytest.mark.parametrize("place", ["shards", "folder"])
def test_each_part_becomes_a_field_of_its_own(tmp_path, open_, place):
    (tmp_path / "files").mkdir()
    waves = make(tmp_path / "files")
    pack(tmp_path / "files", tmp_path / "a.tar")
    source = {"shards": str(tmp_path / "a.tar")} if place == "shards" else {"folder": str(tmp_path / "files")}
    beside = {"from": "wav"} if place == "folder" else {}
    loader = open_({
        "source": {**source, "columns": ["txt"]}, "batch": 3, "order": {"shuffle": False, "epochs": 1},
        "image": {"transform": [{"resize": [4, 4]}]}, "audio": {**beside, "rate": 8000, "length": 1000, "shape": "padded"},
    })
    batch = next(iter(loader))
    assert batch["image"][:, 0, 0].tolist() == [[0, 10, 200], [60, 10, 200], [120, 10, 200]]
    assert batch["length"].tolist() == LENGTHS and batch["audio"].shape == (3, 1, 800)
    for row, wave in zip(batch["audio"], waves):
        np.testing.assert_array_equal(row[:, :wave.shape[1]], wave)
        assert not row[:, wave.shape[1]:].any()
    assert batch.text("txt") == CAPTIONS


def test_fields_of_one_kind_have_names(tmp_path, open_):
    """A picture and its mask are cropped alike, since what is random is the sample's."""
    noise = np.random.default_rng(1).integers(0, 256, (40, 60, 3), np.uint8)
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for part, pixels in ("jpg.png", noise), ("mask.png", noise), ("classes.png", np.where(noise[:, :, 0] > 99, 3, 200).astype(np.uint8)):
            data, picture = io.BytesIO(), Image.fromarray(pixels)
            if part == "classes.png":
                picture.putpalette([255, 255, 255] * 256)  # of one colour: only the numbers differ
            picture.save(data, "png")
            entry = tarfile.TarInfo(f"1.{part}")
            entry.size = len(data.getvalue())
            archive.addfile(entry, io.BytesIO(data.getvalue()))
    flips = [{"horizontal_flip": 0.5}, {"vertical_flip": 0.5}]
    crop = [{"random_resized_crop": 16}, *flips]
    classes = [{"random_resized_crop": {"size": 16, "interpolation": "nearest"}}, *flips]
    loader = open_({
        "source": {"shards": str(tmp_path / "a.tar")}, "batch": 1, "order": {"epochs": 8},
        "fields": {"photo": {"image": {"from": "jpg.png", "transform": crop}}, "mask": {"image": {"from": "mask.png", "mode": "gray", "transform": crop}},
                   "classes": {"image": {"from": "classes.png", "mode": "index", "transform": classes}}},
    })
    for epoch in loader.epochs():
        for batch in epoch:
            assert set(batch) == {"photo", "mask", "classes", "index", "key", "status", "label"}
            want = np.asarray(Image.fromarray(batch["photo"][0]).convert("L"))
            # The mask's grey is taken before it is resized, the other's after: they may be a rounding apart.
            assert np.abs(batch["mask"][0, :, :, 0].astype(int) - want).max() <= 2
            assert batch["classes"].dtype == np.uint8 and batch["classes"].shape == (1, 16, 16, 1) and set(np.unique(batch["classes"])) <= {3, 200}


def fnv1a(name):
    h = 0xCBF29CE484222325
    for c in name.encode():
        h = (h ^ c) * 0x100000001B3 % 2**64
    return h


@pytest.mark.parametrize("place", ["folder", "list", "tar"])
def test_views_of_one_sample_are_drawn_by_seed_and_name(tmp_path, open_, place):
    """A field with draw: own and no from is made of the first field's part, wherever that lies: as a ring of it alone with the seed XOR FNV-1a of its name."""
    pictures = [np.random.default_rng(i).integers(0, 256, (40 + i, 60, 3), np.uint8) for i in range(6)]
    files = []
    for i, picture in enumerate(pictures):
        Image.fromarray(picture).save(tmp_path / f"{i}.{'png' if i % 2 else 'bmp'}")
        files.append(tmp_path / f"{i}.{'png' if i % 2 else 'bmp'}")
    (tmp_path / "list.txt").write_text("".join(f"{file.name}\n" for file in files))
    with tarfile.open(tmp_path / "s.tar", "w") as tar:
        for file in files:
            tar.add(file, file.name)
    source = {"folder": {"folder": str(tmp_path)}, "list": {"list": str(tmp_path / "list.txt")}, "tar": {"shards": str(tmp_path / "s.tar")}}[place]

    def image(size, low):
        return {"transform": [{"random_resized_crop": {"size": size, "scale": [low, 1]}}, {"horizontal_flip": 0.5}]}

    def rows(field, seed, **media):
        loader = open_({"source": source, "batch": 6, "order": {"shuffle": False, "epochs": 1, "seed": seed}, **media})
        with next(iter(loader)) as batch:
            return {name: np.asarray(batch[name]).copy() for name in (field if isinstance(field, list) else [field])}

    got = rows(["a", "b", "small"], 7, fields={
        "a": {"image": image(16, 0.4)}, "b": {"draw": "own", "image": image(16, 0.4)}, "small": {"draw": "own", "image": image(8, 0.05)}})
    np.testing.assert_array_equal(got["a"], rows("image", 7, image=image(16, 0.4))["image"])
    np.testing.assert_array_equal(got["b"], rows("image", 7 ^ fnv1a("b"), image=image(16, 0.4))["image"])
    np.testing.assert_array_equal(got["small"], rows("image", 7 ^ fnv1a("small"), image=image(8, 0.05))["image"])
    assert (got["a"] != got["b"]).any()


def moved(boxes, a, height, width):
    """Boxes [n, 4] where the map a takes them, cut at the row's edges: what who has affine alone writes."""
    corners = boxes[:, [0, 1, 2, 1, 0, 3, 2, 3]].reshape(-1, 4, 2) @ a[:, :2].T + a[:, 2]
    return np.concatenate([corners.min(1), corners.max(1)], 1).clip(0, [width, height, width, height])


BOXES = {"type": "npy", "from": "npy", "shape": [-1, 4], "max_length": 9}
AS_THEY_WERE, FOLLOWING = BOXES | {"name": "boxes"}, BOXES | {"name": "following"}


def paint_boxes(folder):
    """White boxes on black, and beside each picture the box and all of the picture."""
    rng = np.random.default_rng(5)
    for i in range(12):
        height, width = rng.integers(60, 140, 2)
        (x0, x1), (y0, y1) = np.sort(rng.integers(0, width + 1, 2)), np.sort(rng.integers(0, height + 1, 2))
        pixels = np.zeros((height, width, 3), np.uint8)
        pixels[y0:y1, x0:x1] = 255
        Image.fromarray(pixels).save(folder / f"{i:02}.png")
        np.save(folder / f"{i:02}.npy", np.float32([[x0, y0, x1, y1], [0, 0, width, height]]))


TURN, SHEAR = {"random_rotation": 180}, {"random_affine": {"degrees": 0, "scale": [0.5, 0.8], "shear": 10}}
GROW = {"random_rotation": {"degrees": 180, "expand": True}}


@pytest.mark.parametrize("transform", [
    [{"center_crop": 220}, TURN, SHEAR], [GROW, SHEAR, {"center_crop": 220}], [GROW, {"resize": [110, 110]}], [{"resize": 140}, GROW, SHEAR, {"horizontal_flip": 0.5}, {"center_crop": 220}],
], ids=["row", "picture", "shrunk", "resized"])
def test_boxes_are_around_what_was_turned(tmp_path, open_, transform):
    """What the map leads to is the smallest box around what became of one that was turned and sheared, before or after the crop; boxes that
    follow by themselves are the smallest after each operation, and hold that one."""
    paint_boxes(tmp_path)
    rows = 0
    loader = open_({
        "source": {"folder": str(tmp_path), "columns": [AS_THEY_WERE, FOLLOWING]},
        "batch": 4, "order": {"epochs": 3},
        "image": {"affine": True, "transform": transform, "boxes": {"column": "following", "min_size": 0, "min_area": 0}},
    })
    for _ in range(3):
        for batch in loader:
            for i in range(batch.rows):
                y, x = np.nonzero(batch["image"][i, :, :, 0])
                if len(y) < 200:
                    continue  # a sliver may lie between pixels
                rows += 1
                box = moved(batch["boxes"][i], batch["affine"][i], 220, 220)[0]
                np.testing.assert_allclose(box, [x.min(), y.min(), x.max() + 1, y.max() + 1], atol=2.5)
                around = batch["following"][i][0]
                assert (around[:2] <= box[:2] + 1e-3).all() and (around[2:] >= box[2:] - 1e-3).all()
    assert rows > 20


def test_boxes_follow_the_crop_that_was_drawn(tmp_path, open_):
    """A moved box holds what is painted in the row, and nothing else is painted there; boxes that follow by themselves are the same."""
    paint_boxes(tmp_path)
    loader = open_({
        "source": {"folder": str(tmp_path), "columns": [AS_THEY_WERE, FOLLOWING]},
        "batch": 4, "order": {"epochs": 3},
        "image": {
            "affine": True, "transform": [{"random_resized_crop": {"size": [40, 50], "scale": [0.2, 1]}}, {"horizontal_flip": 0.5}, {"vertical_flip": 0.5}],
            "boxes": {"column": "following", "min_size": 0, "min_area": 0},
        },
    })
    seen = 0
    for _ in range(3):
        for batch in loader:
            height, width = batch["image"].shape[1:3]
            for i in range(batch.rows):
                box, whole = both = moved(batch["boxes"][i], batch["affine"][i], height, width)
                np.testing.assert_allclose(batch["following"][i], both, atol=1e-3)
                assert batch["size"][i].tolist() == [int(n) for n in batch["boxes"][i][1, 3:1:-1]]
                np.testing.assert_allclose(whole, [0, 0, width, height], atol=1e-3)  # of a crop nothing is outside
                painted = batch["image"][i, :, :, 0] > 127
                inside = np.zeros_like(painted)
                inside[slice(*np.rint(box[1::2]).astype(int)), slice(*np.rint(box[::2]).astype(int))] = True
                assert (painted != inside).sum() <= painted.shape[0] + painted.shape[1]  # half a pixel along the edges
                seen += painted.any()
    assert seen > 20
