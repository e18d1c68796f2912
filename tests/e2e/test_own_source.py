"""A data set of the program's own: what it brings is what any source would have brought, and what it fails to is told."""

import json
import subprocess
import sys
import zipfile

import pytest
from engines import BUILD, ROOT, Consumer, describe, environment
from spdl._stream import Stream

PRELUDE = """
        import json, os, pathlib, signal, sys, threading, time, numpy, spdl
        description = json.loads(sys.argv[1])
        root = pathlib.Path(description.pop("source")["folder"])
        paths = sorted((p for p in root.rglob("*") if p.is_file()), key=lambda p: str(p.relative_to(root)).encode())
        class Files:
            def __len__(self):
                return len(paths)
            def __getitem__(self, i):
                return paths[i].read_bytes(), "abc".index(paths[i].parent.name), str(paths[i].relative_to(root))
        def rows(loader):
            return [(b.ticket, b["index"].tolist(), b["label"].tolist(), b.sample_keys, int(b["image"].sum())) for b in loader]
        def settled():
            # threads of ours that are still there, once those that end have ended
            deadline = time.monotonic() + 60
            ours = lambda: [t for t in threading.enumerate() if t.name.startswith("spdl-source")]
            while ours() and time.monotonic() < deadline:
                time.sleep(0.01)
            return len(ours())
"""


def program(script, description):
    """A Python program of its own that ends well; what it prints."""
    code, out, err = Consumer([sys.executable, "-c", "if 1:\n" + PRELUDE + script, json.dumps(description)], env=environment()).end()
    assert code == 0, err
    return out, err


def test_a_data_set_gives_the_batches_that_its_files_in_a_folder_give(pictures):
    """Shuffled, two epochs: ticket, index, label, key and pixels of every batch; no thread is left."""
    out, err = program("""
        with spdl.open({**description, "source": {"folder": str(root)}}) as loader:
            want = rows(loader) + rows(loader)
        with spdl.open(description, source=Files()) as loader:
            got = rows(loader) + rows(loader)
            stats = loader.stats()["rings"][0]
        print(got == want, len(got) > 20, settled(), stats["bad_samples"]["total"], stats["source"]["host"]["given"] >= 2 * len(paths))
    """, describe(pictures.path, order={"seed": 3, "epochs": 2}))
    assert (out, err) == ("True True 0 0 True\n", "")


@pytest.mark.parametrize("answer", [
    "str(paths[i])", "paths[i]", "(paths[i], 7)", "paths[i].read_bytes()", "bytearray(paths[i].read_bytes())",
    "(memoryview(paths[i].read_bytes()), None, i)", "[str(paths[i]), 7]", "Tensor(paths[i].read_bytes())", "paths[i].as_uri()",
])
def test_every_form_of_an_answer_is_understood(pictures, answer):
    """Paths and bytes, with or without label and key."""
    out, err = program(f"""
        class Tensor:  # as torch's: no buffer, but an array of its numbers
            def __init__(self, data): self.data = data
            def numpy(self): return numpy.frombuffer(self.data, numpy.uint8)
        class Other(Files):
            def __getitem__(self, i):
                return {answer}
        with spdl.open(description, source=Other(), source_threads=3) as loader:
            got = [(key, label) for b in loader for key, label in zip(b.sample_keys, b["label"].tolist())]
        answer = {answer!r}
        label = 7 if "7" in answer else -1
        want = [(str(i) if "bytes" in answer else paths[i].as_uri() if "uri" in answer else str(paths[i]), label) for i in range(len(paths))]
        print(got == want)
    """, describe(pictures.path))
    assert (out, err) == ("True\n", "")


def test_a_data_loader_takes_a_data_set_too(pictures):
    """spdl.DataLoader(description, source=dataset), as the migration page says."""
    out, err = program("""
        with spdl.DataLoader(description, source=Files(), tensors="numpy") as loader:
            print(sorted(int(label) for _, labels in loader for label in labels) == sorted("abc".index(p.parent.name) for p in paths))
    """, describe(pictures.path))
    assert (out, err) == ("True\n", "")


