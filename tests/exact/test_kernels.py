"""albumentations' AdvancedBlur, Defocus, RingingOvershoot, GlassBlur and ZoomBlur, on our draws against its own functions of the same numbers, on opencv-python-headless 4.11.0.86."""

import numpy as np
import pytest

from test_distort import LATER
from test_jpeg import uniforms

A = pytest.importorskip("albumentations", reason="needs albumentations: pip install albumentations==2.0.8 opencv-python-headless==4.11.0.86")
cv2 = pytest.importorskip("cv2")
spdl = pytest.importorskip("spdl")
from spdl._torch.transforms import told  # noqa: E402
from test_albumentations import pictures, without_ipp  # noqa: E402, F401
from test_noises import words_of  # noqa: E402
from test_parts import Given  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
ADVANCED, DEFOCUS, RINGING, GLASS, ZOOM = 346, 351, 353, 355, 357  # blocks of draws


class Odd(Given):
    """Its numbers, and those of steps."""

    def randrange(self, a, b, step=1):
        return a + step * int(self.random() * len(range(a, b, step)))


class Grain:
    """numpy's generator, of numbers from 0 to 1."""

    def __init__(self, numbers):
        self.numbers = numbers

    def uniform(self, low, high, size):
        return low + (high - low) * self.numbers[:size[0] * size[1]].reshape(size)


def alike(got, want, size, of, often=0.001):
    """By Fourier's way from 13 x 13 on."""
    far = abs(got.reshape(want.shape).astype(int) - want)
    assert far.max() <= (size > 11) and (far > 0).mean() < often, of


