#!/usr/bin/env python3
"""What reading from an object store reaches, beside a plain loop of GETs with as many connections: interleaved rounds, medians with quartiles.

    store.py --images DIR --out FILE.json [--rounds 10] [--only LANE]

A real S3 server (versitygw: make store-server) and a plain HTTP server on loopback, both on the cores that the clients use too. Lanes:
  objects            1,000 pictures, an object each, in a random order
  tar, shuffled      the same pictures in 10 tar shards, in a random order: a range each
  tar, in order      the same as they lie: core/source reads neighbours together
  tar, kept          as "tar, shuffled" from the HTTP server, which keeps connections (versitygw closes each)
  tiny, end to end   2,000 pictures of 1 KB, an object each: the engine's rows in a Python consumer's hands, decoded
In the first four it is core/source alone, as the engine's fetch stage uses it. The plain loop's URLs are signed before its clock starts.
"""

import argparse
import contextlib
import io
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ.setdefault("SPDL_LIBRARY", str(ROOT / "build/libspdl.so"))
os.environ.setdefault("SPDL_LOG", "error")
KEYS = {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench-secret"}
sys.path.insert(0, str(ROOT / "clients/python"))
import spdl  # noqa: E402
from PIL import Image  # noqa: E402

GETLOOP, GATEWAY = ROOT / "build/bench/getloop", ROOT / "build/tools/versitygw"
PICTURES, SHARDS, TINY, SIDE = 1000, 10, 2000, 32
CONNECTIONS, BATCH, WARM, TAIL, PASSES = 16, 32, 8, 4, 3


def make(images, folder):
    """The three data sets as directories."""
    pictures = sorted(pathlib.Path(images).rglob("*.jpg"))[:PICTURES]
    for name in ("objects", "tar", "tiny"):
        (folder / name).mkdir()
    for i, picture in enumerate(pictures):
        (folder / "objects" / f"{i:05d}.jpg").write_bytes(picture.read_bytes())
    each = -(-len(pictures) // SHARDS)
    for shard in range(SHARDS):
        with tarfile.open(folder / "tar" / f"{shard:04d}.tar", "w", format=tarfile.GNU_FORMAT) as archive:
            for i, picture in list(enumerate(pictures))[shard * each:(shard + 1) * each]:
                for ending, data in (("jpg", picture.read_bytes()), ("cls", b"%d" % (i % 100))):
                    info = tarfile.TarInfo(f"{i:05d}.{ending}")
                    info.size = len(data)
                    archive.addfile(info, io.BytesIO(data))
    for i in range(TINY):
        with Image.open(pictures[i % len(pictures)]) as picture:
            picture.convert("RGB").resize((SIDE, SIDE)).save(folder / "tiny" / f"{i:05d}.jpg", quality=80)


@contextlib.contextmanager
def running(command):
    """A server, until the end of the block."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def gateway(folder):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % free.getsockname()[1]
    (folder / "root").mkdir()
    with running([GATEWAY, "--quiet", "--port", address, "--access", "bench", "--secret", "bench-secret", "posix", folder / "root"]) as process:
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(tuple(address.split(":"))):
                break
            time.sleep(0.05)
        assert process.poll() is None, "versitygw ended"
        yield f"http://{address}", process.pid


def getloop(what, *arguments):
    done = subprocess.run([GETLOOP, what, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(f"bench: getloop {what}: {done.stderr}")
    return json.loads(done.stdout) if what != "put" else None


def ticks(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def engine(endpoint):
    """Rows of the tiny pictures from the engine, after the first batches and before the last."""
    spec = {
        "name": "store", "source": {"folder": "s3://tiny", "remote": {"endpoint": endpoint}}, "batch": BATCH, "order": {"epochs": PASSES},
        "limits": {"fetch": CONNECTIONS}, "image": {"transform": [{"resize": SIDE}, {"center_crop": SIDE}], "dtype": "u8"},
    }
    stop = TINY * PASSES // BATCH - TAIL
    with spdl.open(spec, engine=str(ROOT / "build/spdl")) as loader:
        pid, seen, rows = loader.stats()["pid"], 0, 0
        for epoch in loader.epochs():
            for batch in epoch:
                assert batch.n_bad == 0
                seen += 1
                rows += batch.rows if WARM < seen <= stop else 0
                if seen == WARM:
                    began, used = time.perf_counter(), ticks(pid)
                elif seen == stop:
                    seconds, used = time.perf_counter() - began, ticks(pid) - used
    return {"samples": rows, "samples_per_second": rows / seconds, "cpu_seconds_per_1000": used / rows * 1000}


def lanes(folder, s3, http):
    """For each lane what runs the plain loop, and what runs ours."""
    def pair(*arguments):
        more = ("-connections", CONNECTIONS, "-passes", PASSES, *arguments)
        return (lambda: getloop("plain", *more)), (lambda: getloop("ours", *more))

    tiny = ("-endpoint", s3, "-bucket", "tiny", "-dir", folder / "tiny", "-connections", CONNECTIONS, "-passes", PASSES, "-shuffle")
    return {
        "objects": pair("-endpoint", s3, "-bucket", "objects", "-dir", folder / "objects", "-shuffle"),
        "tar, shuffled": pair("-endpoint", s3, "-bucket", "tar", "-dir", folder / "tar", "-shuffle"),
        "tar, in order": pair("-endpoint", s3, "-bucket", "tar", "-dir", folder / "tar"),
        "tar, kept": pair("-endpoint", http, "-dir", folder / "tar", "-shuffle"),
        "tiny, end to end": ((lambda: getloop("plain", *tiny)), (lambda: engine(s3))),
    }


def race(all_lanes, rounds, servers):
    """Runs both loops of every lane in turn, and notes what the servers' processors did meanwhile."""
    seen = {lane: [] for lane in all_lanes}
    for i in range(rounds + 1):
        for lane, (plain, ours) in all_lanes.items():
            row = {}
            for who, runs in [("plain", plain), ("ours", ours)][::1 if i % 2 else -1]:
                before = sum(map(ticks, servers))
                row[who] = runs()
                row[who]["server_cpu_seconds"] = sum(map(ticks, servers)) - before
            seen[lane].append(row)
            print(f"{lane} round {i}/{rounds}: plain {row['plain']['samples_per_second']:.0f}, ours {row['ours']['samples_per_second']:.0f} samples/s",
                  file=sys.stderr, flush=True)
    return {lane: rows[1:] for lane, rows in seen.items()}


def quartiles(values, digits=3):
    return [round(q, digits) for q in statistics.quantiles(values, n=4, method="inclusive")]


def summary(rows):
    result = {who: {key: quartiles([r[who][key] for r in rows]) for key in ("samples_per_second", "cpu_seconds_per_1000", "server_cpu_seconds")}
              for who in ("plain", "ours")}
    result["ours_over_plain"] = quartiles([r["ours"]["samples_per_second"] / r["plain"]["samples_per_second"] for r in rows])
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--only", help="one lane")
    args = parser.parse_args()
    if not GATEWAY.exists():
        sys.exit("bench: no S3 server; make store-server builds versitygw")
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as name:
        folder = pathlib.Path(name)
        os.environ.update(KEYS, SPDL_CACHE_DIR=str(folder / "cache"))
        make(args.images, folder)
        with gateway(folder) as (s3, gateway_pid), running([GETLOOP, "serve", "-dir", folder / "tar"]) as server:
            for bucket in ("objects", "tar", "tiny"):
                getloop("put", "-endpoint", s3, "-bucket", bucket, "-dir", folder / bucket)
            all_lanes = lanes(folder, s3, server.stdout.readline().strip())
            seen = race({lane: runs for lane, runs in all_lanes.items() if args.only in (None, lane)}, args.rounds, (gateway_pid, server.pid))
    result = {
        "command": f"bench/store.py --rounds {args.rounds}", "wanted": "ours_over_plain at least 0.9",
        "unit": f"{CONNECTIONS} connections; quartiles, the first round is left out; cpu_seconds_per_1000 are the client's", "lanes": {k: summary(r) for k, r in seen.items()},
    }
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
