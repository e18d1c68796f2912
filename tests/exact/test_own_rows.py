"""spdl.DataLoader in the place of torch's on classes of one's own whose samples are rows and windows of arrays. Batches are torch's to the bit."""

import itertools
import pathlib

import numpy as np
import pytest

torch = pytest.importorskip("torch")
spdl = pytest.importorskip("spdl")
from torch.utils.data import BatchSampler, ConcatDataset, DataLoader, Dataset, IterableDataset, Sampler, Subset, TensorDataset, WeightedRandomSampler, random_split  # noqa: E402

SCALE = 0.5


@pytest.fixture
def generator():
    return np.random.default_rng(7)


@pytest.fixture
def tokens(tmp_path, generator):
    """Two files of the same tokens, the second with NumPy's header."""
    numbers = generator.integers(0, 60_000, 5003).astype(np.uint16)
    numbers.tofile(tmp_path / "tokens.bin")
    np.save(tmp_path / "tokens.npy", numbers)
    return tmp_path


def alike(got, want):
    """Of one kind, type and shape, and the same bits."""
    if isinstance(want, dict):
        assert type(got) is dict and list(got) == list(want)
        got, want = list(got.values()), list(want.values())
    if isinstance(want, (list, tuple)):  # torch makes lists of tuples
        assert isinstance(got, (list, tuple)) and len(got) == len(want)
        for one, other in zip(got, want):
            alike(one, other)
    elif isinstance(want, torch.Tensor):
        assert type(got) is torch.Tensor and got.dtype == want.dtype and got.shape == want.shape
        whole = [one.contiguous().view(torch.int16) if one.dtype == torch.bfloat16 else one.contiguous() for one in (got, want)]
        assert whole[0].numpy().tobytes() == whole[1].numpy().tobytes()
    elif isinstance(want, (np.ndarray, np.generic)):
        assert isinstance(got, np.ndarray) == isinstance(want, np.ndarray) and got.dtype == want.dtype and got.shape == want.shape and got.tobytes() == want.tobytes()
    else:
        assert type(got) is type(want) and got == want


def ours(dataset, **given):
    with spdl.DataLoader(dataset, copy=True, **given) as loader:
        batches = list(loader)
        assert len(batches) == len(loader)
    return batches


def same(dataset, **given):
    alike(ours(dataset, **given), list(DataLoader(dataset, **given)))


