"""The engine in this process: what holds for a child holds here, and what is different is refused by name."""

import json
import os
import pathlib
import subprocess
import sys
import tarfile

import pytest
from engines import WATCHDOG, Consumer, describe, environment

HERE = pathlib.Path(__file__).parent


@pytest.mark.parametrize("name", ["test_epochs.py", "test_resume.py", "test_bad_samples.py", "test_misuse.py", "test_refusals.py"])
def test_what_holds_for_a_child_engine_holds_in_process(name):
    """The same tests once more, with every spdl.open in process. Left out: what is about the engine's command."""
    if os.environ.get("SPDL_E2E_IN_PROCESS"):
        pytest.skip("this is that run")
    env = {**os.environ, "SPDL_E2E_IN_PROCESS": "1"}
    run = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", HERE / name,
                          "-k", "not wrong_values_in_python"], env=env, timeout=WATCHDOG - 20,
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def program(script, description, **env):
    """A Python program of its own that ends well; what it prints."""
    code, out, err = Consumer([sys.executable, "-c", "if 1:\n" + script, json.dumps(description)], env={**environment(), **env}).end()
    assert code == 0, err
    return out, err


PRELUDE = """
        import json, os, signal, sys, threading, time, spdl
        description = json.loads(sys.argv[1])
        def read(**options):
            with spdl.open(description, in_process=True, **options) as loader:
                return [(batch.ticket, batch["index"].tolist(), int(batch["image"].sum())) for batch in loader]
"""


def test_the_same_batches_come_as_from_a_child(pictures):
    """Every ticket, index and sum of pixels; no child process is started."""
    out, err = program(PRELUDE + """
        here = read()
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            print("no child")
        with spdl.open(description) as loader:
            print([(b.ticket, b["index"].tolist(), int(b["image"].sum())) for b in loader] == here, len(here) > 3)
    """, describe(pictures.path))
    assert (out.splitlines(), err) == (["no child", "True True"], "")


def test_the_environment_is_the_programs_present_one(pictures, tmp_path):
    """What os.environ was given after the program began, each time an engine is opened, and what was taken from it: here where indexes are kept, and the world."""
    with tarfile.open(tmp_path / "pictures.tar", "w") as tar:
        for i, sample in enumerate(pictures.samples[:4]):
            tar.add(sample.path, f"{i}{sample.path.suffix.lower()}")
    description = {**describe(pictures.path, batch=1), "source": {"shards": str(tmp_path / "pictures.tar")}, "world": "auto"}
    out, err = program(PRELUDE + f"""
        for cache, size, rank in (("a", "2", "1"), ("b", "4", "3"), ("c", None, None)):
            os.environ["SPDL_CACHE_DIR"] = {str(tmp_path)!r} + "/" + cache
            for name, value in (("WORLD_SIZE", size), ("RANK", rank)):
                os.environ.pop(name, None)
                if value:
                    os.environ[name] = value
            print(len(read()), len(os.listdir(os.environ["SPDL_CACHE_DIR"] + "/index")) > 0)
    """, description, SPDL_CACHE_DIR=str(tmp_path / "none"), ANOTHER="1")
    assert (out.splitlines(), err) == (["2 True", "1 True", "4 True"], "")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("closed", [[0], [1], [2], [0, 2], [0, 1, 2]], ids=str)
@pytest.mark.parametrize("in_process", [False, True], ids=["child", "in_process"])
def test_a_program_that_has_closed_its_standard_streams_is_served(pictures, tmp_path, in_process, closed):
    """Neither the pidfd nor the engine's end of the socket takes their places, where the engine's log goes."""
    said = tmp_path / "said"
    script = f"""
        import json, os, spdl, sys
        said = os.fdopen(os.dup(os.open({str(said)!r}, os.O_WRONLY | os.O_CREAT)), "w")
        for fd in {closed}:
            os.close(fd)
        try:
            with spdl.open(json.loads(sys.argv[1]), in_process={in_process}) as loader:
                print(sum(batch.rows for batch in loader), file=said)
        except BaseException as error:
            print(repr(error), file=said)
        said.close()
        os._exit(0)
    """
    Consumer([sys.executable, "-c", "if 1:\n" + script, json.dumps(describe(pictures.path))], env=environment()).end()
    assert said.read_text() == "53\n"


def test_open_and_close_fifty_times_leaves_nothing(pictures):
    """Descriptors and mappings of rings are as after the first, threads too, give or take Go's own."""
    out, _ = program(PRELUDE + """
        def settled(most=1 << 20):
            # descriptors and threads once the engine's end has let go of every mapping of a ring
            deadline = time.monotonic() + 60
            while "memfd:spdl" in open("/proc/self/maps").read():
                assert time.monotonic() < deadline
                time.sleep(0.01)
            while time.monotonic() < deadline and len(os.listdir("/proc/self/fd")) > most:
                time.sleep(0.01)
            return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))
        for _ in range(3):
            read()
        fds, threads = settled()
        for _ in range(50):
            read()
        now = settled(fds)
        print(now[0] <= fds, now[1] <= threads + 20)
    """, describe(pictures.path), GOMAXPROCS="2")  # Go makes threads as it has processors
    assert out == "True True\n"


