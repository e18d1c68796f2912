"""albumentations' transforms that change colours, blur, add noise and draw weather, and move no pixel."""

from __future__ import annotations

from typing import Any, Callable, Optional

from .arrays import Array
from .given import Operation, Rule, chance, whole, without

_LEAST_SIGMA = 0.001  # of a Gaussian blur: by less it is none


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


def downscale(g: Array) -> Operation:
    pair = g.get("interpolation_pair")
    if set(pair.values()) != {0}:
        g.refuse(f"interpolation_pair: got cv2's {pair.get('downscale')} and {pair.get('upscale')}, want INTER_NEAREST of both")
    return {"downscale": {"scale": g.pair("scale_range"), "p": whole(g.p)}}


RULES: dict[str, Rule] = {
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
    "ImageCompression": Rule(image_compression),
    "CLAHE": Rule(clahe),
    "Sharpen": Rule(effect("sharpen", "lightness")),
    "UnsharpMask": Rule(unsharp_mask),
    "Emboss": Rule(effect("emboss", "strength")),
    "ToSepia": Rule(sepia),
    "RandomToneCurve": Rule(tone_curve),
    "ChannelDropout": Rule(channel_dropout),
    "Equalize": Rule(equalize),
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
}
