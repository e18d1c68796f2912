"""random_erasing of a description, through the real command: what is erased, as what, and that the rest stays."""

import numpy as np
import pytest
from engines import describe

CROP = {"center_crop": 40}
MEAN, STD = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])


def rows(open_, folder, transform, cpus=2, **image):
    loader = open_(describe(folder, batch=53, order={"shuffle": False, "epochs": 2, "seed": 4}, image={"transform": transform, **image}, limits={"cpus": cpus}))
    return np.concatenate([np.array(batch["image"]) for epoch in loader.epochs() for batch in epoch])


def parts(got, plain):
    """The rectangle [top, bottom, left, right] of each row that differs, where there is one."""
    for a, b in zip(got, plain):
        y, x = np.nonzero((a != b).any(-1))
        yield (y.min(), y.max() + 1, x.min(), x.max() + 1) if len(y) else None


@pytest.mark.parametrize("value, dtype, want", [
    (0, "u8", [0, 0, 0]), ([9, 250, 77], "u8", [9, 250, 77]), (0.5, "f32", [0.5] * 3), ([-2.1, 0, 7], "normalize", [-2.1, 0, 7]), (1.25, "f16", [1.25] * 3),
])
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_a_part_becomes_its_value(pictures, open_, value, dtype, want, layout):
    image = {"dtype": dtype} if dtype != "normalize" else {}
    before = [CROP, *([] if image else [{"normalize": "imagenet"}])]
    plain, got = (rows(open_, pictures.path, [*before, *more], layout=layout, **image)
                  for more in ([], [{"random_erasing": {"p": 0.5, "scale": [0.1, 0.2], "ratio": [0.5, 2], "value": value}}]))
    if layout == "NCHW":
        plain, got = plain.transpose(0, 2, 3, 1), got.transpose(0, 2, 3, 1)
    erased = 0
    for a, b, part in zip(got, plain, parts(got, plain)):
        if part:
            top, bottom, left, right = part
            inside = a[top:bottom, left:right]
            assert (inside == np.array(want, a.dtype)).all() and 0.07 < inside.size / a.size <= 0.21
            assert 0.4 < (bottom - top) / (right - left) < 2.3
            erased += 1
    assert 30 < erased < 76  # of 106


def test_a_part_becomes_noise_that_is_the_samples(pictures, open_):
    """Standard normal, whatever the row was; in another epoch another; the same for any number of decoders."""
    transform = [CROP, {"normalize": "imagenet"}, {"random_erasing": {"p": 1, "scale": [0.3, 0.33], "value": "random"}}]
    plain, got, again = rows(open_, pictures.path, transform[:2]), rows(open_, pictures.path, transform), rows(open_, pictures.path, transform, cpus=1)
    np.testing.assert_array_equal(got, again)
    noise = [a[top:bottom, left:right].ravel() for a, (top, bottom, left, right) in zip(got, parts(got, plain))]
    values = np.concatenate(noise)
    assert len(noise) == 106 and abs(values.mean()) < 0.02 and abs(values.std() - 1) < 0.02 and np.abs(values).max() > 4
    assert len({n[:20].tobytes() for n in noise}) == 106
