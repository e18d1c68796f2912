"""The arguments of torch's DataLoader, its samplers, its ranks and its seed, with spdl.DataLoader in its place."""

import itertools
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
spdl = pytest.importorskip("spdl")
from torch.utils.data import DataLoader, Subset  # noqa: E402
from torch.utils.data import DistributedSampler, RandomSampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler  # noqa: E402
from torchvision import datasets, transforms as T  # noqa: E402

from drop import MEAN, STD, batches, classes, same, small  # noqa: E402


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return classes(tmp_path_factory.mktemp("drop"))


def test_the_pages_own_example_runs(root, tmp_path, monkeypatch):
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/migrate-from-dataloader.md").read_text(encoding="utf-8")
    block = page.partition("## One word")[2].partition("```python\n")[2].partition("```")[0]
    os.symlink(root, tmp_path / "train")
    monkeypatch.chdir(tmp_path)
    seen = []
    exec(block, {"train": lambda images, labels: seen.append((images.shape[1:], images.dtype, len(labels)))})
    assert seen == [((3, 224, 224), torch.float32, 4)] * 4


def test_torchs_own_call_is_one_word_away(root):
    dataset = datasets.ImageFolder(root, small())
    said = dict(shuffle=True, num_workers=2, drop_last=True, pin_memory=True, persistent_workers=True, prefetch_factor=4, generator=torch.Generator().manual_seed(5))
    assert len(DataLoader(dataset, batch_size=4, **said)) == 2
    with spdl.DataLoader(dataset, batch_size=4, copy=True, **said) as loader:
        assert len(loader) == loader.batch_size - 2 == 2
        epochs = [torch.cat([labels for _, labels in loader]).tolist() for _ in range(3)]
        assert loader.dataset is dataset
    assert all(len(epoch) == 8 for epoch in epochs) and len({tuple(e) for e in epochs}) > 1
    again, _ = batches(dataset, 4, **{**said, "generator": torch.Generator().manual_seed(5)})
    assert torch.cat([labels for _, labels in again]).tolist() == epochs[0]


def test_torchs_seed_is_the_seed(root):
    dataset = datasets.ImageFolder(root, small())
    torch.manual_seed(11)
    assert spdl.describe(dataset, shuffle=True)["order"] == {"shuffle": True, "seed": 11, "last": "cover"}
    assert spdl.describe(dataset, generator=torch.Generator().manual_seed(12))["order"] == {"shuffle": False, "seed": 12, "last": "cover"}
    assert spdl.describe(dataset, generator=torch.Generator().manual_seed(2**64 - 1))["order"]["seed"] == 2**64 - 1


@pytest.mark.parametrize("part", [False, True])
def test_a_run_goes_on_from_its_state(root, part):
    dataset = datasets.ImageFolder(root, small())
    dataset = Subset(dataset, range(len(dataset))) if part else dataset
    said = dict(batch_size=2, shuffle=True, copy=True)
    with spdl.DataLoader(dataset, generator=torch.Generator().manual_seed(4), **said) as loader:
        loop = iter(loader)
        next(loop)
        state, rest = loader.state_dict(), list(loop)
    with spdl.DataLoader(dataset, generator=torch.Generator().manual_seed(4), state=state, **said) as loader:
        assert all(torch.equal(a, b) for one, two in itertools.zip_longest(loader, rest) for a, b in zip(one, two))
    with pytest.raises(spdl.StateError, match="it has seed 4, now 5"):
        spdl.DataLoader(dataset, generator=torch.Generator().manual_seed(5), state=state, **said)


def test_arguments_by_their_places_and_torchs_defaults(root):
    dataset = datasets.ImageFolder(root, small())
    same(dataset)
    same(dataset, 4, False, None, None, 0, None, False, True)
    ours, _ = batches(dataset, np.int64(4), True)
    assert sorted(torch.cat([labels for _, labels in ours]).tolist()) == sorted(dataset.targets)
    with spdl.DataLoader(dataset, "image", batch_size=4) as loader:
        assert next(iter(loader)).shape == (4, 3, 16, 12)


def test_a_loop_after_a_break_begins_an_epoch_as_torchs_does(root):
    dataset = datasets.ImageFolder(root, small())
    with spdl.DataLoader(dataset, 4, copy=True) as loader:
        first, _ = next(iter(loader))
        assert torch.equal(next(iter(loader))[0], first)
    with spdl.DataLoader(dataset, 4, copy=True, restart=False) as loader:
        first, _ = next(iter(loader))
        assert not torch.equal(next(iter(loader))[0], first)


