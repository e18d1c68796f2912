"""Tiles of a picture through the real command: the rules of InternVL, LLaVA-NeXT, Llama 3.2 and Idefics3, from their definitions, in plain Pillow."""

import io
import itertools
import math
import pickle
import tarfile

import numpy as np
import pytest
import spdl
from pictures import picture
from PIL import Image

BICUBIC, BILINEAR, LANCZOS = Image.Resampling.BICUBIC, Image.Resampling.BILINEAR, Image.Resampling.LANCZOS
T = 16
PINPOINTS = [[T, 2 * T], [2 * T, T], [2 * T, 2 * T], [3 * T, T], [T, 3 * T]]


def cut(image, rows, columns, side):
    """The tiles of a picture that has the size of its grid, row by row."""
    assert image.size == (columns * side, rows * side)
    return [image.crop((x * side, y * side, (x + 1) * side, (y + 1) * side)) for y in range(rows) for x in range(columns)]


def internvl(image, side=T, least=1, most=12, thumbnail=True):
    """dynamic_preprocess: rows, columns and the tiles."""
    shape, area = image.width / image.height, image.width * image.height
    grids = sorted(((i, j) for i in range(1, most + 1) for j in range(1, most + 1) if least <= i * j <= most), key=lambda g: g[0] * g[1])
    best, off = (1, 1), math.inf
    for columns, rows in grids:
        this = abs(shape - columns / rows)
        if this < off or this == off and area > 0.5 * side * side * columns * rows:
            best = columns, rows
        off = min(off, this)
    columns, rows = best
    tiles = cut(image.resize((columns * side, rows * side), BICUBIC), rows, columns, side)
    return rows, columns, tiles + [image.resize((side, side), BICUBIC)] * (thumbnail and len(tiles) > 1)


