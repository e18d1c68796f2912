"""spdl.DataLoader in the place of torch's, by one word: on torchvision's own data sets and with torchvision's and timm's own transforms, the tensors, the labels and
the number of batches are torch's."""

import json

import numpy as np
import pytest
from PIL import Image

from conftest import picture

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
spdl = pytest.importorskip("spdl")
from torchvision import datasets, transforms as T  # noqa: E402

from drop import MEAN, STD, classes, finished, same, to_rgb  # noqa: E402

try:
    from torchvision.transforms import v2
except ImportError:  # Debian's
    v2 = None
needs_v2 = pytest.mark.skipif(v2 is None, reason="torchvision has no transforms.v2")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return classes(tmp_path_factory.mktemp("drop"))


@pytest.fixture(scope="module")
def squares(tmp_path_factory):
    """Pictures of one size, for transforms whose chances are all or nothing."""
    at = tmp_path_factory.mktemp("squares")
    (at / "x").mkdir()
    rng = np.random.default_rng(8)
    for i in range(5):
        Image.fromarray(picture(rng, 64, 64)).save(at / "x" / f"{i}.png")
    return str(at)


DETERMINISTIC = {
    "evaluation": lambda: finished(T.Resize(48), T.CenterCrop(40)),
    "bicubic": lambda: finished(T.Resize(48, T.InterpolationMode.BICUBIC), T.CenterCrop((40, 36))),
    "lanczos": lambda: finished(T.Resize((40, 36), T.InterpolationMode.LANCZOS)),
    "longer side": lambda: finished(T.Resize(30, max_size=50), T.CenterCrop(40)),
    "bytes": lambda: T.Compose([T.Resize([48]), T.CenterCrop(40), T.PILToTensor()]),
    "bytes to floats": lambda: T.Compose([T.Resize(48), T.CenterCrop(40), T.PILToTensor(), T.ConvertImageDtype(torch.float32)]),
    "small pictures": lambda: T.Compose([T.CenterCrop(80), T.ToTensor()]),
    "crop of a tensor": lambda: T.Compose([T.Resize(48), T.ToTensor(), T.CenterCrop(40), T.RandomVerticalFlip(1), T.Normalize(0.5, 0.25)]),
    "flips behind Normalize": lambda: T.Compose([T.Resize((40, 36)), T.ToTensor(), T.Normalize(MEAN, STD), T.RandomHorizontalFlip(1)]),
    "grey": lambda: T.Compose([T.Grayscale(), T.Resize((40, 36)), T.ToTensor(), T.Normalize([0.5], [0.25])]),
    "grey of three": lambda: finished(T.Resize((40, 36)), T.Grayscale(3)),
    "padded": lambda: finished(T.Resize((30, 26)), T.Pad([1, 2, 3, 4], fill=(10, 20, 30))),
    "mirrored": lambda: finished(T.Resize((30, 26)), T.Pad(5, padding_mode="reflect")),
    "nested": lambda: T.Compose([T.Compose([T.Resize(48), T.CenterCrop(40)]), T.ToTensor()]),
    "flips ahead": lambda: finished(T.RandomHorizontalFlip(1), T.Resize(48), T.RandomVerticalFlip(1), T.CenterCrop(40)),
    "turned ahead": lambda: finished(T.RandomRotation((20, 20), expand=True), T.Resize((40, 36), T.InterpolationMode.BICUBIC), T.RandomInvert(1)),
    "chosen": lambda: finished(T.Resize((40, 36)), T.RandomChoice([T.RandomGrayscale(1), T.RandomInvert(1), T.RandomEqualize(1)], p=[0, 1, 0])),
    "grey ahead": lambda: finished(T.Grayscale(3), T.Resize(48), T.CenterCrop(40)),
    "coloured ahead": lambda: finished(T.RandomInvert(1), T.RandomSolarize(100, p=1), T.RandomAdjustSharpness(2, p=1), T.RandomRotation((20, 20)), T.RandomPosterize(4, p=1), T.Resize(48), T.RandomAutocontrast(1), T.RandomEqualize(1),
                                       T.CenterCrop(40)),
    "again and again": lambda: finished(T.RandomHorizontalFlip(1), T.Resize((40, 36)), T.RandomInvert(1), T.RandomHorizontalFlip(1), T.RandomSolarize(100, p=1), T.RandomInvert(1), T.RandomSolarize(60, p=1),
                                        T.ColorJitter((1.5, 1.5)), T.RandomApply([T.RandomInvert(1)], p=1), T.ColorJitter((0.7, 0.7)), T.RandomVerticalFlip(1), T.RandomVerticalFlip(1)),
    "converted by a function": lambda: T.Compose([T.Resize(48, T.InterpolationMode.BICUBIC), T.CenterCrop(40), to_rgb, T.ToTensor(), T.Normalize(MEAN, STD)]),
    "converted by a Lambda": lambda: finished(T.Lambda(lambda image: image.convert("RGB") if image.mode != "RGB" else image), T.Resize((40, 36)), T.Lambda(lambda x: x)),
    "around zero": lambda: T.Compose([T.Resize((40, 36)), T.ToTensor(), T.Lambda(lambda t: (t * 2) - 1)]),
    "around zero, grey": lambda: T.Compose([T.Grayscale(), T.Resize((40, 36)), T.ToTensor(), lambda x: (x - 0.5) / 0.5]),
    "of modules": lambda: T.Compose([torch.nn.Sequential(T.Resize(48), T.CenterCrop(40)), T.ToTensor()]),
}


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_a_compose_gives_torchs_tensors_labels_and_batches(root, name):
    same(datasets.ImageFolder(root, DETERMINISTIC[name]()), batch_size=4)


