"""What the names in an archive say is never done: no file of theirs is opened, made or changed, whether the archive is served or refused."""

import contextlib
import ctypes
import io
import os
import struct
import tarfile

import pytest
from engines import describe, try_to_serve
from PIL import Image

IN_ACCESS, IN_MODIFY, IN_OPEN, IN_CREATE, IN_DELETE, IN_MOVED_TO = 1, 2, 0x20, 0x100, 0x200, 0x80
TOUCHED = IN_ACCESS | IN_MODIFY | IN_OPEN | IN_CREATE | IN_DELETE | IN_MOVED_TO
DECOY = b"a file outside of the archive"
with io.BytesIO() as buffer:
    Image.new("RGB", (8, 8)).save(buffer, "JPEG")
    PICTURE = buffer.getvalue()


@contextlib.contextmanager
def watched(directory):
    """touched() tells the names in the directory that anybody on the machine has opened, made, changed or removed since."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if fd < 0:
        pytest.skip(f"no inotify here: {os.strerror(ctypes.get_errno())}")

    def touched():
        names = set()
        with contextlib.suppress(BlockingIOError):
            while data := os.read(fd, 1 << 16):
                while data:
                    size = struct.unpack_from("iIII", data)[3]
                    names.add(data[16:16 + size].rstrip(b"\0").decode())
                    data = data[16 + size:]
        return names - {""}  # the directory itself

    try:
        assert libc.inotify_add_watch(fd, os.fsencode(directory), TOUCHED) > 0
        yield touched
    finally:
        os.close(fd)


def member(name, data=None, size=None, **how):
    info = tarfile.TarInfo(name)
    for key, value in how.items():
        setattr(info, key, value)
    if data is not None or size is not None:
        info.size = len(data) if size is None else size
    return info.tobuf(tarfile.GNU_FORMAT) + (data or b"") + b"\0" * (-len(data or b"") % 512)


def archive(path, *members):
    path.write_bytes(b"".join(members) + b"\0" * 10240)
    return path


@pytest.fixture
def outside(tmp_path):
    """The directory in which the engine is started, with files of the names that archives have, and a link to one of them."""
    directory = tmp_path / "outside"
    directory.mkdir()
    for name in ("a.jpg", "b.jpg", "decoy.jpg"):
        (directory / name).write_bytes(DECOY)
    (directory / "link.jpg").symlink_to("decoy.jpg")
    return directory


HOSTILE = {
    "climbing": lambda out: [member(f"../{out.name}/decoy.jpg", PICTURE)],
    "climbing in the middle": lambda out: [member(f"a/../../{out.name}/decoy.jpg", PICTURE)],
    "absolute": lambda out: [member(f"{out}/decoy.jpg", PICTURE)],
    "new by a climbing name": lambda out: [member(f"../{out.name}/new.jpg", PICTURE)],
    "a symbolic link": lambda out: [member("a.jpg", type=tarfile.SYMTYPE, linkname="decoy.jpg")],
    "a symbolic link away": lambda out: [member("a.jpg", type=tarfile.SYMTYPE, linkname=f"{out}/decoy.jpg")],
    "a hard link": lambda out: [member("a.jpg", type=tarfile.LNKTYPE, linkname="decoy.jpg")],
    "two links on the way": lambda out: [member("x", type=tarfile.SYMTYPE, linkname=str(out)), member("x/decoy.jpg", PICTURE)],
    "a device": lambda out: [member("a.jpg", type=tarfile.CHRTYPE, devmajor=1, devminor=5)],
    "a pipe": lambda out: [member("a.jpg", type=tarfile.FIFOTYPE)],
    "a lie of 4 GiB": lambda out: [member("a.jpg", PICTURE, size=4 << 30)],
    "sparse": lambda out: [member("a.jpg", PICTURE, type=tarfile.GNUTYPE_SPARSE)],
    "one name twice": lambda out: [member("a.jpg", PICTURE), member("a.jpg", PICTURE)],
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_archive_is_refused_and_what_it_names_is_not_touched(kind, tmp_path, outside):
    """By the member's or the archive's name, in the words of a refusal, with the files that it names lying there."""
    bad = archive(tmp_path / "bad.tar", member("b.jpg", PICTURE), *HOSTILE[kind](outside))
    with watched(outside) as touched:
        refused = try_to_serve({**describe(tmp_path), "source": {"shards": str(bad)}}, cwd=outside)
        assert refused.returncode not in (0, -9) and "bad.tar" in refused.stderr, refused.stderr
        assert "goroutine" not in refused.stderr
        assert touched() == set()
        (outside / "decoy.jpg").read_bytes()
        assert touched() == {"decoy.jpg"}, "the watch sees nothing"
    assert sorted(os.listdir(outside)) == ["a.jpg", "b.jpg", "decoy.jpg", "link.jpg"]
    assert {path.read_bytes() for path in outside.iterdir()} == {DECOY}


def test_members_named_like_files_beside_the_engine_are_read_from_the_archive_alone(serve, attach, tmp_path, outside):
    """A good archive: its pictures come, and the files of the same names in the engine's directory are never opened."""
    good = archive(tmp_path / "good.tar", *[member(name, PICTURE) for name in ("a.jpg", "b.jpg", "decoy.jpg", "link.jpg")])
    with watched(outside) as touched:
        engine = serve({**describe(tmp_path), "source": {"shards": str(good)}}, prefix=["env", "-C", str(outside)])
        loader = attach(engine.name)
        assert [(batch.rows, batch.n_bad) for batch in loader] == [(4, 0)]
        loader.close()
        assert touched() == set()
