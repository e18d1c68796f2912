"""torchvision's transforms, v1 and v2, by the names of their classes."""

from __future__ import annotations

from typing import Any, Optional

from .given import BYTES, ERASED, FLOATS, NORMALIZED, PIL, RESIZERS, RESIZERS_OF_TENSORS, WARPERS, WARPERS_OF_TENSORS, Given, Operation, Rule, of_32_bits, short, whole, without

IMAGENET = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}


def sized(g: Given, name: str, operation: Operation) -> Operation:
    return {name: short("size", without(operation, interpolation="bilinear"))}


# ---- what crops, pads and resizes


def resampler(g: Given) -> str:
    """The filter of what resizes: Pillow's, or, of a tensor of bytes, torch's."""
    if g.in_hand == PIL:
        return g.filter(RESIZERS)
    of_v2(g)
    if g.get("interpolation") == "nearest-exact":
        return "torch_nearest_exact"
    filter = g.filter(RESIZERS_OF_TENSORS)
    if filter != "nearest":
        g.always("antialias", True, "a tensor without antialiasing is not resized here; in front of what makes a tensor pictures are antialiased always")
    return f"torch_{filter}"


def of_v2(g: Given) -> None:
    """Refuse a class of v1 on a tensor of bytes."""
    if ".v2." not in type_of(g):
        name = type(g.transform).__qualname__
        g.refuse(f"works on a tensor of u8, where v1's {name} computes in floats, want torchvision.transforms.v2.{name}, which computes in bytes; or this in front of what makes a tensor")


