"""Every block of docs/migrate.md runs as it is written, on made-up data. Where the other loader is installed, what it gives is held against what spdl gives."""

from __future__ import annotations

import io
import itertools
import pickle
import shutil
import wave

import blocks
import migrate_data
import pytest

np = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image")

PAGE = blocks.of("migrate.md")

# What stands for the model: it keeps the rows that it is given, each a list of what the fields hold of it, in the file rows-RANK.
PRELUDE = blocks.MEET + """
import atexit, pickle
import numpy as np

given = []

def step(*fields):
    meet()
    columns = [f.numpy() if type(f).__module__ == "torch" else f for f in fields]
    given.extend([np.array(column[i]) if isinstance(column, np.ndarray) else column[i] for column in columns] for i in range(len(columns[0])))

@atexit.register
def keep():
    with open("rows-" + os.environ.get("RANK", "0"), "wb") as file:
        pickle.dump(given, file)
"""


def block(title: str, number: int = 1) -> str:
    (name,) = [name for name in PAGE if name.startswith(title) and name.partition(" | ")[2] == ("" if number == 1 else str(number))]
    return PAGE[name]


def test_every_block_is_tried_here():
    """A block that is added to the page fails here until there is a test for it."""
    tried = {"webdataset": 3, "Clips": 2, "Hugging": 7, "Grain": 1, "FFCV": 6, "Lhotse": 2, "Kaldi": 2}
    assert {title: sum(name.startswith(title) for name in PAGE) for title in tried} == tried and len(PAGE) == sum(tried.values())


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return blocks.made(tmp_path_factory.mktemp("migrate"), "migrate_data")


@pytest.fixture
def data(made, tmp_path):
    """A copy of the made-up data, in which a test may write."""
    shutil.copytree(made, tmp_path / "data")
    return tmp_path / "data"


@pytest.fixture
def run(data, made, runtime, tmp_path):
    """Run a script as so many ranks, and give back the rows of each rank that it handed to step; of one rank, its rows."""
    calls = itertools.count()

    def run(script: str, ranks: int = 1, quiet: bool = True) -> list[list]:
        (tmp_path / "script.py").write_text(PRELUDE + script)
        blocks.execute(tmp_path / "script.py", data, made / "cache", ranks, quiet, run=f"migrate-{next(calls)}")
        rows = [pickle.loads((data / f"rows-{rank}").read_bytes()) for rank in range(ranks)]
        return rows if ranks > 1 else rows[0]

    return run


def same(ours: list, theirs: list, by=None, within: float = 0) -> None:
    """The same rows: in the same order, or in the order of a key. Arrays of numbers differ by so much at most."""
    if by is not None:
        ours, theirs = sorted(ours, key=by), sorted(theirs, key=by)
    assert len(ours) == len(theirs)
    for our, their in zip(ours, theirs):
        for a, b in zip(our, their):
            assert np.shape(a) == np.shape(b)
            assert a == b if isinstance(a, str) else np.abs(np.asarray(a, "f8") - np.asarray(b, "f8")).max() <= within


def by_content(row: list) -> tuple:
    return row[0].tobytes(), int(row[1])


# ---- webdataset

CAPTIONS = [f"picture {i}" for i in range(migrate_data.N)]


def test_shards_of_webdataset_give_every_sample_with_its_parts(run):
    rows = run(block("webdataset", 2))
    assert sorted(caption for *_, caption in rows) == sorted(CAPTIONS)
    for image, label, score, caption in rows:
        i = int(caption.split()[1])
        assert (image.shape, image.dtype, label, score) == ((3, 64, 64), np.float32, i % 5, i / 7)


def test_ranks_share_shards_that_are_fewer_and_differ_in_length(run):
    first, second = run(block("webdataset", 2), ranks=2)
    assert sorted(caption for *_, caption in first + second) == sorted(CAPTIONS) and abs(len(first) - len(second)) <= 1


def test_webdataset_gives_the_same(run):
    """To the bit: both resize as Pillow does, and scale in floats of 32 bits."""
    pytest.importorskip("webdataset")
    pytest.importorskip("torchvision.transforms")
    theirs = run(block("webdataset"), quiet=False)
    same(run(block("webdataset", 2)), theirs, by=lambda row: row[3])


@pytest.mark.parametrize("ranks", [1, 2])
def test_webdatasets_pipeline_gives_the_same_by_one_word(run, ranks):
    pytest.importorskip("webdataset")
    pytest.importorskip("torchvision.transforms")
    theirs = block("webdataset")
    ours = theirs.replace("wds.WebLoader(", "spdl.DataLoader(")
    assert ours != theirs
    rows = run("import spdl\n" + ours, ranks=ranks, quiet=False)
    same(rows if ranks == 1 else rows[0] + rows[1], run(theirs, quiet=False), by=lambda row: row[3])


