"""spdl.DataLoader in the place of torch's on torchvision's data sets of boxes, masks and numbers, and with samplers and a collate_fn: pictures, targets and batches are torch's."""

import gc
import glob
import os
import pathlib
import tempfile

import numpy as np
import pytest
from PIL import Image

from conftest import picture

torch = pytest.importorskip("torch")
spdl = pytest.importorskip("spdl")
v2 = pytest.importorskip("torchvision.transforms.v2")
datasets = pytest.importorskip("torchvision.datasets")
tv_tensors = pytest.importorskip("torchvision.tv_tensors")
from torch.utils.data import BatchSampler, ConcatDataset, DataLoader, DistributedSampler, RandomSampler, SequentialSampler, Subset, WeightedRandomSampler, default_collate  # noqa: E402
from torchvision import transforms as T  # noqa: E402

import annotated  # noqa: E402
from annotated import detection, floats, loaded, same_targets, zipped  # noqa: E402

MASKED = {tv_tensors.Mask: 255, "others": 0}


@pytest.fixture(scope="module")
def coco(tmp_path_factory):
    return annotated.coco(tmp_path_factory.mktemp("coco"))


@pytest.fixture(scope="module")
def voc(tmp_path_factory):
    return annotated.voc(tmp_path_factory.mktemp("voc"))


# ---- boxes


DETECTED = {
    "to a size": lambda: floats(v2.Resize((50, 70)), v2.RandomHorizontalFlip(1)),
    "as tensors": lambda: floats(v2.ToImage(), v2.ColorJitter(saturation=(1.75, 1.75)), v2.Resize((50, 70)), v2.RandomAdjustSharpness(2, 1), v2.RandomHorizontalFlip(1)),
    "cropped, nothing dropped": lambda: floats(v2.Resize(32), v2.CenterCrop((30, 40))),
    "cropped and sanitized": lambda: v2.Compose([floats(v2.Resize(32), v2.CenterCrop((30, 20))), v2.SanitizeBoundingBoxes()]),
    "sanitized by more": lambda: v2.Compose([floats(v2.Resize(32), v2.CenterCrop((30, 20))), v2.ClampBoundingBoxes(), v2.SanitizeBoundingBoxes(min_size=9, min_area=100), v2.RandomVerticalFlip(1)]),
    "plain tensors": lambda: v2.Compose([floats(v2.Resize((40, 40)), v2.Pad(3)), v2.ToPureTensor()]),
    "bytes": lambda: v2.Compose([v2.RandomZoomOut(side_range=(1, 1), p=1), v2.Resize((40, 30)), v2.PILToTensor(), v2.Identity()]),
    "widths": lambda: v2.Compose([floats(v2.Resize((44, 33))), v2.ConvertBoundingBoxFormat("XYWH")]),
    "middles": lambda: v2.Compose([v2.ConvertBoundingBoxFormat(tv_tensors.BoundingBoxFormat.CXCYWH), floats(v2.Resize((44, 33)), v2.RandomHorizontalFlip(1)), v2.SanitizeBoundingBoxes()]),
    "turned as tensors": lambda: v2.Compose([floats(v2.ToImage(), v2.Resize((60, 60)), v2.RandomRotation((30, 30)), v2.RandomGrayscale(1)), v2.SanitizeBoundingBoxes()]),
    "turned": lambda: v2.Compose([floats(v2.Resize((60, 60)), v2.RandomRotation((30, 30)), v2.RandomGrayscale(1)), v2.SanitizeBoundingBoxes()]),
    "colours first": lambda: floats(v2.ColorJitter(contrast=(1.7, 1.7)), v2.Resize((50, 70)), v2.RandomGrayscale(1)),
    "normalized": lambda: v2.Compose([floats(v2.Resize((50, 70))), v2.Normalize((0.5, 0.4, 0.3), (0.1, 0.2, 0.3)), v2.SanitizeBoundingBoxes()]),
}


@pytest.mark.parametrize("name", DETECTED)
def test_a_detection_loop_gets_torchs_pictures_boxes_and_labels(coco, name):
    """By the collate_fn of torchvision's reference. ToDtype multiplies by 1/255 where ours divides."""
    theirs = list(DataLoader(detection(coco, DETECTED[name]()), batch_size=4, collate_fn=zipped))
    ours, n = loaded(detection(coco, DETECTED[name]()), batch_size=4, collate_fn=zipped)
    assert n == len(ours) == len(theirs) == 2
    dropped = 0
    for (images, targets), (wanted, wanted_targets) in zip(ours, theirs):
        assert type(images) is type(targets) is tuple and len(images) == len(wanted)
        for image, target, want, want_target in zip(images, targets, wanted, wanted_targets):
            assert image.shape == want.shape and image.dtype == want.dtype and type(image) is type(want)
            assert (image.double() - want.double()).abs().max() <= (1e-6 if name != "normalized" else 1e-5)
            same_targets(target, want_target)
            dropped += len(target["boxes"])
    assert (dropped < 12) == (name in ("cropped and sanitized", "sanitized by more"))


