#!/usr/bin/env python3
"""How much of a plain loop of pinned copies the uploader reaches: interleaved pairs, the median ratio with quartiles.

    upload.py --images DIR [--batch 256] [--in-flight 2] [--rounds 10] [--seconds 3] [--device 0] [--finish] [--out FILE.json]

Decoding is left out: the engine repeats a few batches from memory (cache.head_space), so what is measured is the way from a filled slot to a
batch in a consumer's hands. Bytes are those that go over the bus. The loop (build/bench/copyloop) copies batches of the same size on as
many streams. Needs a GPU for figures that mean anything; tests/cuda's driver shows that it runs.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "clients/python"))
import spdl  # noqa: E402

HEAD = 4  # batches that are repeated


def description(args):
    device = {"cuda": args.device, "slots": args.in_flight + 2, "in_flight": args.in_flight}
    if args.finish:
        device["finish"] = {"dtype": "f16", "normalize": "imagenet"}
    return {
        "source": {"folder": args.images}, "batch": args.batch, "order": {"shuffle": False},
        "image": {"transform": [{"resize": [args.size, args.size]}]},
        "cache": {"rows_bytes": f"{HEAD * args.batch * (args.size * args.size * 3 + 4096)}", "head_space": HEAD},
        "ring": {"slots": args.in_flight + 8}, "device": device,
    }


def uploads(loader, seconds):
    """Bytes a second over the bus, and the milliseconds that each batch kept the consumer waiting."""
    before, began, batches, waits = loader.stats(), time.monotonic(), 0, []
    while time.monotonic() - began < seconds:
        asked = time.monotonic()
        batch = loader.acquire()
        if batch is None:
            continue
        waits.append(1e3 * (time.monotonic() - asked))
        batch.release()
        batches += 1
    took = time.monotonic() - began
    per_batch = before["rings"][0]["upload"]["batch_bytes"]
    return batches * per_batch / took, statistics.quantiles(waits, n=100)


def loop(args, batch_bytes):
    copies = max(50, int(args.seconds * 20e9 / batch_bytes))
    command = [ROOT / "build/bench/copyloop", batch_bytes, args.in_flight, copies, args.device]
    return json.loads(subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout)["bytes_per_s"]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--images", required=True)
    p.add_argument("--out")
    p.add_argument("--finish", action="store_true")
    for name, default in {"batch": 256, "size": 224, "in-flight": 2, "rounds": 10, "device": 0}.items():
        p.add_argument(f"--{name}", type=int, default=default)
    p.add_argument("--seconds", type=float, default=3)
    args = p.parse_args()
    rounds = []
    with spdl.open(description(args)) as loader:
        uploads(loader, args.seconds)  # rows come into memory
        batch_bytes = loader.stats()["rings"][0]["upload"]["batch_bytes"]
        for i in range(args.rounds):
            limit = loop(args, batch_bytes) if i % 2 else None
            ours, waits = uploads(loader, args.seconds)
            limit = limit or loop(args, batch_bytes)
            rounds.append({"bytes_per_s": ours, "limit": limit, "share": ours / limit, "wait_p50_ms": waits[49], "wait_p99_ms": waits[98]})
    shares = statistics.quantiles([r["share"] for r in rounds], n=4) if len(rounds) > 1 else [rounds[0]["share"]] * 3
    result = {"batch_bytes": batch_bytes, "share_quartiles": shares, "rounds": rounds}
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps(result, indent=1) + "\n")
    print(f"{shares[1]:.1%} of the loop (quartiles {shares[0]:.1%}, {shares[2]:.1%}), {statistics.median(r['bytes_per_s'] for r in rounds) / 1e9:.2f} GB/s")


if __name__ == "__main__":
    main()
