"""DataLoader: source, preprocessing, batches, transfer."""

from __future__ import annotations

from typing import Any, AsyncIterable, Callable, Generic, Iterable, Iterator, Optional, Union

from ..pipeline import Pipeline, PipelineBuilder
from ..pipeline._variables import T
from ..pipeline.defs import at_least_one


class DataLoader(Generic[T]):
    """Items of src, preprocessed, in batches; each iteration is an epoch of a pipeline of its own.

        loader = DataLoader(paths, preprocessor=decode, batch_size=32, aggregator=stack, num_threads=8)

    preprocessor  called with each item, num_threads at once; None: items as they are
    batch_size    items per list; None: no lists
    drop_last     leave out the last list if it is shorter
    aggregator    called with each list (or item); None: lists as they are
    transfer_fn   called with what the aggregator returned, by one thread, which is always the same in an epoch
    buffer_size   batches ready ahead
    timeout       seconds to wait for a batch; then TimeoutError
    output_order  "completion", or "input": batches have the items in the order of src
    """

    def __init__(self, src: Union[Iterable[Any], AsyncIterable[Any]], *,
                 preprocessor: Optional[Callable[..., Any]] = None, batch_size: Optional[int] = None,
                 drop_last: bool = False, aggregator: Optional[Callable[..., Any]] = None,
                 transfer_fn: Optional[Callable[..., T]] = None, buffer_size: int = 3, num_threads: int = 8,
                 timeout: Optional[float] = None, output_order: str = "completion") -> None:
        self._src = src
        self._preprocessor = preprocessor
        self._batch_size = batch_size
        self._drop_last = drop_last
        self._aggregator = aggregator
        self._transfer_fn = transfer_fn
        self._buffer_size = buffer_size
        self._num_threads = at_least_one("dataloader: DataLoader: num_threads", num_threads)
        self._timeout = timeout
        self._output_order = output_order
        self._build()  # refuses wrong arguments here, and not in the first iteration

    def _build(self) -> Pipeline[T]:
        builder: PipelineBuilder[Any, T] = PipelineBuilder().add_source(self._src)
        if self._preprocessor is not None:
            builder.pipe(self._preprocessor, concurrency=self._num_threads, output_order=self._output_order)
        if self._batch_size is not None:
            builder.aggregate(self._batch_size, drop_last=self._drop_last)
        if self._aggregator is not None:
            builder.pipe(self._aggregator, concurrency=self._num_threads, output_order=self._output_order)
        if self._transfer_fn is not None:
            builder.pipe(self._transfer_fn, output_order=self._output_order)
        # two more: the transfer and an aggregator must not wait for preprocessing to let a thread go
        return builder.add_sink(self._buffer_size).build(num_threads=self._num_threads + 2)

    def __len__(self) -> int:
        """Batches of an epoch, where src has a length; preprocessing that drops or adds items is not seen."""
        count = len(self._src)  # type: ignore[arg-type]
        if self._batch_size is None:
            return count
        return count // self._batch_size if self._drop_last else -(-count // self._batch_size)

    def __iter__(self) -> Iterator[T]:
        pipeline = self._build()
        with pipeline.auto_stop():
            yield from pipeline.get_iterator(timeout=self._timeout)
