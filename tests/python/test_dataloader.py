"""DataLoader: a loader in the shape of torch's."""

from __future__ import annotations

import gc
import itertools
import sys

import pytest
import spdl
from conftest import built
from spdl import _c, _foreign

numpy = pytest.importorskip("numpy")


@pytest.mark.parametrize("fields", [iter(["label", "image"]), dict.fromkeys(["label", "image"]).keys(), numpy.array(["label", "image"])])
def test_fields_are_any_iterable_of_names(loader, fields):
    label, image = next(iter(spdl.DataLoader(loader, fields=fields, tensors="numpy")))
    assert label.ndim == 1 and image.ndim == 4


def test_fields_choose_tuples_dicts_or_one_tensor(loader):
    take = {"tensors": "numpy"}
    images, labels = next(iter(spdl.DataLoader(loader, **take)))
    assert images.shape == (3, 2, 2, 3) and labels.tolist() == [0, 1, 2]
    assert next(iter(spdl.DataLoader(loader, {"pixel_values": "image", "y": "label"}, **take)))["y"].tolist() == [3, 4, 5]
    assert next(iter(spdl.DataLoader(loader, "label", **take))).tolist() == [6, 7, 8]
    assert list(next(iter(spdl.DataLoader(loader, None, **take)))) == ["image", "label", "half", "padded", "extent"]
    assert next(iter(spdl.DataLoader(loader, ["key"], **take))) == (["12", "13", "14"],)


def test_transform_maps_what_is_handed_out(loader):
    loaded = spdl.DataLoader(loader, transform=lambda pair: {"x": pair[0] / 2, "y": pair[1]}, tensors="numpy")
    assert [batch["y"][0] for batch in loaded] == [0, 3, 6, 9, 12]


def test_labels_may_be_kept_and_hold_no_batch(mock, loader):
    """One number a sample is copied: loops keep labels for a metric at the epoch's end."""
    kept = [labels for _, labels in spdl.DataLoader(loader, tensors="numpy")]
    assert numpy.concatenate(kept).tolist() == list(range(15)) and mock.counts.leases == 0


def test_copies_let_every_batch_be_kept(mock, loader):
    kept = list(spdl.DataLoader(loader, tensors="numpy", copy=True))
    assert [labels[0] for _, labels in kept] == [0, 3, 6, 9, 12] and mock.counts.leases == 0


def test_views_that_are_kept_exhaust_the_leases_with_a_clear_error(loader):
    with pytest.raises(spdl.LeasesExhausted, match="arrays and tensors of a batch hold it"):
        list(spdl.DataLoader(loader, tensors="numpy"))


def test_it_has_a_length_and_a_batch_size_and_a_state(loader):
    loaded = spdl.DataLoader(loader, tensors="numpy")
    assert len(loaded) == 5 and loaded.batch_size == 3 and loaded.classes == loaded.loader.classes
    for images, labels in loaded:
        break
    assert loaded.state_dict() == {"completed": 1}
    loaded.load_state_dict({"completed": 3})
    assert [labels[0] for _, labels in loaded] == [9, 12]


def test_it_says_of_how_many_samples_it_is(loader):
    """Programs divide by len(loader.dataset), and torchvision's references compare it with what they have seen."""
    loaded = spdl.DataLoader(loader, tensors="numpy")
    assert len(loaded.dataset) == loader.info.samples > 0 and loaded.dataset.classes == loader.classes


@pytest.mark.parametrize("name", set(_foreign.TORCH) - {"dataset", "batch_size"})
def test_what_torchs_loader_has_and_this_has_not_is_named_with_the_remedy(loader, name):
    loaded = spdl.DataLoader(loader, tensors="numpy")
    with pytest.raises(AttributeError, match=f"spdl: DataLoader: has no {name} as torch's has; "):
        getattr(loaded, name)
    assert not hasattr(loaded, name), "frameworks look whether it has"


def test_a_sampler_that_is_asked_for_has_its_set_epoch_elsewhere(loader):
    with pytest.raises(AttributeError, match=r"sampler.set_epoch\(e\) is loader.set_epoch\(e\), .* ignore_data_skip=True, is state="):
        spdl.DataLoader(loader, tensors="numpy").sampler.set_epoch(1)
    with pytest.raises(AttributeError, match="'DataLoader' object has no attribute 'colour'"):
        spdl.DataLoader(loader, tensors="numpy").colour


