"""What every fault test gets: a runtime directory of its own, short enough for a socket's name wherever TMPDIR points."""

import os
import tempfile

import pytest


@pytest.fixture(autouse=True)
def runtime(monkeypatch):
    with tempfile.TemporaryDirectory(prefix="spdl-", dir="/tmp") as directory:
        monkeypatch.setenv("SPDL_RUNTIME_DIR", directory)
        yield directory


def pytest_sessionfinish():
    """Whoever was killed here had names in /dev/shm of this process's number: none may be left."""
    left = [name for name in os.listdir("/dev/shm") if f"-{os.getpid()}" in name]
    assert not left, left
