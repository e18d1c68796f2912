"""Under torchrun: who starts the engine, and what the others call it.

The ranks of a node share one engine. Local rank 0 starts it as its child, told to listen under a name that every
rank of the node computes alike, and to give the group "train" one lane per local rank; the others attach. So every rank opens the
same descriptions, as often and in the same order.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import errno
import hashlib
import json
import os
import re
import selectors
import socket
import struct
import sys
import threading
import time
import warnings
import weakref
from typing import TYPE_CHECKING, Any, Iterator, NamedTuple, Optional

from . import _siblings
from ._errors import ArgumentError, EngineStartError, NotFound, SpdlError, SystemCallError, error_for

if TYPE_CHECKING:
    from .loader import Loader

GROUP = "train"
BEGIN_S = 10.0  # how long the other ranks wait for local rank 0 to begin to open
LEAVE_S = 5.0  # how long local rank 0 waits at its end for the other ranks
CLOSED = 16  # of how many engines that not all ranks came to it is said that they have ended; each costs a descriptor


class Ranks(NamedTuple):
    rank: int
    world_size: int
    local_rank: int
    local_size: int
    run_id: str  # "": torch.distributed says the ranks, and nothing of which of them share a node


def ranks() -> Optional[Ranks]:
    """What torchrun says in the environment, or else torch.distributed where a program has begun it; None elsewhere. Raises ArgumentError
    if torchrun says half of it."""
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    values: list[Any] = [os.environ.get(name) for name in names]
    if "LOCAL_RANK" not in os.environ or "LOCAL_WORLD_SIZE" not in os.environ:
        return _distributed()
    try:
        rank, world_size, local_rank, local_size = (int(value) for value in values)
    except (TypeError, ValueError):
        said = ", ".join(f"{name}={value}" for name, value in zip(names, values))
        raise ArgumentError(f"spdl: torchrun's environment is not whole numbers: {said}") from None
    if not (0 <= local_rank < local_size and local_rank <= rank < world_size):
        said = ", ".join(f"{name}={value}" for name, value in zip(names, values))
        raise ArgumentError(f"spdl: torchrun's environment contradicts itself: {said}")
    run_id = os.environ.get("TORCHELASTIC_RUN_ID", "none")
    if run_id == "none":  # torchrun's default, and Ray's: told apart by where the ranks meet
        run_id = f"run-{os.environ.get('MASTER_PORT', '0')}"
    return Ranks(rank, world_size, local_rank, local_size, run_id)


def _distributed() -> Optional[Ranks]:
    """As torch.distributed counts them, whoever started the processes: Lightning's own launcher, torch.multiprocessing.spawn."""
    torchs = sys.modules.get("torch.distributed")
    if torchs is None or not torchs.is_available() or not torchs.is_initialized():
        return None
    return Ranks(torchs.get_rank(), torchs.get_world_size(), 0, 1, "")


def unsaid() -> Optional[str]:
    """As a description would say it: the world that a program is in by its environment, where nobody says the rank."""
    try:
        size, rank = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", -1))
    except ValueError:
        return None
    return f"{{size: {size}, rank: {rank if rank >= 0 else '...'}}}" if size > 1 else None


def refuse_late_ranks() -> None:
    """Raises ArgumentError where a loader that was opened for all samples is about to give them in one of several ranks."""
    here = ranks()
    if here is not None and here.world_size > 1:
        raise ArgumentError(f"spdl: loop: got a loader that was opened before this process was rank {here.rank} of {here.world_size}, which has all samples, as the other ranks' have, want one that "
                            "knows of its ranks; open it behind init_process_group (under Lightning in train_dataloader of the module or data module), start the program by torchrun, or say world: "
                            f"{{size: {here.world_size}, rank: {here.rank}}} in the description, or {{size: 1}} for all samples in each rank")


