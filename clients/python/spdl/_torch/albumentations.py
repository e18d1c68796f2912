"""albumentations' transforms, on pictures as arrays, by the names of their classes. Pixels are OpenCV's; what is random has the same distribution and draws other numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Callable, Optional, Protocol

from . import cropped
from .arrays import Array
from .given import ERASED, FLOATS, NORMALIZED, PIL, Operation, Rule, refusal, whole, without
from .torchvision import IMAGENET

_FORMATS: dict[str, Operation] = {"pascal_voc": {"format": "xyxy"}, "coco": {"format": "xywh"}, "yolo": {"format": "cxcywh", "normalized": True}, "albumentations": {"format": "xyxy", "normalized": True}}
_LEAST_SIGMA = 0.001  # of a Gaussian blur: by less it is none
_ANY_AREA = 1e-7  # of a box, in pixels: less is none


class Walk(Protocol):
    """What groups tell of their transforms, which is what transforms.py does."""

    forced: bool
    steps: list[tuple[Operation, Any]]
    is_mask: bool

    def add(self, one: Any, place: str) -> None: ...
    def apply(self, transforms: Any, p: float, one: Any, place: str) -> None: ...
    def choose(self, children: list[tuple[float, Any, str]], p: float, one: Any, place: str, forced: bool = True) -> None: ...
    def order(self, one: Any, place: str) -> None: ...
    def some(self, n: int, one: Any, place: str) -> None: ...
    def follow(self, key: str, says: Operation, one: Any, place: str) -> None: ...


# ---- what changes colours


def posterize(g: Array) -> Operation:
    bits = g.get("num_bits")
    if len(bits) != 2 or bits[0] != bits[1]:
        g.refuse(f"num_bits: got {bits}, drawn for each picture or one a channel, want one number")
    return {"posterize": {"bits": bits[0], "p": g.p}}


def solarize(g: Array) -> Operation:
    low, high = g.pair("threshold_range")
    if low != high:
        g.refuse(f"threshold_range: got {low} to {high}, want one threshold, such as (0.5, 0.5)")
    return {"solarize": {"threshold": whole(low * 255.0), "p": g.p}}


def to_gray(g: Array) -> Operation:
    if g.get("method") != "weighted_average":
        g.refuse(f"method: got {g.get('method')!r}, want 'weighted_average', OpenCV's RGB2GRAY")
    if g.get("num_output_channels") != 3:
        g.refuse(f"num_output_channels: got {g.get('num_output_channels')}, want 3; rows of one channel are mode: gray, Pillow's, or luma, which is cv2.imread's of a JPEG")
    return {"cv2_grayscale": whole(g.p)}


def brightness_contrast(g: Array) -> Operation:
    if not g.get("brightness_by_max"):
        g.refuse("brightness_by_max: got False, which goes by each picture's mean, want True")
    if g.get("ensure_safe_range"):
        g.refuse("ensure_safe_range: got True, want False")
    contrast = [1.0 + v for v in g.pair("contrast_limit")]
    return {"random_brightness_contrast": {"brightness": g.pair("brightness_limit"), "contrast": [whole(v) for v in contrast], "p": whole(g.p)}}


def random_gamma(g: Array) -> Operation:
    return {"random_gamma": {"gamma": [whole(v / 100.0) for v in g.pair("gamma_limit")], "p": whole(g.p)}}


def hue_saturation_value(g: Array) -> Operation:
    return {"hue_saturation_value": {"hue": g.pair("hue_shift_limit"), "saturation": g.pair("sat_shift_limit"), "value": g.pair("val_shift_limit"), "p": whole(g.p)}}


def rgb_shift(g: Array) -> Operation:
    ranges = [[whole(v * 255.0) for v in pair] for pair in g.get("noise_params")["ranges"]]
    return {"rgb_shift": {**dict(zip(("red", "green", "blue"), ranges)), "p": whole(g.p)}}


def color_jitter(g: Array) -> Operation:
    of_gray = {"saturation": [1, 1], "hue": [0, 0]} if g.channels == 1 else {}
    return {"cv2_color_jitter": {**{key: g.pair(key) for key in ("brightness", "contrast", "saturation", "hue")}, **of_gray, "p": whole(g.p)}}


def kernel(name: str) -> Rule:
    """A blur that has nothing but the size of its kernel."""
    return Rule(lambda g: {name: {"kernel_size": g.pair("blur_limit"), "p": whole(g.p)}})


def gaussian_blur(g: Array) -> Operation:
    low, high = g.pair("sigma_limit")
    if high <= 0:
        g.refuse(f"sigma_limit: got {low} to {high}, want a sigma above 0")
    sigma = [max(low, _LEAST_SIGMA), max(high, _LEAST_SIGMA)]
    return {"cv2_gaussian_blur": without({"sigma": sigma, "kernel_size": g.pair("blur_limit"), "p": whole(g.p)}, kernel_size=[0, 0])}


def motion_blur(g: Array) -> Operation:
    says = {"kernel_size": g.pair("blur_limit"), "angle": g.pair("angle_range"), "direction": g.pair("direction_range"), "shifted": g.get("allow_shifted"), "p": whole(g.p)}
    return {"motion_blur": without(says, angle=[0, 360], direction=[-1, 1], shifted=True)}


def advanced_blur(g: Array) -> Operation:
    sigmas = {key: [max(v, _LEAST_SIGMA) for v in g.pair(f"{key}_limit")] for key in ("sigma_x", "sigma_y")}
    says = {"kernel_size": g.pair("blur_limit"), **sigmas, "rotate": g.pair("rotate_limit"), "beta": g.pair("beta_limit"), "noise": g.pair("noise_limit"), "p": whole(g.p)}
    return {"advanced_blur": without(says, sigma_x=[0.2, 1], sigma_y=[0.2, 1], rotate=[-90, 90], beta=[0.5, 8], noise=[0.9, 1.1])}


def defocus(g: Array) -> Operation:
    return {"defocus": {"radius": g.pair("radius"), "alias_blur": g.pair("alias_blur"), "p": whole(g.p)}}


def ringing(g: Array) -> Operation:
    return {"ringing_overshoot": {"kernel_size": g.pair("blur_limit"), "cutoff": g.pair("cutoff"), "p": whole(g.p)}}


def glass_blur(g: Array) -> Operation:
    says = {"sigma": g.number("sigma"), "max_delta": g.number("max_delta"), "iterations": g.number("iterations"), "mode": g.get("mode"), "p": whole(g.p)}
    return {"glass_blur": without(says, max_delta=4, iterations=2, mode="fast")}


def zoom_blur(g: Array) -> Operation:
    return {"zoom_blur": {"max_factor": g.pair("max_factor"), "step_factor": g.pair("step_factor"), "p": whole(g.p)}}


def coloured(g: Array) -> None:
    """Refuse grey, where theirs stops."""
    if g.channels != 3:
        g.refuse("works on pictures of three channels, and one is in hand, want mode: rgb, or it left out")


def colour(g: Array, name: str) -> Any:
    """One number where all channels have the same."""
    values = [whole(v) for v in g.get(name)]
    return values[0] if len(set(values)) == 1 else values


def fog(g: Array) -> Operation:
    coloured(g)
    return {"random_fog": without({"intensity": g.pair("fog_coef_range"), "alpha": g.number("alpha_coef"), "p": whole(g.p)}, alpha=0.08)}


def rain(g: Array) -> Operation:
    coloured(g)
    if g.get("drop_width") != 1:
        g.refuse(f"drop_width: got {g.get('drop_width')}, want 1: lines are a pixel wide here")
    if g.get("blur_value") % 2 == 0:
        g.refuse(f"blur_value: got {g.get('blur_value')}, want an odd number")
    says = {"type": g.get("rain_type"), "slant": g.pair("slant_range"), "length": g.get("drop_length"), "blur": g.get("blur_value"), "brightness": g.number("brightness_coefficient"), "p": whole(g.p),
            "fill": colour(g, "drop_color")}
    return {"random_rain": without(says, type="default", slant=[-10, 10], length=None, blur=7, brightness=0.7, fill=200)}


def snow(g: Array) -> Operation:
    coloured(g)
    if g.get("method") != "bleach":
        g.refuse(f"method: got {g.get('method')!r}, whose flakes are numpy's, want 'bleach'")
    return {"random_snow": without({"snow_point": g.pair("snow_point_range"), "brightness": g.number("brightness_coeff"), "p": whole(g.p)}, brightness=2.5)}


def sun_flare(g: Array) -> Operation:
    coloured(g)
    if g.get("method") != "overlay":
        g.refuse(f"method: got {g.get('method')!r}, want 'overlay'")
    says = {"roi": [whole(v) for v in g.get("flare_roi")], "angle": g.pair("angle_range"), "circles": g.pair("num_flare_circles_range"), "radius": g.number("src_radius"), "p": whole(g.p), "fill": colour(g, "src_color")}
    return {"random_sun_flare": without(says, roi=[0, 0, 1, 0.5], angle=[0, 1], circles=[6, 10], radius=400, fill=255)}


def shot_noise(g: Array) -> Operation:
    return {"shot_noise": {"scale": g.pair("scale_range"), "p": whole(g.p)}}


def fancy_pca(g: Array) -> Operation:
    return {"fancy_pca": {"alpha": g.number("alpha"), "p": whole(g.p)}}


def additive_noise(g: Array) -> Operation:
    """One number a channel is rgb_shift's, normal ones for each value are gaussian_noise's."""
    kind, where, says = g.get("noise_type"), g.get("spatial_mode"), g.get("noise_params")
    if g.get("approximation") != 1:
        g.refuse(f"approximation: got {g.get('approximation'):g}, want 1: each value has a number of its own here")
    if (kind, where) == ("uniform", "constant"):
        coloured(g)
        ranges = [[whole(v * 255.0) for v in pair] for pair in says["ranges"]]
        return {"rgb_shift": {**dict(zip(("red", "green", "blue"), ranges * 3 if len(ranges) == 1 else ranges)), "p": whole(g.p)}}
    if (kind, where) != ("gaussian", "per_pixel"):
        g.refuse(f"noise_type, spatial_mode: got {kind!r} and {where!r}, want 'uniform' and 'constant', or 'gaussian' and 'per_pixel'; iso_noise, shot_noise and multiplicative_noise are near")
    low, high = says["mean_range"]
    if low != high:
        g.refuse(f"mean_range: got {low} to {high}, want one mean, such as (0, 0)")
    return {"gaussian_noise": without({"sigma": [whole(v) for v in says["std_range"]], "mean": whole(low), "p": whole(g.p)}, mean=0)}


def gauss_noise(g: Array) -> Operation:
    low, high = g.pair("mean_range")
    if low != high:
        g.refuse(f"mean_range: got {low} to {high}, want one mean, such as (0, 0)")
    if not g.get("per_channel"):
        g.refuse("per_channel: got False, want True: each value has a number of its own here")
    if g.get("noise_scale_factor") != 1:
        g.refuse(f"noise_scale_factor: got {g.get('noise_scale_factor'):g}, want 1")
    return {"gaussian_noise": without({"sigma": g.pair("std_range"), "mean": low, "p": whole(g.p)}, mean=0)}


def iso_noise(g: Array) -> Operation:
    if g.channels != 3:
        g.refuse("works on pictures of three channels, and one is in hand, want mode: rgb, or it left out")
    return {"iso_noise": {"intensity": g.pair("intensity"), "color_shift": g.pair("color_shift"), "p": whole(g.p)}}


def morphological(g: Array) -> Operation:
    if g.followed:
        g.refuse('beside bbox_params or keypoint_params it makes boxes larger or smaller, which nothing does here; leave one of them out, or take {"morphological": {...}}, by which boxes stay as they are')
    said = None if g.get("operation") == "dilation" else g.get("operation")
    return {"morphological": without({"kernel_size": g.pair("scale"), "operation": said, "p": whole(g.p)})}


def multiplicative_noise(g: Array) -> Operation:
    each, elements = g.get("per_channel"), g.get("elementwise")
    return {"multiplicative_noise": without({"multiplier": g.pair("multiplier"), "per_channel": each, "elementwise": elements, "p": whole(g.p)}, per_channel=False, elementwise=False)}


def image_compression(g: Array) -> Operation:
    if g.get("compression_type") != "jpeg":
        g.refuse(f"compression_type: got {g.get('compression_type')!r}, want 'jpeg'")
    return {"jpeg": without({"quality": g.pair("quality_range"), "channels": "bgr" if g.channels == 3 else None, "p": whole(g.p)})}


def clahe(g: Array) -> Operation:
    tiles = g.pair("tile_grid_size")
    return {"clahe": without({"clip_limit": g.pair("clip_limit"), "tiles": tiles[0] if tiles[0] == tiles[1] else tiles, "p": whole(g.p)}, tiles=8)}


def effect(name: str, by: str) -> Callable[[Array], Operation]:
    """A kernel of 3 x 3, of which an effect has a share."""
    def tell(g: Array) -> Operation:
        if by == "lightness" and g.get("method") != "kernel":
            g.refuse(f"method: got {g.get('method')!r}, whose differences of bytes wrap around, want 'kernel'")
        return {name: {"alpha": g.pair("alpha"), by: g.pair(by), "p": whole(g.p)}}
    return tell


def unsharp_mask(g: Array) -> Operation:
    says = {"alpha": g.pair("alpha"), "kernel_size": g.pair("blur_limit"), "sigma": g.pair("sigma_limit"), "threshold": g.get("threshold"), "p": whole(g.p)}
    return {"unsharp_mask": without(says, kernel_size=[3, 7], sigma=[0, 0], threshold=10)}


def sepia(g: Array) -> Optional[Operation]:
    return {"to_sepia": whole(g.p)} if g.channels == 3 else None  # which leaves grey as it is


def tone_curve(g: Array) -> Operation:
    return {"random_tone_curve": without({"scale": g.number("scale"), "per_channel": g.get("per_channel"), "p": whole(g.p)}, per_channel=False)}


def channel_dropout(g: Array) -> Operation:
    return {"channel_dropout": without({"channels": g.pair("channel_drop_range"), "p": whole(g.p), "fill": g.fill()}, fill=None)}


def equalize(g: Array) -> Operation:
    for name, usual, remedy in (("mode", "cv", "equalize is Pillow's"), ("by_channels", True, "each channel has a histogram of its own here"), ("mask", None, "the histogram is of all pixels here")):
        if g.get(name) != usual:
            g.refuse(f"{name}: got {g.get(name)!r:.60}, want {usual!r}: {remedy}")
    return {"cv2_equalize": whole(g.p)}


def auto_contrast(g: Array) -> Operation:
    if g.get("ignore") is not None:
        g.refuse(f"ignore: got {g.get('ignore')}, which leaves out a channel of that number as well, want None")
    return {"cv2_autocontrast": without({"cutoff": g.number("cutoff"), "method": g.get("method"), "p": whole(g.p)}, cutoff=0, method="cdf")}


def salt_and_pepper(g: Array) -> Operation:
    return {"salt_and_pepper": {"amount": g.pair("amount"), "salt_vs_pepper": g.pair("salt_vs_pepper"), "p": whole(g.p)}}


def planckian(g: Array) -> Operation:
    if g.channels != 3:
        g.refuse("works on pictures of three channels, and one is in hand, want mode: rgb, or it left out")
    return {"planckian_jitter": without({"mode": g.get("mode"), "temperature": g.pair("temperature_limit"), "sampling": g.get("sampling_method"), "p": whole(g.p)}, mode="blackbody", sampling="uniform")}


def random_shadow(g: Array) -> Operation:
    says = {"intensity": g.pair("shadow_intensity_range"), "count": g.pair("num_shadows_limit"), "corners": g.number("shadow_dimension"), "roi": [whole(v) for v in g.get("shadow_roi")], "p": whole(g.p)}
    return {"random_shadow": without(says, count=[1, 2], corners=5, roi=[0, 0.5, 1, 1])}


def holes_alone(g: Array, name: str, of_mask: str) -> None:
    """Refuse what follows holes: boxes and points that these cover, and masks."""
    if g.followed:
        g.refuse(f'beside bbox_params or keypoint_params it drops and cuts what holes cover, which nothing does here; leave one of them out, or take {{"{name}": {{...}}}}, by which boxes stay as they are')
    if g.get(of_mask) is not None:
        g.refuse(f"{of_mask}: got {g.get(of_mask)}, want None: masks keep what is beneath holes")


def grid_dropout(g: Array) -> Optional[Operation]:
    holes_alone(g, "grid_dropout", "fill_mask")
    if g.is_mask:
        return None
    units, anywhere = g.get("unit_size_range"), g.get("random_offset")
    if units is not None and g.get("holes_number_xy") is None:
        units = [units[0], max(units[0], units[1] - 1)]  # theirs leaves out the last
    else:
        units = None
    return {"grid_dropout": without({"ratio": g.number("ratio"), "grid": g.get("holes_number_xy"), "unit_size": units, "random_offset": anywhere, "shift": None if anywhere else g.get("shift_xy"), "p": whole(g.p),
                                     "fill": g.fill()}, random_offset=True, shift=[0, 0], grid=None, unit_size=None)}


def pixel_dropout(g: Array) -> Optional[Operation]:
    holes_alone(g, "pixel_dropout", "mask_drop_value")
    if g.get("drop_value") is None:
        g.refuse("drop_value: got None, drawn for each picture, want a number, or one a channel")
    return None if g.is_mask else {"pixel_dropout": without({"share": g.number("dropout_prob"), "per_channel": g.get("per_channel"), "p": whole(g.p), "fill": g.fill("drop_value")}, per_channel=False)}


def downscale(g: Array) -> Operation:
    pair = g.get("interpolation_pair")
    if set(pair.values()) != {0}:
        g.refuse(f"interpolation_pair: got cv2's {pair.get('downscale')} and {pair.get('upscale')}, want INTER_NEAREST of both")
    return {"downscale": {"scale": g.pair("scale_range"), "p": whole(g.p)}}


def coarse_dropout(g: Array) -> Optional[Operation]:
    holes_alone(g, "coarse_dropout", "fill_mask")
    if g.is_mask:
        return None
    height, width = g.pair("hole_height_range"), g.pair("hole_width_range")
    pixels = height[1] >= 1
    if pixels:
        height[:], width[:] = ([int(low), int(high + 1) - 1] for low, high in (height, width))
    holes = {"holes": g.pair("num_holes_range"), "height": height, "width": width, "pixels": pixels, "p": whole(g.p)}
    if g.in_hand == PIL:
        return {"coarse_dropout": without({**holes, "fill": g.fill()}, pixels=False)}
    g.in_hand = ERASED
    return {"random_erasing": without({**holes, "value": erased(g)}, pixels=False, value=0)}


def erasing(g: Array) -> Optional[Operation]:
    holes_alone(g, "erasing", "fill_mask")
    return None if g.is_mask else {"erasing": without({"scale": g.pair("scale"), "ratio": g.pair("ratio"), "p": whole(g.p), "fill": g.fill()})}


def erased(g: Array) -> Any:
    """What holes in floats become."""
    value = g.get("fill")
    some = value if isinstance(value, list) else [value]
    if not all(isinstance(one, (int, float)) for one in some):
        g.refuse(f"fill: got {value!r:.60} behind ToFloat or Normalize, want a number, or one for each channel")
    return [whole(one) for one in value] if isinstance(value, list) else whole(value)


# ---- what turns and moves


def affine(g: Array) -> Operation:
    for name, remedy in (("fit_output", "all rows of a batch are of one size"), ("balanced_scale", "scale=(low, high) draws from all of it alike")):
        if g.get(name):
            g.refuse(f"{name}: got True, want False: {remedy}")
    translate = "translate_px" if g.get("translate_px") is not None else "translate_percent"
    return warped(g, {"degrees": g.pair("rotate"), translate.replace("_percent", ""): g.axes(translate), "scale": g.axes("scale"), "shear": g.axes("shear"), "keep_ratio": g.get("keep_ratio")})


def rotate(g: Array) -> Operation:
    if g.get("crop_border"):
        g.refuse("crop_border: got True, want False: all rows of a batch are of one size")
    return warped(g, {"degrees": g.pair("limit")})


def safe_rotate(g: Array) -> Operation:
    return warped(g, {"degrees": g.pair("limit"), "fit": True})


def picked(g: Array) -> Operation:
    """How pixels are taken from where a map has them."""
    name = "mask_interpolation" if g.is_mask else "interpolation"
    filter = {0: "cv2_nearest", 1: "cv2_linear"}.get(g.get(name))
    if filter is None:
        g.refuse(f"{name}: got cv2's {g.get(name)}, want INTER_NEAREST or INTER_LINEAR")
    return without({"interpolation": filter}, interpolation="cv2_linear")


def warped(g: Array, says: Operation) -> Operation:
    if g.get("rotate_method") != "largest_box":
        g.refuse(f"rotate_method: got {g.get('rotate_method')!r}, want 'largest_box'")
    said = without(says, translate=[0, 0], translate_px=[0, 0], scale=[1, 1], shear=[0, 0], keep_ratio=False)
    return {"cv2_affine": {**said, "p": whole(g.p), **picked(g), **g.warped_border()}}


def alone(g: Array) -> None:
    """Refuse what boxes and points cannot follow."""
    if g.followed:
        g.refuse("beside bbox_params or keypoint_params, which nothing can follow here; leave one of them out, or take Affine or ShiftScaleRotate")


def grid_shuffle(g: Array) -> Operation:
    alone(g)
    return {"random_grid_shuffle": without({"grid": g.get("grid"), "p": whole(g.p)}, grid=[3, 3])}


def bent(g: Array, name: str, says: Operation) -> Operation:
    alone(g)
    return {name: {"limit": g.pair("distort_limit"), **says, "p": whole(g.p), **picked(g), **g.border_of()}}


def perspective(g: Array) -> Operation:
    if not g.get("keep_size") or g.get("fit_output"):
        g.refuse(f"keep_size, fit_output: got {g.get('keep_size')} and {g.get('fit_output')}, want True and False: all rows of a batch are of one size")
    return {"cv2_perspective": {"scale": g.pair("scale"), "p": whole(g.p), **picked(g), **g.warped_border()}}


def optical_distortion(g: Array) -> Operation:
    if g.get("mode") != "camera":
        g.refuse(f"mode: got {g.get('mode')!r}, whose map of floats depends on the build of numpy, want 'camera'")
    return bent(g, "optical_distortion", {})


def elastic_transform(g: Array) -> Operation:
    alone(g)
    says = without({"sigma": g.get("sigma"), "approximate": g.get("approximate"), "same_dxdy": g.get("same_dxdy"), "noise_distribution": g.get("noise_distribution")},
                   sigma=50, approximate=False, same_dxdy=False, noise_distribution="gaussian")
    return {"cv2_elastic_transform": {"alpha": whole(g.get("alpha")), **says, "p": whole(g.p), **picked(g), **g.border_of()}}


def grid_distortion(g: Array) -> Operation:
    return bent(g, "grid_distortion", without({"num_steps": g.get("num_steps"), "normalized": g.get("normalized")}, num_steps=5, normalized=True))


def chance(name: str, upto: int = PIL) -> Rule:
    """An operation that is its probability."""
    return Rule(lambda g: {name: whole(g.p)}, upto)


# ---- what makes floats and tensors


def to_float(g: Array) -> None:
    g.always_happens("all rows of a batch are of one type")
    if g.get("max_value") not in (None, 255):
        g.refuse(f"max_value: got {g.get('max_value'):g}, want 255: a row of floats is x/255; Normalize(mean=0, std=1, max_pixel_value=...) divides by another")
    if g.in_hand == PIL:
        g.in_hand, g.rows_last = FLOATS, True


def normalize(g: Array) -> Operation:
    g.always_happens("all rows of a batch are of one type")
    if g.get("normalization") != "standard":
        g.refuse(f"normalization: got {g.get('normalization')!r}, which goes by each picture's own numbers, want 'standard'")
    by = g.number("max_pixel_value") * (255 if g.in_hand == FLOATS else 1) / 255
    said: dict[str, list[Any]] = {}
    for key in ("mean", "std"):
        value = g.get(key)
        value = value if isinstance(value, list) else [value]
        said[key] = [whole(v * by) for v in (value * g.channels if len(value) == 1 else value)]
    g.rows_last = g.rows_last or g.in_hand == PIL
    g.in_hand = NORMALIZED
    return {"normalize": "imagenet" if said == IMAGENET else said}


def nothing(g: Array) -> None:
    pass


RULES: dict[str, Rule] = {
    **cropped.RULES,
    "HorizontalFlip": chance("horizontal_flip", NORMALIZED),
    "VerticalFlip": chance("vertical_flip", NORMALIZED),
    "RandomRotate90": chance("random_rotate90", NORMALIZED),
    "Transpose": chance("transpose", NORMALIZED),
    "InvertImg": chance("invert"),
    "ChannelShuffle": chance("random_channel_permutation"),
    "Posterize": Rule(posterize),
    "Solarize": Rule(solarize),
    "ToGray": Rule(to_gray),
    "RandomBrightnessContrast": Rule(brightness_contrast),
    "RandomGamma": Rule(random_gamma),
    "HueSaturationValue": Rule(hue_saturation_value),
    "RGBShift": Rule(rgb_shift),
    "ColorJitter": Rule(color_jitter),
    "Blur": kernel("box_blur"),
    "MedianBlur": kernel("median_blur"),
    "GaussianBlur": Rule(gaussian_blur),
    "MotionBlur": Rule(motion_blur),
    "GaussNoise": Rule(gauss_noise),
    "MultiplicativeNoise": Rule(multiplicative_noise),
    "ISONoise": Rule(iso_noise),
    "Morphological": Rule(morphological),
    "ImageCompression": Rule(image_compression),
    "CLAHE": Rule(clahe),
    "Sharpen": Rule(effect("sharpen", "lightness")),
    "UnsharpMask": Rule(unsharp_mask),
    "Emboss": Rule(effect("emboss", "strength")),
    "ToSepia": Rule(sepia),
    "RandomToneCurve": Rule(tone_curve),
    "ChannelDropout": Rule(channel_dropout),
    "Equalize": Rule(equalize),
    "CoarseDropout": Rule(coarse_dropout, NORMALIZED),
    "GridDropout": Rule(grid_dropout),
    "PixelDropout": Rule(pixel_dropout),
    "Erasing": Rule(erasing),
    "SaltAndPepper": Rule(salt_and_pepper),
    "AutoContrast": Rule(auto_contrast),
    "PlanckianJitter": Rule(planckian),
    "RandomShadow": Rule(random_shadow),
    "AdvancedBlur": Rule(advanced_blur),
    "Defocus": Rule(defocus),
    "RingingOvershoot": Rule(ringing),
    "GlassBlur": Rule(glass_blur),
    "ZoomBlur": Rule(zoom_blur),
    "RandomFog": Rule(fog),
    "RandomRain": Rule(rain),
    "RandomSnow": Rule(snow),
    "RandomSunFlare": Rule(sun_flare),
    "ShotNoise": Rule(shot_noise),
    "AdditiveNoise": Rule(additive_noise),
    "FancyPCA": Rule(fancy_pca),
    "Downscale": Rule(downscale),
    "Perspective": Rule(perspective),
    "OpticalDistortion": Rule(optical_distortion),
    "GridDistortion": Rule(grid_distortion),
    "ElasticTransform": Rule(elastic_transform),
    "RandomGridShuffle": Rule(grid_shuffle, NORMALIZED),
    "Affine": Rule(affine),
    "ShiftScaleRotate": Rule(affine),
    "Rotate": Rule(rotate),
    "SafeRotate": Rule(safe_rotate),
    "ToFloat": Rule(to_float, FLOATS),
    "Normalize": Rule(normalize, FLOATS),
    "NoOp": Rule(nothing, NORMALIZED),
}

# What leaves a mask as it is.
OF_COLOURS = ("ToGray", "RandomBrightnessContrast", "RandomGamma", "HueSaturationValue", "RGBShift", "ColorJitter", "Blur", "MedianBlur", "GaussianBlur", "MotionBlur", "GaussNoise", "MultiplicativeNoise", "ISONoise", "SaltAndPepper", "AutoContrast", "PlanckianJitter", "RandomShadow", "AdvancedBlur", "Defocus", "RingingOvershoot", "GlassBlur", "ZoomBlur", "RandomFog", "RandomRain", "RandomSnow", "RandomSunFlare", "ShotNoise", "AdditiveNoise", "FancyPCA", "ImageCompression", "CLAHE",
              "Downscale", "Sharpen", "UnsharpMask", "Emboss", "ToSepia", "RandomToneCurve", "ChannelDropout", "Equalize", "InvertImg", "ChannelShuffle", "Posterize", "Solarize", "ToFloat", "Normalize")

# What is known and cannot be told, and what does it here.
REMEDIES = {
    "ToTensor3D": "volumes have no operation here; ToTensorV2() is for pictures",
    "Lambda": "a function of one's own has no operation; map whole batches: spdl.DataLoader(..., transform=)",
    "SelectiveChannelTransform": "operations are of all channels here",
    "RandomCropNearBBox": "it goes by a box that each call brings; at_least_one_bbox_random_crop goes by those of bbox_params",
    "CropNonEmptyMaskIfExists": "masks do not say where their pictures are cropped; at_least_one_bbox_random_crop goes by boxes",
    "ChromaticAberration": "all channels are seen through one lens here: optical_distortion",
    **dict.fromkeys(("RandomGravel", "Spatter"), "drops and gravel are not drawn here; random_rain, random_fog, random_shadow and coarse_dropout change light, or cover parts"),
    **dict.fromkeys(("Illumination", "PlasmaBrightnessContrast", "PlasmaShadow"), "light is that of all of a picture here: random_brightness_contrast, random_gamma, random_tone_curve"),
    **dict.fromkeys(("ThinPlateSpline", "PiecewiseAffine", "GridElasticDeform"), "cv2_elastic_transform, grid_distortion and optical_distortion bend pictures"),
    **dict.fromkeys(("MaskDropout", "XYMasking", "ConstrainedCoarseDropout"), "coarse_dropout, grid_dropout and erasing make holes"),
    **dict.fromkeys(("HEStain", "HistogramMatching", "FDA", "PixelDistributionAdaptation"), "it goes by other pictures, or by each picture's own statistics; want it done to the files before"),
}


# ---- what holds others


def compose(walk: Walk, one: Any, place: str) -> None:
    if getattr(one, "additional_targets", None):
        raise refusal(place, one, f"additional_targets: got {', '.join(one.additional_targets)}, want none: each of a sample's pictures is one of fields, with this transform (docs/media.md)")
    if one.save_applied_params:
        raise refusal(place, one, "save_applied_params: got True, want False; image: {affine: true} tells where points went")
    for name, of in one.processors.items():
        if not walk.is_mask:
            key, says = (boxes if name == "bboxes" else points)(of.params, one, place)
            walk.follow(key, says, one, place)
    sequence(walk, one, place)
    if "bboxes" in one.processors and not walk.is_mask:
        check_areas(walk, one, place)


def boxes(params: Any, one: Any, place: str) -> tuple[str, Operation]:
    """bbox_params as image.boxes. The column is that of this name unless the section says another."""
    def refuse(what: str) -> None:
        raise refusal(place, one, f"bbox_params: {what}")

    if params.min_width != params.min_height:
        refuse(f"got min_width {params.min_width:g} and min_height {params.min_height:g}, want the same of both")
    if params.max_accept_ratio is not None:
        refuse(f"max_accept_ratio: got {params.max_accept_ratio:g}, want None")
    return "boxes", without({"column": "bboxes", **_FORMATS[params.format], "min_size": whole(params.min_width), "min_area": whole(max(params.min_area, _ANY_AREA)),
                             "min_visibility": whole(params.min_visibility), "with": list(params.label_fields or [])}, min_visibility=0, **{"with": []})


def check_areas(walk: Walk, one: Any, place: str) -> None:
    """Refuse least sizes that albumentations also asks of pictures of another size than the row's."""
    params = one.processors["bboxes"].params
    sized = [i for i, (operation, _) in enumerate(walk.steps) for name, value in operation.items()
             if name in ("resize", "random_resized_crop", "resized_crop", "random_scale") or name == "bbox_safe_random_crop" and isinstance(value, dict) and "size" in value]
    if not sized or not params.check_each_transform or not (params.min_area > 0 or params.min_width > 0):
        return
    last = sized[-1]
    if any(at is not walk.steps[last][1] for _, at in walk.steps[:last]):
        first, name = (next(iter(walk.steps[i][0])) for i in (0, last))
        raise refusal(place, one, f"bbox_params: min_area, min_width and min_height count behind each transform, of which {first} is ahead of {name}: of pictures of another size than the row's; put {name} first")


