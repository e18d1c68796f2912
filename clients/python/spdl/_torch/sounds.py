"""A sound that a data set of one's own opens: what its code has made of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional, Union

from . import levels, librosa, spectra
from .levels import Each

LIBRARIES = ("torchaudio", "torchcodec", "soundfile", "librosa", "scipy")
SOXR = (("method", "soxr_hq"),)  # librosa's way to resample
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
    under: Optional[Any] = None  # of the steps of a spectrum, which are cut and filled up as samples are: the Sound that the spectrum is of; L are its steps
    began: bool = False  # whether it was an array of NumPy's ahead of what the loop does

    @property
    def flat(self) -> bool:
        return "C" not in self.axes

    @property
    def alike(self) -> bool:
        """Whether all files have to have the rate of the first."""
        by_samples = isinstance(self.window, tuple) and not isinstance(self.window, Played) and any(type(one) is int and one > 0 for one in self.window)  # which are times of a description
        return self.rate is None or by_samples or isinstance(self.length, Seconds) or any(one.by_file for one in self.features)

    def form(self, rate: int) -> Any:
        """What two data sets have to have in common, to be one, whose files are of that rate."""
        if self.under is not None:
            return self._replace(under=None), self.under.form(rate)
        return self._replace(features=(), drawn=0), spectra.told(self.features, self.rate or rate, rate)

    @property
    def whole(self) -> Sound:
        """The sound that the engine makes."""
        return self if self.under is None else self.under

    def frames(self) -> Sound:
        """What its number of samples, or of steps, goes by."""
        if self.features:
            return stepped(self).frames()
        under = self.under and self.under._replace(features=self.under.features[:1])
        return Sound(file=self.file, window=self.window, rate=self.rate, length=self.length, crop=self.crop, padded=self.padded, under=under)


def is_told(window: Any) -> bool:
    """Whether code says for each sample where it begins, or how long it is."""
    return isinstance(window, tuple) and not isinstance(window, Played) and any(isinstance(one, Told) for one in window)


# ---- what is done to it


def _check_open(one: Sound, what: str) -> None:
    if one.features or one.under or one.then or one.level or one.centred:
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
    one = stepped(settled(one))
    _check_copied(one)
    if one.under and where == "random":
        raise Cannot("want a crop that is drawn of the samples, in front of what is made of them")
    _check_length(one, length)
    if one.length is not None and one.length != length or one.crop and where != "start":
        raise Cannot("want one length that sounds are brought to")
    if one.crop:
        return one
    if not one.padded and any(each.by_row for each in one.then):
        one = levelled(one)
    if one.level and where == "random":
        raise Cannot("want a crop that is drawn in front of what is measured of the whole sound, such as its peak: the engine draws it, and makes no more of a sound than that")
    return one._replace(length=length, crop=where, drawn=drawn, cut=bool(one.level) or one.under is not None)


def filled(one: Sound, length: Frames) -> Sound:
    """With zeros behind, up to a length."""
    one = stepped(settled(one))
    _check_copied(one)
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
    one = stepped(settled(one))
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
        if one.level or one.under or one.peak and feature.axes == "TF":
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
    if one.level or one.then or one.centred or one.under:
        raise Cannot("want it of samples as their files have them, or divided by their peak behind a crop")
    return one._replace(axes="FT", features=(feature,))


def stepped(one: Sound) -> Sound:
    """A spectrum whose steps are cut, filled up and measured as samples are."""
    if not one.features:
        return one
    under = one._replace(axes="FT", row_axes="", array=False, then=(), began=False)
    return Sound(file=one.file, of=one.of, axes=one.axes.replace("T", "L"), row_axes=one.row_axes.replace("T", "L"), array=one.array, channels=one.channels, then=one.then, began=one.began, under=under)


def averaged(one: Sound, axis: int, keep: bool) -> Sound:
    """The mean of a spectrum over its bands or its steps, of each row by itself."""
    one = stepped(settled(one))
    if not -len(one.axes) <= axis < len(one.axes) or one.axes[axis] not in "FL" or keep:
        raise Cannot("want the mean of a spectrum over its bands or its steps: np.mean(mfcc, axis=1)")
    if one.length is None:
        one = levelled(one)
    at = axis % len(one.axes)
    made = then(one, levels.by_row(("mean", at), lambda row: row.mean(at), along=True))
    made = levelled(made) if one.length is None else made
    return made._replace(axes=one.axes[:at] + one.axes[at + 1:], row_axes=one.axes)


def squared(one: Sound) -> Optional[Sound]:
    """Magnitudes of librosa.stft as powers; None: they are something else."""
    if one.then or len(one.features) != 1 or not isinstance(call := one.features[0].of, librosa.Call) or call.name != "stft" or call.power != 1:
        return None
    return one._replace(features=(one.features[0]._replace(of=call._replace(power=2, given=(*call.given, ("power", 2)))),))


def centred(one: Sound) -> Sound:
    """Without its mean: w - w.mean()."""
    if one.features or one.under or one.then or one.level or one.centred or one.dtype != "f32":
        one = stepped(settled(one))
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
                    one_of_file = _alone(one_of_file)
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
        one = _alone(one)._replace(channels=1)
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
    if not 0 <= at < len(one.axes) or one.axes[at] not in "1C" or one.axes[at] == "C" and one.channels not in (None, 1):
        raise Cannot("want copies along an axis of one")
    one = _alone(one) if one.axes[at] == "C" and one.channels is None else one
    made = then(one, Each(("repeat", times, at), lambda rows: _library(rows).concatenate([rows] * times, **{"axis" if hasattr(rows, "astype") else "dim": at + 1}), along=True))
    return made._replace(axes=one.axes[:at] + "S" + one.axes[at + 1:], row_axes=one.row_axes or one.axes)


def _alone(one: Sound) -> Sound:
    """Of a file that has one channel."""
    return one._replace(files=1, under=one.under and one.under._replace(files=1))


def _check_copied(one: Sound) -> None:
    if one.row_axes:
        raise Cannot("want crops and zeros of a spectrum in front of copies and means of it")


def _check_copies(one: Sound, times: int) -> None:
    if not (one.features or one.under) or type(times) is not int or not 1 <= times <= 64:
        raise Cannot("want copies of what is made of the samples")


def _library(rows: Any) -> Any:
    return sys.modules["numpy" if hasattr(rows, "astype") else "torch"]


def _check_axes(one: Sound) -> None:
    if any(each.along for each in (*one.level, *one.then)):
        raise Cannot("want axes as they are behind what is measured along one of them, and another order in front of that")


def cast(one: Sound, to: str) -> Sound:
    """With numbers of another type: f32 or f64."""
    if one.then or one.level or one.features:
        return then(one, Each(("as", to), lambda rows: retyped(rows, to)))
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


def retyped(rows: Any, to: str) -> Any:
    """Rows in floats of so many bits."""
    if hasattr(rows, "astype"):
        return rows.astype("float32" if to == "f32" else "float64")
    return rows.float() if to == "f32" else rows.double()
