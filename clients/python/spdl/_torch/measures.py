"""What functions of one's own measure of sounds, expression by expression: w.abs().max(), w.mean(), and numbers that are made of these."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import levels, sounds
from .levels import Each, Measured
from .sounds import Sound
from .texts import NOTHING
from .watching import Watching

REDUCED = ("max", "min", "amax", "amin", "mean", "std", "var", "sum", "norm")  # methods, and functions of torch's and NumPy's
_OF_NUMBERS = ("item", "sqrt", "clamp", "clamp_min", "abs", "float", "clip")
BY: dict[type, tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add), ast.Sub: ("-", operator.sub), ast.Mult: ("*", operator.mul), ast.Div: ("/", operator.truediv), ast.Pow: ("**", operator.pow),
}
_PLAIN: dict[str, Callable[..., Any]] = {"max": max, "min": min, "float": float, "abs": abs}  # Python's own
_WANT = "want what is measured of a sound by max, min, mean, std, var, sum or norm, with arguments that are known, and put to that sound itself: w / w.abs().max(), (w - w.mean()) / w.std()"


class Measuring(Watching):
    """Of a reader of expressions, that of numbers that are measured."""

    def _values(self, nodes: Sequence[ast.expr]) -> list[Any]:
        return [self._known(one) if number is NOTHING else number for one, number in zip(nodes, map(self._number, nodes))]

    def _reduced(self, of: Sound, node: ast.Call, name: str, args: Sequence[ast.expr], named: Mapping[str, ast.expr], call: Callable[..., Any]) -> Measured:
        """One number of a sound's, or one of each along an axis."""
        values, more = self._values(args), dict(zip(named, self._values(list(named.values()))))
        along = bool(values) or bool({"dim", "axis"} & set(more))
        if not all(type(one) in (int, bool, float, str, type(None)) for one in (*values, *more.values())) or along and (name in ("max", "min") and not of.array or of.axes == "?"):
            self._refuse_sound(node, _WANT)
        of = sounds.stepped(sounds.settled(of))
        return levels.measured(sounds.bare(of), of.then, (name, *values, *sorted(more.items())), lambda row: call(row, *values, **more), along)

    def _measured_method(self, of: Measured, node: ast.Call, name: str) -> Measured:
        if name not in _OF_NUMBERS:
            self._refuse_sound(node, _WANT)
        values, more = self._values(node.args), {str(one.arg): value for one, value in zip(node.keywords, self._values([one.value for one in node.keywords]))}
        if not all(type(one) in (int, float) for one in (*values, *more.values())):
            self._refuse_sound(node, _WANT)
        said = "clamp" if name in ("clamp", "clamp_min") and _is_least([*values, *more.values()]) else name
        return levels.changed(of, said, lambda one, *rest: getattr(one, name)(*rest[:len(values)], **dict(zip(more, rest[len(values):]))), *values, *more.values())

    def _measured_sum(self, node: ast.BinOp) -> Any:
        """Of numbers, of which one is measured; NOTHING: none is."""
        sides = [self._heard(one) for one in (node.left, node.right)]
        if not any(isinstance(one, Measured) for one in sides):
            return NOTHING
        left, right = [self._number(at) if one is NOTHING else one for one, at in zip(sides, (node.left, node.right))]
        if type(node.op) not in BY or not all(isinstance(one, (Measured, int, float)) for one in (left, right)):
            self._refuse_sound(node, _WANT)
        said, by = BY[type(node.op)]
        return _joined(said, by, left, right)

    def _measures(self, function: Any, node: ast.Call) -> Any:
        """torch.max(w), torch.sqrt(power), max(peak, 1e-8); NOTHING: it is something else."""
        name, library = str(getattr(function, "__name__", "")), str(getattr(function, "__module__", "") or "").partition(".")[0]
        of_python = isinstance(node.func, ast.Name) and node.func.id in _PLAIN and function is NOTHING
        if not node.args or not of_python and library not in ("torch", "numpy") and not self._is(node.func, "torch", *REDUCED, "sqrt", "clamp") and not self._is(node.func, "numpy", *REDUCED, "sqrt"):
            return NOTHING
        heard = [self._heard(one) for one in node.args]
        if any(isinstance(one, Measured) for one in heard):
            if of_python and isinstance(node.func, ast.Name) and not node.keywords:
                values = [one if isinstance(one, Measured) else value for one, value in zip(heard, self._values(node.args))]
                said = node.func.id if node.func.id == "float" or _is_least([one for one in values if not isinstance(one, Measured)]) else f"another {node.func.id}"
                return _joined(said, _PLAIN[node.func.id], *values) if all(isinstance(one, (Measured, int, float)) for one in values) else self._refuse_sound(node, _WANT)
            values, more = self._values(node.args[1:]), {str(one.arg): value for one, value in zip(node.keywords, self._values([one.value for one in node.keywords]))}
            if not isinstance(heard[0], Measured) or name not in ("sqrt", "clamp", "abs", "log10") or not all(type(one) in (int, float) for one in (*values, *more.values())):
                self._refuse_sound(node, _WANT)
            said = "clamp" if name == "clamp" and _is_least([*values, *[one for key, one in more.items() if key == "min"]]) and len(values) + len(more) == 1 else f"another {name}"
            return levels.changed(heard[0], said, lambda one, *rest: function(one, *rest[:len(values)], **dict(zip(more, rest[len(values):]))), *values, *more.values())
        if not isinstance(heard[0], Sound):
            return NOTHING
        if of_python:
            return sounds.then(heard[0], Each(("abs",), abs)) if isinstance(node.func, ast.Name) and node.func.id == "abs" and len(node.args) == 1 else self._refuse_sound(node, _WANT)
        reduces = name in REDUCED and (self._is(node.func, "torch", name) or self._is(node.func, "numpy", name) or library in ("torch", "numpy"))
        if not reduces or name == "mean" and not self._is_measured(heard[0], node.args[1:], node.keywords):
            return NOTHING
        return self._reduced(heard[0], node, name, node.args[1:], {str(one.arg): one.value for one in node.keywords}, function)

    def _is_measured(self, of: Sound, args: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> bool:
        """Whether a mean is of samples, and not of channels; of a spectrum, whether it is put to that: it is of all, or keeps its axes."""
        if of.features or of.under:
            return not args and not any(one.arg in ("dim", "axis") for one in keywords) or any(one.arg in ("keepdims", "keepdim") and self._known(one.value) is True for one in keywords)
        if not args and not any(one.arg in ("dim", "axis") for one in keywords):
            return True
        axis = self._number([*args, *[one.value for one in keywords if one.arg in ("dim", "axis")]][0])
        return type(axis) is int and of.axes != "?" and -len(of.axes) <= axis < len(of.axes) and of.axes[axis] == "L" and not of.features


def _joined(said: str, by: Callable[..., Any], *parts: Any) -> Measured:
    """Of several, the measured ones of one sound."""
    several = [one for one in parts if isinstance(one, Measured)]
    if any(one.of != several[0].of for one in several):
        raise sounds.Cannot("want numbers that are measured of one sound, as it is there")
    return levels.changed(parts[0], said, by, *parts[1:])


def _is_least(values: Sequence[Any]) -> bool:
    """Whether they are a bound that no sound's peak is below but that of silence."""
    return all(isinstance(one, (int, float)) and math.isfinite(one) and 0 <= one <= 1e-6 for one in values)
