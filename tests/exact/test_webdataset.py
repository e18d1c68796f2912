"""spdl.DataLoader on webdataset's pipelines: the batches are those of torch's DataLoader, or of a WebLoader, over them."""

import functools
import io
import itertools
import json
import pathlib
import tarfile

import numpy as np
import pytest
from PIL import Image

from conftest import picture

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
wds = pytest.importorskip("webdataset", reason="webdataset is not here; make exact brings it")
spdl = pytest.importorskip("spdl")
from torch.utils.data import DataLoader  # noqa: E402
from torchvision import transforms as T  # noqa: E402

N = 29  # samples, of three shards of different length
FLOATS = T.Compose([T.Resize(20), T.CenterCrop(16), T.ToTensor(), T.Normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4))])
SMALL = T.Compose([T.Resize((12, 16)), T.PILToTensor()])
GREY = T.Compose([T.Resize((12, 16)), T.ToTensor()])


def encoded(rng, kind, size):
    out = io.BytesIO()
    Image.fromarray(picture(rng, *size)).save(out, kind, **({"quality": 95} if kind == "JPEG" else {}))
    return out.getvalue()


def array(values):
    out = io.BytesIO()
    np.save(out, values)
    return out.getvalue()


def parts(i, rng):
    ending = "png" if i % 4 == 3 else "jpg"
    yield ending, encoded(rng, "PNG" if ending == "png" else "JPEG", (20 + 3 * (i % 5), 18 + 2 * (i % 7)))
    yield "cls", b"%d" % (i % 5)
    yield "id", b"%d" % (1000 + i)
    yield "json", json.dumps({"score": i / 7, "size": {"sides": [i, 2 * i]}, "text": f"Nº {i}"}).encode()
    yield "txt", f"picture Nº {i}".encode()
    yield "seg.png", encoded(rng, "PNG", (20, 18))
    yield "npy", array(np.arange(6, dtype=np.float32).reshape(2, 3) * i)


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    return written(tmp_path_factory.mktemp("shards"), range(N))


@pytest.fixture(scope="module")
def jpegs(tmp_path_factory):
    """Whose pictures all have one ending."""
    return written(tmp_path_factory.mktemp("jpegs"), [4 * i for i in range(N)])


def written(to, numbers):
    rng = np.random.default_rng(5)
    for shard, some in enumerate((numbers[:9], numbers[9:14], numbers[14:])):
        with tarfile.open(to / f"train-{shard:06}.tar", "w") as tar:
            for i in some:
                for ending, data in parts(i, rng):
                    member = tarfile.TarInfo(f"a/{i:04}.{ending}")
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))
    return f"{to}/train-{{000000..000002}}.tar"


def data(shards, **options):
    return wds.WebDataset(shards, **{"shardshuffle": False, **options})


def piped(shards, *stages):
    return wds.DataPipeline(wds.SimpleShardList(shards), wds.split_by_worker, wds.tarfile_to_samples(), *stages)


def equal(got, want):
    if isinstance(want, np.ndarray):
        want = torch.from_numpy(want)
    if isinstance(want, torch.Tensor):
        assert got.dtype == want.dtype and got.shape == want.shape and torch.equal(got, want), (got, want)
    elif isinstance(want, dict):
        assert sorted(got) == sorted(want)
        for key in want:
            equal(got[key], want[key])
    elif isinstance(want, (list, tuple)):
        assert len(got) == len(want)
        for one, other in zip(got, want):
            equal(one, other)
    else:
        assert type(got) is type(want) and got == want


def ours(dataset, **arguments):
    with spdl.DataLoader(dataset, copy=True, **arguments) as loader:
        batches = list(loader)
        assert len(loader) == len(batches)
        return batches


def pairs(d):
    return d.decode("pil").to_tuple("jpg;png", "cls").map_tuple(FLOATS)


# ---- functions of whole samples


def as_tuple(sample):
    """A picture and its label."""
    image, label = sample["jpg"], sample["cls"]
    image = FLOATS(image)
    return image, label


def as_dict(sample):
    return {"image": SMALL(sample["jpg"].convert("RGB")), "label": int(sample["cls"]), "text": sample["txt"], "score": float(sample["json"]["score"])}


def in_place(sample):
    sample["image"] = SMALL(sample.pop("jpg"))
    sample["label"] = torch.tensor(sample["cls"])
    del sample["cls"]
    return sample


def of_pairs(pair):
    image, number = pair
    return dict(image=FLOATS(image), number=number)


