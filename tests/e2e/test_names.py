"""Names: one engine each, nobody else's, and what a crash leaves under them is replaced or removed, never a living engine's."""

import json
import os
import pathlib
import shutil
import signal

import pytest
import spdl
from engines import (BUSY, DENIED, LANGUAGES, NOT_FOUND, PATIENCE, SPDL, batches_of, describe, environment, eventually,
                     example, groups, python, reader, run, try_to_serve)

NOBODY = 65534


def names_of(mark):
    return sorted(n for n in os.listdir("/dev/shm") if mark in n)


@pytest.mark.parametrize("backing", ["posix", "memfd"])
def test_a_second_engine_is_refused_the_name_of_a_living_one(serve, attach, pictures, backing):
    """Exit code 5, naming who has it; the first engine and its consumers are not touched."""
    description = describe(pictures.path, ring={"backing": backing})
    engine = serve(description)
    loader = attach(engine.name)
    rows = next(iter(loader)).rows
    before = names_of(engine.name)
    second = try_to_serve(description, "--name", engine.name)
    assert second.returncode == BUSY, second.stderr
    assert engine.name in second.stderr and "choose another name" in second.stderr
    assert names_of(engine.name) == before and engine.running
    assert rows + sum(batch.rows for batch in loader) == 53


def test_a_closed_loaders_name_is_free_with_its_last_array(pictures, serve):
    """As in a notebook, which keeps what a cell has looked at: the refusal says what holds the name."""
    name = serve(describe(pictures.path)).name + ".cell"
    description = describe(pictures.path, name=name, ring={"backing": "posix"})
    loader = spdl.open(description)
    images = next(iter(loader))["image"]
    loader.close()
    with pytest.raises(spdl.Busy, match="owns the name; stop it .one whose loader is closed ends with the last array of its batches., or choose another name"):
        spdl.open(description)
    assert images.shape == (4, 8, 8, 3)
    del images
    spdl.open(description).close()
    assert not names_of(name)


@pytest.mark.parametrize("backing", ["posix", "memfd"])
def test_an_engine_starts_under_the_name_of_a_killed_one(serve, pictures, backing):
    """kill -9, five times: names and socket that are left are proved stale and replaced; the last engine leaves nothing."""
    description = describe(pictures.path, ring=groups("g", backing=backing))
    name = None
    for _ in range(5):
        engine = serve(description, **({"name": name} if name else {}))
        name = engine.name
        engine.kill()
        assert engine.socket.exists() and bool(names_of(name)) == (backing == "posix")
    engine = serve(description, name=name)
    assert [b["ticket"] for b in batches_of(reader(name, group="g"))] == list(range(14))
    assert engine.stop() == 0
    assert not names_of(name) and not engine.socket.exists()


def test_clean_removes_what_a_crash_left_and_nothing_else(serve, attach, pictures):
    """spdl clean NAME: the dead engine's names and socket go; a living one is refused and goes on serving."""
    dead = serve(describe(pictures.path, ring={"backing": "posix"}))
    alive = serve(describe(pictures.path, ring={"backing": "posix"}))
    assert alive.name.startswith(dead.name + "."), "names that a careless pattern would take for one another"
    loader = attach(alive.name)
    dead.kill()
    left = names_of(dead.name)
    shown = run([SPDL, "clean", "--dry-run"]).stdout.splitlines()
    assert [line for line in shown if f"stale ring {dead.name} of engine {dead.pid}: 2 files" in line], shown
    assert f"stale socket {dead.socket}" in shown and not [line for line in shown if alive.name in line]
    assert names_of(dead.name) == left and dead.socket.exists()
    refused = run([SPDL, "clean", alive.name])
    assert refused.returncode == BUSY and f"in use by engine {alive.pid}" in refused.stderr, refused.stderr
    cleaned = run([SPDL, "clean", dead.name])
    assert cleaned.returncode == 0, cleaned.stderr
    assert [n for n in left if n not in names_of(dead.name)] == [f"spdl.{dead.name}.{part}" for part in "dh"]
    assert names_of(alive.name) and alive.socket.exists() and not dead.socket.exists()
    assert sum(batch.rows for batch in loader) == 53


def test_a_ring_with_a_dead_engine_can_be_inspected_and_is_consistent(serve, attach, pictures):
    """spdl inspect --check while the engine lives and on what kill -9 leaves, with a batch held: exit code 0 and no problem."""
    engine = serve(describe(pictures.path, ring=groups("g", backing="posix")))
    loader = attach(engine.name, "g")
    held = loader.acquire(timeout=PATIENCE)
    for alive in (True, False):
        if not alive:
            engine.kill()
        told = run([SPDL, "inspect", engine.name, "--check", "--json"])
        assert told.returncode == 0, told.stderr
        report = json.loads(told.stdout)
        assert (report["alive"], report["checked"], report["problems"]) == (alive, True, [])
        assert report["ring"]["groups"][0]["held"] == 1
    held.release()
    loader.close()
    assert run([SPDL, "clean", engine.name]).returncode == 0


