"""The section of a description that makes the rows of a sound, and what becomes of these."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Optional, Union

from . import spectra
from .annotated import Unknown
from .soundfiles import Facts, nanoseconds, samples, window_columns
from .sounds import SOXR, Frames, Played, Seconds, Sound, Told, is_told, retyped, settled


class Row(NamedTuple):
    """What becomes of a sound's row."""

    axes: str  # as its code has them
    engines: str  # as rows of a batch have them; of a list each has time first
    array: bool  # of NumPy, where what is done to its numbers begins
    then: Sequence[Callable[[Any], Any]]
    kind: str = ""
    lengths: bool = False  # whether rows of a batch have to have one length, which its field of lengths says
    level: Sequence[Callable[[Any], Any]] = ()  # what is done to a row's own samples
    room: Optional[int] = None  # samples that rows have then
    cut: str = ""  # where they are cut to these; "": the engine has done it
    padded: bool = False  # whether there are zeros behind
    owns: bool = False  # whether lengths say what a row's own samples are
    steps: bool = False  # whether these are steps of a spectrum, and brought to their length here

    @property
    def asks(self) -> bool:
        """Whether its field of lengths is wanted."""
        return self.lengths or self.owns

    def ends(self, lengths: Sequence[int]) -> Sequence[int]:
        """Lengths that have to be one."""
        return lengths if self.lengths else [min(one, self.room or one) for one in lengths] if self.cut and not self.padded else []

    def __call__(self, rows: Any, lengths: Optional[Sequence[int]] = None) -> Any:
        if isinstance(rows, list):
            return [self._ordered(one, self.engines[-1] + self.engines[:-1], [one.shape[1]])[0] for one in [one[None] for one in rows]]
        return self._ordered(rows, self.engines, lengths)

    def _ordered(self, rows: Any, engines: str, lengths: Optional[Sequence[int]]) -> Any:
        """[N, *engines] as [N, *axes]."""
        wanted, at = [axis for axis in self.axes if axis in engines], 0
        for axis in engines:
            if axis not in self.axes:  # of one channel
                rows = rows.squeeze(1 + at) if hasattr(rows, "unsqueeze") else rows.squeeze(axis=1 + at)
            else:
                at += 1
        left = [axis for axis in engines if axis in self.axes]
        if left != wanted:
            order = (0, *[1 + left.index(axis) for axis in wanted])
            rows = rows.permute(order) if hasattr(rows, "permute") else rows.transpose(order)
        for at, axis in enumerate(self.axes, 1):
            if axis not in engines:
                rows = rows.unsqueeze(at) if hasattr(rows, "unsqueeze") else rows.reshape((*rows.shape[:at], 1, *rows.shape[at:]))
        if self.array or self.then or self.level:
            rows = rows if self.array or hasattr(rows, "unsqueeze") else sys.modules["torch"].from_numpy(rows)
            rows = rows.numpy() if self.array and hasattr(rows, "numpy") else rows
        if self.steps:
            rows = self._levelled(rows, lengths if self.owns and lengths is not None else [rows.shape[1 + self.axes.index("T")]] * len(rows))
        elif self.level and lengths is not None:
            rows = self._levelled(rows, lengths)
        for each in self.then:
            rows = each(rows)
        return rows

    def _levelled(self, rows: Any, lengths: Sequence[int]) -> Any:
        """Each with what is done to its own samples, ahead of zeros behind them."""
        time, made = self.axes.index("T" if self.steps else "L"), []
        for row, length in zip(rows, lengths):
            own = row[_along(time, slice(length))]
            own = own[None].contiguous() if hasattr(own, "contiguous") else sys.modules["numpy"].ascontiguousarray(own[None])
            for each in self.level:
                own = each(own)
            made.append(self._brought(own[0], time))
        return sys.modules["torch"].stack(made) if hasattr(made[0], "unsqueeze") else sys.modules["numpy"].stack(made)

    def _brought(self, own: Any, time: int) -> Any:
        """To the length of rows."""
        if self.room is None:
            return own
        length, room = own.shape[time], self.room
        if self.cut and room is not None and length > room:
            start = (length - room) // 2 if self.cut == "center" else 0
            return own[_along(time, slice(start, start + room))]
        if not self.padded or room is None or length >= room:
            return own
        shape = (*own.shape[:time], room, *own.shape[time + 1:])
        made = own.new_zeros(shape) if hasattr(own, "new_zeros") else sys.modules["numpy"].zeros(shape, own.dtype)
        made[_along(time, slice(length))] = own
        return made


def _along(axis: int, part: slice) -> tuple[slice, ...]:
    return (*[slice(None) for _ in range(axis)], part)


