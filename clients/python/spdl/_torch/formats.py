"""A function that a data set of Hugging Face's has as its format (set_transform, with_transform), whose code says what it does: pictures go through a transform or an image processor, columns are handed on, and what it does
with others than pictures the loop does."""

from __future__ import annotations

import ast
import builtins
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, Optional

from .._errors import ArgumentError
from . import columns, processors, rest, texts
from .annotated import Unknown
from .huggingface import Samples
from .prepared import KEY
from .rest import Column, Left, Program
from .texts import Known
from .transforms import makes_rgb

_COMPARED: dict[type, Callable[[Any, Any], Any]] = {ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Is: operator.is_, ast.IsNot: operator.is_not, ast.In: lambda one, other: one in other, ast.NotIn: lambda one, other: one not in other,
                                                    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge}
_HAS = "has a function as its transform (set_transform, with_transform)"
_WANT = ("want it to do no more with pictures than batch[\"pixel_values\"] = [transform(image.convert(\"RGB\")) for image in batch[\"image\"]], or processor(batch[\"image\"], return_tensors=\"pt\"), and the rest without them; or "
         "dataset.with_format(None), and transform=Compose([...]), or an image processor, of spdl.DataLoader, which is its pictures'")


class Own(NamedTuple):
    """What the arguments of a loader say of a data set, with its function's in the place of what was not given."""

    transform: Any
    fields: Any
    collate: Optional[Callable[[list[Any]], Any]]
    program: Optional[Program] = None  # what the loop does


def resolved(of: Samples, transform: Any, fields: Any, collate: Any) -> Own:
    """The transform of each column of pictures and the fields, as the data set's function says them. Raises ArgumentError where it does more."""
    form = of.dataset.format
    if form["type"] != "custom":
        return Own(transform, fields, collate)
    if transform is not None:
        of.refuse(f"{_HAS}, and transform= is given, want one of them: dataset.with_format(None){_remedies(of)}")
    try:
        outputs, steps = _read(form["format_kwargs"].get("transform"), of)
    except Unknown as error:
        of.refuse(f"{_HAS}, {error}, {_WANT}{_remedies(of)}")
    outputs.update({name: Column(name) for name in of.columns if form["output_all_columns"] and name not in form["columns"]})
    return _chosen(of, outputs, steps, fields, collate)


def _remedies(of: Samples) -> str:
    objects = next((name for name, one in of.features.items() if isinstance(one, Mapping) and "bbox" in one), "")
    picture = next((name for name in of.features if _is_picture(of, name)), "image")
    sound = next((name for name, one in of.features.items() if type(one).__name__ == "Audio"), "")
    if sound:
        return f"; of sounds dataset.with_format(None), and transform={{{sound!r}: {{\"length\": \"10s\", \"shape\": \"padded\"}}}}, the section of a description (docs/audio.md)"
    return f"; of objects with boxes fields={dict(pixel_values=picture, labels=objects)} beside a processor of DETR's kin" if objects else ""


def _is_picture(of: Samples, name: str) -> bool:
    return type(of.features[name]).__name__ == "Image"


def _chosen(of: Samples, outputs: dict[str, Any], steps: list[Left], fields: Any, collate: Any) -> Own:
    """Those outputs that are wanted; pictures as such are none that a batch of tensors has."""
    form, wanted = columns.wanted(_Outputs(list(outputs)), fields)
    made = {key: outputs[name] for key, name in wanted.items()}
    pictures = [key for key, one in made.items() if isinstance(one, Column) and _is_picture(of, one.name)]
    if pictures and (collate is None or form != "dict"):
        rest = tuple(name for name in made if name not in pictures)
        of.refuse(f"{_HAS}, which leaves pictures of PIL's in {', '.join(map(repr, pictures))}, of which no batch can be made, want del batch[{pictures[0]!r}] in it, or fields={rest!r}; or "
                  "dataset.with_format(None), and transform=Compose([...]) of spdl.DataLoader")
    transforms: dict[str, Any] = {}
    for one in (one for one in made.values() if isinstance(one, Rows)):
        if one.name in transforms:
            of.refuse(f"{_HAS}, which makes two tensors of {one.name!r}, want one of each column of pictures; a description takes a column as two fields, each with its transform (docs/recipes.md)")
        transforms[one.name] = one.transform
    collate = _without(pictures, collate) if pictures else collate
    if steps:
        others = {key: one for key, one in made.items() if not isinstance(one, Rows) and key not in pictures}
        return Own(transforms or None, {key: one.name for key, one in made.items() if isinstance(one, Rows)}, collate, Program(steps, others, [key for key in made if key not in pictures], form))
    keys = {key: one.name for key, one in made.items() if key not in pictures}
    own: Any = keys if form == "dict" else tuple(keys.values()) if form == "tuple" else next(iter(keys.values()))
    return Own(transforms or None, own, collate)


