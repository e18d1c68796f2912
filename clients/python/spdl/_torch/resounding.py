"""What functions of one's own do with sounds by librosa, expression by expression: its resampling, spectra and decibels."""

from __future__ import annotations

import ast
from typing import Any

from . import levels, librosa, sounds, spectra
from .counts import Rate
from .heard import Complex
from .measures import Measuring
from .sounds import Sound
from .texts import NOTHING

_BY_ROW = {"power_to_db": False, "amplitude_to_db": False, "pcen": True, "delta": True}  # what the library does with a row's numbers, and whether that is along an axis


class Resounding(Measuring):
    """Of a reader of expressions, that of librosa's functions."""

    def _by_librosa(self, function: Any, node: ast.Call) -> Any:
        """What one of them makes of a sound; NOTHING: it is another, or of something else."""
        home, name = str(getattr(function, "__module__", "") or ""), str(getattr(function, "__name__", ""))
        of = self._heard(node.args[0]) if node.args else NOTHING
        if isinstance(of, Complex):
            return self._magnitudes(of, node, function)
        if home.partition(".")[0] != "librosa":
            return NOTHING
        named = {one.arg: one.value for one in node.keywords if one.arg is not None}
        key = next((key for key in ("y", "S", "data") if key in named), "")
        if of is NOTHING and key:
            of = self._heard(named.pop(key))
        else:
            key = ""
        if not isinstance(of, Sound) or len(node.args) > 1:
            return NOTHING if not isinstance(of, Sound) or name not in ("resample", *librosa.ARGUMENTS) else self._refuse_sound(node)
        if name == "resample" and home.startswith("librosa.core") and len(named) + bool(key) == len(node.keywords):
            return self._resampled_by_librosa(of, node, named)
        if not librosa.name_of(function) and name not in _BY_ROW:
            return NOTHING
        given = {argument: self._argument(of, one, node) for argument, one in named.items()}
        for one in node.keywords:
            if one.arg is None:  # **self.settings
                if type(more := self._known(one.value)) is not dict or not all(isinstance(each, str) and _is_plain(value) for each, value in more.items()):
                    self._refuse_sound(node, "want arguments that are known when the loader is made")
                given.update(more)
        return self._featured_by_librosa(of, node, function, given, key)

    def _argument(self, of: Sound, node: ast.expr, call: ast.Call) -> Any:
        """An argument's value, which is known, or the file's samples a second."""
        value = self._number(node)
        value = self._known(node) if value is NOTHING else value
        if isinstance(value, Rate):
            if value.file not in (-1, of.file) or value.times != 1:
                self._refuse_sound(call, "want it of the rate of the sound's own file")
            return spectra.RATE if value.known is None else value.known
        return value if value is not NOTHING and _is_plain(value) else self._refuse_sound(call, "want arguments that are known when the loader is made")

    def _resampled_by_librosa(self, of: Sound, node: ast.Call, named: dict[str, ast.expr]) -> Sound:
        values = {name: self._argument(of, one, node) for name, one in named.items()}
        before, new = [int(one) if isinstance(one, float) and one.is_integer() else one for one in (values.pop("orig_sr", None), values.pop("target_sr", None))]
        if any(values.pop(name, want) != want for name, want in (("res_type", "soxr_hq"), ("fix", True), ("scale", False), ("axis", -1))) or values:
            self._refuse_sound(node, 'want librosa.resample(y, orig_sr=sr, target_sr=16000), whose res_type is "soxr_hq"')
        if before != spectra.RATE and type(before) is not int or type(new) is not int:
            self._refuse_sound(node, "want whole numbers of samples a second")
        if of.axes == "?":
            of = of._replace(axes="L", files=1)
        if not of.array or not of.axes.endswith("L"):
            self._refuse_sound(node, "want it of an array of [samples] or [channels, samples]")
        return sounds.resampled(of, None if before == spectra.RATE else before, new, sounds.SOXR, False)

    def _featured_by_librosa(self, of: Sound, node: ast.Call, function: Any, given: dict[str, Any], key: str) -> Any:
        name, place = function.__name__, self._place(node)
        if name not in librosa.ARGUMENTS or name in librosa.DECIBELS:
            made = librosa.call(name, given, of.features) if name in librosa.DECIBELS and set(given) <= set(librosa.ARGUMENTS[name]) and not of.then else None
            if made is not None:
                return sounds.featured_by(of, spectra.Feature(place, made))
            return self._by_rows(of, node, function, given)
        if not set(given) <= set(librosa.ARGUMENTS[name]):
            self._refuse_sound(node, f"want no more than {', '.join(librosa.ARGUMENTS[name])}")
        if (key == "S") != bool(of.features):
            self._refuse_sound(node, f"want {'y=' if not of.features else 'S='}")
        made = librosa.call(name, given, of.features, spectra.RATE)
        made_of = sounds.featured_by(of, spectra.Feature(place, made, "" if of.features else "FT"))
        return Complex(made_of) if name == "stft" else made_of

    def _by_rows(self, of: Sound, node: ast.Call, function: Any, given: dict[str, Any]) -> Sound:
        """What the engine has no equal for, and the library does with each row."""
        if not (of.features or of.under) or not of.array or not all(value is None or callable(value) or type(value) in (int, float, str) for value in given.values()):
            self._refuse_sound(node, "want it of an array of a spectrum")
        said = (function.__name__, *[(name, value) for name, value in sorted(given.items())])
        return sounds.then(of, levels.by_row(said, lambda row: function(row, **given), along=_BY_ROW[function.__name__]))

    def _magnitudes(self, of: Complex, node: ast.Call, function: Any) -> Sound:
        """np.abs(librosa.stft(y))."""
        of_python = isinstance(node.func, ast.Name) and node.func.id == "abs" and function is NOTHING
        if len(node.args) != 1 or node.keywords or not of_python and not self._is(node.func, "numpy", "abs", "absolute"):
            self._refuse_sound(node, "want magnitudes of it: np.abs(librosa.stft(y)), or the square of these")
        return of.sound


def _is_plain(value: Any) -> bool:
    return value is None or type(value) in (int, float, str, bool) or callable(value)
