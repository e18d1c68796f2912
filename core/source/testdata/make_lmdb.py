"""Writes lmdb/ with PyPI's lmdb (LMDB 0.9.36), NumPy and Pillow (11.1.0), and what is in it, as the script itself knows it, into lmdb/want.json:
python3 make_lmdb.py. wide.lmdb has pages of 16 KiB, as on some machines: a C compiler makes what tells the library so."""
import base64
import hashlib
import io
import json
import os
import pathlib
import pickle
import shutil
import struct
import subprocess
import sys
import tempfile

import lmdb
import numpy as np
from PIL import Image

HERE = pathlib.Path(__file__).parent / "lmdb"
PAGE = 'long sysconf(int n) { return n == 30 ? 16384 : 4096; } int getpagesize(void) { return 16384; }'


def picture(i, kind="jpeg", more=0):
    image = Image.fromarray((np.arange(6 * 8 * 3).reshape(6, 8, 3) + i).astype(np.uint8))
    file = io.BytesIO()
    image.save(file, kind, **({"comment": b"." * more} if more else {"lossless": True} if kind == "webp" else {}))
    return file.getvalue()


def write(name, pairs, subdir=True, again=1, **options):
    """A database of pairs, written in so many transactions, of which all but the last write what the next removes."""
    path = HERE / name
    with lmdb.open(str(path), map_size=1 << 24, subdir=subdir, lock=False, max_dbs=1) as env:
        db = env.open_db(**options) if options else None
        for k in reversed(range(again)):
            with env.begin(write=True) as t:
                for key, value in pairs.items():
                    t.put(key, value if k == 0 else b"old" * (len(value) // 2), **({"db": db} if db else {}))
    return told(pairs)


def told(pairs):
    """Keys and values, these whole where they are few bytes, and their sum."""
    return [{"key": key.decode(), "value": base64.b64encode(value).decode() if len(value) < 4000 else None, "sha256": hashlib.sha256(value).hexdigest()} for key, value in sorted(pairs.items())]


def wide():
    return {b"%02d" % i: picture(i, more=9000 * (i % 3)) for i in range(6)}


def main():
    want = {}
    text = {b"num-samples": b"7"}
    for i in range(1, 8):
        text |= {b"image-%09d" % i: picture(i, "png" if i == 3 else "jpeg", 3000 if i == 2 else 0 if i == 3 else 10), b"label-%09d" % i: f"word {i} é".encode() if i != 5 else b"17"}
    want["text"] = write("text", text, again=3)
    want["super"] = write("super.lmdb", {f"{i:04}_s{k:03}".encode(): picture(10 * i + k, "png") for i in range(1, 4) for k in range(1, 4)})
    want["scenes"] = write("scenes_lmdb", {hashlib.sha1(b"%d" % i).hexdigest().encode(): picture(i, "webp") for i in range(12)})
    want["deep"] = write("deep.lmdb", {b"%04d" % i + b"k" * 500: b"%d" % i * (1 + 1500 * (i % 41 == 40)) for i in range(90)}, subdir=False, again=2)
    want["empty"] = write("empty.lmdb", {}, subdir=False)
    write("named.lmdb", {b"a": b"b"}, subdir=False, key=b"train")
    write("pickle.lmdb", {b"%08d" % i: pickle.dumps((picture(i), i)) for i in range(3)}, subdir=False)
    write("tensorpack.lmdb", {b"%08d" % i: b"\x92\xc4\x01x" for i in range(3)} | {b"__keys__": b"\x93"}, subdir=False)
    write("datum.lmdb", {b"%08d" % i: b"\x08\x03\x10\x06\x18\x08\x22\x04data\x28" + bytes([i]) for i in range(3)}, subdir=False)
    want["wide"] = told(wide())
    (HERE / "want.json").write_text(json.dumps(want, indent=0) + "\n")
    with tempfile.TemporaryDirectory() as made:
        (pathlib.Path(made) / "page.c").write_text(PAGE)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", f"{made}/page.so", f"{made}/page.c"], check=True)
        subprocess.run([sys.executable, __file__, "wide"], env={**os.environ, "LD_PRELOAD": f"{made}/page.so"}, check=True)


if sys.argv[1:]:
    write("wide.lmdb", wide(), subdir=False)
    assert struct.unpack_from("<I", (HERE / "wide.lmdb").read_bytes(), 40)[0] == 16384
else:
    shutil.rmtree(HERE, ignore_errors=True)
    HERE.mkdir()
    main()
