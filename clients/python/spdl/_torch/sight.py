"""How large a picture is, for code that asks it of one that the engine has: its file says it at its beginning."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from typing import Any, Optional

from .annotated import Unknown
from .picture import Picture

SEES, SIGHT = "_spdl_sees", "_spdl_sight"  # what the rest of a function calls what looks, and what it has seen of a picture
_OF_PILLOW, _ASKED = ("size", "width", "height"), ("size", "width", "height", "shape", "get_size", "get_image_size")
_TENSORS = ("ToTensor", "PILToTensor", "ToImage")  # which leave a picture as large as it is
_GREY = ("L", "gray")
_ORIENTATION = 0x0112  # of EXIF


class Sight:
    """A picture that a function has opened. Its file is looked at when something is asked of it."""

    def __init__(self, picture: Any, turned: bool) -> None:
        self._picture, self._turned = picture, turned
        self._found: Optional[tuple[int, int, str]] = None

    def _seen(self) -> tuple[int, int, str]:
        if self._found is None:
            self._found = seen(self._picture, self._turned)
        return self._found

    @property
    def height(self) -> int:
        return self._seen()[0]

    @property
    def width(self) -> int:
        return self._seen()[1]

    @property
    def size(self) -> tuple[int, int]:
        """As Pillow has it."""
        return self.width, self.height

    @property
    def sides(self) -> list[int]:
        """As torchvision's get_size has it."""
        return [self.height, self.width]

    @property
    def turned_sides(self) -> list[int]:
        """As torchvision's get_image_size has it."""
        return [self.width, self.height]

    def of_array(self, mode: str) -> tuple[int, ...]:
        """The shape of NumPy's array of it, converted to a mode, or, "", as its file has it."""
        high, wide, own = self._seen()
        return (high, wide) if (mode or own) in _GREY else (high, wide, 3)

    def of_tensor(self, mode: str) -> Any:
        high, wide, own = self._seen()
        return sys.modules["torch"].Size((1 if (mode or own) in _GREY else 3, high, wide))


def seen(picture: Any, turned: bool = False) -> tuple[int, int, str]:
    """Height, width and mode of a path's, a file's or an array's picture, turned as its EXIF says. Raises OSError."""
    if hasattr(picture, "shape"):
        return picture.shape[0], picture.shape[1], "L" if len(picture.shape) == 2 else "RGB"
    import PIL.Image  # which whoever has pictures of a class of one's own has

    at = picture.tell() if hasattr(picture, "seek") else 0
    with PIL.Image.open(picture) as opened:
        (wide, high), mode = opened.size, opened.mode
        if turned and opened.getexif().get(_ORIENTATION, 1) in (5, 6, 7, 8):
            wide, high = high, wide
    if hasattr(picture, "seek"):
        picture.seek(at)
    return high, wide, mode


def asks(own: ast.AST) -> bool:
    """Whether a function may ask how large something is."""
    return any((one.attr if isinstance(one, ast.Attribute) else one.id if isinstance(one, ast.Name) else "") in _ASKED for one in ast.walk(own))


def sees(number: int, picture: str, one: Picture, like: ast.AST) -> ast.stmt:
    """The statement that gives a name to what is seen of a picture, behind the one that has found it."""
    call = ast.Call(ast.Name(SEES, ast.Load()), [ast.Name(picture, ast.Load()), ast.Constant(one.turned)], [])
    made = ast.Assign([ast.Name(f"{SIGHT}{number}", ast.Store())], call)
    return ast.copy_location(made, like)


class Asked(ast.NodeTransformer):
    """Puts what is seen of pictures in the place of what code asks of them: image.size, image.shape, get_size(image)."""

    def __init__(self, picture: Callable[[ast.expr], Optional[Picture]], known: Callable[[ast.expr], Any]) -> None:
        self._picture, self._known = picture, known

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        one = self._whole(node.value) if node.attr in (*_OF_PILLOW, "shape") else None
        if one is None:
            return self.generic_visit(node)
        tensor = bool(one.transforms) or one.mode == "tensor"
        if node.attr == "shape" and (tensor or one.array):
            shape = self._of(node, one, "of_tensor" if tensor else "of_array")
            return ast.copy_location(ast.Call(shape, [ast.Constant(one.mode)], []), node)
        return self._of(node, one, node.attr) if node.attr != "shape" and not tensor and not one.array else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        function = self._known(node.func)
        name = str(getattr(function, "__name__", "")) if str(getattr(function, "__module__", "")).startswith("torchvision.transforms.") else ""
        one = self._whole(node.args[0]) if name in ("get_size", "get_image_size") and len(node.args) == 1 and not node.keywords else None
        return self.generic_visit(node) if one is None else self._of(node, one, "sides" if name == "get_size" else "turned_sides")

    def _whole(self, node: ast.expr) -> Optional[Picture]:
        """The picture that a name has, where nothing has changed its size."""
        try:
            one = self._picture(node) if isinstance(node, ast.Name) else None
        except Unknown:
            return None
        return one if one is not None and all(type(each).__qualname__ in _TENSORS for each in one.transforms) and not one.after else None

    def _of(self, node: ast.expr, one: Picture, what: str) -> ast.expr:
        return ast.copy_location(ast.Attribute(ast.Name(f"{SIGHT}{one.file}", ast.Load()), what, ast.Load()), node)
