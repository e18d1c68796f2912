"""Each pipe of a pipeline run alone, at several concurrencies."""

from __future__ import annotations

import dataclasses
import logging
import os
import time
from abc import ABC
from contextlib import contextmanager, nullcontext
from itertools import islice
from typing import Any, Callable, Iterator, Optional, Sequence

from . import config as defaults
from . import defs
from ._build import make_pipeline
from ._plan import Options

log = logging.getLogger("spdl.pipeline")

CONCURRENCIES = (32, 16, 8, 4, 1)


@dataclasses.dataclass
class _ProfileStats:
    """One run: items per second, and how often a result was ready behind the stage."""

    concurrency: int
    qps: float
    occupancy_rate: float


@dataclasses.dataclass
class ProfileResult:
    """One stage at several concurrencies."""

    name: str
    stats: Sequence[_ProfileStats]


class ProfileHook(ABC):
    """Called around the profiling; both are context managers."""

    @contextmanager
    def pipeline_profile_hook(self) -> Iterator[None]:
        """Around all of it."""
        yield

    @contextmanager
    def stage_profile_hook(self, stage: str, concurrency: int) -> Iterator[None]:
        """Around one run of one stage."""
        yield


def profile_pipeline(cfg: defs.PipelineConfig, num_inputs: int = 1000, *,
                     callback: Optional[Callable[[ProfileResult], None]] = None,
                     hook: Optional[ProfileHook] = None) -> Sequence[ProfileResult]:
    """Run each pipe alone, on the results of the one before, at concurrency 32, 16, 8, 4 and 1.

    num_inputs  items of the source to use; they and every stage's results are kept in memory
    callback    called with each stage's result; None: the default callback, which logs
    hook        ProfileHook; None: the default hook

    A pipe keeps its executor and the threads its concurrency asks for. Aggregates and path variants are run once, as
    they are, to feed the next pipe; regions are taken as part of the main process. Under torchrun only local rank 0
    profiles, the others return nothing.
    """
    if num_inputs < 1:
        raise ValueError(f"spdl: pipeline: profile_pipeline: num_inputs {num_inputs}, want 1 or more")
    if int(os.environ.get("LOCAL_RANK", "0")) != 0:
        return []
    callback = callback or defaults.get_default_profile_callback() or _log
    hook = hook or defaults.get_default_profile_hook()
    results = []
    with hook.pipeline_profile_hook() if hook else nullcontext():
        inputs = _run(defs.PipelineConfig(cfg.src, [], cfg.sink), num_inputs)[0]
        for stage in cfg.pipes:
            if isinstance(stage, defs.PlacementConfig):
                continue
            if isinstance(stage, defs.PipeConfig):
                result, inputs = _profile(stage, inputs, hook)
                results.append(result)
                callback(result)
            else:
                inputs = _run(_alone(stage, inputs), None)[0]
    return results


def _profile(stage: defs.PipeConfig, inputs: list[Any],
             hook: Optional[ProfileHook]) -> tuple[ProfileResult, list[Any]]:
    stats, outputs = [], inputs
    for concurrency in CONCURRENCIES:
        args = dataclasses.replace(stage._args, concurrency=concurrency)
        alone = _alone(dataclasses.replace(stage, _args=args), inputs)
        with hook.stage_profile_hook(stage.name, concurrency) if hook else nullcontext():
            outputs, qps, occupancy = _run(alone, None, concurrency)
        stats.append(_ProfileStats(concurrency, qps, occupancy))
    return ProfileResult(stage.name, stats), outputs


def _alone(stage: Any, inputs: list[Any]) -> defs.PipelineConfig:
    return defs.PipelineConfig(defs.SourceConfig(inputs), [stage], defs.SinkConfig(max(2, len(inputs))))


def _run(config: defs.PipelineConfig, limit: Optional[int], num_threads: int = 8) -> tuple[list[Any], float, float]:
    """The results of a pipeline, its inputs per second, and the occupancy of its stage's queue."""
    pipeline = make_pipeline(config, Options(num_threads, -1, -1, None, None, 0))
    with pipeline.auto_stop():
        begun = time.perf_counter()
        results = list(islice(pipeline, limit))
        took = time.perf_counter() - begun
        queues = pipeline.stats().get("queues", [])
    source = getattr(config.src, "source", None)
    count = len(source) if isinstance(source, list) else len(results)
    occupancy = queues[1]["occupancy"] if len(queues) > 1 else 0.0
    return results, count / max(took, 1e-9), occupancy


def _log(result: ProfileResult) -> None:
    lines = [f"  concurrency {one.concurrency:3}: {one.qps:10.1f} items/s, occupancy {100 * one.occupancy_rate:3.0f} %"
             for one in result.stats]
    log.info("stage %s\n%s", result.name, "\n".join(lines))
