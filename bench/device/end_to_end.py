#!/usr/bin/env python3
"""Pictures on disk to normalised f16 tensors on the GPU: spdl with a device, decoding itself or by nvJPEG, beside torch's DataLoader with
torchvision and pinned memory.

    end_to_end.py --images DIR [--batch 256] [--workers N] [--batches 200] [--rounds 10] [--out FILE.json]

Random resized crop 224, flip, normalise; N is for all, CPUs of the engine and workers of the DataLoader. A round runs all, in an order that
turns, each in processes of its own; per contender: images a second, CPU seconds for 1,000 images (of the whole group), and the milliseconds that a batch
kept the training loop waiting (p50, p99). Needs torch with CUDA and torchvision.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
WARM = 20
CONTENDERS = ["spdl", "nvjpeg", "torch"]


def ours(args, decode="cpu"):
    sys.path.insert(0, str(ROOT / "clients/python"))
    import spdl
    import torch

    description = {
        "source": {"folder": args.images}, "batch": args.batch, "limits": {"cpus": args.workers},
        "image": {"transform": [{"random_resized_crop": 224}, {"horizontal_flip": 0.5}]},
        "device": {"slots": 4, "in_flight": 2, "decode": decode, "finish": {"dtype": "f16", "normalize": "imagenet"}},
    }
    with spdl.open(description) as loader:
        for epoch in loader.epochs():
            for batch in epoch:
                yield batch.cuda["image"].torch()
                batch.release_after(torch.cuda.current_stream())


def theirs(args):
    import torch
    from torchvision import datasets, transforms

    transform = transforms.Compose([
        transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
        transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    ])
    loader = torch.utils.data.DataLoader(
        datasets.ImageFolder(args.images, transform), args.batch, shuffle=True, num_workers=args.workers, pin_memory=True, drop_last=True,
        persistent_workers=True)
    while True:
        for images, _ in loader:
            yield images.to("cuda", non_blocking=True).half()


def group_cpu():
    """CPU seconds of this process and all that it started, engines included."""
    ticks = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if f"SPDL_BENCH={os.getpid()}\0".encode() not in pathlib.Path(f"/proc/{pid}/environ").read_bytes() and int(pid) != os.getpid():
                continue
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(args):
    import torch

    os.environ["SPDL_BENCH"] = str(os.getpid())
    batches, waits = {"spdl": ours, "nvjpeg": lambda args: ours(args, "nvjpeg"), "torch": theirs}[args.contender](args), []
    for _ in range(WARM):
        next(batches).sum()
    torch.cuda.synchronize()
    cpu, began = group_cpu(), time.monotonic()
    for _ in range(args.batches):
        asked = time.monotonic()
        images = next(batches)
        waits.append(1e3 * (time.monotonic() - asked))
        images.sum()  # something that reads it
    torch.cuda.synchronize()
    took, n = time.monotonic() - began, args.batches * args.batch
    quantiles = statistics.quantiles(waits, n=100)
    print(json.dumps({
        "images_per_s": n / took, "cpu_s_per_1000": (group_cpu() - cpu) / n * 1000, "wait_p50_ms": quantiles[49], "wait_p99_ms": quantiles[98],
    }), flush=True)
    os._exit(0)  # without waiting for workers


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--images", required=True)
    p.add_argument("--out")
    p.add_argument("--contender", choices=CONTENDERS, help=argparse.SUPPRESS)
    for name, default in {"batch": 256, "workers": os.cpu_count(), "batches": 200, "rounds": 10}.items():
        p.add_argument(f"--{name}", type=int, default=default)
    args = p.parse_args()
    if args.contender:
        return measure(args)
    rounds = []
    for i in range(args.rounds):
        got = {}
        for contender in CONTENDERS[:: 1 if i % 2 else -1]:
            done = subprocess.run([sys.executable, __file__, *sys.argv[1:], "--contender", contender], check=True, capture_output=True, text=True)
            got[contender] = json.loads(done.stdout.splitlines()[-1])
        rounds.append(got)
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps(rounds, indent=1) + "\n")
    for ours, theirs in [("spdl", "torch"), ("nvjpeg", "torch"), ("nvjpeg", "spdl")]:
        ratio = statistics.median(r[ours]["images_per_s"] / r[theirs]["images_per_s"] for r in rounds)
        cpu = statistics.median(r[theirs]["cpu_s_per_1000"] / r[ours]["cpu_s_per_1000"] for r in rounds)
        print(f"{ours} / {theirs}: {ratio:.2f} x the images a second, {cpu:.2f} x the images for a CPU second")


if __name__ == "__main__":
    main()