def test_an_exception_is_a_bad_sample_with_its_text_and_place(pictures):
    """Whatever is raised or returned in error is counted by cause; every other sample arrives, and the threads live on."""
    out, err = program("""
        class Bad(Files):
            def __getitem__(self, i):
                if i == 3: raise KeyError("no such picture")
                if i == 4: sys.exit("really")
                if i == 7: return b""
                if i == 8: return "/no/such/file"
                if i == 9: return ("a\\0b", 1)
                if i == 11: return b"not a picture"
                if i == 12: return paths[i], 1 << 63
                return super().__getitem__(i)
        with spdl.open(description, source=Bad()) as loader:
            index = [i for b in loader for i in b["index"].tolist()]
            bad = loader.stats()["rings"][0]["bad_samples"]
        print(index == [i for i in range(len(paths)) if i not in (3, 4, 7, 8, 9, 11, 12)], json.dumps(bad["causes"], sort_keys=True))
        print(*bad["last"], sep="\\n")
    """, describe(pictures.path))
    lines = out.splitlines()
    assert lines[0] == 'True {"empty": 1, "missing": 1, "not_an_image": 1, "source": 4}'
    for line, want in zip(lines[1:], ["KeyError: 'no such picture' (<string>:", "SystemExit: really", "empty: got 0 bytes",
                                      '"/no/such/file": missing', "ValueError: got a zero byte in the path",
                                      'sample 11 "11": media: not an image', "OverflowError: got label 9223372036854775808"]):
        assert want in line, out
    assert err.count("bad sample, source") == 4


@pytest.mark.parametrize("source", ["Other()", "(Other()[i] for i in range(9))"])
@pytest.mark.parametrize("answer, text", [
    ("17", "got int, want encoded bytes or a path, alone or as (it, label)"),
    ("(paths[i], 'three')", "got label 'three' of type str, want a whole number"),
    ("(1, 2, 3, 4, 5)", "got a tuple of 5, want (bytes or path, label)"), ("(1, 2, 3, 4)", "got a int with columns beside it, want a path"),
    ("[paths[i]]", "got a list of 1, want (bytes or path, label)"),
    ("{'image': {'bytes': b'x', 'path': None}, 'label': 1}", "got a dict of image, label; want encoded bytes or a path, alone or as (it, label) or (it, label, key), such as "
                                                             "(row['image']['bytes'], row['label']), undecoded: cast_column('image', Image(decode=False))"),
    ("numpy.zeros((8, 8, 3), 'u1'), 1", "got ndarray of shape [8, 8, 3], want encoded bytes or a path"),
])
def test_what_is_no_answer_at_all_ends_the_loop(pictures, source, answer, text):
    """A picture that is decoded already, say: the loop raises it, and no epoch of nothing goes by."""
    out, err = program(f"""
        class Other(Files):
            def __getitem__(self, i):
                return {answer}
        with spdl.open({{**description, "order": {{"epochs": 1}}}}, source={source}) as loader:
            try:
                print([b.rows for b in loader])
            except spdl.EngineFailed as error:
                print(error)
            print(loader.stats()["rings"][0]["bad_samples"]["total"])
    """, describe(pictures.path))
    assert text in out and "the program's data set cannot go on: TypeError: " in out and out.endswith("\n0\n"), out + err


def test_one_odd_answer_of_many_is_a_bad_sample(pictures):
    """None, as a data set says of a sample that it has not, and a wrong type once there was a right one."""
    out, err = program("""
        class Some(Files):
            def __getitem__(self, i):
                return None if i == 2 else 17 if i == 5 else super().__getitem__(i)
        with spdl.open({**description, "order": {"epochs": 1, "shuffle": False}}, source=Some(), source_threads=1) as loader:
            print(sum(b.rows for b in loader) == len(paths) - 2, loader.stats()["rings"][0]["bad_samples"]["total"])
    """, describe(pictures.path))
    assert out == "True 2\n", out + err