def test_without_a_collate_fn_pictures_are_one_tensor_and_targets_a_list(coco):
    """Where torch's own collate can make nothing of boxes that are not as many in each."""
    batches, _ = loaded(detection(coco, DETECTED["to a size"]()), batch_size=4)
    theirs = list(DataLoader(detection(coco, DETECTED["to a size"]()), batch_size=4, collate_fn=zipped))
    for (images, targets), (wanted, wanted_targets) in zip(batches, theirs):
        assert images.shape == (len(wanted), 3, 50, 70) and (images - torch.stack(list(wanted))).abs().max() <= 1e-6
        for ours, want in zip(targets, wanted_targets, strict=True):
            same_targets(ours, want)
    with spdl.DataLoader(detection(coco, DETECTED["to a size"]()), batch_size=2, tensors="numpy", copy=True) as loader:
        images, targets = next(iter(loader))
        assert isinstance(images, np.ndarray) and targets[0]["boxes"].shape == (1, 4) and isinstance(targets[0]["labels"], np.ndarray)


def test_a_picture_without_boxes_has_none(coco):
    """torch's target has no boxes then, and no labels either."""
    dataset = detection(coco, DETECTED["to a size"](), some=False)
    batches, _ = loaded(dataset, batch_size=7)
    empty = [target for target in batches[0][1] if len(target["boxes"]) == 0]
    assert [target["image_id"] for target in empty] == [79] and empty[0]["boxes"].shape == (0, 4) and empty[0]["labels"].shape == (0,)
    assert next(target for _, target in dataset if len(target) == 1) == {"image_id": 79}


def test_keys_parts_and_draws_of_detection(coco):
    dataset = detection(coco, DETECTED["to a size"](), target_keys=("boxes", "labels"))
    batches, _ = loaded(Subset(ConcatDataset([dataset, dataset]), [7, 0, 3]), batch_size=3)
    want = [dataset[1], dataset[0], dataset[3]]
    for target, (_, wanted) in zip(batches[0][1], want, strict=True):
        same_targets(target, wanted)
    drawn, n = loaded(dataset, batch_size=4, sampler=WeightedRandomSampler([0, 0, 5, 0, 0, 0], 9))
    assert n == 3
    for _, targets in drawn:
        for target in targets:
            same_targets(target, dataset[2][1])
    alone, _ = loaded(detection(coco, DETECTED["to a size"](), target_keys=("boxes",)), batch_size=6)
    assert list(alone[0][1][0]) == ["boxes"]


def test_ssds_training_is_described_as_it_is(coco, tmp_path):
    chain = v2.Compose([v2.RandomZoomOut(fill={Image.Image: (123, 117, 104), "others": 0}), v2.RandomIoUCrop(), v2.RandomHorizontalFlip(), v2.Resize((30, 30)), v2.RandomPhotometricDistort(),
                        v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.SanitizeBoundingBoxes(), v2.ToPureTensor()])
    described = spdl.describe(detection(coco, chain), batch_size=3, files=tmp_path)
    assert described["image"]["transform"][:-1] == [{"random_zoom_out": {"side_range": [1, 4], "p": 0.5, "fill": [123, 117, 104]}}, {"random_iou_crop": {}}, {"horizontal_flip": 0.5}, {"resize": [30, 30]}]
    assert described["image"]["boxes"] == {"column": "boxes", "format": "xyxy", "with": ["labels"]}
    assert described["source"]["list"] == str(tmp_path / "table.npz") and len(np.load(tmp_path / "table.npz")["path.offsets"]) == 7
    assert spdl.describe(detection(coco, chain))["source"]["list"] == "table.npz"
    with spdl.DataLoader(described, fields=("image", "boxes")) as loader:  # which is a description like any other
        assert len(list(loader)) == 2
    with spdl.DataLoader(detection(coco, chain), batch_size=3, shuffle=True, collate_fn=zipped, copy=True) as loader:
        for images, targets in [batch for _ in range(8) for batch in loader]:
            for image, target in zip(images, targets):
                assert image.shape == (3, 30, 30) and len(target["boxes"]) == len(target["labels"]) and type(target["boxes"]) is torch.Tensor
                assert ((target["boxes"] >= 0) & (target["boxes"] <= 30)).all() and (target["boxes"][:, 2:] - target["boxes"][:, :2] >= 1).all()


def test_the_pages_block_runs(coco, monkeypatch):
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/datasets.md").read_text(encoding="utf-8")
    block = page.partition("## Boxes and masks")[2].partition("```python\n")[2].partition("```")[0]
    assert datasets.wrap_dataset_for_transforms_v2  # which looks at CocoDetection when it is first asked for
    monkeypatch.setattr(datasets, "CocoDetection", lambda root, file, transforms: detection(coco, transforms, wrap=False))
    seen = []
    exec(block, {"model": lambda images, targets: seen.extend(zip(images, targets, strict=True))})
    assert len(seen) == 6 and all(image.shape == (3, 300, 300) and list(target) == ["image_id", "boxes", "labels"] for image, target in seen)


@pytest.mark.parametrize("chain, within", [([v2.CenterCrop((30, 30)), v2.RandomHorizontalFlip(1)], 0), ([v2.Resize((50, 70))], 1)])
def test_vocs_boxes_are_torchs(voc, chain, within):
    """Where torch's, which are whole numbers, are cut to such by each operation, ours are what they are."""
    def dataset():
        return datasets.wrap_dataset_for_transforms_v2(datasets.VOCDetection(str(voc), transforms=v2.Compose([*chain, v2.ToImage(), v2.SanitizeBoundingBoxes()])))
    theirs = list(DataLoader(dataset(), batch_size=3, collate_fn=zipped))
    ours, _ = loaded(dataset(), batch_size=3, collate_fn=zipped)
    for (images, targets), (wanted, wanted_targets) in zip(ours, theirs, strict=True):
        for image, target, want, want_target in zip(images, targets, wanted, wanted_targets, strict=True):
            assert torch.equal(image, want)
            same_targets(target, want_target, within)


