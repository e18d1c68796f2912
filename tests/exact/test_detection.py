"""Labels of objects by DETR's kin of transformers' image processors, in one word: of a data set of Hugging Face's with COCO's objects, and of a CocoDetection whose own __getitem__ calls its
processor. Held against their own, to the bit, of transformers 4.57.1 and 5.24.0; tests/python/test_processors.py, test_huggingface.py and test_torch_drop.py have what is refused, without them."""

import io
import json
import pathlib
import types

import numpy as np
import pytest
from PIL import Image, ImageOps

from conftest import picture
from test_processors import BICUBIC, WITHIN, classes, of_tensors, spdl, torch, transformers

datasets = pytest.importorskip("torchvision.datasets")
pytest.importorskip("pycocotools", reason="pycocotools is not here, which CocoDetection reads with; make exact brings it")
from torch.utils.data import ConcatDataset, DataLoader, Subset  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

KIN = ("Detr", "ConditionalDetr", "DeformableDetr", "GroundingDino", "RTDetr", "Yolos")
SIZES = [(47, 61), (61, 47), (90, 33), (33, 90), (25, 24), (128, 96), (40, 40), (64, 50), (50, 64)]  # W, H
SIZED = dict(size={"shortest_edge": 34, "longest_edge": 60}, do_pad=True)
GIVEN = {
    "padded": SIZED,
    "corners": dict(SIZED, do_convert_annotations=False),
    "bounded": dict(size={"max_height": 48, "max_width": 48}, do_pad=True, pad_size={"height": 48, "width": 48}, resample=BICUBIC),
    "room around": dict(SIZED, pad_size={"height": 75, "width": 75}),
    "one size": dict(size={"height": 40, "width": 33}, do_pad=True),
    "not padded": dict(size={"height": 40, "width": 33}, do_pad=False),
}
CASES = [pytest.param(cls, given, id=f"{cls.__name__}-{name.replace(' ', '-')}") for kin in KIN for cls in dict.fromkeys(classes(kin).values()) for name, given in GIVEN.items()]
BOTH = [pytest.param(cls, id=cls.__name__) for kin in ("Detr", "RTDetr") for cls in dict.fromkeys(classes(kin).values())]


def objects(rng, w, h, n):
    """Of a picture: boxes inside it, one beyond its edges, one outside of it, one that turns back, and one without a width."""
    inside = [[float(v) for v in (x, y, rng.uniform(0.5, w - x), rng.uniform(0.5, h - y))] for x, y in zip(rng.uniform(0, w - 1, n), rng.uniform(0, h - 1, n))]
    return [*inside, [-3.25, 2.5, w + 9.1, 7.7], [w + 2.0, 1.0, 5.0, 5.0], [9.0, 9.0, -4.0, 3.0], [7.0, 3.5, 0.0, 6.0]][n % 2:] if n else []


@pytest.fixture(scope="module")
def annotated():
    """Pictures, and their objects as COCO has them: of the fifth none, of some a group."""
    rng, out, number = np.random.default_rng(4), [], 0
    for i, (w, h) in enumerate(SIZES):
        notes = []
        for k, box in enumerate(objects(rng, w, h, 0 if i == 4 else 1 + i % 4)):
            number += 1
            notes.append({"id": number, "image_id": 1000 - 7 * i, "bbox": box, "category_id": int(rng.integers(0, 9)), "area": float(rng.uniform(1, 5000)), "iscrowd": int(k % 3 == 2)})
        out.append((Image.fromarray(picture(rng, w, h)), {"image_id": 1000 - 7 * i, "annotations": notes}))
    return out


@pytest.fixture(scope="module")
def root(tmp_path_factory, annotated):
    at = tmp_path_factory.mktemp("coco")
    for image, target in annotated:
        image.save(at / f"{target['image_id']}.png")
    images = [{"id": target["image_id"], "file_name": f"{target['image_id']}.png", "width": image.width, "height": image.height} for image, target in annotated]
    (at / "train.json").write_text(json.dumps({"images": images, "annotations": [one for _, target in annotated for one in target["annotations"]], "categories": [{"id": n, "name": str(n)} for n in range(9)]}))
    return at