def llava_next(image, side=T, pinpoints=PINPOINTS):
    """select_best_resolution, resize_and_pad_image and process_anyres_image; sizes are [H, W]."""
    w, h = image.size
    best, most, least = None, 0, math.inf
    for high, wide in pinpoints:
        scale = min(wide / w, high / h)
        kept = min(int(w * scale) * int(h * scale), w * h)
        if kept > most or kept == most and high * wide - kept < least:
            best, most, least = (high, wide), kept, high * wide - kept
    high, wide = best
    if wide / w < high / h:
        size = wide, min(math.ceil(h * (wide / w)), high)
    else:
        size = min(math.ceil(w * (high / h)), wide), high
    canvas = Image.new(image.mode, (wide, high))
    canvas.paste(image.resize(size, BICUBIC), ((wide - size[0]) // 2, (high - size[1]) // 2))
    return high // side, wide // side, [image.resize((side, side), BICUBIC), *cut(canvas, high // side, wide // side, side)]


def mllama(image, side=T, most=4):
    """get_optimal_tiled_canvas and get_image_size_fit_to_canvas."""
    w, h = image.size
    grids = [(rows, columns) for rows in range(1, most + 1) for columns in range(1, most + 1) if rows * columns <= most]
    scales = [min(rows * side / h, columns * side / w) for rows, columns in grids]
    enlarging = [s for s in scales if s >= 1]
    scale = min(enlarging) if enlarging else max(scales)
    rows, columns = min((g for g, s in zip(grids, scales) if s == scale), key=lambda g: g[0] * g[1])
    high, wide = (min(max(of, side), n * side) for of, n in ((h, rows), (w, columns)))
    if wide / w < high / h:
        high = min(math.floor(h * (wide / w)) or 1, high)
    else:
        wide = min(math.floor(w * (high / h)) or 1, wide)
    canvas = Image.new(image.mode, (columns * side, rows * side))
    canvas.paste(image.resize((wide, high), BILINEAR))
    return rows, columns, cut(canvas, rows, columns, side)


def idefics3(image, side=T, longest=4 * T):
    """resize to the longest edge, resize_for_vision_encoder, split_image."""
    w, h = image.size
    shape = w / h
    if w >= h:
        w, h = longest, int(longest / shape)
        h += h % 2
    else:
        w, h = int(longest * shape), longest
        w += w % 2
    image = image.resize((max(w, 1), max(h, 1)), LANCZOS)
    w, h = image.size
    shape = w / h
    if w >= h:
        w = math.ceil(w / side) * side
        h = math.ceil(int(w / shape) / side) * side
    else:
        h = math.ceil(h / side) * side
        w = math.ceil(int(h * shape) / side) * side
    image = image.resize((w, h), LANCZOS)
    return h // side, w // side, [*cut(image, h // side, w // side, side), image.resize((side, side), LANCZOS)]


RULES = {
    "internvl": ({"size": T}, internvl, 13),
    "internvl of 2 to 5": ({"size": T, "min": 2, "max": 5, "thumbnail": False}, lambda image: internvl(image, least=2, most=5, thumbnail=False), 5),
    "llava_next": ({"kind": "llava_next", "size": T, "grid_pinpoints": PINPOINTS}, llava_next, 5),
    "llava_next, one of a tile": ({"kind": "llava_next", "size": T, "grid_pinpoints": [[T, T], [T, 2 * T]]}, lambda image: llava_next(image, pinpoints=[[T, T], [T, 2 * T]]), 3),
    "mllama": ({"kind": "mllama", "size": T}, mllama, 4),
    "idefics3": ({"kind": "idefics3", "size": T, "longest_edge": 4 * T - 3}, lambda image: idefics3(image, longest=4 * T - 3), 17),
    "idefics3 of odd sides": ({"kind": "idefics3", "size": 7, "longest_edge": 21}, lambda image: idefics3(image, 7, 21), 17),
}


def archive(path, pictures):
    """A tar of PNGs, in their order."""
    with tarfile.open(path, "w") as tar:
        for i, image in enumerate(pictures):
            data = io.BytesIO()
            image.save(data, "png", compress_level=1)
            entry = tarfile.TarInfo(f"{i:06d}.png")
            entry.size = len(data.getvalue())
            tar.addfile(entry, io.BytesIO(data.getvalue()))
    return {"shards": str(path)}


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Pictures of many shapes, larger and smaller than tiles, and an archive of them."""
    rng = np.random.default_rng(5)
    sizes = [(16, 16), (32, 16), (16, 48), (1, 1), (1, 40), (40, 1), (3, 200), (200, 3), (5, 7), (100, 75), (75, 100), (64, 64), (63, 65), (20, 33), (90, 31), (47, 96), (130, 131), (17, 60), (57, 24), (99, 22), (300, 180)]
    made = [picture(rng, *size) for size in sizes]
    return archive(tmp_path_factory.mktemp("photos") / "a.tar", made), made


def described(source, tiles, **more):
    return {"source": source, "order": {"shuffle": False, "epochs": 1}, "batch": 4, "image": {"tiles": tiles}} | more


@pytest.mark.parametrize("shape", ["fixed", "padded", "ragged"])
@pytest.mark.parametrize("name", RULES)
def test_tiles_are_pillows(photos, open_, name, shape):
    (source, made), (tiles, rule, room) = photos, RULES[name]
    seen, counts, side = 0, set(), tiles["size"]
    for batch in open_(described(source, tiles | {"shape": shape})):
        want = [rule(made[i]) for i in batch["index"]]
        n = [len(tiles) for _, _, tiles in want]
        assert batch["count"].tolist() == n and batch["grid"].tolist() == [[rows, columns] for rows, columns, _ in want]
        assert batch["size"].tolist() == [[made[i].height, made[i].width] for i in batch["index"]]
        images = batch["image"]
        if shape == "ragged":
            assert images.steps.shape == (sum(n), side, side, 3) and images.offsets.tolist() == [side * side * 3 * k for k in itertools.accumulate([0, *n])]
            np.testing.assert_array_equal(images.steps.numpy(), [np.asarray(tile) for _, _, tiles in want for tile in tiles])
            assert all(np.array_equal(pickle.loads(pickle.dumps(images))[i], images[i]) for i in range(batch.rows))
        else:
            assert images.shape == (batch.rows, room if shape == "fixed" else max(n), side, side, 3)
        for row, (_, _, tiles) in zip(images, want):
            np.testing.assert_array_equal(row[:len(tiles)], [np.asarray(tile) for tile in tiles])
            assert not np.asarray(row)[len(tiles):].any()
        seen += batch.rows
        counts.update(n)
    assert seen == len(made) and len(counts) > (name != "llava_next, one of a tile")


@pytest.fixture(scope="module")
def all_sizes(tmp_path_factory):
    """Pictures of every size up to six tiles, which is what up to 2700 are to tiles of 448, each for its shape alone."""
    sizes = [(w, h) for w in range(1, 6 * T + 1) for h in range(1, 6 * T + 1, 1 + (w % 5 > 0))]
    return archive(tmp_path_factory.mktemp("sizes") / "a.tar", [Image.new("1", size) for size in sizes]), sizes


class Shape:
    """A picture without pixels, for a rule: what it would be resized to is all that is asked of it."""

    mode = "L"

    def __init__(self, width, height):
        self.size = self.width, self.height = width, height

    def resize(self, size, _filter):
        return Shape(*size)

    def crop(self, _box):
        return self


@pytest.mark.parametrize("name", RULES)
def test_grids_are_those_of_the_rule_at_every_size(all_sizes, open_, monkeypatch, name):
    (source, sizes), (tiles, rule, _) = all_sizes, RULES[name]
    monkeypatch.setattr(Image, "new", lambda _mode, size: type("Canvas", (Shape,), {"paste": lambda *_: None})(*size))
    loader = open_(described(source, tiles | {"shape": "ragged"}, batch=256) | {"image": {"mode": "gray", "tiles": tiles | {"shape": "ragged"}}})
    seen = set()
    for batch in loader:
        for i, count, grid, size in zip(batch["index"].tolist(), batch["count"].tolist(), batch["grid"].tolist(), batch["size"].tolist()):
            rows, columns, want = rule(Shape(*sizes[i]))
            assert (grid, count, size) == ([rows, columns], len(want), [sizes[i][1], sizes[i][0]]), sizes[i]
            seen.add(i)
    assert len(seen) == len(sizes)


def test_tiles_of_an_encoder_are_normalized_channels_first(tmp_path, open_):
    """InternVL's input, of photos as they come: JPEG, turned as EXIF says."""
    rng, made = np.random.default_rng(1), []
    for i, (w, h, orientation) in enumerate([(1000, 700, 1), (640, 1100, 6), (300, 300, 3)]):
        exif = Image.Exif()
        exif[0x0112] = orientation
        picture(rng, w, h).save(tmp_path / f"{i}.jpg", quality=90, exif=exif)
        image = Image.open(tmp_path / f"{i}.jpg")
        turns = {1: None, 3: Image.Transpose.ROTATE_180, 6: Image.Transpose.ROTATE_270}[orientation]
        made.append(image if turns is None else image.transpose(turns))
    image = {"orientation": "apply", "layout": "NCHW", "dtype": "f32", "tiles": {"size": 448, "max": 6, "shape": "ragged"}, "transform": [{"normalize": "imagenet"}]}
    batch = next(iter(open_(described({"folder": str(tmp_path)}, None, image=image))))
    mean, std = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])
    for i, row in zip(batch["index"], batch["image"]):
        rows, columns, tiles = internvl(made[i], 448, most=6)
        want = [((np.asarray(tile, np.float32) / np.float32(255) - mean) / std).transpose(2, 0, 1) for tile in tiles]
        np.testing.assert_array_equal(row, want)
        assert batch["size"][i].tolist() == [made[i].height, made[i].width] and batch["grid"][i].tolist() == [rows, columns]


