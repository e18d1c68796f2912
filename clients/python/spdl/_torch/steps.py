"""What functions of one's own do with pictures, statement by statement: transforms that are called, one after the other, several of one picture, and what is made of these."""

from __future__ import annotations

import ast
import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FunctionType, MethodType
from typing import Any, NoReturn, Optional, Union

from . import after, clips, films, functions, heard, libraries, texts
from .annotated import Unknown
from .counts import Rate
from .heard import has_sound, is_heard
from .filming import Filming
from .kept import Stacked, View
from .picture import Made, OfMask, Picture, Stack
from .sounds import Sound
from .texts import NOTHING

LIBRARIES = ("torch", "torchvision", "numpy", "PIL", "cv2", "pandas", "albumentations", "timm", "transformers", "os", "posixpath", *heard.LIBRARIES)  # whose functions are told by their names
WANT = ("want what a transform of its own does with a picture to be calls of transforms that have operations here (docs/equivalents.md), and it to return what they make, one picture, or several in a "
        "tuple, a list or a dict")
_FILTERS = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")  # by Pillow's numbers
_OF_OPENCV = ("cv2_nearest", "cv2_linear", "cv2_cubic", "cv2_area", "cv2_lanczos4")  # by OpenCV's
_SEEDS = ("manual_seed", "seed", "set_rng_state", "setstate", "set_state")
_FUNCTIONS = {"to_tensor": "ToTensor", "pil_to_tensor": "PILToTensor", "resize": "Resize", "center_crop": "CenterCrop", "normalize": "Normalize"}  # of torchvision's, and the classes of the same
_RETURNED = "_spdl_returned"  # the name of what a function returns, where it does so in several places
_MOST = 64  # turns of a loop, and pictures in a list
_calls = itertools.count()


