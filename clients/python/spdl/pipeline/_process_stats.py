"""What the processes of a group use: a background task that reads /proc."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass, field
from typing import Any, Awaitable, Callable, Optional

from ._tasks import BackgroundTask

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class ProcessGroupResourceUsage:
    """A process group in an interval. CPU in per cent of one core, since the last report; memory in bytes now; disk
    and network (of the whole host but loopback) in bytes since the last report. None: could not be read."""

    pid: int
    pgid: int
    cpu_percent: Optional[float] = None
    rss_bytes: Optional[int] = None
    pss_bytes: Optional[int] = None
    private_bytes: Optional[int] = None
    disk_read_bytes: Optional[int] = None
    disk_write_bytes: Optional[int] = None
    num_procs: Optional[int] = None
    net_rx_bytes: Optional[int] = None
    net_tx_bytes: Optional[int] = None


class ProcessGroupStatsMonitor(BackgroundTask):
    """Calls an async callback with the group's usage every `interval` seconds.

    It reads /proc on a thread of this process: no further process is started (mp_context has no effect).
    """

    def __init__(self, callback: Callable[[ProcessGroupResourceUsage], Awaitable[None]], interval: float = 60.0,
                 mp_context: Any = None) -> None:
        if interval <= 0:
            raise ValueError(f"spdl: pipeline: ProcessGroupStatsMonitor: interval {interval}, want more than 0 seconds")
        self._callback = callback
        self._interval = interval

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        before = await loop.run_in_executor(None, _read)
        while True:
            await asyncio.sleep(self._interval)
            now = await loop.run_in_executor(None, _read)
            await self._callback(_difference(before, now))
            before = now


@dataclass
class _Reading:
    at: float
    ticks: dict[int, int] = field(default_factory=dict)  # CPU time by process
    disk: dict[int, tuple[int, int]] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)
    network: tuple[int, int] = (0, 0)


def _read() -> _Reading:
    reading = _Reading(time.monotonic(), memory={"Rss": 0, "Pss": 0, "Private": 0}, network=_network())
    group = os.getpgrp()
    for name in os.listdir("/proc"):
        if name.isdecimal():
            _read_process(int(name), group, reading)
    return reading


def _read_process(pid: int, group: int, reading: _Reading) -> None:
    """Add one process, if it is of the group; one that ends meanwhile, or is another user's, is left out."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        if int(fields[2]) != group:
            return
        reading.ticks[pid] = int(fields[11]) + int(fields[12])
        with open(f"/proc/{pid}/smaps_rollup") as file:
            for line in file:
                name, _, rest = line.partition(":")
                kind = "Private" if name.startswith("Private_") and name != "Private_Hugetlb" else name
                if kind in reading.memory:
                    reading.memory[kind] += int(rest.split()[0]) * 1024
        with open(f"/proc/{pid}/io") as file:
            io = dict(line.split(": ") for line in file.read().splitlines())
        reading.disk[pid] = int(io["read_bytes"]), int(io["write_bytes"])
    except (OSError, ValueError):
        return


def _network() -> tuple[int, int]:
    received = sent = 0
    with open("/proc/net/dev") as file:
        for line in file.read().splitlines()[2:]:
            name, _, rest = line.partition(":")
            if name.strip() != "lo":
                received += int(rest.split()[0])
                sent += int(rest.split()[8])
    return received, sent


def _difference(before: _Reading, now: _Reading) -> ProcessGroupResourceUsage:
    ticks = sum(count - before.ticks.get(pid, 0) for pid, count in now.ticks.items())
    disk = [sum(counts[way] - before.disk.get(pid, (0, 0))[way] for pid, counts in now.disk.items()) for way in (0, 1)]
    return ProcessGroupResourceUsage(
        os.getpid(), os.getpgrp(), 100.0 * ticks / _TICKS / max(now.at - before.at, 1e-9), now.memory["Rss"],
        now.memory["Pss"], now.memory["Private"], disk[0], disk[1], len(now.ticks),
        now.network[0] - before.network[0], now.network[1] - before.network[1])
