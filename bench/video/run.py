#!/usr/bin/env python3
"""Video on one thread: CPU seconds per pass of ours, of plain C loops, of the ffmpeg command, and of PyAV, OpenCV, torchcodec and
torchvision, all frames and sixteen even ones of each clip of a corpus; and how many files a second are opened and demuxed by
1 to 16 at once.

    run.py [--rounds 5] [--passes 1] [--clips NAME,NAME] [--out FILE.json]

Rounds are interleaved and begin with another contender each time; a ratio compares ours with a contender within a round, and is
the median over rounds. torchvision's reader is Debian's 0.14 (later ones have none, 0.29 of PyPI neither) and "pyav, Debian's" is 10 on the
FFmpeg that ours has; both are left out where Debian's packages are not installed, and of a clip whoever has no decoder of it (opencv's
wheel: AV1).
"""

import argparse
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build/bench/video"
PYTHON = str(ROOT / ".venv-bench/bin/python")
DEBIANS = "/usr/bin/python3"

# Key frames as each encoder places them by itself, and, of "groups", every two seconds, as streaming sites do.
CLIPS = {
    "h264": dict(codec="libx264", width=640, height=480, frames=300, options={"crf": "26", "threads": "1"}),
    "h264 groups": dict(codec="libx264", width=1280, height=720, frames=600, options={"crf": "26", "g": "60", "threads": "1"}),
    "hevc": dict(codec="libx265", width=640, height=480, frames=300,
                 options={"crf": "28", "preset": "fast", "x265-params": "pools=none:frame-threads=1:log-level=none"}),
    "av1": dict(codec="libsvtav1", width=640, height=480, frames=300, options={"preset": "8", "crf": "35", "svtav1-params": "lp=1"}),
    "vp9": dict(codec="libvpx-vp9", width=640, height=360, frames=300, options={"crf": "34", "b": "0", "cpu-used": "4", "row-mt": "0"}),
}
SAMPLED = 16


def build(names):
    BUILD.mkdir(parents=True, exist_ok=True)
    for name in names:
        clip = path_of(name)
        if not clip.exists():
            part = clip.with_suffix(".part.mp4")
            subprocess.run([PYTHON, HERE / "clip.py", part, json.dumps(CLIPS[name])], check=True, capture_output=True)
            part.rename(clip)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libavformat", "libavcodec", "libswscale", "libavutil"],
                           check=True, capture_output=True, text=True).stdout.split()
    subprocess.run(["cc", "-O2", "-o", BUILD / "loop", HERE / "loop.c", *flags], check=True)
    for program in ("spdl", "opens"):
        subprocess.run(["go", "build", "-o", BUILD / program, f"./bench/video/{program}"], cwd=ROOT, check=True)


def path_of(name):
    return BUILD / f"{name.replace(' ', '-')}.mp4"


def has(python, module):
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


def contenders(count):
    """Name, command and what stands behind FILE PASSES THREADS FRAMES COUNT; seeking is for the frames of which some are left out."""
    yield "spdl", [BUILD / "spdl"], []
    yield "plain C", [BUILD / "loop"], []
    if count:
        yield "plain C, skipping groups", [BUILD / "loop"], ["skip"]
    if shutil.which("ffmpeg"):
        yield "ffmpeg", None, []
    for label, python, module, peer in (
        ("pyav", PYTHON, "av", "pyav"), ("pyav, Debian's", DEBIANS, "av, numpy", "pyav"), ("opencv", PYTHON, "cv2", "opencv"),
        ("torchcodec", PYTHON, "torchcodec", "torchcodec"), ("torchvision", DEBIANS, "torchvision", "torchvision")):
        if not has(python, module):
            print(f"{label}: not here")
            continue
        yield label, [python, HERE / "peer.py", peer], []
        if count and label in ("pyav", "torchvision"):
            yield f"{label}, seeking", [python, HERE / "peer.py", f"{peer}_seeking"], []


def ffmpeg(clip, passes, frames, count):
    """The command's own account of its CPU time. It begins anew for each pass, as its users do."""
    chosen = "+".join(rf"eq(n\,{i * (frames - 1) // (count - 1)})" for i in range(count))
    command = ["ffmpeg", "-hide_banner", "-benchmark", "-threads", "1", "-filter_threads", "1", "-i", clip,
               *(["-vf", f"select={chosen}", "-vsync", "0"] if count else []), "-pix_fmt", "rgb24", "-f", "rawvideo", "-y", "/dev/null"]
    seconds = 0.0
    for _ in range(passes):
        said = subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL).stderr
        seconds += sum(map(float, re.search(r"utime=([0-9.]+)s stime=([0-9.]+)s", said).groups()))
        made = int(re.findall(r"frame= *([0-9]+)", said)[-1])
        assert made == (count or frames), said
    return seconds / passes


def once(command, more, clip, passes, frames, count):
    if command is None:
        return ffmpeg(clip, passes, frames, count)
    arguments = [clip, *map(str, (passes, 1, frames, count)), *more]
    done = subprocess.run([*command, *arguments], check=True, capture_output=True, text=True)
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["frames"] == passes * (count or frames), (command, answer)
    return answer["cpu_seconds"] / passes


def race(name, rounds, passes, count):
    runners, times = list(contenders(count)), {}
    for r in range(rounds):
        k = r % len(runners)
        for label, command, more in runners[k:] + runners[:k]:
            if r == 0 or label in times:
                try:
                    times.setdefault(label, []).append(once(command, more, path_of(name), passes, CLIPS[name]["frames"], count))
                except subprocess.CalledProcessError as error:
                    if r or label == "spdl":
                        sys.exit(f"{label}, {name}: {error}: {error.stderr[-2000:]}")
                    print(f"{label} does not decode {name}: {error.stderr.strip().splitlines()[-1]}", flush=True)
                    del times[label]
    ours = times["spdl"]
    return {label: {"cpu_seconds": round(statistics.median(t), 4), "spdl_is_faster_by": round(statistics.median(x / y for x, y in zip(t, ours)), 3)}
            for label, t in times.items()}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--passes", type=int, default=1)
    p.add_argument("--clips", type=lambda text: text.split(","), default=list(CLIPS))
    p.add_argument("--out")
    args = p.parse_args()
    build(args.clips)
    result = {"command": f"bench/video/run.py --rounds {args.rounds} --passes {args.passes}", "clips": {name: CLIPS[name] for name in args.clips}}
    print(f"# {result['command']}\n\n| frames | clip | contender | CPU s a pass | x spdl's |\n|---|---|---|---|---|")
    for count, mode in ((0, "all frames"), (SAMPLED, f"{SAMPLED} even frames")):
        result[mode] = {}
        for name in args.clips:
            result[mode][name] = race(name, args.rounds, args.passes, count)
            for label, r in result[mode][name].items():
                print(f"| {mode} | {name} | {label} | {r['cpu_seconds']:.4f} | {r['spdl_is_faster_by']:.2f} |", flush=True)
    opens = subprocess.run([BUILD / "opens", "-rounds", str(args.rounds), path_of(args.clips[0])], check=True, capture_output=True, text=True)
    result["opens"] = json.loads(opens.stdout)
    print("\n| opens at once | a second | x those at 2 |\n|---|---|---|")
    for row in result["opens"]:
        print(f"| {row['concurrency']} | {row['opens_per_second']:.0f} | {row['ratio_to_2']:.2f} |")
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps(result, indent=1) + "\n")


main()
