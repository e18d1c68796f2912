"""The blocks of Python in a page of docs, and how a test runs one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from conftest import ROOT, built

# Wait for the other ranks, as who sums up gradients does: local rank 0, whose engine it is, would else have ended before one that starts late.
MEET = """
import os, time

def meet():
    ranks, run, until = int(os.environ.get("WORLD_SIZE", 1)), os.environ.get("TORCHELASTIC_RUN_ID", ""), time.monotonic() + 60
    if ranks > 1:
        open(f"../met-{run}-{os.environ['RANK']}", "w").close()
        while not all(os.path.exists(f"../met-{run}-{rank}") for rank in range(ranks)):
            assert time.monotonic() < until, "a rank has not come"
            time.sleep(0.01)
"""


def of(page: str) -> dict[str, str]:
    """The blocks of a page by their section's title, in order; further ones of a section have their number behind it."""
    found: dict[str, str] = {}
    title = ""
    for heading, block in re.findall(r"^## (.*?)$|^```python\n(.*?)^```$", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.M | re.S):
        title = heading or title
        if block:
            n = sum(name.partition(" | ")[0] == title for name in found) + 1
            found[title if n == 1 else f"{title} | {n}"] = block
    return found


def environment(cache: Path) -> dict[str, str]:
    here = ROOT / "tests" / "python"
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'clients/python'}:{here}", "SPDL_LIBRARY": str(built("libspdl.so")),
            "SPDL_ENGINE": str(built("spdl")), "SPDL_CACHE_DIR": str(cache)}


def made(directory: Path, module: str) -> Path:
    """The directory, with the data that a module makes up, in a process that has libspdl."""
    script = f"import pathlib, sys; import {module}; {module}.made(pathlib.Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", script, directory], env=environment(directory / "cache"), check=True, timeout=120)
    return directory


def execute(script: Path, directory: Path, cache: Path, ranks: int = 1, quiet: bool = True, run: str = "run") -> list[str]:
    """Run a script as so many ranks, which must end well and, where quiet, say nothing on stderr; what each printed."""
    processes = []
    for rank in range(ranks):
        env = environment(cache)
        if ranks > 1:
            env.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_WORLD_SIZE=str(ranks), TORCHELASTIC_RUN_ID=run)
        processes.append(subprocess.Popen([sys.executable, *(["-W", "error"] if quiet else []), script], cwd=directory, env=env, text=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    ends = [process.communicate(timeout=120) for process in processes]
    for rank, (process, (_, err)) in enumerate(zip(processes, ends)):
        assert process.returncode == 0 and not (quiet and err), f"rank {rank} ended with {process.returncode}: {err[-2000:]}"
    return [out for out, _ in ends]
