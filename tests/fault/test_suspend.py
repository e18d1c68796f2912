"""Engine and consumers stand still at once, as on a machine that is suspended, for longer than anything here waits for anybody: nobody is taken for
dead when they go on.

Worse than a suspension: the monotonic clock runs on meanwhile. 12 s (SPDL_FAULT_LONG=1: 5 minutes), where an answer on the control socket is waited for 10 s,
a handshake 1 s, and the next engine, here, 2 s.
"""

import collections
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
STILL_S = 300 if os.environ.get("SPDL_FAULT_LONG") else 12
WATCHDOG = 120
BATCHES = 400

sys.path.insert(0, str(HERE.parent / "e2e"))
from pictures import make_folder  # noqa: E402


@pytest.fixture
def crowd():
    """Processes that are one process group, so that one call stops all of them."""
    members = []

    def start(command, **options):
        p = subprocess.Popen(command, text=True, process_group=members[0].pid if members else 0, **options)
        members.append(p)
        return p

    yield start, members
    for p in members:
        p.kill()
        p.communicate()


def until(what, condition):
    end = time.monotonic() + WATCHDOG
    while not condition():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.005)


def stopped(p):
    """Every thread of it."""
    return all(pathlib.Path(f"/proc/{p.pid}/task/{t}/stat").read_text().rpartition(")")[2].split()[0] == "T" for t in os.listdir(f"/proc/{p.pid}/task"))


def suspend(members):
    os.killpg(members[0].pid, signal.SIGSTOP)
    until("all to stand still", lambda: all(stopped(p) for p in members))
    time.sleep(STILL_S)
    os.killpg(members[0].pid, signal.SIGCONT)


def test_nobody_is_taken_for_dead_when_all_have_stood_still(crowd, tmp_path):
    """Of an engine of patterns and one of pictures, and consumers in C, in Python, in an event loop, and waiting for what does not come: each batch comes
    once, never flagged, and every wait goes on."""
    start, members = crowd
    names = [f"suspend-{what}-{os.getpid()}" for what in ("pattern", "pictures", "idle")]
    pattern, idle = [start([BUILD / "ringpattern", "--name", name, "--groups", "g", "--slots", "12", "--bytes", "256", "--batches", batches, "--rate", "200",
                            "--reconnect", "2s", *more], stdout=subprocess.PIPE)
                     for name, batches, more in ((names[0], str(BATCHES), []), (names[2], "1", ["--keep"]))]
    assert pattern.stdout.readline().startswith("ready") and idle.stdout.readline().startswith("ready")
    spec = {"name": names[1], "source": {"folder": str(make_folder(tmp_path, 40).path)}, "batch": 4, "order": {"epochs": 20},
            "image": {"transform": [{"resize": [8, 8]}]}, "ring": {"reconnect": "2s", "groups": [{"name": "train"}]}}
    pictures = start([BUILD / "spdl", "serve", "--spec-json", json.dumps(spec)], stderr=subprocess.PIPE)
    assert any("ready" in line for line in iter(pictures.stderr.readline, ""))
    log, drawn, env = tmp_path / "log", tmp_path / "drawn", dict(os.environ, LD_LIBRARY_PATH=str(BUILD))
    consumers = [start([BUILD / "tests/fault-consumer", names[0], "g", log], env=env), start([sys.executable, HERE / "consumer.py", names[0], "g", log]),
                 start([sys.executable, HERE / "consumer.py", names[0], "g", log], env=dict(env, SPDL_TEST_ASYNC="1")),
                 start([sys.executable, HERE / "digest.py", names[1], drawn, "0.01"], stdout=subprocess.PIPE)]
    waiter = start([BUILD / "tests/fault-waiter", names[2], "g"], env=env, stdout=subprocess.PIPE)
    assert waiter.stdout.readline() == "waiting\n"
    until("everybody to be at work", lambda: all(f.exists() and f.read_text().count("\n") > 10 for f in (log, drawn)))
    suspend(members)
    for p in consumers:
        assert p.wait(WATCHDOG) in (0, 3)  # who was still starting up may find the epoch over
    ledger = json.loads(pattern.communicate(timeout=WATCHDOG)[0].splitlines()[-1])
    assert waiter.poll() is None
    for p in (idle, pictures):
        p.terminate()
        p.communicate(timeout=WATCHDOG)
        assert p.returncode == 0
    assert waiter.communicate(timeout=WATCHDOG)[0].split()[::2] == ["SPDL_E_ENGINE_STOPPED", "readable"]
    kinds = collections.Counter(tuple(line.split()) for line in log.read_text().splitlines() if line.startswith("A"))
    assert kinds == {("A", str(t), "1"): 1 for t in range(BATCHES)}
    assert (ledger["completed"], ledger["redelivered"], ledger["violations"]) == (BATCHES, 0, 0)
    assert [json.loads(line)[:2] for line in drawn.read_text().splitlines()] == [[t, 1] for t in range(200)]
