"""spdl.source: what says which sample comes next. Samplers of a rank, shuffling, merging and repeating of iterables.

    sampler = DistributedRandomSampler(len(dataset), rank=rank, world_size=world_size, seed=7)
    source = embed_shuffle(sampler)          # another order in every epoch

No sampler holds a list of indices: an order is a function of the seed, asked position by position.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._listing import offered
from .._spelling import no_attribute
from ._protocols import IterableWithShuffle, SizedIterable, SizedIterableWithShuffle
from ._samplers import DistributedDeterministicSampler, DistributedRandomSampler

__all__ = [
    "DistributedDeterministicSampler", "DistributedRandomSampler", "IterableWithShuffle", "SizedIterable",
    "SizedIterableWithShuffle",
]


__dir__ = offered(globals())


if not TYPE_CHECKING:  # to a type checker it would say that every name is there
    def __getattr__(name: str) -> object:
        raise no_attribute(__name__, name, __all__)