def test_more_batches_ahead_and_batches_that_pass_each_other(root):
    dataset = datasets.ImageFolder(root, small())
    assert spdl.describe(dataset, num_workers=8, prefetch_factor=4)["ring"] == {"slots": 32}
    assert spdl.describe(dataset, num_workers=1, prefetch_factor=2, in_order=False)["ring"] == {"slots": 8, "delivery": "ready"}
    assert "ring" not in spdl.describe(dataset, num_workers=8, in_order=True)


def test_samplers(root):
    dataset = datasets.ImageFolder(root, small())
    same(dataset, batch_size=4, sampler=SequentialSampler(dataset))
    same(dataset, batch_size=4, sampler=SequentialSampler(range(6)))  # the first ones
    random = RandomSampler(dataset, generator=torch.Generator().manual_seed(3))
    assert spdl.describe(dataset, sampler=random)["order"] == {"shuffle": True, "seed": 3, "last": "cover"}
    some, _ = batches(dataset, batch_size=4, sampler=SubsetRandomSampler([0, 9, 10]))
    assert sorted(torch.cat([labels for _, labels in some]).tolist()) == sorted(dataset.targets[i] for i in (0, 9, 10))


@pytest.mark.parametrize("drop", [False, True])
def test_ranks_have_torchs_batches_and_each_sample_once(root, drop):
    dataset = datasets.ImageFolder(root, small())
    seen = []
    for rank in range(2):
        sampler = DistributedSampler(dataset, 2, rank, shuffle=True, seed=9, drop_last=drop)
        ours, n = batches(dataset, batch_size=2, sampler=sampler, drop_last=drop)
        assert n == len(ours) == len(DataLoader(dataset, batch_size=2, sampler=sampler, drop_last=drop))
        seen += torch.cat([labels for _, labels in ours]).tolist()
    assert len(seen) == (8 if drop else 11) and (drop or sorted(seen) == sorted(dataset.targets))


@pytest.mark.parametrize("said, message", [
    (dict(batch_size=None), "batch_size: got None.*want a number"), (dict(batch_size=0), "batch_size: got 0, want 1 or more"), (dict(batch_size=2.5), "batch_size=2.5, want a whole number"),
    (dict(shuffle="yes"), "shuffle: got 'yes', want True or False"), (dict(collate_fn=3), "collate_fn: got 3, want a function"),
    (dict(batch_sampler=5), "batch_sampler: got int, which has no __iter__, want RandomSampler.*, or one of your own, whose __iter__ begins anew for each epoch"), (dict(worker_init_fn=print), "worker_init_fn: got one, want none"),
    (dict(timeout=5), "timeout: got 5, want none"), (dict(num_workers=-1), "num_workers: got -1, want 0 or more"), (dict(prefetch_factor=0), "prefetch_factor: got 0"),
    (dict(sampler=WeightedRandomSampler([1.0] * 10, 11)), "sampler: got a WeightedRandomSampler of 10 weights, want one for each of the data set's 11"),
    (dict(sampler=RandomSampler(range(12))), "sampler: got a RandomSampler of 12 samples, want one of this data set, which has 11"), (dict(sampler=SequentialSampler(range(11)), shuffle=True), "shuffle: got True beside sampler"),
    (dict(sampler=DistributedSampler(range(12), 2, 0)), "sampler: got a DistributedSampler of 12 samples, want one of this data set, which has 11"),
    (dict(batch_size=6, drop_last=True, sampler=DistributedSampler(range(11), 2, 0)), "drop_last: got True beside a DistributedSampler with drop_last=False, which is 1 batches of torch's and 0 here"),
    (dict(batch_size=5, sampler=DistributedSampler(range(11), 2, 0)), "drop_last: got False, where the last batch of 2 ranks has 1 of 11 samples: some would have none"),
    (dict(source=[b""]), "got source= beside a data set"),
])
def test_arguments_that_cannot_be_told_are_refused(root, said, message):
    with pytest.raises(spdl.ArgumentError, match=message):
        spdl.DataLoader(datasets.ImageFolder(root, small()), **said)
    with pytest.raises(TypeError, match="got batch_size twice, by its place and by its name"):
        spdl.DataLoader(datasets.ImageFolder(root, small()), 4, batch_size=4)
    with pytest.raises(TypeError, match="batch_sise is torch's batch_size|unexpected argument batch_sise"):
        spdl.DataLoader(datasets.ImageFolder(root, small()), batch_sise=4)


