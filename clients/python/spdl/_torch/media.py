"""Whether the code of a data set of one's own opens pictures, sounds or videos."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import FunctionType, MethodType, ModuleType
from typing import Any, Optional

from . import libraries, texts
from .texts import NOTHING

_LIBRARIES = ("PIL", "cv2", "torchaudio", "soundfile", "librosa", "torchcodec", "decord", "imageio", "skimage", "av", "moviepy", "pydub", "tifffile", "wave", "audioread", "pydicom", "nibabel", "SimpleITK", "rasterio", "openslide")
_MODULES = ("torchvision.io", "torchvision.datasets", "scipy.io.wavfile", "matplotlib.image", "timm.data")
_OTHERS = ("torch", "numpy", "torchvision", "pandas", "albumentations", "timm", "transformers", "kornia")  # whose functions are not gone into: transforms, above all
_DEEP = 8  # functions of one's own that call each other


def opens(dataset: Any) -> bool:
    """Whether its __getitem__, or a function that it calls, names what opens media."""
    if libraries.derives(dataset, "torchvision.datasets", "VisionDataset", "ImageFolder", "DatasetFolder") or any(libraries.is_of(cls, "torchvision", "torchaudio", "timm") for cls in type(dataset).__mro__):
        return True
    methods = [vars(cls).get("__getitem__") for cls in type(dataset).__mro__ if not libraries.is_of(cls, "torch")]
    return any(_names(dataset, method, {}, 0) for method in methods if isinstance(method, FunctionType))


def _names(dataset: Any, function: FunctionType, seen: dict[FunctionType, None], deep: int) -> bool:
    if function in seen or deep > _DEEP:
        return False
    seen[function] = None
    try:
        own = texts.parsed(function)
    except texts.Unread:
        return False
    if any(_is_of_media(module) for module in _imported(own)):
        return True
    reader = _Reader(dataset, function, own)
    for one in reader.named():
        if _is_medias(one) or libraries.derives(one, "torch.utils.data", "Dataset") and one is not dataset and _has_media(one):
            return True
        called = one.__func__ if isinstance(one, MethodType) else one if isinstance(one, FunctionType) else getattr(type(one), "__call__", None) if callable(one) and not isinstance(one, type) else None
        of = one.__self__ if isinstance(one, MethodType) else dataset
        if isinstance(called, FunctionType) and str(called.__module__).partition(".")[0] not in _OTHERS and _names(of, called, seen, deep + 1):
            return True
    return False


def _has_media(dataset: Any) -> bool:
    if type(dataset).__qualname__ == "Subset":
        return _has_media(dataset.dataset)
    if type(dataset).__qualname__ == "ConcatDataset":
        return any(map(_has_media, dataset.datasets))
    return opens(dataset)


def _is_medias(one: Any) -> bool:
    """Whether it is of a library that opens media, as a module, a function or a class."""
    module = one.__name__ if isinstance(one, ModuleType) else str(getattr(one, "__module__", None) or type(one).__module__)
    return _is_of_media(module)


def _is_of_media(module: str) -> bool:
    return module.partition(".")[0] in _LIBRARIES or any(f"{module}.".startswith(f"{each}.") for each in _MODULES)


def _imported(own: texts.Definition) -> Iterator[str]:
    """The modules of which a function imports something."""
    for node in ast.walk(own):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{each.name}" for each in node.names)


class _Reader(texts.Reader):
    """What the expressions of a function stand for, where it is known."""

    def __init__(self, dataset: Any, function: FunctionType, own: texts.Definition) -> None:
        super().__init__(function, own)
        args = [*own.args.posonlyargs, *own.args.args]
        self._self: Optional[str] = args[0].arg if args else None
        self._dataset = dataset

    def named(self) -> Iterator[Any]:
        for node in ast.walk(self._own):
            if isinstance(node, (ast.Name, ast.Attribute)) and (value := self._known(node)) is not NOTHING:
                yield value

    def _known(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            if node.id == self._self:
                return self._dataset
            try:
                return self._outside(node.id)
            except (KeyError, ValueError):
                return NOTHING
        if not isinstance(node, ast.Attribute) or (of := self._known(node.value)) is NOTHING:
            return NOTHING
        if of is self._dataset:
            own = getattr(of, "__dict__", {}).get(node.attr, NOTHING)
            return own if own is not NOTHING else getattr(of, node.attr, NOTHING) if isinstance(getattr(type(of), node.attr, None), FunctionType) else NOTHING
        return getattr(of, node.attr, NOTHING) if isinstance(of, (ModuleType, type)) else NOTHING