def cppe5(annotated, crowds=True, whole_areas=False):
    """The shape of the guide's data set."""
    huggingface = pytest.importorskip("datasets", reason="Hugging Face's datasets are not here; make exact brings them")
    kinds = {"id": huggingface.Value("int64"), "area": huggingface.Value("int64" if whole_areas else "float64"), "category": huggingface.ClassLabel(names=list("abcdefghi")),
             **({"iscrowd": huggingface.Value("bool")} if crowds else {})}
    columns = {"image_id": [], "image": [], "width": [], "objects": []}
    for image, target in annotated:
        data = io.BytesIO()
        image.save(data, "PNG")
        notes = target["annotations"]
        members = {"id": [one["id"] for one in notes], "area": [int(one["area"]) if whole_areas else one["area"] for one in notes], "category": [one["category_id"] for one in notes],
                   "bbox": [one["bbox"] for one in notes], **({"iscrowd": [bool(one["iscrowd"]) for one in notes]} if crowds else {})}
        for column, value in zip(columns, (target["image_id"], {"bytes": data.getvalue(), "path": None}, image.width, members)):
            columns[column].append(value)
    listed = getattr(huggingface, "List", huggingface.Sequence)
    features = {"image_id": huggingface.Value("int64"), "image": huggingface.Image(), "width": huggingface.Value("int32"),
                "objects": {**{name: listed(kind) for name, kind in kinds.items()}, "bbox": listed(listed(huggingface.Value("float32"), length=4))}}
    return huggingface.Dataset.from_dict(columns, huggingface.Features(features))


FIELDS = {"pixel_values": "image", "labels": "objects"}


def noted(data, at):
    """The guide's format_image_annotations_as_coco, with iscrowd as the data set has it."""
    rows = data[at.start:at.stop]
    images, targets = [], []
    for image, number, of in zip(rows["image"], rows["image_id"], rows["objects"]):
        crowds = of.get("iscrowd", [False] * len(of["area"]))
        notes = [{"image_id": number, "category_id": category, "iscrowd": int(crowd), "area": area, "bbox": list(box)} for category, area, box, crowd in zip(of["category"], of["area"], of["bbox"], crowds)]
        images.append(image.convert("RGB"))
        targets.append({"image_id": number, "annotations": notes})
    return images, targets


def returned(processor, data, at):
    images, targets = noted(data, at)
    return processor(images, annotations=targets, return_tensors="pt")


def same_labels(got, want, within=0.0):
    assert isinstance(got, transformers.BatchFeature) and isinstance(want, transformers.BatchFeature) and list(got) == list(want)
    for key, other in want.items():
        one = got[key]
        assert one.dtype == other.dtype and one.shape == other.shape, (key, one.dtype, other.dtype, one.shape, other.shape)
        if within and one.is_floating_point():
            assert one.numel() == 0 or (one - other).abs().max() <= within * max(1, other.abs().max()), key
        else:
            assert torch.equal(one, other), (key, one, other)


def same(got, want, cls, within=0.0):
    """What a batch, or a sample, has is what the processor returns."""
    assert set(got) == set(want)
    assert got["pixel_values"].shape == want["pixel_values"].shape and got["pixel_values"].dtype == want["pixel_values"].dtype
    assert (got["pixel_values"] - want["pixel_values"]).abs().max() <= (WITHIN * want["pixel_values"].abs().max() if of_tensors(cls) else 0)
    assert "pixel_mask" not in want or got["pixel_mask"].dtype == torch.int64 and torch.equal(got["pixel_mask"], want["pixel_mask"])
    for mine, other in zip(got["labels"], want["labels"], strict=True):
        same_labels(mine, other, within)


# ---- Hugging Face's data sets


