"""What does not work is refused at the start: the same text from the command, from Python and from C, and nothing is left."""

import json
import os
import re
import zipfile

import pytest
import spdl
from engines import CONSUMERS, DENIED, NO_ROOM, NOT_FOUND, SPDL, USAGE, describe, groups, python, run, try_to_serve
from pictures import make_folder

HUGE = {"resize": [4096, 4096]}  # 48 MiB a row


def refused(description, code, error, *texts, args=()):
    """The description is refused everywhere: the command ends with code, open raises error, C says so; each says every text."""
    served = try_to_serve(description, *args)
    assert served.returncode == code, served.stderr
    with pytest.raises(error) as raised:
        spdl.open(description, args=args)
    tell = [served.stderr, str(raised.value)]
    if not args:
        c = run([*CONSUMERS["c"], json.dumps(description) if isinstance(description, dict) else str(description)])
        assert c.returncode == 1
        tell.append(c.stderr)
    for told in tell:
        for text in texts:
            assert text in told, f"{told!r} does not say {text!r}"
        assert not told.rstrip().endswith("."), told
        assert "goroutine" not in told and "panic" not in told


# ---- the source


def test_a_missing_folder_is_named(tmp_path):
    """source.folder that is not there: which one."""
    refused(describe(tmp_path / "nowhere"), NOT_FOUND, spdl.SpdlError, f'source: folder "{tmp_path}/nowhere": no such directory')


def test_a_missing_path_on_the_command_line_is_named(tmp_path):
    """spdl serve PATH where nothing is."""
    served = try_to_serve(tmp_path / "nowhere")
    assert served.returncode == NOT_FOUND and f"{tmp_path}/nowhere" in served.stderr


def test_an_empty_folder_says_what_was_looked_for(tmp_path):
    """No files at all: what was found, and what is wanted."""
    refused(describe(tmp_path), NOT_FOUND, spdl.SpdlError, f'source: folder "{tmp_path}"', "found no files; want files ending in",
            "jpg")


def test_a_folder_of_other_files_says_what_is_in_it(tmp_path):
    """Texts and tables only: counted by ending."""
    for name in ("a.txt", "b.txt", "c.csv", "noending"):
        (tmp_path / name).write_text("x")
    refused(describe(tmp_path), NOT_FOUND, spdl.SpdlError, "4 other files", "2 .txt", "1 .csv")


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    """source.folder names a picture."""
    (tmp_path / "a.jpg").write_bytes(b"x")
    served = try_to_serve(describe(tmp_path / "a.jpg"))
    assert served.returncode != 0 and f'folder "{tmp_path}/a.jpg"' in served.stderr


def test_a_missing_list_and_a_wrong_line_of_it_are_named(tmp_path):
    """source.list: the file; the line number, what it has and what is wanted."""
    description = {**describe(""), "source": {"list": str(tmp_path / "list.tsv")}}
    refused(description, NOT_FOUND, spdl.SpdlError, f'source: list "{tmp_path}/list.tsv"')
    (tmp_path / "list.tsv").write_text("a.jpg\t0\nb.jpg\tcat\n")
    served = try_to_serve(description)
    assert served.returncode != 0
    assert f'source: list "{tmp_path}/list.tsv": line 2: label' in served.stderr and "cat" in served.stderr
    (tmp_path / "list.tsv").write_text("# nothing\n\n")
    refused(description, NOT_FOUND, spdl.SpdlError, f'source: list "{tmp_path}/list.tsv"')


@pytest.mark.parametrize("source, text", [
    ({"list": "t.csv", "columns": ["captoin"]}, 'line 1: no column "captoin"; the columns are path, caption'),
    ({"list": "t.jsonl", "columns": ["captoin"]}, 'no column "captoin" in any line; the columns of the first are caption, path'),
    ({"list": "t.csv", "path": "{id}.jpg"}, 'no column "id"; the columns are path, caption; path "{id}.jpg" is made of it'),
    ({"folder": "tree", "columns": ["text"]}, "source.columns: no file ends in .text"),
    ({"shards": "s.zip", "columns": ["text"]}, 'source.columns: no sample has a part "text"; the parts are jpg, txt'),
    ({"shards": "s.zip", "label": "cls"}, 'source.label: no sample has a part "cls"; the parts are jpg, txt'),
])
def test_what_a_data_set_lacks_is_the_descriptions_mistake(tmp_path, source, text):
    """A misspelt column, part or ending: SpecError and exit code 2, as of any other name that is wrong."""
    (tmp_path / "tree").mkdir()
    make_folder(tmp_path / "tree", 1)
    (tmp_path / "t.csv").write_text("path,caption\na.jpg,one\n")
    (tmp_path / "t.jsonl").write_text('{"path": "a.jpg", "caption": "one"}\n')
    with zipfile.ZipFile(tmp_path / "s.zip", "w") as archive:
        archive.writestr("1.jpg", b"jpg")
        archive.writestr("1.txt", b"one")
    kind = next(key for key in source if key in ("list", "folder", "shards"))
    refused({**describe(""), "source": {**source, kind: str(tmp_path / source[kind])}}, USAGE, spdl.SpecError, text)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user, who may not read a folder")
