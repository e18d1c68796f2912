"""spdl.DataLoader in the place of torch's, by one word: data sets of the program's own whose pictures and boxes, points or masks go through one transform: samples are torch's; what has no equal is refused by
file and line."""

import json
import os
import pathlib
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from PIL import Image

from annotated import COCO, SIZES, Annotations, coco, voc, zipped
from conftest import picture

cv2 = pytest.importorskip("cv2")
torch = pytest.importorskip("torch")
A = pytest.importorskip("albumentations")
spdl = pytest.importorskip("spdl")
from albumentations.pytorch import ToTensorV2  # noqa: E402
import torchvision  # noqa: E402
from torch.utils.data import ConcatDataset, Dataset, Subset  # noqa: E402
from torchvision import tv_tensors  # noqa: E402
from torchvision.io import read_image  # noqa: E402
from torchvision.ops import masks_to_boxes  # noqa: E402
from torchvision import transforms as T  # noqa: E402
from torchvision.transforms import v2  # noqa: E402
from torchvision.transforms.v2 import functional as F  # noqa: E402

VOC_DETECTION = torchvision.datasets.VOCDetection
CLASSES = ("ear", "wheat", "leaf")
VOC = A.BboxParams(format="pascal_voc", label_fields=["labels"])


def boxed(*steps, params=VOC):
    return A.Compose([*steps, ToTensorV2()], bbox_params=params)


