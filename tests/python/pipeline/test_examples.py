"""examples/spdl: programs for SPDL's public interface run unchanged here and, where it is installed, on Meta's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOT

PROGRAMS = sorted((ROOT / "examples" / "spdl").glob("*.py"))
META = Path(os.environ.get("SPDL_META_PYTHON") or ROOT / ".venv-bench" / "bin" / "python")


def output(python: object, program: Path, path: str) -> str:
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([str(python), str(program)], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_for_spdl_runs_unchanged(program):
    """It ends well, prints something, and the same again."""
    first = output(sys.executable, program, str(ROOT / "clients" / "python"))
    assert first.strip()
    assert output(sys.executable, program, str(ROOT / "clients" / "python")) == first


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_it_prints_the_same_on_metas_spdl(program):
    """The same text, to the byte."""
    if not META.exists():
        pytest.skip("Meta's SPDL is not installed (make bench brings it, or set SPDL_META_PYTHON)")
    assert output(META, program, "") == output(sys.executable, program, str(ROOT / "clients" / "python"))


def test_the_readme_names_every_program():
    text = (ROOT / "examples" / "spdl" / "README.md").read_text()
    assert all(f"`{program.name}`" in text for program in PROGRAMS) and len(PROGRAMS) == 6