@pytest.mark.parametrize("cls, given", CASES)
def test_a_batch_is_what_the_processor_returns(annotated, cls, given):
    """Pictures, masks and labels, without groups and without boxes that have nothing of their picture, in padded batches of their own size."""
    data, processor, kept = cppe5(annotated), cls(**given), 0
    with spdl.DataLoader(data, fields=FIELDS, transform=processor, batch_size=4, copy=True) as loader:
        batches = list(loader)
    assert [len(batch["labels"]) for batch in batches] == [4, 4, 1]
    for n, batch in enumerate(batches):
        same(batch, returned(processor, data, range(4 * n, 4 * n + 4)), cls)
        kept += sum(len(label["boxes"]) for label in batch["labels"])
    assert 0 < kept < sum(not one["iscrowd"] for _, target in annotated for one in target["annotations"])


@pytest.mark.parametrize("cls", BOTH)
def test_samples_are_what_the_processor_returns_of_one(annotated, cls):
    """For a collate_fn: rows of sizes of their own, or padded to one, where that is said."""
    data = cppe5(annotated, crowds=False, whole_areas=True)
    for given in ("padded", "bounded", "one size"):
        processor = cls(**GIVEN[given])
        with spdl.DataLoader(data, fields=FIELDS, transform=processor, batch_size=9, copy=True, collate_fn=list) as loader:
            (samples,) = loader
        for n, sample in enumerate(samples):
            same({key: [one] if key == "labels" else one[None] for key, one in sample.items()}, returned(processor, data, range(n, n + 1)), cls)


def test_other_columns_parts_and_numpys_arrays(annotated):
    """Which are plain dicts of arrays; labels are their own, whatever becomes of their slot."""
    data, processor = cppe5(annotated).with_format("torch"), list(classes("Detr").values())[-1](**SIZED)
    fields = {**FIELDS, "number": "image_id", "width": "width"}
    both = []
    for tensors in ("torch", "numpy"):
        with spdl.DataLoader(Subset(data, [7, 2, 4, 0]), fields=fields, transform=processor, batch_size=4, tensors=tensors) as loader:
            for batch in loader:
                both.append({key: batch[key] for key in ("labels", "number", "width")})
                del batch
    assert both[0]["number"].tolist() == [1000 - 7 * i for i in (7, 2, 4, 0)] and both[0]["width"].tolist() == [64, 90, 25, 47]
    for mine, other in zip(both[0]["labels"], both[1]["labels"], strict=True):
        assert type(other) is dict and list(other) == list(mine)
        for key, one in other.items():
            assert isinstance(one, np.ndarray) and str(one.dtype) == str(mine[key].dtype).replace("torch.", "") and np.array_equal(one, mine[key].numpy()), key


@pytest.mark.parametrize("flips", [(v2.RandomHorizontalFlip(1),), (v2.RandomVerticalFlip(1),), (v2.RandomHorizontalFlip(1), v2.RandomVerticalFlip(1))], ids=["across", "down", "both"])
def test_boxes_are_flipped_with_their_pictures(annotated, flips):
    """As those of a picture that was flipped before; colours leave them as they are."""
    cls = list(classes("Detr").values())[-1]
    data, processor = cppe5(annotated), cls(**SIZED)
    with spdl.DataLoader(data, fields=FIELDS, transform=[*flips, processor], batch_size=9, copy=True) as loader:
        (batch,) = loader
    images, targets = noted(data, range(9))
    for flip in flips:
        across = isinstance(flip, v2.RandomHorizontalFlip)
        images = [(ImageOps.mirror if across else ImageOps.flip)(image) for image in images]
        for image, target in zip(images, targets):
            for one in target["annotations"]:
                x, y, w, h = one["bbox"]
                one["bbox"] = [image.width - x - w, y, w, h] if across else [x, image.height - y - h, w, h]
    same(batch, processor(images, annotations=targets, return_tensors="pt"), cls, within=1e-6)
    with spdl.DataLoader(data, fields=FIELDS, transform=[v2.ColorJitter(0.5), processor], batch_size=9, copy=True) as loader:
        (jittered,) = loader
    for mine, other in zip(jittered["labels"], returned(processor, data, range(9))["labels"], strict=True):
        same_labels(mine, other)


