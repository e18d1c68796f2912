"""What two ranks read, and a loader over it."""

from spdl.dataloader import DataLoader
from spdl.source import DistributedDeterministicSampler, DistributedRandomSampler, SizedIterable
from spdl.source.utils import MergeIterator


def join(items):
    return sum(items), len(items)


def main():
    for rank in range(2):
        sampler = DistributedDeterministicSampler(10, rank=rank, world_size=2)
        print(rank, len(sampler), list(sampler), isinstance(sampler, SizedIterable))
    ranks = [DistributedRandomSampler(10, rank=rank, world_size=2, seed=3) for rank in range(2)]
    print(sorted(int(index) for sampler in ranks for index in sampler))
    print(list(MergeIterator([[1, 2, 3], "ab"])))
    loader = DataLoader(
        range(10),
        preprocessor=lambda x: x + 100,
        batch_size=4,
        aggregator=join,
        num_threads=2,
        output_order="input",
    )
    for _ in range(2):
        print(list(loader))


if __name__ == "__main__":
    main()
