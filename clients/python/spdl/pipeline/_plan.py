"""From a PipelineConfig to what the engine runs: its description, and the host stages in it."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import queue
from dataclasses import replace
from typing import Any, Callable, Iterable, Optional, Sequence

from .._given import shown
from . import config as defaults
from . import defs
from ._core import Plan, QueuePlan
from ._desk import Budget, HostStage
from ._hooks import TaskHook
from ._info import StageInfo
from ._map import MapStage, PathMapStage
from ._queues import AsyncQueue, StatsQueue
from ._stages import AggregatorStage, JoinStage, PartRouterStage, RouterStage, SourceStage, SplitStage

BUFFER = 2  # items in the queue between two stages

FORGIVE = {"max_count": -1}  # to the engine: this side keeps the count, see Budget

_pipelines = itertools.count()


class Options:
    """What build_pipeline() was told."""

    def __init__(self, num_threads: int, max_failures: defs.MaxFailures, report_stats_interval: float,
                 queue_class: Optional[type[AsyncQueue]], task_hook_factory: Optional[Callable[[StageInfo], Iterable[TaskHook]]],
                 stage_id: int) -> None:
        defs.check_max_failures(max_failures)
        if max_failures is None:
            raise ValueError("spdl: pipeline: build: max_failures is None, want -1 for no limit, a count or a Fraction")
        self.num_threads = defs.at_least_one("pipeline: build: num_threads", num_threads)
        self.max_failures = max_failures
        self.interval = report_stats_interval
        self.queue_class = queue_class
        self.task_hook_factory = task_hook_factory
        self.stage_id = stage_id

    def hooks(self, info: StageInfo) -> list[TaskHook]:
        """The hooks of one pipe."""
        if self.task_hook_factory is not None:
            return list(self.task_hook_factory(info))
        hook_class = defaults.get_default_hook_class()
        return [] if hook_class is None else [hook_class(info, self.interval)]  # type: ignore[call-arg]

    def queue(self, info: StageInfo, buffer_size: int) -> Optional[Callable[[], AsyncQueue]]:
        """How to make the queue object behind a stage; None where nobody would see it."""
        chosen = self.queue_class or defaults.get_default_queue_class()
        if chosen is StatsQueue and self.interval <= 0:
            return None
        _check_queue_class(chosen)
        if self.queue_class is None and issubclass(chosen, StatsQueue):
            return lambda: chosen(info, buffer_size=buffer_size, interval=self.interval)
        return lambda: chosen(info, buffer_size=buffer_size)


def _check_queue_class(chosen: Any) -> None:
    if not (inspect.isclass(chosen) and issubclass(chosen, AsyncQueue)):
        raise ValueError(f"spdl: pipeline: build: queue_class {chosen!r}, want a subclass of AsyncQueue")
    for name in ("put", "get", "put_nowait", "get_nowait"):
        if getattr(chosen, name) not in (getattr(StatsQueue, name), getattr(asyncio.Queue, name)):
            raise ValueError(
                f"spdl: pipeline: build: queue_class {chosen.__name__} overrides {name}(), which no item passes: items "
                "travel in the engine; override interval_stats_callback() or stage_hook(), or add a pipe")


def _gives_items(stage: Any) -> bool:
    """Whether what comes out of a stage (None: of a source) are single items for sure, never the engine's lists."""
    if isinstance(stage, defs.AggregateConfig):
        return type(stage.op) is not defs.Collate
    return stage is None or isinstance(stage, (defs.PipeConfig, defs.DisaggregateConfig))


def compile_plan(config: defs.PipelineConfig, options: Options) -> Plan:
    """The plan of a config without regions and custom merges, which build_pipeline() has taken apart before."""
    return _Compiler(options).plan(config)