def test_each_row_has_the_draw_of_its_picture(annotated):
    """Some are flipped and some are not, with their boxes."""
    data, processor, flipped = cppe5(annotated), list(classes("Detr").values())[-1](**SIZED), []
    with spdl.DataLoader(data, fields=FIELDS, transform=[v2.RandomHorizontalFlip(0.5), processor], batch_size=9, copy=True) as loader:
        (batch,) = loader
    want = returned(processor, data, range(9))
    for pixels, mask, label, still, other in zip(batch["pixel_values"], batch["pixel_mask"], batch["labels"], want["pixel_values"], want["labels"], strict=True):
        flipped.append(not torch.equal(pixels, still))
        x = other["boxes"][:, 0] if not flipped[-1] else mask[0].sum() / mask.shape[1] - other["boxes"][:, 0]
        assert (label["boxes"][:, 0] - x).abs().sum() <= 1e-5 and (label["boxes"][:, 1:] - other["boxes"][:, 1:]).abs().sum() <= 1e-5
    assert len(set(flipped)) == 2


def test_what_moves_boxes_otherwise_is_refused(annotated):
    """Ahead of the processor, by its place."""
    data, processor = cppe5(annotated), list(classes("Detr").values())[-1](**SIZED)
    for front, message in [
        (v2.RandomResizedCrop(30), r"transform\[0\]: RandomResizedCrop.*got random_resized_crop of pictures whose processor makes labels of objects, want flips and what changes colours: a description has boxes"),
        (v2.RandomRotation(9), r"got random_rotation of pictures whose processor makes labels"),
    ]:
        with pytest.raises(spdl.SpecError, match=message):
            spdl.describe(data, fields=FIELDS, transform=[front, processor])
    albumentations = pytest.importorskip("albumentations")
    front = albumentations.Compose([albumentations.HorizontalFlip()], bbox_params=albumentations.BboxParams(format="coco", label_fields=["category"]))
    with pytest.raises(spdl.ArgumentError, match="transform: has bbox_params, and labels are made of the boxes that the data set has, want Compose without it: they follow flips"):
        spdl.describe(data, fields=FIELDS, transform=[front, processor])
    with spdl.DataLoader(data, fields=FIELDS, transform=[albumentations.HorizontalFlip(p=1), processor], batch_size=9, copy=True) as loader:
        (batch,) = loader
    with spdl.DataLoader(data, fields=FIELDS, transform=[v2.RandomHorizontalFlip(1), processor], batch_size=9, copy=True) as loader:
        (other,) = loader
    for mine, want in zip(batch["labels"], other["labels"], strict=True):
        same_labels(mine, want)


def test_a_data_set_without_boxes_has_none(annotated):
    """Of each picture no label, in batches all the same."""
    data, processor = cppe5([(image, {**target, "annotations": []}) for image, target in annotated]), list(classes("Detr").values())[-1](**SIZED)
    with spdl.DataLoader(data, fields=FIELDS, transform=processor, batch_size=9, copy=True) as loader:
        (batch,) = loader
    same(batch, returned(processor, data, range(9)), type(processor))


def test_a_model_learns_from_a_batch(annotated):
    """YOLOS of random weights: the same loss as of the processor's own."""
    cls = list(classes("Yolos").values())[-1]
    data, processor = cppe5(annotated), cls(size={"height": 32, "width": 48}, do_pad=False)
    config = transformers.YolosConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, image_size=[32, 48], num_detection_tokens=12, num_labels=9)
    model = transformers.YolosForObjectDetection(config).eval()
    with spdl.DataLoader(data, fields=FIELDS, transform=processor, batch_size=9, copy=True) as loader:
        (batch,) = loader
    want = model(**returned(processor, data, range(9))).loss
    got = model(**batch).loss
    assert torch.isfinite(got) and abs(got - want) <= 1e-5 * want


