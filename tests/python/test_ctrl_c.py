"""A Ctrl-C in whatever the client waits for: a real SIGINT to a real program, which goes on from there with nothing left behind."""

from __future__ import annotations

import os
import select
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT, built

PROGRAM = """
import os, sys, spdl

def held():
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))

loader = before = None
{before}
sys.stdin.readline()
before = before or held()
print("here", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
while held() != before:  # at once, but for a call that is answered late
    pass
print("nothing left", flush=True)
sys.stdin.readline()
"""


class Program:
    """A program that is in a call."""

    def __init__(self, call: str, *args: str, before: str = "", **env: str) -> None:
        env = {**os.environ, "PYTHONPATH": str(ROOT / "clients/python"), "SPDL_LIBRARY": str(built("libspdl.so")), "SPDL_LOG": "off", **env}
        self.process = subprocess.Popen([sys.executable, "-c", PROGRAM.format(call=call, before=before), *args], env=env, bufsize=0, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def go_on(self) -> None:
        self.process.stdin.write(b"\n")

    def says(self, want: str, within: float = 60) -> None:
        ready, _, _ = select.select([self.process.stdout], [], [], within)
        got = self.process.stdout.readline().decode().strip() if ready else f"nothing within {within} s"
        assert got == want, got or self.process.stderr.read().decode()

    def begin(self) -> None:
        """Until it sleeps in its call."""
        self.go_on()
        self.says("here")
        until(lambda: Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "S")

    def interrupt(self, within: float = 60) -> None:
        self.process.send_signal(signal.SIGINT)
        self.says("interrupted", within)

    def end(self) -> None:
        self.says("nothing left")
        self.go_on()
        assert self.process.wait(60) == 0


def stop(pid: int) -> None:
    """Its threads stop one after the other, and one that runs may still answer."""
    os.kill(pid, signal.SIGSTOP)
    until(lambda: all(task.joinpath("stat").read_text().rpartition(")")[2].split()[0] == "T" for task in Path(f"/proc/{pid}/task").iterdir()))


def until(done) -> None:
    deadline = time.monotonic() + 60
    while not done():
        assert time.monotonic() < deadline, "not within 60 s"
        time.sleep(0.001)


@pytest.fixture
def program(library, runtime):
    """Program, which ends with the test."""
    programs = []

    def start(*args: str, **options: str) -> Program:
        programs.append(Program(*args, **options))
        return programs[-1]

    yield start
    for one in programs:
        one.process.kill()
        one.process.communicate()


def test_attach_waits_for_an_engine_that_never_comes(program):
    one = program('spdl.attach("nobody", timeout=3600)')
    one.begin()
    one.interrupt()
    one.end()


def test_attach_waits_for_an_engine_that_does_not_answer(program, runtime):
    path = Path(runtime, "mute.sock")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as mute:
        mute.bind(str(path))
        mute.listen()
        one = program('spdl.attach("mute", timeout=3600)')
        one.go_on()
        one.says("here")
        with mute.accept()[0] as peer:
            assert peer.recv(4096)  # its hello: it waits for the welcome
            one.interrupt()
            one.end()
            while peer.recv(4096):  # and it has hung up
                pass
    path.unlink()


def test_open_waits_for_an_engine_that_starts(program, tmp_path):
    """As over an index of many shards. No engine is left."""
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\necho $$ >&2\nexec sleep 3600\n")
    slow.chmod(slow.stat().st_mode | stat.S_IXUSR)
    one = program("spdl.open({'batch': 1}, engine=sys.argv[1])", str(slow))
    one.go_on()
    one.says("here")
    pid = int(one.process.stderr.readline())
    one.interrupt()
    one.end()
    until(lambda: not os.path.exists(f"/proc/{pid}"))


def test_open_waits_for_an_engine_in_this_process(program):
    """Its list is on a server that does not answer. The engine's library stays loaded, with its threads, and ends with what it asks for."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        mute.settimeout(60)
        one = program(f"spdl.open({{'source': {{'list': 'http://127.0.0.1:{mute.getsockname()[1]}/list.csv'}}, 'batch': 1, 'image': {{'transform': [{{'resize': [4, 4]}}]}}}}, in_process=True)")
        one.go_on()
        one.says("here")
        with mute.accept()[0] as peer:
            assert peer.recv(4096)  # what it asks for
            one.interrupt()


@pytest.mark.parametrize("call", ["loader.state_dict()", "loader.stats()", "loader.restart()", 'loader.ring("")'])
def test_a_request_waits_for_an_engine_that_is_stopped(program, engine, call):
    """It is heard long before the 10 s that an answer may take."""
    served = engine("--groups", "train", "--slots", "12")
    one = program(call, served.name, before="loader = spdl.attach(sys.argv[1]); print('attached', flush=True)")
    one.says("attached")
    stop(served.process.pid)
    one.begin()
    one.interrupt(within=8)
    one.end()
    served.process.send_signal(signal.SIGCONT)


OPEN = "before = held(); loader = spdl.open('x', engine=sys.argv[1]); print(loader.info.engine_pid, flush=True)"


def test_close_waits_for_the_end_of_an_engine_that_is_stopped(program):
    """Long before the 5 s that the end may take. The engine ends when it can."""
    one = program("loader.close()", str(built("ringpattern")), before=OPEN)
    pid = int(one.process.stdout.readline())
    stop(pid)
    one.begin()
    one.interrupt(within=4)
    one.end()
    os.kill(pid, signal.SIGCONT)
    until(lambda: not os.path.exists(f"/proc/{pid}"))


def test_local_rank_0_waits_for_a_rank_that_does_not_come(program, tmp_path):
    """One descriptor stays for as long as the process runs: there a rank that comes late is told so."""
    (tmp_path / "0.pgm").write_bytes(b"P5 1 1 255\n0")
    spec = "{'source': {'folder': sys.argv[1]}, 'batch': 1, 'image': {'transform': [{'resize': [4, 4]}]}}"
    one = program("loader.close()", str(tmp_path), before=f"fds, threads = held(); before = fds + 1, threads; loader = spdl.open({spec}, engine={str(built('spdl'))!r})",
                  RANK="0", WORLD_SIZE="2", LOCAL_RANK="0", LOCAL_WORLD_SIZE="2")
    one.begin()
    one.interrupt(within=4)
    one.end()


def test_another_rank_waits_for_local_rank_0(program):
    one = program("spdl.open({'batch': 1}, timeout=3600)", RANK="1", WORLD_SIZE="2", LOCAL_RANK="1", LOCAL_WORLD_SIZE="2")
    one.begin()
    one.interrupt()
    one.end()
