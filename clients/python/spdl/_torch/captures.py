"""OpenCV's VideoCapture in a data set of one's own: code reads frames one after the other, which have no pictures here, and puts some into lists, which the engine decodes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, NoReturn, Optional

from . import seen
from .containers import Still

OPENS, BGR = "_spdl_captures", "bgr"  # what the rest of a function calls what opens one, and what code has of a frame
_MATRICES = ("", "unknown", "bt470bg", "smpte170m")


class Capture(seen.Gone):
    """What code has in the place of a VideoCapture."""

    def __init__(self, opens: Any, path: Any) -> None:
        self._opened, self._next = opens(path), 0
        self.path = path
        self.facts = seen.facts("OpenCV", path, _seen)

    def isOpened(self) -> bool:
        return bool(self._opened.isOpened())

    def get(self, what: int) -> float:
        cv2 = sys.modules["cv2"]
        if what in (cv2.CAP_PROP_POS_MSEC, cv2.CAP_PROP_POS_AVI_RATIO):
            raise seen.Misplaced(f"VideoCapture.get({what}), want how long it is, its sides and its rate ({seen.PAGE})")
        return float(self._next) if what == cv2.CAP_PROP_POS_FRAMES else float(self._opened.get(what))

    def set(self, what: int, value: float) -> bool:
        if what != sys.modules["cv2"].CAP_PROP_POS_FRAMES or value != 0:
            raise seen.Misplaced(f"VideoCapture.set({what}, {value}), by which OpenCV seeks to near frames, want frames read one after the other from the first one on, or torchcodec's get_frames_at ({seen.PAGE})")
        self._next = 0
        return True

    def read(self) -> tuple[bool, Optional[Still]]:
        if not self.isOpened():
            return False, None
        self._check()
        self._next += 1
        return (True, Still(self, self._next - 1, BGR)) if self._next <= self.facts.frames else (False, None)

    def release(self) -> None:
        self._opened.release()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise seen.Misplaced(f"a VideoCapture's {name} is asked for, want read(), get, isOpened and release ({seen.PAGE})")


def _seen(said: Mapping[str, Any]) -> seen.Facts:
    why = seen.wrong(said, "OpenCV", (*seen.FILES, "avi"), seen.CODECS)
    if not why and (said["matrix"] not in _MATRICES or said["full"]):
        why = f"its colours are of {said['matrix']}{' in full range' if said['full'] else ''}, which OpenCV takes for BT.601's, {seen.OTHERS}"
    return seen.Facts(said.get("frames", 0), 0, (said.get("height", 0), said.get("width", 0)), why)
