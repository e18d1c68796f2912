"""Packets: encoded media as it is, demuxed and not decoded yet."""

from __future__ import annotations

import ctypes
import json
import math
import operator
import os
import pickle
from ctypes import POINTER, c_char_p, c_double, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from typing import TYPE_CHECKING, Any, Collection, Iterator, Mapping, Optional, SupportsIndex, TypeVar, Union, overload

from .._errors import ArgumentError, SampleError
from .._given import c_text, whole
from ..arrays import Array
from ._config import DecodeConfig, DemuxConfig, configured, unfiltered
from ._load import (
    _NOWHERE,
    Frames,
    Handle,
    Loaded,
    Seconds,
    Source,
    _check,
    _loaded,
    _memory_of,
    _or_none,
    _where,
    _window,
    bound,
    described,
    frames_of,
    load,
    path_of,
    streaming_load_video,
)


class Packet(ctypes.Structure):
    """spdl_packet"""

    _fields_ = [
        ("struct_size", c_uint32), ("flags", c_uint32), ("pts", c_double), ("dts", c_double), ("duration", c_double),
        ("data", c_void_p), ("bytes", c_uint64),
    ]


PACKET_KEY = 1

FUNCTIONS = {
    # spdl_status spdl_demuxing_open(const char *description, const void *bytes, size_t n_bytes, const char *path, spdl_demuxing **out);
    "spdl_demuxing_open": (c_int, c_char_p, c_void_p, c_size_t, c_char_p, POINTER(c_void_p)),
    # spdl_status spdl_demuxing_next(spdl_demuxing *demuxing, spdl_packets **out);
    "spdl_demuxing_next": (c_int, c_void_p, POINTER(c_void_p)),
    # spdl_status spdl_demuxing_stream(spdl_demuxing *demuxing, spdl_packets **out);
    "spdl_demuxing_stream": (c_int, c_void_p, POINTER(c_void_p)),
    # void spdl_demuxing_close(spdl_demuxing *demuxing);
    "spdl_demuxing_close": (None, c_void_p),
    # uint64_t spdl_packets_count(const spdl_packets *packets);
    "spdl_packets_count": (c_uint64, c_void_p),
    # spdl_status spdl_packets_get(const spdl_packets *packets, uint64_t i, spdl_packet *out);
    "spdl_packets_get": (c_int, c_void_p, c_uint64, POINTER(Packet)),
    # const char *spdl_packets_info(const spdl_packets *packets);
    "spdl_packets_info": (c_char_p, c_void_p),
    # spdl_status spdl_packets_slice(const spdl_packets *packets, uint64_t first, uint64_t end, spdl_packets **out);
    "spdl_packets_slice": (c_int, c_void_p, c_uint64, c_uint64, POINTER(c_void_p)),
    # spdl_status spdl_packets_filter(const spdl_packets *packets, const char *filters, spdl_packets **out);
    "spdl_packets_filter": (c_int, c_void_p, c_char_p, POINTER(c_void_p)),
    # spdl_status spdl_packets_decode(const spdl_packets *packets, const char *description, spdl_loaded **out);
    "spdl_packets_decode": (c_int, c_void_p, c_char_p, POINTER(c_void_p)),
    # spdl_status spdl_packets_decode_chunks(const spdl_packets *packets, const char *description, spdl_loading **out);
    "spdl_packets_decode_chunks": (c_int, c_void_p, c_char_p, POINTER(c_void_p)),
    # spdl_status spdl_packets_bytes(const spdl_packets *packets, spdl_loaded **out);
    "spdl_packets_bytes": (c_int, c_void_p, POINTER(c_void_p)),
    # spdl_status spdl_packets_of(const void *bytes, size_t n_bytes, spdl_packets **out);
    "spdl_packets_of": (c_int, c_void_p, c_size_t, POINTER(c_void_p)),
    # void spdl_packets_free(spdl_packets *packets);
    "spdl_packets_free": (None, c_void_p),
}

_api = bound(FUNCTIONS)

P = TypeVar("P", bound="Packets")


