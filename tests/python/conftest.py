"""What the Python tests share: the mock libspdl, the pattern engine, and the check that nothing is left behind."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Callable, Optional

import pytest

ROOT = Path(__file__).resolve().parents[2]
PREFIX = f"python-{os.getpid()}-"  # of the engines that these tests start
# Who is started in the background inherits a SIGINT that is ignored; our tests and their children are to see it.
signal.signal(signal.SIGINT, signal.default_int_handler)
if len(tempfile.gettempdir()) > 60:  # multiprocessing puts sockets there, whose paths may have 107 bytes
    os.environ["TMPDIR"] = tempfile.tempdir = "/tmp"
sys.path.insert(0, str(ROOT / "clients" / "python"))

import spdl  # noqa: E402
from spdl import _c, _dlpack  # noqa: E402


class Counts(ctypes.Structure):  # mock_counts
    _fields_ = [(name, ctypes.c_int) for name in
                ("readers", "leases", "detached_with_leases", "acquired", "released", "done", "stale", "failed")]


class Request(ctypes.Structure):  # mock_request
    _fields_ = [("name", ctypes.c_char * 256), ("group", ctypes.c_char * 64), ("client", ctypes.c_char * 64),
                ("engine", ctypes.c_char * 256), ("args", ctypes.c_char * 256), ("state", ctypes.c_char * 256),
                ("flags", ctypes.c_uint32), ("max_leases", ctypes.c_uint32), ("lane", ctypes.c_int32),
                ("timeout_ns", ctypes.c_int64)]


class Mock:
    """tests/cpp/mock.c, a libspdl that serves a fixed pattern and fails on request."""

    ROWS, BATCHES, LEASES = 3, 5, 4

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lib = ctypes.CDLL(str(path))
        self.lib.mock_get_counts.restype = Counts
        self.lib.mock_last_request.restype = ctypes.POINTER(Request)
        self.lib.mock_set_epochs.argtypes = [ctypes.c_uint64]

    def fail(self, function: str, status: int, text: str = "mock: forced", skip: int = 0) -> None:
        self.lib.mock_fail(function.encode(), skip, status, text.encode())

    def share(self) -> None:
        self.lib.mock_set_access(_c.ACCESS_SHARED)

    @property
    def counts(self) -> Counts:
        _dlpack.sweep()
        return self.lib.mock_get_counts()

    @property
    def request(self) -> Request:
        return self.lib.mock_last_request().contents


@pytest.fixture(scope="session")
def mock_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mock") / "libmock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", f"-I{ROOT}/include", f"{ROOT}/tests/cpp/mock.c", "-o", path],
                   check=True)
    return path


@pytest.fixture
def mock(mock_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """The mock in place of libspdl, a fresh copy for each test, which must end with no reader and no lease alive."""
    mock = Mock(shutil.copy(mock_path, tmp_path / "libmock.so"))
    monkeypatch.setattr(_c, "_api", _c.Api(str(mock.path)))
    monkeypatch.setattr(_dlpack, "_deleter_address", 0)
    yield mock
    gc.collect()
    assert (mock.counts.readers, mock.counts.leases) == (0, 0), "the test leaves readers or leases behind"


@pytest.fixture
def loader(mock: Mock):
    """A loader of the mock, closed after the test."""
    with spdl.open("mock") as loader:
        yield loader


def _left() -> dict[str, set]:
    """What a test may leave behind: descriptors, children, names in /dev/shm."""
    gc.collect()
    _dlpack.sweep()
    fds = set()
    for fd in os.listdir("/proc/self/fd"):
        try:
            fds.add((fd, os.readlink(f"/proc/self/fd/{fd}")))
        except OSError:
            continue  # the listing's own
    tasks = f"/proc/self/task/{os.getpid()}/children"
    children = set(Path(tasks).read_text().split()) if os.path.exists(tasks) else set()
    shm = {name for name in os.listdir("/dev/shm") if name.startswith(f"spdl.{PREFIX}")}
    return {"descriptors": fds, "children": children, "names in /dev/shm": shm}


@pytest.fixture(autouse=True)
def nothing_left_behind():
    before = _left()
    yield
    deadline = time.monotonic() + 60
    while True:  # a killed engine takes a moment to be gone
        new = {what: sorted(now - before[what]) for what, now in _left().items() if now - before[what]}
        if not new or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    assert not new, f"left behind: {new}"


@pytest.fixture
def python():
    """Run a script in a fresh interpreter that sees this package; returns the finished process."""

    def run(script: str, *args: str, library: object = None, **env: str) -> subprocess.CompletedProcess:
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "clients" / "python"), **env}
        if library is not None:
            environment["SPDL_LIBRARY"] = str(library)
        return subprocess.run([sys.executable, "-X", "faulthandler", "-c", script, *args], env=environment,
                              capture_output=True, text=True, timeout=240)

    return run


# ---- signals


class Struck(KeyboardInterrupt):
    """What the handler raises."""


class Storm:
    """storm(call, after): a handler raises somewhere in call(), and after() is called, until that has happened so many times."""

    def __init__(self) -> None:
        self._inside = self._over = False

    def __call__(self, call: Callable[[], object], after: Callable[[], object], strikes: int = 1000) -> None:
        for count in range(strikes):
            self._over = False
            # At another moment of it each time; and again, as Python may not look at one that struck another thread while nobody waits for its lock.
            signal.setitimer(signal.ITIMER_REAL, (20 + count % 101 * 3) * 1e-6, 1)
            while not self._over:
                try:
                    self._inside = True
                    call()
                except Struck:
                    pass
                finally:
                    self._inside = False
                after()

    def strike(self, _: int, frame: Optional[FrameType]) -> None:
        if not self._inside or finalises(frame):
            signal.setitimer(signal.ITIMER_REAL, 1e-4, 1)  # try again
            return
        self._inside, self._over = False, True
        raise Struck


def finalises(frame: Optional[FrameType]) -> bool:
    """Whether a finaliser runs: what is raised there the interpreter prints and forgets, whoever wrote it."""
    while frame is not None:
        if frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


@pytest.fixture
def storm():
    storm = Storm()
    before = signal.signal(signal.SIGALRM, storm.strike)
    yield storm
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


# ---- the real library against the pattern engine --------------------------------------------------


def built(name: str) -> Path:
    """What the build made: of $SPDL_BUILD, else of build/."""
    path = Path(os.environ.get("SPDL_BUILD") or ROOT / "build", name)
    if not path.exists():
        pytest.fail(f"{path} is missing; run `make test`, or set SPDL_BUILD")
    return path


class Engine:
    """tests/ringpattern as a service: `name` to attach to, `ledger` after stop()."""

    def __init__(self, name: str, *args: str) -> None:
        self.name = name
        self.process = subprocess.Popen([built("ringpattern"), "--name", name, *args],
                                        stdout=subprocess.PIPE, text=True)
        self.ledger: list[dict] = []
        line = self.process.stdout.readline()
        assert line.startswith("ready"), f"ringpattern {args} said {line!r}"

    def stop(self) -> list[dict]:
        """End it in good order; its ledger, one entry per group."""
        if self.process.poll() is None:
            self.process.terminate()
            self.process.send_signal(signal.SIGCONT)  # a test that failed may have left it stopped
        try:
            lines = self.process.communicate(timeout=60)[0].splitlines()
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGQUIT)  # Go prints where every goroutine is
            self.process.communicate()
            raise AssertionError(f"engine {self.name} did not end within 60 s of SIGTERM") from None
        self.ledger = [json.loads(line) for line in lines if line.startswith("{")]
        return self.ledger

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(60)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The real libspdl."""
    path = built("libspdl.so")
    monkeypatch.setenv("SPDL_LIBRARY", str(path))
    monkeypatch.setattr(_c, "_api", _c.Api(str(path)))
    monkeypatch.setattr(_dlpack, "_deleter_address", 0)
    return path


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch):
    """A directory for sockets, short enough for them."""
    with tempfile.TemporaryDirectory(prefix="spdl-", dir="/tmp") as directory:
        monkeypatch.setenv("SPDL_RUNTIME_DIR", directory)
        yield directory
        assert os.listdir(directory) == [], "a socket is left behind"


