"""torch's DataLoader(dataset, ...) as a description, and what is opened with it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, Optional, Union

from .. import _torchrun
from .._errors import ArgumentError
from .._given import plain, whole
from . import beside, columns, datasets, films, followers, formats, held, huggingface, joint, litdata, mosaic, ordered, processors, rows, samplers, streams, views
from .given import refusal
from .kept import Kept, Row
from .labels import Sampled
from .made import Made, Streamed, uncollected
from .methods import MASK
from .picture import Picture
from .table import TABLE, files as table_of_files, table
from .targets import LABEL, Finish
from .transforms import Places, is_plain, resolved, told

# torch's arguments, in the order of its positional ones; the rest go by name.
POSITIONAL = ("batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn", "pin_memory", "drop_last", "timeout", "worker_init_fn",
              "multiprocessing_context", "generator")
ARGUMENTS = (*POSITIONAL, "prefetch_factor", "persistent_workers", "pin_memory_device", "in_order")
COLUMNS = ("transform", "fields")  # what a data set of columns, Hugging Face's, MosaicML's or litData's, is told beside them


class Drop(NamedTuple):
    """What torch's arguments say."""

    description: dict[str, Any]  # with the data set's transform in it
    made: Made
    pin: bool
    device: Optional[int]
    files: beside.Files  # that the description names


def describe(what: Any, /, **arguments: Any) -> dict[str, Any]:
    """What spdl makes of torchvision's, timm's and albumentations' transforms, of transformers' image processors and of torchvision's and Hugging Face's data sets and webdataset's pipelines, as plain data: to see it, and to keep it as a file.

        spdl.describe(transforms.Compose([...]))           # the section of a picture: {"transform": [...], "layout": "NCHW", "dtype": "f32"}
        spdl.describe(ImageFolder(root, transform), batch_size=64, shuffle=True)        # a description, as spdl.DataLoader of the same opens it
        spdl.describe({"source": ..., "image": {"transform": Compose([...])}})          # a description with operations in the place of transforms

    The arguments are torch's, beside a data set alone, and of one of Hugging Face's transform= and fields= of spdl.DataLoader. Of a data set whose files are no folder as ImageFolder lists it the source is
    {"host": {"samples": N}}: the files are brought by the loader (source=). Raises SpecError and ArgumentError with where, what and a remedy for
    what has no equal here: nothing is approximated.

    A sampler's weights or groups, boxes, masks and other targets than labels, and tensors are files beside the description: weights.npy, groups.npy, table.npz and data.FIELD.npy; of Hugging Face's which rows of its files
    a data set has, only.npy, and data.arrow, rows that are in no file, or table.jsonl, those whose pictures are files. files=DIR,
    beside the arguments, writes them there, and the description has their paths.
    """
    directory = arguments.pop("files", None)
    if is_dataset(what):
        made = drop(what, arguments)
        description = resolved(made.description)[0]
        if directory is not None:
            description = beside.named(description, beside.write(made.files, directory))
    elif arguments or directory is not None:
        raise TypeError(f"spdl: describe: got {', '.join([*arguments, *(['files'] if directory is not None else [])])}, torch's arguments, beside a {type(what).__qualname__}, want them beside a data set alone")
    elif isinstance(what, Mapping):
        description = resolved(what)[0]
    elif is_plain(what) and (isinstance(what, (str, bytes)) or not isinstance(what, Sequence)):
        raise TypeError(f"spdl: describe: got {what!r:.60}, want transforms, a data set of torchvision's or Hugging Face's, or a description as a dict")
    else:
        said = told(what, "transform")
        description = {"transform": said.operations, **said.section}
    return json.loads(json.dumps(description, default=plain))


def is_dataset(one: Any) -> bool:
    """Whether this is a data set that somebody gives in the place of a description."""
    return huggingface.is_dataset(one) or datasets.is_dataset(one) or streams.is_dataset(one) or held.is_rows(one)


def has_columns(one: Any) -> bool:
    """Whether a data set's samples are columns by their names, with transform= of its pictures and fields=."""
    return huggingface.is_dataset(one) or mosaic.is_dataset(one) or litdata.is_dataset(one)