def test_epochs_without_a_good_sample_end_the_loop(pictures):
    """Files that are no pictures: the loop raises how many, and why."""
    out, err = program("""
        class Texts(Files):
            def __getitem__(self, i):
                return b"no picture"
        with spdl.open(description, source=Texts()) as loader:
            try:
                for epoch in range(9): print(sum(b.rows for b in loader))
            except spdl.EngineFailed as error:
                print(error)
    """, describe(pictures.path, order={"epochs": 9}))
    assert "epoch 0: none of its " in out and "by cause not_an_image, such as: sample " in out and out.count("\n") == 1, out + err

def test_a_run_goes_on_exactly_where_its_state_was_taken(pictures):
    """state_dict and load_state_dict over a data set of the program's own, in a new engine and in the same."""
    out, err = program("""
        with spdl.open(description, source=Files()) as loader:
            whole = rows(loader) + rows(loader)
        with spdl.open(description, source=Files()) as loader:
            first = [loader.acquire() for _ in range(2)]
            state = loader.state_dict()
            [b.release() for b in first]
            next(iter(loader))
            loader.load_state_dict(state)
            again = rows(loader) + rows(loader)
        with spdl.open(description, source=Files(), state=state) as loader:
            anew = rows(loader) + rows(loader)
        print(again == whole[2:], anew == whole[2:])
    """, describe(pictures.path, order={"seed": 5, "epochs": 2}))
    assert (out, err) == ("True True\n", "")


def test_under_torchrun_each_rank_feeds_its_own_engine(pictures):
    """Two ranks of one machine: each sees its half of the order, together every sample once."""
    out, err = program("""
        seen = []
        for rank in "01":
            os.environ.update(RANK=rank, LOCAL_RANK=rank, WORLD_SIZE="2", LOCAL_WORLD_SIZE="2")
            with spdl.open(description, source=Files()) as loader:
                half = [i for b in loader for i in b["index"].tolist()]
                print(loader.info.rank, loader.info.world_size, len(half) > 20)
                seen += half
        print(sorted(seen) == list(range(len(paths))))
    """, describe(pictures.path, order={"seed": 1, "epochs": 1}))
    assert (out.splitlines(), err) == (["0 2 True", "1 2 True", "True"], "")


def test_leaving_in_the_middle_leaves_no_thread(pictures):
    """break, an exception, Ctrl-C and a loader that is only forgotten; a data set that is slow meanwhile."""
    out, err = program("""
        import gc
        class Slow(Files):
            def __getitem__(self, i):
                time.sleep(0.02)
                return super().__getitem__(i)
        for way in ("break", "raise", "interrupt", "forget"):
            loader = spdl.open(description, source=Slow())
            try:
                if way == "forget":
                    next(iter(loader)).release()
                else:
                    with loader:
                        for batch in loader:
                            if way == "raise": raise RuntimeError(way)
                            if way == "interrupt": signal.raise_signal(signal.SIGINT)
                            break
            except (RuntimeError, KeyboardInterrupt) as error:
                del error
            batch = loader = None
            gc.collect()
            print(way, settled())
    """, describe(pictures.path))
    assert (out.splitlines(), err) == (["break 0", "raise 0", "interrupt 0", "forget 0"], "")


@pytest.mark.parametrize("end", ["pass", "sys.exit(0)", "os._exit(0)", "loader.close()"])
def test_a_program_that_ends_with_a_data_set_in_use_ends(pictures, end):
    """At exit nobody waits for a data set that never answers."""
    out, err = program(f"""
        hang = threading.Event()
        class Hanging(Files):
            def __getitem__(self, i):
                if i > 20: hang.wait()
                return super().__getitem__(i)
        spdl._feed.JOIN_S = 0.1
        loader = spdl.open(description, source=Hanging())
        print(next(iter(loader)).rows, flush=True)
        {end}
    """, describe(pictures.path))
    assert (out, err) == ("4\n", "")


