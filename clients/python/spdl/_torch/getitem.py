"""The __getitem__ of a data set of one's own: where its pictures lie, what becomes of them, and the rest of it, which runs."""

from __future__ import annotations

import ast
import copy
import dis
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any, NoReturn, Optional, Union

from . import captures, containers, heard as heard_room, libraries, openers, readers, sight, soundfiles, texts
from .annotated import Unknown
from .counts import Rate
from .heard import Extra, has_sound
from .kept import Keys, More, Value, View
from .sounds import Sound
from .picture import Made, Picture
from .sounding import HANDED, RATE, TAKEN, File, Sounding, is_known
from .opened import SAID
from .steps import listed
from .texts import NOTHING

WANT = "want it to open a picture, to give it to a transform and to return it, alone or beside anything else, without looking at it otherwise (docs/own-datasets.md#pictures)"
_LOADERS = ("default_loader", "pil_loader")  # torchvision's, to RGB
_LOADS, _INNER = "_spdl_loads", "_spdl_inner"  # what the rest of the function calls the rest of a function that opens a picture, and what has another data set's


_MEDIA = {"torchaudio": "sound", "soundfile": "sound", "librosa": "sound", "decord": "video", "torchcodec": "video", "av": "video"}
_PAGES = {"sound": "speech-sounds-transcripts-log-mel", "video": "video-classification-clips-of-16-frames"}
_READ = {"sound": "torchaudio.load, soundfile.read, librosa.load or torchcodec's AudioDecoder", "video": "torchcodec's VideoDecoder, decord's VideoReader, PyAV's container or OpenCV's VideoCapture"}