@uncollected()
def drop(dataset: Any, arguments: dict[str, Any]) -> Drop:
    """What torch's DataLoader would do with these arguments."""
    if streams.is_dataset(dataset):
        own = {name: arguments.get(name) for name in COLUMNS} if has_columns(dataset) else {}
        said = _Arguments({name: value for name, value in arguments.items() if name not in own})
        return _streamed(streams.read(dataset, said, own), said)
    count, make, arguments = _looked_at(dataset, arguments)
    said = _Arguments(arguments)
    order: dict[str, Any] = {"shuffle": said.flag("shuffle"), "seed": said.seed(said.get("generator")), "last": "drop" if said.flag("drop_last") else "cover"}
    said.look_at_batches(dataset)
    sampled = samplers.sampled(said, count, order)
    groups = samplers.grouped(said, sampled, count, order)
    if count == 0:
        datasets.refuse("dataset", dataset, "has no samples")
    made = make(sampled.chosen, said)
    made = _in_its_order(made, said, order) if sampled.own else made
    description: dict[str, Any] = {
        "source": made.source, "batch": said.batch_size(), "order": order, **made.sections, "bad_sample": {"policy": "fail"},  # as an exception in a worker does
    }
    files = dict(made.files)
    for key, name, numbers in (("weights", beside.WEIGHTS, sampled.weights), ("group", beside.GROUPS, groups)):
        if numbers is not None:
            files[name] = beside.npy(numbers)
            order[key] = name
    if sampled.world:
        description["world"] = sampled.world
    return _ended(description, made, files, said)


def _in_its_order(made: Made, said: _Arguments, order: dict[str, Any]) -> Made:
    """Samples in the order of a sampler of the program's own: they are brought one after the other, or their numbers where the engine has them in a table."""
    name, sampler = ("sampler", said.get("sampler")) if said.batches is None else ("batch_sampler", said.batches)
    asked = ordered.Asked(sampler, name, said.batch_size(), said.flag("drop_last"), "DataLoader", made.backwards, said.get("generator"))
    if made.brought is None or made.files:
        order["asked"] = True
        return made._replace(brought=ordered.Numbers(asked))
    return made._replace(source={**made.source, "host": {"stream": True}} if "host" in made.source else {"host": {"stream": True}}, brought=ordered.Order(asked, made.brought))


def _streamed(read: Streamed, said: _Arguments) -> Drop:
    """Of one that is iterated, which says its order itself."""
    made = read.made
    description = {"source": made.source, "batch": read.batch, "order": read.order, **made.sections, "bad_sample": read.bad_sample, **({"world": read.world} if read.world else {})}
    return _ended(description, made, made.files, said)


def _ended(description: dict[str, Any], made: Made, files: beside.Files, said: _Arguments) -> Drop:
    """What the rest of torch's arguments say."""
    if ring := said.ring():
        description["ring"] = ring
    said.check_rest()
    pin, device = said.pinned()
    return Drop(description, made, pin, device, files)


def _looked_at(dataset: Any, arguments: dict[str, Any]) -> tuple[int, Callable[[Optional[Sequence[int]], _Arguments], Made], dict[str, Any]]:
    """How many samples there are; what makes parts of a description of some of them, or, of None, of all; and torch's arguments."""
    if huggingface.is_dataset(dataset):
        of_theirs = huggingface.samples(dataset)
        transform, fields = (arguments.get(name) for name in COLUMNS)
        return len(of_theirs), lambda chosen, said: columns.made(of_theirs if chosen is None else of_theirs.part(chosen), *formats.resolved(of_theirs, transform, fields, _collate(said))), \
            {name: value for name, value in arguments.items() if name not in COLUMNS}
    if any(huggingface.is_dataset(one) for one in getattr(dataset, "datasets", ())):
        datasets.refuse("dataset", dataset, "has data sets of Hugging Face's in it, want one of theirs: datasets.concatenate_datasets([...])")
    if held.is_held(dataset):
        tensors = held.held(dataset)
        return len(tensors), lambda chosen, said: held.made(tensors if chosen is None else tensors.part(chosen), dataset, said.collate()), arguments
    if (taken := rows.read(dataset)) is not None:
        return len(taken), lambda chosen, said: rows.made(taken if chosen is None else taken.part(chosen), said.collate()), arguments
    of = datasets.pictures(dataset)
    return len(of.pictures), lambda chosen, said: _of_pictures(of if chosen is None else datasets.part(of, chosen), dataset, said), arguments


