"""Signal handlers that raise, as Ctrl-C's does in the main thread: whatever they strike, no lock of the client stays taken."""

from __future__ import annotations

import re
import sys
import threading
from pathlib import Path

import pytest
import spdl
from conftest import ROOT, Mock, together
from spdl._lock import Lock
from spdl._reader import EMPTY

pytestmark = [
    pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.9 and 3.10 look for signals on the way out of a `with`, too"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # some strike the callback of a weak reference
]


def free(lock: Lock) -> None:
    assert not lock._is_owned(), "the lock stayed taken"


# ---- the lock


def passes(lock: Lock) -> None:
    with lock:
        pass


def works(lock: Lock) -> None:
    with lock:
        len(repr(lock))


def fails(lock: Lock) -> None:
    try:
        with lock:
            raise ValueError
    except ValueError:
        pass


def enters_again(lock: Lock) -> None:
    with lock:
        with lock:
            pass


@pytest.mark.parametrize("block", [passes, works, fails, enters_again])
def test_a_lock_is_free_after_a_handler_raised_anywhere_in_its_block(storm, block):
    lock = Lock()
    storm(lambda: [block(lock) for _ in range(2000)], lambda: free(lock))


def test_a_lock_is_free_after_a_handler_raised_in_the_wait_for_it(storm):
    """Other threads take it all the time: the handler strikes the wait, and the moment behind it."""
    lock, over = Lock(), threading.Event()

    def take() -> None:
        while not over.is_set():
            passes(lock)

    def wait() -> None:
        try:
            storm(lambda: [passes(lock) for _ in range(2000)], lambda: free(lock), strikes=500)
        finally:
            over.set()

    others = [threading.Thread(target=take) for _ in range(2)]
    for other in others:
        other.start()
    wait()
    for other in others:
        other.join(60)
        assert not other.is_alive(), "the lock stayed taken"


def test_every_lock_of_the_client_is_that_one():
    """threading's own are left taken, by `with` in Python 3.14 and by what of them is written in Python in every version."""
    own = re.compile(r"threading\.(Lock|RLock|Semaphore|BoundedSemaphore|Event|Barrier)\(|threading\.Condition\(\)|queue\.\w*Queue\((?<!SimpleQueue\()")
    found = [f"{path.name}: {line.strip()}" for path in Path(ROOT, "clients/python/spdl").rglob("*.py") if path.name != "_lock.py"
             for line in path.read_text().splitlines() if own.search(line)]
    assert found == []


# ---- the loader


def loops(loader: spdl.Loader) -> None:
    for batch in loader:
        batch.array("label").memoryview()


def acquires(loader: spdl.Loader) -> None:
    for _ in range(5):
        batch = loader.acquire()
        if batch is not None:
            batch.array("label").memoryview()
            batch.done()
            batch.release()


def exports(loader: spdl.Loader) -> None:
    with loader.acquire() or loader.acquire() as batch:
        batch.array("label").__dlpack__()


def asks(loader: spdl.Loader) -> None:
    loader.info, loader.state, loader.state_dict()


@pytest.mark.parametrize("call", [loops, acquires, exports, asks])
def test_a_loader_serves_all_threads_after_a_handler_raised_anywhere_in_a_call(mock: Mock, storm, call):
    with spdl.open("mock") as loader:
        call(loader)  # imports what it needs
        storm(lambda: [call(loader) for _ in range(20)], lambda: free(loader._reader.lock))
        call(loader)  # the batch that the last one struck was in hand
        together(lambda: loader.info, lambda: loader.acquire(0))


def test_what_was_opened_is_detached_though_a_handler_raised_anywhere_in_the_opening(mock: Mock, storm):
    """A Ctrl-C in the wait for an engine is raised when the library has come back with it: nobody has the loader then."""

    def none() -> None:
        assert (mock.counts.readers, mock.counts.leases) == (0, 0)

    storm(lambda: [spdl.open("mock").close() for _ in range(5)], none)


def test_a_loader_is_detached_though_a_handler_raised_anywhere_in_its_close(mock: Mock, storm):
    """The next close() detaches, and gives back what an earlier Ctrl-C had left for the next loop."""
    loaders = []

    def more() -> None:
        for loader in loaders:
            loader.close()
        assert (mock.counts.readers, mock.counts.leases) == (0, 0)
        loaders[:] = [spdl.open("mock") for _ in range(10)]
        for loader in loaders:
            lease = loader._reader.acquire(0)
            lease.spare, lease.raw = lease.raw, EMPTY
            loader._reader.rescue(lease)

    more()
    storm(lambda: [loader.close() for loader in loaders], more, strikes=100)
    for loader in loaders:
        loader.close()


def test_a_closed_loader_is_detached_though_a_handler_raised_anywhere_in_a_call(mock: Mock, storm):
    """Calls are counted as long as they last, and no longer."""
    for _ in range(20):
        with spdl.open("mock") as loader:
            storm(lambda: [loader.state_dict() for _ in range(10)], lambda: None, strikes=50)
        assert mock.counts.readers == 0
