"""The Go programs behind the comparisons (tests/exact/tool): each takes one request a line and answers with a row."""

import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


class RowError(Exception):
    def __init__(self, answer):
        super().__init__(answer["error"])
        self.cause = answer.get("cause")


class Tool:
    """A process of one of them, built with these tags."""

    def __init__(self, name, folder, tags=""):
        binary = folder / f"{name}{tags}"
        subprocess.run(["go", "build", "-tags", tags, "-o", binary, f"./tests/exact/{name}"], cwd=ROOT, check=True)
        self.process = subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, path, config, draw, **more):
        """What is said of the row, and its bytes."""
        request = dict(path=str(path), config=config, draw=draw or {}, **more)
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if answer.get("error"):
            raise RowError(answer)
        return answer, self.process.stdout.read(answer["bytes"])

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(10) == 0
        self.process.stdout.close()
