"""decord's VideoReader in a data set of one's own: code asks it how long a video is and names frames of it, which the engine decodes; and of which files these are decord's frames."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn, Optional

from .annotated import Unknown

OPENS, NUMBERS = "_spdl_opens", "_spdl_numbers"  # what the rest of a function calls what opens a video, and the method that names frames of it
PAGE = "docs/own-datasets.md#decord"
_CONTAINERS = ("mov,mp4", "matroska,webm")
_CODECS = ("h264", "hevc", "vp8", "vp9")
_PIXELS = ("yuv420p", "yuvj420p", "yuv422p", "yuvj422p", "yuv444p", "yuvj444p")
_OTHERS = f"want torchcodec's VideoDecoder, which has the frames of all files, or the file written anew as H.264 in MP4 ({PAGE})"
_MOST = 1 << 20  # files of which it is kept what they are


class Facts(NamedTuple):
    """What a file is."""

    frames: int  # as decord counts them
    rate: float  # and says how many a second has
    sides: tuple[int, int]  # height and width
    wrong: str  # why the engine's frames are not decord's; "": they are


_known: dict[tuple[str, int, int], Facts] = {}  # by path, size and time


class Misplaced(TypeError):
    """Of frames that code takes where it is not read."""


class Video:
    """What code has in the place of a VideoReader. It is decord that counts the frames; nothing is decoded."""

    def __init__(self, opens: Any, path: Any, *args: Any, **named: Any) -> None:
        self._opens, self._given, self._reader = opens, (args, named), None
        self.path = path
        stamp = _stamp(path)
        facts = None if stamp is None else _known.get(stamp)
        if facts is None:
            facts = _facts(self._opened(), path)
            if stamp is not None and len(_known) < _MOST:
                _known[stamp] = facts
        self.facts = facts

    def _opened(self) -> Any:
        if self._reader is None:
            self._reader = self._opens(self.path, *self._given[0], **self._given[1])
        return self._reader

    def __len__(self) -> int:
        return self.facts.frames

    def get_avg_fps(self) -> float:
        return self.facts.rate

    def get_key_indices(self) -> Any:
        return self._opened().get_key_indices()

    def get_frame_timestamp(self, idx: Any) -> Any:
        return self._opened().get_frame_timestamp(idx)

    def seek(self, pos: int) -> None:
        assert 0 <= pos < len(self)

    seek_accurate = seek

    def _spdl_numbers(self, indices: Any) -> Told:
        """Frames as get_batch takes them, and a slice. Raises IndexError as that does."""
        import numpy  # which whoever has decord has

        if isinstance(indices, slice):
            indices = range(*indices.indices(len(self)))
        numbers = numpy.array(indices, dtype=numpy.int64)
        numbers[numbers < 0] += len(self)
        if numbers.ndim != 1 or not (numbers >= 0).all() or not (numbers < len(self)).all():
            raise IndexError(f"{self.path}: frames {numbers.tolist()!r:.200}, want numbers below {len(self)}")
        return Told(numbers.tolist(), self.facts)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Misplaced(f"a VideoReader's {name} is asked for where the method that opens it does not say so, want frames by reader.get_batch(indices) in the function that opens it ({PAGE})")

    def __getitem__(self, _: Any) -> NoReturn:
        raise Misplaced(f"a VideoReader's frames are taken where the method that opens it does not say so, want reader.get_batch(indices) in the function that opens it ({PAGE})")


class Told(NamedTuple):
    """The frames that code names of a sample's video."""

    numbers: list[int]
    facts: Facts

    def shape(self, axes: str, array: bool) -> Any:
        """That of the frames, as an array or as a tensor."""
        sizes = {"T": len(self.numbers), "H": self.facts.sides[0], "W": self.facts.sides[1], "C": 3}
        made = tuple([sizes[axis] for axis in axes])
        return made if array else sys.modules["torch"].Size(made)


def _stamp(path: Any) -> Optional[tuple[str, int, int]]:
    try:
        stat = os.stat(path)
        return os.fspath(path), stat.st_size, stat.st_mtime_ns
    except (OSError, TypeError, ValueError):
        return None


