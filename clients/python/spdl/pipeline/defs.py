"""What a pipeline is, as plain data: configs that can be written in a file, pickled and built many times.

    config = PipelineConfig(
        src=SourceConfig(range(100)),
        pipes=[Pipe(load, concurrency=4), Aggregate(8)],
        sink=SinkConfig(3),
    )
    pipeline = spdl.pipeline.build_pipeline(config, num_threads=4)
"""

from __future__ import annotations

import enum
import functools
import inspect
import numbers
from abc import ABC, abstractmethod
from concurrent.futures import Executor
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, AsyncIterable, Callable, Generic, Iterable, Optional, Protocol, Sequence, Union

from .._foreign import own_arguments
from ._variables import T, U

__all__ = [
    "Aggregate", "AggregateConfig", "Aggregator", "Collate", "Disaggregate", "DisaggregateConfig", "ExecutorConfig",
    "InterpreterPoolExecutorConfig", "MAIN_PROCESS", "Merge", "MergeConfig", "PathVariants", "PathVariantsConfig",
    "Pipe", "PipeConfig", "PipelineConfig", "PlacementConfig", "ProcessPoolExecutorConfig", "SinkConfig",
    "SourceConfig", "SupportsGetItem",
]

MaxFailures = Union[int, Fraction]


class SupportsGetItem(Protocol):
    """A container that a pipe looks its input up in."""

    def __getitem__(self, key: Any, /) -> Any: ...


class _PipeType(enum.IntEnum):
    Pipe = 1
    OrderedPipe = 2
    Aggregate = 3
    Disaggregate = 4


