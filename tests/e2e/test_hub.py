"""Data sets of the Hugging Face Hub: the same pictures as from the directory that it holds, and refusals that say what is wrong."""

import shutil
import subprocess
import sys

import pytest
import spdl
from engines import PATIENCE, environment
from hub import COMMIT, hub
from test_mds import key, make_mds
from test_sources import TRANSFORM, check, make_shards

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("SPDL_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def server(tmp_path, monkeypatch, pictures):
    """The Hub with the pictures as a folder train, and in archives, whose directory it is."""
    root = tmp_path / "n"
    root.mkdir()
    shutil.copytree(pictures.path, root / "train")
    make_shards(root / "shards", pictures.samples, 20)
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    with hub(root) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def test_shards_and_folders_of_the_hub(server, pictures, open_):
    for shards in ("hf://datasets/u/n/shards/*.tar", "hf://datasets/u/n@main/shards/s-{000..002}.tar", f"hf://datasets/u/n@{COMMIT}/shards/s-*.tar"):
        check(open_({"source": {"shards": shards}, **TRANSFORM}), pictures.samples)
    reads = sum("GET /datasets/u/n/resolve" in asked for asked in server.asked)
    assert reads <= 3 * 3, f"the Hub was asked {reads} times where 3 archives lie, by 3 engines"
    check(open_({"source": {"folder": "hf://datasets/u/n/train"}, **TRANSFORM}), pictures.samples, lambda _, sample: sample.key)


def test_a_whole_data_set_by_its_name(server, pictures, open_):
    """One split is taken as it is; of several none is chosen, and the refusal says how each is named."""
    shutil.rmtree(server.root / "train")
    (server.root / "README.md").write_text("of the data set")
    shards = sorted((server.root / "shards").iterdir())
    arguments = {"args": ["--size", "24", "--no-shuffle", "--epochs", "1", "--batch", "8"]}
    for name in ("hf://datasets/u/n", "hf://datasets/u/n@main/", f"hf://datasets/u/n@{COMMIT}/shards"):
        check(open_(name, **arguments), pictures.samples)
    for k, shard in enumerate(shards):
        shard.rename(shard.with_name(f"{'train' if k < 2 else 'test'}-{k:05}-of-00002.tar"))
    with pytest.raises(spdl.SpdlError) as refused:
        open_("hf://datasets/u/n", **arguments)
    commands = [f"spdl serve 'hf://datasets/u/n/shards/{name}'" for name in ("test-00002-of-00002.tar", "train-*.tar")]
    assert "holds shards of 2 data sets" in str(refused.value) and all(command in str(refused.value) for command in commands)
    check(open_("hf://datasets/u/n/shards/train-*.tar", **arguments), pictures.samples[:40])


@pytest.mark.parametrize("packed", [False, True], ids=["raw", "compressed"])
def test_mds_of_the_hub(server, pictures, tmp_path, open_, packed):
    make_mds(tmp_path / "n/mds", pictures.samples, 20, packed)
    for shards in ("hf://datasets/u/n/mds/", f"hf://datasets/u/n@{COMMIT}/mds/index.json"):
        check(open_({"source": {"shards": shards}, **TRANSFORM}), pictures.samples, key(20))


def test_lists_lead_to_the_hub(server, pictures, tmp_path, open_):
    lines = tmp_path / "list.txt"
    lines.write_text("".join(f"{sample.key}\t{sample.label}\n" for sample in pictures.samples))
    check(open_({"source": {"list": str(lines), "root": "hf://datasets/u/n/train"}, **TRANSFORM}), pictures.samples, lambda _, sample: sample.key)


def test_what_was_read_is_kept(server, pictures, tmp_path, open_):
    description = {"source": {"shards": "hf://datasets/u/n/shards/*.tar"}, "cache": {"dir": str(tmp_path / "encoded")}, **TRANSFORM}
    check(open_(description), pictures.samples)
    server.asked.clear()
    loader = open_(description)
    check(loader, pictures.samples)
    cache = loader.stats()["rings"][0]["source"]["cache"]
    assert (cache["hits"], cache["misses"]) == (len(pictures.samples), 0)
    assert not [asked for asked in server.asked if "/resolve/" in asked], "the listing has told the versions, and the indexes are kept"


def test_refusals_say_what_to_do(server, open_, monkeypatch):
    for source, said in (
        ({"shards": "hf://datasets/u/n/none/*.tar"}, "no object is named so"),
        ({"shards": "hf://datasets/u/n/none.tar"}, 'there is no such file in revision "main"'),
        ({"shards": "hf://datasets/u/other/*.tar"}, "is there u/other of datasets?"),
        ({"folder": "hf://datasets/u"}, "want hf://datasets/USER/NAME/PATH"),
    ):
        with pytest.raises(spdl.SpdlError) as refused:
            open_({"source": source, **TRANSFORM})
        assert said in str(refused.value)
    server.token = "hf_right"
    with pytest.raises(spdl.SpdlError, match=r"set \$HF_TOKEN to a token that may read it"):
        open_({"source": {"shards": "hf://datasets/u/n/shards/*.tar"}, **TRANSFORM})


def test_private_data_sets_take_a_token(server, pictures, open_, monkeypatch):
    server.token = "hf_right"
    monkeypatch.setenv("HF_TOKEN", "hf_right")
    check(open_({"source": {"shards": "hf://datasets/u/n/shards/*.tar"}, **TRANSFORM}), pictures.samples)


def test_plain_functions_read_the_hub(server, pictures):
    """In a process of its own, as the engine in a process keeps what Go polls its connections by. What it sets in its environment counts."""
    sample = pictures.samples[0]
    paths = f"hf://datasets/u/n/train/{sample.key}", str(sample.path)
    code = """if 1:
        import os, spdl.io, sys
        of_disk = bytes(spdl.io.load_image(sys.argv[2]).numpy())
        os.environ["HF_ENDPOINT"] = sys.argv[3]
        sys.exit(bytes(spdl.io.load_image(sys.argv[1]).numpy()) != of_disk)"""
    subprocess.run([sys.executable, "-c", code, *paths, server.url], env=environment(HF_ENDPOINT="http://127.0.0.1:1"), check=True, timeout=PATIENCE)


def test_the_hub_of_these_tests_speaks_as_the_hubs_own_client_expects(server, pictures):
    """Of the server above, not of spdl: huggingface_hub lists and reads the same of it."""
    huggingface_hub = pytest.importorskip("huggingface_hub")
    files = huggingface_hub.HfFileSystem(endpoint=server.url, token=False, skip_instance_cache=True)
    found = files.find("datasets/u/n/train")
    assert sorted(found) == sorted(f"datasets/u/n/train/{sample.key}" for sample in pictures.samples)
    for path in ("shards/s-000.tar", f"train/{pictures.samples[0].key}"):
        assert files.cat_file(f"datasets/u/n/{path}") == (server.root / path).read_bytes()
        about = huggingface_hub.get_hf_file_metadata(f"{server.url}/datasets/u/n/resolve/main/{path}", endpoint=server.url)
        assert about.commit_hash == COMMIT and about.size == (server.root / path).stat().st_size
    huggingface_hub.close_session()
