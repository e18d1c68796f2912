"""torchaudio's transforms of sounds, as the keys of `features`: spectra, their logarithms and their masks."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Optional, Union

from . import librosa, libraries
from .annotated import Unknown

_SPECTRA = ("Spectrogram", "MelSpectrogram", "MFCC")
_MASKS = ("FrequencyMasking", "TimeMasking")
_BEHIND = ("AmplitudeToDB", *_MASKS)
_calls = itertools.count(1)
_KALDI = {"num_mel_bins": "n_mels", "low_freq": "f_min", "high_freq": "f_max", "window_type": "window_type", "snip_edges": "snip_edges"}
_KALDI_USUAL: dict[str, Any] = {"dither": 0.0, "use_energy": False, "subtract_mean": False, "vtln_warp": 1.0, "use_log_fbank": True, "use_power": True, "round_to_power_of_two": True, "remove_dc_offset": True,
                                "preemphasis_coefficient": 0.97, "channel": -1, "min_duration": 0.0, "raw_energy": True, "energy_floor": 1.0}
_KALDI_FREE = ("htk_compat", "vtln_high", "vtln_low", "blackman_coeff")  # which say nothing without what they are of


class Maker(NamedTuple):
    """An object of torchaudio's that is made of what is known when the first file is: of its samples a second."""

    cls: Any
    args: tuple[Any, ...]
    named: tuple[tuple[str, Any], ...]
    is_rate: Callable[[Any], bool]  # whether an argument stands for these

    @property
    def by_file(self) -> bool:
        return any(map(self.is_rate, (*self.args, *[one for _, one in self.named])))

    @property
    def files(self) -> set[int]:
        """The files whose rates it goes by, by their numbers."""
        return {one.file for one in (*self.args, *[value for _, value in self.named]) if self.is_rate(one)}

    def at(self, rate: int) -> Any:
        return self.cls(*[rate if self.is_rate(one) else one for one in self.args], **{name: rate if self.is_rate(one) else one for name, one in self.named})


class Feature(NamedTuple):
    """One of torchaudio's transforms, and where it is called."""

    place: str
    of: Any  # itself, a Maker, a Call of librosa's, or the arguments of kaldi.fbank
    axes: str = ""  # of a spectrum what it makes of samples; "": it is of a spectrum
    takes: tuple[str, ...] = ()  # types of samples beside floats from -1 to 1
    of_16_bits: bool = False
    call: int = 0  # of one that draws, which makes those of two sounds one draw or two


    @property
    def by_file(self) -> bool:
        """Whether it goes by the rate of a file."""
        return isinstance(self.of, (Maker, librosa.Call)) and self.of.by_file or isinstance(self.of, tuple) and ("sample_frequency", RATE) in self.of


class Logarithm(NamedTuple):
    """torch.log(x + 1e-6)."""


RATE = "the file's"  # in the place of its samples a second


def feature(one: Any, place: str) -> Optional[Feature]:
    """A transform of torchaudio's that has keys; None: it has none."""
    cls = one.cls if isinstance(one, Maker) else type(one)
    if not libraries.is_of(cls, "torchaudio.transforms"):
        return None
    if cls.__qualname__ in _SPECTRA:
        return Feature(place, one, "FT")
    return Feature(place, one, call=next(_calls) if cls.__qualname__ in _MASKS else 0) if cls.__qualname__ in _BEHIND else None


def is_mask(one: Feature) -> bool:
    """Whether it draws."""
    return one.call > 0


def of_kaldi(given: Mapping[str, Any], place: str) -> Feature:
    return Feature(place, tuple(given.items()), "TF", ("scaled",))


def told(features: Sequence[Feature], rate: int, of_file: int) -> dict[str, Any]:
    """The keys of all of them, at the rate of rows and of their files. Raises Unknown of what has no equal."""
    made: dict[str, Any] = {}
    for one in features:
        of = one.of.at(of_file) if isinstance(one.of, Maker) else one.of
        if isinstance(of, librosa.Call):
            made = librosa.told(of, made, rate, of_file, one.place)
        elif isinstance(of, Logarithm):
            _add(made, {"log": "ln"}, one, of)
        elif isinstance(of, tuple):
            made = _fbank({name: of_file if value is RATE else value for name, value in of}, rate, one)
        else:
            made = _BY[type(of).__qualname__](of, made, rate, one)
    return made


def _refuse(one: Feature, what: str) -> Any:
    raise Unknown(f"{one.place}: got {what}")


def _add(made: dict[str, Any], more: dict[str, Any], one: Feature, of: Any) -> dict[str, Any]:
    late = [name for name in ("frequency_mask", "time_mask") if name in made]
    if "log" in more and (late or "log" in made or made["kind"] not in ("spectrogram", "mel")):
        _refuse(one, f"{type(of).__qualname__} behind {' and '.join(late) or 'what has a logarithm'}, want it once, right behind Spectrogram or MelSpectrogram")
    made.update(more)
    return made


def _spectrum(of: Any, one: Feature) -> dict[str, Any]:
    """Of a Spectrogram, or the one that a MelSpectrogram has."""
    torch = sys.modules["torch"]
    for name, want in (("pad", 0), ("pad_mode", "reflect"), ("onesided", True)):
        got = getattr(of, name, want)
        if got != want:
            _refuse(one, f"{name}={got!r}, want {want!r}")
    if of.power not in (1, 2):
        _refuse(one, f"power={of.power!r}, want 1.0 or 2.0")
    if of.normalized not in (False, True, "window"):
        _refuse(one, f"normalized={of.normalized!r}, want False or True")
    window = of.window
    if tuple(window.shape) != (of.win_length,) or not torch.equal(window, torch.hann_window(of.win_length)):
        _refuse(one, "another window, want torch.hann_window")
    said = {"n_fft": of.n_fft, "win_length": of.win_length, "hop_length": of.hop_length, "power": int(of.power), "center": of.center, "normalized": bool(of.normalized)}
    usual = {"win_length": of.n_fft, "power": 2, "center": True, "normalized": False}
    return {name: value for name, value in said.items() if name not in usual or usual[name] != value}


