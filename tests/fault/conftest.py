"""What every fault test gets: a runtime directory of its own, short enough for a socket's name wherever TMPDIR points."""

import os
import tempfile

import pytest


@pytest.fixture(autouse=True)
def runtime(monkeypatch):
    with tempfile.TemporaryDirectory(prefix="spdl-", dir="/tmp") as directory:
        monkeypatch.setenv("SPDL_RUNTIME_DIR", directory)
        yield directory


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """A folder of pictures for the runs of staged.py."""
    import staged
    from pictures import make_folder

    return make_folder(tmp_path_factory.mktemp("pictures"), staged.STEPS * staged.BATCH).path


@pytest.fixture(scope="module")
def want(pictures, tmp_path_factory):
    """What their consumers must be given."""
    import staged

    return staged.oracle(pictures, tmp_path_factory.mktemp("oracle"))


def left():
    return [name for name in os.listdir("/dev/shm") if f"-{os.getpid()}" in name]


def pytest_sessionfinish(session):
    """Whoever was killed here had names in /dev/shm of this process's number: none may be left."""
    if left() and session.exitstatus == 0:
        session.exitstatus = 1


def pytest_terminal_summary(terminalreporter):
    if left():
        terminalreporter.write_line(f"left behind in /dev/shm: {left()}", red=True)
