"""A log of what a consumer completed, for `spdl verify`."""

from __future__ import annotations

import json
import os
from typing import Iterator, TextIO, Union

from .batch import Batch
from .loader import Loader


class DeliveryLog:
    """A loader whose completed batches are written down: one JSON line each, appended to a file.

        for batch in spdl.delivery_log(loader, "rank0.jsonl"):
            train(batch)

    A line is written when its batch is completed, which is when the loop asks for the next one: a batch whose loop body
    raised is in no log and will be delivered again. `spdl verify SPEC rank0.jsonl rank1.jsonl ...` proves from the logs of all
    consumers of a group that every sample came as often as planned. Each line is flushed to the operating system.
    """

    def __init__(self, loader: Loader, path: Union[str, os.PathLike[str]]) -> None:
        self.loader = loader
        self.path = path
        info = loader.info
        self._world, self._first_rank = info.world_size, info.rank - info.lane

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[Batch]:
        """Iterate over the rest of the current epoch, as the loader does."""
        with open(self.path, "a", encoding="ascii") as log:
            line, batches = None, iter(self.loader)
            while True:
                try:
                    batch = next(batches, None)
                finally:  # asking for a batch completes the one before, whether there is one, or an engine, or none
                    if line is not None:
                        self._write(log, line)
                if batch is None:
                    return
                line = self._line(batch)
                yield batch
                del batch

    def _line(self, batch: Batch) -> str:
        return json.dumps({
            "ticket": batch.ticket, "epoch": batch.epoch, "step": batch.step, "rank": self._first_rank + batch.lane,
            "world": self._world, "attempts": batch.attempts, "n_bad": batch.n_bad, "hash": f"{batch.hash:016x}",
            "index": batch.array("index").tolist(),
        })

    @staticmethod
    def _write(log: TextIO, line: str) -> None:
        log.write(line + "\n")
        log.flush()


def delivery_log(loader: Loader, path: Union[str, os.PathLike[str]]) -> DeliveryLog:
    """Write down every batch of loader that is completed, in path: see DeliveryLog."""
    return DeliveryLog(loader, path)
