"""Data sets of torchvision that are files or pixels with labels, boxes or masks, and parts of them."""

from __future__ import annotations

import io
import itertools
import os
import posixpath
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, Optional, Union

from .._errors import ArgumentError
from . import annotated, libraries, methods, own, processors, same
from .kept import PLAIN, Kept, Value, View, has_values
from .pixels import Held
from .picture import Picture
from .soundfiles import Facts
from .sounds import Sound
from .steps import listed, through
from .targets import LABEL, OBJECTS, Own, Target

# torchvision's data sets that open a file, convert it to RGB and give it a label: the attributes of their files and of their labels, or of both.
_FILES: dict[str, tuple[str, ...]] = {
    **{name: ("samples",) for name in ("ImageFolder", "DatasetFolder", "ImageNet", "EuroSAT", "Country211")},
    **{name: ("_samples",) for name in ("Imagenette", "StanfordCars", "RenderedSST2", "GTSRB")},
    **{name: ("_image_files", "_labels") for name in ("Food101", "Flowers102", "DTD", "FGVCAircraft", "SUN397", "CLEVRClassification")},
    "OxfordIIITPet": ("_images", "_labels"), "LFWPeople": ("data", "targets"), "Places365": ("imgs",),
}
# Those that hold the pixels of all pictures: the attributes of these and of the labels, and the axes of one picture.
_PIXELS: dict[str, tuple[str, str, str]] = {
    **{name: ("data", "targets", "HWC") for name in ("CIFAR10", "CIFAR100")},
    **{name: ("data", "labels", "CHW") for name in ("SVHN", "STL10")},
    **{name: ("data", "targets", "HW") for name in ("MNIST", "FashionMNIST", "KMNIST", "EMNIST", "USPS")},
}
# Those that keep no list of files, but the numbers that these are named by; they leave pictures in the mode of their files, of which a batch is of one.
_NUMBERED = ("Caltech101", "Caltech256", "CelebA", "INaturalist")
_ROOTED = ("ImageFolder", "DatasetFolder", "ImageNet", "EuroSAT", "Country211")  # a class is a directory; the first two's root is where they lie
_LOADERS = ("default_loader", "pil_loader")
_BOXED = ("WIDERFace", "Kitti")
_BOXES = ("has boxes and other targets, which come with a description alone: write a line of JSON a picture, with its boxes and classes as lists, and say "
          "image: {boxes: {column: boxes, with: [classes]}}, by which they follow every operation; docs/recipes.md has it for COCO")
_WRAP = "want wrap_dataset_for_transforms_v2(dataset) of torchvision.datasets, with transforms= of v2, which take the picture and its target together"
BEHAVIOUR = ("__getitem__", "__getitems__", "__len__")
_LIBRARIES = {"torchvision.datasets": "torchvision", "torch.utils.data": "torch", "timm.data": "timm"}
_SOURCE = "spdl.DataLoader(spec, source=dataset), with a __getitem__ that returns encoded bytes or a path, and a label: the engine decodes (docs/sources.md)"

_ITERATED = ("is an iterable; it comes behind a description: spdl.DataLoader(spec, source=dataset), where it gives the bytes of a file, a path or an address, or, of source: {columns: [...]}, an array or a dict of arrays, "
             "each alone, or as (it, label) or (it, label, key) (docs/sources.md#samples-that-your-program-brings); one that gives other things, such as pairs of tensors, is torch's own DataLoader's to run, or a pipeline's (spdl.pipeline)")


class Pictures(NamedTuple):
    """Files, or pictures that are held, and their targets, and what becomes of each picture."""

    pictures: Sequence[Any]  # paths, or all of them Held
    labels: list[Any]  # or other targets
    transform: Any
    classes: Optional[list[str]]
    root: Optional[str]  # where a class is a directory, and nothing was left out
    extensions: tuple[str, ...]
    channels: int = 3
    size: Optional[list[int]] = None  # height and width of all pictures, where they are held
    target: Target = LABEL
    turned: bool = False  # whether pictures are turned as their EXIF says
    views: Optional[Sequence[Any]] = None  # Pictures and Sounds: what becomes of a picture, where that is several or the program's own code says it
    outputs: Any = PLAIN  # what a sample is then
    found: bool = False  # whether pictures are own.Found, of several files each
    heard: Mapping[int, Facts] = {}  # what the first sample's sounds are, by the numbers of files

    def kind(self) -> str:
        what = "" if self.target == LABEL else f" with {self.target.kind}"
        return f"files{what}" if self.size is None else f"pixels {[*self.size, self.channels]}"


