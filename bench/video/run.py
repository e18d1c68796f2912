#!/usr/bin/env python3
"""Video on one thread: CPU seconds per pass of ours, of a plain C loop, of the ffmpeg command, and of PyAV, OpenCV and
torchcodec, all frames and sixteen even ones of one clip; and how many files a second are opened and demuxed by 1 to 16 at once.
torchvision 0.29 has no video reader.

    run.py [--rounds 7] [--passes 3] [--out FILE.json]

Rounds are interleaved and begin with another contender each time; a ratio compares ours with a contender within a round.
"""

import argparse
import json
import pathlib
import re
import shutil
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
    for program in ("spdl", "opens"):
        subprocess.run(["go", "build", "-o", BUILD / program, f"./bench/video/{program}"], cwd=ROOT, check=True)
    return clip


def contenders():
    yield "spdl", [BUILD / "spdl"]
    yield "plain C", [BUILD / "loop"]
    if shutil.which("ffmpeg"):
        yield "ffmpeg", None
    for peer in ("pyav", "opencv", "torchcodec"):
        if subprocess.run([PYTHON, "-c", f"import {'av' if peer == 'pyav' else 'cv2' if peer == 'opencv' else peer}"], capture_output=True).returncode == 0:
            yield peer, [PYTHON, HERE / "peer.py", peer]


def ffmpeg(clip, passes, count):
    """The command's own account of its CPU time. It begins anew for each pass, as its users do."""
    chosen = "+".join(rf"eq(n\,{i * 299 // (count - 1)})" for i in range(count))
    command = ["ffmpeg", "-hide_banner", "-benchmark", "-threads", "1", "-filter_threads", "1", "-i", clip, *(["-vf", f"select={chosen}", "-vsync", "0"] if count else []),
               "-pix_fmt", "rgb24", "-f", "rawvideo", "-y", "/dev/null"]
    seconds = 0.0
    for _ in range(passes):
        said = subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL).stderr
        seconds += sum(map(float, re.search(r"utime=([0-9.]+)s stime=([0-9.]+)s", said).groups()))
        frames = int(re.findall(r"frame= *([0-9]+)", said)[-1])
        assert frames == (count or 300), said
    return seconds / passes


def once(command, clip, passes, count):
    if command is None:
        return ffmpeg(clip, passes, count)
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
    opens = subprocess.run([BUILD / "opens", "-rounds", str(args.rounds), clip], check=True, capture_output=True, text=True)
    for row in json.loads(opens.stdout):
        print(f"{row['concurrency']:2} at once: {row['opens_per_second']:6.0f} opens/s   x{row['ratio_to_2']:.2f} of 2 at once")
    if args.out:
        result |= {"command": f"bench/video/run.py --rounds {args.rounds} --passes {args.passes}", "opens": json.loads(opens.stdout)}
        pathlib.Path(args.out).write_text(json.dumps(result, indent=1) + "\n")


main()
