"""DataLoader: a Loader in the shape of torch's, for training loops that are there already."""

from __future__ import annotations

import functools
import math
import operator
import sys
from numbers import Integral
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping, Optional, Union

from . import _torchrun
from ._errors import ArgumentError, Busy, SpecError
from ._epoch import Stretch
from ._foreign import TORCH, refusal, torchs
from ._start import OPTIONS, check_kind, open
from ._torch import arguments, beside, followers, kept, ordered, rows
from .arrays import Array, Ragged, view
from .batch import Batch
from .loader import Epoch, Loader

# Where a program asks a loader for it.
_ASKED = {
    "sampler": "order and ranks are the engine's; sampler.set_epoch(e) is loader.set_epoch(e), and what skips batches to go on within an epoch, as "
               "Hugging Face's Trainer does without ignore_data_skip=True, is state= (docs/recipes.md)",
}

Fields = Union[str, Iterable[str], Mapping[str, str], None]
_USUAL = ("image", "label")
_FETCHED = 1024  # samples at most that the engine asks for at a time, beside those of its slots


_OWN = ("fields", "transform", "tensors", "copy", "restart")


# What says a little of a description, and what says it of a data set.
_OF_DATA_SETS = {"batch": "say batch_size", "size": "the transform says it", "seed": "say generator=torch.Generator().manual_seed(N), or torch.manual_seed(N) ahead of it",
                 "epochs": "each loop is one", "dtype": "the transform says it, ToTensor() f32", "layout": "the transform says it, ToTensor() NCHW"}


def _check_option(name: str, of_data_set: bool) -> None:
    """Refuse what spdl.open does not take, and say what does it."""
    if of_data_set and name in _OF_DATA_SETS:
        raise TypeError(f"spdl: DataLoader: got {name} beside a data set; {_OF_DATA_SETS[name]}")
    if name not in OPTIONS:
        raise refusal("DataLoader", name, [*OPTIONS, *_OWN], "what it takes stands in help(spdl.DataLoader) and help(spdl.open)", "loader.loader")


def _dropped(dataset: Any, fields: Any, more: tuple[Any, ...], transform: Any, options: dict[str, Any]) -> tuple[Fields, arguments.Drop]:
    """What torch's arguments say, of which options keeps the others. By their places they are torch's, unless the first is fields."""
    given = {name: options.pop(name) for name in arguments.ARGUMENTS if name in options}
    if "source" in options:
        raise ArgumentError("spdl: DataLoader: got source= beside a data set, want one of them; a data set of yours comes as source=, behind a description")
    places = (fields, *more) if more or isinstance(fields, Integral) else ()
    if len(places) > len(arguments.POSITIONAL):
        raise TypeError(f"spdl: DataLoader: got {len(places)} arguments by their places behind the data set, want torch's: {', '.join(arguments.POSITIONAL)}")
    for name, value in zip(arguments.POSITIONAL, places):
        if name in given:
            raise TypeError(f"spdl: DataLoader: got {name} twice, by its place and by its name")
        given[name] = value
    if arguments.has_columns(dataset):
        given.update(transform=transform, fields=None if fields is _USUAL or places else fields)
        return _USUAL, arguments.drop(dataset, given)
    return _USUAL if places else fields, arguments.drop(dataset, given)


def _beside(drop: arguments.Drop, options: dict[str, Any], owner: Any) -> Optional[beside.Beside]:
    """The files that the description names, which no other rank has."""
    if not drop.files:
        return None
    if _torchrun.ranks() is not None:
        if options.get("share"):
            raise ArgumentError("spdl: DataLoader: share=True and a data set with boxes, masks, weights, groups, tensors or chosen rows, which are written down for this program's engine alone; leave share out")
        options["share"] = False
    return beside.Beside(drop.files, owner)


