"""Calls into the library that may wait for long, with Ctrl-C heard meanwhile.

Python runs signal handlers between its own instructions, and a call into C is one of them. So what the main thread would wait for there, as it is the
one that handlers run in, another thread does, while the main thread waits where signals are seen. What a handler raises interrupts the call
(spdl_interrupt_on), and goes on from here within GRACE_S: a call that has not come back by then ends without anybody.
"""

from __future__ import annotations

import _thread
import ctypes
import functools
import threading
import time
from typing import Any, Callable, Optional

from . import _c

SLICE_S = 0.04  # a signal that another thread was given is seen after it
GRACE_S = 0.05


class Call:
    """One call of `work`. Whatever a signal handler raises in the main thread, and wherever in here, one of the two has the result: who made
    this, in `result`, or, where it was `abandoned`, `undo`, which is called with it behind the call (None where that failed)."""

    def __init__(self, api: _c.Api, work: Callable[[], Any], undo: Optional[Callable[[Any], object]] = None) -> None:
        self._api = api
        self.work = work
        self._undo = undo
        self.result: Any = None
        self.abandoned = False
        self._error: Optional[BaseException] = None
        self._flag = ctypes.c_int(0)
        self._begins, self._ends = [None], [None]  # who takes what is in them decides: whether it is called, and who has the result
        self._over = False
        self._news = _thread.allocate_lock()
        self._news.acquire()
        self.heard = _thread.get_ident() == threading.main_thread().ident
        self.start = functools.partial(_thread.start_new_thread, self.run, ())  # a function of C: no signal is looked for on the way into it

    def __call__(self) -> Any:
        if not self.heard:
            self.result = self.work()
            return self.result
        try:
            try:
                self.start()
            except RuntimeError:
                self.run()
            self.wait()
        except BaseException:
            self._abandon()
            raise
        error, self._error = self._error, None
        try:
            if error is not None:
                raise error
        finally:
            del error  # it has this frame, which has it
        return self.result

    def wait(self) -> None:
        """Until one that was started is over."""
        while not self._news.acquire(True, SLICE_S):
            pass

    def interrupt(self) -> None:
        """End one that was started early, and wait for that, but no longer than GRACE_S."""
        self._flag.value = 1
        self._news.acquire(True, GRACE_S)

    def run(self) -> None:
        """What the other thread does; where it does not, as there are no more threads at the interpreter's end, whoever calls this."""
        try:
            self._begins.pop()
        except IndexError:
            return
        interrupt_on = self._api.held.interrupt_on
        interrupt_on(self._flag)
        try:
            self.result = self.work()
        except BaseException as error:
            self._error = error
        interrupt_on(None)
        try:
            self._ends.pop()
        except IndexError:
            result, self.result, self._error = self.result, None, None
            if self._undo is not None:
                self._undo(result)
        self._over = True
        self._news.release()

    def _abandon(self) -> None:
        try:
            self._begins.pop()
            return  # it will not be made
        except IndexError:
            pass
        try:
            self._ends.pop()
            self.abandoned = True
        except IndexError:  # it has been
            while not self._over:
                time.sleep(0.001)
            return
        self.interrupt()