def _of_pictures(of: datasets.Pictures, dataset: Any, said: _Arguments) -> Made:
    """What a data set of torchvision's is."""
    kept = Kept()
    finish: Any
    if of.target.kind in ("label", "values"):
        collate = _collate(said)
        finish, sections, places, fields = views.made(datasets.viewed(of), dataset, collate, _listed(said, collate), kept)
    else:
        finish, sections, places, fields = *_sections(of, dataset, said), of.target.fields()
    told = {one.film.told: films.column(one.film) for one in of.views or () if isinstance(one, Picture) and one.film is not None and one.film.told >= 0}
    source: dict[str, Any] = {"host": {"samples": len(of.pictures)}, **({"columns": list(told.values())} if told else {})}
    files: beside.Files = {}
    if of.target != LABEL:
        columns, files[TABLE] = table(of.target, of.pictures, of.labels, *_forms(of, sections))
        source = {"list": TABLE, "labels": "none", **({"columns": columns} if columns else {})}
    elif of.found:
        names = [f"file{i}" for i in range(len(of.pictures[0].paths))]
        if "fields" not in sections and of.views:
            names[of.views[0].file] = "path"
        numbers = [{"name": name, "type": "f64"} for name in of.pictures[0].parts]
        source, files[TABLE] = {"list": TABLE, "labels": "none", **({"columns": numbers} if numbers else {})}, table_of_files([one.paths for one in of.pictures], names, [one.parts for one in of.pictures])
    elif datasets.is_folder(of):
        source = {"folder": of.root, "extensions": [ending.lstrip(".") for ending in of.extensions]}
    more = finish.known if isinstance(finish, (Sampled, followers.Finish)) else ()
    return Made(len(of.pictures), source, sections, datasets.Files(of, kept), (*fields, *more), finish, finish.collate is not None, of.classes, files, places)


def _forms(of: datasets.Pictures, sections: dict[str, Any]) -> tuple[str, str]:
    """The form that the table has boxes in, and that in which they are given."""
    if of.target.kind == "boxes":
        return sections["image"]["boxes"]["format"], "xyxy"
    own = of.target.sample.kind if of.target.kind == "own" else None
    return ("", "") if own is None else (sections["image"]["boxes"]["format"], own.form.lower())


def _sections(of: datasets.Pictures, dataset: Any, given: _Arguments) -> tuple[Union[Finish, Sampled, followers.Finish], dict[str, Any], Places]:
    """What becomes of a batch, and the sections of a picture and of what goes through its transforms with it; and of what these are made."""
    if of.target.kind == "objects":
        return _of_objects(of, dataset, given)
    if of.target.kind == "own":
        return _of_own(of, dataset, given)
    collate = _collate(given, of.target.kind == "boxes")
    listed = _listed(given, collate)
    through: Any = joint.Boxes(of.target.keys) if of.target.kind == "boxes" else joint.Mask()
    said = views.told_of(of, dataset, through)
    finish = Finish(of.target, collate, image=said.tv_image)
    operations = [*views.front(of, said.operations), *said.operations]
    shape = views.shape(of, dataset, operations, listed)
    image = {**said.section, **shape, "transform": operations}
    if isinstance(through, joint.Boxes):
        return finish._replace(form="" if said.pure else through.form), {"image": {**image, "boxes": through.section()}}, Places({"image.transform": said.places})
    mask = {"mode": "index", "layout": "NCHW", **shape, "transform": through.operations}
    return finish._replace(form="" if said.pure else "mask", wide=through.wide), {"fields": {"image": {"image": image}, "mask": {"image": mask}}}, \
        Places({"fields.image.image.transform": said.places})