# ---- masks


CHAINS = {
    "to a size": lambda: [v2.Resize((50, 70))],
    "as tensors": lambda: [v2.ToImage(), v2.Resize((50, 70)), v2.ColorJitter(hue=(0.1, 0.1))],
    "smaller": lambda: [v2.Resize((31, 17))],
    "larger": lambda: [v2.Resize((300, 301))],
    "shorter side": lambda: [v2.Resize(40), v2.CenterCrop(32)],
    "longer side": lambda: [v2.Resize(30, max_size=50), v2.CenterCrop((30, 40))],
    "around": lambda: [v2.CenterCrop((96, 210))],
    "padded": lambda: [v2.Resize((30, 40)), v2.Pad([1, 2, 3, 4], fill=MASKED), v2.RandomHorizontalFlip(1)],
    "mirrored": lambda: [v2.Resize((30, 40)), v2.Pad(5, padding_mode="reflect"), v2.RandomVerticalFlip(1)],
    "cropped": lambda: [v2.Resize((30, 40)), v2.RandomCrop((34, 44), padding=2, fill=MASKED)],
    "cropped at random": lambda: [v2.RandomResizedCrop(40, scale=(1, 1), ratio=(1.5, 1.5))],
    "by a number": lambda: [v2.RandomResize(64, 65), v2.CenterCrop(48)],
    "jittered": lambda: [v2.ScaleJitter((64, 64), (1, 1)), v2.CenterCrop((50, 64))],
    "zoomed out": lambda: [v2.RandomZoomOut(fill=MASKED, side_range=(1, 1), p=1), v2.Resize((40, 40))],
    "colours": lambda: [v2.Resize((50, 70)), v2.RandomGrayscale(1), v2.RandomApply([v2.RandomInvert(1), v2.RandomPosterize(4, 1)], 1), v2.RandomApply([v2.RandomHorizontalFlip(1)], 1)],
    "chosen": lambda: [v2.Resize((50, 70)), v2.RandomChoice([v2.RandomInvert(1), v2.RandomEqualize(1)], p=[1, 0])],
}
WIDE = {tv_tensors.Image: torch.float32, tv_tensors.Mask: torch.int64, "others": None}


TURNED = {
    "rotation": lambda: [v2.CenterCrop((60, 60)), v2.RandomRotation((30, 30), fill=MASKED)],
    "affine": lambda: [v2.CenterCrop((60, 60)), v2.RandomAffine((10, 10), scale=(1.25, 1.25), shear=(5, 5), fill=7)],
    "perspective": lambda: [v2.CenterCrop((60, 60)), v2.RandomPerspective(0.0, p=1, fill=MASKED)],
}


def same_masks(make, batch_size=3, unlike=0.0, within=1e-6):
    theirs = list(DataLoader(make(), batch_size=batch_size))
    ours, n = loaded(make(), batch_size=batch_size)
    assert n == len(theirs)
    for (images, masks), (wanted, wanted_masks) in zip(ours, theirs, strict=True):
        assert images.shape == wanted.shape and (images - wanted).abs().max() <= within
        assert masks.dtype == wanted_masks.dtype and masks.shape == wanted_masks.shape and (masks != wanted_masks).double().mean() <= unlike


@pytest.mark.parametrize("name", CHAINS)
def test_masks_are_torchs_to_the_bit(voc, name):
    same_masks(lambda: datasets.wrap_dataset_for_transforms_v2(datasets.VOCSegmentation(
        str(voc), transforms=v2.Compose([*CHAINS[name](), v2.ToImage(), v2.ToDtype(WIDE, scale=True)]))))


@pytest.mark.parametrize("name", TURNED)
def test_masks_that_are_turned_are_torchs_but_for_a_pixel_in_500(voc, name):
    """Where the middle of a pixel is all but between two others, torch's floats choose another than Pillow's numbers."""
    same_masks(lambda: datasets.wrap_dataset_for_transforms_v2(datasets.VOCSegmentation(
        str(voc), transforms=v2.Compose([*TURNED[name](), v2.ToImage(), v2.ToDtype(WIDE, scale=True)]))), unlike=0.002, within=1 / 254 if name == "perspective" else 1e-6)


def test_random_masks_follow_their_pictures(tmp_path):
    """A mask that is its picture's red: where both are drawn alike, they are alike still."""
    base, rng = tmp_path / "VOCdevkit" / "VOC2012", np.random.default_rng(6)
    for below in ("ImageSets/Segmentation", "JPEGImages", "SegmentationClass"):
        (base / below).mkdir(parents=True)
    for i in range(8):
        numbers = np.repeat(np.repeat(rng.integers(0, 2, (6, 8)).astype(np.uint8) * 255, 16, 0), 16, 1)
        Image.fromarray(numbers).save(base / "JPEGImages" / f"{i}.jpg", quality=100)
        Image.fromarray(numbers).save(base / "SegmentationClass" / f"{i}.png")
    (base / "ImageSets" / "Segmentation" / "train.txt").write_text("".join(f"{i}\n" for i in range(8)))
    chain = v2.Compose([v2.RandomResizedCrop((48, 64), scale=(0.3, 1)), v2.RandomHorizontalFlip(), v2.ColorJitter(brightness=0.1), v2.RandomRotation(20), v2.ToImage()])
    dataset = datasets.wrap_dataset_for_transforms_v2(datasets.VOCSegmentation(str(tmp_path), transforms=chain))
    with spdl.DataLoader(dataset, batch_size=8, shuffle=True, generator=torch.Generator().manual_seed(2), copy=True) as loader:
        for images, masks in [batch for _ in range(4) for batch in loader]:
            assert ((images[:, :1] > 127) == (masks > 127)).float().mean() > 0.9  # all but where squares meet


