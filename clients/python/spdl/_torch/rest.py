"""What a function of batches does with columns that are no pictures: the loop does it, with each batch that it has."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, Optional

from .._errors import ArgumentError
from .kept import collated, without_tensors
from .texts import Known

_ALONE = (False, "max_length", "do_not_pad")  # of a tokenizer's padding, what makes as many tokens of a text as of it alone


_NONE = "which is of pictures, or of a kind that no batch has (docs/datasets.md#hugging-faces-data-sets), or has no text in some rows"


class Column(NamedTuple):
    """The values of a column, of pictures with whether they were converted to RGB."""

    name: str
    converted: bool = False


class Left:
    """An expression, or a statement, with what its names stand for there, and where names that are none of its own are looked for. A statement's value is a dict of names."""

    def __init__(self, node: ast.AST, names: Mapping[str, Any], outside: Callable[[str], Any], place: str, alone: str = "", text: str = "") -> None:
        self.place, self.text = place, text or ast.unparse(node)
        self.alone = alone  # the column of which it makes something of each value by itself; "": none
        self._names = {name: dict(one) if isinstance(one, dict) else one for name, one in names.items()}
        self._outside = outside
        self._free = sorted({one.id for one in ast.walk(node) if isinstance(one, ast.Name)} - set(names))
        self._is_one = isinstance(node, ast.expr)
        self.is_empty = isinstance(node, ast.List) and not node.elts  # [], as it is at first
        tree: Any = ast.Expression(node) if isinstance(node, ast.expr) else ast.Module([node], [])  # type: ignore[list-item]
        self._code = compile(tree, place.rpartition(":")[0], "eval" if self._is_one else "exec", dont_inherit=True)

    def named(self, name: str) -> Left:
        """What a statement gives a name to, or what a dict has by it."""
        return Left(ast.parse(f"names[{name!r}]", mode="eval").body, {"names": self}, self._outside, self.place, self.alone, self.text)

    def columns(self) -> set[str]:
        """Those that it may ask for: of a batch that it hands to a function all."""
        return {name for one in self._names.values() for name in _columns(one)}

    def value(self, batch: Batch) -> Any:
        """Of a batch's columns."""
        own = {name: batch.value(one, self.place) for name, one in self._names.items()}
        names: dict[str, Any] = {"__builtins__": builtins, **{name: one for name in self._free if (one := self._found(name)) is not self}, **own}
        made = eval(self._code, names)  # the program's own code, as it would run there
        for one in own.values():
            if isinstance(one, _Columns):
                one.check()
        return made if self._is_one else names

    def of_one(self, value: Any) -> Any:
        """What it makes of a value by itself."""
        return self.value(Batch({self.alone: [value]}))[0]

    def _found(self, name: str) -> Any:
        try:
            return self._outside(name)
        except (KeyError, ValueError):  # one of Python's, or that it gives to something
            return self


def _columns(one: Any) -> set[str]:
    if isinstance(one, dict):
        return {name for each in one.values() for name in _columns(each)}
    return {one.name} if isinstance(one, Column) else one.columns() if isinstance(one, Left) else set()


class Batch:
    """A batch's columns, and what was made of them."""

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        self._columns, self._made = columns, dict[int, Any]()

    def value(self, one: Any, place: str) -> Any:
        if isinstance(one, Known):
            return one.value
        if isinstance(one, Column):
            if one.name not in self._columns:
                raise ArgumentError(f"spdl: DataLoader: dataset: {f'{place}: ' if place else ''}asks for the column {one.name!r}, {_NONE}")
            return self._columns[one.name]
        if isinstance(one, Left):
            if id(one) not in self._made:
                self._made[id(one)] = one.value(self)
            return self._made[id(one)]
        there = {name: self.value(each, place) for name, each in one.items() if self._has(each)}
        return _Columns(there, [name for name in one if name not in there], place)

    def _has(self, one: Any) -> bool:
        return isinstance(one, (Known, Left)) or isinstance(one, Column) and one.name in self._columns