def _of_own(of: datasets.Pictures, dataset: Any, given: _Arguments) -> tuple[followers.Finish, dict[str, Any], Places]:
    """Of pictures and what lies in them, of a class of the program's own."""
    assert of.views is not None
    view, kind, collate = of.views[0], of.target.sample.kind, _collate(given)
    through = None if kind is None else joint.Boxes(of.target.keys, kind.form)
    said = views.told_of(of, dataset, through, array=kind is not None)
    pillow = kind is not None and "layout" not in said.section
    follows: dict[str, Any] = {key: {**{name: one for name, one in said.section[key].items() if name != "with"}, "column": key, **({"with": [says]} if says in of.target.keys else {})} for key, says in (("boxes", "labels"), ("points", "places")) if key in said.section}
    if through is not None:
        follows["boxes"] = through.section()
        kind = kind._replace(out=through.form, sanitized=through.sanitizes, image=said.tv_image, pure=said.pure, pillow=pillow)
    for one in view.transforms:
        if not isinstance(one, Mapping) and not all(map(joint.stays, told(one, f"dataset.{of.target.transformed()}", of.channels).operations)):
            raise refusal(f"dataset.{of.target.transformed()}", one, "moves a picture ahead of the transform that it goes through with what lies in it, want it in that")
    mirrors = followers.mirrors(said.operations) if "points" in follows else ""
    if mirrors:
        follows = {**follows, "points": {"column": "points"}, "affine": True}
    followers.check_ahead(view.after, said.operations, of.transform, f"dataset.{of.target.transformed()}")
    shape = views.shape(of, dataset, said.operations, _listed(given, collate), view)
    image = {**({"mode": "gray"} if of.channels == 1 else {}), **({"orientation": "apply"} if of.turned else {}), **said.section, **shape, **follows, "transform": said.operations}
    finish = followers.Finish([one["sample"] for one in of.labels], kind or followers.Kind(keys=of.target.keys), Row(array=said.array or pillow, first=[each for _, each in view.after]), collate, mirrors)
    return finish, {"image": image}, Places({"image.transform": said.places})


def _of_objects(of: datasets.Pictures, dataset: Any, given: _Arguments) -> tuple[Sampled, dict[str, Any], Places]:
    """Of pictures and objects of which an image processor makes samples."""
    place, collate = f"dataset.{of.target.transformed()}", _collate(given)
    if collate is None:
        datasets.refuse("dataset", dataset, "has samples with labels of as many objects as there are in each, of which torch's own collate makes no batch, want a collate_fn of a list of samples, as its guide has one")
    if not processors.takes_annotations(of.transform):
        datasets.refuse(place, dataset, f"got {type(of.transform).__qualname__}, which makes no labels of annotations, want one of DETR's kin (docs/equivalents.md#transformers-image-processors)")
    said = views.told_of(of, dataset)
    assert said.prepared is not None
    if MASK in of.target.sample.keys() and MASK not in said.prepared.names:
        datasets.refuse(place, dataset, f"do_pad: got False, and samples have a {MASK}, want True")
    shape = {"shape": "ragged"} if "shape" in said.section and "multiple_of" not in said.section else {}
    image = {**said.section, **shape, "affine": True, "transform": said.operations}
    finish = Sampled(of.target.sample, said.prepared, processors.told_of_annotations(of.transform, place), collate)
    return finish, {"image": image}, Places({"image.transform": said.places})


def _collate(given: _Arguments, keep: bool = False) -> Any:
    """The program's collate_fn. torch's own is none, unless it is to be kept."""
    collate = given.get("collate_fn")
    if collate is not None and not callable(collate):
        raise ArgumentError(f"spdl: DataLoader: collate_fn: got {collate!r:.80}, want a function of a list of samples")
    return None if _is_torchs_own(collate) and not keep else collate


def _listed(given: _Arguments, collate: Any) -> bool:
    """Whether the loop may have rows of sizes of their own."""
    return given.batch_size() == 1 or collate is not None and not _is_torchs_own(collate)


def _is_torchs_own(collate: Any) -> bool:
    return collate is not None and (getattr(collate, "__name__", ""), (getattr(collate, "__module__", None) or "").partition(".")[0]) == ("default_collate", "torch")


