"""webdataset's pipelines by stand-ins with the names and attributes of its classes: what is refused of them, and what becomes of addresses and small functions.
tests/exact/test_webdataset.py holds its own against torch's DataLoader."""

from __future__ import annotations

import itertools
import sys
from typing import Any, Callable

import pytest
import spdl
from spdl._torch import functions


def cls(name: str, module: str, base: type = object) -> type:
    return type(name, (base,), {"__module__": module})


def made(name: str, module: str, base: type = object, **attributes: Any) -> Any:
    one = cls(name, module, base)()
    vars(one).update(attributes)
    return one


def function(name: str, module: str = "webdataset.filters") -> Callable[..., Any]:
    def one(*_: Any) -> None:
        raise AssertionError("no stage is called")

    one.__name__, one.__module__ = name, module
    return one


def stage(name: str, *args: Any, module: str = "webdataset.filters", **options: Any) -> Any:
    return made("FilterFunction", "webdataset.filters", f=function(name, module), args=args, kw=options)


def sliced(*args: int) -> Any:
    return made("FilterFunction", "webdataset.filters", f=itertools.islice, args=args, kw={})


BASE = cls("DataPipeline", "webdataset.pipeline")
TAR = stage("tarfile_to_samples", module="webdataset.tariterators")
DECODE, TUPLE, BATCHED = stage("_decode", "pil"), stage("_to_tuple", "jpg;png", "cls"), stage("_batched", 8)
RESIZED = [{"resize": [8, 8]}]


def shards(*urls: str) -> Any:
    return made("SimpleShardList", "webdataset.shardlists", urls=list(urls or ("/data/a.tar",)), seed=None)


def pipeline(*stages: Any, **attributes: Any) -> Any:
    return made("WebDataset", "webdataset.compat", BASE, **{"pipeline": list(stages), "repetitions": 1, "nsamples": -1, **attributes})


def numbers(*stages: Any, urls: Any = (), **attributes: Any) -> Any:
    return pipeline(shards(*urls), TAR, stage("_decode"), stage("_to_tuple", "id"), *stages, **attributes)


def row(names: str, *functions: Any, decode: Any = DECODE) -> Any:
    return pipeline(shards(), TAR, decode, stage("_to_tuple", *names.split()), stage("_map_tuple", *functions), BATCHED)


def described(dataset: Any, **arguments: Any) -> Any:
    return spdl.describe(dataset, **{"batch_size": None, **arguments})


@pytest.mark.parametrize("url, address", [
    ("/data/a.tar", "/data/a.tar"), ("file:/data/a.tar", "/data/a.tar"), ("file:///data/a.tar", "/data/a.tar"), ("pipe:cat /data/a.tar", "/data/a.tar"),
    ("https://host/a.tar", "https://host/a.tar"), ("s3://b/a.tar", "s3://b/a.tar"), ("hf://datasets/u/n/a.tar", "hf://datasets/u/n/a.tar"),
    ("pipe:aws s3 cp s3://b/a.tar -", "s3://b/a.tar"), ("pipe:aws s3 cp 's3://b/a b.tar' - || true", "s3://b/a b.tar"), ("pipe:gsutil cat gs://b/a.tar", "gs://b/a.tar"),
    ("pipe:gcloud storage cat gs://b/a.tar", "gs://b/a.tar"), ("pipe:curl -s -L https://host/a.tar || true", "https://host/a.tar"), ("pipe:curl https://host/a.tar", "https://host/a.tar"),
])
def test_shards_are_called_as_the_engine_calls_them(url, address):
    assert described(numbers(BATCHED, urls=[url]))["source"]["shards"] == [address]


def test_a_path_is_of_the_directory_that_the_program_is_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert described(numbers(BATCHED, urls=["a.tar"]))["source"]["shards"] == [str(tmp_path / "a.tar")]


@pytest.mark.parametrize("url, message", [
    ("pipe:aws s3 cp s3://b/a.tar - --no-sign-request", r"pipeline\[0\], SimpleShardList.urls\[0\]: .*got a command that is not known here, want a path, http"),
    ("pipe:curl -H 'Authorization: x' https://host/a.tar", "got a command that is not known here"), ("pipe:zcat a.tar.gz", "got a command that is not known here"),
    ("pipe:cat a.tar | tee b", "got a command that is not known here"), ("pipe:cat 'a", "got a command that is not known here"), ("pipe:cat $(pwd)/a.tar", "got a command that is not known here"),
    ("ais://b/a.tar", "got an address of 'ais', want a path, http"), ("pipe:cat sftp://h/a.tar", "got an address of 'sftp', want"), ("https:/host/a.tar", "got an address of 'https', want"),
])
def test_other_addresses_are_refused(url, message):
    with pytest.raises(spdl.ArgumentError, match=message):
        described(numbers(BATCHED, urls=[url]))


