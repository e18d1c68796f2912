"""Samples of the program's own: threads that take what the engine wants and give what a data set says."""

from __future__ import annotations

import ctypes
import io
import json
import operator
import os
import threading
import time
import traceback
from ctypes import POINTER, Structure, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, Mapping, Sequence

from . import _c
from ._errors import ArgumentError, SpecError, error_for
from ._reader import Reader
from ._stream import End, Stream, describe_stream, is_stream, said_of_host

JOIN_S = 5.0  # how long close() waits for calls of the data set that are under way


class Unfit(TypeError):
    """A data set's answer is of no kind that a sample may be. While none was, the next one would be no better."""


class Want(Structure):  # spdl_want
    _fields_ = [("struct_size", c_uint32), ("epoch", c_uint32), ("index", c_uint64), ("token", c_uint64)]


class Sample(Structure):  # spdl_sample
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("bytes", c_void_p),
        ("n_bytes", c_size_t),
        ("path", c_char_p),
        ("error", c_char_p),
        ("key", c_char_p),
        ("label", c_int64),
    ]


FUNCTIONS = {
    # int64_t spdl_source_id(spdl_reader *reader);
    "spdl_source_id": (c_int64, c_void_p),
    # spdl_status spdl_source_take(int64_t source, int64_t timeout_ns, spdl_want *out);
    "spdl_source_take": (c_int, c_int64, c_int64, POINTER(Want)),
    # spdl_status spdl_source_give(int64_t source, const spdl_want *want, const spdl_sample *sample);
    "spdl_source_give": (c_int, c_int64, POINTER(Want), POINTER(Sample)),
}


def describe(spec: Any, dataset: Any, threads: int) -> Any:
    """The description with the number of samples in it, where it is a dict. What cannot be a source is refused."""
    if not 1 <= threads <= 1024:
        raise ArgumentError(f"spdl: open: source_threads {threads}, want 1 to 1024")
    if is_stream(dataset):
        return describe_stream(spec, dataset)
    if not (hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__")) or isinstance(dataset, (str, bytes, dict)):
        raise ArgumentError(f"spdl: open: source is a {type(dataset).__name__}, want an object with __len__ and __getitem__(index), "
                            "or an iterable of paths or bytes")
    if len(dataset) < 1:
        raise ArgumentError("spdl: open: source has no samples")
    if not isinstance(spec, dict):
        return spec
    said = said_of_host(spec)
    host = said["host"]
    if host.get("samples", len(dataset)) != len(dataset) or host.get("stream"):
        raise SpecError(f"spdl: open: source.host is {json.dumps(host, default=str)}, and source= has {len(dataset)} samples, each by its index; leave samples and stream out")
    return {**spec, "source": {**said, "host": {**host, "samples": len(dataset)}}}


class Feed:
    """The threads that bring a reader's samples. They keep neither the reader nor its loader alive, and end with it."""

    def __init__(self, reader: Reader, dataset: Any, threads: int, samples: int, stream: bool, arrays: bool, fill: Any = None) -> None:
        library = ctypes.CDLL(reader.api.path)  # lets other threads run
        take, give = _bound(library, "spdl_source_take"), _bound(library, "spdl_source_give")
        source = _bound(library, "spdl_source_id")(reader.handle)
        if source < 0:
            raise error_for(source, (reader.api.held.last_error() or b"").decode("utf-8", "replace"))
        self.stream = dataset if isinstance(dataset, Stream) else Stream(dataset) if is_stream(dataset) else None
        if stream != (self.stream is not None):
            want = ("give an iterable, or leave stream out and say samples: N" if stream else
                    "an iterable has no index; say source: {host: {stream: true}} and order: {shuffle: false} in place of samples")
            raise ArgumentError(f"spdl: open: source is a {type(dataset).__name__}, the description says source.host.stream: {json.dumps(stream)}; {want}")
        if self.stream is None and samples != len(dataset):
            raise ArgumentError(f"spdl: open: source has {len(dataset)} samples, the description says source.host.samples: {samples}")
        look_up = self.stream.get if self.stream else lambda epoch, index, token: dataset[index]
        let_go = self.stream.close if self.stream else lambda: None
        if arrays:
            found = look_up
            look_up = lambda *want: _with_files(found(*want))  # noqa: E731
        fit: list[bool] = []  # True once an answer was a sample
        self._threads = [threading.Thread(target=_bring, args=(take, give, source, look_up, let_go, fill or _fill, fit), name=f"spdl-source-{i}", daemon=True)
                         for i in range(1 if self.stream else threads)]
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        """Wait for the threads' end, up to JOIN_S. One that is in the data set for longer ends with that call."""
        if self.stream is not None:
            self.stream.end()
        end = time.monotonic() + JOIN_S
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, end - time.monotonic()))


def _bound(library: ctypes.CDLL, name: str) -> Any:
    function = getattr(library, name)
    function.restype, *function.argtypes = FUNCTIONS[name]
    return function


def _bring(take: Any, give: Any, source: int, look_up: Any, let_go: Any, fill: Any, fit: list[bool]) -> None:
    """A thread: one sample after the other until the engine wants no more."""
    want, sample = Want(ctypes.sizeof(Want)), Sample(ctypes.sizeof(Sample))
    while take(source, _c.FOREVER, want) == _c.OK:
        keep = _answer(look_up, fill, want, sample, fit)
        status = give(source, want, sample)
        del keep
        if status not in (_c.OK, _c.TIMEOUT):  # late is the engine's to count
            break
    let_go()


