"""The program train says the same of the same data in every language."""

import json
import re
import subprocess

import pytest
from engines import CONSUMERS, LANGUAGES, describe, environment


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


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_misspelt_flag_is_no_group(pictures, language):
    done = train(language, str(pictures.path), "--hahs")
    assert done.returncode == 2 and "usage: " in done.stderr, done