def test_an_epoch_of_so_many_batches_goes_on_in_the_stream(run):
    """3 times 4 batches of 8 are two passes over 41 samples, whose last batch has one."""
    rows = run(block("webdataset", 3))
    assert len(rows) == 2 * migrate_data.N
    same(rows[: migrate_data.N], rows[migrate_data.N :], by=by_content)


# ---- videos


def test_clips_of_a_table_have_their_frames_and_the_numbers_of_their_classes(run):
    rows = run(block("Clips", 2))
    assert [(clip.shape, int(label)) for clip, label in rows] == [((2, 8, 3, 64, 64), (2, 0, 1)[i % 3]) for i in range(6)]


def test_torchcodec_gives_the_same(run):
    """To the bit: both decode by FFmpeg's libraries and convert by its swscale."""
    pytest.importorskip("torchcodec")
    pytest.importorskip("torchvision.transforms.v2")
    same(run(block("Clips", 2)), run(block("Clips"), quiet=False))


# ---- Hugging Face


def test_a_folder_of_pictures_gives_every_one(run):
    rows = run(block("Hugging", 3))
    assert len(rows) == 64 and sorted(int(label) for _, label in rows) == sorted([0, 1, 2, 3] * 16)


def test_hugging_face_gives_the_same(run):
    """To the bit: Pillow's pixels, and the labels of sorted directories."""
    pytest.importorskip("datasets")
    pytest.importorskip("torch")
    same(run(block("Hugging", 3)), run(block("Hugging"), quiet=False), by=by_content)


def test_a_data_set_in_one_word_gives_the_same(run):
    """Where torch is: its tensors have the channels first."""
    pytest.importorskip("datasets")
    pytest.importorskip("torchvision")
    same(run(block("Hugging", 2).replace('batch["image"]', 'batch["image"].permute(0, 2, 3, 1)'), quiet=False), run(block("Hugging", 3)), by=by_content)


def test_a_saved_data_set_gives_the_same_as_its_folder(run):
    pytest.importorskip("datasets")
    run(block("Hugging", 4), quiet=False)
    same(run(block("Hugging", 5)), run(block("Hugging", 3)), by=by_content)


def test_parquet_with_its_pictures_in_it_gives_the_same_as_their_folder(run):
    pytest.importorskip("datasets")
    run(block("Hugging", 6), quiet=False)
    same(run(block("Hugging", 5).replace('"saved"', '"train.parquet"')), run(block("Hugging", 3)), by=by_content)


def test_rows_of_a_data_set_are_brought_as_they_are(run):
    pytest.importorskip("datasets")
    same(run(block("Hugging", 7), quiet=False), run(block("Hugging", 3)), by=by_content)


# ---- formats that are written once as shards

READ = """
import spdl

with spdl.open({{"source": {{"shards": "{0}-*.tar"}}, "batch": 16, "order": {{"shuffle": False}}, "image": {{"mode": "rgb", "transform": [{{"center_crop": 48}}]}}}}) as loader:
    for batch in loader:
        step(batch["image"], batch["label"])
"""


@pytest.fixture
def pictures(data):
    """The encoded pictures that a format of its own is made of, with labels."""
    return [(path.read_bytes(), i % 3) for i, path in enumerate(sorted((data / "imagenet/train").glob("*/*.jpg")))]


def middle(image) -> object:
    """The middle 48 x 48 of a picture, as torchvision's CenterCrop has it."""
    left, top = round((image.width - 48) / 2), round((image.height - 48) / 2)
    return np.asarray(image.crop((left, top, left + 48, top + 48)))


def converted(run, number: int, name: str) -> list:
    run(block("FFCV") + block("FFCV", number), quiet=False)
    return run(READ.format(name))


def want(pictures) -> list:
    return [[middle(Image.open(io.BytesIO(jpeg)).convert("RGB")), label] for jpeg, label in pictures]


def test_pack_writes_shards_of_so_many_samples(run, data, pictures):
    (data / "pictures").write_bytes(pickle.dumps([{"jpg": jpeg, "cls": b"%d" % label} for jpeg, label in pictures]))
    run(block("FFCV") + 'with open("pictures", "rb") as file:\n    pack(pickle.load(file), "packed-%06d.tar", 30)\n')
    assert [path.name for path in sorted(data.glob("packed-*"))] == [f"packed-{k:06}.tar" for k in range(3)]
    same(run(READ.format("packed")), want(pictures))


