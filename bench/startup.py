#!/usr/bin/env python3
"""From exec of the engine to the first batch in the consumer's hands, split as the engine sees it; and a ready batch's hand-off.

    startup.py --images DIR --out FILE.json [--rounds 10]

Three starts, interleaved: the spdl command, the command without FFmpeg, and the command with a list of 1,000,000 lines.
Batches of 32 x 3 x 224 x 224 f32 (eval). Files are in the page cache after the first round.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ.setdefault("SPDL_LIBRARY", str(ROOT / "build/libspdl.so"))
os.environ.setdefault("SPDL_LOG", "error")
sys.path.insert(0, str(ROOT / "clients/python"))
import spdl  # noqa: E402

LINES = 1_000_000


def spec(source):
    return {"name": "startup", "source": source, "batch": 32, "image": {
        "transform": [{"resize": 256}, {"center_crop": 224}, {"normalize": "imagenet"}], "layout": "NCHW"}}


def once(engine, source):
    began = time.perf_counter()
    with spdl.open(spec(source), engine=str(engine)) as loader:
        with loader.acquire():
            seconds = time.perf_counter() - began
        first = loader.stats()["rings"][0]["first_batch"]
    return {"exec_to_batch_ms": seconds * 1000, **first}


def long_list(images):
    """1,000,000 lines over the same files."""
    files = sorted(str(p.resolve()) for p in pathlib.Path(images).rglob("*.jpg"))
    path = ROOT / "build/startup-list.tsv"
    with path.open("w") as out:
        for i in range(LINES):
            out.write(f"{files[i % len(files)]}\t{i % 1000}\n")
    return path


def summary(rows):
    return {key: round(statistics.median(r[key] for r in rows), 1) for key in rows[0]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    folder = {"folder": os.path.abspath(args.images)}
    starts = {"with FFmpeg, 2,000 files": ("spdl", folder), "without FFmpeg, 2,000 files": ("spdl-noffmpeg", folder),
              "with FFmpeg, list of 1,000,000 lines": ("spdl", {"list": str(long_list(args.images))})}
    rows = {name: [] for name in starts}
    for _ in range(args.rounds + 1):
        for name, (engine, source) in starts.items():
            rows[name].append(once(ROOT / "build" / engine, source))
    result = {"command": f"bench/startup.py --rounds {args.rounds}", "unit": "ms, medians; the first round is left out",
              "starts": {name: summary(r[1:]) for name, r in rows.items()}}
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
