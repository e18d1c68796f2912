"""What the FFmpeg in use is and has: get_ffmpeg_versions, get_ffmpeg_filters, set_ffmpeg_log_level, built_with_cuda ..."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from .._errors import ArgumentError, SpdlError
from .._spelling import no_attribute
from ._load import load

__all__ = [
    "built_with_cuda", "built_with_nvcodec", "built_with_nvjpeg", "get_ffmpeg_filters", "get_ffmpeg_log_level", "get_ffmpeg_versions",
    "set_ffmpeg_log_level",
]


def _ffmpeg(log_level: Optional[int] = None) -> dict[str, Any]:
    return load(b"\0", {"ffmpeg": {} if log_level is None else {"log_level": log_level}}).info


def get_ffmpeg_versions() -> dict[str, tuple[int, int, int]]:
    """The libraries of FFmpeg that are loaded: {"libavcodec": (59, 37, 100), ...}."""
    return {name: tuple(version) for name, version in _ffmpeg()["versions"].items()}


def get_ffmpeg_filters() -> list[str]:
    """The filters that filter_desc and FilterGraph take: those of this FFmpeg whose result hangs on their frames alone."""
    return _ffmpeg()["filters"]


def get_ffmpeg_log_level() -> int:
    """Up to which level FFmpeg's messages go to stderr: AV_LOG_QUIET, -8, unless that was set."""
    return _ffmpeg()["log_level"]


def set_ffmpeg_log_level(level: int) -> None:
    """Let FFmpeg's messages up to a level go to stderr, too: 16 errors, 24 warnings, 32 news, -8 none. In any case an exception has what FFmpeg
    said of the failure."""
    if not isinstance(level, int) or isinstance(level, bool):
        raise ArgumentError(f"spdl: io: set_ffmpeg_log_level: {level!r}, want a whole number, such as 16 for errors")
    _ffmpeg(level)


def built_with_cuda() -> bool:
    """Whether spdl.io has functions for CUDA: no. Rings do (docs/gpu.md)."""
    return False


def built_with_nvcodec() -> bool:
    """Whether load_video(hardware="cuda") may find a decoder: this FFmpeg knows of CUDA. Whether there is a device shows when it is used."""
    try:
        return "cuda" in _ffmpeg()["devices"]
    except SpdlError:
        return False


def built_with_nvjpeg() -> bool:
    """Whether plain functions decode pictures by nvJPEG: no; rings do, with `device: {decode: nvjpeg}`."""
    return False


if not TYPE_CHECKING:  # to a type checker it would say that every name is there
    def __getattr__(name: str) -> object:
        if name in ("tracing", "trace_event", "trace_counter", "trace_gc"):
            raise AttributeError(f"spdl.io.utils has no {name}; use spdl trace, which shows what the engine does and when (docs/performance.md)")
        raise no_attribute(__name__, name, __all__)
