"""Resume: the state of a run, given to a new engine, delivers exactly what was not completed, in the same order."""

import json

import pytest
import spdl
from engines import PATIENCE, USAGE, batches_of, describe, eventually, groups, reader, try_to_serve
from test_groups import lanes

ORDER = {"shuffle": True, "seed": 5, "epochs": 2}
STEPS = 7  # of 8 rows an epoch, of 53 pictures


def description(pictures, **sections):
    return describe(pictures.path, batch=8, order=ORDER, **sections)


def all_that_is_left(loader):
    return [(b.epoch, b.step, b["index"].tolist()) for epoch in loader.epochs() for b in epoch]


@pytest.fixture(scope="module")
def whole(pictures):
    """What an uninterrupted run delivers."""
    with spdl.open(description(pictures)) as loader:
        return all_that_is_left(loader)


@pytest.mark.parametrize("cut", [0, 1, STEPS - 1, STEPS, STEPS + 1, 2 * STEPS - 1, 2 * STEPS])
def test_a_new_engine_goes_on_after_the_batch_in_hand(open_, pictures, whole, cut):
    """state_dict() in the loop body counts the batch in hand; the rest comes in the order of an uninterrupted run."""
    loader, seen, state = open_(description(pictures)), [], None
    if cut == 0:
        state = loader.state_dict()
    for batch in (b for epoch in loader.epochs() for b in epoch):
        if len(seen) == cut:
            break
        seen.append((batch.epoch, batch.step, batch["index"].tolist()))
        if len(seen) == cut:
            state = loader.state_dict()
    del batch
    assert len(json.dumps(state)) < 400
    resumed = open_(description(pictures), state=state)
    assert seen + all_that_is_left(resumed) == whole


def test_without_counting_it_the_batch_in_hand_comes_again(open_, pictures, whole):
    """count_held=False: what was delivered and not completed is part of the rest."""
    loader = open_(description(pictures))
    for batch in loader:
        if batch.step == 3:
            state = loader.state_dict(count_held=False)
            break
    assert all_that_is_left(open_(description(pictures), state=state)) == whole[3:]


def test_batches_completed_out_of_order_do_not_come_again(open_, pictures, whole):
    """The state names completed steps above the oldest open one: steps 0, 1 and 3 done, 2 held."""
    loader = open_(description(pictures))
    batches = [loader.acquire(timeout=PATIENCE) for _ in range(4)]
    for step in (0, 1, 3):
        batches[step].release()
    state = loader.state_dict(count_held=False)
    assert all_that_is_left(open_(description(pictures), state=state)) == [whole[2], *whole[4:]]


@pytest.mark.parametrize("cut", [1, 4, STEPS + 2])
def test_one_rank_goes_on_where_two_have_stopped(serve, attach, open_, pictures, whole, cut):
    """Half the world size with an equal global batch: the two ranks' slices and the rest together are the whole order."""
    engine = serve(describe(pictures.path, batch=4, order=ORDER, **lanes(2)))
    ranks = [attach(engine.name, "ranks", lane) for lane in range(2)]
    states, seen = [], []
    iterators = [(b for epoch in loader.epochs() for b in epoch) for loader in ranks]
    for _ in range(cut):
        pair = [next(iterator) for iterator in iterators]
        states = [loader.state_dict() for loader in ranks]
        seen.append((pair[0].epoch, pair[0].step, [i for b in pair for i in b["index"].tolist()]))
    assert states[0] == states[1], "ranks in step agree on where they are"
    assert seen + all_that_is_left(open_(description(pictures), state=states[0])) == whole


def test_two_ranks_go_on_where_one_has_stopped(serve, open_, pictures, whole, tmp_path):
    """Twice the world size: spdl serve --state FILE gives each rank its slice of the rest."""
    loader = open_(description(pictures))
    for batch in loader:
        if batch.step == 4:
            (tmp_path / "state.json").write_text(json.dumps(loader.state_dict()))
            break
    engine = serve(describe(pictures.path, batch=4, order=ORDER, **lanes(2)), "--state", tmp_path / "state.json")
    halves = [batches_of(c) for c in [reader(engine.name, group="ranks", lane=lane) for lane in range(2)]]
    rest = [(a["epoch"], a["step"], a["index"] + b["index"]) for a, b in zip(*halves, strict=True)]
    assert rest == whole[5:]


