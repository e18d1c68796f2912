"""What a function of one's own does with PyAV's containers: loops over frames and lists of them, which run, and what is made of these, which is read."""

from __future__ import annotations

import ast
from typing import Any, Optional

from . import clips, containers, films, readers, seen
from .opened import Put, Readers
from .picture import Picture

_OF_FRAMES = ("pts", "time", "time_base", "width", "height")


class Loops(Readers):
    """Of a reader of statements, that of containers."""

    _lists: set[str]

    def _begin_loops(self) -> None:
        self._containers: dict[str, int] = {}  # their names, and the numbers of their files
        self._kinds: dict[str, str] = {}  # names of frames, and of what is made of these, where a loop has them
        self._reels: dict[str, tuple[str, str]] = {}  # lists of them: what of, and whose container's

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

    def _is_av(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and containers.is_open(self._known(node.func))

    def _contains(self, target: ast.Name, call: ast.expr, step: ast.stmt) -> list[ast.stmt]:
        assert isinstance(call, ast.Call)
        if target.id not in self._once or len(call.args) != 1 or call.keywords or self._mentions(call.args[0]):
            self._refuse(call, repr(ast.unparse(step).partition("\n")[0][:80]), "want container = av.open(path), of a name that is given to one container alone")
        self._containers[target.id] = len(self._paths)
        self._paths.append(ast.copy_location(ast.Attribute(ast.Name(target.id, ast.Load()), "path", ast.Load()), step))
        opens = ast.Call(ast.Name(containers.OPENS, ast.Load()), [call.func, *call.args], [])
        return [ast.copy_location(ast.Assign([ast.Name(target.id, ast.Store())], opens), step), *self._opened_by(step)]

    # ---- what runs

    def _looped(self, step: ast.stmt) -> Optional[list[ast.stmt]]:
        """What is left of a statement on frames of a container, where it makes no picture of one; None: it does, or is on none."""
        if not self._containers or not self._has_frames(step):
            return None
        if isinstance(step, ast.For) and not step.orelse and (loop := self._source(step.iter)) is not None:
            return self._loop(step, loop)
        if isinstance(step, ast.Assign) and len(step.targets) == 1 and isinstance(target := step.targets[0], ast.Name) and (reel := self._reel(step.value)) is not None:
            self._reels[target.id] = reel
            return [step]
        if self._moves(step):
            return [step]
        return None

    def _loop(self, step: ast.For, container: str) -> Optional[list[ast.stmt]]:
        """A loop over frames that puts some into lists."""
        frame = self._loop_name(step)
        before = dict(self._kinds)
        self._kinds[frame] = containers.FRAME
        late: list[tuple[str, ast.expr]] = []
        body = [self._in_loop(one, container, frame, late) for one in step.body]
        self._kinds = before
        kept: list[ast.stmt] = [ast.copy_location(ast.For(step.target, step.iter, body, [], None), step)]
        for name, made in late:  # transforms of each frame, behind the loop
            each = ast.ListComp(made, [ast.comprehension(ast.Name(frame, ast.Store()), ast.Name(name, ast.Load()), [], 0)])
            kept += self._step(ast.fix_missing_locations(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], each), step)))
        return kept

    def _loop_name(self, step: ast.For) -> str:
        target = step.target.elts[1] if isinstance(step.target, ast.Tuple) and len(step.target.elts) == 2 else step.target
        return target.id if isinstance(target, ast.Name) else self._refuse(step, repr(ast.unparse(step).partition("\n")[0][:80]), _WANT)

    def _in_loop(self, step: Any, container: str, frame: str, late: list[tuple[str, ast.expr]]) -> Any:
        """A statement of a loop over frames, as it runs."""
        if isinstance(step, ast.If):
            step.body, step.orelse = [[self._in_loop(one, container, frame, late) for one in body] for body in (step.body, step.orelse)]
            return step if self._asks_alone(step.test) else self._refuse(step, repr(ast.unparse(step.test)[:80]), _WANT)
        if isinstance(step, ast.Assign) and len(step.targets) == 1 and isinstance(target := step.targets[0], ast.Name) and (kind := self._kind(step.value)):
            if target.id not in self._once and target.id != frame:
                self._refuse(step, repr(ast.unparse(step)[:80]), _WANT)
            self._kinds[target.id] = kind
            return step
        if (put := _appended(step)) is not None and (put[0] in self._lists or put[0] in self._reels):
            name, value = put
            if kind := self._kind(value):
                if self._reels.get(name, (kind, container)) != (kind, container):
                    self._refuse(step, repr(ast.unparse(step)[:80]), _WANT)
                self._reels[name] = kind, container
                self._lists.discard(name)
                return step
            made = [(one, self._kinds[one.id]) for one in ast.walk(value) if isinstance(one, ast.Name) and one.id in self._kinds]
            if len(made) == 1 and name in self._lists and not late:  # frames.append(transform(frame.to_image()))
                self._reels[name] = made[0][1], container
                self._lists.discard(name)
                late.append((name, Put(made[0][0], ast.Name(frame, ast.Load())).visit(value)))
                return ast.copy_location(ast.Expr(ast.Call(ast.Attribute(ast.Name(name, ast.Load()), "append", ast.Load()), [ast.Name(made[0][0].id, ast.Load())], [])), step)
        return step if self._asks_alone(step) and not self._mentions_pictures(step) else self._refuse(step, repr(ast.unparse(step)[:80]), _WANT)

    def _mentions_pictures(self, step: ast.AST) -> bool:
        return any(isinstance(one, ast.Name) and isinstance(self._names.get(one.id), (Picture, list)) for one in ast.walk(step))

    def _kind(self, node: ast.expr) -> str:
        """What an expression is of a frame; "": it is something else."""
        if isinstance(node, ast.Name):
            return self._kinds.get(node.id, "")
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and not isinstance(node.slice, ast.Slice):
            return self._reels.get(node.value.id, ("", ""))[0] if not self._has_frames(node.slice) else ""
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
        return node.func.value.id if is_decode and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id in self._containers else None

    def _reel(self, node: ast.expr) -> Optional[tuple[str, str]]:
        """What a list has of frames, and whose; None: it is another."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "list" and len(node.args) == 1:
            of = self._source(node.args[0])
            return (containers.FRAME, of) if of is not None and not ast.unparse(node.args[0]).startswith("enumerate(") else None
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and isinstance(node.value, ast.Name) and not self._has_frames(node.slice):
            return self._reels.get(node.value.id)
        if not isinstance(node, ast.ListComp) or len(node.generators) != 1:
            return None
        each, before = node.generators[0], dict(self._kinds)
        of, kind = self._source(each.iter), containers.FRAME
        if of is None and isinstance(each.iter, ast.Name) and each.iter.id in self._reels:
            kind, of = self._reels[each.iter.id]
        target = each.target.elts[1] if isinstance(each.target, ast.Tuple) and len(each.target.elts) == 2 else each.target
        if of is not None and isinstance(target, ast.Name):
            self._kinds[target.id] = kind
        elif of is None and isinstance(node.elt, ast.Subscript) and isinstance(node.elt.value, ast.Name) and node.elt.value.id in self._reels and not self._has_frames(each.iter):
            of = self._reels[node.elt.value.id][1]  # [frames[i] for i in indices]
        made, plain = self._kind(node.elt), all(map(self._asks_alone, each.ifs))
        self._kinds = before
        return (made, of) if of is not None and made and plain else None

    def _has_frames(self, node: ast.AST) -> bool:
        return any(isinstance(one, ast.Name) and (one.id in self._reels or one.id in self._kinds) or isinstance(one, ast.expr) and self._source(one) is not None for one in ast.walk(node))

    def _asks_alone(self, node: ast.AST) -> bool:
        """Whether it asks of frames no more than when they are and how many a list has."""
        if isinstance(node, ast.Name):
            return node.id not in self._kinds and node.id not in self._reels
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in self._kinds:
            return self._kinds[node.value.id] == containers.FRAME and node.attr in _OF_FRAMES
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1 and isinstance(node.args[0], ast.Name) and node.args[0].id in self._reels:
            return True
        return not (isinstance(node, ast.expr) and self._source(node) is not None) and all(map(self._asks_alone, ast.iter_child_nodes(node)))

    def _moves(self, step: ast.stmt) -> bool:
        """Whether a statement moves frames in their lists alone, such as while len(frames) < n: frames.append(frames[-1])."""
        if isinstance(step, (ast.While, ast.If)):
            return self._asks_alone(step.test) and all(map(self._moves, [*step.body, *step.orelse]))
        if (put := _appended(step)) is not None and put[0] in self._reels:
            return self._kind(put[1]) == self._reels[put[0]][0]
        return self._asks_alone(step)

    # ---- what is read

    def _named_frames(self, step: Any) -> list[ast.stmt]:
        """The statements that name the frames of lists that one makes pictures of, which have them then."""
        if not self._containers:
            return []
        hoisted = self._hoist(step)
        names = sorted({one.id for one in ast.walk(step) if isinstance(one, ast.Name) and one.id in self._reels}) if self._reels else []
        for name in names:
            kind, container = self._reels.pop(name)
            shown = films.told(self._containers[container], len(self._told))
            self._told.append(ast.copy_location(ast.Call(ast.Attribute(ast.Name(container, ast.Load()), seen.NUMBERS, ast.Load()), [ast.Name(name, ast.Load()), ast.Constant(kind)], []), step))
            one = Picture(shown.film.file, "RGB", kind == containers.ARRAY, film=shown, axes="HWC" if kind == containers.ARRAY else "", each="one")
            self._names[name] = [films.Taken(shown, frame=True) if kind == containers.FRAME else one]
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
            self._reels[name] = containers.FRAME, of
            each.target, each.iter, each.ifs = ast.copy_location(ast.Name(frame, ast.Store()), one), ast.copy_location(ast.Name(name, ast.Load()), one), []
        return hoisted


_WANT = f"want a loop over container.decode(video=0) that puts frames, frame.to_ndarray(format=\"rgb24\") or frame.to_image() into lists, and what is made of these behind it ({seen.PAGE}); {clips.EACH}"


def _appended(step: ast.stmt) -> Optional[tuple[str, ast.expr]]:
    """The name of a list and what is put at its end; None: it is something else."""
    call = step.value if isinstance(step, ast.Expr) and isinstance(step.value, ast.Call) else None
    if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr != "append" or not isinstance(call.func.value, ast.Name) or len(call.args) != 1 or call.keywords:
        return None
    return call.func.value.id, call.args[0]
