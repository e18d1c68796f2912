"""spdl.DataLoader on data sets of Hugging Face's: the batches are those of torch's DataLoader over them, with their own with_transform."""

import io
import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from conftest import picture

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
datasets = pytest.importorskip("datasets", reason="Hugging Face's datasets are not here; make exact brings them")
spdl = pytest.importorskip("spdl")
from datasets import Audio, ClassLabel, Dataset, Features, Value, load_from_disk  # noqa: E402
from datasets import Image as Picture  # noqa: E402
from torch.utils.data import DataLoader, DistributedSampler, SequentialSampler, Subset, SubsetRandomSampler, WeightedRandomSampler  # noqa: E402
from torchvision import transforms as T  # noqa: E402

try:
    from datasets import List
except ImportError:  # of the versions before 4
    from datasets import Sequence as List

N = 23
SMALL = T.Compose([T.Resize((16, 12)), T.PILToTensor()])
FLOATS = T.Compose([T.Resize(20), T.CenterCrop(16), T.ToTensor(), T.Normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4))])
FEATURES = Features({
    "image": Picture(), "label": ClassLabel(names=["cat", "dog", "ox"]), "caption": Value("string"), "width": Value("int32"), "score": Value("float64"), "weight": Value("float32"), "good": Value("bool"),
    "ids": List(Value("int32")), "four": List(Value("float64"), length=4), "objects": {"bbox": List(List(Value("float32"), length=4)), "category": List(ClassLabel(names=["x", "y"]))},
    "grid": datasets.Array2D((2, 3), "float32"),
})


def encoded(i, rng, kind="JPEG"):
    w, h = 20 + 3 * (i % 5), 18 + 2 * (i % 7)
    im, out = Image.fromarray(picture(rng, w, h)), io.BytesIO()
    im = {3: im.convert("L"), 8: im.convert("P")}.get(i, im) if kind == "PNG" else im
    exif = Image.Exif()
    if i % 6 == 5:
        exif[0x112] = 6  # to be turned
    im.save(out, kind, **({"quality": 95, "exif": exif} if kind == "JPEG" else {}))
    return out.getvalue()


def rows():
    rng = np.random.default_rng(5)
    return {
        "image": [{"bytes": encoded(i, rng, "PNG" if i % 4 == 3 else "JPEG"), "path": None} for i in range(N)], "label": [i % 3 for i in range(N)], "caption": [f"Nº {i} " * (i % 4) for i in range(N)],
        "width": [i - 5 for i in range(N)], "score": [i / 7 for i in range(N)], "weight": [i / 3 for i in range(N)], "good": [i % 2 == 0 for i in range(N)], "ids": [list(range(i % 5)) for i in range(N)],
        "four": [[i, i / 2, i / 3, 0.1] for i in range(N)], "objects": [{"bbox": [[i % 9, j, 4, 5] for j in range(i % 3)], "category": [j % 2 for j in range(i % 3)]} for i in range(N)],
        "grid": [[[i, 1, 2], [3, 4, i / 2]] for i in range(N)],
    }


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The directory that save_to_disk has written, of three files."""
    at = tmp_path_factory.mktemp("saved") / "train"
    Dataset.from_dict(rows(), FEATURES).save_to_disk(str(at), num_shards=3)
    return str(at)


@pytest.fixture
def data(saved):
    return load_from_disk(saved)


PLAIN = ["image", "label", "caption", "width", "score", "good"]


def theirs(data, transform, **arguments):
    """torch's loop, by the data set's own means."""
    def prepared(batch):
        return {**batch, **{name: [transform(one.convert("RGB")) for one in batch[name]] for name in ("image",) if name in batch}}

    return list(DataLoader(data.with_transform(prepared), **arguments))


def ours(data, transform=SMALL, **arguments):
    with spdl.DataLoader(data, transform=transform, copy=True, **arguments) as loader:
        batches = list(loader)
        assert len(loader) == len(batches)
        return batches


def equal(got, want):
    assert type(got) is type(want), (type(got), type(want))
    if isinstance(want, torch.Tensor):
        assert got.dtype == want.dtype and got.shape == want.shape and torch.equal(got, want), (got, want)
    elif isinstance(want, dict):
        assert list(got) == list(want)
        for key in want:
            equal(got[key], want[key])
    elif isinstance(want, (list, tuple)):
        assert len(got) == len(want)
        for one, other in zip(got, want):
            equal(one, other)
    else:
        assert got == want


def same(data, transform=SMALL, **arguments):
    """Of the columns that torch's own collate makes batches of."""
    data = data.select_columns([name for name in data.column_names if name in (*PLAIN, "pic", "kind")])
    equal(ours(data, transform, **arguments), theirs(data, transform, **arguments))


