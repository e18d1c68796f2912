"""albumentations' crops of sizes of their own, by boxes, and that may not happen, on our draws against its own transforms of the same numbers, on
opencv-python-headless 4.11.0.86."""

import json

import numpy as np
import pytest
from PIL import Image

from conftest import picture
from test_distort import LATER
from test_jpeg import uniforms

A = pytest.importorskip("albumentations", reason="needs albumentations: pip install albumentations==2.0.8 opencv-python-headless==4.11.0.86")
cv2 = pytest.importorskip("cv2")
spdl = pytest.importorskip("spdl")
from spdl._torch.transforms import told  # noqa: E402
from test_albumentations import pictures, row, theirs, without_ipp  # noqa: E402, F401

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
BORDERS, SIDES, SAFELY, AROUND, RESIZED, RESCALE = 271, 274, 277, 280, 282, 303  # blocks of draws
CV2 = {"linear": (6, cv2.INTER_LINEAR), "nearest": (7, cv2.INTER_NEAREST), "area": (8, cv2.INTER_AREA), "cubic": (9, cv2.INTER_CUBIC), "Lanczos": (10, cv2.INTER_LANCZOS4)}


class Given:
    """Python's random, of numbers that are known."""

    def __init__(self, numbers):
        self.numbers = list(numbers)

    def random(self):
        return self.numbers.pop(0)

    def uniform(self, a, b):
        return a + (b - a) * self.random()

    def randint(self, a, b):
        return a + int(self.random() * (b - a + 1))

    def randrange(self, a, b):
        return self.randint(a, b - 1)

    def choice(self, of):
        return of[int(self.random() * len(of))]


def drawn(transform, pixels, numbers, **data):
    """What a transform makes of a picture with these numbers, and the part that it took."""
    transform.py_random = Given(numbers)
    params = {"shape": pixels.shape, **transform.get_params()}
    params |= transform.get_params_dependent_on_data(params, data) if hasattr(transform, "get_params_dependent_on_data") else {}
    assert not transform.py_random.numbers
    return transform.apply(pixels, **params), params


def boxes_in(rng, w, h, n):
    corners = np.sort(rng.uniform(0, 1, (n, 2, 2)), 1)
    corners[:, 1] = np.maximum(corners[:, 1], corners[:, 0] + 0.02).clip(0, 1)
    return (corners * [w, h]).reshape(n, 4).astype(np.float32)


def shares(boxes, w, h):
    """As albumentations has them."""
    made = boxes.copy()
    made[:, [0, 2]] /= w
    made[:, [1, 3]] /= h
    return made


def behind(pixels, size):
    """In the middle of a row of a size, or its middle."""
    return A.CenterCrop(*size, pad_if_needed=True)(image=pixels)["image"]


def test_parts_between_borders_are_albumentations_of_our_numbers(rows, pictures):
    seen = set()
    for i in range(40):
        path, pixels = pictures[i % len(pictures)]
        left, right, top, bottom = [(0.1, 0.1, 0.1, 0.1), (0.5, 0.5, 0.3, 0.7), (0, 1, 0.6, 0), (0.9, 0.05, 0.2, 0.2)][i % 4]
        x, y = uniforms(5, 0, i, LATER, BORDERS + 1), uniforms(5, 0, i, LATER, BORDERS + 2)
        made, params = drawn(A.RandomCropFromBorders(left, right, top, bottom), pixels, [*x, *y])
        got = rows.row(path, Out=(40, 41), MiddleDown=True, CutBorders={"P": 1, "Left": left, "Right": right, "Top": top, "Bottom": bottom}, Ahead=1, draw={"Seed": 5, "Index": i})
        assert np.array_equal(got, behind(made, (40, 41))), (i, params["crop_coords"])
        seen.add(params["crop_coords"])
    assert len(seen) > 30


