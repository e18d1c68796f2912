"""spdl.DataLoader in the place of torch's, by one word: what functions of the program's own import themselves is known as what their modules import."""

import io
import os

import numpy as np
import pytest

from audio import signal
from own_sounds import RATE, of_16_bits, same, torch

PIL = pytest.importorskip("PIL.Image")
T = pytest.importorskip("torchvision.transforms")
import spdl  # noqa: E402
from torch.utils.data import DataLoader, Dataset  # noqa: E402

N, TO_TENSOR = 6, T.Compose([T.CenterCrop(10), T.PILToTensor()])


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    at, rng = tmp_path_factory.mktemp("pictures"), np.random.default_rng(1)
    for i in range(N):
        PIL.fromarray(rng.integers(0, 256, (30, 40 + i, 3), "u1")).save(at / f"{i}.png")
    return at


@pytest.fixture(scope="module")
def sounds(tmp_path_factory):
    at = tmp_path_factory.mktemp("sounds")
    for i in range(N):
        of_16_bits(at / f"{i}.wav", signal(2, 8000 + 100 * i, 22050, i), 22050)
    return at


class Files(Dataset):
    def __init__(self, root, transform=None):
        self.root, self.transform, self.names = root, transform, sorted(os.listdir(root))

    def __len__(self):
        return len(self.names)


class Functional(Files):
    def __getitem__(self, i):
        import torchvision.transforms.functional as TF
        from PIL import Image

        image = Image.open(os.path.join(self.root, self.names[i])).convert("RGB")
        return TF.normalize(TF.to_tensor(TF.resize(image, (16, 16))), (0.5, 0.5, 0.5), (0.25, 0.25, 0.25)), i


class InAMethod(Files):
    def load(self, path):
        import PIL.Image
        return PIL.Image.open(path).convert("RGB")

    def __getitem__(self, i):
        return self.transform(self.load(self.root / self.names[i])), i


class Crops:
    def __call__(self, image):
        from torchvision.transforms import v2

        image = v2.functional.center_crop(image, 20)
        return v2.functional.pil_to_tensor(image)


class Boxed(Files):
    def __getitem__(self, i):
        from PIL import Image
        from torchvision import tv_tensors

        image = Image.open(self.root / self.names[i]).convert("RGB")
        boxes = tv_tensors.BoundingBoxes([[1.0, 2.0, 10.0 + i, 12.0]], format="XYXY", canvas_size=(image.height, image.width))
        image, target = self.transform(image, {"boxes": boxes, "labels": torch.tensor([i])})
        return image, target


class Heard(Files):
    def __getitem__(self, i):
        import torch.nn.functional as F
        import torchaudio
        from torchaudio.functional import resample as to

        wave, sr = torchaudio.load(os.path.join(self.root, self.names[i]))
        wave = to(wave, sr, 16000).mean(0, keepdim=True)
        return F.pad(wave, (0, 9000 - wave.shape[1])), i


class Other(Files):
    """Of which nobody knows the name."""

    def __getitem__(self, i):
        try:
            from PIL import Image as opener
        except ImportError:
            opener = None
        return self.transform(opener.open(self.root / self.names[i]).convert("RGB")), i


class Missing(Files):
    def __getitem__(self, i):
        from nowhere_at_all import load
        return self.transform(load(self.root / self.names[i])), i


def test_pictures_by_what_a_method_imports(pictures):
    same(Functional(pictures), batch_size=4)
    same(InAMethod(pictures, T.Compose([T.CenterCrop(16), T.ToTensor()])), batch_size=4)
    same(InAMethod(pictures, Crops()), batch_size=4)


def test_boxes_by_what_a_method_imports(pictures):
    from torchvision.transforms import v2

    dataset = Boxed(pictures, v2.Compose([v2.Resize((24, 24)), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]))
    with spdl.DataLoader(dataset, batch_size=2, collate_fn=list, copy=True) as loader:
        for got, want in zip([one for batch in loader for one in batch], [dataset[i] for i in range(N)]):
            assert (got[0] - want[0]).abs().max() < 1e-6 and (got[1]["boxes"] - want[1]["boxes"]).abs().max() < 1e-3 and torch.equal(got[1]["labels"], want[1]["labels"])


def test_sounds_by_what_a_method_imports(sounds):
    assert RATE == 16000
    same(Heard(sounds), 1e-6, batch_size=4)


def test_names_that_may_be_something_else_are_refused(pictures):
    for cls, want in ((Other, "want it to open a picture"), (Missing, "in which nothing is a picture.*test_own_imports.py:.*want rows")):
        with pytest.raises(spdl.ArgumentError, match=rf"test_own_imports.py:\d+: got .*{want}|{want}"):
            spdl.DataLoader(cls(pictures, torch.nn.Identity()))


def made(sample):
    import json
    from io import BytesIO

    from PIL import Image

    return TO_TENSOR(Image.open(BytesIO(sample["png"])).convert("RGB")), int(json.loads(sample["json"])["n"])


def test_functions_of_webdatasets_map(tmp_path):
    wds = pytest.importorskip("webdataset")
    with wds.TarWriter(str(tmp_path / "0.tar")) as out:
        for i in range(N):
            out.write({"__key__": f"{i}", "png": encoded(i), "json": {"n": i}})
    same_batches(wds.WebDataset(str(tmp_path / "0.tar"), shardshuffle=False).map(made))


def same_batches(dataset):
    with spdl.DataLoader(dataset, batch_size=4, copy=True) as loader:
        theirs = list(DataLoader(dataset, batch_size=4))
        for got, want in zip(loader, theirs):
            both = (got.items(), want.items()) if isinstance(want, dict) else (enumerate(got), enumerate(want))
            assert all(key == other and torch.equal(one, tensor) for (key, one), (other, tensor) in zip(*both)) and len(got) == len(want)
        assert len(theirs) == len(loader) == 2


def encoded(i):
    out = io.BytesIO()
    PIL.fromarray(np.random.default_rng(i).integers(0, 256, (12, 16, 3), "u1")).save(out, "PNG")
    return out.getvalue()


def transformed(batch):
    import torch

    batch["pixel_values"] = torch.stack([TO_TENSOR(image.convert("RGB")) for image in batch["image"]])
    del batch["image"]
    return batch


def test_functions_of_with_transform():
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_dict({"image": [{"bytes": encoded(i), "path": None} for i in range(N)], "n": list(range(N))}, datasets.Features({"image": datasets.Image(), "n": datasets.Value("int64")}))
    same_batches(data.with_transform(transformed))
