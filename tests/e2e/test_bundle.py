"""`make bundle`: what is in the tarball, and in the wheel, runs on a host that has a C library and nothing of ours, with an empty environment."""

import json
import platform
import subprocess
import sys
import venv

import pytest
from engines import BUILD, ROOT
from PIL import Image

TARBALL = BUILD / f"spdl-0.1.0-linux-{platform.machine()}.tar.gz"

READ = """
import sys
import json, spdl
description = {"source": {"folder": sys.argv[1]}, "batch": 2, "image": {"transform": [{"resize": [8, 8]}]}, "order": {"shuffle": False, "epochs": 1}}
with spdl.open(description) as loader:
    print(json.dumps([[batch.rows, batch.array("image").shape[1:], sorted(set(bytes(batch["image"])))] for batch in loader]))
"""


PIPELINE = """
import json, sys
import spdl.io
from spdl.pipeline import PipelineBuilder
pipeline = PipelineBuilder().add_source(sys.argv[1:]).pipe(lambda path: list(spdl.io.load(path, {"image": {"transform": [{"resize": [4, 4]}]}})["image"].shape),
                                                           concurrency=2, output_order="input").add_sink(2).build(num_threads=2)
with pipeline.auto_stop():
    print(json.dumps(list(pipeline)))
"""

SOUND = """
import sys
import spdl.io
wave = spdl.io.load_audio(sys.argv[1], sample_rate=16000)
print(list(wave.shape), spdl.io.probe_audio(sys.argv[1])["codec"])
"""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    directory = tmp_path_factory.mktemp("bundle")
    subprocess.run(["tar", "-xzf", TARBALL, "-C", directory], check=True)
    return directory / TARBALL.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The bin folder of an environment with nothing in it but our wheel."""
    (wheel,) = BUILD.glob(f"spdl-0.1.0-py3-none-manylinux_*_{platform.machine()}.whl")
    place = tmp_path_factory.mktemp("wheel")
    venv.create(place, with_pip=False)
    install = ["--python", place / "bin/python", "install", "--no-index", "--no-deps", "--quiet", "--disable-pip-version-check", wheel]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    return place / "bin"


def run(*command, **environment):
    return subprocess.run([str(part) for part in command], env=environment, cwd="/", capture_output=True, text=True, timeout=60)


def test_nothing_but_the_c_library_is_needed(bundle):
    static = run("/usr/bin/ldd", bundle / "spdl/spdl")
    assert "not a dynamic executable" in static.stdout + static.stderr
    for file in ("libspdl.so.0", "libspdl_engine.so", "spdl-device"):
        needed = run("/usr/bin/ldd", bundle / "spdl" / file).stdout
        names = [line.split()[0].rpartition("/")[2] for line in needed.splitlines()]
        assert all(name.startswith(("linux-vdso", "libc.so", "libm.so", "ld-linux")) for name in names), needed


def test_licences_of_what_is_linked_in_are_there(bundle):
    licences = {path.name for path in (bundle / "licences").iterdir() if path.stat().st_size > 0}
    assert {"github.com_minio_minio-go_v7", "golang.org_x_sys", "libjpeg-turbo"} <= licences and (bundle / "LICENSE").exists()


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    (folder / "a").mkdir()
    for i, kind in enumerate(["jpg", "png", "jpg"]):
        Image.new("RGB", (20, 20), (40 * i, 40 * i, 40 * i)).save(folder / "a" / f"{i}.{kind}")
    return folder


def test_engine_and_python_client_run_with_an_empty_environment(bundle, pictures):
    assert run(bundle / "spdl/spdl", "--version").stdout.strip() == "spdl 0.1.0"
    done = run(sys.executable, "-c", READ, pictures, PYTHONPATH=str(bundle))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[2, [8, 8, 3], [0, 40]], [1, [8, 8, 3], [80]]]


def test_the_wheel_is_all_that_python_needs(installed, pictures):
    assert run(installed / "spdl", "--version").stdout.strip() == "spdl 0.1.0"
    assert run(installed / "python", "-m", "spdl", "serve", pictures / "none").returncode == 3, "the command's own exit code"
    done = run(installed / "python", "-c", READ, pictures)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[2, [8, 8, 3], [0, 40]], [1, [8, 8, 3], [80]]]


def test_pipelines_and_plain_functions_are_in_the_wheel(installed, pictures):
    """Meta's interface as a whole: the task engine, and media without FFmpeg."""
    done = run(installed / "python", "-c", PIPELINE, *sorted((pictures / "a").iterdir()))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[4, 4, 3]] * 3
    done = run(installed / "python", "-c", SOUND, ROOT / "core/media/audio/testdata/lame.mp3")
    assert done.returncode == 0 and done.stdout.split() == ["[1,", "8028]", "mp3"], done.stdout + done.stderr


def test_the_list_of_the_wheel_is_right(installed):
    """pip compares nothing with it; `pip uninstall` trusts it."""
    (record,) = installed.parent.glob("lib/python*/site-packages/spdl-0.1.0.dist-info/RECORD")
    site = record.parents[1]
    listed = {line.split(",")[0] for line in record.read_text().splitlines()}
    there = {str(p.relative_to(site)) for p in site.glob("spdl*/**/*") if p.is_file() and "__pycache__" not in p.parts}
    assert there <= listed and "spdl/libspdl.so.0" in there and "spdl-0.1.0.dist-info/licenses/LICENSE" in there


def test_python_without_an_engine_says_where_it_looked():
    done = run(sys.executable, "-m", "spdl", "serve", PYTHONPATH=str(ROOT / "clients/python"), PATH="/nowhere")
    assert done.returncode == 1 and "there is no spdl command in $SPDL_ENGINE, beside this package or in the PATH" in done.stderr
    done = run(sys.executable, "-m", "spdl", "serve", PYTHONPATH=str(ROOT / "clients/python"), SPDL_ENGINE="/nowhere/spdl")
    assert done.returncode == 1 and "/nowhere/spdl: No such file or directory" in done.stderr


def test_uploader_says_what_is_missing(bundle):
    done = run(bundle / "spdl/spdl-device")
    assert done.returncode == 2 and "the engine starts this program" in done.stderr