def same_in_all_ways(dataset):
    """Whole, cut, as samples, in parts, and in an order of its own."""
    last = len(dataset) - 1
    same(dataset, batch_size=4)
    same(dataset, batch_size=3, drop_last=True)
    same(dataset, batch_size=5, collate_fn=list)
    for some in (Subset(dataset, [last, 0, last // 2, 0]), Subset(Subset(dataset, [3, last, 1, 2]), [2, 1, 1])):
        same(some, batch_size=2)
        same(some, batch_size=2, collate_fn=list)
    same(dataset, batch_size=4, sampler=range(last, -1, -1))


# ---- windows


class Tokens(Dataset):
    def __init__(self, data, block):
        self.data, self.block = data, block

    def __len__(self):
        return (len(self.data) - 1) // self.block

    def __getitem__(self, i):
        chunk = torch.from_numpy(self.data[i * self.block : i * self.block + self.block + 1].astype(np.int64))
        return chunk[:-1], chunk[1:]


class Sliding(Tokens):
    def __len__(self):
        return len(self.data) - self.block

    def __getitem__(self, i):
        x = torch.from_numpy(self.data[i : i + self.block].astype(np.int64))
        y = torch.from_numpy(self.data[i + 1 : i + 1 + self.block].astype(np.int64))
        return {"input_ids": x, "labels": y}


@pytest.mark.parametrize("cls", [Tokens, Sliding])
def test_windows_of_tokens(cls, tokens):
    for data in (np.memmap(tokens / "tokens.bin", dtype=np.uint16, mode="r"), np.load(tokens / "tokens.npy", mmap_mode="r"), np.load(tokens / "tokens.npy"), np.memmap(tokens / "tokens.bin", dtype=np.uint16)):
        same(cls(data[:400], 16), batch_size=4)
    same_in_all_ways(cls(np.memmap(tokens / "tokens.bin", dtype=np.uint16, mode="r")[37:420], 16))
    same_in_all_ways(cls(np.load(tokens / "tokens.npy")[37:420], 16))


def test_a_file_is_read_where_it_lies(tokens):
    mapped = np.memmap(tokens / "tokens.bin", dtype=np.uint16, mode="r")
    said = spdl.describe(Tokens(mapped, 16), batch_size=4)["source"]
    assert said == {"arrays": [{"name": "data", "file": str(tokens / "tokens.bin"), "dtype": "u16", "window": 17, "step": 16, "within": 27}]}
    assert spdl.describe(Tokens(np.load(tokens / "tokens.npy", mmap_mode="r"), 16))["source"]["arrays"][0]["file"] == str(tokens / "tokens.npy")
    assert spdl.describe(Tokens(mapped[32:], 16))["source"]["only"] == "2:312"
    for copied in (mapped[::2], np.array(mapped), np.memmap(tokens / "tokens.bin", dtype=np.uint16, mode="c")):
        assert spdl.describe(Tokens(copied, 16))["source"]["arrays"][0]["file"] == "data.data.npy"


def test_a_file_that_is_another_by_now_is_not_taken_for_the_one_that_is_mapped(tokens):
    mapped = np.memmap(tokens / "tokens.bin", dtype=np.uint16, mode="r")
    (tokens / "other").write_bytes(bytes(2 * len(mapped)))
    (tokens / "other").replace(tokens / "tokens.bin")
    same(Tokens(mapped, 16), batch_size=4)


def test_what_was_written_to_a_map_is_there(tokens):
    mapped = np.memmap(tokens / "tokens.bin", dtype=np.uint16, mode="r+")
    mapped[5:50] = 3
    same(Tokens(mapped, 16), batch_size=4)
    private = np.memmap(tokens / "tokens.bin", dtype=np.uint16, mode="c")
    private[5:50] = 4
    same(Tokens(private, 16), batch_size=4)


def test_a_file_that_is_written_to_meanwhile_ends_the_loop(tokens):
    with spdl.DataLoader(Tokens(np.memmap(tokens / "tokens.bin", dtype=np.uint16, mode="r"), 16), batch_size=2) as loader:
        batches = iter(loader)
        next(batches)
        with open(tokens / "tokens.bin", "r+b") as file:
            file.write(b"else")
        with pytest.raises(spdl.EngineFailed, match="changed"):
            list(batches)


class Forecast(Dataset):
    def __init__(self, data, seen, told, columns):
        self.data, self.seen, self.told, self.columns = data, seen, told, columns

    def __len__(self):
        return len(self.data) - self.seen - self.told + 1

    def __getitem__(self, index):
        begin, end = index, index + self.seen
        return self.data[begin:end], self.data[end:end + self.told, self.columns], self.data[end - 1, -1]


@pytest.mark.parametrize("columns", [[0, 2], slice(1, 3), 1, slice(None, None, 2)])
def test_windows_of_time_series(columns, generator, tmp_path):
    data = generator.normal(size=(90, 4)).astype(np.float32)
    np.save(tmp_path / "data.npy", data)
    for one in (data, torch.from_numpy(data), np.load(tmp_path / "data.npy", mmap_mode="r"), np.asfortranarray(data), data[::2], torch.from_numpy(data)[::2]):
        same(Forecast(one, 8, 3, columns), batch_size=16)
    same_in_all_ways(Forecast(data[:40], 8, 3, columns))


class Several(Dataset):
    """Windows of two arrays at different steps, and what belongs to each."""

    def __init__(self, x, y):
        self.x, self.y, self.labels = x, y, list(range(90, 200))

    def __len__(self):
        return 20

    def __getitem__(self, i):
        start = i * 2 + 3
        return self.x[start:start + 6], self.y[start + 6], self.labels[i], self.y[3 * i + 1:3 * i + 3], i


def test_windows_of_several_arrays(generator, tmp_path):
    x, y = generator.normal(size=(103, 5)), generator.integers(0, 9, 103)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    mapped = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "xy"]
    for pair in ((x, y), mapped, (x, mapped[1]), (mapped[0], torch.from_numpy(y)), (mapped[0][40:], mapped[1])):
        same_in_all_ways(Several(*pair))


class Starts(Dataset):
    def __init__(self, signal, starts, labels=None):
        self.signal, self.starts, self.labels = signal, starts, labels

    def __len__(self):
        return len(self.starts)

    def __getitem__(self, i):
        start = int(self.starts[i])
        window = torch.tensor(self.signal[start:start + 40], dtype=torch.float32)[None]
        if self.labels is None:
            return window
        return window, self.labels[i]


def test_windows_that_begin_anywhere(tokens, generator):
    starts = generator.integers(0, 5003 - 40, 30)
    for signal in (np.load(tokens / "tokens.npy"), np.load(tokens / "tokens.npy", mmap_mode="r")):
        for given in (starts, starts.tolist(), torch.from_numpy(starts), starts.astype(np.int32)):
            same(Starts(signal, given), batch_size=7)
            same(Starts(signal, given, np.arange(30.0)), batch_size=7)
        same_in_all_ways(Starts(signal, starts))
        same_in_all_ways(Starts(signal, starts, np.arange(30.0)))


class Characters(Dataset):
    def __init__(self, ids, block):
        self.ids, self.block = ids, block

    def __len__(self):
        return len(self.ids) - self.block

    def __getitem__(self, i):
        ids = torch.tensor(self.ids[i:i + self.block + 1], dtype=torch.long)
        return ids[:-1], ids[1:]


def test_windows_of_a_list_of_numbers():
    same_in_all_ways(Characters([n * 7 % 60 for n in range(200)], 16))


class Lazy(Dataset):
    """Opens its array when it is first asked."""

    def __init__(self, path):
        self.path, self.data = path, None

    def __len__(self):
        return self.path.stat().st_size // 2 // 16

    def _open(self):
        if self.data is None:
            self.data = np.memmap(self.path, dtype=np.uint16, mode="r")

    def __getitem__(self, i):
        self._open()
        return torch.from_numpy(self.data[i * 16:(i + 1) * 16].astype(np.int64))


class Each(Lazy):
    def __getitem__(self, i):
        data = np.memmap(self.path, dtype=np.uint16, mode="r")
        return torch.from_numpy(data[i * 16:(i + 1) * 16].astype(np.int64))


def test_arrays_that_are_opened_when_a_sample_is_asked_for(tokens):
    same(Lazy(tokens / "tokens.bin"), batch_size=4)
    same(Each(tokens / "tokens.bin"), batch_size=4)


# ---- rows


class Table(Dataset):
    def __init__(self, x, y=None):
        self.x, self.y = x, y

    def __len__(self):
        return self.x.shape[0]

    def __getitem__(self, idx):
        if torch.is_tensor(idx):
            idx = idx.tolist()
        if idx < 0 or idx >= len(self):
            raise IndexError(idx)
        if self.y is None:
            return self.x[idx]
        return {"x": torch.tensor(self.x[idx], dtype=torch.float), "y": torch.tensor(self.y[idx])}


def test_rows_of_arrays_tensors_and_lists(generator, tmp_path):
    x = generator.normal(size=(23, 3, 2))
    np.save(tmp_path / "x.npy", x)
    for one in (x, x.astype(np.float32), x[::-1], np.asfortranarray(x), np.load(tmp_path / "x.npy", mmap_mode="r"), np.load(tmp_path / "x.npy", mmap_mode="r")[3:], torch.from_numpy(x), x[:, 0, 0], x > 0):
        same(Table(one), batch_size=5)
    same_in_all_ways(Table(x))
    same_in_all_ways(Table(np.load(tmp_path / "x.npy", mmap_mode="r")))
    for y in (list(range(23)), [n / 7 for n in range(23)], [n % 2 == 0 for n in range(23)], np.arange(23), [np.float32(n) for n in range(23)], tuple(range(23)), range(23)):
        same(Table(x, y), batch_size=5)


class OfEachType(Dataset):
    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, i):
        return self.values[i], self.values[i][0], self.values[i]


@pytest.mark.parametrize("dtype", [one for one in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "uint16", "uint32", "uint64") if hasattr(torch, one)])
def test_rows_of_each_type(dtype):
    bits = torch.randint(0, 2 if dtype == "bool" else 100, (9, 4), generator=torch.Generator().manual_seed(1)).to(getattr(torch, dtype))
    same(OfEachType(bits), batch_size=4)
    same(OfEachType(bits), batch_size=4, collate_fn=list)
    if dtype not in ("bfloat16", "uint64"):  # of numbers of uint64 torch's own collate makes no batch
        same(OfEachType(bits.numpy()), batch_size=4)
        same(OfEachType(bits.numpy()), batch_size=4, collate_fn=list)


