"""The n-th system call fails, and descriptors run out, on either side: an error or success, never a crash, a hang or a leak."""

import contextlib
import json
import os
import pathlib
import resource
import select
import subprocess
import time

import pytest
import spdl

BUILD = pathlib.Path(os.environ["SPDL_BUILD"])
WATCHDOG = 120


@pytest.fixture
def engine():
    """A pattern engine with one declared group, its ledger checked at the end: every lease came back, nobody lied."""
    name = f"sweep-{os.getpid()}"

    @contextlib.contextmanager
    def start(group, backing="memfd"):
        p = subprocess.Popen([BUILD / "ringpattern", "--name", name, "--groups", group, "--backing", backing, "--batches", "1000000", "--bytes", "256",
                              "--slots", "8"], stdout=subprocess.PIPE, text=True)
        try:
            assert p.stdout.readline().startswith("ready")
            yield name, p
            until("the engine has heard that everybody left", lambda: not members(name))
            p.terminate()
            ledger = json.loads(p.communicate(timeout=WATCHDOG)[0])
            assert ledger["members"] is None and ledger["violations"] == 0 and ledger["dropped"] == 0
            assert ledger["published"] == ledger["completed"] + ledger["unclaimed"]
        finally:
            p.kill()
            p.wait()
            p.stdout.close()

    return start


def until(what, condition):
    end = time.monotonic() + WATCHDOG
    while not condition():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.01)


def members(name):
    told = subprocess.run([BUILD / "spdl", "inspect", name, "--json"], capture_output=True, text=True, timeout=WATCHDOG, check=True)
    return [member for group in json.loads(told.stdout)["ring"]["groups"] for member in group["members"] or []]


def sweep(*arguments, **env):
    done = subprocess.run([BUILD / "tests/fault-sweep", *arguments], capture_output=True, text=True, timeout=WATCHDOG,
                          env=dict(os.environ, LD_LIBRARY_PATH=str(BUILD), **env))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("backing", ["memfd", "posix"])
def test_every_failing_system_call_of_a_reader_is_an_error_or_success(backing, engine):
    """Attach, event descriptor, acquire, done, release, state, detach: each call in turn fails with each of four errors."""
    with engine("g", backing) as (name, _):
        out = sweep(name, "g")
    assert [line.split(":")[0] for line in out.splitlines()] == ["EMFILE", "ENOMEM", "EIO", "EINTR"]


def test_every_failing_system_call_of_a_child_engines_start_is_an_error_or_success():
    """The same with spdl_open: no process is left, whichever step of clone and exec fails."""
    spec = f"sweep-child-{os.getpid()}"
    sweep("-", spec, SPDL_ENGINE=str(BUILD / "ringpattern"))

    def children():
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
                if spec.encode() in command:
                    yield pid

    for pid in children():  # one that is told of its parent's end just now
        with contextlib.suppress(ProcessLookupError):
            fd = os.pidfd_open(int(pid))
            assert select.select([fd], [], [], WATCHDOG)[0], f"engine {pid} stays"
            os.close(fd)


def test_a_reader_without_descriptors_is_refused_and_works_when_there_are_enough(engine):
    """No descriptor is free, then one, then two: errors until it works, and nothing is left of the attempts."""
    with engine("nofile") as (name, _):
        assert "errors, then" in sweep(name, "nofile")


def test_an_engine_without_descriptors_refuses_and_recovers(engine):
    """However many descriptors the engine lacks, an attach is an error or works, others are not disturbed, and all come back."""
    with engine("g") as (name, p):
        def descriptors():
            return len(os.listdir(f"/proc/{p.pid}/fd"))

        with spdl.attach(name, max_leases=2) as other:
            batches = iter(other)
            before, was = descriptors(), resource.prlimit(p.pid, resource.RLIMIT_NOFILE)
            refused = 0
            for free in range(16):
                resource.prlimit(p.pid, resource.RLIMIT_NOFILE, (before + free, was[1]))
                try:
                    spdl.attach(name, max_leases=2, timeout=30).close()
                except spdl.SpdlError as e:
                    assert not isinstance(e, spdl.Timeout), e
                    refused += 1
                resource.prlimit(p.pid, resource.RLIMIT_NOFILE, was)
                next(batches)
                spdl.attach(name, max_leases=2).close()
            assert 2 <= refused < 16
        until("the members' descriptors are closed, as their hang-ups are heard", lambda: descriptors() <= before)
