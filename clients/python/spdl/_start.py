"""open and attach: from a description or a name to a Loader."""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import inspect
import json
import os
import re
import sys
import warnings
import weakref
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, Optional, Union

from . import _c, _feed, _said, _stream, _torchrun
from ._errors import ArgumentError, NotFound, SpecError, StateError, error_for
from ._foreign import own_arguments, refusal, unexpected
from ._given import c_text, odd_place, plain
from ._interrupt import Call
from ._reader import Reader, nanoseconds
from ._torch import ordered
from ._torch.transforms import Places, resolved
from .loader import Loader

Spec = Union[str, "os.PathLike[str]", Mapping[str, Any]]


@own_arguments("open", lambda name, takes: refusal("open", name, takes, "what it takes stands in help(spdl.open)"))
def open(spec: Spec, *, batch: Optional[int] = None, size: Optional[int] = None, shuffle: Optional[bool] = None,
         seed: Optional[int] = None, epochs: Optional[int] = None, dtype: Optional[str] = None, layout: Optional[str] = None,
         state: Optional[dict[str, Any]] = None, engine: Union[str, os.PathLike[str], None] = None,
         args: Sequence[str] = (), group: Optional[str] = None, lane: Optional[int] = None,
         max_leases: Optional[int] = None, share: Optional[bool] = None, handoff: bool = False,
         timeout: Optional[float] = None, in_process: bool = False,
         source: Any = None, source_threads: int = 8, sampler: Any = None) -> Loader:
    """Start an engine for this program and attach to it, of several rings to the first (Loader.ring has the others). It ends with the
    last of its loaders, and with this process.

    spec        path of a description (YAML or JSON), of a folder of pictures or of shards, the URL of such (s3://BUCKET/PREFIX,
                gs://BUCKET/PREFIX, hf://datasets/USER/NAME), or the description as a dict. In a dict the `transform` of an image or video may be
                a Compose of torchvision's or timm's transforms, one of these, or a list of them and of operations (spdl.describe)
    batch, shuffle, seed, epochs
                rows of a batch (32), whether each epoch is in another order (True), by which seed (0), and how many there are (0: endless); in the
                place of what a description says
    size, dtype, layout
                of a folder or of shards, whose description is made here: height and width of pictures and frames in pixels (224), resized and cropped in
                the middle; "u8" (by itself), "f16", "bf16" or "f32", floats as x/255; "NHWC" (by itself) or "NCHW"
    state       what Loader.state_dict() returned, to resume there, of several rings the first, while the others begin (their own
                load_state_dict() takes them on); None starts at the beginning
    engine      path of the spdl command; None: $SPDL_ENGINE, beside libspdl, then PATH
    args        further arguments of `spdl serve`
    group, lane, max_leases, handoff, timeout
                as for attach()
    share       under torchrun, None or True: the ranks of a node share one engine, which local rank 0 starts, and
                each attaches to its lane; False: each rank starts its own, with its share of the CPUs. Elsewhere
                None or False; True is refused. Where torch.distributed has begun without torchrun, each rank has an engine
                of its own and its part of the samples
    in_process  no second process: the engine is a library, libspdl_engine, with the Go runtime in it, that stays
                loaded. A forked child cannot use it (Forked)
    source      a data set of yours in place of the description's source: an object with __len__ and
                __getitem__(index) that returns encoded bytes (also as an array or tensor of one dimension) or a path,
                alone or as (it, label) or (it, label, key). Called in threads of this program, so in_process is
                implied. An exception makes a bad sample; what is no answer at all, a picture that is decoded already
                say, ends the loop with EngineFailed. A description in a file says source: {host: {samples: N}}. Or an
                iterable of the same, of any length, torch's IterableDataset, too: it comes in its own order and time,
                its end ends the epoch, each epoch iterates anew, a state resumes by count, and what it raises ends the
                epoch and then this loop. Under torchrun each rank has all of its own iterable. A file says
                source: {host: {stream: true}} and order: {shuffle: false}
    source_threads
                how many threads call it; an iterable is gone through in one
    sampler     an order of your own over the description's source: an object whose __iter__ gives numbers of samples, from 0 to
                loader.info.samples - 1, as torch's samplers do. It is asked at the beginning of each loop, in this program, so
                in_process is implied; its end ends the epoch, and what it raises is raised by the loop. A state goes on where it gives the
                same order again, else StateError. Under torchrun each rank has all of its own. A description in a file says order: {asked: true}

    Blocks until the engine is ready or has said why not; a rank that attaches to the engine of local rank 0, with no timeout, as long as rank 0
    does, and raises what it raises. Its log goes to stderr (SPDL_LOG sets the level).
    Raises SpecError, EngineStartError, StateError, and what attach() raises; TypeError for other arguments, with what does what they mean.
    """
    args = [*_said.flags(batch=batch, size=size, shuffle=shuffle, seed=seed, epochs=epochs, dtype=dtype, layout=layout), *_listed(args)]
    made = Places()
    if isinstance(spec, Mapping):
        spec, made = resolved(spec)
    order: Optional[ordered.Numbers] = None
    if sampler is not None:
        spec, order = ordered.describe(spec, sampler, source)
    if source is not None:
        spec = _feed.describe(spec, source, source_threads)
    if source is not None or order is not None:
        if share:
            raise ArgumentError(f"spdl: open: share=True and {'source' if order is None else 'sampler'}=: what this program says cannot reach another's engine; leave share out")
        share, in_process = share if _torchrun.ranks() is None else False, True
    stream = order if order is not None else source if isinstance(source, _stream.Stream) else None
    if stream is not None and isinstance(state, Mapping):
        state = dict(stream.loaded(state))
    if order is not None and not isinstance(spec, Mapping):
        args = [*args, "--asked"]  # which is of a folder or shards alone: a description in a file says it
    alone = order is not None or _stream.is_stream(source)  # which is each rank's own
    text = _spec_text(spec)
    ranks = _torchrun.ranks()
    if share and (ranks is None or not ranks.run_id):
        raise ArgumentError("spdl: open: share=True needs LOCAL_RANK and its kin in the environment; run under torchrun")
    attach_opts: dict[str, Any] = dict(group=group, lane=lane, max_leases=max_leases, handoff=handoff, timeout=timeout)
    name: Optional[str] = None
    if ranks is None:
        _warn_of_ranks(spec, args, alone)
    elif ranks.world_size > 1 and (share is False or ranks.local_size == 1):
        if ranks.local_size > 1 or not _says_world(spec, args):
            args = [*args, *_torchrun.own_arguments(ranks, world=not alone)]
    elif ranks.world_size > 1:
        name = _torchrun.next_name(ranks, text)
        attach_opts.update(group=group or _torchrun.GROUP, lane=ranks.local_rank)
        if ranks.local_rank > 0:
            try:
                return _attach_to_rank_0(name, **attach_opts)
            except BaseException:
                _torchrun.take_back(name)
                raise
        args = [*args, *_torchrun.shared_arguments(ranks, name)]
    api = _c.library()
    try:
        with contextlib.nullcontext() if name is None else _torchrun.opening(name):  # what is refused from here on, the other ranks are told
            opts = _open_opts(in_process, engine, args, state, attach_opts)
            loader = _load(api, api.free.open, c_text("open: spec", text), opts, recipe=None)
    except BaseException as error:
        if name is not None:
            _torchrun.take_back(name)
        if isinstance(error, SpecError):
            raise made.explained(error) from None
        raise
    if name is not None and ranks is not None:
        _torchrun.host(loader, name, ranks.local_size - 1)
    loader._for_one = ranks is None and not _says_world(spec, args) and not alone
    if source is not None:
        _bring(loader, source, source_threads)
    if order is not None:
        _order(loader, order)
    return loader


