#!/usr/bin/env bash
# A Go producer that leaves a gap between its batches, one consumer in C and one in Python that sleep for each, beside the bare
# futex in the same run. Gaps in ms: GAPS="0 1 2 5 10 20 30".
set -euo pipefail
cd "$(dirname "$0")/.."
producer=
trap '[ -z "$producer" ] || kill "$producer"; wait' EXIT
for gap in ${GAPS:-0 1 2 5 10 20 30}; do
    name=wakeup-$$-$gap
    n=$((gap < 5 ? 1000 : gap < 20 ? 400 : 300))
    build/ringpattern --name "$name" --rate $((gap ? 1000 / gap : 0)) --epochs 0 --bytes 1024 --slots 4 >/dev/null &
    producer=$!
    for _ in $(seq 100); do build/bench/wakeup "$name" 1 0 >/dev/null 2>&1 && break; sleep 0.05; done
    echo "gap $gap ms"
    build/bench/wakeup "$name" $n $((1000 * gap))
    .venv/bin/python bench/wakeup.py "$name" $n
    kill "$producer"
    wait "$producer" 2>/dev/null || true
    producer=
done