V2 = {
    "evaluation": lambda: v2.Compose([v2.Resize(48), v2.CenterCrop(40), v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]),
    "by functions": lambda: v2.Compose([v2.Lambda(lambda image: image.convert("RGB")), v2.Resize((40, 36)), v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Lambda(lambda x: 2 * x - 1)]),
    "of kinds": lambda: v2.Compose([v2.RGB(), v2.Resize((40, 36), "bicubic"), v2.ToImage(), v2.ToDtype({torchvision.tv_tensors.Image: torch.float32, "others": None}, scale=True), v2.ToPureTensor()]),
    "bytes": lambda: v2.Compose([v2.Resize((40, 36), interpolation=1, antialias=False), v2.PILToTensor()]),
    "padded": lambda: v2.Compose([v2.Resize((30, 26)), v2.Pad([1, 2, 3, 4], fill={"others": 7}), v2.Identity(), v2.ToImage()]),
    "evaluation of a tensor": lambda: v2.Compose([v2.ToImage(), v2.ToDtype(torch.uint8, scale=True), v2.Resize(48), v2.CenterCrop(40), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]),
    "bicubic of a tensor": lambda: v2.Compose([v2.PILToTensor(), v2.Resize((40, 36), v2.InterpolationMode.BICUBIC)]),
    "lanczos of a tensor": lambda: v2.Compose([v2.ToImage(), v2.Resize((40, 36), interpolation=1), v2.ToPureTensor()]),
    "nearest of a tensor": lambda: v2.Compose([v2.ToImage(), v2.Resize((40, 36), "nearest", antialias=None)]),
    "grey as a tensor": lambda: v2.Compose([v2.Grayscale(), v2.ToImage(), v2.Resize(30, max_size=50), v2.CenterCrop(40)]),
    "weights": lambda: torchvision.models.ResNet18_Weights.DEFAULT.transforms(crop_size=40, resize_size=48),
}


@needs_v2
@pytest.mark.parametrize("name", V2)
def test_a_compose_of_v2_does_too(root, name):
    """ToDtype multiplies by 1/255 in floats where ToTensor and ours divide: the last bit, times what Normalize divides by."""
    same(datasets.ImageFolder(root, V2[name]()), batch_size=4, within=1e-6)


