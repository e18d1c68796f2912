"""spdl.DataLoader in the place of torch's, by one word: data sets of the program's own around others, and below torchvision's, which transform their pictures or hand out more beside them."""

import os

import pytest
from PIL import Image

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
spdl = pytest.importorskip("spdl")
from test_own import TENSOR, Guided, OfAFile, Table, root, same  # noqa: E402, F401
from torch.utils.data import Dataset, Subset  # noqa: E402
from torchvision import datasets, transforms as T  # noqa: E402


class Transformed(Dataset):
    def __init__(self, subset, transform=None):
        self.subset, self.transform = subset, transform

    def __getitem__(self, index):
        x, y = self.subset[index]
        if self.transform:
            x = self.transform(x)
        return x, y

    def __len__(self):
        return len(self.subset)


class Shorter(Transformed):
    def __len__(self):
        return 2


class Changing(Transformed):
    def __getitem__(self, index):
        x, y = self.subset[index]
        y = y + 1
        return self.transform(x), y


class Swapped(Transformed):
    def __getitem__(self, index):
        x, y = self.subset[index]
        return y, self.transform(x)


class Numbered(Transformed):
    def __getitem__(self, index):
        x, y = self.subset[index]
        return x, y, index


class Chosen(Dataset):
    def __init__(self, dataset, numbers):
        self.dataset, self.numbers = dataset, numbers

    def __len__(self):
        return len(self.numbers)

    def __getitem__(self, i):
        x, y = self.dataset[self.numbers[i]]
        return {"x": x, "y": float(y), "weight": 1 / (1 + i)}


class WithPaths(datasets.ImageFolder):
    def __getitem__(self, index):
        pair = super(WithPaths, self).__getitem__(index)
        path = os.path.basename(self.imgs[index][0])
        return pair + (path,)


class WithNumbers(datasets.ImageFolder):
    def __getitem__(self, index):
        image, target = super().__getitem__(index)
        return image, target, index


class Labelled(Table):
    def __getitem__(self, i):
        image = self.transform(Image.open(os.path.join(self.root, self.names[i])).convert("RGB"))
        return image, i + 3


def test_a_part_with_a_transform_of_its_own(root, tmp_path):
    for i, name in enumerate(sorted(os.listdir(root))):
        (tmp_path / f"c{i % 3}").mkdir(exist_ok=True)
        (tmp_path / f"c{i % 3}" / name).symlink_to(root / name)
    train, val = torch.utils.data.random_split(datasets.ImageFolder(str(tmp_path)), [8, 3])
    for part in (train, val):
        same(Transformed(part, TENSOR), batch_size=4)
    same(Transformed(datasets.ImageFolder(str(tmp_path), T.Resize(48)), T.Compose(TENSOR.transforms[1:])), batch_size=4)
    same(Transformed(Transformed(datasets.ImageFolder(str(tmp_path)), TENSOR)), batch_size=4)
    folder = datasets.ImageFolder(str(tmp_path), TENSOR)
    pixels = datasets.MNIST.__new__(datasets.MNIST)
    vars(pixels).update(transform=T.ToTensor(), target_transform=None, root="x", data=torch.arange(9 * 28 * 28, dtype=torch.uint8).reshape(9, 28, 28), targets=list(range(9)), train=True)
    for dataset in (Swapped(train, TENSOR), Changing(train, TENSOR), Numbered(folder), Numbered(Subset(folder, [5, 2, 2])), Numbered(pixels), Numbered(Guided(root, target_transform=int)), Chosen(folder, [4, 9, 4]),
                    WithPaths(str(tmp_path), TENSOR), WithNumbers(str(tmp_path), TENSOR), Transformed(Labelled(root))):
        same(dataset, batch_size=4)
        same(dataset, batch_size=2, collate_fn=lambda samples: samples)
    for dataset, message in [
        (Transformed(train), "Transformed has no transform"),
        (Shorter(train, TENSOR), "Shorter has 2 samples, and subset has 8, want as many"),
        (Transformed(OfAFile(root), TENSOR), "subset: has other samples than a picture and a whole number"),
        (Transformed(datasets.FakeData(), TENSOR), "dataset.subset: FakeData makes pictures of noise"),
    ]:
        with pytest.raises((spdl.ArgumentError, spdl.SpecError), match=message):
            spdl.DataLoader(dataset, batch_size=2)
