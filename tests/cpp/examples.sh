#!/usr/bin/env bash
# examples.sh OUT: the C and the C++ example, linked with the mock: same hashes as computed from the definition, same
# totals, and refusals with the right exit status. Ends with "N passed, N failed".
set -uo pipefail
out=$1
cd "$(dirname "$0")/../.."
mkdir -p "$out"
passed=0 failed=0
check() { # check NAME COMMAND...
    local name=$1
    shift
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL  $name"; fi
}

${CC:-cc} -std=c11 -g -Iinclude -c tests/cpp/mock.c -o "$out/mock.o"
${CC:-cc} -std=c11 -g -Iinclude examples/c/train.c "$out/mock.o" -o "$out/train_c"
${CXX:-c++} -std=c++17 -g -Iinclude -Iclients/cpp/include examples/cpp/train.cpp "$out/mock.o" -o "$out/train_cpp"
python3 tests/cpp/expect_hash.py >"$out/expected"

status() { # status WANT COMMAND...
    local want=$1
    shift
    "$@" >"$out/stdout" 2>"$out/stderr"
    [ $? = "$want" ]
}
lacks() { ! grep -qE "$1" "$2"; }
totals='^5 batches, 15 rows, [0-9.]+ batches/s; mean of image 12\.5000; 15 labels$'
for train in "$out/train_c" "$out/train_cpp"; do
    who=$(basename "$train")
    check "$who ends well on an attached ring" status 0 "$train" mock group
    check "$who prints its totals" grep -qE "$totals" "$out/stdout"
    check "$who ends well on an opened folder" status 0 "$train" "$out" --hash
    grep -E '^[0-9]+ [0-9a-f]{8}$' "$out/stdout" >"$out/$who.hashes"
    check "$who hashes as defined" cmp "$out/expected" "$out/$who.hashes"
    check "$who prints totals beside hashes" grep -qE "$totals" "$out/stdout"
    check "$who without arguments is a usage error" status 2 "$train"
    check "$who says how it is used" grep -q '^usage: ' "$out/stderr"
    check "$who with a word too many is a usage error" status 2 "$train" a b c
    check "$who with a failing engine exits 1" status 1 env MOCK_FAIL=spdl_attach "$train" mock
    check "$who prints the library's text" grep -q '^train: mock: MOCK_FAIL' "$out/stderr"
    check "$who with an engine lost in the middle exits 1" status 1 env MOCK_FAIL=spdl_acquire:3 "$train" mock
    check "$who says that it was lost" grep -qE "^train: mock: MOCK_FAIL" "$out/stderr"
    check "$who prints no totals of a part" lacks 'batch' "$out/stdout"
    check "$who with a tensor that is not there exits 1" status 1 env MOCK_FAIL=spdl_batch_tensor:2 "$train" mock --hash
    check "$who says why" grep -qE "^train: mock: MOCK_FAIL" "$out/stderr"
    check "$who prints neither a hash nor totals of it" lacks . "$out/stdout"
done
printf '%d passed, %d failed\n' $passed $failed
[ $failed = 0 ]
