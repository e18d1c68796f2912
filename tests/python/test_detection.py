"""Labels of objects by DETR's kin of transformers' image processors, where there is neither transformers nor torch: by stand-ins. tests/exact/test_detection.py holds them against their own."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import pytest
import spdl
from conftest import built
from test_huggingface import IMAGE, dataset, feature
from test_processors import Pil, Torchvision, detr, processor
from test_torch_drop import named

np = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image")

Coco = named("CocoDetection", "torchvision.datasets.coco", named("Dataset", "torch.utils.data.dataset"), __len__=lambda self: len(self.ids), __getitem__=lambda self, i: None)


class Guides(Coco):
    def __getitem__(self, idx):
        img, target = super().__getitem__(idx)
        target = {"image_id": self.ids[idx], "annotations": target}
        encoding = self.processor(images=img, annotations=target, return_tensors="pt")
        return {"pixel_values": encoding["pixel_values"].squeeze(), "labels": encoding["labels"][0]}


def note(box: Any = (2, 3, 4, 5), **more: Any) -> dict[str, Any]:
    return {"id": 5, "bbox": list(box), "category_id": 7, "area": 20.0, **more}


def coco(cls: Any = Guides, notes: Any = None, of: Any = None, ids: Any = (9, 4), root: Any = "x", **more: Any) -> Any:
    imgs = {number: {"file_name": f"{n}.png"} for n, number in enumerate(ids)}
    return cls(**{"coco": types.SimpleNamespace(imgs=imgs, imgToAnns={9: [note()] if notes is None else notes}), "ids": list(ids), "root": str(root), "transforms": None, "processor": of or detr(), **more})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for n, size in enumerate([(24, 20), (60, 20)]):
        Image.new("RGB", size, (9, 99, 199)).save(tmp_path / f"{n}.png")
    return tmp_path


def test_a_coco_detection_with_a_processor_is_told(root, tmp_path):
    said = spdl.describe(coco(root=root), batch_size=2, collate_fn=list, files=tmp_path)
    assert said["image"] == {"shape": "ragged", "layout": "NCHW", "dtype": "f32", "affine": True, "transform": [{"resize": {"size": 20, "max_size": 33, "rounding": "detr"}}, {"normalize": {"mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4]}}]}
    assert said["source"] == {"list": str(tmp_path / "table.npz"), "labels": "none", "columns": [
        {"name": "image_id", "type": "i64"}, {"name": "boxes", "type": "list", "dtype": "f32", "shape": [-1, 4], "max_length": 1}, {"name": "labels", "type": "list", "dtype": "i64", "max_length": 1},
        {"name": "areas", "type": "list", "dtype": "f32", "max_length": 1}]}


def test_samples_have_labels(library, runtime, root):
    """Cut at the edges, without what is nothing then and without groups, in shares of their picture: of 24 x 20 pixels, which it keeps, and of 60 x 20, which becomes 33 x 11."""
    notes = [note(), note([20, -3, 9, 9], category_id=8, area=81), note([24, 3, 4, 5]), note([5, 5, 0, 5]), note(iscrowd=1), note([0, 0, 24, 20], iscrowd=0)]
    dataset = coco(root=root, notes=notes)
    dataset.coco.imgToAnns[4] = [note([30, 10, 15, 5])]
    with spdl.DataLoader(dataset, batch_size=2, collate_fn=list, tensors="numpy", copy=True, engine=built("spdl")) as loader:
        ((first, second),) = loader
    assert first["pixel_values"].shape == (3, 20, 24) and second["pixel_values"].shape == (3, 11, 33)
    labels = first["labels"]
    assert {key: (str(one.dtype), one.shape) for key, one in labels.items()} == {"size": ("int64", (2,)), "image_id": ("int64", (1,)), "class_labels": ("int64", (3,)), "boxes": ("float32", (3, 4)),
                                                                                 "area": ("float32", (3,)), "iscrowd": ("int64", (3,)), "orig_size": ("int64", (2,))}
    assert labels["image_id"].tolist() == [9] and labels["class_labels"].tolist() == [7, 8, 7] and labels["area"].tolist() == [20, 81, 20] and labels["orig_size"].tolist() == labels["size"].tolist() == [20, 24]
    assert np.allclose(labels["boxes"], [[4 / 24, 5.5 / 20, 4 / 24, 5 / 20], [22 / 24, 3 / 20, 4 / 24, 6 / 20], [0.5, 0.5, 1, 1]], rtol=0, atol=1e-7)
    labels = second["labels"]
    assert labels["orig_size"].tolist() == [20, 60] and labels["size"].tolist() == [11, 33] and np.allclose(labels["area"], 20 * 0.55 * 0.55, rtol=1e-6) and np.allclose(labels["boxes"], [[0.625, 0.625, 0.25, 0.25]], rtol=0, atol=1e-7)


def test_a_batch_says_where_lists_are_of_other_lengths():
    from spdl._torch.labels import Labels, Objects

    row = Objects(np.zeros((3, 4, 4)), 9, np.zeros((2, 4), "f4"), np.zeros(1, "i8"), np.zeros(2, "f4"), np.eye(3)[:2], np.array([4, 4]))
    with pytest.raises(spdl.ArgumentError, match="annotations of image_id 9: got 2 boxes, 1 categories and 2 areas, want as many of each"):
        Labels(True, True)(row)


class Bare(Coco):
    def __getitem__(self, idx):
        img, target = super().__getitem__(idx)
        img = img.rotate(90)
        return img, target


class Unsaid(Coco):
    def __getitem__(self, idx):
        img, target = super().__getitem__(idx)
        encoding = self.processor(images=img, annotations={"image_id": idx, "annotations": target}, return_tensors="pt")
        return encoding["pixel_values"][0], encoding["labels"][0]


class More(Coco):
    def __getitem__(self, idx):
        img, target = super().__getitem__(idx)
        encoding = self.processor(images=img, annotations={"image_id": self.ids[idx], "annotations": target}, return_tensors="pt", do_pad=False)
        return encoding["pixel_values"][0], encoding["labels"][0]


class Placed(Coco):
    def __getitem__(self, idx):
        img, target = super().__getitem__(idx)
        encoding = self.processor(img, {"image_id": self.ids[idx], "annotations": target}, return_tensors="pt")
        return encoding["pixel_values"][0], encoding["labels"][0]


class Alone(Coco):
    def __getitem__(self, idx):
        img, target = super().__getitem__(idx)
        encoding = self.processor(images=img, annotations={"image_id": self.ids[idx], "annotations": target}, return_tensors="pt")
        return encoding["pixel_values"][0]


class Whole(Coco):
    def __getitem__(self, idx):
        img, target = super().__getitem__(idx)
        encoding = self.processor(images=img, annotations={"image_id": self.ids[idx], "annotations": target}, return_tensors="pt")
        return encoding


class Skips(Coco):
    def __getitem__(self, idx):
        img, target = super(Coco, self).__getitem__(idx)
        return img, target


class Masked(Coco):
    def __getitem__(self, idx):
        img, target = super().__getitem__(idx)
        encoding = self.processor(img, annotations={"image_id": self.ids[idx], "annotations": target}, return_tensors="pt")
        return encoding.pixel_values[0], encoding.pixel_mask[0], encoding.labels[0]


class Chooses(Coco):
    def __getitem__(self, idx):
        if idx:
            return None


class Above(Guides):
    def __getitem__(self, idx):
        img, target = super().__getitem__(idx)
        encoding = self.processor(images=img, annotations={"image_id": self.ids[idx], "annotations": target}, return_tensors="pt")
        return encoding["pixel_values"][0], encoding["labels"][0]


class Longer(Guides):
    def __len__(self):
        return 3


WRAPPED = type("Wrapped", (Coco,), {"__module__": "mine", "__getitem__": (lambda read: lambda self, idx: read(self, idx))(Guides.__getitem__)})
FIXED = dict(size={"height": 20, "width": 24}, do_pad=False)


@pytest.mark.parametrize("make, message", [
    (lambda: coco(Bare), r"dataset: Bare has a __getitem__ of its own, .*test_detection.py:\d+: got 'img.rotate\(90\)', want its own __getitem__ to give what super\(\).__getitem__\(i\) returns to its processor, .*#labels-of-objects\); .*docs/recipes.md#detection"),
    (lambda: coco(Unsaid), r"annotations=\{'image_id': idx.*of another picture than the data set's, or other annotations than \{\"image_id\": self.ids\[i\]"),
    (lambda: coco(More), r"do_pad=False\)\", of other arguments than images, annotations and return_tensors=\"pt\""),
    (lambda: coco(Placed), "of other arguments than images, annotations and return_tensors"),
    (lambda: coco(Alone), r"got \"return encoding\['pixel_values'\]\[0\]\", pixel_values of 1 processors"),
    (lambda: coco(Whole), "got 'return encoding', of other things than what the processor returns of one picture"),
    (lambda: coco(Skips), r"got 'super\(Coco, self\).__getitem__\(idx\)'"),
    (lambda: coco(Chooses), "got 'if idx:"),
    (lambda: coco(WRAPPED), "whose text (cannot be read|is not what runs)"),
    (lambda: coco(Above), "has a __getitem__ of its own above that of Guides, which is no less of its own"),
    (lambda: coco(Longer), "has a __len__ of its own beside its __getitem__, want its own"),
    (lambda: coco(transforms=print), "transforms: got one in front of its image processor, of which boxes know nothing"),
    (lambda: coco(processor=None, other=detr()), "processor: got a NoneType, want an image processor of transformers'"),
    (lambda: coco(Masked, of=detr(**FIXED)), "dataset.processor: Masked do_pad: got False, and samples have a pixel_mask, want True"),
    (lambda: coco(of=processor()), r"dataset.processor: Guides got ViTImageProcessor, which makes no labels of annotations, want one of DETR's kin"),
    (lambda: coco(notes=[{"id": 5, "bbox": [1, 2, 3, 4], "category_id": 7}]), "annotation 5: area: got None, want a number, which the labels of objects have"),
    (lambda: coco(notes=[note([1, 2, 3])]), r"annotation 5: bbox: got \[1, 2, 3\], want x, y, width and height"),
    (lambda: coco(notes=[{"id": 5, "bbox": [1, 2, 3, 4], "area": 7}]), "annotation 5: category_id: got None, want a whole number"),
    (lambda: coco(notes=[note(category_id="cat")]), "annotation 5: category_id: got 'cat', want a whole number"),
    (lambda: coco(notes=[note(keypoints=[1, 2, 2])]), "annotation 5: has keypoints, which come into labels, want annotations without"),
    (lambda: coco(ids=("a", "b")), "image ids: got 'a', want whole numbers, as transformers' labels have them"),
])
def test_a_coco_detection_that_cannot_be_told_is_refused(make, message):
    with pytest.raises(spdl.ArgumentError, match=message):
        spdl.describe(make(), batch_size=2, collate_fn=list)


def test_labels_want_a_collate_fn_and_boxes_a_format():
    with pytest.raises(spdl.ArgumentError, match="Guides has samples with labels of as many objects as there are in each, of which torch's own collate makes no batch, want a collate_fn"):
        spdl.describe(coco(), batch_size=2)
    with pytest.raises(spdl.SpecError, match="dataset.processor: DetrImageProcessor.*format: got coco_panoptic, of pictures of segments, want coco_detection: boxes"):
        spdl.describe(coco(of=detr(format="coco_panoptic")), batch_size=2, collate_fn=list)
    with pytest.raises(spdl.ArgumentError, match="is a class of its own, which reads by its __getitem__"):  # whatever that does without a processor
        spdl.describe(coco(processor=None), batch_size=2, collate_fn=list)


# ---- Hugging Face's


def listed(of: Any, length: int = -1) -> Any:
    return feature("List", feature=of, length=length)


WHOLE, FLOAT = feature("Value", dtype="int64"), feature("Value", dtype="float32")
OBJECTS = {"bbox": listed(listed(FLOAT, 4)), "category": listed(WHOLE), "area": listed(FLOAT), "id": listed(WHOLE)}
FIELDS = {"pixel_values": "image", "labels": "objects"}


@pytest.mark.parametrize("features, fields, message", [
    (dict(objects=OBJECTS), FIELDS, r"has no column image_id, which the labels of objects have, want one: dataset.add_column\(\"image_id\", range\(len\(dataset\)\)\); it has image, objects"),
    (dict(objects=OBJECTS, image_id=FLOAT), FIELDS, r"features\['image_id'\]: want whole numbers"),
    (dict(objects={"bbox": OBJECTS["bbox"], "area": OBJECTS["area"]}, image_id=WHOLE), FIELDS, r"features\['objects'\]: got objects with bbox, area, want lists of numbers bbox, .*and category is not there; a description"),
    (dict(objects={**OBJECTS, "category": listed(FLOAT)}, image_id=WHOLE), FIELDS, "and category is no list of whole numbers"),
    (dict(objects={name: OBJECTS[name] for name in ("bbox", "category")}, image_id=WHOLE), FIELDS, "and area is not there"),
    (dict(objects={**OBJECTS, "iscrowd": listed(FLOAT)}, image_id=WHOLE), FIELDS, "and iscrowd is no list of whole numbers"),
    (dict(objects=OBJECTS, image_id=WHOLE), {**FIELDS, "raw": "objects"}, "want 'objects' once, as labels, which an image processor makes of it"),
])
def test_objects_that_cannot_be_told_are_refused(features, fields, message):
    with pytest.raises(spdl.ArgumentError, match=message):
        spdl.DataLoader(dataset(image=IMAGE, **features), fields=fields, transform=detr(Torchvision), batch_size=2)


def test_a_function_as_its_transform_is_refused_with_what_does_it():
    with pytest.raises(spdl.ArgumentError, match=r"has a function as its transform .*and transform= is given, want one of them: dataset.with_format\(None\); of objects with boxes fields=\{'pixel_values': 'image', 'labels': 'objects'\} beside a processor of DETR's kin"):
        spdl.DataLoader(dataset("custom", image=IMAGE, objects=OBJECTS), transform=detr(Pil))
