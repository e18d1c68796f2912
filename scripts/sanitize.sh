#!/usr/bin/env bash
# sanitize.sh: the decoders under AddressSanitizer and UBSan: C and Go of core/media, fed with files of every kind that are cut and flipped, lie, or
# are too much (rows E1 to E4 of docs/fault-matrix.md). SPDL_FAULT_LONG=1: 10,000 of each. The first build compiles Go's library again, for a minute.
#
# FFmpeg and libjpeg-turbo are the system's: of them the sanitizers see what they allocate, free and pass to libc.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${BUILD:-build}/asan
run='Damaged|Damage|Bad|Cut|Limit|PixelLimit|65535|InstructionSet|MaxFrames|Fuzz|WhatIsNot|Codes|EveryContainer|ContainersThat|CountsThat|PackedHeaders|FLAC|MP3|AAC|MP4|Opus|PNG|TIFF|EXR|Netpbm'
export CGO_CFLAGS="-O1 -g -fno-omit-frame-pointer -fsanitize=undefined -fno-sanitize-recover=all" CGO_LDFLAGS=-fsanitize=undefined
# Memory for what a header claims is refused as on a full machine; Go's own is never given back, which is no leak.
export ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
mkdir -p "$out"
for room in media media/audio media/video; do
    binary=$PWD/$out/$(basename $room).test
    go test -asan -c -o "$binary" "./core/$room"
    for sanitizer in __asan_report_load __ubsan_handle; do
        grep -q "$sanitizer" <(nm "$binary") || { echo "sanitize: $binary: built without $sanitizer" >&2; exit 1; }
    done
done
tests_of() {
    local binary=$PWD/$out/${1##*/}.test
    printf '== core/%s\n' "$1"
    (cd "core/$1" && "$binary" -test.run "$run" -test.timeout 60m)
}
sounds=$(mktemp) running=
trap 'kill $running 2>/dev/null || true; rm -f "$sounds"' EXIT
tests_of media/audio >"$sounds" 2>&1 & # the longest, beside the others
running=$!
tests_of media
tests_of media/video
status=0
wait "$running" || status=$?
running=
cat "$sounds"
exit $status
