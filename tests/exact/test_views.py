"""spdl.DataLoader in the place of torch's, by one word: several pictures of one, by transforms of the program's own that return several, and by data sets that call theirs several times. What is not
random is torch's to the bit; what is, is drawn for each by itself; what a transform of one's own does beside that is refused by file and line."""

import os
import pathlib
import random

import numpy as np
import pytest
from PIL import Image, ImageFilter

from conftest import picture

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
spdl = pytest.importorskip("spdl")
from test_own import N, TENSOR, Table, same  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import ConcatDataset, Dataset, Subset  # noqa: E402
from torchvision import datasets, transforms as T  # noqa: E402

SMALL = T.Compose([T.Resize((20, 24)), T.ToTensor()])
DRAWN = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ColorJitter(0.4, 0.4), T.ToTensor()])


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    at, rng = tmp_path_factory.mktemp("views"), np.random.default_rng(7)
    for i in range(N):
        Image.fromarray(picture(rng, 50 + 3 * i, 70 - 2 * i)).save(at / f"{i:02}.png")
    return at


@pytest.fixture(scope="module")
def folder(root, tmp_path_factory):
    at = tmp_path_factory.mktemp("folder")
    for i, name in enumerate(sorted(os.listdir(root))):
        (at / f"c{i % 3}").mkdir(exist_ok=True)
        (at / f"c{i % 3}" / name).write_bytes((root / name).read_bytes())
    return str(at)


# What papers' code has, in words of ours.


class Views:
    def __init__(self, transform, n_views=2):
        self.transform, self.n_views = transform, n_views

    def __call__(self, x):
        """So many."""
        return [self.transform(x) for _ in range(self.n_views)]


class Two:
    def __init__(self, first, second):
        self.first, self.second = first, second

    def __call__(self, x):
        q = self.first(x)
        k = self.second(x)
        return q, k


class Crops(object):
    def __init__(self, first, second, local, n):
        self.first, self.second, self.local, self.n = first, second, local, n

    def __call__(self, image):
        crops = []
        crops.append(self.first(image))
        crops += [self.second(image)]
        for _ in range(self.n):
            crops.append(self.local(image))
        return crops


class Named(nn.Module):
    def __init__(self, transforms):
        super().__init__()
        self.transforms = transforms

    def forward(self, image):
        small = self.transforms["small"](image)
        return {"small": small, "again": small, "large": self.transforms["large"](image)}


class Each:
    def __init__(self, *transforms):
        self.transforms = transforms

    def __call__(self, image):
        image = T.Resize((40, 44))(image) if self.transforms is None else image
        return tuple([one(image) for one in self.transforms])


class Phases:
    def __init__(self):
        self.of = {"train": DRAWN, "val": TENSOR}

    def __call__(self, img, phase="val"):
        return self.of[phase](img)


class InSteps:
    def __init__(self, *steps):
        self.steps = steps

    def __call__(self, img):
        for step in self.steps:
            img = step(img)
        return img


class InOneTensor(Views):
    def __call__(self, x):
        return torch.stack([self.transform(x) for _ in range(self.n_views)], dim=0)


class InOneTensorByName(Views):
    def __call__(self, x):
        views = [self.transform(x), SMALL(x)]
        views = torch.stack(views, 0)
        return {"views": views, "first": SMALL(x)}


def both(image):
    return SMALL(image), TENSOR(image)


def by_map(image):
    return list(map(lambda t: t(image), [SMALL, TENSOR]))


LAMBDA = lambda image: [TENSOR(image), SMALL(image)]  # noqa: E731


FORMS = {"in one tensor": InOneTensor(TENSOR, 3), "in one tensor by name": InOneTensorByName(SMALL), "views": Views(TENSOR), "three": Views(SMALL, 3), "two": Two(TENSOR, SMALL), "crops": Crops(TENSOR, SMALL, T.Compose([T.CenterCrop(12), T.ToTensor()]), 3), "named": Named({"small": SMALL, "large": TENSOR}),
         "each": Each(TENSOR, SMALL), "phases": Phases(), "in steps": InSteps(T.Resize((30, 32)), T.ToTensor(), T.Normalize(0.5, 0.25)), "by map": by_map, "a function": both, "a lambda": LAMBDA,
         "one within": Two(InSteps(T.Resize((30, 32)), T.ToTensor()), Views(SMALL)), "in a Compose": T.Compose([InSteps(T.Resize((30, 32)), T.CenterCrop(20)), T.ToTensor()])}


