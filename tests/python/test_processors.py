"""Image processors of transformers' in the place of a transform, where there are none: by stand-ins with the names, bases and attributes of their classes. tests/exact/test_processors.py holds
their own against their pixels."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest
import spdl

MEAN, STD = [0.5, 0.4, 0.3], [0.2, 0.3, 0.4]


def theirs(name: str, module: str, *bases: type, **body: Any) -> type:
    return type(name, bases or (object,), {"__module__": f"transformers.{module}", "__repr__": lambda self: f"{name}(...)", **body})


def done(self: Any, *_: Any) -> None:
    """What a class does by itself."""


Mixin = theirs("ImageProcessingMixin", "image_processing_base")
Base = theirs("BaseImageProcessor", "image_processing_utils", Mixin, __call__=done, preprocess=done, center_crop=done)
Fast = theirs("BaseImageProcessorFast", "image_processing_utils_fast", Base, preprocess=done, resize=done)
Pil = theirs("PilBackend", "image_processing_backends", Base, _preprocess=done)
Torchvision = theirs("TorchvisionBackend", "image_processing_backends", Base, _preprocess=done)


class SizeDict:
    def __init__(self, **given: int) -> None:
        vars(self).update({key: None for key in ("height", "width", "shortest_edge", "longest_edge")} | given)


USUAL = dict(do_resize=True, size={"height": 20, "width": 24}, resample=2, do_center_crop=None, do_rescale=True, rescale_factor=1 / 255, do_normalize=True, image_mean=MEAN, image_std=STD)


def processor(name: str = "ViTImageProcessor", base: type = Base, **given: Any) -> Any:
    one = theirs(name, f"models.one.{name.lower()}", base, **({} if base in (Pil, Torchvision) else {"preprocess": done}))()
    vars(one).update(USUAL | given)
    return one


def operations(*args: Any, **given: Any) -> Any:
    said = spdl.describe(processor(*args, **given))
    assert said["layout"] == "NCHW"
    return said["transform"]


NORMALIZED = {"normalize": {"mean": MEAN, "std": STD}}


@pytest.mark.parametrize("name, base, given, made", [
    ("ViTImageProcessor", Base, {}, [{"resize": [20, 24]}]),
    ("ViTImageProcessorPil", Pil, dict(resample=3), [{"resize": {"size": [20, 24], "interpolation": "bicubic"}}]),
    ("ViTImageProcessorFast", Fast, {}, [{"resize": {"size": [20, 24], "interpolation": "torch_bilinear"}}]),
    ("ViTImageProcessor", Torchvision, dict(resample=3, size=SizeDict(height=20, width=24)), [{"resize": {"size": [20, 24], "interpolation": "torch_bicubic"}}]),
    ("ViTImageProcessor", Torchvision, dict(resample=1), [{"resize": {"size": [20, 24], "interpolation": "torch_lanczos"}}]),
    ("NewModelImageProcessor", Torchvision, {}, [{"resize": {"size": [20, 24], "interpolation": "torch_bilinear"}}]),
    ("NewModelImageProcessorPil", Pil, {}, [{"resize": [20, 24]}]),
    ("CLIPImageProcessor", Base, dict(size={"shortest_edge": 30}, resample=3, do_center_crop=True, crop_size={"height": 20, "width": 24}),
     [{"resize": {"size": 30, "interpolation": "bicubic"}}, {"center_crop": {"size": [20, 24], "rounding": "down"}}]),
    ("CLIPImageProcessorFast", Fast, dict(size={"shortest_edge": 30}, do_center_crop=True, crop_size=SizeDict(height=20, width=20)),
     [{"resize": {"size": 30, "interpolation": "torch_bilinear"}}, {"center_crop": {"size": 20, "rounding": "down"}}]),
    ("CLIPImageProcessor", Torchvision, dict(size={"shortest_edge": 30}, do_center_crop=True, crop_size=SizeDict(height=40, width=40)),
     [{"resize": {"size": 30, "interpolation": "torch_bilinear"}}, {"center_crop": {"size": 40, "rounding": "down"}}]),
    ("ConvNextImageProcessor", Base, dict(size={"shortest_edge": 28}, crop_pct=0.875), [{"resize": 32}, {"center_crop": {"size": 28, "rounding": "down"}}]),
    ("ConvNextImageProcessorFast", Fast, dict(size={"shortest_edge": 28}, crop_pct=0.875), [{"resize": {"size": 32, "interpolation": "torch_bilinear"}}, {"center_crop": 28}]),
    ("ConvNextImageProcessor", Torchvision, dict(size={"shortest_edge": 28}, crop_pct=0.875), [{"resize": {"size": 32, "interpolation": "torch_bilinear"}}, {"center_crop": {"size": 28, "rounding": "down"}}]),
    ("ConvNextImageProcessorPil", Pil, dict(size={"shortest_edge": 384}, crop_pct=0.875), [{"resize": [384, 384]}]),
    ("LevitImageProcessor", Base, dict(size={"shortest_edge": 28}), [{"resize": 32}]),
    ("LevitImageProcessor", Base, {}, [{"resize": [20, 24]}]),
    ("PoolFormerImageProcessorFast", Fast, dict(size={"shortest_edge": 27}, crop_pct=0.9, do_center_crop=True, crop_size={"height": 20, "width": 20}),
     [{"resize": {"size": 30, "interpolation": "torch_bilinear"}}, {"center_crop": {"size": 20, "rounding": "down"}}]),
    ("PoolFormerImageProcessor", Base, dict(size={"height": 27, "width": 27}, crop_pct=0.9), [{"resize": 30}]),
    ("PoolFormerImageProcessor", Base, dict(size={"height": 18, "width": 27}, crop_pct=0.9), [{"resize": [20, 30]}]),
    ("PoolFormerImageProcessor", Base, dict(crop_pct=None), [{"resize": [20, 24]}]),
    ("PerceiverImageProcessor", Base, dict(do_center_crop=False), [{"resize": [20, 24]}]),
    ("DINOv3ViTImageProcessor", Torchvision, dict(do_resize=False), []),
])
def test_a_processor_is_told_by_its_class_and_its_attributes(name, base, given, made):
    assert operations(name, base, **given) == [*made, NORMALIZED]


def test_before_4_57_torchs_crops_began_at_the_nearest(monkeypatch):
    given = dict(size={"shortest_edge": 30}, do_center_crop=True, crop_size={"height": 20, "width": 20})
    for version, size in (("4.56.2", 20), ("4.57.0", {"size": 20, "rounding": "down"}), ("5.24.0.dev0", {"size": 20, "rounding": "down"})):
        monkeypatch.setitem(sys.modules, "transformers", types.SimpleNamespace(__version__=version))
        assert operations("CLIPImageProcessorFast", Fast, **given)[1] == {"center_crop": size}
        assert operations("PoolFormerImageProcessorFast", Fast, **given, crop_pct=None)[1] == operations(**given)[1] == {"center_crop": {"size": 20, "rounding": "down"}}


@pytest.mark.parametrize("given, made, dtype", [
    (dict(image_mean=(0.485, 0.456, 0.406), image_std=(0.229, 0.224, 0.225)), [{"normalize": "imagenet"}], "f32"),
    (dict(image_mean=0.5, image_std=0.25), [{"normalize": {"mean": [0.5] * 3, "std": [0.25] * 3}}], "f32"),
    (dict(do_normalize=False), [], "f32"),
    (dict(do_normalize=False, do_rescale=False), [], "u8"),
    (dict(do_rescale=False, image_mean=[51, 102, 0], image_std=[255, 25.5, 51]), [{"normalize": {"mean": [0.2, 0.4, 0], "std": [1, 0.1, 0.2]}}], "f32"),
    (dict(do_normalize=False, rescale_factor=1 / 127.5), [{"normalize": {"mean": [0] * 3, "std": [0.5] * 3}}], "f32"),
])
def test_rescaling_and_normalizing_are_one_operation(given, made, dtype):
    said = spdl.describe(processor(do_resize=False, **given))
    assert said == {"transform": made, "layout": "NCHW", "dtype": dtype}


def test_an_offset_and_a_second_division_are_part_of_it():
    """EfficientNet's: ((x / 127.5 - 1) - mean) / std / std."""
    given = dict(do_resize=False, rescale_factor=1 / 127.5, rescale_offset=True, include_top=True, image_mean=0, image_std=[0.5, 0.25, 1])
    assert operations("EfficientNetImageProcessor", **given) == [{"normalize": {"mean": [0.5] * 3, "std": [0.125, 0.03125, 0.5]}}]
    assert operations("EfficientNetImageProcessor", **given | dict(include_top=False, do_rescale=False, image_std=51)) == [{"normalize": {"mean": [0] * 3, "std": [0.2] * 3}}]


