"""The wall clock jumps at every look at it, by an hour, by years, past 2038: nothing that is waited for, leased or given up depends on it.

The programs run under tests/fault/clock.c, which answers their calls for the wall clock. The machine's own is not touched.
"""

import collections
import datetime
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

BUILD = pathlib.Path(os.environ["SPDL_BUILD"])
HERE = pathlib.Path(__file__).parent
WATCHDOG = 120
HOUR, YEAR = 3600, 365 * 24 * 3600
TO_2038 = 2**31 - int(time.time()) - 1  # the last second of 32 bits, and the next reading is beyond it
JUMPS = [0, HOUR, -HOUR, 10 * YEAR, -10 * YEAR, TO_2038, TO_2038 + 2, 1, -1]
SKIPPED = 77
BATCHES = 300

sys.path.insert(0, str(HERE.parent / "e2e"))
from pictures import make_folder  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def clock():
    """The prefix of a command whose clock jumps."""
    prefix = [BUILD / "tests/fault-clock", ",".join(map(str, JUMPS))]
    tried = subprocess.run([*prefix, "true"], capture_output=True, text=True, timeout=WATCHDOG)
    if tried.returncode == SKIPPED:
        pytest.skip(tried.stderr.strip())
    assert tried.returncode == 0, tried.stderr
    return prefix


@pytest.fixture
def start():
    running = []

    def popen(command, **options):
        p = subprocess.Popen(command, text=True, **options)
        running.append(p)
        return p

    yield popen
    for p in running:
        p.kill()  # the tracer, and with it what it traces
        p.communicate()


SEES = {
    "python": [sys.executable, "-c", "import time\nprint(*[time.gmtime().tm_year for _ in range(18)])"],
    "c": ["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do date +%Y; done"],
}


@pytest.mark.parametrize("language", SEES)
def test_programs_see_the_clock_jump(clock, language):
    """What the other tests rest on: readings one after the other are years apart, and the monotonic clock is as it was."""
    done = subprocess.run([*clock, *SEES[language]], capture_output=True, text=True, timeout=WATCHDOG)
    years = {int(year) for year in done.stdout.split()}
    assert 2038 in years and max(years) - min(years) >= 19, done
    script = "import time; print(time.monotonic_ns())"
    before = time.monotonic_ns()
    told = int(subprocess.run([*clock, sys.executable, "-c", script], capture_output=True, text=True, timeout=WATCHDOG).stdout)
    assert before <= told <= time.monotonic_ns()


def test_the_engine_sees_the_clock_jump_and_serves_pictures_meanwhile(clock, start, tmp_path):
    """Every time in its log is an hour off or years; every batch comes once, in order, and nobody is taken for dead."""
    name = f"jumps-{os.getpid()}"
    clock = [clock[0], ",".join(str(jump) for jump in JUMPS if abs(jump) >= HOUR)]
    spec = {"name": name, "source": {"folder": str(make_folder(tmp_path, 40).path), "local_timeout": "1h"}, "batch": 4, "order": {"epochs": 3},
            "image": {"transform": [{"resize": [8, 8]}]}, "ring": {"reconnect": "30s", "groups": [{"name": "train"}]},
            "cache": {"dir": str(tmp_path / "cache")}}
    log = tmp_path / "engine.log"
    with open(log, "w") as out:
        engine = start([*clock, BUILD / "spdl", "serve", "--spec-json", json.dumps(spec), "--journal", tmp_path / "journal"], stderr=out,
                       env=dict(os.environ, SPDL_LOG_FORMAT="json", SPDL_LOG="debug"))
    until("the engine to be ready", lambda: "ready" in log.read_text() or engine.poll() is not None)
    consumer = start([*clock, sys.executable, HERE / "digest.py", name, tmp_path / "log"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _, err = consumer.communicate(timeout=WATCHDOG)
    assert consumer.returncode == 0, err + log.read_text()
    engine.terminate()
    assert engine.wait(WATCHDOG) == 0, log.read_text()
    got = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [(ticket, attempts) for ticket, attempts, *_ in got] == [(t, 1) for t in range(30)]
    times = [datetime.datetime.fromisoformat(json.loads(line)["time"][:19]) for line in log.read_text().splitlines()]
    now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
    assert len(times) > 2 and all(abs(now - t) > datetime.timedelta(minutes=45) for t in times), times


def until(what, condition):
    end = time.monotonic() + WATCHDOG
    while not condition():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.01)


@pytest.mark.parametrize("where", ["the engine", "the consumers", "both"])
def test_every_batch_is_completed_once_and_only_the_dead_are_taken_for_dead(clock, start, tmp_path, where):
    """Consumers in C and Python share a group, of whom one was killed with a batch in hand: that batch comes again, flagged, and no other."""
    name, log = f"clocks-{os.getpid()}", tmp_path / "log"
    of_engine, of_consumers = [clock if where in (who, "both") else [] for who in ("the engine", "the consumers")]
    engine = start([*of_engine, BUILD / "ringpattern", "--name", name, "--groups", "g", "--slots", "12", "--bytes", "256", "--batches", str(BATCHES), "--rate", "200", "--reconnect", "30s"],
                   stdout=subprocess.PIPE)
    assert engine.stdout.readline().startswith("ready")
    env = dict(os.environ, LD_LIBRARY_PATH=str(BUILD / "faults"))
    command = [*of_consumers, BUILD / "tests/fault-consumer", name, "g", log]
    doomed = start(command, env=dict(env, SPDL_FAULT="payload.read:3:kill"))
    assert doomed.wait(WATCHDOG) in (-signal.SIGKILL, 128 + signal.SIGKILL)
    others = [start(command, env=env), start([*of_consumers, sys.executable, HERE / "consumer.py", name, "g", log])]
    for p in others:
        assert p.wait(WATCHDOG) in (0, 3)  # who came when the other had everything is told that there is no engine any more
    ledger = json.loads(engine.communicate(timeout=WATCHDOG)[0].splitlines()[-1])
    kinds = collections.Counter(tuple(line.split()[:2]) for line in log.read_text().splitlines())
    assert {kind: n for kind, n in kinds.items() if kind[0] == "D"} == {("D", str(t)): 1 for t in range(BATCHES)}
    assert (ledger["completed"], ledger["redelivered"], ledger["violations"], ledger["dropped"]) == (BATCHES, 1, 0, 0)


WAITS = """
import sys, time, spdl
def attach():
    return spdl.attach(sys.argv[1], group="g", max_leases=2)
with attach() as holder, attach() as loader:
    held = holder.acquire()
    for wait in (0.05, 0.3):
        begun = time.monotonic()
        try:
            loader.acquire(timeout=wait)
            sys.exit("something came")
        except spdl.Timeout:
            assert time.monotonic() - begun >= wait, "gave up early"
    held.release()
print("waited")
"""


def test_a_wait_is_never_shorter_than_asked_and_ends(clock, start):
    """A timeout is of the monotonic clock: a jump of ten years does not use it up, one back does not make it endless."""
    name = f"waits-{os.getpid()}"
    engine = start([*clock, BUILD / "ringpattern", "--name", name, "--groups", "g", "--batches", "1", "--bytes", "256", "--keep"], stdout=subprocess.PIPE)
    assert engine.stdout.readline().startswith("ready")
    waiter = start([*clock, sys.executable, "-c", WAITS, name], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = waiter.communicate(timeout=WATCHDOG)
    assert out == "waited\n", err
    engine.terminate()
    assert engine.wait(WATCHDOG) == 0