def _answer(look_up: Any, fill: Any, want: Want, sample: Sample, fit: list[bool]) -> Any:
    """Fill in a sample; what is returned must live until it was given."""
    sample.flags, sample.label, sample.key, sample.bytes, sample.n_bytes, sample.path, sample.error = 0, -1, None, None, 0, None, None
    try:
        keep = fill(sample, look_up(want.epoch, want.index, want.token))
        fit[:] = [True]
        return keep
    except End:
        sample.flags = _c.SAMPLE_END
        return None
    except BaseException as error:  # whatever it is, it is this sample's; the thread goes on to the next
        sample.bytes = sample.path = None
        sample.flags = _c.SAMPLE_FATAL if isinstance(error, Unfit) and not fit else 0
        sample.error = _text(error)
        return None


def _fill(sample: Sample, got: Any) -> Any:
    key: Any = None
    if isinstance(got, (tuple, list)):
        if len(got) == 4:
            return _fill_both(sample, *got)
        if len(got) not in (2, 3):
            raise Unfit(f"got a {type(got).__name__} of {len(got)}, want (bytes or path, label), (bytes or path, label, key), or with columns beside media (path, label, key, columns)")
        got, label, key = (*got, None)[:3]
        sample.label = -1 if label is None else _int64(label)
    sample.key = None if key is None else _c_text("key", str(key).encode("utf-8", "surrogateescape"))
    if isinstance(got, (str, os.PathLike)):
        sample.path = _c_text("path", os.fsencode(got))
        if not sample.path:
            raise ValueError("got an empty path")
        return None
    if got is None:
        raise ValueError("got None, which stands for no sample")
    if not isinstance(got, bytes):
        got = _bytes_of(got)
    sample.bytes, sample.n_bytes = ctypes.cast(c_char_p(got), c_void_p), len(got)
    return got


def _fill_both(sample: Sample, path: Any, label: Any, key: Any, columns: Any) -> Any:
    """Of a medium and of columns beside it: its path, and a dict that is JSON then, or bytes."""
    if not isinstance(path, (str, os.PathLike)):
        raise Unfit(f"got a {type(path).__name__} with columns beside it, want a path")
    _fill(sample, (path, label, key))
    made = columns if isinstance(columns, bytes) else json.dumps(columns, default=lambda one: one.tolist()).encode()  # arrays and their numbers
    sample.bytes, sample.n_bytes = ctypes.cast(c_char_p(made), c_void_p), len(made)
    return made


def say(sample: Sample, numbers: bytes) -> bytes:
    """Of an order that the engine asks for: which samples come, as numbers of 64 bits."""
    sample.bytes, sample.n_bytes = ctypes.cast(c_char_p(numbers), c_void_p), len(numbers)
    return numbers


def _with_files(got: Any) -> Any:
    """An answer with its array, or its dict of arrays, as the bytes of an .npy or .npz file."""
    if isinstance(got, (tuple, list)) and got:
        return (_file_of(got[0]), *got[1:])
    return _file_of(got)


def _file_of(got: Any) -> Any:
    if not isinstance(got, Mapping) and not hasattr(got, "__array__"):
        return got
    import zipfile

    import numpy  # whoever has arrays has it

    out = io.BytesIO()
    if isinstance(got, Mapping):
        with zipfile.ZipFile(out, "w") as archive:  # numpy.savez, but for names that are its arguments, such as "file"
            for name, array in got.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    numpy.save(member, numpy.asarray(array), allow_pickle=False)
    else:
        numpy.save(out, numpy.asarray(got), allow_pickle=False)
    return out.getvalue()


def _bytes_of(got: Any) -> bytes:
    """Encoded bytes out of a buffer, an array or a tensor of one dimension. What has more is a picture that was decoded already."""
    want = "want encoded bytes or a path, alone or as (it, label) or (it, label, key)"
    if isinstance(got, Mapping):  # a row of Hugging Face's datasets
        raise Unfit(f"got a {type(got).__name__} of {', '.join(map(str, got)):.200}; {want}, such as (row['image']['bytes'], row['label']), "
                    "undecoded: cast_column('image', Image(decode=False))")
    try:
        view = memoryview(got if not hasattr(got, "numpy") else got.numpy())
    except (TypeError, RuntimeError):  # no buffer; a tensor of a device
        raise Unfit(f"got {type(got).__name__}, {want}; decoding is the engine's") from None
    if view.ndim != 1:
        raise Unfit(f"got {type(got).__name__} of shape {list(view.shape or ())}, {want}; decoding is the engine's")
    return view.tobytes()


def _int64(label: Any) -> int:
    try:
        value = operator.index(label)
    except TypeError:
        raise Unfit(f"got label {label!r:.60} of type {type(label).__name__}, want a whole number") from None
    if not -1 << 63 <= value < 1 << 63:
        raise OverflowError(f"got label {value}, want one of 64 bits")
    return value


def _c_text(what: str, text: bytes) -> bytes:
    if b"\0" in text:
        raise ValueError(f"got a zero byte in the {what}")
    return text


def _text(error: BaseException) -> bytes:
    """What a log line says of an exception: type, text, and where it was raised."""
    text, where = "".join(traceback.format_exception_only(type(error), error)).strip(), ""
    frames: Sequence[traceback.FrameSummary] = traceback.extract_tb(error.__traceback__)[1:]
    if isinstance(error, Unfit):  # raised here, where nobody need look
        text = f"TypeError: {error}"
    elif frames:
        where = f" ({frames[-1].filename}:{frames[-1].lineno})"
    return (text + where).encode("utf-8", "replace").replace(b"\0", b"\\0")