def _opened(drop: arguments.Drop, options: dict[str, Any], files: Optional[beside.Beside]) -> tuple[Callable[..., Loader], Loader]:
    """A loader of exactly the data set's files, and what opens another."""
    description = drop.description if files is None else beside.named(drop.description, files.at)
    asked = drop.made.brought if description["order"].get("asked") else None
    if "host" not in description["source"]:
        opens: Callable[..., Loader] = functools.partial(open, description, sampler=asked, **options)
        try:
            loader = opens()
        except SpecError as error:
            if not description["order"].keys() & {"weights", "group"} or "folder" not in description["source"]:
                raise drop.made.places.explained(error) from None
        else:
            samples = loader.info.samples
            if drop.made.samples in (None, samples):
                return opens, loader
            loader.close()
            if drop.made.brought is None or asked is not None:
                raise ArgumentError(f"spdl: DataLoader: the data set's files have {samples} samples, and it has {drop.made.samples}: they were written anew since it was loaded; load it again")
        # the folder has more files by now, or fewer, or some beside the classes
    options = {name: value for name, value in options.items() if name != "engine"}  # files are brought to one in process
    host = description["source"].get("host", {"samples": drop.made.samples})
    columns = {name: one for name, one in description["source"].items() if name == "columns" and "host" in description["source"]}
    opens = functools.partial(open, {**description, "source": {"host": host, **columns}}, source=drop.made.brought, **options)
    return opens, opens()


