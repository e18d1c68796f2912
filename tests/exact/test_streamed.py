"""spdl.DataLoader on data sets of Hugging Face's that are streamed: the batches are those of torch's DataLoader over them."""

import pathlib

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
datasets = pytest.importorskip("datasets", reason="Hugging Face's datasets are not here; make exact brings them")
spdl = pytest.importorskip("spdl")
from datasets import ClassLabel, Dataset, Features, Value, load_dataset, load_from_disk  # noqa: E402
from datasets import Image as Picture  # noqa: E402
from datasets.distributed import split_dataset_by_node  # noqa: E402
from test_huggingface import FLOATS, SMALL, List, encoded, equal  # noqa: E402
from torch.utils.data import DataLoader, default_collate  # noqa: E402

N = 23
FEATURES = Features({"image": Picture(), "label": ClassLabel(names=["cat", "dog", "ox"]), "caption": Value("string"), "width": Value("int32"), "score": Value("float64"), "good": Value("bool"),
                     "four": List(Value("float64"), length=4), "ids": List(Value("int32"))})


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    return Dataset.from_dict({
        "image": [{"bytes": encoded(i, rng, "PNG" if i % 4 == 3 else "JPEG"), "path": None} for i in range(N)], "label": [i % 3 for i in range(N)], "caption": [f"Nº {i} " * (i % 4) for i in range(N)],
        "width": [i - 5 for i in range(N)], "score": [i / 7 for i in range(N)], "good": [i % 2 == 0 for i in range(N)], "four": [[i, i / 2, i / 3, 0.1] for i in range(N)], "ids": [list(range(i % 5)) for i in range(N)],
    }, FEATURES)


@pytest.fixture(scope="module")
def parquet(rows, tmp_path_factory):
    to = tmp_path_factory.mktemp("parquet")
    for i in range(3):
        rows.shard(3, i, contiguous=True).to_parquet(to / f"train-{i}.parquet")
    return to


@pytest.fixture(scope="module")
def saved(rows, tmp_path_factory):
    to = tmp_path_factory.mktemp("saved") / "train"
    rows.save_to_disk(str(to), num_shards=3)
    return str(to)


@pytest.fixture
def data(parquet, saved):
    """A data set of each kind, by its name."""
    return {
        "Parquet": lambda: load_dataset("parquet", data_files=[str(parquet / f"train-{i}.parquet") for i in range(3)], split="train", streaming=True, features=FEATURES),
        "Arrow": lambda: load_dataset("arrow", data_files=sorted(map(str, pathlib.Path(saved).glob("data-*.arrow"))), split="train", streaming=True, features=FEATURES),
        "of one on a disk": lambda: load_from_disk(saved).to_iterable_dataset(),
        "of one on a disk, in shards": lambda: load_from_disk(saved).to_iterable_dataset(num_shards=4),
        "of one that was shuffled": lambda: load_from_disk(saved).shuffle(seed=3).to_iterable_dataset(num_shards=2),
        "of one in memory": lambda: load_from_disk(saved).map(lambda row: row, keep_in_memory=True).to_iterable_dataset(num_shards=2),
    }


KINDS = ["Parquet", "Arrow", "of one on a disk", "of one on a disk, in shards", "of one that was shuffled", "of one in memory"]


PLAIN = ["image", "label", "caption", "width", "score", "good"]


def without_lists(dataset):
    return dataset.select_columns(PLAIN)


def theirs(dataset, transform, **arguments):
    """torch's loop, by the data set's own pictures."""
    def together(samples):
        return default_collate([{name: transform(value.convert("RGB")) if name in ("image", "pic") else value for name, value in sample.items()} for sample in samples])

    return list(DataLoader(dataset, collate_fn=together, **arguments))


def ours(dataset, transform=SMALL, **arguments):
    with spdl.DataLoader(dataset, transform=transform, copy=True, **arguments) as loader:
        batches = list(loader)
        assert len(loader) == len(batches)
        return batches


@pytest.mark.parametrize("kind", KINDS)
def test_the_batches_are_those_of_torch(data, kind):
    dataset = without_lists(data[kind]())
    equal(ours(dataset, FLOATS, batch_size=5), theirs(dataset, FLOATS, batch_size=5))


