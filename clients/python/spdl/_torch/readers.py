"""decord's VideoReader in a data set of one's own: code asks it how long a video is and names frames of it, which the engine decodes; and of which files these are decord's frames."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from . import seen

OPENS = "_spdl_opens"  # what the rest of a function calls what opens a video
_ELSEWHERE = f"where the method that opens it does not say so, want frames by reader.get_batch(indices) in the function that opens it ({seen.PAGE})"


class Video:
    """What code has in the place of a VideoReader. It is decord that counts the frames; nothing is decoded."""

    def __init__(self, opens: Any, path: Any, *args: Any, **named: Any) -> None:
        self._opens, self._given, self._reader = opens, (args, named), None
        self.path = path
        self.facts = seen.facts("decord", path, self._seen)

    def _seen(self, said: Mapping[str, Any]) -> seen.Facts:
        reader = self._opened()
        return seen.Facts(len(reader), reader.get_avg_fps(), (said.get("height", 0), said.get("width", 0)), _wrong(said, len(reader)))

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

    def _spdl_numbers(self, indices: Any) -> seen.Told:
        """Frames as get_batch takes them, and a slice. Raises IndexError as that does."""
        import numpy  # which whoever has decord has

        if isinstance(indices, slice):
            indices = range(*indices.indices(len(self)))
        numbers = numpy.array(indices, dtype=numpy.int64)
        numbers[numbers < 0] += len(self)
        if numbers.ndim != 1 or not (numbers >= 0).all() or not (numbers < len(self)).all():
            raise IndexError(f"{self.path}: frames {numbers.tolist()!r:.200}, want numbers below {len(self)}")
        return seen.Told(numbers.tolist(), self.facts)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise seen.Misplaced(f"a VideoReader's {name} is asked for {_ELSEWHERE}")

    def __getitem__(self, _: Any) -> NoReturn:
        raise seen.Misplaced(f"a VideoReader's frames are taken {_ELSEWHERE}")


def _wrong(said: Mapping[str, Any], frames: int) -> str:
    """Why the engine's frames of a file are not decord's, in what they are or as it finds them; "": they are."""
    if why := seen.wrong(said, "decord", seen.FILES, seen.CODECS):
        return why
    if not said["closed"]:
        return f"it has open groups of pictures, or is cut off at its beginning, where decord finds other frames behind a seek than without one, {seen.OTHERS}"
    return "" if said["frames"] == frames else f"it has {said['frames']} frames, and decord counts {frames}, {seen.OTHERS}"


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
