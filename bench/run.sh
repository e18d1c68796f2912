#!/usr/bin/env bash
# Every figure that we quote, measured here and now; results under bench/results/. ROUNDS=10 by default.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${ROUNDS:-10} out=${OUT:-bench/results}
if [ ! -f bench/corpus/.made ]; then
    echo "bench: making the corpus (2,000 pictures, some minutes)"
    .venv/bin/python bench/make_corpus.py photos bench/corpus
    touch bench/corpus/.made
fi
.venv/bin/python bench/peers.py --images bench/corpus --rounds "$rounds" --out "$out/peers.json"
.venv/bin/python bench/python_handoff.py --out "$out/python_handoff.json"
.venv/bin/python bench/startup.py --images bench/corpus --rounds "$rounds" --out "$out/startup.json"
make --no-print-directory bench-handoff bench-wakeup | tee "$out/handoff.txt"
