"""PipelineBuilder: a pipeline, stage by stage."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any, AsyncIterable, Callable, Generic, Iterable, Optional, Sequence, Union

from .._foreign import own_arguments
from . import defs
from ._build import build_pipeline
from ._hooks import TaskHook
from ._info import StageInfo
from ._pipeline import Pipeline
from ._queues import AsyncQueue
from ._variables import T, U


class PipelineBuilder(Generic[T, U]):
    """Collects source, stages and sink; build() makes a Pipeline of them, get_config() plain data.

        pipeline = (PipelineBuilder()
                    .add_source(paths)
                    .pipe(read, concurrency=8)
                    .pipe(decode, concurrency=4, output_order="input")
                    .aggregate(32)
                    .add_sink(3)
                    .build(num_threads=8))

    To a type checker items are anything, unless a program says what goes in and what comes out: `builder: PipelineBuilder[str, Picture] =
    PipelineBuilder()` builds a Pipeline[Picture].
    """

    @own_arguments("pipeline: PipelineBuilder", remedy="its methods take what a pipeline is made of, such as add_source(paths)")
    def __init__(self) -> None:
        self._src: Optional[defs.SourceConfig[T]] = None
        self._pipes: list[Any] = []
        self._sink: Optional[defs.SinkConfig[U]] = None

    def __repr__(self) -> str:
        parts = ["no source" if self._src is None else "source", *map(repr, self._pipes), "no sink" if self._sink is None else f"sink({self._sink.buffer_size})"]
        return f"<spdl.pipeline.PipelineBuilder {', '.join(parts)}>"

    @own_arguments("pipeline: add_source")
    def add_source(self, source: Union[Iterable[T], AsyncIterable[T]], *,
                   continuous: bool = False) -> PipelineBuilder[T, U]:
        """Where the items come from. A sync iterable is iterated on a thread of its own, so it may block.

        continuous  iterate it again and again; each pass is an epoch, and the stages stay warm between them
        """
        if self._src is not None:
            raise ValueError("spdl: pipeline: add_source: source already set; merge several with defs.Merge")
        self._src = defs.SourceConfig(source, continuous)
        return self

    @own_arguments("pipeline: pipe")
    def pipe(self, op: Any, /, *, concurrency: int = 1, executor: Optional[Executor] = None,
             name: Optional[str] = None, output_order: str = "completion",
             max_failures: Optional[defs.MaxFailures] = None, retries: int = 0, backoff: float = 0.1,
             deadline: Optional[float] = None) -> PipelineBuilder[T, U]:
        """Apply op to each item; arguments as for defs.Pipe."""
        return self._add(defs.Pipe(op, concurrency=concurrency, executor=executor, name=name,
                                   output_order=output_order, max_failures=max_failures, retries=retries,
                                   backoff=backoff, deadline=deadline))

    @own_arguments("pipeline: aggregate")
    def aggregate(self, input: Union[int, defs.Aggregator], /, *, drop_last: bool = False) -> PipelineBuilder[T, U]:
        """Make one item of many: lists of `input`, or what an Aggregator makes of them."""
        return self._add(defs.Aggregate(input, drop_last=drop_last))

    @own_arguments("pipeline: disaggregate", remedy="an item says itself what it is made of")
    def disaggregate(self) -> PipelineBuilder[T, U]:
        """Make many items of one iterable."""
        return self._add(defs.Disaggregate())

    @own_arguments("pipeline: path_variants")
    def path_variants(self, router: Callable[..., Any], paths: Sequence[Sequence[Any]], name: Optional[str] = None,
                      batched: bool = False) -> PipelineBuilder[T, U]:
        """Send items along different paths; arguments as for defs.PathVariants."""
        return self._add(defs.PathVariants(router, paths, name, batched))

    @own_arguments("pipeline: to")
    def to(self, target: Any, /, *, buffer_size: int = 1) -> PipelineBuilder[T, U]:
        """Run the stages from here to the next to() in worker processes (ProcessPoolExecutorConfig).

        to(MAIN_PROCESS) comes back and must stand before the sink; without a region it is nothing. A value goes from stage to stage inside a
        worker without a copy; only what enters and leaves the region travels, up to buffer_size items at a time.
        """
        return self._add(defs.PlacementConfig(target, buffer_size=buffer_size))

    @own_arguments("pipeline: add_sink")
    def add_sink(self, buffer_size: int = 3) -> PipelineBuilder[T, U]:
        """How many results may be ready ahead of the consumer, at least 1."""
        if self._sink is not None:
            raise ValueError("spdl: pipeline: add_sink: sink already set")
        self._sink = defs.SinkConfig(buffer_size)
        return self

    def get_config(self) -> defs.PipelineConfig[U]:
        """The pipeline as plain data."""
        if self._src is None:
            raise RuntimeError("spdl: pipeline: the source is not set; call add_source first")
        if self._sink is None:
            raise RuntimeError("spdl: pipeline: the sink is not set; call add_sink first")
        return defs.PipelineConfig(self._src, list(self._pipes), self._sink)

    @own_arguments("pipeline: build")
    def build(self, *, num_threads: int, max_failures: defs.MaxFailures = -1, report_stats_interval: float = -1,
              queue_class: Optional[type[AsyncQueue]] = None,
              task_hook_factory: Optional[Callable[[StageInfo], Iterable[TaskHook]]] = None, stage_id: int = 0,
              use_thread_output_queue: bool = False) -> Pipeline[U]:
        """Make the pipeline; arguments as for build_pipeline."""
        return build_pipeline(self.get_config(), num_threads=num_threads, max_failures=max_failures,
                              report_stats_interval=report_stats_interval, queue_class=queue_class,
                              task_hook_factory=task_hook_factory, stage_id=stage_id,
                              use_thread_output_queue=use_thread_output_queue)

    def _add(self, stage: Any) -> PipelineBuilder[T, U]:
        self._pipes.append(stage)
        return self
