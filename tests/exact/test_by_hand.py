"""spdl.DataLoader in the place of torch's, by one word: data sets of the program's own that hold pixels, that leave files unconverted, that resize by Pillow and OpenCV, make tensors by hand, or read by
torchvision.io: batches are torch's, to the bit."""

import os

import numpy as np
import pytest
from PIL import Image

cv2 = pytest.importorskip("cv2")
torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
spdl = pytest.importorskip("spdl")
from test_own import N, TENSOR, Table, root, same  # noqa: E402, F401
from torch.utils.data import ConcatDataset, Subset  # noqa: E402
from torchvision import transforms as T  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

SMALL_GREY = T.Compose([T.Resize((20, 22)), T.ToTensor()])
PLAIN_SMALL = T.Compose([T.ToPILImage(), T.Resize((20, 22)), T.ToTensor()])
PLAIN = T.Compose([T.ToPILImage(), T.ToTensor()])
V2 = v2.Resize((32, 30))


class OfPixels(Table):
    """As CIFAR10 has it, with the pixels of its own."""

    def __init__(self, root, transform=T.ToTensor(), shape=(24, 20, 3)):
        super().__init__(root, transform)
        self.data = np.random.default_rng(5).integers(0, 256, (len(self.names), *shape), np.uint8)

    def __getitem__(self, index):
        img, target = self.data[index], self.labels[index]
        img = Image.fromarray(img)
        if self.transform is not None:
            img = self.transform(img)
        return img, target


class Small(Table):
    def __getitem__(self, i):
        image = cv2.cvtColor(cv2.imread(f"{self.root}/{self.names[i]}"), cv2.COLOR_BGR2RGB)
        image = cv2.resize(image, (30, 26))
        return self.transform(image), i


class SmallByPillow(Table):
    def __getitem__(self, i):
        image = Image.open(os.path.join(self.root, self.names[i])).convert("RGB").resize((30, 26), Image.BILINEAR)
        return self.transform(np.array(image)), i


class ByHand(Table):
    def __getitem__(self, i):
        img = cv2.imread(f"{self.root}/{self.names[i]}")
        img = cv2.cvtColor(img, cv2.COLOR_BGR2RGB)
        img = cv2.resize(img, (30, 26), interpolation=cv2.INTER_AREA)
        img = img.astype(np.float32)
        img /= 255.0
        img = np.transpose(img, (2, 0, 1))
        return torch.tensor(img, dtype=torch.float32), torch.tensor(self.labels[i], dtype=torch.long)


class ByHandOfPillow(Table):
    def __getitem__(self, i):
        img = Image.open(f"{self.root}/{self.names[i]}").convert("RGB").resize((30, 26))
        return torch.from_numpy(np.array(img)).permute(2, 0, 1).float() / 255.0, i


class ByHandOfGrey(Table):
    def __getitem__(self, i):
        img = np.array(Image.open(f"{self.root}/{self.names[i]}").convert("L").resize((30, 26), Image.BILINEAR))
        img = (img / 127.5) - 1.0
        return torch.FloatTensor(img).unsqueeze(0), self.names[i]


class Whole(Table):
    def __getitem__(self, i):
        return np.array(Image.open(f"{self.root}/{self.names[i]}").convert("RGB").resize((30, 26), Image.LANCZOS)), i


class ReadByTorchvision(Table):
    def __getitem__(self, idx):
        image = torchvision.io.read_image(os.path.join(self.root, self.names[idx % 2 * 3]))
        if self.transform:
            image = self.transform(image)
        return image, self.labels[idx]


class DecodedByTorchvision(Table):
    def __getitem__(self, i):
        return self.transform(torchvision.io.decode_image(os.path.join(self.root, self.names[i]), mode=torchvision.io.ImageReadMode.RGB)), i


class ThreeTimes(Table):
    def __getitem__(self, i):
        x = SMALL_GREY(Image.open(os.path.join(self.root, self.names[i])).convert("L"))
        x = x.repeat(3, 1, 1)
        x -= 0.5
        return x, i


class Colours(Table):
    """Of files that nothing converts, and that are all of one mode."""

    def __init__(self, root, transform=TENSOR, mode="RGB"):
        super().__init__(root, transform)
        self.names = [name for name in self.names if Image.open(os.path.join(root, name)).mode == mode]
        self.names = (self.names * N)[:N]

    def __getitem__(self, i):
        with open(os.path.join(self.root, self.names[i]), "rb") as f:
            return self.transform(Image.open(f)), self.names[i]


class ColoursOfArrays(Colours):
    def __getitem__(self, i):
        return PLAIN_SMALL(np.array(Image.open(os.path.join(self.root, self.names[i])))), i


FORMS = {"three times": ThreeTimes, "read by torchvision": lambda root: ReadByTorchvision(root, V2), "decoded by torchvision": lambda root: DecodedByTorchvision(root, V2), "by hand": ByHand, "by hand of Pillow": ByHandOfPillow, "by hand of grey": ByHandOfGrey, "whole": Whole,
         "colours": Colours, "greys": lambda root: Colours(root, T.Compose([T.Resize((20, 22)), T.ToTensor()]), "L"), "colours of arrays": ColoursOfArrays, "pixels": OfPixels, "grey pixels": lambda root: OfPixels(root, shape=(18, 30)), "small": lambda root: Small(root, PLAIN), "small by Pillow": lambda root: SmallByPillow(root, T.ToTensor())}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.filterwarnings("ignore:The image decoding and encoding capabilities of TorchVision:DeprecationWarning")
def test_batches_are_torchs(root, name):
    dataset = FORMS[name](root)
    same(dataset, batch_size=4)
    same(dataset, batch_size=4, collate_fn=lambda samples: samples)
    same(ConcatDataset([Subset(dataset, [7, 2, 2]), dataset]), batch_size=3, drop_last=True)


def test_a_picture_of_another_mode_ends_the_loop(root):
    dataset = Colours(root)
    dataset.names.insert(4, "01.jpg")
    with spdl.DataLoader(dataset, batch_size=2) as loader, pytest.raises(spdl.EngineFailed, match=r"Colours\[4\] has a picture of mode L, want RGB, as the first sample has it"):
        for _ in loader:
            pass


def test_pixels_of_another_size_end_the_loop(root):
    dataset = OfPixels(root)
    dataset.data = [*dataset.data[:5], dataset.data[5][:9], *dataset.data[6:]]
    with spdl.DataLoader(dataset, batch_size=2) as loader, pytest.raises(spdl.EngineFailed, match=r"OfPixels\[5\] has a picture of \[9, 20, 3\], want \[24, 20, 3\], as the first sample has it"):
        for _ in loader:
            pass
