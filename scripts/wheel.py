#!/usr/bin/env python3
"""wheel.py BUNDLE OUT: the Python package of an unpacked bundle as a wheel in the folder OUT; prints its name.

Engine, as a program and as a library, uploader and libspdl lie in the package, so `pip install` of this one file is a whole spdl: `import spdl`, and the command `spdl`.
It runs on any Python 3 of a Linux whose C library is as new as the programs ask for; that is read from them. Standard library
only: a wheel is a zip with a list of what is in it (PEP 427).
"""

import base64
import hashlib
import pathlib
import platform
import re
import subprocess
import sys
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]


def platform_tag(programs):
    """manylinux_2_34_x86_64 of what asks for glibc 2.34 at most."""
    newest = (2, 17)
    for program in programs:
        symbols = subprocess.run(["objdump", "-T", program], check=True, capture_output=True, text=True).stdout
        newest = max([newest, *((int(a), int(b)) for a, b in re.findall(r"GLIBC_(\d+)\.(\d+)", symbols))])
    return f"manylinux_{newest[0]}_{newest[1]}_{platform.machine()}"


def metadata(project):
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}", f"Summary: {project['description']}",
             f"License: {project['license']['text']}", f"Requires-Python: {project['requires-python']}"]
    for extra, packages in project["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}", *(f'Requires-Dist: {package}; extra == "{extra}"' for package in packages)]
    return "\n".join(lines) + "\n"


class Wheel:
    """A zip whose files have one date, and the list of them."""

    def __init__(self, path, info):
        self.info, self.record = info, ""
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)

    def add(self, name, data, mode=0o644):
        entry = zipfile.ZipInfo(name)
        entry.external_attr, entry.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
        self.zip.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record += f"{name},sha256={digest},{len(data)}\n"

    def close(self):
        record = f"{self.info}/RECORD"
        self.zip.writestr(zipfile.ZipInfo(record), self.record + f"{record},,\n")
        self.zip.close()


def main():
    bundle, out = map(pathlib.Path, sys.argv[1:])
    project = tomllib.loads((ROOT / "clients/python/pyproject.toml").read_text())["project"]
    tag = f"py3-none-{platform_tag(bundle / 'spdl' / name for name in ('libspdl.so.0', 'libspdl_engine.so', 'spdl-device'))}"
    stem = f"{project['name']}-{project['version']}"
    path = out / f"{stem}-{tag}.whl"
    wheel = Wheel(path, f"{stem}.dist-info")
    for file in sorted(p for p in (bundle / "spdl").rglob("*") if p.is_file() and not p.is_symlink()):
        wheel.add(str(file.relative_to(bundle)), file.read_bytes(), file.stat().st_mode & 0o777)
    for file in [bundle / "LICENSE", *sorted((bundle / "licences").iterdir())]:
        wheel.add(f"{wheel.info}/licenses/{file.name}", file.read_bytes())
    wheel.add(f"{wheel.info}/METADATA", metadata(project).encode())
    wheel.add(f"{wheel.info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: spdl\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
    wheel.add(f"{wheel.info}/entry_points.txt", b"[console_scripts]\nspdl = spdl.__main__:main\n")
    wheel.close()
    print(path)


if __name__ == "__main__":
    main()
