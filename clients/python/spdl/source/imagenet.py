"""ILSVRC2012 on disk: pictures with the number of their class."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Iterator, Union

from .local_directory import LocalDirectory

__all__ = ["get_mappings", "ImageNet", "parse_wnid"]


def parse_wnid(s: str) -> str:
    """The WordNet id ("n01440764") in a path; where there are several, the last."""
    found = re.findall(r"n\d{8}", s)
    if not found:
        raise ValueError(f'spdl: source: imagenet: no WordNet id (n and 8 digits) in "{s}"')
    return found[-1]


def get_mappings(root: Union[str, os.PathLike[str], None] = None) -> dict[str, int]:
    """WordNet id to class number, from the folders of root/train, or of root itself.

    The numbers are those of the sorted ids, as torchvision and the usual checkpoints count them, if all 1,000
    folders are there. No table of ids comes with this package, so root must be given.
    """
    if root is None:
        raise ValueError("spdl: source: imagenet: get_mappings needs the data set's directory: the ids are read from "
                         "its folders, as no table of them comes with this package")
    base = Path(root, "train") if Path(root, "train").is_dir() else Path(root)
    ids = sorted(entry.name for entry in base.iterdir() if re.fullmatch(r"n\d{8}", entry.name))
    if not ids:
        raise ValueError(f'spdl: source: imagenet: "{base}" has no folder named by a WordNet id, such as n01440764')
    return {wnid: number for number, wnid in enumerate(ids)}


class ImageNet:
    """(path, class) of the pictures of a split; the path names the class by its WordNet id."""

    def __init__(self, root: Union[str, os.PathLike[str]], split: str = "val") -> None:
        self._files = LocalDirectory(Path(root, split), "**/*.JPEG")
        has_train = Path(root, "train").is_dir()
        self._classes = get_mappings(root if has_train else Path(root, split))

    def __len__(self) -> int:
        return len(self._files)

    def __iter__(self) -> Iterator[tuple[Path, int]]:
        for path in self._files:
            wnid = parse_wnid(str(path))
            if wnid not in self._classes:
                raise ValueError(f'spdl: source: imagenet: "{path}": class {wnid} has no folder among the '
                                 f"{len(self._classes)} known")
            yield path, self._classes[wnid]

    def shuffle(self, seed: int) -> None:
        """Take the order of this seed from the next iteration on."""
        self._files.shuffle(seed)
