"""The handle behind a Loader: spdl_reader and its leases, with the rules of spdl.h kept for everyone above.

- A call that may wait runs without the interpreter lock and is counted; close() leaves the detaching to the last
  of them, since spdl_detach must not race with other calls.
- In a stage a lease that ends without done() or fail() has failed: what was half transformed is not handed on.
- A lease is released exactly once, so the handle is never used after it was freed.
- After a fork the child gets locks of its own; the library itself says Forked there.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import gc
import math
import os
import sys
import threading
import time
import warnings
import weakref
from typing import TYPE_CHECKING, Any, Callable, Optional

from . import _c, _dlpack
from ._dlpack import live as exports
from ._errors import ArgumentError, Detached, Interrupted, SpdlError, error_for
from ._interrupt import Call
from ._lock import Lock

if TYPE_CHECKING:
    import asyncio

_BATCH_BYTES = ctypes.sizeof(_c.Batch)
EMPTY = _c.Batch(_BATCH_BYTES)  # of a lease that has no batch yet
_SET = ctypes.c_int(1)
# A build without the interpreter lock. There an object that a thread has made is let go of by that thread: what others drop last
# waits until it runs Python again, or until the collector does.
FREE_THREADED = "t" in sys.abiflags
SLICE_NS = 5_000_000 if FREE_THREADED else 40_000_000  # longest wait in C: a Ctrl-C is seen after it, at the latest
PATIENCE_NS, LOOK_NS = 100_000_000, 5_000_000_000  # after so long a wait it is looked what other threads have; again when it is twice as long, and so much longer at most
WARN_NS = 25_000_000_000  # after so long a wait a warning says what this program holds itself
JAX_PATIENCE_NS, JAX_NAP_S = 30_000_000_000, 0.01  # how long, and how often, it is looked whether JAX has let go of a batch
NAP_LEAST_NS, NAP_EARLY_NS, NAP_NOISE_NS = 500_000, 2_000_000, 30_000  # as in capi/client/forecast.h
NAP_WAKE_NS = 250_000  # for a timer and a core to wake up, and for the way back into the library

_exiting = False  # the memory stays mapped from here on: views may outlive the interpreter


def _at_exit() -> None:
    """Leave in good order what the program left open: the engine would take it for dead. Threads that still wait detach themselves."""
    global _exiting
    for reader in list(_readers):
        reader.close()
    _exiting = True
    api = _c.loaded()
    if api is not None:
        _dlpack.unwatch()
        api.free.shutdown()  # a batch that is held keeps an engine in this process, and exit() does not come after a Ctrl-C


atexit.register(_at_exit)


def nanoseconds(where: str, seconds: float) -> int:
    """What C takes of a time to wait: 0 of none, the longest there is of infinity."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        try:
            seconds = math.nan if isinstance(seconds, (str, bytes)) else float(seconds)
        except (TypeError, ValueError):
            seconds = math.nan
    if math.isnan(seconds):
        raise ArgumentError(f"spdl: {where}: the timeout is no number, want seconds, or None")
    return max(0, int(min(seconds, 9e9) * 1e9))


def jax_patience_ns() -> int:
    """How long it is waited for leases that all are taken.

    JAX computes after its calls have returned, on the processor out of the batch's own memory, and lets go of what
    it has used up when garbage is collected. Where it is loaded, that is waited for.
    """
    return JAX_PATIENCE_NS if "jax" in sys.modules else 0


# Of all readers where there is no interpreter lock: a finaliser may come while another reader's is held, and two threads would wait
# for each other's.
_shared = Lock()


class Lease:
    """One leased batch. It ends with end(), or with the last reference to it: the batch's own, and that of every view.

    raw    the batch; EMPTY until there is one; once spdl_next_in_epoch has released it, its token is 0
    spare  a struct for the batch after it while Reader.swap runs; filled if a Ctrl-C came in between
    passed in a stage, whether it was handed on: done, or failed
    """

    __slots__ = ("reader", "raw", "spare", "passed", "__weakref__")

    def __init__(self, reader: Reader, raw: _c.Batch) -> None:
        self.reader = reader
        self.raw = raw
        self.spare: Optional[_c.Batch] = None
        self.passed = False

    def __del__(self) -> None:
        if _exiting:
            return
        try:
            reader = self.reader
        except AttributeError:  # a Ctrl-C came as it was made
            return
        if not self.passed and reader.stage and self.raw.token and not reader.closed:
            try:
                self.fail("dropped without done(), release() or fail()")
            except SpdlError:
                pass  # the engine is gone, or has taken it back
        for raw in (self.raw, self.spare):
            if raw is not None and raw.token:
                with reader.lock:
                    reader.release(reader.handle, raw)  # that it was taken back meanwhile is no news any more

    def end(self) -> None:
        """Give the slot back now, and not when the interpreter comes to it. Only for a lease without views."""
        reader, raw = self.reader, self.raw
        if raw.token:
            with reader.lock:
                self.raw = EMPTY  # first: a Ctrl-C may come after the release
                reader.release(reader.handle, raw)

    def done(self) -> None:
        """Mark the batch used. Raises Stale if the engine took it back."""
        self.reader.check(self.reader.done(self.raw))
        self.passed = True

    def fail(self, why: str) -> None:
        """In a stage, end the lease and say why the batch cannot be transformed."""
        self.reader.ask_engine(self.reader.api.free.fail, self.raw, why.encode("utf-8", "replace"))
        self.passed = True

    def tensor(self, position: int) -> tuple[int, bytes]:
        """Describe one tensor of the batch: where its data is, and spdl_tensor from `shape` to its end."""
        reader = self.reader
        thread = reader.thread
        out = thread.tensor
        # without the lock: this lease keeps the handle, also while another thread closes the loader
        status = reader.batch_tensor(reader.handle, self.raw, position, out)
        if status:
            raise reader.error(status)
        return out.data, thread.layout.tobytes()


