#!/usr/bin/env python3
"""Sounds into rows of 16 kHz mono float32: spdl and a plain C loop beside several releases of PyAV, interleaved rounds.

    .venv-bench/bin/python bench/audio/releases.py 12.3=/path/to/python 10.0=/path/to/python:/path/of/packages ... [--rounds 5] [--out FILE.json]

PyAV grew faster between its releases, so a ratio to it says little without its version. Each release is an interpreter that has it, and NumPy, or one and
the folder of a PyAV that is added to its path. The corpus and the programs are those of peers.py, which makes them.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

import peers

FORMATS = ["mp3", "aac", "flac", "flac16", "wav", "wav44", "opus"]


def one(name):
    """In the interpreter of a release: measure its PyAV on a format, and say so as JSON."""
    print(json.dumps(peers.measure_python([peers.pyav()], peers.make(name), float(os.environ["SECONDS"]))))


def measure_release(where, name, seconds):
    python, _, packages = where.partition(":")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {"SECONDS": str(seconds)} | ({"PYTHONPATH": packages} if packages else {})
    done = subprocess.run([python, __file__, "--one", name], env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("releases", nargs="*")
    p.add_argument("--one", help=argparse.SUPPRESS)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=0.5)
    p.add_argument("--out", type=pathlib.Path)
    args = p.parse_args()
    if args.one:
        return one(args.one)
    releases = dict(r.split("=", 1) for r in args.releases)
    results = {}
    for name in FORMATS:
        files, length = peers.make(name), str(16000 * peers.SECONDS.get(name, 10))
        ours = [peers.CORPUS / "audio", "-seconds", str(args.seconds), "-start", "0", "-length", length, *files]
        runs = {"spdl": lambda: peers.measure_program(*ours), "plain_c": lambda: peers.measure_program(peers.CORPUS / "loop", str(args.seconds), "1", *files)}
        for release, where in releases.items():
            runs[f"pyav {release}"] = lambda where=where: measure_release(where, name, args.seconds)
        order = list(runs)
        for i in range(args.rounds):
            for c in order[i % len(order):] + order[: i % len(order)]:
                results.setdefault(name, {}).setdefault(c, []).append(runs[c]()["cpu_ms_per_file"])
    print("| format | " + " | ".join(order) + " |\n" + "|---" * (len(order) + 1) + "|")
    for name, by in results.items():
        cells = [f"{statistics.median(by[c]):.2f} ({statistics.median(x / s for x, s in zip(by[c], by['spdl'])):.1f})" for c in order]
        print(f"| {name} | " + " | ".join(cells) + " |")
    if args.out:
        args.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
