#!/usr/bin/env python3
"""Race spdl against the plain C limit and the peers: interleaved rounds, medians of ratios with quartiles.

    peers.py --images DIR --out FILE.json [--rounds 10] [--only limit,spdl,torch_pillow] [--modes eval/f32,train/u8,train/f32] [--ours spdl]

One round runs every contender once, in an order that turns from round to round, each in a process group of its own. A ratio
compares ours (--ours, by default spdl reading files) with a contender within a round. Memory is one run of its own each. The result is written as JSON and as a table beside it (.md).
"""

import argparse
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
LIMITS = {"limit": [], "limit_codes": ["-c"]}  # libjpeg-turbo's own decoder of Huffman codes; that of the engine
PEERS = ["torch_pillow", "torch_io", "meta_spdl", "opencv", "ffcv"]


def run(command, env=None):
    """The last line of a command's output; a failure shows what it said."""
    done = subprocess.run(command, capture_output=True, text=True, env=env, start_new_session=True, timeout=900)
    if done.returncode != 0 or not done.stdout.strip():
        sys.exit(f"bench: {' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout.strip().splitlines()[-1]


def run_limit(name, args, mode, dtype):
    files = sorted(map(str, pathlib.Path(args.images).rglob("*.jpg")))
    listing = ROOT / "build" / "limit.list"
    listing.write_text("\n".join(files) + "\n")
    line = run([ROOT / "build/limit", "-t", str(args.workers), "-n", str(len(files) * args.passes), "-o", mode, "-d", dtype, "-l", listing, *LIMITS[name]])
    speed, cpu = re.search(r"([0-9.]+) images/s, ([0-9.]+) CPU s per 1000", line).groups()
    return {"images_per_second": float(speed), "cpu_seconds_per_1000": float(cpu)}


def run_contender(name, args, mode, dtype, *more):
    env = dict(os.environ)
    python = ROOT / ".venv-bench/bin/python"
    if name.startswith("spdl"):
        python = ROOT / ".venv/bin/python"
        env.update(SPDL_LIBRARY=str(ROOT / "build/libspdl.so"), SPDL_ENGINE=str(ROOT / "build/spdl"), PYTHONPATH=str(ROOT / "clients/python"),
                   SPDL_LOG="error")
    return json.loads(run([python, HERE / "contender.py", name, "--images", args.images, "--mode", mode, "--dtype", dtype,
                           "--workers", str(args.workers), "--passes", str(args.passes), *more], env))


def installed(names):
    """The contenders that this machine can run: FFCV builds only where OpenCV's headers are."""
    python = ROOT / ".venv-bench/bin/python"
    theirs = [name for name in names if name.startswith("ffcv")]
    if theirs and subprocess.run([python, "-c", "import ffcv"], capture_output=True).returncode != 0:
        print("bench: ffcv is not in .venv-bench: left out", file=sys.stderr)
        return [name for name in names if name not in theirs]
    return names


def race(args, mode, dtype, names):
    rounds = []
    for i in range(args.rounds):
        row = {}
        for name in names[i % len(names):] + names[:i % len(names)]:
            row[name] = run_limit(name, args, mode, dtype) if name in LIMITS else run_contender(name, args, mode, dtype)
            print(f"{mode}/{dtype} round {i + 1}/{args.rounds} {name}: {row[name]['images_per_second']:.0f} images/s", file=sys.stderr, flush=True)
        rounds.append(row)
    return rounds


def memory(args, mode, dtype, names):
    """Peak PSS of each contender, in a run of its own: looking costs what would be measured."""
    return {name: run_contender(name, args, mode, dtype, "--memory")["peak_pss_mib"] for name in names if name not in LIMITS}


def quartiles(values):
    if len(values) < 2:
        return [round(values[0], 3)] * 3
    return [round(q, 3) for q in statistics.quantiles(values, n=4, method="inclusive")]


def summarise(rounds, names, peaks, ours):
    rows = []
    for name in names:
        def series(key, name=name):
            return [r[name][key] for r in rounds if key in r[name]]

        row = {"name": name, "images_per_second": quartiles(series("images_per_second")), "cpu_seconds_per_1000": quartiles(series("cpu_seconds_per_1000"))}
        if series("first_batch_seconds"):
            row["peak_pss_mib"], row["first_batch_seconds"] = [peaks[name]] * 3, quartiles(series("first_batch_seconds"))
        if name != ours and ours in names:
            row["spdl_speed_over_this"] = quartiles([r[ours]["images_per_second"] / r[name]["images_per_second"] for r in rounds])
            row["spdl_cpu_over_this"] = quartiles([r[ours]["cpu_seconds_per_1000"] / r[name]["cpu_seconds_per_1000"] for r in rounds])
        rows.append(row)
    return rows


def table(result):
    lines = [f"# {result['command']}", "", f"{result['machine']}; {result['rounds']} interleaved rounds; median (quartiles).", ""]
    for lane, rows in result["lanes"].items():
        lines += [f"## {lane}", "", "| | images/s | CPU s per 1,000 | peak PSS MiB | first batch s | {0} is faster by | {0}'s CPU share |".format(result["ours"]),
                  "|---|---|---|---|---|---|---|"]
        for row in rows:
            def cell(key, digits, row=row):
                if key not in row:
                    return "-"
                low, middle, high = row[key]
                if low == high:
                    return f"{middle:.{digits}f}"
                return f"{middle:.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"

            lines.append(f"| {row['name']} | {cell('images_per_second', 0)} | {cell('cpu_seconds_per_1000', 2)} | {cell('peak_pss_mib', 0)} | "
                         f"{cell('first_batch_seconds', 2)} | {cell('spdl_speed_over_this', 2)} | {cell('spdl_cpu_over_this', 2)} |")
        lines.append("")
    return "\n".join(lines)


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    return f"{os.cpu_count()} cores, {model}, Linux {platform.release().split('-')[0]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--passes", type=int, default=1)
    parser.add_argument("--only", default=",".join([*LIMITS, "spdl", *PEERS]))
    parser.add_argument("--modes", default="eval/f32,train/u8,train/f32")
    parser.add_argument("--ours", default="spdl", help="whom the others are compared with: spdl, spdl_tar, spdl_rows")
    args = parser.parse_args()
    names = installed(args.only.split(","))
    lanes = {}
    for lane in args.modes.split(","):
        mode, dtype = lane.split("/")
        lanes[lane] = summarise(race(args, mode, dtype, names), names, memory(args, mode, dtype, names), args.ours)
    result = {"command": f"bench/peers.py --rounds {args.rounds} --workers {args.workers} --passes {args.passes} --only {args.only} --modes {args.modes} --ours {args.ours}",
              "machine": machine(), "ours": args.ours, "rounds": args.rounds, "lanes": lanes}
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(result, indent=1) + "\n")
    args.out.with_suffix(".md").write_text(table(result))
    print(table(result))


if __name__ == "__main__":
    main()
