"""A function that webdataset's map calls with whole samples, whose code says what it does: pictures go through transforms, labels are numbers, and parts are handed on as a tuple, a dict or the sample itself."""

from __future__ import annotations

import ast
import builtins
import operator
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn, Optional, Union

from . import texts
from .annotated import Unknown
from .functions import Member
from .texts import Known

_WANT = ("want parts of a sample that go through transforms, int, float or str and are handed on: return transform(sample[\"jpg\"]), sample[\"cls\"], or a dict; or none: .to_tuple(\"jpg;png\", \"cls\").map_tuple(transform), "
         "and what it does to whole batches in the loop")
_WANT_OF_LABELS = ("want the label compared with numbers, such as lambda sample: sample[\"cls\"] in (1, 5), of whole numbers: other samples are left out in the loop, or by order: {filter: ...} of a description "
                   "(docs/migrate.md#webdataset); those that lack a part which is asked for handler=wds.warn_and_continue of to_tuple or rename leaves out")
_COMPARED: dict[type, str] = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "in", ast.NotIn: "not in"}
_BY: dict[type, Callable[[Any, Any], Any]] = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod}
_OF_TEXTS = ("lower", "upper", "strip", "lstrip", "rstrip", "title", "capitalize", "split", "replace")  # methods of str
_OF_PYTHON = ("dict", "len", "abs", "round", "ord", "sorted", "sum", "min", "max")
_CASTS = {"int": int, "float": float, "str": str}
RGB = object()  # what is done to a picture that is not decoded: Image.open(io.BytesIO(part)).convert("RGB")


class Part(NamedTuple):
    """What a sample has under a name."""

    names: tuple[str, ...]  # of the archive's parts, best first
    functions: tuple[tuple[str, Any], ...] = ()  # that it goes through, and their places; a Member says what it takes
    own: bool = False  # whether a function decodes it


class Opened(NamedTuple):
    """A part on its way into a picture, or a number."""

    part: Part
    how: str  # "bytes": in io.BytesIO; "picture": of any mode; "array": of NumPy; "text"


class Inside(NamedTuple):
    """A dict that albumentations makes, with a picture as its image."""

    part: Part


Sample = Union[dict[str, Part], tuple[Part, ...]]


class Made(NamedTuple):
    """What a function makes of a sample."""

    sample: Sample
    same: bool  # whether it is the sample that it got, with all that was in it


def read(function: Any, sample: Sample, part: Optional[Callable[[str], Part]], decoded: bool, gray: bool = False) -> Made:
    """What a function makes of a sample, of which part says what is under any name, where nobody knows which there are. decoded: whether parts are pictures, gray ones or RGB, and numbers by now, and not bytes.
    Raises Unknown, with the line and what was wrong there."""
    return _prepared(function, sample, part, decoded, gray).made()


def _prepared(function: Any, sample: Sample, part: Optional[Callable[[str], Part]], decoded: bool, gray: bool) -> Reader:
    try:
        function, own, first, given = texts.called(function)
    except texts.Unread as error:
        raise Unknown(f"{error}, {_WANT}") from None
    return Reader(function, own, first, given, sample, part, decoded, gray)


def chosen(function: Any, sample: Sample, part: Optional[Callable[[str], Part]], decoded: bool) -> str:
    """What a function asks of a sample's label, as order.filter has it; "": nothing. Raises Unknown as read does."""
    reader = _prepared(function, sample, part, decoded, False)
    reader.WANT = _WANT_OF_LABELS
    return reader.chosen()


