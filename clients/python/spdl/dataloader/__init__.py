"""spdl.dataloader: whole loaders on top of spdl.pipeline, as Meta's SPDL has them.

spdl.DataLoader is another one: batches that the engine itself has decoded, in shared memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._listing import offered
from .._spelling import no_attribute
from ._cache import CacheDataLoader
from ._loader import DataLoader
from ._pytorch import PyTorchDataLoader, get_pytorch_dataloader

__all__ = ["CacheDataLoader", "DataLoader", "get_pytorch_dataloader", "PyTorchDataLoader"]


__dir__ = offered(globals())


if not TYPE_CHECKING:  # to a type checker it would say that every name is there
    def __getattr__(name: str) -> object:
        raise no_attribute(__name__, name, __all__)
