"""spdl.DataLoader in the place of torch's on CocoDetection with masks of objects, as Mask R-CNN is trained: pictures, boxes, labels and masks are torch's."""

import json
import pathlib

import numpy as np
import pytest

torch = pytest.importorskip("torch")
spdl = pytest.importorskip("spdl")
v2 = pytest.importorskip("torchvision.transforms.v2")
tv_tensors = pytest.importorskip("torchvision.tv_tensors")
pytest.importorskip("pycocotools.mask")
from torch.utils.data import DataLoader  # noqa: E402

import annotated  # noqa: E402
from annotated import SIZES, detection, floats, loaded, same_targets, zipped  # noqa: E402

KEYS = ("boxes", "labels", "masks")


@pytest.fixture(scope="module")
def coco(tmp_path_factory):
    """annotated.coco with outlines: of each object one or two polygons, packed runs, or runs as numbers."""
    from pycocotools import mask
    root = annotated.coco(tmp_path_factory.mktemp("coco"))
    said, rng = json.loads((root / "instances.json").read_text()), np.random.default_rng(4)
    for one in said["annotations"]:
        w, h = SIZES[(100 - one["image_id"]) // 7]
        x, y, wide, high = one["bbox"]
        polygons = [[x, y, x + wide, y + high / 3, x + wide / 2, y + high], [x, y + high, x + wide / 3, y + high / 2, x + wide, y + high / 2]][:1 + int(rng.integers(2))]
        runs = mask.merge(mask.frPyObjects(polygons, h, w))
        flat = mask.decode(runs).T.ravel()
        one["segmentation"] = [polygons, {"size": [h, w], "counts": runs["counts"].decode()},
                               {"size": [h, w], "counts": np.diff([0, *(np.flatnonzero(np.diff(flat)) + 1), len(flat)]).tolist()}][one["id"] % 3]
    (root / "instances.json").write_text(json.dumps(said))
    return root


CHAINS = {
    "to a size": lambda: floats(v2.Resize((50, 70)), v2.RandomHorizontalFlip(1)),
    "as tensors": lambda: floats(v2.ToImage(), v2.ColorJitter(saturation=(1.75, 1.75)), v2.Resize((50, 70)), v2.RandomGrayscale(1)),
    "cropped and sanitized": lambda: v2.Compose([floats(v2.Resize(32), v2.CenterCrop((30, 20))), v2.SanitizeBoundingBoxes()]),
    "around, upside down": lambda: v2.Compose([floats(v2.Resize((30, 40)), v2.Pad([1, 2, 3, 4]), v2.RandomVerticalFlip(1)), v2.ToPureTensor()]),
    "cropped": lambda: floats(v2.Resize((30, 40)), v2.RandomCrop((34, 44), padding=2)),
    "zoomed out": lambda: floats(v2.RandomZoomOut(fill={tv_tensors.Mask: 0, "others": 99}, side_range=(1, 1), p=1), v2.Resize((40, 40), interpolation=v2.InterpolationMode.BICUBIC)),
    "jittered": lambda: v2.Compose([floats(v2.ScaleJitter((64, 64), (1, 1)), v2.CenterCrop((50, 64))), v2.SanitizeBoundingBoxes(min_size=9, min_area=100)]),
    "colours": lambda: floats(v2.ColorJitter(contrast=(1.7, 1.7)), v2.Resize((50, 70)), v2.RandomApply([v2.RandomInvert(1)], 1)),
}
OWN_SIZES = {
    "as they are": lambda: floats(),
    "flipped": lambda: floats(v2.RandomHorizontalFlip(1)),
    "shortest within": lambda: v2.Compose([floats(v2.RandomShortestSize([37], max_size=90), v2.RandomHorizontalFlip(1)), v2.SanitizeBoundingBoxes(), v2.ToPureTensor()]),
}


def same(make, within=1e-6):
    theirs = list(DataLoader(make(), batch_size=3, collate_fn=zipped))
    ours, n = loaded(make(), batch_size=3, collate_fn=zipped)
    assert n == len(ours) == len(theirs)
    some = 0
    for (images, targets), (wanted, wanted_targets) in zip(ours, theirs):
        for image, target, want, want_target in zip(images, targets, wanted, wanted_targets, strict=True):
            assert image.shape == want.shape and (image.double() - want.double()).abs().max() <= within
            same_targets(target, want_target)
            masks, wanted_masks = target["masks"], want_target["masks"]
            assert type(masks) is type(wanted_masks) and masks.dtype == wanted_masks.dtype == torch.uint8
            assert masks.shape == wanted_masks.shape == (len(target["boxes"]), *image.shape[-2:]) and torch.equal(masks, wanted_masks)
            some += int(masks.sum())
    assert some > 0


@pytest.mark.parametrize("name", [*CHAINS, *OWN_SIZES])
def test_masks_of_objects_are_torchs_to_the_bit(coco, name):
    same(lambda: detection(coco, (CHAINS | OWN_SIZES)[name](), target_keys=KEYS))


def test_a_training_by_random_crops_has_masks_of_its_boxes(coco):
    """What is drawn is ours: masks lie within their boxes, which are dropped with them."""
    chain = v2.Compose([v2.RandomZoomOut(fill={tv_tensors.Mask: 0, "others": 7}), v2.RandomIoUCrop(), v2.Resize((60, 60)), v2.RandomHorizontalFlip(),
                        v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.SanitizeBoundingBoxes()])
    seen = 0
    with spdl.DataLoader(detection(coco, chain, target_keys={"image_id", *KEYS}), batch_size=3, shuffle=True, copy=True, generator=torch.Generator().manual_seed(1)) as loader:
        for images, targets in [batch for _ in range(8) for batch in loader]:
            for image, target in zip(images, targets):
                assert list(target) == ["image_id", "boxes", "masks", "labels"] and target["masks"].shape == (len(target["boxes"]), 60, 60)
                for (x1, y1, x2, y2), mask in zip(target["boxes"].tolist(), target["masks"]):
                    ys, xs = torch.nonzero(mask, as_tuple=True)
                    assert len(xs) == 0 or xs.min() >= x1 - 1 and xs.max() <= x2 + 1 and ys.min() >= y1 - 1 and ys.max() <= y2 + 1
                    seen += len(xs)
    assert seen > 0


def test_a_picture_without_objects_has_no_masks(coco):
    batches, _ = loaded(detection(coco, CHAINS["to a size"](), some=False, target_keys=KEYS), batch_size=7)
    assert [tuple(target["masks"].shape) for target in batches[0][1] if len(target["boxes"]) == 0] == [(0, 50, 70)]


def test_masks_come_where_they_are_asked_for(coco):
    batches, _ = loaded(detection(coco, CHAINS["to a size"]()), batch_size=6)
    assert list(batches[0][1][0]) == ["image_id", "boxes", "labels"]
    described = spdl.describe(detection(coco, CHAINS["to a size"](), target_keys=KEYS))
    assert described["image"]["boxes"]["masks"] == "masks" and {key: described["source"]["columns"][1][key] for key in ("name", "type", "dtype")} == {"name": "masks", "type": "list", "dtype": "f64"}


@pytest.mark.parametrize("transforms, message", [
    (lambda: floats(v2.Resize((50, 70)), v2.RandomAffine(5, fill=7)), r"fill: got 7 of masks, which are 0 where no picture is, want fill=\{tv_tensors.Mask: 0, \"others\": 7\}"),
    (lambda: floats(v2.Resize((50, 70), interpolation=v2.InterpolationMode.NEAREST_EXACT)), "nearest-exact"),
    (lambda: floats(v2.Resize((50, 70)), v2.RandomApply([v2.RandomRotation(5)])), "moves a picture and its masks, or does not"),
    (lambda: v2.Compose([v2.Resize((50, 70)), v2.ToImage(), v2.ToDtype({tv_tensors.Image: torch.float32, tv_tensors.Mask: torch.int64, "others": None}, scale=True)]),
     "dtype: got int64 of masks, and those of objects stay torch.uint8"),
])
def test_what_masks_of_objects_cannot_be_is_refused(coco, transforms, message):
    with pytest.raises(spdl.SpecError, match=message):
        spdl.describe(detection(coco, transforms(), target_keys=KEYS))


def test_objects_without_an_outline_are_refused(coco):
    dataset = detection(coco, CHAINS["to a size"](), target_keys=KEYS)
    inner = dataset._dataset
    for wrong in ([], None, {"size": [3, 3], "counts": b"x"}, {"counts": "x"}, {"size": [3], "counts": [9]}):
        next(iter(inner.coco.imgToAnns[inner.ids[0]]))["segmentation"] = wrong
        with pytest.raises(spdl.ArgumentError, match="segmentation: got .*, want a list of polygons, or a dict of size and counts"):
            spdl.describe(dataset)
    next(iter(inner.coco.imgToAnns[inner.ids[0]]))["segmentation"] = [[1, 2, 3, "4", 5, 6]]
    with pytest.raises(spdl.ArgumentError, match=r"png: segmentation of object 0: got '4' in it, want numbers: polygons \[\[x, y"):
        spdl.DataLoader(dataset)
    with pytest.raises(spdl.ArgumentError, match="target_keys: got .*masks"):
        spdl.describe(detection(coco, CHAINS["to a size"](), target_keys=("masks",)))


def test_the_recipe_trains_torchvisions_mask_rcnn(coco, monkeypatch):
    """Faster R-CNN's on the page, with the changes that Mask R-CNN's names; pictures are made small, and the network's numbers are by chance."""
    models = pytest.importorskip("torchvision.models.detection")
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/recipes.md").read_text(encoding="utf-8")
    block = page.partition("## Faster R-CNN")[2].partition("```python\n")[2].partition("```")[0]
    for old, new in [("transforms=transforms))", 'transforms=transforms), target_keys=("boxes", "labels", "masks"))'),
                     ("fasterrcnn_resnet50_fpn", "maskrcnn_resnet50_fpn"), (" for key in (\"boxes\", \"labels\")", " for key in (\"boxes\", \"labels\", \"masks\")")]:
        block = block.replace(old, new)
    seen, real = [], models.maskrcnn_resnet50_fpn

    def small(weights):
        model = real(weights=None, weights_backbone=None, num_classes=91, min_size=32, max_size=64)
        model.register_forward_pre_hook(lambda _, given: seen.append(given))
        return model
    monkeypatch.setattr(models, "maskrcnn_resnet50_fpn", small)
    torch.manual_seed(1)
    scope = {"given": lambda root, file, transforms: detection(coco, transforms, some=False, wrap=False)}
    exec(block.replace("datasets.CocoDetection", "given"), scope)
    targets = [target for _, batch in seen for target in batch]
    assert len(targets) == 7 and all(target["masks"].shape[0] == len(target["boxes"]) for target in targets) and any(target["masks"].any() for target in targets)
    assert torch.isfinite(scope["loss"]) and scope["loss"].requires_grad
