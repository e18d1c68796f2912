#!/usr/bin/env bash
# sanitize.sh: the C client under AddressSanitizer, UBSan and ThreadSanitizer (tests/capi, tests/cuda), pipelines under the last, then the decoders under the first two: C and Go of
# core/media, fed with files of every kind that are cut and flipped, lie, or are too much (rows E1 to E4 of docs/fault-matrix.md). SPDL_FAULT_LONG=1: 10,000
# of each. The decoders are built beside the client's tests, which takes minutes the first time, as Go's library is compiled again.
#
# FFmpeg and libjpeg-turbo are the system's: of them the sanitizers see what they allocate, free and pass to libc.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${BUILD:-build}/asan
run='Damaged|Damage|Bad|Cut|Limit|PixelLimit|65535|InstructionSet|MaxFrames|Fuzz|WhatIsNot|Codes|EveryContainer|ContainersThat|CountsThat|PackedHeaders|FLAC|MP3|AAC|MP4|Opus|PNG|TIFF|EXR|Netpbm|StepsAre|AStep|StepsFit'
# Memory for what a header claims is refused as on a full machine; Go's own is never given back, which is no leak.
sanitizers=(ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1)
. scripts/beside.sh
trap ended EXIT

mkdir -p "$out"
beside env CGO_CFLAGS="-O1 -g -fno-omit-frame-pointer -fsanitize=undefined -fno-sanitize-recover=all" CGO_LDFLAGS=-fsanitize=undefined \
    go test -asan -c -o "$out/" ./core/media ./core/media/audio ./core/media/video
make --no-print-directory capi-asan capi-tsan engine-tsan cuda-asan
told
for room in media audio video; do
    for sanitizer in __asan_report_load __ubsan_handle; do
        grep -q "$sanitizer" <(nm "$out/$room.test") || { echo "sanitize: $out/$room.test: built without $sanitizer" >&2; exit 1; }
    done
done
tests_of() {
    local binary=$PWD/$out/${1##*/}.test
    printf '== core/%s\n' "$1"
    (cd "core/$1" && env "${sanitizers[@]}" "$binary" -test.run "$run" -test.timeout 60m)
}
beside tests_of media/audio # the longest
tests_of media
tests_of media/video
told
