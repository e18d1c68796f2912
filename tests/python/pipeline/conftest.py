"""What the pipeline tests share: the engine, loaded once, and short ways to build and to run."""

from __future__ import annotations

import logging
import multiprocessing.forkserver
import multiprocessing.resource_tracker
import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any, Callable, Optional

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "clients" / "python"))
BUILD = Path(os.environ.get("SPDL_BUILD") or ROOT / "build")

os.environ.setdefault("SPDL_LIBRARY", str(BUILD / "libspdl.so"))

from spdl.pipeline import PipelineBuilder, _core  # noqa: E402


@pytest.fixture(scope="session", autouse=True)
def helpers_run() -> None:
    """What stays in a process once it was used: Go's runtime, and multiprocessing's two helpers."""
    for name in ("libspdl.so", "libspdl_engine.so"):
        if not (BUILD / name).exists():
            pytest.fail(f"{BUILD / name} is missing; run `make test`, or set SPDL_BUILD")
    multiprocessing.resource_tracker.ensure_running()
    multiprocessing.forkserver.ensure_running()
    assert run([1, 2]) == [1, 2]


def build(source: Any = range(10), *ops: Any, continuous: bool = False, num_threads: int = 4, sink: int = 3,
          pipe: Optional[dict] = None, **options: Any) -> Any:
    """A pipeline of a source and ops."""
    builder = PipelineBuilder().add_source(source, continuous=continuous)
    for op in ops:
        builder.pipe(op, **(pipe or {}))
    return builder.add_sink(sink).build(num_threads=num_threads, **options)


def run(source: Any = range(10), *ops: Any, **options: Any) -> list[Any]:
    """Its results."""
    pipeline = build(source, *ops, **options)
    with pipeline.auto_stop():
        return list(pipeline)


def wait_for(condition: Callable[[], Any], what: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {seconds} s"
        time.sleep(0.005)


@pytest.fixture(autouse=True)
def no_thread_left_behind():
    """A test ends with no thread of a pipeline and no pipeline alive."""
    before = set(threading.enumerate())
    yield
    import gc

    gc.collect()
    wait_for(lambda: not [one for one in threading.enumerate() if one not in before and one.name.startswith("spdl")],
             "threads end")
    wait_for(lambda: not _core._live, "pipelines end")


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture):
    """Failures of items are logged; tests that want them look into caplog."""
    caplog.set_level(logging.INFO, logger="spdl")
    yield


@pytest.fixture
def script():
    """Run a program in a fresh interpreter; returns the finished process."""

    def start(text: str, *args: str, timeout: float = 240, **env: str) -> subprocess.CompletedProcess:
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "clients" / "python"), **env}
        return subprocess.run([sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(text), *args],
                              env=environment, capture_output=True, text=True, timeout=timeout)

    return start
