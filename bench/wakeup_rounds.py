#!/usr/bin/env python3
"""wakeup_rounds.py: of bench/wakeup.sh's rounds on standard input, every figure's median over the rounds, and the range of the p50s.

A machine that is shared has bad seconds: a round that met them is one of several. Prints as the rounds do, in their order.
"""

import re
import statistics
import sys

ROW = re.compile(r"(.+?)\s+p50\s+([\d.]+) us, p90\s+([\d.]+) us, p99\s+([\d.]+) us of (\d+)")


def read(lines):
    """{heading: {contender: [(p50, p90, p99) of each round]}}"""
    tables, table = {}, {}
    for line in lines:
        row = ROW.match(line)
        if row:
            table.setdefault(row[1], []).append(tuple(map(float, row.groups()[1:4])))
        elif line.strip():
            table = tables.setdefault(line.strip(), {})
    return tables


def main():
    for heading, table in read(sys.stdin).items():
        print(heading)
        for name, rounds in table.items():
            p50, p90, p99 = map(statistics.median, zip(*rounds))
            least, most = min(r[0] for r in rounds), max(r[0] for r in rounds)
            print(f"{name:<22} p50 {p50:8.2f} us ({least:.2f} to {most:.2f}), p90 {p90:8.2f} us, p99 {p99:8.2f} us; medians of {len(rounds)} rounds")


if __name__ == "__main__":
    main()
