#!/usr/bin/env python3
"""What it costs to open a large annotated data set by one word, beside what pycocotools takes to load its annotations.

    annotations.py --work DIR --out FILE.json [--pictures 118287] [--objects 860001] [--rounds 3]

Makes an instances file of that size (as large as COCO train's by itself) in DIR, unless it is there: polygons of 4 to 60 points, one object in a hundred as runs. In each round a
process of its own loads it by CocoDetection, as torch's user does anyway, and then has spdl.DataLoader open the data set with boxes, labels and masks and give its first batch.
Needs pycocotools, torch and torchvision (.venv-bench).
"""

import argparse
import json
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES = 64  # pictures that there are, over and over
HEIGHT, WIDTH = 480, 640


def outline(draw, number):
    """A polygon as COCO writes it, with two decimals, or runs."""
    x, y, w, h = draw.uniform(0, WIDTH - 40), draw.uniform(0, HEIGHT - 40), draw.uniform(8, 40), draw.uniform(8, 40)
    box = f'"bbox":[{x:.2f},{y:.2f},{w:.2f},{h:.2f}],"area":{w * h / 2:.4f},"category_id":{number % 90 + 1}'
    if number % 100 == 7:
        runs = [draw.randrange(400, 600) for _ in range(100)]
        return f'{{"segmentation":{{"counts":{[*runs, HEIGHT * WIDTH - sum(runs)]},"size":[{HEIGHT},{WIDTH}]}},"iscrowd":1,{box}'
    points = [f"{x + w * draw.random():.2f},{y + h * draw.random():.2f}" for _ in range(draw.randrange(4, 61))]
    return f'{{"segmentation":[[{",".join(points)}]],"iscrowd":0,{box}'


def made(work, pictures, objects):
    """A folder of a few pictures, and the instances file over them."""
    path = work / f"instances-{pictures}-{objects}.json"
    if path.exists():
        return path
    from PIL import Image

    work.mkdir(parents=True, exist_ok=True)
    draw = random.Random(1)
    for i in range(FILES):
        Image.effect_noise((WIDTH, HEIGHT), 60).convert("RGB").save(work / f"{i}.jpg")
    with open(path.with_suffix(".part"), "w") as out:
        out.write('{"categories":[' + ",".join(f'{{"id":{n},"name":"{n}"}}' for n in range(1, 91)) + '],"images":[')
        out.write(",".join(f'{{"id":{i + 1},"file_name":"{i % FILES}.jpg","height":{HEIGHT},"width":{WIDTH}}}' for i in range(pictures)))
        out.write('],"annotations":[')
        for number in range(objects):
            out.write(f'{"," if number else ""}{outline(draw, number)},"image_id":{number * pictures // objects + 1},"id":{number + 1}}}')
        out.write("]}")
    path.with_suffix(".part").rename(path)
    return path


def once(path):
    """One round, in a process of its own."""
    os.environ.setdefault("SPDL_LIBRARY", str(ROOT / "build/libspdl.so"))
    os.environ.setdefault("SPDL_ENGINE", str(ROOT / "build/spdl"))
    os.environ.setdefault("SPDL_LOG", "error")
    sys.path.insert(0, str(ROOT / "clients/python"))
    import spdl
    import torch  # which the data set has loaded anyway
    from torchvision import datasets
    from torchvision.transforms import v2

    began, cpu = time.perf_counter(), [time.process_time()]
    inner = datasets.CocoDetection(str(path.parent), str(path), transforms=v2.Compose([v2.RandomHorizontalFlip(), v2.Resize((320, 320)), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]))
    loaded, cpu = time.perf_counter(), [*cpu, time.process_time()]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    dataset = datasets.wrap_dataset_for_transforms_v2(inner, target_keys=("image_id", "boxes", "labels", "masks"))
    with spdl.DataLoader(dataset, batch_size=2, shuffle=True, collate_fn=lambda samples: tuple(zip(*samples))) as loader:
        opened = time.perf_counter()
        next(iter(loader))
        first, cpu = time.perf_counter(), [*cpu, time.process_time()]
        engine = pathlib.Path(f"/proc/{loader.loader.info.engine_pid}")
        ticks = (engine / "stat").read_text().rpartition(")")[2].split()[11:13]  # user's and system's
        most = next(int(line.split()[1]) for line in (engine / "status").read_text().splitlines() if line.startswith("VmHWM"))
    engine_cpu = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    theirs, ours = cpu[1] - cpu[0], cpu[2] - cpu[1] + engine_cpu
    return {"pycocotools_s": loaded - began, "opened_s": opened - loaded, "first_batch_s": first - loaded, "ratio": (first - loaded) / (loaded - began),
            "pycocotools_cpu_s": theirs, "cpu_s": ours, "engine_cpu_s": engine_cpu, "cpu_ratio": ours / theirs,
            "program_more_mb": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024, "engine_mb": most / 1024}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--pictures", type=int, default=118_287)
    parser.add_argument("--objects", type=int, default=860_001)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--once", type=pathlib.Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.once:
        print(json.dumps(once(args.once)), flush=True)
        return
    path = made(args.work, args.pictures, args.objects)
    rows = [json.loads(subprocess.run([sys.executable, __file__, "--work", args.work, "--once", path], check=True, stdout=subprocess.PIPE).stdout.splitlines()[-1]) for _ in range(args.rounds)]
    result = {"command": f"bench/annotations.py --pictures {args.pictures} --objects {args.objects} --rounds {args.rounds}", "unit": "medians; ratios: what comes until the first batch, to pycocotools' own load",
              "file_mb": round(path.stat().st_size / 1e6), **{key: round(statistics.median(row[key] for row in rows), 3) for key in rows[0]}}
    print(json.dumps(result, indent=1))
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