def _listed(args: Sequence[str]) -> Sequence[str]:
    if isinstance(args, (str, bytes)):
        raise TypeError(f"spdl: open: args is the text {args!r}, want a list of arguments, such as args={args.split()!r}")
    return args


def _warn_of_ranks(spec: Spec, args: Sequence[str], alone: bool) -> None:
    """Of a process that is one of several ranks by what its environment says, and of which neither torchrun, torch.distributed nor the description says so."""
    world = None if alone else _torchrun.unsaid()
    if world and not _says_world(spec, args):
        warnings.warn(f"spdl: open: this process is one of several ranks, world: {world}, and torchrun did not start it: each rank reads all samples; open behind init_process_group, or "
                      f"say world: {world} in the description", RuntimeWarning, stacklevel=4)


def _bring(loader: Loader, source: Any, threads: int) -> None:
    """The program's own samples to a loader's engine, as long as the loader is open."""
    try:
        loader._feed = _feed.Feed(loader._reader, source, threads, loader.info.samples, loader._streamed(), loader._takes_arrays())
        loader._stream = loader._feed.stream
        weakref.finalize(loader, loader._reader.close)  # at exit too: the threads are told before Python ends under them
    except BaseException:
        loader.close()
        raise


def _order(loader: Loader, order: ordered.Numbers) -> None:
    """The program's own order to a loader's engine, as long as the loader is open."""
    try:
        if not loader._is_asked():
            raise ArgumentError("spdl: open: sampler is given, and the description's order is not asked for; want order: {asked: true} in it")
        order.belong(loader.info.samples, loader.info.batch_rows, any(ring["order"]["last"] == "drop" for ring in loader._rings()))
        loader._feed, loader._stream = _feed.Feed(loader._reader, order, 1, loader.info.samples, True, False, _feed.say), order
        weakref.finalize(loader, loader._reader.close)
    except BaseException:
        loader.close()
        raise


