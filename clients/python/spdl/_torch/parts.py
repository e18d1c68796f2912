"""Parts of webdataset's samples as a description has them: pictures, labels, numbers, texts and arrays, by their endings and the functions that they go through."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

from . import addresses, columns, extents
from .called import Called
from .functions import Member, member
from .huggingface import ENDLESS
from .made import TEXT, WINDOW, Made, Streamed
from .mapped import RGB, Part
from .transforms import Places, told
from .webdataset import DICTS, TUPLES, Pipeline

_KINDS = {  # of what a decoder makes of an ending
    **dict.fromkeys(("txt", "text", "transcript"), "text"), **dict.fromkeys(("cls", "cls2", "index", "inx", "id"), "number"), **dict.fromkeys(("json", "jsn"), "json"), "npy": "array",
    **dict.fromkeys(("jpg", "jpeg", "jpe", "jfif", "png", "webp", "gif", "bmp", "tif", "tiff", "ppm", "pgm", "pbm", "pnm", "tga", "jp2"), "picture"),
}
_MODES = {"pil": "rgb", "pilrgb": "rgb", "pill": "gray"}
_TO_TENSOR = ("from_numpy", "as_tensor", "tensor")  # of torch's, which a batch has anyway


def _alone(label: Optional[str], dataset: Any) -> dict[str, Any]:
    """A column that nobody asks for, of samples that are no more than a label: they have to have more."""
    if label is None:
        addresses.refuse("dataset", dataset, 'gives keys alone, and samples have to have a part, want one beside them: .to_tuple("__key__", "cls"), or .to_tuple("__key__", "txt")')
    return {"name": "alone", "from": label, "type": "i64"}


class _Leaf(NamedTuple):
    """A part as a field of a batch."""

    field: str
    number: bool = False  # whether it is one of Python's in a sample
    call: Optional[Called] = None  # what the loop calls with its values


def streamed(pipeline: Pipeline, dataset: Any, said: Any) -> Streamed:
    """A pipeline as parts of a description."""
    batches = pipeline.batches
    assert batches is not None
    fields = _Fields(pipeline, batches.collate is not None, dataset)
    named = pipeline.row if pipeline.form == TUPLES else list(pipeline.named.values())
    places = [f"dataset, part {';'.join(part.names)}" for part in named]
    leaves = [fields.leaf(part, place) for part, place in zip(named, places)]
    keys: Sequence[Any] = range(len(leaves)) if pipeline.form == TUPLES else list(pipeline.named)
    finish = columns.Finish(dict(zip(keys, range(len(leaves)))), [None] * len(leaves), [leaf.number and leaf.call is None for leaf in leaves], "tuple" if pipeline.form == TUPLES else "dict", batches.collate,
                            calls={at: leaf.call._replace(by_torch=batches.by_torch) for at, leaf in enumerate(leaves) if leaf.call is not None})
    shards = list(dict.fromkeys(pipeline.urls))
    if len(shards) < len(pipeline.urls):
        addresses.refuse("dataset", dataset, f"names {len(pipeline.urls) - len(shards)} of its {len(pipeline.urls)} shards twice, want each once; repeat of order in a description has samples several times")
    fields.label = "cls" if pipeline.chosen else fields.label
    if not fields.sections and not fields.columns:
        fields.columns.append(_alone(fields.label, dataset))
    only = {} if pipeline.only_rows is None else {"only": f"{pipeline.only_rows.start}:{'' if pipeline.only_rows.stop == ENDLESS else pipeline.only_rows.stop}"}
    source: dict[str, Any] = {"shards": shards, **only, **({"label": fields.label} if fields.label else {"labels": "none"}), **({"columns": fields.columns} if fields.columns else {})}
    order: dict[str, Any] = {"shuffle": pipeline.shuffled, "seed": said.seed_of_stream(pipeline.seed), "last": "pad" if pipeline.resampled else "drop" if batches.drop_last else "cover"}
    if pipeline.chosen:
        order["filter"] = " && ".join(pipeline.chosen)
    if pipeline.shuffled:
        order["window"] = max(WINDOW, pipeline.workers)
    made = Made(None, source, fields.sections, None, [leaf.field for leaf in leaves], finish, batches.collate is not None, None, {}, Places(), pipeline.epoch)
    return Streamed(made, batches.size, order, {"policy": "skip", "max_rate": 1} if pipeline.skips else {"policy": "fail"})


class _Fields:
    """The fields of a batch."""

    def __init__(self, pipeline: Pipeline, collates: bool, dataset: Any) -> None:
        self._pipeline, self._collates, self._dataset = pipeline, collates, dataset
        parts = pipeline.row if pipeline.form == TUPLES else list(pipeline.named.values())
        if pipeline.form not in (DICTS, TUPLES):
            addresses.refuse("dataset", dataset, 'gives whole samples, whose parts are known only when they are read, want .to_tuple("jpg;png", "cls"), or .rename(image="jpg;png", label="cls", keep=False)')
        self._pictures = sum(self._kind(part) == "picture" for part in parts)
        numbers = [part for part in parts if self._kind(part) == "number"]
        self._labelled = next((part for part in numbers if part.names == ("cls",)), numbers[0] if len(numbers) == 1 and not pipeline.chosen else None)
        self._taken = {"index", "status"}
        self.label: Optional[str] = None
        self.sections: dict[str, Any] = {}
        self.columns: list[dict[str, Any]] = []

    def _kind(self, part: Part) -> str:
        kinds = {_KINDS.get(name.lower().rpartition(".")[2], "") for name in part.names}
        return kinds.pop() if len(kinds) == 1 else ""

    def leaf(self, part: Part, place: str) -> _Leaf:
        if part.names == ("__key__",):
            return _Leaf("key", call=Called([function for _, function in part.functions]) if part.functions else None)
        kind = self._kind(part)
        self._check_decoded(part, kind, place)
        if kind == "picture":
            return self._picture(part, place)
        taken = self._member(part, kind, place)
        if taken is None:
            return self._called(part, kind, place)
        if kind == "number" and part is self._labelled and self.label is None and len(part.names) == 1 and taken in (Member((), ""), Member((), "int")):
            self.label = part.names[0]
            return _Leaf("label", number=True)
        if len(part.names) > 1:
            addresses.refuse(place, self._dataset, "has several names, which only pictures may have, want one")
        name = self._free(taken.path[-1] if taken.path and isinstance(taken.path[-1], str) else part.names[0])
        return getattr(self, f"_{kind}")(part, taken, name, place)

    def _check_decoded(self, part: Part, kind: str, place: str) -> None:
        handlers, only = self._pipeline.decoded, self._pipeline.only
        if part.names[0].startswith("__"):
            addresses.refuse(place, self._dataset, "is no part of the archive, want __key__ of such: there is no shard's name in a batch")
        if not kind:
            addresses.refuse(place, self._dataset, f"has an ending that is not known here, want pictures, {', '.join(sorted(name for name, of in _KINDS.items() if of != 'picture'))}; what else a part can be stands in docs/sources.md#shards")
        if not part.own and (handlers is None or only is not None and not only >= set(part.names)):
            addresses.refuse(place, self._dataset, 'is not decoded, want .decode("pil") in front: pictures, numbers and texts are what it makes')

    # ---- pictures

    def _picture(self, part: Part, place: str) -> _Leaf:
        handlers = self._pipeline.decoded or []
        spec = getattr(handlers[0], "imagespec", None) if len(handlers) == 1 else None
        spec = handlers[0] if len(handlers) == 1 and isinstance(handlers[0], str) else "pil" if part.own else spec
        if spec not in _MODES:
            got = "no pictures" if not handlers else spec or ", ".join(getattr(one, "__name__", type(one).__qualname__) for one in handlers)
            addresses.refuse(place, self._dataset, f'is a picture, and decode makes {got} of it, want .decode("pil"), "pilrgb" or "pill", and ToTensor() or PILToTensor() in the transform')
        transforms = [function for _, function in part.functions if function is not RGB and not (member(function) == Member((), ""))]
        if not transforms:
            addresses.refuse(place, self._dataset, "has no transform, and pictures have to become tensors; give one, such as .map_tuple(Compose([Resize(256), CenterCrop(224), ToTensor()]))")
        at, given = part.functions[0][0], transforms[0] if len(transforms) == 1 else transforms
        said = told(given, at, 3 if _MODES[spec] == "rgb" else 1)
        if "layout" not in said.section:
            addresses.refuse(at, given, "ends with a picture of PIL's or an array, which no batch of tensors can be made of; add ToTensor() for floats, PILToTensor() for bytes")
        section: dict[str, Any] = {"from": list(part.names), **({"mode": "gray"} if _MODES[spec] == "gray" else {}), **extents.shape(given, at, said.operations, self._collates), "transform": given}
        if self._pictures == 1:
            self._taken.add("image")
            self.sections["image"] = section
            return _Leaf("image")
        name = self._free(part.names[0])
        self.sections.setdefault("fields", {})[name] = {"image": section}
        return _Leaf(name)

    # ---- columns

    def _called(self, part: Part, kind: str, place: str) -> _Leaf:
        """A part whose functions are called by the loop."""
        if len(part.names) > 1:
            addresses.refuse(place, self._dataset, "has several names, which only pictures may have, want one")
        call = Called([function for _, function in part.functions], kind == "json")
        if part is self._labelled and self.label is None:
            self.label = part.names[0]
            return _Leaf("label", call=call)
        return self._column(self._free(part.names[0]), part.names[0], "i64" if kind == "number" else "text")._replace(call=call)

    def _member(self, part: Part, kind: str, place: str) -> Optional[Member]:
        """What the functions of a part take of it; None: they do more, and are called."""
        taken = Member((), "")
        for at, function in part.functions:
            one = function if isinstance(function, Member) else member(function)
            if (kind == "array" or kind == "number" and taken.cast != "float" and not self._collates) and getattr(function, "__name__", "") in _TO_TENSOR and (getattr(function, "__module__", None) or "torch").startswith("torch"):
                continue
            if one is None or taken.cast or one.path and kind != "json" or kind == "array" and one.cast:
                if kind != "array":
                    return None
                addresses.refuse(at, function, "got a function of its own of an array, of which nobody knows what it makes, want none; in the loop it works on whole batches")
            taken = Member((*taken.path, *one.path), one.cast)
        if kind == "json" and (not taken.path or not taken.cast) or any(isinstance(key, str) and not re.fullmatch(r"[^\[\].]+", key) or isinstance(key, int) and key < 0 for key in taken.path):
            return None  # its types are known when it is read
        return taken

    def _number(self, part: Part, taken: Member, name: str, place: str) -> _Leaf:
        return self._column(name, part.names[0], {"float": "f64", "str": "text"}.get(taken.cast, "i64"))

    def _text(self, part: Part, taken: Member, name: str, place: str) -> _Leaf:
        return self._column(name, part.names[0], {"int": "i64", "float": "f64"}.get(taken.cast, "text"))

    def _json(self, part: Part, taken: Member, name: str, place: str) -> _Leaf:
        path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in taken.path).lstrip(".")
        return self._column(name, f"{part.names[0]}[{path}]", {"int": "i64", "float": "f64", "str": "text"}[taken.cast])

    def _array(self, part: Part, taken: Member, name: str, place: str) -> _Leaf:
        return self._column(name, part.names[0], "npy")

    def _column(self, name: str, stored: str, type: str) -> _Leaf:
        self.columns.append({"name": name, **({} if name == stored else {"from": stored}), "type": type, **({"max_bytes": TEXT} if type == "text" else {})})
        return _Leaf(name, number=type in ("i64", "f64"))

    def _free(self, wanted: str) -> str:
        """A field's name that no other has."""
        wanted = re.sub("[^A-Za-z0-9_-]", "_", wanted)[:44] or "column"
        names = itertools.chain([wanted], (f"{wanted}_{n}" for n in itertools.count(2)))
        name = next(one for one in names if one not in self._taken and one not in ("label", "key", "image"))
        self._taken.add(name)
        return name