class _Columns(dict[str, Any]):
    """A batch as a function gets it that is called with it: pictures are not in it, which says so where they are asked for."""

    def __init__(self, there: Mapping[str, Any], gone: Sequence[str], place: str) -> None:
        super().__init__(there)
        self._gone, self._place, self._keys = gone, place, list(there)

    def _refuse(self, what: str) -> NoReturn:
        raise ArgumentError(f"spdl: DataLoader: dataset: {self._place}: {what}")

    def _all(self) -> None:
        if self._gone:
            self._refuse(f"goes through the columns of a batch, of which {', '.join(self._gone)} are not there, want it to ask for those that it needs by their names")

    def __missing__(self, key: str) -> NoReturn:
        if key in self._gone:
            self._refuse(f"asks the batch for {key!r}, {_NONE}; want what it does with pictures in the function itself: "
                         "batch[\"pixel_values\"] = [transform(image.convert(\"RGB\")) for image in batch[\"image\"]]")
        raise KeyError(key)

    def __iter__(self) -> Any:
        self._all()
        return super().__iter__()

    def __len__(self) -> int:
        self._all()
        return super().__len__()

    def keys(self) -> Any:
        self._all()
        return super().keys()

    def values(self) -> Any:
        self._all()
        return super().values()

    def items(self) -> Any:
        self._all()
        return super().items()

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self or key in self._gone else default

    def check(self) -> None:
        """Refuse what has changed it."""
        keys = list(dict.keys(self))
        if keys != self._keys:
            self._refuse(f"changes the batch, which has {', '.join(keys)} behind it, and had {', '.join(self._keys)}, want a function that returns what it makes: batch[\"input_ids\"] = tokens(batch[\"caption\"])")


class Program(NamedTuple):
    """What the loop does with each batch."""

    steps: Sequence[Left]  # in their order, whether anything is handed out of them or not
    outputs: Mapping[str, Any]  # Columns and Lefts, by their keys
    keys: Sequence[str]  # those of all that is handed out, pictures, too, in their order
    form: str  # as columns.wanted has it

    def columns(self) -> list[str]:
        return sorted({name for one in (*self.steps, *self.outputs.values()) for name in _columns(one)})

    def rows(self, columns: Mapping[str, Sequence[Any]], n: int) -> dict[str, list[Any]]:
        """What samples have, of columns of so many rows."""
        batch = Batch(columns)
        for step in self.steps:
            batch.value(step, step.place)
        return {key: _listed(key, batch.value(one, ""), n) for key, one in self.outputs.items()}


def _listed(key: str, made: Any, n: int) -> list[Any]:
    """A sample's each, as their __getitems__ takes them."""
    try:
        count = len(made)
    except TypeError:
        count = -1
    if count != n or isinstance(made, (Mapping, str)):
        raise ArgumentError(f"spdl: DataLoader: dataset: the function of set_transform makes {' '.join(repr(made).split()):.60} in {key!r} of {n} samples, want a list, or a tensor, of as many")
    return [made[i] for i in range(n)]


def together(rows: list[Any], arrays: bool) -> Any:
    """As torch's own collate has them."""
    if "torch" in sys.modules:
        return without_tensors(collated(rows)) if arrays else collated(rows)
    return sys.modules["numpy"].array(rows) if arrays and not isinstance(rows[0], str) else rows


class Tokens(NamedTuple):
    """What a tokenizer makes of texts."""

    names: list[str]
    alone: str  # the column of texts, if it makes the same of each by itself


def tokens(function: Any, args: Sequence[Any], named: Mapping[Any, Any]) -> Optional[Tokens]:
    """Of a call of a tokenizer of transformers', with a column of texts and objects that are known; it is asked for the names by a text of ours. None: it is no such call."""
    if not any(cls.__module__.startswith("transformers.") and cls.__qualname__ == "PreTrainedTokenizerBase" for cls in type(function).__mro__):
        return None
    given = {**dict(zip(("text",), args)), **named}
    text, known = given.pop("text", None), {name: one.value for name, one in given.items() if isinstance(one, Known)}
    alone = text.name if isinstance(text, Column) else text.alone if isinstance(text, Left) else None
    if len(args) > 1 or len(known) < len(given) or alone is None or known.get("return_overflowing_tokens"):
        return None
    return Tokens(list(function([" "], **known)), alone if known.get("padding", False) in _ALONE else "")
