"""Programs that load batches, as a type checker reads them.

scripts/check.sh runs `mypy --strict` over this folder; nothing of it is executed. assert_type is what a program is told. A line with
`type: ignore` is a wrong use: where the checker does not find it, the comment is unused, and that is a finding.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Optional, Union, assert_type

import numpy
from numpy.typing import NDArray

import spdl


def step(images: NDArray[numpy.uint8], labels: NDArray[numpy.int64]) -> float:
    return float(images.mean() + labels.mean())


def train(root: Path) -> dict[str, Any]:
    with spdl.open({"source": {"folder": root}, "image": {"transform": [{"resize": [224, 224]}]}, "batch": 32}, args=["--cpus", "4"]) as loader:
        assert_type(loader, spdl.Loader)
        for batch in loader:
            assert_type(batch, spdl.Batch)
            step(batch["image"], batch["label"])
        for epoch in loader.epochs():
            assert_type(epoch, spdl.Epoch)
            assert_type(next(epoch), spdl.Batch)
        assert_type(loader.classes, Optional[list[str]])
        assert_type(len(loader), int)
        assert_type(loader.info.steps_per_epoch, int)
        assert_type(loader.fields, tuple[spdl.Field, ...])
        assert_type(loader.stats(), dict[str, Any])
        return loader.state_dict()


def paths(folder: Path, url: str, entry: os.DirEntry[str]) -> list[spdl.Loader]:
    return [spdl.open(folder), spdl.open(url, state=None, engine=Path("spdl")), spdl.open(entry), spdl.attach("imagenet", group="train", lane=0)]


def resume(state: dict[str, Any]) -> None:
    loader = spdl.open("imagenet.yaml", state=state)
    loader.load_state_dict(loader.state_dict(count_held=False))
    loader.close()


def rings() -> None:
    with spdl.attach("engine/train") as train, train.ring("val", timeout=5) as val:
        assert_type(val, spdl.Loader)
        for one, other in zip(train, val):
            assert_type((one, other), tuple[spdl.Batch, spdl.Batch])


def fields(batch: spdl.Batch) -> None:
    """What a field is the description says: it may be handed to whatever takes arrays."""
    assert_type(batch["image"], Any)
    assert_type(batch.array("image"), Any)
    assert_type(batch.get("image"), Optional[Any])
    assert_type(list(batch), list[str])
    assert_type(batch.text("caption"), list[str])
    assert_type(batch.sample_keys, list[str])
    assert_type(batch.copy(), dict[str, Any])
    assert_type(batch.cuda["image"], spdl.Array)
    assert_type(batch.rows, int)
    assert_type(batch.last, bool)
    for name, value in batch.items():
        assert_type(name, str)
        print(name, value.shape)


def arrays(array: spdl.Array, ragged: spdl.Ragged) -> None:
    assert_type(array.shape, tuple[int, ...])
    assert_type(array.dtype, spdl.DType)
    assert_type(array.numpy(), NDArray[Any])
    assert_type(array.copy(), spdl.Array)
    assert_type(array.memoryview().tobytes(), bytes)
    assert_type(array.tolist(), list[Any])
    assert_type(ragged[0], Union[NDArray[Any], spdl.Array])
    assert_type(ragged[1:], list[Union[NDArray[Any], spdl.Array]])
    assert_type(ragged.steps, spdl.Array)
    assert_type(ragged.text(), list[str])
    numpy.asarray(array)


def acquire(loader: spdl.Loader) -> None:
    while (batch := loader.acquire(timeout=1.5)) is not None:
        with batch:
            step(batch["image"], batch["label"])
    taken = loader.acquire()
    taken.release()  # type: ignore[union-attr]


async def in_a_task(loader: spdl.Loader) -> None:
    async for batch in loader:
        assert_type(batch, spdl.Batch)
    assert_type(await anext(aiter(loader)), spdl.Batch)


def in_torchs_place(root: str) -> None:
    with spdl.DataLoader("imagenet.yaml", fields=("image", "label"), tensors="numpy", copy=True) as loader:
        for images, labels in loader:
            step(images, labels)
        loader.set_epoch(loader.loader.epoch + 1)
        assert_type(loader.batch_size, int)
        assert_type(loader.classes, Optional[list[str]])
        assert_type(loader.loader, spdl.Loader)
        print(loader.num_workers)  # type: ignore[attr-defined]
    spdl.DataLoader(root, {"x": "image"}, transform=lambda batch: batch["x"])
    spdl.DataLoader(root, "image", "numpy")
    spdl.DataLoader(root, transform="resize")  # type: ignore[arg-type]
    spdl.DataLoader(root, transform=str.upper, tensors=None)  # type: ignore[arg-type]


def a_log(loader: spdl.Loader) -> None:
    for batch in spdl.delivery_log(loader, Path("rank0.jsonl")):
        assert_type(batch, spdl.Batch)


class Films:
    """A data set of one's own."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> tuple[bytes, int]:
        return b"", index


def own_samples() -> None:
    try:
        spdl.open({"video": {}}, source=Films(), source_threads=2)
    except spdl.SpdlError as error:
        assert_type(error.status, Optional[int])


def wrong(loader: spdl.Loader, batch: spdl.Batch, array: spdl.Array) -> None:
    spdl.open(3)  # type: ignore[arg-type]
    spdl.open(["a", "b"])  # type: ignore[arg-type]
    spdl.open("a", lanes=1)  # type: ignore[call-arg]
    spdl.open("a", state="b")  # type: ignore[arg-type]
    spdl.attach()  # type: ignore[call-arg]
    spdl.attach("a", lane="0")  # type: ignore[arg-type]
    spdl.atach("a")  # type: ignore[attr-defined]
    loader.ring(1)  # type: ignore[arg-type]
    loader.load_state_dict("a")  # type: ignore[arg-type]
    loader.acquire("soon")  # type: ignore[arg-type]
    loader.batches()  # type: ignore[attr-defined]
    batch[0]  # type: ignore[index]
    batch["image"] = 1  # type: ignore[index]
    batch.images  # type: ignore[attr-defined]
    batch.rows = 3  # type: ignore[misc]
    batch.cuda["image"].cuda()  # type: ignore[attr-defined]
    array.shape.append(1)  # type: ignore[attr-defined]
    array.to("cuda")  # type: ignore[attr-defined]
