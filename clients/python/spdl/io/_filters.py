"""Texts for filter_desc and FilterGraph, in FFmpeg's own words: get_audio_filter_desc, get_video_filter_desc, get_buffer_desc ..."""

from __future__ import annotations

import math
from typing import Any, Optional, Sequence, Union

from .._errors import ArgumentError
from .._given import whole
from ._config import unfiltered
from ._packets import AudioPackets, Codec, ImagePackets, VideoPackets

Window = tuple[float, Optional[float]]


def _join(parts: Sequence[Any], behind: Optional[str]) -> Optional[str]:
    """The filters, one behind the other; None where there are none."""
    return ",".join(p for p in (*parts, behind) if p) or None


def _trim(name: str, window: Optional[Window]) -> Optional[str]:
    start, end = window or (None, None)
    sides = [f"{side}={float(t):.9g}" for side, t in (("start", start), ("end", end)) if t is not None and not math.isinf(t)]
    return f"{name}={':'.join(sides)}" if sides else None


def _count(call: str, name: str, n: Optional[int], least: int = 1) -> Optional[int]:
    if n is not None and whole(f"io: {call}: {name}", n) < least:
        raise ArgumentError(f"spdl: io: {call}: {name}={n!r}, want a whole number from {least} on, or None")
    return None if n is None else int(n)


def get_audio_filter_desc(*, sample_rate: Optional[int] = None, num_channels: Optional[int] = None, sample_fmt: Optional[str] = "fltp",
                          timestamp: Optional[Window] = None, num_frames: Optional[int] = None,
                          filter_desc: Optional[str] = None) -> Optional[str]:
    """FFmpeg's filters for a sound; None where nothing is asked for.

    sample_rate   resampled by libswresample; load_audio's sample_rate is torchaudio's resampling
    num_channels  mixed by libswresample: of stereo (L + R) / sqrt(2), where load_audio's num_channels is the mean
    sample_fmt    the format in which samples leave the filters: "fltp", "s16" ...; what arrives is float32 all the same, unless dtype says
                  otherwise, and of a FilterGraph exactly this
    timestamp     (start, end) in seconds of the file
    num_frames    as many samples, cut off or with silence behind
    filter_desc   filters of your own, before sample_fmt
    """
    call = "get_audio_filter_desc"
    rate, channels = _count(call, "sample_rate", sample_rate), _count(call, "num_channels", num_channels)
    length = _count(call, "num_frames", num_frames)
    return _join([
        channels and f"aformat=channel_layouts={_layout(channels)}", rate and f"aresample={rate}", _trim("atrim", timestamp),
        length and f"apad=whole_len={length},atrim=end_sample={length}", filter_desc,
    ], sample_fmt and f"aformat=sample_fmts={sample_fmt}")


# Layouts of so many channels; "3c" would say that nobody knows which they are, and few filters take that.
_LAYOUTS = {1: "mono", 2: "stereo", 3: "2.1", 4: "4.0", 5: "5.0", 6: "5.1", 7: "6.1", 8: "7.1"}


def _layout(channels: int) -> str:
    if channels not in _LAYOUTS:
        raise ArgumentError(f"spdl: io: get_audio_filter_desc: num_channels={channels}, want 1 to 8, or FFmpeg's pan as filter_desc")
    return _LAYOUTS[channels]


def get_video_filter_desc(*, frame_rate: Optional[tuple[int, int]] = None, timestamp: Optional[Window] = None,
                          scale_width: Optional[int] = None, scale_height: Optional[int] = None, scale_algo: str = "bicubic",
                          scale_mode: Optional[str] = "pad", crop_width: Optional[int] = None, crop_height: Optional[int] = None,
                          pix_fmt: Optional[str] = "rgb24", num_frames: Optional[int] = None, pad_mode: Optional[str] = None,
                          filter_desc: Optional[str] = None) -> Optional[str]:
    """FFmpeg's filters for a video; None where nothing is asked for.

    frame_rate   (numerator, denominator): frames are dropped, or shown twice
    timestamp    (start, end) in seconds of the file
    scale_*      None or 0: the frame's own; -n: the aspect kept, and a multiple of n. scale_mode: "pad" keeps the aspect, with bars of
                 pad_mode's colour (black); "crop" keeps it and cuts the rest off; None does not keep it
    crop_*       the middle, after scaling; None or 0: the frame's own
    pix_fmt      the format in which frames leave the filters; the array's kind is the section's (mode), and of a FilterGraph exactly this
    num_frames   as many frames, cut off or with the last one repeated, or of pad_mode's colour
    filter_desc  filters of your own, before pix_fmt
    """
    call = "get_video_filter_desc"
    if scale_mode not in ("pad", "crop", None):
        raise ArgumentError(f'spdl: io: {call}: scale_mode={scale_mode!r}, want "pad", "crop" or None')
    if frame_rate is not None and not (isinstance(frame_rate, (tuple, list)) and len(frame_rate) == 2):
        raise ArgumentError(f"spdl: io: {call}: frame_rate={frame_rate!r:.60}, want (numerator, denominator), such as (30, 1)")
    width, height = whole(f"io: {call}: scale_width", scale_width or 0), whole(f"io: {call}: scale_height", scale_height or 0)
    n = _count(call, "num_frames", num_frames)
    w, h = _count(call, "crop_width", crop_width, 0), _count(call, "crop_height", crop_height, 0)
    fill = "stop_mode=clone" if pad_mode is None else f"stop_mode=add:color={pad_mode}"
    return _join([
        frame_rate and f"fps={frame_rate[0]}/{frame_rate[1]}", _trim("trim", timestamp),
        _scale(width, height, scale_algo, scale_mode, pad_mode or "black"), _middle(w, h),
        n and f"tpad=stop={n}:{fill},trim=end_frame={n}", filter_desc,
    ], pix_fmt and f"format=pix_fmts={pix_fmt}")


