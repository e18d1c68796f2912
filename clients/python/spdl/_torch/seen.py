"""What a video's file is, for code that names frames of it by a reader of its own: how many there are, and whether the engine's are that reader's."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Optional

from .annotated import Unknown

PAGE = "docs/own-datasets.md#decord-pyav-and-opencv"
NUMBERS = "_spdl_numbers"  # the method that names frames
OTHERS = f"want torchcodec's VideoDecoder, which has the frames of all files, or the file written anew as H.264 in MP4 ({PAGE})"
FILES, CODECS = ("mov,mp4", "matroska,webm"), ("h264", "hevc", "vp8", "vp9")  # of which all readers here have the engine's frames
_PIXELS = ("yuv420p", "yuvj420p", "yuv422p", "yuvj422p", "yuv444p", "yuvj444p")
_MOST = 1 << 20  # files of which it is kept what they are


class Misplaced(TypeError):
    """Of what code does with a reader where it is not read."""


class Facts(NamedTuple):
    """What a file is."""

    frames: int  # as the reader counts them
    rate: float  # and says how many a second has
    sides: tuple[int, int]  # height and width
    wrong: str  # why the engine's frames are not the reader's; "": they are


class Told(NamedTuple):
    """The frames that code names of a sample's video."""

    numbers: list[int]
    facts: Facts

    def shape(self, axes: str, array: bool) -> Any:
        """That of the frames, as an array or as a tensor."""
        sizes = {"T": len(self.numbers), "H": self.facts.sides[0], "W": self.facts.sides[1], "C": 3}
        made = tuple([sizes[axis] for axis in axes])
        return made if array else sys.modules["torch"].Size(made)


class Gone:
    """What code has in the place of a reader that it goes through, frame by frame."""

    path: Any
    facts: Facts

    def _check(self) -> None:
        """Refuse a file whose frames are others here."""
        if self.facts.wrong:
            raise Misplaced(f"{self.path!s:.200}: {self.facts.wrong}")

    def _spdl_numbers(self, stills: Any, kind: str) -> Told:
        """Frames in a list, each in the place of one of its own. Raises Misplaced of a list of others."""
        many = list(stills)
        if not all(getattr(one, "of", None) is self and one.kind == kind for one in many):
            raise Misplaced(f"a list of frames has others than {kind}s of one video, {[getattr(one, 'kind', type(one).__name__) for one in many]!r:.80}, want these alone ({PAGE})")
        return Told([one.number for one in many], self.facts)


_known: dict[tuple[str, str, int, int], Facts] = {}  # by reader, path, size and time


def facts(reader: str, path: Any, ask: Callable[[Mapping[str, Any]], Facts]) -> Facts:
    """Of a file as it is now.

    ask    what makes them of what probe_frames says, or of {"error": why that says nothing}
    """
    try:
        stat = os.stat(path)
        stamp: Optional[tuple[str, str, int, int]] = (reader, os.fspath(path), stat.st_size, stat.st_mtime_ns)
    except (OSError, TypeError, ValueError):
        stamp = None
    found = None if stamp is None else _known.get(stamp)
    if found is None:
        found = ask(_said(path))
        if stamp is not None and len(_known) < _MOST:
            _known[stamp] = found
    return found


def _said(path: Any) -> dict[str, Any]:
    if not isinstance(path, (str, os.PathLike)):
        return {"error": f"it is a {type(path).__name__}, want a path"}
    from .._errors import SpdlError
    from ..io import probe_frames

    try:
        return probe_frames(os.fspath(path))
    except (SpdlError, OSError) as error:
        return {"error": f"{error}"}


def wrong(said: Mapping[str, Any], of: str, containers: tuple[str, ...], codecs: tuple[str, ...]) -> str:
    """Why the engine's frames are not a reader's, as far as all readers have it in common; "": they may be."""
    if "error" in said:
        return str(said["error"])
    if not said["container"].startswith(containers):
        return f"it is of {said['container']}, of which {of} has other frames, in parts or in all, {OTHERS}"
    if said["codec"] not in codecs:
        return f"it is of {said['codec']}, want {', '.join(codecs)}; {OTHERS}"
    if said["pixels"] not in _PIXELS:
        return f"it has pixels of {said['pixels']}, whose colours {of} makes otherwise, {OTHERS}"
    if said["width"] % 2 or said["height"] % 2:
        return f"it has frames of {said['width']}x{said['height']}, and of odd sides {of} makes other colours, {OTHERS}"
    return "" if said["orientation"] == 1 else f"its frames are to be turned (as EXIF's {said['orientation']}), which {of} does not do, or not for all, {OTHERS}"


def checked(told: Told, of: str, path: Any, frames: int, sides: Optional[tuple[int, int]]) -> list[int]:
    """The numbers of frames of a sample, as many as the first sample's, of a file whose frames are the reader's. Raises Unknown."""
    if told.facts.wrong:
        raise Unknown(f"{of}: {path!s:.200}: {told.facts.wrong}")
    if len(told.numbers) != frames or not frames:
        raise Unknown(f"{of} takes {len(told.numbers)} frames, want {f'{frames}, as the first sample does' if frames else 'one or more'}: rows of a batch are of one size")
    if sides is not None and told.facts.sides != sides:
        raise Unknown(f"{of} has frames of {'x'.join(map(str, told.facts.sides[::-1]))}, want {'x'.join(map(str, sides[::-1]))}, as the first sample has them, or a transform that makes all one size: Resize((H, W))")
    return list(told.numbers)
