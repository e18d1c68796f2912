"""Transforms and data sets in the place of descriptions, where there is no torch: by stand-ins with the names and attributes of torchvision's classes. tests/exact/test_drop.py
holds torchvision's own against torch's DataLoader."""

from __future__ import annotations

import enum
import json
import sys
from array import array
from pathlib import Path
from typing import Any

import pytest
import spdl
import spdl.io
from conftest import built

np = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image")


def named(name: str, module: str = "torchvision.transforms.transforms", base: type = object, **also: Any) -> type:
    def init(self: Any, **attributes: Any) -> None:
        vars(self).update(attributes)

    return type(name, (base,), {"__module__": module, "__init__": init, "__call__": print, "__repr__": lambda self: f"{name}({', '.join(vars(self))})", **also})


Compose, Resize, CenterCrop, RandomHorizontalFlip, ToTensor, PILToTensor, Normalize, ColorJitter, Lambda, RandomErasing = map(
    named, ("Compose", "Resize", "CenterCrop", "RandomHorizontalFlip", "ToTensor", "PILToTensor", "Normalize", "ColorJitter", "Lambda", "RandomErasing"))
Mode = enum.Enum("Mode", {"BILINEAR": "bilinear", "BICUBIC": "bicubic"})


def resize(*size: int) -> Any:
    return Resize(size=size[0] if len(size) == 1 else list(size), interpolation=Mode.BILINEAR, max_size=None)


def of_v2(name: str, **attributes: Any) -> Any:
    return named(name, "torchvision.transforms.v2._some")(**attributes)


def resize_of_v2(size: int, interpolation: Any = Mode.BILINEAR, antialias: Any = True) -> Any:
    return of_v2("Resize", size=[size], interpolation=interpolation, max_size=None, antialias=antialias)


EVALUATION = Compose(transforms=[resize(20), CenterCrop(size=(16, 16)), RandomHorizontalFlip(p=0.5), ToTensor(), Normalize(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))])
DESCRIBED = [{"resize": 20}, {"center_crop": 16}, {"horizontal_flip": 0.5}, {"normalize": "imagenet"}]


