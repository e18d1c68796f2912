"""OpenCV's pixels of a description, through the real command: pictures, frames and masks are resized as by cv2.resize, whose
rules stand here in numpy (tests/exact/test_cv2.py has OpenCV itself); letterboxes are YOLO's."""

import numpy as np
import pytest
import spdl
from engines import describe
from test_geometry import PURPLE, SIZES, both, clips, drawn_parts, frames, pairs, photos, short_side  # noqa: F401  fixtures

LINEAR = {"interpolation": "cv2_linear"}


def taps(n, out, edges):
    """INTER_LINEAR along one side: the two source elements of each output and their 11-bit weights; along x an edge has one."""
    at = ((np.arange(out) + 0.5) * (1.0 / (out / n)) - 0.5).astype(np.float32)
    first = np.floor(at)
    behind = at - first
    if edges:
        behind = np.where((first < 0) | (first >= n - 1), np.float32(0), behind)
    weights = np.rint(np.stack([1 - behind, behind]) * np.float32(2048)).astype(np.int64)
    return np.clip([first, first + 1], 0, n - 1).astype(int), weights


def linear(pixels, h, w):
    pixels = np.asarray(pixels).astype(np.int64)
    if pixels.shape[:2] == (2 * h, 2 * w):
        return ((pixels[::2, ::2] + pixels[1::2, ::2] + pixels[::2, 1::2] + pixels[1::2, 1::2] + 2) >> 2).astype(np.uint8)
    (x0, x1), (a0, a1) = taps(pixels.shape[1], w, True)
    (y0, y1), (b0, b1) = taps(pixels.shape[0], h, False)
    lines = (pixels[:, x0] * a0[:, None] + pixels[:, x1] * a1[:, None]) >> 4
    return ((((b0[:, None, None] * lines[y0]) >> 16) + ((b1[:, None, None] * lines[y1]) >> 16) + 2) >> 2).astype(np.uint8)


def nearest(pixels, h, w):
    pixels = np.asarray(pixels)
    y, x = (np.minimum(np.floor(np.arange(out) * (1.0 / (out / n))), n - 1).astype(int) for n, out in zip(pixels.shape, (h, w)))
    return pixels[y][:, x]


def letterbox(pixels, size, fill, resize=linear, center=True, scaleup=True):
    """Ultralytics' LetterBox, and YOLOv5's letterbox."""
    pixels = np.asarray(pixels)
    h, w = pixels.shape[:2]
    r = min(size[0] / h, size[1] / w)
    r = r if scaleup else min(r, 1.0)
    new_w, new_h = round(w * r), round(h * r)
    top, left = (round((n - m) / 2 - 0.1) if center else 0 for n, m in zip(size, (new_h, new_w)))
    out = np.full((*size, *pixels.shape[2:]), fill, np.uint8)
    out[top : top + new_h, left : left + new_w] = resize(pixels, new_h, new_w) if (h, w) != (new_h, new_w) else pixels
    return out


