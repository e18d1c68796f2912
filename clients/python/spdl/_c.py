"""The C ABI, as it stands in include/spdl.h: one prototype above each binding, nothing else.

`library()` loads libspdl on first use and declares every function twice. `Api.held` calls keep the
interpreter lock, for calls that never wait (a call costs half as much that way); `Api.free` calls let other
threads run meanwhile, for calls that may wait. tests/python/test_c.py holds this file and the header together.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import (
    POINTER,
    Structure,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import TYPE_CHECKING, Any, Optional

from ._errors import LibraryNotFound
from ._lock import Lock

# ---- constants ---------------------------------------------------------------------------------

OK, TIMEOUT, END_EPOCH, END_DATA = 0, 1, 2, 3
SAMPLE_END = 1
SAMPLE_FATAL = 2
E_ARGUMENT, E_NOMEM, E_SYSTEM, E_UNSUPPORTED, E_FORKED, E_INTERRUPTED = -1, -2, -3, -4, -5, -6
E_NOT_FOUND, E_DENIED, E_BUSY, E_VERSION, E_FORMAT = -20, -21, -22, -23, -24
E_ENGINE_LOST, E_ENGINE_FAILED, E_ENGINE_STOPPED, E_ENGINE_START, E_GROUP_CLOSED = -40, -41, -42, -43, -44
E_STALE, E_LEASES, E_UNDONE, E_DETACHED = -60, -61, -62, -63
E_STATE, E_SPEC = -80, -81
E_SAMPLE = -120
E_DEVICE, E_POOL_LOST = -140, -141

FOREVER = -1
ANY_LANE = -1
ANY_EPOCH = 2**64 - 1
ATTACH_HANDOFF = 1
FORM_CHILD, FORM_IN_PROCESS = 0, 1
BATCH_LAST, BATCH_SHORT, BATCH_BAD, BATCH_PADDED, BATCH_KEY_CUT = 1, 2, 4, 8, 16
MAX_NDIM = 8
INT, UINT, FLOAT, BFLOAT = 0, 1, 2, 4
DENSE, RAGGED = 1, 2
ROLE_FIELD, ROLE_INDEX, ROLE_KEY, ROLE_STATUS, ROLE_LABEL = 1, 2, 3, 4, 5
AXES_NONE, AXES_NHWC, AXES_NCHW = 0, 1, 2
ROW_OK, ROW_MASKED, ROW_SUBSTITUTED, ROW_PADDED = 0, 1, 2, 3
ACCESS_PRIVATE, ACCESS_SHARED = 1, 2
STARTING, RUNNING, ENDED, FAILED, STOPPED, LOST = 0, 1, 2, 3, 4, 5
STATE_COUNT_HELD = 1
READER_WRITES, READER_STAGE = 1, 2

# ---- structs -----------------------------------------------------------------------------------


class AttachOpts(Structure):  # spdl_attach_opts
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("group", c_char_p),
        ("lane", c_int32),
        ("max_leases", c_uint32),
        ("timeout_ns", c_int64),
        ("client", c_char_p),
    ]


class OpenOpts(Structure):  # spdl_open_opts
    _fields_ = [
        ("struct_size", c_uint32),
        ("form", c_uint32),
        ("attach", AttachOpts),
        ("engine", c_char_p),
        ("args", POINTER(c_char_p)),
        ("state", c_char_p),
    ]


class Batch(Structure):  # spdl_batch
    _fields_ = [
        ("struct_size", c_uint32),
        ("rows", c_uint32),
        ("ticket", c_uint64),
        ("epoch", c_uint64),
        ("step", c_uint64),
        ("lane", c_uint32),
        ("attempts", c_uint32),
        ("flags", c_uint32),
        ("n_bad", c_uint32),
        ("hash", c_uint64),
        ("fetched_ns", c_uint64),
        ("decoded_ns", c_uint64),
        ("published_ns", c_uint64),
        ("data", c_void_p),
        ("data_bytes", c_uint64),
        ("token", c_uint64),
        ("slot", c_uint32),
        ("reserved", c_uint32),
    ]


class Tensor(Structure):  # spdl_tensor
    _fields_ = [
        ("struct_size", c_uint32),
        ("kind", c_uint32),
        ("name", c_char_p),
        ("data", c_void_p),
        ("bytes", c_uint64),
        ("role", c_uint32),
        ("dtype_code", c_uint8),
        ("dtype_bits", c_uint8),
        ("dtype_lanes", c_uint16),
        ("ndim", c_uint32),
        ("axes", c_uint32),
        ("shape", c_int64 * MAX_NDIM),
        ("strides", c_int64 * MAX_NDIM),
        ("offsets", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
    ]


class RingInfo(Structure):  # spdl_ring_info
    _fields_ = [
        ("struct_size", c_uint32),
        ("access", c_uint32),
        ("name", c_char_p),
        ("text", c_char_p),
        ("n_slots", c_uint32),
        ("batch_rows", c_uint32),
        ("n_lanes", c_uint32),
        ("world_size", c_uint32),
        ("n_samples", c_uint64),
        ("global_batch", c_uint64),
        ("steps_per_epoch", c_uint64),
        ("n_epochs", c_uint64),
        ("seed", c_uint64),
        ("data_bytes", c_uint64),
        ("engine_pid", c_int32),
        ("reserved", c_uint32),
    ]


class ReaderInfo(Structure):  # spdl_reader_info
    _fields_ = [
        ("struct_size", c_uint32),
        ("owner", c_uint32),
        ("group", c_char_p),
        ("lane", c_uint32),
        ("rank", c_uint32),
        ("max_leases", c_uint32),
        ("leases", c_uint32),
        ("epoch", c_uint64),
        ("acquired", c_uint64),
        ("completed", c_uint64),
        ("wait_ns", c_uint64),
        ("mode_lanes", c_uint32),
        ("flags", c_uint32),
    ]


# ---- functions ---------------------------------------------------------------------------------

_FUNCTIONS = {
    # const char *spdl_status_name(int status);
    "spdl_status_name": (c_char_p, c_int),
    # const char *spdl_last_error(void);
    "spdl_last_error": (c_char_p,),
    # const char *spdl_version(void);
    "spdl_version": (c_char_p,),
    # uint32_t spdl_layout_version(void);
    "spdl_layout_version": (c_uint32,),
    # spdl_status spdl_attach(const char *name, const spdl_attach_opts *opts, spdl_reader **out);
    "spdl_attach": (c_int, c_char_p, POINTER(AttachOpts), POINTER(c_void_p)),
    # spdl_status spdl_open(const char *spec, const spdl_open_opts *opts, spdl_reader **out);
    "spdl_open": (c_int, c_char_p, POINTER(OpenOpts), POINTER(c_void_p)),
    # spdl_status spdl_attach_ring(spdl_reader *of, const char *ring, const spdl_attach_opts *opts, spdl_reader **out);
    "spdl_attach_ring": (c_int, c_void_p, c_char_p, POINTER(AttachOpts), POINTER(c_void_p)),
    # spdl_status spdl_detach(spdl_reader *reader);
    "spdl_detach": (c_int, c_void_p),
    # void spdl_shutdown(void);
    "spdl_shutdown": (None,),
    # void spdl_interrupt_on(const volatile int *flag);
    "spdl_interrupt_on": (None, POINTER(c_int)),
    # spdl_status spdl_acquire(spdl_reader *reader, int64_t timeout_ns, spdl_batch *out);
    "spdl_acquire": (c_int, c_void_p, c_int64, POINTER(Batch)),
    # spdl_status spdl_done(spdl_reader *reader, const spdl_batch *batch);
    "spdl_done": (c_int, c_void_p, POINTER(Batch)),
    # spdl_status spdl_release(spdl_reader *reader, const spdl_batch *batch);
    "spdl_release": (c_int, c_void_p, POINTER(Batch)),
    # spdl_status spdl_next(spdl_reader *reader, int64_t timeout_ns, spdl_batch *used, spdl_batch *out);
    "spdl_next": (c_int, c_void_p, c_int64, POINTER(Batch), POINTER(Batch)),
    # spdl_status spdl_next_in_epoch(spdl_reader *reader, uint64_t epoch, int64_t timeout_ns, spdl_batch *used, spdl_batch *out);
    "spdl_next_in_epoch": (c_int, c_void_p, c_uint64, c_int64, POINTER(Batch), POINTER(Batch)),
    # spdl_status spdl_fail(spdl_reader *reader, const spdl_batch *batch, const char *why);
    "spdl_fail": (c_int, c_void_p, POINTER(Batch), c_char_p),
    # uint32_t spdl_n_tensors(const spdl_reader *reader);
    "spdl_n_tensors": (c_uint32, c_void_p),
    # int32_t spdl_tensor_index(const spdl_reader *reader, const char *name);
    "spdl_tensor_index": (c_int32, c_void_p, c_char_p),
    # spdl_status spdl_batch_tensor(spdl_reader *reader, const spdl_batch *batch, uint32_t i, spdl_tensor *out);
    "spdl_batch_tensor": (c_int, c_void_p, POINTER(Batch), c_uint32, POINTER(Tensor)),
    # spdl_status spdl_schema_tensor(const spdl_reader *reader, uint32_t i, spdl_tensor *out);
    "spdl_schema_tensor": (c_int, c_void_p, c_uint32, POINTER(Tensor)),
    # void spdl_dlpack_deleter(void *managed);
    "spdl_dlpack_deleter": (None, c_void_p),
    # void spdl_dlpack_listen(int (*schedule)(int (*call)(void *), void *argument), int (*call)(void *), void *argument);
    "spdl_dlpack_listen": (None, c_void_p, c_void_p, c_void_p),
    # spdl_status spdl_get_ring_info(const spdl_reader *reader, spdl_ring_info *out);
    "spdl_get_ring_info": (c_int, c_void_p, POINTER(RingInfo)),
    # spdl_status spdl_get_reader_info(const spdl_reader *reader, spdl_reader_info *out);
    "spdl_get_reader_info": (c_int, c_void_p, POINTER(ReaderInfo)),
    # int32_t spdl_engine_state(spdl_reader *reader);
    "spdl_engine_state": (c_int32, c_void_p),
    # int spdl_event_fd(spdl_reader *reader);
    "spdl_event_fd": (c_int, c_void_p),
    # spdl_status spdl_state_save(spdl_reader *reader, uint32_t flags, char *buffer, size_t bytes, size_t *need);
    "spdl_state_save": (c_int, c_void_p, c_uint32, c_char_p, c_size_t, POINTER(c_size_t)),
    # spdl_status spdl_state_load(spdl_reader *reader, const char *json);
    "spdl_state_load": (c_int, c_void_p, c_char_p),
    # spdl_status spdl_restart(spdl_reader *reader);
    "spdl_restart": (c_int, c_void_p),
    # spdl_status spdl_stats(spdl_reader *reader, char *buffer, size_t bytes, size_t *need);
    "spdl_stats": (c_int, c_void_p, c_char_p, c_size_t, POINTER(c_size_t)),
}


class Api:
    """libspdl, loaded: `path`, and its functions under `held` and `free` without their spdl_ prefix."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.held = _declare(ctypes.PyDLL(path))
        self.free = _declare(ctypes.CDLL(path))