def test_a_late_sample_is_bad_by_its_deadline_and_nothing_hangs(pictures):
    """source.host.timeout bounds what one sample can hold up."""
    out, err = program("""
        class Late(Files):
            def __getitem__(self, i):
                if i == 2: wake.wait()
                return super().__getitem__(i)
        for timeout in "500ms", "5s", "30s":  # where the machine stands still for as long, others are late, too
            wake = threading.Event()
            description["source"] = {"host": {"timeout": timeout}}
            with spdl.open(description, source=Late()) as loader:
                index = [i for b in loader for i in b["index"].tolist()]
                wake.set()
                bad = loader.stats()["rings"][0]["bad_samples"]
            if bad["total"] == 1: break
        print(2 in index, bad["causes"].get("deadline"), settled())
    """, describe(pictures.path))
    assert out == "False 1 0\n" and "source.host.timeout" in err


@pytest.mark.parametrize("arguments, error", [
    ("description, source=7", "ArgumentError: spdl: open: source is a int, want an object with __len__ and __getitem__"),
    ("description, source='x'", "ArgumentError: spdl: open: source is a str"),
    ("description, source=[]", "ArgumentError: spdl: open: source has no samples"),
    ("description, source=paths, source_threads=0", "ArgumentError: spdl: open: source_threads 0, want 1 to 1024"),
    ("description, source=paths, share=True", "ArgumentError: spdl: open: share=True and source="),
    ("{**description, 'source': {'folder': 'x'}}, source=paths", "SpecError: spdl: open: the description has a source, and source= was given"),
    ("{**description, 'source': {'host': {'samples': 1}}}, source=paths", "samples, each by its index; leave samples and stream out"),
    ("file({'source': {'folder': str(root)}}), source=paths", "NotFound: spdl: source: the engine's description has neither source.host nor order.asked"),
    ("file({'source': {'host': {'samples': 1}}}), source=paths", "the description says source.host.samples: 1"),
    ("{**description, 'source': {'host': {'samples': 1}}}", "EngineStartError: "),
    ("{**description, 'order': {'balance': 'label'}}, source=paths", "balance: label is not known before a sample of source.host is read"),
])
def test_what_cannot_be_is_refused_by_name(pictures, tmp_path, arguments, error):
    """Each with the remedy; nothing is left running."""
    out, _ = program(f"""
        def file(more):
            path = {str(tmp_path / 'spec.json')!r}
            pathlib.Path(path).write_text(json.dumps({{**description, **more}}))
            return path
        try:
            spdl.open({arguments})
            print("opened")
        except spdl.SpdlError as error:
            print(type(error).__name__ + ": " + str(error), settled())
    """, describe(pictures.path))
    assert error in out and out.endswith(" 0\n"), out


def test_the_examples_run_as_their_pages_say(pictures, tmp_path):
    """examples/python/own_source.py over an archive, own_source in C and C++ over files; a bad one is told."""
    archive, spoilt = tmp_path / "pictures.zip", tmp_path / "spoilt.jpg"
    spoilt.write_bytes(b"no picture")
    with zipfile.ZipFile(archive, "w") as z:
        for sample in pictures.samples:
            z.write(sample.path, sample.key)
        z.write(spoilt, "a/spoilt.jpg")
    run = subprocess.run([sys.executable, ROOT / "examples/python/own_source.py", archive], env=environment(), capture_output=True, text=True, timeout=60)
    lines = run.stdout.splitlines()
    assert run.returncode == 0 and [line.split(",")[0] for line in lines[:3]] == [
        f"{c}: {sum(s.key[0] == c for s in pictures.samples)} pictures" for c in "abc"], run.stdout + run.stderr
    for arguments, code, says in [([], 2, "usage: "), ([tmp_path / "none.zip"], 1, "own_source: [Errno 2]"), ([spoilt], 1, "own_source: File is not a zip file")]:
        run = subprocess.run([sys.executable, ROOT / "examples/python/own_source.py", *arguments], env=environment(), capture_output=True, text=True, timeout=60)
        assert run.returncode == code and run.stderr.startswith(says), run
    assert lines[3].startswith("bad: ") and '"a/spoilt.jpg": media: not an image' in lines[3]
    files = [str(sample.path) for sample in pictures.samples]
    printed = []
    for program_of in ("own_source_c", "own_source_cpp"):
        run = subprocess.run([BUILD / "examples" / program_of, *files, tmp_path / "none.jpg"], env=environment(), capture_output=True, text=True, timeout=60)
        assert run.returncode == 0 and sorted(line.rpartition(" ")[0] for line in run.stdout.splitlines()) == sorted(files), run.stderr
        assert run.stderr.endswith("1 bad\n") and f'"{tmp_path}/none.jpg": source: No such file or directory' in run.stderr
        printed.append(sorted(run.stdout.splitlines()))
    assert printed[0] == printed[1]