def decoding(sample, transform):
    image = Image.open(io.BytesIO(sample["jpg"])).convert("RGB")
    return transform(image), int(sample["cls"]), sample["txt"].decode("utf-8"), float(json.loads(sample["json"])["score"])


def drawing(sample):
    image = sample["jpg"]
    if np.random.random() < 0.5:
        image = image.rotate(90)
    return SMALL(image), sample["cls"]


class Preparing:
    def __init__(self, transform, key="jpg"):
        self.transform, self.key = transform, key

    def __call__(self, sample):
        return self.transform(sample[self.key]), sample["__key__"]

    def method(self, sample):
        return self.transform(sample.get(self.key)), str(sample["id"])


def from_one(label):
    return label + 1


def one_hot(label):
    return torch.nn.functional.one_hot(torch.tensor(label % 3), 3)


def tokens(text):
    return torch.tensor([len(text), *map(ord, (text + "abc")[:3])])


def padded(text, length, fill=0):
    return torch.tensor((list(map(ord, text)) + [fill] * length)[:length])


def valued(sample):
    image = sample["jpg"] if "jpg" in sample else sample["png"]
    return SMALL(image), sample["cls"] - 1, padded(sample["txt"], 5, fill=7), sample["txt"].strip().lower(), 2 * sample["json"]["size"]["sides"][1]


# ---- what a loop gets


