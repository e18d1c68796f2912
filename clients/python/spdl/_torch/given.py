"""A transform that somebody gave: where it stands, what it says of itself, and what is refused of it."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any, Callable, NamedTuple, NoReturn, Optional, Union

from .._errors import SpecError

# What is in hand between two transforms. A transform has the pixels of our operation up to one of these: behind it, it computes in other numbers.
PIL, BYTES, FLOATS, NORMALIZED, ERASED = range(5)
IN_HAND = ("a PIL image", "a tensor of u8", "a tensor of floats", "a normalized tensor", "a tensor with RandomErasing done")

RESIZERS = ("bilinear", "bicubic", "nearest", "lanczos", "box", "hamming")
RESIZERS_OF_TENSORS = ("bilinear", "bicubic", "nearest", "lanczos")  # which are torch_bilinear and so on here
WARPERS = ("nearest", "bilinear", "bicubic")
WARPERS_OF_TENSORS = ("nearest", "bilinear")
_PILLOWS = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")  # by Pillow's numbers

Number = Union[int, float]
Operation = dict[str, Any]  # one entry of a transform list


class Rule(NamedTuple):
    """What a class of transforms is here."""

    tell: Callable[[Any], Optional[Operation]]  # its operation; None: it changes nothing, or has changed what is in hand
    upto: int = PIL
    since: int = PIL


class Given:
    """A transform and its place."""

    def __init__(self, transform: Any, place: str, before: list[Operation], in_hand: int) -> None:
        self.transform, self.place = transform, place
        self.before = before  # the operations ahead of it
        self.in_hand = in_hand
        self.channels = self.channels_of_pictures = 3  # of what is in hand, which rules change, as in_hand, and of what was at first
        self.tv_image = False  # v2's own kind of tensor
        self.rows_last = False  # an array of floats, of which channels come last
        self.pictures: Optional[list[int]] = None  # height and width of what is in hand, where they are known

    def refuse(self, what: str) -> NoReturn:
        raise refusal(self.place, self.transform, what)

    def get(self, name: str) -> Any:
        """An attribute, as plain data."""
        try:
            return _plain(getattr(self.transform, name))
        except AttributeError:
            self.refuse(f"has no attribute {name}, which it has in the versions that are known here; write the operation yourself (docs/equivalents.md)")

    def number(self, name: str) -> Number:
        value = self.get(name)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.refuse(f"{name}: got {value!r:.60}, want a number")
        return whole(value)

    def pair(self, name: str) -> list[Number]:
        value = self.get(name)
        if not isinstance(value, list) or len(value) != 2:
            self.refuse(f"{name}: got {value!r:.60}, want (low, high)")
        return [whole(v) for v in value]

    def size(self, name: str = "size") -> list[int]:
        """N or (H, W) as one number or two."""
        value = self.get(name)
        value = value if isinstance(value, list) else [value]
        if len(value) not in (1, 2) or not all(isinstance(v, int) for v in value):
            got = value[0] if len(value) == 1 else value
            self.refuse(f"{name}: got {got!r:.60}, want N or (H, W)")
        return value

    def extent(self, name: str = "size") -> Union[int, list[int]]:
        """Height and width of what comes out, N where they are equal."""
        value = self.size(name)
        return value[0] if value[0] == value[-1] else value

    def filter(self, among: tuple[str, ...], name: str = "interpolation") -> str:
        value = self.get(name)
        if isinstance(value, list):
            self.refuse(f"{name}: got {' or '.join(map(str, value))}, drawn for each picture, want one of {', '.join(among)}, always; "
                        f'create_transform(..., interpolation="{among[0]}") says it')
        if isinstance(value, int) and 0 <= value < len(_PILLOWS):
            value = _PILLOWS[value]
        value = "nearest" if value == "nearest-exact" else value  # of PIL images they are one
        if value not in among:
            self.refuse(f"{name}: got {value}, want one of {', '.join(among)}")
        return value

    def _fill(self, name: str) -> Any:
        value = self.get(name)
        if isinstance(value, dict):  # by type, of v2
            kind = "PIL.Image.Image" if self.in_hand == PIL else "torchvision.tv_tensors._image.Image" if self.tv_image else "torch.Tensor"
            value = value.get(kind, value.get("others", value))
        return value

    def filled(self, name: str = "fill") -> bool:
        """Whether there is one, be it black."""
        return self._fill(name) is not None

    def fill(self, name: str = "fill") -> Union[None, int, list[int]]:
        """None where it is black."""
        value = self._fill(name)
        values = value if isinstance(value, list) else [0 if value is None else value]
        if not values or not all(isinstance(v, (int, float)) and v == int(v) and 0 <= v <= 255 for v in values):
            self.refuse(f"{name}: got {value!r:.60}, want a whole number from 0 to 255, or one a channel")
        numbers = [int(v) for v in values]
        if not any(numbers):
            return None
        return numbers[0] if len(set(numbers)) == 1 else numbers

    def border(self) -> Operation:
        """What lies beyond the picture, of pad and crops."""
        mode = self.get("padding_mode")
        if mode != "constant":
            return {"padding_mode": mode}
        fill = self.fill()
        if fill is not None and self.in_hand > BYTES:
            self.refuse(f"fill: got {fill} behind ToTensor(), where 1 is white, want it in front of ToTensor(), where 255 is")
        return {} if fill is None else {"fill": fill}

    def always(self, name: str, want: Any, remedy: str) -> None:
        """Refuse an argument that is another than the one that is known here."""
        got = getattr(self.transform, name, want)
        if _plain(got) != want:
            self.refuse(f"{name}: got {got!r:.60}, want {want!r}; {remedy}")


def chance(name: str, upto: int = PIL) -> Rule:
    """An operation that is its probability."""
    return Rule(lambda g: {name: whole(g.p)}, upto)


def refusal(place: str, transform: Any, what: str) -> SpecError:
    return SpecError(f"spdl: {place}: {shown(transform)}: {what}")


def shown(transform: Any) -> str:
    """A transform in one line."""
    text = " ".join(repr(transform).split())
    return text if len(text) <= 200 else text[:197] + "..."


def without(operation: Operation, **usual: Any) -> Operation:
    """An operation without what is None, and without what is the usual."""
    return {key: value for key, value in operation.items() if value is not None and (key not in usual or value != usual[key])}


def short(main: str, operation: Operation) -> Any:
    """The value alone of an operation that has nothing but its main key."""
    return operation[main] if operation.keys() == {main} else operation


def whole(value: Number) -> Number:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def of_32_bits(value: float) -> Number:
    """The shortest number that is this one among floats of 32 bits: 0.485 of a tensor that says 0.48500001430511475."""
    bits = struct.pack("f", value)
    return whole(next((float(s) for s in (f"{value:.{n}g}" for n in range(1, 10)) if struct.pack("f", float(s)) == bits), value))


def _plain(value: Any) -> Any:
    """An attribute without what is torch's, Python's enum or a tuple about it. Tensors are of floats of 32 bits."""
    if isinstance(value, (str, bool, int, float, type(None))) and not hasattr(value, "value"):
        return value
    if hasattr(value, "tolist"):
        numbers = value.tolist()
        return [of_32_bits(v) for v in numbers] if isinstance(numbers, list) else of_32_bits(numbers)
    if hasattr(value, "value") and hasattr(value, "name"):  # an enum
        return value.value
    if isinstance(value, Mapping):
        named = {k if isinstance(k, str) else f"{k.__module__}.{k.__qualname__}": _plain(v) for k, v in value.items()}
        other = getattr(value, "default_factory", None)  # of a defaultdict by type
        return named if other is None else {"others": _plain(other()), **named}
    if isinstance(value, Iterable):
        return [_plain(v) for v in value]
    return value