MDS = """
import io, pickle
import streaming
from PIL import Image

with open("pictures", "rb") as file:
    pictures = pickle.load(file)
with streaming.MDSWriter(out="mds", columns={"image": "jpeg", "label": "int", "caption": "str"}, size_limit=40_000, compression="zstd") as out:
    for jpeg, label in pictures:
        out.write({"image": Image.open(io.BytesIO(jpeg)), "label": label, "caption": "c"})
old = streaming.StreamingDataset(local="mds", shuffle=False, batch_size=1)
for sample in map(old.__getitem__, range(len(old))):
    step(np.asarray(sample["image"].convert("RGB"))[None], np.array([sample["label"]]))
"""


READ_AS_IT_IS = """
import spdl

with spdl.open({"source": {"shards": "NAME"}, "batch": 16, "order": {"shuffle": False}, "image": {"mode": "rgb", "transform": [{"center_crop": 48}]}}) as loader:
    for batch in loader:
        step(batch["image"], batch["label"])
"""


def test_mds_is_read_as_it_is(run, data, pictures):
    """MDS may have encoded a picture anew: what StreamingDataset gives is what counts."""
    pytest.importorskip("streaming")
    (data / "pictures").write_bytes(pickle.dumps(pictures))
    theirs = run(MDS, quiet=False)
    assert len(theirs) == len(pictures)
    same(run(READ_AS_IT_IS.replace("NAME", "mds")), [[middle(Image.fromarray(image)), label] for image, label in theirs])


OPTIMIZE = """
import glob, litdata
from PIL import Image

files = sorted(glob.glob("imagenet/train/*/*.jpg"))

def sample(i):
    return {"image": Image.open(files[i]), "label": i % 3}

if __name__ == "__main__":
    litdata.optimize(fn=sample, inputs=list(range(len(files))), output_dir="litdata", chunk_bytes="64KB", num_workers=1)
"""


def test_litdata_is_read_as_it_is(run, data, pictures):
    pytest.importorskip("litdata")
    run(OPTIMIZE, quiet=False)
    same(run(READ_AS_IT_IS.replace("NAME", "litdata")), want(pictures))


BETON = """
import glob
from ffcv.fields import IntField, RGBImageField
from ffcv.writer import DatasetWriter
from PIL import Image

class Pictures:
    files = sorted(glob.glob("imagenet/train/*/*.jpg"))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        return Image.open(self.files[i]).convert("RGB"), i % 3

if __name__ == "__main__":
    DatasetWriter("data.beton", {{"image": RGBImageField(write_mode="{}", jpeg_quality=95), "label": IntField()}}, num_workers=1).from_indexed_dataset(Pictures(), chunksize=1000)
"""


@pytest.mark.parametrize("mode, within", [("raw", 0), ("jpg", 60)])
def test_a_beton_is_written_as_shards(run, pictures, mode, within):
    """Raw pixels are the same. JPEGs have been encoded again by FFCV, so that they are only near what they were made of."""
    pytest.importorskip("ffcv.reader")
    run(BETON.format(mode), quiet=False)
    same(converted(run, 2, "beton"), want(pictures), within=within)


def test_lmdb_is_written_as_shards(run, data, pictures):
    lmdb = pytest.importorskip("lmdb")
    with lmdb.open(str(data / "lmdb"), map_size=1 << 28) as database, database.begin(write=True) as transaction:
        for i, sample in enumerate(pictures):
            transaction.put(b"%08d" % i, pickle.dumps(sample))
    same(converted(run, 3, "lmdb"), want(pictures))


def test_array_records_are_written_as_shards(run, data, pictures):
    writer = pytest.importorskip("array_record.python.array_record_module")
    pytest.importorskip("absl")
    out = writer.ArrayRecordWriter(str(data / "train.array_record"), "group_size:1")
    for sample in pictures:
        out.write(pickle.dumps(sample))
    out.close()
    same(converted(run, 4, "arrayrecord"), want(pictures))


def test_arrays_of_hdf5_are_read_where_they_lie(run, data):
    h5py = pytest.importorskip("h5py")
    x, y = np.random.default_rng(0).integers(0, 256, (2100, 4, 4, 3), dtype=np.uint8), np.arange(2100)
    with h5py.File(data / "train.h5", "w") as file:
        file["pixels"], file["y"] = x, y
    same(run(block("FFCV", 5)), list(zip(x, y)), by=lambda row: int(row[1]))


def test_media_in_hdf5_are_read_where_they_lie(run, data, pictures):
    h5py = pytest.importorskip("h5py")
    with h5py.File(data / "train.h5", "w") as file:
        jpegs = file.create_dataset("jpeg", (24,), h5py.vlen_dtype(np.uint8))
        tokens = file.create_dataset("tokens", (24,), h5py.vlen_dtype(np.int32))
        for i, (jpeg, _) in enumerate(pictures[:24]):
            jpegs[i], tokens[i] = np.frombuffer(jpeg, np.uint8), np.arange(i)
        file["caption"], file["y"] = [f"Größe {i}" for i in range(24)], np.arange(24)
    rows = run(block("FFCV", 6))
    assert sorted(int(label) for _, label, _, _ in rows) == list(range(24))
    for image, label, caption, tokens in rows:
        assert image.shape == (64, 64, 3) and caption == f"Größe {label}" and list(tokens) == list(range(label))


