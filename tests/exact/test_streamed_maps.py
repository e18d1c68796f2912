"""spdl.DataLoader on data sets of Hugging Face's that are streamed and mapped by functions of the program's own: batches are those of torch's DataLoader over them."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("torchvision")
pytest.importorskip("datasets", reason="Hugging Face's datasets are not here; make exact brings them")
spdl = pytest.importorskip("spdl")
import torch  # noqa: E402
from datasets import Features, Value, load_dataset  # noqa: E402
from datasets import Image as Picture  # noqa: E402
from test_huggingface import FLOATS, SMALL, equal  # noqa: E402
from test_streamed import FEATURES, N, data, parquet, rows, saved, without_lists  # noqa: E402, F401
from torch.utils.data import DataLoader  # noqa: E402
from torchvision import transforms as T  # noqa: E402

KINDS = ["Parquet", "Arrow", "of one on a disk", "of one that was shuffled"]


def prepared(example):
    """As guides have it."""
    example["pixel_values"] = FLOATS(example["image"].convert("RGB"))
    example["label"] = example["label"] + 1
    return example


def made_new(example):
    image = example["image"].convert("RGB")
    return {"pixels": SMALL(image), "caption": example["caption"].strip().lower(), "kind": one_hot(example["label"])}


def one_hot(label, n=3):
    return torch.nn.functional.one_hot(torch.tensor(label), n)


def tokens(text, length, fill=0):
    return torch.tensor((list(map(ord, text)) + [fill] * length)[:length])


class Prepare:
    def __init__(self, transform, length):
        self.transform, self.length = transform, length

    def __call__(self, example):
        from PIL import Image  # noqa: F401

        pixels = self.transform(example["image"].convert("RGB"))
        return dict(pixels=pixels, ids=tokens(example["caption"], self.length, fill=7), width=float(example["width"]))


def by_argument(example, transform, column="image"):
    example[column] = transform(example[column].convert("RGB"))
    return example


def scored(example):
    example["score"] = example["score"] * 2
    example["good"] = int(example["good"])
    return example


MAPS = {
    "in place": lambda d: d.map(prepared, remove_columns=["image"]),
    "a new dict": lambda d: d.map(made_new, remove_columns=["image", "label"]),
    "an object": lambda d: d.map(Prepare(SMALL, 9), remove_columns=["image", "caption"]),
    "arguments": lambda d: d.map(by_argument, fn_kwargs={"transform": SMALL}),
    "a lambda": lambda d: d.map(
        lambda example: {"image": SMALL(example["image"].convert("RGB"))}),
    "two maps": lambda d: d.map(scored).map(prepared, remove_columns=["image"]),
    "columns behind it": lambda d: d.map(prepared).remove_columns(["image", "caption"]).rename_column("label", "class").select_columns(["class", "pixel_values"]),
    "columns in front": lambda d: d.select_columns(["image", "label"]).map(
        lambda example: {"pixels": SMALL(example["image"].convert("RGB")), "kind": example["label"] % 2}, remove_columns=["image", "label"]),
    "what it removes and makes": lambda d: d.map(
        lambda example: {"image": SMALL(example["image"].convert("RGB")), "label": example["label"] - 1}, remove_columns=["image", "label", "good"]),
    "mode": lambda d: d.cast_column("image", Picture(mode="RGB")).map(
        lambda example: {"image": FLOATS(example["image"])}),
    "rows": lambda d: d.skip(3).map(prepared, remove_columns=["image"]).take(9),
}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_batches_are_those_of_torch(data, kind, name):
    if name == "rows" and kind.startswith("of one"):
        pytest.skip("a part of a data set on a disk is refused, with select in the place of it")
    dataset = MAPS[name](without_lists(data[kind]()))
    theirs = list(DataLoader(dataset, batch_size=5))
    with spdl.DataLoader(dataset, batch_size=5, copy=True) as loader:
        ours = list(loader)
    for got, want in zip(ours, theirs):
        assert list(got) == list(want)
        equal(got, want)
    assert len(ours) == len(theirs)


def test_a_collate_fn_gets_what_the_map_made(data):
    dataset = MAPS["an object"](without_lists(data["Parquet"]()))
    theirs = list(DataLoader(dataset, batch_size=4, collate_fn=list))
    with spdl.DataLoader(dataset, batch_size=4, collate_fn=list, copy=True) as loader:
        for got, want in zip(loader, theirs):
            for one, other in zip(got, want):
                equal(one, other)


def test_a_picture_that_the_map_leaves_is_transformed(data):
    dataset = without_lists(data["Parquet"]()).map(lambda example: {"label": example["label"] + 5})
    with spdl.DataLoader(dataset, transform=SMALL, batch_size=N, copy=True) as loader:
        batch = next(iter(loader))
        assert loader.classes is None  # whose numbers are others now
    assert batch["image"].shape == (N, 3, 16, 12) and batch["label"].tolist() == [i % 3 + 5 for i in range(N)]


def test_fields_of_what_a_map_made_and_a_shuffle(data):
    dataset = MAPS["in place"](without_lists(data["Parquet"]())).shuffle(seed=3, buffer_size=4)
    with spdl.DataLoader(dataset, batch_size=N, fields=("pixel_values", "width", "label"), copy=True) as loader:
        pixels, widths, labels = next(iter(loader))
    want = {example["width"]: example for example in MAPS["in place"](without_lists(data["Parquet"]()))}
    assert sorted(widths.tolist()) == [i - 5 for i in range(N)] != widths.tolist()
    for one, width, label in zip(pixels, widths.tolist(), labels.tolist()):
        assert torch.equal(one, want[width]["pixel_values"]) and label == want[width]["label"]


def wide(example, least=0):
    return example["width"] >= least and not example["label"] == 2


FILTERS = {
    "labels": lambda d: d.filter(
        lambda example: example["label"] != 1),
    "one of several": lambda d: d.filter(
        lambda example: example["label"] in (0, 2)),
    "two columns": lambda d: d.filter(wide, fn_kwargs={"least": 4}),
    "a number": lambda d: d.filter(
        lambda example: 0.5 < example["score"] <= 2.25),
    "a bool": lambda d: d.filter(
        lambda example: example["good"]),
    "in front of a map": lambda d: d.filter(wide).map(prepared, remove_columns=["image"]),
    "behind a map": lambda d: d.map(made_new).filter(wide).remove_columns(["image", "kind"]),
    "behind a new name, and two of them": lambda d: d.rename_column("label", "kind").filter(
        lambda example: example["kind"] > 0).filter(
        lambda example: example["width"] < 9).select_columns(["image", "caption"]),
    "of some": lambda d: d.take(15).filter(wide),
}


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("kind", ["Parquet", "Arrow"])
def test_filters_leave_what_torch_has(data, rows, kind, name):
    dataset = FILTERS[name](without_lists(data[kind]()))
    with spdl.DataLoader(dataset, batch_size=4, copy=True, **({} if "map" in name else {"transform": SMALL})) as loader:
        ours = list(loader)
        assert len(loader) == len(ours)
    if "map" in name:
        theirs = list(DataLoader(dataset, batch_size=4))
    else:  # of the data set's own pictures, which theirs writes as JPEGs once more behind rename_column
        of = FILTERS[name](without_lists(rows)) if name != "of some" else without_lists(rows).select(range(15)).filter(wide)
        theirs = list(DataLoader(of.with_transform(lambda batch: {**batch, "image": [SMALL(image.convert("RGB")) for image in batch["image"]]}), batch_size=4))
    assert len(ours) == len(theirs) and len(theirs) < 6
    for got, want in zip(ours, theirs):
        assert sorted(got) == sorted(want)
        equal(got, want)


def filtered(example):
    if example["width"] > 3:
        example["label"] = 0
    return example


REFUSED = {
    "a condition": (lambda d: d.map(filtered), r"has a map of .*test_streamed_maps.py:\d+: got \"if example"),
    "any mode": (lambda d: d.map(
        lambda example: {"image": SMALL(example["image"])}), r"of pictures of any mode, want image.convert\(\"RGB\"\) in it"),
    "pixels": (lambda d: d.map(
        lambda example: {"image": np.array(example["image"].convert("RGB"))}), r"test_streamed_maps.py:\d+: got .*want pictures that go through transforms"),
    "batched": (lambda d: d.map(prepared, batched=True), "with batched, want it of one example: batched=False"),
    "indices": (lambda d: d.map(
        lambda example, i: example, with_indices=True), "with with_indices, want none"),
    "input_columns": (lambda d: d.map(
        lambda image: {"image": SMALL(image)}, input_columns="image"), "with input_columns, want a function of the example"),
    "features": (lambda d: d.map(prepared, features=Features({"label": Value("int64")})), "with features, want none: features=None"),
    "twice": (lambda d: d.map(
        lambda example: {"a": SMALL(example["image"].convert("RGB")), "b": FLOATS(example["image"].convert("RGB"))}, remove_columns="image"), "makes two tensors of 'image', want one of each column of pictures"),
    "a format": (lambda d: d.with_format("torch").map(prepared, remove_columns="image"), "has a map or a filter beside a format"),
    "of two columns": (lambda d: d.map(
        lambda example: {"sum": example["label"] + example["width"]}), r"test_streamed_maps.py:\d+: got \"example\['label'\] \+ example\['width'\]\""),
    "a filter of texts": (lambda d: d.filter(
        lambda example: len(example["caption"]) > 3), r"has a filter of .*test_streamed_maps.py:\d+: got .*want columns of numbers compared with numbers that are known"),
    "a filter of what a function made": (lambda d: d.map(prepared).filter(
        lambda example: example["label"] > 1), r"test_streamed_maps.py:\d+: got \"example\['label'\] > 1\""),
    "a filter by batches": (lambda d: d.filter(wide, batched=True), "has a filter of .* with batched, want it of one example"),
    "a part of what is left": (lambda d: d.filter(wide).take(3), "takes or skips some of the samples that a filter has left, want take and skip in front of it"),
    "a transform, too": (lambda d: d.map(prepared, remove_columns="image"), "has a map that says what becomes of pictures, and transform= is given"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_equal_is_refused(data, name):
    make, message = REFUSED[name]
    with pytest.raises(spdl.ArgumentError, match=message):
        spdl.DataLoader(make(without_lists(data["Parquet"]())), **({"transform": SMALL} if name == "a transform, too" else {}))


def test_lists_that_a_function_is_called_with_are_refused(data):
    with pytest.raises(spdl.ArgumentError, match="calls a function with 'four', which is of List, want it of a number or a text"):
        spdl.DataLoader(data["Parquet"]().select_columns(["label", "four"]).map(lambda example: {"four": torch.tensor(example["four"])}))


def test_two_columns_of_one(data):
    def twice(example):
        example["other"] = example["label"] + 1
        example["image"] = SMALL(example["image"].convert("RGB"))
        return example

    dataset = without_lists(data["Parquet"]()).map(twice)
    with spdl.DataLoader(dataset, batch_size=5, copy=True) as loader:
        for got, want in zip(loader, DataLoader(dataset, batch_size=5)):
            equal(got, want)
    with pytest.raises(spdl.ArgumentError, match="has a map that makes two columns of one, want them of a column each"):
        spdl.DataLoader(without_lists(data["of one on a disk"]()).map(twice))


def test_a_filter_of_one_on_a_disk_is_refused(data):
    with pytest.raises(spdl.ArgumentError, match=r"has a filter, want it of the data set that it is made of: dataset.filter\(...\).to_iterable_dataset\(\)"):
        spdl.DataLoader(without_lists(data["of one on a disk"]()).filter(wide), transform=SMALL)


def test_splits_are_refused_with_the_one_that_is_meant(parquet):
    files = {"train": str(parquet / "train-0.parquet"), "test": str(parquet / "train-1.parquet")}
    for streaming in (True, False):
        with pytest.raises(spdl.ArgumentError, match=r"DictDict|has the splits train, test, want one of them: dataset\['train'\]"):
            spdl.DataLoader(load_dataset("parquet", data_files=files, streaming=streaming, features=FEATURES), transform=T.ToTensor())
