"""spdl.DataLoader on data sets of Hugging Face's that have a function as their transform: torch's DataLoader over the same data set makes the same batches."""

import functools
import io

import numpy as np
import pytest
from PIL import Image

from conftest import picture

torch = pytest.importorskip("torch")
torch.version.cuda = "13.0"  # torchaudio, which transformers looks for, refuses a torch built for another CUDA; nothing here runs on one
torchvision = pytest.importorskip("torchvision")
datasets = pytest.importorskip("datasets", reason="Hugging Face's datasets are not here; make exact brings them")
spdl = pytest.importorskip("spdl")
from datasets import ClassLabel, Dataset, Features, Value  # noqa: E402
from datasets import Image as Picture  # noqa: E402
from torch.utils.data import DataLoader, default_collate  # noqa: E402
from torchvision import transforms as T  # noqa: E402

N = 11
TENSOR = T.Compose([T.Resize(20), T.CenterCrop(16), T.ToTensor(), T.Normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4))])
MAP = T.Compose([T.Resize((16, 16), T.InterpolationMode.NEAREST), T.PILToTensor()])


def png(i, mode="RGB"):
    out = io.BytesIO()
    Image.fromarray(picture(np.random.default_rng(i), 24 + i, 40 - i)).convert(mode).save(out, "PNG")
    return {"bytes": out.getvalue(), "path": None}


@pytest.fixture(scope="module")
def data():
    columns = {"image": [png(i, "L" if i == 3 else "RGB") for i in range(N)], "label": [i % 3 for i in range(N)], "caption": [f"the {i}th" for i in range(N)], "score": [i / 7 for i in range(N)]}
    return Dataset.from_dict(columns, Features({"image": Picture(), "label": ClassLabel(names=["cat", "dog", "ox"]), "caption": Value("string"), "score": Value("float64")}))


# What guides and examples of transformers, datasets and diffusers have, in words of ours.


def in_place(examples):
    """A picture becomes a tensor,

      and goes."""
    examples["pixel_values"] = [TENSOR(image.convert("RGB")) for image in examples["image"]]
    del examples["image"]
    return examples


def a_new_dict(examples):
    rgb = [image.convert("RGB") for image in examples["image"]]
    pictures = [TENSOR(one) for one in rgb]
    return {"input": pictures, "classes": examples["label"]}


def spread(batch):
    images = batch.pop("image")
    batch.update({"score_again": batch["score"]})
    return {**batch, "pixels": torch.stack([TENSOR(x.convert("RGB")) for x in images])}


class Arguments:
    image_column, label_column = "image", "label"
    keys = {"out": "pixel_values"}


def by_arguments(batch):
    return {Arguments.keys["out"]: [TENSOR(image.convert("RGB")) for image in batch[Arguments.image_column]], "labels": batch[Arguments.label_column]}


class Preparing:
    def __init__(self, transform):
        self.transform = transform

    def prepare(self, batch):
        return {"image": [self.transform(image.convert("RGB")) for image in batch["image"]]}


def nested():
    tensor, name = TENSOR, "image"

    def prepare(batch):
        batch[name] = [tensor(image.convert("RGB")) for image in batch[name]]
        return batch

    return prepare


def of_a_partial(batch, transform, name="unused", *, key):
    return {key: [transform(image.convert("RGB")) for image in batch["image"]]}


def of_defaults(batch, transform=TENSOR, name="image", *, key="pixel_values"):
    return {key: [transform(image.convert("RGB")) for image in batch[name]]}


def columns(batch):
    return {"score": batch["score"], "text": batch["caption"]}


one_line = lambda batch: {"image": [TENSOR(i.convert("RGB")) for i in batch["image"]], "label": batch["label"]}  # noqa: E731

CONVERTING = T.Compose([T.Lambda(lambda img: img.convert("RGB") if img.mode != "RGB" else img), TENSOR])


def converted_by_the_transform(examples):
    examples["pixel_values"] = [CONVERTING(image) for image in examples["image"]]
    del examples["image"]
    return examples


FORMS = {"defaults": of_defaults, "converted by the transform": converted_by_the_transform, "in place": in_place, "a new dict": a_new_dict, "spread": spread, "by arguments": by_arguments, "a method": Preparing(TENSOR).prepare, "nested": nested(), "a lambda": one_line,
         "a partial": functools.partial(of_a_partial, transform=TENSOR, name="x", key="image"), "columns alone": columns}


def equal(got, want, within=0.0):
    assert len(got) == len(want)
    for one, other in zip(got, want):
        assert list(one) == list(other)
        for key in other:
            if isinstance(other[key], list):
                assert one[key] == other[key]
            else:
                assert one[key].dtype == other[key].dtype and one[key].shape == other[key].shape and (one[key].double() - other[key].double()).abs().max() <= within


def ours(data, **arguments):
    with spdl.DataLoader(data, batch_size=4, copy=True, **arguments) as loader:
        return list(loader)


