"""Media files written: save_image, save_images, save_audio, save_video, Muxer."""

from __future__ import annotations

import ctypes
import math
import os
from ctypes import POINTER, c_char_p, c_double, c_int, c_int32, c_size_t, c_void_p
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, Mapping, NamedTuple, Optional, Sequence, Union

from .. import _dlpack
from .._errors import ArgumentError
from .._given import c_text, whole
from ._load import _NOWHERE, Handle, _check, _loaded, bound, described
from ._decoder import stream_of
from ._memory import Memory, memory_of, pictures_in, samples_of
from ._packets import Codec, Packets

FUNCTIONS = {
    # spdl_status spdl_save(const char *description, const void *data, size_t n_bytes, const char *path, spdl_loaded **out);
    "spdl_save": (c_int, c_char_p, c_void_p, c_size_t, c_char_p, POINTER(c_void_p)),
    # spdl_status spdl_muxer_open(const char *description, const char *path, spdl_muxer **out);
    "spdl_muxer_open": (c_int, c_char_p, c_char_p, POINTER(c_void_p)),
    # int32_t spdl_muxer_add(spdl_muxer *muxer, const char *description);
    "spdl_muxer_add": (c_int32, c_void_p, c_char_p),
    # int32_t spdl_muxer_add_packets(spdl_muxer *muxer, const spdl_packets *packets, const char *filters);
    "spdl_muxer_add_packets": (c_int32, c_void_p, c_void_p, c_char_p),
    # spdl_status spdl_muxer_write(spdl_muxer *muxer, int32_t track, const void *data, size_t n_bytes, const double *seconds, size_t n_seconds);
    "spdl_muxer_write": (c_int, c_void_p, c_int32, c_void_p, c_size_t, POINTER(c_double), c_size_t),
    # spdl_status spdl_muxer_write_packets(spdl_muxer *muxer, int32_t track, const spdl_packets *packets);
    "spdl_muxer_write_packets": (c_int, c_void_p, c_int32, c_void_p),
    # spdl_status spdl_muxer_close(spdl_muxer *muxer, spdl_loaded **out);
    "spdl_muxer_close": (c_int, c_void_p, POINTER(c_void_p)),
    # void spdl_muxer_abort(spdl_muxer *muxer);
    "spdl_muxer_abort": (None, c_void_p),
}

_api = bound(FUNCTIONS)

Path = Union[str, "os.PathLike[str]"]
Rate = Union[int, float, tuple[int, int], Fraction]


# ---- shapes


_CHANNELS_LAST = {"rgb24": 3, "bgr24": 3, "rgba": 4, "bgra": 4, "argb": 4, "abgr": 4, "rgb0": 4, "bgr0": 4, "0rgb": 4, "0bgr": 4, "ya8": 2, "rgb48le": 3, "rgb48be": 3, "rgba64le": 4, "rgba64be": 4}
_WIDE = {"gray10le", "gray12le", "gbrp10le", "gbrp12le", "gray16le", "gray16be", "gray16", "rgb48le", "rgb48be", "rgba64le", "rgba64be", "yuv420p10le", "yuv422p10le", "yuv444p10le", "p010le"}
_PLANAR = {"yuv444p", "yuvj444p", "gbrp", "yuv444p10le", "gbrp10le", "gbrp12le"}
_GRAY = {"gray", "gray8", "gray10le", "gray12le", "gray16", "gray16le", "gray16be"}
_STACKED = {**dict.fromkeys(("yuv420p", "yuvj420p", "nv12", "nv21", "yuv420p10le", "p010le"), 3),  # rows of two lines of a picture, which is of even sides
            **dict.fromkeys(("yuv422p", "yuvj422p", "yuv422p10le"), 4)}
_FFMPEGS = {"gray8": "gray", "gray16": "gray16le"}


def _dtype(pix_fmt: str) -> str:
    return "uint16" if pix_fmt in _WIDE else "uint8"


def _shape(pix_fmt: str, height: int, width: int) -> Optional[tuple[int, ...]]:
    """Of one picture, as a FilterGraph has it; None: it has none, or of no format here."""
    if pix_fmt in _CHANNELS_LAST:
        return height, width, _CHANNELS_LAST[pix_fmt]
    if pix_fmt in _PLANAR:
        return 3, height, width
    if pix_fmt in _GRAY:
        return height, width, 1
    if pix_fmt in _STACKED and height % 2 == width % 2 == 0:
        return 1, height // 2 * _STACKED[pix_fmt], width
    return None


