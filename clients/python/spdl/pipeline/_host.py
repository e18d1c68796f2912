"""The engine's pipelines as spdl.h has them: one prototype above each binding, and a handle around them.

The engine owns queues, order, failures and life cycle; threads of this process take works from a stage and give
what came of them. tests/python/test_c.py holds this file and the header together.
"""

from __future__ import annotations

import ctypes
import json
import os
from ctypes import POINTER, Structure, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import TYPE_CHECKING, Any, Optional

from .. import _c
from .._errors import Unsupported, error_for

OK, TIMEOUT, END_EPOCH, END_DATA = _c.OK, _c.TIMEOUT, _c.END_EPOCH, _c.END_DATA
E_PIPELINE, E_STAGE = -100, -101
FOREVER = _c.FOREVER

WORK_SOURCE, WORK_ITEM, WORK_FLUSH = 1, 2, 3
WORK_LIST = 1
GIVE_MORE, GIVE_END, GIVE_LIST, GIVE_SKIP = 1, 2, 4, 8
ERROR_FATAL, ERROR_FINAL = 1, 2


class Work(Structure):  # spdl_work
    _fields_ = [
        ("struct_size", c_uint32),
        ("kind", c_uint32),
        ("flags", c_uint32),
        ("n_items", c_uint32),
        ("items", POINTER(c_uint64)),
        ("epoch", c_uint64),
        ("attempt", c_uint32),
        ("worker", c_uint32),
        ("token", c_uint64),
    ]

    def __init__(self) -> None:
        super().__init__(ctypes.sizeof(Work))


class Give(Structure):  # spdl_give
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("items", POINTER(c_uint64)),
        ("n_items", c_uint32),
        ("path", c_int32),
        ("paths", POINTER(c_int32)),
        ("error", c_char_p),
        ("error_flags", c_uint32),
        ("reserved", c_uint32),
    ]

    def __init__(self) -> None:
        super().__init__(ctypes.sizeof(Give))


FUNCTIONS = {
    # spdl_status spdl_pipeline_create(const char *description, spdl_pipeline **out);
    "spdl_pipeline_create": (c_int, c_char_p, POINTER(c_void_p)),
    # spdl_status spdl_pipeline_start(spdl_pipeline *pipeline);
    "spdl_pipeline_start": (c_int, c_void_p),
    # int32_t spdl_pipeline_stage(spdl_pipeline *pipeline, const char *name);
    "spdl_pipeline_stage": (c_int32, c_void_p, c_char_p),
    # spdl_status spdl_stage_take(spdl_pipeline *pipeline, int32_t stage, int64_t timeout_ns, spdl_work *out);
    "spdl_stage_take": (c_int, c_void_p, c_int32, c_int64, POINTER(Work)),
    # spdl_status spdl_stage_give(spdl_pipeline *pipeline, int32_t stage, const spdl_work *work, const spdl_give *give);
    "spdl_stage_give": (c_int, c_void_p, c_int32, POINTER(Work), POINTER(Give)),
    # spdl_status spdl_pipeline_get(spdl_pipeline *pipeline, int64_t timeout_ns, spdl_work *out);
    "spdl_pipeline_get": (c_int, c_void_p, c_int64, POINTER(Work)),
    # spdl_status spdl_pipeline_drain(spdl_pipeline *pipeline);
    "spdl_pipeline_drain": (c_int, c_void_p),
    # spdl_status spdl_pipeline_stop(spdl_pipeline *pipeline);
    "spdl_pipeline_stop": (c_int, c_void_p),
    # spdl_status spdl_pipeline_wait(spdl_pipeline *pipeline, int64_t timeout_ns);
    "spdl_pipeline_wait": (c_int, c_void_p, c_int64),
    # spdl_status spdl_pipeline_error(spdl_pipeline *pipeline, char *buffer, size_t bytes, size_t *need);
    "spdl_pipeline_error": (c_int, c_void_p, c_char_p, c_size_t, POINTER(c_size_t)),
    # spdl_status spdl_pipeline_reclaim(spdl_pipeline *pipeline, uint64_t *items, uint32_t room, uint32_t *got);
    "spdl_pipeline_reclaim": (c_int, c_void_p, POINTER(c_uint64), c_uint32, POINTER(c_uint32)),
    # spdl_status spdl_pipeline_stats(spdl_pipeline *pipeline, char *buffer, size_t bytes, size_t *need);
    "spdl_pipeline_stats": (c_int, c_void_p, c_char_p, c_size_t, POINTER(c_size_t)),
    # spdl_status spdl_pipeline_free(spdl_pipeline *pipeline);
    "spdl_pipeline_free": (c_int, c_void_p),
}


class Api:
    """The pipeline calls of one libspdl: `held` keeps the interpreter lock, for calls that never wait; `free` lets go."""

    def __init__(self, path: str) -> None:
        self.held = _declare(ctypes.PyDLL(path), path)
        self.free = _declare(ctypes.CDLL(path), path)
        self.last_error = _c.library().held.last_error