class Changed(NamedTuple):
    """A label, and the data set's target_transform."""

    label: int
    by: Any


class Files:
    """Pictures as a source of the program's own."""

    def __init__(self, pictures: Pictures, kept: Kept) -> None:
        self._pictures, self._labels = pictures.pictures, pictures.labels
        self._kept, self._keeps, self._labelled = kept, has_values(pictures.outputs), pictures.outputs == PLAIN

    def __len__(self) -> int:
        return len(self._pictures)

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        one, label = self._pictures[index], self._labels[index]
        if isinstance(label, Changed):
            label = self._kept.keep([label.by(label.label)])
        if isinstance(one, own.Opened):
            picture, name, values, columns = one.brought()
            return (picture, self._kept.keep(values) if self._keeps else values[0] if self._labelled else -1, name, *([columns] if columns else []))
        if isinstance(one, Held):
            return one.png(), label, one.name
        return one, label, one


def is_dataset(one: Any) -> bool:
    """Whether this is one of torch's."""
    return libraries.derives(one, "torch.utils.data", "Dataset")


def pictures(dataset: Any, place: str = "dataset") -> Pictures:
    """What a data set is of. Raises ArgumentError with what does it here where it cannot be told."""
    if any(cls.__qualname__ == annotated.WRAPPER for cls in type(dataset).__mro__):
        return _wrapped(dataset, place)
    if _prepares(dataset):
        return _prepared(dataset, place)
    refuse_shards(dataset, place)
    if (cls := _reads(dataset)) is not None:
        return _opened(dataset, cls, place)
    library, name = _home(dataset, place)
    if (library, name) == ("torch", "Subset"):
        return part(pictures(dataset.dataset, f"{place}.dataset"), dataset.indices)
    if (library, name) == ("torch", "ConcatDataset"):
        return _joined([pictures(one, f"{place}.datasets[{i}]") for i, one in enumerate(dataset.datasets)], dataset, place)
    if (library, name) == ("timm", "ImageDataset"):
        return _of_timm(dataset, place)
    if library != "torchvision" or not any(name in known for known in (_FILES, _PIXELS, _NUMBERED)):
        _refuse_kind(library, name, dataset, place)
    _check(dataset, name, place, said=True)
    of = _of_numbers(dataset, name, place) if name in _NUMBERED else _held(dataset, name, place) if name in _PIXELS else _of_files(dataset, name, place)
    changes = getattr(dataset, "target_transform", None)
    if changes is None:
        return of
    if of.target != LABEL or not callable(changes):
        _refuse_changes(dataset, place)
    return of._replace(labels=[Changed(label, changes) for label in of.labels], root=None, outputs=(View(0), Value(0)))


def _wrapped(dataset: Any, place: str) -> Pictures:
    """Behind wrap_dataset_for_transforms_v2, which has taken the transforms of what it wraps."""
    inner = dataset._dataset
    library, name = _home(inner, place)
    if name in ("Subset", "ConcatDataset") or name not in (*annotated.BOXED, *annotated.MASKED) or name == "OxfordIIITPet" and "segmentation" not in inner._target_types:
        if name == "CelebA" and "bbox" in inner.target_type:
            refuse(place, dataset, f"target_type: got bbox behind wrap_dataset_for_transforms_v2, {_BOXES}")
        of = pictures(inner, place)._replace(transform=dataset.transform)
        _check(dataset, name, place)
        return of
    both = dataset.transforms
    if both is not None and type(both).__qualname__ == "StandardTransform":
        given = "target_transform" if both.transform is None else "transform"
        refuse(place, dataset, f"{given}: got one of the {'target' if both.transform is None else 'picture'} alone, want transforms=, of v2, which take both together")
    try:
        paths, targets, target = annotated.annotated(inner, name, dataset._target_keys)
    except annotated.Unknown as error:
        refuse(place, dataset, str(error))
    return Pictures(paths, targets, both, None, None, (), target=target)