def points(params: Any, one: Any, place: str) -> tuple[str, Operation]:
    if params.format != "xy":
        raise refusal(place, one, f"keypoint_params: format: got {params.format!r}, want 'xy': points have no angle and no scale here")
    return "points", without({"column": "keypoints", "remove_invisible": bool(params.remove_invisible), "with": list(params.label_fields or [])}, remove_invisible=False, **{"with": []})


def sequence(walk: Walk, one: Any, place: str) -> None:
    p = happens(walk, one)
    if p == 1:
        walk.add(list(one.transforms), f"{place}.transforms")
    else:
        walk.apply(list(one.transforms), p, one, place)


def happens(walk: Walk, one: Any) -> float:
    """Its probability, which is 1 where a group around it has decided already."""
    forced, walk.forced = walk.forced, False
    return 1.0 if forced else float(one.p)


def one_of(walk: Walk, one: Any, place: str) -> None:
    """The probabilities of its transforms are weights."""
    p = happens(walk, one)
    walk.choose([*weighted(one, place, 1.0)], p, one, place)


def weighted(one: Any, place: str, by: float) -> Iterable[tuple[float, Any, str]]:
    for i, child in enumerate(one.transforms):
        at = f"{place}.transforms[{i}]"
        if type(child).__qualname__ == "OneOf":
            total = sum(t.p for t in child.transforms)
            yield from weighted(child, at, by * child.p / total)
        else:
            yield by * child.p, child, at


