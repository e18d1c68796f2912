"""Signal handlers that raise, as Ctrl-C's does in the main thread: whatever they strike, a pipeline's threads go on."""

from __future__ import annotations

import asyncio
import sys

import pytest

from spdl.pipeline import PipelineBuilder
from spdl.pipeline._loop import Loop

from .conftest import build

pytestmark = [
    pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.9 and 3.10 look for signals on the way out of a `with`, too"),
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_a_pipelines_locks_are_free_after_a_handler_raised_anywhere_in_a_call(storm):
    pipeline = build(range(10**9), lambda x: x + 1, num_threads=2)
    locks = [pipeline._lock, pipeline._core.lock, pipeline._core._closing]

    def use() -> None:
        for _ in range(20):
            pipeline.next(timeout=60)
            pipeline.raise_failure()
        pipeline.stats()

    with pipeline.auto_stop(timeout=60):
        storm(use, lambda: [free(lock) for lock in locks])
        assert pipeline.get_item(timeout=60) > 0


@pytest.mark.parametrize("aggregate", [None, 3])
def test_a_result_that_a_ctrl_c_has_kept_from_its_caller_comes_with_the_next_call(monkeypatch, aggregate):
    builder = PipelineBuilder().add_source(range(12))
    if aggregate:
        builder.aggregate(aggregate)
    pipeline = builder.add_sink(1).build(num_threads=1)
    wait = pipeline._wait

    def struck(*arguments):
        wait(*arguments)
        monkeypatch.setattr(pipeline, "_wait", wait)
        raise KeyboardInterrupt

    results = []
    with pipeline.auto_stop(timeout=60):
        for _ in range(3):
            monkeypatch.setattr(pipeline, "_wait", struck)
            with pytest.raises(KeyboardInterrupt):
                pipeline.get_item(timeout=60)
            results.append(pipeline.get_item(timeout=60))
        results += pipeline
    assert results == ([[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]] if aggregate else list(range(12)))


def test_a_result_that_a_ctrl_c_has_kept_from_its_caller_is_dropped_by_a_stop(monkeypatch):
    pipeline = build(range(12), lambda x: x)
    wait = pipeline._wait

    def struck(*arguments):
        wait(*arguments)
        raise KeyboardInterrupt

    with pipeline.auto_stop(timeout=60):
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(pipeline, "_wait", struck)
            pipeline.get_item(timeout=60)
    with pytest.raises(EOFError):
        pipeline.get_item(timeout=60)


def free(lock) -> None:
    assert not lock._is_owned(), "the lock stayed taken"


def test_a_loop_runs_on_after_a_handler_raised_anywhere_in_a_wait_for_it(storm):
    """Its thread never waits for a lock that the one who asked has left taken."""
    loop = Loop("spdl-test-loop")

    async def answer(x: int) -> int:
        await asyncio.sleep(0)
        return x

    storm(lambda: [loop.start(answer(x)).result(60) for x in range(10)], lambda: None)
    assert loop.start(answer(7)).result(60) == 7
    assert loop.close(60)
