"""Read files, make something small of each, and batch that."""

import hashlib
import tempfile
from pathlib import Path

from spdl.pipeline import PipelineBuilder


def read(path):
    return path.name, path.read_bytes()


def digest(named):
    name, data = named
    return name, hashlib.sha256(data).hexdigest()[:8]


def main():
    with tempfile.TemporaryDirectory() as directory:
        for number in range(20):
            Path(directory, f"{number:02}.bin").write_bytes(bytes([number]) * 1000)
        pipeline = (
            PipelineBuilder()
            .add_source(sorted(Path(directory).iterdir()))
            .pipe(read, concurrency=4, output_order="input")
            .pipe(digest, concurrency=2, output_order="input")
            .aggregate(8)
            .add_sink(3)
            .build(num_threads=6)
        )
        with pipeline.auto_stop():
            for batch in pipeline.get_iterator(timeout=30):
                print(len(batch), *(f"{name}={text}" for name, text in batch[:2]))


if __name__ == "__main__":
    main()
