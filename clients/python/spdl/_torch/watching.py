"""What functions of one's own do with videos, expression by expression: which frames of torchcodec's VideoDecoder they take."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, Optional

from . import films
from .counts import Count
from .heard import Heard
from .texts import NOTHING


class Watching(Heard):
    """Of a reader of expressions, that of frames."""

    def _shown(self, node: ast.Call, function: Any) -> Any:
        """Frames by torchcodec's samplers, and numbers of frames; NOTHING: it is something else."""
        if films.is_sampler(function):
            film = self._heard(node.args[0]) if len(node.args) == 1 else NOTHING
            given = {str(one.arg): self._given_number(one.value) for one in node.keywords}
            return films.sampled(film, function.__name__, given) if isinstance(film, films.Film) else self._refuse_sound(node, films.WANT)
        if self._is(node.func, "numpy", "linspace"):
            named = {str(one.arg): self._given_number(one.value) for one in node.keywords}
            even = films.linspace([self._number(one) for one in node.args], named, _film_of)
            return NOTHING if even is None else even
        if isinstance(node.func, ast.Name) and node.func.id == "list" and self._known(node.func) is NOTHING and len(node.args) == 1 and isinstance(of := self._heard(node.args[0]), films.Even):
            return of
        return NOTHING

    def _given_number(self, node: ast.expr) -> Any:
        number = self._number(node)
        return self._known(node) if number is NOTHING else int if isinstance(node, ast.Name) and node.id == "int" else number

    def _indices(self, node: ast.expr) -> Any:
        """Numbers of frames."""
        if isinstance(node, (ast.List, ast.Tuple)):
            return [self._number(one) for one in node.elts]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and self._known(node.func) is NOTHING and not node.keywords:
            if node.func.id == "list" and len(node.args) == 1:
                return self._indices(node.args[0])
            ends = [self._number(one) for one in node.args]
            if node.func.id == "range" and ends and all(type(one) is int for one in ends) and ends[2:] != [0]:
                return range(*ends)
        if isinstance(node, ast.ListComp) and ast.unparse(node.elt) in (f"int({ast.unparse(node.generators[0].target)})", ast.unparse(node.generators[0].target)) and len(node.generators) == 1 and not node.generators[0].ifs:
            of = self._indices(node.generators[0].iter)  # [int(i) for i in indices]
            return of._replace(cut=True) if isinstance(of, films.Even) and isinstance(node.elt, ast.Call) else of
        heard = self._heard(node)
        return self._known(node) if heard is NOTHING else heard

    def _filmed_by(self, of: Any, node: ast.Call, name: str, args: Sequence[ast.expr], named: dict[str, ast.expr]) -> Any:
        """What methods of a VideoDecoder's and of what it returns make."""
        if isinstance(of, films.Even):
            kinds = [one for one in (*args, *named.values())]
            if name == "tolist" and not kinds:
                return of
            if name == "astype" and len(kinds) == 1:
                kind = int if isinstance(kinds[0], ast.Name) and kinds[0].id == "int" and self._known(kinds[0]) is NOTHING else self._known(kinds[0])
                return of._replace(cut=True) if films.is_whole(kind) else self._refuse_sound(node, films.WANT)
        if isinstance(of, films.Taken) and of.frame:
            if name == "to_rgb" and not args and not named:
                return of
            if name == "to_image" and not args and not named:
                return self._framed(of, False)._replace(axes="")
            its = name == "to_ndarray" and not args and {key: ast.unparse(one) for key, one in named.items()} == {"format": "'rgb24'"}
            return self._framed(of, True) if its else self._refuse_sound(node, 'want frame.to_ndarray(format="rgb24") or frame.to_image()')
        if isinstance(of, films.Taken):
            return self._framed(of, True) if name == "asnumpy" and not args and not named else self._refuse_sound(node, "want reader.get_batch(indices).asnumpy()")
        if isinstance(of, films.Film) and name == "get_frames_at" and len(args) + len(named) == 1 and set(named) <= {"indices"}:
            return films.at(of, self._indices([*args, *named.values()][0]))
        if isinstance(of, films.Film) and name == "get_frames_in_range" and set(named) <= {"start", "stop", "step"}:
            given = dict(zip(("start", "stop"), args))
            ends = {key: self._number(one) for key, one in {**given, **named}.items()}
            if len(args) <= 2 and {"start", "stop"} <= set(ends):
                return films.within(of, **ends)
        return self._refuse_sound(node, films.WANT)


def _film_of(last: Any) -> Optional[films.Film]:
    """The video whose last frame has this number; None: it is another number."""
    return last.of if isinstance(last, Count) and (last.what, last.sign, last.plus, last.least, last.halved) == ("film", 1, -1, None, False) else None
