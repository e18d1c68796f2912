"""Exceptions: one class per status of spdl.h that is worth catching, all of them SpdlError.

Some are builtin errors too, so that code which knows nothing of spdl catches what it expects: Timeout is a
TimeoutError, SpecError and ArgumentError are ValueErrors, LibraryNotFound is an ImportError.
"""

from __future__ import annotations


class SpdlError(Exception):
    """What every error of spdl is. `status` is the spdl_status of spdl.h, None if it did not come from there."""

    status: int | None = None


class LibraryNotFound(SpdlError, ImportError):
    """libspdl could not be loaded; the text says where it was looked for."""


class Timeout(SpdlError, TimeoutError):
    """Nothing was ready within the time given."""

    status = 1


class ArgumentError(SpdlError, ValueError):
    """An argument is out of range or of the wrong kind."""

    status = -1


class OutOfMemory(SpdlError, MemoryError):
    """Memory could not be allocated or mapped."""

    status = -2


class SystemCallError(SpdlError):
    """A system call failed; the text names it and its errno."""

    status = -3


class Unsupported(SpdlError):
    """Not in this build, on this kernel or for this type; the text says what to do."""

    status = -4


class Forked(SpdlError):
    """The loader was inherited through fork; open or attach again in this process."""

    status = -5


class Interrupted(SpdlError):
    """A wait in C was ended early. Python raises what the signal handler raised in its place."""

    status = -6


class NotFound(SpdlError, LookupError):
    """No engine under this name, or no such ring, group or lane."""

    status = -20


class Denied(SpdlError):
    """The engine does not admit this user."""

    status = -21


class Busy(SpdlError):
    """No consumer, lane or slot is left to reserve, or the engine lives and has not answered in time; the text has the numbers."""

    status = -22


class VersionMismatch(SpdlError):
    """The engine speaks another major version of the layout or the protocol."""

    status = -23


class FormatError(SpdlError):
    """The shared memory is truncated, half-built, damaged, or not ours."""

    status = -24


class EngineLost(SpdlError):
    """The engine died. Batches that are leased stay readable."""

    status = -40


class EngineFailed(SpdlError):
    """The engine gave up; the text is its reason."""

    status = -41


class EngineStopped(SpdlError):
    """The engine was stopped in good order."""

    status = -42


class EngineStartError(SpdlError):
    """The engine could not be started; the text is its reason."""

    status = -43


class GroupClosed(SpdlError):
    """This loader's group was ended: too slow, evicted, or damaged by one of its members."""

    status = -44


class Stale(SpdlError):
    """The batch was given back already, by this program or, after an eviction, by the engine."""

    status = -60


class LeasesExhausted(SpdlError):
    """This thread holds every batch that the loader may hold at once; give one back first."""

    status = -61


class Undone(SpdlError):
    """The epoch waits only for batches that this thread holds; call done() or release() on them."""

    status = -62


class Detached(SpdlError):
    """The loader was closed."""

    status = -63


class StateError(SpdlError):
    """The saved state belongs to another data set, order or version; the text says what differs."""

    status = -80


class SpecError(SpdlError, ValueError):
    """The description is wrong; the text names file, line and key."""

    status = -81


class PipelineFailed(SpdlError):
    """A pipeline of the caller's own stages failed; the text names stage and cause. spdl.pipeline raises PipelineFailure."""

    status = -100


class StageMisuse(SpdlError):
    """A stage was given a work that is not its own, that it had before, or in a way it cannot take."""

    status = -101


class SampleError(SpdlError, ValueError):
    """A sample cannot be read or decoded; the text says why."""

    status = -120


class DeviceError(SpdlError):
    """A call of the GPU's driver failed; the text names it and says what the driver said."""

    status = -140


class PoolLost(SpdlError):
    """The batch's device memory is gone with its uploader or engine, or there never was any. Its host fields are good."""

    status = -141


_BY_STATUS = {c.status: c for c in SpdlError.__subclasses__() if c.status is not None}
for _error in (SpdlError, *SpdlError.__subclasses__()):
    _error.__module__ = "spdl"  # where programs have them from, and what a traceback says


def error_for(status: int, text: str) -> SpdlError:
    """The exception for a status below zero. A status of a newer library becomes a plain SpdlError."""
    error = _BY_STATUS.get(status, SpdlError)(text or f"spdl: status {status} without a text")
    error.status = status
    return error