@pytest.mark.parametrize("keeps", [True, False])
def test_sides_move_as_albumentations_has_them_of_our_numbers(rows, pictures, keeps):
    """In pixels and by shares; a part that would have no pixel, too."""
    changed = 0
    for i in range(60):
        path, pixels = pictures[i % len(pictures)]
        h, w = pixels.shape[:2]
        name = list(CV2)[i % len(CV2)]
        filter, flag = CV2[name]
        border = [cv2.BORDER_CONSTANT, cv2.BORDER_REPLICATE][i // 2 % 2]
        by = [[[-9, 12]] * 4, [[3, 4], [-5, 0], [-8, 9], [0, 7]], [[-0.3, 0.3]] * 4, [[-0.1, 0.2], [0, 0.3], [-0.4, 0], [0.1, 0.1]], [[-30, -5]] * 4][i % 5]
        pixelwise, same = i % 5 in (0, 1, 4), i % 5 in (0, 2) and i % 2 == 0
        own = tuple(by[0]) if i % 5 in (0, 2, 4) else tuple(map(tuple, by))
        if pixelwise:
            own = (own[0], own[1] + 1) if i % 5 in (0, 4) else tuple((low, high + 1) for low, high in own)
        u = [*uniforms(5, 0, i, LATER, SIDES + 1), *uniforms(5, 0, i, LATER, SIDES + 2)]
        transform = A.CropAndPad(**{"px" if pixelwise else "percent": own}, keep_size=keeps, sample_independently=not same, interpolation=flag, border_mode=border, fill=99)
        made, _ = drawn(transform, pixels, u[:1] if same else u)
        config = {"P": 1, "By": by, "Pixels": pixelwise, "Same": same, "KeepSize": keeps, "Interpolation": filter, "Padding": i // 2 % 2, "Fill": [99, 99, 99]}
        out = (h, w) if keeps else (70, 71)
        got = rows.row(path, Out=out, MiddleDown=True, CutSides=config, Ahead=1, draw={"Seed": 5, "Index": i})
        assert np.array_equal(got, made if keeps else behind(made, out)), (i, transform)
        changed += made.shape != pixels.shape or not np.array_equal(made, pixels)
    assert changed > 50


def test_parts_with_all_boxes_are_albumentations_of_our_numbers(rows, pictures):
    rng, seen = np.random.default_rng(21), set()
    for i in range(120):
        path, pixels = pictures[i % len(pictures)]
        h, w = pixels.shape[:2]
        erosion, boxes = [0, 0.2, 0.7, 1][i % 4], boxes_in(rng, w, h, int(rng.integers(0, 4)))
        filter, flag = CV2[list(CV2)[i % len(CV2)]]
        first, last = uniforms(5, 0, i, LATER, SAFELY + 1), uniforms(5, 0, i, LATER, SAFELY + 2)
        transform = A.RandomSizedBBoxSafeCrop(33, 29, erosion, flag)
        numbers = [*first, *last] if len(boxes) and erosion < 1 else [*([first[0]] if int(h * (1 - erosion)) < h else []), *last]
        made, params = drawn(transform, pixels, numbers, bboxes=shares(boxes, w, h))
        x0, y0, x1, y1 = params["crop_coords"]
        draw = {"draw": {"Seed": 5, "Index": i}, "boxes": boxes.tolist()}
        got = rows.row(path, Out=(33, 29), CutSafely={"P": 1, "Erosion": erosion, "Sized": {"Size": {"H": 33, "W": 29}, "Interpolation": filter}}, Ahead=1, **draw)
        assert np.array_equal(got, made), (i, params)
        whole = rows.row(path, Out=(40, 41), MiddleDown=True, CutSafely={"P": 1, "Erosion": erosion}, Ahead=1, **draw)
        assert np.array_equal(whole, behind(pixels[y0:y1, x0:x1], (40, 41)))
        seen.add((i % len(pictures), *params["crop_coords"]))
    assert len(seen) > 100


def test_parts_around_a_box_are_albumentations_of_our_numbers(rows, pictures):
    rng, seen = np.random.default_rng(22), set()
    for i in range(120):
        path, pixels = pictures[i % len(pictures)]
        h, w = pixels.shape[:2]
        size = (int(rng.integers(5, h + 1)), int(rng.integers(5, w + 1)))
        erosion, boxes = [0, 0.3, 0.8, 1][i % 4], boxes_in(rng, w, h, int(rng.integers(0, 4)))
        u, at = uniforms(5, 0, i, LATER, AROUND), uniforms(5, 0, i, LATER, AROUND + 1)
        made, params = drawn(A.AtLeastOneBBoxRandomCrop(*size, erosion), pixels, [*([u[1]] if len(boxes) else []), *at], bboxes=shares(boxes, w, h))
        got = rows.row(path, Out=size, CutAround={"P": 1, "Size": {"H": size[0], "W": size[1]}, "Erosion": erosion}, Ahead=1, draw={"Seed": 5, "Index": i}, boxes=boxes.tolist())
        assert np.array_equal(got, made), (i, params)
        seen.add((i % len(pictures), *params["crop_coords"]))
    assert len(seen) > 100


def test_scales_are_albumentations_of_our_numbers(rows, pictures):
    for i in range(50):
        path, pixels = pictures[i % len(pictures)]
        low, high = [(0.5, 2), (0.3, 0.9), (1, 1), (1.1, 3)][i % 4]
        filter, flag = CV2[list(CV2)[i % len(CV2)]]
        made, params = drawn(A.RandomScale((low - 1, high - 1), flag), pixels, [uniforms(5, 0, i, LATER, RESCALE)[1]])
        got = rows.row(path, Out=(50, 51), MiddleDown=True, Rescale={"P": 1, "By": [low, high], "Interpolation": filter}, Ahead=1, draw={"Seed": 5, "Index": i})
        assert np.array_equal(got, behind(made, (50, 51))), (i, params)


def test_parts_that_are_resized_are_those_of_a_random_crop(rows, pictures):
    """By the draws of their own block, and cv2.resize; behind another resize, too."""
    for i in range(60):
        path, pixels = pictures[i % len(pictures)]
        resized = i % 3 == 2
        pixels = cv2.resize(pixels, (47, 44)) if resized else pixels
        h, w = pixels.shape[:2]
        filter, flag = CV2[list(CV2)[i % len(CV2)]]
        if i % 2:
            tall, at = (uniforms(5, 0, i, LATER, RESIZED + 1 + n) for n in (0, 1))
            made, params = drawn(A.RandomSizedCrop((9, 37), (24, 20), 1.5, interpolation=flag), pixels, [tall[0], *at])
            crop = {"Height": [9, 37], "Ratio": [1.5, 1.5]}
        else:
            crop = {"Scale": [0.1, 0.4], "Ratio": [0.5, 1.5]}
            area, (y, x) = uniforms(5, 0, i, LATER, RESIZED + 1), uniforms(5, 0, i, LATER, RESIZED + 2)
            target, aspect = h * w * (0.1 + area[0] * 0.3), np.exp(np.log(0.5) + area[1] * (np.log(1.5) - np.log(0.5)))
            wide, high = round((target * aspect) ** 0.5), round((target / aspect) ** 0.5)
            if wide > w or high > h:
                continue
            y, x = int(y * (h - high + 1)), int(x * (w - wide + 1))
            made = cv2.resize(pixels[y:y + high, x:x + wide], (20, 24), interpolation=flag)
        config = {"CutResized": {"P": 1, "Crop": crop, "Sized": {"Size": {"H": 24, "W": 20}, "Interpolation": filter}}}
        before = {"Resize": (44, 47), "Interpolation": CV2["linear"][0], "Resized": 1} if resized else {"Ahead": 1}
        assert np.array_equal(rows.row(path, Out=(24, 20), **before, **config, draw={"Seed": 5, "Index": i}), made), i


EXACT = {
    "Crop": lambda: A.Compose([A.Crop(3, 4, 30, 29)]),
    "Crop, resized": lambda: A.Compose([A.HorizontalFlip(p=1), A.Crop(3, 4, 30, 29), A.Resize(20, 21)]),
    "CropAndPad": lambda: A.Compose([A.Resize(40, 36), A.CropAndPad(px=(-3, 4, 5, -2), fill=9), A.VerticalFlip(p=1)]),
    "CropAndPad, another size": lambda: A.Compose([A.CropAndPad(percent=0.1, keep_size=False, border_mode=cv2.BORDER_REPLICATE), A.Resize(40, 36)]),
    "CropAndPad, two of them": lambda: A.Compose([A.Resize(40, 36), A.CropAndPad(px=4), A.Transpose(p=1), A.CropAndPad(px=-4, keep_size=False), A.Resize(30, 30)][:2]),
    "RandomScale": lambda: A.Compose([A.RandomScale((0.3, 0.3), p=1), A.Resize(40, 36)]),
    "RandomScale of a row": lambda: A.Compose([A.Resize(40, 36), A.RandomScale((-0.5, -0.5), p=1), A.PadIfNeeded(30, 30, fill=7), A.CenterCrop(30, 30)]),
    "RandomSizedCrop of all, of a row": lambda: A.Compose([A.Resize(40, 36), A.RandomSizedCrop((300, 300), (24, 20), 2)]),
}


@pytest.mark.parametrize("name", EXACT)
def test_what_is_not_random_has_albumentations_bytes(pictures, tmp_path, name):
    """Of pictures, and of their masks."""
    transform, rng = EXACT[name](), np.random.default_rng(3)
    for path, pixels in pictures:
        assert np.array_equal(row(path, transform), theirs(transform, pixels)), path
        mask = rng.integers(0, 20, pixels.shape[:2]).astype(np.uint8)
        Image.fromarray(mask).save(tmp_path / "a.png")
        assert np.array_equal(row(tmp_path / "a.png", transform, mode="index")[..., 0], transform(image=pixels, mask=mask)["mask"]), path


def rows_of(folder, lines, section, **spec):
    (folder / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    columns = [{"name": name, "type": "list", "dtype": "f32", "shape": [-1, n], "max_length": 8} for name, n in (("bboxes", 4), ("keypoints", 2))]
    spec = {"source": {"list": str(folder / "t.jsonl"), "columns": columns}, "batch": len(lines), "order": {"shuffle": False, "seed": 3}, "image": section, **spec}
    with spdl.open(spec) as loader:
        return {name: [np.array(one) for one in column] for name, column in next(iter(loader)).items() if name in ("image", "bboxes", "keypoints")}


@pytest.mark.parametrize("make", [
    lambda: [A.RandomSizedBBoxSafeCrop(64, 64)], lambda: [A.BBoxSafeRandomCrop(), A.Resize(64, 64)], lambda: [A.AtLeastOneBBoxRandomCrop(64, 64, 0.1)],
    lambda: [A.RandomCropFromBorders(), A.Resize(64, 64)], lambda: [A.Resize(64, 64), A.RandomSizedBBoxSafeCrop(64, 64, p=0.5)], lambda: [A.Resize(64, 64), A.RandomSizedCrop((20, 60), (64, 64), p=0.7)],
    lambda: [A.Resize(64, 64), A.CropAndPad(px=(-9, 9))], lambda: [A.HorizontalFlip(), A.RandomScale(0.4, p=0.7), A.RandomCrop(64, 64, pad_if_needed=True)],
], ids=["sized", "safe", "around", "borders", "perhaps", "perhaps a part", "sides", "scaled"])
def test_boxes_and_points_lie_where_pixels_do(tmp_path, make):
    """A white box in black, of which each row shows as much as its box says."""
    pixels = np.zeros((110, 130, 3), np.uint8)
    pixels[30:70, 40:90] = 255
    Image.fromarray(pixels).save(tmp_path / "a.png")
    compose = A.Compose(make(), bbox_params=A.BboxParams("pascal_voc"), keypoint_params=A.KeypointParams("xy", remove_invisible=False))
    corners = [[40, 30], [90, 70]]
    got = rows_of(tmp_path, [{"path": str(tmp_path / "a.png"), "bboxes": [[40, 30, 90, 70]], "keypoints": corners}] * 60, {"transform": compose})
    seen = set()
    for one, boxes, points in zip(got["image"], got["bboxes"], got["keypoints"]):
        assert one.shape == (64, 64, 3) and len(boxes) == 1
        ys, xs = np.nonzero(one[..., 0] > 127)
        shown = np.array([xs.min(), ys.min(), xs.max() + 1, ys.max() + 1])
        assert np.abs(boxes[0] - shown).max() <= 1.01, (boxes[0], shown)
        x, y = np.sort(points[:, 0]), np.sort(points[:, 1])
        assert np.abs(np.clip([x[0], y[0], x[1], y[1]], 0, 64) - boxes[0]).max() <= 1e-3
        seen.add(tuple(shown))
    assert len(seen) > 10


def test_a_part_that_may_not_happen_leaves_rows_as_they_are(tmp_path):
    """About as often as it says, beside a mask that follows."""
    pixels = picture(np.random.default_rng(4), 90, 70)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    Image.fromarray((pixels[..., 0] > 127).astype(np.uint8)).save(tmp_path / "b.png")
    compose = A.Compose([A.Resize(48, 48, cv2.INTER_NEAREST), A.RandomResizedCrop((48, 48), scale=(0.1, 0.4), interpolation=cv2.INTER_NEAREST, p=0.3)])
    (tmp_path / "t.jsonl").write_text("".join(json.dumps({"path": str(tmp_path / "a.png"), "mask": str(tmp_path / "b.png")}) + "\n" for _ in range(200)))
    spec = {"source": {"list": str(tmp_path / "t.jsonl")}, "batch": 200, "order": {"shuffle": False, "seed": 3},
            "fields": {"image": {"image": {"from": "path", "transform": compose}}, "mask": {"image": {"from": "mask", "mode": "index", "transform": compose}}}}
    with spdl.open(spec) as loader:
        batch = next(iter(loader))
        images, masks = np.array(batch["image"]), np.array(batch["mask"])
    whole = cv2.resize(pixels, (48, 48), interpolation=cv2.INTER_NEAREST)
    same = (images == whole).all((1, 2, 3))
    assert 120 < same.sum() < 160
    assert np.array_equal(masks[..., 0], images[..., 0] > 127)


def test_one_of_several_may_be_a_part(tmp_path):
    """As often as the others, with its mask, and boxes that lie where pixels do."""
    pixels = picture(np.random.default_rng(4), 90, 70)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    Image.fromarray((pixels[..., 0] > 127).astype(np.uint8)).save(tmp_path / "b.png")
    part = A.RandomSizedCrop((20, 40), (48, 48), interpolation=cv2.INTER_NEAREST, p=0.5)
    compose = A.Compose([A.Resize(48, 48, cv2.INTER_NEAREST), A.OneOf([part, A.VerticalFlip(p=0.5), A.PadIfNeeded(48, 48, p=1)], p=1)])
    (tmp_path / "t.jsonl").write_text("".join(json.dumps({"path": str(tmp_path / "a.png"), "mask": str(tmp_path / "b.png")}) + "\n" for _ in range(400)))
    spec = {"source": {"list": str(tmp_path / "t.jsonl")}, "batch": 400, "order": {"shuffle": False, "seed": 3},
            "fields": {"image": {"image": {"from": "path", "transform": compose}}, "mask": {"image": {"from": "mask", "mode": "index", "transform": compose}}}}
    with spdl.open(spec) as loader:
        batch = next(iter(loader))
        images, masks = np.array(batch["image"]), np.array(batch["mask"])
    whole = cv2.resize(pixels, (48, 48), interpolation=cv2.INTER_NEAREST)
    same, turned = ((images == one).all((1, 2, 3)).sum() for one in (whole, whole[::-1]))
    assert 160 < same < 240 and 70 < turned < 130, "by weights of 1, 1 and 2"
    assert np.array_equal(masks[..., 0], images[..., 0] > 127)


def test_the_order_of_what_gives_rows_their_size():
    """A crop to the size that they have stands behind the last step that keeps it, unless something else gives them one."""
    for transforms, want in [
        ([A.Resize(8, 8), A.RandomSizedCrop((3, 5), (8, 8), p=0.5), A.HorizontalFlip()], ["resize", "resized_crop", "center_crop", "horizontal_flip"]),
        ([A.Resize(8, 8), A.RandomSizedCrop((3, 5), (8, 8), p=0.5), A.CropAndPad(px=1), A.Blur()], ["resize", "resized_crop", "crop_and_pad", "center_crop", "box_blur"]),
        ([A.Resize(8, 8), A.OneOf([A.RandomSizedCrop((3, 5), (8, 8), p=0.5), A.PadIfNeeded(8, 8, p=0.5)], p=1), A.HorizontalFlip()], ["resize", "resized_crop", "center_crop", "horizontal_flip"]),
        ([A.Resize(8, 8), A.OneOf([A.RandomSizedCrop((3, 5), (8, 8)), A.Rotate()]), A.SomeOf([A.CropAndPad(px=1), A.HorizontalFlip(), A.Transpose()], 2, replace=False), A.Blur()],
         ["resize", "random_choice", "random_choice", "center_crop", "box_blur"]),
        ([A.Resize(8, 8), A.OneOf([A.RandomScale(), A.Rotate()]), A.RandomCrop(8, 8, pad_if_needed=True)], ["resize", "random_choice", "random_crop"]),
        ([A.Resize(8, 8), A.PadIfNeeded(6, 8), A.HorizontalFlip()], ["resize", "horizontal_flip"]),
        ([A.Crop(0, 0, 9, 9), A.HorizontalFlip(), A.Resize(8, 8)], ["crop", "horizontal_flip", "resize"]),
        ([A.Crop(0, 0, 9, 9), A.HorizontalFlip()], ["crop", "center_crop", "horizontal_flip"]),
        ([A.RandomResizedCrop((8, 8))], ["random_resized_crop"]),
        ([A.Resize(9, 9), A.RandomResizedCrop((8, 8))], ["resize", "resized_crop", "center_crop"]),
        ([A.RandomSizedBBoxSafeCrop(8, 8)], ["bbox_safe_random_crop", "center_crop"]),
    ]:
        assert [name for operation in told(A.Compose(transforms), "transform").operations for name in operation] == want


@pytest.mark.parametrize("make, message", [
    (lambda: A.CropAndPad(px=([1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3])), "px: got .*of which one is drawn, want a number, a range, or four of these"),
    (lambda: A.CropAndPad(px=1, fill=(0, 255)), "fill: got .*of which one is drawn for each picture, want a number"),
    (lambda: A.CropAndPad(px=1, border_mode=cv2.BORDER_REFLECT_101), "border_mode: got cv2's 4, want BORDER_CONSTANT or BORDER_REPLICATE"),
    (lambda: A.Crop(0, 0, 9, 9, pad_if_needed=True), "pad_if_needed: got True, want False"),
    (lambda: A.RandomScale(area_for_downscale="image"), "area_for_downscale: got 'image'"),
    (lambda: A.BBoxSafeRandomCrop(), "goes by the boxes of the picture, and its section has none"),
], ids=lambda v: "" if callable(v) else v[:12])
def test_what_has_no_equal_is_refused(pictures, make, message):
    with pytest.raises(spdl.SpecError, match=message):
        row(pictures[0][0], A.Compose([A.Resize(40, 40), make(), A.CenterCrop(30, 30)]))


def test_a_size_that_is_left_to_chance_is_refused(pictures):
    with pytest.raises(spdl.SpecError, match="random_scale for rows, which have one size; write random_scale ahead of center_crop"):
        row(pictures[0][0], A.Compose([A.Resize(40, 40), A.RandomScale()]))
    with pytest.raises(spdl.SpecError, match="resized_crop leaves the size of the picture to chance, and every row of a batch must have one size"):
        row(pictures[0][0], A.Compose([A.RandomSizedCrop((8, 16), (8, 8), p=0.5)]))
