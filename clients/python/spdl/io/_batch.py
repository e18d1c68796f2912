"""Pictures decoded into one array: load_image_batch."""

from __future__ import annotations

import ctypes
import logging
import os
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_void_p
from typing import Any, Iterable, Optional

from .. import _dlpack
from .._errors import ArgumentError, Unsupported
from .._feed import Sample
from .._given import whole
from ..arrays import Array
from ._config import DecodeConfig, DemuxConfig, configured, unfiltered
from ._load import _NOWHERE, Source, _check, _loaded, _where, bound, described


FUNCTIONS = {
    # spdl_status spdl_load_batch(const char *description, const spdl_sample *samples, size_t n_samples, spdl_loaded **out);
    "spdl_load_batch": (c_int, c_char_p, POINTER(Sample), c_size_t, POINTER(c_void_p)),
}

_api = bound(FUNCTIONS)
_log = logging.getLogger(__name__)
_MODES = {None: "rgb", "rgb24": "rgb", "gray": "gray", "gray8": "gray"}
_FITS = {"pad": "pad", "crop": "crop", None: "fill"}


class ImageBatch(Array):
    """Pictures [rows, H, W, C]. `rows` are the numbers of the sources that they are of, `failures` why the others are not here, by number."""

    __slots__ = ("rows", "failures")

    def __init__(self, array: Array, rows: list[int], failures: dict[int, str]) -> None:
        super().__init__(array._owner, array._address, array.shape, array.strides, array.dtype, array.readonly)
        self.rows, self.failures = rows, failures


def load_image_batch(srcs: Iterable[Source], *, width: Optional[int] = None, height: Optional[int] = None, pix_fmt: Optional[str] = "rgb24",
                     scale_mode: Optional[str] = "pad", strict: bool = True, num_threads: int = 0,
                     demux_config: Optional[DemuxConfig] = None, decode_config: Optional[DecodeConfig] = None,
                     filter_desc: None = None, device_config: None = None, storage: None = None, **section: Any) -> ImageBatch:
    """Pictures as one array, uint8 [rows, H, W, C], decoded by threads of the call's own.

    srcs           a list, or what else gives one after the other
    width, height  None: each picture's own, which must come out alike
    pix_fmt        "rgb24" or "gray"
    scale_mode     what becomes of another aspect: "pad" puts black around, "crop" cuts off what is over, None does not keep it
    strict         True: one that fails raises SampleError. False: it is left out, and `failures` of the result, and the log, say why
    num_threads    0: one a processor
    section        other keys of a description's image: layout, dtype, orientation, or in place of a size transform
    """
    if device_config is not None or storage is not None:
        raise Unsupported("spdl: io: load_image_batch: device_config and storage: the array is in memory of its own; a ring uploads (docs/gpu.md)")
    unfiltered("load_image_batch", filter_desc, "scale_mode, or transform=[...]")
    if pix_fmt not in _MODES:
        raise ArgumentError(f"spdl: io: load_image_batch: pix_fmt={pix_fmt!r}, want \"rgb24\" or \"gray\"")
    if scale_mode not in _FITS:
        raise ArgumentError(f"spdl: io: load_image_batch: scale_mode={scale_mode!r}, want \"pad\", \"crop\" or None")
    section = {"mode": _MODES[pix_fmt], **configured("load_image_batch", "image", demux_config, decode_config), **section}
    batch = {"width": _side("width", width), "height": _side("height", height), "fit": _FITS[scale_mode], "strict": bool(strict),
             "threads": whole("io: load_image_batch: num_threads", num_threads)}
    return _load(_listed(srcs), {"image": section, "batch": batch})


def _side(name: str, pixels: Optional[int]) -> int:
    """Of the pictures; 0: their own."""
    if pixels is not None and whole(f"io: load_image_batch: {name}", pixels) < 1:
        raise ArgumentError(f"spdl: io: load_image_batch: {name}={pixels!r}, want 1 or more, or None for each picture's own")
    return 0 if pixels is None else int(pixels)


def _listed(srcs: Iterable[Source]) -> list[Source]:
    if isinstance(srcs, (str, bytes, bytearray, memoryview, os.PathLike)):
        raise ArgumentError(f"spdl: io: load_image_batch: srcs is one source of {type(srcs).__name__}, want a list of them")
    try:
        each = iter(srcs)
    except TypeError:
        raise ArgumentError(f"spdl: io: load_image_batch: srcs is of {type(srcs).__name__}, want a list of sources") from None
    return list(each)


def _load(srcs: list[Source], description: dict[str, Any]) -> ImageBatch:
    _dlpack.sweep()
    kept, samples = [], (Sample * max(len(srcs), 1))()
    for sample, src in zip(samples, srcs):
        where, keep = _where(src)
        kept.append((where, keep))
        sample.struct_size, sample.label = ctypes.sizeof(Sample), -1
        sample.bytes, sample.n_bytes, sample.path = where.arguments
    handle = c_void_p()
    _check(_api().load_batch(described(description), samples, len(srcs), handle))
    loaded = _loaded(handle, _NOWHERE, None)
    failures = {failure["sample"]: failure["error"] for failure in loaded.info["failures"]}
    for error in failures.values():
        _log.warning("load_image_batch: %s", error)
    return ImageBatch(loaded["image"], loaded.info["rows"], failures)
