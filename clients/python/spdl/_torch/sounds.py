"""A sound that a data set of one's own opens: what its code has made of it, and the section of a description that is the same."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Optional, Union

from . import levels, librosa, spectra
from .annotated import Unknown
from .levels import Each

LIBRARIES = ("torchaudio", "torchcodec", "soundfile", "librosa", "scipy")
_RESAMPLERS = {  # of libraries that resample while they open, and what resamples as the engine does
    "librosa": ("another res_type", "res_type=\"soxr_hq\", which is librosa's default,"), "torchcodec": ("FFmpeg's swresample, which ends elsewhere", "torchaudio.functional.resample"),
}
SOXR = (("method", "soxr_hq"),)  # librosa's way to resample
_EXACT = ("pcm_u8", "pcm_s8", "pcm_s16", "pcm_s24", "flac", "pcm_mulaw", "pcm_alaw", "pcm_f32")  # codecs whose samples floats of 32 bits have whole


_CENTRED = "want that ahead of torchaudio.compliance.kaldi.fbank alone, which takes its mean from each frame"


class Cannot(Exception):
    """Why something is not done to a sound here, and what is wanted."""


class Seconds(NamedTuple):
    """A number of samples that is so many seconds of a file, cut to a whole number."""

    seconds: float
    file: int = -1  # by its number; -1: whichever it is of

    def at(self, rate: int) -> int:
        return int(rate * self.seconds)


class Told(NamedTuple):
    """A number of samples, or of seconds, that code says for each sample, by its number."""

    number: int
    seconds: bool = False


Frames = Union[int, Seconds, Told]


class Played(NamedTuple):
    """What is heard between two seconds of a file, as torchcodec counts them."""

    start: float
    stop: Optional[float]


class Sound(NamedTuple):
    """A sound, and what has become of it."""

    file: int = 0  # of those that are opened, its number
    of: str = "torchaudio"  # the library that opens it
    axes: str = "CL"  # its axes: C channels, L samples, F bands, T steps, 1 an axis of one; "?": [L], or of several channels [L, C], as soundfile and SciPy have it
    array: bool = False  # of NumPy
    dtype: str = "f32"  # of its numbers: "f64"; "i16", and "whole" where these are floats already; "scaled": floats times 32768
    channels: Optional[int] = None  # None: its file's
    select: Optional[int] = None  # the channel of its file that it is
    files: Optional[int] = None  # channels that its file has to have
    upto: Optional[int] = None  # or has at most
    window: Union[None, Played, tuple[Frames, Optional[Frames]]] = None  # where it begins in its file, and how long it is; None: to the end
    rate: Optional[int] = None  # that it was brought to; None: its file's
    of_rate: Optional[int] = None  # that its file has to have
    resample: tuple[tuple[str, Any], ...] = ()
    doubles: bool = False  # whether by filters that are made in doubles, as torchaudio.transforms.Resample makes them, and functional.resample not
    length: Optional[Frames] = None  # that it was brought to
    crop: str = ""  # where longer ones were cut
    drawn: int = 0  # the call that draws where a crop begins; 0: none
    padded: bool = False  # whether shorter ones have zeros behind
    centred: bool = False  # whether its mean was taken away, as each of Kaldi's frames loses its own anyway
    level: tuple[Each, ...] = ()  # what the loop does to its numbers ahead of zeros behind, and of a crop that is its own
    cut: bool = False  # whether the crop is the loop's, behind what is measured of the whole
    peak: bool = False  # whether the engine divides it by its peak
    features: tuple[spectra.Feature, ...] = ()
    then: tuple[Each, ...] = ()  # what the loop does to its numbers, or to those of its features
    row_axes: str = ""  # those that rows have ahead of what the loop does, where that changes them; "": axes
    began: bool = False  # whether it was an array of NumPy's ahead of what the loop does

    @property
    def flat(self) -> bool:
        return "C" not in self.axes

    @property
    def alike(self) -> bool:
        """Whether all files have to have the rate of the first."""
        by_samples = isinstance(self.window, tuple) and not isinstance(self.window, Played) and any(type(one) is int and one > 0 for one in self.window)  # which are times of a description
        return self.rate is None or by_samples or isinstance(self.length, Seconds) or any(one.by_file for one in self.features)

    def form(self, first: Facts) -> Any:
        """What two data sets have to have in common, to be one."""
        return self._replace(features=(), drawn=0), spectra.told(self.features, self.rate or first.rate, first.rate)

    def frames(self) -> Sound:
        """What its number of samples goes by."""
        return Sound(file=self.file, window=self.window, rate=self.rate, length=self.length, crop=self.crop, padded=self.padded)


def is_told(window: Any) -> bool:
    """Whether code says for each sample where it begins, or how long it is."""
    return isinstance(window, tuple) and not isinstance(window, Played) and any(isinstance(one, Told) for one in window)


def window_columns(window: tuple[Any, Any]) -> tuple[str, str]:
    """The columns that say so, "": there is none of how long it is."""
    number = next(one.number for one in window if isinstance(one, Told))
    return f"at{number}", "" if window[1] is None else f"for{number}"


def part(window: tuple[Any, Any], told: Sequence[Any], got: Facts) -> dict[str, float]:
    """Those columns of a sample, in seconds, of what code says of it. Raises Unknown."""
    start, length = [_samples(one, told, got.rate) for one in window]
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
    start, length = [0 if one is None else _samples(one, (), first) or 0 for one in window]
    begin, end = [_at(nanoseconds, rate) for nanoseconds in (_nanoseconds(start, first), _nanoseconds(start, first) + _nanoseconds(length, first))]
    wanted = [0 if one is None else _samples(one, (), rate) for one in window]
    return begin is not None and end is not None and [begin, end - begin if window[1] is not None else 0] == wanted


def _nanoseconds(frames: int, rate: int) -> int:
    return round(frames * 10**9 / rate)


def _at(nanoseconds: int, rate: int) -> Optional[int]:
    """The sample that the engine has there; None: it is not sure which."""
    whole, rest = divmod(nanoseconds * rate, 10**9)
    return None if abs(rest - 5 * 10**8) <= 2 * rate else whole + (rest > 5 * 10**8)


def _samples(one: Any, told: Sequence[Any], rate: int) -> Optional[int]:
    if not isinstance(one, Told):
        return one.at(rate) if isinstance(one, Seconds) else one
    value = told[one.number]
    value = value.item() if hasattr(value, "item") else value
    if type(value) not in ((int, float) if one.seconds else (int,)):
        raise Unknown(f"has {value!r:.60} for where its sound begins or how long it is, want {'a number of seconds' if one.seconds else 'a whole number of samples'}")
    return int(value * rate) if one.seconds else int(value)


# ---- what is done to it


def _check_open(one: Sound, what: str) -> None:
    if one.features or one.then or one.level or one.centred:
        raise Cannot(f"want {what} in front of what is made of the samples")


def _check_length(one: Sound, length: Frames) -> None:
    if isinstance(length, Seconds) and length.file not in (-1, one.file):
        raise Cannot("want a length by the rate of its own file")


def mono(one: Sound, axis: int, keep: bool) -> Sound:
    """The mean of its channels."""
    _check_open(one, "the mean of channels")
    if one.dtype == "i16":
        raise Cannot("want samples in floats ahead of the mean: x.astype(np.float32)")
    one = two_axes(one)
    if one.axes[axis:][:1] != "C" and (axis >= 0 or one.axes[axis] != "C"):
        raise Cannot("want the mean over channels")
    axes = one.axes.replace("C", "C" if keep else "")
    return one._replace(axes=axes, channels=1 if one.select is None else one.channels)


def two_axes(one: Sound) -> Sound:
    """Of one that has channels behind its samples where there are several."""
    return one._replace(axes="LC") if one.axes == "?" else one


def channel(one: Sound, number: int, keep: bool) -> Sound:
    """One of its channels: w[0], or w[:1]."""
    _check_open(one, "the choice of a channel")
    if one.channels is not None and number == 0 and one.channels == 1:
        return one._replace(axes=one.axes if keep else one.axes.replace("C", ""))
    if one.channels is not None or number < 0:
        raise Cannot("want a channel of its file, counted from 0")
    one = two_axes(one)
    return one._replace(axes=one.axes if keep else one.axes.replace("C", ""), channels=1, select=number)


def copied(one: Sound, times: int) -> Sound:
    """The same channel several times."""
    _check_open(one, "copies of a channel")
    if one.axes != "CL" or one.channels is not None:
        raise Cannot("want copies of the only channel of a file")
    return one._replace(channels=times, files=1)


def resampled(one: Sound, rate: Any, new: int, how: Sequence[tuple[str, Any]], doubles: bool) -> Sound:
    """Brought to another rate, from one that is known, or from its file's (None)."""
    _check_open(one, "resampling")
    if one.length is not None:
        raise Cannot("want resampling ahead of what crops or pads: lengths are counted at the rate of rows")
    if one.rate is not None and (rate == one.rate or rate is None) and new == one.rate:
        return one
    if one.rate is not None or new < 1:
        raise Cannot("want resampling once, to a whole number of samples a second")
    if one.dtype in ("i16", "whole", "scaled"):
        raise Cannot("want resampling of samples from -1 to 1")
    return one._replace(rate=new, of_rate=one.of_rate if rate is None else rate, resample=tuple(how), doubles=doubles or one.dtype == "f64" and tuple(how) != SOXR)


