"""What the comparisons of sounds in classes of one's own share: data sets of files, and when batches are torch's."""

import os

import numpy as np
import pytest

from audio import signal, write_wav

torch = pytest.importorskip("torch")
spdl = pytest.importorskip("spdl")
from torch.utils.data import DataLoader, Dataset  # noqa: E402

kept = torch.version.cuda
try:
    torch.version.cuda = "13.0"  # torchaudio refuses a torch built for another CUDA; nothing here runs on one
    import torchaudio  # noqa: F401
    import torchcodec  # noqa: F401
except (ImportError, RuntimeError) as error:
    pytest.skip(f"torchaudio does not load: {error}", allow_module_level=True)
finally:
    torch.version.cuda = kept

N = 9
RATE = 16000


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Sounds of 0.5 to 1.3 seconds at 16 kHz, of 16 bits."""
    at = tmp_path_factory.mktemp("sounds")
    for i in range(N):
        of_16_bits(at / f"{i}-{i % 3}.wav", signal(1, 8000 + 1600 * i + 7 * i, RATE, i), RATE)
    return at


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Sounds of one and two channels, at several rates."""
    at = tmp_path_factory.mktemp("mixed")
    for i in range(N):
        rate = (16000, 44100, 22050)[i % 3]
        of_16_bits(at / f"{i}-{i % 3}.wav", signal(1 + i % 2, rate + 331 * i, rate, i), rate)
    return at


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    """Sounds of two channels, all of 1 second at 22,050 Hz."""
    at = tmp_path_factory.mktemp("clips")
    for i in range(N):
        of_16_bits(at / f"{i}-{i % 3}.wav", signal(2, 22050, 22050, i), 22050)
    return at


def of_16_bits(path, x, rate):
    write_wav(path, x, rate, tag=1, bits=16, data=(np.ascontiguousarray(x.T) * 32767).round().astype("<i2").tobytes())


def same(dataset, within=0.0, **arguments):
    """Batches are torch's, within so much of the largest number, or by assert_near."""
    theirs = list(DataLoader(dataset, **arguments))
    with spdl.DataLoader(dataset, copy=True, **arguments) as loader:
        ours = list(loader)
        assert len(loader) == len(theirs) == len(ours)
    for got, want in zip(ours, theirs):
        equal(got, want, within)
    return ours


def equal(got, want, within):
    if isinstance(want, torch.Tensor):
        assert isinstance(got, torch.Tensor) and got.dtype == want.dtype and got.shape == want.shape, (got.shape, want.shape, got.dtype, want.dtype)
        if callable(within) and want.is_floating_point():
            within(got.numpy(), want.numpy())
        else:
            assert torch.equal(got, want) if within == 0 or not want.is_floating_point() else (got - want).abs().max() <= within, (got - want).abs().max()
    elif isinstance(want, np.ndarray):
        assert type(got) is np.ndarray and got.dtype == want.dtype and got.shape == want.shape
        if callable(within):
            within(got, want)
            return
        assert np.abs(got.astype("f8") - want).max() <= within
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


def linear(got, want):
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6 * np.abs(want).max())


def logarithms(got, want):
    """Down to 40 dB below the loudest of a step within 1e-4; what is further down float32 leaves uncertain (docs/audio.md)."""
    near = want >= want.max(axis=-2, keepdims=True) - 40
    assert np.abs(got - want)[near].max() <= 2e-4 and np.abs(got - want).max() < 0.5


def natural(got, want):
    """The same of natural logarithms."""
    near = want >= want.max(axis=-1, keepdims=True) - 40 * np.log(10) / 10
    assert np.abs(got - want)[near].max() <= 2e-4 and np.abs(got - want).max() < 0.1


def coefficients(got, want):
    assert (np.abs(got - want) > 1e-4).mean() < 5e-3 and np.abs(got - want).max() < 2e-2


def listed(samples):
    return samples


def padded(samples):
    """As guides to speech have it."""
    waves = torch.nn.utils.rnn.pad_sequence([wave.squeeze(0) for wave, *_ in samples], batch_first=True)
    return waves, torch.tensor([wave.shape[-1] for wave, *_ in samples]), torch.tensor([label for _, label in samples])


class Files(Dataset):
    transform = None

    def __init__(self, root, transform=None, n=12000):
        self.root, self.transform, self.n, self.rate = root, transform, n, RATE
        self.names = sorted(os.listdir(root))
        self.labels = [int(name[2]) for name in self.names]

    def __len__(self):
        return len(self.names)
