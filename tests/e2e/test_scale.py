"""Many rings of one engine, many consumers of each: every one exact, and what they cost grows with their number alone."""

import json
import os
import resource
import signal
import sys

import pytest
from engines import Consumer, describe, eventually, groups

RINGS, CLIENTS = 64, 8
EACH = 3  # descriptors of the engine for a member: socket, pidfd, event
CLIENT = """
import json, signal, sys, spdl
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
loaders = {ring: spdl.attach(f"{sys.argv[1]}/{ring}", group="g", max_leases=1, timeout=60) for ring in json.loads(sys.argv[2])}
print("attached", flush=True)
signal.sigwait([signal.SIGUSR1])
for ring, loader in loaders.items():
    got = []
    for batch in loader:
        got.append([batch.ticket, batch.attempts, batch["index"].tolist()])
        batch.release()
    print(json.dumps([ring, got]))
for loader in loaders.values():
    loader.close()
"""


def settled(engine):
    """The descriptors of an engine that has nothing to do: its rings are full, and files are read no more."""
    looks = []

    def same():
        looks.append(engine.descriptors())
        return looks[-50:] == [looks[-1]] * 50

    eventually("the engine to open nothing more", same)
    return looks[-1]


def test_64_rings_with_8_clients_each_are_exact_and_cost_by_their_number(serve, pictures):
    """Each batch of each ring comes to one of its clients, once; the engine's descriptors are so many a client, not more with the last than with the first."""
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 8192:
        pytest.skip("needs 8,192 descriptors")
    names = [f"r{i:02}" for i in range(RINGS)]
    description = describe(pictures.path, ring=groups("g", slots=12, access="shared"), rings={name: {} for name in names}, limits={"cpus": 2})
    engine = serve(description)
    alone, clients = 0, []
    for n in range(1, CLIENTS + 1):
        clients.append(Consumer([sys.executable, "-c", CLIENT, engine.name, json.dumps(names)]))
        assert clients[-1].line() == "attached"
        alone = alone or settled(engine) - RINGS * EACH
        eventually(f"{EACH} descriptors for each of {n * RINGS} members", lambda: engine.descriptors() == alone + n * RINGS * EACH)
    print(f"{alone} descriptors, then {EACH} a member; {len(os.listdir(f'/proc/{engine.pid}/task'))} threads")
    got = {name: [] for name in names}
    for client in clients:  # all at once, ring by ring
        client.process.send_signal(signal.SIGUSR1)
    for client in clients:
        code, out, err = client.end()
        assert code == 0, err
        for name, batches in map(json.loads, out.splitlines()):
            got[name] += batches
    for name, batches in got.items():
        assert sorted(ticket for ticket, _, _ in batches) == list(range(14)), name
        assert {attempts for _, attempts, _ in batches} == {1}
        assert sorted(index for _, _, indexes in batches for index in indexes) == list(range(53))
