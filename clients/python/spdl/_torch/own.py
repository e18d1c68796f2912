"""A data set of one's own whose __getitem__ opens a picture, a sound or a video, does with it what the engine does too, and hands out what comes of that, alone or beside anything else: its samples."""

from __future__ import annotations

import io
import os
import random
import sys
import xml.etree.ElementTree
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any, NamedTuple, Optional, Union

from .._lock import Lock
from . import boxed, films, followers, libraries, seen, sight, soundfiles, sounds
from .annotated import Unknown
from .getitem import Picture, Reader
from .kept import LABEL, PLAIN, Keys, More, Value, View
from .pixels import Held, is_map_of_classes, is_pixels
from .sounds import Sound


_AGAIN = 16  # samples that are looked at twice, whether they are the same


class Opened(NamedTuple):
    """A sample that is asked for when it is wanted."""

    of: Rest
    number: int

    def brought(self) -> tuple[Any, str, Sequence[Any], Mapping[str, Any]]:
        """The path or the bytes of its picture, its name, what it has beside the picture, and columns, by their names, of what the engine is told of it. Raises what the data set raises, and TypeError where these are something else."""
        return self.of(self.number)

    def files(self) -> Sequence[Any]:
        """Their paths, or the bytes of them. Raises what the data set raises."""
        return self.of.files(self.number)


class Found(NamedTuple):
    """A sample of several files."""

    paths: list[str]
    values: Sequence[Any]  # what it has beside the pictures
    parts: Mapping[str, float] = {}  # where its sounds begin, and how long they are, in seconds, by their columns

    def files(self) -> Sequence[Any]:
        return self.paths


class Samples(NamedTuple):
    """What a data set has."""

    opened: Sequence[Union[Opened, Found]]
    views: list[Union[Picture, Sound]]  # what becomes of each picture, in the order in which they are handed out
    heard: Mapping[int, soundfiles.Facts]  # what the first sample's sounds are, by the numbers of files
    turned: bool  # whether pictures are, as their EXIF says
    size: Optional[list[int]]  # height and width of all pictures, where they are arrays of pixels
    tree: Any  # what a sample is, of kept.View, kept.Value and kept.LABEL


class Around(NamedTuple):
    """A data set that has another's pictures and labels, such as a part of a random_split's with a transform."""

    inner: Any
    attribute: str  # by which it has that
    views: list[Picture]
    tree: Any
    runs: Optional[Reader]  # where it has more beside them than their labels; None: it has not


class Followed(NamedTuple):
    """A data set whose pictures and what lies in them go through one transform."""

    paths: list[str]
    entries: list[dict[str, Any]]  # what the table holds of each sample, and its followers.Sample
    picture: Picture
    called: str  # the attribute that is the transform
    transform: Any
    keys: tuple[str, ...]  # the columns of the table
    kind: Optional[followers.Kind]  # of torchvision's; None: it is albumentations'


def samples(dataset: Any, cls: type) -> Union[Samples, Around, Followed]:
    """What the __getitem__ of its class says. Raises Unknown where it does other things with a picture."""
    try:
        reader = Reader(dataset, vars(cls)["__getitem__"], cls)
    except Unknown as error:
        try:
            joint = boxed.read(dataset, cls)
            if joint is not None:
                return followed(dataset, joint)
        except Unknown as other:
            if boxed.has_boxes(dataset):
                raise other from None
        raise error from None
    if reader.inner is not None:
        return Around(reader.inner[1], reader.inner[0], [one for one in reader.views if isinstance(one, Picture)], _labelled(reader.outputs) if reader.is_around else reader.outputs, None if reader.is_around else reader)
    return run(dataset, reader)


