"""The __getitem__ of a data set of one's own whose samples are rows and windows of arrays: what it takes of them, and what it calls."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Mapping
from types import FunctionType, MethodType
from typing import Any, Optional

from . import batched, batchwise, libraries, loaded, texts
from .batchwise import Item, Other, Program
from .coded import Code, Cut, Seen, Unread, World, known_elsewhere
from .named import PLAIN, is_asked, is_library, is_librarys, is_one, own_function, series
from .numbered import Large, Number
from .texts import Known

_OF_KNOWN: dict[type, Callable[[Any, Any], Any]] = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow}


def read(dataset: Any, program: Program) -> tuple[Any, list[Seen]]:
    """What its samples are: Items in tuples, lists and dicts; and what was asked of it for that. Raises Unread."""
    world = World(program, {})
    return _sample(world, dataset, Number(program.count, 1, 0), ()), list(world.seen.values())


def _sample(world: World, dataset: Any, number: Number, within: tuple[Any, ...]) -> Any:
    """A sample of a data set of one's own."""
    cls = next(cls for cls in type(dataset).__mro__ if "__getitem__" in vars(cls))
    return _called(world, vars(cls)["__getitem__"], (Known(dataset), number), {}, cls, within)


def _called(world: World, function: Any, args: tuple[Any, ...], named: Mapping[str, Any], cls: Optional[type], within: tuple[Any, ...]) -> Any:
    """What a function of one's own returns of these values."""
    try:
        own = texts.parsed(function)
    except texts.Unread as error:
        code = getattr(function, "__code__", None)
        raise Unread(f"{'' if code is None else f'{code.co_filename}:{code.co_firstlineno}: '}{getattr(function, '__qualname__', function)}, {error}") from None
    return Reader(world, function, own, args, named, cls, within).returned()