def cropped(one: Sound, length: Frames, where: str, drawn: int = 0) -> Sound:
    """Cut to a length. What was done to each of its numbers is done behind, and what goes by all of them ahead, by the loop."""
    one = settled(one)
    if one.features:
        raise Cannot("want a crop of the samples in front of what is made of them")
    _check_length(one, length)
    if one.length is not None and one.length != length or one.crop and where != "start":
        raise Cannot("want one length that sounds are brought to")
    if one.crop:
        return one
    if not one.padded and any(each.by_row for each in one.then):
        one = levelled(one)
    if one.level and where == "random":
        raise Cannot("want a crop that is drawn in front of what is measured of the whole sound, such as its peak: the engine draws it, and makes no more of a sound than that")
    return one._replace(length=length, crop=where, drawn=drawn, cut=bool(one.level))


def filled(one: Sound, length: Frames) -> Sound:
    """With zeros behind, up to a length."""
    one = settled(one)
    if one.features:
        raise Cannot("want zeros behind the samples in front of what is made of them")
    _check_length(one, length)
    if one.length is not None and one.length != length:
        raise Cannot("want one length that sounds are brought to")
    return levelled(one)._replace(length=length, padded=True)


def levelled(one: Sound) -> Sound:
    """With what was done to its numbers ahead of what comes."""
    if one.then and one.level and (one.padded or any(each.by_row for each in one.then)):
        raise Cannot("want a crop and zeros behind together, and what is measured of it in front of both or behind")
    return one._replace(level=(*one.level, *one.then), then=()) if one.then else one