def test_cityscapes_and_pets_are_pictures_and_masks(tmp_path):
    rng = np.random.default_rng(8)
    for city, n in [("aachen", 2), ("bochum", 3)]:
        for below, ending in [("leftImg8bit", "leftImg8bit"), ("gtFine", "gtFine_labelIds")]:
            (tmp_path / below / "train" / city).mkdir(parents=True)
            for i in range(n):
                pixels = picture(rng, 80, 40) if below == "leftImg8bit" else rng.integers(0, 34, (40, 80)).astype(np.uint8)
                Image.fromarray(pixels).save(tmp_path / below / "train" / city / f"{city}_{i}_{ending}.png")
    chain = v2.Compose([v2.Resize((20, 36)), v2.ToImage(), v2.ToDtype({tv_tensors.Image: torch.float32, "others": None}, scale=True)])
    same_masks(lambda: datasets.wrap_dataset_for_transforms_v2(datasets.Cityscapes(str(tmp_path), target_type="semantic", transforms=chain)))

    base = tmp_path / "oxford-iiit-pet"
    (base / "images").mkdir(parents=True)
    (base / "annotations" / "trimaps").mkdir(parents=True)
    names = ["Abyssinian_1", "beagle_1", "beagle_2"]
    for i, name in enumerate(names):
        Image.fromarray(picture(rng, 60 + i, 50)).save(base / "images" / f"{name}.jpg")
        Image.fromarray(rng.integers(1, 4, (50, 60 + i)).astype(np.uint8)).save(base / "annotations" / "trimaps" / f"{name}.png")
    (base / "annotations" / "trainval.txt").write_text("".join(f"{name} {1 + (i > 0)} 1 1\n" for i, name in enumerate(names)))
    same_masks(lambda: datasets.wrap_dataset_for_transforms_v2(datasets.OxfordIIITPet(str(tmp_path), target_types="segmentation", transforms=chain)))
    wrapped = datasets.wrap_dataset_for_transforms_v2(datasets.OxfordIIITPet(str(tmp_path), transform=chain))
    assert torch.equal(loaded(wrapped, batch_size=3)[0][0][1], torch.tensor([0, 1, 1]))


# ---- what is refused


def segmentation(root, *chain, **said):
    return datasets.wrap_dataset_for_transforms_v2(datasets.VOCSegmentation(str(root), transforms=v2.Compose([*chain, v2.ToImage()]), **said))


SIZE = v2.Resize((30, 30))
CHAINS_REFUSED = {
    "unsanitized crop": ("boxes", [v2.RandomIoUCrop(), SIZE], r"transforms\[0\].*RandomIoUCrop.*leaves boxes out, want SanitizeBoundingBoxes\(\) behind it"),
    "sanitized too early": ("boxes", [v2.SanitizeBoundingBoxes(), SIZE], r"transforms\[1\].*Resize.*stands behind SanitizeBoundingBoxes, and resize moves boxes or cuts them, want it in front"),
    "labels by a function": ("boxes", [SIZE, v2.SanitizeBoundingBoxes(labels_getter=lambda sample: None)], 'labels_getter: got <function .*, want "default"'),
    "turned boxes": ("boxes", [SIZE, v2.ConvertBoundingBoxFormat("XYXYXYXY")], "format: got XYXYXYXY, want XYXY, XYWH or CXCYWH"),
    "sanitized by chance": ("boxes", [SIZE, v2.RandomApply([v2.SanitizeBoundingBoxes()])], "stands among what may not happen, want it outside"),
    "boxes of masks": ("mask", [SIZE, v2.SanitizeBoundingBoxes()], "got torchvision's SanitizeBoundingBoxes"),
    "a crop by boxes": ("mask", [v2.RandomIoUCrop(), SIZE], "got torchvision's RandomIoUCrop"),
    "elastic mask": ("mask", [SIZE, v2.ElasticTransform()], "got elastic_transform of a picture and its mask, want resizes, crops"),
    "turned by chance": ("mask", [SIZE, v2.RandomApply([v2.RandomRotation(9)])], "got random_apply of a picture and its mask"),
    "mask of floats": ("mask", [SIZE, v2.ToImage(), v2.ToDtype({tv_tensors.Mask: torch.float32, "others": None})], "dtype: got float32 of masks, want torch.int64"),
    "three numbers": ("mask", [SIZE, v2.Pad(2, fill=(1, 2, 3))], r"fill: got \[1, 2, 3\] of masks, want a whole number from 0 to 255"),
    "exact": ("mask", [v2.Resize((9, 9), v2.InterpolationMode.NEAREST_EXACT)], "interpolation: got nearest-exact beside masks"),
    "a blur ahead": ("boxes", [v2.GaussianBlur(3), SIZE], r"image.transform\[1\].resize: comes after gaussian_blur; .*is of dataset.transforms.transforms\[1\], Resize"),
    "no size": ("mask", [v2.Pad(2)], "fields.image.image.transform"),
}


