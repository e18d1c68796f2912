"""Sizes, borders and filters of a description, through the real command: rows and masks are Pillow's, by torchvision's rules."""

import tarfile

import numpy as np
import pytest
import spdl
from engines import describe
from pictures import picture, sized
from PIL import Image, ImageOps

FILTERS = {"bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC, "lanczos": Image.LANCZOS, "box": Image.BOX, "hamming": Image.HAMMING, "nearest": Image.NEAREST}
SIZES = [(60, 40), (40, 60), (31, 30), (17, 90), (23, 23), (90, 31)]  # (w, h), as Pillow has them
PURPLE = (120, 7, 201)


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """A folder of PNGs of SIZES, and them."""
    return sized(tmp_path_factory.mktemp("photos"), SIZES)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """A shard of pictures of SIZES and a mask of each, N.mask.png: numbers of classes, all over the place; and both."""
    folder, rng, made = tmp_path_factory.mktemp("pairs"), np.random.default_rng(4), []
    with tarfile.open(folder / "a.tar", "w") as tar:
        for i, size in enumerate(SIZES):
            made.append((picture(rng, *size), Image.fromarray(rng.integers(0, 200, size[::-1], np.uint8))))
            for part, image in zip(("jpg.png", "mask.png"), made[-1]):
                image.save(folder / f"{i}.{part}")
                tar.add(folder / f"{i}.{part}", f"{i}.{part}")
    return folder / "a.tar", made


# ---- torchvision's and Pillow's rules


def middle(size, n):
    """Where CenterCrop's window begins: half to even; before a smaller picture."""
    return -((n - size) // 2) if size < n else round((size - n) / 2)


def window(image, size, top, left, fill=0):
    """size of the picture from (top, left) on, which may lie beside it, where fill is."""
    out = Image.new(image.mode, size[::-1], fill)
    out.paste(image, (-left, -top))
    return np.asarray(out).reshape(*size, -1)


def padded(image, sides, mode):
    """torchvision's functional.pad on PIL images."""
    left, top, right, bottom = sides
    pixels = np.asarray(image)
    return np.pad(pixels, ((top, bottom), (left, right)) + ((0, 0),) * (pixels.ndim - 2), mode)


def extended(image, size, top, left, mode):
    """window of a picture that goes on beyond its borders."""
    return window(Image.fromarray(padded(image, (100,) * 4, mode)), size, top + 100, left + 100)


def center_crop(image, size, fill=0):
    return window(image, size, middle(image.size[1], size[0]), middle(image.size[0], size[1]), fill)


def short_side(image, size, max_size=None, interpolation="bilinear"):
    """Resize(size, max_size=...), torchvision's _compute_resized_output_size."""
    short, long = sorted(image.size)
    new_short, new_long = size, int(size * long / short)
    if max_size is not None and new_long > max_size:
        new_short, new_long = int(max_size * new_short / new_long), max_size
    w, h = image.size
    return image.resize((new_short, new_long) if w <= h else (new_long, new_short), FILTERS[interpolation])


def letterbox(image, size, fill=0, interpolation="bilinear", place="center", upscale=True):
    """ImageOps.pad, which knows no upscale."""
    if upscale:
        at = (0, 0) if place == "top_left" else (0.5, 0.5)
        return np.asarray(ImageOps.pad(image, size[::-1], FILTERS[interpolation], color=fill, centering=at)).reshape(*size, -1)
    w, h = image.size
    made = image if w <= size[1] and h <= size[0] else ImageOps.contain(image, size[::-1], FILTERS[interpolation])
    at = [0 if place == "top_left" else -round((n - have) * 0.5) for n, have in zip(size, made.size[::-1])]
    return window(made, size, *at, fill)


def turned(degrees, **more):
    return {"random_rotation": {"degrees": [degrees, degrees], **more}}


AHEAD = [  # as ROWS, of what is turned and mirrored ahead of the crop
    ([turned(30, expand=True), {"resize": 40}, {"center_crop": 36}], lambda im: center_crop(short_side(im.rotate(30, expand=True), 40), (36, 36))),
    ([turned(90, expand=True, interpolation="bilinear"), {"resize": [33, 44]}], lambda im: np.asarray(im.rotate(90, expand=True).resize((44, 33), Image.BILINEAR))),
    ([{"resize": 40}, turned(-15, interpolation="bicubic", fill=list(PURPLE)), {"center_crop": 36}],
     lambda im: center_crop(short_side(im, 40).rotate(-15, Image.BICUBIC, fillcolor=PURPLE), (36, 36))),
    ([{"resize": 30}, turned(45, expand=True, fill=9), {"center_crop": {"size": 70, "fill": 77}}],
     lambda im: center_crop(short_side(im, 30).rotate(45, expand=True, fillcolor=(9, 9, 9)), (70, 70), (77, 77, 77))),
    ([turned(20, center=[0, 0]), {"horizontal_flip": 1}, {"center_crop": 20}], lambda im: center_crop(ImageOps.mirror(im.rotate(20, center=(0, 0))), (20, 20))),
    ([{"horizontal_flip": 1}, turned(20), {"resize": [20, 30]}, {"pad": 3}],
     lambda im: np.asarray(ImageOps.expand(ImageOps.mirror(im).rotate(20).resize((30, 20), Image.BILINEAR), 3))),
    ([{"resize": 30}, {"vertical_flip": 1}, turned(7), {"center_crop": 26}, {"horizontal_flip": 1}], lambda im: center_crop(ImageOps.flip(short_side(im, 30)).rotate(7), (26, 26))[:, ::-1]),
]

ROWS = [  # a transform, and what becomes of a picture
    *AHEAD,
    ([{"resize": {"size": [48, 64], "fit": "contain", "fill": 114}}], lambda im: letterbox(im, (48, 64), (114,) * 3)),
    ([{"resize": {"size": [50, 50], "fit": "contain", "fill": list(PURPLE), "interpolation": "bicubic", "place": "top_left"}}],
     lambda im: letterbox(im, (50, 50), PURPLE, "bicubic", "top_left")),
    ([{"resize": {"size": [50, 47], "fit": "contain", "upscale": False, "fill": list(PURPLE)}}], lambda im: letterbox(im, (50, 47), PURPLE, upscale=False)),
    ([{"resize": {"size": [80, 95], "fit": "contain", "upscale": False, "place": "top_left"}}],
     lambda im: letterbox(im, (80, 95), place="top_left", upscale=False)),
    ([{"resize": {"size": 30, "max_size": 50}}, {"center_crop": {"size": 50, "fill": list(PURPLE)}}], lambda im: center_crop(short_side(im, 30, 50), (50, 50), PURPLE)),
    ([{"resize": {"size": 30, "max_size": 31, "interpolation": "bicubic"}}, {"center_crop": [31, 40]}],
     lambda im: center_crop(short_side(im, 30, 31, "bicubic"), (31, 40))),
    ([{"resize": [20, 30]}, {"pad": {"padding": [1, 2, 3, 4], "padding_mode": "reflect"}}], lambda im: padded(im.resize((30, 20), Image.BILINEAR), (1, 2, 3, 4), "reflect")),
    ([{"resize": [20, 30]}, {"pad": {"padding": 5, "fill": 77}}], lambda im: np.asarray(ImageOps.expand(im.resize((30, 20), Image.BILINEAR), 5, (77, 77, 77)))),
    ([{"center_crop": {"size": [35, 70], "padding_mode": "symmetric"}}], lambda im: extended(im, (35, 70), middle(im.size[1], 35), middle(im.size[0], 70), "symmetric")),
    ([{"center_crop": {"size": [35, 70], "fill": 9}}], lambda im: center_crop(im, (35, 70), (9, 9, 9))),
    *(([{"resize": {"size": [25, 37], "interpolation": f}}], lambda im, f=f: np.asarray(im.resize((37, 25), FILTERS[f]))) for f in FILTERS),
    *(([{"resize": {"size": 26, "interpolation": f}}, {"center_crop": 26}], lambda im, f=f: center_crop(short_side(im, 26, interpolation=f), (26, 26))) for f in FILTERS),
]


@pytest.mark.parametrize("transform, want", ROWS, ids=[str(transform) for transform, _ in ROWS])
def test_a_row_is_pillows(photos, open_, transform, want):
    folder, images = photos
    batch = next(iter(open_(describe(folder, batch=len(SIZES), image={"transform": transform}))))
    for row, image in zip(batch["image"], images):
        np.testing.assert_array_equal(row, want(image), err_msg=str(image.size))


def drawn_parts(photos, open_, f):
    """The rows of 21 x 34 of a random resized crop by a filter, each with the part of its picture that affine says it is of."""
    folder, images = photos
    image = {"affine": True, "transform": [{"random_resized_crop": {"size": [21, 34], "interpolation": f}}]}
    batch = next(iter(open_(describe(folder, batch=len(SIZES), image=image))))
    for row, im, affine in zip(batch["image"], images, batch["affine"].astype(float)):
        left, top = -affine[:, 2] / affine.diagonal()
        right, bottom = (34 - affine[0, 2]) / affine[0, 0], (21 - affine[1, 2]) / affine[1, 1]
        yield row, im.crop([round(v) for v in (left, top, right, bottom)])


@pytest.mark.parametrize("f", FILTERS)
def test_a_random_resized_crop_is_pillows_of_the_part_that_was_drawn(photos, open_, f):
    for row, part in drawn_parts(photos, open_, f):
        np.testing.assert_array_equal(row, np.asarray(part.resize((34, 21), FILTERS[f])), err_msg=str(part.size))


# ---- pictures with masks


def fields(image, mask):
    return {"image": {"image": {"from": "jpg.png", "transform": image}}, "mask": {"image": {"from": "mask.png", "mode": "index", "transform": mask}}}


def both(path, open_, image, mask):
    """The rows of six epochs: index, picture and mask."""
    loader = open_({"source": {"shards": str(path)}, "batch": len(SIZES), "order": {"shuffle": False, "epochs": 6}, "fields": fields(image, mask)})
    for epoch in loader.epochs():
        for batch in epoch:
            yield from ((int(i), np.array(a), np.array(b)) for i, a, b in zip(batch["index"], batch["image"], batch["mask"]))


def test_a_letterboxed_mask_has_a_fill_and_a_filter_of_its_own(pairs, open_):
    path, made = pairs
    image = [{"resize": {"size": [40, 50], "fit": "contain", "fill": list(PURPLE), "interpolation": "bicubic"}}]
    mask = [{"resize": {"size": [40, 50], "fit": "contain", "fill": 255, "interpolation": "nearest"}}]
    rows = list(both(path, open_, image, mask))
    assert len(rows) == 6 * len(SIZES)
    for i, a, b in rows:
        np.testing.assert_array_equal(a, letterbox(made[i][0], (40, 50), PURPLE, "bicubic"))
        np.testing.assert_array_equal(b, letterbox(made[i][1], (40, 50), 255, "nearest"))


def test_a_mask_has_the_random_size_of_its_picture(pairs, open_):
    """The shorter side is one of 20 to 44, never 45; the row is the middle of what Pillow makes of it, and the mask's of the same size."""
    path, made = pairs
    crop, drawn = (33, 48), set()
    image = [{"random_resize": {"min_size": 20, "max_size": 45, "interpolation": "lanczos"}}, {"center_crop": {"size": list(crop), "fill": 9}}]
    mask = [{"random_resize": {"min_size": 20, "max_size": 45, "interpolation": "nearest"}}, {"center_crop": {"size": list(crop), "fill": 255}}]
    for i, a, b in both(path, open_, image, mask):
        sizes = [n for n in range(1, 60) if np.array_equal(a, center_crop(short_side(made[i][0], n, interpolation="lanczos"), crop, (9, 9, 9)))]
        assert len(sizes) == 1, (i, sizes)
        np.testing.assert_array_equal(b, center_crop(short_side(made[i][1], sizes[0], interpolation="nearest"), crop, 255))
        drawn.update(sizes)
    assert len(drawn) > 10 and min(drawn) >= 20 and max(drawn) < 45, drawn


def test_a_mask_has_its_pictures_scale(pairs, open_):
    """scale_jitter: of pictures and masks as large as 40 x 50 has room for, times 0.5 to 1.5; the row is the middle of that."""
    path, made = pairs
    crop, drawn = (33, 48), set()
    image = [{"scale_jitter": {"target_size": [40, 50], "scale_range": [0.5, 1.5]}}, {"center_crop": {"size": list(crop), "fill": 9}}]
    mask = [{"scale_jitter": {"target_size": [40, 50], "scale_range": [0.5, 1.5], "interpolation": "nearest"}}, {"center_crop": {"size": list(crop), "fill": 255}}]
    for i, a, b in both(path, open_, image, mask):
        w, h = made[i][0].size
        fits = min(40 / h, 50 / w)
        sizes = {(int(w * fits * k / 2000), int(h * fits * k / 2000)) for k in range(1000, 3001)}
        found = [size for size in sizes if np.array_equal(a, center_crop(made[i][0].resize(size, Image.BILINEAR), crop, (9, 9, 9)))]
        assert len(found) == 1, (i, found)
        np.testing.assert_array_equal(b, center_crop(made[i][1].resize(found[0], Image.NEAREST), crop, 255))
        drawn.update(found)
    assert len(drawn) > 20


def test_a_mask_is_cropped_where_its_picture_is(pairs, open_):
    """random_crop on padding, with a fill of its own for each."""
    path, made = pairs
    size, pad, places = (30, 26), 8, set()
    image = [{"random_crop": {"size": list(size), "padding": pad, "fill": list(PURPLE)}}, {"horizontal_flip": 0.5}]
    mask = [{"random_crop": {"size": list(size), "padding": pad, "fill": 255}}, {"horizontal_flip": 0.5}]
    for i, a, b in both(path, open_, image, mask):
        w, h = made[i][0].size
        tops = [middle(h, size[0])] if h + 2 * pad < size[0] else range(-pad, h + pad - size[0] + 1)
        lefts = [middle(w, size[1])] if w + 2 * pad < size[1] else range(-pad, w + pad - size[1] + 1)
        found = [(flip, top, left) for flip in (1, -1) for top in tops for left in lefts
                 if np.array_equal(a[:, ::flip], window(made[i][0], size, top, left, PURPLE))]
        assert len(found) == 1, (i, found)
        flip, top, left = found[0]
        np.testing.assert_array_equal(b[:, ::flip], window(made[i][1], size, top, left, 255))
        places.add(found[0])
    assert len(places) > 20 and {flip for flip, _, _ in places} == {1, -1}


def test_a_mask_is_padded_as_its_picture_or_by_its_own_fill(pairs, open_):
    """CIFAR's crop, with a padding of each side: the mask lies where its picture does, and beyond it there is what the mask says."""
    path, made = pairs
    size, (left, top, right, bottom) = (30, 26), (3, 8, 5, 2)
    sides = {"size": list(size), "padding": [left, top, right, bottom]}
    for own in "reflect", "constant":
        mask = {"padding_mode": "reflect"} if own == "reflect" else {"fill": 255}
        for i, a, b in both(path, open_, [{"random_crop": {**sides, "padding_mode": "reflect"}}], [{"random_crop": {**sides, **mask}}]):
            w, h = made[i][0].size
            tops = range(-top, h + bottom - size[0] + 1) or [middle(h + top + bottom, size[0]) - top]
            lefts = range(-left, w + right - size[1] + 1) or [middle(w + left + right, size[1]) - left]
            wide = padded(made[i][0], (100,) * 4, "reflect")
            found = [(y, x) for y in tops for x in lefts if np.array_equal(a, wide[100 + y:, 100 + x:][:size[0], :size[1]])]
            assert len(found) == 1, (i, found)
            np.testing.assert_array_equal(b, extended(made[i][1], size, *found[0], "reflect") if own == "reflect" else window(made[i][1], size, *found[0], 255))


@pytest.mark.parametrize("cpus", [1, 2])
def test_padded_rows_are_the_same_for_any_number_of_decoders(photos, open_, cpus):
    """And torchvision's RandomCrop(24, padding=4, padding_mode="edge") of some place, each epoch of another one."""
    folder, images = photos
    transform = [{"random_crop": {"size": 24, "padding": 4, "padding_mode": "edge"}}, {"vertical_flip": 0.5}]

    def rows(cpus):
        loader = open_(describe(folder, batch=len(SIZES), order={"shuffle": False, "epochs": 3, "seed": 9}, image={"transform": transform}, limits={"cpus": cpus}))
        return [np.array(batch["image"]) for epoch in loader.epochs() for batch in epoch]

    got = rows(cpus)
    np.testing.assert_array_equal(got, rows(4))
    assert len(got) == 3 and (got[0] != got[1]).any() and (got[1] != got[2]).any()


def test_a_turned_mask_has_its_own_fill(pairs, open_):
    """random_rotation by one angle: Image.rotate of both."""
    path, made = pairs
    rotate = {"degrees": [20, 20]}
    image = [{"center_crop": 30}, {"random_rotation": {**rotate, "interpolation": "bicubic", "fill": list(PURPLE)}}]
    mask = [{"center_crop": 30}, {"random_rotation": {**rotate, "fill": 255}}]
    for i, a, b in both(path, open_, image, mask):
        photo, classes = (Image.fromarray(center_crop(im, (30, 30)).squeeze()) for im in made[i])
        np.testing.assert_array_equal(a, np.asarray(photo.rotate(20, Image.BICUBIC, fillcolor=PURPLE)))
        np.testing.assert_array_equal(b[..., 0], np.asarray(classes.rotate(20, fillcolor=255)))


def test_a_mask_is_turned_ahead_of_its_crop_with_its_picture(pairs, open_):
    """By angles that are drawn: where the picture of which the class is a part of its colour has it, the mask has it. Both grow alike."""
    path, made = pairs
    rotate, found = {"degrees": 40, "expand": True}, set()
    image = [{"random_rotation": {**rotate, "fill": list(PURPLE)}}, {"resize": {"size": [64, 64], "interpolation": "nearest"}}, {"random_crop": 60}, {"horizontal_flip": 0.5}]
    mask = [{"random_rotation": {**rotate, "fill": 255}}, {"resize": {"size": [64, 64], "interpolation": "nearest"}}, {"random_crop": 60}, {"horizontal_flip": 0.5}]
    for i, a, b in both(path, open_, image, mask):
        assert ((a == PURPLE).all(axis=-1) == (b[..., 0] == 255)).mean() > 0.999, i  # a pixel of the picture may be purple
        found.add((b == 255).sum())
    assert len(found) > 3, "each was turned by an angle of its own"


def test_two_views_are_turned_ahead_each_by_its_own_draws(photos, open_):
    folder, images = photos
    view = {"transform": [{"random_rotation": {"degrees": [0, 90], "expand": True}}, {"resize": [40, 40]}]}
    description = describe(folder, batch=len(SIZES), fields={"a": {"image": view}, "b": {"image": view, "draw": "own"}})
    del description["image"]
    batch = next(iter(open_(description)))
    assert all((a != b).any() for a, b in zip(batch["a"], batch["b"]))
    one = open_(describe(folder, batch=len(SIZES), image=view))
    np.testing.assert_array_equal(batch["a"], next(iter(one))["image"])


def test_rows_that_are_turned_by_one_angle_are_kept(photos, open_):
    """cache.rows has what was made in the first epoch; what is drawn anew for each epoch is refused, wherever it stands."""
    folder, images = photos
    transform, want = AHEAD[0]
    loader = open_(describe(folder, batch=len(SIZES), image={"transform": transform}, order={"shuffle": False, "epochs": 2}) | {"cache": {"rows_bytes": "1MiB"}})
    for epoch in loader.epochs():
        for batch in epoch:
            for row, image in zip(batch["image"], images):
                np.testing.assert_array_equal(row, want(image))
    with pytest.raises(spdl.SpecError, match="cache.rows_bytes"):
        spdl.open(describe(folder, image={"transform": [{"random_rotation": {"degrees": 9, "expand": True}}, {"center_crop": 8}]}) | {"cache": {"rows_bytes": "1MiB"}})


def test_a_picture_that_grows_too_large_is_a_bad_sample(photos, open_):
    """60 x 40 pixels turned by 45 degrees are 71 x 71; the sample is told of, the others come."""
    folder, images = photos
    most = max(w * h for w, h in SIZES)
    loader = open_(describe(folder, batch=len(SIZES), image={"transform": [turned(45, expand=True), {"center_crop": 20}], "max_pixels": most}, bad_sample={"policy": "mask"}))
    batch = next(iter(loader))
    for row, image in zip(batch["image"], images):
        made = image.rotate(45, expand=True)
        fits = made.size[0] * made.size[1] <= most
        np.testing.assert_array_equal(row, center_crop(made, (20, 20)) if fits else np.zeros((20, 20, 3), np.uint8), err_msg=str(image.size))


# ---- videos


def clip(path, w, h, frames=4):
    """An uncompressed video of grey noise."""
    rng = np.random.default_rng(w)
    with open(path, "wb") as file:
        file.write(f"YUV4MPEG2 W{w} H{h} F10:1 Ip A1:1 C420jpeg XCOLORRANGE=FULL\n".encode())
        for _ in range(frames):
            file.write(b"FRAME\n" + rng.integers(0, 256, w * h, np.uint8).tobytes() + bytes([128]) * (w * h // 2))


def clips(open_, folder, transform, epochs=1, **more):
    """Rows of the folder's videos, as they come."""
    loader = open_({"source": {"folder": str(folder)}, "batch": 1, "order": {"shuffle": False, "epochs": epochs},
                    "video": {"frames": 4, "select": {"kind": "all"}, "transform": transform, **more}})
    return [np.array(row) for epoch in loader.epochs() for batch in epoch for row in batch["video"]]


@pytest.fixture
def frames(tmp_path, open_):
    """The frames of a clip in tmp_path, as they are decoded."""
    clip(tmp_path / "a.y4m", 60, 40)
    row, = clips(open_, tmp_path, [{"center_crop": [40, 60]}])
    assert len(row) == 4 and row.std() > 60
    return [Image.fromarray(frame) for frame in row]


CLIPS = [  # as ROWS, of transforms that draw nothing
    *AHEAD, *ROWS[len(AHEAD) :][:5], *ROWS[len(AHEAD) :][6:9],
    ([{"resize": {"size": [25, 37], "interpolation": "lanczos"}}], lambda im: np.asarray(im.resize((37, 25), Image.LANCZOS))),
    ([{"center_crop": {"size": [70, 50], "fill": list(PURPLE)}}], lambda im: center_crop(im, (70, 50), PURPLE)),
]


@pytest.mark.parametrize("transform, want", CLIPS, ids=[str(transform) for transform, _ in CLIPS])
def test_every_frame_of_a_clip_is_pillows(tmp_path, open_, frames, transform, want):
    row, = clips(open_, tmp_path, transform)
    np.testing.assert_array_equal(row, [want(frame) for frame in frames])


def test_a_clip_is_turned_behind_a_resize_of_swscales(tmp_path, open_, frames):
    """Which is done as frames are decoded, so ahead of it there is nothing."""
    resize = {"resize": [50, 40]}
    made, = clips(open_, tmp_path, [resize], scaler="area")
    row, = clips(open_, tmp_path, [resize, turned(30, expand=True), {"center_crop": 44}], scaler="area")
    np.testing.assert_array_equal(row, [center_crop(Image.fromarray(frame).rotate(30, expand=True), (44, 44)) for frame in made])
    with pytest.raises(spdl.SpecError, match="video.scaler: got area, which resizes frames as they are decoded, and random_rotation ahead of resize"):
        clips(open_, tmp_path, [turned(30), resize], scaler="area")


def test_a_clips_frames_are_turned_by_one_angle(tmp_path, open_, frames):
    """Drawn anew for each row: of two clips of the same frames, and in each epoch."""
    (tmp_path / "b.y4m").write_bytes((tmp_path / "a.y4m").read_bytes())
    rows = clips(open_, tmp_path, [{"random_rotation": {"degrees": [0, 90], "expand": True}}, {"center_crop": 20}], epochs=2)
    assert len(rows) == 4 and all((a != b).any() for i, a in enumerate(rows) for b in rows[:i])
    for row in rows:
        angles = np.linspace(0, 90, 9001)
        near = min(angles, key=lambda angle: np.abs(center_crop(frames[0].rotate(angle, expand=True), (20, 20)).astype(int) - row[0]).mean())
        for frame, got in zip(frames, row):
            assert (center_crop(frame.rotate(near, expand=True), (20, 20)) == got).mean() > 0.9


def test_a_clips_frames_have_one_random_size(tmp_path, open_, frames):
    rows = clips(open_, tmp_path, [{"random_resize": {"min_size": 20, "max_size": 40}}, {"center_crop": {"size": 32, "fill": 9}}], epochs=8)
    drawn = set()
    for row in rows:
        sizes = [n for n in range(20, 40) if np.array_equal(row, [center_crop(short_side(f, n), (32, 32), (9, 9, 9)) for f in frames])]
        assert len(sizes) == 1
        drawn.update(sizes)
    assert len(rows) == 8 and len(drawn) > 3


# ---- what is refused


REFUSED = [
    ([{"resize": {"size": 8, "fit": "contain"}}], "transform[0].resize.fit: got contain beside size: 8, the shorter side; want what the picture is to fit into, or to cover, such as size: [8, 8]"),
    ([{"resize": {"size": [8, 8], "place": "top_left"}}], "transform[0].resize.place: given without fit: contain"),
    ([{"resize": {"size": [8, 8], "fit": "contain"}}, {"center_crop": 8}], "transform[1].center_crop: comes after resize with fit: contain, after which every row has its size; leave it out"),
    ([{"resize": {"size": 8, "max_size": 8}}, {"center_crop": 8}], "transform[0].resize.max_size: got 8, want more than the shorter side's 8"),
    ([{"resize": {"size": 8, "max_size": 20}}], "resize: 8 fixes the shorter side only, and every row of a batch must have one size"),
    ([{"random_crop": {"size": 8, "padding_mode": "reflect", "fill": 3}}], "transform[0].random_crop.fill: given beside padding_mode: reflect"),
    ([turned(9, expand=True), {"resize": 8}], "random_rotation with expand leaves the size of the picture to chance, and every row of a batch must have one size; add random_crop: 224"),
    ([{"center_crop": 8}, turned(9, expand=True)], "transform[1].random_rotation.expand: got true for rows, which have one size; write random_rotation ahead of center_crop"),
    ([{"elastic_transform": {"alpha": 50}}, {"center_crop": 8}], "transform[1].center_crop: comes after elastic_transform; want resize"),
    ([{"pad": 4}], "transform[0].pad: got pad without a size to add to; write it behind resize: [H, W], or in front of random_crop"),
    ([{"random_resize": {"min_size": 8, "max_size": 20}}], "random_resize leaves the size of the picture to chance, and every row of a batch must have one size; add random_crop: 10"),
    ([{"resize": {"size": [8, 8], "interpolation": "lanczo"}}], 'transform[0].resize.interpolation: got text "lanczo", want one of bilinear, bicubic, lanczos, box, hamming, nearest, cv2_linear, cv2_nearest, cv2_area, cv2_cubic, cv2_lanczos4, torch_nearest, torch_bilinear, torch_bicubic, torch_lanczos, torch_nearest_exact; did you mean lanczos?'),
    ([{"center_crop": {"size": 8, "fill": [1, 2]}}], "transform[0].center_crop.fill: got a list of 2, want a whole number from 0 to 255, or a list of one a channel"),
]


@pytest.mark.parametrize("section", ["image", "video"])
@pytest.mark.parametrize("transform, text", REFUSED, ids=[text for _, text in REFUSED])
def test_what_makes_no_rows_is_refused(photos, section, transform, text):
    with pytest.raises(spdl.SpecError) as raised:
        spdl.open({"source": {"folder": str(photos[0])}, section: {"transform": transform}})
    assert text in str(raised.value) and f": {section}.transform" in str(raised.value)


PAIRED = [
    ([{"random_resize": {"min_size": 20, "max_size": 45}}, {"center_crop": 20}], "got interpolation bilinear with mode index, want nearest"),
    ([{"center_crop": {"size": 20, "fill": [1, 2, 3]}}], "center_crop.fill: got 3 numbers, want one for mode index"),
]


@pytest.mark.parametrize("mask, text", PAIRED, ids=[text for _, text in PAIRED])
def test_what_mixes_classes_is_refused(pairs, mask, text):
    with pytest.raises(spdl.SpecError) as raised:
        spdl.open({"source": {"shards": str(pairs[0])}, "fields": fields([{"center_crop": 20}], mask)})
    assert text in str(raised.value)