def _open_opts(in_process: bool, engine: Union[str, os.PathLike[str], None], args: Sequence[str], state: Optional[dict[str, Any]],
               attach_opts: dict[str, Any]) -> _c.OpenOpts:
    if state is not None and not isinstance(state, Mapping):
        raise StateError(f"spdl: open: state is {state!r:.60}, want the dict that state_dict() returned, or None for the start")
    opts = _c.OpenOpts(ctypes.sizeof(_c.OpenOpts), _c.FORM_IN_PROCESS if in_process else _c.FORM_CHILD, _attach_opts(**attach_opts))
    opts.engine = c_text("open: engine", engine) if engine is not None else None
    opts.args = (ctypes.c_char_p * (len(args) + 1))(*(c_text("open: args", argument) for argument in args), None)
    opts.state = json.dumps(state).encode() if state is not None else None
    return opts


OPTIONS = [name for name in inspect.signature(open).parameters if name != "spec"]


@own_arguments("attach", lambda name, takes: unexpected("attach", name, takes, f"want {', '.join(takes)}; what batches are is told to the engine, by spdl serve or spdl.open"))
def attach(name: str, group: Optional[str] = None, lane: Optional[int] = None, max_leases: Optional[int] = None,
           handoff: bool = False, timeout: Optional[float] = None) -> Loader:
    """Attach to a running engine's ring, "NAME" or "NAME/RING"; a name that begins with "/" is its socket's path.

    group       None: the only declared group; without one, a group of this loader's own
    lane        the lane to take in a group with lanes; None: under torchrun the one of this local rank (Busy where another
                has it), elsewhere any that is free
    max_leases  batches this loader may hold at once, views of them included; None: 4, or as many as the ring has left
    handoff     other threads give back what one acquires: acquire waits for them instead of raising
                LeasesExhausted or Undone
    timeout     seconds for the engine to appear and answer; None: 10

    Raises NotFound, Denied, Busy (with the numbers), VersionMismatch, FormatError, EngineLost, and EngineStopped of one that is ending.
    """
    ours = _torchrun.lane() if lane is None else None
    if ours is not None:
        try:
            return attach(name, group, ours, max_leases, handoff, timeout)
        except ArgumentError:
            pass  # of a group without lanes, or of what is wrong without one, too
    api = _c.library()
    opts = _attach_opts(group, lane, max_leases, handoff, timeout)
    return _load(api, api.free.attach, c_text("attach: name", name), opts, (name, group, lane, max_leases, handoff, timeout))


def _says_world(spec: Spec, args: Sequence[str]) -> bool:
    """Whether the caller says which ranks an engine serves."""
    if any(str(one).startswith(("--world-size", "--rank", "-world-size", "-rank")) for one in args):
        return True
    if isinstance(spec, Mapping):
        return "world" in spec
    try:
        with builtins.open(os.fspath(spec), encoding="utf-8-sig", errors="replace") as file:
            return _has_world(file.read(1 << 20))
    except OSError:  # a folder
        return False


def _has_world(text: str) -> bool:
    """Whether a description has the key at its top, not below as the name of a field, say. Python brings no YAML along."""
    try:
        said = json.loads(text)
        return isinstance(said, dict) and "world" in said
    except ValueError:
        pass
    start = re.match(r"(?:[ \t]*(?:#.*|---.*)?\n)*([ \t]*)(\{?)", text)
    indent, braces = start.groups() if start else ("", "")
    before = r"[{,]\s*" if braces else f"^{indent}"
    return re.search(before + r"""["']?world["']?\s*:""", text, re.M) is not None


