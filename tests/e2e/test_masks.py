"""Masks of objects go where their boxes go, through the real command."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from engines import BUILD, LANGUAGES, PATIENCE, ROOT, example, groups
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


OWN = {"transform": [{"horizontal_flip": 0.5}], "shape": "ragged", "room": [120, 120]}


@pytest.mark.parametrize("image", [{"transform": [{"random_crop": 48}]}, OWN])
def test_programs_in_every_language_read_them(serve, table, image):
    """The hash that the examples print is of all tensors' bytes and offsets."""
    engine = serve(described(table, image, order={"seed": 2, "epochs": 1}, ring=groups(*LANGUAGES)))
    consumers = {language: example(language, engine.name, language, "--hash") for language in LANGUAGES}
    seen = {}
    for language, consumer in consumers.items():
        code, out, err = consumer.end()
        assert (code, err) == (0, ""), f"{language}: {err}"
        seen[language] = sorted(out.splitlines()[:-1])
    assert len(seen["c"]) == 3 and all(hashes == seen["c"] for hashes in seen.values()), seen


PROGRAM = r"""
#include <spdl/spdl.hpp>
#include <cstdio>
int main(int, char **argv) {
    spdl::AttachOptions options;
    options.max_leases = 1;
    options.group = "cpp";
    for (spdl::Batch batch : spdl::attach(argv[1], options))
        for (std::uint32_t i = 0; i < batch.rows(); i++) {
            const spdl::Tensor masks = batch["masks"].picture(i, batch["extent"]);
            long on = 0;
            for (std::size_t k = 0; k < masks.size(); k++) on += masks.data<std::uint8_t>()[k];
            std::printf("%lld %lld %lld %lld %ld\n", (long long)batch["index"].data<std::int64_t>()[i], (long long)masks.shape()[0], (long long)masks.shape()[1], (long long)masks.shape()[2], on);
        }
}
"""


@pytest.mark.skipif(shutil.which("c++") is None, reason="there is no C++ compiler")
def test_cpp_has_the_masks_of_a_picture_of_its_own_size(serve, attach, table, tmp_path):
    (tmp_path / "masks.cpp").write_text(PROGRAM)
    subprocess.run(["c++", "-std=c++17", f"-I{ROOT}/include", f"-I{ROOT}/clients/cpp/include", "masks.cpp", f"-L{BUILD}", "-lspdl", f"-Wl,-rpath,{BUILD}", "-o", "masks"],
                   cwd=tmp_path, check=True, timeout=PATIENCE)
    engine = serve(described(table, OWN, order={"seed": 2, "epochs": 1}, ring=groups("here", "cpp")))
    want, reader = [], attach(engine.name, "here", max_leases=1)
    program = subprocess.Popen([tmp_path / "masks", f"{engine.name}"], stdout=subprocess.PIPE, text=True)
    while (batch := reader.acquire(timeout=PATIENCE)) is not None:
        with batch:
            want += [[int(batch["index"][i]), *batch["masks"][i].shape, int(batch["masks"][i].sum())] for i in range(batch.rows)]
    out, _ = program.communicate(timeout=PATIENCE)
    got = [[int(n) for n in line.split()] for line in out.splitlines()]
    assert program.returncode == 0 and len(got) == N
    assert got == want and any(n == 0 for _, n, *_ in want)
