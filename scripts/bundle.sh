#!/usr/bin/env bash
# bundle.sh VERSION BUILD: a tarball for a bare host, BUILD/spdl-VERSION-linux-ARCH.tar.gz, and its Python part as a wheel. It needs no FFmpeg, no libjpeg and no Go there:
# the engine is without FFmpeg (JPEG, PNG, WebP, WAV, FLAC, MP3 and arrays) and wholly static; libspdl, libspdl_engine and the uploader to a GPU need libc alone.
# What it needs of BUILD, libspdl and spdl-device, is there already. Licences of what is linked in travel with it.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$1 build=$2
go=${GO:-go}
name=spdl-$version-linux-$(uname -m)
root=$build/bundle/$name
static=$build/bundle/static

rm -rf "$root" "$static"
mkdir -p "$root/spdl" "$root/licences" "$static"
root=$(cd "$root" && pwd)
for library in libjpeg.a libdeflate.a libwebp.a libwebpdemux.a; do
    cp -L "$(${CC:-cc} -print-file-name=$library)" "$static/" # alone in its directory: no shared library is found before it
done
static=$(cd "$static" && pwd)
# Debian's libjpeg.a may go into a program, not into a shared library, for libc's stderr alone, to which nothing here prints (core/media/jpeg.c).
objcopy --redefine-sym stderr=spdl_no_stderr "$static/libjpeg.a"
nowhere=-Wl,--defsym=spdl_no_stderr=__bss_start

tags=noffmpeg,netgo,osusergo # names are looked up by Go: libc's resolver cannot be linked statically
flags="-s -w -X github.com/spdl/spdl/cmd/spdl/verbs.Version=$version"
$go build -trimpath -tags $tags -ldflags "$flags -linkmode external -extldflags '-static -L$static $nowhere'" -o "$root/spdl/spdl" ./cmd/spdl
$go build -trimpath -tags $tags -buildmode=c-shared \
    -ldflags "$flags -extldflags '-L$static $nowhere -Wl,-soname,libspdl_engine.so -Wl,--version-script=$PWD/capi/engine/engine.map'" \
    -o "$root/spdl/libspdl_engine.so" ./capi/engine
rm -f "$root/spdl/libspdl_engine.h" # cgo's; the library is opened by libspdl

# All in one directory, the Python package: each looks for the others beside itself.
(cd clients/python && find spdl -name __pycache__ -prune -o -type f -print0 | xargs -0 cp --parents -t "$root")
cp "$build/spdl-device" "$root/spdl/"
cp "$build/libspdl.so.$version" "$root/spdl/libspdl.so.0"
strip --strip-unneeded "$root/spdl/libspdl.so.0"
ln -s libspdl.so.0 "$root/spdl/libspdl.so"
cp include/spdl.h LICENSE "$root/"

$go list -deps -tags $tags -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}' ./cmd/spdl ./cmd/spdl-device ./capi/engine | sort -u |
    while read -r module dir; do
        cat "$dir"/LICEN[CS]E* "$dir"/COPYING* >"$root/licences/${module//\//_}" 2>/dev/null || [ -s "$root/licences/${module//\//_}" ]
    done
licence() { # licence NAME FILES: the first of the files that is there
    local name=$1 file
    shift
    for file in "$@"; do
        if [ -s "$file" ]; then cp "$file" "$root/licences/$name" && return; fi
    done
    echo "bundle: no licence of $name in $*" >&2
}
licence go "$($go env GOROOT)/LICENSE" /usr/share/doc/golang-1.23-go/copyright
licence libjpeg-turbo /usr/share/doc/libjpeg62-turbo-dev/copyright /usr/share/doc/libjpeg62-turbo/copyright
licence libdeflate /usr/share/doc/libdeflate-dev/copyright /usr/share/doc/libdeflate0/copyright
licence libwebp /usr/share/doc/libwebp-dev/copyright /usr/share/doc/libwebp7/copyright
licence glibc /usr/share/doc/libc6-dev/copyright /usr/share/doc/libc6/copyright

cat >"$root/README" <<README
spdl $version for Linux, $(uname -m), without FFmpeg: JPEG, PNG, WebP, WAV, FLAC, MP3 and arrays.

Python:  put this directory into PYTHONPATH, then import spdl
Command: spdl/spdl serve /data/train --size 224 --batch 64
C, C++:  spdl.h, -Lspdl -lspdl

spdl/spdl needs nothing of the host; spdl/libspdl.so.0, spdl/libspdl_engine.so (pipelines, plain functions, in-process engines)
and spdl/spdl-device need the C library (glibc).
README
tar -C "$build/bundle" --owner=0 --group=0 --sort=name -czf "$build/$name.tar.gz" "$name"
echo "$build/$name.tar.gz"
scripts/wheel.py "$root" "$build"
