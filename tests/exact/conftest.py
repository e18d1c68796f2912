"""What the comparisons share: processes that make rows, and pictures."""

import numpy as np
import pytest

from audio import Audio
from tools import Tool, placed

DTYPES = {0: np.uint8, 1: np.float16, 2: np.uint16, 3: np.float32}


class Rows(Tool):
    """Every row is also made by the portable C and compared there."""

    def row(self, path, *, draw=None, boxes=None, portable_too=True, Order=(), Ahead=0, Resized=0, ByTorch=(), **config):
        config = {k: v for k, v in config.items() if v is not None}
        for key in ("Resize", "Out"):
            if key in config:
                config[key] = {"H": config[key][0], "W": config[key][1]}
        if isinstance(pad := config.get("Pad"), int):
            config["Pad"] = dict(Left=pad, Top=pad, Right=pad, Bottom=pad)
        answer, data = self.ask(path, placed(config, Order, Ahead, Resized, ByTorch), draw, portable_too=portable_too, boxes=boxes)
        self.info, self.grid = answer["info"], answer["grid"]
        return np.frombuffer(data, DTYPES[config.get("DType", 0)]).reshape(answer["shape"])


@pytest.fixture(scope="session")
def rows(tmp_path_factory):
    r = Rows("rowtool", tmp_path_factory.mktemp("rowtool"))
    yield r
    r.close()


@pytest.fixture(scope="session")
def rows_without_ffmpeg(tmp_path_factory):
    r = Rows("rowtool", tmp_path_factory.mktemp("rowtool"), "noffmpeg")
    yield r
    r.close()


@pytest.fixture(scope="session")
def audio(tmp_path_factory):
    a = Audio("audiotool", tmp_path_factory.mktemp("audiotool"))
    yield a
    a.close()


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
