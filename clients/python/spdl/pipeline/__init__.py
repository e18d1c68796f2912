"""spdl.pipeline: ops of yours, run in stages, with the engine's queues, order and failure rules between them.

    from spdl.pipeline import PipelineBuilder

    pipeline = (PipelineBuilder()
                .add_source(paths)
                .pipe(read, concurrency=8)           # a function, an async function, a generator
                .pipe(decode, concurrency=4)
                .aggregate(32)
                .add_sink(3)
                .build(num_threads=8))
    with pipeline.auto_stop():
        for batch in pipeline:
            train(batch)

It has the public surface and the meaning of Meta's SPDL; docs/parity.md says row by row where it does more, or
less. Each stage runs on threads of its own, which take items from the engine (libspdl) and give results back;
nothing of the engine runs in the interpreter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._listing import offered
from .._spelling import no_attribute
from ._arena import SharedMemoryRingBuffer, SharedMemorySegmentPool
from ._build import build_pipeline
from ._builder import PipelineBuilder
from ._cache import cache_iterator
from ._executors import (
    PriorityExecutorEntrypoint,
    PriorityInterpreterPoolExecutor,
    PriorityProcessPoolExecutor,
    PriorityThreadPoolExecutor,
)
from ._failure import PipelineFailure
from ._hooks import TaskHook, TaskPerfStats, TaskStatsHook
from ._info import StageInfo, is_eof, is_epoch_end
from ._pipeline import Pipeline
from ._process_stats import ProcessGroupResourceUsage, ProcessGroupStatsMonitor
from ._profile import ProfileHook, ProfileResult, profile_pipeline
from ._queues import AsyncQueue, QueuePerfStats, StatsQueue
from ._subprocess import (
    iterate_in_subinterpreter,
    iterate_in_subprocess,
    run_pipeline_in_subinterpreter,
    run_pipeline_in_subprocess,
)
from ._tasks import BackgroundTask, BackgroundTaskFactory, create_task
from ._worker import WorkerDied, WorkerError

__all__ = [
    "AsyncQueue", "BackgroundTask", "BackgroundTaskFactory", "build_pipeline", "cache_iterator", "create_task",
    "is_eof", "is_epoch_end", "iterate_in_subinterpreter", "iterate_in_subprocess", "Pipeline", "PipelineBuilder",
    "PipelineFailure", "PriorityExecutorEntrypoint", "PriorityInterpreterPoolExecutor",
    "PriorityProcessPoolExecutor", "PriorityThreadPoolExecutor", "ProcessGroupResourceUsage",
    "ProcessGroupStatsMonitor", "profile_pipeline", "ProfileHook", "ProfileResult", "QueuePerfStats",
    "run_pipeline_in_subinterpreter", "run_pipeline_in_subprocess", "SharedMemoryRingBuffer",
    "SharedMemorySegmentPool", "StageInfo", "StatsQueue", "TaskHook", "TaskPerfStats", "TaskStatsHook",
    "WorkerDied", "WorkerError",
]


__dir__ = offered(globals())


if not TYPE_CHECKING:  # to a type checker it would say that every name is there
    def __getattr__(name: str) -> object:
        raise no_attribute(__name__, name, __all__)
