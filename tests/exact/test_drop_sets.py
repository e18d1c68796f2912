"""Data sets of torchvision's, and classes around them, that spdl.DataLoader takes in the place of torch's: their samples, in their order."""

import os
import pathlib
import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
spdl = pytest.importorskip("spdl")
from torch.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset, Subset, TensorDataset  # noqa: E402
from torchvision import datasets, transforms as T  # noqa: E402

from drop import SIZES, classes, copied, finished, same, small  # noqa: E402


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return classes(tmp_path_factory.mktemp("drop"))


def test_a_folder_is_opened_as_one_and_described_so(root):
    described = spdl.describe(datasets.ImageFolder(root, small()), batch_size=4)
    assert described == {
        "source": {"folder": root, "extensions": ["jpg", "jpeg", "png", "ppm", "bmp", "pgm", "tif", "tiff", "webp"]}, "batch": 4,
        "order": {"shuffle": False, "seed": described["order"]["seed"], "last": "cover"}, "image": {"transform": [{"resize": [16, 12]}], "layout": "NCHW", "dtype": "u8"},
        "bad_sample": {"policy": "fail"}}
    with spdl.DataLoader(described) as loader:
        assert len(loader) == 3 and loader.classes == ["a", "b", "c"]


def deeper(at):
    (at / "a" / "00below").mkdir()  # a directory's files come before what lies in its directories
    shutil.copy(next((at / "b").iterdir()), at / "a" / "00below" / "x.png")


def linked(at):
    os.symlink(at / "a", at / "d")


def hidden(at):
    shutil.copy(next((at / "b").iterdir()), at / "a" / ".x.png")


def beside(at):
    shutil.copy(next((at / "b").iterdir()), at / "x.png")


def between(at):
    (at / "a-b").mkdir()  # "a" < "a-b", and "a-b/" < "a/"
    shutil.copy(next((at / "b").iterdir()), at / "a-b" / "x.png")


@pytest.mark.parametrize("change", [deeper, linked, hidden, beside, between])
def test_a_folder_that_torch_lists_otherwise_has_torchs_samples(root, tmp_path, change):
    change(at := copied(root, tmp_path / "x"))
    dataset = datasets.ImageFolder(str(at), small())
    same(dataset, batch_size=5)
    with spdl.DataLoader(dataset) as loader:
        assert loader.classes == dataset.classes and len(loader.dataset) == len(dataset)


def test_classes_that_lie_below_the_root_are_a_folder_too(root):
    """ImageNet's root is above its split."""
    folder = datasets.ImageFolder(root)
    imagenet = lists(datasets.ImageNet, os.path.dirname(root), samples=None, classes=[("a", "A"), ("b",), ("c",)], extensions=folder.extensions)
    imagenet.samples = folder.samples
    assert spdl.describe(imagenet)["source"]["folder"] == root
    same(imagenet, batch_size=4)
    with spdl.DataLoader(imagenet) as loader:
        assert loader.classes == ["a, A", "b", "c"]


def test_parts_of_data_sets_and_several(root):
    dataset = datasets.ImageFolder(root, small())
    same(Subset(dataset, [10, 2, 2, 0]), 3)
    same(Subset(Subset(dataset, torch.tensor([10, 2, 5])), [1, 0]), 3)
    same(torch.utils.data.random_split(dataset, [6, 5])[0], 4)
    same(ConcatDataset([dataset, Subset(dataset, [3, 1])]), 4)


def test_a_dataset_folder_of_some_endings(root):
    same(datasets.DatasetFolder(root, datasets.folder.default_loader, (".png",), small()), batch_size=2)
    same(datasets.ImageFolder(root, small(), is_valid_file=lambda path: path.endswith("7.png") or path.endswith(".jpg")), batch_size=2)


