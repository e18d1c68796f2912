"""consumer.c in Python. NAME GROUP LOG: take batches until the data end, check every byte of the pattern, write to LOG.

With SPDL_TEST_ASYNC, in an event loop; then LOG.looks tells how often it looked for news while its engine was lost, and how
often it may have: it is to sleep between two looks.
"""

import asyncio
import os
import sys
import time

import spdl
from spdl._aio import _NET_S

TRY_S = 0.02  # TRY_NS of capi/client/reconnect.c

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


async def watch(loader):
    """Count the looks at a lost engine."""
    looks, nothing, acquire = 0, False, loader._reader.acquire

    def look(*arguments):
        nonlocal looks, nothing
        looks += 1
        found = acquire(*arguments)
        nothing = isinstance(found, int)  # a status
        return found

    loader._reader.acquire = look
    while loader.state != "lost" or not nothing:  # what was published is taken first
        await asyncio.sleep(0.01)
    looks, begun = 0, time.monotonic()
    await asyncio.sleep(1)
    most = 2 * (time.monotonic() - begun) * (1 / TRY_S + 1 / _NET_S)
    with open(path + ".new", "w") as file:
        file.write(f"{looks} {most}")
    os.rename(path + ".new", path + ".looks")


async def consume(loader):
    """Wait for the event descriptor in an event loop."""
    watching = asyncio.ensure_future(watch(loader))
    for _ in range(loader.info.epochs):
        async for batch in loader:
            use(batch)
    watching.cancel()


with attach() as loader:
    if os.environ.get("SPDL_TEST_ASYNC"):
        asyncio.run(consume(loader))
    else:
        for _ in range(loader.info.epochs):
            for batch in loader:
                use(batch)