ALWAYS = {  # what is random, with nothing to draw; within how much
    "RandomResizedCrop": (lambda: T.RandomResizedCrop(40, scale=(1, 1), ratio=(1, 1)), 0),
    "RandomCrop": (lambda: T.RandomCrop(68, padding=2), 0),
    "RandomHorizontalFlip": (lambda: T.RandomHorizontalFlip(1), 0),
    "RandomVerticalFlip": (lambda: T.RandomVerticalFlip(1), 0),
    "ColorJitter": (lambda: T.ColorJitter(brightness=(1.5, 1.5)), 0),
    "ColorJitter, hue": (lambda: T.ColorJitter(hue=(0.25, 0.25)), 0),
    "RandomApply": (lambda: T.RandomApply([T.ColorJitter(saturation=(0.5, 0.5)), T.RandomInvert(1)], p=1), 0),
    "RandomGrayscale": (lambda: T.RandomGrayscale(1), 0),
    "RandomRotation": (lambda: T.RandomRotation((30, 30), fill=9), 0),
    "RandomRotation, bicubic": (lambda: T.RandomRotation((-50, -50), T.InterpolationMode.BICUBIC, center=[10, 20]), 0),
    "RandomAffine": (lambda: T.RandomAffine((10, 10), scale=(1.25, 1.25), shear=(5, 5), interpolation=T.InterpolationMode.BILINEAR), 0),
    "RandomAffine, both ways": (lambda: T.RandomAffine((0, 0), shear=(5, 5, -7, -7), fill=[1, 2, 3]), 0),
    "GaussianBlur": (lambda: T.GaussianBlur(5, (1, 1)), 1),
    "ElasticTransform": (lambda: T.ElasticTransform(0.0), 1),
    "RandomSolarize": (lambda: T.RandomSolarize(100, p=1), 0),
    "RandomPosterize": (lambda: T.RandomPosterize(3, p=1), 0),
    "RandomAdjustSharpness": (lambda: T.RandomAdjustSharpness(2, p=1), 0),
    "RandomInvert": (lambda: T.RandomInvert(1), 0),
    "RandomAutocontrast": (lambda: T.RandomAutocontrast(1), 0),
    "RandomEqualize": (lambda: T.RandomEqualize(1), 0),
    "v2.RandomZoomOut": (lambda: v2.RandomZoomOut(side_range=(1, 1), p=1), 0),
    "v2.RandomPhotometricDistort": (lambda: v2.RandomPhotometricDistort(p=0), 0),
    "v2.JPEG": (lambda: v2.JPEG(40), 0),
    "v2.GaussianNoise": (lambda: v2.Compose([v2.ToImage(), v2.GaussianNoise(0, 0)]), 0),
    "v2.RandomResize": (lambda: v2.RandomResize(64, 65), 0),
    "v2.ScaleJitter": (lambda: v2.ScaleJitter((64, 64), (1, 1)), 0),
    "v2.RandomShortestSize": (lambda: v2.RandomShortestSize([64], 90), 0),
    "v2.RandomResizedCrop": (lambda: v2.Compose([v2.ToImage(), v2.RandomResizedCrop((40, 50), scale=(1, 1), ratio=(1, 1), antialias=True)]), 0),
    "v2.RandomResize of a tensor": (lambda: v2.Compose([v2.ToImage(), v2.RandomResize(70, 71)]), 0),
    "v2.ScaleJitter of a tensor": (lambda: v2.Compose([v2.ToImage(), v2.ScaleJitter((64, 64), (1.5, 1.5), v2.InterpolationMode.BICUBIC)]), 0),
    "v2.RandomShortestSize of a tensor": (lambda: v2.Compose([v2.ToImage(), v2.RandomShortestSize([61], 90)]), 0),
    "v2.RandomRotation of a tensor": (lambda: v2.Compose([v2.ToImage(), v2.RandomRotation((33, 33), "bilinear")]), 0),
    "v2.RandomRotation of a tensor, with fill": (lambda: v2.Compose([v2.ToImage(), v2.RandomRotation((-50, -50), "bilinear", center=[10, 20], fill={torchvision.tv_tensors.Image: [9, 8, 255], "others": 0})]), 0),
    "v2.RandomRotation of a tensor, without": (lambda: v2.Compose([v2.ToImage(), v2.RandomRotation((100, 100), "bilinear", fill=None)]), 0),
    "v2.RandomAffine of a tensor": (lambda: v2.Compose([v2.ToImage(), v2.RandomAffine((21, 21), scale=(0.75, 0.75), shear=(10, 10, -5, -5), fill=7)]), 0),
    "v2.RandomPerspective of a tensor": (lambda: v2.Compose([v2.ToImage(), v2.RandomPerspective(0, 1)]), 0),
    "v2.ColorJitter of a tensor": (lambda: v2.Compose([v2.ToImage(), v2.ColorJitter(contrast=(0.5, 0.5))]), 0),
    "v2.ColorJitter of a tensor, brightness": (lambda: v2.Compose([v2.ToImage(), v2.ColorJitter(brightness=(1.5, 1.5))]), 0),
    "v2.ColorJitter of a tensor, saturation": (lambda: v2.Compose([v2.ToImage(), v2.ColorJitter(saturation=(1.5, 1.5))]), 0),
    "v2.ColorJitter of a tensor, hue": (lambda: v2.Compose([v2.ToImage(), v2.ColorJitter(hue=(0.25, 0.25))]), 0),
    "v2.Grayscale of a tensor": (lambda: v2.Compose([v2.ToImage(), v2.Grayscale(3)]), 0),
    "v2.RandomGrayscale of a tensor": (lambda: v2.Compose([v2.ToImage(), v2.RandomApply([v2.RandomGrayscale(1)], 1)]), 0),
    "v2.RandomAdjustSharpness of a tensor": (lambda: v2.Compose([v2.ToImage(), v2.RandomAdjustSharpness(2.7, p=1)]), 0),
    "v2.RandomAutocontrast of a tensor": (lambda: v2.Compose([v2.ToImage(), v2.RandomPosterize(5, 1), v2.RandomAutocontrast(1)]), 0),
    "v2.RandomEqualize of a tensor": (lambda: v2.Compose([v2.ToImage(), v2.RandomEqualize(1)]), 0),
    "v2.RandomPhotometricDistort of a tensor": (lambda: v2.Compose([v2.ToImage(), v2.RandomPhotometricDistort(p=0)]), 0),
    "v2.RandomHorizontalFlip": (lambda: v2.RandomHorizontalFlip(1), 0),
    "v2.RandomRotation": (lambda: v2.RandomRotation((30, 30), "bilinear", fill={Image.Image: 50}), 0),
    "v2.ColorJitter": (lambda: v2.ColorJitter(contrast=(0.5, 0.5)), 0),
    "v2.RandomApply": (lambda: v2.RandomApply([v2.RandomPosterize(4, 1)], 1), 0),
}
BEFORE_A_CROP = ("v2.RandomZoomOut", "v2.RandomResize", "v2.ScaleJitter", "v2.RandomShortestSize", "v2.RandomResize of a tensor", "v2.ScaleJitter of a tensor", "v2.RandomShortestSize of a tensor")


@pytest.mark.parametrize("name", ALWAYS)
def test_what_is_random_gives_torchs_bytes_where_nothing_is_drawn(squares, name):
    if name.startswith("v2.") and v2 is None:
        pytest.skip("torchvision has no transforms.v2")
    make, within = ALWAYS[name]
    one = make()
    front = [] if "Crop" in name else [T.Resize((64, 64))] if name not in BEFORE_A_CROP else []
    behind = [T.CenterCrop(60)] if name in BEFORE_A_CROP else []
    same(datasets.ImageFolder(squares, T.Compose([*front, one, *behind, *([T.PILToTensor()] if "ToImage" not in repr(one) else [])])), batch_size=2, within=within)