def followed(dataset: Any, reader: boxed.Reader) -> Followed:
    """All samples, and what lies in them. Raises Unknown."""
    rest, picture, of = Rest(dataset, reader.rest(None if reader.inner is None else _annotated(reader.inner[1]))), reader.picture, type(dataset).__qualname__
    rest.modes = {0: ""} if picture.mode == "" else {}
    found = rest.found([""], "with boxes or points")
    told = [reader.told(one.values) for one in found]
    ahead = [one["resize"]["size"] for one in picture.transforms if isinstance(one, dict)]
    kind: Optional[followers.Kind] = None
    if reader.of_albumentations:
        entries, keys = followers.of_albumentations(reader, told, of)
    else:
        entries, kind = followers.of_torchvisions(reader, told, of)
        keys = kind.keys
    if ahead:  # by hand, in front of the transform: boxes are of what it has made
        followers.check_resized(ahead, keys)
        for number, (entry, one) in enumerate(zip(entries, found)):
            try:
                high, wide, _ = sight.seen(one.paths[0], picture.turned)
            except OSError as error:
                raise Unknown(f"{of}[{number}]: {one.paths[0]}: {error}, and boxes are of the picture that it is resized to") from None
            followers.scale(entry, wide / ahead[0][1], high / ahead[0][0])
    return Followed([one.paths[0] for one in found], entries, picture._replace(mode=picture.mode or rest.modes[0] or "RGB"), reader.called, reader.transform, keys, kind)


def _annotated(inner: Any) -> Any:
    """What has the path and the annotations of a CocoDetection's or a VOCDetection's samples by their numbers. Raises Unknown."""
    of_coco = libraries.derives(inner, "torchvision.datasets", "CocoDetection")
    if not of_coco and not libraries.derives(inner, "torchvision.datasets", "VOCDetection") or inner.transforms is not None:
        raise Unknown(f"super().__getitem__: got a {type(inner).__qualname__}{' with transforms' if getattr(inner, 'transforms', None) is not None else ''}, want CocoDetection or VOCDetection, whose pictures no transform has")

    def found(number: int) -> tuple[str, Any]:
        if not of_coco:
            return inner.images[number], inner.parse_voc_xml(xml.etree.ElementTree.parse(inner.annotations[number]).getroot())
        one = inner.ids[number]
        return os.path.join(inner.root, inner.coco.loadImgs(one)[0]["file_name"]), inner._load_target(one)

    return found


def run(dataset: Any, reader: Reader, inner: Any = None) -> Samples:
    """The samples of a data set, with what is left of its code. Raises Unknown."""
    rest = Rest(dataset, reader.rest(inner), reader.files)
    reader.outputs = rest.spread(reader.outputs)
    if (told := [one.film for one in reader.views if isinstance(one, Picture) and one.film is not None and one.film.told >= 0]):
        if reader.files > 1 or len(told) < len(reader.views):
            raise Unknown(f"has {max(reader.files, len(reader.views))} pictures, sounds or videos in a sample, and frames of one that code names, want frames of one video alone ({seen.PAGE})")
        watched = rest.watch(told)
        return Samples([Opened(rest, i) for i in range(len(dataset))], [one._replace(film=watched[one.film.told]) if isinstance(one, Picture) and one.film is not None else one for one in reader.views], {}, False, None, reader.outputs)
    rest.modes = {one.file: "" for one in reader.views if isinstance(one, Picture) and one.mode == ""}
    rest.listen([one for one in reader.views if isinstance(one, Sound)])
    heard = {file: want.first for file, want in rest.wants.items()}
    if reader.files > 1 or rest.windows or len(reader.views) > 1 and any(isinstance(one, Sound) or one.film is not None for one in reader.views):  # a program brings a file for one sound
        found = rest.found([kind(reader.views, i) for i in range(reader.files)], *(["with parts of sounds"] if rest.windows and reader.files == 1 else []))
        return Samples(found, [one._replace(mode=one.mode or rest.modes[one.file]) if isinstance(one, Picture) else one for one in reader.views], heard, False, None, reader.outputs)
    rest.look(reader.outputs == (View(0), Value(0)))
    views = [_seen(one, rest) for one in reader.views]
    first = views[0]
    return Samples([Opened(rest, i) for i in range(len(dataset))], views, heard, isinstance(first, Picture) and first.turned, rest.shape[:2] or None, PLAIN if rest.labelled else reader.outputs)


