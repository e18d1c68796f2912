"""Made-up data in LeRobot's layouts: made(directory) writes lerobot (v3.0) and lerobot_v21. Needs pyarrow.

Sample i of all has the state [i, episode] and the action [i, -i]. The camera top has the level 20 + 5 i, wrist 215 - 5 i.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import spdl.io

FPS, LENGTHS, TASKS = 10, [12, 7, 19], ["push the T", "reach, ünd grasp"]
CAMERAS = {"observation.images.top": lambda i: 20 + 5 * i, "observation.images.wrist": lambda i: 215 - 5 * i}


def made(directory: Path) -> None:
    v3(directory / "lerobot")
    v21(directory / "lerobot_v21")


def film(path: Path, levels: list[int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    spdl.io.save_video(str(path), np.stack([np.full((64, 80, 3), level, np.uint8) for level in levels]), FPS, codec="mpeg4", qscale=2)


def frames(episodes: range) -> pa.Table:
    """The rows of episodes; timestamps are float32, as LeRobot has them."""
    begin = sum(LENGTHS[:episodes.start])
    number = [e for e in episodes for _ in range(LENGTHS[e])]
    inside = [k for e in episodes for k in range(LENGTHS[e])]
    index = [begin + i for i in range(len(number))]
    floats = pa.list_(pa.float32())
    return pa.table({
        "observation.state": pa.array([[i, e] for i, e in zip(index, number)], floats), "action": pa.array([[i, -i] for i in index], floats),
        "timestamp": pa.array([np.float32(k / FPS) for k in inside], pa.float32()), "frame_index": inside, "episode_index": number, "index": index,
        "task_index": [e % 2 for e in number]})


def about(root: Path, version: str, **paths: object) -> None:
    (root / "meta").mkdir(parents=True)
    features = {key: {"dtype": "video", "shape": [64, 80, 3]} for key in CAMERAS}
    features |= {"observation.state": {"dtype": "float32", "shape": [2]}, "action": {"dtype": "float32", "shape": [2]}}
    (root / "meta/info.json").write_text(json.dumps({"codebase_version": version, "fps": FPS, "features": features, "total_episodes": len(LENGTHS), **paths}))


def v21(root: Path) -> None:
    """A file for each episode. Two to a chunk, so that there are two chunks."""
    about(root, "v2.1", chunks_size=2, data_path="data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
          video_path="videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4")
    (root / "meta/tasks.jsonl").write_text("".join(json.dumps({"task_index": i, "task": task}) + "\n" for i, task in enumerate(TASKS)))
    for e, n in enumerate(LENGTHS):
        begin = sum(LENGTHS[:e])
        path = root / f"data/chunk-{e // 2:03d}/episode_{e:06d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(frames(range(e, e + 1)), path)
        for key, level in CAMERAS.items():
            film(root / f"videos/chunk-{e // 2:03d}/{key}/episode_{e:06d}.mp4", [level(begin + k) for k in range(n)])


def v3(root: Path) -> None:
    """Several episodes to a file: all of top in one, of wrist the last in a file of its own."""
    about(root, "v3.0", data_path="data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet", video_path="videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4")
    pq.write_table(pa.table({"task_index": [0, 1], "__index_level_0__": TASKS}), root / "meta/tasks.parquet")
    for name in ("data/chunk-000", "meta/episodes/chunk-000"):
        (root / name).mkdir(parents=True)
    pq.write_table(frames(range(0, 2)), root / "data/chunk-000/file-000.parquet")
    pq.write_table(frames(range(2, 3)), root / "data/chunk-000/file-001.parquet")
    episodes: dict[str, list] = {"episode_index": [0, 1, 2], "length": LENGTHS}
    for key, files in zip(CAMERAS, ([0, 0, 0], [0, 0, 1])):
        first = [files.index(file) for file in files]
        start = [sum(LENGTHS[first[e]:e]) / FPS for e in range(3)]
        episodes |= {f"videos/{key}/chunk_index": [0, 0, 0], f"videos/{key}/file_index": files, f"videos/{key}/from_timestamp": start,
                     f"videos/{key}/to_timestamp": [start[e] + n / FPS for e, n in enumerate(LENGTHS)]}
        for file in set(files):
            of = [e for e in range(3) if files[e] == file]
            begin = sum(LENGTHS[:of[0]])
            film(root / f"videos/{key}/chunk-000/file-{file:03d}.mp4", [CAMERAS[key](begin + k) for k in range(sum(LENGTHS[e] for e in of))])
    pq.write_table(pa.table(episodes), root / "meta/episodes/chunk-000/file-000.parquet")
