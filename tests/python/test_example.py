"""examples/python/train.py runs as its page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zlib

import pytest
import spdl
from conftest import ROOT, built

pytest.importorskip("numpy")
TRAIN = ROOT / "examples" / "python" / "train.py"


@pytest.fixture
def train(library):
    def run(*args: object) -> subprocess.CompletedProcess:
        env = {**os.environ, "PYTHONPATH": str(ROOT / "clients/python"), "SPDL_ENGINE": str(built("spdl"))}
        return subprocess.run([sys.executable, TRAIN, *args], env=env, capture_output=True, text=True, timeout=120)

    return run


def test_it_hashes_what_every_language_hashes(engine, train):
    one = engine("--groups", "a,b", "--batches", "6", "--slots", "12")
    with spdl.attach(one.name, "a") as loader:
        want = []
        for batch in loader:
            crc = zlib.crc32(batch.rows.to_bytes(4, "little"))
            crc = zlib.crc32(batch["x"].tobytes(), crc)
            crc = zlib.crc32(batch["index"].tobytes(), crc)
            crc = zlib.crc32("".join(batch.sample_keys).encode(), crc)
            crc = zlib.crc32(batch.array("key").offsets.memoryview().tobytes(), crc)
            want.append(f"{batch.ticket} {zlib.crc32(batch['status'].tobytes(), crc):08x}")
        done = train(one.name, "b", "--hash")
    assert done.stdout.splitlines()[:-1] == want, done.stderr
    assert re.fullmatch(r"6 batches, 24 rows, [0-9.]+ batches/s; mean of image 0.0000; 0 labels", done.stdout.splitlines()[-1])


def test_it_opens_a_folder_and_says_what_is_wrong_with_one(train, runtime, tmp_path):
    done = train(tmp_path)
    assert done.returncode == 1 and done.stderr.startswith("train: ") and str(tmp_path) in done.stderr
    done = train("nobody")
    assert done.returncode == 1 and 'no engine answers at' in done.stderr
    assert train().returncode == 2
