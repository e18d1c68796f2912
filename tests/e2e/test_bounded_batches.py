"""Batches bounded by rows x longest length: sounds of known lengths through the real command, alone, in ranks, stopped and resumed."""

import json

import numpy as np
import pytest
import spdl
from engines import LANGUAGES, example, groups
from media_files import sounds
from proof import prove
from test_engine_go_consumer_c_cpp_python import tickets_and_hashes
from test_groups import lanes

RNG = np.random.default_rng(4)
LENGTHS = [int(n) for n in RNG.integers(20, 120, 40)] + [int(n) for n in RNG.integers(400, 1000, 13)]
BOUND = 2000
ORDER = {"seed": 5, "epochs": 2, "buckets": {"by": "frames", "count": 6, "max_total": BOUND, "multiple_of": 2}}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table of sounds with their lengths in samples."""
    folder = tmp_path_factory.mktemp("sounds")
    files = sounds(folder, LENGTHS)
    (folder / "table.csv").write_text("path,frames\n" + "".join(f"{i:03}.wav,{n}\n" for i, n in enumerate(LENGTHS)))
    return folder / "table.csv", files


def describe(path, batch=16, order=ORDER, **sections):
    return {"source": {"list": str(path), "columns": [{"name": "frames", "type": "i64"}]}, "batch": batch, "order": order,
            "audio": {"rate": 8000, "length": 1000, "shape": "padded"}, **sections}


def of_ranks(world):
    """The order that a world of this size shares: per rank a part of the rows, the total and the multiple."""
    buckets = {**ORDER["buckets"], "max_total": BOUND // world, "multiple_of": 2 // world}
    return {"batch": 16 // world, "order": {**ORDER, "buckets": buckets}}


def all_of(loader):
    return [(b.epoch, b.step, b["index"].tolist()) for epoch in loader.epochs() for b in epoch]


def test_a_batch_is_as_large_as_the_bound_allows(open_, table):
    path, files = table
    loader = open_(describe(path))
    for epoch in loader.epochs():
        seen, sizes = [], []
        for batch in epoch:
            n, _, longest = batch["audio"].shape
            index, lengths = batch["index"].tolist(), batch["length"].tolist()
            assert n * longest <= BOUND and longest == max(lengths) and lengths == [LENGTHS[i] for i in index]
            for row, i in enumerate(index):
                np.testing.assert_array_equal(batch["audio"][row, :, : lengths[row]], files[i])
            seen += index
            sizes.append(n)
        assert sorted(seen) == list(range(len(LENGTHS))) and len(sizes) == len(loader)
        assert max(sizes) == 16 and min(sizes[:-1]) == 2 and all(n % 2 == 0 for n in sizes[:-1])


@pytest.mark.parametrize("cut", [1, 4, 9])
def test_a_new_engine_goes_on_after_the_batch_in_hand(open_, table, cut):
    whole = all_of(open_(describe(table[0])))
    loader, seen = open_(describe(table[0])), []
    for batch in loader:
        seen.append((batch.epoch, batch.step, batch["index"].tolist()))
        if len(seen) == cut:
            state = json.loads(json.dumps(loader.state_dict()))
            break
    assert len(json.dumps(state)) < 400
    assert seen + all_of(open_(describe(table[0]), state=state)) == whole


def test_ranks_share_every_step_and_one_goes_on_where_two_have_stopped(serve, attach, open_, table):
    whole = all_of(open_(describe(table[0])))
    engine = serve(describe(table[0], **of_ranks(2), **lanes(2)))
    ranks = [attach(engine.name, "ranks", lane) for lane in range(2)]
    iterators, seen = [iter(loader) for loader in ranks], []
    for _ in range(len(ranks[0]) - 1):
        pair = [next(iterator) for iterator in iterators]
        states = [loader.state_dict() for loader in ranks]
        assert pair[0].rows == pair[1].rows, "but for the last step"
        assert all(b.rows * b["audio"].shape[2] <= BOUND // 2 for b in pair)
        seen.append((pair[0].epoch, pair[0].step, [i for b in pair for i in b["index"].tolist()]))
    assert states[0] == states[1]
    assert seen + all_of(open_(describe(table[0]), state=states[0])) == whole


def test_a_state_of_other_batches_is_refused_with_what_to_write(open_, table):
    loader = open_(describe(table[0], **of_ranks(2)))
    loader.acquire(timeout=30).release()
    state = loader.state_dict()
    other = describe(table[0], **of_ranks(2))
    other["order"]["buckets"]["max_total"] = BOUND
    with pytest.raises(spdl.StateError, match="max_total x world size 1000, now 2000; set max_total: 1000"):
        open_(other, state=state)


def test_batches_as_they_are_ready_and_a_bad_sound_change_nothing_else(open_, table, tmp_path):
    path = table[0]
    spoilt = path.read_text().replace("003.wav", "missing.wav")
    (path.parent / "spoilt.csv").write_text(spoilt)
    whole = {(epoch, step): index for epoch, step, index in all_of(open_(describe(path)))}
    mask = describe(path.parent / "spoilt.csv", ring={"delivery": "ready"}, bad_sample={"policy": "mask"})
    seen = {(epoch, step): index for epoch, step, index in all_of(open_(mask))}
    assert seen == whole


def test_a_run_is_proven_and_its_batches_are_made_again(open_, table, tmp_path):
    spec = describe(table[0], ring={"hash": "xxh3"})
    loader = open_(spec)
    assert f"{2 * len(loader)} batches, {2 * len(LENGTHS)} rows" in prove(loader, spec, tmp_path)


def test_all_languages_see_the_same_batches_of_any_size(serve, attach, table):
    audio = {"rate": 8000, "length": 1000, "shape": "ragged"}
    engine = serve(describe(table[0], order={**ORDER, "epochs": 1}, audio=audio, ring=groups("here", *LANGUAGES)))
    consumers = {language: example(language, engine.name, language, "--hash") for language in LANGUAGES}
    tickets = [batch.ticket for batch in attach(engine.name, "here")]
    seen = {language: tickets_and_hashes(consumer) for language, consumer in consumers.items()}
    assert [ticket for ticket, _ in seen["c"]] == tickets
    assert all(batches == seen["c"] for batches in seen.values()), seen


def test_a_sound_that_is_too_long_is_refused_by_name(table):
    order = {"buckets": {"by": "frames", "max_total": 500}}
    with pytest.raises(spdl.SpecError, match=r'order: buckets.max_total: column "frames": sample \d+ "\d+.wav": got a length of 9\d\d, the longest of'):
        spdl.open(describe(table[0], order=order))