def hold_sides(pictures: Sequence[Any]) -> None:
    """Have frames of other sizes than the first sample's refused, as no transform makes all one size."""
    for one in pictures:
        if isinstance(one, Opened):
            one.of.one_size = True


def extents(pictures: Sequence[Any], file: int, turned: bool) -> Iterator[tuple[int, int]]:
    """Height and width of pictures, but for those that cannot be read, which are bad samples when their turn comes."""
    for one in pictures:
        try:
            picture = one.paths[file] if isinstance(one, Found) else one.brought()[0] if isinstance(one, Opened) else one
            yield sight.seen(io.BytesIO(picture) if isinstance(picture, bytes) else picture, turned)[:2]
        except Exception:
            continue


def _seen(one: Union[Picture, Sound], rest: Rest) -> Union[Picture, Sound]:
    """With the mode that the first sample's picture has."""
    if isinstance(one, Sound):
        return one
    return one._replace(mode=rest.mode) if one.mode == "pixels" else one._replace(mode=one.mode or rest.modes[0] or "RGB")


def kind(views: Sequence[Union[Picture, Sound]], file: int) -> str:
    """What a file has to be, for the maps of classes that are made of it."""
    modes = {one.mode for one in views if isinstance(one, Picture) and one.file == file and is_map(one)}
    return "index" if "index" in modes else "L" if modes else ""


def is_map(one: Picture) -> bool:
    """Whether class numbers are handed out, or what goes through transforms as such."""
    return one.mask or one.mode in ("index", "gray")


def _labelled(tree: Any) -> Any:
    """With the other data set's label in the place of what stands beside pictures."""
    if isinstance(tree, Value):
        return LABEL
    if isinstance(tree, dict):
        return {key: _labelled(one) for key, one in tree.items()}
    return type(tree)([_labelled(one) for one in tree]) if isinstance(tree, (list, tuple)) else tree


