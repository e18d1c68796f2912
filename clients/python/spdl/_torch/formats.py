"""A function that a data set of Hugging Face's has as its format (set_transform, with_transform), whose code says all that it does: pictures go through a transform or an image processor, and columns are handed on."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, Optional

from .._errors import ArgumentError
from . import columns, processors, texts
from .huggingface import Samples
from .prepared import KEY
from .texts import Known
from .transforms import makes_rgb

_HAS = "has a function as its transform (set_transform, with_transform)"
_WANT = ("want it to be no more than batch[\"pixel_values\"] = [transform(image.convert(\"RGB\")) for image in batch[\"image\"]], or processor(batch[\"image\"], return_tensors=\"pt\"), and columns as they are; or "
         "dataset.with_format(None), and transform=Compose([...]), or an image processor, of spdl.DataLoader, which is its pictures'")


class _Unknown(Exception):
    """What a function does that cannot be told."""


class Own(NamedTuple):
    """What the arguments of a loader say of a data set, with its function's in the place of what was not given."""

    transform: Any
    fields: Any
    collate: Optional[Callable[[list[Any]], Any]]


def resolved(of: Samples, transform: Any, fields: Any, collate: Any) -> Own:
    """The transform of each column of pictures and the fields, as the data set's function says them. Raises ArgumentError where it does more."""
    form = of.dataset.format
    if form["type"] != "custom":
        return Own(transform, fields, collate)
    if transform is not None:
        of.refuse(f"{_HAS}, and transform= is given, want one of them: dataset.with_format(None){_remedies(of)}")
    try:
        outputs = _read(form["format_kwargs"].get("transform"), of)
    except _Unknown as error:
        of.refuse(f"{_HAS}, {error}, {_WANT}{_remedies(of)}")
    outputs.update({name: Column(name) for name in of.columns if form["output_all_columns"] and name not in form["columns"]})
    return _chosen(of, outputs, fields, collate)


def _remedies(of: Samples) -> str:
    objects = next((name for name, one in of.features.items() if isinstance(one, Mapping) and "bbox" in one), "")
    picture = next((name for name in of.features if _is_picture(of, name)), "image")
    sound = next((name for name, one in of.features.items() if type(one).__name__ == "Audio"), "")
    if sound:
        return f"; of sounds dataset.with_format(None), and transform={{{sound!r}: {{\"length\": \"10s\", \"shape\": \"padded\"}}}}, the section of a description (docs/audio.md)"
    return f"; of objects with boxes fields={dict(pixel_values=picture, labels=objects)} beside a processor of DETR's kin" if objects else ""


def _is_picture(of: Samples, name: str) -> bool:
    return type(of.features[name]).__name__ == "Image"


def _chosen(of: Samples, outputs: dict[str, Any], fields: Any, collate: Any) -> Own:
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
    keys = {key: one.name for key, one in made.items() if key not in pictures}
    own: Any = keys if form == "dict" else tuple(keys.values()) if form == "tuple" else next(iter(keys.values()))
    return Own(transforms or None, own, _without(pictures, collate) if pictures else collate)


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


class Column(NamedTuple):
    """The values of a column, of pictures with whether they were converted to RGB."""

    name: str
    converted: bool = False


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


class Features(dict[str, Any]):
    """What an image processor returns."""


def _read(function: Any, of: Samples) -> dict[str, Any]:
    """What samples have: a column, or rows of one."""
    function, first, given = texts.unwrapped(function)
    try:
        own = texts.parsed(function)
    except texts.Unread as error:
        raise _Unknown(str(error)) from None
    return _Reader(of, function, own, first, given).outputs()


