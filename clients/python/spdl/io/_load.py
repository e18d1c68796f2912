"""The calls of spdl.io over spdl_load."""

from __future__ import annotations

import ctypes
import functools
import json
import lzma
import math
import os
import tarfile
import zlib
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint32, c_void_p
from decimal import Decimal
from fractions import Fraction
from typing import Any, Callable, Collection, Iterable, Iterator, Mapping, Optional, Sequence, Union
from urllib.parse import unquote_to_bytes

from .. import _c, _dlpack
from .._errors import ArgumentError, SampleError, SpecError, Unsupported, error_for
from .._given import c_text, odd_place, plain, whole
from .._torch.transforms import resolved
from ..arrays import BOOL, Array, DType, numpy_if_installed
from ._config import DecodeConfig, DemuxConfig, configured, in_memory, unfiltered

FUNCTIONS = {
    # spdl_status spdl_load(const char *description, const void *bytes, size_t n_bytes, const char *path, spdl_loaded **out);
    "spdl_load": (c_int, c_char_p, c_void_p, c_size_t, c_char_p, POINTER(c_void_p)),
    # uint32_t spdl_loaded_n_tensors(const spdl_loaded *loaded);
    "spdl_loaded_n_tensors": (c_uint32, c_void_p),
    # spdl_status spdl_loaded_tensor(const spdl_loaded *loaded, uint32_t i, spdl_tensor *out);
    "spdl_loaded_tensor": (c_int, c_void_p, c_uint32, POINTER(_c.Tensor)),
    # const char *spdl_loaded_info(const spdl_loaded *loaded);
    "spdl_loaded_info": (c_char_p, c_void_p),
    # void spdl_loaded_free(spdl_loaded *loaded);
    "spdl_loaded_free": (None, c_void_p),
    # spdl_status spdl_loading_open(const char *description, const void *bytes, size_t n_bytes, const char *path, spdl_loading **out);
    "spdl_loading_open": (c_int, c_char_p, c_void_p, c_size_t, c_char_p, POINTER(c_void_p)),
    # spdl_status spdl_loading_next(spdl_loading *loading, spdl_loaded **out);
    "spdl_loading_next": (c_int, c_void_p, POINTER(c_void_p)),
    # void spdl_loading_close(spdl_loading *loading);
    "spdl_loading_close": (None, c_void_p),
}

Source = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, Any]
Seconds = tuple[float, Optional[float]]


class _Functions:
    """The declared functions of one library, as attributes."""

    def __init__(self, path: str, functions: Mapping[str, tuple]) -> None:
        dll = ctypes.CDLL(path)  # lets other threads run
        for name, (result, *arguments) in functions.items():
            try:
                function = getattr(dll, name)
            except AttributeError:
                raise Unsupported(f'spdl: io: library "{path}" has no {name}; it is older than this package: '
                                  "install the libspdl that came with it") from None
            function.restype, function.argtypes = result, arguments
            setattr(self, name[len("spdl_"):], function)


def bound(functions: Mapping[str, tuple]) -> Callable[[], Any]:
    """What gives the functions, from its first call on."""
    made: list[_Functions] = []

    def api() -> _Functions:
        if not made:
            made.append(_Functions(_c.library().path, functions))
        return made[0]

    return api


_api = bound(FUNCTIONS)


class Handle:
    """What stands for something in C, of which there is one: no copy of it, in this process or another, may use it or free it."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: object) -> tuple:
        raise Unsupported(f"spdl: io: pickle or copy {type(self).__name__}: it stands for what this process has once, in C; make another, where it is needed")


class _Memory(Handle):
    """What was loaded, in C. It is freed with the last array that lies in it."""

    __slots__ = ("handle", "free", "source", "__weakref__")
    read_only = ("this array is a view of read-only bytes that it was loaded from, which torch cannot express: a write into the tensor changes them; "
                 "use torch(copy=True) for what you change")

    def __init__(self, handle: int, source: object) -> None:
        self.handle = handle
        self.free = _api().loaded_free
        self.source = source  # arrays may be views of it

    def __del__(self) -> None:
        self.free(self.handle)


class Loaded(Mapping[str, Array]):
    """The arrays that were decoded, by name, and what is said of them."""

    def __init__(self, arrays: dict[str, Array], info: bytes) -> None:
        self._arrays = arrays
        self._info = info  # JSON

    @functools.cached_property
    def info(self) -> dict[str, Any]:
        """What the file says of itself, and what was done."""
        return json.loads(self._info) or {}

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        return f"<spdl.io.Loaded {', '.join(f'{name}: {array!r}' for name, array in self.items())}>"


class NpzFile(Loaded):
    """What load_npz gives: arrays by name, also by that of their file ("a.npy"), as numpy's."""

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name if name in self._arrays or not isinstance(name, str) else name.removesuffix(".npy")]

    @property
    def files(self) -> list[str]:
        """The names."""
        return list(self)