class Codec:
    """A stream, as its container describes it: name, time_base ..., whatever of it is known. Muxer.add_remux_stream takes it."""

    def __init__(self, stream: Packets) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        info = self._stream.info if name[0] != "_" else {}
        if name not in info:
            raise AttributeError(f"a codec of spdl.io has no {name}; it has {', '.join(sorted(info))}")
        value = info[name]
        return tuple(value) if isinstance(value, list) else value

    def __repr__(self) -> str:
        return f"<spdl.io.Codec {self.name}>"


class Packets:
    """A piece of one stream, undecoded. Read-only: any number of threads may decode it, and any number of times. A pickle of it, and so
    another process with the same FFmpeg, has the packets themselves; a copy shares them.

    len() is the number of packets, `info` what is known of the stream, `timestamp` the window (start, end) that they were demuxed
    for, or None. A slice shares the packets' bytes. The source is not needed any more.
    """

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._free = _api().packets_free
        self.info: dict[str, Any] = json.loads(_api().packets_info(handle))

    def __del__(self) -> None:
        if hasattr(self, "_free"):
            self._free(self._handle)

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        made = c_void_p()
        _check(_api().packets_bytes(self._handle, made))
        data = _loaded(made, _NOWHERE, None)["bytes"].memoryview()
        return _of_bytes, (pickle.PickleBuffer(data) if operator.index(protocol) >= 5 else bytes(data),)

    def __copy__(self: P) -> P:
        return self.clone()

    def __deepcopy__(self: P, _: Any) -> P:
        return self.clone()

    def __len__(self) -> int:
        return int(_api().packets_count(self._handle))

    def __getitem__(self: P, part: slice) -> P:
        if not isinstance(part, slice) or part.step not in (None, 1):
            raise ArgumentError(f"spdl: io: packets[{part!r}]: want a slice without a step; packet(i) is one of them")
        first, end, _ = part.indices(len(self))
        handle = c_void_p()
        _check(_api().packets_slice(self._handle, first, max(first, end), handle))
        return _packets(handle)

    def __repr__(self) -> str:
        window = f", {self.timestamp[0]:g} to {self.timestamp[1]:g} s" if self.timestamp else ""
        return f"<spdl.io.{type(self).__name__} {len(self)} of {self.info['name']}{window}>"

    if not TYPE_CHECKING:  # what there is stands in the classes below
        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or name not in getattr(type(self), "__annotations__", {}):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            value = self.info.get(name)
            return tuple(value) if isinstance(value, list) else value

    @property
    def timestamp(self) -> Optional[tuple[float, float]]:
        """The window (start, end), in seconds, that the packets were demuxed for; None: all of the stream."""
        window = self.info["window"]
        return (window[0], math.inf if window[1] >= 1e12 else window[1]) if window else None

    @property
    def codec(self) -> Codec:
        """The stream that they are of."""
        return Codec(self[:0])

    def packet(self, i: int) -> dict[str, Any]:
        """One packet (-1: the last): pts, dts and duration in seconds (None where the container says none), key, and its bytes as data."""
        n, i = len(self), whole("io: packet: number", i)
        if not -n <= i < n:
            raise IndexError(f"spdl: io: packet {i} of {n}; want {-n} to {n - 1}" if n else f"spdl: io: packet {i} of none")
        raw = self._packet(i % n)
        seconds = {name: None if math.isnan(getattr(raw, name)) else getattr(raw, name) for name in ("pts", "dts", "duration")}
        return {**seconds, "key": bool(raw.flags & PACKET_KEY), "data": ctypes.string_at(raw.data, raw.bytes)}

    def _packet(self, i: int) -> Packet:
        raw = Packet(ctypes.sizeof(Packet))
        _check(_api().packets_get(self._handle, i, raw))
        return raw

    def get_timestamps(self, *, raw: bool = False) -> list[float]:
        """When each packet is shown, or heard, in seconds: in order and within the window, or with raw as the packets come."""
        times = [self._packet(i).pts for i in range(len(self))]
        if raw:
            return times
        start, end = self.timestamp or (-math.inf, math.inf)
        return sorted(t for t in times if start <= t < end)

    def clone(self: P) -> P:
        """The same packets, which are shared."""
        return self[:]

    def _decode(self, description: Mapping[str, Any]) -> Loaded:
        handle = c_void_p()
        _check(_api().packets_decode(self._handle, described(description), handle))
        return _loaded(handle, _NOWHERE, None)

    def _decode_chunks(self, description: bytes) -> c_void_p:
        loading = c_void_p()
        _check(_api().packets_decode_chunks(self._handle, description, loading))
        return loading


