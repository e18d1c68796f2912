"""Image processors of Hugging Face's transformers, by the names of their classes and by what they say of themselves."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

from . import prepared
from .given import BYTES, FLOATS, NORMALIZED, PIL, RESIZERS, RESIZERS_OF_TENSORS, Given, Number, Operation, refusal, short, whole, without
from .labels import Labels
from .prepared import Prepared
from .torchvision import IMAGENET

_ROOTS = (("transformers.image_processing_base", "ImageProcessingMixin"), ("transformers.processing_utils", "ProcessorMixin"))

_OF_TENSORS = ("BaseImageProcessorFast", "TorchvisionBackend")  # the bases of those that work on torch's tensors; all others work on Pillow's pictures
_BASES = (*_OF_TENSORS, "PilBackend")
_BEHAVIOUR = ("__call__", "preprocess", "_preprocess", "_preprocess_image_like_inputs", "_prepare_image_like_inputs", "process_image", "_process_image", "convert_to_rgb", "resize", "crop",
              "center_crop", "rescale", "normalize", "rescale_and_normalize", "_rescale_and_normalize", "_fuse_mean_std_and_rescale_factor", "pad",
              "_standardize_kwargs", "_further_process_kwargs", "_validate_preprocess_kwargs")
_TIMM = "TimmWrapperImageProcessor"
_MOST_MULTIPLE = 1024  # of which the sides of a padded batch may be multiples


class Said(NamedTuple):
    """What a processor does to a picture."""

    operations: list[Operation]
    in_hand: int  # what it leaves
    section: dict[str, Any]  # tiles or patches that it cuts it into, and how these lie
    prepared: Prepared  # what a batch has of it


def is_processor(one: Any) -> bool:
    return any((cls.__module__, cls.__qualname__) in _ROOTS for cls in type(one).__mro__)


def ends(transform: Any) -> bool:
    """Whether a transform is a processor, or a list that ends with one."""
    return is_processor(_last(transform))


def _last(transform: Any) -> Any:
    return transform[-1] if isinstance(transform, (list, tuple)) and transform else transform


def of_timm(one: Any) -> bool:
    """Whether it has timm's transforms in it, and does nothing else."""
    return _home(one)[0] == _TIMM


def told(one: Any, place: str, before: list[Operation]) -> Said:
    """What a processor does to a picture behind those operations. Raises SpecError with what has no equal here."""
    name, base = _home(one)
    if name not in _RULES:
        _refuse_unknown(one, place, name)
    p = Processor(one, place, before, base)
    return Said(_RULES[name](p), p.in_hand, p.section, p.prepared)


def told_of_maps(one: Any, place: str, before: list[Operation]) -> list[Operation]:
    """What a processor does to segmentation_maps, which are numbers of classes: their size, and do_reduce_labels behind that, as nothing is mixed in between."""
    name, base = _home(one)
    if name not in _MAPPED:
        _refuse_maps(one, place, f"takes no segmentation_maps, want one of {', '.join(_MAPPED)}; ")
    p = Processor(one, place, before, base)
    if p.is_fast:
        _refuse_maps(one, place, "makes other maps of tensors than transformers 5 does, want transformers 5, or the class without Fast; ")
    if name not in _BY_NEAREST and p.flag("do_resize") and p.filter(RESIZERS, "resample") != "nearest":
        _refuse_maps(one, place, f"resample: got {p.filter(RESIZERS, 'resample')}, by which it resizes segmentation_maps, too, and mixes numbers of classes, want resample=0, of both; ")
    operations = p.resized(_size, p.nearest())
    if p.flag("do_reduce_labels"):
        operations.append({"remap_classes": "reduce"})
    return p.middle(operations)


def takes_annotations(transform: Any) -> bool:
    """Whether a transform is a processor that makes labels of annotations of objects, or a list that ends with one."""
    return ends(transform) and _home(_last(transform))[0] in _ANNOTATED


def told_of_annotations(transform: Any, place: str) -> Labels:
    """What such a processor makes of the annotations of pictures' objects."""
    one = _last(transform)
    p = Processor(one, place, [], _home(one)[1])
    if p.get("format") != "coco_detection":
        p.refuse(f"format: got {p.get('format')}, of pictures of segments, want coco_detection: boxes; segments are masks of a description (docs/recipes.md)")
    return Labels(p.flag("do_convert_annotations"), not p.of_tensors)