class _Reader(texts.Reader):
    """Goes through the statements, one after the other, with what names stand for."""

    def __init__(self, of: Samples, function: Any, own: texts.Definition, first: tuple[Any, ...], given: Mapping[str, Any]) -> None:
        super().__init__(function, own)
        self._of = of
        self._names = self._arguments(first, given, {name: Column(name) for name in of.dataset.format["columns"]}, "a batch")

    def _refuse(self, node: ast.AST, what: str) -> NoReturn:
        raise _Unknown(f"{self._place(node)}: got {what}")

    def outputs(self) -> dict[str, Any]:
        *steps, last = [ast.Return(self._own.body)] if isinstance(self._own, ast.Lambda) else self._own.body
        for step in steps:
            self._step(step)
        outputs = self._value(last.value) if isinstance(last, ast.Return) and last.value is not None else None
        wrong = next((f"{name!r}: {one!r}" for name, one in outputs.items() if not isinstance(one, (Column, Rows))), "") if isinstance(outputs, dict) else ast.unparse(last)
        if not outputs or wrong:
            self._refuse(last, f"{wrong[:120]!r} at its end, no dict of columns and of what becomes of pictures")
        return dict(outputs)

    def _step(self, step: ast.stmt) -> None:
        if texts.is_import(step):
            return
        if isinstance(step, ast.Assign) and len(step.targets) == 1:
            target, value = step.targets[0], self._value(step.value)
            if isinstance(target, ast.Name):
                self._names[target.id] = value
                return
            if isinstance(target, ast.Subscript):
                self._dict_of(target)[self._key(target)] = value
                return
        if isinstance(step, ast.Delete):
            for one in step.targets:
                self._took(one, one)
            return
        if isinstance(step, ast.Expr) and isinstance(step.value, (ast.Constant, ast.Call)):
            self._value(step.value)  # its doc, or what takes a column away
            return
        self._other(step)

    def _took(self, node: ast.AST, of: Any) -> Any:
        """What a dict has had by a key."""
        if not isinstance(of, ast.Subscript) or self._key(of) not in self._dict_of(of):
            self._other(node)
        return self._dict_of(of).pop(self._key(of))

    def _dict_of(self, node: ast.Subscript) -> dict[str, Any]:
        of = self._value(node.value)
        return of if isinstance(of, dict) else self._other(node)

    def _key(self, node: ast.Subscript) -> str:
        return self._text(node.slice)

    def _text(self, node: ast.expr) -> str:
        """A name that is known, as a constant or an object's, such as args.image_column."""
        key = self._value(node)
        return key.value if isinstance(key, Known) and isinstance(key.value, str) else self._other(node)

    def _name(self, node: ast.Name) -> Any:
        if node.id in self._names:
            return self._names[node.id]
        try:
            return Known(self._outside(node.id))
        except (KeyError, ValueError):  # a name of Python's own, and one that has no value yet
            return self._other(node)

    def _constant(self, node: ast.Constant) -> Any:
        return Known(node.value)

    def _attribute(self, node: ast.Attribute) -> Any:
        of = self._value(node.value)
        if isinstance(of, Features) and node.attr in of:
            return of[node.attr]
        return Known(getattr(of.value, node.attr)) if isinstance(of, Known) and hasattr(of.value, node.attr) else self._other(node)

    def _subscript(self, node: ast.Subscript) -> Any:
        of, key = self._value(node.value), self._value(node.slice)
        if isinstance(of, Row) and of.inside and key == Known("image"):
            return of._replace(inside=False)
        if isinstance(of, Known) and isinstance(key, Known) and type(of.value) in (dict, list, tuple):
            try:
                return Known(of.value[key.value])
            except LookupError:
                return self._other(node)
        return of[key.value] if isinstance(of, dict) and isinstance(key, Known) and key.value in of else self._other(node)

    def _dict(self, node: ast.Dict) -> Any:
        made: dict[str, Any] = {}
        for key, one in zip(node.keys, node.values):
            value = self._value(one)
            if key is not None:
                made[self._text(key)] = value
            elif isinstance(value, dict):
                made.update(value)
            else:
                self._other(node)
        return made

    def _listcomp(self, node: ast.ListComp) -> Any:
        """Of each value of a column."""
        of = node.generators[0]
        column = self._value(of.iter)
        if len(node.generators) > 1 or of.ifs or of.is_async or not isinstance(of.target, ast.Name) or not isinstance(column, Column):
            return self._other(node)
        before = dict(self._names)
        self._names[of.target.id] = Value(*column)
        made = self._value(node.elt)
        self._names = before
        if isinstance(made, Row) and not made.inside:
            return Rows(made.name, made.transform)
        return Column(made.name, made.converted) if isinstance(made, Value) and not made.array else self._other(node)

    def _call(self, node: ast.Call) -> Any:
        function = node.func
        if isinstance(function, ast.Attribute) and isinstance(of := self._value(function.value), (dict, Value)):
            return self._method(node, of, function.attr)
        callee = self._value(function)
        if not isinstance(callee, Known):
            return self._other(node)
        if processors.is_processor(callee.value):
            return self._processed(node, callee.value)
        args, named = [self._value(one) for one in node.args], {one.arg: self._value(one.value) for one in node.keywords}
        if len(args) == 1 and not named and isinstance(args[0], Rows) and _is(callee.value, "torch", "stack"):
            return args[0]
        if len(args) == 1 and not named and isinstance(args[0], Value) and self._is_picture(args[0]):
            if _is(callee.value, "numpy", "array", "asarray"):
                return args[0]._replace(array=True)
            return self._transformed(node, args[0], callee.value) if not args[0].array else self._other(node)
        if not args and list(named) == ["image"] and isinstance(named["image"], Value) and named["image"].array and _is_albumentations(callee.value):
            return self._transformed(node, named["image"], callee.value)._replace(inside=True)
        return self._other(node)

    def _method(self, node: ast.Call, of: Any, name: str) -> Any:
        args = [self._value(one) for one in node.args]
        if node.keywords or len(args) != 1:
            return self._other(node)
        if isinstance(of, Value):
            if name != "convert" or args != [Known("RGB")] or not self._is_picture(of) or of.array:
                return self._other(node)
            return of._replace(converted=True)
        if name == "pop" and isinstance(args[0], Known) and args[0].value in of:
            return of.pop(args[0].value)
        if name == "update" and isinstance(args[0], dict):
            return of.update(args[0])
        return self._other(node)

    def _is_picture(self, of: Any) -> bool:
        return _is_picture(self._of, of.name)

    def _transformed(self, node: ast.AST, picture: Value, transform: Any) -> Row:
        """Of pictures whose channels are known: their files may be of any mode."""
        mode = getattr(self._of.features[picture.name], "mode", None)
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
            return self._other(node)
        mode = getattr(self._of.features[of.name], "mode", None)
        if mode not in (None, "RGB"):
            self._refuse(node, f"{ast.unparse(node)[:120]!r} of pictures of mode {mode}, want dataset.cast_column({of.name!r}, Image(mode=\"RGB\"))")
        if (names := processors.told(processor, f"transform[{of.name!r}]", []).prepared.names) != (KEY,):
            self._refuse(node, f"{ast.unparse(node)[:120]!r}, a processor that makes {', '.join(names)}, want dataset.with_format(None), and transform=processor of spdl.DataLoader, which makes them")
        return Features({KEY: Rows(of.name, processor)})


def _is(function: Any, module: str, *names: str) -> bool:
    """Whether it is one of these functions of a module's, if that is loaded."""
    return any(function is getattr(sys.modules.get(module), name, _is) for name in names)


def _is_albumentations(one: Any) -> bool:
    return any(cls.__module__.partition(".")[0] == "albumentations" for cls in type(one).__mro__)