def _size_of(memory: Memory, pix_fmt: str, what: str, leading: int) -> tuple[int, int]:
    """Height and width of pictures in an array with so many dimensions before a picture's own."""
    shape, size = memory.shape[leading:], None
    if pix_fmt in _CHANNELS_LAST:
        if len(shape) == 3 and shape[2] == _CHANNELS_LAST[pix_fmt]:
            size = shape[0], shape[1]
        want = f"H, W, {_CHANNELS_LAST[pix_fmt]}"
    elif pix_fmt in _PLANAR:
        if len(shape) == 3 and shape[0] == 3:
            size = shape[1], shape[2]
        want = "3, H, W"
    elif pix_fmt in _GRAY:
        if len(shape) == 2 or (len(shape) == 3 and shape[2] == 1):
            size = shape[0], shape[1]
        want = "H, W"
    else:
        names = sorted({*_CHANNELS_LAST, *_PLANAR, *_GRAY})
        raise ArgumentError(f"spdl: io: {what}: pix_fmt {pix_fmt!r}, want one of {', '.join(names)}")
    if size is None or memory.dtype != _dtype(pix_fmt) or len(memory.shape) != len(shape) + leading:
        lead = "T, " * leading
        raise ArgumentError(f"spdl: io: {what}: an array {list(memory.shape)} of {memory.dtype}, want [{lead}{want}] of {_dtype(pix_fmt)} for {pix_fmt}")
    return size


def _rate(rate: Rate) -> list[int]:
    """Frames a second as a fraction; 29.97 is 30000/1001's."""
    if isinstance(rate, (tuple, list)) and len(rate) == 2:
        return [whole("io: frame_rate[0]", rate[0]), whole("io: frame_rate[1]", rate[1])]
    if not isinstance(rate, Real) or not math.isfinite(rate):
        raise ArgumentError(f"spdl: io: frame_rate={rate!r:.60}, want frames a second, such as 30, 29.97 or (30000, 1001)")
    rate = rate if isinstance(rate, Rational) else float(rate)
    if isinstance(rate, float) and rate != int(rate):
        near = Fraction(round(rate * 1001 / 1000) * 1000, 1001)
        fraction = near if abs(near - Fraction(rate)) < Fraction(1, 100) else Fraction(rate).limit_denominator(100000)
    else:
        fraction = Fraction(rate)
    return [fraction.numerator, fraction.denominator]


def _given(**keys: Any) -> dict[str, Any]:
    """The keys that say something."""
    return {k: v for k, v in keys.items() if v is not None and v != -1 and v != {}}


def _texts(options: Optional[Mapping[str, Any]]) -> dict[str, str]:
    if options is not None and not isinstance(options, Mapping):
        raise ArgumentError(f'spdl: io: options={options!r:.60}, want a mapping, such as {{"crf": 20}}')
    return {str(k): str(v) for k, v in (options or {}).items()}


# ---- one call


def _save(description: Mapping[str, Any], memory: Memory, path: Optional[Path]) -> Optional[bytes]:
    _dlpack.sweep()
    text = described(description)
    if path is not None:
        _check(_api().save(text, memory.address or None, memory.nbytes, c_text("io: the path", path), None))
        return None
    handle = c_void_p()
    _check(_api().save(text, memory.address or None, memory.nbytes, None, handle))
    return bytes(_loaded(handle, _NOWHERE, None)["bytes"].memoryview())


def save_image(path: Optional[Path], data: Any, pix_fmt: str = "rgb24", *, codec: Optional[str] = None, stored: Optional[str] = None,
               qscale: int = -1, compression_level: int = -1, options: Optional[Mapping[str, Any]] = None) -> Optional[bytes]:
    """Write a picture, [H, W, 3] of uint8 unless pix_fmt says otherwise; without a path return it as bytes.

    codec    png, mjpeg, bmp, tiff, webp or another of FFmpeg's; None: by the path's ending
    stored   the pixel format in the file; None: the codec's nearest
    qscale   1 the best
    """
    memory = memory_of(data, "save_image")
    height, width = _size_of(memory, pix_fmt, "save_image", 0)
    return _save({"image": _picture(width, height, pix_fmt, codec, stored, qscale, compression_level, options)}, memory, path)


