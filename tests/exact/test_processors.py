"""Image processors of transformers' in one word: pixels beside their own, made by their constructors. Held against transformers 4.57.1 and 5.24.0 (pip install transformers, beside torch and
torchvision); tests/python/test_processors.py has what is refused, without them."""

import io
import pathlib

import numpy as np
import pytest
from PIL import Image

from conftest import picture

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
transformers = pytest.importorskip("transformers", reason="transformers is not here; make exact brings it")
kept, torch.version.cuda = torch.version.cuda, "13.0"  # as which torchaudio loads, of which transformers 5 wants to know, as test_torchaudio.py has it
transformers.ViTImageProcessor, torch.version.cuda = transformers.ViTImageProcessor, kept
spdl = pytest.importorskip("spdl")
import spdl.io  # noqa: E402

SIZES = [(32, 32), (47, 61), (61, 47), (90, 33), (33, 90), (25, 24), (19, 23), (128, 96), (200, 151), (151, 333)]  # W, H
IMAGENET, HALF, CLIP = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]), ([0.5] * 3, [0.5] * 3), ([0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711])
NEAREST, LANCZOS, BILINEAR, BICUBIC = range(4)

# What their checkpoints say, on smaller pictures.
SAID = {
    "ViT": [dict(size={"height": 24, "width": 24}), dict(size={"height": 31, "width": 18}, resample=BICUBIC), dict(size={"height": 22, "width": 29}, resample=LANCZOS), dict(size={"height": 35, "width": 29}, resample=NEAREST)],
    "DeiT": [dict(size={"height": 32, "width": 32}, resample=BICUBIC, do_center_crop=True, crop_size={"height": 28, "width": 28})],
    "Bit": [dict(size={"shortest_edge": 32}, resample=BICUBIC, do_center_crop=True, crop_size={"height": 28, "width": 28}), dict(size={"shortest_edge": 33}, crop_size={"height": 24, "width": 31})],
    "CLIP": [dict(size={"shortest_edge": 24}, crop_size={"height": 24, "width": 24})],
    "Siglip": [dict(size={"height": 26, "width": 26}), dict(size={"height": 26, "width": 26}, resample=BILINEAR)],
    "ConvNext": [dict(size={"shortest_edge": 24}, crop_pct=0.875), dict(size={"shortest_edge": 27}, crop_pct=0.9, resample=BICUBIC), dict(size={"shortest_edge": 384})],
    "EfficientNet": [dict(size={"height": 24, "width": 24}, include_top=False, resample=BICUBIC), dict(size={"height": 24, "width": 24}, include_top=True, resample=BILINEAR),
                     dict(size={"height": 24, "width": 24}, rescale_offset=True, rescale_factor=1 / 127.5, include_top=False, resample=BICUBIC)],
    "Levit": [dict(size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28})],
    "MobileNetV1": [dict(size={"shortest_edge": 32}, crop_size={"height": 28, "width": 28})],
    "MobileNetV2": [dict(size={"shortest_edge": 33}, crop_size={"height": 28, "width": 28})],
    "MobileViT": [dict(size={"shortest_edge": 36}, crop_size={"height": 32, "width": 32}, do_flip_channel_order=False)],
    "PoolFormer": [dict(size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28}, crop_pct=0.9), dict(size={"height": 28, "width": 28}, crop_size={"height": 25, "width": 25}, crop_pct=0.95),
                   dict(size={"height": 28, "width": 34}, do_center_crop=False, crop_pct=0.95)],
    "Pvt": [dict(size={"height": 24, "width": 24})],
    "Beit": [dict(size={"height": 24, "width": 24}, do_center_crop=False), dict(size={"height": 32, "width": 32}, do_center_crop=True, crop_size={"height": 28, "width": 28})],
    "Segformer": [dict(size={"height": 24, "width": 24}), dict(size={"height": 22, "width": 29}, resample=BICUBIC, do_reduce_labels=True)],
    "Perceiver": [dict(size={"height": 24, "width": 24}, do_center_crop=False)],
    "Blip": [dict(size={"height": 24, "width": 24})],
    "ChineseCLIP": [dict(size={"height": 27, "width": 26}, crop_size={"height": 24, "width": 24})],
    "Flava": [dict(size={"height": 24, "width": 24}, crop_size={"height": 24, "width": 24})],
    "DINOv3ViT": [dict(do_resize=False)],
    "DPT": [dict(size={"height": 24, "width": 31}), dict(size={"height": 28, "width": 42}, ensure_multiple_of=14, resample=BILINEAR)],
    "RTDetr": [dict(size={"height": 24, "width": 31})],
}
WITHIN = 3e-7  # of a row's largest value, where theirs rounds elsewhere


