"""DataLoader: a Loader in the shape of torch's, for training loops that are there already."""

from __future__ import annotations

import difflib
import inspect
from typing import Any, Callable, Iterable, Iterator, Mapping, Optional, Union

from ._errors import ArgumentError
from ._start import Spec, open
from .arrays import Array, Ragged, view
from .batch import Batch
from .loader import Loader

# What torch's DataLoader is told and an engine is not, and what does it here.
_TORCH = {
    "batch_size": "say batch: N in the description",
    "batch_sampler": "say batch: N and order: {...} in the description",
    "dataset": "it comes as source=, behind a description: spdl.DataLoader(spec, source=dataset)",
    "collate_fn": "batches come collated; transform= maps a whole one",
    "drop_last": "say order: {last: drop} in the description",
    "generator": "say order: {seed: N} in the description",
    "in_order": "leave it out: batches come in order; ring: {delivery: ready} in the description lets them pass each other",
    "multiprocessing_context": "leave it out: the engine is a program of its own",
    "num_workers": 'leave it out: the engine has threads; args=["--cpus", "8"] bounds them',
    "persistent_workers": "leave it out: the engine stays from epoch to epoch",
    "pin_memory": "call loader.loader.pin() (docs/gpu.md)",
    "pin_memory_device": "call loader.loader.pin(device=N) (docs/gpu.md)",
    "prefetch_factor": "say ring: {slots: N} in the description",
    "sampler": "say order: {...} in the description",
    "shuffle": "say order: {shuffle: true, seed: N} in the description",
    "worker_init_fn": "leave it out: there are no workers",
}

# Keys of the description that one may take for arguments.
_KEYS = {"batch": "batch: N", "seed": "order: {seed: N}", "epochs": "order: {epochs: N}", "image": "image: {...}"}

Fields = Union[str, Iterable[str], Mapping[str, str], None]

_PAIR = ("image", "label")  # of samples that have no picture, their first field takes its place


_OPTIONS = [name for name in inspect.signature(open).parameters if name != "spec"]


def _check_option(name: str) -> None:
    """Refuse what spdl.open does not take, and say what does it."""
    if name in _OPTIONS:
        return
    if name in _KEYS:
        raise TypeError(f"spdl: DataLoader: {name} is the description's; say {_KEYS[name]} there")
    near = difflib.get_close_matches(name, [*_OPTIONS, *_TORCH, "fields", "transform", "tensors", "copy"], 1)
    torchs = name if name in _TORCH else near[0] if near and near[0] in _TORCH else None
    if torchs is not None:
        raise TypeError(f"spdl: DataLoader: {name} is torch's{'' if name == torchs else f' {torchs}'}; {_TORCH[torchs]}")
    remedy = f"did you mean {near[0]}?" if near else "what it takes stands in help(spdl.DataLoader) and help(spdl.open)"
    raise TypeError(f"spdl: DataLoader: got an unexpected argument {name}; {remedy}")