def _picture(width: int, height: int, pix_fmt: str, codec: Optional[str], stored: Optional[str], qscale: int, compression_level: int,
             options: Optional[Mapping[str, Any]]) -> dict[str, Any]:
    options = {**_given(compression_level=compression_level), **(options or {})}
    return _given(width=width, height=height, input=_FFMPEGS.get(pix_fmt, pix_fmt), codec=codec, pixel_format=stored, quality=qscale,
                  options=_texts(options))


def save_images(pattern: Path, frames: Any, pix_fmt: str = "rgb24", *, first: int = 0, codec: Optional[str] = None,
                stored: Optional[str] = None, qscale: int = -1, compression_level: int = -1,
                options: Optional[Mapping[str, Any]] = None) -> None:
    """Write pictures [T, H, W, 3], each to a file of its own: the pattern has its number in it, such as frames/%06d.png."""
    memory = memory_of(frames, "save_images")
    height, width = _size_of(memory, pix_fmt, "save_images", 1)
    section = _picture(width, height, pix_fmt, codec, stored, qscale, compression_level, options)
    _save({"image": {**section, "first": whole("io: save_images: first", first)}}, memory, pattern)


def save_audio(path: Optional[Path], data: Any, sample_rate: int, *, encoding: str = "s16", codec: Optional[str] = None,
               format: Optional[str] = None, bit_rate: int = -1, options: Optional[Mapping[str, Any]] = None) -> Optional[bytes]:
    """Write a sound, float32 [channels, samples] of -1 to 1 as load_audio gives it; without a path return it as bytes.

    A WAV file, which is what `.wav` and format="wav" are unless a codec is named, needs no FFmpeg and has the encoding u8, s16, s24,
    s32, f32 or f64. Other formats have a codec, a bit_rate and the codec's options; what they store is the codec's format that keeps
    most of a float (24 bits in FLAC, ALAC and TTA, floats in WavPack), of an array of int16 16 bits. NaN, infinities and samples beyond
    1024 raise ArgumentError with the first one's place, but where floats are stored as they are.
    """
    memory = samples_of(data, "save_audio")
    _check_samples(memory.shape, "save_audio: samples")
    name = format or ("" if path is None else os.path.splitext(os.fsdecode(path))[1][1:].lower())
    if name == "wav" and codec is None:
        return _save({"wav": {"rate": whole("io: save_audio: sample_rate", sample_rate), "channels": memory.shape[0], "encoding": encoding}}, memory, path)
    muxer = Muxer(path, format=format)
    track = muxer.add_encode_stream(audio_encode_config(num_channels=memory.shape[0], sample_rate=sample_rate, bit_rate=bit_rate,
                                                        sample_fmt=_stored_of(data, "save_audio")), encoder=codec, encoder_config=options)
    with muxer.open():
        track.encode(data)
    return muxer.getvalue() if path is None else None


def _stored_of(data: Any, what: str) -> Optional[str]:
    """The sample formats that keep an array's elements, best first; None: the one that keeps most."""
    return "s16,s32,flt,dbl,u8" if memory_of(data, what).dtype == "int16" else None


_MOST_CHANNELS = 64  # of a sound


def _check_samples(shape: tuple[int, ...], what: str, channels: Optional[int] = None) -> None:
    """Refuse what is not [channels, samples], and say so of [samples, channels]."""
    if len(shape) == 2 and (shape[0] == channels or channels is None and 1 <= shape[0] <= _MOST_CHANNELS):
        return
    text = f"spdl: io: {what} {list(shape)}, want [{'channels' if channels is None else channels}, samples]"
    if len(shape) == 2 and (shape[1] == channels or channels is None and 1 <= shape[1] <= _MOST_CHANNELS):
        text += "; these are [samples, channels]: give their transpose (.T)"
    elif len(shape) == 1 and channels in (None, 1):
        text += "; of one channel add that axis ([None])"
    raise ArgumentError(text)


