"""Shards, tables and stores: the same pictures as from a folder, whatever holds them, and refusals that say what is wrong."""

import csv
import http.server
import io
import json
import shutil
import signal
import socket
import struct
import subprocess
import tarfile
import threading

import numpy as np
import pytest
import spdl
from engines import NOT_FOUND, PATIENCE, ROOT, SPDL, environment, eventually, try_to_serve
from pictures import resize_short_and_crop, row

pytestmark = pytest.mark.usefixtures("own_cache")
GATEWAY = ROOT / "build/tools/versitygw"
TRANSFORM = {"image": {"transform": [{"resize": 24}, {"center_crop": 24}]}, "batch": 8, "order": {"shuffle": False, "epochs": 1}}


@pytest.fixture
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("SPDL_CACHE_DIR", str(tmp_path / "cache"))


def make_shards(directory, samples, per, columns=lambda i: {}):
    """Tar archives of some samples each, with labels; returns their pattern."""
    directory.mkdir(exist_ok=True)
    for first in range(0, len(samples), per):
        with tarfile.open(directory / f"s-{first // per:03}.tar", "w") as tar:
            for i, sample in enumerate(samples[first:first + per], first):
                parts = {sample.path.suffix[1:]: sample.path.read_bytes(), "cls": str(sample.label).encode(), **columns(i)}
                for part, data in parts.items():
                    info = tarfile.TarInfo(f"{i:05}.{part}")
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))
    return f"{directory}/s-{{000..{(len(samples) - 1) // per:03}}}.tar"


def remainder(byte):
    """One byte of CRC-32C."""
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


REMAINDERS = [remainder(byte) for byte in range(256)]


