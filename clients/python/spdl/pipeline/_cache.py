"""What training would gain if loading cost nothing: batches that are seen again and again."""

from __future__ import annotations

from typing import Iterable, Iterator, Optional, TypeVar

T = TypeVar("T")


def cache_iterator(src: Iterable[T], num_caches: int, *, return_caches_after: Optional[int] = None,
                   stop_after: Optional[int] = None, delete_src: bool = True) -> Iterator[T]:
    """Items of src, then for ever the first num_caches of them.

    return_caches_after  items of src to pass on first; None: num_caches
    stop_after           end after so many items in all; None: never
    delete_src           let go of src when the repeating begins, so that it stops working

    A src that ends before is repeated from there on; one without items ends at once.
    """
    if num_caches < 1:
        raise ValueError(f"spdl: pipeline: cache_iterator: num_caches {num_caches}, want 1 or more")
    fresh = num_caches if return_caches_after is None else return_caches_after
    if fresh < 1 or (stop_after is not None and stop_after < 0):
        raise ValueError(f"spdl: pipeline: cache_iterator: return_caches_after {return_caches_after}, stop_after "
                         f"{stop_after}; want 1 or more, and 0 or more")
    cached: list[T] = []
    count = 0
    for item in src:
        if count == stop_after:
            return
        if len(cached) < num_caches:
            cached.append(item)
        yield item
        count += 1
        if count >= fresh:
            break
    if delete_src:
        del src
    while cached:
        for item in cached:
            if count == stop_after:
                return
            yield item
            count += 1
