"""What a __getitem__ does with the numbers of a sample that is the same for a whole batch: it is tried with some samples, one by one and together."""

from __future__ import annotations

import operator
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Optional

from .numbered import Number

_EXACT = 1 << 53  # whole numbers below it are floats of 64 bits, too


class Other(Exception):
    """Why it is not the same, or not known to be."""


class Step(NamedTuple):
    """What makes a value of those of other steps, of a batch's rows."""

    made: Callable[..., Any]
    of: tuple[int, ...]


class Load(NamedTuple):
    """A step that takes a row of an array, or several."""

    source: Any  # an array or a list
    path: tuple[Any, ...]  # where in a list's sample it lies, by keys
    number: Number  # the row, or the first of them
    length: Optional[int]  # rows; None: one, without their axis
    name: str


class Item:
    """A value of each sample."""

    def __init__(self, at: int, ones: list[Any], rows: Any, own: bool = False, number: Optional[Number] = None, most: int = 0) -> None:
        self.at = at  # the step that makes it
        self.ones, self.rows = ones, rows  # of the samples that are tried: as code makes them of each, and as they are made of all together
        self.own = own  # whether its memory is no other's
        self.used = False  # whether another value was made of it, or something else may have it
        self.number = number  # where it is a whole number that all samples' are known of
        self.most = most  # the largest that it may be, where it is a whole number of Python's

    @property
    def kind(self) -> str:
        return kind_of(self.ones[0])

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.rows.shape[1:])


def kind_of(one: Any) -> str:
    """What a value is; "": nothing of which batches are made here."""
    import numpy

    if type(one) in (bool, int, float):
        return "number"
    if isinstance(one, numpy.generic):
        return "scalar"
    if isinstance(one, numpy.ndarray):
        return "array"
    if isinstance(one, list):
        return "list"
    return "tensor" if "torch" in sys.modules and isinstance(one, sys.modules["torch"].Tensor) else ""


def bits(one: Any) -> tuple[str, tuple[int, ...], bytes]:
    """Its type, its shape and its bytes."""
    import numpy

    if kind_of(one) == "tensor":
        torch = sys.modules["torch"]
        flat = one.detach().contiguous()
        return str(one.dtype).rpartition(".")[2], tuple(one.shape), (flat.view(torch.int16) if one.dtype == torch.bfloat16 else flat).numpy().tobytes()
    array = numpy.asarray(one)
    return array.dtype.str.lstrip("<|="), array.shape, array.tobytes()


