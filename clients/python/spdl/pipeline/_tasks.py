"""create_task and background tasks."""

from __future__ import annotations

import asyncio
from typing import Any, Callable, Coroutine, Optional, TypeVar

from ._failure import EVERY, REPEATS, log, log_failure

T = TypeVar("T")


class BackgroundTask:
    """Runs beside a pipeline, on its event loop, from its start until its end; what it raises is logged."""

    async def run(self) -> None:
        """What to do; cancelled when the pipeline ends."""
        raise NotImplementedError


BackgroundTaskFactory = Callable[[], BackgroundTask]


def create_task(coro: Coroutine[Any, Any, T], name: Optional[str] = None, log_cancelled: bool = False,
                suppress_repeated_logs: bool = False, suppression_threshold: int = REPEATS,
                suppression_warning_interval: int = EVERY) -> asyncio.Task[T]:
    """asyncio.create_task, whose failure is logged.

    log_cancelled                 also log that it was cancelled
    suppress_repeated_logs        of failures in one place, log only suppression_threshold, and from then on one in
                                  suppression_warning_interval
    """
    def done(task: asyncio.Task[T]) -> None:
        if task.cancelled():
            if log_cancelled:
                log.warning("task %s was cancelled", task.get_name())
            return
        error = task.exception()
        if error is not None:
            log_failure(f"task {task.get_name()}", error, suppress_repeated_logs, suppression_threshold,
                        suppression_warning_interval)

    task = asyncio.create_task(coro, name=name)
    task.add_done_callback(done)
    return task
