"""A __getitem__ of one's own whose code says all that it does: it takes a picture and its annotations, and hands out what an image processor makes of them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

from . import texts
from .annotated import Unknown

PICTURE, MASK, LABELS = "pixel_values", "pixel_mask", "labels"
WANT = ("want its own __getitem__ to give what super().__getitem__(i) returns to its processor, and to return the pixel_values and labels of that, no more (docs/equivalents.md#labels-of-objects); "
        "what else is done to pictures and boxes are operations of a description (docs/recipes.md#detection-boxes-that-follow-the-crop), or keep torch's DataLoader for it")


class Sample(NamedTuple):
    """What a sample is."""

    processor: str  # the attribute that is the image processor
    outputs: Any  # Outputs in a tuple, a list or a dict

    def made(self, encoding: Mapping[str, Any]) -> Any:
        """A sample, of what the processor returns of one picture, without the axis of pictures."""
        return _filled(self.outputs, encoding)

    def keys(self) -> list[str]:
        return [one.key for one in _leaves(self.outputs)]


class Output(NamedTuple):
    """What a sample has of the processor's."""

    key: str
    squeezed: bool = False  # of all axes of one

    def __call__(self, encoding: Mapping[str, Any]) -> Any:
        return encoding[self.key].squeeze() if self.squeezed else encoding[self.key]


def _filled(outputs: Any, encoding: Mapping[str, Any]) -> Any:
    if isinstance(outputs, Output):
        return outputs(encoding)
    if isinstance(outputs, dict):
        return {key: _filled(one, encoding) for key, one in outputs.items()}
    return type(outputs)(_filled(one, encoding) for one in outputs)


def sample(cls: type) -> Sample:
    """What the __getitem__ of a class makes. Raises Unknown."""
    function = vars(cls)["__getitem__"]
    try:
        own = texts.parsed(function)
        if isinstance(own, ast.Lambda):
            raise texts.Unread("whose text cannot be read: it is a lambda")
    except texts.Unread as error:
        raise Unknown(f"has a __getitem__ of its own, {error}, {WANT}") from None
    return _Reader(cls, function, own).sample()


# ---- what values stand for


class _Whole(NamedTuple):
    """What the processor returns of a picture, or, by a key, one of these, of an axis of one picture."""

    processor: str
    key: str = ""


_SELF, _INDEX, _ITEM, _IMAGE, _OBJECTS, _IDS, _ID = "self", "the index", "the sample", "the picture", "its annotations", "self.ids", "its number"