def test_bells_are_albumentations_of_our_numbers(rows, pictures):
    sizes = set()
    for i in range(80):
        path, pixels = pictures[i % len(pictures)]
        mode, size = 2 * (i % 5 == 4), [(3, 7), (5, 11), (3, 3), (13, 21)][i % 4]
        limits = [dict(sigma_x=(0.2, 1), sigma_y=(0.2, 1), angle=(-90, 90), beta=(0.5, 8), noise=(0.9, 1.1)), dict(sigma_x=(1, 5), sigma_y=(0.3, 4), angle=(30, 30), beta=(0, 1.5), noise=(0.01, 3))][i // 4 % 2]
        part = rows.row(path, Out=pixels.shape[:2], Mode=mode)
        u, sigma, way, shape = uniforms(5, 0, i, LATER, ADVANCED), uniforms(5, 0, i, LATER, ADVANCED + 1), uniforms(5, 0, i, LATER, ADVANCED + 2), uniforms(5, 0, i, LATER, ADVANCED + 3)
        transform = A.AdvancedBlur(size, limits["sigma_x"], limits["sigma_y"], limits["angle"], limits["beta"], limits["noise"])
        transform.set_random_state(Grain(words_of(i, ADVANCED + 4, 0, 21 * 21)), Given([u[1]] * (size[0] < size[1]) + [*sigma, *way, shape[0]]))
        kernel = transform.get_params()["kernel"]
        assert not transform.py_random.numbers
        config = {"P": 1, "Size": size, "SigmaX": limits["sigma_x"], "SigmaY": limits["sigma_y"], "Angle": limits["angle"], "Beta": limits["beta"], "Noise": limits["noise"]}
        got = rows.row(path, Out=pixels.shape[:2], Mode=mode, AdvancedBlur=config, draw={"Seed": 5, "Index": i})
        alike(got, transform.apply(part, kernel), len(kernel), (i, config))
        sizes.add(len(kernel))
    assert {3, 5, 7, 9, 11, 13, 21} <= sizes


def test_disks_are_albumentations_of_our_numbers(rows, pictures):
    seen = set()
    for i in range(60):
        path, pixels = pictures[i % len(pictures)]
        mode, radius, alias = 2 * (i % 5 == 4), [(3, 10), (1, 15), (8, 9)][i % 3], [(0.1, 0.5), (0, 0), (1, 5)][i // 3 % 3]
        part = rows.row(path, Out=pixels.shape[:2], Mode=mode)
        transform = A.Defocus(radius, alias)
        transform.py_random = Given([uniforms(5, 0, i, LATER, DEFOCUS)[1], uniforms(5, 0, i, LATER, DEFOCUS + 1)[0]])
        params = transform.get_params()
        got = rows.row(path, Out=pixels.shape[:2], Mode=mode, Defocus={"P": 1, "Radius": radius, "Alias": alias}, draw={"Seed": 5, "Index": i})
        alike(got, transform.apply(part, **params), 17, (i, params), 0.01)  # sums of what is alike lie half way between two numbers more often
        seen.add(params["radius"])
    assert {3, 8, 9, 10} <= seen and min(seen) < 3 and max(seen) > 13


def test_rings_are_albumentations_of_our_numbers(rows, pictures):
    sizes = set()
    for i in range(60):
        path, pixels = pictures[i % len(pictures)]
        mode, size, cutoff = 2 * (i % 5 == 4), [(7, 15), (3, 11), (31, 31)][i % 3], [(np.pi / 4, np.pi / 2), (0.01, np.pi)][i // 3 % 2]
        part = rows.row(path, Out=pixels.shape[:2], Mode=mode)
        transform = A.RingingOvershoot(size, cutoff)
        transform.py_random = Odd([uniforms(5, 0, i, LATER, RINGING)[1], uniforms(5, 0, i, LATER, RINGING + 1)[0]])
        kernel = transform.get_params()["kernel"]
        got = rows.row(path, Out=pixels.shape[:2], Mode=mode, Ringing={"P": 1, "Size": size, "Cutoff": cutoff}, draw={"Seed": 5, "Index": i})
        alike(got, transform.apply(part, kernel), len(kernel), (i, len(kernel)))
        sizes.add(len(kernel))
    assert {3, 5, 7, 9, 11, 13, 15, 31} <= sizes


def test_glass_is_albumentations_of_our_numbers(rows, pictures):
    """At once that is of squares alone there."""
    changed = 0
    for i in range(48):
        path, pixels = pictures[i % len(pictures)]
        exact, mode = i % 2 == 1, 2 * (i % 5 == 4)
        h, w = pixels.shape[:2] if exact else [min(pixels.shape[:2])] * 2
        sigma, delta, times = [0.7, 0.1, 2.3, 0.3][i % 4], [4, 1, 9][i % 3], [2, 1, 3][i // 2 % 3]
        part = rows.row(path, Out=(h, w), Mode=mode)
        n = (h - 2 * delta) * (w - 2 * delta)
        far = np.stack([np.stack([words_of(i, GLASS + 1, 2 * turn + axis, n) for axis in (0, 1)], -1) for turn in range(times)], 1)
        dxy = np.floor(far * 2 * delta).astype(int) - delta
        transform = A.GlassBlur(sigma, delta, times, ["fast", "exact"][exact])
        want = transform.apply(np.ascontiguousarray(part[..., 0] if mode else part), dxy=dxy)
        got = rows.row(path, Out=(h, w), Mode=mode, Glass={"P": 1, "Sigma": sigma, "Delta": delta, "Times": times, "Exact": exact}, draw={"Seed": 5, "Index": i})
        changed += (got != part).mean() > 0.3
        assert np.array_equal(got.reshape(want.shape), want), (i, transform)
        assert dxy.min() == -delta and dxy.max() == delta - 1
    assert changed > 40


def test_glass_at_once_is_of_rows_of_any_shape(rows, pictures):
    """Where albumentations stops; what is smaller than the way that pixels go is only blurred."""
    path, _ = pictures[0]
    wide = rows.row(path, Out=(30, 60), Glass={"P": 1, "Sigma": 0.1, "Delta": 3, "Times": 1}, draw={"Seed": 5})
    part = rows.row(path, Out=(30, 60))
    assert (wide != part)[4:-4, 4:30].mean() > 0.3 < (wide != part)[4:-4, 30:-4].mean()
    small = rows.row(path, Out=(9, 12), Glass={"P": 1, "Sigma": 1, "Delta": 5, "Times": 2}, draw={"Seed": 5})
    blurred = cv2.GaussianBlur(cv2.GaussianBlur(np.ascontiguousarray(rows.row(path, Out=(9, 12))), (0, 0), 1), (0, 0), 1)
    assert np.array_equal(small, blurred)


def test_what_comes_nearer_is_albumentations_of_our_numbers(rows, pictures):
    """Of small rows, and of some that are too large to be kept as floats."""
    changed, tried, large = 0, 0, 0
    for i in range(60):
        path, pixels = pictures[i % len(pictures)]
        most, step, mode = [(1, 1.31), (1, 1), (1.5, 3)][i % 3], [(0.01, 0.03), (0.05, 0.4), (0.005, 0.005)][i // 3 % 3], 2 * (i % 5 == 4)
        size = (740, 720) if i in (4, 5) else pixels.shape[:2]
        part = rows.row(path, Out=size, Mode=mode)
        transform = A.ZoomBlur(most, step)
        transform.py_random = Given([uniforms(5, 0, i, LATER, ZOOM)[1], uniforms(5, 0, i, LATER, ZOOM + 1)[0]])
        factors = transform.get_params()["zoom_factors"]
        got = rows.row(path, Out=size, Mode=mode, ZoomBlur={"P": 1, "Most": most, "Step": step}, draw={"Seed": 5, "Index": i})
        if any(int(np.ceil(n / f) * f) < n for f in factors for n in size):
            continue  # a pixel short by rounding, where theirs stops
        large += size == (740, 720)
        want = transform.apply(part, zoom_factors=factors)
        assert np.array_equal(got.reshape(want.shape), want), (i, len(factors))
        changed += (got != part).mean() > 0.3
        tried += 1
    assert changed > 20 and tried > 30 and large


def test_what_they_are_here():
    for transform, want in [
        (A.AdvancedBlur(), {"advanced_blur": {"kernel_size": [3, 7], "p": 0.5}}),
        (A.AdvancedBlur((5, 9), (0, 2), (1, 3), (0, 45), (0.1, 2), (0.5, 1.5), p=1),
         {"advanced_blur": {"kernel_size": [5, 9], "sigma_x": [0.001, 2], "sigma_y": [1, 3], "rotate": [0, 45], "beta": [0.1, 2], "noise": [0.5, 1.5], "p": 1}}),
        (A.Defocus(), {"defocus": {"radius": [3, 10], "alias_blur": [0.1, 0.5], "p": 0.5}}), (A.Defocus(4), {"defocus": {"radius": [1, 4], "alias_blur": [0.1, 0.5], "p": 0.5}}),
        (A.RingingOvershoot(cutoff=(1, 2)), {"ringing_overshoot": {"kernel_size": [7, 15], "cutoff": [1, 2], "p": 0.5}}),
        (A.GlassBlur(), {"glass_blur": {"sigma": 0.7, "p": 0.5}}), (A.GlassBlur(1, 2, 3, "exact"), {"glass_blur": {"sigma": 1, "max_delta": 2, "iterations": 3, "mode": "exact", "p": 0.5}}),
        (A.ZoomBlur(), {"zoom_blur": {"max_factor": [1, 1.31], "step_factor": [0.01, 0.03], "p": 0.5}}),
    ]:
        assert told(A.Compose([A.Resize(8, 8), transform]), "transform").operations[1:] == [want]
    all_ = [A.AdvancedBlur(), A.Defocus(), A.RingingOvershoot(), A.GlassBlur(), A.ZoomBlur()]
    assert len(told(A.Compose([A.Resize(8, 8), *all_]), "transform", is_mask=True).operations) == 1
    assert [list(one) for one in told(A.Compose([A.Resize(8, 8), A.OneOf(all_)]), "transform").operations] == [["resize"], ["random_choice"]]


def test_composes_of_them_are_read(pictures):
    """By the command: every description that they become is one."""
    import spdl.io

    for transform in (A.AdvancedBlur(p=1), A.Defocus(p=1), A.RingingOvershoot(p=1), A.GlassBlur(p=1), A.ZoomBlur(p=1), A.RandomFog(p=1), A.RandomRain(p=1), A.RandomSnow(p=1), A.RandomSunFlare(p=1), A.ShotNoise(p=1), A.FancyPCA(alpha=3, p=1), A.AdditiveNoise(p=1)):
        made, part = (np.array(spdl.io._load.load(pictures[0][0], {"image": {"transform": A.Compose([A.CenterCrop(60, 90), *more])}})["image"]) for more in ([transform], []))
        assert made.shape == (60, 90, 3) and not np.array_equal(made, part), transform
