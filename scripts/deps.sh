#!/usr/bin/env bash
# Install what the build and the tests need and the machine lacks: Debian packages, Go, and the Python
# environment in .venv. Asks nothing; uses root or sudo; says what it does. Does nothing when all is there.
#   scripts/deps.sh [build|demo|test|languages|check|torch|exact|bench|page|model|aarch64]     what for (default: test); each includes build
set -euo pipefail
cd "$(dirname "$0")/.."
want=${1:-test}

say() { printf 'deps: %s\n' "$*"; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null; then sudo -n "$@"
    else say "need root or sudo for: $*"; exit 1; fi
}

missing() { # the Debian packages of "$@" that are not installed
    for p in "$@"; do
        dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || printf '%s ' "$p"
    done
}

updated=
apt_install() {
    local lack
    lack=$(missing "$@")
    [ -n "$lack" ] || return 0
    say "installing $lack"
    [ -n "$updated" ] || as_root apt-get -qq update
    updated=yes
    # shellcheck disable=SC2086
    as_root env DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes apt-get install -y -q --no-install-recommends $lack |
        apt_progress
}

apt_progress() { # of apt-get's hundreds of lines those that say how long it may take, and that it goes on
    local line n=0
    while IFS= read -r line; do
        case $line in
        "Need to get "* | "Fetched "*) say "  $line" ;;
        "Unpacking "*)
            n=$((n + 1))
            if [ $((n % 50)) = 0 ]; then say "  $n packages unpacked"; fi
            ;;
        esac
    done
}

go_is_new_enough() {
    command -v go >/dev/null || return 1
    local minor
    minor=$(go env GOVERSION 2>/dev/null | sed -n 's/^go1\.\([0-9]*\).*/\1/p')
    [ -n "$minor" ] && [ "$minor" -ge 23 ]
}

install_go() {
    go_is_new_enough && return 0
    if [ -x /usr/lib/go-1.23/bin/go ]; then return 0; fi # the Makefile looks there
    if ! apt-cache policy golang-1.23-go 2>/dev/null | grep -q 'Candidate: 1'; then
        say "adding Debian's backports for Go 1.23"
        echo 'deb http://deb.debian.org/debian bookworm-backports main' |
            as_root tee /etc/apt/sources.list.d/spdl-backports.list >/dev/null
        as_root apt-get -qq update
        updated=yes
    fi
    apt_install golang-1.23-go
}

venv() { # venv DIR REQUIREMENTS [PYTHON ARGS...]: the interpreter that makes it, and its arguments
    local stamp="$1/.$(basename "$2").sum" sum
    sum=$(sha256sum <"$2")
    if [ -x "$1/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$sum" ]; then return 0; fi
    say "making $1 from $2"
    [ -x "$1/bin/python" ] || "${3:-python3}" -m venv ${4:+"$4"} "$1"
    "$1/bin/pip" install -q --disable-pip-version-check -r "$2"
    printf '%s\n' "$sum" >"$stamp"
}

independent() { # the readers that tests/exact compares with; torchaudio's wheel names another torch, and runs with this one; of timm one file is looked at
    venv .venv-bench requirements-bench.txt
    .venv-bench/bin/python -c 'import importlib.metadata as m; assert m.version("torchaudio") == "2.11.0"' 2>/dev/null ||
        .venv-bench/bin/pip install -q --disable-pip-version-check --no-deps torchaudio==2.11.0
    .venv-bench/bin/python -c 'import importlib.metadata as m; assert m.version("timm") == "1.0.15"' 2>/dev/null ||
        .venv-bench/bin/pip install -q --disable-pip-version-check --no-deps timm==1.0.15
    .venv-bench/bin/python -c 'import importlib.metadata as m; assert (m.version("mosaicml-streaming"), m.version("litdata")) == ("0.13.0", "0.2.76")' 2>/dev/null ||
        .venv-bench/bin/pip install -q --disable-pip-version-check --no-deps -r requirements-streaming.txt
}

ffcv() { # a peer to race; where it does not build the race goes on without it
    .venv-bench/bin/python -c 'import ffcv' 2>/dev/null && return 0
    apt_install libopencv-dev libturbojpeg0-dev
    say "building FFCV into .venv-bench"
    .venv-bench/bin/pip install -q --disable-pip-version-check --no-deps --no-build-isolation ffcv==1.0.2 ||
        say "FFCV does not build here: left out"
}

koffi() { # what the consumer in JavaScript calls C with
    local place=build/examples/node
    if [ -d $place/node_modules/koffi ] && cmp -s examples/node/package.json $place/package.json; then return 0; fi
    say "installing koffi into $place"
    mkdir -p $place
    cp examples/node/package.json $place
    npm install --silent --no-audit --no-fund --no-package-lock --prefix $place ||
        say "koffi is not to be had: the consumer in JavaScript is left out"
}

staticcheck() {
    [ -x build/tools/staticcheck ] && return 0
    say "building staticcheck into build/tools"
    GOBIN="$PWD/build/tools" GOFLAGS=-mod=mod go install honnef.co/go/tools/cmd/staticcheck@v0.6.1
}

apt_install ca-certificates gcc g++ make git pkg-config libc6-dev \
    libavcodec-dev libavformat-dev libavutil-dev libavfilter-dev libavdevice-dev \
    libswscale-dev libswresample-dev libjpeg62-turbo-dev libdeflate-dev libwebp-dev python3
install_go

case $want in
demo | test | languages | check | exact | bench | aarch64)
    apt_install python3-venv
    venv .venv requirements.txt
    ;;&
test | check | bench) apt_install cmake clang-14 libclang-rt-14-dev binutils ;;&
check)
    apt_install clang-format-14
    staticcheck
    ;;
torch) # Debian's torch is for the processor alone: 120 MB instead of PyPI's gigabytes
    apt_install python3-venv python3-torch python3-torchvision libtorch-dev
    venv .venv-torch requirements-torch.txt /usr/bin/python3 --system-site-packages
    ;;
exact) independent ;;
bench) # Debian's torchvision is the last of which there is a video reader, and its PyAV runs on the FFmpeg that ours does
    apt_install ffmpeg python3-av python3-torch python3-torchvision
    independent
    ffcv
    ;;
aarch64) apt_install gcc-aarch64-linux-gnu g++-aarch64-linux-gnu qemu-user-static ;;
languages)
    apt_install libjna-java
    command -v javac >/dev/null || apt_install default-jdk-headless
    command -v npm >/dev/null || apt_install nodejs npm
    koffi
    ;;
page) apt_install chromium ;;
model) apt_install spin ;;
esac