def name(ranks: Ranks, text: str) -> str:
    """The engine's name on this node: the run, and a digest of the description, so that two of them do not meet."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape"))
    if os.path.isfile(text):
        with open(text, "rb") as file:
            digest.update(file.read())
    run = re.sub(r"[^A-Za-z0-9_-]", "-", ranks.run_id)[:32]
    return f"{run}-r{ranks.rank - ranks.local_rank}-{digest.hexdigest()[:12]}"


_opened: collections.Counter[str] = collections.Counter()  # engines of a name, in this process


def next_name(ranks: Ranks, text: str) -> str:
    """The name of the next engine of this description: another than those before it. A rank that is ahead of local rank 0 would attach
    to the one that ends, and two at once would be one."""
    first = name(ranks, text)
    _opened[first] += 1
    return _last(first)


def _last(first: str) -> str:
    """The last of the names that were given for this one."""
    return first if _opened[first] == 1 else f"{first}-{_opened[first]}"


def take_back(name: str) -> None:
    """The last next_name came to nothing: it is the next one's, too."""
    for first in _opened:
        if name == _last(first):
            _opened[first] -= 1


# Sockets without a file, which the kernel takes away with this process: local rank 0 listens at "opening" until it has the engine, or says there
# what went wrong, and at "opened" for as long as it has the loader. There the other ranks hang on while they have theirs. At "closed" it listens
# behind that where not all of them had come.
_listening: dict[tuple[str, str], socket.socket] = {}
_telling: dict[str, threading.Thread] = {}  # what went wrong, at "opening" of a name
_closed: collections.deque[str] = collections.deque()  # the names of "closed", the last CLOSED of them


def _address(what: str, name: str) -> str:
    return f"\0spdl-{what}-{os.getuid()}-{name}"


_warned = False  # that nobody can be waited for


def _listen(what: str, name: str) -> Optional[socket.socket]:
    """None where such sockets are refused, as in a sandbox: the engine is a name in a directory all the same."""
    global _warned
    _hush(what, name)
    one = socket.socket(socket.AF_UNIX)
    _listening[what, name] = one
    try:
        one.bind(_address(what, name))
        one.listen()
        return one
    except OSError as error:
        _hush(what, name)
        if error.errno == errno.EADDRINUSE:
            raise SystemCallError(f"spdl: open: a socket for the other ranks to come to: {error}: another run on this node has its name; "
                                  "give each a --rdzv-id of its own") from None
        if not _warned:
            _warned = True
            warnings.warn(f"spdl: open: a socket for the other ranks to come to: {error}: they wait up to 10 s for the engine, and local rank 0 does not wait for them "
                          "at its end; let this program bind abstract sockets", RuntimeWarning, stacklevel=2)
        return None


def _hush(what: str, name: str) -> None:
    one = _listening.pop((what, name), None)
    if one is not None:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)  # a thread that accepts is woken by it, and the address in use while it does
        one.close()
        if what == "opening" and name in _telling:
            _telling.pop(name).join()


def _in_forked_child() -> None:
    """What the parent listens at ends with the parent alone."""
    for one in _listening.values():
        one.close()
    _listening.clear()
    _telling.clear()
    _closed.clear()


os.register_at_fork(after_in_child=_in_forked_child)


@contextlib.contextmanager
def opening(name: str) -> Iterator[None]:
    """Local rank 0 opens the engine of this name, which takes as long as its source does, for an index of many shards say: the other ranks
    wait as long. Where it fails they are told why, those that come later, too, until this process opens it again or ends."""
    announced = _listen("opening", name)
    try:
        yield
        _listen("opened", name)
    except BaseException as error:
        if announced is not None and isinstance(error, SpdlError):
            told = json.dumps([error.status, str(error)]).encode()
            announced.setblocking(False)
            _tell(announced, told)  # those who wait already: this process may end now
            announced.setblocking(True)
            _telling[name] = threading.Thread(target=_tell, args=(announced, told), name="spdl-opening", daemon=True)
            _telling[name].start()
        else:
            _hush("opening", name)
        raise
    _hush("opening", name)


