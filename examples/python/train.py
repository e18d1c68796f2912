#!/usr/bin/env python3
"""train.py - one epoch in Python: batches/s, the mean of the images, how many labels there are.

    train.py SPEC_OR_NAME [GROUP] [--hash]

An existing file or folder, or text that begins with '{', is opened: an engine is started for this program alone.
Anything else is the name of a running engine. --hash prints "TICKET HASH" for each batch, see examples/README.md.
Needs numpy; put clients/python on PYTHONPATH or `pip install clients/python`.
"""

import argparse
import ctypes
import json
import os
import sys
import time
import zlib

import spdl


def open_or_attach(what, group):
    leases = 2  # the batch in hand, and views of the one before while the next is asked for
    if what.startswith("{"):
        return spdl.open(json.loads(what), group=group, max_leases=leases)
    if os.path.exists(what):
        return spdl.open(what, group=group, max_leases=leases)
    return spdl.attach(what, group=group, max_leases=leases)


def memory(part):
    """The bytes of an array, with what lies between its rows where they are padded."""
    if part.dtype.typestr is None:  # numpy has no such numbers
        return part.memoryview()
    return (ctypes.c_char * (part.shape[0] * part.strides[0])).from_address(part.__array_interface__["data"][0])


def hash_batch(batch):
    crc = zlib.crc32(batch.rows.to_bytes(4, "little"))
    for name in batch:
        field = batch.array(name)
        parts = (field.values, field.offsets) if isinstance(field, spdl.Ragged) else (field,)
        for part in parts:
            crc = zlib.crc32(memory(part), crc)
    return crc


def run(loader, with_hash):
    batches = rows = elements = 0
    total = 0.0
    labels: set[int] = set()
    start = time.monotonic()
    for batch in loader:
        if with_hash:
            print(f"{batch.ticket} {hash_batch(batch):08x}")
        if "image" in batch:
            image = batch.array("image")
            part = image.values if isinstance(image, spdl.Ragged) else image  # ragged: rows of different length
            if part.dtype.typestr in ("|u1", "<f4"):
                pixels = part.numpy()  # a view of shared memory: no copy was made
                total += float(pixels.sum(dtype="float64"))
                elements += pixels.size
        if "label" in batch:
            labels.update(label for label in batch["label"].tolist() if label != -1)  # -1: the sample has none
        batches += 1
        rows += batch.rows
    rate = batches / (time.monotonic() - start)
    mean = total / elements if elements else 0.0
    print(f"{counted(batches, 'batch', 'batches')}, {counted(rows, 'row', 'rows')}, {rate:.1f} batches/s; "
          f"mean of image {mean:.4f}; {counted(len(labels), 'label', 'labels')}")


def counted(n, one, more):
    return f"{n} {one if n == 1 else more}"


def main():
    parser = argparse.ArgumentParser(description="Read one epoch of a folder, a description, or a running engine.")
    parser.add_argument("what", metavar="SPEC_OR_NAME", help="a folder of pictures, a description, or an engine's name")
    parser.add_argument("group", metavar="GROUP", nargs="?", help="the group to join")
    parser.add_argument("--hash", action="store_true", help="print TICKET HASH for each batch")
    arguments = parser.parse_args()
    try:
        with open_or_attach(arguments.what, arguments.group) as loader:
            run(loader, arguments.hash)
    except (spdl.SpdlError, ValueError) as error:
        sys.exit(f"train: {error}")


if __name__ == "__main__":
    main()
