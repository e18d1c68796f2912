"""kill -9 of the engine at named points, and a restart under the same name: consumers in C and Python go on where they are.

Each batch is completed exactly once in each group, every second delivery is flagged, and every byte is that of an uncrashed run.
SPDL_FAULT_LONG=1 tries each point many times, `make kills` 1,000 times and more.
"""

import collections
import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest

BUILD = pathlib.Path(os.environ["SPDL_BUILD"])
HERE = pathlib.Path(__file__).parent
ROUNDS = int(os.environ.get("SPDL_KILLS", 40 if os.environ.get("SPDL_FAULT_LONG") else 2))
BATCHES, EPOCHS = 30, 2
TOTAL = BATCHES * EPOCHS
WATCHDOG = 120

# Where the engine dies while it serves; the number is how often the point is passed at least.
AT_WORK = {"handshake": 3, "handshake.registered": 3, "slot.take": TOTAL, "publish.store": TOTAL, "publish.put": 2 * TOTAL,
           "publish.word": 2 * TOTAL, "publish.group": 2 * TOTAL, "wake": TOTAL}
# Where it dies before anybody can attach.
AT_START = ["shm.create", "fallocate", "socket.bind", "socket.listen"]


class Run:
    """One ring, its engines one after the other, its consumers and their logs."""

    def __init__(self, name, folder, groups="a,b", reconnect="30s"):
        self.name, self.folder, self.groups, self.reconnect = name, folder, groups, reconnect
        self.kills, self.ledger = 0, None
        self.consumers, self.all = [], []

    def engine(self, fault=None):
        env = dict(os.environ, **({"SPDL_FAULT": fault} if fault else {}))
        p = subprocess.Popen(
            [BUILD / "faults/ringpattern", "--name", self.name, "--backing", "posix", "--adopt", "--reconnect", self.reconnect, "--groups", self.groups,
             "--slots", "12", "--bytes", "512", "--batches", str(BATCHES), "--epochs", str(EPOCHS), "--max-consumers", "8", "--rate", "3000"],
            stdout=subprocess.PIPE, text=True, env=env)
        self.all.append(p)
        return p

    def consume(self, group, python=False, fault=None):
        log = self.folder / f"{self.name}.{group}.log"
        command = [sys.executable, HERE / "consumer.py"] if python else [BUILD / "tests/fault-consumer"]
        env = dict(os.environ, LD_LIBRARY_PATH=str(BUILD / "faults"), **({"SPDL_FAULT": fault} if fault else {}))
        p = subprocess.Popen([*command, self.name, group, log], env=env)
        self.consumers.append(p)
        self.all.append(p)
        return p

    def supervise(self, faults):
        """Start the engine, and again whenever it was killed, each time with the next fault, at the end with none."""
        faults = [*faults, None]
        while True:
            engine = self.engine(faults.pop(0) if faults else None)
            out, _ = engine.communicate(timeout=WATCHDOG)
            if engine.returncode == 0:
                self.ledger = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
                return
            assert engine.returncode == -signal.SIGKILL, out
            self.kills += 1

    def check(self, doomed=()):
        for p in self.consumers:
            assert p.wait(WATCHDOG) in ((0, 3, -signal.SIGKILL) if p in doomed else (0, 3))
        for group in self.groups.split(","):
            lines = (self.folder / f"{self.name}.{group}.log").read_text().split("\n")[:-1]
            check_group([g for g in self.ledger if g["name"] == group][-1], lines)
        assert not [n for n in os.listdir("/dev/shm") if self.name in n]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for p in self.all:
            p.kill()
            p.wait()
            if p.stdout:
                p.stdout.close()


def check_group(ledger, lines):
    """The engine's book and the consumers' logs agree: each ticket done once, each further delivery flagged."""
    delivered, done = collections.defaultdict(list), collections.Counter()
    for kind, ticket, attempts in (line.split() for line in lines):
        if kind == "A":
            delivered[int(ticket)].append(int(attempts))
        else:
            done[int(ticket)] += 1
    assert (ledger["published"], ledger["completed"], ledger["dropped"], ledger["violations"]) == (TOTAL, TOTAL, 0, 0)
    assert set(delivered) == set(range(TOTAL))
    assert max(done.values()) == 1, "completed twice"
    for ticket, attempts in delivered.items():
        assert len(set(attempts)) == len(attempts), f"ticket {ticket}: a second delivery is not flagged: {attempts}"
    assert sum(max(a) - 1 for a in delivered.values()) == ledger["redelivered"]


