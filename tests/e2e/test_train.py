"""The program train says the same of the same data in every language."""

import json
import re
import subprocess

import pytest
from engines import CONSUMERS, LANGUAGES, ROOT, describe, environment


def train(language, *args):
    return subprocess.run([*CONSUMERS[language], *args], env=environment(), capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("language", LANGUAGES)
def test_labels_are_counted_whatever_they_are_and_none_is_none(pictures, tmp_path, language):
    """Labels beyond any table's size count once each; -1 is what a sample without one has; one is not `1 labels`."""
    samples = [str(sample.path) for sample in pictures.samples[:7]]
    labels = ["", "\t-1", "\t70000", "\t9000000000000000000", "\t-7", "\t70000", "\t0"]
    for n, says in [(7, "2 batches, 7 rows, .*; 4 labels"), (1, "1 batch, 1 row, .*; 0 labels"), (3, "1 batch, 3 rows, .*; 1 label")]:
        (tmp_path / "list").write_text("".join(f"{path}{label}\n" for path, label in zip(samples[:n], labels)))
        done = train(language, json.dumps(describe("", source={"list": str(tmp_path / "list")})))
        assert done.returncode == 0 and re.fullmatch(says, done.stdout.splitlines()[-1]), (n, done)


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_pictures_of_half_the_bits_have_no_mean_and_their_bytes_are_read(pictures, language, dtype):
    """The mean is that of u8 and float32; of other types it is 0, also of bfloat16, which NumPy does not have."""
    spec = json.dumps(describe(pictures.path, image={"transform": [{"resize": 16}, {"center_crop": 16}], "dtype": dtype}))
    done = train(language, spec, "--hash")
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and "; mean of image 0.0000; " in lines[-1], done
    assert lines[:-1] == train("c", spec, "--hash").stdout.splitlines()[:-1] and len(lines) > 2, lines


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_misspelt_flag_is_no_group(pictures, language):
    done = train(language, str(pictures.path), "--hahs")
    assert done.returncode == 2 and "usage: " in done.stderr, done


TWICE = """
public final class Twice {
    public static void main(String[] args) throws InterruptedException {
        Train.Reader reader = new Train.Reader(args[0], null);
        Train.Batch batch = reader.next();
        batch.close();
        batch.close();
        try { batch.tensor(0); } catch (IllegalStateException e) { System.out.println(e.getMessage()); }
        reader.close();
        reader.close();
        try { reader.next(); } catch (IllegalStateException e) { System.out.println(e.getMessage()); }
        try { batch.tensor(0); } catch (IllegalStateException e) { System.out.println(e.getMessage()); }
    }
}
"""


@pytest.mark.skipif("java" not in LANGUAGES, reason="the example in Java is not built; run make languages")
def test_what_is_closed_in_java_may_be_closed_again_and_refuses_the_rest(pictures, tmp_path):
    (tmp_path / "Twice.java").write_text(TWICE)
    java, *options, program = CONSUMERS["java"]
    path = f"{options[-1]}:{tmp_path}"
    subprocess.run(["javac", "-cp", path, "-d", tmp_path, tmp_path / "Twice.java"], check=True, timeout=120)
    done = subprocess.run([java, *options[:-1], path, "Twice", str(pictures.path)], env=environment(), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done
    stale, *closed = done.stdout.splitlines()
    assert "batch_tensor" in stale and all("reader is NULL" in line for line in closed) and len(closed) == 2, done


@pytest.mark.skipif("rust" not in LANGUAGES, reason="the example in Rust is not built; run make examples where rustc is")
def test_memory_is_read_in_rust_as_numbers_alone(tmp_path):
    """A text or a bool has no value for most bytes: to read a tensor as one does not compile."""
    source = (ROOT / "examples/rust/train.rs").read_text()
    for kind in ["u8", "f32", "String", "bool"]:
        (tmp_path / "read.rs").write_text(f"{source}\n#[allow(dead_code)]\nfn read(t: &Tensor) -> usize {{ t.values::<{kind}>().len() }}\n")
        done = subprocess.run(["rustc", "--edition", "2021", "--emit=metadata", "-o", tmp_path / "read", tmp_path / "read.rs"], capture_output=True, text=True, timeout=120)
        assert (done.returncode == 0) == (kind in ("u8", "f32")), done
        assert done.returncode == 0 or f"`{kind}: Number` is not satisfied" in done.stderr, done
