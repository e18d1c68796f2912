"""What becomes of the pictures of a data set, each once or several times: the sections of a description, and what a loop does with their rows."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

from . import annotated, apart, clips, datasets, extents, films, joint, own, soundfiles, soundrows
from .given import Operation, refusal
from .kept import PLAIN, Kept, Listed, Row, Samples
from .sounds import Sound
from .picture import OfMask, Picture
from .targets import Finish
from .transforms import SIZED, Places, Told, told


def made(of: datasets.Pictures, dataset: Any, collate: Any, listed: bool, kept: Kept) -> tuple[Union[Finish, Samples], dict[str, Any], Places, Sequence[str]]:
    """What becomes of a batch of pictures, each once or as several, and of what is beside them; the sections of these, of what they are made, and what is picked.

    collate    the program's; None: torch's own
    listed     whether the loop may have pictures of sizes of their own
    """
    place, views = f"dataset.{of.target.transformed()}", of.views or ()
    told_of_views = [_of_sound(view, of, dataset, listed) if isinstance(view, Sound) else _of_film(view, of, dataset, place) if view.film is not None else _of_picture(view, of, dataset, listed, place) for view in views]
    sections, rows = [section for section, _ in told_of_views], [row for _, row in told_of_views]
    kinds = ["audio" if isinstance(view, Sound) else "image" if view.film is None else "video" for view in views]
    if of.outputs == PLAIN and kinds == ["image"] and not rows[0].then and not rows[0].array:
        return Finish(of.target, collate, image=rows[0].kind == "Image"), {"image": sections[0]}, Places(), of.target.fields()
    even = [i for i, row in enumerate(rows) if isinstance(row, soundrows.Row) and row.asks]
    finish = Samples(of.outputs, Listed([one.values for one in of.pictures]) if of.found else kept, collate, rows, even)
    number = "index" if of.found else "label"
    if len(sections) == 1:
        return finish, {kinds[0]: sections[0]}, Places(), (kinds[0], number, *["length" for _ in even])
    draws = _draws(views, dataset, place)
    named = {f"view{i}": {**({"draw": "own"} if alone else {}), kind: {**({"from": f"file{view.file}"} if of.found else {}), **section}}
             for i, (kind, alone, view, section) in enumerate(zip(kinds, draws, views, sections))}
    return finish, {"fields": named}, Places(), (*named, number, *[f"view{i}.length" for i in even])


def _draws(views: Sequence[Any], dataset: Any, place: str) -> list[bool]:
    """Of each picture and sound whether it draws for itself. Raises SpecError and ArgumentError of what draws for some of its steps alone."""
    drawn = [view.film.call for view in views if isinstance(view, Picture) and view.film is not None and view.film.call]
    if len(set(drawn)) < len(drawn):
        datasets.refuse("dataset", dataset, "hands out one clip that is drawn several times, want it once, or clips that are drawn each for itself: fields that draw for themselves draw each another clip")
    pictures = iter(apart.own_draws([view for view in views if isinstance(view, Picture)], place))
    try:
        heard = iter(soundrows.own_draws([view.whole for view in views if isinstance(view, Sound)]))
    except annotated.Unknown as error:
        datasets.refuse("dataset", dataset, f"{error}")
    draws = [next(heard) if isinstance(view, Sound) else next(pictures) for view in views]
    if len({isinstance(view, Sound) for view, alone in zip(views, draws) if not alone}) > 1:
        datasets.refuse("dataset", dataset, "has pictures that draw alike, and sounds, want one of them: all fields that do not draw for themselves draw alike")
    return draws


def _of_sound(view: Sound, of: datasets.Pictures, dataset: Any, listed: bool) -> tuple[dict[str, Any], soundrows.Row]:
    """The section and the row of a sound."""
    def longest() -> int:
        return soundrows.longest(view.whole, ((soundfiles.facts(one.files()[view.file]), one.parts if isinstance(one, own.Found) else {}) for one in of.pictures), lambda number: f"{type(dataset).__qualname__}[{number}]")

    try:
        return soundrows.section(view, of.heard[view.file], longest, listed)
    except annotated.Unknown as error:
        datasets.refuse("dataset", dataset, f"{error}")


def _of_film(view: Picture, of: datasets.Pictures, dataset: Any, place: str) -> tuple[dict[str, Any], Row]:
    """The section and the row of frames of a video."""
    assert view.film is not None
    transform = datasets.chain(view.transforms)
    plain = all(isinstance(each, Mapping) for each in view.transforms)
    said = told_of(of._replace(transform=transform, channels=3), dataset, array=plain and bool(view.array or view.axes or view.after))
    operations = said.operations
    if view.film.sides is not None and extents.differ(operations):
        own.hold_sides(of.pictures)
        operations = [{"center_crop": list(view.film.sides)}, *operations]  # which they have
    if view.each == "one":
        datasets.refuse("dataset", dataset, f"hands out a list of frames, {clips.EACH}")
    if extents.differ(operations):
        raise refusal(place, transform, "leaves the size of frames open, and videos have sizes of their own, want one size: Resize((H, W)), or a crop behind what is there")
    if view.each == "all" and not apart.are_still(said.operations):
        raise refusal(place, transform, clips.STILL)
    layout = f"N{'T' * (view.each == 'single')}{view.axes}" if view.axes else f"NT{said.section.get('layout', 'NHWC')[1:]}"
    section = {**view.film.section(), **said.section, "layout": layout, "transform": operations}
    spread, row = films.spread(view.film), _row(view, said, False, plain and bool(view.array or view.after), place)
    if view.each == "single":
        return section, row._replace(then=[lambda rows: rows[:, 0], *row.then])
    return section, row if spread is None else row._replace(then=[spread, *row.then])


def _of_picture(view: Picture, of: datasets.Pictures, dataset: Any, listed: bool, place: str) -> tuple[dict[str, Any], Row]:
    """The section and the row of a picture, or of a map of classes."""
    if view.transforms and isinstance(view.transforms[-1], OfMask):
        return _of_mask(view, view.transforms[-1], of, dataset, listed)
    transform = datasets.chain(view.transforms)
    one, is_map = of._replace(transform=transform, channels=1 if view.mode == "L" else 3), own.is_map(view)
    array = bool(view.array or view.after) and all(isinstance(each, Mapping) for each in view.transforms)  # of NumPy, of a picture that no transform has
    said = told_of(one, dataset, is_map=is_map, array=array)
    if not is_map and one.channels == 1 and of.size is None and "mode" in said.section:
        raise refusal(place, transform, "makes three channels of a grey picture, want image.convert(\"RGB\") behind Image.open, and Grayscale(3) as its first transform, which makes the same three of it")
    operations = [*front(of, said.operations), *said.operations]
    section = {**({"mode": "index"} if is_map else {"mode": "gray"} if one.channels == 1 else {}), **({"orientation": "apply"} if view.turned else {}), **shape(one, dataset, operations, listed, view)}
    # told is told by open, which can say of a refusal which transform it is
    whole = {**section, "transform": transform} if of.size is None and transform is not None else {**section, **said.section, "transform": operations}
    return whole, _row(view, said, is_map, array, place)


def _of_mask(view: Picture, last: OfMask, of: datasets.Pictures, dataset: Any, listed: bool) -> tuple[dict[str, Any], Row]:
    """The section and the row of a mask that goes through v2's transforms beside its picture."""
    through, one = joint.Mask(), of._replace(transform=last.transform)
    said = told_of(one, dataset, through)
    operations = [*view.transforms[:-1], *through.operations]
    early = [each for at, each in view.after if at < len(view.transforms)]
    if early:
        datasets.refuse("dataset", dataset, "has a mask whose numbers are changed ahead of v2's transforms, want that behind them")
    section = {"mode": "index", "layout": "NHWC" if last.flat else "NCHW", **shape(one, dataset, operations, listed, view), "transform": operations}
    wide = [lambda rows: rows.long()] if through.wide else []
    return section, Row("" if said.pure or view.after else "Mask", last.flat, False, (), [*wide, *[each for _, each in view.after]])


