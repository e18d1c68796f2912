"""What hooks, queues and custom merges see of a pipeline: StageInfo and the marks in a queue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional


@dataclass(frozen=True)
class StageInfo:
    """Which stage it is; as text "pipeline:stage:name[concurrency]"."""

    pipeline_id: int
    stage_id: str
    stage_name: str
    concurrency: Optional[int] = None

    def __str__(self) -> str:
        many = f"[{self.concurrency}]" if self.concurrency is not None and self.concurrency > 1 else ""
        return f"{self.pipeline_id}:{self.stage_id}:{self.stage_name}{many}"


class _Mark:
    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __reduce__(self) -> str:
        return self._name


EOF = _Mark("EOF")
EPOCH_END = _Mark("EPOCH_END")


def is_eof(item: Any) -> bool:
    """Whether an item of a merge's input queue is the end of that input."""
    return item is EOF


def is_epoch_end(item: Any) -> bool:
    """Whether an item of a merge's input queue is the end of an epoch of that input."""
    return item is EPOCH_END
