"""What `make install` puts on a machine is whole."""

import re
import subprocess

from engines import BUILD, ROOT


def test_links_between_installed_pages_lead_somewhere(tmp_path):
    version = (BUILD / "libspdl.so.0").resolve().name.removeprefix("libspdl.so.")
    subprocess.run([ROOT / "scripts/install.sh", tmp_path, "/usr/local", version, BUILD], check=True, capture_output=True, timeout=120)
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
