"""What a program of SPDL's form says of demuxing and decoding: demux_config, decode_config."""

from __future__ import annotations

import os
from typing import Any, Mapping, NamedTuple, Optional

from .._errors import ArgumentError, Unsupported

_RAW = {"u8": "u8", "s16le": "s16", "s24le": "s24", "s32le": "s32", "f32le": "f32", "f64le": "f64"}
_LAYOUTS = {"mono": 1, "stereo": 2}


class DemuxConfig(NamedTuple):
    """Made by demux_config."""

    format: Optional[str] = None
    format_options: Mapping[str, str] = {}
    buffer_size: int = 8096


class DecodeConfig(NamedTuple):
    """Made by decode_config."""

    decoder: Optional[str] = None
    decoder_options: Mapping[str, str] = {}


def demux_config(format: Optional[str] = None, format_options: Optional[Mapping[str, Any]] = None, buffer_size: int = 8096) -> DemuxConfig:
    """How load_audio reads samples without a header.

    format          s16le, f32le and their like. What has a header says itself what it is
    format_options  sample_rate (44100) and channels (1), or ch_layout, of such samples
    buffer_size     accepted without effect: files are read in pieces of 64 KiB
    """
    options = {str(k): str(v) for k, v in (format_options or {}).items()}
    if format is None and not options:
        return DemuxConfig(buffer_size=buffer_size)
    if format not in _RAW:
        raise Unsupported(f"spdl: io: demux_config: format={format!r}, format_options={sorted(options)}: want {', '.join(_RAW)} with sample_rate and "
                          "channels; what has a header is found out from its bytes, whose demuxer takes no options: leave them out")
    config = DemuxConfig(format, options, buffer_size)
    _raw(config)
    return config


def _raw(config: DemuxConfig) -> dict[str, Any]:
    """The section raw, with FFmpeg's defaults."""
    options, numbers = dict(config.format_options), {}
    channels = options.pop("ch_layout", None)
    if channels is not None:
        options["channels"] = str(_LAYOUTS.get(channels, channels[:-1] if channels.endswith("c") else channels))
    for name, usual in (("sample_rate", "44100"), ("channels", "1")):
        text = options.pop(name, usual)
        if not text.isdecimal() or int(text) < 1:
            raise ArgumentError(f"spdl: io: demux_config: {name}={text!r}, want a whole number above 0")
        numbers[name] = int(text)
    if options:
        raise Unsupported(f"spdl: io: demux_config: format_options {sorted(options)} of {config.format}, want sample_rate, channels or ch_layout")
    return {"encoding": _RAW[str(config.format)], "rate": numbers["sample_rate"], "channels": numbers["channels"]}


def decode_config(decoder: Optional[str] = None, decoder_options: Optional[Mapping[str, Any]] = None) -> DecodeConfig:
    """How a video is decoded.

    decoder          None: FFmpeg's own choice for the codec, whose frames are the tested ones; others are refused
    decoder_options  threads: how many decode one video (1)
    """
    options = {str(k): str(v) for k, v in (decoder_options or {}).items()}
    if decoder is not None:
        raise Unsupported(f"spdl: io: decode_config: decoder={decoder!r}: FFmpeg's own choice for the codec decodes, whose frames are the tested ones; "
                          "leave it out, or let a device decode: hardware=\"cuda\"")
    if set(options) - {"threads"}:
        raise Unsupported(f"spdl: io: decode_config: decoder_options {sorted(set(options) - {'threads'})}, want threads alone: what others change, such as which "
                          "frames there are, would not be found in their times; select and transform choose")
    if not options.get("threads", "1").isdecimal():
        raise ArgumentError(f"spdl: io: decode_config: threads={options['threads']!r}, want a whole number, 0 for one a processor")
    return DecodeConfig(None, options)


def configured(call: str, kind: str, demuxing: Optional[DemuxConfig] = None, decoding: Optional[DecodeConfig] = None) -> dict[str, Any]:
    """What the two say, as keys of a section."""
    for name, config, of in (("demux_config", demuxing, DemuxConfig), ("decode_config", decoding, DecodeConfig)):
        if config is not None and not isinstance(config, of):
            raise ArgumentError(f"spdl: io: {call}: {name} is of {type(config).__name__}, want what {name}() gives")
    section: dict[str, Any] = {}
    if demuxing is not None and demuxing.format is not None:
        if kind != "audio" or call != "load_audio":
            raise Unsupported(f"spdl: io: {call}: demux_config(format={demuxing.format!r}): samples without a header are read by load_audio alone")
        section["raw"] = _raw(demuxing)
    if decoding is not None and "threads" in decoding.decoder_options:
        threads = int(decoding.decoder_options["threads"]) or min(os.cpu_count() or 1, 64)
        if kind == "video":
            section["threads"] = threads
        elif threads != 1:
            raise Unsupported(f"spdl: io: {call}: decode_config(decoder_options={{'threads': {threads}}}): a thread decodes a sound or a picture; call from several")
    return section


def unfiltered(call: str, filter_desc: Optional[str], instead: str = "transform=[...]") -> None:
    """Refuse filters for pictures."""
    if filter_desc is not None:
        raise Unsupported(f"spdl: io: {call}: filter_desc: pictures go through no filters; want {instead}")


def in_memory(call: str, device_config: object) -> None:
    """Refuse a device to put arrays on."""
    if device_config is not None:
        raise Unsupported(f"spdl: io: {call}: device_config: the array comes to memory; move it with array.torch().to(device), or use a ring with a device (docs/gpu.md)")