def _prepares(dataset: Any) -> bool:
    """Whether this is a CocoDetection with a __getitem__ of its own, and an image processor of transformers'."""
    return libraries.derives(dataset, "torchvision.datasets", "CocoDetection") and bool(_own(dataset, "__getitem__")) and any(map(processors.is_processor, vars(dataset).values()))


def _own(dataset: Any, method: str) -> list[type]:
    """The classes of the program's own, ahead of torchvision's, that have a method."""
    classes = itertools.takewhile(lambda cls: not cls.__module__.startswith("torchvision."), type(dataset).__mro__)
    return [cls for cls in classes if method in vars(cls)]


def _reads(dataset: Any) -> Optional[type]:
    """The class of the program's own by whose __getitem__ samples are read, ahead of all that torch and torchvision have."""
    found = libraries.home(dataset, _LIBRARIES, BEHAVIOUR).own
    cls = next((cls for cls in type(dataset).__mro__ if "__getitem__" in vars(cls)), object)
    iterated = libraries.derives(dataset, "torch.utils.data", "IterableDataset") or any("__getitems__" in vars(one) for one in type(dataset).__mro__)
    return cls if found and not iterated and not libraries.is_of(cls, *_LIBRARIES) else None


def _opened(dataset: Any, cls: type, place: str) -> Pictures:
    """Of a class of the program's own that opens files by Pillow."""
    try:
        read = own.samples(dataset, cls)
    except annotated.Unknown as error:
        refuse(place, dataset, f"is a class of its own, which reads by its __getitem__: {error}; or {_SOURCE}")
    if isinstance(read, own.Around):
        return _around(read, dataset, place)
    if isinstance(read, own.Followed):
        return Pictures(read.paths, read.entries, chain((*read.picture.transforms, read.transform)), None, None, (), 1 if read.picture.mode == "L" else 3, turned=read.picture.turned,
                        views=[read.picture], target=Target("own", read.keys, sample=Own(read.called, read.kind)))
    classes = getattr(dataset, "classes", None)
    named = list(classes) if isinstance(classes, (list, tuple)) and all(isinstance(one, str) for one in classes) else None
    first = read.views[0] if isinstance(read.views[0], Picture) else Picture()
    return Pictures(read.opened, [-1] * len(read.opened), chain(first.transforms), named, None, (), 1 if first.mode == "L" else 3, read.size, turned=read.turned,
                    views=read.views, outputs=read.tree, heard=read.heard, found=bool(read.opened) and isinstance(read.opened[0], own.Found))


def chain(transforms: Sequence[Any]) -> Any:
    """A transform, or several in a list; None: there is none."""
    return transforms[0] if len(transforms) == 1 and not isinstance(transforms[0], Mapping) else list(transforms) or None


def _around(read: own.Around, dataset: Any, place: str) -> Pictures:
    """Of a class that has another data set's samples, whose pictures it transforms."""
    of = pictures(read.inner, f"{place}.{read.attribute}")
    if of.heard:
        refuse(place, dataset, f"{read.attribute}: has sounds, want what becomes of them in its own __getitem__: a data set around another is read of pictures")
    if of.target != LABEL or of.outputs != PLAIN or of.found:
        refuse(place, dataset, f"{read.attribute}: has other samples than a picture and a whole number, want transforms= of that data set")
    if read.runs is None and len(dataset) != len(of.pictures):
        refuse(place, dataset, f"has {len(dataset)} samples, and {read.attribute} has {len(of.pictures)}, want as many: torch.utils.data.Subset names some of them")
    first = Picture(mode="L" if of.channels == 1 else "RGB") if of.views is None else of.views[0]
    if of.views is None and of.transform is not None:
        first = first._replace(transforms=(of.transform,), calls=(-1,))
    views = [first._replace(transforms=(*first.transforms, *one.transforms), calls=(*first.calls, *one.calls)) for one in read.views]
    if read.runs is None:
        return of._replace(transform=chain(views[0].transforms), views=views, outputs=read.tree)
    try:
        made = own.run(dataset, read.runs, lambda number: _brought(of, number))
    except annotated.Unknown as error:
        refuse(place, dataset, f"is a class of its own, which reads by its __getitem__: {error}; or {_SOURCE}")
    return of._replace(pictures=made.opened, labels=[-1] * len(made.opened), root=None, transform=chain(views[0].transforms), views=views, outputs=made.tree, size=made.size)


