"""Data sets of MosaicML's Streaming (MDS): the same batches as from the folder of their pictures, whatever Streaming has made of them."""

import gzip
import http.server
import json
import pathlib
import struct
import subprocess
import threading
from types import MappingProxyType

import numpy as np
import pytest
import spdl
from engines import PATIENCE, SPDL, environment
from test_sources import TRANSFORM, check, store  # noqa: F401

pytestmark = pytest.mark.usefixtures("own_cache")
ENCODINGS = {"caption": ("str", None), "embedding": ("ndarray:float32:4", 16), "image": ("bytes", None), "label": ("int", 8), "score": ("float64", 8), "tokens": ("ndarray", None)}
COLUMNS = [{"name": "caption"}, {"name": "embedding", "type": "npy"}, {"name": "score", "type": "f64"}, {"name": "tokens", "type": "npy", "dtype": "u16", "shape": [-1], "max_length": 8}]


@pytest.fixture
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("SPDL_CACHE_DIR", str(tmp_path / "cache"))


def sample_of(i, sample):
    """The values of a sample, and their bytes as MDS encodes them."""
    values = {"caption": f"sample {i} ü" * (i % 3), "embedding": np.arange(4, dtype=np.float32) * i, "label": sample.label, "score": i / 4, "tokens": np.arange(i % 8 + 1, dtype=np.uint16) + i}
    tokens = values["tokens"]
    return values, {"caption": values["caption"].encode(), "embedding": values["embedding"].tobytes(), "image": sample.path.read_bytes(), "label": struct.pack("<q", sample.label),
                    "score": struct.pack("<d", i / 4), "tokens": bytes([16, 1 << 2, len(tokens)]) + tokens.tobytes()}


def make_mds(directory, samples, per, packed=False):
    """A data set of some samples a shard, as MDSWriter lays it out; the values of its samples."""
    directory.mkdir(parents=True)
    config = {"version": 2, "format": "mds", "column_names": list(ENCODINGS), "column_encodings": [e for e, _ in ENCODINGS.values()], "column_sizes": [n for _, n in ENCODINGS.values()]}
    about, shards, all_values = json.dumps(config).encode(), [], []
    for k, first in enumerate(range(0, len(samples), per)):
        rows = []
        for i, sample in enumerate(samples[first:first + per], first):
            values, encoded = sample_of(i, sample)
            all_values.append(values)
            rows.append(b"".join(struct.pack("<I", len(encoded[c])) for c, (_, size) in ENCODINGS.items() if size is None) + b"".join(encoded[c] for c in ENCODINGS))
        begin = 4 * (len(rows) + 2) + len(about)
        offsets = np.cumsum([begin, *map(len, rows)]).astype("<u4")
        data = struct.pack("<I", len(rows)) + offsets.tobytes() + about + b"".join(rows)
        raw = {"basename": f"shard.{k:05}.mds", "bytes": len(data), "hashes": {}}
        file, entry = data, {**config, "compression": None, "hashes": [], "raw_data": raw, "samples": len(rows), "size_limit": 1 << 26, "zip_data": None}
        if packed:
            file = gzip.compress(data)
            entry |= {"compression": "gz:6", "zip_data": {"basename": raw["basename"] + ".gz", "bytes": len(file), "hashes": {}}}
        (directory / (entry["zip_data"] or raw)["basename"]).write_bytes(file)
        shards.append(entry)
    (directory / "index.json").write_text(json.dumps({"version": 2, "shards": shards}))
    return all_values


def check_columns(loader, values):
    """Two epochs in any order: every column of every sample is what it was made of."""
    for _ in range(2):
        seen = []
        for batch in loader:
            with batch:
                for row, i in enumerate(np.asarray(batch["index"]).tolist()):
                    want = values[i]
                    seen.append(i)
                    assert bytes(batch["caption"][row]).decode() == want["caption"]
                    assert (np.asarray(batch["embedding"])[row].tobytes(), batch["score"][row]) == (want["embedding"].tobytes(), want["score"])
                    assert np.asarray(batch["tokens"][row]).tobytes() == want["tokens"].tobytes()
                    assert batch["label"][row] == want["label"]
        assert sorted(seen) == list(range(len(values)))


def key(per):
    return lambda i, sample: str(i % per)


@pytest.mark.parametrize("packed", [False, True], ids=["raw", "compressed"])
def test_mds_gives_what_the_folder_gives(pictures, tmp_path, open_, packed):
    values = make_mds(tmp_path / "mds", pictures.samples, 20, packed)
    for shards in (tmp_path / "mds", tmp_path / "mds/index.json"):
        check(open_({"source": {"shards": str(shards)}, **TRANSFORM}), pictures.samples, key(20))
    check_columns(open_({"source": {"shards": str(tmp_path / "mds"), "columns": COLUMNS}, **TRANSFORM, "order": {"seed": 3, "epochs": 2}}), values)
    alone = {"source": {"shards": str(tmp_path / "mds"), "columns": COLUMNS}, "batch": 8, "order": {"seed": 3, "epochs": 2, "window": 2}}
    check_columns(open_(alone), values)