class _Arguments:
    """torch's arguments, and torch's defaults."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._given = dict(given)
        self.groups: Any = None  # of which batches are, of each sample one
        self.batches: Any = None  # a batch sampler of the program's own
        for name in given:
            if name not in ARGUMENTS:
                raise TypeError(f"spdl: DataLoader: got an unexpected argument {name} beside a data set; torch's are {', '.join(ARGUMENTS)}")
        if self.get("batch_sampler") is not None:
            self._unpack(self._given.pop("batch_sampler"))

    def _unpack(self, batches: Any) -> None:
        """What a BatchSampler has in it takes the place of what it stands for."""
        grouped = samplers.is_grouped(batches)
        for name, usual in (("batch_size", 1), ("shuffle", False), ("sampler", None), ("drop_last", False)):
            if self.get(name) not in (None, usual):
                self.refuse(name, f"got {self.get(name)!r:.60} beside batch_sampler, which says it; leave it out, as torch wants it")
        if not grouped and samplers.kind_of(batches) != "BatchSampler" or grouped and samplers.kind_of(batches.sampler) == samplers.OWN:
            self.batches = batches
            return
        self._given.update(batch_size=batches.batch_size, sampler=batches.sampler, drop_last=getattr(batches, "drop_last", False))
        self.groups = batches.group_ids if grouped else None

    def look_at_batches(self, dataset: Any) -> None:
        """Find out how large the batches of a batch sampler of the program's own are."""
        if self.batches is not None and hasattr(self.batches, "__iter__"):
            most = ordered.largest(self.batches, dataset)
            if most is None:
                self.refuse("batch_sampler", f"got {type(self.batches).__qualname__}, which does not say how many samples a batch has at most, and cannot be copied to be looked at, want batch_size in it: self.batch_size = N")
            self._given["batch_size"] = most

    def get(self, name: str) -> Any:
        return self._given.get(name)

    def given(self) -> list[str]:
        """Those that were given another value than None."""
        return [name for name, value in self._given.items() if value is not None]

    def given_as_none(self, name: str) -> bool:
        return name in self._given and self._given[name] is None

    def workers(self, workers: int, ahead: int) -> None:
        """As many as a loader has that was made before."""
        self._given.update(num_workers=workers, prefetch_factor=ahead)

    def collate(self) -> Any:
        """The program's own collate_fn; None: torch's."""
        return _collate(self)

    def flag(self, name: str) -> bool:
        value = self._given.get(name)
        if value not in (None, True, False):
            self.refuse(name, f"got {value!r:.60}, want True or False")
        return bool(value)

    def refuse(self, name: str, what: str) -> NoReturn:
        raise ArgumentError(f"spdl: DataLoader: {name}: {what}")

    def number(self, name: str, usual: int, least: int) -> int:
        value = self._given.get(name, usual)
        number = whole(f"DataLoader: {name}", usual if value is None else value)
        if number < least:
            self.refuse(name, f"got {number}, want {least} or more")
        return number

    def batch_size(self) -> int:
        if "batch_size" in self._given and self._given["batch_size"] is None:
            self.refuse("batch_size", "got None, samples without batches, want a number; batch_size=1 and [0] of what comes is near")
        return self.number("batch_size", 1, 1)

    def seed(self, generator: Any) -> int:
        """The generator's, or else torch's own, where a program has imported torch."""
        torch = sys.modules.get("torch")
        source = generator if generator is not None else torch
        return int(source.initial_seed()) & (1 << 64) - 1 if source is not None else 0

    def seed_of_stream(self, own: Optional[int]) -> int:
        """Of a data set that is iterated: its own, or the generator's or torch's. Ranks have to have one: where none is said, 0."""
        ranks = _torchrun.ranks()
        if own is not None or self.get("generator") is None and ranks is not None and ranks.world_size > 1:
            return (own or 0) & (1 << 64) - 1
        return self.seed(self.get("generator"))

    def ring(self) -> dict[str, Any]:
        """As many batches ahead as all of torch's workers have, and whether they may pass each other."""
        ring: dict[str, Any] = {}
        if self.get("prefetch_factor") is not None:
            ring["slots"] = max(8, self.number("prefetch_factor", 2, 1) * max(1, self.number("num_workers", 0, 0)))
        if self.get("in_order") is not None and not self.flag("in_order"):
            ring["delivery"] = "ready"
        return ring

    def pinned(self) -> tuple[bool, Optional[int]]:
        device = str(self.get("pin_memory_device") or "").rpartition(":")[2]
        return self.flag("pin_memory"), int(device) if device.isdigit() else None

    def check_rest(self) -> None:
        """What has no meaning here, and what would have one."""
        self.number("num_workers", 0, 0)
        if self.get("worker_init_fn") is not None:
            self.refuse("worker_init_fn", "got one, want none: there are no workers; what is random comes from the generator's seed")
        if self.get("timeout"):
            self.refuse("timeout", f"got {self.get('timeout')!r:.60}, want none: a loop waits as long as the engine lives, and is told where it does not")

