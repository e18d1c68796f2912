"""Hours of kills, of quiet, and of a machine that is far too busy: nothing is lost, nobody is taken for dead who lives, and nothing grows.

Two seconds of each here; `make soak HOURS=8` for hours (WHAT=kills, quiet or busy for one of them).
"""

import json
import os
import pathlib
import random
import subprocess
import time

import pytest

BUILD = pathlib.Path(os.environ["SPDL_BUILD"])
HOURS = float(os.environ.get("SPDL_SOAK_HOURS", 0))
SECONDS = HOURS * 3600 or 2
WATCHDOG = 120
CONSUMERS, LEASES = 4, 2
BUSY = int(os.environ.get("SPDL_SOAK_BUSY", 16 * (os.cpu_count() or 1) if HOURS else 1))
EACH_S = 2 if HOURS else 0.1  # between two kills
MIB = 1 << 20
GROWTH = 16 * MIB + HOURS * MIB  # of the engine's own memory: a heap that finds its size, and the promise of a MiB an hour


@pytest.fixture
def start():
    running = []

    def popen(command, **options):
        p = subprocess.Popen(command, text=True, **options)
        running.append(p)
        return p

    yield popen
    for p in running:
        p.kill()
        p.communicate()


class Soak:
    """An endless engine of patterns, and consumers that check every byte of them."""

    def __init__(self, start, what, said):
        self.start, self.said, self.kills, self.struck, self.doomed, self.name = start, said, 0, 0, set(), f"soak-{what}-{os.getpid()}"
        self.engine = start([BUILD / "ringpattern", "--name", self.name, "--groups", "g", "--epochs", "0", "--batches", "1000", "--bytes", "4096", "--slots", "16",
                             "--rate", "300"], stdout=subprocess.PIPE)
        assert self.engine.stdout.readline().startswith("ready")
        self.consumers = [self.consumer() for _ in range(CONSUMERS)]

    def consumer(self, **env):
        env = dict(os.environ, LD_LIBRARY_PATH=str(BUILD / "faults"), **env)
        with open(self.said, "a") as said:
            return self.start([BUILD / "tests/fault-consumer", self.name, "g", "/dev/null"], env=env, stderr=said)

    def kill_one(self, rng):
        """Any but the first. Who comes in its place stands still, one time in two, with a batch in its hands, until it is killed."""
        old = self.consumers[rng.randrange(1, CONSUMERS)]
        if old in self.doomed:
            old = self.standing()  # perhaps another, behind which nobody gets a batch
            self.struck += 1
        stands = rng.randrange(2)
        self.replace(old, SPDL_FAULT=f"payload.read:{rng.randint(1, 5)}:stop" if stands else "")
        if stands:
            self.doomed.add(self.consumers[-1])

    def replace(self, old, **env):
        old.kill()
        old.wait()
        self.kills += 1
        self.doomed.discard(old)
        self.consumers.remove(old)
        self.consumers.append(self.consumer(**env))

    def standing(self):
        """One that stands still, as soon as one does."""
        end = time.monotonic() + WATCHDOG
        while time.monotonic() < end:
            for p in self.doomed:
                if os.waitid(os.P_PID, p.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT | os.WNOHANG):
                    return p
            time.sleep(0.01)
        raise AssertionError("nobody stands still who was told to")

    def relieve(self):
        """Nobody stands still any more."""
        for old in list(self.doomed):
            self.replace(old)

    def told(self):
        """(members, batches completed) as the engine tells them."""
        done = subprocess.run([BUILD / "spdl", "inspect", self.name, "--json"], capture_output=True, text=True, timeout=WATCHDOG, check=True)
        group = json.loads(done.stdout)["ring"]["groups"][0]
        return len(group["members"] or []), group["completed"]

    def settled(self):
        """The engine's (descriptors, own memory), once all consumers are its members and get batches."""
        _, before = self.told()
        end = time.monotonic() + WATCHDOG
        while (now := self.told())[0] != CONSUMERS or now[1] <= before:
            assert time.monotonic() < end, now
            time.sleep(0.05)
        status = pathlib.Path(f"/proc/{self.engine.pid}/status").read_text()
        return len(os.listdir(f"/proc/{self.engine.pid}/fd")), int(status.partition("RssAnon:")[2].split()[0]) * 1024

    def check(self):
        """Everybody is still there."""
        assert self.engine.poll() is None and all(p.poll() is None for p in self.consumers), self.said.read_text()

    def end(self):
        """The group's ledger."""
        self.check()
        self.engine.terminate()
        return json.loads(self.engine.communicate(timeout=WATCHDOG)[0].splitlines()[-1])


def burn(start):
    """Programs that want all of every processor, as nice as can be: what there is to fear is not that they win."""
    return [start(["nice", "-n", "19", "sh", "-c", "while :; do :; done"]) for _ in range(BUSY)]


@pytest.mark.parametrize("what", ["kills", "quiet", "busy"])
def test_hours_lose_nothing_and_nothing_grows(start, what, tmp_path):
    """Redelivered is what the killed held, at most, and nothing where none was killed; descriptors stay, and memory within a MiB an hour."""
    soak, rng = Soak(start, what, tmp_path / "said"), random.Random(7)
    burners = burn(start) if what == "busy" else []
    fds, memory = soak.settled()
    end = time.monotonic() + SECONDS
    while time.monotonic() < end or what == "kills" and not soak.struck:
        time.sleep(EACH_S)
        soak.check()
        if what == "kills":
            soak.kill_one(rng)
    for p in burners:
        p.kill()
    soak.relieve()
    fds_now, memory_now = soak.settled()
    ledger = soak.end()
    print(f"{what}: {SECONDS:.0f} s, {soak.kills} kills, {soak.struck} of them with a batch in hand, {ledger['completed']} batches, {ledger['redelivered']} redelivered, "
          f"descriptors {fds} then {fds_now}, memory {memory / MIB:.1f} MiB then {memory_now / MIB:.1f}")
    assert (ledger["violations"], ledger["dropped"]) == (0, 0) and ledger["completed"] > 0
    assert soak.struck <= ledger["redelivered"] <= soak.kills * LEASES
    assert fds_now <= fds + 2 and memory_now - memory < GROWTH  # a dead member's or an inspector's may be on their way