@pytest.mark.parametrize("make, message", [
    (lambda: row("npy", float), r"dataset.pipeline\[4\], map_tuple\[0\]: .*got a function of its own of an array.*in the loop it works on whole batches"),
    (lambda: row("npy", lambda array: array.sum()), r"map_tuple\[0\]: .*got a function of its own of an array"),
    (lambda: row("cls;cls2"), "part cls;cls2: .*has several names, which only pictures may have"),
    (lambda: row("txt;text", lambda text: text.lower()), "part txt;text: .*has several names, which only pictures may have"),
    (lambda: numbers(stage("_shuffle", 9), sliced(7), BATCHED), r"dataset.pipeline\[5\], slice: .*stands behind a shuffle, whose first samples are those of its own numbers"),
    (lambda: numbers(sliced(0, 8, 2), BATCHED), "slice: .*got it of shards, or with steps, want slice"),
    (lambda: numbers(sliced(3, 3), BATCHED), "slice: .*has no samples, want one at least"),
    (lambda: pipeline(shards(), sliced(3), TAR, TUPLE, BATCHED), "slice: .*got it of shards, or with steps"),
    (lambda: row("pyd"), "part pyd: .*has an ending that is not known here, want pictures, cls, cls2"),
    (lambda: row("jpg;txt"), "part jpg;txt: .*has an ending that is not known here"),
    (lambda: row("__url__ id"), "part __url__: .*is no part of the archive, want __key__"),
    (lambda: row("jpg cls", RESIZED, decode=stage("_decode")), r'decode makes no pictures of it, want .decode\("pil"\)'),
    (lambda: row("jpg cls", RESIZED, decode=stage("_decode", "rgb8")), "decode makes rgb8 of it"),
    (lambda: row("jpg cls", RESIZED, decode=stage("_decode", "pil", only="cls")), "part jpg: .*is not decoded"),
    (lambda: row("jpg cls"), "has no transform, and pictures have to become tensors"),
    (lambda: row("jpg cls", RESIZED), "ends with a picture of PIL's"),
    (lambda: row("id", decode=stage("_decode", "pil", pre=[])), "got a second decode, or pre or post handlers"),
    (lambda: pipeline(shards(), TAR, DECODE, DECODE, TUPLE, BATCHED), "got a second decode"),
    (lambda: pipeline(shards(), TAR, stage("_map_dict", cls=int), DECODE, TUPLE, BATCHED), "decode: .*stands behind functions of parts"),
    (lambda: pipeline(shards(), TAR, stage("_map", made("Decoder", "webdataset.autodecode", handlers=[function("mine", "mine")], only=None)), TUPLE, BATCHED), "got pre or post handlers"),
    (lambda: pipeline(shards(), TAR, stage("_map", dict), TUPLE, BATCHED), "map: .*works on whole samples, whose text cannot be read"),
    (lambda: pipeline(shards(), TAR, stage("_rename", image="jpg", keep=False), stage("_to_tuple", "cls"), BATCHED), "got 'cls', and samples have image, want one of these"),
    (lambda: pipeline(shards(), TAR, DECODE, stage("_map_dict", jpg=RESIZED), TUPLE, BATCHED), "got 'jpg;png', which go through other functions each, want rename in front"),
    (lambda: pipeline(shards(), TAR, DECODE, stage("_to_tuple", "id", missing_is_error=False), BATCHED), "got missing_is_error=False, want True"),
    (lambda: pipeline(shards(), TAR, DECODE, BATCHED), "gives whole samples, whose parts are known only when they are read"),
    (lambda: pipeline(shards(), TAR, DECODE, stage("_map_tuple", int), BATCHED), "map_tuple: .*got samples in hand, want tuples"),
    (lambda: pipeline(shards(), DECODE, TUPLE, BATCHED), "decode: .*got shards in hand, want samples: tarfile_to_samples makes samples"),
    (lambda: pipeline(shards(), BATCHED), "got no samples in hand, want tarfile_to_samples"),
    (lambda: pipeline(shards(), stage("tarfile_to_samples", module="webdataset.tariterators", rename_files=len)), "got rename_files, want none"),
    (lambda: numbers(BATCHED, stage("_map_tuple", int)), "stands behind batched, want it in front"),
    (lambda: numbers(BATCHED, BATCHED), "got batches of 8 in hand, which would be put together again"),
    (lambda: numbers(stage("_batched", 8, collation_fn=None)), "got collation_fn=None, want none said"),
    (lambda: numbers(stage("_unbatched"), BATCHED), "got no batches of webdataset's own in hand"),
    (lambda: numbers(stage("_select", len), BATCHED), "select: .*selects samples, whose text cannot be read"),
    (lambda: numbers(function("mine", "mine"), BATCHED), r"dataset.pipeline\[4\]: .*got a stage of its own, which has no equal here; webdataset's stages alone are known"),
    (lambda: numbers(stage("_new"), BATCHED), "new: .*got it, which has no equal here; leave it out"),
    (lambda: numbers(), "batch_size: got None beside a data set without batches, want .batched"),
    (lambda: numbers(BATCHED, repetitions=3), "is repeated 3 times, want with_epoch"),
    (lambda: numbers(BATCHED, repetitions=sys.maxsize), "is repeated without an end"),
    (lambda: numbers(BATCHED, urls=["/a.tar", "/a.tar"]), "names 1 of its 2 shards twice"),
    (lambda: pipeline(made("ResampledShards", "webdataset.shardlists", urls=["/a.tar"], nshards=7), TAR), "got nshards=7, want none, and with_epoch"),
    (lambda: pipeline(made("ResampledShards", "webdataset.shardlists", urls=["/a.tar"], nshards=sys.maxsize), TAR, stage("_decode"), stage("_to_tuple", "id"), BATCHED), "is resampled, which never ends"),
    (lambda: numbers(stage("_shuffle", 9, handler=function("mine", "mine")), BATCHED), "got it as handler, want reraise_exception"),
    (lambda: made("Mine", "mine", type("Of", (BASE,), {"__module__": "mine", "__iter__": None}), pipeline=[]), "is a class of its own, which goes through its samples by itself"),
    (lambda: pipeline(made("DirectoryShardList", "webdataset.shardlists"), TAR), "want the shards as a list: sorted"),
    (lambda: pipeline(made("RandomMix", "webdataset.mix"), BATCHED), r"RandomMix: .*several data sets with weights are source: \{mix: "),
])
def test_what_has_no_equal_is_refused_by_its_place(make, message):
    with pytest.raises(spdl.ArgumentError, match=message):
        described(make())
    with pytest.raises(spdl.ArgumentError, match=message):
        spdl.DataLoader(make(), batch_size=None)


