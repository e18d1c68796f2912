"""webdataset's pipelines: their stages, one after the other, as shards, an order, batches and what becomes of each part of a sample."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn, Optional, Union

from . import addresses, datasets, libraries, mapped
from .annotated import Unknown
from .functions import is_identity
from .huggingface import ENDLESS
from .mapped import Part

_REMEDIES = {  # of stages that have no equal here
    "_rsample": "leave samples out in the loop",
    "_associate": "a table has such columns: source: {list: FILE} of a description (docs/tables.md)",
    "_extract_keys": 'want .to_tuple("jpg;png", "cls"), which names parts as they are',
    "_rename_keys": 'want .rename(image="jpg;png", label="cls"), which names parts as they are',
    "_xdecode": 'want .decode("pil")',
    "FileCache": "want no cache_dir; cache: {dir: DIR} of a description keeps what was read (docs/stores.md#caches)",
    "Cached": "leave it out; cache of a description keeps what was read or decoded (docs/stores.md#caches)",
    "LMDBCached": "leave it out; cache of a description keeps what was read or decoded (docs/stores.md#caches)",
    "DirectoryShardList": "want the shards as a list: sorted(glob.glob(DIR + \"/*.tar\"))",
    "MultiShardSample": "want one list of shards; several data sets with weights are source: {mix: [...]} of a description (docs/sources.md#several-data-sets)",
    "RandomMix": "several data sets with weights are source: {mix: [{shards: A, weight: 1}, {shards: B, weight: 3}]} of a description (docs/sources.md#several-data-sets)",
    "RoundRobin": "several data sets are source: {mix: [...]} of a description (docs/sources.md#several-data-sets)",
}
_NOTHING = ("StreamingOpen", "group_by_keys", "check_empty", "non_empty", "split_by_worker")  # what the engine does in its own way
_HANDLERS = {"reraise_exception": False, "ignore_and_continue": True, "warn_and_continue": True}  # whether what cannot be read is left out

SAMPLES, DICTS, TUPLES = "samples", "dicts", "tuples"


class Batches(NamedTuple):
    """What samples are put together by."""

    size: int
    drop_last: bool
    collate: Optional[Callable[[list[Any]], Any]]  # the program's
    by_torch: bool = False  # whether torch's loader puts them together


class Pipeline:
    """What the stages of a pipeline say together."""

    def __init__(self) -> None:
        self.urls: list[str] = []
        self.resampled = self.shuffled = self.of_one_node = self.by_node = self.skips = False
        self.seed: Optional[int] = None  # of a shuffle that has its own
        self.decoded: Optional[list[Any]] = None  # handlers of a decoder; None: parts are bytes
        self.only: Any = None  # parts that it decodes; None: all
        self.form = ""  # of what is in hand: shards, SAMPLES, DICTS, whose names are known, TUPLES
        self.named: dict[str, Part] = {}  # of a sample's parts those that were renamed, or changed
        self.row: list[Part] = []  # of a tuple
        self.only_rows: Optional[range] = None  # of the samples; None: all
        self.chosen: list[str] = []  # what is asked of labels
        self.batches: Optional[Batches] = None
        self.epoch: Optional[int] = None  # what is in hand, so many times
        self.workers = self.ahead = 0

    # ---- the stages

    def read(self, dataset: Any, place: str) -> None:
        """Goes through a pipeline's stages."""
        self._check_class(dataset, place)
        for i, stage in enumerate(dataset.pipeline):
            self._stage(stage, f"{place}.pipeline[{i}]")
        if dataset.repetitions == 1:
            return
        if dataset.nsamples <= 0:
            datasets.refuse(place, dataset, f"is repeated {'without an end' if dataset.repetitions == sys.maxsize else f'{dataset.repetitions} times'}, want with_epoch(n), or no repeat: each loop is an epoch")
        self.epoch = int(dataset.nsamples)

    def _check_class(self, dataset: Any, place: str) -> None:
        if libraries.home(dataset, ("webdataset",), ("__iter__", "iterator", "iterator1")).own:
            datasets.refuse(place, dataset, "is a class of its own, which goes through its samples by itself, want wds.WebDataset or wds.DataPipeline themselves")

    def _stage(self, stage: Any, place: str) -> None:
        name, args, options = _taken_apart(stage)
        place = f"{place}, {name.lstrip('_')}" if name else place
        if is_pipeline(stage):
            self.read(stage, place)
        elif _is_torchs(stage):
            self._loader(stage, place)
        elif name in _STAGES:
            _STAGES[name](self, stage, place, args, options)
        elif name not in _NOTHING:
            own = name == ""
            remedy = "webdataset's stages alone are known here; what a function does to whole batches goes into the loop" if own else _REMEDIES.get(name, "leave it out")
            self.refuse(place, stage, f"got {'a stage of its own' if own else 'it'}, which has no equal here; {remedy}")
        self.handle(options.get("handler", getattr(stage, "handler", None)), place, name in ("_decode", "_map", "_to_tuple", "_rename", "_map_dict", "_map_tuple"))

    def refuse(self, place: str, stage: Any, what: str) -> NoReturn:
        addresses.refuse(place, stage, what)

    def handle(self, handler: Any, place: str, of_samples: bool) -> None:
        """What becomes of what cannot be read."""
        if handler is None:
            return
        name = getattr(handler, "__name__", "")
        if name not in _HANDLERS or not (getattr(handler, "__module__", None) or "").startswith("webdataset"):
            self.refuse(place, handler, "got it as handler, want reraise_exception, warn_and_continue or ignore_and_continue of webdataset's; how many bad samples end a run is bad_sample: {max_rate: ...} of a description")
        self.skips |= of_samples and _HANDLERS[name]

    # ---- shards

    def _simple(self, stage: Any, place: str, args: Sequence[Any], options: dict[str, Any]) -> None:
        self.urls, self.form = [addresses.address(url, f"{place}.urls[{i}]") for i, url in enumerate(stage.urls)], "shards"
        if getattr(stage, "seed", None) is not None:
            self.shuffled, self.seed = True, int(stage.seed)

    def _resampled(self, stage: Any, place: str, args: Sequence[Any], options: dict[str, Any]) -> None:
        self._simple(_Urls(stage.urls), place, args, options)
        if stage.nshards != sys.maxsize:
            self.refuse(place, stage, f"got nshards={stage.nshards}, want none, and with_epoch(n)")
        self.resampled = self.shuffled = True

    def _node(self, stage: Any, place: str, args: Sequence[Any], options: dict[str, Any]) -> None:
        self.by_node = True

    def _one_node(self, stage: Any, place: str, args: Sequence[Any], options: dict[str, Any]) -> None:
        self.of_one_node = True

    def _files(self, stage: Any, place: str, args: Sequence[Any], options: dict[str, Any]) -> None:
        for name in ("select_files", "rename_files", "cache_dir"):
            if options.get(name) is not None:
                self.refuse(place, stage, f"got {name}, want none: the parts of a sample are the archive's, by their names")
        self.form = SAMPLES

    def _shuffle(self, stage: Any, place: str, args: Sequence[Any], options: dict[str, Any]) -> None:
        self.shuffled |= (args[0] if args else options.get("bufsize", 1000)) > 0

    def _seeded(self, stage: Any, place: str, args: Sequence[Any], options: dict[str, Any]) -> None:
        if stage.bufsize > 0:
            self.shuffled, self.seed = True, int(stage.seed)

    # ---- samples

    def _decode(self, stage: Any, place: str, args: Sequence[Any], options: dict[str, Any]) -> None:
        self._decoded(place, stage, list(args), options)

    def _map(self, stage: Any, place: str, args: Sequence[Any], options: dict[str, Any]) -> None:
        decoder: Any = args[0] if args else None
        if type(decoder).__qualname__ != "Decoder" or not _home(decoder).startswith("webdataset"):
            if decoder is None or not is_identity(decoder):
                self._mapped(decoder, place)
            return
        ends = [getattr(one, "__name__", "") for one in decoder.handlers]
        if ends[:1] != ["gzfilter"] or ends[-1:] != ["basichandlers"]:
            self.refuse(place, stage, 'got pre or post handlers, want .decode("pil") without')
        self._decoded(place, stage, decoder.handlers[1:-1], {"only": decoder.only})

    def _select(self, stage: Any, place: str, args: Sequence[Any], options: dict[str, Any]) -> None:
        predicate = args[0] if args else options.get("predicate")
        if self.batches is not None or self.form not in (SAMPLES, DICTS, TUPLES):
            self._need(SAMPLES, stage, place)
        if self.epoch is not None or self.resampled:
            self.refuse(place, stage, "selects samples of an epoch of another length (with_epoch, resampled), want it without, and len(loader) as an epoch")
        sample: mapped.Sample = tuple(self.row) if self.form == TUPLES else self.named
        try:
            self.chosen.append(mapped.chosen(predicate, sample, (lambda name: Part((name,))) if self.form == SAMPLES else None, self.decoded is not None))
        except Unknown as error:
            self.refuse(place, predicate, f"selects samples, {error}")

    def _mapped(self, function: Any, place: str) -> None:
        """A function of whole samples, of which the code is read."""
        if self.batches is not None or self.form not in (SAMPLES, DICTS, TUPLES):
            self._need(SAMPLES, function, place)
        sample: mapped.Sample = tuple(self.row) if self.form == TUPLES else self.named
        try:
            made = mapped.read(function, sample, (lambda name: Part((name,))) if self.form == SAMPLES else None, self.decoded is not None, any(getattr(one, "imagespec", one) == "pill" for one in self.decoded or []))
        except Unknown as error:
            self.refuse(place, function, f"works on whole samples, {error}")
        if isinstance(made.sample, tuple):
            self.row, self.form = list(made.sample), TUPLES
        elif made.same:
            self.named = made.sample
        else:
            key = {"__key__": Part(("__key__",))} if self.form == SAMPLES else {name: part for name, part in self.named.items() if name == "__key__"}
            self.named, self.form = {**made.sample, **({} if self.form == TUPLES else key)}, DICTS  # map gives dicts the sample's

    def _decoded(self, place: str, stage: Any, handlers: list[Any], options: dict[str, Any]) -> None:
        self._need(SAMPLES, stage, place)
        if self.decoded is not None or any(options.get(name) is not None for name in ("pre", "post")):
            self.refuse(place, stage, 'got a second decode, or pre or post handlers, want .decode("pil") once, without')
        if any(part.functions for part in self.named.values()):
            self.refuse(place, stage, "stands behind functions of parts, want it in front of them")
        only = options.get("only")
        self.decoded, self.only = handlers, set(only.split() if isinstance(only, str) else only) if only is not None else None

    def part(self, names: Union[str, Sequence[str]], place: str, stage: Any) -> Part:
        """The one that is there of some names, as "jpg;png" has them."""
        listed = names.split(";") if isinstance(names, str) else list(names)
        found = [self.named.get(name, None if self.form == DICTS else Part((name,))) for name in listed]
        there = [part for part in found if part is not None]
        if not there:
            self.refuse(place, stage, f"got {names!r}, and samples have {', '.join(self.named)}, want one of these")
        if any(part.functions != there[0].functions for part in there):
            self.refuse(place, stage, f"got {names!r}, which go through other functions each, want rename in front of map_dict, or map_tuple behind to_tuple")
        return Part(tuple(name for part in there for name in part.names), there[0].functions)

    def _rename(self, stage: Any, place: str, args: Sequence[Any], options: dict[str, Any]) -> None:
        self._need_named(stage, place)
        renamed = {name: self.part(of, place, stage) for name, of in options.items() if name not in ("handler", "keep")}
        if not options.get("keep", True):
            self.named, self.form = renamed, DICTS
            return
        gone = {one for name, of in options.items() if name not in ("handler", "keep") for one in (of.split(";") if isinstance(of, str) else of)}
        self.named = {**{name: part for name, part in self.named.items() if name not in gone}, **renamed}

    def _map_dict(self, stage: Any, place: str, args: Sequence[Any], options: dict[str, Any]) -> None:
        self._need_named(stage, place)
        for name, function in options.items():
            if name != "handler":
                part = self.part((name,), place, stage)
                self.named[name] = part._replace(functions=(*part.functions, (f"{place}[{name!r}]", function)))

    def _to_tuple(self, stage: Any, place: str, args: Sequence[Any], options: dict[str, Any]) -> None:
        self._need_named(stage, place)
        if not options.get("missing_is_error", True):
            self.refuse(place, stage, "got missing_is_error=False, want True: a batch has as many rows of each part; a part that is not there in all samples is a column with a default of a description (docs/sources.md#shards)")
        args = args[0].split() if len(args) == 1 and isinstance(args[0], str) else args
        self.row, self.form = [self.part(names, place, stage) for names in args], TUPLES

    def _map_tuple(self, stage: Any, place: str, args: Sequence[Any], options: dict[str, Any]) -> None:
        self._need(TUPLES, stage, place)
        for i, function in enumerate(args[:len(self.row)]):
            if function is not None:
                self.row[i] = self.row[i]._replace(functions=(*self.row[i].functions, (f"{place}[{i}]", function)))

    def _sliced(self, stage: Any, place: str, args: Sequence[Any], options: dict[str, Any]) -> None:
        """The first samples, or batches, or those from one to another."""
        ends = slice(*args) if 1 <= len(args) <= 3 else slice(0, 0, 0)
        if ends.step not in (None, 1) or not all(one is None or type(one) is int and one >= 0 for one in (ends.start, ends.stop)) or self.form not in (SAMPLES, DICTS, TUPLES):
            self.refuse(place, stage, "got it of shards, or with steps, want slice(n) or slice(start, stop) of samples or batches")
        if self.shuffled or self.chosen or self.epoch is not None:
            self.refuse(place, stage, f"stands behind {'a shuffle' if self.shuffled else 'select' if self.chosen else 'with_epoch'}, whose first samples are those of its own numbers, want it in front; or with_epoch(n), after which a loop ends")
        size = 1 if self.batches is None else self.batches.size
        rows = range(ENDLESS) if self.only_rows is None else self.only_rows
        self.only_rows = rows[(ends.start or 0) * size:None if ends.stop is None else ends.stop * size]
        if not self.only_rows:
            self.refuse(place, stage, "has no samples, want one at least")

    def _need_named(self, stage: Any, place: str) -> None:
        self._need(DICTS if self.form == DICTS else SAMPLES, stage, place)

    def _need(self, form: str, stage: Any, place: str) -> None:
        if self.batches is not None:
            self.refuse(place, stage, "stands behind batched, want it in front: it would get whole batches, which the loop has as well")
        if self.form != form:
            self.refuse(place, stage, f"got {self.form or 'nothing'} in hand, want {form}: tarfile_to_samples makes samples, to_tuple tuples")

    # ---- batches

    def _batched(self, stage: Any, place: str, args: Sequence[Any], options: dict[str, Any]) -> None:
        given = dict(zip(("batchsize", "collation_fn", "partial"), args), **{name: value for name, value in options.items() if name != "handler"})
        collate = given.get("collation_fn", _DEFAULT)
        if collate is None:
            self.refuse(place, stage, "got collation_fn=None, want none said: tensors and lists of each part, or a function of a list of samples")
        own = collate is not _DEFAULT and getattr(collate, "__name__", "") != "default_collation_fn"
        self.batch_by(int(given.get("batchsize", 20)), not given.get("partial", True), collate if own else None, place, stage, by_torch=False)

    def batch_by(self, size: int, drop_last: bool, collate: Any, place: str, stage: Any, by_torch: bool = True) -> None:
        if self.batches is not None:
            self.refuse(place, stage, f"got batches of {self.batches.size} in hand, which would be put together again, want batch_size=None behind batched")
        if self.form not in (SAMPLES, DICTS, TUPLES):
            self.refuse(place, stage, "got no samples in hand, want tarfile_to_samples, decode and to_tuple in front")
        if self.epoch is not None:
            if self.epoch % size and not drop_last:
                self.refuse(place, stage, f"got an epoch of {self.epoch} samples (with_epoch), of which batches of {size} would have a short one at its end, want a multiple of {size}, or with_epoch({-(-self.epoch // size)}) behind batched")
            self.epoch //= size
        self.batches = Batches(size, drop_last, collate, by_torch)

    def _unbatched(self, stage: Any, place: str, args: Sequence[Any], options: dict[str, Any]) -> None:
        if self.batches is None or self.batches.collate is not None:
            self.refuse(place, stage, "got no batches of webdataset's own in hand, want it behind batched")
        self.epoch = None if self.epoch is None else self.epoch * self.batches.size
        self.batches = None

    def _loader(self, loader: Any, place: str) -> None:
        """torch's DataLoader in a WebLoader."""
        self._reads(loader.dataset, f"{place}.dataset")
        for name in ("worker_init_fn", "timeout"):
            if getattr(loader, name, None):
                self.refuse(place, loader, f"got {name}, want none: there are no workers")
        collate = getattr(loader, "collate_fn", None)
        own = collate if getattr(collate, "__name__", "") not in ("default_collate", "default_convert") else None
        if loader.batch_size is not None:
            self.batch_by(loader.batch_size, loader.drop_last, own, place, loader)
        elif own is not None:
            self.refuse(place, loader, f"got collate_fn={own!r:.60} of whole batches, want none; the loop has them as well")
        self.by_workers(loader.num_workers, getattr(loader, "prefetch_factor", None))

    def by_workers(self, workers: int, ahead: Optional[int]) -> None:
        """Each of torch's workers has an epoch of its own."""
        self.workers, self.ahead = workers, ahead or 0
        if self.epoch is not None:
            self.epoch *= max(1, workers)

    def _reads(self, dataset: Any, place: str) -> None:
        if not is_pipeline(dataset):
            self.refuse(place, dataset, "got it in a WebLoader, want a wds.WebDataset or wds.DataPipeline; other data sets go into spdl.DataLoader themselves")
        self.read(dataset, place)


