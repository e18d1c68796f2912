"""The one lock of the client. A signal handler that raises, as Ctrl-C's does in the main thread, leaves it as it was."""

from __future__ import annotations

import sys
import threading

if sys.version_info < (3, 14):
    Lock = threading.RLock
else:
    # There the interpreter looks for signals whenever a function in C has returned, and so between RLock.__enter__ and the block of
    # the `with`: what a handler raises then leaves the lock taken for ever. It does not look when a function in Python returns, nor
    # when an attribute was read. So this one enters in Python, and takes the lock as an attribute is read. __exit__ stays C's:
    # nobody looks between the block's end and the call of it, but would at the first line of one in Python.
    _RLock = type(threading.RLock())

    class Lock(_RLock):
        __slots__ = ()
        _taken = property(_RLock.acquire)

        def __enter__(self) -> None:
            self._taken
