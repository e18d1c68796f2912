"""docs/parity.md names tests that exist, and has every row."""

from __future__ import annotations

import re

from .conftest import ROOT

TEXT = (ROOT / "docs" / "parity.md").read_text()
HERE = ROOT / "tests" / "python" / "pipeline"


def test_every_test_that_the_page_names_exists():
    named = re.findall(r"`(?:(\w+)::|\.\./(test_\w+)\.py::test_)(\w+)`", TEXT)
    assert len(named) > 60
    for short, outside, name in named:
        if name == "a_b":
            continue  # the page explains its notation
        path = HERE.parent / f"{outside}.py" if outside else HERE / f"test_{short}.py"
        assert f"def test_{name}(" in path.read_text(), f"{path.name}: test_{name}"


def test_the_tests_of_sources_and_loaders_exist():
    section = TEXT[TEXT.index("## Sources and loaders"):TEXT.index("## Media")]
    known = (HERE.parent / "test_source.py").read_text() + (HERE / "test_loaders.py").read_text()
    for name in re.findall(r"`([a-z]+(?:_[a-z0-9]+){3,})`", section):
        assert f"def test_{name}(" in known, name


def test_the_engine_table_has_all_rows():
    numbers = {int(number) for cell in re.findall(r"^\| (A[\d, A]+) \|", TEXT, re.M) for number in re.findall(r"\d+", cell)}
    assert numbers == set(range(1, 50))
