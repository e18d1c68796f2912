#!/usr/bin/env bash
# aarch64.sh: build for aarch64 with Debian's cross compilers and run the tests under QEMU's user mode; those of media hold rows against what x86-64
# made of the same files. Needs root, for the kernel's table of interpreters. Everything lies in build/aarch64; ends with "N passed, N failed".
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

# Of these the reason is swscale: what FFmpeg has of it for NEON rounds otherwise in one way to a picture than in another, and leaves a column alone. The last one runs the first again.
other_bytes='^(TestNullFilterIsNoFilter|TestColoursAreDrawnOncePerRow|TestEveryWidthIsWholeAndStaysInItsRow|TestTheDeviceKeepsThePackagesPromises)$'

# Of these it is the emulator: it starts no process without a signal at its end, and has no room for more descriptors in a message.
emulated='a_consumer_killed_at_any_point_loses_no_batch|a_delayed_or_failing_point_changes_nothing_but_time|a_description_and_a_state_of_any_length_reach_the_engine|a_description_may_have_white_space_before_it|a_forked_child_is_told_and_leaves_its_parents_lease_alone|a_welcome_with_other_descriptors_than_six_is_refused_and_leaks_none|an_engine_is_opened_without_the_first_three_descriptors|an_engine_that_cannot_start_says_why|an_opened_engine_serves_and_its_host_never_sees_it'
libspdl() {
    local said
    said=$(make_arm capi-test 2>&1)
    printf '%s\n' "$said"
    printf '%s\n' "$said" | grep -qE '^[0-9]+ passed, ' && ! printf '%s\n' "$said" | grep '^not ok' | grep -qvE " ($emulated)\$"
}

run "builds" make_arm libspdl spdl spdl-noffmpeg build/aarch64/out/examples/train_c
run "libspdl" libspdl
for room in media media/audio media/video media/av media/heif media/mux load coded batch sampler spec array grid; do
    run "core/$room" "$GO" test -timeout 60m -skip "$other_bytes" "./core/$room"
done
say "left out are core/source, core/pack, core/engine and shm: the emulator has no openat2, and no descriptors of processes"

printf '%d passed, %d failed\n' $passed ${#failed[@]}
[ ${#failed[@]} = 0 ] || { printf 'failed: %s\n' "${failed[@]}"; exit 1; }
