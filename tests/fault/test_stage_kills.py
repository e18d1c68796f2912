"""kill -9 of a stage's workers at named points: consumers see every batch once, in order, whole and transformed once by
each stage, whatever was half done.

Two stages, two groups of consumers, an endless run. Every byte is compared with that of a run without stages, and the
engine's ledger with the workers' own logs. Each point is hit 20 times (SPDL_FAULT_LONG=1: 150 times).
"""

import collections
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["SPDL_BUILD"])
sys.path[:0] = [str(ROOT / "clients/python"), str(ROOT / "tests/e2e")]

import spdl  # noqa: E402
from pictures import make_folder  # noqa: E402

ROUNDS = 150 if os.environ.get("SPDL_FAULT_LONG") else 20
ONCE = ["attach.sent", "attach.mapped", "detach.unmap", "detach.sent"]
POINTS = ["half", *ONCE, "word.read", "claim.cas", "after.claim", "payload.read", "before.done", "after.done", "before.release",
          "release.cas", "after.release", "before.fail", "after.fail", "wait", "woken"]
STAGES, GROUPS = ["first", "second"], ["train", "watch"]
STEPS, BATCH = 10, 4


def transform(image):
    flat = image.reshape(-1)
    return (3 * flat + np.arange(flat.size, dtype=np.int64) + 1).astype(np.uint8).reshape(image.shape)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    return make_folder(tmp_path_factory.mktemp("pictures"), STEPS * BATCH).path


class Run:
    """An engine with stages, a steady worker in each, and consumers that check what they are given."""

    def __init__(self, name, pictures, tmp_path, ring):
        description = {"source": {"folder": str(pictures)}, "batch": BATCH, "order": {"shuffle": False, "epochs": 0},
                       "image": {"transform": [{"resize": [8, 8]}]}, "bad_sample": {"policy": "mask"}, "ring": ring}
        self.name, self.log, self.said = name, tmp_path / "workers.log", tmp_path / "engine.log"
        with open(self.said, "wb") as out:
            self.engine = subprocess.Popen([BUILD / "spdl", "serve", "--spec-json", json.dumps(description), "--name", name],
                                           stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while " ready: " not in self.said.read_text():
            assert self.engine.poll() is None and time.monotonic() < deadline, self.said.read_text()
            time.sleep(0.005)

    def worker(self, stage, fault=None, half=None):
        env = dict(os.environ, LD_LIBRARY_PATH=str(BUILD / "faults"), **({"SPDL_FAULT": fault} if fault else {}))
        return subprocess.Popen([BUILD / "tests/fault-stage", self.name, stage, self.log, *([str(half)] if half else [])], env=env)

    def stop(self):
        self.engine.terminate()
        return self.engine.wait(60)


def oracle(pictures, tmp_path):
    """What consumers must be given of ticket t: [t % STEPS], untransformed."""
    run = Run(f"oracle-{os.getpid()}", pictures, tmp_path, {})
    try:
        with spdl.attach(run.name) as loader:
            return [loader.acquire()["image"].copy() for _ in range(STEPS)]
    finally:
        run.stop()


class Consumer(threading.Thread):
    """Takes batches until told to stop; error is what was wrong with the first wrong one."""

    def __init__(self, name, group, want, over):
        super().__init__()
        self.place, self.want, self.over = (name, group), want, over
        self.seen, self.error = 0, None

    def run(self):
        try:
            with spdl.attach(self.place[0], group=self.place[1], max_leases=2) as loader:
                while not self.over.is_set():
                    self.look(loader.acquire(timeout=60))
        except BaseException as error:
            self.error = error

    def look(self, batch):
        if batch is None:
            return
        with batch:
            assert (batch.ticket, batch.attempts, batch.rows) == (self.seen, 1, BATCH)
            first = self.want[self.seen % STEPS]
            failed = self.seen % 7 == 6
            first = np.zeros_like(first) if failed else transform(first)
            assert np.array_equal(batch["image"], transform(first)), f"ticket {batch.ticket}"
            assert batch["status"].tolist() == [spdl.ROW_MASKED if failed else spdl.ROW_OK] * BATCH
        self.seen += 1
        time.sleep(0.001)


def stats(run):
    with spdl.attach(run.name, group=GROUPS[0]) as loader:
        return loader.stats()["rings"][0]


def await_end(doomed, consumers):
    """Wait for a worker's end, unless a consumer is given what is wrong: then the ring stands still."""
    deadline = time.monotonic() + 60
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
def test_consumers_get_every_batch_once_and_whole_when_a_worker_is_killed_at(point, pictures, tmp_path):
    (tmp_path / "oracle").mkdir()
    want = oracle(pictures, tmp_path / "oracle")
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
        check = subprocess.run([BUILD / "spdl", "inspect", run.name, "--check"], capture_output=True, text=True, timeout=60)
        assert check.returncode == 0, check.stdout + check.stderr
        over.set()
        for consumer in consumers:
            consumer.join(70)
        assert not any(c.error for c in consumers), [c.error for c in consumers]
        ledger = {g["name"]: g for g in stats(run)["groups"]}
    finally:
        over.set()
        code = run.stop()
        for worker in workers:
            worker.kill()
            worker.wait()
        for consumer in consumers:
            consumer.join(70)
    assert code == 0
    for group in [*STAGES, *GROUPS]:
        assert (ledger[group]["violations"], ledger[group]["dropped"]) == (0, 0)
    for group in GROUPS:
        assert ledger[group]["redelivered"] == 0
    handed = min(c.seen for c in consumers)
    again = check_log(run.log.read_text().splitlines(), handed)
    print(f"{point}: {kills} kills in {rounds} rounds, {handed} batches right, {again} deliveries again", flush=True)