def section(operations):
    return {"transform": operations, "layout": "NCHW", "dtype": "f32"}


DESCRIBED = {
    "references": (lambda: T.Compose([T.RandomResizedCrop(224, antialias=True) if v2 else T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.RandAugment(magnitude=7), T.ToTensor(), T.Normalize(MEAN, STD), T.RandomErasing(0.1)]),
                   [{"random_resized_crop": 224}, {"horizontal_flip": 0.5}, {"rand_augment": {"num_ops": 2, "magnitude": 7, "num_magnitude_bins": 31}}, {"normalize": "imagenet"},
                    {"random_erasing": {"p": 0.1}}]),
    "SimCLR": (lambda: T.Compose([T.RandomResizedCrop(64, (0.2, 1)), T.RandomApply([T.ColorJitter(0.5, 0.5, 0.5, 0.25)], 0.8), T.RandomGrayscale(0.2), T.RandomApply([T.GaussianBlur(23, (0.1, 2))], 0.5), T.ToTensor(), T.Normalize(MEAN, STD)]),
               [{"random_resized_crop": {"size": 64, "scale": [0.2, 1]}}, {"color_jitter": {"brightness": [0.5, 1.5], "contrast": [0.5, 1.5], "saturation": [0.5, 1.5], "hue": [-0.25, 0.25], "p": 0.8}},
                {"grayscale": 0.2}, {"gaussian_blur": {"kernel_size": 23, "sigma": [0.1, 2], "p": 0.5}}, {"normalize": "imagenet"}]),
    "CIFAR": (lambda: T.Compose([T.RandomCrop(32, padding=4, padding_mode="reflect"), T.RandomHorizontalFlip(), T.AutoAugment(T.AutoAugmentPolicy.CIFAR10), T.ToTensor(), T.RandomErasing(value="random", scale=(0.1, 0.2))]),
              [{"random_crop": {"size": 32, "padding": 4, "padding_mode": "reflect"}}, {"horizontal_flip": 0.5}, {"auto_augment": {"policy": "cifar10"}},
               {"random_erasing": {"p": 0.5, "scale": [0.1, 0.2], "value": "random"}}]),
    "wide": (lambda: T.Compose([T.Resize((70, 70)), T.RandomRotation(15, expand=True), T.RandomCrop((60, 50), pad_if_needed=True), T.TrivialAugmentWide(interpolation=T.InterpolationMode.BILINEAR, fill=[1, 2, 3]),
                                T.RandomApply([T.RandomSolarize(128, 0.5)], 0.5), T.ToTensor()]),
             [{"resize": [70, 70]}, {"random_rotation": {"degrees": [-15, 15], "expand": True}}, {"random_crop": [60, 50]},
              {"trivial_augment_wide": {"num_magnitude_bins": 31, "interpolation": "bilinear", "fill": [1, 2, 3]}}, {"solarize": {"threshold": 128, "p": 0.25}}]),
    "AugMix": (lambda: T.Compose([T.RandomResizedCrop(64), T.AugMix(), T.ToTensor()]), [{"random_resized_crop": 64}, {"aug_mix": {}}]),
    "AugMix of its own": (lambda: T.Compose([T.CenterCrop(64), T.AugMix(5, 2, 0, 0.5, False, T.InterpolationMode.NEAREST, [1, 2, 3]), T.ToTensor()]),
                          [{"center_crop": 64}, {"aug_mix": {"severity": 5, "mixture_width": 2, "alpha": 0.5, "all_ops": False, "interpolation": "nearest", "fill": [1, 2, 3]}}]),
    "v2, AugMix": (lambda: v2.Compose([v2.CenterCrop(64), v2.ToImage(), v2.AugMix(chain_depth=2), v2.ToDtype(torch.float32, scale=True)]), [{"center_crop": 64}, {"aug_mix": {"chain_depth": 2, "arithmetic": "torch"}}]),
    "3-Augment": (lambda: T.Compose([T.RandomResizedCrop(64), T.RandomChoice([T.RandomGrayscale(1.0), T.RandomSolarize(128, 1.0), T.GaussianBlur(9, (0.1, 2))]), T.ColorJitter(0.25, 0.25, 0.25), T.ToTensor()]),
                  [{"random_resized_crop": 64}, {"random_choice": [{"grayscale": 1}, {"solarize": {"threshold": 128, "p": 1}}, {"gaussian_blur": {"kernel_size": 9, "sigma": [0.1, 2]}}]},
                   {"color_jitter": {"brightness": [0.75, 1.25], "contrast": [0.75, 1.25], "saturation": [0.75, 1.25]}}]),
    "groups": (lambda: T.Compose([T.CenterCrop(30), T.RandomApply([T.RandomInvert(0.5), T.RandomPosterize(3)], 0.25), T.RandomChoice([T.RandomGrayscale(), T.RandomApply([T.ColorJitter(hue=0.25)], 0.5)], p=[3, 1]), T.ToTensor()]),
               [{"center_crop": 30}, {"random_apply": {"transforms": [{"invert": 0.5}, {"posterize": {"bits": 3, "p": 0.5}}], "p": 0.25}},
                {"random_choice": {"transforms": [{"grayscale": 0.1}, {"color_jitter": {"hue": [-0.25, 0.25], "p": 0.5}}], "p": [3, 1]}}]),
    "turned at times": (lambda: T.Compose([T.RandomApply([T.RandomRotation(30)]), T.Resize((40, 40)), T.RandomChoice([T.RandomAffine(9), T.RandomHorizontalFlip(1), T.RandAugment(1)]), T.ToTensor()]),
                        [{"random_apply": {"transforms": [{"random_rotation": {"degrees": [-30, 30]}}], "p": 0.5}}, {"resize": [40, 40]},
                         {"random_choice": [{"random_affine": {"degrees": [-9, 9]}}, {"horizontal_flip": 1}, {"rand_augment": {"num_ops": 1, "magnitude": 9, "num_magnitude_bins": 31}}]}]),
    "in any order": (lambda: T.Compose([T.CenterCrop(40), T.RandomOrder([T.RandomRotation(30), T.RandomGrayscale(0.5), T.RandomApply([T.ColorJitter(hue=0.25)], 0.5)]), T.ToTensor()]),
                     [{"center_crop": 40}, {"random_order": [{"random_rotation": {"degrees": [-30, 30]}}, {"grayscale": 0.5}, {"color_jitter": {"hue": [-0.25, 0.25], "p": 0.5}}]}]),
    "v2, as torchvision's documentation has it": (lambda: v2.Compose([v2.ToImage(), v2.ToDtype(torch.uint8, scale=True), v2.RandomResizedCrop(size=(224, 224), antialias=True), v2.RandomHorizontalFlip(p=0.5), v2.ToDtype(torch.float32, scale=True), v2.Normalize(list(MEAN), list(STD))]),
                                                  [{"random_resized_crop": {"size": 224, "interpolation": "torch_bilinear"}}, {"horizontal_flip": 0.5}, {"normalize": "imagenet"}]),
    "v2, the references' on a tensor": (lambda: v2.Compose([v2.PILToTensor(), v2.RandomResizedCrop(176, antialias=True), v2.RandomHorizontalFlip(0.5), v2.TrivialAugmentWide(interpolation=v2.InterpolationMode.BILINEAR), v2.ToDtype(torch.float, scale=True),
                                                            v2.Normalize(mean=MEAN, std=STD), v2.RandomErasing(p=0.1), v2.ToPureTensor()]),
                                        [{"random_resized_crop": {"size": 176, "interpolation": "torch_bilinear"}}, {"horizontal_flip": 0.5}, {"trivial_augment_wide": {"num_magnitude_bins": 31, "interpolation": "bilinear", "arithmetic": "torch"}},
                                         {"normalize": "imagenet"}, {"random_erasing": {"p": 0.1}}]),
    "v2, all that turns a tensor": (lambda: v2.Compose([v2.ToImage(), v2.RandomRotation(15, expand=True), v2.CenterCrop(40), v2.RandomAffine(9, interpolation=v2.InterpolationMode.BILINEAR), v2.RandomPerspective(fill=[1, 2, 3]), v2.AutoAugment(fill=9), v2.ToDtype(torch.float, scale=True)]),
                                    [{"random_rotation": {"degrees": [-15, 15], "expand": True, "arithmetic": "torch"}}, {"center_crop": 40}, {"random_affine": {"degrees": [-9, 9], "interpolation": "bilinear", "fill": 0, "arithmetic": "torch"}},
                                     {"random_perspective": {"distortion_scale": 0.5, "p": 0.5, "fill": [1, 2, 3], "arithmetic": "torch"}}, {"auto_augment": {"policy": "imagenet", "fill": 9, "arithmetic": "torch"}}]),
    "v2, SimCLR on a tensor": (lambda: v2.Compose([v2.ToImage(), v2.RandomResizedCrop(64), v2.RandomApply([v2.ColorJitter(0.5, hue=0.25)], 0.5), v2.RandomApply([v2.RandomGrayscale(0.5)], 0.5), v2.RandomAdjustSharpness(2), v2.RandomAutocontrast(), v2.RandomEqualize(), v2.ToDtype(torch.float32, scale=True)]),
                               [{"random_resized_crop": {"size": 64, "interpolation": "torch_bilinear"}}, {"color_jitter": {"brightness": [0.5, 1.5], "hue": [-0.25, 0.25], "arithmetic": "torch", "p": 0.5}}, {"grayscale": {"p": 0.25, "arithmetic": "torch"}},
                                {"adjust_sharpness": {"factor": 2, "p": 0.5, "arithmetic": "torch"}}, {"autocontrast": {"p": 0.5, "arithmetic": "torch"}}, {"equalize": 0.5}]),
    "v2, groups": (lambda: v2.Compose([v2.CenterCrop(30), v2.RandomChoice([v2.RandomInvert(1), v2.RandomEqualize(1)]), v2.RandomApply([v2.RandomPosterize(3), v2.RandomAutocontrast(1)], 0.5), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]),
                   [{"center_crop": 30}, {"random_choice": [{"invert": 1}, {"equalize": 1}]}, {"random_apply": {"transforms": [{"posterize": {"bits": 3, "p": 0.5}}, {"autocontrast": 1}], "p": 0.5}}]),
    "v2": (lambda: v2.Compose([v2.RandomResizedCrop((64, 48), interpolation=v2.InterpolationMode.BICUBIC), v2.RandomPhotometricDistort(), v2.RandomChannelPermutation(), v2.ToImage(), v2.RandomHorizontalFlip(), v2.GaussianNoise(sigma=0.05),
                               v2.ToDtype(torch.float32, scale=True), v2.Normalize(list(MEAN), list(STD)), v2.RandomErasing(value=[1, 2, 3])]),
           [{"random_resized_crop": {"size": [64, 48], "interpolation": "bicubic"}},
            {"random_photometric_distort": {"p": 0.5, "brightness": [0.875, 1.125], "contrast": [0.5, 1.5], "saturation": [0.5, 1.5], "hue": [-0.05, 0.05]}}, {"random_channel_permutation": 1},
            {"horizontal_flip": 0.5}, {"gaussian_noise": {"sigma": 0.05}}, {"normalize": "imagenet"}, {"random_erasing": {"p": 0.5, "value": [1, 2, 3]}}]),
    "v2, scales": (lambda: v2.Compose([v2.RandomZoomOut(fill=3, side_range=(1, 2)), v2.ScaleJitter((40, 30), (0.5, 2)), v2.RandomCrop((30, 40), padding=[1, 2, 3, 4]), v2.ElasticTransform([10, 20], 2.0), v2.ToImage(), v2.JPEG((10, 90)), v2.ToDtype(torch.float32, scale=True)]),
                   [{"random_zoom_out": {"side_range": [1, 2], "p": 0.5, "fill": 3}}, {"scale_jitter": {"target_size": [30, 40], "scale_range": [0.5, 2]}}, {"random_crop": {"size": [30, 40], "padding": [1, 2, 3, 4]}},
                    {"elastic_transform": {"alpha": [10, 20], "sigma": 2}}, {"jpeg": {"quality": [10, 90]}}]),
}


