"""Frames that columns name: one time or index of each sample, with others around it, or a list."""

import io
import json
import tarfile

import numpy as np
import pytest
import spdl
from media_files import videos

ORDER = {"shuffle": False, "epochs": 1}
PIXELS = [{"resize": [8, 8]}]
N, FPS = 20, 10  # frames of level 20 + 10 k + i at k / 10 s: of video 0 and 1


def table(folder, rows):
    """A JSONL of samples, of videos 000.y4m (20 frames) and 001.y4m (12)."""
    videos(folder, [N, 12])
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"list": str(folder / "t.jsonl"), "labels": "none"}


def chosen(open_, source, columns, select, rows, **more):
    """The frames of each sample's row by their levels, their times, and how many there are."""
    video = {"select": select, "transform": PIXELS, **more.pop("video", {})}
    spec = {"source": {**source, "columns": columns}, "batch": rows, "order": ORDER, "video": video, **more}
    loader = open_(spec)
    found = {}
    for batch in loader:
        for row, index in enumerate(batch["index"]):
            n = int(batch["frames"][row])
            level = batch["video"][row][:n, 4, 4, 0].astype(int)
            file = int(bytes(batch["key"][row])[2:3])
            numbers = np.rint((level - 20 - file) / 10).astype(int).tolist()
            assert np.allclose(batch["pts"][row][:n], np.array(numbers) / FPS)
            found[int(index)] = numbers
    return found, loader.stats()["rings"][0]["bad_samples"]


F64, I64 = [{"name": "at", "type": "f64"}], [{"name": "at", "type": "i64"}]
LIST = [{"name": "at", "type": "list", "dtype": "f32", "max_length": 4}]


def test_one_time_of_each_sample_and_others_around_it(tmp_path, open_):
    rows = [{"path": "000.y4m", "at": 0.52}, {"path": "001.y4m", "at": 1.1}, {"path": "000.y4m", "at": 0}]
    source = table(tmp_path, rows)
    assert chosen(open_, source, F64, {"kind": "times", "column": "at"}, 3)[0] == {0: [5], 1: [11], 2: [0]}
    around = {"kind": "times", "column": "at", "times": [-0.2, -0.1, 0]}
    found, bad = chosen(open_, source, F64, around, 3)
    assert found == {0: [3, 4, 5], 1: [9, 10, 11]} and bad["causes"] == {"no_such_frames": 1}
    assert chosen(open_, source, F64, {**around, "policy": "repeat_last"}, 3)[0] == {0: [3, 4, 5], 1: [9, 10, 11], 2: [0, 0, 0]}
    whole = [{"path": "000.y4m", "at": 1}]
    assert chosen(open_, table(tmp_path, whole), I64, {"kind": "times", "column": "at", "times": [0.25, -1]}, 1)[0] == {0: [12, 0]}


def test_one_index_of_each_sample_and_others_around_it(tmp_path, open_):
    source = table(tmp_path, [{"path": "000.y4m", "at": 19}, {"path": "001.y4m", "at": 5}])
    assert chosen(open_, source, I64, {"kind": "indices", "column": "at"}, 2)[0] == {0: [19], 1: [5]}
    around = {"kind": "indices", "column": "at", "indices": [-6, 0, 2]}
    found, bad = chosen(open_, source, I64, {**around, "policy": "repeat_last"}, 2)
    assert found == {0: [13, 19, 19], 1: [0, 5, 7]} and bad["total"] == 0
    with pytest.raises(spdl.SpdlError, match='sample 0 "000.y4m".*got index 21, want 0 to 19'):
        chosen(open_, source, I64, around, 2, bad_sample={"policy": "fail"})


def test_lists_of_times_and_indices(tmp_path, open_):
    """Ragged ones, in any order and twice; of the shapes of rows."""
    source = table(tmp_path, [{"path": "000.y4m", "at": [1.5, 0.3, 0.3]}, {"path": "001.y4m", "at": [0.7]}])
    for shape in ("fixed", "padded", "ragged"):
        assert chosen(open_, source, LIST, {"kind": "times", "column": "at", "nearest": True}, 2, video={"shape": shape})[0] == {0: [15, 3, 3], 1: [7]}
    source = table(tmp_path, [{"path": "000.y4m", "at": [3, 1]}, {"path": "001.y4m", "at": [11, 0]}])
    fixed = [{"name": "at", "type": "list", "dtype": "i16", "shape": [2]}]
    assert chosen(open_, source, fixed, {"kind": "indices", "column": "at"}, 2)[0] == {0: [3, 1], 1: [11, 0]}


