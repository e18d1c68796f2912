"""A data set of Hugging Face's as parts of a description, and batches in its words."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, Optional, Union

from .._errors import ArgumentError
from . import extents, features, huggingface, joint, processors
from .beside import Files
from .called import Called
from .features import Leaf, Tree
from .huggingface import LINES, ONLY, Samples
from .given import refusal
from .labels import KNOWN, Labels, Objects
from .streamed import Files as Streamed
from .made import TEXT, Made
from .prepared import KEY, MAPS, PLAIN, Prepared
from .rest import Program, together
from .transforms import Places, Told, told

_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,62}")
_TAKEN = ("label", "index", "key", "status")  # by fields that batches have of themselves,
_OF_MEDIA = ("image", "audio", "length", "count", "grid", "size", "extent", "affine")  # and by those of a picture and a sound
_EXTRACTORS = {  # what feature extractors of transformers' make of sounds, as sections of a description
    "Wav2Vec2FeatureExtractor": '{"rate": 16000, "length": "10s", "shape": "padded", "normalize": {"to": "zero_mean_unit_var"}}, which is its do_normalize (docs/audio.md)',
    "WhisperFeatureExtractor": '{"rate": 16000, "length": "30s", "crop": "start", "features": {"kind": "whisper"}}, which is its log-mel spectrogram (docs/audio.md)',
    "ASTFeatureExtractor": '{"rate": 16000, "length": "10s", "features": {"kind": "fbank", "n_mels": 128, "window_type": "hanning"}}, and features: {normalize: {mean, std}} (docs/audio.md)',
}
_MODES = {None: "rgb", "RGB": "rgb", "L": "gray"}
_DTYPES = {**dict.fromkeys(features.WHOLE, "i64"), **dict.fromkeys(features.FLOATS, "f32"), "bool": "u8"}  # of lists, as with_format("torch") has them


def made(of: Union[Samples, Streamed], transform: Any, fields: Any, collate: Any, program: Optional[Program] = None) -> Made:
    """What a data set is, of which those fields are wanted, in samples for a collate_fn or, where it is None, in batches; and what a program makes of others."""
    return _Columns(of, fields, transform, program).made(transform, collate)


class _Columns:
    """The columns that a loop wants, and what each of them is in a batch."""

    def __init__(self, of: Union[Samples, Streamed], fields: Any, transform: Any, program: Optional[Program] = None) -> None:
        self.of, self.program = of, program
        form, named = wanted(of, fields) if program is None else (program.form, dict[str, str](fields))
        self.form, self.wanted = form, named
        self.named = fields is not None  # whether keys are the program's own
        self.prepared: dict[str, Prepared] = {}  # columns of pictures that an image processor makes
        self.trees: dict[str, Any] = {column: self._tree(column) for column in dict.fromkeys(self.wanted.values())}
        self.annotated = self._annotated(transform)
        self.given = self._given()
        self.leaves = [leaf for tree in (*self.trees.values(), *self.given.values()) for leaf in features.leaves(tree)]
        self.media = [leaf for leaf in self.leaves if leaf.kind in ("image", "audio")]
        self.single = all(sum(leaf.kind == kind for leaf in self.media) <= 1 for kind in ("image", "audio"))  # each has a section of its own
        self.maps = self._maps()
        self.classed = self._label()
        self.label = self.classed if len(self.leaves) > 1 else None  # alone it is a column: samples have to have more than a label
        self.fields = self._named()
        self.followed: list[Leaf] = [] if self.annotated is None else list(self.annotated.members.values())  # lists that lose what a picture's transform drops, or an image processor
        self.places = Places()

    def _tree(self, column: str) -> Tree:
        try:
            return features.tree(self.of.features[column], column)
        except features.Unknown as error:
            self.of.refuse(str(error))

    def _given(self) -> dict[str, Tree]:
        """The columns that a program asks for; of what kind a batch has none it is told when it does."""
        found: dict[str, Tree] = {}
        for column in self.program.columns() if self.program is not None else ():
            try:
                tree = features.tree(self.of.features[column], column)
            except features.Unknown:
                continue
            if all(leaf.kind not in ("image", "audio") and (leaf.kind != "text" or not self.of.nulls(leaf)) for leaf in features.leaves(tree)):
                found[column] = tree
        return found

    def _annotated(self, transform: Any) -> Optional[Annotated]:
        """Of a picture in the place of pixel_values and objects with boxes in that of labels, as image processors call them, these, where the processor takes annotations."""
        picture, objects = (self.wanted.get(key, "") if self.form == "dict" and self.named else "" for key in (KEY, "labels"))
        given = transform[picture] if isinstance(transform, Mapping) and picture in transform else transform
        leaf, tree = self.trees.get(picture), self.trees.get(objects)
        if not isinstance(leaf, Leaf) or leaf.kind != "image" or not isinstance(tree, dict) or "bbox" not in tree or not processors.takes_annotations(given):
            return None
        if list(self.wanted.values()).count(objects) > 1:
            _refuse_fields(self.wanted, f"want {objects!r} once, as labels, which an image processor makes of it")
        if "image_id" not in self.of.columns:
            self.of.refuse(f"has no column image_id, which the labels of objects have, want one: dataset.add_column(\"image_id\", range(len(dataset))); it has {_listed(self.of.columns)}")
        number = self.trees["image_id"] if "image_id" in self.trees else self._tree("image_id")
        if not isinstance(number, Leaf) or number.kind != "number" or number.dtype not in features.WHOLE:
            self.of.refuse("features['image_id']: want whole numbers, which the labels of objects have")
        members = self._members(objects, tree)
        self.trees[objects], self.trees["image_id"] = {one.path[-1]: one for one in members.values()}, number
        return Annotated(leaf, objects, number, members, processors.told_of_annotations(given, "transform"))

    def _members(self, objects: str, tree: Mapping[str, Tree]) -> dict[str, Leaf]:
        """The lists of which labels are made."""
        category = next((tree[name] for name in ("category_id", "category", "label") if name in tree), None)
        found: dict[str, Leaf] = {}
        for name, one, of in (("bbox", tree["bbox"], (*features.WHOLE, *features.FLOATS)), ("category", category, features.WHOLE), ("area", tree.get("area"), (*features.WHOLE, *features.FLOATS)),
                              ("iscrowd", tree.get("iscrowd"), (*features.WHOLE, "bool"))):
            if isinstance(one, Leaf) and one.kind == "list" and one.dtype in of:
                found[name] = one
            elif one is not None or name != "iscrowd":
                wrong = "not there" if one is None else f"no list of {'whole numbers' if features.FLOATS[0] not in of else 'numbers'}"
                self.of.refuse(f"features[{objects!r}]: got objects with {_listed(list(tree))}, want lists of numbers bbox, of x, y, width and height, category_id (or category, label), area, and iscrowd if there are "
                               f"groups, as COCO's annotations have them, and {name} is {wrong}; a description takes boxes of any kind (docs/recipes.md#detection-boxes-that-follow-the-crop)")
        return found

    def _maps(self) -> Optional[Leaf]:
        """The column of pictures that are maps of classes: of pictures in the places of pixel_values and labels, as image processors call them, the second."""
        columns = [self.wanted.get(key) for key in (KEY, *MAPS.names)] if self.form == "dict" and self.named else []
        pictures = [leaf for leaf in self.media if leaf.kind == "image" and len(leaf.path) == 1]
        found = [leaf for column in dict.fromkeys(columns) for leaf in pictures if leaf.column == column]
        return found[1] if len(found) == 2 else None

    def _label(self) -> Optional[Leaf]:
        """The column that is the samples' label: `label`, or else the only one of classes. One whose numbers are others behind a function is none."""
        whole = [leaf for leaf in self.leaves if leaf.kind == "number" and leaf.dtype in features.WHOLE and len(leaf.path) == 1 and leaf.column not in self.of.calls]
        classes = [leaf for leaf in whole if leaf.feature is not None]
        return next((leaf for leaf in whole if leaf.column == "label"), classes[0] if len(classes) == 1 else None)

    def _named(self) -> list[str]:
        """The fields of a batch, one for each leaf."""
        taken = {*_TAKEN, *(_OF_MEDIA if self.single else ())}
        others = (f"column_{n}" for n in itertools.count() if f"column_{n}" not in self.trees)
        names: list[str] = []
        for leaf in self.leaves:
            own = "label" if leaf is self.label else leaf.kind if self.single and leaf in self.media else ""
            free = _NAME.fullmatch(leaf.shown) and leaf.shown not in taken
            names.append(own or (leaf.shown if free else next(others)))
            taken.add(names[-1])
        return names

    def made(self, transform: Any, collate: Any) -> Made:
        given = self._transforms(transform)
        source, stored, files = self._source()
        named = list(zip(self.leaves, self.fields, stored))
        sections: dict[str, Any] = {}
        for leaf, field, place in named:
            if leaf in self.media:
                section = {"from": place, **self._section(leaf, given[leaf.column], collate is not None, field if self.single else f"fields.{field}.{leaf.kind}")}
                sections.update({field: section} if self.single else {"fields": {**sections.get("fields", {}), field: {leaf.kind: section}}})
        columns = [self._column(leaf, field, place, collate) for leaf, field, place in named if leaf is not self.label and leaf not in self.media]
        columns += [{"name": name, "from": stored, **_asked(feature)} for name, (stored, feature) in self.of.asked.items()]
        if columns:
            source["columns"] = columns
        classes = None if self.classed is None else getattr(self.classed.feature, "names", None)
        known, together = self._known(collate is None)
        if self.annotated is not None:
            known += self._noted(len(self.leaves) + len(known))
        calls = {self.leaves.index(leaf): self.of.calls[leaf.column] for leaf in self.leaves if leaf.column in self.of.calls}
        finish = Finish({self._key(key, column, collate is None): self._indexed(self.trees[column]) for key, column in self.wanted.items()}, [*(self._cast(leaf) for leaf in self.leaves), *(None for _ in known)],
                        [*(leaf.column not in self.of.calls and leaf.kind == "number" and not self.of.torch or self._is_pythons(leaf, collate) for leaf in self.leaves), *(False for _ in known)], self.form, collate, len(self.prepared) == 1 and not self.named, calls,
                        self.program, {column: self._indexed(tree) for column, tree in self.given.items()})
        return Made(self.of.number, source, sections, None, [*self.fields, *known], finish, collate is not None, classes and list(classes), files, self.places, together=together)

    def _key(self, key: str, column: str, collated: bool) -> str:
        """What a batch calls a column where nobody says it: of an image processor's picture, and of the label beside that, what models take."""
        if self.named or len(self.prepared) != 1:
            return key
        if column in self.prepared:
            taken = next((name for name in self.prepared[column].names if name in self.wanted and name != column), None)
            if taken is not None:
                self.of.refuse(f"has a column {taken!r} beside {column!r}, of which the image processor makes the same, want fields={{{KEY!r}: {column!r}, ...}}, which names those that are wanted")
            return KEY
        return "labels" if collated and self.label is not None and column == self.label.column and "labels" not in self.wanted else key

    def _source(self) -> tuple[dict[str, Any], list[str], Files]:
        """Where the samples lie, what each leaf is called there, and what is written for it."""
        paths = {self.of.are_files(leaf) for leaf in self.media}
        if len(paths) > 1:
            self.of.refuse("has media of bytes in one column and of paths in another, want one kind: save_to_disk writes the files into the data set")
        if True in paths:
            source: dict[str, Any] = {"list": LINES}
            stored, files = self.fields, {LINES: self.of.lines(list(zip(self.fields, self.leaves)))}
        else:
            at = self.of.located(self.leaves)
            source, files = {"shards": at.files}, dict(at.beside)
            stored = [".".join((at.names[leaf.column], *leaf.path[1:])) for leaf in self.leaves]
            if isinstance(at.only, range):
                source["only"] = f"{at.only.start}:{'' if at.only.stop == huggingface.ENDLESS else at.only.stop}"
            elif at.only is not None:
                source["only"], files[ONLY] = ONLY, huggingface.npy(at.only)
        return {**source, **({"labels": "none"} if self.label is None else {"label": stored[self.leaves.index(self.label)]})}, stored, files

    # ---- media

    def _transforms(self, transform: Any) -> dict[str, Any]:
        """What becomes of each column of media."""
        columns = [leaf.column for leaf in self.media]
        if isinstance(transform, Mapping) and set(transform) <= set(self.of.features):
            other = next((name for name in transform if name not in columns), None)
            if other is not None:
                self.of.refuse(f"transform[{other!r}]: got one of a column that is no picture or sound that is asked for, want {_listed(columns)}")
            given = dict(transform)
        elif len(columns) > 1 and transform is not None and not (len(columns) == 2 and self.maps is not None and processors.ends(transform)):
            of_maps = f"; or, where one is a map of the other's classes, fields={{'pixel_values': {columns[0]!r}, 'labels': {columns[1]!r}}}" if len(columns) == 2 and processors.ends(transform) else ""
            self.of.refuse(f"transform: got one for the columns {', '.join(columns)}, want one for each: transform={{{', '.join(f'{name!r}: ...' for name in columns)}}}{of_maps}")
        elif transform is not None and not columns:
            self.of.refuse("transform: got one, and no column that is asked for is a picture, want none; map whole batches in the loop")
        else:
            given = {column: transform for column in columns}
        for leaf in self.media:
            if given.get(leaf.column) is None:
                self.of.refuse(f"has no transform for {leaf.shown!r}, and pictures have to become tensors; give one, such as transform=Compose([Resize(256), CenterCrop(224), ToTensor()])"
                               if leaf.kind == "image" else
                               f"has no transform for {leaf.shown!r}, and rows of sounds need room; say the section of a description, such as transform={{{leaf.column!r}: {{\"length\": \"10s\"}}}}")
        return given

    def _section(self, leaf: Leaf, given: Any, listed: bool, at: str) -> dict[str, Any]:
        place = f"transform[{leaf.column!r}]" if len(self.media) > 1 else "transform"
        if leaf.kind == "audio":
            return self._sound(leaf, given, place)
        mode = getattr(leaf.feature, "mode", None)
        if mode not in _MODES:
            self.of.refuse(f"features[{leaf.shown!r}]: got Image(mode={mode!r}), want RGB or L: dataset.cast_column({leaf.column!r}, Image(mode=\"RGB\"))")
        section: dict[str, Any] = {"orientation": "apply"}  # as their Image does
        if _MODES[mode] != "rgb":
            section["mode"] = _MODES[mode]
        if isinstance(given, Mapping):
            return {**section, **given}
        if leaf is self.maps and processors.ends(given):
            return self._map(leaf, given, listed, at, place)
        said = told(given, place, 3 if _MODES[mode] == "rgb" else 1)
        if "layout" not in said.section:
            self.of.refuse(f"{place}: ends with a picture of PIL's or an array, which no batch of tensors can be made of; add ToTensor() for floats, PILToTensor() for bytes, ToTensorV2() behind albumentations")
        if "tiles" in said.section and said.prepared is not None:
            section["tiles"] = {"shape": "ragged" if listed and said.prepared.shape == "padded" else said.prepared.shape}
        elif "shape" in said.section:
            section["shape"] = "ragged" if listed and "multiple_of" not in said.section else "padded"
        elif "patches" not in said.section:
            section.update(extents.shape(given, place, said.operations, listed))
        if said.prepared is not None and (len(leaf.path) == 1 or said.prepared.known):
            self.prepared[leaf.column] = self._whole(leaf, said.prepared, place)
        if "points" in said.section:
            self.of.refuse(f"{place}: has keypoint_params, of a column that a description names, want a description: image: {{\"transform\": ..., \"points\": COLUMN}} "
                           "(docs/equivalents.md#albumentations)")
        if "boxes" not in said.section and "shape" not in said.section and (self.annotated is None or leaf is not self.annotated.picture):
            return {**section, "transform": given}  # which open tells, and can say of a refusal which transform it is
        self.places[f"{at}.transform"] = said.places
        if self.annotated is not None and leaf is self.annotated.picture:
            self._check_follows(said, place)
            section["affine"] = True
        if "boxes" not in said.section:
            return {**said.section, **section, "transform": said.operations}
        return {**said.section, **section, "boxes": self._boxes(said.section["boxes"], place), "transform": said.operations}

    def _check_follows(self, said: Told, place: str) -> None:
        """Refuse what is done to pictures ahead of their processor that labels do not follow."""
        remedy = "a description has boxes that follow every operation (docs/recipes.md#detection-boxes-that-follow-the-crop)"
        if "boxes" in said.section:
            self.of.refuse(f"{place}: has bbox_params, and labels are made of the boxes that the data set has, want Compose without it: they follow flips, and what changes colours leaves them; {remedy}")
        for operation, (at, one) in zip(said.operations, said.places):
            if not processors.is_processor(one) and not joint.only_flips(operation):
                raise refusal(at, one, f"got {', '.join(operation)} of pictures whose processor makes labels of objects, want flips and what changes colours: {remedy}")

    def _noted(self, at: int) -> list[str]:
        """Labels in the place of objects, and the fields that these are made of beside their columns and their picture's, of which the first has that number."""
        assert self.annotated is not None
        of, picture = self.annotated, self.leaves.index(self.annotated.picture)
        output = self.trees[of.picture.column]
        extent = dict(zip(output.of.known, output.fields[1:])) if isinstance(output, Output) else {}
        members = {_OBJECTS[name]: self.leaves.index(leaf) for name, leaf in of.members.items()}
        self.trees[of.column] = Labelled(of.labels, {"image": picture, "image_id": self.leaves.index(of.number), **members, **extent, **{name: at + n for n, name in enumerate(KNOWN)}})
        return [name if self.single else f"{self.fields[picture]}.{name}" for name in KNOWN]

    def _map(self, leaf: Leaf, given: Any, listed: bool, at: str, place: str) -> dict[str, Any]:
        """Of a map of classes, what moves pixels; colours are its picture's."""
        said = told(given, place, is_mask=True)
        steps = [(operation, at) for operation, at in zip(said.operations, said.places) if not joint.is_still(operation)]
        operations = [operation for operation, _ in steps]
        self.prepared[leaf.column] = MAPS
        self.places[f"{at}.transform"] = [place for _, place in steps]
        return {"orientation": "apply", **said.section, **extents.shape(given, place, operations, listed), "mode": "index", "transform": operations}

    def _whole(self, leaf: Leaf, of: Prepared, place: str) -> Prepared:
        if len(leaf.path) > 1:
            self.of.refuse(f"{place}: makes {', '.join(of.names)} of a picture, and {leaf.shown!r} is a member of a column, want a column of pictures: dataset.flatten()")
        return of

    def _known(self, collated: bool) -> tuple[list[str], list[str]]:
        """The fields that say something of pictures that image processors make, and those of pictures that a batch has in one."""
        known: list[str] = []
        together: list[str] = []
        for leaf, field in zip(self.leaves, self.fields):
            of = self.prepared.get(leaf.column, PLAIN) if leaf.kind == "image" else PLAIN
            if of != PLAIN:
                at = len(self.leaves) + len(known)
                self.trees[leaf.column] = Output(of, [self.leaves.index(leaf), *range(at, at + len(of.known))])
            known += [name if self.single else f"{field}.{name}" for name in of.known]
            together += [field] if of.together and collated else []
        return known, together

    def _boxes(self, said: Mapping[str, Any], place: str) -> dict[str, Any]:
        """bbox_params, of columns by their own names or those that they have in a struct."""
        column, *others = [self._called(names, place) for names in (("bbox", "bboxes", "boxes"), *((name,) for name in said.get("with", ())))]
        return {**said, "column": column, **({"with": others} if others else {})}

    def _called(self, names: Sequence[str], place: str) -> str:
        """The field of the one list of these names."""
        found = [leaf for leaf in self.leaves if leaf.kind == "list" and leaf.path[-1] in names]
        if len(found) != 1:
            self.of.refuse(f"{place}: has bbox_params of {' or '.join(names)}, and {'no column' if not found else ', '.join(leaf.shown for leaf in found)} is called so, want one list of that name: "
                           "label_fields are names of columns, or of members of their structs")
        self.followed += found
        return self.fields[self.leaves.index(found[0])]

    def _sound(self, leaf: Leaf, given: Any, place: str) -> dict[str, Any]:
        rate = getattr(leaf.feature, "sampling_rate", None)
        if not isinstance(given, Mapping):
            usual = next((section for name, section in _EXTRACTORS.items() if type(given).__name__ == name), '{"length": "10s", "shape": "padded"}')
            self.of.refuse(f"{place}: got {' '.join(repr(given).split()):.80} for sounds, want the section of a description, such as {usual}")
        if rate is None and "rate" not in given:
            self.of.refuse(f"features[{leaf.shown!r}]: got Audio without sampling_rate, and rows of a batch have one rate, want {place}={{\"rate\": 16000, ...}}, or "
                           f"dataset.cast_column({leaf.column!r}, Audio(sampling_rate=16000))")
        return {**({} if rate is None else {"rate": rate}), **given}

    # ---- numbers, texts and lists

    def _is_pythons(self, leaf: Leaf, collate: Any) -> bool:
        """Whether it is a list of Python's in the samples of a collate_fn: with_format("torch") makes tensors of lists, and what goes through a transform is one here."""
        return leaf.kind == "list" and (collate is not None or self.program is not None) and not self.of.torch and leaf not in self.followed

    def _column(self, leaf: Leaf, field: str, stored: str, collate: Any) -> dict[str, Any]:
        column = {"name": field} if stored == field else {"name": field, "from": stored}
        if leaf.kind == "text":
            if (without := self.of.nulls(leaf)) > 0:
                self.of.refuse(f"features[{leaf.shown!r}]: has no text in {without} of its rows, which is None there and an empty text here, want texts in all: dataset.filter(lambda one: one[{leaf.column!r}] is not None), "
                               f"dataset.map(lambda one: {{{leaf.column!r}: one[{leaf.column!r}] or \"\"}}), or leave the column out (fields=)")
            return {**column, "type": "text", "max_bytes": max(1, self.of.longest_text(leaf))}
        if leaf.kind == "number":
            return {**column, "type": "f64" if leaf.dtype in features.FLOATS else "i64"}
        (least, most), *inner = self.of.lengths(leaf)
        uneven = next((n for n, (short, long) in enumerate(inner, 1) if short != long), None)
        if uneven is not None:
            self.of.refuse(f"features[{leaf.shown!r}]: has lists in lists of {inner[uneven - 1][0]} to {inner[uneven - 1][1]} numbers, want them of one length, such as boxes of 4; pad them, or leave the column out "
                           "(fields=)")
        sides = [n for n, _ in inner]
        if self.annotated is not None and leaf is self.annotated.members["bbox"]:
            if sides != [4] and most > 0:
                self.of.refuse(f"features[{leaf.shown!r}]: got boxes of {sides[0] if sides else 'single'} numbers, want x, y, width and height")
            sides = [4]
        column.update(type="list", dtype="f64" if leaf.dtype == "float64" and self._is_pythons(leaf, collate) else _DTYPES[leaf.dtype])
        return {**column, "shape": [most, *sides]} if least == most > 0 and leaf not in self.followed else {**column, "shape": [-1, *sides], "max_length": max(1, most)}

    def _cast(self, leaf: Leaf) -> Optional[str]:
        """What a field's numbers are as torch has them, where that is another type than the field's."""
        if leaf.dtype == "bool":
            return "bool"
        return "float32" if leaf.kind == "number" and leaf.dtype in features.FLOATS and self.of.torch else None

    def _indexed(self, tree: Any) -> Any:
        if isinstance(tree, (Output, Labelled)):
            return tree
        if isinstance(tree, Leaf):
            return self.leaves.index(tree)
        made = {key: self._indexed(one) for key, one in tree.items()}
        return features.Records(made) if isinstance(tree, features.Records) and not any(leaf in self.followed for leaf in features.leaves(tree)) else made