def _row(view: Picture, said: Told, is_map: bool, array: bool, place: str) -> Row:
    """What is done to the numbers of a row."""
    first, then = ([each for at, each in view.after if (at < len(view.transforms)) == early] for early in (True, False))
    if first:
        apart.check_numbers(first, view.transforms[-1], place)
    return Row("Image" if said.tv_image and not then else "", is_map or array and view.mode == "L", said.array or array or is_map and not said.tensor, first, then)


def told_of(of: datasets.Pictures, dataset: Any, through: Any = None, is_map: bool = False, array: bool = False) -> Told:
    """What the transform says, which has to make tensors."""
    name = of.target.transformed()
    if is_map:
        return told(of.transform or [], f"dataset.{name}", is_mask=True)
    if of.transform is None and not array:
        datasets.refuse("dataset", dataset, f"has no {name}, and pictures have to become tensors; give one, such as "
                                            "Compose([Resize(256), CenterCrop(224), ToTensor()])")
    said = told(of.transform or [], f"dataset.{name}", of.channels, of.size, through)
    if "layout" not in said.section and not (said.array and of.views is not None) and not array:
        datasets.refuse(f"dataset.{name}", dataset, "ends with a PIL image, which no batch can be made of; add ToTensor() for floats, PILToTensor() for bytes")
    return said


