"""What a program calls its shards, as the engine calls them."""

from __future__ import annotations

import os
import shlex
from typing import Any, NoReturn

from .._errors import ArgumentError
from .given import shown

_SCHEMES = ("http", "https", "s3", "gs", "hf")
_QUIET = {"-s", "-S", "-L", "-f", "-sL", "-sS", "-fsSL", "-sSL", "-sSfL", "--silent", "--location", "--fail", "--show-error"}  # of curl, of which the engine has its own way
_COPIES = (["aws", "s3", "cp"], ["gsutil", "cat"], ["gcloud", "storage", "cat"], ["curl"], ["cat"])
_WANT = "want a path, http(s)://, s3://, gs:// or hf://, or a pipe: of aws s3 cp, gsutil cat, curl or cat of one of these (docs/sources.md)"


def refuse(place: str, one: Any, what: str) -> NoReturn:
    raise ArgumentError(f"spdl: DataLoader: {place}: {shown(one)}: {what}")


def address(url: str, place: str) -> str:
    """A shard's path, absolute, or its URL."""
    scheme, colon, rest = str(url).partition(":")
    if scheme == "pipe" and colon:
        return _piped(rest, url, place)
    if not colon or "/" in scheme:
        return os.path.abspath(str(url))
    if scheme == "file":
        return os.path.abspath(rest[2:] if rest.startswith("//") else rest)
    if scheme not in _SCHEMES or not rest.startswith("//"):
        refuse(place, url, f"got an address of {scheme!r:.30}, {_WANT}")
    return str(url)


def _piped(command: str, url: str, place: str) -> str:
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    for copy in _COPIES:
        rest = words[len(copy):]
        if words[:len(copy)] != copy:
            continue
        rest = rest[:-2] if rest[-2:] == ["||", "true"] else rest
        rest = rest[:-1] if copy[0] == "aws" and rest[-1:] == ["-"] else rest
        rest = [word for word in rest if copy != ["curl"] or word not in _QUIET]
        if len(rest) == 1 and not rest[0].startswith("-") and not set(rest[0]) & set("|;&<>$`"):
            return address(rest[0], place)
    refuse(place, url, f"got a command that is not known here, {_WANT}")