def masked(data):
    """The checksum of a TFRecord's length, or of its data: CRC-32C, turned and shifted."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ REMAINDERS[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def record(features):
    """A TFRecord of a tf.train.Example with these features: bytes, lists of whole numbers, lists of floats."""
    def sized(number, *parts):
        data, head, n = b"".join(parts), bytearray([number << 3 | 2]), sum(map(len, parts))
        while n > 127:
            head.append(n & 127 | 128)
            n >>= 7
        return bytes([*head, n]) + data

    def value(v):
        if isinstance(v, bytes):
            return sized(1, sized(1, v))
        return sized(3, sized(1, bytes(v))) if isinstance(v[0], int) else sized(2, sized(1, struct.pack(f"<{len(v)}f", *v)))  # numbers below 128

    data = sized(1, *(sized(1, sized(1, name.encode()), sized(2, value(v))) for name, v in features.items()))
    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def check(loader, samples, key=lambda i, sample: f"{i:05}", size=24):
    """One epoch of a loader is these samples, in order, as Pillow makes them of the files."""
    transform, seen = resize_short_and_crop(size, size), 0
    for batch in loader:
        with batch:
            for image, index, label in zip(np.asarray(batch["image"]), np.asarray(batch["index"]), np.asarray(batch["label"])):
                sample = samples[seen]
                assert (index, label) == (seen, sample.label)
                assert np.abs(image.astype(int) - row(sample, transform)).max() == 0
                seen += 1
            assert batch.sample_keys == [key(i, samples[i]) for i in range(seen - batch.rows, seen)]
    assert seen == len(samples)


def test_shards_give_what_the_folder_gives(pictures, tmp_path, open_):
    pattern = make_shards(tmp_path / "shards", pictures.samples, 20)
    check(open_({"source": {"shards": pattern}, **TRANSFORM}), pictures.samples)
    # and again, from the index that the first engine kept
    assert list((tmp_path / "cache/index").iterdir())
    check(open_({"source": {"shards": f"{tmp_path}/shards/*.tar"}, **TRANSFORM}), pictures.samples)


def test_records_give_what_the_folder_gives(pictures, tmp_path, open_):
    """Examples of TFRecords are samples: pictures and labels by their usual names, and lists of numbers."""
    half = len(pictures.samples) // 2
    for k, part in enumerate((pictures.samples[:half], pictures.samples[half:])):
        (tmp_path / f"train-0000{k}-of-00002").write_bytes(b"".join(
            record({"image/encoded": s.path.read_bytes(), "image/class/label": [s.label], "box": [float(s.label), 0.5], "ids": [1, 2, s.label]}) for s in part))
    columns = [{"name": "box", "type": "list", "dtype": "f32", "shape": [2]}, {"name": "ids", "type": "list", "dtype": "u8", "max_length": 4, "padded": True}]
    source = {"shards": str(tmp_path / "train-*-of-00002"), "columns": columns}
    check(open_({"source": source, **TRANSFORM}), pictures.samples, lambda i, _: str(i if i < half else i - half))
    seen = 0
    for batch in open_({"source": source, **TRANSFORM}):
        for label, box, ids, length in zip(batch["label"], batch["box"], batch["ids"], batch["ids.length"]):
            assert (box.tolist(), ids.tolist(), length) == ([label, 0.5], [1, 2, label], 3)
            seen += 1
    assert seen == len(pictures.samples)


@pytest.mark.parametrize("written_out", [False, True])
def test_serve_knows_shards_without_a_description(pictures, tmp_path, serve, attach, name, written_out):
    pattern = make_shards(tmp_path / "shards", pictures.samples, 20)
    first, *more = sorted(map(str, (tmp_path / "shards").iterdir())) if written_out else [pattern]
    serve(first, *more, "--size", "24", "--no-shuffle", "--epochs", "1", "--batch", "8")
    check(attach(name), pictures.samples)


def test_a_folder_is_opened_by_what_is_said_of_it(pictures, tmp_path, open_):
    """The same batches as of the description that says it, and what a file says gives way."""
    told = {"source": {"folder": str(pictures.path)}, "batch": 6, "order": {"shuffle": True, "seed": 5, "epochs": 1},
            "image": {"transform": [{"resize": 24}, {"center_crop": 24}], "dtype": "f32", "layout": "NCHW"}}

    def batches(loader):
        return [(batch["image"].copy(), batch["label"].copy()) for batch in loader]

    want = batches(open_(told))
    (tmp_path / "told.json").write_text(json.dumps({**told, "batch": 2, "order": {"shuffle": False, "seed": 1}}))
    for got in (batches(open_(pictures.path, batch=6, size=24, shuffle=True, seed=5, epochs=1, dtype="f32", layout="NCHW")),
                batches(open_(tmp_path / "told.json", batch=6, shuffle=True, seed=5, epochs=1))):
        assert len(got) == len(want) > 1
        for (image, label), (wanted, wanted_label) in zip(got, want):
            assert np.array_equal(image, wanted) and np.array_equal(label, wanted_label)
    with pytest.raises(spdl.ArgumentError, match="--size goes with a folder or shards; a description says it in image.transform"):
        open_(told, size=24)


def test_parts_are_fields_in_python(pictures, tmp_path, open_):
    captions = [f"sample {i} ü".encode() * (i % 3) for i in range(len(pictures.samples))]
    pattern = make_shards(tmp_path / "shards", pictures.samples, 20, lambda i: {"txt": captions[i], "score": b"%f" % (i / 4)})
    columns = [{"name": "caption", "from": "txt", "max_bytes": 64}, {"name": "score", "type": "f64"}, {"name": "number", "from": "cls", "type": "i64"}]
    seen = 0
    for batch in open_({"source": {"shards": pattern, "columns": columns}, **TRANSFORM}):
        with batch:
            texts = batch["caption"]
            for k in range(batch.rows):
                assert bytes(texts[k]) == captions[seen]
                assert (batch["score"][k], batch["number"][k]) == (seen / 4, pictures.samples[seen].label)
                seen += 1
    assert seen == len(pictures.samples)


def test_values_in_json_members_are_columns(pictures, tmp_path, open_):
    """A caption and numbers out of each sample's .json, with a default where a sample has none; a float where a whole number is wanted is a bad sample."""
    n = len(pictures.samples)
    about = [{"caption": f"sample {i} ü" * (i % 3), "size": {"width": i + 0.5 if i == 9 else i}, **({"score": i / 4} if i % 2 else {})} for i in range(n)]
    pattern = make_shards(tmp_path / "shards", pictures.samples, 20, lambda i: {"json": json.dumps(about[i]).encode()})
    columns = [{"name": "caption", "from": "json[caption]"}, {"name": "width", "from": "json[size.width]", "type": "i64"},
               {"name": "score", "from": "json[score]", "type": "f64", "default": "nan"}]
    loader = open_({"source": {"shards": pattern, "columns": columns}, **TRANSFORM})
    seen = []
    for batch in loader:
        with batch:
            for i, text, width, score in zip(batch["index"], batch["caption"], batch["width"], batch["score"]):
                assert (bytes(text).decode(), width) == (about[i]["caption"], i)
                np.testing.assert_equal(score, about[i].get("score", np.nan))
            seen += np.asarray(batch["index"]).tolist()
    assert seen == [i for i in range(n) if i != 9]
    assert loader.stats()["rings"][0]["bad_samples"]["causes"] == {"value": 1}


