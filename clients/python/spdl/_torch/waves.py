"""What functions of one's own do with sounds, expression by expression: crops, channels, rates, zeros behind, and torchaudio's transforms."""

from __future__ import annotations

import ast
import operator
import sys
from collections.abc import Sequence
from typing import Any, Optional

from . import after, films, levels, libraries, sounds, spectra
from .counts import Behind, Count, Drawn, Rate, draws
from .heard import WANT, Extra, Info, Others, Shape, frames, has_sound, is_heard
from .levels import Each, Measured
from .measures import BY, REDUCED
from .openers import Decoded, Decoder
from .resounding import Resounding
from .sounds import Sound
from .texts import NOTHING

_PURE = ("int", "float", "round", "len", "min", "max", "abs")
_SHORT = {"absolute": "abs"}


class Waves(Resounding):
    """Of a reader of expressions, that of sounds."""

    def _heard_attribute(self, of: Any, node: ast.Attribute) -> Any:
        if isinstance(of, Sound):
            if node.attr == "shape":
                return Shape(of)
            if node.attr == "ndim":
                return self._axes_of(of)
            if node.attr == "T":
                return sounds.moved(sounds.two_axes(of), list(reversed(range(len(sounds.two_axes(of).axes)))))
            return NOTHING  # a method's
        if isinstance(of, Info):
            kinds = {"num_frames": "frames", "frames": "frames", "num_channels": "channels", "channels": "channels"}
            return Rate(of.sound.file) if node.attr in ("sample_rate", "samplerate") else Count(kinds[node.attr], of.sound) if node.attr in kinds else self._refuse_sound(node)
        if isinstance(of, Decoded):
            return of.sound if node.attr == "data" else Rate(of.sound.file, of.sound.of_rate) if node.attr == "sample_rate" else self._refuse_sound(node)
        if isinstance(of, Decoder):
            return of if node.attr == "metadata" else Rate(of.sound.file) if node.attr == "sample_rate" else NOTHING
        if isinstance(of, films.Film):
            return of if node.attr == "metadata" else Count("film", of) if node.attr == "num_frames" else NOTHING
        if isinstance(of, films.Shown) and node.attr == "data":
            return self._filmed(of)
        return NOTHING

    def _axes_of(self, of: Sound) -> Any:
        return Count("axes", of) if of.axes == "?" else len(of.axes)

    def _size(self, of: Sound, axis: int, node: ast.AST) -> Any:
        """How large an axis is."""
        if of.axes == "?":
            return Count("frames", of.frames()) if axis == 0 else self._refuse_sound(node)
        try:
            letter = of.axes[axis]
        except IndexError:
            self._refuse_sound(node)
        if letter == "C":
            return of.channels if of.channels is not None else Count("channels", of)
        return 1 if letter == "1" else Count("frames", of.frames()) if letter in "LT" else self._refuse_sound(node)

    def _heard_part(self, of: Any, node: ast.Subscript) -> Any:
        if type(of) is tuple or isinstance(of, Shape):
            key = self._number(node.slice)
            if isinstance(of, Shape):
                return self._size(of.of, key, node) if type(key) is int else self._refuse_sound(node)
            if of and isinstance(others := of[-1], Others) and type(key) is int and (key >= len(of) - 1 or key < 0):
                return Extra(ast.Subscript(others.node, ast.Constant(key - len(of) + 1), ast.Load())) if key >= 0 else self._refuse_sound(node)
            return of[key] if type(key) is int and -len(of) <= key < len(of) else self._refuse_sound(node)
        if isinstance(of, films.Shown):
            return films.first(of) if self._number(node.slice) == 0 else self._refuse_sound(node, films.WANT)
        if isinstance(of, films.Film):
            ends = [None if one is None else self._number(one) for one in (node.slice.lower, node.slice.upper, node.slice.step)] if isinstance(node.slice, ast.Slice) else [None, None, None]
            return self._filmed(films.within(of, *ends))
        if getattr(of, "film", None) is not None and len(of.transforms) == 1 and not of.after and self._number(node.slice) == 0:  # clips.data[0]
            return self._filmed(films.first(of.film))
        if not isinstance(of, Sound):
            return NOTHING
        parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        if of.axes == "?":
            of = of._replace(axes="LC") if len(parts) > 1 else of
        if (dots := [at for at, part in enumerate(parts) if isinstance(part, ast.Constant) and part.value is ...]):
            others = [part for at, part in enumerate(parts) if at not in dots and (isinstance(part, ast.Slice) or self._known(part) is not None)]
            parts[dots[0]:dots[0] + 1] = [ast.Slice()] * max(0, len(of.axes) - len(others))
        if (new := [at for at, part in enumerate(parts) if not isinstance(part, ast.Slice) and self._known(part) is None]) and all(at in new or ast.unparse(part) == ":" for at, part in enumerate(parts)):
            return sounds.widened(of, new[0]) if len(new) == 1 else self._refuse_sound(node)  # x[None], x[np.newaxis, :]
        axes, made = of.axes, of
        if len(parts) > len(axes):
            self._refuse_sound(node)
        for axis, part in zip(axes, parts):
            if isinstance(part, ast.Constant) and part.value is None:
                self._refuse_sound(node)
            made = self._sliced(made, axis, part, node)
        return made

    def _sliced(self, of: Sound, axis: str, part: ast.expr, node: ast.expr) -> Sound:
        if isinstance(part, ast.Slice) and part.lower is None and part.upper is None and part.step is None:
            return of
        if axis == "T":
            of, axis = sounds.stepped(of), "L"
        if axis == "C":
            if isinstance(part, ast.Slice) and part.step is None:
                start, stop = [None if one is None else self._number(one) for one in (part.lower, part.upper)]
                start = 0 if start is None else start
                return sounds.channel(of, start, True) if type(start) is int and stop == start + 1 else self._refuse_sound(node)
            number = self._number(part)
            return sounds.channel(of, number, False) if type(number) is int else self._refuse_sound(node)
        if axis not in "L?" or not isinstance(part, ast.Slice) or part.step is not None or part.upper is None:
            self._refuse_sound(node)
        return self._crop(of, part, node)

    def _crop(self, of: Sound, part: ast.Slice, node: ast.expr) -> Sound:
        start = 0 if part.lower is None else self._number(part.lower)
        stop = self._number(part.upper) if part.upper is not None else NOTHING
        if (start is NOTHING or start == 0 and stop is NOTHING) and (window := self._window(of, part, start)) is not None:
            return window
        if start == 0:
            return sounds.cropped(of, self._sized(part.upper), "start") if part.upper is not None and not isinstance(stop, (Count, Behind)) else self._refuse_sound(node)
        if not isinstance(stop, Behind) or stop.start != start:
            self._refuse_sound(node)
        length = frames(stop.length)
        if isinstance(start, Drawn) and start.fits(of, length):
            return sounds.cropped(of, length, "random", start.call)
        return sounds.cropped(of, length, "center") if isinstance(start, Count) and start.is_middle(of, length) else self._refuse_sound(node)

    def _window(self, of: Sound, part: ast.Slice, start: Any) -> Optional[Sound]:
        """w[:, start:stop] of numbers that code says for each sample, as a part of the file; None: it is none."""
        if of.under is not None or part.upper is None and part.lower is None or of != of._replace(window=None, rate=None, length=None, crop="", padded=False, centred=False, features=(), then=(), level=()):
            return None
        if any(isinstance(one, ast.Call) and ast.unparse(one.func) not in _PURE for side in (part.lower, part.upper) if side is not None for one in ast.walk(side)):
            return None  # as the one is asked twice
        lower = ast.Constant(0) if part.lower is None else part.lower
        at: Any = 0 if start == 0 else self._tell(lower)
        length: Any = None if part.upper is None else self._tell(ast.copy_location(ast.BinOp(part.upper, ast.Sub(), lower), part.upper))
        return None if at is NOTHING or length is NOTHING else of._replace(window=(at, length))

    def _heard_sum(self, of: Sound, node: ast.BinOp) -> Any:
        """What is done to its numbers, one by one."""
        if isinstance(node.op, ast.Sub) and self._is_mean(of, node.right):
            return sounds.centred(of)
        if isinstance(other := self._heard(node.right), Measured) and type(node.op) in BY:
            return sounds.put(of, *BY[type(node.op)], other)
        number = self._number(node.right)
        if isinstance(number, float) or type(number) is int:
            made = sounds.divided(of, number) if isinstance(node.op, ast.Div) else sounds.multiplied(of, number) if isinstance(node.op, ast.Mult) else None
            if made is not None:
                return made
        if number == 2 and isinstance(node.op, ast.Pow) and (powers := sounds.squared(of)) is not None:
            return powers
        by = operator.pow if isinstance(node.op, ast.Pow) else after.by(node.op)
        if by is None or not isinstance(number, (int, float)):
            self._refuse_sound(node)
        return sounds.then(of, Each((type(node.op).__name__, number), lambda rows: by(rows, number)))

    def _is_mean(self, of: Sound, node: ast.expr) -> bool:
        """Whether it is the mean of all its samples: w.mean(), torch.mean(w)."""
        if not isinstance(node, ast.Call) or node.keywords:
            return False
        if isinstance(node.func, ast.Attribute) and node.func.attr == "mean" and not node.args:
            return bool(self._heard(node.func.value) == of)
        return self._is(node.func, "torch", "mean") and len(node.args) == 1 and bool(self._heard(node.args[0]) == of)

    def _drawn(self, node: ast.Call) -> Any:
        """random.randint(0, L - n), torch.randint(0, L - n + 1, (1,)) and NumPy's."""
        by_torch = self._is(node.func, "torch", "randint")
        if not by_torch and not self._is(node.func, "numpy.random", "randint") and not self._is(node.func, "random", "randint", "randrange"):
            return NOTHING
        args = node.args[:-1] if by_torch and len(node.args) > 1 else node.args
        args = [*args, *[one.value for one in node.keywords if one.arg == "high"]]
        numbers = [self._number(one) for one in args]
        if not any(isinstance(one, Count) for one in numbers):
            return NOTHING
        low, high = numbers if len(numbers) == 2 else (0, numbers[0]) if len(numbers) == 1 else (1, None)
        if low != 0 or not isinstance(high, Count) or high.what not in ("frames", "film") or high.sign != 1 or high.halved or high.least not in (None, 0):
            self._refuse_sound(node, "want a place from 0 to waveform.shape[1] - n, where a crop of n samples begins")
        self._heard_calls[id(node)] = made = Drawn(high, self._is(node.func, "random", "randint"), next(draws))
        return made

    def _by_its_name(self, function: Any, node: ast.Call, of: Any) -> Any:
        """What functions of torch's, NumPy's and torchaudio's do with a sound; NOTHING: it is another."""
        args, named = node.args[1:], {str(one.arg): one.value for one in node.keywords}
        home, name = str(getattr(function, "__module__", "") or ""), str(getattr(function, "__name__", ""))
        library = home.partition(".")[0]
        if not isinstance(of, Sound):
            return NOTHING
        if self._is(node.func, "torchaudio.functional", "resample"):
            return self._resampled(of, node, args, named)
        if self._is(node.func, "torchaudio.compliance.kaldi", "fbank"):
            given = {key: self._number(one) if self._number(one) is not NOTHING else self._known(one) for key, one in named.items()}
            if args or any(one is NOTHING for one in given.values()):
                self._refuse_sound(node)
            if any(isinstance(one, Rate) and (one.file not in (-1, of.file) or one.times != 1) for one in given.values()):
                self._refuse_sound(node, "want it of the rate of the sound's own file")
            given = {key: one.known if isinstance(one, Rate) else one for key, one in given.items()}
            given = {key: one for key, one in given.items() if one is not None}
            if "sample_frequency" in named and "sample_frequency" not in given:
                given["sample_frequency"] = spectra.RATE
            return sounds.featured(of, spectra.of_kaldi(given, self._place(node)))
        if self._is(node.func, "torch", "mean") or self._is(node.func, "numpy", "mean"):
            return self._mean(of, node, args, named)
        if self._is(node.func, "torch.nn.functional", "pad") or self._is(node.func, "numpy", "pad"):
            return self._padded(of, node, args, named)
        if self._is(node.func, "torch", "squeeze", "unsqueeze", "permute", "transpose") or self._is(node.func, "numpy", "squeeze", "expand_dims", "transpose"):
            return self._axis(of, node, "unsqueeze" if name == "expand_dims" else name, args, {{"axis": "dim", "axes": "dim"}.get(key, key): one for key, one in named.items()})
        if name == "normalize" and library == "librosa" and of.axes == "L" and not of.features:
            more = dict(zip(named, self._values(list(named.values()))))
            if args or not all(type(one) in (int, float, bool) for one in more.values()):
                self._refuse_sound(node)
            return sounds.then(of, levels.by_row((name, *sorted(more.items())), lambda row: function(row, **more), peak=not more))
        if self._is(node.func, "librosa", "to_mono") or name == "fix_length" and library == "librosa":
            size = named.get("size", args[0] if args else None)
            if name == "to_mono":
                return sounds.mono(of, 0, False) if not args and not named else self._refuse_sound(node)
            axis = self._number(named.pop("axis", ast.Constant(-1)))
            if size is None or len(args) + len(named) != 1 or axis not in (-1, len(of.axes) - 1) or of.axes[-1] not in "LT?":
                self._refuse_sound(node)
            return sounds.filled(sounds.cropped(of, self._sized(size), "start"), self._sized(size))
        if self._is(node.func, "torch", "log", "log10", "clamp", "exp", "sqrt", "abs", "log1p", "square") or self._is(node.func, "numpy", "log", "log10", "clip", "exp", "sqrt", "abs", "log1p", "square", "maximum", "minimum", "power"):
            if name == "square" and not args and not named and (powers := sounds.squared(of)) is not None:
                return powers
            return self._numbers(of, node, function, args, named)
        if self._is(node.func, "torch", "from_numpy", "tensor", "as_tensor", "FloatTensor", "Tensor") or self._is(node.func, "numpy", "array", "asarray", "float32", "ascontiguousarray"):
            return self._typed(of, node, name, args, named)
        return NOTHING

    def _several(self, node: ast.Call) -> Any:
        """np.stack([mel] * 3), torch.cat([mel, mel, mel]) and the like, of one spectrum; NOTHING: it is something else."""
        joins, stacks = self._is(node.func, "torch", "cat", "concat", "concatenate") or self._is(node.func, "numpy", "concatenate"), self._is(node.func, "torch", "stack") or self._is(node.func, "numpy", "stack", "array", "asarray")
        repeats = self._is(node.func, "numpy", "repeat")
        if not node.args or not (joins or stacks or repeats):
            return NOTHING
        along = [self._number(one) for one in (*node.args[1 + repeats:], *[one.value for one in node.keywords if one.arg in ("axis", "dim")])] or [0]
        parts, times = ([node.args[0]], self._number(node.args[1]) if len(node.args) > 1 else NOTHING) if repeats else self._listed(node.args[0])
        heard = [self._heard(one) for one in parts]
        if not heard or not isinstance(of := heard[0], Sound) or not (of.features or of.under):
            return NOTHING
        if any(one != of for one in heard) or type(times) is not int or len(along) != 1 or type(along[0]) is not int or len(node.args) + len(node.keywords) > 2 + repeats:
            self._refuse_sound(node, "want several times one spectrum, no more: np.stack([mel, mel, mel])")
        return (sounds.stacked if stacks else sounds.repeated)(of, len(parts) * times, along[0])

    def _listed(self, node: ast.expr) -> tuple[list[ast.expr], Any]:
        """What a list has, and how many times: [mel, mel], [mel] * 3."""
        if isinstance(node, (ast.List, ast.Tuple)):
            return node.elts, 1
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.left, (ast.List, ast.Tuple)):
            return node.left.elts, self._number(node.right)
        return [], NOTHING

    def _copied(self, node: ast.Call, parts: Sequence[ast.expr]) -> Any:
        """torch.cat([w, w]), of one channel."""
        several = [self._heard(one) for one in parts]
        if not any(map(has_sound, several)):
            return NOTHING
        along = [self._number(one) for one in (*node.args[1:], *[one.value for one in node.keywords])]
        return sounds.copied(several[0], len(several)) if isinstance(several[0], Sound) and all(one == several[0] for one in several) and along in ([], [0]) else self._refuse_sound(node)

    def _maker(self, cls: type, node: ast.Call) -> Any:
        """torchaudio.transforms.Resample(sr, 16000), where the rate is a file's."""
        args = [self._number(one) if self._number(one) is not NOTHING else self._known(one) for one in node.args]
        named = {str(one.arg): self._number(one.value) if self._number(one.value) is not NOTHING else self._known(one.value) for one in node.keywords}
        args = [one.known if isinstance(one, Rate) and one.known is not None else one for one in args]
        named = {name: one.known if isinstance(one, Rate) and one.known is not None else one for name, one in named.items()}
        if any(one is NOTHING or is_heard(one) and not isinstance(one, Rate) for one in (*args, *named.values())):
            self._refuse_sound(node)
        return spectra.Maker(cls, tuple(args), tuple(named.items()), _is_rate)

    def _resampled(self, of: Sound, node: ast.Call, args: Sequence[ast.expr], named: dict[str, ast.expr]) -> Sound:
        """torchaudio.functional.resample."""
        given = dict(zip(("orig_freq", "new_freq", "lowpass_filter_width", "rolloff", "resampling_method", "beta"), args))
        given.update(named)
        values = {key: self._number(one) if self._number(one) is not NOTHING else self._known(one) for key, one in given.items()}
        if any(one is NOTHING for one in values.values()) or not {"orig_freq", "new_freq"} <= set(values):
            self._refuse_sound(node)
        return self._at_rate(of, node, values, False)

    def _at_rate(self, of: Sound, node: ast.AST, values: dict[str, Any], doubles: bool) -> Sound:
        before, new = values.pop("orig_freq"), values.pop("new_freq")
        keys = {"lowpass_filter_width": "width", "rolloff": "rolloff", "resampling_method": "method", "beta": "beta"}
        how = {"method": "sinc_interp_hann"}
        if not set(values) <= set(keys):
            self._refuse_sound(node)
        how.update({keys[name]: value for name, value in values.items() if value is not None})
        if isinstance(before, Rate):
            if before.file not in (-1, of.file) or before.times != 1:
                self._refuse_sound(node)
            before = before.known
        new = new.known if isinstance(new, Rate) else new
        before, new = [int(one) if isinstance(one, float) and one.is_integer() else one for one in (before, new)]
        if type(new) is not int or before is not None and type(before) is not int:
            self._refuse_sound(node)
        return sounds.resampled(of, before, new, tuple(sorted(how.items())), doubles)

    def _transformed_sound(self, function: Any, node: ast.Call, of: Any) -> Any:
        """What an object of torchaudio's or torch's makes of a sound; NOTHING: it is another."""
        if not isinstance(of, Sound) or len(node.args) != 1 or node.keywords:
            return NOTHING
        if libraries.derives(function, "torch.nn.modules", "Sequential") or libraries.derives(function, "torchvision.transforms", "Compose"):
            for each in function.transforms if hasattr(function, "transforms") else function.children():
                made = self._transformed_sound(each, node, of)
                made = self._through(node, each, of) if made is NOTHING else made
                of = made if isinstance(made, Sound) else self._refuse_sound(node, f"and {each!r:.80} in it; {WANT}")
            return of
        if libraries.derives(function, "torch.nn.modules", "Identity"):
            return of
        if isinstance(function, spectra.Maker) and function.cls.__qualname__ == "Resample" or libraries.derives(function, "torchaudio.transforms", "Resample"):
            return self._by_resample(function, node, of)
        if isinstance(function, spectra.Maker) and not function.files <= {-1, of.file}:
            self._refuse_sound(node, "want it of the rate of the sound's own file")
        feature = spectra.feature(function, self._place(node))
        if feature is None:
            name = function.cls.__qualname__ if isinstance(function, spectra.Maker) else type(function).__qualname__
            return self._refuse_sound(node, f"and {name} has no equal here; {WANT}") if isinstance(function, spectra.Maker) or libraries.is_of(type(function), "torchaudio") else NOTHING
        return sounds.featured(of, feature)

    def _by_resample(self, function: Any, node: ast.Call, of: Sound) -> Sound:
        if isinstance(function, spectra.Maker):
            names = ("orig_freq", "new_freq", "resampling_method", "lowpass_filter_width", "rolloff", "beta")
            values = {"orig_freq": 16000, "new_freq": 16000, **dict(zip(names, function.args)), **dict(function.named)}
        else:
            values = {name: getattr(function, name) for name in ("orig_freq", "new_freq", "lowpass_filter_width", "rolloff", "resampling_method", "beta")}
        return self._at_rate(of, node, values, True)

    def _mean(self, of: Sound, node: ast.Call, args: Sequence[ast.expr], named: dict[str, ast.expr]) -> Sound:
        given = dict(zip(("dim", "keepdim"), args))
        given.update({{"axis": "dim", "keepdims": "keepdim"}.get(name, name): one for name, one in named.items()})
        axis, keep = [self._known(given[name]) if name in given else usual for name, usual in (("dim", NOTHING), ("keepdim", False))]
        axis = self._number(given["dim"]) if "dim" in given and axis is NOTHING else axis
        if type(axis) is not int or not isinstance(keep, bool) or not set(given) <= {"dim", "keepdim"}:
            self._refuse_sound(node)
        return sounds.averaged(of, axis, keep) if of.features or of.under else sounds.mono(of, axis, keep)

    def _padded(self, of: Sound, node: ast.Call, args: Sequence[ast.expr], named: dict[str, ast.expr]) -> Sound:
        """F.pad(w, (0, n - L)), which crops where that is negative, and np.pad(x, (0, n - L))."""
        by_torch = self._is(node.func, "torch.nn.functional", "pad")
        given = dict(zip(("pad", "mode", "value"), args))
        given.update({{"pad_width": "pad"}.get(name, name): one for name, one in named.items()})
        of = sounds.stepped(of)
        sides, mode, value = given.get("pad"), self._known(given["mode"]) if "mode" in given else "constant", self._known(given["value"]) if "value" in given else 0
        if not set(given) <= {"pad", "mode", "value"} or mode != "constant" or value not in (0, None) or not of.axes.endswith("L") and of.axes != "?":
            self._refuse_sound(node)
        both = self._sides(sides, by_torch, of) if sides is not None else None
        if both is None or both[0] != 0:
            self._refuse_sound(node, "want zeros behind a sound alone: F.pad(waveform, (0, n - waveform.shape[1]))")
        room = both[1]
        if not isinstance(room, Count) or room.what != "frames" or room.sign != -1 or room.halved or not self._is_of_now(room, of):
            self._refuse_sound(node, "want zeros behind a sound up to a length: F.pad(waveform, (0, n - waveform.shape[1]))")
        length = frames(room.plus)
        made = sounds.filled(of, length)
        is_shorter = any(fact.what == "frames" and fact.by in ("<", "<=") and fact.than == length for fact in self._facts)
        return made if made.crop or room.least == 0 or not by_torch or is_shorter else sounds.cropped(made, length, "start")

    def _sides(self, node: ast.expr, by_torch: bool, of: Sound) -> Optional[tuple[Any, Any]]:
        """What lies ahead of the samples and behind them."""
        if not by_torch and isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) == len(of.axes) and all(isinstance(one, (ast.Tuple, ast.List)) for one in node.elts):
            *ahead, node = node.elts
            if any(self._known(one) not in ((0, 0), [0, 0]) for one in ahead):
                return None
        elif not by_torch and of.axes not in ("L", "?"):
            return None
        several = [self._number(one) for one in node.elts] if isinstance(node, (ast.Tuple, ast.List)) else self._heard(node)
        if not isinstance(several, (tuple, list)) or len(several) not in (2, 4) or any(one != 0 for one in several[2:]):
            return None
        return several[0], several[1]

    def _is_of_now(self, room: Count, of: Sound) -> bool:
        """Whether it is of a sound's length, or, where that is shorter, of what it was before a crop."""
        if room.is_of(of):
            return True
        shorter = any(fact.what == "frames" and fact.by in ("<", "<=") and fact.than == of.length for fact in self._facts)
        return (shorter or room.least == 0) and bool(of.crop) and room.of.frames() == of._replace(length=None, crop="", padded=False).frames()

    def _axis(self, of: Sound, node: ast.Call, name: str, args: Sequence[ast.expr], named: dict[str, ast.expr]) -> Sound:
        nodes = [*args, *named.values()]
        if len(nodes) == 1 and isinstance(nodes[0], (ast.Tuple, ast.List)):
            nodes = list(nodes[0].elts)
        numbers = [self._number(one) for one in nodes]
        if not all(type(one) is int for one in numbers) or not set(named) <= {"dim"}:
            self._refuse_sound(node)
        if name == "squeeze":
            return sounds.squeezed(of, None if not numbers else numbers[0]) if len(numbers) < 2 else self._refuse_sound(node)
        if name == "unsqueeze":
            return sounds.widened(of, numbers[0]) if len(numbers) == 1 else self._refuse_sound(node)
        of = sounds.two_axes(of)
        if name == "transpose" and of.array:  # NumPy's, of all axes
            return sounds.moved(of, [one % len(of.axes) for one in numbers] or list(reversed(range(len(of.axes)))))
        if name in ("transpose", "t") and len(numbers) in (0, 2):
            order, (first, second) = list(range(len(of.axes))), numbers or (0, 1)
            if len(order) < 2 or not numbers and len(order) != 2:
                self._refuse_sound(node)
            order[first], order[second] = order[second], order[first]
            return sounds.moved(of, order)
        return sounds.moved(of, [one % len(of.axes) for one in numbers])

    def _numbers(self, of: Sound, node: ast.Call, function: Any, args: Sequence[ast.expr], named: dict[str, ast.expr]) -> Sound:
        """torch.log and its kin, of each number."""
        values, more = [self._number(one) for one in args], {name: self._number(one) for name, one in named.items()}
        if any(one is NOTHING for one in (*values, *more.values())):
            self._refuse_sound(node)
        ahead = node.args[0] if isinstance(node.func, ast.Attribute) and self._known(node.func) is not NOTHING else node.func.value if isinstance(node.func, ast.Attribute) else node
        if function is getattr(sys.modules.get("torch"), "log", None) and isinstance(ahead, ast.BinOp) and isinstance(ahead.op, ast.Add) and self._number(ahead.right) == 1e-6:
            inner = self._heard(ahead.left)
            if isinstance(inner, Sound) and inner.features and not inner.then and inner.axes.endswith("FT"):
                return sounds.featured(inner, spectra.Feature(self._place(node), spectra.Logarithm()))
        said = (_SHORT.get(name := str(getattr(function, "__name__", "")), name), *values, *sorted(more.items()))
        return sounds.then(of, Each(said, lambda rows: function(rows, *values, **more)))

    def _typed(self, of: Sound, node: ast.Call, name: str, args: Sequence[ast.expr], named: dict[str, ast.expr]) -> Sound:
        """torch.from_numpy, torch.tensor(x, dtype=torch.float32), np.array and the like."""
        types = [self._known(one) for one in (*args, *[one for key, one in named.items() if key != "copy"])]
        if len(types) > 1 or any(one is NOTHING for one in types):
            self._refuse_sound(node)
        wanted = types[0] if types else {"FloatTensor": "float32", "Tensor": "float32", "float32": "float32"}.get(name)
        made = of if wanted is None else sounds.cast(of, self._type(wanted, node))
        to_array = str(getattr(self._known(node.func), "__module__", "")).partition(".")[0] == "numpy"
        return self._as_array(made, to_array)

    def _as_array(self, of: Sound, array: bool) -> Sound:
        """As an array of NumPy's, or as a tensor."""
        if array != of.array and (of.then or of.level):
            return sounds.then(of, Each(("array", array), lambda rows: rows.numpy() if array else sys.modules["torch"].from_numpy(rows)))._replace(array=array)
        return of._replace(array=array)

    def _type(self, one: Any, node: ast.AST) -> str:
        name = getattr(one, "__name__", "") or str(one)
        kind = {"float32": "f32", "float": "f64" if one is float else "f32", "float64": "f64", "double": "f64"}.get(name.rpartition(".")[2], "")
        return kind or self._refuse_sound(node)

    def _heard_method(self, of: Any, node: ast.Call, name: str) -> Any:
        args, named = node.args, {str(one.arg): one.value for one in node.keywords}
        if isinstance(of, films.KINDS):
            return self._filmed_by(of, node, name, args, named)
        if isinstance(of, Decoder):
            return self._played(of.sound, node, name, args, named)
        if isinstance(of, Measured):
            return self._measured_method(of, node, name)
        if isinstance(of, (Drawn, Count)) and name == "item" and not args and not named:
            return of
        if isinstance(of, spectra.Maker) and name == "to" and len(args) == 1 and not named and str(self._known(args[0])) == "cpu":
            return of
        if not isinstance(of, Sound):
            return NOTHING
        if name in ("size", "dim"):
            if name == "dim":
                return self._axes_of(of)
            axis = self._number([*args, *named.values()][0]) if args or named else NOTHING
            return Shape(of) if not args and not named else self._size(of, axis, node) if type(axis) is int else self._refuse_sound(node)
        if name == "numel" and not args:
            return Count("frames", of.frames()) if of.axes == "L" else self._refuse_sound(node)
        if name in REDUCED and (name != "mean" or self._is_measured(of, args, node.keywords)):
            return self._reduced(of, node, name, args, named, lambda row, *values, **more: getattr(row, name)(*values, **more))
        if name == "mean":
            return self._mean(of, node, args, named)
        if name in ("squeeze", "unsqueeze", "transpose", "permute", "t"):
            return self._axis(of, node, name, args, named)
        if name in ("contiguous", "clone", "detach", "cpu") or name == "copy" and of.array:
            return of
        if name == "numpy" and not of.array and not args and not named:
            return self._as_array(of, True)
        if name == "pow" and len(args) == 1 and not named and not of.array and isinstance(number := self._number(args[0]), (int, float)):
            return sounds.then(of, Each(("Pow", number), lambda rows: rows.pow(number)))
        if name in ("float", "double") and not args:
            return sounds.cast(of, "f32" if name == "float" else "f64")
        if name == "to" and len(args) == 1 and not named and str(self._known(args[0])) == "cpu":
            return of
        if name in ("astype", "to", "type") and len(args) + len(named) == 1:
            return sounds.cast(of, self._type(self._known([*args, *named.values()][0]), node))
        if name in ("repeat", "expand") and not named:
            times = [self._number(one) for one in args]
            if of.features or of.under:
                copies = [at for at, one in enumerate(times) if one not in ((1,) if name == "repeat" else (1, -1))]
                return sounds.repeated(of, times[copies[0]], copies[0]) if len(copies) == 1 and len(times) == len(of.axes) and not of.array else self._refuse_sound(node, "want copies along an axis of one, no more")
            return sounds.copied(of, times[0]) if len(times) == 2 and type(times[0]) is int and times[1] == (1 if name == "repeat" else -1) else self._refuse_sound(node)
        torch = sys.modules.get("torch")
        if name in ("log", "log10", "clamp", "exp", "sqrt", "abs") and not of.array and torch is not None:
            return self._numbers(of, node, getattr(torch, name), args, named)
        return self._refuse_sound(node)

    def _played(self, of: Sound, node: ast.Call, name: str, args: Sequence[ast.expr], named: dict[str, ast.expr]) -> Any:
        """What an AudioDecoder returns."""
        if name == "get_all_samples" and not args and not named:
            return Decoded(of)
        given = dict(zip(("start_seconds", "stop_seconds"), args))
        given.update(named)
        values = {key: self._number(one) for key, one in given.items()}
        start = values.get("start_seconds", 0)
        stop = values.get("stop_seconds")
        if name != "get_samples_played_in_range" or not set(values) <= {"start_seconds", "stop_seconds"} or not all(isinstance(one, (int, float)) for one in values.values()) or start < 0:
            self._refuse_sound(node)
        return Decoded(of._replace(window=sounds.Played(start, stop)))


def _is_rate(one: Any) -> bool:
    return isinstance(one, Rate)
