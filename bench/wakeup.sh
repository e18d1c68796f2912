#!/usr/bin/env bash
# A Go producer at 300 batches a second and one C consumer that sleeps for each, beside the bare futex in the same run.
set -euo pipefail
cd "$(dirname "$0")/.."
name=wakeup-$$
build/ringpattern --name $name --rate 300 --epochs 0 --bytes 1024 >/dev/null &
trap 'kill $!; wait $! 2>/dev/null || true' EXIT
for _ in $(seq 100); do build/bench/wakeup $name 1 >/dev/null 2>&1 && break; sleep 0.05; done
${WK:-build/bench/wakeup} $name "${1:-2000}"