def _brought(of: Pictures, number: int) -> tuple[Any, int]:
    """A picture as a __getitem__ opens one, and its label."""
    one = of.pictures[number]
    if isinstance(one, own.Opened):
        picture, _, (label,), _ = one.brought()
        return io.BytesIO(picture) if isinstance(picture, bytes) else picture, label
    return one.pixels if isinstance(one, Held) else one, of.labels[number]


def viewed(of: Pictures) -> Pictures:
    """With what becomes of a picture, where a transform of the program's own says that."""
    if of.views is not None:
        return of
    first = Picture(mode="L" if of.channels == 1 else "RGB")
    try:
        made = through(of.transform, first)
    except annotated.Unknown:  # it is a library's, or refused where it is told
        return of._replace(views=[first._replace(transforms=() if of.transform is None else (of.transform,))])
    views: list[Union[Picture, Sound]] = []
    tree = listed(made, views)
    return of._replace(views=views, outputs=(tree, of.outputs[1]), transform=chain([one for view in views[:1] if isinstance(view, Picture) for one in view.transforms]))


def _prepared(dataset: Any, place: str) -> Pictures:
    """Of pictures and objects of which an image processor makes samples."""
    cls, *others = _own(dataset, "__getitem__")
    if others:
        refuse(place, dataset, f"has a __getitem__ of its own above that of {others[0].__qualname__}, which is no less of its own, {methods.WANT}")
    for other in ("_load_image", "_load_target", "__getitems__", "__len__"):
        if _own(dataset, other):
            refuse(place, dataset, f"has a {other} of its own beside its __getitem__, {methods.WANT}")
    if dataset.transforms is not None:
        refuse(place, dataset, f"transforms: got one in front of its image processor, of which boxes know nothing, {methods.WANT}")
    try:
        sample = methods.sample(cls)
        processor = getattr(dataset, sample.processor, None)
        if not processors.is_processor(processor):
            refuse(place, dataset, f"{sample.processor}: got a {type(processor).__qualname__}, want an image processor of transformers', {methods.WANT}")
        paths, targets = annotated.objects(dataset)
    except annotated.Unknown as error:
        refuse(place, dataset, str(error))
    return Pictures(paths, targets, processor, None, None, (), target=Target("objects", OBJECTS, sample=sample))


def _held(dataset: Any, name: str, place: str) -> Pictures:
    held, said, axes = _PIXELS[name]
    data: Any = getattr(dataset, held, None)
    labels: Any = getattr(dataset, said, None)
    data = data.numpy() if hasattr(data, "numpy") else data
    shape = list(getattr(data, "shape", ()))
    want = f"[N, {', '.join(axes)}] of u8".replace("C", "3")
    if len(shape) != len(axes) + 1 or str(data.dtype) != "uint8" or "C" in axes and shape[1 + axes.index("C")] != 3:
        refuse(place, dataset, f"{held}: got {shape} of {getattr(data, 'dtype', type(data).__qualname__)}, want {want}, as in the versions that are known here; {_SOURCE}")
    if labels is None or len(labels) != len(data):
        refuse(place, dataset, f"{said}: got {'none' if labels is None else len(labels)} for {len(data)} pictures, want a label each; {_SOURCE}")
    data = data.transpose(0, 2, 3, 1) if axes == "CHW" else data
    classes = getattr(dataset, "classes", None)
    return Pictures([Held(one, f"{name}[{i}]") for i, one in enumerate(data)], [int(label) for label in labels], getattr(dataset, "transform", None),
                    list(classes) if classes else None, None, (), 3 if "C" in axes else 1, list(data.shape[1:3]))


