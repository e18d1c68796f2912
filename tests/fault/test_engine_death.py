"""kill -9 of the engine: every waiting client is told, and what it holds stays readable.

Within 100 ms, 99 of 100: no client sleeps longer at once without looking after the engine, which is looked at here, and with
SPDL_FAULT_LONG=1 (`make fault`, on a machine that does nothing else) the time is measured.
"""

import contextlib
import os
import pathlib
import signal
import subprocess
import time

import pytest

BUILD = pathlib.Path(os.environ["SPDL_BUILD"])
LONG = os.environ.get("SPDL_FAULT_LONG") == "1"
ROUNDS = 200 if LONG else 10
WATCHDOG = 120
WAITERS = 3


def one_round(name, backing):
    engine = subprocess.Popen([BUILD / "ringpattern", "--name", name, "--slots", "16", "--bytes", "256", "--batches", "4",
                               "--epochs", "1", "--backing", backing, "--keep", "--groups", "a,b,c"],
                              stdout=subprocess.PIPE, text=True)
    waiters = []
    try:
        assert engine.stdout.readline().startswith("ready")
        env = dict(os.environ, LD_LIBRARY_PATH=str(BUILD))
        waiters = [subprocess.Popen([BUILD / "tests/fault-waiter", name, group], stdout=subprocess.PIPE, text=True, env=env)
                   for group in "abc"]
        for waiter in waiters:
            assert waiter.stdout.readline() == "waiting\n"
        time.sleep(0.02)  # let them fall asleep; a waiter that is still busy is told all the same
        killed = time.monotonic_ns()
        engine.send_signal(signal.SIGKILL)
        told = [waiter.communicate(timeout=WATCHDOG)[0].split() for waiter in waiters]
    finally:
        engine.kill()
        engine.wait()
        for waiter in waiters:
            waiter.kill()
    assert [(t[0], t[2]) for t in told] == [("SPDL_E_ENGINE_LOST", "readable")] * WAITERS
    return [((int(t[1]) - killed) / 1e6, int(t[3])) for t in told]


@pytest.mark.parametrize("backing", ["memfd", "posix"])
def test_waiting_clients_are_told_of_the_engines_death_within_100_ms(backing):
    """The bound of docs/failures.md: no sleep is longer, and in the long form 99 of 100 waits are measured to end within it."""
    told = [one for i in range(ROUNDS) for one in one_round(f"death-{os.getpid()}-{backing}", backing)]
    delays = sorted(delay for delay, _ in told)
    p99 = delays[int(0.99 * (len(delays) - 1))]
    with engine_of([BUILD / "ringpattern", "--name", f"death-{os.getpid()}-{backing}", "--backing", backing, "--keep"]) as last:
        last.terminate()  # replaces and then removes what the killed ones left
        assert last.wait(WATCHDOG) == 0
    print(f"{backing}: told after p50 {delays[len(delays) // 2]:.1f} ms, p99 {p99:.1f} ms, max {delays[-1]:.1f} ms of {len(delays)}")
    assert 0 < max(slept for _, slept in told) <= 100_000_000, "a client sleeps for longer at once"
    assert not LONG or p99 <= 100


@contextlib.contextmanager
def engine_of(command):
    engine = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert engine.stdout.readline().startswith("ready")
        yield engine
    finally:
        engine.kill()
        engine.wait()
        engine.stdout.close()


def test_an_engine_starts_under_the_name_of_a_killed_one():
    """Leftovers of kill -9 (posix names, a socket) are proved dead and replaced; the last engine leaves nothing."""
    name = f"again-{os.getpid()}"
    command = [BUILD / "ringpattern", "--name", name, "--backing", "posix", "--keep", "--batches", "2", "--bytes", "256"]
    for _ in range(100 if LONG else 20):
        with engine_of(command):
            pass
    with engine_of(command) as engine:
        second = subprocess.run(command, capture_output=True, text=True, timeout=WATCHDOG)
        assert second.returncode != 0 and f"running engine (pid {engine.pid}) owns the name" in second.stderr, second.stderr
        engine.terminate()
        assert engine.wait(WATCHDOG) == 0
    assert not [n for n in os.listdir("/dev/shm") if name in n]


@pytest.mark.parametrize("visit", [1, 2, 3, 4])
def test_an_engine_killed_at_the_seal_of_its_memory_leaves_nothing(visit):
    """Two groups, the header, the data: whichever is sealed when it dies, nobody was let in, no name is left, and the next engine is whole."""
    name = f"seal-{os.getpid()}-{visit}"
    command = [BUILD / "faults/ringpattern", "--name", name, "--backing", "memfd", "--batches", "3", "--epochs", "1", "--bytes", "256", "--groups", "a,b"]
    dying = subprocess.run(command, env=dict(os.environ, SPDL_FAULT=f"seal:{visit}:kill"), capture_output=True, text=True, timeout=WATCHDOG)
    assert (dying.returncode, dying.stdout) == (-signal.SIGKILL, "")
    assert not [n for n in os.listdir("/dev/shm") if name in n]
    refused = subprocess.run([BUILD / "spdl", "inspect", name], capture_output=True, text=True, timeout=WATCHDOG)
    assert refused.returncode == 3, refused.stderr
    with engine_of([*command, "--keep"]) as engine:
        check = subprocess.run([BUILD / "spdl", "inspect", name, "--check"], capture_output=True, text=True, timeout=WATCHDOG)
        assert check.returncode == 0, check.stdout + check.stderr
        engine.terminate()
        assert engine.wait(WATCHDOG) == 0


def test_the_seal_has_no_fifth_segment():
    """The test above kills at every seal that there is."""
    name = f"seal-{os.getpid()}-all"
    command = [BUILD / "faults/ringpattern", "--name", name, "--backing", "memfd", "--batches", "3", "--epochs", "1", "--bytes", "256", "--groups", "a,b", "--keep"]
    engine = subprocess.Popen(command, env=dict(os.environ, SPDL_FAULT="seal:5:kill"), stdout=subprocess.PIPE, text=True)
    try:
        assert engine.stdout.readline().startswith("ready")
        engine.terminate()
        assert engine.wait(WATCHDOG) == 0
    finally:
        engine.kill()
        engine.wait()
        engine.stdout.close()