class Rest:
    """What is left of a __getitem__: where a picture lies, and what is handed out beside it. The data set's code is run by one thread at a time, as in a worker of torch's."""

    def __init__(self, dataset: Any, function: FunctionType, files: int = 1) -> None:
        self._dataset, self._function, self._files = dataset, function, files
        self._running = Lock()
        self._spread: dict[int, list[Any]] = {}  # the keys of dicts, by their numbers
        self._taken: Optional[list[tuple[int, Any]]] = None  # of what code hands out, and of its dicts; None: all
        self.labelled = False  # whether a sample is a picture and a whole number
        self.modes: dict[int, str] = {}  # of files that nothing converts, by their numbers, as the first sample has them
        self.wants: dict[int, soundfiles.Want] = {}  # what files of sounds have to be, by their numbers
        self.windows: list[tuple[int, Any]] = []  # parts of them that code says for each sample, by the files' numbers
        self.shape: list[int] = []  # of its pictures, where they are arrays
        self.shown: dict[int, films.Shown] = {}  # frames that code names, by what it says
        self.one_size = False  # whether all of these are as large as the first sample's

    @property
    def mode(self) -> str:
        """Of its pictures, where they are arrays."""
        return "L" if len(self.shape) == 2 else "RGB"

    def __call__(self, number: int) -> tuple[Any, str, Sequence[Any], Mapping[str, Any]]:
        with self._running:
            (picture,), told, *values = self._said(number)
            if not self.shown:
                return *self._told(number, picture, *values), {}
            of, path = f"{type(self._dataset).__qualname__}[{number}]", os.path.abspath(os.fsdecode(picture))
            try:
                numbers = {f"{films.NUMBERS}{at}": seen.checked(told[at], of, path, one.frames, one.sides if self.one_size else None) for at, one in self.shown.items()}
            except Unknown as error:
                raise _Wrong(f"{error}") from None
            return path, path, values, numbers

    def watch(self, shown: Sequence[films.Shown]) -> Mapping[int, films.Shown]:
        """Look at the first sample, which has as many frames as all others, by what code says. Raises Unknown."""
        of = f"{type(self._dataset).__qualname__}[0]"
        try:
            (path,), told, *_ = self._said(0)
        except Exception as error:
            raise Unknown(f"{of}: {type(error).__name__}: {error}, and the first sample says how many frames all have") from None
        self.shown = {one.told: one._replace(frames=len(told[one.told].numbers), sides=told[one.told].facts.sides) for one in shown}
        for at, one in self.shown.items():
            seen.checked(told[at], of, path, one.frames, None)
        return self.shown

    def _run(self, number: int) -> tuple[Any, ...]:
        """The files of a sample, and what it has beside its pictures."""
        pictures, _, *values = self._said(number)
        return pictures, *values

    def _said(self, number: int) -> tuple[Any, ...]:
        """The same, with what its code says of parts of files."""
        both, *values = self._function(self._dataset, number)
        pictures, told = both[:self._files], both[self._files:]
        for dict_of_it, keys in self._spread.items():
            if _keys(values[dict_of_it]) != keys:
                raise _Wrong(f"{type(self._dataset).__qualname__}[{number}] has the keys {', '.join(map(repr, values[dict_of_it]))}, want {', '.join(map(repr, keys))}, as the first sample has them")
        return pictures, told, *(values if self._taken is None else [values[at] if key is None else values[at][key] for at, key in self._taken])

    def spread(self, tree: Any) -> Any:
        """With the keys of the first sample's in the place of dicts that code makes. Raises Unknown."""
        if not _has_keys(tree):
            return tree
        try:
            _, *values = self._function(self._dataset, 0)
        except Exception as error:
            raise Unknown(f"{type(self._dataset).__qualname__}[0]: {type(error).__name__}: {error}, and its keys are those of all samples") from None
        other = next((one for number in _tuples(tree) if not isinstance(one := values[number], tuple)), None)
        if other is not None:
            raise Unknown(f"{type(self._dataset).__qualname__}[0] adds a {type(other).__qualname__} to a tuple, want a tuple")
        other = next((one for number in _numbers(tree) if not isinstance(one := values[number], (dict, tuple))), None)
        if other is not None:
            raise Unknown(f"{type(self._dataset).__qualname__}[0] puts a picture into a {type(other).__qualname__}, want a dict")
        taken: list[tuple[int, Any]] = []
        self._spread = {number: _keys(values[number]) for number in _numbers(tree)}
        spread = _spread(tree, self._spread, taken)
        self._taken = taken
        return spread

    def files(self, number: int) -> Sequence[Any]:
        """The paths of a sample's files, or the bytes of them."""
        with self._running:
            return [one if isinstance(one, (str, os.PathLike)) else bytes(one.read()) if hasattr(one, "read") else b"" for one in self._run(number)[0]]

    def listen(self, heard: Sequence[Sound]) -> None:
        """To the first sample's sounds, which all others have to be like. Raises Unknown."""
        heard = [one.whole for one in heard]
        self.windows = list({(one.file, one.window): None for one in heard if sounds.is_told(one.window)})
        for file in sorted({one.file for one in heard}):
            of = f"{type(self._dataset).__qualname__}[0]"
            try:
                path = self.files(0)[file]
            except Exception as error:
                raise Unknown(f"{of}: {type(error).__name__}: {error}, and its sound says the rate and the channels of all") from None
            first = soundfiles.facts(path)
            if first is None:
                raise Unknown(f"{of}: {_named(path)} cannot be read as a sound, and the first says the rate and the channels of all")
            self.wants[file] = want = soundfiles.Want([one for one in heard if one.file == file], first)
            if wrong := want.check(first):
                raise Unknown(f"{of}: {_named(path)} {wrong}")

    def _check_sound(self, of: str, file: int, path: Any, told: Sequence[Any] = ()) -> dict[str, float]:
        """Refuse a sound that is of another rate or of other channels than the first one, where its code does not make them one. What it takes of the file, by columns."""
        if file not in self.wants:
            return {}
        windows = [window for at, window in self.windows if at == file]
        if (got := soundfiles.facts(path)) is None:
            got = self.wants[file].first  # it is a bad sample, when its turn comes
        elif wrong := self.wants[file].check(got):
            raise _Wrong(f"{of}: {_named(path)} {wrong}")
        try:
            return {name: value for window in windows for name, value in soundfiles.part(window, told, got).items()}
        except Unknown as error:
            raise _Wrong(f"{of}: {_named(path)}: {error}") from None

    def found(self, kinds: Sequence[str], such: str = "of several files") -> list[Found]:
        """All samples, whose files a table names. Raises Unknown where code draws them, or files are no maps of classes."""
        before = _drawn()
        all_of_them: list[Found] = []
        for number in [*range(len(self._dataset)), *range(min(_AGAIN, len(self._dataset)))]:
            of = f"{type(self._dataset).__qualname__}[{number}]"
            try:
                pictures, told, *values = self._said(number)
            except _Wrong as error:
                raise Unknown(f"{error}") from None
            except Exception as error:
                said = f"{error}" if isinstance(error, boxed.Unheld) else f"{type(error).__name__}: {error}, and all samples {such} are found when the loader is made"
                raise Unknown(f"{of}: {said}") from None
            other = next((one for one in pictures if not isinstance(one, (str, os.PathLike))), None)
            if other is not None:
                raise Unknown(f"{of} opens a {type(other).__qualname__}, want paths, as a sample has several pictures, whose files a table names")
            paths = [os.path.abspath(os.fsdecode(one)) for one in pictures]
            for path, want in zip(paths, kinds):
                if want and not is_map_of_classes(path, want == "index"):
                    raise Unknown(f"{of}: {path} is no map of class numbers, want a PNG of 8 bits of grey{', or of a palette' if want == 'index' else ''}")
            parts: dict[str, float] = {}
            try:
                for file, path in enumerate(paths):
                    self._check_mode(of, file, path)
                    parts.update(self._check_sound(of, file, path, told))
            except _Wrong as error:
                raise Unknown(f"{error}") from None
            if len(all_of_them) < len(self._dataset):
                all_of_them.append(Found(paths, values, parts))
            elif all_of_them[number].paths != paths or all_of_them[number].parts != parts:
                before = []
        if _drawn() != before:
            raise Unknown(f"its code draws numbers, and all samples {such} are found when the loader is made, once for all epochs, want the same files and values each time: draw them in __init__, once, or make a loader of other ones each epoch")
        return all_of_them

    def look(self, pair: bool) -> None:
        """Look at the first sample, which the others are like. Raises Unknown of what is wrong with it."""
        try:
            if len(self._dataset) > 0:
                (picture,), *values = self._run(0)
                self.labelled = pair and type(values[0]) is int
                if is_pixels(picture):
                    self.shape = list(picture.shape)
                self._told(0, picture, *values)
        except _Wrong as error:
            raise Unknown(f"{error}") from None
        except Exception:  # the sample is a bad one, when its turn comes
            return

    def _told(self, number: int, picture: Any, *values: Any) -> tuple[Any, str, Sequence[Any]]:
        of = f"{type(self._dataset).__qualname__}[{number}]"
        if self.labelled and type(values[0]) is not int:
            raise _Wrong(f"{of} has the label {values[0]!r:.60}, want int, as the first sample has it")
        if is_pixels(picture):
            if list(picture.shape) != self.shape:
                raise _Wrong(f"{of} has a picture of {list(picture.shape)}, want {self.shape or 'a file'}, as the first sample has it")
            return Held(picture, of).png(), of, values
        if isinstance(picture, (str, os.PathLike)):
            path = os.path.abspath(os.fsdecode(picture))
            self._check_mode(of, 0, path)
            self._check_sound(of, 0, path)
            return path, path, values
        if not hasattr(picture, "read"):
            raise _Wrong(f"{of} opens a {type(picture).__qualname__}{_shape(picture)}, want a path, a file such as io.BytesIO(bytes), or, of Image.fromarray, an array of u8, [H, W] or [H, W, 3]")
        data = bytes(picture.read())
        self._check_mode(of, 0, io.BytesIO(data))
        self._check_sound(of, 0, data)
        return data, of, values

    def _check_mode(self, of: str, file: int, picture: Any) -> None:
        """Refuse a picture that is of another mode than the first one, where nothing converts it. One that Pillow does not know the engine tells of."""
        if file not in self.modes:
            return
        try:
            with sys.modules["PIL.Image"].open(picture) as opened:
                mode = opened.mode
        except OSError:
            return
        want = self.modes[file] or ("L" if mode == "L" else "RGB")
        if mode != want:
            raise _Wrong(f"{of} has a picture of mode {mode}, want {want}{', as the first sample has it' if self.modes[file] else ' or L'}: image.convert(\"RGB\") behind Image.open makes them all RGB")
        self.modes[file] = want