class _Urls(NamedTuple):
    urls: Sequence[str]


_DEFAULT = object()
_STAGES: dict[str, Callable[[Pipeline, Any, str, Sequence[Any], dict[str, Any]], None]] = {
    "SimpleShardList": Pipeline._simple, "ResampledShards": Pipeline._resampled, "split_by_node": Pipeline._node, "single_node_only": Pipeline._one_node,
    "tarfile_to_samples": Pipeline._files, "tarfile_samples": Pipeline._files, "tar_file_expander": Pipeline._files, "_shuffle": Pipeline._shuffle, "detshuffle": Pipeline._seeded,
    "_decode": Pipeline._decode, "_map": Pipeline._map, "_select": Pipeline._select, "_rename": Pipeline._rename, "_map_dict": Pipeline._map_dict, "_to_tuple": Pipeline._to_tuple, "_map_tuple": Pipeline._map_tuple,
    "_slice": Pipeline._sliced, "_batched": Pipeline._batched, "_unbatched": Pipeline._unbatched,
}


def is_pipeline(one: Any) -> bool:
    """Whether this is one of webdataset's."""
    return libraries.derives(one, "webdataset", "DataPipeline")


def is_loader(dataset: Any) -> bool:
    """Whether its batches come from torch's loader, which it has in it."""
    return bool(dataset.pipeline) and _is_torchs(dataset.pipeline[0])