def test_serve_and_check_take_the_directory(pictures, tmp_path, serve, attach, name):
    make_mds(tmp_path / "mds", pictures.samples, 20)
    serve(str(tmp_path / "mds"), "--size", "24", "--no-shuffle", "--epochs", "1", "--batch", "8")
    check(attach(name), pictures.samples, key(20))
    run = subprocess.run([SPDL, "check", str(tmp_path / "mds"), "--size", "24", "--batches", "0"], env=environment(), capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 0, run.stderr
    assert f"shards {tmp_path}/mds (MDS): {len(pictures.samples)} samples" in run.stdout


def test_pack_makes_archives_of_mds(pictures, tmp_path, open_):
    make_mds(tmp_path / "mds", pictures.samples, 20, packed=True)
    description = tmp_path / "mds.json"
    description.write_text(json.dumps({"source": {"shards": str(tmp_path / "mds")}, **TRANSFORM}))
    run = subprocess.run([SPDL, "pack", str(description), "--out", str(tmp_path / "packed-%03d.tar")], env=environment(), capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 0, run.stderr
    loader = open_({"source": {"shards": str(tmp_path / "packed-*.tar")}, **TRANSFORM})
    check(loader, pictures.samples, lambda i, sample: f"{i:09}")


@pytest.fixture
def server(tmp_path):
    """A web server over a directory that knows ranges and ETags, and what it was asked."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            asked.append(self.path)
            file = tmp_path / "web" / self.path.lstrip("/")
            if not file.is_file():
                return self.answer(404, b"")
            data, etag = file.read_bytes(), {"ETag": f'"{file.stat().st_mtime_ns}"'}
            if wanted := self.headers.get("Range"):
                first, last = (int(n) for n in wanted.removeprefix("bytes=").split("-"))
                return self.answer(206, data[first:last + 1], {**etag, "Content-Range": f"bytes {first}-{min(last, len(data) - 1)}/{len(data)}"})
            self.answer(200, data, etag)

        do_HEAD = do_GET

        def answer(self, status, data, headers=MappingProxyType({})):
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(data)), "Accept-Ranges": "bytes"}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def log_message(self, *_):
            pass

    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=web.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{web.server_port}", tmp_path / "web", asked
    web.shutdown()
    thread.join()
    web.server_close()


@pytest.mark.parametrize("packed", [False, True], ids=["raw", "compressed"])
def test_a_store_is_read_in_any_order(pictures, server, open_, packed):
    url, directory, asked = server
    values = make_mds(directory / "mds", pictures.samples, 20, packed)
    check(open_({"source": {"shards": f"{url}/mds/"}, **TRANSFORM}), pictures.samples, key(20))
    check_columns(open_({"source": {"shards": f"{url}/mds/index.json", "columns": COLUMNS}, **TRANSFORM, "order": {"seed": 3, "epochs": 2}}), values)
    asked.clear()
    with pytest.raises(spdl.SpdlError, match="of a data set of MDS or litData name its index.json, or end with a slash"):
        open_({"source": {"shards": f"{url}/mds"}, **TRANSFORM})
    open_({"source": {"shards": f"{url}/mds/"}, **TRANSFORM})
    shards = [path for path in asked if "shard." in path]
    assert not packed or len(shards) <= len(set(shards)), f"a shard that was unpacked before was read again: {shards}"


def test_s3_gives_what_the_folder_gives(pictures, store, open_):
    bucket, remote, _ = store
    make_mds(pathlib.Path(bucket) / "mds", pictures.samples, 20)
    check(open_({"source": {"shards": "s3://bucket/mds/", "remote": remote}, **TRANSFORM}), pictures.samples, key(20))


def test_what_is_wrong_is_refused_by_name(pictures, tmp_path, open_):
    make_mds(tmp_path / "mds", pictures.samples, 20)
    last = sorted((tmp_path / "mds").glob("*.mds"))[-1]
    whole = last.read_bytes()
    last.write_bytes(whole[:-10])
    with pytest.raises(spdl.SpdlError, match=f'{last.name}": sample .* truncated: it reaches to {len(whole)}'):
        open_({"source": {"shards": str(tmp_path / "mds")}, **TRANSFORM})
    last.write_bytes(whole)
    with pytest.raises(spdl.SpdlError, match='column "tokens" of .* it is ndarray, want type npy, list'):
        open_({"source": {"shards": str(tmp_path / "mds"), "columns": [{"name": "tokens"}]}, **TRANSFORM})
    with pytest.raises(spdl.SpdlError, match="MosaicML's MDS is read by its index.json; name the directory that has it"):
        open_({"source": {"folder": str(tmp_path / "mds")}, **TRANSFORM})
