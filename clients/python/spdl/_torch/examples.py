"""Functions that a streamed data set of Hugging Face's maps its examples by: what they do with pictures is the engine's, and what they do with one other value the loop calls."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Optional

from . import mapped, texts
from .annotated import Unknown
from .called import Called
from .features import FLOATS, WHOLE
from .mapped import Part
from .transforms import makes_rgb

NUMBERS = (*WHOLE, *FLOATS, "bool")
_WANT = ("want pictures that go through transforms, and other columns that go through functions, each by itself: example[\"pixel_values\"] = transform(example[\"image\"].convert(\"RGB\")), example[\"label\"] = example[\"label\"] - 1; "
         "return example; with remove_columns=[\"image\"]; and in the loop what it does to whole batches")


_WANT_OF_FILTERS = ("want columns of numbers compared with numbers that are known, with and, or and not: lambda example: example[\"label\"] in (1, 5) and example[\"width\"] >= 256; what else is left out is left out in the loop")


class Columns(NamedTuple):
    """What examples have behind all maps and filters."""

    features: dict[str, Any]
    names: dict[str, str]  # of the columns that they are made of
    transforms: dict[str, Any]  # of pictures
    calls: dict[str, Called]  # of other columns
    filter: str  # what is asked of columns, as order.filter has it; "": nothing
    asked: dict[str, str]  # the columns that it is asked of, by their names there


class Examples:
    """What is known of examples, from the innermost map on."""

    def __init__(self, features: Mapping[str, Any]) -> None:
        self._features = dict(features)
        self._values: dict[str, Part] = {name: Part((name,)) for name in features}
        self._chosen: list[str] = []
        self._asked: dict[str, str] = {}

    def select(self, names: Sequence[str]) -> None:
        self._values = {name: self._values[name] for name in names}

    def rename(self, mapping: Mapping[str, str]) -> None:
        self._values = {mapping.get(name, name): part for name, part in self._values.items()}

    def remove(self, names: Optional[Sequence[str]]) -> None:
        self._values = {name: part for name, part in self._values.items() if name not in (names or ())}

    def map(self, function: Any, given: Mapping[str, Any], gone: Optional[Sequence[str]]) -> None:
        """By a function of one example. Raises Unknown, with the line and what was wrong there."""
        before = dict(self._values)
        made = _read(functools.partial(function, **given) if given else function, before, self._features)
        self.remove(gone)
        own = made.sample if isinstance(made.sample, dict) else {}
        self._values.update({name: part for name, part in own.items() if not made.same or name not in (gone or ())})

    def filter(self, function: Any, given: Mapping[str, Any]) -> None:
        """By a function of one example. Raises Unknown likewise."""
        reader = _prepared(functools.partial(function, **given) if given else function, dict(self._values), self._features, self._asked)
        reader.WANT = _WANT_OF_FILTERS
        self._chosen.append(reader.chosen())

    def columns(self) -> Columns:
        """Raises Unknown."""
        features, names, transforms, calls = {}, {}, {}, {}
        through = [part.names for part in self._values.values() if part.functions and self._is_picture(part)]
        twice = next((of for of in through if through.count(of) > 1), None)
        if twice is not None:
            raise Unknown(f"makes two tensors of {twice[0]!r}, want one of each column of pictures; a description takes a column as two fields, each with its transform (docs/recipes.md)")
        for name, part in self._values.items():
            features[name], names[name] = self._features[part.names[0]], part.names[0]
            functions = [function for _, function in part.functions]
            if functions and self._is_picture(part):
                transforms[name] = functions[0] if len(functions) == 1 else functions
            elif functions and (type(features[name]).__name__ == "ClassLabel" or type(features[name]).__name__ == "Value"):
                calls[name] = Called(functions)
            elif functions:
                raise Unknown(f"{part.functions[0][0]}: calls a function with {name!r}, which is of {type(features[name]).__name__}, want it of a number or a text, and of others in the loop")
        return Columns(features, names, transforms, calls, " && ".join(self._chosen), self._asked)

    def _is_picture(self, part: Part) -> bool:
        return _is_picture(self._features, part)


def _is_picture(features: Mapping[str, Any], part: Part) -> bool:
    return type(features[part.names[0]]).__name__ == "Image"


def _read(function: Any, values: dict[str, Part], features: Mapping[str, Any]) -> mapped.Made:
    return _prepared(function, values, features, {}).made()


def _prepared(function: Any, values: dict[str, Part], features: Mapping[str, Any], asked: dict[str, str]) -> _Reader:
    function, first, given = texts.unwrapped(function, objects=True)
    try:
        own = texts.parsed(function)
    except texts.Unread as error:
        raise Unknown(f"{error}, {_WANT}") from None
    return _Reader(function, own, first, given, values, features, asked)


class _Reader(mapped.Reader):
    """Of a function of an example."""

    WANT = _WANT

    def __init__(self, function: Any, own: texts.Definition, first: tuple[Any, ...], given: Mapping[str, Any], values: dict[str, Part], features: Mapping[str, Any], asked: dict[str, str]) -> None:
        super().__init__(function, own, first, given, values, None, True, False)
        self._features, self._asked = features, asked

    def made(self) -> mapped.Made:
        made = super().made()
        if not isinstance(made.sample, dict):
            self._refuse(self._own, "a tuple at its end", _WANT)
        return made

    def _method(self, node: ast.Call, of: Any, name: str) -> Any:
        if name == "convert" and isinstance(of, Part) and not of.functions and _is_picture(self._features, of) and [ast.unparse(one) for one in node.args] == ["'RGB'"] and not node.keywords:
            return of._replace(own=True)
        if name == "update" and isinstance(of, dict) and len(node.args) == 1 and isinstance(more := self._value(node.args[0]), dict):
            return of.update(more)
        return super()._method(node, of, name)

    def _condition(self, node: ast.expr) -> str:
        if not isinstance(node, (ast.BoolOp, ast.UnaryOp, ast.Compare)):
            return f"({self._side(self._value(node), node, False)} != 0)"  # of a bool
        return super()._condition(node)

    def _side(self, one: Any, node: ast.AST, many: bool) -> str:
        """A column of numbers, or a number."""
        if isinstance(one, Part) and not many and not one.functions and (feature := self._features[one.names[0]]) is not None and getattr(feature, "dtype", "") in NUMBERS:
            names = {column: name for name, column in self._asked.items()}
            name = names.get(one.names[0], f"spdl_asked{len(names)}")
            self._asked[name] = one.names[0]
            return name
        value = one.value if isinstance(one, texts.Known) else None
        if not many and type(value) in (int, float, bool):
            return str(int(value) if isinstance(value, bool) else value)
        return self._other(node) if isinstance(one, Part) or not many else super()._side(one, node, many)

    def _with(self, part: Part, node: ast.AST, function: Callable[[Any], Any]) -> Part:
        if _is_picture(self._features, part) and not part.functions:
            mode = getattr(self._features[part.names[0]], "mode", None)
            if mode != "RGB" and part.own == (mode is not None) and not (mode is None and makes_rgb(function)):
                self._refuse(node, f"{ast.unparse(node)[:120]!r} of pictures of {'any mode' if mode is None else f'mode {mode}'}", "want image.convert(\"RGB\") in it, or "
                             f"dataset.cast_column({part.names[0]!r}, Image(mode=\"RGB\"))")
        return super()._with(part, node, function)