@pytest.mark.parametrize("make, arguments, message", [
    (lambda: numbers(BATCHED), dict(batch_size=4), "batch_size: .*got batches of 8 in hand, .*want batch_size=None behind batched"),
    (lambda: numbers(BATCHED), dict(shuffle=True), "shuffle: got True beside WebDataset, which is iterated, want none, as torch does: the data set says its order"),
    (lambda: numbers(BATCHED), dict(sampler=[1, 2]), r"sampler: got \[1, 2\] beside WebDataset"),
    (lambda: numbers(BATCHED), dict(collate_fn=list), "collate_fn: got one beside batch_size=None, of whole batches"),
    (lambda: numbers(BATCHED, repetitions=sys.maxsize, nsamples=3), dict(in_order=False), "in_order: got False beside with_epoch"),
    (lambda: numbers(repetitions=sys.maxsize, nsamples=9), dict(batch_size=4), r"got an epoch of 9 samples \(with_epoch\), of which batches of 4 would have a short one at its end, want a multiple of 4, or with_epoch\(3\)"),
    (lambda: numbers(BATCHED), dict(timeout=3), "timeout: got 3, want none"),
])
def test_torchs_arguments_have_to_fit(make, arguments, message):
    with pytest.raises(spdl.ArgumentError, match=message):
        described(make(), **arguments)


FLOAT = float


def shadowed() -> Any:
    int = len  # another meaning of the name
    return lambda x: int(x)