class Reader(texts.Reader):
    """Goes through the statements, one after the other, with what names stand for."""

    WANT = _WANT

    def __init__(self, function: Any, own: texts.Definition, first: tuple[Any, ...], given: Mapping[str, Any], sample: Sample, part: Optional[Callable[[str], Part]], decoded: bool, gray: bool) -> None:
        super().__init__(function, own)
        self._sample = dict(sample) if isinstance(sample, dict) else sample
        self._part, self._decoded, self._gray = part, decoded, gray
        self._gone: set[str] = set()  # names that were taken from the sample
        self._names = self._arguments(first, given, self._called_with(), "a sample")

    def _called_with(self) -> list[Any]:
        return [self._sample]

    def _refuse(self, node: ast.AST, what: str, want: str = "") -> NoReturn:
        raise Unknown(f"{self._place(node)}: got {what}, {want or self.WANT}")

    # ---- statements

    def _returned(self) -> tuple[ast.Return, ast.expr]:
        """Its last statement, once the others are read, and what that returns."""
        body: list[ast.stmt] = [ast.copy_location(ast.Return(self._own.body), self._own.body)] if isinstance(self._own, ast.Lambda) else self._own.body
        *steps, last = body
        for step in steps:
            self._step(step)
        if not isinstance(last, ast.Return) or last.value is None:
            self._refuse(last, f"{ast.unparse(last)[:80]!r} at its end, no return")
        return last, last.value

    def made(self) -> Made:
        last, value = self._returned()
        made = self._value(value)
        if isinstance(made, dict) and made:
            return Made({key: self._whole(one, last) for key, one in made.items()}, made is self._sample)
        if type(made) is not tuple or not made:
            self._refuse(last, f"{ast.unparse(last)[:80]!r} at its end, no tuple and no dict")
        return Made(tuple([self._whole(one, last) for one in made]), False)

    def chosen(self) -> str:
        return self._condition(self._returned()[1])

    def _condition(self, node: ast.expr) -> str:
        """As the engine has it."""
        if isinstance(node, ast.BoolOp):
            return f"({(' && ' if isinstance(node.op, ast.And) else ' || ').join(map(self._condition, node.values))})"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return f"!{self._condition(node.operand)}"
        if not isinstance(node, ast.Compare):
            self._other(node)
        sides = [self._value(one) for one in (node.left, *node.comparators)]
        both = [f"({self._side(one, node, False)} {_COMPARED[type(op)]} {self._side(other, node, isinstance(op, (ast.In, ast.NotIn)))})"
                if type(op) in _COMPARED else self._other(node) for op, one, other in zip(node.ops, sides, sides[1:])]
        return both[0] if len(both) == 1 else f"({' && '.join(both)})"

    def _side(self, one: Any, node: ast.AST, many: bool) -> str:
        """The label, a whole number, or several."""
        if isinstance(one, Part) and not many and one.names == ("cls",) and [function for _, function in one.functions] in ([], [Member((), "int")]) and (self._decoded or one.own):
            return "label"
        value = one.value if isinstance(one, Known) else [each.value if isinstance(each, Known) else None for each in one] if type(one) is tuple else None
        if many and isinstance(value, (tuple, list, set, frozenset, range)) and all(type(each) is int for each in value):
            return f"[{', '.join(map(str, value))}]"
        return str(value) if not many and type(value) is int else self._other(node)

    def _list(self, node: ast.List) -> Any:
        return self._tuple(ast.copy_location(ast.Tuple(node.elts, ast.Load()), node)) if self.WANT is not _WANT else self._other(node)

    def _set(self, node: ast.Set) -> Any:
        return self._list(ast.copy_location(ast.List(node.elts, ast.Load()), node))

    def _whole(self, one: Any, node: ast.AST) -> Part:
        """A part as it is handed on."""
        if isinstance(one, Opened) and one.how == "text":
            return one.part
        if isinstance(one, Opened) and one.how == "picture":
            self._refuse(node, f"{ast.unparse(node)[:80]!r}, a picture of any mode", "want Image.open(...).convert(\"RGB\")")
        return one if isinstance(one, Part) else self._other(node)

    def _step(self, step: ast.stmt) -> None:
        if texts.is_import(step):
            return
        if isinstance(step, ast.Assign) and len(step.targets) == 1:
            target, value = step.targets[0], self._value(step.value)
            if isinstance(target, ast.Name):
                self._names[target.id] = value
                return
            if isinstance(target, (ast.Tuple, ast.List)) and type(value) is tuple and len(value) == len(target.elts) and all(isinstance(one, ast.Name) for one in target.elts):
                self._names.update(zip(map(ast.unparse, target.elts), value))
                return
            if isinstance(target, ast.Subscript):
                of, key = self._value(target.value), self._value(target.slice)
                if isinstance(of, dict) and isinstance(key, Known) and isinstance(key.value, str):
                    of[key.value] = self._whole(value, step)
                    return
        if isinstance(step, ast.Delete) and all(isinstance(one, ast.Subscript) for one in step.targets):
            for one in step.targets:
                assert isinstance(one, ast.Subscript)
                self._taken(one, self._value(one.value), self._value(one.slice))
            return
        if isinstance(step, ast.Expr) and isinstance(step.value, (ast.Constant, ast.Call)):
            self._value(step.value)  # its doc, or what takes a part away
            return
        self._other(step)

    def _taken(self, node: ast.AST, of: Any, key: Any) -> Any:
        """What a dict has had under a name."""
        if not isinstance(of, dict) or not isinstance(key, Known) or not isinstance(key.value, str):
            self._other(node)
        if key.value not in of and (of is not self._sample or self._part is None or key.value in self._gone):
            self._other(node)
        made = of.pop(key.value, None)
        if of is self._sample:
            self._gone.add(key.value)
        return made if made is not None or self._part is None else self._part(key.value)

    # ---- expressions

    def _name(self, node: ast.Name) -> Any:
        if node.id in self._names:
            return self._names[node.id]
        try:
            return Known(self._outside(node.id))
        except (KeyError, ValueError):  # a name of Python's own, and one that has no value yet
            return Known(_CASTS[node.id]) if node.id in _CASTS else Known(getattr(builtins, node.id)) if node.id in _OF_PYTHON else self._other(node)

    def _constant(self, node: ast.Constant) -> Any:
        return Known(node.value)

    def _attribute(self, node: ast.Attribute) -> Any:
        of = self._value(node.value)
        return Known(getattr(of.value, node.attr)) if isinstance(of, Known) and hasattr(of.value, node.attr) else self._other(node)

    def _tuple(self, node: ast.Tuple) -> Any:
        return tuple([self._value(one) for one in node.elts])

    def _dict(self, node: ast.Dict) -> Any:
        made: dict[str, Any] = {}
        for key, one in zip(node.keys, node.values):
            if key is None or not isinstance(name := self._value(key), Known) or not isinstance(name.value, str):
                self._other(node)
            made[name.value] = self._value(one)
        return made

    def _subscript(self, node: ast.Subscript) -> Any:
        of, key = self._value(node.value), self._value(node.slice)
        if isinstance(of, Inside) and key == Known("image"):
            return of.part
        if not isinstance(key, Known):
            return self._other(node)
        if of is self._sample and isinstance(of, dict) and isinstance(key.value, str) and key.value not in of and key.value not in self._gone and self._part is not None:
            return self._part(key.value)
        if isinstance(of, Part) and type(key.value) in (str, int):  # a member of JSON
            return self._with(of, node, Member((key.value,), ""))
        if isinstance(of, Known) and type(of.value) not in (dict, list, tuple):
            return self._other(node)
        try:
            return Known(of.value[key.value]) if isinstance(of, Known) else of[key.value]
        except (LookupError, TypeError):
            return self._other(node)

    def _ifexp(self, node: ast.IfExp) -> Any:
        """sample["jpg"] if "jpg" in sample else sample["png"]."""
        test = node.test
        if not isinstance(test, ast.Compare) or [type(one) for one in test.ops] != [ast.In] or self._value(test.comparators[0]) is not self._sample or self._part is None:
            return self._other(node)
        key, there, other = self._value(test.left), self._value(node.body), self._value(node.orelse)
        if not isinstance(there, Part) or not isinstance(other, Part) or there.functions or other.functions or key != Known(there.names[0]):
            return self._other(node)
        return Part((*there.names, *other.names))

    def _with(self, part: Part, node: ast.AST, function: Any) -> Part:
        return part._replace(functions=(*part.functions, (self._place(node), function)))

    def _binop(self, node: ast.BinOp) -> Any:
        """sample["cls"] - 1."""
        left, right = self._value(node.left), self._value(node.right)
        if type(node.op) not in _BY or not {type(left), type(right)} == {Part, Known}:
            return self._other(node)
        by, number = _BY[type(node.op)], (right if isinstance(right, Known) else left).value
        if type(number) not in (int, float, str):
            return self._other(node)
        return self._with(left, node, lambda value: by(value, number)) if isinstance(left, Part) else self._with(right, node, lambda value: by(number, value))

    def _call(self, node: ast.Call) -> Any:
        function = node.func
        if isinstance(function, ast.Attribute) and isinstance(of := self._value(function.value), (dict, Part, Opened)):
            return self._method(node, of, function.attr)
        callee = self._value(function)
        args, named = [self._value(one) for one in node.args], {one.arg: self._value(one.value) for one in node.keywords}
        if not isinstance(callee, Known):
            return self._other(node)
        if callee.value is dict and not args and all(named):
            return named
        if len(args) == 1 and not named and isinstance(one := args[0], (Part, Opened)):
            return self._through(node, one, callee.value)
        if args and isinstance(args[0], Part) and callable(callee.value) and all(isinstance(one, Known) for one in (*args[1:], *named.values())) and all(named):
            more, said = [one.value for one in args[1:]], {str(name): one.value for name, one in named.items()}
            return self._with(args[0], node, lambda value: callee.value(value, *more, **said))  # tokenizer(sample["txt"], max_length=77)
        if not args and list(named) == ["image"] and isinstance(named["image"], Opened) and named["image"].how == "array" and _is_albumentations(callee.value):
            return Inside(self._with(named["image"].part, node, callee.value))
        return self._other(node)

    def _through(self, node: ast.Call, one: Union[Part, Opened], function: Any) -> Any:
        """What a function makes of a part."""
        if isinstance(one, Opened):
            if one.how == "bytes" and _is(function, "PIL.Image", "open"):
                return one._replace(how="picture")
            if one.how == "text" and (function in _CASTS.values() or _is(function, "json", "loads")):
                return self._through(node, one.part, function)
            return self._other(node)
        if function in _CASTS.values():
            return self._with(one._replace(own=one.own or not self._decoded), node, Member((), function.__name__))
        if _is(function, "io", "BytesIO") and not self._decoded and not one.functions:
            return Opened(one, "bytes")
        if _is(function, "json", "loads") and not self._decoded and not one.functions:
            return one._replace(own=True)
        if _is(function, "numpy", "array", "asarray"):
            return Opened(one, "array")
        if _is(function, "torch", "tensor", "as_tensor"):
            return self._with(one, node, sys.modules["torch"].as_tensor)
        return self._with(one, node, function) if callable(function) and not isinstance(function, type) else self._other(node)

    def _method(self, node: ast.Call, of: Any, name: str) -> Any:
        args = [self._value(one) for one in node.args]
        if node.keywords:
            return self._other(node)
        if isinstance(of, dict):
            if name == "pop" and len(args) == 1:
                return self._taken(node, of, args[0])
            return self._subscript(ast.copy_location(ast.Subscript(node.func.value, node.args[0], ast.Load()), node)) if name == "get" and len(args) == 1 and isinstance(node.func, ast.Attribute) else self._other(node)
        if name == "convert" and args == [Known("RGB")]:
            if isinstance(of, Opened) and of.how == "picture":
                return self._with(of.part._replace(own=True), node, RGB)
            return of if isinstance(of, Part) and self._decoded and not self._gray else self._other(node)
        if name in _OF_TEXTS and isinstance(of, (Part, Opened)) and all(isinstance(one, Known) for one in args):
            part = of if isinstance(of, Part) else of.part if of.how == "text" else self._other(node)
            values = [one.value for one in args]
            return self._with(part, node, lambda value: getattr(value, name)(*values))
        if name == "decode" and isinstance(of, Part) and not self._decoded and not of.functions and args in ([], [Known("utf-8")], [Known("utf8")]):
            return Opened(of._replace(own=True), "text")
        return self._other(node)


def _is(function: Any, module: str, *names: str) -> bool:
    """Whether it is one of these functions of a module's, if that is loaded."""
    return any(function is getattr(sys.modules.get(module), name, _is) for name in names)


def _is_albumentations(one: Any) -> bool:
    return any(cls.__module__.partition(".")[0] == "albumentations" for cls in type(one).__mro__)