# ---- which samples there are


ROWS = {
    "all": lambda d: d,
    "select of a range": lambda d: d.select(range(3, 20)),
    "select of a range twice": lambda d: d.select(range(3, 20)).select(range(2, 9)),
    "select of some": lambda d: d.select([7, 1, 1, 22, 0]),
    "shuffle": lambda d: d.shuffle(seed=3),
    "shuffle, then select": lambda d: d.shuffle(seed=3).select(range(4, 15)),
    "filter": lambda d: d.filter(lambda row: row["width"] % 3 == 0),
    "train_test_split": lambda d: d.train_test_split(test_size=0.3, seed=1)["test"],
    "shard": lambda d: d.shard(num_shards=3, index=1),
    "shard, contiguous": lambda d: d.shard(num_shards=4, index=2, contiguous=True),
    "sort": lambda d: d.sort("score", reverse=True),
    "flatten_indices": lambda d: d.select([7, 1, 1, 22, 0]).flatten_indices(),
    "concatenated": lambda d: datasets.concatenate_datasets([d.select(range(5)), d.select([9, 2]), d.select(range(18, 23))]),
    "concatenated with itself": lambda d: datasets.concatenate_datasets([d, d]),
    "interleaved": lambda d: datasets.interleave_datasets([d.select(range(5)), d.select(range(10, 15))]),
    "repeated": lambda d: d.select(range(4)).repeat(2),
    "skip and take": lambda d: d.skip(6).take(7),
}


@pytest.mark.parametrize("name", ROWS)
def test_the_same_samples_in_the_same_order(data, name):
    same(ROWS[name](data), batch_size=4)


@pytest.mark.parametrize("name", ["all", "select of a range", "select of some", "concatenated with itself"])
def test_rows_of_a_data_set_are_rows_of_its_files(data, name, tmp_path):
    """None is written: the description names the files that the data set has, and which rows of them."""
    described = spdl.describe(ROWS[name](data), transform=SMALL, files=tmp_path)
    assert described["source"]["shards"] == list(dict.fromkeys(file["filename"] for file in data.cache_files))
    only = {"all": None, "select of a range": "3:20"}.get(name, str(tmp_path / "only.npy"))
    assert described["source"].get("only") == only and not (tmp_path / "data.arrow").exists()
    if only and only.endswith("npy"):
        assert np.load(only).tolist() == {"select of some": [7, 1, 1, 22, 0], "concatenated with itself": [*range(N), *range(N)]}[name]


def test_a_description_of_it_has_the_same_batches(data, tmp_path):
    some = data.select([5, 2, 8, 1]).remove_columns(["grid"])
    described = spdl.describe(some, transform=SMALL, batch_size=2, files=tmp_path)
    assert json.loads(json.dumps(described)) == described and described["image"] == {
        "from": "image", "orientation": "apply", "transform": [{"resize": [16, 12]}], "layout": "NCHW", "dtype": "u8"}
    with spdl.DataLoader(described, copy=True) as loader:
        for (images, labels), batch in zip(loader, ours(some, batch_size=2)):
            equal([images, labels], [batch["image"], batch["label"]])


# ---- columns