def settled(one: Sound) -> Sound:
    """Without its mean by the loop, where the engine has no use for it."""
    if not one.centred:
        return one
    one = one._replace(centred=False)
    mean = levels.measured(bare(one), one.then, ("mean",), lambda row: row.mean())
    return then(one, levels.put((), "-", lambda row, number: row - number, mean))


def put(one: Sound, said: str, by: Callable[[Any, Any], Any], other: levels.Measured) -> Sound:
    """What is done to its numbers by one that was measured of it."""
    one = settled(one)
    if other.of != bare(one):
        raise Cannot("want what is measured of a sound to be put to its own samples, as they are there: w / w.abs().max(), in front of crops and zeros or behind both")
    return then(one._replace(then=()), levels.put(one.then, said, by, other))


def bare(one: Sound) -> Sound:
    """What a number that is measured of it goes by."""
    return one._replace(then=(), began=one.began if one.then or one.level else one.array, array=one.began if one.then or one.level else one.array)


def featured(one: Sound, feature: spectra.Feature) -> Sound:
    """Through one of torchaudio's transforms."""
    if feature.axes:  # of samples
        if not one.cut and not one.features and [each.peak for each in (*one.level, *one.then)] == [True] and one.dtype == "f32" and feature.axes == "FT":
            one = one._replace(level=(), then=(), peak=True)
        if one.level or one.peak and feature.axes == "TF":
            raise Cannot("want it of samples as their files have them, or divided by their peak behind a crop, in front of torchaudio's spectra alone")
        if one.features or one.then or one.array or one.dtype not in ("f32", *feature.takes):
            raise Cannot("want it of a tensor of samples from -1 to 1, in floats of 32 bits: torch.from_numpy(x).float() makes one of an array")
        if feature.axes == "TF":
            if one.axes != "CL":
                raise Cannot("want it of [channels, samples]")
            one = one._replace(axes="CL", channels=1, select=0 if one.channels is None else one.select)
            return one._replace(axes="TF", dtype="f32", centred=False, features=(feature._replace(of_16_bits=one.dtype == "scaled"),))
        if one.centred:
            raise Cannot(_CENTRED)
        if not one.axes.endswith("L") or one.axes.strip("1") not in ("CL", "L"):
            raise Cannot("want it of [channels, samples] or [samples]")
        return one._replace(axes=one.axes.replace("L", "FT"), features=(feature,))
    if not one.features or one.then or not one.axes.endswith("FT"):
        raise Cannot("want it right behind a spectrum, such as torchaudio.transforms.MelSpectrogram makes")
    return one._replace(features=(*one.features, feature))


