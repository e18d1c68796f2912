"""spdl.DataLoader in the place of torch's with GroupedBatchSampler, as torchvision's references and detectron2 call theirs: batches of one group each."""

import collections

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")
spdl = pytest.importorskip("spdl")
datasets = pytest.importorskip("torchvision.datasets")
from torch.utils.data import BatchSampler, DistributedSampler, RandomSampler, Sampler, SequentialSampler, Subset, SubsetRandomSampler, WeightedRandomSampler  # noqa: E402
from torchvision import transforms as T  # noqa: E402

SHAPES = [(40, 20), (20, 40), (30, 30)]  # width, height


class GroupedBatchSampler(BatchSampler):
    """What a program has copied from the references: batches as they fill, of each group its own. What is left over is filled up."""

    def __init__(self, sampler, group_ids, batch_size):
        self.sampler, self.group_ids, self.batch_size = sampler, group_ids, batch_size

    def __len__(self):
        return len(self.sampler) // self.batch_size

    def __iter__(self):
        waiting, seen, count = collections.defaultdict(list), collections.defaultdict(list), 0
        for i in self.sampler:
            group = self.group_ids[i]
            waiting[group].append(i)
            seen[group].append(i)
            if len(waiting[group]) == self.batch_size:
                yield waiting.pop(group)
                count += 1
        for group in sorted(waiting, key=lambda one: -len(waiting[one]))[:len(self) - count]:
            yield [*waiting[group], *(seen[group] * self.batch_size)[:self.batch_size - len(waiting[group])]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """23 pictures of three shapes, whose first pixel says which one it is."""
    root = tmp_path_factory.mktemp("grouped")
    (root / "a").mkdir()
    for i in range(23):
        Image.new("RGB", SHAPES[i * i % 7 % 3], (i, 0, 0)).save(root / "a" / f"{i:02}.png")
    return root


def dataset(folder):
    return datasets.ImageFolder(str(folder), T.Compose([T.Resize((16, 16), T.InterpolationMode.NEAREST), T.PILToTensor()]))


def groups_of(of):
    """0 of high pictures, 1 of square ones, 2 of wide ones."""
    sizes = [Image.open(path).size for path, _ in of.samples]
    return [1 + (w > h) - (w < h) for w, h in sizes]


def numbers(loader):
    return [images[:, 0, 0, 0].tolist() for images, _ in loader]


def generator(seed):
    return torch.Generator().manual_seed(seed)


def test_batches_are_of_one_group_and_each_sample_comes_once(folder):
    """Where torch's loop has the full ones."""
    of = dataset(folder)
    groups = groups_of(of)
    assert collections.Counter(groups) == {0: 13, 1: 6, 2: 4}
    batches = GroupedBatchSampler(RandomSampler(of, generator=generator(3)), groups, 4)
    theirs = numbers(torch.utils.data.DataLoader(of, batch_sampler=batches))
    assert len(theirs) == 5 and all(len({groups[i] for i in batch}) == 1 for batch in theirs)
    with spdl.DataLoader(of, batch_sampler=batches, copy=True) as loader:
        epochs = [numbers(loader) for _ in range(3)]
        assert len(loader) == 7
    for epoch in epochs:
        assert all(len({groups[i] for i in batch}) == 1 for batch in epoch) and sorted(i for batch in epoch for i in batch) == list(range(23))
        assert [len(batch) for batch in epoch[:5]] == [4] * 5 and sorted(len(batch) for batch in epoch[5:]) == [1, 2]
    assert epochs[0] != epochs[1] != epochs[2]


def test_the_order_is_the_generators_and_goes_on_from_a_state(folder):
    of = dataset(folder)

    def loader(seed, **said):
        return spdl.DataLoader(of, batch_sampler=GroupedBatchSampler(RandomSampler(of, generator=generator(seed)), groups_of(of), 4), copy=True, **said)
    with loader(1) as one, loader(1) as same, loader(2) as other:
        whole = numbers(one)
        assert numbers(same) == whole != numbers(other)
    with loader(1) as one:
        batches = iter(one)
        for _ in range(3):
            next(batches)
        state = one.state_dict()
    with loader(1, state=state) as one:
        assert numbers(one) == whole[3:]


def test_groups_of_parts_and_of_arrays(folder):
    """Of a Subset the numbers are the subset's; of SubsetRandomSampler they are the data set's, of which some come."""
    of, groups = dataset(folder), groups_of(dataset(folder))
    chosen = [22, 3, 4, 9, 1, 0, 13, 7]
    part = Subset(of, chosen)
    with spdl.DataLoader(part, batch_sampler=GroupedBatchSampler(RandomSampler(part), np.array([groups[i] for i in chosen]), 2)) as loader:
        got = numbers(loader)
    with spdl.DataLoader(of, batch_sampler=GroupedBatchSampler(SubsetRandomSampler(chosen), torch.tensor(groups), 2)) as loader:
        other = numbers(loader)
    for batches in (got, other):
        assert sorted(i for batch in batches for i in batch) == sorted(chosen) and all(len({groups[i] for i in batch}) == 1 for batch in batches)


def test_ranks_have_batches_of_one_group_in_a_step_and_as_many_rows(folder):
    of = dataset(folder)
    groups, each = groups_of(of), []
    for rank in range(2):
        sampler = DistributedSampler(of, 2, rank, seed=5)
        with spdl.DataLoader(of, batch_sampler=GroupedBatchSampler(sampler, groups, 2), copy=True) as loader:
            each.append(numbers(loader))
    assert len(each[0]) == len(each[1]) == 7 and all(len(batch) == 2 for rank in each for batch in rank)
    for steps in zip(*each):
        assert len({groups[i] for batch in steps for i in batch}) == 1
    assert {i for rank in each for batch in rank for i in batch} == set(range(23))
    described = spdl.describe(of, batch_sampler=GroupedBatchSampler(DistributedSampler(of, 2, 1), groups, 2))
    assert described["order"]["last"] == "pad" and described["world"] == {"size": 2, "rank": 1} and described["order"]["group"] == "groups.npy"


def test_groups_are_a_file_beside_a_description(folder, tmp_path):
    of = dataset(folder)
    described = spdl.describe(of, batch_sampler=GroupedBatchSampler(RandomSampler(of, generator=generator(9)), groups_of(of), 4), files=tmp_path)
    assert described["order"] == {"shuffle": True, "seed": 9, "last": "cover", "group": str(tmp_path / "groups.npy")} and described["batch"] == 4
    assert np.load(tmp_path / "groups.npy").tolist() == groups_of(of)
    with spdl.DataLoader(described, copy=True) as loader, spdl.DataLoader(of, batch_sampler=GroupedBatchSampler(RandomSampler(of, generator=generator(9)), groups_of(of), 4), copy=True) as other:
        assert numbers(loader) == numbers(other)


class Other(GroupedBatchSampler):
    def __iter__(self):
        return super().__iter__()


class OwnSampler(Sampler):
    def __iter__(self):
        return iter([3, 0, 8, 5, 2, 9])

    def __len__(self):
        return 6


@pytest.mark.parametrize("batches, message", [
    (lambda of: GroupedBatchSampler(SequentialSampler(of), [0] * 23, 2), "batch_sampler: got a GroupedBatchSampler of a SequentialSampler, want one of RandomSampler"),
    (lambda of: GroupedBatchSampler(DistributedSampler(of, 2, 0, shuffle=False), [0] * 23, 2), "batch_sampler: got a GroupedBatchSampler of a DistributedSampler, want one of .*that shuffles"),
    (lambda of: GroupedBatchSampler(WeightedRandomSampler([1.0] * 23, 9), [0] * 23, 2), "got a GroupedBatchSampler of a WeightedRandomSampler that draws, want"),
    (lambda of: GroupedBatchSampler(RandomSampler(of, replacement=True), [0] * 23, 2), "got a GroupedBatchSampler of a RandomSampler that draws, want"),
    (lambda of: GroupedBatchSampler(RandomSampler(of), [0] * 22, 2), "of 22 group_ids, want one for each of the data set's 23 samples"),
    (lambda of: GroupedBatchSampler(RandomSampler(of), [0.5] * 23, 2), "got 0.5 among a GroupedBatchSampler's group_ids, want whole numbers"),
    (lambda of: GroupedBatchSampler(RandomSampler(of), ["a"] * 23, 2), "got 'a' among a GroupedBatchSampler's group_ids, want whole numbers"),
])
def test_what_has_no_groups_here_is_refused(folder, batches, message):
    of = dataset(folder)
    with pytest.raises(spdl.ArgumentError, match=message):
        spdl.DataLoader(of, batch_sampler=batches(of))


@pytest.mark.parametrize("batches", (lambda of: GroupedBatchSampler(OwnSampler(), [i % 2 for i in range(23)], 2), lambda of: Other(SequentialSampler(of), [i % 3 for i in range(23)], 2)), ids=("its sampler", "itself"))
def test_one_that_is_of_ones_own_makes_the_batches(folder, batches):
    of = dataset(folder)
    with spdl.DataLoader(of, batch_sampler=batches(of), copy=True) as loader:
        assert numbers(loader) == numbers(torch.utils.data.DataLoader(of, batch_sampler=batches(of)))
