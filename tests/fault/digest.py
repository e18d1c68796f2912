"""NAME LOG [PAUSE [GROUP]]: a consumer of pictures that writes down what it got, a line of JSON each: ticket, attempts, samples, checksum of the pixels."""

import json
import os
import sys
import time
import zlib

import spdl


def attach(name, group):
    while True:
        try:
            return spdl.attach(name, group=group, max_leases=2)
        except spdl.EngineLost:
            continue  # it died before it had answered


name, path, pause, group = (*sys.argv[1:], *["0", "train"][len(sys.argv) - 3:])
log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
with attach(name, group) as loader:
    print("attached", flush=True)
    for _ in range(loader.info.epochs - loader.info.epoch):
        for batch in loader:
            pixels = zlib.crc32(batch.array("image").memoryview())
            line = [batch.ticket, batch.attempts, batch.array("index").tolist(), batch.sample_keys, pixels]
            batch.release()
            os.write(log, json.dumps(line).encode() + b"\n")
            time.sleep(float(pause))
