"""Pictures of their own size, padded and ragged, through the real command: rows are Pillow's by torchvision's and Qwen2-VL's rules, at the top left of
zeros or one behind the other, whatever reads them."""

import json
import math
import pickle
import re
import subprocess
import tarfile

import numpy as np
import pytest
import spdl
from engines import LANGUAGES, PATIENCE, SPDL, example, groups
from pictures import picture, sized
from PIL import Image

SIZES = [(60, 40), (40, 60), (31, 30), (17, 90), (23, 23), (90, 31), (64, 48), (48, 64)]  # (w, h), as Pillow has them
MEAN, STD = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])
SHORT = {"resize": {"size": 24, "max_size": 50}}
SMART = {"resize": {"min_pixels": 400, "max_pixels": 1600, "multiple_of": 7, "interpolation": "bicubic"}}


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """A folder of PNGs of SIZES, and them."""
    return sized(tmp_path_factory.mktemp("photos"), SIZES)


def described(folder, image, **more):
    return {"source": {"folder": str(folder)}, "order": {"shuffle": False, "epochs": 2}, "batch": 3, "image": image} | more


def shorter_side(image, size=24, most=50):
    """torchvision's rule (_compute_resized_output_size), with Pillow's bilinear filter."""
    short, long = sorted(image.size)
    new_short, new_long = size, size * long // short
    if new_long > most:
        new_short, new_long = most * new_short // new_long, most
    return image.resize((new_short, new_long) if image.width <= image.height else (new_long, new_short), Image.BILINEAR)


def smart_resize(height, width, factor, min_pixels, max_pixels):
    """Qwen2-VL's, from its definition: (height, width)."""
    bar = [round(side / factor) * factor for side in (height, width)]
    if bar[0] * bar[1] > max_pixels:
        beta = math.sqrt(height * width / max_pixels)
        bar = [max(factor, math.floor(side / beta / factor) * factor) for side in (height, width)]
    elif bar[0] * bar[1] < min_pixels:
        beta = math.sqrt(min_pixels / (height * width))
        bar = [math.ceil(side * beta / factor) * factor for side in (height, width)]
    return tuple(bar)


def smart(image):
    height, width = smart_resize(image.height, image.width, 7, 400, 1600)
    return image.resize((width, height), Image.BICUBIC)


def around(pixels, size):
    out = np.zeros((*size, *pixels.shape[2:]), pixels.dtype)
    out[: pixels.shape[0], : pixels.shape[1]] = pixels
    return out