def lists(cls, root, **attributes):
    """A data set as its constructor would make it of files that nobody has here."""
    files = sorted(os.path.join(at, name) for at, _, names in os.walk(root) for name in names)
    dataset = cls.__new__(cls)
    attributes = {name: files if what == "files" else list(range(len(files), 0, -1)) if what == "labels" else [(f, i * 3) for i, f in enumerate(files)] if what == "both" else what
                  for name, what in attributes.items()}
    vars(dataset).update(transform=small(), target_transform=None, loader=datasets.folder.default_loader, root=root, **attributes)
    return dataset


@pytest.mark.parametrize("name, attributes", [
    ("Flowers102", dict(_image_files="files", _labels="labels")), ("Food101", dict(_image_files="files", _labels="labels")), ("DTD", dict(_image_files="files", _labels="labels")),
    ("SUN397", dict(_image_files="files", _labels="labels")), ("FGVCAircraft", dict(_image_files="files", _labels="labels")), ("GTSRB", dict(_samples="both")), ("StanfordCars", dict(_samples="both")),
    ("CLEVRClassification", dict(_image_files="files", _labels="labels")), ("LFWPeople", dict(data="files", targets="labels", _loader=datasets.folder.default_loader)),
    ("Places365", dict(imgs="both")), ("RenderedSST2", dict(_samples="both")), ("ImageNet", dict(samples="both")), ("EuroSAT", dict(samples="both")), ("Imagenette", dict(_samples="both")), ("OxfordIIITPet", dict(_images="files", _labels="labels", _target_types=["category"])),
])
def test_data_sets_that_are_files_and_labels(root, name, attributes):
    if not hasattr(datasets, name):
        pytest.skip(f"torchvision has no {name}")
    dataset = lists(getattr(datasets, name), root, **attributes)
    if name in ("OxfordIIITPet", "Places365"):
        dataset.transforms = datasets.vision.StandardTransform(dataset.transform, None)
    same(dataset, batch_size=4)


class Own(Dataset):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        return torch.zeros(3), index


class Stream(IterableDataset):
    def __iter__(self):
        return iter([b""])


class OwnFolder(datasets.ImageFolder):
    def __getitem__(self, index):
        return super().__getitem__(index)[0]


class Renamed(datasets.ImageFolder):
    """Has its classes in another order, which is no other way of reading."""

    def find_classes(self, directory):
        return ["c", "a", "b"], {"c": 0, "a": 1, "b": 2}


def test_a_class_of_ones_own_that_reads_as_torchvisions_does(root):
    dataset = Renamed(root, small())
    same(dataset, batch_size=4)
    with spdl.DataLoader(dataset) as loader:
        assert loader.classes == ["c", "a", "b"]


def held(cls, transform, **attributes):
    """A data set of pixels as its constructor would make it of what nobody has here."""
    dataset = cls.__new__(cls)
    vars(dataset).update(transform=transform, target_transform=None, root="x", **attributes)
    return dataset


COLOURS = np.random.default_rng(9).integers(0, 256, (7, 32, 32, 3), np.uint8)
GREYS = torch.from_numpy(COLOURS[:, :28, 2:30, 0].copy())
PIXELS = {
    "CIFAR10": lambda t: held(datasets.CIFAR10, t, data=COLOURS, targets=[3, 1, 4, 1, 5, 9, 2]),
    "CIFAR100": lambda t: held(datasets.CIFAR100, t, data=COLOURS, targets=[3, 1, 4, 1, 5, 9, 2]),
    "SVHN": lambda t: held(datasets.SVHN, t, data=COLOURS.transpose(0, 3, 1, 2), labels=np.arange(7)),
    "STL10": lambda t: held(datasets.STL10, t, data=np.ascontiguousarray(COLOURS.transpose(0, 3, 1, 2)), labels=np.full(7, -1)),
    "MNIST": lambda t: held(datasets.MNIST, t, data=GREYS, targets=torch.arange(7)),
    "FashionMNIST": lambda t: held(datasets.FashionMNIST, t, data=GREYS, targets=torch.arange(7)),
    "EMNIST": lambda t: held(datasets.EMNIST, t, data=GREYS, targets=torch.arange(7)),
    "USPS": lambda t: held(datasets.USPS, t, data=GREYS[:, :16, :16].numpy(), targets=list(range(7))),
}


