"""A __getitem__ of one's own that gives a picture with its boxes or points to one transform: what finds them is run ahead, what makes a sample of what becomes of them in the loop."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from types import CellType, FunctionType
from typing import Any, Optional, Union

from . import getitem, libraries, sounding, texts
from .annotated import Unknown
from .picture import Made, Picture
from .steps import LIBRARIES, code_of

_HERE, _MADE, _HOLDS, _FIND = "_spdl_here", "_spdl_made", "_spdl_holds", "_spdl_find"  # what stands in the place of the picture, what the transform has made, what is asked of each sample, and what is called for a transform of its own
_FOLLOW = ("bboxes", "keypoints")  # albumentations' arguments
_IMAGES = ("image", "img", "images", "pixel_values", "picture", "pic")  # what a picture may be called
_WANT = ("want it to find a picture and its boxes, to give both to one transform, albumentations' self.transform(image=image, bboxes=boxes, labels=labels) or torchvision's v2 as self.transforms(image, target) with "
         "tv_tensors.BoundingBoxes in it, and to return what that makes; what stands in front may not change the picture otherwise")


class Here:
    """In the place of a picture, while nobody has one."""


HERE = Here()


class Unheld(Exception):
    """Of a sample of which a condition does not hold under which pictures are transformed."""


class Unjoined(Exception):
    """Of a function that gives a transform no picture with what lies in it."""


class Reader(getitem.Reader):
    """Of the function. `rest()` finds what is ahead of the transform, `told()` says what that is, `finish()` does what is behind it."""

    WANT = _WANT
    _opens = 1  # pictures

    def __init__(self, dataset: Any, function: FunctionType, cls: type) -> None:
        """Raises Unknown, and Unjoined."""
        self._allowed: set[int] = set()  # the calls that open the picture, among all nodes
        self._inner: Optional[Inner] = None  # the transform, where it is the program's own and calls another
        super().__init__(dataset, function, cls)

    def _read(self) -> list[ast.stmt]:
        steps: list[ast.stmt] = []
        for step in self._flat(self._own.body, steps):
            self._name_transform(step)
            steps.append(step)
        at, call = next(((i, node) for i, step in enumerate(steps) for node in ast.walk(step) if isinstance(node, ast.Call) and self._is_joint(node, steps[:i])), (-1, None))
        if call is None:
            raise Unjoined
        if not isinstance(steps[at], (ast.Assign, ast.AnnAssign, ast.Return)):
            self._other(steps[at])
        self.transform, self.called, self.of_albumentations = self._known(call.func), ast.unparse(call.func).rpartition(".")[2], not call.args
        own = self._own_transform(call)
        while own is None and not self.of_albumentations and (next_one := self._goes_on(steps[at], steps[at + 1:at + 2])) is not None:  # image, target = self.more(image, target)
            self.transform = [*(self.transform if isinstance(self.transform, list) else [self.transform]), next_one]
            del steps[at + 1]
        if another := next((node for step in steps[at + 1:] for node in ast.walk(step) if isinstance(node, ast.Call) and self._is_joint(node, steps)), None):
            self._refuse(another, f"{ast.unparse(another)[:80]!r}, a second transform of a picture and what lies in it", "want one: Compose([...]) of both")
        front = list(steps[:at])
        image, annotation = self._of_own(call, own) if own is not None else self._of_albumentations(call, front) if self.of_albumentations else self._of_torchvision(call, front)
        self._allow(image, front)
        kept = self._steps(front)
        if self._last is not None:
            self._refuse(self._last, f"{ast.unparse(self._last)[:80]!r} ahead of the transform")
        self.picture = self._one(self._seen(image))
        if own is not None:
            inner = self._inner = Inner(self.transform, own, self._picture_of(own, call)[0], self.picture, self._within)
            self.transform, self.of_albumentations, self.picture = inner.transform, inner.of_albumentations, inner.picture
        if self.of_albumentations and (not self.picture.array or self.picture.mode not in ("", "RGB", "L")) or not self.of_albumentations and self.picture.array or self.picture.mask or len(self._paths) != self._opens:
            self._refuse(image, f"{ast.unparse(image)[:80]!r} of the transform's picture", f"want {'np.array(image), in RGB' if self.of_albumentations else 'a picture of Pillow or a tensor'}")
        annotation = self._seen(annotation)
        if self._mentions(annotation):
            self._refuse(call, f"{ast.unparse(call)[:80]!r}, which looks at the picture beside it")
        kept += self._opened_by(steps[at])
        self.views = [self.picture]
        return self._split(kept, steps[at:], call, annotation)

    def _flat(self, steps: Sequence[ast.stmt], before: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
        """Statements, with those of conditions that hold in the place of these, where a picture goes through a transform in them with what lies in it."""
        for step in steps:
            if not isinstance(step, ast.If) or not self._has_joint([step], before):
                yield step
                continue
            tests = step.test.values if isinstance(step.test, ast.BoolOp) and isinstance(step.test.op, ast.And) else [step.test]
            known, asked = [one for one in tests if self._is_told(one)], [one for one in tests if not self._is_told(one)]
            if not all(map(self._holds, known)):
                yield from self._flat(step.orelse, before)
                continue
            for one in asked:  # of each sample
                say = ast.Constant(f"{self._place(one)}: {ast.unparse(one)[:80]!r} does not hold of it, want it to hold of all samples, whose pictures go through one transform")
                yield ast.copy_location(ast.Expr(ast.Call(ast.Name(_HOLDS, ast.Load()), [one, say], [])), step)
            yield from self._flat(step.body, before)

    def _has_joint(self, steps: Sequence[ast.stmt], before: Sequence[ast.stmt]) -> bool:
        for i, step in enumerate(steps):
            ahead = [*before, *steps[:i]]
            if isinstance(step, ast.If):
                if self._has_joint(step.body, ahead) or self._has_joint(step.orelse, ahead):
                    return True
            elif any(isinstance(node, ast.Call) and self._is_joint(node, ahead) for node in ast.walk(step)):
                return True
        return False

    def _name_transform(self, step: ast.stmt) -> None:
        """transform = self.train_transform if self.train else self.other, which its name stands for then."""
        if isinstance(step, ast.Assign) and len(step.targets) == 1 and isinstance(target := step.targets[0], ast.Name):
            value = step.value
            while isinstance(value, ast.IfExp) and self._is_told(value.test):
                value = value.body if self._holds(value.test) else value.orelse
            one, given = self._known(value), [node.id for node in ast.walk(self._own) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)].count(target.id)
            if _whose(one) and given == 1:
                self._bound[target.id] = one

    def _is_told(self, test: ast.expr) -> bool:
        """Whether a condition is one on what is known."""
        try:
            self._holds(test)
        except Unknown:
            return False
        return True

    def _goes_on(self, step: ast.stmt, following: Sequence[ast.stmt]) -> Any:
        """The transform of a statement that gives another all that the one before has made; None: it does something else."""
        if not isinstance(step, ast.Assign) or not following or not isinstance(one := following[0], ast.Assign) or not isinstance(call := one.value, ast.Call) or self._transforms(call) != "v2" or call.keywords:
            return None
        names = [ast.unparse(node) for node in call.args]
        made = [[ast.unparse(node) for node in (target.elts if isinstance(target, ast.Tuple) else [target])] for target in (*step.targets, *one.targets)]
        return self._known(call.func) if made == [names, names] else None

    # ---- the call

    def _own_transform(self, call: ast.Call) -> Optional[FunctionType]:
        """The code of a transform of the program's own that gives what it is called with to another; None: it is none."""
        function = self._known(call.func)
        code = code_of(function)
        if code is None or function is getattr(type(self._object), "__getitem__", None) or code in self._within:
            return None
        try:
            own = texts.parsed(code)
        except texts.Unread:
            return None
        one, inside = getattr(function, "__self__", function), [node for node in ast.walk(own) if isinstance(node, ast.Call)]
        follows = any(keyword.arg in _FOLLOW for node in inside for keyword in node.keywords)
        joins = any(len(node.args) > 1 and isinstance(node.func, ast.Attribute) and libraries.derives(inner := getattr(one, node.func.attr, None), "torchvision.transforms.v2", type(inner).__qualname__) for node in inside)
        return code if follows or joins else None

    def _picture_of(self, code: FunctionType, call: ast.Call) -> tuple[str, Union[int, str]]:
        """What a function calls its picture, and the place or the name of that among a call's arguments."""
        function = self._known(call.func)
        names = list(code.__code__.co_varnames[:code.__code__.co_argcount])[0 if function is code else 1:]
        name = next((one for one in names if one in _IMAGES), names[0] if names else "")
        at: Union[int, str] = name if any(one.arg == name for one in call.keywords) else names.index(name) if name else 0
        return name, at

    def _of_own(self, call: ast.Call, code: FunctionType) -> tuple[ast.expr, ast.expr]:
        """The picture, and the call of what finds in a transform of the program's own."""
        _, at = self._picture_of(code, call)
        made = copy.copy(call)
        made.func = ast.copy_location(ast.Name(_FIND, ast.Load()), call)
        if isinstance(at, int) and at >= len(call.args):
            self._other(call)
        image = call.args[at] if isinstance(at, int) else next(one.value for one in call.keywords if one.arg == at)
        made.args = [self._here(one) if one is image else one for one in call.args]
        made.keywords = [ast.keyword(one.arg, self._here(image)) if one.value is image else one for one in call.keywords]
        return image, made

    def _transforms(self, node: ast.Call) -> str:
        """Whose transform is called; "": none."""
        function = self._known(node.func)
        if isinstance(node.func, ast.Name) and isinstance(function, (type, FunctionType)):
            return ""
        return _whose(function)

    def _is_joint(self, node: ast.Call, before: Sequence[ast.stmt]) -> bool:
        if self._own_transform(node) is not None:
            return True
        whose = self._transforms(node)
        if whose == "albumentations":
            spread = [self._literal(one.value, before) for one in node.keywords if one.arg is None]
            keys = [one.arg for one in node.keywords] + [getattr(key, "value", None) for one in spread if isinstance(one, ast.Dict) for key in one.keys]
            return any(name in keys for name in _FOLLOW)
        if whose != "v2" or node.keywords or not node.args:
            return False
        return len(node.args) > 1 or isinstance(self._literal(node.args[0], before), (ast.Dict, ast.Tuple, ast.List))

    def _literal(self, node: ast.expr, before: Sequence[ast.stmt]) -> ast.expr:
        """The dict or the tuple that a name has."""
        if not isinstance(node, ast.Name):
            return node
        given = [step.value for step in before if isinstance(step, ast.Assign) and [ast.unparse(one) for one in step.targets] == [node.id]]
        return given[-1] if given else node

    def _of_albumentations(self, call: ast.Call, front: list[ast.stmt]) -> tuple[ast.expr, ast.expr]:
        """The picture, and a dict of all else that the transform is called with."""
        if len(call.keywords) == 1 and call.keywords[0].arg is None:
            return self._taken_out(call.keywords[0].value, front)
        named = {one.arg: one.value for one in call.keywords}
        image = named.pop("image", None)
        if image is None or None in named:
            self._other(call)
        return image, ast.copy_location(ast.Dict([ast.Constant(name) for name in named], list(named.values())), call)

    def _of_torchvision(self, call: ast.Call, front: list[ast.stmt]) -> tuple[ast.expr, ast.expr]:
        """The picture, and a tuple of what the transform is called with, with HERE in the place of the picture."""
        args: list[ast.expr] = []
        image: Optional[ast.expr] = None
        for one in call.args:
            inside = self._literal(one, front)
            if image is None and isinstance(inside, (ast.Dict, ast.Tuple, ast.List)):
                image, one = self._taken_out(one, front)
            elif image is None:
                image, one = one, self._here(one)
            args.append(one)
        assert image is not None
        return image, ast.copy_location(ast.Tuple(args, ast.Load()), call)

    def _taken_out(self, node: ast.expr, front: list[ast.stmt]) -> tuple[ast.expr, ast.expr]:
        """The picture of a dict or a tuple, and that with HERE in its place; where it has a name, that is given to it. Of a dict it is what is called image, or the first."""
        literal = self._literal(node, front)
        if isinstance(literal, ast.Dict):
            keys = [getattr(key, "value", None) for key in literal.keys]
            at = next((i for i, key in enumerate(keys) if key in _IMAGES), 0)
            image, made = literal.values[at], copy.copy(literal)
            made.values = [self._here(one) if i == at else one for i, one in enumerate(literal.values)]
        elif isinstance(literal, (ast.Tuple, ast.List)) and literal.elts:
            image, made = literal.elts[0], copy.copy(literal)  # type: ignore[assignment]
            made.elts = [self._here(image), *literal.elts[1:]]  # type: ignore[attr-defined]
        else:
            self._other(node)
        if node is literal:
            return image, made
        at = next(i for i, step in enumerate(front) if isinstance(step, ast.Assign) and step.value is literal)
        front[at] = ast.copy_location(ast.Assign(front[at].targets, made), front[at])  # type: ignore[attr-defined]
        return image, node

    def _here(self, node: ast.expr) -> ast.expr:
        return ast.copy_location(ast.Name(_HERE, ast.Load()), node)

    def _allow(self, image: ast.expr, front: Sequence[ast.stmt]) -> None:
        """Take the calls that the picture comes from for those that open it: what other files are opened for is run as it stands."""
        names: set[str] = set()
        for node in [image, *reversed(front)]:
            value: Optional[ast.AST] = node
            if isinstance(node, ast.stmt):
                stored = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
                value = node if names & stored and isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.With, ast.If, ast.Try, ast.While)) else None
            if value is not None:
                self._allowed |= {id(one) for one in ast.walk(value)}
                names |= {one.id for one in ast.walk(value) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}

    # ---- expressions of the picture

    def _is_open(self, node: ast.AST) -> bool:
        return id(node) in self._allowed and super()._is_open(node)

    def _called(self, node: ast.Call) -> Made:
        """tv_tensors.Image(image), to_image(image) and Image.open(path) as they are."""
        if len(node.args) == 1 and not node.keywords and (self._is(node.func, "torchvision.tv_tensors", "Image") or self._is(node.func, "torchvision.transforms.v2.functional", "to_image")):
            one = self._one(node.args[0])
            plain = [type(each).__qualname__ for each in one.transforms]
            if one.array or one.after or one.mask or plain not in ([], ["PILToTensor"], ["ToImage"]):
                self._other(node)
            return self._transformed(one._replace(transforms=(), calls=()), sys.modules["torchvision.transforms.v2"].ToImage())
        return super()._called(node)

    # ---- what is left

    def _split(self, kept: list[ast.stmt], behind: Sequence[ast.stmt], call: ast.Call, annotation: ast.expr) -> list[ast.stmt]:
        """What is run for each sample, and what in the loop, with the names that this has of that."""
        last = _Replaced(call).visit(copy.copy(behind[0]))
        body = [last, *behind[1:]]
        stored = {name for step in kept for name in _stored(step)}
        target = {one.id for node in getattr(last, "targets", ()) for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        loads = {one.id for step in body for one in ast.walk(step) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
        given = [one.arg for one in self._own.args.args]
        names = sorted(((stored | set(given)) & loads) - target - set(self._names) - {self._self})
        args = copy.copy(self._own.args)
        args.args = [ast.arg(name) for name in (*([self._self] if self._self else []), *names, _MADE)]
        self._finish = self._compiled(args, body)
        taken: list[ast.expr] = [ast.Name(f"{sounding.TAKEN}{i}", ast.Load()) for i in range(self._opens)]
        values: list[ast.expr] = [ast.Name(name, ast.Load()) for name in names]
        return [*kept, ast.copy_location(ast.Return(ast.Tuple([ast.Tuple(taken, ast.Load()), annotation, ast.Tuple(values, ast.Load())], ast.Load())), behind[0])]

    def told(self, values: Sequence[Any]) -> tuple[Any, Any]:
        """Of what the function returns behind (path,) what the transform is called with, and what `finish` wants."""
        given, names = values
        if self._inner is None:
            return given, names
        given, inner = self._inner.told(given[1:])
        return given, (names, inner)

    def finish(self, names: Any, made: Any) -> Any:
        """A sample, of what the transform has made."""
        if self._inner is not None:
            names, inner = names
            made = self._inner.finish(inner, made)
        return self._finish(*([self._object] if self._self else []), *names, made)

    def _cells(self) -> dict[str, CellType]:
        return {**super()._cells(), _HERE: CellType(HERE), _HOLDS: CellType(_hold), **({} if self._inner is None else {_FIND: CellType(self._inner.find())})}


class Inner(Reader):
    """Of a transform of the program's own that gives what it is called with, the picture among it, to another."""

    _opens = 0

    def __init__(self, transform: Any, code: FunctionType, name: str, picture: Picture, within: tuple[FunctionType, ...]) -> None:
        self._image, self._of = name, picture
        one = getattr(transform, "__self__", transform)
        self._allowed, self._inner = set(), None
        getitem.Reader.__init__(self, one, code, None if transform is code else type(one), within)

    def _read(self) -> list[ast.stmt]:
        self._names[self._image], self._asks = self._of, False
        try:
            return super()._read()
        except Unjoined:
            self._refuse(self._own, "a transform of its own that calls no other under these conditions")

    def find(self) -> Callable[..., Any]:
        """What is called in the place of the transform."""
        return functools.partial(self.rest(), self._object) if self._self else self.rest()


def _hold(condition: Any, what: str) -> None:
    if not condition:
        raise Unheld(what)


def _whose(transform: Any) -> str:
    """The library whose transform it is; "": another's, or none."""
    of_albumentations = any(cls.__module__.partition(".")[0] == "albumentations" for cls in type(transform).__mro__)
    return "albumentations" if of_albumentations else "v2" if libraries.derives(transform, "torchvision.transforms.v2", type(transform).__qualname__) else ""


def _stored(node: ast.AST) -> Iterator[str]:
    """The names that a statement gives to something, but for those of comprehensions."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    elif not isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)):
        for one in ast.iter_child_nodes(node):
            yield from _stored(one)


class _Replaced(ast.NodeTransformer):
    """Puts what was made in the place of the call that makes it."""

    def __init__(self, call: ast.Call) -> None:
        self._call = call

    def visit_Call(self, node: ast.Call) -> ast.AST:
        return ast.copy_location(ast.Name(_MADE, ast.Load()), node) if node is self._call else self.generic_visit(node)


def read(dataset: Any, cls: type) -> Optional[Reader]:
    """Of the __getitem__ of a class; None: it gives no transform a picture with what lies in it. Raises Unknown."""
    try:
        return Reader(dataset, vars(cls)["__getitem__"], cls)
    except Unjoined:
        return None


def has_boxes(dataset: Any) -> bool:
    """Whether the text of its class says that something lies in its pictures."""
    texts = []
    for cls in type(dataset).__mro__:
        if cls.__module__.partition(".")[0] not in (*LIBRARIES, "builtins", "typing"):
            try:
                texts.append(inspect.getsource(cls))
            except (OSError, TypeError):
                continue
    return any(word in text for text in texts for word in ("BoundingBoxes", *_FOLLOW))
