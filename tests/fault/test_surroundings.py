"""Cgroups, namespaces and neighbours: what the machine around engine and consumers takes from them."""

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
WATCHDOG = 120
MIB = 1 << 20

sys.path.insert(0, str(HERE.parent / "e2e"))
from pictures import make_folder  # noqa: E402


@pytest.fixture
def cgroup():
    """Memory cgroups below our own, of version 1: cgroup(limit) gives a directory; those inside are killed at the end."""
    made = []

    def make(limit=None):
        own = [line.split(":")[2] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines() if line.split(":")[1] == "memory"]
        if not own:
            pytest.skip("no memory controller of cgroup v1 here")
        path = pathlib.Path(f"/sys/fs/cgroup/memory{own[0]}", f"spdl-{os.getpid()}-{len(made)}")
        try:
            path.mkdir()
            made.append(path)
            if limit:
                (path / "memory.limit_in_bytes").write_text(str(limit))
        except OSError as why:
            pytest.skip(f"cgroups may not be made here: {why}")
        return path

    yield make
    for path in made:
        end = time.monotonic() + WATCHDOG
        while (pids := (path / "cgroup.procs").read_text().split()) and time.monotonic() < end:
            for pid in pids:
                os.kill(int(pid), signal.SIGKILL)
            time.sleep(0.01)
        path.rmdir()


def inside(path):
    """For preexec_fn: be a member."""
    return lambda: (path / "cgroup.procs").write_text(str(os.getpid()))


def number(path, name):
    return int((path / name).read_text())


def engine_of(command, **options):
    engine = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)
    assert engine.stdout.readline().startswith("ready")
    return engine


def end(*processes):
    """An engine in good order, so that no name stays; others as they are."""
    for process in processes:
        process.terminate()
        try:
            process.communicate(timeout=WATCHDOG)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def test_an_engine_in_256_mib_refuses_what_does_not_fit_and_never_meets_the_limit_with_what_does(cgroup, tmp_path):
    """A ring of 384 MiB is refused before memory is taken, exit code 6 with need and room; one of 96 MiB is served for epochs on end."""
    folder = make_folder(tmp_path, 32, side=(200, 400)).path
    name, limit = f"memcg-{os.getpid()}", 256 * MIB

    def describe(slots):
        return json.dumps({"name": name, "source": {"folder": str(folder)}, "batch": 8, "order": {"epochs": 12}, "limits": {"cpus": 2},
                           "image": {"transform": [{"resize": [1024, 1024]}]}, "ring": {"slots": slots, "backing": "memfd", "groups": [{"name": "g"}]}})

    path = cgroup(limit)
    refused = subprocess.run([BUILD / "spdl", "serve", "--spec-json", describe(16)], capture_output=True, text=True, timeout=WATCHDOG, preexec_fn=inside(path))
    assert refused.returncode == 6, refused.stderr
    assert "16 slots of 24.0 MiB take" in refused.stderr and "lower ring.slots or batch" in refused.stderr, refused.stderr
    assert number(path, "memory.failcnt") == 0
    engine = subprocess.Popen([BUILD / "spdl", "serve", "--spec-json", describe(4)], stderr=subprocess.PIPE, text=True, preexec_fn=inside(path))
    try:
        script = "import spdl, sys\nwith spdl.attach(sys.argv[1], group='g', max_leases=1) as l: print(sum(b.rows for e in l.epochs() for b in e))"
        reader = subprocess.run([sys.executable, "-c", script, name], capture_output=True, text=True, timeout=WATCHDOG)
        assert reader.stdout == f"{32 * 12}\n", reader.stderr
        most = number(path, "memory.max_usage_in_bytes")
        assert number(path, "memory.memsw.failcnt" if (path / "memory.memsw.failcnt").exists() else "memory.failcnt") == 0
        assert "under_oom 0" in (path / "memory.oom_control").read_text() and engine.poll() is None
        engine.terminate()
        assert engine.wait(WATCHDOG) == 0, engine.stderr.read()
    finally:
        end(engine)
    print(f"at most {most / MIB:.0f} MiB of {limit / MIB:.0f}")