def floats(*front):
    return v2.Compose([*front, v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Pictures, and their boxes as XML, as YOLO's texts, as a table, and as masks of their objects. The fourth has none."""
    at, rng = tmp_path_factory.mktemp("boxed"), np.random.default_rng(17)
    for below in ("images", "xml", "yolo", "masks"):
        (at / below).mkdir()
    table = []
    for i, (w, h) in enumerate(SIZES):
        Image.fromarray(picture(rng, w, h)).save(at / "images" / f"{i}.png")
        mask, objects, lines = np.zeros((h, w), np.uint8), "", ""
        for k in range(0 if i == 3 else 1 + i % 3):
            x, y = 3 + 5 * k, 2 + 4 * k
            x2, y2 = x + 11 + 2 * k, y + 9 + k
            name = CLASSES[(i + k) % 3]
            mask[y:y2, x:x2] = k + 1
            mask[y + 2:y + 4, x + 1:x + 5] = 0
            objects += f"<object><name>{name}</name><bndbox><xmin>{x}</xmin><ymin>{y}</ymin><xmax>{x2}</xmax><ymax>{y2}</ymax></bndbox></object>"
            lines += f"{(i + k) % 3} {(x + x2) / 2 / w:.6f} {(y + y2) / 2 / h:.6f} {(x2 - x) / w:.6f} {(y2 - y) / h:.6f}\n"
            table.append({"image": f"{i}.png", "bbox": [x, y, x2 - x, y2 - y], "label": (i + k) % 3, "eye": [x + 1.5, y + 2.25]})
        Image.fromarray(mask).save(at / "masks" / f"{i}.png")
        (at / "xml" / f"{i}.xml").write_text(f"<annotation><size><width>{w}</width><height>{h}</height></size>{objects}</annotation>")
        (at / "yolo" / f"{i}.txt").write_text(lines)
    voc(at)
    (at / "coco").mkdir()
    coco(at / "coco")
    for name in os.listdir(at / "coco"):
        os.rename(at / "coco" / name, at / name)
    (at / "table.json").write_text(json.dumps(table))
    return at


class Own(Dataset):
    def __init__(self, root, transform=None):
        self.root, self.transform = str(root), transform
        self.names = sorted(os.listdir(os.path.join(self.root, "images")))
        self.table = json.loads(open(os.path.join(self.root, "table.json")).read())

    def __len__(self):
        return len(self.names)


class OfXml(Own):
    def __getitem__(self, idx):
        name = self.names[idx]
        image = cv2.imread(os.path.join(self.root, "images", name))
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
        boxes, labels = [], []
        for one in ET.parse(os.path.join(self.root, "xml", name[:-4] + ".xml")).getroot().findall("object"):
            labels.append(CLASSES.index(one.find("name").text))
            boxes.append([float(one.find("bndbox").find(side).text) for side in ("xmin", "ymin", "xmax", "ymax")])
        if self.transform:
            transformed = self.transform(image=image, bboxes=boxes, labels=labels)
            image, boxes, labels = transformed["image"], transformed["bboxes"], transformed["labels"]
        target = {"boxes": torch.as_tensor(boxes, dtype=torch.float32).reshape(-1, 4), "labels": torch.as_tensor(labels, dtype=torch.int64), "image_id": torch.tensor([idx])}
        return image, target


class OfTexts(Own):
    """YOLO's, with classes in front of the numbers."""

    def __getitem__(self, i):
        image = np.array(Image.open(os.path.join(self.root, "images", self.names[i])).convert("RGB"))
        rows = np.loadtxt(os.path.join(self.root, "yolo", self.names[i].replace(".png", ".txt")), ndmin=2).reshape(-1, 5)
        out = self.transform(image=image, bboxes=rows[:, 1:], class_labels=rows[:, 0])
        n = len(out["bboxes"])
        targets = torch.zeros((n, 6))
        if n:
            targets[:, 1] = torch.tensor(out["class_labels"])
            targets[:, 2:] = torch.tensor(np.array(out["bboxes"]))
        return out["image"] / 255, targets


class OfPixels(Own):
    """YOLO's numbers in pixels, for which the picture's size is asked."""

    def __getitem__(self, i):
        image = Image.open(os.path.join(self.root, "images", self.names[i])).convert("RGB")
        w, h = image.size
        boxes, labels = [], []
        with open(os.path.join(self.root, "yolo", self.names[i].replace(".png", ".txt"))) as file:
            for line in file:
                c, x, y, bw, bh = map(float, line.split())
                boxes.append([(x - bw / 2) * w, (y - bh / 2) * h, (x + bw / 2) * w, (y + bh / 2) * h])
                labels.append(int(c))
        target = {"boxes": tv_tensors.BoundingBoxes(torch.tensor(boxes, dtype=torch.float32).reshape(-1, 4), format="XYXY", canvas_size=(h, w)), "labels": torch.tensor(labels, dtype=torch.int64)}
        if self.transform is not None:
            image, target = self.transform(image, target)
        return image, target


class Wheat(Own):
    """A table of numbers, a dict with all of it, and a target that is there before it goes through."""

    def __getitem__(self, index: int):
        image_id = self.names[index]
        records = [one for one in self.table if one["image"] == image_id]
        image = cv2.imread(f"{self.root}/images/{image_id}", cv2.IMREAD_COLOR)
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB).astype(np.float32)
        image /= 255.0
        boxes = np.array([one["bbox"] for one in records], dtype=np.float64).reshape(-1, 4)
        boxes[:, 2] = boxes[:, 0] + boxes[:, 2]
        boxes[:, 3] = boxes[:, 1] + boxes[:, 3]
        area = (boxes[:, 3] - boxes[:, 1]) * (boxes[:, 2] - boxes[:, 0])
        area = torch.as_tensor(area, dtype=torch.float32)
        labels = torch.ones((len(records),), dtype=torch.int64)
        target = {}
        target["boxes"] = boxes
        target["labels"] = labels
        target["image_id"] = torch.tensor([index])
        target["area"] = area
        if self.transform:
            sample = {"image": image, "bboxes": target["boxes"], "labels": [1] * len(labels)}
            sample = self.transform(**sample)
            image = sample["image"]
            target["boxes"] = torch.tensor([list(one) for one in sample["bboxes"]], dtype=torch.float32).reshape(-1, 4)
        return image, target, image_id


class PennFudan(Own):
    """torchvision's tutorial: boxes of masks."""

    def __getitem__(self, idx):
        img_path = os.path.join(self.root, "images", self.names[idx])
        mask_path = os.path.join(self.root, "masks", self.names[idx])
        img = read_image(img_path)
        mask = read_image(mask_path)
        obj_ids = torch.unique(mask)
        obj_ids = obj_ids[1:]
        num_objs = len(obj_ids)
        masks = (mask == obj_ids[:, None, None]).to(dtype=torch.uint8)
        boxes = masks_to_boxes(masks)
        labels = torch.ones((num_objs,), dtype=torch.int64)
        image_id = idx
        area = (boxes[:, 3] - boxes[:, 1]) * (boxes[:, 2] - boxes[:, 0])
        iscrowd = torch.zeros((num_objs,), dtype=torch.int64)
        img = tv_tensors.Image(img)
        target = {}
        target["boxes"] = tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=F.get_size(img))
        target["masks"] = tv_tensors.Mask(masks)
        target["labels"] = labels
        target["image_id"] = image_id
        target["area"] = area
        target["iscrowd"] = iscrowd
        if self.transform is not None:
            img, target = self.transform(img, target)
        return img, target


class InADict(Own):
    """A dict through the transform, boxes of COCO's form, labels of texts beside it."""

    def __getitem__(self, i):
        rows = [one for one in self.table if one["image"] == self.names[i]]
        image = Image.open(os.path.join(self.root, "images", self.names[i])).convert("RGB")
        boxes = tv_tensors.BoundingBoxes(torch.tensor([one["bbox"] for one in rows], dtype=torch.float32).reshape(-1, 4), format="XYWH", canvas_size=(image.height, image.width))
        sample = {"image": image, "boxes": boxes, "labels": torch.tensor([one["label"] for one in rows]), "names": [CLASSES[one["label"]] for one in rows]}
        return self.transform(sample)


class Words(Own):
    """Labels of texts and of numbers, and a fifth number in each box."""

    def __getitem__(self, i):
        rows = [one for one in self.table if one["image"] == self.names[i]]
        image = np.asarray(Image.open(os.path.join(self.root, "images", self.names[i])).convert("RGB"))
        sample = self.transform(image=image, bboxes=[(*one["bbox"], 7) for one in rows], words=[CLASSES[one["label"]] for one in rows], numbers=[one["label"] for one in rows], name=self.names[i])
        return {"image": sample["image"], "boxes": sample["bboxes"], "words": sample["words"], "numbers": sample["numbers"], "name": sample["name"]}


