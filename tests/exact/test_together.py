"""spdl.DataLoader in the place of torch's, by one word: data sets of the program's own that open several files, pictures and their masks, pairs and triplets: batches are torch's; what has no equal is
refused by file and line."""

import os
import pathlib
import random

import numpy as np
import pytest
from PIL import Image

from conftest import picture

cv2 = pytest.importorskip("cv2")
torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
A = pytest.importorskip("albumentations")
spdl = pytest.importorskip("spdl")
from albumentations.pytorch import ToTensorV2  # noqa: E402
from test_own import same  # noqa: E402
from torch.utils.data import ConcatDataset, Dataset, Subset  # noqa: E402
from torchvision import transforms as T, tv_tensors  # noqa: E402
from torchvision.transforms import functional as TF, v2  # noqa: E402

N = 9
TENSOR = T.Compose([T.Resize((40, 44)), T.ToTensor()])
TOGETHER = A.Compose([A.Resize(40, 44), A.Normalize(), ToTensorV2()])
BYTES = A.Compose([A.Resize(40, 44), ToTensorV2()])
DRAWN = A.Compose([A.Resize(40, 44), A.RandomCrop(32, 32), A.HorizontalFlip(p=0.5), A.RandomBrightnessContrast(p=0.5), A.ToFloat(255), ToTensorV2()])
ARRAYS = A.Compose([A.Resize(40, 44), A.HorizontalFlip(p=1), A.Normalize()])


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    at, rng = tmp_path_factory.mktemp("together"), np.random.default_rng(11)
    (at / "images").mkdir()
    for kind in ("masks", "palette", "halves"):
        (at / kind).mkdir()
    for i in range(N):
        height, width = 50 + 3 * i, 70 - 2 * i
        Image.fromarray(picture(rng, 80, 80)[:height, :width]).save(at / "images" / f"{i:02}.png")
        classes = np.kron(rng.integers(0, 21, (10, 10)), np.ones((8, 8), int))[:height, :width].astype(np.uint8)
        classes[:3] = 255
        Image.fromarray(classes).save(at / "masks" / f"{i:02}.png")
        one = Image.fromarray(classes, "P")
        one.putpalette(list(range(256)) * 3)
        one.save(at / "palette" / f"{i:02}.png")
        Image.fromarray((classes > 10).astype(np.uint8) * 255).save(at / "halves" / f"{i:02}.png")
    return at


class Pairs(Dataset):
    def __init__(self, root, transform=TOGETHER, masks="masks"):
        self.image_dir, self.mask_dir, self.transform = os.path.join(root, "images"), os.path.join(root, masks), transform
        self.images = sorted(os.listdir(self.image_dir))

    def __len__(self):
        return len(self.images)


class ByPillow(Pairs):
    def __getitem__(self, index):
        img_path = os.path.join(self.image_dir, self.images[index])
        mask_path = os.path.join(self.mask_dir, self.images[index])
        image = np.array(Image.open(img_path).convert("RGB"))
        mask = np.array(Image.open(mask_path))
        if self.transform is not None:
            augmented = self.transform(image=image, mask=mask)
            image = augmented["image"]
            mask = augmented["mask"]
        return image, mask


class Halves(Pairs):
    """As a well known lesson about U-Nets has it."""

    def __getitem__(self, index):
        image = np.array(Image.open(os.path.join(self.image_dir, self.images[index])).convert("RGB"))
        mask = np.array(Image.open(os.path.join(self.mask_dir, self.images[index])).convert("L"), dtype=np.float32)
        mask[mask == 255.0] = 1.0
        if self.transform is not None:
            augmentations = self.transform(image=image, mask=mask)
            image = augmentations["image"]
            mask = augmentations["mask"]
        return image, mask


class ByOpenCV(Pairs):
    def __getitem__(self, i):
        image = cv2.imread(os.path.join(self.image_dir, self.images[i]))
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
        mask = cv2.imread(os.path.join(self.mask_dir, self.images[i]), cv2.IMREAD_GRAYSCALE)
        mask = (mask > 127).astype(np.float32)
        out = self.transform(image=image, mask=mask)
        return {"image": out["image"], "mask": out["mask"].unsqueeze(0), "name": self.images[i]}


