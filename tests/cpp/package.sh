#!/usr/bin/env bash
# package.sh OUT BUILD: an outside project finds spdl in an install prefix through CMake, builds, links and runs; a version
# it cannot have and an incomplete prefix are refused by name; a source tree serves as well. Uses BUILD/libspdl.so, or the
# mock in its place. Ends with "N passed, N failed"; 77 without CMake.
set -uo pipefail
out=$1 build=$2
cd "$(dirname "$0")/../.."
command -v cmake >/dev/null || { echo "skip: cmake is not installed"; exit 77; }
rm -rf "$out"
mkdir -p "$out"
out=$(realpath "$out")
passed=0 failed=0

check() { # check NAME COMMAND...
    local name=$1
    shift
    if "$@" >"$out/log" 2>&1; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL  $name"; cat "$out/log"; fi
}
refused() { # refused NAME TEXT COMMAND...: fails, saying TEXT
    local name=$1 text=$2
    shift 2
    if "$@" >"$out/log" 2>&1 || ! tr -s ' \n' '  ' <"$out/log" | grep -q "$text"; then
        failed=$((failed + 1)); echo "FAIL  $name"; cat "$out/log"
    else passed=$((passed + 1)); fi
}

lib=$out/libs
mkdir -p "$lib"
if [ -e "$build/libspdl.so" ]; then cp -a "$build"/libspdl.so* "$build/libspdl.a" "$lib/"
else
    echo "no $build/libspdl.so: the mock stands in"
    ${CC:-cc} -std=c11 -fPIC -Iinclude -c tests/cpp/mock.c -o "$out/mock.o"
    ${CC:-cc} -shared -Wl,-soname,libspdl.so.0 "$out/mock.o" -o "$lib/libspdl.so.0"
    ln -s libspdl.so.0 "$lib/libspdl.so"
    ar rcs "$lib/libspdl.a" "$out/mock.o"
    mock=1
fi
prefix() { # prefix DIR LIBDIR: an install
    mkdir -p "$1/$2/cmake/spdl" "$1/include/spdl"
    cp -a "$lib"/libspdl.* "$1/$2/"
    cp include/spdl.h "$1/include/"
    cp clients/cpp/include/spdl/*.hpp "$1/include/spdl/"
    cp clients/cpp/cmake/*.cmake "$1/$2/cmake/spdl/"
}
configure() { # configure NAME ARGS...
    local name=$1
    shift
    cmake -S tests/cpp/package -B "$out/$name" "$@"
}
works() { # works NAME ARGS...: configures, builds and runs
    configure "$@" && cmake --build "$out/$1" && "$out/$1/outside_c" || return 1
    [ -n "${mock:-}" ] || "$out/$1/outside_cpp" # the mock lets everybody attach
}

prefix "$out/prefix" lib
check "found in a prefix" works found -DCMAKE_PREFIX_PATH="$out/prefix"
check "version 0.1 is had" works version -DCMAKE_PREFIX_PATH="$out/prefix" -DWANT=0.1
check "linked statically" works static -DCMAKE_PREFIX_PATH="$out/prefix" -Dspdl_USE_STATIC=ON
refused "version 0.2 is refused" 'compatible with requested version "0.2"' \
    configure newer -DCMAKE_PREFIX_PATH="$out/prefix" -DWANT=0.2
refused "version 1 is refused" 'compatible with requested version "1"' \
    configure major -DCMAKE_PREFIX_PATH="$out/prefix" -DWANT=1

prefix "$out/multi" "lib/$(${CC:-cc} -print-multiarch)"
check "found in a multiarch prefix" works multi-found -DCMAKE_PREFIX_PATH="$out/multi"
mv "$out/prefix" "$out/moved"
check "found after the prefix moved" works moved-found -DCMAKE_PREFIX_PATH="$out/moved"
rm "$out/moved/lib"/libspdl.*
refused "a prefix without its library is refused" "install again" configure broken -DCMAKE_PREFIX_PATH="$out/moved"
check "used from the source tree" works tree -DSPDL_TREE="$PWD" -DSPDL_LIBRARY="$lib/libspdl.so"
refused "a tree without its library is refused" "make libspdl" configure bare -DSPDL_TREE="$PWD" -DSPDL_LIBRARY=

printf '%d passed, %d failed\n' $passed $failed
[ $failed = 0 ]