class Frames(Array):
    """An array that knows when its frames are shown, or its samples heard: `pts`, in seconds, of each picture, or of the first sample; None
    where nobody knows."""

    __slots__ = ("pts",)
    pts: Optional[list[float]]

    def __init__(self, array: Array, pts: Optional[list[float]] = None) -> None:
        super().__init__(array._owner, array._address, array.shape, array.strides, array.dtype, array.readonly)
        self.pts = pts

    @property
    def num_frames(self) -> int:
        """How many pictures there are."""
        return self.shape[0]


def frames_of(loaded: Loaded, kind: str) -> Frames:
    """What was loaded as frames."""
    if kind not in loaded:
        raise ArgumentError(f"spdl: io: got {', '.join(loaded)}, want {kind}")
    return Frames(loaded[kind], loaded["pts"].tolist() if "pts" in loaded else None)


def _memory_of(src: Any) -> tuple[int, int, bool, object]:
    """Address, size, whether it may be written, and what keeps it there."""
    if isinstance(src, bytes):
        return ctypes.cast(ctypes.c_char_p(src), c_void_p).value or 0, len(src), False, src
    try:
        view = memoryview(src).cast("B")
    except TypeError:
        remedy = "; of an open file pass what read() gives" if hasattr(src, "read") else "; of several, one at a time" if isinstance(src, (list, tuple)) else ""
        raise ArgumentError(f"spdl: io: the source is of {type(src).__name__}, want a path or contiguous bytes{remedy}") from None
    if not view.readonly and len(view):
        pinned = (ctypes.c_char * len(view)).from_buffer(view)
        return ctypes.addressof(pinned), len(view), True, pinned
    numpy = numpy_if_installed()
    if numpy is None or not len(view):
        return _memory_of(bytes(view))
    array = numpy.frombuffer(view, "u1")
    return array.ctypes.data, len(view), False, array


def load(src: Source, description: Mapping[str, Any]) -> Loaded:
    """Decode src as a description's section says: {"audio": {"rate": 16000}}, {"video": {...}}, {"image": {...}}, {"npy": {}},
    {"npz": {}}, {"wav": {}}, {"probe": "audio"}, {"probe": "video"} or {"probe": "wav"}.

    Raises SpecError for the description, SampleError for the sample.
    """
    _dlpack.sweep()
    if hasattr(src, "_decode"):  # packets
        return src._decode(description)
    memory, keep = _where(src)
    handle = c_void_p()
    _check(_api().load(described(description), *memory.arguments, handle))
    return _loaded(handle, memory, keep)


_json = json.JSONEncoder(default=plain).encode  # json.dumps would make one a call


def described(description: Mapping[str, Any]) -> bytes:
    """A description as C takes it; beside plain data it may hold what spdl.open's may. Raises SpecError."""
    if not isinstance(description, Mapping):
        raise SpecError(f'spdl: io: the description is of {type(description).__name__}, want a mapping, such as {{"video": {{}}}}')
    description, _ = resolved(description)
    try:
        return _json(description).encode()
    except (TypeError, ValueError) as error:
        raise SpecError(f"spdl: io: {odd_place(description)}the description is not plain data: {error}") from None


class _Where:
    """A source as arguments of a call: bytes, their number, path; and which addresses are the caller's, read-only or not."""

    def __init__(self, address: int, size: int, path: Optional[bytes], writable: bool) -> None:
        self.arguments = (address or None, size, path)
        self.address, self.size, self.writable = address, size, writable


_NOWHERE = _Where(0, 0, None, True)


def path_of(src: Union[str, "os.PathLike[str]"]) -> bytes:
    """A file or an address as C takes it; of file:///PATH, its escapes read, the PATH, as in lists."""
    text = c_text("io: the source", src)
    if text[:7].lower() != b"file://":
        return text
    path = unquote_to_bytes(text[7:])
    path = path[len("localhost"):] if path[:len("localhost/")].lower() == b"localhost/" else path
    if not path.startswith(b"/"):
        raise ArgumentError(f"spdl: io: the source {src!r} names a file of another machine, want file:///PATH, or the path itself")
    return c_text("io: the source", path)


