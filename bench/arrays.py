#!/usr/bin/env python3
"""Folders of .npy files without media, beside loops that load the same files: interleaved rounds, medians with quartiles.

    arrays.py --out FILE.json [--rounds 10] [--only LANE]

Lanes, all from the page cache, in one random order:
  latents    2,000 arrays of 4 x 64 x 64 f32 (64 KiB), batches of 32
  features   120 arrays of 1,500 x 1,024 f32 (6 MiB), batches of 4
Contenders, each with two workers: numpy.load of each file into a row of the batch, by threads; preadv of the elements into the row, by
threads, which is the one copy that cannot be spared; torch's DataLoader over numpy.load, where torch is there; an engine with two CPUs in a
Python consumer's hands. Nobody looks at the elements.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ.setdefault("SPDL_LIBRARY", str(ROOT / "build/libspdl.so"))
os.environ.setdefault("SPDL_LOG", "error")
sys.path.insert(0, str(ROOT / "clients/python"))
import spdl  # noqa: E402

LANES = {"latents": (2000, (4, 64, 64), 32, 10), "features": (120, (1500, 1024), 4, 4)}  # files, shape, batch, passes
WORKERS, WARM = 2, 8


def make(folder, files, shape):
    folder.mkdir()
    numbers = np.random.default_rng(1)
    for i in range(files):
        np.save(folder / f"{i:05d}.npy", numbers.standard_normal(shape, dtype="f4"))
    return sorted(map(str, folder.iterdir()))


def loaded(name, row):
    row[...] = np.load(name)


def read(name, row):
    descriptor = os.open(name, os.O_RDONLY)
    os.preadv(descriptor, [memoryview(row).cast("B")], 128)  # the header that np.save writes of these
    os.close(descriptor)


def threads(load, names, shape, batch, passes):
    """Batches that a pool of threads fills, each row by itself; one is filled while another is in hand."""
    order = np.random.default_rng(2)
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        slots = [np.empty((batch, *shape), "f4") for _ in range(3)]
        pending = []
        for _ in range(passes):
            shuffled = order.permutation(len(names))
            for at in range(0, len(names) - batch + 1, batch):
                slot = slots.pop()
                pending.append((slot, [pool.submit(load, names[i], slot[row]) for row, i in enumerate(shuffled[at:at + batch])]))
                if len(pending) == 2:
                    slot, rows = pending.pop(0)
                    for row in rows:
                        row.result()
                    yield batch
                    slots.append(slot)


def dataloader(names, shape, batch, passes):
    import torch

    class Files(torch.utils.data.Dataset):
        def __len__(self):
            return len(names)

        def __getitem__(self, i):
            return torch.from_numpy(np.load(names[i]))

    loader = torch.utils.data.DataLoader(Files(), batch, shuffle=True, num_workers=WORKERS, drop_last=True, persistent_workers=True)
    for _ in range(passes):
        for rows in loader:
            yield len(rows)


def engine(names, shape, batch, passes):
    spec = {"name": "arrays", "source": {"folder": os.path.dirname(names[0]), "columns": [{"name": "x", "from": "npy", "type": "npy"}]}, "batch": batch,
            "order": {"epochs": passes, "last": "drop"}, "limits": {"cpus": WORKERS}}
    with spdl.open(spec, engine=str(ROOT / "build/spdl")) as loader:
        for epoch in loader.epochs():
            for rows in epoch:
                assert rows.n_bad == 0 and rows["x"].shape == (batch, *shape)
                yield batch


CONTENDERS = {
    "numpy": lambda *data: threads(loaded, *data), "preadv": lambda *data: threads(read, *data), "torch": dataloader, "spdl": engine,
}


def rate(batches):
    """Samples a second after the first batches."""
    seen = rows = 0
    for n in batches:
        seen += 1
        if seen == WARM:
            began = time.perf_counter()
        elif seen > WARM:
            rows += n
    return rows / (time.perf_counter() - began)


def race(lane, contenders, rounds):
    files, shape, batch, passes = LANES[lane]
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as place:
        names = make(pathlib.Path(place) / lane, files, shape)
        seen = {who: [] for who in contenders}
        for i in range(rounds + 1):
            for who in list(contenders)[::1 if i % 2 else -1]:
                seen[who].append(rate(contenders[who](names, shape, batch, passes)))
            print(f"{lane} round {i}/{rounds}: " + ", ".join(f"{who} {rates[-1]:.0f}" for who, rates in seen.items()), file=sys.stderr, flush=True)
    seen = {who: rates[1:] for who, rates in seen.items()}

    def quartiles(values, digits):
        return [round(q, digits) for q in statistics.quantiles(values, n=4, method="inclusive")]

    result = {who: {"samples_per_second": quartiles(rates, 0)} for who, rates in seen.items()}
    for who, rates in seen.items():
        if who != "spdl":
            result["spdl"]["over_" + who] = quartiles([ours / theirs for ours, theirs in zip(seen["spdl"], rates)], 2)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--only", choices=LANES, help="one lane")
    args = parser.parse_args()
    contenders = dict(CONTENDERS)
    try:
        import torch  # noqa: F401
    except ImportError:
        del contenders["torch"]
    result = {"command": f"bench/arrays.py --rounds {args.rounds}", "unit": f"{WORKERS} workers each; quartiles, the first round is left out",
              "lanes": {lane: race(lane, contenders, args.rounds) for lane in LANES if args.only in (None, lane)}}
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