class Encoded(Dataset):
    def __init__(self, encodings, labels):
        self.encodings, self.labels = encodings, labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        item = {key: torch.tensor(val[idx]) for key, val in self.encodings.items()}
        item["labels"] = torch.tensor(self.labels[idx])
        return item


class OfTensors(Encoded):
    def __getitem__(self, idx):
        item = {}
        for key in self.encodings:
            item[key] = self.encodings[key][idx].clone().detach()
        return {**item, "labels": torch.LongTensor([self.labels[idx]]), "weight": 0.5, "mask": torch.ones(3)}


def test_encodings_of_a_tokenizer():
    lists = {"input_ids": [[101, 7, n, 102] for n in range(20)], "attention_mask": [[1, 1, 1, n % 2] for n in range(20)]}
    tensors = {key: torch.tensor(value) for key, value in lists.items()}
    same_in_all_ways(Encoded(lists, [n % 3 for n in range(20)]))
    same_in_all_ways(OfTensors(tensors, [n % 3 for n in range(20)]))
    transformers = pytest.importorskip("transformers")
    same_in_all_ways(Encoded(transformers.BatchEncoding(lists), [n % 3 for n in range(20)]))
    same_in_all_ways(OfTensors(transformers.BatchEncoding(tensors), [n % 3 for n in range(20)]))