def one_or_other(walk: Walk, one: Any, place: str) -> None:
    p = float(one.p)
    walk.forced = False
    children = [one.transforms[0], one.transforms[-1]]
    walk.choose([(w, child, f"{place}.transforms[{i}]") for i, (w, child) in enumerate(zip((p, 1 - p), children))], 1.0, one, place)


def some_of(walk: Walk, one: Any, place: str) -> None:
    """All of its transforms, or some, each of which then has its own probability."""
    p, name = float(one.p), type(one).__qualname__
    walk.forced = False
    if not one.replace and one.n == len(one.transforms):
        if name == "SomeOf":
            sequence(walk, one, place)
        elif p != 1:
            raise refusal(place, one, f"p: got {p:g}, want 1: an order by chance is of all of them, always; each may have a p of its own")
        else:
            walk.order(one, place)
    elif one.n == 1:
        walk.choose([(1.0, child, f"{place}.transforms[{i}]") for i, child in enumerate(one.transforms)], p, one, place, forced=False)
    elif one.replace or name != "SomeOf":
        raise refusal(place, one, f"n: got {one.n} of {len(one.transforms)}{' with replacement' if one.replace else ' in an order by chance'}, want 1, or all of them without replacement")
    elif p != 1:
        raise refusal(place, one, f"p: got {p:g}, want 1 of {one.n} that are picked: each may have a p of its own")
    else:
        walk.some(one.n, one, place)


def d4(walk: Walk, one: Any, place: str) -> None:
    """Eight positions, evenly: a flip or none, and a number of quarters."""
    p = happens(walk, one)
    both = [{"horizontal_flip": 0.5}, {"random_rotate90": 1}]
    if p == 1:
        walk.add(both, place)
    elif p > 0:
        walk.apply(both, p, one, place)


GROUPS: dict[str, Callable[[Walk, Any, str], None]] = {
    "Compose": compose, "ReplayCompose": compose, "Sequential": sequence, "OneOf": one_of, "OneOrOther": one_or_other, "SomeOf": some_of, "RandomOrder": some_of, "D4": d4, "SquareSymmetry": d4,
}