def test_a_folder_without_permission_is_denied(tmp_path, place):
    """A directory that this user may not read ends the start; it is not taken for an empty one."""
    folder = make_folder(tmp_path, 3).path
    os.chmod(folder / "a", 0o700)
    for parent in (folder, *folder.parents[:3]):
        os.chmod(parent, os.stat(parent).st_mode | 0o055)
    os.chmod(os.environ["SPDL_RUNTIME_DIR"], 0o777 | 0o1000)
    served = run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", place / "spdl", "serve", "--spec-json",
                  json.dumps(describe(folder))])
    assert served.returncode == DENIED and f'source: folder "{folder}": directory "a"' in served.stderr, served.stderr


# ---- sizes


def test_a_batch_larger_than_the_data_set_says_the_numbers(pictures):
    """With last: drop no batch would ever come."""
    refused(describe(pictures.path, batch=64, order={"last": "drop"}), USAGE, spdl.SpecError,
            "an epoch has 53 rows, a global batch takes 64", "use a smaller batch, or last: cover or pad")


@pytest.mark.parametrize("last, rows", [("cover", 53), ("pad", 64)])
def test_a_batch_larger_than_the_data_set_is_fine_otherwise(open_, pictures, last, rows):
    """cover gives one short batch an epoch, pad a full one."""
    loader = open_(describe(pictures.path, batch=64, order={"last": last, "epochs": 1}))
    assert [batch.rows for batch in loader] == [rows]


@pytest.mark.parametrize("backing", ["posix", "memfd"])
def test_more_slots_than_memory_holds_are_refused_with_the_numbers(pictures, backing):
    """64 TiB are refused by the description; what the machine has not got, before anything is reserved."""
    available = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    slots = 2 * available // (4 * 3 * 4096 * 4096)
    refused(describe(pictures.path, image={"transform": [HUGE]}, ring={"slots": slots, "backing": backing}), NO_ROOM,
            spdl.OutOfMemory, f"{slots} slots of 192.", "MiB", "available", "lower ring.slots or batch")


def small_shm(size):
    """Run a command with a /dev/shm of its own, of that size; skips where that is not allowed."""
    own = f"mount -t tmpfs -o size={size} tmpfs /dev/shm && exec \"$@\""
    prefix = ["unshare", "-Urm" if os.geteuid() else "-m", "sh", "-c", own, "sh"]
    if run([*prefix, "true"]).returncode != 0:
        pytest.skip("needs a mount namespace of its own for a small /dev/shm")
    return prefix


def test_a_ring_that_dev_shm_does_not_hold_is_refused_with_the_flag_that_raises_it(pictures):
    """posix backing in a container's 16 MiB: size needed, size free, --shm-size, and no name is left there."""
    description = describe(pictures.path, image={"transform": [{"resize": [224, 224]}]}, ring={"slots": 64, "backing": "posix"})
    script = '"$@"; echo "code $?" >&2; ls /dev/shm'
    served = run([*small_shm("16m"), "sh", "-c", script, "sh", SPDL, "serve", "--spec-json", json.dumps(description)])
    assert f"code {NO_ROOM}" in served.stderr, served.stderr
    needed, free = re.search(r"([\d.]+) MiB.*?([\d.]+) MiB[^0-9]*free", served.stderr).groups()
    assert float(needed) >= 64 * 4 * 224 * 224 * 3 / 2**20 and float(free) <= 16
    assert "--shm-size" in served.stderr
    assert served.stdout == "", "names are left"


@pytest.mark.parametrize("size, remedy", [("6m", "use at most 10 slots, --backing memfd"), ("1m", "use a smaller batch, --backing memfd")])
def test_check_tells_of_a_dev_shm_that_is_too_small(pictures, size, remedy):
    """It shows what it has decoded, and ends as serve does."""
    description = describe(pictures.path, image={"transform": [{"resize": [224, 224]}]}, ring={"slots": 64})
    checked = run([*small_shm(size), SPDL, "check", "--spec-json", json.dumps(description)])
    assert checked.returncode == NO_ROOM, checked.stderr
    assert "batch 0  4 rows" in checked.stdout and not checked.stdout.endswith("  ok\n")
    assert "spdl serve would not start; " + remedy in checked.stderr and "--shm-size" in checked.stderr


@pytest.mark.parametrize("limit, text", [("-n 12", "; raise the limit of open files (ulimit -n)"),
                                         ("-f 1", " bytes needed, files of this process may not be as large; raise the limit (ulimit -f)")])
def test_a_limit_of_the_shell_is_named(pictures, limit, text):
    checked = run(["sh", "-c", f'ulimit {limit} && exec "$@"', "sh", SPDL, "check", "--spec-json", json.dumps(describe(pictures.path))])
    assert checked.returncode != 0 and text in checked.stderr, checked.stderr