CHANGES = {
    "select_columns": lambda d: d.select_columns(["label", "image"]),
    "remove_columns": lambda d: d.remove_columns(["caption", "four", "ids"]),
    "cast_column": lambda d: d.select_columns(["image", "label"]).cast_column("image", Picture(mode="RGB")),
    "rename_column": lambda d: without_lists(d).rename_column("label", "kind"),
    "rename_columns twice": lambda d: without_lists(d).rename_columns({"image": "pic", "label": "kind"}).rename_column("kind", "class"),
    "renamed to each other": lambda d: without_lists(d).rename_column("width", "x").rename_column("label", "width").rename_column("x", "label"),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("kind", ["Parquet", "of one on a disk, in shards"])
def test_columns_are_those_of_the_data_set(data, rows, kind, name):
    """And the files' own pictures, which theirs writes as JPEGs once more behind remove_columns and rename_column: so they are held against the data set that is not streamed."""
    equal(ours(CHANGES[name](data[kind]()), batch_size=5), theirs(CHANGES[name](rows), SMALL, batch_size=5))


ROWS = {"take": lambda d: d.take(7), "skip": lambda d: d.skip(6), "skip and take": lambda d: d.skip(6).take(9), "take and skip": lambda d: d.take(9).skip(6), "take of take": lambda d: d.take(9).take(4)}


@pytest.mark.parametrize("name", ROWS)
def test_rows_are_those_of_the_data_set(data, name):
    dataset = ROWS[name](without_lists(data["Parquet"]()))
    equal(ours(dataset, batch_size=4), theirs(dataset, SMALL, batch_size=4))


def test_arguments_of_torch_and_fields(data):
    dataset = data["Parquet"]()
    assert [len(batch["label"]) for batch in ours(without_lists(dataset), batch_size=5, drop_last=True)] == [5] * 4
    images, four = ours(dataset, batch_size=N, fields=("image", "four"))[0]
    assert images.shape == (N, 3, 16, 12) and torch.equal(four, torch.tensor([[i, i / 2, i / 3, 0.1] for i in range(N)], dtype=torch.float32))
    want = ours(without_lists(dataset), batch_size=5)
    equal(ours(without_lists(dataset).with_format("torch"), batch_size=5)[0]["score"], want[0]["score"].float())
    got = ours(without_lists(dataset), batch_size=5, collate_fn=lambda samples: [sample["label"] for sample in samples])
    assert got == [batch["label"].tolist() for batch in want] and all(type(n) is int for n in got[0])
    with spdl.DataLoader(without_lists(dataset), transform=SMALL) as loader:
        assert loader.classes == ["cat", "dog", "ox"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_shuffle_is_of_shards_and_of_samples(data, kind):
    """Another order in each epoch, the same of the same seed; a state goes on in the middle of one."""
    def widths(loader):
        return [n for batch in loader for n in batch["width"].tolist()]

    make = lambda: without_lists(data[kind]()).shuffle(seed=9, buffer_size=5)  # noqa: E731
    assert spdl.describe(make(), transform=SMALL)["order"].get("window") == (8 if kind in ("Parquet", "Arrow") else None)
    with spdl.DataLoader(make(), transform=SMALL, batch_size=4, copy=True) as loader:
        first, second = widths(loader), widths(loader)
    assert sorted(first) == sorted(second) == [i - 5 for i in range(N)] and first != second
    with spdl.DataLoader(make(), transform=SMALL, batch_size=4, copy=True) as loader:
        begun = iter(loader)
        got = widths([next(begun), next(begun)])
        state = loader.state_dict()
    with spdl.DataLoader(make(), transform=SMALL, batch_size=4, copy=True, state=state) as loader:
        assert got + widths(loader) == first


def test_a_shuffle_of_what_was_taken(data):
    dataset = without_lists(data["Parquet"]()).take(9).shuffle(seed=2, buffer_size=100)
    assert sorted(n for batch in ours(dataset, batch_size=4) for n in batch["width"].tolist()) == [i - 5 for i in range(9)]


@pytest.mark.parametrize("kind", KINDS)
def test_ranks_have_parts_of_every_step(data, kind):
    """Together they have each sample once, whatever the number of shards."""
    dataset = without_lists(data[kind]())
    ranks = [ours(split_dataset_by_node(dataset, rank, 2), batch_size=4) for rank in range(2)]
    assert [len(batches) for batches in ranks] == [3, 3]
    assert sorted(n for batches in ranks for batch in batches for n in batch["width"].tolist()) == [i - 5 for i in range(N)]


REFUSED = {
    "batch": (lambda d: d.batch(4), "has a map of the library's own _batch_fn, want no batch: batch_size= of spdl.DataLoader"),
    "add_column": (lambda d: d.add_column("n", list(range(N))), "has a map of the library's own add_column_fn, want none: the column is written into the files"),
    "take of a shuffle": (lambda d: d.shuffle(seed=1).take(3), "takes or skips some of the samples behind a shuffle, .*want take and skip in front of it"),
    "lists of any length": (lambda d: d.cast_column("four", List(Value("float64"))), r"features\['four'\]: has lists of any length, and nobody says the longest"),
    "repeat": (lambda d: d.repeat(2), "RepeatExamplesIterable in it, .*want no repeat: each loop is an epoch"),
    "concatenated": (lambda d: datasets.concatenate_datasets([d, d]), "in it, which has no equal here; want one list of files"),
    "interleaved": (lambda d: datasets.interleave_datasets([d, d]), r"in it, which has no equal here; several data sets are source: \{mix"),
    "a format": (lambda d: d.with_format("numpy"), "has the format numpy, want none or torch"),
    "no samples": (lambda d: d.take(0), "has no samples"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_equal_is_refused(data, name):
    make, message = REFUSED[name]
    with pytest.raises(spdl.ArgumentError, match=f"dataset: IterableDataset .*{message}"):
        spdl.DataLoader(make(data["Parquet"]()), transform=SMALL)


def test_a_state_and_an_epoch_of_its_own_are_refused(data):
    dataset = data["Parquet"]()
    dataset.load_state_dict(dataset.state_dict())
    with pytest.raises(spdl.ArgumentError, match="goes on from a state of its own, want one without: state= of spdl.DataLoader"):
        spdl.DataLoader(dataset, transform=SMALL)
    dataset = data["Parquet"]()
    dataset.set_epoch(3)
    with pytest.raises(spdl.ArgumentError, match=r"has an epoch that was set, want one without: loader.set_epoch\(n\)"):
        spdl.DataLoader(dataset, transform=SMALL)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("kind", KINDS[2:])
def test_rows_of_one_on_a_disk(data, kind, name):
    dataset = ROWS[name](without_lists(data[kind]()))
    equal(ours(dataset, batch_size=4), theirs(dataset, SMALL, batch_size=4))


def test_a_text_that_is_null_is_refused(tmp_path):
    """It is None there, and would be an empty text here."""
    features = Features({"label": Value("int64"), "caption": Value("string")})
    rows = Dataset.from_dict({"label": [0, 1, 2], "caption": ["a", None, ""]}, features)
    rows.to_parquet(tmp_path / "a.parquet")
    streamed = load_dataset("parquet", data_files=str(tmp_path / "a.parquet"), split="train", streaming=True, features=features)
    for dataset in (rows, rows.to_iterable_dataset(), streamed):
        with pytest.raises(spdl.ArgumentError, match=r"features\['caption'\]: has no text in 1 of its rows, which is None there and an empty text here, want texts in all: dataset.filter"):
            spdl.DataLoader(dataset)
        equal(ours(dataset, None, fields={"label": "label"}), [{"label": torch.tensor([n])} for n in range(3)])
    equal(ours(rows.select([0, 2]), None, batch_size=2), list(DataLoader(rows.select([0, 2]), batch_size=2)))


def test_files_of_other_kinds_are_refused_with_the_remedy(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"x": 1}\n')
    with pytest.raises(spdl.ArgumentError, match=r"reads by Json, want source: \{list: FILE\} of a description"):
        spdl.DataLoader(load_dataset("json", data_files=str(tmp_path / "a.jsonl"), split="train", streaming=True, features=Features({"x": Value("int64")})))
    with pytest.raises(spdl.ArgumentError, match="reads by a program of its own, want samples that your program brings"):
        spdl.DataLoader(datasets.IterableDataset.from_generator(lambda: iter([{"x": 1}]), features=Features({"x": Value("int64")})))
    with pytest.raises(spdl.ArgumentError, match="has no features, so nobody says what its columns are"):
        Dataset.from_dict({"x": [1, 2]}).to_parquet(tmp_path / "b.parquet")
        made = load_dataset("parquet", data_files=str(tmp_path / "b.parquet"), split="train", streaming=True)
        made._info.features = None
        spdl.DataLoader(made)
    with pytest.raises(spdl.ArgumentError, match="reads some of the rows of its files"):
        Dataset.from_dict({"x": [1, 2]}).to_parquet(tmp_path / "a.parquet")
        spdl.DataLoader(load_dataset("parquet", data_files=str(tmp_path / "a.parquet"), split="train", streaming=True, filters=[("x", ">", 1)]))
