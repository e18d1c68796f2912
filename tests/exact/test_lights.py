"""albumentations' AutoContrast, PlanckianJitter, SaltAndPepper, Erasing and RandomShadow, for any number, and on our draws against its own functions of the same numbers, on
opencv-python-headless 4.11.0.86."""

import numpy as np
import pytest
from PIL import Image

from test_distort import LATER, words
from test_jpeg import philox, uniforms

A = pytest.importorskip("albumentations", reason="needs albumentations: pip install albumentations==2.0.8 opencv-python-headless==4.11.0.86")
cv2 = pytest.importorskip("cv2")
spdl = pytest.importorskip("spdl")
from spdl._torch.transforms import told  # noqa: E402
from test_albumentations import pictures, ramp, row, theirs, without_ipp  # noqa: E402, F401
from test_noises import words_of  # noqa: E402
from test_parts import Given  # noqa: E402

SALT, PLANCKIAN, ERASING, SHADOW = 305, 308, 310, 313  # blocks of draws


def test_contrasts_have_albumentations_bytes_for_any_cutoff(pictures, ramp, tmp_path):
    """Of pictures, of few values, and of one."""
    rng, made = np.random.default_rng(31), [*pictures, ramp]
    for i, values in enumerate(([0], [7, 9], [3, 200, 201], range(256), [255, 0, 1])):
        pixels = rng.choice(np.array(values, np.uint8), (48, 48, 3))
        pixels[..., 2] = pixels[::-1, :, 0]
        Image.fromarray(pixels).save(tmp_path / f"{i}.png")
        made.append((tmp_path / f"{i}.png", pixels))
    same = np.repeat(np.arange(256, dtype=np.uint8).reshape(16, 16), 3, 1).repeat(3, 0)[..., None].repeat(3, 2)  # each value as often
    Image.fromarray(same).save(tmp_path / "same.png")
    made.append((tmp_path / "same.png", same))
    changed = 0
    for i in range(160):
        path, pixels = made[i % len(made)]
        cutoff = [0, 0.5, 5, 20, 49, 60, 99.5, 100][i // len(made) % 8]
        transform = A.Compose([A.CenterCrop(*pixels.shape[:2]), A.AutoContrast(cutoff=cutoff, method=["cdf", "pil"][i % 2], p=1)])
        want = theirs(transform, pixels)
        assert np.array_equal(row(path, transform), want), (path, transform)
        changed += not np.array_equal(want, pixels)
    assert changed > 80
    grey = pictures[0][1][..., :1]
    assert np.array_equal(row(pictures[0][0], [{"center_crop": [60, 90]}, {"cv2_autocontrast": {"p": 1}}], mode="gray")[..., 0],
                          A.AutoContrast(p=1)(image=row(pictures[0][0], [{"center_crop": [60, 90]}], mode="gray")[..., 0])["image"]), grey.shape


def in_square(four):
    """Two numbers from 0 to 1 of 53 bits, from four words."""
    return tuple(((int(four[k]) >> 5) * 2**26 + (int(four[k + 1]) >> 6)) / 2**53 for k in (0, 2))


class Of(Given):
    """Its numbers, and normal ones."""

    def __init__(self, numbers, normal):
        super().__init__(numbers)
        self.normal = normal

    def gauss(self, mean, sigma):
        return mean + sigma * self.normal


def test_a_lights_colours_are_albumentations_of_our_numbers(rows, ramp):
    path, _ = ramp
    part, seen = rows.row(path, Out=(90, 80)), set()
    for i in range(120):
        mode, normal = ["blackbody", "cied"][i % 2], i // 2 % 2
        limits = [None, (5000, 7200), (6000, 15000), (4000, 6000)][i // 4 % 4]
        transform = A.PlanckianJitter(mode=mode, temperature_limit=limits, sampling_method=["uniform", "gaussian"][normal])
        u, far = uniforms(5, 0, i, LATER, PLANCKIAN), uniforms(5, 0, i, LATER, PLANCKIAN + 1)
        transform.py_random = Of([u[1], far[0]], np.sqrt(-2 * np.log(1 - far[0])) * np.cos(2 * np.pi * far[1]))
        params = transform.get_params()
        want = transform.apply(part, **params)
        config = {"P": 1, "Kelvin": list(transform.temperature_limit), "Daylight": mode == "cied", "Normal": bool(normal)}
        assert np.array_equal(rows.row(path, Out=(90, 80), Planckian=config, draw={"Seed": 5, "Index": i}), want), (params, transform)
        seen.add(params["temperature"])
    assert len(seen) > 60 and min(seen) < 4500 < 12000 < max(seen)


def test_salt_lies_where_albumentations_puts_it_by_our_numbers(rows, pictures):
    """Exactly as many pixels as it says, of which the others are pepper."""
    from albumentations.augmentations.pixel.functional import apply_salt_and_pepper

    for i in range(40):
        path, pixels = pictures[i % len(pictures)]
        h, w = min(pixels.shape[0], 40), min(pixels.shape[1], 37)
        amount, white, mode = [(0.01, 0.06), (0.3, 0.9), (1, 1)][i % 3], [(0.4, 0.6), (0, 0), (0.9, 1)][i // 3 % 3], 2 * (i % 2)
        part = rows.row(path, Out=(h, w), Mode=mode)
        got = rows.row(path, Out=(h, w), Mode=mode, Salt={"P": 1, "Amount": amount, "White": white}, draw={"Seed": 5, "Index": i})
        share, of = (low + v * (high - low) for v, (low, high) in zip((uniforms(5, 0, i, LATER, SALT)[1], uniforms(5, 0, i, LATER, SALT + 1)[0]), (amount, white)))
        want = int(h * w * share)
        salted = int(want * of)
        each, which = words_of(i, SALT + 2, 0, h * w), iter(words_of(i, SALT + 2, 1, h * w))
        left, salt, pepper = want, np.zeros(h * w, bool), np.zeros(h * w, bool)
        remaining = salted
        for at in range(h * w):
            if left and each[at] * (h * w - at) < left:
                is_white = next(which) * left < remaining
                (salt if is_white else pepper)[at] = True
                remaining, left = remaining - is_white, left - 1
        assert (salt.sum(), pepper.sum()) == (salted, want - salted)
        made = apply_salt_and_pepper(part, salt.reshape(h, w), pepper.reshape(h, w))
        assert np.array_equal(got.reshape(made.shape), made), i


def test_salt_lies_anywhere_alike(rows, tmp_path):
    part, n = np.full((20, 20, 3), 99, np.uint8), np.zeros((20, 20))
    Image.fromarray(part).save(path := tmp_path / "grey.png")
    for i in range(300):
        n += (rows.row(path, Out=(20, 20), Salt={"P": 1, "Amount": [0.1, 0.1], "White": [0.5, 0.5]}, draw={"Seed": 9, "Index": i}, portable_too=False) != part).any(-1)
    assert abs(n.mean() - 30) < 1e-9 and n.min() > 8 and n.max() < 60 and abs(n[:10].mean() - n[10:].mean()) < 2


def test_erased_parts_are_albumentations_of_our_numbers(rows, pictures):
    seen = 0
    for i in range(80):
        path, pixels = pictures[i % len(pictures)]
        h, w = pixels.shape[:2]
        scale, ratio = [(0.02, 0.33), (0.3, 1), (0.9, 1), (0.1, 0.1)][i % 4], [(0.3, 3.3), (1, 1), (0.1, 0.2), (3, 9)][i // 4 % 4]
        size, at = uniforms(5, 0, i, LATER, ERASING + 1), uniforms(5, 0, i, LATER, ERASING + 2)
        transform = A.Erasing(scale, ratio, fill=(9, 99, 199))
        transform.py_random = Given([*size, *at])
        holes = transform.get_params_dependent_on_data({"shape": pixels.shape}, {})["holes"]
        want = pixels.copy()
        for left, top, right, bottom in holes:
            want[top:bottom, left:right] = (9, 99, 199)
        got = rows.row(path, Out=(h, w), Erasing={"P": 1, "Scale": scale, "Ratio": ratio, "Fill": [9, 99, 199]}, draw={"Seed": 5, "Index": i})
        assert np.array_equal(got, want), (i, holes)
        seen += len(holes)
    assert 20 < seen < 80


def test_shadows_are_albumentations_of_our_numbers(rows, pictures):
    """One after the other, of any corners."""
    changed = 0
    for i in range(90):
        path, pixels = pictures[i % len(pictures)]
        h, w = min(pixels.shape[0], 70), min(pixels.shape[1], 71)
        corners, count, roi, intensity, mode = [5, 3, 4, 12][i % 4], [(1, 2), (3, 5), (1, 1)][i % 3], [(0, 0.5, 1, 1), (0, 0, 1, 1), (0.2, 0.1, 0.9, 0.6)][i // 3 % 3], [(0.5, 0.5), (0, 1)][i % 2], 2 * (i // 5 % 2)
        part = rows.row(path, Out=(h, w), Mode=mode)
        n = count[0] + int(uniforms(5, 0, i, LATER, SHADOW)[1] * (count[1] - count[0] + 1))
        polygons, darker = [], []
        left, top, right, bottom = int(roi[0] * w), int(roi[1] * h), int(roi[2] * w), int(roi[3] * h)
        for k in range(n):
            darker.append(intensity[0] + uniforms(5, 0, i, LATER, SHADOW + 1 + 2 * k)[0] * (intensity[1] - intensity[0]))
            key = [int(word[0]) for word in words(5, np.array([i], np.uint64), np.array([0], np.uint64), LATER, SHADOW + 2 + 2 * k)[:2]]
            places = [in_square(philox(key, (c, 0, 0, 0))) for c in range(corners)]
            polygons.append(np.array([[left + int(x * (right - left)), top + int(y * (bottom - top))] for x, y in places]))
        transform = A.RandomShadow(shadow_roi=roi, num_shadows_limit=count, shadow_dimension=corners, shadow_intensity_range=intensity)
        want = transform.apply(part, vertices_list=polygons, intensities=np.array(darker))
        got = rows.row(path, Out=(h, w), Mode=mode, Shadow={"P": 1, "Part": roi, "Count": count, "Corners": corners, "Intensity": intensity}, draw={"Seed": 5, "Index": i})
        assert np.array_equal(got.reshape(want.shape), want), (i, polygons)
        changed += (want != part).mean() > 0.01
    assert changed > 70


def test_what_they_are_here():
    for transform, want in [
        (A.AutoContrast(), {"cv2_autocontrast": {"p": 0.5}}), (A.AutoContrast(cutoff=2, method="pil", p=1), {"cv2_autocontrast": {"cutoff": 2, "method": "pil", "p": 1}}),
        (A.SaltAndPepper(), {"salt_and_pepper": {"amount": [0.01, 0.06], "salt_vs_pepper": [0.4, 0.6], "p": 0.5}}),
        (A.PlanckianJitter(mode="cied", sampling_method="gaussian"), {"planckian_jitter": {"mode": "cied", "temperature": [4000, 15000], "sampling": "gaussian", "p": 0.5}}),
        (A.RandomShadow(p=1), {"random_shadow": {"intensity": [0.5, 0.5], "p": 1}}),
        (A.RandomShadow((0, 0, 1, 1), (2, 3), 3, (0.1, 0.4)), {"random_shadow": {"intensity": [0.1, 0.4], "count": [2, 3], "corners": 3, "roi": [0, 0, 1, 1], "p": 0.5}}),
        (A.Erasing(fill=7), {"erasing": {"scale": [0.02, 0.33], "ratio": [0.3, 3.3], "p": 0.5, "fill": 7}}),
    ]:
        assert told(A.Compose([A.Resize(8, 8), transform]), "transform").operations[1:] == [want]
    assert [list(one) for one in told(A.Compose([A.Resize(8, 8), A.OneOf([A.AutoContrast(), A.SaltAndPepper()])]), "transform").operations] == [["resize"], ["random_choice"]]
    assert len(told(A.Compose([A.Resize(8, 8), A.AutoContrast(), A.Erasing(), A.PlanckianJitter(), A.RandomShadow()]), "transform", is_mask=True).operations) == 1


@pytest.mark.parametrize("make, message", [
    (lambda: A.AutoContrast(ignore=0), "ignore: got 0, which leaves out a channel of that number as well, want None"),
    (lambda: A.Erasing(fill="random"), "fill: got 'random', want a whole number"),
    (lambda: A.Erasing(fill_mask=0), "fill_mask: got 0.*, want None: masks keep what is beneath holes"),
], ids=["ignore", "random", "mask"])
def test_what_has_no_equal_is_refused(make, message):
    with pytest.raises(spdl.SpecError, match=message):
        told(A.Compose([A.Resize(8, 8), make()]), "transform")


def test_boxes_and_grey_are_refused():
    with pytest.raises(spdl.SpecError, match="beside bbox_params or keypoint_params it drops and cuts what holes cover"):
        told(A.Compose([A.Resize(8, 8), A.Erasing()], bbox_params=A.BboxParams("coco")), "transform")
    with pytest.raises(spdl.SpecError, match="works on pictures of three channels, and one is in hand"):
        told(A.Compose([A.Resize(8, 8), A.PlanckianJitter()]), "transform", 1)
