"""spdl.DataLoader in the place of torch's where transforms leave each picture a size of its own: torchvision's detection training, masks and plain folders, in lists of pictures."""

import json
import pathlib
import types
from collections import defaultdict

import numpy as np
import pytest
from PIL import Image

from conftest import picture

torch = pytest.importorskip("torch")
spdl = pytest.importorskip("spdl")
v2 = pytest.importorskip("torchvision.transforms.v2")
datasets = pytest.importorskip("torchvision.datasets")
tv_tensors = pytest.importorskip("torchvision.tv_tensors")
from torch.utils.data import ConcatDataset, DataLoader, Subset, default_collate  # noqa: E402

import annotated  # noqa: E402
from annotated import SIZES, detection, floats, loaded, same_targets, zipped  # noqa: E402

BLACK = {tv_tensors.Mask: 0, "others": 0}
WIDE = {tv_tensors.Image: torch.float32, tv_tensors.Mask: torch.int64, "others": None}


@pytest.fixture(scope="module")
def coco(tmp_path_factory):
    return annotated.coco(tmp_path_factory.mktemp("coco"))


@pytest.fixture(scope="module")
def voc(tmp_path_factory):
    return annotated.voc(tmp_path_factory.mktemp("voc"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Pictures of all SIZES, of two classes."""
    at, rng = tmp_path_factory.mktemp("folder"), np.random.default_rng(9)
    for i, (w, h) in enumerate(SIZES):
        (at / "ab"[i % 2]).mkdir(exist_ok=True)
        Image.fromarray(picture(rng, w, h)).save(at / "ab"[i % 2] / f"{i}.png")
    return at


# ---- what is not random is torch's


CHAINS = {  # and the room of a row, where the transforms do not bound it themselves
    "as they are": (lambda: [], [77, 123]),
    "flipped": (lambda: [v2.RandomHorizontalFlip(1), v2.RandomVerticalFlip(1)], [77, 123]),
    "shorter side": (lambda: [v2.Resize(32)], [32, 207]),
    "by a number": (lambda: [v2.RandomResize(24, 25), v2.RandomHorizontalFlip(1)], [24, 155]),
    "one shortest": (lambda: [v2.RandomShortestSize(40)], [40, 259]),
    "within": (lambda: [v2.Resize(40, max_size=61)], None),
    "shortest within": (lambda: [v2.RandomShortestSize([37], max_size=90)], None),
    "jittered": (lambda: [v2.ScaleJitter((64, 50), (1, 1))], None),
    "zoomed out": (lambda: [v2.RandomZoomOut(fill=BLACK, side_range=(1, 1), p=1), v2.Resize(40, max_size=61)], None),
}
COLOURS = {
    "jitter first": (lambda: [v2.ColorJitter((1.5, 1.5)), v2.Resize(32)], [32, 207]),
    "jitter behind": (lambda: [v2.RandomZoomOut(fill=BLACK, side_range=(1, 1), p=1), v2.Resize(32), v2.ColorJitter(contrast=(0.5, 0.5))], [32, 207]),
    "jitter alone": (lambda: [v2.ColorJitter(saturation=(0.3, 0.3)), v2.RandomZoomOut(fill=BLACK, side_range=(1, 1), p=1), v2.RandomHorizontalFlip(1)], [77, 123]),
    "posterized": (lambda: [v2.Resize(32), v2.RandomPosterize(4, 1)], [32, 207]),
}
ENDS = {
    "floats": lambda *front: floats(*front),
    "bytes": lambda *front: v2.Compose([*front, v2.PILToTensor()]),
    "plain": lambda *front: v2.Compose([floats(*front), v2.SanitizeBoundingBoxes(), v2.ToPureTensor()]),
    "normalized": lambda *front: v2.Compose([floats(*front), v2.Normalize((0.5, 0.4, 0.3), (0.1, 0.2, 0.3)), v2.ClampBoundingBoxes(), v2.SanitizeBoundingBoxes(min_size=9, min_area=100)]),
    "widths": lambda *front: v2.Compose([floats(*front), v2.ConvertBoundingBoxFormat("XYWH")]),
}


def same_pictures(make, batch_size=4, within=1e-6, **said):
    theirs = list(DataLoader(make(), batch_size=batch_size, **said))
    ours, n = loaded(make(), batch_size=batch_size, **said)
    assert n == len(ours) == len(theirs)
    for (images, targets), (wanted, wanted_targets) in zip(ours, theirs):
        assert type(images) is type(wanted) and type(targets) is type(wanted_targets) and len(images) == len(targets) == len(wanted)
        for image, want in zip(images, wanted):
            assert image.shape == want.shape and image.dtype == want.dtype and type(image) is type(want)
            assert (image.double() - want.double()).abs().max() <= within
        yield from zip(targets, wanted_targets, strict=True)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("name", [*CHAINS, *COLOURS])
def test_a_detection_loop_gets_pictures_of_their_own_size(coco, name, end):
    chain, _ = {**CHAINS, **COLOURS}[name]
    of = list(same_pictures(lambda: detection(coco, ENDS[end](*chain())), within=1e-5 if end == "normalized" else 1e-6, collate_fn=zipped))
    for target, want in of:
        same_targets(target, want)
    assert len(of) == 6 and (end != "floats" or len({target["boxes"].canvas_size for target, _ in of}) > 3)


@pytest.mark.parametrize("name", CHAINS)
def test_a_row_has_room_for_the_largest_picture_there_is(coco, voc, name):
    """Of boxes as their annotations say how large pictures are, of masks as their files do: and no row is larger."""
    chain, room = CHAINS[name]
    of_boxes = spdl.describe(detection(coco, floats(*chain())), collate_fn=zipped)["image"]
    of_masks = spdl.describe(datasets.wrap_dataset_for_transforms_v2(datasets.VOCSegmentation(str(voc), transforms=floats(*chain()))), collate_fn=zipped)["fields"]
    for section in (of_boxes, of_masks["image"]["image"], of_masks["mask"]["image"]):
        assert section["shape"] == "ragged" and section.get("room") == room


def test_vocs_boxes_are_torchs(voc):
    def dataset():
        return datasets.wrap_dataset_for_transforms_v2(datasets.VOCDetection(str(voc), transforms=v2.Compose([v2.RandomHorizontalFlip(1), v2.ToImage()])))
    for target, want in same_pictures(dataset, batch_size=3, collate_fn=zipped):
        same_targets(target, want)
    assert spdl.describe(dataset(), collate_fn=zipped)["image"]["room"] == [77, 123]


@pytest.mark.parametrize("name", CHAINS)
def test_masks_of_their_own_size_are_torchs_to_the_bit(voc, name):
    def dataset():
        return datasets.wrap_dataset_for_transforms_v2(datasets.VOCSegmentation(str(voc), transforms=v2.Compose([*CHAINS[name][0](), v2.ToImage(), v2.ToDtype(WIDE, scale=True)])))
    of = list(same_pictures(dataset, batch_size=3, collate_fn=zipped))
    assert len(of) == 7 and all(type(mask) is type(want) and mask.dtype == want.dtype == torch.int64 and torch.equal(mask, want) for mask, want in of)


def padded(samples):
    """torchvision's collate_fn for segmentation."""
    batches = []
    for tensors, fill in zip(zip(*samples), (0, 255)):
        batch = tensors[0].new_full((len(tensors), *(max(sides) for sides in zip(*[t.shape for t in tensors]))), fill)
        for one, to in zip(tensors, batch):
            to[..., :one.shape[-2], :one.shape[-1]].copy_(one)
        batches.append(batch)
    return batches


def test_a_collate_fn_that_pads_gets_what_it_pads(voc):
    def dataset():
        return datasets.wrap_dataset_for_transforms_v2(datasets.VOCSegmentation(str(voc), transforms=floats(v2.Resize(40, max_size=61))))
    ours, _ = loaded(dataset(), batch_size=3, collate_fn=padded)
    for got, want in zip(ours, DataLoader(dataset(), batch_size=3, collate_fn=padded), strict=True):
        assert (got[0] - want[0]).abs().max() <= 1e-6 and torch.equal(got[1], want[1])


@pytest.mark.parametrize("chain", [[v2.Resize(24, max_size=50)], [v2.RandomShortestSize(30, max_size=44), v2.RandomHorizontalFlip(1)]], ids=["resized", "shortest"])
def test_a_folder_of_pictures_comes_in_a_list(folder, chain):
    def dataset():
        return datasets.ImageFolder(str(folder), floats(*chain))
    of = list(same_pictures(dataset, batch_size=3, collate_fn=zipped))
    assert of == [(label, label) for label, _ in of] and len(of) == 7
    parts = list(same_pictures(lambda: ConcatDataset([Subset(dataset(), [5, 1]), dataset()]), batch_size=5, collate_fn=zipped))
    assert len(parts) == 9


def test_one_picture_is_a_batch_of_any_size(folder, voc, coco):
    """torch's own collate makes one of it."""
    ours, n = loaded(datasets.ImageFolder(str(folder), floats(v2.Resize(24, max_size=50))))
    theirs = list(DataLoader(datasets.ImageFolder(str(folder), floats(v2.Resize(24, max_size=50)))))
    assert n == 7 and len({images.shape for images, _ in ours}) > 3
    for (images, labels), (wanted, wanted_labels) in zip(ours, theirs, strict=True):
        assert images.shape == wanted.shape and (images - wanted).abs().max() <= 1e-6 and torch.equal(labels, wanted_labels)
    segmented = datasets.wrap_dataset_for_transforms_v2(datasets.VOCSegmentation(str(voc), transforms=floats()))
    for (images, masks), (wanted, wanted_masks) in zip(loaded(segmented, collate_fn=default_collate)[0], DataLoader(segmented), strict=True):
        assert images.shape == wanted.shape and masks.shape == wanted_masks.shape and torch.equal(masks, wanted_masks)
    for images, (target,) in loaded(detection(coco, floats()))[0]:
        assert images.ndim == 4 and target["boxes"].canvas_size == images.shape[-2:]


def test_pixels_that_are_held_keep_what_sizes_they_are_given():
    dataset = datasets.CIFAR10.__new__(datasets.CIFAR10)
    vars(dataset).update(transform=v2.Compose([v2.RandomResize(8, 12), v2.PILToTensor()]), target_transform=None, root="x", targets=[0, 1] * 8,
                         data=np.random.default_rng(2).integers(0, 255, (16, 20, 20, 3), np.uint8))
    (images, labels), = loaded(dataset, batch_size=16, collate_fn=zipped)[0]
    sizes = {tuple(image.shape[1:]) for image in images}
    assert len(sizes) > 1 and sizes <= {(n, n) for n in (8, 9, 10, 11)} and labels == (0, 1) * 8
    assert spdl.describe(dataset, collate_fn=zipped)["image"]["room"] == [11, 11]


def test_pictures_are_views_of_the_slot(coco):
    with spdl.DataLoader(detection(coco, floats()), batch_size=3, collate_fn=zipped) as loader:
        images, _ = next(iter(loader))
        assert [one.data_ptr() - images[0].data_ptr() for one in images[1:]] == [images[0].nbytes, images[0].nbytes + images[1].nbytes]
    with spdl.DataLoader(detection(coco, floats()), batch_size=3, collate_fn=zipped, tensors="numpy", copy=True) as loader:
        images, targets = next(iter(loader))
        assert all(type(one) is np.ndarray for one in (*images, targets[0]["boxes"], targets[0]["labels"])) and images[0].shape[0] == 3


# ---- what is random


@pytest.fixture(scope="module")
def painted(tmp_path_factory):
    """Black pictures with white boxes, up to three in each."""
    root, rng = tmp_path_factory.mktemp("painted"), np.random.default_rng(7)
    said = {"images": [], "annotations": [], "categories": []}
    for i in range(12):
        height, width = (int(n) for n in rng.integers(90, 220, 2))
        pixels = np.zeros((height, width, 3), np.uint8)
        for k in range(1 + i % 3):  # each in a third of the picture
            third = width // 3
            left, top = int(rng.integers(k * third + 6, (k + 1) * third - 17)), int(rng.integers(6, height - 32))
            w, h = int(rng.integers(10, (k + 1) * third - 6 - left)), int(rng.integers(20, height - top - 6))
            pixels[top:top + h, left:left + w] = 255
            said["annotations"].append({"id": len(said["annotations"]) + 1, "image_id": i, "bbox": [left, top, w, h], "category_id": 1 + k, "iscrowd": 0, "area": w * h})
        Image.fromarray(pixels).save(root / f"{i}.png")
        said["images"].append({"id": i, "file_name": f"{i}.png", "width": width, "height": height})
    (root / "instances.json").write_text(json.dumps(said))
    return root


BACKENDS = {"pil": [], "tensor": [v2.PILToTensor()], "tv_tensor": [v2.ToImage()]}


def preset(policy, backend, fill=0):
    """torchvision's DetectionPresetTrain of v2 (references/detection/presets.py), whose mean is fill here."""
    front = {
        "hflip": lambda: [v2.RandomHorizontalFlip()],
        "lsj": lambda: [v2.ScaleJitter((100, 100), (0.8, 1.5), antialias=True), v2.RandomHorizontalFlip()],
        "multiscale": lambda: [v2.RandomShortestSize(min_size=(80, 100, 120), max_size=200), v2.RandomHorizontalFlip()],
        "ssd": lambda: [v2.RandomPhotometricDistort(), v2.RandomZoomOut(fill=defaultdict(lambda: fill, {tv_tensors.Mask: 0})), v2.RandomIoUCrop(), v2.RandomHorizontalFlip()],
        "ssdlite": lambda: [v2.RandomIoUCrop(), v2.RandomHorizontalFlip()],
    }[policy]()
    return v2.Compose([*BACKENDS[backend], *front, *([v2.ToImage()] if backend == "pil" else []), v2.ToDtype(torch.float, scale=True), v2.ConvertBoundingBoxFormat(tv_tensors.BoundingBoxFormat.XYXY), v2.SanitizeBoundingBoxes(), v2.ToPureTensor()])


def is_painted(image, box):
    """Whether a box is brighter than what is around it, but for the pixels at its edges, which a filter mixes."""
    x1, y1, x2, y2 = (round(float(v)) for v in box)
    grey = image.mean(0).numpy()
    rows, columns = np.arange(grey.shape[0])[:, None], np.arange(grey.shape[1])

    def within(by):
        return (rows >= y1 - by) & (rows < y2 + by) & (columns >= x1 - by) & (columns < x2 + by)
    return grey[within(-2)].min(initial=1) - grey[within(3) & ~within(1)].max(initial=0) > 0.2


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("policy", ["hflip", "lsj", "multiscale", "ssd", "ssdlite"])
def test_the_presets_of_torchvisions_references(painted, policy, backend):
    """Each box that comes out is where it is painted, in a picture of a size that torch's chain could give."""
    dataset = detection(painted, preset(policy, backend))
    sizes, seen, whole = set(), 0, 0
    with spdl.DataLoader(dataset, batch_size=2, shuffle=True, generator=torch.Generator().manual_seed(3), collate_fn=zipped) as loader:
        for _ in range(6):
            for images, targets in loader:
                for image, target in zip(images, targets, strict=True):
                    assert type(image) is type(target["boxes"]) is torch.Tensor and image.dtype == torch.float32 and image.shape[0] == 3
                    h, w = image.shape[1:]
                    of = dataset.coco.imgs[target["image_id"]]
                    sizes.add((target["image_id"], h, w))
                    assert len(target["boxes"]) == len(target["labels"])
                    if policy in ("hflip", "lsj", "multiscale"):
                        assert target["labels"].tolist() == [one["category_id"] for one in dataset.coco.imgToAnns[target["image_id"]]]
                    if policy == "hflip":
                        assert (h, w) == (of["height"], of["width"])
                    if policy == "multiscale":
                        ratios = [min(n / min(of["height"], of["width"]), 200 / max(of["height"], of["width"])) for n in (80, 100, 120)]
                        assert (h, w) in [(int(of["height"] * by), int(of["width"] * by)) for by in ratios]
                    for box in target["boxes"]:
                        assert 0 <= box[0] < box[2] <= w and 0 <= box[1] < box[3] <= h
                        assert is_painted(image, box), (policy, target, image.shape)
                        seen += 1
                    whole += (h, w) == (of["height"], of["width"])
    assert seen > 40 and (whole == 72 if policy == "hflip" else whole < 60) and (policy == "hflip" or len(sizes) > 24)


@pytest.mark.parametrize("chain", [[v2.RandomZoomOut(side_range=(3, 3), p=1)], [v2.RandomZoomOut(side_range=(2.7, 2.7), p=1), v2.RandomRotation(20, expand=True), v2.Resize(50)]], ids=["alone", "resized"])
def test_a_picture_that_is_zoomed_out_has_room(painted, chain):
    """To the largest side that there is, and behind it a resize that only the shape bounds."""
    dataset = detection(painted, floats(*chain))
    room = spdl.describe(dataset, collate_fn=zipped)["image"]["room"]
    for images, targets in loaded(dataset, batch_size=4, collate_fn=zipped)[0]:
        for image, target in zip(images, targets):
            of, (h, w) = dataset.coco.imgs[target["image_id"]], image.shape[1:]
            assert h * w <= room[0] * room[1] and ((h, w) == (3 * of["height"], 3 * of["width"]) if len(chain) == 1 else min(h, w) == 50)
    if len(chain) == 1:
        assert room[0] * room[1] == 9 * max(one["height"] * one["width"] for one in dataset.coco.imgs.values())


def test_colours_that_change_ahead_are_the_whole_pictures(painted):
    """What is around a picture that is zoomed out has the colour that fill says: a distortion in front of it leaves that."""
    chain = [v2.RandomPhotometricDistort(p=1), v2.RandomZoomOut(fill=[40, 90, 200], side_range=(2, 3), p=1), v2.PILToTensor()]
    batches = loaded(detection(painted, v2.Compose(chain)), batch_size=4, collate_fn=zipped)[0]
    for image, target in [one for images, targets in batches for one in zip(images, targets, strict=True)]:
        corners = image[:, [0, 0, -1, -1], [0, -1, 0, -1]].T.tolist()
        assert [40, 90, 200] in corners and (image != torch.tensor([40, 90, 200])[:, None, None]).any()
        assert target["boxes"].canvas_size == image.shape[1:]


# ---- what is refused


def unsized(root):
    dataset = detection(root, floats(), wrap=False)
    dataset.coco.imgs[dataset.ids[0]] = {"file_name": "0.png", "width": 9.5}
    return datasets.wrap_dataset_for_transforms_v2(dataset)


def no_png(voc, tmp_path):
    dataset = datasets.VOCSegmentation(str(voc), transforms=floats())
    dataset.masks[2] = str(tmp_path / "mask.png")
    (tmp_path / "mask.png").write_bytes(b"GIF89a")
    return datasets.wrap_dataset_for_transforms_v2(dataset)


class FixedSizeCrop(torch.nn.Module):
    def forward(self, *sample):
        return sample


class Preset:
    def __init__(self):
        self.transforms = floats()

    def __call__(self, *sample):
        return self.transforms(*sample)


REFUSED = {
    "one tensor": (lambda f: (f.of(floats()), dict(batch_size=2)), r"dataset.transforms: Compose.*leaves the size of each picture open, and torch's own collate makes batches of one size, want collate_fn=lambda samples: tuple\(zip"),
    "torch's collate": (lambda f: (f.of(floats()), dict(batch_size=2, collate_fn=default_collate)), "torch's own collate makes batches of one size"),
    "a folder in one tensor": (lambda f: (datasets.ImageFolder(str(f.folder), floats(v2.Resize(24, max_size=50))), dict(batch_size=2)), "dataset.transform: .*or one size: Resize"),
    "a folder without a bound": (lambda f: (datasets.ImageFolder(str(f.folder), floats(v2.Resize(24))), dict(collate_fn=zipped)), r"a data set of files and labels says nothing of it, want what bounds it: Resize\(N, max_size=M\)"),
    "no size in the annotation": (lambda f: (unsized(f.coco), dict(collate_fn=zipped)), r"CocoDetection.* /.*0.png: got no width and height in its annotation, want both: .*Resize\(N, max_size=M\) bounds them"),
    "a mask that is no PNG": (lambda f: (no_png(f.voc, f.tmp_path), dict(collate_fn=zipped)), "mask.png: got a mask that is no PNG"),
    "padded": (lambda f: (f.of(floats(v2.Pad(3))), dict(collate_fn=zipped)), r"image.transform\[0\].pad: got pad without a size to add to.*is of dataset.transforms.transforms\[0\], Pad"),
    "grown behind a resize": (lambda f: (f.of(floats(v2.Resize(24, max_size=50), v2.RandomZoomOut())), dict(collate_fn=zipped)), r"got random_zoom_out behind what resizes the picture.*write random_zoom_out in front of that.*RandomZoomOut"),
    "grown behind a blur": (lambda f: (f.of(floats(v2.GaussianBlur(3), v2.RandomZoomOut())), dict(collate_fn=zipped)), "got random_zoom_out behind gaussian_blur, where the row has its size"),
    "resized as a tensor of floats": (lambda f: (f.of(v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.RandomShortestSize(9, max_size=20)])), dict(collate_fn=zipped)), r"RandomShortestSize.*works on a tensor of floats.*put it in front"),
    "no sanitizing": (lambda f: (f.of(floats(v2.RandomIoUCrop())), dict(collate_fn=zipped)), "leaves boxes out, want SanitizeBoundingBoxes"),
    "a class of the references": (lambda f: (f.of(floats(v2.ScaleJitter((64, 64)), FixedSizeCrop())), dict(collate_fn=zipped)), "FixedSizeCrop.*a class of torchvision's references: leave it out, where pictures keep the size that ScaleJitter gives them"),
    "a preset": (lambda f: (f.of(Preset()), dict(collate_fn=zipped)), "got a Preset of .*give its transforms: dataset.transforms.transforms"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_bound_or_no_batch_is_refused(coco, voc, folder, tmp_path, name):
    make, message = REFUSED[name]
    dataset, said = make(types.SimpleNamespace(coco=coco, voc=voc, folder=folder, tmp_path=tmp_path, of=lambda chain: detection(coco, chain)))
    with pytest.raises(spdl.SpdlError, match=message):
        spdl.DataLoader(dataset, **said)


def test_a_picture_that_is_larger_than_its_annotation_says_ends_the_loop(coco):
    dataset = detection(coco, floats(), wrap=False)
    for one in dataset.coco.imgs.values():
        one.update(width=30, height=40)
    with spdl.DataLoader(datasets.wrap_dataset_for_transforms_v2(dataset), batch_size=6, collate_fn=zipped) as loader, pytest.raises(spdl.SpdlError, match="want at most 1200 pixels.*image.room"):
        list(loader)


# ---- a recipe


def test_the_recipe_trains_torchvisions_faster_rcnn(coco, monkeypatch):
    """As the page has it, but for a smaller network with numbers by chance."""
    models = pytest.importorskip("torchvision.models.detection")
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/recipes.md").read_text(encoding="utf-8")
    block = page.partition("## Faster R-CNN")[2].partition("```python\n")[2].partition("```")[0]
    seen = []

    def small(weights):
        model = models.fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None, num_classes=91, min_size=64, max_size=128)
        model.register_forward_pre_hook(lambda _, given: seen.append(given))
        return model
    monkeypatch.setattr(models, "fasterrcnn_resnet50_fpn", small)
    monkeypatch.setattr(datasets, "CocoDetection", lambda root, file, transforms: detection(coco, transforms, some=False, wrap=False))
    torch.manual_seed(1)
    scope = {}
    exec(block, scope)
    assert sum(len(images) for images, _ in seen) == 7 and all(min(image.shape[1:]) >= 40 for images, _ in seen for image in images)
    assert torch.isfinite(scope["loss"]) and scope["loss"].requires_grad