class DataLoader:
    """Batches as torch tensors in a tuple, a dict, or whatever `transform` makes of them.

        for images, labels in spdl.DataLoader("imagenet.yaml"):
            ...

    source     what spdl.open takes (with `options` passed on to it), or a Loader, which stays the caller's to close
    fields     a sequence of names gives tuples, by itself of the image, or else of the ring's first field, and the label; a dict
               {key: field} gives dicts; one name gives the tensor alone; None gives dicts of all fields and labels. The field
               "key" comes as a list of str
    transform  called with that; what it returns is handed out
    tensors    "torch" or "numpy"
    copy       False: tensors are views, and keep their batch's slot leased while they live; True: they are their own

    Each for loop is one epoch, the rest of one after a `break`. Unlike torch's, it has no workers: decoding happens
    in the engine.
    """

    def __init__(self, source: Union[Loader, Spec], /, fields: Fields = _PAIR, *,
                 transform: Optional[Callable[[Any], Any]] = None, tensors: str = "torch", copy: bool = False,
                 **options: Any) -> None:
        if tensors not in ("torch", "numpy"):
            raise ArgumentError(f'spdl: DataLoader: tensors={tensors!r}, want "torch" or "numpy"')
        for name in options:
            _check_option(name)
        self._owned = not isinstance(source, Loader)
        if not self._owned and options:
            raise ArgumentError(f"spdl: DataLoader: {', '.join(options)} are for a loader that it opens itself")
        self.loader = open(source, **options) if self._owned else source
        self._tensors = tensors
        self._copy = copy
        self._transform = transform
        try:
            self._pick = self._picker(fields)
        except BaseException:
            self.close()
            raise

    @property
    def classes(self) -> Optional[list[str]]:
        """Names of the labels, where the source has them: label i is classes[i]."""
        return self.loader.classes

    @property
    def batch_size(self) -> int:
        """Rows of a full batch."""
        return self.loader.info.batch_rows

    def __len__(self) -> int:
        """Batches per epoch, in this rank's lane."""
        return len(self.loader)

    def __iter__(self) -> Iterator[Any]:
        return _Epoch(self)

    def set_epoch(self, epoch: int) -> None:
        """Be at the start or within epoch: nothing to do where the loop before ran to its end, a restart after a
        `break`. Raises ArgumentError for any other epoch: load_state_dict() goes there."""
        now = self.loader.epoch
        if epoch == now + 1:
            self.loader.restart()
        elif epoch != now:
            raise ArgumentError(f"spdl: DataLoader: set_epoch({epoch}) in epoch {now}; use load_state_dict() to go there")

    def state_dict(self) -> dict[str, Any]:
        """As Loader.state_dict: the batch in hand counts as completed."""
        return self.loader.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """As Loader.load_state_dict."""
        self.loader.load_state_dict(state)

    def close(self) -> None:
        """Close the loader if this opened it."""
        if self._owned:
            self.loader.close()

    def __enter__(self) -> DataLoader:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _picker(self, fields: Fields) -> Callable[[Batch], Any]:
        if fields is _PAIR and _PAIR[0] not in self.loader.schema.fields:
            fields = (next(iter(self.loader.schema.fields)), _PAIR[1])
        if fields is None:
            fields = {field.name: field.name for field in self.loader.fields if field.role in ("field", "label")}
        if not isinstance(fields, (str, Mapping)) and (not isinstance(fields, Iterable) or isinstance(fields, bytes)):
            raise ArgumentError(f"spdl: DataLoader: fields={fields!r}, want an iterable of names, a dict {{key: field}}, one name, or None")
        if isinstance(fields, str):
            only = self._known(fields)
            return lambda batch: self._one(batch, only)
        if isinstance(fields, Mapping):
            pairs = [(key, self._known(name)) for key, name in fields.items()]
            return lambda batch: {key: self._one(batch, name) for key, name in pairs}
        names = [self._known(name) for name in fields]
        return lambda batch: tuple([self._one(batch, name) for name in names])

    def _known(self, name: str) -> str:
        return self.loader.schema[name].name

    def _one(self, batch: Batch, name: str) -> Any:
        if name == self.loader.schema.key:
            return batch.sample_keys
        field = batch.array(name)
        if isinstance(field, Ragged):
            return [self._tensor(field._row(row)) for row in range(len(field))]
        return self._tensor(field)

    def _tensor(self, array: Array) -> Any:
        if self._tensors == "torch":
            return array.torch(copy=self._copy)
        return view(array.copy() if self._copy else array)


class _Epoch:
    """One epoch of a DataLoader."""

    def __init__(self, parent: DataLoader) -> None:
        self._parent = parent
        self._batches = iter(parent.loader)

    def __iter__(self) -> _Epoch:
        return self

    def __next__(self) -> Any:
        picked = self._parent._pick(next(self._batches))
        transform = self._parent._transform
        return picked if transform is None else transform(picked)
