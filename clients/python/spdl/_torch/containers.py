"""PyAV's container in a data set of one's own: code goes through its frames, which have no pictures here, and names some, which the engine decodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, Optional

from . import seen

OPENS = "_spdl_contains"  # what the rest of a function calls what opens a container
FRAME, ARRAY, IMAGE = "frame", "array", "image"  # what code has of a frame
_TOLD = ("duration", "start_time", "bit_rate", "size", "metadata", "format", "name", "streams")
_EMPTY = 16  # bytes that a packet of MPEG-4 has at most which has no picture


class Still:
    """What code has in the place of a frame, or of the array or the picture that is made of one."""

    def __init__(self, of: Any, number: int, kind: str = FRAME) -> None:
        self.of, self.number, self.kind = of, number, kind

    def to_ndarray(self, *args: Any, format: Any = None, **named: Any) -> Still:
        if args or named or format != "rgb24" or self.kind != FRAME:
            raise seen.Misplaced(f'frame.to_ndarray of {format!r} and {[*args, *named]}, want format="rgb24" alone ({seen.PAGE})')
        return Still(self.of, self.number, ARRAY)

    def to_image(self) -> Still:
        return Still(self.of, self.number, IMAGE)

    def to_rgb(self) -> Still:
        return self

    @property
    def pts(self) -> int:
        if (pts := self.of._times()[self.number]) < 0 and -1 in self.of._times():
            raise seen.Misplaced(f"a frame's pts is asked for, of a file whose packets do not all have one ({seen.PAGE})")
        return pts

    @property
    def time_base(self) -> Any:
        return self.of._video().time_base

    @property
    def time(self) -> float:
        return float(self.pts * self.time_base)

    @property
    def width(self) -> int:
        return self.of.facts.sides[1]

    @property
    def height(self) -> int:
        return self.of.facts.sides[0]

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise seen.Misplaced(f"a frame's {name} is asked for, want to_ndarray(format=\"rgb24\"), to_image(), pts, time, width and height ({seen.PAGE})")


class Container(seen.Gone):
    """What code has in the place of a container."""

    def __init__(self, opens: Any, path: Any) -> None:
        self._opens, self._opened, self._goes_on = opens, opens(path), False
        self._pts: Optional[list[int]] = None
        self._sizes: list[int] = []
        self.path = path
        self.facts = seen.facts("PyAV", path, self._seen)

    def _video(self) -> Any:
        return self._opened.streams.video[0]

    def _seen(self, said: Mapping[str, Any]) -> seen.Facts:
        why = seen.wrong(said, "PyAV", (*seen.FILES, "avi"), (*seen.CODECS, "av1", "mpeg4"))
        if not why and not said["progressive"]:
            why = f"it may have frames of fields, whose colours PyAV makes otherwise, {seen.OTHERS}"
        if not why and len(self._times()) != said["frames"]:
            why = f"it has {said['frames']} frames, and packets of {len(self._times())}, {seen.OTHERS}"
        if not why and said["codec"] == "mpeg4" and min(self._sizes) <= _EMPTY:
            why = f"it has packets without pictures, of which PyAV makes no frames, {seen.OTHERS}"
        return seen.Facts(said.get("frames", 0), 0, (said.get("height", 0), said.get("width", 0)), why)

    def _times(self) -> list[int]:
        """When frames are shown, in their order: of packets, of which none is decoded."""
        if self._pts is None:
            with self._opens(self.path) as container:
                packets = [one for one in container.demux(container.streams.video[0]) if one.size and not one.is_discard]
            self._sizes = [one.size for one in packets]
            self._pts = sorted([-1 if one.pts is None else one.pts for one in packets])
        return self._pts

    def decode(self, *streams: Any, **kinds: Any) -> Iterator[Still]:
        """The frames of its first video, from the first one on."""
        its = not streams and kinds == {"video": 0} or len(streams) == 1 and not kinds and streams[0] in (self._video(), self._video().index)
        if not its:
            raise seen.Misplaced(f"container.decode of {[*streams, *kinds.items()]!r:.80}, want video=0 ({seen.PAGE})")
        if self._goes_on:
            raise seen.Misplaced(f"container.decode goes on behind what was decoded before, want container.seek(0) ahead of it ({seen.PAGE})")
        context = self._video().codec_context
        if str(context.skip_frame) not in ("DEFAULT", "SkipType.DEFAULT") or context.options:
            raise seen.Misplaced(f"codec_context.skip_frame or options are set, by which a decoder gives other frames, want frames by their numbers ({seen.PAGE})")
        self._check()
        self._goes_on = True
        return iter([Still(self, number) for number in range(self.facts.frames)])

    def seek(self, offset: int, **_: Any) -> None:
        if offset != 0:
            raise seen.Misplaced(f"container.seek({offset}), want container.seek(0), and frames by their numbers ({seen.PAGE})")
        self._goes_on = False

    def close(self) -> None:
        self._opened.close()

    def __enter__(self) -> Container:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        if name in _TOLD:
            return getattr(self._opened, name)
        if name.startswith("__"):
            raise AttributeError(name)
        raise seen.Misplaced(f"a container's {name} is asked for, want decode(video=0), seek(0), streams and what these say ({seen.PAGE})")


def is_open(function: Any) -> bool:
    """Whether it is av.open."""
    return getattr(function, "__name__", "") == "open" and str(getattr(function, "__module__", "")).partition(".")[0] == "av"
