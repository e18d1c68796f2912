"""spdl.DataLoader in the place of torch's, by one word: samplers and batch samplers of the program's own over data sets that the engine reads from tables, with boxes, masks, several files, columns or tensors: batches are torch's."""

import numpy as np
import pytest
from PIL import Image

from conftest import picture
from test_own_samplers import LENGTHS, N, Bucketed, Gives, MPerClass, OfTorch, RepeatAug, Same, _Closing, seeded

torch = pytest.importorskip("torch")
spdl = pytest.importorskip("spdl")
pytest.importorskip("torchvision")
hf = pytest.importorskip("datasets")
from torch.utils.data import BatchSampler, DataLoader, Dataset, TensorDataset  # noqa: E402
from torchvision import transforms as T, tv_tensors  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

TENSOR = T.Compose([T.Resize((12, 14)), T.ToTensor()])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    at, rng = tmp_path_factory.mktemp("orders"), np.random.default_rng(5)
    for i in range(N):
        Image.fromarray(picture(rng, 20, 16)).save(at / f"{i:02}.png")
        Image.fromarray((np.arange(320, dtype=np.uint8).reshape(20, 16) + i) // 64).save(at / f"{i:02}_mask.png")
    return at


class Masked(Dataset):
    def __init__(self, at):
        self.names = sorted(str(one) for one in at.glob("??.png"))
        self.transform = v2.Compose([v2.ToImage(), v2.Resize((10, 12)), v2.ToDtype(torch.float32, scale=True)])

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        image, mask = Image.open(self.names[i]).convert("RGB"), tv_tensors.Mask(Image.open(self.names[i].replace(".png", "_mask.png")))
        image, mask = self.transform(image, mask)
        return image, mask, i


class Boxed(Dataset):
    def __init__(self, at):
        self.names = sorted(str(one) for one in at.glob("??.png"))
        self.boxes = [[[i % 5, 1.0, 8.0, 9.0 + k] for k in range(i % 4)] for i in range(N)]
        self.transform = v2.Compose([v2.ToImage(), v2.Resize((10, 12)), v2.ToDtype(torch.float32, scale=True)])

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        image = Image.open(self.names[i]).convert("RGB")
        boxes = tv_tensors.BoundingBoxes(torch.as_tensor(self.boxes[i], dtype=torch.float32).reshape(-1, 4), format="XYXY", canvas_size=(image.height, image.width))
        image, boxes = self.transform(image, boxes)
        return image, {"boxes": boxes, "labels": torch.full((len(boxes),), i)}


def lists(samples):
    return tuple(zip(*samples))


def tensors(at):
    return TensorDataset(torch.arange(N * 6, dtype=torch.float32).reshape(N, 2, 3), torch.arange(N) % 4), {}


def pixels(at):
    return TensorDataset(torch.arange(N * 48, dtype=torch.uint8).reshape(N, 3, 4, 4), torch.arange(N) % 4), {}


def columns(at):
    rows = {"image": [{"path": str(one), "bytes": None} for one in sorted(at.glob("??.png"))], "label": [i % 4 for i in range(N)], "text": [f"text {i}" for i in range(N)]}
    dataset = hf.Dataset.from_dict(rows, features=hf.Features({"image": hf.Image(), "label": hf.ClassLabel(names=list("abcd")), "text": hf.Value("string")}))
    dataset.set_transform(lambda rows: {"pixels": [TENSOR(image.convert("RGB")) for image in rows["image"]], "label": rows["label"], "text": rows["text"]})
    return dataset, {}


def tokens(at):
    return hf.Dataset.from_dict({"ids": [list(range(i, i + 5)) for i in range(N)], "n": list(range(N))}).with_format("torch"), {}


DATASETS = {
    "tensors": tensors, "pixels": pixels, "columns of Hugging Face's": columns, "tokens": tokens,
    "a picture and its mask": lambda at: (Masked(at), {}),
    "a picture and its boxes": lambda at: (Boxed(at), {"collate_fn": lists}),
}
ORDERS = {
    "draws from torch": lambda dataset: dict(sampler=OfTorch(11), batch_size=3),
    "drop last": lambda dataset: dict(sampler=MPerClass([i % 4 for i in range(N)], 3, 18), batch_size=4, drop_last=True),
    "repeated": lambda dataset: dict(sampler=RepeatAug(dataset), batch_size=3),
    "batches of their own sizes": lambda dataset: dict(batch_sampler=Bucketed(LENGTHS, 8)),
    "a BatchSampler of one": lambda dataset: dict(batch_sampler=BatchSampler(MPerClass([i % 4 for i in range(N)], 2, 15), 4, False)),
}


def same(one, other):
    """Of tensors, also in lists, tuples and dicts, all, to the last bit of a float, and boxes to a thousandth of a pixel; of the rest what is equal."""
    if isinstance(other, torch.Tensor):
        return one.dtype == other.dtype and one.shape == other.shape and bool((one.as_subclass(torch.Tensor) - other.as_subclass(torch.Tensor)).abs().double().max() <= (1e-3 if isinstance(other, tv_tensors.BoundingBoxes) else 1e-7)) if other.numel() else one.shape == other.shape
    if isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in other)
    if isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


