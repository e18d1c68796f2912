"""consumer.c in Python. NAME GROUP LOG: take batches until the data end, check every byte of the pattern, write to LOG."""

import asyncio
import os
import sys

import spdl

name, group, path = sys.argv[1:]
log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def attach():
    while True:
        try:
            return spdl.attach(name, group=group, max_leases=2)
        except spdl.EngineLost:
            continue  # it died before it had answered
        except spdl.NotFound:
            sys.exit(3)  # too late: the others had everything


def use(batch):
    ticket = batch.ticket
    os.write(log, b"A %d %d\n" % (ticket, batch.attempts))
    content = batch.array("x").memoryview().tobytes()
    assert content and content == ticket.to_bytes(8, "little") * (len(content) // 8), f"ticket {ticket}: pattern"
    batch.release()
    os.write(log, b"D %d 0\n" % ticket)


async def consume(loader):
    """Wait for the event descriptor in an event loop."""
    for _ in range(loader.info.epochs):
        async for batch in loader:
            use(batch)


with attach() as loader:
    if os.environ.get("SPDL_TEST_ASYNC"):
        asyncio.run(consume(loader))
    else:
        for _ in range(loader.info.epochs):
            for batch in loader:
                use(batch)
