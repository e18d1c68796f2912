"""spdl.dataloader: DataLoader, PyTorchDataLoader, CacheDataLoader."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from spdl.dataloader import CacheDataLoader, DataLoader, get_pytorch_dataloader
from spdl.pipeline import PipelineFailure

from .conftest import ROOT


def hundred_more(x):
    return x + 100


def test_a_loader_preprocesses_batches_and_transfers():
    """Each iteration is an epoch; the transfer runs on one thread."""
    threads = set()

    def transfer(batch):
        threads.add(threading.get_ident())
        return batch

    loader = DataLoader(range(10), preprocessor=hundred_more, batch_size=4, aggregator=lambda items: list(items),
                        transfer_fn=transfer, num_threads=3, output_order="input")
    want = [[100, 101, 102, 103], [104, 105, 106, 107], [108, 109]]
    assert list(loader) == want and len(loader) == 3 and len(threads) == 1
    assert list(loader) == want
    dropped = DataLoader(range(10), batch_size=4, drop_last=True)
    assert list(dropped) == [[0, 1, 2, 3], [4, 5, 6, 7]] and len(dropped) == 2
    assert (list(DataLoader(range(3))), len(DataLoader(range(3)))) == ([0, 1, 2], 3)


def test_a_loader_refuses_wrong_arguments_where_it_is_made():
    with pytest.raises(ValueError, match="num_threads|want 1"):
        DataLoader(range(3), num_threads=-2)
    with pytest.raises(ValueError, match="n 0"):
        DataLoader(range(3), batch_size=0)


def test_a_cached_loader_repeats_its_first_batches():
    cached = CacheDataLoader(DataLoader(range(10), batch_size=2), 2, 3, stop_after=6)
    assert len(cached) == 5 and cached._batch_size == 2
    for _ in range(2):
        assert list(cached) == [[0, 1], [2, 3], [4, 5], [0, 1], [2, 3], [0, 1]]


class Squares:
    """A map-style data set."""

    def __init__(self, n=10, bad=None):
        self.n = n
        self.bad = bad

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        if index == self.bad:
            raise ValueError(f"sample {index}")
        if index == -1:
            os.kill(os.getpid(), signal.SIGKILL)
        return index * index


class Pids(Squares):
    def __getitem__(self, index):
        return os.getpid()


def init(number):
    os.environ["WORKER"] = str(number)


class Numbers(Squares):
    def __getitem__(self, index):
        return int(os.environ["WORKER"])


def loader(dataset, **options):
    return get_pytorch_dataloader(dataset, collate_fn=list, multiprocessing_context="forkserver", **options)


def test_a_map_style_data_set_is_fetched_by_processes():
    one = loader(Squares(), batch_size=4, num_workers=2, in_order=True)
    assert len(one) == 3
    for _ in range(2):
        assert list(one) == [[0, 1, 4, 9], [16, 25, 36, 49], [64, 81]]
    assert list(loader(Squares(), batch_size=4, drop_last=True, in_order=True)) == [[0, 1, 4, 9], [16, 25, 36, 49]]
    assert sorted(sum(loader(Squares(), batch_size=3, shuffle=True, num_workers=2), [])) == [x * x for x in range(10)]
    assert list(loader(Squares(), batch_sampler=[[1, 2], [3]], in_order=True)) == [[1, 4], [9]]
    assert list(loader(Squares(), batch_size=2, sampler=[3, 2, 1], in_order=True)) == [[9, 4], [1]]


def test_workers_may_persist_and_be_initialised():
    """Beyond SPDL: persistent_workers and worker_init_fn."""
    persistent = loader(Pids(), batch_size=5, num_workers=1, persistent_workers=True)
    first, second = list(persistent), list(persistent)
    assert first == second
    persistent._workers.close()
    assert sorted(set(sum(loader(Numbers(40), batch_size=2, num_workers=2, worker_init_fn=init), []))) in ([0, 1], [0], [1])


def test_a_sample_that_fails_is_raised():
    with pytest.raises(PipelineFailure) as caught:
        list(loader(Squares(bad=3), batch_size=2))
    assert isinstance(caught.value.exceptions[0].__cause__, ValueError)


def test_a_killed_worker_is_an_error_at_once():
    with pytest.raises(PipelineFailure) as caught:
        list(loader(Squares(), batch_size=1, num_workers=2, sampler=[1, 2, -1, 3, 4, 5, 6, 7, 8]))
    assert "SIGKILL" in str(caught.value.exceptions[0].__cause__)


@pytest.mark.parametrize("options, text", [
    ({"batch_sampler": [[1]], "shuffle": True}, "excludes"), ({"sampler": [1], "shuffle": True}, "excludes shuffle"),
    ({"num_workers": -1}, "num_workers -1"), ({"batch_size": 0}, "batch_size 0"),
    ({"pin_memory_device": "cuda"}, "pin_memory_device"), ({"batch_size": None, "drop_last": True}, "drop_last")])
def test_what_the_loader_cannot_do_is_refused(options, text):
    with pytest.raises(ValueError, match=text):
        get_pytorch_dataloader(Squares(), **options)


def test_an_iterable_data_set_is_refused(monkeypatch):
    """Also torch's, which has a __getitem__ that only raises."""
    class IterableDataset:
        def __getitem__(self, index):
            raise NotImplementedError

    monkeypatch.setitem(sys.modules, "torch.utils.data", SimpleNamespace(IterableDataset=IterableDataset))
    for one in (iter([1]), IterableDataset()):
        with pytest.raises(ValueError, match="no item by index"):
            get_pytorch_dataloader(one)


def test_what_cannot_go_to_a_worker_is_named():
    with pytest.raises(ValueError, match="collate_fn goes to worker processes and cannot be pickled"):
        list(get_pytorch_dataloader(Squares(), batch_size=2, collate_fn=lambda items: items))


def test_without_a_gpu_nothing_is_pinned(monkeypatch):
    """As with torch's own loader."""
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False)))
    with pytest.warns(UserWarning, match="finds no GPU"):
        unpinned = get_pytorch_dataloader(Squares(), batch_size=5, collate_fn=list, in_order=True, pin_memory=True)
    monkeypatch.undo()
    assert list(unpinned) == [[0, 1, 4, 9, 16], [25, 36, 49, 64, 81]]


def test_no_import_brings_numpy_or_torch():
    """Importing all of it loads neither."""
    program = ("import sys, spdl.pipeline, spdl.pipeline.defs, spdl.pipeline.config, spdl.source.utils, "
               "spdl.source.imagenet, spdl.dataloader\nassert not {'numpy', 'torch'} & set(sys.modules)")
    subprocess.run([sys.executable, "-c", program], check=True,
                   env={**os.environ, "PYTHONPATH": str(ROOT / "clients" / "python")})