# What a container may leave open is None then; as Any, since who knows the files need not ask.


class AudioPackets(Packets):
    """Packets of a sound, and what is known of it."""

    sample_rate: Union[int, Any]
    num_channels: Union[int, Any]
    sample_fmt: Union[str, Any]
    channel_layout: Union[str, Any]
    time_base: tuple[int, int]
    bit_rate: int


class VideoPackets(Packets):
    """Packets of a video, and what is known of it."""

    width: Union[int, Any]
    height: Union[int, Any]
    pix_fmt: Union[str, Any]
    frame_rate: tuple[int, int]
    sample_aspect_ratio: tuple[int, int]
    time_base: tuple[int, int]
    bit_rate: int


class ImagePackets:
    """One encoded picture."""

    timestamp = None

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __len__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return f"<spdl.io.ImagePackets of {len(self.data)} bytes>"

    if not TYPE_CHECKING:  # to a type checker it would say that every name is there
        def __getattr__(self, name: str) -> Any:
            remedy = "; decode_packets(packets) tells: it has shape and dtype" if name in ("width", "height", "pix_fmt", "codec") else ""
            raise AttributeError(f"'ImagePackets' object has no attribute {name!r}{remedy}")

    def clone(self) -> ImagePackets:
        """The same picture, which is shared."""
        return self

    def _decode(self, description: Mapping[str, Any]) -> Loaded:
        return load(self.data, description)


def _packets(handle: c_void_p) -> Any:
    """Packets of the stream's kind."""
    kind = json.loads(_api().packets_info(handle))["kind"]
    return {"audio": AudioPackets, "video": VideoPackets}[kind](handle.value or 0)


def _of_bytes(data: Any) -> Any:
    address, size, _, keep = _memory_of(data)
    handle = c_void_p()
    _check(_api().packets_of(address or None, size, handle))
    del keep  # was needed until here
    return _packets(handle)


def handle_of(packets: Any, call: str) -> int:
    """What stands for packets in C."""
    if not isinstance(packets, Packets):
        raise ArgumentError(f"spdl: io: {call}: got {type(packets).__name__}, want AudioPackets or VideoPackets, as demux_video, demux_audio and Demuxer give them")
    return packets._handle


class _Demuxing(Handle):
    """One stream of a source, opened."""

    def __init__(self, src: Source, kind: str, **section: Any) -> None:
        self._handle = c_void_p()
        where, self._keep = _where(src)
        _check(_api().demuxing_open(described({kind: section}), *where.arguments, self._handle))
        self._close = _api().demuxing_close

    def __del__(self) -> None:
        if hasattr(self, "_close"):
            self._close(self._handle)

    def stream(self) -> Packets:
        """Without packets."""
        handle = c_void_p()
        _check(_api().demuxing_stream(self._handle, handle))
        return _packets(handle)

    def next(self) -> Optional[Packets]:
        """None after the last piece."""
        handle = c_void_p()
        return _packets(handle) if _check(_api().demuxing_next(self._handle, handle)) == 0 else None


def _demux(src: Source, kind: str, window: Optional[Seconds], bsf: Optional[str]) -> Any:
    """Packets of the kind."""
    demuxing = _Demuxing(src, kind, **_window(window), **({"filters": bsf} if bsf else {}))
    return demuxing.next() or demuxing.stream()


def demux_audio(src: Source, timestamp: Optional[Seconds] = None, *, demux_config: Optional[DemuxConfig] = None,
                bsf: Optional[str] = None) -> AudioPackets:
    """The packets of a sound, of (start, end) in seconds or all; bsf are FFmpeg's bitstream filters."""
    configured("demux_audio", "audio", demux_config)
    return _demux(src, "audio", timestamp, bsf)


def demux_video(src: Source, timestamp: Optional[Seconds] = None, *, demux_config: Optional[DemuxConfig] = None,
                bsf: Optional[str] = None) -> VideoPackets:
    """The packets of a video: those of frames on show in (start, end), in seconds, and what these refer to; or all."""
    configured("demux_video", "video", demux_config)
    return _demux(src, "video", timestamp, bsf)


