"""Samplers of one rank: which indices it reads, in which order."""

from __future__ import annotations

import itertools
import math
import warnings
from bisect import bisect_right
from typing import Iterator, Optional, Sequence

_MASK = (1 << 64) - 1
_ROUNDS = 6


class _Share:
    """The positions of a rank: every world_size-th of n, beginning at rank."""

    def __init__(self, name: str, n: int, rank: int, world_size: int, drop_last_round: bool) -> None:
        if n < 1:
            raise ValueError(f"spdl: source: {name}: {n} samples, want 1 or more")
        if world_size < 1:
            raise ValueError(f"spdl: source: {name}: world_size {world_size}, want 1 or more")
        if not 0 <= rank < world_size:
            raise ValueError(f"spdl: source: {name}: rank {rank}, want 0 to {world_size - 1}, as world_size is "
                             f"{world_size}")
        if drop_last_round and n < world_size:
            raise ValueError(f"spdl: source: {name}: {n} samples for {world_size} ranks leave none for each; set "
                             "ddp_drop_last_distributed_round=False to give some ranks nothing")
        if drop_last_round and n % world_size:
            warnings.warn(f"spdl: source: {name}: {n} samples are no multiple of world_size {world_size}: "
                          f"{n % world_size} are left out of each epoch; ddp_drop_last_distributed_round=False reads "
                          "them, with ranks of unequal length", stacklevel=4)
        whole = n // world_size * world_size if drop_last_round else n
        self.positions = range(rank, whole, world_size)


class DistributedDeterministicSampler:
    """The indices rank, rank + world_size, ... of n, the same in every epoch.

    ddp_drop_last_distributed_round  leave out the last indices that do not suffice for all ranks, so that all ranks
                                     get equally many; False: read all, some ranks get one more
    """

    def __init__(self, n: int, /, *, rank: int, world_size: int,
                 ddp_drop_last_distributed_round: bool = True) -> None:
        self._share = _Share(type(self).__name__, n, rank, world_size, ddp_drop_last_distributed_round)

    def __len__(self) -> int:
        return len(self._share.positions)

    def __iter__(self) -> Iterator[int]:
        return iter(self._share.positions)


class DistributedRandomSampler:
    """Indices of n in random order, distinct over all ranks of the same seed.

    num_draws  how many indices an epoch has over all ranks; None: n
    weights    draw with replacement, index i with a chance in proportion to weights[i]; None: each at most once
    seed       shuffle(seed) sets it; ranks must agree

    An epoch is a permutation with a key, evaluated where it is asked: memory does not grow with n (with weights,
    their running sum is kept). Iterating twice without shuffle() yields the same order twice; embed_shuffle gives
    every epoch its own.
    """

    def __init__(self, n: int, /, *, rank: int, world_size: int, num_draws: Optional[int] = None,
                 weights: Optional[Sequence[float]] = None, seed: int = 0,
                 ddp_drop_last_distributed_round: bool = True) -> None:
        name = type(self).__name__
        self._n = n
        self._seed = seed
        self._sums = None if weights is None else _running_sum(weights, n)
        draws = n if num_draws is None else num_draws
        if draws > n and weights is None:
            raise ValueError(f"spdl: source: {name}: num_draws {draws} of {n} samples, and each is drawn at most once; "
                             "give weights to draw with replacement")
        self._share = _Share(name, n if n < 1 else draws, rank, world_size, ddp_drop_last_distributed_round)

    def shuffle(self, seed: int) -> None:
        """Take the order of this seed from the next iteration on."""
        self._seed = seed

    def __len__(self) -> int:
        return len(self._share.positions)

    def __iter__(self) -> Iterator[int]:
        positions = self._share.positions
        if self._sums is not None:
            return _draws(self._sums, self._seed, positions)
        return map(Permutation(self._n, self._seed), positions)


class Permutation:
    """A random order of 0 to n-1, as a function of the position: a Feistel network over the next power of four,
    walked until it lands below n."""

    def __init__(self, n: int, seed: int) -> None:
        self._n = n
        self._half = max(1, ((n - 1).bit_length() + 1) // 2)
        self._low = (1 << self._half) - 1
        self._keys = [_mix(seed * 2654435761 + 0x9E3779B97F4A7C15 * (round_ + 1)) for round_ in range(_ROUNDS)]

    def __call__(self, position: int) -> int:
        half, low, n = self._half, self._low, self._n
        while True:
            left, right = position >> half, position & low
            for key in self._keys:
                left, right = right, left ^ (_mix(right + key) & low)
            position = left << half | right
            if position < n:
                return position


def _mix(value: int) -> int:
    """A 64-bit finaliser: each bit of the result depends on every bit of the value."""
    value &= _MASK
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ value >> 27) * 0x94D049BB133111EB & _MASK
    return value ^ value >> 31


def _running_sum(weights: Sequence[float], n: int) -> list[float]:
    if len(weights) != n:
        raise ValueError(f"spdl: source: DistributedRandomSampler: {len(weights)} weights for {n} samples, "
                         "want one each")
    for place, weight in enumerate(weights):
        if not (weight >= 0 and math.isfinite(weight)):
            raise ValueError(f"spdl: source: DistributedRandomSampler: weight {place} is {weight}, want 0 or more")
    sums = list(itertools.accumulate(weights))
    if sums and sums[-1] <= 0:
        raise ValueError("spdl: source: DistributedRandomSampler: all weights are 0, want at least one above")
    return sums


def _draws(sums: list[float], seed: int, positions: range) -> Iterator[int]:
    """A draw for each position, from a number of its own, so that ranks draw independently."""
    base = _mix(seed + 0x9E3779B97F4A7C15)
    last = bisect_right(sums, sums[-1] * (1 - 2 ** -53)) if sums else 0
    for position in positions:
        share = (_mix(base + position * 0x9E3779B97F4A7C15) >> 11) / (1 << 53)
        yield min(bisect_right(sums, share * sums[-1]), last)
