"""Stages: workers in processes of their own transform batches in their slots before any consumer sees them."""

import asyncio
import json
import pathlib
import signal
import sys
import threading

import numpy as np
import pytest
import spdl
from engines import BUILD, FAILED, PATIENCE, ROOT, Consumer, describe, eventually

WORKERS = {
    "c": [BUILD / "examples/stage_c"],
    "cpp": [BUILD / "examples/stage_cpp"],
    "python": [sys.executable, ROOT / "examples/python/stage.py"],
}
TWO_EPOCHS = {"shuffle": True, "seed": 5, "epochs": 2}


def stages(*names, consumers=("train",), **more):
    """The ring section with these stages before these groups."""
    kinds = [{"name": name, "kind": "stage"} for name in names]
    return {"groups": kinds + [{"name": name} for name in consumers], **more}


def worker(language, engine, stage="augment"):
    return Consumer([*WORKERS[language], engine.name, stage])


def everything(name, group=None):
    """ticket: (rows, n_bad, attempts, image, index) of every batch that is left."""
    with spdl.attach(name, group=group, max_leases=2) as loader:
        return {b.ticket: (b.rows, b.n_bad, b.attempts, b["image"].copy(), b["index"].tolist())
                for epoch in loader.epochs() for b in epoch}


def at_once(*calls):
    """Each call in a thread of its own; what they return."""
    results = [None] * len(calls)

    def run(i, call):
        results[i] = call()

    threads = [threading.Thread(target=run, args=(i, call)) for i, call in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def same(got, want, transform):
    assert sorted(got) == sorted(want)
    for ticket, (rows, n_bad, attempts, image, index) in got.items():
        assert (rows, n_bad, attempts, index) == (want[ticket][0], want[ticket][1], 1, want[ticket][4]), ticket
        assert np.array_equal(image, transform(want[ticket][3])), ticket


@pytest.mark.parametrize("language", WORKERS)
def test_a_stage_in_every_language_transforms_what_two_groups_then_see(serve, pictures, language):
    """Two workers of the language invert every picture; both groups see the inverse of what there is without a stage."""
    want = everything(serve(describe(pictures.path, order=TWO_EPOCHS)).name)
    engine = serve(describe(pictures.path, order=TWO_EPOCHS, ring=stages("augment", consumers=("train", "watch"))))
    workers = [worker(language, engine) for _ in range(2)]
    for got in at_once(lambda: everything(engine.name, "train"), lambda: everything(engine.name, "watch")):
        same(got, want, lambda image: 255 - image)
    done = 0
    for w in workers:
        code, out, err = w.end()
        assert code == 0, err
        done += int(out.split()[0])
    assert done == len(want)


def test_stages_of_three_languages_follow_one_another(serve, pictures):
    """C, then C++, then Python: three inversions are one."""
    want = everything(serve(describe(pictures.path)).name)
    engine = serve(describe(pictures.path, ring=stages("one", "two", "three")))
    workers = [worker(language, engine, stage) for language, stage in zip(WORKERS, ("three", "one", "two"))]
    same(everything(engine.name, "train"), want, lambda image: 255 - image)
    for w in workers:
        assert w.end()[0] == 0


@pytest.mark.parametrize("language", WORKERS)
def test_a_worker_whose_engine_is_killed_says_so_and_counts_nothing(serve, pictures, language):
    """Exit code 1 and the text in every language, and no count, as at the end of the data; 2 for wrong arguments."""
    description = describe(pictures.path, order={"epochs": 0}, ring=stages("augment"))
    engine = serve(description)
    doomed = worker(language, engine)
    eventually("the worker", lambda: f"spdl.{engine.name}" in pathlib.Path(f"/proc/{doomed.pid}/maps").read_text())
    engine.kill()
    code, out, err = doomed.end()
    assert code == 1 and err.startswith("stage: ") and engine.name in err and "Traceback" not in err and out == "", (out, err)
    code, out, err = Consumer(WORKERS[language]).end()
    assert code == 2 and err.startswith("usage: stage") and out == "", (out, err)
    assert serve(description, name=engine.name).running  # takes over what was left, and removes it at its end


HALF = """
import sys, time, spdl
with spdl.attach(sys.argv[1], group="augment", max_leases=1) as loader:
    for batch in loader:
        image = batch["image"]
        image[:2] = 255 - image[:2]
        print("half", flush=True)
        time.sleep(3600)
"""


@pytest.mark.parametrize("end", ["kill", "interrupt"])
def test_a_batch_that_a_worker_left_half_done_is_decoded_again(serve, pictures, end):
    """kill -9, or a KeyboardInterrupt out of the loop: consumers see the same as without."""
    want = everything(serve(describe(pictures.path)).name)
    engine = serve(describe(pictures.path, ring=stages("augment")))
    for _ in range(3):
        doomed = Consumer([sys.executable, "-c", HALF, engine.name])
        assert doomed.line() == "half"
        doomed.process.send_signal(signal.SIGKILL if end == "kill" else signal.SIGINT)
        doomed.process.communicate(timeout=PATIENCE)
    steady = worker("c", engine)
    same(everything(engine.name, "train"), want, lambda image: 255 - image)
    assert steady.end()[0] == 0
    assert "again" in engine.said()


@pytest.mark.parametrize("policy, rows", [("skip", 0), ("mask", 4), ("substitute", 4)])
def test_an_exception_in_a_stage_fails_the_batch_by_policy(serve, pictures, policy, rows):
    """An exception that leaves the with-block says that the batch failed; the batch goes on without rows, or with masked ones."""
    engine = serve(describe(pictures.path, ring=stages("augment"), bad_sample={"policy": policy}))
    with pytest.raises(ValueError), spdl.attach(engine.name, group="augment", max_leases=1) as loader:
        for batch in loader:
            batch["image"][:] = 1
            raise ValueError("no such crop")
    with spdl.attach(engine.name, group="augment", max_leases=1) as loader:
        with loader.acquire() as second:
            assert second.ticket == 1
    with spdl.attach(engine.name, group="train") as loader:
        first = loader.acquire()
        assert (first.ticket, first.rows, first.n_bad) == (0, rows, 4)
        assert first["status"].tolist() == [spdl.ROW_MASKED] * rows
        assert not first["image"].any()
    assert "no such crop" in engine.said()


def test_a_stage_that_fails_ends_a_ring_that_admits_no_failure(serve, pictures):
    engine = serve(describe(pictures.path, ring=stages("augment"), bad_sample={"policy": "fail"}))
    with spdl.attach(engine.name, group="train") as loader:  # before it fails: an engine of failed rings ends once nobody is left
        with spdl.attach(engine.name, group="augment", max_leases=1) as stage:
            stage.acquire().fail("no such crop\n12:00:00.000 error engine: forged\x1b[31m")
        with pytest.raises(spdl.EngineFailed, match='stage "augment": batch 0: no such crop'):
            loader.acquire()
    assert engine.stop() == FAILED
    assert "\x1b" not in engine.said() and not any(line.startswith("12:00:00.000 ") for line in engine.said().splitlines())


def test_a_batch_dropped_in_a_stage_has_failed_and_one_that_a_closed_loader_held_comes_again(serve, pictures):
    """Neither is handed on as if it were transformed."""
    engine = serve(describe(pictures.path, ring=stages("augment")))
    loader = spdl.attach(engine.name, group="augment", max_leases=1)
    batch = loader.acquire()
    assert batch.attempts == 1
    del batch
    held = loader.acquire()
    assert held.ticket == 1
    loader.close()
    del held
    with spdl.attach(engine.name, group="augment", max_leases=1) as loader:
        eventually("the batch to be decoded again", lambda: loader.stats()["rings"][0]["groups"][0]["redelivered"])
        again = loader.acquire(timeout=PATIENCE)
        assert (again.ticket, again.attempts) == (1, 2)
        again.release()
    with spdl.attach(engine.name, group="train") as loader:
        assert [loader.acquire().rows, loader.acquire().rows] == [0, 4]


def test_views_kept_in_a_stage_cost_no_lease_and_stay_mapped(serve, pictures):
    """What is done is the next group's, but a view of it may outlive the loader."""
    engine = serve(describe(pictures.path, ring=stages("augment")))
    kept = []
    consumer = threading.Thread(target=everything, args=(engine.name, "train"))
    consumer.start()
    with spdl.attach(engine.name, group="augment", max_leases=1) as loader:
        assert loader.info.stage
        previous = None
        for batch in loader:
            kept.append(batch["image"])
            assert kept[-1].flags.writeable
            if previous is not None:
                with pytest.raises(spdl.Stale):
                    previous["image"]
            previous = batch
        assert len(kept) == len(loader)
        assert loader.info.leases == 0
    consumer.join()
    assert all(image.size for image in kept) and sum(int(image.sum()) for image in kept) > 0


def test_waiting_with_a_batch_in_hand_is_an_error_in_a_stage(serve, pictures):
    engine = serve(describe(pictures.path, ring=stages("augment", slots=24)))
    with spdl.attach(engine.name, group="augment", max_leases=20) as loader:
        held = []
        with pytest.raises(spdl.Undone, match="others wait"):
            while True:  # until it would have to wait: after all of them, if not before
                held.append(loader.acquire())
        assert held
        for batch in held:
            batch.release()


def test_async_for_transforms_too(serve, pictures):
    """Two tasks of one thread, each with a batch in hand."""
    want = everything(serve(describe(pictures.path)).name)
    engine = serve(describe(pictures.path, ring=stages("augment")))

    async def work(loader):
        async for batch in loader:
            await asyncio.sleep(0.001)
            batch["image"][:] = 255 - batch["image"]

    async def both(loader):
        await asyncio.gather(work(loader), work(loader))

    def run():
        with spdl.attach(engine.name, group="augment", max_leases=2) as loader:
            asyncio.run(both(loader))

    _, got = at_once(run, lambda: everything(engine.name, "train"))
    same(got, want, lambda image: 255 - image)


def test_consumers_cannot_write_behind_a_stage_but_on_a_private_ring(serve, pictures):
    for access in ("shared", "private"):
        engine = serve(describe(pictures.path, ring=stages("augment", access=access)))
        with spdl.attach(engine.name, group="train", max_leases=2) as consumer, \
                spdl.attach(engine.name, group="augment", max_leases=1) as stage:
            stage.acquire().release()
            batch = consumer.acquire()
            assert batch["image"].flags.writeable == (access == "private")
            assert not consumer.info.stage
            with pytest.raises(spdl.ArgumentError, match="no stage"):
                batch.fail("x")
            with pytest.raises(spdl.ArgumentError, match="is a stage"):
                stage.state_dict()
        engine.stop()


def test_a_state_saved_behind_a_stage_counts_what_the_consumer_had(serve, pictures):
    """The stage is far ahead; a second engine goes on with the consumer's next batch."""
    description = describe(pictures.path, ring=stages("augment"))
    want = everything(serve(describe(pictures.path)).name)
    engine = serve(description)
    ahead = worker("c", engine)
    with spdl.attach(engine.name, group="train") as loader:
        for _ in range(2):
            loader.acquire().release()
        eventually("the stage to be ahead", lambda: loader.stats()["rings"][0]["groups"][0]["completed"] >= 6)
        state = loader.state_dict()
    ahead.kill()
    engine.stop()
    with_state = engine.log.with_suffix(".state")
    with_state.write_text(json.dumps(state))
    second = serve(description, "--state", str(with_state))
    w = worker("c", second)
    got = everything(second.name, "train")
    assert w.end()[0] == 0
    same(got, {t: b for t, b in want.items() if t >= 2}, lambda image: 255 - image)
