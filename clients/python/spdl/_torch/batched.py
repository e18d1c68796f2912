"""Methods and functions of torch's and NumPy's by which a __getitem__ makes of a sample's numbers what is made of a batch's alike."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional

from .batchwise import Item, Other, Program, kind_of

_TORCHS = ("long", "float", "double", "int", "half", "short", "bool", "byte", "char", "bfloat16")  # tensors' methods that change their type
_SAME = ("copy", "clone", "detach", "contiguous", "numpy", "cpu", "abs")  # that are called alike
_SHAPES = ("reshape", "view", "flatten", "ravel", "squeeze", "unsqueeze")  # that leave the order of the numbers
ARITHMETIC = {"add": "Add", "sub": "Sub", "mul": "Mult", "div": "Div"}  # tensors' methods that are operators
_TENSORS = ("FloatTensor", "DoubleTensor", "LongTensor", "IntTensor", "ShortTensor", "ByteTensor", "BoolTensor", "HalfTensor", "Tensor")  # torch's old classes


def method(program: Program, item: Item, name: str, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """x.name(...), of arguments that all samples have. Raises Other."""
    of_tensors, kind = item.kind == "tensor", item.kind

    def call(one: Any) -> Any:
        return getattr(one, name)(*args, **named)
    if name == "item" and kind in ("scalar", "tensor", "array") and not args and not named:
        return _plain(program, item, call)
    if kind not in ("scalar", "array", "tensor"):
        raise Other(f"of a {kind}")
    if name == "astype" and not of_tensors:
        return program.step([item], call, call, number=item.number if _is_whole(item, args) else None)
    if name in _TORCHS and of_tensors and not args and not named or name in _SAME and not args and not named:
        return program.step([item], call, call, number=item.number if name == "long" else None)
    if name in ("to", "type", "type_as") and of_tensors:
        _check_to([*args, *named.values()])
        return program.step([item], call, call)
    if name in _SHAPES and not named and not any("dtype" in type(one).__name__ or isinstance(one, (str, type)) for one in args) and (of_tensors or name != "view"):
        return _shaped(program, item, call)
    if name in ("permute", "transpose", "swapaxes", "t") and not named:
        return _turned(program, item, name, args, call)
    if name in ("clamp", "clip") and all(isinstance(one, (int, float)) or one is None for one in (*args, *named.values())):
        return program.step([item], call, call)
    raise Other("")


def attribute(program: Program, item: Item, name: str) -> Any:
    """x.shape, which is a value that all samples have, or x.T; None: it is neither."""
    if name in ("shape", "ndim", "dtype") and item.kind in ("scalar", "array", "tensor"):
        return (getattr(item.ones[0], name),)
    if name in ("T", "mT") and item.kind in ("array", "tensor"):
        return _turned(program, item, name, (), lambda one: getattr(one, name))
    return None


def _is_whole(item: Item, args: Sequence[Any]) -> bool:
    """Whether it stays the whole number that it is."""
    import numpy

    return bool(args) and args[0] in (int, numpy.int64, "int64")


def _plain(program: Program, item: Item, call: Callable[[Any], Any]) -> Item:
    """As a number of Python's."""
    if item.shape:
        raise Other("of more than one number")
    name = str(item.rows.dtype).rpartition(".")[2]
    if name == "uint64":
        raise Other("of uint64, want int64")
    to = "bool" if name == "bool" else "int64" if "int" in name else "float64"
    return program.step([item], call, lambda rows: _array(rows).astype(to), number=item.number, most=_most(item, name))


def _most(item: Item, name: str) -> int:
    """The largest that a whole number of this type may be, but for its sign."""
    if item.kind == "number":
        return item.most
    if item.number is not None:
        return max(map(abs, item.number.ends()))
    return 1 if name == "bool" else (1 << int(name.lstrip("uint"))) - 1 if "int" in name else 0


def _check_to(given: Sequence[Any]) -> None:
    torch = sys.modules["torch"]
    if any(not isinstance(one, (torch.dtype, bool)) and str(one) != "cpu" for one in given):
        raise Other("to another place than the machine's memory, want a type alone: the loop moves batches to a device")


