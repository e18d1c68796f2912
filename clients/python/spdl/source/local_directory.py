"""Files of a directory."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Iterator, Optional, Union

__all__ = ["LocalDirectory"]


class LocalDirectory:
    """The paths below root that match a glob pattern ("**/*.jpg"), sorted, or in the order of shuffle(seed).

    The directory is read once, at the first use; of each path its text below root is kept.
    """

    def __init__(self, root: Union[str, os.PathLike[str]], pattern: str) -> None:
        self.root = Path(root)
        self.pattern = pattern
        if not self.root.is_dir():
            raise ValueError(f'spdl: source: LocalDirectory: "{self.root}" is not a directory')
        self._names: Optional[list[str]] = None

    def _listed(self) -> list[str]:
        if self._names is None:
            self._names = sorted(str(path.relative_to(self.root)) for path in self.root.glob(self.pattern))
            if not self._names:
                raise ValueError(f'spdl: source: LocalDirectory: nothing below "{self.root}" matches {self.pattern!r}')
        return self._names

    def __len__(self) -> int:
        return len(self._listed())

    def __iter__(self) -> Iterator[Path]:
        for name in list(self._listed()):
            yield self.root / name

    def shuffle(self, seed: int) -> None:
        """Take the order of this seed from the next iteration on; it does not depend on earlier ones."""
        names = self._listed()
        names.sort()
        random.Random(seed).shuffle(names)
