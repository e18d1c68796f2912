"""spdl.DataLoader in the place of torch's on data sets in memory: TensorDataset and its kin, arrays, and lists of samples. Batches are torch's to the bit."""

import collections
import glob
import os
import pathlib
import signal
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
spdl = pytest.importorskip("spdl")
from torch.utils.data import ConcatDataset, DataLoader, RandomSampler, Subset, TensorDataset, WeightedRandomSampler, random_split  # noqa: E402

try:
    from torch.utils.data import StackDataset
except ImportError:  # Debian's
    StackDataset = None
Row = collections.namedtuple("Row", "x y")
TYPES = [one for one in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "uint16", "uint32", "uint64") if hasattr(torch, one)]


def numbers(*shape, dtype="float32"):
    """Bits of every kind: those of NaN, too, but for truths."""
    bits = torch.randint(0, 256, (*shape, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(sum(shape)))
    if dtype == "bool":
        return bits[..., 0] > 127
    size = torch.empty(0, dtype=getattr(torch, dtype)).element_size()
    return bits[..., :size].contiguous().view(getattr(torch, dtype)).reshape(shape)


def alike(got, want):
    """Of one kind, type and shape, and the same bits."""
    if isinstance(want, dict):
        assert type(got) is dict and list(got) == list(want)
        got, want = list(got.values()), list(want.values())
    if isinstance(want, (list, tuple)):  # torch makes lists of tuples
        assert isinstance(got, (list, tuple)) and len(got) == len(want)
        for one, other in zip(got, want):
            alike(one, other)
        return
    assert got.dtype == want.dtype and got.shape == want.shape
    assert got.contiguous().numpy().tobytes() == want.contiguous().numpy().tobytes() if got.dtype != torch.bfloat16 else torch.equal(got.view(torch.int16), want.view(torch.int16))


def ours(dataset, **given):
    with spdl.DataLoader(dataset, copy=True, **given) as loader:
        batches = list(loader)
        assert len(batches) == len(loader)
    return batches


def same(dataset, **given):
    alike(ours(dataset, **given), list(DataLoader(dataset, **given)))


@pytest.mark.parametrize("dtype", TYPES)
def test_tensors_of_each_type_are_torchs(dtype):
    same(TensorDataset(numbers(11, 3, 5, dtype=dtype), numbers(11, dtype=dtype), torch.arange(11)), batch_size=4)


def test_tensors_of_any_order_in_memory_are_torchs():
    x = numbers(6, 10, 4)
    same(TensorDataset(x.transpose(0, 1), x.permute(1, 2, 0)[:, ::2], torch.arange(30)[::3]), batch_size=3, drop_last=True)
    same(TensorDataset(torch.zeros(1, 3).expand(7, 3)), batch_size=2)
    same(TensorDataset(numbers(5, 2, dtype="bfloat16").t().contiguous().t()), batch_size=2)


def test_parts_and_joined_ones():
    whole = TensorDataset(numbers(23, 4), torch.arange(23))
    train, held_out = random_split(whole, [16, 7], generator=torch.Generator().manual_seed(1))
    for dataset in (train, held_out, Subset(train, [3, 3, 0, 9]), ConcatDataset([held_out, whole, train]), Subset(ConcatDataset([whole, held_out]), [25, 1, 29, 22])):
        same(dataset, batch_size=5)
    same(whole, batch_size=4, sampler=[5, 1, 22, 0, 1])


def test_parts_larger_than_what_is_written_at_once():
    whole = torch.arange(5 << 20).reshape(-1, 1 << 10)  # 40 MiB
    same(Subset(TensorDataset(whole), range(len(whole) - 1, -1, -1)), batch_size=1000)
    same(TensorDataset(whole), batch_size=1000)


@pytest.mark.parametrize("samples", [
    [(np.full((2, 3), n, np.float32), n % 3) for n in range(7)],
    [{"input_ids": torch.full((4,), n), "label": n, "weight": n / 7, "key": n % 2 == 0, "a b": np.int16(n)} for n in range(7)],
    [Row(torch.tensor(n), np.arange(n, n + 3, dtype=">i4").astype("i4")) for n in range(7)],
    [[torch.ones(2) * n, float(n)] for n in range(7)],
    [torch.full((3,), n) for n in range(7)],
    [np.float64(n) for n in range(7)],
    tuple((torch.zeros(2, 0, 1).sum() + n, n) for n in range(7)),
    np.arange(28).reshape(7, 4), np.arange(7.0), torch.arange(28).reshape(7, 4),
], ids=["pairs", "dicts", "named tuples", "lists", "tensors", "numbers", "tuple", "array", "array of numbers", "tensor"])
def test_lists_and_arrays_are_torchs(samples):
    same(samples, batch_size=3)
    same(Subset(samples, [4, 1, 1]), batch_size=2)
    same(ConcatDataset([samples, samples]), batch_size=5)

    def seen(rows):
        return [(type(row), [(type(value), value) for value in (row.values() if isinstance(row, dict) else row if isinstance(row, (tuple, list)) else [row])]) for row in rows]

    def text(batches):
        return [[(of, [(kind, np.asarray(value).tolist(), str(getattr(value, "dtype", ""))) for kind, value in values]) for of, values in batch] for batch in batches]
    assert text(ours(samples, batch_size=3, collate_fn=seen)) == text(DataLoader(samples, batch_size=3, collate_fn=seen))


def test_a_named_tuple_comes_as_one():
    (batch,) = ours([Row(torch.tensor(n), n) for n in range(3)], batch_size=3)
    assert type(batch) is Row and batch.y.tolist() == [0, 1, 2]


@pytest.mark.skipif(StackDataset is None, reason="torch has no StackDataset")
def test_stacked_ones():
    same(StackDataset(numbers(9, 2), torch.arange(9)), batch_size=4)
    same(StackDataset(x=numbers(9, 2), label=torch.arange(9)), batch_size=4)
    same(Subset(StackDataset(x=numbers(9, 2), y=np.arange(9)), [2, 8]), batch_size=2)


def test_shuffled_each_row_comes_once_and_stays_whole():
    x = torch.arange(40).reshape(20, 2)
    dataset = TensorDataset(x, torch.arange(20))
    with spdl.DataLoader(dataset, batch_size=6, shuffle=True, generator=torch.Generator().manual_seed(3), copy=True) as loader:
        epochs = [[torch.cat(one) for one in zip(*loader)] for _ in range(2)]
    for rows, labels in epochs:
        assert labels.tolist() != list(range(20)) and sorted(labels.tolist()) == list(range(20)) and torch.equal(rows, x[labels])
    assert epochs[0][1].tolist() != epochs[1][1].tolist()
    drawn = ours(dataset, batch_size=5, sampler=WeightedRandomSampler([0.0] * 18 + [1.0, 1.0], 10))
    assert len(drawn) == 2 and {n for _, labels in drawn for n in labels.tolist()} <= {18, 19}
    assert sorted(n for _, labels in ours(dataset, sampler=RandomSampler(dataset), batch_size=7) for n in labels.tolist()) == list(range(20))


def test_a_state_goes_on_in_another_loader():
    def loader(**more):
        return spdl.DataLoader(TensorDataset(torch.arange(20), numbers(20, 3)), batch_size=3, shuffle=True, generator=torch.Generator().manual_seed(4), copy=True, **more)
    with loader() as one:
        whole = [labels.tolist() for labels, _ in one]
    with loader() as one:
        next(batches := iter(one))
        next(batches)
        state = one.state_dict()
    with open(os.devnull), loader(state=state) as other:  # whose descriptors have other numbers
        assert [labels.tolist() for labels, _ in other] == whole[2:]


def test_the_description_and_its_files(tmp_path):
    x, y = numbers(5, 2, dtype="bfloat16"), torch.arange(5) % 2 == 0
    said = spdl.describe([{"x": a, "is even": b} for a, b in zip(x, y)], batch_size=2, files=tmp_path)
    assert said["source"] == {"arrays": [{"name": "x", "file": str(tmp_path / "data.x.bin"), "dtype": "bf16", "shape": [2]}, {"name": "tensor_0", "file": str(tmp_path / "data.tensor_0.npy")}]}
    assert np.load(tmp_path / "data.tensor_0.npy").tolist() == [1, 0, 1, 0, 1]
    with spdl.DataLoader(said, fields="x", copy=True) as loader:
        alike(torch.cat(list(loader)), x)


def descriptors():
    return sorted(os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{n}"))


def test_nothing_stays_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    dataset = TensorDataset(torch.arange(20))
    ours(dataset, batch_size=2)
    before = descriptors()
    with spdl.DataLoader(dataset, batch_size=2) as loader:
        assert sum("data.tensor_0.npy" in one for one in descriptors()) == 1 and not os.listdir(tmp_path)
        next(iter(loader))
    assert descriptors() == before


def test_nothing_stays_behind_of_a_killed_program(tmp_path):
    program = ("import os, signal, torch, spdl\n"
               "from torch.utils.data import TensorDataset\n"
               "loader = spdl.DataLoader(TensorDataset(torch.arange(20)), batch_size=2)\n"
               "next(iter(loader))\n"
               "os.kill(os.getpid(), signal.SIGKILL)\n")
    assert subprocess.run([sys.executable, "-c", program], env={**os.environ, "TMPDIR": str(tmp_path)}, timeout=120).returncode == -signal.SIGKILL
    assert not os.listdir(tmp_path) and not glob.glob("/dev/shm/*data.tensor*")


def test_what_cannot_be_told_is_refused():
    x, y = torch.arange(4), torch.zeros(4, 2)
    grid = torch.sparse_coo_tensor(torch.tensor([[0], [0]]), torch.ones(1), (4, 2))
    for dataset, message in [
        (TensorDataset(), "TensorDataset has no tensors, want one at least") if hasattr(torch, "uint16") else (TensorDataset(x[:0]), "has no samples"),
        (TensorDataset(x[:0]), "TensorDataset has no samples"),
        (TensorDataset(y[:, :0]), r"tensor_0: got samples of \[0\] of float32 \(tensor\), without an element"),
        (TensorDataset(x, y.to(torch.complex64)), r"tensors\[1\]: got complex64, want one of bool, .*view_as_real"),
        (TensorDataset(y.clone().requires_grad_()), r"tensors\[0\]: got a tensor that requires grad, .*\.detach\(\)"),
        (TensorDataset(grid), r"tensors\[0\]: got a tensor of layout torch.sparse_coo, want a dense one"),
        (TensorDataset(y.to("meta")), r"tensors\[0\]: got a tensor on meta, want it in the machine's memory, .cpu\(\)"),
        (ConcatDataset([TensorDataset(x), TensorDataset(y)]), r"ConcatDataset datasets\[1\]: got \[2\] of float32 \(tensor\), and datasets\[0\] has \[\] of int64 \(tensor\), want one kind"),
        ([(y[0], 1), (y[0], 1.0)], r"dataset\[1\]\[1\]: got \[\] of float64 \(number\), want \[\] of int64 \(number\), as dataset\[0\] has"),
        ([(y[0], 1), (y, 1)], r"dataset\[1\]\[0\]: got \[4, 2\] of float32 \(tensor\), want \[2\] of float32 \(tensor\).*max_length"),
        ([(y[0], 1), (y[0],)], r"dataset\[1\]: got a tuple of 1, want a tuple of 2, as dataset\[0\] is"),
        ([{"x": y[0]}, {"y": y[0]}], r"dataset\[1\]: got a dict of y, want a dict of x"),
        ([{"x": y[0], "text": "a"}], r"dataset\[0\]\['text'\]: got a str, want tensors, NumPy's arrays and numbers; texts, .* are columns of a table"),
        ([(y[0], 1 << 63)], r"dataset\[0\]\[1\]: got 9223372036854775808, want a number of 64 bits"),
        ([np.array(["a"])], r"dataset\[0\]: got str.*, want one of bool"),
        (torch.tensor(3), "Tensor got a scalar, want a first axis that counts samples"),
        (TensorDataset(torch.zeros(1).expand(1 << 48)), r"has 1073741824.0 MiB, of which the engine gets a copy in memory, and .* MiB of memory are available; .*source: \{arrays"),
    ]:
        with pytest.raises(spdl.ArgumentError, match=message):
            spdl.DataLoader(dataset, batch_size=2)
    with pytest.raises(spdl.ArgumentError, match="Subset has no samples"):
        spdl.DataLoader(Subset(TensorDataset(x), []))


@pytest.mark.skipif(StackDataset is None, reason="torch has no StackDataset")
def test_what_is_stacked_of_data_sets_is_refused():
    with pytest.raises(spdl.ArgumentError, match=r"StackDataset datasets\[0\]: got a TensorDataset, want tensors or arrays alone"):
        spdl.DataLoader(StackDataset(TensorDataset(torch.zeros(3))))


def test_the_pages_own_example_runs():
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/datasets.md").read_text(encoding="utf-8")
    block = page.partition("## Tensors in memory")[2].partition("```python\n")[2].partition("```")[0]
    seen = []
    exec(block, {"train": lambda x, y: seen.append((x.shape, x.dtype, y.shape, y.dtype))})
    assert seen == [((64, 20), torch.float32, (64,), torch.int64)] * 12
