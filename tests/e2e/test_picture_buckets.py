"""Batches of pictures of one of several sizes, through the real command: pixels as Pillow makes them, alone, in ranks, stopped and resumed."""

import json
import os
import subprocess

import numpy as np
import pytest
import spdl
from engines import LANGUAGES, example, groups
from PIL import Image, ImageOps
from proof import prove
from test_engine_go_consumer_c_cpp_python import tickets_and_hashes
from test_groups import lanes

SIZES = [[64, 64], [48, 80], [80, 48], [32, 96]]  # height, width
BUCKETS = {"sizes": SIZES}
ORDER = {"seed": 5, "epochs": 2, "buckets": BUCKETS}
COVER = [{"resize": {"size": "bucket", "fit": "cover", "interpolation": "bicubic"}}, {"center_crop": "bucket"}]
COLUMNS = [{"name": "width", "type": "i64"}, {"name": "height", "type": "i64"}]
SHAPES = [(120, 80), (80, 121), (100, 103), (160, 60), (61, 64), (30, 20), (90, 50)]  # width, height


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """53 pictures of several shapes and a table with the size of each; every tenth is stored turned, and says so."""
    folder = tmp_path_factory.mktemp("shapes")
    rng, rows, files = np.random.default_rng(0), ["path,width,height"], []
    for i in range(53):
        w, h = SHAPES[i % len(SHAPES)]
        w += i % 5
        y, x = np.mgrid[0:h, 0:w]
        pixels = (np.stack([2 * x, 3 * y, x + y], axis=-1) + rng.integers(0, 50, (h, w, 3))) % 256
        exif = Image.Exif()
        if i % 10 == 7:
            exif[0x0112] = 6
        Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{i:03}.png", exif=exif)
        files.append(Image.open(folder / f"{i:03}.png"))
        rows.append(f"{i:03}.png,{w},{h}")
    (folder / "table.csv").write_text("\n".join(rows) + "\n")
    return folder, files


def describe(made, batch=4, order=ORDER, image=None, **sections):
    source = {"list": str(made[0] / "table.csv"), "columns": COLUMNS}
    return {"source": source, "batch": batch, "order": order, "image": image or {"transform": COVER}, **sections}


def nearest(w, h):
    """The size of whose shape most of a picture is kept."""
    return max(SIZES, key=lambda size: min(w * size[0], h * size[1]) / max(w * size[0], h * size[1]))


def covering(picture, size):
    return ImageOps.cover(picture.convert("RGB"), size[::-1], Image.BICUBIC)


def cropped(picture, size):
    """As torchvision crops the middle: half to even."""
    big = covering(picture, size)
    top, left = round((big.height - size[0]) / 2), round((big.width - size[1]) / 2)
    return np.asarray(big.crop((left, top, left + size[1], top + size[0])))


def all_of(loader):
    return [(b.epoch, b.step, b["image"].shape, b["index"].tolist()) for epoch in loader.epochs() for b in epoch]


def test_pixels_are_pillows_and_every_batch_is_of_one_size(open_, made):
    loader, (_, files) = open_(describe(made)), made
    for epoch in loader.epochs():
        seen, sizes = [], set()
        for batch in epoch:
            size, image = list(batch["image"].shape[1:3]), batch["image"]
            assert image.flags.c_contiguous and image.shape == (batch.rows, *size, 3)
            for row, i in enumerate(batch["index"].tolist()):
                assert size == nearest(*files[i].size)
                np.testing.assert_array_equal(image[row], cropped(files[i], size))
            seen += batch["index"].tolist()
            sizes.add(tuple(size))
        assert sorted(seen) == list(range(53)) and len(sizes) == 4