@pytest.mark.parametrize("name", PIXELS)
@pytest.mark.parametrize("transforms", [
    [], [T.Resize(20)], [T.Pad(2), T.RandomHorizontalFlip(1)], [T.CenterCrop(12), T.Grayscale(3)], [T.Resize((24, 18), T.InterpolationMode.BICUBIC), T.Grayscale(3), T.RandomInvert(1)],
    [T.RandomHorizontalFlip(1), T.Resize(40), T.CenterCrop(24)],
], ids=lambda transforms: "-".join(type(one).__name__ for one in transforms))
def test_pictures_that_a_data_set_holds(name, transforms):
    dataset = PIXELS[name](T.Compose([*transforms, T.ToTensor(), T.Normalize((0.5,), (0.25,))]))
    same(dataset, batch_size=4)
    same(Subset(ConcatDataset([dataset, dataset]), [9, 2, 6]), batch_size=2)


def test_a_folder_of_links(root, tmp_path):
    """As programs make splits of what lies elsewhere."""
    for path in sorted(pathlib.Path(root).glob("*/*")):
        (tmp_path / path.parent.name).mkdir(exist_ok=True)
        (tmp_path / path.parent.name / path.name).symlink_to(path)
    same(datasets.ImageFolder(str(tmp_path), finished(T.Resize(48), T.CenterCrop(40))), batch_size=4)


def test_timms_create_dataset_of_a_folder(root, tmp_path):
    timm_data = pytest.importorskip("timm.data")
    for i, path in enumerate(sorted(pathlib.Path(root).glob("*/*"))):
        (tmp_path / f"c{i % 3 + 9}").mkdir(exist_ok=True)
        (tmp_path / f"c{i % 3 + 9}" / f"{i}{path.suffix}").symlink_to(path)  # c9 and 9.jpg come ahead of c10 and 10.jpg
    dataset = timm_data.create_dataset("", root=str(tmp_path), split="train")
    dataset.transform = timm_data.create_transform(40)
    same(dataset, batch_size=4)
    same(Subset(dataset, [5, 3]), batch_size=2)
    with spdl.DataLoader(dataset, batch_size=4) as loader:
        assert loader.classes == ["c9", "c10", "c11"]
    grey = timm_data.ImageDataset(str(tmp_path), input_img_mode="L", transform=T.Compose([T.Resize((20, 24)), T.ToTensor()]))
    same(grey, batch_size=4)
    for change, message in [
        (dict(reader=[]), "ImageDataset reader: got a list, want a ReaderImageFolder, of files in a folder; tar shards"),
        (dict(load_bytes=True), "load_bytes: got True, and input_img_mode: got 'RGB', want False"),
        (dict(input_img_mode=""), "input_img_mode: got '', want False, and \"RGB\" or \"L\""),
        (dict(target_transform=abs), "target_transform: got .*want None"),
        (dict(transform=None), "ImageDataset has no transform"),
    ]:
        other = timm_data.create_dataset("", root=str(tmp_path), split="train", transform=dataset.transform)
        vars(other).update(change)
        with pytest.raises(spdl.ArgumentError, match=message):
            spdl.DataLoader(other)