def test_transforms_may_stand_in_front_of_a_processor():
    flip = type("RandomHorizontalFlip", (), {"__module__": "torchvision.transforms.transforms"})()
    flip.p = 0.5
    assert spdl.describe([flip, processor()])["transform"] == [{"horizontal_flip": 0.5}, {"resize": [20, 24]}, NORMALIZED]


def test_timms_processor_is_what_it_has_in_it():
    """By the Compose that it evaluates with."""
    of_timm = theirs("TimmWrapperImageProcessor", "models.timm_wrapper.image_processing_timm_wrapper", Base, preprocess=done)()
    resize = type("Resize", (), {"__module__": "torchvision.transforms.transforms"})()
    vars(resize).update(size=[20, 24], interpolation="bicubic", max_size=None)
    tensor = type("MaybeToTensor", (), {"__module__": "timm.data.transforms"})()
    of_timm.val_transforms = [resize, tensor]
    assert spdl.describe(of_timm) == {"transform": [{"resize": {"size": [20, 24], "interpolation": "bicubic"}}], "layout": "NCHW", "dtype": "f32"}
    of_timm.val_transforms = [resize, 7]
    with pytest.raises(spdl.SpecError, match=r"image.transform.val_transforms\[1\]: 7: got a int"):
        spdl.describe({"image": {"transform": of_timm}})