class Long(Pairs):
    def __getitem__(self, i):
        image = cv2.cvtColor(cv2.imread(f"{self.image_dir}/{self.images[i]}"), cv2.COLOR_BGR2RGB)
        mask = cv2.imread(f"{self.mask_dir}/{self.images[i]}", 0)
        aug = self.transform(image=image, mask=mask)
        image, mask = aug["image"], aug["mask"]
        return image.float() / 255.0, mask.long(), i


class Arrays(Pairs):
    def __getitem__(self, i):
        image = cv2.cvtColor(cv2.imread(f"{self.image_dir}/{self.images[i]}"), cv2.COLOR_BGR2RGB)
        mask = cv2.imread(f"{self.mask_dir}/{self.images[i]}", 0)
        aug = self.transform(image=image, mask=mask)
        return aug["image"], torch.from_numpy(aug["mask"]).long()


class ByHand(Pairs):
    def __getitem__(self, i):
        image = cv2.cvtColor(cv2.imread(f"{self.image_dir}/{self.images[i]}"), cv2.COLOR_BGR2RGB)
        mask = cv2.imread(f"{self.mask_dir}/{self.images[i]}", 0)
        image = cv2.resize(image, (32, 36)) / 255.0
        mask = cv2.resize(mask, (32, 36), interpolation=cv2.INTER_NEAREST)
        mask = mask / 255.0
        image = np.transpose(image, (2, 0, 1)).astype(np.float32)
        mask = np.expand_dims(mask, axis=0).astype(np.float32)
        return torch.from_numpy(image), torch.from_numpy(mask)


class OfV2(Pairs):
    def __getitem__(self, i):
        image = Image.open(f"{self.image_dir}/{self.images[i]}").convert("RGB")
        mask = tv_tensors.Mask(Image.open(f"{self.mask_dir}/{self.images[i]}"))
        if self.transform is not None:
            image, mask = self.transform(image, mask)
        return image, mask


class OfV2Flat(Pairs):
    def __getitem__(self, i):
        image = Image.open(f"{self.image_dir}/{self.images[i]}").convert("RGB")
        mask = tv_tensors.Mask(np.array(Image.open(f"{self.mask_dir}/{self.images[i]}")))
        image, mask = self.transform(image, mask)
        return {"image": image, "mask": mask.long(), "name": self.images[i]}


V2 = v2.Compose([v2.Resize((40, 44)), v2.RandomHorizontalFlip(1.0), v2.PILToTensor()])
WIDE = v2.Compose([v2.Resize((40, 44)), v2.Pad(3, fill={tv_tensors.Mask: 255, "others": 0}), v2.ToImage(), v2.ToDtype({tv_tensors.Image: torch.uint8, tv_tensors.Mask: torch.int64, "others": None})])


class ByFunctions(Pairs):
    def __getitem__(self, i):
        image = Image.open(f"{self.image_dir}/{self.images[i]}").convert("RGB")
        mask = Image.open(f"{self.mask_dir}/{self.images[i]}").convert("L")
        image = TF.resize(image, (40, 44))
        mask = TF.resize(mask, [40, 44], interpolation=T.InterpolationMode.NEAREST)
        image, mask = TF.to_tensor(image), TF.to_tensor(mask)
        return TF.normalize(image, mean=[0.5, 0.4, 0.3], std=[0.5, 0.25, 0.5]), mask


class Grey(Pairs):
    """Each by transforms of its own."""

    def __getitem__(self, i):
        image = Image.open(f"{self.image_dir}/{self.images[i]}").convert("RGB")
        mask = Image.open(f"{self.mask_dir}/{self.images[i]}").convert("L")
        image = self.transform(image)
        mask = MASKS(mask)
        return image, mask


class Resized(Pairs):
    def __getitem__(self, i):
        image = Image.open(f"{self.image_dir}/{self.images[i]}").convert("RGB")
        mask = Image.open(f"{self.mask_dir}/{self.images[i]}").resize((44, 40), Image.NEAREST)
        return TENSOR(image), torch.from_numpy(np.array(mask)).long()


MASKS = T.Compose([T.Resize((40, 44), interpolation=T.InterpolationMode.NEAREST), T.ToTensor()])


class Siamese(Pairs):
    def __getitem__(self, i):
        j = (i * 5 + 2) % len(self.images)
        first = Image.open(os.path.join(self.image_dir, self.images[i])).convert("RGB")
        second = Image.open(os.path.join(self.image_dir, self.images[j])).convert("RGB")
        if self.transform:
            first = self.transform(first)
            second = self.transform(second)
        return first, second, torch.from_numpy(np.array([int(i % 2 != j % 2)], dtype=np.float32))


