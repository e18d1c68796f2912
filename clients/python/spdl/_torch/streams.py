"""Data sets that are iterated, of libraries whose shards the engine reads."""

from __future__ import annotations

from typing import Any

from .. import _torchrun
from . import columns, datasets, huggingface, litdata, mosaic, parts, streamed, webdataset
from .made import Streamed

_NONE = {  # torch's arguments for which one that is iterated has no use
    "shuffle": "the data set says its order",
    "sampler": "its samples have no numbers in torch; the data set says its order and parts",
    "batch_sampler": "its samples have no numbers in torch; say batch_size, and the data set its order",
}


def is_dataset(one: Any) -> bool:
    return webdataset.is_pipeline(one) or huggingface.is_streamed(one) or mosaic.is_dataset(one) or litdata.is_dataset(one)


def read(dataset: Any, said: Any, own: dict[str, Any]) -> Streamed:
    """What one is beside torch's arguments. Raises ArgumentError and SpecError with what does it here where it cannot be told."""
    for name, why in _NONE.items():
        if said.get(name) not in (None, False):
            said.refuse(name, f"got {said.get(name)!r:.60} beside {type(dataset).__qualname__}, which is iterated, want none, as torch does: {why}")
    if mosaic.is_dataset(dataset):
        return mosaic.streamed(dataset, said, **own)
    if litdata.is_dataset(dataset):
        return litdata.streamed(dataset, said, **own)
    return _hugging_faces(dataset, said, own) if huggingface.is_streamed(dataset) else _pipeline(dataset, said)


def _hugging_faces(dataset: Any, said: Any, own: dict[str, Any]) -> Streamed:
    of, order = streamed.samples(dataset, "dataset")
    if of.transforms:
        if own.get("transform") is not None:
            datasets.refuse("dataset", dataset, "has a map that says what becomes of pictures, and transform= is given, want one of them")
        own = {**own, "transform": of.transforms}
    made = columns.made(of, **own, collate=said.collate())
    said_order: dict[str, Any] = {"shuffle": order.shuffled, "seed": said.seed_of_stream(order.seed), "last": "drop" if said.flag("drop_last") else "cover"}
    if order.filter:
        said_order["filter"] = order.filter
    if order.window:
        said_order["window"] = order.window
    return Streamed(made, said.batch_size(), said_order, {"policy": "fail"}, order.world)


def _pipeline(dataset: Any, said: Any) -> Streamed:
    """webdataset's, or torch's loader over one that a WebLoader is."""
    pipeline = webdataset.Pipeline()
    pipeline.read(dataset, "dataset")
    if webdataset.is_loader(dataset):
        given = [name for name in said.given() if name not in ("pin_memory", "pin_memory_device")]
        if given:
            said.refuse(given[0], "got it beside a WebLoader, which has torch's arguments in it, want it there: wds.WebLoader(dataset, batch_size=None, num_workers=8)")
        if pipeline.ahead:
            said.workers(pipeline.workers, pipeline.ahead)
    elif said.given_as_none("batch_size"):
        if said.get("collate_fn") is not None:
            said.refuse("collate_fn", "got one beside batch_size=None, of whole batches, want none; the loop has them as well, and .batched(64, collation_fn=...) takes a list of samples")
    else:
        collate = said.collate()
        pipeline.batch_by(said.batch_size(), said.flag("drop_last"), collate, "batch_size", dataset)
    if pipeline.batches is None:
        said.refuse("batch_size", "got None beside a data set without batches, want .batched(64), or batch_size=64")
    if not webdataset.is_loader(dataset):
        pipeline.by_workers(said.number("num_workers", 0, 0), None)
    if pipeline.only_rows is not None and (pipeline.workers > 1 or (ranks := _torchrun.ranks()) is not None and ranks.world_size > 1):
        datasets.refuse("dataset", dataset, "has a slice, of which each worker and each rank has one of its own shards, want num_workers=0 or 1 and one rank; or with_epoch(n), after which a loop ends")
    _check_length(pipeline, dataset, said)
    _check_ranks(pipeline, dataset)
    return parts.streamed(pipeline, dataset, said)


def _check_length(pipeline: webdataset.Pipeline, dataset: Any, said: Any) -> None:
    if pipeline.resampled and pipeline.epoch is None:
        datasets.refuse("dataset", dataset, "is resampled, which never ends, want with_epoch(n), after which a loop ends")
    if pipeline.epoch is not None and said.get("in_order") is False:
        said.refuse("in_order", "got False beside with_epoch, whose end is told by the order of batches, want it left out")


def _check_ranks(pipeline: webdataset.Pipeline, dataset: Any) -> None:
    ranks = _torchrun.ranks()
    if ranks is None or ranks.world_size == 1 or pipeline.by_node or pipeline.resampled:
        return
    datasets.refuse("dataset", dataset, f"is not split by nodes in a run of {ranks.world_size} ranks, {'which webdataset refuses' if pipeline.of_one_node else 'where each rank would have all samples'}, "
                                        "want nodesplitter=wds.split_by_node, which is each rank's part of every step here")
