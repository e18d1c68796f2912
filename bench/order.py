"""The order of samples, evaluated from its definition by other code than the engine's: core/sampler/doc.go, perm.go and window.go.

What bench/huge.py compares the engine's batches with. Slow, and only what that needs.
"""

import bisect
import hashlib
import itertools
import math
import struct

MASK = 2**64 - 1
TAG_SHARD, TAG_BLOCK = 1, 2


def mix(z):
    """The finaliser of SplitMix64."""
    z = (z + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
    return z ^ z >> 31


class Permutation:
    """Of [0, n): eight rounds of a Feistel network over [0, side) x [0, side), walked again until the result is below n."""

    def __init__(self, n, seed, epoch):
        self.n, self.side = n, math.isqrt(n - 1) + 1
        self.keys = struct.unpack("<8Q", hashlib.sha512(struct.pack("<16s3Q", b"spdl order v1", seed, epoch, n)).digest())

    def at(self, v):
        while True:
            left, right = divmod(v, self.side)
            for key in self.keys:
                left, right = right, (left + (mix(right ^ key) * self.side >> 64)) % self.side
            v = left * self.side + right
            if v < self.n:
                return v


def keyed(n, seed, epoch, tag, k):
    return Permutation(n, mix(seed ^ mix(tag << 56 ^ k)), epoch)


def shuffled(n, seed, epoch, positions):
    order = Permutation(n, seed, epoch)
    return [order.at(p) for p in positions]


def windowed(lens, width, seed, epoch, positions):
    starts = [0, *itertools.accumulate(lens)]
    order = keyed(len(lens), seed, epoch, TAG_SHARD, 0)
    shards = [order.at(i) for i in range(len(lens))]
    bounds = [0, *itertools.accumulate(lens[s] for s in shards)]  # of the shards in their order
    found = []
    for p in positions:
        window = (bisect.bisect_right(bounds, p) - 1) // width
        first, last = bounds[window * width], bounds[min((window + 1) * width, len(lens))]
        q = first + keyed(last - first, seed, epoch, TAG_BLOCK, window).at(p - first)
        place = bisect.bisect_right(bounds, q) - 1
        found.append(starts[shards[place]] + q - bounds[place])
    return found
