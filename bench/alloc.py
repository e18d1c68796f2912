#!/usr/bin/env python3
"""What an engine allocates and holds in its steady state: calls of malloc and its kin in the whole process, per 1,000 samples, and
its memory, MiB: all of it, of that the rings, and of the rest what is its own (heap, stacks) and what is files (code, libraries).

    alloc.py --images DIR [--samples 1000] [--rounds 5] [--out FILE.json]

Eval and train, batches of 32 x 3 x 224 x 224; the count starts after 24 batches, when every slot and buffer has been used. The same of
the Go heap is a test: go test -run TestSteadyStateAllocatesNothingPerSample -v ./core/engine
"""

import argparse
import json
import mmap
import os
import pathlib
import struct
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ.setdefault("SPDL_LIBRARY", str(ROOT / "build/libspdl.so"))
os.environ.setdefault("SPDL_LOG", "error")
sys.path.insert(0, str(ROOT / "clients/python"))
import spdl  # noqa: E402

BATCH, WARM = 32, 24
TRANSFORMS = {
    "eval": [{"resize": 256}, {"center_crop": 224}, {"normalize": "imagenet"}],
    "train": [{"random_resized_crop": 224}, {"horizontal_flip": 0.5}, {"normalize": "imagenet"}],
}


def counts(images, mode, samples, rounds):
    """Calls of malloc while the consumer took `samples` samples, for each round; and the engine's memory after that."""
    spec = {"name": "alloc", "source": {"folder": os.path.abspath(images)}, "batch": BATCH,
            "image": {"transform": TRANSFORMS[mode], "layout": "NCHW"}}
    with tempfile.NamedTemporaryFile() as file:
        file.truncate(mmap.PAGESIZE)
        shared = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        os.environ.update(LD_PRELOAD=str(ROOT / "build/bench/alloc.so"), ALLOC_COUNT=file.name)
        loader = spdl.open(spec, engine=str(ROOT / "build/spdl"))
        del os.environ["LD_PRELOAD"]
        with loader:
            batches = (batch for epoch in loader.epochs() for batch in epoch)
            for _ in range(WARM):
                next(batches)
            seen = []
            for _ in range(rounds):
                before, taken = struct.unpack_from("<Q", shared)[0], 0
                assert before > 0, "the engine was not started with alloc.so"
                while taken < samples:
                    taken += next(batches).rows
                seen.append((struct.unpack_from("<Q", shared)[0] - before) * 1000 / taken)
            return seen, {part: round(size / 2**20, 1) for part, size in loader.stats()["memory"].items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", required=True)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    result = {"command": f"bench/alloc.py --samples {args.samples} --rounds {args.rounds}", "unit": "calls of malloc per 1,000 samples"}
    for mode in TRANSFORMS:
        seen, memory = counts(args.images, mode, args.samples, args.rounds)
        result[mode] = {"least": min(seen), "most": max(seen), "memory_mib": memory}
    print(json.dumps(result, indent=1))
    if args.out:
        args.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