@pytest.mark.parametrize("name", FORMS)
def test_batches_are_torchs(data, name):
    data = data.with_transform(FORMS[name])
    assert not name.endswith("lambda") or FORMS[name].__name__ == "<lambda>"
    equal(ours(data), list(DataLoader(data, batch_size=4)))
    equal(ours(data.select([7, 2, 2, 9])), list(DataLoader(data.select([7, 2, 2, 9]), batch_size=4)))


def test_set_transform_of_some_columns(data):
    data = data.select(range(N))
    data.set_transform(in_place, columns=["image"], output_all_columns=True)
    equal(ours(data), list(DataLoader(data, batch_size=4)))
    data.set_transform(in_place, columns=["image", "label"])
    equal(ours(data), list(DataLoader(data, batch_size=4)))


def test_a_collate_fn_gets_the_functions_samples(data):
    def kept(examples):
        examples["pixel_values"] = [TENSOR(image.convert("RGB")) for image in examples["image"]]
        return examples

    def collate(samples):
        return {"pixel_values": torch.stack([one["pixel_values"] for one in samples]), "labels": torch.tensor([one["label"] for one in samples])}

    data = data.with_transform(kept)
    equal(ours(data, collate_fn=collate), list(DataLoader(data, batch_size=4, collate_fn=collate)))
    with pytest.raises(spdl.ArgumentError, match="collate_fn: asks a sample for 'image', which is the picture before its transform, want what the function of with_transform makes of it: label, caption, score, pixel_values"):
        ours(data, collate_fn=lambda samples: [one["image"] for one in samples])
    with pytest.raises(KeyError, match="^'images'$"):
        ours(data, collate_fn=lambda samples: [one["images"] for one in samples])
    with pytest.raises(spdl.ArgumentError, match=r"leaves pictures of PIL's in 'image', of which no batch can be made, want del batch\['image'\] in it, or fields=\('label', 'caption', 'score', 'pixel_values'\)"):
        ours(data, collate_fn=default_collate)
    (first, *_), (want, *_) = ours(data, fields=("pixel_values", "label")), ours(data, collate_fn=collate)
    assert torch.equal(first[0], want["pixel_values"]) and torch.equal(first[1], want["labels"])


def test_fields_name_what_the_function_makes(data):
    data = data.with_transform(a_new_dict)
    want = list(DataLoader(data, batch_size=4))
    assert all(torch.equal(got, batch["input"]) for got, batch in zip(ours(data, fields="input"), want))
    equal(ours(data, fields={"x": "input"}), [{"x": batch["input"]} for batch in want])
    with pytest.raises(spdl.ArgumentError, match="fields: got 'image', and there is no column 'image', want some of input, classes"):
        ours(data, fields="image")


def test_two_columns_of_pictures(data):
    def both(batch):
        return {"pixel_values": [TENSOR(one.convert("RGB")) for one in batch["image"]], "labels": [MAP(one) for one in batch["map"]], "label": batch["label"]}

    data = data.add_column("map", [png(i, "L") for i in range(N)]).cast_column("map", Picture(mode="L")).with_transform(both)
    equal(ours(data), list(DataLoader(data, batch_size=4)))


def test_an_image_processor(data):
    transformers = pytest.importorskip("transformers")
    of = transformers.ViTImageProcessor(size={"height": 24, "width": 24})

    def blog(example_batch):
        inputs = of([x.convert("RGB") for x in example_batch["image"]], return_tensors="pt")
        inputs["labels"] = example_batch["label"]
        return inputs

    def assigned(examples):
        examples["pixel_values"] = of(images=[image.convert("RGB") for image in examples["image"]])["pixel_values"]
        examples.pop("image")
        return examples

    def by_attribute(examples):
        return {"x": of([image.convert("RGB") for image in examples["image"]], return_tensors="np").pixel_values}

    for function in (blog, assigned, by_attribute):
        data.set_transform(function)
        equal(ours(data), list(DataLoader(data, batch_size=4)), within=1e-6)


def test_albumentations(data):
    A = pytest.importorskip("albumentations")
    from albumentations.pytorch import ToTensorV2

    of = A.Compose([A.Resize(16, 20), A.Normalize(), ToTensorV2()])

    def prepare(examples):
        return {"pixel_values": [of(image=np.array(image.convert("RGB")))["image"] for image in examples["image"]], "label": examples["label"]}

    data = data.with_transform(prepare)
    equal(ours(data), list(DataLoader(data, batch_size=4)), within=1e-6)


def test_random_transforms_are_drawn_anew(data):
    flips = T.Compose([T.Resize((16, 16)), T.RandomHorizontalFlip(), T.ToTensor()])

    def prepare(batch):
        return {"x": [flips(image.convert("RGB")) for image in batch["image"]]}

    with spdl.DataLoader(data.with_transform(prepare), batch_size=N, copy=True) as loader:
        (first,), (second,) = ([batch["x"] for batch in loader] for _ in range(2))
    same = [torch.equal(one, other) for one, other in zip(first, second)]
    assert not all(same) and all(torch.equal(one, other) or torch.equal(one, other.flip(2)) for one, other in zip(first, second))
