"""Taking a config apart: regions in worker processes and custom merges become sources of the pipeline behind them."""

from __future__ import annotations

from typing import Any

from . import defs
from ._merge import CustomMerge
from ._pipeline import Pipeline
from ._plan import BUFFER, Options, compile_plan, is_continuous


def compose(config: defs.PipelineConfig, options: Options) -> tuple[defs.PipelineConfig, list[Any]]:
    """A config that the engine runs as one pipeline, and the pipelines and pools that feed its source."""
    config, inner = _without_custom_merge(_without_idle_returns(config), options)
    places = [place for place, stage in enumerate(config.pipes) if isinstance(stage, defs.PlacementConfig)]
    if not places:
        return config, inner
    return _without_regions(config, places, inner, options)


def _without_idle_returns(config: defs.PipelineConfig) -> defs.PipelineConfig:
    """Without what comes back to the main process from nowhere: `to(MAIN_PROCESS if debug else pool)` is fine."""
    pipes: list[Any] = []
    away = False
    for stage in config.pipes:
        if isinstance(stage, defs.PlacementConfig):
            back = stage.target is defs.MAIN_PROCESS
            if back and not away:
                continue
            away = not back
        pipes.append(stage)
    return defs.PipelineConfig(config.src, pipes, config.sink)


def _feeder(config: defs.PipelineConfig, options: Options) -> Pipeline:
    """A pipeline whose results are another's source."""
    composed, inner = compose(config, options)
    plan = compile_plan(composed, options)
    plan.inner = inner
    return Pipeline(plan)


def _without_custom_merge(config: defs.PipelineConfig, options: Options) -> tuple[defs.PipelineConfig, list[Any]]:
    src = config.src
    if isinstance(src, defs.SourceConfig):
        return config, []
    if src.op is None and not any(_has_regions(one) for one in src.pipeline_configs):
        return config, []
    merge = CustomMerge(src, [_feeder(one, options) for one in src.pipeline_configs])
    source = defs.SourceConfig(merge, is_continuous(config))
    return defs.PipelineConfig(source, config.pipes, config.sink), [merge]


def _has_regions(config: defs.PipelineConfig) -> bool:
    if any(isinstance(stage, defs.PlacementConfig) for stage in config.pipes):
        return True
    if isinstance(config.src, defs.SourceConfig):
        return False
    return config.src.op is not None or any(_has_regions(one) for one in config.src.pipeline_configs)


def _without_regions(config: defs.PipelineConfig, places: list[int], inner: list[Any],
                     options: Options) -> tuple[defs.PipelineConfig, list[Any]]:
    """The stages behind the last region, with that region as their source."""
    from ._region import Region  # brings multiprocessing

    opening, closing = _last_region(config, places)
    target = config.pipes[opening].target
    before = defs.PipelineConfig(config.src, list(config.pipes[:opening]), defs.SinkConfig(BUFFER))
    feeder = _feeder(before, options)
    feeder._core.plan.inner = [*feeder._core.plan.inner, *inner]
    region = Region(feeder, config.pipes[opening + 1:closing], target, config.pipes[opening].buffer_size,
                    config.pipes[closing].buffer_size, options)
    source = defs.SourceConfig(region, is_continuous(config))
    return defs.PipelineConfig(source, list(config.pipes[closing + 1:]), config.sink), [region]


def _last_region(config: defs.PipelineConfig, places: list[int]) -> tuple[int, int]:
    """Where the last region opens and closes. Refuses what cannot run in one."""
    closing = places[-1]
    if config.pipes[closing].target is not defs.MAIN_PROCESS:
        raise ValueError("spdl: pipeline: to: the last region is open at the sink; close it with to(MAIN_PROCESS)")
    opening = places[-2]
    target = config.pipes[opening].target
    if isinstance(target, defs.InterpreterPoolExecutorConfig):
        raise RuntimeError("spdl: pipeline: to: subinterpreters cannot import numpy, torch or ctypes libraries such as "
                           "libspdl; use ProcessPoolExecutorConfig")
    stages = config.pipes[opening + 1:closing]
    if not stages:
        raise ValueError("spdl: pipeline: to: the region has no stage, want at least one before to(MAIN_PROCESS)")
    for stage in stages:
        if isinstance(stage, defs.PipeConfig) and stage._type is defs._PipeType.OrderedPipe:
            raise ValueError(f'spdl: pipeline: to: pipe {stage.name!r} has output_order "input", which several workers '
                             "cannot keep; order the results behind the region")
    return opening, closing
