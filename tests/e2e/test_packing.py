"""Rows of documents (source.packing) through the real command: held against documents that are read and packed here, naively."""

import io
import json
import tarfile

import numpy as np
import pytest
import spdl
from engines import LANGUAGES, example, groups
from proof import command, prove
from test_engine_go_consumer_c_cpp_python import tickets_and_hashes
from test_groups import lanes

RNG = np.random.default_rng(6)
LENGTH = 64
DOCUMENTS = [RNG.integers(1, 1 << 20, int(n)).tolist() for n in np.minimum(RNG.exponential(18, 400), LENGTH)]
COLUMNS = [{"name": "input_ids", "type": "list", "dtype": "i32", "pad": 0}, {"name": "labels", "type": "list", "dtype": "i64", "pad": -100}]
ORDER = {"seed": 5, "epochs": 2}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return written(tmp_path_factory.mktemp("documents") / "documents.jsonl", DOCUMENTS)


def written(path, documents):
    path.write_text("".join(json.dumps({"input_ids": ids, "labels": [-i for i in ids]}) + "\n" for ids in documents))
    return path


def describe(path, packing=None, batch=8, order=ORDER, **sections):
    return {"source": {"list": str(path), "columns": COLUMNS, "packing": {"length": LENGTH, **(packing or {})}}, "batch": batch, "order": order, **sections}


def documents_of(batch):
    """The documents of a batch's rows, by what segments and positions say; padding and labels are checked on the way."""
    assert batch["segment_ids"].dtype == batch["position_ids"].dtype == batch["input_ids"].dtype == np.int32 and batch["labels"].dtype == np.int64
    for ids, labels, segments, positions in zip(batch["input_ids"], batch["labels"], batch["segment_ids"], batch["position_ids"]):
        used = int(segments.astype(bool).sum())
        assert segments[:used].all() and not segments[used:].any(), "padding is behind the documents"
        assert not ids[used:].any() and not positions[used:].any() and (labels[used:] == -100).all() and (labels[:used] == -ids[:used]).all()
        for k in range(1, segments.max() + 1):
            (at,) = np.nonzero(segments == k)
            assert at.tolist() == list(range(at[0], at[-1] + 1)) and positions[at].tolist() == list(range(len(at)))
            yield ids[at].tolist()


def epoch_of(batches):
    rows, seen = 0, []
    for batch in batches:
        rows += batch.rows
        seen += documents_of(batch)
    return rows, seen


def next_fit(documents):
    """The rows of a loader that puts each document behind the one before it, or into a new row."""
    rows, room = 0, 0
    for ids in documents:
        if len(ids) > room:
            rows, room = rows + 1, LENGTH
        room -= len(ids)
    return rows


def first_fit_decreasing(documents):
    rooms = []
    for ids in sorted(documents, key=len, reverse=True):
        for k, room in enumerate(rooms):
            if room >= len(ids):
                rooms[k] -= len(ids)
                break
        else:
            rooms.append(LENGTH - len(ids))
    return len(rooms)


def test_every_document_comes_whole_and_once_an_epoch(open_, table):
    loader, wanted = open_(describe(table)), sorted(ids for ids in DOCUMENTS if ids)
    orders = []
    for epoch in loader.epochs():
        rows, seen = epoch_of(epoch)
        assert sorted(seen) == wanted and rows <= min(next_fit(DOCUMENTS), first_fit_decreasing(DOCUMENTS)) + 1
        assert rows >= sum(map(len, DOCUMENTS)) / LENGTH
        orders.append(seen)
    assert orders[0] != orders[1]


def test_long_documents_are_cut_into_pieces_or_off(open_, tmp_path):
    documents = [*DOCUMENTS[:50], *[RNG.integers(1, 1 << 20, int(n)).tolist() for n in (65, 128, 200, 641)]]
    path, wanted = written(tmp_path / "long.jsonl", documents), [ids for ids in documents if ids]
    with pytest.raises(spdl.SpecError, match=r'column "input_ids": document 53 "long.jsonl:53": got a length of 641, the longest of 4 that are too long'):
        open_(describe(path))
    order = {"seed": 1, "epochs": 1}
    _, seen = epoch_of(open_(describe(path, {"long": "truncate"}, order=order)))
    assert sorted(seen) == sorted(ids[:LENGTH] for ids in wanted)
    _, seen = epoch_of(open_(describe(path, {"long": "split"}, order=order)))
    assert sorted(seen) == sorted(ids[at : at + LENGTH] for ids in wanted for at in range(0, len(ids), LENGTH))


