"""torch's samplers: an order, a part of the data set, a draw by weights, or the ranks of a run."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, Optional

from .. import _torchrun
from .._errors import ArgumentError
from . import libraries

GROUPED = "GroupedBatchSampler"  # of torchvision's references, and of detectron2's
KNOWN = ("RandomSampler(dataset), SequentialSampler, SubsetRandomSampler, WeightedRandomSampler or DistributedSampler, a BatchSampler of one of these as batch_sampler, "
         "or indices as a list, a range, an array or a tensor")
OWN = "one's own"  # the kind of another
_MOST = 3.4e38  # of a weight: it is a float of 32 bits in the engine


class Sampled(NamedTuple):
    """What a sampler says."""

    chosen: Optional[Sequence[int]] = None  # the samples that it names, in its order; None: all
    world: Optional[dict[str, int]] = None  # of which this is a rank
    weights: Optional[array[float]] = None  # of these, by which they are drawn
    own: bool = False  # whether it is the program's own, which is asked for its order


def sampled(said: Any, samples: int, order: dict[str, Any]) -> Sampled:
    """What the arguments' sampler says of so many samples, their order, which is written into `order`, and the ranks."""
    sampler, ranks = said.get("sampler"), _torchrun.ranks()
    if said.batches is not None:
        return _own(said, said.batches, "batch_sampler", order, ranks)
    if sampler is None:
        if ranks is not None and ranks.world_size > 1:
            _refuse(f"got none in a run of {ranks.world_size} ranks, where torch's DataLoader gives all samples to each, want sampler=DistributedSampler(dataset), "
                    "which gives each a part")
        return Sampled()
    if order["shuffle"]:
        said.refuse("shuffle", "got True beside sampler, which says the order; leave it out, as torch wants it")
    kind = kind_of(sampler)
    if kind == "DistributedSampler":
        return Sampled(world=_distributed(said, sampler, samples, order, ranks))
    if kind == OWN:
        return _own(said, sampler, "sampler", order, ranks)
    if ranks is not None and ranks.world_size > 1:
        _refuse(f"got {type(sampler).__qualname__} in a run of {ranks.world_size} ranks, want DistributedSampler(dataset)")
    first = None
    if kind in ("RandomSampler", "SequentialSampler"):
        first = _first(samples, len(sampler.data_source), kind)
        samples = samples if first is None else len(first)
    if kind == "SequentialSampler":
        return Sampled(first)
    if kind == "indices":
        return Sampled(_indices(sampler, samples))
    if kind not in ("RandomSampler", "SubsetRandomSampler", "WeightedRandomSampler"):
        _refuse(f"got {type(sampler).__qualname__}, want {KNOWN}, or one of your own")
    order.update(shuffle=True, seed=said.seed(sampler.generator if sampler.generator is not None else said.get("generator")))
    if kind == "SubsetRandomSampler":
        return Sampled(_indices(sampler.indices, samples))
    if kind == "WeightedRandomSampler":
        return Sampled(weights=_drawn(sampler, sampler.weights.tolist(), samples, order))
    if not sampler.replacement and sampler.num_samples == samples:
        return Sampled(first)
    return Sampled(first, weights=_drawn(sampler, [1.0] * samples, samples, order))


def _own(said: Any, sampler: Any, name: str, order: dict[str, Any], ranks: Optional[_torchrun.Ranks]) -> Sampled:
    """One that is asked for its order. Ranks have each their own, and its seed is for what transforms draw."""
    if not hasattr(sampler, "__iter__") or hasattr(sampler, "__next__"):
        said.refuse(name, f"got {type(sampler).__qualname__}, which {'can be gone through once' if hasattr(sampler, '__iter__') else 'has no __iter__'}, want {KNOWN}, or one of your own, whose __iter__ begins anew for each epoch")
    if said.ring().get("delivery") is not None:
        said.refuse("in_order", f"got False beside {name}: of a {type(sampler).__qualname__}, want True: its batches come in its order")
    order.update(shuffle=False, seed=(order["seed"] + (0 if ranks is None else ranks.rank)) & (1 << 64) - 1)
    return Sampled(own=True)


def kind_of(sampler: Any) -> str:
    """The name of torch's class that says the order; or that these are plain indices, which have one order; or that it is one's own."""
    if type(sampler) in (list, tuple, range, array) or hasattr(sampler, "tolist") and len(getattr(sampler, "shape", ())) == 1:
        return "indices"
    return libraries.home(sampler, ("torch.utils.data",), ("__iter__",)).name or OWN


def is_grouped(batches: Any) -> bool:
    """Whether this makes batches of samples of one group: a class of that name has its order, and says what it goes by."""
    order = next((cls for cls in type(batches).__mro__ if "__iter__" in vars(cls)), None)
    return order is not None and order.__name__ == GROUPED and all(hasattr(batches, name) for name in ("sampler", "group_ids", "batch_size"))