class Steps(Filming):
    """Goes through the statements of a function: those that have to do with pictures are read, the others are kept."""

    WANT = WANT

    def __init__(self, function: FunctionType, own: texts.Definition, own_self: Any, within: tuple[FunctionType, ...]) -> None:
        super().__init__(function, own)
        self._object, self._self, self._within = own_self, "", (*within, function)  # what its first argument is, and what that is called; "": it has none
        self._names: dict[str, Made] = {}  # that pictures have
        self._bound: dict[str, Any] = {}  # names of known objects
        self._lists: set[str] = set()  # names of empty lists
        self._changed = {one.attr for one in ast.walk(own) if isinstance(one, ast.Attribute) and not isinstance(one.ctx, ast.Load)}  # attributes that are others in each call
        self._last: Optional[ast.Return] = None
        self._begin_hearing()

    def _refuse_sound(self, node: ast.AST, want: str = "") -> NoReturn:
        usual = self._wanted()
        raise heard.Unheard(f"{self._place(node)}: got {ast.unparse(node)[:80]!r}, {want or (heard.WANT if usual == self.WANT else usual)}")

    def _refuse(self, node: ast.AST, what: str, want: str = "") -> NoReturn:
        raise Unknown(f"{self._place(node)}: got {what}, {want or self._wanted()}")

    def _wanted(self) -> str:
        """What is wanted, of what is in hand."""
        in_hand = self._names.values()
        if any(isinstance(one, films.Taken) or isinstance(one, Picture) and one.film is not None and one.film.told >= 0 for many in in_hand for one in (many if isinstance(many, list) else [many])):
            return clips.WANT
        if any(isinstance(one, films.KINDS) or isinstance(one, Picture) and one.film is not None for one in in_hand):
            return films.WANT
        return heard.WANT if any(map(is_heard, in_hand)) else self.WANT

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
        if (heard := self._heard_step(step)) is not None:
            return heard
        if (putting := after.put(step)) is not None and isinstance(one := self._names.get(putting[0]), Picture):
            self._names[putting[0]] = self._then(one, putting[1], step)
            return []
        if isinstance(step, ast.Assign) and len(step.targets) == 1 and self._assigned(step.targets[0], step.value):
            return self._opened_by(step)
        if isinstance(step, ast.Assign) and isinstance(step.value, ast.List) and not step.value.elts and [type(one) for one in step.targets] == [ast.Name]:
            self._lists.add(ast.unparse(step.targets[0]))
            return [step]
        if isinstance(step, ast.AugAssign) and isinstance(step.target, ast.Name) and isinstance(self._names.get(step.target.id), Picture):  # image /= 255
            of = ast.copy_location(ast.BinOp(ast.Name(step.target.id, ast.Load()), step.op, step.value), step)
            if not self._is_of_pictures(of):
                self._other(step)
            self._names[step.target.id] = self._made(of)
            return []
        if (grown := self._grown(step)) is not None:
            name, values = grown
            self._names[name] = [*self._names.get(name, []), *values]
            return self._opened_by(step)
        if isinstance(step, ast.For) and self._mentions(step) and not step.orelse and not any(isinstance(one, (ast.Break, ast.Continue, ast.Return)) for one in ast.walk(step)):
            return [one for _ in self._turns(step.target, step.iter) for one in self._steps(step.body)]
        if isinstance(step, ast.Assert) and self._mentions(step) and self._holds(step.test):
            return []
        if isinstance(step, ast.If) and not step.orelse and any(ast.unparse(step.test) == f"{name}.mode != 'RGB'" for name, one in self._names.items() if isinstance(one, Picture) and one == Picture(one.file)):
            return self._steps(step.body)  # which convert it
        if isinstance(step, ast.If) and self._mentions(step):
            return self._steps(step.body if self._holds(step.test) else step.orelse)
        if self._mentions(step) or any(isinstance(one, (ast.Return, ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal)) for one in ast.walk(step)):
            self._other(step)
        self._check_seeds(step)
        self._lists -= {one.id for one in ast.walk(step) if isinstance(one, ast.Name)}
        return [step]

    def _check_seeds(self, step: ast.stmt) -> None:
        """Refuse what makes two transforms draw the same, by a seed in front of each."""
        for one in ast.walk(step):
            if isinstance(one, ast.Call):
                function = self._known(one.func)
                names = (ast.unparse(one.func).rpartition(".")[2], *getattr(getattr(function, "__code__", None), "co_names", ()))
                if any(name in _SEEDS for name in names) and not (isinstance(function, FunctionType) and function.__module__.partition(".")[0] in LIBRARIES and names[0] not in _SEEDS):
                    self._refuse(one, f"{ast.unparse(one)[:80]!r}, a seed for what is drawn, of which the engine has one of its own", "want one transform that takes both pictures, such as albumentations' transform(image=image, mask=mask): these have the same draws")

    def _assigned(self, target: ast.expr, value: ast.expr) -> bool:
        """Whether names are given to pictures, which have them then."""
        names = [target] if isinstance(target, ast.Name) else target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
        if not names or not all(isinstance(one, ast.Name) for one in names) or not self._is_of_pictures(value):
            return False
        made = self._made(value)
        if not isinstance(target, ast.Name) and not (isinstance(made, (tuple, list)) and len(made) == len(names)):
            self._other(value)
        self._names.update(zip([ast.unparse(one) for one in names], [made] if isinstance(target, ast.Name) else made))
        return True

    def _grown(self, step: ast.stmt) -> Optional[tuple[str, Sequence[Made]]]:
        """The name of a list that pictures are put into, and these."""
        call = step.value if isinstance(step, ast.Expr) else None
        if isinstance(step, ast.AugAssign) and isinstance(step.op, ast.Add):
            target: ast.expr = step.target
            how, value = "extend", step.value
        elif isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and len(call.args) == 1 and not call.keywords:
            target, how, value = call.func.value, call.func.attr, call.args[0]
        else:
            return None
        if not isinstance(target, ast.Name) or target.id not in self._lists and not isinstance(self._names.get(target.id), list) or how not in ("append", "extend") or not self._is_of_pictures(value):
            return None
        made = self._made(value)
        self._lists.discard(target.id)
        if how == "extend" and not isinstance(made, (tuple, list)):
            self._other(step)
        return target.id, made if how == "extend" else [made]

    def _opened_by(self, step: ast.stmt) -> list[ast.stmt]:
        """What stands in the place of a statement that has opened a picture."""
        return []

    def _turns(self, target: ast.expr, of: ast.expr) -> Iterator[None]:
        """The turns of a loop over what is known, or over pictures."""
        if not isinstance(target, ast.Name):
            self._other(target)
        of_pictures = self._is_of_pictures(of)
        made = self._made(of) if of_pictures else self._items(of)
        items = self._by_itself(made, of) if isinstance(made, Picture) and made.film is not None else list(made)
        if len(items) > _MOST:
            self._refuse(of, f"{len(items)} turns of {ast.unparse(of)[:60]!r}", f"want {_MOST} at most")
        for one in items:
            with self._is_called(target.id, one, of_pictures):
                yield

    @contextmanager
    def _is_called(self, name: str, one: Any, picture: bool) -> Iterator[None]:
        before = self._names.pop(name, NOTHING), self._bound.pop(name, NOTHING)
        (self._names if picture else self._bound)[name] = one
        yield
        for names, old in zip((self._names, self._bound), before):
            names.pop(name, None)
            if old is not NOTHING:
                names[name] = old

    def _items(self, node: ast.expr) -> Iterable[Any]:
        """What a loop goes over: range(N), or transforms."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range" and self._known(node.func) is NOTHING and len(node.args) == 1 and not node.keywords:
            count = self._certain(node.args[0])
            if isinstance(count, int):
                return range(count)
        if isinstance(node, (ast.List, ast.Tuple)):
            return [self._certain(one) for one in node.elts]
        of = self._certain(node)
        if isinstance(of, Mapping) or not hasattr(of, "__len__") or not hasattr(of, "__iter__"):
            self._other(node)
        return list(of)

    def _holds(self, test: ast.expr) -> bool:
        """What a condition on what is known says."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return not self._holds(test.operand)
        if isinstance(test, ast.BoolOp):
            return (all if isinstance(test.op, ast.And) else any)([self._holds(one) for one in test.values])
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            by, other = test.ops[0], test.comparators[0]
            if isinstance(by, (ast.Is, ast.IsNot)) and isinstance(other, ast.Constant) and other.value is None:
                is_none = not isinstance(test.left, ast.Name) or test.left.id not in self._names  # a picture, which the engine tells where it is none, is not
                return (is_none and self._certain(test.left) is None) == isinstance(by, ast.Is)
            left, right = self._known(test.left), [self._known(one) for one in (other.elts if isinstance(other, (ast.List, ast.Tuple)) else [other])]
            if not all(isinstance(one, (str, int, float, type(None))) for one in (left, *right)):
                self._other(test)
            if isinstance(by, (ast.Eq, ast.NotEq)) and not isinstance(other, (ast.List, ast.Tuple)):
                return (left == right[0]) == isinstance(by, ast.Eq)
            if isinstance(by, (ast.In, ast.NotIn)) and isinstance(other, (ast.List, ast.Tuple)):
                return (left in right) == isinstance(by, ast.In)
        try:
            return bool(self._certain(test))
        except (TypeError, ValueError):  # of an array
            return self._other(test)

    # ---- expressions

    def _mentions(self, node: ast.AST) -> bool:
        return any(isinstance(one, ast.Name) and one.id in self._names and not isinstance(self._names[one.id], Rate) or self._is_open(one) for one in ast.walk(node))

    def _is_open(self, node: ast.AST) -> bool:
        """Whether it opens a picture."""
        return False

    def _is_of_pictures(self, node: ast.expr) -> bool:
        """Whether an expression is of pictures or sounds, and not merely has them in it somewhere."""
        while not isinstance(node := self._spelled_out(node), ast.Name):
            if (heard := self._heard(node)) is not NOTHING:
                return has_sound(heard) or isinstance(heard, Picture)
            if self._is_open(node):
                return True
            if isinstance(node, ast.IfExp):
                node = node.body
            elif (numbers := after.inner(node, self._known)) is not None:
                node = numbers
            elif isinstance(node, (ast.List, ast.Tuple)):
                return bool(node.elts) and all(map(self._is_of_pictures, node.elts))
            elif isinstance(node, (ast.ListComp, ast.GeneratorExp)):
                return self._mentions(node.elt) or self._is_of_pictures(node.generators[0].iter)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("convert", "resize", "copy", "numpy", "clone") and not self._is_known(node.func):
                node = node.func.value
            elif isinstance(node, ast.Call) and node.args and (self._is(node.func, "cv2", "cvtColor", "resize") or self._is(node.func, "torch", "stack") or self._is(node.func, "numpy", "stack") or self._is_own(node)):
                node = node.args[0]
            elif isinstance(node, ast.Call) and len(node.args) + len(node.keywords) == 1:
                node = (node.args or [node.keywords[0].value])[0]
            elif isinstance(node, ast.Call) and node.args and self._class_of(node):
                node = node.args[0]
            elif isinstance(node, ast.Call) and len(node.args) == 2 and not node.keywords and self._mentions(node.args[1]):
                if not self._is_of_pictures(node.args[1]):
                    return False
                node = node.args[0]
            elif isinstance(node, ast.Call) and (both := _both(node)) is not None:
                if not self._is_of_pictures(both[1]):
                    return False
                node = both[0]
            elif isinstance(node, ast.Subscript):
                node = node.value
            else:
                return False
        return node.id in self._names and (has_sound(self._names[node.id]) or _is_made(self._names[node.id]) and not is_heard(self._names[node.id]))

    def _is_own(self, node: ast.Call) -> bool:
        """Whether a function, or an object, of the program's own is called, with arguments that are known but for the first."""
        return code_of(self._known(node.func)) is not None and all(self._is_known(one) for one in (*node.args[1:], *[keyword.value for keyword in node.keywords]))

    def _is_known(self, node: ast.expr) -> bool:
        return self._known(node) is not NOTHING

    def _one(self, node: ast.expr) -> Picture:
        made = self._made(node)
        return made if isinstance(made, Picture) else self._other(node)

    def _spelled_out(self, node: ast.expr) -> ast.expr:
        """map(lambda one: ..., many) as a list of these."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != "map" or self._is_known(node.func) or len(node.args) != 2 or not isinstance(one := node.args[0], ast.Lambda):
            return node
        target = ast.Name(one.args.args[0].arg, ast.Store()) if len(one.args.args) == 1 else self._other(node)
        return ast.copy_location(ast.ListComp(one.body, [ast.comprehension(target, node.args[1], [], 0)]), node)

    def _made(self, node: ast.expr) -> Made:
        node = self._spelled_out(node)
        if (heard := self._heard(node)) is not NOTHING:
            return heard
        if isinstance(node, ast.Name) and _is_made(self._names.get(node.id)):
            return self._names[node.id]
        if isinstance(node, ast.IfExp):
            return self._made(node.body if self._holds(node.test) else node.orelse)
        if isinstance(node, (ast.List, ast.Tuple)):
            several = [self._made(one) for one in node.elts]
            return several if isinstance(node, ast.List) else tuple(several)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            if len(node.generators) > 1 or node.generators[0].ifs or node.generators[0].is_async:
                self._other(node)
            return [self._made(node.elt) for _ in self._turns(node.generators[0].target, node.generators[0].iter)]
        if (rearranged := self._rearranged(node)) is not None:
            return rearranged
        if (numbers := after.inner(node, self._known)) is not None and not self._is_plain(node):
            return self._done(node, numbers)
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        return self._called(node) if isinstance(node, ast.Call) else self._other(node)

    def _subscript(self, node: ast.Subscript) -> Made:
        of = self._made(node.value)
        if isinstance(of, Picture):
            if ast.unparse(node.slice).strip("()") in ("..., ::-1", ":, :, :, ::-1" if of.axes == "THWC" else ":, :, ::-1"):
                return self._rgb(of, node)
            self._other(node)
        key = node.slice.value if isinstance(node.slice, ast.Constant) else self._certain(node.slice)
        try:
            return of[key]
        except (LookupError, TypeError):
            return self._other(node)

    def _called(self, node: ast.Call) -> Made:
        if self._is_open(node):
            return self._opened(node)
        function = self._known(node.func)
        if isinstance(node.func, ast.Attribute) and function is NOTHING and self._is_of_pictures(node.func.value):
            return self._method(node, node.func)
        if self._is(node.func, "cv2", "cvtColor") and len(node.args) == 2 and self._is(node.args[1], "cv2", "COLOR_BGR2RGB"):
            return self._rgb(self._one(node.args[0]), node)
        if self._is(node.func, "cv2", "resize") and node.args:
            return self._resized(node, self._one(node.args[0]))
        if isinstance(node.func, ast.Name) and node.func.id in ("tuple", "list") and function is NOTHING and len(node.args) == 1 and not node.keywords:
            several = self._made(node.args[0])
            several = self._by_itself(several, node) if isinstance(several, Picture) and several.film is not None else several  # list(frames)
            return (tuple if node.func.id == "tuple" else list)(several) if isinstance(several, (tuple, list)) else self._other(node)
        if (both := _both(node)) is not None and _is_albumentations(function):
            return self._together(node, both, function)
        if node.args and (name := self._class_of(node)):
            return self._by_its_class(node, name)
        if (stacked := self._stacked(node)) is not None:
            return stacked
        if self._is(node.func, "torch", "stack") and [self._known(one) for one in (*node.args[1:], *[one.value for one in node.keywords])] in ([], [0]):
            several = self._made(node.args[0])
            if not isinstance(several, (list, tuple)) or not several or not all(isinstance(one, Picture) and one.transforms for one in several):
                self._other(node)
            return Stack(tuple(several))
        if self._is(node.func, "torchvision.tv_tensors", "Mask") and len(node.args) == 1 and not node.keywords:
            one = self._one(node.args[0])
            return one._replace(mask=True) if one.mode in ("", "L", "gray") and not one.after and not one.mask and all(isinstance(each, Mapping) for each in one.transforms) else self._other(node)
        if len(node.args) == 2 and not node.keywords and function is not NOTHING and self._mentions(node.args[1]):
            return self._with_its_mask(node, function)
        if function is NOTHING or not node.args and len(node.keywords) != 1:
            self._other(node)
        made = self._made(node.args[0] if node.args else node.keywords[0].value)
        if isinstance(made, Picture) and made.mode == "BGR":
            self._refuse(node, f"{ast.unparse(node)[:80]!r} of a picture whose blue comes first", "want image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB) behind cv2.imread: rows are RGB")
        if node.args and (through := self._through(node, function, made)) is not NOTHING:
            return through
        of_numpy = self._is(node.func, "numpy", "array", "asarray")
        one = self._ready(made, node) if isinstance(made, Picture) and (len(node.args) + len(node.keywords) == 1 or of_numpy) else self._other(node)
        if node.args and all(isinstance(each, Mapping) for each in one.transforms) and of_numpy:
            return one._replace(array=True)
        if one.after or one.mask or of_numpy:
            self._other(node)
        if node.args and one.array and self._is(node.func, "PIL.Image", "fromarray"):
            return one._replace(array=False)
        if node.args and not one.array and callable(function):
            return self._transformed(one, function)
        if node.args and one.array and (takes := _of_arrays(function)) is not None:
            return self._transformed(one._replace(array=False), takes)
        if not node.args and node.keywords[0].arg == "image" and one.array and _is_albumentations(function):
            return {"image": self._transformed(one._replace(array=False), function)}
        return self._other(node)

    def _is_plain(self, node: ast.expr) -> bool:
        """np.array(image), also with the type that it has anyway."""
        if not isinstance(node, ast.Call) or not self._is(node.func, "numpy", "array", "asarray"):
            return False
        types = [*node.args[1:], *[one.value for one in node.keywords]]
        return all(self._is(one, "numpy", "uint8") for one in types) and all(one.arg == "dtype" for one in node.keywords)

    def _opened(self, node: ast.Call) -> Picture:
        raise NotImplementedError

    def _class_of(self, node: ast.Call) -> str:
        """The class of torchvision's that does what a function of its does with known arguments; "": there is none."""
        function = self._known(node.func)
        name = _FUNCTIONS.get(str(getattr(function, "__name__", "")), "")
        return name if str(getattr(function, "__module__", "")).startswith("torchvision.transforms.") else ""

    def _by_its_class(self, node: ast.Call, name: str) -> Picture:
        """TF.resize(image, (32, 32)) as Resize((32, 32))(image)."""
        args, named = [self._certain(one) for one in node.args[1:]], {str(one.arg): self._certain(one.value) for one in node.keywords}
        home = "torchvision.transforms.v2" if ".v2." in self._known(node.func).__module__ else "torchvision.transforms"
        one = self._ready(self._one(node.args[0]), node)
        if one.array or one.after or one.mask:
            self._other(node)
        try:
            return self._transformed(one, getattr(sys.modules[home], name)(*args, **named))
        except (KeyError, TypeError, ValueError):
            return self._other(node)

    def _together(self, node: ast.Call, both: tuple[ast.expr, ast.expr], transform: Any) -> Made:
        """A picture and its mask, which go through the same draws."""
        image, mask = map(self._one, both)
        if not image.array or not mask.array or image.after or image.mode not in ("", "RGB", "L") or mask.mode not in ("", "L", "gray"):
            self._other(node)
        image = self._transformed(image._replace(array=False), transform)
        mask = mask._replace(array=False, transforms=(*mask.transforms, transform), calls=(*mask.calls, image.calls[-1]), mask=True)
        return {"image": image, "mask": mask}

    def _with_its_mask(self, node: ast.Call, transform: Any) -> Made:
        """transform(image, mask) of torchvision's v2, whose mask is a tv_tensors.Mask."""
        image, mask = map(self._one, node.args)
        if not libraries.derives(transform, "torchvision.transforms.v2", type(transform).__qualname__) or image.array or image.after or image.mask or not mask.mask or any(isinstance(each, OfMask) for each in mask.transforms):
            self._other(node)
        image = self._transformed(image, transform)
        return image, mask._replace(array=False, transforms=(*mask.transforms, OfMask(transform, mask.array)), calls=(*mask.calls, image.calls[-1]))

    def _done(self, node: ast.expr, numbers: ast.expr) -> Picture:
        """What is done to the numbers of an array or a tensor."""
        one, library = self._one(numbers), str(getattr(self._known(node.func) if isinstance(node, ast.Call) else None, "__module__", "")).partition(".")[0]
        if library == "numpy" and all(isinstance(each, Mapping) for each in one.transforms):
            one = one._replace(array=True)
        scaled = clips.scaled(one.scaled, bool(one.after), one.array, node, self._known) if one.axes else ""
        return self._then(one._replace(array=one.array and library != "torch", scaled=scaled), after.each(node, self._known, self._other), node)

    def _then(self, one: Picture, each: after.Each, node: ast.AST) -> Picture:
        if not one.transforms and not one.array and not one.after and not one.axes:
            self._other(node)
        begins = ((0, sys.modules["torch"].from_numpy),) if one.axes and not one.array and not one.after else ()  # rows are arrays where what is done to them begins
        return one._replace(after=(*one.after, *begins, (len(one.transforms), each)))

    def _transformed(self, one: Picture, transform: Any) -> Picture:
        return one._replace(transforms=(*one.transforms, transform), calls=(*one.calls, next(_calls)))

    def _rgb(self, one: Picture, node: ast.expr) -> Picture:
        its = one.axes in ("", "HWC") or one.axes == "THWC" and isinstance(node, ast.Subscript)
        return one._replace(mode="RGB") if one.mode == "BGR" and not one.after and its else self._other(node)

    def _method(self, node: ast.Call, function: ast.Attribute) -> Picture:
        """Of a picture of Pillow's."""
        one = self._one(function.value)
        if one.array or one.after or one.mode == "tensor" or one.transforms and function.attr == "convert":
            self._other(node)
        arguments = [getattr(each, "value", None) for each in (*node.args, *[keyword.value for keyword in node.keywords])]
        if function.attr == "convert" and arguments in (["RGB"], ["L"]) and one.mode in ("", "pixels", arguments[0]):
            return one._replace(mode=arguments[0])
        if function.attr == "copy" and not arguments:
            return one
        return self._resized(node, one) if function.attr == "resize" else self._other(node)

    def _resized(self, node: ast.Call, one: Picture) -> Picture:
        """image.resize((w, h)) of Pillow, and cv2.resize(image, (w, h))."""
        one = self._ready(one, node)
        of_opencv = one.array
        if of_opencv != self._is(node.func, "cv2", "resize") or one.after:
            self._other(node)
        given: dict[Optional[str], ast.expr] = {keyword.arg: keyword.value for keyword in node.keywords}
        given.update({"dsize": one for one in node.args[1:2]} if of_opencv else dict(zip(("size", "resample"), node.args)))
        sides = given.pop("dsize" if of_opencv else "size", ast.Tuple([], ast.Load()))
        by = given.pop("interpolation" if of_opencv else "resample", None)
        size = [self._certain(side) for side in sides.elts] if isinstance(sides, ast.Tuple) else self._certain(sides)
        number = (1 if of_opencv else 3) if by is None else self._certain(by)
        number = getattr(number, "value", number)
        filters = _OF_OPENCV if of_opencv else _FILTERS
        if given or len(node.args) > 2 or not isinstance(size, (list, tuple)) or len(size) != 2 or not all(type(side) is int and side > 0 for side in size) or number not in range(len(filters)) or not one.mode and number != 0:
            self._other(node)
        return self._transformed(one, {"resize": {"size": [size[1], size[0]], "interpolation": filters[number]}})

    def _through(self, node: ast.Call, function: Any, made: Made) -> Any:
        """What a function or an object of the program's own makes of pictures; NOTHING: it does other things with them, or is none of its own."""
        if code_of(function) is None:
            return NOTHING
        more = [self._given(one) for one in node.args[1:]]
        named = {keyword.arg: self._given(keyword.value) for keyword in node.keywords}
        if any(one is NOTHING for one in (*more, *named.values())) or None in named:
            self._other(node)
        if any(functions.does(function, one) for one in (functions.TO_RGB, functions.AROUND_ZERO)):
            return NOTHING
        return through(function, made, more, {str(name): one for name, one in named.items()}, self._within)

    def _given(self, node: ast.expr) -> Any:
        """An argument of a function of the program's own: what is known, or of a sound."""
        number = self._number(node)
        return self._known(node) if number is NOTHING else number

    def _is(self, node: ast.expr, module: str, *names: str) -> bool:
        """Whether it is one of a module's, if that is loaded."""
        one = self._known(node)
        return one is not NOTHING and any(one is getattr(sys.modules.get(module), name, NOTHING) for name in names)

    def _certain(self, node: ast.expr) -> Any:
        value = self._known(node)
        return value if value is not NOTHING else self._other(node)

    def _known(self, node: ast.expr) -> Any:
        """A constant, an object from outside of the function, or an attribute or a member of one or of its first argument."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, (ast.Tuple, ast.List)):
            several = [self._known(one) for one in node.elts]
            return NOTHING if any(one is NOTHING for one in several) else several if isinstance(node, ast.List) else tuple(several)
        if isinstance(node, ast.Attribute):
            of = self._known(node.value)
            try:
                return NOTHING if of is NOTHING or node.attr in self._changed else getattr(of, node.attr, NOTHING)
            except Exception:  # of a property
                return NOTHING
        if isinstance(node, ast.Subscript):
            of, key = self._known(node.value), self._known(node.slice)
            try:
                return of[key] if type(of) in (dict, list, tuple) and key is not NOTHING else NOTHING
            except (LookupError, TypeError):
                return NOTHING
        if not isinstance(node, ast.Name):
            return NOTHING
        code = self._function.__code__
        if node.id in self._bound:
            return self._bound[node.id]
        if node.id == self._self:
            return self._object
        if (node.id in code.co_varnames or node.id in code.co_cellvars) and node.id not in self._imports:
            return NOTHING
        try:
            return self._outside(node.id)
        except (KeyError, ValueError):  # a name of Python's own, and one that has no value yet
            return NOTHING


class _Through(Steps):
    """A transform of one's own."""

    def __init__(self, function: FunctionType, own_self: Any, made: Made, more: Sequence[Any], named: Mapping[str, Any], within: tuple[FunctionType, ...]) -> None:
        try:
            own = texts.parsed(function)
        except texts.Unread as error:
            raise Unknown(f"{error}, {WANT}") from None
        super().__init__(function, own, own_self, within)
        args, defaults = own.args, function.__defaults__ or ()
        names = [one.arg for one in args.args]
        if own_self is not NOTHING and names:
            self._self = names.pop(0)
        if args.vararg or args.kwarg or args.kwonlyargs or args.posonlyargs or not names or len(more) >= len(names) or not set(named) <= set(names[1 + len(more):]):
            self._refuse(own, "other arguments than a picture and what is known")
        self._names[names[0]] = self._made_of = made
        self._bound.update({**dict(zip(names[len(names) - len(defaults):], defaults)), **dict(zip(names[1:], more)), **named})
        self._bound.pop(names[0], None)
        self._names.update({name: self._bound.pop(name) for name in names[1:] if is_heard(self._bound.get(name))})
        assigned = {one.id for one in ast.walk(own) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        if other := next((one for one in names[1:] if one not in self._bound and one not in self._names or one in assigned and one not in self._names), ""):
            self._refuse(own, f"the argument {other!r}, which is not known")

    def made(self) -> Made:
        """What it returns."""
        body: list[ast.stmt] = [ast.copy_location(ast.Return(self._own.body), self._own.body)] if isinstance(self._own, ast.Lambda) else self._own.body
        kept = self._steps(_whole(body) if is_heard(self._made_of) else body)
        other = next((one for one in kept if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)) and not (isinstance(one, ast.Assign) and ast.unparse(one.value) == "[]") and not self._is_number(one) and not texts.is_import(one)), None)
        if other is not None:
            self._other(other)
        last = self._last or body[-1]
        if not isinstance(last, ast.Return) or last.value is None or not (self._is_of_pictures(last.value) or isinstance(last.value, ast.Dict)):
            self._other(last)
        if not isinstance(last.value, ast.Dict):
            return self._made(last.value)
        keys: list[Any] = [key.value if isinstance(key, ast.Constant) else self._other(last) for key in last.value.keys]
        made: dict[Any, Made] = {key: self._made(one) for key, one in zip(keys, last.value.values)}
        return made


    def _is_number(self, step: ast.stmt) -> bool:
        """Whether a name is given to a number that is known, or to a rate."""
        name = step.targets[0].id if isinstance(step, ast.Assign) and isinstance(step.targets[0], ast.Name) else ""
        return name in self._constants or isinstance(self._names.get(name), Rate)

    def _rated(self, one: Rate) -> ast.expr:
        return ast.Constant(one.known)  # of which nothing is left