@pytest.mark.parametrize("multiple", [1, 32])
def test_padded_batches_have_the_size_of_their_largest(photos, open_, multiple):
    folder, made = photos
    seen = set()
    for _ in range(2):
        loader = open_(described(folder, {"shape": "padded", "multiple_of": multiple, "transform": [SHORT]}))
        for batch in loader:
            want = [np.asarray(shorter_side(made[i])) for i in batch["index"]]
            size = tuple(-(-max(w.shape[axis] for w in want) // multiple) * multiple for axis in (0, 1))
            assert batch["image"].shape == (batch.rows, *size, 3)
            assert batch["extent"].tolist() == [list(w.shape[:2]) for w in want]
            assert np.array_equal(batch["image"], [around(w, size) for w in want])
            seen.add(size)
    assert len(seen) > 1 or multiple > 1


def test_a_shortest_size_is_one_of_several(photos, open_):
    """torchvision's RandomShortestSize: a ratio for both sides, cut off to whole pixels."""
    folder, made = photos
    sizes, most, seen = [12, 20, 29], 50, set()
    transform = [{"random_shortest_size": {"min_size": sizes, "max_size": most}}]
    for batch in open_(described(folder, {"shape": "padded", "transform": transform}, order={"seed": 3, "epochs": 1, "repeat": 6})):
        for row, i in enumerate(batch["index"]):
            image, (height, width) = made[i], batch["extent"][row].tolist()
            ratios = {size: min(size / min(image.size), most / max(image.size)) for size in sizes}
            of = [size for size, by in ratios.items() if (int(image.height * by), int(image.width * by)) == (height, width)]
            assert of, (image.size, height, width)
            seen.update(of)
            assert np.array_equal(batch["image"][row, :height, :width], np.asarray(image.resize((width, height), Image.BILINEAR)))
    assert seen == set(sizes)


def test_padding_is_zero_behind_normalize_as_in_detr(photos, open_):
    folder, made = photos
    image = {"shape": "padded", "layout": "NCHW", "transform": [SHORT, {"horizontal_flip": 1}, {"normalize": "imagenet"}]}
    for batch in open_(described(folder, image)):
        for row, i, (height, width) in zip(batch["image"], batch["index"], batch["extent"]):
            pixels = np.asarray(shorter_side(made[i]).transpose(Image.FLIP_LEFT_RIGHT))
            want = ((pixels.astype("f4") / np.float32(255) - MEAN) / STD).transpose(2, 0, 1)
            assert np.array_equal(row[:, :height, :width], want)
            assert not row[:, height:].any() and not row[:, :, width:].any()


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_ragged_pictures_are_qwens(photos, open_, layout):
    folder, made = photos
    loader = open_(described(folder, {"shape": "ragged", "layout": layout, "transform": [SMART]}))
    for batch in loader:
        field = batch["image"]
        assert isinstance(field, spdl.Ragged) and len(field) == batch.rows
        copies = [field, field.copy(), pickle.loads(pickle.dumps(field))]
        for row, i in enumerate(batch["index"]):
            want = np.asarray(smart(made[i]))
            assert batch["extent"][row].tolist() == list(want.shape[:2])
            for ragged in copies:
                got = ragged[row]
                assert np.array_equal(got, want if layout == "NHWC" else want.transpose(2, 0, 1))
        assert batch.array("image").values.shape == (sum(3 * h * w for h, w in batch["extent"].tolist()),)


def test_a_damaged_extent_is_an_error_and_no_wild_view(photos, open_):
    folder, _ = photos
    batch = next(iter(open_(described(folder, {"shape": "ragged", "transform": [SMART]}))))
    field = batch["image"]
    batch["extent"][0] = [1 << 40, 1 << 40]
    with pytest.raises(IndexError, match="row 0 is a picture of 1099511627776 x 1099511627776 .* the batch is damaged"):
        field[0]


def test_a_masked_picture_is_empty(photos, open_, tmp_path):
    folder, made = photos
    for i, image in enumerate(made[:3]):
        image.save(tmp_path / f"{i}.png")
    (tmp_path / "1.png").write_bytes(b"no picture")
    for shape in ("padded", "ragged"):
        batch = next(iter(open_(described(tmp_path, {"shape": shape, "transform": [SHORT]}, bad_sample={"policy": "mask"}))))
        assert batch["extent"].tolist()[1] == [0, 0] and batch["status"].tolist() == [0, spdl.ROW_MASKED, 0]
        assert not np.asarray(batch["image"][1]).any() and (shape == "padded" or batch["image"][1].shape == (0, 0, 3))


def test_a_resumed_run_has_the_rest(photos, open_):
    folder, _ = photos
    for shape in ("padded", "ragged"):
        spec = described(folder, {"shape": shape, "transform": [SHORT, {"horizontal_flip": 0.5}]}, order={"seed": 4, "epochs": 2})
        rows = lambda batch: [(int(i), np.asarray(batch["image"][row]).tobytes()) for row, i in enumerate(batch["index"])]  # noqa: E731
        loader = open_(spec)
        first = iter(loader)
        next(first)
        state = loader.state_dict()
        rest = [rows(batch) for batch in first]
        again = open_(spec)
        again.load_state_dict(state)
        assert [rows(batch) for batch in again] == rest and len(rest) == 2


def test_boxes_and_masks_follow_a_padded_picture(open_, tmp_path):
    rng, made = np.random.default_rng(5), []
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for i, size in enumerate(SIZES):
            made.append((picture(rng, *size), Image.fromarray(rng.integers(0, 200, size[::-1], np.uint8))))
            np.save(tmp_path / f"{i}.boxes.npy", np.float32([[2, 3, 12, 13]]))
            made[-1][0].save(tmp_path / f"{i}.photo.png")
            made[-1][1].save(tmp_path / f"{i}.mask.png")
            for part in ("photo.png", "mask.png", "boxes.npy"):
                tar.add(tmp_path / f"{i}.{part}", f"{i}.{part}")
    flip = {"horizontal_flip": 0.5}
    spec = {
        "source": {"shards": str(tmp_path / "a.tar"), "columns": [{"name": "boxes", "from": "boxes.npy", "type": "npy", "shape": [-1, 4], "max_length": 2}]},
        "order": {"seed": 1, "epochs": 1}, "batch": 4,
        "fields": {
            "photo": {"image": {"from": "photo.png", "shape": "padded", "affine": True, "transform": [SHORT, flip], "boxes": "boxes"}},
            "mask": {"image": {"from": "mask.png", "mode": "index", "shape": "padded", "transform": [{"resize": {**SHORT["resize"], "interpolation": "nearest"}}, flip]}},
        },
    }
    flipped = 0
    for batch in open_(spec):
        assert np.array_equal(batch["photo.extent"], batch["mask.extent"]) and batch["photo"].shape[1:3] == batch["mask"].shape[1:3]
        for row, i in enumerate(batch["index"]):
            height, width = batch["photo.extent"][row]
            photo, mask = made[i]
            want, numbers = shorter_side(photo), mask.resize((width, height), Image.NEAREST)
            turn = not np.array_equal(batch["photo"][row, :height, :width], np.asarray(want))
            flipped += turn
            if turn:
                want, numbers = want.transpose(Image.FLIP_LEFT_RIGHT), numbers.transpose(Image.FLIP_LEFT_RIGHT)
            assert np.array_equal(batch["photo"][row, :height, :width], np.asarray(want))
            assert np.array_equal(batch["mask"][row, :height, :width, 0], np.asarray(numbers))
            x, y = width / photo.width, height / photo.height
            box = np.float32([2 * x, 3 * y, 12 * x, 13 * y])
            if turn:
                box[[0, 2]] = width - box[[2, 0]]
            np.testing.assert_allclose(batch["boxes"][row], [box], rtol=1e-4)
            np.testing.assert_allclose(batch["photo.affine"][row], [[-x if turn else x, 0, width if turn else 0], [0, y, 0]], rtol=1e-5)
            assert batch["photo.size"][row].tolist() == [photo.height, photo.width]
    assert 0 < flipped < len(SIZES)


def test_a_dataloader_has_them_as_tensors_and_lists(photos):
    folder, made = photos
    for shape in ("padded", "ragged"):
        spec = described(folder, {"shape": shape, "transform": [SHORT]})
        with spdl.DataLoader(spec, fields=("image", "extent"), tensors="numpy") as loader:
            for pictures, extents in loader:
                assert isinstance(pictures, list if shape == "ragged" else np.ndarray)
                for one, (height, width) in zip(pictures, extents):
                    assert one[:height, :width].shape == (height, width, 3)


def test_check_and_view_show_them(photos, tmp_path):
    folder, made = photos
    for shape, told in (("padded", "at most 50 x 50 u8"), ("ragged", "pictures of their own size, u8")):
        spec = tmp_path / f"{shape}.json"
        spec.write_text(json.dumps(described(folder, {"shape": shape, "transform": [SHORT]})))
        checked = subprocess.run([SPDL, "check", spec], capture_output=True, text=True, timeout=60, check=True).stdout
        assert "extent" in checked
        sheet = tmp_path / f"{shape}.png"
        subprocess.run([SPDL, "view", spec, "--out", sheet], capture_output=True, text=True, timeout=60, check=True)
        assert Image.open(sheet).size[0] > 100


@pytest.mark.parametrize("shape, dtype", [("padded", "u8"), ("padded", "f32"), ("ragged", "u8"), ("ragged", "f32")])
def test_programs_in_every_language_read_them(serve, attach, photos, shape, dtype):
    """The same bytes, and the mean of as many elements as there are, whatever lies around them."""
    image = {"shape": shape, "dtype": dtype, "transform": [SHORT], "layout": "NCHW"}
    engine = serve(described(photos[0], image, order={"seed": 2, "epochs": 1}, ring=groups("here", *LANGUAGES)))
    consumers = {language: example(language, engine.name, language, "--hash") for language in LANGUAGES}
    reader, total, elements = attach(engine.name, "here", max_leases=1), 0.0, 0
    while (batch := reader.acquire(timeout=PATIENCE)) is not None:
        with batch:
            pixels = batch.array("image").values.numpy() if shape == "ragged" else batch["image"]
            total, elements = total + pixels.sum(dtype="f8"), elements + pixels.size
            del pixels
    seen = {}
    for language, consumer in consumers.items():
        code, out, err = consumer.end()
        assert (code, err) == (0, ""), f"{language}: {err}"
        *hashes, summary = out.splitlines()
        assert len(hashes) == 3 and float(re.search("mean of image ([0-9.]+)", summary)[1]) == pytest.approx(total / elements, abs=2e-4), language
        seen[language] = sorted(hashes)
    assert all(hashes == seen["c"] for hashes in seen.values()), seen


def test_what_does_not_fit_is_bad_and_says_what_to_raise(photos, open_):
    folder, _ = photos
    loader = open_(described(folder, {"shape": "padded", "room": 64, "transform": []}, bad_sample={"policy": "fail"}, batch=8))
    with pytest.raises(spdl.SpdlError, match=r"becomes 90 x 17, want at most 64 x 64; raise image\.room, or resize to less"):
        list(loader)