def grouped(said: Any, sampled: Sampled, samples: int, order: Mapping[str, Any]) -> Optional[array[int]]:
    """The group of each sample that a sampler names; None: batches are of any."""
    if said.groups is None:
        return None
    if sampled.weights is not None or not order["shuffle"]:
        said.refuse("batch_sampler", f"got a {GROUPED} of a {type(said.get('sampler')).__qualname__}{' that draws' if sampled.weights is not None else ''}, want one of RandomSampler(dataset), SubsetRandomSampler or a "
                                     "DistributedSampler that shuffles: batches of groups come shuffled, each sample once")
    groups = said.groups.tolist() if hasattr(said.groups, "tolist") else list(said.groups)
    if len(groups) != samples:
        said.refuse("batch_sampler", f"got a {GROUPED} of {len(groups)} group_ids, want one for each of the data set's {samples} samples")
    chosen = array("q")
    for one in groups if sampled.chosen is None else (groups[i] for i in sampled.chosen):
        try:
            chosen.append(one)
        except (TypeError, OverflowError):
            said.refuse("batch_sampler", f"got {one!r:.60} among a {GROUPED}'s group_ids, want whole numbers of 64 bits")
    return chosen


def _first(samples: int, count: int, kind: str) -> Optional[range]:
    """The samples whose numbers a sampler of so many draws; None: all."""
    if count > samples:
        _refuse(f"got a {kind} of {count} samples, want one of this data set, which has {samples}")
    return None if count == samples else range(count)


def _indices(given: Any, samples: int) -> Sequence[int]:
    indices = given.tolist() if hasattr(given, "tolist") else list(given)
    for place, one in enumerate(indices):
        one = one.tolist() if hasattr(one, "tolist") else one  # a number of torch's or of NumPy's
        if isinstance(one, bool) or not isinstance(one, int) or not -samples <= one < samples:
            _refuse(f"got {one!r:.60} at {place} of {len(indices)} indices, want whole numbers from 0 to {samples - 1}")
    if not indices:
        _refuse("got no indices, want one at least")
    return indices


def _drawn(sampler: Any, weights: list[float], samples: int, order: dict[str, Any]) -> array[float]:
    """The weights, and in `order` how many are drawn by them, in what way."""
    name, rows = type(sampler).__qualname__, int(sampler.num_samples)
    if len(weights) != samples:
        _refuse(f"got a {name} of {len(weights)} weights, want one for each of the data set's {samples} samples")
    wrong = next((i for i, weight in enumerate(weights) if not 0 <= weight <= _MOST), None)
    able = sum(weight > 0 for weight in weights)
    if wrong is not None or not able:
        said = "no weight above 0" if wrong is None else f"the weight {weights[wrong]} at {wrong} of {samples}"
        _refuse(f"got a {name} with {said}, want numbers from 0 to {_MOST:.2g}, and one above 0")
    if not sampler.replacement and rows > able:
        _refuse(f"got a {name} of num_samples={rows} without replacement, want at most {able}, the samples that can be drawn; draw with replacement, or loop over several epochs")
    order["rows"] = rows
    if not sampler.replacement:
        order["replacement"] = False
    return array("d", weights)


def _distributed(said: Any, sampler: Any, samples: int, order: dict[str, Any], ranks: Optional[_torchrun.Ranks]) -> Optional[dict[str, int]]:
    size, rank, batch = int(sampler.num_replicas), int(sampler.rank), said.batch_size()
    order.update(shuffle=bool(sampler.shuffle), seed=int(sampler.seed))
    down = order["last"] == "drop"
    if ranks is not None and (size, rank) != (ranks.world_size, ranks.rank):
        _refuse(f"got rank {rank} of {size}, and this process is rank {ranks.rank} of {ranks.world_size}; want DistributedSampler(dataset) without numbers")
    if len(sampler.dataset) != samples:
        _refuse(f"got a DistributedSampler of {len(sampler.dataset)} samples, want one of this data set, which has {samples}")
    if said.groups is not None:  # of which a rank's batches are no others' in torch
        order["last"] = "pad"
        return {"size": size, "rank": rank} if ranks is None else None
    theirs = sampler.num_samples // batch if down else -(-sampler.num_samples // batch)
    ours = samples // (batch * size) if down else -(-samples // (batch * size))
    if theirs != ours:
        said.refuse("drop_last", f"got {down} beside a DistributedSampler with drop_last={sampler.drop_last}, which is {theirs} batches of torch's and {ours} here; want the "
                                 "same of both")
    if not down and 0 < samples % (batch * size) < size:
        said.refuse("drop_last", f"got False, where the last batch of {size} ranks has {samples % (batch * size)} of {samples} samples: some would have none, and "
                                 "DistributedSampler repeats samples for them; want drop_last=True of both, or order: {last: pad} of a description")
    return {"size": size, "rank": rank} if ranks is None else None  # the ranks are told to open


def _refuse(what: str) -> NoReturn:
    raise ArgumentError(f"spdl: DataLoader: sampler: {what}")
