"""spdl.DataLoader on data sets of Hugging Face's whose function does more than pictures need: tokenizers, captions and labels. The loop does that, and the batches are those of torch's DataLoader."""

import random

import numpy as np
import pytest
from test_with_transform import N, TENSOR, data, ours  # noqa: F401

torch = pytest.importorskip("torch")
spdl = pytest.importorskip("spdl")
from torch.utils.data import DataLoader  # noqa: E402


def same(got, want):
    if isinstance(want, torch.Tensor):
        return type(got) is type(want) and got.dtype == want.dtype and torch.equal(got, want)
    if isinstance(want, dict):
        return list(got) == list(want) and all(same(got[key], want[key]) for key in want)
    return type(got) is type(want) and (len(got) == len(want) and all(map(same, got, want)) if isinstance(want, (list, tuple)) else got == want)


def equal(got, want):
    assert same(got, want)


class Arguments:
    image_column, caption_column, length, flips = "image", "caption", 5, False


def tokens(texts, length, fill=0):
    """A tokenizer in one line."""
    return torch.tensor([([ord(c) for c in text] + [fill] * length)[:length] for text in texts])


def tokenize_captions(examples, is_train=True):
    """As the examples of diffusers have it."""
    captions = []
    for caption in examples[Arguments.caption_column]:
        if isinstance(caption, str):
            captions.append(caption)
        elif isinstance(caption, (list, np.ndarray)):
            captions.append(random.choice(caption) if is_train else caption[0])
        else:
            raise ValueError(f"caption column `{Arguments.caption_column}` should contain either strings or lists of strings")
    return tokens(captions, Arguments.length)


def preprocess_train(examples):
    images = [image.convert("RGB") for image in examples[Arguments.image_column]]
    examples["pixel_values"] = [TENSOR(image) for image in images]
    examples["input_ids"] = tokenize_captions(examples)
    del examples["image"]
    return examples


def of_columns(batch):
    return {"pixels": torch.stack([TENSOR(one.convert("RGB")) for one in batch["image"]]), "ids": tokens(batch["caption"], length=7, fill=1), "labels": torch.nn.functional.one_hot(torch.tensor(batch["label"]), 3).float(),
            "scores": np.array(batch["score"]) * 2, "lengths": [len(text) for text in batch["caption"]], "pairs": [(n, n + 1) for n in batch["label"]], "kind": [{"n": n, "text": str(n)} for n in batch["label"]]}


def statements(batch):
    """Loops, sums and conditions of what is no picture."""
    texts, total = [], 0
    for text, score in zip(batch["caption"], batch["score"]):
        if score > 0.5:
            texts.append(text.upper())
        else:
            texts.append(text)
    for text in texts:
        total += len(text)
    batch["text"] = texts
    batch["total"] = [total] * len(texts)
    batch["image"] = [TENSOR(one.convert("RGB")) for one in batch["image"]]
    return batch


def changed_in_place(batch):
    for i, text in enumerate(batch["caption"]):
        batch["caption"][i] = text + "!"
    ids = tokens(batch["caption"], 9)
    ids[ids == 0] = -100
    batch["ids"] = ids
    pixels = []
    for image in batch["image"]:
        rgb = image.convert("RGB")
        pixels.append(TENSOR(rgb))
    batch["pixels"] = pixels
    del batch["image"]
    return batch


def known_conditions(batch):
    if Arguments.flips:
        raise AssertionError
    elif "caption" in batch and Arguments.length == 5:
        batch["ids"] = tokens(batch["caption"], Arguments.length)
    if not Arguments.flips:
        batch["image"] = list(map(TENSOR, [one.convert("RGB") for one in batch["image"]]))
    return batch


def without_pictures(batch):
    del batch["image"]
    batch["label"] = [int(n) for n in batch["label"]]
    return batch


class Preparing:
    """Which has a state of its own."""

    def __init__(self, length):
        self.length, self.batches = length, 0

    def __call__(self, batch):
        self.batches += 1
        pixels: list = []
        with torch.no_grad():
            pixels = [TENSOR(one.convert("RGB")) for one in batch["image"]]
        return {"pixels": pixels, "ids": tokens(batch["caption"], self.length), "of": [self.batches] * len(batch["label"])}


FORMS = {one.__name__: one for one in (preprocess_train, of_columns, statements, changed_in_place, known_conditions, without_pictures)}
OBJECTS = {"an object": lambda: Preparing(6), "its method": lambda: Preparing(4).__call__}


@pytest.mark.parametrize("name", FORMS)
def test_batches_are_torchs(data, name):
    for rows in (data, data.select([7, 2, 2, 9, 0])):
        rows = rows.with_transform(FORMS[name])
        equal(ours(rows), list(DataLoader(rows, batch_size=4)))


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_that_are_called(data, name):
    equal(ours(data.with_transform(OBJECTS[name]())), list(DataLoader(data.with_transform(OBJECTS[name]()), batch_size=4)))