@pytest.fixture(scope="module", autouse=True)
def engine_in_process(tmp_path_factory):
    """What Go opens once for the whole process is there before a test counts descriptors."""
    path = tmp_path_factory.mktemp("warm") / "a.png"
    Image.new("RGB", (2, 2)).save(path)
    spdl.io._load.load(path, {"image": {"transform": [{"resize": [2, 2]}]}})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two classes of small pictures, each of one colour."""
    for i in range(6):
        (tmp_path / "folder" / "ab"[i // 3]).mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (24, 20), (i, 2 * i, 3 * i)).save(tmp_path / "folder" / "ab"[i // 3] / f"{i}.png")
    return tmp_path / "folder"


@pytest.fixture
def opened(library: Path, runtime: str, folder: Path):
    """Open a description of the folder with the engine itself."""
    return lambda **spec: spdl.open({"source": {"folder": folder}, "order": {"shuffle": False}, **spec}, engine=built("spdl"))


def test_transforms_are_told_as_a_section():
    assert spdl.describe(EVALUATION) == {"transform": DESCRIBED, "layout": "NCHW", "dtype": "f32"}
    assert spdl.describe([resize(8, 9), PILToTensor()]) == {"transform": [{"resize": [8, 9]}], "layout": "NCHW", "dtype": "u8"}
    assert spdl.describe(resize(8)) == {"transform": [{"resize": 8}]}
    assert spdl.describe([PILToTensor(), resize_of_v2(8)]) == {"transform": [{"resize": {"size": 8, "interpolation": "torch_bilinear"}}], "layout": "NCHW", "dtype": "u8"}
    assert spdl.describe([PILToTensor(), resize_of_v2(8, "nearest", None)])["transform"] == [{"resize": {"size": 8, "interpolation": "torch_nearest"}}]
    assert spdl.describe([PILToTensor(), resize_of_v2(8, "nearest-exact", None)])["transform"] == [{"resize": {"size": 8, "interpolation": "torch_nearest_exact"}}]
    assert spdl.describe([of_v2("RandomGrayscale", p=0.25), PILToTensor(), of_v2("RandomAutocontrast", p=0.5), of_v2("RandomEqualize", p=0.5)])["transform"] == [
        {"grayscale": 0.25}, {"autocontrast": {"p": 0.5, "arithmetic": "torch"}}, {"equalize": 0.5}]
    assert spdl.describe([resize_of_v2(8, antialias=False), PILToTensor()])["transform"] == [{"resize": 8}], "Pillow's is antialiased always"
    assert spdl.describe([resize(8, 8), PILToTensor(), {"normalize": "imagenet"}, {"random_erasing": 0.5}])["dtype"] == "f32"
    assert spdl.describe([resize(8, 8), {"normalize": "imagenet"}]).keys() == {"transform"}, "layout and dtype are the description's to say"


def test_a_description_may_hold_transforms_wherever_it_holds_a_transform():
    mixed = [{"resize": [20, 20]}, RandomHorizontalFlip(p=1), {"vertical_flip": 0.5}, ToTensor()]
    spec = {"source": {"folder": "x"}, "image": {"transform": EVALUATION}, "video": {"frames": 4, "transform": mixed}, "fields": {"image": {"image": {"transform": mixed, "layout": "NCHW"}}},
            "rings": {"val": {"image": {"transform": [resize(8, 8)]}}}}
    assert spdl.describe(spec) == {
        "source": {"folder": "x"}, "image": {"transform": DESCRIBED, "layout": "NCHW", "dtype": "f32"},
        "video": {"frames": 4, "transform": [{"resize": [20, 20]}, {"horizontal_flip": 1}, {"vertical_flip": 0.5}], "layout": "NTCHW", "dtype": "f32"},
        "fields": {"image": {"image": {"transform": [{"resize": [20, 20]}, {"horizontal_flip": 1}, {"vertical_flip": 0.5}], "layout": "NCHW", "dtype": "f32"}}},
        "rings": {"val": {"image": {"transform": [{"resize": [8, 8]}]}}}}
    assert spec["image"]["transform"] is EVALUATION, "the caller's own is left as it was"
    plain = {"source": {"folder": Path("x")}, "image": {"transform": ({"resize": np.int64(8)},), "layout": "NHWC"}}
    assert spdl.describe(plain) == {"source": {"folder": "x"}, "image": {"transform": [{"resize": 8}], "layout": "NHWC"}}


def test_lists_of_a_configurations_kind_stay_what_they_are():
    from collections import UserDict, UserList

    operations = UserList([UserDict({"resize": 8})])
    assert spdl.describe({"image": UserDict({"transform": operations})}) == {"image": {"transform": [{"resize": 8}]}}
    assert spdl.describe({"image": {"transform": UserList([operations[0], PILToTensor()])}}) == {"image": {"transform": [{"resize": 8}], "layout": "NCHW", "dtype": "u8"}}


def test_pictures_of_one_channel_have_one_mean():
    grey = [named("Grayscale")(num_output_channels=1), ToTensor(), Normalize(mean=[0.5], std=0.25)]
    one = {"normalize": {"mean": [0.5], "std": [0.25]}}
    assert spdl.describe(grey) == {"transform": [one], "layout": "NCHW", "dtype": "f32", "mode": "gray"}
    for mode in ("gray", "luma"):
        assert spdl.describe({"image": {"mode": mode, "transform": grey[1:]}})["image"] == {"mode": mode, "transform": [one], "layout": "NCHW", "dtype": "f32"}
    assert spdl.describe(grey[1:])["transform"] == [{"normalize": {"mean": [0.5] * 3, "std": [0.25] * 3}}]
    with pytest.raises(spdl.SpecError, match="image.mode: got 'rgb', and the transform.*makes gray"):
        spdl.describe({"image": {"mode": "rgb", "transform": grey}})


def test_open_takes_transforms(opened):
    with opened(image={"transform": [resize(20, 24), ToTensor()]}) as loader:
        batch = next(iter(loader))
        assert batch["image"].shape == (6, 3, 20, 24)
        assert np.array_equal(batch["image"][:, :, 0, 0], np.outer(np.arange(6), [1, 2, 3]).astype(np.float32) / 255)


def test_videos_may_have_channels_first_of_all(opened):
    assert spdl.describe({"video": {"transform": [ToTensor()], "layout": "NCTHW"}})["video"]["layout"] == "NCTHW"
    with pytest.raises(spdl.SpecError, match="video.layout: got 'NTHWC', and the transform.*makes NTCHW"):
        spdl.describe({"video": {"transform": [ToTensor()], "layout": "NTHWC"}})


def test_io_takes_transforms(library, folder):
    loaded = spdl.io._load.load(folder / "a" / "2.png", {"image": {"transform": [resize(20, 24), PILToTensor()]}})
    assert loaded["image"].shape == (3, 20, 24)


@pytest.mark.parametrize("said, message", [
    ({"layout": "NHWC"}, "image.layout: got 'NHWC', and the transform, whose last is Normalize.*, makes NCHW; leave layout out"),
    ({"dtype": "f16"}, "image.dtype: got 'f16', and the transform.*makes f32"),
    ({"mode": "gray", "transform": [named("Grayscale")(num_output_channels=3), ToTensor()]}, "image.mode: got 'gray', and the transform.*makes rgb"),
])
def test_what_contradicts_the_transforms_is_refused(said, message):
    with pytest.raises(spdl.SpecError, match=message):
        spdl.describe({"image": {"transform": EVALUATION, **said}})


@pytest.mark.parametrize("transform, message", [
    ([resize(8), Lambda()], r"spdl: image.transform\[1\]: Lambda\(\): got torchvision's Lambda, want .*map whole batches"),
    ([PILToTensor(), resize(8)], r"image.transform\[1\]: Resize.*works on a tensor of u8, where v1's Resize computes in floats, want torchvision.transforms.v2.Resize"),
    ([PILToTensor(), ColorJitter(brightness=(0.5, 1.5), contrast=None, saturation=None, hue=None)], r"ColorJitter.*works on a tensor of u8, where v1's ColorJitter computes in floats, want torchvision.transforms.v2.ColorJitter"),
    ([PILToTensor(), of_v2("Grayscale", num_output_channels=1)], r"num_output_channels: got 1 of a tensor.*put it in front of what makes a tensor, or want 3"),
    ([PILToTensor(), of_v2("RandomRotation", degrees=(0, 9), center=None, expand=False, interpolation="bicubic", fill=0)], r"RandomRotation.*interpolation: got bicubic, want one of nearest, bilinear"),
    ([PILToTensor(), named("RandAugment")(num_ops=2, magnitude=9, num_magnitude_bins=31)], r"RandAugment.*works on a tensor of u8, where v1's RandAugment computes in floats, want torchvision.transforms.v2.RandAugment"),
    ([PILToTensor(), resize_of_v2(8, antialias=False)], r"antialias: got False, want True; a tensor without antialiasing"),
    ([PILToTensor(), resize_of_v2(8, interpolation="box")], r"interpolation: got box, want one of bilinear, bicubic, nearest, lanczos"),
    (Compose(transforms=[ToTensor(), resize(8)]), r"image.transform.transforms\[1\]: Resize.*works on a tensor of floats.*put it in front"),
    ([Normalize(mean=[0], std=[1])], r"image.transform\[0\]: Normalize.*works on a PIL image, want a tensor of floats; put ToTensor"),
    ([Resize(size=8, interpolation="cubic", max_size=None)], r"interpolation: got cubic, want one of bilinear, bicubic"),
    ([Resize(size="8", interpolation=2, max_size=None)], r"size: got '8', want N or \(H, W\)"),
    ([RandomHorizontalFlip(p="x")], "p: got 'x', want a number"),
    ([Resize(size=8)], "has no attribute interpolation, which it has in the versions that are known here"),
    ([named("Mine", "mine")()], r"Mine\(\): got a Mine of mine, want .*write what it does as an operation"),
    ([named("Preset", "mine")(transforms=[])], r"give its transforms: image.transform\[0\].transforms"),
    ([named("Resized", "mine", Resize)(size=8)], "got a Resized of mine"),
    ([lambda x: x.rotate(90)], "got a function of builtins, want a transform of torchvision, timm or albumentations"),
    ([ToTensor(), lambda x: x * 2 - 0.5], r"image.transform\[1\]: .*got a function of builtins, .*several views of a picture are fields of a description, each with draw: own"),
    ([lambda x: x * 2 - 1], r"image.transform\[0\]: .*got a function of builtins"),
    ([ToTensor(), lambda x: x.convert("RGB")], r"image.transform\[1\]: .*got a function of builtins"),
    ([lambda x, y=0: x.rotate(y)], r"image.transform\[0\]: .*got a function of builtins"),
    ([Lambda(lambd=lambda x: x.convert("L"))], r"got torchvision's Lambda, .*but lambda x: x, x.convert\(\"RGB\"\) of pictures and x \* 2 - 1 of floats"),
    ([named("Grayscale")(num_output_channels=1), Lambda(lambd=lambda x: x.convert("RGB"))], r"makes three channels of the one of Grayscale\(1\)"),
    ([[7]], r"image.transform\[0\]\[0\]: 7: got a int of builtins"),
    ([named("ResizeKeepRatio", "timm.data.transforms")()], "got timm's ResizeKeepRatio, .*rounded to the nearest"),
])
def test_what_cannot_be_told_is_refused_by_its_place_and_name(transform, message):
    with pytest.raises(spdl.SpecError, match=message):
        spdl.open({"source": {"folder": "x"}, "image": {"transform": transform}})


def test_a_class_that_changes_nothing_is_its_base():
    renamed = type("Renamed", (Resize,), {"__module__": "mine"})
    assert spdl.describe(renamed(size=8, interpolation=3, max_size=None)) == {"transform": [{"resize": {"size": 8, "interpolation": "bicubic"}}]}


def test_albumentations_transforms_are_arrays(opened):
    """tests/exact/test_albumentations.py holds albumentations' own against their pixels."""
    made = {name: named(name, "albumentations.augmentations") for name in ("Resize", "HorizontalFlip", "InvertImg", "Normalize", "Solarize", "PadIfNeeded")}
    tensor, compose = named("ToTensorV2", "albumentations.pytorch.transforms"), named("Compose", "albumentations.core.composition")
    size = made["Resize"](p=1, height=20, width=24, interpolation=1, mask_interpolation=0, area_for_downscale=None)
    whole = compose(p=1, processors={}, save_applied_params=False, transforms=[size, made["HorizontalFlip"](p=1), made["InvertImg"](p=0.0)])
    with opened(image={"transform": [whole, tensor(p=1)]}) as loader:
        assert next(iter(loader))["image"].shape == (6, 3, 20, 24)
    normalized = made["Normalize"](p=1, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225), max_pixel_value=255.0, normalization="standard")
    assert spdl.describe([whole, normalized]) == {"transform": [{"resize": {"size": [20, 24], "interpolation": "cv2_linear"}}, {"horizontal_flip": 1}, {"normalize": "imagenet"}], "dtype": "f32"}
    assert spdl.describe([whole, normalized, tensor(p=1)])["layout"] == "NCHW"
    mask = {"mode": "index", "transform": [whole, made["InvertImg"](p=1), normalized]}
    assert spdl.describe({"image": mask})["image"] == {"mode": "index", "transform": [{"resize": {"size": [20, 24], "interpolation": "cv2_nearest"}}, {"horizontal_flip": 1}]}
    with pytest.raises(spdl.SpecError, match=r"image.transform\[1\]: ToTensor.*works on a tensor, and an array of floats is in hand; put ToTensorV2\(\) in front"):
        spdl.describe({"image": {"transform": [normalized, ToTensor()]}})
    with pytest.raises(spdl.SpecError, match=r"image.transform\[2\]: HorizontalFlip\(p\): works on an array, and a tensor is in hand"):
        spdl.describe({"image": {"transform": [size, tensor(p=1), made["HorizontalFlip"](p=1)]}})
    with pytest.raises(spdl.SpecError, match=r"Solarize\(p, threshold_range\): threshold_range: got 0.1 to 0.2, want one threshold"):
        spdl.describe([size, made["Solarize"](p=1, threshold_range=(0.1, 0.2))])