def _where(src: Any) -> tuple[_Where, object]:
    if isinstance(src, (str, os.PathLike)):
        return _Where(0, 0, path_of(src), False), None
    address, size, writable, keep = _memory_of(src)
    if not address:  # of nothing
        keep = b"\0"
        address = ctypes.cast(ctypes.c_char_p(keep), c_void_p).value or 0
    return _Where(address, size, None, writable), keep


def _check(status: int) -> int:
    if status < 0:
        raise error_for(status, (_c.library().held.last_error() or b"").decode("utf-8", "replace"))
    return status


def _loaded(handle: c_void_p, where: _Where, keep: object) -> Loaded:
    info = _api().loaded_info(handle) or b"null"  # before the arrays, with the last of which it goes
    booleans = json.loads(info).get("booleans", ()) if b'"booleans"' in info else ()
    return Loaded(dict(_arrays(handle, where, keep, booleans)), info)


_dtype = functools.lru_cache(maxsize=None)(DType)  # of which there are a few


def _arrays(handle: c_void_p, where: _Where, keep: object, booleans: Collection[str] = ()) -> list[tuple[str, Array]]:
    """What was loaded, which is given back with the last of them. C has no booleans: theirs are bytes."""
    api, memory, arrays = _api(), _Memory(handle.value or 0, keep), []
    for i in range(api.loaded_n_tensors(handle)):
        raw = _c.Tensor(ctypes.sizeof(_c.Tensor))
        _check(api.loaded_tensor(handle, i, raw))
        name = raw.name.decode("utf-8", "surrogateescape")
        dtype = BOOL if name in booleans else _dtype(raw.dtype_code, raw.dtype_bits, raw.dtype_lanes)
        inside = where.address <= (raw.data or 0) < where.address + where.size
        arrays.append((name, Array(
            memory, raw.data or 0, tuple(raw.shape[:raw.ndim]), tuple(raw.strides[:raw.ndim]), dtype, inside and not where.writable)))
    return arrays


def _window(timestamp: Optional[Seconds]) -> dict[str, Any]:
    """timestamp=(start, end), in seconds: numbers, Decimals, Fractions or texts of those; end None or infinity (no text): to the end."""
    if timestamp is None:
        return {}
    try:
        start, end = (None if t is None else t if isinstance(t, float) else math.inf if t == Decimal("inf") else Fraction(t) for t in timestamp)
        if start is None or not math.isfinite(start):
            raise ValueError("no start")
        end = None if end == math.inf else end  # as of packets that have no end
    except (TypeError, ValueError, ArithmeticError):
        raise ArgumentError(f"spdl: io: timestamp: got {timestamp!r:.60}, want (start, end) in seconds; end None: to the end") from None
    window = {"start": f"{float(start):.9f}s"}
    if end is not None and not end > start:
        raise ArgumentError(f"spdl: io: timestamp: got {float(start):g} to {float(end):g} s, want an end after the start, or None for the end of the file")
    if end is not None:
        window["duration"] = f"{float(end - start):.9f}s"
    return {"window": window}


def load_audio(src: Source, timestamp: Optional[Seconds] = None, *, sample_rate: Optional[int] = None,
               num_channels: Optional[int] = None, filter_desc: Optional[str] = None, demux_config: Optional[DemuxConfig] = None,
               decode_config: Optional[DecodeConfig] = None, device_config: None = None, **section: Any) -> Array:
    """A sound: float32 [channels, samples], -1 to 1, of the length that FFmpeg's gapless playback has.

    timestamp     (start, end) in seconds from the sound's first sample on; end None: to the end. What is heard while a video's frames are on show
                  begins at pts - probe_audio(src)["start"]
    sample_rate   resampled as torchaudio does; None: as stored (probe_audio tells)
    num_channels  1: their mean; None: as stored
    filter_desc   FFmpeg's filters, such as "highpass=f=80": what timestamp leaves goes through them, before everything else
    demux_config  demux_config(format="s16le", ...): samples without a header
    section       other keys of a description's audio: dtype, layout, length, crop, speed, noise, normalize, gain, features ...
    """
    in_memory("load_audio", device_config)
    given = {"rate": _or_none("load_audio: sample_rate", sample_rate), "channels": _or_none("load_audio: num_channels", num_channels), "filter": filter_desc}
    section = {**configured("load_audio", "audio", demux_config, decode_config), **_window(timestamp),
               **{k: v for k, v in given.items() if v is not None}, **section}
    return load(src, {"audio": section})["audio"]