class Eyes(Own):
    def __getitem__(self, i):
        rows = [one for one in self.table if one["image"] == self.names[i]]
        image = np.array(Image.open(os.path.join(self.root, "images", self.names[i])).convert("RGB"))
        out = self.transform(image=image, keypoints=np.array([one["eye"] for one in rows], np.float32).reshape(-1, 2), which=[one["label"] for one in rows])
        return out["image"], torch.tensor(np.array(out["keypoints"])).reshape(-1, 2), out["which"]


class Held(Own):
    """A condition that holds of some samples, and two transforms, one behind the other."""

    def __init__(self, root, transform, more=None):
        super().__init__(root, transform)
        self.more = more

    def __getitem__(self, i):
        rows = [one for one in self.table if one["image"] == self.names[i]]
        image = Image.open(os.path.join(self.root, "images", self.names[i])).convert("RGB")
        boxes = tv_tensors.BoundingBoxes(torch.tensor([one["bbox"] for one in rows], dtype=torch.float32).reshape(-1, 4), format="XYWH", canvas_size=image.size[::-1])
        if self.transform is not None and len(boxes) >= 0:
            image, boxes = self.transform(image, boxes)
        image, boxes = self.more(image, boxes)
        return image, boxes


class Coco(COCO):
    """torchvision's, whose pictures and annotations go on."""

    def __getitem__(self, idx):
        image, annotations = super().__getitem__(idx)
        target = {"image_id": self.ids[idx], "boxes": tv_tensors.BoundingBoxes(torch.tensor([one["bbox"] for one in annotations], dtype=torch.float32).reshape(-1, 4), format="XYWH", canvas_size=(image.height, image.width)),
                  "labels": torch.tensor([one["category_id"] for one in annotations], dtype=torch.int64)}
        if self.aug is not None:
            image, target = self.aug(image, target)
        return image, target


def coco_of(root, transform):
    dataset = Coco.__new__(Coco)
    torchvision.datasets.VisionDataset.__init__(dataset, str(root), None)
    dataset.coco, dataset.aug = Annotations(root / "instances.json"), transform
    dataset.ids = sorted(dataset.coco.imgs)
    return dataset


class Boxer:
    """A transform of one's own around albumentations'."""

    def __init__(self, inside):
        self.inside = inside

    def __call__(self, picture, boxes, labels):
        high, wide = 48, 56
        picture = np.array(picture)
        out = self.inside(image=picture, bboxes=boxes, labels=labels)
        shares = torch.tensor(out["bboxes"], dtype=torch.float32).reshape(-1, 4) / torch.tensor([wide, high, wide, high])
        return {"pixels": out["image"]}, shares, out["labels"]


class Wrapped(Own):
    def __getitem__(self, i):
        rows = [one for one in self.table if one["image"] == self.names[i]]
        image = Image.open(os.path.join(self.root, "images", self.names[i])).convert("RGB")
        pixels, boxes, labels = self.transform(image, [one["bbox"] for one in rows], labels=[one["label"] for one in rows])
        return {**pixels, "boxes": boxes, "labels": labels, "count": len(rows)}


class ByAMethod(Own):
    """A method that calls a transform of v2's, whose picture is Pillow's at the end."""

    def apply(self, image, target, more):
        target["seen"] = True
        image, target = self.transform(image, target)
        return image, target

    def __getitem__(self, i):
        rows = [one for one in self.table if one["image"] == self.names[i]]
        image = Image.open(os.path.join(self.root, "images", self.names[i])).convert("RGB")
        boxes = tv_tensors.BoundingBoxes(torch.tensor([one["bbox"] for one in rows], dtype=torch.float32).reshape(-1, 4), format="XYWH", canvas_size=image.size[::-1])
        image, target = self.apply(image, {"boxes": boxes}, i)
        return F.pil_to_tensor(image), target


class ByHand(Own):
    """A picture that is resized by hand, and boxes and points of what that makes."""

    def __getitem__(self, i):
        rows = [one for one in self.table if one["image"] == self.names[i]]
        there = False
        while not there:
            try:
                image = cv2.imread(os.path.join(self.root, "images", self.names[i]))
                there = True
            except OSError as error:
                print(error)
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
        high, wide, _ = image.shape
        image = cv2.resize(image, (60, 50))
        boxes = np.array([one["bbox"] for one in rows], float).reshape(-1, 4) * [60 / wide, 50 / high, 60 / wide, 50 / high]
        out = self.transform(image=image, bboxes=boxes, words=[CLASSES[one["label"]] for one in rows], numbers=[one["label"] for one in rows])
        return out["image"], out["bboxes"], out["words"]


class Loading(Own):
    """A method that returns a picture with its boxes, and how large it is."""

    def load(self, i, scale):
        rows = [one for one in self.table if one["image"] == self.names[i]]
        image = Image.open(os.path.join(self.root, "images", self.names[i])).convert("RGB")
        size = image.size
        return [one["label"] for one in rows], image, torch.tensor([one["bbox"] for one in rows], dtype=torch.float32).reshape(-1, 4) * scale, size

    def __getitem__(self, i):
        labels, image, boxes, size = self.load(i, scale=1)
        target = {"boxes": tv_tensors.BoundingBoxes(boxes, format="XYWH", canvas_size=F.get_size(image)), "labels": torch.tensor(labels, dtype=torch.int64), "size": size}
        return self.transform(image, target)


