"""A data set of one's own whose __getitem__ opens a picture, gives it to a transform and hands out what that makes beside a label: what it says of these, and the rest of it, which runs."""

from __future__ import annotations

import ast
import copy
import dis
import operator
import os
import struct
import sys
from collections.abc import Iterator, Sequence
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any, NamedTuple, NoReturn, Optional, Union

from .._lock import Lock
from . import libraries, texts
from .annotated import Unknown

WANT = ("want it to open one picture, image = Image.open(path).convert(\"RGB\") or cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB), to give it to a transform, image = self.transform(image), or albumentations' as "
        "self.transform(image=np.array(image))[\"image\"], and to return it beside a label, a text or both, return image, label, or in a dict; what else it does may not look at the picture")
_PICTURE, _LABEL, _TEXT = "picture", "label", "text"  # in a sample
_LONGEST = 128  # bytes of a text, which goes as its sample's key
_LOADERS = ("default_loader", "pil_loader")  # torchvision's, to RGB
_NOTHING = object()
_TAKEN, _LOADS = "_spdl_picture", "_spdl_loads"  # what the rest of the function calls it, and the rest of a function that opens it
_KNOWN_LIBRARIES = ("torch", "torchvision", "numpy", "PIL", "cv2", "pandas", "albumentations", "os", "posixpath")  # whose functions open no picture but those that are told by their names


class Opened(NamedTuple):
    """A sample that is asked for when it is wanted."""

    of: Rest
    number: int

    def brought(self) -> tuple[Union[str, bytes], int, str]:
        """The path or the bytes of its picture, its label, and its name. Raises what the data set raises, and TypeError where these are something else."""
        return self.of(self.number)


class Samples(NamedTuple):
    """What a data set has."""

    opened: list[Opened]
    transforms: list[Any]  # of each picture, one after the other
    channels: int
    turned: bool  # whether pictures are, as their EXIF says
    outputs: Optional[Outputs]  # None: a picture and a whole number of Python's in a tuple


class Around(NamedTuple):
    """A data set that has another's pictures and labels, such as a part of a random_split's with a transform."""

    inner: Any
    attribute: str  # by which it has that
    transforms: list[Any]


class Outputs(NamedTuple):
    """What a sample is."""

    tree: Any  # _PICTURE, _LABEL and _TEXT, in a tuple or a dict
    labels: str = "int"  # the type of labels, of _TYPES

    @property
    def fields(self) -> tuple[str, ...]:
        """What is picked of a batch beside pictures and labels."""
        return ("key",) if _TEXT in (self.tree.values() if isinstance(self.tree, dict) else self.tree) else ()

    def filled(self, picture: Any, label: Any, text: Any = None) -> Any:
        """A sample of these, whose label is a number, or a batch."""
        label = self._number(label) if type(label) is int else self._numbers(label)
        made = {_PICTURE: picture, _LABEL: label, _TEXT: tuple(text) if isinstance(text, list) and isinstance(self.tree, tuple) else text}
        if isinstance(self.tree, dict):
            return {key: made[one] for key, one in self.tree.items()}
        return tuple([made[one] for one in self.tree]) if isinstance(self.tree, tuple) else made[self.tree]

    def _number(self, bits: int) -> Any:
        library, _, kind = self.labels.rpartition(".")
        number = _unpacked(bits) if kind.startswith("float") else bits
        if library == "torch":
            torch = sys.modules["torch"]
            return torch.tensor(number, dtype=getattr(torch, kind))
        return getattr(sys.modules["numpy"], kind)(number) if library else number

    def _numbers(self, bits: Any) -> Any:
        """Of a batch's, which are the bits of floats of 64, where they are no whole numbers."""
        if not self.labels.rpartition(".")[2].startswith("float"):
            return bits
        torch, single = sys.modules.get("torch"), self.labels.endswith("32")
        if torch is not None and isinstance(bits, torch.Tensor):
            return bits.view(torch.float64).to(torch.float32 if single else torch.float64)
        return bits.view("float64").astype("float32" if single else "float64")


