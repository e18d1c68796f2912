"""ConcatDataset of data sets whose code or transforms do other things with samples than the first's is refused: one description says one thing. Those that do the same have torch's batches."""

import pathlib

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
spdl = pytest.importorskip("spdl")
from drop import classes, same  # noqa: E402
from PIL import Image  # noqa: E402
from torch.utils.data import ConcatDataset, Dataset  # noqa: E402
from torchvision import datasets, transforms as T  # noqa: E402
from torchvision.transforms import v2  # noqa: E402


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return classes(tmp_path_factory.mktemp("joined"))


class ByHand(Dataset):
    of = 255

    def __init__(self, root):
        self.files = sorted(pathlib.Path(root).rglob("*.*"))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        image = np.array(Image.open(self.files[i]).convert("RGB").resize((8, 8)))
        return torch.from_numpy(image).permute(2, 0, 1).float() / 255, i


class ByHandOtherwise(ByHand):
    def __getitem__(self, i):
        image = np.array(Image.open(self.files[i]).convert("RGB").resize((8, 8)))
        return torch.from_numpy(image).permute(2, 0, 1).float() / 128, i


def test_numbers_that_are_done_otherwise_are_not_joined(root):
    same(ConcatDataset([ByHand(root), ByHand(root)]), batch_size=4)
    with pytest.raises(spdl.ArgumentError, match=r"datasets\[1\]: has samples of another form"):
        spdl.DataLoader(ConcatDataset([ByHand(root), ByHandOtherwise(root)]))


def of(function):
    return T.Compose([T.Resize((8, 8)), T.ToTensor(), T.Lambda(function)])


def around_zero(x):
    return x * 2 - 1


def kinds(to):
    return v2.Compose([v2.Resize((8, 8)), v2.ToImage(), v2.ToDtype({torch.Tensor: to, "others": None}, scale=True)])


def test_functions_that_text_does_not_show_are_not_joined(root):
    same(ConcatDataset([datasets.ImageFolder(root, of(around_zero)), datasets.ImageFolder(root, of(around_zero))]), batch_size=4)
    with pytest.raises(spdl.ArgumentError, match=r"datasets\[1\].transform: got another than datasets\[0\]'s"):
        spdl.DataLoader(ConcatDataset([datasets.ImageFolder(root, of(around_zero)), datasets.ImageFolder(root, of(lambda x: x))]))
    with pytest.raises(spdl.ArgumentError, match=r"datasets\[1\].transform: got another than datasets\[0\]'s"):
        spdl.DataLoader(ConcatDataset([datasets.ImageFolder(root, kinds(torch.float32)), datasets.ImageFolder(root, kinds(torch.uint8))]))
