"""What a function of one's own opens by a reader of videos, which runs, and which frames it names: the rest of the function, and the frames as the engine has them."""

from __future__ import annotations

import ast
from typing import Any, NoReturn, Optional

from . import films, readers, seen
from .picture import Picture
from .steps import Steps
from .texts import NOTHING


_FRAME = "_spdl_frame"  # each frame of a loop
SAID = "_spdl_said"  # what the rest of the function calls what is said of a sample


class _Asked(ast.NodeTransformer):
    def __init__(self, reader: Readers) -> None:
        self._reader = reader

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        one = self._reader._asked_picture(node.value) if node.attr == "shape" else None
        if one is None or one.film is None:
            return self.generic_visit(node)
        return ast.copy_location(ast.Call(ast.Attribute(ast.Name(f"{SAID}{one.film.told}", ast.Load()), "shape", ast.Load()), [ast.Constant(one.axes), ast.Constant(one.array)], []), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        one = self._reader._asked_picture(node.args[0]) if isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1 else None
        if one is None or one.film is None or one.axes[0] != "T":
            return self.generic_visit(node)
        return ast.copy_location(ast.Call(node.func, [ast.Attribute(ast.Name(f"{SAID}{one.film.told}", ast.Load()), "numbers", ast.Load())], []), node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        if len(node.generators) == 1 and not node.generators[0].ifs and (each := self._each(node.generators[0].target, node.generators[0].iter, [node.elt])) is not None:
            target, of, (elt,) = each
            return ast.copy_location(ast.ListComp(elt, [ast.comprehension(target, of, [], 0)]), node)
        return self.generic_visit(node)

    def visit_For(self, node: ast.For) -> ast.AST:
        if not node.orelse and (each := self._each(node.target, node.iter, node.body)) is not None:
            target, of, body = each
            return ast.copy_location(ast.For(target, of, body, [], None), node)
        return self.generic_visit(node)

    def _each(self, target: ast.expr, of: ast.expr, body: list[Any]) -> Optional[tuple[ast.expr, ast.expr, list[Any]]]:
        """A loop over numbers, each of which is looked up in one VideoReader and nothing else is done with; None: it is another."""
        parts = [one for step in body for one in ast.walk(step)]
        if not isinstance(target, ast.Name) or sum(isinstance(one, ast.Name) and one.id == target.id for one in parts) != 1:
            return None
        taken = [one for one in parts if isinstance(one, ast.Subscript) and self._reader._takes(one) and ast.unparse(one.slice) in (target.id, f"int({target.id})")]
        if len(taken) != 1:
            return None
        arrays = [one for one in parts if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr == "asnumpy" and one.func.value is taken[0]]
        batch: ast.expr = ast.Call(ast.Attribute(taken[0].value, "get_batch", ast.Load()), [ast.Call(ast.Name("list", ast.Load()), [of], [])], [])
        if arrays:
            batch = ast.Call(ast.Attribute(batch, "asnumpy", ast.Load()), [], [])
        put = Put(arrays[0] if arrays else taken[0], ast.Name(_FRAME, ast.Load()))
        return ast.copy_location(ast.Name(_FRAME, ast.Store()), target), ast.fix_missing_locations(ast.copy_location(batch, of)), [put.visit(one) for one in body]


class Put(ast.NodeTransformer):
    """Puts a node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> Any:
        return ast.copy_location(self._new, node) if node is self._old else super().visit(node)


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

    def _asked_of_frames(self, step: Any) -> Any:
        """A statement with what code asks of frames, by what names them: frames.shape, len(frames); and with reader[i] of a loop over numbers as frames of reader.get_batch(numbers)."""
        if not self._open_readers and not any(isinstance(one, Picture) and one.film is not None and one.film.told >= 0 for one in self._names.values()):
            return step
        return _Asked(self).visit(step)

    def _asked_picture(self, node: ast.expr) -> Optional[Picture]:
        one = self._names.get(node.id) if isinstance(node, ast.Name) else None
        return one if isinstance(one, Picture) and one.film is not None and one.film.told >= 0 and one.axes and not one.each and not one.after else None

    def _takes(self, node: ast.AST) -> str:
        """The name of the VideoReader of which an expression takes frames; "": it takes none."""
        of = node.value if isinstance(node, ast.Subscript) else node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("get_batch", "next") else None
        return of.id if isinstance(of, ast.Name) and of.id in self._open_readers else ""

    def _has_film(self, node: ast.AST) -> bool:
        return super()._has_film(node) or any(bool(self._takes(one)) or isinstance(one, ast.Call) and self._opens_film(one) for one in ast.walk(node))

    def _opens_film(self, node: ast.Call) -> bool:
        """Whether a function of the program's own is called that returns frames."""
        raise NotImplementedError

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
        shown = films.told(self._open_readers[name], len(self._told))
        self._told.append(ast.copy_location(ast.Call(ast.Attribute(ast.Name(name, ast.Load()), seen.NUMBERS, ast.Load()), [indices], []), node))
        of_torch = readers.is_of_torch() if self._of_torch is None else self._of_torch
        taken = films.Taken(shown, isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice))
        return self._framed(taken, False) if of_torch else taken

    def _indices_of(self, node: ast.expr) -> ast.expr:
        """The expression of their numbers."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get_batch" and len(node.args) + len(node.keywords) == 1 and (node.args or node.keywords[0].arg == "indices"):
            return node.args[0] if node.args else node.keywords[0].value
        if isinstance(node, ast.Subscript) and isinstance(part := node.slice, ast.Slice):
            return ast.copy_location(ast.Call(ast.Name("slice", ast.Load()), [one or ast.Constant(None) for one in (part.lower, part.upper, part.step)], []), node)
        if isinstance(node, ast.Subscript):
            return ast.copy_location(ast.List([node.slice], ast.Load()), node)
        self._refuse_reader(node)

    def _refuse_reader(self, node: ast.AST) -> NoReturn:
        self._refuse(node, f"{ast.unparse(node)[:80]!r}, frames of a VideoReader one by one", f"want all of a sample by one reader.get_batch(indices), or reader[start:stop:step] ({seen.PAGE})")