def _is_torchs(stage: Any) -> bool:
    return libraries.derives(stage, "torch.utils.data", "DataLoader")


def _home(one: Any) -> str:
    return getattr(one if callable(one) and hasattr(one, "__name__") else type(one), "__module__", None) or ""


def _taken_apart(stage: Any) -> tuple[str, Sequence[Any], dict[str, Any]]:
    """The name of webdataset's function or class that a stage is, and its arguments; "" of one's own."""
    if isinstance(stage, functools.partial):
        stage_of, args, options = stage.func, stage.args, dict(stage.keywords)
    elif type(stage).__qualname__ in ("FilterFunction", "RestCurried"):
        stage_of, args, options = stage.f, getattr(stage, "args", ()), dict(getattr(stage, "kw", {}))
    elif hasattr(stage, "__name__"):
        stage_of, args, options = stage, (), {}
    else:
        stage_of, args, options = type(stage), (), {}
    name = "_slice" if stage_of is itertools.islice else stage_of.__name__ if (getattr(stage_of, "__module__", None) or "").startswith("webdataset") else ""
    return _ALIASES.get(name, name), args, options


_ALIASES = {"decode": "_decode", "map": "_map", "rename": "_rename", "map_dict": "_map_dict", "to_tuple": "_to_tuple", "map_tuple": "_map_tuple", "batched": "_batched", "unbatched": "_unbatched",
            "shuffle": "_shuffle", "select": "_select"}
