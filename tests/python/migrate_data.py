"""Made-up data in the shapes that docs/migrate.md reads, beside recipe_data's: made(directory) writes them."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path

import numpy as np
import spdl.io
from recipe_data import imagenet, jpeg

N = 41  # samples of the shards: three that differ in length


def made(directory: Path) -> None:
    for kind in (imagenet, shapes, actions, chapters, greys, kaldi):
        kind(directory)


def shapes(to: Path) -> None:
    """Shards as webdataset.TarWriter writes them; captions tell the samples apart."""
    (to / "shapes").mkdir()
    for shard, numbers in enumerate((range(16), range(16, 36), range(36, N))):
        with tarfile.open(to / f"shapes/train-{shard:06}.tar", "w") as tar:
            for i in numbers:
                for part, data in {"jpg": jpeg(), "cls": b"%d" % (i % 5), "json": json.dumps({"score": i / 7}).encode(), "txt": f"picture {i}".encode()}.items():
                    member = tarfile.TarInfo(f"{i:08}.{part}")
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))


def actions(to: Path) -> None:
    """Videos in which every frame and every pixel differs from its neighbours, by Kinetics' own kind of table."""
    (to / "actions").mkdir()
    y, x = np.mgrid[0:72, 0:96]
    lines = ["label,youtube_id,time_start,time_end,split"]
    for i in range(6):
        frames = np.stack([np.stack([x * 2 + 4 * k, y * 3 + 2 * k, x + y + 6 * k], axis=-1) % 256 for k in range(40 + 3 * i)]).astype(np.uint8)
        spdl.io.save_video(str(to / f"actions/v{i}.mp4"), frames, 25, codec="mpeg4")
        lines.append(f"{('zumba', 'abseiling', 'juggling balls')[i % 3]},v{i},3,13,val")
    (to / "actions/val.csv").write_text("\n".join(lines) + "\n")


def chapters(to: Path) -> None:
    """A chapter of LibriSpeech."""
    chapter = to / "LibriSpeech/train-clean-100/19/198"
    chapter.mkdir(parents=True)
    lines = []
    for i in range(5):
        n = 24000 + 5000 * i
        wave = (0.3 * np.sin(np.arange(n) * (0.05 + 0.01 * i)) * np.linspace(0.1, 1, n)).astype(np.float32)[None]
        spdl.io.save_audio(str(chapter / f"19-198-{i:04}.flac"), wave, sample_rate=16000)
        lines.append(f"19-198-{i:04} CHAPTER {i}")
    (chapter / "19-198.trans.txt").write_text("\n".join(lines) + "\n")


# Of Kaldi's directory: recording, begin and end in seconds, words.
SEGMENTS = [(f"rec{i}", 0.25 * i + 0.5 * j, 0.25 * i + 0.5 * j + 0.375, f'SOME "WORDS {i} {j}') for i in range(2) for j in range(3)]


def kaldi(to: Path) -> None:
    (to / "kaldi/wav").mkdir(parents=True)
    for i in range(2):
        wave = (0.3 * np.sin(np.arange(32000) * (0.05 + 0.01 * i)) * np.linspace(0.1, 1, 32000)).astype(np.float32)[None]
        spdl.io.save_audio(str(to / f"kaldi/wav/rec{i}.wav"), wave, sample_rate=16000)
    (to / "kaldi/wav.scp").write_text("".join(f"rec{i} wav/rec{i}.wav\n" for i in range(2)))
    (to / "kaldi/segments").write_text("".join(f"utt{k} {recording} {start} {end}\n" for k, (recording, start, end, _) in enumerate(SEGMENTS)))
    (to / "kaldi/text").write_text("".join(f"utt{k} {words}\n" for k, (_, _, _, words) in enumerate(SEGMENTS)))


def greys(to: Path) -> None:
    """A split of TFDS in ArrayRecords, which their own library has written: pictures of one grey each, 10 * i, with the labels i % 5 and the captions "grey i"."""
    version = to / "tfds/greys/1.0.0"
    version.mkdir(parents=True)
    for packed in (Path(__file__).parents[2] / "core/source/testdata/arrayrecord").glob("greys-*.gz"):
        (version / packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))
    for name in ("features.json", "dataset_info.json"):
        (version / name).write_text("{}")
