"""spdl.DataLoader on data sets of Hugging Face's that are streamed and mapped by functions of the program's own: batches are those of torch's DataLoader over them."""

import sys

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
from test_streamed import FEATURES, N, PLAIN, data, parquet, rows, saved, without_lists  # noqa: E402, F401
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


def by_batches(batch):
    """As guides have it."""
    batch["pixel_values"] = [FLOATS(image.convert("RGB")) for image in batch["image"]]
    batch["ids"] = [tokens(text.lower(), 9) for text in batch["caption"]]
    batch["label"] = torch.tensor(batch["label"])
    batch["width"] = [n + OFFSET for n in batch["width"]]
    return batch


OFFSET = 7


def new_ones(batch, by=2):
    pixels = []
    for image in batch["image"]:
        rgb = image.convert("RGB")
        pixels.append(SMALL(rgb))
    return {"pixels": pixels, "scores": [score * by for score in batch["score"]], "label": batch["label"]}


BATCHED = {
    "in place": lambda d: d.map(by_batches, batched=True, remove_columns=["image", "caption"]),
    "by three": lambda d: d.map(by_batches, batched=True, batch_size=3, remove_columns=["image", "caption"]),
    "a new dict": lambda d: d.map(new_ones, batched=True, remove_columns=PLAIN, fn_kwargs={"by": 3}),
    "two of them": lambda d: d.map(by_batches, batched=True, remove_columns=["image"]).map(lambda batch: {"twice": [2 * n for n in batch["width"]], "pixel_values": batch["pixel_values"]}, batched=True),
    "of columns": lambda d: d.map(lambda images, labels: {"x": [SMALL(one.convert("RGB")) for one in images], "y": [n % 2 for n in labels]}, batched=True, input_columns=["image", "label"], remove_columns=["image"]),
    "of a column of an example": lambda d: d.map(lambda text: {"letters": len(text)}, input_columns="caption").map(prepared, remove_columns="image"),
    "and a format": lambda d: d.map(by_batches, batched=True, remove_columns=["image"]).with_format("torch"),
    "one by one and a format": lambda d: d.map(scored).map(made_new, remove_columns=["image"]).with_format("torch"),
    "a filter of texts in front": lambda d: d.filter(lambda example: "1" in example["caption"]).map(by_batches, batched=True, remove_columns=["image"]).with_format("torch"),
}


@pytest.mark.parametrize("name", BATCHED)
@pytest.mark.parametrize("kind", KINDS)
def test_maps_of_batches_and_formats(data, kind, name):
    if sys.version_info < (3, 11) and name == "two of them":
        pytest.skip("two lambdas of a line are told apart from Python 3.11 on")
    if name == "a filter of texts in front" and kind.startswith("of one"):
        pytest.skip("a filter of one on a disk is refused")
    dataset = BATCHED[name](without_lists(data[kind]()))
    with spdl.DataLoader(dataset, batch_size=4, copy=True) as loader:
        ours = list(loader)
    theirs = list(DataLoader(dataset, batch_size=4))
    assert len(ours) == len(theirs)
    for got, want in zip(ours, theirs):
        assert list(got) == list(want)
        equal(got, want)


