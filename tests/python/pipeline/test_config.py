"""Builder and configs: what they hold, and what they refuse."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

from spdl.dataloader import DataLoader
from spdl.pipeline import AsyncQueue, PipelineBuilder, StatsQueue, build_pipeline, defs


def double(x):
    return 2 * x


async def adouble(x):
    return 2 * x


async def astream(x):
    yield x


REFUSED = {
    "a source that cannot be iterated": (lambda: PipelineBuilder().add_source(3), ValueError, "want an iterable"),
    "two sources": (lambda: PipelineBuilder().add_source([]).add_source([]), ValueError, "already set"),
    "two sinks": (lambda: PipelineBuilder().add_sink(1).add_sink(1), ValueError, "already set"),
    "a sink without room": (lambda: PipelineBuilder().add_sink(0), ValueError, "want 1 or more"),
    "a sink of a text": (lambda: PipelineBuilder().add_sink("3"), ValueError, "buffer_size '3' is a str, want an int"),
    "a sink of half an item": (lambda: PipelineBuilder().add_sink(1.5), ValueError, "buffer_size 1.5 is a float"),
    "no source": (lambda: PipelineBuilder().add_sink(1).build(num_threads=1), RuntimeError, "source is not set"),
    "no sink": (lambda: PipelineBuilder().add_source([]).build(num_threads=1), RuntimeError, "sink is not set"),
    "no concurrency": (lambda: defs.Pipe(double, concurrency=0), ValueError, "`concurrency` 0"),
    "a concurrency that is true": (lambda: defs.Pipe(double, concurrency=True), ValueError,
                                   "pipe 'double': `concurrency` True is a bool, want an int"),
    "an unknown order": (lambda: defs.Pipe(double, output_order="x"), ValueError, "`output_order` 'x'"),
    "an op that is none": (lambda: defs.Pipe(3), ValueError, "something to call"),
    "an executor for an async op": (lambda: defs.Pipe(adouble, executor=ThreadPoolExecutor(1)), ValueError, "async"),
    "an async generator in order": (lambda: defs.Pipe(astream, output_order="input"), ValueError, "async generator"),
    "a rate above one": (lambda: defs.Pipe(double, max_failures=Fraction(3, 2)), ValueError, "at most 1"),
    "a count below -1": (lambda: defs.Pipe(double, max_failures=-2), ValueError, "-1 (no limit)"),
    "a rate as float": (lambda: defs.Pipe(double, max_failures=0.5), ValueError, "want an int or a Fraction"),
    "retries below zero": (lambda: defs.Pipe(double, retries=-1), ValueError, "retries -1"),
    "a deadline of nothing": (lambda: defs.Pipe(double, deadline=0), ValueError, "deadline 0"),
    "lists of none": (lambda: defs.Aggregate(0), ValueError, "n 0, want 1"),
    "lists of true": (lambda: defs.Aggregate(True), ValueError, "aggregate: n True is a bool, want an int"),
    "an aggregator that is none": (lambda: defs.Aggregate("x"), ValueError, "want an int or an Aggregator"),
    "no path": (lambda: defs.PathVariants(double, []), ValueError, "at least 1 path"),
    "an empty path": (lambda: defs.PathVariants(double, [[]]), ValueError, "path 0 is empty"),
    "a path of functions": (lambda: defs.PathVariants(double, [[double]]), ValueError, "path 0 has a function"),
    "an aggregate in a batched path": (lambda: defs.PathVariants(double, [[defs.Aggregate(2)]], batched=True),
                                       ValueError, "pipes only"),
    "a merge of nothing": (lambda: defs.Merge([]), ValueError, "no pipeline"),
    "a merge of lists": (lambda: defs.Merge([[1]]), ValueError, "want PipelineConfig"),
    "a live executor as region": (lambda: PipelineBuilder().to(ThreadPoolExecutor(1)), ValueError, "executor=..."),
    "a region without room": (lambda: PipelineBuilder().to(defs.MAIN_PROCESS, buffer_size=0), ValueError, "want 1"),
    "a pool of none": (lambda: defs.ProcessPoolExecutorConfig(max_workers=0), ValueError, "max_workers 0"),
    "a config of something else": (lambda: build_pipeline(3, num_threads=1), ValueError, "want a PipelineConfig"),
    "a source in the pipes": (lambda: defs.PipelineConfig(defs.SourceConfig([]), [defs.SourceConfig([])],
                                                          defs.SinkConfig(1)), ValueError, "pipes has a SourceConfig"),
    "no threads": (lambda: PipelineBuilder().add_source([]).add_sink(1).build(num_threads=0), ValueError,
                   "num_threads 0"),
    "threads as a text": (lambda: PipelineBuilder().add_source([]).add_sink(1).build(num_threads="2"), ValueError,
                          "num_threads '2' is a str"),
    "a loader without threads": (lambda: DataLoader([], num_threads=0), ValueError, "DataLoader: num_threads 0"),
    "a queue class that is none": (lambda: PipelineBuilder().add_source([]).add_sink(1).build(
        num_threads=1, queue_class=list), ValueError, "subclass of AsyncQueue"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_wrong_description_is_refused_where_it_is_written(what):
    """Every refusal names the place and what is wanted."""
    make, error, text = REFUSED[what]
    with pytest.raises(error) as caught:
        make()
    assert text in str(caught.value)
    assert str(caught.value).startswith("spdl: ")


def test_counts_are_whole_numbers_of_any_type():
    """As in SPDL, which takes 2.0."""
    pipeline = (PipelineBuilder().add_source(range(4)).pipe(double, concurrency=Fraction(2), output_order="input")
                .pipe(adouble, concurrency=2.0, output_order="input").add_sink(2.0).build(num_threads=2.0))
    with pipeline.auto_stop():
        assert list(pipeline) == [0, 4, 8, 12]


@pytest.mark.parametrize("base", [AsyncQueue, StatsQueue])
def test_a_queue_class_that_overrides_put_is_refused_rather_than_ignored(base):
    """No item passes the queue objects, so an override of put would never be called."""

    class Own(base):
        async def put(self, item):
            await super().put(item)

    with pytest.raises(ValueError, match="overrides put"):
        PipelineBuilder().add_source([]).add_sink(1).build(num_threads=1, queue_class=Own)


def test_names_of_stages_are_those_of_their_ops():
    """As in SPDL: a function's name, __getitem__ for containers, the aggregator's text."""
    assert [defs.Pipe(op).name for op in (double, adouble, {1: 2}, [1])] == ["double", "adouble", "__getitem__",
                                                                           "__getitem__"]
    assert defs.Pipe(double, name="twice").name == "twice"
    assert defs.Aggregate(3).name == "aggregate(op=collate(3), drop_last=False)"
    assert (defs.Disaggregate().name, defs.PathVariants(double, [[defs.Pipe(double)]]).name) == (
        "disaggregate", "path_variants")


def test_a_config_shows_where_its_ops_stand_and_survives_a_pickle():
    """repr names file and line; a config of plain functions can be sent to another process."""
    config = (PipelineBuilder().add_source(range(3)).pipe(double, concurrency=2).aggregate(2).disaggregate()
              .path_variants(double, [[defs.Pipe(double)]]).add_sink(3).get_config())
    again = pickle.loads(pickle.dumps(config))
    assert f"double at {__file__}:" in repr(config)
    assert [stage.name for stage in again.pipes] == [stage.name for stage in config.pipes]
    assert pickle.loads(pickle.dumps(defs.MAIN_PROCESS)) is defs.MAIN_PROCESS


def test_one_config_builds_many_pipelines():
    """A config is data: what was built of it before does not matter."""
    config = PipelineBuilder().add_source(range(5)).pipe(double).aggregate(2).add_sink(3).get_config()
    for _ in range(2):
        with (pipeline := build_pipeline(config, num_threads=1)).auto_stop():
            assert list(pipeline) == [[0, 2], [4, 6], [8]]


def test_no_description_can_contain_itself():
    """Configs are made of finished ones, and are frozen then."""
    config = defs.PipelineConfig(defs.SourceConfig([1]), [defs.Pipe(double)], defs.SinkConfig(1))
    with pytest.raises(AttributeError, match="cannot assign to field"):
        config.src = defs.Merge([config])
    path = [defs.Pipe(double)]
    variants = defs.PathVariants(double, [path])
    path.append(variants)
    assert len(variants.paths[0]) == 1
