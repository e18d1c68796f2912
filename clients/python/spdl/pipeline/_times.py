"""Durations, summed up: exact count and mean, quantiles within 1/16 of their value."""

from __future__ import annotations

import math

from .._lock import Lock

_STEPS = 16  # buckets per doubling


class Times:
    """Durations in seconds since the last take(). Threads may add."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._reset()

    def _reset(self) -> None:
        self._buckets: dict[int, int] = {}
        self._sum = 0.0
        self._count = 0

    def add(self, seconds: float) -> None:
        bucket = int(math.log2(max(seconds, 1e-9) * 1e9) * _STEPS)
        with self._lock:
            self._buckets[bucket] = self._buckets.get(bucket, 0) + 1
            self._sum += seconds
            self._count += 1

    def take(self) -> tuple[int, float, float, float]:
        """count, mean, p90 and p99 of what was added since the last take."""
        with self._lock:
            buckets, total, count = self._buckets, self._sum, self._count
            self._reset()
        if count == 0:
            return 0, 0.0, 0.0, 0.0
        return count, total / count, _quantile(buckets, count, 0.9), _quantile(buckets, count, 0.99)


def _quantile(buckets: dict[int, int], count: int, share: float) -> float:
    want = math.ceil(count * share)
    for bucket in sorted(buckets):
        want -= buckets[bucket]
        if want <= 0:
            break
    return 2 ** ((bucket + 0.5) / _STEPS) / 1e9