def test_tokenizers_of_batches(data):
    """Which make of a text the same in every batch; others are refused."""
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    of = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[PAD]": 0, "[UNK]": 1, "Nº": 2, **{str(i): 3 + i for i in range(20)}}, unk_token="[UNK]"))
    of.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=of, pad_token="[PAD]", unk_token="[UNK]", model_max_length=6)

    def whole(batch):
        return tokenizer(batch["caption"], padding="max_length", truncation=True)

    def one_of_it(batch):
        return {"ids": tokenizer(batch["caption"], padding="max_length", truncation=True, return_tensors="pt").input_ids}

    for function in (whole, one_of_it):
        for form in (None, "torch"):
            dataset = data["Parquet"]().select_columns(["caption", "label"]).map(function, batched=True, remove_columns="caption").with_format(form)
            with spdl.DataLoader(dataset, batch_size=4, copy=True) as loader:
                for got, want in zip(loader, DataLoader(dataset, batch_size=4)):
                    assert list(got) == list(want) and all(torch.equal(torch.stack(list(got[key])), torch.stack(list(want[key]))) for key in want)
    with pytest.raises(spdl.ArgumentError, match=r"got .tokenizer\(batch\['caption'\], padding=True\).*which is of a whole batch, .*or a tokenizer with padding=\"max_length\""):
        spdl.DataLoader(data["Parquet"]().select_columns(["caption", "label"]).map(lambda batch: tokenizer(batch["caption"], padding=True), batched=True))


TEXTS = {
    "equal": lambda e: e["caption"] == "Nº 1 ", "in some": lambda e: e["caption"] in ("Nº 1 ", "Nº 2 Nº 2 "), "a part": lambda e: "1" in e["caption"], "not a part": lambda e: "1" not in e["caption"] and e["label"] != 2,
    "letters": lambda e: 4 < len(e["caption"]) <= 11, "its beginning": lambda e: e["caption"].startswith("Nº 1") or not e["caption"].endswith(" "), "any": lambda e: e["caption"], "order": lambda e: e["caption"] > "Nº 17",
    "quotes": lambda e: e["caption"] != 'a "b" \\ \n \u00e9',
}


@pytest.mark.skipif(sys.version_info < (3, 11), reason="lambdas of a line are told apart from Python 3.11 on")
@pytest.mark.parametrize("name", TEXTS)
def test_filters_of_texts(data, name):
    for kind in KINDS[:2]:
        dataset = data[kind]().select_columns(["caption", "label", "width"]).filter(TEXTS[name])
        with spdl.DataLoader(dataset, batch_size=3, copy=True) as loader:
            ours = list(loader)
        theirs = list(DataLoader(dataset, batch_size=3))
        assert 0 < len(ours) == len(theirs)
        for got, want in zip(ours, theirs):
            equal(got, want)


def test_a_filter_of_columns(data):
    dataset = data["Parquet"]().select_columns(["caption", "label"]).filter(
        lambda text, label, least: label >= least and "1" in text, input_columns=["caption", "label"], fn_kwargs={"least": 1})
    with spdl.DataLoader(dataset, batch_size=3, copy=True) as loader:
        for got, want in zip(loader, DataLoader(dataset, batch_size=3)):
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
    "a whole batch": (lambda d: d.map(lambda batch: {"mean": [sum(batch["label"]) / 3] * len(batch["label"])}, batched=True), r"test_streamed_maps.py:\d+: got .*which is of a whole batch, want it to do no more with pictures than batch"),
    "rows that a batch leaves out": (lambda d: d.map(lambda batch: {"label": [n for n in batch["label"] if n]}, batched=True, remove_columns=PLAIN), "which is of a whole batch"),
    "what asks for its batch": (lambda d: d.map(lambda batch: {"label": [n - min(batch["label"]) for n in batch["label"]]}, batched=True), "which is of a whole batch"),
    "pictures of any mode in a batch": (lambda d: d.map(lambda batch: {"image": [SMALL(one) for one in batch["image"]]}, batched=True), r"of pictures of any mode, want image.convert\(\"RGB\"\) in it"),
    "the last batch": (lambda d: d.map(lambda batch: batch, batched=True, drop_last_batch=True), "with drop_last_batch, want none: drop_last= of spdl.DataLoader"),
    "indices": (lambda d: d.map(
        lambda example, i: example, with_indices=True), "with with_indices, want none"),
    "input_columns": (lambda d: d.map(
        lambda image: {"image": SMALL(image)}, input_columns="image"), "of pictures of any mode"),
    "features": (lambda d: d.map(prepared, features=Features({"label": Value("int64")})), "with features, want none: features=None"),
    "twice": (lambda d: d.map(
        lambda example: {"a": SMALL(example["image"].convert("RGB")), "b": FLOATS(example["image"].convert("RGB"))}, remove_columns="image"), "makes two tensors of 'image', want one of each column of pictures"),
    "a format": (lambda d: d.with_format("torch").map(prepared, remove_columns="image"), "has a map of .* behind with_format, whose function gets tensors, want with_format behind it, or none"),
    "a format that went again": (lambda d: d.with_format("torch").map(scored).with_format(None), "behind with_format, whose function gets tensors"),
    "a filter behind a format": (lambda d: d.with_format("torch").filter(wide), "has a filter of .* behind with_format"),
    "of two columns": (lambda d: d.map(
        lambda example: {"sum": example["label"] + example["width"]}), r"test_streamed_maps.py:\d+: got \"example\['label'\] \+ example\['width'\]\""),
    "a filter of texts that it changes": (lambda d: d.filter(
        lambda example: "n" in example["caption"].lower()), r"has a filter of .*test_streamed_maps.py:\d+: got .*want columns of numbers and texts compared with such that are known"),
    "a filter of what is null": (lambda d: d.filter(lambda example: example["caption"] is not None), "got .*example.*is not None.*, want no question for None: null is an empty text here"),
    "a filter of pictures": (lambda d: d.filter(lambda example: example["image"] == 3), "want columns of numbers and texts"),
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


