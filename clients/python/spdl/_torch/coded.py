"""The code of a function of one's own, as it runs for a whole batch: its statements, conditions and names, one after the other, with what each expression stands for."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import Any, NamedTuple, NoReturn, Optional

from . import batchwise, texts
from .batchwise import Item, Other, Program
from .named import is_view
from .numbered import Number
from .texts import NOTHING, Known

_DEEP = 16  # calls of functions of one's own within each other
_TURNS = 4096  # of a loop
_COMPARED: dict[type, Callable[[Any, Any], Any]] = {ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
                                                    ast.Is: operator.is_, ast.IsNot: operator.is_not, ast.In: lambda one, many: one in many, ast.NotIn: lambda one, many: one not in many}


class Unread(Exception):
    """What a method does that is not known to be the same for batches, and where."""

    stores = False  # whether that is to give its data set an attribute


class Seen(NamedTuple):
    """What an attribute or a key was when the loader was made."""

    name: str
    now: Callable[[], Any]
    value: Any

    def is_same(self) -> bool:
        try:
            now = self.now()
        except (AttributeError, LookupError, ValueError):
            return False
        return now is self.value or isinstance(now, (bool, int, float, str)) and type(now) is type(self.value) and now == self.value


class World(NamedTuple):
    """What is one for all functions that are read."""

    program: Program
    seen: dict[tuple[int, Any], Seen]


class Cut(NamedTuple):
    """start:stop:step, of which some follow from a sample's number."""

    start: Any
    stop: Any
    step: Any