def _or_none(what: str, value: Optional[int]) -> Optional[int]:
    return None if value is None else whole(f"io: {what}", value)


def _filter(filter_desc: Optional[str]) -> dict[str, Any]:
    return {} if filter_desc is None else {"filter": filter_desc}


def _index(index_dir: Union[str, "os.PathLike[str]", None]) -> dict[str, Any]:
    return {} if index_dir is None else {"cache": {"video_index_dir": os.fsdecode(c_text("io: index_dir", index_dir))}}


def load_video(src: Source, timestamp: Optional[Seconds] = None, *, filter_desc: Optional[str] = None,
               demux_config: Optional[DemuxConfig] = None, decode_config: Optional[DecodeConfig] = None,
               index_dir: Union[str, "os.PathLike[str]", None] = None, device_config: None = None, **section: Any) -> Array:
    """The frames of a video: uint8 [frames, H, W, C], all of them unless select says otherwise.

    timestamp    (start, end) in seconds: frames on show in it; end None: to the end
    filter_desc  FFmpeg's filters, such as "fps=10,hue=s=0": the chosen frames go through them, before transform; there are as
                 many frames then as come out
    decode_config  decode_config(decoder_options={"threads": "4"})
    index_dir    a directory, made if it is missing, that keeps the index of the video's packets, so that the next call does not read
                 them all; "beside": the index lies beside the video's file. It is made anew when the file's size or time
                 changes, or, of a video in memory, its bytes
    section      other keys of a description's video: select, frames, transform, layout, dtype, mode, threads ...

    load(src, {"video": {...}}) gives pts and duration, too.
    """
    in_memory("load_video", device_config)
    return load(src, {"video": {**configured("load_video", "video", demux_config, decode_config), **_window(timestamp), **_filter(filter_desc),
                                **section}, **_index(index_dir)})["video"]


def sample_decode_video(src: Source, indices: Sequence[int], *, filter_desc: Optional[str] = None,
                        index_dir: Union[str, "os.PathLike[str]", None] = None, **section: Any) -> Array:
    """These frames of a video, in this order; a frame may come twice, negative indices count from the end. Only the groups of
    pictures that hold them are decoded. Frame i is torchcodec's frame i in its exact mode. FFmpeg's filters, filter_desc, get
    these frames and no others. index_dir is load_video's."""
    if not isinstance(indices, Iterable):
        raise ArgumentError(f"spdl: io: sample_decode_video: indices={indices!r:.60}, want a list of whole numbers, such as [0, 10, -1]")
    numbers = [whole(f"io: sample_decode_video: indices[{n}]", i) for n, i in enumerate(indices)]
    return load_video(src, filter_desc=filter_desc, index_dir=index_dir, select={"kind": "indices", "indices": numbers}, **section)


def streaming_load_video(src: Source, num_frames: int, timestamp: Optional[Seconds] = None, *,
                         filter_desc: Optional[str] = None, index_dir: Union[str, "os.PathLike[str]", None] = None,
                         **section: Any) -> Iterator[Loaded]:
    """A long video in chunks of num_frames, the last of them shorter: each with "video", "pts" and "duration", as load gives
    them, and as load_video takes filter_desc and index_dir. Memory is taken for one chunk, and for the index; arrays of earlier chunks stay as long as they are held."""
    api, loading = _api(), c_void_p()
    frames = whole("io: streaming_load_video: num_frames", num_frames)
    text = described({"video": {"select": {"kind": "all"}, **_window(timestamp), **_filter(filter_desc), **section, "frames": frames},
                      **_index(index_dir)})
    if hasattr(src, "_decode_chunks"):
        return _chunks(src._decode_chunks(text), _NOWHERE, src)
    where, keep = _where(src)
    _check(api.loading_open(text, *where.arguments, loading))
    return _chunks(loading, where, keep)


def _chunks(loading: c_void_p, where: _Where, keep: object) -> Iterator[Loaded]:
    api = _api()
    try:
        while True:
            _dlpack.sweep()
            handle = c_void_p()
            if _check(api.loading_next(loading, handle)) == _c.END_DATA:
                return
            yield _loaded(handle, where, keep)
    finally:
        api.loading_close(loading)


