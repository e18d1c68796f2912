"""A Python consumer that tells what it is given: one line of JSON per batch.

    consume.py '{"name": ..., "group": ..., "lane": ..., "max_leases": ..., "batches": ..., "pause": ...}'

It reads every epoch that is left, or "batches" batches, and leaves. "pause" seconds are spent on each batch.
"""

import json
import sys
import time

import spdl

how = json.loads(sys.argv[1])
limit, pause = how.pop("batches", None), how.pop("pause", 0)


def batches(loader):
    for epoch in loader.epochs():
        yield from epoch


with spdl.attach(**how) as loader:
    for count, batch in enumerate(batches(loader), 1):
        print(json.dumps({
            "ticket": batch.ticket, "epoch": batch.epoch, "step": batch.step, "lane": batch.lane, "rows": batch.rows,
            "attempts": batch.attempts, "index": batch["index"].tolist(), "status": batch["status"].tolist(),
            "n_bad": batch.n_bad, "last": batch.last,
        }), flush=True)
        time.sleep(pause)
        if count == limit:
            break