TILED = [
    ("GotOcr2ImageProcessor", dict(crop_to_patches=True, min_patches=2, max_patches=6, size={"height": 28, "width": 28}, resample=3), {"size": 28, "min": 2, "max": 6}),
    ("LlavaNextImageProcessor", dict(image_grid_pinpoints=[[28, 56], [56, 28]], size={"shortest_edge": 28}, do_center_crop=True, crop_size={"height": 28, "width": 28}, resample=3, do_pad=True),
     {"size": 28, "kind": "llava_next", "grid_pinpoints": [[28, 56], [56, 28]]}),
    ("LlavaOnevisionImageProcessor", dict(image_grid_pinpoints=[[28, 56]], size={"height": 28, "width": 28}, resample=2), {
        "size": 28, "kind": "llava_next", "grid_pinpoints": [[28, 56]], "interpolation": "bilinear"}),
    ("MllamaImageProcessor", dict(size={"height": 28, "width": 28}, max_image_tiles=4), {"size": 28, "kind": "mllama", "max": 4}),
    ("SmolVLMImageProcessor", dict(do_image_splitting=True, size={"longest_edge": 112}, max_image_size=SizeDict(longest_edge=28), resample=1),
     {"size": 28, "kind": "idefics3", "longest_edge": 112}),
]