def test_full_batches_come_first_and_then_what_each_size_has_left_over(open_, made):
    counts = [sum(nearest(*f.size) == size for f in made[1]) for size in SIZES]
    for last in ("cover", "drop", "pad"):
        loader = open_(describe(made, order={**ORDER, "last": last}))
        batches = [(b.rows, b["image"].shape[1], b["status"].tolist()) for b in loader]
        full = sum(n // 4 for n in counts)
        left = sorted(n % 4 for n in counts if n % 4)
        if last == "drop":
            assert [rows for rows, _, _ in batches] == [4] * full
        elif last == "pad":
            assert [rows for rows, _, _ in batches] == [4] * (full + len(left))
            assert sorted(status.count(0) for _, _, status in batches[full:]) == left
        else:
            assert [rows for rows, _, _ in batches[:full]] == [4] * full and sorted(rows for rows, _, _ in batches[full:]) == left
        assert len(loader) == len(batches)


def test_floats_in_planes_are_normalised(open_, made):
    image = {"layout": "NCHW", "transform": [*COVER, {"normalize": {"mean": [0.5] * 3, "std": [0.5] * 3}}]}
    for batch in open_(describe(made, image=image)):
        for row, i in enumerate(batch["index"].tolist()):
            want = (cropped(made[1][i], batch["image"].shape[2:4]).transpose(2, 0, 1) / 255 - 0.5) / 0.5
            np.testing.assert_allclose(batch["image"][row], want, atol=1e-6)


@pytest.mark.parametrize("mirror", [0, 0.5])
def test_a_random_crop_says_where_it_lies(open_, made, mirror):
    """What SDXL is conditioned on: the picture's size, and the top left of its crop, in pixels of what it was resized to."""
    image = {"affine": True, "transform": [COVER[0], {"random_crop": "bucket"}, {"horizontal_flip": mirror}]}
    moved, mirrored, places = 0, 0, {}
    loader = open_(describe(made, image=image))
    for epoch in loader.epochs():
        for batch in epoch:
            size = batch["image"].shape[1:3]
            tops, lefts = (np.rint(-batch["affine"][:, k, 2]).astype(int) for k in (1, 0))
            for row, i in enumerate(batch["index"].tolist()):
                big, flipped = covering(made[1][i], size), batch["affine"][row, 0, 0] < 0
                top, left = int(tops[row]), int(lefts[row]) if not flipped else round(float(batch["affine"][row, 0, 2])) - size[1]
                want = np.asarray(big.crop((left, top, left + size[1], top + size[0])))
                np.testing.assert_array_equal(batch["image"][row], want[:, ::-1] if flipped else want)
                mirrored += flipped
                assert batch["size"][row].tolist() == list(made[1][i].size[::-1])
                moved += places.setdefault(i, (top, left)) != (top, left)
    assert moved > 20 and (mirrored > 20) == (mirror > 0)


@pytest.mark.parametrize("cut", [1, 6, 13])
def test_a_new_engine_goes_on_after_the_batch_in_hand(open_, made, cut):
    whole = all_of(open_(describe(made)))
    loader, seen = open_(describe(made)), []
    for batch in loader:
        seen.append((batch.epoch, batch.step, batch["image"].shape, batch["index"].tolist()))
        if len(seen) == cut:
            state = json.loads(json.dumps(loader.state_dict()))
            break
    assert seen + all_of(open_(describe(made), state=state)) == whole


def test_ranks_have_batches_of_one_size_in_each_step_and_one_goes_on_where_two_have_stopped(serve, attach, open_, made):
    whole = all_of(open_(describe(made)))
    engine = serve(describe(made, batch=2, **lanes(2)))
    ranks = [attach(engine.name, "ranks", lane) for lane in range(2)]
    iterators, seen = [iter(loader) for loader in ranks], []
    for _ in range(len(ranks[0]) - 1):
        pair = [next(iterator) for iterator in iterators]
        states = [loader.state_dict() for loader in ranks]
        shape = pair[0]["image"].shape[1:]
        assert pair[1]["image"].shape[1:] == shape, "also of a rank that has no row of it"
        seen.append((pair[0].epoch, pair[0].step, (sum(b.rows for b in pair), *shape), [i for b in pair for i in b["index"].tolist()]))
    assert states[0] == states[1]
    assert seen + all_of(open_(describe(made), state=states[0])) == whole


def test_a_state_of_other_sizes_is_refused(open_, made):
    loader = open_(describe(made))
    loader.acquire(timeout=30).release()
    other = {**ORDER, "buckets": {"sizes": [*SIZES[:3], [32, 100]]}}
    with pytest.raises(spdl.StateError, match="order"):
        open_(describe(made, order=other), state=loader.state_dict())


def test_a_bound_of_pixels_makes_batches_of_different_rows(open_, made):
    bound = 4 * 64 * 64
    loader = open_(describe(made, batch=8, order={**ORDER, "buckets": {**BUCKETS, "max_total": bound}}))
    rows = {}
    for batch in loader:
        h, w = batch["image"].shape[1:3]
        assert batch.rows * h * w <= bound
        rows[h, w] = max(rows.get((h, w), 0), batch.rows)
    assert rows == {(h, w): bound // (h * w) for h, w in SIZES}


def test_rows_are_kept_whatever_their_size(open_, made):
    plain = all_of_pixels(open_(describe(made)))
    kept = open_(describe(made, cache={"rows_bytes": "4MiB"}))
    assert all_of_pixels(kept) == plain
    assert kept.stats()["rings"][0]["source"]["rows"]["hits"] > 0  # of an epoch whose rows are wanted before those of the one before are there, not all


def all_of_pixels(loader):
    return [(b["index"].tolist(), b["image"].shape, b["image"].tobytes()) for epoch in loader.epochs() for b in epoch]


@pytest.mark.parametrize("policy", ["skip", "mask", "substitute"])
def test_a_bad_picture_changes_nothing_else(open_, made, policy):
    folder, files = made
    (folder / "spoilt.csv").write_text((folder / "table.csv").read_text().replace("003.png", "missing.png"))
    spec = describe(made, bad_sample={"policy": policy})
    spec["source"]["list"] = str(folder / "spoilt.csv")
    seen, bad = [], 0
    for batch in open_(spec):
        size = batch["image"].shape[1:3]
        seen += batch["index"].tolist()
        bad += batch.n_bad
        for row, (i, status) in enumerate(zip(batch["index"].tolist(), batch["status"].tolist())):
            np.testing.assert_array_equal(batch["image"][row], 0 if status == 1 else cropped(files[i], size))
    assert bad == 1 and len(seen) == (52 if policy == "skip" else 53)


def test_a_mask_has_the_size_of_its_picture(open_, made, tmp_path):
    rows = []
    for i, picture in enumerate(made[1]):
        Image.fromarray(np.asarray(picture.convert("L")) % 3).save(tmp_path / f"{i}.png")
        rows.append(f"{made[0]}/{i:03}.png,{tmp_path}/{i}.png,{picture.width},{picture.height}")
    (tmp_path / "t.csv").write_text("image,mask,width,height\n" + "\n".join(rows) + "\n")
    mask = [{"resize": {"size": "bucket", "fit": "cover", "interpolation": "nearest"}}, {"center_crop": "bucket"}]
    spec = {"source": {"list": str(tmp_path / "t.csv"), "columns": COLUMNS}, "batch": 4, "order": ORDER,
            "fields": {"image": {"image": {"from": "image", "transform": COVER}}, "mask": {"image": {"from": "mask", "mode": "index", "transform": mask}}}}
    for batch in open_(spec):
        size = list(batch["image"].shape[1:3])
        assert list(batch["mask"].shape[1:3]) == size
        for row, i in enumerate(batch["index"].tolist()):
            big = ImageOps.cover(Image.open(tmp_path / f"{i}.png"), size[::-1], Image.NEAREST)
            top, left = round((big.height - size[0]) / 2), round((big.width - size[1]) / 2)
            want = np.asarray(big.crop((left, top, left + size[1], top + size[0])))
            np.testing.assert_array_equal(batch["mask"][row].reshape(want.shape), want)


@pytest.mark.parametrize("more, samples, times", [({"filter": "width > 90"}, None, 1), ({"repeat": 3}, 53, 3), ({"filter": "height < 100", "repeat": 2, "last": "pad"}, None, 2)])
def test_filter_and_repeat_go_with_it(open_, made, more, samples, times):
    wide, low = (sum(holds(f) for f in made[1]) for holds in (lambda f: f.width > 90, lambda f: f.height < 100))
    samples = samples or (wide if "width" in more["filter"] else low)
    loader = open_(describe(made, order={**ORDER, **more}))
    for epoch in loader.epochs():
        count = {}
        for batch in epoch:
            for i, status in zip(batch["index"].tolist(), batch["status"].tolist()):
                assert list(batch["image"].shape[1:3]) == nearest(*made[1][i].size)
                count[i] = count.get(i, 0) + (status == 0)
        assert len(count) == samples and set(count.values()) == {times}


def test_boxes_follow_to_the_size_of_their_batch(open_, made, tmp_path):
    boxes = [[[0.25 * f.width, 0.25 * f.height, 0.5 * f.width, 0.75 * f.height]] for f in made[1]]
    lines = [json.dumps({"path": f"{made[0]}/{i:03}.png", "width": f.width, "height": f.height, "boxes": boxes[i]}) for i, f in enumerate(made[1])]
    (tmp_path / "t.jsonl").write_text("\n".join(lines) + "\n")
    spec = describe(made, image={"boxes": "boxes", "transform": COVER})
    spec["source"] = {"list": str(tmp_path / "t.jsonl"), "columns": [*COLUMNS, {"name": "boxes", "type": "list", "dtype": "f32", "shape": [-1, 4], "max_length": 2}]}
    for batch in open_(spec):
        h, w = batch["image"].shape[1:3]
        for row, i in enumerate(batch["index"].tolist()):
            big = covering(made[1][i], (h, w))
            top, left = round((big.height - h) / 2), round((big.width - w) / 2)
            x, y = big.width / made[1][i].width, big.height / made[1][i].height
            want = np.array(boxes[i][0]) * [x, y, x, y] - [left, top, left, top]
            np.testing.assert_allclose(batch["boxes"][row][0], np.clip(want, 0, [w, h, w, h]), atol=1e-3)


# ---- where the size of pictures is from


def measured(made, **sections):
    return {"source": {"folder": str(made[0]), "labels": "none", "extensions": ["png"]}, "batch": 4, "order": ORDER, "image": {"transform": COVER}, **sections}


def test_without_columns_the_pictures_are_looked_at_once(open_, made, monkeypatch, tmp_path):
    monkeypatch.setenv("SPDL_CACHE_DIR", str(tmp_path))
    whole = [indices for *_, indices in all_of(open_(describe(made)))]
    assert [indices for *_, indices in all_of(open_(measured(made)))] == whole
    (kept,) = (tmp_path / "sizes").iterdir()
    before = kept.stat()
    assert before.st_size == 16 + 16 * 53 + 8
    assert [indices for *_, indices in all_of(open_(measured(made)))] == whole
    assert (kept.stat().st_ino, kept.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns), "nothing was found out anew"
    kept.write_bytes(kept.read_bytes()[:-9] + b"damaged!!")
    assert [indices for *_, indices in all_of(open_(measured(made)))] == whole


def test_a_picture_that_was_changed_is_looked_at_again(open_, made, monkeypatch, tmp_path):
    monkeypatch.setenv("SPDL_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("a", "b"):
        Image.new("RGB", (96, 32)).save(tmp_path / f"{name}.png")
    spec = measured((tmp_path, None))
    assert {b["image"].shape[1:3] for b in open_(spec)} == {(32, 96)}
    Image.new("RGB", (48, 80)).save(tmp_path / "b.png")
    assert sorted((b["image"].shape[1:3], b["index"].tolist()) for b in open_(spec)) == [((32, 96), [0]), ((80, 48), [1])]


def test_a_picture_that_is_turned_has_the_bucket_of_how_it_is_seen(open_, made, monkeypatch, tmp_path):
    monkeypatch.setenv("SPDL_CACHE_DIR", str(tmp_path))
    for orientation in ("ignore", "apply"):
        spec = measured(made, image={"orientation": orientation, "transform": COVER})
        for batch in open_(spec):
            size = list(batch["image"].shape[1:3])
            for row, i in enumerate(batch["index"].tolist()):
                seen = ImageOps.exif_transpose(made[1][i]) if orientation == "apply" else made[1][i]
                assert size == nearest(*seen.size)
                np.testing.assert_array_equal(batch["image"][row], cropped(seen, size))


@pytest.mark.parametrize("ending", ["jpg", "png", "webp", "gif", "bmp", "tiff"])
def test_pictures_of_any_format_in_a_tar_are_measured(open_, monkeypatch, tmp_path, ending):
    import tarfile

    monkeypatch.setenv("SPDL_CACHE_DIR", str(tmp_path / "cache"))
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for i, (w, h) in enumerate(SHAPES):
            Image.new("RGB", (w, h), (i, 9, 9)).save(tmp_path / f"{i}.{ending}")
            tar.add(tmp_path / f"{i}.{ending}", f"{i:03}.{ending}")
    spec = {"source": {"shards": str(tmp_path / "a.tar")}, "batch": 4, "order": ORDER, "image": {"transform": COVER}}
    seen = {i: list(b["image"].shape[1:3]) for b in open_(spec) for i in b["index"].tolist()}
    assert seen == {i: nearest(w, h) for i, (w, h) in enumerate(SHAPES)}


def test_what_is_no_picture_is_in_the_first_bucket_and_is_told(open_, monkeypatch, tmp_path):
    monkeypatch.setenv("SPDL_CACHE_DIR", str(tmp_path / "cache"))
    Image.new("RGB", (96, 32)).save(tmp_path / "a.png")
    (tmp_path / "b.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing")
    spec = measured((tmp_path, None), bad_sample={"policy": "mask"})
    assert sorted((b["image"].shape[1:3], b.n_bad) for b in open_(spec)) == [((32, 96), 0), ((64, 64), 1)]
    assert "unread   1 picture of which nothing tells the size, in the first bucket" in checked(spec, tmp_path)


@pytest.mark.parametrize("table, error", [
    ("path,width,height\na.png,0,5\n", r'order: buckets.width: column "width": sample 0 "a.png": got 0, want a side in pixels, 1 or more; mend the value, or leave such samples out with order.filter'),
    ("path,width,height\na.png,5,-1\n", r'order: buckets.height: column "height": sample 0 "a.png": got -1, want a side'),
])
def test_a_size_that_is_none_is_refused_by_name(tmp_path, table, error):
    (tmp_path / "table.csv").write_text(table)
    with pytest.raises(spdl.SpecError, match=error):
        spdl.open(describe((tmp_path, None)))


def test_columns_that_are_not_there_are_refused_by_name(made):
    order = {"buckets": {**BUCKETS, "width": "w", "height": "height"}}
    with pytest.raises(spdl.SpecError, match='buckets.width: column "w" is not known without reading the samples'):
        spdl.open(describe(made, order=order))


# ---- what else looks at batches


def checked(spec, folder):
    (folder / "spec.json").write_text(json.dumps(spec))
    done = subprocess.run([os.environ["SPDL_ENGINE"], "check", str(folder / "spec.json")], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_check_lists_the_buckets_and_what_is_cropped_away(made, tmp_path):
    kept = {tuple(size): [] for size in SIZES}
    for file in made[1]:
        h, w = nearest(*file.size)
        kept[h, w].append(min(file.width * h, file.height * w) / max(file.width * h, file.height * w))
    said = checked(describe(made), tmp_path)
    assert "buckets  4 sizes, by columns width and height" in said
    assert ["image", "u8", "its", "bucket's,", "at", "most", "[4,", "64,", "64,", "3]", "49,152"] in [line.split() for line in said.splitlines()]
    for (h, w), of in kept.items():
        assert [str(h), str(w), str(len(of)), "4", f"{100 * (1 - np.mean(of)):.1f}", "%"] in [line.split() for line in said.splitlines()]
    assert f"cropped  {100 * (1 - np.mean(sum(kept.values(), []))):.1f} % of a picture in the mean" in said
    few = describe(made, batch=16, order={**ORDER, "last": "drop"})
    assert "of buckets that have less than a step: last: drop leaves them out of every epoch" in checked(few, tmp_path)


def test_view_draws_the_sizes_that_a_batch_has(made, tmp_path):
    (tmp_path / "spec.json").write_text(json.dumps(describe(made)))
    heights = set()
    for skip in range(4):
        done = subprocess.run([os.environ["SPDL_ENGINE"], "view", str(tmp_path / "spec.json"), "--skip", str(skip), "--out", str(tmp_path / f"{skip}.png")],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        heights.add(Image.open(tmp_path / f"{skip}.png").size)
    assert len(heights) > 1, "sheets of pictures of other sizes are of other sizes"


def test_a_run_is_proven_and_its_batches_are_made_again(open_, made, tmp_path):
    spec = describe(made, ring={"hash": "xxh3"})
    loader = open_(spec)
    assert f"{2 * len(loader)} batches, 106 rows" in prove(loader, spec, tmp_path)


def test_a_batch_made_again_for_numpy_has_its_own_shape(open_, made, tmp_path):
    (tmp_path / "spec.json").write_text(json.dumps(describe(made)))
    for step, batch in enumerate(open_(describe(made))):
        if step < 4:
            subprocess.run([os.environ["SPDL_ENGINE"], "replay", str(tmp_path / "spec.json"), str(step), "--raw", str(tmp_path / "b.npz")], check=True, capture_output=True, timeout=60)
            np.testing.assert_array_equal(np.load(tmp_path / "b.npz")["image"], batch["image"])


def test_all_languages_see_the_same_batches(serve, attach, made):
    engine = serve(describe(made, order={**ORDER, "epochs": 1}, ring=groups("here", *LANGUAGES)))
    consumers = {language: example(language, engine.name, language, "--hash") for language in LANGUAGES}
    tickets = [batch.ticket for batch in attach(engine.name, "here")]
    seen = {language: tickets_and_hashes(consumer) for language, consumer in consumers.items()}
    assert [ticket for ticket, _ in seen["c"]] == tickets
    assert all(batches == seen["c"] for batches in seen.values()), seen
