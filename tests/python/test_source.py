"""spdl.source: samplers, shuffling, merging, directories."""

from __future__ import annotations

import itertools
import pickle
import tracemalloc
from collections import Counter

import pytest
from spdl.source import (
    DistributedDeterministicSampler,
    DistributedRandomSampler,
    IterableWithShuffle,
    SizedIterable,
    SizedIterableWithShuffle,
)
from spdl.source.imagenet import ImageNet, get_mappings, parse_wnid
from spdl.source.local_directory import LocalDirectory
from spdl.source.utils import MergeIterator, embed_shuffle, repeat_source

SAMPLERS = [DistributedDeterministicSampler, DistributedRandomSampler]


@pytest.mark.parametrize("kind", SAMPLERS)
@pytest.mark.parametrize("n, world", [(10, 1), (10, 2), (10, 3), (7, 7), (1, 1), (100, 8)])
def test_ranks_share_the_indices_without_overlap(kind, n, world):
    """Each index at most once over all ranks; all of them where asked for, else equally many for each rank."""
    whole = [kind(n, rank=rank, world_size=world, ddp_drop_last_distributed_round=False) for rank in range(world)]
    assert sorted(i for one in whole for i in one) == list(range(n))
    assert all(len(list(one)) == len(one) for one in whole)
    if n % world:
        with pytest.warns(UserWarning, match="left out of each epoch"):
            equal = [kind(n, rank=rank, world_size=world) for rank in range(world)]
    else:
        equal = [kind(n, rank=rank, world_size=world) for rank in range(world)]
    assert {len(list(one)) for one in equal} == {n // world}
    assert max(Counter(i for one in equal for i in one).values()) == 1


@pytest.mark.parametrize("kind", SAMPLERS)
@pytest.mark.parametrize("n, rank, world, text", [
    (0, 0, 1, "0 samples"), (10, 2, 2, "rank 2, want 0 to 1"), (10, -1, 2, "rank -1"), (2, 0, 3, "2 samples for 3 ranks"),
    (2, 0, 0, "world_size 0")])
def test_a_sampler_that_cannot_be_is_refused(kind, n, rank, world, text):
    with pytest.raises(ValueError, match=text):
        kind(n, rank=rank, world_size=world)


def test_the_seed_decides_the_order():
    sampler = DistributedRandomSampler(1000, rank=0, world_size=1, seed=5)
    first = list(sampler)
    assert first == list(sampler) == list(DistributedRandomSampler(1000, rank=0, world_size=1, seed=5))
    sampler.shuffle(6)
    assert list(sampler) != first and sorted(sampler) == list(range(1000))
    assert all(isinstance(index, int) for index in first)


def test_every_order_of_few_is_about_equally_likely():
    """Of 6,000 seeds each of the 6 orders of 3 gets 1,000, within 6 standard deviations."""
    orders = Counter(tuple(DistributedRandomSampler(3, rank=0, world_size=1, seed=seed)) for seed in range(6000))
    assert len(orders) == 6 and all(abs(count - 1000) < 6 * 29 for count in orders.values())


def test_a_sampler_of_a_billion_needs_no_memory():
    """SPDL makes an array of n numbers in every rank."""
    tracemalloc.start()
    sampler = DistributedRandomSampler(10**9, rank=3, world_size=8)
    some = list(itertools.islice(sampler, 1000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(set(some)) == 1000 and max(some) > 5 * 10**8 and peak < 1 << 20


def test_weights_draw_with_replacement_in_proportion():
    ranks = [DistributedRandomSampler(3, rank=rank, world_size=2, weights=[0, 1, 3], num_draws=8000) for rank in range(2)]
    drawn = Counter(index for one in ranks for index in one)
    assert set(drawn) == {1, 2} and 5600 < drawn[2] < 6400 and list(ranks[0]) != list(ranks[1])
    for weights, text in (([1], "1 weights for 3"), ([1, -1, 1], "weight 1 is -1"), ([0, 0, 0], "all weights are 0"),
                          ([1, float("nan"), 1], "weight 1 is nan")):
        with pytest.raises(ValueError, match=text):
            DistributedRandomSampler(3, rank=0, world_size=1, weights=weights)
    with pytest.raises(ValueError, match="num_draws 4 of 3"):
        DistributedRandomSampler(3, rank=0, world_size=1, num_draws=4)
    assert len(list(DistributedRandomSampler(100, rank=0, world_size=2, num_draws=10))) == 5


def test_the_protocols_tell_sources_apart():
    deterministic, shuffled = (kind(4, rank=0, world_size=1) for kind in SAMPLERS)
    assert isinstance(deterministic, SizedIterable) and not isinstance(deterministic, IterableWithShuffle)
    assert isinstance(shuffled, IterableWithShuffle) and isinstance(shuffled, SizedIterableWithShuffle)
    assert not isinstance(3, SizedIterable)


def test_iterables_are_merged_in_turn():
    for stop_after, want in ((0, [1, 4, 2, 5, 3]), (3, [1, 4, 2]), (-1, [1, 4, 2, 5, 3])):
        assert list(MergeIterator([[1, 2, 3], [4, 5]], stop_after=stop_after)) == want
    assert list(MergeIterator([[1], [4, 5]], stop_after=-1)) == [1, 4]


def test_iterables_are_merged_by_weight_and_anew_each_time():
    merged = MergeIterator([itertools.repeat(0), itertools.repeat(1), [9]], weights=[1, 3, 0], stop_after=4000, seed=1)
    first, second = list(merged), list(merged)
    assert 900 < first.count(0) < 1100 and 9 not in first
    assert first != second, "each iteration must choose anew"
    again = MergeIterator([itertools.repeat(0), itertools.repeat(1), [9]], weights=[1, 3, 0], stop_after=4000, seed=1)
    assert list(again) == first
    assert sorted(MergeIterator([[1, 2], [3]], weights=[1, 1])) == [1, 2, 3]


@pytest.mark.parametrize("arguments, text", [
    (([],), "no iterables"), (([[1]], [1, 2]), "2 weights for 1"), (([[1]], [0]), "a sum above"),
    (([[1]], [-1]), "none below 0"), (([[1]], None, -2), "stop_after -2")])
def test_a_merge_that_cannot_be_is_refused(arguments, text):
    names = ("iterables", "weights", "stop_after")
    with pytest.raises(ValueError, match=text):
        MergeIterator(arguments[0], **dict(zip(names[1:], arguments[1:])))


class Shuffled:
    def __init__(self):
        self.seeds = []

    def __len__(self):
        return 2

    def __iter__(self):
        yield from range(2)

    def shuffle(self, seed):
        self.seeds.append(seed)


def test_a_source_is_shuffled_by_its_epoch():
    before, after = Shuffled(), Shuffled()
    first, last = embed_shuffle(before, epoch=5), embed_shuffle(after, shuffle_last=True, epoch=5)
    assert (len(first), list(first), list(first), before.seeds) == (2, [0, 1], [0, 1], [5, 6])
    iterator = iter(last)
    assert next(iterator) == 0 and after.seeds == [] and list(iterator) == [1] and after.seeds == [5]
    with pytest.raises(ValueError, match="no shuffle"):
        embed_shuffle([1])


def test_a_source_is_repeated_for_ever():
    source = Shuffled()
    repeated = repeat_source(source, epoch=3)
    again = pickle.loads(pickle.dumps(repeated))
    assert list(itertools.islice(repeated, 5)) == [0, 1, 0, 1, 0] and source.seeds == [3, 4, 5]
    assert next(again) == 0
    with pytest.raises(ValueError, match="it has begun"):
        pickle.dumps(repeated)


@pytest.mark.parametrize("source", [[], iter([1, 2])])
def test_a_source_with_nothing_to_repeat_is_refused(source):
    """SPDL spins for ever."""
    with pytest.raises(ValueError, match="is empty"):
        list(itertools.islice(repeat_source(source), 5))


def test_a_directory_is_listed_sorted_or_shuffled(tmp_path):
    for name in ("b.txt", "a.txt", "sub/c.txt", "d.bin"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    files = LocalDirectory(tmp_path, "**/*.txt")
    assert isinstance(files, SizedIterableWithShuffle) and len(files) == 3
    assert [path.name for path in files] == ["a.txt", "b.txt", "c.txt"]
    orders = set()
    for seed in range(20):
        files.shuffle(seed)
        orders.add(tuple(path.name for path in files))
    files.shuffle(3)
    assert len(orders) > 1 and tuple(path.name for path in files) in orders
    with pytest.raises(ValueError, match="is not a directory"):
        LocalDirectory(tmp_path / "none", "*")
    with pytest.raises(ValueError, match="nothing below"):
        list(LocalDirectory(tmp_path, "*.jpg"))


def test_imagenet_classes_are_those_of_the_sorted_folders(tmp_path):
    for split in ("train", "val"):
        for number, wnid in enumerate(("n01440764", "n01443537", "n02000000")):
            if (split, number) != ("val", 0):
                (tmp_path / split / wnid).mkdir(parents=True)
                (tmp_path / split / wnid / f"{wnid}_1.JPEG").touch()
    assert [number for _, number in ImageNet(tmp_path)] == [1, 2]
    assert len(ImageNet(tmp_path, "train")) == 3
    assert get_mappings(tmp_path) == {"n01440764": 0, "n01443537": 1, "n02000000": 2}
    assert parse_wnid("/data/val/n01440764/x_n01443537.JPEG") == "n01443537"
    for call, text in ((lambda: parse_wnid("x"), "no WordNet id"), (get_mappings, "data set's directory"),
                       (lambda: get_mappings(tmp_path / "val" / "n01443537"), "no folder named")):
        with pytest.raises(ValueError, match=text):
            call()
