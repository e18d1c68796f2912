#!/usr/bin/env python3
"""Threads of a decoder while many clips are decoded at a time: clips a second of a ring, and CPU seconds a clip, with video.threads 1,
2 and 4. Sixteen even frames of the clip "h264" of run.py, and all of them, to 112x112.

    threads.py [--rounds 3] [--batches 6] [--out FILE.json]

An engine decodes as many clips at a time as there are processors. Rounds are interleaved; figures are medians.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("SPDL_LIBRARY", str(ROOT / "build/libspdl.so"))
os.environ.setdefault("SPDL_LOG", "error")
sys.path.insert(0, str(ROOT / "clients/python"))
import spdl  # noqa: E402

CLIP = ROOT / "build/bench/video/h264.mp4"
CLIPS, BATCH = 64, 4
SELECT = {"16 even frames": {"frames": 16, "select": {"kind": "uniform"}}, "all frames": {"frames": 300, "select": {"kind": "all"}}}


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(folder, select, threads, batches):
    spec = {"name": "threads", "source": {"folder": folder}, "batch": BATCH,
            "video": {**select, "threads": threads, "timeout": "5m", "transform": [{"resize": [112, 112]}]}}
    with spdl.open(spec, engine=str(ROOT / "build/spdl")) as loader:
        stream = (batch for epoch in loader.epochs() for batch in epoch)
        for _ in range(loader.info.slots + 1):  # from then on every batch waits for clips that are decoded now
            next(stream)
        pid, began = loader.info.engine_pid, time.perf_counter()
        used = cpu_seconds(pid)
        for _ in range(batches):
            assert next(stream).rows == BATCH
        return batches * BATCH / (time.perf_counter() - began), (cpu_seconds(pid) - used) / (batches * BATCH)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batches", type=int, default=6)
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    result = {"command": f"bench/video/threads.py --rounds {args.rounds} --batches {args.batches}", "cpus": os.cpu_count()}
    with tempfile.TemporaryDirectory() as folder:
        inside = pathlib.Path(folder, "clips")
        inside.mkdir()
        shutil.copy(CLIP, inside / "0.mp4")
        for i in range(1, CLIPS):
            os.link(inside / "0.mp4", inside / f"{i}.mp4")
        for name, select in SELECT.items():
            found = {threads: [] for threads in (1, 2, 4)}
            for _ in range(args.rounds):
                for threads, seen in found.items():
                    seen.append(measure(folder, select, threads, args.batches))
            result[name] = {threads: {"clips_per_second": round(statistics.median(s[0] for s in seen), 2),
                                      "cpu_seconds_per_clip": round(statistics.median(s[1] for s in seen), 4)} for threads, seen in found.items()}
            for threads, r in result[name].items():
                print(f"{name:15} video.threads {threads}: {r['clips_per_second']:6.2f} clips/s, {r['cpu_seconds_per_clip']:.4f} CPU s a clip", flush=True)
    if args.out:
        args.out.write_text(json.dumps(result, indent=1) + "\n")


main()
