"""Functions and objects that the code of a data set of one's own names: a library's, or its own."""

from __future__ import annotations

import os
import sys
from types import FunctionType, MethodType, ModuleType
from typing import Any, Optional

_LIBRARIES = ("torch", "numpy", "pandas", "builtins", "collections", "transformers", "math", "_operator", "sklearn", "scipy")  # whose functions and objects are told by their names
PLAIN: tuple[Any, ...] = (len, range, min, max, int, float, bool, abs, tuple, list, dict, zip, enumerate, isinstance, hasattr, getattr, str, sum, slice)
_ASKED = ("size", "dim", "numel", "items", "values", "get", "to_numpy", "numpy", "tolist", "item", "mean", "std", "var", "min", "max", "sum", "index", "copy", "keys", "lower", "upper", "strip", "format")  # methods of what is known
_MADE = ("tensor", "as_tensor", "from_numpy", "is_tensor", "zeros", "ones", "full", "arange", "eye", "sqrt", "mean", "std", "min", "max", "sum", "log")  # functions of torch's and NumPy's of what is known


def series(of: Any) -> Any:
    """The numbers of a Series of pandas', of series.iloc, and of series itself where its index is the places."""
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return of
    by_place = type(of).__name__ == "_iLocIndexer" and isinstance(of.obj, pandas.Series)
    series = of.obj if by_place else of
    if isinstance(series, pandas.Series) and (by_place or isinstance(series.index, pandas.RangeIndex) and (series.index.start, series.index.step) == (0, 1)) and getattr(series.dtype, "kind", "O") in "biuf" and not hasattr(series.dtype, "na_value"):
        return series.to_numpy()
    return of


def is_view(one: Any) -> bool:
    """Whether it is what a dict's items() and the like return."""
    return isinstance(one, (type({}.items()), type({}.keys()), type({}.values()))) or type(one).__name__ in ("ItemsView", "KeysView", "ValuesView")


def is_library(module: str) -> bool:
    return module.partition(".")[0] in _LIBRARIES


def is_librarys(of: Any) -> bool:
    """Whether it is a module, or an object of a class of a library's or of Python's own."""
    return isinstance(of, ModuleType) or is_library(type(of).__module__) and not isinstance(of, (FunctionType, MethodType)) or isinstance(of, type) and is_library(of.__module__)


def own_function(callee: Any, beside: str) -> Optional[tuple[Any, tuple[Any, ...], Optional[type]]]:
    """A function of one's own, or a method, or the __call__ of an object of one's own: what it is called with first, and its class; None: it is none, or of a package that is installed and not the one that calls it, of this module."""
    if not isinstance(callee, (FunctionType, MethodType, type)) and isinstance(method := getattr(type(callee), "__call__", None), FunctionType):
        callee = MethodType(method, callee)
    function = callee.__func__ if isinstance(callee, MethodType) else callee
    if not isinstance(function, FunctionType) or is_library(str(function.__module__)) or _is_installed(function) and str(function.__module__).partition(".")[0] != beside.partition(".")[0]:
        return None
    if not isinstance(callee, MethodType):
        return function, (), None
    classes = callee.__self__.__mro__ if isinstance(callee.__self__, type) else type(callee.__self__).__mro__
    return function, (callee.__self__,), next((cls for cls in classes if any(getattr(one, "__func__", one) is function for one in vars(cls).values())), None)


def _is_installed(function: FunctionType) -> bool:
    """Whether it is Python's own, or of a package that is installed."""
    file = function.__code__.co_filename
    return any(part in file for part in ("/site-packages/", "/dist-packages/")) or file.startswith((os.path.dirname(os.__file__) + os.sep, "<frozen"))


def is_asked(callee: Any) -> bool:
    """Whether a function changes nothing, and says the same whenever it is asked."""
    if callee in PLAIN or is_one(callee, "numpy", "memmap", "load", "dtype", "array", "asarray", *_MADE) or is_one(callee, "torch", *_MADE) or isinstance(callee, type) and callee.__module__ == "numpy":
        return True
    return getattr(callee, "__name__", "") in _ASKED and getattr(callee, "__self__", None) is not None and not isinstance(callee.__self__, ModuleType) and is_librarys(callee.__self__)


def is_one(function: Any, module: str, *names: str) -> bool:
    return any(function is getattr(sys.modules.get(module), name, is_one) for name in names)
