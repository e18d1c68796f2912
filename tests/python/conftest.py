"""What the Python tests share: the mock libspdl, the pattern engine, and the check that nothing is left behind."""

from __future__ import annotations

import ctypes
import gc
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "clients" / "python"))

import spdl  # noqa: E402
from spdl import _c, _dlpack  # noqa: E402


class Counts(ctypes.Structure):  # mock_counts
    _fields_ = [(name, ctypes.c_int) for name in
                ("readers", "leases", "detached_with_leases", "acquired", "released", "done", "stale")]


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
    shm = {name for name in os.listdir("/dev/shm") if name.startswith("spdl.")}
    return {"descriptors": fds, "children": children, "names in /dev/shm": shm}


@pytest.fixture(autouse=True)
def nothing_left_behind():
    before = _left()
    yield
    deadline = time.monotonic() + 20
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
                              capture_output=True, text=True, timeout=120)

    return run
