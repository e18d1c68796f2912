"""Parts of files that columns name for each sample: cuts of recordings, segments of videos."""

import gzip
import io
import json
import tarfile
import wave

import numpy as np
import pytest
import spdl
from media_files import sounds, videos

ORDER = {"shuffle": False, "epochs": 1}
COLUMNS = [{"name": "at", "from": "offset", "type": "f64"}, {"name": "seconds", "from": "duration", "type": "f64"}]
WINDOW = {"start_column": "at", "duration_column": "seconds"}
CUTS = [(0, 0, 0.05), (0, 0.025, 0.05), (1, 0.01, 0.02), (0, 0.0999, 1.0), (1, 0.0, 0.0375)]  # of a file, from, for; in the last but one the file ends



def frames(start, lasts, rate=8000):
    return slice(round(start * rate), round((start + lasts) * rate))


def test_a_cut_of_a_sound_is_a_sample(tmp_path, open_):
    """What NeMo's manifests and Lhotse's cuts say; several are of one file."""
    files = [f[0] for f in sounds(tmp_path / "sounds", [800, 300])]
    names = sorted(p.name for p in (tmp_path / "sounds").iterdir())
    lines = [{"path": names[file], "offset": start, "duration": lasts} for file, start, lasts in CUTS]
    (tmp_path / "sounds/cuts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    spec = {"source": {"list": str(tmp_path / "sounds/cuts.jsonl"), "labels": "none", "columns": COLUMNS}, "batch": 3, "order": ORDER,
            "audio": {"rate": 8000, "length": 900, "window": WINDOW}}
    got = [(audio[0, :n].copy(), at) for batch in open_(spec) for audio, n, at in zip(batch["audio"], batch["length"], batch["at"])]
    assert [at for _, at in got] == [start for _, start, _ in CUTS]
    for (audio, _), (file, start, lasts) in zip(got, CUTS):
        np.testing.assert_array_equal(audio, files[file][frames(start, lasts)])


CHANNEL = {"column": "channel"}


