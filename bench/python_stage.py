#!/usr/bin/env python3
"""What a no-op stage costs per item in Python: this package and, where it is installed, Meta's SPDL, interleaved.

    .venv/bin/python bench/python_stage.py [--other .venv-bench/bin/python] [--items 2000] [--rounds 5]

Each measurement is a process of its own: source -> k no-op stages -> sink, k = 1 and 4; the consumer only counts.
"stage" is what one stage more costs per item, "whole" the item with one stage, source and sink included. Medians. Then what a stage
of the engine itself costs, in Go.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STAGES = (1, 4)

PROGRAM = """
import sys, time
from spdl.pipeline import PipelineBuilder
def noop(item):
    return item
n_stages, n_items, concurrency = map(int, sys.argv[1:])
def run(n):
    builder = PipelineBuilder().add_source(range(n))
    for _ in range(n_stages):
        builder.pipe(noop, concurrency=concurrency)
    pipeline = builder.add_sink(3).build(num_threads=max(8, n_stages * concurrency))
    with pipeline.auto_stop():
        begun = time.perf_counter()
        count = sum(1 for _ in pipeline)
        took = time.perf_counter() - begun
    assert count == n, (count, n)
    return took
run(200)
print(run(n_items) / n_items * 1e6)
"""


def measure(python: str, environment: dict[str, str], n_stages: int, items: int, concurrency: int) -> float:
    """Microseconds per item."""
    out = subprocess.run([python, "-c", PROGRAM, str(n_stages), str(items), str(concurrency)],
                         env={**os.environ, **environment}, check=True, timeout=300, stdout=subprocess.PIPE)
    return float(out.stdout.split()[-1])


def engine(rounds: int) -> list[float]:
    """Nanoseconds per item of one no-op stage in Go, of each round: what nine take more than one, over eight."""
    command = ["go", "test", "-run", "^$", "-bench", "^BenchmarkChainOfNoOpStages", "-count", str(rounds), "./core/pipeline"]
    told = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    one, nine = ([float(ns) for ns in re.findall(rf"Stages{n}\S*\s+\d+\s+([\d.]+) ns/op", told)] for n in (1, 9))
    return [(many - few) / 8 for few, many in zip(one, nine)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--other", default=str(ROOT / ".venv-bench" / "bin" / "python"),
                        help="interpreter that has Meta's SPDL")
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--concurrency", type=int, default=1)
    options = parser.parse_args()
    build = Path(os.environ.get("SPDL_BUILD") or ROOT / "build")
    ours = {"PYTHONPATH": str(ROOT / "clients" / "python"),
            "SPDL_LIBRARY": os.environ.get("SPDL_LIBRARY") or str(build / "libspdl.so")}
    contenders = {"spdl (this)": (sys.executable, ours)}
    if os.path.exists(options.other):
        contenders["SPDL (Meta)"] = (options.other, {"PYTHONPATH": ""})
    took: dict[tuple[str, int], list[float]] = {}
    for _ in range(options.rounds):
        for name, (python, environment) in contenders.items():
            for n_stages in STAGES:
                took.setdefault((name, n_stages), []).append(
                    measure(python, environment, n_stages, options.items, options.concurrency))
    print(f"{'us per item':14} {'whole':>10} {'stage':>10}")
    for name in contenders:
        few, many = (statistics.median(took[name, n]) for n in STAGES)
        print(f"{name:14} {few:10.1f} {(many - few) / (STAGES[1] - STAGES[0]):10.1f}")
    print(f"a stage of the engine, in Go: {statistics.median(engine(options.rounds)):.0f} ns per item")


if __name__ == "__main__":
    main()
