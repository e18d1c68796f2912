"""What functions of one's own do with sounds and videos, statement by statement: names, conditions, and the numbers that these are on."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, Optional, Union

from . import films, libraries
from .counts import Behind, Count, Drawn, Fact, Rate, added, compared, merged
from .heard import Extra, Others, Shape, frames, has_sound, is_heard
from .levels import Measured
from .sounds import Cannot, Seconds, Sound
from .texts import NOTHING
from .waves import Waves

_NUMBERS = (Count, Drawn, Behind, Rate, Seconds, int, float)
_BY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Pow: operator.pow, ast.Mod: operator.mod, ast.LShift: operator.lshift,
}
_ROUND: dict[str, Callable[..., Any]] = {"int": int, "max": max, "min": min, "round": round}


class Hearing(Waves):
    """Of a reader of statements, that of sounds and videos."""

    def _begin_hearing(self) -> None:
        stores = [one.id for one in ast.walk(self._own) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
        self._once = {name for name in stores if stores.count(name) == 1}
        self._constants: dict[str, Any] = {}  # names that have a known number
        self._latest: dict[str, Any] = {}  # and those that have one where a statement is read
        self._facts: list[Fact] = []  # that hold where a branch is read
        self._heard_calls: dict[int, Any] = {}  # what calls have opened, within a statement

    def _heard_step(self, step: ast.stmt) -> Optional[list[ast.stmt]]:
        """What is left of a statement on sounds; None: it is on none."""
        self._heard_calls = {}
        if isinstance(step, ast.Assign) and len(step.targets) == 1:
            return self._heard_assign(step, step.targets[0], step.value)
        if isinstance(step, ast.AugAssign) and isinstance(step.target, ast.Name) and is_heard(self._names.get(step.target.id)):
            changed = self._names[step.target.id]
            if isinstance(changed, Sound) and sum(isinstance(one, Sound) and one.file == changed.file for one in self._names.values()) > 1:
                self._refuse_sound(step, f"want another name for what it makes, as what else has these samples would be changed, too: {step.target.id} = {step.target.id} * 2")
            value = ast.copy_location(ast.BinOp(ast.Name(step.target.id, ast.Load()), step.op, step.value), step)
            return self._heard_assign(step, step.target, value)
        if isinstance(step, ast.If) and self._mentions(step) and (fact := self._fact(step.test)) is not NOTHING:
            return self._steps(step.body if fact else step.orelse) if isinstance(fact, bool) else self._branched(step, fact)
        if isinstance(step, ast.Assert) and self._mentions(step.test) and (fact := self._fact(step.test)) is not NOTHING:
            if fact is False or isinstance(fact, Fact) and (fact.what, fact.by) != ("channels", "=="):
                self._refuse_sound(step)
            if isinstance(fact, Fact):
                self._names.update({name: one._replace(files=fact.than) for name, one in self._names.items() if one == fact.of})
            return []
        if not self._mentions(step):
            self._forget(step)
        return None

    def _forget(self, step: ast.stmt) -> None:
        """What was known of names that a statement gives to something else."""
        for one in ast.walk(step):
            if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load):
                self._constants.pop(one.id, None)
                self._latest.pop(one.id, None)
                if isinstance(self._names.get(one.id), Rate):
                    del self._names[one.id]

    def _heard_assign(self, step: ast.stmt, target: ast.expr, value: ast.expr) -> Optional[list[ast.stmt]]:
        made = self._heard(value)
        number = self._number(value) if made is NOTHING else NOTHING
        rates = {name for name, one in self._names.items() if isinstance(one, Rate)}
        self._forget(step)
        if isinstance(number, (Count, Drawn, Behind)):
            made = number
        if made is NOTHING:
            if isinstance(target, ast.Name) and number is not NOTHING:
                if target.id in rates:
                    self._names[target.id] = Rate(-1, number) if isinstance(number, int) else self._refuse_sound(step)
                else:
                    self._latest[target.id] = number
                    if target.id in self._once:
                        self._constants[target.id] = number
                        if self._mentions(value):  # of which nothing is left in the code
                            return [ast.copy_location(ast.Assign([target], ast.Constant(number)), step)] if isinstance(number, (int, float)) else []
            return None
        if isinstance(made, Seconds):
            if isinstance(target, ast.Name) and target.id in self._once:
                self._constants[target.id] = made
                return None
            self._refuse_sound(step)
        return [*self._opened_by(step), *self._called_so(step, target, made)]

    def _called_so(self, step: ast.stmt, target: ast.expr, made: Any) -> list[ast.stmt]:
        """Names what is made, and what is left of that."""
        if isinstance(target, (ast.Tuple, ast.List)):
            if isinstance(made, Shape):
                made = tuple([self._size(made.of, axis, step) for axis in range(len(made.of.axes))])
            elts = target.elts
            if type(made) is tuple and made and isinstance(others := made[-1], Others) and len(elts) >= len(made) - 1 and ast.Starred not in map(type, elts[:len(made) - 1]):
                rest: list[ast.stmt] = [ast.copy_location(ast.Assign([ast.Tuple(elts[len(made) - 1:], ast.Store())], others.node), step)]
                return [*[one for name, each in zip(elts, made[:-1]) for one in self._called_so(step, name, each)], *rest]
            if type(made) is tuple and made and isinstance(others := made[-1], Others) and elts and isinstance(star := elts[-1], ast.Starred) and all(isinstance(one, (Extra, Rate)) for one in made[len(elts) - 1:-1]):
                known = [one.node if isinstance(one, Extra) else self._rated(one) for one in made[len(elts) - 1:-1] if isinstance(one, (Extra, Rate))]
                made = (*made[:len(elts) - 1], Extra(ast.List([*known, ast.Starred(others.node, ast.Load())], ast.Load())))
                return [one for name, each in zip([*elts[:-1], star.value], made) for one in self._called_so(step, name, each)]
            if type(made) is tuple and [type(one) for one in elts].count(ast.Starred) == 1:
                target, made = self._spread_over(target, made, step)
            if type(made) is not tuple or len(made) != len(target.elts):
                self._refuse_sound(step)
            return [one for name, each in zip(target.elts, made) for one in self._called_so(step, name, each)]
        if not isinstance(target, ast.Name):
            self._refuse_sound(step)
        self._names[target.id] = made
        if isinstance(made, Extra):
            del self._names[target.id]
            return [ast.copy_location(ast.Assign([target], made.node), step)]
        if isinstance(made, Rate):
            return [ast.copy_location(ast.Assign([target], self._rated(made)), step)]
        if isinstance(made, (int, float)):  # a number beside a sound
            del self._names[target.id]
            self._constants[target.id] = made
            return [ast.copy_location(ast.Assign([target], ast.Constant(made)), step)]
        return []

    def _spread_over(self, target: Union[ast.Tuple, ast.List], made: tuple[Any, ...], step: ast.stmt) -> tuple[ast.Tuple, tuple[Any, ...]]:
        """wave, rate, *rest = ..., with what the rest has in a list."""
        at, more = [type(one) for one in target.elts].index(ast.Starred), len(made) - len(target.elts) + 1
        rest = made[at:at + more]
        if more < 0 or not all(isinstance(one, (Extra, Rate)) for one in rest):
            self._refuse_sound(step)
        listed = Extra(ast.List([one.node if isinstance(one, Extra) else self._rated(one) for one in rest], ast.Load()))
        starred = target.elts[at]
        assert isinstance(starred, ast.Starred)
        names = [*target.elts[:at], starred.value, *target.elts[at + 1:]]
        return ast.copy_location(ast.Tuple(names, ast.Store()), target), (*made[:at], listed, *made[at + more:])

    def _branched(self, step: ast.If, fact: Fact) -> list[ast.stmt]:
        """Both sides of a condition on a sound, which come to one thing."""
        before, numbers = dict(self._names), dict(self._latest)
        sides: list[dict[str, Any]] = []
        places: list[dict[str, Any]] = []  # numbers that names have on a side
        zeros: list[ast.stmt] = []  # statements that give a name to the first place
        for body, holds in ((step.body, fact), (step.orelse, fact.no())):
            self._names, self._latest = dict(before), dict(numbers)
            if fact.what == "axes" and isinstance(fact.of, Sound) and fact.of.axes == "?":
                several = (holds.by, holds.than) in ((">", 1), ("==", 2), (">=", 2), ("!=", 1))
                self._names.update({name: one._replace(axes="LC" if several else "L") for name, one in before.items() if one == fact.of})
            self._facts.append(holds)
            kept = self._steps(body)
            self._facts.pop()
            zeros += [one for one in kept if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name) and self._latest.get(one.targets[0].id) == 0]
            other: list[ast.stmt] = [one for one in (self._last, *kept) if one is not None and not self._says_rate(one) and one not in zeros]
            if other:
                self._refuse_sound(other[0])
            sides.append(self._names)
            places.append(self._latest)
        self._names, self._latest = {}, {name: one for name, one in places[0].items() if name in places[1] and places[1][name] == one}
        left: list[ast.stmt] = []
        for name in before.keys() | sides[0].keys() | sides[1].keys():
            yes, no = [side.get(name, NOTHING) for side in sides]
            yes, no = [at.get(name, NOTHING) if one is NOTHING and isinstance(other, Drawn) else one for one, other, at in zip((yes, no), (no, yes), places)]
            if yes is NOTHING or no is NOTHING:
                continue  # known on one side alone, so it is not used behind
            try:
                self._names[name] = made = merged(fact, before.get(name) or _as_long(fact, before), yes, no)
            except Cannot as error:
                self._not_so(step, error)
            zeros = [one for one in zeros if not isinstance(made, Drawn) or ast.unparse(one) != f"{name} = 0"]
            if isinstance(made, Rate) and made != before.get(name) and made.known is not None:
                left.append(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(made.known)), step))
        if zeros:
            self._refuse_sound(zeros[0])
        return left

    def _says_rate(self, step: ast.stmt) -> bool:
        """Whether a statement gives a name that a rate has another one, or says nothing."""
        if isinstance(step, ast.Assign) and isinstance(step.targets[0], ast.Name):
            return isinstance(self._names.get(step.targets[0].id), Rate)
        return isinstance(step, ast.Pass) or isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant)

    def _fact(self, test: ast.expr) -> Any:
        """What a condition on a sound says: a Fact, or True or False; NOTHING: it is on none."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            of = self._fact(test.operand)
            return NOTHING if of is NOTHING else not of if isinstance(of, bool) else of.no()
        if isinstance(test, ast.BoolOp):
            facts = [self._fact(one) for one in test.values]
            if all(one is NOTHING for one in facts):
                return NOTHING
            facts = [self._holds(one) if fact is NOTHING else fact for one, fact in zip(test.values, facts)]
            ends = isinstance(test.op, ast.Or)
            if any(isinstance(one, bool) and one == ends for one in facts):
                return ends
            left = [one for one in facts if not isinstance(one, bool)]
            return left[0] if len(left) == 1 else self._refuse_sound(test) if left else not ends
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return NOTHING
        if isinstance(test.ops[0], (ast.Is, ast.IsNot)):
            return NOTHING
        left, right = map(self._side, (test.left, test.comparators[0]))
        if any(isinstance(one, Measured) for one in (left, right)):
            return compared(left, test.ops[0], right) or self._refuse_sound(test)
        if any(isinstance(one, Count) for one in (left, right)):
            left, right = frames(left), frames(right)
        if not any(isinstance(one, (Count, Rate)) for one in (left, right)):
            return NOTHING
        if left is NOTHING or right is NOTHING or (made := compared(left, test.ops[0], right)) is None:
            return NOTHING if not any(isinstance(one, Count) for one in (left, right)) else self._refuse_sound(test)
        if isinstance(made, Fact) and made.what == "frames" and isinstance(made.of, Sound) and made.of.padded and made.of.crop and made.of.length == made.than:
            return made.by in ("==", ">=", "<=")
        return made

    def _side(self, node: ast.expr) -> Any:
        """Of a comparison: a number, also one that was measured."""
        heard = self._heard(node)
        return heard if isinstance(heard, Measured) else self._number(node)

    def _number(self, node: ast.expr) -> Any:
        """A number, of a sound or known; NOTHING: it is none."""
        if isinstance(node, ast.Name) and node.id in self._constants:
            return self._constants[node.id]
        heard = self._heard(node)
        if heard is not NOTHING:
            return heard if isinstance(heard, _NUMBERS) else NOTHING
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            of = self._number(node.operand)
            return -of if isinstance(of, (int, float)) else NOTHING
        if isinstance(node, ast.BinOp):
            return self._arithmetic(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _ROUND and self._known(node.func) is NOTHING and not node.keywords:
            return self._rounded(node, node.func.id, [self._number(one) for one in node.args])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "item" and not node.args:
            return self._number(node.func.value)
        value = self._known(node)
        return value if type(value) in (int, float) else NOTHING

    def _rounded(self, node: ast.Call, name: str, args: list[Any]) -> Any:
        if any(one is NOTHING for one in args) or not args:
            return NOTHING
        if all(isinstance(one, (int, float)) for one in args):
            return _ROUND[name](*args)
        if name == "int" and len(args) == 1:
            return Seconds(args[0].times, args[0].file) if isinstance(args[0], Rate) and args[0].known is None else args[0]
        if name == "max" and len(args) == 2 and 0 in args:
            of = args[0] if args[1] == 0 else args[1]
            return of._replace(least=0) if isinstance(of, Count) and not of.halved else self._refuse_sound(node)
        return self._refuse_sound(node)

    def _arithmetic(self, node: ast.BinOp) -> Any:
        left, right = self._number(node.left), self._number(node.right)
        if left is NOTHING or right is NOTHING:
            return NOTHING
        by = type(node.op)
        if all(isinstance(one, (int, float)) for one in (left, right)):
            try:
                return _BY[by](left, right) if by in _BY else NOTHING
            except (ArithmeticError, TypeError, ValueError):
                return NOTHING
        if by is ast.Mult and any(isinstance(one, Rate) for one in (left, right)):
            rate, times = (left, right) if isinstance(left, Rate) else (right, left)
            if isinstance(times, (int, float)):
                return Rate(rate.file, None, rate.times * times) if rate.known is None else rate.known * times
        if by is ast.Div and isinstance(left, Rate) and left.known is not None and isinstance(right, (int, float)) and right:
            return left.known / right
        if by is ast.FloorDiv and isinstance(left, Rate) and type(right) is int and right > 0:
            if left.known is not None:
                return left.known // right
            return Seconds(left.times / right, left.file) if right & (right - 1) == 0 and left.times == 1 else self._refuse_sound(node)  # halves are whole in floats
        if by in (ast.Add, ast.Sub):
            left, right = [Seconds(one.times, one.file) if isinstance(one, Rate) and one.known is None and float(one.times).is_integer() else one.known if isinstance(one, Rate) else one for one in (left, right)]
            made = added(left, right, 1 if by is ast.Add else -1)
            return self._refuse_sound(node) if made is None else made
        if by is ast.FloorDiv and isinstance(left, Count) and right == 2 and left.what == "frames" and left.sign == 1 and not left.halved:
            return left._replace(halved=True)
        return self._refuse_sound(node)

    def _sized(self, node: ast.expr) -> Any:
        """A length: a number of samples, or of seconds."""
        number = self._number(node)
        number = frames(number)
        if isinstance(number, float) and number.is_integer():
            number = int(number)
        return number if isinstance(number, Seconds) or type(number) is int and number > 0 else self._refuse_sound(node)

    def _heard(self, node: ast.expr) -> Any:
        """What an expression is of sounds; NOTHING: it is of none."""
        try:
            if isinstance(node, ast.Name):
                one = self._names.get(node.id, NOTHING)
                return one if is_heard(one) else NOTHING
            if isinstance(node, ast.Tuple) and any(self._heard(one) is not NOTHING for one in node.elts):
                both = [self._heard(one) for one in node.elts]
                both = [self._number(at) if one is NOTHING else one for one, at in zip(both, node.elts)]
                return NOTHING if any(one is NOTHING for one in both) else tuple(both)
            if isinstance(node, ast.IfExp) and (fact := self._fact(node.test)) is not NOTHING:
                if isinstance(fact, bool):
                    return self._heard(node.body if fact else node.orelse)
                sides = []
                for one, holds in ((node.body, fact), (node.orelse, fact.no())):
                    self._facts.append(holds)
                    heard = self._heard(one)
                    sides.append(self._number(one) if heard is NOTHING else heard)
                    self._facts.pop()
                return merged(fact, _as_long(fact, self._names), *sides)
            if isinstance(node, ast.IfExp) and any(self._heard(one) is not NOTHING for one in (node.body, node.orelse)):
                return self._heard(node.body if self._holds(node.test) else node.orelse)
            if isinstance(node, ast.Attribute) and (of := self._heard(node.value)) is not NOTHING:
                return self._heard_attribute(of, node)
            if isinstance(node, ast.Subscript) and (of := self._heard(node.value)) is not NOTHING:
                return self._heard_part(of, node)
            if isinstance(node, ast.Subscript):
                return self._heard_inner(node)
            if isinstance(node, ast.BinOp) and isinstance(of := self._heard(node.left), Sound):
                return self._heard_sum(of, node)
            if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mult)) and isinstance(of := self._heard(node.right), Sound):
                return self._heard_sum(of, ast.copy_location(ast.BinOp(node.right, node.op, node.left), node))
            if isinstance(node, ast.BinOp) and (made := self._measured_sum(node)) is not NOTHING:
                return made
            return self._heard_call(node) if isinstance(node, ast.Call) else NOTHING
        except Cannot as error:
            self._not_so(node, error)

    def _heard_call(self, node: ast.Call) -> Any:
        if id(node) in self._heard_calls:
            return self._heard_calls[id(node)]
        made = self._heard_opened(node)
        if made is not NOTHING:
            self._heard_calls[id(node)] = made
            return made
        if isinstance(node.func, ast.Attribute) and (of := self._heard(node.func.value)) is not NOTHING and not isinstance(of, Shape):
            return self._heard_method(of, node, node.func.attr)
        function = self._heard(node.func)
        if function is NOTHING:
            function = self._known(node.func)
        if isinstance(node.func, ast.Name) and node.func.id == "len" and self._known(node.func) is NOTHING and len(node.args) == 1 and (of := self._heard(node.args[0])) is not NOTHING:
            return self._axes_of(of.of) if isinstance(of, Shape) else Count("film", of) if isinstance(of, films.Film) else self._size(of, 0, node) if isinstance(of, Sound) else self._refuse_sound(node)
        if (drawn := self._drawn(node)) is not NOTHING:
            return drawn
        if (measured := self._measures(function, node)) is not NOTHING:
            return measured
        if (shown := self._shown(node, function)) is not NOTHING:
            return shown
        if isinstance(function, type) and libraries.is_of(function, "torchaudio.transforms"):
            return self._maker(function, node)
        if (several := self._several(node)) is not NOTHING:
            return several
        if self._is(node.func, "torch", "cat", "concat") and node.args and isinstance(node.args[0], (ast.List, ast.Tuple)):
            return self._copied(node, node.args[0].elts)
        if (made := self._by_librosa(function, node)) is not NOTHING:
            return made
        given = [self._heard(one) for one in (*node.args, *[one.value for one in node.keywords])]
        if not any(map(has_sound, given)) or function is NOTHING:
            return NOTHING
        if given and has_sound(given[0]) and (made := self._by_its_name(function, node, given[0])) is not NOTHING:
            return made
        if given and has_sound(given[0]) and (made := self._transformed_sound(function, node, given[0])) is not NOTHING:
            return made
        made = self._through(node, function, given[0]) if node.args and has_sound(given[0]) else NOTHING
        return self._refuse_sound(node) if made is NOTHING else made


def _as_long(fact: Fact, names: dict[str, Any]) -> Optional[Sound]:
    """The sound whose length a condition is on."""
    return next((one for one in names.values() if isinstance(one, Sound) and fact.what == "frames" and one.frames() == fact.of.frames()), None)
