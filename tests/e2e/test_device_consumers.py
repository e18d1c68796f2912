"""Batches in device memory, on a GPU, as PyTorch, JAX and CuPy see them; and pinned slots, copied by PyTorch."""

import numpy as np
import pytest
import spdl
from driver import needs_gpu
from engines import describe

pytestmark = [needs_gpu, pytest.mark.usefixtures("cuda")]


def to_numpy(consumer, array):
    match consumer:
        case "torch":
            return array.torch().cpu().numpy()
        case "jax":
            return np.asarray(pytest.importorskip("jax.dlpack").from_dlpack(array))
        case "cupy":
            return pytest.importorskip("cupy").asarray(array).get()


@pytest.mark.parametrize("consumer", ["torch", "jax", "cupy"])
@pytest.mark.parametrize("finish", [None, "f32", "f16", "bf16"])
def test_batches_are_read_where_they_are(consumer, finish, pictures):
    pytest.importorskip(consumer)
    if finish == "bf16" and consumer != "torch":
        pytest.skip("NumPy has no bfloat16 to compare with")
    device = {} if finish is None else {"finish": {"dtype": finish}}
    tickets = []
    with spdl.open(describe(pictures.path, device=device)) as loader:
        for batch in loader:
            array = batch.cuda["image"]
            got = (array.torch().float().cpu().numpy() if finish == "bf16" else to_numpy(consumer, array)).copy()
            want = batch["image"] if finish is None else (batch["image"] / 255).transpose(0, 3, 1, 2)
            within = {None: 0, "f32": 1e-6, "f16": 1 / 1024, "bf16": 1 / 128}[finish]
            assert np.abs(got.astype(np.float64) - want).max() <= within, batch.ticket
            tickets.append(batch.ticket)
            del array
    assert tickets == list(range(14))


def test_a_stream_waits_for_the_upload_and_the_slot_for_the_stream(pictures):
    torch = pytest.importorskip("torch")
    sums, wants = [], []
    with spdl.open(describe(pictures.path, device={"slots": 3})) as loader:
        for batch in loader:
            wants.append(int(batch["image"].astype(np.int64).sum()))
            image = batch.cuda["image"].torch()
            sums.append(image.long().sum())
            del image
            batch.release_after(torch.cuda.current_stream())
    assert [int(s) for s in sums] == wants


def test_pinned_slots_are_copied_beside_the_program(pictures):
    torch = pytest.importorskip("torch")
    with spdl.open(describe(pictures.path)) as loader:
        info = loader.pin()
        assert info.mode == "writable"
        for batch in loader:
            host = batch.array("image").torch()
            assert host.is_pinned()
            want = int(host.long().sum())
            image = host.to("cuda", non_blocking=True)
            del host
            batch.release_after(torch.cuda.current_stream())
            assert int(image.long().sum()) == want