def _mel(of: Any, rate: int, one: Feature) -> dict[str, Any]:
    scale = of.mel_scale
    if of.sample_rate != rate:
        _refuse(one, f"MelSpectrogram(sample_rate={of.sample_rate}) of sounds of {rate} samples a second, want sample_rate={rate}, or sounds that are resampled to {of.sample_rate}")
    bands: dict[str, Any] = {"n_mels": scale.n_mels, "f_min": scale.f_min, "f_max": scale.f_max}
    bands.update({**({} if scale.mel_scale == "htk" else {"mel_scale": scale.mel_scale}), **({} if scale.norm is None else {"norm": scale.norm})})
    if bands["f_min"] == 0:
        del bands["f_min"]
    return {**_spectrum(of.spectrogram, one), **bands}


def _spectrogram(of: Any, made: dict[str, Any], rate: int, one: Feature) -> dict[str, Any]:
    return {"kind": "spectrogram", **_spectrum(of, one)}


def _mel_spectrogram(of: Any, made: dict[str, Any], rate: int, one: Feature) -> dict[str, Any]:
    return {"kind": "mel", **_mel(of, rate, one)}


def _mfcc(of: Any, made: dict[str, Any], rate: int, one: Feature) -> dict[str, Any]:
    if of.dct_type != 2 or of.norm != "ortho":
        _refuse(one, f"dct_type={of.dct_type!r}, norm={of.norm!r}, want 2 and \"ortho\"")
    bands = _mel(of.MelSpectrogram, rate, one)
    if bands.get("power", 2) != 2:
        _refuse(one, "power=1.0 of MFCC's spectrum, whose decibels it counts as of powers, want 2.0")
    log = {"log": "ln"} if of.log_mels else {} if of.top_db == 80 else {"top_db": of.top_db}
    if not of.log_mels and of.top_db is None:
        _refuse(one, "top_db=None, want a number")
    return {"kind": "mfcc", "n_mfcc": of.n_mfcc, **bands, **log}


def _decibels(of: Any, made: dict[str, Any], rate: int, one: Feature) -> dict[str, Any]:
    if (of.multiplier, of.amin, of.ref_value) != (20.0 if made.get("power") == 1 else 10.0, 1e-10, 1.0):
        _refuse(one, f"AmplitudeToDB({of.stype!r}) of a spectrum with power={float(made.get('power', 2))}, want \"power\" of powers and \"magnitude\" of magnitudes")
    return _add(made, {"log": "db", **({} if of.top_db is None else {"top_db": of.top_db})}, one, of)


def _frequency_mask(of: Any, made: dict[str, Any], rate: int, one: Feature) -> dict[str, Any]:
    return _mask(of, made, one, "frequency_mask", {"freq_mask_param": of.mask_param})


def _time_mask(of: Any, made: dict[str, Any], rate: int, one: Feature) -> dict[str, Any]:
    return _mask(of, made, one, "time_mask", {"time_mask_param": of.mask_param, **({} if of.p == 1 else {"p": of.p})})


def _mask(of: Any, made: dict[str, Any], one: Feature, name: str, said: dict[str, Any]) -> dict[str, Any]:
    said = {**said, **({"iid_masks": True} if of.iid_masks else {})}
    before = made.get(name)
    if before is not None and {key: value for key, value in before.items() if key != "count"} != said:
        _refuse(one, f"{type(of).__qualname__} with other arguments than the one before it, want them alike, which is a count")
    return {**made, name: said if before is None else {**said, "count": before.get("count", 1) + 1}}


_BY: dict[str, Callable[[Any, dict[str, Any], int, Feature], dict[str, Any]]] = {
    "Spectrogram": _spectrogram, "MelSpectrogram": _mel_spectrogram, "MFCC": _mfcc, "AmplitudeToDB": _decibels, "FrequencyMasking": _frequency_mask, "TimeMasking": _time_mask,
}


def _fbank(given: Mapping[str, Any], rate: int, one: Feature) -> dict[str, Any]:
    """torchaudio.compliance.kaldi.fbank, with its defaults."""
    said = dict(given)
    frequency = said.pop("sample_frequency", 16000.0)
    if frequency != rate:
        _refuse(one, f"sample_frequency={frequency!r} of sounds of {rate} samples a second, want {rate}")
    made: dict[str, Any] = {"kind": "fbank", "n_mels": said.pop("num_mel_bins", 23)}
    for name, usual in (("frame_length", 25.0), ("frame_shift", 10.0)):
        value = said.pop(name, usual)
        if value != usual:
            made["win_length" if name == "frame_length" else "hop_length"] = int(rate * value * 0.001)
    high: Union[int, float] = said.pop("high_freq", 0.0)
    if high:
        made["f_max"] = high if high > 0 else rate / 2 + high
    for name, value in said.items():
        if name in _KALDI:
            made[_KALDI[name]] = value
        elif name not in _KALDI_FREE and (name not in _KALDI_USUAL or value != _KALDI_USUAL[name]):
            _refuse(one, f"{name}={value!r} of fbank, want {_KALDI_USUAL.get(name, 'none')}")
    if made.get("window_type", "povey") not in ("povey", "hanning", "hamming"):
        _refuse(one, f"window_type={made['window_type']!r}, want povey, hanning or hamming")
    if one.of_16_bits:
        made["int16"] = True
    return made