def test_a_name_that_nobody_serves_is_not_found(name):
    """After the time to wait for an engine, 10 s unless said otherwise, the text names where it was looked for."""
    with pytest.raises(spdl.NotFound, match=f"{name}.*start one with spdl serve"):
        spdl.attach(name, timeout=0.2)
    for waiting in [example(language, name) for language in LANGUAGES]:
        code, _, err = waiting.end()
        assert code == 1 and name in err and "start one with spdl serve" in err


def test_inspect_of_a_name_that_nobody_has_is_not_found(name):
    """Exit code 3."""
    told = run([SPDL, "inspect", name])
    assert told.returncode == NOT_FOUND and name in told.stderr


@pytest.mark.parametrize("bad", [
    "", "a b", "a/b/c", ".hidden", "x" * 64, "ü"])
def test_an_impossible_name_is_refused(pictures, bad):
    """By the command and by the clients, with the rule."""
    served = try_to_serve(describe(pictures.path / "nowhere"), "--name", bad)  # so that it ends in any case
    assert served.returncode == 2 and "name" in served.stderr, served.stderr
    if bad:
        with pytest.raises((spdl.ArgumentError, spdl.NotFound)):
            spdl.attach(bad, timeout=0.1)


def test_a_group_or_ring_or_lane_that_is_not_there_is_named(serve, attach, pictures):
    """NotFound for a ring, a lane; Busy for a lane that is taken."""
    engine = serve(describe(pictures.path, world={"size": 2}, ring={"groups": [{"name": "ranks", "mode": "lanes", "lanes": 2}]}))
    with pytest.raises(spdl.NotFound, match="val"):
        spdl.attach(f"{engine.name}/val")
    with pytest.raises(spdl.SpdlError, match="lane"):
        spdl.attach(engine.name, "ranks", lane=2)
    attach(engine.name, "ranks", lane=1)
    with pytest.raises(spdl.Busy, match="lane 1"):
        spdl.attach(engine.name, "ranks", lane=1)


MAPS = """
import re, spdl, sys
with spdl.attach(sys.argv[1], group="g") as loader:
    batch = loader.acquire()
    print(*sorted(set(re.findall(r"(?:/dev/shm/|memfd:)(spdl[.]\\S+)", open("/proc/self/maps").read()))))
"""


@pytest.mark.parametrize("backing", ["posix", "memfd"])
def test_a_consumer_maps_its_own_ring_and_group_and_nothing_of_others(serve, pictures, backing):
    """Two rings, two groups each: what is in the consumer's address space is the header, the data and the group that it asked for."""
    engine = serve(describe(pictures.path, ring=groups("other", "g", backing=backing), rings={"train": {}, "val": {}}))
    told = python(MAPS, f"{engine.name}/val")
    assert told.returncode == 0, told.stderr
    mapped = told.stdout.split()
    assert len(mapped) == 3 and all(name.startswith(f"spdl.{engine.name}.val.") for name in mapped), mapped
    assert len([name for name in mapped if ".g" in name]) == 1


def test_more_leases_than_the_ring_has_are_refused_with_the_numbers(serve, attach, pictures):
    """Busy: asked for, free, who holds the rest; a second consumer that asks for fewer is admitted."""
    engine = serve(describe(pictures.path, ring={"slots": 8}))
    attach(engine.name, max_leases=4)
    with pytest.raises(spdl.Busy, match=f"4 leases asked for, 2 of 6 free .8 slots.*pid {os.getpid()} holds 4.*raise slots"):
        spdl.attach(engine.name, max_leases=4)
    attach(engine.name, max_leases=2)


# ---- another user


@pytest.fixture
def as_nobody(surroundings, place):
    """Run the C example as another user."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv to become another user")
    os.chmod(surroundings.runtime, 0o755)

    def attach(what):
        return run(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", place / "examples/train_c", what],
                   env=environment(SPDL_LIBRARY=""))

    return attach


def test_another_user_is_not_admitted(serve, as_nobody, pictures):
    """Mode 0600: the kernel refuses the connection; segments in /dev/shm cannot be opened either."""
    engine = serve(describe(pictures.path, ring={"backing": "posix"}))
    refused = as_nobody(engine.name)
    assert refused.returncode == 1 and "does not admit this user" in refused.stderr, refused.stderr
    assert {os.stat(f"/dev/shm/{n}").st_mode & 0o777 for n in names_of(engine.name)} == {0o600}


def test_another_user_who_reaches_the_socket_is_refused_by_the_engine(serve, as_nobody, pictures):
    """The credentials decide, not the file's mode: uid and remedy in the text; the engine serves its own user as before."""
    engine = serve(describe(pictures.path))
    os.chmod(engine.socket, 0o666)
    refused = as_nobody(engine.name)
    assert refused.returncode == 1 and f"uid {NOBODY} gid {NOBODY} may not attach" in refused.stderr, refused.stderr
    assert "0640" in refused.stderr
    assert example("c", engine.name).end()[0] == 0


