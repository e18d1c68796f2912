"""However a consumer ends, what it held comes again, flagged; however long it is stopped, nothing is taken from it."""

import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
import spdl

BUILD = pathlib.Path(os.environ["SPDL_BUILD"])
WATCHDOG = 120
BATCHES = 40


@pytest.fixture
def engine():
    """A pattern engine of one epoch; end() gives its ledger."""
    name = f"consumers-{os.getpid()}"
    process = subprocess.Popen([BUILD / "ringpattern", "--name", name, "--groups", "g", "--slots", "12", "--bytes", "256", "--batches", str(BATCHES)],
                               stdout=subprocess.PIPE, text=True)

    class Engine:
        def __init__(self):
            self.name = name

        def end(self):
            return json.loads(process.communicate(timeout=WATCHDOG)[0].splitlines()[-1])

    try:
        assert process.stdout.readline().startswith("ready")
        yield Engine()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


HOLD = """
import ctypes, os, sys, time, spdl
loader = spdl.attach(sys.argv[1], group="g", max_leases=1)
batch = loader.acquire()
print(batch.ticket, flush=True)
"""
SLEEPER = "import time; time.sleep(3600)"
ENDS = {
    "abort": "os.abort()",
    "segfault": "ctypes.string_at(0)",
    "exit without a word": "os._exit(0)",
    "the end of a parent whose child has its descriptors": """
if os.fork() == 0:
    print(os.getpid(), flush=True)
    time.sleep(3600)
sys.stdin.readline()
os._exit(0)
""",
}


def alive(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"


def holder(engine, then):
    process = subprocess.Popen([sys.executable, "-c", HOLD + then, engine.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               text=True, preexec_fn=lambda: __import__("resource").setrlimit(__import__("resource").RLIMIT_CORE, (0, 0)))
    return process, int(process.stdout.readline())


def rest(engine):
    """The deliveries of everything that is left, as attempts by ticket."""
    with spdl.attach(engine.name, group="g", max_leases=1) as loader:
        return {batch.ticket: batch.attempts for batch in loader}


@pytest.mark.parametrize("end", ENDS)
def test_what_a_consumer_held_comes_again_after(end, engine):
    """Also where a child of its still has its descriptors: the process is what counts."""
    process, held = holder(engine, ENDS[end])
    child = int(process.stdout.readline()) if "child" in end else None
    try:
        process.stdin.close()
        assert rest(engine) == {t: 2 if t == held else 1 for t in range(BATCHES)}
        assert child is None or alive(child)
    finally:
        if child:
            os.kill(child, signal.SIGKILL)
        process.kill()
        process.wait()
        process.stdout.close()
    assert engine.end()["redelivered"] == 1


def test_what_a_consumer_held_comes_again_before_its_parent_has_asked_how_it_ended(engine):
    """A zombie is dead."""
    process, held = holder(engine, SLEEPER)
    os.kill(process.pid, signal.SIGKILL)
    assert rest(engine) == {t: 2 if t == held else 1 for t in range(BATCHES)}
    assert not alive(process.pid)  # and still there: nobody has waited for it
    process.communicate()


def test_a_program_that_a_consumer_becomes_has_nothing_of_ours_and_what_was_held_comes_again_after_it(engine):
    """exec: descriptors are closed and mappings gone, but the process lives; only its end is the end of its leases."""
    process, held = holder(engine, f"os.execv(sys.executable, [sys.executable, '-c', 'print(0, flush=True); {SLEEPER}'])")
    try:
        assert process.stdout.readline() == "0\n"
        opened = [os.readlink(f"/proc/{process.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{process.pid}/fd")]
        assert len(opened) == 3, opened
        assert "spdl." not in pathlib.Path(f"/proc/{process.pid}/maps").read_text()
        with spdl.attach(engine.name, group="g", max_leases=1) as loader:
            first = [loader.acquire() for _ in range(1)][0].ticket
            assert first != held
        process.kill()
        left = rest(engine)
    finally:
        process.kill()
        process.communicate()
    assert left.pop(held) == 2 and held not in left


POINTS = ["attach.mapped", "word.read", "claim.cas", "after.claim", "payload.read", "before.done", "after.done", "before.release", "release.cas",
          "after.release", "wait", "woken"]


@pytest.mark.parametrize("point", POINTS)
def test_nothing_is_taken_from_a_consumer_that_is_stopped_at(point, engine, tmp_path):
    """The other one gets everything else meanwhile; once it may go on it completes what it had, and each batch is completed once."""
    log, env = tmp_path / "log", dict(os.environ, LD_LIBRARY_PATH=str(BUILD / "faults"))
    command = [BUILD / "tests/fault-consumer", engine.name, "g", log]
    once = point in ("attach.mapped", "wait", "woken")
    stopped = subprocess.Popen(command, env=dict(env, SPDL_FAULT=f"{point}:{1 if once else 3}:stop"))
    other = None
    try:
        os.waitid(os.P_PID, stopped.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        other = subprocess.Popen(command, env=env)
        end = time.monotonic() + WATCHDOG
        while sum(line.startswith("D") for line in log.read_text().splitlines()) < BATCHES - 2 and stopped.poll() is None:
            assert time.monotonic() < end and other.poll() in (None, 0), log.read_text()
            time.sleep(0.005)
        stopped.send_signal(signal.SIGCONT)
        assert (stopped.wait(WATCHDOG), other.wait(WATCHDOG)) == (0, 0)
        ledger = engine.end()
    finally:
        for process in (stopped, other):
            if process:
                process.kill()
                process.wait()
    kinds = collections.Counter(tuple(line.split()[:2]) for line in log.read_text().splitlines())
    assert kinds == {(kind, str(t)): 1 for kind in "AD" for t in range(BATCHES)}
    assert (ledger["completed"], ledger["redelivered"], ledger["violations"]) == (BATCHES, 0, 0)