# ---- Grain


def test_array_records_are_read_where_they_lie(run, data):
    rows = run(block("Grain"))
    numbers = [int(caption.split()[1]) for _, _, caption in rows]
    assert sorted(numbers) == list(range(24)) != numbers  # shuffled
    for i, (image, label, caption) in zip(numbers, rows):
        assert (image.shape, label, caption) == ((16, 16, 3), i % 5, f"grey {i}") and (image == 10 * i).all()


def test_array_records_that_are_written_now_are_read(run, data, pictures):
    """What the library writes, in groups, is what is read, record by record."""
    writer = pytest.importorskip("array_record.python.array_record_module")
    pytest.importorskip("absl")
    for path in (data / "tfds/greys/1.0.0").iterdir():
        path.unlink()
    out = writer.ArrayRecordWriter(str(data / "tfds/greys/1.0.0/greys-train.array_record-00000-of-00001"), "group_size:4,brotli:5")
    for i, (jpeg, label) in enumerate(pictures):
        out.write(example(image=jpeg, label=label, caption=b"grey %d" % i))
    out.close()
    rows = sorted(run(block("Grain").replace('"resize": [16, 16]', '"center_crop": 48')), key=lambda row: int(row[2].split()[1]))
    same([row[:2] for row in rows], want(pictures))


def example(**features) -> bytes:
    """A tf.train.Example of bytes, and of whole numbers from 0 to 127."""
    def field(number: int, value: bytes) -> bytes:
        size = len(value)
        return bytes([number << 3 | 2]) + bytes(size >> 7 * k & 127 | (128 if size >> 7 * (k + 1) else 0) for k in range((size.bit_length() + 6) // 7 or 1)) + value

    def feature(value) -> bytes:
        return field(1, field(1, value)) if isinstance(value, bytes) else field(3, field(1, bytes([value])))

    return field(1, b"".join(field(1, field(1, name.encode()) + field(2, feature(value))) for name, value in features.items()))


# ---- Kaldi


def test_segments_of_kaldi_are_parts_of_recordings(run, data):
    run(block("Kaldi"))
    rows = run(block("Kaldi", 2))
    assert len(rows) == len(migrate_data.SEGMENTS)
    for (audio, length, text), (recording, start, end, words) in zip(rows, migrate_data.SEGMENTS):
        with wave.open(str(data / f"kaldi/wav/{recording}.wav")) as file:
            samples = np.frombuffer(file.readframes(file.getnframes()), "<i2") / np.float32(32768)
        np.testing.assert_array_equal(audio[0, :length], samples[round(start * 16000):round(end * 16000)])
        assert text == words


# ---- Lhotse


def test_cuts_of_lhotse_are_parts_of_recordings(run, data):
    """To the bit: FLAC's samples, at the frames that the cut's seconds are."""
    lhotse = pytest.importorskip("lhotse")
    run(block("Lhotse"), quiet=False)
    theirs = []
    for cut in lhotse.CutSet.from_file(data / "cuts.jsonl.gz"):
        for recording in cut.recording.sources:
            recording.source = str(data / recording.source)
        theirs.append((cut.load_audio(), cut.supervisions[0].text))
    ours = [(audio[:, :length], text) for audio, length, text in run(block("Lhotse", 2))]
    assert len(theirs) > 10
    same(ours, theirs)


SHAR = """
import os
from lhotse import CutSet

os.mkdir("shar")
CutSet.from_file("cuts.jsonl.gz").to_shar("shar", fields={"recording": "flac"}, shard_size=4)
"""

FROM_SHAR = """
import spdl

spec = {"source": {"shards": "shar/recording.*.tar", "labels": "none"}, "batch": 4, "order": {"shuffle": False}, "audio": {"rate": 16000, "length": "1s", "shape": "padded"}}
with spdl.open(spec) as loader:
    for batch in loader:
        step(batch["audio"], batch["length"])
"""


def test_shar_of_lhotse_is_read_as_shards(run):
    """Within a step of 16 bits: to_shar rounds the cuts' floats into FLAC's samples."""
    pytest.importorskip("lhotse")
    run(block("Lhotse") + SHAR, quiet=False)
    cuts, shar = run(block("Lhotse", 2)), run(FROM_SHAR)
    same([(audio[:, :n], n) for audio, n in shar], [(audio[:, :n], n) for audio, n, _ in cuts], within=2**-15)