class Voc(VOC_DETECTION):
    def __getitem__(self, index):
        img, annotation = super().__getitem__(index)
        objects = annotation["annotation"]["object"]
        boxes = [[float(one["bndbox"][side]) for side in ("xmin", "ymin", "xmax", "ymax")] for one in objects]
        target = {"boxes": tv_tensors.BoundingBoxes(torch.tensor(boxes), format="XYXY", canvas_size=img.size[::-1]), "labels": torch.tensor([len(one["name"]) for one in objects])}
        img, target = self.augment(img, target)
        return img, target


def voc_of(root, transform):
    dataset = Voc(str(root), "2012", "train")
    dataset.augment = transform
    return dataset


class Behind(Own):
    """Conditions of each sample, and transforms of its picture alone, behind the call."""

    def __init__(self, root, transform):
        super().__init__(root, transform)
        self.dark, self.padded = v2.ColorJitter(brightness=(0.5, 0.5)), v2.Pad(2)

    def __getitem__(self, i):
        rows = [one for one in self.table if one["image"] == self.names[i]]
        image = Image.open(os.path.join(self.root, "images", self.names[i])).convert("RGB")
        sample = {"image": image, "boxes": tv_tensors.BoundingBoxes(torch.tensor([one["bbox"] for one in rows], dtype=torch.float32).reshape(-1, 4), format="XYWH", canvas_size=(image.height, image.width))}
        if self.transform is not None:
            sample = self.transform(sample)
        image, boxes = sample["image"], sample["boxes"]
        if len(boxes) > 1:
            image = self.dark(image)
        elif len(boxes) == 0:
            image, boxes = self.padded(image), boxes + 2
        for _ in range(2):
            boxes = boxes * 2
        return image, boxes


class Chosen(Own):
    """A transform that a condition chooses."""

    train = True

    def __getitem__(self, i):
        rows = [one for one in self.table if one["image"] == self.names[i]]
        image = np.array(Image.open(os.path.join(self.root, "images", self.names[i])).convert("RGB"))
        augment = self.transform if self.train else None
        out = augment(image=image, bboxes=[one["bbox"] for one in rows], words=[one["label"] for one in rows], numbers=[one["label"] for one in rows])
        return out["image"], out["bboxes"]


class Plain(Own):
    """Pictures that a transform has alone, of sizes of their own, and boxes beside them."""

    def __getitem__(self, i):
        rows = [one for one in self.table if one["image"] == self.names[i]]
        image = Image.open(os.path.join(self.root, "images", self.names[i])).convert("RGB")
        width, height = image.size
        target = {"boxes": torch.tensor([one["bbox"] for one in rows], dtype=torch.float32).reshape(-1, 4), "area": width * height}
        if self.transform:
            image = self.transform(image)
        return image, target


class Edges(Own):
    """Points at the edges of a picture."""

    def __getitem__(self, i):
        image = np.array(Image.open(os.path.join(self.root, "images", self.names[i])).convert("RGB"))
        high, wide, _ = image.shape
        points = [(0, 0), (0.5, 3), (wide - 1, high - 1), (wide - 0.25, 4), (5, high - 0.5), (3, high - 1)]
        out = self.transform(image=image, keypoints=points, which=list("abcdef"))
        return out["image"], out["keypoints"], out["which"]