def test_load_state_dict_goes_back_within_one_engine(open_, pictures, whole):
    """The same loader can return to an earlier position, from the middle and from the end of the data."""
    loader = open_(description(pictures))
    for batch in loader:
        if batch.step == 2:
            state = loader.state_dict()
            break
    loader.load_state_dict(state)
    assert all_that_is_left(loader) == whole[3:]
    loader.load_state_dict(state)
    assert all_that_is_left(loader) == whole[3:]


def test_a_checkpoint_may_go_on_with_other_pixels_and_more_epochs(open_, pictures, whole):
    """What does not decide the order may change: the size of the pictures, the number of epochs."""
    loader = open_(description(pictures))
    for batch in loader:
        if batch.step == 3:
            state = loader.state_dict()
            break
    other = {**description(pictures), "image": {"transform": [{"resize": [9, 9]}]}, "order": {**ORDER, "epochs": 3}}
    rest = all_that_is_left(open_(other, state=state))
    assert rest[:len(whole) - 4] == whole[4:] and len(rest) == 3 * STEPS - 4


@pytest.mark.parametrize("backing", ["posix", "memfd"])
@pytest.mark.parametrize("delivery", ["ordered", "ready"])
def test_after_an_orderly_stop_with_a_journal_every_batch_comes_once(serve, attach, pictures, whole, name, tmp_path, backing, delivery):
    """The ring holds the whole run: engines are stopped while batches wait in it and one is in hand."""
    ring = {"slots": 24, "backing": backing, "delivery": delivery, **groups("train")}
    journal, seen = tmp_path / "journal", []
    for cut in (1, 3, STEPS - 1, None):
        engine = serve(description(pictures, ring=ring), "--journal", journal, name=name)
        loader, n = attach(engine.name), 0
        try:
            for batch in (b for epoch in loader.epochs() for b in epoch):
                seen.append((batch.epoch, batch.step, batch["index"].tolist()))
                n += 1
                if n == cut:
                    engine.process.terminate()
                    eventually("the engine's end to begin", lambda: loader.state == "stopped")
        except spdl.EngineStopped:
            assert n >= cut
        else:
            assert len(seen) == len(whole), "the loop has ended before its data"
        loader.close()
        assert engine.stop() == 0
    assert sorted(seen) == sorted(whole)


OTHERS = {
    "seed": ({"order": {**ORDER, "seed": 6}}, "seed 5, now 6"),
    "batch": ({"batch": 4}, "global batch 8, now 4; set batch: 8"),
    "order": ({"order": {**ORDER, "shuffle": False}}, "shuffle true, now false"),
    "source": ({"source": {"folder": "{}/a"}}, "samples 53, now 18"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_the_state_of_another_run_is_refused(open_, pictures, what):
    """A state that belongs to another order or spec names what differs: StateError in Python, exit code 2 of the command."""
    with open_(description(pictures)) as loader:
        state = loader.state_dict()
    change, text = OTHERS[what]
    other = json.loads(json.dumps({**description(pictures), **change}).replace("{}", str(pictures.path)))
    with pytest.raises(spdl.StateError, match=text):
        spdl.open(other, state=state)
    served = try_to_serve(other, "--state", json.dumps(state))
    assert served.returncode == USAGE and text in served.stderr


@pytest.mark.parametrize("state", ["{}", '{"version": 1', "[]", '{"version": 99}', "no JSON"])
def test_a_damaged_state_is_refused_and_never_taken_for_the_start(pictures, tmp_path, state):
    """Cut off, empty or of another version: exit code 2 and a text, from a file too."""
    (tmp_path / "state").write_text(state)
    served = try_to_serve(description(pictures, ring=groups("g")), "--state", tmp_path / "state")
    assert served.returncode == USAGE and "state" in served.stderr, served.stderr