def test_more_times_than_frames(tmp_path, open_):
    source = table(tmp_path, [{"path": "000.y4m", "at": [0.1, 0.2, 0.3]}, {"path": "001.y4m", "at": [0.5]}])
    select = {"kind": "times", "column": "at", "nearest": True}
    found, bad = chosen(open_, source, LIST, select, 2, video={"frames": 2})
    assert found == {1: [5]} and bad["causes"] == {"too_large": 1}
    assert chosen(open_, source, LIST, select, 2, video={"frames": 2, "over": "cut"})[0] == {0: [1, 2], 1: [5]}


@pytest.mark.parametrize("columns, wrong, text", [
    (F64, "nan", 'select: column "at": got NaN, want seconds from 0 up to 1e\\+09'), (F64, -0.5, "got -0.5, want seconds"), (F64, 1e12, "got 1e\\+12, want seconds"),
    (LIST, [], "got an empty list, want what names a frame or more"), (LIST, [0.5, -1], "got -1, want seconds"), (F64, 2.0, "got time 2s, want 0s or later and before 2s")])
def test_what_is_no_time_is_a_bad_sample(tmp_path, open_, columns, wrong, text):
    source = table(tmp_path, [{"path": "000.y4m", "at": wrong}, {"path": "001.y4m", "at": [0.5] if columns is LIST else 0.5}])
    select = {"kind": "times", "column": "at"}
    found, bad = chosen(open_, source, columns, select, 2)
    assert found == {1: [5]} and bad["causes"] == {"no_such_frames" if "got time" in text else "value": 1}
    with pytest.raises(spdl.SpdlError, match=f'sample 0 "000.y4m".*{text}'):
        chosen(open_, source, columns, select, 2, bad_sample={"policy": "fail"})


def test_an_index_below_0_is_no_index(tmp_path, open_):
    """Of a column -1 is not the last frame: it is what tables have for none."""
    source = table(tmp_path, [{"path": "000.y4m", "at": -1}, {"path": "001.y4m", "at": 0}])
    found, bad = chosen(open_, source, I64, {"kind": "indices", "column": "at"}, 2)
    assert found == {1: [0]} and bad["causes"] == {"value": 1}


def test_times_stay_within_their_window(tmp_path, open_):
    """An episode of a file that holds several: what lies before it or behind is its first or last frame."""
    rows = [{"path": "000.y4m", "at": 0.5, "from": 0.5, "to": 1.0}, {"path": "000.y4m", "at": 0.9, "from": 0.5, "to": 1.0}]
    columns = [{"name": name, "type": "f64"} for name in ("at", "from", "to")]
    window = {"window": {"start_column": "from", "end_column": "to"}}
    select = {"kind": "times", "column": "at", "times": [-0.2, 0, 0.2], "policy": "repeat_last"}
    assert chosen(open_, table(tmp_path, rows), columns, select, 2, video=window)[0] == {0: [5, 5, 7], 1: [7, 9, 9]}


def test_arrays_in_shards_name_frames(tmp_path, open_):
    """An .npy member beside each video; rows in memory are of their own frames."""
    videos(tmp_path, [N, 12])
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for i, at in enumerate([[0.4, 1.9], [1.0]]):
            out = io.BytesIO()
            np.save(out, np.array(at))
            for name, data in ((f"00{i}.y4m", (tmp_path / f"00{i}.y4m").read_bytes()), (f"00{i}.npy", out.getvalue())):
                member = tarfile.TarInfo(name)
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    columns = [{"name": "at", "from": "npy", "type": "npy", "dtype": "f64", "shape": [-1], "max_length": 3}]
    select = {"kind": "times", "column": "at"}
    source = {"shards": str(tmp_path / "a.tar")}
    for more in ({}, {"cache": {"rows_bytes": "1MiB"}}):
        assert chosen(open_, source, columns, select, 2, video={"from": "y4m"}, **more)[0] == {0: [4, 19], 1: [10]}


def test_two_fields_choose_by_columns_of_their_own(tmp_path, open_):
    """Two views of a video. The sound around a time is in test_clip_sound.py."""
    source = table(tmp_path, [{"path": "000.y4m", "at": 0.5, "k": 7}])
    spec = {"source": {**source, "columns": [*F64, {"name": "k", "type": "i64"}]}, "batch": 1, "order": ORDER,
            "fields": {"now": {"video": {"from": "path", "select": {"kind": "times", "column": "at"}, "transform": PIXELS}},
                       "then": {"video": {"from": "path", "select": {"kind": "indices", "column": "k", "indices": [0, 1]}, "transform": PIXELS}}}}
    for batch in open_(spec):
        assert batch["now.pts"].tolist() == [[0.5]] and batch["then.pts"].tolist() == [[0.7, 0.8]]