def test_data_sets_that_cannot_be_told_are_refused(root):
    folder = datasets.ImageFolder(root, small())
    floats = held(datasets.CIFAR10, small(), data=np.zeros((5, 32, 32, 3), np.float32), targets=[0] * 5)
    alone = held(datasets.STL10, small(), data=np.zeros((5, 3, 32, 32), np.uint8), labels=None)
    grey = held(datasets.MNIST, T.ToTensor(), data=torch.zeros(5, 28, 28, dtype=torch.uint8), targets=torch.zeros(5))
    colour = held(datasets.CIFAR10, grey.transform, data=np.zeros((5, 28, 28, 3), np.uint8), targets=[0] * 5)
    many = held(datasets.QMNIST, T.ToTensor(), data=grey.data, targets=torch.zeros(5, 8))
    pet = lists(datasets.OxfordIIITPet, root, _images="files", _labels="labels", _target_types=["segmentation"])
    for dataset, message in [
        (Own(), r"dataset: Own is a class of its own, which reads by its __getitem__, in which nothing is a picture, .*spdl.DataLoader\(spec, source=dataset\)"),
        (OwnFolder(root, small()), "OwnFolder is a class of its own, which reads by its __getitem__"),
        (Subset(Own(), [0]), "dataset.dataset: Own is a class of its own"),
        (floats, r"CIFAR10 data: got \[5, 32, 32, 3\] of float32, want \[N, H, W, 3\] of u8"),
        (alone, "STL10 labels: got none for 5 pictures, want a label each"),
        (many, r"QMNIST holds \[5, 28, 28\] in a way that is not known here, want one of CIFAR10, .*source=dataset"),
        (ConcatDataset([grey, colour]), r"datasets\[1\]: got pixels \[28, 28, 3\], and datasets\[0\] has pixels \[28, 28, 1\], want one kind"),
        (ConcatDataset([folder, TensorDataset(torch.zeros(3))]), r"datasets\[1\]: TensorDataset holds tensors, and stands beside pictures in files"),
        (ConcatDataset([TensorDataset(torch.zeros(3)), folder]), r"datasets\[1\]: ImageFolder stands beside tensors or lists of samples, want data sets of one kind"),
        (Stream(), r"Stream is an iterable; it comes behind a description: spdl.DataLoader\(spec, source=dataset\)"),
        (lists(datasets.Omniglot, root), "Omniglot of torchvision reads its samples by itself, want one of .*ImageFolder.*as a table"),
        (lists(datasets.CocoDetection, root), r"CocoDetection has boxes, want wrap_dataset_for_transforms_v2\(dataset\)"),
        (lists(datasets.VOCDetection, root), "VOCDetection has boxes, want wrap_dataset"),
        (datasets.ImageFolder(root), "ImageFolder has no transform.*give one, such as Compose"),
        (datasets.ImageFolder(root, T.Resize((8, 8))), r"ends with a PIL image.*add ToTensor\(\)"),
        (datasets.ImageFolder(root, small(), target_transform=3), "target_transform: got 3, want None"),
        (datasets.ImageFolder(root, small(), loader=abs), "loader: got .*want torchvision's default_loader"),
        (ConcatDataset([folder, datasets.ImageFolder(root, finished())]), r"ConcatDataset datasets\[1\].transform: got another than datasets\[0\]'s"),
        (pet, r"target_types: got \['segmentation'\], want \"category\""),
        (Subset(folder, []), "Subset has no samples"),
        (lists(datasets.CLEVRClassification, root, _image_files="files", _labels=[None] * len(SIZES)), "CLEVRClassification has pictures without labels"),
    ]:
        with pytest.raises(spdl.ArgumentError, match=message):
            spdl.DataLoader(dataset, batch_size=2)


def test_a_picture_that_cannot_be_read_ends_the_loop_as_in_torch(root, tmp_path):
    at = copied(root, tmp_path / "x")
    (at / "b" / "zz.png").write_bytes(b"no picture")
    dataset = datasets.ImageFolder(str(at), small())
    with pytest.raises(Exception):
        list(DataLoader(dataset, batch_size=4))
    with spdl.DataLoader(dataset, batch_size=4, copy=True) as loader, pytest.raises(spdl.SpdlError, match="b/"):
        list(loader)
