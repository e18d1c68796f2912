"""spdl.DataLoader in the place of torch's, by one word: samplers and batch samplers of the program's own are asked for their order as torch's loop asks them: batches, and numbers of batches, are torch's."""

import gc
import itertools
import math
import pathlib
import random
import threading

import numpy as np
import pytest
from PIL import Image

from conftest import picture

torch = pytest.importorskip("torch")
spdl = pytest.importorskip("spdl")
pytest.importorskip("torchvision")
from torch.utils.data import BatchSampler, DataLoader, Dataset, Sampler, Subset  # noqa: E402
from torchvision import datasets, transforms as T  # noqa: E402

N = 23
TENSOR = T.Compose([T.Resize((12, 14)), T.ToTensor()])


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    at, rng = tmp_path_factory.mktemp("samplers"), np.random.default_rng(5)
    for i in range(N):
        (at / "abcd"[i % 4]).mkdir(exist_ok=True)
        Image.fromarray(picture(rng, 20, 16)).save(at / "abcd"[i % 4] / f"{i:02}.png")
    return at


class Own(Dataset):
    """A class of one's own, with more than a label beside the picture."""

    def __init__(self, root, transform=TENSOR):
        self.samples, self.transform = datasets.ImageFolder(root).samples, transform

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        path, label = self.samples[i]
        return self.transform(Image.open(path).convert("RGB")), label, {"number": i, "name": path[-6:]}


class MPerClass(Sampler):
    """m samples of each class in a row, as metric learning has them, by NumPy's own numbers."""

    def __init__(self, labels, m, length):
        self.labels, self.m, self.length = np.array(labels), m, length

    def __len__(self):
        return self.length

    def __iter__(self):
        order = []
        while len(order) < self.length:
            for label in np.random.permutation(np.unique(self.labels)):
                order += np.random.choice(np.flatnonzero(self.labels == label), self.m, replace=False).tolist()
        return iter(order[:self.length])


class OfTorch(Sampler):
    """Draws from torch's own generator, one after the other."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __iter__(self):
        for _ in range(self.count):
            yield torch.randint(N, ())


class Permuted(Sampler):
    """Draws its order at once."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __iter__(self):
        yield from torch.randperm(N)[:self.count].tolist()


class RepeatAug(Sampler):
    """As DeiT and timm have it: each sample several times, over the ranks."""

    def __init__(self, dataset, num_replicas=2, rank=1, repeats=3):
        self.dataset, self.num_replicas, self.rank, self.repeats, self.epoch = dataset, num_replicas, rank, repeats, 0
        self.num_samples = math.ceil(len(dataset) * repeats / num_replicas)

    def __len__(self):
        return 8

    def __iter__(self):
        generator = torch.Generator().manual_seed(self.epoch)
        indices = torch.randperm(len(self.dataset), generator=generator)
        indices = torch.repeat_interleave(indices, repeats=self.repeats, dim=0).tolist()
        indices += indices[:self.num_samples * self.num_replicas - len(indices)]
        return iter(indices[self.rank::self.num_replicas][:8])

    def set_epoch(self, epoch):
        self.epoch = epoch


class Balanced(Sampler):
    """Batches of n samples of each of k classes."""

    def __init__(self, labels, k, n):
        self.by = {label: [i for i, one in enumerate(labels) if one == label] for label in set(labels)}
        self.k, self.n, self.batch_size, self.length = k, n, k * n, len(labels) // (k * n)

    def __len__(self):
        return self.length

    def __iter__(self):
        for _ in range(self.length):
            yield [i for label in random.sample(sorted(self.by), self.k) for i in random.sample(self.by[label], self.n)]


class Bucketed(Sampler):
    """Batches whose sizes are their own, another number of them in each epoch, as samplers by length have them."""

    def __init__(self, lengths, most):
        self.lengths, self.most, self.epoch = lengths, most, 0

    def __len__(self):
        return len(self.batches())

    def batches(self):
        order = torch.randperm(len(self.lengths), generator=torch.Generator().manual_seed(self.epoch)).tolist()
        batches, batch, total = [], [], 0
        for i in order:
            if batch and total + self.lengths[i] > self.most:
                batches.append(batch)
                batch, total = [], 0
            batch.append(i)
            total += self.lengths[i]
        return [*batches, batch]

    def __iter__(self):
        return iter(self.batches())

    def set_epoch(self, epoch):
        self.epoch = epoch


def labels(root):
    return [label for _, label in datasets.ImageFolder(root).samples]