def demux_image(src: Source, *, demux_config: Optional[DemuxConfig] = None) -> ImagePackets:
    """A picture, read and not decoded."""
    configured("demux_image", "image", demux_config)
    if isinstance(src, (str, os.PathLike)):
        if b"://" in path_of(src):
            raise ArgumentError(f"spdl: io: demux_image: got the address {src!r}, want a path or bytes; load_image reads addresses")
        try:
            with open(path_of(src), "rb") as file:
                return ImagePackets(file.read())
        except OSError as error:
            raise SampleError(f"spdl: io: {error}") from error
    address, size, _, keep = _memory_of(src)
    data = ctypes.string_at(address, size) if size else b""
    del keep
    return ImagePackets(data)


class Demuxer:
    """A source's streams, undecoded.

        with spdl.io.Demuxer("clip.mp4") as demuxer:
            for packets in demuxer.streaming_demux(demuxer.video_stream_index, duration=10):
                work(spdl.io.decode_packets(packets))

    Memory that it was given must stay as it is until it is closed. A stream that is not there raises SampleError.
    """

    def __init__(self, src: Source, *, demux_config: Optional[DemuxConfig] = None) -> None:
        configured("Demuxer", "video", demux_config)
        self._src: Any = src
        self._streams: dict[str, Packets] = {}

    def __enter__(self) -> Demuxer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Forget the source; what was demuxed stays."""
        self._src, self._streams = None, {}

    def _source(self) -> Source:
        if self._src is None:
            raise ArgumentError("spdl: io: the demuxer is closed")
        return self._src

    def _stream(self, kind: str) -> Packets:
        if kind not in self._streams:
            self._streams[kind] = _Demuxing(self._source(), kind).stream()
        return self._streams[kind]

    def demux_audio(self, window: Optional[Seconds] = None, *, bsf: Optional[str] = None) -> AudioPackets:
        """As the function of that name."""
        return demux_audio(self._source(), window, bsf=bsf)

    def demux_video(self, window: Optional[Seconds] = None, *, bsf: Optional[str] = None) -> VideoPackets:
        """As the function of that name."""
        return demux_video(self._source(), window, bsf=bsf)

    def demux_image(self) -> ImagePackets:
        """As the function of that name."""
        return demux_image(self._source())

    def has_audio(self) -> bool:
        """Whether there is a sound."""
        try:
            return self._stream("audio") is not None
        except SampleError as error:
            if "no such stream" in str(error):
                return False
            raise

    @property
    def audio_codec(self) -> Codec:
        """The best sound's."""
        return self._stream("audio").codec

    @property
    def video_codec(self) -> Codec:
        """The best video's."""
        return self._stream("video").codec

    @property
    def audio_stream_index(self) -> int:
        """The best sound's number in the file."""
        return self._stream("audio").info["stream"]

    @property
    def video_stream_index(self) -> int:
        """The best video's number in the file."""
        return self._stream("video").info["stream"]

    @overload
    def streaming_demux(self, indices: Optional[int] = None, *, duration: float = -1, num_packets: int = -1) -> Iterator[Union[AudioPackets, VideoPackets]]: ...
    @overload
    def streaming_demux(self, indices: Collection[int], *, duration: float = -1, num_packets: int = -1) -> Iterator[dict[int, Union[AudioPackets, VideoPackets]]]: ...

    def streaming_demux(self, indices: Union[int, Collection[int], None] = None, *, duration: float = -1,
                        num_packets: int = -1) -> Iterator[Any]:
        """Packets in pieces of `duration` seconds or of `num_packets`, the last of them shorter.

        indices  the number of a stream (None: 0), each of whose pieces is Packets; or several, each item a dict of Packets by
                 number, those streams left out that have ended
        """
        if (duration > 0) == (num_packets > 0) or duration == math.inf:
            raise ArgumentError(f"spdl: io: streaming_demux: duration={duration}, num_packets={num_packets}, want one of them above 0, and finite")
        piece = {"length": f"{float(duration):.9f}s"} if duration > 0 else {"packets": whole("io: streaming_demux: num_packets", num_packets)}
        one = not isinstance(indices, Collection)
        asked = indices if isinstance(indices, Collection) else [indices or 0]
        numbers = sorted({whole("io: streaming_demux: a stream's number", i) for i in asked})
        if not numbers:
            raise ArgumentError("spdl: io: streaming_demux: no stream is named, want one or more, such as Demuxer.video_stream_index")
        streams = {number: self._open(number, piece) for number in numbers}
        pieces = _pieces(streams)
        return (item[numbers[0]] for item in pieces) if one else pieces

    def _open(self, number: int, piece: Mapping[str, Any]) -> _Demuxing:
        try:
            return _Demuxing(self._source(), "video", stream=number, **piece)
        except SampleError as error:
            if "no such stream" not in str(error):
                raise
            return _Demuxing(self._source(), "audio", stream=number, **piece)


