#!/usr/bin/env bash
# pipeline.sh BUILD: the C and the C++ pipeline example count words as wc does, go on past a file that is not there, and
# say what they are missing. Ends with "N passed, N failed".
set -uo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")/../.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
passed=0 failed=0
check() { # check NAME COMMAND...
    local name=$1
    shift
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL  $name"; fi
}
status() { # status WANT COMMAND...
    local want=$1
    shift
    timeout 60 "$@" >"$out/stdout" 2>"$out/stderr"
    [ $? = "$want" ]
}
printf '' >"$out/empty"
printf 'one two\nthree' >"$out/three"
printf '  four  ' >"$out/one"
files=("$out/three" "$out/empty" "$out/one" README.md docs/*.md)
LC_ALL=C.UTF-8 wc -w "${files[@]}" | awk '{printf "%8d %s\n", $1, $2 == "total" ? "in all" : $2}' >"$out/expected"
for who in pipeline_c pipeline_cpp; do
    run=$build/examples/$who
    check "$who ends well" status 0 "$run" "${files[@]}"
    check "$who counts as wc does, in the order given" cmp "$out/expected" "$out/stdout"
    check "$who goes on past a directory" status 0 "$run" "$out/one" "$out" "$out/three"
    check "$who names the directory" grep -q "^pipeline: $out: " "$out/stderr"
    check "$who goes on past a file that is not there" status 0 "$run" "$out/one" "$out/none" "$out/three"
    check "$who names that file" grep -q "$out/none: " "$out/stderr"
    check "$who counts the others" grep -q '^ *4 in all$' "$out/stdout"
    check "$who without arguments is a usage error" status 2 "$run"
    check "$who without an engine library exits 1" status 1 env SPDL_ENGINE_LIBRARY=/nonexistent.so "$run" README.md
    check "$who says what is missing" grep -q '^pipeline: spdl: engine library: $SPDL_ENGINE_LIBRARY "/nonexistent.so": ' "$out/stderr"
done
printf '%d passed, %d failed\n' $passed $failed
[ $failed = 0 ]
