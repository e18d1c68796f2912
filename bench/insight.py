#!/usr/bin/env python3
"""What the engine's insight is worth: "+1 core: about +N %" beside the truth, and what the instruments cost.

    insight.py --images DIR [--rounds 3] [--seconds 4] [--instructions]

Each round serves the same pictures with --cpus 1 and with --cpus 2 to a consumer that gives each batch back at once. The
prediction is spdl top's at one core, the truth the rate at two over the rate at one, of the same round. A round in which the
machine was shared counts for nothing: top then says so, and that is printed in its place.

The cost is an upper bound: every op of every stage times what a meter takes for one (BenchmarkMeter, its two readings of the clock included),
and every pass of a queue times all of a put and a get (BenchmarkQueuePutGetOneGoroutine), over the engine's CPU time.
Run it on a quiet machine with two cores or more.

--instructions counts instead, with valgrind's cachegrind, and needs no quiet machine: bench/instruments, an engine's stages without a ring,
built as it is and with the tag uninstrumented, in one run. What the tag saves a sample is counted with empty ops, where it can be seen, and
set beside what a sample takes in all, once with pictures.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ.setdefault("SPDL_LIBRARY", str(ROOT / "build/libspdl.so"))
sys.path.insert(0, str(ROOT / "clients/python"))
import spdl  # noqa: E402

ENGINE = os.environ.get("SPDL_ENGINE", str(ROOT / "build/spdl"))


def look(images, cpus, seconds):
    """What `spdl top` says of a ring with so many cores, after a moment to warm up."""
    name = f"insight-{os.getpid()}-{cpus}"
    serve = [ENGINE, "serve", images, "--name", name, "--size", "224", "--batch", "16", "--cpus", str(cpus)]
    with subprocess.Popen(serve, stderr=subprocess.PIPE, text=True) as engine:
        try:
            while "ready:" not in (line := engine.stderr.readline()):
                if not line:
                    raise SystemExit(f"insight: {' '.join(serve)}: ended before it was ready")
            loader, over = spdl.attach(name), threading.Event()
            consumer = threading.Thread(target=lambda: next((1 for epoch in loader.epochs() for _ in epoch if over.is_set()), None))
            consumer.start()
            try:
                top = [ENGINE, "top", name, "--once", "--json", "--interval"]
                subprocess.run([*top, "1s"], check=True, stdout=subprocess.DEVNULL)
                told = subprocess.run([*top, f"{seconds}s"], check=True, stdout=subprocess.PIPE, text=True).stdout
            finally:
                over.set()
                consumer.join()
                loader.close()
            return json.loads(told)
        finally:
            engine.terminate()


def predicted(verdict):
    """The gain that the verdict promises of a core more; None if it names another limit."""
    return next((w["gain"] for w in verdict["what_if"] or () if w["change"] == "+1 core"), None)


def what_if(images, rounds, seconds):
    errors = []
    for _ in range(rounds):
        one, two = look(images, 1, seconds), look(images, 2, seconds)
        verdicts, rates = zip(*((at["rings"][0]["verdict"], at["rings"][0]["rows_per_s"]) for at in (one, two)))
        gain, truth = predicted(verdicts[0]), rates[1] / rates[0] - 1
        shared = next((v["text"] for v in verdicts if v["limit"] == "cpu"), None)
        said = f"predicted {gain:+.0%}" if gain is not None and not shared else f"not comparable: {shared or verdicts[0]['text']}"
        print(f"+1 core: {rates[0]:.0f} -> {rates[1]:.0f} samples/s, measured {truth:+.0%}; {said}", flush=True)
        if gain is not None and not shared:
            errors.append((1 + gain) / (1 + truth) - 1)
    if errors:
        print(f"the prediction is off by {statistics.median(errors):+.0%} (median of {len(errors)} rounds)")


def nanoseconds():
    """Of a meter's op, and of a queue's put and get."""
    names = ["BenchmarkMeter", "BenchmarkQueuePutGetOneGoroutine"]
    out = subprocess.run(["go", "test", "-run", "^$", "-bench", f"^({'|'.join(names)})$", "./core/pipeline"], cwd=ROOT, check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    return [float(re.search(rf"{name}\S*\s+\d+\s+([\d.]+) ns/op", out).group(1)) for name in names]


def cost(images, seconds):
    op_ns, queue_ns = nanoseconds()
    at = look(images, 1, seconds)
    ring = at["rings"][0]
    rows = ring["rows_per_s"] * at["seconds"]
    ops = sum(stage["items"] for stage in ring["stages"])
    passes = sum(stage["items"] for stage in ring["stages"] if stage["kind"] != "sink")
    cpu_ns = at["process"]["cpus_used"] * at["seconds"] * 1e9
    share = (ops * op_ns + passes * queue_ns) / cpu_ns
    print(f"instruments: {ops / rows:.2f} ops a sample at {op_ns:.0f} ns, {passes / rows:.2f} passes of a queue at {queue_ns:.0f} ns, "
          f"of {cpu_ns / rows / 1000:.0f} us CPU: at most {share:.4%}")
    if share > 0.01:
        raise SystemExit("insight: the instruments cost more than 1 %")


def count(program, *arguments):
    """Instructions of a run: the least of five, since Go's scheduler looks about for work now and then."""
    counts = []
    for _ in range(5):
        run = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", program, *map(str, arguments)]
        told = subprocess.run(run, env={**os.environ, "GODEBUG": "asyncpreemptoff=1"}, check=True, stderr=subprocess.PIPE, text=True).stderr
        counts.append(int(re.search(r"refs:\s+([\d,]+)", told).group(1).replace(",", "")))
    return min(counts)


def a_sample(program, source, few, many):
    """Instructions of one sample more."""
    return (count(program, source, many) - count(program, source, few)) / (many - few)


def instructions(images):
    with tempfile.TemporaryDirectory() as directory:
        programs = {"timed and counted": "noffmpeg", "without": "noffmpeg,uninstrumented"}
        for name, tags in programs.items():
            programs[name] = f"{directory}/{name.split()[0]}"
            subprocess.run(["go", "build", "-tags", tags, "-o", programs[name], "./bench/instruments"], cwd=ROOT, check=True,
                           env={**os.environ, "CGO_CFLAGS_ALLOW": ".*"})
        empty = {name: a_sample(program, "-", 2000, 22000) for name, program in programs.items()}
        whole = a_sample(programs["timed and counted"], images, 10, 40)
    cost = empty["timed and counted"] - empty["without"]
    share = cost / whole
    print(f"instruments: {empty['timed and counted']:.0f} instructions a sample of empty ops, {empty['without']:.0f} without them: "
          f"{cost:.0f} of the {whole:.0f} of a picture, {share:.4%}")
    if share > 0.01:
        raise SystemExit("insight: the instruments cost more than 1 %")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--images", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--instructions", action="store_true")
    args = parser.parse_args()
    if args.instructions:
        return instructions(args.images)
    cost(args.images, args.seconds)
    what_if(args.images, args.rounds, args.seconds)


if __name__ == "__main__":
    main()
