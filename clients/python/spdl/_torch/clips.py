"""Frames of a video in arrays and tensors, as a reader hands them out: their axes, and what goes through a transform, all of them or each by itself."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from typing import Any, Optional

Known = Callable[[ast.expr], Any]

WANT = ("want of frames that code names axes moved (permute, torch.from_numpy), numbers scaled (.float() / 255), a transform of v2 for a tensor [T, C, H, W], or what is done to each of them alike, "
        "torch.stack([transform(Image.fromarray(one)) for one in frames]) (docs/own-datasets.md#decord-pyav-and-opencv)")
TENSORS = "want tensors of bytes [T, C, H, W] for a transform of torchvision's v2: torch.from_numpy(frames).permute(0, 3, 1, 2); or pictures one by one, [transform(Image.fromarray(one)) for one in frames]"
EACH = "want frames that go through a transform one by one in one tensor again: torch.stack([transform(Image.fromarray(one)) for one in frames])"
FLOATS = "want transforms of v2 ahead of what makes floats of bytes, or that among them: v2.ToDtype(torch.float32, scale=True)"
STILL = "draws, for each frame by itself where these go through it one by one, and the engine draws once for all frames; want a transform of v2 for all at once, which does so, too: transform(torch.from_numpy(frames).permute(0, 3, 1, 2))"
_LAYOUTS = ("THWC", "TCHW", "CTHW", "HWC", "CHW")
_FUNCTIONS = {"torch": ("from_numpy", "as_tensor", "tensor"), "numpy": ("array", "asarray", "ascontiguousarray", "transpose")}
_METHODS = {True: ("copy", "transpose"), False: ("contiguous", "clone", "byte", "numpy", "permute", "transpose")}  # of arrays, and of tensors


def inner(node: ast.Call, known: Known) -> Optional[ast.expr]:
    """The array or tensor that a call may have the axes changed of; None: it is another."""
    if _library(node, known):
        return node.args[0] if node.args else None
    return node.func.value if isinstance(node.func, ast.Attribute) and node.func.attr in (*_METHODS[True], *_METHODS[False]) else None


def moved(axes: str, array: bool, node: ast.Call, known: Known) -> Optional[tuple[str, bool]]:
    """The axes of what a call makes of frames that have these, and whether it is an array, where it changes no number; None: it does other things."""
    library = _library(node, known)
    name, args = (known(node.func).__name__, node.args[1:]) if library else (node.func.attr if isinstance(node.func, ast.Attribute) else "", node.args)
    if node.keywords or not library and name not in _METHODS[array] or name == "from_numpy" and not array or name == "transpose" and library and not array:
        return None
    if name not in ("permute", "transpose"):
        return None if args else (axes, library == "numpy" or not library and (array or name == "numpy"))
    given = [known(one) for one in (args[0].elts if len(args) == 1 and isinstance(args[0], (ast.Tuple, ast.List)) else args)]
    if not all(type(one) is int and -len(axes) <= one < len(axes) for one in given):
        return None
    order = [one % len(axes) for one in given]
    if name == "transpose" and not array:
        if len(order) != 2:
            return None
        order = [order[1] if one == order[0] else order[0] if one == order[1] else one for one in range(len(axes))]
    made = "".join([axes[one] for one in order])
    return (made, array) if sorted(order) == list(range(len(axes))) and made in _LAYOUTS else None


def scaled(before: str, done: bool, array: bool, node: ast.expr, known: Known) -> str:
    """What an expression makes of frames whose numbers are these.

    before     what was done to bytes; "": nothing
    done       whether anything was
    """
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not done and not array and not node.keywords:
        kinds = [getattr(known(one), "__repr__", str)() for one in node.args]
        return "float" if (node.func.attr, kinds) in (("float", []), ("to", ["torch.float32"])) else "other"
    by = node.right if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) else None
    return "unit" if by is not None and isinstance(by, ast.Constant) and by.value == 255 and not array and (before == "float" or not done) else "other"


def _library(node: ast.Call, known: Known) -> str:
    """The one whose function is called; "": it is none of these."""
    function = known(node.func)
    return next((library for library, names in _FUNCTIONS.items() if any(function is getattr(sys.modules.get(library), name, library) for name in names)), "")
