"""Engines and consumers as processes: the real command, the example of each language."""

import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SPDL_BUILD", ROOT / "build")).resolve()
SPDL = pathlib.Path(os.environ.setdefault("SPDL_ENGINE", str(BUILD / "spdl"))).resolve()
os.environ.setdefault("SPDL_LIBRARY", str(BUILD / "libspdl.so"))

WATCHDOG = 300  # seconds for a whole test
PATIENCE = 90  # for one wait
MEASURE = os.environ.get("SPDL_FAULT_LONG") == "1"  # promises of time are held to the clock, on a machine that has nothing else to do
MARK = "SPDL_E2E"  # environment variable that tells the processes of a test from all others

CONSUMERS = {
    "c": [str(BUILD / "examples/train_c")],
    "cpp": [str(BUILD / "examples/train_cpp")],
    "python": [sys.executable, str(ROOT / "examples/python/train.py")],
}
OTHERS = {  # language: what `make examples` builds where the machine has it, and how that is run
    "go": ("train_go", [str(BUILD / "examples/train_go")]),
    "rust": ("train_rust", [str(BUILD / "examples/train_rust")]),
    "java": ("java/Train.class", ["java", f"-Djna.library.path={BUILD}", "-cp", f"/usr/share/java/jna.jar:{BUILD}/examples/java", "Train"]),
    "node": ("node/train.mjs", ["node", str(BUILD / "examples/node/train.mjs")]),
}
CONSUMERS.update({language: command for language, (built, command) in OTHERS.items() if (BUILD / "examples" / built).exists()})
if lacking := set(os.environ.get("SPDL_LANGUAGES", "").split()) - set(CONSUMERS):
    raise RuntimeError(f"SPDL_LANGUAGES asks for consumers that {BUILD / 'examples'} has not: {', '.join(sorted(lacking))}; run `make languages`")
LANGUAGES = list(CONSUMERS)

# Exit codes of the command, docs/failures.md.
FAILED, USAGE, NOT_FOUND, DENIED, BUSY, NO_ROOM = 1, 2, 3, 4, 5, 6


def environment(**more):
    path = f"{ROOT / 'clients/python'}:{os.environ.get('PYTHONPATH', '')}".rstrip(":")
    return {**os.environ, "PYTHONPATH": path, **more}


def processes_of(mark):
    """(pid, command) of every other process that has the mark in its environment: orphans too."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            if wanted in pathlib.Path("/proc", entry, "environ").read_bytes().split(b"\0"):
                found.append((int(entry), pathlib.Path("/proc", entry, "cmdline").read_bytes().replace(b"\0", b" ").decode()))
        except OSError:
            continue  # gone, or another user's
    return found


def ended(pid):
    """Whether a process is over: gone, or a zombie that only waits for whoever adopted it."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def describe(folder, **sections):
    """A small description: 8 x 8 pictures, four a batch, one epoch in the order of the paths. Sections replace whole keys."""
    description = {
        "source": {"folder": str(folder)},
        "batch": 4,
        "order": {"shuffle": False, "epochs": 1},
        "image": {"transform": [{"resize": [8, 8]}]},
    }
    return {**description, **sections}


def groups(*names, **more):
    """The ring section that declares groups of these names."""
    return {"groups": [{"name": name} for name in names], **more}


def arguments(description):
    """How the command is told what to serve: a dict as JSON, anything else as a path."""
    return ["--spec-json", json.dumps(description)] if isinstance(description, dict) else [str(description)]


def eventually(what, condition, seconds=PATIENCE):
    """Wait for a condition, and return what it returned."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"waited {seconds} s in vain for {what}"
        time.sleep(0.002)
    return value


class Engine:
    """`spdl serve` as a service."""

    def __init__(self, description, *args, name, log, prefix=(), env=None):
        self.name, self.log = name, log
        self.command = [*prefix, str(SPDL), "serve", *arguments(description), "--name", name, *args]
        with open(log, "wb") as out:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                            env=environment(**(env or {})))
        self.socket = pathlib.Path(self.process_env(env, "SPDL_RUNTIME_DIR"), f"{name}.sock")

    @staticmethod
    def process_env(env, key):
        return (env or {}).get(key, os.environ[key])

    @property
    def pid(self):
        return self.process.pid

    @property
    def running(self):
        return self.process.poll() is None

    def said(self):
        return self.log.read_text()

    def ready(self):
        def says_so():
            assert self.running, f"the engine ended with {self.process.returncode}: {self.said()}"
            return " ready: " in self.said()

        try:
            eventually("the engine to be ready", says_so)
        except BaseException:
            self.kill()
            raise
        return self

    def stop(self):
        """End it in good order; its exit code."""
        if self.running:
            self.process.terminate()
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the engine did not end within {PATIENCE} s of SIGTERM") from None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))


def run(command, **options):
    """A command to its end: returncode, stdout, stderr."""
    options.setdefault("env", environment())
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=PATIENCE,
                          stdin=subprocess.DEVNULL, **options)


def try_to_serve(description, *args, **options):
    """`spdl serve` that is expected to refuse: its finished process."""
    return run([SPDL, "serve", *arguments(description), *args], **options)


def python(script, *args, **options):
    """A Python script in an interpreter of its own, to its end."""
    return run([sys.executable, "-X", "faulthandler", "-c", script, *args], **options)


class Consumer:
    """An example of one language, or a script, as a running process that can be waited for."""

    started = []  # in this test, for its end

    def __init__(self, command, **options):
        options = {"env": environment(), "stdout": subprocess.PIPE, **options}
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **options)
        self.started.append(self)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.kill()

    def kill(self):
        self.process.kill()
        if not self.process.stderr.closed:
            self.process.communicate()

    @classmethod
    def end_all(cls):
        while cls.started:
            cls.started.pop().kill()

    @property
    def pid(self):
        return self.process.pid

    def line(self):
        """The next line, not a byte more: what a buffer took beyond it would be lost to end()."""
        got = bytearray()
        while (byte := os.read(self.process.stdout.fileno(), 1)) not in (b"", b"\n"):
            got += byte
        return got.decode()

    def end(self):
        """Wait for its end: (exit code, stdout, stderr)."""
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, err


def example(language, *args):
    return Consumer([*CONSUMERS[language], *args])


def reader(name, **how):
    """tests/e2e/consume.py: a consumer that tells what it was given, see there."""
    return Consumer([sys.executable, str(ROOT / "tests/e2e/consume.py"), json.dumps({"name": name, **how})])


def batches_of(consumer):
    """What consume.py tells, once it has ended well: one dict per batch."""
    code, out, err = consumer.end()
    assert code == 0, f"the consumer ended with {code}: {err}"
    return [json.loads(line) for line in out.splitlines()]