YOLO = A.BboxParams(format="yolo", label_fields=["class_labels"])
WORDS = A.BboxParams(format="coco", label_fields=["words", "numbers"], min_visibility=0.3)
CASES = {
    "XML, flipped": (OfXml, boxed(A.Resize(48, 56), A.HorizontalFlip(p=1), A.Normalize())),
    "XML, cropped": (OfXml, boxed(A.Resize(48, 56), A.CenterCrop(24, 20), params=A.BboxParams(format="pascal_voc", label_fields=["labels"], min_visibility=0.4))),
    "XML, bytes of their own size": (OfXml, boxed(A.VerticalFlip(p=1))),
    "YOLO's texts": (OfTexts, boxed(A.Resize(40, 40), A.VerticalFlip(p=1), params=YOLO)),
    "YOLO's texts, letterboxed": (OfTexts, boxed(A.LongestMaxSize(64), A.PadIfNeeded(64, 64, border_mode=0, fill=114), params=YOLO)),
    "in pixels": (OfPixels, floats(v2.RandomHorizontalFlip(1), v2.Resize((40, 48)))),
    "in pixels, sanitized": (OfPixels, floats(v2.Resize((40, 48)), v2.CenterCrop(26), v2.ClampBoundingBoxes(), v2.SanitizeBoundingBoxes(min_size=3))),
    "in pixels, of middles": (OfPixels, floats(v2.Resize(40, max_size=90), v2.ConvertBoundingBoxFormat("CXCYWH"))),
    "in pixels, plain": (OfPixels, v2.Compose([v2.Resize((40, 48)), v2.ToImage(), v2.ToPureTensor()])),
    "a table": (Wheat, boxed(A.HorizontalFlip(p=1), A.VerticalFlip(p=1))),
    "masks": (PennFudan, v2.Compose([v2.RandomHorizontalFlip(1), v2.ToDtype(torch.float, scale=True), v2.ToPureTensor()])),
    "masks, cropped": (PennFudan, v2.Compose([v2.Resize((60, 70)), v2.CenterCrop(40), v2.ToDtype(torch.float, scale=True), v2.ClampBoundingBoxes(), v2.SanitizeBoundingBoxes()])),
    "a dict": (InADict, floats(v2.Resize((40, 48)), v2.RandomVerticalFlip(1))),
    "words": (Words, boxed(A.Resize(50, 50), A.CenterCrop(16, 16), params=WORDS)),
    "one behind the other": (lambda root, transform: Held(root, transform, floats(v2.RandomHorizontalFlip(1))), v2.Compose([v2.Resize((40, 48))])),
    "torchvision's own below": (lambda root, transform: coco_of(root, transform), floats(v2.RandomVerticalFlip(1), v2.Resize((40, 48)))),
    "a transform of its own": (Wrapped, Boxer(A.Compose([A.Resize(48, 56), A.HorizontalFlip(p=1), ToTensorV2()], bbox_params=A.BboxParams(format="coco", label_fields=["labels"])))),
    "a method, and pictures of Pillow": (ByAMethod, v2.Compose([v2.Resize((40, 48)), v2.RandomHorizontalFlip(1)])),
    "a method that returns all": (Loading, floats(v2.RandomHorizontalFlip(1), v2.Resize((33, 40)))),
    "torchvision's VOC below": (voc_of, floats(v2.RandomHorizontalFlip(1), v2.Resize((33, 40)))),
    "a transform of several": (Chosen, boxed(A.Resize(30, 40), A.VerticalFlip(p=1), params=A.BboxParams(format="coco", label_fields=["words", "numbers"]))),
    "conditions behind": (Behind, floats(v2.Resize((33, 40)))),
    "resized by hand": (ByHand, boxed(A.VerticalFlip(p=1), A.CenterCrop(40, 44), params=A.BboxParams(format="coco", label_fields=["words", "numbers"]))),
    "pictures alone": (Plain, T.ToTensor()),
    "points": (Eyes, A.Compose([A.CenterCrop(28, 30), ToTensorV2()], keypoint_params=A.KeypointParams(format="xy", label_fields=["which"]))),
    "points, flipped": (Eyes, A.Compose([A.HorizontalFlip(p=1), A.VerticalFlip(p=1), ToTensorV2()], keypoint_params=A.KeypointParams(format="xy", label_fields=["which"]))),
    "points, resized and turned": (Eyes, A.Compose([A.Resize(40, 40), A.Transpose(p=1), A.HorizontalFlip(p=1), A.RandomBrightnessContrast(p=0), A.CenterCrop(30, 28), ToTensorV2()], keypoint_params=A.KeypointParams(format="xy", label_fields=["which"]))),
    "points, flipped and resized": (Eyes, A.Compose([A.HorizontalFlip(p=1), A.Transpose(p=1), A.Resize(40, 50), A.CenterCrop(30, 28), ToTensorV2()], keypoint_params=A.KeypointParams(format="xy", label_fields=["which"]))),
    "points at the edges": (Edges, A.Compose([A.HorizontalFlip(p=1), ToTensorV2()], keypoint_params=A.KeypointParams(format="xy", label_fields=["which"]))),
    "points that stay, flipped": (Edges, A.Compose([A.VerticalFlip(p=1), ToTensorV2()], keypoint_params=A.KeypointParams(format="xy", label_fields=["which"], remove_invisible=False))),
    "points that stay": (Eyes, A.Compose([A.CenterCrop(28, 30), ToTensorV2()], keypoint_params=A.KeypointParams(format="xy", label_fields=["which"], remove_invisible=False))),
}


def same(ours, theirs, within=1e-3):
    """Whether two samples are one: pictures, labels and masks to the bit, boxes and points but for a thousandth of a pixel."""
    assert type(ours) is type(theirs), (type(ours), type(theirs))
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key in theirs:
            same(ours[key], theirs[key], within)
    elif isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs):
            same(one, other, within)
    elif isinstance(theirs, (torch.Tensor, np.ndarray)):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        for name in ("format", "canvas_size"):
            assert getattr(ours, name, None) == getattr(theirs, name, None)
        one, other = np.asarray(ours), np.asarray(theirs)
        if (theirs.ndim in (1, 2) or theirs.shape[-1] == 4) and theirs.dtype in (torch.float32, torch.float64, np.float32, np.float64):
            np.testing.assert_allclose(one, other, atol=within, rtol=0)
        else:
            np.testing.assert_allclose(one, other, atol=1e-6, rtol=0)  # v2 multiplies by 1/255, and we divide
    elif isinstance(theirs, float):
        assert abs(ours - theirs) < within
    else:
        assert ours == theirs