def save_video(path: Optional[Path], frames: Any, frame_rate: Rate, *, audio: Any = None, sample_rate: Optional[int] = None,
               pix_fmt: str = "rgb24", codec: Optional[str] = None, audio_codec: Optional[str] = None, stored: Optional[str] = None,
               bit_rate: int = -1, qscale: int = -1, format: Optional[str] = None, options: Optional[Mapping[str, Any]] = None) -> Optional[bytes]:
    """Write frames [T, H, W, 3] of uint8, and with audio a sound [channels, samples] of sample_rate; without a path return the bytes.

    codec, audio_codec  an encoder or a codec by FFmpeg's name; None: the container's usual one
    stored              the pixel format in the file; None: the codec's nearest, 4:2:0 where that is YUV
    options             the video codec's own, such as {"crf": 20}
    """
    if (audio is None) != (sample_rate is None):
        raise ArgumentError("spdl: io: save_video: want audio and sample_rate, or neither")
    if audio is not None:
        _check_samples(memory_of(audio, "save_video").shape, "save_video: audio")
    if frame_rate is None:
        raise ArgumentError("spdl: io: save_video: frame_rate=None, want frames a second, such as 30; a Muxer's encode takes a time for each frame")
    memory = memory_of(frames, "save_video")
    height, width = _size_of(memory, pix_fmt, "save_video", 1)
    muxer = Muxer(path, format=format)
    config = video_encode_config(height=height, width=width, frame_rate=frame_rate, pix_fmt=stored, input=pix_fmt, bit_rate=bit_rate, qscale=qscale)
    pictures = muxer.add_encode_stream(config, encoder=codec, encoder_config=options)
    sound = None
    if audio is not None and sample_rate is not None:
        channels = memory_of(audio, "save_video").shape[0]
        sound = muxer.add_encode_stream(audio_encode_config(num_channels=channels, sample_rate=sample_rate, sample_fmt=_stored_of(audio, "save_video")),
                                        encoder=audio_codec)
    with muxer.open():
        pictures.encode(frames)
        if sound is not None:
            sound.encode(audio)
    return muxer.getvalue() if path is None else None


# ---- containers


class VideoEncodeConfig(dict[str, Any]):
    """What video_encode_config made."""


class AudioEncodeConfig(dict[str, Any]):
    """What audio_encode_config made."""


def video_encode_config(*, height: int, width: int, frame_rate: Optional[Rate] = None, pix_fmt: Optional[str] = None,
                        bit_rate: int = -1, compression_level: int = -1, qscale: int = -1, gop_size: int = -1, max_b_frames: int = -1,
                        input: Optional[str] = None) -> VideoEncodeConfig:
    """A track of pictures.

    frame_rate  a number or (30000, 1001); None: every frame has a time, Encoder.encode's seconds
    pix_fmt     what is stored; None: the codec's nearest
    input       what encode is given: "rgb24" for arrays of RGB that are stored as another pix_fmt; None: pix_fmt, or rgb24
    """
    options = _texts(_given(g=gop_size, bf=max_b_frames, compression_level=compression_level))
    given = input or pix_fmt or "rgb24"
    return VideoEncodeConfig(_given(width=whole("io: video_encode_config: width", width), height=whole("io: video_encode_config: height", height),
                                    rate=None if frame_rate is None else _rate(frame_rate), pixel_format=pix_fmt,
                                    input=_FFMPEGS.get(given, given), bit_rate=bit_rate, quality=qscale, options=options))


def audio_encode_config(*, num_channels: int, sample_rate: int, sample_fmt: Optional[str] = None, bit_rate: int = -1,
                        compression_level: int = -1) -> AudioEncodeConfig:
    """A track of samples; sample_fmt is what is stored, such as s16 (of several, "s16,s32", the first that the codec stores); None:
    the one of the codec's that keeps most of a float32."""
    options = _texts(_given(compression_level=compression_level))
    return AudioEncodeConfig(_given(channels=whole("io: audio_encode_config: num_channels", num_channels),
                                    rate=whole("io: audio_encode_config: sample_rate", sample_rate), sample_format=sample_fmt, bit_rate=bit_rate, options=options))


class ReferenceFrames(NamedTuple):
    """An array as frames: what Encoder.encode takes, as it takes the array itself. Its kind is "video" or "audio"."""

    kind: str
    array: Any
    format: str
    rate: Any
    pts: int


_SAMPLES = {"u8": "uint8", "s16": "int16", "s32": "int32", "flt": "float32", "dbl": "float64"}