class Reader(Code):
    """Of one function, with what it takes and calls."""

    # ---- attributes and subscripts

    def _attribute(self, node: ast.Attribute) -> Any:
        of = self._value(node.value)
        if isinstance(of, Item):
            found = batched.attribute(self._world.program, of, node.attr)
            return self._other(node) if found is None else Known(found[0]) if isinstance(found, tuple) else found
        if not isinstance(of, Known):
            self._other(node)
        name = node.attr
        if self._cls is not None and name.startswith("__") and not name.endswith("__"):
            name = f"_{self._cls.__name__.lstrip('_')}{name}"
        return self._attribute_of(node, of.value, name)

    def _attribute_of(self, node: ast.expr, of: Any, name: str) -> Any:
        if is_librarys(of):
            return Known(getattr(of, name)) if hasattr(of, name) else self._other(node)
        cls = next((cls for cls in type(of).__mro__ if name in vars(cls)), None)
        own = None if cls is None else vars(cls)[name]
        if isinstance(own, property) and isinstance(own.fget, FunctionType):
            return _called(self._world, own.fget, (Known(of),), {}, cls, self._within)
        if hasattr(own, "__set__") or not isinstance(of, type) and type(of).__getattribute__ is not object.__getattribute__:
            self._other(node)
        if name in getattr(of, "__dict__", {}) and not hasattr(of.__dict__[name], "__get__"):
            value = of.__dict__[name]
            self._see(of, name, value, ast.unparse(node), lambda: getattr(of, name))
            return Known(value)
        if name in getattr(of, "__dict__", {}) and not isinstance(of, type):
            return Known(of.__dict__[name])
        if cls is None or hasattr(own, "__get__") and not isinstance(own, (FunctionType, staticmethod, classmethod, functools.cached_property)):
            self._other(node)
        value = getattr(of, name)
        if not isinstance(value, (MethodType, FunctionType)):
            self._see(of, name, value, ast.unparse(node), lambda: getattr(of, name))
        return Known(value)

    def _slice(self, node: ast.Slice) -> Any:
        parts = [Known(None) if one is None else self._value(one) for one in (node.lower, node.upper, node.step)]
        return Known(slice(*[one.value for one in parts])) if all(isinstance(one, Known) for one in parts) else Cut(*parts)

    def _subscript(self, node: ast.Subscript) -> Any:
        of, key = self._value(node.value), self._value(node.slice)
        try:
            return self._at(node, of, key)
        except (Other, Large) as error:
            self._other_of(node, error)

    def _at(self, node: ast.Subscript, of: Any, key: Any) -> Any:
        if type(key) is tuple and all(isinstance(one, Known) for one in key):
            key = Known(tuple([one.value for one in key]))
        elif type(key) is list:
            key = Known([one.value if isinstance(one, Known) else self._other(node) for one in key])
        if isinstance(of, Item):
            return batchwise.subscript(self._world.program, of, key.value) if isinstance(key, Known) else self._other(node)
        if isinstance(key, Known):
            return self._known_at(node, of, key.value)
        if not isinstance(of, Known):
            self._other(node)
        first, rest = (key[0], key[1:]) if type(key) is tuple else (key, ())
        if any(not isinstance(one, Known) for one in rest):
            rest = tuple([Known([each.value for each in one]) if type(one) is list and all(isinstance(each, Known) for each in one) else one for one in rest])
        if any(not isinstance(one, Known) for one in rest):
            self._other(node)
        made = self._row(node, of.value, first)
        if not rest:
            return made
        within: tuple[Any, ...] = tuple([one.value for one in rest])
        if not loaded.is_array(of.value) or not isinstance(made, Item) or not isinstance(first, Cut) and len(within) > 1 and any(isinstance(one, list) or hasattr(one, "shape") for one in within):
            raise Other("")
        return batchwise.subscript(self._world.program, made, (slice(None), *within) if isinstance(first, Cut) else within)

    def _known_at(self, node: ast.Subscript, of: Any, key: Any) -> Any:
        try:
            if type(of) in (tuple, list, dict):
                return known_elsewhere(of[key])
            value = of.value if isinstance(of, Known) else self._other(node)
            if not is_librarys(value):
                self._other(node)
            found = value[key]
        except (LookupError, TypeError, ValueError, RuntimeError) as error:
            raise Other(f"{type(error).__name__}: {error}") from None
        if isinstance(value, (list, dict, Mapping)):
            self._see(value, key if isinstance(key, (str, int)) else repr(key), found, ast.unparse(node), lambda: value[key])
        return Known(found)

    def _row(self, node: ast.Subscript, of: Any, at: Any) -> Any:
        """What lies at a sample's number."""
        name, program = ast.unparse(node.value), self._world.program
        if isinstance(at, Cut):
            start, stop = self._bound(node, at.start), self._bound(node, at.stop)
            if not isinstance(at.step, Known) or at.step.value not in (None, 1) or start is None or stop is None:
                raise Other("want both of its ends, and no step")
            length = start.ahead_of(stop)
            if length is None:
                raise Other("whose length is another for some samples")
            return loaded.taken(program, of, start, length, name)
        number = self._bound(node, at)
        if number is None:
            self._other(node)
        if libraries.derives(of, "torch.utils.data", "Dataset"):
            return self._of_dataset(node, of, number)
        return loaded.taken(program, series(of), number, None, name)

    def _bound(self, node: ast.AST, value: Any) -> Optional[Number]:
        if isinstance(value, Number):
            return value
        if isinstance(value, Item):
            if value.number is None:
                raise Other("by a value of which it is not known whether it is a whole number for each sample")
            _check_number(value, self._world.program)
            return value.number
        if isinstance(value, Known) and hasattr(value.value, "__index__") and not hasattr(value.value, "shape"):
            return Number(self._world.program.count, 0, operator.index(value.value))
        return None

    def _of_dataset(self, node: ast.Subscript, of: Any, number: Number) -> Any:
        """A sample of another data set."""
        home = libraries.home(of, ("torch.utils.data",), ("__getitem__", "__getitems__"))
        name = ast.unparse(node.value)
        if home.name == "TensorDataset":
            return tuple([loaded.taken(self._world.program, one, number, None, f"{name}.tensors[{i}]") for i, one in enumerate(of.tensors)])
        if home.name == "Subset":
            inner = loaded.taken(self._world.program, of.indices, number, None, f"{name}.indices")
            index = self._bound(node, inner)
            assert index is not None
            return self._of_dataset(node, of.dataset, index)
        if home.own != "__getitem__":
            raise Other(f"of a {type(of).__qualname__}, want a TensorDataset, a Subset, or a class of one's own that is read")
        least, most = number.ends()
        if least < 0 or most >= len(of):
            raise Other(f"of {name}, which has {len(of)} samples, and samples {least} to {most} of it are asked for")
        return _sample(self._world, of, number, self._within)

    # ---- operators and calls

    def _binop(self, node: ast.BinOp) -> Any:
        return self._operated(node, node.op, self._value(node.left), self._value(node.right))

    def _operated(self, node: ast.AST, op: ast.AST, left: Any, right: Any) -> Any:
        try:
            if isinstance(left, Number) or isinstance(right, Number):
                return self._counted(node, op, left, right)
            if isinstance(left, Item) or isinstance(right, Item):
                return batchwise.operated(self._world.program, type(op).__name__, *[one.value if isinstance(one, Known) else one if isinstance(one, Item) else self._other(node) for one in (left, right)])
            if isinstance(left, Known) and isinstance(right, Known) and type(op) in _OF_KNOWN:
                return Known(_OF_KNOWN[type(op)](left.value, right.value))
        except (Other, Large, TypeError, ValueError, ArithmeticError) as error:
            self._other_of(node, error)
        if isinstance(op, ast.Add) and type(left) is type(right) and type(left) in (tuple, list):
            return left + right
        self._other(node)

    def _counted(self, node: ast.AST, op: ast.AST, left: Any, right: Any) -> Any:
        """What follows from a sample's number, and is a whole number, too."""
        numbers = [one if isinstance(one, Number) else self._bound(node, one) if isinstance(one, Item) else None for one in (left, right)]
        first, second = numbers
        if first is not None and second is not None and isinstance(op, (ast.Add, ast.Sub)):
            return first.joined(second, 1 if isinstance(op, ast.Add) else -1)
        known = right if first is not None else left
        number = first if first is not None else second
        if number is None or not isinstance(known, Known) or not hasattr(known.value, "__index__") or isinstance(known.value, bool):
            self._other(node)
        known = Known(operator.index(known.value))
        if isinstance(op, ast.Mult):
            return number.times(known.value)
        if isinstance(op, ast.Add):
            return number.plus(known.value)
        if isinstance(op, ast.Sub):
            return number.plus(-known.value) if first is not None else number.times(-1).plus(known.value)
        if isinstance(op, (ast.FloorDiv, ast.Mod)) and first is not None and known.value != 0:
            return number.through(lambda table: table // known.value if isinstance(op, ast.FloorDiv) else table % known.value)
        self._other(node)

    def _call(self, node: ast.Call) -> Any:
        if any(isinstance(one, ast.Starred) for one in node.args) or any(one.arg is None for one in node.keywords):
            self._other(node)
        function = node.func
        if isinstance(function, ast.Attribute) and self._is_super(function.value):
            return self._of_super(node, function.attr)
        if isinstance(function, ast.Attribute) and not isinstance(of := self._value(function.value), Known):
            return self._method(node, of, function.attr)
        callee = self._value(function)
        if not isinstance(callee, Known):
            self._other(node)
        args, named = self._given_to(node)
        return self._result(node, callee.value, args, named)

    def _given_to(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        return [self._value(one) for one in node.args], {str(one.arg): self._value(one.value) for one in node.keywords}

    def _method(self, node: ast.Call, of: Any, name: str) -> Any:
        args, named = self._given_to(node)
        if isinstance(of, dict) and not named:
            if name in ("items", "keys", "values") and not args:
                for one in of.values():
                    known_elsewhere(one)
                return [(Known(key), one) for key, one in of.items()] if name == "items" else list(of.values()) if name == "values" else [Known(key) for key in of]
            if name == "update" and len(args) == 1 and isinstance(args[0], dict):
                of.update(args[0])
                return Known(None)
        if type(of) is list and name == "append" and len(args) == 1 and not named:
            of.append(args[0])
            return Known(None)
        if not isinstance(of, Item):
            self._other(node)
        try:
            if len(args) == 1 and name in batched.ARITHMETIC and not named and of.kind == "tensor":
                return batchwise.operated(self._world.program, batched.ARITHMETIC[name], of, args[0].value if isinstance(args[0], Known) else args[0])
            return batched.method(self._world.program, of, name, [self._plain(node, one) for one in args], {key: self._plain(node, one) for key, one in named.items()})
        except Other as error:
            self._other_of(node, error)

    def _plain(self, node: ast.AST, value: Any) -> Any:
        """A value that all samples have."""
        if isinstance(value, Known):
            return value.value
        return type(value)([self._plain(node, one) for one in value]) if type(value) in (tuple, list) else self._other(node)

    def _result(self, node: ast.Call, callee: Any, args: list[Any], named: dict[str, Any]) -> Any:
        given = [*args, *named.values()]
        if callee is isinstance and isinstance(args[0], (Number, Item)) and len(args) == 2:
            return Known(isinstance(0 if isinstance(args[0], Number) else args[0].ones[0], self._plain(node, args[1])))
        if is_one(callee, "torch", "is_tensor") and len(args) == 1 and isinstance(args[0], (Number, Item)):
            return Known(isinstance(args[0], Item) and args[0].kind == "tensor")
        if callee is len and len(args) == 1 and not named and not isinstance(args[0], Known):
            return Known(len(args[0].ones[0] if isinstance(args[0], Item) and args[0].kind in ("array", "tensor", "list") else args[0] if type(args[0]) in (tuple, list, dict) else self._other(node)))
        if callee in (int, operator.index) and len(args) == 1 and not named and isinstance(args[0], Number):
            return args[0]
        if callee in (tuple, list, dict) and len(given) == len(args) + len(named) and not all(isinstance(one, Known) for one in given):
            return self._container(node, callee, args, named)
        if callee in (zip, enumerate) and not named:
            several = [self._elements(one, node) for one in args]
            return [tuple(one) for one in zip(*several)] if callee is zip else [(Known(i), one) for i, one in enumerate(several[0])]
        if (function := own_function(callee, str(self._function.__module__))) is not None:
            return self._inlined(function, args, named)
        try:
            if args and isinstance(args[0], Number) and callee not in PLAIN:
                args[0] = loaded.number(self._world.program, args[0])
            items = [one for one in args if isinstance(one, Item) or type(one) in (tuple, list) and any(isinstance(each, Item) for each in one)]
            if items and items[0] is args[0]:
                made = batched.function(self._world.program, callee, [args[0], *[self._plain(node, one) for one in args[1:]]], {key: self._plain(node, one) for key, one in named.items()})
                return self._other(node) if made is None else made
        except Other as error:
            self._other_of(node, error)
        if is_asked(callee) and not any(isinstance(one, (Item, Number)) for one in given):
            return self._asked(node, callee, [self._plain(node, one) for one in args], {key: self._plain(node, one) for key, one in named.items()})
        self._other(node)

    def _asked(self, node: ast.Call, callee: Any, args: list[Any], named: dict[str, Any]) -> Any:
        """A function of what all samples have."""
        if callee is len and not is_librarys(args[0]) and isinstance(size := getattr(type(args[0]), "__len__", None), FunctionType):
            return Known(len(args[0])) if size.__name__ == "__len__" else self._other(node)
        if callee in (getattr, hasattr) and len(args) >= 2:
            return Known(hasattr(args[0], args[1])) if callee is hasattr else self._attribute_of(node, args[0], args[1])
        try:
            made = callee(*args, **named)
        except Exception as error:
            self._other_of(node, error)
        of = getattr(callee, "__self__", None)
        if isinstance(of, Mapping) and isinstance(node.func, ast.Attribute):
            name = ast.unparse(node.func.value)
            self._see(of, len, len(of), f"len({name})", lambda: len(of))
            for key, value in of.items():
                self._see(of, key, value, f"{name}[{key!r}]", functools.partial(of.__getitem__, key))
        return Known(made)

    def _container(self, node: ast.Call, callee: Any, args: list[Any], named: dict[str, Any]) -> Any:
        if callee is dict:
            pairs = args[0] if args else {}
            if not isinstance(pairs, dict):
                pairs = {one[0].value: one[1] for one in pairs if type(one) is tuple and len(one) == 2 and isinstance(one[0], Known)} if isinstance(pairs, list) else self._other(node)
            return {**pairs, **named}
        return callee(self._elements(args[0], node)) if len(args) == 1 and not named else self._other(node)

    def _inlined(self, function: tuple[Any, tuple[Any, ...], Optional[type]], args: list[Any], named: dict[str, Any]) -> Any:
        of, first, cls = function
        return _called(self._world, of, (*map(Known, first), *args), named, cls, self._within)

    def _is_super(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super" and "super" not in self._names and not node.keywords and self._cls is not None \
            and (not node.args or len(node.args) == 2 and self._value(node.args[0]) == Known(self._cls))

    def _of_super(self, node: ast.Call, name: str) -> Any:
        assert self._cls is not None and isinstance(self._self, Known)
        args, named = self._given_to(node)
        classes = type(self._self.value).__mro__
        cls = next((cls for cls in classes[classes.index(self._cls) + 1:] if name in vars(cls)), None)
        if cls is not None and libraries.is_of(cls, "torch.utils.data") and cls.__qualname__ == "TensorDataset" and name == "__getitem__" and len(args) == 1 and (number := self._bound(node, args[0])) is not None:
            try:
                return tuple([loaded.taken(self._world.program, one, number, None, f"self.tensors[{i}]") for i, one in enumerate(self._self.value.tensors)])
            except (Other, Large) as error:
                self._other_of(node, error)
        if cls is None or is_library(cls.__module__) or not isinstance(vars(cls)[name], FunctionType):
            self._other(node)
        return _called(self._world, vars(cls)[name], (self._self, *args), named, cls, self._within)


def _check_number(item: Item, program: Program) -> None:
    """Whether it is the whole number that it is said to be. Raises Other."""
    assert item.number is not None
    said = item.number.of(program.tried).tolist()
    least, most = item.number.ends()
    name = str(item.rows.dtype).rpartition(".")[2]
    bound = 1 << (int(name.lstrip("uint")) - (not name.startswith("u"))) if "int" in name else 0
    if [int(one) for one in item.ones] != said or not -bound <= least <= most < bound:
        raise Other("by a whole number that may be larger than its type")
