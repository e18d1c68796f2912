#!/usr/bin/env bash
# fuzz.sh TIME: run every Go fuzz target for TIME each (such as 30s).
#
# Go makes every input that reaches new code smaller, for up to a minute each and longer than TIME, while it counts no executions. Files of
# kilobytes are not worth that: a few tries must do.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-30s}
git grep -lE '^func Fuzz' -- '*_test.go' | while read -r file; do
    sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$file" | while read -r target; do
        printf '== %s %s\n' "$(dirname "$file")" "$target"
        go test "./$(dirname "$file")" -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x
    done
done