class _Compiler:
    def __init__(self, options: Options) -> None:
        self.options = options
        self.pipeline_id = next(_pipelines)
        self.stages: list[HostStage] = []
        self.queues: list[QueuePlan] = []
        self.permits_wanted = 0

    def plan(self, config: defs.PipelineConfig) -> Plan:
        chain = self._chain(config, str(self.options.stage_id), sink=True)
        self._share_threads()
        name = f"pipeline-{self.pipeline_id}"
        plan = Plan(name, {"name": name, "stages": chain, "continuous": is_continuous(config)}, self.stages)
        plan.queues = self.queues
        return plan

    def _chain(self, config: defs.PipelineConfig, prefix: str, sink: bool) -> list[dict[str, Any]]:
        """The stages of one pipeline; prefix is the id of its first one."""
        first = self._source(config.src, prefix)
        head, _, number = prefix.rpartition("-")
        before = config.src if isinstance(config.src, defs.MergeConfig) else None
        return [first, *self._rest(config.pipes, head, int(number) + 1, before), *self._sink(config.sink, sink)]

    def _rest(self, pipes: Sequence[Any], head: str, number: int, before: Any) -> list[dict[str, Any]]:
        """Stages behind another, before; None: a source."""
        stages: list[dict[str, Any]] = []
        for offset, stage in enumerate(pipes):
            stages += self._stage(stage, f"{head}-{number + offset}" if head else str(number + offset), before)
            before = stage
        return stages

    def _sink(self, sink: defs.SinkConfig, real: bool) -> list[dict[str, Any]]:
        if not real:
            return []
        return [{"name": "sink", "kind": "sink", "buffer": sink.buffer_size}]

    # ---- stages

    def _source(self, src: Any, stage_id: str) -> dict[str, Any]:
        if isinstance(src, defs.MergeConfig):
            inputs = [self._chain(one, f"{stage_id}-{number}-0", sink=False)
                      for number, one in enumerate(src.pipeline_configs)]
            return self._engine_stage("merge", stage_id, "merge", inputs=inputs)
        return self._host_stage(SourceStage, stage_id, "src", "source", src)

    def _stage(self, config: Any, stage_id: str, before: Any) -> list[dict[str, Any]]:
        if isinstance(config, defs.PipeConfig):
            return [self._pipe(config, stage_id)]
        if isinstance(config, defs.AggregateConfig):
            return [self._aggregate(config, stage_id, before)]
        if isinstance(config, defs.DisaggregateConfig):
            return [self._pipe(defs.Pipe(_elements, name=config.name), stage_id)]
        return self._variants(config, stage_id, before)

    def _pipe(self, config: defs.PipeConfig, stage_id: str, kind: type[MapStage] = MapStage) -> dict[str, Any]:
        args = config._args
        info = StageInfo(self.pipeline_id, stage_id, config.name, args.concurrency)
        limit = self.options.max_failures if config._max_failures is None else config._max_failures
        stage = kind(self._name(info), info, config, Budget(limit, config._retries), self.options.num_threads)
        stage.hooks = self.options.hooks(info)
        if stage.own_threads:
            self.permits_wanted += stage.threads
        described = self._describe(stage, "map", concurrency=stage.threads, failures=FORGIVE,
                                   output="input" if config._type is defs._PipeType.OrderedPipe else "completion")
        if config._retries:
            described["retries"] = {"max": config._retries, "backoff_ms": int(config._backoff * 1e3)}
        if config._deadline is not None:
            described["deadline_ms"] = max(1, int(config._deadline * 1e3))
        return described

    def _aggregate(self, config: defs.AggregateConfig, stage_id: str, before: Any) -> dict[str, Any]:
        if type(config.op) is defs.Collate:
            if _gives_items(before):
                return self._engine_stage("aggregate", stage_id, config.name, n=config.op.n, drop_last=config.drop_last)
            config = replace(config, op=defs.Collate(config.op.n))  # lists of lists are no list of the engine's
        return self._host_stage(AggregatorStage, stage_id, config.name, "aggregator", config,
                                Budget(self.options.max_failures), failures=FORGIVE)

    def _variants(self, config: defs.PathVariantsConfig, stage_id: str, before: Any) -> list[dict[str, Any]]:
        paths = []
        for number, path in enumerate(config.paths):
            head = f"{stage_id}-{number}"
            if config.batched:
                paths.append([self._pipe(one, f"{head}-{at}", PathMapStage) for at, one in enumerate(path)])
            else:
                paths.append(self._rest(path, head, 0, before))
        if not config.batched:
            return [self._host_stage(RouterStage, stage_id, config.name, "variants", config, paths=paths,
                                     failures=FORGIVE)]
        split = self._host_stage(SplitStage, f"{stage_id}s", config.name, "map", config, failures=FORGIVE)
        router = self._host_stage(PartRouterStage, stage_id, config.name, "variants", paths=paths, batched=True)
        return [split, router, self._host_stage(JoinStage, f"{stage_id}j", config.name, "map")]

    # ---- descriptions

    def _host_stage(self, kind: type[HostStage], stage_id: str, name: str, engine_kind: str, *args: Any,
                    **keys: Any) -> dict[str, Any]:
        info = StageInfo(self.pipeline_id, stage_id, name)
        return self._describe(kind(self._name(info), info, *args), engine_kind, **keys)

    def _describe(self, stage: HostStage, engine_kind: str, **keys: Any) -> dict[str, Any]:
        self.stages.append(stage)
        self._add_queue(stage.name, stage.info)
        return {"name": stage.name, "kind": engine_kind, "buffer": BUFFER, **keys}

    def _engine_stage(self, kind: str, stage_id: str, name: str, **keys: Any) -> dict[str, Any]:
        info = StageInfo(self.pipeline_id, stage_id, name)
        self._add_queue(self._name(info), info)
        return {"name": self._name(info), "kind": kind, "buffer": BUFFER, **keys}

    def _add_queue(self, name: str, info: StageInfo) -> None:
        make = self.options.queue(info, BUFFER)
        if make is not None:
            self.queues.append(QueuePlan(name, info, make))

    def _name(self, info: StageInfo) -> str:
        return shown(f"{info.stage_id}:{info.stage_name}")

    def _share_threads(self) -> None:
        """Where stages have more threads together than num_threads, let only so many run an op at once."""
        if self.permits_wanted <= self.options.num_threads:
            return
        permits: queue.SimpleQueue = queue.SimpleQueue()
        for _ in range(self.options.num_threads):
            permits.put(None)
        for stage in self.stages:
            if isinstance(stage, MapStage):
                stage.permits = permits


def is_continuous(config: defs.PipelineConfig) -> bool:
    """Whether its sources go on epoch after epoch; they must agree."""
    if isinstance(config.src, defs.SourceConfig):
        return config.src.continuous
    several = {is_continuous(one) for one in config.src.pipeline_configs}
    if len(several) > 1:
        raise ValueError("spdl: pipeline: merge: some inputs are continuous and some are not; "
                         "give all sources the same `continuous`")
    return several.pop()


def _elements(item: Any) -> Any:
    yield from item