def cropped(pixels, h, w):
    """The middle, half to even; black around what is smaller."""
    out, at = np.zeros((h, w, pixels.shape[2]), np.uint8), []
    for n, m in zip((h, w), pixels.shape):
        at.append((max(0, round((m - n) / 2)), (n - m) // 2 if n > m else 0, min(n, m)))
    (y, top, rows), (x, left, columns) = at
    out[top : top + rows, left : left + columns] = pixels[y : y + rows, x : x + columns]
    return out


def shorter(image, n):
    return linear(image, *short_side(image, n).size[::-1])


ROWS = [
    ([{"resize": {"size": [25, 37], **LINEAR}}], lambda im: linear(im, 25, 37)),
    ([{"resize": {"size": [20, 30], **LINEAR}}, {"horizontal_flip": 1}], lambda im: linear(im, 20, 30)[:, ::-1]),  # of 60 x 40 the halves
    ([{"resize": {"size": [20, 30], "interpolation": "cv2_nearest"}}], lambda im: nearest(im, 20, 30)),
    ([{"resize": {"size": 26, **LINEAR}}, {"center_crop": 26}], lambda im: cropped(shorter(im, 26), 26, 26)),
    ([{"resize": {"size": [50, 60], **LINEAR}}, {"vertical_flip": 1}, {"center_crop": [31, 44]}], lambda im: cropped(linear(im, 50, 60)[::-1], 31, 44)),
    ([{"resize": {"size": [48, 64], "fit": "letterbox", "fill": 114, **LINEAR}}], lambda im: letterbox(im, (48, 64), 114)),
    ([{"resize": {"size": [51, 51], "fit": "letterbox", "fill": list(PURPLE), "place": "top_left", **LINEAR}}], lambda im: letterbox(im, (51, 51), PURPLE, center=False)),
    ([{"resize": {"size": [50, 47], "fit": "letterbox", "upscale": False, **LINEAR}}], lambda im: letterbox(im, (50, 47), 0, scaleup=False)),
]


@pytest.mark.parametrize("transform, want", ROWS, ids=[str(transform) for transform, _ in ROWS])
def test_a_row_is_opencvs(photos, open_, transform, want):
    folder, images = photos
    batch = next(iter(open_(describe(folder, batch=len(SIZES), image={"transform": transform}))))
    for row, image in zip(batch["image"], images):
        np.testing.assert_array_equal(row, want(image), err_msg=str(image.size))


@pytest.mark.parametrize("transform, want", ROWS, ids=[str(transform) for transform, _ in ROWS])
def test_every_frame_of_a_clip_is_opencvs(tmp_path, open_, frames, transform, want):
    row, = clips(open_, tmp_path, transform)
    np.testing.assert_array_equal(row, [want(frame) for frame in frames])


@pytest.mark.parametrize("f, resize", [("cv2_linear", linear), ("cv2_nearest", nearest)])
def test_a_random_resized_crop_is_opencvs_of_the_part_that_was_drawn(photos, open_, f, resize):
    for row, part in drawn_parts(photos, open_, f):
        np.testing.assert_array_equal(row, resize(part, 21, 34), err_msg=str(part.size))


def test_a_mask_has_the_random_size_of_its_picture(pairs, open_):
    path, made = pairs
    resized = {"min_size": 20, "max_size": 45}
    drawn = set()
    image = [{"random_resize": {**resized, **LINEAR}}, {"center_crop": [33, 48]}]
    mask = [{"random_resize": {**resized, "interpolation": "cv2_nearest"}}, {"center_crop": [33, 48]}]
    for i, a, b in both(path, open_, image, mask):
        sizes = [n for n in range(20, 45) if np.array_equal(a, cropped(shorter(made[i][0], n), 33, 48))]
        assert len(sizes) == 1, (i, sizes)
        h, w = short_side(made[i][1], sizes[0]).size[::-1]
        np.testing.assert_array_equal(b, cropped(nearest(made[i][1], h, w)[..., None], 33, 48))
        drawn.update(sizes)
    assert len(drawn) > 10


def test_a_scale_is_jittered_in_opencvs_pixels(photos, open_):
    folder, images = photos
    transform = [{"scale_jitter": {"target_size": [40, 50], "scale_range": [0.5, 1.5], **LINEAR}}, {"center_crop": [33, 48]}]
    batch = next(iter(open_(describe(folder, batch=len(SIZES), image={"transform": transform}))))
    for row, im in zip(batch["image"], images):
        w, h = im.size
        fits = min(40 / h, 50 / w)
        sizes = {(int(h * fits * k / 2000), int(w * fits * k / 2000)) for k in range(1000, 3001)}
        assert [size for size in sizes if np.array_equal(row, cropped(linear(im, *size), 33, 48))], im.size


@pytest.mark.parametrize("section, more, text", [
    ("video", {"frames": 2, "scaler": "area"}, "video.scaler: got area, of swscale, beside interpolation cv2_linear, want pillow"),
    ("image", {"mode": "index"}, "got interpolation cv2_linear with mode index, want nearest, cv2_nearest, torch_nearest or torch_nearest_exact"),
])
def test_what_makes_no_rows_is_refused(photos, section, more, text):
    transform = [{"resize": {"size": [8, 8], **LINEAR}}]
    with pytest.raises(spdl.SpecError) as raised:
        spdl.open({"source": {"folder": str(photos[0])}, section: {"transform": transform, **more}})
    assert text in str(raised.value)


def test_opencvs_own_names_are_answered(photos):
    with pytest.raises(spdl.SpecError, match="did you mean cv2_area"):
        spdl.open({"source": {"folder": str(photos[0])}, "image": {"transform": [{"resize": {"size": [8, 8], "interpolation": "INTER_AREA"}}]}})


def test_a_letterboxed_mask_lies_where_its_picture_does(pairs, open_):
    path, made = pairs
    box = {"size": [47, 52], "fit": "letterbox"}
    rows = list(both(path, open_, [{"resize": {**box, "fill": 114, **LINEAR}}], [{"resize": {**box, "fill": 255, "interpolation": "cv2_nearest"}}]))
    assert len(rows) == 6 * len(SIZES)
    for i, a, b in rows:
        np.testing.assert_array_equal(a, letterbox(made[i][0], (47, 52), 114))
        np.testing.assert_array_equal(b[..., 0], letterbox(np.asarray(made[i][1]), (47, 52), 255, nearest))