def _tell(announced: socket.socket, told: bytes) -> None:
    with contextlib.suppress(OSError):  # nobody waits, or it is opened again
        while True:
            asked, _ = announced.accept()
            with asked, contextlib.suppress(OSError):
                asked.sendall(told)


def meet(name: str, timeout: Optional[float]) -> Optional[socket.socket]:
    """Wait for local rank 0's engine of this name, and hang on. Without a timeout the wait is as long as local rank 0 opens it, and BEGIN_S
    for that to begin. None: the time is over. Raises what local rank 0's open raised, NotFound where it is known that nothing will come, and
    PermissionError where ranks cannot meet."""
    end = time.monotonic() + (BEGIN_S if timeout is None else timeout)
    look_for_rank_0()
    while True:
        over = _is_over(name)  # looked at first: what opened before it was over is found below
        here = _connected("opened", name)
        if here is not None:
            return here
        left = end - time.monotonic()
        asked = _connected("opening", name) if left > 0 or timeout is None else None
        if asked is not None:
            _hear(asked, None if timeout is None else left)
        elif over:
            raise NotFound(f"spdl: open: local rank 0 {over} before this rank came, and no engine of this description comes any more; every rank "
                           "opens the same descriptions, as often and in the same order, or share=False for an engine of its own")
        elif left <= 0:
            return None
        else:
            time.sleep(0.01)


_rank_0: Optional[_siblings.Sibling] = None


def look_for_rank_0() -> None:
    """The others have to see local rank 0's process while it runs, to know later that it has ended: when they load this package."""
    global _rank_0
    if _rank_0 is None and os.environ.get("LOCAL_RANK", "0") != "0":
        _rank_0 = next(iter(_siblings.siblings(lambda local_rank: local_rank == 0)), None)


look_for_rank_0()


def _is_over(name: str) -> Optional[str]:
    """Why local rank 0 will not open the engine of this name any more; None where it may."""
    closed = _connected("closed", name)
    if closed is not None:
        closed.close()
        return "has closed its loader"
    if _rank_0 is not None and _siblings.has_ended(_rank_0.fd):
        return f"has ended (process {_rank_0.pid})"
    return None


def _connected(what: str, name: str) -> Optional[socket.socket]:
    one = socket.socket(socket.AF_UNIX)
    try:
        one.connect(_address(what, name))
        return one
    except BaseException as error:
        one.close()
        if isinstance(error, OSError) and not isinstance(error, PermissionError):
            return None
        raise


def _hear(asked: socket.socket, timeout: Optional[float]) -> None:
    """Until local rank 0 has opened, has failed, or is no more."""
    told = b""
    with asked, contextlib.suppress(OSError):
        asked.settimeout(timeout)
        while more := asked.recv(1 << 16):
            told += more
    if told:
        status, text = json.loads(told)
        raise error_for(EngineStartError.status if status is None else status, f"{text} (said by local rank 0, which opens for its node)")


def lane() -> Optional[int]:
    """The lane that is this rank's where a group has lanes; None where there is one rank, or no torchrun that says all of it."""
    try:
        here = ranks()
    except ArgumentError:
        return None
    return here.local_rank if here is not None and here.local_size > 1 else None


def shared_arguments(ranks: Ranks, name: str) -> list[str]:
    """Arguments of `spdl serve` for the one engine of a node."""
    first = ranks.rank - ranks.local_rank
    return ["--name", name, "--listen", "--group", f"{GROUP}:lanes={ranks.local_size}",
            "--world-size", str(ranks.world_size), "--rank", str(first)]


