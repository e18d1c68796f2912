"""spdl.DataLoader in the place of torch's, by one word: on data sets of the program's own, whose __getitem__ opens a picture by Pillow, batches are torch's; what else such a
method does to a picture is refused by file and line."""

import io
import os
import pathlib
import threading
import types

import numpy as np
import PIL.Image
import pytest
from PIL import Image

from conftest import picture

cv2 = pytest.importorskip("cv2")
torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
spdl = pytest.importorskip("spdl")
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset  # noqa: E402
from torchvision import datasets, transforms as T  # noqa: E402
from torchvision.datasets.folder import pil_loader  # noqa: E402

N = 11
TENSOR = T.Compose([T.Resize(48), T.CenterCrop(40), T.ToTensor(), T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    at, rng = tmp_path_factory.mktemp("own"), np.random.default_rng(4)
    for i in range(N):
        one = Image.fromarray(picture(rng, 50 + 3 * i, 70 - 2 * i))
        one = {1: one.convert("L"), 2: one.convert("P")}.get(i, one)
        one.save(at / f"{i:02}.{'png' if i in (2, 5) else 'jpg'}")
    return at


def same(dataset, within=0.0, **arguments):
    theirs = list(DataLoader(dataset, **arguments))
    with spdl.DataLoader(dataset, copy=True, **arguments) as loader:
        ours = list(loader)
        assert len(loader) == len(theirs) == len(ours)
    for got, want in zip(ours, theirs):
        equal(got, want, within)


def equal(got, want, within):
    if isinstance(want, torch.Tensor):
        assert got.dtype == want.dtype and got.shape == want.shape and (torch.equal(got, want) if within == 0 else (got - want).abs().max() <= within)
    elif isinstance(want, dict):
        assert list(got) == list(want)
        for key in want:
            equal(got[key], want[key], within)
    elif isinstance(want, (list, tuple)):
        assert type(got) is type(want) or not any(isinstance(one, str) for one in want)
        assert len(got) == len(want)
        for one, other in zip(got, want):
            equal(one, other, within)
    elif isinstance(want, np.ndarray):
        assert got.dtype == want.dtype and got.shape == want.shape and np.abs(got.astype("f8") - want.astype("f8")).max() <= within
    else:
        assert type(got) is type(want) and got == want


# What programs and guides have, in words of ours.


class Table(Dataset):
    def __init__(self, root, transform=TENSOR, target_transform=None):
        self.root, self.transform, self.target_transform = root, transform, target_transform
        self.names = sorted(os.listdir(root))
        self.labels = np.arange(len(self.names)) * 7 % 5
        self.classes = ["a", "b", "c", "d", "e"]

    def __len__(self):
        return len(self.names)


class Guided(Table):
    def __getitem__(self, idx):
        """As torch's guide to data sets has it, with Pillow."""
        if torch.is_tensor(idx):
            idx = idx.tolist()
        path = os.path.join(self.root, self.names[idx])
        image = Image.open(path).convert("RGB")
        label = self.labels[idx]
        if self.transform:
            image = self.transform(image)
        if self.target_transform:
            label = self.target_transform(label)
        return image, label


class OfAFile(Table):
    def __getitem__(self, i):
        with open(os.path.join(self.root, self.names[i]), "rb") as f:
            img = PIL.Image.open(f)
            img = img.convert("RGB")
        return {"pixel_values": self.transform(img), "labels": torch.tensor(self.labels[i])}


class Alone(Table):
    def __getitem__(self, i):
        with Image.open(pathlib.Path(self.root) / self.names[i]) as im:
            im = im.convert(mode="RGB")
        im = im if self.transform is None else self.transform(im)
        return im


class Named(Table):
    def __getitem__(self, i):
        image = Image.open(os.path.join(self.root, self.names[i])).convert("RGB")
        return self.transform(image), self.names[i].partition(".")[0] + " é"


class Both(Table):
    def __getitem__(self, i):
        path = os.path.join(self.root, self.names[i])
        image = self.transform(Image.open(path).convert("RGB"))
        return {"image": image, "name": os.path.basename(path), "score": np.float32(i / 3)}


class Triple(Table):
    def __getitem__(self, i):
        return self.transform(Image.open(os.path.join(self.root, self.names[i])).convert("RGB")), i, str(i)


class Inference(Table):
    is_test = True

    def __getitem__(self, i):
        image = Image.open(os.path.join(self.root, self.names[i])).convert("RGB")
        image = self.transform(image)
        if self.is_test:
            return image
        return image, i


class Training(Inference):
    is_test = False


class Sampled(Table):
    def __getitem__(self, i):
        image = Image.open(os.path.join(self.root, self.names[i])).convert("RGB")
        if self.transform:
            image = self.transform(image)
        sample = {"image": image, "label": i}
        return sample


class Three(Table):
    def __getitem__(self, i):
        return self.transform(Image.open(os.path.join(self.root, self.names[i])).convert("RGB")), i, i + 1


class Long(Table):
    def __getitem__(self, i):
        return self.transform(Image.open(os.path.join(self.root, self.names[i])).convert("RGB")), "é" * 65


class Many(Table):
    """As sets of many labels, of captions with their tokens, and of people have them."""

    def __getitem__(self, i):
        image = self.transform(Image.open(os.path.join(self.root, self.names[i])).convert("RGB"))
        target = torch.zeros(5)
        target[i % 5] = 1
        tokens = np.arange(i, i + 6)
        return {"image": image, "target": target, "person": {"tokens": tokens, "camera": i % 2, "name": self.names[i] * 30}, "pair": [float(i), (i, "x")], "is": i % 2 == 0}


class Flat(Table):
    def __getitem__(self, i):
        image = self.transform(Image.open(os.path.join(self.root, self.names[i])).convert("RGB"))
        return [image, i, self.names[i], np.float16(i), torch.tensor([i])]


def load(path):
    with open(path, "rb") as f:
        return Image.open(f).convert("RGB")


def load_slowly(path):
    with open(path, "rb") as f:
        img = Image.open(f)
        return img.convert("RGB")


class OfTwoFiles(Table):
    def __getitem__(self, i):
        with open(os.path.join(self.root, self.names[i]), "rb") as f:
            size = len(f.read())
        image = load_slowly(os.path.join(self.root, self.names[i]))
        return self.transform(image), size


class ByAFunction(Table):
    def __getitem__(self, i):
        return self.transform(load(os.path.join(self.root, self.names[i]))), i


class ByAMethod(Table):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.__names = [os.path.join(self.root, name) for name in self.names]

    def load_image(self, index: int) -> Image.Image:
        path = self.__names[index]
        return Image.open(path)

    def label(self, index):
        return index * 2

    def __getitem__(self, i):
        img = self.load_image(i).convert("RGB")
        label = self.label(i)
        if self.transform:
            return self.transform(img), label
        else:
            return img, label


def read(root, name):
    image = cv2.imread(os.path.join(root, name))
    return cv2.cvtColor(image, cv2.COLOR_BGR2RGB)


class ByBoth(Table):
    def load(self, i):
        return read(self.root, self.names[i])

    def __getitem__(self, i):
        image = Image.fromarray(self.load(i))
        return self.transform(image), i


class Checked(Table):
    def __getitem__(self, i):
        img = Image.open(os.path.join(self.root, self.names[i]))
        if img is None:
            raise FileNotFoundError(self.names[i])
        if img.mode != "RGB":
            img = img.convert("RGB")
        return self.transform(img), i


class Grey(Table):
    def __getitem__(self, i):
        path: str = f"{self.root}/{self.names[i]}"
        path = Image.open(path).convert("L")
        return path if not self.transform else self.transform(path), i


class Held(Table):
    def __init__(self, root):
        super().__init__(root)
        self.__encoded = [(root / name).read_bytes() for name in self.names]

    def __getitem__(self, i):
        return int(self.labels[i]), self.transform(Image.open(io.BytesIO(self.__encoded[i])).convert("RGB"))


class Folder(datasets.ImageFolder):
    def __getitem__(self, index):
        path, target = self.samples[index]
        sample = self.loader(path)
        if self.transform is not None:
            sample = self.transform(sample)
        return sample, target + 10


class Parent(Table):
    def where(self, i):
        return os.path.join(self.root, self.names[i])


class Child(Parent):
    def where(self, i):
        raise KeyError(i)

    def __getitem__(self, i):
        image = pil_loader(super().where(i))
        image = self.transform.transforms[0](image)
        image = TAIL(image)
        return image, i


TAIL = T.Compose(TENSOR.transforms[1:])


def in_a_function(transform):
    class Local(Table):
        def __getitem__(self, i):
            return transform(Image.open(os.path.join(self.root, self.names[i])).convert("RGB")), i % 2

    return Local


class ByAStaticMethod(Table):
    @staticmethod
    def opened(path):
        return Image.open(path).convert("RGB")

    def __getitem__(self, i):
        return self.transform(self.opened(f"{self.root}/{self.names[i]}")), i


class IntoADict(Table):
    def __getitem__(self, i):
        item = {key: torch.tensor(values[i % 3]) for key, values in {"input_ids": [[1, 2], [3, 4], [5, 6]], "attention_mask": [[1, 1], [1, 0], [0, 0]]}.items()}
        image = Image.open(os.path.join(self.root, self.names[i])).convert("RGB")
        item["image"] = self.transform(image)
        item["name"] = self.names[i]
        return item


class IntoADictInATuple(Table):
    def __getitem__(self, i):
        sample = {}
        sample["name"] = self.names[i]
        sample["image"] = self.transform(Image.open(os.path.join(self.root, self.names[i])).convert("RGB"))
        return i, dict(of=sample, label=self.labels[i])


def patiently(path):
    """As re-identification's code opens pictures."""
    got_img = False
    if not os.path.exists(path):
        raise OSError(f"{path} does not exist")
    while not got_img:
        try:
            img = Image.open(path).convert("RGB")
            got_img = True
        except OSError:
            print(f"cannot read {path}")
            pass
    return img


class Patient(Table):
    def __getitem__(self, i):
        image = patiently(os.path.join(self.root, self.names[i]))
        return self.transform(image), i % 3, self.names[i]


class Trying(Table):
    """Whose try is of a label as well, which some samples lack."""

    def __getitem__(self, i):
        label = -1
        try:
            image = Image.open(os.path.join(self.root, self.names[i])).convert("RGB")
            label = {2: 5, 3: 7}[i]
        except KeyError:
            pass
        return self.transform(image), label


class WithItsLabel(Table):
    """A method that returns a picture and its label."""

    def load(self, i):
        image = Image.open(os.path.join(self.root, self.names[i])).convert("RGB")
        return image, int(self.labels[i])

    def __getitem__(self, i):
        image, label = self.load(i)
        return self.transform(image), label


FORMS = {"with its label": WithItsLabel, "patiently": Patient, "trying": Trying, "into a dict": IntoADict, "into a dict in a tuple": IntoADictInATuple, "by a static method": ByAStaticMethod, "three": Three, "a long text": Long, "many": Many, "flat": Flat,
         "one of five": lambda root: Guided(root, target_transform=lambda y: torch.eye(5)[y]), "of 32 bits": lambda root: Guided(root, target_transform=lambda y: np.int32(y)), "true or false": lambda root: Guided(root, target_transform=bool),
         "of two files": OfTwoFiles, "by a function": ByAFunction, "by a method": ByAMethod, "by both": ByBoth, "inference": Inference, "training": Training, "a sample": Sampled, "with a name": Named, "in a dict with both": Both, "in a tuple with both": Triple, "guided": Guided, "checked": Checked, "of a file": OfAFile, "alone": Alone, "held": Held, "a child": Child, "in a function": in_a_function(TENSOR),
         "labels by a function": lambda root: Guided(root, target_transform=lambda y: int(y) + 100), "grey": lambda root: Grey(root, T.Compose([T.Resize((32, 30)), T.ToTensor(), T.Normalize(0.5, 0.25)]))}


@pytest.mark.parametrize("name", FORMS)
def test_batches_are_torchs(root, name):
    dataset = FORMS[name](root)
    same(dataset, batch_size=4)
    same(dataset, batch_size=4, collate_fn=lambda samples: samples)
    same(ConcatDataset([Subset(dataset, [7, 2, 2]), dataset]), batch_size=3, drop_last=True)


def test_an_assertion_of_a_picture(root, tmp_path, monkeypatch):
    """In a module of its own, as pytest changes those of tests."""
    (tmp_path / "asserting.py").write_text("""import cv2
from test_own import Table

class Asserting(Table):
    def __getitem__(self, i):
        image = cv2.imread(f"{self.root}/{self.names[i]}")
        assert image is not None, "no picture"
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
        image = self.transform(image=image)["image"]
        return image, i
""")
    A = pytest.importorskip("albumentations")
    from albumentations.pytorch import ToTensorV2
    monkeypatch.syspath_prepend(str(tmp_path))
    import asserting
    same(asserting.Asserting(root, A.Compose([A.Resize(32, 30), ToTensorV2()])), batch_size=4)


def test_a_class_below_imagefolder(root, tmp_path):
    for i, name in enumerate(sorted(os.listdir(root))):
        (tmp_path / f"c{i % 3}").mkdir(exist_ok=True)
        (tmp_path / f"c{i % 3}" / name).symlink_to(root / name)
    same(Folder(str(tmp_path), TENSOR), batch_size=4)


def test_albumentations(root):
    A = pytest.importorskip("albumentations")
    from albumentations.pytorch import ToTensorV2

    class Augmented(Table):
        def __getitem__(self, i):
            image = np.array(Image.open(os.path.join(self.root, self.names[i])).convert("RGB"))
            if self.transform is not None:
                augmented = self.transform(image=image)
                image = augmented["image"]
            return image, i

    class Short(Table):
        def __getitem__(self, i):
            image = Image.open(os.path.join(self.root, self.names[i])).convert("RGB")
            return self.transform(image=np.asarray(image))["image"], i

    class ByOpenCV(Table):
        def __getitem__(self, i):
            image = cv2.imread(f"{self.root}/{self.names[i]}")
            image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
            return self.transform(image=image)["image"], i

    class Turning(Table):
        def __getitem__(self, i):
            image = cv2.imread(f"{self.root}/{self.names[i]}", cv2.IMREAD_COLOR)[:, :, ::-1]
            if self.transform:
                image = self.transform(image=image)["image"]
            return {"x": image, "y": i}

    for cls in (Augmented, Short, ByOpenCV, Turning):
        same(cls(root, A.Compose([A.Resize(32, 30), A.Normalize(), ToTensorV2()])), within=2e-6, batch_size=4)


def test_opencv_turns_as_exif_says_and_pillow_does_not(tmp_path):
    exif = Image.Exif()
    exif[0x112] = 6
    Image.fromarray(picture(np.random.default_rng(6), 60, 40)).save(tmp_path / "0.jpg", exif=exif)

    class ByOpenCV(Table):
        def __getitem__(self, i):
            image = cv2.cvtColor(cv2.imread(os.path.join(self.root, self.names[i])), cv2.COLOR_BGR2RGB)
            return self.transform(Image.fromarray(image)), i

    same(ByOpenCV(tmp_path))
    same(Guided(tmp_path))
    with pytest.raises(spdl.ArgumentError, match="pictures that another library opens"):
        spdl.DataLoader(ConcatDataset([ByOpenCV(tmp_path), Guided(tmp_path, target_transform=int)]))


@pytest.mark.parametrize("label", [float, np.float64, np.float32, lambda y: torch.tensor(y, dtype=torch.float32), lambda y: torch.tensor(y, dtype=torch.float64)],
                         ids=["Python", "f64", "f32", "torch f32", "torch f64"])
def test_labels_of_floats(root, label):
    numbers = [0.1, -1 / 3, float("inf"), 5e-324, 0.0, 1e300]

    class Regression(Table):
        def __getitem__(self, i):
            image = Image.open(os.path.join(self.root, self.names[i])).convert("RGB")
            return self.transform(image), label(numbers[i % 5])

    same(Regression(root), batch_size=4)
    same(Regression(root), batch_size=4, collate_fn=lambda samples: [one for _, one in samples])
    with spdl.DataLoader(Regression(root), batch_size=N, tensors="numpy", copy=True) as loader, np.errstate(over="ignore"):
        ((_, got),) = loader
        want = np.array([label(numbers[i % 5]) for i in range(N)])
        assert got.dtype == want.dtype and got.tobytes() == want.tobytes()


def test_shuffled_once_each_and_a_state_goes_on(root):
    def opened(**more):
        return spdl.DataLoader(Guided(root, target_transform=lambda y: int(y)), batch_size=4, shuffle=True, generator=torch.Generator().manual_seed(3), copy=True, **more)

    with opened() as loader:
        whole = list(loader)
        assert loader.classes == ["a", "b", "c", "d", "e"]
    assert sorted(torch.cat([labels for _, labels in whole]).tolist()) == sorted(i * 7 % 5 for i in range(N))
    with opened() as loader:
        next(iter(loader))
        state = loader.state_dict()
    with opened(state=state) as loader:
        for got, want in zip(loader, whole[1:]):
            equal(got, want, 0)


def test_its_code_runs_in_one_thread_at_a_time(root):
    class Counting(Guided):
        inside, most, lock = 0, 0, threading.Lock()

        def where(self, i):
            with self.lock:
                self.inside += 1
                self.most = max(self.most, self.inside)
            for _ in range(1000):
                self.lock.locked()
            with self.lock:
                self.inside -= 1
            return os.path.join(self.root, self.names[i])

        def __getitem__(self, i):
            image = Image.open(self.where(i)).convert("RGB")
            return self.transform(image), i

    dataset = Counting(root)
    with spdl.DataLoader(ConcatDataset([dataset] * 20), batch_size=4, copy=True) as loader:
        assert sum(len(labels) for _, labels in loader) == 20 * N
    assert dataset.most == 1


class Impatient(Table):
    def __getitem__(self, i):
        try:
            image = Image.open(os.path.join(self.root, self.names[i])).convert("RGB")
        except OSError:
            return self[i + 1]
        return self.transform(image), i


class Looks(Table):
    def __getitem__(self, i):
        image = Image.open(self.names[i]).convert("RGB")
        dark = image.getpixel((0, 0))
        return self.transform(image), dark


class AnyMode(Table):
    def __getitem__(self, i):
        return self.transform(Image.open(os.path.join(self.root, self.names[(i + 2) % 3]))), i


class Again(Table):
    def __getitem__(self, i):
        try:
            image = Image.open(self.names[i]).convert("RGB")
        except OSError:
            return self[i + 1]
        return self.transform(image), i


class Half(Table):
    def __getitem__(self, i):
        image = Image.open(self.names[i])
        if image.mode == "RGBA":
            image = image.convert("RGB")
        return self.transform(image), i


class Returning(Table):
    def __getitem__(self, i):
        image = Image.open(self.names[i]).convert("RGB")
        if i > 5:
            return self.transform(image), 1
        return self.transform(image), 0


def again(path):
    return again(path) if path else Image.open(path).convert("RGB")


class Endless(Table):
    def __getitem__(self, i):
        return self.transform(again(self.names[i])), i


class Noisy(Table):
    def load(self, i):
        image = Image.open(self.names[i]).convert("RGB")
        return image.rotate(90)

    def __getitem__(self, i):
        return self.transform(self.load(i)), i


class Switched(Table):
    def __getitem__(self, i):
        self.transform = T.RandomCrop(20) if i % 2 else TENSOR
        return self.transform(Image.open(self.names[i]).convert("RGB")), i


class BySample(Table):
    def __getitem__(self, i):
        image = Image.open(self.names[i]).convert("RGB")
        if i % 2:
            image = self.transform(image)
        return image, i


class Made(Table):
    def __getitem__(self, i):
        return torch.zeros(3, 4, 4), i


class Turned(Table):
    def __getitem__(self, i):
        return self.transform(Image.open(self.names[i]).convert("RGB").rotate(90)), i


class Blue(Table):
    def __getitem__(self, i):
        image = cv2.imread(self.names[i])
        return self.transform(image), i


class Flagged(Table):
    def __getitem__(self, i):
        image = cv2.imread(self.names[i], 0)
        return self.transform(Image.fromarray(image)), i


class OtherKeys(Table):
    def __getitem__(self, i):
        sample = {"label": i} if i < 4 else {}
        sample["image"] = self.transform(Image.open(os.path.join(self.root, self.names[i])).convert("RGB"))
        return sample


class IntoAList(Table):
    def __getitem__(self, i):
        sample = pandas_like()
        sample["image"] = self.transform(Image.open(os.path.join(self.root, self.names[i])).convert("RGB"))
        return sample


class pandas_like:
    def __setitem__(self, key, value):
        pass


def library(name, function):
    """One with a function, of libraries that need not be installed."""
    module = types.ModuleType(name)
    exec(f"def {function}(path): raise OSError(path)", vars(module))
    return module


video = library("torchvision.io.video", "read_video")


class Films(Table):
    def __getitem__(self, i):
        frames, _, _ = video.read_video(self.names[i])
        return frames[0], i


class IfAnArray(Table):
    def __getitem__(self, i):
        image = Image.open(os.path.join(self.root, self.names[i])).convert("RGB")
        if self.labels:
            image = self.transform(image)
        return image, i


class IfAnArrayIs(Table):
    def __getitem__(self, i):
        image = Image.open(os.path.join(self.root, self.names[i])).convert("RGB")
        if self.labels == 3 or self.names in ("a", "b"):
            image = self.transform(image)
        return image, i


class LooksAgain(Table):
    def __getitem__(self, i):
        sample = {}
        sample["image"] = self.transform(Image.open(os.path.join(self.root, self.names[i])).convert("RGB"))
        sample["mean"] = sample["image"].mean()
        return sample


class Decoded(Table):
    def __getitem__(self, i):
        return self.transform(Image.open(self.labels).convert("RGB")), i


class Closed(Table):
    def __getitem__(self, i):
        with open(os.path.join(self.root, self.names[i]), "rb") as f:
            image = Image.open(f).convert("RGB")
        return self.transform(image), f.name


REFUSED = [
    (IfAnArray, r"test_own.py:\d+: got 'self.labels'"),
    (IfAnArrayIs, r"test_own.py:\d+: got 'self.labels == 3'"),
    (Films, r"test_own.py:\d+: got 'video.read_video\(self.names\[i\]\)', a video, want torchcodec's VideoDecoder, decord's VideoReader, PyAV's container or OpenCV's VideoCapture \(docs/own-datasets.md#videos\), or a description of a table of the files: .* video: .*docs/recipes.md#video-classification-clips-of-16-frames"),
    (IntoAList, r"IntoAList\[0\] puts a picture into a pandas_like, want a dict"),
    (LooksAgain, r"got [\"']sample\['mean'\] = sample\['image'\].mean\(\)"),
    (lambda root: Grey(root, T.Compose([T.Resize((8, 8)), T.Grayscale(3), T.ToTensor()])), r"makes three channels of a grey picture, want image.convert"),
    (Closed, r"test_own.py:\d+: got 'f' behind what opens the picture, which has it no more, want it to open a picture"),
    (Looks, r"Looks is a class of its own, which reads by its __getitem__: .*test_own.py:\d+: got 'dark = image.getpixel\(\(0, 0\)\)', want it to open a picture, .*; or spdl.DataLoader\(spec, source=dataset\)"),
    (AnyMode, r"AnyMode\[0\] has a picture of mode P, want RGB or L: image.convert\(\"RGB\"\) behind Image.open makes them all RGB"),
    (Again, r"got [\"']try:.*want it to open a picture"), (Impatient, r"got [\"']try:.*want it to open a picture"),
    (Half, r"got [\"']image.mode == 'RGBA'[\"']"),
    (Returning, r"got [\"']i > 5[\"']"),
    (Endless, "and no picture in it that Image.open or cv2.imread has opened"),
    (Noisy, "and no picture in it that Image.open or cv2.imread has opened"),
    (Switched, r"got [\"']self.transform\(Image.open"),
    (BySample, r"got 'i % 2'"),
    (Made, r"Made is a class of its own, which reads by its __getitem__, in which nothing is a picture, a sound or a video: a sample\[0\] is tensor.*, which comes of no array of the data set's; want rows"),
    (Turned, r"got [\"']self.transform\(Image.open\(self.names\[i\]\).convert\('RGB'\).rotate\(90\)\)"),
    (Blue, r"got [\"']self.transform\(image\)[\"'] of a picture whose blue comes first, want image = cv2.cvtColor\(image, cv2.COLOR_BGR2RGB\) behind cv2.imread"),
    (Flagged, r"got pictures that OpenCV makes grey, by other numbers than the engine, want image.convert"),
    (Decoded, r"Decoded\[0\] opens a ndarray of int64 \[11\], want a path, a file such as io.BytesIO\(bytes\), or"),
    (lambda root: Guided(root, None), r"Guided has no transform, and pictures have to become tensors"),
    (lambda root: Guided(root, T.Resize(8)), r"dataset.transform: Guided ends with a PIL image"),
    (lambda root: Guided(root, T.Compose([T.Lambda(abs), T.ToTensor()])), r"got torchvision's Lambda"),
    (lambda root: ConcatDataset([Guided(root), OfAFile(root)]), r"datasets\[1\]: has samples of another form, labels of another type, .*than datasets\[0\]"),
]


@pytest.mark.parametrize("make, message", REFUSED, ids=[str(i) for i in range(len(REFUSED))])
def test_what_else_is_done_is_refused_with_the_place(root, make, message):
    with pytest.raises((spdl.ArgumentError, spdl.SpecError), match=message):
        spdl.DataLoader(make(root), batch_size=2)


def test_a_picture_that_cannot_be_read_and_an_error_of_its_own_end_the_loop(root):
    dataset = Guided(root)
    dataset.names[6] = "nowhere.jpg"
    with spdl.DataLoader(dataset, batch_size=2) as loader, pytest.raises(spdl.EngineFailed, match="nowhere.jpg"):
        for _ in loader:
            pass
    dataset = Guided(root, target_transform=lambda y: [5, 6, 7, 8][y])
    with spdl.DataLoader(dataset, batch_size=2) as loader, pytest.raises(spdl.EngineFailed, match="IndexError: list index out of range"):
        for _ in loader:
            pass
    dataset = Guided(root, target_transform=lambda y: [0, 1, 2, 3, 0.25][y])
    with spdl.DataLoader(dataset, batch_size=2) as loader, pytest.raises(spdl.EngineFailed, match=r"Guided\[\d\] has the label 0.25, want int, as the first sample has it"):
        for _ in loader:
            pass


class Without(Table):
    def __getitem__(self, i):
        return self.transform(Image.open(os.path.join(self.root, self.names[i])).convert("RGB")), None


def test_what_torch_makes_no_batch_of(root):
    with pytest.raises(TypeError):
        next(iter(DataLoader(Without(root), batch_size=2)))
    with spdl.DataLoader(Without(root), batch_size=2) as loader, pytest.raises(spdl.ArgumentError, match="has samples of None, None beside pictures, of which torch's own collate makes no batch, want a collate_fn"):
        next(iter(loader))
    same(Without(root), batch_size=2, collate_fn=lambda samples: samples)


def test_fields_are_refused_beside_samples_of_its_own(root):
    with pytest.raises(spdl.ArgumentError, match="fields=.* beside a data set whose samples are what its __getitem__ returns, want none"):
        spdl.DataLoader(Many(root), batch_size=2, fields=("image", "label"))


def test_arrays_in_the_place_of_tensors(root):
    with spdl.DataLoader(Many(root), batch_size=4, tensors="numpy", copy=True) as loader:
        for got, want in zip(loader, DataLoader(Many(root), batch_size=4)):
            assert isinstance(got["image"], np.ndarray) and np.array_equal(got["image"], want["image"].numpy()) and np.array_equal(got["target"], want["target"].numpy())
            assert np.array_equal(got["person"]["tokens"], want["person"]["tokens"].numpy()) and got["person"]["name"] == want["person"]["name"]


def test_what_is_drawn_beside_a_picture_stays_with_it(root):
    class Pairs(Table):
        def __getitem__(self, i):
            at = int(torch.randint(0, len(self.names), ()))
            image = Image.open(os.path.join(self.root, self.names[at])).convert("RGB")
            return self.transform(image), torch.tensor([i, at])

    whole = {i: image for i, (image, _) in enumerate(DataLoader(Guided(root)))}
    sampler = torch.utils.data.WeightedRandomSampler([1.0] * N, 40)
    with spdl.DataLoader(Pairs(root), batch_size=4, sampler=sampler, copy=True) as loader:
        for _ in range(3):
            for images, drawn in loader:
                for image, (_, at) in zip(images, drawn.tolist()):
                    assert torch.equal(image, whole[at][0])
                if len(drawn) and drawn[0, 0] % 3 == 0:
                    break


def test_what_a_break_leaves_is_let_go_of(root):
    with spdl.DataLoader(ConcatDataset([Many(root)] * 8), batch_size=2, copy=True) as loader:
        held = loader._finish.kept
        for _ in range(40):
            next(iter(loader))
        assert len(held._held) <= held.ahead + loader.loader.info.slots * 2


def test_other_keys_than_the_first_sample_has_end_the_loop(root):
    with spdl.DataLoader(OtherKeys(root), batch_size=2) as loader, pytest.raises(spdl.EngineFailed, match=r"OtherKeys\[4\] has the keys 'image', want 'label', 'image', as the first sample has them"):
        for _ in loader:
            pass


def test_the_pages_block_runs(root, tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/own-datasets.md").read_text(encoding="utf-8")
    block = page.split("## Pictures\n")[1].split("```")[1].removeprefix("python")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train").symlink_to(root)
    (tmp_path / "train.csv").write_text("filename,label\n" + "".join(f"{name},{i % 3}\n" for i, name in enumerate(sorted(os.listdir(root)))))
    (tmp_path / "script.py").write_text(block)
    seen = []
    script = {"train": lambda images, labels: seen.append((images.shape, labels.tolist())), "__name__": "script"}
    exec(compile(block, str(tmp_path / "script.py"), "exec"), script)
    script["loader"].close()  # its files' names are of this directory
    assert [shape for shape, _ in seen] == [(4, 3, 224, 224), (4, 3, 224, 224), (3, 3, 224, 224)] and sorted(sum((labels for _, labels in seen), [])) == sorted(i % 3 for i in range(N))
