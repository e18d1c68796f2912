#!/usr/bin/env python3
"""Video on one thread: CPU seconds per pass of ours, of a plain C loop, and of PyAV, OpenCV and torchcodec, all frames and
sixteen even ones of one clip.

    run.py [--rounds 7] [--passes 3] [--out FILE.json]

Rounds are interleaved and begin with another contender each time; a ratio compares ours with a contender within a round.
"""

import argparse
import json
import pathlib
import statistics
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build/bench/video"
PYTHON = ROOT / ".venv-bench/bin/python"


def build():
    BUILD.mkdir(parents=True, exist_ok=True)
    clip = BUILD / "clip.mp4"
    if not clip.exists():
        subprocess.run([PYTHON, HERE / "clip.py", clip], check=True, capture_output=True)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libavformat", "libavcodec", "libswscale", "libavutil"],
                           check=True, capture_output=True, text=True).stdout.split()
    subprocess.run(["cc", "-O2", "-o", BUILD / "loop", HERE / "loop.c", *flags], check=True)
    subprocess.run(["go", "build", "-o", BUILD / "spdl", "./bench/video/spdl"], cwd=ROOT, check=True)
    return clip


def contenders():
    yield "spdl", [BUILD / "spdl"]
    yield "plain C", [BUILD / "loop"]
    for peer in ("pyav", "opencv", "torchcodec"):
        if subprocess.run([PYTHON, "-c", f"import {'av' if peer == 'pyav' else 'cv2' if peer == 'opencv' else peer}"], capture_output=True).returncode == 0:
            yield peer, [PYTHON, HERE / "peer.py", peer]


def once(command, clip, passes, count):
    arguments = [clip, str(passes), "1", *([str(count)] if count else [])]
    done = subprocess.run([*command, *arguments], check=True, capture_output=True, text=True)
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["frames"] == passes * (count or 300), answer
    return answer["cpu_seconds"] / passes


def race(clip, rounds, passes, count):
    runners, times = list(contenders()), {}
    for r in range(rounds):
        for name, command in runners[r % len(runners) :] + runners[: r % len(runners)]:
            times.setdefault(name, []).append(once(command, clip, passes, count))
    ours = times["spdl"]
    return {name: {"cpu_seconds": statistics.median(t), "spdl_is_faster_by": statistics.median(x / y for x, y in zip(t, ours))}
            for name, t in times.items()}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--passes", type=int, default=3)
    p.add_argument("--out")
    args = p.parse_args()
    clip = build()
    result = {"all frames": race(clip, args.rounds, args.passes, 0), "16 even frames": race(clip, args.rounds, args.passes, 16)}
    for mode, row in result.items():
        for name, r in row.items():
            print(f"{mode:15} {name:11} {r['cpu_seconds']:8.4f} CPU s   x{r['spdl_is_faster_by']:.2f}")
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps(result, indent=1) + "\n")


main()