@pytest.mark.parametrize("backing", ["memfd", "posix"])
def test_shared_memory_is_charged_to_the_engine_and_not_to_its_consumers(cgroup, backing, tmp_path):
    """A consumer checks every byte of 256 MiB of slots, each four times over: all that its cgroup is ever charged with is less than 8 MiB."""
    name, path = f"charge-{os.getpid()}", cgroup()
    engine = engine_of([BUILD / "ringpattern", "--name", name, "--slots", "32", "--bytes", str(2 * MIB), "--batches", "128", "--backing", backing, "--groups", "g"])
    try:
        consumer = [BUILD / "tests/fault-consumer", name, "g", tmp_path / "log"]
        env = dict(os.environ, LD_LIBRARY_PATH=str(BUILD))
        assert subprocess.run(consumer, env=env, timeout=WATCHDOG, preexec_fn=inside(path)).returncode == 0
        ledger = json.loads(engine.communicate(timeout=WATCHDOG)[0].splitlines()[-1])
    finally:
        end(engine)
    most = number(path, "memory.max_usage_in_bytes")
    print(f"{backing}: at most {most / MIB:.1f} MiB")
    assert ledger["completed"] == 128 and 0 < most < 8 * MIB


def own_namespaces(*flags):
    """The command that runs another in namespaces of its own; skips where that is not allowed."""
    prefix = ["unshare", *flags]
    if subprocess.run([*prefix, "true"], capture_output=True).returncode != 0:
        pytest.skip("needs namespaces of its own")
    return prefix


FILL = """
mount -t tmpfs -o size=32m tmpfs /dev/shm || exit 9
"$1" --name "$2" --backing posix --slots 8 --bytes 524288 --batches 200 --groups g > "$3/engine" &
until grep -q ready "$3/engine"; do kill -0 $! || exit 8; sleep 0.01; done
dd if=/dev/zero of=/dev/shm/neighbour bs=64k 2> "$3/dd"
grep -q "No space left" "$3/dd" || exit 7
"$4" "$5" "$2" g "$3/log" || exit 6
wait $! || exit 5
ls /dev/shm
"""


def test_a_neighbour_that_fills_dev_shm_after_the_start_disturbs_nobody(tmp_path):
    """The memory is the engine's already: consumers attach and every batch comes, no SIGBUS, until the neighbour has everything else and after."""
    name = f"full-{os.getpid()}"
    env = dict(os.environ, LD_LIBRARY_PATH=str(BUILD))
    done = subprocess.run([*own_namespaces("-m" if os.geteuid() == 0 else "-Urm"), "sh", "-c", FILL, "sh", BUILD / "ringpattern", name, tmp_path, "env",
                           BUILD / "tests/fault-consumer"], capture_output=True, text=True, timeout=WATCHDOG, env=env)
    assert (done.returncode, done.stdout) == (0, "neighbour\n"), (done, (tmp_path / "engine").read_text())
    kinds = collections.Counter(line.split()[0] for line in (tmp_path / "log").read_text().splitlines())
    assert kinds == {"A": 200, "D": 200}


HOLD = """
import spdl, sys, time
loader = spdl.attach(sys.argv[1], group="g", max_leases=2)
batch = loader.acquire()
print(batch.ticket, flush=True)
time.sleep(3600)
"""
REST = """
import json, os, spdl, sys
with spdl.attach(sys.argv[1], group="g", max_leases=2) as loader:
    print(os.getpid(), json.dumps({batch.ticket: batch.attempts for batch in loader}), flush=True)
"""


@pytest.mark.parametrize("backing", ["memfd", "posix"])
def test_a_consumer_in_other_namespaces_reads_and_dies_like_any_other(backing):
    """Of pids, users, and System V's and POSIX' names: it is known by descriptors. What a killed one held comes again, flagged; the next one ends the epoch."""
    prefix = [*own_namespaces("--user", "--map-root-user", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"), sys.executable, "-c"]
    name = f"apart-{os.getpid()}-{backing}"
    engine = engine_of([BUILD / "ringpattern", "--name", name, "--slots", "12", "--bytes", "256", "--batches", "40", "--groups", "g", "--backing", backing])
    holder = None
    try:
        holder = subprocess.Popen([*prefix, HOLD, name], stdout=subprocess.PIPE, text=True)
        held = int(holder.stdout.readline())
        holder.kill()  # unshare, and with it its child
        done = subprocess.run([*prefix, REST, name], capture_output=True, text=True, timeout=WATCHDOG)
        pid, _, got = done.stdout.partition(" ")
        assert pid == "1", done.stderr
        assert json.loads(got) == {str(t): 1 + (t == held) for t in range(40)}
        ledger = json.loads(engine.communicate(timeout=WATCHDOG)[0].splitlines()[-1])
    finally:
        end(engine, *[holder] if holder else [])
    assert (ledger["completed"], ledger["redelivered"], ledger["violations"]) == (40, 1, 0)
