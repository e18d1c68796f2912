#!/usr/bin/env python3
"""Tensors that a program holds, and windows of a file that it maps, by spdl.DataLoader and by torch's: interleaved rounds, medians with quartiles.

    held.py --out FILE.json [--rounds 7] [--only LANE]

Lanes, all but the last a TensorDataset, which are shuffled anew in each epoch:
  digits    60,000 pictures of 1 x 28 x 28 u8 and a label, batches of 256
  table     1,000,000 rows of 32 f32 and a label, batches of 1,024
  tokens    20,000 rows of 2,048 i64, batches of 32
  windows   a class of one's own over a memmap of 100 MB of u16: 48,828 windows of 1,025 tokens, x and y of 1,024 i64 each, batches of 16
Contenders: the tensors indexed by a permutation in the loop, which nobody does with less and which takes the loop's own time; torch's DataLoader
without workers and with two; spdl.DataLoader. Each contender runs in a process of its own with torch on one thread; the clock starts after the first
epoch, and CPU seconds are those of the process and all that it started. Nobody looks at the rows.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import contender

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ.setdefault("SPDL_LIBRARY", str(ROOT / "build/libspdl.so"))
os.environ.setdefault("SPDL_ENGINE", str(ROOT / "build/spdl"))
os.environ.setdefault("SPDL_LOG", "error")
sys.path.insert(0, str(ROOT / "clients/python"))

LANES = {"digits": (60_000, 256, 6), "table": (1_000_000, 1024, 2), "tokens": (20_000, 32, 6), "windows": (48_828, 16, 2)}  # rows, batch, epochs
BLOCK = 1024  # tokens of a window, without the one behind it


def windows_of(path):
    import numpy
    import torch

    class Windows(torch.utils.data.Dataset):
        def __init__(self):
            self.data = numpy.memmap(path, dtype=numpy.uint16, mode="r")

        def __len__(self):
            return (len(self.data) - 1) // BLOCK

        def __getitem__(self, i):
            window = torch.from_numpy(self.data[i * BLOCK:i * BLOCK + BLOCK + 1].astype(numpy.int64))
            return window[:-1], window[1:]
    return Windows()


def dataset_of(lane):
    import torch

    rows = LANES[lane][0]
    if lane == "windows":
        return windows_of(os.environ["WINDOWS"])
    generator = torch.Generator().manual_seed(1)
    labels = torch.arange(rows)
    if lane == "digits":
        return torch.utils.data.TensorDataset(torch.randint(0, 256, (rows, 1, 28, 28), dtype=torch.uint8, generator=generator), labels)
    if lane == "table":
        return torch.utils.data.TensorDataset(torch.randn(rows, 32, generator=generator), labels)
    return torch.utils.data.TensorDataset(torch.randint(0, 50_000, (rows, 2048), generator=generator))


def by_hand(dataset, batch):
    import torch

    def rows(chosen):
        if not hasattr(dataset, "data"):
            return [one[chosen] for one in dataset.tensors]
        window = torch.from_numpy(dataset.data[chosen.numpy()[:, None] * BLOCK + torch.arange(BLOCK + 1).numpy()].astype("int64"))
        return window[:, :-1].contiguous(), window[:, 1:].contiguous()

    def epoch():
        order = torch.randperm(len(dataset))
        for at in range(0, len(order), batch):
            yield rows(order[at:at + batch])
    return epoch


def by_torch(workers):
    def loader_of(dataset, batch):
        import torch

        loader = torch.utils.data.DataLoader(dataset, batch, shuffle=True, num_workers=workers, persistent_workers=workers > 0)
        return lambda: iter(loader)
    return loader_of


def by_spdl(dataset, batch):
    import spdl

    loader = spdl.DataLoader(dataset, batch, shuffle=True, num_workers=2)

    def epoch():
        batches = iter(loader)
        contender.ENGINES.add(loader.loader.stats()["pid"])
        return batches
    return epoch


CONTENDERS = {"by hand": by_hand, "torch": by_torch(0), "torch, 2 workers": by_torch(2), "spdl": by_spdl}


def once(who, lane):
    """Rows a second of the epochs after the first, and CPU seconds for a million rows."""
    import torch

    torch.set_num_threads(1)
    rows, batch, epochs = LANES[lane]
    epoch = CONTENDERS[who](dataset_of(lane), batch)
    for number in range(epochs + 1):
        seen = sum(len(fields[0]) for fields in epoch())
        assert seen == rows, (who, seen)
        if number == 0:
            began, used = time.perf_counter(), contender.cpu_seconds()
    seconds, used = time.perf_counter() - began, contender.cpu_seconds() - used
    return {"rows_per_second": rows * epochs / seconds, "cpu_seconds_per_million": used / (rows * epochs) * 1e6}


def race(lane, rounds):
    seen = {who: [] for who in CONTENDERS}
    for i in range(rounds):
        for who in list(CONTENDERS)[::1 if i % 2 else -1]:
            done = subprocess.run([sys.executable, __file__, "--once", who, "--only", lane], check=True, stdout=subprocess.PIPE, text=True, start_new_session=True)
            seen[who].append(json.loads(done.stdout))
        print(f"{lane} round {i + 1}/{rounds}: " + ", ".join(f"{who} {runs[-1]['rows_per_second']:.0f}" for who, runs in seen.items()), file=sys.stderr, flush=True)

    def quartiles(values, digits):
        return [round(q, digits) for q in statistics.quantiles(values, n=4, method="inclusive")]

    ours = seen["spdl"]
    return {who: {
        "rows_per_second": quartiles([run["rows_per_second"] for run in runs], 0),
        "cpu_seconds_per_million": quartiles([run["cpu_seconds_per_million"] for run in runs], 3),
        "spdl_over_this": quartiles([our["rows_per_second"] / run["rows_per_second"] for our, run in zip(ours, runs)], 2),
    } for who, runs in seen.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", choices=LANES, help="one lane")
    parser.add_argument("--once", choices=CONTENDERS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.once:
        print(json.dumps(once(args.once, args.only)))
        return
    with tempfile.NamedTemporaryFile() as file:
        if args.only in (None, "windows"):
            import numpy

            numpy.random.default_rng(1).integers(0, 50_000, LANES["windows"][0] * BLOCK + 1).astype(numpy.uint16).tofile(file.name)
            os.environ["WINDOWS"] = file.name
        result = {"command": f"bench/held.py --rounds {args.rounds}{f' --only {args.only}' if args.only else ''}", "unit": "quartiles",
                  "lanes": {lane: race(lane, args.rounds) for lane in LANES if args.only in (None, lane)}}
    if args.out:
        args.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