@pytest.mark.parametrize("name", CASES)
def test_samples_are_torchs(root, name):
    """Of the data sets above, in two epochs: what a sample has is its own each time."""
    cls, transform = CASES[name]
    dataset = cls(root, transform)
    with spdl.DataLoader(dataset, batch_size=3, collate_fn=zipped if not isinstance(dataset[0], dict) else list, copy=True) as loader:
        for _ in range(2):
            batches = list(loader)
            theirs = list(torch.utils.data.DataLoader(dataset, batch_size=3, collate_fn=loader_collate(dataset)))
            assert len(loader) == len(theirs) == 3
            same(batches, theirs)


def loader_collate(dataset):
    return zipped if not isinstance(dataset[0], dict) else list


def test_batches_without_a_collate_fn_are_torchs(root):
    dataset = Subset(OfXml(root, boxed(A.Resize(48, 56), A.Normalize())), [4, 1])  # of as many boxes each, as torch's own collate wants
    with spdl.DataLoader(dataset, batch_size=3, copy=True) as loader, spdl.DataLoader(dataset, batch_size=3, tensors="numpy") as numpys:
        (ours,), (theirs,) = list(loader), list(torch.utils.data.DataLoader(dataset, batch_size=3))
        ((images, target),) = list(numpys)
    same(ours, theirs)
    assert isinstance(images, np.ndarray) and isinstance(target["boxes"], np.ndarray)
    np.testing.assert_array_equal(images, ours[0].numpy())


def test_joined_ones_are_shuffled_and_a_state_goes_on(root):
    parts = [Subset(Wheat(root, boxed(A.HorizontalFlip(p=1))), indices) for indices in ([5, 0, 2], [1, 6])]
    dataset = ConcatDataset(parts)
    generator = torch.Generator().manual_seed(3)
    with spdl.DataLoader(dataset, batch_size=2, shuffle=True, generator=generator, collate_fn=list, copy=True) as loader:
        samples, states = [], []
        for batch in loader:
            samples += batch
            states.append(loader.state_dict())
    theirs = {one[2]: one for one in (dataset[i] for i in range(len(dataset)))}
    assert sorted(one[2] for one in samples) == sorted(theirs)
    for one in samples:
        same(one, theirs[one[2]])
    with spdl.DataLoader(dataset, batch_size=2, shuffle=True, generator=torch.Generator().manual_seed(3), collate_fn=list, copy=True, state=states[0]) as loader:
        same([one for batch in loader for one in batch], samples[2:])


class Painted(Own):
    """White boxes on black pictures."""

    def __getitem__(self, i):
        image = Image.open(os.path.join(self.root, f"{i}.png")).convert("RGB")
        boxes = tv_tensors.BoundingBoxes(torch.tensor([[8.0 + i, 6.0, 20.0 + i, 30.0]]), format="XYXY", canvas_size=(48, 64))
        image, target = self.transform(image, {"boxes": boxes, "labels": torch.tensor([i])})
        return image, target


def test_boxes_follow_what_is_drawn(root, tmp_path):
    """Of random flips and crops each sample has its own, and its boxes have them, too."""
    for i in range(7):
        pixels = np.zeros((48, 64, 3), np.uint8)
        pixels[6:30, 8 + i:20 + i] = 255
        Image.fromarray(pixels).save(tmp_path / f"{i}.png")
    dataset = Painted(root, floats(v2.RandomHorizontalFlip(0.5), v2.RandomVerticalFlip(0.5), v2.RandomCrop(44)))
    dataset.root = str(tmp_path)
    places = set()
    with spdl.DataLoader(dataset, batch_size=7, collate_fn=zipped) as loader:
        for _ in range(5):
            for images, targets in loader:
                for image, target in zip(images, targets):
                    x1, y1, x2, y2 = (int(v) for v in target["boxes"][0])
                    white = torch.zeros(44, 44)
                    white[y1:y2, x1:x2] = 1
                    assert torch.equal(white, image[0])
                    places.add((int(target["labels"]), x1, y1))
    assert len(places) > 20


def test_what_a_program_does_to_a_sample_is_of_this_one_alone(root):
    """Targets, and what code had before the transform, are new in each epoch."""
    dataset = Wheat(root, boxed(A.HorizontalFlip(p=1)))
    with spdl.DataLoader(dataset, batch_size=7, collate_fn=zipped) as loader:
        for _ in range(2):
            for _, targets, _ in loader:
                assert targets[1]["labels"].tolist() == [1, 1]
                for target in targets:
                    target["labels"] += 1
                    target["area"].zero_()


# ---- refused


class Scaled(Own):
    def __getitem__(self, i):
        image = np.array(Image.open(os.path.join(self.root, "images", self.names[i])).convert("RGB")).astype(np.float32) / 255
        out = self.transform(image=image, bboxes=[[1, 2, 9, 9]], labels=[1])
        return out["image"], out["bboxes"]