@pytest.mark.parametrize("name", FORMS)
def test_a_transform_of_ones_own(folder, name):
    dataset = datasets.ImageFolder(folder, FORMS[name])
    same(dataset, batch_size=4)
    same(dataset, batch_size=4, collate_fn=lambda samples: samples)
    same(ConcatDataset([Subset(dataset, [7, 2, 2]), dataset]), batch_size=3, drop_last=True)


@pytest.mark.parametrize("change", [lambda y: y * 2, lambda y: torch.eye(3)[y], str, lambda y: {"class": y, "name": "abc"[y]}], ids=["a number", "one of three", "a text", "a dict"])
def test_a_target_transform(folder, change):
    for transform in (TENSOR, Views(SMALL)):
        dataset = datasets.ImageFolder(folder, transform, target_transform=change)
        same(dataset, batch_size=4)
        same(ConcatDataset([Subset(dataset, [7, 2, 2]), dataset]), batch_size=3, collate_fn=lambda samples: samples)


def test_of_a_folder_that_the_engine_reads_itself(folder):
    said = spdl.describe(datasets.ImageFolder(folder, Views(DRAWN)), batch_size=4)
    assert said["source"]["folder"] == folder and list(said["fields"]) == ["view0", "view1"] and all(one["draw"] == "own" for one in said["fields"].values())


class Calls(Table):
    def __getitem__(self, i):
        image = Image.open(os.path.join(self.root, self.names[i])).convert("RGB")
        return self.transform(image), SMALL(image), i, self.names[i]


class Unpacks(Table):
    def __getitem__(self, i):
        image = Image.open(os.path.join(self.root, self.names[i])).convert("RGB")
        im1, im2 = self.transform(image)
        return {"im1": im1, "im2": im2, "index": i}


class Lists(Table):
    def __getitem__(self, i):
        image = Image.open(os.path.join(self.root, self.names[i])).convert("RGB")
        views = [t(image) for t in (TENSOR, SMALL)]
        return views, self.labels[i]


class Both(Table):
    def __getitem__(self, i):
        image = Image.open(os.path.join(self.root, self.names[i])).convert("RGB")
        x = self.transform(image)
        return x, x, i


class Gray(Table):
    def __getitem__(self, i):
        image = Image.open(os.path.join(self.root, self.names[i])).convert("RGB")
        return self.transform(image), SMALL(image.convert("L")), i


class Around(Dataset):
    def __init__(self, dataset, first, second):
        self.dataset, self.first, self.second = dataset, first, second

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, i):
        image, _ = self.dataset[i]
        return self.first(image), self.second(image)


class Labelled(Around):
    def __getitem__(self, i):
        image, target = self.dataset[i]
        return {"weak": self.first(image), "strong": self.second(image), "target": target}


class OfPixels(datasets.VisionDataset):
    def __init__(self, transform):
        super().__init__("", transform=transform)
        self.data = np.random.default_rng(5).integers(0, 256, (N, 24, 20, 3), np.uint8)

    def __len__(self):
        return N

    def __getitem__(self, index):
        img, target = self.data[index], index % 4
        img = Image.fromarray(img)
        pos_1 = self.transform(img)
        pos_2 = SMALL(img)
        return pos_1, pos_2, target


def test_a_data_set_that_calls_several(root, folder):
    inner = datasets.ImageFolder(folder)
    for dataset in (Calls(root), Unpacks(root, Two(TENSOR, SMALL)), Lists(root), Both(root), Around(inner, TENSOR, SMALL), Labelled(Subset(inner, [3, 1, 4, 1, 5]), TENSOR, SMALL), OfPixels(T.ToTensor())):
        same(dataset, batch_size=4)
        same(dataset, batch_size=4, collate_fn=lambda samples: samples)
    same(Labelled(datasets.ImageFolder(folder, T.Resize((30, 32))), T.ToTensor(), T.Compose([T.CenterCrop(20), T.ToTensor()])), batch_size=4)


def test_each_draws_for_itself_and_one_that_is_handed_out_twice_once(root, folder):
    for dataset, alike in ((datasets.ImageFolder(folder, Views(DRAWN)), False), (Both(root, DRAWN), True)):
        with spdl.DataLoader(dataset, batch_size=N, copy=True) as loader:
            epochs = [[view.clone() for view in ((views, *_)[0] if isinstance(views, list) else (views, _[0]))] for _ in range(2) for views, *_ in loader]
        assert all(torch.equal(a, b) == alike for a, b in epochs)
        assert not torch.equal(epochs[0][0], epochs[1][0])


class Blurs:
    def __init__(self, p=0.5):
        self.p = p

    def __call__(self, img):
        if random.random() > self.p:
            return img
        return img.filter(ImageFilter.GaussianBlur(radius=random.uniform(0.1, 2)))