def at_least_one(where: str, value: Any) -> int:
    """value as an int: what is a whole number, such as numpy's and 2.0. Raises ValueError that begins with where."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or value % 1 != 0:
        raise ValueError(f"spdl: {where} {value!r} is a {type(value).__name__}, want an int")
    if value < 1:
        raise ValueError(f"spdl: {where} {value}, want 1 or more")
    return int(value)  # type: ignore[call-overload]  # typeshed's Real has no __int__


# ---- source and sink ---------------------------------------------------------------------------


@dataclass(frozen=True)
class SourceConfig(Generic[T]):
    """Where the items come from: an iterable, or an async one. With `continuous`, epoch after epoch of it."""

    source: Union[Iterable[T], AsyncIterable[T]]
    continuous: bool = False

    def __post_init__(self) -> None:
        if not (hasattr(self.source, "__iter__") or hasattr(self.source, "__aiter__")):
            raise ValueError(
                f"spdl: pipeline: source: got a {type(self.source).__name__}, want an iterable or an async iterable")


@dataclass(frozen=True)
class SinkConfig(Generic[U]):
    """How many results may be ready ahead of the consumer, at least 1: a queue without a bound would hold the whole data set."""

    buffer_size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "buffer_size", at_least_one("pipeline: sink: buffer_size", self.buffer_size))


# ---- pipe --------------------------------------------------------------------------------------


@dataclass
class _PipeArgs(Generic[T, U]):
    op: Any
    executor: Optional[Executor] = None
    concurrency: int = 1


@dataclass(frozen=True)
class PipeConfig(Generic[T, U]):
    """One op applied to every item; made by Pipe()."""

    name: str
    _type: _PipeType
    _args: _PipeArgs
    _max_failures: Optional[MaxFailures] = None
    _retries: int = 0
    _backoff: float = 0.1
    _deadline: Optional[float] = None

    def __repr__(self) -> str:
        args = self._args
        parts = [f"concurrency={args.concurrency}", f"op={describe(args.op)}"]
        if args.executor is not None:
            parts.append(f"executor={args.executor!r}")
        if self._type is _PipeType.OrderedPipe:
            parts.append("output_order=input")
        return f"{self.name}({', '.join(parts)})"


@own_arguments("pipeline: Pipe")
def Pipe(op: Any, /, *, concurrency: int = 1, executor: Optional[Executor] = None, name: Optional[str] = None,
         output_order: str = "completion", max_failures: Optional[MaxFailures] = None,
         retries: int = 0, backoff: float = 0.1, deadline: Optional[float] = None) -> PipeConfig:
    """Apply op to each item.

    op            function, async function, generator function or async generator function of one argument,
                  callable object, or container to look the item up in. None as result drops the item; what a
                  generator yields are results of their own
    concurrency   how many items are in work at once
    executor      runs a sync op in place of the stage's own threads
    output_order  "completion": results as they are ready; "input": in the order of their items
    max_failures  failures after which the pipeline ends: a count (-1: never), or a Fraction as their share of the
                  items, judged from the 100th on; None: what build() says
    retries       how often a failed item is tried again, backoff seconds later, then twice that, and so on up to the
                  larger of backoff and 30; each wait is drawn between half of that and all of it. Not in Meta's
                  SPDL, like deadline: seconds after which an item counts as failed
    """
    concurrency = at_least_one(f"pipeline: pipe {name or _name_of(op)!r}: `concurrency`", concurrency)
    if output_order not in ("completion", "input"):
        raise ValueError(f'spdl: pipeline: pipe {_name_of(op)!r}: `output_order` {output_order!r}, '
                         'want "completion" or "input"')
    if not callable(op) and not hasattr(op, "__getitem__"):
        raise ValueError(f"spdl: pipeline: pipe: op is a {type(op).__name__}, want something to call or to look up in")
    shape = shape_of(op)
    if executor is not None and shape.is_async:
        raise ValueError(f"spdl: pipeline: pipe {_name_of(op)!r}: `executor` cannot be specified when op is async: "
                         "async ops run on the pipeline's event loop")
    if shape is Shape.ASYNC_GENERATOR and output_order == "input":
        raise ValueError(f"spdl: pipeline: pipe {_name_of(op)!r}: an async generator has no `output_order` \"input\"; "
                         "use a sync generator, or order the results by a number of their own")
    check_max_failures(max_failures)
    if retries < 0 or backoff < 0 or (deadline is not None and deadline <= 0):
        raise ValueError(f"spdl: pipeline: pipe {_name_of(op)!r}: retries {retries}, backoff {backoff}, deadline "
                         f"{deadline}: want none below zero, and a deadline above it")
    kind = _PipeType.OrderedPipe if output_order == "input" else _PipeType.Pipe
    return PipeConfig(name or _name_of(op), kind, _PipeArgs(op, executor, concurrency), max_failures,
                      retries, backoff, deadline)


def check_max_failures(max_failures: Optional[MaxFailures]) -> None:
    """Refuse a count below -1 and a share outside (0, 1]."""
    if max_failures is None:
        return
    if isinstance(max_failures, bool) or not isinstance(max_failures, (int, Fraction)):
        raise ValueError(f"spdl: pipeline: `max_failures` is a {type(max_failures).__name__}, "
                         "want an int or a Fraction")
    if isinstance(max_failures, int) and max_failures < -1:
        raise ValueError(f"spdl: pipeline: `max_failures` {max_failures}, want -1 (no limit), 0 or more")
    if isinstance(max_failures, Fraction) and not 0 < max_failures <= 1:
        raise ValueError(f"spdl: pipeline: `max_failures` {max_failures}, want a rate above 0 and at most 1")


class Shape(enum.Enum):
    """How an op is called."""

    FUNCTION = "function"
    GENERATOR = "generator"
    COROUTINE = "coroutine"
    ASYNC_GENERATOR = "async generator"

    @property
    def is_async(self) -> bool:
        return self in (Shape.COROUTINE, Shape.ASYNC_GENERATOR)


def shape_of(op: Any) -> Shape:
    """What kind of function op is; a callable object is what its __call__ is, a container is a function."""
    while isinstance(op, functools.partial):
        op = op.func
    if not (inspect.isroutine(op) or inspect.isclass(op)) and callable(op):
        op = op.__call__
    if inspect.isasyncgenfunction(op):
        return Shape.ASYNC_GENERATOR
    if inspect.iscoroutinefunction(op):
        return Shape.COROUTINE
    if inspect.isgeneratorfunction(op):
        return Shape.GENERATOR
    return Shape.FUNCTION


def _name_of(op: Any) -> str:
    while isinstance(op, functools.partial):
        op = op.func
    if not callable(op) and hasattr(op, "__getitem__"):
        return "__getitem__"
    return getattr(op, "__name__", None) or type(op).__name__


def describe(op: Any) -> str:
    """op's name and where it stands in the source."""
    while isinstance(op, functools.partial):
        op = op.func
    code = getattr(op, "__code__", None) or getattr(getattr(type(op), "__call__", None), "__code__", None)
    where = f" at {code.co_filename}:{code.co_firstlineno}" if code is not None else ""
    return _name_of(op) + where


