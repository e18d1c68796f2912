"""Data sets of Megatron-Energon, through the real command: a split's shards, by the directory that has .nv-meta."""

import io
import subprocess
import tarfile

import numpy as np
import pytest
import spdl
from engines import PATIENCE, SPDL, environment
from PIL import Image

SPLITS = "exclude: [shards/s_1.tar]\nsplit_parts:\n  train: [\"shards/s_{0..2}.tar\"]\n  val: [shards/s_3.tar]\n"
REST = {"image": {"transform": [{"resize": [8, 8]}]}, "order": {"shuffle": False}, "batch": 4}


@pytest.fixture
def cc(tmp_path):
    """Four shards of three pictures with captions, as `energon prepare` leaves them."""
    (tmp_path / "cc/shards").mkdir(parents=True)
    (tmp_path / "cc/.nv-meta").mkdir()
    (tmp_path / "cc/.nv-meta/split.yaml").write_text(SPLITS)
    (tmp_path / "cc/.nv-meta/dataset.yaml").write_text("sample_type: {__module__: megatron.energon, __class__: CaptioningSample}\nfield_map: {image: png, caption: txt}\n")
    for shard in range(4):
        with tarfile.open(tmp_path / f"cc/shards/s_{shard}.tar", "w") as tar:
            for i in range(3 * shard, 3 * shard + 3):
                png = io.BytesIO()
                Image.fromarray(np.full((10, 12, 3), 20 * i, np.uint8)).save(png, "PNG")
                for part, data in (("png", png.getvalue()), ("txt", b"picture %d" % i)):
                    member = tarfile.TarInfo(f"{i:05}.{part}")
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))
    return tmp_path / "cc"


@pytest.mark.parametrize("split, want", [(None, [0, 1, 2, 6, 7, 8]), ("train", [0, 1, 2, 6, 7, 8]), ("val", [9, 10, 11])])
def test_a_split_is_its_samples(cc, split, want):
    source = {"shards": str(cc), "columns": [{"name": "caption", "from": "txt"}], **({"split": split} if split else {})}
    with spdl.open({"source": source, **REST, "order": {"shuffle": False, "epochs": 1}}) as loader:
        rows = [(int(image[0, 0, 0]), caption) for batch in loader for image, caption in zip(batch["image"], batch.text("caption"))]
    assert rows == [(20 * i, f"picture {i}") for i in want]


def test_the_command_takes_the_directory_and_says_what_it_is(cc):
    run = subprocess.run([SPDL, "check", str(cc), "--size", "8"], env=environment(), capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 0, run.stderr
    assert f"shards {cc} (Energon): 6 samples" in run.stdout


@pytest.mark.parametrize("source, want", [
    ({"split": "dev"}, 'it has no split "dev"; want source.split: one of train, val'),
    ({"shards": "shards/s_0.tar", "split": "val"}, 'split: got "val", and none of the shards is a data set that lists its splits'),
    ({"shards": None, "folder": "shards", "split": "val"}, "source.split: goes with shards of a data set that lists its splits"),
])
def test_a_split_that_is_not_there_is_refused(cc, source, want):
    source = {key: str(cc / value) if key in ("shards", "folder") else value for key, value in {"shards": ".", **source}.items() if value}
    with pytest.raises(spdl.SpecError, match=want):
        spdl.open({"source": source, **REST})
