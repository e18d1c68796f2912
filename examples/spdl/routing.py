"""Items of different kinds take different paths; some are dropped, some fail, one path makes several of one."""

import logging

from spdl.pipeline import PipelineBuilder, PipelineFailure
from spdl.pipeline.defs import Pipe


def kind(item):
    return 0 if isinstance(item, int) else 1


def even(number):
    if number == 6:
        raise ValueError("six is not wanted")
    return number if number % 2 == 0 else None


def letters(text):
    yield from text


def build(max_failures):
    return (
        PipelineBuilder()
        .add_source([1, 2, "ab", 4, 6, "c"])
        .path_variants(kind, [[Pipe(even, max_failures=max_failures)], [Pipe(letters)]])
        .add_sink(3)
        .build(num_threads=2)
    )


def main():
    logging.getLogger("spdl").setLevel(logging.CRITICAL)
    pipeline = build(max_failures=1)
    with pipeline.auto_stop():
        print(sorted(map(str, pipeline)))
    try:
        pipeline = build(max_failures=0)
        with pipeline.auto_stop():
            for _ in pipeline:
                pass
    except PipelineFailure as error:
        print(type(error).__name__, len(error.exceptions), type(error.exceptions[0].__cause__).__name__)


if __name__ == "__main__":
    main()
