"""kill -9 of `spdl serve` with a device, at named points, and a restart: its uploader ends with it, so device memory is void, and the next engine
has uploaded again what nobody had claimed. Consumers of two groups see every batch once, in order and whole; of those that they held when an engine or an
uploader died, the device tensors are lost by name, of no other.

Each point kills at least 3 engines (SPDL_FAULT_LONG=1: 40; `make kills`: 1,000), on the driver without a GPU of tests/cuda.
"""

import os
import pathlib
import random
import signal
import sys
import time

import numpy as np
import pytest
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import staged
from staged import BATCH, GROUPS, STEPS, WATCHDOG, Restarts, Run

import driver
import spdl
from engines import MARK, eventually, processes_of

KILLS = int(os.environ.get("SPDL_KILLS", 40 if os.environ.get("SPDL_FAULT_LONG") else 3))
# Where the engine dies, and at which visit at the latest; those that its uploader has to die for before.
POINTS = {"slot.take": 20, "publish.put": 60, "publish.word": 60, "publish.group": 40, "wake": 20, "stage.way": 120, "device.void": 1, "reclaim.mid": 1, "reclaim.word": 3}
NEEDS_DEATH = ["device.void", "reclaim.mid", "reclaim.word"]

pytestmark = driver.needs_stand_in


@pytest.fixture
def mark(monkeypatch):
    mark = f"device-{os.getpid()}-{time.monotonic_ns() // 1000 % 10**9}"
    monkeypatch.setenv(MARK, mark)
    driver.install(monkeypatch)
    yield mark
    deadline = time.monotonic() + WATCHDOG
    while left := processes_of(mark):
        assert time.monotonic() < deadline, left
        time.sleep(0.02)


class Device(Run):
    """An engine that uploads; the next of its name goes on with its ring."""

    def __init__(self, name, pictures, tmp_path, fault, reconnect="60s", **device):
        self.device = {"slots": 3, **device}
        ring = {"groups": [{"name": g} for g in GROUPS], "slots": 8, "backing": "posix", "access": "shared", "reconnect": reconnect}
        super().__init__(name, pictures, tmp_path, ring, fault)

    def start(self, fault=None):
        self.description["device"] = self.device
        super().start(fault)


class Consumer(staged.Consumer):
    """Checks host memory, where it has no files (coded), and the device; lost counts the batches without device tensors."""

    def __init__(self, name, group, want, over, coded):
        super().__init__(name, group, want, over)
        self.coded, self.lost = coded, 0

    def look(self, batch):
        if batch is None:
            return
        with batch:
            assert (batch.ticket, batch.rows) == (self.seen, BATCH)
            try:
                if not np.array_equal(driver.bytes_of(batch.cuda["image"]), self.want[self.seen % STEPS].ravel()):
                    batch.cuda["image"]  # lost while it was read
                    raise AssertionError(f"ticket {batch.ticket}: the device has other bytes")
            except spdl.PoolLost:
                self.lost += 1
            if not self.coded:
                assert np.array_equal(batch["image"], self.want[self.seen % STEPS]), f"ticket {batch.ticket}"
        self.seen += 1
        time.sleep(0.001)


class Trial(Restarts):
    """A run and its consumers, whose engine is killed and started again."""

    def __init__(self, mark, tag, pictures, tmp_path, want, fault, **device):
        self.mark, coded = mark, "decode" in device
        run = Device(f"redevice-{os.getpid()}-{tag}", pictures, tmp_path, fault, **device)
        super().__init__(run, lambda over: [Consumer(run.name, group, want, over, coded) for group in GROUPS])

    def kill_uploader(self):
        for pid in driver.uploaders(self.mark):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.05)


@pytest.mark.parametrize("point", POINTS)
def test_consumers_get_every_batch_once_and_on_the_device_when_the_engine_is_killed_at(point, mark, pictures, want, tmp_path):
    rng = random.Random(point)
    fault = lambda: f"{point}:{rng.randint(1, POINTS[point])}:kill"  # noqa: E731
    trial = Trial(mark, point, pictures, tmp_path, want, fault())
    try:
        trial.restart_often(KILLS, fault, lambda i: trial.kill_uploader if point in NEEDS_DEATH else None)
    finally:
        code = trial.end()
    assert not trial.wrong(), trial.wrong()
    assert code == 0
    for consumer in trial.consumers:  # a death costs at most the batch in hand, whoever died
        assert consumer.seen > consumer.lost
        assert point in NEEDS_DEATH or consumer.lost <= trial.kills
    assert not [n for n in os.listdir("/dev/shm") if trial.run.name in n]
    print(f"{point}: {trial.kills} engines killed, {[c.seen for c in trial.consumers]} batches right, {[c.lost for c in trial.consumers]} of them without the device", flush=True)