def of_tensors(cls):
    return any(base.__name__ in ("BaseImageProcessorFast", "TorchvisionBackend") for base in cls.__mro__)


def classes(name):
    """Those of a model, on Pillow and on torch; of transformers 5 the name with Fast is that without once more."""
    return {f"{name}ImageProcessor{kind}": getattr(transformers, f"{name}ImageProcessor{kind}") for kind in ("Fast", "", "Pil") if hasattr(transformers, f"{name}ImageProcessor{kind}")}


CASES = [pytest.param(cls, given, id=f"{cls.__name__}-{i}") for name, all in SAID.items() for cls in dict.fromkeys(classes(name).values()) for i, given in enumerate(all)]


def theirs(processor, image):
    """A picture as their own call makes it."""
    (got,) = processor(image, return_tensors="pt")["pixel_values"]
    return got.numpy()


def ours(path, processor):
    return spdl.io.load_image(path, **spdl.describe(processor)).numpy()


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Pictures and the paths of their files."""
    at, rng = tmp_path_factory.mktemp("pictures"), np.random.default_rng(8)
    images = [Image.fromarray(picture(rng, w, h)) for w, h in SIZES]
    for i, image in enumerate(images):
        image.save(at / f"{i}.png")
    return [(image, at / f"{i}.png") for i, image in enumerate(images)]


def by(cls, given, **more):
    return cls(**{**given, **more})


@pytest.mark.parametrize("cls, given", CASES)
def test_pixels_are_theirs_to_the_bit(pictures, cls, given):
    """Ahead of rescaling, on Pillow's pictures and on torch's tensors."""
    more = {"include_top": False, "rescale_offset": False} if cls.__name__.startswith("EfficientNet") else {}
    processor = by(cls, given, do_rescale=False, do_normalize=False, **more)
    for image, path in pictures:
        want, got = theirs(processor, image), ours(path, processor)
        assert want.dtype == got.dtype == np.uint8 and np.array_equal(got, want), image.size


@pytest.mark.parametrize("cls, given", CASES)
def test_numbers_are_theirs(pictures, cls, given):
    """Rescaled and normalized: to the bit on Pillow's pictures, by one division and one subtraction."""
    processor = by(cls, given)
    for image, path in pictures[:4]:
        want, got = theirs(processor, image), ours(path, processor)
        assert want.dtype == got.dtype == np.float32 and want.shape == got.shape
        if of_tensors(cls) or given.get("include_top", False) or given.get("rescale_offset", False):
            assert np.abs(got - want).max() <= WITHIN * np.abs(want).max()
        else:
            assert np.array_equal(got, want)


