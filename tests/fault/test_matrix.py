"""docs/fault-matrix.md tells the truth: every row is there, every test it names exists, and its count is right."""

import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/fault-matrix.md"
ROWS = {"A": 20, "B": 13, "C": 15, "D": 10, "E": 15, "F": 12, "G": 11}
GPU = {"G7", "G8", "G9", "G10", "G11"}
DEFINED = {".go": "func {}(", ".py": "def {}(", ".c": "TEST({})"}


def rows():
    """(row, state, tests named, what is missing)"""
    for line in PAGE.read_text().splitlines():
        if re.match(r"\| [A-G]\d", line):
            row, _, state, proof = (cell.strip() for cell in line.strip("|").split("|"))
            tests, _, missing = proof.partition("missing:")
            yield row, state, re.findall(r"(\S+)#(\w+)", tests), missing.strip()


def test_every_row_is_there_once():
    assert [row for row, *_ in rows()] == [f"{letter}{n}" for letter, most in ROWS.items() for n in range(1, most + 1)]


def test_a_row_names_what_proves_it_and_what_is_missing():
    for row, state, tests, missing in rows():
        assert (state, bool(tests), bool(missing)) in (("green", True, False), ("part", True, True), ("open", False, True)), row


def test_every_test_named_exists():
    absent = [f"{row}: {file}#{name}" for row, _, tests, _ in rows() for file, name in tests
              if not (ROOT / file).is_file() or DEFINED[pathlib.Path(file).suffix].format(name) not in (ROOT / file).read_text()]
    assert not absent, absent


def test_the_count_is_right():
    count = {gpu: collections.Counter(state for row, state, *_ in rows() if (row in GPU) == gpu) for gpu in (False, True)}
    told = [f"{sum(c.values())} rows for {what}: {c['green']} green, {c['part']} part, {c['open']} open"
            for what, c in (("the processor", count[False]), ("a GPU", count[True]))]
    assert f"**{'. '.join(told)}.**" in PAGE.read_text(), told
