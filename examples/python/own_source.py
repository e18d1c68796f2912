"""own_source.py - a data set of one's own in Python: pictures in a zip file, which this program opens and the engine decodes.

    own_source.py ARCHIVE.zip

Any object with __len__ and __getitem__ will do, a torch map-style data set too: what it returns is the encoded picture, as
bytes or as a path, alone or with a label and a key. Eight threads call it, ahead of the training loop and in the order that the
engine has drawn; decoding, resizing, batching, resume and the policy for bad samples are the engine's. Printed are the rows of
one epoch and the mean of each directory's pictures.
"""

import os
import sys
import threading
import zipfile

import numpy as np
import spdl


class Zip:
    """The pictures of an archive; the label is the number of the directory."""

    def __init__(self, path):
        self.path = path
        with zipfile.ZipFile(path) as archive:
            self.names = sorted(name for name in archive.namelist() if not name.endswith("/"))
        self.classes = sorted({os.path.dirname(name) for name in self.names})
        self.local = threading.local()  # a ZipFile has one position: each thread opens its own

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        if not hasattr(self.local, "archive"):
            self.local.archive = zipfile.ZipFile(self.path)
        name = self.names[index]
        return self.local.archive.read(name), self.classes.index(os.path.dirname(name)), name


def main():
    if len(sys.argv) != 2:
        print("usage: own_source.py ARCHIVE.zip", file=sys.stderr)
        sys.exit(2)
    try:
        pictures = Zip(sys.argv[1])
    except (OSError, zipfile.BadZipFile) as error:
        sys.exit(f"own_source: {error}")
    description = {"batch": 16, "order": {"epochs": 1}, "image": {"transform": [{"resize": [64, 64]}]}}
    sums, rows = np.zeros(len(pictures.classes)), np.zeros(len(pictures.classes), int)
    try:
        with spdl.open(description, source=pictures) as loader:
            for batch in loader:
                np.add.at(sums, batch["label"], batch["image"].mean(axis=(1, 2, 3)))
                np.add.at(rows, batch["label"], 1)
            bad = loader.stats()["rings"][0]["bad_samples"]
    except spdl.SpdlError as error:
        sys.exit(f"own_source: {error}")
    for name, total, n in zip(pictures.classes, sums, rows):
        print(f"{name}: {n} pictures, mean {total / max(n, 1):.2f}")
    for text in bad["last"]:
        print(f"bad: {text}")


if __name__ == "__main__":
    main()
