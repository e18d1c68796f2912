"""Every row of docs/parity.md names a test that exists. As a program it runs those tests, Python's and Go's."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Iterator

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "docs" / "parity.md").read_text()
HERE = Path(__file__).resolve().parent


def rows() -> Iterator[tuple[str, list[str], str]]:
    """The section, the cells but the last, and the last cell of every row of a table."""
    for section in re.split(r"^## ", TEXT, flags=re.M)[1:]:
        lines = [line for line in section.splitlines() if line.startswith("|")]
        for line in lines[2:]:
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            yield section.splitlines()[0], cells[:-1], cells[-1]


def found(section: str, name: str) -> str:
    """Where the named test is, as pytest or go test call it; an AssertionError if it is nowhere."""
    place, _, test = name.rpartition("::")
    if test.startswith("Test"):
        assert any(f"func {test}(" in path.read_text() for path in (ROOT / place).glob("*_test.go")), name
        return f"./{place} -run ^{test}$"
    test = test if test.startswith("test_") else f"test_{test}"
    if place.endswith(".py"):
        places = [HERE / place]
    elif place:
        places = [HERE / f"test_{place}.py"]
    else:
        places = [HERE.parent / "test_source.py", HERE / "test_loaders.py"] if section.startswith("Sources") else []
    for path in places:
        if f"def {test}(" in path.read_text():
            return f"{path.resolve().relative_to(ROOT)}::{test}"
    raise AssertionError(f"no test {name}")


def named() -> list[str]:
    """All tests that the page names."""
    return sorted({found(section, name) for section, _, cell in rows() for name in re.findall(r"`([^`]+)`", cell)})


def test_every_row_names_a_test_that_exists():
    for section, cells, tests in rows():
        names = re.findall(r"`([^`]+)`", tests)
        assert names or tests == "none: text", f"{section}: the row of {cells[0]} names no test"
        for name in names:
            found(section, name)
    assert len(named()) > 80


def test_the_engine_table_has_all_rows():
    numbers = {int(number) for cell in re.findall(r"^\| (A[\d, A]+) \|", TEXT, re.M) for number in re.findall(r"\d+", cell)}
    assert numbers == set(range(1, 50))


def main() -> int:
    tests = named()
    python = [test for test in tests if "::" in test]
    status = subprocess.run([sys.executable, "-m", "pytest", "-q", *python], cwd=ROOT).returncode
    for test in tests:
        if test not in python:
            status |= subprocess.run(["go", "test", *test.split()], cwd=ROOT).returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