def load_image(src: Source, *, demux_config: Optional[DemuxConfig] = None, decode_config: Optional[DecodeConfig] = None,
               filter_desc: None = None, device_config: None = None, **section: Any) -> Array:
    """A picture: uint8 [H, W, C], as large as it is unless transform says otherwise.

    section  keys of a description's image: transform, mode, layout, dtype, orientation ...

    filter_desc and device_config are there for None alone: a picture goes through no filters, and comes to memory.
    """
    unfiltered("load_image", filter_desc)
    in_memory("load_image", device_config)
    return load(src, {"image": {**configured("load_image", "image", demux_config, decode_config), **section}})["image"]


def load_npy(src: Source, *, copy: bool = False) -> Array:
    """The array of a .npy file, of booleans, integers or floats: a view of the source's memory where its elements lie as a row-major array's do,
    else a copy; always a copy with copy=True."""
    array = load(src, {"npy": {}})["array"]
    return array.copy() if copy else array


def load_npz(src: Source) -> NpzFile:
    """The arrays of a .npz file by name. Those that are stored uncompressed are views, as of load_npy."""
    loaded = load(src, {"npz": {}})
    return NpzFile(loaded._arrays, loaded._info)


def iter_tarfile(src: Any) -> Iterator[tuple[str, memoryview]]:
    """The regular files of a tar archive: name and bytes, which of an archive in memory are views of it.

    What has a read() is read on as files are asked for, and may be compressed; it is damaged where that shows.
    """
    return _read_tar(src) if hasattr(src, "read") else _members(src, "tar")


def _read_tar(file: Any) -> Iterator[tuple[str, memoryview]]:
    try:
        with tarfile.open(fileobj=file, mode="r|*") as archive:
            for member in archive:
                if member.isreg():
                    data = archive.extractfile(member).read()  # type: ignore[union-attr]
                    if len(data) != member.size:
                        raise SampleError(f'spdl: io: tar: "{member.name}": got {len(data)} bytes, want {member.size}: the archive stops early')
                    yield member.name, memoryview(data)
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise SampleError(f"spdl: io: tar: {error}") from error


def iter_zipfile(src: Source) -> Iterator[tuple[str, memoryview]]:
    """The files of a zip archive, as iter_tarfile; deflated ones are unpacked."""
    return _members(src, "zip")


def _members(src: Source, kind: str) -> Iterator[tuple[str, memoryview]]:
    _dlpack.sweep()
    where, keep = _where(src)
    handle = c_void_p()
    _check(_api().load(described({kind: {}}), *where.arguments, handle))
    return ((name, array.memoryview()) for name, array in _arrays(handle, where, keep))


def load_wav(src: Source, time_offset_seconds: Optional[float] = None, duration_seconds: Optional[float] = None) -> Array:
    """The samples of a WAV as they are stored, from an offset on (None: the start) for a duration (None: to the end): [samples, channels] of uint8, int16,
    int32, float32 or float64. An offset at the end or behind it raises SampleError.

    Of memory it is a view where the samples lie at an address that their type allows. 24-bit samples have no type of their
    own: load_audio reads them as float32.
    """
    start = 0 if time_offset_seconds is None else time_offset_seconds
    return load(src, {"wav": _window((start, None if duration_seconds is None else start + duration_seconds))})["samples"]


def parse_wav(src: Source) -> dict[str, Any]:
    """What a WAV's header says, whatever its codec: format, codec (FFmpeg's name; "" of one without a name here), encoding ("s24"; "" where samples are
    compressed), tag (the codec's number in WAV), bits (of a sample), rate, channels, frames and seconds (-1: it does not say), and start, 0."""
    return load(src, {"probe": "wav"}).info


def probe_audio(src: Source) -> dict[str, Any]:
    """What the container says of its sound: format, codec, rate, channels, frames and seconds (-1: unknown), and start: the second
    of the file's clock, which pts of its video are of, at which the first sample is heard; it may be negative."""
    return load(src, {"probe": "audio"}).info


def probe_video(src: Source) -> dict[str, Any]:
    """What the container says of its video: container, codec, number, width, height, orientation, frames (-1: unknown), rate, start
    and seconds (0: unknown). Headers may be wrong; load(src, {"video": ...}) counts."""
    return load(src, {"probe": "video"}).info


def probe_frames(src: Source) -> dict[str, Any]:
    """What a video's packets and its first frame say: as probe_video, with width, height, pixels (FFmpeg's name of their layout, such as yuv420p), matrix and full
    (of their colours) as they are, frames counted, and closed: whether decoding can start at every key frame, as no frame that is shown before one is decoded behind it, or the other way round; and progressive: whether no frame
    is made of fields. All of the file is read."""
    return load(src, {"probe": "frames"}).info
