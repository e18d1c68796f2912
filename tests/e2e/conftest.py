"""What every end-to-end test gets: a runtime directory of its own, engines that end with it, a check that nothing is left."""

import functools
import gc
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Who is started in the background inherits a SIGINT that is ignored; our tests and their children are to see it.
signal.signal(signal.SIGINT, signal.default_int_handler)
if len(tempfile.gettempdir()) > 60:  # multiprocessing puts sockets there, whose paths may have 107 bytes
    os.environ["TMPDIR"] = tempfile.tempdir = "/tmp"
sys.path.insert(0, str(ROOT / "clients/python"))

import driver  # noqa: E402
import spdl  # noqa: E402
from engines import BUILD, CONSUMERS, MARK, SPDL, WATCHDOG, Consumer, Engine, processes_of  # noqa: E402
from pictures import make_folder  # noqa: E402


def pytest_addoption(parser):
    parser.addoption("--seeds", type=int, default=8, help="how many descriptions are drawn, of tests that draw them")


def pytest_generate_tests(metafunc):
    if "drawn" in metafunc.fixturenames:
        metafunc.parametrize("drawn", range(metafunc.config.getoption("seeds")))


# Descriptors of the driver, which keeps them. A GPU's has queues and sockets of its own, too, that it opens when it likes.
KEPT = ("/dev/nvidia", "anon_inode:", "pipe:", "socket:") if driver.GPU else ("/dev/nvidia",)


class Surroundings:
    """What a test may not change: this process's descriptors and children, sockets, names in /dev/shm."""

    def __init__(self, mark, runtime):
        self.mark, self.runtime, self.before = mark, runtime, self.descriptors()

    @staticmethod
    def descriptors():
        gc.collect()
        found = set()
        for fd in os.listdir("/proc/self/fd"):
            try:
                what = os.readlink(f"/proc/self/fd/{fd}")
                if not what.startswith(KEPT):
                    found.add((int(fd), what))
            except OSError:
                continue  # the listing's own
        return found

    def left(self):
        left = [f"process {pid}: {command}" for pid, command in processes_of(self.mark)]
        left += [f"/dev/shm/{name}" for name in os.listdir("/dev/shm") if self.mark in name]
        left += [f"{self.runtime}/{name}" for name in os.listdir(self.runtime)]
        return left + [f"descriptor {fd}: {what}" for fd, what in sorted(self.descriptors() - self.before)]


IN_PROCESS = os.environ.get("SPDL_E2E_IN_PROCESS") == "1"  # test_in_process.py runs other files again that way


@pytest.fixture(scope="session", autouse=True)
def form(tmp_path_factory):
    """In process: spdl.open everywhere; what Go opens once for the whole process is there before a test counts descriptors. So is what a GPU needs."""
    driver.begin()
    if IN_PROCESS:
        spdl.open = functools.partial(spdl.open, in_process=True)
        folder = make_folder(tmp_path_factory.mktemp("warm"), 4)
        spdl.open(str(folder.path), size=32, batch=2).close()
        time.sleep(0.2)


@pytest.fixture(autouse=True)
def surroundings(monkeypatch):
    """Fail the test if it leaves processes, descriptors, sockets or names in /dev/shm, or takes longer than WATCHDOG."""

    def late(_signal, _frame):
        raise TimeoutError(f"the test has waited for more than {WATCHDOG} s")

    mark = f"e2e-{os.getpid()}-{time.monotonic_ns() // 1000 % 10**9}"
    old = signal.signal(signal.SIGALRM, late)
    with tempfile.TemporaryDirectory(prefix="spdl-", dir="/tmp") as runtime:
        monkeypatch.setenv("SPDL_RUNTIME_DIR", runtime)
        monkeypatch.setenv(MARK, mark)
        around = Surroundings(mark, runtime)
        signal.alarm(WATCHDOG)
        yield around
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)
        Consumer.end_all()
        deadline = time.monotonic() + 60  # a process that was told to end may take a moment
        while (left := around.left()) and time.monotonic() < deadline:
            time.sleep(0.02)
        for pid, _ in processes_of(mark):
            os.kill(pid, signal.SIGKILL)  # so that one failing test does not fail the next ones
    assert not left, "left behind:\n" + "\n".join(left)


@pytest.fixture
def cuda(monkeypatch):
    """The driver, found by engines and libspdl."""
    driver.install(monkeypatch)


@pytest.fixture
def place():
    """A copy of what was built that every user may read: a checkout in root's home may not be."""
    with tempfile.TemporaryDirectory(prefix="spdl-", dir="/tmp") as directory:
        place = pathlib.Path(directory)
        (place / "examples").mkdir()
        shutil.copy(CONSUMERS["c"][0], place / "examples")
        for file in (BUILD / "libspdl.so.0", BUILD / "libspdl_engine.so", SPDL):
            shutil.copy(file, place)
        shutil.copytree(ROOT / "clients/python/spdl", place / "python/spdl", ignore=shutil.ignore_patterns("__pycache__"))
        for path in (place, *place.rglob("*")):
            os.chmod(path, 0o755)
        yield place


@pytest.fixture
def name(surroundings):
    """A name for a ring that nobody else uses."""
    return surroundings.mark


@pytest.fixture
def serve(surroundings, tmp_path):
    """Start `spdl serve`: serve(description, "--flag", ...) returns a running Engine, stopped in good order at the end."""
    started = []

    def start(description, *args, **options):
        options.setdefault("name", surroundings.mark if not started else f"{surroundings.mark}.{len(started)}")
        options.setdefault("log", tmp_path / f"engine{len(started)}.log")
        started.append(Engine(description, *args, **options))
        return started[-1].ready()

    yield start
    codes = [(engine.name, engine.stop()) for engine in started if engine.running]
    assert all(code == 0 for _, code in codes), f"engines stopped by SIGTERM ended with {codes}"


@pytest.fixture(scope="session")
def pictures(tmp_path_factory):
    """A folder of 53 small, varied pictures in three classes: read it, do not change it."""
    return make_folder(tmp_path_factory.mktemp("pictures"), 53)


@pytest.fixture
def loaders():
    """Open or attach in this process: what is handed in is closed after the test, the last first."""
    opened = []

    def keep(loader):
        opened.append(loader)
        return loader

    yield keep
    while opened:
        opened.pop().close()
    gc.collect()


@pytest.fixture
def attach(loaders):
    """spdl.attach, closed after the test."""
    return lambda *args, **options: loaders(spdl.attach(*args, **options))


@pytest.fixture
def open_(loaders):
    """spdl.open, closed after the test."""
    return lambda *args, **options: loaders(spdl.open(*args, **options))
