"""build_pipeline: from a config to a Pipeline."""

from __future__ import annotations

from typing import Callable, Iterable, Optional, Sequence

from .._foreign import own_arguments
from . import config as defaults
from . import defs
from ._compose import compose
from ._hooks import TaskHook
from ._info import StageInfo
from ._pipeline import Pipeline
from ._plan import Options, compile_plan, is_continuous
from ._queues import AsyncQueue
from ._tasks import BackgroundTaskFactory
from ._variables import U


@own_arguments("pipeline: build_pipeline")
def build_pipeline(pipeline_cfg: defs.PipelineConfig[U], /, *, num_threads: int, max_failures: defs.MaxFailures = -1,
                   report_stats_interval: float = -1, queue_class: Optional[type[AsyncQueue]] = None,
                   task_hook_factory: Optional[Callable[[StageInfo], Iterable[TaskHook]]] = None, stage_id: int = 0,
                   background_tasks: Optional[list[BackgroundTaskFactory]] = None,
                   use_thread_output_queue: bool = False) -> Pipeline[U]:
    """Make a pipeline of its config.

    num_threads            sync ops that run at once, over all stages; ops with an executor do not count
    max_failures           what each stage may have that says nothing of its own; -1: any number. See defs.Pipe
    report_stats_interval  seconds between reports of the default hooks and queues; -1: only a last one, as log INFO
    queue_class            subclass of AsyncQueue for the queues' statistics and hooks; no item passes it
    task_hook_factory      called with each pipe's StageInfo; returns its list of hooks
    stage_id               number of the first stage in names
    background_tasks       classes or functions that make BackgroundTask objects, run beside the pipeline
    use_thread_output_queue  has no effect: the hand-over to the consumer never takes SPDL's slow way

    In diagnostic mode ($SPDL_PIPELINE_DIAGNOSTIC_MODE=1) it profiles the pipeline and exits.
    """
    if not isinstance(pipeline_cfg, defs.PipelineConfig):
        raise ValueError(f"spdl: pipeline: build: got a {type(pipeline_cfg).__name__}, want a PipelineConfig")
    callback = defaults.get_default_build_callback()
    if callback is not None:
        callback(pipeline_cfg)
    if defaults.is_diagnostic_mode_enabled():
        from ._profile import profile_pipeline

        profile_pipeline(pipeline_cfg, defaults.diagnostic_mode_num_sources())
        raise SystemExit(0)
    options = Options(num_threads, max_failures, report_stats_interval, queue_class, task_hook_factory, stage_id)
    tasks = defaults.get_default_background_tasks() if background_tasks is None else background_tasks
    return make_pipeline(pipeline_cfg, options, tasks or ())


def make_pipeline(config: defs.PipelineConfig[U], options: Options,
                  tasks: Sequence[BackgroundTaskFactory] = ()) -> Pipeline[U]:
    """build_pipeline without callback and diagnostic mode."""
    is_continuous(config)
    composed, inner = compose(config, options)
    plan = compile_plan(composed, options)
    plan.inner = inner
    plan.background = list(tasks)
    return Pipeline(plan)
