"""Samples without media: arrays, numbers and texts, the same in every language, in every form of engine, and from every place they lie in."""

import csv
import io
import json
import os
import subprocess
import tarfile

import numpy as np
import pytest
import spdl
from engines import LANGUAGES, PATIENCE, ROOT, USAGE, example, groups, python, try_to_serve
from pictures import hash_of

N = 26


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("SPDL_CACHE_DIR", str(tmp_path / "cache"))


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


class Sample:
    """What sample i consists of: computed, so that nothing has to be kept of it."""

    def __init__(self, i):
        self.latents = np.random.default_rng(i).standard_normal((4, 8, 8), dtype="f4")
        self.ids = np.arange(i, i + i % 7, dtype="i8")
        self.caption = f"caption {i} ü"
        self.label = i % 3
        layout = np.asfortranarray(self.latents.astype(">f4")) if i % 4 == 3 else self.latents  # all that NumPy writes will do
        self.parts = {
            "ids.npy": npy(self.ids), "json": json.dumps({"input_ids": self.ids.tolist(), "score": i / 4}).encode(), "npy": npy(layout),
            "txt": self.caption.encode(), "cls": b"%d" % self.label,
        }


SAMPLES = [Sample(i) for i in range(N)]
COLUMNS = [
    {"name": "latents", "from": "npy", "type": "npy"},
    {"name": "ids", "from": "ids.npy", "type": "npy", "shape": [-1], "max_length": 8},
    {"name": "caption", "from": "txt"},
    {"name": "score", "from": "json[score]", "type": "f64"},
]
PADDED = [{"name": "input_ids", "from": "json[input_ids]", "type": "list", "dtype": "i64", "max_length": 8, "padded": True}]