def test_two_engines_in_one_process_serve_side_by_side(pictures):
    """Each gives its own epoch whole."""
    out, _ = program(PRELUDE + """
        got = [None] * 3
        def run(i):
            got[i] = read(args=["--shuffle", "--seed", str(i)])
        threads = [threading.Thread(target=run, args=(i,)) for i in range(3)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        print([sum(len(index) for _, index, _ in batches) for batches in got], got[0] != got[1])
    """, describe(pictures.path))
    assert out == "[53, 53, 53] True\n"


def test_a_forked_child_is_refused_by_name_and_may_start_a_child_engine(pictures):
    """No hang: the inherited loader and another engine in process say Forked; a child engine works; so does the parent."""
    out, _ = program(PRELUDE + """
        loader = spdl.open(description, in_process=True)
        pid = os.fork()
        if pid == 0:
            for call in (loader.acquire, read):
                try:
                    call()
                except spdl.Forked as error:
                    print("forked:", "fork" in str(error))
            with spdl.open(description) as own:
                print(sum(batch.rows for batch in own), flush=True)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        print(sum(batch.rows for batch in loader))
        loader.close()
    """, describe(pictures.path))
    assert out.split() == ["forked:", "True", "forked:", "True", "53", "0", "53"]


def test_the_hosts_signals_stay_its_own(pictures):
    """SIGINT raises KeyboardInterrupt during a wait, SIGCHLD and SIGTERM come to the host's handlers, SIGPIPE stays ignored."""
    out, _ = program(PRELUDE + """
        got = []
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD):
            signal.signal(number, lambda number, _: got.append(number))
        with spdl.open(description, in_process=True, group="a") as loader:
            for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD):
                os.kill(os.getpid(), number)
            threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            try:
                while True:
                    loader.acquire(timeout=30).release()
            except KeyboardInterrupt:
                print("interrupted")
        print(sorted(got) == sorted((signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD)), signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN)
    """, describe(pictures.path, ring={"groups": [{"name": "a"}, {"name": "b"}]}))
    assert out.split() == ["interrupted", "True", "True"]


def test_a_process_that_ends_with_an_engine_inside_ends_well(pictures):
    """By the end of the program without close(), and by os._exit: at once, and with nothing on stderr."""
    for end in ("", "os._exit(0)"):
        out, err = program(PRELUDE + f"""
        loader = spdl.open(description, in_process=True)
        batch = loader.acquire()
        print(batch.rows, flush=True)
        {end}
    """, describe(pictures.path))
        assert (out.split(), err) == (["4"], "")


ENDS = {
    "its last line": "",
    "sys.exit": "sys.exit(0)",
    "an exception": "raise ValueError",
    "Ctrl-C": "os.kill(os.getpid(), signal.SIGINT); time.sleep(60)",
    "exit of the C library": "import ctypes; ctypes.CDLL(None).exit(0)",
}
FIRST = PRELUDE + """
        loader = spdl.open(description, in_process=True)
        for batch in loader:  # which is held to the end
            print(batch.step, flush=True)
            if len(batch["index"]) and batch.step % 5 == 4:
                break
"""


@pytest.mark.parametrize("end", ENDS)
def test_a_program_that_ends_without_close_leaves_no_ring(pictures, surroundings, name, end):
    """With a batch in hand and posix backing: no names are left, and the next run begins at the beginning."""
    spec = json.dumps(describe(pictures.path, name=name, ring={"backing": "posix"}))
    for _ in range(2):
        _, out, _ = Consumer([sys.executable, "-c", f"if 1:\n{FIRST}        {ENDS[end]}", spec], env=environment()).end()
        assert out.split() == ["0", "1", "2", "3", "4"]
        assert surroundings.left() == []


@pytest.mark.parametrize("end", ["its last line", "exit of the C library"])
def test_an_end_with_a_journal_waits_for_no_batch_of_its_own(pictures, surroundings, name, tmp_path, end):
    """Nobody completes what the program that ends has in hand: its engine says so at once, leaves no name, and the next one gives it."""
    spec = json.dumps(describe(pictures.path, name=name, ring={"backing": "posix"}))
    for first in (0, 2):
        code = FIRST.replace("in_process=True", f"in_process=True, args=['--journal', {str(tmp_path / 'j')!r}]").replace("% 5 == 4", f"== {first + 2}")
        _, out, err = Consumer([sys.executable, "-c", f"if 1:\n{code}        {ENDS[end]}", spec], env=environment()).end()
        assert out.split() == [str(first + i) for i in range(3)]
        assert surroundings.left() == []
        assert "they come again" in err


