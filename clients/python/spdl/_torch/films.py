"""A video that a data set of one's own opens, and which of its frames its code takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Optional

from .counts import Behind, Drawn, draws
from .sounds import Cannot

_CLIPS = ("clips_at_random_indices", "clips_at_regular_indices", "clips_at_random_timestamps")
WANT = ("want frames of a video by decoder.get_frames_at(indices), of known numbers or np.linspace(0, len(decoder) - 1, n).astype(int), get_frames_in_range(start, stop, step), decoder[start:stop:step], or a sampler "
        "of torchcodec's of so many frames; of decord's VideoReader reader.get_batch(indices), and of these what docs/own-datasets.md#videos says")


class Film(NamedTuple):
    """torchcodec's VideoDecoder, or decord's VideoReader, whose code runs and tells its frames."""

    file: int
    seek: str


class Even(NamedTuple):
    """numpy.linspace(0, len(decoder) - 1, n)."""

    film: Film
    frames: int
    cut: bool = False  # to whole numbers


class Shown(NamedTuple):
    """Frames of a video."""

    film: Film
    select: tuple[tuple[str, Any], ...]
    frames: int
    clips: int = 0  # of which so many have an axis of their own; 0: none
    call: int = 0  # that draws them; 0: none
    told: int = -1  # which of what code says of a sample names them; -1: none
    sides: Optional[tuple[int, int]] = None  # height and width that all have to have, of frames that no transform makes one size

    def section(self) -> dict[str, Any]:
        return {"select": {name: list(value) if isinstance(value, tuple) else value for name, value in self.select}, **({"frames": self.frames} if dict(self.select)["kind"] == "uniform" else {}),
                **({} if self.film.seek == "exact" else {"seek": self.film.seek})}


class Taken(NamedTuple):
    """Frames as decord hands them out, which asnumpy() makes an array of."""

    shown: Shown
    single: bool = False  # whether it is one, by itself
    frame: bool = False  # whether it is each of PyAV's frames, which to_ndarray or to_image makes one of


KINDS = (Film, Even, Shown, Taken)
NUMBERS = "shown"  # the columns of frames that code tells, ahead of their numbers


def told(file: int, number: int) -> Shown:
    """Frames that code names, of a reader's film."""
    return Shown(Film(file, "exact"), (("kind", "indices"), ("column", f"{NUMBERS}{number}")), 0, told=number)


def column(shown: Shown) -> dict[str, Any]:
    """Of such frames, as a description has it."""
    name = f"{NUMBERS}{shown.told}"
    return {"name": name, "from": f"json[{name}]", "type": "list", "dtype": "i64", "shape": [shown.frames]}


def moved(shown: Shown, file: int, first: int) -> Shown:
    """As a sample has it whose function has called the one that opens it: what that tells comes behind so many others."""
    return told(file, shown.told + first) if shown.told >= 0 else shown._replace(film=shown.film._replace(file=file))


def opened(file: int, stream_index: Any = None, dimension_order: str = "NCHW", num_ffmpeg_threads: int = 1, device: Any = "cpu", seek_mode: str = "exact", transforms: Any = None) -> Film:
    """A VideoDecoder with known arguments behind the path. Raises Cannot."""
    if stream_index is not None or dimension_order != "NCHW" or device not in (None, "cpu") or transforms is not None or seek_mode not in ("exact", "approximate"):
        raise Cannot("want VideoDecoder(path), with seek_mode or num_ffmpeg_threads at most, and transforms behind it")
    return Film(file, seek_mode)


def at(film: Film, indices: Any) -> Shown:
    """get_frames_at. Raises Cannot."""
    if isinstance(indices, Even):
        if not indices.cut or indices.film != film:
            raise Cannot("want whole numbers of this video: np.linspace(0, len(decoder) - 1, n).astype(int)")
        return Shown(film, (("kind", "uniform"),), indices.frames)
    if not isinstance(indices, (list, tuple, range)) or not indices or not all(type(one) is int for one in indices):
        raise Cannot(WANT)
    return Shown(film, (("kind", "indices"), ("indices", tuple(indices))), len(indices))


def within(film: Film, start: Any, stop: Any, step: Any = 1) -> Shown:
    """get_frames_in_range, and a slice."""
    start, step = 0 if start is None else start, 1 if step is None else step
    if isinstance(start, Drawn) and isinstance(stop, Behind) and stop.start == start and step == 1 and type(stop.length) is int and start.upto.of == film and start.is_room(stop.length):
        clip = {"num_frames_per_clip": stop.length, "policy": "error"}
        return sampled(film, "clips_at_random_indices", clip)._replace(clips=0)
    if not all(type(one) is int for one in (start, stop, step)) or start < 0 or stop <= start or step < 1:
        raise Cannot(WANT)
    return at(film, range(start, stop, step))


def is_sampler(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).startswith("torchcodec.samplers") and getattr(function, "__name__", "") in (*_CLIPS, "clips_at_regular_timestamps")


def sampled(film: Film, name: str, given: Mapping[str, Any]) -> Shown:
    """Clips by one of torchcodec's samplers. Raises Cannot."""
    if name not in _CLIPS:
        raise Cannot("want clips of which their number is known: clips_at_regular_indices")
    said = {key: value for key, value in given.items() if value is not None}
    known = ("num_clips", "num_frames_per_clip", "num_indices_between_frames", "seconds_between_frames", "sampling_range_start", "sampling_range_end", "policy")
    if not set(said) <= set(known) or not all(isinstance(one, (int, float, str)) for one in said.values()) or said.get("sampling_range_start", 0) < 0 or said.get("sampling_range_end", 0) < 0:
        raise Cannot("want arguments of the sampler that are known, and not negative")
    if said.get("sampling_range_start") == 0 and name.endswith("indices"):
        del said["sampling_range_start"]
    clips, frames = said.get("num_clips", 1), said.get("num_frames_per_clip", 1)
    return Shown(film, (("kind", name), *said.items()), clips * frames, clips, next(draws) if "random" in name else 0)


def first(shown: Shown) -> Shown:
    """Of one clip, the frames alone. Raises Cannot."""
    if shown.clips != 1:
        raise Cannot("want one clip, whose frames are clips[0]")
    return shown._replace(clips=0)


def spread(shown: Shown) -> Optional[Any]:
    """What is done to a batch's rows, where clips have an axis of their own; None: nothing."""
    if not shown.clips:
        return None
    return lambda rows: rows.reshape((rows.shape[0], shown.clips, shown.frames // shown.clips, *rows.shape[2:]))


def linspace(args: Sequence[Any], named: Mapping[str, Any], film_of: Any) -> Optional[Even]:
    """numpy.linspace of a video's first frame to its last; None: something else."""
    given = dict(zip(("start", "stop", "num"), args))
    given.update(named)
    whole = given.pop("dtype", None)
    last, count = given.get("stop"), given.get("num", 50)
    film = film_of(last)
    if film is None or given.get("start") != 0 or type(count) is not int or not 0 < count <= 1 << 20 or not set(given) <= {"start", "stop", "num"} or len(args) > 3:
        return None
    return Even(film, count, is_whole(whole))


def is_whole(kind: Any) -> bool:
    return kind is int or getattr(kind, "__name__", "") in ("int64", "int32", "intp") or kind in ("int", "int64", "int32")