class _Functions:
    """The declared functions of one library, as attributes."""

    if TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any: ...


def _declare(dll: ctypes.CDLL) -> _Functions:
    functions = _Functions()
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(dll, name)
        function.restype = result
        function.argtypes = arguments
        setattr(functions, name[len("spdl_"):], function)
    return functions


# ---- finding the library -----------------------------------------------------------------------

_loading = Lock()
_api: Optional[Api] = None


def library() -> Api:
    """libspdl, loaded on the first call: $SPDL_LIBRARY, beside this package, then the system.

    Raises LibraryNotFound with the places it looked in.
    """
    global _api
    with _loading:
        if _api is None:
            _api = _load()
        return _api


def loaded() -> Optional[Api]:
    """libspdl where a call has loaded it, else None."""
    return _api


def _load() -> Api:
    tried = []
    for path in _candidates():
        try:
            return Api(path)
        except OSError as error:  # not there, or of another architecture
            tried.append(f"{path} ({error})" if os.path.exists(path) else path)
        except AttributeError as error:
            raise LibraryNotFound(
                f'spdl: library "{path}": {error}; it is older than this package: install libspdl 0.1 or newer'
            ) from None
    raise LibraryNotFound(
        f"spdl: libspdl not found; looked for {', '.join(tried)}; "
        "install libspdl, or set SPDL_LIBRARY to the path of libspdl.so"
    )


def _candidates() -> list[str]:
    """Where to look. $SPDL_LIBRARY, when set, is the only place: a typo must not load another library."""
    named = os.environ.get("SPDL_LIBRARY")
    if named:
        return [named]
    here = os.path.dirname(os.path.abspath(__file__))
    names = ["libspdl.so.0", "libspdl.so"]
    beside = [os.path.join(here, name) for name in names]
    return [path for path in beside if os.path.exists(path)] + names
