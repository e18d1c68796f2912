"""OpenCV's filters of a resize: the same bytes as cv2.resize of opencv-python-headless 4.11.0.86, which make test has not (make exact has; the
digests of core/media/testdata/cv2.tsv are looked at without it). Intel's IPP, which x86's wheels have for INTER_CUBIC alone of these, is turned
off, and with it on bytes differ by 1."""

import numpy as np
import pytest
from PIL import Image

from conftest import picture
from tools import RowError
from shapes import made, shapes
from test_augment import INDEX, NCHW, RGB
from test_jpeg import F32, GRAY

cv2 = pytest.importorskip("cv2", reason="needs OpenCV: pip install opencv-python-headless==4.11.0.86")

LINEAR, NEAREST, AREA, CUBIC, LANCZOS4 = 6, 7, 8, 9, 10
FILTERS = {LINEAR: cv2.INTER_LINEAR, NEAREST: cv2.INTER_NEAREST, AREA: cv2.INTER_AREA, CUBIC: cv2.INTER_CUBIC, LANCZOS4: cv2.INTER_LANCZOS4}


def save(path, pixels):
    Image.fromarray(pixels).save(path)
    return pixels


def resize(pixels, size, f, optimized=True, ipp=False):
    cv2.setUseOptimized(optimized)  # which turns IPP on or off with it
    cv2.ipp.setUseIPP(ipp)
    try:
        return cv2.resize(pixels, size[::-1], interpolation=FILTERS[f]).reshape(*size, -1)
    finally:
        cv2.setUseOptimized(True)


