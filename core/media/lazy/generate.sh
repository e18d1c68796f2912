#!/usr/bin/env bash
# generate.sh DIR: make an archive in DIR, every function of FFmpeg as a trampoline that loads its library on the first
# call (load.h), and a pkg-config file per library that links it in FFmpeg's place. With PKG_CONFIG_PATH=DIR, the C flags
# that DIR/cflags holds, and `-extldflags -LDIR`, go build makes a program that starts without FFmpeg; without them
# everything links as ever.
#
# Go's build cache does not know what pkg-config said, and every checkout shares it. So the pkg-config files name no path,
# and DIR/cflags, which the cache does know, differs with the archive.
#
# Where that cannot be, because the processor has no trampolines here or the libraries are static ones, DIR stays without
# pkg-config files and the program is linked as ever, too.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
libraries="avcodec avformat avutil avfilter avdevice swscale swresample"
cc=${CC:-cc}

shared() { # the shared library that -lNAME would find
    local dir
    dir=$(env -u PKG_CONFIG_PATH pkg-config --variable=libdir "lib$1")
    readlink -f "$dir/lib$1.so"
}

fingerprint() {
    cat "$here"/load.* "$here/trampolines.S" "$0"
    echo "$cc"
    for l in $libraries; do shared "$l" && stat -c '%s %Y' "$(shared "$l")" || true; done
}

sum=$(fingerprint 2>/dev/null | sha256sum)
if [ "$(cat "$out/.made" 2>/dev/null)" = "$sum" ]; then exit 0; fi
rm -f "$out"/*.pc "$out/.made"
: >"$out/cflags"

case $("$cc" -dumpmachine) in
x86_64-* | aarch64-*) ;;
*) exit 0 ;;
esac
for l in $libraries; do [ -f "$(shared "$l")" ] || exit 0; done

n=0
: >"$out/symbols.inc"
echo 'static const char *const sonames[] = {' >"$out/libraries.inc"
for l in $libraries; do
    printf '    "%s",\n' "$(readelf -d "$(shared "$l")" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')" >>"$out/libraries.inc"
    nm -D --defined-only "$(shared "$l")" | awk -v n=$n '$2 == "T" { sub(/@.*/, "", $3); print "lazy " $3 ", " n }' |
        sort -u >>"$out/symbols.inc"
    n=$((n + 1))
done
echo '};' >>"$out/libraries.inc"

"$cc" -O2 -Wall -Wextra -fPIC -I"$out" -c "$here/load.c" -o "$out/load.o"
"$cc" -I"$out" -c "$here/trampolines.S" -o "$out/trampolines.o"
name=spdl_ffmpeg-${sum:0:12} # go build does not look into archives: another content is another name
rm -f "$out"/*.a
ar rcs "$out/lib$name.a" "$out/load.o" "$out/trampolines.o"
for l in $libraries; do
    cat >"$out/lib$l.pc" <<P
Name: lib$l
Description: lib$l, loaded on the first call
Version: $(env -u PKG_CONFIG_PATH pkg-config --modversion "lib$l")
Cflags: $(env -u PKG_CONFIG_PATH pkg-config --cflags "lib$l")
Libs: -l$name -ldl
P
done
printf '%s\n' "-D${name//-/_}" >"$out/cflags"
printf '%s\n' "$sum" >"$out/.made"