LENGTHS = [3, 1, 1, 2, 5, 1, 4, 2, 1, 1, 3, 2, 1, 6, 1, 2, 2, 1, 1, 3, 4, 1, 2]
SAMPLERS = {
    "m per class": lambda root, dataset: dict(sampler=MPerClass(labels(root), 3, 18), batch_size=4),
    "m per class, drop last": lambda root, dataset: dict(sampler=MPerClass(labels(root), 3, 18), batch_size=4, drop_last=True),
    "torch's generator": lambda root, dataset: dict(sampler=OfTorch(11), batch_size=3),
    "torch's generator, given": lambda root, dataset: dict(sampler=OfTorch(11), batch_size=3, generator=torch.Generator().manual_seed(4)),
    "repeated": lambda root, dataset: dict(sampler=RepeatAug(dataset), batch_size=3),
    "balanced batches": lambda root, dataset: dict(batch_sampler=Balanced(labels(root), 3, 2)),
    "batches of their own sizes": lambda root, dataset: dict(batch_sampler=Bucketed(LENGTHS, 8)),
    "a BatchSampler of one": lambda root, dataset: dict(batch_sampler=BatchSampler(MPerClass(labels(root), 2, 15), 4, False)),
    "lists": lambda root, dataset: dict(batch_sampler=[[5, 1, 1], [22], [0, 3], [4]]),
}


def seeded(seed):
    torch.manual_seed(seed)
    np.random.seed(seed)
    random.seed(seed)


@pytest.mark.parametrize("kind", ("a folder", "a class of one's own"))
@pytest.mark.parametrize("name", SAMPLERS)
def test_batches_are_torchs(root, name, kind):
    """Of three epochs, the sampler told of each, and behind them the generators that all have are where torch's loop has them."""
    dataset = datasets.ImageFolder(root, TENSOR) if kind == "a folder" else Own(root)

    def run(made):
        seeded(7)
        arguments = SAMPLERS[name](root, dataset)
        with made(dataset, **arguments) as loader:
            epochs, lengths = [], []
            for epoch in range(3):
                one = arguments.get("sampler", arguments.get("batch_sampler"))
                if hasattr(one, "set_epoch"):
                    one.set_epoch(epoch)
                lengths.append(len(loader))
                epochs.append(list(loader))
        return epochs, lengths, (torch.rand(()), np.random.rand(), random.random())

    ours = run(lambda *args, **said: spdl.DataLoader(*args, copy=True, **said))
    theirs = run(lambda *args, **said: _Closing(DataLoader(*args, **said)))
    assert ours[1] == theirs[1] == [len(one) for one in theirs[0]]
    assert ours[2] == theirs[2]
    for one, other in zip(ours[0], theirs[0]):
        for batch, wanted in zip(one, other):
            assert torch.equal(batch[0], wanted[0]) and torch.equal(batch[1], wanted[1])
            assert kind == "a folder" or batch[2]["number"].tolist() == wanted[2]["number"].tolist() and batch[2]["name"] == wanted[2]["name"]


class _Closing:
    def __init__(self, loader):
        self.loader = loader

    def __enter__(self):
        return self.loader

    def __exit__(self, *_):
        pass


def numbers(loader):
    return [batch[2]["number"].tolist() for batch in loader]


class Endless(Sampler):
    def __iter__(self):
        generator = torch.Generator().manual_seed(3)
        while True:
            yield from torch.randperm(N, generator=generator).tolist()


def test_one_without_an_end(root):
    """It is asked for no more than is wanted, and the loop has no end; no length either."""
    dataset = Own(root)
    with spdl.DataLoader(dataset, sampler=Endless(), batch_size=4) as loader:
        ours = [batch[2]["number"].tolist() for batch in itertools.islice(loader, 40)]
        with pytest.raises(TypeError):
            len(loader)
        assert isinstance(loader.sampler, Endless)
        with pytest.raises(AttributeError, match="has no batch_sampler as torch's has"):
            loader.batch_sampler
    assert ours == [batch[2]["number"].tolist() for batch in itertools.islice(DataLoader(dataset, sampler=Endless(), batch_size=4), 40)]


def test_a_break_and_the_next_loop_are_torchs(root):
    def run(loader):
        seeded(2)
        seen = [batch[2]["number"].tolist() for batch in itertools.islice(loader, 2)]
        return seen, numbers(loader), [next(iter(loader))[2]["number"].tolist() for _ in range(3)], numbers(loader)

    dataset = Own(root)
    with spdl.DataLoader(dataset, sampler=Permuted(14), batch_size=4) as loader:
        ours = run(loader)
    assert ours == run(DataLoader(dataset, sampler=Permuted(14), batch_size=4))


def test_loops_that_stop_at_the_length_are_torchs(root):
    """zip(range(len(loader)), loader) has all batches, and does not ask for more."""
    def run(loader):
        seeded(2)
        return [[batch[2]["number"].tolist() for _, batch in zip(range(len(loader)), loader)] for _ in range(3)]

    dataset = Own(root)
    with spdl.DataLoader(dataset, sampler=OfTorch(12), batch_size=4) as loader:
        ours = run(loader)
    assert ours == run(DataLoader(dataset, sampler=OfTorch(12), batch_size=4))