# ---- aggregate, disaggregate -------------------------------------------------------------------


class Aggregator(ABC):
    """Makes results of several items. The pipeline calls it from one thread, with the items in order."""

    @abstractmethod
    def accumulate(self, item: Any) -> Optional[Any]:
        """Take one item; the result if one is complete, else None."""

    @abstractmethod
    def flush(self) -> Optional[Any]:
        """The result of what is left at the end of the data or of an epoch, or None; with drop_last it is dropped."""


class Collate(Aggregator, Generic[T]):
    """Lists of n items."""

    def __init__(self, n: int) -> None:
        self.n = at_least_one("pipeline: aggregate: n", n)
        self._items: list[T] = []

    def accumulate(self, item: T) -> Optional[list[T]]:
        self._items.append(item)
        return self.flush() if len(self._items) >= self.n else None

    def flush(self) -> Optional[list[T]]:
        items, self._items = self._items, []
        return items or None

    def __repr__(self) -> str:
        return f"collate({self.n})"


@dataclass(frozen=True)
class AggregateConfig(Generic[T]):
    """Many items to one; made by Aggregate()."""

    name: str
    op: Aggregator
    drop_last: bool = False
    _type: _PipeType = _PipeType.Aggregate

    def __repr__(self) -> str:
        return self.name


@own_arguments("pipeline: Aggregate")
def Aggregate(input: Union[int, Aggregator], /, *, drop_last: bool = False) -> AggregateConfig:
    """Make lists of `input` items, or what an Aggregator makes of them. drop_last: drop the incomplete last one."""
    given: Any = input
    op = Collate(given) if isinstance(input, numbers.Integral) else input
    if not isinstance(op, Aggregator):
        raise ValueError(f"spdl: pipeline: aggregate: got a {type(input).__name__}, want an int or an Aggregator")
    label = repr(op) if type(op).__repr__ is not object.__repr__ else type(op).__name__
    return AggregateConfig(f"aggregate(op={label}, drop_last={drop_last})", op, drop_last)


@dataclass(frozen=True)
class DisaggregateConfig(Generic[T]):
    """One iterable item to many; made by Disaggregate()."""

    name: str
    _type: _PipeType = _PipeType.Disaggregate

    def __repr__(self) -> str:
        return self.name


def Disaggregate() -> DisaggregateConfig:
    """Pass on the elements of each item, one by one."""
    return DisaggregateConfig("disaggregate")


# ---- path variants -----------------------------------------------------------------------------


@dataclass(frozen=True)
class PathVariantsConfig(Generic[T]):
    """Items go different ways; made by PathVariants()."""

    name: str
    router: Callable[..., Any]
    paths: tuple[tuple[Any, ...], ...]
    batched: bool = False

    def __post_init__(self) -> None:
        if not self.paths:
            raise ValueError(f"spdl: pipeline: path variants {self.name!r}: no path, want at least 1 path")
        for number, path in enumerate(self.paths):
            if not path:
                raise ValueError(f"spdl: pipeline: path variants {self.name!r}: path {number} is empty, want a stage")
            for stage in path:
                if not isinstance(stage, (PipeConfig, AggregateConfig, DisaggregateConfig, PathVariantsConfig)):
                    raise ValueError(f"spdl: pipeline: path variants {self.name!r}: path {number} has a "
                                     f"{type(stage).__name__}, want pipes, aggregates or path variants")
                if self.batched and not isinstance(stage, PipeConfig):
                    raise ValueError(f"spdl: pipeline: path variants {self.name!r}: path {number} has "
                                     f"{stage.name!r}; a batched path has pipes only: one list in, one list out")

    def __repr__(self) -> str:
        return f"{self.name}(router={describe(self.router)}, batched={self.batched}, paths={list(self.paths)})"


@own_arguments("pipeline: PathVariants")
def PathVariants(router: Callable[..., Any], paths: Sequence[Sequence[Any]], name: Optional[str] = None,
                 batched: bool = False) -> PathVariantsConfig:
    """Send each item along the path whose number router(item) says.

    With `batched` an item is a list: router(list) says one number per element, each path gets the list of its
    elements (never an empty one) and makes one list of it, and the next stage gets those lists joined in the order
    of the paths. If one path fails, the batch goes on without its elements.
    """
    return PathVariantsConfig(name or "path_variants", router, tuple(tuple(path) for path in paths), batched)


