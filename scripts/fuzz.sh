#!/usr/bin/env bash
# fuzz.sh TIME: run every Go fuzz target for TIME each (such as 30s).
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-30s}
git grep -lE '^func Fuzz' -- '*_test.go' | while read -r file; do
    sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$file" | while read -r target; do
        printf '== %s %s\n' "$(dirname "$file")" "$target"
        go test "./$(dirname "$file")" -run '^$' -fuzz "^$target\$" -fuzztime "$time"
    done
done