def _shaped(program: Program, item: Item, call: Callable[[Any], Any]) -> Item:
    """Other axes of the same numbers in the same order."""
    try:
        shape = tuple(call(item.ones[0]).shape)
    except Exception as error:
        raise Other(f"{type(error).__name__}: {error}") from None
    return program.step([item], call, lambda rows: rows.reshape((len(rows), *shape)), own=False)


def _turned(program: Program, item: Item, name: str, args: Sequence[Any], call: Callable[[Any], Any]) -> Item:
    """Axes in another order."""
    import numpy

    axes = len(item.shape)
    flat = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
    if not all(type(one) is int for one in flat):
        raise Other("")
    of_two = name == "swapaxes" or name == "transpose" and item.kind == "tensor"
    if of_two or name in ("t", "T", "mT") and item.kind == "tensor":
        pair = [one % axes for one in flat] if of_two else [axes - 2, axes - 1]
        if len(pair) != 2 or axes < 2:
            raise Other("")
        order = list(range(axes))
        order[pair[0]], order[pair[1]] = pair[1], pair[0]
        if name == "T" and axes != 2:
            raise Other("of more axes than two")
    else:
        order = [one % axes for one in flat] if flat else list(range(axes))[::-1]
    if sorted(order) != list(range(axes)):
        raise Other("")
    whole = (0, *[one + 1 for one in order])
    return program.step([item], call, lambda rows: rows.permute(whole) if kind_of(rows) == "tensor" else numpy.transpose(rows, whole), own=False)


def _array(rows: Any) -> Any:
    if kind_of(rows) != "tensor":
        return rows
    return rows.float().numpy() if "bfloat16" in str(rows.dtype) else rows.numpy()


# ---- functions


def function(program: Program, callee: Any, args: Sequence[Any], named: Mapping[str, Any]) -> Optional[Item]:
    """What a function makes of an Item, which is its first argument; None: it is none that is known here. Raises Other."""
    import numpy

    torch, name = sys.modules.get("torch"), getattr(callee, "__name__", "")
    first, rest = args[0], args[1:]
    if any(isinstance(one, Item) for one in (*rest, *named.values())):
        raise Other("of several values of a sample")

    def call(one: Any) -> Any:
        return callee(one, *rest, **named)
    if isinstance(first, (tuple, list)):
        return _joined(program, callee, first, rest, named)
    if torch is not None and any(callee is getattr(torch, each, None) for each in ("tensor", "as_tensor", "from_numpy", *_TENSORS)):
        if callee is torch.Tensor and not first.shape or not set(named) <= {"dtype"} or rest and not (name == "as_tensor" or callee is torch.tensor) or callee in (torch.tensor, torch.as_tensor) and len(rest) > (callee is torch.as_tensor):
            raise Other("")
        return _tensor(program, first, call, name)
    if callee in (numpy.array, numpy.asarray, numpy.ascontiguousarray) and set(named) <= {"dtype", "copy"} and len(rest) < 2:
        return _as(program, first, call, number=None)
    if isinstance(callee, type) and issubclass(callee, numpy.generic) and not rest and not named and first.kind in ("number", "scalar", "array", "list"):
        return _as(program, first, call, first.number if callee is numpy.int64 else None)
    if callee in (float, int, bool) and not rest and not named:
        return _number(program, first, callee)
    if callee in (numpy.expand_dims, numpy.squeeze, numpy.reshape, numpy.ravel) or torch is not None and callee in (torch.unsqueeze, torch.squeeze, torch.flatten, torch.reshape, torch.ravel):
        return _shaped(program, first, call) if first.kind in ("array", "tensor", "scalar") else None
    if callee is numpy.transpose and first.kind == "array" and not named:
        return _turned(program, first, "transpose", rest, call)
    if torch is not None and callee is torch.permute and first.kind == "tensor" and not named:
        return _turned(program, first, "permute", rest, call)
    return None