class Ahead(Table):
    def __getitem__(self, i):
        image = Image.open(os.path.join(self.root, self.names[i])).convert("RGB")
        image = T.RandomCrop(40)(image)
        return self.transform(image), SMALL(image), i


CROP = T.RandomCrop(40)


class AheadOf(Table):
    def __getitem__(self, i):
        image = CROP(Image.open(os.path.join(self.root, self.names[i])).convert("RGB"))
        return self.transform(image), SMALL(image), i


class Counts:
    def __call__(self, img):
        self.n = 3
        return [TENSOR(img) for _ in range(self.n)]


class Prints:
    def __call__(self, img):
        print(img.size)
        return TENSOR(img)


class Mixes:
    def __call__(self, img):
        return TENSOR(img), 5


class StacksPictures:
    def __call__(self, img):
        return torch.stack([img, img])


class Many:
    def __call__(self, img):
        return [TENSOR(img) for _ in range(65)]


class Stops:
    def __call__(self, img):
        made = []
        for i in range(3):
            made.append(TENSOR(img))
            if i == 1:
                break
        return made


class Itself:
    def __call__(self, img):
        return self(img)


class Fills:
    def __call__(self, img):
        made = []
        made.append(5)
        made.append(TENSOR(img))
        return made


@pytest.mark.parametrize("transform, message", [
    (Blurs(), r"got a Blurs of test_views, .*test_views.py:\d+: got 'random.random\(\) > self.p'"),
    (T.Compose([Blurs(), T.ToTensor()]), r"dataset.transform.transforms\[0\]: .*test_views.py:\d+: got 'random.random\(\) > self.p'"),
    (Views(T.Compose([Blurs(), T.ToTensor()])), r"dataset.transform.transforms\[0\]: .*test_views.py:\d+: got 'random"),
    (Counts(), r"test_views.py:\d+: got 'self.n = 3'"),
    (Prints(), r"test_views.py:\d+: got 'print\(img.size\)'"),
    (Mixes(), r"test_views.py:\d+: got 'return \(?TENSOR\(img\), 5\)?'"),
    (StacksPictures(), r"test_views.py:\d+: got 'torch.stack\(\[img, img\]\)'"),
    (Many(), r"test_views.py:\d+: got 65 turns of 'range\(65\)', want 64 at most"),
    (Stops(), r"test_views.py:\d+: got 'for i in range\(3\):"),
    (Fills(), r"test_views.py:\d+: got 'made.append\(TENSOR\(img\)\)'"),
    (Itself(), r"got a Itself of test_views, .*is none of the program's own, or calls itself"),
    (T.Compose([Views(SMALL)]), r"dataset.transform.transforms\[0\]: .*makes several pictures of one, want it alone, in the place of the Compose"),
    (T.Compose([T.ToTensor(), InSteps({"resize": 5})]), r"got a InSteps of test_views"),
], ids=lambda one: type(one).__name__)
def test_what_else_a_transform_does_is_refused_with_the_place(folder, transform, message):
    with pytest.raises((spdl.ArgumentError, spdl.SpecError), match=message):
        spdl.DataLoader(datasets.ImageFolder(folder, transform), batch_size=2)


def test_draws_ahead_of_several_are_refused(root, folder):
    with pytest.raises(spdl.ArgumentError, match=r"test_views.py:\d+: got 'T.RandomCrop\(40\)\(image\)'"):
        spdl.DataLoader(Ahead(root), batch_size=2)
    for dataset in (AheadOf(root), Labelled(datasets.ImageFolder(folder, CROP), TENSOR, SMALL)):
        with pytest.raises(spdl.SpecError, match=r"RandomCrop.*: is ahead of several pictures that are made of one, which all have what it draws, .*want it in each of these"):
            spdl.DataLoader(dataset, batch_size=2)


def test_the_pages_block_runs(folder, tmp_path, monkeypatch):
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/own-datasets.md").read_text(encoding="utf-8")
    block = page.split("## Several views of a picture")[1].split("```")[1].removeprefix("python")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train").symlink_to(folder)
    (tmp_path / "script.py").write_text(block)
    seen = []
    script = {"train": lambda first, second: seen.append((first.shape, second.shape, torch.equal(first, second))), "__name__": "script"}
    exec(compile(block, str(tmp_path / "script.py"), "exec"), script)
    script["loader"].close()
    assert seen == [((4, 3, 96, 96), (4, 3, 96, 96), False)] * 2 + [((3, 3, 96, 96), (3, 3, 96, 96), False)]
