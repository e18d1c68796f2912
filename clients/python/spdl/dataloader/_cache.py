"""CacheDataLoader: how fast training would be if loading cost nothing."""

from __future__ import annotations

from typing import Any, Generic, Iterable, Iterator, Optional, TypeVar

from ..pipeline import cache_iterator

T = TypeVar("T")


class CacheDataLoader(Generic[T]):
    """A loader that repeats its first batches; arguments as for spdl.pipeline.cache_iterator.

    Everything else of the loader is reached as its own attribute.
    """

    def __init__(self, dl: Iterable[T], num_caches: int, return_caches_after: int,
                 stop_after: Optional[int] = None) -> None:
        self.dl = dl
        self.num_caches = num_caches
        self.return_caches_after = return_caches_after
        self.stop_after = stop_after

    def __len__(self) -> int:
        return len(self.dl)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[T]:
        return cache_iterator(self.dl, self.num_caches, return_caches_after=self.return_caches_after,
                              stop_after=self.stop_after, delete_src=False)

    def __getattr__(self, name: str) -> Any:
        if name == "dl":  # not yet set, as while unpickling
            raise AttributeError(name)
        return getattr(self.dl, name)