def front(of: datasets.Pictures, operations: list[Operation]) -> list[Operation]:
    """What says the size of pictures that are held where their transform does not, ahead of what needs one."""
    names = [name for operation in operations for name in operation]
    first = next((name for name in names if name in ("pad", *SIZED)), "pad")
    return [{"resize": {"size": of.size, "interpolation": "nearest"}}] if of.size is not None and first == "pad" else []


def shape(of: datasets.Pictures, dataset: Any, operations: list[Operation], listed: bool, view: Optional[Picture] = None) -> dict[str, Any]:
    """What a section says of the shape of its rows, where pictures keep sizes of their own: as the loop has them in a list, or as one picture, they may."""
    if not extents.differ(operations):
        return {}
    place = f"dataset.{of.target.transformed()}"
    if not listed:
        raise refusal(place, of.transform, "leaves the size of each picture open, and torch's own collate makes batches of one size, want collate_fn=lambda samples: "
                                           "tuple(zip(*samples)), which has pictures of any size in a list, as torchvision's detectors take them; or one size: Resize((H, W)), or a crop behind what is there")
    if extents.bounded(operations):
        return {"shape": "ragged"}
    if of.size is not None:
        return {"shape": "ragged", "room": extents.room([(of.size[0], of.size[1])], operations)}
    if view is not None and of.found or of.target.kind == "own" or isinstance(of.pictures[0], own.Opened):
        sides = own.extents(of.pictures, 0 if view is None else view.file, of.turned if view is None else view.turned)
        if (first := next(sides, None)) is None:
            datasets.refuse("dataset", dataset, "has no picture that can be read, and rows have room for the largest; Resize(N, max_size=M) bounds them as well")
        return {"shape": "ragged", "room": extents.room(itertools.chain([first], sides), operations)}
    if of.target.kind not in ("boxes", "mask"):
        raise refusal(place, of.transform, "leaves the size of each picture open, and a data set of files and labels says nothing of it, want what bounds it: Resize(N, max_size=M) or "
                                           "RandomShortestSize(N, max_size=M)")
    try:
        return {"shape": "ragged", "room": extents.room(annotated.extents(of.target, of.pictures, of.labels), operations)}
    except annotated.Unknown as error:
        datasets.refuse("dataset", dataset, f"{error}: rows have room for the largest; Resize(N, max_size=M) bounds them as well")
