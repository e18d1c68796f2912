"""What a function of one's own opens by a reader of videos, which runs, and which frames it names: the rest of the function, and the frames as the engine has them."""

from __future__ import annotations

import ast
from typing import Any, NoReturn, Optional

from . import films, readers
from .picture import Picture
from .steps import Steps
from .texts import NOTHING


class Readers(Steps):
    """Of a reader of statements, that of decord's VideoReader."""

    _paths: list[ast.expr]
    _told: list[ast.expr]

    def _begin_reading(self) -> None:
        self._open_readers: dict[str, int] = {}  # the names of VideoReaders, and the numbers of their files
        self._named: dict[ast.AST, Any] = {}  # what expressions take of them
        self._of_torch: Optional[bool] = None  # whether decord's bridge is torch's, as the function says; None: it does not

    def _opened_reader(self, step: ast.stmt) -> Optional[list[ast.stmt]]:
        """What is left of reader = VideoReader(path); None: it is something else."""
        if isinstance(step, ast.Expr) and isinstance(step.value, ast.Call) and self._is(step.value.func, "decord.bridge", "set_bridge"):
            self._of_torch = [self._known(one) for one in step.value.args] == ["torch"]
            return [step]
        call = step.value if isinstance(step, ast.Assign) and len(step.targets) == 1 else None
        if not isinstance(step, ast.Assign) or not isinstance(call, ast.Call) or not readers.is_reader(self._known(call.func)):
            return None
        target = step.targets[0]
        if not isinstance(target, ast.Name) or target.id not in self._once:
            self._refuse(step, repr(ast.unparse(step)[:80]), "want a name that is given to one VideoReader alone")
        if wrong := readers.refused(call, self._known):
            self._refuse(call, repr(ast.unparse(call)[:80]), wrong)
        if any(map(self._mentions, (*call.args, *[one.value for one in call.keywords]))):
            self._other(step)
        self._open_readers[target.id] = len(self._paths)
        self._paths.append(ast.copy_location(ast.Attribute(ast.Name(target.id, ast.Load()), "path", ast.Load()), step))
        named = [ast.keyword("path" if one.arg == "uri" else one.arg, one.value) for one in call.keywords]
        opens = ast.Call(ast.Name(readers.OPENS, ast.Load()), [call.func, *call.args], named)
        return [ast.copy_location(ast.Assign([target], opens), step), *self._opened_by(step)]

    def _takes(self, node: ast.AST) -> str:
        """The name of the VideoReader of which an expression takes frames; "": it takes none."""
        of = node.value if isinstance(node, ast.Subscript) else node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("get_batch", "next") else None
        return of.id if isinstance(of, ast.Name) and of.id in self._open_readers else ""

    def _taken_of(self, node: ast.expr) -> Any:
        """Frames that a VideoReader gives; NOTHING: it is something else."""
        name = self._takes(node)
        if not name:
            return NOTHING
        if node not in self._named:
            self._named[node] = self._numbered(node, name, self._indices_of(node))
        return self._named[node]

    def _numbered(self, node: ast.expr, name: str, indices: ast.expr) -> Any:
        """Frames of these numbers."""
        if self._mentions(indices):
            self._other(node)
        if any(one.told >= 0 for one in self._shown_so_far()):
            self._refuse(node, f"{ast.unparse(node)[:80]!r}, frames that code names for a second time", "want all frames of a sample by one reader.get_batch(indices)")
        shown = films.told(self._open_readers[name], len(self._told))
        self._told.append(ast.copy_location(ast.Call(ast.Attribute(ast.Name(name, ast.Load()), readers.NUMBERS, ast.Load()), [indices], []), node))
        of_torch = readers.is_of_torch() if self._of_torch is None else self._of_torch
        return self._framed(shown, False) if of_torch else films.Taken(shown)

    def _shown_so_far(self) -> list[films.Shown]:
        shown = [one.shown if isinstance(one, films.Taken) else one.film for one in (*self._named.values(), *self._names.values()) if isinstance(one, (films.Taken, Picture))]
        return [one for one in shown if one is not None]

    def _indices_of(self, node: ast.expr) -> ast.expr:
        """The expression of their numbers."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get_batch" and len(node.args) + len(node.keywords) == 1 and (node.args or node.keywords[0].arg == "indices"):
            return node.args[0] if node.args else node.keywords[0].value
        if isinstance(node, ast.Subscript) and isinstance(part := node.slice, ast.Slice):
            return ast.copy_location(ast.Call(ast.Name("slice", ast.Load()), [one or ast.Constant(None) for one in (part.lower, part.upper, part.step)], []), node)
        self._refuse_reader(node)

    def _refuse_reader(self, node: ast.AST) -> NoReturn:
        self._refuse(node, f"{ast.unparse(node)[:80]!r}, frames of a VideoReader one by one", f"want all of a sample by one reader.get_batch(indices), or reader[start:stop:step] ({readers.PAGE})")
