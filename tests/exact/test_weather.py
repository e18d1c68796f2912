"""albumentations' RandomFog, RandomRain, RandomSnow, RandomSunFlare, ShotNoise and FancyPCA, on our draws against its own functions of the same numbers, on
opencv-python-headless 4.11.0.86."""

import itertools

import numpy as np
import pytest

from test_distort import LATER, words
from test_jpeg import philox, uniforms

A = pytest.importorskip("albumentations", reason="needs albumentations: pip install albumentations==2.0.8 opencv-python-headless==4.11.0.86")
cv2 = pytest.importorskip("cv2")
spdl = pytest.importorskip("spdl")
from albumentations.augmentations.pixel import functional as F  # noqa: E402

from spdl._torch.transforms import told  # noqa: E402
from test_albumentations import colours, pictures, ramp, without_ipp  # noqa: E402, F401
from test_lights import in_square  # noqa: E402
from test_noises import words_of  # noqa: E402
from test_parts import Given  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
FOG, RAIN, SNOW, FLARE, SHOT, PCA = 359, 361, 363, 364, 368, 370  # blocks of draws


def key_of(index, block):
    return [int(word[0]) for word in words(5, np.array([index], np.uint64), np.array([0], np.uint64), LATER, block)[:2]]


class Particles:
    """Random generators, Python's and numpy's, of the words of one particle after the other."""

    def __init__(self, share, key):
        self.share, self.key, self.n = share, key, 0

    def word(self, i, which):
        return philox(self.key, (i, 0, 0, 0))[which]

    def uniform(self, a, b):
        return a + self.share * (b - a)

    def randint(self, a, b):
        self.n += 1
        return a + (int(self.word((self.n - 1) // 2, (self.n - 1) % 2)) * (b - a + 1) >> 32)

    def integers(self, low, high, size=None, dtype=None):
        if size is None:  # a radius
            self.n += 1
            return low + (int(self.word(self.n - 1, 2)) * (high - low) >> 32)
        return np.array([[int(self.word(i, k)) * high[k] >> 32 for k in (0, 1)] for i in range(size[0])], dtype).reshape(size)


def test_fog_is_albumentations_of_our_numbers(rows, pictures):
    """Of rows of any shape, and of those that are blurred by a kernel of more than three."""
    changed, some = 0, set()
    for i in range(40):
        path, pixels = pictures[i % len(pictures)]
        size = [pixels.shape[:2], (400, 420)][i % 8 == 7]
        intensity, alpha = [(0.3, 1), (0, 0.1), (1, 1), (0.5, 0.6)][i % 4], [0.08, 0.5, 0, 1, 0.01][i // 4 % 5]
        part = rows.row(path, Out=size)
        transform = A.RandomFog(alpha, intensity)
        transform.py_random = Particles(uniforms(5, 0, i, LATER, FOG)[1], key_of(i, FOG + 1))
        transform.set_random_state(Particles(0, key_of(i, FOG + 1)), transform.py_random)
        params = transform.get_params_dependent_on_data({"shape": part.shape}, {})
        want = transform.apply(part, **params)
        got = rows.row(path, Out=size, Fog={"P": 1, "Intensity": intensity, "Alpha": alpha}, draw={"Seed": 5, "Index": i})
        assert np.array_equal(got, want), (i, size, params["intensity"])
        changed += (got != part).mean() > 0.1
        some.update(params["radiuses"])
    assert changed > 30 and len(some) > 8


def test_rain_is_albumentations_of_our_numbers(rows, pictures):
    changed = 0
    for i in range(60):
        path, pixels = pictures[i % len(pictures)]
        slant, kind = [(-10, 10), (-20, -20), (0, 20)][i % 3], ["default", "drizzle", "heavy", "torrential"][i // 3 % 4]
        length, blur, brightness, colour = [None, 7, 1][i // 2 % 3], [7, 1, 3, 15][i // 5 % 4], [0.7, 1.0, 0.33][i % 3], [(200, 200, 200), (9, 99, 255)][i % 2]
        part = rows.row(path, Out=pixels.shape[:2])
        transform = A.RandomRain(slant, length, 1, colour, blur, brightness, kind)
        numbers = Particles(uniforms(5, 0, i, LATER, RAIN)[1], key_of(i, RAIN + 1))
        transform.set_random_state(numbers, numbers)
        params = transform.get_params_dependent_on_data({"shape": part.shape}, {})
        want = transform.apply(part, **params)
        times, over = {"default": (1, 3), "drizzle": (1, 4), "heavy": (1, 1), "torrential": (2, 1)}[kind]
        config = {"P": 1, "Slant": slant, "Times": times, "Over": over, "Length": length or 0, "Blur": blur, "Brightness": brightness, "Fill": colour}
        got = rows.row(path, Out=pixels.shape[:2], Rain=config, draw={"Seed": 5, "Index": i})
        assert np.array_equal(got, want), (i, config)
        changed += (got != part).mean() > 0.05
    assert changed > 50


def test_rain_that_is_longer_than_the_row_begins_at_its_top(rows, pictures):
    """Where albumentations stops."""
    path = pictures[0][0]
    config = {"P": 1, "Slant": [0, 0], "Times": 1, "Over": 1, "Length": 40, "Blur": 1, "Brightness": 1, "Fill": [255, 255, 255]}
    share = (rows.row(path, Out=(20, 31), Rain=config, draw={"Seed": 5}) != rows.row(path, Out=(20, 31))).any(-1).mean(0)  # of what is not white already
    assert ((share == 0) | (share > 0.5)).all() and 5 < (share > 0).sum() <= 20


def test_snow_is_albumentations_of_our_numbers(rows, pictures, colours):
    """All colours there are come to lightness and back as OpenCV has them."""
    for i in range(40):
        path, pixels = pictures[i % len(pictures)]
        point, much = [(0.1, 0.3), (0, 1), (1, 1), (0.5, 0.5)][i % 4], [2.5, 0.5, 1.3][i % 3]
        part = rows.row(path, Out=pixels.shape[:2])
        transform = A.RandomSnow(much, point)
        transform.py_random = Given([uniforms(5, 0, i, LATER, SNOW)[1]])
        params = transform.get_params_dependent_on_data({"shape": part.shape}, {})
        got = rows.row(path, Out=pixels.shape[:2], Snow={"P": 1, "Point": point, "Much": much}, draw={"Seed": 5, "Index": i})
        assert np.array_equal(got, transform.apply(part, **params)), (i, params)
    path, pixels = colours
    for point, much in ((0.2, 2.5), (1, 1.01)):
        got = rows.row(path, Out=pixels.shape[:2], Snow={"P": 1, "Point": [point] * 2, "Much": much}, portable_too=False)
        assert np.array_equal(got, F.add_snow_bleach(pixels, point, much))


def test_the_sun_is_albumentations_of_our_numbers(rows, pictures):
    changed, seen = 0, set()
    for i in range(60):
        path, pixels = pictures[i % len(pictures)]
        size = [pixels.shape[:2], (300, 310)][i % 10 == 9]  # of which circles have a radius of up to 27
        roi, angle, circles = [(0, 0, 1, 0.5), (0.2, 0.1, 0.9, 1)][i % 2], [(0, 1), (0.3, 0.3)][i // 2 % 2], [(6, 10), (1, 1), (20, 32)][i // 3 % 3]
        radius, colour = [400, 40, 9, 100][i % 4], [(255, 255, 255), (255, 130, 3), (0, 0, 0)][i // 4 % 3]
        part = rows.row(path, Out=size)
        transform = A.RandomSunFlare(roi, radius, colour, angle, circles)
        n = uniforms(5, 0, i, LATER, FLARE + 2)[0]
        numbers = [uniforms(5, 0, i, LATER, FLARE)[1], *uniforms(5, 0, i, LATER, FLARE + 1), n]
        key = key_of(i, FLARE + 3)
        for k in range(circles[0] + int(n * (circles[1] - circles[0] + 1))):
            numbers += [u for which in range(3) for u in in_square(philox(key, (k, which, 0, 0)))]
        transform.py_random = Given(numbers)
        params = transform.get_params_dependent_on_data({"shape": part.shape}, {})
        assert not transform.py_random.numbers
        want = transform.apply(part, **params)
        config = {"P": 1, "Part": roi, "Angle": angle, "Count": circles, "Radius": radius, "Fill": colour}
        got = rows.row(path, Out=size, Flare=config, draw={"Seed": 5, "Index": i})
        assert np.array_equal(got, want), (i, config)
        changed += not np.array_equal(got, part)
        seen.update(circle[2] for circle in params["circles"])
    assert changed > 50 and {1, 8, 27} <= seen


class Poisson:
    """numpy's generator, of numbers from 0 to 1 by which Poisson's are found."""

    def __init__(self, numbers):
        self.numbers = numbers

    def poisson(self, mean):
        mean = mean.astype(np.float64)
        p = np.exp(-mean)
        made, upto, numbers = np.zeros(mean.shape, np.int64), p, self.numbers.reshape(mean.shape)
        for k in range(1, 400):
            more = numbers >= upto
            made += more
            p = p * mean / k
            upto = upto + p
        return made


def test_light_in_pieces_is_albumentations_of_our_numbers(rows, pictures):
    changed = 0
    for i in range(30):
        path, pixels = pictures[i % len(pictures)]
        h, w, mode = min(pixels.shape[0], 40), min(pixels.shape[1], 37), 2 * (i % 2)
        scale = [(0.1, 0.3), (0.01, 0.02), (0.5, 3)][i // 2 % 3]
        part = rows.row(path, Out=(h, w), Mode=mode)
        much = scale[0] + uniforms(5, 0, i, LATER, SHOT)[1] * (scale[1] - scale[0])
        channels = part.shape[-1]
        numbers = np.stack([words_of(i, SHOT + 1, ch, h * w) for ch in range(channels)], 1).reshape(part.shape)
        want = F.shot_noise(part, much, Poisson(numbers))
        got = rows.row(path, Out=(h, w), Mode=mode, Shot={"P": 1, "Scale": scale}, draw={"Seed": 5, "Index": i})
        assert np.array_equal(got.reshape(want.shape), want), (i, much)
        changed += (got != part).mean() > 0.5
    assert changed > 20


def test_pieces_of_light_are_poissons(rows, tmp_path):
    """Of a grey of 188, whose light is about a half of white: as many as there are on the mean, and as far apart."""
    from PIL import Image

    Image.fromarray(np.full((100, 100, 3), 188, np.uint8)).save(path := tmp_path / "grey.png")
    light, scale = (188 / 255) ** 2.2, 0.1
    made = rows.row(path, Out=(100, 100), Shot={"P": 1, "Scale": [scale, scale]}, draw={"Seed": 9}, portable_too=False)
    pieces = (made / 255) ** 2.2 / scale
    assert abs(pieces.mean() - light / scale) < 0.1 and abs(pieces.std() - (light / scale) ** 0.5) < 0.15


def test_colours_move_along_their_directions_as_albumentations_has_it(rows, pictures):
    """Whose signs are numpy's to say: those of our normal numbers are turned until they fit. In grey there are none."""
    changed = 0
    for i in range(24):
        path, pixels = pictures[i % len(pictures)]
        alpha, mode = [0.1, 1, 30][i % 3], 2 * (i % 4 == 3)
        part = rows.row(path, Out=pixels.shape[:2], Mode=mode)
        normal = [np.sqrt(-2 * np.log(1 - u)) * np.cos(2 * np.pi * v) for u, v in (uniforms(5, 0, i, LATER, PCA + 1 + k) for k in range(3))]
        numbers = (alpha * np.array(normal[:part.shape[-1]])).astype(np.float32)
        got = rows.row(path, Out=pixels.shape[:2], Mode=mode, PCA={"P": 1, "Alpha": alpha}, draw={"Seed": 5, "Index": i}).astype(int)
        off = [abs(F.fancy_pca(part, numbers * np.array(signs, np.float32)).reshape(got.shape) - got) for signs in itertools.product(*[(1, -1) if not mode else (1,)] * len(numbers))]
        best = min(off, key=lambda far: far.max())
        assert best.max() <= 1 and (best > 0).mean() < 0.001, (i, best.max())
        changed += (got != part).mean() > 0.1
    assert changed > 15


def test_what_they_are_here():
    for transform, want in [
        (A.RandomFog(), {"random_fog": {"intensity": [0.3, 1], "p": 0.5}}), (A.RandomFog(0.1, (0, 0.2), p=1), {"random_fog": {"intensity": [0, 0.2], "alpha": 0.1, "p": 1}}),
        (A.RandomRain(), {"random_rain": {"p": 0.5}}),
        (A.RandomRain((0, 5), 20, 1, (1, 2, 3), 3, 0.9, "heavy", 1), {"random_rain": {"type": "heavy", "slant": [0, 5], "length": 20, "blur": 3, "brightness": 0.9, "p": 1, "fill": [1, 2, 3]}}),
        (A.RandomSnow(), {"random_snow": {"snow_point": [0.1, 0.3], "p": 0.5}}), (A.RandomSnow(2, (0, 1)), {"random_snow": {"snow_point": [0, 1], "brightness": 2, "p": 0.5}}),
        (A.RandomSunFlare(), {"random_sun_flare": {"p": 0.5}}),
        (A.RandomSunFlare((0, 0, 1, 1), 90, (255, 240, 200), (0.5, 0.5), (1, 3)), {"random_sun_flare": {"roi": [0, 0, 1, 1], "angle": [0.5, 0.5], "circles": [1, 3], "radius": 90, "p": 0.5, "fill": [255, 240, 200]}}),
        (A.ShotNoise(), {"shot_noise": {"scale": [0.1, 0.3], "p": 0.5}}), (A.FancyPCA(), {"fancy_pca": {"alpha": 0.1, "p": 0.5}}),
        (A.AdditiveNoise(), {"rgb_shift": {"red": [-25.5, 25.5], "green": [-25.5, 25.5], "blue": [-25.5, 25.5], "p": 0.5}}),
        (A.AdditiveNoise(noise_params={"ranges": [(0, 0.2), (-0.2, 0), (0, 0)]}), {"rgb_shift": {"red": [0, 51], "green": [-51, 0], "blue": [0, 0], "p": 0.5}}),
        (A.AdditiveNoise("gaussian", "per_pixel", {"mean_range": (0, 0), "std_range": (0.1, 0.2)}), {"gaussian_noise": {"sigma": [0.1, 0.2], "p": 0.5}}),
    ]:
        assert told(A.Compose([A.Resize(8, 8), transform]), "transform").operations[1:] == [want]
    all_ = [A.RandomFog(), A.RandomRain(), A.RandomSnow(), A.RandomSunFlare(), A.ShotNoise(), A.FancyPCA(), A.AdditiveNoise()]
    assert [list(one) for one in told(A.Compose([A.Resize(8, 8), A.OneOf(all_)]), "transform").operations] == [["resize"], ["random_choice"]]
    assert len(told(A.Compose([A.Resize(8, 8), *all_]), "transform", is_mask=True).operations) == 1


@pytest.mark.parametrize("make, message", [
    (lambda: A.RandomRain(drop_width=2), "drop_width: got 2, want 1"),
    (lambda: A.RandomRain(blur_value=4), "blur_value: got 4, want an odd number"),
    (lambda: A.RandomSnow(method="texture"), "method: got 'texture', whose flakes are numpy's, want 'bleach'"),
    (lambda: A.RandomSunFlare(method="physics_based"), "method: got 'physics_based', want 'overlay'"),
    (lambda: A.AdditiveNoise("laplace", "shared"), "noise_type, spatial_mode: got 'laplace' and 'shared', want 'uniform' and 'constant', or 'gaussian' and 'per_pixel'"),
    (lambda: A.AdditiveNoise("gaussian", "per_pixel", approximation=0.5), "approximation: got 0.5, want 1"),
    (lambda: A.AdditiveNoise("gaussian", "per_pixel", {"mean_range": (0, 0.1), "std_range": (0.1, 0.2)}), "mean_range: got 0.* to 0.1, want one mean"),
], ids=["width", "blur", "texture", "physics", "laplace", "approximation", "mean"])
def test_what_has_no_equal_is_refused(make, message):
    with pytest.raises(spdl.SpecError, match=message):
        told(A.Compose([A.Resize(8, 8), make()]), "transform")


@pytest.mark.parametrize("transform", [A.RandomFog(), A.RandomRain(), A.RandomSnow(), A.RandomSunFlare(), A.AdditiveNoise()], ids=lambda t: type(t).__name__)
def test_weather_of_grey_is_refused(transform):
    with pytest.raises(spdl.SpecError, match="works on pictures of three channels, and one is in hand"):
        told(A.Compose([A.Resize(8, 8), transform]), "transform", 1)
