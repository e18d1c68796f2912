"""multiprocessing, both ways: a forked child is told so and disturbs nobody, a spawned one attaches anew."""

import json
import sys

import pytest
from engines import describe, groups, run


@pytest.fixture
def program(tmp_path):
    """Run a text as a program of its own, in a file because spawn imports it again; what it printed, as JSON."""

    def start(text, *args):
        (tmp_path / "program.py").write_text(text)
        ended = run([sys.executable, tmp_path / "program.py", *args])
        assert ended.returncode == 0 and ended.stderr == "", ended.stderr
        return json.loads(ended.stdout)

    return start


INHERITED = """
import json, multiprocessing, sys, spdl

def use(conn):
    raised = []
    for call in (lambda: loader.acquire(timeout=1), loader.state_dict, lambda: next(iter(loader)), loader.restart):
        try:
            call()
        except spdl.SpdlError as error:
            raised.append(type(error).__name__)
    conn.send([raised, view.tolist() == want])
    loader.close()

loader = spdl.attach(sys.argv[1], "g")
held = loader.acquire()
view, want = held["image"], held["image"].tolist()
here, there = multiprocessing.Pipe()
children = [multiprocessing.get_context("fork").Process(target=use, args=(there,)) for _ in range(3)]
for child in children:
    child.start()
for child in children:
    child.join()
told = [here.recv() for _ in children]
unharmed = view.tolist() == want
view = None
held.release()
print(json.dumps([told, [child.exitcode for child in children], unharmed, sum(batch.rows for batch in loader)]))
"""


def test_an_inherited_loader_says_so_and_the_parent_reads_on(serve, program, pictures):
    """fork: every call in the child raises Forked, views stay readable there, its exit and finalisers take nothing away."""
    engine = serve(describe(pictures.path, ring=groups("g")))
    told, codes, unharmed, rows = program(INHERITED, engine.name)
    assert told == [[["Forked"] * 4, True]] * 3
    assert codes == [0, 0, 0] and unharmed and rows == 49


ANEW = """
import json, multiprocessing, sys, time, spdl

def read(name, queue):
    with spdl.attach(name, "g", max_leases=1) as loader:
        tickets = []
        for batch in loader:
            tickets.append(batch.ticket)
            time.sleep(0.002)
    queue.put(tickets)

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[2])
    queue = context.Queue()
    children = [context.Process(target=read, args=(sys.argv[1], queue)) for _ in range(3)]
    for child in children:
        child.start()
    print(json.dumps([queue.get(timeout=60) for _ in children]))
    for child in children:
        child.join()
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_that_attach_anew_share_the_group(serve, program, pictures, method):
    """Each child calls spdl.attach with the same name and group: together every batch once."""
    engine = serve(describe(pictures.path, batch=1, ring=groups("g")))
    lists = program(ANEW, engine.name, method)
    assert sorted(ticket for tickets in lists for ticket in tickets) == list(range(53))


PICKLED = """
import json, multiprocessing, sys, spdl

def read(loader, queue):
    queue.put((loader.info.owner, [batch.ticket for batch in loader]))
    loader.close()

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    with spdl.attach(sys.argv[1], "g") as loader:
        child = context.Process(target=read, args=(loader, queue))
        child.start()
        mine = [batch.ticket for batch in loader]
        owner, theirs = queue.get(timeout=60)
        child.join()
        print(json.dumps([owner != loader.info.owner, sorted(mine + theirs), child.exitcode]))
"""


def test_a_pickled_loader_attaches_anew_in_a_spawned_child(serve, program, pictures):
    """A loader as an argument of a spawned process: the same group, a membership of its own; both read."""
    engine = serve(describe(pictures.path, batch=1, ring=groups("g", slots=12)))
    another, tickets, code = program(PICKLED, engine.name)
    assert another and code == 0 and tickets == list(range(53))


OWN_ENGINE = """
import json, multiprocessing, pickle, sys, spdl

loader = spdl.open(json.loads(sys.argv[1]))
first = next(iter(loader)).rows
child = multiprocessing.get_context("fork").Process(target=loader.close)
child.start()
child.join()
try:
    pickle.dumps(loader)
except spdl.SpdlError as error:
    raised, text = type(error).__name__, str(error)
print(json.dumps([raised, text, first + sum(batch.rows for batch in loader)]))
loader.close()
"""


def test_a_child_engine_survives_the_forked_child_and_cannot_be_pickled(program, pictures):
    """spdl.open in the parent: close() and exit in the forked child do not stop the engine; pickling says what to do instead."""
    raised, text, rows = program(OWN_ENGINE, json.dumps(describe(pictures.path)))
    assert raised == "Unsupported" and "spdl serve" in text and rows == 53
