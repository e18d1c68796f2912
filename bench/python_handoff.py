#!/usr/bin/env python3
"""What the Python client adds to the hand-off of a batch that is ready: microseconds a batch, on this thread's clock.

    python_handoff.py [--library SO] [--engine RINGPATTERN] [--rounds 30] [--out FILE]

The pattern engine fills a ring of 64 small slots; one loop drains 50 of them without ever waiting, 40 times a round. A
round measures every body, so that they meet the same neighbours on the machine; printed are the median over the
rounds, the quartiles, the least, and the median of the differences to the empty body in the same round. Thread CPU time,
since the engine refills the slots meanwhile. Bounds: next() and release 5 us, a first numpy view 5 us more.
"""

import argparse
import itertools
import json
import os
import platform
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "clients" / "python"))
SLOTS, BATCHES, DRAINS = 64, 50, 40


def bodies():
    """What is done with each batch, by name."""
    import numpy

    yield "next and release", lambda batch: None
    yield "and the ticket", lambda batch: batch.ticket
    yield "and a spdl.Array", lambda batch: batch.array("x")
    yield "and a numpy view", lambda batch: batch["x"]
    yield "and numpy.from_dlpack", lambda batch: numpy.from_dlpack(batch.array("x"))
    try:
        import torch  # noqa: F401
    except ImportError:
        return
    yield "and a torch view", lambda batch: batch.array("x").torch()


def measure(spdl, engine, body):
    """Microseconds a batch: the median over drains of a full ring that never waited."""
    args = ["--slots", str(SLOTS), "--rows", "1", "--bytes", "64", "--batches", "100000", "--epochs", "0"]
    took = []
    with spdl.open("pattern", engine=engine, args=args) as loader:
        for _ in range(DRAINS):
            taken = loader.info.acquired
            while loader.stats()["ring"]["published"] < taken + SLOTS - 2:  # the batch in hand has its slot
                time.sleep(0.001)
            waited = loader.info.waited
            drained = itertools.islice(loader, BATCHES)
            start = time.thread_time_ns()
            for batch in drained:
                body(batch)
            end = time.thread_time_ns()
            batch = None  # its view goes, and the ring can fill
            if loader.info.waited == waited:
                took.append((end - start) / BATCHES / 1000)
    return statistics.median(took)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", default=os.environ.get("SPDL_LIBRARY") or ROOT / "build" / "libspdl.so")
    parser.add_argument("--engine", default=ROOT / "build" / "ringpattern")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--out", help="write the figures there as JSON")
    arguments = parser.parse_args()
    os.environ["SPDL_LIBRARY"] = str(arguments.library)
    import spdl

    figures = {name: [] for name, _ in bodies()}
    for number in range(arguments.rounds):
        for name, body in bodies():
            figures[name].append(measure(spdl, arguments.engine, body))
        print(f"\rround {number + 1} of {arguments.rounds}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    first, *_ = figures.values()
    report = {"python": platform.python_version(), "machine": platform.platform(), "cpus": os.cpu_count(),
              "rounds": arguments.rounds, "batches": BATCHES * DRAINS, "unit": "us of thread CPU time a batch", "figures": {}}
    for name, values in figures.items():
        low, middle, high = statistics.quantiles(values, n=4)
        more = statistics.median(value - base for value, base in zip(values, first))
        report["figures"][name] = {"median": middle, "quartiles": [low, high], "least": min(values), "more": more}
        print(f"{name:24} {middle:6.2f} us  [{low:.2f}, {high:.2f}]  least {min(values):.2f}  +{more:.2f}")
    if arguments.out:
        Path(arguments.out).parent.mkdir(parents=True, exist_ok=True)
        Path(arguments.out).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
