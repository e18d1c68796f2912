"""Functions that Hugging Face's data sets have as their transform: what is refused of them, by stand-ins. tests/exact/test_with_transform.py holds what is taken against torch's DataLoader."""

from __future__ import annotations

import ast
import functools
import sys
from typing import Any

import pytest
import spdl
from spdl._torch import texts
from test_huggingface import IMAGE, LABEL, dataset, feature
from test_processors import Pil, detr

TEXT, RGB, GRAY = feature("Value", dtype="string"), feature("Image", mode="RGB", decode=True), feature("Image", mode="L", decode=True)
WRITE = r"want it to do no more with pictures than batch\[\"pixel_values\"\] = .* or dataset.with_format\(None\), and transform=Compose\(\[...\]\)"


def tensor(image: Any) -> Any:
    return image


PROCESSOR = detr(Pil)


def given(function: Any) -> Any:
    one = dataset("custom", image=IMAGE, label=LABEL, caption=TEXT, thumb=RGB, gray=GRAY)
    one.format["format_kwargs"] = {"transform": function}
    return one


def loops(batch: Any) -> Any:
    for image in batch["image"]:
        image.rotate(90)
    return batch


def branches(batch: Any) -> Any:
    return {"x": [tensor(one.convert("RGB")) for one in batch["image"] if one]}


def turned(batch: Any) -> Any:
    return {"x": [tensor(one.convert("RGB").rotate(90)) for one in batch["image"]]}


def gray(batch: Any) -> Any:
    return {"x": [tensor(one.convert("L")) for one in batch["image"]]}


def any_mode(batch: Any) -> Any:
    return {"x": [tensor(one) for one in batch["image"]]}


def coloured(batch: Any) -> Any:
    return {"x": [tensor(one.convert("RGB")) for one in batch["gray"]]}


def size_of_pictures(batch: Any) -> Any:
    return {"x": [tensor(one) for one in batch["thumb"]], "y": [one.size for one in batch["thumb"]]}


def no_column(batch: Any) -> Any:
    return {"x": batch["labels"]}


def beside_captions(batch: Any) -> Any:
    batch["x"] = [tensor(one) for one, text in zip(batch["thumb"], batch["caption"]) if text]
    return batch


def a_condition(batch: Any) -> Any:
    if batch["caption"][0]:
        batch["x"] = [tensor(one) for one in batch["thumb"]]
    return batch


def gone_through(batch: Any) -> Any:
    return {name: values for name, values in batch.items() if name != "image"}


def taken_away(batch: Any) -> Any:
    batch["ids"] = tensor(batch.pop("caption"))
    return batch


def appended(batch: Any) -> Any:
    pixels = [0]
    for image in batch["thumb"]:
        pixels.append(tensor(image))
    return {"x": pixels}


def appended_if(batch: Any) -> Any:
    pixels: Any = []
    for image in batch["thumb"]:
        if image.size[0] > 9:
            pixels.append(tensor(image))
    return {"x": pixels}


def nothing(batch: Any) -> Any:
    batch["x"] = batch["label"]


def a_list(batch: Any) -> Any:
    return [tensor(one) for one in batch["thumb"]]


def more(batch: Any, other: Any) -> Any:
    return {"x": batch["label"]}


def two_tensors(batch: Any) -> Any:
    return {"x": [tensor(one) for one in batch["thumb"]], "y": [tensor(one) for one in batch["thumb"]]}


def processed(batch: Any) -> Any:
    return PROCESSOR(batch["image"], return_tensors="pt")


def processed_so(batch: Any) -> Any:
    return PROCESSOR(batch["image"], size={"height": 3}, return_tensors="pt")


def processed_gray(batch: Any) -> Any:
    return PROCESSOR(batch["gray"])


def processed_texts(batch: Any) -> Any:
    return PROCESSOR(batch["caption"])


@functools.wraps(any_mode)
def wrapped(batch: Any) -> Any:
    return any_mode(batch)


class Called:
    def __call__(self, batch: Any) -> Any:
        return {"x": [tensor(one) for one in batch["image"]]}


class Silent:
    __call__ = functools.partialmethod(any_mode)


exec("def unwritten(batch):\n    return batch")


