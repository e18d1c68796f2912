"""A child process that serves this one: started, talked to, noticed when it dies, ended with its parent."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import select
import signal
import socket
import threading
import time
import traceback
import weakref
from multiprocessing.connection import Connection, wait
from typing import Any, Callable, Iterable, NamedTuple, Optional

from .._errors import SpdlError
from .._lock import Lock
from ._arena import BUDGET, Packed, Receiver, Sender, SharedFile

PATIENCE = 2.0  # seconds that a worker has to end by itself, then from a SIGTERM, then from a SIGKILL


class WorkerDied(SpdlError, RuntimeError):
    """A worker process ended without being asked to; the text has its exit code or signal."""


class WorkerError(SpdlError, RuntimeError):
    """An exception of a worker process that cannot be pickled, or would end this one, as SystemExit; the text is its traceback."""


class Channel:
    """One end of the talk between parent and worker: (kind, number, object), arrays through shared memory."""

    def __init__(self, connection: Connection, outgoing: SharedFile, incoming: SharedFile, budget: int) -> None:
        self.connection = connection
        self._sender = Sender(outgoing, budget)
        self._receiver = Receiver(incoming)
        self._sending = Lock()

    def send(self, kind: str, number: int = 0, value: Any = None) -> None:
        """Pack and send. Raises what pickling raises, and OSError when the other end is gone."""
        with self._sending:
            packed = self._sender.pack(value)
            self.connection.send_bytes(pickle.dumps((kind, number, tuple(packed), self._receiver.released())))

    def receive(self) -> tuple[str, int, Packed]:
        """The next message, its object still packed. Raises EOFError when the other end is gone."""
        kind, number, packed, freed = pickle.loads(self.connection.recv_bytes())
        if freed:
            with self._sending:
                self._sender.freed(freed)
        return kind, number, Packed(*packed)

    def unpack(self, packed: Packed) -> Any:
        return self._receiver.unpack(packed)

    def discard(self, packed: Packed) -> None:
        """Let go of a message's object without building it."""
        self._receiver.discard(packed.offset)


class Worker:
    """A process that runs main(channel, *args), ended at the latest when this object or this process is gone."""

    def __init__(self, name: str, main: Callable[..., None], args: tuple, *, mp_context: Optional[str] = None,
                 daemon: bool = False, budget: int = BUDGET) -> None:
        context: Any = multiprocessing.get_context(mp_context)
        ours, theirs = context.Pipe()
        up, down = SharedFile(), SharedFile()
        try:
            self.process = context.Process(target=_main, name=name, daemon=daemon,
                                           args=(os.getpid(), theirs, up, down, budget, main, args))
            self.process.start()
        except BaseException as error:
            ours.close()
            up.close()
            down.close()
            if isinstance(error, (pickle.PicklingError, AttributeError, TypeError)):  # what pickle raises
                raise pickle.PicklingError(
                    f"spdl: pipeline: worker {name}: what it runs cannot be sent to a process that is made by "
                    f"{context.get_start_method()}: {error}; take functions and classes that a module defines, no lambdas and none of "
                    "a function's own") from error
            raise
        finally:
            theirs.close()
        self.channel = Channel(ours, down, up, budget)
        self._finaliser = weakref.finalize(self, _end, os.getpid(), _Parts(self.process, ours, (up, down)))
        self._finaliser.atexit = False  # multiprocessing's own handler, which waits for the process, may come before: see end_live
        _live.add(self)

    def wait(self, timeout: Optional[float]) -> bool:
        """Wait for a message; False after timeout seconds. Raises WorkerDied at once when the process has died."""
        if not wait([self.channel.connection, self.process.sentinel], timeout):
            return False
        try:
            if self.channel.connection.poll(0):  # also of one that has died: its last words come first
                return True
        except OSError:
            pass
        raise self.died()

    def receive(self) -> tuple[str, int, Packed]:
        try:
            return self.channel.receive()
        except (EOFError, OSError):
            raise self.died() from None

    def send(self, kind: str, number: int = 0, value: Any = None) -> None:
        """Send; to one that has died, nothing. What it said before is still to be received, and after that, that it died."""
        try:
            self.channel.send(kind, number, value)
        except (BrokenPipeError, ConnectionResetError):
            pass
        except OSError:
            raise self.died() from None

    def died(self) -> WorkerDied:
        if not self._finaliser.alive:
            return WorkerDied(f"spdl: pipeline: worker {self.process.name} was ended by this process")
        self.process.join(1)
        code = self.process.exitcode
        if code is None:
            how = "closed its connection"
        elif code < 0:
            how = f"was killed by {signal.Signals(-code).name}" + (", maybe for want of memory" if code == -9 else "")
        else:
            how = f"ended with exit code {code}"
        return WorkerDied(f"spdl: pipeline: worker {self.process.name} (pid {self.process.pid}) {how}; "
                          "what it had in work is lost")

    def close(self) -> None:
        """End the process."""
        end_all([self])