class _Functions:
    """The declared functions of one library, as attributes."""

    if TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any: ...


def _declare(dll: ctypes.CDLL, path: str) -> _Functions:
    functions = _Functions()
    for name, (result, *arguments) in FUNCTIONS.items():
        try:
            function = getattr(dll, name)
        except AttributeError:
            raise Unsupported(f'spdl: pipeline: library "{path}" has no {name}; it is older than this package: '
                              "install libspdl 0.2 or newer") from None
        function.restype = result
        function.argtypes = arguments
        setattr(functions, name[len("spdl_"):], function)
    return functions


_api: Optional[Api] = None


def api() -> Api:
    """The pipeline calls of the libspdl that this package uses."""
    global _api
    if _api is None:
        _api = Api(_c.library().path)
    return _api


def loaded() -> bool:
    """Whether this process has used the engine's pipelines; a forked child of it cannot."""
    return _api is not None


class Host:
    """One pipeline of the engine, made from its description."""

    def __init__(self, description: dict[str, Any]) -> None:
        self._api = api()
        self._take_now = self._api.held.stage_take
        self._take = self._api.free.stage_take
        self._give = self._api.free.stage_give
        self._get_now = self._api.held.pipeline_get
        self._get = self._api.free.pipeline_get
        handle = c_void_p()
        self._check(self._api.free.pipeline_create(json.dumps(description).encode(), ctypes.byref(handle)))
        self.handle = handle.value
        self.pid = os.getpid()

    def start(self) -> None:
        self._check(self._api.free.pipeline_start(self.handle))

    def stage(self, name: str) -> int:
        """The number of a host stage, for take and give."""
        return self._check(self._api.held.pipeline_stage(self.handle, name.encode()))

    def take(self, stage: int, work: Work) -> int:
        """Wait for work of a stage: OK, or END_DATA when the thread may end. What is ready is taken at once, without
        letting go of the interpreter lock, which is the dearer part of the call."""
        status = self._take_now(self.handle, stage, 0, work)
        if status == TIMEOUT:
            status = self._take(self.handle, stage, FOREVER, work)
        return status if status >= 0 else self._check(status)

    def give(self, stage: int, work: Work, give: Give) -> int:
        """Give what came of a work: OK, END_DATA after a stop, TIMEOUT past the deadline, E_STAGE for a work that is
        not out. Waits for room."""
        status = self._give(self.handle, stage, work, give)
        return status if status >= 0 or status == E_STAGE else self._check(status)

    def get(self, timeout_ns: int, work: Work) -> int:
        """The next result: OK, TIMEOUT, END_EPOCH, END_DATA or E_PIPELINE."""
        status = self._get_now(self.handle, 0, work)
        if status == TIMEOUT and timeout_ns:
            status = self._get(self.handle, timeout_ns, work)
        return status if status >= 0 or status == E_PIPELINE else self._check(status)

    def drain(self) -> None:
        """Ask no source any more; what is in flight is finished."""
        self._check(self._api.free.pipeline_drain(self.handle))

    def stop(self) -> None:
        """Pass nothing on any more; every wait ends."""
        self._check(self._api.free.pipeline_stop(self.handle))

    def wait(self, timeout_ns: int) -> int:
        """Wait for its end: OK, TIMEOUT, E_PIPELINE (it failed) or E_STAGE (a thread died with a work)."""
        status = self._api.free.pipeline_wait(self.handle, timeout_ns)
        return status if status >= 0 or status in (E_PIPELINE, E_STAGE) else self._check(status)

    def __del__(self) -> None:
        """The handle ends with the last reference: no call can be in it then. A pipeline whose ops never returned
        is refused with SPDL_E_BUSY, and stays."""
        handle = getattr(self, "handle", None)
        if handle is not None and os.getpid() == self.pid:
            self._api.free.pipeline_free(handle)

    def reclaim(self) -> list[int]:
        """Items that nobody will get any more."""
        items: list[int] = []
        room = (c_uint64 * 64)()
        got = c_uint32()
        while True:
            self._check(self._api.held.pipeline_reclaim(self.handle, room, len(room), ctypes.byref(got)))
            items += room[:got.value]
            if got.value < len(room):
                return items

    def error(self) -> str:
        """Why it failed, whole; "" if it has not."""
        return self._text(self._api.held.pipeline_error)

    def stats(self) -> dict[str, Any]:
        return json.loads(self._text(self._api.free.pipeline_stats))

    def _text(self, function: Any) -> str:
        need = c_size_t(1 << 14)
        while True:
            room = need.value
            buffer = ctypes.create_string_buffer(room)
            status = function(self.handle, buffer, room, ctypes.byref(need))
            if need.value <= room:
                self._check(status)
                return buffer.value.decode("utf-8", "replace")

    def _check(self, status: int) -> int:
        if status < 0:
            raise error_for(status, (self._api.last_error() or b"").decode("utf-8", "replace"))
        return status