def numbered(uid, *paths):
    """Give files away; what there is of them by name: (owner, inode)."""
    for path in paths:
        os.chown(path, uid, -1)
    return {str(path): (os.lstat(path).st_uid, os.lstat(path).st_ino) for path in paths}


def shm_of(name):
    return [pathlib.Path("/dev/shm", n) for n in names_of(name)]


@pytest.mark.parametrize("what", ["ring", "socket", "group"])
def test_what_another_user_left_under_the_name_is_refused_by_name_and_not_touched(serve, pictures, what):
    """Not gone on with, which root's engine could: who owns a file may write it. Exit code 4; by spdl clean, root removes it."""
    if os.geteuid() != 0:
        pytest.skip("needs root to give files away")
    description = describe(pictures.path, ring=groups("g", backing="posix"))
    dead = serve(description)
    dead.kill()
    ring = shm_of(dead.name)
    taken = {"ring": ring, "socket": [dead.socket], "group": [path for path in ring if ".g" in path.suffix]}[what]
    before = numbered(NOBODY, *taken)
    if what == "socket":
        [path.unlink() for path in ring]
    for more in [[], ["--fresh"]] if what != "group" else [[]]:
        refused = try_to_serve(description, "--name", dead.name, *more)
        assert refused.returncode == DENIED, refused.stderr
        assert f"user {NOBODY}, want 0" in refused.stderr and "spdl clean, or choose another name" in refused.stderr
        assert any(str(path) in refused.stderr for path in taken)
        assert {path: (os.lstat(path).st_uid, os.lstat(path).st_ino) for path in before} == before
    assert run([SPDL, "clean", dead.name]).returncode == 0
    assert not names_of(dead.name) and not dead.socket.exists()


def test_what_root_left_under_the_name_is_refused_to_others_by_name(serve, pictures, surroundings, place):
    """An engine, spdl clean and spdl inspect of another user: exit code 4, whose it is; nothing changes."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv to become another user")
    shutil.copytree(pictures.path, place / "pictures", copy_function=shutil.copyfile)
    description = describe(place / "pictures", ring=groups("g", backing="posix"))
    for directory, _, _ in os.walk(place / "pictures"):
        os.chmod(directory, 0o755)
    dead = serve(description)
    dead.kill()
    before = names_of(dead.name)
    os.chmod(surroundings.runtime, 0o1777)
    as_nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", place / "spdl"]
    for verb in (["serve", "--spec-json", json.dumps(description), "--name"], ["clean"], ["inspect"]):
        told = run([*as_nobody, *verb, dead.name])
        assert told.returncode == DENIED, told.stderr
        says = ["user 0", f"{dead.socket}: connect: permission denied; run as"]
        assert any(text in told.stderr for text in says), told.stderr
        if "serve" in verb:
            assert f"/dev/shm/spdl.{dead.name}.h" in told.stderr and "it is of user 0, whose engine may be running; choose another name" in told.stderr
        assert names_of(dead.name) == before and dead.socket.exists()
    assert run([SPDL, "clean", dead.name]).returncode == 0


def test_a_socket_directory_that_everybody_may_write_is_refused(pictures, surroundings):
    """Another user could put a socket of the same name there."""
    os.chmod(surroundings.runtime, 0o777)
    served = try_to_serve(describe(pictures.path))
    assert served.returncode == DENIED and "every user may write it; chmod o-w" in served.stderr, served.stderr


def test_a_client_refuses_such_a_directory_too(surroundings):
    """What answers there may be anybody."""
    os.chmod(surroundings.runtime, 0o777)
    with pytest.raises(spdl.Denied):
        spdl.attach("any", timeout=0.1)


def test_stop_signals_end_a_service_in_good_order(serve, pictures):
    """SIGTERM, SIGINT and SIGHUP: exit code 0, a consumer that waits is told, nothing is left."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # These tests may run under nohup, where an engine is to ignore SIGHUP.
        engine = serve(describe(pictures.path, ring=groups("a", "b", backing="posix")), prefix=("env", "--default-signal=HUP"))
        waiting = example("c", engine.name, "a")  # group b is empty and holds the ring back
        eventually("the consumer to wait", lambda: stalled(engine))
        engine.process.send_signal(number)
        assert engine.process.wait(30) == 0
        code, _, err = waiting.end()
        assert code == 1 and "stopped" in err, err
        assert not names_of(engine.name) and not engine.socket.exists()


def stalled(engine):
    """Whether group a has read what there is."""
    told = run([SPDL, "inspect", engine.name, "--json"])
    assert told.returncode == 0, told.stderr
    group = json.loads(told.stdout)["ring"]["groups"][0]
    return group["completed"] == group["published"] > 0
