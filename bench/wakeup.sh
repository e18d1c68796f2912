#!/usr/bin/env bash
# A Go producer that leaves a gap between its batches, one consumer in C and one in Python that sleep for each, beside the bare
# futex in the same run. Gaps in ms: GAPS="0 1 2 5 10 20 30". Each gap twice: with waker and sleeper on a CPU each, which is what can be
# compared (see wakeup.c), and where the kernel puts them. There Meta's SPDL is beside, where .venv-bench has it: its source and its
# loop are threads of one process. ROUNDS (5) of all of it, one after the other, and of their figures the medians; DETAIL=file keeps the rounds.
set -euo pipefail
cd "$(dirname "$0")/.."
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

round() {
    local gap n
    for gap in ${GAPS:-0 1 2 5 10 20 30}; do
        n=$((gap < 5 ? 500 : gap < 20 ? 200 : 120))
        if [ ${#cpus[@]} -eq 2 ]; then
            echo "gap $gap ms, waker and sleeper on a CPU each"
            run "$gap" "$n" "${cpus[@]}"
        fi
        echo "gap $gap ms, where the kernel puts them"
        run "$gap" "$n"
    done
}

rounds() {
    local i
    producer=
    trap '[ -z "$producer" ] || kill "$producer"; wait' EXIT
    for i in $(seq "${ROUNDS:-5}"); do
        round
        echo "bench: round $i of ${ROUNDS:-5} of wake-ups" >&2
    done
}

rounds | tee "${DETAIL:-/dev/null}" | .venv/bin/python bench/wakeup_rounds.py
