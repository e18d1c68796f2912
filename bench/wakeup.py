#!/usr/bin/env python3
"""wakeup.py NAME N: as bench/wakeup.c, for a for loop in Python: from published_ns to the loop body, of batches waited for."""

import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "clients" / "python"))
os.environ.setdefault("SPDL_LIBRARY", str(ROOT / "build" / "libspdl.so"))
import spdl  # noqa: E402

WARM = 20


def delays(name, n):
    found = []
    with spdl.attach(name, max_leases=1) as loader:
        for epoch in loader.epochs():
            asked = time.monotonic_ns()
            for batch in epoch:
                now = time.monotonic_ns()
                if batch.published_ns >= asked:
                    found.append((now - batch.published_ns) / 1000)
                if len(found) == n + WARM:
                    return sorted(found[WARM:])
                asked = time.monotonic_ns()
    return sorted(found)


def main():
    name, n = sys.argv[1], int(sys.argv[2])
    found = delays(name, n)
    p50, p90, p99 = (found[len(found) * p // 100] for p in (50, 90, 99))
    print(f"{'the same in Python':<22} p50 {p50:8.2f} us, p90 {p90:8.2f} us, p99 {p99:8.2f} us of {len(found)}")


if __name__ == "__main__":
    main()