def _of_files(dataset: Any, name: str, place: str) -> Pictures:
    said: list[Any] = [getattr(dataset, attribute, None) for attribute in _FILES[name]]
    if any(one is None for one in said):
        refuse(place, dataset, f"has no {' and '.join(_FILES[name])}, as in the versions that are known here; {_SOURCE}")
    paths, labels = said if len(said) == 2 else ([path for path, _ in said[0]], [label for _, label in said[0]])
    if any(label is None for label in labels):
        refuse(place, dataset, f"has pictures without labels, of which torch's DataLoader makes no batch; {_SOURCE}")
    files, classes, extensions = [os.path.abspath(path) for path in paths], getattr(dataset, "classes", None), getattr(dataset, "extensions", None) or ()
    root = None
    if name in _ROOTED and files:
        root = os.path.abspath(os.path.expanduser(dataset.root)) if name.endswith("Folder") else os.path.dirname(os.path.dirname(files[0]))
    return Pictures(files, [int(label) for label in labels], getattr(dataset, "transform", None),
                    [one if isinstance(one, str) else ", ".join(one) for one in classes] if classes else None,
                    root, (extensions,) if isinstance(extensions, str) else tuple(extensions))


def _of_timm(dataset: Any, place: str) -> Pictures:
    """timm's ImageDataset, as its create_dataset makes one of a folder."""
    reader, mode = dataset.reader, getattr(dataset, "input_img_mode", "RGB")
    if not libraries.derives(reader, "timm.data", "ReaderImageFolder"):
        refuse(place, dataset, f"reader: got a {type(reader).__qualname__}, want a ReaderImageFolder, of files in a folder; tar shards and Hugging Face's data sets are read as they are, by a description (docs/sources.md#shards) or datasets.load_dataset")
    if dataset.load_bytes or mode not in ("RGB", "L"):
        refuse(place, dataset, f"load_bytes: got {dataset.load_bytes!r}, and input_img_mode: got {mode!r}, want False, and \"RGB\" or \"L\": a batch has pictures of one kind")
    _check(dataset, "ImageDataset", place)
    names: dict[int, str] = {number: name for name, number in reader.class_to_idx.items()}
    classes = [names[i] for i in range(len(names))] if names.keys() == set(range(len(names))) else None
    return Pictures([os.path.abspath(path) for path, _ in reader.samples], [int(label) for _, label in reader.samples], dataset.transform, classes, None, (), 1 if mode == "L" else 3)


def _of_numbers(dataset: Any, name: str, place: str) -> Pictures:
    target = LABEL
    kinds: list[str] = list(getattr(dataset, "target_type", ["category"]))
    if name == "Caltech256":
        paths = [os.path.join("256_ObjectCategories", dataset.categories[y], f"{y + 1:03d}_{i:04d}.jpg") for i, y in zip(dataset.index, dataset.y)]
        labels, classes = dataset.y, dataset.categories
    elif name == "Caltech101" and kinds == ["category"]:
        paths = [os.path.join("101_ObjectCategories", dataset.categories[y], f"image_{i:04d}.jpg") for i, y in zip(dataset.index, dataset.y)]
        labels, classes = dataset.y, dataset.categories
    elif name == "INaturalist" and len(kinds) == 1:
        paths = [os.path.join(dataset.all_categories[category], file) for category, file in dataset.index]
        labels, classes = [category if kinds == ["full"] else dataset.categories_map[category][kinds[0]] for category, _ in dataset.index], None
    elif name == "CelebA" and len(kinds) == 1:
        paths = [os.path.join(dataset.base_folder, "img_align_celeba", file) for file in dataset.filename]
        labels, classes = getattr(dataset, "landmarks_align" if kinds == ["landmarks"] else kinds[0]).tolist(), None
        target = LABEL if kinds == ["identity"] else Target("values", length=len(labels[0]) if labels else 0)
        labels = [one[0] for one in labels] if target == LABEL else labels
    else:
        refuse(place, dataset, f"target_type: got {kinds}, want one of numbers; several targets are columns of a table (docs/tables.md)")
    return Pictures([os.path.abspath(os.path.join(dataset.root, path)) for path in paths], list(labels), getattr(dataset, "transform", None), list(classes) if classes else None,
                    None, (), target=target)