STREAM = """
        class Stream:
            # a new iterator each time, of more or fewer items
            def __init__(self, *lengths):
                self.lengths, self.begun = list(lengths), 0
            def __iter__(self):
                n = self.lengths[self.begun % len(self.lengths)]
                self.begun += 1
                for path in paths[:n]:
                    yield path.read_bytes(), 5, str(path)
        def keys(loader):
            return [key for b in loader for key in b.sample_keys]
        names = [str(p) for p in paths]
        assert len(names) >= 10
"""


def stream(script, description):
    """A program with a source that is an iterable."""
    return program(STREAM + script, description)


def test_an_iterable_of_unknown_length_ends_its_epochs(pictures):
    """In its own order, each epoch iterated anew, whatever its length is; nobody can tell len()."""
    out, err = stream("""
        with spdl.open(description, source=Stream(10, 7, 8), source_threads=3) as loader:
            got = [keys(loader) for _ in range(3)]
            try:
                len(loader)
            except TypeError as error:
                print("only its end" in str(error))
            bad = loader.stats()["rings"][0]["bad_samples"]["total"]
        print(got == [names[:10], names[:7], names[:8]], bad, settled())
    """, describe(pictures.path, batch=4, order={"epochs": 3}))
    assert (out, err) == ("True\nTrue 0 0\n", "")


@pytest.mark.parametrize("source", ["iter(names)", "(pathlib.Path(n) for n in names)", "map(lambda n: (open(n, 'rb').read(), None, n), names)"])
def test_an_iterator_is_gone_through_once(pictures, source):
    """Generators, maps and iterators of paths or bytes: one epoch, and then the data are over."""
    out, err = stream(f"""
        with spdl.open(description, source={source}) as loader:
            print(keys(loader) == names, keys(loader) == [])
    """, describe(pictures.path, batch=4))
    assert out == "True True\n" and "of an iterable>: empty, as its 1 epochs are over; more come" in err and err.count("Warning") == 1


def test_an_iterable_is_resumed_by_count(pictures):
    """A state goes on with the item after the last completed one; at the end of an epoch with the next epoch."""
    out, err = stream("""
        for cut in (1, 2, 3):
            with spdl.open(description, source=Stream(10)) as loader:
                first = []
                for batch in loader:
                    first += batch.sample_keys
                    if len(first) >= min(4 * cut, 10):
                        state = loader.state_dict()
                        break
            with spdl.open(description, source=Stream(10), state=state) as loader:
                print((first + keys(loader))[:10] == names[:10], loader.epoch == (2 if cut == 3 else 1), keys(loader) == ([] if cut == 3 else names[:10]))
    """, describe(pictures.path, batch=4, order={"epochs": 2}))
    assert out == "True True True\n" * 3, err