class Program:
    """The steps that make a batch of what the engine brings."""

    def __init__(self, count: int) -> None:
        self.steps: list[Any] = []  # Loads and Steps
        self.count = count
        self.arrays: dict[int, Any] = {}  # of lists of numbers, by their ids
        self.kept: list[Any] = []  # these lists
        self.first: Optional[Item] = None  # that was loaded
        self.tried = sorted({n for n in (0, 1, 2, 5, count // 3, count // 2, count // 2 + 1, 2 * count // 3, count - 3, count - 2, count - 1) if 0 <= n < count})

    def load(self, one: Load, ones: list[Any], rows: Any, number: Optional[Number], most: int) -> Item:
        self.steps.append(one)
        made = Item(len(self.steps) - 1, ones, rows, number=number, most=most)
        self.first = self.first or made
        return made

    def step(self, items: Sequence[Item], one: Callable[..., Any], many: Callable[..., Any], own: bool = True, number: Optional[Number] = None, most: int = 0) -> Item:
        """A value of others. Raises Other where a batch's is not that of each sample, and what `one` raises of a sample."""
        for each in items:
            each.used = True
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ones = [one(*of) for of in zip(*[each.ones for each in items])]
                rows = many(*[each.rows for each in items])
        except Exception as error:
            raise Other(f"{type(error).__name__}: {error}") from None
        check(ones, rows)
        self.steps.append(Step(many, tuple([each.at for each in items])))
        return Item(len(self.steps) - 1, ones, rows, own and all(_apart(a, b) for a, b in zip(ones, items[0].ones)), number, most)

    def values(self, loaded: Mapping[int, Any], wanted: Sequence[int]) -> dict[int, Any]:
        """Those of some steps, of what is loaded by their numbers."""
        made: dict[int, Any] = dict(loaded)
        for at in sorted(self.needed(wanted)):
            if at not in made:
                made[at] = self.steps[at].made(*[made[one] for one in self.steps[at].of])
        return made

    def loads(self, wanted: Sequence[int]) -> dict[int, Load]:
        """Those of which some steps are made, in their order."""
        return {at: one for at in sorted(self.needed(wanted)) if isinstance(one := self.steps[at], Load)}

    def needed(self, wanted: Sequence[int]) -> set[int]:
        """Those steps, and all that they are made of."""
        found, left = set(), list(wanted)
        while left:
            at = left.pop()
            if at not in found:
                found.add(at)
                left += self.steps[at].of if isinstance(self.steps[at], Step) else ()
        return found


def _apart(one: Any, other: Any) -> bool:
    """Whether none of its memory is another's."""
    kinds = kind_of(one), kind_of(other)
    if not set(kinds) <= {"array", "tensor"}:
        return True
    import numpy

    pair = [each.detach() if kind == "tensor" else each for each, kind in zip((one, other), kinds)]
    if any(kind == "tensor" and each.dtype == sys.modules["torch"].bfloat16 for each, kind in zip(pair, kinds)):
        return False
    return not numpy.may_share_memory(*[each.numpy() if kind == "tensor" else each for each, kind in zip(pair, kinds)])


def check(ones: Sequence[Any], rows: Any) -> None:
    """Whether rows are these values, to the bit. Raises Other."""
    if not hasattr(rows, "shape") or len(rows) != len(ones):
        raise Other("which makes no row of each sample")
    for one, row in zip(ones, rows):
        kind = kind_of(one)
        if not kind:
            raise Other(f"which makes a {type(one).__qualname__}")
        if (kind == "tensor") != (kind_of(row) == "tensor"):
            raise Other("which makes arrays of tensors, or tensors of arrays")
        if bits(one) != bits(row):
            got, want = bits(row)[:2], bits(one)[:2]
            raise Other(f"which makes {list(want[1])} of {want[0]} of a sample, and {list(got[1])} of {got[0]} of a batch" if got != want else "whose numbers are others of a batch than of a sample")


# ---- operators

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {"Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv,
                                                   "Eq": operator.eq, "NotEq": operator.ne, "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge}
_WITHIN: dict[str, Callable[[Any, Any], Any]] = {"Add": operator.iadd, "Sub": operator.isub, "Mult": operator.imul, "Div": operator.itruediv}


def operated(program: Program, name: str, left: Any, right: Any) -> Item:
    """left + right and the like, of which one at least is an Item. Raises Other."""
    by = OPERATORS.get(name)
    if by is None:
        raise Other("an operator that is none of + - * / and comparisons")
    items = [one for one in (left, right) if isinstance(one, Item)]
    if len(items) == 2:
        if left.shape != right.shape or left.kind != right.kind or left.kind in ("number", "list"):
            raise Other("of two values of other shapes or kinds")
        return program.step(items, by, by)
    item, known = items[0], right if items[0] is left else left
    _check_known(item, known)
    most = _most(name, item, known)
    ahead = item is left
    return program.step(items, lambda one: by(one, known) if ahead else by(known, one), lambda rows: by(rows, known) if ahead else by(known, rows), number=_number(name, item, known, ahead), most=most)


def _check_known(item: Item, known: Any) -> None:
    """Whether a value that all samples have goes along the axes of each."""
    kind = kind_of(known)
    fits = {"number": ("number",), "scalar": ("number", "scalar", "array"), "array": ("number", "scalar", "array"), "tensor": ("number", "scalar", "tensor")}.get(item.kind, ())
    if kind not in fits:
        raise Other(f"of a {item.kind or 'value'} and a {type(known).__qualname__}")
    if len(getattr(known, "shape", ())) > len(item.shape):
        raise Other(f"of [{', '.join(map(str, item.shape))}] and {list(known.shape)}, which has more axes")
    if kind == "tensor" and (known.requires_grad or known.device.type != "cpu"):
        raise Other("of a tensor that requires grad, or is on a device")


def _most(name: str, item: Item, known: Any) -> int:
    """Of whole numbers of Python's, which have no end."""
    if item.kind != "number" or not any(isinstance(one, int) for one in (item.ones[0], known)):
        return 0
    size = abs(known) if isinstance(known, int) else 0
    if isinstance(item.ones[0], float):
        if size >= _EXACT:
            raise Other(f"of a whole number of {known}")
        return 0
    most = {"Add": item.most + size, "Sub": item.most + size, "Mult": item.most * size}.get(name, max(item.most, size))
    if most >= (_EXACT if name == "Div" or isinstance(known, float) else 1 << 62):
        raise Other("of whole numbers that may be larger than 64 bits, or than floats hold")
    return most


def _number(name: str, item: Item, known: Any, ahead: bool) -> Optional[Number]:
    """Of which sample's row it says, where it may say one."""
    import numpy

    if item.number is None or isinstance(known, (bool, float)) or not isinstance(known, (int, numpy.integer)) or name not in ("Add", "Sub", "Mult"):
        return None
    if name == "Mult":
        return item.number.times(int(known))
    by = item.number if name == "Add" or ahead else item.number.times(-1)
    return by.plus(-int(known) if name == "Sub" and ahead else int(known))


def within(program: Program, name: str, item: Item, known: Any) -> Item:
    """item += known and the like, of one whose memory is its own. Raises Other."""
    by = _WITHIN.get(name)
    if by is None or item.kind not in ("array", "tensor") or not item.own or item.used:
        raise Other("which writes into what may be the data set's own, or another value's, memory; x = x / 255 makes a new one")
    _check_known(item, known)
    return program.step([item], lambda one: by(one.copy() if kind_of(one) == "array" else one.clone(), known), lambda rows: by(rows.copy() if kind_of(rows) == "array" else rows.clone(), known))


def subscript(program: Program, item: Item, index: Any) -> Item:
    """x[1:], x[:, [0, 3]], x[None], of what all samples have. Raises Other."""
    import numpy

    several = index if isinstance(index, tuple) else (index,)
    advanced = [one for one in several if isinstance(one, (list, numpy.ndarray)) or kind_of(one) == "tensor"]
    plain = all(one is None or one is Ellipsis or isinstance(one, slice) or type(one) is int or isinstance(one, numpy.integer) for one in several if not any(one is each for each in advanced))
    if item.kind not in ("array", "tensor") or len(advanced) > 1 or not plain or advanced and not all(isinstance(one, slice) for one in several if one is not advanced[0]):
        raise Other("of an index that is not made of whole numbers, slices and None, or of slices and one list of numbers")
    if advanced and "bool" in str(numpy.asarray(advanced[0]).dtype):
        raise Other("of an index of truths, want numbers")
    of_one: tuple[Any, ...] = tuple([list(map(int, one)) if any(one is each for each in advanced) else one for one in several])
    of_all: tuple[Any, ...] = (slice(None), *of_one)
    return program.step([item], lambda one: one[of_one], lambda rows: rows[of_all], own=False)
