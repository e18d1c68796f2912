"""Hugging Face's data sets that are streamed, by stand-ins with the names and attributes of their classes: which files they become, and what is refused of them.
tests/exact/test_streamed.py holds their own against torch's DataLoader."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import spdl

HUB = "hf://datasets/user/name@0123456789abcdef/data/train-00000.parquet"


def made(name: str, module: str = "datasets.iterable_dataset", **attributes: Any) -> Any:
    one = type(name, (), {"__module__": module, "__repr__": lambda self: name})()
    vars(one).update(attributes)
    return one


def value(dtype: str) -> Any:
    return made("Value", "datasets.features", dtype=dtype)


class Generator:
    def integers(self, below: int) -> int:
        return 77


def parquet(*files: str, reader: str = "Parquet", filters: Any = None, **more: Any) -> Any:
    builder = type(reader, (), {"_generate_tables": lambda self: None})()
    builder.config = made("Config", filters=filters)
    return made("ArrowExamplesIterable", generate_tables_fn=builder._generate_tables, kwargs={"files": list(files or (HUB,)), **more})


def over(inner: Any, *steps: Any) -> Any:
    for name, attributes in steps:
        inner = made(name, ex_iterable=inner, **attributes)
    return inner


def stream(inner: Any, features: Any = None, **attributes: Any) -> Any:
    return made("IterableDataset", _ex_iterable=inner, features={"label": value("int64"), "text": value("string")} if features is None else features,
                **{"_formatting": None, "_distributed": None, "_epoch": 0, "_starting_state_dict": None, **attributes})


def renamed(**mapping: str) -> Any:
    def _rename_columns_fn() -> None: ...
    _rename_columns_fn.__module__ = "datasets.iterable_dataset"
    return "MappedExamplesIterable", {"function": functools.partial(_rename_columns_fn, column_mapping=mapping)}


REBATCHED, FORMATTED = ("RebatchedArrowExamplesIterable", {}), ("FormattedExamplesIterable", {})
SHUFFLED, TAKEN = ("BufferShuffledExamplesIterable", {"generator": Generator()}), ("TakeExamplesIterable", {"n": 5})


def test_a_stream_is_its_files_at_the_hub():
    described = spdl.describe(stream(over(parquet(), REBATCHED, SHUFFLED)), batch_size=16, drop_last=True)
    assert described == {"source": {"shards": [HUB], "label": "label", "columns": [{"name": "text", "type": "text", "max_bytes": 16384}]}, "batch": 16,
                         "order": {"shuffle": True, "seed": 77, "last": "drop", "window": 8}, "bad_sample": {"policy": "fail"}}


def test_columns_have_the_names_of_the_files():
    dataset = stream(over(parquet(), REBATCHED, FORMATTED, renamed(y="z"), FORMATTED, renamed(z="label", caption="text")))
    assert spdl.describe(dataset)["source"] == {"shards": [HUB], "label": "y", "columns": [{"name": "text", "from": "caption", "type": "text", "max_bytes": 16384}]}


@pytest.mark.parametrize("steps, only", [([TAKEN], "0:5"), ([("SkipExamplesIterable", {"n": 3})], "3:"), ([("SkipExamplesIterable", {"n": 3}), TAKEN], "3:8"), ([TAKEN, ("SkipExamplesIterable", {"n": 3})], "3:5")])
def test_take_and_skip_are_rows_of_the_files(steps, only):
    assert spdl.describe(stream(over(parquet(), *steps)))["source"]["only"] == only


def mapped(function: Any) -> Any:
    return "MappedExamplesIterable", {"function": function}


def by(name: str) -> Any:
    builder = type(name, (), {"_generate_examples": lambda self: None})()
    return made("ExamplesIterable", generate_examples_fn=builder._generate_examples, kwargs={})


@pytest.mark.parametrize("make, message", [
    (lambda: stream(over(parquet(), mapped(len))), r"has a map or a filter, and no features in front of it, so nobody says what its columns are, want load_dataset\(..., features=Features"),
    (lambda: stream(over(parquet(), ("FilteredExamplesIterable", {}))), "has a map or a filter, and no features in front of it"),
    (lambda: stream(over(parquet(), ("NewExamplesIterable", {}))), "has a NewExamplesIterable in it, which has no equal here; want load_dataset"),
    (lambda: stream(over(parquet(), SHUFFLED, TAKEN)), "takes or skips some of the samples behind a shuffle, .*want take and skip in front of it"),
    (lambda: stream(over(parquet(), ("TakeExamplesIterable", {"n": 0}))), "has no samples"),
    (lambda: stream(parquet(filters=[1])), r"reads some of the rows of its files \(filters, reshard\), want all"),
    (lambda: stream(parquet(row_groups_list=[[1]])), "reads some of the rows of its files"),
    (lambda: stream(parquet("zip://a.parquet::hf://datasets/u/n/a.zip")), "dataset, file 0: .*got an address of 'zip', want a path, http"),
    (lambda: stream(parquet(reader="Json")), r"reads by Json, want source: \{list: FILE\} of a description"),
    (lambda: stream(parquet(reader="Mine")), "reads by Mine, want Parquet or Arrow"),
    (lambda: stream(by("WebDataset")), "reads by WebDataset, want the shards themselves: wds.WebDataset"),
    (lambda: stream(by("ImageFolder")), r"reads by ImageFolder, want source: \{folder: DIR\}"),
    (lambda: stream(by("Mine")), "reads by a program of its own, want samples that your program brings"),
    (lambda: stream(parquet(), _formatting=made("FormattingConfig", format_type="jax")), "has the format jax, want none or torch"),
    (lambda: stream(parquet(), _starting_state_dict={}), "goes on from a state of its own, want one without"),
    (lambda: stream(parquet(), _epoch=2), "has an epoch that was set, want one without"),
    (lambda: stream(parquet(), {"ids": made("List", "datasets.features", feature=value("int64"), length=-1)}), r"features\['ids'\]: has lists of any length, and nobody says the longest"),
])
def test_what_has_no_equal_is_refused_with_the_remedy(make, message):
    with pytest.raises(spdl.ArgumentError, match=message):
        spdl.describe(make(), batch_size=4)
    with pytest.raises(spdl.ArgumentError, match=message):
        spdl.DataLoader(make(), batch_size=4)


def test_a_class_of_ones_own_and_a_subset_are_refused():
    whole = stream(parquet())
    own = type("Own", (type(whole),), {"__module__": "mine", "__iter__": lambda self: iter(())})()
    with pytest.raises(spdl.ArgumentError, match="Own is a class of its own, which reads by its __iter__, want datasets.IterableDataset itself"):
        spdl.describe(own)
    with pytest.raises(spdl.ArgumentError, match=r"dataset.dataset: IterableDataset is streamed, whose samples have no numbers, want it without a Subset: dataset.take\(n\)"):
        spdl.describe(made("Subset", "torch.utils.data.dataset", dataset=whole, indices=[0]))


def test_features_have_to_be_there():
    dataset = stream(parquet())
    dataset.features = None
    with pytest.raises(spdl.ArgumentError, match="has no features, so nobody says what its columns are, want load_dataset"):
        spdl.describe(dataset)


@pytest.mark.parametrize("arguments, message", [
    (dict(shuffle=True), "shuffle: got True beside IterableDataset, which is iterated, want none, as torch does: the data set says its order"),
    (dict(sampler=[0]), r"sampler: got \[0\] beside IterableDataset"), (dict(batch_size=None), "batch_size: got None, samples without batches"),
    (dict(fields=("image",)), "fields: got .*and there is no column 'image', want some of label, text"),
])
def test_arguments_have_to_fit(arguments, message):
    with pytest.raises(spdl.ArgumentError, match=message):
        spdl.describe(stream(parquet()), **arguments)


def test_ranks_are_those_of_the_data_set_or_of_torchrun(monkeypatch):
    split = made("DistributedConfig", "datasets.distributed", rank=1, world_size=2)
    assert spdl.describe(stream(parquet(), _distributed=split))["world"] == {"size": 2, "rank": 1}
    for name, of in {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "1", "TORCHELASTIC_RUN_ID": "x"}.items():
        monkeypatch.setenv(name, of)
    described = spdl.describe(stream(parquet(), _distributed=split))
    assert "world" not in described and described["order"]["seed"] == 0, "torchrun says the rank to open; ranks have one order"
    with pytest.raises(spdl.ArgumentError, match=r"is not split in a run of 2 ranks, where each would have all samples, want split_dataset_by_node\(dataset, rank, world_size\)"):
        spdl.describe(stream(parquet()))
    with pytest.raises(spdl.ArgumentError, match="is split for rank 0 of 2, and this process is rank 1 of 2"):
        spdl.describe(stream(parquet(), _distributed=made("DistributedConfig", "datasets.distributed", rank=0, world_size=2)))
