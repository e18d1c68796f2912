"""Databases of LMDB, as its library wrote them: the pictures that Pillow makes of their values, and texts beside them."""

import base64
import io
import json
import random
import re
import shutil
import subprocess
import tempfile

import numpy as np
import pytest
import spdl
from engines import PATIENCE, ROOT, SPDL, environment
from PIL import Image
from test_mds import own_cache  # noqa: F401

pytestmark = pytest.mark.usefixtures("own_cache")
MADE = ROOT / "core/source/testdata/lmdb"
WHOLE = {"image": {"transform": [{"center_crop": [6, 8]}]}, "batch": 4}
IN_ORDER = {"order": {"shuffle": False, "epochs": 1}}


def pairs(name):
    """The keys and values that a database was made of."""
    return {pair["key"]: base64.b64decode(pair["value"]) for pair in json.loads((MADE / "want.json").read_text())[name]}


def check(loader, want, texts=None):
    """An epoch is these files, by their keys, as Pillow makes them."""
    seen = []
    for batch in loader:
        with batch:
            for row, key in enumerate(batch.sample_keys):
                assert (np.asarray(batch["image"])[row] == np.asarray(Image.open(io.BytesIO(want[key])).convert("RGB"))).all(), key
                assert texts is None or bytes(batch["text"][row]).decode() == texts[key]
                seen.append(key)
    assert sorted(seen, key=str) == sorted(want, key=str)


def recognition():
    made = pairs("text")
    numbers = range(1, int(made["num-samples"]) + 1)
    return {str(i): made[f"image-{i:09d}"] for i in numbers}, {str(i): made[f"label-{i:09d}"].decode() for i in numbers}


@pytest.mark.parametrize("image", [{}, {"image": "image-{n:09d}"}], ids=["found", "named"])
@pytest.mark.parametrize("order", [{"shuffle": False, "epochs": 1}, {"seed": 3, "epochs": 1}], ids=["in order", "shuffled"])
def test_text_recognition(open_, image, order):
    files, texts = recognition()
    check(open_({"source": {"shards": str(MADE / "text"), "columns": [{"name": "text", "from": "label-{n:09d}"}], **image}, **WHOLE, "order": order}), files, texts)


@pytest.mark.parametrize("name, directory", [("super", "super.lmdb"), ("scenes", "scenes_lmdb")], ids=["super-resolution", "scenes"])
def test_each_key_is_a_sample(open_, name, directory):
    for shards in (MADE / directory, MADE / directory / "data.mdb"):
        check(open_({"source": {"shards": str(shards)}, **WHOLE, **IN_ORDER}), pairs(name))
    check(open_({"source": {"shards": str(MADE / directory), "image": "{key}"}, **WHOLE, "order": {"seed": 1, "epochs": 1}}), pairs(name))