class Sometimes(Own):
    def __getitem__(self, i):
        image = np.array(Image.open(os.path.join(self.root, "images", self.names[i])).convert("RGB"))
        rows = [one["bbox"] for one in self.table if one["image"] == self.names[i]]
        if self.transform and len(rows) > 0:
            out = self.transform(image=image, bboxes=rows, labels=[0] * len(rows))
            image, rows = out["image"], out["bboxes"]
        return image, rows


class Twice(Own):
    def __getitem__(self, i):
        image = np.array(Image.open(os.path.join(self.root, "images", self.names[i])).convert("RGB"))
        out = self.transform(image=image, bboxes=[[1, 2, 9, 9]], labels=[1])
        out = self.transform(image=out["image"], bboxes=out["bboxes"], labels=out["labels"])
        return out["image"], out["bboxes"]


class Looks(Own):
    def __getitem__(self, i):
        image = Image.open(os.path.join(self.root, "images", self.names[i])).convert("RGB")
        dark = np.mean(image)
        image, target = self.transform(image, {"boxes": tv_tensors.BoundingBoxes(torch.tensor([[1.0, 2, 9, 9]]), format="XYXY", canvas_size=(30, 30)), "dark": dark})
        return image, target


class Original(Own):
    def __getitem__(self, i):
        image = np.array(Image.open(os.path.join(self.root, "images", self.names[i])).convert("RGB"))
        out = self.transform(image=image, bboxes=[[1, 2, 9, 9]], labels=[1])
        return out["image"], out["bboxes"], image


class Ahead(Own):
    def __init__(self, root, transform, ahead):
        super().__init__(root, transform)
        self.ahead = ahead

    def __getitem__(self, i):
        image = Image.open(os.path.join(self.root, "images", self.names[i])).convert("RGB")
        image = self.ahead(image)
        image, boxes = self.transform(image, tv_tensors.BoundingBoxes(torch.tensor([[1.0, 2, 9, 9]]), format="XYXY", canvas_size=(30, 30)))
        return image, boxes


class Halved(Own):
    """PennFudan's, resized by hand."""

    def __getitem__(self, i):
        image = Image.open(os.path.join(self.root, "images", self.names[i])).convert("RGB").resize((30, 30))
        target = {"boxes": tv_tensors.BoundingBoxes(torch.tensor([[1.0, 2, 9, 9]]), format="XYXY", canvas_size=(30, 30)), "masks": tv_tensors.Mask(torch.ones(1, 30, 30))}
        image, target = self.transform(image, target)
        return image, target


class Drawn(Own):
    def __getitem__(self, i):
        image = np.array(Image.open(os.path.join(self.root, "images", self.names[i])).convert("RGB"))
        out = self.transform(image=image, bboxes=[[1, 2, 9, 9 + np.random.randint(9)]], labels=[1])
        return out["image"], out["bboxes"]


class Other(Own):
    def __getitem__(self, i):
        image = np.array(Image.open(os.path.join(self.root, "images", self.names[i])).convert("RGB"))
        augment = self.transform
        if i > 2:
            augment = A.NoOp()
        out = augment(image=image, bboxes=[[1, 2, 9, 9]], labels=[1])
        return out["image"], out["bboxes"]


class Map(Own):
    def __getitem__(self, i):
        image = np.array(Image.open(os.path.join(self.root, "images", self.names[i])).convert("RGB"))
        mask = np.array(Image.open(os.path.join(self.root, "masks", self.names[i])))
        out = self.transform(image=image, mask=mask, bboxes=[[1, 2, 9, 9]], labels=[1])
        return out["image"], out["bboxes"]


class Given(Own):
    """What a test says goes through v2's, BoundingBoxes among it."""

    def __init__(self, root, transform, target):
        super().__init__(root, transform)
        self.target = target

    def __getitem__(self, i):
        image = Image.open(os.path.join(self.root, "images", self.names[i])).convert("RGB")
        image, target = self.transform(image, self.target)
        return image, target


def bounding(*rows, **said):
    return tv_tensors.BoundingBoxes(torch.tensor(rows or [[1.0, 2, 9, 9]]), **{"format": "XYXY", "canvas_size": (30, 30), **said})