def featured_by(one: Sound, feature: spectra.Feature) -> Sound:
    """Through one of librosa's functions."""
    if not feature.axes:
        if one.then or not one.features or any(not isinstance(each.of, librosa.Call) for each in one.features) or one.axes != "FT":
            raise Cannot("want it right behind librosa.stft or librosa.feature.melspectrogram")
        return one._replace(features=(*one.features, feature))
    if one.axes == "?":
        one = one._replace(axes="L", files=1)
    if one.features or not one.array or one.axes != "L" or one.dtype != "f32":
        raise Cannot("want it of an array of [samples] from -1 to 1, in floats of 32 bits, as librosa.load returns")
    if not one.cut and [each.peak for each in (*one.level, *one.then)] == [True]:
        one = one._replace(level=(), then=(), peak=True)
    if one.level or one.then or one.centred:
        raise Cannot("want it of samples as their files have them, or divided by their peak behind a crop")
    return one._replace(axes="FT", features=(feature,))


def squared(one: Sound) -> Optional[Sound]:
    """Magnitudes of librosa.stft as powers; None: they are something else."""
    if one.then or len(one.features) != 1 or not isinstance(call := one.features[0].of, librosa.Call) or call.name != "stft" or call.power != 1:
        return None
    return one._replace(features=(one.features[0]._replace(of=call._replace(power=2, given=(*call.given, ("power", 2)))),))


def centred(one: Sound) -> Sound:
    """Without its mean: w - w.mean()."""
    if one.features or one.then or one.level or one.centred or one.dtype != "f32":
        one = settled(one)
        return put(one, "-", lambda row, number: row - number, levels.measured(bare(one), one.then, ("mean",), lambda row: row.mean()))
    return one._replace(centred=True)


def moved(one: Sound, axes: Sequence[int]) -> Sound:
    """With its axes in another order."""
    if one.axes == "?" or sorted(axes) != list(range(len(one.axes))):
        raise Cannot("want its axes in another order, each once")
    _check_axes(one)
    return one._replace(axes="".join([one.axes[axis] for axis in axes]))


def squeezed(one: Sound, axis: Optional[int]) -> Sound:
    """Without axes of one."""
    _check_axes(one)
    axes, one_of_file = one.axes, one
    for at in reversed(range(len(axes))):
        if (axis is None or axis % len(axes) == at) and axes[at] in "1C":
            if axes[at] == "C":
                if one.channels is None:
                    one_of_file = one_of_file._replace(files=1)
                elif one.channels != 1:
                    continue
            one_of_file = one_of_file._replace(axes=one_of_file.axes[:at] + one_of_file.axes[at + 1:])
    return one_of_file


def widened(one: Sound, axis: int) -> Sound:
    """With an axis of one, which is the channels' where it has none."""
    if one.axes == "?":
        one = one._replace(axes="L", files=1)
    _check_axes(one)
    at = axis if axis >= 0 else len(one.axes) + 1 + axis
    if not 0 <= at <= len(one.axes):
        raise Cannot("want an axis that it has")
    letter = "C" if one.flat and at == 0 else "1"
    if letter == "C" and one.channels is None:
        one = one._replace(channels=1, files=1)
    return one._replace(axes=one.axes[:at] + letter + one.axes[at:])


