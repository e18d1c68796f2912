"""Arrays of many episodes, and windows that are padded at their edges, through the real command: compared with naive loops over numpy's arrays, which do as diffusion_policy's SequenceSampler and
LeRobot's delta_timestamps do."""

import json
import pathlib
import shutil

import numpy as np
import pytest

import spdl

GRID = pathlib.Path(__file__).parents[2] / "core/grid/testdata"


def zarr_of(path, values, rows):
    """An array of Zarr's second version, unpacked, in chunks of so many rows."""
    path.mkdir(parents=True)
    chunks = [rows, *values.shape[1:]]
    (path / ".zarray").write_text(json.dumps({"zarr_format": 2, "shape": values.shape, "chunks": chunks, "dtype": values.dtype.str, "order": "C", "compressor": None, "filters": None, "fill_value": 0}))
    for k in range(0, len(values), rows):
        chunk = np.zeros(chunks, values.dtype)
        chunk[:len(values[k:k + rows])] = values[k:k + rows]
        (path / ".".join(map(str, [k // rows] + [0] * (values.ndim - 1)))).write_bytes(chunk.tobytes())


def replay_buffer(path, lengths):
    """What diffusion_policy's ReplayBuffer writes; element [i, 0] of each is the step's number."""
    n = sum(lengths)
    steps = np.arange(n, dtype="f4")
    arrays = {"data/state": np.stack([steps, -steps], 1), "data/action": np.stack([steps, steps * 2, steps * 3], 1), "data/img": (steps[:, None, None, None] + np.zeros((1, 4, 4, 3), "f4")).astype("u1"),
              "meta/episode_ends": np.cumsum(lengths).astype("<i8")}
    for name, values in arrays.items():
        zarr_of(path / name, values, 7)
    return arrays


def sequences(ends, horizon, pad_before, pad_after):
    """The rows of each sample, of those that are repeated too, and which these are: create_indices and sample_sequence of diffusion_policy."""
    all, first = [], 0
    for end in ends:
        length = end - first
        for start in range(-pad_before, length - horizon + pad_after + 1):
            there = np.arange(max(start, 0), min(start + horizon, length)) + first
            before, behind = max(-start, 0), horizon - max(-start, 0) - len(there)
            rows = np.concatenate([there[:1].repeat(before), there, there[-1:].repeat(behind)])
            all.append((rows, np.array([True] * before + [False] * len(there) + [True] * behind)))
        first = end
    return all


def batches(open_, spec, **options):
    loader = open_(spec, **options)
    got = [{key: batch[key].copy() for key in batch} for batch in loader]
    loader.close()
    return got


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("window", [0, 2])
def test_samples_are_diffusion_policys(tmp_path, open_, zipped, window):
    lengths = [21, 1, 9, 8, 30, 17]
    arrays = replay_buffer(tmp_path / "replay.zarr", lengths)
    store = tmp_path / "replay.zarr"
    if zipped:
        store = pathlib.Path(shutil.make_archive(str(tmp_path / "replay.zarr"), "zip", tmp_path / "replay.zarr"))
    seen = {"window": 2, "within": 16, "step": 1, "pad_before": 1, "pad_after": 7}
    spec = {"source": {"arrays": [{"name": "img", "file": f"{store}/data/img", **seen}, {"name": "state", "file": f"{store}/data/state", **seen},
                                  {"name": "action", "file": f"{store}/data/action", **seen, "window": 16, "is_pad": True}],
                       "episodes": {"ends": f"{store}/meta/episode_ends"}}, "batch": 4, "order": {"seed": 3, "epochs": 1, **({"window": window} if window else {})}}
    want = sequences(arrays["meta/episode_ends"], 16, 1, 7)
    assert len(want) == 14 + 0 + 2 + 1 + 23 + 10
    seen = []
    for batch in batches(open_, spec):
        for row, i in enumerate(batch["index"]):
            rows, padded = want[i]
            np.testing.assert_array_equal(batch["action"][row], arrays["data/action"][rows])
            np.testing.assert_array_equal(batch["action_is_pad"][row], padded)
            np.testing.assert_array_equal(batch["state"][row], arrays["data/state"][rows[:2]])
            np.testing.assert_array_equal(batch["img"][row], arrays["data/img"][rows[:2]])
            seen.append(i)
    assert sorted(seen) == list(range(len(want)))


def test_samples_are_lerobots_one_a_step(tmp_path, open_):
    """The state at t-1 and t, and the actions from t on: arrays of unlike windows, of as many samples. Of separate files and of datasets, too."""
    lengths = [5, 1, 40]
    ends = np.cumsum(lengths)
    values = np.arange(sum(lengths), dtype="<i4")
    values.tofile(tmp_path / "x.bin")
    for k, part in enumerate(np.split(values, ends[:-1])):
        np.save(tmp_path / f"episode_{k}.npy", part)
    whole = {"file": str(tmp_path / "x.bin"), "dtype": "i32"}
    for files, episodes in ((whole, {"episodes": {"lengths": lengths}}), ({"file": str(tmp_path / "episode_*.npy")}, {})):
        spec = {"source": {"arrays": [{"name": "state", **files, "window": 2, "step": 1, "pad_before": 1, "is_pad": True}, {"name": "action", **files, "window": 16, "step": 1, "pad_after": 15, "is_pad": True},
                                      {"name": "t", **files}], "label": "t", **episodes}, "batch": 8, "order": {"seed": 3, "epochs": 1}}
        seen = []
        for batch in batches(open_, spec):
            for row, t in enumerate(batch["t"]):
                episode = np.searchsorted(ends, t, side="right")
                first, end = ends[episode] - lengths[episode], ends[episode]
                assert batch["state"][row].tolist() == [max(t - 1, first), t] and batch["state_is_pad"][row].tolist() == [t == first, False]
                steps = t + np.arange(16)
                assert (batch["action"][row] == np.minimum(steps, end - 1)).all() and (batch["action_is_pad"][row] == (steps >= end)).all()
                assert batch["label"][row] == t
                seen.append(t)
        assert sorted(seen) == values.tolist()


def test_demonstrations_in_hdf5_are_padded_each(open_):
    """20, 17 and 13 steps, of which each is a sample."""
    file = {"file": str(GRID / "robomimic.h5"), "step": 1}
    spec = {"source": {"arrays": [{"name": "image", "dataset": "/data/demo_*/obs/agentview_image", **file, "window": 2, "pad_before": 1},
                                  {"name": "actions", "dataset": "/data/demo_*/actions", **file, "window": 16, "pad_after": 15, "is_pad": True}]}, "batch": 5, "order": {"seed": 1, "epochs": 1}}
    got = []
    for batch in batches(open_, spec):
        steps = batch["actions"][:, :, 0]
        for row, padded in enumerate(batch["actions_is_pad"].astype(bool)):
            t, there = steps[row, 0], steps[row][~padded]
            assert (there == t + np.arange(len(there))).all() and (steps[row][padded] == there[-1]).all()
            assert batch["image"][row, :, 0, 0, 0].tolist() in ([t - 1, t], [t, t]) and (t % 50 == 0) == (batch["image"][row, 0, 0, 0, 0] == t)
            got.append((int(t) // 50, len(there)))
    assert len(got) == 50 and sorted(n for _, n in got if n < 16) == sorted(list(range(1, 16)) * 2 + list(range(1, 14)))


def test_a_ring_of_training_and_one_of_validation_have_their_episodes(tmp_path, open_):
    """only names the episodes, by a list or a file; and a state of one is none of the other."""
    arrays = replay_buffer(tmp_path / "r.zarr", [9, 8, 7])
    np.save(tmp_path / "train.npy", np.array([0, 2]))
    seen, states = {}, {}
    for what, only in (("train", str(tmp_path / "train.npy")), ("val", [1])):
        spec = {"source": {"arrays": [{"name": "action", "file": str(tmp_path / "r.zarr/data/action"), "window": 4, "step": 1, "pad_before": 1}],
                           "episodes": {"ends": str(tmp_path / "r.zarr/meta/episode_ends"), "only": only}}, "batch": 2, "order": {"seed": 1, "epochs": 1}}
        loader = open_(spec)
        seen[what] = np.concatenate([batch["action"][:, :, 0].copy() for batch in loader])
        states[what] = loader.state_dict()
        loader.close()
    want = [rows for rows, _ in sequences(arrays["meta/episode_ends"], 4, 1, 0)]
    assert sorted(map(tuple, seen["val"].tolist())) == sorted(tuple(rows) for rows in want if 9 <= rows[0] < 17)
    assert sorted(map(tuple, seen["train"].tolist())) == sorted(tuple(rows) for rows in want if not 9 <= rows[0] < 17)


def test_ends_may_be_a_dataset_beside_the_array(tmp_path, open_):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["data/action"], file["meta/episode_ends"] = np.arange(20, dtype="<i4"), np.array([9, 12, 20])
    spec = {"source": {"arrays": [{"name": "x", "file": str(tmp_path / "x.h5"), "dataset": "/data/action", "window": 4, "step": 1, "pad_after": 1}],
                       "episodes": {"ends": str(tmp_path / "x.h5"), "dataset": "/meta/episode_ends"}}, "batch": 1, "order": {"shuffle": False, "epochs": 1}}
    assert [batch["x"][0].tolist() for batch in batches(open_, spec)] == [rows.tolist() for rows, _ in sequences([9, 12, 20], 4, 0, 1)]


def test_the_state_of_other_episodes_is_refused(tmp_path, open_):
    """The same arrays, and as many samples, but episodes end elsewhere: by the description and, where a file says them, by what it says."""
    np.arange(20, dtype="u2").tofile(tmp_path / "x.bin")
    np.save(tmp_path / "ends.npy", np.array([9, 20]))
    spec = {"source": {"arrays": [{"name": "x", "file": str(tmp_path / "x.bin"), "dtype": "u16", "window": 3, "step": 1}], "episodes": {"ends": str(tmp_path / "ends.npy")}}, "batch": 2, "order": {"seed": 1, "epochs": 2}}
    loader = open_(spec)
    for _ in loader:
        break
    state = loader.state_dict()
    loader.close()
    again = open_(spec, state=state)
    again.close()
    np.save(tmp_path / "ends.npy", np.array([10, 20]))
    with pytest.raises(spdl.StateError):
        spdl.open(spec, state=state)


def test_episodes_that_cannot_be_are_refused(tmp_path):
    replay_buffer(tmp_path / "r.zarr", [9, 8])

    def refused(message, episodes, **array):
        with pytest.raises((spdl.SpecError, spdl.EngineStartError), match=message):
            spdl.open({"source": {"arrays": [{"name": "x", "file": str(tmp_path / "r.zarr/data/action"), **array}], "episodes": episodes}})

    refused("ends: episode 1: got 9, want more than 9", {"ends": [9, 9]})
    refused("got 17 rows, want 20, where the last of 2 episodes ends", {"ends": [9, 20]})
    refused("no samples: want 12 rows or more in one episode; of 2 none has them", {"ends": [9, 17]}, window=12)
    refused("pad_before: got 4, want less than the 4 rows", {"ends": [9, 17]}, window=4, pad_before=4)
