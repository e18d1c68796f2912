"""A data set and what becomes of its samples, as parts of a description."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Optional

from . import beside
from .transforms import Places


TEXT = 16 << 10  # bytes that a text may have, where nobody says how long they are
WINDOW = 8  # shards among which samples are shuffled, where these and a buffer are


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Python looks for garbage in cycles whenever many objects were made, and goes through all there are for it: of a large data set millions, again and again while its samples are told."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class Made(NamedTuple):
    """What a data set and its transforms are."""

    samples: Optional[int]  # None: its files say it
    source: dict[str, Any]
    sections: dict[str, Any]  # of what a sample has
    brought: Any  # what brings the samples to an engine in process: where the source is host, or the files are others by now; None: nothing does
    fields: Sequence[str]  # what is picked of a batch
    finish: Any  # what becomes of that: called with it
    collates: bool  # with the program's own function
    classes: Optional[list[str]]
    files: beside.Files  # that the source names
    places: Places  # of transforms that are told already
    epoch: Optional[int] = None  # batches of a loop, where these are not those of an epoch
    backwards: bool = True  # whether a sampler may count samples from the end, by numbers below 0
    together: Sequence[str] = ()  # fields of tiles or patches that are picked as those of all rows, one behind the other


class Streamed(NamedTuple):
    """A data set that is iterated, which says its batches and its order itself."""

    made: Made
    batch: int
    order: dict[str, Any]
    bad_sample: dict[str, Any]
    world: Optional[dict[str, int]] = None  # of which this is a rank
