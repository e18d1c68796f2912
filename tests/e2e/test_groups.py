"""Several consumers of one group in processes of their own: lanes give each rank its slice, a shared group divides batches."""

import pytest
from engines import PATIENCE, batches_of, describe, groups, reader

SHUFFLED = {"shuffle": True, "seed": 3, "epochs": 2}


def lanes(n):
    return {"world": {"size": n}, "ring": {"groups": [{"name": "ranks", "mode": "lanes", "lanes": n}]}}


def whole_order(serve, folder, batch):
    """What one rank with the whole global batch is given: [step][row], over all epochs."""
    engine = serve(describe(folder.path, batch=batch, order=SHUFFLED))
    return [b["index"] for b in batches_of(reader(engine.name))]


@pytest.mark.parametrize("ranks", [2, 3])
def test_each_rank_gets_its_slice_of_every_step(serve, pictures, ranks):
    """Rank r of W takes rows [rG/W, (r+1)G/W) of the one global order; every rank has the same number of batches."""
    steps = whole_order(serve, pictures, 4 * ranks)
    engine = serve(describe(pictures.path, order=SHUFFLED, **lanes(ranks)))
    consumers = [reader(engine.name, group="ranks", lane=rank) for rank in range(ranks)]
    got = [batches_of(consumer) for consumer in consumers]
    assert {len(batches) for batches in got} == {len(steps)}
    for rank, batches in enumerate(got):
        assert [b["lane"] for b in batches] == [rank] * len(steps)
        slices = [whole[rank * len(whole) // ranks:(rank + 1) * len(whole) // ranks] for whole in steps]
        assert [b["index"] for b in batches] == slices
        assert [b["ticket"] for b in batches] == list(range(rank, ranks * len(steps), ranks))


def test_a_shared_group_gives_each_batch_to_one_of_its_members(serve, pictures):
    """Three processes read one group: together they see every batch of both epochs, none of them twice, each in order."""
    engine = serve(describe(pictures.path, batch=1, order=SHUFFLED, ring=groups("g")))
    got = [batches_of(c) for c in [reader(engine.name, group="g", max_leases=1, pause=0.002) for _ in range(3)]]
    assert sorted(b["ticket"] for batches in got for b in batches) == list(range(2 * len(pictures.samples)))
    for epoch in range(2):
        seen = [i for batches in got for b in batches if b["epoch"] == epoch for i in b["index"]]
        assert sorted(seen) == list(range(len(pictures.samples)))
    for batches in got:
        assert [b["ticket"] for b in batches] == sorted(b["ticket"] for b in batches)
        assert {b["attempts"] for b in batches} == {1}


def test_every_group_sees_every_batch(serve, pictures):
    """Groups do not share: two groups, one with two members, are each given all of it."""
    engine = serve(describe(pictures.path, order=SHUFFLED, ring=groups("alone", "pair")))
    consumers = [reader(engine.name, group=group, max_leases=2) for group in ("alone", "pair", "pair")]
    alone, *pair = [batches_of(consumer) for consumer in consumers]
    tickets = list(range(28))
    assert [b["ticket"] for b in alone] == tickets
    assert sorted(b["ticket"] for batches in pair for b in batches) == tickets


def test_what_a_killed_consumer_held_goes_to_the_others(serve, pictures):
    """kill -9 of a member that holds a batch: the other member is given it again, flagged, and nothing is lost."""
    engine = serve(describe(pictures.path, ring=groups("g")))
    with reader(engine.name, group="g", max_leases=1, pause=3600) as doomed:
        held = doomed.line()
        assert '"ticket": 0' in held
    survivor = batches_of(reader(engine.name, group="g"))
    assert {b["ticket"]: b["attempts"] for b in survivor} == {t: 2 if t == 0 else 1 for t in range(14)}


def test_a_group_that_drops_reaches_the_end_though_another_kept_a_batch(serve, attach, pictures):
    """While one group holds ticket 0, the ring goes round more than once: what the other has not claimed is dropped and counted, ticket 0 too."""
    ring = {"slots": 8, "groups": [{"name": "view", "slow": "drop"}, {"name": "train"}]}
    engine = serve(describe(pictures.path, batch=1, ring=ring))
    steps = len(pictures.samples)
    keeper, train = attach(engine.name, "train", max_leases=1), attach(engine.name, "train", max_leases=1)
    kept = keeper.acquire(timeout=PATIENCE)
    for _ in range(steps - 1):
        train.acquire(timeout=PATIENCE).release()
    view, seen = attach(engine.name, "view", max_leases=1), []
    while (batch := view.acquire(timeout=PATIENCE)) is not None:
        seen.append(batch.ticket)
        batch.release()
    assert 0 < len(seen) <= 8 and seen == sorted(set(seen)) and seen[-1] == steps - 1
    assert kept.ticket == 0
    kept.release()
    assert train.acquire(timeout=PATIENCE) is None
    group = next(g for g in train.stats()["rings"][0]["groups"] if g["name"] == "view")
    assert (group["completed"], group["dropped"]) == (len(seen), steps - len(seen))