def test_batches_that_nobody_gets_any_more_after_a_crash_are_said(pictures, surroundings, name):
    """A consumer without a declared group dies with its engine: what they had published is passed over, and the log says how much."""
    spec = describe(pictures.path, name=name, ring={"backing": "posix", "slots": 8})
    out, err = program(FIRST + "        os._exit(0)", spec)
    assert (out.split(), err) == (["0", "1", "2", "3", "4"], "")
    out, err = program(PRELUDE + "        print(read()[0][0])", spec)
    lost = int(out) - 4  # the batch in hand was not completed
    assert lost > 0 and f"{lost} batches before that will not come" in err and "warn" in err.lower()


def test_a_name_is_free_when_close_has_returned(pictures, name):
    """Open and close, many times: no ring is in the next one's way, and each begins at the beginning."""
    out, err = program(PRELUDE + """
        for _ in range(30):
            with spdl.open(description, in_process=True) as loader:
                assert loader.acquire().step == 0
    """, describe(pictures.path, name=name, ring={"backing": "posix"}))
    assert (out, err) == ("", "")


def test_shutdown_ends_the_engine_and_leaves_what_is_leased(pictures):
    """spdl_shutdown, with a batch in hand: it stays readable, the reader hears that the engine was stopped, another may be opened."""
    out, _ = program(PRELUDE + """
        import ctypes
        loader = spdl.open(description, in_process=True)
        batch = loader.acquire()
        before = batch["image"].copy()
        for _ in range(2):
            ctypes.CDLL(os.environ["SPDL_LIBRARY"]).spdl_shutdown()
        print((batch["image"] == before).all(), loader.state)
        batch = None
        try:
            while True:
                loader.acquire(timeout=30).release()
        except spdl.EngineStopped:
            print("stopped")
        loader.close()
        print(sum(len(index) for _, index, _ in read()))
    """, describe(pictures.path))
    assert out.split() == ["True", "stopped", "stopped", "53"]


def test_arguments_that_ask_for_help_are_refused_as_that(pictures):
    """--help and -h print the usage where a person starts the command; opened with them no engine starts, and the error says so."""
    out, _ = program("""
        import json, sys, spdl
        for in_process in (False, True):
            for flag in ("--help", "-h"):
                try:
                    spdl.open(json.loads(sys.argv[1]), args=[flag], in_process=in_process)
                except spdl.ArgumentError as error:
                    print(error)
    """, describe(pictures.path))
    assert out.splitlines() == ["serve: got --help or -h among the arguments, which prints the usage and starts no engine; leave it out"] * 4


def test_a_path_that_begins_with_a_dash_is_a_path(pictures, tmp_path):
    """It is no flag of the engine's command, in either form, and with arguments and a state beside it."""
    (tmp_path / "--child").symlink_to(pictures.path)
    (tmp_path / "-x").write_text(json.dumps(describe(pictures.path)))
    out, _ = program("""
        import json, os, sys, spdl
        os.chdir(json.loads(sys.argv[1]))
        for in_process in (False, True):
            for path in ("-x", "--child"):
                with spdl.open(path, args=["--seed", "3"], in_process=in_process) as loader:
                    state = loader.state_dict()
                    print(loader.info.samples)
                with spdl.open(path, args=["--seed", "3"], state=state, in_process=in_process):
                    pass
            try:
                spdl.open("--help", in_process=in_process)
            except spdl.EngineStartError as error:
                print(error)
    """, str(tmp_path))
    refused = f'serve: "--help": no such file or folder; looked for as "{tmp_path}/--help"; want a description (YAML or JSON), a folder of media or shards'
    assert out.splitlines() == ["53", "53", refused] * 2


def test_a_missing_engine_library_is_named(pictures):
    """$SPDL_ENGINE_LIBRARY that is not there: Unsupported, with its path."""
    out, _ = program("""
        import json, sys, spdl
        try:
            spdl.open(json.loads(sys.argv[1]), in_process=True)
        except spdl.Unsupported as error:
            print(error)
    """, describe(pictures.path), SPDL_ENGINE_LIBRARY="/nonexistent/engine.so")
    assert '$SPDL_ENGINE_LIBRARY "/nonexistent/engine.so"' in out


def test_the_log_goes_to_stderr_at_the_level_asked_for(pictures):
    """SPDL_LOG=info: the line that says it is ready."""
    _, err = program(PRELUDE + """
        read()
    """, describe(pictures.path), SPDL_LOG="info")
    assert "ready: child of its consumer" in err