def _named(path: Any) -> str:
    return "its file" if isinstance(path, bytes) else str(path)


def _keys(one: Any) -> list[Any]:
    """Of a dict that pictures are put into, or the places of a tuple that is added to one with pictures."""
    return list(one) if isinstance(one, dict) else list(range(len(one)))


def _has_keys(tree: Any) -> bool:
    return bool(_numbers(tree))


def _tuples(tree: Any) -> list[int]:
    """Of tuples that are added to one with pictures."""
    return [one.number for one in tree if isinstance(one, More)] if isinstance(tree, tuple) else []


def _numbers(tree: Any) -> list[int]:
    """Of dicts that pictures are put into, and of tuples that are added to one with pictures."""
    if isinstance(tree, (Keys, More)):
        return [tree.number]
    inside = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, (tuple, list)) else ()
    return [number for one in inside for number in _numbers(one)]


def _spread(tree: Any, keys: Mapping[int, Sequence[Any]], taken: list[tuple[int, Any]]) -> Any:
    if isinstance(tree, Keys):
        return {key: tree.put[key] if key in tree.put else _value(tree.number, key, taken) for key in keys[tree.number]}
    if isinstance(tree, Value):
        return _value(tree.number, None, taken)
    if isinstance(tree, tuple) and tree and isinstance(tree[-1], More):
        return (*_spread(tree[:-1], keys, taken), *[_value(tree[-1].number, at, taken) for at in keys[tree[-1].number]])
    if isinstance(tree, dict):
        return {key: _spread(one, keys, taken) for key, one in tree.items()}
    return type(tree)([_spread(one, keys, taken) for one in tree]) if isinstance(tree, (tuple, list)) else tree


def _value(number: int, key: Any, taken: list[tuple[int, Any]]) -> Value:
    taken.append((number, key))
    return Value(len(taken) - 1)


def _drawn() -> list[Any]:
    """How far the generators of numbers are."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    _, keys, at, *_ = (None, b"", 0) if numpy is None else numpy.random.get_state()
    return [random.getstate(), bytes(keys), at, b"" if torch is None else bytes(torch.get_rng_state().numpy())]


def _shape(picture: Any) -> str:
    return f" of {picture.dtype} {list(picture.shape)}" if hasattr(picture, "dtype") and hasattr(picture, "shape") else ""


class _Wrong(TypeError):
    """Of a sample that is something else."""