@pytest.mark.parametrize("shape", ["fixed", "padded", "ragged"])
def test_a_masked_picture_has_no_tiles(photos, tmp_path, open_, shape):
    _, made = photos
    folder = tmp_path / "p"
    folder.mkdir()
    for i, image in enumerate(made[:3]):
        image.save(folder / f"{i}.png")
    (folder / "1.png").write_bytes(b"no picture")
    batch = next(iter(open_(described({"folder": str(folder)}, {"size": T, "shape": shape}, batch=3, bad_sample={"policy": "mask"}))))
    assert batch["status"].tolist() == [0, spdl.ROW_MASKED, 0] and batch["count"][1] == 0 and batch["grid"][1].tolist() == [0, 0] and batch["size"][1].tolist() == [0, 0]
    assert not np.asarray(batch["image"][1]).any()
    for i in (0, 2):
        np.testing.assert_array_equal(batch["image"][i][:batch["count"][i]], [np.asarray(tile) for tile in internvl(made[i])[2]])


def test_ranks_caches_and_resumes_have_the_same_tiles(photos, tmp_path, open_):
    source, made = photos

    def rows(state=None, after=None, **more):
        loader = open_(described(source, {"size": T, "shape": "ragged"}, ring={"hash": "xxh3"}, **more), state=state)
        found, states = {}, []
        for batch in loader:
            found |= {int(i): (row.tobytes(), grid.tobytes()) for i, row, grid in zip(batch["index"], batch["image"], batch["grid"])}
            states.append((set(found), loader.state_dict()))
        return found, states

    whole, states = rows()
    assert sorted(whole) == list(range(len(made)))
    ranks = [rows(world={"size": 2, "rank": rank}, batch=2)[0] for rank in range(2)]
    assert {**ranks[0], **ranks[1]} == whole
    for cache in {"dir": str(tmp_path / "files"), "max_bytes": "1MiB"}, {"rows_bytes": "1MiB"}, {"rows_bytes": "1MiB", "rows_dir": str(tmp_path / "rows")}:
        assert rows(cache=cache)[0] == whole == rows(cache=cache)[0]
    done, state = states[1]
    assert rows(state=state)[0] == {i: row for i, row in whole.items() if i not in done}