def test_a_collate_fn_and_fields(data):
    def collate(samples):
        return {"pixels": torch.stack([one["pixels"] for one in samples]), "ids": torch.stack([one["ids"] for one in samples]), "kind": [one["kind"] for one in samples], "label": [one["lengths"] for one in samples]}

    rows = data.with_transform(of_columns)
    equal(ours(rows, collate_fn=collate), list(DataLoader(rows, batch_size=4, collate_fn=collate)))
    want = list(DataLoader(rows, batch_size=4))
    for got, batch in zip(ours(rows, fields=("ids", "pixels")), want):
        assert type(got) is tuple and torch.equal(got[0], batch["ids"]) and torch.equal(got[1], batch["pixels"])
    equal(ours(rows, fields={"x": "lengths"}), [{"x": batch["lengths"]} for batch in want])
    first = ours(rows, tensors="numpy", fields={"ids": "ids", "pixels": "pixels"})[0]
    assert type(first["ids"]) is np.ndarray and np.array_equal(first["ids"], want[0]["ids"].numpy()) and np.array_equal(first["pixels"], want[0]["pixels"].numpy())


def test_each_sample_keeps_its_own(data):
    """Shuffled, the texts are those of the pictures."""
    rows = data.with_transform(lambda batch: {"x": [TENSOR(one.convert("RGB")) for one in batch["image"]], "ids": tokens(batch["caption"], 8)})
    want = {tuple(ids): x for batch in DataLoader(rows, batch_size=4) for ids, x in zip(batch["ids"].tolist(), batch["x"])}
    got = [(tuple(ids), x) for batch in ours(rows, shuffle=True) for ids, x in zip(batch["ids"].tolist(), batch["x"])]
    assert len(got) == N == len(want) and all(torch.equal(want[ids], x) for ids, x in got)


def test_tokenizers_of_transformers(data):
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    of = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[PAD]": 0, "[UNK]": 1, "the": 2, **{f"{i}th": 3 + i for i in range(N)}}, unk_token="[UNK]"))
    of.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=of, pad_token="[PAD]", unk_token="[UNK]", model_max_length=6)

    def updated(batch):
        batch.update(tokenizer(batch["caption"], padding="longest", return_tensors="pt"))
        batch["image"] = [TENSOR(one.convert("RGB")) for one in batch["image"]]
        return batch

    def spread(batch):
        return {**tokenizer(batch["caption"], padding="max_length", truncation=True, return_tensors="pt"), "pixel_values": [TENSOR(one.convert("RGB")) for one in batch["image"]]}

    def put_into(batch):
        inputs = tokenizer(text=batch["caption"], padding="max_length", return_tensors="pt")
        labels = inputs.input_ids.clone()
        labels[labels == tokenizer.pad_token_id] = -100
        inputs["labels"] = labels
        inputs["pixel_values"] = torch.stack([TENSOR(one.convert("RGB")) for one in batch["image"]])
        return inputs

    def alone(batch):
        return tokenizer(batch["caption"], padding=True, return_tensors="pt")

    for function in (updated, spread, put_into, alone):
        rows = data.with_transform(function)
        equal(ours(rows), [dict(batch) for batch in DataLoader(rows, batch_size=4)])


def asks(batch):
    return [one.size[0] for one in batch["image"]]


def adds(batch):
    batch["more"] = [0] * len(batch["label"])
    return batch["more"]


def counts(batch):
    return [len(batch)] * N


def one_too_few(batch):
    return batch["label"][1:]


REFUSED = {  # when the first batch is made, as these are other functions than the data set's
    asks: r"test_with_transform_loop.py:\d+: asks the batch for 'image', which is of pictures, .*; want what it does with pictures in the function itself",
    adds: r"test_with_transform_loop.py:\d+: changes the batch, which has .*, more behind it, and had .*, want a function that returns what it makes",
    counts: "goes through the columns of a batch, of which image are not there, want it to ask for those that it needs by their names",
    one_too_few: "the function of set_transform makes .* in 'x' of 4 samples, want a list, or a tensor, of as many",
}


@pytest.mark.parametrize("function", REFUSED)
def test_functions_that_it_calls_get_no_pictures(data, function):
    def prepare(batch):
        batch["x"] = function(batch)
        batch["image"] = [TENSOR(one.convert("RGB")) for one in batch["image"]]
        return batch

    with pytest.raises(spdl.ArgumentError, match=REFUSED[function]):
        ours(data.with_transform(prepare))


def test_a_column_without_texts_is_refused_where_it_is_asked_for(data):
    rows = data.remove_columns("caption").add_column("caption", [None if i == 2 else "x" for i in range(N)])

    def prepare(batch):
        return {"x": [TENSOR(one.convert("RGB")) for one in batch["image"]], "n": [len(text or "") for text in batch["caption"]]}

    with pytest.raises(spdl.ArgumentError, match="asks for the column 'caption', .*or has no text in some rows|asks the batch for 'caption', .* or has no text in some rows"):
        ours(rows.with_transform(prepare))
    rows = rows.with_transform(lambda batch: {"x": [TENSOR(one.convert("RGB")) for one in batch["image"]], "n": [n + 1 for n in batch["label"]]})
    equal(ours(rows), list(DataLoader(rows, batch_size=4)))
