"""What a function of one's own does with PyAV's containers and OpenCV's captures: loops over frames and lists of them, which run, and what is made of these, which is read."""

from __future__ import annotations

import ast
import copy
from typing import Any, NamedTuple, Optional, Union

from . import captures, clips, containers, films, readers, seen
from .opened import Put, Readers
from .picture import Picture

_FRAME = "_spdl_frame"  # each frame of a list
_OF_FRAMES = ("pts", "time", "time_base", "width", "height")


class Reel(NamedTuple):
    """A list of frames."""

    kind: str  # what each is
    of: str  # the container
    made: Optional[ast.expr] = None  # what the loop has made of each, which _FRAME stands for; None: nothing


class Loops(Readers):
    """Of a reader of statements, that of containers."""

    _lists: set[str]

    def _begin_loops(self) -> None:
        self._containers: dict[str, int] = {}  # their names, and the numbers of their files
        self._captures: set[str] = set()  # those of these that are OpenCV's
        self._kinds: dict[str, str] = {}  # names of frames, and of what is made of these, where a loop has them; "": one that conditions make different things
        self._carried: set[str] = set()  # names of frames that a turn of a loop may have of the one before
        self._late: dict[str, ast.expr] = {}  # what is made of a frame in the loop, by its name, of each that _FRAME stands for
        self._reels: dict[str, Reel] = {}  # lists of them

    def _lend(self, said: str) -> None:
        """A container, or a VideoReader, that is opened where this is called."""
        kind, _, name = said.partition(" ")
        (self._containers if kind == "container" else self._open_readers)[name] = len(self._paths)
        self._paths.append(ast.copy_location(ast.Attribute(ast.Name(name, ast.Load()), "path", ast.Load()), self._own))

    # ---- what opens

    def _opened_container(self, step: ast.stmt) -> Optional[list[ast.stmt]]:
        """What is left of container = av.open(path), and of with av.open(path) as container; None: it is something else."""
        if isinstance(step, ast.With) and len(step.items) == 1 and isinstance(target := step.items[0].optional_vars, ast.Name) and self._is_av(step.items[0].context_expr):
            opened = self._contains(target, step.items[0].context_expr, step)
            return [*opened, *self._steps(step.body)]
        if isinstance(step, ast.Assign) and len(step.targets) == 1 and self._is_av(step.value):
            name = step.targets[0]
            return self._contains(name, step.value, step) if isinstance(name, ast.Name) else self._refuse(step, repr(ast.unparse(step)[:80]), "want a name for the container")
        return None

    def _apart(self, step: ast.stmt) -> Optional[list[ast.stmt]]:
        """container, frames = av.open(path), [] as a statement for each; None: it is something else."""
        if not isinstance(step, ast.Assign) or len(step.targets) != 1 or not isinstance(of := step.targets[0], ast.Tuple) or not isinstance(step.value, ast.Tuple) or len(of.elts) != len(step.value.elts):
            return None
        names = {one.id for one in ast.walk(of) if isinstance(one, ast.Name)}
        opens = any(isinstance(one, ast.Call) and (self._is_av(one) or readers.is_reader(self._known(one.func))) or isinstance(one, ast.List) and not one.elts for one in step.value.elts)
        if not opens or not all(isinstance(one, ast.Name) for one in of.elts) or any(isinstance(one, ast.Name) and one.id in names for one in ast.walk(step.value)):
            return None
        return [left for name, one in zip(of.elts, step.value.elts) for left in self._step(ast.copy_location(ast.Assign([name], one), step))]

    def _finished(self, step: ast.stmt) -> Optional[list[ast.stmt]]:
        """try: ... finally: capture.release() as what it does where nothing fails; None: it is something else."""
        if not isinstance(step, ast.Try) or step.handlers or step.orelse or not self._containers or not all(map(self._asks_alone, step.finalbody)):
            return None
        kept = self._steps(step.body)
        return kept if self._last is not None else [*kept, *self._steps(step.finalbody)]

    def _is_av(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and (containers.is_open(self._known(node.func)) or self._is(node.func, "cv2", "VideoCapture"))

    def _contains(self, target: ast.Name, call: ast.expr, step: ast.stmt) -> list[ast.stmt]:
        assert isinstance(call, ast.Call)
        if target.id not in self._once or len(call.args) != 1 or call.keywords or self._mentions(call.args[0]):
            self._refuse(call, repr(ast.unparse(step).partition("\n")[0][:80]), "want container = av.open(path), of a name that is given to one container alone")
        self._containers[target.id] = len(self._paths)
        self._paths.append(ast.copy_location(ast.Attribute(ast.Name(target.id, ast.Load()), "path", ast.Load()), step))
        if of_opencv := self._is(call.func, "cv2", "VideoCapture"):
            self._captures.add(target.id)
        opens = ast.Call(ast.Name(captures.OPENS if of_opencv else containers.OPENS, ast.Load()), [call.func, *call.args], [])
        return [ast.copy_location(ast.Assign([ast.Name(target.id, ast.Store())], opens), step), *self._opened_by(step)]

    # ---- what runs

    def _looped(self, step: ast.stmt) -> Optional[list[ast.stmt]]:
        """What is left of a statement on frames of a container, where it makes no picture of one; None: it does, or is on none."""
        if not self._containers or not self._has_frames(step):
            return None
        if isinstance(step, ast.For) and not step.orelse and (self._source(step.iter) is not None or self._has_reads(step)) or isinstance(step, ast.While) and not step.orelse and self._has_reads(step):
            return self._loop(step)
        if isinstance(step, ast.Assign) and len(step.targets) == 1 and isinstance(target := step.targets[0], ast.Name) and (reel := self._reel(step.value)) is not None:
            self._reels[target.id] = reel
            return [step]
        if self._moves(step):
            return [step]
        return None

    def _loop(self, step: Union[ast.For, ast.While]) -> list[ast.stmt]:
        """A loop over frames that puts some into lists, and what it makes of each of these, behind it."""
        of = self._source(step.iter) if isinstance(step, ast.For) else None
        if of is not None:
            self._kinds[self._loop_name(step)] = containers.FRAME
        elif not self._asks_alone(step.iter if isinstance(step, ast.For) else step.test):
            self._refuse(step, repr(ast.unparse(step).partition("\n")[0][:80]), _WANT)
        made: dict[str, ast.expr] = {}  # of each frame in a list
        self._carried = self._framed_in(step.body, of)
        body = self._in_loop(step.body, of or next(iter(self._captures), ""), made)
        self._kinds, self._late, self._carried = {}, {}, set()
        self._reels.update({name: self._reels[name]._replace(made=one) for name, one in made.items() if not isinstance(one, ast.Name)})
        return [ast.copy_location(ast.For(step.target, step.iter, body, [], None) if isinstance(step, ast.For) else ast.While(step.test, body, []), step)]

    def _framed_in(self, body: list[ast.stmt], of: Optional[str]) -> set[str]:
        """The names that a loop gives to frames."""
        before = dict(self._kinds), dict(self._reels), set(self._lists)
        self._in_loop(copy.deepcopy(body), of or next(iter(self._captures), ""), {})
        names = set(self._kinds)
        self._kinds, self._reels, self._lists, self._late = *before, {}
        return names

    def _loop_name(self, step: Any) -> str:
        target = step.target.elts[1] if isinstance(step.target, ast.Tuple) and len(step.target.elts) == 2 else step.target
        return target.id if isinstance(target, ast.Name) else self._refuse(step, repr(ast.unparse(step).partition("\n")[0][:80]), _WANT)

    def _in_loop(self, body: list[ast.stmt], of: str, made: dict[str, ast.expr]) -> list[ast.stmt]:
        """The statements of a loop over frames, as they run."""
        return [self._in_turn(one, of, made) for one in body]

    def _in_turn(self, step: Any, of: str, made: dict[str, ast.expr]) -> ast.stmt:
        asked = {one.id for one in ast.walk(step.test if isinstance(step, ast.If) else step) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
        if (asked & self._carried) - self._kinds.keys():
            self._refuse(step, f"{ast.unparse(step)[:80]!r}, of the frame of the turn before", _WANT)
        if isinstance(step, ast.If):
            before = dict(self._kinds), dict(self._late)
            changed: set[str] = set()
            for name in ("body", "orelse"):
                self._kinds, self._late = dict(before[0]), dict(before[1])
                setattr(step, name, self._in_loop(getattr(step, name), of, made))
                changed |= {one for one in self._kinds if self._kinds[one] != before[0].get(one) or self._late.get(one) is not before[1].get(one)}
            self._kinds, self._late = {**before[0], **dict.fromkeys(changed, "")}, before[1]
            return step if self._asks_alone(step.test) else self._refuse(step, repr(ast.unparse(step.test)[:80]), _WANT)
        if self._is_read(getattr(step, "value", None)) and isinstance(step, ast.Assign) and isinstance(both := step.targets[0], ast.Tuple) and [type(one) for one in both.elts] == [ast.Name, ast.Name]:
            read = ast.unparse(both.elts[1])
            self._kinds[read] = captures.BGR
            self._late.pop(read, None)
            return step
        if isinstance(step, ast.Assign) and len(step.targets) == 1 and isinstance(target := step.targets[0], ast.Name) and (frame := self._frame_in(step.value)) is not None:
            kind = self._kind(step.value) if frame.id not in self._late else ""
            self._kinds[target.id], late = kind or self._kinds[frame.id], None if kind else self._made_of(frame, step.value)
            self._late.pop(target.id, None)
            if late is not None:
                self._late[target.id] = late
            return step if kind else ast.copy_location(ast.Assign([target], ast.Name(frame.id, ast.Load())), step)
        if (put := _appended(step)) is not None and (put[0] in self._lists or put[0] in self._reels) and (frame := self._frame_in(put[1])) is not None:
            name, kind = put[0], self._kind(put[1]) if frame.id not in self._late else ""
            one = ast.Name(_FRAME, ast.Load()) if kind else self._made_of(frame, put[1])
            kind = kind or self._kinds[frame.id]
            if self._reels.get(name, Reel(kind, of)) != Reel(kind, of) or ast.dump(made.setdefault(name, one)) != ast.dump(one):
                self._refuse(step, repr(ast.unparse(step)[:80]), _WANT)
            self._reels[name] = Reel(kind, of)
            self._lists.discard(name)
            return step if isinstance(one, ast.Name) and self._kind(put[1]) else ast.copy_location(ast.Expr(ast.Call(ast.Attribute(ast.Name(name, ast.Load()), "append", ast.Load()), [ast.Name(frame.id, ast.Load())], [])), step)
        return step if self._asks_alone(step) and not self._mentions_pictures(step) else self._refuse(step, repr(ast.unparse(step)[:80]), _WANT)

    def _frame_in(self, node: ast.expr) -> Optional[ast.Name]:
        """The one frame that an expression is of; None: it is of none, or of several."""
        names = [one for one in ast.walk(node) if isinstance(one, ast.Name) and one.id in self._kinds]
        others = any(isinstance(one, ast.Name) and one.id in self._reels for one in ast.walk(node))
        if any(not self._kinds[one.id] for one in names):
            self._refuse(node, f"{ast.unparse(node)[:80]!r}, of a frame of which conditions make different things", _WANT)
        return names[0] if len(names) == 1 and not others and not self._asks_alone(node) else None

    def _made_of(self, frame: ast.Name, node: ast.expr) -> ast.expr:
        """What an expression makes of a frame, with what was made of it before."""
        if isinstance(node, ast.Name):
            return self._late.get(node.id, ast.Name(_FRAME, ast.Load()))
        plain, twin = copy.deepcopy(self._late.get(frame.id, ast.Name(_FRAME, ast.Load()))), copy.deepcopy(node)
        at = next(other for one, other in zip(ast.walk(node), ast.walk(twin)) if one is frame)
        made: ast.expr = Put(at, plain).visit(twin)
        return made

    def _is_read(self, node: Any) -> bool:
        """Whether it is capture.read()."""
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "read" and isinstance(node.func.value, ast.Name) and node.func.value.id in self._captures and not node.args

    def _has_reads(self, node: ast.AST) -> bool:
        return any(self._is_read(one) for one in ast.walk(node))

    def _mentions_pictures(self, step: ast.AST) -> bool:
        return any(isinstance(one, ast.Name) and isinstance(self._names.get(one.id), (Picture, list)) for one in ast.walk(step))

    def _kind(self, node: ast.expr) -> str:
        """What an expression is of a frame; "": it is something else."""
        if isinstance(node, ast.Name):
            return self._kinds.get(node.id, "")
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and not isinstance(node.slice, ast.Slice):
            reel = self._reels.get(node.value.id)
            return reel.kind if reel is not None and not self._has_frames(node.slice) else ""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and self._kind(node.func.value) == containers.FRAME:
            named = [f"{one.arg}={ast.unparse(one.value)}" for one in node.keywords]
            if node.func.attr == "to_ndarray" and not node.args and named == ["format='rgb24'"]:
                return containers.ARRAY
            if node.func.attr in ("to_image", "to_rgb") and not node.args and not named:
                return containers.IMAGE if node.func.attr == "to_image" else containers.FRAME
        return ""

    def _source(self, node: ast.expr) -> Optional[str]:
        """The container whose frames a loop goes over, also with their numbers; None: it goes over something else."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "enumerate" and len(node.args) == 1:
            return self._source(node.args[0])
        is_decode = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "decode" and isinstance(node.func.value, ast.Name)
        return node.func.value.id if is_decode and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id in self._containers and node.func.value.id not in self._captures else None

    def _reel(self, node: ast.expr) -> Optional[Reel]:
        """A list of frames that an expression is; None: it is something else."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "list" and len(node.args) == 1:
            of = self._source(node.args[0])
            return Reel(containers.FRAME, of) if of is not None and not ast.unparse(node.args[0]).startswith("enumerate(") else None
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and isinstance(node.value, ast.Name) and not self._has_frames(node.slice):
            return self._reels.get(node.value.id)
        if not isinstance(node, ast.ListComp) or len(node.generators) != 1:
            return None
        each, before = node.generators[0], dict(self._kinds)
        of = self._source(each.iter)
        reel = None if of is None else Reel(containers.FRAME, of)
        if isinstance(each.iter, ast.Name) and each.iter.id in self._reels:
            reel = self._reels[each.iter.id]
        target = each.target.elts[1] if isinstance(each.target, ast.Tuple) and len(each.target.elts) == 2 else each.target
        if reel is not None and isinstance(target, ast.Name):
            self._kinds[target.id] = reel.kind
        elif reel is None and isinstance(node.elt, ast.Subscript) and isinstance(node.elt.value, ast.Name) and not self._has_frames(each.iter):
            reel = self._reels.get(node.elt.value.id)  # [frames[i] for i in indices]
        made, plain = self._kind(node.elt), all(map(self._asks_alone, each.ifs))
        self._kinds = before
        if reel is None or not made or not plain or reel.made is not None and isinstance(node.elt, ast.Call):
            return None
        return reel._replace(kind=made)

    def _has_frames(self, node: ast.AST) -> bool:
        return any(isinstance(one, ast.Name) and (one.id in self._reels or one.id in self._kinds) or isinstance(one, ast.expr) and (self._source(one) is not None or self._is_read(one)) for one in ast.walk(node))

    def _asks_alone(self, node: ast.AST) -> bool:
        """Whether it asks of frames no more than when they are and how many a list has."""
        if isinstance(node, ast.Name):
            return node.id not in self._kinds and node.id not in self._reels
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in self._kinds:
            return self._kinds[node.value.id] == containers.FRAME and node.attr in _OF_FRAMES
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1 and isinstance(node.args[0], ast.Name) and node.args[0].id in self._reels:
            return True
        return not (isinstance(node, ast.expr) and (self._source(node) is not None or self._is_read(node))) and all(map(self._asks_alone, ast.iter_child_nodes(node)))

    def _moves(self, step: ast.stmt) -> bool:
        """Whether a statement moves frames in their lists alone, such as while len(frames) < n: frames.append(frames[-1])."""
        if isinstance(step, (ast.While, ast.If)):
            return self._asks_alone(step.test) and all(map(self._moves, [*step.body, *step.orelse]))
        if (put := _appended(step)) is not None and put[0] in self._reels:
            return self._kind(put[1]) == self._reels[put[0]].kind and (not isinstance(put[1], ast.Subscript) or isinstance(put[1].value, ast.Name) and self._reels[put[1].value.id] == self._reels[put[0]])
        return self._asks_alone(step)

    # ---- what is read

    def _named_frames(self, step: Any) -> list[ast.stmt]:
        """The statements that name the frames of lists that one makes pictures of, which have them then."""
        if not self._containers:
            return []
        hoisted = self._hoist(step)
        asked = [one.args[0] for one in ast.walk(step) if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id == "len" and len(one.args) == 1]
        names = sorted({one.id for one in ast.walk(step) if isinstance(one, ast.Name) and one.id in self._reels and one not in asked})
        for name in names:
            kind, container, made = self._reels.pop(name)
            shown = films.told(self._containers[container], len(self._told))
            self._told.append(ast.copy_location(ast.Call(ast.Attribute(ast.Name(container, ast.Load()), seen.NUMBERS, ast.Load()), [ast.Name(name, ast.Load()), ast.Constant(kind)], []), step))
            array = kind in (containers.ARRAY, captures.BGR)
            one = Picture(shown.film.file, "BGR" if kind == captures.BGR else "RGB", array, film=shown, axes="HWC" if array else "", each="one")
            self._names[name] = [films.Taken(shown, frame=True) if kind == containers.FRAME else one]
            if made is not None:
                each = ast.ListComp(made, [ast.comprehension(ast.Name(_FRAME, ast.Store()), ast.Name(name, ast.Load()), [], 0)])
                self._names[name] = self._made(ast.fix_missing_locations(ast.copy_location(each, step)))
        return [*hoisted, *(self._opened_by(step) if names else [])]

    def _hoist(self, step: Any) -> list[ast.stmt]:
        """Frames that a comprehension takes of a container itself get a list of their own."""
        hoisted: list[ast.stmt] = []
        for one in list(ast.walk(step)):
            if isinstance(one, (ast.ListComp, ast.Subscript)) and (reel := self._reel(one)) is not None:  # np.stack([frames[i] for i in indices]), frames[:8]
                name = f"_spdl_frames{len(self._told)}_{len(hoisted)}"
                Put(one, ast.Name(name, ast.Load())).visit(step)
                hoisted.append(ast.fix_missing_locations(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], one), step)))
                self._reels[name] = reel
                continue
            each = one.generators[0] if isinstance(one, (ast.ListComp, ast.GeneratorExp)) and len(one.generators) == 1 else None
            if each is None or (of := self._source(each.iter)) is None:
                continue
            target = each.target.elts[1] if isinstance(each.target, ast.Tuple) and len(each.target.elts) == 2 else each.target
            if not isinstance(target, ast.Name):
                continue
            name, frame = f"_spdl_frames{len(self._told)}_{len(hoisted)}", target.id
            many = ast.ListComp(ast.Name(frame, ast.Load()), [ast.comprehension(each.target, each.iter, each.ifs, 0)])
            hoisted.append(ast.fix_missing_locations(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], many), step)))
            self._reels[name] = Reel(containers.FRAME, of)
            each.target, each.iter, each.ifs = ast.copy_location(ast.Name(frame, ast.Store()), one), ast.copy_location(ast.Name(name, ast.Load()), one), []
        return hoisted


_WANT = f"want a loop over container.decode(video=0), or with capture.read(), that puts frames, frame.to_ndarray(format=\"rgb24\") or frame.to_image() into lists, and what is made of these behind it ({seen.PAGE}); {clips.EACH}"


def _appended(step: ast.stmt) -> Optional[tuple[str, ast.expr]]:
    """The name of a list and what is put at its end; None: it is something else."""
    call = step.value if isinstance(step, ast.Expr) and isinstance(step.value, ast.Call) else None
    if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr != "append" or not isinstance(call.func.value, ast.Name) or len(call.args) != 1 or call.keywords:
        return None
    return call.func.value.id, call.args[0]