class Code(texts.Reader):
    """Of one function, that is called with these values: Known ones, Numbers and Items, and tuples, lists and dicts of them."""

    def __init__(self, world: World, function: FunctionType, own: texts.Definition, args: tuple[Any, ...], named: Mapping[str, Any], cls: Optional[type], within: tuple[Any, ...]) -> None:
        super().__init__(function, own)
        self._world, self._cls, self._within = world, cls, (*within, function)
        if len(self._within) > _DEEP:
            self._refuse(own, "functions that call each other more deeply than is read here")
        self._names = self._given(args, named)
        self._self = args[0] if cls is not None and args else None

    def _given(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        of, usual = self._own.args, self._function.__defaults__ or ()
        names = [one.arg for one in (*of.posonlyargs, *of.args)]
        given = {**{name: Known(value) for name, value in zip(names[len(names) - len(usual):], usual)}, **{name: Known(value) for name, value in (self._function.__kwdefaults__ or {}).items()}, **dict(zip(names, args)), **named}
        if of.vararg or of.kwarg or len(args) > len(names) or set(given) != {*names, *[one.arg for one in of.kwonlyargs]}:
            self._refuse(self._own, "other arguments than are given")
        return given

    def _refuse(self, node: ast.AST, what: str) -> NoReturn:
        raise Unread(f"{self._place(node)}: got {what}")

    def _other_of(self, node: ast.AST, error: Exception) -> NoReturn:
        self._refuse(node, f"{ast.unparse(node)[:80]!r}{', ' if str(error) else ''}{error}")

    # ---- statements

    def returned(self) -> Any:
        if isinstance(self._own, ast.Lambda):
            return self._value(self._own.body)
        made = self._run(self._own.body)
        return Known(None) if made is NOTHING else made

    def _run(self, steps: list[ast.stmt]) -> Any:
        """What they return; NOTHING: nothing yet."""
        for step in steps:
            if isinstance(step, ast.Return):
                return Known(None) if step.value is None else self._value(step.value)
            if isinstance(step, ast.If):
                made = self._run(step.body if self._truth(step.test) else step.orelse)
            elif isinstance(step, ast.For):
                made = self._looped(step)
            else:
                made = self._step(step)
            if made is not NOTHING:
                return made
        return NOTHING

    def _looped(self, step: ast.For) -> Any:
        if step.orelse or any(isinstance(one, (ast.Break, ast.Continue)) for one in ast.walk(step)):
            self._other(step)
        for one in self._several(step.iter):
            self._bind(step.target, one)
            made = self._run(step.body)
            if made is not NOTHING:
                return made
        return NOTHING

    def _step(self, step: ast.stmt) -> Any:
        if texts.is_import(step) or isinstance(step, ast.Pass) or isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant):
            return NOTHING
        if isinstance(step, ast.Assign):
            value = self._value(step.value)
            for target in step.targets:
                self._bind(target, value if len(step.targets) == 1 else known_elsewhere(value))
        elif isinstance(step, ast.AnnAssign) and step.value is not None:
            self._bind(step.target, self._value(step.value))
        elif isinstance(step, ast.AugAssign):
            self._changed(step)
        elif isinstance(step, ast.Assert):
            if not self._truth(step.test):
                self._other(step)
        elif isinstance(step, ast.Expr) and isinstance(step.value, ast.Call):
            self._value(step.value)  # item.update(...), rows.append(...)
        else:
            self._other(step)
        return NOTHING

    def _bind(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self._names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            values = self._elements(value, target)
            if len(values) != len(target.elts) or any(isinstance(one, ast.Starred) for one in target.elts):
                self._other(target)
            for one, each in zip(target.elts, values):
                self._bind(one, each)
        elif isinstance(target, ast.Subscript) and isinstance(of := self._value(target.value), dict) and isinstance(key := self._value(target.slice), Known):
            of[key.value] = value
        elif isinstance(target, ast.Attribute):
            error = Unread(f"{self._place(target)}: got {ast.unparse(target)[:80]!r}, to which something is assigned")
            error.stores = True
            raise error
        else:
            self._other(target)

    def _changed(self, step: ast.AugAssign) -> None:
        """x /= 255."""
        if not isinstance(step.target, ast.Name) or step.target.id not in self._names:
            self._other(step)
        before, by = self._names[step.target.id], self._value(step.value)
        if isinstance(before, Item):
            if not isinstance(by, Known):
                self._other(step)
            try:
                self._names[step.target.id] = batchwise.within(self._world.program, type(step.op).__name__, before, by.value)
            except Other as error:
                self._other_of(step, error)
        elif type(before) in (tuple, list, dict) or isinstance(before, Known) and isinstance(before.value, (list, dict)):
            self._other(step)
        else:
            self._names[step.target.id] = self._operated(step, step.op, before, by)

    # ---- conditions

    def _truth(self, node: ast.expr) -> bool:
        value = self._value(node)
        if type(value) in (tuple, list, dict):
            return bool(value)
        if not isinstance(value, Known):
            self._refuse(node, f"{ast.unparse(node)[:80]!r}, which may be another for each sample")
        try:
            return bool(value.value)
        except (TypeError, ValueError, RuntimeError) as error:
            self._other_of(node, error)

    def _boolop(self, node: ast.BoolOp) -> Any:
        for one in node.values[:-1]:
            if self._truth(one) == isinstance(node.op, ast.Or):
                return self._value(one)
        return self._value(node.values[-1])

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return Known(not self._truth(node.operand))
        value = self._value(node.operand)
        if isinstance(node.op, ast.USub) and isinstance(value, Known):
            return Known(-value.value)
        if isinstance(node.op, ast.USub) and isinstance(value, Number):
            return value.times(-1)
        self._other(node)

    def _ifexp(self, node: ast.IfExp) -> Any:
        return self._value(node.body if self._truth(node.test) else node.orelse)

    def _compare(self, node: ast.Compare) -> Any:
        sides = [self._value(one) for one in (node.left, *node.comparators)]
        if len(sides) == 2 and any(isinstance(one, Item) for one in sides):
            return self._operated(node, node.ops[0], *sides)
        for op, left, right in zip(node.ops, sides, sides[1:]):
            if not self._compared(node, op, left, right):
                return Known(False)
        return Known(True)

    def _compared(self, node: ast.Compare, op: ast.cmpop, left: Any, right: Any) -> bool:
        by = _COMPARED[type(op)]
        if isinstance(op, (ast.Is, ast.IsNot)) and any(isinstance(one, Known) and one.value is None for one in (left, right)):
            return by(*[one.value if isinstance(one, Known) else one for one in (left, right)])
        if isinstance(left, Known) and type(right) is dict and isinstance(op, (ast.In, ast.NotIn)):
            return by(left.value, right)
        ends = [one.ends() if isinstance(one, Number) else (one.value, one.value) if isinstance(one, Known) else self._other(node) for one in (left, right)]
        try:
            if not any(isinstance(one, Number) for one in (left, right)):
                return bool(by(left.value, right.value))
            several = {bool(by(a, b)) for a in ends[0] for b in ends[1]} if isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) else {True, False}
        except (TypeError, ValueError, RuntimeError) as error:
            self._other_of(node, error)
        if len(several) > 1:
            self._refuse(node, f"{ast.unparse(node)[:80]!r}, which is so for some samples and not for others")
        return several.pop()

    # ---- names, constants and what is made of several

    def _name(self, node: ast.Name) -> Any:
        if node.id in self._names:
            return known_elsewhere(self._names[node.id])
        try:
            value = self._outside(node.id)
        except ValueError:
            self._other(node)
        except KeyError:
            return Known(getattr(builtins, node.id)) if hasattr(builtins, node.id) else self._other(node)
        if not isinstance(value, (ModuleType, type, FunctionType)):
            self._see(self._function, node.id, value, node.id, lambda: self._outside(node.id))
        return Known(value)

    def _constant(self, node: ast.Constant) -> Any:
        return Known(node.value)

    def _joinedstr(self, node: ast.JoinedStr) -> Any:
        parts = [self._value(one.value if isinstance(one, ast.FormattedValue) and one.conversion == -1 and one.format_spec is None else one) for one in node.values]
        return Known("".join(str(one.value) for one in parts)) if all(isinstance(one, Known) and isinstance(one.value, (str, int)) for one in parts) else self._other(node)

    def _formattedvalue(self, node: ast.FormattedValue) -> Any:
        self._other(node)

    def _tuple(self, node: ast.Tuple) -> Any:
        return tuple(self._listed(node.elts))

    def _list(self, node: ast.List) -> Any:
        return self._listed(node.elts)

    def _listed(self, nodes: list[ast.expr]) -> list[Any]:
        return [each for one in nodes for each in (self._several(one.value) if isinstance(one, ast.Starred) else [self._value(one)])]

    def _dict(self, node: ast.Dict) -> Any:
        made: dict[Any, Any] = {}
        for key, one in zip(node.keys, node.values):
            value = self._value(one)
            if key is None:
                made.update(value if isinstance(value, dict) else self._other(node))
            else:
                made[self._key(key)] = value
        return made

    def _key(self, node: ast.expr) -> Any:
        key = self._value(node)
        return key.value if isinstance(key, Known) and isinstance(key.value, (str, int)) else self._other(node)

    def _namedexpr(self, node: ast.NamedExpr) -> Any:
        self._names[node.target.id] = value = known_elsewhere(self._value(node.value))
        return value

    def _dictcomp(self, node: ast.DictComp) -> Any:
        return dict(self._comprehended(node.generators, lambda: (self._key(node.key), self._value(node.value))))

    def _listcomp(self, node: ast.ListComp) -> Any:
        return self._comprehended(node.generators, lambda: self._value(node.elt))

    def _generatorexp(self, node: ast.GeneratorExp) -> Any:
        return self._comprehended(node.generators, lambda: self._value(node.elt))

    def _comprehended(self, generators: list[ast.comprehension], made: Callable[[], Any]) -> list[Any]:
        one = generators[0]
        if len(generators) > 1 or one.is_async:
            self._refuse(one.iter, f"{ast.unparse(one)[:80]!r}")
        before, found = dict(self._names), []
        for each in self._several(one.iter):
            self._bind(one.target, each)
            if all(self._truth(test) for test in one.ifs):
                found.append(made())
        self._names = before
        return found

    def _several(self, node: ast.expr) -> list[Any]:
        return self._elements(self._value(node), node)

    def _elements(self, value: Any, node: ast.AST) -> list[Any]:
        """What is in a tuple, a list, a dict or a range."""
        if type(value) in (tuple, list):
            return list(map(known_elsewhere, value))
        if isinstance(value, dict):
            return [Known(key) for key in value]
        if not isinstance(value, Known) or not isinstance(value.value, (tuple, list, range, Mapping)) and not is_view(value.value) or len(value.value) > _TURNS:
            self._other(node)
        return [self._inside(one) for one in value.value]

    def _inside(self, one: Any) -> Any:
        """Of a pair the values, as items() has them."""
        return tuple(map(Known, one)) if type(one) is tuple else Known(one)

    def _see(self, of: Any, key: Any, value: Any, name: str, now: Callable[[], Any]) -> None:
        self._world.seen.setdefault((id(of), key), Seen(name, now, value))

    def _operated(self, node: ast.AST, op: ast.AST, left: Any, right: Any) -> Any:
        raise NotImplementedError


def known_elsewhere(value: Any) -> Any:
    """A value that goes by another name as well, or is in what another has: nothing may be written into it."""
    if isinstance(value, Item):
        value.used = True
    return value
