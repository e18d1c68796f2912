"""What dir() of a module shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def offered(module: dict[str, Any], *more: str) -> Callable[[], list[str]]:
    """A module's __dir__: what its __all__ offers, some more, and what every module has. What it imports for itself is left out."""
    def __dir__() -> list[str]:
        return sorted({*module["__all__"], *more, *(name for name in module if name.startswith("__"))})
    return __dir__