def _asked(feature: Any) -> dict[str, Any]:
    """A column that a filter asks."""
    return {"type": "text", "max_bytes": TEXT} if feature.dtype in features.TEXTS else {"type": "f64" if feature.dtype in features.FLOATS else "i64"}


def wanted(of: Any, fields: Any) -> tuple[str, dict[str, str]]:
    """In what form columns are handed out, and which, by their keys there."""
    have = of.columns
    if fields is None:
        return "dict", {name: name for name in have}
    form = "one" if isinstance(fields, str) else "dict" if isinstance(fields, Mapping) else "tuple"
    if form == "tuple" and (not isinstance(fields, Iterable) or isinstance(fields, (bytes, set, frozenset))):
        _refuse_fields(fields, "want names of columns in an order, a dict {key: column}, or one name")
    wanted: dict[str, str] = {fields: fields} if isinstance(fields, str) else dict(fields) if isinstance(fields, Mapping) else {name: name for name in fields}
    for name in wanted.values():
        if name not in have:
            _refuse_fields(fields, f"and there is no column {name!r}, want some of {_listed(have)}")
    if not wanted:
        _refuse_fields(fields, f"want one column at least, of {_listed(have)}")
    return form, wanted


def _refuse_fields(fields: Any, what: str) -> NoReturn:
    raise ArgumentError(f"spdl: DataLoader: fields: got {fields!r:.80}, {what}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"


class Output(NamedTuple):
    """What an image processor makes of a picture, of the numbers of fields."""

    of: Prepared
    fields: list[int]

    def __call__(self, fields: Sequence[Any]) -> Any:
        return self.of.made([fields[number] for number in self.fields])


class Annotated(NamedTuple):
    """Pictures with objects of which an image processor makes labels."""

    picture: Leaf
    column: str  # of the objects
    number: Leaf  # image_id
    members: dict[str, Leaf]  # bbox, category, area and, where there are any, iscrowd
    labels: Labels


_OBJECTS = {"bbox": "boxes", "category": "classes", "area": "areas", "iscrowd": "crowds"}  # what Objects call them


class Labelled(NamedTuple):
    """Labels, of the numbers of fields."""

    of: Labels
    fields: dict[str, int]

    def __call__(self, fields: Sequence[Any]) -> Any:
        return self.of(Objects(**{name: fields[number] for name, number in self.fields.items()}))


class Finish(NamedTuple):
    """How a batch's fields become what a loop over the data set gets."""

    trees: dict[str, Any]  # numbers of fields, by keys
    casts: Sequence[Optional[str]]  # of each field's numbers, to what
    python: Sequence[bool]  # which fields are Python's numbers, or lists of them, in a sample
    form: str
    collate: Optional[Callable[[list[Any]], Any]]  # the program's, of a list of samples
    spread: bool = False  # whether what a processor makes stands beside the other columns, and not below its column's key, unless that is the first of its names
    calls: Mapping[int, Called] = {}  # what the loop calls with the values of fields, by their numbers
    program: Optional[Program] = None  # what the loop does with columns
    given: Mapping[str, Any] = {}  # numbers of the fields that it does it with, by these columns

    def __call__(self, picked: Sequence[Any]) -> Any:
        fields = [one if cast is None else _cast(one, cast) for one, cast in zip(picked, self.casts)]
        if self.calls:
            arrays = any(hasattr(one, "__array_interface__") for one in picked) and not any(hasattr(one, "new_zeros") for one in picked)
            called = {at: call.values(fields[at]) for at, call in self.calls.items()}
            fields = [fields[at] if at not in called else called[at] if self.collate is not None else self.calls[at].batch(called[at], arrays) for at in range(len(fields))]
        made = self._made(fields)
        if self.collate is None:
            arrays = hasattr(picked[0], "__array_interface__") and not hasattr(picked[0], "new_zeros")
            return self._formed(self._ordered({**self._built(fields), **{key: together(rows, arrays) for key, rows in made.items()}}))
        return self.collate([self._formed(self._ordered({**self._built(row, True), **{key: rows[i] for key, rows in made.items()}})) for i, row in enumerate(self._rows(fields))])

    def _rows(self, fields: Sequence[Any]) -> list[tuple[Any, ...]]:
        return list(zip(*[[one.tolist() for one in field] if python else field for field, python in zip(fields, self.python)]))

    def _made(self, fields: Sequence[Any]) -> dict[str, list[Any]]:
        """What the loop makes of each row."""
        if self.program is None:
            return {}
        rows = self._rows(fields)
        return self.program.rows({column: [_listed_records(tree, mapped(tree, row)) for row in rows] for column, tree in self.given.items()}, len(rows))

    def _ordered(self, whole: dict[str, Any]) -> dict[str, Any]:
        return whole if self.program is None else {key: whole[key] for key in self.program.keys}

    def _built(self, fields: Sequence[Any], of_a_sample: bool = False) -> dict[str, Any]:
        whole: dict[str, Any] = {}
        for key, tree in self.trees.items():
            one = _built(tree, fields)
            if of_a_sample:
                one = _listed_records(tree, one)
            whole.update(one if isinstance(tree, Output) and isinstance(one, dict) and (self.spread or key == KEY) else {key: one})
        return whole

    def _formed(self, whole: dict[str, Any]) -> Any:
        if self.form == "dict":
            return whole
        return tuple(whole.values()) if self.form == "tuple" else next(iter(whole.values()))


def _built(tree: Any, fields: Sequence[Any]) -> Any:
    return tree(fields) if isinstance(tree, (Output, Labelled)) else mapped(tree, fields)


def _listed_records(tree: Any, made: Any) -> Any:
    """What a sample has of a tree, with structs where theirs has these."""
    if not isinstance(tree, dict):
        return made
    members = {key: _listed_records(one, made[key]) for key, one in tree.items()}
    return features.Records.listed(members) if isinstance(tree, features.Records) else members


def mapped(tree: Any, to: Any) -> Any:
    """A tree of dicts and lists, with what its leaves stand for in their places."""
    if isinstance(tree, dict):
        return {key: mapped(one, to) for key, one in tree.items()}
    return [mapped(one, to) for one in tree] if isinstance(tree, list) else to[tree]


def leaves(tree: Any) -> Iterator[Any]:
    """Those of a tree of dicts and lists."""
    if not isinstance(tree, (dict, list)):
        yield tree
        return
    for one in tree.values() if isinstance(tree, dict) else tree:
        yield from leaves(one)


def _cast(field: Any, to: str) -> Any:
    if isinstance(field, list):
        return [_cast(one, to) for one in field]
    if hasattr(field, "astype"):
        return field.astype(to)
    return field.bool() if to == "bool" else field.float()