def test_a_small_dev_shm_does_not_matter_to_memfd(pictures):
    """The default of open: the same ring without names is made and read where /dev/shm holds 1 MiB."""
    description = describe(pictures.path, image={"transform": [{"resize": [224, 224]}]}, ring={"slots": 16})
    read = run([*small_shm("1m"), *CONSUMERS["c"], json.dumps(description)])
    assert read.returncode == 0 and "14 batches, 53 rows" in read.stdout, read.stderr


# ---- the description


WRONG = {  # the description's change, and where and how it is refused
    "misspelt key": ({"bacth": 4}, 'bacth: unknown key; did you mean "batch"?'),
    "misspelt key below": ({"order": {"shufle": True}}, 'order.shufle: unknown key; did you mean "shuffle"?'),
    "key in the wrong place": ({"shuffle": True}, "shuffle: unknown key here; it belongs at order.shuffle"),
    "unknown key": ({"limits": {"workers": 1}}, "limits.workers: unknown key; valid here: cpus, memory, fetch, read_ahead_bytes"),
    "text for a number": ({"batch": "many"}, 'batch: got text "many", want a whole number from 1 to 65536'),
    "fraction for a whole number": ({"batch": 1.5}, "batch: got 1.5, want a whole number"),
    "zero": ({"batch": 0}, "batch: got 0, want a whole number from 1"),
    "negative": ({"order": {"epochs": -1}}, "order.epochs: got -1"),
    "number for a flag": ({"order": {"shuffle": 1}}, "order.shuffle: got 1, want true or false"),
    "list for a mapping": ({"image": []}, "image: got an empty list, want a mapping"),
    "null": ({"batch": None}, "batch: got nothing"),
    "unknown word": ({"order": {"last": "wrap"}}, "order.last: got text \"wrap\", want one of cover, drop, pad"),
    "unknown op": ({"image": {"transform": [{"rotate": 90}]}}, "image.transform[0].rotate: unknown key; write random_rotation: 30"),
    "no fixed size": ({"image": {"transform": [{"resize": 64}]}}, "fixes the shorter side only"),
    "no source": ({"source": {}}, "source: names no samples; want exactly one of folder, list, shards, arrays, mix and host"),
    "u8 and normalise": ({"image": {"dtype": "u8", "transform": [{"center_crop": 8}, {"normalize": "imagenet"}]}},
                         "image.dtype: got u8 with normalize, want f16, bf16 or f32"),
    "ranks": ({"world": {"size": 2, "rank": 2}}, "world.size: got 2, want at least rank + lanes"),
    "group twice": ({"ring": groups("a", "a")}, 'ring.groups[1].name: got "a" twice'),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_description_is_refused_with_place_and_remedy(tmp_path, pictures, what):
    """File, line, column, key, what was got and what is wanted; exit code 2; SpecError in Python."""
    change, text = WRONG[what]
    file = tmp_path / "train.yaml"
    file.write_text("# a comment\n" + json.dumps({**describe(pictures.path), **change}, indent=2))
    refused(file, USAGE, spdl.SpecError, text)
    told = try_to_serve(file).stderr
    place = re.search(rf"{re.escape(str(file))}:(\d+):(\d+): ", told)
    assert place and 2 <= int(place[1]) <= len(file.read_text().splitlines()), told


def test_a_file_that_is_no_yaml_is_refused_where_it_breaks(tmp_path):
    """Line and column of the YAML error."""
    (tmp_path / "train.yaml").write_text("source:\n  folder: [a\n")
    refused(tmp_path / "train.yaml", USAGE, spdl.SpecError, f"{tmp_path}/train.yaml:", "not YAML")


def test_a_misspelt_flag_suggests_the_right_one(pictures):
    """Exit code 2 and the nearest name."""
    flag = run([SPDL, "serve", pictures.path, "--bach", "4"])
    assert flag.returncode == USAGE and "did you mean --batch?" in flag.stderr


def test_a_misspelt_verb_suggests_the_right_one(pictures):
    """Exit code 2 and the nearest name."""
    verb = run([SPDL, "server", pictures.path])
    assert verb.returncode == USAGE and "did you mean serve?" in verb.stderr


def test_wrong_values_in_python_are_refused_before_an_engine_is_started(pictures, tmp_path):
    """No engine under this path; a description that is no plain data; an impossible lane."""
    with pytest.raises(spdl.EngineStartError, match=str(tmp_path / "no-such-command")):
        spdl.open(describe(pictures.path), engine=tmp_path / "no-such-command")
    with pytest.raises(spdl.SpecError, match="not plain data"):
        spdl.open({"source": {1, 2}})
    with pytest.raises(spdl.ArgumentError, match="lane -2"):
        spdl.attach("x", lane=-2)


def test_an_engine_that_is_no_engine_is_an_error_and_not_a_wait(pictures):
    """SPDL_ENGINE names a command that ends at once, or that says nothing."""
    script = "import spdl, sys\ntry: spdl.open(sys.argv[1])\nexcept spdl.EngineStartError as error: print(error)"
    told = python(script, str(pictures.path), env={**os.environ, "SPDL_ENGINE": "/bin/true"})
    assert told.returncode == 0 and "/bin/true" in told.stdout, told.stderr
