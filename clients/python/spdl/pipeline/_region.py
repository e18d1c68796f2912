"""Stages between to(pool) and to(MAIN_PROCESS): run together in worker processes, as the source of what follows.

A transfer of items goes to the worker that has least in work, and a worker has at most two transfers in hand, so a
slow one does not keep items from the others.
"""

from __future__ import annotations

import os
import queue
import threading
from multiprocessing.connection import wait
from typing import Any, Iterator, Optional, Sequence

from .._lock import Lock
from . import _host, defs
from ._failure import PipelineFailure
from ._pipeline import DATA_ENDS, EPOCH_ENDS, Pipeline
from ._portable import portable
from ._stages import EndOfSource
from ._worker import Channel, Worker, end_all, received_error, send_error

AHEAD = 2  # transfers that a worker may have in hand


class Region:
    """The region's workers; iterating yields the results of one epoch."""

    def __init__(self, feeder: Pipeline, stages: Sequence[Any], target: defs.ProcessPoolExecutorConfig, inward: int,
                 outward: int, options: Any) -> None:
        self._feeder = feeder
        self._target = target
        self._inward = inward
        self._config = portable(defs.PipelineConfig(defs.SourceConfig((), True), list(stages), defs.SinkConfig(2)))
        self._build = {"num_threads": options.num_threads, "max_failures": options.max_failures,
                       "report_stats_interval": options.interval, "queue_class": options.queue_class,
                       "task_hook_factory": options.task_hook_factory}
        self._outward = outward
        self._workers: list[_Member] = []
        self._lock = Lock()
        self._halted = False
        self._wake_read, self._wake_write = os.pipe()
        self._starter: Optional[threading.Thread] = None
        self._feeding: queue.SimpleQueue = queue.SimpleQueue()  # what the dispatcher reports: an end, or an error
        self._room: queue.SimpleQueue = queue.SimpleQueue()  # a token for each transfer that a worker may take

    # ---- results

    def __iter__(self) -> Iterator[Any]:
        self._start()
        open_ = set(self._workers)  # those whose epoch has not ended
        while open_ and not self._halted:
            for member in self._ready(open_):
                kind, _, packed = member.worker.receive()
                value = member.worker.channel.unpack(packed)
                if kind == "items":
                    yield from value
                elif kind == "taken":
                    member.taken()
                    self._room.put(None)
                elif kind == "epoch":
                    open_.discard(member)
                elif kind == "error":
                    raise received_error(value, member.worker.process.name)
            self._raise_feeders()
        self._raise_feeders()

    def _ready(self, members: set[_Member]) -> list[_Member]:
        """Of these members those that have sent something; waits for one. What the others send belongs to the next
        epoch and stays where it is. Raises WorkerDied."""
        by_handle = {}
        for member in members:
            by_handle[member.worker.channel.connection] = member
            by_handle[member.worker.process.sentinel] = member
        handles = wait([*by_handle, self._wake_read])
        if self._wake_read in handles:
            os.read(self._wake_read, 4096)
        told = {by_handle[handle] for handle in handles if handle in by_handle}
        return [member for member in told if member.worker.wait(0)]

    def _raise_feeders(self) -> None:
        while not self._feeding.empty():
            raise self._feeding.get()

    # ---- items

    def _start(self) -> None:
        with self._lock:
            if self._workers or self._halted:
                return
            count = self._target.max_workers or os.cpu_count() or 1
            context = self._target.mp_context or ("spawn" if _host.loaded() else None)
            for number in range(count):
                args = (self._config, self._build, self._outward, self._target.initializer, self._target.initargs)
                self._workers.append(_Member(Worker(f"spdl-region-{number}", _serve, args, mp_context=context)))
            for _ in range(count * AHEAD):
                self._room.put(None)
            starter = threading.Thread(target=self._dispatch, name="spdl-region", daemon=True)
            starter.start()
            self._starter = starter

    def _dispatch(self) -> None:
        """Send the feeder's items to the workers, until its data ends or the region is stopped."""
        transfer: list[Any] = []
        try:
            while not self._halted:
                item = self._feeder.next()
                ended = item is EPOCH_ENDS or item is DATA_ENDS
                if not ended:
                    transfer.append(item)
                if transfer and (ended or len(transfer) >= self._inward):
                    self._send(transfer)
                    transfer = []
                if ended:
                    for member in self._workers:
                        member.worker.send("epoch")
                if item is DATA_ENDS:
                    return
        except Exception as error:
            if not self._halted:
                self._feeding.put(error)
                self._wake()

    def _send(self, transfer: list[Any]) -> None:
        """To the member with least in hand; waits while all have enough."""
        self._room.get()
        if self._halted:
            return
        member = min(self._workers, key=lambda one: one.in_hand)
        member.given()
        member.worker.send("items", 0, transfer)

    def _wake(self) -> None:
        os.write(self._wake_write, b"!")

    # ---- end

    def halt(self) -> None:
        """Stop without waiting."""
        if not self._halted:
            self._halted = True
            self._room.put(None)
            self._wake()
            self._feeder.halt()

    def close(self, timeout: float) -> None:
        """Stop the feeder and end the workers."""
        self.halt()
        self._feeder.close(timeout)
        if self._starter is not None:
            self._starter.join(timeout)
        with self._lock:
            workers, self._workers = self._workers, []
            if self._wake_read >= 0:
                os.close(self._wake_read)
                os.close(self._wake_write)
                self._wake_read = self._wake_write = -1
        end_all([member.worker for member in workers])


class _Member:
    """One worker, and how many transfers it has in hand."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.in_hand = 0
        self._lock = Lock()

    def given(self) -> None:
        with self._lock:
            self.in_hand += 1

    def taken(self) -> None:
        with self._lock:
            self.in_hand -= 1


# ---- in a worker -------------------------------------------------------------------------------


def _serve(channel: Channel, config: Any, build: dict[str, Any], outward: int, initializer: Any,
           initargs: tuple) -> None:
    """Run the region's stages on what the parent sends."""
    from ._build import build_pipeline

    try:
        if initializer is not None:
            initializer(*initargs)
        inner = config.restore()
        source = defs.SourceConfig(_Arriving(channel), True)
        pipeline = build_pipeline(defs.PipelineConfig(source, inner.pipes, inner.sink), **build)
        with pipeline.auto_stop():
            try:
                while True:
                    _send_epoch(channel, pipeline, outward)
            except PipelineFailure as error:  # told before the stop: its source may wait for the parent, whom this makes end it
                send_error(channel, "error", 0, error)
    except (EOFError, OSError):
        return
    except BaseException as error:  # noqa: B036 - whatever it is, the parent must hear of it
        send_error(channel, "error", 0, error)


def _send_epoch(channel: Channel, pipeline: Pipeline, outward: int) -> None:
    transfer = []
    for item in pipeline.get_iterator():
        transfer.append(item)
        if len(transfer) >= outward:
            channel.send("items", 0, transfer)
            transfer = []
    if transfer:
        channel.send("items", 0, transfer)
    pipeline.raise_failure()  # it may have failed in this epoch, and say so only in the next
    channel.send("epoch")


class _Arriving:
    """The items that the parent sends, an epoch per iteration."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def __iter__(self) -> Iterator[Any]:
        while True:
            try:
                kind, _, packed = self._channel.receive()
            except (EOFError, OSError):  # the parent has ended the region
                raise EndOfSource from None
            if kind == "epoch":
                return
            items = self._channel.unpack(packed)
            yield from items
            try:
                self._channel.send("taken")
            except OSError:
                raise EndOfSource from None