def create_reference_video_frame(array: Any, pix_fmt: str, frame_rate: Rate, pts: int) -> ReferenceFrames:
    """Frames as Encoder.encode takes them, the first of them shown at pts / frame_rate. encode refuses another pix_fmt than the stream's input, and
    another frame_rate than the stream's where it has one."""
    rate = _rate(frame_rate)
    if min(rate) < 1:
        raise ArgumentError(f"spdl: io: create_reference_video_frame: frame_rate={frame_rate!r}, want frames a second, such as (30, 1)")
    return ReferenceFrames("video", array, pix_fmt, Fraction(*rate), whole("io: create_reference_video_frame: pts", pts))


def create_reference_audio_frame(array: Any, sample_fmt: str, sample_rate: int, pts: int) -> ReferenceFrames:
    """Samples, [channels, samples] of a sample_fmt that ends in p, else [samples, channels]; pts counts samples. encode refuses an array of another type
    than sample_fmt's (u8, s16, s32, flt, dbl), and another sample_rate than the stream's."""
    call = "create_reference_audio_frame"
    if str(sample_fmt).removesuffix("p") not in _SAMPLES:
        raise ArgumentError(f"spdl: io: {call}: sample_fmt={sample_fmt!r}, want {', '.join(_SAMPLES)}, or one of them with a p behind it for [channels, samples]")
    return ReferenceFrames("audio", array, sample_fmt, whole(f"io: {call}: sample_rate", sample_rate), whole(f"io: {call}: pts", pts))


_FRAME_SIZE = 1024


class Encoder:
    """A track of a Muxer that takes arrays. What is encoded is in the file: nothing comes back to be written."""

    def __init__(self, muxer: Muxer, number: int, config: Mapping[str, Any]) -> None:
        self._muxer, self._number, self._config = muxer, number, config
        self._next = 0

    def encode(self, frames: Any, seconds: Optional[Sequence[float]] = None) -> None:
        """Write samples [channels, samples], or frames, one after the other or each at its second: of the width and the height of the stream, in the
        shape and type that its input has (video_encode_config): [T, H, W, 3] of uint8 for rgb24, [T, 3, H, W] for yuv444p, [T, 1, rows, W] for yuv420p,
        whose planes lie one below the other; one frame may go without the T. Bytes of whole frames are taken flat. Raises ArgumentError for others."""
        if isinstance(frames, ReferenceFrames):
            if seconds is not None:
                raise ArgumentError("spdl: io: encode: frames with a pts, and seconds; want one of them")
            self._reference(frames)
        elif isinstance(self._config, VideoEncodeConfig):
            self._pictures(frames, None if seconds is None else [float(s) for s in seconds])
        elif seconds is not None:
            raise ArgumentError("spdl: io: encode: samples with seconds; want none: samples follow one another")
        else:
            self._samples(memory_of(frames, "encode").shape, frames)

    @property
    def frame_size(self) -> int:
        """Samples that a program may give at a time: any number is taken, and cut to the codec's frames here."""
        if isinstance(self._config, VideoEncodeConfig):
            raise AttributeError("an encoder of video has no frame_size; give any number of frames")
        return _FRAME_SIZE

    def flush(self) -> None:
        """Nothing: Muxer.close ends the encoders."""

    def _pictures(self, frames: Any, seconds: Optional[Sequence[float]]) -> None:
        memory = memory_of(frames, "encode")
        count = self._pictures_in(memory)
        self._muxer._write(self._number, memory, seconds)
        self._next += count

    def _pictures_in(self, memory: Memory) -> int:
        pix_fmt, height, width = (self._config[key] for key in ("input", "height", "width"))
        one, count = _shape(pix_fmt, height, width), None
        dtype = _dtype(pix_fmt) if one else "uint8"
        size = math.prod(one) * (2 if dtype == "uint16" else 1) if one else None
        if one and memory.dtype == dtype:
            count = pictures_in(memory.shape, one)
        if count is None and memory.dtype == "uint8":  # bytes of frames; how many one has of other formats, only FFmpeg knows, which says so
            if len(memory.shape) == 2 and size in (None, memory.shape[1]):
                return memory.shape[0]
            if len(memory.shape) == 1 and size is not None:
                return memory.nbytes // size
        if count is None or memory.dtype != dtype:
            want = ", ".join(map(str, one)) if one else "bytes of a frame"
            raise ArgumentError(f"spdl: io: encode: an array {list(memory.shape)} of {memory.dtype}, want [T, {want}] of {dtype} for {width}x{height} of "
                                f"{pix_fmt}, which is this stream's input (video_encode_config)")
        return count

    def _samples(self, shape: tuple[int, ...], samples: Any, interleaved: bool = False) -> None:
        channels = self._config["channels"]
        if interleaved:
            if len(shape) != 2 or shape[1] != channels:
                raise ArgumentError(f"spdl: io: encode: samples {list(shape)}, want [samples, {channels}] of a sample_fmt without a p behind it")
            memory = _turned(samples_of(samples, "encode"))
        else:
            _check_samples(shape, "encode: samples", channels)
            memory = samples_of(samples, "encode")
        self._muxer._write(self._number, memory, None)
        self._next += memory.shape[1]

    def _reference(self, frames: ReferenceFrames) -> None:
        kind = "video" if isinstance(self._config, VideoEncodeConfig) else "audio"
        if frames.kind != kind:
            raise ArgumentError(f"spdl: io: encode: frames of {frames.kind}, want those of {kind}, which this stream is")
        given = self._config.get("rate")
        rate = Fraction(*given) if isinstance(given, list) else given
        if rate not in (None, frames.rate):
            raise ArgumentError(f"spdl: io: encode: frames of a rate of {frames.rate}, want {rate}, which is this stream's")
        if rate is not None and frames.pts != self._next:
            remedy = "samples follow one another" if kind == "audio" else "leave frame_rate out of video_encode_config to give times"
            raise ArgumentError(f"spdl: io: encode: frames from number {frames.pts} on, want {self._next}; {remedy}")
        memory = memory_of(frames.array, "encode")
        if kind == "audio":
            dtype = _SAMPLES[frames.format.removesuffix("p")]
            if memory.dtype != dtype:
                raise ArgumentError(f"spdl: io: encode: an array of {memory.dtype}, want {dtype}, which is {frames.format}")
            self._samples(memory.shape, frames.array, not frames.format.endswith("p"))
            return
        if _FFMPEGS.get(frames.format, frames.format) != self._config["input"]:
            raise ArgumentError(f"spdl: io: encode: frames of {frames.format}, want {self._config['input']}, which is this stream's input; for another give "
                                "video_encode_config input=")
        if rate is None:
            count = self._pictures_in(memory)
            self._muxer._write(self._number, memory, [float((frames.pts + i) / frames.rate) for i in range(count)])
            self._next = frames.pts + count
        else:
            self._pictures(frames.array, None)


