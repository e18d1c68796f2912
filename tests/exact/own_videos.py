"""What tests of data sets of one's own that read videos share: the videos, and how batches are held against torch's."""

import pathlib

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
spdl = pytest.importorskip("spdl")
from torch.utils.data import DataLoader, Dataset  # noqa: E402
from torchvision import transforms as T  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

import spdl.io  # noqa: E402

FILES = pathlib.Path(__file__).resolve().parents[2] / "core/media/video/testdata"
SMALL = v2.Compose([v2.Resize((24, 32)), v2.ToDtype(torch.float32, scale=True), v2.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])
PILLOWS = T.Compose([T.Resize(40), T.CenterCrop(32), T.ToTensor(), T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])
MADE = {"0.mp4": {}, "1.mkv": {"bf": 0}, "2.mp4": {"x264-params": "open-gop=1:keyint=10"}, "3.avi": {"bf": 0}}  # options of their encoder


def write(path, number, count, codec="libx264", height=72, **options):
    """A video of so many frames of 96 x height pixels that move, each number's otherwise."""
    y, x = np.mgrid[0:72, 0:96]
    frames = np.stack([np.stack([(x + 3 * t + 40 * number) % 256, (2 * y + 5 * t) % 256, (x + y + 7 * t * number) % 256], -1) for t in range(count)]).astype(np.uint8)
    spdl.io.save_video(path, frames[:, :height], 25, codec=codec, stored="yuv420p", options=options)


def same(dataset, within=0.0, **arguments):
    theirs = list(DataLoader(dataset, **arguments))
    with spdl.DataLoader(dataset, copy=True, **arguments) as loader:
        ours = list(loader)
    assert len(theirs) == len(ours)
    for got, want in zip(ours, theirs):
        equal(got, want, within)


def equal(got, want, within):
    if isinstance(want, torch.Tensor):
        assert isinstance(got, torch.Tensor) and got.dtype == want.dtype and got.shape == want.shape, (got.shape, want.shape)
        assert torch.equal(got, want) if within == 0 or not want.is_floating_point() else (got - want).abs().max() <= within * want.abs().max()
    elif isinstance(want, dict):
        assert list(got) == list(want)
        for key in want:
            equal(got[key], want[key], within)
    elif isinstance(want, (list, tuple)):
        assert len(got) == len(want)
        for one, other in zip(got, want):
            equal(one, other, within)
    else:
        assert type(got) is type(want) and got == want


class Videos(Dataset):
    def __init__(self, root, transform=None, n=8):
        self.files = sorted(map(str, pathlib.Path(root).glob("[0-9]*")))
        self.transform, self.n = transform, n

    def __len__(self):
        return len(self.files)
