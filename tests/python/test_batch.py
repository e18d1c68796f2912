"""Batch: fields, facts, and its end."""

from __future__ import annotations

import copy
import gc
import pickle

import pytest
import spdl

numpy = pytest.importorskip("numpy")


def test_a_batch_maps_field_names_to_views(loader):
    with loader.acquire() as batch:
        assert list(batch) == ["image", "label", "half", "padded", "index", "key", "status", "extent"] == list(batch.keys())
        assert len(batch) == 8 and "image" in batch and "images" not in batch
        assert batch["image"].shape == (3, 2, 2, 3) and batch["image"].dtype == "float32"
        assert batch["label"].tolist() == [0, 1, 2] == dict(batch)["index"].tolist()
        assert batch["padded"].strides == (64, 16, 4) and batch["padded"][2].tolist() == [[2, 3], [4, 5]]
        assert batch["half"].tolist() == [[1, 1]] * 3


def test_a_batch_knows_where_it_stands(loader):
    batches = []
    for batch in loader:
        batches.append((batch.ticket, batch.epoch, batch.step, batch.rows, batch.lane, batch.attempts, batch.last, batch.n_bad))
    assert batches == [(t, 0, t, 3, 0, 1, t == 4, 0) for t in range(5)]
    assert repr(batch) == "<spdl.Batch ticket 4 epoch 0 step 4 rows 3 of image, label, half, padded, index, key, status, extent ended>"


def test_sample_keys_are_text(loader):
    with loader.acquire(), loader.acquire() as batch:
        assert batch.sample_keys == batch.text("key") == ["3", "4", "5"]
        with pytest.raises(TypeError, match='text of field "image": got'):
            batch.text("image")
        assert bytes(batch["key"][0]) == b"3" and isinstance(batch["key"], spdl.Ragged)


def test_a_damaged_offset_is_refused(mock, loader):
    mock.lib.mock_break_offsets()
    with loader.acquire() as batch, pytest.raises(IndexError, match="the batch is damaged"):
        batch.sample_keys


def test_an_unknown_field_is_refused_with_the_nearest_name(loader):
    with loader.acquire() as batch:
        with pytest.raises(KeyError, match='no field "imgae"; did you mean "image"'):
            batch["imgae"]
        with pytest.raises(spdl.NotFound, match="there are image, label, half"):
            batch["zzzzzz"]
        assert batch.get("zzzzzz") is None


def test_views_of_a_private_ring_may_be_written_and_of_a_shared_ring_not(mock):
    with spdl.open("x") as loader, loader.acquire() as batch:
        batch["image"][0] = 7
        assert batch["image"][0].max() == 7
    mock.share()
    with spdl.open("x") as loader, loader.acquire() as batch:
        with pytest.raises(ValueError, match="read-only"):
            batch["image"][0] = 7


def test_the_slot_stays_leased_until_the_last_view_dies(mock, loader):
    batch = loader.acquire()
    view = batch["image"][1:, 0]
    other = numpy.from_dlpack(batch.array("label"))
    del batch
    gc.collect()
    assert mock.counts.leases == 1 and view[0, 0, 0] == 1
    del view
    assert mock.counts.leases == 1 and other.tolist() == [0, 1, 2]
    del other
    assert (mock.counts.leases, mock.counts.released) == (0, 1)


def test_release_gives_the_slot_back_once(mock, loader):
    batch = loader.acquire()
    batch.release()
    assert mock.counts.leases == 0 and batch.ended
    with pytest.raises(spdl.Stale, match="release batch of ticket 0: it was given back already"):
        batch.release()
    assert (mock.counts.released, mock.counts.stale) == (1, 0)


def test_release_is_refused_while_views_are_alive(mock, loader):
    batch = loader.acquire()
    view = batch["image"]
    with pytest.raises(BufferError, match="release batch of ticket 0: views of it are alive"):
        batch.release()
    assert mock.counts.leases == 1 and batch["image"][0, 0, 0, 0] == view[0, 0, 0, 0]
    del view
    batch.release()
    assert mock.counts.leases == 0


def test_batch_view_is_refused_after_release(loader):
    batch = loader.acquire()
    batch.release()
    for use in (lambda: batch["image"], lambda: batch.sample_keys, batch.copy, batch.done):
        with pytest.raises(spdl.Stale, match=r"copy\(\) before that"):
            use()
    assert batch.ticket == 0 and batch.rows == 3, "what is known of it remains"


def test_release_after_the_engine_took_the_batch_back_is_stale(mock, loader):
    batch = loader.acquire()
    mock.fail("spdl_done", -60, "shm: batch 0 was taken back")
    with pytest.raises(spdl.Stale, match="taken back"):
        batch.release()
    batch.release()


def test_a_with_block_ends_the_batch_and_leaves_its_views(mock, loader):
    with loader.acquire() as batch:
        view = batch["image"]
    assert batch.ended and mock.counts.leases == 1 and mock.counts.done == 1 and view[0, 0, 0, 0] == 0
    del view
    assert mock.counts.leases == 0


def test_a_with_block_after_release_is_no_error(loader):
    with loader.acquire() as batch:
        batch.release()


def test_done_keeps_the_batch_readable(mock, loader):
    batch = loader.acquire()
    batch.done()
    batch.done()
    assert mock.counts.leases == 1 and batch["label"].tolist() == [0, 1, 2]


def test_copy_is_free_of_the_slot(mock, loader):
    with loader.acquire() as batch:
        copy = batch.copy()
    assert mock.counts.leases == 0
    assert copy["image"][2, 1, 1, 2] == 13 and copy["padded"].flags.c_contiguous
    assert [bytes(row) for row in copy["key"]] == [b"0", b"1", b"2"]
    copy["image"][:] = 0


def test_a_batch_refuses_to_be_pickled_or_copied_with_the_remedy(mock, loader):
    with loader.acquire() as batch:
        for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(spdl.Unsupported, match=r"leased to this process.*pass batch.copy\(\) on"):
                attempt(batch)
        sent = batch.copy()
    for arrived in (pickle.loads(pickle.dumps(sent)), copy.deepcopy(sent)):
        assert arrived["label"].tolist() == [0, 1, 2] and arrived["key"].text() == ["0", "1", "2"]


def test_batches_are_compared_by_identity(loader):
    first, second = loader.acquire(), loader.acquire()
    assert first == first and first != second and len({first, second}) == 2


def test_without_numpy_fields_are_arrays(monkeypatch, loader):
    monkeypatch.setattr(spdl.arrays, "_numpy", None)
    with loader.acquire() as batch:
        assert type(batch["label"]) is spdl.Array and batch["label"].tolist() == [0, 1, 2]
        assert batch.copy()["image"].shape == (3, 2, 2, 3)
        assert batch["key"].bytes_of(2) == b"2"
