"""Columns of Hugging Face's data sets: what each of their features is in a batch, and how long the texts and lists of a column are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, NoReturn, Optional, Union

WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
TEXTS = ("string", "large_string")
_LISTS = ("Sequence", "List", "LargeList")
_GRIDS = ("Array2D", "Array3D", "Array4D", "Array5D")
_LEAVE = "leave its column out: fields=[...] names those that are wanted, dataset.remove_columns([...]) those that are not"


class Unknown(Exception):
    """A feature that has no equal here, and the remedy."""


class Leaf(NamedTuple):
    """What a column has, or a member of its structs."""

    path: tuple[str, ...]  # the column and the members, as the data set calls them
    kind: str  # "image", "audio", "number", "text" or "list"
    dtype: str = ""  # of numbers and lists, as the feature has it
    feature: Any = None  # of media and of classes
    shape: Optional[tuple[Optional[int], ...]] = None  # of lists whose feature says it

    @property
    def column(self) -> str:
        return self.path[0]

    @property
    def shown(self) -> str:
        return ".".join(self.path)


Tree = Union[Leaf, dict[str, "Tree"]]


class Records(dict[str, "Tree"]):
    """What a list of structs has, by their members: lists here, where a sample of theirs has a struct each."""

    @staticmethod
    def listed(lists: dict[str, Any]) -> list[dict[str, Any]]:
        """A sample's lists as its structs."""
        return [dict(zip(lists, members)) for members in zip(*lists.values())]


def tree(feature: Any, *path: str) -> Tree:
    """What a feature is, by the name of its class. Raises Unknown."""
    name = type(feature).__name__
    if isinstance(feature, Mapping):
        return {key: tree(one, *path, key) for key, one in feature.items()}
    if name in _LISTS or isinstance(feature, list):
        listed = _listed(feature[0] if isinstance(feature, list) else feature.feature, path)
        length = getattr(feature, "length", -1)
        if isinstance(listed, dict) and name != "Sequence":  # which has had lists of members, and is such by now
            return Records(listed)
        if isinstance(listed, Leaf) and length is not None and length > 0 and type(getattr(feature, "feature", None)).__name__ in ("Value", "ClassLabel"):
            return listed._replace(shape=(length,))
        return listed
    if name in _GRIDS:
        return Leaf(path, "list", feature.dtype, shape=tuple(feature.shape))
    if name == "ClassLabel":
        return Leaf(path, "number", "int64", feature)
    if name in ("Image", "Audio"):
        return Leaf(path, name.lower(), feature=feature)
    if name == "Translation":
        return {language: Leaf((*path, language), "text") for language in feature.languages}
    if name == "Value" and feature.dtype in TEXTS:
        return Leaf(path, "text")
    if name == "Value" and feature.dtype in (*WHOLE, *FLOATS, "bool"):
        return Leaf(path, "number", feature.dtype)
    _refuse(path, feature, {
        "Value": "texts, numbers and bool", "Video": "a description with a section video (docs/recipes.md)", "Pdf": "pictures of its pages"}.get(name, "Image, Audio, ClassLabel, Value and lists of numbers"))


def _listed(inner: Any, path: tuple[str, ...]) -> Tree:
    """A list: of numbers, or of lists of them, or of structs of such."""
    if isinstance(inner, Mapping):
        return {key: _listed(one, (*path, key)) for key, one in inner.items()}
    of = tree(inner, *path)
    if isinstance(of, dict) or of.kind not in ("number", "list") or of.shape is not None and None in of.shape:
        _refuse(path, inner, "lists of numbers; several pictures a sample are image: {many: N} of a description (docs/sources.md#several-pictures)", "a list of ")
    return Leaf(path, "list", of.dtype)


def _refuse(path: tuple[str, ...], feature: Any, want: str, of: str = "") -> NoReturn:
    raise Unknown(f"features[{'.'.join(path)!r}]: got {of}{' '.join(repr(feature).split()):.100}, want {want}; {_LEAVE}")


def leaves(tree: Tree) -> Iterator[Leaf]:
    if isinstance(tree, Leaf):
        yield tree
        return
    for one in tree.values():
        yield from leaves(one)


# ---- what Arrow's columns hold


def values(column: Any, leaf: Leaf) -> Iterator[Any]:
    """Arrow's array of each chunk, up to the first list, and the members that are left behind it."""
    for chunk in column.chunks:
        array, members = getattr(chunk, "storage", chunk), list(leaf.path[1:])
        while members and _is_struct(array):
            array = array.field(members.pop(0))
        yield array, members


def _is_struct(array: Any) -> bool:
    return str(array.type).startswith("struct<")


def _is_list(array: Any) -> bool:
    return hasattr(array, "flatten") and not _is_struct(array)


def longest_text(column: Any, leaf: Leaf) -> int:
    """Bytes of the longest text."""
    import pyarrow.compute  # which whoever has such a column has loaded

    return max([pyarrow.compute.max(pyarrow.compute.binary_length(array)).as_py() or 0 for array, _ in values(column, leaf)], default=0)


def nulls(column: Any, leaf: Leaf, numbers: Any) -> int:
    """How many of the rows of these numbers, None: of all, have no text."""
    import numpy

    each = [array.is_null().to_numpy(zero_copy_only=False) if array.null_count else numpy.zeros(len(array), bool) for array, _ in values(column, leaf)]
    all = numpy.concatenate(each) if each else numpy.zeros(0, bool)
    return int(all.sum() if numbers is None else all[numbers].sum())


def lengths(column: Any, leaf: Leaf, numbers: Any) -> list[tuple[int, int]]:
    """Of lists, and of lists in these, the shortest and the longest; of the outermost those of the rows of these numbers, None: of all."""
    import numpy

    if leaf.shape is not None and None not in leaf.shape:
        return [(n, n) for n in leaf.shape if n is not None]
    found: list[list[Any]] = []
    for array, members in values(column, leaf):
        depth = 0
        while _is_list(array) or members and _is_struct(array):
            if _is_struct(array):
                array = array.field(members.pop(0))
                continue
            found += [[]] if len(found) == depth else []
            found[depth].append(_lengths(array))
            array, depth = array.flatten(), depth + 1
    all = [numpy.concatenate(each) for each in found]
    if numbers is not None and all:
        all[0] = all[0][numbers]
    return [(int(each.min()), int(each.max())) if len(each) else (0, 0) for each in all]


def _lengths(array: Any) -> Any:
    """How long each list of an array is; 0 of one that is null."""
    import numpy

    size = getattr(array.type, "list_size", None)
    return numpy.full(len(array), size) if size is not None else array.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)


def has_bytes(column: Any, leaf: Leaf, numbers: Any) -> Any:
    """Which of the rows have their media in them, NumPy's bools; the others have a path."""
    import numpy

    each = [array.field("bytes").is_valid().to_numpy(zero_copy_only=False) for array, _ in values(column, leaf)]
    all = numpy.concatenate(each) if each else numpy.zeros(0, bool)
    return all if numbers is None else all[numbers]


def member(value: Any, names: tuple[str, ...]) -> Any:
    """A member of a struct, or of each struct in a list."""
    if value is None or not names:
        return value
    if isinstance(value, list):
        return [member(one, names) for one in value]
    return member(value[names[0]], names[1:])