def test_under_torchrun_a_rank_says_its_sampler(root, monkeypatch):
    dataset = datasets.ImageFolder(root, small())
    for name, value in dict(RANK=1, WORLD_SIZE=2, LOCAL_RANK=0, LOCAL_WORLD_SIZE=1).items():
        monkeypatch.setenv(name, str(value))
    with pytest.raises(spdl.ArgumentError, match=r"sampler: got none in a run of 2 ranks.*want sampler=DistributedSampler\(dataset\)"):
        spdl.DataLoader(dataset, batch_size=2)
    with pytest.raises(spdl.ArgumentError, match="sampler: got SequentialSampler in a run of 2 ranks"):
        spdl.DataLoader(dataset, batch_size=2, sampler=SequentialSampler(dataset))
    with pytest.raises(spdl.ArgumentError, match="sampler: got rank 0 of 4, and this process is rank 1 of 2"):
        spdl.DataLoader(dataset, batch_size=2, sampler=DistributedSampler(dataset, 4, 0))
    ours, n = batches(dataset, batch_size=2, sampler=DistributedSampler(dataset, 2, 1, shuffle=False))
    assert n == len(ours) == 3 and "world" not in spdl.describe(dataset, batch_size=2, sampler=DistributedSampler(dataset, 2, 1))


RANK = """
import os, sys
import spdl
from torch.utils.data import DistributedSampler, Subset
from torchvision import datasets, transforms as T

dataset = datasets.ImageFolder(sys.argv[1], T.Compose([T.Resize((8, 8)), T.PILToTensor()]))
if len(sys.argv) > 2:
    dataset = Subset(dataset, range(len(dataset)))
sampler = DistributedSampler(dataset, int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"]), seed=3)
with spdl.DataLoader(dataset, batch_size=2, sampler=sampler, copy=True) as loader:
    print(len(loader), *[label for _, labels in loader for label in labels.tolist()])
    input()  # until the other has read, too
"""


@pytest.mark.parametrize("part", [[], ["part"]])
def test_ranks_of_a_node_have_each_sample_once(root, part):
    """From one engine where the data set is a folder, else from one each."""
    ranks = []
    for rank in range(2):
        env = {**os.environ, **{k: str(v) for k, v in dict(RANK=rank, WORLD_SIZE=2, LOCAL_RANK=rank, LOCAL_WORLD_SIZE=2, TORCHELASTIC_RUN_ID=f"drop-{os.getpid()}-{len(part)}").items()}}
        ranks.append(subprocess.Popen([sys.executable, "-W", "ignore", "-c", RANK, root, *part], env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
    try:
        said = [one.stdout.readline().split() for one in ranks]
        assert [one.communicate("\n", timeout=60)[1] for one in ranks] == [None, None] and [one.returncode for one in ranks] == [0, 0]
    finally:
        for one in ranks:
            one.kill()
            one.wait()
    assert [n for n, *_ in said] == ["3", "3"]
    assert sorted(int(label) for _, *labels in said for label in labels) == sorted(datasets.ImageFolder(root).targets)


def test_memory_is_pinned_where_there_is_cuda(root, monkeypatch):
    asked = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(spdl.Loader, "pin", lambda self, device=None, stage=False: asked.append((device, stage)))
    dataset = datasets.ImageFolder(root, small())
    for said in (dict(pin_memory=True), dict(pin_memory=True, pin_memory_device="cuda:1"), {}):
        spdl.DataLoader(dataset, **said).close()
    assert asked == [(None, True), (1, True)]


def test_padded_batches_are_those_of_torchvisions_detectors(tmp_path):
    """GeneralizedRCNNTransform.batch_images: normalised pictures at the top left of zeros, sides of whole multiples of 32."""
    rcnn = pytest.importorskip("torchvision.models.detection.transform").GeneralizedRCNNTransform(1, 1, [0], [1], size_divisible=32)
    rng, made = np.random.default_rng(6), []
    for i, (w, h) in enumerate([(60, 40), (40, 60), (31, 30), (17, 90), (90, 31)]):
        made.append(Image.fromarray(rng.integers(0, 256, (h, w, 3), np.uint8)))
        made[-1].save(tmp_path / f"{i}.png")
    image = {"shape": "padded", "layout": "NCHW", "multiple_of": 32, "transform": [{"resize": {"size": 48, "max_size": 100}}, {"normalize": "imagenet"}]}
    spec = {"source": {"folder": str(tmp_path)}, "batch": 3, "order": {"shuffle": False, "epochs": 1}, "image": image}
    alone = T.Compose([T.Resize(48, max_size=100), T.ToTensor(), T.Normalize(MEAN, STD)])
    with spdl.DataLoader(spec, fields=("image", "index")) as loader:
        for pictures, index in loader:
            assert torch.equal(pictures, rcnn.batch_images([alone(made[i]) for i in index.tolist()], 32))