def test_wrapped_documents_fill_every_row_but_the_last(open_, table):
    loader = open_(describe(table, {"strategy": "wrapped"}, order={"shuffle": False, "epochs": 1}))
    stream = np.concatenate([batch["input_ids"].ravel()[batch["segment_ids"].ravel() > 0] for batch in loader])
    assert stream.tolist() == [token for ids in DOCUMENTS for token in ids]


def all_of(loader):
    return [(b.epoch, b.step, b["index"].tolist(), b["input_ids"].tolist(), b["segment_ids"].tolist()) for epoch in loader.epochs() for b in epoch]


@pytest.mark.parametrize("cut", [1, 7])
def test_a_new_engine_goes_on_in_the_middle(open_, table, cut):
    whole = all_of(open_(describe(table)))
    loader, seen = open_(describe(table)), []
    for b in loader:
        seen.append((b.epoch, b.step, b["index"].tolist(), b["input_ids"].tolist(), b["segment_ids"].tolist()))
        if len(seen) == cut:
            state = json.loads(json.dumps(loader.state_dict()))
            break
    assert seen + all_of(open_(describe(table), state=state)) == whole


def test_ranks_share_the_rows_and_one_goes_on_where_two_have_stopped(serve, attach, open_, table):
    whole = all_of(open_(describe(table)))
    engine = serve(describe(table, batch=4, **lanes(2)))
    ranks = [attach(engine.name, "ranks", lane) for lane in range(2)]
    iterators, seen = [iter(loader) for loader in ranks], []
    for _ in range(5):
        a, b = (next(iterator) for iterator in iterators)
        states = [loader.state_dict() for loader in ranks]
        seen.append((a.epoch, a.step, *(a[name].tolist() + b[name].tolist() for name in ("index", "input_ids", "segment_ids"))))
    assert seen + all_of(open_(describe(table), state=states[0])) == whole


def test_a_state_of_other_rows_is_refused(open_, table, tmp_path):
    loader = open_(describe(table))
    loader.acquire(timeout=30).release()
    state = loader.state_dict()
    longer = written(tmp_path / "documents.jsonl", [DOCUMENTS[0] + [1], *DOCUMENTS[1:]])
    for other in (describe(longer), describe(table, {"strategy": "wrapped"})):
        with pytest.raises(spdl.StateError):
            open_(other, state=state)


def test_a_run_is_proven_and_its_batches_are_made_again(open_, table, tmp_path):
    spec = describe(table, ring={"hash": "xxh3"})
    loader = open_(spec)
    assert f"{2 * len(loader)} batches" in prove(loader, spec, tmp_path)
    checked = command("check", tmp_path / "spec.json")
    assert f"packing  {sum(1 for ids in DOCUMENTS if ids)} documents in " in checked and " rows of 64; " in checked and "a document a row: " in checked


def test_documents_of_unequal_lists_are_left_out_and_counted(open_, tmp_path):
    path = tmp_path / "unequal.jsonl"
    path.write_text('{"input_ids": [1, 2], "labels": [-1, -2]}\n{"input_ids": [3, 4], "labels": [-3]}\n{"input_ids": [5], "labels": [-5]}\n')
    for policy, ids in {"skip": [1, 2, 5, 0, 0], "mask": [1, 2, 0, 0, 5]}.items():
        batch = open_(describe(path, {"length": 5}, order={"shuffle": False, "epochs": 1}, bad_sample={"policy": policy})).acquire(timeout=30)
        assert batch["input_ids"].tolist() == [ids] and batch.n_bad == 1
        assert [np.count_nonzero(batch["segment_ids"] == k) for k in (1, 2)] == [2, 1]
        batch.release()
    with pytest.raises(spdl.EngineFailed, match='column "labels": got a length of 1, want 2, that of column "input_ids"'):
        next(iter(open_(describe(path, {"length": 5}, order={"shuffle": False, "epochs": 1}, bad_sample={"policy": "fail"}))))


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


SPOILERS = {  # what is made of the .npy of a document; None: it is gone
    "truncated": lambda data: data[:-3], "another length": lambda data: npy(np.full(3, 1 << 21, "i4")), "gone": lambda data: None, "no array": lambda data: b"no array", "empty": lambda data: b"",
    "another type": lambda data: npy(np.load(io.BytesIO(data)).astype("f4")),
}