@pytest.mark.parametrize("one, what", [
    (int, ((), "int")), (float, ((), "float")), (str, ((), "str")), (lambda x: x, ((), "")), (function("identity", "webdataset.utils"), ((), "")), (lambda about: about["a"], (("a",), "")),
    (lambda about: about["a"]["b"][3], (("a", "b", 3), "")), (lambda about: float(about["a"]), (("a",), "float")), (lambda about: int(about), ((), "int")), (lambda about: str(about["a"]["b"]), (("a", "b"), "str")),
    (lambda about: FLOAT(about["a"]), None), (shadowed(), None), (lambda about: about.get("a"), None), (lambda about: about["a"] + 1, None), (lambda about: about["a"] if about else 0, None), (lambda about: 5, None),
    (lambda about: [about], None), (lambda about: int(float(about["a"])), None), (lambda about: about[about["a"]], None), (lambda about: int(about, 8), None), (lambda about, key="a": about, None),
    (lambda *about: about, None), (lambda **about: about, None), (lambda: 3, None), (len, None), (bool, None), (function("identity", "mine"), None), (lambda about: about["a"].b, None), (lambda about: float(*about), None),
    (lambda about: about[1.5], None),
])
def test_of_small_functions_their_code_says_all_that_they_do(one, what):
    found = functions.member(one)
    assert (None if found is None else tuple(found)) == what


def loader(dataset: Any, **attributes: Any) -> Any:
    inner = made("DataLoader", "torch.utils.data.dataloader", dataset=dataset, **{"batch_size": None, "num_workers": 0, "drop_last": False, "collate_fn": function("default_convert", "torch"), **attributes})
    return made("WebLoader", "webdataset.compat", BASE, pipeline=[inner], repetitions=1, nsamples=-1)


def test_a_web_loader_has_torchs_arguments_in_it():
    assert described(loader(numbers(BATCHED), num_workers=12, prefetch_factor=2))["ring"] == {"slots": 24}
    assert described(loader(numbers(stage("_shuffle", 9)), batch_size=5, num_workers=12))["order"]["window"] == 12
    for dataset, arguments, message in [
        (loader(numbers(BATCHED)), dict(num_workers=3), "num_workers: got it beside a WebLoader, which has torch's arguments in it, want it there"),
        (loader(numbers(BATCHED), worker_init_fn=len), {}, "got worker_init_fn, want none"),
        (loader(numbers(BATCHED), collate_fn=len), {}, "got collate_fn=<built-in function len> of whole batches, want none"),
        (loader([1, 2]), {}, "got it in a WebLoader, want a wds.WebDataset"),
    ]:
        with pytest.raises(spdl.ArgumentError, match=message):
            described(dataset, **arguments)


def test_ranks_want_a_splitter(monkeypatch):
    """As webdataset does of one that is not split; ranks have one order, whatever torch's seed is in each."""
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "1", "TORCHELASTIC_RUN_ID": "x"}.items():
        monkeypatch.setenv(name, value)
    one, both, split = (function(name, "webdataset.shardlists") for name in ("single_node_only", "split_by_worker", "split_by_node"))
    rest = (TAR, stage("_decode"), stage("_to_tuple", "id"), BATCHED)
    with pytest.raises(spdl.ArgumentError, match="is not split by nodes in a run of 2 ranks, which webdataset refuses, want nodesplitter=wds.split_by_node"):
        described(pipeline(shards(), one, *rest))
    with pytest.raises(spdl.ArgumentError, match="is not split by nodes in a run of 2 ranks, where each rank would have all samples"):
        described(pipeline(shards(), both, *rest))
    assert described(pipeline(shards(), split, *rest))["order"]["seed"] == 0
    assert described(pipeline(shards(), split, made("detshuffle", "webdataset.filters", bufsize=9, seed=5), *rest))["order"] == {"shuffle": True, "seed": 5, "last": "cover", "window": 8}


def test_a_description_says_all_of_a_pipeline():
    dataset = pipeline(shards("/data/a.tar", "/data/b.tar"), function("split_by_worker", "webdataset.shardlists"), stage("_shuffle", 100, seed=1), TAR, stage("_shuffle", 1000), DECODE,
                       stage("_to_tuple", "jpg;png", "cls", "json", "txt"), stage("_map_tuple", [{"resize": [8, 8]}, cls("ToTensor", "torchvision.transforms.transforms")()], int, lambda about: float(about["size"]["w"]), str), BATCHED)
    out = described(dataset)
    out["order"].pop("seed")
    assert out == {
        "source": {"shards": ["/data/a.tar", "/data/b.tar"], "label": "cls", "columns": [{"name": "w", "from": "json[size.w]", "type": "f64"}, {"name": "txt", "type": "text", "max_bytes": 16384}]},
        "batch": 8, "order": {"shuffle": True, "last": "cover", "window": 8}, "image": {"from": ["jpg", "png"], "transform": [{"resize": [8, 8]}], "layout": "NCHW", "dtype": "f32"}, "bad_sample": {"policy": "fail"}}