class Triplets(Pairs):
    def load(self, i):
        return Image.open(os.path.join(self.image_dir, self.images[i % len(self.images)])).convert("RGB")

    def __getitem__(self, i):
        anchor, positive, negative = self.load(i), self.load(i + 1), self.load(i + 2)
        return [self.transform(anchor), self.transform(positive), self.transform(negative)], [i, i + 1]


FORMS = {"by functions": ByFunctions, "of v2": lambda root: OfV2(root, V2), "of v2, wide": lambda root: OfV2(root, WIDE, "palette"), "of v2, flat": lambda root: OfV2Flat(root, V2), "of v2, pure": lambda root: OfV2(root, v2.Compose([V2, v2.ToPureTensor()])), "by Pillow": ByPillow, "a palette": lambda root: ByPillow(root, BYTES, "palette"), "halves": lambda root: Halves(root, masks="halves"), "by OpenCV": lambda root: ByOpenCV(root, masks="halves"),
         "long": lambda root: Long(root, BYTES), "by hand": ByHand, "arrays": lambda root: Arrays(root, ARRAYS), "grey": lambda root: Grey(root, TENSOR, "halves"), "grey of a palette": lambda root: Grey(root, TENSOR, "palette"), "resized": Resized,
         "a map of a palette resized": lambda root: Resized(root, masks="palette"), "siamese": lambda root: Siamese(root, TENSOR), "triplets": lambda root: Triplets(root, TENSOR)}


@pytest.mark.parametrize("name", FORMS)
def test_batches_are_torchs(root, name):
    dataset = FORMS[name](root)
    same(dataset, within=2e-6, batch_size=4)
    same(dataset, within=2e-6, batch_size=4, collate_fn=lambda samples: samples)
    same(ConcatDataset([Subset(dataset, [7, 2, 2]), dataset]), within=2e-6, batch_size=3, drop_last=True)


def test_a_picture_and_its_mask_draw_alike(root):
    """A mask that is the picture's own red, by which what is drawn of both can be told."""
    class Red(Pairs):
        def __getitem__(self, i):
            image = np.array(Image.open(os.path.join(self.image_dir, self.images[i])).convert("RGB"))
            mask = np.array(Image.open(os.path.join(self.mask_dir, self.images[i])))
            out = self.transform(image=image, mask=mask)
            return out["image"], out["mask"]

    (root / "red").mkdir(exist_ok=True)
    for name in os.listdir(root / "images"):
        Image.open(root / "images" / name).getchannel(0).save(root / "red" / name)
    chain = A.Compose([A.RandomCrop(32, 32), A.HorizontalFlip(p=0.5), A.VerticalFlip(p=0.5), A.RandomRotate90(), ToTensorV2()])
    of_v2 = v2.Compose([v2.RandomCrop(32), v2.RandomHorizontalFlip(), v2.RandomVerticalFlip(), v2.PILToTensor()])
    for dataset in (Red(root, chain, "red"), OfV2(root, of_v2, "red")):
        with spdl.DataLoader(dataset, batch_size=3, shuffle=True, copy=True) as loader:
            epochs = [[(image[0], mask.reshape(32, 32)) for images, masks in loader for image, mask in zip(images, masks)] for _ in range(4)]
        assert all(torch.equal(image, mask) for epoch in epochs for image, mask in epoch) and sum(len(epoch) for epoch in epochs) == 4 * N
        assert not torch.equal(epochs[0][0][0], epochs[1][0][0])


class Drawing(Siamese):
    def __getitem__(self, i):
        j = random.randrange(len(self.images))
        first = Image.open(os.path.join(self.image_dir, self.images[i])).convert("RGB")
        second = Image.open(os.path.join(self.image_dir, self.images[j])).convert("RGB")
        return self.transform(first), self.transform(second)


class DrawingByItself(Siamese):
    rng = np.random.default_rng(3)

    def __getitem__(self, i):
        j = self.rng.integers(len(self.images))
        first = Image.open(os.path.join(self.image_dir, self.images[i])).convert("RGB")
        second = Image.open(os.path.join(self.image_dir, self.images[j])).convert("RGB")
        return self.transform(first), self.transform(second)