@pytest.fixture
def engine(library: Path, runtime: str):
    """Start pattern engines: engine("--slots", "8") returns an Engine, which is stopped after the test."""
    started: list[Engine] = []

    def start(*args: str) -> Engine:
        started.append(Engine(f"{PREFIX}{len(started)}", *args))
        return started[-1]

    yield start
    gc.collect()
    for one in started:
        if one.process.returncode is None:
            one.stop()
        elif not one.process.stdout.closed:
            one.process.stdout.close()
        if one.process.returncode == -9:  # killed: its socket is ours to remove
            Path(runtime, f"{one.name}.sock").unlink(missing_ok=True)


@pytest.fixture
def child(library: Path):
    """Open a loader with the pattern engine as its child: child("--batches", "9") is spdl.open."""

    def start(*args: str, spec: object = "any.yaml", **options: object) -> spdl.Loader:
        return spdl.open(spec, engine=built("ringpattern"), args=args, **options)

    return start


def check(batch: spdl.Batch) -> int:
    """Verify every byte of a pattern batch; returns its ticket."""
    ticket = batch.ticket
    values = batch.array("x").memoryview()
    assert values.tobytes() == ticket.to_bytes(8, "little") * (values.nbytes // 8)
    assert batch.sample_keys == [f"t{ticket}r{row}" for row in range(batch.rows)]
    return ticket


def together(*functions) -> None:
    """Run each function on a thread of its own until all have returned; raise what one of them raised."""
    raised: list[BaseException] = []

    def run(function) -> None:
        try:
            function()
        except BaseException as error:  # noqa: B036 - raised again below
            raised.append(error)

    threads = [threading.Thread(target=run, args=(function,), daemon=True) for function in functions]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 60
    while any(thread.is_alive() for thread in threads) and not raised and time.monotonic() < deadline:
        threads[0].join(0.01)
        threads = [thread for thread in threads if thread.is_alive()] or threads
    if raised:
        raise raised[0]
    assert not any(thread.is_alive() for thread in threads), "a thread still waits after 60 s"
