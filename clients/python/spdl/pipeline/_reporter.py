"""What the two classes that report statistics by the clock have in common."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import Any, AsyncIterator

from ._info import StageInfo

log = logging.getLogger("spdl.pipeline")


class Reporter:
    """Calls interval_stats_callback every `interval` seconds (-1: never) while its stage runs, and at the end."""

    info: StageInfo
    interval: float

    async def interval_stats_callback(self, stats: Any) -> None:
        """Called with the statistics of each interval, and of the last one at the end."""
        raise NotImplementedError

    def _interval_stats(self) -> Any:
        """What has happened since the last call."""
        raise NotImplementedError

    @asynccontextmanager
    async def stage_hook(self) -> AsyncIterator[None]:
        reporter = asyncio.ensure_future(self._report()) if self.interval > 0 else None
        try:
            yield
        finally:
            if reporter is not None:
                reporter.cancel()
            await self.interval_stats_callback(self._interval_stats())

    async def _report(self) -> None:
        while True:
            await asyncio.sleep(self.interval)
            try:
                await self.interval_stats_callback(self._interval_stats())
            except Exception:
                log.exception("[%s] interval_stats_callback failed", self.info)