class Seeded(Pairs):
    def __getitem__(self, i):
        image = Image.open(f"{self.image_dir}/{self.images[i]}").convert("RGB")
        mask = Image.open(f"{self.mask_dir}/{self.images[i]}").convert("L")
        seed = 5
        torch.manual_seed(seed)
        image = self.transform(image)
        torch.manual_seed(seed)
        mask = self.transform(mask)
        return image, mask


def seed_all(seed):
    random.seed(seed)
    torch.manual_seed(seed)


class SeededByAFunction(Pairs):
    def __getitem__(self, i):
        image = Image.open(f"{self.image_dir}/{self.images[i]}").convert("RGB")
        mask = Image.open(f"{self.mask_dir}/{self.images[i]}").convert("L")
        seed_all(i)
        image = self.transform(image)
        seed_all(i)
        return image, self.transform(mask)


class AheadOf(Pairs):
    def __getitem__(self, i):
        image = np.array(CROP(Image.open(f"{self.image_dir}/{self.images[i]}").convert("RGB")))
        mask = np.array(Image.open(f"{self.mask_dir}/{self.images[i]}"))
        out = self.transform(image=image, mask=mask)
        return out["image"], out["mask"]


class Behind(Pairs):
    def __getitem__(self, i):
        image = np.array(Image.open(f"{self.image_dir}/{self.images[i]}").convert("RGB"))
        mask = np.array(Image.open(f"{self.mask_dir}/{self.images[i]}"))
        out = self.transform(image=image, mask=mask)
        return FLIP(image=out["image"])["image"], out["mask"]


CROP, FLIP = T.RandomCrop(40), A.Compose([A.HorizontalFlip(p=0.5), ToTensorV2()])


class Alone(Pairs):
    def __getitem__(self, i):
        image = Image.open(f"{self.image_dir}/{self.images[i]}").convert("RGB")
        mask = tv_tensors.Mask(Image.open(f"{self.mask_dir}/{self.images[i]}"))
        return V2(image), V2(mask)


class Plain(Pairs):
    def __getitem__(self, i):
        image = Image.open(f"{self.image_dir}/{self.images[i]}").convert("RGB")
        mask = Image.open(f"{self.mask_dir}/{self.images[i]}").convert("L")
        image, mask = self.transform(image, mask)
        return image, mask


class Flips(Pairs):
    def __getitem__(self, i):
        image = Image.open(f"{self.image_dir}/{self.images[i]}").convert("RGB")
        mask = Image.open(f"{self.mask_dir}/{self.images[i]}").convert("L")
        if random.random() > 0.5:
            image, mask = TF.hflip(image), TF.hflip(mask)
        return TF.to_tensor(image), TF.to_tensor(mask)


class Resizes(Pairs):
    def __getitem__(self, i):
        image = Image.open(f"{self.image_dir}/{self.images[i]}").convert("RGB")
        return TF.to_tensor(TF.resize(image, (40, i + 40))), i


class CastByTheSample(Pairs):
    def __getitem__(self, i):
        image = np.array(Image.open(f"{self.image_dir}/{self.images[i]}").convert("RGB"))
        mask = np.array(Image.open(f"{self.mask_dir}/{self.images[i]}"))
        out = self.transform(image=image, mask=mask)
        kind = [torch.int64, torch.float32][i % 2]
        return out["image"], out["mask"].to(kind)


class Void(Pairs):
    def __getitem__(self, i):
        image = np.array(Image.open(f"{self.image_dir}/{self.images[i]}").convert("RGB"))
        mask = np.array(Image.open(f"{self.mask_dir}/{self.images[i]}"))
        out = self.transform(image=image, mask=mask + 1)
        return out["image"], out["mask"]


class Scaled(Pairs):
    def __getitem__(self, i):
        image = np.array(Image.open(f"{self.image_dir}/{self.images[i]}").convert("RGB"))
        mask = np.array(Image.open(f"{self.mask_dir}/{self.images[i]}"))
        mask = mask / mask.max()
        out = self.transform(image=image, mask=mask)
        return out["image"], out["mask"]


class Held(Pairs):
    def __getitem__(self, i):
        image = Image.open(f"{self.image_dir}/{self.images[i]}").convert("RGB")
        with open(f"{self.mask_dir}/{self.images[i]}", "rb") as f:
            mask = Image.open(f).convert("RGB")
        return TENSOR(image), TENSOR(mask), io_of(self)


def io_of(_):
    return 5


