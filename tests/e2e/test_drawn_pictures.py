"""Pictures of their own size, of a bucket's size, and several a sample, by descriptions that are drawn: whatever holds the files, every row is what Pillow makes of its sample, each sample comes as
often as it should, and neither caches nor ranks nor a stop change a byte. --seeds N tries as many."""

import csv
import io
import itertools
import json
import math
import random
import subprocess
import tarfile
import zipfile

import numpy as np
import pytest
import spdl
from engines import SPDL
from PIL import Image, ImageOps

STORED = {2: Image.FLIP_LEFT_RIGHT, 3: Image.ROTATE_180, 4: Image.FLIP_TOP_BOTTOM, 5: Image.TRANSPOSE, 6: Image.ROTATE_90, 7: Image.TRANSVERSE, 8: Image.ROTATE_270}  # how EXIF's orientations undo it
FILTERS = {"bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC, "nearest": Image.NEAREST, "lanczos": Image.LANCZOS}
SIDES = [1, 2, 7, 16, 23, 30, 31, 48, 64, 90]
FORMATS = {"png": ["RGB", "L", "P", "RGBA", "LA", "1"], "bmp": ["RGB", "L"], "webp": ["RGB", "RGBA"], "tiff": ["RGB", "L"], "jpg": ["RGB", "L"], "gif": ["P"]}
MORE = 3  # pictures of a sample beside its own, at most
MEAN, STD = np.float32([0.5, 0.25, 0.4]), np.float32([0.25, 0.5, 0.2])


def drawn_picture(r):
    """A file, its ending, and the picture in it as Pillow opens it."""
    rng = np.random.default_rng(r.getrandbits(32))
    width, height = r.choice(SIDES), r.choice(SIDES)
    y, x = np.mgrid[0:height, 0:width]
    pixels = ((np.stack([5 * x + y, 3 * y, x + 4 * y], -1) + rng.integers(0, 60, (height, width, 3))) % 256).astype(np.uint8)
    image, ending = Image.fromarray(pixels), r.choice(list(FORMATS))
    mode, exif = r.choice(FORMATS[ending]), Image.Exif()
    image = image.convert(mode)
    if "A" in mode:
        image.putalpha(Image.fromarray(rng.integers(0, 256, (height, width), np.uint8)))
    options = {"lossless": True, "exact": True} if ending == "webp" else {}
    if ending in ("png", "jpg", "webp") and r.random() < 0.5:  # a TIFF Pillow turns as it loads it
        exif[0x112] = r.randint(1, 8)
        options["exif"] = exif
    data = io.BytesIO()
    image.save(data, {"jpg": "jpeg"}.get(ending, ending), **options)
    return data.getvalue(), ending


class Samples:
    """What the files hold: of each sample its pictures, some of which are no picture, a number, and where it is asked for some pictures more."""

    def __init__(self, r, several, spoilt, more):
        self.n = r.randint(9, 24)
        self.files = [[drawn_picture(r) for _ in range(r.choice([0, 1, 1, 2, 3, 4]) if several else 1)] for _ in range(self.n)]
        self.numbers = [r.randint(-99, 99) for _ in range(self.n)]
        self.more = [[drawn_picture(r) for _ in range(r.randint(0, MORE))] for _ in range(self.n)] if more else None
        self.spoilt = set()
        for i in r.sample(range(self.n), 2 if spoilt else 0):
            if self.files[i]:
                k = r.randrange(len(self.files[i]))
                data, ending = self.files[i][k]
                self.files[i][k] = (r.choice([b"no picture", data[:len(data) // 2], data[:9]]), ending)

    def names(self, i):
        return [f"{i:02}_{k}.{ending}" for k, (_, ending) in enumerate(self.files[i])]


def folder(samples, at, far):
    for i in range(samples.n):
        for (data, _), name in zip(samples.files[i], samples.names(i)):
            (at / name).write_bytes(data)
    return {"folder": far or str(at)}


def table(samples, at, far, kind, several):
    (at / "files").mkdir()
    folder(samples, at / "files", None)
    rows = [{"path": samples.names(i) if several else samples.names(i)[0], "number": samples.numbers[i], "label": i % 5} for i in range(samples.n)]
    for number, (row, more) in enumerate(zip(rows, samples.more or ())):
        row["more"] = [f"more_{number:02}_{k}.{ending}" for k, (_, ending) in enumerate(more)]
        for name, (data, _) in zip(row["more"], more):
            (at / "files" / name).write_bytes(data)
    with open(at / f"t.{kind}", "w", newline="") as out:
        if kind == "csv":
            writer = csv.DictWriter(out, rows[0])
            writer.writeheader()
            writer.writerows({key: json.dumps(value) if isinstance(value, list) else value for key, value in row.items()} for row in rows)
        else:
            out.writelines(json.dumps(row) + "\n" for row in rows)
    return {"list": str(at / f"t.{kind}"), "root": f"{far}/files" if far else str(at / "files"), "columns": [{"name": "number", "type": "i64"}]}


def archive(samples, at, far, kind, several):
    """Parts by their numbers, in whatever order they lie."""
    members = []
    for i in range(samples.n):
        parts = [(f"{i:02}.{k}.{e}" if several else f"{i:02}.{e}", data) for k, (data, e) in enumerate(samples.files[i])]
        if samples.more:
            parts[:0] = [(f"{i:02}.more.{k}.{e}", data) for k, (data, e) in enumerate(samples.more[i])]
        members += [*reversed(parts), (f"{i:02}.number", str(samples.numbers[i]).encode()), (f"{i:02}.cls", str(i % 5).encode())]
    if kind == "zip":
        with zipfile.ZipFile(at / "a.zip", "w") as out:
            for name, data in members:
                out.writestr(name, data)
    else:
        with tarfile.open(at / "a.tar", "w") as out:
            for name, data in members:
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                out.addfile(entry, io.BytesIO(data))
    return {"shards": f"{far or at}/a.{kind}", "columns": [{"name": "number", "type": "i64"}]}


# ---- what becomes of a picture, as the description says it and as Pillow does it


def shorter(image, size, most, by):
    short, long = sorted(image.size)
    new_short, new_long = size, size * long // short
    if most and new_long > most:
        new_short, new_long = max(1, most * new_short // new_long), most
    return image.resize((new_short, new_long) if image.width <= image.height else (new_long, new_short), by)


def longer(image, most, by):
    short, long = sorted(image.size)
    new = (max(1, most * short // long), most)
    return image.resize(new if image.width <= image.height else new[::-1], by)


def nearest_sides(image, want, side, by):
    scale = want / side
    return image.resize(tuple(max(1, round(n * scale)) for n in image.size), by)


def smart(image, factor, least, most, by):
    """Qwen2-VL's rule; None: it is refused."""
    width, height = image.size
    if max(width, height) / min(width, height) > 200:
        return None
    bar = [round(side / factor) * factor for side in (height, width)]
    if bar[0] * bar[1] > most:
        beta = math.sqrt(height * width / most)
        bar = [max(factor, math.floor(side / beta / factor) * factor) for side in (height, width)]
    elif bar[0] * bar[1] < least:
        beta = math.sqrt(least / (height * width))
        bar = [math.ceil(side * beta / factor) * factor for side in (height, width)]
    return image.resize(bar[::-1], by)


def cover(image, size, by):
    big = ImageOps.cover(image, size[::-1], by)
    top, left = round((big.height - size[0]) / 2), round((big.width - size[1]) / 2)
    return big.crop((left, top, left + size[1], top + size[0]))


class Made:
    """A section `image`, and what it makes of a picture."""

    def __init__(self, r, kind, sizes=None):
        self.kind, self.sizes = kind, sizes
        self.orient, self.gray = r.random() < 0.5, r.random() < 0.2
        name = r.choice(list(FILTERS))
        by, interpolation = FILTERS[name], {"interpolation": name}
        self.room, self.dense, transform = None, r.random() < 0.5, []
        said = {"orientation": "apply" if self.orient else "ignore", "mode": "gray" if self.gray else "rgb", "layout": r.choice(["NHWC", "NCHW"])}
        if kind == "fixed":
            size = [r.randint(1, 40), r.randint(1, 40)]
            transform, self.resized = [{"resize": {"size": size, **interpolation}}], lambda image: image.resize(size[::-1], by)
        elif kind == "bucket":
            transform = [{"resize": {"size": "bucket", "fit": "cover", **interpolation}}, {"center_crop": "bucket"}]
            self.resized = lambda image: cover(image, self.bucket(image), by)
        else:
            said["shape"] = "ragged" if self.dense else "padded"
            size, most, factor = r.randint(2, 40), r.randint(41, 70), r.randint(1, 9)
            least = r.randint(1, 900)
            area = {"min_pixels": least, "max_pixels": least + r.randint(0, 2000), "multiple_of": factor}
            way = r.choice([
                ({"size": size, "max_size": most}, lambda image: shorter(image, size, most, by), False),
                ({"max_size": most}, lambda image: longer(image, most, by), False),
                ({"max_size": most, "rounding": "nearest"}, lambda image: nearest_sides(image, most, max(image.size), by), False),
                ({"size": size}, lambda image: shorter(image, size, 0, by), True),
                ({"size": size, "rounding": "nearest"}, lambda image: nearest_sides(image, size, min(image.size), by), True),
                ({"size": [size, most], "fit": "cover"}, lambda image: ImageOps.cover(image, (most, size), by), True),
                (area, lambda image: smart(image, factor, least, area["max_pixels"], by), not self.dense),
                (None, lambda image: image, True),
            ])
            resize, self.resized, bounded = way
            transform = [{"resize": {**resize, **interpolation}}] if resize else []
            if bounded:
                self.room = [r.choice(SIDES[3:]), r.choice(SIDES[3:])]
                said["room"] = self.room
            if not self.dense and r.random() < 0.5:
                said["multiple_of"] = r.choice([1, 3, 16])
            self.multiple = said.get("multiple_of", 1)
        self.flip = r.choice([None, None, "horizontal_flip", "vertical_flip"])
        if self.flip:
            transform.append({self.flip: 1})
        self.floats = None
        if r.random() < 0.4:
            n = 1 if self.gray else 3
            self.floats = r.choice(["f32", "f16"])
            transform.append({"normalize": {"mean": MEAN[:n].tolist(), "std": STD[:n].tolist()}})
            said["dtype"] = self.floats
        self.planar = said["layout"] == "NCHW"
        self.section = {**said, "transform": transform}

    def bucket(self, image):
        return max(self.sizes, key=lambda s: min(image.width * s[0], image.height * s[1]) / max(image.width * s[0], image.height * s[1]))

    def seen(self, data):
        """The picture, turned where that is asked for; None: it is none."""
        try:
            image = Image.open(io.BytesIO(data))
            image.load()
        except Exception:
            return None
        if self.orient:
            image = ImageOps.exif_transpose(image)
        return image.convert("RGB").convert("L") if self.gray else image.convert("RGB")

    def row(self, data):
        """An array as a batch has it, without what is around it; None: it makes its sample a bad one."""
        image = self.seen(data)
        image = image and self.resized(image)
        if image is None or not self.fits(*image.size[::-1]):
            return None
        pixels = np.asarray(image).reshape(image.height, image.width, -1)
        pixels = {"horizontal_flip": pixels[:, ::-1], "vertical_flip": pixels[::-1], None: pixels}[self.flip]
        if self.floats:
            n = pixels.shape[2]
            pixels = ((pixels.astype("f4") / np.float32(255) - MEAN[:n]) / STD[:n]).astype({"f32": "f4", "f16": "f2"}[self.floats])
        return pixels.transpose(2, 0, 1) if self.planar else pixels

    def fits(self, height, width):
        if self.kind != "open" or self.room is None:
            return True
        return height * width <= self.room[0] * self.room[1] if self.dense else height <= self.up(self.room[0]) and width <= self.up(self.room[1])

    def up(self, n):
        return -(-n // self.multiple) * self.multiple


def told(batch):
    """All that a batch says, as bytes."""
    fields = {name: batch.array(name) for name in batch}
    parts = {name: (field.values, field.offsets) if isinstance(field, spdl.Ragged) else (field,) for name, field in fields.items()}
    return batch.epoch, batch.step, [(name, part.shape, bytes(part)) for name, of in parts.items() for part in of]


def run(loader):
    batches = []
    for epoch in loader.epochs():
        for batch in epoch:
            batches.append(told(batch))
    return batches


class Case:
    """A description, and the simulation of what it gives."""

    def __init__(self, r, at, far):
        self.several = r.random() < 0.35
        kind = "fixed" if self.several else r.choice(["open", "open", "bucket", "fixed"])
        self.policy = r.choice(["skip", "mask", "substitute"])
        more = r.random() < 0.3
        self.samples = Samples(r, self.several, r.random() < 0.5, more)
        sizes = r.choice([[[16, 16], [12, 24], [24, 12]], [[20, 30], [30, 20], [9, 40], [24, 24]], [[5, 5]]])
        self.made = Made(r, kind, sizes)
        source = r.choice([lambda: table(self.samples, at, far, r.choice(["csv", "jsonl"]), self.several), lambda: archive(self.samples, at, far, r.choice(["tar", "zip"]), self.several)])
        self.source = source() if self.several or more or r.random() < 0.8 else folder(self.samples, at, far)
        self.repeat, self.last = r.choice([1, 1, 1, 3]), r.choice(["cover", "pad", "drop"])
        self.batch = 2 * r.randint(1, 3)
        order = {"seed": r.randint(0, 99), "epochs": 2, "repeat": self.repeat, "last": self.last}
        if kind == "bucket":
            order["buckets"] = {"sizes": sizes}
            if r.random() < 0.3:
                order["buckets"].update(max_total=max(self.batch // r.choice([1, 2]), 2) * max(h * w for h, w in sizes), multiple_of=2)  # of two ranks each has a row
        elif r.random() < 0.2:
            order["shuffle"] = False
        self.left = list(range(self.samples.n))
        if r.random() < 0.2:
            order["filter"], self.left = "index % 3 != 1", [i for i in self.left if i % 3 != 1]
        image = dict(self.made.section)
        if self.several:
            self.most, self.cut, self.how = r.randint(2, 4), r.random() < 0.5, r.choice(["fixed", "padded", "ragged"])
            image["many"] = {"most": self.most, "shape": self.how, "over": "cut" if self.cut else "refuse"}
            if "shards" in self.source:
                image["from"] = [f"*.{ending}" for ending in FORMATS]
        self.known, sections = "", {"image": image}
        if more:
            self.beside, self.known = Made(r, "fixed"), "image."
            beside = {**self.beside.section, "many": {"most": MORE, "shape": r.choice(["fixed", "padded", "ragged"])}}
            if "shards" in self.source:
                beside["from"] = [f"more.*.{ending}" for ending in FORMATS]
                image.setdefault("from", list(FORMATS))
            sections = {"fields": {"image": {"image": image}, "more": {"image": beside}}}
            self.more = [[self.beside.row(data) for data, _ in files] for files in self.samples.more]
        self.spec = {"source": self.source, "order": order, "batch": self.batch, **sections, "bad_sample": {"policy": self.policy, "max_rate": 1}, "ring": {"hash": "xxh3"}}
        self.wanted = [self.pictures(i) for i in range(self.samples.n)]

    def pictures(self, i):
        """The arrays of a sample; None: it is a bad one."""
        files = self.samples.files[i]
        if self.several and len(files) > self.most and not self.cut:
            return None
        all_ = [self.made.row(data) for data, _ in (files[:self.most] if self.several else files)]
        return None if any(one is None for one in all_) else all_

    def check(self, loader):
        """Two epochs of rows, and how often each sample came."""
        for epoch in loader.epochs():
            count, bad = {}, 0
            for batch in epoch:
                bad += batch.n_bad
                for row, (i, status) in enumerate(zip(batch["index"].tolist(), batch["status"].tolist())):
                    masked = status == spdl.ROW_MASKED
                    self.check_row(batch, row, None if masked else self.wanted[i])
                    if self.samples.more:
                        check_several(batch["more"][row], batch["more.count"][row], [] if masked else self.more[i])
                    if "number" in batch:
                        assert batch["number"][row] == (0 if masked else self.samples.numbers[i])
                        assert batch["label"][row] == i % 5
                    assert masked or self.wanted[i] is not None
                    if status == spdl.ROW_OK:
                        count[i] = count.get(i, 0) + 1
                self.check_shape(batch)
            good = [i for i in self.left if self.wanted[i] is not None]
            if self.last == "drop":
                assert set(count) <= set(good) and all(n <= self.repeat for n in count.values())
            else:
                assert count == dict.fromkeys(good, self.repeat)
                assert self.last == "pad" or bad == self.repeat * (len(self.left) - len(good))

    def check_row(self, batch, row, want):
        image = batch["image"]
        if self.several:
            check_several(image[row], batch[self.known + "count"][row], want or [])
        elif self.made.kind == "open":
            height, width = np.array((want[0].shape[1:] if self.made.planar else want[0].shape[:2]) if want else (0, 0))
            assert batch[self.known + "extent"][row].tolist() == [height, width]
            if self.made.dense:
                assert image[row].size == 0 if want is None else np.array_equal(image[row], want[0])
            else:
                around = np.zeros(image.shape[1:], image.dtype)
                if want:
                    around[(slice(None), slice(height), slice(width)) if self.made.planar else (slice(height), slice(width))] = want[0]
                np.testing.assert_array_equal(image[row], around)
        elif want is None:
            assert not image[row].any()
        else:
            np.testing.assert_array_equal(image[row], want[0])

    def check_shape(self, batch):
        if self.several and self.how == "padded":
            assert batch["image"].shape[1] == max(batch[self.known + "count"], default=0)
        if self.made.kind == "open" and not self.made.dense:
            sides = batch["image"].shape[2:] if self.made.planar else batch["image"].shape[1:3]
            assert sides == tuple(self.made.up(max(batch[self.known + "extent"][:, axis].tolist(), default=0)) for axis in (0, 1))


def check_several(row, count, want):
    assert count == len(want)
    for k, one in enumerate(want):
        np.testing.assert_array_equal(row[k], one)
    assert not np.asarray(row)[len(want):].any()


def otherwise(r, case, at):
    """The same description under other circumstances."""
    caches = [{}, {"cache": {"rows_bytes": "16MiB"}}, {"cache": {"dir": str(at / "kept")}}]
    if case.made.kind != "bucket":
        caches.append({"cache": {"rows_bytes": "16MiB", "rows_dir": str(at / "rows")}})
    return {**case.spec, "limits": {"cpus": r.choice([1, 2])}, "ring": {"hash": "xxh3", "slots": r.choice([3, 20])}, **r.choice(caches)}


@pytest.fixture
def far(tmp_path, monkeypatch):
    """A place whose files are reached over the network, too."""
    from hub import hub

    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SPDL_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "n").mkdir()
    with hub(tmp_path / "n") as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield "hf://datasets/u/n"


def test_every_row_is_pillows_whatever_is_around_it(open_, drawn, tmp_path, far):
    r = random.Random(drawn)
    case = Case(r, tmp_path / "n", far if r.random() < 0.25 else None)
    (tmp_path / "spec.json").write_text(json.dumps(case.spec))
    case.check(open_(case.spec))
    whole = run(open_(case.spec))
    for _ in range(2):
        assert run(open_(otherwise(r, case, tmp_path))) == whole

    loader, cut = open_(case.spec), r.randint(1, len(whole))
    seen = itertools.islice((batch for epoch in loader.epochs() for batch in epoch), cut)
    hashes = []
    for batch in seen:
        hashes.append(batch.hash)
        state = loader.state_dict()
    assert run(open_(otherwise(r, case, tmp_path), state=json.loads(json.dumps(state)))) == whole[cut:]
    replayed = subprocess.run([SPDL, "replay", tmp_path / "spec.json", str(cut - 1), "--json"], capture_output=True, text=True, timeout=60)
    assert replayed.returncode == 0, replayed.stderr
    assert int(json.loads(replayed.stdout)["hash"], 16) == hashes[-1]

    ranks = [open_({**case.spec, "batch": case.batch // 2, "world": {"size": 2, "rank": rank}, **bound(case)}) for rank in range(2)]
    if case.policy != "substitute":  # which looks for a good row in its own batch
        halves = [[batch["index"].tolist() for epoch in loader.epochs() for batch in epoch] for loader in ranks]
        both = [a + b for a, b in zip(*halves, strict=True)]
        assert both == [np.frombuffer(dict((name, data) for name, _, data in fields)["index"], np.int64).tolist() for _, _, fields in whole]


def bound(case):
    """max_total and multiple_of are a rank's."""
    buckets = case.spec["order"].get("buckets", {})
    return {"order": {**case.spec["order"], "buckets": {**buckets, "max_total": buckets["max_total"] // 2, "multiple_of": 1}}} if "max_total" in buckets else {}