FLIPPED, RESIZED = boxed(A.HorizontalFlip(p=1)), floats(v2.Resize((30, 30)))
REFUSALS = {
    "numbers of floats": (lambda root: Scaled(root, boxed(A.Resize(30, 30))), r"numbers are changed ahead of it, and resize computes with them, want bytes in front, and A.ToFloat\(255\)"),
    "a condition": (lambda root: Sometimes(root, FLIPPED), r"Sometimes\[3\]: .*test_own_boxes.py:\d+: 'len\(rows\) > 0' does not hold of it, want it to hold of all samples"),
    "two transforms": (lambda root: Twice(root, FLIPPED), r"test_own_boxes.py:\d+: got .*, a second transform of a picture and what lies in it, want one: Compose"),
    "pixels": (lambda root: Looks(root, RESIZED), r"test_own_boxes.py:\d+: got .*, which looks at the picture beside it, want it to find a picture and its boxes"),
    "the original": (lambda root: Original(root, FLIPPED), r"'image' behind what opens the picture, which has it no more"),
    "moved ahead": (lambda root: Ahead(root, RESIZED, v2.RandomHorizontalFlip(1)), r"RandomHorizontalFlip\(p=1\): moves a picture ahead of the transform that it goes through with what lies in it, want it in that"),
    "resized beside masks": (lambda root: Halved(root, floats()), r"resizes its picture beside masks ahead of the transform, want the resize among the transforms"),
    "a draw": (lambda root: Drawn(root, FLIPPED), r"its code draws numbers"),
    "one of two transforms": (lambda root: Other(root, FLIPPED), r"test_own_boxes.py:\d+: got .*augment\(image=image, bboxes="),
    "a map": (lambda root: Map(root, FLIPPED), r"Map\[0\]: gives transform mask= beside boxes or points, want none, or masks of objects by torchvision's v2"),
    "no bbox_params": (lambda root: Words(root, A.Compose([A.HorizontalFlip(p=1), ToTensorV2()])), r"Words\[0\]: gives transform bboxes, and it has no bbox_params, want both"),
    "no boxes": (lambda root: Eyes(root, A.Compose([ToTensorV2()], bbox_params=VOC, keypoint_params=A.KeypointParams(format="xy"))), r"Eyes\[0\]: gives transform no bboxes, and it has bbox_params, want both"),
    "other labels": (lambda root: OfXml(root, boxed(A.HorizontalFlip(p=1), params=A.BboxParams(format="pascal_voc", label_fields=["classes"]))), r"OfXml\[\d\]: ValueError: Your 'label_fields' are not valid"),
    "whole numbers": (lambda root: Given(root, RESIZED, bounding([1, 2, 9, 9])), r"Given\[0\]: has BoundingBoxes of torch.int64, which torch cuts to whole numbers after each transform, want dtype=torch.float32"),
    "turned boxes": (lambda root: Given(root, RESIZED, bounding([1.0, 2, 9, 9, 30], format="XYWHR")), r"Given\[0\]: has boxes of format XYWHR, want XYXY, XYWH, CXCYWH"),
    "no numbers": (lambda root: Given(root, RESIZED, bounding([1.0, float("nan"), 9, 9])), r"Given\[0\]: has boxes with numbers that are none"),
    "two of boxes": (lambda root: Given(root, RESIZED, {"a": bounding(), "b": bounding()}), r"Given\[0\]: gives its transform 2 BoundingBoxes, 0 Mask beside the picture, want one"),
    "another picture": (lambda root: Given(root, RESIZED, {"a": bounding(), "b": tv_tensors.Image(torch.zeros(3, 4, 4))}), r"gives its transform 1 BoundingBoxes, 0 Mask, Image beside the picture"),
    "a map of v2": (lambda root: Given(root, RESIZED, {"a": bounding(), "m": tv_tensors.Mask(torch.zeros(30, 30))}), r"has a Mask of shape \[30, 30\] beside 1 boxes, want \[1, H, W\]"),
    "grey masks": (lambda root: Given(root, RESIZED, {"a": bounding(), "m": tv_tensors.Mask(torch.full((1, 30, 30), 255, dtype=torch.uint8))}), r"has a Mask with 255 in it, want 0 and 1"),
    "labels of others": (lambda root: Given(root, RESIZED, {"boxes": bounding(), "labels": torch.zeros(3)}), r"has 1 boxes and 3 labels, want as many"),
}


@pytest.mark.parametrize("make, message", REFUSALS.values(), ids=REFUSALS)
def test_what_else_is_done_is_refused(root, make, message):
    with pytest.raises(spdl.SpdlError, match=message):
        spdl.DataLoader(make(root), batch_size=2, collate_fn=list)


def test_sizes_of_their_own_want_a_collate_fn_and_fields_are_refused(root):
    with pytest.raises(spdl.SpdlError, match="leaves the size of each picture open"):
        spdl.DataLoader(OfXml(root, FLIPPED), batch_size=2)
    with pytest.raises(spdl.SpdlError, match="fields=.* beside a data set whose samples are what its __getitem__ returns"):
        spdl.DataLoader(OfXml(root, boxed(A.Resize(30, 30))), batch_size=2, fields=("image",))


def test_the_pages_block_runs(root, tmp_path, monkeypatch):
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/own-datasets.md").read_text(encoding="utf-8")
    block = page.split("## Boxes and points of your own")[1].split("```")[1].removeprefix("python")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "images").symlink_to(root / "images")
    said = [{"file": f"{i}.png", "boxes": [[1 + k, 2, 20, 24] for k in range(i)], "labels": list(range(i))} for i in range(6)]
    (tmp_path / "boxes.json").write_text(json.dumps(said))
    (tmp_path / "script.py").write_text(block)
    seen = []
    script = {"train": lambda images, targets: seen.extend((image.shape, target["boxes"].shape, target["labels"].tolist()) for image, target in zip(images, targets)), "__name__": "script"}
    exec(compile(block, str(tmp_path / "script.py"), "exec"), script)
    script["loader"].close()
    assert sorted(seen, key=lambda one: len(one[2])) == [((3, 256, 256), (n, 4), list(range(n))) for n in range(6)]
