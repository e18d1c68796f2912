"""Two epochs of a loader, proven by its delivery log, and some of their batches made again."""

import json
import os
import subprocess

import spdl


def prove(loader, spec, folder):
    """What `spdl verify` says of two epochs of a loader of this description, whose ring has hashes. Three of the batches come by `spdl replay` as they were."""
    log, hashes, description = spdl.delivery_log(loader, folder / "log"), [], folder / "spec.json"
    while loader.epoch < 2:
        hashes += [batch.hash for batch in log]
    description.write_text(json.dumps(spec))
    for step in (0, len(loader) + 3, 2 * len(loader) - 1):
        assert int(json.loads(command("replay", description, step, "--json"))["hash"], 16) == hashes[step]
    return command("verify", description, folder / "log")


def command(*words):
    """What a verb of the command prints."""
    done = subprocess.run([os.environ["SPDL_ENGINE"], *map(str, words)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout
