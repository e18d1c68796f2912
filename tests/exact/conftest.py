"""What the comparisons share: a process that makes rows, and pictures made with Pillow."""

import json
import pathlib
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DTYPES = {0: np.uint8, 1: np.float16, 2: np.uint16, 3: np.float32}


class RowError(Exception):
    def __init__(self, answer):
        super().__init__(answer["error"])
        self.cause = answer.get("cause")


class Rows:
    """One rowtool process; every row is also made by the portable C and compared there."""

    def __init__(self, binary):
        self.process = subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def row(self, path, *, draw=None, portable_too=True, **config):
        config = {k: v for k, v in config.items() if v is not None}
        for key in ("Resize", "Out"):
            if key in config:
                config[key] = {"H": config[key][0], "W": config[key][1]}
        if isinstance(pad := config.get("Pad"), int):
            config["Pad"] = dict(Left=pad, Top=pad, Right=pad, Bottom=pad)
        request = dict(path=str(path), config=config, draw=draw or {}, portable_too=portable_too)
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if answer.get("error"):
            raise RowError(answer)
        data = self.process.stdout.read(answer["bytes"])
        self.info, self.grid = answer["info"], answer["grid"]
        return np.frombuffer(data, DTYPES[config.get("DType", 0)]).reshape(answer["shape"])

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(10) == 0
        self.process.stdout.close()


def start(tmp_path_factory, tags):
    binary = tmp_path_factory.mktemp("rowtool") / "rowtool"
    subprocess.run(["go", "build", "-tags", tags, "-o", binary, "./tests/exact/rowtool"], cwd=ROOT, check=True)
    return Rows(binary)


@pytest.fixture(scope="session")
def rows(tmp_path_factory):
    r = start(tmp_path_factory, "")
    yield r
    r.close()


@pytest.fixture(scope="session")
def rows_without_ffmpeg(tmp_path_factory):
    r = start(tmp_path_factory, "noffmpeg")
    yield r
    r.close()


def picture(rng, w, h, channels=3):
    """Smooth colour with edges and noise: enough to make every coefficient matter."""
    y, x = np.mgrid[0:h, 0:w].astype(np.float32)
    out = np.empty((h, w, channels), np.float32)
    for c in range(channels):
        fx, fy, p = rng.uniform(0.01, 0.5), rng.uniform(0.01, 0.5), rng.uniform(0, 6)
        out[..., c] = 127 + 100 * np.sin(fx * x + fy * y + p)
    out += 60 * ((x // 7 + y // 5) % 2)[..., None] + rng.normal(0, 12, out.shape)
    out = np.clip(out, 0, 255).astype(np.uint8)
    return out if channels > 1 else out[..., 0]