class _Outputs(NamedTuple):
    columns: list[str]


def _without(pictures: Sequence[str], collate: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    """A collate_fn of samples that say that the pictures themselves are not in them."""

    class Sample(dict[str, Any]):
        def __missing__(self, key: str) -> NoReturn:
            if key in pictures:
                raise ArgumentError(f"spdl: DataLoader: collate_fn: asks a sample for {key!r}, which is the picture before its transform, want what the function of with_transform makes of it: {', '.join(self)}")
            raise KeyError(key)

    return lambda samples: collate([Sample(one) for one in samples])


# ---- what values stand for


class Value(NamedTuple):
    """One of a column's."""

    name: str
    converted: bool = False
    array: bool = False  # of NumPy, of a picture


class Row(NamedTuple):
    """What a transform makes of a picture, or, inside, a dict with it as its image."""

    name: str
    transform: Any
    inside: bool = False


class Rows(NamedTuple):
    """These, of all pictures."""

    name: str
    transform: Any
    place: str = ""


class Features(dict[str, Any]):
    """What an image processor returns."""


class Tokens(Features):
    """What a tokenizer returns."""

    def __init__(self, made: Left, names: Sequence[str]) -> None:
        super().__init__({name: made.named(name) for name in names})
        self._first, self._made = dict(self), made

    @property
    def itself(self) -> Any:
        """As it was returned, while nothing is put into it."""
        return self._made if dict(self) == self._first else self


def _read(function: Any, of: Samples) -> tuple[dict[str, Any], list[Left]]:
    """What samples have: a column, rows of one, or what the loop makes; and all that it does, in its order."""
    try:
        function, own, first, given = texts.called(function)
    except texts.Unread as error:
        raise Unknown(str(error)) from None
    reader = Reader(of.features, function, own, first, given, [{name: Column(name) for name in of.dataset.format["columns"]}])
    return reader.outputs(), reader.steps


class Reader(texts.Reader):
    """Goes through the statements, one after the other, with what names stand for."""

    def __init__(self, features: Mapping[str, Any], function: Any, own: texts.Definition, first: tuple[Any, ...], given: Mapping[str, Any], batch: Sequence[Any]) -> None:
        super().__init__(function, own)
        self._features = features
        self.steps: list[Left] = []  # what the loop does
        self._returned: Any = None
        self._names = self._arguments(first, given, batch, "a batch")

    def _refuse(self, node: ast.AST, what: str) -> NoReturn:
        raise Unknown(f"{self._place(node)}: got {what}")

    def outputs(self) -> dict[str, Any]:
        body: list[ast.stmt] = [ast.copy_location(ast.Return(self._own.body), self._own.body)] if isinstance(self._own, ast.Lambda) else self._own.body
        *steps, last = body
        for step in steps:
            self._step(step)
        outputs = self._value(last.value) if isinstance(last, ast.Return) and last.value is not None else None
        wrong = next((f"{name!r}: {one!r}" for name, one in outputs.items() if not isinstance(one, (Column, Rows, Left))), "") if isinstance(outputs, dict) else ast.unparse(last)
        if not outputs or wrong:
            self._refuse(last, f"{wrong[:120]!r} at its end, no dict of columns and of what becomes of pictures")
        self._done(outputs)
        self._returned = outputs
        return dict(outputs)

    def same(self, batch: Any) -> bool:
        """Whether it returns the batch that it got."""
        return self._returned is batch

    # ---- statements

    def _step(self, step: ast.stmt) -> None:
        if texts.is_import(step):
            return
        if isinstance(step, ast.AnnAssign) and step.value is not None:
            step = ast.copy_location(ast.Assign([step.target], step.value), step)
        if isinstance(step, ast.With) and all(self._is_without_gradients(one) for one in step.items):
            for inner in step.body:
                self._step(inner)
            return
        if isinstance(step, ast.Assign) and len(step.targets) == 1:
            target = step.targets[0]
            if isinstance(target, ast.Name) or isinstance(target, ast.Subscript) and not isinstance(self._value(target.value), Left):
                value = self._done(self._value(step.value))
                if isinstance(target, ast.Name):
                    self._names[target.id] = value
                else:
                    self._dict_of(target)[self._key(target)] = value
                return
        if isinstance(step, ast.Delete):
            for one in step.targets:
                self._took(one, one)
            return
        if isinstance(step, ast.Expr) and isinstance(step.value, (ast.Constant, ast.Call)):
            self._done(self._value(step.value))  # its doc, or what takes a column away
            return
        if isinstance(step, ast.For) and self._appended(step):
            return
        if isinstance(step, ast.If) and (known := self._truth(step.test)) is not None:
            for inner in step.body if known else step.orelse:
                self._step(inner)
            return
        if not isinstance(step, ast.Pass):
            self._block(step)

    def _is_without_gradients(self, item: ast.withitem) -> bool:
        """with torch.no_grad(): of which nothing here knows."""
        call = item.context_expr
        return isinstance(call, ast.Call) and not call.args and item.optional_vars is None and isinstance(of := self._value(call.func), Known) and _is(of.value, "torch", "no_grad", "inference_mode")

    def _truth(self, node: ast.expr) -> Optional[bool]:
        """Whether a condition is true, as far as that is known: of an argument, or of the columns that there are."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            of = self._truth(node.operand)
            return None if of is None else not of
        if isinstance(node, ast.BoolOp):
            each = [self._truth(one) for one in node.values]
            return None if None in each else (all if isinstance(node.op, ast.And) else any)(each)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = self._value(node.left), self._value(node.comparators[0])
            by = _COMPARED.get(type(node.ops[0]))
            if isinstance(right, dict) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
                right = Known(list(right))
            return bool(by(left.value, right.value)) if by is not None and isinstance(left, Known) and isinstance(right, Known) else None
        one = self._value(node)
        return bool(one.value) if isinstance(one, Known) and isinstance(one.value, (bool, int, float, str, type(None))) else None

    def _done(self, value: Any) -> Any:
        """What the loop does at this place."""
        for one in value.values() if isinstance(value, dict) else (value,):
            if isinstance(one, Left) and not any(one is other for other in self.steps):
                self.steps.append(one)
        return value

    def _block(self, step: ast.stmt) -> None:
        """A statement that has nothing to do with pictures, and what it gives names to."""
        ends = (ast.Return, ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal, ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)
        changes = [one for one in ast.walk(step) if isinstance(one, ast.Subscript) and not isinstance(one.ctx, ast.Load) and isinstance(one.value, ast.Name) and isinstance(self._names.get(one.value.id), dict)]
        if changes or any(isinstance(one, ends) for one in ast.walk(step)):
            self._other(step)
        block = self._left(step)
        self.steps.append(block)
        self._names.update({one.id: block.named(one.id) for one in ast.walk(step) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)})

    def _appended(self, step: ast.For) -> bool:
        """for image in batch["image"]: pixels.append(transform(image.convert("RGB")))."""
        column = self._value(step.iter) if isinstance(step.iter, (ast.Name, ast.Subscript)) else None
        if not isinstance(column, Column) or not self._is_picture(column):
            return False
        *steps, last = step.body
        call = last.value if isinstance(last, ast.Expr) else None
        if not isinstance(step.target, ast.Name) or step.orelse or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "append" or len(call.args) != 1 or call.keywords \
                or not isinstance(call.func.value, ast.Name) or not isinstance(listed := self._names.get(call.func.value.id), Left) or not listed.is_empty:
            self._refuse(step, f"{ast.unparse(step)[:80]!r}")
        name, before = call.func.value.id, dict(self._names)
        self._names[step.target.id] = Value(*column)
        for one in steps:
            if not isinstance(one, ast.Assign) or len(one.targets) != 1 or not isinstance(one.targets[0], ast.Name) or not isinstance(made := self._value(one.value), (Value, Row)):
                self._refuse(one, f"{ast.unparse(one)[:80]!r}")
            self._names[one.targets[0].id] = made
        made = self._of_all(self._value(call.args[0]), call)
        self._names = {**before, name: made}
        self.steps = [one for one in self.steps if one is not listed]
        return True

    # ---- what the loop does

    def _other(self, node: ast.AST) -> Any:
        return self._left(node) if isinstance(node, (ast.Call, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.ListComp, ast.DictComp, ast.List, ast.Tuple, ast.Dict, ast.JoinedStr, ast.Attribute, ast.Subscript, ast.Slice,
                                                 ast.GeneratorExp, ast.Lambda)) else self._no(node)

    def _no(self, node: ast.AST) -> NoReturn:
        super()._other(node)

    def _left(self, node: ast.AST, alone: str = "") -> Left:
        """Of what has nothing to do with pictures."""
        names = {one.id: self._asked_of(node, one.id) for one in ast.walk(node) if isinstance(one, ast.Name) and one.id in self._names}
        if any(self._has_pictures(one) for one in names.values() if not isinstance(one, dict)) or any(self._is_taking(one) for one in ast.walk(node)):
            self._no(node)
        return Left(node, {name: one.itself if isinstance(one, Tokens) else one for name, one in names.items()}, self._outside, self._place(node), alone)

    def _asked_of(self, node: ast.AST, name: str) -> Any:
        """What a name stands for; of a batch the columns that are asked for by their names, if that is all that it is for."""
        of = self._names[name]
        if not isinstance(of, dict):
            return of
        members = [one for one in ast.walk(node) if isinstance(one, (ast.Subscript, ast.Attribute)) and isinstance(one.value, ast.Name) and one.value.id == name]
        keys = [key.value for one in members if isinstance(one, ast.Subscript) and isinstance(key := self._known_key(one.slice), Known)]
        wrong = len(keys) < len(members) and any(map(self._has_pictures, of.values()))
        if wrong or any(key in of and self._has_pictures(of[key]) for key in keys):
            self._no(node)
        alone = len(keys) == sum(isinstance(one, ast.Name) and one.id == name for one in ast.walk(node))
        return {key: of[key] for key in of if key in keys} if alone and not isinstance(of, Tokens) else of

    def _known_key(self, node: ast.expr) -> Any:
        """The key of a subscript, if it is known."""
        return self._value(node) if isinstance(node, (ast.Constant, ast.Name, ast.Attribute, ast.Subscript)) else None

    def _is_taking(self, node: ast.AST) -> bool:
        """Whether it changes a batch on its way."""
        of = node.func if isinstance(node, ast.Call) else None
        return isinstance(of, ast.Attribute) and of.attr in ("pop", "update", "clear", "setdefault", "popitem") and isinstance(of.value, ast.Name) and isinstance(self._names.get(of.value.id), dict)

    def _has_pictures(self, one: Any) -> bool:
        """Whether it is no more than the loop has."""
        if isinstance(one, dict):
            return any(map(self._has_pictures, one.values()))
        return not (one is None or isinstance(one, (Known, Left)) or isinstance(one, Column) and not self._is_picture(one) and not self._is_sound(one))

    def _is_sound(self, of: Column) -> bool:
        return type(self._features[of.name]).__name__ == "Audio"

    # ---- expressions

    def _took(self, node: ast.AST, of: Any) -> Any:
        """What a dict has had by a key."""
        if not isinstance(of, ast.Subscript) or self._key(of) not in self._dict_of(of):
            self._no(node)
        return self._dict_of(of).pop(self._key(of))

    def _dict_of(self, node: ast.Subscript) -> dict[str, Any]:
        of = self._value(node.value)
        return of if isinstance(of, dict) else self._no(node)

    def _key(self, node: ast.Subscript) -> str:
        return self._text(node.slice)

    def _text(self, node: ast.expr) -> str:
        """A name that is known, as a constant or an object's, such as args.image_column."""
        key = self._value(node)
        return key.value if isinstance(key, Known) and isinstance(key.value, str) else self._no(node)

    def _name(self, node: ast.Name) -> Any:
        if node.id in self._names:
            return self._names[node.id]
        try:
            return Known(self._outside(node.id))
        except (KeyError, ValueError):  # a name of Python's own, and one that has no value yet
            return Known(getattr(builtins, node.id)) if hasattr(builtins, node.id) else self._no(node)

    def _constant(self, node: ast.Constant) -> Any:
        return Known(node.value)

    def _attribute(self, node: ast.Attribute) -> Any:
        of = self._value(node.value)
        if isinstance(of, Features) and node.attr in of:
            return of[node.attr]
        if isinstance(of, Known):
            return Known(getattr(of.value, node.attr)) if hasattr(of.value, node.attr) else self._no(node)
        return self._left(node, of.alone if isinstance(of, Left) else "")

    def _subscript(self, node: ast.Subscript) -> Any:
        of = self._value(node.value)
        key = self._known_key(node.slice)
        if isinstance(of, Row) and of.inside and key == Known("image"):
            return of._replace(inside=False)
        if isinstance(of, Known) and isinstance(key, Known) and type(of.value) in (dict, list, tuple):
            try:
                return Known(of.value[key.value])
            except LookupError:
                return self._no(node)
        if isinstance(of, dict) and isinstance(key, Known):
            return of[key.value] if key.value in of else self._no(node)
        return self._left(node, of.alone if isinstance(of, Left) and isinstance(key, Known) and isinstance(key.value, str) else "")

    def _dict(self, node: ast.Dict) -> Any:
        made: dict[str, Any] = {}
        for key, one in zip(node.keys, node.values):
            value = self._value(one)
            if key is not None:
                made[self._text(key)] = value
            elif isinstance(value, dict):
                made.update(value)
            else:
                self._no(node)
        return made

    def _listcomp(self, node: ast.ListComp) -> Any:
        """Of each value of a column."""
        of = node.generators[0]
        column = self._value(of.iter)
        plain = len(node.generators) == 1 and not of.ifs and not of.is_async and isinstance(of.target, ast.Name)
        if not isinstance(column, Column) or not plain or not isinstance(of.target, ast.Name):
            return self._left(node)
        before = dict(self._names)
        self._names[of.target.id] = Value(*column)
        try:
            if not self._is_picture(column):
                made: Any = None
            else:
                made = self._of_all(self._value(node.elt), node)
        finally:
            self._names = before
        return self._each(node, of.target.id, column) if made is None else made

    def _of_all(self, made: Any, node: ast.AST) -> Any:
        """Of all pictures what becomes of one."""
        if isinstance(made, Row) and not made.inside:
            return Rows(made.name, made.transform, self._place(node))
        return Column(made.name, made.converted) if isinstance(made, Value) and not made.array else self._no(node)

    def _each(self, node: ast.ListComp, name: str, column: Column) -> Any:
        """Of a column that is none of pictures: each value by itself, unless more than known objects are asked for."""
        if isinstance(node.elt, ast.Name) and node.elt.id == name:
            return self._left(node, column.name)
        others = [self._names[one.id] for one in ast.walk(node.elt) if isinstance(one, ast.Name) and one.id != name and one.id in self._names]
        return self._left(node, column.name if all(isinstance(one, Known) for one in others) else "")

    def _call(self, node: ast.Call) -> Any:
        function = node.func
        if isinstance(function, ast.Attribute) and isinstance(of := self._value(function.value), (dict, Value)):
            return self._method(node, of, function.attr)
        callee = self._value(function)
        if not isinstance(callee, Known):
            return self._left(node)
        if processors.is_processor(callee.value):
            return self._processed(node, callee.value)
        args, named = [self._value(one) for one in node.args], {one.arg: self._value(one.value) for one in node.keywords}
        if len(args) == 1 and not named and isinstance(args[0], Rows) and (_is(callee.value, "torch", "stack") or callee.value is list):
            return args[0]
        if len(args) == 1 and not named and isinstance(args[0], Value) and self._is_picture(args[0]):
            if _is(callee.value, "numpy", "array", "asarray"):
                return args[0]._replace(array=True)
            return self._transformed(node, args[0], callee.value) if not args[0].array else self._no(node)
        if not args and list(named) == ["image"] and isinstance(named["image"], Value) and named["image"].array and _is_albumentations(callee.value):
            return self._transformed(node, named["image"], callee.value)._replace(inside=True)
        if len(args) == 2 and not named and callee.value is map and isinstance(args[0], Known) and isinstance(args[1], Column) and self._is_picture(args[1]):
            return Rows(args[1].name, self._transformed(node, Value(*args[1]), args[0].value).transform, self._place(node))
        if callee.value is dict and not args and all(named):
            return named
        if tokens := rest.tokens(callee.value, args, named):
            return Tokens(self._left(node, tokens.alone), tokens.names)
        alone = ""
        if len(args) == 1 and not named and _is(callee.value, "torch", "tensor", "as_tensor"):
            alone = args[0].name if isinstance(args[0], Column) else args[0].alone if isinstance(args[0], Left) else ""
        return self._left(node, alone)

    def _method(self, node: ast.Call, of: Any, name: str) -> Any:
        if isinstance(of, Value) and not self._is_picture(of):
            return self._left(node)
        args = [self._value(one) for one in node.args]
        if node.keywords or len(args) != 1:
            return self._no(node)
        if isinstance(of, Value):
            if name != "convert" or args != [Known("RGB")] or of.array:
                return self._no(node)
            return of._replace(converted=True)
        if name == "pop" and isinstance(args[0], Known) and args[0].value in of:
            return of.pop(args[0].value)
        if name == "update" and isinstance(args[0], dict):
            return of.update(args[0])
        return self._no(node)

    def _is_picture(self, of: Any) -> bool:
        return type(self._features[of.name]).__name__ == "Image"

    def _transformed(self, node: ast.AST, picture: Value, transform: Any) -> Row:
        """Of pictures whose channels are known: their files may be of any mode."""
        mode = getattr(self._features[picture.name], "mode", None)
        if mode != "RGB" and picture.converted == (mode is not None) and not (mode is None and makes_rgb(transform)):
            self._refuse(node, f"{ast.unparse(node)[:120]!r} of pictures of {'any mode' if mode is None else f'mode {mode}'}, want image.convert(\"RGB\") in it, or "
                               f"dataset.cast_column({picture.name!r}, Image(mode=\"RGB\"))")
        return Row(picture.name, transform)

    def _processed(self, node: ast.Call, processor: Any) -> Any:
        named = {one.arg: self._value(one.value) for one in node.keywords}
        tensors = named.pop("return_tensors", Known(None))
        pictures = [self._value(one) for one in node.args] + [named.pop(name) for name in ("images",) if name in named]
        if named or len(pictures) != 1 or tensors not in (Known(None), Known("pt"), Known("np")):
            self._refuse(node, f"{ast.unparse(node)[:200]!r}, of other arguments than images and return_tensors=\"pt\"")
        of = pictures[0]
        if not isinstance(of, Column) or not self._is_picture(of):
            return self._no(node)
        mode = getattr(self._features[of.name], "mode", None)
        if mode not in (None, "RGB"):
            self._refuse(node, f"{ast.unparse(node)[:120]!r} of pictures of mode {mode}, want dataset.cast_column({of.name!r}, Image(mode=\"RGB\"))")
        if (names := processors.told(processor, f"transform[{of.name!r}]", []).prepared.names) != (KEY,):
            self._refuse(node, f"{ast.unparse(node)[:120]!r}, a processor that makes {', '.join(names)}, want dataset.with_format(None), and transform=processor of spdl.DataLoader, which makes them")
        return Features({KEY: Rows(of.name, processor, self._place(node))})


def _is(function: Any, module: str, *names: str) -> bool:
    """Whether it is one of these functions of a module's, if that is loaded."""
    return any(function is getattr(sys.modules.get(module), name, _is) for name in names)


def _is_albumentations(one: Any) -> bool:
    return any(cls.__module__.partition(".")[0] == "albumentations" for cls in type(one).__mro__)
