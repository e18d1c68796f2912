"""A stage whose works this process does, and the desk where a thread of it works: take a work, give what came of it."""

from __future__ import annotations

from ctypes import c_int32, c_uint64
from typing import TYPE_CHECKING, Any, Optional

from .._errors import SpdlError
from . import defs
from ._failure import log, log_failure, traceback_text
from ._hooks import TaskHook
from ._host import E_STAGE, GIVE_MORE, GIVE_SKIP, OK, TIMEOUT, WORK_FLUSH, WORK_LIST, Give, Work
from ._info import StageInfo

if TYPE_CHECKING:
    from ._core import Core


class HostStage:
    """A stage whose works this process does. `name` is the engine's, `info` the user's."""

    threads = 1
    needs_loop = False  # whether it runs coroutines
    tells_itself = False  # whether its failure is the pipeline's as it is, and not as one of too many

    def __init__(self, name: str, info: StageInfo, budget: Optional[Budget] = None) -> None:
        self.name = name
        self.info = info
        self.hooks: list[TaskHook] = []
        self.budget = budget or Budget(0)
        self.condemned = False  # whether the pipeline has failed in this stage, or behind it
        self.number = -1
        self.desks: list[Desk] = []  # of its threads, under the core's lock
        self.alive = 0  # threads of it, under the core's lock

    def bind(self, core: Core) -> None:
        """Called once, before the first thread."""
        self.core = core
        self.number = core.host.stage(self.name)

    def run(self) -> None:
        """What each of its threads does until take says that nothing will come any more."""
        desk = Desk(self)
        with self.core.lock:
            self.desks.append(desk)
        while desk.take():
            if self.condemned:
                desk.end()
                continue
            try:
                self.work(desk)
            except BaseException as error:  # noqa: B036 - a SystemExit must not end the thread with its work
                desk.fail(error)

    def work(self, desk: Desk) -> None:
        """Do the work on the desk; what it raises is the work's failure."""
        raise NotImplementedError


class Budget:
    """How many failures a stage may have. Kept here and not in the engine, which ends a pipeline at once: SPDL's
    meaning is that what was ready, and what is behind the stage, still arrives."""

    def __init__(self, limit: defs.MaxFailures, retries: int = 0) -> None:
        self.limit = limit
        self.retries = retries  # failures of one item that are not its last
        self.failures = 0
        self.items = 0

    def exceeded(self) -> bool:
        """Whether one failure more is too many. Under the core's lock."""
        self.failures += 1
        if isinstance(self.limit, int):
            return 0 <= self.limit < self.failures
        return self.items >= PROBATION and self.failures > self.limit * self.items


PROBATION = 100  # items after which a rate of failures is first judged


class Desk:
    """What one thread works with: the work it took, and the form to give results with."""

    def __init__(self, stage: HostStage) -> None:
        self.stage = stage
        self.core = stage.core
        self.host = stage.core.host
        self.number = stage.number
        self.items = stage.core.items
        self.key = stage.core.keys()
        self.raw = Work()
        self._slot = (c_uint64 * 1)()
        self._give = Give()
        self._give.items = self._slot
        self._skip = Give()
        self._nothing = Give()
        self._nothing.flags = GIVE_SKIP
        self.out = False  # whether the work taken has to be given yet

    def take(self) -> bool:
        """Wait for the next work; False when the thread may end."""
        self.out = self.host.take(self.number, self.raw) == OK
        return self.out

    @property
    def keys(self) -> list[int]:
        return self.raw.items[:self.raw.n_items]

    def item(self) -> Any:
        """The object of the work: one, or a list."""
        raw = self.raw
        if raw.flags & WORK_LIST:
            return [self.items[key] for key in self.keys]
        return self.items[raw.items[0]]

    def give(self, result: Any, flags: int = 0) -> bool:
        """Give one result; False when nobody wants more. Without MORE it ends the work and lets go of its item."""
        give = self._give
        give.flags = flags
        give.n_items = 1
        key = self._slot[0] = self.key()
        self.items[key] = result
        return self._hand_over(give)

    def end(self, flags: int = GIVE_SKIP) -> bool:
        """End the work; nothing more comes of it."""
        give = self._skip
        give.flags = flags
        return self._hand_over(give)

    def give_keys(self, keys: list[int], flags: int, path: int = 0, paths: Optional[list[int]] = None) -> bool:
        """Give items that are in the table already; the work's own among them stay there."""
        give = Give()
        give.flags, give.n_items, give.path = flags, len(keys), path
        give.items = (c_uint64 * max(1, len(keys)))(*keys)
        if paths is not None:
            give.paths = (c_int32 * max(1, len(paths)))(*paths)
        return self._hand_over(give, keep=set(keys))

    def _hand_over(self, give: Give, keep: set[int] = frozenset()) -> bool:  # type: ignore[assignment]
        last = not give.flags & GIVE_MORE
        raw = self.raw
        if last:
            self.out = False
            keys = (raw.items[0],) if raw.n_items == 1 else self.keys
        status = self.host.give(self.number, raw, give)
        if status == OK:
            if last:
                for key in keys:
                    if key not in keep:
                        self.items.pop(key, None)
            return True
        self.out = False
        self.core.reclaim()
        if status == TIMEOUT:
            self._count(TimeoutError(f"spdl: pipeline: stage {self.stage.info}: an item took longer than its deadline"))
        elif status == E_STAGE and not self.stage.condemned:
            raise StageError(f"spdl: pipeline: stage {self.stage.info}: the engine does not know the work")
        return False

    def fail(self, error: BaseException) -> None:
        """Report the work as failed. The engine offers it again, or drops it; beyond the budget it is the end."""
        stage, core = self.stage, self.core
        if core.stopping or stage.condemned:  # what the end itself brought about
            if self.out:
                self.end()
            return
        if not self.out:  # given already, or not the work's fault
            core.fail(stage.info, error)
            return
        if self.raw.kind == WORK_FLUSH:  # there is no item to try again, or to drop
            self._count(error)
            self.end()
            return
        if self.raw.attempt > stage.budget.retries or not isinstance(error, Exception):
            self._count(error)  # beyond the budget, it has taken the work away: the give below finds none
        else:
            log.warning("stage %s: attempt %d failed, tried again: %s: %s", stage.info, self.raw.attempt,
                        type(error).__name__, error)
        self.out = False
        give = Give()
        give.error = traceback_text(error)
        self.host.give(self.number, self.raw, give)
        core.reclaim()

    def _count(self, error: BaseException) -> None:
        """Count a failure; if it is one too many, end what leads here and let the rest run out."""
        stage, core = self.stage, self.core
        log_failure(f"stage {stage.info}", error)
        budget = stage.budget
        with core.lock:
            beyond = budget.exceeded() or not isinstance(error, Exception)
        if not beyond:
            return
        if stage.tells_itself or not isinstance(error, Exception):
            core.condemn(stage, error)
            return
        told = RuntimeError(f"The pipeline stage ({stage.info}) failed {budget.failures} times, which exceeds the "
                            f"threshold ({budget.limit}).")
        told.__cause__ = error
        core.condemn(stage, told)

    def take_away(self) -> None:
        """End the work in hand for its thread, which may be busy with it for long; called by another thread."""
        raw = Work.from_buffer_copy(self.raw)
        if self.out:
            self.host.give(self.number, raw, self._nothing)


class StageError(SpdlError):
    """The engine and this package disagree; a bug."""

    status = E_STAGE
