"""Data sets of torchvision's with boxes and masks, made up, and what the comparisons with torch's loops over them share."""

import collections
import json

import numpy as np
import pytest
from PIL import Image

from conftest import picture

torch = pytest.importorskip("torch")
spdl = pytest.importorskip("spdl")
v2 = pytest.importorskip("torchvision.transforms.v2")
datasets = pytest.importorskip("torchvision.datasets")
tv_tensors = pytest.importorskip("torchvision.tv_tensors")

SIZES = [(90, 60), (60, 90), (64, 64), (41, 33), (200, 31), (123, 77), (75, 50)]
COCO = datasets.CocoDetection


def zipped(samples):
    """torchvision's collate_fn for detection."""
    return tuple(zip(*samples))


def loaded(dataset, *args, **kwargs):
    with spdl.DataLoader(dataset, *args, copy=True, **kwargs) as loader:
        return list(loader), len(loader)


def coco(root):
    """Pictures and COCO's annotations of them: of the fourth none."""
    rng = np.random.default_rng(3)
    said = {"images": [], "annotations": [], "categories": [{"id": n, "name": str(n)} for n in range(1, 91)]}
    for i, (w, h) in enumerate(SIZES):
        Image.fromarray(picture(rng, w, h)).save(root / f"{i}.png")
        said["images"].append({"id": 100 - 7 * i, "file_name": f"{i}.png", "width": w, "height": h})
        for _ in range(0 if i == 3 else 1 + i % 3):
            x, y = rng.uniform(0, w - 12), rng.uniform(0, h - 12)
            box = [round(float(v), 2) for v in (x, y, rng.uniform(4, w - x), rng.uniform(4, h - y))]
            said["annotations"].append({"id": len(said["annotations"]) + 1, "image_id": 100 - 7 * i, "bbox": box, "category_id": int(rng.integers(1, 91)), "iscrowd": 0, "area": 9.0})
    (root / "instances.json").write_text(json.dumps(said))
    return root


class Annotations:
    """What pycocotools makes of a file, as far as CocoDetection asks for it."""

    def __init__(self, path):
        said = json.loads(open(path).read())
        self.imgs, self.anns = ({one["id"]: one for one in said[key]} for key in ("images", "annotations"))
        self.imgToAnns = collections.defaultdict(list)
        for one in said["annotations"]:
            self.imgToAnns[one["image_id"]].append(one)

    def loadImgs(self, number):
        return [self.imgs[number]]

    def getAnnIds(self, number):
        return [one["id"] for one in self.imgToAnns[number]]

    def loadAnns(self, numbers):
        return [self.anns[number] for number in numbers]


def detection(root, transforms, some=True, wrap=True, target_keys=None, **said):
    """A CocoDetection, of the pictures alone that have annotations where some says so."""
    dataset = COCO.__new__(COCO)
    datasets.VisionDataset.__init__(dataset, str(root), transforms, **said)
    dataset.coco = Annotations(root / "instances.json")
    dataset.ids = sorted(number for number in dataset.coco.imgs if not some or dataset.coco.imgToAnns[number])
    return datasets.wrap_dataset_for_transforms_v2(dataset, target_keys) if wrap else dataset


def floats(*front):
    return v2.Compose([*front, v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])


def same_targets(ours, theirs, within=1e-3):
    assert list(ours) == list(theirs) and type(ours["boxes"]) is type(theirs["boxes"])
    assert ours["boxes"].shape == theirs["boxes"].shape and ours["boxes"].dtype == torch.float32
    if isinstance(theirs["boxes"], tv_tensors.BoundingBoxes):
        assert ours["boxes"].format == theirs["boxes"].format and ours["boxes"].canvas_size == theirs["boxes"].canvas_size
    assert len(theirs["boxes"]) == 0 or (ours["boxes"].as_subclass(torch.Tensor) - theirs["boxes"].as_subclass(torch.Tensor)).abs().max() <= within
    assert torch.equal(ours["labels"], theirs["labels"]) and ours["labels"].dtype == theirs["labels"].dtype
    assert ours.get("image_id") == theirs.get("image_id") and type(ours.get("image_id")) is type(theirs.get("image_id"))


def voc(root):
    """VOC as it lies on a disk: pictures, boxes and masks."""
    rng = np.random.default_rng(5)
    base = root / "VOCdevkit" / "VOC2012"
    for below in ("ImageSets/Main", "ImageSets/Segmentation", "JPEGImages", "Annotations", "SegmentationClass"):
        (base / below).mkdir(parents=True)
    for i, (w, h) in enumerate(SIZES):
        Image.fromarray(picture(rng, w, h)).save(base / "JPEGImages" / f"p{i}.jpg", quality=95)
        numbers = np.where(rng.random((h, w)) < 0.05, 255, rng.integers(0, 21, (h, w))).astype(np.uint8)
        mask = Image.fromarray(numbers, "P")
        mask.putpalette(list(range(256)) * 3)
        mask.save(base / "SegmentationClass" / f"p{i}.png")
        objects = "".join(f"<object><name>{name}</name><bndbox><xmin>{3 + k}</xmin><ymin>{5 + k}</ymin><xmax>{20 + k}</xmax><ymax>{27 + k}</ymax></bndbox><part><name>hand</name></part></object>"
                          for k, name in enumerate(["person", "tvmonitor", "cat"][:1 + i % 3]))
        (base / "Annotations" / f"p{i}.xml").write_text(f"<annotation><size><width>{w}</width><height>{h}</height></size>{objects}</annotation>")
    for below in ("Main", "Segmentation"):
        (base / "ImageSets" / below / "train.txt").write_text("".join(f"p{i}\n" for i in range(len(SIZES))))
    return root