class Reader(Sounding):
    """Of a method of a class, or of a function that such a one calls."""

    WANT = WANT
    _own: ast.FunctionDef

    def __init__(self, dataset: Any, function: FunctionType, cls: Optional[type], within: tuple[FunctionType, ...] = (), given: Mapping[str, Any] = {}, lent: Sequence[str] = ()) -> None:
        """Of a function that is called with known arguments by these names, and with what another has opened to read videos by those. Raises Unknown."""
        try:
            own = copy.deepcopy(texts.parsed(function))  # in which what asks of pictures is replaced
        except texts.Unread as error:
            raise Unknown(f"{error}, {WANT}") from None
        self._unread: dict[ast.expr, Unknown] = {}  # why a function that may open something is none of these
        super().__init__(function, own, dataset, within)
        self._cls = cls
        args = own.args
        if isinstance(own, ast.Lambda) or not within and len(args.args) != 2 or args.vararg or args.kwarg or args.kwonlyargs or args.posonlyargs or args.defaults and not within:
            self._refuse(own, "other arguments than self and an index")
        self._self = args.args[0].arg if cls is not None else ""
        self._index = args.args[1].arg if not within else ""
        names, defaults = [one.arg for one in args.args], function.__defaults__ or ()
        stored = {one.id for one in ast.walk(own) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        self._bound.update({name: one for name, one in {**dict(zip(names[len(names) - len(defaults):], defaults)), **given}.items() if name not in stored} if within else {})
        self.heard: Any = None  # what a function that opens a sound returns: Sounds, Rates, and Values of what it has beside them
        self.inner: Optional[tuple[str, Any]] = None  # the attribute that is a data set whose samples these are, and that
        self.is_around = False  # whether they are no more than transformed
        self._label = ""  # of a sample of that
        self._pairs: dict[str, list[str]] = {}  # the names of a picture and its label, where they have one together
        self._loads: dict[str, Reader] = {}  # the functions that open pictures for this one, by what it calls them
        self._read_loaders: dict[ast.expr, Optional[Reader]] = {}
        self._read_inner: dict[ast.expr, Optional[Reader]] = {}  # of other data sets
        self._files: dict[str, File] = {}
        self._paths: list[ast.expr] = []  # of pictures
        self._begin_reading()
        self._begin_loops()
        self.lent = tuple(lent)
        for name in lent:
            self._lend(name)
        self._taken = 0  # of these that what is kept finds
        self._asks = sight.asks(own)
        self._infos: dict[str, int] = {}  # files of which it asks what they have, by the text of their paths, and their numbers
        self._told: list[ast.expr] = []  # what it says for each sample of a sound's part
        self._told_taken = 0  # of these that what is kept finds
        self._puts: dict[str, dict[str, Made]] = {}  # pictures that are put into dicts, by the names of these and their keys
        self._beside: list[ast.expr] = []  # what is handed out with pictures
        self.views: list[Union[Picture, Sound]] = []  # that are handed out
        self.outputs: Any = None
        self._body = self._read()

    def _read(self) -> list[ast.stmt]:
        kept = self._steps(self._own.body)
        last = self._last or self._own.body[-1]
        kept += self._named_frames(last)
        last = self._asked_of_frames(last)
        if not isinstance(last, ast.Return) or last.value is None or not self._mentions(last):
            self._check_media()
            self._refuse(last, f"{ast.unparse(last)[:80]!r} at its end, and no picture in it that Image.open or cv2.imread has opened")
        if len(self._within) > 1 and self._has_heard(last.value):
            self.heard = self._tree(last.value)
            kept += self._opened_by(last)
            taken = self._taken_now()
            if len(self._paths) != 1:
                self._other(last)
            return self._without_rates([*kept, ast.copy_location(ast.Return(ast.Tuple([taken[0], ast.Tuple([*self._beside, *taken[1:]], ast.Load())], ast.Load())), last)])
        self.outputs = self._output(last.value)
        kept += self._opened_by(last)
        self.is_around = self.is_around and len(kept) == 1 + self._asks and [ast.unparse(one) for one in self._beside] in ([], [self._label])
        if len(self._within) > 1:
            several = self.outputs if isinstance(self.outputs, tuple) else (self.outputs,)
            if not self.views or several.count(View(0)) != 1 or not all(isinstance(one, (View, Value)) for one in several) or not isinstance(self.views[0], Picture) or self.views[0].transforms or self.views[0].after or len(self._paths) != 1:
                self._other(last)
            self._beside = self._beside if isinstance(self.outputs, tuple) else []
        elif not self.views:
            self._other(last)
        elif any(isinstance(one, Picture) and one.mode == "gray" and not self._is_map(one) for one in self.views):
            self._refuse(last, "pictures that OpenCV makes grey, by other numbers than the engine", "want image.convert(\"RGB\") behind Image.open, or cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB); "
                               "of class numbers beside their picture albumentations' transform(image=image, mask=mask)")
        elif any(isinstance(one, Picture) and (one.mode == "BGR" or one.array and one.mode == "pixels") for one in self.views):
            self._other(last)
        self.views = [one._replace(mode="index") if isinstance(one, Picture) and one.mode == "" and self._is_map(one) else one for one in self.views]
        taken = self._taken_now()
        kept.append(ast.copy_location(ast.Return(ast.Tuple([ast.Tuple(taken, ast.Load()), *self._beside], ast.Load()) if len(self._within) == 1 else taken[0] if self.outputs == View(0) else ast.Tuple([taken[0], *self._beside], ast.Load())), last))
        return self._without_rates(kept)

    def _refuse(self, node: ast.AST, what: str, want: str = "") -> NoReturn:
        unheard = next((one for one in self._unread.values() if isinstance(one, heard_room.Unheard)), None)
        if unheard is not None:
            raise unheard  # why a sound that it goes on with is none that is known
        super()._refuse(node, what, want)

    def _taken_now(self) -> list[ast.expr]:
        """Files, and what is said of parts of them."""
        return [*[ast.Name(f"{TAKEN}{i}", ast.Load()) for i in range(len(self._paths))], *[ast.Name(f"{SAID}{i}", ast.Load()) for i in range(len(self._told))]]

    def _without_rates(self, kept: list[ast.stmt]) -> list[ast.stmt]:
        """Without names for rates that nothing asks for."""
        asked = {one.id for step in kept for one in ast.walk(step) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
        return [step for step in kept if not (isinstance(step, ast.Assign) and isinstance(step.value, ast.Call) and isinstance(step.value.func, ast.Name) and step.value.func.id == RATE
                                              and isinstance(step.targets[0], ast.Name) and step.targets[0].id not in asked)]

    def _reader_of(self, own_self: Any, function: FunctionType, cls: Optional[type]) -> Reader:
        return Reader(own_self, function, cls, self._within)

    def _check_media(self) -> None:
        """Refuse sounds and videos, which a description has."""
        for one in ast.walk(self._own):
            function = self._known(one.func) if isinstance(one, ast.Call) else None
            library, name = str(getattr(function, "__module__", "")).partition(".")[0], str(getattr(function, "__name__", ""))
            kind = _MEDIA.get(library, "video" if (library, name) in (("torchvision", "read_video"), ("cv2", "VideoCapture")) else "")
            if kind:
                self._refuse(one, f"{ast.unparse(one)[:80]!r}, a {kind}", f"want {_READ[kind]} (docs/own-datasets.md#{kind}s), or a description of a table of the files: source: {{list: FILE}}, {'audio' if kind == 'sound' else 'video'}: {{...}}, whose other columns come beside (docs/recipes.md#{_PAGES[kind]})")

    def _is_map(self, one: Picture) -> bool:
        """Whether it is a map of class numbers, of a picture beside it."""
        return one.mask or len(self._paths) > 1 and bool(one.array or one.after) and all(isinstance(each, Mapping) for each in one.transforms)

    # ---- statements

    def _step(self, step: ast.stmt) -> list[ast.stmt]:
        for read in (self._apart, self._finished, self._opened_reader, self._opened_container, self._looped):
            if (left := read(step)) is not None:
                return left
        return [*self._named_frames(step), *self._read_step(step)]

    def _read_step(self, step: ast.stmt) -> list[ast.stmt]:
        step = self._seen(self._asked_of_frames(step))
        if (once := _once(step)) is not None and self._mentions(step):
            kept = self._steps(once)
            return [_tried(step, kept)] if isinstance(step, ast.Try) and kept else kept
        if isinstance(step, ast.With) and len(step.items) == 1 and (made := self._opened_with(step)) is not None:
            return made
        if (target := _member(step)) is not None and isinstance(step, ast.Assign):  # sample["image"] = image, and sample["label"] = label behind it
            name, key = target
            if name not in self._names and self._is_of_pictures(step.value):
                self._puts.setdefault(name, {})[key] = self._made(step.value)
                return [*self._opened_by(step), ast.copy_location(ast.Assign(step.targets, ast.Constant(None)), step)]
            if name in self._puts and key not in self._puts[name] and not self._mentions(step.value):
                return [step]
        if (several := self._with_more(step)) is not None:
            return several
        return another if (another := self._of_another(step)) is not None else super()._step(step)

    def _with_more(self, step: ast.stmt) -> Optional[list[ast.stmt]]:
        """image, boxes = self.load(i), of a function that opens a picture and returns it with more; None: it is something else."""
        if not isinstance(step, ast.Assign) or len(step.targets) != 1 or not isinstance(target := step.targets[0], ast.Tuple) or not isinstance(call := step.value, ast.Call) or not self._is_open(call):
            return None
        loads, names = self._loader(call), [one.id for one in target.elts if isinstance(one, ast.Name)]
        if loads is None or not isinstance(loads.outputs, tuple) or len(names) != len(loads.outputs) or len(target.elts) != len(names) or any(self._mentions(one) for one in (*call.args, *call.keywords)):
            return None
        at, number = loads.outputs.index(View(0)), len(self._paths)
        self._names[names[at]] = loads.views[0]._replace(file=number)
        self._paths.append(call)
        self._taken += 1
        stored: list[ast.expr] = [ast.Name(one, ast.Store()) for one in (f"{TAKEN}{number}", *[name for name in names if name != names[at]])]
        found: ast.stmt = ast.copy_location(ast.Assign([ast.Tuple(stored, ast.Store())], self._loaded(call, loads, number)), step)
        return [found, *([sight.sees(number, f"{TAKEN}{number}", self._names[names[at]], step)] if self._asks else [])]

    def _loaded(self, node: ast.Call, loads: Reader, number: int) -> ast.expr:
        """The call of what is left of a function that opens a picture."""
        mine: list[ast.expr] = [ast.Name(self._self, ast.Load())] if loads._cls is not None and loads._object is self._object else []
        self._loads[f"{_LOADS}{number}"] = loads
        return ast.copy_location(ast.Call(ast.Name(f"{_LOADS}{number}", ast.Load()), [*mine, *node.args], node.keywords), node)

    def _opened_by(self, step: ast.stmt) -> list[ast.stmt]:
        found, self._taken = range(self._taken, len(self._paths)), len(self._paths)
        opened: list[ast.stmt] = [ast.copy_location(ast.Assign([ast.Name(f"{TAKEN}{i}", ast.Store())], self._paths[i]), step) for i in found]
        said, self._told_taken = range(self._told_taken, len(self._told)), len(self._told)
        opened += [ast.copy_location(ast.Assign([ast.Name(f"{SAID}{i}", ast.Store())], self._told[i]), step) for i in said]
        return opened + [sight.sees(one.file, f"{TAKEN}{one.file}", one, step) for one in self._names.values() if self._asks and isinstance(one, Picture) and one.film is None and one.file in found]

    def _seen(self, node: Any) -> Any:
        """With what the files say in the place of what it asks of pictures. Of a statement that gives their names to others, the statements in it are asked, one by one."""
        if not self._asks or isinstance(node, ast.stmt) and hasattr(node, "body") and any(isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store) and one.id in self._names for one in ast.walk(node)):
            return node
        return sight.Asked(lambda one: found if isinstance(found := self._names.get(getattr(one, "id", "")), Picture) and found.film is None else None, self._known).visit(node)

    def _of_another(self, step: ast.stmt) -> Optional[list[ast.stmt]]:
        """image, label = self.dataset[i], of a data set of torch's, or super().__getitem__(i); None: it is something else."""
        if not isinstance(step, ast.Assign) or len(step.targets) != 1 or self._names or self.inner is not None or (another := self._another(step.value)) is None or self._of_inner(step.value) is not None:
            return None
        target, (name, inner, index) = step.targets[0], another
        names = [one.id for one in target.elts if isinstance(one, ast.Name)] if isinstance(target, ast.Tuple) else [f"_spdl_{target.id}{i}" for i in range(2)] if isinstance(target, ast.Name) else []
        if len(names) != 2 or self._mentions(index):
            return None
        if isinstance(target, ast.Name):
            self._pairs[target.id] = names
        self.inner, self._label, self.is_around = (name, inner), names[1], isinstance(index, ast.Name) and index.id == self._index
        self._names[names[0]] = Picture(mode="RGB")
        self._paths.append(index)
        self._taken = 1
        both: list[ast.expr] = [ast.Name(one, ast.Store()) for one in (f"{TAKEN}0", names[1])]
        found: ast.stmt = ast.copy_location(ast.Assign([ast.Tuple(both, ast.Store())], ast.Call(ast.Name(_INNER, ast.Load()), [index], [])), step)
        return [found, *([sight.sees(0, f"{TAKEN}0", self._names[names[0]], step)] if self._asks else [])]

    def _another(self, node: ast.expr) -> Optional[tuple[str, Any, ast.expr]]:
        """What a data set is called, itself, and the number of its sample."""
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
            inner = self._known(node.value)
            return (node.value.attr, inner, node.slice) if libraries.derives(inner, "torch.utils.data", "Dataset") else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "__getitem__" and len(node.args) == 1 and not node.keywords \
                and isinstance(node.func.value, ast.Call) and isinstance(node.func.value.func, ast.Name) and node.func.value.func.id == "super":
            inner, classes = copy.copy(self._object), type(self._object).__mro__
            try:
                inner.__class__ = classes[classes.index(self._cls) + 1]
            except (TypeError, ValueError):  # it is laid out otherwise
                return None
            return "super()", inner, node.args[0]
        return None

    def _opened_with(self, step: ast.With) -> Optional[list[ast.stmt]]:
        """with Image.open(path) as image, and with open(path, "rb") as file, which holds no more than what is done to the picture; None of others."""
        item = step.items[0]
        if not isinstance(item.optional_vars, ast.Name) or not isinstance(item.context_expr, ast.Call):
            return None
        name, call = item.optional_vars.id, item.context_expr
        if isinstance(call.func, ast.Name) and call.func.id == "open" and self._known(call.func) is NOTHING and call.args and not call.keywords:
            if not any(self._is_open(one) for part in step.body for one in ast.walk(part)):
                return None
            self._files[name] = File(call.args[0])
        elif self._is_of_pictures(call):
            self._names[name] = self._one(call)
        else:
            return None
        made = [*self._opened_by(step), *self._steps(step.body)]
        if self._last is None:
            self._files.pop(name, None)
        return made

    # ---- expressions

    def _mentions(self, node: ast.AST) -> bool:
        return super()._mentions(node) or any(isinstance(one, ast.Name) and (one.id in self._files or one.id in self._puts or one.id in self._pairs) for one in ast.walk(node))

    def _opened(self, node: ast.Call) -> Picture:
        if (reads := self._reads(node)) is not None:
            return reads
        loads = self._loader(node)
        of_opencv, of_pixels = self._is(node.func, "cv2", "imread"), self._is(node.func, "PIL.Image", "fromarray")
        if of_pixels:
            self._check_fromarray(node)
        elif node.keywords or len(node.args) != 1 and loads is None and not of_opencv:
            self._other(node)
        how = self._known(node.args[1]) if of_opencv and len(node.args) == 2 else 1
        if of_opencv and (len(node.args) > 2 or how not in (0, 1)):
            self._other(node)
        path = node.args[0] if node.args else node
        if isinstance(path, ast.Name) and isinstance(file := self._files.get(path.id), File):
            path = file.path
        if any(self._mentions(one) for one in (path, *node.args[1:]) if one is not node):
            self._other(node)
        number = len(self._paths)
        if loads is not None:
            if isinstance(loads.outputs, tuple):
                self._other(node)
            self._paths.append(self._loaded(node, loads, number))
            first = loads.views[0]
            return first._replace(file=number) if isinstance(first, Picture) else self._other(node)
        self._paths.append(path)
        if of_opencv:
            return Picture(number, "BGR" if how == 1 else "gray", array=True, turned=how == 1)
        return Picture(number, "pixels" if of_pixels else "" if self._is(node.func, "PIL.Image", "open") else "RGB")

    def _reads(self, node: ast.Call) -> Optional[Picture]:
        """torchvision's read_image(path), and decode_image of one, which make tensors of bytes; None: it is something else."""
        if not self._is(node.func, "torchvision.io", "read_image", "decode_image"):
            return None
        modes = [*node.args[1:], *[one.value for one in node.keywords if one.arg == "mode"]]
        mode = self._known(modes[0]) if modes else "UNCHANGED"
        name = getattr(mode, "name", mode)
        if not node.args or len(modes) > 1 or len(node.args) + len(node.keywords) != 1 + len(modes) or name not in ("RGB", "UNCHANGED") or self._mentions(node.args[0]):
            self._other(node)
        self._paths.append(node.args[0])
        made = Picture(len(self._paths) - 1, "RGB" if name == "RGB" else "")
        return self._transformed(made, sys.modules["torchvision.transforms"].PILToTensor())

    def _check_fromarray(self, node: ast.Call) -> None:
        """Image.fromarray(pixels), and with the mode that follows from these."""
        modes = [*node.args[1:], *[one.value for one in node.keywords if one.arg == "mode"]]
        if not node.args or len(node.args) + len(node.keywords) != 1 + len(modes) or len(modes) > 1 or any(getattr(one, "value", None) not in ("L", "RGB") for one in modes):
            self._other(node)

    def _is_open(self, node: ast.AST) -> bool:
        if self._takes(node) or isinstance(node, (ast.Subscript, ast.Call)) and self._of_inner(node) is not None:
            return True
        if not isinstance(node, ast.Call):
            return False
        function = self._known(node.func)
        if readers.is_reader(function) or self._is_av(node) or self._is_read(node):
            return True
        its = getattr(function, "__module__", "") == "torchvision.datasets.folder" and getattr(function, "__name__", "") in _LOADERS
        if self._is(node.func, "PIL.Image", "fromarray"):
            return not any(self._mentions(one) for one in node.args)
        return its or bool(openers.is_open(self._known(node.func))) or openers.is_info(self._known(node.func)) or self._is(node.func, "torchvision.io", "read_image", "decode_image") or self._is(node.func, "PIL.Image", "open") or self._is(node.func, "cv2", "imread") or self._loader(node) is not None

    def _opens_film(self, node: ast.Call) -> bool:
        loads = self._loader(node)
        return loads is not None and loads.heard is not None and bool(loads._told)

    def _loader(self, node: ast.Call) -> Optional[Reader]:
        """A function of the program's own, or a method of the data set, that opens a picture or a sound and returns it; None: it is something else."""
        if node in self._read_loaders:
            return self._read_loaders[node]
        function = self._known(node.func)
        cls = None
        if isinstance(function, MethodType) and function.__self__ is self._object:
            function = getattr(function, "__func__", None)
            cls = next((one for one in type(self._object).__mro__ if any(each is function for each in vars(one).values())), None)
            function = function if cls is not None else None
        if not isinstance(function, FunctionType) or function in self._within or is_known(function):
            return None
        names = function.__code__.co_varnames[1 if cls is not None else 0:function.__code__.co_argcount]
        given = {**dict(zip(names, node.args)), **{str(one.arg): one.value for one in node.keywords}}
        known = {name: value for name, one in given.items() if (value := self._known(one)) is not NOTHING}
        lent = {name: one.id for name, one in given.items() if isinstance(one, ast.Name) and (one.id in self._containers or one.id in self._open_readers)}
        try:
            if len(lent) > 1:
                raise Unknown(f"{self._place(node)}: got {ast.unparse(node)[:80]!r}, with several readers of videos, want one")
            self._read_loaders[node] = Reader(self._object, function, cls, self._within, known, [f"{'container' if of in self._containers else 'reader'} {name}" for name, of in lent.items()])
        except Unknown as error:
            self._read_loaders[node] = None
            self._unread[node] = error
        return self._read_loaders[node]

    # ---- what is handed out

    def _output(self, node: ast.expr) -> Any:
        node = self._seen(node)
        if isinstance(node, ast.Name) and node.id in self._puts:
            self._beside.append(node)
            return Keys(len(self._beside) - 1, {key: listed(made, self.views) for key, made in self._puts[node.id].items()})
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict" and not self._is_known(node.func) and not node.args and all(one.arg for one in node.keywords):
            node = ast.copy_location(ast.Dict([ast.Constant(one.arg) for one in node.keywords], [one.value for one in node.keywords]), node)
        if (heard := self._heard(node)) is not NOTHING and not isinstance(heard, Picture) and (has_sound(heard) or isinstance(heard, (Rate, Extra)) and not isinstance(node, ast.Name)):
            return self._placed(heard, node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and isinstance(node.left, ast.Tuple) and self._mentions(node.left) and not self._mentions(node.right):  # (waveform,) + metadata[1:]
            ahead = self._output(node.left)
            self._beside.append(node.right)
            return (*ahead, More(len(self._beside) - 1))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and isinstance(node.left, ast.Name) and node.left.id in self._pairs and isinstance(node.right, ast.Tuple):
            node = ast.copy_location(ast.Tuple([*[ast.Name(one, ast.Load()) for one in self._pairs[node.left.id]], *node.right.elts], ast.Load()), node)  # pair + (path,)
        if isinstance(node, (ast.Tuple, ast.List, ast.Dict)) and self._mentions(node):
            if isinstance(node, ast.Dict):
                if not all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in node.keys):
                    self._other(node)
                return {key.value: self._output(one) for key, one in zip(node.keys, node.values) if isinstance(key, ast.Constant)}
            several = [self._output(one) for one in node.elts]
            return several if isinstance(node, ast.List) else tuple(several)
        if self._is_of_pictures(node):
            return listed(self._made(node), self.views)
        if heard is not NOTHING and not isinstance(heard, (Rate, Extra)):
            self._refuse_sound(node, HANDED)
        if self._mentions(node):
            self._other(node)
        self._beside.append(node)
        return Value(len(self._beside) - 1)

    # ---- what is left

    @property
    def files(self) -> int:
        """How many a sample opens."""
        return len(self._paths)

    def rest(self, inner: Any = None) -> FunctionType:
        """Of samples of another data set with what has its pictures and labels by their numbers. The function that returns the paths of its pictures, or their files, in a tuple, and what is handed out with them."""
        return self._compiled(self._own.args, self._body, inner)

    def _compiled(self, args: ast.arguments, body: list[ast.stmt], inner: Any = None) -> FunctionType:
        """A function that has what surrounds this one."""
        name, code = self._own.name, self._function.__code__
        own = ast.copy_location(ast.FunctionDef(name=name, args=copy.deepcopy(args), body=body, decorator_list=[], returns=None, type_comment=None), self._own)
        for one in own.args.args:
            one.annotation = None
        if sys.version_info >= (3, 12):
            own.type_params = []
        cells = {**dict(zip(code.co_freevars, self._function.__closure__ or ())), **self._cells(), _INNER: CellType(inner)}
        module = ast.parse(f"def around({', '.join([one for one in cells if one != '__class__'])}):\n class {'Own' if self._cls is None else self._cls.__name__}:\n  pass")
        around: Any = module.body[0]
        (around if self._cls is None else around.body[0]).body = [own]  # names with two underscores are of the class
        made = next(one for one in _inner(compile(ast.fix_missing_locations(module), code.co_filename, "exec", dont_inherit=True)) if one.co_name == name)
        stray = next((step.argval for step in dis.get_instructions(made) if step.opname == "LOAD_GLOBAL" and step.argval in code.co_varnames), None)
        if stray is not None:
            self._refuse(self._own, f"{stray!r} behind what opens the picture, which has it no more", WANT)
        return FunctionType(made, self._function.__globals__, name, self._function.__defaults__ if args is self._own.args else None, tuple([cells[one] for one in made.co_freevars]))

    def _cells(self) -> dict[str, CellType]:
        """What it calls that its text does not, by names."""
        return {sight.SEES: CellType(sight.Sight), readers.OPENS: CellType(readers.Video), containers.OPENS: CellType(containers.Container), captures.OPENS: CellType(captures.Capture), RATE: CellType(soundfiles.rate_of), **{called: CellType(loads.rest()) for called, loads in self._loads.items()}}


def _once(step: ast.stmt) -> Optional[list[ast.stmt]]:
    """What is done where nothing fails: of a try whose excepts do no more than to say so, and of a loop that goes on until its body has said that it is done, as re-identification's code opens pictures; None: it is another."""
    if isinstance(step, ast.Try) and not step.orelse and not step.finalbody and all(isinstance(one, (ast.Pass, ast.Raise, ast.Continue, ast.Expr)) for handler in step.handlers for one in handler.body):
        return step.body
    if isinstance(step, ast.While) and isinstance(step.test, ast.UnaryOp) and isinstance(step.test.op, ast.Not) and isinstance(step.test.operand, ast.Name) and not step.orelse:
        done = f"{step.test.operand.id} = True"
        return step.body if any(isinstance(one, ast.Assign) and ast.unparse(one) == done for one in ast.walk(step)) else None
    return None


def _tried(step: ast.Try, body: list[ast.stmt]) -> ast.stmt:
    """The rest of a try, which is in no loop any more."""
    handlers = [ast.copy_location(ast.ExceptHandler(one.type, one.name, [ast.copy_location(ast.Pass(), each) if isinstance(each, ast.Continue) else each for each in one.body]), one) for one in step.handlers]
    return ast.copy_location(ast.Try(body, handlers, [], []), step)


def _member(step: ast.stmt) -> Optional[tuple[str, str]]:
    """The name and the key of a dict whose member a statement says; None: it is another."""
    if not isinstance(step, ast.Assign) or len(step.targets) != 1 or not isinstance(target := step.targets[0], ast.Subscript) or not isinstance(target.value, ast.Name):
        return None
    key = target.slice.value if isinstance(target.slice, ast.Constant) else None
    return (target.value.id, key) if isinstance(key, str) else None


def _inner(code: CodeType) -> Iterator[CodeType]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from _inner(one)