def stacked(one: Sound, times: int, axis: int) -> Sound:
    """Several times what is made of it, along a new axis."""
    _check_copies(one, times)
    at = axis if axis >= 0 else len(one.axes) + 1 + axis
    if not 0 <= at <= len(one.axes):
        raise Cannot("want an axis that it has")
    made = then(one, Each(("stack", times, at), lambda rows: _library(rows).stack([rows] * times, **{"axis" if hasattr(rows, "astype") else "dim": at + 1}), along=True))
    return made._replace(axes=one.axes[:at] + "S" + one.axes[at:], row_axes=one.row_axes or one.axes)


def repeated(one: Sound, times: int, axis: int) -> Sound:
    """Several times what is made of it, along an axis of one."""
    _check_copies(one, times)
    at = axis if axis >= 0 else len(one.axes) + axis
    if not 0 <= at < len(one.axes) or one.axes[at] not in "1C" or one.axes[at] == "C" and one.channels != 1:
        raise Cannot("want copies along an axis of one")
    made = then(one, Each(("repeat", times, at), lambda rows: _library(rows).concatenate([rows] * times, **{"axis" if hasattr(rows, "astype") else "dim": at + 1}), along=True))
    return made._replace(axes=one.axes[:at] + "S" + one.axes[at + 1:], row_axes=one.row_axes or one.axes)


def _check_copies(one: Sound, times: int) -> None:
    _check_axes(one)
    if not one.features or type(times) is not int or not 1 <= times <= 64:
        raise Cannot("want copies of what is made of the samples")


def _library(rows: Any) -> Any:
    return sys.modules["numpy" if hasattr(rows, "astype") else "torch"]


def _check_axes(one: Sound) -> None:
    if any(each.along for each in (*one.level, *one.then)):
        raise Cannot("want axes as they are behind what is measured along one of them, and another order in front of that")


def cast(one: Sound, to: str) -> Sound:
    """With numbers of another type: f32 or f64."""
    if one.then or one.level or one.features:
        return then(one, Each(("as", to), lambda rows: _as(rows, to)))
    if to == "f32" and one.dtype in ("i16", "whole"):
        return one._replace(dtype="whole")
    if to == "f32" and one.dtype in ("f32", "f64"):
        return one._replace(dtype="f32")
    if to == "f64" and one.dtype in ("f32", "f64"):
        return one._replace(dtype="f64")
    if to == one.dtype:
        return one
    raise Cannot("want samples in floats of 32 bits")


def then(one: Sound, each: Each) -> Sound:
    """What the loop does with whole batches."""
    one = settled(one)
    return one._replace(then=(*one.then, each), began=one.began if one.then or one.level else one.array)


def divided(one: Sound, number: float) -> Optional[Sound]:
    """Whole numbers of 16 bits, in floats, to -1 to 1; None: something else."""
    return one._replace(dtype="f32") if one.dtype == "whole" and number == 32768 and not one.then and not one.level else None


def multiplied(one: Sound, number: float) -> Optional[Sound]:
    """As Kaldi counts samples; None: something else."""
    return one._replace(dtype="scaled") if one.dtype == "f32" and number == 32768 and not one.then and not one.level and not one.features else None


# ---- what all files have to be


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


# ---- as a description


