"""The text of a function of one's own, where it says what runs."""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import inspect
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType, FunctionType, MethodType
from typing import Any, NamedTuple, NoReturn, Union


NOTHING = object()  # in the place of an object that is not known


class Known(NamedTuple):
    """An object from outside of the function."""

    value: Any


class Unread(Exception):
    """Why the text of a function says nothing of it."""


Definition = Union[ast.FunctionDef, ast.Lambda]


_PARSED: weakref.WeakKeyDictionary[FunctionType, Definition] = weakref.WeakKeyDictionary()  # those that say what runs


def parsed(function: Any) -> Definition:
    """Its text, which nobody may change. Raises Unread where there is none, or where it is not what runs: its file is compiled again, as what is imported there decides on a function's code."""
    if isinstance(function, FunctionType) and function in _PARSED:
        return _PARSED[function]
    try:
        if not isinstance(function, FunctionType):
            raise TypeError
        runs = function.__code__
        module = ast.parse("".join(inspect.findsource(function)[0]))
        code = compile(module, runs.co_filename, "exec", dont_inherit=True)
    except (OSError, TypeError, SyntaxError):
        raise Unread("whose text cannot be read") from None
    own = [one for one in ast.walk(module) if isinstance(one, (ast.FunctionDef, ast.Lambda)) and (getattr(one, "name", "<lambda>"), _first_line(one)) == (runs.co_name, runs.co_firstlineno)]
    codes = [one for one in _inner(code) if one.co_firstlineno == runs.co_firstlineno and _same(one, runs)]
    if len(own) > 1:  # lambdas of one line, of which those that do the same are one as good as another
        own = [one for one in own if any(_is_at(each, one) for each in codes)][:1]
    if not own or not codes:
        raise Unread("whose text is not what runs: it was changed since it was imported, is wrapped, or is one of several on a line")
    _PARSED[function] = own[0]
    return own[0]


def _first_line(one: Definition) -> int:
    """That of its decorators, such as staticmethod, where it has any."""
    return min([one.lineno, *[decorator.lineno for decorator in getattr(one, "decorator_list", ())]])


def _is_at(code: CodeType, one: Definition) -> bool:
    """Whether code is that of this lambda, by where its steps stand; Python 3.10 and older do not say that."""
    if not isinstance(one, ast.Lambda) or not hasattr(code, "co_positions"):
        return False
    body = one.body
    ends = [(line, column, last, end) for line, last, column, end in code.co_positions() if None not in (line, column, last, end) and (last, end) > (line, column)]
    return bool(ends) and (min(at[:2] for at in ends), max(at[2:] for at in ends)) == ((body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset))


def _inner(code: CodeType) -> Iterator[CodeType]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from _inner(one)


def _same(one: CodeType, other: CodeType) -> bool:
    """Whether both do the same, whatever they are called in full."""
    return (one.co_name, one.co_code, one.co_names, one.co_varnames, one.co_freevars, one.co_cellvars) == (other.co_name, other.co_code, other.co_names, other.co_varnames, other.co_freevars, other.co_cellvars) \
        and len(one.co_consts) == len(other.co_consts) and all(map(_alike, one.co_consts, other.co_consts))


def _alike(one: object, other: object) -> bool:
    if isinstance(one, CodeType) and isinstance(other, CodeType):
        return _same(one, other)
    return type(one) is type(other) and one == other


class Called(NamedTuple):
    """The function that a partial, a method or an object of a class of one's own calls."""

    function: Any
    own: Definition
    first: tuple[Any, ...]  # what it is called with first,
    given: dict[str, Any]  # and by names


def called(function: Any) -> Called:
    """Raises Unread where its text is not to be had."""
    given: dict[str, Any] = {}
    while isinstance(function, functools.partial) and not function.args:
        given, function = {**function.keywords, **given}, function.func
    if not isinstance(function, MethodType) and not hasattr(function, "__code__") and callable(function):
        function = function.__call__
    first: tuple[Any, ...] = ()
    if isinstance(function, MethodType):
        function, first = function.__func__, (function.__self__,)
    return Called(function, parsed(function), first, given)