@pytest.mark.parametrize("kind", DATASETS)
@pytest.mark.parametrize("name", ORDERS)
def test_batches_are_torchs(files, name, kind):
    """Of three epochs, the sampler told of each, and behind them torch's generator is where torch's loop has it."""
    dataset, more = DATASETS[kind](files)

    def run(made):
        seeded(7)
        arguments = ORDERS[name](dataset)
        with made(dataset, **arguments, **more) as loader:
            epochs, lengths = [], []
            for epoch in range(3):
                one = arguments.get("sampler", arguments.get("batch_sampler"))
                if hasattr(one, "set_epoch"):
                    one.set_epoch(epoch)
                lengths.append(len(loader))
                epochs.append(list(loader))
        return epochs, lengths, torch.rand(())

    ours = run(lambda *args, **said: spdl.DataLoader(*args, copy=True, **said))
    theirs = run(lambda *args, **said: _Closing(DataLoader(*args, **said)))
    assert ours[1] == theirs[1] == [len(one) for one in theirs[0]]
    assert ours[2] == theirs[2]
    for one, other in zip(ours[0], theirs[0]):
        assert all(map(same, one, other)), (one, other)


def test_a_state_goes_on_in_the_same_order_alone(files):
    dataset = Masked(files)

    def numbers(loader):
        return [batch[2].tolist() for batch in loader]

    with spdl.DataLoader(dataset, sampler=RepeatAug(dataset), batch_size=3) as loader:
        whole = numbers(loader)
    with spdl.DataLoader(dataset, sampler=RepeatAug(dataset), batch_size=3) as loader:
        assert next(iter(loader))[2].tolist() == whole[0]
        state = loader.state_dict()
    with spdl.DataLoader(dataset, sampler=RepeatAug(dataset), batch_size=3, state=state) as loader:
        assert numbers(loader) == whole[1:]
    with spdl.DataLoader(dataset, sampler=Same(9), batch_size=3, state=state) as loader, pytest.raises(spdl.StateError, match="Same gives another order of the first 3 samples of epoch 0"):
        next(iter(loader))


def test_what_is_no_order_is_refused_by_the_loop(files):
    for arguments, message in ((dict(sampler=Gives(1, N), batch_size=2), rf"sampler: Gives gave {N} at 1, want numbers of samples, whole ones from 0 to {N - 1}"),
                               (dict(batch_sampler=Gives([1, 2], [], batch_size=2)), r"batch_sampler: Gives gave 0 samples as batch 1, want 1 to 2")):
        with spdl.DataLoader(Masked(files), **arguments) as loader, pytest.raises(spdl.ArgumentError, match=message):
            list(loader)


def test_a_description_has_an_order_that_is_asked_for(files):
    said = spdl.describe(Masked(files), sampler=Same(9), batch_size=3)
    assert said["order"]["asked"] is True and "host" not in said["source"]
