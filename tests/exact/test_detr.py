"""Image processors of DETR's kin in one word: how large they make a picture, its pixels and pixel_mask, beside their own. Held against transformers 4.57.1 and 5.24.0; tests/python/test_processors.py
has what is refused, without them."""

import numpy as np
import pytest
from PIL import Image

from test_processors import BICUBIC, WITHIN, classes, of_tensors, spdl, torch, transformers
from test_processors import rows as samples

RAW = dict(do_rescale=False, do_normalize=False)
CASES = [pytest.param(cls, given, id=f"{cls.__name__}-{i}") for name in ("Detr", "ConditionalDetr", "DeformableDetr", "RTDetr", "GroundingDino") for cls in dict.fromkeys(classes(name).values())
         for i, given in enumerate([dict(size={"shortest_edge": 24, "longest_edge": 40}, do_pad=True), dict(size={"shortest_edge": 31, "longest_edge": 47}, do_pad=True, resample=BICUBIC)])]
FIXED = [pytest.param(cls, id=cls.__name__) for name in ("Detr", "RTDetr") for cls in dict.fromkeys(classes(name).values())]


@pytest.mark.parametrize("size, most", [(20, 33), (7, 12), (40, 66), (13, 21), (25, 60)])
def test_sizes_are_theirs(tmp_path, size, most):
    """Of many sizes, of which some are bounded, some come out a pixel short of the bound, and some are kept as they are."""
    theirs = transformers.image_transforms.get_size_with_aspect_ratio
    rng, seen, want = np.random.default_rng(size), {"bounded": 0, "kept": 0}, []
    (tmp_path / "one").mkdir()
    while len(want) < 800:
        w, h = (int(v) for v in rng.integers(1, (60, 300, 2 * size)[len(want) % 3], 2))
        high, wide = theirs((h, w), size, most)
        if min(high, wide) < 1:
            continue
        seen["bounded"] += max(high, wide) == most
        seen["kept"] += (high, wide) == (h, w)
        Image.new("L", (w, h)).save(tmp_path / "one" / f"{len(want):04}.png")
        want.append([high, wide])
    image = {"mode": "gray", "shape": "ragged", "room": 400, "transform": [{"resize": {"size": size, "max_size": most, "rounding": "detr", "interpolation": "nearest"}}]}
    with spdl.DataLoader({"source": {"folder": str(tmp_path)}, "batch": 100, "order": {"shuffle": False}, "image": image}, fields="extent", tensors="numpy", copy=True) as loader:
        assert np.concatenate(list(loader)).tolist() == want
    assert min(seen.values()) > 10, seen


@pytest.mark.parametrize("rounding, given", [("yolos", (34, 60)), ("yolos", (100, 180)), ("yolos", (64, 250)), ("detr", (48,)), ("detr", (131,))])
def test_other_sizes_are_theirs(tmp_path, rounding, given):
    """Of many sizes, in which floats count: YOLOS', and max_height and max_width."""
    if rounding == "yolos":
        module = __import__("transformers.models.yolos.image_processing_yolos", fromlist=["one"])
        theirs = getattr(module, "get_size_with_aspect_ratio_yolos", None) or module.get_size_with_aspect_ratio
        resize = dict(zip(("size", "max_size"), given), rounding="yolos")
    else:
        theirs, resize = transformers.image_utils.get_image_size_for_max_height_width, {"max_size": given[0], "rounding": "detr"}
        given = given * 2
    rng, want = np.random.default_rng(sum(given)), []
    (tmp_path / "one").mkdir()
    while len(want) < 800:
        w, h = (int(v) for v in rng.integers(1, (60, 300, 2 * given[0])[len(want) % 3], 2))
        high, wide = (int(n) for n in theirs((h, w), *given))
        if min(high, wide) < 1:
            continue
        Image.new("L", (w, h)).save(tmp_path / "one" / f"{len(want):04}.png")
        want.append([high, wide])
    image = {"mode": "gray", "shape": "ragged", "room": 400, "transform": [{"resize": {**resize, "interpolation": "nearest"}}]}
    with spdl.DataLoader({"source": {"folder": str(tmp_path)}, "batch": 100, "order": {"shuffle": False}, "image": image}, fields="extent", tensors="numpy", copy=True) as loader:
        assert np.concatenate(list(loader)).tolist() == want
    assert len({tuple(sides) for sides in want}) > 4