class Row(NamedTuple):
    """What becomes of a sound's row."""

    axes: str  # as its code has them
    engines: str  # as rows of a batch have them; of a list each has time first
    array: bool  # of NumPy, where what is done to its numbers begins
    then: Sequence[Callable[[Any], Any]]
    kind: str = ""
    lengths: bool = False  # whether rows of a batch have to have one length, which its field of lengths says
    level: Sequence[Callable[[Any], Any]] = ()  # what is done to a row's own samples
    room: Optional[int] = None  # samples that rows have then
    cut: str = ""  # where they are cut to these; "": the engine has done it
    padded: bool = False  # whether there are zeros behind
    owns: bool = False  # whether lengths say what a row's own samples are

    @property
    def asks(self) -> bool:
        """Whether its field of lengths is wanted."""
        return self.lengths or self.owns

    def ends(self, lengths: Sequence[int]) -> Sequence[int]:
        """Lengths that have to be one."""
        return lengths if self.lengths else [min(one, self.room or one) for one in lengths] if self.cut and not self.padded else []

    def __call__(self, rows: Any, lengths: Optional[Sequence[int]] = None) -> Any:
        if isinstance(rows, list):
            return [self._ordered(one, self.engines[-1] + self.engines[:-1], [one.shape[1]])[0] for one in [one[None] for one in rows]]
        return self._ordered(rows, self.engines, lengths)

    def _ordered(self, rows: Any, engines: str, lengths: Optional[Sequence[int]]) -> Any:
        """[N, *engines] as [N, *axes]."""
        wanted, at = [axis for axis in self.axes if axis in engines], 0
        for axis in engines:
            if axis not in self.axes:  # of one channel
                rows = rows.squeeze(1 + at) if hasattr(rows, "unsqueeze") else rows.squeeze(axis=1 + at)
            else:
                at += 1
        left = [axis for axis in engines if axis in self.axes]
        if left != wanted:
            order = (0, *[1 + left.index(axis) for axis in wanted])
            rows = rows.permute(order) if hasattr(rows, "permute") else rows.transpose(order)
        for at, axis in enumerate(self.axes, 1):
            if axis not in engines:
                rows = rows.unsqueeze(at) if hasattr(rows, "unsqueeze") else rows.reshape((*rows.shape[:at], 1, *rows.shape[at:]))
        if self.array or self.then or self.level:
            rows = rows if self.array or hasattr(rows, "unsqueeze") else sys.modules["torch"].from_numpy(rows)
            rows = rows.numpy() if self.array and hasattr(rows, "numpy") else rows
        if self.level and lengths is not None:
            rows = self._levelled(rows, lengths)
        for each in self.then:
            rows = each(rows)
        return rows

    def _levelled(self, rows: Any, lengths: Sequence[int]) -> Any:
        """Each with what is done to its own samples, ahead of zeros behind them."""
        time, made = self.axes.index("L"), []
        for row, length in zip(rows, lengths):
            own = row[_along(time, slice(length))]
            own = own[None].contiguous() if hasattr(own, "contiguous") else sys.modules["numpy"].ascontiguousarray(own[None])
            for each in self.level:
                own = each(own)
            made.append(self._brought(own[0], time))
        return sys.modules["torch"].stack(made) if hasattr(made[0], "unsqueeze") else sys.modules["numpy"].stack(made)

    def _brought(self, own: Any, time: int) -> Any:
        """To the length of rows."""
        length, room = own.shape[time], self.room
        if self.cut and room is not None and length > room:
            start = (length - room) // 2 if self.cut == "center" else 0
            return own[_along(time, slice(start, start + room))]
        if not self.padded or room is None or length >= room:
            return own
        shape = (*own.shape[:time], room, *own.shape[time + 1:])
        made = own.new_zeros(shape) if hasattr(own, "new_zeros") else sys.modules["numpy"].zeros(shape, own.dtype)
        made[_along(time, slice(length))] = own
        return made


def _along(axis: int, part: slice) -> tuple[slice, ...]:
    return (*[slice(None) for _ in range(axis)], part)


def _as(rows: Any, to: str) -> Any:
    """Rows in floats of so many bits."""
    if hasattr(rows, "astype"):
        return rows.astype("float32" if to == "f32" else "float64")
    return rows.float() if to == "f32" else rows.double()


def section(one: Sound, first: Facts, longest: Callable[[], int], listed: bool) -> tuple[dict[str, Any], Row]:
    """The section of a description and what becomes of its rows.

    longest    the most samples that a file of the data set has, at the rate of rows, where nothing bounds them
    listed     whether the loop may have rows of lengths of their own
    """
    rate = one.rate if one.rate is not None else first.rate
    channels = one.channels if one.channels is not None else first.channels
    axes = one.row_axes or (one.axes if one.axes != "?" else "L" if channels == 1 else "LC")
    made: dict[str, Any] = {"rate": rate}
    if not any(feature.axes == "TF" for feature in one.features):
        one = settled(one)
    if channels != 1:
        made["channels"] = channels
    if one.select is not None:
        made["select"] = [one.select]
    if one.window is not None:
        made["window"] = _window(one.window, first.rate)
    how = {**dict(one.resample), **({"filters": "f64"} if one.doubles else {})}
    if how not in ({}, {"method": "sinc_interp_hann"}):
        made["resample"] = how
    room = one.length.at(first.rate) if isinstance(one.length, Seconds) else None if isinstance(one.length, Told) else one.length
    fixed = one.padded and room is not None and not one.cut
    made["length"] = max(1, longest() if room is None or one.cut else room)
    if one.crop and not one.cut:
        made["crop"] = one.crop
    if not fixed:
        made["shape"] = "ragged" if listed else "padded"
    dtype = one.dtype
    if dtype == "i16":
        made["dtype"] = "i16"
    if one.peak:
        made["normalize"] = {"to": "peak"}
    if one.features:
        made["features"] = spectra.told(one.features, rate, first.rate)
        if fixed:
            made["features"]["padding"] = "silence"
    engines = ("FT" if channels == 1 else "CFT") if one.features else "CL"
    if not fixed and listed:
        made["layout"] = "NLC"
    ahead: Sequence[Callable[[Any], Any]] = {"f64": [lambda rows: _as(rows, "f64")], "whole": [lambda rows: rows * 32768], "scaled": [lambda rows: rows * 32768]}.get(dtype, [])
    level: Sequence[Callable[[Any], Any]] = (*ahead, *one.level) if one.level else ()
    last: Sequence[Callable[[Any], Any]] = one.then if one.level else (*ahead, *one.then)
    return made, Row(axes, engines, one.began if one.then or one.level else one.array, last, lengths=not fixed and not listed and not one.cut, level=level, room=room, cut=one.crop if one.cut else "", padded=one.padded, owns=bool(level) and (fixed or not listed))


