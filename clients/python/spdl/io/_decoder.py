"""What is kept open from one piece of a stream to the next: Decoder and BSF."""

from __future__ import annotations

import os
from ctypes import POINTER, c_char_p, c_int, c_void_p
from typing import Any, Iterator, Optional, Union

from .._errors import ArgumentError
from .._given import c_text, whole
from ._config import DecodeConfig, configured
from ._load import _NOWHERE, Frames, Handle, _check, _loaded, bound, described, frames_of
from ._packets import AudioPackets, Codec, P, Packets, VideoPackets, _packets, handle_of

FUNCTIONS = {
    # spdl_status spdl_bsf_open(const spdl_packets *stream, const char *filters, spdl_bsf **out);
    "spdl_bsf_open": (c_int, c_void_p, c_char_p, POINTER(c_void_p)),
    # spdl_status spdl_bsf_filter(spdl_bsf *bsf, const spdl_packets *packets, int last, spdl_packets **out);
    "spdl_bsf_filter": (c_int, c_void_p, c_void_p, c_int, POINTER(c_void_p)),
    # spdl_status spdl_bsf_flush(spdl_bsf *bsf, spdl_packets **out);
    "spdl_bsf_flush": (c_int, c_void_p, POINTER(c_void_p)),
    # void spdl_bsf_close(spdl_bsf *bsf);
    "spdl_bsf_close": (None, c_void_p),
    # spdl_status spdl_decoder_open(const spdl_packets *stream, const char *description, spdl_decoder **out);
    "spdl_decoder_open": (c_int, c_void_p, c_char_p, POINTER(c_void_p)),
    # spdl_status spdl_decoder_give(spdl_decoder *decoder, const spdl_packets *packets);
    "spdl_decoder_give": (c_int, c_void_p, c_void_p),
    # spdl_status spdl_decoder_flush(spdl_decoder *decoder);
    "spdl_decoder_flush": (c_int, c_void_p),
    # spdl_status spdl_decoder_next(spdl_decoder *decoder, spdl_loaded **out);
    "spdl_decoder_next": (c_int, c_void_p, POINTER(c_void_p)),
    # void spdl_decoder_close(spdl_decoder *decoder);
    "spdl_decoder_close": (None, c_void_p),
}

_api = bound(FUNCTIONS)


def stream_of(codec: Any, call: str) -> Packets:
    """The stream of a codec, without packets."""
    if not isinstance(codec, Codec):
        remedy = "; load_video, sample_decode_video and load_audio take a file" if isinstance(codec, (str, bytes, os.PathLike)) else ""
        raise ArgumentError(f"spdl: io: {call}: a codec of {type(codec).__name__}, want Demuxer.video_codec, audio_codec or Packets.codec{remedy}")
    return codec._stream


class BSF(Handle):
    """FFmpeg's bitstream filters, such as "h264_mp4toannexb", kept open from one piece of a stream to the next. One thread at a time.

        bsf = spdl.io.BSF(demuxer.video_codec, "h264_mp4toannexb")
        for packets in demuxer.streaming_demux(demuxer.video_stream_index, num_packets=100):
            packets = bsf.filter(packets)
    """

    def __init__(self, codec: Codec, bsf: str) -> None:
        handle = c_void_p()
        _check(_api().bsf_open(stream_of(codec, "BSF")._handle, c_text("io: BSF: bsf", bsf), handle))
        self._handle, self._close = handle, _api().bsf_close

    def __del__(self) -> None:
        if hasattr(self, "_close"):
            self._close(self._handle)

    def filter(self, packets: P, flush: bool = False) -> Optional[P]:
        """What comes out for packets; None: nothing yet. With flush these are the last, and what is held back comes, too."""
        out = c_void_p()
        _check(_api().bsf_filter(self._handle, handle_of(packets, "BSF.filter"), int(flush), out))
        return _some(out)

    def flush(self) -> Optional[Union[AudioPackets, VideoPackets]]:
        """What the filters still hold, after which they take no packets; None: nothing."""
        out = c_void_p()
        _check(_api().bsf_flush(self._handle, out))
        return _some(out)


def _some(handle: c_void_p) -> Any:
    """Packets; None: of none."""
    made = _packets(handle)
    return made if len(made) else None


def Decoder(codec: Codec, *, filter_desc: Optional[str] = None, decode_config: Optional[DecodeConfig] = None,
            **section: Any) -> Union[VideoDecoder, AudioDecoder]:
    """A decoder of packets as they come, of a stream of which nobody has, or waits for, the whole. One thread at a time.

        decoder = spdl.io.Decoder(demuxer.video_codec)
        for packets in demuxer.streaming_demux(demuxer.video_stream_index, num_packets=100):
            for frames in decoder.streaming_decode_packets(packets):
                work(frames)                                            # [n, H, W, C]
        for frames in decoder.flush():
            work(frames)

    filter_desc  FFmpeg's filters, which also go on from packet to packet: "aresample=16000"
    section      keys of a description's video or audio without what needs the whole stream: transform, layout, dtype, channels ...
    """
    kind = stream_of(codec, "Decoder").info["kind"]
    section = {**configured("Decoder", kind, decoding=decode_config), **section}
    if filter_desc is not None:
        section["filter"] = filter_desc
    return (VideoDecoder if kind == "video" else AudioDecoder)(codec, **section)


class _Decoder(Handle):
    _kind: str

    def __init__(self, codec: Codec, /, **section: Any) -> None:
        stream_of(codec, type(self).__name__)
        self._codec, self._section = codec, section
        self._handle: Optional[c_void_p] = None
        self._open()

    def _open(self) -> None:
        handle = c_void_p()
        _check(_api().decoder_open(self._codec._stream._handle, described({self._kind: self._section}), handle))
        self._close()
        self._handle, self._fed = handle, False

    def _close(self) -> None:
        handle, self._handle = getattr(self, "_handle", None), None
        if handle is not None:
            _api().decoder_close(handle)

    def __del__(self) -> None:
        self._close()

    def streaming_decode_packets(self, packets: Packets) -> Iterator[Frames]:
        """What is ready with these packets. They are decoded as the iterator goes on, or else by the next call's."""
        _check(_api().decoder_give(self._handle, handle_of(packets, "Decoder")))
        self._fed = True
        return self._ready()

    def flush(self) -> Iterator[Frames]:
        """What the codec held back. No packets are taken after it."""
        _check(_api().decoder_flush(self._handle))
        return self._ready()

    def _ready(self) -> Iterator[Frames]:
        while True:
            made = c_void_p()
            if _check(_api().decoder_next(self._handle, made)) != 0:
                return
            yield frames_of(_loaded(made, _NOWHERE, None), self._kind)


class VideoDecoder(_Decoder):
    """Frames [n, H, W, C] of uint8, or as the description says."""

    _kind = "video"

    def set_buffer_size(self, num_frames: int) -> None:
        """How many frames every array has, but for the last; 0: as many as are ready. Before the first packets."""
        if self._fed:
            raise ArgumentError("spdl: io: Decoder.set_buffer_size: packets were decoded already; call it before")
        self._section.pop("frames", None)
        if whole("io: Decoder.set_buffer_size: num_frames", num_frames) > 0:
            self._section["frames"] = int(num_frames)
        self._open()


class AudioDecoder(_Decoder):
    """Samples [channels, n] of float32, or as the description says."""

    _kind = "audio"