_live: weakref.WeakSet[Worker] = weakref.WeakSet()


def end_live() -> None:
    """End the workers that are left, at the interpreter's exit. Comes behind the pipelines that use them, and before multiprocessing's
    own handler, which waits for its processes."""
    end_all(_live)


def end_all(workers: Iterable[Worker]) -> None:
    """End the processes of these workers, all at the same time."""
    finalisers = [worker._finaliser.detach() for worker in list(workers)]
    ours = [arguments for _, _, arguments, _ in filter(None, finalisers) if arguments[0] == os.getpid()]
    if ours:
        _end(os.getpid(), *(parts for _, parts in ours))


class _Parts(NamedTuple):
    """What ends with a worker."""

    process: Any
    connection: Connection
    files: tuple[SharedFile, ...]

    def hang_up(self) -> None:
        """Tell the worker that nothing more comes. Not by closing alone: a child that was forked meanwhile, the worker itself
        among them, has this end, too."""
        with contextlib.suppress(OSError):  # the worker's end is gone
            with socket.socket(fileno=os.dup(self.connection.fileno())) as end:
                end.shutdown(socket.SHUT_RDWR)
        self.connection.close()


def _end(owner: int, *workers: _Parts) -> None:
    """Ask workers to end, then make them."""
    if os.getpid() != owner:
        return
    for worker in workers:
        worker.hang_up()
    left = [worker.process for worker in workers]
    for force in ("terminate", "kill", None):
        deadline = time.monotonic() + PATIENCE
        for process in left:
            process.join(max(0.0, deadline - time.monotonic()))
        left = [process for process in left if process.exitcode is None]
        for process in left:
            if force is not None:
                getattr(process, force)()
    for worker in workers:
        if worker.process not in left:
            worker.process.close()
        for file in worker.files:
            file.close()


# ---- in the worker -----------------------------------------------------------------------------


def _main(parent: int, connection: Connection, outgoing: SharedFile, incoming: SharedFile, budget: int,
          main: Callable[..., None], args: tuple) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is the parent's to answer
    end_with(parent)
    channel = Channel(connection, outgoing, incoming, budget)
    try:
        main(channel, *args)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the parent has closed its end


def end_with(parent: int) -> None:
    """End this process as soon as the parent has ended, whatever runs here."""
    try:
        watch = os.pidfd_open(parent)
    except ProcessLookupError:
        os._exit(1)

    def watched() -> None:
        select.select([watch], [], [])
        os._exit(1)

    threading.Thread(target=watched, name="spdl-parent", daemon=True).start()


def send_error(channel: Channel, kind: str, number: int, error: BaseException) -> None:
    """Send an exception as itself where it can be pickled, with its traceback as text."""
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    try:
        whole = pickle.dumps(error)
        pickle.loads(whole)  # some can be pickled but not brought back
    except Exception:
        whole = None
    channel.send(kind, number, (whole, text))


def received_error(value: tuple[Optional[bytes], str], where: str) -> BaseException:
    """The exception that send_error sent; its cause has the traceback of the other process. What is no Exception, such as a
    SystemExit, was meant for the worker: a WorkerError here."""
    whole, text = value
    told = WorkerError(f"spdl: pipeline: in worker {where}:\n{text}")
    if whole is None:
        return told
    error = pickle.loads(whole)
    if not isinstance(error, Exception):
        return told
    error.__cause__ = told
    return error
