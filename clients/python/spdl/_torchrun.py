"""Under torchrun: who starts the engine, and what the others call it.

The ranks of a node share one engine. Local rank 0 starts it as its child, told to listen under a name that every
rank of the node computes alike, and to give the group "train" one lane per local rank; the others attach. So every rank opens the
same descriptions, as often and in the same order.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import hashlib
import os
import re
import socket
import sys
import time
import weakref
from typing import TYPE_CHECKING, Iterator, NamedTuple, Optional

from ._errors import ArgumentError, SpdlError

if TYPE_CHECKING:
    from .loader import Loader

GROUP = "train"
LEAVE_S = 5.0  # how long local rank 0 waits at its end for the other ranks


class Ranks(NamedTuple):
    rank: int
    world_size: int
    local_rank: int
    local_size: int
    run_id: str


def ranks() -> Optional[Ranks]:
    """What torchrun says in the environment; None elsewhere. Raises ArgumentError if it says half of it."""
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    values = [os.environ.get(name) for name in names]
    if "LOCAL_RANK" not in os.environ or "LOCAL_WORLD_SIZE" not in os.environ:
        return None
    try:
        rank, world_size, local_rank, local_size = (int(value) for value in values)
    except (TypeError, ValueError):
        said = ", ".join(f"{name}={value}" for name, value in zip(names, values))
        raise ArgumentError(f"spdl: torchrun's environment is not whole numbers: {said}") from None
    if not (0 <= local_rank < local_size and local_rank <= rank < world_size):
        said = ", ".join(f"{name}={value}" for name, value in zip(names, values))
        raise ArgumentError(f"spdl: torchrun's environment contradicts itself: {said}")
    run_id = os.environ.get("TORCHELASTIC_RUN_ID", "run")
    if run_id == "none":  # torchrun's default: told apart by where its ranks meet
        run_id = f"run-{os.environ.get('MASTER_PORT', '0')}"
    return Ranks(rank, world_size, local_rank, local_size, run_id)


def unsaid() -> Optional[str]:
    """As a description would say it: the world that a program is in which torchrun did not start, of which spdl is told nothing."""
    try:
        if ranks() is not None:
            return None
        size, rank = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", -1))
    except (ArgumentError, ValueError):
        return None
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        size, rank = distributed.get_world_size(), distributed.get_rank()
    return f"{{size: {size}, rank: {rank if rank >= 0 else '...'}}}" if size > 1 else None


def name(ranks: Ranks, text: str) -> str:
    """The engine's name on this node: the run, and a digest of the description, so that two of them do not meet."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape"))
    if os.path.isfile(text):
        with open(text, "rb") as file:
            digest.update(file.read())
    run = re.sub(r"[^A-Za-z0-9_-]", "-", ranks.run_id)[:32]
    return f"{run}-r{ranks.rank - ranks.local_rank}-{digest.hexdigest()[:12]}"


_opened: collections.Counter[str] = collections.Counter()  # engines of a name, in this process


def next_name(ranks: Ranks, text: str) -> str:
    """The name of the next engine of this description: another than those before it. A rank that is ahead of local rank 0 would attach
    to the one that ends, and two at once would be one."""
    first = name(ranks, text)
    _opened[first] += 1
    return _last(first)


def _last(first: str) -> str:
    """The last of the names that were given for this one."""
    return first if _opened[first] == 1 else f"{first}-{_opened[first]}"


def take_back(name: str) -> None:
    """The last next_name came to nothing: it is the next one's, too."""
    for first in _opened:
        if name == _last(first):
            _opened[first] -= 1


@contextlib.contextmanager
def opening(name: str) -> Iterator[None]:
    """Local rank 0 opens the engine of this name, which takes as long as its source does, for an index of many shards say: the other ranks can
    tell. A socket without a file, which the kernel takes away with this process."""
    with socket.socket(socket.AF_UNIX) as announced:
        with contextlib.suppress(OSError):  # the others wait for as long as for any engine then
            announced.bind(_opening_address(name))
            announced.listen()
        yield


def is_opening(name: str) -> bool:
    with socket.socket(socket.AF_UNIX) as asked:
        asked.setblocking(False)
        try:
            asked.connect(_opening_address(name))
        except BlockingIOError:  # many have asked already
            pass
        except OSError:
            return False
    return True


def _opening_address(name: str) -> str:
    return f"\0spdl-opening-{os.getuid()}-{name}"


def lane() -> Optional[int]:
    """The lane that is this rank's where a group has lanes; None where there is one rank, or no torchrun that says all of it."""
    try:
        here = ranks()
    except ArgumentError:
        return None
    return here.local_rank if here is not None and here.local_size > 1 else None


def shared_arguments(ranks: Ranks, name: str) -> list[str]:
    """Arguments of `spdl serve` for the one engine of a node."""
    first = ranks.rank - ranks.local_rank
    return ["--name", name, "--listen", "--group", f"{GROUP}:lanes={ranks.local_size}",
            "--world-size", str(ranks.world_size), "--rank", str(first)]


def own_arguments(ranks: Ranks, world: bool = True) -> list[str]:
    """Arguments of `spdl serve` for an engine per rank, which has the rank's part of the samples or, without world, all of them."""
    part = ["--world-size", str(ranks.world_size), "--rank", str(ranks.rank)] if world else []
    if ranks.local_size == 1:
        return part
    return [*part, "--cpus", f"{len(os.sched_getaffinity(0)) / ranks.local_size:g}"]


_hosts: weakref.WeakSet[Loader] = weakref.WeakSet()  # loaders of engines that other ranks attach to


def host(loader: Loader) -> None:
    """The engine of this loader is the other ranks', too: they are a batch or two behind when it is closed, or when this process ends."""
    if not _hosts:
        atexit.unregister(_at_exit)
        atexit.register(_at_exit)  # before what closes all readers, which was registered when that was imported
    _hosts.add(loader)
    loader._hosting = True


def see_off(loader: Loader) -> None:
    """Before a host leaves: wait, up to LEAVE_S, until the other ranks have left its ring."""
    if not loader._hosting:
        return
    loader._hosting = False
    end = time.monotonic() + LEAVE_S
    try:
        while _others(loader) and time.monotonic() < end:
            time.sleep(0.01)
    except SpdlError:  # the engine is gone already
        pass


def _others(loader: Loader) -> bool:
    info = loader.info
    groups = [group for ring in loader.stats().get("rings", ()) if ring["ring"]["name"] == info.name for group in ring["groups"]]
    return any(member["pid"] != os.getpid() for group in groups if group["name"] == info.group for member in group["members"])


def _at_exit() -> None:
    if getattr(sys, "last_type", None) is None:  # else the others wait for this rank, not for the engine
        for loader in list(_hosts):
            see_off(loader)