def resize(g: Given) -> Operation:
    if g.get("size") is None:
        g.refuse("size: got None, where max_size says the longer side, want a size; "
                 "resize: {size: [N, N], fit: contain} in the list's place fits pictures into a square")
    size = g.size()
    if len(size) == 1 and g.pictures is not None and g.get("max_size") is None:
        shorter = min(g.pictures)
        size = [size[0] * side // shorter for side in g.pictures]
    return sized(g, "resize", {"size": size[0] if len(size) == 1 else size, "interpolation": resampler(g), "max_size": g.get("max_size")})


def center_crop(g: Given) -> Operation:
    return {"center_crop": g.extent()}


def pad(g: Given) -> Operation:
    padding = g.get("padding")
    padding = padding[0] if isinstance(padding, list) and len(padding) == 1 else padding
    return {"pad": short("padding", {"padding": padding, **g.border()})}


def random_crop(g: Given) -> Operation:
    if g.get("pad_if_needed"):
        fits(g, "pad_if_needed: got True, which puts a smaller picture anywhere into what is padded")
    padding = g.get("padding")
    if isinstance(padding, list):
        if len(padding) == 4 and ".v2." in type_of(g):
            padding = [padding[0], padding[2], padding[1], padding[3]]  # it keeps left, right, top, bottom
        padding = padding[0] if len(set(padding)) == 1 else padding
    return sized(g, "random_crop", without({"size": g.extent(), "padding": padding, **(g.border() if padding else {})}, padding=0))


def type_of(g: Given) -> str:
    """The module that torchvision's own class, of which this is one, is in."""
    return next(cls.__module__ for cls in type(g.transform).__mro__ if cls.__module__.startswith("torchvision."))


def fits(g: Given, got: str) -> None:
    """Refuse a crop of pictures that may be smaller than it, of which ours has them in the middle."""
    height, width = g.size()[0], g.size()[-1]
    for operation in reversed(g.before):
        made = operation.get("resize")
        size = made["size"] if isinstance(made, dict) else made
        if size is not None:
            h, w = size if isinstance(size, list) else (size, size)
            if h >= height and w >= width and not (isinstance(made, dict) and "max_size" in made):
                return
    g.refuse(f"{got}; want pictures that are large enough: put Resize({max(height, width)}) in front, or leave it out, where a smaller picture lies in the middle")


def random_resized_crop(g: Given, filter: str = "") -> Operation:
    return sized(g, "random_resized_crop", without(
        {"size": g.extent(), "scale": g.pair("scale"), "ratio": g.pair("ratio"), "interpolation": filter or resampler(g)},
        scale=[0.08, 1], ratio=[3 / 4, 4 / 3]))


def random_resize(g: Given) -> Operation:
    return {"random_resize": without({"min_size": g.get("min_size"), "max_size": g.get("max_size"), "interpolation": resampler(g)}, interpolation="bilinear")}


def random_shortest_size(g: Given) -> Operation:
    sizes = g.get("min_size")
    sizes = sizes[0] if isinstance(sizes, list) and len(sizes) == 1 else sizes
    return {"random_shortest_size": short("min_size", without(
        {"min_size": sizes, "max_size": g.get("max_size"), "interpolation": resampler(g)}, interpolation="bilinear"))}


def scale_jitter(g: Given) -> Operation:
    width, height = g.pair("target_size")
    size = height if height == width else [height, width]
    return {"scale_jitter": short("target_size", without(
        {"target_size": size, "scale_range": g.pair("scale_range"), "interpolation": resampler(g)}, scale_range=[0.1, 2], interpolation="bilinear"))}


# ---- what moves pixels


def warped(g: Given, tensors: bool = False) -> Operation:
    """How pixels are taken from elsewhere: by Pillow, or, of a tensor of bytes, by torch, whose bilinear tells a black fill from none."""
    if g.in_hand == PIL and not tensors:
        return {"interpolation": g.filter(WARPERS), "fill": g.fill()}
    of_v2(g)
    filter, fill = g.filter(WARPERS_OF_TENSORS), g.fill()
    if filter == "bilinear" and fill is None and g.filled():
        fill = 0
    return {"interpolation": filter, "fill": fill, "arithmetic": "torch"}


def random_rotation(g: Given) -> Operation:
    return {"random_rotation": without(
        {"degrees": g.pair("degrees"), "center": g.get("center"), "expand": bool(g.get("expand")), **warped(g)},
        expand=False, interpolation="nearest")}


def random_affine(g: Given) -> Operation:
    return {"random_affine": without(
        {"degrees": g.pair("degrees"), "translate": g.get("translate"), "scale": g.get("scale"), "shear": g.get("shear"), "center": g.get("center"), **warped(g)},
        interpolation="nearest")}


def random_perspective(g: Given) -> Operation:
    return {"random_perspective": without(
        {"distortion_scale": g.number("distortion_scale"), "p": g.number("p"), **warped(g)}, interpolation="bilinear")}


def random_zoom_out(g: Given) -> Operation:
    return {"random_zoom_out": without({"side_range": g.pair("side_range"), "p": g.number("p"), "fill": g.fill()})}


def elastic_transform(g: Given) -> Operation:
    alpha, sigma = g.get("alpha"), g.get("sigma")
    alpha, sigma = (v if isinstance(v, list) else [v] for v in (alpha, sigma))
    if len(set(sigma)) > 1:
        g.refuse(f"sigma: got {sigma}, want one for both axes")
    alpha = [whole(v) for v in alpha]
    return {"elastic_transform": without(
        {"alpha": alpha[0] if len(set(alpha)) == 1 else alpha, "sigma": whole(sigma[0]), "interpolation": g.filter(("bilinear", "nearest")), "fill": g.fill()},
        interpolation="bilinear")}


# ---- what changes colours


def colours(g: Given, operation: Operation) -> Operation:
    """What changes colours, by the numbers of a PIL image, or, of a tensor of bytes, by torch's."""
    if g.in_hand == PIL:
        return operation
    of_v2(g)
    (name, value), = operation.items()
    return {name: {**(value if isinstance(value, dict) else {"p": value}), "arithmetic": "torch"}}


def grayscale(g: Given) -> Optional[Operation]:
    channels = g.get("num_output_channels")
    if channels == 1 and g.in_hand != PIL:
        g.refuse("num_output_channels: got 1 of a tensor, where pictures are grey (mode: gray) from the first on; put it in front of what makes a tensor, or want 3")
    if channels == 3 and g.channels < g.channels_of_pictures:
        g.refuse("num_output_channels: got 3 behind Grayscale(1), want 3 of that, which does both")
    if channels == 3:
        g.channels = 3
        return colours(g, {"grayscale": 1})
    if channels != 1:
        g.refuse(f"num_output_channels: got {channels}, want 1 or 3")
    if any(not name.endswith("_flip") for operation in g.before for name in operation):
        g.refuse("num_output_channels: got 1 behind other transforms, where pictures are grey (mode: gray) from the first on; put it in front of them")
    g.channels = 1
    return None


def rgb(g: Given) -> None:
    if g.channels == 1:
        g.refuse("makes three channels of the one of Grayscale(1), want Grayscale(3), which does both")


def color_jitter(g: Given) -> Optional[Operation]:
    ranges = {name: [whole(v) for v in g.get(name)] for name in ("brightness", "contrast", "saturation", "hue") if g.get(name) is not None}
    return colours(g, {"color_jitter": ranges}) if ranges else None


def random_photometric_distort(g: Given) -> Operation:
    return colours(g, {"random_photometric_distort": {"p": g.number("p"), **{name: g.pair(name) for name in ("brightness", "contrast", "saturation", "hue")}}})


def gaussian_blur(g: Given) -> Operation:
    kernel = g.size("kernel_size")
    if kernel[0] != kernel[-1]:
        g.refuse(f"kernel_size: got {kernel}, want as many pixels in both ways")
    return {"gaussian_blur": {"kernel_size": kernel[0], "sigma": g.pair("sigma")}}


def gaussian_noise(g: Given) -> Operation:
    g.always("clip", True, "numbers of u8 are held to their range")
    return {"gaussian_noise": without({"sigma": g.number("sigma"), "mean": g.number("mean")}, mean=0)}


def jpeg(g: Given) -> Operation:
    return {"jpeg": {"quality": g.pair("quality")}}


def augmentation(name: str, *keys: str) -> Rule:
    return Rule(lambda g: {name: without({**{key: g.get(key) for key in keys}, **warped(g)}, interpolation="nearest")}, BYTES)


def aug_mix(g: Given) -> Operation:
    usual = {"severity": 3, "mixture_width": 3, "chain_depth": -1, "alpha": 1, "all_ops": True, "interpolation": "bilinear"}
    said = {**{key: g.number(key) for key in ("severity", "mixture_width", "chain_depth", "alpha")}, "all_ops": g.get("all_ops")}
    said["chain_depth"] = max(-1, said["chain_depth"]) or -1  # any but a positive one is by chance
    tensors = ".v2." in type_of(g)  # which it makes of PIL images first; v1's own arithmetic of these is no operation here
    return {"aug_mix": without({**said, **warped(g, tensors)}, **usual)}


def chance(name: str, upto: int = PIL) -> Rule:
    """An operation that is its probability."""
    return Rule(lambda g: {name: g.number("p")}, upto)


def by(name: str, key: str, attribute: str, upto: int = PIL) -> Rule:
    """An operation of one number and its probability."""
    return Rule(lambda g: {name: {key: g.number(attribute), "p": g.number("p")}}, upto)


def of_tensors_too(rule: Rule) -> Rule:
    """The same on a tensor of bytes, by other numbers."""
    return Rule(lambda g: colours(g, rule.tell(g) or {}), BYTES)


def equalize(g: Given) -> Operation:
    if g.in_hand != PIL:
        of_v2(g)  # which has the numbers of a PIL image
    return {"equalize": g.number("p")}


# ---- what makes tensors, and what comes then


def to_floats(g: Given) -> None:
    if g.in_hand == PIL:
        g.in_hand = FLOATS


def to_bytes(g: Given) -> None:
    if g.in_hand == PIL:
        g.in_hand = BYTES


def to_image(g: Given) -> None:
    to_bytes(g)
    g.tv_image = True


def to_pure_tensor(g: Given) -> None:
    g.tv_image = False


def to_dtype(g: Given) -> None:
    dtype = g.transform.dtype
    if isinstance(dtype, dict):  # by type, of v2
        named = {getattr(kind, "__name__", kind): d for kind, d in dtype.items()}
        dtype = named.get("Image" if g.tv_image else "Tensor", named.get("others", "nothing for a picture"))
    dtype, scale = str(dtype).replace("torch.", ""), getattr(g.transform, "scale", True)
    if dtype == "None" or dtype == ("uint8" if g.in_hand == BYTES else "float32"):
        return
    if g.in_hand != BYTES:
        g.refuse(f"dtype: got {dtype} behind floats, want nothing between what makes floats and Normalize; a description's dtype: f16 or bf16 makes halves "
                 "where no transform says ToTensor() or ToDtype")
    if dtype != "float32":
        g.refuse(f"dtype: got {dtype}, want torch.float32; a description's dtype: f16 or bf16 makes halves where no transform says ToTensor() or ToDtype")
    if not scale:
        g.refuse("scale: got False, which leaves numbers from 0 to 255, want scale=True: a row of floats is x/255")
    g.in_hand = FLOATS


def normalize(g: Given) -> Operation:
    said: dict[str, list[Any]] = {}
    for key in ("mean", "std"):
        value = g.get(key)
        said[key] = value if isinstance(value, list) else [value]
        said[key] = said[key] * g.channels if len(said[key]) == 1 else said[key]
    g.in_hand = NORMALIZED
    return {"normalize": "imagenet" if {k: [of_32_bits(x) for x in v] for k, v in said.items()} == IMAGENET else said}


def random_erasing(g: Given) -> Operation:
    value = g.get("value")
    if value is None:
        value = "random"
    if isinstance(value, list):
        value = value[0] if len(value) == 1 else value
    g.in_hand = ERASED
    return {"random_erasing": without({"p": g.number("p"), "scale": g.pair("scale"), "ratio": g.pair("ratio"), "value": value},
                                      scale=[0.02, 0.33], ratio=[0.3, 3.3], value=0)}


def nothing(g: Given) -> None:
    pass


RULES: dict[str, Rule] = {
    "Resize": Rule(resize, BYTES),
    "CenterCrop": Rule(center_crop, FLOATS),
    "RandomCrop": Rule(random_crop, FLOATS),
    "Pad": Rule(pad, FLOATS),
    "RandomResizedCrop": Rule(random_resized_crop, BYTES),
    "RandomResize": Rule(random_resize, BYTES),
    "RandomShortestSize": Rule(random_shortest_size, BYTES),
    "ScaleJitter": Rule(scale_jitter, BYTES),
    "RandomHorizontalFlip": chance("horizontal_flip", NORMALIZED),
    "RandomVerticalFlip": chance("vertical_flip", NORMALIZED),
    "RandomRotation": Rule(random_rotation, BYTES),
    "RandomAffine": Rule(random_affine, BYTES),
    "RandomPerspective": Rule(random_perspective, BYTES),
    "RandomZoomOut": Rule(random_zoom_out, BYTES),
    "ElasticTransform": Rule(elastic_transform, BYTES),
    "RandAugment": augmentation("rand_augment", "num_ops", "magnitude", "num_magnitude_bins"),
    "TrivialAugmentWide": augmentation("trivial_augment_wide", "num_magnitude_bins"),
    "AutoAugment": augmentation("auto_augment", "policy"),
    "AugMix": Rule(aug_mix, BYTES),
    "ColorJitter": Rule(color_jitter, BYTES),
    "RandomPhotometricDistort": Rule(random_photometric_distort, BYTES),
    "RandomChannelPermutation": Rule(lambda g: {"random_channel_permutation": 1}, BYTES),
    "Grayscale": Rule(grayscale, BYTES),
    "RGB": Rule(rgb, ERASED),
    "RandomGrayscale": of_tensors_too(chance("grayscale")),
    "GaussianBlur": Rule(gaussian_blur, BYTES),
    "GaussianNoise": Rule(gaussian_noise, BYTES, BYTES),
    "JPEG": Rule(jpeg, BYTES),
    "RandomSolarize": by("solarize", "threshold", "threshold", BYTES),
    "RandomPosterize": by("posterize", "bits", "bits", BYTES),
    "RandomAdjustSharpness": of_tensors_too(by("adjust_sharpness", "factor", "sharpness_factor")),
    "RandomInvert": chance("invert", BYTES),
    "RandomAutocontrast": of_tensors_too(chance("autocontrast")),
    "RandomEqualize": Rule(equalize, BYTES),
    "ToTensor": Rule(to_floats),
    "PILToTensor": Rule(to_bytes),
    "ToImage": Rule(to_image, ERASED),
    "ToPureTensor": Rule(to_pure_tensor, ERASED),
    "ToDtype": Rule(to_dtype, NORMALIZED, BYTES),
    "ConvertImageDtype": Rule(to_dtype, NORMALIZED, BYTES),
    "Normalize": Rule(normalize, FLOATS, FLOATS),
    "RandomErasing": Rule(random_erasing, NORMALIZED, BYTES),
    "Identity": Rule(nothing, ERASED),
}

# What is known and cannot be told, and what does it here.
REMEDIES = {
    "Lambda": "a function of one's own has no operation but lambda x: x, x.convert(\"RGB\") of pictures and x * 2 - 1 of floats; write what it does as one, or map whole batches: spdl.DataLoader(..., transform=)",
    "FiveCrop": "a row is one crop; a field for each, with center_crop: {size: N, position: top_left} and so on, is all of them (docs/images.md)",
    "TenCrop": "a row is one crop; a field for each, with center_crop: {size: N, position: top_left} and so on, is all of them (docs/images.md)",
    "MixUp": "it is of batches; call it in the loop (docs/recipes.md)",
    "CutMix": "it is of batches; call it in the loop (docs/recipes.md)",
    "ToPILImage": "pictures are not made of tensors here; leave it out, with what makes the tensor in front of it",
    **{name: "boxes and points are a data set's, and a description names them: image: {boxes: {column: NAME, with: [LABELS]}} moves them with every operation, cuts them and drops those "
             "that are gone (docs/transforms.md)" for name in ("SanitizeBoundingBoxes", "ClampBoundingBoxes", "ConvertBoundingBoxFormat", "SanitizeKeyPoints", "ClampKeyPoints")},
    "RandomIoUCrop": "it goes by boxes, which a description names: random_iou_crop in image.transform, beside image: {boxes: {column: NAME}} (docs/transforms.md)",
}

# The same of classes that torchvision's references have for themselves.
OF_REFERENCES = {
    "FixedSizeCrop": "it is a class of torchvision's references: leave it out, where pictures keep the size that ScaleJitter gives them and the model pads them, or put "
                     "v2.RandomCrop(N) in its place, in which a smaller picture lies in the middle",
}