class Reader:
    """Goes through a function's expressions, with what each stands for: one of a kind of node is told by the method of its name in small letters, such as _name."""

    def __init__(self, function: FunctionType, own: Definition) -> None:
        self._function, self._own = function, own
        self._imports = _imports(own)

    def _refuse(self, node: ast.AST, what: str) -> NoReturn:
        raise NotImplementedError

    def _place(self, node: ast.AST) -> str:
        """The file and the line."""
        return f"{self._function.__code__.co_filename}:{getattr(node, 'lineno', self._own.lineno)}"

    def _arguments(self, first: tuple[Any, ...], given: Mapping[str, Any], last: Sequence[Any], what: str) -> dict[str, Any]:
        """What its arguments stand for, by names, of a function that is called with these, and then with `last`. Others than that, as `what` calls it, are refused."""
        args, usual = self._own.args, self._function.__defaults__ or ()
        given = {**dict(zip([one.arg for one in args.args][len(args.args) - len(usual):], usual)), **(self._function.__kwdefaults__ or {}), **given}
        names = [one.arg for one in args.args if one.arg not in given]
        if len(names) != len(last) + len(first) or args.vararg or args.kwarg or args.posonlyargs or any(one.arg not in given for one in args.kwonlyargs):
            self._refuse(self._own, f"other arguments than {what}")
        return {**{name: Known(value) for name, value in given.items()}, **dict(zip(names, (*map(Known, first), *last)))}

    def _value(self, node: ast.expr) -> Any:
        read: Callable[[Any], Any] = getattr(self, f"_{type(node).__name__.lower()}", self._other)
        return read(node)

    def _other(self, node: ast.AST) -> NoReturn:
        self._refuse(node, repr(ast.unparse(node)[:80]))

    def _outside(self, name: str) -> Any:
        """What a name that is none of its own stands for, or one that it imports. Raises KeyError, and ValueError of one that has no value yet."""
        if name in self._imports and name in (*self._function.__code__.co_varnames, *self._function.__code__.co_cellvars):
            return _imported(*self._imports[name], str(self._function.__globals__.get("__package__") or ""))
        cells = dict(zip(self._function.__code__.co_freevars, self._function.__closure__ or ()))
        return cells[name].cell_contents if name in cells else self._function.__globals__[name]


def is_import(step: ast.stmt) -> bool:
    return isinstance(step, (ast.Import, ast.ImportFrom))


def _imports(own: Definition) -> dict[str, tuple[str, str]]:
    """The names that a function imports, and gives to nothing else: of each the module, and the name in it, or, "", none."""
    found: dict[str, set[tuple[str, str]]] = {}
    for one in ast.walk(own):
        if isinstance(one, ast.Import):
            for each in one.names:
                found.setdefault(each.asname or each.name.partition(".")[0], set()).add((each.name if each.asname else each.name.partition(".")[0], ""))
        elif isinstance(one, ast.ImportFrom):
            for each in one.names:
                found.setdefault(each.asname or each.name, set()).add(("." * one.level + (one.module or ""), each.name))
    other = {_bound(one) for one in ast.walk(own)} if found else set()
    return {name: next(iter(of)) for name, of in found.items() if len(of) == 1 and name not in other}


def _bound(node: ast.AST) -> str:
    """The name that a node gives to something; "": none."""
    if isinstance(node, ast.Name):
        return "" if isinstance(node.ctx, ast.Load) else node.id
    return str(getattr(node, "arg" if isinstance(node, ast.arg) else "name", None) or "") if isinstance(node, (ast.arg, ast.ExceptHandler, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) else ""


def _imported(module: str, name: str, package: str) -> Any:
    """As the function imports it. Raises KeyError where it cannot."""
    try:
        home = importlib.import_module(importlib.util.resolve_name(module, package))
        return home if not name else getattr(home, name) if hasattr(home, name) else importlib.import_module(f"{home.__name__}.{name}")
    except Exception as error:  # whatever a module raises
        raise KeyError(name or module) from error
