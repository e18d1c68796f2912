"""However a consumer ends, what it held comes again, flagged; however long it is stopped, nothing is taken from it."""

import collections
import ctypes
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
            self.name, self.pid = name, process.pid

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


@pytest.mark.parametrize("points", [("after.claim", "after.claim"), ("claim.cas", "after.release"), ("payload.read", "before.done"), ("release.cas", "after.done"),
                                    ("word.read", "payload.read")], ids="-".join)
def test_two_consumers_that_die_in_one_instant_lose_nothing(points, engine, tmp_path):
    """Both stand at their points, and one system call kills both: each batch is completed once, what they held comes flagged."""
    log, env = tmp_path / "log", dict(os.environ, LD_LIBRARY_PATH=str(BUILD / "faults"))
    command = [BUILD / "tests/fault-consumer", engine.name, "g", log]
    dying = []
    try:
        for point in points:
            group = dying[0].pid if dying else 0
            dying.append(subprocess.Popen(command, env=dict(env, SPDL_FAULT=f"{point}:3:stop"), process_group=group))
            os.waitid(os.P_PID, dying[-1].pid, os.WSTOPPED | os.WNOWAIT)
        held = [int(line.split()[1]) for line in log.read_text().splitlines() if line.startswith("A")]
        os.killpg(dying[0].pid, signal.SIGKILL)
        assert [process.wait(WATCHDOG) for process in dying] == [-signal.SIGKILL] * 2
        assert subprocess.run(command, env=env, timeout=WATCHDOG).returncode == 0
        ledger = engine.end()
    finally:
        for process in dying:
            process.kill()
            process.wait()
    got = [line.split() for line in log.read_text().splitlines()]
    assert {int(ticket) for kind, ticket, _ in got if kind == "D"} | set(held) == set(range(BATCHES))
    assert max(int(attempts) for kind, _, attempts in got if kind == "A") <= 3
    assert (ledger["completed"], ledger["violations"], ledger["members"]) == (BATCHES, 0, None)


LAST_PID = pathlib.Path("/proc/sys/kernel/ns_last_pid")


def as_pid(pid, command):
    """Start a program as the process of that number, which is free. Whoever starts something meanwhile may come before it."""
    end = time.monotonic() + WATCHDOG
    while time.monotonic() < end:
        LAST_PID.write_text(str(pid - 1))
        process = subprocess.Popen(command)
        if process.pid == pid:
            return process
        process.kill()
        process.wait()
    raise AssertionError(f"{pid} was not given again in {WATCHDOG} s")


def test_what_a_consumer_held_comes_again_though_its_pid_is_anothers(engine, tmp_path):
    """The engine stands still while the consumer dies, is reaped and its number given again: it takes the dead for dead, and the newcomer lives on."""
    try:
        LAST_PID.write_text(str(os.getpid()))
    except OSError as why:
        pytest.skip(f"the next pid may not be chosen here: {why}")
    process, held = holder(engine, SLEEPER)
    newcomer = None
    try:
        os.kill(engine.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, engine.pid, os.WSTOPPED | os.WNOWAIT)  # its threads stop one after the other
        process.kill()
        process.communicate()
        newcomer = as_pid(process.pid, [sys.executable, "-c", SLEEPER])
        os.kill(engine.pid, signal.SIGCONT)
        assert rest(engine) == {t: 2 if t == held else 1 for t in range(BATCHES)}
        assert alive(newcomer.pid) and newcomer.poll() is None
        assert engine.end()["redelivered"] == 1
    finally:
        if newcomer:
            newcomer.kill()
            newcomer.wait()


PTRACE_CONT, PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 7, 17, 0x4206, 0x4207


def ptrace(request, pid):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.restype, libc.ptrace.argtypes = ctypes.c_long, [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if libc.ptrace(request, pid, None, None) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def interrupt(pid):
    ptrace(PTRACE_INTERRUPT, pid)
    os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED)


def test_nothing_is_taken_from_a_consumer_under_a_debugger(engine):
    """Stopped, run on and stopped again by a tracer with a batch in hand: the others get everything else, it completes its own, nothing comes twice."""
    process, held = holder(engine, "sys.stdin.readline(); batch.release(); loader.close()")
    try:
        try:
            ptrace(PTRACE_SEIZE, process.pid)
        except PermissionError as why:
            pytest.skip(f"this machine lets nobody trace: {why}")
        with spdl.attach(engine.name, group="g", max_leases=1) as loader:
            batches, got = iter(loader), {}
            for i in range(BATCHES - 1):
                if i % 10 == 0:
                    interrupt(process.pid)
                batch = next(batches)
                got[batch.ticket] = batch.attempts
                if i % 10 == 8:
                    ptrace(PTRACE_CONT, process.pid)
            batch.release()
            assert got == {t: 1 for t in range(BATCHES) if t != held}
            interrupt(process.pid)
            ptrace(PTRACE_DETACH, process.pid)
            process.stdin.write("go on\n")
            process.stdin.flush()
            assert next(batches, None) is None  # the epoch ends with what the debugger let go of
        assert process.wait(WATCHDOG) == 0
    finally:
        process.kill()
        process.communicate()
    ledger = engine.end()
    assert (ledger["completed"], ledger["redelivered"], ledger["violations"]) == (BATCHES, 0, 0)