def test_what_the_engine_refuses_names_the_transform(opened):
    blur = named("GaussianBlur")(kernel_size=(99, 99), sigma=(0.1, 2.0))
    with pytest.raises(spdl.SpecError, match=r"image.transform\[1\].gaussian_blur: got kernel_size 99.*\(image.transform\[1\] is of image.transform.transforms\[2\], GaussianBlur\(kernel"):
        opened(image={"transform": Compose(transforms=[resize(8, 8), Compose(transforms=[]), blur])})
    with pytest.raises(spdl.SpecError, match=r"image.transform\[0\].resize: got 0") as caught:
        opened(image={"transform": [{"resize": 0}, resize(8)]})
    assert "is of" not in str(caught.value), "an operation is its own name"


@pytest.mark.parametrize("what, message", [(7, "got 7, want transforms"), ("x.yaml", "got 'x.yaml', want transforms"), (None, "got None, want transforms")])
def test_describe_takes_transforms_data_sets_and_descriptions(what, message):
    with pytest.raises(TypeError, match=message):
        spdl.describe(what)
    with pytest.raises(TypeError, match="got batch_size, torch's arguments, beside a dict, want them beside a data set alone"):
        spdl.describe({}, batch_size=4)


# ---- data sets

Torchs = named("Dataset", "torch.utils.data.dataset")
ImageFolder = named("ImageFolder", "torchvision.datasets.folder", Torchs, __len__=lambda self: len(self.samples), __getitem__=lambda self, i: None)
Subset = named("Subset", "torch.utils.data.dataset", Torchs, __len__=lambda self: len(self.indices))


