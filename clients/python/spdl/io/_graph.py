"""FFmpeg's filters with several inputs and outputs, over arrays: FilterGraph."""

from __future__ import annotations

import json
from ctypes import POINTER, c_char_p, c_double, c_int, c_size_t, c_void_p
from typing import Any, Mapping, Optional, Sequence

from .. import _dlpack
from .._errors import ArgumentError
from .._given import whole
from ._load import _NOWHERE, Frames, Handle, Loaded, _check, _loaded, bound, described, frames_of
from ._memory import Memory, memory_of, pictures_in

FUNCTIONS = {
    # spdl_status spdl_graph_open(const char *description, spdl_graph **out);
    "spdl_graph_open": (c_int, c_char_p, POINTER(c_void_p)),
    # const char *spdl_graph_info(const spdl_graph *graph);
    "spdl_graph_info": (c_char_p, c_void_p),
    # spdl_status spdl_graph_add(spdl_graph *graph, const char *input, const void *data, size_t n_bytes, const double *seconds, size_t n_seconds);
    "spdl_graph_add": (c_int, c_void_p, c_char_p, c_void_p, c_size_t, POINTER(c_double), c_size_t),
    # spdl_status spdl_graph_flush(spdl_graph *graph);
    "spdl_graph_flush": (c_int, c_void_p),
    # spdl_status spdl_graph_next(spdl_graph *graph, const char *output, spdl_loaded **out);
    "spdl_graph_next": (c_int, c_void_p, c_char_p, POINTER(c_void_p)),
    # void spdl_graph_close(spdl_graph *graph);
    "spdl_graph_close": (None, c_void_p),
}

_api = bound(FUNCTIONS)
_DTYPES = {"u8": "uint8", "u16": "uint16", "i16": "int16", "i32": "int32", "i64": "int64", "f32": "float32", "f64": "float64"}


class FilterGraph(Handle):
    """FFmpeg's filters between arrays, with as many inputs and outputs as their text has. One thread at a time.

        text = f"{get_buffer_desc(codec, label='a')} [a]; {get_buffer_desc(codec, label='b')} [b]; [a][b] hstack, buffersink"
        graph = spdl.io.FilterGraph(text)
        graph.add_frames(left, key="buffer@a")
        graph.add_frames(right, key="buffer@b")
        both = graph.get_frames()                     # Frames [n, H, 2 W, 3], or None where nothing is ready

    Inputs are the nodes buffer and abuffer, outputs buffersink and abuffersink; their names are the keys, and the only one needs none.
    Arrays are as the node's format says: [n, H, W, C] of uint8 for rgb24, rgba and gray, [n, 3, H, W] for yuv444p, [n, 1, rows, W] for yuv420p
    and its like, float32 [channels, n] for fltp, int16 [n, channels] for s16 ... `inputs` and `outputs` tell.

    threads    of the filters
    max_bytes  that may wait inside, because an input is ahead of another, a filter keeps frames, or nobody takes them: 1 GiB
    timeout    of each call, in seconds: 60
    """

    def __init__(self, filter_desc: str, *, threads: int = 1, max_bytes: Optional[int] = None, timeout: Optional[float] = None) -> None:
        description: dict[str, Any] = {"graph": str(filter_desc), "threads": whole("io: FilterGraph: threads", threads)}
        if max_bytes is not None:
            description["max_bytes"] = whole("io: FilterGraph: max_bytes", max_bytes)
        if timeout is not None:
            description["timeout"] = f"{float(timeout):.9f}s"
        handle = c_void_p()
        _check(_api().graph_open(described(description), handle))
        self._handle, self._close = handle, _api().graph_close
        self._info: dict[str, Any] = json.loads(_api().graph_info(handle))

    def __del__(self) -> None:
        if hasattr(self, "_close"):
            self._close(self._handle)

    def __repr__(self) -> str:
        names = (", ".join(end["name"] for end in ends) for ends in (self.inputs, self.outputs))
        return f"<spdl.io.FilterGraph {' -> '.join(names)}>"

    @property
    def inputs(self) -> list[dict[str, Any]]:
        """What each input takes: name, kind, format, dtype, time_base, and shape of a picture, or sample_rate, num_channels and planar."""
        return self._info["inputs"]

    @property
    def outputs(self) -> list[dict[str, Any]]:
        """What each output gives, as inputs."""
        return self._info["outputs"]

    def dump(self) -> str:
        """The graph as FFmpeg draws it."""
        return self._info["dump"]

    def add_frames(self, frames: Any, *, key: Optional[str] = None, pts: Optional[Sequence[float]] = None) -> None:
        """Let pictures, or samples, in: an array of anybody's, a Decoder's frames, or what load gave. They are copied.

        pts  when each picture, or the first sample, is shown, in seconds; None: as the frames say that, or else behind those before, at the
             input's frame rate; a time before the last one raises ValueError
        """
        end = self._end(self.inputs, "input", key)
        if isinstance(frames, Loaded):
            frames = frames_of(frames, end["kind"])
        if pts is None:
            pts = getattr(frames, "pts", None)
        memory = memory_of(frames, "add_frames")
        self._fits(memory, end)
        seconds = list(pts or ())
        times = (c_double * len(seconds))(*seconds) if seconds else None
        _check(_api().graph_add(self._handle, end["name"].encode(), memory.address or None, memory.nbytes, times, len(seconds)))

    def flush(self) -> None:
        """No more frames come, to any input: what filters held back comes out."""
        _check(_api().graph_flush(self._handle))

    def get_frames(self, *, key: Optional[str] = None) -> Optional[Frames]:
        """All that is ready at an output, which is taken with it; None: nothing is and, after flush, nothing more will be."""
        _dlpack.sweep()
        end = self._end(self.outputs, "output", key)
        made = c_void_p()
        if _check(_api().graph_next(self._handle, end["name"].encode(), made)) != 0:
            return None
        return frames_of(_loaded(made, _NOWHERE, None), end["kind"])

    @staticmethod
    def _end(ends: list[dict[str, Any]], side: str, key: Optional[str]) -> Mapping[str, Any]:
        for end in ends:
            if end["name"] == key or (key is None and len(ends) == 1):
                return end
        raise ArgumentError(f"spdl: io: FilterGraph: key={key!r}, want the {side} {' or '.join(repr(end['name']) for end in ends)}")

    @staticmethod
    def _fits(memory: Memory, end: Mapping[str, Any]) -> None:
        dtype, shape = _DTYPES[end["dtype"]], memory.shape
        if end["kind"] == "video":
            one = tuple(end["shape"])
            fits = pictures_in(shape, one) is not None
            want = f"[n, {', '.join(map(str, one))}]"
        else:
            channels = end["num_channels"]
            fits = len(shape) == 1 and channels == 1 or len(shape) == 2 and shape[0 if end.get("planar") else 1] == channels
            want = f"[{channels}, n]" if end.get("planar") else f"[n, {channels}]"
        if not fits or memory.dtype != dtype:
            raise ArgumentError(f"spdl: io: FilterGraph: {end['name']}: an array {list(shape)} of {memory.dtype}, want {want} of {dtype} for {end['format']}")