@pytest.mark.parametrize("name", CHAINS_REFUSED)
def test_chains_that_boxes_or_masks_cannot_follow_are_refused(coco, voc, name):
    kind, chain, message = CHAINS_REFUSED[name]
    with pytest.raises(spdl.SpecError, match=message):
        spdl.DataLoader(detection(coco, v2.Compose([*chain, v2.ToImage()])) if kind == "boxes" else segmentation(voc, *chain))


def damaged(voc, change):
    """A VOCDetection of which one annotation was changed."""
    text = (voc / "VOCdevkit" / "VOC2012" / "Annotations" / "p0.xml").read_text()
    at = tempfile.NamedTemporaryFile("w", suffix=".xml", dir=voc, delete=False)
    with at:
        at.write(change(text))
    dataset = datasets.VOCDetection(str(voc), transforms=floats(SIZE))
    dataset.targets[0] = at.name
    return datasets.wrap_dataset_for_transforms_v2(dataset)


DATASETS_REFUSED = {
    "bare boxes": (lambda coco, voc: detection(coco, floats(SIZE), wrap=False), r"CocoDetection has boxes, want wrap_dataset_for_transforms_v2\(dataset\)"),
    "bare masks": (lambda coco, voc: datasets.VOCSegmentation(str(voc), transforms=floats(SIZE)), "VOCSegmentation has masks, want wrap_dataset"),
    "no transforms": (lambda coco, voc: detection(coco, None), "has no transforms, and pictures have to become tensors"),
    "PIL images": (lambda coco, voc: detection(coco, v2.Compose([SIZE])), "dataset.transforms: .*ends with a PIL image"),
    "of the picture alone": (lambda coco, voc: detection(coco, None, transform=floats(SIZE)), "transform: got one of the picture alone, want transforms=, of v2"),
    "of the target alone": (lambda coco, voc: detection(coco, None, target_transform=abs), "target_transform: got one of the target alone"),
    "all keys": (lambda coco, voc: detection(coco, floats(SIZE), target_keys="all"), "target_keys: got 'all', want None, or some of image_id, boxes, masks, labels"),
    "other keys": (lambda coco, voc: detection(coco, floats(SIZE), target_keys=("boxes", "area")), r"target_keys: got \('boxes', 'area'\), want None"),
    "another class": (lambda coco, voc: damaged(voc, lambda text: text.replace("<name>person", "<name>dodo")), "got an object of class 'dodo', want one of VOC's"),
    "half a pixel": (lambda coco, voc: damaged(voc, lambda text: text.replace("<xmin>3<", "<xmin>3.5<")), "bndbox: .*3.5.*want whole numbers"),
    "half a box": (lambda coco, voc: halved(coco), r"annotation 1: bbox: got \[1, 2\], want x, y, width and height"),
    "a class by half": (lambda coco, voc: halved(coco, category_id=1.5), "annotation 1: category_id: got 1.5, want a whole number"),
    "names for numbers": (lambda coco, voc: named_images(coco), "image ids: got 'a', want whole numbers; leave image_id out of target_keys"),
    "pets with two": (lambda coco, voc: pets(["category", "segmentation"]), r"target_types: got \['category', 'segmentation'\], want \"segmentation\""),
    "bare pets": (lambda coco, voc: pets(["segmentation"], wrap=False), 'target_types: .*want "category"; want wrap_dataset'),
    "instances": (lambda coco, voc: cities(), r'target_type: got \[\'instance\'\], want "semantic"'),
    "joined with masks": (lambda coco, voc: ConcatDataset([segmentation(voc, SIZE), detection(coco, segmentation(voc, SIZE).transforms)]), r"datasets\[1\]: got files with boxes, and datasets\[0\] has files with mask"),
    "MATLAB's": (lambda coco, voc: made(datasets.SBDataset, floats(SIZE)), "SBDataset has masks as .mat files.*write them as PNGs"),
    "noise": (lambda coco, voc: datasets.FakeData(transform=floats(SIZE)), "FakeData makes pictures of noise"),
    "faces": (lambda coco, voc: made(datasets.WIDERFace, floats(SIZE)), "WIDERFace has boxes and other targets, which come with a description alone"),
}


def made(cls, transform, **attributes):
    dataset = cls.__new__(cls)
    datasets.VisionDataset.__init__(dataset, "x", None, transform, None)
    vars(dataset).update(attributes)
    return dataset


def halved(coco, **said):
    dataset = detection(coco, floats(SIZE), wrap=False)
    dataset.coco.anns[1].update(said or {"bbox": [1, 2]})
    return datasets.wrap_dataset_for_transforms_v2(dataset)


def named_images(coco):
    dataset = detection(coco, floats(SIZE), wrap=False)
    dataset.ids, dataset.coco.imgs["a"] = ["a"], {"file_name": "0.png"}
    return datasets.wrap_dataset_for_transforms_v2(dataset)


def pets(kinds, wrap=True):
    dataset = made(datasets.OxfordIIITPet, floats(SIZE), _target_types=kinds, _images=["x"], _segs=["y"], _labels=[0])
    if wrap:
        dataset.transforms, dataset.transform = dataset.transform, None
    return datasets.wrap_dataset_for_transforms_v2(dataset) if wrap else dataset


def cities():
    dataset = made(datasets.Cityscapes, None, target_type=["instance"], images=["x"], targets=[["y"]])
    dataset.transforms = floats(SIZE)
    return datasets.wrap_dataset_for_transforms_v2(dataset)