def part(of: Pictures, indices: Any) -> Pictures:
    chosen = [int(i) for i in indices]
    return of._replace(pictures=[of.pictures[i] for i in chosen], labels=[of.labels[i] for i in chosen], root=None)


def is_folder(of: Pictures) -> bool:
    """Whether `folder: ROOT` lists the same files with the same labels in the same order."""
    root = of.root
    if root is None or not of.extensions or not root.isprintable() or "://" in root:
        return False
    below = [path[len(root) + 1:] if isinstance(path, str) and path.startswith(root + "/") else "" for path in of.pictures]
    keys = [os.fsencode(path) for path in below]
    if any(a >= b for a, b in zip(keys, keys[1:])):
        return False
    directories = list(dict.fromkeys(os.path.dirname(path) for path in below))
    if any(not directory or f"/{directory}".find("/.") >= 0 or _is_linked(root, directory) or _has_links(os.path.join(root, directory)) for directory in directories):
        return False
    if any(f"/{path}".rfind("/.") >= 0 for path in below):  # hidden files are none here
        return False
    classes = list(dict.fromkeys(directory.partition("/")[0] for directory in directories))
    number = {name: i for i, name in enumerate(classes)}
    return classes == sorted(classes) and of.labels == [number[path.partition("/")[0]] for path in below]


def _is_linked(root: str, directory: str) -> bool:
    while directory:
        if os.path.islink(os.path.join(root, directory)):
            return True
        directory = os.path.dirname(directory)
    return False


def _has_links(directory: str) -> bool:
    """Whether something in it is a link, which may lead out of the root, where a folder follows none."""
    try:
        with os.scandir(directory) as entries:
            return any(one.is_symlink() for one in entries)
    except OSError:
        return True


def refuse(place: str, dataset: Any, what: str) -> NoReturn:
    raise ArgumentError(f"spdl: DataLoader: {place}: {type(dataset).__qualname__} {what}")


def _home(dataset: Any, place: str) -> tuple[str, str]:
    """The library and the name of the class that says what its samples are."""
    refuse_shards(dataset, place)
    if libraries.derives(dataset, "torch.utils.data", "IterableDataset"):
        refuse(place, dataset, _ITERATED)
    home = libraries.home(dataset, _LIBRARIES, BEHAVIOUR)
    if home.own:
        refuse(place, dataset, f"is a class of its own, which reads by its {home.own}: only torchvision's classes of files are known here; {_SOURCE}")
    if not home.module:
        refuse(place, dataset, f"is no data set of torch's, want one of torchvision's of files and labels; {_SOURCE}")
    return _LIBRARIES[home.module], home.name


def refuse_shards(dataset: Any, place: str, why: str = "reads its samples by itself, and the engine the same shards: want ") -> None:
    """litData's, and what is derived of MosaicML's: the engine reads their shards, by a description."""
    library = next((library for library in ("streaming", "litdata") if libraries.derives(dataset, library, "StreamingDataset")), "")
    if library == "streaming":
        places, page = [posixpath.join(one.remote or one.local, one.split or "") for one in dataset.streams], "mds"
    elif library == "litdata":
        places, page = [dataset.input_dir.url or dataset.input_dir.path], "litdata"
    else:
        return
    named = [f"{one.rstrip('/')}/" if "://" in one else str(one) for one in places]  # of a store a directory ends so
    refuse(place, dataset, f"{why}source: {{shards: {named[0] if len(named) == 1 else named}}} of a description, with what becomes of each column in it; "
                           f"its shuffle is order: {{shuffle: true}} (docs/formats.md#{page}, docs/migrate.md#{page})")


