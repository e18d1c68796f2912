#!/usr/bin/env bash
# aarch64.sh: build for aarch64 with Debian's cross compilers, run the tests under QEMU's user mode, and hold the bytes of batches against those
# that this machine makes. Needs root, for the kernel's table of interpreters. Everything lies in build/aarch64; ends with "N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")/.."
GO=${GO:-go}
top=$PWD/build/aarch64 root=$PWD/build/aarch64/root
passed=0 failed=()
mkdir -p "$top"

say() { printf 'aarch64: %s\n' "$*"; }
run() { # run NAME COMMAND...
    local name=$1 log
    shift
    log="$top/$(echo "$name" | tr -c 'a-zA-Z0-9\n' _).log"
    local TIMEFORMAT="%0R s"
    if { time "$@" >"$log" 2>&1; } 2>"$log.time"; then passed=$((passed + 1)); printf 'ok    %s (%s)\n' "$name" "$(cat "$log.time")"
    else failed+=("$name"); printf 'FAIL  %s: %s\n' "$name" "$log"; grep -E '^(--- FAIL|FAIL|not ok|#.*error|.*error:)' "$log" | head -20; fi
    rm -f "$log.time"
}

# Debian's packages for aarch64, unpacked beside the machine's own: apt with a state of its own, so nothing is installed.
sysroot() {
    local packages="libc6-dev libjpeg62-turbo-dev libdeflate-dev libwebp-dev libavcodec-dev libavformat-dev libavutil-dev libavfilter-dev libavdevice-dev libswscale-dev libswresample-dev"
    [ "$(cat "$root/.made" 2>/dev/null)" = "$packages" ] && return 0
    local apt="$top/apt" link target
    mkdir -p "$apt/lists/partial" "$apt/archives/partial"
    touch "$apt/status"
    local said=(-q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$apt" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt" -o APT::Install-Recommends=false -o APT::Sandbox::User=root)
    say "fetching Debian's packages for aarch64"
    apt-get "${said[@]}" update >"$apt/log" 2>&1 && apt-get "${said[@]}" -y --download-only install $packages >>"$apt/log" 2>&1 || { tail -5 "$apt/log"; return 1; }
    rm -rf "$root"
    mkdir -p "$root"
    for deb in "$apt"/archives/*.deb; do dpkg -x "$deb" "$root" || return 1; done
    cp -a "$root/lib/." "$root/usr/lib/" && rm -rf "$root/lib" && ln -s usr/lib "$root/lib"
    find "$root" -type l -lname '/*' | while read -r link; do # those that name the machine's own files
        target=$root$(readlink "$link")
        if [ -e "$target" ]; then ln -sfr "$target" "$link"; fi
    done
    for name in blas lapack; do ln -sf "$name/lib$name.so.3" "$root/usr/lib/aarch64-linux-gnu/lib$name.so.3"; done # alternatives, which nobody has set up
    rm -f "$apt"/archives/*.deb
    echo "$packages" >"$root/.made"
}

# Programs for aarch64 start others: the kernel has to know what runs them.
interpreter() {
    local at=/proc/sys/fs/binfmt_misc
    [ -e $at/register ] || mount -t binfmt_misc none $at || return 1
    [ -e $at/qemu-aarch64 ] || printf '%s' ':qemu-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:/usr/bin/qemu-aarch64-static:F' >$at/register
}

sysroot && interpreter || { say "no aarch64 here"; exit 1; }
export QEMU_LD_PREFIX=$root GOARCH=arm64 CGO_ENABLED=1 CGO_CFLAGS_ALLOW='.*' CC="aarch64-linux-gnu-gcc --sysroot=$root" CXX="aarch64-linux-gnu-g++ --sysroot=$root"
export PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$root/usr/lib/aarch64-linux-gnu/pkgconfig:$root/usr/share/pkgconfig
make_arm() { make --no-print-directory BUILD=build/aarch64/out CC="$CC" CXX="$CXX" AR=aarch64-linux-gnu-ar "$@"; }

# Of these the reason is swscale: what FFmpeg has of it for NEON rounds otherwise in one way to a picture than in another, and leaves a column alone.
other_bytes='^(TestNullFilterIsNoFilter|TestColoursAreDrawnOncePerRow|TestEveryWidthIsWholeAndStaysInItsRow)$'

run "builds" make_arm libspdl spdl spdl-noffmpeg build/aarch64/out/examples/train_c
run "libspdl" make_arm capi-test
for room in media media/audio media/video media/av media/heif media/mux load coded batch sampler spec array grid; do
    run "core/$room" "$GO" test -timeout 60m -skip "$other_bytes" "./core/$room"
done
say "left out are core/source, core/pack, core/engine and shm: the emulator has no openat2, and no descriptors of processes"

# The same bytes: pictures, drawn and normalised, a video and a sound, read by the C program of each.
same() {
    local data=$top/data spec here there
    .venv/bin/python bench/make_corpus.py shapes "$data" --n 60 >/dev/null || return 1
    for spec in '"batch": 8, "image": {"transform": [{"random_resized_crop": 96}, {"horizontal_flip": 0.5}, {"color_jitter": {"brightness": 0.4, "hue": 0.1}}, {"normalize": "imagenet"}], "layout": "NCHW"}' \
        '"batch": 8, "image": {"transform": [{"resize": 96}, {"center_crop": 80}]}' \
        '"batch": 8, "image": {"transform": [{"rand_augment": 9}, {"random_crop": {"size": 64, "pad_if_needed": true}}], "dtype": "f16"}'; do
        spec="{\"source\": {\"folder\": \"$data\"}, \"order\": {\"seed\": 3, \"epochs\": 1}, $spec}"
        here=$(SPDL_ENGINE=$PWD/build/spdl build/examples/train_c "$spec" --hash | head -n -1) || return 1
        there=$(SPDL_ENGINE=$top/out/spdl "$top/out/examples/train_c" "$spec" --hash | head -n -1) || return 1
        [ -n "$here" ] && [ "$here" = "$there" ] || { printf 'got %s\nwant %s\nof %s\n' "$there" "$here" "$spec"; return 1; }
    done
}
run "the same bytes of batches as this machine's" same
printf '%d passed, %d failed\n' $passed ${#failed[@]}
[ ${#failed[@]} = 0 ] || { printf 'failed: %s\n' "${failed[@]}"; exit 1; }
