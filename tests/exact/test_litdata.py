"""spdl.DataLoader in the place of torch's on litData's StreamingDataset: rows are those that the library reads of its chunks, and batches torch's. requirements-streaming.txt has the version."""

import io
import os
import pathlib

import numpy as np
import pytest
from PIL import Image

from conftest import picture

torch = pytest.importorskip("torch")
spdl = pytest.importorskip("spdl")
litdata = pytest.importorskip("litdata")
from litdata.streaming.writer import BinaryWriter  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402
from torchvision import transforms as T  # noqa: E402
from torchvision.transforms.v2.functional import to_pil_image  # noqa: E402

TO_TENSOR = T.Compose([T.Resize(24), T.CenterCrop(20), T.ToTensor()])
N = 23


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory):
    before = os.environ.get("SPDL_CACHE_DIR")
    os.environ["SPDL_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    yield
    os.environ.pop("SPDL_CACHE_DIR") if before is None else os.environ.update(SPDL_CACHE_DIR=before)


def png(i):
    data = io.BytesIO()
    Image.fromarray(picture(np.random.default_rng(i), 40 + i, 30)).save(data, "PNG")
    return litdata.types.Image(bytes=data.getvalue())


def sample(i):
    rng = np.random.default_rng(i)
    return {"image": png(i), "label": i % 5, "score": i / 7, "yes": i % 2 == 1, "text": f"sample {i} ü" * (i % 3), "x": torch.from_numpy(rng.normal(size=(2, 3)).astype("f4")), "half": torch.tensor([[i / 2]], dtype=torch.float16),
            "any": np.arange(6, dtype="i2").reshape(2, 3) * i, "number": 10 ** 12 * i, "about": {"size": {"width": 40 + i}, "pair": [torch.full((1, 2), i / 2), i]}}


def written(at, samples, **options):
    os.makedirs(at)
    out = BinaryWriter(str(at), **{"chunk_size": 5, **options})
    for i, one in enumerate(samples):
        out[i] = one
    out.done()
    out.merge()
    return str(at)


@pytest.fixture(scope="module")
def lit(tmp_path_factory):
    return written(tmp_path_factory.mktemp("lit") / "train", [sample(i) for i in range(N)])


def opened(at, **options):
    return litdata.StreamingDataset(at, **options)


class Transformed(litdata.StreamingDataset):
    def __getitem__(self, index):
        one = super().__getitem__(index)
        return {**one, "image": TO_TENSOR(to_pil_image(one["image"]))}


def alike(got, want):
    if isinstance(want, dict):
        assert list(got) == list(want)
        for name, value in want.items():
            alike(got[name], value)
    elif isinstance(want, list) and want and not isinstance(want[0], str):
        assert len(got) == len(want)
        for one, other in zip(got, want):
            alike(one, other)
    elif isinstance(want, list):
        assert got == want
    else:
        assert got.dtype == want.dtype and torch.equal(got, want)


def ours(dataset, **given):
    with spdl.DataLoader(dataset, copy=True, **given) as loader:
        batches = list(loader)
        assert len(loader) == len(batches)
    return batches


@pytest.mark.parametrize("drop_last", [False, True])
def test_batches_are_torchs(lit, drop_last):
    theirs = list(DataLoader(Transformed(lit), batch_size=4, drop_last=drop_last))
    got = ours(opened(lit), transform=TO_TENSOR, batch_size=4, drop_last=drop_last)
    assert len(got) == len(theirs) == (5 if drop_last else 6)
    for one, other in zip(got, theirs):
        alike(one, other)


def test_rows_are_what_the_library_reads(lit):
    dataset = opened(lit)
    samples = [one for batch in ours(dataset, transform=TO_TENSOR, batch_size=5, collate_fn=lambda samples: samples) for one in batch]
    assert len(samples) == N
    for n, got in enumerate(samples):
        want = dataset[n]
        assert list(got) == list(want)
        for name in ("label", "text", "number", "score"):
            assert got[name] == want[name] and type(got[name]) is type(want[name])
        assert torch.equal(got["x"], want["x"]) and torch.equal(got["half"], want["half"]) and np.array_equal(got["any"].numpy(), want["any"])
        assert got["yes"] == want["yes"] and got["about"]["size"] == want["about"]["size"] and torch.equal(got["about"]["pair"][0], want["about"]["pair"][0]) and got["about"]["pair"][1] == want["about"]["pair"][1] and torch.equal(got["image"], TO_TENSOR(to_pil_image(want["image"])))


def test_samples_that_are_tuples_and_single_values(tmp_path):
    pairs = written(tmp_path / "pairs", [(png(i), i) for i in range(7)])
    ((images, numbers),) = ours(opened(pairs), transform=TO_TENSOR, batch_size=7)
    assert images.shape == (7, 3, 20, 20) and numbers.tolist() == list(range(7))
    (only,) = ours(opened(pairs), fields="1", batch_size=7)
    assert only.tolist() == list(range(7))
    numbers = written(tmp_path / "numbers", list(range(7)))
    assert [batch.tolist() for batch in ours(opened(numbers), batch_size=4)] == [[0, 1, 2, 3], [4, 5, 6]]


def test_columns_that_are_asked_for(lit):
    ((x, label, about),) = ours(opened(lit), fields=("x", "label", "about"), batch_size=N)
    assert x.shape == (N, 2, 3) and label.tolist() == [i % 5 for i in range(N)] and about["size"]["width"].tolist() == [40 + i for i in range(N)]
    (named,) = ours(opened(lit), fields={"y": "label"}, batch_size=N)
    assert list(named) == ["y"]


def test_shuffled_each_sample_comes_once_by_the_data_sets_seed(lit):
    def numbers(**options):
        with spdl.DataLoader(opened(lit, shuffle=True, **options), fields="number", batch_size=4, copy=True) as loader:
            return [[n // 10 ** 12 for batch in loader for n in batch.tolist()] for _ in range(2)]
    first, second = numbers()
    assert sorted(first) == sorted(second) == list(range(N)) and first != second != list(range(N)) and numbers()[0] == first != numbers(seed=5)[0]


def test_compressed_chunks(tmp_path):
    packed = written(tmp_path / "packed", [sample(i) for i in range(9)], compression="zstd", compression_level="chunk")
    (batch,) = ours(opened(packed), fields="label", batch_size=10)
    assert batch.tolist() == [i % 5 for i in range(9)]


def test_the_pages_block_runs(lit, monkeypatch):
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/datasets.md").read_text(encoding="utf-8")
    block = page.split("## litData's StreamingDataset")[1].split("```")[1].removeprefix("python")
    given = opened(lit, shuffle=True)
    monkeypatch.setattr(litdata, "StreamingDataset", lambda at, **said: given if (at, said) == ("s3://bucket/optimized", dict(shuffle=True)) else None)
    seen = []
    exec(block, {"train": lambda images, labels: seen.append((images.shape, sorted(labels.tolist())))})
    assert seen == [((N, 3, 224, 224), sorted(i % 5 for i in range(N)))]


def test_what_cannot_be_told_is_refused(lit, tmp_path):
    other = written(tmp_path / "other", [{"a": b"x", "b": {1, 2}, "label": 1}] * 3)
    half, _ = litdata.train_test_split(opened(lit), splits=[0.5, 0.5])
    for dataset, given, message in [
        (Transformed(lit), {}, r"Transformed is a class of its own, which reads by its __getitem__, .*want litdata.StreamingDataset itself, of which transform= is its pictures' .*, or source: \{shards: .*/train\}"),
        (opened(lit), {}, "StreamingDataset has no transform for 'image', and pictures have to become tensors"),
        (opened(lit), {"transform": TO_TENSOR, "fields": "x"}, "transform: got one, and no column that is asked for is a picture"),
        (opened(lit), {"fields": "none"}, "fields: got 'none', and there is no column 'none', want some of image, label"),
        (opened(lit), {"fields": "x", "shuffle": True}, "shuffle: got True beside StreamingDataset, which is iterated, want none"),
        (opened(lit, transform=lambda one: one), {"fields": "x"}, r"transform: got one of litData's, of whole samples, want none: spdl.DataLoader\(dataset, transform=...\) is its pictures'"),
        (opened(lit, subsample=0.5), {"fields": "x"}, r"has 11 of its 23 samples \(subsample, train_test_split\), want all of them"),
        (half, {"fields": "x"}, r"has 1[12] of its 23 samples"),
        (opened(other), {}, r"columns\['a'\]: got bytes, want int, .*fields=\[...\] leaves it out"),
        (opened(other), {"fields": "b"}, r"columns\['b'\]: got pickle, want int, .*; it is not read"),
    ]:
        with pytest.raises(spdl.SpdlError, match=message):
            spdl.DataLoader(dataset, batch_size=2, **given)
