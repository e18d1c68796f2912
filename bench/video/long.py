#!/usr/bin/env python3
"""Memory while a video of two hours streams in chunks: resident memory of this process, the engine in it.

    long.py [--chunk 32] [--out FILE.json]

The file, 160x120 at 24 frames a second in H.264, is made once with .venv-bench's PyAV. The exact index of its packets is made
first, as a training run would keep it; then every frame is decoded. Memory is read after each chunk.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILE = ROOT / "build/bench/video/two-hours.mp4"
FRAMES = 2 * 3600 * 24
MAKE = f"""
import sys, av, numpy as np
picture = np.random.default_rng(0).integers(0, 256, (120, 160 + 64, 3), dtype=np.uint8)
with av.open(sys.argv[1], "w", format="mp4") as out:
    s = out.add_stream("libx264", rate=24, options={{"preset": "ultrafast", "crf": "40", "g": "48"}})
    s.width, s.height, s.pix_fmt = 160, 120, "yuv420p"
    frames = [av.VideoFrame.from_ndarray(np.ascontiguousarray(picture[:, k:k + 160]), format="rgb24").reformat(format="yuv420p") for k in range(64)]
    for i in range({FRAMES}):
        frame = frames[i % 64]
        frame.pts = i
        for packet in s.encode(frame):
            out.mux(packet)
    for packet in s.encode(None):
        out.mux(packet)
"""
os.environ.setdefault("SPDL_LIBRARY", str(ROOT / "build/libspdl.so"))
sys.path.insert(0, str(ROOT / "clients/python"))
import spdl.io  # noqa: E402


def resident_mib():
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunk", type=int, default=32, help="frames in a chunk")
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    if not FILE.exists():
        FILE.parent.mkdir(parents=True, exist_ok=True)
        part = FILE.with_suffix(".part")
        subprocess.run([ROOT / ".venv-bench/bin/python", "-c", MAKE, part], check=True)
        part.rename(FILE)
    before, began = resident_mib(), time.perf_counter()
    frames, memory = 0, []
    for chunk in spdl.io.streaming_load_video(FILE, args.chunk):
        frames += chunk["video"].shape[0]
        memory.append(resident_mib())
    tenth = memory[:len(memory) // 10]
    result = {
        "file_mib": round(FILE.stat().st_size / 2**20, 1), "seconds_of_video": frames / 24, "frames": frames, "chunk": args.chunk,
        "frames_per_second": round(frames / (time.perf_counter() - began)), "before_mib": round(before, 1),
        "peak_of_first_tenth_mib": round(max(tenth), 1), "peak_mib": round(max(memory), 1), "last_mib": round(memory[-1], 1),
    }
    print(json.dumps(result, indent=1))
    if args.out:
        args.out.write_text(json.dumps({"command": "bench/video/long.py", **result}, indent=1) + "\n")


main()
