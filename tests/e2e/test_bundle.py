"""`make bundle`: what is in the tarball runs on a host that has a C library and nothing of ours, with an empty environment."""

import json
import platform
import subprocess
import sys

import pytest
from engines import BUILD
from PIL import Image

TARBALL = BUILD / f"spdl-0.1.0-linux-{platform.machine()}.tar.gz"

READ = """
import sys
sys.path.insert(0, sys.argv[1])
import json, spdl
description = {"source": {"folder": sys.argv[2]}, "batch": 2, "image": {"transform": [{"resize": [8, 8]}]}, "order": {"shuffle": False, "epochs": 1}}
with spdl.open(description) as loader:
    print(json.dumps([[batch.rows, batch.array("image").shape[1:], sorted(set(bytes(batch["image"])))] for batch in loader]))
"""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    directory = tmp_path_factory.mktemp("bundle")
    subprocess.run(["tar", "-xzf", TARBALL, "-C", directory], check=True)
    return directory / TARBALL.name.removesuffix(".tar.gz")


def run(*command):
    return subprocess.run([str(part) for part in command], env={}, cwd="/", capture_output=True, text=True, timeout=60)


def test_nothing_but_the_c_library_is_needed(bundle):
    static = run("/usr/bin/ldd", bundle / "spdl/spdl")
    assert "not a dynamic executable" in static.stdout + static.stderr
    for file in ("libspdl.so.0", "spdl-device"):
        needed = run("/usr/bin/ldd", bundle / "spdl" / file).stdout
        names = [line.split()[0].rpartition("/")[2] for line in needed.splitlines()]
        assert all(name.startswith(("linux-vdso", "libc.so", "ld-linux")) for name in names), needed


def test_licences_of_what_is_linked_in_are_there(bundle):
    licences = {path.name for path in (bundle / "licences").iterdir() if path.stat().st_size > 0}
    assert {"github.com_minio_minio-go_v7", "golang.org_x_sys", "libjpeg-turbo"} <= licences and (bundle / "LICENSE").exists()


def test_engine_and_python_client_run_with_an_empty_environment(bundle, tmp_path):
    for i, kind in enumerate(["jpg", "png", "jpg"]):
        (tmp_path / "a").mkdir(exist_ok=True)
        Image.new("RGB", (20, 20), (40 * i, 40 * i, 40 * i)).save(tmp_path / "a" / f"{i}.{kind}")
    assert run(bundle / "spdl/spdl", "--version").stdout.strip() == "spdl 0.1.0"
    done = run(sys.executable, "-c", READ, bundle, tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[2, [8, 8, 3], [0, 40]], [1, [8, 8, 3], [80]]]


def test_uploader_says_what_is_missing(bundle):
    done = run(bundle / "spdl/spdl-device")
    assert done.returncode == 2 and "the engine starts this program" in done.stderr
