"""What is done to the numbers of a picture's row, or of a map of classes: mask.long(), mask / 255, mask[mask == 255] = 1, torch.from_numpy(mask).unsqueeze(0). The loop does it, by the same code, with whole batches."""

from __future__ import annotations

import ast
import copy
import operator
import sys
from collections.abc import Callable
from typing import Any, Optional

Known = Callable[[ast.expr], Any]
Each = Callable[[Any], Any]  # of a batch's rows

_BY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Lt: operator.lt, ast.LtE: operator.le,
}
_CASTS = ("long", "float", "int", "half", "double", "byte", "bool")  # tensors' methods
_MADE = {"torch": ("from_numpy", "as_tensor", "tensor", "FloatTensor", "LongTensor"), "numpy": ("array", "asarray", "float32", "uint8", "int64")}
_SHAPED = ("unsqueeze", "squeeze", "permute", "transpose", "repeat", "expand_dims")
_UNKNOWN = object()


def inner(node: ast.expr, known: Known) -> Optional[ast.expr]:
    """The array or tensor that an expression is of; None: it is another."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _BY:
        return node.left if isinstance(node.comparators[0], (ast.Constant, ast.UnaryOp)) else None
    if isinstance(node, ast.BinOp) and type(node.op) in _BY:
        return node.left if isinstance(node.right, (ast.Constant, ast.UnaryOp)) else None
    if not isinstance(node, ast.Call):
        return None
    if _made(node, known) or _transposes(node, known):
        return node.args[0]
    return node.func.value if isinstance(node.func, ast.Attribute) and node.func.attr in (*_CASTS, *_SHAPED, "astype", "to", "type", "contiguous") else None


def _made(node: ast.Call, known: Known) -> bool:
    """Whether a function of torch's or NumPy's makes an array of another."""
    function = known(node.func)
    return len(node.args) in (1, 2) and any(function is getattr(sys.modules.get(library), name, _UNKNOWN) for library, names in _MADE.items() for name in names)


def each(node: ast.expr, known: Known, refuse: Callable[[ast.AST], Any]) -> Each:
    """What an expression does to what it is of."""
    if isinstance(node, (ast.BinOp, ast.Compare)):
        by, right = (node.op, node.right) if isinstance(node, ast.BinOp) else (node.ops[0], node.comparators[0])
        one, number = _BY[type(by)], _number(right, refuse)
        return lambda rows: one(rows, number)
    if not isinstance(node, ast.Call):
        return refuse(node)
    made = _made(node, known)
    if name := _transposes(node, known):
        return _shaped(name, node, [*node.args[1:], *[one.value for one in node.keywords if one.arg in ("axis", "axes")]], known, refuse)
    if not made and isinstance(node.func, ast.Attribute) and node.func.attr in _SHAPED:
        return refuse(node) if node.keywords else _shaped(node.func.attr, node, node.args, known, refuse)
    args = [known(one) for one in (node.args[1:] if made else node.args)]
    named = {str(one.arg): known(one.value) for one in node.keywords}
    if any(not isinstance(one, (str, int, type)) and type(one).__name__ != "dtype" for one in (*args, *named.values())):
        return refuse(node)
    if made:
        function = known(node.func)
        return lambda rows: function(rows, *args, **named)
    assert isinstance(node.func, ast.Attribute)
    name = node.func.attr
    return lambda rows: getattr(rows, name)(*args, **named)


def by(operator_of_it: ast.operator) -> Optional[Callable[[Any, Any], Any]]:
    """What an operator does to numbers; None: it is another."""
    return _BY.get(type(operator_of_it))


def _transposes(node: ast.Call, known: Known) -> str:
    """The function of NumPy's that changes the axes of an array; "": it is another."""
    function, numpy = known(node.func), sys.modules.get("numpy")
    return next((name for name in ("transpose", "expand_dims") if len(node.args) + len(node.keywords) == 2 and node.args and function is getattr(numpy, name, _UNKNOWN)), "")


def _shaped(name: str, node: ast.Call, given: list[ast.expr], known: Known, refuse: Callable[[ast.AST], Any]) -> Each:
    """What changes axes, of which a batch has one more."""
    args: list[Any] = [tuple(map(known, one.elts)) if isinstance(one, ast.Tuple) else known(one) for one in given]
    axes = args[0] if len(args) == 1 and isinstance(args[0], tuple) else tuple(args)
    if not axes or not all(type(one) is int for one in axes) or name in ("unsqueeze", "squeeze", "expand_dims") and len(axes) > 1 or name == "repeat" and min(axes) < 0 or name in ("permute", "transpose") and sorted(axes) != list(range(max(len(axes), 3))):
        return refuse(node)
    if name == "repeat":
        return lambda rows: rows.repeat(1, *axes) if hasattr(rows, "unsqueeze") else sys.modules["numpy"].stack([one.repeat(*axes) for one in rows])
    axes = tuple([one + 1 if one >= 0 else one for one in axes])
    if name == "expand_dims":
        return lambda rows: sys.modules["numpy"].expand_dims(rows, axes)
    return lambda rows: getattr(rows, name)(*((0, *axes) if name in ("permute", "transpose") else axes))


def _number(node: ast.expr, refuse: Callable[[ast.AST], Any]) -> Any:
    try:
        number = ast.literal_eval(node)
    except ValueError:
        number = None
    return number if isinstance(number, (int, float)) else refuse(node)


def put(step: ast.stmt) -> Optional[tuple[str, Each]]:
    """mask[mask == 255] = 1: the name, and what it does; None: it is something else."""
    if not isinstance(step, ast.Assign) or len(step.targets) != 1 or not isinstance(target := step.targets[0], ast.Subscript) or not isinstance(target.value, ast.Name) \
            or not isinstance(where := target.slice, ast.Compare) or not isinstance(where.left, ast.Name) or where.left.id != target.value.id or len(where.ops) != 1 or type(where.ops[0]) not in _BY:
        return None
    try:
        by, than, value = _BY[type(where.ops[0])], ast.literal_eval(where.comparators[0]), ast.literal_eval(step.value)
    except ValueError:
        return None

    def changed(rows: Any) -> Any:
        rows = copy.copy(rows) if hasattr(rows, "astype") else rows.clone()
        rows[by(rows, than)] = value
        return rows

    return (target.value.id, changed) if isinstance(than, (int, float)) and isinstance(value, (int, float)) else None
