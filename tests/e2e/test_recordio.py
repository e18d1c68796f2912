"""Data sets of MXNet's RecordIO: the same batches as from the folder of their pictures, and labels of every kind."""

import io
import struct
import subprocess

import numpy as np
import pytest
import spdl
from engines import PATIENCE, SPDL, environment
from PIL import Image
from test_mds import own_cache, server  # noqa: F401
from test_sources import TRANSFORM, check

pytestmark = pytest.mark.usefixtures("own_cache")
MAGIC = struct.pack("<I", 0xCED7230A)


def record(label, data, number=0):
    """The bytes of a record: a header, labels where there are several, and a file; split where the magic number is at a multiple of 4."""
    labels = np.atleast_1d(label).astype("<f4")
    value = struct.pack("<IfQQ", 0, labels[0], number, 0) if np.ndim(label) == 0 else struct.pack("<IfQQ", labels.size, 0, number, 0) + labels.tobytes()
    value += data
    cuts = [at for at in range(0, len(value) - 3, 4) if value[at:at + 4] == MAGIC]
    parts = [value[begin:end] for begin, end in zip([0, *(at + 4 for at in cuts)], [*cuts, len(value)])]
    kinds = [0] if len(parts) == 1 else [1] + [2] * (len(parts) - 2) + [3]
    return b"".join(MAGIC + struct.pack("<I", kind << 29 | len(part)) + part + bytes(-len(part) % 4) for kind, part in zip(kinds, parts))


def make_faces(directory, samples, per):
    """Files as InsightFace lays them out: a header that says where the pictures end, the pictures, and a header for each face."""
    directory.mkdir(parents=True)
    for k, first in enumerate(range(0, len(samples), per)):
        some = samples[first:first + per]
        pictures = [record(float(sample.label), sample.path.read_bytes(), i) for i, sample in enumerate(some, 1)]
        head = record([len(some) + 1, len(some) + 3], b"")
        (directory / f"train-{k:02}.rec").write_bytes(b"".join([head, *pictures, record([1, 3], b""), record([3, len(some) + 1], b"")]))


def key(per):
    return lambda i, sample: str(i % per + 1)


def test_recordio_gives_what_the_folder_gives(pictures, tmp_path, open_):
    make_faces(tmp_path / "rec", pictures.samples, 20)
    check(open_({"source": {"shards": f"{tmp_path}/rec/*.rec"}, **TRANSFORM}), pictures.samples, key(20))


def test_serve_and_check_take_the_directory(pictures, tmp_path, serve, attach, name):
    make_faces(tmp_path / "rec", pictures.samples, 20)
    serve(str(tmp_path / "rec"), "--size", "24", "--no-shuffle", "--epochs", "1", "--batch", "8")
    check(attach(name), pictures.samples, key(20))
    run = subprocess.run([SPDL, "check", str(tmp_path / "rec"), "--size", "24", "--batches", "0"], env=environment(), capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 0, run.stderr
    assert f"{len(pictures.samples)} samples" in run.stdout


def test_a_store_is_read_in_any_order(pictures, server, open_):
    url, directory, _ = server
    make_faces(directory / "rec", pictures.samples, 1000)
    seen = {}
    for batch in open_({"source": {"shards": f"{url}/rec/train-00.rec", "label": "label"}, **TRANSFORM, "order": {"seed": 3, "epochs": 1}}):
        with batch:
            seen |= dict(zip(np.asarray(batch["index"]).tolist(), np.asarray(batch["label"]).tolist()))
    assert seen == {i: sample.label for i, sample in enumerate(pictures.samples)}


def test_split_records_and_labels_of_every_kind(tmp_path, open_):
    """A JPEG with the magic number in its comment is what Pillow makes of it, and labels are numbers and lists of them."""
    files, labels = [], [[0.5, i, 3][:i % 3 + 1] for i in range(12)]
    for i in range(12):
        file = io.BytesIO()
        Image.fromarray((np.arange(32 * 24 * 3).reshape(24, 32, 3) * (i + 1) // 7).astype(np.uint8)).save(file, "jpeg", comment=b"." * (i % 4) + MAGIC * i, quality=100)
        files.append(file.getvalue())
    data = b"".join(record(label, file) for label, file in zip(labels, files))
    assert data.count(MAGIC) > 12 + 11
    (tmp_path / "x.rec").write_bytes(data)
    spec = {"source": {"shards": str(tmp_path / "x.rec"), "columns": [{"name": "labels", "from": "label", "type": "list", "dtype": "f32", "shape": [-1], "max_length": 5}]}, "batch": 4,
            "order": {"seed": 1, "epochs": 1}, "image": {"transform": [{"center_crop": [24, 32]}]}}
    seen = 0
    for batch in open_(spec):
        with batch:
            for row, i in enumerate(np.asarray(batch["index"]).tolist()):
                assert (np.asarray(batch["image"])[row] == np.asarray(Image.open(io.BytesIO(files[i])))).all()
                assert np.asarray(batch["labels"][row]).tolist() == np.float32(labels[i]).tolist()
                seen += 1
    assert seen == 12
    first = {**spec, "source": {"shards": str(tmp_path / "x.rec"), "label": "label[0]"}, "bad_sample": {"policy": "fail"}}
    with pytest.raises(spdl.SpdlError, match=r'label: "label" is not one whole number; label\[0\] is the first of several'):
        for batch in open_(first):
            batch.release()


def test_pack_makes_archives_of_recordio(pictures, tmp_path, open_):
    make_faces(tmp_path / "rec", pictures.samples, 1000)
    run = subprocess.run([SPDL, "pack", f"{tmp_path}/rec/train-00.rec", "--out", f"{tmp_path}/packed-%02d.tar", "--no-shuffle"], env=environment(), capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 0, run.stderr
    check(open_({"source": {"shards": f"{tmp_path}/packed-*.tar"}, **TRANSFORM}), pictures.samples, lambda i, sample: f"{i:09}")


@pytest.mark.parametrize("spoil, said", [(lambda data: data[:-5], "truncated: record"), (lambda data: b"PK" + data[2:], "want ced7230a; the file is damaged, or not MXNet's RecordIO")])
def test_what_is_wrong_is_refused_by_name(pictures, tmp_path, open_, spoil, said):
    make_faces(tmp_path / "rec", pictures.samples, 20)
    path = tmp_path / "rec/train-01.rec"
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(spdl.SpdlError, match=f"train-01.rec.*{said}"):
        open_({"source": {"shards": f"{tmp_path}/rec/*.rec"}, **TRANSFORM})
