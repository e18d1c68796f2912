"""Programs with spdl.pipeline, spdl.dataloader and spdl.source, as a type checker reads them: see loading.py."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any, AsyncIterator, Iterable, Iterator, Optional, assert_type

import numpy
from numpy.typing import NDArray

import spdl
from spdl.dataloader import CacheDataLoader, DataLoader, get_pytorch_dataloader
from spdl.pipeline import (
    AsyncQueue,
    Pipeline,
    PipelineBuilder,
    PipelineFailure,
    StageInfo,
    TaskHook,
    TaskStatsHook,
    build_pipeline,
    cache_iterator,
    iterate_in_subprocess,
    run_pipeline_in_subprocess,
)
from spdl.pipeline.defs import MAIN_PROCESS, Aggregate, Merge, Pipe, PipelineConfig, ProcessPoolExecutorConfig, SinkConfig, SourceConfig
from spdl.source import DistributedRandomSampler, SizedIterable
from spdl.source.local_directory import LocalDirectory
from spdl.source.utils import MergeIterator, embed_shuffle, repeat_source

Picture = NDArray[numpy.uint8]


def read(path: str) -> bytes:
    return Path(path).read_bytes()


async def fetch(path: str) -> bytes:
    return path.encode()


def decode(data: bytes) -> Picture:
    return spdl.io.load_image(data).numpy()


def halves(data: bytes) -> Iterator[bytes]:
    yield from (data[:1], data[1:])


async def addresses() -> AsyncIterator[str]:
    yield "a"


def use(pictures: list[Picture]) -> None:
    print(len(pictures))


def chained(paths: list[str], debug: bool) -> None:
    """Of what a program does not say, it is told nothing."""
    pipeline = (PipelineBuilder()
                .add_source(paths)
                .pipe(fetch, concurrency=8)
                .pipe(halves)
                .pipe(decode, concurrency=4, output_order="input", executor=ThreadPoolExecutor(2), max_failures=Fraction(1, 10))
                .pipe({"a": 1})
                .to(MAIN_PROCESS if debug else ProcessPoolExecutorConfig(2))
                .aggregate(32, drop_last=True)
                .add_sink(3)
                .build(num_threads=8))
    assert_type(pipeline, Pipeline[Any])
    with pipeline.auto_stop(timeout=1):
        for pictures in pipeline:
            use(pictures)


def stepwise(paths: Iterable[str]) -> None:
    builder = PipelineBuilder()
    builder.add_source(paths)
    if not isinstance(paths, list):
        builder.pipe(read)
    builder = builder.pipe(decode)
    builder.add_sink()
    for picture in builder.build(num_threads=1):
        use([picture])


def said(paths: list[str]) -> None:
    """Of what it says, it is told as much."""
    builder: PipelineBuilder[str, list[Picture]] = PipelineBuilder()
    pipeline = builder.add_source(paths).pipe(read).pipe(decode).aggregate(8).add_sink().build(num_threads=2)
    assert_type(pipeline, Pipeline[list[Picture]])
    assert_type(pipeline.get_item(timeout=1), list[Picture])
    for pictures in pipeline:
        use(pictures)
    other: Pipeline[list[Picture]] = PipelineBuilder().add_source(addresses()).pipe(fetch).add_sink().build(num_threads=2)
    use(next(other.get_iterator()))
    for item in run_pipeline_in_subprocess(builder, num_threads=2, mp_context="spawn"):
        assert_type(item, list[Picture])
    builder.add_source([1, 2])  # type: ignore[list-item]


def as_data(paths: list[str]) -> None:
    config = PipelineConfig(src=SourceConfig(paths), pipes=[Pipe(read, concurrency=4), Aggregate(8)], sink=SinkConfig(3))
    merged = PipelineConfig(src=Merge([config, config]), pipes=[], sink=SinkConfig(3))
    assert_type(build_pipeline(merged, num_threads=4), Pipeline[Any])
    typed: PipelineConfig[list[bytes]] = config
    for data in build_pipeline(typed, num_threads=4):
        assert_type(data, list[bytes])


class Times(TaskStatsHook):
    pass


def hooks(info: StageInfo) -> list[TaskHook]:
    return [Times(info, 1.0)]


class Queue(AsyncQueue):
    pass


def hooked(builder: PipelineBuilder[str, bytes]) -> None:
    try:
        with builder.build(num_threads=1, task_hook_factory=hooks, queue_class=Queue).auto_stop():
            pass
    except PipelineFailure as failure:
        assert_type(failure.errs, list[tuple[str, Exception]])
        print([str(error) for error in failure.exceptions])


def in_a_process() -> None:
    for number in iterate_in_subprocess(lambda: range(3), buffer_size=2, timeout=1):
        assert_type(number, int)
    for number in cache_iterator([1, 2], 3):
        assert_type(number, int)


def to_batch(pictures: list[Picture]) -> Picture:
    return numpy.stack(pictures)


def loaders(paths: list[str], dataset: list[tuple[bytes, int]]) -> None:
    loader = DataLoader(paths, preprocessor=read, batch_size=32, aggregator=to_batch, num_threads=8)
    assert_type(loader, DataLoader[Any])
    for batch in loader:
        use([batch])
    for batch in DataLoader(paths, aggregator=to_batch, transfer_fn=to_batch):
        assert_type(batch, Picture)
    said: DataLoader[list[bytes]] = DataLoader(paths, preprocessor=read, batch_size=2)
    for texts in CacheDataLoader(said, 2, 3):
        assert_type(texts, list[bytes])
    for pair in get_pytorch_dataloader(dataset, batch_size=4, shuffle=True):
        print(pair[0])


def sources(root: Path) -> None:
    sampler = DistributedRandomSampler(10, rank=0, world_size=2, seed=3)
    shuffled = embed_shuffle(sampler)
    assert_type(shuffled, SizedIterable[int])
    assert_type(len(shuffled), int)
    for path in embed_shuffle(LocalDirectory(root, "*.jpg"), epoch=2):
        assert_type(path, Path)
    for number in MergeIterator([[1], [2]], weights=[0.5, 0.5]):
        assert_type(number, int)
    assert_type(next(repeat_source([1])), int)


def wrong(builder: PipelineBuilder[str, bytes], pipeline: Pipeline[bytes]) -> None:
    builder.add_source(3)  # type: ignore[arg-type]
    builder.pipe()  # type: ignore[call-arg]
    builder.pipe(read, workers=3)  # type: ignore[call-arg]
    builder.aggregate("8")  # type: ignore[arg-type]
    builder.build()  # type: ignore[call-arg]
    builder.build(num_threads=1, queue_class=dict)  # type: ignore[arg-type]
    builder.build(num_threads=1, task_hook_factory=Queue)  # type: ignore[arg-type]
    pipeline.get_item().decode().nothing  # type: ignore[attr-defined]
    pipeline.restart()  # type: ignore[attr-defined]
    build_pipeline(builder, num_threads=1)  # type: ignore[arg-type]
    PipelineConfig([1, 2], [], SinkConfig(3))  # type: ignore[arg-type]
    DataLoader(paths=[])  # type: ignore[call-arg]
    embed_shuffle([1, 2])  # type: ignore[call-overload]
    nothing: Optional[int] = spdl.pipeline.PipelineBuilder().add_source([1])  # type: ignore[assignment]
    print(nothing)