def samples(dataset: Any, cls: type) -> Union[Samples, Around]:
    """What the __getitem__ of its class says. Raises Unknown where it does other things with a picture."""
    reader = _Reader(dataset, vars(cls)["__getitem__"], cls)
    if reader.inner is not None:
        return Around(reader.inner[1], reader.inner[0], list(reader.picture.transforms))
    rest = Rest(dataset, reader.rest())
    rest.look()
    outputs = Outputs(_mapped(reader.outputs, rest.kinds), rest.labels)
    return Samples([Opened(rest, i) for i in range(len(dataset))], list(reader.picture.transforms), 1 if reader.picture.mode == "L" else 3, reader.picture.turned,
                   None if outputs == Outputs((_PICTURE, _LABEL)) else outputs)


def _mapped(outputs: Any, kinds: Sequence[str]) -> Any:
    """What a sample is, with its label and its text in the places of the numbers of what it has beside the picture."""
    if isinstance(outputs, dict):
        return {key: _mapped(one, kinds) for key, one in outputs.items()}
    if isinstance(outputs, tuple):
        return tuple([_mapped(one, kinds) for one in outputs])
    return outputs if outputs is _PICTURE else kinds[outputs]


class Rest:
    """What is left of a __getitem__: where a picture lies, its label and its text. The data set's code is run by one thread at a time, as in a worker of torch's."""

    def __init__(self, dataset: Any, function: FunctionType) -> None:
        self._dataset, self._function = dataset, function
        self._running = Lock()
        self.labels = "int"  # of what type they are
        self.kinds: list[str] = [_LABEL, _TEXT]  # what a sample has beside its picture

    def __call__(self, number: int) -> tuple[Union[str, bytes], int, str]:
        with self._running:
            return self._told(number, *self._function(self._dataset, number))

    def look(self) -> None:
        """Look at the first sample, which the others are like. Raises Unknown of what is wrong with it."""
        try:
            if len(self._dataset) > 0:
                picture, *values = self._function(self._dataset, 0)
                self.kinds = [_TEXT if isinstance(one, str) else _LABEL for one in values]
                if len(set(self.kinds)) < len(self.kinds):
                    raise _Wrong(f"{self._name(0)} has two {self.kinds[0]}s, {', '.join(f'{one!r:.60}' for one in values)}, want a number and a text at most; {_COLUMNS}")
                self.labels = next((_type(one) for one, kind in zip(values, self.kinds) if kind == _LABEL), "int")
                self._told(0, picture, *values)
        except _Wrong as error:
            raise Unknown(f"{error}") from None
        except Exception:  # the sample is a bad one, when its turn comes
            return

    def _name(self, number: int) -> str:
        return f"{type(self._dataset).__qualname__}[{number}]"

    def _told(self, number: int, picture: Any, *values: Any) -> tuple[Union[str, bytes], int, str]:
        of = self._name(number)
        beside = dict(zip(self.kinds, values))
        label, text = self._bits(beside[_LABEL], of) if _LABEL in beside else -1, self._text(beside[_TEXT], of) if _TEXT in beside else None
        if isinstance(picture, (str, os.PathLike)):
            path = os.path.abspath(os.fsdecode(picture))
            return path, label, path if text is None else text
        if not hasattr(picture, "read"):
            raise _Wrong(f"{of} opens a {type(picture).__qualname__}, want a path, or a file such as io.BytesIO(bytes)")
        return bytes(picture.read()), label, of if text is None else text

    def _bits(self, label: Any, of: str) -> int:
        """A label as a whole number."""
        if self.labels in _TYPES and _type(label) == self.labels:
            return _packed(float(label)) if "float" in self.labels else operator.index(label)
        got = f"{label.dtype} of shape {list(getattr(label, 'shape', ()))}" if hasattr(label, "dtype") else f"{label!r:.60}"
        want = f"want {self.labels}, as the first sample has it" if self.labels in _TYPES else "want a whole number of i64, a float of f64 or f32, or a text"
        raise _Wrong(f"{of} has the label {got}, {want}; {_COLUMNS}")

    def _text(self, text: Any, of: str) -> str:
        if not isinstance(text, str) or not 0 < len(text.encode("utf-8", "surrogateescape")) <= _LONGEST or "\0" in text:
            raise _Wrong(f"{of} has the text {text!r:.200}, want one of 1 to {_LONGEST} bytes in UTF-8, without zeros; {_COLUMNS}")
        return str(text)


