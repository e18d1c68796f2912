"""cv2_perspective, optical_distortion, grid_distortion, cv2_elastic_transform and random_grid_shuffle on our draws against albumentations' own functions of the same numbers, on opencv-python-headless 4.11.0.86."""

import math

import numpy as np
import pytest
from PIL import Image

from conftest import picture
from test_augment import INDEX, RGB
from test_distort import LATER, normals, words
from test_jpeg import BILINEAR, philox, uniforms
from tools import RowError

A = pytest.importorskip("albumentations", reason="needs albumentations: pip install albumentations==2.0.8 opencv-python-headless==4.11.0.86")
cv2 = pytest.importorskip("cv2")
from albumentations.augmentations.geometric import functional as F  # noqa: E402

CV2_LINEAR, CV2_NEAREST = 6, 7
STEP = "CV2Perspective"
FILTERS = {CV2_LINEAR: cv2.INTER_LINEAR, CV2_NEAREST: cv2.INTER_NEAREST}
BORDERS = (cv2.BORDER_CONSTANT, cv2.BORDER_REPLICATE, cv2.BORDER_REFLECT_101, cv2.BORDER_REFLECT)
OPTICAL, GRID, KEY, PERSPECTIVE, SHUFFLE, ELASTIC = 234, 236, 237, 240, 260, 268  # blocks of draws
FILL = [9, 99, 199]
SIZES = [(64, 64), (31, 50), (50, 31), (90, 144), (12, 300), (300, 13), (97, 129)]


@pytest.fixture(autouse=True)
def without_ipp():
    cv2.ipp.setUseIPP(False)
    yield
    cv2.ipp.setUseIPP(True)


def steps_of(index, count, low, high):
    """1 and a number of each part, along x and along y, of a row of seed 5."""
    key = [int(w[0]) for w in words(5, np.array([index], np.uint64), np.array([0], np.uint64), LATER, KEY)[:2]]
    drawn = []
    for i in range(count + 1):
        c = philox(key, (i, 0, 0, 0))
        drawn.append([((c[k] >> 5) * 67108864 + (c[k + 1] >> 6)) / 9007199254740992 for k in (0, 2)])
    return ([1 + (low + u[axis] * (high - low)) for u in drawn] for axis in (0, 1))


def remapped(pixels, maps, filter, border):
    return F.remap(pixels, *maps, FILTERS[filter], BORDERS[border], FILL)


def seen_from_aside(index, size, low, high):
    """Theirs of our numbers: the map there, and what the row is of then."""
    u = uniforms(5, 0, index, LATER, PERSPECTIVE)
    h, w = size
    normal = [math.sqrt(-2 * math.log(1 - a)) * math.cos(2 * math.pi * b) for a, b in (uniforms(5, 0, index, LATER, PERSPECTIVE + 1 + i) for i in range(8))]
    points = F.generate_perspective_points(size, low + u[1] * (high - low), Given(np.array(normal).reshape(4, 2)))
    return F.compute_perspective_params(F.order_points(points), size)


def key_of(index, block):
    """The words that are the key of what a row of seed 5 draws."""
    low, high = (int(w[0]) for w in words(5, np.array([index], np.uint64), np.array([0], np.uint64), LATER, block)[:2])
    return high << 32 | low