@pytest.mark.parametrize("name, given, tiles", TILED)
def test_a_processor_of_tiles_says_them(name, given, tiles):
    one = processor(name, **given)
    assert spdl.describe(one) == {"tiles": tiles, "transform": [NORMALIZED], "layout": "NCHW", "dtype": "f32"}
    shaped = spdl.describe({"image": {"transform": one, "tiles": {"shape": "ragged"}}})["image"]
    assert shaped["tiles"] == {**tiles, "shape": "ragged"}
    with pytest.raises(spdl.SpecError, match="image.tiles.size: got 56, and the transform says 28; leave size out"):
        spdl.describe({"image": {"transform": one, "tiles": 56}})


QWEN = dict(size={"shortest_edge": 784, "longest_edge": 7840}, resample=3, patch_size=14, merge_size=2, temporal_patch_size=2)


@pytest.mark.parametrize("name, base, given, patches, resize, layout", [
    ("Qwen2VLImageProcessor", Base, QWEN, {"size": 14, "merge": 2, "temporal": 2}, {"min_pixels": 784, "max_pixels": 7840, "multiple_of": 28, "interpolation": "bicubic"}, "NCHW"),
    ("Qwen2VLImageProcessor", Torchvision, QWEN | dict(size=SizeDict(shortest_edge=1, longest_edge=9), patch_size=16), {"size": 16, "merge": 2, "temporal": 2},
     {"min_pixels": 1, "max_pixels": 9, "multiple_of": 32, "interpolation": "torch_bicubic"}, "NCHW"),
    ("Siglip2ImageProcessorFast", Fast, dict(patch_size=16, max_num_patches=256), {"size": 16, "shape": "fixed"}, {"max_pixels": 65536, "multiple_of": 16, "rounding": "up", "interpolation": "torch_bilinear"}, "NHWC"),
    ("Siglip2ImageProcessorPil", Pil, dict(patch_size=14, max_num_patches=10), {"size": 14, "shape": "fixed"}, {"max_pixels": 1960, "multiple_of": 14, "rounding": "up"}, "NHWC"),
])
def test_a_processor_of_patches_says_them(name, base, given, patches, resize, layout):
    one = processor(name, base, **given)
    assert spdl.describe(one) == {"patches": patches, "transform": [{"resize": resize}, NORMALIZED], "layout": layout, "dtype": "f32"}
    with pytest.raises(spdl.SpecError, match="image.patches.size: got 8, and the transform says 1[46]; leave size out"):
        spdl.describe({"image": {"transform": one, "patches": 8}})
    with pytest.raises(spdl.SpecError, match=f"image.layout: got '{'NHWC' if layout == 'NCHW' else 'NCHW'}', and the transform, whose last is .*makes {layout}"):
        spdl.describe({"image": {"transform": one, "layout": "NHWC" if layout == "NCHW" else "NCHW"}})


def detr(base: type = Pil, **given: Any) -> Any:
    return processor("DetrImageProcessor", base, **dict(size=SizeDict(shortest_edge=20, longest_edge=33), do_pad=True, pad_size=None, format="coco_detection", do_convert_annotations=True) | given)


def test_a_processor_of_detrs_kin_pads_a_batch_to_its_largest():
    assert spdl.describe(detr()) == {"shape": "padded", "transform": [{"resize": {"size": 20, "max_size": 33, "rounding": "detr"}}, NORMALIZED], "layout": "NCHW", "dtype": "f32"}
    assert spdl.describe(detr(Torchvision, resample=3))["transform"][0] == {"resize": {"size": 20, "max_size": 33, "rounding": "detr", "interpolation": "torch_bicubic"}}
    of_one_size = spdl.describe(detr(size={"height": 20, "width": 24}))
    assert of_one_size == spdl.describe(detr(size={"height": 20, "width": 24}, do_pad=False)) == {"transform": [{"resize": [20, 24]}, NORMALIZED], "layout": "NCHW", "dtype": "f32"}
    assert of_one_size == spdl.describe(detr(size={"height": 20, "width": 24}, pad_size={"height": 20, "width": 24}))
    bounded = spdl.describe(detr(size=SizeDict(max_height=48, max_width=48), pad_size={"height": 48, "width": 48}))
    assert bounded == {"multiple_of": 48, "shape": "padded", "transform": [{"resize": {"max_size": 48, "rounding": "detr"}}, NORMALIZED], "layout": "NCHW", "dtype": "f32"}
    yolos = processor("YolosImageProcessor", Pil, size={"shortest_edge": 20, "longest_edge": 33}, do_pad=True)
    assert spdl.describe(yolos) == {"shape": "padded", "transform": [{"resize": {"size": 20, "max_size": 33, "rounding": "yolos"}}, NORMALIZED], "layout": "NCHW", "dtype": "f32"}
    with pytest.raises(spdl.SpecError, match="image.shape: got 'ragged', and the transform, whose last is DetrImageProcessor.*makes padded"):
        spdl.describe({"image": {"transform": detr(), "shape": "ragged"}})