def _window(window: Union[Played, tuple[Frames, Optional[Frames]]], rate: int) -> dict[str, Any]:
    """From its first sample on to the one behind its last, as times of the file's samples."""
    if isinstance(window, Played):
        start, length = [f"{round(seconds * 10**9)}ns" for seconds in (window.start, (window.stop or 0) - window.start)]
        return {"start": start, **({} if window.stop is None else {"duration": length})}
    if is_told(window):
        at, long = window_columns(window)
        return {"start_column": at, **({"duration_column": long} if long else {})}
    start_at, frames = [_samples(one, (), rate) for one in window]
    said: dict[str, Any] = {"start": _time(start_at, rate)} if start_at else {}
    return said if frames is None else {**said, "duration": _time(frames, rate)}


def _time(frames: int, rate: int) -> str:
    """A number of samples as a time, to the nanosecond."""
    return f"{_nanoseconds(frames, rate)}ns"


def length_at(frames: int, of: int, rate: int, by_soxr: bool) -> int:
    """How many samples so many become at another rate, as torchaudio counts them, or librosa, whose ratio is a float."""
    return frames if of == rate else math.ceil(frames * (rate / of)) if by_soxr else math.ceil(rate * frames / of)


def own_draws(views: Sequence[Sound]) -> list[bool]:
    """Of each sound whether it draws for itself. Those that are made of one crop do not. Raises Unknown."""
    crops = [view.drawn for view in views if view.drawn]
    shared = {call for call in crops if crops.count(call) > 1}
    alike = [view for view in views if view.drawn in shared]
    if len(shared) > 1 or sum(any(spectra.is_mask(one) for one in view.features) for view in alike) > 1:
        raise Unknown("has several sounds of one crop that is drawn, and draws more for each, want one of them: all fields that do not draw for themselves draw alike")
    return [view.drawn not in shared for view in views]


def longest(one: Sound, files: Iterable[tuple[Optional[Facts], Mapping[str, float]]], of: Callable[[int], str]) -> int:
    """The most samples of a row, of files with their parts. Raises Unknown of files that do not say how many they have."""
    most = 1
    for number, (got, said) in enumerate(files):
        if got is None:
            continue  # it is a bad sample, when its turn comes
        if got.frames is None:
            raise Unknown(f"{of(number)} does not say how long it is, and rows have room for the longest, want a crop, waveform[:, :n]")
        frames = got.frames
        if isinstance(one.window, Played):
            frames = frames if one.window.stop is None else min(frames, math.ceil((one.window.stop - one.window.start) * got.rate) + 1)
        elif one.window is not None and is_told(one.window):
            at, long = window_columns(one.window)
            frames = max(0, frames - round(said[at] * got.rate))
            frames = min(frames, round(said[long] * got.rate)) if long else frames
        elif one.window is not None:
            start, room = [_samples(each, (), got.rate) for each in one.window]
            frames = max(0, frames - (start or 0))
            frames = frames if room is None else min(room, frames)
        most = max(most, length_at(frames, got.rate, one.rate if one.rate is not None else got.rate, one.resample == SOXR))
    return most
