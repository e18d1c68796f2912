"""Image processors of transformers' that make more than a picture of one size: patches (Qwen2-VL, SigLIP 2) and tiles, beside their own, alone and beside a data set of Hugging Face's. Held against transformers
4.57.1 and 5.24.0; tests/python/test_processors.py has what is refused, without them."""

import numpy as np
import pytest
from PIL import Image

from conftest import picture
from test_processors import BICUBIC, BILINEAR, LANCZOS, SIZES, TILED, TILES, WITHIN, classes, of_tensors, rows, spdl, torch

SMALL = {"shortest_edge": 28 * 28, "longest_edge": 20 * 28 * 28}
PATCHED = {
    "Qwen2VL": [dict(size=SMALL), dict(size={"shortest_edge": 4 * 24 * 24, "longest_edge": 9 * 24 * 24}, patch_size=8, merge_size=3, temporal_patch_size=1),
                dict(size={"shortest_edge": 32 * 32 * 16, "longest_edge": 32 * 32 * 64}, patch_size=16, resample=BILINEAR), dict(size={"shortest_edge": 1, "longest_edge": 60 * 60}, patch_size=4, resample=LANCZOS)],
    "Siglip2": [dict(max_num_patches=64), dict(), dict(max_num_patches=49, patch_size=7, resample=BICUBIC), dict(max_num_patches=9, patch_size=14)],
}
CASES = [pytest.param(cls, given, id=f"{cls.__name__}-{i}") for name, all in PATCHED.items() for cls in dict.fromkeys(classes(name).values()) for i, given in enumerate(all)]
MORE = [(8, 8), (1, 150), (3, 200), (28, 28), (56, 27), (640, 480), (333, 777)]  # W, H
RAW = dict(do_rescale=False, do_normalize=False)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    at, rng = tmp_path_factory.mktemp("pictures"), np.random.default_rng(8)
    images = [Image.fromarray(picture(rng, w, h)) for w, h in [*SIZES, *MORE]]
    for i, image in enumerate(images):
        image.save(at / f"{i}.png")
    return [(image, at / f"{i}.png") for i, image in enumerate(images)]


def theirs(processor, image):
    """The patches of one picture, with zeros behind where it has them."""
    return processor([image], return_tensors="pt")["pixel_values"].numpy().reshape(-1, processor.patch_size ** 2 * 3 * getattr(processor, "temporal_patch_size", 1))


@pytest.mark.parametrize("cls, given", CASES)
def test_patches_are_theirs_to_the_bit(pictures, cls, given):
    """Ahead of rescaling, on Pillow's pictures and on torch's tensors, of pictures of all shapes, as many as theirs and in their places."""
    processor = cls(**given, **RAW)
    for image, path in pictures:
        want, got = theirs(processor, image), spdl.io.load_image(path, **spdl.describe(processor)).numpy()
        assert got.dtype == np.uint8 and got.shape == want.shape and np.array_equal(got, want), image.size


@pytest.mark.parametrize("cls, given", CASES)
def test_numbers_are_theirs(pictures, cls, given):
    """Rescaled and normalized: to the bit on Pillow's pictures."""
    processor = cls(**given)
    for image, path in pictures[:6]:
        want, got = theirs(processor, image), spdl.io.load_image(path, **spdl.describe(processor)).numpy()
        assert want.dtype == got.dtype == np.float32 and want.shape == got.shape
        if of_tensors(cls):
            assert np.abs(got - want).max() <= WITHIN * np.abs(want).max()
        else:
            assert np.array_equal(got, want)


# ---- beside data sets


@pytest.fixture
def data():
    pytest.importorskip("datasets", reason="Hugging Face's datasets are not here; make exact brings them")
    return rows()


def same(got, want, exact):
    """What a batch has is what the processor returns: names, types, shapes and numbers."""
    assert set(got) == set(want)
    for name, other in want.items():
        one = got[name]
        if isinstance(other, list):
            assert one == other, name
            continue
        assert one.dtype == other.dtype and one.shape == other.shape, (name, one.dtype, other.dtype, one.shape, other.shape)
        assert torch.equal(one, other) if exact or not one.is_floating_point() else (one - other).abs().max() <= WITHIN * other.abs().max(), name


def batches(data, processor, **given):
    """Those of the loop, and of the processor's own call, each picture in a list of its own, as of a conversation with one."""
    with spdl.DataLoader(data, transform=processor, batch_size=4, copy=True, **given) as loader:
        got = list(loader)
    for at, batch in enumerate(got):
        images = [[image.convert("RGB")] for image in data[4 * at:4 * at + 4]["image"]]
        if "Siglip2" in type(processor).__name__:
            images = [image for image, in images]
        yield batch, dict(processor(images, return_tensors="pt"))


@pytest.mark.parametrize("cls, given", CASES)
def test_a_batch_of_patches_is_what_the_processor_returns(data, cls, given):
    processor = cls(**given)
    for got, want in batches(data, processor):
        texts, labels = got.pop("caption"), got.pop("labels")
        assert len(texts) == len(labels) and labels.dtype == torch.int64
        same(got, want, not of_tensors(cls))


@pytest.mark.parametrize("cls, given", TILES)
def test_a_batch_of_tiles_is_what_the_processor_returns(data, cls, given):
    for got, want in batches(data, cls(**given)):
        del got["caption"], got["labels"]
        same(got, want, not of_tensors(cls))