def test_an_iterable_that_raises_ends_its_epoch_and_then_the_loop(pictures):
    """What came before is delivered; the sample is bad, cause source; the exception is the loop's, once, and the next epoch goes on."""
    out, err = stream("""
        class Raises(Stream):
            def __iter__(self):
                for i, item in enumerate(super().__iter__()):
                    if i == 6 and self.begun == 1:
                        raise ZeroDivisionError("item six")
                    yield item
        with spdl.open(description, source=Raises(9)) as loader:
            got = []
            try:
                for batch in loader:
                    got += batch.sample_keys
            except ZeroDivisionError as error:
                print(error, got == names[:6])
            print(keys(loader) == names[:9], loader.stats()["rings"][0]["bad_samples"]["causes"])
    """, describe(pictures.path, batch=4, order={"epochs": 2}))
    assert out == "item six True\nTrue {'source': 1}\n"
    assert "ZeroDivisionError: item six" in err


def test_an_iterable_that_cannot_begin_an_epoch_ends_the_loop(pictures):
    """What __iter__ raises is what an item raises there; no items of another epoch stand in."""
    out, err = stream("""
        class Raises(Stream):
            opens = 0
            def __iter__(self):
                self.opens += 1
                if self.opens in raises:
                    raise FileNotFoundError("the archive is gone")
                return super().__iter__()
        for raises in ([2], [3]):  # the first is open's look at the items
            with spdl.open(description, source=Raises(9)) as loader:
                for _ in range(2):
                    try:
                        print(keys(loader) == names[:9])
                    except FileNotFoundError as error:
                        print(error)
    """, describe(pictures.path, batch=4, order={"epochs": 2}))
    assert out == "the archive is gone\nTrue\nTrue\nthe archive is gone\n", err


def test_an_iterable_may_take_its_time(pictures):
    """A queue that is quiet for longer than a sample's deadline loses nothing: the engine is told that it is one, and then has none."""
    out, err = stream("""
        with spdl.open(description, source=Stream(10)) as loader:
            print(keys(loader) == names[:10], loader._streamed())
    """, describe(pictures.path, batch=4, order={"epochs": 1}))
    assert out == "True True\n", err


def test_an_iterable_is_gone_through_in_one_thread(pictures):
    """What may not leave its thread, such as a cursor of sqlite3, works; and a generator that is left in the middle ends there, too."""
    out, err = stream("""
        threads = set()
        class Cursor:
            def __iter__(self):
                threads.add(threading.get_ident())
                try:
                    for name in names:
                        threads.add(threading.get_ident())
                        yield name
                finally:
                    threads.add(threading.get_ident())
        with spdl.open(description, source=Cursor()) as loader:
            print(keys(loader) == names)
            for batch in loader:
                print(batch.rows)
                break
        print(len(threads), threading.get_ident() in threads, settled())
        threads.clear()
        with spdl.open({**description, "order": {"epochs": 1}}, source=iter(Cursor())) as loader:  # nobody else holds it
            next(iter(loader))
        del loader
        print(len(threads), threading.get_ident() in threads, settled())
    """, describe(pictures.path, batch=4, order={"epochs": 2}))
    assert (out, err) == ("True\n4\n1 False 0\n1 False 0\n", "")


def test_a_want_of_a_pass_that_is_over_begins_none():
    """A thread that took it before the epoch's end, and asks only now, takes no item of the next epoch."""
    begun = []

    class Passes:
        def __iter__(self):
            begun.append(self)
            return iter(range(9))

    stream = Stream(Passes())
    assert [stream.get(0, 0, 1), stream.get(1, 1, 5), stream.get(1, 0, 4)] == [0, 1, 0]
    with pytest.raises(LookupError, match="item 7 of epoch 0 is not wanted any more"):
        stream.get(0, 7, 3)
    assert stream.get(1, 2, 6) == 2 and len(begun) == 2


def test_an_iterable_that_does_not_fill_its_last_batch_obeys_last(pictures):
    """cover delivers it short, drop leaves it out."""
    out, err = stream("""
        for last in "cover", "drop":
            with spdl.open({**description, "order": {"epochs": 2, "last": last}}, source=Stream(10)) as loader:
                print([b.rows for b in loader], [b.rows for b in loader])
    """, describe(pictures.path, batch=4))
    assert (out, err) == ("[4, 4, 2] [4, 4, 2]\n[4, 4] [4, 4]\n", "")


