"""Functions of the program's own that the loop calls with what a sample has beside its pictures: labels, texts and JSON, one value after the other."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .functions import Member
from .kept import collated, without_tensors

_CASTS: dict[str, Callable[[Any], Any]] = {"int": int, "float": float, "str": str}


class Called(NamedTuple):
    """What becomes of a field's values."""

    functions: Sequence[Any]  # of the program's own, and Members
    json: bool = False  # whether values are texts of JSON
    by_torch: bool = True  # whether batches are put together by torch's collate, and not by webdataset's

    def values(self, field: Any) -> list[Any]:
        """Of a field of a batch, its samples' values."""
        return [self._value(one) for one in (field.tolist() if hasattr(field, "tolist") else field)]

    def _value(self, one: Any) -> Any:
        if self.json:
            one = json.loads(one)
        for function in self.functions:
            one = _taken(function, one) if isinstance(function, Member) else function(one)
        return one

    def batch(self, values: list[Any], arrays: bool) -> Any:
        """Values as a batch has them; arrays: of NumPy, in the place of tensors."""
        torch = sys.modules.get("torch")
        if torch is None:
            return sys.modules["numpy"].array(values) if isinstance(values[0], (int, float)) else values
        made = collated(values) if self.by_torch else _combined(values, torch)
        return without_tensors(made) if arrays else made


def _taken(of: Member, one: Any) -> Any:
    for key in of.path:
        one = one[key]
    return _CASTS[of.cast](one) if of.cast else one


def _combined(values: list[Any], torch: Any) -> Any:
    """As webdataset's own collation has them, behind torch's loader, which makes tensors of arrays."""
    if isinstance(values[0], (int, float)):
        return torch.as_tensor(sys.modules["numpy"].array(values))
    if isinstance(values[0], torch.Tensor):
        return torch.stack(values)
    if isinstance(values[0], sys.modules["numpy"].ndarray):
        return torch.as_tensor(sys.modules["numpy"].array(values))
    return torch.utils.data.default_convert(values)
