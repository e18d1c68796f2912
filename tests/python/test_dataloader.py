"""DataLoader: a loader in the shape of torch's."""

from __future__ import annotations

import pytest
import spdl

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
    assert list(next(iter(spdl.DataLoader(loader, None, **take)))) == ["image", "label", "half", "padded"]
    assert next(iter(spdl.DataLoader(loader, ["key"], **take))) == (["12", "13", "14"],)


def test_transform_maps_what_is_handed_out(loader):
    loaded = spdl.DataLoader(loader, transform=lambda pair: {"x": pair[0] / 2, "y": pair[1]}, tensors="numpy")
    assert [batch["y"][0] for batch in loaded] == [0, 3, 6, 9, 12]


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


def test_it_opens_and_closes_a_loader_of_its_own(mock):
    with spdl.DataLoader("x", tensors="numpy", max_leases=2) as loaded:
        assert mock.request.max_leases == 2 and next(iter(loaded))[1].tolist() == [0, 1, 2]
    assert mock.counts.readers == 0


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
    for name, remedy in spdl._dataloader._TORCH.items():
        with pytest.raises(TypeError, match=f"spdl: DataLoader: {name} is torch's; ") as refused:
            spdl.DataLoader("x", **{name: 1})
        assert remedy in str(refused.value)
    with pytest.raises(TypeError, match="num_workers is torch's; leave it out: the engine has threads"):
        spdl.DataLoader("x", num_workers=8, batch=3)


@pytest.mark.parametrize("arguments, message", [
    ({"num_worker": 3}, "num_worker is torch's num_workers; leave it out"),
    ({"max_lease": 3}, "unexpected argument max_lease; did you mean max_leases?"),
    ({"field": "image"}, "unexpected argument field; did you mean fields?"),
    ({"batch": 3}, "batch is the description's; say batch: N there"),
    ({"colour": 3}, r"unexpected argument colour; what it takes stands in help\(spdl.DataLoader\)"),
    ({"max_leases": "3"}, "attach: max_leases is '3', want a whole number, or None"),
    ({"lane": 1.5}, "attach: lane is 1.5, want a whole number, or None"),
    ({"fields": 5}, "fields=5, want an iterable of names"),
    ({"fields": b"image"}, "fields=b'image', want an iterable of names"),
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


def test_ragged_fields_are_lists_of_tensors(loader, monkeypatch):
    monkeypatch.setattr(loader.schema, "key", None)
    rows, = next(iter(spdl.DataLoader(loader, ["key"], tensors="numpy")))
    assert [bytes(row) for row in rows] == [b"0", b"1", b"2"]