def test_columns_of_pandas(generator):
    pandas = pytest.importorskip("pandas")

    class Frame(Dataset):
        def __init__(self, frame, target):
            self.frame, self.x, self.y = frame, frame.drop(columns=[target]).values, frame[target]

        def __len__(self):
            return len(self.frame)

        def __getitem__(self, i):
            return torch.FloatTensor(self.x[i]), torch.tensor(self.y.iloc[i]), self.y[i], self.frame["a"].values[i]

    same_in_all_ways(Frame(pandas.DataFrame({"a": generator.normal(size=20), "b": generator.normal(size=20), "y": generator.integers(0, 3, 20)}), "y"))


class Pairs(Dataset):
    def __init__(self, samples):
        self.samples = samples

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        first, second = self.samples[i]
        return first, torch.tensor(second), self.samples[i]


def test_lists_of_samples():
    same_in_all_ways(Pairs([(n, n % 5) for n in range(20)]))
    same_in_all_ways(Pairs([(np.full((2, 3), n, np.float32), n / 3) for n in range(20)]))
    same_in_all_ways(Pairs([[torch.full((2,), n), n] for n in range(20)]))


class Digits(Dataset):
    """As many do with the numbers of a sample as are the same for a batch."""

    def __init__(self, x, transform=None):
        self.x, self.transform, self.mean, self.std = x, transform, x.mean(0).astype(np.float32), np.float32(3.0)
        self.t = torch.from_numpy(x)

    def __len__(self):
        return len(self.x)

    def normal(self, x, by=2):
        return (x - self.mean) / self.std * by

    def __getitem__(self, i):
        x, t = self.x[i], self.t[i]
        image = torch.from_numpy(x.reshape(4, 3).transpose(1, 0).astype(np.float32)).unsqueeze(0).div(255.0)
        if self.transform is not None:
            image = self.transform(image)
        y = x.astype("float32")
        y /= 255
        y -= self.mean
        return [image, self.normal(x.astype(np.float32)), y, np.array(x, dtype=np.int64)[None], x.copy(), np.expand_dims(x, -1), np.concatenate([x, x]), x.clip(3, 9), (x > 100) * SCALE], \
            (t.float() / 255, t.long()[None], t[1:], t[..., None], t.view(3, 4).t(), t.reshape(3, 4).permute(1, 0), t.flatten(), torch.cat([t, t], dim=-1), torch.stack([t, t]), t.to(torch.float64), -1 * t.double(), 1 - t.float(),
             t[[0, 2]], t.double().numpy(), torch.flatten(t), torch.as_tensor(x), int(t[0]), float(x[1]), t[2].item() - 1, len(t), torch.tensor([t[0], t[1]]))