def cuts_of_lhotse(tmp_path):
    """A manifest as CutSet.to_file writes it, of a recording with three channels; and what the cuts are."""
    samples = (np.arange(2400).reshape(800, 3) * 7 % 5001 - 2500).astype("<i2")
    with wave.open(str(tmp_path / "three.wav"), "wb") as file:
        file.setparams((3, 2, 8000, 0, "NONE", ""))
        file.writeframes(samples.tobytes())
    recording = {"id": "r", "sources": [{"type": "file", "channels": [0, 1, 2], "source": "three.wav"}], "sampling_rate": 8000, "num_samples": 800, "duration": 0.1}
    cuts = [{"id": f"c{i}", "start": start, "duration": lasts, "channel": channel, "recording": recording, "type": "MonoCut",
             "supervisions": [{"id": f"s{i}", "recording_id": "r", "start": 0.0, "duration": lasts, "channel": channel, "text": f"words {i}"}]}
            for i, (start, lasts, channel) in enumerate([(0, 0.1, 2), (0.025, 0.05, 0), (0.05, 0.01, 1), (0.01, 0.02, 2)])]
    with gzip.open(tmp_path / "cuts.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(cut) + "\n" for cut in cuts)
    source = {"list": str(tmp_path / "cuts.jsonl.gz"), "path": "recording.sources[0].source", "labels": "none", "columns": [
        {"name": "text", "from": "supervisions[0].text"}, {"name": "at", "from": "start", "type": "f64"}, {"name": "seconds", "from": "duration", "type": "f64"}, {"name": "channel", "type": "i64"}]}
    return source, [(samples[frames(c["start"], c["duration"]), c["channel"]] / np.float32(32768), c["supervisions"][0]["text"]) for c in cuts]


def test_cuts_of_lhotse_are_read_as_they_are(tmp_path, open_):
    """Each is one channel of its recording, which the manifest says."""
    source, cuts = cuts_of_lhotse(tmp_path)
    spec = {"source": source, "batch": 3, "order": ORDER, "audio": {"rate": 8000, "length": 900, "window": WINDOW, "select": CHANNEL}}
    got = [(audio[0, :n].copy(), text) for batch in open_(spec) for audio, n, text in zip(batch["audio"], batch["length"], batch.text("text"))]
    assert [text for _, text in got] == [text for _, text in cuts]
    for (audio, _), (want, _) in zip(got, cuts):
        np.testing.assert_array_equal(audio, want)


def test_a_channel_that_is_none_makes_a_bad_sample(tmp_path, open_):
    cuts_of_lhotse(tmp_path)
    (tmp_path / "t.csv").write_text("path,channel\n" + "".join(f"three.wav,{channel}\n" for channel in (1, 3, -1, 64)))
    spec = {"source": {"list": str(tmp_path / "t.csv"), "columns": [{"name": "channel", "type": "i64"}]}, "batch": 4, "order": ORDER,
            "audio": {"rate": 8000, "length": 900, "select": CHANNEL}}
    loader = open_(spec)
    assert [batch["index"].tolist() for batch in loader] == [[0]]
    bad = loader.stats()["rings"][0]["bad_samples"]
    assert bad["causes"] == {"value": 2, "unsupported": 1}
    assert any('select: column "channel": got -1, want a channel, 0 to 63' in line for line in bad["last"])
    assert any("channel 3 of 3; audio.select takes those that are there" in line for line in bad["last"])


def test_a_part_may_be_said_by_its_end(tmp_path, open_):
    """What Kinetics' and AVA's tables have: the rows are those of the same start and duration."""
    files = [f[0] for f in sounds(tmp_path / "sounds", [800, 300])]
    names = sorted(p.name for p in (tmp_path / "sounds").iterdir())
    (tmp_path / "sounds/cuts.csv").write_text("path,time_start,time_end\n" + "".join(f"{names[file]},{start},{start + lasts}\n" for file, start, lasts in CUTS))
    columns = [{"name": name, "type": "f64"} for name in ("time_start", "time_end")]
    spec = {"source": {"list": str(tmp_path / "sounds/cuts.csv"), "columns": columns}, "batch": 3, "order": ORDER,
            "audio": {"rate": 8000, "length": 900, "window": {"start_column": "time_start", "end_column": "time_end"}}}
    got = [audio[0, :n].copy() for batch in open_(spec) for audio, n in zip(batch["audio"], batch["length"])]
    assert len(got) == len(CUTS)
    for audio, (file, start, lasts) in zip(got, CUTS):
        np.testing.assert_array_equal(audio, files[file][frames(start, lasts)])


def test_a_segment_of_a_video_ends_where_its_row_says(tmp_path, open_):
    """Whole seconds, as Kinetics has them, out of a table of ids; a start that is one for all; no start."""
    levels = videos(tmp_path / "videos", [23])[0]
    next((tmp_path / "videos").iterdir()).rename(tmp_path / "videos/v_000001.y4m")
    (tmp_path / "videos/t.csv").write_text("label,youtube_id,time_start,time_end\nzumba,v,1,2\nabseiling,v,1,9\n")
    source = {"list": str(tmp_path / "videos/t.csv"), "path": "{youtube_id}_{time_start:06d}.y4m", "labels": "names", "columns": [{"name": name, "type": "i64"} for name in ("time_start", "time_end")]}
    for start, first in (({"start_column": "time_start"}, 10), ({"start": "500ms"}, 5), ({}, 0)):
        video = {"frames": 23, "select": {"kind": "all"}, "transform": [{"resize": [8, 8]}], "window": {**start, "end_column": "time_end"}}
        batch = next(iter(open_({"source": source, "batch": 2, "order": ORDER, "video": video})))
        assert batch["frames"].tolist() == [20 - first, 23 - first]
        assert batch["label"].tolist() == [1, 0]
        for row, n in enumerate(batch["frames"]):
            assert np.abs(batch["video"][row][:n, 0, 0, 0].astype(int) - levels[first:first + n]).max() <= 1


def test_rows_in_memory_are_of_their_cuts(tmp_path, open_):
    """Two samples of one file and different parts are two rows of the cache."""
    sounds(tmp_path / "sounds", [800])
    name = next(p.name for p in (tmp_path / "sounds").iterdir())
    (tmp_path / "sounds/cuts.csv").write_text(f"path,offset,duration\n{name},0,0.01\n{name},0.05,0.01\n")
    spec = {"source": {"list": str(tmp_path / "sounds/cuts.csv"), "labels": "none", "columns": COLUMNS}, "batch": 2, "order": {"shuffle": False, "epochs": 2},
            "audio": {"rate": 8000, "length": 80, "window": WINDOW}, "cache": {"rows_bytes": "1MiB"}}
    first, second = ([batch["audio"].copy() for batch in epoch] for epoch in open_(spec).epochs())
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first[0][0], first[0][1])


def test_a_segment_of_a_video_is_a_sample(tmp_path, open_):
    """Kinetics' time_start, a whole number of seconds, with one length for all, out of the JSON of tar archives."""
    levels = videos(tmp_path / "videos", [23])[0]
    data = next((tmp_path / "videos").iterdir()).read_bytes()
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for i, start in enumerate((0, 1, 2)):
            for part, content in (("y4m", data), ("json", json.dumps({"time_start": start}).encode())):
                member = tarfile.TarInfo(f"{i}.{part}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    spec = {"source": {"shards": str(tmp_path / "a.tar"), "columns": [{"name": "from", "from": "json[time_start]", "type": "i64"}]}, "batch": 3, "order": ORDER,
            "video": {"frames": 5, "select": {"kind": "all"}, "transform": [{"resize": [8, 8]}], "window": {"start_column": "from", "duration": "500ms"}}}
    batch = next(iter(open_(spec)))
    assert batch["frames"].tolist() == [5, 5, 3]
    for row, (start, n) in enumerate(((0, 5), (10, 5), (20, 3))):
        assert np.abs(batch["video"][row][:n, 0, 0, 0].astype(int) - levels[start:start + 5]).max() <= 1
        np.testing.assert_allclose(batch["pts"][row][:n], np.arange(start, start + n) / 10, atol=1e-9)