# ---- merge -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MergeConfig:
    """Several pipelines as one source; made by Merge()."""

    pipeline_configs: tuple[PipelineConfig, ...]
    op: Optional[Callable[..., Any]] = None

    def __post_init__(self) -> None:
        if not self.pipeline_configs:
            raise ValueError("spdl: pipeline: merge: no pipeline, want at least 1")
        for config in self.pipeline_configs:
            if not isinstance(config, PipelineConfig):
                raise ValueError(f"spdl: pipeline: merge: got a {type(config).__name__}, want PipelineConfig objects")

    def __repr__(self) -> str:
        op = f", op={describe(self.op)}" if self.op is not None else ""
        return f"Merge({list(self.pipeline_configs)}{op})"


@own_arguments("pipeline: Merge")
def Merge(pipeline_configs: Sequence[PipelineConfig], op: Optional[Callable[..., Any]] = None) -> MergeConfig:
    """Several pipelines as one source, in the order in which items arrive.

    op  async function (StageInfo, input queues, output queue) that merges in another way: it gets from the queues
        until is_eof() and puts; it may return early, which stops the inputs
    """
    return MergeConfig(tuple(pipeline_configs), op)


# ---- regions -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExecutorConfig:
    """A pool of workers, as data."""

    max_workers: Optional[int] = None
    initializer: Optional[Callable[..., object]] = None
    initargs: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        if self.max_workers is not None:
            object.__setattr__(self, "max_workers", at_least_one("pipeline: pool: max_workers", self.max_workers))


@dataclass(frozen=True)
class ProcessPoolExecutorConfig(ExecutorConfig):
    """A pool of processes; mp_context: "fork", "spawn" or "forkserver", None for the platform's own."""

    mp_context: Optional[str] = None


@dataclass(frozen=True)
class InterpreterPoolExecutorConfig(ExecutorConfig):
    """A pool of subinterpreters. Refused when built: see docs/parity.md."""


class _MainProcess:
    def __repr__(self) -> str:
        return "MAIN_PROCESS"

    def __reduce__(self) -> str:
        return "MAIN_PROCESS"


MAIN_PROCESS = _MainProcess()


@dataclass(frozen=True)
class PlacementConfig:
    """From here on the stages run on `target`; handed over in transfers of up to buffer_size items."""

    target: Union[ProcessPoolExecutorConfig, InterpreterPoolExecutorConfig, _MainProcess]
    name: str = "placement"
    buffer_size: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.target, (ProcessPoolExecutorConfig, InterpreterPoolExecutorConfig, _MainProcess)):
            raise ValueError(f"spdl: pipeline: to: got a {type(self.target).__name__}, want ProcessPoolExecutorConfig "
                             "or MAIN_PROCESS; a live executor goes to pipe(executor=...)")
        object.__setattr__(self, "buffer_size", at_least_one("pipeline: to: buffer_size", self.buffer_size))


# ---- the whole ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class PipelineConfig(Generic[U]):
    """Source, stages and sink; build_pipeline() makes a Pipeline of it."""

    src: Union[SourceConfig, MergeConfig]
    pipes: Sequence[Any]
    sink: SinkConfig

    def __post_init__(self) -> None:
        if not isinstance(self.src, (SourceConfig, MergeConfig)):
            raise ValueError(f"spdl: pipeline: src is a {type(self.src).__name__}, want SourceConfig or MergeConfig")
        if not isinstance(self.sink, SinkConfig):
            raise ValueError(f"spdl: pipeline: sink is a {type(self.sink).__name__}, want SinkConfig")
        for stage in self.pipes:
            if not isinstance(stage, (PipeConfig, AggregateConfig, DisaggregateConfig, PathVariantsConfig,
                                      PlacementConfig)):
                raise ValueError(f"spdl: pipeline: pipes has a {type(stage).__name__}, "
                                 "want what Pipe, Aggregate, Disaggregate or PathVariants return")

    def __repr__(self) -> str:
        stages = "".join(f"\n   - {stage!r}" for stage in self.pipes) or " none"
        return f"PipelineConfig\n - Source: {self.src!r}\n - Pipes:{stages}\n - Sink: {self.sink!r}"