def _refuse_maps(one: Any, place: str, what: str) -> NoReturn:
    raise refusal(place, one, what + 'or a section of the maps\' own: {"mode": "index", "layout": "NCHW", "transform": [{"resize": {"size": [512, 512], "interpolation": "nearest"}}]}')


def _home(one: Any) -> tuple[str, str]:
    """The name of the class that says what a processor does, Pillow's and torch's being one, and the base that it has. "" is the base's own way."""
    of = type(one).__mro__
    base = next((cls.__qualname__ for cls in of if cls.__qualname__ in _BASES and _is_theirs(cls)), "")
    for cls in of:
        name = cls.__qualname__.removesuffix("Fast").removesuffix("Pil")
        if _is_theirs(cls) and (name in _RULES or name in _REMEDIES or name == _TIMM):
            return name, base
        if _is_theirs(cls) and cls.__qualname__ == base:
            return "", base
        if any(behaviour in vars(cls) for behaviour in _BEHAVIOUR):
            return f"{cls.__module__}.{cls.__qualname__}", base
    return type(one).__qualname__, base


def _is_theirs(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == "transformers"


def _version() -> tuple[int, ...]:
    """transformers' own, of which whoever has a processor has loaded it."""
    major, minor = str(getattr(sys.modules.get("transformers"), "__version__", "5.0")).split(".")[:2]
    return int(major), int(minor)


def _refuse_unknown(one: Any, place: str, name: str) -> NoReturn:
    inner = type(getattr(one, "image_processor", None)).__qualname__
    remedy = f"give the {inner} in it: processor.image_processor" if inner != "NoneType" else _REMEDIES.get(
        name, "write what it does as operations of a description (docs/equivalents.md#transformers-image-processors), or keep torch's DataLoader for it")
    raise refusal(place, one, f"got {type(one).__qualname__} of {type(one).__module__}, want an image processor that has operations here; {remedy}")


class Processor(Given):
    """A processor and its place."""

    def __init__(self, one: Any, place: str, before: list[Operation], base: str) -> None:
        super().__init__(one, place, before, PIL)
        self.section: dict[str, Any] = {}
        self.prepared = prepared.PLAIN
        self.base = base  # of transformers' own that it has; "": none of _BASES
        self.of_tensors, self.is_fast = base in _OF_TENSORS, base == "BaseImageProcessorFast"
        self._rounding = "nearest" if self.is_fast and _version() < (4, 57) else "down"  # of a middle that leaves out an odd number of pixels

    def flag(self, name: str) -> bool:
        return bool(getattr(self.transform, name, False))

    def measures(self, name: str) -> dict[str, Any]:
        """{height, width}, {shortest_edge} and the like, of which a SizeDict has the others as None."""
        value = getattr(self.transform, name, None)
        given = value if isinstance(value, Mapping) else getattr(value, "__dict__", {})
        return {key: n for key, n in given.items() if n is not None}

    def sides(self, name: str) -> dict[str, int]:
        """{height, width} or {shortest_edge}."""
        said = self.measures(name)
        if set(said) not in ({"height", "width"}, {"shortest_edge"}) or not all(isinstance(n, int) for n in said.values()):
            self.refuse(f"{name}: got {said or getattr(self.transform, name, None)!r:.120}, want {{'height': H, 'width': W}} or {{'shortest_edge': N}}; pictures of sizes of their own are a description's: "
                        "resize: {size: N, max_size: M}, with shape: padded (docs/images.md#pictures-of-their-own-size)")
        return said

    def resized(self, size: Callable[[dict[str, int]], Any], by: str = "") -> list[Operation]:
        """To what it makes of its sides, N of the shorter one or [H, W], where it resizes, by that filter or its own."""
        if not self.flag("do_resize"):
            return []
        said = {"size": size(self.sides("size")), "interpolation": by or self.resampler()}
        return [{"resize": short("size", without(said, interpolation="bilinear"))}]

    def resampler(self) -> str:
        """The filter of its resize."""
        filter = self.filter(RESIZERS, "resample")
        if self.of_tensors and filter not in RESIZERS_OF_TENSORS:
            self.refuse(f"resample: got {filter} of torch's tensors, want one of {', '.join(RESIZERS_OF_TENSORS)}; what works on Pillow's pictures has all filters: use_fast=False, or in transformers 5 the class "
                        "with Pil in its name")
        return self.nearest() if filter == "nearest" else f"torch_{filter}" if self.of_tensors else str(filter)

    def nearest(self) -> str:
        return "torch_nearest_exact" if self.of_tensors else "nearest"

    def middle(self, operations: list[Operation], rounding: str = "") -> list[Operation]:
        """The middle of what those leave, where it crops."""
        if not self.flag("do_center_crop"):
            return operations
        sides = self.sides("crop_size")
        return self.cropped(operations, sides.get("height", 0) or sides["shortest_edge"], sides.get("width", 0) or sides["shortest_edge"], rounding)

    def cropped(self, operations: list[Operation], height: int, width: int, rounding: str = "") -> list[Operation]:
        self._check_fits([*self.before, *operations], height, width)
        said = {"size": height if height == width else [height, width], "rounding": rounding or self._rounding}
        return [*operations, {"center_crop": short("size", without(said, rounding="nearest"))}]

    def _check_fits(self, operations: list[Operation], height: int, width: int) -> None:
        """Refuse black around pictures where theirs, on Pillow's, has more of it above than below, and ours below."""
        made = next((operation["resize"] for operation in reversed(operations) if "resize" in operation), None)
        size = made["size"] if isinstance(made, dict) and "max_size" not in made else made
        fits = isinstance(size, int) and size >= max(height, width) or isinstance(size, list) and all(of >= n or (n - of) % 2 == 0 for of, n in zip(size, (height, width)))
        if not self.of_tensors and not fits:
            self.refuse(f"crop_size: got {[height, width]} of pictures that may be smaller, around which black goes, in theirs with a row more of it above, want them resized to {max(height, width)} or more")

    def finished(self, offset: Number = 0, again: bool = False) -> list[Operation]:
        """Rescaled, less an offset, normalized, and once more divided by std: in one, of pixels from 0 to 1."""
        if self.flag("do_flip_channel_order"):
            self.refuse("do_flip_channel_order: got True, blue first, want False, and pixel_values.flip(1) in the loop")
        if self.flag("do_pad") and self.prepared is prepared.PLAIN:
            self.refuse("do_pad: got True, want False: pictures that are padded to the largest of a batch are a description's, with shape: padded (docs/images.md#pictures-of-their-own-size)")
        rescales, normalizes = self.flag("do_rescale"), self.flag("do_normalize")
        if not (rescales or normalizes or again):
            self.in_hand = BYTES
            return []
        by = 255 * float(self.number("rescale_factor")) if rescales else 255
        mean, std = (self._channels("image_mean"), self._channels("image_std")) if normalizes else ([0] * 3, [1] * 3)
        twice = self._channels("image_std") if again else [1] * 3
        said = {"mean": [whole((m + offset) / by) for m in mean], "std": [whole(s * more / by) for s, more in zip(std, twice)]}
        self.in_hand = FLOATS if said == {"mean": [0] * 3, "std": [1] * 3} else NORMALIZED
        return [] if self.in_hand == FLOATS else [{"normalize": "imagenet" if said == IMAGENET else said}]

    def patched(self, resize: Operation, made: Prepared, **said: Any) -> list[Operation]:
        """Resized to whole patches, and cut into these."""
        if not self.flag("do_resize"):
            self.refuse("do_resize: got False, pictures that are whole patches as they are, want True")
        self.prepared, self.section = made, {"patches": {"size": self.get("patch_size"), **said}}
        return [{"resize": without({**resize, "interpolation": self.resampler()}, interpolation="bilinear")}, *self.finished()]

    def tiled(self, side: int, made: Prepared, **said: Any) -> list[Operation]:
        """Cut into tiles of that side, by the rule of a kind, and its numbers."""
        if not self.flag("do_resize") or self.before:
            self.refuse("makes tiles of a picture as it is, want do_resize=True and nothing in front of it")
        usual = {"mllama": "bilinear", "idefics3": "lanczos"}.get(said.get("kind", ""), "bicubic")
        self.prepared, self.section = made, {"tiles": {"size": side, **without({**said, "interpolation": self.resampler()}, interpolation=usual)}}
        return self.finished()

    def square(self, name: str) -> int:
        """One side of what measures as much in both ways."""
        sides = self.sides(name)
        if len(set(sides.values())) > 1:
            self.refuse(f"{name}: got {sides}, want as many pixels in both ways: tiles are square")
        return next(iter(sides.values()))

    def longest(self, name: str) -> int:
        """N of {longest_edge: N}."""
        said = self.measures(name)
        if set(said) != {"longest_edge"} or not isinstance(said["longest_edge"], int):
            self.refuse(f"{name}: got {said}, want {{'longest_edge': N}}")
        return int(said["longest_edge"])

    def _channels(self, name: str) -> list[Number]:
        value = self.get(name)
        numbers = value if isinstance(value, list) else [value] * 3
        if len(numbers) != 3 or any(isinstance(n, bool) or not isinstance(n, (int, float)) for n in numbers):
            self.refuse(f"{name}: got {value!r:.80}, want a number, or one of each of three channels")
        return numbers


def _size(sides: dict[str, int]) -> Any:
    return sides.get("shortest_edge") or [sides["height"], sides["width"]]


def plain(p: Processor) -> list[Operation]:
    return [*p.middle(p.resized(_size)), *p.finished()]


def convnext(p: Processor) -> list[Operation]:
    """The middle of what is resized by crop_pct, below 384; from there on it is stretched."""
    if not p.flag("do_resize"):
        return plain(p)
    if p.flag("do_center_crop"):
        p.refuse("do_center_crop: got True beside crop_pct, which crops, want False")
    side = p.sides("size").get("shortest_edge")
    if side is None:
        p.refuse(f"size: got {p.sides('size')}, want {{'shortest_edge': N}}")
    if side >= 384:
        return [*p.resized(lambda _: [side, side]), *p.finished()]
    operations = p.resized(lambda _: int(side / p.number("crop_pct")))
    return [*p.cropped(operations, side, side, "nearest" if p.is_fast else ""), *p.finished()]


def levit(p: Processor) -> list[Operation]:
    return [*p.middle(p.resized(lambda sides: int(256 / 224 * sides["shortest_edge"]) if "shortest_edge" in sides else _size(sides))), *p.finished()]


def poolformer(p: Processor) -> list[Operation]:
    """Resized by crop_pct, and its crops begin down in all versions."""
    def size(sides: dict[str, int]) -> Any:
        if p.get("crop_pct") is None:
            return _size(sides)
        made = {name: int(side / p.number("crop_pct")) for name, side in sides.items()}
        return _size(made) if len(set(sides.values())) > 1 else next(iter(made.values()))

    return [*p.middle(p.resized(size), "down"), *p.finished()]


def efficientnet(p: Processor) -> list[Operation]:
    return [*p.middle(p.resized(_size)), *p.finished(1 if p.flag("do_rescale") and p.flag("rescale_offset") else 0, p.flag("include_top"))]


def flava(p: Processor) -> list[Operation]:
    for name in ("return_image_mask", "return_codebook_pixels"):
        if p.flag(name):
            p.refuse(f"{name}: got True, which makes more than pixel_values, want False")
    return plain(p)


def perceiver(p: Processor) -> list[Operation]:
    if p.flag("do_center_crop"):
        p.refuse("do_center_crop: got True, the middle of a picture in a share of its shorter side, which has no operation here, want False")
    return plain(p)


def dinov3(p: Processor) -> list[Operation]:
    if p.flag("do_resize"):
        p.refuse("do_resize: got True, of floats, which are not rounded to bytes as they are resized, want bytes: ViTImageProcessor(size=processor.size, resample=processor.resample, "
                 "image_mean=processor.image_mean, image_std=processor.image_std) has them within 1 of 255")
    return plain(p)


def dpt(p: Processor) -> list[Operation]:
    """Sides are whole multiples, which they have to be as they are said, and pictures keep no shape."""
    if not p.flag("do_resize"):
        return plain(p)
    if p.flag("keep_aspect_ratio"):
        p.refuse("keep_aspect_ratio: got True, pictures of sizes of their own, want False, or one size: T.Resize((H, W)) in front of it, with do_resize=False")
    multiple, sides = p.get("ensure_multiple_of") or 1, p.sides("size")
    if "shortest_edge" in sides or any(side % multiple for side in sides.values()):
        p.refuse(f"size: got {sides}, want {{'height': H, 'width': W}} of whole multiples of {multiple} (ensure_multiple_of)")
    return plain(p)


def detr(p: Processor, rounding: str = "detr") -> list[Operation]:
    """One size, or the shorter side and a bound of the longer one, or of both; a batch is as large as its largest, or of one size, and a mask says where pictures are."""
    said = p.measures("size")
    square = said.get("max_height") == said.get("max_width")
    sized = set(said) == {"shortest_edge", "longest_edge"} or set(said) == {"max_height", "max_width"} and square
    if not square:
        p.refuse(f"size: got {said}, want max_height and max_width alike, as in {{'max_height': N, 'max_width': N}}")
    if p.flag("do_pad"):
        _pads_to(p, said, sized)
        p.prepared = prepared.DETR if sized else prepared.DETR_OF_ONE_SIZE
    elif sized:
        p.refuse("do_pad: got False of pictures of sizes of their own, of which no batch can be made, want True")
    if not p.flag("do_resize"):
        p.refuse("do_resize: got False, pictures as large as they are, of which nobody knows how much room they need, want True")
    if not sized:
        return [*p.resized(_size), *p.finished()]
    p.section["shape"] = "padded"
    resize = {"size": said.get("shortest_edge"), "max_size": said.get("longest_edge") or said["max_height"], "rounding": rounding if "shortest_edge" in said else "detr", "interpolation": p.resampler()}
    return [{"resize": without(resize, interpolation="bilinear")}, *p.finished()]


def yolos(p: Processor) -> list[Operation]:
    """As DETR's, but to sides that are multiples of 16. On Pillow's pictures that of transformers 4 makes no mask."""
    operations = detr(p, "yolos")
    if p.flag("do_pad") and not p.base:
        p.prepared = prepared.YOLOS if p.prepared is prepared.DETR else prepared.PLAIN
    return operations


def _pads_to(p: Processor, said: dict[str, Any], sized: bool) -> None:
    """To one size: as whole multiples of what no picture is larger than a batch has that."""
    to = p.measures("pad_size")
    side, most = to.get("height"), said.get("longest_edge") or said.get("max_height") or 0
    if not to or not sized and to == said:
        return
    if not sized or set(to) != {"height", "width"} or side != to["width"] or not isinstance(side, int) or not most <= side <= _MOST_MULTIPLE:
        p.refuse(f"pad_size: got {to}, want {f'as much in both ways, from {most} to {_MOST_MULTIPLE}, as in ' + repr({'height': most, 'width': most}) if sized else 'that of size'}, or None: "
                 "a batch is as large as its largest picture")
    p.section["multiple_of"] = side


# ---- what cuts tiles


def internvl(p: Processor) -> list[Operation]:
    if not p.flag("crop_to_patches"):
        return plain(p)
    return p.tiled(p.square("size"), prepared.INTERNVL, min=p.get("min_patches"), max=p.get("max_patches"))


def llava_next(p: Processor) -> list[Operation]:
    side = p.square("crop_size") if p.flag("do_center_crop") else p.square("size")
    if p.square("size") != side:
        p.refuse(f"crop_size: got {side}, want that of size, {p.square('size')}")
    return p.tiled(side, prepared.LLAVA_NEXT, kind="llava_next", grid_pinpoints=p.get("image_grid_pinpoints"))


def llava_onevision(p: Processor) -> list[Operation]:
    return p.tiled(p.square("size"), prepared.LLAVA_ONEVISION, kind="llava_next", grid_pinpoints=p.get("image_grid_pinpoints"))


def mllama(p: Processor) -> list[Operation]:
    return p.tiled(p.square("size"), prepared.mllama(p.get("max_image_tiles")), kind="mllama", max=p.get("max_image_tiles"))


def idefics3(p: Processor) -> list[Operation]:
    if not p.flag("do_image_splitting"):
        p.refuse("do_image_splitting: got False, pictures of sizes of their own, want True")
    if p.is_fast:
        p.refuse("resizes torch's tensors as transformers 4 does, by bicubic in the place of lanczos and in other steps than on Pillow's pictures, want use_fast=False; in transformers 5 both kinds are taken")
    return p.tiled(p.longest("max_image_size"), prepared.IDEFICS3, kind="idefics3", longest_edge=p.longest("size"))


# ---- what cuts patches


def qwen2_vl(p: Processor) -> list[Operation]:
    said = p.measures("size")
    if set(said) != {"shortest_edge", "longest_edge"} or not all(isinstance(n, int) for n in said.values()):
        p.refuse(f"size: got {said}, want {{'shortest_edge': N, 'longest_edge': N}}, pixels at least and at most")
    by = p.get("patch_size") * p.get("merge_size")
    return p.patched({"min_pixels": said["shortest_edge"], "max_pixels": said["longest_edge"], "multiple_of": by}, prepared.QWEN2_VL, merge=p.get("merge_size"), temporal=p.get("temporal_patch_size"))


def siglip2(p: Processor) -> list[Operation]:
    side = p.get("patch_size")
    operations = p.patched({"max_pixels": p.get("max_num_patches") * side * side, "multiple_of": side, "rounding": "up"}, prepared.SIGLIP2, shape="fixed")
    p.section["layout"] = "NHWC"
    return operations


# Those that take annotations of objects.
_ANNOTATED = tuple(f"{name}ImageProcessor" for name in ("Detr", "ConditionalDetr", "DeformableDetr", "RTDetr", "GroundingDino", "Yolos"))

_RULES: dict[str, Callable[[Processor], list[Operation]]] = {
    "": plain,  # as their bases do it, whatever the model
    **{f"{name}ImageProcessor": plain for name in ("ViT", "DeiT", "Bit", "CLIP", "Siglip", "MobileNetV1", "MobileNetV2", "MobileViT", "Pvt", "Beit", "Segformer", "Blip", "ChineseCLIP")},
    **{name: detr for name in _ANNOTATED}, "YolosImageProcessor": yolos, "DPTImageProcessor": dpt,
    "ConvNextImageProcessor": convnext, "LevitImageProcessor": levit, "PoolFormerImageProcessor": poolformer, "EfficientNetImageProcessor": efficientnet,
    "FlavaImageProcessor": flava, "PerceiverImageProcessor": perceiver, "DINOv3ViTImageProcessor": dinov3,
    "GotOcr2ImageProcessor": internvl, "LlavaNextImageProcessor": llava_next, "LlavaOnevisionImageProcessor": llava_onevision, "MllamaImageProcessor": mllama,
    "Idefics3ImageProcessor": idefics3, "SmolVLMImageProcessor": idefics3,
    "Qwen2VLImageProcessor": qwen2_vl, "Siglip2ImageProcessor": siglip2,
}

# Those that take segmentation_maps, and of these those that resize them to the nearest, and not by the filter of pictures.
_BY_NEAREST = tuple(f"{name}ImageProcessor" for name in ("Segformer", "MobileViT", "MobileNetV2"))
_MAPPED = (*_BY_NEAREST, "BeitImageProcessor", "DPTImageProcessor")

_PADDED = ("its pictures keep sizes of their own, and are padded to the largest of a batch; a description has them: resize: {size: N, max_size: M}, with shape: padded, and boxes that follow "
           "(docs/images.md#pictures-of-their-own-size)")

# What is known and has no operations here, and what does it.
_REMEDIES = {
    **{f"{name}ImageProcessor": _PADDED for name in ("Deta", "Mask2Former", "MaskFormer", "OneFormer")},
    **{f"{name}ImageProcessor": "its pictures are the frames of clips; a description's section video has them (docs/video.md)" for name in ("VideoMAE", "Vivit", "TvLT", "Tvp")},
}
