#!/usr/bin/env bash
# compare.sh REF: this tree against another revision, interleaved: images/s and CPU seconds of both.
set -euo pipefail
cd "$(dirname "$0")/.."
ref=${1:?usage: bench/compare.sh REF}
rounds=${ROUNDS:-10} other=build/compare
git worktree remove --force $other 2>/dev/null || true
git worktree add -q --detach $other "$ref"
trap 'git worktree remove --force $other' EXIT
for tree in . $other; do make --no-print-directory -C $tree all-built >/dev/null; done
mkdir -p build/compare-results
for i in $(seq "$rounds"); do
    for tree in . $other; do
        name=$([ $tree = . ] && echo here || echo there)
        SPDL_LIBRARY=$PWD/$tree/build/libspdl.so SPDL_ENGINE=$PWD/$tree/build/spdl PYTHONPATH=$PWD/$tree/clients/python SPDL_LOG=error \
            setsid .venv/bin/python bench/contender.py spdl --images bench/corpus --mode "${MODE:-train}" --dtype "${DTYPE:-u8}" --passes 1 |
            tee -a build/compare-results/$name.jsonl
    done
done
.venv/bin/python - build/compare-results/here.jsonl build/compare-results/there.jsonl <<'P'
import json, statistics, sys
here, there = ([json.loads(line) for line in open(name)] for name in sys.argv[1:])
for key in ("images_per_second", "cpu_seconds_per_1000"):
    ratios = [a[key] / b[key] for a, b in zip(here, there)]
    print(f"{key}: here / there {statistics.median(ratios):.3f}, quartiles {[round(q, 3) for q in statistics.quantiles(ratios, n=4)]}")
P
rm -r build/compare-results
