"""What files of sounds say of themselves, what all of a data set have to be, and which parts of them its code takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

from .annotated import Unknown
from .sounds import Played, Seconds, Sound, Told, is_told

_RESAMPLERS = {  # of libraries that resample while they open, and what resamples as the engine does
    "librosa": ("another res_type", "res_type=\"soxr_hq\", which is librosa's default,"), "torchcodec": ("FFmpeg's swresample, which ends elsewhere", "torchaudio.functional.resample"),
}
_EXACT = ("pcm_u8", "pcm_s8", "pcm_s16", "pcm_s24", "flac", "pcm_mulaw", "pcm_alaw", "pcm_f32")  # codecs whose samples floats of 32 bits have whole


def window_columns(window: tuple[Any, Any]) -> tuple[str, str]:
    """The columns that say so, "": there is none of how long it is."""
    number = next(one.number for one in window if isinstance(one, Told))
    return f"at{number}", "" if window[1] is None else f"for{number}"


def part(window: tuple[Any, Any], told: Sequence[Any], got: Facts) -> dict[str, float]:
    """Those columns of a sample, in seconds, of what code says of it. Raises Unknown."""
    start, length = [samples(one, told, got.rate) for one in window]
    if start is None or start < 0 or length is not None and length == 0 or length is not None and length < 0 and not isinstance(window[1], Told):
        raise Unknown(f"takes {length} samples from sample {start} on, want one at least, from 0 on")
    if length is None or length < 0:  # to the end
        length = max(1, (got.frames or 1 << 40) - start)
    at, long = window_columns(window)
    return {at: start / got.rate, **({long: length / got.rate} if long else {})}


def is_same_part(window: Any, first: int, rate: int) -> bool:
    """Whether a part that is said in seconds, as a description has it of files of the first rate, is what its code takes at another."""
    if not isinstance(window, tuple) or isinstance(window, Played) or is_told(window) or not any(isinstance(one, Seconds) for one in window):
        return True
    start, length = [0 if one is None else samples(one, (), first) or 0 for one in window]
    begin, end = [_at(nanoseconds, rate) for nanoseconds in (nanoseconds(start, first), nanoseconds(start, first) + nanoseconds(length, first))]
    wanted = [0 if one is None else samples(one, (), rate) for one in window]
    return begin is not None and end is not None and [begin, end - begin if window[1] is not None else 0] == wanted


def nanoseconds(frames: int, rate: int) -> int:
    return round(frames * 10**9 / rate)


def _at(nanoseconds: int, rate: int) -> Optional[int]:
    """The sample that the engine has there; None: it is not sure which."""
    whole, rest = divmod(nanoseconds * rate, 10**9)
    return None if abs(rest - 5 * 10**8) <= 2 * rate else whole + (rest > 5 * 10**8)


def samples(one: Any, told: Sequence[Any], rate: int) -> Optional[int]:
    if not isinstance(one, Told):
        return one.at(rate) if isinstance(one, Seconds) else one
    value = told[one.number]
    value = value.item() if hasattr(value, "item") else value
    if type(value) not in ((int, float) if one.seconds else (int,)):
        raise Unknown(f"has {value!r:.60} for where its sound begins or how long it is, want {'a number of seconds' if one.seconds else 'a whole number of samples'}")
    return int(value * rate) if one.seconds else int(value)


class Facts(NamedTuple):
    """What a file says of itself."""

    rate: int
    channels: int
    frames: Optional[int]  # None: it does not say
    codec: str


def facts(of: Any) -> Optional[Facts]:
    """Of a path, or the bytes of a file. None: it cannot be read, which the engine tells when its turn comes."""
    from ..io import probe_audio
    from .._errors import SpdlError

    try:
        said = probe_audio(of)
    except (SpdlError, OSError):
        return None
    if said["rate"] <= 0 or said["channels"] <= 0:
        return None
    frames = said["frames"] if said["frames"] >= 0 else round(said["seconds"] * said["rate"]) if said["seconds"] and said["seconds"] > 0 else None
    return Facts(said["rate"], said["channels"], frames, said["codec"])


def rate_of(path: Any) -> int:
    """Its samples a second, where a program asks for them. Raises OSError of what cannot be read."""
    if (said := facts(path)) is None:
        raise OSError(f"{path} cannot be read as a sound")
    return said.rate


class Want(NamedTuple):
    """What the files of a sound have to be, as its code has it for granted and as the first sample has it."""

    sounds: Sequence[Sound]
    first: Facts

    def check(self, got: Facts) -> str:
        """What is wrong with a file, and what is wanted; "": nothing."""
        for one in self.sounds:
            if got.codec == "opus" and one.of in ("torchaudio", "torchcodec"):
                return f"is of Opus, which {one.of} decodes by FFmpeg's decoder and the engine by libopus, want sounds of another codec, or a description (docs/audio.md#opus)"
            if one.of in _RESAMPLERS and one.of_rate is not None and one.rate is None and got.rate != one.of_rate:
                by, instead = _RESAMPLERS[one.of]
                return f"has {got.rate} samples a second, which {one.of} resamples to {one.of_rate} by {by}, want {one.of_rate}: {instead} is the same here"
            rate = one.of_rate if one.of_rate is not None else self.first.rate if one.alike else got.rate
            if got.rate != rate:
                return f"has {got.rate} samples a second, want {rate}{', as its code says' if one.of_rate is not None else ', as the first sample has it'}: " \
                       "torchaudio.functional.resample(waveform, sample_rate, 16000) brings sounds of any rate to one"
            if got.rate != self.first.rate and not is_same_part(one.window, self.first.rate, got.rate):
                return f"has {got.rate} samples a second, at which the part that its code takes of it begins or ends beside a sample, want {self.first.rate}, as the first sample has it, or times that are whole numbers of samples at both"
            channels = one.files if one.files is not None else got.channels if one.channels is not None else self.first.channels
            want = f"{channels}" if got.channels != channels else f"{one.upto} at most" if one.upto is not None and got.channels > one.upto else f"more than {one.select}" if (one.select or 0) >= got.channels else ""
            if want:
                return f"has {got.channels} channels, want {want}: waveform.mean(0, keepdim=True) makes one of them"
            if one.dtype in ("i16", "whole") and not got.codec.startswith("pcm_s16"):
                return f"is of {got.codec}, and its code reads samples as its file has them, want 16 bits"
            if one.of == "scipy" and not got.codec.startswith("pcm_s16"):
                return f"is of {got.codec}, want samples of 16 bits, of which scipy.io.wavfile makes int16"
            if one.dtype == "f64" and not got.codec.startswith(_EXACT):
                return f"is of {got.codec}, whose samples are of 64 bits in its code, want dtype=\"float32\", or .astype(np.float32) or .float() behind it"
        return ""
