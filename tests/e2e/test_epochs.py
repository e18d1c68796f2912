"""Epochs: what ends them, what goes on after break and restart(), and the three rules for the last batch."""

import pytest
from engines import PATIENCE, describe
from spdl import BATCH_LAST, BATCH_PADDED, BATCH_SHORT

N = 53


def steps(loader):
    return [b.step for b in loader]


def test_epochs_n_ends_the_data(open_, pictures):
    """A for loop is one epoch; after the last one every loop is empty and acquire gives None at once."""
    loader = open_(describe(pictures.path, order={"shuffle": True, "epochs": 3}))
    assert [steps(loader) for _ in range(3)] == [list(range(14)), list(range(14, 28)), list(range(28, 42))]
    with pytest.warns(RuntimeWarning, match="3 epochs are over"):
        assert steps(loader) == []
    assert loader.acquire(timeout=PATIENCE) is None
    assert list(loader.epochs()) == [] and loader.epoch == 3


def test_without_epochs_the_data_does_not_end(open_, pictures):
    """Endless by default: each epoch has every picture once, in an order of its own."""
    loader = open_(describe(pictures.path, order={"seed": 2}))
    orders = [[i for b in loader for i in b["index"].tolist()] for _ in range(5)]
    assert all(sorted(order) == list(range(N)) for order in orders)
    assert len({tuple(order) for order in orders}) == 5


def test_a_new_loop_after_break_goes_on_in_the_same_epoch(open_, pictures):
    """break leaves nothing out and repeats nothing."""
    loader, seen = open_(describe(pictures.path, order={"epochs": 2})), []
    while len(seen) < 14:
        for batch in loader:
            seen.append(batch.step)
            if len(seen) % 3 == 0:
                break
    assert seen == list(range(14)) and len(loader) == 14
    while loader.epoch == 0:
        assert steps(loader) == []  # the end of the epoch, if the last loop has broken off just before it
    assert steps(loader) == list(range(14, 28))


@pytest.mark.parametrize("after", [1, 6, 13])
def test_restart_leaves_the_rest_of_the_epoch(open_, pictures, after):
    """restart() in the middle: the next loop is the next epoch, whole, in the order it would have had."""
    with open_(describe(pictures.path, order={"seed": 4, "epochs": 3})) as undisturbed:
        want = [[b["index"].tolist() for b in undisturbed] for _ in range(3)]
    loader = open_(describe(pictures.path, order={"seed": 4, "epochs": 3}))
    for count, batch in enumerate(loader, 1):
        if count == after:
            break
    del batch
    loader.restart()
    assert loader.epoch == 1
    assert [[b["index"].tolist() for b in loader] for _ in range(2)] == want[1:]
    with pytest.warns(RuntimeWarning, match="epochs are over"):
        assert steps(loader) == []


def last_of(open_, pictures, rule, **sections):
    loader = open_(describe(pictures.path, batch=8, order={"shuffle": False, "epochs": 2, "last": rule}, **sections))
    epochs = [[(b.rows, b.flags, b["index"].tolist(), b["status"].tolist()) for b in loader] for _ in range(2)]
    assert epochs[0] == epochs[1]
    assert [flags & BATCH_LAST for _, flags, *_ in epochs[0]] == [0] * (len(epochs[0]) - 1) + [BATCH_LAST]
    return len(loader), epochs[0]


def test_last_cover_gives_a_short_batch(open_, pictures):
    """Every picture exactly once: 53 = 6 x 8 + 5."""
    length, epoch = last_of(open_, pictures, "cover")
    assert length == len(epoch) == 7
    assert [i for *_, index, _ in epoch for i in index] == list(range(N))
    rows, flags, index, status = epoch[-1]
    assert (rows, index, status) == (5, list(range(48, 53)), [0] * 5) and flags & BATCH_SHORT


def test_last_drop_leaves_the_incomplete_batch_out(open_, pictures):
    """Six whole batches; the last five pictures do not come."""
    length, epoch = last_of(open_, pictures, "drop")
    assert length == len(epoch) == 6
    assert [i for *_, index, _ in epoch for i in index] == list(range(48))
    assert not any(flags & (BATCH_SHORT | BATCH_PADDED) for _, flags, *_ in epoch)


def test_last_pad_fills_from_the_start_of_the_order(open_, pictures):
    """Seven whole batches; the rows that repeat are flagged in the status column."""
    length, epoch = last_of(open_, pictures, "pad")
    assert length == len(epoch) == 7
    rows, flags, index, status = epoch[-1]
    assert (rows, index, status) == (8, [*range(48, 53), 0, 1, 2], [0] * 5 + [3] * 3)
    assert flags & BATCH_PADDED and not flags & BATCH_SHORT
