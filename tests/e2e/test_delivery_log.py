"""Proof of delivery: consumers' logs, and what `spdl verify` and `spdl replay` say of them."""

import json
import os
import subprocess

import pytest
import spdl
from engines import describe

ORDER = {"shuffle": True, "seed": 5, "epochs": 2}
STEPS = 7  # of 8 rows an epoch, of 53 pictures


def description(pictures, batch=8, **sections):
    ring = {"hash": "xxh3", **sections.pop("ring", {})}
    return describe(pictures.path, batch=batch, order=ORDER, ring=ring, **sections)


def command(tmp_path, spec, verb, *args):
    file = tmp_path / "spec.json"
    file.write_text(json.dumps(spec))
    done = subprocess.run([os.environ["SPDL_ENGINE"], verb, file, *map(str, args)], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def consume(loader, path, until=None):
    """Iterate epoch by epoch; stop by an exception in the loop body at step `until`."""
    log = spdl.delivery_log(loader, path)
    while loader.epoch < ORDER["epochs"]:
        for batch in log:
            if batch.step == until:
                raise KeyError("the body fails")


def test_a_whole_run_is_proven(open_, pictures, tmp_path):
    spec = description(pictures)
    consume(open_(spec), tmp_path / "log")
    code, text = command(tmp_path, spec, "verify", tmp_path / "log")
    assert code == 0 and "14 batches, 106 rows, steps 0 to 13" in text and "every sample came as often as planned" in text


def test_a_run_that_failed_and_went_on_elsewhere_is_proven_and_a_lost_batch_named(open_, pictures, tmp_path):
    """The batch of the body that raised is in no log; the next run starts with it."""
    spec = description(pictures)
    loader = open_(spec)
    with pytest.raises(KeyError):
        consume(loader, tmp_path / "first", until=5)
    state = loader.state_dict(count_held=False)
    loader.close()
    rest = open_(spec, state=state)
    consume(rest, tmp_path / "second")
    assert command(tmp_path, spec, "verify", tmp_path / "first", tmp_path / "second")[0] == 0
    lines = (tmp_path / "second").read_text().splitlines()
    (tmp_path / "second").write_text("\n".join(lines[1:]) + "\n")
    code, text = command(tmp_path, spec, "verify", tmp_path / "first", tmp_path / "second")
    assert code == 1 and "steps 5 to 5: missing" in text


def test_the_hash_of_a_logged_batch_is_that_of_its_replay(open_, pictures, tmp_path):
    spec = description(pictures)
    consume(open_(spec), tmp_path / "log")
    for line in (tmp_path / "log").read_text().splitlines()[::5]:
        logged = json.loads(line)
        code, text = command(tmp_path, spec, "replay", logged["step"], "--json")
        replayed = json.loads(text)
        assert code == 0 and replayed["hash"] == logged["hash"] != "0" * 16 and replayed["index"] == logged["index"]
