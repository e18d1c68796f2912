"""Three epochs through one pipeline whose stages are never torn down between them."""

import asyncio

from spdl.pipeline import PipelineBuilder
from spdl.source.utils import embed_shuffle


class Source:
    """Numbers in an order that depends on the epoch."""

    def __init__(self, n):
        self.items = list(range(n))
        self.first = 0

    def shuffle(self, seed):
        self.first = seed

    def __iter__(self):
        return iter(self.items[self.first:] + self.items[:self.first])


async def fetch(number):
    await asyncio.sleep(0.001)
    return number * 10


def main():
    pipeline = (
        PipelineBuilder()
        .add_source(embed_shuffle(Source(7)), continuous=True)
        .pipe(fetch, concurrency=4, output_order="input")
        .aggregate(3, drop_last=True)
        .add_sink(2)
        .build(num_threads=2)
    )
    with pipeline.auto_stop():
        for epoch in range(3):
            print(epoch, list(pipeline.get_iterator(timeout=30)))


if __name__ == "__main__":
    main()