class OfBytes(Pairs):
    def __getitem__(self, i):
        image = Image.open(f"{self.image_dir}/{self.images[i]}").convert("RGB")
        mask = Image.fromarray(np.zeros((9, 9), np.uint8)).convert("L")
        return TENSOR(image), TENSOR(mask)


@pytest.mark.parametrize("make, message", [
    (lambda root: Drawing(root, TENSOR), "its code draws numbers, and all samples of several files are found when the loader is made, once for all epochs"),
    (lambda root: DrawingByItself(root, TENSOR), "its code draws numbers"),
    (lambda root: Seeded(root, TENSOR), r"test_together.py:\d+: got 'torch.manual_seed\(seed\)', a seed for what is drawn, of which the engine has one of its own, want one transform that takes both"),
    (lambda root: SeededByAFunction(root, TENSOR), r"test_together.py:\d+: got 'seed_all\(i\)', a seed for what is drawn"),
    (lambda root: AheadOf(root, DRAWN), r"test_together.py:\d+: got [\"']np.array\(CROP"),
    (lambda root: Behind(root, ARRAYS), r"test_together.py:\d+: got \"FLIP\(image=out\['image'\]\)\""),
    (lambda root: OfV2(root, v2.Compose([v2.Resize((40, 44)), v2.ElasticTransform(), v2.ToImage()])), "got elastic_transform of a picture and its mask, .*a mask cannot follow it"),
    (lambda root: OfV2(root, A.Compose([])), r"test_together.py:\d+: got 'self.transform\(image, mask\)'"),
    (Flips, r"test_together.py:\d+: got 'random.random\(\) > 0.5'"),
    (Resizes, r"test_together.py:\d+: got '\(40, i \+ 40\)'"),
    (CastByTheSample, r"test_together.py:\d+: got \"out\['mask'\].to\(kind\)\""),
    (Alone, r"test_together.py:\d+: got 'V2\(mask\)'"),
    (lambda root: Plain(root, V2), r"test_together.py:\d+: got 'self.transform\(image, mask\)'"),
    (Void, "has a mask whose numbers are changed ahead of it, so that 0, .* is another than 0 in the mask, want that behind it"),
    (Scaled, r"test_together.py:\d+: got 'mask = mask / mask.max\(\)'"),
    (lambda root: Halves(root, masks="palette"), r"Halves\[0\]: .*palette.*png is no map of class numbers, want a PNG of 8 bits of grey;"),
    (lambda root: ByPillow(root, masks="images"), r"ByPillow\[0\]: .*images.*png is no map of class numbers, want a PNG of 8 bits of grey, or of a palette"),
    (OfBytes, r"OfBytes\[0\] opens a ndarray, want paths, as a sample has several pictures, whose files a table names"),
    (lambda root: ByPillow(root, None), "leaves the size of each picture open, and torch's own collate makes batches of one size"),
])
def test_what_else_is_done_is_refused_with_the_place(root, make, message):
    with pytest.raises((spdl.ArgumentError, spdl.SpecError), match=message):
        spdl.DataLoader(make(root), batch_size=2)


def test_a_sample_that_cannot_be_found_is_told_when_the_loader_is_made(root):
    dataset = Siamese(root, TENSOR)
    dataset.images = [*dataset.images[:5], None]
    with pytest.raises(spdl.ArgumentError, match=r"Siamese\[\d\]: TypeError: .*, and all samples of several files are found when the loader is made"):
        spdl.DataLoader(dataset, batch_size=2)
    dataset.images = ["00.png", "nowhere.png"]
    with spdl.DataLoader(dataset, batch_size=2) as loader, pytest.raises(spdl.EngineFailed, match="nowhere.png"):
        next(iter(loader))


def test_the_pages_block_runs(root, tmp_path, monkeypatch):
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/own-datasets.md").read_text(encoding="utf-8")
    block = page.split("## A picture and its mask, pairs")[1].split("```")[1].removeprefix("python")
    monkeypatch.chdir(tmp_path)
    for name in ("images", "masks"):
        (tmp_path / name).symlink_to(root / name)
    (tmp_path / "script.py").write_text(block)
    seen = []
    script = {"train": lambda images, masks: seen.append((images.shape, masks.shape, masks.dtype)), "__name__": "script"}
    exec(compile(block, str(tmp_path / "script.py"), "exec"), script)
    script["loader"].close()
    assert seen == [((n, 3, 256, 256), (n, 256, 256), torch.int64) for n in (4, 4, 1)]
