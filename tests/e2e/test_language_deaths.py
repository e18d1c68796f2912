"""Engines and consumers that die under programs in every language: a named error, no crash, no batch lost, nothing left."""

import fcntl
import json
import os
import signal
import subprocess

import pytest
from engines import CONSUMERS, LANGUAGES, ROOT, Consumer, batches_of, describe, environment, eventually, groups, processes_of, reader, run
from engines import SPDL as COMMAND

# console.log goes on, however full the pipe is.
BLOCKING = """
import fs from "node:fs";
const turn = new Int32Array(new SharedArrayBuffer(4));
console.log = (text) => {
  for (;;) {
    try { return fs.writeSync(1, `${text}\\n`); } catch (e) { if (e.code !== "EAGAIN") throw e; }
    Atomics.wait(turn, 0, 0, 10);
  }
};
""".replace("\n", " ")

# Each as a program whose output is no slower than its lines, and waits for room in a pipe. The other languages' are so.
WRITES = {
    "c": ["stdbuf", "-oL", *CONSUMERS["c"]],
    "cpp": ["stdbuf", "-oL", *CONSUMERS["cpp"]],
    "python": ["env", "PYTHONUNBUFFERED=1", *CONSUMERS["python"]],
    "node": ["node", "--import", f"data:text/javascript,{BLOCKING}", CONSUMERS.get("node", [""])[-1]],
}


def group_of(engine, name):
    """What `spdl inspect` tells of a group."""
    told = run([COMMAND, "inspect", engine.name, "--json"])
    assert told.returncode == 0, told.stderr
    return next(one for one in json.loads(told.stdout)["ring"]["groups"] if one["name"] == name)


def waiting(language, engine):
    """A consumer of group a that has had all there is: group b has no member and holds the ring back."""
    consumer = Consumer(["env", "--default-signal=INT", *CONSUMERS[language], engine.name, "a"])

    def waits():
        assert consumer.process.poll() is None, consumer.end()
        group = group_of(engine, "a")
        return group["completed"] == group["published"] > 0

    eventually("the consumer to wait", waits)
    return consumer


class Holding(Consumer):
    """A consumer of group a that prints what it has in hand into a pipe in which there is no room: it has the first batch until drained() makes some."""

    def __init__(self, language, engine):
        self.out, full = os.pipe()
        fcntl.fcntl(full, fcntl.F_SETFL, os.O_NONBLOCK)
        self.stuffing = 0
        try:
            while True:
                self.stuffing += os.write(full, b"\n" * (1 if self.stuffing else 4096))
        except BlockingIOError:
            os.set_blocking(full, True)
        super().__init__([*WRITES.get(language, CONSUMERS[language]), engine.name, "a", "--hash"], stdout=full)
        os.close(full)
        eventually("the consumer to have a batch", lambda: group_of(engine, "a")["held"] == 1)

    def drained(self):
        """Let it go on to its end: (exit code, lines, stderr)."""
        with open(self.out, "rb") as pipe:
            text = pipe.read()
        code, _, err = self.end()
        return code, text[self.stuffing:].decode().splitlines(), err


def pictures_in_order(pictures, **ring):
    return describe(pictures.path, ring=groups("a", "b", backing="posix", **ring))


@pytest.mark.parametrize("language", LANGUAGES)
def test_who_waits_is_told_of_the_engines_death_by_name(serve, pictures, language):
    engine = serve(pictures_in_order(pictures))
    consumer = waiting(language, engine)
    engine.kill()
    code, out, err = consumer.end()
    assert code == 1 and f"the engine (pid {engine.pid}) died" in err, (code, out, err)
    assert run([COMMAND, "clean", engine.name]).returncode == 0