@pytest.fixture
def spoiled(tmp_path):
    """Documents in an archive, and those of them that are whole; the others are spoiled in each of the ways, two of them one behind the other."""
    bad = dict(zip((3, 10, 11, 30, 44, 59), SPOILERS.values()))
    documents = [np.array(ids, "i4") for ids in DOCUMENTS if ids][:60]
    with tarfile.open(tmp_path / "documents.tar", "w") as tar:
        for i, ids in enumerate(documents):
            data = bad.get(i, lambda data: data)(npy(ids))
            for name, content in (("ids.npy", data), ("n.txt", str(len(ids)).encode())):
                if content is not None:
                    about = tarfile.TarInfo(f"{i:03}.{name}")
                    about.size = len(content)
                    tar.addfile(about, io.BytesIO(content))
    return tmp_path / "documents.tar", [ids.tolist() for i, ids in enumerate(documents) if i not in bad], len(bad)


def of_archive(path, packing, policy):
    columns = [{"name": "ids", "from": "ids.npy", "type": "npy", "dtype": "i32", "shape": [-1]}, {"name": "n", "from": "n.txt", "type": "i64"}]
    return {"source": {"shards": [str(path)], "labels": "none", "columns": columns, "packing": {"length": LENGTH, "by": "n", **packing}}, "batch": 4, "order": {"seed": 2, "epochs": 2},
            "bad_sample": {"policy": policy, "max_rate": 1}}


@pytest.mark.parametrize("policy", ["skip", "mask"])
@pytest.mark.parametrize("packing", [{}, {"long": "split"}, {"long": "truncate"}, {"strategy": "wrapped"}], ids=lambda packing: next(iter(packing.values()), "best_fit"))
def test_of_damaged_documents_no_other_is_lost(open_, spoiled, packing, policy):
    """Each of the others comes whole, in its row, in each epoch; rows that lack some are counted, and say how many they lack."""
    path, whole, lost = spoiled
    loader = open_(of_archive(path, packing, policy))
    total = 0
    for epoch in loader.epochs():
        seen, lacking, rows = [], 0, 0
        for batch in epoch:
            lacking, rows = lacking + batch.n_bad, rows + batch.rows
            for ids, segments in zip(batch["ids"], batch["segment_ids"]):
                assert not ids[segments == 0].any(), "what is bad is padding"
                seen += [ids[segments == k].tolist() for k in range(1, segments.max() + 1) if (segments == k).any()]
        if "strategy" in packing:  # documents go on in the next row
            assert sorted(token for ids in seen for token in ids) == sorted(token for ids in whole for token in ids)
        else:
            assert sorted(seen) == sorted(whole)
        assert 0 < lacking <= rows
        total += lacking
    about = loader.stats()["rings"][0]["bad_samples"]
    assert about["total"] == total
    assert lost <= sum(int(one.partition("without ")[2].partition(" ")[0]) for one in set(about["last"]))


def test_a_damaged_document_ends_the_run_where_that_is_said(open_, spoiled):
    with pytest.raises(spdl.EngineFailed, match=r"without \d of its documents, such as: "):
        list(open_(of_archive(spoiled[0], {}, "fail")))


def test_lists_of_vectors_are_packed_along_their_length(open_, tmp_path):
    path = tmp_path / "codes.jsonl"
    path.write_text('{"codes": [[1, 2], [3, 4]]}\n{"codes": []}\n{"codes": [[5, 6]]}\n')
    columns = [{"name": "codes", "type": "list", "dtype": "i16", "shape": [-1, 2], "pad": 7}]
    batch = open_({"source": {"list": str(path), "columns": columns, "packing": {"length": 4}}, "batch": 1, "order": {"shuffle": False}}).acquire(timeout=30)
    assert batch["codes"].tolist() == [[[1, 2], [3, 4], [5, 6], [7, 7]]] and batch["segment_ids"].tolist() == [[1, 1, 2, 0]]
    batch.release()


def test_all_languages_see_the_same_rows(serve, attach, table):
    engine = serve(describe(table, order={**ORDER, "epochs": 1}, ring=groups("here", *LANGUAGES)))
    consumers = {language: example(language, engine.name, language, "--hash") for language in LANGUAGES}
    tickets = [batch.ticket for batch in attach(engine.name, "here")]
    seen = {language: tickets_and_hashes(consumer) for language, consumer in consumers.items()}
    assert [ticket for ticket, _ in seen["c"]] == tickets
    assert all(batches == seen["c"] for batches in seen.values()), seen
