"""Defaults of this process for every pipeline that is built: hooks, queues, callbacks, background tasks."""

from __future__ import annotations

import os
from typing import Any, Callable, Optional

from ._failure import set_compact_log
from ._hooks import TaskHook, TaskStatsHook
from ._queues import AsyncQueue, StatsQueue
from ._tasks import BackgroundTaskFactory

__all__ = [
    "diagnostic_mode_num_sources", "get_default_background_tasks", "get_default_build_callback",
    "get_default_hook_class", "get_default_profile_callback", "get_default_profile_hook", "get_default_queue_class",
    "is_diagnostic_mode_enabled", "set_compact_log", "set_default_background_tasks", "set_default_build_callback",
    "set_default_hook_class", "set_default_profile_callback", "set_default_profile_hook", "set_default_queue_class",
]

DIAGNOSTIC_INPUTS = 1000

_hook_class: Optional[type[TaskHook]] = TaskStatsHook
_queue_class: type[AsyncQueue] = StatsQueue
_profile_hook: Any = None
_profile_callback: Optional[Callable[..., None]] = None
_build_callback: Optional[Callable[[Any], None]] = None
_background_tasks: Optional[list[BackgroundTaskFactory]] = None


def is_diagnostic_mode_enabled() -> bool:
    """Whether $SPDL_PIPELINE_DIAGNOSTIC_MODE is 1: build_pipeline then profiles the pipeline and exits."""
    return os.environ.get("SPDL_PIPELINE_DIAGNOSTIC_MODE", "0") == "1"


def diagnostic_mode_num_sources() -> int:
    """How many items of the source that profile uses: $SPDL_PIPELINE_DIAGNOSTIC_MODE_NUM_ITEMS, else 1000."""
    text = os.environ.get("SPDL_PIPELINE_DIAGNOSTIC_MODE_NUM_ITEMS", str(DIAGNOSTIC_INPUTS))
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"spdl: pipeline: SPDL_PIPELINE_DIAGNOSTIC_MODE_NUM_ITEMS is {text!r}, want 1 or more")
    return int(text)


def set_default_hook_class(hook_class: Optional[type[TaskHook]] = TaskStatsHook) -> None:
    """The class whose objects hook every pipe that has no task_hook_factory, made as hook_class(info, interval);
    None: no hooks."""
    global _hook_class
    _hook_class = hook_class


def get_default_hook_class() -> Optional[type[TaskHook]]:
    return _hook_class


def set_default_queue_class(queue_class: type[AsyncQueue] = StatsQueue) -> None:
    """The class of the queues of pipelines that are built without a queue_class."""
    global _queue_class
    _queue_class = queue_class


def get_default_queue_class() -> type[AsyncQueue]:
    return _queue_class


def set_default_profile_hook(hook: Any = None) -> None:
    """The ProfileHook of profile_pipeline calls without one."""
    global _profile_hook
    _profile_hook = hook


def get_default_profile_hook() -> Any:
    return _profile_hook


def set_default_profile_callback(callback: Optional[Callable[..., None]] = None) -> None:
    """What profile_pipeline calls with each result when it is given no callback."""
    global _profile_callback
    _profile_callback = callback


def get_default_profile_callback() -> Optional[Callable[..., None]]:
    return _profile_callback


def set_default_build_callback(callback: Optional[Callable[[Any], None]]) -> None:
    """Called with the PipelineConfig of every pipeline that is built."""
    global _build_callback
    _build_callback = callback


def get_default_build_callback() -> Optional[Callable[[Any], None]]:
    return _build_callback


def set_default_background_tasks(tasks: Optional[list[BackgroundTaskFactory]]) -> None:
    """Background tasks of every pipeline that is built without its own."""
    global _background_tasks
    _background_tasks = tasks


def get_default_background_tasks() -> Optional[list[BackgroundTaskFactory]]:
    return _background_tasks
