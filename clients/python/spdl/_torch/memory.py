"""How much memory is left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Optional

_GROUPS = Path("/sys/fs/cgroup")
_UNLIMITED = 1 << 62  # which version 1 says in the place of no limit


def available(root: Path = Path("/")) -> Optional[int]:
    """Bytes that the machine and the control groups of this process have left; None: nobody says it. The files are those below root."""
    left = [max(0, limit - used) for limit, used in _limits(root) if limit < _UNLIMITED]
    for line in _text(root, Path("/proc/meminfo")).splitlines():
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            left.append(int(value.split()[0]) << 10)
    return min(left, default=None)


def _limits(root: Path) -> Iterator[tuple[int, int]]:
    """The limit of each group, and what is used of it: of version 2 and of 1, of this process's group and of those that it is in."""
    for line in _text(root, Path("/proc/self/cgroup")).splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0":
            base, limit, used = _GROUPS, "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            base, limit, used = _GROUPS / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        own = PurePosixPath(path)
        for group in (own, *own.parents):
            numbers = [_text(root, base / group.relative_to("/") / name).strip() for name in (limit, used)]
            if all(number.isdigit() for number in numbers):
                yield int(numbers[0]), int(numbers[1])


def _text(root: Path, path: Path) -> str:
    try:
        return (root / path.relative_to("/")).read_text(encoding="utf-8", errors="surrogateescape")  # groups have any name
    except OSError:
        return ""