def test_tables_give_what_the_folder_gives(pictures, tmp_path, open_):
    with open(tmp_path / "t.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["caption", "file", "label"])
        table.writerows((f'"{i}", said', sample.key, sample.label) for i, sample in enumerate(pictures.samples))
    with open(tmp_path / "t.jsonl", "w") as file:
        for i, sample in enumerate(pictures.samples):
            print(json.dumps({"file": sample.key, "label": sample.label, "caption": f'"{i}", said', "more": [i]}), file=file)
    for table in "t.csv", "t.jsonl":
        source = {"list": str(tmp_path / table), "root": str(pictures.path), "path": "file", "columns": ["caption"]}
        check(open_({"source": source, **TRANSFORM}), pictures.samples, lambda _, sample: sample.key)


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def test_arrays_are_tensors_of_the_batch(pictures, tmp_path, open_):
    """A mask from .npy and a box from .npz are dense tensors, whatever the order of their indexes; another shape is a bad sample."""
    masks = [np.asfortranarray(np.arange(i, i + 6, dtype=np.int16).reshape(2, 3)) for i in range(len(pictures.samples))]
    masks[9] = masks[9][:1]

    def parts(i):
        boxes = io.BytesIO()
        np.savez_compressed(boxes, box=np.full(4, i, ">f4"), other=np.zeros(1))
        return {"npy": npy(masks[i]), "npz": boxes.getvalue()}

    columns = [{"name": "mask", "from": "npy", "type": "npy"},
               {"name": "box", "from": "npz[box]", "type": "npy", "dtype": "f32", "shape": [4]}]
    pattern = make_shards(tmp_path / "shards", pictures.samples, 20, parts)
    loader = open_({"source": {"shards": pattern, "columns": columns}, **TRANSFORM})
    seen = []
    for batch in loader:
        with batch:
            index, mask, box = (np.asarray(batch[field]) for field in ("index", "mask", "box"))
            assert mask.dtype == np.int16 and mask.shape == (batch.rows, 2, 3) and box.dtype == np.float32
            for i, m, b in zip(index, mask, box):
                np.testing.assert_array_equal(m, masks[i])
                assert b.tolist() == [i] * 4
            seen += index.tolist()
    assert seen == [i for i in range(len(pictures.samples)) if i != 9]
    assert loader.stats()["rings"][0]["bad_samples"]["causes"] == {"value": 1}


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("policy", ["skip", "mask", "substitute"])
def test_boxes_are_ragged_rows_of_the_batch(pictures, tmp_path, open_, policy, kept):
    """Each sample has boxes [n, 4] of its own number, and numbers of their classes; none where it has no file. Too many are a bad sample."""
    n, rng = len(pictures.samples), np.random.default_rng(3)
    boxes = [rng.random((i * 7 % 5, 4), np.float32) for i in range(n)]
    boxes[9] = rng.random((6, 4), np.float32)

    def parts(i):
        numbers = io.BytesIO()
        np.savez(numbers, classes=np.arange(len(boxes[i]), dtype=np.int64) + i)
        return {"npz": numbers.getvalue(), **({"boxes.npy": npy(boxes[i])} if len(boxes[i]) else {})}

    columns = [{"name": "boxes", "from": "boxes.npy", "type": "npy", "shape": [-1, 4], "max_length": 5, "default": []},
               {"name": "classes", "from": "npz[classes]", "type": "npy", "dtype": "i64", "shape": [-1], "max_length": 6}]
    pattern = make_shards(tmp_path / "shards", pictures.samples, 20, parts)
    order = {"shuffle": False, "epochs": 2 if kept else 1}
    cache = {"cache": {"rows_bytes": "64MiB"}} if kept else {}
    loader = open_({"source": {"shards": pattern, "columns": columns}, **TRANSFORM, "order": order, "bad_sample": {"policy": policy}, **cache})
    seen = []
    for epoch in loader.epochs():
        for batch in epoch:
            with batch:
                for row, i in enumerate(np.asarray(batch["index"]).tolist()):
                    box, numbers = batch["boxes"][row], batch["classes"][row]
                    masked = i == 9 and policy == "mask"
                    assert box.dtype == np.float32 and numbers.dtype == np.int64
                    np.testing.assert_array_equal(box, np.empty((0, 4)) if masked else boxes[i])
                    np.testing.assert_array_equal(numbers, [] if masked else np.arange(len(boxes[i])) + i)
                    seen.append(i)
    once = {"skip": [i for i in range(n) if i != 9], "mask": list(range(n)), "substitute": [8 if i == 9 else i for i in range(n)]}[policy]
    assert seen == once * order["epochs"]
    assert loader.stats()["rings"][0]["bad_samples"]["causes"] == {"value": order["epochs"]}


def test_labels_of_shards_by_directory(pictures, tmp_path, open_):
    """Archives of class directories have the labels and classes that the same tree has as a folder."""
    with tarfile.open(tmp_path / "tree.tar", "w") as tar:
        for sample in pictures.samples:
            tar.add(sample.path, sample.key)
    loader = open_({"source": {"shards": f"{tmp_path}/tree.tar", "labels": "directory"}, **TRANSFORM})
    check(loader, pictures.samples, lambda _, sample: sample.key.rsplit(".", 1)[0])
    assert loader.classes == open_({"source": {"folder": str(pictures.path)}, **TRANSFORM}).classes


BAD_SHARDS = {
    "cut": (lambda data: data[:len(data) // 2], "truncated"),
    "joined": (lambda data: data + data, "tar --concatenate, not cat"),
    "garbage": (lambda data: b"x" * len(data), "not a tar header"),
}


@pytest.mark.parametrize("kind", BAD_SHARDS)
def test_bad_shard_is_refused_by_name(pictures, tmp_path, kind):
    make_shards(tmp_path / "shards", pictures.samples, 20)
    bad, (spoil, text) = tmp_path / "shards/s-001.tar", BAD_SHARDS[kind]
    bad.write_bytes(spoil(bad.read_bytes()))
    refused = try_to_serve(f"{tmp_path}/shards/s-{{000..002}}.tar")
    assert refused.returncode != 0
    assert str(bad) in refused.stderr and text in refused.stderr


def test_missing_shard_is_refused_by_name(pictures, tmp_path):
    make_shards(tmp_path / "shards", pictures.samples, 20)
    refused = try_to_serve(f"{tmp_path}/shards/s-{{000..003}}.tar")
    assert refused.returncode == NOT_FOUND
    assert "s-003.tar" in refused.stderr


def test_shard_that_goes_away_costs_its_samples_alone(pictures, tmp_path, serve, attach, name):
    pattern = make_shards(tmp_path / "shards", pictures.samples, 20)
    engine = serve({"source": {"shards": pattern}, **TRANSFORM, "order": {"shuffle": False, "epochs": 3}, "ring": {"slots": 4}})
    (tmp_path / "shards/s-001.tar").unlink()
    loader = attach(name, max_leases=1)
    counts = [sum(batch.rows for batch in loader) for _ in range(3)]
    assert counts[2] == len(pictures.samples) - 20
    assert 'of "' in engine.said() and "missing" in engine.said()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A real S3 server over a directory: (directory of the bucket, endpoint)."""
    if not GATEWAY.exists():
        pytest.skip("no S3 server: make store-server builds one")
    bucket, port = tmp_path / "s3/bucket", free_port()
    bucket.mkdir(parents=True)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    command = [str(GATEWAY), "--port", f"127.0.0.1:{port}", "--access", "key", "--secret", "secret", "posix", str(bucket.parent)]
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def listens():
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", port)) == 0

    eventually("the S3 server", listens)
    yield bucket, {"endpoint": f"http://127.0.0.1:{port}", "timeout": "10s"}, server
    server.kill()
    server.wait()


def test_s3_gives_what_the_folder_gives(pictures, tmp_path, store, open_):
    bucket, remote, _ = store
    make_shards(bucket / "shards", pictures.samples, 20)
    shutil.copytree(pictures.path, bucket / "train")
    shards = {"shards": "s3://bucket/shards/s-{000..002}.tar", "remote": remote}
    check(open_({"source": shards, "cache": {"dir": str(tmp_path / "encoded")}, **TRANSFORM}), pictures.samples)
    check(open_({"source": {"folder": "s3://bucket/train", "remote": remote}, **TRANSFORM}), pictures.samples, lambda _, sample: sample.key)

    loader = open_({"source": shards, "cache": {"dir": str(tmp_path / "encoded")}, **TRANSFORM})
    check(loader, pictures.samples)
    cache = loader.stats()["rings"][0]["source"]["cache"]
    assert (cache["hits"], cache["misses"]) == (len(pictures.samples), 0)


def test_s3_server_that_dies_is_a_bad_sample_not_a_hang(pictures, store, serve, attach, name):
    bucket, remote, server = store
    make_shards(bucket / "shards", pictures.samples, 20)
    source = {"shards": "s3://bucket/shards/s-*.tar", "remote": {**remote, "timeout": "1s", "retries": 1}}
    engine = serve({"source": source, **TRANSFORM, "order": {"shuffle": False, "epochs": 2}, "ring": {"slots": 4}, "bad_sample": {"max_rate": 1}})
    server.kill()
    loader = attach(name, max_leases=1)
    first, second = (sum(batch.rows for batch in loader) for _ in range(2))
    assert second == 0 and first < len(pictures.samples)
    assert "connection refused" in engine.said()


def test_engine_killed_while_it_fills_the_cache_leaves_a_good_one(pictures, tmp_path, serve, attach, name):
    pattern = make_shards(tmp_path / "shards", pictures.samples, 20)
    description = {"source": {"shards": pattern}, "cache": {"dir": str(tmp_path / "encoded")}, **TRANSFORM}
    engine = serve({**description, "order": {"shuffle": False}})
    next(iter(attach(name))).release()
    engine.kill()
    serve(description, "--fresh", name=name)  # in another order: not to be gone on with
    loader = attach(name)
    check(loader, pictures.samples)
    assert loader.stats()["rings"][0]["source"]["cache"]["corrupt"] == 0


def test_interrupt_ends_the_making_of_indexes(tmp_path, name):
    """A store that hangs while indexes are made does not keep the command from ending in good order."""
    asked, hang = threading.Event(), threading.Event()

    class Hanging(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self):
            self.send_response(200)
            self.send_header("Content-Length", str(1 << 30))
            self.end_headers()

        def do_GET(self):
            asked.set()
            hang.wait(PATIENCE)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hanging) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        shards = f"http://127.0.0.1:{server.server_address[1]}/s-{{0..7}}.tar"
        engine = subprocess.Popen([str(SPDL), "serve", shards, "--name", name], env=environment(), stderr=subprocess.PIPE, text=True)
        assert asked.wait(PATIENCE)
        engine.send_signal(signal.SIGINT)
        said = engine.communicate(timeout=PATIENCE)[1]
        hang.set()
        server.shutdown()
    assert engine.returncode == 0 and "stopped before it had opened its sources" in said, said
