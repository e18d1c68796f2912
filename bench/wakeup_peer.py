#!/usr/bin/env python3
"""wakeup_peer.py GAP_MS N: as bench/wakeup.py, for Meta's SPDL: from the end of a source's sleep to the loop body that gets its item.

Needs an interpreter that has Meta's SPDL. Items that were there before they were asked for are left out, as there.
"""

import sys
import time

from spdl.pipeline import PipelineBuilder

WARM = 20


def times(gap):
    """When each item was made, after a gap in seconds."""
    while True:
        time.sleep(gap)
        yield time.monotonic_ns()


def delays(gap, n):
    found = []
    pipeline = PipelineBuilder().add_source(times(gap)).add_sink(2).build(num_threads=1)
    with pipeline.auto_stop():
        asked = time.monotonic_ns()
        for made in pipeline:
            now = time.monotonic_ns()
            if made >= asked:
                found.append((now - made) / 1000)
            if len(found) == n + WARM:
                break
            asked = time.monotonic_ns()
    return sorted(found[WARM:])


def main():
    gap, n = float(sys.argv[1]) / 1000, int(sys.argv[2])
    found = delays(gap, n)
    p50, p90, p99 = (found[len(found) * p // 100] for p in (50, 90, 99))
    print(f"{'SPDL (Meta)':<22} p50 {p50:8.2f} us, p90 {p90:8.2f} us, p99 {p99:8.2f} us of {len(found)}")


if __name__ == "__main__":
    main()
