"""The functions of libraries that open sounds and videos, and what they return."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional

from . import films
from .counts import Rate
from .sounds import Cannot, Seconds, Sound


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


def _torchaudio(one: Sound, frame_offset: int = 0, num_frames: int = -1, normalize: bool = True, channels_first: bool = True, format: Any = None, buffer_size: int = 4096, backend: Any = None) -> Any:
    if normalize is not True or frame_offset < 0:
        raise Cannot("want normalize=True: samples are from -1 to 1")
    axes = "CL" if channels_first else "LC"
    return one._replace(axes=axes, window=_part(frame_offset, num_frames if num_frames > 0 else None)), Rate(one.file)


def _part(start: Any, frames: Any) -> Optional[tuple[Any, Any]]:
    return None if start == 0 and frames is None else (start, frames)


def _soundfile(one: Sound, frames: int = -1, start: int = 0, stop: Optional[int] = None, dtype: str = "float64", always_2d: bool = False, fill_value: Any = None) -> Any:
    if dtype not in ("float32", "float64", "int16") or fill_value is not None or start < 0 or stop is not None and stop <= start:
        raise Cannot("want dtype=\"float32\", \"float64\" or \"int16\"")
    length = frames if frames >= 0 else None if stop is None else stop - start
    kind = {"float32": "f32", "float64": "f64", "int16": "i16"}[dtype]
    return one._replace(axes="LC" if always_2d else "?", array=True, dtype=kind, window=_part(start, length)), Rate(one.file)


def _librosa(one: Sound, sr: Any = 22050, mono: bool = True, offset: float = 0.0, duration: Optional[float] = None, dtype: Any = None, res_type: str = "soxr_hq") -> Any:
    if mono is not True or dtype is not None and getattr(dtype, "__name__", "") != "float32":
        raise Cannot("want mono=True, and dtype=np.float32")
    if sr is not None and (not isinstance(sr, (int, float)) or sr != int(sr)):
        raise Cannot("want sr=None, or a whole number of samples a second")
    rate = None if sr is None else int(sr)
    window = _part(Seconds(offset) if offset else 0, None if duration is None else Seconds(duration))
    return one._replace(axes="L", array=True, channels=1, of_rate=rate, window=window), Rate(one.file, rate)


def _torchcodec(one: Sound, stream_index: Any = None, sample_rate: Optional[int] = None, num_channels: Optional[int] = None) -> Any:
    if stream_index is not None:
        raise Cannot("want the first sound of a file, without stream_index")
    return Decoder(one._replace(of_rate=sample_rate, files=num_channels))


def _scipy(one: Sound, mmap: bool = False) -> Any:
    return Rate(one.file), one._replace(axes="?", array=True, dtype="i16")
