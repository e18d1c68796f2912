#!/usr/bin/env python3
"""stage.py - a stage in Python: it inverts every picture of a batch in its slot, before any consumer sees it.

    stage.py NAME GROUP

As examples/c/stage.c, where the engine's side is explained. An exception in the loop's body ends the batch as failed,
since the loader is used in a with-block. Needs numpy; put clients/python on PYTHONPATH or `pip install clients/python`.
"""

import sys

import numpy

import spdl


def run(name, group):
    batches = 0
    with spdl.attach(name, group=group) as loader:
        for epoch in loader.epochs():
            for batch in epoch:  # asking for the next one hands it on
                image = batch["image"]
                numpy.subtract(255, image, out=image)
                batches += 1
    print(f"{batches} {'batch' if batches == 1 else 'batches'}")


def main():
    if len(sys.argv) != 3:
        print("usage: stage.py NAME GROUP", file=sys.stderr)
        sys.exit(2)
    try:
        run(*sys.argv[1:])
    except spdl.SpdlError as error:
        sys.exit(f"stage: {error}")


if __name__ == "__main__":
    main()