@pytest.mark.parametrize("function, message", [
    (loops, r"test_with_transform.py:\d+: got .for image in batch\[.image.\]:"),
    (branches, r"got .\[tensor\(one.convert\('RGB'\)\) for one in batch\['image'\] if one\]"),
    (turned, r"got .one.convert\('RGB'\).rotate\(90\)"),
    (gray, r"got .one.convert\('L'\)"),
    (any_mode, r"got 'tensor\(one\)' of pictures of any mode, want image.convert\(\"RGB\"\) in it, or dataset.cast_column\('image', Image\(mode=\"RGB\"\)\)"),
    (coloured, r"of pictures of mode L, want .*dataset.cast_column\('gray', Image\(mode=\"RGB\"\)\)"),
    (size_of_pictures, r"got 'one.size'"),
    (no_column, r"got .batch\['labels'\]"),
    (beside_captions, r"got .zip\(batch\['thumb'\], batch\['caption'\]\)"),
    (a_condition, r"got .if batch\['caption'\]\[0\]:"),
    (gone_through, r"got .\{name: values for name, values in batch.items\(\) if name != 'image'\}"),
    (taken_away, r"got .tensor\(batch.pop\('caption'\)\)"),
    (appended, r"got .for image in batch\['thumb'\]:"),
    (appended_if, r"test_with_transform.py:\d+: got .for image in batch\['thumb'\]:"),
    (nothing, r"got .batch\['x'\] = batch\['label'\].* at its end, no dict of columns"),
    (a_list, "at its end, no dict of columns and of what becomes of pictures"),
    (more, "got other arguments than a batch"),
    (processed, r"got .PROCESSOR\(batch\['image'\], return_tensors='pt'\).*, a processor that makes pixel_values, pixel_mask, want dataset.with_format\(None\), and transform=processor of spdl.DataLoader"),
    (processed_so, r"of other arguments than images and return_tensors=\"pt\""),
    (processed_gray, r"of pictures of mode L, want dataset.cast_column\('gray', Image\(mode=\"RGB\"\)\)"),
    (processed_texts, r"got .PROCESSOR\(batch\['caption'\]\)"),
    (wrapped, r"test_with_transform.py:\d+: got 'return any_mode\(batch\)' at its end, no dict of columns"),
    (Called(), r"test_with_transform.py:\d+: got 'tensor\(one\)' of pictures of any mode"),
    (Silent(), "whose text cannot be read"),
    (unwritten, "whose text cannot be read"),  # type: ignore[name-defined]  # noqa: F821
    (None, "whose text cannot be read"),
])
def test_a_function_that_does_more_is_refused_with_the_place(function, message):
    for call in (spdl.DataLoader, spdl.describe):
        with pytest.raises(spdl.ArgumentError, match=rf"spdl: DataLoader: dataset: Dataset has a function as its transform \(set_transform, with_transform\), .*{message}.*{WRITE}"):
            call(given(function), batch_size=2)


def test_a_function_beside_sounds_is_told_what_these_take():
    one = dataset("custom", audio=feature("Audio", sampling_rate=16000, decode=True), label=LABEL)
    one.format["format_kwargs"] = {"transform": loops}
    with pytest.raises(spdl.ArgumentError, match=r"of sounds dataset.with_format\(None\), and transform=\{'audio': \{\"length\": \"10s\", \"shape\": \"padded\"\}\}, the section of a description"):
        spdl.DataLoader(one, batch_size=2)


def test_two_tensors_of_a_column_are_refused():
    with pytest.raises(spdl.ArgumentError, match="which makes two tensors of 'thumb', want one of each column of pictures"):
        spdl.DataLoader(given(two_tensors), batch_size=2)


def test_one_transform_is_enough():
    with pytest.raises(spdl.ArgumentError, match=r"and transform= is given, want one of them: dataset.with_format\(None\)$"):
        spdl.DataLoader(given(two_tensors), batch_size=2, transform=tensor)


def test_lambdas_of_one_line_are_told_apart():
    """From Python 3.11 on, whose code says where it stands; before they are refused."""
    both = (lambda batch: {"x": batch["label"]}), lambda batch: {"y": batch["label"]}, lambda batch: {"y": batch["label"]}
    if sys.version_info < (3, 11):
        with pytest.raises(texts.Unread, match="one of several on a line"):
            texts.parsed(both[0])
        return
    assert [ast.unparse(texts.parsed(one)) for one in both] == ["lambda batch: {'x': batch['label']}", "lambda batch: {'y': batch['label']}", "lambda batch: {'y': batch['label']}"]
    outer = [lambda one: [lambda two: one + two, lambda two: one - two], lambda one: one]
    assert ast.unparse(texts.parsed(outer[0](1)[1])) == "lambda two: one - two"