@pytest.mark.parametrize("f", FILTERS)
@pytest.mark.parametrize("optimized", [True, False])
def test_resizing_is_opencvs(rows, tmp_path, f, optimized):
    for i, (w, h, ow, oh) in enumerate(shapes(1400, 2 + optimized)):
        channels = 1 + 2 * (i // 7 % 2)
        pixels = save(tmp_path / "a.png", made(i, w, h, channels))
        layout = i & 1 if channels == 3 else 0
        got = rows.row(tmp_path / "a.png", Resize=(oh, ow), Interpolation=f, Mode=RGB if channels == 3 else GRAY, Layout=layout)
        want = resize(pixels, (oh, ow), f, optimized)
        assert np.array_equal(got, want.transpose(2, 0, 1) if layout == NCHW else want), (i, (w, h), (ow, oh), channels)


@pytest.mark.parametrize("f", FILTERS)
def test_random_resized_crops_of_jpegs_are_opencvs(rows, tmp_path, f):
    """Of what Pillow and OpenCV read alike: cv2.resize of the crop alone."""
    rng = np.random.default_rng(2)
    for i in range(120):
        im = Image.fromarray(picture(rng, int(rng.integers(20, 400)), int(rng.integers(20, 400))))
        im.save(tmp_path / "a.jpg", quality=int(rng.integers(50, 100)), subsampling=i % 3, progressive=i % 4 == 0)
        pixels = np.asarray(Image.open(tmp_path / "a.jpg").convert("RGB"))
        got = rows.row(tmp_path / "a.jpg", Random={}, Out=(96, 112), Interpolation=f, draw=dict(Seed=5, Index=i))
        b = rows.info["box"]
        part = np.ascontiguousarray(pixels[b["y"] : b["y"] + b["h"], b["x"] : b["x"] + b["w"]])
        assert np.array_equal(got, resize(part, (96, 112), f)), (i, pixels.shape, b)


def test_jpegs_are_read_as_opencv_reads_them(rows, tmp_path):
    """cv2.imread's pixels are Pillow's, and those of IMREAD_GRAYSCALE mode: luma."""
    rng = np.random.default_rng(3)
    for i in range(40):
        Image.fromarray(picture(rng, int(rng.integers(20, 300)), int(rng.integers(20, 300)))).save(tmp_path / "a.jpg", quality=int(rng.integers(50, 100)), subsampling=i % 3)
        pixels = cv2.cvtColor(cv2.imread(str(tmp_path / "a.jpg")), cv2.COLOR_BGR2RGB)
        grey = cv2.imread(str(tmp_path / "a.jpg"), cv2.IMREAD_GRAYSCALE)
        assert np.array_equal(rows.row(tmp_path / "a.jpg", Resize=(64, 80), Interpolation=LINEAR), resize(pixels, (64, 80), LINEAR))
        assert np.array_equal(rows.row(tmp_path / "a.jpg", Resize=(64, 80), Interpolation=LINEAR, Mode=2), resize(grey, (64, 80), LINEAR))


def test_bytes_of_bgr_differ_in_a_cubics_last_elements_alone(tmp_path):
    """Its loop over whole vectors rounds otherwise than the one over what is left, and which channel that is goes by their order."""
    differ = 0
    for i, (w, h, ow, oh) in enumerate(shapes(700, 4)):
        pixels = made(i, w, h, 3)
        for f in FILTERS:
            there, back = resize(pixels, (oh, ow), f), resize(np.ascontiguousarray(pixels[..., ::-1]), (oh, ow), f)[..., ::-1]
            d = np.abs(there.astype(int) - back)
            assert d.max() <= (f == CUBIC) and not d[:, : max(0, ow - 3)].any(), (i, f)
            differ += d.sum()
    assert differ < 100


def letterbox(pixels, size, fill, center=True, scaleup=True, f=LINEAR):
    """Ultralytics' LetterBox and YOLOv5's letterbox, without auto."""
    h, w = pixels.shape[:2]
    r = min(size[0] / h, size[1] / w)
    r = r if scaleup else min(r, 1.0)
    new = int(round(w * r)), int(round(h * r))
    dw, dh = size[1] - new[0], size[0] - new[1]
    if center:
        dw, dh = dw / 2, dh / 2
    if (w, h) != new:
        pixels = resize(pixels, new[::-1], f)
    top, bottom = int(round(dh - 0.1)) if center else 0, int(round(dh + 0.1))
    left, right = int(round(dw - 0.1)) if center else 0, int(round(dw + 0.1))
    return cv2.copyMakeBorder(pixels, top, bottom, left, right, cv2.BORDER_CONSTANT, value=(fill,) * 3)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("scaleup", [True, False])
def test_letterboxes_are_yolos(rows, tmp_path, center, scaleup):
    rng = np.random.default_rng(5)
    for i in range(250):
        w, h = (int(v) for v in rng.integers(8, 400, 2))
        size = [(64, 64), (160, 160), (96, 128), (77, 51)][i % 4]
        pixels = save(tmp_path / "a.png", picture(rng, w, h))
        f = (LINEAR, AREA)[i // 4 % 2]
        got = rows.row(tmp_path / "a.png", Contain=dict(Letterbox=True, Corner=not center, Shrink=not scaleup), Out=size, Interpolation=f, Fill=(114, 114, 114))
        assert np.array_equal(got, letterbox(pixels, size, 114, center, scaleup, f)), (i, (w, h), size)


def test_a_letterbox_of_floats_in_planes(rows, tmp_path):
    pixels = save(tmp_path / "a.png", picture(np.random.default_rng(6), 301, 200))
    got = rows.row(tmp_path / "a.png", Contain=dict(Letterbox=True), Out=(128, 128), Interpolation=LINEAR, Fill=(114, 114, 114), DType=F32, Layout=NCHW)
    assert np.array_equal(got, letterbox(pixels, (128, 128), 114).transpose(2, 0, 1).astype(np.float32) / 255)


def test_masks_keep_their_numbers(rows, tmp_path):
    rng = np.random.default_rng(7)
    for i in range(60):
        w, h = (int(v) for v in rng.integers(1, 200, 2))
        pixels = save(tmp_path / "a.png", rng.integers(0, 256, (h, w)).astype(np.uint8))
        size = tuple(int(v) for v in rng.integers(1, 200, 2))
        assert np.array_equal(rows.row(tmp_path / "a.png", Resize=size, Interpolation=NEAREST, Mode=INDEX), resize(pixels, size, NEAREST))
    with pytest.raises(RowError, match="want interpolation nearest, cv2_nearest, torch_nearest or torch_nearest_exact"):
        rows.row(tmp_path / "a.png", Resize=(4, 4), Interpolation=LINEAR, Mode=INDEX)


def test_ipps_cubic_is_within_one(rows, tmp_path):
    for i, (w, h, ow, oh) in enumerate(shapes(350, 8)):
        pixels = save(tmp_path / "a.png", made(i, w, h, 3))
        for f in FILTERS:
            got = rows.row(tmp_path / "a.png", Resize=(oh, ow), Interpolation=f)
            assert np.abs(got.astype(int) - resize(pixels, (oh, ow), f, ipp=True)).max() <= (f == CUBIC), (i, f)
