#!/usr/bin/env bash
# A Go producer that leaves a gap between its batches, one consumer in C and one in Python that sleep for each, beside the bare
# futex in the same run. Gaps in ms: GAPS="0 1 2 5 10 20 30". Each gap twice: with waker and sleeper on a CPU each, which is what can be
# compared (see wakeup.c), and where the kernel puts them. There Meta's SPDL is beside, where .venv-bench has it: its source and its
# loop are threads of one process.
set -euo pipefail
cd "$(dirname "$0")/.."
producer=
trap '[ -z "$producer" ] || kill "$producer"; wait' EXIT
read -r -a cpus < <(.venv/bin/python -c 'import os; print(*sorted(os.sched_getaffinity(0))[:2])')

# run GAP N [PRODUCER_CPU CONSUMER_CPU]
run() {
    local gap=$1 n=$2 name=wakeup-$$-$1 on=() at=()
    [ $# -eq 2 ] || { on=(taskset -c "$3") at=(taskset -c "$4"); }
    "${on[@]}" build/ringpattern --name "$name" --rate $((gap ? 1000 / gap : 0)) --epochs 0 --bytes 1024 --slots 4 >/dev/null &
    producer=$!
    for _ in $(seq 100); do build/bench/wakeup "$name" 1 0 >/dev/null 2>&1 && break; sleep 0.05; done
    build/bench/wakeup "$name" "$n" $((1000 * gap)) "${@:3}"
    "${at[@]}" .venv/bin/python bench/wakeup.py "$name" "$n"
    kill "$producer"
    wait "$producer" 2>/dev/null || true
    producer=
    [ $# -gt 2 ] || [ ! -x .venv-bench/bin/python ] || .venv-bench/bin/python bench/wakeup_peer.py "$gap" "$n"
}

for gap in ${GAPS:-0 1 2 5 10 20 30}; do
    n=$((gap < 5 ? 1000 : gap < 20 ? 400 : 300))
    if [ ${#cpus[@]} -eq 2 ]; then
        echo "gap $gap ms, waker and sleeper on a CPU each"
        run "$gap" "$n" "${cpus[@]}"
    fi
    echo "gap $gap ms, where the kernel puts them"
    run "$gap" "$n"
done
