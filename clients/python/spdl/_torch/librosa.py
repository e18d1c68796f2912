"""librosa's spectra, as the keys of `features`: of samples, of powers, and their decibels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, Optional

from .annotated import Unknown

_SPECTRUM: dict[str, Any] = {"n_fft": 2048, "hop_length": None, "win_length": None, "window": "hann", "center": True, "pad_mode": "constant", "dtype": None}
_BANDS: dict[str, Any] = {**_SPECTRUM, "hop_length": 512, "power": 2.0, "n_mels": 128, "fmin": 0.0, "fmax": None, "htk": False, "norm": "slaney", "sr": 22050}
ARGUMENTS: dict[str, dict[str, Any]] = {  # of each function what is left to say, with its defaults
    "stft": _SPECTRUM,
    "melspectrogram": _BANDS,
    "mfcc": {**_BANDS, "n_mfcc": 20, "dct_type": 2, "norm": "ortho", "lifter": 0, "mel_norm": "slaney"},
    "power_to_db": {"ref": 1.0, "amin": 1e-10, "top_db": 80.0},
    "amplitude_to_db": {"ref": 1.0, "amin": 1e-5, "top_db": 80.0},
}
_HOMES = {"stft": "librosa.core", "power_to_db": "librosa.core", "amplitude_to_db": "librosa.core", "melspectrogram": "librosa.feature", "mfcc": "librosa.feature"}
DECIBELS = ("power_to_db", "amplitude_to_db")
_MOST_REF = 10000


class Call(NamedTuple):
    """One of these functions, with all that it is given but the sound."""

    name: str
    given: tuple[tuple[str, Any], ...]
    power: int  # of what it makes: 1 of magnitudes, 2 of powers; 0 of what has neither
    rate: Any = None  # what stands for the file's samples a second in it

    @property
    def by_file(self) -> bool:
        return ("sr", self.rate) in self.given and self.rate is not None

    def at(self, rate: int) -> dict[str, Any]:
        """Its arguments, of a file of that rate."""
        return {name: rate if self.by_file and name == "sr" else value for name, value in self.given}


def name_of(function: Any) -> str:
    """Which of these functions it is; "": another."""
    home, name = str(getattr(function, "__module__", "") or ""), str(getattr(function, "__name__", ""))
    return name if name in _HOMES and f"{home}.".startswith(f"{_HOMES[name]}.") else ""


def call(name: str, given: Mapping[str, Any], before: Sequence[Any], rate: Any = None) -> Optional[Call]:
    """What it is of samples, or behind others of them. None: the engine has no equal, of decibels, which the library makes of each row."""
    last = before[-1].of if before else None
    power = last.power if isinstance(last, Call) else 0
    if name in DECIBELS:
        said = {**ARGUMENTS[name], **given}
        plain = power and (name == "power_to_db") == (power == 2) and (_is_largest(said["ref"]) or _is_number(said["ref"]) and 0 < abs(said["ref"]) <= _MOST_REF)
        return Call(name, tuple(given.items()), 0) if plain and (said["top_db"] is None or _is_number(said["top_db"]) and said["top_db"] > 0) and _is_number(said["amin"]) and said["amin"] > 0 else None
    made = {"stft": 1, "mfcc": 0}.get(name, power or (2 if given.get("power", 2.0) == 2 else 1))
    return Call(name, tuple(given.items()), made, rate)


def _is_largest(ref: Any) -> bool:
    return str(getattr(ref, "__module__", "")).partition(".")[0] == "numpy" and getattr(ref, "__name__", "") in ("max", "amax")


def _is_number(one: Any) -> bool:
    return isinstance(one, (int, float)) and not isinstance(one, bool)


def _refuse(place: str, what: str) -> NoReturn:
    raise Unknown(f"{place}: got {what}")


def told(one: Call, made: Mapping[str, Any], rate: int, of_file: int, place: str) -> dict[str, Any]:
    """The keys of it, behind those of what was ahead. Raises Unknown of what has no equal."""
    given = {**ARGUMENTS[one.name], **one.at(of_file)}
    return _BY[one.name](given, made, rate, place)


def _spectrum(given: Mapping[str, Any], place: str) -> dict[str, Any]:
    for name, want in (("window", "hann"), ("dtype", None)):
        if given[name] != want:
            _refuse(place, f"{name}={given[name]!r}, want {want!r}")
    if given["center"] not in (True, False) or given["center"] and given["pad_mode"] not in ("constant", "reflect"):
        _refuse(place, f"pad_mode={given['pad_mode']!r}, want 'constant' or 'reflect'")
    window = given["win_length"] or given["n_fft"]
    made = {"n_fft": given["n_fft"], "hop_length": given["hop_length"] or window // 4, **({} if window == given["n_fft"] else {"win_length": window})}
    if not given["center"]:
        return {**made, "center": False}
    return {**made, **({"pad_mode": "constant"} if given["pad_mode"] == "constant" else {})}


def _power(power: Any, place: str) -> dict[str, Any]:
    if power not in (1, 2):
        _refuse(place, f"power={power!r}, want 1.0 or 2.0")
    return {"power": 1} if power == 1 else {}


def _stft(given: Mapping[str, Any], made: Mapping[str, Any], rate: int, place: str) -> dict[str, Any]:
    return {"kind": "spectrogram", **_spectrum(given, place), **_power(given.get("power", 1), place)}


def _bands(given: Mapping[str, Any], norm: Any, rate: int, place: str) -> dict[str, Any]:
    if given["sr"] != rate:
        _refuse(place, f"sr={given['sr']!r} of sounds of {rate} samples a second, want sr={rate}")
    if norm not in ("slaney", None) or isinstance(norm, (int, float)):
        _refuse(place, f"norm={norm!r}, want 'slaney' or None")
    if given["htk"] not in (True, False):
        _refuse(place, f"htk={given['htk']!r}, want True or False")
    high = given["fmax"] if given["fmax"] is not None else rate / 2
    return {"n_mels": given["n_mels"], **({"f_min": given["fmin"]} if given["fmin"] else {}), "f_max": high, **({} if given["htk"] else {"mel_scale": "slaney"}), **({} if norm is None else {"norm": "slaney"}), "filters": "f64"}


def _mel(given: Mapping[str, Any], made: Mapping[str, Any], rate: int, place: str) -> dict[str, Any]:
    bands = _bands(given, given["norm"], rate, place)
    if made:
        return {**made, "kind": "mel", **bands}
    return {"kind": "mel", **_spectrum(given, place), **_power(given["power"], place), **bands}


def _mfcc(given: Mapping[str, Any], made: Mapping[str, Any], rate: int, place: str) -> dict[str, Any]:
    for name, want in (("dct_type", 2), ("norm", "ortho"), ("lifter", 0)):
        if given[name] != want:
            _refuse(place, f"{name}={given[name]!r}, want {want!r}")
    if not made:
        if given["power"] != 2:
            _refuse(place, f"power={given['power']!r} of mfcc, want 2.0")
        made = {**_spectrum(given, place), **_bands(given, given["mel_norm"], rate, place), "top_db": 80}
    elif made["kind"] != "mel" or "log" not in made or "top_db" not in made:
        _refuse(place, "mfcc(S=...) of something else, want S=librosa.power_to_db(librosa.feature.melspectrogram(...)), with top_db")
    if given["n_mfcc"] > made["n_mels"]:
        _refuse(place, f"n_mfcc={given['n_mfcc']} of {made['n_mels']} bands, want {made['n_mels']} at most")
    return {**made, "kind": "mfcc", "n_mfcc": given["n_mfcc"]}


def _decibels(given: Mapping[str, Any], made: Mapping[str, Any], rate: int, place: str) -> dict[str, Any]:
    ref: dict[str, Any] = {"ref": "max"} if callable(given["ref"]) else {} if given["ref"] == 1 else {"ref": abs(given["ref"])}
    return {**made, "log": "db", **ref, **({} if given["amin"] == 1e-10 else {"amin": given["amin"]}), **({} if given["top_db"] is None else {"top_db": given["top_db"]})}


_BY: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any], int, str], dict[str, Any]]] = {"stft": _stft, "melspectrogram": _mel, "mfcc": _mfcc, "power_to_db": _decibels, "amplitude_to_db": _decibels}