@pytest.mark.parametrize("name", DATASETS_REFUSED)
def test_data_sets_of_targets_that_cannot_be_told_are_refused(coco, voc, name):
    make, message = DATASETS_REFUSED[name]
    with pytest.raises(spdl.ArgumentError, match=message):
        spdl.DataLoader(make(coco, voc))


# ---- numbers


def small():
    return T.Compose([T.Resize((16, 12)), T.PILToTensor()])


def saved(at, *path, rng=np.random.default_rng(9)):
    path = at.joinpath(*path)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture(rng, 30, 20)).save(path)


def same(dataset, **said):
    theirs = list(DataLoader(dataset, **said))
    ours, n = loaded(dataset, **said)
    assert n == len(theirs)
    for (images, targets), (wanted, wanted_targets) in zip(ours, theirs, strict=True):
        assert torch.equal(images, wanted) and targets.dtype == wanted_targets.dtype and torch.equal(targets, wanted_targets)


@pytest.mark.parametrize("kind", ["attr", "identity", "bbox", "landmarks"])
def test_celebas_targets_are_torchs(tmp_path, kind):
    names = [f"{i:06}.jpg" for i in range(1, 6)]
    for name in names:
        saved(tmp_path, "celeba", "img_align_celeba", name)
    rng = np.random.default_rng(4)
    numbers = {name: torch.from_numpy(rng.integers(0, 200, (5, n))) for name, n in dict(attr=40, identity=1, bbox=4, landmarks_align=10).items()}
    dataset = made(datasets.CelebA, small(), filename=names, target_type=[kind], **numbers)
    dataset.root = str(tmp_path)
    same(dataset, batch_size=2)
    same(Subset(dataset, [4, 1]), batch_size=2)
    for transform, refusal in [(None, r"dataset: CelebA has no transform, and pictures"), (T.Resize(8), r"dataset\.transform: CelebA ends with a PIL image"),
                               (T.Compose([T.Resize(8), T.ToTensor()]), r"dataset\.transform: .*leaves the size of each picture open")]:
        dataset.transform = transform
        with pytest.raises(spdl.SpdlError, match=refusal):
            spdl.DataLoader(dataset, batch_size=2)
    dataset.target_type = ["attr", "identity"]
    with pytest.raises(spdl.ArgumentError, match=r"target_type: got \['attr', 'identity'\], want one of numbers"):
        spdl.DataLoader(dataset)
    if kind == "bbox":
        dataset.target_type = ["bbox"]
        with pytest.raises(spdl.ArgumentError, match="target_type: got bbox behind wrap_dataset_for_transforms_v2"):
            spdl.DataLoader(datasets.wrap_dataset_for_transforms_v2(dataset))


def test_data_sets_that_number_their_files(tmp_path, monkeypatch):
    for c, n in [("accordion", 3), ("BACKGROUND_Google", 1), ("zebra", 2)]:
        for i in range(n):
            saved(tmp_path, "caltech101", "101_ObjectCategories", c, f"image_{i + 1:04d}.jpg")
    for y, c in enumerate(["001.ak47", "002.american-flag"]):
        for i in range(2 + y):
            saved(tmp_path, "caltech256", "256_ObjectCategories", c, f"{y + 1:03d}_{i + 1:04d}.jpg")
    for i, below in enumerate(["00000_Animalia_Annelida_Clitellata_Haplotaxida_Lumbricidae_Lumbricus_terrestris", "00001_Plantae_Annelida_Polychaeta_Sabellida_Sabellidae_Sabella_spallanzanii"]):
        for n in range(2 + i):
            saved(tmp_path, "2021_train", below, f"{n}.jpg")
    hundred = datasets.Caltech101(str(tmp_path), transform=small())
    if pytest.importorskip("importlib.util").find_spec("scipy") is None:  # which torchvision's imports for annotations that nobody asks for
        import sys
        import types
        monkeypatch.setitem(sys.modules, "scipy", types.ModuleType("scipy"))
        monkeypatch.setitem(sys.modules, "scipy.io", types.ModuleType("scipy.io"))
    same(hundred, batch_size=2)
    same(datasets.Caltech256(str(tmp_path), transform=small()), batch_size=2)
    same(datasets.INaturalist(str(tmp_path), transform=small()), batch_size=2)
    same(datasets.INaturalist(str(tmp_path), target_type="kingdom", transform=small()), batch_size=2)
    with spdl.DataLoader(hundred) as loader:
        assert loader.classes == ["accordion", "zebra"]
    hundred.target_type = ["annotation"]
    with pytest.raises(spdl.ArgumentError, match=r"target_type: got \['annotation'\], want one of numbers"):
        spdl.DataLoader(hundred)


