"""kill -9 of a stage's workers at named points: consumers see every batch once, in order, whole and transformed once by
each stage, whatever was half done.

Two stages, two groups of consumers, an endless run. Every byte is compared with that of a run without stages, and the
engine's ledger with the workers' own logs. Each point is hit 20 times (SPDL_FAULT_LONG=1: 150 times; `make kills`: 1,000).
"""

import collections
import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from staged import BUILD, GROUPS, STAGES, Consumer, Run

import spdl

ROUNDS = int(os.environ.get("SPDL_KILLS", 150 if os.environ.get("SPDL_FAULT_LONG") else 20))
ONCE = ["attach.sent", "attach.mapped", "detach.unmap", "detach.sent"]
POINTS = ["half", *ONCE, "word.read", "claim.cas", "after.claim", "payload.read", "before.done", "after.done", "before.release",
          "release.cas", "after.release", "before.fail", "after.fail", "wait", "woken"]


def stats(run):
    with spdl.attach(run.name, group=GROUPS[0]) as loader:
        return loader.stats()["rings"][0]


def await_end(doomed, consumers):
    """Wait for a worker's end, unless a consumer is given what is wrong: then the ring stands still."""
    deadline = time.monotonic() + 120
    while doomed.poll() is None:
        assert not any(c.error for c in consumers), [c.error for c in consumers]
        assert time.monotonic() < deadline, "the worker was never killed"
        time.sleep(0.002)
    assert doomed.returncode in (0, -signal.SIGKILL)


def check_log(lines, handed):
    """Every delivery after a first one is flagged, and nothing that was handed on comes again to that stage, unless a later
    stage's worker died with it."""
    delivered, done = collections.defaultdict(list), collections.defaultdict(list)
    for kind, stage, ticket, attempts in (line.split() for line in lines):
        (delivered if kind == "A" else done)[stage, int(ticket)].append(int(attempts))
    for place, attempts in delivered.items():
        assert len(set(attempts)) == len(attempts), f"{place}: delivered as attempts {attempts}"
    for (stage, ticket), attempts in done.items():
        assert len(set(attempts)) == len(attempts)
        if stage == "second":
            assert len(attempts) == 1 or ticket >= handed, f"ticket {ticket}: the second stage was through with it twice"
    return sum(1 for attempts in delivered.values() for a in attempts if a > 1)


@pytest.mark.parametrize("point", POINTS)
def test_consumers_get_every_batch_once_and_whole_when_a_worker_is_killed_at(point, pictures, want, tmp_path):
    groups = [{"name": s, "kind": "stage"} for s in STAGES] + [{"name": g} for g in GROUPS]
    run = Run(f"stagekill-{os.getpid()}-{point}", pictures, tmp_path, {"groups": groups, "slots": 16})
    over, kills, rounds, rng, workers = threading.Event(), 0, 0, random.Random(point), []
    consumers = [Consumer(run.name, group, want, over) for group in GROUPS]
    try:
        for consumer in consumers:
            consumer.start()
        workers += [run.worker(stage) for stage in STAGES]
        while kills < ROUNDS:
            rounds += 1
            assert rounds <= 4 * ROUNDS, f"{point}: only {kills} kills in {rounds} rounds"
            count = 1 if point in ONCE else rng.randint(1, 3 if point.endswith("fail") else 8)
            how = {"half": count} if point == "half" else {"fault": f"{point}:{count}:kill"}
            doomed = run.worker("first" if point.endswith("fail") else STAGES[rounds % 2], **how)
            workers.append(doomed)
            await_end(doomed, consumers)
            kills += doomed.returncode != 0
        check = subprocess.run([BUILD / "spdl", "inspect", run.name, "--check"], capture_output=True, text=True, timeout=120)
        assert check.returncode == 0, check.stdout + check.stderr
        over.set()
        for consumer in consumers:
            consumer.join(130)
        assert not any(c.error for c in consumers), [c.error for c in consumers]
        ledger = {g["name"]: g for g in stats(run)["groups"]}
    finally:
        over.set()
        code = run.stop()
        for worker in workers:
            worker.kill()
            worker.wait()
        for consumer in consumers:
            consumer.join(130)
    assert code == 0
    for group in [*STAGES, *GROUPS]:
        assert (ledger[group]["violations"], ledger[group]["dropped"]) == (0, 0)
    for group in GROUPS:
        assert ledger[group]["redelivered"] == 0
    handed = min(c.seen for c in consumers)
    again = check_log(run.log.read_text().splitlines(), handed)
    print(f"{point}: {kills} kills in {rounds} rounds, {handed} batches right, {again} deliveries again", flush=True)