@pytest.fixture
def run(tmp_path):
    with contextlib.ExitStack() as stack:
        yield lambda tag, **kw: stack.enter_context(Run(f"restart-{os.getpid()}-{tag}", tmp_path, **kw))


@pytest.mark.parametrize("point", AT_WORK)
def test_consumers_go_on_when_the_engine_is_killed_and_restarted_at(point, run):
    """The engine dies at the point, early or late, and its successor does at the next visit: nobody is told anything."""
    rng = random.Random(point)
    for i in range(ROUNDS):
        r = run(f"{point}-{i}")
        r.consume("a"), r.consume("a"), r.consume("b", python=i % 2 == 0)
        often = AT_WORK[point]
        r.supervise(f"{point}:{rng.randint(1, max(1, often // 3))}:kill" for _ in range(2))
        assert r.kills >= 1
        r.check()


def test_consumers_in_an_event_loop_go_on_and_do_not_spin(run, tmp_path, monkeypatch):
    """Who polls the event descriptor is woken by the next engine; while there is none, it sleeps between its looks."""
    monkeypatch.setenv("SPDL_TEST_ASYNC", "1")
    r = run("async")
    consumer = r.consume("a", python=True)
    r.consume("b")
    assert r.engine("publish.store:25:kill").wait(WATCHDOG) == -signal.SIGKILL
    judged = tmp_path / f"{r.name}.a.log.looks"
    deadline = time.monotonic() + WATCHDOG
    while not judged.exists():
        assert consumer.poll() is None and time.monotonic() < deadline, "the consumer has not seen that its engine is lost"
        time.sleep(0.01)
    looks, most = map(float, judged.read_text().split())
    assert looks <= most, "it spins while there is no engine"
    r.supervise(["publish.word:10:kill"])
    r.check()


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_who_polls_is_woken_by_the_next_engine_though_watching_its_descriptors_failed(nth, run, monkeypatch):
    """One of the two descriptors cannot be watched at first, for want of memory or of watches; the next look for the engine does it. The third fails
    in the engine after that."""
    monkeypatch.setenv("SPDL_TEST_POLL", "1")
    r = run(f"poll-{nth}")
    r.consume("a", fault=f"reconnect.watch:{nth}:err")
    r.consume("b")
    r.supervise(["publish.store:25:kill", "publish.word:10:kill"])
    assert r.kills == 2
    r.check()


@pytest.mark.parametrize("point", AT_START)
def test_engine_killed_while_it_starts_is_started_again(point, run):
    """Nothing is adopted from an engine that was never ready; the consumers have waited for the socket."""
    r = run(point)
    r.consume("a"), r.consume("b", python=True)
    r.supervise([f"{point}:1:kill"])
    assert r.kills == 1
    r.check()


def test_engine_killed_while_it_adopts_is_adopted_again(run):
    """What the second engine had repaired when it died, the third finds repaired."""
    for i in range(ROUNDS):
        r = run(f"adopt-{i}")
        r.consume("a"), r.consume("b")
        r.supervise([f"publish.word:{10 + i}:kill", "adopt.mid:1:kill", "socket.bind:1:kill", "socket.listen:1:kill"])
        assert r.kills == 4
        r.check()


@pytest.mark.parametrize("point", ["reclaim.mid", "reclaim.word"])
def test_engine_killed_while_it_takes_back_what_a_dead_consumer_held(point, run):
    """Consumer and engine die, the one at its claim, the other at its reaping: the batch comes again, flagged, once."""
    for i in range(ROUNDS):
        r = run(f"{point}-{i}")
        doomed = r.consume("a", fault=f"after.claim:{3 + i}:kill")
        r.consume("a"), r.consume("b")
        r.supervise([f"{point}:1:kill"])
        r.check([doomed])
        assert r.ledger[0]["redelivered"] >= (doomed.returncode == -signal.SIGKILL)  # 3: it came too late