def test_a_time_that_is_none_makes_a_bad_sample(tmp_path, open_):
    sounds(tmp_path / "sounds", [800])
    name = next(p.name for p in (tmp_path / "sounds").iterdir())
    (tmp_path / "sounds/cuts.csv").write_text("path,offset,duration\n" + "".join(f"{name},{text}\n" for text in ("0,0.01", "-1,0.01", "nan,1", "0,0", "0,inf", "0.5,1")))
    spec = {"source": {"list": str(tmp_path / "sounds/cuts.csv"), "labels": "none", "columns": COLUMNS}, "batch": 6, "order": ORDER,
            "audio": {"rate": 8000, "length": 80, "window": WINDOW}}
    loader = open_(spec)
    assert [batch["index"].tolist() for batch in loader] == [[0]]
    bad = loader.stats()["rings"][0]["bad_samples"]
    assert bad["causes"]["value"] == 4 and bad["total"] == 5
    assert any('window: column "at": got -1, want seconds from 0, up to 1e+09' in line for line in bad["last"])


def test_an_end_that_is_not_behind_the_start_makes_a_bad_sample(tmp_path, open_):
    sounds(tmp_path / "sounds", [800])
    name = next(p.name for p in (tmp_path / "sounds").iterdir())
    (tmp_path / "sounds/cuts.csv").write_text("path,offset,duration\n" + "".join(f"{name},{text}\n" for text in ("0.02,0.03", "0.02,0.02", "0.02,0.01", "0,-1", "0,nan", "0,inf", "-1,1")))
    spec = {"source": {"list": str(tmp_path / "sounds/cuts.csv"), "labels": "none", "columns": COLUMNS}, "batch": 7, "order": ORDER,
            "audio": {"rate": 8000, "length": 80, "window": {"start_column": "at", "end_column": "seconds"}}}
    loader = open_(spec)
    assert [batch["index"].tolist() for batch in loader] == [[0]]
    bad = loader.stats()["rings"][0]["bad_samples"]
    assert bad["causes"]["value"] == 6 and bad["total"] == 6
    assert any('window: column "seconds": got 0.01, want seconds above the start, 0.02, up to 1e+09' in line for line in bad["last"])


@pytest.mark.parametrize("change, want", [
    ({"audio": {"rate": 8000, "length": 80, "window": {"end_column": "offset"}}}, 'audio.window.end_column: got "offset", want the name of one of source.columns of type f64 or i64'),
    ({"audio": {"rate": 8000, "length": 80, "window": {**WINDOW, "end_column": "seconds"}}}, "audio.window.end_column: given beside duration_column, which says the same"),
    ({"audio": {"rate": 8000, "length": 80, "window": {"end_column": "seconds", "duration": "1s"}}}, "audio.window.end_column: given beside duration, which says the same"),
    ({"audio": {"rate": 8000, "length": 80, "window": {"end_column": "seconds"}}, "cache": {"rows_bytes": "1MiB", "rows_dir": "rows"}}, "cache.rows_dir: given beside audio.window of columns"),
    ({"audio": {"rate": 8000, "length": 80, "window": {"start_column": "offset"}}}, 'audio.window.start_column: got "offset", want the name of one of source.columns of type f64 or i64'),
    ({"audio": {"rate": 8000, "length": 80, "window": {"start_column": "at", "start": "1s"}}}, "audio.window.start_column: given beside start"),
    ({"audio": {"rate": 8000, "length": 80, "select": {"column": "at"}}}, 'audio.select.column: got "at", want the name of one of source.columns of type i64, such as {name: at, type: i64}'),
    ({"audio": {"rate": 8000, "length": 80, "select": {}}}, "audio.select: column is missing, want the name of one of source.columns of type i64, or a list of channels"),
    ({"audio": {"rate": 8000, "length": 80, "select": "at"}}, "audio.select: got text \"at\", want a list of channels, from 0, or {column: NAME}"),
    ({"source": {"list": "cuts.csv", "columns": [{"name": "n", "type": "i64"}]}, "audio": {"rate": 8000, "length": 80, "select": {"column": "n"}}, "cache": {"rows_bytes": "1MiB", "rows_dir": "rows"}},
     "cache.rows_dir: given beside audio.select of a column"),
    ({"audio": {"rate": 8000, "length": 80, "window": {"start": "at"}}}, "audio.window.start: got at, want a time such as 1.5s, from 0; a column that says it is start_column"),
    ({"cache": {"rows_bytes": "1MiB", "rows_dir": "rows"}}, "cache.rows_dir: given beside audio.window of columns"),
])
def test_windows_that_cannot_be_are_refused(open_, change, want):
    spec = {"source": {"list": "cuts.jsonl", "columns": COLUMNS}, "batch": 2, "audio": {"rate": 8000, "length": 80, "window": WINDOW}, **change}
    with pytest.raises(spdl.SpecError) as refused:
        open_(spec)
    assert want in str(refused.value)