@pytest.mark.parametrize("argument", ("sampler", "batch_sampler"))
def test_a_state_goes_on_and_set_epoch_reaches_the_sampler(root, argument):
    dataset = Own(root)

    def made(**more):
        return spdl.DataLoader(dataset, copy=True, **(dict(sampler=RepeatAug(dataset), batch_size=3) if argument == "sampler" else dict(batch_sampler=Bucketed(LENGTHS, 8))), **more)

    with made() as loader:
        whole, states = [], []
        for epoch in range(3):
            loader.set_epoch(epoch)
            for batch in loader:
                whole.append((epoch, batch[2]["number"].tolist()))
                states.append(loader.state_dict())
    assert len({tuple(one) for _, one in whole}) > len(whole) // 2
    for at in range(len(whole)):
        follows = next((epoch for epoch, _ in whole[at + 1:]), 3)
        with made(state=states[at]) as loader:
            rest = []
            for epoch in range(follows, 3):
                loader.set_epoch(epoch)
                rest += [(epoch, one) for one in numbers(loader)]
        assert rest == whole[at + 1:]
    with made() as loader:
        loader.load_state_dict(states[1])
        loader.set_epoch(0)
        assert [(0, one) for one in numbers(loader)] == [one for one in whole[2:] if one[0] == 0]


def test_a_state_of_another_order_is_refused(root):
    dataset = Own(root)
    seeded(1)
    with spdl.DataLoader(dataset, sampler=OfTorch(12), batch_size=3) as loader:
        next(iter(loader))
        state = loader.state_dict()
    with spdl.DataLoader(dataset, sampler=OfTorch(12), batch_size=3, state=state) as loader, \
            pytest.raises(spdl.StateError, match=r"OfTorch gives another order of the first 3 samples of epoch 0 than when the state was saved.*want it to draw from a seed and the epoch"):
        next(iter(loader))
    seeded(1)
    with spdl.DataLoader(dataset, sampler=OfTorch(12), batch_size=3, state=state) as loader:
        assert len(numbers(loader)) == 3


def test_each_of_a_samples_repeats_has_draws_of_its_own(root):
    with spdl.DataLoader(Own(root, T.Compose([T.RandomCrop(9), T.ToTensor()])), sampler=Same(12), batch_size=12) as loader:
        (images, _, _), = list(loader)
        (again, _, _), = list(loader)
    assert len({image.numpy().tobytes() for image in images}) > 4
    assert not torch.equal(images, again)


class Same(Sampler):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __iter__(self):
        return itertools.repeat(5, self.count)


class Raises(Sampler):
    def __init__(self, after):
        self.after = after

    def __iter__(self):
        yield from range(self.after)
        raise ZeroDivisionError("of its own")


def test_what_a_sampler_raises_is_raised_by_the_loop(root):
    for after in (0, 7):
        with spdl.DataLoader(Own(root), sampler=Raises(after), batch_size=2) as loader, pytest.raises(ZeroDivisionError, match="of its own"):
            list(loader)


class Gives(Sampler):
    def __init__(self, *rows, batch_size=None):
        self.rows = rows
        if batch_size:
            self.batch_size = batch_size

    def __len__(self):
        return len(self.rows)

    def __iter__(self):
        return iter(self.rows)


REFUSED_IN_THE_LOOP = {
    "no number": (dict(sampler=Gives(1, "a"), batch_size=2), r"sampler: Gives gave 'a' at 1, want numbers of samples, whole ones from 0 to 22"),
    "beyond": (dict(sampler=Gives(1, 23), batch_size=2), r"sampler: Gives gave 23 at 1, want numbers of samples"),
    "true": (dict(sampler=Gives(True), batch_size=2), r"sampler: Gives gave True at 0, want numbers of samples"),
    "nothing": (dict(sampler=Gives(), batch_size=2), r"sampler: Gives gave nothing in epoch 0, want one sample at least"),
    "no batch": (dict(batch_sampler=Gives(3, batch_size=2)), r"batch_sampler: Gives gave 3 as batch 0, want a list of numbers of samples"),
    "a larger batch": (dict(batch_sampler=Gives([1, 2], [1, 2, 3], batch_size=2)), r"batch_sampler: Gives gave 3 samples as batch 1, want 1 to 2, as many as its batch_size says"),
    "an empty batch": (dict(batch_sampler=Gives([1, 2], [], batch_size=2)), r"batch_sampler: Gives gave 0 samples as batch 1, want 1 to 2"),
}


