"""What worker processes of the tests import."""

from __future__ import annotations

import random
import time


def silent():
    yield 1
    time.sleep(3600)


class Random:
    def __iter__(self):
        for _ in range(3):
            yield random.random()


def tensors():
    import torch

    yield torch.arange(10000, dtype=torch.float32)
    yield torch.ones(5000, dtype=torch.bfloat16)
