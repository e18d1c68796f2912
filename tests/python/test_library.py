"""Importing the package, and finding libspdl."""

from __future__ import annotations

import re
import shutil
import subprocess

import spdl
from conftest import ROOT


def test_importing_spdl_imports_neither_numpy_nor_torch_nor_asyncio(python):
    done = python("import sys, spdl; print([m for m in ('numpy', 'torch', 'jax', 'asyncio') if m in sys.modules])")
    assert done.stdout.strip() == "[]", done.stderr


def test_the_modules_are_there_when_they_are_named_and_not_before(python):
    done = python("import sys, spdl\n"
                  "print([m for m in ('spdl.io', 'spdl.pipeline') if m in sys.modules])\n"
                  "print(spdl.io.__name__, spdl.pipeline.PipelineBuilder.__name__, spdl.source.__name__, spdl.dataloader.__name__)\n"
                  "print('io' in dir(spdl), hasattr(spdl, 'jo'))")
    assert done.stdout.splitlines() == ["[]", "spdl.io PipelineBuilder spdl.source spdl.dataloader", "True False"], done.stderr


def test_completion_offers_what_is_public(python):
    """dir() is what a shell completes by: the names of __all__, and of spdl its modules."""
    done = python("import spdl\n"
                  "for module in (spdl, spdl.io, spdl.pipeline, spdl.source, spdl.dataloader):\n"
                  "    print(sorted({name for name in dir(module) if not name.startswith('__')} ^ {name for name in module.__all__ if name[0] != '_'}), '__doc__' in dir(module))")
    assert done.stdout.splitlines() == ["['dataloader', 'io', 'pipeline', 'source'] True"] + ["[] True"] * 4, done.stderr


def test_public_names_say_what_they_are(python):
    """Each class, function, method and property of ours in spdl and spdl.io has a docstring."""
    done = python("import inspect, spdl\n"
                  "def public(module):\n"
                  "    return {name: getattr(module, name) for name in module.__all__ if name[0] != '_' and (callable(getattr(module, name)))}\n"
                  "for name, one in {**public(spdl), **public(spdl.io)}.items():\n"
                  "    parts = {f'{name}.{part}': value for part, value in vars(one).items() if part[0] != '_' and (inspect.isfunction(value) or isinstance(value, property))} if inspect.isclass(one) else {}\n"
                  "    print(*(what for what, value in {name: one, **parts}.items() if not (value.__doc__ or '').strip()), sep='\\n', end='')\n"
                  "print(len(public(spdl)))")
    assert done.stdout.strip().isdecimal() and int(done.stdout) > 30, (done.stdout, done.stderr)


def test_importing_spdl_needs_no_library(python):
    assert python("import spdl", library="/nowhere/libspdl.so").returncode == 0


def test_a_library_that_is_not_there_is_named_with_the_remedy(python):
    done = python("import spdl; spdl.attach('x')", library="/nowhere/libspdl.so")
    assert "LibraryNotFound: spdl: libspdl not found; looked for /nowhere/libspdl.so" in done.stderr
    assert "set SPDL_LIBRARY" in done.stderr


def test_a_file_that_is_no_library_is_named_with_the_loaders_reason(python, tmp_path):
    bad = tmp_path / "libspdl.so"
    bad.write_bytes(b"not a library")
    done = python("import spdl; spdl.attach('x')", library=bad)
    assert str(bad) in done.stderr and "LibraryNotFound" in done.stderr
    assert "file too short" in done.stderr or "invalid ELF" in done.stderr


def test_an_older_library_is_refused_with_the_function_it_lacks(python, tmp_path):
    source = tmp_path / "old.c"
    source.write_text("const char *spdl_status_name(int s) { (void)s; return \"\"; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", tmp_path / "libspdl.so"], check=True)
    done = python("import spdl; spdl.attach('x')", library=tmp_path / "libspdl.so")
    assert "spdl_last_error" in done.stderr and "older than this package" in done.stderr


def test_a_library_beside_the_package_is_found(python, tmp_path, mock_path):
    package = tmp_path / "spdl"
    shutil.copytree(ROOT / "clients" / "python" / "spdl", package, ignore=shutil.ignore_patterns("*.pyc", "*.so*"))
    shutil.copy(mock_path, package / "libspdl.so")
    done = python("import spdl; print(spdl._c.library().path)", PYTHONPATH=str(tmp_path), SPDL_LIBRARY="")
    assert done.stdout.strip() == str(package / "libspdl.so"), done.stderr


def test_the_package_the_library_and_the_header_have_one_version(library):
    text = (ROOT / "clients" / "python" / "pyproject.toml").read_text()
    header = (ROOT / "include" / "spdl.h").read_text()
    parts = [re.search(rf"#define SPDL_VERSION_{part} (\d+)", header).group(1) for part in ("MAJOR", "MINOR", "PATCH")]
    versions = {re.search(r'^version = "(.*)"', text, re.M).group(1), spdl.__version__, ".".join(parts),
                spdl._c.library().held.version().decode()}
    assert versions == {"0.1.0"}


def test_the_package_contains_every_module_and_its_type_marker():
    """A folder of modules that pyproject.toml does not name would not be installed."""
    root = ROOT / "clients" / "python"
    text = (root / "pyproject.toml").read_text()
    packed = set(re.findall(r'"([\w.]+)"', re.search(r"^packages = \[(.*?)\]", text, re.M | re.S).group(1)))
    assert (root / "spdl" / "py.typed").exists()
    assert packed == {".".join(path.parent.relative_to(root).parts) for path in (root / "spdl").rglob("*.py")}