def _turned(memory: Memory) -> Memory:
    """[samples, channels] of float32 as [channels, samples]."""
    length, channels = memory.shape
    values: Any = (ctypes.c_float * (length * channels)).from_address(memory.address)
    planes = (ctypes.c_float * (length * channels))()
    for c in range(channels):
        planes[c * length:(c + 1) * length] = values[c::channels]
    return Memory(ctypes.addressof(planes), (channels, length), "float32", 4, planes)


class Muxer(Handle):
    """A container that is written: streams are added, then it is opened, then written.

        muxer = spdl.io.Muxer("clip.mp4")
        video = muxer.add_encode_stream(spdl.io.video_encode_config(width=320, height=240, frame_rate=30))
        with muxer.open():
            video.encode(frames)               # [T, 240, 320, 3]

        demuxer, muxer = spdl.io.Demuxer("a.mp4"), spdl.io.Muxer("b.mkv")
        muxer.add_remux_stream(demuxer.video_codec)
        with muxer.open():
            for packets in demuxer.streaming_demux(demuxer.video_stream_index, num_packets=100):
                muxer.write(0, packets)

    The file appears under its name, whole, when the with-block ends; when that ends in an exception nothing stays. dst None: memory,
    whose bytes getvalue() gives after that; the format must be named.
    """

    def __init__(self, dst: Optional[Path], /, *, format: Optional[str] = None) -> None:
        self._dst, self._format = dst, format
        self._streams: list[Any] = []
        self._encoders: dict[int, Encoder] = {}
        self._handle: Optional[c_void_p] = None
        self._closed = False
        self._bytes: Optional[bytes] = None

    def add_encode_stream(self, config: Union[VideoEncodeConfig, AudioEncodeConfig], *, encoder: Optional[str] = None,
                          encoder_config: Optional[Mapping[str, Any]] = None) -> Encoder:
        """A stream that is encoded, by video_encode_config or audio_encode_config; encoder is an encoder's or a codec's name, encoder_config
        its own options."""
        if not isinstance(config, (VideoEncodeConfig, AudioEncodeConfig)):
            raise ArgumentError(f"spdl: io: muxer: a config of {type(config).__name__}, want video_encode_config's or audio_encode_config's")
        kind = "video" if isinstance(config, VideoEncodeConfig) else "audio"
        section = {**config, "options": {**config.get("options", {}), **_texts(encoder_config)}}
        if encoder is not None:
            section["codec"] = encoder
        number = self._add({kind: section})
        self._encoders[number] = Encoder(self, number, config)
        return self._encoders[number]

    def add_remux_stream(self, codec: Codec, *, bsf: Optional[str] = None) -> None:
        """A stream whose packets are written as they are, or through FFmpeg's bitstream filters."""
        self._add((stream_of(codec, "add_remux_stream"), bsf))

    def _add(self, stream: Any) -> int:
        if self._handle is not None or self._closed:
            raise ArgumentError("spdl: io: muxer: it is open; add all streams before")
        self._streams.append(stream)
        return len(self._streams) - 1

    def open(self, muxer_config: Optional[Mapping[str, Any]] = None) -> Muxer:
        """Begin the file. muxer_config are the format's own options, such as {"movflags": "+faststart"}."""
        if self._handle is not None or self._closed:
            raise ArgumentError("spdl: io: muxer: it was opened before")
        handle = c_void_p()
        description = _given(format=self._format, options=_texts(muxer_config))
        _check(_api().muxer_open(described(description), None if self._dst is None else c_text("io: the path", self._dst), handle))
        self._handle = handle
        try:
            for stream in self._streams:
                if isinstance(stream, tuple):
                    packets, bsf = stream
                    _check(_api().muxer_add_packets(handle, packets._handle, c_text("io: add_remux_stream: bsf", bsf) if bsf else None))
                else:
                    _check(_api().muxer_add(handle, described(stream)))
        except BaseException:
            self.abort()
            raise
        return self

    def write(self, stream_index: int, packets: Any) -> None:
        """Packets of the stream's codec; or what Encoder.encode takes."""
        stream_index = whole("io: muxer: stream_index", stream_index)
        if isinstance(packets, Packets):
            _check(_api().muxer_write_packets(self._opened(), stream_index, packets._handle))
            return
        self._opened()
        if stream_index not in self._encoders:
            raise ArgumentError(f"spdl: io: muxer: stream {stream_index} of {len(self._streams)} takes packets, got {type(packets).__name__}")
        self._encoders[stream_index].encode(packets)

    def _write(self, number: int, memory: Memory, seconds: Optional[Sequence[float]]) -> None:
        times = (c_double * len(seconds))(*seconds) if seconds is not None else None
        _check(_api().muxer_write(self._opened(), number, memory.address or None, memory.nbytes, times, len(seconds or ())))

    def _opened(self) -> c_void_p:
        if self._handle is None:
            raise ArgumentError(f"spdl: io: muxer: it is {'closed' if self._closed else 'not open; write in a `with muxer.open():`'}")
        return self._handle

    def flush(self) -> None:
        """Nothing: close() writes what is left."""

    def close(self) -> None:
        """End the encoders and the container, and put the file in its place. A second time it does nothing."""
        handle, self._handle = self._handle, None
        self._closed = True
        if handle is None:
            return
        if self._dst is not None:
            _check(_api().muxer_close(handle, None))
            return
        made = c_void_p()
        _check(_api().muxer_close(handle, made))
        self._bytes = bytes(_loaded(made, _NOWHERE, None)["bytes"].memoryview())

    def abort(self) -> None:
        """Give it up; nothing of the file stays."""
        handle, self._handle = self._handle, None
        self._closed = True
        if handle is not None:
            _api().muxer_abort(handle)

    def getvalue(self) -> bytes:
        """The bytes of a container in memory, once it is closed."""
        if self._bytes is None:
            raise ArgumentError("spdl: io: muxer: no bytes: it is not closed, or has a file")
        return self._bytes

    def __enter__(self) -> Muxer:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is None:
            self.close()
        else:
            self.abort()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.abort()