# ---- samplers


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Twelve pictures of one colour each, which is their number, of three classes."""
    at = tmp_path_factory.mktemp("folder")
    for i in range(12):
        (at / "abc"[i // 4]).mkdir(exist_ok=True)
        Image.new("RGB", (8, 8), (i, i, i)).save(at / "abc"[i // 4] / f"{i:02}.png")
    return datasets.ImageFolder(str(at), T.Compose([T.Resize((8, 8)), T.PILToTensor()]))


def numbers(dataset, epochs=1, **said):
    """The number of each picture that comes, by epoch."""
    with spdl.DataLoader(dataset, copy=True, **said) as loader:
        got = []
        for _ in range(epochs):
            batches = list(loader)
            assert len(batches) == len(loader)
            got.append([int(image[0, 0, 0]) for images, _ in batches for image in images])
        return got


def pixels():
    dataset = datasets.CIFAR10.__new__(datasets.CIFAR10)
    vars(dataset).update(transform=T.ToTensor(), target_transform=None, root="x", targets=list(range(12)),
                         data=np.broadcast_to(np.arange(12, dtype=np.uint8)[:, None, None, None], (12, 8, 8, 3)).copy())
    dataset.transform = T.PILToTensor()
    return dataset


@pytest.mark.parametrize("of", ["folder", "part", "pixels"])
def test_weights_draw_by_their_shares(folder, of):
    """The chi-square of 12,000 draws of a seed that does not change, with eleven degrees of freedom, above which one in a million lies."""
    dataset = {"folder": folder, "part": Subset(folder, range(12)), "pixels": pixels()}[of]
    weights = [1.0, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5]
    sampler = WeightedRandomSampler(weights, 1200, generator=torch.Generator().manual_seed(7))
    got = numbers(dataset, 10, batch_size=64, sampler=sampler)
    assert [len(epoch) for epoch in got] == [1200] * 10 and got[0] != got[1]
    counts = np.bincount(np.concatenate(got), minlength=12)
    want = 12000 * np.array(weights) / sum(weights)
    assert counts[6] == 0 and (((counts - want) ** 2)[want > 0] / want[want > 0]).sum() < 47
    assert numbers(dataset, 1, batch_size=64, sampler=sampler)[0] == got[0], "another loader of the seed draws the same"


def test_weights_without_replacement_draw_each_once(folder):
    weights = [8.0] * 4 + [1] * 4 + [0] * 4
    for epoch in numbers(folder, 3, batch_size=3, drop_last=True, sampler=WeightedRandomSampler(weights, 7, replacement=False, generator=torch.Generator().manual_seed(1))):
        assert len(epoch) == len(set(epoch)) == 6 and max(epoch) < 8
    described = spdl.describe(folder, sampler=WeightedRandomSampler(weights, 7, replacement=False, generator=torch.Generator().manual_seed(1)))
    assert described["order"] == {"shuffle": True, "seed": 1, "last": "cover", "rows": 7, "replacement": False, "weights": "weights.npy"} and "folder" in described["source"]


def test_random_samplers_of_a_number_of_samples(folder):
    got = numbers(folder, 2, batch_size=4, sampler=RandomSampler(folder, replacement=True, num_samples=40, generator=torch.Generator().manual_seed(1)))
    assert [len(epoch) for epoch in got] == [40, 40] and len(set(got[0])) > 6 and got[0] != got[1]
    few = numbers(folder, 30, batch_size=4, sampler=RandomSampler(folder, num_samples=5, generator=torch.Generator().manual_seed(1)))
    assert all(len(set(epoch)) == len(epoch) == 5 for epoch in few) and {n for epoch in few for n in epoch} == set(range(12))


@pytest.mark.parametrize("indices", [[5, 3, 3, 11, -1], (2, 0), range(9, 0, -2), np.array([4, 1]), torch.tensor([7, 2, 2]), [torch.tensor(3), np.int64(1)]], ids=repr)
def test_indices_are_the_order_of_each_epoch(folder, indices):
    want = [int(label) for batch in DataLoader(folder, batch_size=2, sampler=[int(i) for i in indices]) for label in batch[0][:, 0, 0, 0]]
    assert numbers(folder, 2, batch_size=2, sampler=indices) == [want, want]


def test_a_batch_sampler_says_its_sampler_and_size(folder):
    assert numbers(folder, batch_sampler=BatchSampler(SequentialSampler(folder), 5, False)) == [list(range(12))]
    same(folder, batch_sampler=BatchSampler([4, 1, 9, 0, 2], 2, True))
    described = spdl.describe(folder, batch_sampler=BatchSampler(RandomSampler(folder, generator=torch.Generator().manual_seed(4)), 5, True))
    assert described["batch"] == 5 and described["order"] == {"shuffle": True, "seed": 4, "last": "drop"}
    again = DistributedSampler(folder, 2, 1, shuffle=False)
    assert spdl.describe(folder, batch_sampler=BatchSampler(again, 3, False))["world"] == {"size": 2, "rank": 1}


class OwnSampler:
    def __init__(self, indices):
        self.indices = indices

    def __iter__(self):
        return iter(self.indices)

    def __len__(self):
        return len(self.indices)


class OwnWeights(WeightedRandomSampler):
    def __iter__(self):
        return iter([0])


class OwnBatches(BatchSampler):
    def __iter__(self):
        return iter([[0]])


@pytest.mark.parametrize("said, message", [
    (lambda f: dict(sampler=iter([1, 2])), "sampler: got list_iterator, which can be gone through once, want"),
    (lambda f: dict(sampler=[1, 12]), "sampler: got 12 at 1 of 2 indices, want whole numbers from 0 to 11"),
    (lambda f: dict(sampler=[0.5]), "sampler: got 0.5 at 0 of 1 indices, want whole numbers"), (lambda f: dict(sampler=[True]), "sampler: got True at 0 of 1 indices"),
    (lambda f: dict(sampler=[]), "sampler: got no indices, want one at least"),
    (lambda f: dict(sampler=WeightedRandomSampler([1.0] * 11, 3)), "sampler: got a WeightedRandomSampler of 11 weights, want one for each of the data set's 12 samples"),
    (lambda f: dict(sampler=WeightedRandomSampler([1.0] * 3 + [0.0] * 9, 4, replacement=False)), "of num_samples=4 without replacement, want at most 3"),
    (lambda f: dict(sampler=RandomSampler(f, num_samples=13)), "RandomSampler of num_samples=13 without replacement, want at most 12"),
    (lambda f: dict(sampler=[0], shuffle=True), "shuffle: got True beside sampler"),
    (lambda f: dict(batch_sampler=BatchSampler([0], 1, False), batch_size=4), "batch_size: got 4 beside batch_sampler, which says it"),
    (lambda f: dict(batch_sampler=BatchSampler([0], 1, False), sampler=[1]), r"sampler: got \[1\] beside batch_sampler"),
])
def test_samplers_that_cannot_be_told_are_refused(folder, said, message):
    with pytest.raises(spdl.ArgumentError, match=message):
        spdl.DataLoader(folder, **said(folder))


@pytest.mark.parametrize("said", [
    dict(sampler=OwnSampler([1])), dict(sampler=OwnWeights([1.0] * 12, 1)), dict(batch_sampler=[[0]]), dict(batch_sampler=OwnBatches([0], 1, False)), dict(batch_sampler=BatchSampler(OwnSampler([0, 11, 4]), 2, False)),
], ids=("a sampler", "below torch's", "lists", "batches below torch's", "in a BatchSampler"))
def test_those_of_ones_own_are_asked(folder, said):
    same(folder, **said)


# ---- collate_fn, files and states


def test_a_collate_fn_gets_the_samples(folder):
    def mixed(samples):
        images, labels = default_collate(samples)
        return images.float() * 2, labels, [type(label) for _, label in samples]
    for (images, labels, kinds), (wanted, wanted_labels, wanted_kinds) in zip(loaded(folder, batch_size=5, collate_fn=mixed)[0], DataLoader(folder, batch_size=5, collate_fn=mixed), strict=True):
        assert torch.equal(images, wanted) and torch.equal(labels, wanted_labels) and kinds == wanted_kinds
    with spdl.DataLoader(folder, batch_size=5, collate_fn=mixed, transform=len) as loader:
        assert next(iter(loader)) == 3, "transform= takes what the function has made"
    same(folder, batch_size=5, collate_fn=default_collate)
    with pytest.raises(spdl.ArgumentError, match=r"got fields=\('image',\) beside collate_fn, .*leave one of them out"):
        spdl.DataLoader(folder, collate_fn=zipped, fields=("image",))
    with pytest.raises(spdl.ArgumentError, match="collate_fn: got 3, want a function of a list of samples"):
        spdl.DataLoader(folder, collate_fn=3)


def test_a_state_goes_on_in_another_loader_of_the_same_boxes(coco):
    def loader(**said):
        return spdl.DataLoader(detection(coco, DETECTED["to a size"]()), batch_size=2, shuffle=True, generator=torch.Generator().manual_seed(5), collate_fn=lambda b: [t["image_id"] for _, t in b], **said)
    with loader() as one:
        whole = list(one)
    with loader() as one:
        batches = iter(one)
        assert next(batches) == whole[0]
        state = one.state_dict()
    with loader(state=state) as one:
        assert list(one) == whole[1:]


def test_files_beside_a_description_go_with_their_loader(coco, folder, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def files():
        return sorted(os.path.basename(path) for path in glob.glob(f"{tmp_path}/spdl-*/*"))
    one = spdl.DataLoader(detection(coco, DETECTED["to a size"]()), batch_size=2, sampler=WeightedRandomSampler([1.0] * 6, 6))
    assert files() == ["table.npz", "weights.npy"]
    one.close()
    assert not os.listdir(tmp_path)
    with spdl.DataLoader(folder, sampler=WeightedRandomSampler([1.0] * 12, 6)):
        assert files() == ["weights.npy"]
    assert not os.listdir(tmp_path)
    forgotten = spdl.DataLoader(folder, sampler=WeightedRandomSampler([1.0] * 12, 6))
    pid = os.fork()
    if pid == 0:
        os._exit(0 if os.listdir(tmp_path) and forgotten._files.close() is None and os.listdir(tmp_path) else 1)
    assert os.waitpid(pid, 0)[1] == 0, "a forked child took its parent's files away"
    del forgotten
    gc.collect()
    assert not os.listdir(tmp_path)
    spdl.DataLoader(folder, sampler=[0]).close()
    assert not os.listdir(tmp_path), "where nothing is to be said beside the description, nothing is"


def test_ranks_each_write_their_own(coco, monkeypatch):
    dataset = detection(coco, DETECTED["to a size"]())
    for name, value in dict(RANK=1, WORLD_SIZE=2, LOCAL_RANK=1, LOCAL_WORLD_SIZE=2).items():
        monkeypatch.setenv(name, str(value))
    sampler = DistributedSampler(dataset, 2, 1, shuffle=False)
    with pytest.raises(spdl.ArgumentError, match="share=True and a data set with boxes, masks, weights, groups, tensors or chosen rows"):
        spdl.DataLoader(dataset, batch_size=1, sampler=sampler, share=True)
    batches, n = loaded(dataset, batch_size=1, sampler=sampler)
    assert n == 3 and [targets[0]["image_id"] for _, targets in batches] == [dataset.ids[i] for i in (1, 3, 5)]