def _pin(loader: Loader, device: Optional[int]) -> None:
    """As torch does: where there is no CUDA, nothing."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        loader.pin(device, stage=True)


class DataLoader:
    """Batches as torch tensors in a tuple, a dict, or whatever `transform` makes of them.

        for images, labels in spdl.DataLoader("imagenet.yaml"):
            ...

    source     what spdl.open takes (with `options` passed on to it), or a Loader, which stays the caller's to close; or a data set of torchvision's
               that is files, or pixels, with labels, boxes or masks, a Subset or ConcatDataset of such, a TensorDataset, a list of samples or an array, one of Hugging Face's, or a pipeline of webdataset's, with torch's arguments: see below
    fields     a sequence of names gives tuples; a dict {key: field} gives dicts; one name gives the tensor alone;
               None gives dicts of all fields and labels. Left out: ("image", "label"), or where there is no image the
               first field and the label, such as ("video", "label"). The field "key" and columns of text come as a list of str
    transform  called with that; what it returns is handed out. Beside a data set of Hugging Face's it is its pictures'
    tensors    "torch" or "numpy"
    copy       False: tensors are views, and keep their batch's slot leased while they live, but for those of one number a
               sample (labels), which are their own always; True: all are their own
    restart    False: a loop after a `break` has the rest of its epoch; True: it begins an epoch, as torch's does. For
               validation, above all where a framework looks at a few batches first. Left out: True of a data set, else False

    Each for loop is one epoch; so is as many times `next()` as there are batches. Unlike torch's, it has no workers: decoding happens in the engine.

        spdl.DataLoader(ImageFolder(root, transform), batch_size=64, shuffle=True, num_workers=8)      # torch's, but for one word

    Of a data set of torchvision's, torch's arguments mean what they mean there, and its defaults hold: batch_size=1, no shuffle, a short last batch
    unless drop_last. The order is another than torch's of the same seed, which is generator's, or else torch.initial_seed() where torch is imported
    (another in each run unless torch.manual_seed was called; state= wants the same), or else 0; so are the numbers that transforms draw. A sampler
    may be a RandomSampler, SequentialSampler, SubsetRandomSampler or WeightedRandomSampler, a BatchSampler of one, a GroupedBatchSampler of torchvision's references, indices as a list, an array or a
    tensor, which are the order of each epoch, or a DistributedSampler, which under torchrun it is to be; of that each sample comes once.
    Another sampler or batch sampler, of one's own, is asked for its order at the beginning of each loop; set_epoch() is told to it as well, and a state goes on where it gives the same order again.
    A data set of one's own whose __getitem__ opens a picture by Pillow or OpenCV, gives it to transforms and returns it, once or several times, alone or beside anything else, has its samples: that method is read,
    and what is left of it, which finds the file and makes the rest, runs in this program. So has one that opens a sound by torchaudio, soundfile, librosa, SciPy or torchcodec, or takes frames of a video by torchcodec, decord, PyAV or OpenCV. Of several files, such as a picture's and its mask's, and of pictures with boxes or points that go through one transform, all are found when the loader is made. So are transforms of one's own read that do no more than to call others and to return one picture or several.
    One whose __getitem__ takes rows and windows of tensors, arrays, memmaps and lists, and does with their numbers what is the same for a whole batch, has its samples, to the bit; a memmap's file is read where it lies.
    A CocoDetection of one's own whose __getitem__ does no more than to call an image processor of DETR's kin has its samples.
    collate_fn is called by the loop, with a list of samples, whose pictures may have sizes of their own. Without one, boxes come as (images, targets), one
    tensor and a list of dicts.
    prefetch_factor times num_workers batches are ready ahead; otherwise num_workers, persistent_workers and multiprocessing_context say nothing to
    the engine, whose threads are as many as the process has CPUs (args=["--cpus", "8"] bounds them). pin_memory pins where CUDA is. A picture that
    cannot be read ends the loop with an error.
    Of tensors, arrays and lists of samples a batch is what torch's loop has, to the bit: a tuple, a dict, or one tensor. Their rows are copied once, into memory that the engine reads.
    The transform and what the data set knows are told as spdl.describe tells them. Files that are no folder as ImageFolder lists it are named by
    this program, whose engine is in process then. What has no equal here is refused, with what does it.

        spdl.DataLoader(load_dataset("food101", split="train"), transform=Compose([...]), batch_size=64, shuffle=True)      # batch["image"], batch["label"]

    Of a data set of Hugging Face's (datasets.Dataset) a batch is a dict of its columns, as torch's loop over it has them: pictures and numbers in tensors, texts in lists, lists of
    numbers in one tensor where all are of one length, else in a list of tensors. fields= names those that are wanted, in a tuple, in a dict {key: column} or one alone. transform= is
    its pictures', and may be an image processor of transformers', whose batches have pixel_values and labels, with fields={"pixel_values": "image", "labels": "objects"} those of DETR's kin the labels of
    objects that COCO's annotations say; without it the data set's own function (with_transform, set_transform) is read, which may call a transform or a processor and hand on columns;
    of several columns of media a dict {column: transform}, where a section of a description may stand as well, as it does for sounds. select, shuffle, filter, splits
    and joined data sets have the same samples in the same order. The engine reads its files; what is in none, it gets in one of its own, below $TMPDIR. One that is streamed
    (datasets.IterableDataset) says its order itself, by its shuffle; so do MosaicML's StreamingDataset and litData's, whose batches are such dicts, too, or what litData's samples are, and a pipeline of webdataset's:

        spdl.DataLoader(wds.WebDataset(urls, shardshuffle=100).shuffle(1000).decode("pil").to_tuple("jpg", "cls").map_tuple(transform).batched(64), batch_size=None)
    """

    def __init__(self, source: Any, /, fields: Union[Fields, int] = _USUAL, *more: Any,
                 transform: Optional[Callable[[Any], Any]] = None, tensors: str = "torch", copy: bool = False,
                 restart: Optional[bool] = None, **options: Any) -> None:
        if tensors not in ("torch", "numpy"):
            raise ArgumentError(f'spdl: DataLoader: tensors={tensors!r}, want "torch" or "numpy"')
        drop: Optional[arguments.Drop] = None
        if arguments.is_dataset(source):
            fields, drop = _dropped(source, fields, more, transform, options)
            transform = None if arguments.has_columns(source) else transform
        elif more:
            raise TypeError(f"spdl: DataLoader: got {', '.join(repr(one)[:40] for one in (fields, *more))} behind the description, want fields alone; "
                            "the others by their names, batch=64, shuffle=True")
        self._owned = not isinstance(source, Loader)
        if drop is None and self._owned:
            check_kind(source)
        for name in options:
            _check_option(name, drop is not None)
        if not self._owned and options:
            raise ArgumentError(f"spdl: DataLoader: {', '.join(options)} are for a loader that it opens itself")
        self._classes: Optional[list[str]] = None
        self._finish: Optional[Callable[[Any], Any]] = None
        self._files: Optional[beside.Beside] = None
        self._together: frozenset[str] = frozenset()
        self._order: Optional[ordered.Order] = None  # of a sampler of the program's own
        self._source: Any = options.get("source")
        self._length: Optional[int] = None if drop is None else drop.made.epoch  # batches of an epoch, where these are not the loader's
        if drop is None:
            self._open: Callable[..., Loader] = functools.partial(open, source, **options)
            self.loader: Loader = self._open() if self._owned else source
        else:
            if fields is _USUAL:
                fields, self._finish, self._together = drop.made.fields, drop.made.finish, frozenset(drop.made.together)
            elif drop.made.collates:
                raise ArgumentError(f"spdl: DataLoader: got fields={fields!r:.80} beside collate_fn, which takes samples as the data set has them; leave one of them out")
            elif isinstance(drop.made.finish, (kept.Samples, followers.Finish, rows.Finish)):
                raise ArgumentError(f"spdl: DataLoader: got fields={fields!r:.80} beside a data set whose samples are what its __getitem__ returns, want none; the loop picks what it wants of these")
            self._files = _beside(drop, options, self)
            self._open, self.loader = _opened(drop, options, self._files)
            if self._files is not None:
                self._files.belong(self.loader, self.loader._reader.close)
            self._classes, self._source = drop.made.classes, source
            if isinstance(self._finish, kept.Samples):
                info = self.loader.info
                self._finish.kept.ahead = info.slots * info.batch_rows + _FETCHED
        self._order = self.loader._stream if isinstance(self.loader._stream, ordered.Order) else None
        self._tensors = tensors
        self._copy = copy
        self._restart = drop is not None if restart is None else restart
        self._rest: Union[Epoch, Stretch, None] = None  # what the last loop has left, until it has been told that nothing is
        self._at_end = False  # whether that is nothing: it has had the epoch's last batch
        self._transform = transform
        self._text = self.loader._text_fields()
        try:
            if drop is not None and drop.pin:
                _pin(self.loader, drop.device)
            self._fields = self._chosen(fields)
        except BaseException:
            self.close()
            raise

    @property
    def classes(self) -> Optional[list[str]]:
        """Names of the labels, where the source has them: label i is classes[i]."""
        return self._classes or self.loader.classes

    @property
    def batch_size(self) -> int:
        """Rows of a full batch."""
        return self.loader.info.batch_rows

    @property
    def dataset(self) -> Any:
        """What it is of: its len() is the number of samples, of all ranks. The data set itself, where one was given."""
        return _Samples(self.loader) if self._source is None else self._source

    if not TYPE_CHECKING:  # to a type checker it would say that every name is there
        def __getattr__(self, name: str) -> Any:
            order = self.__dict__.get("_order")
            if order is not None and name == order.asked.name:
                return order.asked.sampler
            if name in TORCH:
                raise AttributeError(f"spdl: DataLoader: has no {name} as torch's has; {_ASKED.get(name) or torchs(name, 'loader.loader')}")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __len__(self) -> int:
        """Batches per epoch, in this rank's lane."""
        return self._length or len(self.loader)

    def __iter__(self) -> Iterator[Any]:
        if self._rest is not None and (self._restart or self._at_end):
            self._leave_rest()
        return _Epoch(self)

    def set_epoch(self, epoch: int) -> None:
        """Be at the start or within epoch: nothing to do where the loop before ran to its end, a restart after a
        `break`. Any other epoch is begun as load_state_dict() would, and so is that of a `break` again, with restart=True."""
        epoch = operator.index(epoch)  # numpy's integers, too
        if self._order is not None:
            self._order.set_epoch(epoch)
        if self._at_end:
            self._leave_rest()
        now = self.loader.epoch if self._length is None else self._step() // self._length
        if epoch == now + 1:
            self._leave_rest()
        elif epoch != now or self._restart and self._rest is not None:
            self._go_to(epoch)

    def _leave_rest(self) -> None:
        """Begin the next epoch. Ranks that share an engine go through what is left of their lane, as none of them moves the others."""
        rest, self._rest = self._rest or iter(self.loader), None
        at_end, self._at_end = self._at_end, False
        if not at_end and self._length is not None:
            return self._go_to(self._step() // self._length + 1)
        if not at_end:  # a restart would skip the epoch that comes next
            try:
                return self.loader.restart()
            except Busy:
                pass
        for _ in rest:
            pass

    def _go_to(self, epoch: int) -> None:
        state = self.loader._engine_state()
        if epoch < 0 or "epoch" not in state or self.loader._streamed() and self._order is None:  # the items of an iterable are counted, not found
            raise ArgumentError(f"spdl: DataLoader: set_epoch({epoch}) in epoch {self.loader.epoch}; use load_state_dict() to go there")
        epoch, step = (epoch, 0) if self._length is None else divmod(epoch * self._length, len(self.loader))
        self.load_state_dict({**state, "epoch": epoch, "step": step, "done": []})

    def _step(self) -> int:
        """The batches before the next one, of all epochs."""
        state = self.loader._engine_state()
        return int(state["epoch"]) * len(self.loader) + int(state["step"]) + len(state["done"])

    def state_dict(self) -> dict[str, Any]:
        """As Loader.state_dict: the batch in hand counts as completed."""
        return self.loader.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """As Loader.load_state_dict. Where ranks share an engine that this opened, each of them calls it, and has a loader over a new one then."""
        if self._owned and self.loader._shared_by_ranks:
            self.loader.close()
            self.loader = self._open(state=state)
        else:
            self.loader.load_state_dict(state)
        self._rest, self._at_end = None, False

    def close(self) -> None:
        """Close the loader if this opened it."""
        if self._owned:
            self.loader.close()
        if self._files is not None:
            self._files.close()

    def __enter__(self) -> DataLoader:
        return self

    def __exit__(self, kind: object, error: Optional[BaseException], trace: object) -> None:
        if self._owned:
            self.loader.__exit__(kind, error, trace)
        if self._files is not None:
            self._files.close()

    def __repr__(self) -> str:
        return f"<spdl.DataLoader of {self.loader!r}>"

    def _chosen(self, fields: Union[Fields, int]) -> Union[str, dict[str, str], list[str]]:
        """What is handed out of each batch: the names of one field, of a dict by its keys, or of a tuple."""
        if fields is _USUAL and "image" not in self.loader.schema.fields:
            fields = [next(field.name for field in self.loader.fields if field.role == "field"), "label"]
        if fields is None:
            fields = {field.name: field.name for field in self.loader.fields if field.role in ("field", "label")}
        if not isinstance(fields, (str, Mapping)) and (not isinstance(fields, Iterable) or isinstance(fields, bytes)):
            raise ArgumentError(f"spdl: DataLoader: fields={fields!r}, want an iterable of names, a dict {{key: field}}, one name, or None")
        if isinstance(fields, (set, frozenset)):
            raise ArgumentError(f"spdl: DataLoader: fields={fields!r} has no order, in which a tuple could be taken apart; give a list or a tuple of names")
        if isinstance(fields, str):
            return self._known(fields)
        if isinstance(fields, Mapping):
            return {key: self._known(name) for key, name in fields.items()}
        return [self._known(name) for name in fields]

    def _pick(self, batch: Batch) -> Any:
        fields = self._fields
        if isinstance(fields, str):
            return self._one(batch, fields)
        if isinstance(fields, dict):
            return {key: self._one(batch, name) for key, name in fields.items()}
        picked = tuple([self._one(batch, name) for name in fields])
        return picked if self._finish is None else self._finish(picked)

    def _known(self, name: str) -> str:
        return self.loader.schema[name].name

    def _one(self, batch: Batch, name: str) -> Any:
        size = None if self._order is None else self._order.size(batch.epoch, batch.step % self.loader._steps)
        made = self._whole(batch, name)
        if size is None or size >= batch.rows:
            return made
        return made[:self._steps_of(batch, name, size) if name in self._together else size]  # the others fill it up

    def _steps_of(self, batch: Batch, name: str, rows: int) -> int:
        """How many the first rows have of what comes one behind the other."""
        field = batch.array(name)
        return int(field.offsets[rows]) // math.prod(field.step) if isinstance(field, Ragged) else rows

    def _whole(self, batch: Batch, name: str) -> Any:
        if name in self._text:
            return batch.text(name)
        field = batch.array(name)
        if isinstance(field, Ragged) and name in self._together:
            return self._tensor(field.steps, self._copy)
        if isinstance(field, Ragged):
            return [self._tensor(field._row(row), self._copy) for row in range(len(field))]
        return self._tensor(field, self._copy or len(field.shape) == 1)

    def _tensor(self, array: Array, copy: bool) -> Any:
        if self._tensors == "torch":
            try:
                return array.torch(copy=copy)
            except ModuleNotFoundError as error:
                raise ModuleNotFoundError(f'spdl: DataLoader: {error}; install torch, or say tensors="numpy"', name=error.name) from None
        return view(array.copy() if copy else array)


class _Samples:
    """The data set of a loader, as far as programs ask for it."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    @property
    def classes(self) -> Optional[list[str]]:
        return self._loader.classes

    def __len__(self) -> int:
        return self._loader.info.samples


class _Epoch:
    """One epoch of a DataLoader."""

    def __init__(self, parent: DataLoader) -> None:
        self._parent = parent
        self._batches: Union[Epoch, Stretch] = iter(parent.loader) if parent._length is None else Stretch(parent.loader, parent._length)

    def __iter__(self) -> _Epoch:
        return self

    def __next__(self) -> Any:
        parent = self._parent
        try:
            batch = next(self._batches)
        except StopIteration:
            parent._rest, parent._at_end = None, False
            raise
        parent._rest, parent._at_end = self._batches, batch.last if isinstance(self._batches, Epoch) else self._batches.ends(batch)
        picked = parent._pick(batch)
        return picked if parent._transform is None else parent._transform(picked)