def test_while_there_is_no_engine_nothing_is_claimed_and_what_is_held_has_lost_its_device_tensors(mark, pictures, want, tmp_path):
    """Batches are ready, but their device memory went with the engine. The next one has them uploaded again, in their order."""
    run = Device(f"redevice-{os.getpid()}-absent", pictures, tmp_path, None)
    try:
        with spdl.attach(run.name, group=GROUPS[0], max_leases=2) as loader:
            held = loader.acquire(timeout=WATCHDOG)
            assert np.array_equal(driver.bytes_of(held.cuda["image"]), want[0].ravel())
            eventually("two more to be ready", lambda: loader.stats()["rings"][0]["groups"][0]["unclaimed"] == 2)
            run.engine.kill()
            run.engine.wait()
            with pytest.raises(spdl.Timeout):
                loader.acquire(timeout=0)
            spent = time.process_time()
            with pytest.raises(spdl.Timeout):
                loader.acquire(timeout=1)
            assert time.process_time() - spent < 0.3  # it sleeps
            with pytest.raises(spdl.PoolLost):
                held.cuda["image"]
            assert np.array_equal(held["image"], want[0])
            run.start()
            for ticket in (1, 2):  # the other group holds all three
                with loader.acquire(timeout=WATCHDOG) as batch:
                    assert batch.ticket == ticket
                    assert np.array_equal(driver.bytes_of(batch.cuda["image"]), want[ticket].ravel())
            with pytest.raises(spdl.PoolLost):
                held.cuda["image"]
            held.release()
    finally:
        assert run.stop() == 0


def test_a_consumer_that_does_not_look_for_the_next_engine_is_told_and_has_nothing_of_it(mark, pictures, want, tmp_path):
    """Without a reconnect time the loss of the engine is the end, also where another has gone on with the ring meanwhile."""
    run = Device(f"redevice-{os.getpid()}-once", pictures, tmp_path, None, reconnect="0s")
    try:
        with spdl.attach(run.name, group=GROUPS[0], max_leases=2) as loader:
            with loader.acquire(timeout=WATCHDOG) as batch:
                assert batch.ticket == 0
            eventually("more to be ready", lambda: loader.stats()["rings"][0]["groups"][0]["unclaimed"] == 2)
            run.engine.kill()
            run.engine.wait()
            run.start()
            with spdl.attach(run.name, group=GROUPS[0], max_leases=2) as other:
                with other.acquire(timeout=WATCHDOG) as batch:
                    assert batch.ticket == 1
                    assert np.array_equal(driver.bytes_of(batch.cuda["image"]), want[1].ravel())
                with pytest.raises(spdl.EngineLost):
                    loader.acquire(timeout=WATCHDOG)
    finally:
        assert run.stop() == 0


def test_an_uploader_that_is_stopped_when_its_engine_dies_is_ended_by_the_next(mark, pictures, want, tmp_path):
    trial = Trial(mark, "stopped", pictures, tmp_path, want, None)
    try:
        trial.await_progress(STEPS)
        [left] = driver.uploaders(mark)
        os.kill(left, signal.SIGSTOP)
        trial.run.engine.kill()
        trial.await_kill()
        trial.run.start()
        trial.await_progress(STEPS)
        assert left not in [pid for pid, _ in processes_of(mark)]
    finally:
        code = trial.end()
    assert not trial.wrong() and code == 0


def test_pictures_decoded_on_the_device_survive_the_engine(mark, pictures, want, tmp_path, monkeypatch):
    """What the device refused the next engine learns anew."""
    widths = sorted(Image.open(path).width for path in pathlib.Path(pictures).rglob("*.jpg"))
    monkeypatch.setenv("FAKE_NVJPEG_REFUSES", f" {widths[len(widths) // 2]} ")
    trial = Trial(mark, "coded", pictures, tmp_path, want, None, decode="nvjpeg")
    try:
        for _ in range(3):
            trial.await_progress(STEPS // 2)
            trial.run.engine.kill()
            trial.await_kill()
            trial.run.start()
        trial.await_progress(STEPS)
    finally:
        code = trial.end()
    assert not trial.wrong() and code == 0
