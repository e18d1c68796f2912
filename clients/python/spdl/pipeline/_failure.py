"""PipelineFailure, and how failures of items are logged."""

from __future__ import annotations

import logging
import os
import sys
import traceback
from typing import Optional, Sequence

from .._given import shown
from .._lock import Lock

log = logging.getLogger("spdl.pipeline")

if sys.version_info >= (3, 11):
    _Base = ExceptionGroup
else:
    _Base = RuntimeError


class PipelineFailure(_Base):
    """The pipeline failed. `exceptions` has the cause; from Python 3.11 on this is an ExceptionGroup.

    On older interpreters it is a RuntimeError, whose __cause__ is the first of them.
    """

    def __new__(cls, errs: list[tuple[str, Exception]]) -> PipelineFailure:
        if sys.version_info >= (3, 11):
            return super().__new__(cls, _text(errs), [error for _, error in errs])
        return super().__new__(cls, _text(errs))

    def __init__(self, errs: list[tuple[str, Exception]]) -> None:
        super().__init__(errs)  # type: ignore[call-arg,arg-type,unused-ignore]  # a group's, too, takes what the class is called with
        self.errs = errs
        if sys.version_info < (3, 11):
            self.exceptions = tuple(error for _, error in errs)
            self.__cause__ = errs[0][1] if errs else None

    def __str__(self) -> str:
        return _text(self.errs)

    def derive(self, excs: Sequence[Exception]) -> PipelineFailure:  # type: ignore[override,unused-ignore]  # of its own errors, which are Exceptions
        """The group of some of the errors, for split() and except*."""
        stages = {id(error): stage for stage, error in self.errs}
        return PipelineFailure([(stages.get(id(error), "?"), error) for error in excs])


def failure(errs: list[tuple[str, Exception]]) -> PipelineFailure:
    """The PipelineFailure of these (stage, error) pairs, each noted with its stage where notes exist."""
    for stage, error in errs:
        note = f"Pipeline stage: {stage}"
        if hasattr(error, "add_note") and note not in getattr(error, "__notes__", ()):
            error.add_note(note)
    return PipelineFailure(errs)


def _text(errs: list[tuple[str, Exception]]) -> str:
    stages = "; ".join(f"stage {stage}: {type(error).__name__}: {error}" for stage, error in errs)
    return f"spdl: pipeline failed: {stages}"


# ---- the log -----------------------------------------------------------------------------------

_compact: Optional[bool] = None
_seen: dict[tuple, int] = {}
_seen_lock = Lock()

REPEATS, EVERY = 5, 100  # of one kind of failure: so many are logged whole, then every so manieth in one line


def set_compact_log(value: Optional[bool]) -> None:
    """Log failures of items in one line (True) or with their traceback (False); None: what
    $SPDL_PIPELINE_COMPACT_LOG says."""
    global _compact
    _compact = value


def log_failure(what: str, error: BaseException, suppress: bool = True, repeats: int = REPEATS,
                every: int = EVERY) -> None:
    """Log that `what` failed, with its traceback; of many failures from one place only some."""
    if suppress:
        place = (what, type(error), _place(error))
        with _seen_lock:
            if len(_seen) > 1000:
                _seen.clear()
            count = _seen[place] = _seen.get(place, 0) + 1
        if count > repeats:
            if (count - repeats) % every == 0:
                log.warning("%s failed %d times in the same place: %s: %s", what, count, type(error).__name__, error)
            return
    compact = os.environ.get("SPDL_PIPELINE_COMPACT_LOG") == "1" if _compact is None else _compact
    if compact:
        log.error("%s failed: %s: %s (%s)", what, type(error).__name__, error, ":".join(map(str, _place(error))))
    else:
        log.error("%s failed", what, exc_info=(type(error), error, error.__traceback__))


def _place(error: BaseException) -> tuple[str, int]:
    frames = traceback.extract_tb(error.__traceback__)
    return (frames[-1].filename, frames[-1].lineno or 0) if frames else ("", 0)


def traceback_text(error: BaseException) -> bytes:
    """The error with its traceback, for the engine to keep."""
    return shown("".join(traceback.format_exception(type(error), error, error.__traceback__))).encode()
