"""What the tests of spdl.DataLoader in the place of torch's share: both loaders' batches of one data set."""

import shutil

import numpy as np
import pytest
from PIL import Image

from conftest import picture

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
spdl = pytest.importorskip("spdl")
from torch.utils.data import DataLoader  # noqa: E402
from torchvision import transforms as T  # noqa: E402

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SIZES = [(90, 60), (60, 90), (64, 64), (40, 33), (200, 31), (71, 71), (64, 64), (120, 80), (33, 40), (50, 50), (64, 48)]


def classes(at):
    """Three classes of JPEGs and PNGs in the directory, of grey and with a palette, too."""
    rng = np.random.default_rng(7)
    for i, (w, h) in enumerate(SIZES):
        folder = at / "abc"[i * 3 // len(SIZES)]
        folder.mkdir(exist_ok=True)
        im = Image.fromarray(picture(rng, w, h))
        im = {4: im.convert("L"), 7: im.convert("P")}.get(i, im)
        im.save(folder / f"{i:02}.{'png' if i % 3 == 1 else 'jpg'}", quality=90)
    return str(at)


def batches(dataset, *args, **kwargs):
    with spdl.DataLoader(dataset, *args, copy=True, **kwargs) as loader:
        return list(loader), len(loader)


def same(dataset, *args, within=0.0, **kwargs):
    theirs = DataLoader(dataset, *args, **kwargs)
    ours, n = batches(dataset, *args, **kwargs)
    assert n == len(theirs)
    want = list(theirs)
    assert len(ours) == len(want)
    for (images, labels), (wanted, wanted_labels) in zip(ours, want):
        assert images.dtype == wanted.dtype and images.shape == wanted.shape
        assert labels.dtype == wanted_labels.dtype and torch.equal(labels, wanted_labels)
        if within == 0:
            assert torch.equal(images, wanted)
        else:
            assert (images.double() - wanted.double()).abs().max() <= within


def finished(*front):
    return T.Compose([*front, T.ToTensor(), T.Normalize(MEAN, STD)])


def to_rgb(image):
    """As CLIP's own has it."""
    return image.convert("RGB")


def small():
    return T.Compose([T.Resize((16, 12)), T.PILToTensor()])


def copied(root, to):
    shutil.copytree(root, to)
    return to