def section(one: Sound, first: Facts, longest: Callable[[], int], listed: bool) -> tuple[dict[str, Any], Row]:
    """The section of a description and what becomes of its rows.

    longest    the most samples that a file of the data set has, at the rate of rows, where nothing bounds them
    listed     whether the loop may have rows of lengths of their own
    """
    if one.under is not None:
        said, row = section(one.under, first, longest, listed)
        return said, _of_steps(one, said, row, listed)
    rate = one.rate if one.rate is not None else first.rate
    channels = one.channels if one.channels is not None else first.channels
    axes = one.row_axes or (one.axes if one.axes != "?" else "L" if channels == 1 else "LC")
    made: dict[str, Any] = {"rate": rate}
    if not any(feature.axes == "TF" for feature in one.features):
        one = settled(one)
    if channels != 1:
        made["channels"] = channels
    if one.select is not None:
        made["select"] = [one.select]
    if one.window is not None:
        made["window"] = _window(one.window, first.rate)
    how = {**dict(one.resample), **({"filters": "f64"} if one.doubles else {})}
    if how not in ({}, {"method": "sinc_interp_hann"}):
        made["resample"] = how
    room = one.length.at(first.rate) if isinstance(one.length, Seconds) else None if isinstance(one.length, Told) else one.length
    fixed = one.padded and room is not None and not one.cut
    made["length"] = max(1, longest() if room is None or one.cut else room)
    if one.crop and not one.cut:
        made["crop"] = one.crop
    if not fixed:
        made["shape"] = "ragged" if listed else "padded"
    dtype = one.dtype
    if dtype == "i16":
        made["dtype"] = "i16"
    if one.peak:
        made["normalize"] = {"to": "peak"}
    if one.features:
        made["features"] = spectra.told(one.features, rate, first.rate)
        if fixed:
            made["features"]["padding"] = "silence"
    engines = ("FT" if channels == 1 else "CFT") if one.features else "CL"
    if not fixed and listed:
        made["layout"] = "NLC"
    ahead: Sequence[Callable[[Any], Any]] = {"f64": [lambda rows: retyped(rows, "f64")], "whole": [lambda rows: rows * 32768], "scaled": [lambda rows: rows * 32768]}.get(dtype, [])
    level: Sequence[Callable[[Any], Any]] = (*ahead, *one.level) if one.level else ()
    last: Sequence[Callable[[Any], Any]] = one.then if one.level else (*ahead, *one.then)
    return made, Row(axes, engines, one.began if one.then or one.level else one.array, last, lengths=not fixed and not listed and not one.cut, level=level, room=room, cut=one.crop if one.cut else "", padded=one.padded, owns=bool(level) and (fixed or not listed))


def _of_steps(one: Sound, made: Mapping[str, Any], row: Row, listed: bool) -> Row:
    """What becomes of a spectrum's row whose steps are cut, filled up or measured."""
    ragged, room = made.get("shape", "fixed") != "fixed", one.length if isinstance(one.length, int) else None
    steps = bool(one.level) or room is not None
    over_steps = "L" not in one.axes  # they are averaged
    return row._replace(axes=(one.row_axes or one.axes).replace("L", "T"), array=one.began if one.then or one.level else one.array, then=one.then, level=one.level, room=room, cut=one.crop, padded=one.padded,
                        steps=steps, owns=steps and ragged and not listed, lengths=row.lengths and room is None and not over_steps)


def _window(window: Union[Played, tuple[Frames, Optional[Frames]]], rate: int) -> dict[str, Any]:
    """From its first sample on to the one behind its last, as times of the file's samples."""
    if isinstance(window, Played):
        start, length = [f"{round(seconds * 10**9)}ns" for seconds in (window.start, (window.stop or 0) - window.start)]
        return {"start": start, **({} if window.stop is None else {"duration": length})}
    if is_told(window):
        at, long = window_columns(window)
        return {"start_column": at, **({"duration_column": long} if long else {})}
    start_at, frames = [samples(one, (), rate) for one in window]
    said: dict[str, Any] = {"start": _time(start_at, rate)} if start_at else {}
    return said if frames is None else {**said, "duration": _time(frames, rate)}


def _time(frames: int, rate: int) -> str:
    """A number of samples as a time, to the nanosecond."""
    return f"{nanoseconds(frames, rate)}ns"


def length_at(frames: int, of: int, rate: int, by_soxr: bool) -> int:
    """How many samples so many become at another rate, as torchaudio counts them, or librosa, whose ratio is a float."""
    return frames if of == rate else math.ceil(frames * (rate / of)) if by_soxr else math.ceil(rate * frames / of)


def own_draws(views: Sequence[Sound]) -> list[bool]:
    """Of each sound whether it draws for itself. Those that are made of one crop do not. Raises Unknown."""
    crops = [view.drawn for view in views if view.drawn]
    shared = {call for call in crops if crops.count(call) > 1}
    alike = [view for view in views if view.drawn in shared]
    if len(shared) > 1 or sum(any(spectra.is_mask(one) for one in view.features) for view in alike) > 1:
        raise Unknown("has several sounds of one crop that is drawn, and draws more for each, want one of them: all fields that do not draw for themselves draw alike")
    return [view.drawn not in shared for view in views]


def longest(one: Sound, files: Iterable[tuple[Optional[Facts], Mapping[str, float]]], of: Callable[[int], str]) -> int:
    """The most samples of a row, of files with their parts. Raises Unknown of files that do not say how many they have."""
    most = 1
    for number, (got, said) in enumerate(files):
        if got is None:
            continue  # it is a bad sample, when its turn comes
        if got.frames is None:
            raise Unknown(f"{of(number)} does not say how long it is, and rows have room for the longest, want a crop, waveform[:, :n]")
        frames = got.frames
        if isinstance(one.window, Played):
            frames = frames if one.window.stop is None else min(frames, math.ceil((one.window.stop - one.window.start) * got.rate) + 1)
        elif one.window is not None and is_told(one.window):
            at, long = window_columns(one.window)
            frames = max(0, frames - round(said[at] * got.rate))
            frames = min(frames, round(said[long] * got.rate)) if long else frames
        elif one.window is not None:
            start, room = [samples(each, (), got.rate) for each in one.window]
            frames = max(0, frames - (start or 0))
            frames = frames if room is None else min(room, frames)
        most = max(most, length_at(frames, got.rate, one.rate if one.rate is not None else got.rate, one.resample == SOXR))
    return most