# ---- CocoDetection with a processor in its __getitem__


class Guides(datasets.CocoDetection):
    """As the well-known notebooks have it."""

    def __init__(self, folder, processor):
        super(Guides, self).__init__(str(folder), str(folder / "train.json"))
        self.processor = processor

    def __getitem__(self, idx):
        """Reads a picture and its target."""
        img, target = super(Guides, self).__getitem__(idx)
        # the format of DETR
        image_id = self.ids[idx]
        target = {'image_id': image_id, 'annotations': target}
        encoding = self.processor(images=img, annotations=target, return_tensors="pt")
        pixel_values = encoding["pixel_values"].squeeze()  # without the batch
        target = encoding["labels"][0]

        return pixel_values, target


class Named(datasets.CocoDetection):
    def __init__(self, folder, image_processor):
        super().__init__(str(folder), str(folder / "train.json"))
        self.image_processor = image_processor

    def __getitem__(self, i):
        image, notes = super().__getitem__(i)
        made = self.image_processor(image, annotations={"image_id": self.ids[i], "annotations": notes}, return_tensors="pt")
        return {"pixel_values": made.pixel_values[0], "pixel_mask": made["pixel_mask"].squeeze(0), "labels": made["labels"][0]}


class Raw(datasets.CocoDetection):
    def __getitem__(self, index: int):
        image, notes = both = super().__getitem__(index)
        return both


def local(folder, processor):
    """Of a class that is defined in a function."""
    class Inside(datasets.CocoDetection):
        def __init__(self, folder, processor):
            super(Inside, self).__init__(str(folder), str(folder / "train.json"))
            self.of_detr = processor

        def __getitem__(self, idx):
            img, target = super(Inside, self).__getitem__(idx)
            encoding = self.of_detr(images=img, annotations={"annotations": target, "image_id": self.ids[idx]}, return_tensors="pt")
            return [encoding["labels"][0], (encoding["pixel_values"].squeeze(0),)]

    return Inside(folder, processor)


def flat(sample):
    """Whatever form it has: pictures and masks, and labels."""
    if isinstance(sample, dict):
        return [sample[key] for key in sample]
    return [sample[0], sample[1]] if isinstance(sample, tuple) else [sample[1][0], sample[0]]


@pytest.mark.parametrize("make", [Guides, Named, local], ids=lambda make: make.__name__)
@pytest.mark.parametrize("cls", BOTH)
def test_samples_of_a_coco_detection_are_its_own(root, cls, make):
    """In the form that its __getitem__ gives them, for its collate_fn."""
    for given in ("padded", "bounded", "one size"):
        dataset = make(root, cls(**GIVEN[given]))
        with spdl.DataLoader(dataset, batch_size=4, collate_fn=list, copy=True) as loader:
            batches = list(loader)
            assert len(loader) == 3
        for mine, other in zip([sample for batch in batches for sample in batch], map(dataset.__getitem__, range(9)), strict=True):
            assert type(mine) is type(other)
            for one, want in zip(flat(mine), flat(other), strict=True):
                if not torch.is_tensor(want):
                    same_labels(one, want)
                else:
                    assert one.shape == want.shape and one.dtype == want.dtype and (one - want).abs().max() <= (WITHIN * want.abs().max() if of_tensors(cls) and want.is_floating_point() else 0)


def test_parts_and_joined_ones_are_shuffled(root):
    """Each sample once, whatever its place."""
    processor = list(classes("RTDetr").values())[-1](size={"height": 24, "width": 24})
    dataset = ConcatDataset([Subset(Guides(root, processor), [1, 5, 8]), Guides(root, processor)])
    want = sorted(int(label["image_id"]) for batch in DataLoader(dataset, batch_size=5, collate_fn=list) for _, label in batch)
    with spdl.DataLoader(dataset, batch_size=5, shuffle=True, collate_fn=list, copy=True) as loader:
        got = [int(label["image_id"]) for batch in loader for _, label in batch]
    assert len(want) == 12 and sorted(got) == want and got != want


