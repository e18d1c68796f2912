"""The functions of libraries that open sounds and videos, and what they return."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional

from . import films, sounds
from .counts import Behind, Drawn, Rate
from .sounds import SOXR, Cannot, Seconds, Sound, Told, cropped

PARTS = {"torchaudio": (("frame_offset", "num_frames"), ("frame_offset", "num_frames")), "soundfile": (("frames", "start", "stop"), ("frames", "start")),
         "librosa": (("sr", "mono", "offset", "duration"), ("offset", "duration"))}  # the arguments behind a path, and those that may be others in each sample


class Decoder(NamedTuple):
    """torchcodec's AudioDecoder."""

    sound: Sound


class Decoded(NamedTuple):
    """What that returns."""

    sound: Sound


def is_open(function: Any) -> str:
    """The library whose function opens sounds, or videos; "": it is another."""
    home, name = str(getattr(function, "__module__", "") or ""), str(getattr(function, "__name__", ""))
    known = (("torchaudio", "load"), ("soundfile", "read"), ("librosa", "load"), ("torchcodec", "AudioDecoder"), ("torchcodec", "VideoDecoder"), ("scipy", "read"))
    library = home.partition(".")[0]
    return library if (library, name) in known and (library != "scipy" or home.startswith("scipy.io")) else ""


def is_info(function: Any) -> bool:
    """Whether it says what a file has."""
    home, name = str(getattr(function, "__module__", "") or ""), str(getattr(function, "__name__", ""))
    return name == "info" and home.partition(".")[0] in ("torchaudio", "soundfile")


def opened(function: Any, args: Sequence[Any], named: dict[str, Any], file: int) -> Any:
    """What one of them returns, with known arguments behind the path. Raises Cannot."""
    library = is_open(function)
    opens: dict[str, Callable[..., Any]] = {"torchaudio": _torchaudio, "soundfile": _soundfile, "librosa": _librosa, "torchcodec": _torchcodec, "scipy": _scipy}
    try:
        if function.__name__ == "VideoDecoder":
            return films.opened(file, *args, **named)
        return opens[library](Sound(file=file, of=library), *args, **named)
    except TypeError:
        raise Cannot("want arguments that are known here") from None


def _torchaudio(one: Sound, frame_offset: Any = 0, num_frames: Any = -1, normalize: bool = True, channels_first: bool = True, format: Any = None, buffer_size: int = 4096, backend: Any = None) -> Any:
    if normalize is not True or isinstance(frame_offset, int) and frame_offset < 0:
        raise Cannot("want normalize=True: samples are from -1 to 1")
    axes = "CL" if channels_first else "LC"
    return _part(one._replace(axes=axes), frame_offset, num_frames if not isinstance(num_frames, int) or num_frames > 0 else None), Rate(one.file)


def _part(one: Sound, start: Any, frames: Any) -> Sound:
    """What is read of a file."""
    if isinstance(start, Drawn):
        if frames is None or isinstance(frames, Told) or not start.fits(one, frames):
            raise Cannot("want a part of n samples from a place on that is drawn from 0 to num_frames - n, of that file")
        return cropped(one, frames, "random", start.call)
    if not all(one is None or isinstance(one, (int, float, Seconds, Told)) for one in (start, frames)):
        raise Cannot("want a part that is known, one that code says for each sample, or a place that is drawn from 0 to num_frames - n")
    return one if type(start) is int and start == 0 and frames is None else one._replace(window=(start, frames))


def _soundfile(one: Sound, frames: Any = -1, start: Any = 0, stop: Any = None, dtype: str = "float64", always_2d: bool = False, fill_value: Any = None) -> Any:
    if dtype not in ("float32", "float64", "int16") or fill_value is not None or isinstance(start, int) and (start < 0 or isinstance(stop, int) and stop <= start):
        raise Cannot("want dtype=\"float32\", \"float64\" or \"int16\"")
    length: Any = None if isinstance(frames, int) and frames < 0 else frames
    if stop is not None:
        length = stop.length if isinstance(stop, Behind) and stop.start == start else stop - start if isinstance(stop, int) and isinstance(start, int) else stop
    kind = {"float32": "f32", "float64": "f64", "int16": "i16"}[dtype]
    return _part(one._replace(axes="LC" if always_2d else "?", array=True, dtype=kind), start, length), Rate(one.file)


def _librosa(one: Sound, sr: Any = 22050, mono: bool = True, offset: Any = 0.0, duration: Any = None, dtype: Any = None, res_type: str = "soxr_hq") -> Any:
    if mono is not True or dtype is not None and getattr(dtype, "__name__", "") != "float32":
        raise Cannot("want mono=True, and dtype=np.float32")
    if sr is not None and (not isinstance(sr, (int, float)) or sr != int(sr)):
        raise Cannot("want sr=None, or a whole number of samples a second")
    rate, by_soxr = None if sr is None else int(sr), res_type == "soxr_hq"
    start, length = [Seconds(one) if isinstance(one, (int, float)) and one else one for one in (offset, duration)]
    one = one._replace(axes="L", array=True, channels=1)
    one = one if rate is None else sounds.resampled(one, None, rate, SOXR, False) if by_soxr else one._replace(of_rate=rate)
    return _part(one, start or 0, length), Rate(one.file, rate if rate is None else sr)


def _torchcodec(one: Sound, stream_index: Any = None, sample_rate: Optional[int] = None, num_channels: Optional[int] = None) -> Any:
    if stream_index is not None:
        raise Cannot("want the first sound of a file, without stream_index")
    return Decoder(one._replace(of_rate=sample_rate, files=num_channels))


def _scipy(one: Sound, mmap: bool = False) -> Any:
    return Rate(one.file), one._replace(axes="?", array=True, dtype="i16")