def test_what_is_done_to_numbers(generator):
    x = generator.integers(0, 256, (13, 12)).astype(np.uint8)
    same_in_all_ways(Digits(x))
    same_in_all_ways(Digits(x, lambda image: image * 2 - 1))


class Below(TensorDataset):
    def __getitem__(self, index):
        x, y = super().__getitem__(index)
        return x + 1, y


class Around(Dataset):
    def __init__(self, dataset):
        self.dataset = dataset

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, index):
        x, y = self.dataset[index]
        return x.float() / 10, y


class Chosen(Dataset):
    def __init__(self, x, numbers, repeats=2):
        self.__x, self.numbers, self.repeats = x, numbers, repeats

    def __len__(self):
        return len(self.numbers) * self.repeats

    @property
    def x(self):
        return self.__x

    def __getitem__(self, i):
        number = self.numbers[i // self.repeats]
        return self.x[number], self.x[len(self.x) - 1 - number], i % self.repeats


def test_of_other_data_sets_and_by_other_numbers(generator):
    inner = TensorDataset(torch.arange(60).reshape(20, 3), torch.arange(20))
    train, held_out = random_split(inner, [13, 7], generator=torch.Generator().manual_seed(1))
    for dataset in (Below(*inner.tensors), Around(inner), Around(train), Around(Below(*inner.tensors)), random_split(Around(held_out), [4, 3])[0]):
        same(dataset, batch_size=3)
    same_in_all_ways(Chosen(generator.normal(size=(20, 3)), generator.permutation(20)[:9]))


# ---- orders, states and what is handed out


class Numbered(Dataset):
    def __init__(self, path):
        np.arange(1001, dtype=np.uint16).tofile(path)
        self.data, self.labels = np.memmap(path, dtype=np.uint16, mode="r"), list(range(100))

    def __len__(self):
        return 100

    def __getitem__(self, i):
        window = torch.from_numpy(self.data[i * 10:i * 10 + 11].astype(np.int64))
        return window[:-1], window[1:], self.labels[i]


class Turned(Sampler):
    def __init__(self, numbers):
        self.numbers = numbers

    def __len__(self):
        return len(self.numbers)

    def __iter__(self):
        return iter(self.numbers[::-1])


def test_shuffled_each_sample_comes_once_and_stays_whole(tmp_path):
    dataset = Numbered(tmp_path / "x.bin")
    for some, numbers in ((dataset, range(100)), (Subset(dataset, range(50, 90)), range(50, 90))):
        with spdl.DataLoader(some, batch_size=8, shuffle=True, generator=torch.Generator().manual_seed(3), copy=True) as loader:
            epochs = [[torch.cat(one) for one in zip(*loader)] for _ in range(2)]
        for x, y, labels in epochs:
            assert sorted(labels.tolist()) == list(numbers) and labels.tolist() != list(numbers)
            assert torch.equal(x, labels[:, None] * 10 + torch.arange(10)) and torch.equal(y, x + 1)
        assert epochs[0][2].tolist() != epochs[1][2].tolist()


def test_samplers_and_batch_samplers(tmp_path):
    dataset = Numbered(tmp_path / "x.bin")
    same(dataset, batch_size=7, sampler=Turned(range(40)))
    same(dataset, batch_sampler=BatchSampler(Turned(range(40)), 9, True))
    same(dataset, batch_sampler=[[3, 4], [5, 99, 0], [1]])
    drawn = ours(dataset, batch_size=5, sampler=WeightedRandomSampler([0.0] * 98 + [1.0, 1.0], 10))
    assert {n for _, _, labels in drawn for n in labels.tolist()} <= {98, 99}


def test_a_state_goes_on_in_another_loader(tmp_path):
    def loader(**more):
        return spdl.DataLoader(Numbered(tmp_path / "x.bin"), batch_size=8, shuffle=True, generator=torch.Generator().manual_seed(4), copy=True, **more)
    with loader() as one:
        batches = iter(one)
        next(batches)
        state = one.state_dict()
        left = [labels.tolist() for _, _, labels in batches]
    with loader(state=state) as other:
        assert [labels.tolist() for _, _, labels in other] == left


class Overlapping(Dataset):
    def __init__(self):
        self.x = torch.arange(100.0)

    def __len__(self):
        return 20

    def __getitem__(self, i):
        window = self.x[i * 4:i * 4 + 5]
        return window[:-1], window[1:], window, window


@pytest.mark.parametrize("given", [{}, {"collate_fn": list}])
def test_no_two_values_have_one_memory(given):
    with spdl.DataLoader(Overlapping(), batch_size=4, **given) as loader:
        for batch in loader:
            for sample in batch if given else [batch]:
                assert all(one.is_contiguous() for one in sample)
                places = [(one.data_ptr(), one.data_ptr() + one.numel() * one.element_size()) for one in sample]
                assert all(a[1] <= b[0] or b[1] <= a[0] for a, b in itertools.combinations(places, 2))


def test_arrays_in_the_place_of_tensors():
    with spdl.DataLoader(Overlapping(), batch_size=4, tensors="numpy", copy=True) as loader:
        batch = next(iter(loader))
    assert all(type(one) is np.ndarray for one in batch) and batch[1].tolist() == (np.arange(4)[:, None] * 4 + np.arange(1, 5)).tolist()


def test_a_data_set_that_changes_is_refused(tmp_path):
    for change, message in (({"labels": list(range(100))}, "Numbered: self.labels is another than when the loader was made"), ({"data": np.arange(2000)}, "self.data is another")):
        dataset = Numbered(tmp_path / "x.bin")
        with spdl.DataLoader(dataset, batch_size=4) as loader:
            next(iter(loader))
            vars(dataset).update(change)
            with pytest.raises(spdl.ArgumentError, match=message):
                next(iter(loader))
    dataset = Tokens(np.arange(1000), 10)
    with spdl.DataLoader(dataset, batch_size=4) as loader:
        dataset.data = dataset.data[:]
        dataset.block = 10
        with pytest.raises(spdl.ArgumentError, match="self.data is another"):
            next(iter(loader))
    encoded = Encoded({"x": torch.arange(9)}, list(range(9)))
    with spdl.DataLoader(encoded, batch_size=4) as loader:
        encoded.encodings["x"] = torch.arange(9)
        with pytest.raises(spdl.ArgumentError, match=r"self.encodings\['x'\] is another"):
            next(iter(loader))


def test_a_tensor_that_is_written_to_is_refused():
    dataset = Growing(torch.zeros(20, 2))
    with spdl.DataLoader(dataset, batch_size=4) as loader:
        next(iter(loader))
        dataset.x[3] = 1
        with pytest.raises(spdl.ArgumentError, match="Growing: self.x was written to since the loader was made, which has copied it then"):
            next(iter(loader))


class Growing(Table):
    count = 10

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.x[i]


def test_a_length_that_leaves_samples_out_and_one_that_changes():
    dataset = Growing(torch.arange(40).reshape(20, 2))
    same_in_all_ways(dataset)
    with spdl.DataLoader(dataset, batch_size=4) as loader:
        dataset.count = 12
        with pytest.raises(spdl.ArgumentError, match="Growing has 12 samples, and had 10 when the loader was made"):
            next(iter(loader))


# ---- what is refused beside torch


class Stream(IterableDataset):
    def __len__(self):
        return 3

    def __iter__(self):
        yield torch.zeros(3), 1


class AsCollated(Dataset):
    def __init__(self):
        self.x = np.arange(10)

    def __len__(self):
        return 10

    def __getitem__(self, i):
        return {"x": self.x[i], 1: [self.x[i]]}


def test_what_cannot_be_told_is_refused():
    rows = Table(torch.arange(8.0))
    for dataset, given, message in [
        (ConcatDataset([rows, rows]), {}, "ConcatDataset is of classes of one's own whose samples are rows of arrays, want one such data set"),
        (Subset(rows, [-1]), {}, r"dataset.dataset: Table is asked for sample -1 by a sampler or a Subset, want numbers from 0 to 7"),
        (rows, {"sampler": [0, -8]}, "Table is asked for sample -8 by a sampler"),
        (rows, {"fields": "x"}, "got fields='x' beside a data set whose samples are what its __getitem__ returns"),
        (Table(torch.zeros(4, 2).requires_grad_()), {}, r"got 'self.x\[idx\]', self.x: got a tensor that requires grad"),
        (Table(torch.zeros(4, 2).to("meta")), {}, "got a tensor on meta"),
        (Table(torch.zeros(4, 2).to_sparse()), {}, "got a tensor of layout torch.sparse_coo"),
        (Stream(), {}, r"Stream is an iterable; it comes behind a description: spdl.DataLoader\(spec, source=dataset\), where it gives the bytes of a file, .* torch's own DataLoader's to run"),
    ]:
        with pytest.raises(spdl.ArgumentError, match=message):
            spdl.DataLoader(dataset, batch_size=2, **given)
    with spdl.DataLoader(rows, batch_size=2, sampler=Turned([-1, 3])) as loader, pytest.raises(spdl.ArgumentError, match="Turned gave -1 at 1, want numbers of samples, whole ones from 0 to 7"):
        list(loader)
    same(AsCollated(), batch_size=3)


def test_the_pages_own_example_runs(tmp_path, monkeypatch):
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/own-datasets.md").read_text(encoding="utf-8")
    block = page.partition("## Rows and windows")[2].partition("```python\n")[2].partition("```")[0]
    monkeypatch.chdir(tmp_path)
    np.arange(40_961, dtype=np.uint16).tofile("train.bin")
    (tmp_path / "page.py").write_text(block)
    seen = []
    exec(compile(block, str(tmp_path / "page.py"), "exec"), {"train": lambda x, y: seen.append((x.shape, x.dtype, torch.equal(y[:, :-1], x[:, 1:])))})
    assert seen == [((4, 1024), torch.int64, True)] * 10