def test_the_guides_collate_fn_pads(root):
    """By processor.pad of transformers 4, which is the program's, and done in the loop."""
    cls = classes("Detr").get("DetrImageProcessor")
    if hasattr(transformers, "DetrImageProcessorPil"):
        pytest.skip("transformers 5's pad takes one picture and a size: that collate_fn is of transformers 4")
    processor = cls(**SIZED)

    def collate_fn(batch):
        encoding = processor.pad([item[0] for item in batch], return_tensors="pt")
        return {"pixel_values": encoding["pixel_values"], "pixel_mask": encoding["pixel_mask"], "labels": [item[1] for item in batch]}

    dataset = Guides(root, processor)
    with spdl.DataLoader(dataset, batch_size=4, collate_fn=collate_fn) as loader:
        for got, want in zip(loader, DataLoader(dataset, batch_size=4, collate_fn=collate_fn), strict=True):
            same(got, want, cls)


def test_what_runs_is_what_is_read(root):
    """A __getitem__ that is another than its text, or does more, is refused by its line."""
    processor = list(classes("Detr").values())[-1](**SIZED)
    raw = Raw.__new__(Raw)
    vars(raw).update(vars(Named(root, processor)))
    with pytest.raises(spdl.ArgumentError, match=r"Raw has a __getitem__ of its own, .*test_detection.py:\d+: got 'image, notes = both = super\(\).__getitem__\(index\)"):
        spdl.DataLoader(raw, batch_size=4, collate_fn=list)
    kept = Guides.__getitem__
    try:
        Guides.__getitem__ = lambda self, idx: kept(self, idx)
        with pytest.raises(spdl.ArgumentError, match="whose text (cannot be read|is not what runs)"):
            spdl.DataLoader(Guides(root, processor), batch_size=4, collate_fn=list)
    finally:
        Guides.__getitem__ = kept


# ---- docs/equivalents.md


def block(n):
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/equivalents.md").read_text(encoding="utf-8")
    return page.partition("### Labels of objects")[2].split("```python\n")[n].partition("```")[0]


def test_the_pages_block_runs(annotated, monkeypatch):
    huggingface, seen = pytest.importorskip("datasets"), []
    monkeypatch.setattr(huggingface, "load_dataset", lambda *_, **__: cppe5(annotated, crowds=False))
    monkeypatch.setattr(transformers.AutoImageProcessor, "from_pretrained", lambda _, **given: list(classes("Detr").values())[-1](**given))
    monkeypatch.setattr(transformers.AutoModelForObjectDetection, "from_pretrained", lambda _, **given: lambda **batch: seen.append(batch) or types.SimpleNamespace(loss=0))
    exec(block(1), {})
    assert [len(batch["labels"]) for batch in seen] == [8, 1]
    for batch in seen:
        n = len(batch["labels"])
        assert batch["pixel_values"].shape == (n, 3, 480, 480) and batch["pixel_mask"].shape == (n, 480, 480)
        assert list(batch["labels"][0]) == ["size", "image_id", "class_labels", "boxes", "area", "iscrowd", "orig_size"]


def test_the_pages_class_is_taken(root, tmp_path, monkeypatch):
    """In a file, as nobody can read what is run without one."""
    (root / "_annotations.coco.json").write_bytes((root / "train.json").read_bytes())
    written, _, loop = block(2).partition("loader =")
    (tmp_path / "of_the_page.py").write_text("import torchvision\n\n" + written)
    monkeypatch.syspath_prepend(str(tmp_path))
    cls = __import__("of_the_page").CocoDetection
    names = {"spdl": spdl, "CocoDetection": lambda folder, processor: cls(root, processor), "processor": list(classes("Detr").values())[-1](**SIZED), "collate_fn": list}
    exec(f"loader ={loop}", names)
    with names["loader"] as loader:
        assert sorted(int(label["image_id"]) for batch in loader for _, label in batch) == [1000 - 7 * i for i in range(8, -1, -1)]