def test_torchs_iterable_data_sets_are_iterables(pictures):
    """Their base has a __getitem__, which raises, and they may have a length."""
    out, err = stream("""
        import types
        class Dataset:
            def __getitem__(self, index):
                raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")
        class IterableDataset(Dataset):
            pass
        sys.modules["torch.utils.data"] = types.SimpleNamespace(IterableDataset=IterableDataset)
        class Mine(IterableDataset, Stream):
            def __len__(self):
                return 10
        with spdl.open(description, source=Mine(10)) as loader:
            print(keys(loader) == names[:10])
    """, describe(pictures.path, batch=4, order={"epochs": 1}))
    assert (out, err) == ("True\n", "")


def test_under_torchrun_an_iterable_is_each_ranks_own(pictures):
    """All of it comes, as of torch's IterableDataset: the program knows its rank, and brings what is the rank's."""
    out, err = stream("""
        os.environ.update(RANK="1", WORLD_SIZE="2", LOCAL_RANK="1", LOCAL_WORLD_SIZE="2")
        with spdl.open(description, source=Stream(10)) as loader:
            print(keys(loader) == names[:10], loader.info.world_size)
    """, describe(pictures.path, batch=4, order={"epochs": 1}))
    assert (out, err) == ("True 1\n", "")


def test_what_an_iterable_cannot_be_asked_for_is_refused(pictures, tmp_path):
    """With the key, the value and the remedy; an item that is not there is a bad sample alone."""
    out, err = stream("""
        def file(host):
            path = pathlib.Path(TMP) / f"{len(host)}{'stream' in host}.json"
            path.write_text(json.dumps({**description, "order": {"shuffle": False}, "source": {"host": host}}))
            return path
        with spdl.open({**description, "order": {"epochs": 1}}, source=[names[0], "/none", names[1]].__iter__()) as loader:
            print(keys(loader) == names[:2], loader.stats()["rings"][0]["bad_samples"]["causes"])
        for spec, source in ((description, iter(names)), ({**description, "order": {"shuffle": True}}, Stream(3)), (description, 7), (description, Stream(0)),
                             ({**description, "source": {"host": {"samples": 3}}}, Stream(3)), ({**description, "source": {"folder": "x"}}, Stream(3)),
                             ({**description, "order": {"repeat": 2}}, Stream(3)), ({**description, "order": {"filter": "index > 1"}}, Stream(3)),
                             ({**description, "order": {"last": "pad"}}, Stream(3)), ({**description, "ring": {"delivery": "ready"}}, Stream(3)),
                             ({**description, "world": {"size": 2}}, Stream(3)), ({**description, "source": {"host": {"timeout": "2s"}}}, Stream(3)),
                             ({**description, "rings": {"a": {}}}, Stream(3)), (file({"samples": 9}), Stream(3)), (file({"stream": True}), Files())):
            try:
                with spdl.open(spec, source=source) as loader:
                    keys(loader)
            except spdl.SpdlError as error:
                print(type(error).__name__, error)
    """.replace("TMP", repr(str(tmp_path))), describe(pictures.path, batch=4, order={"epochs": 2}))
    lines = out.splitlines()
    assert lines[0] == "True {'missing': 1}"
    wants = ["epochs is 2", "order.shuffle: an iterable comes in its own order", "source is a int", "the program's data ended before the first sample",
             "source.host.samples is given, and source= is an iterable", "the description has a source", "order.repeat: got 2 with source.host.stream",
             "order.filter: given with source.host.stream", "order.last: got pad with source.host.stream", "ring.delivery: got ready with source.host.stream",
             "world.size: got 2 with source.host.stream", "source.host.timeout is given, and source= is an iterable: nothing of it is late", "the description has several rings",
             "the description says source.host.stream: false; an iterable has no index", "the description says source.host.stream: true; give an iterable"]
    assert len(lines) == 1 + len(wants), out
    for line, want in zip(lines[1:], wants):
        assert want in line