def test_set_epoch_follows_the_loop_and_restarts_after_a_break(loader):
    loaded = spdl.DataLoader(loader, "label", tensors="numpy")
    seen = []
    for epoch in range(3):
        loaded.set_epoch(epoch)
        for labels in loaded:
            seen.append(int(labels[0]) // 3)
            if epoch == 1:
                break
    assert seen == [0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14]
    with pytest.raises(spdl.ArgumentError, match=r"set_epoch\(9\) in epoch 3; use load_state_dict"):
        loaded.set_epoch(9)


def test_a_loop_begins_anew_where_it_is_told_to(loader):
    """With restart=True what a break left over does not come; a loop that ended, or left with the last batch in hand, skips nothing."""
    loaded = spdl.DataLoader(loader, "label", tensors="numpy", restart=True)

    def tickets(n):
        return [int(labels[0]) // 3 for labels in itertools.islice(loaded, n)]

    assert tickets(2) == [0, 1] and tickets(9) == [5, 6, 7, 8, 9] and tickets(5) == [10, 11, 12, 13, 14] and tickets(1) == [15]
    loaded.load_state_dict({"completed": 17})
    assert tickets(9) == [17, 18, 19], "a state that was loaded is gone on from"


def test_a_loop_that_took_the_last_batch_has_nothing_left(loader):
    """Who takes len() batches by next() and never hears of the end, as Hugging Face's Trainer does, has the next epoch in the next loop."""
    loaded = spdl.DataLoader(loader, "label", tensors="numpy")
    for epoch in range(3):
        if epoch:
            loaded.set_epoch(epoch)
        steps = iter(loaded)
        assert [int(next(steps)[0]) // 3 for _ in range(len(loaded))] == [5 * epoch + step for step in range(5)]


def test_lanes_that_share_an_engine_go_through_the_rest(mock, loader):
    """None of several consumers may restart the others."""
    loaded = spdl.DataLoader(loader, "label", tensors="numpy", restart=True)
    next(iter(loaded))
    mock.fail("spdl_restart", _c.E_BUSY)
    assert int(next(iter(loaded))[0]) == 15 and loader.epoch == 1


def test_it_says_what_it_is_of(loader):
    assert repr(spdl.DataLoader(loader)) == f"<spdl.DataLoader of {loader!r}>"


@pytest.fixture
def folder(runtime, library, tmp_path):
    """Eight files of one grey pixel each, and the description of them."""
    for level in range(8):
        (tmp_path / f"{level}.pgm").write_bytes(b"P5 1 1 255\n" + bytes([level]))
    return {"source": {"folder": str(tmp_path)}, "batch": 3, "order": {"seed": 5}, "image": {"transform": [{"resize": [1, 1]}]}}


def order(loaded):
    return [int(pixel) for images in loaded for pixel in images.ravel()[::3]]


def test_set_epoch_goes_anywhere(folder):
    """As a resumed run of a framework does, which knows the number of its epoch and no state."""
    with spdl.DataLoader(folder, "image", tensors="numpy", engine=built("spdl")) as loaded:
        epochs = [order(loaded) for _ in range(4)]
        for epoch in (2, 0, numpy.int64(3)):
            loaded.set_epoch(epoch)
            assert order(loaded) == epochs[epoch]
        with pytest.raises(spdl.ArgumentError, match=r"set_epoch\(-1\) in epoch 4; use load_state_dict"):
            loaded.set_epoch(-1)
        with pytest.raises(TypeError):
            loaded.set_epoch("3")
    assert len({tuple(epoch) for epoch in epochs}) == 4


def test_an_epoch_that_was_left_is_begun_again_where_a_loop_begins_one(folder):
    with spdl.DataLoader(folder, "image", tensors="numpy", restart=True, engine=built("spdl")) as loaded:
        epochs = [order(loaded) for _ in range(3)]
        for named in (1, None):
            loaded.set_epoch(1)
            for _ in loaded:
                break
            if named is not None:
                loaded.set_epoch(named)
            assert order(loaded) == epochs[named or 2]  # unless it is named, the next one


def test_what_is_no_image_has_its_own_name_in_the_usual_tuple(folder, tmp_path):
    for i in range(2):
        (tmp_path / f"{i}.wav").write_bytes(b"RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\x08\0\0\0" + bytes(8))
    spec = {"source": folder["source"], "batch": 2, "audio": {"rate": 8000, "length": 4}}
    with spdl.DataLoader(spec, tensors="numpy", engine=built("spdl")) as loaded:
        sounds, labels = next(iter(loaded))
    assert sounds.shape == (2, 1, 4) and labels.tolist() == [-1, -1]


def test_columns_of_text_are_text(folder, tmp_path):
    (tmp_path / "table.csv").write_text("path,caption\n1.pgm,\"one, two\"\n2.pgm,déjà\n", encoding="utf-8")
    spec = {**folder, "source": {"list": str(tmp_path / "table.csv"), "columns": ["caption"]}, "order": {"shuffle": False}}
    with spdl.DataLoader(spec, ("key", "caption"), tensors="numpy", engine=built("spdl")) as loaded:
        assert next(iter(loaded)) == (["1.pgm", "2.pgm"], ["one, two", "déjà"])


def test_it_opens_and_closes_a_loader_of_its_own(mock):
    with spdl.DataLoader("x", tensors="numpy", max_leases=2) as loaded:
        assert mock.request.max_leases == 2 and next(iter(loaded))[1].tolist() == [0, 1, 2]
    assert mock.counts.readers == 0


def test_it_ends_with_its_last_name(mock):
    """A cell of a notebook that is run again drops the loader before: its engine must not wait for the collector."""
    gc.disable()
    try:
        loaded = spdl.DataLoader("x", tensors="numpy")
        for _ in loaded:
            break
        del loaded, _
        assert mock.counts.readers == 0
    finally:
        gc.enable()


def test_it_leaves_a_loader_that_it_was_given_open(loader):
    with spdl.DataLoader(loader, tensors="numpy"):
        pass
    assert not loader.closed


def test_wrong_arguments_are_refused(mock, loader):
    with pytest.raises(spdl.ArgumentError, match="want \"torch\" or \"numpy\""):
        spdl.DataLoader(loader, tensors="jax")
    with pytest.raises(spdl.ArgumentError, match="max_leases are for a loader that it opens itself"):
        spdl.DataLoader(loader, max_leases=3)
    with pytest.raises(spdl.NotFound, match='did you mean "label"'):
        spdl.DataLoader("x", ("image", "labels"))
    assert mock.counts.readers == 1


def test_what_torch_is_told_is_refused_with_what_does_it_here(mock):
    for name, remedy in _foreign.TORCH.items():
        for call, loader in ((spdl.DataLoader, "loader.loader"), (spdl.open, "loader")) if name not in ("sampler", "shuffle") else ():  # which both take
            with pytest.raises(TypeError, match=f"spdl: {call.__name__}: {name} is torch's; ") as refused:
                call("x", **{name: 1})
            assert remedy.replace("{loader}", loader) in str(refused.value)
    with pytest.raises(TypeError, match="num_workers is torch's; leave it out: the engine has threads"):
        spdl.DataLoader("x", batch=3, num_workers=8)


def test_what_is_no_description_is_so_before_its_arguments_are_looked_at(mock):
    with pytest.raises(TypeError, match="the description is of type list, want a dict, or the path of a file or folder; a data set of yours comes as source="):
        spdl.DataLoader([1, 2, 3], batch_size=2)


@pytest.mark.parametrize("arguments, message", [
    ({"num_worker": 3}, "num_worker is torch's num_workers; leave it out"),
    ({"max_lease": 3}, "unexpected argument max_lease; did you mean max_leases?"),
    ({"field": "image"}, "unexpected argument field; did you mean fields?"),
    ({"batch_size": 3}, "batch_size is torch's; say batch=N, or batch: N in the description"),
    ({"size": (8, 8)}, r"size is \(8, 8\), want a whole number; other sizes are the description's"),
    ({"shuffle": 1}, "shuffle is 1, want True or False"),
    ({"colour": 3}, r"unexpected argument colour; what it takes stands in help\(spdl.DataLoader\)"),
    ({"max_leases": "3"}, "attach: max_leases is '3', want a whole number, or None"),
    ({"lane": 1.5}, "attach: lane is 1.5, want a whole number, or None"),
    ({"fields": 5}, "fields=5, want an iterable of names"),
    ({"fields": b"image"}, "fields=b'image', want an iterable of names"),
    ({"fields": {"image", "label"}}, "has no order, in which a tuple could be taken apart; give a list or a tuple"),
])
def test_a_mistaken_argument_is_named_with_the_remedy(mock, arguments, message):
    with pytest.raises((TypeError, spdl.ArgumentError), match=message):
        spdl.DataLoader("x", **arguments)


def test_torch_tensors_are_views(mock, loader):
    torch = pytest.importorskip("torch")
    for images, labels in spdl.DataLoader(loader):
        assert images.dtype == torch.float32 and labels.dtype == torch.int64
        assert mock.counts.leases >= 1
    del images, labels
    assert mock.counts.leases == 0


def test_without_torch_it_says_what_to_do(loader, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match='install torch, or say tensors="numpy"'):
        next(iter(spdl.DataLoader(loader)))


def test_ragged_fields_are_lists_of_tensors(loader, monkeypatch):
    monkeypatch.setattr(loader.schema, "key", None)
    rows, = next(iter(spdl.DataLoader(loader, ["key"], tensors="numpy")))
    assert [bytes(row) for row in rows] == [b"0", b"1", b"2"]