def test_a_map_of_sounds_is_told_what_these_take(tmp_path):
    from datasets import Audio, Dataset

    features = Features({"audio": Audio(sampling_rate=16000), "text": Value("string")})
    Dataset.from_dict({"audio": [{"bytes": b"", "path": "a.wav"}], "text": ["a"]}, features).to_parquet(tmp_path / "a.parquet")
    streamed = load_dataset("parquet", data_files=str(tmp_path / "a.parquet"), split="train", streaming=True, features=features)
    with pytest.raises(spdl.ArgumentError, match=r"of sounds none, and transform=\{'audio': \{\"length\": \"10s\", \"shape\": \"padded\"\}\}, the section of a description"):
        spdl.DataLoader(streamed.map(lambda example: {"values": example["audio"]["array"]}))


def test_lists_that_a_function_is_called_with_are_refused(data):
    with pytest.raises(spdl.ArgumentError, match="calls a function with 'four', which is of List, want it of a number or a text"):
        spdl.DataLoader(data["Parquet"]().select_columns(["label", "four"]).map(lambda example: {"four": torch.tensor(example["four"])}))


def test_two_columns_of_one(data):
    def twice(example):
        example["other"] = example["label"] + 1
        example["image"] = SMALL(example["image"].convert("RGB"))
        return example

    for kind in KINDS:
        dataset = without_lists(data[kind]()).map(twice)
        with spdl.DataLoader(dataset, batch_size=5, copy=True) as loader:
            for got, want in zip(loader, DataLoader(dataset, batch_size=5)):
                equal(got, want)


def test_a_filter_of_one_on_a_disk_is_refused(data):
    with pytest.raises(spdl.ArgumentError, match=r"has a filter, want it of the data set that it is made of: dataset.filter\(...\).to_iterable_dataset\(\)"):
        spdl.DataLoader(without_lists(data["of one on a disk"]()).filter(wide), transform=SMALL)


def test_splits_are_refused_with_the_one_that_is_meant(parquet):
    files = {"train": str(parquet / "train-0.parquet"), "test": str(parquet / "train-1.parquet")}
    for streaming in (True, False):
        with pytest.raises(spdl.ArgumentError, match=r"DictDict|has the splits train, test, want one of them: dataset\['train'\]"):
            spdl.DataLoader(load_dataset("parquet", data_files=files, streaming=streaming, features=FEATURES), transform=T.ToTensor())
