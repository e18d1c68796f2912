"""Numbers that a program has of a sound or a video before it has it: how long it is, how many channels and axes, its rate; and what conditions on these say."""

from __future__ import annotations

import ast
import itertools
from typing import Any, NamedTuple, Optional

from . import levels
from .levels import Measured
from .sounds import Cannot, Seconds, Sound, bare, copied, levelled, settled, stepped, then

draws = itertools.count(1)  # of calls that draw: those of two sounds are one draw or two
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
_NOT = {"<": ">=", ">": "<=", "<=": ">", ">=": "<", "==": "!=", "!=": "=="}
_BY: dict[type, str] = {ast.Lt: "<", ast.Gt: ">", ast.LtE: "<=", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


class Rate(NamedTuple):
    """Samples a second of a file, which the code that is left has, too."""

    file: int
    known: Any = None  # that all files have, a whole number, or one of librosa.load's
    times: float = 1  # of it


class Count(NamedTuple):
    """sign * what a sound has + plus."""

    what: str  # "frames", "channels" or "axes"; "film" of a video's frames
    of: Any  # a Sound or a Film
    sign: int = 1
    plus: Any = 0  # a number, or Seconds
    least: Optional[int] = None  # and no less than this
    halved: bool = False  # cut to a whole number

    def is_of(self, one: Sound) -> bool:
        """Whether it is that sound's number of samples."""
        return self.what == "frames" and self.of.frames() == one.frames()

    def is_middle(self, one: Sound, length: Any) -> bool:
        """Whether it is where a crop from the middle of a sound begins."""
        return self.halved and self.is_of(one) and self.sign == 1 and _plus(self.plus, length) == 0


class Drawn(NamedTuple):
    """A place that is drawn, from 0 to a number of samples of a sound."""

    upto: Count
    itself: bool  # whether that is among them
    call: int  # by which it is drawn

    def fits(self, one: Sound, length: Any) -> bool:
        """Whether it is where a crop of a sound begins."""
        before = one._replace(length=None, padded=False) if one.padded and one.length == length else one  # zeros are behind shorter ones alone
        return (self.upto.is_of(one) or self.upto.is_of(before)) and self.is_room(length)

    def is_room(self, length: Any) -> bool:
        """Whether it is drawn up to how much longer something is than this. The last place, which NumPy's and torch's randint(0, L - n) leave out, is taken for one of them."""
        away = _plus(self.upto.plus, length)
        return self.upto.sign == 1 and not self.upto.halved and (away == 0 or not self.itself and away == 1)


class Behind(NamedTuple):
    """The end of a crop: where it begins, and how long it is."""

    start: Any
    length: Any


class Fact(NamedTuple):
    """What a condition says of a sound, or of its rate."""

    what: str  # "frames", "channels", "axes", "rate", "measure"
    of: Any  # a Sound, a Rate or a number that was measured
    by: str
    than: Any

    def no(self) -> Fact:
        return self._replace(by=_NOT[self.by])


def added(left: Any, right: Any, sign: int) -> Any:
    """left + sign * right, of which one is a Count; None: it is no number that is known here."""
    if isinstance(left, Drawn) and sign == 1 and isinstance(right, (int, Seconds)):
        return Behind(left, right)
    if isinstance(right, Drawn) and sign == 1 and isinstance(left, (int, Seconds)):
        return Behind(right, left)
    if isinstance(left, Count) and left.halved and sign == 1:
        return Behind(left, right)
    if isinstance(left, Count) and isinstance(right, int) and left.least is None and isinstance(left.plus, int):
        return left._replace(plus=left.plus + sign * right)
    if isinstance(left, Count) and isinstance(right, Seconds) and left.least is None and left.plus == 0 and left.sign == 1 and sign == -1:
        return left._replace(sign=1, plus=_minus(right))
    if isinstance(right, Count) and right.least is None and not right.halved and right.plus == 0 and right.sign == 1:
        return right._replace(sign=sign, plus=left)
    return None


def _plus(one: Any, other: Any) -> Any:
    """Their sum, of numbers of samples or of seconds."""
    if isinstance(one, Seconds) and isinstance(other, Seconds):
        return 0 if one.seconds == -other.seconds and one.file == other.file else None
    return one + other if isinstance(one, int) and isinstance(other, int) else None


def _minus(one: Any) -> Any:
    return one._replace(seconds=-one.seconds) if isinstance(one, Seconds) else -one


def compared(left: Any, by: ast.cmpop, right: Any) -> Any:
    """A Fact, True or False; None: it is neither."""
    how = _BY.get(type(by))
    if how is None:
        return None
    if isinstance(right, (Count, Rate, Measured)) and not isinstance(left, (Count, Rate, Measured)):
        left, right, how = right, left, _MIRRORED[how]
    if isinstance(left, Measured):
        return None if left.along or not isinstance(right, (int, float)) else Fact("measure", left, how, right)
    if isinstance(left, Rate):
        if left.times != 1 or not isinstance(right, int):
            return None
        return Fact("rate", left, how, right) if left.known is None else {"==": left.known == right, "!=": left.known != right}.get(how)
    if not isinstance(left, Count) or left.least is not None or left.halved or not isinstance(right, (int, Seconds)):
        return None
    if left.plus != 0 or left.sign != 1:  # n - L > 0
        if right != 0:
            return None
        return Fact(left.what, left.of, how, _minus(left.plus)) if left.sign == 1 else Fact(left.what, left.of, _MIRRORED[how], left.plus)
    return Fact(left.what, left.of, how, right)


def merged(fact: Fact, before: Any, yes: Any, no: Any) -> Any:
    """What is in hand behind a condition. Raises Cannot where that is not one thing."""
    if yes == no:
        return yes
    if isinstance(yes, tuple) and isinstance(no, tuple) and type(yes) is type(no) is tuple and len(yes) == len(no):
        return tuple([merged(fact, before[i] if type(before) is tuple and len(before) == len(yes) else None, *both) for i, both in enumerate(zip(yes, no))])
    if fact.what == "measure":
        return _of_measure(fact, yes, no)
    if fact.by in ("!=", "<", "<=") and fact.what != "frames" or fact.by == "!=":
        return merged(fact.no(), before, no, yes)
    if fact.what == "rate" and fact.by == "==":
        rates = [one.known if isinstance(one, Rate) else one for one in (yes, no)]
        if isinstance(no, Sound) and isinstance(yes, Sound) and fact.of.file == no.file and no == yes._replace(rate=no.rate, resample=no.resample, doubles=no.doubles) and no.rate == fact.than and yes.rate is None:
            return no
        if fact.than in (rates[1], rates[0]) and isinstance(yes, (Rate, int)) and isinstance(no, (Rate, int)) and rates[1] == fact.than:
            return no
    if fact.what == "frames" and fact.by in (">", ">=") and isinstance(yes, Drawn) and no == 0 and yes.upto.is_of(fact.of) and yes.is_room(fact.than):
        return yes._replace(upto=yes.upto._replace(least=0))  # a place that is drawn where there is room, or the first
    if not isinstance(yes, Sound) or not isinstance(no, Sound):
        raise Cannot("want the same whatever it says, but for what crops, pads, resamples or makes one of several channels")
    if fact.what == "channels":
        return _of_channels(fact, yes, no)
    if fact.what == "axes" and fact.by in (">", "==", ">="):
        return _of_axes(fact, yes, no)
    if fact.what == "frames":
        return _of_frames(fact, before, yes, no)
    raise Cannot("want the same whatever it says, but for what crops, pads, resamples or makes one of several channels")


def _of_measure(fact: Fact, yes: Any, no: Any) -> Any:
    """By a number that was measured of a sound."""
    if isinstance(yes, Sound) and isinstance(no, Sound):
        yes, no = stepped(settled(yes)), stepped(settled(no))
        if not bare(yes) == bare(no) == fact.of.of or yes.array != no.array:
            raise Cannot("want a condition on what is measured of the sound itself, under which its numbers are changed, no more")
        return then(yes._replace(then=()), levels.either(fact.of, fact.by, fact.than, yes.then, no.then))
    if all(isinstance(one, (Measured, int, float)) and getattr(one, "of", fact.of.of) == fact.of.of for one in (yes, no)):
        return levels.of_either(fact.of, fact.by, fact.than, yes, no)
    raise Cannot("want the same whatever it says, but for the numbers of the sound that it is on")


def _of_channels(fact: Fact, yes: Sound, no: Sound) -> Sound:
    """Of one channel and of several: the mean of one is itself."""
    if fact.of.file != yes.file:
        raise Cannot("want a condition on the sound itself")
    if (fact.by, fact.than) == ("==", 1):  # yes has one
        one, several = yes, no
    elif (fact.by, fact.than) in ((">", 1), (">=", 2), ("==", 2)):
        one, several = no, yes
    else:
        raise Cannot("want a condition on one channel or several: waveform.shape[0] > 1")
    if several.channels == 1 and one._replace(channels=1, select=several.select, files=several.files) == several:
        return several if fact.than != 2 or fact.by != "==" else several._replace(upto=2)
    if one.channels == 2 and one == copied(several, 2)._replace(files=one.files) and several.channels is None:
        return one._replace(files=None, upto=2)
    raise Cannot("want the mean of several channels, or one of them, or copies of one, and the same axes whatever it says")


def _of_axes(fact: Fact, yes: Sound, no: Sound) -> Sound:
    """Of arrays of soundfile's and SciPy's, [L] or [L, C]."""
    if fact.of.file != yes.file:
        raise Cannot("want a condition on the sound itself")
    if (fact.by, fact.than) in ((">", 1), ("==", 2), (">=", 2)):
        several, one = yes, no
    elif (fact.by, fact.than) == ("==", 1):
        several, one = no, yes
    else:
        raise Cannot("want a condition on one axis or two: x.ndim > 1")
    if several.channels == 1 and one._replace(channels=1, select=several.select, files=several.files) == several:
        return several
    raise Cannot("want the mean of several channels, or one of them, where there are two axes")


def _of_frames(fact: Fact, before: Any, yes: Sound, no: Sound) -> Sound:
    """Of sounds that are longer than a number of samples, and shorter."""
    if fact.of.under is not None:
        before, yes, no = [stepped(one) if isinstance(one, Sound) else one for one in (before, yes, no)]
    if not isinstance(before, Sound):
        before = yes._replace(length=None, crop="", drawn=0, padded=False, cut=False)  # opened on both sides, of which a file's length decides
        if before.frames() != fact.of.frames():
            raise Cannot("want crops and zeros of a sound that has its name ahead of the condition")
    whole = before._replace(length=None, crop="", drawn=0, padded=False) if before.length == fact.than else before  # of which crops and zeros to that length change nothing that it asks
    if fact.of.frames() not in (before.frames(), whole.frames()):
        raise Cannot("want a condition on the length of the sound itself, as it is there")
    if any(one.level and not before.level for one in (yes, no)):
        before, yes, no = [levelled(settled(one)) for one in (before, yes, no)]
    longer, shorter = (yes, no) if fact.by in (">", ">=") else (no, yes) if fact.by in ("<", "<=") else (no, no)
    if fact.by == "==" and yes != before:
        raise Cannot("want sounds of that length as they are")
    made = before
    for one, crops in ((longer, True), (shorter, False)):
        if one._replace(length=before.length, crop=before.crop, drawn=before.drawn, padded=before.padded, cut=before.cut) != before:
            raise Cannot("want crops and zeros behind alone, on a condition on the length")
        if one == before:
            continue
        if one.length != fact.than:
            raise Cannot("want a crop, or zeros behind, to the length that the condition is on")
        made = made._replace(length=one.length, crop=one.crop, drawn=one.drawn, cut=one.cut) if crops and one.crop else made
        made = made._replace(length=one.length, padded=True) if not crops and one.padded else made
    return made