def _attach_to_rank_0(name: str, timeout: Optional[float], **options: Any) -> Loader:
    """Attach to the engine that local rank 0 starts. As long as rank 0 opens it the wait goes on, unless the caller bounds it."""
    here, patience = None, timeout
    try:
        here = _torchrun.meet(name, timeout)
        if here is None:
            patience = 1.0 if timeout is None else min(timeout, 1.0)  # local rank 0 may be unable to say that it is there
    except PermissionError:
        pass
    try:
        loader = attach(name, timeout=patience, **options)
    except NotFound as error:
        if here is not None:
            here.close()
        if "no engine answers" not in str(error):
            raise
        raise NotFound(
            f"spdl: open: the engine of local rank 0 has ended ({error})" if here is not None else
            f"spdl: open: local rank 0 has started no engine of this description within {10 if timeout is None else timeout:g} s; every rank "
            f"opens the same descriptions, as often and in the same order, or share=False for an engine of its own ({error})"
        ) from None
    except BaseException:
        if here is not None:
            here.close()
        raise
    if here is not None:
        _torchrun.visit(loader, here)
    return loader


def attach_ring(of: Loader, ring: str, recipe: Optional[tuple], **options: Any) -> Loader:
    """Loader.ring."""
    reader = of._reader

    def attach_over(ring: bytes, opts: Any, out: Any) -> int:
        return reader.call(reader.api.free.attach_ring, ring, opts, out)

    loader = _load(reader.api, attach_over, c_text("ring: name", ring), _attach_opts(**options), recipe)
    loader._for_one = of._for_one
    return loader


def _load(api: _c.Api, function: Any, what: bytes, opts: ctypes.Structure, recipe: Optional[tuple]) -> Loader:
    reader = None

    def join() -> Optional[int]:
        handle = ctypes.c_void_p()
        status = function(what, ctypes.byref(opts), ctypes.byref(handle))
        if status < 0:
            text = api.held.last_error() or api.held.status_name(status)
            raise error_for(status, text.decode("utf-8", "replace"))
        return handle.value

    call = Call(api, join, api.free.detach)
    try:
        reader = Reader(api, call())
        return Loader(reader, recipe)
    except BaseException:
        if reader is not None:
            reader.close()
        elif call.result and not call.abandoned:
            api.free.detach(call.result)
        raise


def _attach_opts(group: Optional[str], lane: Optional[int], max_leases: Optional[int], handoff: bool,
                 timeout: Optional[float]) -> _c.AttachOpts:
    for what, number in (("lane", lane), ("max_leases", max_leases)):
        if number is not None and not isinstance(number, Integral):
            raise ArgumentError(f"spdl: attach: {what} is {number!r}, want a whole number, or None")
    if lane is not None and lane < 0:
        raise ArgumentError(f"spdl: attach: lane {lane}, want 0 or more, or None for any")
    if max_leases is not None and not 1 <= max_leases < 1 << 32:
        raise ArgumentError(f"spdl: attach: max_leases {max_leases}, want 1 or more")
    return _c.AttachOpts(
        struct_size=ctypes.sizeof(_c.AttachOpts),
        flags=_c.ATTACH_HANDOFF if handoff else 0,
        group=c_text("attach: group", group) if group is not None else None,
        lane=_c.ANY_LANE if lane is None else lane,
        max_leases=max_leases or 0,
        timeout_ns=0 if timeout is None else nanoseconds("attach", timeout) or 1,  # 0 is the library's own 10 s
        client=b"python %d.%d" % sys.version_info[:2],
    )


def check_kind(spec: Spec) -> None:
    """Refuse what is no description at all, with TypeError."""
    if isinstance(spec, (str, bytes, os.PathLike, Mapping)):
        return
    is_data = hasattr(spec, "__getitem__") or hasattr(spec, "__iter__")
    remedy = "; a data set of yours comes as source=, behind a description of the rest" if is_data else ""
    raise TypeError(f"spdl: open: the description is of type {type(spec).__name__}, want a dict, or the path of a file or folder{remedy}")


def _spec_text(spec: Spec) -> str:
    """What spdl_open takes: a path, or a description as JSON, which begins with '{'."""
    if isinstance(spec, Mapping):
        try:
            return json.dumps(dict(spec), default=plain)
        except (TypeError, ValueError) as error:
            raise SpecError(f"spdl: open: {odd_place(spec)}the description is not plain data: {error}") from None
    check_kind(spec)
    path = os.fspath(spec)
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if re.match(r'\s*\{\s*"|[^\n]*:[^\n]*\n', path) and not os.path.exists(path):
        raise SpecError("spdl: open: the description is text, want a dict, such as json.loads(text) or yaml.safe_load(text) gives, or the path of a file or folder")
    if path.lstrip(" \t\r\n").startswith("{"):
        return "./" + path  # a file with that odd name
    return path
