#!/usr/bin/env bash
# matrix.sh FLAGS...: every header alone, the test programs and the examples compile without a warning, as each
# compiler, standard and mode sees them; common mistakes do not, and are told by name. A compiler that is missing is named and skipped. Ends with "N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")/../.."
flags=("$@")
skipped=0 cpus=$(nproc) told=$(mktemp -d)
trap 'rm -rf "$told"' EXIT

# Compilations run beside each other, as many as there are CPUs. Each leaves a file: empty, or what failed.
beside() { # beside COMMAND...
    while [ "$(jobs -rp | wc -l)" -ge "$cpus" ]; do wait -n; done
    "$@" >"$(mktemp "$told/XXXXXX")" &
}

compiles() { # compiles COMMAND...
    local out
    out=$("$@" -fsyntax-only 2>&1) || printf 'FAIL  %s\n%s\n' "$*" "$(head -n 12 <<<"$out")"
}

says() { # says TEXT COMMAND...: does not compile, and TEXT is the first that is said
    local text=$1 out
    shift
    if out=$("$@" -fsyntax-only 2>&1); then out="it compiles"
    elif grep -m1 -E '(error|static_assert).*' <<<"$out" | grep -qF "$text"; then return; fi
    printf 'FAIL  %s\nwant: %s\n%s\n' "$*" "$text" "$(head -n 12 <<<"$out")"
}
try() { beside compiles "$@"; }
mistakes=("read bytes and flags (char, bool, std::byte) as std::uint8_t"
    "the function of a map returns its result"
    "the function of a map takes what the stage before gives"
    "a generator's function takes what the stage before gives"
    "an aggregator's function takes a pointer to what the stage before gives"
    "a router takes what the stage before gives")

modes=("" "-fno-rtti" "-DSPDL_NO_EXCEPTIONS" "-fno-exceptions -fno-rtti")
for set in "gcc g++ -Wold-style-cast -Wuseless-cast" "clang-14 clang++-14 -Wold-style-cast"; do
    read -r cc cxx own <<<"$set"
    if ! command -v "$cxx" >/dev/null; then skipped=$((skipped + 1)); echo "skip  $cxx: not installed"; continue; fi
    for mode in "${modes[@]}"; do
        for header in clients/cpp/include/spdl/*.hpp; do
            [ "${header##*/}" != torch.hpp ] || continue # needs libtorch, which make cpp-torch-test has
            try "$cxx" -std=c++17 $mode "${flags[@]}" $own -x c++ -include "$header" /dev/null
        done
        for standard in c++17 c++20; do
            case $mode in
            *EXCEPTIONS* | *no-exceptions*) try "$cxx" -std=$standard $mode "${flags[@]}" $own tests/cpp/test_noexcept.cpp ;;
            *) try "$cxx" -std=$standard $mode "${flags[@]}" $own tests/cpp/test_client.cpp ;;
            esac
            try "$cxx" -std=$standard $mode "${flags[@]}" $own tests/cpp/test_pipeline.cpp
        done
    done
    for i in "${!mistakes[@]}"; do
        beside says "${mistakes[i]}" "$cxx" -std=c++17 "${flags[@]}" -DMISUSE=$((i + 1)) tests/cpp/misuse.cpp
    done
    try "$cxx" -std=c++17 "${flags[@]}" $own examples/cpp/train.cpp
    try "$cxx" -std=c++17 "${flags[@]}" $own examples/cpp/pipeline.cpp
    try "$cxx" -std=c++17 "${flags[@]}" $own examples/cpp/own_source.cpp
    try "$cc" -std=c11 "${flags[@]}" tests/cpp/mock.c
    try "$cc" -std=c11 "${flags[@]}" examples/c/train.c
    try "$cc" -std=c11 "${flags[@]}" examples/c/pipeline.c
done
wait
cat "$told"/*
failed=$(find "$told" -type f -size +0 | wc -l)
printf '%d passed, %d failed' $(($(find "$told" -type f | wc -l) - failed)) "$failed"
[ $skipped = 0 ] || printf ', %d compilers skipped' $skipped
echo
[ "$failed" = 0 ]
