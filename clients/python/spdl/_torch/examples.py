"""Functions that a streamed data set of Hugging Face's maps its examples by: what they do with pictures is the engine's, and what they do with one other value the loop calls."""

from __future__ import annotations

import ast
import functools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Optional

from . import formats, mapped, texts
from .annotated import Unknown
from .called import Called
from .features import FLOATS, TEXTS, WHOLE
from .formats import Rows
from .mapped import Part
from .rest import Column, Left
from .transforms import makes_rgb

NUMBERS = (*WHOLE, *FLOATS, "bool")
_WANT = ("want pictures that go through transforms, and other columns that go through functions, each by itself: example[\"pixel_values\"] = transform(example[\"image\"].convert(\"RGB\")), example[\"label\"] = example[\"label\"] - 1; "
         "return example; with remove_columns=[\"image\"]; and in the loop what it does to whole batches")


_WANT_OF_FILTERS = ("want columns of numbers and texts compared with such that are known, with and, or and not: lambda example: example[\"label\"] in (1, 5) and len(example[\"caption\"]) > 3 and \"cat\" in example[\"caption\"]; "
                    "what else is left out is left out in the loop")
_WANT_OF_BATCHES = ("want it to do no more with pictures than batch[\"pixel_values\"] = [transform(image.convert(\"RGB\")) for image in batch[\"image\"]], and of other columns no more than what makes something of each value by itself: "
                    "[function(text) for text in batch[\"caption\"]], or a tokenizer with padding=\"max_length\"")
_BEGINNINGS = {"startswith": "startsWith", "endswith": "endsWith"}
_AS_IT_IS = object()  # in the place of the transform of what went through one


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

    def map(self, function: Any, given: Mapping[str, Any], gone: Optional[Sequence[str]], alone: Optional[Sequence[str]] = None) -> None:
        """By a function of one example, or, alone, of these columns of it. Raises Unknown, with the line and what was wrong there."""
        before = dict(self._values)
        made = _prepared(functools.partial(function, **given) if given else function, before, self._features, {}, alone).made()
        self.remove(gone)
        own = made.sample if isinstance(made.sample, dict) else {}
        self._values.update({name: part for name, part in own.items() if not made.same or name not in (gone or ())})

    def map_batches(self, function: Any, given: Mapping[str, Any], gone: Optional[Sequence[str]], alone: Optional[Sequence[str]] = None) -> None:
        """By a function of some examples, which may make of each what it makes of it by itself. Raises Unknown likewise."""
        try:
            function, own, first, known = texts.called(functools.partial(function, **given) if given else function)
        except texts.Unread as error:
            raise Unknown(f"{error}, {_WANT_OF_BATCHES}") from None
        batch: dict[str, Any] = {name: Rows(name, _AS_IT_IS) if part.functions and self._is_picture(part) else Column(name, part.own) for name, part in self._values.items()}
        features = {name: self._features[part.names[0]] for name, part in self._values.items()}
        try:
            reader = formats.Reader(features, function, own, first, known, [batch] if alone is None else [batch[name] for name in alone])
            made, same = reader.outputs(), reader.same(batch)
            wrong = next((one for one in reader.steps if not one.alone), None)
            if wrong is not None:
                raise Unknown(f"{wrong.place}: got {wrong.text!r:.80}, which is of a whole batch")
        except Unknown as error:
            raise Unknown(f"{error}, {_WANT_OF_BATCHES}") from None
        before = dict(self._values)
        self.remove(gone)
        self._values.update({name: _part(one, before) for name, one in made.items() if not same or name not in (gone or ())})

    def filter(self, function: Any, given: Mapping[str, Any], alone: Optional[Sequence[str]] = None) -> None:
        """By a function of one example, or, alone, of these columns of it. Raises Unknown likewise."""
        reader = _prepared(functools.partial(function, **given) if given else function, dict(self._values), self._features, self._asked, alone)
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


def _part(one: Any, before: Mapping[str, Part]) -> Part:
    """What became of a column of a batch, of one example."""
    if isinstance(one, Left):
        of = before[one.alone]
        return of._replace(functions=(*of.functions, (one.place, one.of_one)))
    of = before[one.name]
    if isinstance(one, Column):
        return of._replace(own=one.converted)
    return of if one.transform is _AS_IT_IS else of._replace(functions=(*of.functions, (one.place, one.transform)))


def _prepared(function: Any, values: dict[str, Part], features: Mapping[str, Any], asked: dict[str, str], alone: Optional[Sequence[str]]) -> _Reader:
    try:
        function, own, first, given = texts.called(function)
    except texts.Unread as error:
        raise Unknown(f"{error}, {_WANT}") from None
    return _Reader(function, own, first, given, values, features, asked, alone)