def archive(path, samples=SAMPLES):
    with tarfile.open(path, "w") as tar:
        for i, sample in enumerate(samples):
            for part, data in sample.parts.items():
                info = tarfile.TarInfo(f"{i:05}.{part}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    return str(path)


def folder(path):
    for i, sample in enumerate(SAMPLES):
        (path / "abc"[sample.label]).mkdir(parents=True, exist_ok=True)
        for part, data in sample.parts.items():
            (path / "abc"[sample.label] / f"{i:05}.{part}").write_bytes(data)
    return str(path)


def describe(shards, columns=COLUMNS, **sections):
    return {"source": {"shards": shards, "columns": columns}, "batch": 8, "order": {"seed": 3, "epochs": 1}, **sections}


def check(batch):
    """Every row of a batch is its sample's; returns the samples."""
    index = batch["index"].tolist()
    assert batch["latents"].dtype == "f4" and batch.n_bad == 0
    for row, i in enumerate(index):
        np.testing.assert_array_equal(batch["latents"][row], SAMPLES[i].latents)
        np.testing.assert_array_equal(batch["ids"][row], SAMPLES[i].ids)
        assert (bytes(batch["caption"][row]).decode(), batch["score"][row], batch["label"][row]) == (SAMPLES[i].caption, i / 4, SAMPLES[i].label)
    return index


def test_three_languages_see_the_same_columns_and_they_are_numpys(serve, attach, tmp_path):
    """Two shuffled epochs of one engine for three groups at once; a fourth one, here, computes what each must have printed."""
    engine = serve(describe(archive(tmp_path / "a.tar"), order={"seed": 7, "epochs": 2}, ring=groups(*LANGUAGES, "check")))
    checker = attach(engine.name, "check", max_leases=1)
    for _ in range(2):
        consumers = {language: example(language, engine.name, language, "--hash") for language in LANGUAGES}
        expected, order = [], []
        while (batch := checker.acquire(timeout=PATIENCE)) is not None:
            with batch:
                order += (index := check(batch))
                samples = [SAMPLES[i] for i in index]

                def ragged(values, dtype):
                    return np.concatenate([np.asarray(v, dtype) for v in values]), np.cumsum([0, *map(len, values)], dtype="i8")

                expected.append((batch.ticket, hash_of(
                    len(index), np.stack([s.latents for s in samples]), np.array(index, "i8"), ragged([list(b"%05d" % i) for i in index], "u1"),
                    np.zeros(len(index), "u1"), np.array([s.label for s in samples], "i8"), ragged([s.ids for s in samples], "i8"),
                    ragged([list(s.caption.encode()) for s in samples], "u1"), np.array([i / 4 for i in index], "f8"))))
        assert sorted(order) == list(range(N))
        for language, consumer in consumers.items():
            code, out, err = consumer.end()
            assert (code, err) == (0, ""), (language, err)
            assert sorted((int(t), h) for t, h in map(str.split, out.splitlines()[:-1])) == sorted(expected), language


def test_an_engine_in_process_has_the_same_columns(tmp_path):
    script = f"""if True:
        import sys
        sys.path.insert(0, {str(ROOT / "tests/e2e")!r})
        import spdl, test_columns
        with spdl.open(test_columns.describe(sys.argv[1]), in_process=True) as loader:
            print(sorted(i for batch in loader for i in test_columns.check(batch)) == list(range(test_columns.N)))
    """
    done = python(script, archive(tmp_path / "a.tar"))
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


def test_columns_lie_in_archives_and_folders_alike(open_, tmp_path):
    shards, tree = archive(tmp_path / "a.tar"), folder(tmp_path / "tree")
    seen = []
    for batch in open_(describe(shards)):
        seen += check(batch)
    assert sorted(seen) == list(range(N))
    names = [f"{'abc'[sample.label]}/{i:05}.npy" for i, sample in enumerate(SAMPLES)]  # directories are classes, and come one after the other
    place = sorted(range(N), key=lambda i: names[i])
    for more in ({}, {"extensions": ["npy"]}):
        loader, keys = open_(describe("", source={"folder": tree, "columns": COLUMNS, **more})), []
        assert loader.classes == ["a", "b", "c"]
        for batch in loader:
            for row, i in enumerate(batch["index"]):
                sample = SAMPLES[place[i]]
                np.testing.assert_array_equal(batch["latents"][row], sample.latents)
                np.testing.assert_array_equal(batch["ids"][row], sample.ids)
                assert (batch["label"][row], bytes(batch["caption"][row]).decode()) == (sample.label, sample.caption)
            keys += batch.sample_keys
        assert sorted(keys) == sorted(names)


def test_token_ids_are_padded_with_their_lengths(open_, tmp_path):
    for batch in open_(describe(archive(tmp_path / "a.tar"), PADDED)):
        ids, lengths = batch["input_ids"], batch["input_ids.length"]
        index = batch["index"]
        assert lengths.tolist() == [i % 7 for i in index] and ids.shape == (batch.rows, lengths.max())
        for row, i in enumerate(index):
            assert ids[row].tolist() == SAMPLES[i].ids.tolist() + [0] * (ids.shape[1] - len(SAMPLES[i].ids))


def test_the_dataloader_takes_the_first_field_where_there_is_no_picture(tmp_path):
    shards = archive(tmp_path / "a.tar")
    with spdl.DataLoader(describe(shards), tensors="numpy", copy=True) as loader:
        rows = [row for latents, labels in loader for row in zip(latents, labels)]
    assert sorted((row.tobytes(), label) for row, label in rows) == sorted((s.latents.tobytes(), s.label) for s in SAMPLES)
    with spdl.DataLoader(describe(shards, PADDED), {"input_ids": "input_ids", "lengths": "input_ids.length"}, tensors="numpy", copy=True) as loader:
        assert sorted(int(n) for batch in loader for n in batch["lengths"]) == sorted(i % 7 for i in range(N))


def test_a_programs_own_arrays_are_columns():
    script = f"""if True:
        import sys
        sys.path.insert(0, {str(ROOT / "tests/e2e")!r})
        import numpy as np, spdl, test_columns
        class Arrays:
            def __len__(self): return test_columns.N
            def __getitem__(self, i):
                sample = test_columns.SAMPLES[i]
                if i == 5: raise KeyError("not there")
                return {{"latents": sample.latents, "ids": sample.ids, "file": i}}, sample.label, f"own {{i}}"
        columns = [{{"name": "latents", "from": "npz[latents]", "type": "npy", "dtype": "f32", "shape": [4, 8, 8]}},
                   {{"name": "ids", "from": "npz[ids]", "type": "npy", "dtype": "i64", "shape": [-1], "max_length": 8, "padded": True}},
                   {{"name": "number", "from": "npz[file]", "type": "npy", "dtype": "i64", "shape": []}}]  # a name that numpy.savez has itself
        seen = []
        with spdl.open({{"batch": 8, "source": {{"columns": columns}}, "order": {{"seed": 1, "epochs": 1}}}}, source=Arrays()) as loader:
            for batch in loader:
                for row, i in enumerate(batch["index"].tolist()):
                    sample = test_columns.SAMPLES[i]
                    np.testing.assert_array_equal(batch["latents"][row], sample.latents)
                    np.testing.assert_array_equal(batch["ids"][row, :batch["ids.length"][row]], sample.ids)
                    assert (batch["number"][row], batch["label"][row], batch.sample_keys[row]) == (i, sample.label, f"own {{i}}")
                    seen.append(i)
        single = [{{"name": "x", "type": "npy", "dtype": "f32", "shape": [4, 8, 8]}}]
        with spdl.open({{"batch": 8, "source": {{"columns": single}}, "order": {{"epochs": 1}}}}, source=[sample.latents for sample in test_columns.SAMPLES]) as loader:
            assert sum(batch.rows for batch in loader) == test_columns.N
        print(sorted(seen))
    """
    done = python(script)
    assert (done.returncode, done.stdout) == (0, f"{[i for i in range(N) if i != 5]}\n"), done.stderr


def test_rows_of_a_table_are_samples_and_orders_go_by_them(open_, tmp_path):
    with open(tmp_path / "t.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["x", "name", "n", "ids"])
        rows.writerows((i / 2, f"row {i}, quoted", i, list(range(i % 3))) for i in range(20))
    columns = [{"name": "x", "type": "f64"}, {"name": "n", "type": "i64"}, "name", {"name": "ids", "type": "list", "dtype": "i32", "max_length": 4}]
    loader = open_({"source": {"list": str(tmp_path / "t.csv"), "columns": columns}, "batch": 4, "order": {"shuffle": False, "epochs": 1, "filter": "n >= 10"}})
    seen = []
    for batch in loader:
        for row in range(batch.rows):
            n = int(batch["n"][row])
            assert batch["x"][row] == n / 2 and bytes(batch["name"][row]).decode() == f"row {n}, quoted" and batch["ids"][row].tolist() == list(range(n % 3))
            assert batch.sample_keys[row] == f"t.csv:{n}"
            seen.append(n)
    assert seen == list(range(10, 20))


def test_a_run_without_media_resumes_and_is_proven(open_, tmp_path):
    description = describe(archive(tmp_path / "a.tar"), ring={"hash": "xxh3"})
    whole = [batch["index"].tolist() for batch in open_(description)]
    loader = open_(description)
    log = spdl.delivery_log(loader, tmp_path / "log")
    for batch in log:
        if batch.step == 1:
            state = loader.state_dict()
            break
    del log
    rest = [check(batch) for batch in open_(description, state=state)]
    assert rest == whole[2:]
    for batch in spdl.delivery_log(open_(description), tmp_path / "whole"):
        check(batch)
    (tmp_path / "spec.json").write_text(json.dumps(description))
    done = subprocess.run([os.environ["SPDL_ENGINE"], "verify", tmp_path / "spec.json", tmp_path / "whole"], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0 and "every sample came as often as planned" in done.stdout, done.stdout + done.stderr


def test_ranks_share_samples_without_media(serve, attach, tmp_path):
    ring = {"groups": [{"name": "train", "mode": "lanes", "lanes": 2}]}
    engine = serve(describe(archive(tmp_path / "a.tar", SAMPLES[:24]), batch=4, world={"size": 2}, ring=ring))
    ranks = [attach(engine.name, "train", lane=lane) for lane in range(2)]
    seen = [[i for batch in rank for i in check(batch)] for rank in ranks]
    assert len(seen[0]) == len(seen[1]) == 12 and sorted(seen[0] + seen[1]) == list(range(24))


@pytest.mark.parametrize("policy", ["skip", "mask", "substitute", "fail"])
def test_a_damaged_array_is_a_bad_sample(open_, tmp_path, policy):
    damaged = [Sample(i) for i in range(8)]
    damaged[2].parts["npy"] = damaged[2].parts["npy"][:-5]
    del damaged[5].parts["npy"]
    loader = open_(describe(archive(tmp_path / "a.tar", damaged), order={"shuffle": False, "epochs": 1}, bad_sample={"policy": policy}))
    if policy == "fail":
        with pytest.raises(spdl.EngineFailed, match='sample 2 "00002".*column "latents".*truncated: got 1019 bytes of elements, want 1024'):
            next(iter(loader))
        return
    (batch,) = (batch.copy() for batch in loader)
    rows = {"skip": [0, 1, 3, 4, 6, 7], "mask": [0, 1, None, 3, 4, None, 6, 7], "substitute": [0, 1, 1, 3, 4, 4, 6, 7]}[policy]
    assert len(batch["index"]) == len(rows)
    for row, i in enumerate(rows):
        np.testing.assert_array_equal(batch["latents"][row], np.zeros((4, 8, 8)) if i is None else SAMPLES[i].latents)
        assert bytes(batch["caption"][row]).decode() == ("" if i is None else SAMPLES[i].caption)


@pytest.mark.parametrize("source, said", [
    ({"shards": "a.tar", "columns": ["mp3"]}, 'no sample has a part "mp3"; the parts are ids.npy, json, npy, txt, cls'),
    ({"shards": "a.tar", "image": "npy", "columns": ["txt"]}, "source.image: names the part that is a picture, and there is no image, video, audio or fields"),
    ({"shards": "a.tar", "columns": [{"name": "i", "from": "json", "type": "npy"}]}, 'none of the first 16 samples tells its type and shape'),
    ({"folder": ".", "columns": ["nothing"]}, "want files ending in nothing"),
])
def test_columns_that_cannot_be_are_refused(tmp_path, source, said):
    archive(tmp_path / "a.tar")
    path = {key: str(tmp_path / source[key]) for key in ("shards", "folder") if key in source}
    refused = try_to_serve({"source": {**source, **path}, "batch": 4})
    assert refused.returncode != 0 and said in refused.stderr, refused.stderr


def test_an_archive_of_arrays_is_told_a_description(tmp_path):
    refused = try_to_serve(archive(tmp_path / "a.tar"))
    assert refused.returncode == USAGE and "holds arrays and no media, so a description has to name the fields; begin with {source: {shards: [" in refused.stderr
