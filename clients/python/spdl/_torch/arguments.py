"""torch's DataLoader(dataset, ...) as a description, and what is opened with it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, Optional

from .. import _torchrun
from .._errors import ArgumentError
from .._given import plain, whole
from . import datasets
from .transforms import SIZED, is_plain, resolved, told

# torch's arguments, in the order of its positional ones; the rest go by name.
POSITIONAL = ("batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn", "pin_memory", "drop_last", "timeout", "worker_init_fn",
              "multiprocessing_context", "generator")
ARGUMENTS = (*POSITIONAL, "prefetch_factor", "persistent_workers", "pin_memory_device", "in_order")


class Drop(NamedTuple):
    """What torch's arguments say."""

    description: dict[str, Any]  # with the data set's transform in it
    is_folder: bool  # whether the description's source is one
    pictures: datasets.Pictures
    pin: bool
    device: Optional[int]


def describe(what: Any, /, **arguments: Any) -> dict[str, Any]:
    """What spdl makes of torchvision's and timm's transforms and of torchvision's data sets, as plain data: to see it, and to keep it as a file.

        spdl.describe(transforms.Compose([...]))           # the section of a picture: {"transform": [...], "layout": "NCHW", "dtype": "f32"}
        spdl.describe(ImageFolder(root, transform), batch_size=64, shuffle=True)        # a description, as spdl.DataLoader of the same opens it
        spdl.describe({"source": ..., "image": {"transform": Compose([...])}})          # a description with operations in the place of transforms

    The arguments are torch's, beside a data set alone. Of a data set whose files are no folder as ImageFolder lists it the source is
    {"host": {"samples": N}}: the files are brought by the loader (source=). Raises SpecError and ArgumentError with where, what and a remedy for
    what has no equal here: nothing is approximated.
    """
    if datasets.is_dataset(what):
        description = resolved(drop(what, arguments).description)[0]
    elif arguments:
        raise TypeError(f"spdl: describe: got {', '.join(arguments)}, torch's arguments, beside a {type(what).__qualname__}, want them beside a data set alone")
    elif isinstance(what, Mapping):
        description = resolved(what)[0]
    elif is_plain(what) and (isinstance(what, (str, bytes)) or not isinstance(what, Sequence)):
        raise TypeError(f"spdl: describe: got {what!r:.60}, want transforms, a data set of torchvision's, or a description as a dict")
    else:
        said = told(what, "transform")
        description = {"transform": said.operations, **said.section}
    return json.loads(json.dumps(description, default=plain))


def drop(dataset: Any, arguments: dict[str, Any]) -> Drop:
    """What torch's DataLoader would do with these arguments."""
    said = _Arguments(arguments)
    of = datasets.pictures(dataset)
    order: dict[str, Any] = {"shuffle": said.flag("shuffle"), "seed": said.seed(said.get("generator")), "last": "drop" if said.flag("drop_last") else "cover"}
    of, world = said.sampled(of, order)
    if not of.pictures:
        datasets.refuse("dataset", dataset, "has no samples")
    description: dict[str, Any] = {
        "source": {"host": {"samples": len(of.pictures)}}, "batch": said.batch_size(), "order": order, "image": _image(of, dataset),
        "bad_sample": {"policy": "fail"},  # as an exception in a worker does
    }
    if datasets.is_folder(of):
        description["source"] = {"folder": of.root, "extensions": [ending.lstrip(".") for ending in of.extensions]}
    if world:
        description["world"] = world
    if ring := said.ring():
        description["ring"] = ring
    said.check_rest()
    pin, device = said.pinned()
    return Drop(description, "folder" in description["source"], of, pin, device)


def _image(of: datasets.Pictures, dataset: Any) -> dict[str, Any]:
    if of.transform is None:
        datasets.refuse("dataset", dataset, "has no transform, and pictures have to become tensors of one size; give one, such as "
                                            "Compose([Resize(256), CenterCrop(224), ToTensor()])")
    said = told(of.transform, "dataset.transform", of.channels, of.size)
    if "layout" not in said.section:
        datasets.refuse("dataset.transform", dataset, "ends with a PIL image, which no batch can be made of; add ToTensor() for floats, PILToTensor() for bytes")
    if of.size is None:
        return {"transform": of.transform}  # which open tells, and can say of a refusal which transform it is
    front = [] if _sizes(said.operations) else [{"resize": {"size": of.size, "interpolation": "nearest"}}]
    mode = {"mode": "gray"} if of.channels == 1 else {}
    return {**mode, **said.section, "transform": [*front, *said.operations]}


def _sizes(operations: list[dict[str, Any]]) -> bool:
    """Whether operations say a size, ahead of what needs one."""
    names = [name for operation in operations for name in operation]
    first = next((name for name in names if name in ("pad", *SIZED)), None)
    return first is not None and first != "pad"