def _whole(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Statements that return at their end alone: if A: return x; return y is if A: r = x; else: r = y; return r."""
    if not any(isinstance(one, ast.Return) for step in body[:-1] for one in ast.walk(step)) and not (body and isinstance(body[-1], ast.If) and any(isinstance(one, ast.Return) for one in ast.walk(body[-1]))):
        return list(body)
    last = body[-1]
    end = ast.copy_location(ast.Return(ast.copy_location(ast.Name(_RETURNED, ast.Load()), last)), last)
    return [*_ended(body), end]


def _ended(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """With a name for what is returned."""
    made: list[ast.stmt] = []
    for at, step in enumerate(body):
        if isinstance(step, ast.Return) and step.value is not None:
            return [*made, ast.copy_location(ast.Assign([ast.copy_location(ast.Name(_RETURNED, ast.Store()), step)], step.value), step)]
        if isinstance(step, ast.If) and any(isinstance(one, ast.Return) for one in ast.walk(step)):
            rest = body[at + 1:]
            sides = [_ended([*one, *([] if one and isinstance(one[-1], ast.Return) else rest)]) for one in (step.body, step.orelse)]
            return [*made, ast.copy_location(ast.If(step.test, *sides), step)]
        made.append(step)
    return made


def through(function: Any, made: Made, more: Sequence[Any] = (), named: Mapping[str, Any] = {}, within: tuple[FunctionType, ...] = ()) -> Made:
    """What a function or an object of the program's own makes of pictures. Raises Unknown."""
    code = code_of(function)
    if code is None or code in within:
        raise Unknown(f"{function!r:.80} is none of the program's own, or calls itself")
    return _Through(code, getattr(function, "__self__", function) if not isinstance(function, FunctionType) else NOTHING, made, more, named, within).made()


def has_code(function: Any) -> bool:
    """Whether a function of the program's own runs where this is called."""
    return code_of(function) is not None


def same(one: Picture, other: Picture) -> bool:
    """Whether two are one picture."""
    return one.film == other.film and (one.file, one.mode, one.array, one.mask, one.calls, one.after, one.axes, one.each) == (other.file, other.mode, other.array, other.mask, other.calls, other.after, other.axes, other.each)


def listed(made: Made, views: list[Union[Picture, Sound]]) -> Any:
    """The places of pictures and sounds, which come into the list. One that stands in several is one."""
    if isinstance(made, dict):
        return {key: listed(one, views) for key, one in made.items()}
    if isinstance(made, Stack):
        return Stacked(tuple([listed(one, views) for one in made.pictures]))
    if not isinstance(made, (Picture, Sound)):
        return type(made)([listed(one, views) for one in made])
    number = next((i for i, one in enumerate(views) if (one == made if isinstance(made, Sound) or isinstance(one, Sound) else same(one, made))), len(views))
    if number == len(views):
        views.append(made)
    return View(number)


def code_of(function: Any) -> Optional[FunctionType]:
    """The function of the program's own that runs where this is called; None: it is a library's."""
    if isinstance(function, MethodType):
        function = function.__func__
    elif not isinstance(function, FunctionType):
        methods = ("forward", "__call__") if libraries.derives(function, "torch.nn.modules", "Module") else ("__call__",)
        function = next((vars(cls)[name] for cls in type(function).__mro__ for name in methods if name in vars(cls)), None)
    known = not isinstance(function, FunctionType) or str(function.__module__).partition(".")[0] in LIBRARIES
    return None if known else function


def _is_made(one: Any) -> bool:
    return isinstance(one, (Picture, Stack, list, tuple, dict))


def _both(node: ast.Call) -> Optional[tuple[ast.expr, ast.expr]]:
    """The picture and the mask of transform(image=image, mask=mask); None: it is something else."""
    named = {one.arg: one.value for one in node.keywords}
    return (named["image"], named["mask"]) if not node.args and named.keys() == {"image", "mask"} else None


def _is_albumentations(transform: Any) -> bool:
    return any(cls.__module__.partition(".")[0] == "albumentations" for cls in type(transform).__mro__)


def _of_arrays(transform: Any) -> Any:
    """A transform of torchvision's that takes an array, for a picture of Pillow's; None: it takes none."""
    name, inside = type(transform).__qualname__, getattr(transform, "transforms", None)
    if not libraries.derives(transform, "torchvision.transforms", name):
        return None
    if name == "Compose" and inside:
        first = _of_arrays(inside[0])
        return None if first is None else [*first, *inside[1:]]
    return [] if name == "ToPILImage" and transform.mode in (None, "RGB") else [transform] if name in ("ToTensor", "ToImage") else None
