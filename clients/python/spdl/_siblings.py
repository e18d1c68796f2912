"""The processes of a node's other ranks, as far as they are seen: children of one launcher with this one, told by their environment."""

from __future__ import annotations

import collections
import contextlib
import os
import select
from pathlib import Path
from typing import Callable, NamedTuple, Optional

_RUN = ("WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_PORT")  # alike in every rank of a node


class Sibling(NamedTuple):
    local_rank: int
    pid: int
    fd: int  # a pidfd, of whoever asked for it


def siblings(wanted: Callable[[int], bool]) -> list[Sibling]:
    """The other ranks' processes whose local rank is wanted. One is not seen that has ended, that another process started than this one's
    parent, or that was told its rank after it began; nor is a local rank that two processes have. Where the system tells nothing of
    them none is seen."""
    pids = _children(os.getppid()) if hasattr(os, "pidfd_open") else ()  # some builds of Python are without it
    seen = [one for one in map(_look, pids) if one is not None]
    times = collections.Counter(one.local_rank for one in seen)
    fit = [one for one in seen if times[one.local_rank] == 1 and wanted(one.local_rank)]
    for one in seen:
        if one not in fit:
            os.close(one.fd)
    return fit


def _look(pid: int) -> Optional[Sibling]:
    """Another process of this one's run; None of any other, and of one that may not be looked at."""
    if pid == os.getpid():
        return None
    with contextlib.suppress(OSError):
        fd = os.pidfd_open(pid)
        try:
            rank = _local_rank(pid)
            if rank is not None and not has_ended(fd):  # so the pid was still this process's when its environment was read
                kept, fd = fd, -1
                return Sibling(rank, pid, kept)
        finally:
            if fd >= 0:
                os.close(fd)
    return None


def has_ended(fd: int) -> bool:
    """Whether the process of a pidfd has ended."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))


def _children(parent: int) -> list[int]:
    """Empty where the kernel does not list them, or the parent is another container's."""
    lists = Path(f"/proc/{parent}/task").glob("*/children")
    with contextlib.suppress(OSError):
        return [int(pid) for one in lists for pid in one.read_text().split()]
    return []


def _local_rank(pid: int) -> Optional[int]:
    """The local rank of a process of this one's run; None of any other."""
    lines = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    told = dict(line.split(b"=", 1) for line in lines if b"=" in line)
    if any(told.get(os.fsencode(name)) != os.environb.get(os.fsencode(name)) for name in _RUN):
        return None
    rank = told.get(b"LOCAL_RANK", b"")
    return int(rank) if rank.isdigit() else None
