"""kill -9 of `spdl serve` while it decodes pictures, and a restart: by adoption every batch comes once and equal to that of an
uncrashed run; from the journal every batch comes at least once, in order and equal.

SPDL_FAULT_LONG=1 tries each point many times, `make kills` 1,000 times and more.
"""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import spdl

BUILD = pathlib.Path(os.environ["SPDL_BUILD"])
HERE = pathlib.Path(__file__).parent
ROUNDS = int(os.environ.get("SPDL_KILLS", 30 if os.environ.get("SPDL_FAULT_LONG") else 1))
WATCHDOG = 120
N, BATCH, EPOCHS = 90, 4, 2
STEPS = -(-N // BATCH)

sys.path.insert(0, str(HERE.parent / "e2e"))
from pictures import make_folder, picture  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    directory = tmp_path_factory.mktemp("pictures")
    return make_folder(directory, N, side=(24, 60)).path


@pytest.fixture
def serve(folder, tmp_path):
    """Start engines and consumers that end with the test."""
    running = []

    def start(name, backing, fault=None, more=()):
        text = json.dumps({"name": name, "source": {"folder": str(folder)}, "batch": BATCH, "order": {"epochs": EPOCHS, "seed": 3},
                           "image": {"transform": [{"random_resized_crop": 32}, {"horizontal_flip": 0.5}]},
                           "ring": {"backing": backing, "access": "shared", "reconnect": "30s", "groups": [{"name": "train"}]}})
        env = dict(os.environ, SPDL_LOG="info", **({"SPDL_FAULT": fault} if fault else {}))
        log = open(tmp_path / f"{name}.engine.log", "a")
        p = subprocess.Popen([BUILD / "faults/spdl", "serve", "--spec-json", text, *more], env=env, stderr=log)
        log.close()
        running.append(p)
        return p

    def consume(name, pause=0):
        p = subprocess.Popen([sys.executable, HERE / "digest.py", name, tmp_path / f"{name}.log", str(pause)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        running.append(p)
        return p

    yield start, consume
    for p in running:
        p.kill()
        p.communicate()


def supervise(start, consumer, name, backing, faults, more=()):
    """Run engines until the consumer has everything; returns how many were killed."""
    kills = 0
    while True:
        engine = start(name, backing, faults.pop(0) if faults else None, more)
        while engine.poll() is None:
            try:
                _, err = consumer.communicate(timeout=0.05)
                assert consumer.returncode == 0, err
                engine.terminate()
                engine.wait(WATCHDOG)
                assert engine.returncode in (0, -signal.SIGKILL)
                return kills
            except subprocess.TimeoutExpired:
                continue
        assert engine.returncode == -signal.SIGKILL
        kills += 1


def lines(tmp_path, name):
    return [json.loads(line) for line in (tmp_path / f"{name}.log").read_text().splitlines()]


@pytest.fixture(scope="module")
def oracle(folder, tmp_path_factory):
    """What a run without a crash delivers."""
    return {}


def uncrashed(serve, tmp_path, oracle):
    if not oracle:
        start, consume = serve
        name = f"oracle-{os.getpid()}"
        supervise(start, consume(name), name, "memfd", [])
        for ticket, attempts, *content in lines(tmp_path, name):
            assert attempts == 1
            oracle[ticket] = content
        assert sorted(oracle) == list(range(STEPS * EPOCHS))
    return oracle


POINTS = ["slot.take", "plan", "fetch", "decode", "publish.store", "publish.put", "publish.word", "publish.group", "wake"]


@pytest.mark.parametrize("point", POINTS)
def test_killed_engine_of_pictures_is_gone_on_with(point, serve, tmp_path, oracle):
    """Adoption: each batch once, never flagged, in order, equal to the uncrashed run; the consumer is never told."""
    want, rng = uncrashed(serve, tmp_path, oracle), random.Random(point)
    start, consume = serve
    for i in range(ROUNDS):
        name = f"pictures-{os.getpid()}-{point}-{i}"
        faults = [f"{point}:{rng.randint(2, 15)}:kill" for _ in range(2)]
        assert supervise(start, consume(name), name, "posix", faults) >= 1
        got = lines(tmp_path, name)
        assert [line[0] for line in got] == sorted(want)
        assert all(attempts == 1 and content == want[ticket] for ticket, attempts, *content in got)
        assert not [n for n in os.listdir("/dev/shm") if name in n]


@pytest.fixture(scope="module")
def uneven(tmp_path_factory):
    """Pictures of which every eleventh takes long: later batches are ready before its own."""
    directory = tmp_path_factory.mktemp("uneven")
    (directory / "a").mkdir()
    rng = np.random.default_rng(2)
    for i in range(N):
        side = 1500 if i % 11 == 0 else 24
        picture(rng, side, side).save(directory / "a" / f"{i:03}.jpg", quality=90)
    return directory


READY = {"delivery": "ready", "ahead": 8, "slots": 16, "groups": [{"name": "train"}, {"name": "other"}]}


@pytest.mark.parametrize("point", ["publish.late", *POINTS])
def test_killed_engine_of_batches_as_they_are_ready_is_gone_on_with(point, uneven, tmp_path):
    """Two groups get each batch of each epoch once, never flagged, the same in both; some came before an earlier one."""
    rng, early = random.Random(point), 0
    for i in range(ROUNDS):
        name = f"ready-{os.getpid()}-{point}-{i}"
        description = {"name": name, "source": {"folder": str(uneven)}, "batch": BATCH, "order": {"epochs": EPOCHS, "seed": i},
                       "image": {"transform": [{"resize": [16, 16]}]}, "limits": {"cpus": 2}, "ring": {"backing": "posix", "access": "shared", "reconnect": "30s", **READY}}
        kills, consumers, engine = 0, [], None
        try:
            for group in ("train", "other"):
                log = tmp_path / f"{name}.{group}.log"
                consumers.append(subprocess.Popen([sys.executable, HERE / "digest.py", name, log, "0.002", group], stdout=subprocess.DEVNULL))
            while any(c.poll() is None for c in consumers):
                assert all(c.poll() in (None, 0) for c in consumers)
                if engine is None or engine.poll() is not None:
                    kills += engine is not None
                    fault = f"{point}:{rng.randint(2, 14)}:kill" if kills < 3 else ""
                    engine = subprocess.Popen([BUILD / "faults/spdl", "serve", "--spec-json", json.dumps(description)],
                                              env=dict(os.environ, SPDL_LOG="warn", SPDL_FAULT=fault))
                time.sleep(0.02)
            engine.terminate()
            assert engine.wait(WATCHDOG) in (0, -signal.SIGKILL)
        finally:
            for p in [*consumers, engine]:
                p and (p.kill(), p.wait())
        assert kills >= 1
        got = [[json.loads(line) for line in (tmp_path / f"{name}.{group}.log").read_text().splitlines()] for group in ("train", "other")]
        assert [sorted(line[0] for line in lines) for lines in got] == [list(range(STEPS * EPOCHS))] * 2
        assert sorted(map(str, got[0])) == sorted(map(str, got[1]))
        assert all(line[1] == 1 for line in got[0])
        for epoch in range(EPOCHS):
            assert sorted(s for line in got[0] if line[0] // STEPS == epoch for s in line[2])[:N] == list(range(N))
        early += sum(a[0] > b[0] for a, b in zip(got[0], got[0][1:]))
        if engine.returncode == 0:
            assert not [n for n in os.listdir("/dev/shm") if name in n]
        else:
            subprocess.run([BUILD / "spdl", "clean", name], check=True, stdout=subprocess.DEVNULL, timeout=WATCHDOG)
    assert early > 0, "every batch came in order: the test has tried nothing"


@pytest.mark.parametrize("point", ["journal.write", "journal.rename", "publish.word", "slot.take"])
def test_killed_engine_without_names_goes_on_from_its_journal(point, serve, tmp_path, oracle):
    """Nothing is lost, nothing is of another run, and the order is that of the plan from the journal's position on."""
    want, rng = uncrashed(serve, tmp_path, oracle), random.Random(point)
    start, consume = serve
    i, rounds, pause = 0, ROUNDS, 0.03  # slow enough that the journal is written several times
    while i < rounds:
        name = f"journal-{os.getpid()}-{point}-{i}"
        journal = tmp_path / f"{name}.journal"
        fault = f"{point}:{rng.randint(2, 3) if 'journal' in point else rng.randint(15, 35)}:kill"
        consumer, i = consume(name, pause), i + 1
        engine = start(name, "memfd", fault, ["--journal", journal])
        assert engine.wait(WATCHDOG) == -signal.SIGKILL
        _, err = consumer.communicate(timeout=WATCHDOG)  # nameless memory is gone: the loss is reported
        if consumer.returncode == 0:  # a busy machine: the engine came to its kill after the consumer had everything
            assert len(lines(tmp_path, name)) == len(want)
            rounds, pause = rounds + 1, 2 * pause
            continue
        assert consumer.returncode != 0 and "EngineLost" in err, err
        first = lines(tmp_path, name)
        supervise(start, consume(name), name, "memfd", [], ["--journal", journal])
        got = lines(tmp_path, name)
        second = [line[0] for line in got[len(first):]]
        assert 0 < len(first) < len(want)
        assert second == sorted(second) and set(line[0] for line in got) == set(want)
        assert all(attempts == 1 and content == want[ticket] for ticket, attempts, *content in got)
        assert not list(tmp_path.glob(f".{journal.name}.*"))


def test_engine_with_another_description_is_refused_until_told_to_begin_anew(serve, tmp_path, folder):
    """The refusal names what differs and what helps; --fresh and clean help."""
    start, _ = serve
    name = f"other-{os.getpid()}"
    assert start(name, "posix", "publish.store:3:kill").wait(WATCHDOG) == -signal.SIGKILL
    command = [BUILD / "spdl", "serve", folder, "--name", name, "--batch", "5", "--size", "32", "--group", "train"]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=WATCHDOG)
    assert refused.returncode == 2 and "batch 4, now 5" in refused.stderr and "spdl clean" in refused.stderr and "--fresh" in refused.stderr, refused.stderr
    fresh = subprocess.Popen([*command, "--fresh"], stderr=subprocess.PIPE, text=True)
    try:
        assert any("ready" in line for line in fresh.stderr)
        fresh.terminate()
        assert fresh.wait(WATCHDOG) == 0
    finally:
        fresh.kill()
        fresh.communicate()
    assert not [n for n in os.listdir("/dev/shm") if name in n]


@pytest.mark.parametrize("point", ["slot.take", "publish.store", "publish.put", "wake"])
def test_a_panic_in_the_pipeline_fails_the_ring_with_its_stack(point, serve, tmp_path, oracle):
    """The consumer is told why, the engine ends with exit code 1 and leaves nothing; a next one serves everything."""
    want = uncrashed(serve, tmp_path, oracle)
    start, consume = serve
    name = f"panic-{os.getpid()}-{point}"
    consumer, engine = consume(name), start(name, "posix", f"{point}:5:panic")
    _, err = consumer.communicate(timeout=WATCHDOG)
    assert consumer.returncode != 0 and "EngineFailed" in err and f"panic: shm: fault {point}" in err and "goroutine" in err, err
    assert engine.wait(WATCHDOG) == 1
    assert f"panic: shm: fault {point}" in (tmp_path / f"{name}.engine.log").read_text()
    assert not [n for n in os.listdir("/dev/shm") if name in n]
    (tmp_path / f"{name}.log").unlink()
    assert supervise(start, consume(name), name, "posix", []) == 0
    assert {ticket: content for ticket, _, *content in lines(tmp_path, name)} == want


@pytest.mark.parametrize("point", ["handshake", "handshake.registered", "journal.write"])
def test_a_panic_outside_the_pipeline_ends_the_engine_loudly_and_the_next_goes_on(point, serve, tmp_path, oracle):
    """Exit code 2 with the stack in the log, nothing half alive: who is attached finds the next engine and gets each batch once."""
    want = uncrashed(serve, tmp_path, oracle)
    start, consume = serve
    name = f"panic-{os.getpid()}-{point}"
    more = ["--journal", tmp_path / f"{name}.journal"]
    engine = start(name, "posix", f"{point}:2:panic", more)
    consumer = consume(name, 0.03)
    assert consumer.stdout.readline() == "attached\n"
    if "handshake" in point:
        with pytest.raises(spdl.EngineLost):
            spdl.attach(name, group="train", max_leases=2)
    assert engine.wait(WATCHDOG) == 2
    said = (tmp_path / f"{name}.engine.log").read_text()
    assert f"panic: shm: fault {point}" in said and "goroutine" in said
    assert supervise(start, consumer, name, "posix", [], more) == 0
    got = lines(tmp_path, name)
    assert [ticket for ticket, *_ in got] == sorted(want)
    assert all(attempts == 1 and content == want[ticket] for ticket, attempts, *content in got)
