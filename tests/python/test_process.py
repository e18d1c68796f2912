"""fork, spawn, and the end of the interpreter, each in a process of its own."""

from __future__ import annotations

import os
import time

import pytest
from conftest import built

CHILD = """
import gc, os, sys, traceback
import spdl

def in_child(function):
    pid = os.fork()
    if pid == 0:
        try:
            function()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0, "the child failed"
"""


def run(python, library, script, *args):
    done = python(CHILD + script, *args, library=library)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", done.stderr
    return done.stdout


def test_a_forked_child_is_told_so_and_its_parent_is_undisturbed(engine, library, python):
    """Every call raises Forked there, releases and finalisers do nothing, views stay readable."""
    one = engine("--batches", "30")
    run(python, library, """
loader = spdl.attach(sys.argv[1])
batch = loader.acquire()
view = batch.array("x").memoryview()

def child():
    for use in (loader.acquire, loader.state_dict, loader.restart, lambda: loader.info, lambda: batch["x"]):
        try:
            use()
        except spdl.Forked as error:
            assert "attach again" in str(error), error
        else:
            raise AssertionError(f"{use} worked")
    assert view.tobytes()[:8] == bytes(8)  # ticket 0
    globals().pop("batch")
    gc.collect()
    loader.close()

in_child(child)
assert loader.info.leases == 1
view.release()
batch.release()
assert [b.ticket for b in loader] == list(range(1, 30))
loader.close()
""", one.name)
    group, = one.stop()
    assert (group["completed"], group["redelivered"], group["violations"]) == (30, 0, 0)


def test_a_forked_child_may_attach_afresh(engine, library, python):
    one = engine("--batches", "20", "--slots", "12", "--groups", "train")
    run(python, library, """
loader = spdl.attach(sys.argv[1])
loader.acquire().release()

def child():
    with spdl.attach(sys.argv[1]) as own:
        own.acquire().release()
        own.acquire().release()

in_child(child)
assert len(list(loader)) == 17
""", one.name)


def test_a_fork_while_another_thread_waits_does_not_hang_the_child(engine, library, python):
    """The waiting thread may hold the loader's lock at the moment of the fork."""
    one = engine("--rate", "0.01", "--slots", "12")
    run(python, library, """
import threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 and newer warn of such forks
loader = spdl.attach(sys.argv[1])

def wait():
    try:
        loader.acquire()
    except spdl.Detached:
        pass

thread = threading.Thread(target=wait)
thread.start()

def child():
    loader.close()
    try:
        loader.acquire()
    except spdl.Detached:
        pass
    spdl.attach(sys.argv[1]).close()

for _ in range(10):
    in_child(child)
loader.close()
thread.join()
""", one.name)


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_a_loader_passes_to_a_process_by_name(engine, library, tmp_path, python, method):
    """multiprocessing pickles (name, group, lane); the other process attaches anew."""
    one = engine("--groups", "train:lanes", "--lanes", "2", "--batches", "10", "--slots", "12")
    script = tmp_path / "consume.py"
    script.write_text("""
import multiprocessing, pickle, sys
import spdl

def consume(text, queue):
    with pickle.loads(text) as loader:
        queue.put((loader.info.lane, [batch.ticket for batch in loader]))

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[2])
    loaders = [spdl.attach(sys.argv[1], "train", lane) for lane in (0, 1)]
    texts = [pickle.dumps(loader) for loader in loaders]
    for loader in loaders:
        loader.close()
    queue = context.Queue()
    processes = [context.Process(target=consume, args=(text, queue)) for text in texts]
    for process in processes:
        process.start()
    print(sorted(queue.get() for _ in processes))
    for process in processes:
        process.join()
""")
    done = python(f"import subprocess, sys; sys.exit(subprocess.call([sys.executable, {str(script)!r}, *sys.argv[1:]]))",
                  one.name, method, library=library)
    assert done.stdout.strip() == str([(0, list(range(0, 20, 2))), (1, list(range(1, 20, 2)))]), done.stderr


HELD = {
    "a batch": "kept = loader.acquire()",
    "an array": "kept = loader.acquire().array('x')",
    "a memoryview": "kept = loader.acquire().array('x').memoryview()",
    "a numpy view": "kept = loader.acquire()['x']",
    "a numpy tensor through dlpack": "import numpy; kept = numpy.from_dlpack(loader.acquire().array('x'))",
    "a capsule": "kept = loader.acquire().array('x').__dlpack__()",
    "an iterator": "kept = iter(loader); next(kept)",
    "a cycle": "kept = [loader.acquire()['x']]; kept.append(kept)",
    "a torch tensor": "import torch; kept = loader.acquire().array('x').torch()",
}
WHERE = {
    "in the module": "",
    "in builtins, the last module to go": "import builtins; builtins.kept = kept",
    "in a thread": "import threading; threading.Thread(target=lambda k=kept: __import__('time').sleep(.2), daemon=True).start()",
    "beyond the close": "loader.close()",
    "for ever": "import ctypes; ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))",
}


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("held", HELD)
def test_the_interpreter_ends_in_peace_with_batches_alive(engine, library, python, held, where):
    for module in ("numpy", "torch"):
        if module in held:
            pytest.importorskip(module)
    one = engine("--access", "private")
    run(python, library, f"loader = spdl.attach(sys.argv[1])\n{HELD[held]}\n{WHERE[where]}\n", one.name)


def test_the_interpreter_ends_in_peace_with_a_thread_waiting(engine, library, python):
    one = engine("--rate", "0.01")
    run(python, library, """
import threading, time
loader = spdl.attach(sys.argv[1])
threading.Thread(target=loader.acquire, daemon=True).start()
time.sleep(0.2)
""", one.name)


def test_a_child_engine_ends_with_its_process_however_that_ends(library, python):
    """Exit without close, and a kill: no engine is left."""
    for end in ("pass", "os.kill(os.getpid(), 9)"):
        done = python(CHILD + f"""
loader = spdl.open("x", engine=sys.argv[1], args=["--rate", "5"])
batch = loader.acquire()
print(loader.info.engine_pid, flush=True)
{end}
""", str(built("ringpattern")), library=library)
        pid = int(done.stdout)
        deadline = time.monotonic() + 60
        while os.path.exists(f"/proc/{pid}"):
            assert time.monotonic() < deadline, f"the engine is still there after {end!r}"
            time.sleep(0.02)


def test_a_fork_while_another_thread_looks_at_what_others_hold_does_not_hang_the_child(engine, library, python):
    one = engine("--slots", "12")
    run(python, library, """
import threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)
loader = spdl.attach(sys.argv[1], max_leases=4)
epoch, held, forked = iter(loader), threading.Event(), threading.Event()
first = next(epoch)
other = threading.Thread(target=lambda: [next(epoch), None])  # both have asked: hands are looked at under the lock
other.start()
other.join()

def hold():
    with loader._shelf._lock:
        held.set()
        forked.wait()

thread = threading.Thread(target=hold)
thread.start()
held.wait()
in_child(loader.close)
forked.set()
thread.join()
loader.close()
""", one.name)