def test_consumers_and_engines_die_at_random(run):
    """Both sides are killed at points drawn by lot; the survivors' books are exact."""
    rng = random.Random(4)
    for i in range(ROUNDS):
        r = run(f"lot-{i}")
        points = ["after.claim", "payload.read", "before.done", "after.done", "before.release"]
        doomed = [r.consume("a", fault=f"{rng.choice(points)}:{rng.randint(1, 9)}:kill") for _ in range(2)]
        r.consume("a"), r.consume("b", python=True)
        r.supervise(f"{rng.choice(list(AT_WORK))}:{rng.randint(2, 40)}:kill" for _ in range(3))
        r.check(doomed)


def test_consumer_that_died_without_an_engine_is_found_by_the_next(run):
    """Its batches come again, flagged, though no engine saw it die."""
    r = run("orphan")
    doomed = r.consume("a", fault="payload.read:5:stop")
    r.consume("b")
    assert r.engine("publish.store:15:kill").wait(WATCHDOG) == -signal.SIGKILL
    os.waitid(os.P_PID, doomed.pid, os.WSTOPPED | os.WNOWAIT)
    doomed.kill()
    r.consume("a")
    r.supervise([])
    r.check([doomed])
    assert r.ledger[0]["redelivered"] == 1


def test_engine_killed_as_it_stops_leaves_a_name_for_the_next(run):
    """A ring that ended in good order is nobody's to go on with: the next engine starts over, and leaves nothing itself."""
    for point in ("shutdown.drain", "unlink"):
        r = run(point)
        r.consume("a"), r.consume("b")
        assert r.engine(f"{point}:1:kill").wait(WATCHDOG) == -signal.SIGKILL
        again = r.engine()
        assert again.stdout.readline().startswith("ready")
        again.terminate()
        assert again.wait(WATCHDOG) == 0
        assert json.loads(again.stdout.readline())["published"] <= 12
        assert not [n for n in os.listdir("/dev/shm") if r.name in n]


def test_a_consumer_that_stood_still_while_the_engine_came_back_goes_on(run):
    """Stopped for longer than the ring's reconnect time as it looks for the next engine: it looks once more before it gives up."""
    r = run("still", groups="a", reconnect="5s")
    consumer = r.consume("a")
    assert r.engine("publish.store:25:kill").wait(WATCHDOG) == -signal.SIGKILL
    time.sleep(0.5)  # it is looking, most likely; one that is not has its time before it
    consumer.send_signal(signal.SIGSTOP)
    time.sleep(5)
    engine = r.engine()
    assert engine.stdout.readline().startswith("ready")
    consumer.send_signal(signal.SIGCONT)
    out, _ = engine.communicate(timeout=WATCHDOG)
    r.ledger = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    r.check()


def test_consumers_are_told_when_no_engine_comes_back(run):
    """After the ring's reconnect time the loss is reported, with the time in the text."""
    r = run("gone")
    engine = subprocess.Popen([BUILD / "ringpattern", "--name", r.name, "--backing", "posix", "--reconnect", "300ms", "--groups", "a",
                               "--batches", "2", "--bytes", "256", "--keep"], stdout=subprocess.PIPE, text=True)
    r.all.append(engine)
    assert engine.stdout.readline().startswith("ready")
    waiter = subprocess.Popen([BUILD / "tests/fault-waiter", r.name, "a"], stdout=subprocess.PIPE, text=True,
                              env=dict(os.environ, LD_LIBRARY_PATH=str(BUILD)))
    r.all.append(waiter)
    assert waiter.stdout.readline() == "waiting\n"
    engine.kill()
    status, _, readable, _ = waiter.communicate(timeout=WATCHDOG)[0].split()
    assert (status, readable) == ("SPDL_E_ENGINE_LOST", "readable")
    last = r.engine()  # replaces what was left, and goes
    assert last.stdout.readline() == "" and last.wait(WATCHDOG) == 1  # another ring: it has other batches
    subprocess.run([BUILD / "spdl", "clean", r.name], check=True, stdout=subprocess.DEVNULL, timeout=WATCHDOG)