class _Reader(texts.Reader):
    """Goes through the statements, one after the other, with what names stand for."""

    _own: ast.FunctionDef

    def __init__(self, cls: type, function: Any, own: ast.FunctionDef) -> None:
        super().__init__(function, own)
        self._cls = cls
        self._processors: set[str] = set()
        args = own.args
        if len(args.args) != 2 or args.vararg or args.kwarg or args.kwonlyargs or args.posonlyargs or args.defaults:
            self._refuse(own, "other arguments than self and an index")
        self._names: dict[str, Any] = {args.args[0].arg: _SELF, args.args[1].arg: _INDEX}

    def _refuse(self, node: ast.AST, what: str) -> NoReturn:
        raise Unknown(f"has a __getitem__ of its own, {self._place(node)}: got {what}, {WANT}")

    def sample(self) -> Sample:
        *steps, last = self._own.body
        for step in steps:
            self._step(step)
        if not isinstance(last, ast.Return) or last.value is None:
            self._refuse(last, f"{ast.unparse(last)[:80]!r} at its end")
        outputs = self._value(last.value)
        if not self._is_made(outputs):
            self._refuse(last, f"{ast.unparse(last)[:80]!r}, of other things than what the processor returns of one picture")
        keys = [one.key for one in _leaves(outputs)]
        if not {PICTURE, LABELS} <= set(keys) <= {PICTURE, MASK, LABELS} or len(self._processors) != 1:
            self._refuse(last, f"{ast.unparse(last)[:80]!r}, {', '.join(keys)} of {len(self._processors)} processors")
        return Sample(self._processors.pop(), outputs)

    def _is_made(self, outputs: Any) -> bool:
        return isinstance(outputs, Output) or isinstance(outputs, (tuple, list, dict)) and not isinstance(outputs, _Whole) and all(map(
            self._is_made, outputs.values() if isinstance(outputs, dict) else outputs))

    def _step(self, step: ast.stmt) -> None:
        if isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant) or texts.is_import(step):
            return  # its doc
        if not isinstance(step, ast.Assign) or len(step.targets) != 1:
            self._refuse(step, repr(ast.unparse(step)[:80]))
        value, target = self._value(step.value), step.targets[0]
        if isinstance(target, ast.Name):
            self._names[target.id] = value
            return
        names = [one.id for one in target.elts if isinstance(one, ast.Name)] if isinstance(target, ast.Tuple) else []
        if len(names) != 2 or value is not _ITEM:
            self._refuse(step, repr(ast.unparse(step)[:80]))
        self._names.update(zip(names, (_IMAGE, _OBJECTS)))

    def _name(self, node: ast.Name) -> Any:
        return self._names[node.id] if node.id in self._names else self._other(node)

    def _tuple(self, node: ast.Tuple) -> Any:
        return tuple(map(self._value, node.elts))

    def _list(self, node: ast.List) -> Any:
        return list(map(self._value, node.elts))

    def _dict(self, node: ast.Dict) -> Any:
        keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        return dict(zip(keys, map(self._value, node.values))) if all(isinstance(key, str) for key in keys) else self._other(node)

    def _attribute(self, node: ast.Attribute) -> Any:
        of = self._value(node.value)
        if of is _SELF and node.attr == "ids":
            return _IDS
        return _Whole(of.processor, node.attr) if isinstance(of, _Whole) and not of.key else self._other(node)

    def _subscript(self, node: ast.Subscript) -> Any:
        of = self._value(node.value)
        if of is _IDS and self._value(node.slice) is _INDEX:
            return _ID
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(of, _Whole) and not of.key and isinstance(key, str):
            return _Whole(of.processor, key)
        if isinstance(of, _Whole) and of.key and type(key) is int and key == 0:
            return Output(of.key)
        return of[key] if isinstance(of, dict) and key in of else self._other(node)

    def _call(self, node: ast.Call) -> Any:
        function = node.func
        if not isinstance(function, ast.Attribute):
            return self._other(node)
        if function.attr == "__getitem__":
            its = self._is_super(function.value) and len(node.args) == 1 and not node.keywords and self._value(node.args[0]) is _INDEX
            return _ITEM if its else self._other(node)
        if isinstance(function.value, ast.Name) and self._names.get(function.value.id) is _SELF:
            return self._processed(node, function.attr)
        of = self._value(function.value)
        if function.attr == "squeeze" and isinstance(of, _Whole) and of.key not in ("", LABELS) and not node.keywords:
            axes = [one.value if isinstance(one, ast.Constant) else None for one in node.args]
            if axes in ([], [0]):
                return Output(of.key, squeezed=not axes)
        return self._other(node)

    def _is_super(self, node: ast.expr) -> bool:
        """super(), or super(CLASS, self) of the class itself."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != "super" or node.keywords:
            return False
        if not node.args:
            return True
        named, one = node.args if len(node.args) == 2 else (None, None)
        return isinstance(named, ast.Name) and self._global(named.id) is self._cls and isinstance(one, ast.Name) and self._names.get(one.id) is _SELF

    def _global(self, name: str) -> Any:
        try:
            return self._outside(name)
        except KeyError:
            return None

    def _processed(self, node: ast.Call, name: str) -> Any:
        given = dict(zip(("images",), node.args))
        given.update({one.arg or "**": one.value for one in node.keywords})
        tensors = given.pop("return_tensors", None)
        if set(given) != {"images", "annotations"} or len(node.args) > 1 or not isinstance(tensors, ast.Constant) or tensors.value != "pt":
            self._refuse(node, f"{ast.unparse(node)[:200]!r}, of other arguments than images, annotations and return_tensors=\"pt\"")
        image, objects = self._value(given["images"]), self._value(given["annotations"])
        if image is not _IMAGE or objects != {"image_id": _ID, "annotations": _OBJECTS}:
            self._refuse(node, f"{ast.unparse(node)[:120]!r}, of another picture than the data set's, or other annotations than {{\"image_id\": self.ids[i], \"annotations\": ...}}")
        self._processors.add(name)
        return _Whole(name)


def _leaves(outputs: Any) -> list[Output]:
    if isinstance(outputs, Output):
        return [outputs]
    return [leaf for one in (outputs.values() if isinstance(outputs, dict) else outputs) for leaf in _leaves(one)]