_COLUMNS = "longer texts and several numbers are columns of a table: source: {list: FILE, columns: [...]} of a description (docs/tables.md)"


class _Wrong(TypeError):
    """Of a sample that is something else."""


_TYPES = ("int", "float", *(f"{library}.{kind}" for library in ("numpy", "torch") for kind in ("int64", "float64", "float32")))  # of which torch's collate makes tensors of 64 bits, or of f32


def _type(label: Any) -> str:
    kind = str(getattr(label, "dtype", "")).replace("torch.", "")
    return f"{type(label).__module__.partition('.')[0]}.{kind}" if kind and tuple(label.shape) == () else type(label).__name__


def _packed(number: float) -> int:
    """A float's bits, as whole numbers alone go with a picture."""
    return int(struct.unpack("<q", struct.pack("<d", number))[0])


def _unpacked(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", bits))[0])


# ---- what names stand for


class _Picture(NamedTuple):
    """The picture, and what has become of it."""

    mode: str = ""  # that it was converted to; "BGR": as OpenCV reads it
    array: bool = False  # of NumPy
    turned: bool = False  # as its EXIF says, as OpenCV does
    inside: bool = False  # in a dict, as its image
    transforms: tuple[Any, ...] = ()


class _File(NamedTuple):
    """An open file, by the expression of its path."""

    path: ast.expr


class _Reader(texts.Reader):
    """Goes through the statements: those that have to do with the picture are read, the others are kept."""

    _own: ast.FunctionDef

    def __init__(self, dataset: Any, function: FunctionType, cls: Optional[type], within: tuple[FunctionType, ...] = ()) -> None:
        """Of a method of a class, or of a function that such a one calls. Raises Unknown."""
        self._dataset, self._cls, self._within = dataset, cls, (*within, function)
        try:
            own = texts.parsed(function)
        except texts.Unread as error:
            raise Unknown(f"{error}, {WANT}") from None
        super().__init__(function, own)
        args = own.args
        if isinstance(own, ast.Lambda) or not within and len(args.args) != 2 or args.vararg or args.kwarg or args.kwonlyargs or args.posonlyargs or args.defaults:
            self._refuse(own, "other arguments than self and an index")
        self._self = args.args[0].arg if cls is not None else ""
        self._index = args.args[1].arg if not within else ""
        self.inner: Optional[tuple[str, Any]] = None  # the attribute that is a data set whose samples these are, and that
        self._label = ""  # of a sample of that
        self._loads: Optional[_Reader] = None  # the function that opens the picture for this one
        self._read_loaders: dict[FunctionType, Optional[_Reader]] = {}
        self._changed = {one.attr for one in ast.walk(own) if isinstance(one, ast.Attribute) and not isinstance(one.ctx, ast.Load)}  # attributes that are others in each call
        self._names: dict[str, Union[_Picture, _File]] = {}
        self._path: Optional[ast.expr] = None
        self._beside: list[ast.expr] = []  # what is handed out with it
        self.picture = _Picture()  # that is handed out
        self._handed = 0  # how often
        self.outputs: Any = None
        self._last: Optional[ast.Return] = None
        self._body = self._read()

    def _refuse(self, node: ast.AST, what: str, want: str = WANT) -> NoReturn:
        raise Unknown(f"{self._place(node)}: got {what}, {want}")

    def _read(self) -> list[ast.stmt]:
        kept = self._steps(self._own.body)
        last = self._last or self._own.body[-1]
        if not isinstance(last, ast.Return) or last.value is None or not self._mentions(last):
            self._refuse(last, f"{ast.unparse(last)[:80]!r} at its end, and no picture in it that Image.open or cv2.imread has opened")
        before = self._path
        self.outputs = self._output(last.value)
        if self._path is not before:
            kept.append(self._taken(last))
        if self._handed != 1:
            self._other(last)
        if self.inner is not None and (kept or [ast.unparse(one) for one in self._beside] != [self._label] or self.outputs != (_PICTURE, 0)):
            self._refuse(kept[0] if kept else last, f"{ast.unparse(kept[0] if kept else last)[:80]!r} of a sample of self.{self.inner[0]}", "want image, label = it, image = self.transform(image), return image, label, and no more; labels are that data set's")
        if len(self._within) > 1 and (self.outputs is not _PICTURE or self.picture.transforms):
            self._other(last)
        if len(self._within) == 1 and not self.picture.mode:
            self._refuse(last, "pictures of whatever modes their files have", "want image.convert(\"RGB\") behind Image.open, as rows of a batch are of one kind")
        if len(self._within) == 1 and self.picture.mode == "BGR":
            self._other(last)
        taken: list[ast.expr] = [ast.Name(_TAKEN, ast.Load()), *self._beside]
        kept.append(ast.copy_location(ast.Return(ast.Tuple(taken, ast.Load()) if len(self._within) == 1 else taken[0]), last))
        return kept

    # ---- statements

    def _steps(self, steps: Sequence[ast.stmt]) -> list[ast.stmt]:
        """What is kept of statements, up to the one that returns."""
        kept: list[ast.stmt] = []
        for step, following in zip(steps, (*steps[1:], None)):
            if isinstance(step, ast.Return):
                self._last = step
            elif isinstance(step, ast.Assign) and isinstance(step.value, (ast.Tuple, ast.Dict)) and isinstance(following, ast.Return) and isinstance(following.value, ast.Name) \
                    and [ast.unparse(one) for one in step.targets] == [following.value.id]:
                self._last = ast.copy_location(ast.Return(step.value), step)  # sample = {...}; return sample
            else:
                kept += self._step(step)
            if self._last is not None:
                break
        return kept

    def _step(self, step: ast.stmt) -> list[ast.stmt]:
        if isinstance(step, ast.With) and len(step.items) == 1 and (made := self._opened_with(step)) is not None:
            return made
        if isinstance(step, ast.Assign) and len(step.targets) == 1 and isinstance(step.targets[0], ast.Name) and self._is_of_pictures(step.value):
            before = self._path
            self._names[step.targets[0].id] = self._picture(step.value)
            return [] if self._path is before else [self._taken(step)]
        if self._is_of_another(step):
            return []
        if isinstance(step, ast.Assert) and self._mentions(step) and self._holds(step.test):
            return []
        if isinstance(step, ast.If) and not step.orelse and any(ast.unparse(step.test) == f"{name}.mode != 'RGB'" for name, one in self._names.items() if one == _Picture()):
            return self._steps(step.body)  # which convert it
        if isinstance(step, ast.If) and self._mentions(step):
            return self._steps(step.body if self._holds(step.test) else step.orelse)
        if self._mentions(step) or any(isinstance(one, (ast.Return, ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal)) for one in ast.walk(step)):
            self._other(step)
        return [step]

    def _is_of_another(self, step: ast.stmt) -> bool:
        """image, label = self.dataset[i], of a data set of torch's."""
        if not isinstance(step, ast.Assign) or len(step.targets) != 1 or not isinstance(step.targets[0], ast.Tuple) or not isinstance(step.value, ast.Subscript) or not isinstance(step.value.value, ast.Attribute):
            return False
        names = [one.id for one in step.targets[0].elts if isinstance(one, ast.Name)]
        inner = self._known(step.value.value)
        if len(names) != 2 or self._names or not isinstance(step.value.slice, ast.Name) or step.value.slice.id != self._index or not libraries.derives(inner, "torch.utils.data", "Dataset"):
            return False
        self.inner, self._label = (step.value.value.attr, inner), names[1]
        self._names[names[0]] = _Picture("RGB")
        return True

    def _opened_with(self, step: ast.With) -> Optional[list[ast.stmt]]:
        """with Image.open(path) as image, and with open(path, "rb") as file, which holds no more than what is done to the picture; None of others."""
        item = step.items[0]
        if not isinstance(item.optional_vars, ast.Name) or not isinstance(item.context_expr, ast.Call):
            return None
        name, call = item.optional_vars.id, item.context_expr
        if isinstance(call.func, ast.Name) and call.func.id == "open" and self._known(call.func) is _NOTHING and call.args and not call.keywords:
            if not any(self._is_open(one) for part in step.body for one in ast.walk(part)):
                return None
            self._names[name] = _File(call.args[0])
            front: list[ast.stmt] = []
        elif self._is_of_pictures(call):
            self._names[name] = self._picture(call)
            front = [self._taken(step)]
        else:
            return None
        made = front + self._steps(step.body)
        if isinstance(self._names[name], _File) and self._last is None:
            del self._names[name]
        return made

    def _taken(self, at: ast.stmt) -> ast.stmt:
        assert self._path is not None
        return ast.copy_location(ast.Assign([ast.Name(_TAKEN, ast.Store())], self._path), at)

    def _holds(self, test: ast.expr) -> bool:
        """What a condition on what is known says."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return not self._holds(test.operand)
        if isinstance(test, ast.BoolOp):
            return (all if isinstance(test.op, ast.And) else any)([self._holds(one) for one in test.values])
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Is, ast.IsNot)) and isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value is None:
            is_none = not isinstance(test.left, ast.Name) or test.left.id not in self._names  # a picture, which the engine tells where it is none, is not
            return (is_none and self._certain(test.left) is None) == isinstance(test.ops[0], ast.Is)
        return bool(self._certain(test))

    # ---- expressions

    def _mentions(self, node: ast.AST) -> bool:
        return any(isinstance(one, ast.Name) and one.id in self._names or self._is_open(one) for one in ast.walk(node))

    def _is_of_pictures(self, node: ast.expr) -> bool:
        """Whether an expression is of the picture, and not merely has it in it somewhere."""
        while not isinstance(node, ast.Name):
            if self._is_open(node):
                return True
            if isinstance(node, ast.IfExp):
                node = node.body
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "convert" and not self._is_known(node.func):
                node = node.func.value
            elif isinstance(node, ast.Call) and (len(node.args) + len(node.keywords) == 1 or node.args and self._is(node.func, "cv2", "cvtColor")):
                node = (node.args or [node.keywords[0].value])[0]
            elif isinstance(node, ast.Subscript):
                node = node.value
            else:
                return False
        return isinstance(self._names.get(node.id), _Picture)

    def _is_known(self, node: ast.expr) -> bool:
        return self._known(node) is not _NOTHING

    def _picture(self, node: ast.expr) -> _Picture:
        if isinstance(node, ast.Name) and isinstance(one := self._names.get(node.id), _Picture):
            return one
        if isinstance(node, ast.IfExp):
            return self._picture(node.body if self._holds(node.test) else node.orelse)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == "image":
            one = self._picture(node.value)
            return one._replace(inside=False) if one.inside else self._other(node)
        if isinstance(node, ast.Subscript) and ast.unparse(node.slice).strip("()") in (":, :, ::-1", "..., ::-1"):
            return self._rgb(self._picture(node.value), node)
        return self._called(node) if isinstance(node, ast.Call) else self._other(node)

    def _called(self, node: ast.Call) -> _Picture:
        function = self._known(node.func)
        if self._is_open(node):
            return self._opened(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "convert" and function is _NOTHING:
            one, arguments = self._picture(node.func.value), [getattr(each, "value", None) for each in (*node.args, *[keyword.value for keyword in node.keywords])]
            if arguments in (["RGB"], ["L"]) and one in (_Picture(), _Picture(mode=arguments[0])):
                return one._replace(mode=arguments[0])
            self._other(node)
        if self._is(node.func, "cv2", "cvtColor") and len(node.args) == 2 and self._is(node.args[1], "cv2", "COLOR_BGR2RGB"):
            return self._rgb(self._picture(node.args[0]), node)
        if function is _NOTHING or len(node.args) + len(node.keywords) != 1:
            self._other(node)
        one = self._picture(node.args[0] if node.args else node.keywords[0].value)
        if one.inside:
            self._other(node)
        if one.mode == "BGR":
            self._refuse(node, f"{ast.unparse(node)[:80]!r} of a picture whose blue comes first", "want image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB) behind cv2.imread: rows are RGB")
        if node.args and one.mode and not one.transforms and self._is(node.func, "numpy", "array", "asarray"):
            return one._replace(array=True)
        if node.args and one.mode and not one.transforms and one.array and self._is(node.func, "PIL.Image", "fromarray"):
            return one._replace(array=False)
        if node.args and not one.array and callable(function):
            return one._replace(transforms=(*one.transforms, function))
        if not node.args and node.keywords[0].arg == "image" and one.array and any(cls.__module__.partition(".")[0] == "albumentations" for cls in type(function).__mro__):
            return one._replace(inside=True, transforms=(*one.transforms, function))
        return self._other(node)

    def _rgb(self, one: _Picture, node: ast.expr) -> _Picture:
        return one._replace(mode="RGB") if one.mode == "BGR" else self._other(node)

    def _opened(self, node: ast.Call) -> _Picture:
        if self._path is not None:
            self._refuse(node, f"{ast.unparse(node)[:80]!r}, a second picture", "want one; several are fields of a description, of a table of their paths: fields: {NAME: {image: {from: COLUMN, transform: ...}}} (docs/recipes.md#segmentation-pictures-and-masks)")
        loads = self._loader(node)
        of_opencv = self._is(node.func, "cv2", "imread")
        if node.keywords or len(node.args) != 1 and loads is None and not (of_opencv and len(node.args) == 2 and self._is(node.args[1], "cv2", "IMREAD_COLOR")):
            self._other(node)
        path = node.args[0] if node.args else node
        if isinstance(path, ast.Name) and isinstance(file := self._names.get(path.id), _File):
            path = file.path
        if any(self._mentions(one) for one in (path, *node.args[1:]) if one is not node):
            self._other(node)
        self._path = path
        if loads is not None:
            mine: list[ast.expr] = [ast.Name(self._self, ast.Load())] if loads._cls is not None else []
            self._loads, self._path = loads, ast.copy_location(ast.Call(ast.Name(_LOADS, ast.Load()), [*mine, *node.args], []), node)
            return loads.picture
        return _Picture("BGR", array=True, turned=True) if of_opencv else _Picture("" if self._is(node.func, "PIL.Image", "open") else "RGB")

    def _is_open(self, node: ast.AST) -> bool:
        if not isinstance(node, ast.Call):
            return False
        function = self._known(node.func)
        its = getattr(function, "__module__", "") == "torchvision.datasets.folder" and getattr(function, "__name__", "") in _LOADERS
        return its or self._is(node.func, "PIL.Image", "open") or self._is(node.func, "cv2", "imread") or self._loader(node) is not None

    def _loader(self, node: ast.Call) -> Optional[_Reader]:
        """A function of the program's own, or a method of the data set, that opens a picture and returns it; None: it is something else."""
        function = self._known(node.func)
        cls = None
        if isinstance(function, MethodType) and function.__self__ is self._dataset:
            function = getattr(function, "__func__", None)
            cls = next((one for one in type(self._dataset).__mro__ if any(each is function for each in vars(one).values())), None)
            function = function if cls is not None else None
        library = str(getattr(function, "__module__", "")).partition(".")[0]
        if not isinstance(function, FunctionType) or function in self._within or library in _KNOWN_LIBRARIES:
            return None
        if function not in self._read_loaders:
            try:
                self._read_loaders[function] = _Reader(self._dataset, function, cls, self._within)
            except Unknown:
                self._read_loaders[function] = None
        return self._read_loaders[function]

    def _is(self, node: ast.expr, module: str, *names: str) -> bool:
        """Whether it is one of a module's, if that is loaded."""
        one = self._known(node)
        return one is not _NOTHING and any(one is getattr(sys.modules.get(module), name, _NOTHING) for name in names)

    def _certain(self, node: ast.expr) -> Any:
        value = self._known(node)
        return value if value is not _NOTHING else self._other(node)

    def _known(self, node: ast.expr) -> Any:
        """An object from outside of the function, or an attribute or a member of one or of the data set."""
        if isinstance(node, ast.Attribute):
            of = self._known(node.value)
            try:
                return _NOTHING if of is _NOTHING or node.attr in self._changed else getattr(of, node.attr, _NOTHING)
            except Exception:  # of a property
                return _NOTHING
        if isinstance(node, ast.Subscript):
            of, key = self._known(node.value), node.slice.value if isinstance(node.slice, ast.Constant) else self._known(node.slice)
            try:
                return of[key] if type(of) in (dict, list, tuple) and key is not _NOTHING else _NOTHING
            except (LookupError, TypeError):
                return _NOTHING
        if not isinstance(node, ast.Name):
            return _NOTHING
        code = self._function.__code__
        if node.id == self._self:
            return self._dataset
        if node.id in code.co_varnames or node.id in code.co_cellvars:
            return _NOTHING
        try:
            return self._outside(node.id)
        except (KeyError, ValueError):  # a name of Python's own, and one that has no value yet
            return _NOTHING

    # ---- what is handed out

    def _output(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Tuple) and len(node.elts) in (2, 3):
            return tuple([self._part(one) for one in node.elts])
        if isinstance(node, ast.Dict) and len(node.keys) in (1, 2, 3) and all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in node.keys):
            return {key.value: self._part(one) for key, one in zip(node.keys, node.values) if isinstance(key, ast.Constant)}
        return self._part(node) if self._is_of_pictures(node) else self._other(node)

    def _part(self, node: ast.expr) -> Any:
        if self._is_of_pictures(node):
            self.picture, self._handed = self._picture(node), self._handed + 1
            return _PICTURE if not self.picture.inside else self._other(node)
        if self._mentions(node):
            self._other(node)
        self._beside.append(node)
        return len(self._beside) - 1

    # ---- what is left

    def rest(self) -> FunctionType:
        """The function that returns the path of the picture, or its file, and what is handed out with it."""
        name, code = self._own.name, self._function.__code__
        own = ast.copy_location(ast.FunctionDef(name=name, args=copy.deepcopy(self._own.args), body=self._body, decorator_list=[], returns=None, type_comment=None), self._own)
        for one in own.args.args:
            one.annotation = None
        if sys.version_info >= (3, 12):
            own.type_params = []
        module = ast.parse(f"def around({', '.join([_LOADS, *(one for one in code.co_freevars if one != '__class__')])}):\n class {'Own' if self._cls is None else self._cls.__name__}:\n  pass")
        around: Any = module.body[0]
        (around if self._cls is None else around.body[0]).body = [own]  # names with two underscores are of the class
        made = next(one for one in _inner(compile(ast.fix_missing_locations(module), code.co_filename, "exec", dont_inherit=True)) if one.co_name == name)
        stray = next((step.argval for step in dis.get_instructions(made) if step.opname == "LOAD_GLOBAL" and step.argval in code.co_varnames), None)
        if stray is not None:
            self._refuse(self._own, f"{stray!r} behind what opens the picture, which has it no more", WANT)
        cells = dict(zip(code.co_freevars, self._function.__closure__ or ()))
        if self._loads is not None:
            cells[_LOADS] = CellType(self._loads.rest())
        return FunctionType(made, self._function.__globals__, name, None, tuple([cells[one] for one in made.co_freevars]))


def _inner(code: CodeType) -> Iterator[CodeType]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from _inner(one)