class Length(NamedTuple):
    """How many letters a text has."""

    of: Part


def _quoted(text: str) -> str:
    """As the engine's expressions have texts."""
    return json.dumps(text, ensure_ascii=False)


class _Reader(mapped.Reader):
    """Of a function of an example."""

    WANT = _WANT

    def __init__(self, function: Any, own: texts.Definition, first: tuple[Any, ...], given: Mapping[str, Any], values: dict[str, Part], features: Mapping[str, Any], asked: dict[str, str], alone: Optional[Sequence[str]]) -> None:
        self._alone = alone
        super().__init__(function, own, first, given, values, None, True, False)
        self._features, self._asked = features, asked

    def _called_with(self) -> list[Any]:
        return super()._called_with() if self._alone is None else [self._sample[name] for name in self._alone]  # type: ignore[call-overload]

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
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _BEGINNINGS:
            return f"({self._text(node.func.value)} {_BEGINNINGS[node.func.attr]} {self._known_text(node)})"
        if not isinstance(node, (ast.BoolOp, ast.UnaryOp, ast.Compare)):
            one = self._value(node)
            return f"({self._side(one, node, False)} != {0 if not isinstance(one, Part) or not self._is_text(one) else _quoted('')})"  # of a bool
        if isinstance(node, ast.Compare) and any(isinstance(one, (ast.Is, ast.IsNot)) for one in node.ops):
            self._refuse(node, repr(ast.unparse(node)[:80]), "want no question for None: null is an empty text here, and, of numbers, an error; leave such rows out where the files are written, or in the loop")
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)) and isinstance(part := self._value(node.comparators[0]), Part):
            return f"{'!' if isinstance(node.ops[0], ast.NotIn) else ''}({self._text(node.comparators[0])} contains {self._side(self._value(node.left), node.left, False)})" if self._is_text(part) else self._other(node)
        return super()._condition(node)

    def _call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id == "len" and node.func.id not in self._names and len(node.args) == 1 and isinstance(one := self._value(node.args[0]), Part) and self._is_text(one) and self.WANT is _WANT_OF_FILTERS:
            return Length(one)
        return super()._call(node)

    def _is_text(self, one: Part) -> bool:
        return not one.functions and getattr(self._features[one.names[0]], "dtype", "") in TEXTS

    def _text(self, node: ast.expr) -> str:
        """A column of texts, as the engine has it."""
        one = self._value(node)
        return self._side(one, node, False) if isinstance(one, Part) and self._is_text(one) else self._other(node)

    def _known_text(self, node: ast.Call) -> str:
        args = [self._value(one) for one in node.args]
        return _quoted(args[0].value) if len(args) == 1 and not node.keywords and isinstance(args[0], texts.Known) and isinstance(args[0].value, str) else self._other(node)

    def _side(self, one: Any, node: ast.AST, many: bool) -> str:
        """A column of numbers or of texts, how long its texts are, or a number, a text, or several."""
        if isinstance(one, Length) and not many:
            return f'len(split({self._side(one.of, node, False)}, ""))'  # in letters, where len alone counts bytes
        if isinstance(one, Part) and not many and not one.functions and getattr(self._features[one.names[0]], "dtype", "") in (*NUMBERS, *TEXTS):
            names = {column: name for name, column in self._asked.items()}
            name = names.get(one.names[0], f"spdl_asked{len(names)}")
            self._asked[name] = one.names[0]
            return name
        value = one.value if isinstance(one, texts.Known) else tuple([each.value if isinstance(each, texts.Known) else None for each in one]) if type(one) is tuple else None
        if not many and type(value) in (int, float, bool):
            return str(int(value) if isinstance(value, bool) else value)
        if not many and type(value) is str:
            return _quoted(value)
        if many and isinstance(value, (tuple, list, set, frozenset)) and value and all(type(each) is str for each in value):
            return f"[{', '.join(map(_quoted, value))}]"
        return self._other(node) if isinstance(one, Part) or not many else super()._side(one, node, many)

    def _with(self, part: Part, node: ast.AST, function: Callable[[Any], Any]) -> Part:
        if _is_picture(self._features, part) and not part.functions:
            mode = getattr(self._features[part.names[0]], "mode", None)
            if mode != "RGB" and part.own == (mode is not None) and not (mode is None and makes_rgb(function)):
                self._refuse(node, f"{ast.unparse(node)[:120]!r} of pictures of {'any mode' if mode is None else f'mode {mode}'}", "want image.convert(\"RGB\") in it, or "
                             f"dataset.cast_column({part.names[0]!r}, Image(mode=\"RGB\"))")
        return super()._with(part, node, function)