def test_serve_check_and_pack_take_the_directory(tmp_path, serve, attach, open_, name):
    shutil.copytree(MADE / "text", tmp_path / "text")
    (tmp_path / "text/lock.mdb").write_bytes(bytes(8192))
    serve(str(tmp_path / "text"), "--size", "6", "--no-shuffle", "--epochs", "1", "--batch", "4")
    assert sum(batch.rows for batch in attach(name)) == 7
    run = subprocess.run([SPDL, "check", str(tmp_path / "text"), "--size", "6", "--batches", "0"], env=environment(), capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 0, run.stderr
    assert f"shards {tmp_path}/text (LMDB): 7 samples" in run.stdout
    run = subprocess.run([SPDL, "check", str(tmp_path), "--size", "6", "--batches", "0"], env=environment(), capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 0 and "7 samples" in run.stdout, run.stderr + run.stdout
    description = tmp_path / "text.json"
    description.write_text(json.dumps({"source": {"shards": str(tmp_path / "text"), "columns": [{"name": "text", "from": "label-{n:09d}"}]}, **WHOLE, **IN_ORDER}))
    run = subprocess.run([SPDL, "pack", str(description), "--out", str(tmp_path / "packed-%03d.tar"), "--no-shuffle"], env=environment(), capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 0, run.stderr
    files, _ = recognition()
    check(open_({"source": {"shards": f"{tmp_path}/packed-*.tar"}, **WHOLE, **IN_ORDER}), {f"{i:09}": file for i, file in enumerate(files.values())})
    assert sorted(p.name for p in (tmp_path / "text").iterdir()) == ["data.mdb", "lock.mdb"] and (tmp_path / "text/lock.mdb").read_bytes() == bytes(8192)


def test_recipes_are_as_they_are_written(open_):
    """Each description of the page, with the shards of testdata in place of the user's."""
    page = (ROOT / "docs/recipes.md").read_text(encoding="utf-8")
    section = re.search(r"^## LMDB: .*?^## ", page, re.M | re.S)[0]
    found = re.findall(r"^```yaml\n(.*?)^```$", section, re.M | re.S)
    for recipe, name, samples in zip(found, ("text", "super.lmdb", "scenes_lmdb"), (7, 9, 12), strict=True):
        written, n = re.subn(r"shards: (\[.*\]|[^}\n]*)", f"shards: {MADE / name}", recipe)
        assert n == 1
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as description:
            description.write(written + "order: {epochs: 1}\n")
            description.flush()
            rows = 0
            for batch in open_(description.name):
                with batch:
                    rows += batch.rows
            assert rows == samples


@pytest.mark.parametrize("shards, said", [("pickle.lmdb", "its value is a pickle"), ("datum.lmdb", "Caffe's Datum"), ("tensorpack.lmdb", "it has the key __keys__"), ("named.lmdb", "databases in the database")])
def test_what_is_not_read_is_refused_by_name(open_, shards, said):
    with pytest.raises(spdl.SpdlError, match=f"{shards}.*{said}.*docs/migrate.md"):
        open_({"source": {"shards": str(MADE / shards)}, **WHOLE})


def test_other_refusals(tmp_path, open_):
    with pytest.raises(spdl.SpdlError, match=r"train.lmdb.*LMDB is read from a disk alone.*copy it here"):
        open_({"source": {"shards": "https://localhost:1/train.lmdb"}, **WHOLE})
    with pytest.raises(spdl.SpdlError, match="LMDB is read by its directory, or its file, in source.shards"):
        open_({"source": {"folder": str(MADE / "text")}, **WHOLE})
    data = (MADE / "deep.lmdb").read_bytes()
    (tmp_path / "cut.lmdb").write_bytes(data[:len(data) // 2])
    with pytest.raises(spdl.SpdlError, match="cut.lmdb.*truncated: .*lies beyond the .* bytes; write or copy it again"):
        open_({"source": {"shards": str(tmp_path / "cut.lmdb")}, **WHOLE})


@pytest.mark.parametrize("seed", range(8))
def test_what_lmdbs_own_library_has_is_what_is_read(open_, tmp_path, seed):
    """After transactions that put, replace and delete keys, and some that are given up; with values of no bytes and of many pages."""
    lmdb = pytest.importorskip("lmdb")
    drawn, want = random.Random(seed), {}
    with lmdb.open(str(tmp_path / "x.lmdb"), map_size=1 << 26, subdir=seed % 2 == 0, writemap=seed % 3 == 0) as database:
        for keys in (3, 600, 40, 200):
            with database.begin(write=True) as transaction:
                for _ in range(keys):
                    key = f"{drawn.randrange(400):0{drawn.choice([3, 60])}}"
                    if key in want and drawn.random() < 0.5:
                        transaction.delete(key.encode())
                        del want[key]
                    else:
                        want[key] = bytes(drawn.choices(b"text", k=drawn.choice([0, 1, 100, 1999, 2030, 4080, 20000])))
                        transaction.put(key.encode(), want[key])
            with database.begin(write=True) as given_up:
                given_up.put(b"given up", b"")
                given_up.abort()
    column = {"name": "value", "from": "{key}", "type": "text", "max_bytes": "64KiB"}
    got = {}
    for batch in open_({"source": {"shards": str(tmp_path / "x.lmdb"), "columns": [column]}, "batch": 16, **IN_ORDER}):
        with batch:
            got |= {key: bytes(value) for key, value in zip(batch.sample_keys, batch["value"])}
    assert got == want