def own_arguments(ranks: Ranks, world: bool = True) -> list[str]:
    """Arguments of `spdl serve` for an engine per rank, which has the rank's part of the samples or, without world, all of them."""
    part = ["--world-size", str(ranks.world_size), "--rank", str(ranks.rank)] if world else []
    if ranks.local_size == 1:
        return part
    return [*part, "--cpus", f"{len(os.sched_getaffinity(0)) / ranks.local_size:g}"]


_hosts: weakref.WeakSet[Loader] = weakref.WeakSet()  # loaders of engines that other ranks attach to


class Host(NamedTuple):
    """What local rank 0 knows of those who attach to its engine."""

    name: str
    others: int
    seen: list[_siblings.Sibling]  # as many of them as could be seen when it opened the engine


def host(loader: Loader, name: str, others: int) -> None:
    """The engine of this loader is the other ranks', too: they may be yet to come, or a batch or two behind, when it is closed, or when this process ends."""
    if not _hosts:
        atexit.unregister(_at_exit)
        atexit.register(_at_exit)  # before what closes all readers, which was registered when that was imported
    _hosts.add(loader)
    loader._host = Host(name, others, _siblings.siblings(lambda local_rank: 0 < local_rank <= others))


def visit(loader: Loader, here: socket.socket) -> None:
    """The loader is another rank's than the host's, and hangs on until it ends."""
    loader._visit = weakref.finalize(loader, here.close)


def see_off(loader: Loader) -> None:
    """Before a host leaves: wait, up to LEAVE_S, until the other ranks have come and gone, or ended."""
    if loader._host is None:
        return
    all_came = False
    with contextlib.suppress(SpdlError):
        if loader.state in ("starting", "running", "ended"):  # else there is nothing left to come for
            all_came = _await_visits(_listening.get(("opened", loader._host.name)), loader._host)
    leave(loader, all_came)


def leave(loader: Loader, all_came: bool = False) -> None:
    """Whoever comes now finds no host, and is told so."""
    if loader._host is not None:
        host, loader._host = loader._host, None
        if not all_came and ("opened", host.name) in _listening:
            _listen_closed(host.name)
        _hush("opened", host.name)
        for one in host.seen:
            os.close(one.fd)


def _listen_closed(name: str) -> None:
    with contextlib.suppress(OSError, SystemCallError):
        if _listen("closed", name):
            _closed.append(name)
    while len(_closed) > CLOSED:
        _hush("closed", _closed.popleft())


def _await_visits(opened: Optional[socket.socket], host: Host) -> bool:
    """Whether all others came. Those who live and have not come may come yet, for LEAVE_S."""
    if opened is None:
        return False  # of the process that this one was forked from
    end, came = time.monotonic() + LEAVE_S, 0
    visits: set[socket.socket] = set()
    all_seen, to_come = len(host.seen) == host.others, {one.pid: one.fd for one in host.seen}
    with selectors.DefaultSelector() as selector:
        selector.register(opened, selectors.EVENT_READ)
        for process in to_come.values():
            selector.register(process, selectors.EVENT_READ)
        while (visits or came < host.others and (to_come or not all_seen)) and (left := end - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                if key.fileobj is opened:
                    visit, _ = opened.accept()
                    came += 1
                    visits.add(visit)
                    selector.register(visit, selectors.EVENT_READ)
                    to_come.pop(_peer(visit), None)
                else:  # nobody says anything there but that it leaves; a process has ended
                    left_by: Any = key.fileobj
                    selector.unregister(left_by)
                    if left_by in visits:
                        visits.remove(left_by)
                        left_by.close()
                    to_come = {pid: fd for pid, fd in to_come.items() if fd != left_by}
    for visit in visits:
        visit.close()
    return came >= host.others


def _peer(visit: socket.socket) -> int:
    """The process at the other end."""
    return struct.unpack("3i", visit.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))[0]


def _at_exit() -> None:
    if getattr(sys, "last_type", None) is None:  # else the others wait for this rank, not for the engine
        for loader in list(_hosts):
            see_off(loader)
