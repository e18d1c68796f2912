"""litData's StreamingDataset: where its chunks lie, and what its samples are in a batch."""

from __future__ import annotations

import json
import os
import posixpath
from typing import Any, Optional

from . import addresses, datasets, libraries
from .made import Streamed
from .mosaic import Shards, described

_BEHAVIOUR = ("__getitem__", "__iter__", "__next__")
_KINDS = {
    **dict.fromkeys(("jpeg", "image", "tifffile", "tiff"), "picture"), "int": "i64", "bool": "i64", "float": "f64", **dict.fromkeys(("str", "text"), "text"),
    **dict.fromkeys(("tensor", "numpy", "no_header_tensor", "no_header_numpy"), "npy"),
}
_REMEDIES = {
    "bytes": 'a description says what they are: a picture, a sound, an .npy (docs/formats.md#litdata)', "file": "a description says what it is: a picture, a sound, an .npy (docs/formats.md#litdata)",
    "json": "a description takes lists of numbers of it, as npy (docs/formats.md#litdata)", "pil": "optimize writes pictures of PIL's as jpeg, of which transform= makes tensors, where they come from JPEG files",
}


def is_dataset(one: Any) -> bool:
    """Whether this is litData's, or derived of it."""
    return libraries.derives(one, "litdata", "StreamingDataset")


def streamed(dataset: Any, said: Any, transform: Any = None, fields: Any = None) -> Streamed:
    """A data set as parts of a description."""
    return described(LitData(dataset), said, int(dataset.seed), transform, fields)


class LitData(Shards):
    """litData's, of its index.json, which it has brought where it keeps chunks."""

    kinds, whole, remedies = _KINDS, ("int",), _REMEDIES
    want = "int, float, bool, str, tensors, arrays of NumPy's, jpeg or image"

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self._check()
        at = dataset.input_dir
        self.places = [addresses.address(posixpath.join(at.url or at.path, "index.json"), "dataset")]
        with open(os.path.join(at.path, "index.json"), "rb") as file:
            index = json.load(file)
        config, chunks = index["config"], index["chunks"]
        self.samples = sum(int(one["chunk_size"]) for one in chunks)
        self._check_whole(config, chunks)
        names: list[str] = []
        self._tree = _leaves(json.loads(config["data_spec"])[1], "", names)
        if isinstance(self._tree, str):
            self._tree, self.form = {self._tree: self._tree}, "one"
        elif isinstance(self._tree, list):
            self._tree, self.form = {str(i): one for i, one in enumerate(self._tree)}, "tuple"
        self.columns = list(self._tree)
        super().__init__(dataset, dict(zip(names, config["data_format"])))

    def tree(self, column: str) -> Any:
        return self._tree[column]

    def _check(self) -> None:
        dataset = self.dataset
        own = libraries.home(dataset, ("litdata",), _BEHAVIOUR).own
        if own:
            datasets.refuse_shards(dataset, "dataset", f"is a class of its own, which reads by its {own}, and the engine the same chunks: want litdata.StreamingDataset itself, of which transform= is its pictures' "
                                                       "and fields= its columns, or ")
        if getattr(dataset, "transform", None):
            self.refuse("transform: got one of litData's, of whole samples, want none: spdl.DataLoader(dataset, transform=...) is its pictures', and a collate_fn takes samples")
        loader = type(dataset.item_loader).__qualname__
        if dataset.item_loader is not None and loader != "PyTreeLoader":
            self.refuse(f"item_loader: got a {loader}, want PyTreeLoader, or none: tokens lie in plain files (docs/arrays.md#whole-arrays), and Parquet is source: {{shards: ...}} of a description")

    def _check_whole(self, config: dict[str, Any], chunks: list[dict[str, Any]]) -> None:
        dataset = self.dataset
        taken = [last - first for first, last in dataset.region_of_interest]
        if len(taken) != len(chunks) or sum(taken) != self.samples:
            self.refuse(f"has {sum(taken)} of its {self.samples} samples (subsample, train_test_split), want all of them: a split is order: {{filter: ...}} or source: {{only: ...}} of a description (docs/sources.md)")


def _leaves(node: dict[str, Any], before: str, names: list[str]) -> Any:
    """A part of the tree that a sample is: the name of a leaf, as the engine calls it, or a dict or a list of parts."""
    if node["type"] is None:
        names.append(before or "0")
        return names[-1]
    children = node["children_spec"]
    keys = _keys(node)
    if keys is not None and len(keys) == len(children):
        return {key: _leaves(one, f"{before}.{key}" if before else key, names) for key, one in zip(keys, children)}
    return [_leaves(one, f"{before}.{i}" if before else str(i), names) for i, one in enumerate(children)]


def _keys(node: dict[str, Any]) -> Optional[list[str]]:
    """A dict's, as JSON in JSON; None of a list or a tuple."""
    if node["type"] not in ("builtins.dict", "collections.OrderedDict"):
        return None
    keys = node["context"]
    keys = json.loads(keys) if isinstance(keys, str) else keys
    return keys if isinstance(keys, list) and all(isinstance(key, str) for key in keys) else None
