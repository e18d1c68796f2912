"""python -m spdl ARGUMENTS: the spdl command, from $SPDL_ENGINE, beside this package, or the PATH."""

import os
import shutil
import sys
from typing import NoReturn


def main() -> NoReturn:
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "spdl")
    engine = os.environ.get("SPDL_ENGINE") or (beside if os.path.isfile(beside) else shutil.which("spdl"))
    if not engine:
        sys.exit("spdl: there is no spdl command in $SPDL_ENGINE, beside this package or in the PATH; install one (make install), or the wheel that has one (make bundle)")
    try:
        os.execv(engine, [engine, *sys.argv[1:]])
    except OSError as e:
        sys.exit(f"spdl: {engine}: {e.strerror}; SPDL_ENGINE names the spdl command, if it is set")


if __name__ == "__main__":
    main()
