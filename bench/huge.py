#!/usr/bin/env python3
"""What the size of a data set costs: starts with up to a billion samples in 1,000 indexed shards, memory, and resume at 90 % of an epoch.

    huge.py --images DIR --out FILE.json [--rounds 10]

The shards are synthetic, the pictures real: a zip archive whose directory names the first pictures of DIR over and over, and
1,000 hard links to it and to its index, which the engine makes once (source.index: beside). In each round every start is made
once, in a process of its own: from exec to the first batch of 32 x 3 x 224 x 224 f32 in the consumer's hands. Every batch is
compared with the order as bench/order.py evaluates it. Memory is the engine's own (anonymous, PSS) after 64 more batches.
"""

import argparse
import json
import os
import pathlib
import statistics
import struct
import sys
import time
import zlib

import order

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ.setdefault("SPDL_LIBRARY", str(ROOT / "build/libspdl.so"))
os.environ.setdefault("SPDL_LOG", "error")
sys.path.insert(0, str(ROOT / "clients/python"))
import spdl  # noqa: E402

BATCH, SEED, SHARDS, PICTURES = 32, 7, 1000, 512
TEN_MILLION, BILLION = 10_000, 1_000_000  # samples a shard


def archive(path, pictures, samples):
    """A zip archive of the pictures, stored, whose directory has an entry for each sample: entry i is picture i % len(pictures)."""
    with path.open("wb") as out:
        places = []
        for picture in pictures:
            data = picture.read_bytes()
            places.append((out.tell(), zlib.crc32(data), len(data)))
            out.write(struct.pack("<IHHHHHIIIHH", 0x04034B50, 10, 0, 0, 0, 0, places[-1][1], len(data), len(data), 5, 0) + b"x.jpg" + data)
        begin = out.tell()
        for i in range(samples):
            at, crc, size = places[i % len(places)]
            name = b"%07d.jpg" % i
            out.write(struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 45, 10, 0, 0, 0, 0, crc, size, size, len(name), 0, 0, 0, 0, 0, at) + name)
        end = out.tell()
        out.write(struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, samples, samples, end - begin, begin))
        out.write(struct.pack("<IIQI", 0x07064B50, 0, end, 1))
        out.write(struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0))


def shards(images, samples):
    """The pattern of 1,000 shards of so many samples; made on the first run."""
    folder = ROOT / "build" / f"huge-{samples}"
    first = folder / "0000.zip"
    if not (folder / "made").exists():
        folder.mkdir(parents=True, exist_ok=True)
        archive(first, sorted(pathlib.Path(images).rglob("*.jpg"))[:PICTURES], samples)
        with spdl.open(spec(str(first)), engine=str(ROOT / "build/spdl")) as loader:
            assert loader.info.samples == samples, loader.info
        for i in range(1, SHARDS):
            for ending in ("", ".spdl-index"):
                link = folder / f"{i:04d}.zip{ending}"
                link.unlink(missing_ok=True)
                os.link(f"{first}{ending}", link)
        (folder / "made").touch()
    return f"{folder}/{{0000..{SHARDS - 1:04d}}}.zip", str(first)


def spec(pattern, **more):
    return {"name": "huge", "source": {"shards": pattern, "index": "beside"}, "batch": BATCH, "order": {"seed": SEED, **more}, "image": {
        "transform": [{"resize": 256}, {"center_crop": 224}, {"normalize": "imagenet"}], "layout": "NCHW"}}


def proven(batch, start, step):
    """Exits unless the batch is the step's, as the order's definition says."""
    positions = range(step * BATCH, (step + 1) * BATCH)
    if start["window"]:
        want = order.windowed(start["lens"], start["window"], SEED, 0, positions)
    else:
        want = order.shuffled(sum(start["lens"]), SEED, 0, positions)
    got = batch["index"].tolist()
    if got != want or batch.n_bad or batch.step != step:
        sys.exit(f"bench: {start['name']}: step {batch.step}: samples {got}, {batch.n_bad} of them bad; want step {step}: {want}")


def anonymous_mib(pid):
    lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss_Anon:")) / 1024


def opened(start, state=None):
    more = {"window": start["window"]} if start["window"] else {}
    return spdl.open(spec(start["pattern"], **more), engine=str(ROOT / "build/spdl"), state=state)


def once(start, more=0):
    """One start in a fresh engine, and the engine's memory after more batches."""
    first = int(start["share"] * (sum(start["lens"]) // BATCH))
    began = time.perf_counter()
    with opened(start, {**start["state"], "step": first} if first else None) as loader:
        batch = loader.acquire()
        seconds = time.perf_counter() - began
        proven(batch, start, first)
        batch.release()
        for k in range(more):
            with loader.acquire() as batch:
                proven(batch, start, first + 1 + k)
        stats = loader.stats()
        return {"exec_to_batch_ms": seconds * 1000, "scan_ms": stats["rings"][0]["first_batch"]["scan_ms"], "anonymous_mib": anonymous_mib(stats["pid"])}


def starts(images):
    """What is started: where the samples are, in which order, and from which part of the epoch on."""
    made = {n: shards(images, n) for n in (TEN_MILLION, BILLION)}
    rows = []
    for name, n, count, window, share in [
        ("10,000 samples in 1 shard", TEN_MILLION, 1, 0, 0),
        ("10 million samples in 1,000 shards", TEN_MILLION, SHARDS, 0, 0),
        ("1 million samples in 1 shard", BILLION, 1, 0, 0),
        ("1 billion samples in 1,000 shards", BILLION, SHARDS, 0, 0),
        ("1 billion, resumed at 90 %", BILLION, SHARDS, 0, 0.9),
        ("1 billion, window of 8 shards, resumed at 90 %", BILLION, SHARDS, 8, 0.9),
    ]:
        row = {"name": name, "pattern": made[n][count == 1], "lens": [n] * count, "window": window, "share": share}
        with opened(row) as loader:
            rows.append({**row, "state": loader.state_dict()})
    return rows


def quartiles(values):
    return [round(q, 1) for q in statistics.quantiles(values, n=4, method="inclusive")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    rows = starts(args.images)
    seen = {row["name"]: [] for row in rows}
    for _ in range(args.rounds + 1):
        for row in rows:
            seen[row["name"]].append(once(row))
    result = {
        "command": f"bench/huge.py --rounds {args.rounds}",
        "unit": "ms from exec to the first batch, and to find the samples, quartiles without the first round; MiB of anonymous memory (PSS)",
        "wanted": "10 million samples: at most 500 ms; 1 billion, resumed: at most 1,000 ms; memory: about the same for all",
        "starts": {row["name"]: {
            **{key: quartiles([r[key] for r in seen[row["name"]][1:]]) for key in ("exec_to_batch_ms", "scan_ms")},
            "anonymous_mib": round(once(row, more=64)["anonymous_mib"], 1),
        } for row in rows},
    }
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