def _pieces(streams: dict[int, _Demuxing]) -> Iterator[dict[int, Packets]]:
    while streams:
        item = {}
        for number, stream in list(streams.items()):
            packets = stream.next()
            if packets is None:
                del streams[number]
            else:
                item[number] = packets
        if item:
            yield item


def apply_bsf(packets: P, bsf: str) -> P:
    """Packets through FFmpeg's bitstream filters, such as "h264_mp4toannexb"; several with commas."""
    handle = c_void_p()
    _check(_api().packets_filter(handle_of(packets, "apply_bsf"), c_text("io: apply_bsf: bsf", bsf), handle))
    return _packets(handle)


def decode_packets(packets: Union[Packets, ImagePackets], filter_desc: Optional[str] = None, decode_config: Optional[DecodeConfig] = None, *,
                   timestamp: Optional[Seconds] = None, num_frames: Optional[int] = -1, sample_rate: Optional[int] = None,
                   num_channels: Optional[int] = None, **section: Any) -> Frames:
    """What load_audio, load_video and load_image give of the file: frames [T, H, W, C] of uint8, samples [channels, length] of float32,
    a picture [H, W, C]. Of a window that was demuxed, the window.

    filter_desc   FFmpeg's filters, of a video or a sound
    timestamp     (start, end) in seconds of the file, of a video or a sound
    num_frames    of a video: the first so many; -1 or None: all
    sample_rate, num_channels  of a sound, as load_audio's
    section       keys of a description's video, audio or image, as load_video's
    """
    kinds = {AudioPackets: "audio", VideoPackets: "video", ImagePackets: "image"}
    if type(packets) not in kinds:
        raise ArgumentError(f"spdl: io: decode_packets: got {type(packets).__name__}, want AudioPackets, VideoPackets or ImagePackets")
    kind = kinds[type(packets)]
    for name, value, of in (("timestamp", timestamp, ("video", "audio")), ("num_frames", None if num_frames == -1 else num_frames, ("video",)),
                            ("sample_rate", sample_rate, ("audio",)), ("num_channels", num_channels, ("audio",))):
        if value is not None and kind not in of:
            raise ArgumentError(f"spdl: io: decode_packets: {name} for packets of {kind}, want it of {' or '.join(of)} alone")
    if kind == "image":
        unfiltered("decode_packets", filter_desc)
    if num_frames not in (None, -1):
        if whole("io: decode_packets: num_frames", num_frames) < 1:
            raise ArgumentError(f"spdl: io: decode_packets: num_frames={num_frames}, want 1 or more, or -1 for all")
        section = {"frames": int(num_frames), "over": "cut", **section}
    given = {"rate": _or_none("decode_packets: sample_rate", sample_rate), "channels": _or_none("decode_packets: num_channels", num_channels), "filter": filter_desc}
    section = {**configured("decode_packets", kind, decoding=decode_config), **_window(timestamp), **{k: v for k, v in given.items() if v is not None}, **section}
    return frames_of(packets._decode({kind: section}), kind)


def streaming_decode_packets(packets: VideoPackets, num_frames: int, **section: Any) -> Iterator[Array]:
    """The frames of a video's packets in chunks of num_frames, the last of them shorter: memory for one chunk."""
    return (chunk["video"] for chunk in streaming_load_video(packets, num_frames, **section))
