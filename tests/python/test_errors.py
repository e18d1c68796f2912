"""Every status has its exception, with the library's text."""

from __future__ import annotations

import pickle
import re

import pytest
import spdl
from conftest import ROOT
from spdl import _errors

STATUSES = {name: int(value) for name, value in
            re.findall(r"\bSPDL_(E_\w+) = (-\d+)", (ROOT / "include" / "spdl.h").read_text())}


def test_every_status_has_a_class_of_its_own():
    classes = {_errors._BY_STATUS.get(status) for status in STATUSES.values()}
    assert None not in classes
    assert len(classes) == len(STATUSES)


@pytest.mark.parametrize("name", STATUSES)
def test_a_failed_attach_raises_the_statuss_class_with_the_librarys_text(mock, name):
    mock.fail("spdl_attach", STATUSES[name], f'shm: attach "x": forced {name}')
    with pytest.raises(spdl.SpdlError) as caught:
        spdl.attach("x")
    assert type(caught.value) is _errors._BY_STATUS[STATUSES[name]]
    assert str(caught.value) == f'shm: attach "x": forced {name}'
    assert caught.value.status == STATUSES[name]


def test_a_status_of_a_newer_library_is_a_plain_error_that_keeps_its_number(mock):
    mock.fail("spdl_attach", -999, "something new")
    with pytest.raises(spdl.SpdlError, match="something new") as caught:
        spdl.attach("x")
    assert type(caught.value) is spdl.SpdlError and caught.value.status == -999


def test_errors_are_named_as_programs_have_them():
    """In tracebacks, and where they are pickled."""
    errors = [one for one in vars(spdl).values() if isinstance(one, type) and issubclass(one, spdl.SpdlError)]
    assert len(errors) > 25 and [f"{one.__module__}.{one.__qualname__}" for one in errors] == [f"spdl.{one.__name__}" for one in errors]
    assert [repr(pickle.loads(pickle.dumps(one("x")))) for one in errors] == [f"{one.__name__}('x')" for one in errors]


def test_errors_are_the_builtin_ones_that_foreign_code_expects():
    assert issubclass(spdl.Timeout, TimeoutError)
    assert issubclass(spdl.SpecError, ValueError)
    assert issubclass(spdl.NotFound, LookupError)
    assert issubclass(spdl.OutOfMemory, MemoryError)
    assert issubclass(spdl.LibraryNotFound, ImportError)


def test_a_damaged_schema_refuses_the_loader_and_leaves_nothing_attached(mock):
    mock.fail("spdl_schema_tensor", -24, "shm: tensor 0 lies outside its slot")
    with pytest.raises(spdl.FormatError, match="outside its slot"):
        spdl.open("x")
    assert mock.counts.readers == 0