class _Thread(threading.local):
    """What one thread keeps between calls."""

    def __init__(self) -> None:
        self.spare: Optional[_c.Batch] = None  # a struct for the next acquire; filled if a Ctrl-C came in between
        self.tensor = _c.Tensor(ctypes.sizeof(_c.Tensor))
        self.layout = memoryview(self.tensor).cast("B")[_c.Tensor.shape.offset:]


class Reader:
    """One attached handle. Threads may share it."""

    def __init__(self, api: _c.Api, handle: int) -> None:
        self.api = api
        self.handle = handle
        self.batch_tensor = api.held.batch_tensor
        self._next = api.held.next_in_epoch
        self._next_waiting = api.free.next_in_epoch
        self.release = api.held.release
        self._done = api.held.done
        self.thread = _Thread()
        # Guards the calls, and whether it is closed and detached; a finaliser may enter again.
        self.lock = _shared if FREE_THREADED else Lock()
        self.waiting: dict[asyncio.AbstractEventLoop, set[asyncio.Future[None]]] = {}  # asyncio loop: futures of its tasks that wait for a batch
        self._calls: set[object] = set()  # one for each that may wait
        self._last_wait: tuple[Optional[_c.Batch], int] = (None, 0)  # what it waited for, and since when
        # Length of waits of late, and how far they were from that; threads that wait at the same time may lose one another's.
        self._usual_ns = self._off_ns = 0
        self.stage = False  # whether it belongs to a stage; said by the Loader
        self.shelf: Callable[[], Any] = lambda: None  # what its threads have in hand, the Loader's
        self._closed = False
        self._detached = False
        _readers.add(self)

    # ---- leases

    def acquire(self, timeout_ns: int, epoch: int = _c.ANY_EPOCH) -> Lease | int:
        """The next lease, or the news (TIMEOUT, END_EPOCH, END_DATA). Negative waits without limit."""
        lease = Lease(self, EMPTY)
        return self.fill(lease, timeout_ns, epoch) or lease

    def fill(self, lease: Lease, timeout_ns: int, epoch: int) -> int:
        """Put the next batch, of an epoch or ANY_EPOCH, into a lease of EMPTY; OK, or the news.

        Whatever can be made before the wait is: a thread that has slept finds the caches cold, and every line of Python
        then costs it microseconds.
        """
        if exports:
            _dlpack.sweep()
        own = self.thread.__dict__
        raw = own["spare"]
        if raw is None:
            raw = own["spare"] = _c.Batch(_BATCH_BYTES)
        if raw.data is None:
            with self.lock:
                if self._closed:
                    raise self._closed_error()
                status = self._next(self.handle, epoch, 0, None, raw)
            if status:
                status = self._settle(status, raw, timeout_ns, epoch)
                if status:
                    return status
        if own["spare"] is not raw:  # another thread closed the loader meanwhile, and detaching gave the batch back
            raise self._closed_error()
        lease.raw = raw
        own["spare"] = None
        return 0

    def _settle(self, status: int, raw: _c.Batch, timeout_ns: int, epoch: int) -> int:
        """What comes of an acquire that got no batch at once: OK, or the news."""
        while True:
            if status < 0:
                status = self._refused(status, raw, epoch, timeout_ns)
            if status != _c.TIMEOUT or not timeout_ns:
                return status
            status = self._wait(raw, timeout_ns, epoch)
            if status >= 0:
                return status

    def swap(self, lease: Lease, epoch: int) -> int:
        """Release the lease's batch and put the next one in its place, in one call into the library.

        Returns OK; or the news, above all TIMEOUT where none is ready: the lease is empty then. Raises in no other
        case than acquire. Only for a lease that nobody but its batch holds.
        """
        if exports:
            _dlpack.sweep()
        raw = lease.spare = _c.Batch(_BATCH_BYTES)
        with self.lock:
            if self._closed:
                raise self._closed_error()
            status = self._next(self.handle, epoch, 0, lease.raw, raw)
        if status == _c.OK:
            lease.raw = raw
        elif status < 0:
            status = self._refused(status, raw, epoch)
            lease.raw = raw
        lease.spare = None
        return status

    def rescue(self, lease: Lease) -> None:
        """Have the next acquire return the batch that a swap took when a Ctrl-C came in between."""
        if lease.spare is not None and lease.spare.token:
            self.thread.spare, lease.spare = lease.spare, None

    def _wait(self, raw: _c.Batch, timeout_ns: int, epoch: int) -> int:
        """Acquire in slices, so that signals are handled between them and dead tensors are noticed."""
        begun = time.monotonic_ns()
        end = begun + timeout_ns
        left, looked, patience = SLICE_NS if timeout_ns < 0 else timeout_ns, 0, PATIENCE_NS
        nap = min(left, SLICE_NS, self._nap(raw, begun))
        acquire, handle, this, let_go = self._next_waiting, self.handle, object(), self._calls.discard
        try:
            self._enter(this)
            status = acquire(handle, epoch, nap, None, raw)
            while status:
                if status < 0 and status != _c.E_LEASES:
                    raise self.error(status)  # here: a detach below would change the thread's last error
                if status != _c.TIMEOUT:
                    break
                if self._closed:
                    raise self._closed_error()
                if timeout_ns >= 0:
                    left = end - time.monotonic_ns()
                    if left <= 0:
                        break
                if exports:
                    _dlpack.sweep()
                waited = time.monotonic_ns() - begun
                if waited > patience:
                    self._look_around(waited, looked)
                    looked, patience = waited, waited + min(waited, LOOK_NS)
                status = acquire(handle, epoch, min(left, SLICE_NS), None, raw)
            return status
        finally:
            let_go(this)  # and then look: close() closes and then looks here, so one of the two detaches
            if FREE_THREADED or self._closed:
                self._left()

    def _look_around(self, waited_ns: int, before_ns: int) -> None:
        """A wait has become long, as it is again later: it may be for what this program has itself. Who still waits after WARN_NS says so, once."""
        shelf = self.shelf()
        if shelf is not None:
            shelf.tidy()
        place = _c.ReaderInfo(ctypes.sizeof(_c.ReaderInfo))
        self.ask(self.api.held.get_reader_info, place)
        full = place.leases >= place.max_leases
        if full:
            gc.collect()  # a view may be part of a reference cycle, or its thread not run: see FREE_THREADED
        if before_ns < WARN_NS <= waited_ns:
            held = shelf.held() if shelf is not None else []
            if full:
                held.append(f"all {place.max_leases} that may be held at a time (max_leases) are, by views or by other threads; copy() what is kept, or raise max_leases")
            if held:
                warnings.warn(f"spdl: this thread has waited for {waited_ns / 1e9:.0f} s for a batch; {'; '.join(held)}. A batch is done when its thread asks for the next "
                              "one, or by release()", RuntimeWarning, stacklevel=6)

    def _nap(self, raw: _c.Batch, begun: int) -> int:
        """How long to sleep at first: until shortly before waits of late have ended.

        Who looks then has the way back into Python and through it in its caches; without that it costs more than the wake-up itself.
        Where waits are much alike that is just before the library looks out for the batch, so that they still are when it comes.
        How long the last wait was is asked here, where there is time.
        """
        last, since = self._last_wait
        self._last_wait = raw, begun
        usual, off = self._usual_ns, self._off_ns
        if last is not None and last.published_ns > since:
            more = last.published_ns - since - usual
            most = 4 * off + NAP_NOISE_NS if usual else more  # one that was long by accident is no rule
            more = max(-most, min(most, more))
            self._off_ns = off = off + (abs(more) - off) // 4
            self._usual_ns = usual = usual + more // 4
        early = min(usual // 8, NAP_EARLY_NS)
        if NAP_WAKE_NS + 2 * off < early:
            early = NAP_WAKE_NS + 2 * off
        return usual - early if usual > NAP_LEAST_NS else SLICE_NS

    def _refused(self, status: int, raw: _c.Batch, epoch: int, timeout_ns: int = 0) -> int:
        """Try again if views that nobody can reach any more, or JAX, hold the leases; raise otherwise."""
        error = self.error(status)
        if status != _c.E_LEASES:
            raise error
        patience = jax_patience_ns()
        if timeout_ns >= 0:
            patience = min(patience, timeout_ns)
        end = time.monotonic_ns() + patience
        shelf = self.shelf()
        if shelf is not None:
            shelf.tidy()
        while True:
            gc.collect()  # a view may be part of a reference cycle
            _dlpack.sweep()
            with self.lock:
                if self._closed:
                    raise self._closed_error()
                status = self._next(self.handle, epoch, 0, None, raw)
            if status >= 0:
                return status
            if status != _c.E_LEASES:
                raise self.error(status)
            if time.monotonic_ns() >= end:
                break
            time.sleep(JAX_NAP_S)
        raise type(error)(
            f"{error}; arrays and tensors of a batch hold it: drop them, or keep copies (batch.copy(), array.copy(), tensor.clone(), DataLoader(..., copy=True))"
        )

    def done(self, raw: _c.Batch) -> int:
        with self.lock:
            return self._done(self.handle, raw)

    # ---- other calls

    def call(self, function: Callable[..., int], *arguments: object, accept: int = _c.OK) -> int:
        """Run function(handle, *arguments), which may wait, and raise its errors, but for `accept`."""
        this = object()
        try:
            self._enter(this)
            status = function(self.handle, *arguments)
            if status < 0 and status != accept:
                raise self.error(status)  # here: a detach below would change the thread's last error
            return status
        finally:
            self._calls.discard(this)
            self._left()

    def ask_engine(self, function: Callable[..., int], *arguments: object, accept: int = _c.OK, twice: bool = False) -> int:
        """As call, of what the engine answers: within 10 s, and Ctrl-C is heard meanwhile. What may be asked twice needs no thread as
        long as the answer comes at once."""
        if twice:
            try:
                self.api.held.interrupt_on(_SET)
                return self.call(function, *arguments, accept=accept)
            except Interrupted:
                pass
            finally:
                self.api.held.interrupt_on(None)
        this = object()

        def ask() -> int:
            status = function(self.handle, *arguments)
            if status < 0 and status != accept:
                raise self.error(status)
            return status

        def leave(_: Optional[int]) -> None:
            self._calls.discard(this)
            self._left()

        call = Call(self.api, ask, leave)
        try:
            self._enter(this)
            return call()
        finally:
            if not call.abandoned:
                self._calls.discard(this)
                self._left()

    def _enter(self, this: object) -> None:
        """Count a call that runs without the interpreter lock; the handle lives until it is counted off."""
        with self.lock:
            if self._closed:
                raise self._closed_error()
            self._calls.add(this)

    def _left(self) -> None:
        """Behind a call that was counted off: the last one detaches, if close() left it that."""
        with self.lock:
            if self._closed:
                self._detach()

    def ask(self, function: Callable[..., int], *arguments: object) -> int:
        """Run function(handle, *arguments), which never waits, and raise its errors."""
        with self.lock:
            if self._closed:
                raise self._closed_error()
            return self.check(function(self.handle, *arguments))

    def check(self, status: int) -> int:
        if status < 0:
            raise self.error(status)
        return status

    def error(self, status: int) -> Exception:
        """The exception for this thread's last failed call."""
        held = self.api.held
        text = held.last_error() or held.status_name(status)
        return error_for(status, text.decode("utf-8", "replace"))

    def _closed_error(self) -> Detached:
        return Detached("spdl: this loader is closed; open or attach again")

    # ---- end

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def detached(self) -> bool:
        return self._detached

    def close(self) -> None:
        """Detach, now or when the last waiting call has come back. Leased batches stay readable."""
        if exports:
            _dlpack.sweep()  # first: what is dead keeps no engine
        with self.lock:
            self._closed = True
            self._detach()
        if exports and not _exiting:
            _dlpack.watch()

    def _detach(self) -> None:
        if self._calls or self._detached:
            return
        claimed = self.thread.spare
        if claimed is not None and claimed.data is not None:
            self.thread.spare = None
            self.release(self.handle, claimed)
        leave = Call(self.api, functools.partial(self.api.free.detach, self.handle))  # it may wait for an engine that ends, or for a GPU
        begin = leave.start if leave.heard else leave.work
        if self._detached:  # by a finaliser that came in between
            return
        self._detached = True  # and the call at once: a Ctrl-C may come before or behind the two
        try:
            try:
                begin()
            except RuntimeError:
                leave.run()
            if leave.heard:
                leave.wait()
        except BaseException:
            leave.interrupt()
            raise

    def _reset_in_child(self) -> None:
        self.lock = Lock()
        self._calls = set()
        shelf = self.shelf()
        if shelf is not None:
            shelf.reset_in_child()


_readers: weakref.WeakSet[Reader] = weakref.WeakSet()


def _reset_in_child() -> None:
    global _shared
    _shared = Lock()
    for reader in list(_readers):
        reader._reset_in_child()


os.register_at_fork(after_in_child=_reset_in_child)
