"""A crop of the corners against Pillow's, and, where torchvision is there, against its FiveCrop and TenCrop: the same bytes, which order they come in, too."""

import numpy as np
import pytest
from PIL import Image

from conftest import picture
from tools import RowError

CORNERS = {1: (0, 0), 2: (1, 0), 3: (0, 1), 4: (1, 1)}  # right, bottom


def corner(im, w, h, right, bottom):
    """Black where there is no pixel, as Image.crop leaves it."""
    left, top = right * (im.width - w), bottom * (im.height - h)
    return im.crop((left, top, left + w, top + h))


@pytest.mark.parametrize("at", CORNERS)
@pytest.mark.parametrize("ending", ["png", "jpg"])
def test_each_corner_is_pillows_crop(rows, tmp_path, at, ending):
    """Of pictures that are larger, of such as are smaller in one side and in both; as they are, resized, and flipped behind the crop."""
    rng = np.random.default_rng(at)
    for w, h in ((90, 71), (40, 71), (90, 30), (20, 30), (48, 40)):
        Image.fromarray(picture(rng, w, h)).save(tmp_path / f"a.{ending}")
        im = Image.open(tmp_path / f"a.{ending}").convert("RGB")
        for flip, layout in ((0, 0), (1, 1)):
            for short in (0, 50):
                from_ = im
                if short:
                    from_ = im.resize((short, short * h // w) if w <= h else (short * w // h, short), Image.BILINEAR)
                want = corner(from_, 48, 40, *CORNERS[at])
                want = np.asarray(want.transpose(Image.FLIP_LEFT_RIGHT) if flip else want)
                got = rows.row(tmp_path / f"a.{ending}", Out=(40, 48), Corner=at, ResizeShort=short or None, Flip=flip, Layout=layout)
                assert np.array_equal(got, want.transpose(2, 0, 1) if layout else want), (w, h, flip, short)
        turned = rows.row(tmp_path / f"a.{ending}", Out=(40, 48), Corner=at, VFlip=1, Order=["VFlip"], Ahead=1)
        assert np.array_equal(turned, np.asarray(corner(im.transpose(Image.FLIP_TOP_BOTTOM), 48, 40, *CORNERS[at])))


def test_a_corner_of_what_is_no_crop_is_refused(rows, tmp_path):
    Image.fromarray(np.zeros((9, 9, 3), np.uint8)).save(tmp_path / "a.png")
    for more in (dict(Resize=(4, 4)), dict(Out=(4, 4), Anywhere=True), dict(Out=(4, 4), Random={}), dict(Out=(4, 4), Contain={}), dict(Out=(4, 4), Corner=5)):
        with pytest.raises(RowError, match="corner: got [15], want one of the named values, of a crop to Out that is not anywhere"):
            rows.row(tmp_path / "a.png", **dict(dict(Corner=1), **more))


def test_five_crops_and_ten_are_torchvisions(rows, tmp_path):
    transforms = pytest.importorskip("torchvision.transforms")
    Image.fromarray(picture(np.random.default_rng(9), 90, 71)).save(tmp_path / "a.png")
    im = Image.open(tmp_path / "a.png")
    ours = [rows.row(tmp_path / "a.png", Out=(40, 48), Corner=at) for at in (1, 2, 3, 4, 0)]
    for got, want in zip(ours, transforms.FiveCrop((40, 48))(im)):
        assert np.array_equal(got, np.asarray(want))
    ten = [np.asarray(x) for x in transforms.TenCrop((40, 48))(im)]
    assert all(np.array_equal(got, want) for got, want in zip(ours, ten))
    flipped = [rows.row(tmp_path / "a.png", Out=(40, 48), Corner=at, Flip=1) for at in (2, 1, 4, 3, 0)]  # it crops the mirrored picture
    assert all(np.array_equal(got, want) for got, want in zip(flipped, ten[5:]))