def test_a_sample_has_its_own_patches_and_tiles(data):
    """For a collate_fn."""
    qwen, mllama, intern = list(classes("Qwen2VL").values())[-1](size=SMALL), list(classes("Mllama").values())[-1](**TILED["Mllama"]), list(classes("GotOcr2").values())[-1](**TILED["GotOcr2"])
    for processor, names in ((qwen, ("image_grid_thw",)), (mllama, ("aspect_ratio_ids", "aspect_ratio_mask")), (intern, ("num_patches",))):
        with spdl.DataLoader(data, transform=processor, batch_size=11, copy=True, collate_fn=list) as loader:
            (samples,) = loader
        for image, one in zip(data["image"], samples):
            want = processor([[image.convert("RGB")]], return_tensors="pt")
            assert torch.equal(one["pixel_values"], want["pixel_values"].reshape(one["pixel_values"].shape)) and one["label"] in (0, 1, 2)
            assert all(torch.equal(one[name], want[name][0]) for name in names)


def test_views_patches_of_all_rows_and_other_libraries(data):
    """pixel_values are the slot's own memory; and NumPy's arrays where they are asked for."""
    processor = list(classes("Qwen2VL").values())[-1](size=SMALL)
    with spdl.DataLoader(data, transform=processor, batch_size=11) as loader:
        for batch in loader:
            inside = batch["pixel_values"].numpy()
            assert not inside.flags.owndata and inside.flags.c_contiguous and batch["pixel_values"].shape[0] == batch["image_grid_thw"].prod(1).sum()
            kept = inside.copy()
            del inside, batch
    for name, more in (("Qwen2VL", dict(size=SMALL)), ("Siglip2", dict(max_num_patches=64)), ("Mllama", TILED["Mllama"]), ("Idefics3", TILED["Idefics3"]), ("LlavaOnevision", TILED["LlavaOnevision"])):
        processor = list(classes(name).values())[-1](**more)
        both = []
        for tensors in ("torch", "numpy"):
            with spdl.DataLoader(data, transform=processor, batch_size=11, copy=True, tensors=tensors) as loader:
                both.append(*loader)
        for key, one in both[0].items():
            assert np.array_equal(both[1][key], one) and (not torch.is_tensor(one) or str(both[1][key].dtype) == str(one.numpy().dtype)), (name, key)
        assert name != "Qwen2VL" or np.array_equal(both[1]["pixel_values"], kept)


def test_fields_by_their_keys(data):
    """Where the program says what columns are called, a picture is what the processor returns of it, in one."""
    processor = list(classes("Qwen2VL").values())[-1](size=SMALL)
    with spdl.DataLoader(data, fields={"pixels": "image", "label": "label"}, transform=processor, batch_size=11, copy=True) as loader:
        (batch,) = loader
    assert set(batch) == {"pixels", "label"} and set(batch["pixels"]) == {"pixel_values", "image_grid_thw"}
    with spdl.DataLoader(data, fields=("image", "label"), transform=processor, batch_size=11, copy=True) as loader:
        ((one, label),) = loader
    assert torch.equal(one["pixel_values"], batch["pixels"]["pixel_values"]) and torch.equal(label, batch["label"])
    named = data.add_column("size", list(range(11))).add_column("count", list(range(11)))
    with spdl.DataLoader(named, transform=processor, batch_size=11, copy=True) as loader:
        (batch,) = loader
    assert batch["size"].tolist() == batch["count"].tolist() == list(range(11))
    with pytest.raises(spdl.ArgumentError, match="has a column 'image_grid_thw' beside 'image', of which the image processor makes the same, want fields={'pixel_values': 'image', ...}"):
        spdl.DataLoader(data.add_column("image_grid_thw", [[1, 0]] * 11), transform=processor)


def test_a_models_tower_takes_a_batch(data):
    """One of Qwen2-VL's with random weights: a token for each block of merge x merge patches."""
    from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLVisionConfig
    from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VisionTransformerPretrainedModel

    processor = list(classes("Qwen2VL").values())[-1](size=SMALL)
    tower = Qwen2VisionTransformerPretrainedModel(Qwen2VLVisionConfig(depth=1, embed_dim=32, hidden_size=48, num_heads=2, mlp_ratio=2)).eval()
    for got, want in batches(data, processor):
        with torch.no_grad():
            mine, other = (tower(one["pixel_values"], grid_thw=one["image_grid_thw"]) for one in (got, want))
        mine, other = (getattr(one, "pooler_output", one) for one in (mine, other))
        assert mine.shape == (got["image_grid_thw"].prod(1).sum() // 4, 48) and torch.equal(mine, other)


def test_a_member_of_a_column_is_refused(data):
    from datasets import Dataset, Features
    from datasets import Image as Picture

    pairs = Dataset.from_dict({"pair": [{"image": one} for one in data.cast_column("image", Picture(decode=False))["image"]]}, Features({"pair": {"image": Picture()}}))
    processor = list(classes("Qwen2VL").values())[-1](size=SMALL)
    with pytest.raises(spdl.ArgumentError, match=r"transform: makes pixel_values, image_grid_thw of a picture, and 'pair.image' is a member of a column, want a column of pictures: dataset.flatten\(\)"):
        spdl.DataLoader(pairs, transform=processor)
    with spdl.DataLoader(pairs.flatten(), transform=processor, batch_size=11, copy=True) as loader:
        (batch,) = loader
    assert set(batch) == {"pixel_values", "image_grid_thw"}