NUMBERS = {
    "imagenet": dict(image_mean=IMAGENET[0], image_std=IMAGENET[1]), "half": dict(image_mean=HALF[0], image_std=HALF[1]), "clip": dict(image_mean=CLIP[0], image_std=CLIP[1]),
    "one for all channels": dict(image_mean=0.4, image_std=0.3), "rescaled": dict(do_normalize=False), "to 2": dict(do_normalize=False, rescale_factor=1 / 127.5),
    "of bytes": dict(do_rescale=False, image_mean=[123.675, 116.28, 103.53], image_std=[58.395, 57.12, 57.375]),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("cls", dict.fromkeys(classes("ViT").values()), ids=lambda cls: cls.__name__)
def test_every_byte_becomes_their_number(tmp_path, cls, name):
    if of_tensors(cls) and isinstance(NUMBERS[name].get("image_mean"), float):
        pytest.skip("torch's want one for each channel")
    image, path = Image.fromarray(np.stack([np.arange(256, dtype=np.uint8).reshape(16, 16)] * 3, -1)), tmp_path / "a.png"
    image.save(path)
    processor = cls(do_resize=False, **NUMBERS[name])
    want, got = theirs(processor, image), ours(path, processor)
    assert want.dtype == got.dtype == np.float32
    if of_tensors(cls) or name == "of bytes":
        assert 0 < np.abs(got - want).max() <= WITHIN * np.abs(want).max()
    else:
        assert np.array_equal(got, want)


@pytest.mark.parametrize("cls", dict.fromkeys(classes("DINOv3ViT").values()), ids=lambda cls: cls.__name__)
def test_what_dinov3s_remedy_makes_is_within_1_of_it(pictures, cls):
    processor = cls(size={"height": 24, "width": 24})
    with pytest.raises(spdl.SpecError, match="do_resize: got True, of floats"):
        spdl.describe(processor)
    near = transformers.ViTImageProcessor(size=processor.size, resample=processor.resample, image_mean=processor.image_mean, image_std=processor.image_std)
    for image, path in pictures:
        assert np.abs(ours(path, near) - theirs(processor, image)).max() * min(processor.image_std) * 255 < 1.001, image.size


def test_timms_processor(pictures):
    timm = pytest.importorskip("timm")
    processor = transformers.TimmWrapperImageProcessor({"input_size": (3, 28, 28), "mean": IMAGENET[0], "std": IMAGENET[1], "interpolation": "bicubic", "crop_pct": 0.9, "crop_mode": "center"})
    for image, path in pictures:
        assert np.array_equal(ours(path, processor), theirs(processor, image)), timm.__version__


# ---- tiles

T = 28
PINPOINTS = [[T, 2 * T], [2 * T, T], [2 * T, 2 * T], [3 * T, T], [T, 3 * T]]
TILED = {
    "GotOcr2": dict(crop_to_patches=True, min_patches=1, max_patches=12, size={"height": T, "width": T}),
    "LlavaNext": dict(image_grid_pinpoints=PINPOINTS, size={"shortest_edge": T}, crop_size={"height": T, "width": T}),
    "LlavaOnevision": dict(image_grid_pinpoints=PINPOINTS, size={"height": T, "width": T}),
    "Mllama": dict(size={"height": T, "width": T}, max_image_tiles=4),
    "Idefics3": dict(size={"longest_edge": 4 * T}, max_image_size={"longest_edge": T}),
    "SmolVLM": dict(size={"longest_edge": 4 * T}, max_image_size={"longest_edge": T}),
}


TILES = [pytest.param(cls, given, id=cls.__name__) for name, given in TILED.items() for cls in dict.fromkeys(classes(name).values())
         if not (cls.__name__.endswith("Fast") and name in ("Idefics3", "SmolVLM"))]  # of transformers 4, which are refused


@pytest.mark.parametrize("raw", [True, False], ids=["bytes", "numbers"])
@pytest.mark.parametrize("cls, given", TILES)
def test_tiles_are_theirs(pictures, cls, given, raw):
    """To the bit ahead of rescaling, on Pillow's pictures behind it, too; those behind the last tile of a row are zero."""
    processor = by(cls, given, **(dict(do_rescale=False, do_normalize=False) if raw else {}))
    for image, path in pictures:
        want = np.asarray(processor(image, return_tensors="pt")["pixel_values"], np.float32).reshape(-1, 3, T, T)
        got = ours(path, processor).reshape(-1, 3, T, T)
        n = min(len(got), len(want))
        assert np.abs(got[:n] - want[:n]).max() <= (WITHIN * np.abs(want).max() if of_tensors(cls) and not raw else 0), image.size
        assert not got[n:].any() and not want[n:].any(), image.size


# ---- data sets


def rows(n=11):
    from datasets import ClassLabel, Dataset, Features, Value
    from datasets import Image as Picture

    rng, out = np.random.default_rng(5), {"image": [], "label": [i % 3 for i in range(n)], "caption": [f"the {i}th" for i in range(n)]}
    for i in range(n):
        data = io.BytesIO()
        Image.fromarray(picture(rng, 30 + 3 * i, 50 - 2 * i)).save(data, "PNG")
        out["image"].append({"bytes": data.getvalue(), "path": None})
    return Dataset.from_dict(out, Features({"image": Picture(), "label": ClassLabel(names=["cat", "dog", "ox"]), "caption": Value("string")}))


@pytest.fixture
def data():
    pytest.importorskip("datasets", reason="Hugging Face's datasets are not here; make exact brings them")
    return rows()


@pytest.mark.parametrize("cls", dict.fromkeys(classes("ViT").values()), ids=lambda cls: cls.__name__)
def test_a_batch_is_what_their_function_and_the_trainers_collator_make(data, cls):
    """dataset.with_transform(lambda batch: processor(batch["image"])), and default_data_collator, which makes label to labels and leaves texts out."""
    processor = cls(size={"height": 24, "width": 24})

    def prepared(batch):
        return {**processor([image.convert("RGB") for image in batch["image"]], return_tensors="pt"), "label": batch["label"]}

    want = list(torch.utils.data.DataLoader(data.with_transform(prepared), batch_size=4, collate_fn=transformers.default_data_collator))
    with spdl.DataLoader(data, transform=processor, batch_size=4, copy=True) as loader:
        got = list(loader)
        assert loader.classes == ["cat", "dog", "ox"] and len(got) == len(want) == 3
    assert sum((batch["caption"] for batch in got), []) == data["caption"][:]
    for batch, other in zip(got, want):
        assert set(batch) == {"pixel_values", "labels", "caption"} and set(other) == {"pixel_values", "labels"}
        assert batch["labels"].dtype == other["labels"].dtype and torch.equal(batch["labels"], other["labels"])
        assert batch["pixel_values"].shape == other["pixel_values"].shape and (batch["pixel_values"] - other["pixel_values"]).abs().max() <= WITHIN * other["pixel_values"].abs().max()


def test_fields_and_samples_have_the_columns_own_names(data):
    processor = transformers.ViTImageProcessor(size={"height": 24, "width": 24})
    with spdl.DataLoader(data, fields={"pixels": "image", "label": "label"}, transform=processor, batch_size=11, copy=True) as loader:
        (batch,) = loader
    assert set(batch) == {"pixels", "label"}
    with spdl.DataLoader(data, transform=processor, batch_size=11, copy=True, collate_fn=list) as loader:
        (samples,) = loader
    assert [set(one) for one in samples] == [{"pixel_values", "label", "caption"}] * 11 and all(torch.equal(one["pixel_values"], row) for one, row in zip(samples, batch["pixels"]))
    both = data.add_column("labels", [[1, 0]] * 11)
    with spdl.DataLoader(both, transform=processor, batch_size=11, copy=True) as loader:
        (batch,) = loader
    assert set(batch) == {"pixel_values", "label", "caption", "labels"} and batch["labels"].shape == (11, 2)


def test_columns_that_a_processor_does_not_go_with_are_refused(data):
    from datasets import Image as Picture

    processor = transformers.ViTImageProcessor(size={"height": 24, "width": 24})
    with pytest.raises(spdl.ArgumentError, match="has a column 'pixel_values' beside 'image', of which the image processor makes the same, want fields={'pixel_values': 'image', ...}"):
        spdl.DataLoader(data.add_column("pixel_values", [[1, 0]] * 11), transform=processor)
    with pytest.raises(spdl.SpecError, match=r"transform: ViTImageProcessor.*want RGB .*cast_column\(NAME, Image\(mode=\"RGB\"\)\)"):
        spdl.DataLoader(data.cast_column("image", Picture(mode="L")), transform=processor)


def test_transforms_in_front_of_it(data):
    """As fine-tuning has them: a crop by chance, and the processor's numbers."""
    from torchvision import transforms as T

    processor = transformers.CLIPImageProcessor(do_resize=False, do_center_crop=False)
    with spdl.DataLoader(data, transform=[T.RandomResizedCrop(24), T.RandomHorizontalFlip(1), processor], batch_size=11) as loader:
        (batch,) = loader
        assert batch["pixel_values"].shape == (11, 3, 24, 24)
    with spdl.DataLoader(data, fields="image", transform=[T.Resize((24, 24)), T.RandomHorizontalFlip(1), processor], batch_size=11, copy=True) as loader:
        (got,) = loader
    flipped = [T.RandomHorizontalFlip(1)(T.Resize((24, 24))(image)) for image in data["image"]]
    want = processor(flipped, return_tensors="pt")["pixel_values"]
    assert (got - want).abs().max() <= WITHIN * want.abs().max()


def test_the_pages_block_runs(data, monkeypatch):
    """Without the network, and with what the model is given in the place of the model."""
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/equivalents.md").read_text(encoding="utf-8")
    block = page.split("## transformers' image processors")[1].split("```")[1].removeprefix("python")
    monkeypatch.setattr("datasets.load_dataset", lambda name, split: data.remove_columns("caption") if (name, split) == ("food101", "train") else None)
    monkeypatch.setattr(transformers.AutoImageProcessor, "from_pretrained", lambda name: transformers.ViTImageProcessor())
    monkeypatch.setattr(transformers.AutoModelForImageClassification, "from_pretrained", lambda name: lambda **batch: {key: list(one.shape) for key, one in batch.items()})
    seen = []
    exec(block, {"train": seen.append})
    assert seen == [{"pixel_values": [11, 3, 224, 224], "labels": [11]}]


# ---- maps

REDUCED = dict(do_reduce_labels=True)
MAPPED = {
    "Segformer": [dict(size={"height": 24, "width": 31}), dict(size={"height": 55, "width": 17}, **REDUCED), dict(size={"height": 64, "width": 64}, resample=BICUBIC, **REDUCED)],
    "MobileViT": [dict(size={"shortest_edge": 36}, crop_size={"height": 32, "width": 30}, do_flip_channel_order=False, **REDUCED), dict(size={"height": 20, "width": 24}, do_center_crop=False, do_flip_channel_order=False),
                  dict(size={"shortest_edge": 20}, crop_size={"height": 40, "width": 60}, do_flip_channel_order=False, **REDUCED)],
    "MobileNetV2": [dict(size={"shortest_edge": 33}, crop_size={"height": 28, "width": 28}, **REDUCED)],
    "Beit": [dict(size={"height": 24, "width": 31}, resample=NEAREST, do_center_crop=False, **REDUCED)],
    "DPT": [dict(size={"height": 24, "width": 31}, resample=NEAREST, **REDUCED)],
}
MAPS = [pytest.param(cls, given, id=f"{cls.__name__}-{i}") for name, all in MAPPED.items() for cls in dict.fromkeys(classes(name).values()) for i, given in enumerate(all)
        if not cls.__name__.endswith("Fast") and (of_tensors(cls) or "crop_size" not in given or max(given["crop_size"].values()) <= 36)]  # Pillow's goes around a smaller picture otherwise, and is refused


@pytest.fixture
def mapped(data):
    """With a column of maps, of all numbers there are."""
    from datasets import Image as Picture

    rng, maps = np.random.default_rng(6), []
    for image in data["image"]:
        one = io.BytesIO()
        Image.fromarray(rng.integers(0, 256, image.size[::-1], np.uint8)).save(one, "PNG")
        maps.append({"bytes": one.getvalue(), "path": None})
    return data.add_column("annotation", maps).cast_column("annotation", Picture())


FIELDS = {"pixel_values": "image", "labels": "annotation"}


def batches_and_theirs(data, processor, **given):
    with spdl.DataLoader(data, fields=FIELDS, batch_size=4, copy=True, **given) as loader:
        for n, batch in enumerate(loader):
            rows = data[4 * n:4 * n + 4]
            yield batch, processor([image.convert("RGB") for image in rows["image"]], rows["annotation"], return_tensors="pt")


@pytest.mark.parametrize("cls, given", MAPS)
def test_maps_are_theirs(mapped, cls, given):
    """Of semantic segmentation, in one word: what the processor makes of segmentation_maps, to the bit, beside its pictures."""
    processor = cls(**given)
    for got, want in batches_and_theirs(mapped, processor, transform=processor):
        labels = torch.stack(list(want["labels"]))
        assert set(got) == {"pixel_values", "labels"} and got["labels"].dtype == labels.dtype == torch.int64 and torch.equal(got["labels"], labels)
        assert got["pixel_values"].shape == want["pixel_values"].shape and (got["pixel_values"] - want["pixel_values"]).abs().max() <= WITHIN * want["pixel_values"].abs().max()
        assert len(labels.unique()) > 100 and (labels.max() == 255)


@pytest.mark.parametrize("cls", [list(classes("Segformer").values())[-1]], ids=["Segformer"])
def test_maps_go_with_their_pictures_and_have_no_colours(mapped, cls):
    """A list in front of a processor is of both, but for what changes colours; a dict by columns says the same, and samples of a collate_fn are those of a batch."""
    from torchvision import transforms as T

    processor = cls(size={"height": 24, "width": 31}, **REDUCED)
    with spdl.DataLoader(mapped, fields=FIELDS, transform=[T.RandomHorizontalFlip(1), T.ColorJitter(0.3), processor], batch_size=11, copy=True) as loader:
        (batch,) = loader
    want = processor([image.convert("RGB") for image in mapped["image"]], mapped["annotation"][:], return_tensors="pt")
    mirrored = processor([image.convert("RGB").transpose(Image.Transpose.FLIP_LEFT_RIGHT) for image in mapped["image"]], [one.transpose(Image.Transpose.FLIP_LEFT_RIGHT) for one in mapped["annotation"]], return_tensors="pt")
    assert torch.equal(batch["labels"], torch.stack(list(mirrored["labels"]))) and not torch.equal(batch["labels"], torch.stack(list(want["labels"])))
    with spdl.DataLoader(mapped, fields={**FIELDS, "text": "caption"}, transform={"image": processor, "annotation": processor}, batch_size=11, copy=True, collate_fn=list) as loader:
        (samples,) = loader
    assert all(torch.equal(one["labels"], other) and set(one) == {"pixel_values", "labels", "text"} for one, other in zip(samples, want["labels"]))
    with spdl.DataLoader(mapped, fields=FIELDS, transform=processor, batch_size=11, copy=True, tensors="numpy") as loader:
        (batch,) = loader
    assert batch["labels"].dtype == np.int64 and np.array_equal(batch["labels"], torch.stack(list(want["labels"])))


@pytest.mark.parametrize("cls", [cls for cls in dict.fromkeys(classes("Segformer").values()) if not of_tensors(cls)], ids=lambda cls: cls.__name__)
def test_a_section_of_a_map_of_its_own(mapped, cls):
    """By nearest, where a processor is of pictures alone, or mixes numbers."""
    processor = cls(size={"height": 24, "width": 31})
    section = {"mode": "index", "layout": "NCHW", "transform": [{"resize": {"size": [24, 31], "interpolation": "nearest"}}]}
    for got, want in batches_and_theirs(mapped, processor, transform={"image": processor, "annotation": section}):
        assert torch.equal(got["labels"][:, 0].long(), torch.stack(list(want["labels"])))


def test_maps_that_are_not_named_are_asked_for(mapped):
    processor = list(classes("Segformer").values())[-1]()
    with pytest.raises(spdl.ArgumentError, match="transform: got one for the columns image, annotation, want one for each: .*; or, where one is a map of the other's classes, fields={'pixel_values': 'image', 'labels': 'annotation'}"):
        spdl.DataLoader(mapped, transform=processor)
    with pytest.raises(spdl.SpecError, match=r"transform\['annotation'\]: BeitImageProcessor.*resample: got bicubic, by which it resizes segmentation_maps, too"):
        spdl.DataLoader(mapped, fields=FIELDS, transform=list(classes("Beit").values())[-1]())
