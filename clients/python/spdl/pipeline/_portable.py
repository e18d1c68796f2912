"""Configs on their way to another process: live executors become recipes and are made anew there."""

from __future__ import annotations

import dataclasses
import functools
import os
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any, Callable, Optional

from . import defs
from ._worker import end_with


class Portable:
    """A config with recipes in place of executors."""

    def __init__(self, config: defs.PipelineConfig) -> None:
        self._config = config

    def restore(self) -> defs.PipelineConfig:
        """The config with executors of this process; each is made once, however often it is used."""
        made: dict[int, Executor] = {}

        def make(executor: Any) -> Any:
            if not isinstance(executor, _Recipe):
                return executor
            if executor.identity not in made:
                made[executor.identity] = executor.make()
            return made[executor.identity]

        return _with_executors(self._config, make)


def portable(config: defs.PipelineConfig) -> Portable:
    """config, ready to be pickled. Raises ValueError for an executor that has run something."""
    return Portable(_with_executors(config, _recipe))


@dataclasses.dataclass(frozen=True)
class _Recipe(Executor):
    """How to make an executor like one that cannot travel."""

    identity: int
    make: Callable[[], Executor]


def _recipe(executor: Optional[Executor]) -> Any:
    if type(executor) is ThreadPoolExecutor:
        if executor._threads:
            raise _used(executor)
        return _Recipe(id(executor), functools.partial(
            ThreadPoolExecutor, executor._max_workers, executor._thread_name_prefix, *_initializer(executor)))
    if type(executor) is ProcessPoolExecutor:
        if executor._processes:
            raise _used(executor)
        pool: Any = executor  # what it keeps for itself, no declaration has
        return _Recipe(id(pool), functools.partial(
            _process_pool, pool._max_workers, pool._mp_context.get_start_method(), pool._initializer, pool._initargs))
    return executor


def _initializer(executor: ThreadPoolExecutor) -> tuple[Optional[Callable[..., object]], tuple]:
    """What its threads begin with, and the arguments of that."""
    if not hasattr(executor, "_create_worker_context"):  # before Python 3.14
        return executor._initializer, executor._initargs
    context = executor._create_worker_context()
    return context.initializer, context.initargs


def _used(executor: Executor) -> ValueError:
    return ValueError(f"spdl: pipeline: a {type(executor).__name__} of the config has workers already, which stay in "
                      "this process: pass a fresh executor")


def _process_pool(max_workers: int, start_method: str, initializer: Optional[Callable[..., object]],
                  initargs: tuple) -> ProcessPoolExecutor:
    import multiprocessing

    return ProcessPoolExecutor(max_workers, multiprocessing.get_context(start_method), _begin_worker,
                               (os.getpid(), initializer, initargs))


def _begin_worker(parent: int, initializer: Optional[Callable[..., object]], initargs: tuple) -> None:
    """A pool's worker ends with the process that made the pool, however that ends."""
    end_with(parent)
    if initializer is not None:
        initializer(*initargs)


def _with_executors(config: Any, change: Callable[[Any], Any]) -> Any:
    """The config with every executor replaced by change(executor)."""
    if isinstance(config, defs.PipelineConfig):
        return dataclasses.replace(config, src=_with_executors(config.src, change),
                                   pipes=[_with_executors(stage, change) for stage in config.pipes])
    if isinstance(config, defs.MergeConfig):
        return dataclasses.replace(config, pipeline_configs=tuple(
            _with_executors(one, change) for one in config.pipeline_configs))
    if isinstance(config, defs.PathVariantsConfig):
        return dataclasses.replace(config, paths=tuple(
            tuple(_with_executors(stage, change) for stage in path) for path in config.paths))
    if isinstance(config, defs.PipeConfig) and config._args.executor is not None:
        args = dataclasses.replace(config._args, executor=change(config._args.executor))
        return dataclasses.replace(config, _args=args)
    return config