def _tensor(program: Program, item: Item, call: Callable[[Any], Any], name: str) -> Item:
    torch = sys.modules["torch"]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torch.tensor(tensor)
            dtype = call(item.ones[0]).dtype
    except Exception as error:
        raise Other(f"{type(error).__name__}: {error}") from None
    shares = name in ("from_numpy", "as_tensor")
    if item.kind == "tensor":
        return program.step([item], call, lambda rows: rows.to(dtype, copy=not shares))

    def many(rows: Any) -> Any:
        import numpy

        made = torch.from_numpy(rows if rows.flags.writeable or shares else numpy.array(rows))
        return made.to(dtype) if shares else made.to(dtype, copy=True)
    return program.step([item], call, many, number=item.number if not item.shape and item.kind == "number" else None)


def _as(program: Program, item: Item, call: Callable[[Any], Any], number: Any) -> Item:
    """As an array of NumPy's, or a number of it."""
    try:
        dtype = call(item.ones[0]).dtype
    except Exception as error:
        raise Other(f"{type(error).__name__}: {error}") from None
    return program.step([item], call, lambda rows: _array(rows).astype(dtype), number=number)


def _number(program: Program, item: Item, callee: Any) -> Item:
    kind, name = item.kind, str(item.rows.dtype).rpartition(".")[2]
    whole = name == "bool" or "int" in name and name != "uint64"
    if item.shape or kind == "list" or callee is int and not whole or callee is bool and name != "bool" or name == "uint64":
        raise Other(f"of {name}, want {'whole numbers' if callee is int else 'a number'}")
    to = {float: "float64", int: "int64", bool: "bool"}[callee]
    return program.step([item], lambda one: callee(one), lambda rows: _array(rows).astype(to), number=item.number if callee is int else None, most=_most(item, name) if callee is int else 0)


def _joined(program: Program, callee: Any, items: Sequence[Any], rest: Sequence[Any], named: Mapping[str, Any]) -> Optional[Item]:
    """torch.stack and torch.cat, and NumPy's of them."""
    import numpy

    torch = sys.modules.get("torch")
    of_torch = torch is not None and callee in (torch.stack, torch.cat)
    if callee in (numpy.array, numpy.asarray) or torch is not None and any(callee is getattr(torch, each, None) for each in ("tensor", "as_tensor", *_TENSORS)):
        return _of_numbers(program, callee, items, rest, named)
    if not of_torch and callee not in (numpy.stack, numpy.concatenate):
        return None
    if not items or not all(isinstance(one, Item) and one.kind == ("tensor" if of_torch else "array") for one in items):
        raise Other("of other values than a sample's tensors, or arrays, alone")
    axis = rest[0] if rest else named.get("dim" if of_torch else "axis", 0)
    if len(rest) > 1 or set(named) - {"dim", "axis"} or type(axis) is not int:
        raise Other("")
    at = axis + 1 if axis >= 0 else axis
    if len({str(one.rows.dtype) for one in items}) > 1:
        raise Other("of values of several types")
    return program.step(items, lambda *ones: callee(ones, axis), lambda *rows: callee(rows, at))


def _of_numbers(program: Program, callee: Any, items: Sequence[Any], rest: Sequence[Any], named: Mapping[str, Any]) -> Item:
    """torch.tensor([a, b]) of numbers."""
    import numpy

    if not items or not all(isinstance(one, Item) and not one.shape and one.kind != "list" for one in items) or len({str(one.rows.dtype).rpartition(".")[2] for one in items}) > 1:
        raise Other("of other values than a sample's numbers of one type")
    try:
        made = callee([one.ones[0] for one in items], *rest, **named)
    except Exception as error:
        raise Other(f"{type(error).__name__}: {error}") from None
    torch = sys.modules.get("torch")

    def many(*rows: Any) -> Any:
        whole = numpy.stack([_array(each) for each in rows], 1)
        return whole.astype(made.dtype) if torch is None or not isinstance(made, torch.Tensor) else torch.from_numpy(whole).to(made.dtype)
    return program.step(items, lambda *ones: callee(list(ones), *rest, **named), many)
