"""kill -9 of consumers at named points: nothing is lost, nothing is completed twice, every second delivery is flagged.

The engine's ledger and the consumers' own logs are compared. Each point is tried 20 times, 200 kills in all and more
(SPDL_FAULT_LONG=1: 150 times each; `make kills`: 1,000).
"""

import collections
import json
import os
import pathlib
import random
import signal
import subprocess
import time

import pytest

BUILD = pathlib.Path(os.environ["SPDL_BUILD"])
ROUNDS = int(os.environ.get("SPDL_KILLS", 150 if os.environ.get("SPDL_FAULT_LONG") else 20))
POINTS = ["attach.mapped", "word.read", "claim.cas", "after.claim", "payload.read", "before.done", "after.done",
          "before.release", "release.cas", "after.release"]
CONSUMERS, BATCHES, EPOCHS = 3, 40, 2
WATCHDOG = 120


def start_engine(name):
    engine = subprocess.Popen(
        [BUILD / "ringpattern", "--name", name, "--groups", "g", "--slots", "12", "--bytes", "512", "--batches", str(BATCHES),
         "--epochs", str(EPOCHS), "--max-consumers", "8", "--rate", "3000"], stdout=subprocess.PIPE, text=True)
    assert engine.stdout.readline().startswith("ready")
    return engine


def start_consumer(name, log, fault=None):
    env = dict(os.environ, LD_LIBRARY_PATH=str(BUILD / "faults"))
    if fault:
        env["SPDL_FAULT"] = fault
    return subprocess.Popen([BUILD / "tests/fault-consumer", name, "g", log], env=env)


def await_first_batch(consumer, log):
    deadline = time.monotonic() + WATCHDOG
    while consumer.poll() is None and not (log.exists() and log.stat().st_size):
        assert time.monotonic() < deadline, "the first consumer got nothing"
        time.sleep(0.001)


def run_round(point, count, tmp_path, name, ahead):
    """One engine, three consumers, the first of which dies at its count-th pass of the point. Returns whether it did.

    ahead: the others come when the first is at work, so that it gets as far whatever the machine does meanwhile. Who comes when
    the others have had everything is told that there is no such engine any more (exit code 3).
    """
    log = tmp_path / f"{name}.log"
    engine = start_engine(name)
    try:
        doomed = start_consumer(name, log, f"{point}:{count}:kill")
        if ahead:
            await_first_batch(doomed, log)
        others = [start_consumer(name, log) for _ in range(CONSUMERS - 1)]
        assert doomed.wait(WATCHDOG) in (0, 3, -signal.SIGKILL)
        for consumer in others:
            assert consumer.wait(WATCHDOG) in (0, 3)
        ledger = json.loads(engine.communicate(timeout=WATCHDOG)[0].splitlines()[0])
    finally:
        engine.kill()
        engine.wait()
    return doomed.returncode == -signal.SIGKILL, ledger, log.read_text().split("\n")[:-1]


def check(ledger, lines):
    delivered, done = collections.defaultdict(list), collections.Counter()
    for kind, ticket, attempts in (line.split() for line in lines):
        if kind == "A":
            delivered[int(ticket)].append(int(attempts))
        else:
            done[int(ticket)] += 1
    total = BATCHES * EPOCHS
    assert (ledger["published"], ledger["completed"], ledger["dropped"], ledger["violations"]) == (total, total, 0, 0)
    assert not [t for t in range(total) if done[t] > 1], "completed twice"
    # A consumer may die between its claim and its first line: that ticket's only line is then a second delivery.
    for ticket in range(total):
        attempts = sorted(delivered[ticket])
        assert attempts, f"ticket {ticket} was not seen"
        assert len(set(attempts)) == len(attempts), f"ticket {ticket}: a second delivery is not flagged: {attempts}"
        assert attempts[0] <= 2
    redelivered = sum(max(a) - 1 for a in delivered.values())
    assert redelivered == ledger["redelivered"]


@pytest.mark.parametrize("point", POINTS)
def test_every_ticket_is_completed_exactly_once_when_a_consumer_is_killed_at(point, tmp_path):
    """Each point is hit early and late in the run; a round whose consumer came too late to be hit is tried again."""
    rng, kills, rounds = random.Random(point), 0, 0
    while kills < ROUNDS:
        rounds += 1
        assert rounds <= 4 * ROUNDS, f"{point}: only {kills} kills in {rounds} rounds"
        count = 1 if point == "attach.mapped" else rng.randint(1, 12)
        killed, ledger, lines = run_round(point, count, tmp_path, f"kill-{os.getpid()}-{rounds}", ahead=rounds % 2 == 0)
        check(ledger, lines)
        kills += killed
    print(f"{point}: {kills} kills in {rounds} rounds, every ticket completed once", flush=True)