COLUMNS = {
    "removed": lambda d: d.remove_columns(["caption", "good"]),
    "renamed": lambda d: d.rename_column("image", "pic").rename_columns({"label": "kind", "caption": "width", "width": "caption"}),
    "chosen": lambda d: d.select_columns(["score", "image"]),
    "an added one": lambda d: d.select(range(9)).add_column("kind", [i * i for i in range(9)]),
    "an added one of chosen rows": lambda d: d.select([7, 2, 9]).add_column("kind", [i * i for i in range(3)]),
    "joined side by side": lambda d: datasets.concatenate_datasets([d.select_columns(["image"]), d.select_columns(["label"])], axis=1),
    "another type": lambda d: d.cast_column("width", Value("int64")).cast_column("score", Value("float32")),
    "undecoded": lambda d: d.cast_column("image", Picture(decode=False)),
    "mapped": lambda d: d.map(lambda row: {"kind": row["width"] * 2}),
    "flattened": lambda d: d.select_columns(["caption", "label"]).flatten(),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_are_those_that_the_data_set_has_now(data, name):
    changed = COLUMNS[name](data)
    decoded = changed.cast_column("image", Picture()) if name == "undecoded" else changed
    pic = "pic" if "pic" in changed.column_names else "image"
    keep = [column for column in changed.column_names if column in (*PLAIN, "pic", "kind")]
    transform = SMALL if pic in keep else None

    def prepared(batch):
        return {**batch, **({pic: [SMALL(one.convert("RGB")) for one in batch[pic]]} if pic in batch else {})}

    want = list(DataLoader(decoded.select_columns(keep).with_transform(prepared), batch_size=5))
    equal(ours(changed.select_columns(keep), transform, batch_size=5), want)


def test_with_the_format_torch_numbers_and_lists_are_its_tensors(data):
    """Lists of one length are one tensor, others a list of tensors, where torch's own collate has nothing to say."""
    columns = ["label", "width", "score", "weight", "good", "four", "grid", "caption"]
    formatted = data.with_format("torch")
    want = list(DataLoader(formatted.select_columns(columns), batch_size=6))
    equal(ours(formatted.select_columns(columns), None, batch_size=6), want)
    (batch,) = ours(formatted, batch_size=N)
    assert batch["ids"][4].tolist() == [0, 1, 2, 3] and batch["ids"][0].dtype == torch.int64
    for i, row in enumerate(formatted):
        for name in ("bbox", "category"):
            got = batch["objects"][name][i]
            assert got.shape[0] == i % 3 and (not i % 3 or torch.equal(got, row["objects"][name] if isinstance(row["objects"][name], torch.Tensor) else torch.stack(list(row["objects"][name]))))
    equal(batch["image"], torch.stack([SMALL(one.convert("RGB")) for one in data["image"]]))


def test_columns_of_a_format(data):
    data.set_format("torch", columns=["label", "image"])
    (batch,) = ours(data, batch_size=N)
    assert list(batch) == ["image", "label"]
    data.set_format("torch", columns=["label"], output_all_columns=True)
    (batch,) = ours(data, batch_size=N)
    assert list(batch) == data.column_names


def test_fields_choose_and_rename(data):
    (want,) = ours(data.select_columns(PLAIN), batch_size=N)
    (images, labels), = ours(data, batch_size=N, fields=("image", "label"))
    equal([images, labels], [want["image"], want["label"]])
    (got,) = ours(data, batch_size=N, fields={"pixel_values": "image", "labels": "label", "again": "label"})
    equal(got, {"pixel_values": want["image"], "labels": want["label"], "again": want["label"]})
    (got,) = ours(data, None, batch_size=N, fields="caption")
    equal(got, want["caption"])
    with spdl.DataLoader(data, transform=SMALL, tensors="numpy", batch_size=N, copy=True) as loader:
        (got,) = loader
        assert got["good"].dtype == bool and got["score"].dtype == np.float64 and np.array_equal(got["image"], want["image"].numpy())


def test_names_that_no_field_may_have(data):
    odd = data.select_columns(["width", "score", "caption", "good"]).rename_columns({"width": "column_1", "score": "the score, in %", "caption": "label", "good": "status"})
    want = list(DataLoader(odd, batch_size=7))
    equal(ours(odd, None, batch_size=7), want)


def test_several_pictures_a_sample(saved):
    data = load_from_disk(saved)
    both = data.select_columns(["image"]).add_column("mask", [{"bytes": one["bytes"], "path": None} for one in data.cast_column("image", Picture(decode=False))["image"]]).cast_column("mask", Picture(mode="L"))
    (batch,) = ours(both, {"image": SMALL, "mask": T.Compose([T.Resize((8, 8)), T.PILToTensor()])}, batch_size=N)
    assert batch["mask"].shape == (N, 1, 8, 8)
    equal(batch["image"], torch.stack([SMALL(one.convert("RGB")) for one in data["image"]]))
    equal(batch["mask"], torch.stack([T.PILToTensor()(T.Resize((8, 8))(one)) for one in both["mask"]]))


def test_pictures_of_one_channel_are_said_by_the_feature(data):
    grey = data.select_columns(["image", "label"]).cast_column("image", Picture(mode="L"))
    transform = T.Compose([T.Resize((16, 12)), T.ToTensor(), T.Normalize([0.5], [0.25])])
    (batch,) = ours(grey, transform, batch_size=N)
    equal(batch["image"], torch.stack([transform(one) for one in grey["image"]]))


def test_sounds_are_brought_to_the_rate_of_the_feature(tmp_path):
    import wave

    paths = []
    for i in range(3):
        paths.append(str(tmp_path / f"{i}.wav"))
        with wave.open(paths[-1], "wb") as file:
            file.setnchannels(1), file.setsampwidth(2), file.setframerate(8000)
            file.writeframes((np.sin(np.arange(4000 + 400 * i) / 9) * 9000).astype("<i2").tobytes())
    data = Dataset.from_dict({"audio": paths, "text": ["a", "bb", "ccc"]}).cast_column("audio", Audio(sampling_rate=8000))
    (batch,) = ours(data, {"audio": {"length": "1s", "shape": "padded"}}, batch_size=3)
    assert batch["text"] == ["a", "bb", "ccc"] and batch["audio"].shape == (3, 1, 4800)
    with wave.open(paths[1]) as file:
        want = np.frombuffer(file.readframes(9999), "<i2").astype(np.float32) / 32768
    assert torch.equal(batch["audio"][1].flatten()[:4400], torch.from_numpy(want))
    (batch,) = ours(data.cast_column("audio", Audio(sampling_rate=4000)), {"audio": {"length": "1s"}}, batch_size=3)
    assert batch["audio"].shape == (3, 1, 4000)
    (batch,) = ours(data, {"audio": {"length": "1s", "shape": "ragged"}}, batch_size=3)
    assert [one.numel() for one in batch["audio"]] == [4000, 4400, 4800]


# ---- where they lie


def test_a_table_in_memory_is_written_for_the_engine(tmp_path):
    held = Dataset.from_dict(rows(), FEATURES)
    same(held, batch_size=4)
    same(held.select([9, 1, 9]), batch_size=4)
    described = spdl.describe(held.select([9, 1, 9]), transform=SMALL, files=tmp_path)
    assert described["source"]["shards"] == str(tmp_path / "data.arrow") and "only" not in described["source"]


def test_pictures_that_are_paths(tmp_path, data):
    for i, one in enumerate(data["image"]):
        one.convert("RGB").save(tmp_path / f"{i}.png")
    paths = [str(tmp_path / f"{i}.png") for i in range(N)]
    made = Dataset.from_dict({"image": paths, **{name: data[name] for name in ("label", "caption", "score", "good", "ids", "objects")}}).cast_column("image", Picture())
    same(made, batch_size=4)
    same(made.shuffle(seed=1), batch_size=4)
    (batch,) = ours(made, batch_size=N)
    assert [one.tolist() for one in batch["ids"]] == data["ids"][:]
    assert [one.tolist() for one in batch["objects"]["bbox"]] == [row["objects"]["bbox"] for row in data]


def test_a_folder_of_pictures(tmp_path, data):
    for i, (one, label) in enumerate(zip(data["image"], data["label"])):
        (tmp_path / "train" / "abc"[label]).mkdir(parents=True, exist_ok=True)
        one.convert("RGB").save(tmp_path / "train" / "abc"[label] / f"{i:02}.png")
    found = datasets.load_dataset("imagefolder", data_dir=str(tmp_path), split="train", cache_dir=str(tmp_path / "cache"))
    same(found, batch_size=4)
    with spdl.DataLoader(found, transform=SMALL) as loader:
        assert loader.classes == ["a", "b", "c"] and loader.dataset is found


def test_parquet_and_a_part_of_a_split(tmp_path, data):
    data.select_columns(PLAIN).to_parquet(str(tmp_path / "x.parquet"))
    load = dict(path="parquet", data_files=str(tmp_path / "x.parquet"), cache_dir=str(tmp_path / "cache"))
    same(datasets.load_dataset(**load, split="train"), batch_size=4)
    some = datasets.load_dataset(**load, split="train[20%:70%]")
    same(some, batch_size=4)
    same(some.select(range(2, 5)), batch_size=4)
    same(Dataset.from_parquet(str(tmp_path / "x.parquet"), cache_dir=str(tmp_path / "cache")), batch_size=4)


def test_files_that_were_written_anew_are_noticed(tmp_path):
    at = str(tmp_path / "x")
    Dataset.from_dict(rows(), FEATURES).save_to_disk(at)
    data = load_from_disk(at)
    Dataset.from_dict(rows(), FEATURES).select(range(9)).save_to_disk(at + "2")
    (tmp_path / "x" / "data-00000-of-00001.arrow").unlink()
    (tmp_path / "x2" / "data-00000-of-00001.arrow").rename(tmp_path / "x" / "data-00000-of-00001.arrow")
    with pytest.raises(spdl.ArgumentError, match="the data set's files have 9 samples, and it has 23: they were written anew since it was loaded; load it again"):
        spdl.DataLoader(data, transform=SMALL)


# ---- torch's arguments


def test_torchs_arguments_mean_what_they_mean(data):
    part = data.select_columns(["image", "label", "score"]).shuffle(seed=9)
    same(part, FLOATS, batch_size=4, drop_last=True)
    same(part, batch_size=4, sampler=[5, 1, 1, 20])
    same(part, batch_size=4, sampler=SequentialSampler(range(9)))
    equal(ours(Subset(Subset(part, range(3, 20)), [4, 2, 9]), batch_size=2), theirs(part.select([7, 5, 12]), SMALL, batch_size=2))
    for arguments in (dict(shuffle=True), dict(sampler=SubsetRandomSampler(range(0, 23, 2))), dict(shuffle=True, generator=torch.Generator().manual_seed(3))):
        got = torch.cat([batch["score"] for batch in ours(part, batch_size=4, **arguments)])
        want = torch.cat([batch["score"] for batch in theirs(part, SMALL, batch_size=4, **arguments)])
        assert torch.equal(got.sort()[0], want.sort()[0]) and not torch.equal(got, got.sort()[0])
    drawn = ours(part, batch_size=8, sampler=WeightedRandomSampler([0.0] * 20 + [1.0] * 3, 40))
    assert set(torch.cat([batch["score"] for batch in drawn]).tolist()) == set(part["score"][20:])
    ranks = [torch.cat([batch["score"] for batch in ours(part, batch_size=4, sampler=DistributedSampler(part, 2, rank, seed=4))]) for rank in range(2)]
    assert sorted(torch.cat(ranks).tolist()) == sorted(part["score"])


def test_a_collate_fn_gets_samples_as_the_data_set_has_them(data):
    part = data.select_columns(["image", "label", "caption", "score", "good", "ids", "four", "objects", "grid"])
    seen = []

    def collate(samples):
        seen.extend(samples)
        return torch.stack([sample["image"] for sample in samples])

    (images,) = ours(part, batch_size=N, collate_fn=collate)
    for got, want in zip(seen, part):
        assert {name: (type(got[name]), got[name]) for name in want if name != "image"} == {name: (type(one), one) for name, one in want.items() if name != "image"}
    equal(images, torch.stack([SMALL(one.convert("RGB")) for one in part["image"]]))
    ids = part.select_columns(["ids", "four"])
    equal(ours(ids, None, batch_size=4, collate_fn=lambda samples: torch.tensor([sample["four"] for sample in samples])),
          list(DataLoader(ids, batch_size=4, collate_fn=lambda samples: torch.tensor([sample["four"] for sample in samples]))))
    (tensors,) = ours(ids.with_format("torch"), None, batch_size=N, collate_fn=lambda samples: [sample["ids"] for sample in samples])
    equal(tensors, [sample["ids"] for sample in ids.with_format("torch")])
    sizes = T.Compose([T.Resize(20, max_size=24), T.PILToTensor()])
    (got,) = ours(part, sizes, batch_size=N, collate_fn=lambda samples: [sample["image"] for sample in samples])
    equal(got, [sizes(one.convert("RGB")) for one in part["image"]])


def test_a_state_goes_on(data):
    part = data.select([5, 2, 8, 1, 0, 22, 21]).select_columns(["image", "score"])
    arguments = dict(transform=SMALL, batch_size=2, shuffle=True, generator=torch.Generator().manual_seed(7), copy=True)
    whole = [batch["score"].tolist() for batch in ours(part, SMALL, batch_size=2, shuffle=True, generator=torch.Generator().manual_seed(7))]
    with spdl.DataLoader(part, **arguments) as loader:
        first = next(iter(loader))["score"].tolist()
        state = loader.state_dict()
    with spdl.DataLoader(part, state=state, **arguments) as loader:
        assert [first, *[batch["score"].tolist() for batch in loader]] == whole
    with pytest.raises(spdl.StateError):
        spdl.DataLoader(data.select([5, 2, 8, 1, 0, 22, 20]).select_columns(["image", "score"]), state=state, **arguments)


def test_nothing_decodes_in_python(data, monkeypatch):
    part = data.select([3, 1, 2])
    monkeypatch.setattr(Picture, "decode_example", None)
    monkeypatch.setattr(Image, "open", None)
    assert len(ours(part, batch_size=2)) == 2


def test_numbers_that_are_not_there_end_the_loop():
    data = Dataset.from_dict({"width": [1, None, 3], "label": [0, 1, 2]})
    with pytest.raises(spdl.EngineFailed, match="width"):
        ours(data, None, batch_size=3)
    equal(ours(data.filter(lambda row: row["width"] is not None), None, batch_size=3), [{"width": torch.tensor([1, 3]), "label": torch.tensor([0, 2])}])


def test_lists_that_a_class_of_theirs_has_a_shape_of():
    grids = Dataset.from_dict({"a": [[[1.5, 2], [3, 4]], [[5, 6], [7, 8]]], "b": [[[1, 2]], [[3, 4], [5, 6]]], "yes": [[True, False], [False, False]]},
                              Features(a=datasets.Array2D((2, 2), "float64"), b=datasets.Array2D((None, 2), "int16"), yes=List(Value("bool"))))
    (batch,) = ours(grids, None, batch_size=2)
    equal(batch, {"a": torch.tensor([[[1.5, 2], [3, 4]], [[5, 6], [7, 8]]]), "b": [torch.tensor([[1, 2]]), torch.tensor([[3, 4], [5, 6]])], "yes": torch.tensor([[True, False], [False, False]])})


def test_no_file_stays_behind(data, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with spdl.DataLoader(data.select([3, 1, 2]), transform=SMALL) as loader:
        assert [path.name for at in tmp_path.glob("spdl-*") for path in at.iterdir()] == ["only.npy"]
        next(iter(loader))
    assert not list(tmp_path.glob("spdl-*"))


def test_the_pages_block_runs(saved, monkeypatch):
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/datasets.md").read_text(encoding="utf-8")
    block = page.split("## Hugging Face's data sets")[1].split("```")[1].removeprefix("python")
    monkeypatch.setattr(datasets, "load_dataset", lambda name, split: load_from_disk(saved).select(range(20)) if (name, split) == ("food101", "train[:90%]") else None)
    seen = []
    exec(block, {"train": lambda images, labels: seen.append((images.clone(), labels))})
    assert [images.shape for images, _ in seen] == [(20, 3, 224, 224)] and sorted(seen[0][1].tolist()) == sorted(i % 3 for i in range(20))


# ---- what is refused


class Own(Dataset):
    def __getitem__(self, index):
        return super().__getitem__(index)


REFUSED = {
    "a function": (lambda d: d.with_transform(lambda batch: batch), r"has a function as its transform \(set_transform, with_transform\), and transform= is given, want one of them: dataset.with_format\(None\)"),
    "another format": (lambda d: d.with_format("numpy"), r'has the format numpy, want none or torch: dataset.with_format\("torch"\); spdl.DataLoader\(..., tensors="numpy"\)'),
    "a format's dtype": (lambda d: d.with_format("torch", dtype=torch.float16), "has a format with dtype, want one without"),
    "splits": (lambda d: datasets.DatasetDict(train=d, test=d), r"dataset: DatasetDict has the splits train, test, want one of them: dataset\['train'\]"),
    "none": (lambda d: d.select([]), "dataset: Dataset has no samples"),
    "a class of one's own": (lambda d: Own(d.data), "Own is a class of its own, which reads by its __getitem__"),
    "joined by torch": (lambda d: torch.utils.data.ConcatDataset([d, d]), r"has data sets of Hugging Face's in it, want one of theirs: datasets.concatenate_datasets"),
    "times": (lambda d: d.select(range(2)).add_column("when", [__import__("datetime").datetime(2020, 1, 1)] * 2), r"features\['when'\]: got Value\(.*want texts, numbers and bool; leave its column out: fields="),
    "bytes": (lambda d: d.select(range(2)).add_column("raw", [b"x", b"y"]), r"features\['raw'\]: got Value\("),
    "lists of texts": (lambda d: d.select(range(2)).add_column("words", [["a"], ["b"]]), r"features\['words'\]: got a list of Value\(.*want lists of numbers"),
    "lists of several lengths": (lambda d: d.select(range(2)).add_column("deep", [[[1], [2, 3]], [[4]]]), r"features\['deep'\]: has lists in lists of 1 to 2 numbers, want them of one length"),
    "four channels": (lambda d: d.cast_column("image", Picture(mode="RGBA")), r"features\['image'\]: got Image\(mode='RGBA'\), want RGB or L: dataset.cast_column\('image', Image\(mode=\"RGB\"\)\)"),
    "bytes and paths": (lambda d: Dataset.from_dict({"image": [{"bytes": b"x", "path": None}, {"bytes": None, "path": "y"}]}, Features(image=Picture())), "has bytes in 1 of 2 rows and a path, or nothing, in the others"),
    "neither": (lambda d: Dataset.from_dict({"image": [None, None]}, Features(image=Picture())), r"features\['image'\]: has neither bytes nor a path in a row"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_told_is_refused(data, name):
    make, message = REFUSED[name]
    with pytest.raises(spdl.ArgumentError, match=message):
        spdl.DataLoader(make(data), transform=SMALL)


@pytest.mark.parametrize("columns, options, message", [
    (["image"], {}, r"Dataset has no transform for 'image', and pictures have to become tensors; give one, such as transform=Compose"),
    (["image"], dict(transform=T.Resize((8, 8))), r"transform: ends with a picture of PIL's.*add ToTensor\(\)"),
    (["label"], dict(transform=SMALL), "transform: got one, and no column that is asked for is a picture"),
    (["image", "label"], dict(transform={"label": SMALL}), r"transform\['label'\]: got one of a column that is no picture or sound that is asked for, want image"),
    (["image"], dict(transform=SMALL, fields=("image", "mask")), r"fields: got \('image', 'mask'\), and there is no column 'mask', want some of image"),
    (["image"], dict(transform=SMALL, fields={"image"}), "fields: got {'image'}, want names of columns in an order"),
    (["image"], dict(transform=SMALL, fields=()), r"fields: got \(\), want one column at least"),
    (["image"], dict(transform=SMALL, collate_fn=3), "collate_fn: got 3, want a function of a list of samples"),
])
def test_arguments_that_cannot_be_told_are_refused(data, columns, options, message):
    with pytest.raises(spdl.ArgumentError, match=message):
        spdl.DataLoader(data.select_columns(columns), **options)


def test_media_of_two_kinds_are_refused():
    both = Dataset.from_dict({"image": [{"bytes": b"x", "path": None}], "mask": [{"bytes": None, "path": "y"}]}, Features(image=Picture(), mask=Picture()))
    with pytest.raises(spdl.ArgumentError, match="got one for the columns image, mask, want one for each"):
        spdl.DataLoader(both, transform=SMALL)
    with pytest.raises(spdl.ArgumentError, match="has media of bytes in one column and of paths in another, want one kind: save_to_disk writes the files into the data set"):
        spdl.DataLoader(both, transform={"image": SMALL, "mask": SMALL})


def test_transforms_that_leave_sizes_open_are_refused(data):
    with pytest.raises(spdl.SpecError, match=r"transform: \[Resize.*leaves the size of each picture open.*want one"):
        spdl.DataLoader(data, transform=[T.Resize(20), T.ToTensor()])
    with pytest.raises(spdl.SpecError, match=r"nobody says how large the pictures are, want what bounds it: Resize\(N, max_size=M\)"):
        spdl.DataLoader(data, transform=[T.Resize(20), T.ToTensor()], collate_fn=list)
    with pytest.raises(spdl.SpecError, match=r"image.transform\[0\]: Lambda.*got torchvision's Lambda|transform\[0\]: Lambda"):
        spdl.DataLoader(data, transform=[T.Lambda(abs), T.ToTensor()])


def test_sounds_without_a_room_or_a_rate_are_refused(tmp_path):
    data = Dataset.from_dict({"audio": ["x.wav"]})
    with pytest.raises(spdl.ArgumentError, match=r"has no transform for 'audio', and rows of sounds need room; say the section of a description, such as transform=\{'audio': \{\"length\": \"10s\"\}\}"):
        spdl.DataLoader(data.cast_column("audio", Audio(sampling_rate=8000)))
    with pytest.raises(spdl.ArgumentError, match="for sounds, want the section of a description"):
        spdl.DataLoader(data.cast_column("audio", Audio(sampling_rate=8000)), transform=SMALL)
    with pytest.raises(spdl.ArgumentError, match="got Audio without sampling_rate, and rows of a batch have one rate"):
        spdl.DataLoader(data.cast_column("audio", Audio()), transform={"audio": {"length": "1s"}})


def test_feature_extractors_of_sounds_are_refused_with_the_section_that_does_what_they_do(monkeypatch):
    monkeypatch.setattr(torch.version, "cuda", "13.0")  # torchaudio, which transformers looks for, refuses a torch built for another CUDA; nothing here runs on one
    transformers = pytest.importorskip("transformers")
    data = Dataset.from_dict({"audio": ["x.wav"]}).cast_column("audio", Audio(sampling_rate=16000))
    for of, section in ((transformers.Wav2Vec2FeatureExtractor(), r'"normalize": \{"to": "zero_mean_unit_var"\}'), (transformers.WhisperFeatureExtractor(), r'"features": \{"kind": "whisper"\}')):
        with pytest.raises(spdl.ArgumentError, match=rf"got {type(of).__name__} .* for sounds, want the section of a description, such as .*{section}"):
            spdl.DataLoader(data, transform=of)


@pytest.mark.parametrize("form", [None, "torch"])
def test_lists_of_structs_are_such_in_samples(form):
    """Of List({...}); what was Sequence({...}) is a struct of lists."""
    structs = {"bbox": List(Value("float32"), length=4), "category": Value("int64")}
    features = Features({"objects": List(structs), "lists": {"category": List(Value("int64"))}, "n": Value("int64")})
    objects = [[{"bbox": [j / 3, 2, 3, 4], "category": j} for j in range(i % 3)] for i in range(8)]
    data = Dataset.from_dict({"objects": objects, "lists": [{"category": [one["category"] for one in each]} for each in objects], "n": list(range(8))}, features).with_format(form)

    def plain(one):
        return one.tolist() if hasattr(one, "tolist") else {key: plain(each) for key, each in one.items()} if isinstance(one, dict) else list(map(plain, one)) if isinstance(one, list) else one

    with spdl.DataLoader(data, batch_size=3, collate_fn=list, copy=True) as loader:
        ours = list(loader)
    theirs = list(DataLoader(data, batch_size=3, collate_fn=list))
    assert plain(ours) == plain(theirs) and type(theirs[0][1]["objects"]) is type(ours[0][1]["objects"]) is list
    with spdl.DataLoader(data, batch_size=3, copy=True) as loader:
        first = next(iter(loader))
    assert [one.shape for one in first["objects"]["bbox"]] == [(0, 4), (1, 4), (2, 4)]


def test_a_label_alone():
    data = Dataset.from_dict({"label": [2, 0, 1]}, Features({"label": ClassLabel(names=["cat", "dog", "ox"])}))
    with spdl.DataLoader(data, batch_size=2, copy=True) as loader:
        assert loader.classes == ["cat", "dog", "ox"]
        for got, want in zip(loader, DataLoader(data, batch_size=2)):
            assert torch.equal(got["label"], want["label"])


def test_albumentations_is_taken_where_it_is_understood(data):
    A = pytest.importorskip("albumentations")
    from albumentations.pytorch import ToTensorV2

    transform = A.Compose([A.Resize(16, 12), A.HorizontalFlip(p=1), ToTensorV2()])
    (batch,) = ours(data.select_columns(["image", "label"]), transform, batch_size=N)
    equal(batch["image"], torch.stack([transform(image=np.asarray(one.convert("RGB")))["image"] for one in data["image"]]))


def test_boxes_follow_a_compose_of_albumentations(data):
    """As in the tutorial of object detection: objects: {bbox, category}, by BboxParams of their format."""
    A = pytest.importorskip("albumentations")
    from albumentations.pytorch import ToTensorV2

    def transform(**params):
        return A.Compose([A.Resize(32, 24), A.HorizontalFlip(p=1), ToTensorV2()], bbox_params=A.BboxParams("coco", **{"label_fields": ["category"], **params}))

    made = transform()
    part = data.select_columns(["image", "objects"])
    (batch,) = ours(part, made, batch_size=N)
    for i, row in enumerate(part):
        want = made(image=np.asarray(row["image"].convert("RGB")), bboxes=row["objects"]["bbox"], category=row["objects"]["category"])
        equal(batch["image"][i], want["image"])
        assert np.allclose(batch["objects"]["bbox"][i].numpy(), np.reshape(want["bboxes"], (-1, 4)), atol=1e-4)
        assert batch["objects"]["category"][i].tolist() == list(want["category"])
    small = ours(data.select([2, 5]).select_columns(["image", "objects"]), transform(min_area=1e9), batch_size=2)[0]
    assert [len(one) for one in small["objects"]["category"]] == [0, 0]
    with pytest.raises(spdl.ArgumentError, match="transform: has bbox_params of labels, and no column is called so, want one list of that name: label_fields are names of columns"):
        spdl.DataLoader(part, transform=transform(label_fields=["labels"]))
    with pytest.raises(spdl.ArgumentError, match="transform: has keypoint_params, of a column that a description names"):
        spdl.DataLoader(part, transform=A.Compose([A.Resize(16, 12), ToTensorV2()], keypoint_params=A.KeypointParams("xy")))


def test_a_loader_that_nobody_closes_says_nothing(saved):
    """Its engine has ended when the file goes that it reads."""
    program = f"""
import datasets, spdl
from torchvision import transforms as T
data = datasets.load_from_disk({saved!r}).map(lambda row: {{"more": 1}}, keep_in_memory=True)
for end in (0, 1, 2):
    loader = spdl.DataLoader(data, transform=T.Compose([T.Resize((16, 16)), T.ToTensor()]), fields=("image", "label"), batch_size=4)
    rows = sum(len(labels) for _, labels in loader)
    print(rows)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.split() == [str(N)] * 3 and "spdl:" not in done.stderr and "bad sample" not in done.stderr, done.stderr
