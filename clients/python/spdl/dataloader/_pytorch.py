"""PyTorchDataLoader: a map-style data set of torch's, fetched by worker processes, without torch's DataLoader."""

from __future__ import annotations

import pickle
import queue
import random
import sys
import warnings
from typing import Any, Callable, Generic, Iterable, Iterator, Optional, Sequence, TypeVar

from ..pipeline import PipelineBuilder
from ..pipeline._worker import Channel, Worker, end_all, received_error, send_error

T = TypeVar("T")


def get_pytorch_dataloader(dataset: Any, batch_size: Optional[int] = 1, shuffle: bool = False, sampler: Any = None,
                           batch_sampler: Any = None, num_workers: int = 1,
                           collate_fn: Optional[Callable[[list[Any]], Any]] = None, pin_memory: bool = False,
                           drop_last: bool = False, timeout: Optional[float] = None,
                           worker_init_fn: Optional[Callable[[int], None]] = None, multiprocessing_context: Any = None,
                           generator: Any = None, *, prefetch_factor: int = 2, persistent_workers: bool = False,
                           pin_memory_device: Optional[str] = None, in_order: bool = False,
                           worker_init_concurrency: Optional[int] = None) -> PyTorchDataLoader[Any]:
    """A loader over dataset[index], with the arguments of torch.utils.data.DataLoader.

    Unlike torch's: num_workers 0 means 1, in_order is False unless told, a batch's arrays come through one memory
    file without a copy on this side, and with batch_size None an item that is None is left out. Beyond Meta's SPDL:
    worker_init_fn and persistent_workers work, and a worker that is killed is an error at once. A sample that fails ends
    the iteration with its error, as torch's do; Meta's SPDL leaves the batch out. pin_memory without a GPU warns and
    pins nothing. Refused: IterableDataset, pin_memory_device (deprecated in torch), what cannot be pickled.
    torch is imported where collate_fn, pin_memory or a sampler of torch's needs it, and not otherwise.
    """
    if not hasattr(dataset, "__getitem__") or _is_iterable(dataset):
        raise ValueError(f"spdl: dataloader: {type(dataset).__name__} has no item by index; iterable data sets go to "
                         "PipelineBuilder.add_source")
    if pin_memory_device is not None:
        raise ValueError("spdl: dataloader: pin_memory_device is not supported; the current device is pinned for")
    if batch_sampler is not None and (batch_size not in (1, None) or shuffle or sampler is not None or drop_last):
        raise ValueError("spdl: dataloader: batch_sampler excludes batch_size, shuffle, sampler and drop_last")
    if sampler is not None and shuffle:
        raise ValueError("spdl: dataloader: sampler excludes shuffle")
    if num_workers < 0 or prefetch_factor < 1 or (batch_size is not None and batch_size < 1):
        raise ValueError(f"spdl: dataloader: num_workers {num_workers}, prefetch_factor {prefetch_factor}, batch_size "
                         f"{batch_size}; want 0 or more, 1 or more, and 1 or more or None")
    if batch_size is None and batch_sampler is None and drop_last:
        raise ValueError("spdl: dataloader: drop_last needs a batch_size")
    order = sampler if sampler is not None else _Order(dataset, shuffle, generator)
    if batch_sampler is None and batch_size is not None:
        batch_sampler = _Batches(order, batch_size, drop_last)
    context = multiprocessing_context
    if context is not None and not isinstance(context, str):
        context = context.get_start_method()
    return PyTorchDataLoader(dataset, batch_sampler if batch_sampler is not None else order,
                             batched=batch_sampler is not None, collate_fn=collate_fn, num_workers=max(1, num_workers),
                             context=context, worker_init_fn=worker_init_fn, persistent=persistent_workers,
                             prefetch=prefetch_factor, in_order=in_order, timeout=timeout or None,
                             pin_memory=pin_memory)


class PyTorchDataLoader(Generic[T], Iterable[T]):
    """Made by get_pytorch_dataloader(). Each iteration is an epoch."""

    def __init__(self, dataset: Any, sampler: Any, *, batched: bool, collate_fn: Optional[Callable[..., Any]],
                 num_workers: int, context: Optional[str], worker_init_fn: Optional[Callable[[int], None]],
                 persistent: bool, prefetch: int, in_order: bool, timeout: Optional[float], pin_memory: bool) -> None:
        self.dataset = dataset
        self.sampler = sampler
        self._batched = batched
        self._collate = collate_fn
        self._num_workers = num_workers
        self._context = context
        self._worker_init_fn = worker_init_fn
        self._persistent = persistent
        self._prefetch = prefetch
        self._in_order = in_order
        self._timeout = timeout
        self._pin_memory = pin_memory and _pins()
        self._workers: Optional[_Workers] = None

    def __len__(self) -> int:
        return len(self.sampler)

    def __iter__(self) -> Iterator[T]:
        workers = self._workers or _Workers(self)
        if self._persistent:
            self._workers = workers
        builder: PipelineBuilder = PipelineBuilder().add_source(self.sampler)
        builder.pipe(workers.fetch, concurrency=self._num_workers * self._prefetch, max_failures=0, name="fetch",
                     output_order="input" if self._in_order else "completion")
        if self._pin_memory:
            builder.pipe(_pin, max_failures=0)
        threads = self._num_workers * self._prefetch + 1
        pipeline = builder.add_sink(self._num_workers * self._prefetch).build(num_threads=threads)
        try:
            with pipeline.auto_stop():
                yield from pipeline.get_iterator(timeout=self._timeout)
        finally:
            if not self._persistent:
                workers.close()


