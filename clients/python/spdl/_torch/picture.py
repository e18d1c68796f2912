"""A picture that code of one's own has in hand, and several in one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Optional

from . import films


class Picture(NamedTuple):
    """A picture, and what has become of it."""

    file: int = 0  # of those that are opened, its number
    mode: str = ""  # that it was converted to; "": none; "index": a map of class numbers, as its file has them; "gray": as OpenCV makes it; "BGR": as OpenCV reads it; "pixels": an array's, of one channel or three; "tensor": it is one already
    array: bool = False  # of NumPy
    turned: bool = False  # as its EXIF says, as OpenCV does
    transforms: tuple[Any, ...] = ()
    calls: tuple[int, ...] = ()  # of each of these, which makes those of two pictures one or two draws
    mask: bool = False  # whether it goes through them as a mask
    film: Optional[films.Shown] = None  # of a video's frames, of which each is one
    after: tuple[Any, ...] = ()  # what is done to its row then: (how many transforms were ahead, what)
    axes: str = ""  # of frames in an array or a tensor of bytes, as no transform has had them: THWC
    scaled: str = ""  # what is done to such bytes: "float", or "unit", by which they are x/255; else "other"
    each: str = ""  # "one": it is each of the frames, by itself; "all": these are put together again; "single": it is one frame


@dataclass(frozen=True)
class Stack:
    """Several pictures in one tensor, by torch.stack."""

    pictures: tuple[Picture, ...]


class OfMask(NamedTuple):
    """A transform of torchvision's v2 that a mask goes through, beside its picture."""

    transform: Any
    flat: bool  # whether masks are [H, W], and not [1, H, W]


Made = Any  # a Picture, a Sound, or several in a Stack, a tuple, a list or a dict