def _facts(reader: Any, path: Any) -> Facts:
    frames, rate = len(reader), reader.get_avg_fps()
    if not isinstance(path, (str, os.PathLike)):
        return Facts(frames, rate, (0, 0), f"it is a {type(path).__name__}, want a path")
    from .._errors import SpdlError
    from ..io import probe_frames

    try:
        said = probe_frames(os.fspath(path))
    except (SpdlError, OSError) as error:
        return Facts(frames, rate, (0, 0), f"{error}")
    return Facts(frames, rate, (said["height"], said["width"]), _wrong(said, frames))


def _wrong(said: dict[str, Any], frames: int) -> str:
    """Why the engine's frames of a file are not decord's, in what they are or as it finds them; "": they are."""
    container, codec, pixels = said["container"], said["codec"], said["pixels"]
    if not container.startswith(_CONTAINERS):
        return f"it is of {container}, where decord finds other frames behind a seek than without one, {_OTHERS}"
    if codec not in _CODECS:
        return f"it is of {codec}, want {', '.join(_CODECS)}; {_OTHERS}"
    if pixels not in _PIXELS:
        return f"it has pixels of {pixels}, whose colours decord makes otherwise, {_OTHERS}"
    if said["width"] % 2 or said["height"] % 2:
        return f"it has frames of {said['width']}x{said['height']}, and of odd sides decord makes other colours, {_OTHERS}"
    if said["orientation"] != 1:
        return f"its frames are to be turned (as EXIF's {said['orientation']}), which decord does not do for all, {_OTHERS}"
    if not said["closed"]:
        return f"it has open groups of pictures, or is cut off at its beginning, where decord finds other frames behind a seek than without one, {_OTHERS}"
    return "" if said["frames"] == frames else f"it has {said['frames']} frames, and decord counts {frames}, {_OTHERS}"


def checked(told: Any, of: str, path: Any, frames: int, sides: Optional[tuple[int, int]]) -> list[int]:
    """The numbers of frames of a sample, as many as the first sample's, of a file whose frames are decord's. Raises Unknown."""
    if told.facts.wrong:
        raise Unknown(f"{of}: {path!s:.200}: {told.facts.wrong}")
    if len(told.numbers) != frames or not frames:
        raise Unknown(f"{of} takes {len(told.numbers)} frames, want {f'{frames}, as the first sample does' if frames else 'one or more'}: rows of a batch are of one size")
    if sides is not None and told.facts.sides != sides:
        raise Unknown(f"{of} has frames of {'x'.join(map(str, told.facts.sides[::-1]))}, want {'x'.join(map(str, sides[::-1]))}, as the first sample has them, or a transform that makes all one size: Resize((H, W))")
    return list(told.numbers)


def refused(node: ast.Call, known: Callable[[ast.expr], Any]) -> str:
    """What is wrong with the call of a VideoReader; "": nothing."""
    given = {**dict(zip(("uri", "ctx", "width", "height", "num_threads", "fault_tol"), node.args)), **{str(one.arg): one.value for one in node.keywords}}
    if "uri" not in given or set(given) - {"uri", "ctx", "width", "height", "num_threads", "fault_tol"}:
        return "want VideoReader(path, ctx=cpu(0), num_threads=1)"
    context = given.get("ctx")
    if context is not None and getattr(known(context.func if isinstance(context, ast.Call) else context), "__name__", "") != "cpu" and getattr(known(context), "device_type", 0) != 1:
        return "want ctx=cpu(0): frames are decoded on the CPU"
    if any(name in given and ast.unparse(given[name]) != "-1" for name in ("width", "height")):
        return "want it without width and height, by which decord scales with numbers of its own, and a transform behind it: v2.Resize((H, W))"
    return "want it without fault_tol: a frame that is damaged is an error" if "fault_tol" in given else ""


def is_reader(function: Any) -> bool:
    return getattr(function, "__name__", "") == "VideoReader" and str(getattr(function, "__module__", "")).partition(".")[0] == "decord"


def is_of_torch() -> bool:
    """Whether decord hands out torch's tensors, as its bridge is set."""
    bridge: Any = sys.modules["decord.bridge"]  # of whoever has one of its readers
    return getattr(bridge._CURRENT_BRIDGE, "type", bridge._GLOBAL_BRIDGE_TYPE) == "torch"
