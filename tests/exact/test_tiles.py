"""Tiles beside the image processors of transformers themselves, which nobody installs here: pip install transformers==4.57.1.
tests/e2e/test_tiles.py has the same rules in plain Pillow."""

import itertools

import numpy as np
import pytest
from conftest import picture

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")
if not transformers.__version__.startswith("4."):
    pytest.skip("these are the names that transformers 4 has; test_processors.py has tiles of 5, too", allow_module_level=True)

INTERNVL, LLAVA_NEXT, MLLAMA, IDEFICS3 = range(4)
NONE, FIRST, LAST = range(3)
BILINEAR, BICUBIC, LANCZOS = 0, 1, 3
T = 28
PINPOINTS = [[T, 2 * T], [2 * T, T], [2 * T, 2 * T], [3 * T, T], [T, 3 * T]]
SIZES = [(28, 28), (56, 28), (28, 84), (5, 90), (90, 5), (100, 75), (75, 100), (112, 112), (113, 115), (60, 33), (90, 31), (47, 196), (230, 131), (17, 60), (57, 24), (199, 22), (500, 280), (280, 501), (640, 427)]


def grids(rows_first, most, least=1):
    pairs = itertools.product(range(1, most + 1), repeat=2)
    some = [(a, b) for a, b in pairs if least <= a * b <= most]
    if rows_first:
        return [{"rows": a, "columns": b} for a, b in some]
    return [{"rows": b, "columns": a} for a, b in sorted(some, key=lambda g: g[0] * g[1])]


def pixels(processor, image, **more):
    """The tiles that a processor makes, as they are ahead of rescaling."""
    return processor(image, do_rescale=False, do_normalize=False, return_tensors="np", **more)["pixel_values"].astype(np.float32)


@pytest.fixture(params=SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def image(request, tmp_path):
    made = Image.fromarray(picture(np.random.default_rng(sum(request.param)), *request.param))
    made.save(tmp_path / "a.png")
    return tmp_path / "a.png", made


def test_internvl(rows, image):
    """GotOcr2ImageProcessor is InternVL's, with Pillow."""
    from transformers import GotOcr2ImageProcessor

    path, made = image
    for least, most in (1, 12), (2, 6), (1, 1):
        processor = GotOcr2ImageProcessor(crop_to_patches=True, min_patches=least, max_patches=most, size={"height": T, "width": T})
        got = rows.row(path, Resize=(T, T), Layout=1, Interpolation=BICUBIC, Tiles={"By": INTERNVL, "Grids": grids(False, most, least), "Whole": LAST})
        np.testing.assert_array_equal(got, pixels(processor, made))


def test_llava_next(rows, image):
    from transformers import LlavaNextImageProcessor

    path, made = image
    processor = LlavaNextImageProcessor(image_grid_pinpoints=PINPOINTS, size={"shortest_edge": T}, crop_size={"height": T, "width": T})
    got = rows.row(path, Resize=(T, T), Layout=1, Interpolation=BICUBIC, Tiles={"By": LLAVA_NEXT, "Grids": [{"rows": h // T, "columns": w // T} for h, w in PINPOINTS], "Whole": FIRST})
    np.testing.assert_array_equal(got, pixels(processor, made)[0])


def test_mllama(rows, image):
    from transformers import MllamaImageProcessor

    path, made = image
    processor = MllamaImageProcessor(size={"height": T, "width": T}, max_image_tiles=4)
    want = processor(made, do_rescale=False, do_normalize=False, return_tensors="np")
    got = rows.row(path, Resize=(T, T), Layout=1, Interpolation=BILINEAR, Tiles={"By": MLLAMA, "Grids": grids(True, 4)})
    assert want["num_tiles"] == [[len(got)]]
    np.testing.assert_array_equal(got, want["pixel_values"][0, 0, :len(got)])


def test_idefics3(rows, image):
    from transformers import Idefics3ImageProcessor

    path, made = image
    processor = Idefics3ImageProcessor(size={"longest_edge": 4 * T}, max_image_size={"longest_edge": T})
    want = processor(made, do_rescale=False, do_normalize=False, return_row_col_info=True, return_tensors="np")
    got = rows.row(path, Resize=(T, T), Layout=1, Interpolation=LANCZOS, Tiles={"By": IDEFICS3, "Grids": [{"rows": 4, "columns": 4}], "Whole": LAST, "Longest": 4 * T})
    assert [rows.grid["rows"], rows.grid["columns"]] == [want["rows"][0][0], want["cols"][0][0]]
    np.testing.assert_array_equal(got, want["pixel_values"][0])