@pytest.mark.parametrize("name, base, given, made", [
    ("SegformerImageProcessor", Base, {}, [{"resize": {"size": [20, 24], "interpolation": "nearest"}}]),
    ("SegformerImageProcessor", Torchvision, dict(do_reduce_labels=True), [{"resize": {"size": [20, 24], "interpolation": "torch_nearest_exact"}}, {"remap_classes": "reduce"}]),
    ("SegformerImageProcessorPil", Pil, dict(do_resize=False, do_reduce_labels=True), [{"remap_classes": "reduce"}]),
    ("MobileViTImageProcessor", Torchvision, dict(size={"shortest_edge": 30}, do_reduce_labels=True, do_center_crop=True, crop_size={"height": 20, "width": 20}, do_flip_channel_order=True),
     [{"resize": {"size": 30, "interpolation": "torch_nearest_exact"}}, {"remap_classes": "reduce"}, {"center_crop": {"size": 20, "rounding": "down"}}]),
    ("MobileNetV2ImageProcessor", Base, dict(size={"shortest_edge": 30}), [{"resize": {"size": 30, "interpolation": "nearest"}}]),
    ("BeitImageProcessor", Pil, dict(resample=0), [{"resize": {"size": [20, 24], "interpolation": "nearest"}}]),
    ("DPTImageProcessor", Torchvision, dict(resample=0, do_reduce_labels=None), [{"resize": {"size": [20, 24], "interpolation": "torch_nearest_exact"}}]),
])
def test_a_processor_says_what_becomes_of_segmentation_maps(name, base, given, made):
    """In a section of mode index."""
    one = processor(name, base, **given)
    assert spdl.describe({"mask": {"image": {"mode": "index", "transform": one}}}) == {"mask": {"image": {"mode": "index", "transform": made, "dtype": "u8", "layout": "NCHW"}}}


@pytest.mark.parametrize("one, message", [
    (processor(), r"image.transform: ViTImageProcessor\(...\): takes no segmentation_maps, want one of SegformerImageProcessor, .*or a section of the maps' own: {\"mode\": \"index\""),
    (processor("BeitImageProcessor", resample=3), "resample: got bicubic, by which it resizes segmentation_maps, too, and mixes numbers of classes, want resample=0, of both; or a section of the maps' own"),
    (processor("SegformerImageProcessorFast", Fast), "makes other maps of tensors than transformers 5 does, want transformers 5, or the class without Fast; or a section of the maps' own"),
    (processor("DPTImageProcessor", Torchvision), "resample: got bilinear, by which it resizes segmentation_maps, too"),
    (processor("SegformerImageProcessor", size={"longest_edge": 9}), "size: got {'longest_edge': 9}, want"),
])
def test_maps_that_cannot_be_told_are_refused_with_the_remedy(one, message):
    with pytest.raises(spdl.SpecError, match=message):
        spdl.describe({"image": {"mode": "index", "transform": one}})


class Own(type(processor())):
    def preprocess(self, images: Any) -> None: ...