class _Order:
    """The indices of a data set, in order or shuffled anew in each epoch."""

    def __init__(self, dataset: Any, shuffle: bool, generator: Any) -> None:
        self._dataset = dataset
        self._shuffle = shuffle
        self._generator = generator

    def __len__(self) -> int:
        return len(self._dataset)

    def __iter__(self) -> Iterator[int]:
        if not self._shuffle:
            return iter(range(len(self)))
        from ..source._samplers import Permutation

        return map(Permutation(len(self), self._seed()), range(len(self)))

    def _seed(self) -> int:
        """From the generator; without one from torch's, if torch is loaded (manual_seed decides), or random's."""
        if self._generator is None and "torch" not in sys.modules:
            return random.getrandbits(62)
        import torch

        return int(torch.empty((), dtype=torch.int64).random_(generator=self._generator))


class _Batches:
    """Lists of indices."""

    def __init__(self, order: Any, batch_size: int, drop_last: bool) -> None:
        self._order = order
        self._batch_size = batch_size
        self._drop_last = drop_last

    def __len__(self) -> int:
        whole, rest = divmod(len(self._order), self._batch_size)
        return whole + (rest > 0 and not self._drop_last)

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        for index in self._order:
            batch.append(index)
            if len(batch) == self._batch_size:
                yield batch
                batch = []
        if batch and not self._drop_last:
            yield batch


class _Workers:
    """Processes that hold the data set; fetch() has one of them make a batch."""

    def __init__(self, loader: PyTorchDataLoader) -> None:
        args = [_pickled("the data set", loader.dataset), _pickled("collate_fn", _collate(loader)), loader._batched]
        self._idle: queue.SimpleQueue = queue.SimpleQueue()
        self._all = []
        for number in range(loader._num_workers):
            worker = Worker(f"spdl-dataset-{number}", _serve, (*args, loader._worker_init_fn, number),
                            mp_context=loader._context)
            self._all.append(worker)
            self._idle.put(worker)

    def fetch(self, indices: Any) -> Any:
        """The batch of these indices, from the first worker that is free."""
        worker = self._idle.get()
        try:
            worker.send("fetch", 0, indices)
            worker.wait(None)
            kind, _, packed = worker.receive()
        finally:
            self._idle.put(worker)  # one that has died, too: whoever gets it hears of it
        value = worker.channel.unpack(packed)
        if kind == "error":
            raise received_error(value, worker.process.name)
        return value

    def close(self) -> None:
        end_all(self._all)


def _serve(channel: Channel, dataset: bytes, collate: bytes, batched: bool,
           worker_init_fn: Optional[Callable[[int], None]], number: int) -> None:
    try:
        if worker_init_fn is not None:
            worker_init_fn(number)
        items, join = pickle.loads(dataset), pickle.loads(collate)
    except Exception as error:
        channel.receive()
        send_error(channel, "error", 0, error)
        return
    while True:
        indices = channel.unpack(channel.receive()[2])
        try:
            batch = join(_fetch(items, indices) if batched else items[indices])
        except Exception as error:
            send_error(channel, "error", 0, error)
        else:
            channel.send("batch", 0, batch)


def _fetch(dataset: Any, indices: Sequence[Any]) -> list[Any]:
    if hasattr(dataset, "__getitems__"):
        return dataset.__getitems__(indices)
    return [dataset[index] for index in indices]


def _collate(loader: PyTorchDataLoader) -> Callable[..., Any]:
    if loader._collate is not None:
        return loader._collate
    from torch.utils.data import default_collate, default_convert

    return default_collate if loader._batched else default_convert


def _is_iterable(dataset: Any) -> bool:
    """Whether it is torch's IterableDataset, whose base class has a __getitem__ that only raises."""
    torch_data = sys.modules.get("torch.utils.data")
    return torch_data is not None and isinstance(dataset, torch_data.IterableDataset)


def _pickled(what: str, value: Any) -> bytes:
    try:
        return pickle.dumps(value)
    except Exception as error:
        raise ValueError(f"spdl: dataloader: {what} goes to worker processes and cannot be pickled: {error}; define it, and its class, at the "
                         "top of a module") from error


def _pins() -> bool:
    """Whether there is anything to pin for. torch's DataLoader goes on without, too."""
    import torch

    if torch.cuda.is_available():
        return True
    warnings.warn("spdl: dataloader: pin_memory is set and torch finds no GPU; batches are not pinned", stacklevel=4)
    return False


def _pin(batch: Any) -> Any:
    from torch.utils.data._utils.pin_memory import pin_memory

    return pin_memory(batch)