def _refuse_kind(library: str, name: str, dataset: Any, place: str) -> NoReturn:
    if hasattr(dataset, "data") and hasattr(dataset.data, "shape"):
        refuse(place, dataset, f"holds {list(dataset.data.shape)} in a way that is not known here, want one of {', '.join(sorted(_PIXELS))}; {_SOURCE}")
    if name in _BOXED:
        refuse(place, dataset, _BOXES)
    if name in (*annotated.BOXED, *annotated.MASKED):
        refuse(place, dataset, f"has {'boxes' if name in annotated.BOXED else 'masks'}, {_WRAP}")
    if name == "FakeData":
        refuse(place, dataset, "makes pictures of noise as they are asked for, which are in no file; a folder of a few pictures tests a loop as well")
    if name == "SBDataset":
        refuse(place, dataset, "has masks as .mat files of MATLAB's, which no engine reads; write them as PNGs of class numbers once, and name them in a table: a mask is a field "
                               "(docs/recipes.md)")
    if name == "TensorDataset":
        refuse(place, dataset, "holds tensors, and stands beside pictures in files, want data sets of one kind in a ConcatDataset")
    refuse(place, dataset, f"of {library} reads its samples by itself, want one of {', '.join(sorted([*_FILES, *_PIXELS, *_NUMBERED]))}, or a Subset or ConcatDataset of such; "
                           f"say its files and labels as a table (source: {{list: FILE}}), or {_SOURCE}")


def _refuse_changes(dataset: Any, place: str) -> NoReturn:
    refuse(place, dataset, f"target_transform: got {dataset.target_transform!r:.80}, want None: labels are the data set's numbers; map whole batches: spdl.DataLoader(..., transform=)")


def _check(dataset: Any, name: str, place: str, said: bool = False) -> None:
    """Refuse what changes a sample beside its transform."""
    loader = getattr(dataset, "loader", getattr(dataset, "_loader", None))  # None: Pillow's open, of one that is numbered
    if loader is not None and not (getattr(loader, "__module__", "") == "torchvision.datasets.folder" and getattr(loader, "__name__", "") in _LOADERS):
        refuse(place, dataset, f"loader: got {loader!r:.80}, want torchvision's default_loader: the engine decodes, to RGB as that does; {_SOURCE}")
    if getattr(dataset, "target_transform", None) is not None and not said:
        _refuse_changes(dataset, place)
    both = getattr(dataset, "transforms", None)
    if both is not None and type(both).__qualname__ != "StandardTransform":
        refuse(place, dataset, f"transforms: got {type(both).__qualname__}, of pictures and targets together, want transform=, of the picture alone")
    if name == "OxfordIIITPet" and list(dataset._target_types) != ["category"]:
        remedy = _WRAP if "segmentation" in dataset._target_types else "several targets are columns of a table (docs/tables.md)"
        refuse(place, dataset, f'target_types: got {dataset._target_types}, want "category"; {remedy}')


def _joined(parts: list[Pictures], dataset: Any, place: str) -> Pictures:
    first = parts[0]
    for i, one in enumerate(parts):
        if any(not same.transforms(a, b) for a, b in itertools.zip_longest(_transforms(one), _transforms(first))):
            refuse(place, dataset, f"datasets[{i}].transform: got another than datasets[0]'s, want one for all")
        if _form(one) != _form(first):
            refuse(place, dataset, f"datasets[{i}]: has samples of another form, labels of another type, or pictures that another library opens, than datasets[0], want one for all")
        if (one.channels, one.size, one.target) != (first.channels, first.size, first.target):
            refuse(place, dataset, f"datasets[{i}]: got {one.kind()}, and datasets[0] has {first.kind()}, want one kind")
    return Pictures([one for part in parts for one in part.pictures], [label for part in parts for label in part.labels], first.transform, first.classes, None, (),
                    first.channels, first.size, first.target, first.turned, first.views, first.outputs, first.found, first.heard)


def _form(of: Pictures) -> Any:
    return of.outputs, of.turned, of.found, {file: (one.rate, one.channels) for file, one in of.heard.items()}, \
        [one.form(of.heard[one.file].rate) if isinstance(one, Sound) else (one.file, one.mode, one.array, one.turned, one.mask, one.film and one.film._replace(call=0), [(at, same.said(each)) for at, each in one.after]) for one in of.views or ()]


def _transforms(of: Pictures) -> list[Any]:
    return [of.transform] if of.views is None else [one for view in of.views if isinstance(view, Picture) for one in (*view.transforms, None)]