def inside(one: Any) -> Any:
    both = theirs("CLIPProcessor", "models.clip.processing_clip", theirs("ProcessorMixin", "processing_utils"))()
    both.image_processor = one
    return both


@pytest.mark.parametrize("make, message", [
    (lambda: processor(size={"shortest_edge": 20, "longest_edge": 30}), r"size: got {'shortest_edge': 20, 'longest_edge': 30}, want {'height': H, 'width': W} or .*shape: padded"),
    (lambda: processor(size=None), "size: got None, want {'height'"),
    (lambda: processor(size={"height": "20", "width": 24}), "size: got {'height': '20', 'width': 24}, want"),
    (lambda: processor(resample=9), "resample: got 9, want one of bilinear, bicubic, nearest"),
    (lambda: processor("ViTImageProcessorFast", Fast, resample=4), "resample: got box of torch's tensors, want one of bilinear, bicubic, nearest, lanczos; .*use_fast=False"),
    (lambda: processor(do_center_crop=True, crop_size={"height": 21, "width": 24}), r"crop_size: got \[21, 24\] of pictures that may be smaller.*resized to 24 or more"),
    (lambda: processor(do_resize=False, do_center_crop=True, crop_size={"height": 21, "width": 24}), r"crop_size: got \[21, 24\] of pictures that may be smaller"),
    (lambda: processor(do_pad=True), "do_pad: got True, want False: .*shape: padded"),
    (lambda: processor("MobileViTImageProcessor", do_flip_channel_order=True), r"do_flip_channel_order: got True, blue first, want False, and pixel_values.flip\(1\)"),
    (lambda: processor(rescale_factor=None), "rescale_factor: got None, want a number"),
    (lambda: processor(image_mean=[1, 2]), r"image_mean: got \[1, 2\], want a number, or one of each of three channels"),
    (lambda: processor("ConvNextImageProcessor", crop_pct=0.9), "size: got {'height': 20, 'width': 24}, want {'shortest_edge': N}"),
    (lambda: processor("ConvNextImageProcessor", size={"shortest_edge": 20}, crop_pct=0.9, do_center_crop=True), "do_center_crop: got True beside crop_pct"),
    (lambda: processor("PerceiverImageProcessor", do_center_crop=True), "do_center_crop: got True, the middle of a picture in a share of its shorter side"),
    (lambda: processor("DINOv3ViTImageProcessorFast", Fast), r"do_resize: got True, of floats.*ViTImageProcessor\(size=processor.size"),
    (lambda: processor("FlavaImageProcessor", return_image_mask=True), "return_image_mask: got True, which makes more than pixel_values, want False"),
    (lambda: processor("GotOcr2ImageProcessorFast", Fast, **TILED[0][1] | dict(resample=4)), "resample: got box of torch's tensors"),
    (lambda: processor("GotOcr2ImageProcessor", **TILED[0][1] | dict(do_resize=False)), "makes tiles of a picture as it is, want do_resize=True"),
    (lambda: processor("MllamaImageProcessor", max_image_tiles=4), "size: got {'height': 20, 'width': 24}, want as many pixels in both ways: tiles are square"),
    (lambda: processor("LlavaNextImageProcessor", **TILED[1][1] | dict(size={"shortest_edge": 30})), "crop_size: got 28, want that of size, 30"),
    (lambda: processor("Idefics3ImageProcessor", **TILED[4][1] | dict(do_image_splitting=False)), "do_image_splitting: got False"),
    (lambda: processor("Idefics3ImageProcessor", **TILED[4][1] | dict(size={"height": 9, "width": 9})), "size: got {'height': 9, 'width': 9}, want {'longest_edge': N}"),
    (lambda: processor("Qwen2VLImageProcessor", **QWEN | dict(do_resize=False)), "do_resize: got False, pictures that are whole patches as they are, want True"),
    (lambda: processor("Qwen2VLImageProcessor", **QWEN | dict(size={"shortest_edge": 9})), "size: got {'shortest_edge': 9}, want {'shortest_edge': N, 'longest_edge': N}, pixels at least and at most"),
    (lambda: processor("Qwen2VLImageProcessor"), "size: got {'height': 20, 'width': 24}, want {'shortest_edge'"),
    (lambda: processor("SmolVLMImageProcessorFast", Fast, **TILED[4][1]), "resizes torch's tensors as transformers 4 does.*want use_fast=False; in transformers 5 both kinds are taken"),
    (lambda: processor("Siglip2ImageProcessorFast", Fast), "has no attribute patch_size"),
    (lambda: processor("Siglip2ImageProcessor", patch_size=16, max_num_patches=4, do_resize=False), "do_resize: got False"),
    (lambda: processor("Mask2FormerImageProcessorFast", Fast), "padded to the largest of a batch; .*shape: padded, and boxes that follow"),
    (lambda: detr(pad_size={"height": 9, "width": 9}), "pad_size: got {'height': 9, 'width': 9}, want as much in both ways, from 33 to 1024, as in {'height': 33, 'width': 33}, or None: a batch is as large as its largest picture"),
    (lambda: detr(pad_size={"height": 1333, "width": 1333}), "pad_size: got .*want as much in both ways, from 33 to 1024"),
    (lambda: detr(pad_size={"height": 40, "width": 50}), "pad_size: got .*want as much in both ways, from 33 to 1024"),
    (lambda: detr(size={"height": 20, "width": 24}, pad_size={"height": 40, "width": 40}), "pad_size: got {'height': 40, 'width': 40}, want that of size, or None: a batch"),
    (lambda: detr(do_pad=False), "do_pad: got False of pictures of sizes of their own, of which no batch can be made, want True"),
    (lambda: detr(do_resize=False), "do_resize: got False, pictures as large as they are, of which nobody knows how much room they need, want True"),
    (lambda: detr(size={"max_height": 9, "max_width": 8}), "size: got {'max_height': 9, 'max_width': 8}, want max_height and max_width alike, as in {'max_height': N, 'max_width': N}"),
    (lambda: processor("DPTImageProcessor", Torchvision, keep_aspect_ratio=True), r"keep_aspect_ratio: got True, pictures of sizes of their own, want False, or one size: T.Resize\(\(H, W\)\) in front"),
    (lambda: processor("DPTImageProcessor", ensure_multiple_of=7), r"size: got {'height': 20, 'width': 24}, want {'height': H, 'width': W} of whole multiples of 7 \(ensure_multiple_of\)"),
    (lambda: processor("VideoMAEImageProcessor"), "frames of clips"),
    (lambda: processor("NewModelImageProcessor"), "got NewModelImageProcessor of transformers.models.*want an image processor that has operations here; write what it does as operations"),
    (lambda: processor("NewModelImageProcessorFast", Fast), "got NewModelImageProcessorFast of .*write what it does"),
    (lambda: Own(), r"got Own of test_processors, want an image processor that has operations here"),
    (lambda: inside(processor()), "got CLIPProcessor of transformers.*give the ViTImageProcessor in it: processor.image_processor"),
    (lambda: [processor(), processor()], r"image.transform\[1\]: ViTImageProcessor\(...\): makes tensors of PIL images, and a normalized tensor is in hand"),
    (lambda: type("RandomApply", (), {"__module__": "torchvision.transforms", "transforms": [processor()], "p": 0.5})(), "makes a tensor of a picture alone, always"),
])
def test_what_cannot_be_told_is_refused_with_the_remedy(make, message):
    with pytest.raises(spdl.SpecError, match=message):
        spdl.describe({"image": {"transform": make()}})


def test_a_processor_makes_three_channels():
    with pytest.raises(spdl.SpecError, match=r"image.transform: ViTImageProcessor\(...\): makes pictures of three channels, want RGB .*of maps of classes, its segmentation_maps, want mode: index"):
        spdl.describe({"image": {"mode": "gray", "transform": processor()}})