PIPELINES = {
    "batched": (lambda s: pairs(data(s)).batched(8), {"batch_size": None}),
    "batched without the short one": (lambda s: pairs(data(s)).batched(8, partial=False), {"batch_size": None}),
    "torch's batches": (lambda s: pairs(data(s)), {"batch_size": 8}),
    "torch's batches, drop_last": (lambda s: pairs(data(s)), {"batch_size": 8, "drop_last": True}),
    "batches of one": (lambda s: pairs(data(s)), {}),
    "bytes": (lambda s: data(s).decode("pilrgb").to_tuple("jpg;png", "cls").map_tuple(SMALL, int).batched(8), {"batch_size": None}),
    "grey": (lambda s: data(s).decode("pill").to_tuple("jpg;png", "cls").map_tuple(T.Compose([T.Resize((12, 16)), T.ToTensor()])).batched(8), {"batch_size": None}),
    "names in one text": (lambda s: data(s).decode("pil").to_tuple("jpg;png txt cls __key__").map_tuple(SMALL).batched(8), {"batch_size": None}),
    "numbers, texts and arrays": (lambda s: data(s).decode("pil").to_tuple("npy", "txt", "id", "cls", "jpg;png").map_tuple(torch.from_numpy, lambda x: x, int, wds.filters.identity, SMALL).batched(8), {"batch_size": None}),
    "members of JSON": (lambda s: data(s).decode("pil").to_tuple("json", "jpg;png").map_tuple(lambda about: float(about["score"]), SMALL).batched(8), {"batch_size": None}),
    "a member in another": (lambda s: data(s).decode("pil").to_tuple("json", "jpg;png").map_tuple(lambda about: int(about["size"]["sides"][1]), SMALL).batched(8), {"batch_size": None}),
    "a member that is a text": (lambda s: data(s).decode("pil").to_tuple("json", "jpg;png").map_tuple(lambda about: about["text"], SMALL).map_tuple(str).batched(8), {"batch_size": None}),
    "no picture": (lambda s: data(s).decode().to_tuple("txt", "id").batched(8), {"batch_size": None}),
    "labels by a function": (lambda s: data(s).decode("pil").to_tuple("jpg;png", "cls").map_tuple(SMALL, from_one).batched(8), {"batch_size": None}),
    "labels by a function, torch's batches": (lambda s: data(s).decode("pil").to_tuple("cls", "jpg;png", "cls").map_tuple(from_one, SMALL, one_hot), {"batch_size": 8}),
    "labels and texts by functions of a dict": (lambda s: data(s).decode("pil").rename(image="jpg;png", label="cls", text="txt", keep=False).map_dict(image=SMALL, label=lambda n: n * 2, text=str.upper), {"batch_size": 8}),
    "tokens": (lambda s: data(s).decode("pil").to_tuple("jpg;png", "txt").map_tuple(SMALL, tokens).batched(8), {"batch_size": None}),
    "arrays of texts": (lambda s: data(s).decode("pil").to_tuple("jpg;png", "txt").map_tuple(SMALL, lambda text: np.array([len(text), 1.5], np.float32)).batched(8), {"batch_size": None}),
    "JSON by a function": (lambda s: data(s).decode("pil").to_tuple("jpg;png", "json").map_tuple(SMALL, lambda about: about["score"] + len(about["size"]["sides"])).batched(8), {"batch_size": None}),
    "JSON as it is": (lambda s: data(s).decode("pil").to_tuple("jpg;png", "json").map_tuple(SMALL), {"batch_size": 8}),
    "JSON in webdataset's batches": (lambda s: data(s).decode("pil").to_tuple("jpg;png", "json", "__key__").map_tuple(SMALL, None, len).batched(8), {"batch_size": None}),
    "several functions": (lambda s: data(s).decode("pil").to_tuple("jpg;png", "json").map_tuple(SMALL, lambda about: int(about["size"]["sides"][1])).map_tuple(lambda image: image, from_one).batched(8), {"batch_size": None}),
    "values by functions of map": (lambda s: data(s).decode("pil").map(valued).batched(8), {"batch_size": None}),
    "a collate_fn of values": (lambda s: data(s).decode("pil").to_tuple("jpg;png", "txt", "cls").map_tuple(SMALL, tokens, from_one), {"batch_size": 8, "collate_fn": list}),
    "the first samples": (lambda s: data(s).slice(11).decode("pil").to_tuple("jpg;png", "cls").map_tuple(SMALL).batched(4), {"batch_size": None}),
    "some of the samples": (lambda s: pairs(data(s)).slice(3, 14), {"batch_size": 4}),
    "samples from one on": (lambda s: pairs(data(s)).slice(9, None).slice(4), {"batch_size": 3}),
    "the first batches": (lambda s: pairs(data(s)).batched(4).slice(2), {"batch_size": None}),
    "two pictures": (lambda s: data(s).decode("pil").to_tuple("jpg;png", "seg.png", "cls").map_tuple(FLOATS, SMALL).batched(8), {"batch_size": None}),
    "renamed": (lambda s: data(s).decode("pil").rename(image="jpg;png", label="cls", text="txt", keep=False).map_dict(image=SMALL).batched(8), {"batch_size": None}),
    "renamed, torch's batches": (lambda s: data(s).decode("pil").rename(image="jpg;png", label="cls", keep=False).map_dict(image=SMALL), {"batch_size": 8}),
    "renamed, then tuples": (lambda s: data(s).decode("pil").rename(image="jpg;png", text="txt").map_dict(image=SMALL).to_tuple("image", "text").batched(8), {"batch_size": None}),
    "two transforms": (lambda s: data(s).decode("pil").to_tuple("jpg;png", "cls").map_tuple(T.Resize((12, 16))).map_tuple(T.ToTensor()).batched(8), {"batch_size": None}),
    "stages": (lambda s: piped(s, wds.decode("pil"), wds.to_tuple("jpg;png", "cls"), wds.map_tuple(FLOATS), wds.batched(8)), {"batch_size": None}),
    "stages, renamed": (lambda s: piped(s, wds.split_by_node, wds.decode("pilrgb", handler=wds.warn_and_continue), wds.rename(image="jpg;png", text="txt"), wds.map_dict(image=SMALL), wds.to_tuple("image", "text"), wds.batched(8)),
                        {"batch_size": None}),
    "lists of shards": (lambda s: pairs(data([s.replace("{000000..000002}", f"{i:06}") for i in (2, 0)])).batched(8), {"batch_size": None}),
    "shards of a command": (lambda s: pairs(data(f"pipe:cat {s}")).batched(8), {"batch_size": None}),
    "shards of two texts": (lambda s: pairs(data("::".join([s.replace("{000000..000002}", "000001"), s.replace("{000000..000002}", "000000")]))).batched(8), {"batch_size": None}),
    "a length of its own": (lambda s: pairs(data(s)).batched(8).with_length(1000, silent=True), {"batch_size": None}),
    "in an epoch of three": (lambda s: pairs(data(s)).batched(8).with_epoch(3), {"batch_size": None}),
    "in an epoch of six": (lambda s: pairs(data(s)).batched(8).with_epoch(6), {"batch_size": None}),
    "labels alone": (lambda s: data(s).decode().to_tuple("cls").batched(8), {"batch_size": None}),
    "labels alone, through a function": (lambda s: data(s).decode().to_tuple("cls").map_tuple(lambda n: n * 2 + 1).batched(8), {"batch_size": None}),
    "labels and keys": (lambda s: data(s).decode().to_tuple("cls", "__key__").batched(8), {"batch_size": None}),
    "some labels alone": (lambda s: data(s).decode().select(lambda sample: sample["cls"] in (1, 3)).to_tuple("cls"), {"batch_size": 4}),
    "in an epoch of samples": (lambda s: pairs(data(s)).with_epoch(16), {"batch_size": 8}),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_the_batches_are_those_of_torch(shards, name):
    make, arguments = PIPELINES[name]
    equal(ours(make(shards), **arguments), list(DataLoader(make(shards), **arguments)))


MAPPED = {
    "mapped to tuples": (lambda s: data(s).decode("pil").map(as_tuple).batched(8), {"batch_size": None}),
    "mapped to tuples, torch's batches": (lambda s: data(s).decode("pil").map(as_tuple), {"batch_size": 8}),
    "mapped to dicts": (lambda s: data(s).decode("pil").map(as_dict).batched(8), {"batch_size": None}),
    "mapped in place": (lambda s: data(s).decode("pil").map(in_place).to_tuple("image", "label", "id").batched(8), {"batch_size": None}),
    "tuples that are mapped": (lambda s: data(s).decode("pil").to_tuple("jpg", "id").map(of_pairs).batched(8), {"batch_size": None}),
    "mapped and decoded": (lambda s: data(s).map(functools.partial(decoding, transform=SMALL)).batched(8), {"batch_size": None}),
    "mapped by an object": (lambda s: data(s).decode("pil").map(Preparing(SMALL)).batched(8), {"batch_size": None}),
    "mapped by a method": (lambda s: data(s).decode("pil").map(Preparing(FLOATS).method).batched(8), {"batch_size": None}),
    "mapped by a lambda": (lambda s: data(s).decode("pill").map(
        lambda one: (GREY(one["jpg"]), one["cls"])).batched(8), {"batch_size": None}),
    "mapped, then by parts": (lambda s: data(s).decode("pil").map(
        lambda one: (one["jpg"], one["cls"])).map_tuple(SMALL, int).batched(8), {"batch_size": None}),
    "mapped by other names": (lambda s: data(s).decode("pil").rename(image="jpg", label="cls", keep=False).map(
        lambda one: (SMALL(one["image"]), one["label"])).batched(8), {"batch_size": None}),
    "mapped by keywords": (lambda s: data(s).decode("pil").map(
        lambda one: dict(image=SMALL(one["jpg"]), label=one["cls"])), {"batch_size": 8}),
}


@pytest.mark.parametrize("name", MAPPED)
def test_the_batches_of_mapped_samples_are_those_of_torch(jpegs, name):
    make, arguments = MAPPED[name]
    equal(ours(make(jpegs), **arguments), list(DataLoader(make(jpegs), **arguments)))


WANTED = {1, 3}


def is_wanted(sample):
    """By a label that is decoded."""
    label = sample["cls"]
    return label in WANTED or not 0 <= label < 4


SELECTED = {
    "selected": lambda s: data(s).decode("pil").select(is_wanted).to_tuple("jpg;png", "cls").map_tuple(SMALL).batched(4),
    "selected from bytes": lambda s: data(s).select(
        lambda one: int(one["cls"]) != 2).decode("pil").to_tuple("jpg;png", "cls").map_tuple(SMALL).batched(4),
    "tuples that are selected": lambda s: data(s).decode("pil").to_tuple("cls", "jpg;png").select(
        lambda pair: pair[0] not in [0, 4] and pair[0] < 3).map_tuple(int, SMALL).batched(4),
    "selected twice, by what is not taken": lambda s: data(s).decode("pil").select(is_wanted).select(
        lambda one: one["cls"] >= 3).to_tuple("jpg;png", "id").map_tuple(SMALL, int).batched(4),
}


@pytest.mark.parametrize("name", SELECTED)
def test_the_batches_of_selected_samples_are_those_of_torch(shards, name):
    want = list(DataLoader(SELECTED[name](shards), batch_size=None))
    equal(ours(SELECTED[name](shards), batch_size=None), want)
    assert 0 < sum(len(batch[0]) for batch in want) < N


def test_either_of_two_parts_is_mapped(shards):
    make = lambda: data(shards).decode("pil").map(  # noqa: E731
        lambda one: (SMALL(one["jpg"] if "jpg" in one else one["png"]), one["cls"])).batched(8)
    equal(ours(make(), batch_size=None), list(DataLoader(make(), batch_size=None)))


def test_samples_that_are_mapped_are_as_the_loop_has_them(jpegs):
    """A label is a number of Python's."""
    make = lambda: data(jpegs).decode("pil").map(as_tuple)  # noqa: E731
    collate = lambda samples: [(type(label), label, image.shape) for image, label in samples]  # noqa: E731
    assert ours(make(), batch_size=8, collate_fn=collate) == list(DataLoader(make(), batch_size=8, collate_fn=collate))


def test_albumentations_are_called_by_the_name_of_the_picture(jpegs):
    A = pytest.importorskip("albumentations")
    to_tensor = pytest.importorskip("albumentations.pytorch").ToTensorV2
    augment = A.Compose([A.CenterCrop(14, 12), A.HorizontalFlip(p=1), to_tensor()])
    make = lambda: data(jpegs).decode("pil").map(  # noqa: E731
        lambda one: (augment(image=np.array(one["jpg"]))["image"], one["cls"])).batched(8)
    equal(ours(make(), batch_size=None), list(DataLoader(make(), batch_size=None)))


LOADERS = {
    "batched": lambda s: wds.WebLoader(pairs(data(s)).batched(8), batch_size=None),
    "torch's batches": lambda s: wds.WebLoader(pairs(data(s)), batch_size=8),
    "batched again": lambda s: wds.WebLoader(pairs(data(s)).batched(5), batch_size=None).unbatched().batched(8),
    "in an epoch": lambda s: wds.WebLoader(pairs(data(s)).batched(8), batch_size=None).with_epoch(2),
}


@pytest.mark.parametrize("name", LOADERS)
def test_the_batches_are_those_of_a_web_loader(shards, name):
    equal(ours(LOADERS[name](shards)), list(LOADERS[name](shards)))


def test_functions_of_lists_of_samples_get_samples(shards):
    """torch's collate_fn, and batched's collation_fn."""
    def together(samples):
        return [(image.shape, type(image), label) for image, label in samples]

    kept = T.Compose([T.Resize(12, max_size=30), T.PILToTensor()])
    make = lambda: data(shards).decode("pil").to_tuple("jpg;png", "cls").map_tuple(kept, int)  # noqa: E731
    want = list(DataLoader(make(), batch_size=8, collate_fn=together))
    assert ours(make(), batch_size=8, collate_fn=together) == want and len({shape for batch in want for shape, _, _ in batch}) > 1
    assert ours(make().batched(8, collation_fn=together), batch_size=None) == want


# ---- orders and epochs


def ids(batches):
    return [n for batch in batches for n in batch[0].tolist()]


def numbers(shards, **options):
    return data(shards, **options).decode().to_tuple("id", "cls")


@pytest.mark.parametrize("make", [lambda s: numbers(s, shardshuffle=100), lambda s: numbers(s).shuffle(1000), lambda s: numbers(s, shardshuffle=10, detshuffle=True).shuffle(10),
                                  lambda s: wds.WebLoader(numbers(s).batched(8), batch_size=None).unbatched().shuffle(100)])
def test_a_shuffle_of_shards_or_of_a_buffer_is_one_of_both(shards, make):
    torch.manual_seed(3)
    dataset = make(shards).batched(8)
    described = spdl.describe(dataset, batch_size=None)
    assert described["order"]["shuffle"] is True and described["order"]["window"] == 8
    with spdl.DataLoader(dataset, batch_size=None, copy=True) as loader:
        first, second = ids(loader), ids(loader)
    assert sorted(first) == sorted(second) == list(range(1000, 1000 + N)) and first != second != sorted(second)
    with spdl.DataLoader(dataset, batch_size=None, copy=True) as loader:
        assert ids(loader) == first, "the seed is torch's"


def test_a_data_set_that_shuffles_nothing_keeps_its_order(shards):
    assert ids(ours(numbers(shards).shuffle(0).batched(8), batch_size=None)) == list(range(1000, 1000 + N))


def test_each_worker_has_an_epoch_of_its_own(shards):
    """So an epoch of with_epoch(2) before the workers is 2 batches of each; behind them it is 2."""
    before, behind = numbers(shards).shuffle(9).batched(4).with_epoch(2), numbers(shards).shuffle(9).batched(4)
    assert len(list(DataLoader(before, batch_size=None, num_workers=2))) == len(ours(before, batch_size=None, num_workers=2)) == 4
    assert len(ours(wds.WebLoader(behind, batch_size=None, num_workers=2).with_epoch(2))) == 2


@pytest.mark.parametrize("make", [lambda s: numbers(s, resampled=True).batched(8).with_epoch(6),
                                  lambda s: wds.DataPipeline(wds.ResampledShards(s), wds.tarfile_to_samples(), wds.shuffle(10), wds.decode(), wds.to_tuple("id", "cls"), wds.batched(8)).with_epoch(6)])
def test_resampled_shards_go_on_without_end(shards, make):
    with spdl.DataLoader(make(shards), batch_size=None, copy=True) as loader:
        assert len(loader) == 6
        epochs = [list(loader), list(loader)]
    assert [[len(batch[0]) for batch in epoch] for epoch in epochs] == [[8] * 6] * 2 and ids(epochs[0]) != ids(epochs[1])
    once = ids(epochs[0])[:24]
    assert len(set(once)) == 24, "each sample once before any comes again"


@pytest.mark.parametrize("length", [2, 3, 4, 7])
def test_an_epoch_of_batches_goes_on_where_it_was_left(shards, length):
    """In the middle of an epoch, too: a state says how much of it is left."""
    dataset = numbers(shards).shuffle(9).batched(8).with_epoch(length)
    torch.manual_seed(7)
    with spdl.DataLoader(dataset, batch_size=None, copy=True) as loader:
        want = [list(loader) for _ in range(4)]
    assert {len(epoch) for epoch in want} == {length}
    with spdl.DataLoader(dataset, batch_size=None, copy=True) as loader:
        list(loader)
        for _ in itertools.islice(loader, length // 2):
            pass
        state = loader.state_dict()
    with spdl.DataLoader(dataset, batch_size=None, copy=True, state=state) as loader:
        equal(list(loader), want[1][length // 2:])
        equal(list(loader), want[2])


def test_a_loop_behind_a_break_begins_an_epoch_of_batches(shards):
    dataset = numbers(shards).shuffle(9).batched(8).with_epoch(3)
    torch.manual_seed(7)
    with spdl.DataLoader(dataset, batch_size=None, copy=True) as loader:
        want = [list(loader) for _ in range(4)]
    with spdl.DataLoader(dataset, batch_size=None, copy=True) as loader:
        for _ in loader:
            break
        equal(list(loader), want[1])
        loader.set_epoch(3)
        equal(list(loader), want[3])
        loader.set_epoch(0)
        equal(list(zip(range(len(loader)), loader)), list(enumerate(want[0])))
        equal(list(loader), want[1])
    with spdl.DataLoader(dataset, batch_size=None, copy=True, restart=False) as loader:
        for _ in loader:
            break
        equal(list(loader), want[0][1:])


# ---- what cannot be read


@pytest.fixture
def damaged(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for i in range(6):
            for ending, content in {"jpg": b"no picture" if i == 3 else encoded(np.random.default_rng(i), "JPEG", (20, 18)), "cls": b"%d" % i}.items():
                member = tarfile.TarInfo(f"{i}.{ending}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return str(tmp_path / "a.tar")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("handler", ["warn_and_continue", "ignore_and_continue"])
def test_a_handler_leaves_out_what_cannot_be_read(damaged, handler):
    dataset = data(damaged).decode("pil", handler=getattr(wds, handler)).to_tuple("jpg", "cls").map_tuple(SMALL).batched(6)
    (images, labels), = ours(dataset, batch_size=None)
    (_, want), = DataLoader(dataset, batch_size=None)
    assert labels.tolist() == want.tolist() == [0, 1, 2, 4, 5] and len(images) == 5


def test_without_one_it_ends_the_loop(damaged):
    with pytest.raises(spdl.SpdlError, match="3"), spdl.DataLoader(data(damaged).decode("pil").to_tuple("jpg", "cls").map_tuple(SMALL).batched(6), batch_size=None) as loader:
        list(loader)


@pytest.mark.parametrize("part, content, names, message", [
    ("txt", b"x" * (16 << 10), "txt", None), ("txt", b"x" * ((16 << 10) + 1), "txt", "max_bytes"), ("json", b'{"score": 1}', "json", None), ("json", b'{"size": 1}', "json", "score"),
])
def test_what_does_not_fit_ends_the_loop_and_is_named(tmp_path, part, content, names, message):
    """A text is not cut, and a member that is not there is no number."""
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for i, data_of in enumerate([b'{"score": 1}' if part == "json" else b"short", content]):
            member = tarfile.TarInfo(f"{i}.{part}")
            member.size = len(data_of)
            tar.addfile(member, io.BytesIO(data_of))
    dataset = data(str(tmp_path / "a.tar")).decode().to_tuple(names).map_tuple(*([lambda about: float(about["score"])] if part == "json" else [])).batched(2)
    if message is None:
        equal(ours(dataset, batch_size=None), list(DataLoader(dataset, batch_size=None)))
        return
    with pytest.raises(spdl.SpdlError, match=message), spdl.DataLoader(dataset, batch_size=None) as loader:
        list(loader)


# ---- refusals of the real objects; tests/python/test_webdataset.py has the others


@pytest.mark.parametrize("make, message", [
    (lambda s: data(s).decode("pil").select(
        lambda x: "jpg" in x).to_tuple("jpg", "cls").map_tuple(SMALL).batched(8), r"dataset.pipeline\[\d+\], select: .*selects samples, .*test_webdataset.py:\d+: got .*want the label compared with numbers"),
    (lambda s: data(s).decode("pil").select(
        lambda x: x["cls"] < 2.5).to_tuple("jpg", "cls").map_tuple(SMALL).batched(8), "got .*2.5.*want the label compared with numbers"),
    (lambda s: data(s).decode("pil").select(
        lambda x: x["id"] < 1003).to_tuple("jpg", "cls").map_tuple(SMALL).batched(8), "got .*1003.*want the label compared with numbers"),
    (lambda s: data(s).select(
        lambda x: x["cls"] == 3).decode("pil").to_tuple("jpg", "cls").map_tuple(SMALL).batched(8), "got .*3.*want the label compared with numbers"),
    (lambda s: data(s, resampled=True).decode("pil").select(is_wanted).to_tuple("jpg", "cls").map_tuple(SMALL).batched(8).with_epoch(3), "selects samples of an epoch of another length"),
    (lambda s: data(s).decode("pil").to_tuple("id", "cls").batched(8).select(lambda x: x), "select: .*stands behind batched"),
    (lambda s: data(s).decode("pil").map(
        lambda x: x).to_tuple("jpg", "npy").map_tuple(SMALL, lambda x: x + 1).batched(8), r"map_tuple\[1\]: .*got a function of its own of an array.*want none"),
    (lambda s: pairs(data(s)).shuffle(100).slice(3).batched(8), "slice: .*stands behind a shuffle, whose first samples are those of its own numbers, want it in front"),
    (lambda s: data(s).decode("pil").map(
        lambda x: dict(x)).to_tuple("jpg", "cls").batched(8), r"map: .*works on whole samples, .*test_webdataset.py:\d+: got 'dict\(x\)'.*want parts of a sample that go through transforms"),
    (lambda s: data(s).decode("pil").map(drawing).batched(8), r"test_webdataset.py:\d+: got 'if np.random.random"),
    (lambda s: data(s).decode("pil").map(
        lambda x: SMALL(x["jpg"])).batched(8), r"got \"return SMALL\(x\['jpg'\]\)\" at its end, no tuple and no dict"),
    (lambda s: data(s).decode("pil").map(dict.copy).batched(8), "works on whole samples, whose text cannot be read"),
    (lambda s: data(s).decode("pil").map(
        lambda x: [SMALL(x["jpg"]), x["cls"]]).batched(8), r'got "\[SMALL'),
    (lambda s: data(s).decode("pil").map(
        lambda x: (SMALL(x["jpg"]), x["cls"] + x["id"])).batched(8), r"got \"x\['cls'\] \+ x\['id'\]\""),
    (lambda s: data(s).decode("pil").map(
        lambda x, y=SMALL, *z: (y(x["jpg"]), x["cls"])).batched(8), "other arguments than a sample"),
    (lambda s: data(s).decode("pill").map(
        lambda x: (SMALL(x["jpg"].convert("RGB")), x["cls"])).batched(8), "got .*convert"),
    (lambda s: data(s).map(
        lambda x: (SMALL(Image.open(io.BytesIO(x["jpg"]))), int(x["cls"]))).batched(8), "got .*SMALL"),
    (lambda s: data(s).map(
        lambda x: (SMALL(x["jpg"]), int(x["cls"]))).batched(8), 'is not decoded, want .decode'),
    (lambda s: data(s).decode("pil").map(
        lambda x: (SMALL(x["jpg"]), x["json"].keys())).batched(8), r"got \"x\['json'\].keys\(\)\""),
    (lambda s: data(s).decode("pil").to_tuple("jpg", "cls").batched(8).map(
        lambda x: (x[0], x[1])), "map: .*stands behind batched"),
    (lambda s: data(s).decode("torchrgb").to_tuple("jpg", "cls").batched(8), r'decode makes torchrgb of it, want .decode\("pil"\)'),
    (lambda s: data(s).to_tuple("jpg", "cls").map_tuple(SMALL).batched(8), r'is not decoded, want .decode\("pil"\) in front'),
    (lambda s: data(s).decode("pil").to_tuple("jpg", "cls").batched(8), "has no transform, and pictures have to become tensors"),
    (lambda s: data(s).decode("pil").to_tuple("jpg", "cls").map_tuple(T.Resize(9)).batched(8), "ends with a picture of PIL's"),
    (lambda s: data(s).decode("pil").to_tuple("jpg", "cls").map_tuple(T.Compose([T.Resize(9), T.ToTensor()])).batched(8), "leaves the size of each picture open"),
    (lambda s: data(s).decode("pil").map_dict(jpg=SMALL).batched(8), r'whole samples, whose parts are known only when they are read, want .to_tuple\("jpg;png", "cls"\)'),
    (lambda s: data(s).decode().to_tuple("id").batched(8).repeat(), "is repeated without an end, want with_epoch"),
    (lambda s: data(s).decode().to_tuple("id").batched(8).repeat(3), "is repeated 3 times, want with_epoch"),
    (lambda s: data(s, resampled=True).decode().to_tuple("id").batched(8), "is resampled, which never ends, want with_epoch"),
    (lambda s: data(s, handler=wds.warn_and_stop).decode().to_tuple("id").batched(8), "got it as handler, want reraise_exception, warn_and_continue"),
    (lambda s: data(s, select_files=lambda name: True).decode().to_tuple("id").batched(8), "got select_files, want none"),
    (lambda s: data(s, cache_dir="/tmp").decode().to_tuple("id").batched(8), "FileCache: .*want no cache_dir; cache: {dir: DIR} of a description"),
    (lambda s: wds.DataPipeline(wds.RandomMix([data(s), data(s)]), wds.batched(8)), r"RandomMix: .*source: \{mix: "),
    (lambda s: data([s.replace("{000000..000002}", "000000")] * 2).decode().to_tuple("id").batched(8), "names 1 of its 2 shards twice"),
    (lambda s: data(s).decode().to_tuple("__key__").batched(8), 'gives keys alone, and samples have to have a part, want one beside them: .to_tuple\\("__key__", "cls"\\)'),
    (lambda s: data(s).decode(wds.torch_audio).to_tuple("jpg", "cls").map_tuple(SMALL).batched(8), "decode makes torch_audio of it, want"),
])
@pytest.mark.filterwarnings("ignore")
def test_what_has_no_equal_is_refused_by_its_place(shards, make, message):
    with pytest.raises(spdl.ArgumentError if "leaves the size" not in message else spdl.SpecError, match=message):
        spdl.DataLoader(make(shards), batch_size=None)


def test_a_slice_is_of_one_worker(shards):
    """As each of torch's workers has one of its own shards."""
    with pytest.raises(spdl.ArgumentError, match="has a slice, of which each worker and each rank has one of its own shards, want num_workers=0 or 1 and one rank"):
        spdl.DataLoader(pairs(data(shards)).slice(7), batch_size=4, num_workers=2)


def test_what_a_function_raises_ends_the_loop(shards):
    dataset = data(shards).decode("pil").to_tuple("jpg;png", "txt").map_tuple(SMALL, lambda text: text.index("no such"))
    with spdl.DataLoader(dataset, batch_size=4) as loader, pytest.raises(ValueError, match="substring not found"):
        list(loader)


def test_the_loop_of_the_page(shards, tmp_path, monkeypatch):
    """docs/datasets.md, as it is written."""
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/datasets.md").read_text(encoding="utf-8")
    block = page.partition("## webdataset's pipelines")[2].split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(pathlib.Path(shards).parent)
    batches = []
    exec(block, {"train": lambda images, labels: batches.append((tuple(images.shape), labels.tolist()))})
    assert [shape for shape, _ in batches] == [(4, 3, 224, 224)] * 7 + [(1, 3, 224, 224)] and sorted(n for _, labels in batches for n in labels) == sorted(i % 5 for i in range(N))
