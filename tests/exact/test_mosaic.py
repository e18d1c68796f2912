"""spdl.DataLoader in the place of torch's on MosaicML's StreamingDataset: rows are those that the library reads of its shards, and batches torch's. requirements-streaming.txt has the version."""

import os
import pathlib

import numpy as np
import pytest
from PIL import Image

from conftest import picture

torch = pytest.importorskip("torch")
spdl = pytest.importorskip("spdl")
streaming = pytest.importorskip("streaming")
from torch.utils.data import DataLoader  # noqa: E402
from torchvision import transforms as T  # noqa: E402

TO_TENSOR = T.Compose([T.Resize(24), T.CenterCrop(20), T.ToTensor()])
COLUMNS = {"x": "ndarray:float32:2,3", "any": "ndarray", "label": "int", "small": "int8", "score": "float64", "half": "float16", "text": "str", "number": "str_int", "share": "str_float", "image": "png"}


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory):
    before = os.environ.get("SPDL_CACHE_DIR")
    os.environ["SPDL_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    yield
    os.environ.pop("SPDL_CACHE_DIR") if before is None else os.environ.update(SPDL_CACHE_DIR=before)


def sample(i):
    rng = np.random.default_rng(i)
    return {"x": rng.normal(size=(2, 3)).astype("f4"), "any": np.arange(4, dtype="u2") * i, "label": i % 5, "small": np.int8(i - 9), "score": np.float64(i / 7), "half": np.float16(i / 3), "text": f"sample {i} ü" * (i % 3),
            "number": 10 ** 12 * i, "share": i / 11, "image": Image.fromarray(picture(rng, 40 + i, 30))}


def written(at, samples, columns=COLUMNS, **options):
    with streaming.MDSWriter(out=str(at), columns=columns, size_limit=20_000, **options) as out:
        for one in samples:
            out.write({name: one[name] for name in columns})
    return str(at)


@pytest.fixture(scope="module")
def mds(tmp_path_factory):
    return written(tmp_path_factory.mktemp("mds") / "train", [sample(i) for i in range(23)])


def opened(at, **options):
    streaming.base.util.clean_stale_shared_memory()
    return streaming.StreamingDataset(local=at, batch_size=4, **options)


class Transformed(streaming.StreamingDataset):
    def __getitem__(self, index):
        one = super().__getitem__(index)
        return {**one, "image": TO_TENSOR(one["image"])}


def alike(got, want):
    assert list(got) == list(want)
    for name, value in want.items():
        if isinstance(value, list):
            assert got[name] == value
        else:
            assert got[name].dtype == value.dtype and torch.equal(got[name], value), name


def ours(dataset, **given):
    with spdl.DataLoader(dataset, copy=True, **given) as loader:
        batches = list(loader)
        assert len(loader) == len(batches)
    return batches


@pytest.mark.parametrize("drop_last", [False, True])
def test_batches_are_torchs(mds, drop_last):
    dataset = opened(mds, shuffle=False)
    assert len(dataset.shards) > 2
    streaming.base.util.clean_stale_shared_memory()
    theirs = list(DataLoader(Transformed(local=mds, batch_size=4, shuffle=False), batch_size=4, drop_last=drop_last))
    got = ours(dataset, transform=TO_TENSOR, batch_size=4, drop_last=drop_last)
    assert len(got) == len(theirs) == (5 if drop_last else 6)
    for one, other in zip(got, theirs):
        alike(one, other)


def test_rows_are_what_the_library_reads(mds):
    dataset = opened(mds, shuffle=False)
    samples = ours(dataset, transform=TO_TENSOR, batch_size=5, collate_fn=lambda samples: samples)
    for n, got in enumerate(one for batch in samples for one in batch):
        want = dataset[n]
        assert list(got) == list(want)
        for name in ("label", "text", "number", "share"):
            assert got[name] == want[name] and type(got[name]) is type(want[name])
        for name in ("x", "any", "small", "score", "half"):
            assert got[name].numpy().dtype == want[name].dtype and np.array_equal(got[name].numpy(), want[name])
        assert torch.equal(got["image"], TO_TENSOR(want["image"]))


def test_columns_that_are_asked_for(mds):
    pairs = ours(opened(mds), fields=("x", "label"), batch_size=23)
    assert len(pairs) == 1 and pairs[0][0].shape == (23, 2, 3) and pairs[0][1].tolist() == [i % 5 for i in range(23)]
    (named,) = ours(opened(mds), fields={"y": "label"}, batch_size=23)
    assert list(named) == ["y"]


def test_shuffled_each_sample_comes_once_by_the_data_sets_seed(mds):
    def numbers(**options):
        with spdl.DataLoader(opened(mds, shuffle=True, **options), fields="number", batch_size=4, copy=True) as loader:
            return [[n // 10 ** 12 for batch in loader for n in batch.tolist()] for _ in range(2)]
    first, second = numbers()
    assert sorted(first) == sorted(second) == list(range(23)) and first != second != list(range(23)) and numbers()[0] == first != numbers(shuffle_seed=5)[0]


def test_a_state_goes_on(mds):
    def loader(**more):
        return spdl.DataLoader(opened(mds, shuffle=True), fields="number", batch_size=4, copy=True, **more)
    with loader() as one:
        whole = [batch.tolist() for batch in one]
    with loader() as one:
        next(batches := iter(one))
        next(batches)
        state = one.state_dict()
    with loader(state=state) as one:
        assert [batch.tolist() for batch in one] == whole[2:]


def test_splits_streams_and_compressed_shards(mds, tmp_path):
    packed = written(tmp_path / "packed" / "val", [sample(i) for i in range(23, 30)], compression="zstd")
    dataset = streaming.StreamingDataset(local=os.path.dirname(packed), split="val", batch_size=2)
    (batch,) = ours(dataset, fields="label", batch_size=10)
    assert batch.tolist() == [i % 5 for i in range(23, 30)]
    streaming.base.util.clean_stale_shared_memory()
    both = streaming.StreamingDataset(streams=[streaming.Stream(local=mds), streaming.Stream(local=os.path.dirname(packed), split="val")], batch_size=2)
    (batch,) = ours(both, fields="number", batch_size=30)
    assert [n // 10 ** 12 for n in batch.tolist()] == list(range(30))


def test_the_pages_block_runs(mds, monkeypatch):
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/datasets.md").read_text(encoding="utf-8")
    block = page.split("## MosaicML's StreamingDataset")[1].split("```")[1].removeprefix("python")
    given = opened(mds, shuffle=True)
    monkeypatch.setattr(streaming, "StreamingDataset", lambda **said: given if said == dict(remote="s3://bucket/mds", local="/tmp/mds", split="train", shuffle=True, batch_size=64) else None)
    seen = []
    exec(block, {"train": lambda images, labels: seen.append((images.shape, sorted(labels.tolist())))})
    assert seen == [((23, 3, 224, 224), sorted(i % 5 for i in range(23)))]


def test_what_cannot_be_told_is_refused(mds, tmp_path):
    other = written(tmp_path / "other", [{"a": b"x", "b": {"c": 1}, "label": 1}] * 3, {"a": "bytes", "b": "json", "label": "int"})

    def stream(**options):
        streaming.base.util.clean_stale_shared_memory()
        return streaming.StreamingDataset(streams=[streaming.Stream(local=mds, **options)], batch_size=2)

    def own():
        streaming.base.util.clean_stale_shared_memory()
        return Transformed(local=mds, batch_size=4)
    for make, given, message in [
        (own, {}, r"Transformed is a class of its own, which reads by its __getitem__, .*want streaming.StreamingDataset itself, of which transform= is its pictures' .*, or source: \{shards: .*/train/\}"),
        (lambda: opened(mds), {}, "StreamingDataset has no transform for 'image', and pictures have to become tensors"),
        (lambda: opened(mds), {"transform": T.Resize(8)}, r"transform: ends with a picture of PIL's.*add ToTensor\(\)"),
        (lambda: opened(mds), {"transform": TO_TENSOR, "fields": "x"}, "transform: got one, and no column that is asked for is a picture"),
        (lambda: opened(mds), {"fields": "none"}, "fields: got 'none', and there is no column 'none', want some of any, half"),
        (lambda: opened(mds), {"fields": "x", "shuffle": True}, "shuffle: got True beside StreamingDataset, which is iterated, want none"),
        (lambda: opened(other), {}, r"columns\['a'\]: got bytes, want int, .*fields=\[...\] leaves it out"),
        (lambda: opened(other), {"fields": "b"}, r"columns\['b'\]: got json, want int, .*NAME\[a.b\]"),
        (lambda: opened(mds, batching_method="stratified"), {"fields": "x"}, "has batching_method='stratified' and replication=None, want \"random\" and None"),
        (lambda: opened(mds, epoch_size=7), {"fields": "x"}, r"draws 7 samples an epoch \(proportion, repeat, choose, epoch_size\) of 23, want each once: .*mix"),
        (lambda: stream(repeat=2), {"fields": "x"}, "draws 46 samples an epoch .* of 23, want each once"),
    ]:
        with pytest.raises(spdl.SpdlError, match=message):
            spdl.DataLoader(make(), batch_size=2, **given)