@pytest.mark.parametrize("name", DESCRIBED)
def test_a_random_compose_is_described_as_it_is_and_opens(root, name):
    if name.startswith("v2") and v2 is None:
        pytest.skip("torchvision has no transforms.v2")
    make, operations = DESCRIBED[name]
    transform = make()
    described = spdl.describe(transform)
    assert described == section(operations) and json.loads(json.dumps(described)) == described
    with spdl.DataLoader(datasets.ImageFolder(root, transform), batch_size=4) as loader:
        images, _ = next(iter(loader))
        assert images.shape[:2] == (4, 3) and images.dtype == torch.float32


# ---- what is refused


class OwnResize(T.Resize):
    def forward(self, img):
        return img.rotate(90)


REFUSED = {
    "a function": (lambda: [T.Resize((8, 8)), T.Lambda(abs)], r"transform\[1\]: Lambda\(\): got torchvision's Lambda, want .*map whole batches"),
    "a bare function": (lambda: [abs], r"transform\[0\]: .*want a transform of torchvision, timm or albumentations"),
    "one's own": (lambda: OwnResize(8), "got a OwnResize of test_drop, want .*write what it does as an operation"),
    "FiveCrop": (lambda: T.FiveCrop(5), "got torchvision's FiveCrop, .*a field for each, with center_crop: {size: N, position: top_left}"),
    "RandomChoice of crops": (lambda: T.RandomChoice([T.RandomInvert(), T.CenterCrop(5)]), "got center_crop among several, want operations of a row, such as .*docs/transforms.md#one-of-several-or-several-together.; give it"),
    "RandomOrder of crops": (lambda: T.RandomOrder([T.RandomInvert(), T.Resize(5)]), "got resize among several, want operations of a row"),
    "RandomOrder of several at once": (lambda: T.RandomOrder([T.RandomInvert(), T.Compose([T.RandomEqualize(), T.RandomGrayscale()])]), "got 2 operations in the place of one, want one of each"),
    "RandomOrder of a tensor": (lambda: T.RandomOrder([T.RandomInvert(), T.ToTensor()]), "got in an order by chance of what makes another kind of picture, want none among them"),
    "RandomChoice of several at once": (lambda: T.RandomChoice([T.RandomInvert(), T.Compose([T.RandomEqualize(), T.RandomGrayscale()])]), "got 2 operations in the place of one, want one of each"),
    "RandomChoice of other kinds": (lambda: T.RandomChoice([T.Grayscale(), T.RandomInvert()]), "got one of several of what makes another kind of picture, want none among them"),
    "Resize of a tensor": (lambda: T.Compose([T.ToTensor(), T.Resize(8)]), r"transforms\[1\]: Resize.*works on a tensor of floats, where Resize computes in other numbers than on a tensor of u8; put it in front of what makes floats"),
    "Resize of bytes": (lambda: T.Compose([T.PILToTensor(), T.Resize(8)]), r"transforms\[1\]: Resize.*works on a tensor of u8, where v1's Resize computes in floats, want torchvision.transforms.v2.Resize, which computes in bytes; or this in front"),
    "v2, not antialiased": (lambda: [v2.ToImage(), v2.RandomResizedCrop(8, antialias=False)], r"antialias: got False, want True; a tensor without antialiasing is not resized here; in front"),
    "v2, Resize of floats": (lambda: [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Resize(8)], "Resize.*works on a tensor of floats, where Resize computes in other numbers than on a tensor of u8; put it in front of what makes floats"),
    "v2, a box of a tensor": (lambda: [v2.ToImage(), v2.Resize(8, v2.InterpolationMode.BOX)], "interpolation: got box, want one of bilinear, bicubic, nearest, lanczos"),
    "blur of floats": (lambda: [T.Resize((8, 8)), T.ToTensor(), T.GaussianBlur(3)], "works on a tensor of floats.*put it in front of what makes floats"),
    "Normalize of bytes": (lambda: [T.PILToTensor(), T.Normalize(MEAN, STD)], "works on a tensor of u8, want a tensor of floats; put ToTensor"),
    "Normalize of PIL": (lambda: [T.Normalize(MEAN, STD)], "works on a PIL image, want a tensor of floats; put ToTensor"),
    "crop behind Normalize": (lambda: [T.ToTensor(), T.Normalize(MEAN, STD), T.CenterCrop(8)], "stands behind Normalize, want it in front"),
    "Normalize behind RandomErasing": (lambda: [T.ToTensor(), T.RandomErasing(), T.Normalize(MEAN, STD)], r"stands behind RandomErasing, want that last; .*\(value - mean\) / std"),
    "RandomErasing of PIL": (lambda: [T.RandomErasing()], "works on a PIL image, want a tensor of u8"),
    "fill": (lambda: T.RandomRotation(5, fill=1.5), "fill: got 1.5, want a whole number from 0 to 255"),
    "fill of floats": (lambda: [T.ToTensor(), T.Pad(2, fill=1)], "fill: got 1 behind ToTensor"),
    "interpolation": (lambda: T.RandomAffine(5, interpolation=T.InterpolationMode.LANCZOS), "interpolation: got lanczos, want one of nearest, bilinear, bicubic"),
    "pad_if_needed": (lambda: T.RandomCrop(32, pad_if_needed=True), r"pad_if_needed: got True.*put Resize\(32\) in front"),
    "grey behind others": (lambda: [T.Resize((8, 8)), T.Grayscale()], "num_output_channels: got 1 behind other transforms.*put it in front"),
    "kernel": (lambda: T.GaussianBlur((3, 5)), r"kernel_size: got \[3, 5\], want as many pixels"),
    "sigma": (lambda: T.ElasticTransform(5.0, [3.0, 4.0]), r"sigma: got \[3.0, 4.0\], want one"),
    "together": (lambda: T.RandomApply([T.RandomInvert(), T.RandomCrop(5)]), "got random_crop among several, want operations of a row"),
    "floats of erased bytes": (lambda: [T.PILToTensor(), T.RandomErasing(), T.ConvertImageDtype(torch.float32)], "ConvertImageDtype.*: stands behind RandomErasing, want that last"),
    "three channels of one": (lambda: [T.Grayscale(), T.RandomInvert(1), T.Grayscale(3)], r"num_output_channels: got 3 behind Grayscale\(1\), want 3 of that"),
    "v2, three channels of one": (lambda: [v2.Grayscale(), v2.RGB()], r"makes three channels of the one of Grayscale\(1\)"),
    "sometimes a tensor": (lambda: T.RandomApply([T.RandomInvert(), T.ToTensor()]), "got p=0.5 of what makes another kind of picture, want 1"),
    "sometimes grey": (lambda: T.RandomApply([T.Grayscale()]), "got p=0.5 of what makes another kind of picture, want 1"),
    "without a probability": (lambda: T.RandomApply([T.RandomCrop(5)]), "got p=0.5 of random_crop, which has no probability, want 1"),
    "halves": (lambda: [T.PILToTensor(), T.ConvertImageDtype(torch.float16)], "dtype: got float16, want torch.float32"),
    "v2, not scaled": (lambda: v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32)]), "scale: got False, .*want scale=True"),
    "v2, bytes of floats": (lambda: [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.ToDtype(torch.uint8, scale=True)], "dtype: got uint8 behind floats"),
    "v2, no kind": (lambda: [v2.PILToTensor(), v2.ToDtype({torchvision.tv_tensors.Image: torch.float32}, scale=True)], "dtype: got nothing for a picture, want"),
    "v2, longer side": (lambda: v2.Resize(None, max_size=30), "size: got None.*fit: contain"),
    "v2, noise past its range": (lambda: v2.GaussianNoise(clip=False), "works on a PIL image, want a tensor of u8"),
    "v2, noise of bytes past their range": (lambda: [v2.ToImage(), v2.GaussianNoise(clip=False)], "clip: got False, want True"),
    "v2, colours of floats": (lambda: [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.ColorJitter(0.5)], "works on a tensor of floats, where ColorJitter computes in other numbers than on a tensor of u8; put it in front of what makes floats"),
    "v2, a turn of a tensor by bicubic": (lambda: [v2.ToImage(), v2.RandomRotation(5, v2.InterpolationMode.BICUBIC)], "interpolation: got bicubic, want one of nearest, bilinear"),
    "a turn of a tensor": (lambda: [T.PILToTensor(), T.RandomRotation(5)], "works on a tensor of u8, where v1's RandomRotation computes in floats, want torchvision.transforms.v2.RandomRotation"),
    "v2, a turn of floats": (lambda: [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.RandomAffine(5)], "works on a tensor of floats, where RandomAffine computes in other numbers than on a tensor of u8"),
    "a policy on a tensor": (lambda: [T.PILToTensor(), T.RandAugment()], "works on a tensor of u8, where v1's RandAugment computes in floats"),
    "v2, grey of a tensor": (lambda: [v2.ToImage(), v2.Grayscale()], "num_output_channels: got 1 of a tensor.*put it in front of what makes a tensor, or want 3"),
    "colours of bytes": (lambda: [T.PILToTensor(), T.ColorJitter(0.5)], "ColorJitter.*works on a tensor of u8, where v1's ColorJitter computes in floats, want torchvision.transforms.v2.ColorJitter"),
    "equalized bytes": (lambda: [T.PILToTensor(), T.RandomEqualize()], "where v1's RandomEqualize computes in floats, want torchvision.transforms.v2.RandomEqualize"),
    "v2, boxes": (lambda: [v2.Resize((8, 8)), v2.SanitizeBoundingBoxes()], r"transform\[1\]: .*got torchvision's SanitizeBoundingBoxes, .*image: \{boxes: \{column: NAME, with: \[LABELS\]\}\}"),
    "v2, a crop by boxes": (lambda: v2.RandomIoUCrop(), r"got torchvision's RandomIoUCrop, .*random_iou_crop in image.transform, beside image: \{boxes"),
    "v2, MixUp": (lambda: v2.MixUp(num_classes=3), "got torchvision's MixUp, .*call it in the loop"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_equal_is_refused_with_the_remedy(name):
    if name.startswith("v2") and not hasattr(v2, "GaussianNoise"):
        pytest.skip("torchvision has no transforms.v2")
    make, message = REFUSED[name]
    with pytest.raises(spdl.SpecError, match=message):
        spdl.describe(make())


def test_what_the_engine_refuses_names_the_transform(root):
    transform = T.Compose([T.Compose([]), T.Resize((8, 8)), T.GaussianBlur(99), T.ToTensor()])
    with pytest.raises(spdl.SpecError, match=r"image.transform\[1\].gaussian_blur: got kernel_size 99 for rows of 8 x 8.*"
                                             r"\(image.transform\[1\] is of image.transform.transforms\[2\], GaussianBlur\(kernel_size=\(99, 99\)"):
        spdl.DataLoader(datasets.ImageFolder(root, transform))


# ---- timm


def timms(**said):
    data = pytest.importorskip("timm.data", reason="timm is not here; make exact brings it")
    return data.create_transform(40, **said)


def test_timms_evaluation_gives_torchs_tensors(root):
    """Its means are floats of 32 bits, and so are ours."""
    same(datasets.ImageFolder(root, timms()), batch_size=4)
    same(datasets.ImageFolder(root, timms(interpolation="bicubic", crop_pct=1.0, mean=(0.5, 0.4, 0.3), std=(0.1, 0.2, 0.3))), batch_size=4)
    same(datasets.ImageFolder(root, timms(normalize=False)), batch_size=4)
    same(datasets.ImageFolder(root, timms(use_prefetcher=True)), batch_size=4)


def test_timms_training_is_described_by_its_own_names():
    described = spdl.describe(timms(is_training=True, auto_augment="rand-m9-mstd0.5-inc1", re_prob=0.25, re_mode="pixel", interpolation="bicubic"))
    assert described == section([
        {"random_resized_crop": {"size": 40, "interpolation": "bicubic"}}, {"horizontal_flip": 0.5},
        {"timm_rand_augment": {"config": "rand-m9-n2-p0.5-mstd0.5-inc1", "interpolation": "bicubic", "fill": [124, 116, 104]}}, {"normalize": "imagenet"},
        {"random_erasing": {"p": 0.25, "scale": [0.02, 1 / 3], "ratio": [0.3, 3.33333333333], "value": "random"}}])
    usual = spdl.describe(timms(is_training=True, interpolation="random"))["transform"]  # train.py's --train-interpolation
    assert usual[0] == {"random_resized_crop": {"size": 40, "interpolation": "random"}}
    parts = spdl.describe(timms(is_training=True, separate=True, color_jitter_prob=0.5, grayscale_prob=0.25))
    assert parts == section([{"random_resized_crop": 40}, {"horizontal_flip": 0.5}, {"color_jitter": {"brightness": [0.6, 1.4], "contrast": [0.6, 1.4], "saturation": [0.6, 1.4], "p": 0.5}},
                             {"grayscale": 0.25}, {"normalize": "imagenet"}])


@pytest.mark.parametrize("said, message", [
    (dict(is_training=True, auto_augment="original"), "got timm's AutoAugment, want .*rand-"),
    (dict(is_training=True, auto_augment="rand-m9-tweights"), "draws among .*by weights; want timm's usual ones"),
    (dict(is_training=True, re_prob=0.5, re_mode="rand"), "mode: got rand, .*want const or pixel"),
    (dict(is_training=True, re_prob=0.5, re_count=3), "count: got 1 to 3, want 1"),
    (dict(is_training=True, train_crop_mode="rkrc"), "got timm's ResizeKeepRatio, .*Resize"),
    (dict(crop_mode="border"), "got timm's ResizeKeepRatio"),
    (dict(crop_border_pixels=3), "got timm's TrimBorder"),
])
def test_what_timm_does_otherwise_is_refused(said, message):
    with pytest.raises(spdl.SpecError, match=message):
        spdl.describe(timms(**said))
