"""A ring with two stages and consumers that check every byte, for the tests that kill its workers or its engine."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["SPDL_BUILD"])
sys.path[:0] = [str(ROOT / "clients/python"), str(ROOT / "tests/e2e")]

import spdl  # noqa: E402

STAGES, GROUPS = ["first", "second"], ["train", "watch"]
STEPS, BATCH = 10, 4
WATCHDOG = 120


def transform(image):
    flat = image.reshape(-1)
    return (3 * flat + np.arange(flat.size, dtype=np.int64) + 1).astype(np.uint8).reshape(image.shape)


class Run:
    """An engine with stages, a steady worker in each, and consumers that check what they are given."""

    def __init__(self, name, pictures, tmp_path, ring, fault=None):
        self.description = {"source": {"folder": str(pictures)}, "batch": BATCH, "order": {"shuffle": False, "epochs": 0},
                       "image": {"transform": [{"resize": [8, 8]}]}, "bad_sample": {"policy": "mask"}, "ring": ring}
        self.name, self.log, self.said = name, tmp_path / "workers.log", tmp_path / "engine.log"
        self.start(fault)
        deadline = time.monotonic() + WATCHDOG
        while " ready: " not in self.said.read_text():
            if fault and self.engine.poll() == -signal.SIGKILL:
                break  # it came to its fault before it said so
            assert self.engine.poll() is None and time.monotonic() < deadline, self.said.read_text()
            time.sleep(0.005)

    def start(self, fault=None):
        """An engine; with fault, one that is killed there."""
        program = BUILD / ("faults/spdl" if fault else "spdl")
        env = dict(os.environ, **({"SPDL_FAULT": fault} if fault else {}))
        with open(self.said, "ab") as out:
            self.engine = subprocess.Popen([program, "serve", "--spec-json", json.dumps(self.description), "--name", self.name],
                                           stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=env)

    def worker(self, stage, fault=None, half=None):
        env = dict(os.environ, LD_LIBRARY_PATH=str(BUILD / "faults"), **({"SPDL_FAULT": fault} if fault else {}))
        return subprocess.Popen([BUILD / "tests/fault-stage", self.name, stage, self.log, *([str(half)] if half else [])], env=env)

    def stop(self):
        self.engine.terminate()
        return self.engine.wait(120)


def oracle(pictures, tmp_path):
    """What consumers must be given of ticket t: [t % STEPS], untransformed."""
    run = Run(f"oracle-{os.getpid()}", pictures, tmp_path, {})
    try:
        with spdl.attach(run.name) as loader:
            return [loader.acquire()["image"].copy() for _ in range(STEPS)]
    finally:
        run.stop()


class Consumer(threading.Thread):
    """Takes batches until told to stop; error is what was wrong with the first wrong one."""

    def __init__(self, name, group, want, over):
        super().__init__()
        self.place, self.want, self.over = (name, group), want, over
        self.seen, self.error = 0, None

    def run(self):
        try:
            with self.attach() as loader:
                while not self.over.is_set():
                    self.look(self.next(loader))
        except BaseException as error:
            self.error = error

    def next(self, loader):
        """The next batch; None at the end: a group that was slower and has stopped may hold every slot, and none is published any more."""
        deadline = time.monotonic() + 120
        while True:
            try:
                return loader.acquire(timeout=1)
            except spdl.Timeout:
                if self.over.is_set():
                    return None
                assert time.monotonic() < deadline, "no batch was ready within 120 s"

    def attach(self):
        deadline = time.monotonic() + WATCHDOG
        while True:
            try:
                return spdl.attach(self.place[0], group=self.place[1], max_leases=2)
            except (spdl.EngineLost, spdl.NotFound):  # it died before it had answered, or before it was asked
                assert time.monotonic() < deadline
                time.sleep(0.005)

    def look(self, batch):
        if batch is None:
            return
        with batch:
            assert (batch.ticket, batch.attempts, batch.rows) == (self.seen, 1, BATCH)
            first = self.want[self.seen % STEPS]
            failed = self.seen % 7 == 6
            first = np.zeros_like(first) if failed else transform(first)
            assert np.array_equal(batch["image"], transform(first)), f"ticket {batch.ticket}"
            assert batch["status"].tolist() == [spdl.ROW_MASKED if failed else spdl.ROW_OK] * BATCH
        self.seen += 1
        time.sleep(0.001)


class Restarts:
    """A run whose engine is killed and started again, and its consumers."""

    def __init__(self, run, consumers):
        self.run, self.over, self.kills = run, threading.Event(), 0
        self.consumers = consumers(self.over)
        for consumer in self.consumers:
            consumer.start()

    def wrong(self):
        return [c.error for c in self.consumers if c.error]

    def await_kill(self, meanwhile=None):
        deadline = time.monotonic() + WATCHDOG
        while self.run.engine.poll() is None:
            assert not self.wrong(), self.wrong()
            assert time.monotonic() < deadline, f"the engine was not killed\n{self.run.said.read_text()}"
            if meanwhile:
                meanwhile()
            time.sleep(0.01)
        assert self.run.engine.returncode == -signal.SIGKILL, self.run.said.read_text()
        self.kills += 1

    def await_progress(self, batches):
        goals = [c.seen + batches for c in self.consumers]
        deadline = time.monotonic() + WATCHDOG
        while any(c.seen < goal for c, goal in zip(self.consumers, goals)):
            assert not self.wrong(), self.wrong()
            assert time.monotonic() < deadline, f"the ring stands still at {[c.seen for c in self.consumers]}\n{self.run.said.read_text()}"
            time.sleep(0.005)

    def restart_often(self, times, fault, meanwhile):
        """Engines that die at fault(), every third again while it adopts, then one that lives; meanwhile(i) is what is done while the i-th death is awaited."""
        for i in range(times):
            self.await_kill(meanwhile(i))
            if i % 3 == 2:
                self.run.start("adopt.mid:1:kill")
                self.await_kill()
            self.run.start(None if i == times - 1 else fault())
        self.await_progress(2 * STEPS)
        check = subprocess.run([BUILD / "spdl", "inspect", self.run.name, "--check"], capture_output=True, text=True, timeout=WATCHDOG)
        assert check.returncode == 0, check.stdout + check.stderr

    def end_consumers(self):
        self.over.set()
        for consumer in self.consumers:
            consumer.join(WATCHDOG + 10)

    def end(self):
        """The engine's exit code."""
        self.end_consumers()
        return self.run.stop()
