"""What `make install` puts on a machine is whole."""

import re
import shlex
import shutil
import subprocess

import pytest
from engines import BUILD, ROOT

VERSION = (BUILD / "libspdl.so.0").resolve().name.removeprefix("libspdl.so.")


def install(dest, prefix):
    return subprocess.run([ROOT / "scripts/install.sh", dest, prefix, VERSION, BUILD], capture_output=True, text=True, timeout=120)


def test_pkg_config_names_the_place_whatever_it_is_called_and_wherever_it_went(tmp_path):
    if not shutil.which("pkg-config"):
        pytest.skip("no pkg-config")
    dest = tmp_path / "R&D of|us"
    assert install(dest, "/opt/R&D of|us").returncode == 0

    def says(*how):
        command = ["pkg-config", *how, "--cflags", "--libs", "spdl"]
        return shlex.split(subprocess.run(command, env={"PATH": "/usr/bin:/bin", "PKG_CONFIG_PATH": str(dest / "lib/pkgconfig")}, check=True, capture_output=True, text=True).stdout)

    assert says() == ["-I/opt/R&D of|us/include", "-L/opt/R&D of|us/lib", "-lspdl"]
    assert says("--define-prefix") == [f"-I{dest}/include", f"-L{dest}/lib", "-lspdl"]


@pytest.mark.parametrize("prefix, text", [("out", 'PREFIX is "out", want an absolute path, such as PREFIX="$PWD/out"'), ("", "want an absolute path"),
                                          ('/opt/a"b', "which pkg-config cannot give to a compiler"), ("/opt/$HOME", "want one without")])
def test_a_place_that_pkg_config_cannot_name_is_refused(tmp_path, prefix, text):
    installed = install(tmp_path / "dest", prefix)
    assert installed.returncode == 2 and text in installed.stderr, installed.stderr
    assert not (tmp_path / "dest").exists()


def test_links_between_installed_pages_lead_somewhere(tmp_path):
    assert install(tmp_path, "/usr/local").returncode == 0
    pages = tmp_path / "share/doc/spdl"
    links, broken = 0, []
    for page in pages.rglob("*.md"):
        for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            links += 1
            if not (page.parent / link).exists():
                broken.append(f"{page.relative_to(pages)}: {link}")
    assert links > 40 and not broken, broken
    assert (pages / "include/spdl.h").resolve() == tmp_path / "include/spdl.h"
    assert (pages / "examples/c/train.c").is_file() and not list(pages.rglob("__pycache__"))
