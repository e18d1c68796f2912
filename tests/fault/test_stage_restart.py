"""kill -9 of `spdl serve` at named points while batches are on their way through two stages, and a restart: workers and consumers go on
where they are. Consumers of two groups see every batch once, in order, whole and transformed once by each stage, also when a worker
is killed with a batch half changed before, while or after the engine is.

Each point kills at least 3 engines (SPDL_FAULT_LONG=1: 40; `make kills`: 1,000).
"""

import os
import pathlib
import random
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from staged import GROUPS, STAGES, Consumer, Restarts, Run

import spdl

KILLS = int(os.environ.get("SPDL_KILLS", 40 if os.environ.get("SPDL_FAULT_LONG") else 3))
# Where the engine dies, and at which visit at the latest.
POINTS = {"slot.take": 20, "publish.store": 20, "publish.put": 60, "publish.word": 60, "publish.group": 40, "wake": 20, "stage.way": 120, "stage.restore": 2,
          "reclaim.mid": 2, "reclaim.stage": 2, "reclaim.word": 2}
NEEDS_DEATH = ["stage.restore", "reclaim.mid", "reclaim.stage", "reclaim.word"]


class Line(Restarts):
    """A run with a worker in each stage and a consumer in each group, whose engine is killed and started again."""

    def __init__(self, tag, pictures, tmp_path, want, fault):
        groups = [{"name": s, "kind": "stage"} for s in STAGES] + [{"name": g} for g in GROUPS]
        ring = {"groups": groups, "slots": 16, "backing": "posix", "access": "shared", "reconnect": "60s"}
        run, self.doomed = Run(f"restage-{os.getpid()}-{tag}", pictures, tmp_path, ring, fault), []
        self.workers = [run.worker(stage) for stage in STAGES]
        super().__init__(run, lambda over: [Consumer(run.name, group, want, over) for group in GROUPS])

    def doom(self, rng):
        """A worker that is killed in the middle of one of its next batches; at most one is alive."""
        if not self.doomed or self.doomed[-1].poll() is not None:
            self.doomed.append(self.run.worker(rng.choice(STAGES), half=rng.randint(1, 3)))

    def end(self):
        code = super().end()
        for worker in self.workers + self.doomed:
            worker.kill()
            worker.wait()
        return code


def ledger(line):
    with spdl.attach(line.run.name, group=GROUPS[0], max_leases=1) as loader:
        return {g["name"]: g for g in loader.stats()["rings"][0]["groups"]}


@pytest.mark.parametrize("point", POINTS)
def test_consumers_get_every_batch_once_and_whole_when_the_engine_is_killed_at(point, pictures, want, tmp_path):
    rng = random.Random(point)
    fault = lambda: f"{point}:{rng.randint(1, POINTS[point])}:kill"  # noqa: E731
    line = Line(point, pictures, tmp_path, want, fault())
    try:
        line.restart_often(KILLS, fault, lambda i: (lambda: line.doom(rng)) if point in NEEDS_DEATH or i % 2 == 1 else None)
        line.end_consumers()
        assert not line.wrong(), line.wrong()
        books = ledger(line)
    finally:
        code = line.end()
    assert code == 0
    for group in [*STAGES, *GROUPS]:
        assert (books[group]["violations"], books[group]["dropped"]) == (0, 0)
    assert all(books[group]["redelivered"] == 0 for group in GROUPS)
    assert not [n for n in os.listdir("/dev/shm") if line.run.name in n]
    print(f"{point}: {line.kills} engines and {len(line.doomed)} workers killed, {min(c.seen for c in line.consumers)} batches right", flush=True)