@pytest.fixture
def data():
    pytest.importorskip("datasets", reason="Hugging Face's datasets are not here; make exact brings them")
    return samples()


def batches(data, processor, **given):
    with spdl.DataLoader(data, transform=processor, batch_size=4, copy=True, **given) as loader:
        for n, batch in enumerate(loader):
            yield batch, processor([image.convert("RGB") for image in data[4 * n:4 * n + 4]["image"]], return_tensors="pt")


@pytest.mark.parametrize("raw", [True, False], ids=["bytes", "numbers"])
@pytest.mark.parametrize("cls, given", CASES)
def test_a_batch_is_what_the_processor_returns(data, cls, given, raw):
    """Padded with zeros to its largest, and a mask of where pictures are: to the bit ahead of rescaling, and on Pillow's pictures behind it, too."""
    processor = cls(**given, **(RAW if raw else {}))
    sides = set()
    for got, want in batches(data, processor):
        assert set(got) == {"pixel_values", "pixel_mask", "labels", "caption"} and set(want) == {"pixel_values", "pixel_mask"}
        assert got["pixel_mask"].dtype == want["pixel_mask"].dtype == torch.int64 and torch.equal(got["pixel_mask"], want["pixel_mask"])
        assert got["pixel_values"].dtype == want["pixel_values"].dtype and got["pixel_values"].shape == want["pixel_values"].shape
        off = (got["pixel_values"].double() - want["pixel_values"].double()).abs().max()
        assert off <= (WITHIN * want["pixel_values"].abs().max() if of_tensors(cls) and not raw else 0)
        sides.add(tuple(want["pixel_mask"].shape[1:]))
    assert len(sides) > 1 and not want["pixel_mask"].all()


@pytest.mark.parametrize("cls", FIXED)
def test_pictures_of_one_size_have_a_mask_where_one_is_asked_for(data, cls):
    for pads in (True, False):
        processor = cls(size={"height": 24, "width": 31}, do_pad=pads)
        for got, want in batches(data, processor, fields={"pixel_values": "image"}):
            assert set(got) == set(want) == ({"pixel_values", "pixel_mask"} if pads else {"pixel_values"})
            assert (got["pixel_values"] - want["pixel_values"]).abs().max() <= WITHIN * want["pixel_values"].abs().max()
            assert not pads or got["pixel_mask"].dtype == torch.int64 and torch.equal(got["pixel_mask"], want["pixel_mask"])


def test_samples_have_sizes_of_their_own(data):
    """For a collate_fn, as the processor makes each by itself; and NumPy's arrays where they are asked for."""
    processor = list(classes("Detr").values())[-1](size={"shortest_edge": 24, "longest_edge": 40})
    with spdl.DataLoader(data, transform=processor, batch_size=11, copy=True, collate_fn=list) as loader:
        (all_samples,) = loader
    for image, one in zip(data["image"], all_samples):
        want = processor([image.convert("RGB")], return_tensors="pt")
        assert one["pixel_values"].shape == want["pixel_values"][0].shape and torch.equal(one["pixel_mask"], want["pixel_mask"][0]) and one["label"] in (0, 1, 2)
        assert (one["pixel_values"] - want["pixel_values"][0]).abs().max() <= WITHIN * want["pixel_values"].abs().max()
    both = []
    for tensors in ("torch", "numpy"):
        with spdl.DataLoader(data, transform=processor, batch_size=11, copy=True, tensors=tensors) as loader:
            both.append(*loader)
    for key, one in both[0].items():
        assert np.array_equal(both[1][key], one) and (not torch.is_tensor(one) or str(both[1][key].dtype) == str(one.numpy().dtype)), key