def _middle(width: Optional[int], height: Optional[int]) -> Optional[str]:
    sides = [f"{side}={n}" for side, n in (("w", width), ("h", height)) if n]
    return f"crop={':'.join(sides)}" if sides else None


def _scale(w: int, h: int, algorithm: str, mode: Optional[str], colour: str) -> Optional[str]:
    if not w and not h:
        return None
    scale = f"scale=w={w}:h={h}:flags={algorithm}"
    if mode is None or w < 0 or h < 0:  # the aspect is kept anyway
        return scale
    if mode == "pad":
        return f"{scale}:force_original_aspect_ratio=decrease,pad=w={w}:h={h}:x=-1:y=-1:color={colour}"
    return f"{scale}:force_original_aspect_ratio=increase,{_middle(w, h)}"


def get_filter_desc(packets: Union[AudioPackets, VideoPackets], **filter_args: Any) -> Optional[str]:
    """get_audio_filter_desc, with the packets' own timestamp, or get_video_filter_desc, without one: a window of frames is cut exactly
    where they are decoded. Pictures go through no filters: of ImagePackets it raises Unsupported."""
    if isinstance(packets, AudioPackets):
        return get_audio_filter_desc(timestamp=packets.timestamp, **filter_args)
    if isinstance(packets, VideoPackets):
        return get_video_filter_desc(timestamp=None, **filter_args)
    if isinstance(packets, ImagePackets):
        unfiltered("get_filter_desc", "", "decode_packets(packets, transform=[...]), or get_video_filter_desc for a FilterGraph")
    raise ArgumentError(f"spdl: io: get_filter_desc: got {type(packets).__name__}, want AudioPackets or VideoPackets")


def _known(codec: Codec, call: str, kind: str) -> Codec:
    got = codec._stream.info["kind"] if isinstance(codec, Codec) else type(codec).__name__
    if got != kind:
        raise ArgumentError(f"spdl: io: {call}: a codec of {got}, want one of {kind}: Demuxer.{kind}_codec or Packets.codec")
    return codec


def get_abuffer_desc(codec: Codec, *, label: Optional[str] = None, sample_fmt: Optional[str] = None) -> str:
    """An input of a FilterGraph for a sound: "abuffer=...", or with a label "abuffer@label=...", which is its key.

    sample_fmt  None: "fltp", which is how a Decoder's arrays come, [channels, n] of float32
    """
    codec = _known(codec, "get_abuffer_desc", "audio")
    layout, n = getattr(codec, "channel_layout", ""), codec.num_channels
    if not layout or layout.endswith("channels"):  # nobody knows which they are
        layout = _LAYOUTS.get(n, f"{n}c")
    return f"{_node('abuffer', label)}=time_base={codec.time_base[0]}/{codec.time_base[1]}:sample_rate={codec.sample_rate}:" \
           f"sample_fmt={sample_fmt or 'fltp'}:channel_layout={layout}"


def get_buffer_desc(codec: Codec, label: Optional[str] = None, pix_fmt: Optional[str] = None) -> str:
    """An input of a FilterGraph for a video: "buffer=...", or with a label "buffer@label=...", which is its key.

    pix_fmt  None: "rgb24", which is how a Decoder's arrays come, [n, H, W, 3] of uint8
    """
    codec = _known(codec, "get_buffer_desc", "video")
    aspect, rate = codec.sample_aspect_ratio, codec.frame_rate
    text = f"{_node('buffer', label)}=video_size={codec.width}x{codec.height}:pix_fmt={pix_fmt or 'rgb24'}:" \
           f"time_base={codec.time_base[0]}/{codec.time_base[1]}:pixel_aspect={aspect[0]}/{aspect[1] or 1}"
    return f"{text}:frame_rate={rate[0]}/{rate[1]}" if rate[0] > 0 and rate[1] > 0 else text


def _node(name: str, label: Optional[str]) -> str:
    return name if label is None else f"{name}@{label}"