def test_fields_have_their_own_tiles(photos, open_):
    """A field of tiles beside the same picture as one, and a second of another rule."""
    source, made = photos
    fields = {
        "tiles": {"image": {"tiles": {"size": T, "shape": "padded"}}},
        "few": {"draw": "own", "image": {"tiles": {"kind": "mllama", "size": T}}},
        "view": {"draw": "own", "image": {"transform": [{"resize": [T, T]}]}},
    }
    for batch in open_({"source": source, "order": {"shuffle": False, "epochs": 1}, "batch": 8, "fields": fields}):
        for row, i in enumerate(batch["index"]):
            for name, (rows, columns, tiles) in {"tiles": internvl(made[i]), "few": mllama(made[i])}.items():
                assert batch[name + ".grid"][row].tolist() == [rows, columns] and batch[name + ".count"][row] == len(tiles)
                np.testing.assert_array_equal(batch[name][row, :len(tiles)], [np.asarray(tile) for tile in tiles])
            np.testing.assert_array_equal(batch["view"][row], made[i].resize((T, T), BILINEAR))


def test_a_dataloader_has_a_tensor_a_row(photos):
    source, made = photos
    with spdl.DataLoader(described(source, {"size": T, "shape": "ragged"}), fields=["image", "count", "grid", "index"], tensors="numpy", copy=True) as loader:
        for images, counts, grids, index in loader:
            for row, n, grid, i in zip(images, counts, grids, index):
                rows, columns, tiles = internvl(made[i])
                assert n == len(tiles) and grid.tolist() == [rows, columns]
                np.testing.assert_array_equal(row, [np.asarray(tile) for tile in tiles])
