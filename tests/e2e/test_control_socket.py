"""Garbage and floods on the control socket: the engine lives, its consumers read on undisturbed, nothing is kept open."""

import array
import contextlib
import json
import os
import random
import socket
import struct
import threading

import pytest
import spdl
from engines import batches_of, describe, eventually, groups, reader

HEAD = struct.Struct("<IHHIiI12x")  # docs/layout.md: magic, version, type, id, status, bytes
MAGIC, VERSION = 0x4D4C4450, 1
HELLO, STOP = 1, 12
EPOCHS = 60


def message(payload=b"", *, magic=MAGIC, version=VERSION, kind=HELLO, bytes_=None):
    return HEAD.pack(magic, version, kind, 7, 0, len(payload) if bytes_ is None else bytes_) + payload


def connect(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(60)
    s.connect(str(path))
    return s


def answer(s):
    """(status, text) of the engine's answer; None after a hang-up."""
    try:
        data = s.recv(1 << 17)
    except ConnectionResetError:
        return None
    if not data:
        return None
    magic, version, _, _, status, size = HEAD.unpack(data[:HEAD.size])
    assert (magic, version, size) == (MAGIC, VERSION, len(data) - HEAD.size)
    return status, data[HEAD.size:].decode("utf-8", "replace")


@contextlib.contextmanager
def read_on(serve, pictures):
    """An engine and a consumer in a process of its own that must see every batch of 60 epochs once, whatever happens in the
    block; afterwards the engine has as many descriptors as before, and admits a consumer."""
    engine = serve(describe(pictures.path, order={"seed": 9, "epochs": EPOCHS}, ring=groups("g", max_consumers=4)))
    eventually("the first batches", lambda: engine.descriptors() > 8)
    before = engine.descriptors()
    consumer = reader(engine.name, group="g", pause=0.001)
    first = json.loads(consumer.line())
    yield engine
    got = [first, *batches_of(consumer)]
    assert [b["ticket"] for b in got] == list(range(14 * EPOCHS))
    assert {b["attempts"] for b in got} == {1}
    assert engine.running and "panic" not in engine.said() and "goroutine" not in engine.said()
    eventually("the descriptors to be closed", lambda: engine.descriptors() <= before)
    with spdl.attach(engine.name, "g", timeout=60) as late:
        assert late.acquire(timeout=60) is None


WRONG = {
    "too short": (b"x", "message of 1 bytes, want at least 32"),
    "wrong magic": (message(magic=0x12345678), "magic 12345678, want 4d4c4450"),
    "other version": (message(version=9), "version 9, want 1; use client and engine of one release"),
    "no such type": (message(kind=99), "type 99"),
    "cut payload": (message(bytes_=256), "announces 256 of payload, has 0"),
    "half a hello": (message(bytes(100)), "payload of 100 bytes"),
    "other layout": (message(struct.pack("<I", 77) + bytes(252)), "layout 77, this engine speaks"),
    "too long": (message(bytes(70000)), "message above 65536 bytes"),
    "request before hello": (message(kind=6), "hello"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_malformed_message_is_answered_and_hung_up_on(serve, pictures, what):
    """One wrong message: an answer that says what was got and wanted, where the engine can send one, then the end."""
    engine = serve(describe(pictures.path))
    data, text = WRONG[what]
    with connect(engine.socket) as s:
        s.send(data)
        status, told = answer(s)
        assert status < 0 and text in told, (status, told)
        assert answer(s) is None
    with spdl.attach(engine.name) as loader:
        assert sum(b.rows for b in loader) == 53


def test_random_garbage_disturbs_nobody(serve, pictures):
    """Thousands of random, cut and mutated messages on many connections."""
    rng = random.Random(1)
    with read_on(serve, pictures) as engine:
        for _ in range(1500):
            with connect(engine.socket) as s, contextlib.suppress(BrokenPipeError, ConnectionResetError):
                for _ in range(rng.randint(1, 3)):
                    data = bytearray(message(rng.randbytes(rng.choice([0, 1, 8, 255, 256, 300, 4000])),
                                             kind=rng.choice([1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 65535])))
                    if rng.random() < 0.5:
                        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
                    if data[6] != STOP:  # a well-formed stop of the engine's own user is obeyed
                        s.send(bytes(data[:rng.choice([len(data), rng.randrange(1, len(data) + 1)])]))


def test_silent_connections_do_not_keep_others_out(serve, pictures):
    """200 peers that connect and say nothing: each is hung up on after a second, and a consumer is admitted meanwhile."""
    with read_on(serve, pictures) as engine, contextlib.ExitStack() as silent:
        peers = []
        for _ in range(200):
            with contextlib.suppress(BlockingIOError):
                peers.append(silent.enter_context(connect(engine.socket)))
        with spdl.attach(engine.name, "g", max_leases=1, timeout=60) as loader:
            assert loader.info.group == "g"
        for peer in peers:
            assert answer(peer) is None


def test_a_storm_of_connections_disturbs_nobody(serve, pictures):
    """Four threads connect and hang up, 2,000 times in all."""
    with read_on(serve, pictures) as engine:
        def storm():
            for _ in range(500):
                with contextlib.suppress(BlockingIOError, ConnectionResetError):
                    connect(engine.socket).close()

        threads = [threading.Thread(target=storm) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def test_descriptors_that_nobody_asked_for_are_closed(serve, pictures):
    """Messages with up to 253 descriptors: the engine keeps none of them."""
    with read_on(serve, pictures) as engine, open(os.devnull) as null:
        for count in [1, 2, 3, 16, 253] * 20:
            with connect(engine.socket) as s, contextlib.suppress(BrokenPipeError, ConnectionResetError):
                ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [null.fileno()] * count))]
                s.sendmsg([message(bytes(256))], ancillary)
                assert answer(s)[0] < 0


def test_consumers_beyond_the_limit_are_refused_with_it(serve, attach, pictures):
    """max_consumers: 2: the third is told so, and may come when one has left."""
    engine = serve(describe(pictures.path, ring=groups("g", max_consumers=2, slots=20)))
    first, _ = attach(engine.name, "g"), attach(engine.name, "g")
    with pytest.raises(spdl.Busy, match="2"):
        spdl.attach(engine.name, "g")
    first.close()
    eventually("a place", lambda: admitted(engine.name))


def admitted(name):
    try:
        spdl.attach(name, "g").close()
    except spdl.Busy:
        return False
    return True


def test_who_has_left_does_not_stand_in_the_way(serve, pictures):
    """Attach right after close(), in a ring with room for one reader of four leases: never Busy."""
    engine = serve(describe(pictures.path, ring=groups("g")))
    for _ in range(100):
        spdl.attach(engine.name, "g").close()


def test_hundreds_of_attaches_leave_nothing_in_the_engine(serve, pictures):
    """300 times in one process: the descriptors of both sides stay as they were."""
    engine = serve(describe(pictures.path, ring=groups("g")))
    assert admitted(engine.name)
    mine, its = len(os.listdir("/proc/self/fd")), engine.descriptors()
    for _ in range(300):
        eventually("a place", lambda: admitted(engine.name))
    assert len(os.listdir("/proc/self/fd")) <= mine
    eventually("the engine's descriptors", lambda: engine.descriptors() <= its)
