"""What a function of one's own opens, by itself, by functions that it calls, and of another data set: sounds and videos, and what is returned with them."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any, NamedTuple, Optional

from . import films, heard as heard_room, libraries, openers, sounds
from .annotated import Unknown
from .counts import Rate
from .heard import Extra, Others, has_sound
from .kept import More, Value
from .looped import Loops
from .picture import Picture
from .sounds import Cannot, Sound
from .steps import LIBRARIES, listed
from .texts import NOTHING

TAKEN = "_spdl_picture"  # what the rest of the function calls a file
LOADED, RATE = "_spdl_loaded", "_spdl_rate"  # what such a function has returned, and what tells a file's samples a second
_LENT = 1 << 20  # ahead of the numbers of functions that take frames of what is opened elsewhere
HANDED = f"want sounds, frames and what does not look at them handed out: how long a row is is what a collate_fn sees; {heard_room.WANT}"
_WITH_RATES = ("SPEECHCOMMANDS.__getitem__", "LIBRISPEECH.__getitem__")  # of torchaudio's, which return a sound, its rate, and what else they have of it
_PATHS = {"torchaudio": "uri", "soundfile": "file", "librosa": "path", "torchcodec": "source", "scipy": "filename"}  # what they call it


class File(NamedTuple):
    """An open file, by the expression of its path."""

    path: ast.expr


class Sounding(Loops):
    """Of a reader of statements, that of media that are opened."""

    heard: Any  # of a function that opens a sound, or frames: what it returns
    views: list[Any]
    _files: dict[str, File]
    _infos: dict[str, int]
    _beside: list[ast.expr]
    _unread: dict[ast.expr, Unknown]
    _read_inner: dict[ast.expr, Any]

    def _reader_of(self, own_self: Any, function: FunctionType, cls: Optional[type]) -> Any:
        """What reads a method of another data set. Raises Unknown."""
        raise NotImplementedError

    def _loader(self, node: ast.Call) -> Any:
        raise NotImplementedError

    def _loaded(self, node: ast.Call, loads: Any, number: int) -> ast.expr:
        raise NotImplementedError

    def _another(self, node: ast.expr) -> Optional[tuple[str, Any, ast.expr]]:
        raise NotImplementedError

    def _heard_opened(self, node: ast.Call) -> Any:
        if (taken := self._taken_of(node)) is not NOTHING:
            return taken
        library = openers.is_open(self._known(node.func))
        if not library:
            if openers.is_info(self._known(node.func)):
                return self._asked(node)
            if (inner := self._heard_inner(node)) is not NOTHING:
                return inner
            loads = self._loader(node)
            return NOTHING if loads is None or loads.heard is None else self._heard_by(node, loads)
        named = {one.arg: one.value for one in node.keywords}
        path = node.args[0] if node.args else named.pop(_PATHS[library], None)
        if path is None or None in named or any(isinstance(one, ast.Starred) for one in node.args):
            self._refuse_sound(node, "want a path, and arguments that are known when the loader is made")
        text = ast.dump(path)
        if isinstance(path, ast.Name) and isinstance(file := self._files.get(path.id), File):
            path = file.path
        if self._mentions(path):
            self._refuse_sound(node)
        positions, parts = openers.PARTS.get(library, ((), ()))
        given = {**dict(zip(positions, node.args[1:])), **{str(name): one for name, one in named.items()}}
        if library == "soundfile" and "stop" in given and self._known(given["stop"]) is NOTHING and self._heard(given["stop"]) is NOTHING and self._number(given["stop"]) is NOTHING:
            given["frames"] = ast.copy_location(ast.BinOp(given.pop("stop"), ast.Sub(), given.get("start", ast.Constant(0))), node)
        values = {name: self._part_of(one, library, name in parts) for name, one in given.items()}
        more = [self._known(one) for one in node.args[1 + len(positions):]]
        if any(one is NOTHING for one in (*more, *values.values())):
            self._refuse_sound(node, "want a path, and arguments that are known when the loader is made, or of the part that it reads are said for each sample")
        number = self._infos.get(text, len(self._paths))
        if number == len(self._paths):
            self._paths.append(path)
        try:
            return openers.opened(self._known(node.func), more, values, number)
        except Cannot as error:
            self._refuse_sound(node, str(error))

    def _part_of(self, node: ast.expr, library: str, told: bool) -> Any:
        """An argument of what opens a sound: what is known, or, of a part, what is drawn or said for each sample; NOTHING: it is something else."""
        if (known := self._known(node)) is not NOTHING:
            return known
        number = heard_room.frames(self._number(node))
        return number if number is not NOTHING else self._tell(node, library == "librosa") if told else NOTHING

    def _asked(self, node: ast.Call) -> Any:
        """torchaudio.info(path), of a file that is opened behind it."""
        if len(node.args) != 1 or node.keywords or self._mentions(node.args[0]) or isinstance(node.args[0], ast.Name) and node.args[0].id in self._files or not self._stays(node.args[0]):
            self._refuse_sound(node, "want it of a path that is opened behind it, by the same expression")
        self._infos[ast.dump(node.args[0])] = number = self._infos.get(ast.dump(node.args[0]), len(self._paths))
        if number == len(self._paths):
            self._paths.append(node.args[0])
        return heard_room.Info(Sound(file=number))

    def _stays(self, node: ast.expr) -> bool:
        """Whether an expression is the same wherever it stands: of names that are given to one thing at most."""
        stored = {one.id for one in ast.walk(self._own) if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)}
        return all(one.id not in stored or one.id in self._once for one in ast.walk(node) if isinstance(one, ast.Name)) and not any(isinstance(one, (ast.Call, ast.NamedExpr)) and not self._is_plain_call(one) for one in ast.walk(node))

    def _is_plain_call(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and (self._is(node.func, "os.path", "join") or isinstance(node.func, ast.Name) and node.func.id == "str")

    def _tell(self, node: ast.expr, seconds: bool = False) -> Any:
        stored = {one.id for one in ast.walk(self._own) if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)}
        if self._mentions(node) or any(isinstance(one, ast.Name) and one.id in stored and one.id not in self._once and not isinstance(self._names.get(one.id), Rate) for one in ast.walk(node)):
            return NOTHING
        texts_of_them = [ast.dump(one) for one in self._told]
        if ast.dump(node) not in texts_of_them:
            self._told.append(node)
            texts_of_them.append(ast.dump(node))
        return sounds.Told(texts_of_them.index(ast.dump(node)), seconds)

    def _heard_by(self, node: ast.Call, loads: Any) -> Any:
        """What a function that opens a sound returns."""
        if any(self._mentions(one) for one in (*node.args, *[one.value for one in node.keywords])):
            self._refuse_sound(node)
        if loads.lent:
            return self._told_by(node, loads)
        number = len(self._paths)
        loaded = f"{LOADED}{number}"
        self._paths.append(part(ast.NamedExpr(ast.Name(loaded, ast.Store()), self._loaded(node, loads, number)), 0, node))
        beside = part(ast.Name(loaded, ast.Load()), 1, node)
        heard = loads.heard
        if loads._function.__qualname__ in _WITH_RATES and loads._function.__module__.startswith("torchaudio.datasets.") and type(heard) is tuple and [type(one) for one in heard] == [Sound, More]:
            rest = part(beside, heard[1].number, node)
            known = self._of_file((heard[0], Rate(0)), number, beside, len(self._told))  # their files have that rate, or an error says so
            return (*known, Others(ast.Subscript(rest, ast.Slice(ast.Constant(1)), ast.Load())))
        first = len(self._told)
        self._told += [part(beside, len(loads._beside) + i, node) for i in range(len(loads._told))]
        return self._of_file(heard, number, beside, first)

    def _told_by(self, node: ast.Call, loads: Any) -> Any:
        """What a function returns that takes frames of what is opened here."""
        first, at = len(self._told), _LENT + len(self._told)
        loaded = f"{LOADED}{at}"
        call: ast.expr = ast.NamedExpr(ast.Name(loaded, ast.Store()), self._loaded(node, loads, at))
        beside = part(ast.Name(loaded, ast.Load()), 1, node)
        self._told += [part(beside if i else part(call, 1, node), len(loads._beside) + i, node) for i in range(len(loads._told))]
        number = next(file for name, file in (*self._containers.items(), *self._open_readers.items()) for one in (*node.args, *[each.value for each in node.keywords]) if isinstance(one, ast.Name) and one.id == name)
        return self._of_file(loads.heard, number, beside, first)

    def _heard_inner(self, node: ast.expr) -> Any:
        """self.dataset[i], of another data set of sounds, also of a Subset of one, and super().__getitem__(i); NOTHING: it is something else."""
        if (taken := self._taken_of(node)) is not NOTHING:
            return taken
        if id(node) in self._heard_calls:
            return self._heard_calls[id(node)]
        loads = self._of_inner(node)
        if loads is None:
            return NOTHING
        of, index, _ = self._innermost(node)
        if self._mentions(index):
            self._refuse_sound(node)
        self._heard_calls[id(node)] = made = self._heard_by(ast.copy_location(ast.Call(of, [of, index], []), node), loads)
        return made

    def _innermost(self, node: ast.expr) -> tuple[ast.expr, ast.expr, Any]:
        """The expressions of a data set and of the number of its sample, and itself; NOTHING: it is none."""
        another = self._another(node)
        if another is None:
            return node, node, NOTHING
        _, inner, index = another
        of: ast.expr = node.value if isinstance(node, ast.Subscript) else ast.Name(self._self, ast.Load())
        while type(inner).__qualname__ == "Subset" and libraries.derives(inner, "torch.utils.data", "Subset"):
            inner, index, of = inner.dataset, ast.Subscript(ast.Attribute(of, "indices", ast.Load()), index, ast.Load()), ast.Attribute(of, "dataset", ast.Load())
        return of, index, inner

    def _of_inner(self, node: ast.expr) -> Any:
        """What reads a sample of another data set, if that opens sounds."""
        if node not in self._read_inner:
            self._read_inner[node] = None
            _, _, inner = self._innermost(node)
            cls = next((cls for cls in type(inner).__mro__ if "__getitem__" in vars(cls)), None)
            function = None if cls is None else vars(cls)["__getitem__"]
            if isinstance(function, FunctionType) and not is_known(function) and function not in self._within:
                try:
                    made = self._reader_of(inner, function, cls)
                    self._read_inner[node] = None if made.heard is None else made
                except Unknown as error:
                    self._unread[node] = error
        return self._read_inner[node]

    def _of_file(self, one: Any, number: int, beside: ast.expr, first: int) -> Any:
        if isinstance(one, Sound) and isinstance(window := one.window, tuple) and sounds.is_told(window):
            moved: Any = tuple([each._replace(number=first + each.number) if isinstance(each, sounds.Told) else each for each in window])
            one = one._replace(window=moved)
        if isinstance(one, Sound) and one.under is not None:
            one = one._replace(under=self._of_file(one.under, number, beside, first))
        if isinstance(one, Picture) and one.film is not None:
            return one._replace(file=number, film=films.moved(one.film, number, first))
        if isinstance(one, films.Taken):
            return one._replace(shown=films.moved(one.shown, number, first))
        if isinstance(one, (Sound, Rate, Picture, films.Film)):
            return one._replace(file=number)
        if isinstance(one, films.Shown):
            return films.moved(one, number, first)
        if isinstance(one, heard_room.Complex):
            return heard_room.Complex(one.sound._replace(file=number))
        if isinstance(one, openers.Decoder):
            return openers.Decoder(one.sound._replace(file=number))
        if isinstance(one, heard_room.Info):
            return heard_room.Info(one.sound._replace(file=number))
        if isinstance(one, (Value, More)):
            return (Extra if isinstance(one, Value) else Others)(part(beside, one.number, beside))
        return tuple([self._of_file(each, number, beside, first) for each in one]) if type(one) is tuple else one

    def _rated(self, one: Rate) -> ast.expr:
        if one.known is not None:
            return ast.Constant(one.known)
        return ast.Call(ast.Name(RATE, ast.Load()), [ast.Name(f"{TAKEN}{one.file}", ast.Load())], [])

    def _has_heard(self, node: ast.expr) -> bool:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and isinstance(node.left, ast.Tuple) and not self._mentions(node.right):
            node = node.left  # (waveform,) + metadata[1:]
        several = node.elts if isinstance(node, ast.Tuple) else [node]
        return self._heard(node) is not NOTHING or any(self._heard(one) is not NOTHING or self._of_film(one) is not None for one in several)

    def _of_film(self, node: ast.expr) -> Optional[Picture]:
        """Frames that code tells; None: it is something else."""
        made = self._made(node) if (self._open_readers or self._containers) and self._is_of_pictures(node) else None
        return made if isinstance(made, Picture) and made.film is not None and made.film.told >= 0 else None

    def _tree(self, node: ast.expr) -> Any:
        """What is returned with a sound."""
        if (heard := self._heard(node)) is not NOTHING:
            return heard
        if (frames := self._of_film(node)) is not None:
            return frames
        if isinstance(node, ast.Tuple):
            return tuple(map(self._tree, node.elts))
        if isinstance(node, ast.BinOp) and isinstance(node.left, ast.Tuple) and self._mentions(node.left):
            ahead = self._tree(node.left)
            self._beside.append(node.right)
            return (*ahead, More(len(self._beside) - 1))
        if self._mentions(node):
            self._other(node)
        self._beside.append(node)
        return Value(len(self._beside) - 1)

    def _placed(self, made: Any, node: ast.expr) -> Any:
        """The places of sounds and of what is beside them."""
        if has_sound(made) and not isinstance(made, Sound):
            return tuple([self._placed(one, node) for one in made])
        if isinstance(made, Sound):
            return listed(made, self.views)
        if isinstance(made, Others):
            self._beside.append(made.node)
            return More(len(self._beside) - 1)
        if not isinstance(made, (Rate, Extra, int, float)):
            self._refuse_sound(node, HANDED)
        self._beside.append(self._rated(made) if isinstance(made, Rate) else made.node if isinstance(made, Extra) else ast.Constant(made))
        return Value(len(self._beside) - 1)


def is_known(function: FunctionType) -> bool:
    """Whether it is a library's, whose functions are told by their names."""
    module = str(function.__module__)
    return module.partition(".")[0] in LIBRARIES and not module.startswith("torchaudio.datasets.")


def part(of: ast.expr, number: int, at: ast.AST) -> ast.expr:
    return ast.copy_location(ast.Subscript(of, ast.Constant(number), ast.Load()), at)
