"""What functions of one's own do with a video's frames, statement by statement: arrays and tensors of them, and each of them by itself."""

from __future__ import annotations

import ast
import sys
from typing import Any, NoReturn, Optional

from . import clips, films
from .hearing import Hearing
from .picture import Picture


class Filming(Hearing):
    """Of a reader of statements, that of frames."""

    def _made(self, node: ast.expr) -> Any:
        raise NotImplementedError

    def _is_of_pictures(self, node: ast.expr) -> bool:
        raise NotImplementedError

    def _transformed(self, one: Picture, transform: Any) -> Picture:
        raise NotImplementedError

    def _refuse(self, node: ast.AST, what: str, want: str = "") -> NoReturn:
        raise NotImplementedError

    def _has_film(self, node: ast.AST) -> bool:
        """Whether an expression has frames in it; nothing is opened for that."""
        named = [self._names.get(one.id) for one in ast.walk(node) if isinstance(one, ast.Name)]
        return any(isinstance(one, films.Taken) or isinstance(one, Picture) and one.film is not None for many in named for one in (many if isinstance(many, list) else [many]))

    def _filmed(self, shown: films.Shown) -> Picture:
        return self._transformed(Picture(shown.film.file, "RGB", film=shown), self._to_tensor())

    def _to_tensor(self) -> Any:
        home = sys.modules.get("torchvision.transforms")
        if home is None:
            self._refuse(self._own, "frames of a video, and no transforms of torchvision's", "want Resize((H, W)), or a crop, of torchvision.transforms.v2: videos have sizes of their own")
        return home.PILToTensor()

    def _framed(self, taken: films.Taken, array: bool) -> Picture:
        """Frames as a reader hands them out, in an array or a tensor of bytes."""
        each = "single" if taken.single else "one" if taken.frame else ""
        return Picture(taken.shown.film.file, "RGB", array, film=taken.shown, axes="HWC" if each else "THWC", each=each)

    def _rearranged(self, node: ast.expr) -> Optional[Picture]:
        """Frames in an array or a tensor whose axes an expression changes, or of which it makes the other; None: it is something else."""
        if not isinstance(node, ast.Call) or not (of := clips.inner(node, self._known)) or not self._has_film(of) or not self._is_of_pictures(of):
            return None
        one = self._made(of)
        if isinstance(one, list) and len(one) == 1 and isinstance(one[0], Picture) and one[0].array and one[0].each == "one" and self._is(node.func, "numpy", "array", "asarray") and len(node.args) == 1 and not node.keywords:
            return self._put_together(one[0], 0)  # np.array([... for one in frames])
        if not isinstance(one, Picture) or not one.axes or one.after or (made := clips.moved(one.axes, one.array, node, self._known)) is None:
            return None
        return one._replace(axes=made[0], array=made[1])

    def _ready(self, one: Picture, node: ast.AST) -> Picture:
        """Frames as a transform takes them."""
        if not one.axes:
            return one
        if one.array and one.axes == "HWC" and not one.after:
            return one._replace(axes="")
        if one.scaled == "unit" and one.axes in ("TCHW", "CHW"):
            home = self._to_tensor(), sys.modules["torchvision.transforms.v2"].ToDtype(sys.modules["torch"].float32, scale=True)
            return self._transformed(self._transformed(one._replace(axes="", after=(), scaled=""), home[0]), home[1])
        if one.array or one.after or one.axes not in ("TCHW", "CHW"):
            self._refuse(node, f"{ast.unparse(node)[:80]!r} of {'floats' if one.after else 'an array' if one.array else 'a tensor'} {list(one.axes)}", clips.FLOATS if one.after else clips.TENSORS)
        return self._transformed(one._replace(axes=""), self._to_tensor())

    def _by_itself(self, one: Picture, node: ast.AST) -> list[Picture]:
        """Each of the frames, in the place of a list of them."""
        if one.each or one.after or one.axes[:1] != "T" and (one.axes or not one.transforms or one.film is None or one.film.clips):
            self._refuse(node, f"{ast.unparse(node)[:80]!r}, frames one by one of what has other axes ahead of it", clips.TENSORS)
        return [one._replace(axes=one.axes[1:], each="one")]

    def _put_together(self, one: Picture, axis: int) -> Picture:
        """All frames in one array or tensor, of which each was by itself; axis: 0, or 1, behind that of channels."""
        made = one._replace(each="all" if one.transforms else "", axes=f"T{one.axes}" if one.axes else "")
        if axis == 0:
            return made
        if one.axes and not one.after:
            return made._replace(axes="CTHW")
        return made._replace(after=(*made.after, (len(made.transforms), lambda rows: rows.transpose(1, 2))))

    def _stacked(self, node: ast.Call) -> Optional[Picture]:
        """torch.stack and np.stack of a list of frames; None: it is something else."""
        of_torch, axes = self._is(node.func, "torch", "stack"), [self._known(one) for one in (*node.args[1:], *[one.value for one in node.keywords])]
        if not of_torch and not self._is(node.func, "numpy", "stack") or not node.args or not self._has_film(node.args[0]):
            return None
        several = self._made(node.args[0])
        if not isinstance(several, (list, tuple)) or len(several) != 1 or not isinstance(one := several[0], Picture) or one.each != "one":
            return None
        if axes not in ([], [0], [1]) or len(node.args) + len(node.keywords) > 2 or axes == [1] and (not of_torch or one.axes not in ("", "CHW")) or one.array == of_torch or not one.axes and not one.array and not one.transforms:
            self._refuse(node, repr(ast.unparse(node)[:80]), clips.EACH)
        return self._put_together(one, (axes or [0])[0])