class Drawn:
    """A generator of the numbers that a row's elastic map has."""

    def __init__(self, index):
        self.key = key_of(index, ELASTIC + 1)

    def standard_normal(self, size, dtype):
        return normals(self.key, 0, math.prod(size)).astype(dtype).reshape(size)

    def uniform(self, low, high, size):
        assert (low, high) == (-1, 1)
        blocks = np.arange((math.prod(size) + 3) // 4, dtype=np.uint64)
        drawn = np.stack(words(self.key, blocks, np.zeros_like(blocks), 0, 0), -1).ravel()[:math.prod(size)]
        return ((drawn >> np.uint64(8)).astype(np.float64) * 2.0**-23 - 1).reshape(size)


class Given:
    """A generator whose normal numbers are known."""

    def __init__(self, numbers):
        self.numbers = numbers

    def normal(self, mean, scale, size):
        assert size == self.numbers.shape
        return mean + scale * self.numbers


def shown(tmp_path, i, size):
    pixels = picture(np.random.default_rng(i), size[1], size[0])
    Image.fromarray(pixels).save(tmp_path / "a.png")
    return pixels


def test_a_perspective_is_albumentations(rows, tmp_path):
    """Of rows, and, every third time, of a whole picture ahead of its crop."""
    moved = 0
    for i in range(96):
        size, low, high = SIZES[i % len(SIZES)], [0.05, 0, 0.3][i % 3], [0.1, 1, 0.3][i % 3]
        pixels, filter, border = shown(tmp_path, i, size), [CV2_LINEAR, CV2_NEAREST][i // 4 % 2], i // 8 % 4
        ours = dict(P=1, Scale=[low, high], Interpolation=filter, Padding=border, Fill=FILL)
        ahead = dict(Order=[STEP], Ahead=1, Out=(9, 8)) if i % 3 == 0 else dict(Out=size)
        got = rows.row(tmp_path / "a.png", CV2Perspective=ours, Mode=RGB, draw=dict(Seed=5, Index=i), **ahead)
        want = F.perspective(pixels, *seen_from_aside(i, size, low, high), FILL, BORDERS[border], True, FILTERS[filter])
        if i % 3 == 0:
            top, left = round((size[0] - 9) / 2), round((size[1] - 8) / 2)
            want = want[top : top + 9, left : left + 8]
        assert np.array_equal(got, want), (i, size, low, high)
        moved += not np.array_equal(got, pixels)
    assert moved > 90


def test_a_lens_bends_as_albumentations_has_it(rows, tmp_path):
    moved = 0
    for i in range(56):
        size, low, high = SIZES[i % len(SIZES)], [-0.05, -1, 0, 0.3][i % 4], [0.05, 1, 0, 0.3][i % 4]
        pixels, filter, border = shown(tmp_path, i, size), [CV2_LINEAR, CV2_NEAREST][i // 4 % 2], i // 8 % 4
        ours = dict(P=0.9, Limit=[low, high], Interpolation=filter, Padding=border, Fill=FILL)
        got = rows.row(tmp_path / "a.png", Out=size, Optical=ours, Mode=RGB, draw=dict(Seed=5, Index=i))
        u = uniforms(5, 0, i, LATER, OPTICAL)
        k = low + u[1] * (high - low)
        want = remapped(pixels, F.get_camera_matrix_distortion_maps(size, k), filter, border) if u[0] < 0.9 else pixels
        assert np.array_equal(got, want), (i, size, k)
        moved += not np.array_equal(got, pixels)
    assert 40 < moved < 56


def test_a_grid_bends_as_albumentations_has_it(rows, tmp_path):
    moved = 0
    for i in range(84):
        size, count, (low, high) = SIZES[i % len(SIZES)], [5, 1, 12, 2, 7, 9, 8][i // 3 % 7], [(-0.3, 0.3), (-1, 1), (0.2, 0.2)][i % 3]
        pixels, filter, border, normalized = shown(tmp_path, i, size), [CV2_LINEAR, CV2_NEAREST][i // 4 % 2], i // 8 % 4, i % 5 > 1
        ours = dict(P=1, Steps=count, Limit=[low, high], Normalized=normalized, Interpolation=filter, Padding=border, Fill=FILL)
        got = rows.row(tmp_path / "a.png", Out=size, GridDistortion=ours, Mode=RGB, draw=dict(Seed=5, Index=i))
        across, down = steps_of(i, count, low, high)
        if normalized:
            across, down = F.normalize_grid_distortion_steps(size, count, across, down).values()
        assert np.array_equal(got, remapped(pixels, F.generate_grid(size, across, down, count), filter, border)), (i, size, count)
        moved += not np.array_equal(got, pixels)
    assert moved > 50


def test_a_grid_of_most_steps_has_numpys_sum(rows, tmp_path):
    for i in range(24):
        count, size = [8, 15, 16, 33, 63, 64][i % 6], (70 + i, 200 - 5 * i)
        pixels = shown(tmp_path, i, size)
        ours = dict(P=1, Steps=count, Limit=[-0.9, 0.9], Normalized=True, Interpolation=CV2_LINEAR)
        got = rows.row(tmp_path / "a.png", Out=size, GridDistortion=ours, draw=dict(Seed=5, Index=i))
        steps = F.normalize_grid_distortion_steps(size, count, *steps_of(i, count, -0.9, 0.9))
        want = F.remap(pixels, *F.generate_grid(size, *steps.values(), count), cv2.INTER_LINEAR, cv2.BORDER_CONSTANT, 0)
        assert np.array_equal(got, want), (i, count, size)


def rubber(index, size, alpha, sigma, same, approximate, uniform):
    """Theirs of our numbers: ElasticTransform's maps."""
    ways = F.generate_displacement_fields(size, alpha, sigma, same, (17, 17) if approximate else (0, 0), Drawn(index), "uniform" if uniform else "gaussian")
    return (np.stack(np.meshgrid(np.arange(size[1]), np.arange(size[0]))) + np.stack(ways)).astype(np.float32)


@pytest.mark.parametrize("ipp", [False, True])
@pytest.mark.parametrize("uniform", [True, False])
def test_rubber_bends_as_albumentations_has_it(rows, tmp_path, uniform, ipp):
    """Normal numbers of ours are floats and here doubles, so of those a place may lie a 32nd of a pixel beside."""
    cv2.ipp.setUseIPP(ipp)
    moved = differ = values = 0
    for i in range(64):
        size, alpha, sigma = SIZES[i % len(SIZES)], [1, 120, 900, 0][i % 4], [6, 1, 2.5, 50, 128, 4.1][i // 2 % 6]
        pixels, filter, border = shown(tmp_path, i, size), [CV2_LINEAR, CV2_NEAREST][i // 4 % 2], i // 8 % 4
        same, approximate = i % 5 == 0, i % 3 == 0
        ours = dict(P=0.9, Alpha=alpha, Sigma=sigma, Same=same, Approximate=approximate, Uniform=uniform, Interpolation=filter, Padding=border, Fill=FILL)
        got = rows.row(tmp_path / "a.png", Out=size, CV2Elastic=ours, Mode=RGB, draw=dict(Seed=5, Index=i))
        want = remapped(pixels, rubber(i, size, alpha, sigma, same, approximate, uniform), filter, border) if uniforms(5, 0, i, LATER, ELASTIC)[0] < 0.9 else pixels
        differ, values = differ + np.count_nonzero(got != want), values + want.size
        assert not uniform or np.array_equal(got, want), (i, size, alpha, sigma)
        moved += not np.array_equal(got, pixels)
    assert 25 < moved < 50 and differ < values / 5000, (moved, differ, values)


def test_a_map_of_rubber_that_cannot_be_is_refused(rows, tmp_path):
    shown(tmp_path, 1, (40, 50))
    good = dict(P=1, Alpha=1, Sigma=5, Interpolation=CV2_LINEAR)
    for wrong, said in ((dict(Alpha=-1), "alpha"), (dict(Alpha=10001), "alpha"), (dict(Sigma=0.5), "sigma"), (dict(Sigma=129), "sigma"), (dict(Interpolation=0), "interpolation")):
        with pytest.raises(RowError, match=said):
            rows.row(tmp_path / "a.png", Out=(40, 50), CV2Elastic={**good, **wrong})


def test_masks_bend_with_their_pictures(rows, tmp_path):
    """Where the picture is white the mask is 1; by the nearest pixel both stay that."""
    shape = picture(np.random.default_rng(2), 60, 60, 1) > 127
    Image.fromarray(np.where(shape, 255, 0).astype(np.uint8)).convert("RGB").save(tmp_path / "a.png")
    Image.fromarray(shape.astype(np.uint8)).save(tmp_path / "b.png")
    for ours in (dict(CV2Perspective=dict(P=1, Scale=[0.1, 0.2], Interpolation=CV2_NEAREST)), dict(GridDistortion=dict(P=1, Steps=5, Limit=[-0.5, 0.5], Normalized=True, Interpolation=CV2_NEAREST)), dict(Optical=dict(P=1, Limit=[-1, 1], Interpolation=CV2_NEAREST)), dict(CV2Elastic=dict(P=1, Alpha=200, Sigma=4, Interpolation=CV2_NEAREST)), dict(Shuffle=dict(P=1, Grid=(4, 7)))):
        for i in range(10):
            a = rows.row(tmp_path / "a.png", Out=(60, 60), draw=dict(Seed=5, Index=i), **ours)
            b = rows.row(tmp_path / "b.png", Out=(60, 60), draw=dict(Seed=5, Index=i), Mode=INDEX, **ours)
            assert np.array_equal(a[..., 0] == 255, b.reshape(60, 60) == 1) and not np.array_equal(b.reshape(60, 60) == 1, shape)


def shuffled(index, size, grid):
    """The tiles of a row of seed 5, and where each goes."""
    key = [int(w[0]) for w in words(5, np.array([index], np.uint64), np.array([0], np.uint64), LATER, SHUFFLE + 1)[:2]]

    def uniform(i, which):
        c = philox(key, (i, which, 0, 0))
        return ((c[0] >> 5) * 67108864 + (c[1] >> 6)) / 9007199254740992

    splits = []
    for axis, (side, n) in enumerate(zip(size, grid)):
        over, ends = side % n, [0]
        for i in range(n):
            one = uniform(i, axis) * (n - i) < over
            over -= one
            ends.append(ends[-1] + side // n + one)
        splits.append(ends)
    down, across = splits
    tiles = np.array([(down[y], across[x], down[y + 1], across[x + 1]) for y in range(grid[0]) for x in range(grid[1])])
    mapping = [-1] * len(tiles)
    for indices in F.create_shape_groups(tiles).values():
        left = list(indices)
        for i in range(len(left) - 1, 0, -1):
            k = int(uniform(indices[i], 2) * (i + 1))
            left[i], left[k] = left[k], left[i]
        for old, new in zip(indices, left):
            mapping[old] = new
    return tiles, mapping


def test_tiles_change_places_as_albumentations_has_it(rows, tmp_path):
    moved = 0
    for i in range(70):
        size, grid = SIZES[i % len(SIZES)], [(3, 3), (1, 7), (12, 2), (5, 4), (12, 13), (2, 2), (1, 1)][i // len(SIZES) % 7]
        pixels = shown(tmp_path, i, size)
        got = rows.row(tmp_path / "a.png", Out=size, Shuffle=dict(P=0.9, Grid=grid), Mode=RGB, Layout=i % 2, draw=dict(Seed=5, Index=i))
        got = got if i % 2 == 0 else got.transpose(1, 2, 0)
        want = F.swap_tiles_on_image(pixels, *shuffled(i, size, grid)) if uniforms(5, 0, i, LATER, SHUFFLE)[0] < 0.9 else pixels
        assert np.array_equal(got, want), (i, size, grid)
        moved += not np.array_equal(got, pixels)
    assert 40 < moved < 70


def test_every_order_of_tiles_comes_alike(rows, tmp_path):
    """Of four tiles of a size all 24; of three columns of 7 pixels each is the wide one as often, and stays where it is."""
    Image.fromarray(np.array([[0, 1], [2, 3]], np.uint8)).save(tmp_path / "a.png")
    seen = {}
    for i in range(1200):
        got = rows.row(tmp_path / "a.png", Out=(2, 2), Mode=INDEX, Shuffle=dict(P=1, Grid=(2, 2)), portable_too=False, draw=dict(Seed=5, Index=i)).tobytes()
        seen[got] = seen.get(got, 0) + 1
    assert len(seen) == 24 and all(abs(n - 50) < 32 for n in seen.values()), seen
    Image.fromarray(np.arange(7, dtype=np.uint8)[None]).save(tmp_path / "a.png")
    wide = {}
    for i in range(600):
        got = rows.row(tmp_path / "a.png", Out=(1, 7), Mode=INDEX, Shuffle=dict(P=1, Grid=(1, 3)), portable_too=False, draw=dict(Seed=5, Index=i)).ravel().tolist()
        orders = {0: ([0, 1, 2, 3, 4, 5, 6], [0, 1, 2, 5, 6, 3, 4]), 1: ([0, 1, 2, 3, 4, 5, 6], [5, 6, 2, 3, 4, 0, 1]), 2: ([0, 1, 2, 3, 4, 5, 6], [2, 3, 0, 1, 4, 5, 6])}
        of = [k for k, both in orders.items() if got == both[1]]
        if of:
            wide[of[0]] = wide.get(of[0], 0) + 1
        else:
            assert got == orders[0][0]
    assert set(wide) == {0, 1, 2} and all(abs(n - 100) < 45 for n in wide.values()), wide


def test_points_are_not_told_of_it_and_the_frames_of_a_video_bend_alike(rows, tmp_path):
    shown(tmp_path, 3, (30, 40))
    for ours in (dict(GridDistortion=dict(P=1, Steps=5, Limit=[-0.5, 0.5], Normalized=True, Interpolation=CV2_LINEAR)), dict(Optical=dict(P=1, Limit=[-1, 1], Interpolation=CV2_LINEAR)), dict(Shuffle=dict(P=1, Grid=(3, 3)))):
        first, second = (rows.row(tmp_path / "a.png", Out=(30, 40), draw=dict(Seed=5, Index=1, Frame=frame), **ours) for frame in (0, 7))
        assert np.array_equal(first, second)
        assert rows.info["affine"] == [[0, 0, 0], [0, 0, 0]]


def test_what_bends_nothing_is_refused(rows, tmp_path):
    shown(tmp_path, 5, (40, 50))
    good = dict(CV2Perspective=dict(P=1, Scale=[0, 0.1], Interpolation=CV2_LINEAR), Optical=dict(P=1, Limit=[-0.1, 0.1], Interpolation=CV2_LINEAR), GridDistortion=dict(P=1, Steps=5, Limit=[-0.1, 0.1], Interpolation=CV2_LINEAR))
    for name, called in (("Optical", "optical"), ("GridDistortion", "grid")):
        for wrong, why in ((dict(P=2), "got probability 2"), (dict(Limit=[-1.1, 0]), r"got \[-1.1 0\], want -1"), (dict(Limit=[0.2, 0.1]), r"got \[0.2 0.1\]"), (dict(Padding=4), "padding: 4 is not one"),
                           (dict(Interpolation=BILINEAR), "want interpolation cv2_nearest or cv2_linear")):
            with pytest.raises(RowError, match=f"{called}: {why}"):
                rows.row(tmp_path / "a.png", Out=(40, 50), **{name: {**good[name], **wrong}})
        with pytest.raises(RowError, match=f"{called}: want interpolation cv2_nearest with mode index"):
            rows.row(tmp_path / "a.png", Out=(40, 50), Mode=INDEX, **{name: good[name]})
    for wrong, why in ((dict(P=2), "got probability 2"), (dict(Scale=[-0.1, 1]), r"got \[-0.1 1\], want 0"), (dict(Interpolation=BILINEAR), "want interpolation cv2_nearest or cv2_linear")):
        with pytest.raises(RowError, match=f"OpenCV's perspective: {why}"):
            rows.row(tmp_path / "a.png", Out=(40, 50), CV2Perspective={**good["CV2Perspective"], **wrong})
    for steps in (0, 41, 65):
        with pytest.raises(RowError, match=f"grid: got {steps} steps for rows of 40 x 50, want 1 to 64, and no more than the shorter side"):
            rows.row(tmp_path / "a.png", Out=(40, 50), GridDistortion={**good["GridDistortion"], "Steps": steps})


PIECEWISE = 374


def pulled(index, size, low, high, rows, columns, absolute):
    """Theirs of our numbers: the map."""
    scale, more = uniforms(5, 0, index, LATER, PIECEWISE)[1], uniforms(5, 0, index, LATER, PIECEWISE + 1)
    grid = tuple(least + int(u * (most - least + 1)) for u, (least, most) in zip(more, (rows, columns)))
    key = [int(w[0]) for w in words(5, np.array([index], np.uint64), np.array([0], np.uint64), LATER, PIECEWISE + 2)[:2]]
    normal = []
    for i in range(2 * grid[0] * grid[1]):
        c = philox(key, (i, 0, 0, 0))
        a, b = (((c[k] >> 5) * 67108864 + (c[k + 1] >> 6)) / 9007199254740992 for k in (0, 2))
        normal.append(math.sqrt(-2 * math.log(1 - a)) * math.cos(2 * math.pi * b))
    return F.create_piecewise_affine_maps(size, grid, low + scale * (high - low), absolute, Given(np.array(normal).reshape(*grid, 2)))


def test_pixels_that_go_with_points_are_albumentations(rows, tmp_path):
    """Of few points and of many, of which numpy adds up eight at a time, near and far."""
    moved = 0
    for i in range(48):
        size, (low, high) = SIZES[i % len(SIZES)], [(0.03, 0.05), (0.3, 1), (0.2, 0.2)][i % 3]
        least, most = [([2, 2], [3, 3]), ([4, 4], [4, 4]), ([2, 9], [3, 11]), ([8, 8], [16, 16])][i // 3 % 4]
        absolute, filter = i % 5 == 4, [CV2_LINEAR, CV2_NEAREST][i // 2 % 2]
        low, high = (low * 40, high * 40) if absolute else (low, high)
        pixels = shown(tmp_path, i, size)
        got = rows.row(tmp_path / "a.png", Piecewise=dict(P=1, Scale=[low, high], Rows=least, Columns=most, Pixels=absolute, Interpolation=filter), Mode=RGB, draw=dict(Seed=5, Index=i), Out=size)
        want = remapped(pixels, pulled(i, size, low, high, least, most, absolute), filter, i % 4)
        assert np.array_equal(got, want), (i, size, low, high, least, most, np.abs(got.astype(int) - want).max(), (got != want).mean())
        moved += not np.array_equal(got, pixels)
    assert moved == 48


def test_points_that_do_not_move_leave_the_row(rows, tmp_path):
    pixels = shown(tmp_path, 1, (31, 50))
    for step in (dict(P=1, Scale=[0, 0]), dict(P=0, Scale=[0.1, 0.1])):
        got = rows.row(tmp_path / "a.png", Piecewise=dict(Rows=[4, 4], Columns=[4, 4], Interpolation=CV2_LINEAR, **step), Mode=RGB, draw=dict(Seed=5, Index=0), Out=(31, 50))
        assert np.array_equal(got, pixels)
    for wrong in (dict(Rows=[1, 4]), dict(Columns=[3, 65]), dict(Rows=[12, 12], Columns=[11, 11]), dict(Scale=[0, 1.1]), dict(Interpolation=BILINEAR)):
        with pytest.raises(RowError, match="piecewise"):
            rows.row(tmp_path / "a.png", Piecewise={**dict(P=1, Scale=[0, 1], Rows=[4, 4], Columns=[4, 4], Interpolation=CV2_LINEAR), **wrong}, Mode=RGB, draw=dict(Seed=5, Index=0), Out=(31, 50))