class _Arguments:
    """torch's arguments, and torch's defaults."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._given = given
        for name in given:
            if name not in ARGUMENTS:
                raise TypeError(f"spdl: DataLoader: got an unexpected argument {name} beside a data set; torch's are {', '.join(ARGUMENTS)}")

    def get(self, name: str) -> Any:
        return self._given.get(name)

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

    def sampled(self, of: datasets.Pictures, order: dict[str, Any]) -> tuple[datasets.Pictures, Optional[dict[str, int]]]:
        """What a sampler says of the order, the samples and the ranks."""
        sampler = self.get("sampler")
        ranks = _torchrun.ranks()
        if sampler is None:
            if ranks is not None and ranks.world_size > 1:
                self.refuse("sampler", f"got none in a run of {ranks.world_size} ranks, where torch's DataLoader gives all samples to each, want "
                                       "sampler=DistributedSampler(dataset), which gives each a part")
            return of, None
        if order["shuffle"]:
            self.refuse("shuffle", "got True beside sampler, which says the order; leave it out, as torch wants it")
        kind = _sampler(sampler)
        if kind == "DistributedSampler":
            return of, self._distributed(sampler, of, order, ranks)
        if ranks is not None and ranks.world_size > 1:
            self.refuse("sampler", f"got {type(sampler).__qualname__} in a run of {ranks.world_size} ranks, want DistributedSampler(dataset)")
        if kind in ("RandomSampler", "SequentialSampler"):
            of = self._first(of, len(sampler.data_source), kind)
        if kind == "RandomSampler" and not sampler.replacement and sampler.num_samples == len(of.pictures):
            order.update(shuffle=True, seed=self.seed(sampler.generator if sampler.generator is not None else self.get("generator")))
        elif kind == "SubsetRandomSampler":
            order.update(shuffle=True, seed=self.seed(sampler.generator if sampler.generator is not None else self.get("generator")))
            return datasets.part(of, sampler.indices), None
        elif kind != "SequentialSampler":
            more = " with replacement or a number of samples" if kind == "RandomSampler" else ""
            self.refuse("sampler", f"got {type(sampler).__qualname__}{more}, want RandomSampler(dataset), SequentialSampler, SubsetRandomSampler or "
                                   "DistributedSampler; weights and balance are order's of a description (docs/order.md)")
        return of, None

    def _first(self, of: datasets.Pictures, count: int, kind: str) -> datasets.Pictures:
        """The samples whose numbers a sampler of so many draws."""
        if count > len(of.pictures):
            self.refuse("sampler", f"got a {kind} of {count} samples, want one of this data set, which has {len(of.pictures)}")
        return of if count == len(of.pictures) else datasets.part(of, range(count))

    def _distributed(self, sampler: Any, of: datasets.Pictures, order: dict[str, Any], ranks: Optional[_torchrun.Ranks]) -> Optional[dict[str, int]]:
        size, rank, batch = int(sampler.num_replicas), int(sampler.rank), self.batch_size()
        order.update(shuffle=bool(sampler.shuffle), seed=int(sampler.seed))
        samples, down = len(of.pictures), order["last"] == "drop"
        if ranks is not None and (size, rank) != (ranks.world_size, ranks.rank):
            self.refuse("sampler", f"got rank {rank} of {size}, and torchrun says rank {ranks.rank} of {ranks.world_size}; want DistributedSampler(dataset) "
                                   "without numbers")
        if len(sampler.dataset) != samples:
            self.refuse("sampler", f"got a DistributedSampler of {len(sampler.dataset)} samples, want one of this data set, which has {samples}")
        theirs = sampler.num_samples // batch if down else -(-sampler.num_samples // batch)
        ours = samples // (batch * size) if down else -(-samples // (batch * size))
        if theirs != ours:
            self.refuse("drop_last", f"got {down} beside a DistributedSampler with drop_last={sampler.drop_last}, which is {theirs} batches of torch's and "
                                     f"{ours} here; want the same of both")
        if not down and 0 < samples % (batch * size) < size:
            self.refuse("drop_last", f"got False, where the last batch of {size} ranks has {samples % (batch * size)} of {samples} samples: some would have none, and "
                                     "DistributedSampler repeats samples for them; want drop_last=True of both, or order: {last: pad} of a description")
        return {"size": size, "rank": rank} if ranks is None else None  # torchrun says it to open

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
        if self.get("batch_sampler") is not None:
            self.refuse("batch_sampler", "got one, want batch_size and sampler; batches by length are order: {buckets: {by: COLUMN, max_total: N}} of a "
                                         "description")
        collate = self.get("collate_fn")
        if collate is not None and (getattr(collate, "__name__", ""), getattr(collate, "__module__", "").partition(".")[0]) != ("default_collate", "torch"):
            self.refuse("collate_fn", f"got {collate!r:.80}, want none: batches come collated; transform= maps a whole one")
        if self.get("worker_init_fn") is not None:
            self.refuse("worker_init_fn", "got one, want none: there are no workers; what is random comes from the generator's seed")
        if self.get("timeout"):
            self.refuse("timeout", f"got {self.get('timeout')!r:.60}, want none: a loop waits as long as the engine lives, and is told where it does not")


def _sampler(sampler: Any) -> str:
    """The name of torch's class that says the order."""
    for cls in type(sampler).__mro__:
        if cls.__module__.startswith("torch.utils.data"):
            return cls.__qualname__
        if "__iter__" in vars(cls):
            break
    return "one's own"
