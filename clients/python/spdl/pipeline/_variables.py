"""Type variables of the pipelines. One that a program says nothing of stands for anything: PipelineBuilder() is a PipelineBuilder[Any, Any]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # type checkers have it, and Python its default= from 3.13 on

    T = TypeVar("T", default=Any)
    U = TypeVar("U", default=Any)
else:
    from typing import TypeVar

    T = TypeVar("T")
    U = TypeVar("U")