def image_folder(root: Path, transform: Any = None, **attributes: Any) -> Any:
    samples = [(str(path), "ab".index(path.parent.name)) for path in sorted(root.glob("*/*"))]
    return ImageFolder(root=str(root), samples=samples, classes=["a", "b"], extensions=(".png",), transform=transform, **attributes)


@pytest.fixture
def loading(library: Path, runtime: str):
    return lambda *args, **options: spdl.DataLoader(*args, tensors="numpy", copy=True, engine=built("spdl"), **options)


def colours(loader: spdl.DataLoader) -> list:
    with loader:
        return [(images[:, 0, 0, 0].tolist(), labels.tolist()) for images, labels in loader]


def test_a_data_set_of_files_and_torchs_arguments_are_a_description(folder, monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    dataset = image_folder(folder, Compose(transforms=[resize(8, 8), PILToTensor()]))
    described = spdl.describe(dataset, batch_size=4, shuffle=True, drop_last=True, num_workers=3, prefetch_factor=5)
    assert described == json.loads(json.dumps(described)) == {
        "source": {"folder": str(folder), "extensions": ["png"]}, "batch": 4, "order": {"shuffle": True, "seed": 0, "last": "drop"},
        "image": {"transform": [{"resize": [8, 8]}], "layout": "NCHW", "dtype": "u8"}, "bad_sample": {"policy": "fail"}, "ring": {"slots": 15}}
    part = Subset(dataset=dataset, indices=[5, 1])
    assert spdl.describe(part)["source"] == {"host": {"samples": 2}} and spdl.describe(part)["batch"] == 1


def test_a_data_set_loads_in_its_order(loading, folder):
    dataset = image_folder(folder, [resize(8, 8), PILToTensor()])
    assert colours(loading(dataset, 4)) == [([0, 1, 2, 3], [0, 0, 0, 1]), ([4, 5], [1, 1])]
    assert colours(loading(dataset, 4, drop_last=True)) == [([0, 1, 2, 3], [0, 0, 0, 1])]
    assert colours(loading(Subset(dataset=dataset, indices=[5, 1, 3]), batch_size=2)) == [([5, 1], [1, 0]), ([3], [1])]


def held(name: str, transform: Any, **attributes: Any) -> Any:
    return named(name, "torchvision.datasets.pixels", Torchs, __len__=lambda self: 1, __getitem__=lambda self, i: None)(transform=transform, **attributes)


def test_a_data_set_that_holds_its_pixels_loads_them(loading):
    pixels = np.random.default_rng(1).integers(0, 256, (5, 3, 6, 8), np.uint8)
    padded = [named("Pad")(padding=1, fill=0, padding_mode="constant"), PILToTensor()]
    for name, data, want in [("SVHN", pixels, pixels), ("CIFAR10", pixels.transpose(0, 2, 3, 1), pixels), ("MNIST", pixels[:, 0], pixels[:, :1])]:
        dataset = held(name, padded, data=data, **{"labels" if name == "SVHN" else "targets": [3, -1, 4, 1, 5]})
        with loading(Subset(dataset=dataset, indices=[4, 1, 0]), batch_size=2) as loader:
            batches = list(loader)
        assert [labels.tolist() for _, labels in batches] == [[5, -1], [3]]
        assert np.array_equal(np.concatenate([images for images, _ in batches]), np.pad(want[[4, 1, 0]], ((0, 0), (0, 0), (1, 1), (1, 1))))


def test_a_size_that_a_data_set_has_is_known_to_resize():
    dataset = held("MNIST", [resize(6), ToTensor()], data=np.zeros((2, 9, 12), np.uint8), targets=[0, 1])
    assert spdl.describe(dataset)["image"] == {"mode": "gray", "transform": [{"resize": [6, 8]}], "layout": "NCHW", "dtype": "f32"}
    dataset.transform = [resize(9, 9), named("Grayscale")(num_output_channels=3), ToTensor()]
    assert spdl.describe(dataset)["image"] == {"mode": "rgb", "transform": [{"resize": [9, 9]}, {"grayscale": 1}], "layout": "NCHW", "dtype": "f32"}


@pytest.mark.parametrize("change, message", [
    (dict(data=np.zeros((2, 4, 4, 3), np.float32)), r"CIFAR10 data: got \[2, 4, 4, 3\] of float32, want \[N, H, W, 3\] of u8"),
    (dict(data=np.zeros((2, 3, 4, 4), np.uint8)), r"CIFAR10 data: got \[2, 3, 4, 4\] of uint8, want"), (dict(data=None), r"CIFAR10 data: got \[\] of NoneType, want"),
    (dict(targets=[0]), "CIFAR10 targets: got 1 for 2 pictures"), (dict(targets=None), "CIFAR10 targets: got none for 2 pictures"),
])
def test_pixels_that_are_held_in_another_way_are_refused(change, message):
    dataset = held("CIFAR10", [ToTensor()], data=np.zeros((2, 4, 4, 3), np.uint8), targets=[0, 1])
    vars(dataset).update(change)
    with pytest.raises(spdl.ArgumentError, match=message):
        spdl.DataLoader(dataset)


def test_files_that_have_gone_from_the_data_set_since_stay_away(loading, folder):
    dataset = image_folder(folder, [resize(8, 8), PILToTensor()])
    Image.new("RGB", (8, 8)).save(folder / "a" / "new.png")
    assert colours(loading(dataset, 6)) == [([0, 1, 2, 3, 4, 5], [0, 0, 0, 1, 1, 1])]


@pytest.mark.parametrize("options, message", [
    (dict(batch_size=None), "batch_size: got None"), (dict(shuffle=3), "shuffle: got 3, want True or False"), (dict(collate_fn=3), "collate_fn: got 3, want a function"),
    (dict(worker_init_fn=print), "worker_init_fn: got one"), (dict(batch_sampler=[]), "batch_sampler: got list, which does not say how many samples a batch has"), (dict(timeout=1), "timeout: got 1"), (dict(source=[]), "got source= beside"),
    (dict(sampler=[1.5]), "sampler: got 1.5 at 0 of 1 indices"), (dict(sampler=iter([1])), "sampler: got list_iterator, which can be gone through once, want RandomSampler"),
])
def test_arguments_that_cannot_be_told_are_refused(folder, options, message):
    with pytest.raises(spdl.ArgumentError, match=message):
        spdl.DataLoader(image_folder(folder, [resize(8, 8), PILToTensor()]), **options)


@pytest.mark.parametrize("change, message", [
    (dict(transform=None), "has no transform"), (dict(transform=resize(8, 8)), "ends with a PIL image"), (dict(target_transform=3), "target_transform: got 3"),
    (dict(loader=abs), "loader: got .*want torchvision's default_loader"), (dict(samples=[]), "has no samples"),
])
def test_a_data_set_that_does_more_is_refused(folder, change, message):
    dataset = image_folder(folder, [resize(8, 8), PILToTensor()])
    vars(dataset).update(change)
    with pytest.raises(spdl.ArgumentError, match=message):
        spdl.DataLoader(dataset)


def test_a_data_set_of_ones_own_is_told_how_it_is_kept():
    mine = named("Mine", "mine", Torchs, __getitem__=lambda self, i: None)()
    with pytest.raises(spdl.ArgumentError, match="Mine is a class of its own, which reads by its __getitem__, in which nothing is a picture, a sound or a video: it has no __len__"):
        spdl.DataLoader(mine, batch_size=4)


def test_torchs_places_are_a_data_sets_alone(mock):
    with pytest.raises(TypeError, match="got 64, True behind the description, want fields alone; the others by their names, batch=64"):
        spdl.DataLoader("x.yaml", 64, True)


@pytest.mark.parametrize("said, remedy", [({"batch": 4}, "got batch beside a data set; say batch_size"), ({"size": 224}, "got size beside a data set; the transform says it"), ({"seed": 1}, "got seed beside a data set; say generator="),
                                          ({"epochs": 2}, "got epochs beside a data set; each loop is one"), ({"dtype": "f32"}, "got dtype beside a data set; the transform says it"), ({"layout": "NCHW"}, "got layout beside a data set; the transform says it")])
def test_what_is_said_of_a_folder_is_torchs_to_say_of_a_data_set(loading, folder, said, remedy):
    with pytest.raises(TypeError, match=remedy):
        loading(image_folder(folder, [resize(8, 8), PILToTensor()]), **said)


# ---- samplers, boxes and masks


def sampler(name: str, **attributes: Any) -> Any:
    return named(name, "torch.utils.data.sampler", __iter__=lambda self: iter(()))(generator=None, **attributes)


def test_a_sampler_of_fewer_samples_draws_the_first_ones(loading, folder):
    dataset = image_folder(folder, [resize(8, 8), PILToTensor()])
    assert colours(loading(dataset, 3, sampler=sampler("SequentialSampler", data_source=range(4)))) == [([0, 1, 2], [0, 0, 0]), ([3], [1])]
    shuffled = colours(loading(dataset, 6, sampler=sampler("RandomSampler", data_source=range(5), replacement=False, num_samples=5)))
    assert [sorted(batch[0]) for batch in shuffled] == [[0, 1, 2, 3, 4]]
    with pytest.raises(spdl.ArgumentError, match="sampler: got a SequentialSampler of 7 samples, want one of this data set, which has 6"):
        spdl.DataLoader(dataset, sampler=sampler("SequentialSampler", data_source=range(7)))
    with pytest.raises(spdl.ArgumentError, match="sampler: got a RandomSampler of num_samples=6 without replacement, want at most 3"):
        spdl.DataLoader(dataset, sampler=sampler("RandomSampler", data_source=range(3), replacement=False, num_samples=6))


@pytest.mark.parametrize("weights, said", [
    ([1, 2, float("nan"), 1, 1, 1], "the weight nan at 2 of 6"), ([1, 2, 3, 1, -0.5, 1], "the weight -0.5 at 4 of 6"), ([float("inf"), 2, 3, 1, 1, 1], "the weight inf at 0 of 6"),
    ([0, 0, 0, 0, 0, 0], "no weight above 0"),
])
@pytest.mark.parametrize("replacement", [True, False])
def test_weights_that_draw_nothing_are_refused_by_their_place(folder, weights, said, replacement):
    drawn = sampler("WeightedRandomSampler", weights=np.array(weights, float), num_samples=2, replacement=replacement)
    with pytest.raises(spdl.ArgumentError, match=f"sampler: got a WeightedRandomSampler with {said}, want numbers from 0 to 3.4e\\+38, and one above 0"):
        spdl.DataLoader(image_folder(folder, [resize(8, 8), PILToTensor()]), sampler=drawn)


def test_samplers_are_orders(loading, folder):
    dataset = image_folder(folder, [resize(8, 8), PILToTensor()])
    weights = np.array([0, 1, 0, 0, 0, 0.0])
    assert colours(loading(dataset, 4, sampler=sampler("WeightedRandomSampler", weights=weights, num_samples=6, replacement=True))) == [([1] * 4, [0] * 4), ([1] * 2, [0] * 2)]
    drawn = colours(loading(Subset(dataset=dataset, indices=[5, 1, 3]), 9, sampler=sampler("RandomSampler", data_source=range(3), replacement=False, num_samples=2)))
    assert len(set(drawn[0][0])) == 2 and set(drawn[0][0]) < {1, 3, 5}
    batches = sampler("BatchSampler", sampler=np.array([4, 0, 2]), batch_size=2, drop_last=True)
    assert colours(loading(dataset, batch_sampler=batches)) == [([4, 0], [1, 0])]
    with pytest.raises(spdl.ArgumentError, match="got 9 beside batch_sampler, which says it"):
        spdl.DataLoader(dataset, 9, batch_sampler=batches)


def test_a_grouped_batch_sampler_makes_batches_of_its_groups(loading, folder):
    dataset = image_folder(folder, [resize(8, 8), PILToTensor()])

    class GroupedBatchSampler(Torchs):
        sampler, group_ids, batch_size = sampler("RandomSampler", data_source=range(6), replacement=False, num_samples=6), np.array([5, 7, 5, 7, 5, 5]), 2

        def __iter__(self):
            raise AssertionError("nobody asks it for its order")
    batches = GroupedBatchSampler()
    got = sorted(tuple(sorted(numbers)) for numbers, _ in colours(loading(dataset, batch_sampler=batches)))
    assert [set(batches.group_ids[list(one)].tolist()) for one in got].count({7}) == 1 and sorted(n for one in got for n in one) == list(range(6)) and {len(one) for one in got} == {2}
    Image.new("RGB", (8, 8)).save(folder / "a" / "new.png")
    assert len(colours(loading(dataset, batch_sampler=batches))) == 3  # of the six that the data set has
    batches.group_ids = [1, 2]
    with pytest.raises(spdl.ArgumentError, match="batch_sampler: got a GroupedBatchSampler of 2 group_ids, want one for each of the data set's 6 samples"):
        spdl.DataLoader(dataset, batch_sampler=batches)


def test_weights_of_a_folder_that_has_grown_are_those_of_the_data_set(loading, folder):
    dataset = image_folder(folder, [resize(8, 8), PILToTensor()])
    Image.new("RGB", (8, 8)).save(folder / "a" / "new.png")
    drawn = colours(loading(dataset, 6, sampler=sampler("WeightedRandomSampler", weights=np.array([0, 0, 0, 0, 0, 2.0]), num_samples=3, replacement=True)))
    assert drawn == [([5, 5, 5], [1, 1, 1])]


def test_a_collate_fn_gets_pictures_with_their_labels(loading, folder):
    with loading(image_folder(folder, [resize(8, 8), PILToTensor()]), 4, collate_fn=lambda samples: [(image.shape, label) for image, label in samples]) as loader:
        assert list(loader) == [[((3, 8, 8), 0)] * 3 + [((3, 8, 8), 1)], [((3, 8, 8), 1)] * 2]


Wrapper = named("VisionDatasetTVTensorWrapper", "torchvision.tv_tensors._dataset_wrapper", Torchs, __len__=lambda self: 6, __getitem__=lambda self, i: None)


def wrapped(name: str, transforms: Any, **attributes: Any) -> Any:
    inner = named(name, "torchvision.datasets.some", Torchs, __len__=lambda self: 6, __getitem__=lambda self, i: None)(**attributes)
    return Wrapper(_dataset=inner, _target_keys=None, transforms=transforms, transform=None, target_transform=None)


def test_boxes_follow_their_pictures(loading, folder):
    """Of pictures of 24 x 20 pixels, resized to twice that and mirrored."""
    files = sorted(folder.glob("*/*"))
    annotations = {7: [{"bbox": [2, 3, 4, 5], "category_id": 9}, {"bbox": [0, 0, 24, 20], "category_id": 8}], 9: []}
    coco = named("COCO", "pycocotools.coco")(imgs={n: {"file_name": f"a/{path.name}"} for n, path in zip(annotations, files)}, imgToAnns=annotations)
    dataset = wrapped("CocoDetection", Compose(transforms=[resize(40, 48), RandomHorizontalFlip(p=1), PILToTensor()]), coco=coco, ids=[7, 9], root=str(folder))
    with loading(dataset, 2) as loader:
        (images, (first, second)), = loader
    assert images.shape == (2, 3, 40, 48) and list(first) == ["image_id", "boxes", "labels"] and (first["image_id"], second["image_id"]) == (7, 9)
    assert first["boxes"].tolist() == [[36, 6, 44, 16], [0, 0, 48, 40]] and first["labels"].tolist() == [9, 8] and second["boxes"].shape == (0, 4)
    said = spdl.describe(dataset, files=folder)
    assert said["image"]["boxes"] == {"column": "boxes", "format": "xyxy", "with": ["labels"], "min_size": 0, "min_area": 0}
    table = np.load(folder / "table.npz")
    assert table["boxes"].dtype == np.float32 and table["boxes"].tolist() == [[2, 3, 6, 8], [0, 0, 24, 20]] and table["boxes.offsets"].tolist() == [0, 2, 2]
    assert table["path"].tobytes() == b"".join(bytes(path) for path in files[:2]) and table["image_id"].tolist() == [7, 9] and table["labels"].tolist() == [9, 8]


def test_a_table_of_numbers_is_numpys(tmp_path):
    """Written in parts, of more samples than are in hand at once, with none among them; as numpy.savez has them."""
    from spdl._torch.table import table
    from spdl._torch.targets import MASK, Target

    outlines = [[[[1, 2, 3, 4, 5, 6.5], [7] * 6], {"size": [2, 3], "counts": [1, 5]}, {"size": [2, 3], "counts": "06"}][:n % 4] for n in range(700)]
    corners = [array("f", range(4 * (n % 4))) for n in range(700)]
    targets = [{"boxes": boxes, "labels": array("q", range(len(masks))), "masks": masks} for boxes, masks in zip(corners, outlines)]
    columns, parts = table(Target("boxes", ("boxes", "masks", "labels")), [f"/{n}.jpg" for n in range(700)], targets, "cxcywh")
    (tmp_path / "t.npz").write_bytes(b"".join(parts()))
    got = np.load(tmp_path / "t.npz")
    assert columns == [{"name": "boxes", "type": "list", "dtype": "f32", "shape": [-1, 4], "max_length": 3}, {"name": "masks", "type": "list", "dtype": "f64", "max_length": 15 + 6 + 6},
                       {"name": "labels", "type": "list", "dtype": "i64", "max_length": 3}]
    assert got["boxes"][:3].tolist() == [[1, 2, 2, 2], [1, 2, 2, 2], [5, 6, 2, 2]] and len(got["boxes"]) == got["boxes.offsets"][-1] == 175 * 6
    row = [2, 6, 1, 2, 3, 4, 5, 6.5, 6, *[7] * 6, 0, 2, 3, 2, 1, 5, 0, 2, 3, -2, 48, 54]
    assert got["masks"].dtype == np.float64 and got["masks"][got["masks.offsets"][699]:].tolist() == row and got["masks.offsets"][:2].tolist() == [0, 0]
    assert got["path"].tobytes()[-8:] == b"/699.jpg" and got["path.offsets"][-1] == len(got["path"]) and got["labels.offsets"].tolist() == got["boxes.offsets"].tolist()
    columns, parts = table(MASK, ["/a", "/b"], ["/x", "/yy"], "")
    (tmp_path / "m.npz").write_bytes(b"".join(parts()))
    assert columns == [] and np.load(tmp_path / "m.npz")["mask"].tobytes() == b"/x/yy"
    columns, parts = table(Target("values", length=2), ["/a", "/b"], [[1, 2], [3, -4]], "")
    (tmp_path / "v.npz").write_bytes(b"".join(parts()))
    assert columns[0]["shape"] == [2] and np.load(tmp_path / "v.npz")["target"].tolist() == [[1, 2], [3, -4]]


def test_masks_follow_their_pictures(loading, folder):
    files = sorted(folder.glob("*/*"))
    masks = [folder / f"mask{i}.png" for i in range(len(files))]
    for i, path in enumerate(masks):
        Image.fromarray(np.repeat(np.arange(24, dtype=np.uint8)[None] + i, 20, 0)).save(path)
    dataset = wrapped("VOCSegmentation", Compose(transforms=[resize(10, 8), named("RandomGrayscale")(p=1), RandomHorizontalFlip(p=1), PILToTensor()]), images=files, masks=masks)
    with loading(dataset, 6) as loader:
        (images, got), = loader
    assert images.shape == (6, 3, 10, 8) and got.shape == (6, 1, 10, 8) and got.dtype == np.uint8
    assert (got[:, 0] == (np.arange(21, -1, -3) + np.arange(6)[:, None])[:, None]).all()


@pytest.mark.parametrize("make, message", [
    (lambda: wrapped("CocoDetection", None, coco=None, ids=[], root="x"), "has no samples"),
    (lambda: wrapped("VOCSegmentation", None, images=["x"], masks=["y"]), "has no transforms"),
    (lambda: wrapped("Cityscapes", None, target_type=["instance"], images=[], targets=[]), "target_type: got"),
    (lambda: wrapped("CocoDetection", named("StandardTransform", "torchvision.datasets.vision")(transform=resize(8), target_transform=None)), "transform: got one of the picture alone"),
])
def test_boxes_and_masks_that_cannot_be_told_are_refused(make, message):
    with pytest.raises(spdl.ArgumentError, match=message):
        spdl.DataLoader(make())


def test_describe_writes_files_beside_a_data_set_alone(tmp_path):
    with pytest.raises(TypeError, match="got files, torch's arguments, beside a Compose, want them beside a data set alone"):
        spdl.describe(EVALUATION, files=tmp_path)


ITERABLE = named("IterableDataset", "torch.utils.data.dataset", named("Dataset", "torch.utils.data.dataset"))
Mosaics = named("StreamingDataset", "streaming.base.dataset", ITERABLE, __getitem__=print)
Litdatas = named("StreamingDataset", "litdata.streaming.dataset", ITERABLE, __getitem__=print)
NEAR = named("Stream", "streaming.base.stream")(local="/data/mds", remote=None, split="train", choose=5)
FAR = named("Stream", "streaming.base.stream")(local="/tmp/mds", remote="s3://bucket/mds", split=None, choose=3)


def mosaics(*streams: Any, of: Any = Mosaics, reader: str = "MDSReader", encodings: Any = ("jpeg", "int", "str", "float32"), **more: Any) -> Any:
    """As it stands when it has read its index.json: a shard of each stream."""
    names = ("image", "label", "a b", "score")
    shards = [named(reader, "streaming.base.format.mds.reader")(column_names=names, column_encodings=encodings, samples=one.choose) for one in streams]
    return of(**{"streams": streams, "shards": shards, "samples_per_stream": [one.choose for one in streams], "shuffle": True, "shuffle_seed": 9, "batching_method": "random", "replication": None, **more})


def test_mosaics_streaming_data_set_is_told_as_a_description():
    said = spdl.describe(mosaics(NEAR, FAR), transform=[resize(8, 8), ToTensor()], batch_size=4, drop_last=True)
    assert said["source"] == {"shards": ["/data/mds/train/index.json", "s3://bucket/mds/index.json"], "label": "label",
                              "columns": [{"name": "column_0", "from": "a b", "type": "text", "max_bytes": 16384}, {"name": "score", "type": "npy"}]}
    assert said["order"] == {"shuffle": True, "seed": 9, "last": "drop"} and said["batch"] == 4 and said["bad_sample"] == {"policy": "fail"}
    assert said["image"] == {"from": ["image"], "transform": [{"resize": [8, 8]}], "layout": "NCHW", "dtype": "f32"}
    assert spdl.describe(mosaics(NEAR, shuffle=False), fields=("label",))["source"] == {"shards": ["/data/mds/train/index.json"], "labels": "none", "columns": [{"name": "column_0", "from": "label", "type": "i64"}]}


@pytest.mark.parametrize("make, message", [
    (lambda: mosaics(FAR, of=named("Own", "mine", Mosaics, __getitem__=print)),
     r"Own is a class of its own, which reads by its __getitem__, .*want streaming.StreamingDataset itself, .*or source: \{shards: s3://bucket/mds/\} of a description, .*formats.md#mds"),
    (lambda: mosaics(NEAR, of=named("StreamingDataset", "mine", Mosaics, __getitem__=print)), "StreamingDataset is a class of its own, which reads by its __getitem__"),
    (lambda: mosaics(NEAR, FAR, of=named("Own", "mine", Mosaics, __iter__=print)), r"Own .* reads by its __iter__, .*\{shards: \['/data/mds/train', 's3://bucket/mds/'\]\} of a description"),
    (lambda: mosaics(NEAR, samples_per_stream=[4]), "draws 5 samples an epoch .* of 4, want each once"),
    (lambda: mosaics(NEAR, replication=2), "has batching_method='random' and replication=2, want"),
    (lambda: mosaics(NEAR, reader="JSONReader"), r"has shards of JSONReader, want MDS: a table of JSON or CSV is source: \{list: FILE\}"),
    (lambda: mosaics(NEAR, encodings=("jpeg", "int", "str", "pkl")), r"columns\['score'\]: got pkl, want int, .*; it is not read; fields=\[...\] leaves it out"),
    (lambda: mosaics(NEAR, encodings=("jpeg", "int", "str", "png")), r"has the pictures image, score, want one: fields="),
    (lambda: mosaics(named("Stream", "x")(local="/x", remote="azure://c/mds", split=None, choose=1)), "got an address of 'azure', want a path"),
    (lambda: named("Own", "mine", Litdatas, __getitem__=print)(input_dir=named("Dir", "litdata.streaming.resolver")(path="/data/lit", url=None)),
     r"Own is a class of its own, which reads by its __getitem__, .*want litdata.StreamingDataset itself, .*or source: \{shards: /data/lit\} of a description, .*formats.md#litdata"),
    (lambda: named("Own", "mine", Litdatas, __next__=print)(input_dir=named("Dir", "litdata.streaming.resolver")(path="/tmp/x", url="s3://bucket/lit")), r"reads by its __next__, .*\{shards: s3://bucket/lit/\} of a description"),
    (lambda: Litdatas(transform=[print]), "transform: got one of litData's, of whole samples, want none"),
    (lambda: Litdatas(item_loader=named("TokensLoader", "litdata.streaming.item_loader")()), "item_loader: got a TokensLoader, want PyTreeLoader, or none"),
])
def test_streaming_data_sets_that_cannot_be_told_are_refused(make, message):
    """MosaicML's, litData's and classes that are derived of them: where the engine reads their shards by a description, these are named."""
    with pytest.raises(spdl.ArgumentError, match=message):
        spdl.DataLoader(make(), batch_size=4, transform=[resize(8, 8), ToTensor()])


def litdatas(at, spec: Any, formats: list[str], *chunks: int, **more: Any) -> Any:
    """As it stands when it has read, or brought, its index.json."""
    config = {"data_format": formats, "data_spec": json.dumps([1, spec])}
    (at / "index.json").write_text(json.dumps({"chunks": [{"chunk_size": n} for n in chunks], "config": config}))
    said = {"input_dir": named("Dir", "litdata.streaming.resolver")(path=str(at), url=None), "item_loader": None, "region_of_interest": [(0, n) for n in chunks], "shuffle": True, "seed": 42}
    return Litdatas(**{**said, **more})


LEAF: Any = {"type": None, "context": None, "children_spec": []}


def node(kind: str, children: list[Any], keys: Any = None) -> Any:
    return {"type": f"builtins.{kind}", "context": json.dumps(keys), "children_spec": children}


def test_litdatas_streaming_data_set_is_told_as_a_description(tmp_path):
    spec = node("dict", [LEAF, LEAF, node("dict", [LEAF, node("list", [LEAF])], ["width", "tags"])], ["image", "label", "about"])
    dataset = litdatas(tmp_path, spec, ["jpeg", "int", "int", "no_header_tensor:1"], 3, 4)
    said = spdl.describe(dataset, transform=[resize(8, 8), ToTensor()], batch_size=4)
    assert said["source"] == {"shards": [f"{tmp_path}/index.json"], "label": "label", "columns": [{"name": "column_0", "from": "about.width", "type": "i64"}, {"name": "column_1", "from": "about.tags.0", "type": "npy"}]}
    assert said["order"] == {"shuffle": True, "seed": 42, "last": "cover"} and said["batch"] == 4 and said["image"]["from"] == ["image"]
    far = named("Dir", "litdata.streaming.resolver")(path=str(tmp_path), url="s3://bucket/lit")
    assert spdl.describe(litdatas(tmp_path, node("tuple", [LEAF, LEAF]), ["str", "bool"], 7, input_dir=far))["source"] == {
        "shards": ["s3://bucket/lit/index.json"], "labels": "none", "columns": [{"name": "0", "type": "text", "max_bytes": 16384}, {"name": "1", "type": "i64"}]}
    assert spdl.describe(litdatas(tmp_path, LEAF, ["float"], 7))["source"]["columns"] == [{"name": "0", "type": "f64"}]
    for more, message in (({"region_of_interest": [(0, 5)]}, r"has 5 of its 7 samples \(subsample, train_test_split\), want all of them"), ({"input_dir": named("Dir", "x")(path=str(tmp_path), url="azure://c/lit")}, "got an address of 'azure'")):
        with pytest.raises(spdl.ArgumentError, match=message):
            spdl.DataLoader(litdatas(tmp_path, LEAF, ["float"], 7, **more))
    with pytest.raises(spdl.ArgumentError, match=r"columns\['0'\]: got pickle, want int, .*; it is not read; fields=\[...\] leaves it out"):
        spdl.DataLoader(litdatas(tmp_path, LEAF, ["pickle"], 7))


def test_shards_of_other_columns_than_the_first_are_refused():
    dataset = mosaics(NEAR, FAR)
    dataset.shards[1].column_encodings = ("jpeg", "int", "str", "float64")
    with pytest.raises(spdl.ArgumentError, match="has columns .*float64.* in shard 1, and .*float32.* in shard 0, want the same in all"):
        spdl.DataLoader(dataset, fields="score")