@pytest.mark.parametrize("language", LANGUAGES)
def test_who_has_a_batch_in_hand_reads_it_to_its_end_and_is_told(serve, pictures, language):
    """The engine dies meanwhile: the batch's bytes are those that another group was given, and what was published may still be taken."""
    engine = serve(pictures_in_order(pictures))
    consumer = Holding(language, engine)
    published = eventually("the ring to be full", lambda: group_of(engine, "a")["published"] > 4 and group_of(engine, "a")["published"])
    engine.kill()
    code, lines, err = consumer.drained()
    assert code == 1 and "died" in err, (code, lines, err)
    lines = [line for line in lines if len(line.split()) == 2]  # some sum up what they had
    assert [int(line.split()[0]) for line in lines] == list(range(len(lines))) and len(lines) >= published
    again = serve(pictures_in_order(pictures), name=engine.name)
    whole = run([*CONSUMERS["cpp" if language == "c" else "c"], again.name, "b", "--hash"])
    assert whole.stdout.splitlines()[:len(lines)] == lines, whole.stderr


@pytest.mark.parametrize("language", LANGUAGES)
def test_who_has_a_batch_in_hand_goes_on_with_the_next_engine_of_the_name(serve, pictures, language):
    """With ring.reconnect: every batch comes once, in order, and the program ends well."""
    description = pictures_in_order(pictures, reconnect="60s")
    engine = serve(description)
    consumer = Holding(language, engine)
    engine.kill()
    again = serve(description, name=engine.name)
    other = reader(again.name, group="b")
    code, lines, err = consumer.drained()
    assert (code, err) == (0, ""), (code, lines, err)
    assert [int(line.split()[0]) for line in lines[:-1]] == list(range(14)) and lines[-1].startswith("14 batches, 53 rows"), lines
    assert [batch["ticket"] for batch in batches_of(other)] == list(range(14))


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_killed_consumer_had_in_hand_comes_again_flagged(serve, pictures, language):
    engine = serve(pictures_in_order(pictures))
    consumer = Holding(language, engine)
    os.close(consumer.out)
    consumer.kill()
    readers = [reader(engine.name, group=name) for name in "ab"]
    told = [sorted((batch["ticket"], batch["attempts"]) for batch in batches_of(one)) for one in readers]
    assert told == [[(0, 2), *((ticket, 1) for ticket in range(1, 14))], [(ticket, 1) for ticket in range(14)]]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_ctrl_c_ends_who_waits_and_its_place_is_free(serve, pictures, language):
    engine = serve(pictures_in_order(pictures))
    consumer = waiting(language, engine)
    consumer.process.send_signal(signal.SIGINT)
    code, out, err = consumer.end()
    assert code in (-signal.SIGINT, 1, 130), (code, out, err)
    if language == "go":
        assert code == 1 and err == "train: context canceled\n", err
    eventually("its place to be free", lambda: not group_of(engine, "a")["members"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_engine_of_a_program_that_is_killed_ends_with_it(pictures, surroundings, language):
    """It was opened, and is a process of its own."""
    many = "\n".join(f"{sample.path}" for sample in pictures.samples for _ in range(400))
    read, write = os.pipe()
    (file := pictures.path.parent / f"many-{surroundings.mark}").write_text(many)
    consumer = Consumer([*WRITES.get(language, CONSUMERS[language]), json.dumps(describe("", source={"list": str(file)}, batch=1)), "--hash"], stdout=write)
    os.close(write)
    assert os.read(read, 1) == b"0"
    assert len(processes_of(surroundings.mark)) == 2
    consumer.kill()
    eventually("the engine to end", lambda: not processes_of(surroundings.mark))
    os.close(read)
    file.unlink()


INTERRUPTED = """
public final class Interrupted {
    public static void main(String[] args) throws Exception {
        try (Train.Reader reader = new Train.Reader(args[0], args[1])) {
            Thread loop = new Thread(() -> {
                try {
                    while (true) reader.next().close();
                } catch (InterruptedException e) {
                    System.out.println(e.getMessage());
                }
            });
            loop.start();
            System.out.println("started");
            System.in.read();
            loop.interrupt();
            loop.join();
        }
    }
}
"""


@pytest.mark.skipif("java" not in LANGUAGES, reason="the example in Java is not built; run make languages")
def test_an_interrupt_ends_a_wait_in_java(serve, pictures, tmp_path):
    (tmp_path / "Interrupted.java").write_text(INTERRUPTED)
    java, *options, _ = CONSUMERS["java"]
    path = f"{options[-1]}:{tmp_path}"
    subprocess.run(["javac", "-cp", path, "-d", tmp_path, tmp_path / "Interrupted.java"], check=True, timeout=120)
    engine = serve(pictures_in_order(pictures))
    program = subprocess.Popen([java, *options[:-1], path, "Interrupted", engine.name, "a"], env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert program.stdout.readline() == "started\n"
        eventually("the loop to wait", lambda: group_of(engine, "a")["completed"] == group_of(engine, "a")["published"] > 0)
        out, _ = program.communicate("\n", timeout=120)
    finally:
        program.kill()
        program.wait()
    assert (program.returncode, out) == (0, "interrupted while it waited for a batch\n")
    assert not group_of(engine, "a")["members"]


IN_A_WORKER = """
import { Worker } from "node:worker_threads";
new Worker(process.argv[2], { argv: process.argv.slice(3) });
process.stdin.on("data", () => process.exit(7));
"""


@pytest.mark.skipif("node" not in LANGUAGES, reason="the example in JavaScript is not built; run make languages")
def test_a_process_of_node_ends_while_its_worker_thread_waits(serve, pictures, tmp_path):
    (tmp_path / "main.mjs").write_text(IN_A_WORKER)
    node, script = CONSUMERS["node"]
    engine = serve(pictures_in_order(pictures))
    program = subprocess.Popen([node, tmp_path / "main.mjs", script, engine.name, "a"], env=environment(), stdin=subprocess.PIPE, text=True)
    try:
        eventually("the worker to wait", lambda: group_of(engine, "a")["completed"] == group_of(engine, "a")["published"] > 0)
        program.communicate("\n", timeout=120)
    finally:
        program.kill()
        program.wait()
    assert program.returncode == 7
    eventually("its place to be free", lambda: not group_of(engine, "a")["members"])


PANICS = """
fn main() {
    let name = env::args().nth(1).expect("a name");
    let caught = std::panic::catch_unwind(|| {
        let mut reader = Reader::new(&name, Some("a")).unwrap_or_else(|e| panic!("{}", e));
        let batch = reader.next().unwrap_or_else(|e| panic!("{}", e)).expect("a batch");
        panic!("with ticket {} in hand", batch.raw.ticket);
    });
    println!("{}", caught.unwrap_err().downcast_ref::<String>().expect("a text"));
}
"""


@pytest.mark.skipif("rust" not in LANGUAGES, reason="the example in Rust is not built; run make examples where rustc is")
@pytest.mark.parametrize("ends", ["unwind", "abort"])
def test_a_panic_in_rust_gives_back_what_is_in_hand(serve, pictures, tmp_path, ends):
    """Where it unwinds the batch is dropped, and so used, as by an exception in Python; where it aborts the batch comes again."""
    source = (ROOT / "examples/rust/train.rs").read_text().replace("\nfn main() {", "\n#[allow(dead_code)]\nfn train() {")
    (tmp_path / "panics.rs").write_text(source + PANICS)
    library = os.path.dirname(os.environ["SPDL_LIBRARY"])
    subprocess.run(["rustc", "--edition", "2021", "-A", "warnings", "-C", f"panic={ends}", tmp_path / "panics.rs", f"-L{library}",
                    "-C", f"link-arg=-Wl,-rpath,{library}", "-o", tmp_path / "panics"], check=True, timeout=300)
    engine = serve(pictures_in_order(pictures))
    done = run([tmp_path / "panics", engine.name])
    assert (done.returncode, done.stdout) == ((0, "with ticket 0 in hand\n") if ends == "unwind" else (-signal.SIGABRT, "")), done.stderr
    readers = [reader(engine.name, group=name) for name in "ab"]
    tickets = [sorted((batch["ticket"], batch["attempts"]) for batch in batches_of(one)) for one in readers][0]
    assert tickets == [*([(0, 2)] if ends == "abort" else []), *((ticket, 1) for ticket in range(1, 14))]