@pytest.mark.parametrize("arguments, message", REFUSED_IN_THE_LOOP.values(), ids=REFUSED_IN_THE_LOOP)
def test_what_is_no_order_is_refused_by_the_loop(root, arguments, message):
    with spdl.DataLoader(Own(root), **arguments) as loader, pytest.raises(spdl.ArgumentError, match=message):
        list(loader)


class Uncopied(Gives):
    def __deepcopy__(self, memo):
        raise TypeError


def test_what_cannot_be_asked_is_refused(root):
    dataset = Own(root)
    for arguments, message in (
            (dict(sampler=iter([1, 2])), r"sampler: got list_iterator, which can be gone through once, want RandomSampler.*or one of your own, whose __iter__ begins anew for each epoch"),
            (dict(sampler=object()), r"sampler: got object, which has no __iter__"),
            (dict(batch_sampler=Uncopied([1, 2])), r"batch_sampler: got Uncopied, which does not say how many samples a batch has at most, and cannot be copied to be looked at, want batch_size in it"),
            (dict(batch_sampler=Gives([1]), batch_size=4), r"batch_size: got 4 beside batch_sampler, which says it"),
            (dict(sampler=Gives(1), in_order=False), r"in_order: got False beside sampler: of a Gives, want True"),
            (dict(sampler=Gives(1), shuffle=True), r"shuffle: got True beside sampler")):
        with pytest.raises(spdl.ArgumentError, match=message):
            spdl.DataLoader(dataset, **arguments)


def test_a_loader_that_is_left_ends(root):
    """One that waits for an order that nobody asks for any more: close() is not held up by it, and of one that is let go of no thread stays."""
    def sources():
        return [thread for thread in threading.enumerate() if thread.name.startswith("spdl-source")]

    before = sources()
    with spdl.DataLoader(Own(root), sampler=OfTorch(8), batch_size=4) as loader:
        list(loader)
    for loops in (lambda loader: None, lambda loader: next(iter(loader)), list):
        loader = spdl.DataLoader(Own(root), sampler=OfTorch(8), batch_size=4)
        loops(loader)
        del loader
        gc.collect()
    for thread in sources():
        if thread not in before:
            thread.join(30)
            assert not thread.is_alive()


def test_parts_and_looking_for_the_largest_batch_draws_nothing(root):
    dataset = Subset(Own(root), [3, 4, 5, 9])
    seeded(3)
    before = torch.get_rng_state()
    sampler = Balanced([0, 0, 1, 1], 2, 1)
    del sampler.batch_size
    with spdl.DataLoader(dataset, batch_sampler=sampler) as loader:
        assert torch.equal(torch.get_rng_state(), before)
        assert loader.batch_size == 2
        ours = numbers(loader)
    seeded(3)
    sampler = Balanced([0, 0, 1, 1], 2, 1)
    assert ours == numbers(DataLoader(dataset, batch_sampler=sampler))


def test_under_torchrun_a_rank_has_what_its_sampler_says(root, monkeypatch):
    said = []
    for rank in "01":
        for name, value in {"RANK": rank, "WORLD_SIZE": "2", "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29511"}.items():
            monkeypatch.setenv(name, value)
        dataset = datasets.ImageFolder(root, TENSOR)
        said.append(spdl.describe(dataset, sampler=RepeatAug(dataset, 2, int(rank)), batch_size=2, generator=torch.Generator().manual_seed(3)))
        with spdl.DataLoader(dataset, sampler=RepeatAug(dataset, 2, int(rank)), batch_size=2) as loader:
            assert [labels.tolist() for _, labels in loader] == [labels.tolist() for _, labels in DataLoader(dataset, sampler=RepeatAug(dataset, 2, int(rank)), batch_size=2)]
    assert [one["source"] for one in said] == [{"host": {"stream": True}}] * 2
    assert [one["order"] for one in said] == [{"shuffle": False, "seed": 3 + rank, "last": "cover"} for rank in (0, 1)]  # draws of repeats differ between ranks


def test_the_pages_block_runs(root, tmp_path, monkeypatch):
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/own-datasets.md").read_text(encoding="utf-8")
    block = page.split("## Samplers of your own")[1].split("```")[1].removeprefix("python")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train").symlink_to(root)
    seen = []
    script = {"train": lambda images, labels: seen.append((images.shape, labels.tolist())), "__name__": "script"}
    exec(compile(block, "script.py", "exec"), script)
    script["loader"].close()
    assert [shape for shape, _ in seen] == [(8, 3, 64, 64), (8, 3, 64, 64), (4, 3, 64, 64)] * 2
    assert all(len(set(labels[:4])) == len(set(labels[4:] or [0])) == 1 for _, labels in seen)
    assert [labels for _, labels in seen[:3]] != [labels for _, labels in seen[3:]]
