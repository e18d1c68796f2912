"""Engines and clients of different builds meet: this one, and two made of the same sources with another layout version.

Another minor version works in both directions. Another major one is refused in C, Python and Go, by a text that names both.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

BUILD = pathlib.Path(os.environ["SPDL_BUILD"])
ROOT = pathlib.Path(__file__).resolve().parents[2]
WATCHDOG = 120
MISMATCH = 23  # SPDL_E_VERSION, as tests/ringread tells it
MAJOR, MINOR = (int(re.search(rf"define SPDL_L_{part} (\d+)u", (ROOT / "shm/layout.h").read_text())[1]) for part in ("MAJOR", "MINOR"))


def raised(text, part):
    """The layout's source of that language with another version."""
    new, n = re.subn(rf"(\b(?:SPDL_L_{part.upper()}|Layout{part}\s+=) *)(\d+)", lambda m: f"{m[1]}{int(m[2]) + 1}", text)
    assert n == 1
    return new


class Build:
    """libspdl, the pattern engine and a consumer in Go, built with another version of the layout."""

    def __init__(self, folder, part):
        self.folder = folder
        header, overlay = folder / "layout.h", folder / "layout.go"
        for file, source in ((header, "shm/layout.h"), (overlay, "shm/layout.go")):
            text = (ROOT / source).read_text()
            file.write_text(text if part == "this" else raised(text, part))
        replace = folder / "overlay.json"
        replace.write_text(json.dumps({"Replace": {str(ROOT / "shm/layout.go"): str(overlay)}}))
        subprocess.run(["go", "build", "-overlay", replace, "-o", folder, "./tests/ringpattern", "./tests/ringread"], cwd=ROOT, check=True)
        if part == "this":
            for file in BUILD.glob("libspdl.so*"):
                (folder / file.name).symlink_to(file)
            return
        # The header's guard keeps the other one out.
        subprocess.run(["make", "-s", f"BUILD={folder}", f"CFLAGS=-O1 -include {header}", "libspdl"], cwd=ROOT, check=True)


@pytest.fixture(scope="session")
def builds(tmp_path_factory):
    """Build folders by name: "this", or the part of the version that is another; made when they are asked for."""
    made = {}

    def get(name):
        if name not in made:
            made[name] = Build(tmp_path_factory.mktemp(name), name).folder
        return made[name]

    return get


@pytest.fixture
def engine(builds):
    """Start a pattern engine of that build."""
    running = []

    def start(build):
        name = f"versions-{os.getpid()}-{build.lower()}"
        p = subprocess.Popen([builds(build) / "ringpattern", "--name", name, "--groups", "g", "--batches", "5", "--bytes", "256", "--keep"],
                             stdout=subprocess.PIPE, text=True)
        running.append(p)
        assert p.stdout.readline().startswith("ready")
        return name

    yield start
    for p in running:
        p.terminate()
        p.communicate(timeout=WATCHDOG)


READ = """
import sys, spdl
try:
    with spdl.attach(sys.argv[1], group="g", max_leases=1) as loader:
        print([batch.ticket for batch in loader])
except spdl.VersionMismatch as e:
    sys.exit(f"VersionMismatch: {e}")
"""


def client(language, folder, name, tmp_path):
    """(exit code, what it said) of a client of that build."""
    env = dict(os.environ, SPDL_LIBRARY=str(folder / "libspdl.so"), LD_LIBRARY_PATH=str(folder))
    command = {"c": [BUILD / "tests/fault-consumer", name, "g", tmp_path / "log"], "python": [sys.executable, "-c", READ, name],
               "go": [folder / "ringread", name, "g"]}[language]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=WATCHDOG)
    return done.returncode, done.stdout + done.stderr


REFUSED = {"c": 1, "python": 1, "go": MISMATCH}


@pytest.mark.parametrize("language", REFUSED)
@pytest.mark.parametrize("serves, reads", [("this", "Major"), ("Major", "this")])
def test_another_major_version_is_refused_by_a_text_that_names_both(serves, reads, language, builds, engine, tmp_path):
    """Before anything is mapped: the engine tells who attaches."""
    code, said = client(language, builds(reads), engine(serves), tmp_path)
    theirs, ours = (MAJOR + (build == "Major") for build in (reads, serves))
    assert code == REFUSED[language], said
    assert f"layout {theirs}, this engine speaks {ours}; use client and engine of one release" in said
    assert language != "python" or said.startswith("VersionMismatch: ")


@pytest.mark.parametrize("language", REFUSED)
@pytest.mark.parametrize("serves, reads", [("this", "Minor"), ("Minor", "this"), ("Major", "Major")])
def test_another_minor_version_works_in_both_directions(serves, reads, language, builds, engine, tmp_path):
    """As do an engine and a client that are both of the other major one: it is the difference that is refused."""
    code, said = client(language, builds(reads), engine(serves), tmp_path)
    assert code == 0, said
    if language == "c":
        assert (tmp_path / "log").read_text().count("D ") == 5
    else:
        assert json.loads(said) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("build", ["this", "Major", "Minor"])
def test_every_part_of_a_build_says_its_version(build, builds):
    """Else the tests above would compare a build with itself."""
    want = [MAJOR + (build == "Major"), MINOR + (build == "Minor")]
    folder = builds(build)
    script = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).spdl_layout_version())"
    said = subprocess.run([sys.executable, "-c", script, folder / "libspdl.so"], capture_output=True, text=True, check=True).stdout
    assert int(said) == want[0] * 1000 + want[1]
    said = subprocess.run([folder / "ringread"], capture_output=True, text=True, check=True).stdout
    assert said == f"{want[0]}.{want[1]}\n"
